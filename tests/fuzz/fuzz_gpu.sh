#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_gpu.sh [SECONDS]: builds the fuzzer with clang, begins with the binaries of tests/unit/gpu_fixture.h,
# and runs it. Fails if an input crashes, leaks, or takes longer than 10 s.
set -e
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=${FUZZ_WORK:-$(mktemp -d)}
mkdir -p "$work/corpus"
cc -I"$top/src" -o "$work/make-gpu" "$top/tests/workloads/make_gpu.c" "$top/tests/unit/gpu_fixture.c"
clang -g -O1 -std=gnu17 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	-DSN_HAVE_ZLIB -I"$top/src" -I"$top/include" -o "$work/fuzz_gpu" "$here/fuzz_gpu.c" \
	"$top"/src/binary/*.c "$top"/src/binary/structure/*.c "$top"/src/binary/gpu/*.c "$top/src/base/error.c" \
	"$top/src/base/intern.c" "$top/src/format/checksum.c" "$top/src/aggregate/gpu_context.c" -lz -lstdc++ -ldl -lpthread
for what in "cubin 70" "cubin 90" "cubin 120" "amd 9" "amd 10" "amd 11" "amd 12" "fatbin 80" "bundle 0"; do
	# shellcheck disable=SC2086
	"$work/make-gpu" $what "$work/corpus/$(echo "$what" | tr -d ' ')"
done
cd "$work"
./fuzz_gpu -max_total_time="${1:-60}" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 corpus
