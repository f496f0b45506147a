#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs every test, suite by suite, and ends with one line: "N passed, N failed, N skipped" over suites.
# Usage: tests/run.sh BUILD [SUITE...]. A suite that cannot run here says why and is skipped.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
shift || true
only=" $* "
passed=0 failed=0 skipped=0
export SONDE_BUILD=$PWD/$build

logs=$build/test-logs
mkdir -p "$logs"
failed_names=()

# suite NAME COMMAND...: exit status 77 is a skip
suite() {
	local name=$1 start=$SECONDS status
	shift
	if [ "$only" != "  " ] && [[ "$only" != *" $name "* ]]; then return; fi
	echo "--- $name"
	"$@" 2>&1 | tee "$logs/$name"
	status=${PIPESTATUS[0]}
	case $status in
	0) passed=$((passed + 1)); echo "--- $name: passed in $((SECONDS - start)) s" ;;
	77) skipped=$((skipped + 1)); echo "--- $name: skipped" ;;
	*) failed=$((failed + 1)); failed_names+=("$name"); echo "--- $name: FAILED (status $status) after $((SECONDS - start)) s" ;;
	esac
}

# A second build directory with a sanitizer, and the tests that make sense under it.
sanitized() {
	local kind=$1 directory=build-${1%%,*}
	shift
	[ -f "$directory/build.ninja" ] ||
		meson setup "$directory" -Db_sanitize="$kind" -Db_lundef=false --buildtype=debugoptimized >/dev/null || return 1
	ninja -C "$directory" >/dev/null || return 1
	# stepping through every instruction of sanitized code takes minutes and shows nothing more
	meson test -C "$directory" --suite unit --no-suite stepping --print-errorlogs -t 4 "$@"
}

# The tests of the command line. They run real programs on a machine that others use too: the few that fail are judged once
# more, alone. Whoever passes then is named at the very end, for a failure that comes and goes is a defect until it is known.
cli() {
	local pytest=(/usr/bin/python3 -m pytest -q -rfEs -o cache_dir="$PWD/$logs/pytest")
	rm -rf "$logs/pytest" "$logs/once"
	"${pytest[@]}" --maxfail=20 tests/cli && return
	local status=$? names=$logs/pytest/v/cache/lastfailed
	[ $status = 1 ] && [ "$(grep -c '::' "$names")" -le 3 ] || return $status
	echo "--- cli: those that failed, once more"
	cp "$names" "$logs/failed-first"
	"${pytest[@]}" --last-failed --last-failed-no-failures none tests/cli || return
	grep -o '"[^"]*::.*"' "$logs/failed-first" >"$logs/once"
}

# The tests take every PyTorch in this list, and this system's. CI has the current release installed.
if { [ "${CI:-}" = true ] || [ -n "${SONDE_TEST_TORCH:-}" ]; } && [[ "$only" = "  " || "$only" == *" cli "* ]]; then
	torch=$(tests/python_env.sh torch) && export SONDE_TORCH_PYTHONS=$torch${SONDE_TORCH_PYTHONS:+:$SONDE_TORCH_PYTHONS}
fi

# And every Python in this one that has JAX or TensorFlow. CI has the current JAX.
if { [ "${CI:-}" = true ] || [ -n "${SONDE_TEST_JAX:-}" ]; } && [[ "$only" = "  " || "$only" == *" cli "* ]]; then
	jax=$(tests/python_env.sh jax) && export SONDE_XLA_PYTHONS=$jax${SONDE_XLA_PYTHONS:+:$SONDE_XLA_PYTHONS}
fi

# The same for what GPU binaries are compared with.
if [ "${CI:-}" = true ] || [ -n "${SONDE_TEST_GPU_TOOLS:-}" ]; then
	gpu_tools=$(tests/gpu_tools.sh) && export SONDE_GPU_TOOLS=$gpu_tools${SONDE_GPU_TOOLS:+:$SONDE_GPU_TOOLS}
fi

suite unit meson test -C "$build" --suite unit --print-errorlogs
suite lint tools/lint.sh
suite cli cli
suite behave /usr/bin/python3 tests/behave/run.py
suite sanitize sanitized address,undefined
[ -x tests/tsan.sh ] && suite threads tests/tsan.sh
[ -x tests/fuzz/run.sh ] && suite fuzz tests/fuzz/run.sh "${SONDE_FUZZ_SECONDS:-15}"
[ -x tests/browser/run.sh ] && suite browser tests/browser/run.sh

# Whoever sees only the end of a long log is told what failed.
for name in "${failed_names[@]}"; do
	echo
	echo "--- $name failed:"
	grep -E '^(FAILED|ERROR|DIFF|UNSTABLE) |^not ok|^ *[0-9]+/[0-9]+ .* (FAIL|TIMEOUT|ERROR)|ERROR: |WARNING: ThreadSanitizer' \
		"$logs/$name" | head -20 | grep . || tail -5 "$logs/$name"
done
if [ -s "$logs/once" ]; then
	echo
	echo "failed at first and passed alone ($logs/cli has both):"
	cat "$logs/once"
fi

echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
