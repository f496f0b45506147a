#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_structure.sh [SECONDS]: builds the fuzzer with clang, makes a small corpus with the compilers at hand,
# and runs it. Fails if an input crashes, leaks, or takes longer than 10 s.
set -e
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=${FUZZ_WORK:-$(mktemp -d)}
mkdir -p "$work/corpus"
clang -g -O1 -std=gnu17 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	-DSN_HAVE_CAPSTONE -I"$top/src" -I"$top/include" -o "$work/fuzz_structure" "$here/fuzz_structure.c" \
	"$top"/src/binary/*.c "$top"/src/binary/structure/*.c "$top"/src/binary/gpu/*.c "$top/src/base/error.c" "$top/src/base/intern.c" "$top/src/format/checksum.c" \
	-lcapstone -lstdc++ -ldl -lpthread
for options in "-O0" "-O2 -g" "-O3 -fno-pic -fno-plt" "-O2 -s"; do
	for compiler in gcc clang aarch64-linux-gnu-gcc; do
		for form in 0 1; do
			for program in structure_known loops_on_a_line; do
				name=$work/corpus/$(echo "$program$compiler$options$form" | tr -d ' =')
				$compiler $options -shared -nostdlib -o "$work/library" "$top/tests/workloads/$program.c" 2>/dev/null &&
					{ printf $form; cat "$work/library"; } > "$name" || true
			done
		done
	done
done
cd "$work"
./fuzz_structure -max_total_time="${1:-60}" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 corpus
