#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_report.sh [SECONDS]: builds the fuzzer of reports and exports with clang, makes a small corpus and runs
# it. Fails if an input crashes, leaks, or takes longer than 10 s.
set -e
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=${FUZZ_WORK:-$(mktemp -d)}
[ -n "$FUZZ_WORK" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work/report"
src=$top/src
base="$src/base/error.c $src/base/intern.c $src/base/output.c $src/format/checksum.c $src/format/statistics.c
	$src/format/database_*.c"
options="-std=gnu17 -D_GNU_SOURCE -DSN_VERSION=\"fuzz\" -I$src -I$top/include"
echo 'const char sn_html_page[] = "@TITLE@@ENCODING@@DATA@";' >"$work/page.c"
# shellcheck disable=SC2086
{
	cc $options -o "$work/make-db" "$top/tests/workloads/make_db.c" "$top/tests/unit/db_fixture.c" $base -lm
	clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined $options \
		-o "$work/fuzz_report" "$here/fuzz_report.c" "$work/page.c" "$src"/report/*.c "$src"/export/*.c "$src"/trace/*.c "$src"/analyze/*.c $base -lzstd -lm
}
cd "$work"
./make-db report/small
./make-db --contexts 40 --profiles 3 --depth 8 report/forty
./fuzz_report -max_total_time="${1:-60}" -timeout=10 -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 \
	report 2>report.log || { tail -60 report.log; exit 1; }
grep -E 'number_of_executed_units|DONE' report.log
