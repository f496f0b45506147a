#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# For the day when there is a real GPU (docs/design/fakes.md): runs the suite of a CUDA device and the benchmarks, records what
# CUPTI delivers, and leaves FOLDER and FOLDER.tar.gz, which tests/gpu/analyze.py reads on another machine.
# Usage: tests/gpu/run.sh FOLDER
# It takes a C compiler and Python's own library, and no network. SONDE names the program (build/src/cmd/sonde); without one there are
# recordings and the costs of others. Status 0; 1 where a check fails; 77, with one line, where there is no device or no compiler.
# SONDE_GPU_ROUNDS (5), SONDE_GPU_LAUNCHES (50000) and SONDE_GPU_REPLAYS (1000) say how long to measure.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
[ $# = 1 ] && [ "${1#-}" = "$1" ] || { sed -n 's/^# Usage: /usage: /p' "$0" >&2; exit 129; }
compiler=${CC:-cc}
command -v "${compiler##* }" >/dev/null || { echo "no C compiler ($compiler)"; exit 77; }
[ ! -e "$1" ] || { echo "gpu: '$1' is there already" >&2; exit 128; }
# a folder under another name until it is known that there is a device
mkdir -p "$(dirname "$1")" && new=$(mktemp -d "$1.XXXXXX") && new=$(realpath "$new") && mkdir "$new/bin" "$new/facts" || exit 128
flags=(-std=gnu17 -D_GNU_SOURCE -g -Wall -Wextra)
give_up() { rm -rf "$new"; exit "$1"; }

# lines are those of the source: nothing is inlined or called last
$compiler "${flags[@]}" -O1 -fno-inline -fno-optimize-sibling-calls -pthread -o "$new/bin/device" "$here/suite/device.c" -ldl || give_up 1
devices=$("$new/bin/device" probe)
status=$?
[ $status = 0 ] || { echo "$devices"; give_up $status; }
folder=$(realpath -m "$1")
mv -T "$new" "$folder" || exit 128
chmod 755 "$folder"
echo "$devices" | tee "$folder/facts/devices"

# ---- where it was ----
uname -rm >"$folder/facts/system"
$compiler --version | head -1 >"$folder/facts/compiler"
for file in /proc/driver/nvidia/version /proc/driver/nvidia/params; do
	[ ! -r $file ] || cat $file >"$folder/facts/$(basename $file)"
done
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ ! -x "$nvcc" ] || "$nvcc" --version >"$folder/facts/nvcc" 2>&1
git -C "$root" rev-parse HEAD >"$folder/facts/commit" 2>/dev/null

# ---- CUPTI: where the loader finds it, or in the toolkit ----
cupti=$("$folder/bin/device" cupti) || { cupti=; echo "no libcupti.so: nothing can be recorded, and calls alone are measured"; }
[ -z "$cupti" ] || export LD_LIBRARY_PATH=${cupti%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
echo "$cupti" >"$folder/facts/cupti"
$compiler "${flags[@]}" -O2 -fPIC -shared -I"$root/src" "-DNULL_TOOL_CUPTI=\"${cupti:-libcupti.so}\"" -o "$folder/bin/libnull_tool.so" \
	"$root/bench/cuda_null_tool.c" -ldl || exit 1

"$folder/bin/device" work >"$folder/truth.json" 2>"$folder/facts/result" || echo "the program fails by itself"

# ---- recordings: of whole graphs and of their nodes, before anything else has used CUPTI ----
for level in whole nodes; do
	options=()
	[ $level = whole ] || options=(--nodes)
	"$here/record.sh" "${options[@]}" "$folder/recordings/$level" "$folder/bin/device" work >"$folder/recordings.$level.out" 2>&1 ||
		echo "recording $level: status $?"
	mv "$folder/recordings.$level.out" "$folder/recordings/$level/output"
	mv "$folder/recordings/$level/librecorder.so" "$folder/bin/" 2>/dev/null
done

# ---- the suite and the benchmarks ----
sonde=${SONDE:-$root/build/src/cmd/sonde}
"$sonde" --version >"$folder/facts/sonde" 2>&1 || { echo "no Sonde ($sonde): recordings and the costs of others alone"; sonde=; }
[ -z "$sonde" ] || "$sonde" doctor >"$folder/facts/doctor" 2>&1
status=0
if command -v python3 >/dev/null; then
	python3 "$here/suite/suite.py" "$folder" ${sonde:+"$sonde"} || status=$?
else
	echo "no python3: recordings alone"
fi
rm -rf "$folder/scratch"
tar -C "$(dirname "$folder")" -czf "$folder.tar.gz" "$(basename "$folder")" || exit 128
echo "$folder.tar.gz: tests/gpu/analyze.py reads it on another machine"
exit $status
