#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [SECONDS]: runs every fuzzer, each for that long. Exit status 77: there is no clang with libFuzzer.
set -e
here=$(cd "$(dirname "$0")" && pwd)
check=$(mktemp)
trap 'rm -f "$check"' EXIT
echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long s); int LLVMFuzzerTestOneInput(const char *d, unsigned long s) { return d && s ? 0 : 0; }' |
	clang -fsanitize=fuzzer,address -x c - -o "$check" 2>/dev/null ||
	{ echo "clang with libFuzzer is not installed (Debian: clang libclang-rt-dev)"; exit 77; }
log=$(mktemp)
trap 'rm -f "$check" "$log"' EXIT
failed=0
for script in "$here"/fuzz_*.sh; do
	name=$(basename "$script" .sh)
	if "$script" "${1:-60}" >"$log" 2>&1; then
		echo "$name: $(grep -E "number_of_executed_units" "$log" | tail -1 | tr -dc 0-9) inputs"
	else
		failed=1
		tail -60 "$log"
		echo "FAILED $name"
	fi
done
exit $failed
