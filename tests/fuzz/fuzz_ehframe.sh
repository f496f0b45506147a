#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_ehframe.sh [SECONDS]: unwind tables, beginning with those of small libraries; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
for options in "-O0" "-O2" "-O2 -mstackrealign" "-O2 -fasynchronous-unwind-tables -fomit-frame-pointer"; do
	for compiler in gcc clang; do
		input=corpus/$(echo "$compiler$options" | tr -d ' =')
		$compiler $options -DSN_NAME=seed -shared -fPIC -nostdlib -o seed.so "$top/bench/unwind_workload.c" 2>/dev/null ||
			continue
		objcopy -O binary -j .eh_frame_hdr -j .eh_frame seed.so "$input"
		objcopy -O binary -j .eh_frame seed.so "$input.section"
	done
done
fuzz 4096
