# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What fuzz_NAME.sh [SECONDS] have in common; each begins with this, makes inputs to begin with in the folder corpus,
# which is empty, and calls fuzz. All fuzzers are one build (meson.build), made here unless run.sh has made it:
# everything that is fuzzed, compiled once with the checks and counters, and the tools that make inputs, in $build.
set -e
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=$top/build-fuzz

build_fuzzers() {
	if [ ! -f "$build/build.ninja" ]; then
		if command -v ccache >/dev/null; then cache="ccache "; else cache=""; fi
		CC="${cache}clang" CXX="${cache}clang++" meson setup "$build" -Dfuzzers=true -Doptimization=1 -Ddebug=false
	fi
	ninja -C "$build" fuzzers
}

# fuzz MAX_BYTES [OPTION...]: runs the fuzzer for the time given, with inputs of at most so many bytes. Fails if one
# crashes, leaks, or takes longer than 10 s; it is then kept in $build/found. Also where an input to begin with is larger:
# cut off it would be refused, and its changes as well. The inputs made are the same each time and everywhere, so that what
# fails elsewhere fails here; SONDE_FUZZ_SEED=0 makes them by chance, another number makes others.
fuzz() {
	bytes=$1
	shift
	if [ -n "$(find corpus -type f -size +"$bytes"c)" ]; then
		echo "$name: larger than $bytes bytes: $(find corpus -type f -size +"$bytes"c)"
		exit 1
	fi
	mkdir -p "$build/found"
	"$build/tests/fuzz/fuzz_$name" -seed="${SONDE_FUZZ_SEED:-1}" -max_total_time="$seconds" \
		-max_len="$bytes" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$build/found/$name-" "$@" corpus 2>log || { tail -60 log; exit 1; }
	grep -E 'number_of_executed_units|DONE' log
}

if [ "$(basename "$0")" != run.sh ]; then
	[ -n "$FUZZERS_ARE_BUILT" ] || build_fuzzers >/dev/null
	name=$(basename "$0" .sh | sed s/fuzz_//)
	seconds=${1:-60}
	work=${FUZZ_WORK:-$(mktemp -d)}
	[ -n "$FUZZ_WORK" ] || trap 'rm -rf "$work"' EXIT
	mkdir -p "$work/corpus"
	cd "$work"
	export XDG_CACHE_HOME="$work/cache"
fi
