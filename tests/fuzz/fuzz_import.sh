#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_import.sh [SECONDS]: measurements and databases of HPCToolkit, as they are imported; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
python3 "$here/seeds/import_seeds.py" corpus "$build/src/cmd/sonde"
fuzz 16384
