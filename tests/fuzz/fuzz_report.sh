#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_report.sh [SECONDS]: databases of which every report and export is written; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
"$build/tests/make-db" corpus/small
"$build/tests/make-db" --contexts 40 --profiles 3 --depth 8 corpus/forty
fuzz 16384
