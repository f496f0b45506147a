#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs a release of CUPTI with its headers from PyPI, once, under ~/.cache/sonde-test (SONDE_TEST_CACHE), and prints the folder of its
# headers, which has CUDA's as well. The library lies in ../lib. Status 77, with the reason on stderr, where it cannot be had.
# Usage: headers.sh RELEASE, as 12.4
set -u
release=${1:?}
cache=${SONDE_TEST_CACHE:-$HOME/.cache/sonde-test}
folder=$cache/cupti-$release
case $release in
11.*) packages=("nvidia-cuda-cupti-cu11==$release.*" "nvidia-cuda-runtime-cu11==$release.*" "nvidia-cuda-nvcc-cu11==$release.*") ;;
12.*) packages=("nvidia-cuda-cupti-cu12==$release.*" "nvidia-cuda-runtime-cu12==$release.*" "nvidia-cuda-nvcc-cu12==$release.*") ;;
*) packages=("nvidia-cuda-cupti==$release.*" "nvidia-cuda-runtime==$release.*" "nvidia-cuda-crt==$release.*") ;;
esac
mkdir -p "$cache" || exit 77
exec 8>"$cache/cupti-lock" && flock 8
if [ ! -e "$folder/complete" ]; then
	echo "Installing CUPTI $release into $folder" >&2
	rm -rf "$folder"
	timeout 600 /usr/bin/python3 -m pip install -q --no-deps --no-compile --disable-pip-version-check --target "$folder/all" \
		"${packages[@]}" >"$folder.log" 2>&1 || { tail -1 "$folder.log" >&2; rm -rf "$folder"; exit 77; }
	mkdir "$folder/include" "$folder/lib"
	# 11 and 12 have one folder for each package
	for part in "$folder"/all/nvidia/*/include; do cp -al "$part/." "$folder/include/"; done
	for part in "$folder"/all/nvidia/*/lib/libcupti.so*; do ln "$part" "$folder/lib/"; done
	rm -rf "$folder/all"
	touch "$folder/complete"
fi
echo "$folder/include"
