#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_foreign.sh [SECONDS]: builds the fuzzers of the importers of recordings and of the events of a database with clang, makes a
# small corpus and runs them. Fails if an input crashes, leaks, or takes longer than 10 s.
set -e
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=${FUZZ_WORK:-$(mktemp -d)}
[ -n "$FUZZ_WORK" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work/foreign" "$work/trace"
src=$top/src
sqlite="$src/import/nsys*.c $src/import/rocpd.c $src/import/sqlite_table.c" libraries="-lz -lzstd -lm -lstdc++ -ldl -lpthread"
if pkg-config --exists sqlite3; then libraries="$libraries -lsqlite3"; else sqlite="$src/import/sqlite_missing.c"; fi
importers=$(ls "$src"/import/*.c | grep -v -e /nsys -e /sqlite_ -e /rocpd.c -e '/ctf[._]') # babeltrace2 decodes CTF
importers="$importers $src/import/ctf_probe.c $src/import/ctf_missing.c $src/os/tracepoint.c"
# what perf's recordings are named by
symbols="$src/binary/*.c $src/binary/structure/*.c $src/binary/gpu/*.c $src/aggregate/expand.c $src/aggregate/resolve.c"
for name in merge nodes operators gpu_calls gpu_context; do symbols="$symbols $src/aggregate/$name.c"; done
base="$src/base/error.c $src/base/intern.c $src/base/output.c $src/format/*.c $src/trace/*.c"
options="-std=gnu17 -D_GNU_SOURCE -DSN_HAVE_ZLIB -DSN_HAVE_ZSTD -I$src -I$top/include"
fuzzer="clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined $options"
# shellcheck disable=SC2086
{
	$fuzzer -o "$work/fuzz_foreign" "$here/fuzz_foreign.c" $importers $sqlite $symbols $base $libraries
	$fuzzer -o "$work/fuzz_trace" "$here/fuzz_trace.c" $base $libraries
}
python3 "$here/foreign_corpus.py" "$work/foreign"
sonde=$top/build/src/cmd/sonde
for file in "$work"/foreign/*; do
	[ ! -x "$sonde" ] || "$sonde" import "$file" -o "$work/trace/$(basename "$file")" >/dev/null
done
cd "$work"
export XDG_CACHE_HOME="$work/cache"
for what in foreign trace; do
	./fuzz_$what -max_total_time="${1:-60}" -timeout=10 -rss_limit_mb=2048 -max_len=32768 -print_final_stats=1 \
		"$what" 2>"$what.log" || { tail -60 "$what.log"; exit 1; }
	grep -E 'number_of_executed_units|DONE' "$what.log"
done
