#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# For the day when there is a real GPU (docs/design/fakes.md): runs the suite of an NVIDIA, Intel or AMD device and the benchmarks, records
# what CUPTI or rocprofiler-sdk delivers, or the calls of Level Zero, and leaves FOLDER and FOLDER.tar.gz, which tests/gpu/analyze.py reads on another machine.
# Usage: tests/gpu/run.sh FOLDER
# It takes a C compiler (for AMD ROCm's hipcc) and Python's own library, and no network. SONDE names the program (build/src/cmd/sonde);
# without one there are recordings and the costs of others. Status 0; 1 where a check fails; 77, with one line, where there is no device or
# no compiler. SONDE_GPU_ROUNDS (5), SONDE_GPU_LAUNCHES (50000) and SONDE_GPU_REPLAYS (1000) say how long to measure, SONDE_GPU_LIMIT (300) how
# many seconds one program may take: a device that hangs is a failure.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
[ $# = 1 ] && [ "${1#-}" = "$1" ] || { sed -n 's/^# Usage: /usage: /p' "$0" >&2; exit 129; }
compiler=${CC:-cc}
command -v "${compiler##* }" >/dev/null || { echo "no C compiler ($compiler)"; exit 77; }
[ ! -e "$1" ] || { echo "gpu: '$1' is there already" >&2; exit 128; }
folder=$(realpath -m "$1")
# under another name until it is known that there is a device
mkdir -p "$(dirname "$folder")" && new=$(mktemp -d "$folder.XXXXXX") && mkdir -p "$new"/{cuda,levelzero,hip}/{bin,facts} || exit 128
chmod 755 "$new"
flags=(-std=gnu17 -D_GNU_SOURCE -g -Wall -Wextra)
# lines are those of the source: no function is called last, or inlined
bounded=(timeout -k 10 "${SONDE_GPU_LIMIT:-300}")
lines=(-g -O1 -fno-inline -fno-optimize-sibling-calls -D_GNU_SOURCE -pthread)

# ---- which devices there are ----
status=0
reasons=()
has_device() { # has_device VENDOR: or the reason
	local said probed
	said=$("${bounded[@]}" "$new/$1/bin/device" probe)
	probed=$?
	[ $probed != 0 ] || { echo "$said" | tee "$new/$1/facts/devices"; return; }
	if [ $probed = 77 ]; then
		reasons+=("$said")
	else
		echo "$1: looking for devices failed with status $probed"
		status=1
	fi
	rm -r "${new:?}/$1"
	return 1
}
$compiler "${flags[@]}" "${lines[@]}" -o "$new/cuda/bin/device" "$here/suite/device.c" -ldl || { rm -r "$new"; exit 1; }
has_device cuda
$compiler "${flags[@]}" "${lines[@]}" -o "$new/levelzero/bin/device" "$here/suite/device_ze.c" -ldl || { rm -r "$new"; exit 1; }
has_device levelzero
hipcc=$(command -v hipcc || echo /opt/rocm/bin/hipcc)
if [ -x "$hipcc" ] && "$hipcc" -o "$new/hip/bin/device" "$here/suite/device.hip" "${lines[@]}" 2>"$new/hip/facts/compiler"; then
	has_device hip
else
	rm -r "$new/hip"
fi
if [ ! -d "$new/cuda" ] && [ ! -d "$new/levelzero" ] && [ ! -d "$new/hip" ]; then
	rm -r "$new"
	printf -v reason '%s; ' "${reasons[@]}"
	[ ${#reasons[@]} = 0 ] || echo "${reason%; }"
	[ $status = 0 ] || exit $status
	exit 77
fi
mv -T "$new" "$folder" || exit 128

# ---- where it was ----
facts_of() {
	local facts=$folder/$1/facts
	uname -rm >"$facts/system"
	$compiler --version | head -1 >>"$facts/compiler"
	git -C "$root" rev-parse HEAD >"$facts/commit" 2>/dev/null
	local ended=0
	"${bounded[@]}" "$folder/$1/bin/device" work >"$folder/$1/truth.json" 2>"$facts/result" || ended=$?
	if [ $ended != 0 ]; then
		[ $ended != 124 ] || echo "it was ended after ${bounded[3]} s" >>"$facts/result"
		echo "$1: the program failed: $(<"$facts/result")"
		rm "$folder/$1/truth.json"
		status=1
	fi
	[ -z "$sonde" ] || "$sonde" --version >"$facts/sonde" 2>&1
	[ -z "$sonde" ] || "${bounded[@]}" "$sonde" doctor >"$facts/doctor" 2>&1
}

suite() {
	if command -v python3 >/dev/null; then
		python3 "$here/suite/suite.py" "$1" "$folder/$1" ${sonde:+"$sonde"} || status=$?
	else
		echo "no python3: what Sonde measures is not checked, nor timed"
	fi
	rm -rf "$folder/$1/scratch"
}

# record_as VENDOR LEVEL OPTION...: the program, and what it printed. Status 1: nothing was recorded
record_as() {
	local own=$folder/$1 recorded=$folder/$1/recordings/$2
	"${bounded[@]}" "$here/record.sh" "${@:3}" "$recorded" "$own/bin/device" work >"$own/output" 2>&1 || echo "recording $2: status $?"
	mv "$own/output" "$recorded/"
	mv "$recorded"/librecorder*.so "$own/bin/" 2>/dev/null
	[ -n "$(find "$recorded" -name '*.recording')" ] || { echo "recording $2: there is none"; return 1; }
}

sonde=${SONDE:-$root/build/src/cmd/sonde}
"$sonde" --version >/dev/null 2>&1 || { echo "no Sonde ($sonde): recordings and the costs of others alone"; sonde=; }

cuda() {
	local cuda=$folder/cuda cupti nvcc level options file
	facts_of cuda
	for file in /proc/driver/nvidia/version /proc/driver/nvidia/params; do
		[ ! -r $file ] || cat $file >"$cuda/facts/$(basename $file)"
	done
	nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
	[ ! -x "$nvcc" ] || "$nvcc" --version >"$cuda/facts/nvcc" 2>&1
	# CUPTI where the loader finds it, or in the toolkit
	cupti=$("${bounded[@]}" "$cuda/bin/device" cupti) || { cupti=; echo "no libcupti.so: nothing can be recorded, and calls alone are measured"; }
	[ -z "$cupti" ] || export LD_LIBRARY_PATH=${cupti%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	echo "$cupti" >"$cuda/facts/cupti"
	$compiler "${flags[@]}" -O2 -fPIC -shared -I"$root/src" "-DNULL_TOOL_CUPTI=\"${cupti:-libcupti.so}\"" -o "$cuda/bin/libnull_tool.so" \
		"$root/bench/cuda_null_tool.c" -ldl || exit 1
	# of whole graphs and of their nodes; and what is sampled, which a driver may refuse
	for level in whole nodes continuous serialized; do
		options=()
		case $level in
		nodes) options=(--nodes) ;;
		continuous | serialized) options=(--samples "$level@1024") ;;
		esac
		record_as cuda $level "${options[@]}"
	done
	suite cuda
}

hip() {
	facts_of hip
	[ ! -r /sys/module/amdgpu/version ] || cat /sys/module/amdgpu/version >"$folder/hip/facts/version"
	record_as hip whole --rocm
	record_as hip counters --rocm --counters SQ_WAVES,GRBM_GUI_ACTIVE # each device has them, and both fit into a pass
	# AMD's condition: by this variable the user accepts that a device may freeze
	[ -z "${ROCPROFILER_PC_SAMPLING_BETA_ENABLED:-}" ] || record_as hip samples --rocm --samples continuous
	suite hip
}

levelzero() {
	facts_of levelzero
	env | grep -E '^(ZE|NEO|ONEAPI|SYCL)' >"$folder/levelzero/facts/environment"
	record_as levelzero lists --levelzero || status=1
	suite levelzero
}

[ ! -d "$folder/cuda" ] || cuda
[ ! -d "$folder/levelzero" ] || levelzero
[ ! -d "$folder/hip" ] || hip
tar -C "$(dirname "$folder")" -czf "$folder.tar.gz" "$(basename "$folder")" || exit 128
echo "$folder.tar.gz: tests/gpu/analyze.py reads it on another machine"
exit $status
