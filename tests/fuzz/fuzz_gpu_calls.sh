#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_gpu_calls.sh [SECONDS]: samples in a GPU binary, of which none may be lost; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
fuzz 2048
