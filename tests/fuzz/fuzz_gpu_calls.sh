#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_gpu_calls.sh [SECONDS]: builds the fuzzer with clang and runs it. Fails if an input crashes, leaks, loses
# something that was measured, or takes longer than 10 s.
set -e
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=${FUZZ_WORK:-$(mktemp -d)}
mkdir -p "$work/gpu_calls"
clang -g -O1 -std=gnu17 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	-DSN_HAVE_ZLIB -I"$top/src" -I"$top/include" -I"$top/tests/unit" -o "$work/fuzz_gpu_calls" \
	"$here/fuzz_gpu_calls.c" "$top/tests/unit/gpu_fixture.c" "$top"/src/binary/*.c "$top"/src/binary/structure/*.c \
	"$top"/src/binary/gpu/*.c "$top/src/base/error.c" "$top/src/base/intern.c" "$top/src/format/checksum.c" \
	"$top"/src/format/measurement_*.c "$top/src/format/trace_file_reader.c" \
	"$top/src/aggregate/gpu_context.c" "$top/src/aggregate/gpu_calls.c" -lz -lstdc++ -ldl -lpthread -lm
cd "$work"
./fuzz_gpu_calls -max_total_time="${1:-60}" -timeout=10 -rss_limit_mb=2048 -max_len=2048 -print_final_stats=1 \
	gpu_calls 2>gpu_calls.log || { tail -60 gpu_calls.log; exit 1; }
rm -f /tmp/fuzz-gpu-calls-*
grep -E 'number_of_executed_units|DONE' gpu_calls.log
