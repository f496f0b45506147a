#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_inductor.sh [SECONDS]: what inductor's cache knows of the Python that it generated; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
python3 "$here/seeds/inductor_seeds.py" corpus
fuzz 16384
