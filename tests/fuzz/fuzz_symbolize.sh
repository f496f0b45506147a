#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_symbolize.sh [SECONDS]: programs whose addresses are looked up, beginning with what the compilers at hand
# make of a small one; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
for options in "-gdwarf-5" "-gdwarf-4" "-gdwarf-2" "-gdwarf-5 -gz" "-gdwarf-4 -fdebug-types-section"; do
	for compiler in gcc clang; do
		$compiler -O2 $options -shared -fPIC -nostdlib -o "corpus/$(echo "$compiler$options" | tr -d ' =')" \
			"$top/tests/workloads/binary/symbols/chain.c" 2>/dev/null || true
	done
done
fuzz 65536
