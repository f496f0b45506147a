#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_ehframe.sh [SECONDS]: builds the fuzzer with clang, takes its corpus from small libraries, and runs it.
# Fails if an input crashes, leaks, or takes longer than 10 s.
set -e
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=${FUZZ_WORK:-$(mktemp -d)}
mkdir -p "$work/corpus"
clang -g -O1 -std=gnu17 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	-I"$top/src" -I"$top/include" -o "$work/fuzz_ehframe" "$here/fuzz_ehframe.c" \
	"$top/src/collect/cfi.c" "$top/src/collect/expression.c" "$top/src/collect/memory.c"
for options in "-O0" "-O2" "-O2 -mstackrealign" "-O2 -fasynchronous-unwind-tables -fomit-frame-pointer"; do
	for compiler in gcc clang; do
		name=$(echo "$compiler$options" | tr -d ' =')
		$compiler $options -DSN_NAME=seed -shared -fPIC -nostdlib -o "$work/$name.so" \
			"$top/bench/unwind_workload.c" 2>/dev/null || continue
		objcopy -O binary -j .eh_frame_hdr -j .eh_frame "$work/$name.so" "$work/corpus/$name"
		objcopy -O binary -j .eh_frame "$work/$name.so" "$work/corpus/$name.section"
	done
done
cd "$work"
./fuzz_ehframe -max_total_time="${1:-60}" -timeout=10 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 corpus
