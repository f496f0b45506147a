#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command on devices that are not there (docs/design/fakes.md).
# Usage: tests/fake/run.sh [--cuda] [--plan FILE] [--table FILE] COMMAND...
#	--cuda        NVIDIA's devices: python3 is one with PyTorch for CUDA, nvcc compiles (default)
#	--plan FILE   durations: lines of "PATTERN NANOSECONDS" for names of kernels
#	--table FILE  what ran, exactly: kernel,stream,graph,count,total_ns,bytes,launching line
# With FAKE_TABLE_GRAPHS set, FILE has a row "graph" for each replayed graph as well. FAKE_DEVICES, FAKE_MEMORY_MIB and
# FAKE_CUINIT_ERROR say what there is. Status 77 where install.sh cannot prepare it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
table=
usage() { sed -n 's/^# Usage: /usage: /p' "$0" >&2; exit 129; }
while [ $# -gt 0 ]; do
	case $1 in
	--cuda) ;;
	--plan) FAKE_PLAN=$(realpath "${2:?}") || exit 128; export FAKE_PLAN; shift ;;
	--table) table=$(realpath "${2:?}") || exit 128; shift ;;
	--) shift; break ;;
	-*) usage ;;
	*) break ;;
	esac
	shift
done
[ $# -gt 0 ] || usage
fake=$("$here/install.sh") || exit $?
export LD_LIBRARY_PATH=$fake/cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} TRITON_LIBCUDA_PATH=$fake/cuda PATH=$fake/bin:$PATH
[ -n "$table" ] || exec "$@"
parts=$(mktemp -d) || exit 128
FAKE_TABLE=$parts/part "$@"
status=$?
"$here/table.py" "$parts" >"$table.new" && mv "$table.new" "$table" || status=128
rm -rf "$parts"
exit $status
