#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs every test, suite by suite, and ends with one line: "N passed, N failed, N skipped" over suites.
# Usage: tests/run.sh BUILD [SUITE...]. A suite that cannot run here says why and is skipped.
# Suites: unit lint cli sanitize threads fuzz browser; and, where named only: core, a part of cli that takes seconds, and
# load, those of cli that measure programs, while all processors are busy with something else.
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

# Whether a suite is to run: those that are named, or else all but core and load.
wanted() {
	case "$only $1" in
	"   core" | "   load") false ;;
	"   "*) true ;;
	*) [[ "$only" == *" $1 "* ]] ;;
	esac
}

# suite NAME COMMAND...: exit status 77 is a skip
suite() {
	local name=$1 start=$SECONDS status
	shift
	wanted "$name" || return 0
	echo "--- $name"
	"$@" 2>&1 | tee "$logs/$name"
	status=${PIPESTATUS[0]}
	case $status in
	0) passed=$((passed + 1)); echo "--- $name: passed in $((SECONDS - start)) s" ;;
	77) skipped=$((skipped + 1)); echo "--- $name: skipped" ;;
	*) failed=$((failed + 1)); failed_names+=("$name"); echo "--- $name: FAILED (status $status) after $((SECONDS - start)) s" ;;
	esac
}

# Why something is lacking: what installing it said, or else who would have it.
reason_of() {
	local reason=${why[$1]:-}
	if [ -z "$reason" ]; then
		case $1 in
		HIP) reason="no clang or no lld" ;;
		"Level Zero") reason="no libze1 or no libze-dev" ;;
		TensorFlow) reason="SONDE_XLA_PYTHONS names no Python that has it" ;;
		*) reason="SONDE_TEST_PYPI is $pypi" ;;
		esac
		[ $pypi != some ] || case $1 in "more of PyTorch for CUDA" | "other releases of CUPTI") reason="make test-all has it" ;; esac
	fi
	echo "$reason"
}

# Of the log of cli: how many tests wanted a framework that is not here, a line for each, and why it is not.
lacking() {
	sed -n 's/^\([0-9]*\) tests were not run for want of \(.*\)/\1 \2/p' "$1" | awk '
		{ count = $1; sub(/^[0-9]* /, ""); all[$0] += count }
		END { for (lack in all) print all[lack] "\t" lack }' | sort -k 2 | while IFS=$'\t' read -r count lack; do
		echo "$count tests were not run for want of $lack: $(reason_of "$lack")"
	done
	for lack in "${!why[@]}"; do
		grep -q "tests were not run for want of $lack\$" "$1" || echo "there was no $lack: ${why[$lack]}"
	done
}

# What runs beside the suites, and ends with the shell that called this.
may_start_beside() {
	beside=()
	trap 'for process in "${beside[@]}"; do kill -- "-$process" 2>/dev/null; done' EXIT
	trap 'exit 130' INT TERM
}

# start_beside COMMAND...: as a group of its own, so that it can be ended whole; its number is then $!
start_beside() {
	set -m
	"$@" </dev/null &
	set +m
	beside+=($!)
}

# Second builds, with sanitizers and for the fuzzers, are compiled while the tests of the command line run, which seldom
# keep two processors busy: by processors that have nothing else to do at that moment.
sanitizers=address,undefined
built_before() {
	wanted sanitize && chrt --idle 0 bash -c "$(declare -f build_sanitized); build_sanitized $sanitizers" >/dev/null 2>&1
	wanted threads && chrt --idle 0 tests/tsan.sh build >/dev/null 2>&1
	wanted fuzz && chrt --idle 0 tests/fuzz/run.sh build >/dev/null 2>&1
}

build_sanitized() {
	local kind=$1 directory=build-${1%%,*}
	[ -f "$directory/build.ninja" ] ||
		meson setup "$directory" -Db_sanitize="$kind" -Db_lundef=false --buildtype=debugoptimized >/dev/null || return 1
	ninja -C "$directory" meson-test-prereq >/dev/null
}

# A second build directory with a sanitizer, and the tests that make sense under it.
sanitized() {
	build_sanitized "$1" || return 1
	# stepping through every instruction of sanitized code takes minutes and shows nothing more
	meson test -C "build-${1%%,*}" --suite unit --no-suite stepping --print-errorlogs -t 4
}

# part NAME [OPTION...]: those tests of the command line, or with --last-failed those of them that failed just before
part() {
	local name=$1
	shift
	/usr/bin/python3 -m pytest -q -rfEs --durations=15 --maxfail=20 -o cache_dir="$PWD/$logs/pytest-$name" \
		--junitxml="$PWD/$logs/cli-$name.xml" --part="$name" "$@" tests/cli
}

