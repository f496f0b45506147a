#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_measurement.sh [SECONDS]: measurement files, beginning with small ones; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
"$build/tests/make-measurement" corpus/small
"$build/tests/make-measurement" corpus/forty 40
fuzz 16384
