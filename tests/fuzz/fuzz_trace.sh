#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_trace.sh [SECONDS]: the events of databases, made of recordings of other tools; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
mkdir -p foreign
python3 "$here/seeds/foreign_seeds.py" foreign
for file in foreign/*; do
	"$build/src/cmd/sonde" import "$file" -o "corpus/$(basename "$file")" >/dev/null
done
fuzz 32768
