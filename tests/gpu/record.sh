#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Writes down all that CUPTI delivers while a program runs (docs/format/recording.md): a file for each process that uses CUDA.
# Usage: tests/gpu/record.sh [--nodes] [--kinds LIST] [--mib N] [--samples MODE[@CYCLES]] FOLDER COMMAND...
#	--nodes       the nodes of graphs, in place of whole graphs
#	--kinds LIST  numbers of kinds of records (10,1,2,38,49,8,51: what Sonde asks for)
#	--mib N       the most that a process writes (256); what has no room is counted
#	--samples MODE  the instructions of kernels as well, as sonde run --gpu-samples does: "continuous", or "serialized", which runs one
#	              kernel at a time; CYCLES between two samples, a power of two from 32 to 2147483648 (the device's choice)
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
while [ $# -gt 0 ]; do
	case $1 in
	--nodes) export SONDE_RECORD_KINDS=10,1,2,38,49,8 ;;
	--kinds) export SONDE_RECORD_KINDS=${2:?}; shift ;;
	--mib) export SONDE_RECORD_MIB=${2:?}; shift ;;
	--samples) SONDE_RECORD_SAMPLES=${2:?}; is_mode "$2" || usage; export SONDE_RECORD_SAMPLES; shift ;;
	-*) usage ;;
	*) break ;;
	esac
	shift
done
[ $# -ge 2 ] || usage
mkdir -p "$1" && SONDE_RECORD=$(realpath "$1") || exit 128
export SONDE_RECORD
shift
recorder=$SONDE_RECORD/librecorder.so
if [ ! -e "$recorder" ]; then
	${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -g -Wall -Wextra -fPIC -shared -pthread -o "$recorder.$$" "$here"/record/*.c -ldl &&
		mv "$recorder.$$" "$recorder" || { echo "record: the recorder cannot be compiled" >&2; exit 77; }
fi
export CUDA_INJECTION64_PATH=$recorder
exec "$@"