# The tests of the command line: those that measure programs, and beside them those whose answers depend on nothing that
# happens meanwhile (tests/cli/parts.py). They run real programs on a machine that others use too: the few that fail are
# judged once more, alone. Whoever passes then is named at the very end, for a failure that comes and goes is a defect until
# it is known.
cli() {
	local status=0 second=0
	may_start_beside
	rm -rf "$logs"/pytest-* "$logs/once"
	start_beside nice -n 5 bash -c "$(declare -f part); part made" >"$logs/cli-made" 2>&1
	part measured || status=$?
	wait $! || second=$?
	echo "--- cli: those that read what was made before"
	cat "$logs/cli-made"
	[ $((status + second)) = 0 ] && return
	failures >"$logs/failed-first"
	[ "$status" -le 1 ] && [ "$second" -le 1 ] && [ "$(wc -l <"$logs/failed-first")" -le 8 ] || return 1
	echo "--- cli: those that failed, once more"
	for name in measured made; do
		part $name --last-failed --last-failed-no-failures none || [ $? = 5 ] || return 1
	done
	mv "$logs/failed-first" "$logs/once"
}

failures() { cat "$logs"/pytest-*/v/cache/lastfailed 2>/dev/null | grep -o '"[^"]*::.*"'; }

# Programs plain and measured. What differs is judged once more, with each kind of options, for a machine that others use too has cases
# whose plain runs differ; it is named at the very end, for a difference that comes and goes is a defect until it is known: two of
# them were programs that waited for ever.
behave() {
	local first=$logs/behave-first names=()
	rm -f "$logs/differed"
	/usr/bin/python3 tests/behave/run.py >"$first" && { cat "$first"; return; }
	cat "$first"
	mapfile -t names < <(sed -nE 's/^(DIFF|UNSTABLE) ([^ :]+).*/\2/p' "$first" | sort -u)
	[ ${#names[@]} -gt 0 ] && [ ${#names[@]} -le 8 ] || return 1
	echo "--- behave: those that differed, once more, with each kind of options"
	/usr/bin/python3 tests/behave/run.py --each "${names[@]/#/--case=}" || return 1
	grep -E '^(DIFF|UNSTABLE) ' "$first" >"$logs/differed"
}

# One busy loop for each processor. What measures must tell the same, and what waits must wait long enough.
loaded() {
	may_start_beside
	for _ in $(seq "$(nproc)"); do start_beside bash -c 'while :; do :; done'; done
	part measured
}

# Of the log of cli, whose parts say it each: how many tests want files that a clone does not have, in one line.
absent() {
	sed -n 's/^[0-9]* tests need files .* have: \(.*\) of .*/\1/p' "$1" | tr ',' '\n' | awk '
		{ gsub(/[()]/, "", $2); count[$1] += $2; all += $2 }
		END { for (name in count) text = text (text ? ", " : "") name " (" count[name] ")"
		      if (all) print all " tests were skipped for want of files of other tools, which a clone does not have: " text }'
}

# What tests want of PyPI, which is installed once, under ~/.cache/sonde-test (SONDE_TEST_CACHE). SONDE_TEST_PYPI says how much:
# none; some, the default, without what takes many gigabytes; all, as CI does. SONDE_TEST_TORCH, JAX, SYCL, CUDA and GPU_TOOLS
# ask for one of them alone.
pypi=${SONDE_TEST_PYPI:-some}
[ -n "${SONDE_TEST_PYPI:-}" ] || [ "${CI:-}" != true ] || pypi=all
case $pypi in
none) ;;
some) size="CUDA's compiler and PyTorch for CUDA (2.8 GB), JAX (0.6 GB) and SYCL (1.5 GB)" ;;
all) size="CUDA's compiler, PyTorch for CUDA, with NVIDIA's libraries too, JAX and SYCL (10 GB)" ;;
*) echo "tests/run.sh: SONDE_TEST_PYPI is none, some or all" >&2; exit 129 ;;
esac

# takes LEVEL VARIABLE: whether something is to be there that is taken from this level on, or where the variable is set
takes() { [ -n "${!2:-}" ] || [ $pypi = all ] || [ $pypi = "$1" ]; }

# take NAME COMMAND...: installs it meanwhile
declare -A taking=() why=()
take() {
	local name=$1
	shift
	start_beside "$@" >"$logs/pypi-$name" 2>"$logs/pypi-$name.why"
	taking[$name]=$!
}

