#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the libraries of a release of CUPTI from PyPI, with those that its counters need, once, under ~/.cache/sonde-test
# (SONDE_TEST_CACHE), and prints their folder. Status 77, with the reason on stderr, where they cannot be had.
# Usage: host.sh RELEASE, as 12.9
set -u
release=${1:?}
cache=${SONDE_TEST_CACHE:-$HOME/.cache/sonde-test}
folder=$cache/cupti-host-$release
case $release in
12.*) package="nvidia-cuda-cupti-cu12==$release.*" ;;
*) package="nvidia-cuda-cupti==$release.*" ;;
esac
mkdir -p "$cache" || exit 77
exec 8>"$cache/cupti-host-lock" && flock 8
if [ ! -e "$folder/complete" ]; then
	echo "Installing CUPTI's libraries $release into $folder" >&2
	rm -rf "$folder"
	timeout 600 /usr/bin/python3 -m pip install -q --no-deps --no-compile --disable-pip-version-check --target "$folder/all" \
		"$package" >"$folder.log" 2>&1 || { tail -1 "$folder.log" >&2; rm -rf "$folder"; exit 77; }
	mkdir "$folder/lib"
	for part in "$folder"/all/nvidia/*/lib/lib{cupti,nvperf_host,nvperf_target}.so*; do ln "$part" "$folder/lib/"; done
	rm -rf "$folder/all"
	touch "$folder/complete"
fi
echo "$folder/lib"
