#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [SECONDS]: builds the fuzzers and runs each for that long, as many at a time as there are processors; "run.sh build"
# only builds them.
# Exit status 77: there is no clang with libFuzzer.
. "$(dirname "$0")/fuzz.sh"
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long s); int LLVMFuzzerTestOneInput(const char *d, unsigned long s) { return d && s ? 0 : 0; }' |
	clang -fsanitize=fuzzer,address -x c - -o "$logs/check" 2>/dev/null ||
	{ echo "clang with libFuzzer is not installed (Debian: clang libclang-rt-dev)"; exit 77; }
build_fuzzers >"$logs/build" 2>&1 || { tail -60 "$logs/build"; echo "FAILED to build the fuzzers"; exit 1; }
[ "${1:-}" != build ] || exit 0

# What one says is printed as a whole: others run beside it.
run_one() {
	local name inputs
	name=$(basename "$1" .sh)
	"$1" "$seconds" >"$logs/$name" 2>&1
	local status=$?
	inputs=$(sed -n 's/.*number_of_executed_units: *//p' "$logs/$name")
	if [ "$status" = 0 ] && [ "${inputs:-0}" -gt 0 ]; then
		echo "$name: $inputs inputs"
	else
		printf '%s\nFAILED %s\n' "$(tail -60 "$logs/$name")" "$name"
		return 1
	fi
}
export -f run_one
export logs seconds=${1:-60} FUZZERS_ARE_BUILT=1
printf '%s\n' "$here"/fuzz_*.sh | xargs -P "$(nproc)" -I{} bash -c 'run_one {}'
