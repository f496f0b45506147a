#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints the path of a Python with the JAX that PyPI has, for the tests. It is installed once, under
# ~/.cache/sonde-test (SONDE_TEST_CACHE), and takes 0.6 GB and half a minute. TensorFlow takes 2 GB more and is
# tested only where SONDE_XLA_PYTHONS names a Python that has it. Usage: tests/xla_env.sh [VERSION]
# Status 77, with the reason on stderr, where it cannot be had.
set -u
version=${1:-${SONDE_JAX_VERSION:-0.10.2}}
python=${SONDE_XLA_BASE:-python3}
cache=${SONDE_TEST_CACHE:-$HOME/.cache/sonde-test}
folder=$cache/jax-$version
log=$cache/jax-$version.log

unavailable() { echo "no JAX $version for the tests: $1" >&2; exit 77; }

# Whole and working, as the mark says that was written last.
if [ -e "$folder/complete" ]; then echo "$folder/bin/python3"; exit 0; fi

mkdir -p "$cache" || unavailable "cannot create $cache"
exec 9>"$cache/jax-lock" && flock 9
if [ -e "$folder/complete" ]; then echo "$folder/bin/python3"; exit 0; fi
free_kib=$(df -Pk "$cache" | awk 'NR == 2 { print $4 }')
[ "$free_kib" -gt $((2 << 20)) ] || unavailable "less than 2 GiB free in $cache"
echo "Installing JAX $version into $folder" >&2
rm -rf "$folder"
"$python" -m venv "$folder" >"$log" 2>&1 || unavailable "$(tail -1 "$log")"
timeout "${SONDE_JAX_TIMEOUT:-300}" "$folder/bin/pip" install -q --no-cache-dir --disable-pip-version-check \
	"jax==$version" >>"$log" 2>&1 || { rm -rf "$folder"; unavailable "$(tail -1 "$log")"; }
"$folder/bin/python3" -c 'import jax' >>"$log" 2>&1 || unavailable "$(tail -1 "$log")"
touch "$folder/complete"
echo "$folder/bin/python3"
