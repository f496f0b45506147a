#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing. Usage: tools/deps.sh GROUP...   (build, test, demo)
# Asks nothing and does nothing where all is there; where it may not install, it says what to install.
set -eu

build="gcc g++ meson ninja-build pkg-config libelf-dev libdw-dev zlib1g-dev libzstd-dev liblz4-dev liblzma-dev libexpat1-dev libsqlite3-dev libcurl4-openssl-dev libbabeltrace2-dev libopenblas-dev"
build+=" libbpf-dev clang libcapstone-dev ocl-icd-opencl-dev opencl-headers python3"
test="$build libcmocka-dev libxxhash-dev python3-pytest python3-numpy python3-pandas elfutils binutils clang lld musl-tools libclang-rt-14-dev libomp-14-dev clang-format"
test+=" libunwind-dev pocl-opencl-icd oclgrind ocl-icd-libopencl1 libze1 libze-dev spirv-tools libc6-dbg libpython3.11-dev python3-venv python3-pip"
test+=" valgrind mandoc strace chromium gdb gcc-aarch64-linux-gnu libc6-dev-arm64-cross llvm-19 llvm bolt-19 dwz"
test+=" libopenmpi-dev openmpi-bin libmpich-dev mpich gfortran"
test+=" linux-perf babeltrace2 lttng-tools liblttng-ust-dev zsh fish"
# For the tests of the exported page; a node from elsewhere brings its own npm, with which Debian's conflicts.
command -v npm >/dev/null || test+=" nodejs npm"
demo="$build pocl-opencl-icd ocl-icd-libopencl1"

wanted=""
for group in "$@"; do
	case $group in
	build) wanted+=" $build" ;;
	test) wanted+=" $test" ;;
	demo) wanted+=" $demo" ;;
	*) echo "usage: tools/deps.sh build|test|demo..." >&2; exit 129 ;;
	esac
done

# The demo and the tests take the PyTorch that is there, else Debian's small one.
if [[ " $* " == *" demo "* || " $* " == *" test "* ]] && ! python3 -c 'import torch' 2>/dev/null &&
	! /usr/bin/python3 -c 'import torch' 2>/dev/null; then
	wanted+=" python3-torch"
fi

missing=""
for package in $(echo "$wanted" | tr ' ' '\n' | sort -u); do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=" $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
	echo "sonde: this is not a Debian system; please install the equivalents of:$missing" >&2
	exit 1
fi
sudo=""
if [ "$(id -u)" != 0 ]; then
	sudo=sudo
	if ! command -v sudo >/dev/null; then
		echo "sonde: packages are missing; as root: apt-get install --no-install-recommends$missing" >&2
		exit 1
	fi
fi
echo "Installing:$missing"
$sudo apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
