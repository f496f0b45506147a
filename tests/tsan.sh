#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Under ThreadSanitizer: the collector's data, threads that insert while snapshots are taken; and analysis by
# three threads. "tsan.sh build" only builds what it needs.
set -eu
cd "$(dirname "$0")/.."
[ -f build-thread/build.ninja ] || meson setup build-thread -Db_sanitize=thread -Db_lundef=false >/dev/null
ninja -C build-thread tests/unit/test_collector src/cmd/sonde bench/gen-measurements >/dev/null
[ "${1:-}" != build ] || exit 0
TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1" build-thread/tests/unit/test_collector
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build-thread/bench/gen-measurements -r 5 -t 3 -s 2 -o "$work/gen.sonde" >/dev/null
TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1" \
	build-thread/src/cmd/sonde analyze -j 3 --no-cache "$work/gen.sonde" -o "$work/gen.sdb" >/dev/null
build-thread/src/cmd/sonde info --verify "$work/gen.sdb" >/dev/null
