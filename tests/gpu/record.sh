#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Writes down all that CUPTI, or AMD's rocprofiler-sdk, delivers while a program runs, or its calls of Level Zero
# (docs/format/recording.md): a file for each process that uses CUDA, HIP or Level Zero.
# Usage: tests/gpu/record.sh [--rocm|--levelzero] [--nodes] [--kinds LIST] [--mib N] [--samples MODE[@CYCLES]] [--counters NAME,...] FOLDER COMMAND...
#	--rocm        of HIP: what rocprofiler-sdk delivers
#	--levelzero   of Level Zero: the program's calls, heard by the loader's tracing layer
#	--nodes       the nodes of graphs, in place of whole graphs
#	--kinds LIST  numbers of kinds of records (10,1,2,38,49,8,51: what Sonde asks for)
#	--mib N       the most that a process writes (256); what has no room is counted
#	--samples MODE  the instructions of kernels as well, as sonde run --gpu-samples does: "continuous", or "serialized", which runs one
#	              kernel at a time; CYCLES between two samples, a power of two from 32 to 2147483648 (the device's choice). With --rocm both
#	              are the same, and AMD's ROCPROFILER_PC_SAMPLING_BETA_ENABLED=1 is needed
#	--counters NAME,...  with --rocm: what hardware counters count in each kernel, which then runs alone; not with --samples
# It takes a C compiler. The program's status is returned; 77 where the recorder cannot be compiled.
# One tool can use CUPTI at a time: not under Sonde, nor with a profiler.
set -u
here=$(cd "$(dirname "$0")" && pwd)
usage() { sed -n 's/^# Usage: /usage: /p; s/^#\t/\t/p' "$0" >&2; exit 129; }
is_mode() {
	local cycles=${1#*@}
	[[ $1 =~ ^(continuous|serialized)(@[1-9][0-9]{1,9})?$ ]] || return 1
	[[ $1 != *@* ]] || ((cycles >= 32 && cycles <= 1 << 31 && !(cycles & (cycles - 1))))
}
vendor=cuda
while [ $# -gt 0 ]; do
	case $1 in
	--rocm | --levelzero) vendor=${1#--} ;;
	--nodes) export SONDE_RECORD_KINDS=10,1,2,38,49,8 ;;
	--kinds) export SONDE_RECORD_KINDS=${2:?}; shift ;;
	--mib) export SONDE_RECORD_MIB=${2:?}; shift ;;
	--samples) SONDE_RECORD_SAMPLES=${2:?}; is_mode "$2" || usage; export SONDE_RECORD_SAMPLES; shift ;;
	--counters) export SONDE_RECORD_COUNTERS=${2:?}; shift ;;
	-*) usage ;;
	*) break ;;
	esac
	shift
done
[ $# -ge 2 ] || usage
[ -z "${SONDE_RECORD_COUNTERS:-}" ] || [[ $vendor = rocm && -z ${SONDE_RECORD_SAMPLES:-} ]] || usage
mkdir -p "$1" && SONDE_RECORD=$(realpath "$1") || exit 128
export SONDE_RECORD
shift
if [ $vendor = rocm ]; then
	recorder=$SONDE_RECORD/librecorder_rocm.so sources=("$here"/record/{file,tool,facts}.c "$here"/record/rocm/*.c)
elif [ $vendor = levelzero ]; then
	recorder=$SONDE_RECORD/librecorder_levelzero.so sources=("$here"/record/{file,tool,facts}.c "$here"/record/levelzero/*.c)
else
	recorder=$SONDE_RECORD/librecorder.so sources=("$here"/record/*.c)
fi
if [ ! -e "$recorder" ]; then
	${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -g -Wall -Wextra -fPIC -shared -pthread -o "$recorder.$$" "${sources[@]}" -ldl &&
		mv "$recorder.$$" "$recorder" || { echo "record: the recorder cannot be compiled" >&2; exit 77; }
fi
if [ $vendor = rocm ]; then
	export ROCP_TOOL_LIBRARIES=$recorder${ROCP_TOOL_LIBRARIES:+:$ROCP_TOOL_LIBRARIES}
elif [ $vendor = levelzero ]; then
	export LD_PRELOAD=$recorder${LD_PRELOAD:+:$LD_PRELOAD} ZE_ENABLE_TRACING_LAYER=1
else
	export CUDA_INJECTION64_PATH=$recorder
fi
exec "$@"
