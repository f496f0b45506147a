#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every measurement of docs/results/, one after the other, on a machine that should otherwise be quiet.
# Usage: [HEAVY=1] bench/run.sh BUILD   (takes some 20 minutes; with HEAVY, which wants 35 GB of disk, some more)
set -u
cd "$(dirname "$0")/.."
build=${1:-build}
export SONDE_BUILD=$PWD/$build
python=/usr/bin/python3
section() { printf '\n## %s\n\n' "$*"; }

echo "Machine: $(grep -m1 'model name' /proc/cpuinfo | sed 's/.*: //'), $(nproc) processors, Linux $(uname -r), load $(cut -d' ' -f1 /proc/loadavg)"
section "Native unwinding"
"$build/bench/bench_unwind"
section "Sampling"
$python bench/sampling.py "$build"
section "PyTorch, tiny operators"
$python bench/torch_tiny.py --python $python
section "PyTorch, operators and graphs over time"
$python bench/torch_switched.py --python $python
section "Growth"
$python bench/growth.py "$build" $python 100000 3
section "OpenCL launches"
$python bench/opencl_launch.py
section "Start"
$python bench/startup.py "$build"
section "Analysis"
$python bench/analyze.py "$build" $python
section "Symbols"
$python bench/symbolize.py --build "$build"
section "Reports and exports"
$python bench/report.py
section "Python frames"
$python bench/python_walk.py
section "Regions"
$python bench/region.py
if [ -n "${HEAVY:-}" ]; then
	section "Analysis at scale"
	$python bench/analyze_scale.py "$build"
fi
