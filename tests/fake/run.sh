#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command on devices that are not there (docs/design/fakes.md).
# Usage: tests/fake/run.sh [--cuda|--plain|--rocm|--levelzero|--replay FILE] [--cupti VERSION] [--fail SCENARIO] [--plan FILE] [--table FILE] [--samples FILE] [--sample-table FILE] [--counters FILE] [--counter-table FILE] [--metric-table FILE] COMMAND...
#	--cuda        NVIDIA's devices: python3 is one with PyTorch for CUDA, nvcc compiles (default)
#	--plain       the same without PyTorch, which takes 5 GB: the toolkit alone takes 0.4
#	--rocm        AMD's devices: hipcc SOURCE OUTPUT compiles
#	--levelzero   a driver for Level Zero's own loader (Debian: libze1, libze-dev)
#	--replay FILE  in place of devices: a recorded CUPTI or rocprofiler-sdk (tests/gpu/record.sh), which the program "replay" plays; or
#		recorded calls of Level Zero, which it makes again on the driver of --levelzero
#	--cupti VERSION  the CUPTI of 11.8, 12.4, 12.9, 13.0, 13.1, 13.2 (default) or 13.5
#	--fail SCENARIO  a reported failure, or several with commas; status 128 for one that the device does not know:
#		none               nothing fails
#		zero-times, reversed-times  each 10th kernel has none, or ends before it starts
#		early              kernels start 50 ms before their launch
#		wrong-correlation, no-correlation  each 10th kernel has the number of no call, or all have
#		short-records      kernels' records are shorter than any release has them
#		drop               each 50th record is lost, and counted
#		cut-buffers, odd-kind  at each 20th record of a kernel the buffer ends: inside of it, or after it and its kind is none
#		graph-correlation  replayed graphs have the number of no call
#		copies-refused, sets-refused  no records are given of that kind
#		clock-again        the first records are wrong after a clock was registered again
#		unload             names of kernels live no longer than the buffer that has them
#		flush-hangs        flushing never returns
#		flush-slow         flushing takes a second
#		late-buffers       buffers come only after unsubscribing
#		held               another tool holds CUPTI: error 39
#		privileges         the driver lets only administrators profile: error 35
#		hardware-busy, virtual-device, confidential, mig  errors 26, 33, 41 and 43, when kinds of records are enabled
#		at-subscribing     these come sooner
#		overheads          the call of the first kernel loads its function, and that of each 10th waits for room for commands
#		driver-calls, driver-numbers  calls of the driver inside of the runtime's are told too: with the same numbers, or with
#			their own, which what ran has
#		managed-refused    nothing is told of managed memory
#		no-hardware-times  the device has none by its own events
#		two-cuptis         a CUPTI of another release is in the process as well
#		lost-device        after 50 calls all fail, and what ran is not recorded
#		strict             before cuInit CUPTI is as without a driver
#		pc-enable, pc-privileges, pc-count, pc-reasons, pc-configure, pc-data, pc-disable, pc-crc, pc-start, pc-stop  that function of CUPTI's
#			sampling of instructions fails
#		pc-length          records are longer than CUPTI was told
#		pc-drop            of each fifth instruction of a launch the samples are lost, and counted
#		pc-full            at the second reading the device's buffer is full: what was in it is lost, and counted
#		pc-late            samples can be read 2 s after their kernel's end: else they come when sampling ends
#		pc-parts           after a range has ended each reading gives one instruction, and does not tell of the others
#		pc-slow            the first reading that finds samples lasts until a second context has been created
#		counter-begin, counter-chip-name, counter-chip, counter-nvperf, counter-properties, counter-add, counter-image-size,
#			counter-image, counter-passes, counter-privileges, counter-enable, counter-data-size, counter-data,
#			counter-config, counter-start, counter-push, counter-pop, counter-stop, counter-decode, counter-info,
#			counter-disable  that function of CUPTI's hardware counters fails
#		counter-name, counter-evaluate  of each fifth range it fails
#		counter-drop       each fifth range is lost, and counted
#		counter-pass       CUPTI asks for another pass
#		counter-gives      evaluating a range gives records away
#		counter-large      a range takes 1 MiB
#		metric-enable, metric-data-size, metric-data, metric-config, metric-start, metric-stop, metric-decode, metric-info,
#			metric-sample, metric-disable  that function of CUPTI's PM sampling fails
#		metric-privileges, metric-unsupported, metric-busy  enabling is refused for that reason
#		metric-full, metric-full-error  the device's buffer has room for 50 samples: what comes after is lost until sampling starts again, and with
#			the second all that was in it
#		metric-hangs       decoding never returns once sampling has stopped
#		metric-clock       the device's clock is an hour ahead
#		metric-cycles      the device samples by cycles of its clock, not by time
#		metric-nan         of each fifth sample values are no numbers
#		metric-large       a sample takes 256 KiB
#	              of AMD's rocprofiler-sdk: no-sdk, or what rocm/sdk/sdk.h names
#	              of Level Zero's driver: reset-meanwhile, an event is reset after the host was told that it is signalled;
#	              late-start, a queue begins 5 ms after it was told to; wrong-result, what a kernel writes into element 100 is one more;
#	              no-properties, a device is lost when it is asked for them; cpu-first, the first device is no GPU;
#	              copy-first, its first group of queues runs no kernels; cut-module, a module lacks its last words;
#	              or fast-ticks, slow-ticks, the device says that it has four times or half as many ticks in a second as it has
#	--plan FILE   durations: lines of "PATTERN NANOSECONDS [DEVICE]" for names of kernels
#	--table FILE  what ran, exactly: kernel,stream,graph,count,total_ns,bytes,launching line
#	--samples FILE  what is sampled of each launch: lines of "PATTERN PC REASON COUNT" for names of kernels
#	--sample-table FILE  what was sampled, exactly: kernel,pc,reason,taken,lost, and the period that was asked for, as an exponent of 2 (0: none)
#	--counters FILE  what counters count: lines of "PATTERN METRIC VALUE STEP" for names of kernels; the nth launch counts VALUE + (n - 1) * STEP
#	--counter-table FILE  what was counted, exactly: kernel,graph,metric,value,launches,lost,outside; outside: launches in no range
#	--metric-table FILE  what was sampled over time, exactly: device,metric,start_ns,value,state; read, lost or left
# With FAKE_TABLE_GRAPHS set, FILE has a row "graph" for each replayed graph as well. FAKE_DEVICES, FAKE_MEMORY_MIB,
# FAKE_CUINIT_ERROR, FAKE_ZE_INIT_ERROR and FAKE_ZE_HZ say what there is, FAKE_COUNTERS and FAKE_COUNTERS_TABLE what AMD's hardware counters
# count (rocm/sdk/counters.c). Status 77 where it cannot be prepared (install.sh, install_rocm.sh, levelzero/install.sh).
# FAKE_DECODE_MS is how long CUPTI takes to decode for the first time what it has counted.
# FAKE_CUDA_FOLDER is what install.sh has printed just now: many runs need not each look whether it is as its sources are.
# Kernels whose names fit the pattern FAKE_TOUCH touch the managed memory that their first argument points to.
set -u
here=$(cd "$(dirname "$0")" && pwd)
table=
sampled=
counted=
over_time=
cupti=
failures=
vendor=cuda
usage() { sed -n 's/^# Usage: /usage: /p; s/^#\t/\t/p' "$0" >&2; exit 129; }
while [ $# -gt 0 ]; do
	case $1 in
	--replay) vendor=replay; FAKE_REPLAY=$(realpath -e "${2:?}") || exit 128; export FAKE_REPLAY; shift ;;
	--cuda | --rocm | --levelzero) vendor=${1#--} ;;
	--plain) export FAKE_CUDA_PLAIN=1 ;;
	--cupti) cupti=${2:?}; shift ;;
	--fail) failures=${2:?}; export FAKE_FAIL=$failures; shift ;;
	--plan) FAKE_PLAN=$(realpath "${2:?}") || exit 128; export FAKE_PLAN; shift ;;
	--table) table=$(realpath "${2:?}") || exit 128; shift ;;
	--samples) FAKE_SAMPLES=$(realpath "${2:?}") || exit 128; export FAKE_SAMPLES; shift ;;
	--sample-table) sampled=$(realpath "${2:?}") || exit 128; shift ;;
	--counters) FAKE_COUNTERS=$(realpath "${2:?}") || exit 128; export FAKE_COUNTERS; shift ;;
	--counter-table) counted=$(realpath "${2:?}") || exit 128; shift ;;
	--metric-table) over_time=$(realpath "${2:?}") || exit 128; shift ;;
	--) shift; break ;;
	-*) usage ;;
	*) break ;;
	esac
	shift
