#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_symbolize.sh [SECONDS]: builds the fuzzer with clang, makes a small corpus with the compilers at hand,
# and runs it. Fails if an input crashes, leaks, or takes longer than 10 s.
set -e
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=${FUZZ_WORK:-$(mktemp -d)}
mkdir -p "$work/corpus"
clang -g -O1 -std=gnu17 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	-DSN_HAVE_ZLIB -DSN_HAVE_CAPSTONE -I"$top/src" -I"$top/include" -o "$work/fuzz_symbolize" "$here/fuzz_symbolize.c" \
	"$top"/src/binary/*.c "$top"/src/binary/structure/*.c "$top"/src/binary/gpu/*.c "$top/src/base/error.c" \
	"$top/src/base/intern.c" "$top/src/format/checksum.c" -lz -lcapstone -lstdc++ -ldl -lpthread
for options in "-gdwarf-5" "-gdwarf-4" "-gdwarf-2" "-gdwarf-5 -gz" "-gdwarf-4 -fdebug-types-section"; do
	for compiler in gcc clang; do
		$compiler -O2 $options -shared -fPIC -nostdlib -o "$work/corpus/$(echo "$compiler$options" | tr -d ' =')" \
			"$top/tests/workloads/symbols/chain.c" 2>/dev/null || true
	done
done
cd "$work"
./fuzz_symbolize -max_total_time="${1:-60}" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 corpus
