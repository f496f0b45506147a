#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs plugins for XLA that run on processors, and PJRT's header, from PyPI, once, under ~/.cache/sonde-test (SONDE_TEST_CACHE). Prints
# the folder, which has one for each package. Small publishers: versions and contents are fixed below.
# Status 77, with the reason on stderr, where they cannot be had.
set -u
cache=${SONDE_TEST_CACHE:-$HOME/.cache/sonde-test}
folder=$cache/pjrt-plugins-1
mkdir -p "$cache" || exit 77
exec 8>"$cache/pjrt-lock" && flock 8
if [ ! -e "$folder/complete" ]; then
	echo "Installing plugins for XLA into $folder" >&2
	rm -rf "$folder"
	mkdir -p "$folder" || exit 77
	while read -r package hash; do
		echo "$package --hash=sha256:$hash" >"$folder/requirements"
		timeout 600 /usr/bin/python3 -m pip install -q --no-deps --no-compile --only-binary :all: --require-hashes \
			--disable-pip-version-check --target "$folder/${package%%==*}" -r "$folder/requirements" </dev/null >>"$folder.log" 2>&1 ||
			{ tail -1 "$folder.log" >&2; rm -rf "$folder"; exit 77; }
	done <<-END
		xla-cpu-pjrt==0.0.1 55837b6b7b47daa717f2d9a5a03563ea0ceaa338d06a81a1e2d3f060d960decc
		lammps-jax-pjrt-cpu==0.11.2 1319390d948b39f69f7dade496b7c385149d9ca6097a6b62114da113216d9ad1
	END
	touch "$folder/complete"
fi
echo "$folder"
