#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Profiles the two examples, prints their reports, and writes demo/*.html. Usage: tools/demo.sh BUILD
set -eu
cd "$(dirname "$0")/.."
build=$PWD/${1:-build}
sonde=$build/src/cmd/sonde
out=demo
mkdir -p $out

# The PyTorch that is installed, whichever python3 has it; else Debian's.
python=""
for candidate in python3 /usr/bin/python3; do
	if "$candidate" -c 'import torch' 2>/dev/null; then
		python=$candidate
		break
	fi
done

title() { printf '\n\033[1m== %s\033[0m\n' "$*"; }

if [ -n "$python" ]; then
	title "PyTorch: sonde run -- $python examples/pytorch/train.py"
	"$sonde" run -o $out/pytorch -- "$python" examples/pytorch/train.py
	"$sonde" export --to html $out/pytorch.sdb -o $out/pytorch.html
else
	echo "demo: no PyTorch found; skipping the PyTorch example" >&2
fi

if [ -x "$build/examples/heat" ]; then
	title "OpenCL: sonde run -- $build/examples/heat"
	"$sonde" run -o $out/opencl -- "$build/examples/heat"
	"$sonde" report $out/opencl.sdb --view flat --by kernel --metric kernel-time,copy-time
	"$sonde" export --to html $out/opencl.sdb -o $out/opencl.html
else
	echo "demo: built without OpenCL; skipping the OpenCL example" >&2
fi

title "Open in a browser"
ls $out/*.html
