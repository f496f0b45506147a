#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints the folder of NVIDIA's ptxas and nvdisasm, for the tests that compare with them. They come from PyPI,
# are installed once, under ~/.cache/sonde-test (SONDE_TEST_CACHE), and take 180 MB; no GPU is needed.
# Status 77, with the reason on stderr, where they cannot be had.
set -u
version=13.5.37
python=${SONDE_TORCH_BASE:-/usr/bin/python3}
cache=${SONDE_TEST_CACHE:-$HOME/.cache/sonde-test}
folder=$cache/cuda-tools-$version
log=$cache/cuda-tools-$version.log

unavailable() { echo "no CUDA tools $version for the tests: $1" >&2; exit 77; }

mkdir -p "$cache" || unavailable "cannot create $cache"
exec 9>"$cache/cuda-lock" && flock 9
if [ ! -e "$folder/complete" ]; then
	echo "Installing ptxas and nvdisasm into $folder" >&2
	rm -rf "$folder"
	timeout "${SONDE_TORCH_TIMEOUT:-600}" "$python" -m pip install -q --no-deps --no-compile --disable-pip-version-check \
		--target "$folder" "nvidia-cuda-nvcc==$version" "nvidia-cuda-nvdisasm==$version" >"$log" 2>&1 ||
		{ rm -rf "$folder"; unavailable "$(tail -1 "$log")"; }
	chmod +x "$folder"/nvidia/cu13/bin/*
	touch "$folder/complete"
fi
echo "$folder/nvidia/cu13/bin"
