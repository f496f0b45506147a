#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_os.sh [SECONDS]: what the kernel tells (formats of tracepoints, records of perf), of which no states may
# overlap; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
python3 "$here/seeds/os_seeds.py" corpus
fuzz 6000
