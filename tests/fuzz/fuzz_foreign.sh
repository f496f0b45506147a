#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_foreign.sh [SECONDS]: recordings of other tools, as their importers read them; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
python3 "$here/foreign_corpus.py" corpus
fuzz 32768
