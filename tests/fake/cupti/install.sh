#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs a release of CUPTI from PyPI, once, under ~/.cache/sonde-test (SONDE_TEST_CACHE), and prints a folder: of its headers, which has
# CUDA's as well, and the library lies in ../lib; or, with --host, of its libraries, beside those that its counters need. Status 77, with the
# reason on stderr, where it cannot be had.
# Usage: install.sh [--host] RELEASE, as 12.4
set -u
host=
[ "${1:-}" != --host ] || { host=-host; shift; }
release=${1:?}
cache=${SONDE_TEST_CACHE:-$HOME/.cache/sonde-test}
folder=$cache/cupti$host-$release
packages=(cupti runtime nvcc) major=-cu${release%%.*} libraries=(libcupti)
case $release in 11.* | 12.*) ;; *) packages=(cupti runtime crt) major= ;; esac
[ -z "$host" ] || { packages=(cupti) libraries+=(libnvperf_host libnvperf_target); }
mkdir -p "$cache" || exit 77
exec 8>"$cache/cupti-lock" && flock 8
if [ ! -e "$folder/complete" ]; then
	echo "Installing CUPTI $release into $folder" >&2
	rm -rf "$folder"
	packages=("${packages[@]/#/nvidia-cuda-}")
	timeout 600 /usr/bin/python3 -m pip install -q --no-deps --no-compile --disable-pip-version-check --target "$folder/all" \
		"${packages[@]/%/$major==$release.*}" >"$folder.log" 2>&1 || { tail -1 "$folder.log" >&2; rm -rf "$folder"; exit 77; }
	mkdir "$folder/include" "$folder/lib"
	# 11 and 12 have one folder for each package
	for part in "$folder"/all/nvidia/*/include; do cp -al "$part/." "$folder/include/"; done
	for name in "${libraries[@]}"; do ln "$folder"/all/nvidia/*/lib/"$name".so* "$folder/lib/"; done
	rm -rf "$folder/all"
	touch "$folder/complete"
fi
[ -n "$host" ] && echo "$folder/lib" || echo "$folder/include"
