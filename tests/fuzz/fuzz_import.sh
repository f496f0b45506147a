#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_import.sh [SECONDS]: builds the fuzzer of the importers with clang, makes a small corpus and runs it for
# that long. Fails if an input crashes, leaks, or takes longer than 10 s.
set -e
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=${FUZZ_WORK:-$(mktemp -d)}
[ -n "$FUZZ_WORK" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work/import"
src=$top/src
sources="$src/base/*.c $src/format/checksum.c $src/format/database_*.c $src/format/statistics.c $src/format/column*.c
	$src/trace/*.c $src/import/*.c $src/binary/*.c $src/binary/structure/*.c $src/binary/gpu/*.c
	$src/aggregate/expand.c $src/aggregate/resolve.c $src/aggregate/merge.c $src/aggregate/nodes.c $src/aggregate/operators.c
	$src/aggregate/gpu_calls.c $src/aggregate/gpu_context.c $src/format/measurement_*.c $src/format/trace_file_reader.c $src/format/torch_name.c"
libraries=$(pkg-config --libs expat zlib liblzma libzstd sqlite3)
present=""
for file in $sources; do
	case $file in */sqlite_missing.c) continue ;; esac # stands for those that need SQLite
	case $file in */ctf.c | */ctf_any.c | */ctf_field.c | */ctf_own.c) continue ;; esac # babeltrace2 decodes those
	[ ! -f "$file" ] || present="$present $file"
done
# shellcheck disable=SC2086
clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -std=gnu17 -D_GNU_SOURCE \
	-DSN_HAVE_EXPAT -DSN_HAVE_LZMA -DSN_HAVE_ZLIB -DSN_HAVE_ZSTD "-DSN_VERSION=\"fuzz\"" "-I$src" "-I$top/include" \
	-o "$work/fuzz_import" "$here/fuzz_import.c" $present $libraries -lm -lpthread -lstdc++ -ldl
cd "$work"
python3 "$here/make_import_corpus.py" import "${SONDE_BUILD:-$top/build}/src/cmd/sonde"
./fuzz_import -max_total_time="${1:-60}" -timeout=10 -rss_limit_mb=2048 -max_len=16384 \
	-print_final_stats=1 import 2>import.log || { tail -60 import.log; exit 1; }
grep -E 'number_of_executed_units|DONE' import.log