done
[ $# -gt 0 ] || usage

# The scenarios of the chosen device, a line each: those listed above or in AMD's sdk.h. Text stands behind two spaces, or has spaces.
scenarios() {
	echo none
	case $vendor in
	cuda) sed -n '/^#\t--fail/,/^#\t *of AMD/{s/^#\t\t*//; s/  .*//; p}' "$0" | tr ',' '\n' | sed 's/^ *//' | grep -x '[a-z-]*[a-z]' ;;
	levelzero) printf '%s\n' reset-meanwhile late-start wrong-result no-properties cpu-first copy-first cut-module fast-ticks slow-ticks ;;
	rocm) echo no-sdk && sed -n '2,/\*\//p' "$here/rocm/sdk/sdk.h" | grep -o '"[a-z-]*"' | tr -d '"' ;;
	esac
}
known=$(scenarios)
# no process substitution: its process would be a child of the program that this becomes
[ -z "$failures" ] || IFS=, read -ra asked <<<"$failures,"
for scenario in "${asked[@]}"; do
	grep -qxF -e "$scenario" <<<"$known" || { echo "${0##*/}: $vendor has no scenario '$scenario'" >&2; exit 128; }
done
if [ $vendor = rocm ]; then
	fake=$("$here/install_rocm.sh") || exit $?
	folders=$fake/rocm
	[ "${FAKE_FAIL:-}" = no-sdk ] || folders+=:$fake/rocm/sdk
