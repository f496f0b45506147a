#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the driver for Level Zero against the headers of Debian's libze-dev, once, under ~/.cache/sonde-test
# (SONDE_TEST_CACHE), and prints its path. Status 77, with the reason on stderr, where the loader or the headers are missing.
set -u
cd "$(dirname "$0")" || exit 1
cache=${SONDE_TEST_CACHE:-$HOME/.cache/sonde-test}

unavailable() { echo "no fake Level Zero: $1" >&2; exit 77; }

for part in level_zero/zes_ddi.h level_zero/layers/zel_tracing_register_cb.h; do
	echo "#include <$part>" | gcc -E - >/dev/null 2>&1 || unavailable "no $part (Debian: libze-dev)"
done
PATH=$PATH:/sbin ldconfig -p 2>/dev/null | grep -q 'libze_tracing_layer\.so\.1' || unavailable "no libze_tracing_layer.so.1 (Debian: libze1)"
mkdir -p "$cache" || unavailable "cannot create $cache"
exec 9>"$cache/fake-levelzero-lock" && flock 9
key=$(cat ../device/*.[ch] ./*.[ch] install.sh ../../../src/collect/adapters/levelzero/ze.h | sha256sum | cut -c1-12)
fake=$cache/fake-levelzero-$key
if [ ! -e "$fake/complete" ]; then
	rm -rf "$fake" && mkdir -p "$fake" || unavailable "cannot create $fake"
	flags=(-std=gnu17 -D_GNU_SOURCE -O2 -g -Wall -Wextra -fPIC -pthread)
	gcc "${flags[@]}" -I../../../src -isystem /usr/include/level_zero -fsyntax-only layout.c || exit 1
	gcc "${flags[@]}" -shared -o "$fake/libze_fake.so" driver.c event.c command.c module.c code.c place.c \
		../device/{device,fail,graph,host,memory,plan,table}.c -ldl || exit 1
	touch "$fake/complete"
fi
echo "$fake/libze_fake.so"
