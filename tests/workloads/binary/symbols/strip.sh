#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# strip.sh INPUT STRIPPED DEBUG BARE, the last three in one folder: a file without symbols that names its
# debug file, the debug file, and a file without either.
set -e
input=$(realpath "$1")
cd "$(dirname "$2")"
objcopy --only-keep-debug "$input" "$(basename "$3")"
objcopy --strip-all --add-gnu-debuglink="$(basename "$3")" "$input" "$(basename "$2")"
objcopy --strip-all "$input" "$(basename "$4")"
