#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command on devices that are not there (docs/design/fakes.md).
# Usage: tests/fake/run.sh [--cuda|--rocm] [--fail SCENARIO] [--plan FILE] [--table FILE] COMMAND...
#	--cuda        NVIDIA's devices: python3 is one with PyTorch for CUDA, nvcc compiles (default)
#	--rocm        AMD's devices: hipcc SOURCE OUTPUT compiles
#	--fail NAME   what goes wrong with AMD's rocprofiler-sdk: no-sdk, or what rocm/sdk/sdk.h names
#	--plan FILE   durations: lines of "PATTERN NANOSECONDS" for names of kernels
#	--table FILE  what ran, exactly: kernel,stream,graph,count,total_ns,bytes,launching line
# FAKE_DEVICES, FAKE_MEMORY_MIB and FAKE_CUINIT_ERROR say what there is. Status 77 where it cannot be prepared (install.sh,
# install_rocm.sh).
set -u
here=$(cd "$(dirname "$0")" && pwd)
table=
vendor=cuda
usage() { sed -n 's/^# Usage: /usage: /p' "$0" >&2; exit 129; }
while [ $# -gt 0 ]; do
	case $1 in
	--cuda | --rocm) vendor=${1#--} ;;
	--fail) export FAKE_FAIL="${2:?}"; shift ;;
	--plan) FAKE_PLAN=$(realpath "${2:?}") || exit 128; export FAKE_PLAN; shift ;;
	--table) table=$(realpath "${2:?}") || exit 128; shift ;;
	--) shift; break ;;
	-*) usage ;;
	*) break ;;
	esac
	shift
done
[ $# -gt 0 ] || usage
if [ $vendor = rocm ]; then
	fake=$("$here/install_rocm.sh") || exit $?
	folders=$fake/rocm
	[ "${FAKE_FAIL:-}" = no-sdk ] || folders+=:$fake/rocm/sdk
else
	fake=$("$here/install.sh") || exit $?
	folders=$fake/cuda
	export TRITON_LIBCUDA_PATH=$fake/cuda
fi
export LD_LIBRARY_PATH=$folders${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} PATH=$fake/bin:$PATH
[ -n "$table" ] || exec "$@"
parts=$(mktemp -d) || exit 128
FAKE_TABLE=$parts/part "$@"
status=$?
"$here/table.py" "$parts" >"$table.new" && mv "$table.new" "$table" || status=128
rm -rf "$parts"
exit $status
