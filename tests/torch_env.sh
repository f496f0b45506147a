#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints the path of a Python with the PyTorch that PyPI has, for the tests; Debian's is years older.
# It is installed once, under ~/.cache/sonde-test (SONDE_TEST_CACHE), and takes 5 GB and some two minutes: the
# wheel wants its CUDA libraries also where there is no GPU. Usage: tests/torch_env.sh [VERSION]
# Status 77, with the reason on stderr, where it cannot be had.
set -u
version=${1:-${SONDE_TORCH_VERSION:-2.15.0}}
python=${SONDE_TORCH_BASE:-/usr/bin/python3}
cache=${SONDE_TEST_CACHE:-$HOME/.cache/sonde-test}
folder=$cache/torch-$version
log=$cache/torch-$version.log

unavailable() { echo "no PyTorch $version for the tests: $1" >&2; exit 77; }

# Whole and working, as the mark says that was written last.
if [ -e "$folder/complete" ]; then echo "$folder/bin/python3"; exit 0; fi

mkdir -p "$cache" || unavailable "cannot create $cache"
exec 9>"$cache/lock" && flock 9
if [ -e "$folder/complete" ]; then echo "$folder/bin/python3"; exit 0; fi
free_kib=$(df -Pk "$cache" | awk 'NR == 2 { print $4 }')
[ "$free_kib" -gt $((9 << 20)) ] || unavailable "less than 9 GiB free in $cache"
echo "Installing PyTorch $version into $folder" >&2
rm -rf "$folder"
"$python" -m venv "$folder" >"$log" 2>&1 || unavailable "$(tail -1 "$log")"
timeout "${SONDE_TORCH_TIMEOUT:-600}" "$folder/bin/pip" install -q --no-cache-dir --disable-pip-version-check \
	"torch==$version" numpy >>"$log" 2>&1 || { rm -rf "$folder"; unavailable "$(tail -1 "$log")"; }
"$folder/bin/python3" -c 'import torch' >>"$log" 2>&1 || unavailable "$(tail -1 "$log")"
touch "$folder/complete"
echo "$folder/bin/python3"
