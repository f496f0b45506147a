#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_os.sh [SECONDS]: builds the fuzzer of what the kernel tells (formats of tracepoints, records of perf) with clang
# and runs it. Fails if an input crashes, leaks, makes states that overlap, or takes longer than 10 s.
set -e
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=${FUZZ_WORK:-$(mktemp -d)}
[ -n "$FUZZ_WORK" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work/os"
src=$top/src
python3 "$src/os/syscalls.py" cc >"$work/syscall_names.inc"
clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -std=gnu17 -D_GNU_SOURCE \
	-DSN_VERSION=\"fuzz\" -I"$src" -I"$top/include" -I"$work" -o "$work/fuzz_os" "$here/fuzz_os.c" \
	"$src"/os/decode.c "$src"/os/perf_record.c "$src"/os/ring.c "$src"/os/state.c "$src"/os/syscall_name.c \
	"$src"/os/tracepoint.c "$src"/base/error.c
python3 "$here/make_os_corpus.py" "$work/os"
cd "$work"
./fuzz_os -max_total_time="${1:-60}" -timeout=10 -rss_limit_mb=1024 -max_len=6000 -print_final_stats=1 os 2>os.log ||
	{ tail -60 os.log; exit 1; }
grep -E 'number_of_executed_units|DONE' os.log
