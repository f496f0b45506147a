#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# install.sh RECORDING: compiles what plays a recording (docs/format/recording.md), in a second, with a C compiler alone. Prints a
# folder: bin/replay is the program, libcupti.so or librocprofiler-sdk.so.1 exports the functions that the recorded library had; of a recording of
# Level Zero the program calls Level Zero's own loader. It is kept under ~/.cache/sonde-test (SONDE_TEST_CACHE). Status 77, with the reason on stderr, where there is no compiler.
set -u
here=$(cd "$(dirname "$0")" && pwd)
recording=${1:?}
cache=${SONDE_TEST_CACHE:-$HOME/.cache/sonde-test}
compiler=${CC:-cc}

command -v "${compiler##* }" >/dev/null || { echo "no replay: no C compiler ($compiler)" >&2; exit 77; }
functions=$("$here/../../gpu/record/recording.py" functions "$recording") || exit 128
mkdir -p "$cache" || exit 77
case $functions in
*rocprofiler_*) library=librocprofiler-sdk.so.1 sources=({load_sdk,sdk,sdk_samples,sdk_counters}.c) functions+=$'\n'rocprofiler_set_api_table ;;
*zelTracer*) library=libreplay_levelzero.so sources=(levelzero.c) functions= ;;
*) library=libcupti.so sources=({load_cupti,load_samples,cupti,samples}.c) ;;
esac
adapters=$here/../../../src/collect/adapters
key=$(cat "$here"/* "$here/../../gpu/record/"{recording.h,levelzero/calls.def} "$adapters/cuda"/cupti{,_samples}.h "$adapters/rocm"/{rocprofiler{,_samples}.h,memory.def} - <<<"$functions" | sha256sum | cut -c1-12)
folder=$cache/fake-replay-$key
if [ ! -e "$folder/bin/replay" ]; then
	new=$(mktemp -d "$folder.XXXXXX") && mkdir "$new/bin" || exit 77
	{
		echo '{ global: replay_play;'
		for name in $functions; do echo "$name;"; done
		echo 'local: *; };'
	} >"$new/functions.map"
	flags=(-std=gnu17 -D_GNU_SOURCE -O2 -g -Wall -Wextra -fPIC -pthread)
	$compiler "${flags[@]}" -shared -o "$new/$library" "$here"/{load,play}.c "${sources[@]/#/$here/}" -Wl,-soname,$library \
		-Wl,--version-script="$new/functions.map" -ldl || exit 1
	$compiler "${flags[@]}" -o "$new/bin/replay" "$here/main.c" -L"$new" -l:$library -Wl,-rpath,'$ORIGIN/..' || exit 1
	mv -T "$new" "$folder" 2>/dev/null || rm -rf "$new"
fi
echo "$folder"
