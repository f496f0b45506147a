#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_structure.sh [SECONDS]: programs whose structure is written, beginning with what the compilers at hand make
# of a small one; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
for options in "-O0" "-O2 -g" "-O3 -fno-pic -fno-plt" "-O2 -s"; do
	for compiler in gcc clang aarch64-linux-gnu-gcc; do
		$compiler $options -shared -nostdlib -o library "$top/tests/workloads/structure_known.c" 2>/dev/null || continue
		for form in 0 1; do
			{ printf $form; cat library; } >"corpus/$(echo "$compiler$options$form" | tr -d ' =')"
		done
	done
done
for options in -O0 -O2; do # has tables of exceptions
	g++ $options -g "$top/tests/workloads/structure_catch.cpp" -o "$work/program" && { printf 0; cat "$work/program"; } > "$work/corpus/catch$options" || true
done
fuzz -max_len=65536
