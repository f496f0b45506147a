#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_database.sh [SECONDS]: databases, beginning with small ones; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
"$build/tests/make-db" corpus/small
"$build/tests/make-db" --contexts 40 --profiles 3 --depth 8 corpus/forty
"$build/tests/make-db" --graph 1 corpus/graph
"$build/tests/make-db" --findings 1 corpus/findings
fuzz 16384
