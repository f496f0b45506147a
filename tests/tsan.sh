#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Under ThreadSanitizer: the collector's data, threads that insert while snapshots are taken; stages and pieces of
# JSON; analysis by three threads; and an import that three threads parse, sort and write. "tsan.sh build" only builds
# what it needs.
set -eu
cd "$(dirname "$0")/.."
[ -f build-thread/build.ninja ] || meson setup build-thread -Db_sanitize=thread -Db_lundef=false >/dev/null
ninja -C build-thread tests/unit/test_collector tests/unit/test_stages tests/unit/test_trace_json src/cmd/sonde \
	bench/gen-measurements >/dev/null
[ "${1:-}" != build ] || exit 0
export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1"
for test in collector stages trace_json; do
	"build-thread/tests/unit/test_$test"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build-thread/bench/gen-measurements -r 5 -t 3 -s 2 -o "$work/gen.sonde" >/dev/null
build-thread/src/cmd/sonde analyze -j 3 --no-cache "$work/gen.sonde" -o "$work/gen.sdb" >/dev/null
build-thread/src/cmd/sonde info --verify "$work/gen.sdb" >/dev/null
# Twelve threads of a program, with counters and attributes, each of several blocks: more than a thread writes at once.
# What three threads write is what one writes.
python3 - "$work/events.json" <<'END'
import json
import sys

events = [{"ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": {"name": f"worker {tid}"}} for tid in range(12)]
for tid in range(12):
    for i in range(5000):
        events.append({"ph": "X", "cat": "user", "name": f"step {i % 7}", "pid": 1, "tid": tid, "ts": 10 * i + tid, "dur": 6,
                       "args": {"index": i, "kind": f"kind {i % 3}"}})
        if i % 10 == 0:
            events.append({"ph": "C", "name": f"level {tid}", "pid": 1, "ts": 10 * i, "args": {"value": i % 97}})
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump({"traceEvents": events}, file)
END
for jobs in 3 1; do
	build-thread/src/cmd/sonde import --from kineto -j $jobs "$work/events.json" -o "$work/events-$jobs.sdb" >/dev/null
done
build-thread/src/cmd/sonde info --verify "$work/events-3.sdb" | grep -q 'events  *66,000 '
cmp "$work/events-3.sdb" "$work/events-1.sdb"
