#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command on devices that are not there (docs/design/fakes.md).
# Usage: tests/fake/run.sh [--cuda|--levelzero] [--plan FILE] [--table FILE] COMMAND...
#	--cuda        NVIDIA's devices: python3 is one with PyTorch for CUDA, nvcc compiles (default)
#	--levelzero   a driver for Level Zero's own loader (Debian: libze1, libze-dev)
#	--plan FILE   durations: lines of "PATTERN NANOSECONDS" for names of kernels
#	--table FILE  what ran, exactly: kernel,stream,graph,count,total_ns,bytes,launching line
# FAKE_DEVICES, FAKE_MEMORY_MIB, FAKE_CUINIT_ERROR, FAKE_ZE_INIT_ERROR and FAKE_ZE_HZ say what there is. Status 77 where install.sh cannot prepare it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
table= kind=cuda
usage() { sed -n 's/^# Usage: /usage: /p' "$0" >&2; exit 129; }
while [ $# -gt 0 ]; do
	case $1 in
	--cuda) kind=cuda ;;
	--levelzero) kind=levelzero ;;
	--plan) FAKE_PLAN=$(realpath "${2:?}") || exit 128; export FAKE_PLAN; shift ;;
	--table) table=$(realpath "${2:?}") || exit 128; shift ;;
	--) shift; break ;;
	-*) usage ;;
	*) break ;;
	esac
	shift
done
[ $# -gt 0 ] || usage
if [ $kind = levelzero ]; then
	ZE_ENABLE_ALT_DRIVERS=$("$here/levelzero/install.sh") || exit $?
	export ZE_ENABLE_ALT_DRIVERS
else
	fake=$("$here/install.sh") || exit $?
	export LD_LIBRARY_PATH=$fake/cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} TRITON_LIBCUDA_PATH=$fake/cuda PATH=$fake/bin:$PATH
fi
[ -n "$table" ] || exec "$@"
parts=$(mktemp -d) || exit 128
FAKE_TABLE=$parts/part "$@"
status=$?
"$here/table.py" "$parts" >"$table.new" && mv "$table.new" "$table" || status=128
rm -rf "$parts"
exit $status
