#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prepares a CUDA that needs no GPU: NVIDIA's headers and compiler and PyTorch for CUDA from PyPI, once, under
# ~/.cache/sonde-test (SONDE_TEST_CACHE), and the libraries of tests/fake, compiled against those headers. Prints a folder:
# bin/ has a Python whose PyTorch finds them, and nvcc; cuda/ has the libraries. That takes 2.8 GB, since nothing is taken of
# NVIDIA's libraries. install.sh --plain, or with FAKE_CUDA_PLAIN set: without PyTorch, for programs that nvcc makes: 0.4 GB.
# Status 77, with the reason on stderr, where something cannot be had.
set -u
plain=${FAKE_CUDA_PLAIN:-}
[ "${1:-}" != --plain ] || plain=1
cd "$(dirname "$0")" || exit 1
cuda=${FAKE_CUDA_VERSION:-13.2}
cache=${SONDE_TEST_CACHE:-$HOME/.cache/sonde-test}
toolkit=$cache/cuda-toolkit-$cuda
flags=(-std=gnu17 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Wno-deprecated-declarations -fPIC -pthread)

unavailable() { echo "no fake CUDA: $1" >&2; exit 77; }

mkdir -p "$cache" || unavailable "cannot create $cache"
torch=
[ -n "$plain" ] || torch=$(../python_env.sh torch-bare) || exit 77
exec 9>"$cache/fake-lock" && flock 9

