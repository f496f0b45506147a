#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_structure.sh [SECONDS]: programs whose structure is written, beginning with what the compilers at hand make
# of a small one; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
for options in "-O0" "-O2 -g" "-O3 -fno-plt" "-O2 -s"; do
	for compiler in gcc clang aarch64-linux-gnu-gcc; do
		for program in structure_known loops_on_a_line; do
			$compiler $options -shared -fPIC -nostdlib -Wl,-z,max-page-size=4096 -o library \
				"$top/tests/workloads/binary/$program.c" 2>/dev/null || continue
			for form in 0 1; do
				{ printf $form; cat library; } >"corpus/$(echo "$program$compiler$options$form" | tr -d ' =')"
			done
		done
	done
done
for options in -O0 -O2; do # has tables of exceptions
	g++ $options -g "$top/tests/workloads/binary/structure_catch.cpp" -o program 2>/dev/null &&
		{ printf 0; cat program; } >"corpus/catch$options" || true
done
fuzz 98304
