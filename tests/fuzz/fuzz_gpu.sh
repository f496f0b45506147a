#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_gpu.sh [SECONDS]: GPU binaries, beginning with those of tests/unit/gpu_fixture.h; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
for what in "cubin 70" "cubin 90" "cubin 120" "amd 9" "amd 10" "amd 11" "amd 12" "fatbin 80" "bundle 0"; do
	# shellcheck disable=SC2086
	"$build/tests/make-gpu" $what "corpus/$(echo "$what" | tr -d ' ')"
done
fuzz 65536
