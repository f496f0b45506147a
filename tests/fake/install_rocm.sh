#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compiles a HIP that needs no GPU, under ~/.cache/sonde-test (SONDE_TEST_CACHE): seconds, and nothing is fetched. Prints a
# folder: rocm/ has HIP and rocprofiler-register, rocm/sdk/ rocprofiler-sdk, bin/ hipcc, which compiles one file to a program.
# Status 77, with the reason on stderr, where there is no compiler. FAKE_ROCM_REGISTER names AMD's librocprofiler-register.so.0,
# to be taken in place of ours.
set -u
cd "$(dirname "$0")" || exit 1
cache=${SONDE_TEST_CACHE:-$HOME/.cache/sonde-test}
flags=(-std=gnu17 -D_GNU_SOURCE -O2 -g -Wall -Wextra -fPIC -pthread -shared)

unavailable() { echo "no fake ROCm: $1" >&2; exit 77; }

for program in gcc clang++ ld.lld; do
	command -v $program >/dev/null || unavailable "no $program"
done
mkdir -p "$cache" || unavailable "cannot create $cache"
exec 9>"$cache/fake-rocm-lock" && flock 9

key=$(cat device/*.[ch] cuda/kernels.[ch] rocm/*.* rocm/sdk/* install_rocm.sh <(echo "${FAKE_ROCM_REGISTER:-}") | sha256sum | cut -c1-12)
fake=$cache/fake-rocm-$key
if [ ! -e "$fake/complete" ]; then
	echo "Compiling the fake ROCm into $fake" >&2
	rm -rf "$fake" && mkdir -p "$fake/rocm/sdk" "$fake/bin" "$fake/include"
	lib=$fake/rocm
	gcc "${flags[@]}" -o "$lib/libfake_device.so" device/*.c -Wl,-soname,libfake_device.so || exit 1
	if [ -n "${FAKE_ROCM_REGISTER:-}" ]; then
		ln -s "$(realpath "$FAKE_ROCM_REGISTER")" "$lib/librocprofiler-register.so.0" || exit 1
	else
		gcc "${flags[@]}" -o "$lib/librocprofiler-register.so.0" rocm/register.c -Wl,-soname,librocprofiler-register.so.0 || exit 1
	fi
	gcc "${flags[@]}" -o "$lib/libamdhip64.so.6" rocm/runtime.c cuda/kernels.c -Wl,-soname,libamdhip64.so.6 \
		-L"$lib" -lfake_device -l:librocprofiler-register.so.0 -Wl,-rpath,'$ORIGIN' -Wl,-z,defs || exit 1
	gcc "${flags[@]}" -o "$lib/sdk/librocprofiler-sdk.so.1" rocm/sdk/*.c -Wl,-soname,librocprofiler-sdk.so.1 \
		-L"$lib" -lfake_device -Wl,-rpath,'$ORIGIN/..' -Wl,-z,defs || exit 1
	# markers: roctracer's library, and the SDK's
	gcc "${flags[@]}" -o "$lib/libroctx64.so.4" rocm/roctx.c -Wl,-soname,libroctx64.so.4 || exit 1
	gcc "${flags[@]}" -DFAKE_TABLE -o "$lib/librocprofiler-sdk-roctx.so.1" rocm/roctx.c -Wl,-soname,librocprofiler-sdk-roctx.so.1 \
		-L"$lib" -l:librocprofiler-register.so.0 -Wl,-rpath,'$ORIGIN' -Wl,-z,defs || exit 1
	ln -s libroctx64.so.4 "$lib/libroctx64.so"
	ln -s librocprofiler-sdk-roctx.so.1 "$lib/librocprofiler-sdk-roctx.so"
	ln -s libamdhip64.so.6 "$lib/libamdhip64.so"
	ln -s librocprofiler-sdk.so.1 "$lib/sdk/librocprofiler-sdk.so"
	# a later checkout takes this folder as well: the compiler reads nothing of the one that made it
	cp rocm/*.h rocm/*.def "$fake/include/" || exit 1
	# a code object for MI200, and the host's program around it
	cat >"$fake/bin/hipcc" <<-EOF
		#!/bin/sh
		# hipcc SOURCE OUTPUT OPTION..., or as AMD's: hipcc -o OUTPUT SOURCE OPTION...
		set -e
		[ "\$1" != -o ] || { output=\$2 source=\$3; shift 3; set -- "\$source" "\$output" "\$@"; }
		source=\$1 output=\$2
		shift 2
		set -- -x hip -nogpuinc -nogpulib --offload-arch=gfx90a -I"$fake/include" "\$source" "\$@"
		clang++ "\$@" --cuda-device-only --no-gpu-bundle-output -o "\$output.co"
		clang++ "\$@" --cuda-host-only -Xclang -fcuda-include-gpubinary -Xclang "\$output.co" -o "\$output" \\
			-L"$lib" -lamdhip64 -Wl,-rpath-link,"$lib" -pthread
		rm "\$output.co"
	EOF
	chmod +x "$fake/bin/hipcc"
	touch "$fake/complete"
fi
echo "$fake"