if [ ! -e "$toolkit/complete" ]; then
	echo "Installing CUDA's headers and compiler $cuda into $toolkit" >&2
	rm -rf "$toolkit"
	packages=()
	for name in cuda-nvcc cuda-crt nvvm cuda-cccl cuda-runtime cuda-cupti cuda-cuobjdump cuda-nvdisasm; do
		packages+=("nvidia-$name==$cuda.*")
	done
	timeout 600 /usr/bin/python3 -m pip install -q --no-deps --no-compile --disable-pip-version-check --target "$toolkit" \
		"${packages[@]}" >"$toolkit.log" 2>&1 || { rm -rf "$toolkit"; unavailable "$(tail -1 "$toolkit.log")"; }
	chmod +x "$toolkit"/nvidia/cu*/bin/*
	touch "$toolkit/complete"
fi
root=$(echo "$toolkit"/nvidia/cu*)
# CUPTI is that of all releases of releases.def, compiled against the newest, which has all fields and functions.
headers=$(cupti/install.sh 13.5) || unavailable "no headers of CUPTI"
site=
[ -n "$plain" ] || site=$("$torch" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')

# What is compiled is kept until a source, the headers or PyTorch change.
key=$(cat device/*.[ch] cuda/* $(find cupti -type f | sort) ../../src/collect/adapters/cuda/cupti.h install.sh <(echo "$cuda $torch") | sha256sum | cut -c1-12)
fake=$cache/fake-cuda-$cuda-$key
if [ ! -e "$fake/complete" ]; then
	echo "Compiling the fake CUDA into $fake" >&2
	rm -rf "$fake" && mkdir -p "$fake/cuda" "$fake/obj" "$fake/bin"
	lib=$fake/cuda obj=$fake/obj
	gcc "${flags[@]}" -shared -o "$lib/libcuda_device.so" device/*.c -Wl,-soname,libcuda_device.so || exit 1
	gcc "${flags[@]}" -I"$root/include" -shared -o "$lib/libcuda_common.so" cuda/array.c cuda/attributes.c cuda/compute.c \
		-Wl,-soname,libcuda_common.so -L"$lib" -lcuda_device -Wl,-rpath,'$ORIGIN' || exit 1
	for source in cuda/runtime_*.c cuda/driver*.c cuda/lib*.c; do
		gcc "${flags[@]}" -I"$root/include" -c "$source" -o "$obj/$(basename "$source" .c).o" || exit 1
	done
	# what is exported is what these want, and what our own sources have
	binaries=()
	[ -n "$plain" ] || mapfile -t binaries < <(find "$site/torch/lib" -name '*.so' -size +20k)

	# link SONAME OBJECT...: the generated source with its bodies
	link() {
		local soname=$1
		shift
		gcc "${flags[@]}" -w -I"$root/include" -Icuda -c "$obj/$soname.c" -o "$obj/$soname.o" &&
			gcc -shared -o "$lib/$soname" "$obj/$soname.o" "$@" -Wl,-soname,"$soname" \
				-Wl,--version-script="$obj/$soname.map" -L"$lib" -lcuda_common -lcuda_device -Wl,-rpath,'$ORIGIN' -Wl,-z,defs
	}
	major=${cuda%%.*}
	cuda/generate.py api "libcudart.so.$major" "$obj" "$root/include" cuda/host_runtime.h "$obj"/runtime_*.o -- "${binaries[@]}" &&
		link "libcudart.so.$major" "$obj"/runtime_*.o || exit 1
	cuda/generate.py api libcuda.so.1 "$obj" "$root/include" cuda/nothing.h "$obj"/driver*.o -- "${binaries[@]}" &&
		link libcuda.so.1 "$obj"/driver*.o || exit 1
	mapfile -t records < <(cupti/records.sh "$headers")
	for source in cupti/cupti.c cupti/buffers.c cupti/pc_sampling.c cupti/pm_sampling.c cupti/range_profiler.c cupti/subscribers.c; do
		gcc "${flags[@]}" "${records[@]}" "-I$headers" -c "$source" -o "$obj/cupti_$(basename "$source" .c).o" || exit 1
	done
	cuda/generate.py cupti libcupti "$obj" "$headers" "$obj"/cupti_*.o -- "${binaries[@]}" &&
		gcc "${flags[@]}" -w "-I$headers" -c "$obj/libcupti.c" -o "$obj/libcupti.o" || exit 1
	# link_cupti RELEASE SONAME FOLDER
	link_cupti() {
		mkdir -p "$3" && gcc "${flags[@]}" "${records[@]}" "-DFAKE_RELEASE=${1/./_}" "-I$headers" -c cupti/release.c -o "$obj/release.o" &&
			gcc -shared -o "$3/$2" "$obj/libcupti.o" "$obj/release.o" "$obj"/cupti_*.o -Wl,-soname,"$2" \
				-Wl,--version-script="$obj/cupti-$1.map" -L"$lib" -lcuda_device -Wl,-rpath,"$lib" -Wl,-z,defs -ldl
	}
	for release in 11.8 12.4 12.9 13.0 13.1 13.2 13.5; do
		soname=libcupti.so.${release%%.*}
		[ "$release" = 11.8 ] && soname=libcupti.so.11.8
		link_cupti $release "$soname" "$fake/cupti-$release" || exit 1
		# PyTorch wants it by the name of the release that it was compiled for
		[ -e "$fake/cupti-$release/libcupti.so.$major" ] || ln -s "$soname" "$fake/cupti-$release/libcupti.so.$major" || exit 1
	done
	ln -s "../cupti-$cuda/libcupti.so.$major" "$lib/libcupti.so.$major" || exit 1
	# What PyTorch wants of CUPTI and the oldest has not: it loads all the same, and is told "not supported" (27). No handle of a CUPTI finds it.
	newer=$(for binary in "${binaries[@]}"; do nm -D --undefined-only "$binary"; done | sed -n 's/.* \(cupti[A-Za-z0-9_]*\)@libcupti\.so.*/\1/p' | sort -u |
		while read -r name; do grep -q "^	$name;" "$obj/cupti-11.8.map" || echo "$name"; done)
	if [ -n "$newer" ]; then
		for name in $newer; do echo "int $name(void);int $name(void) { return 27; }"; done >"$obj/libcuda_newer.c"
		{ echo "libcupti.so.$major {" && for name in $newer; do echo "	$name;"; done && echo "};"; } >"$obj/libcuda_newer.map"
		gcc "${flags[@]}" -shared -o "$lib/libcuda_newer.so" "$obj/libcuda_newer.c" -Wl,-soname,libcuda_newer.so \
			-Wl,--version-script="$obj/libcuda_newer.map" || exit 1
		link "libcudart.so.$major" "$obj"/runtime_*.o -Wl,--no-as-needed -lcuda_newer || exit 1
	fi
	ln -s "libcudart.so.$major" "$lib/libcudart.so"
	ln -s libcuda.so.1 "$lib/libcuda.so"
	for soname in libnccl.so.2 $(for binary in "${binaries[@]}"; do readelf -d "$binary"; done |
		sed -n 's/.*NEEDED.*\[\(lib\(cu\|nccl\|nv\)[A-Za-z_]*\.so\.[0-9]*\)\]/\1/p' | sort -u); do
		[ -e "$lib/$soname" ] && continue
		bodies=$obj/$(basename "$soname" | sed 's/\.so.*//').o
		[ -e "$bodies" ] || bodies=
		cuda/generate.py math "$soname" "$obj" $bodies -- "${binaries[@]}" && link "$soname" $bodies || exit 1
	done
	# a virtual environment whose PyTorch takes the libraries that LD_LIBRARY_PATH names
	if [ -z "$plain" ]; then
		packages=$fake/lib/$(basename "$(dirname "$site")")/site-packages
		mkdir -p "$packages"
		for entry in "$site"/*; do
			case ${entry##*/} in torch) ;; *) ln -s "$entry" "$packages/" ;; esac
		done
		cp -al "$site/torch" "$packages/torch" 2>/dev/null || cp -a "$site/torch" "$packages/torch" || exit 1
		cp "$(dirname "$(dirname "$torch")")/pyvenv.cfg" "$fake/"
		ln -s "$(readlink -f "$torch")" "$fake/bin/python3"
		ln -s python3 "$fake/bin/python"
	fi
	printf '#!/bin/sh\n# The runtime is a library, so that it can be another one.\nexec %s -cudart shared -L%s "$@"\n' "$root/bin/nvcc" "$lib" \
		>"$fake/bin/nvcc"
	chmod +x "$fake/bin/nvcc"
	touch "$fake/complete"
fi
echo "$fake"
