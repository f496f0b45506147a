#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_formats.sh [SECONDS]: builds the fuzzers of both file formats with clang, makes a small corpus and
# runs each of them for that long. Fails if an input crashes, leaks, or takes longer than 10 s.
set -e
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=${FUZZ_WORK:-$(mktemp -d)}
[ -n "$FUZZ_WORK" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work/database" "$work/measurement"
src=$top/src
base="$src/base/error.c $src/base/intern.c $src/base/output.c $src/format/checksum.c"
database="$src/format/database_*.c $src/format/statistics.c"
measurement="$src/format/measurement_*.c $src/format/trace_file_reader.c"
aggregate="$src/aggregate/merge.c $src/aggregate/nodes.c $src/aggregate/expand.c $src/aggregate/operators.c $src/aggregate/provenance.c
	$src/format/torch_name.c"
# blocks of a few elements count as large, because inputs are small
options="-std=gnu17 -D_GNU_SOURCE -DSN_DATABASE_LARGE_BLOCK=64u -I$src -I$top/include"
fuzzer="clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined $options"
# shellcheck disable=SC2086
{
	cc $options -o "$work/make-db" "$top/tests/workloads/make_db.c" "$top/tests/unit/db_fixture.c" $base $database -lm
	cc $options -o "$work/make-measurement" "$top/tests/workloads/make_measurement.c" \
		"$top/tests/unit/measurement_fixture.c" $base $measurement -lm
	$fuzzer -o "$work/fuzz_database" "$here/fuzz_database.c" $base $database -lm
	$fuzzer -o "$work/fuzz_measurement" "$here/fuzz_measurement.c" $base $database $measurement $aggregate \
		"$src"/aggregate/gpu_*.c "$src"/binary/*.c "$src"/binary/structure/*.c "$src"/binary/gpu/*.c -lm -lz -lstdc++ -ldl -lpthread
}
cd "$work"
./make-db database/small
./make-db --contexts 40 --profiles 3 --depth 8 database/forty
./make-db --graph 1 database/graph
./make-measurement measurement/small
./make-measurement measurement/forty 40
for what in database measurement; do
	./fuzz_$what -max_total_time="${1:-60}" -timeout=10 -rss_limit_mb=2048 -max_len=16384 \
		-print_final_stats=1 "$what" 2>"$what.log" || { tail -60 "$what.log"; exit 1; }
	grep -E 'number_of_executed_units|DONE' "$what.log"
done