# taken NAME LACK: sets $path to what the command printed. Where it has failed, $why says at the end why tests of LACK did not run.
taken() {
	local status=0
	[ -n "${taking[$1]:-}" ] || return 1
	wait "${taking[$1]}" || status=$?
	path=$(cat "$logs/pypi-$1")
	[ $status = 0 ] || why[$2]=$(tail -1 "$logs/pypi-$1.why")
	return $status
}

may_start_beside
if wanted cli; then
	[ $pypi = none ] || echo "--- from PyPI, once, in ${SONDE_TEST_CACHE:-~/.cache/sonde-test}: $size; SONDE_TEST_PYPI=none: without"
	if takes some SONDE_TEST_CUDA; then
		# for programs that the toolkit's compiler makes, with a training by PyTorch, or with all of its programs
		[ "${SONDE_TEST_CUDA:-}" != plain ] || export FAKE_CUDA_PLAIN=1
		[ -n "${SONDE_TEST_CUDA:-}" ] || [ $pypi = all ] || export SONDE_TEST_CUDA_FEW=1
		take cuda tests/fake/install.sh
	fi
	takes all SONDE_TEST_TORCH && take torch tests/python_env.sh torch
	takes some SONDE_TEST_JAX && take jax tests/python_env.sh jax
	takes all SONDE_TEST_JAX && take plugins tests/fake/pjrt/plugins.sh
	takes some SONDE_TEST_SYCL && take sycl tests/python_env.sh sycl
	takes some SONDE_TEST_OTLP && take otlp tests/python_env.sh otlp
	takes all SONDE_TEST_GPU_TOOLS && take gpu_tools tests/gpu_tools.sh
fi

# The tests take every PyTorch, JAX, ... in these lists: what was installed, and what the caller names.
export_taken() {
	[ ${#taking[@]} = 0 ] || echo "--- waiting for what comes from PyPI"
	taken torch PyTorch && export SONDE_TORCH_PYTHONS=$path${SONDE_TORCH_PYTHONS:+:$SONDE_TORCH_PYTHONS}
	taken jax JAX && export SONDE_XLA_PYTHONS=$path${SONDE_XLA_PYTHONS:+:$SONDE_XLA_PYTHONS}
	taken plugins "plugins for XLA" && export SONDE_PJRT_PLUGINS=$path
	taken sycl SYCL && export SONDE_SYCL_PYTHONS=$path${SONDE_SYCL_PYTHONS:+:$SONDE_SYCL_PYTHONS}
	taken otlp "the schema of OTLP profiles" && export SONDE_OTLP_PYTHON=$path
	taken gpu_tools "NVIDIA's tools" && export SONDE_GPU_TOOLS=$path${SONDE_GPU_TOOLS:+:$SONDE_GPU_TOOLS}
	# what cannot be had is skipped; what does not compile fails where it is used
	taken cuda CUDA
	case $? in
	0) export SONDE_FAKE_CUDA=$path ;;
	77) ;;
	*) [ -z "${taking[cuda]:-}" ] || export SONDE_FAKE_CUDA=broken ;;
	esac
}
export logs

start_beside built_before
builder=$!
suite unit meson test -C "$build" --suite unit --print-errorlogs
suite lint tools/lint.sh
suite core part core
export_taken
suite cli cli
suite behave behave
suite load loaded
wait "$builder"
suite sanitize sanitized "$sanitizers"
suite threads tests/tsan.sh
suite fuzz tests/fuzz/run.sh "${SONDE_FUZZ_SECONDS:-15}"
suite browser tests/browser/run.sh

# Whoever sees only the end of a long log is told what failed.
for name in "${failed_names[@]}"; do
	echo
	echo "--- $name failed:"
	grep -E '^(FAILED|ERROR|DIFF|UNSTABLE) |^not ok|^ *[0-9]+/[0-9]+ .* (FAIL|TIMEOUT|ERROR)|ERROR: |WARNING: ThreadSanitizer' \
		"$logs/$name" | head -20 | grep . || tail -5 "$logs/$name"
done
if wanted cli && [ -s "$logs/once" ]; then
	echo
	echo "failed at first and passed alone ($logs/cli has both):"
	cat "$logs/once"
fi
if wanted behave && [ -s "$logs/differed" ]; then
	echo
	echo "differed at first and not again ($logs/behave has both):"
	cat "$logs/differed"
fi

echo
wanted cli && absent "$logs/cli" && lacking "$logs/cli"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