elif [ $vendor = replay ]; then
	fake=$("$here/replay/install.sh" "$FAKE_REPLAY") || exit $?
	folders=$fake
	if [ -e "$fake/libreplay_levelzero.so" ]; then
		ZE_ENABLE_ALT_DRIVERS=$("$here/levelzero/install.sh") || exit $?
		export ZE_ENABLE_ALT_DRIVERS
	fi
elif [ $vendor = levelzero ]; then
	ZE_ENABLE_ALT_DRIVERS=$("$here/levelzero/install.sh") || exit $?
	export ZE_ENABLE_ALT_DRIVERS
	folders=
else
	fake=${FAKE_CUDA_FOLDER:-$("$here/install.sh")} || exit $?
	folders=$fake/cuda
	if [ -n "$cupti" ]; then
		[ -d "$fake/cupti-$cupti" ] || usage
		folders=$fake/cupti-$cupti:$folders
	fi
	case ,${FAKE_FAIL:-}, in *,two-cuptis,*) export LD_PRELOAD=$fake/cupti-12.4/libcupti.so.12${LD_PRELOAD:+:$LD_PRELOAD} ;; esac
	export TRITON_LIBCUDA_PATH=$fake/cuda
fi
if [ -n "$folders" ]; then
	export LD_LIBRARY_PATH=$folders${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} PATH=$fake/bin:$PATH
fi
[ -n "$table$sampled$counted$over_time" ] || exec "$@"
parts=$(mktemp -d) && mkdir "$parts/run" "$parts/samples" "$parts/counters" "$parts/metrics" || exit 128
[ -z "$table" ] || export FAKE_TABLE=$parts/run/part
[ -z "$sampled" ] || export FAKE_SAMPLES_TABLE=$parts/samples/part
[ -z "$counted" ] || export FAKE_COUNTERS_TABLE=$parts/counters/part
[ -z "$over_time" ] || export FAKE_METRICS_TABLE=$parts/metrics/part
"$@"
status=$?
if [ -n "$table" ]; then
	"$here/table.py" "$parts/run" >"$table.new" && mv "$table.new" "$table" || status=128
fi
if [ -n "$sampled" ]; then
	{ echo kernel,pc,reason,taken,lost,period; find "$parts/samples" -type f -exec cat {} + | tr '\t' ,; } >"$sampled" || status=128
fi
if [ -n "$counted" ]; then
	{ echo kernel,graph,metric,value,launches,lost,outside; find "$parts/counters" -type f -exec cat {} + | tr '\t' ,; } >"$counted" || status=128
fi
if [ -n "$over_time" ]; then
	{ echo device,metric,start_ns,value,state; find "$parts/metrics" -type f -exec cat {} + | tr '\t' ,; } >"$over_time" || status=128
fi
rm -rf "$parts"
exit $status
