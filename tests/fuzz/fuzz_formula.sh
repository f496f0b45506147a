#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_formula.sh [SECONDS]: builds the fuzzer of formulas with clang and runs it. Fails if an input crashes,
# leaks, means something else when it is stored, or takes longer than 10 s.
set -e
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=${FUZZ_WORK:-$(mktemp -d)}
[ -n "$FUZZ_WORK" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work/formula"
src=$top/src
clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -std=gnu17 -D_GNU_SOURCE \
	-DSN_VERSION=\"fuzz\" -I"$src" -I"$top/include" -I"$top/tests/unit" -o "$work/fuzz_formula" "$here/fuzz_formula.c" \
	"$top/tests/unit/db_fixture.c" "$src"/report/formula*.c "$src"/base/error.c "$src"/base/intern.c "$src"/base/output.c \
	"$src"/format/checksum.c "$src"/format/statistics.c "$src"/format/database_*.c -lm
cd "$work"
i=0
for text in 'cpu-time/gpu_time' 'if(count(cpu-time)>3,min(cpu-time,1ms),-2^3)' '"gpu-time"+total(max(across(cpu-time)))' \
	'imbalance(cpu-time)*cv(gpu-time)%' 'ifempty(sqrt(1/0),log(8,2))+cpu_time_cv' 'percent(profiles(cpu-time)/profiles())'; do
	i=$((i + 1))
	printf %s "$text" >"formula/$i"
done
printf '"%s"\n' cpu-time gpu-time cpu_time 'count(' 'mean(' 'dev(' 'total(' 'across(' 'exclusive(' 'if(' 'ifempty(' \
	'percent(' 'cv(' 'imbalance(' 'profiles(' 'devices()' 'duration()' 'min(' 'max(' 'log(' KiB ms '%' '<>' '>=' >dictionary
./fuzz_formula -max_total_time="${1:-60}" -timeout=10 -rss_limit_mb=1024 -max_len=600 -dict=dictionary \
	-print_final_stats=1 formula 2>formula.log || { tail -60 formula.log; exit 1; }
grep -E 'number_of_executed_units|DONE' formula.log
