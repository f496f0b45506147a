#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints the path of a Python with what PyPI has of a framework, for the tests: Debian's is years older, or missing.
# Usage: tests/python_env.sh torch|torch-bare|jax|sycl|otlp [VERSION]. It is installed once, under ~/.cache/sonde-test
# (SONDE_TEST_CACHE). PyTorch takes 5 GB and some two minutes, since its wheel wants NVIDIA's libraries also where there is no
# GPU; torch-bare, which has none of them and loads only over those of tests/fake, half of that; JAX 0.6 GB and half a minute;
# sycl, Intel's OpenCL for processors, a current OpenCL loader and SYCL with its compiler as a library, 1.7 GB; otlp, the schema of
# OpenTelemetry's profiles, 20 MB. TensorFlow would take 2 GB more and is tested only where SONDE_XLA_PYTHONS names a Python that has it.
# Status 77, with the reason on stderr, where it cannot be had.
set -u
framework=${1:-}
case $framework in
torch)
	name=PyTorch version=${2:-${SONDE_TORCH_VERSION:-2.15.0}} python=${SONDE_TORCH_BASE:-/usr/bin/python3}
	packages="torch==$version numpy" room_gib=9 seconds=${SONDE_TORCH_TIMEOUT:-600} ;;
torch-bare)
	name="PyTorch (bare)" version=${2:-${SONDE_TORCH_VERSION:-2.15.0}} python=${SONDE_TORCH_BASE:-/usr/bin/python3}
	packages="torch==$version" without="cuda\|nvidia" room_gib=5 seconds=${SONDE_TORCH_TIMEOUT:-600}
	proof="import numpy, sympy, triton" ;;
jax)
	name=JAX version=${2:-${SONDE_JAX_VERSION:-0.10.2}} python=${SONDE_XLA_BASE:-python3}
	packages="jax==$version" room_gib=2 seconds=${SONDE_JAX_TIMEOUT:-300} ;;
sycl)
	name=SYCL version=${2:-${SONDE_SYCL_VERSION:-2026.2.0}} python=${SONDE_SYCL_BASE:-python3}
	packages="intel-opencl-rt==$version intel-sycl-rt==$version" room_gib=4 seconds=${SONDE_SYCL_TIMEOUT:-300}
	proof="import ctypes, sys; ctypes.CDLL(sys.prefix + '/lib/libsycl.so')" ;;
otlp)
	name=opentelemetry-proto version=${2:-1.45.2} python=/usr/bin/python3
	packages="opentelemetry-proto==$version" room_gib=1 seconds=120
	proof="import opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2" ;;
*) echo "usage: tests/python_env.sh torch|torch-bare|jax|sycl|otlp [VERSION]" >&2; exit 129 ;;
esac
cache=${SONDE_TEST_CACHE:-$HOME/.cache/sonde-test}
folder=$cache/$framework-$version
log=$folder.log

unavailable() { echo "no $name $version for the tests: $1" >&2; exit 77; }

# Whole and working, as the mark says that was written last.
if [ -e "$folder/complete" ]; then echo "$folder/bin/python3"; exit 0; fi

mkdir -p "$cache" || unavailable "cannot create $cache"
exec 9>"$cache/$framework-lock" && flock 9
if [ -e "$folder/complete" ]; then echo "$folder/bin/python3"; exit 0; fi
free_kib=$(df -Pk "$cache" | awk 'NR == 2 { print $4 }')
[ "$free_kib" -gt $((room_gib << 20)) ] || unavailable "less than $room_gib GiB free in $cache"
echo "Installing $name $version into $folder" >&2
rm -rf "$folder"
"$python" -m venv "$folder" >"$log" 2>&1 || unavailable "$(tail -1 "$log")"

install() {
	timeout "$seconds" "$folder/bin/pip" install -q --no-cache-dir --disable-pip-version-check "$@" >>"$log" 2>&1 ||
		{ rm -rf "$folder"; unavailable "$(tail -1 "$log")"; }
}

# shellcheck disable=SC2086
install ${without:+--no-deps} $packages
if [ -n "${without:-}" ]; then
	"$folder/bin/python3" -c 'import importlib.metadata, sys; print(*importlib.metadata.requires(sys.argv[1]), sep="\n")' "${framework%-bare}" |
		grep -v "^\($without\)\|extra ==" >"$folder/requirements.txt"
	install numpy -r "$folder/requirements.txt"
fi
"$folder/bin/python3" -c "${proof:-import $framework}" >>"$log" 2>&1 || unavailable "$(tail -1 "$log")"
touch "$folder/complete"
echo "$folder/bin/python3"
