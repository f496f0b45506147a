#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Writes oclgrind.csv again: the kernels run by Oclgrind, with a plugin that counts (docs/design/fakes.md). Needs Debian's oclgrind, liboclgrind-dev,
# g++, and the llvm-dev that its library is linked with.
# Usage: tests/workloads/simulated/oclgrind.sh >tests/workloads/simulated/oclgrind.csv
set -eu
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
library=$(PATH=$PATH:/sbin ldconfig -p | sed -n 's/.*=> \(.*liboclgrind-[0-9.]*\.so\)$/\1/p' | head -1)
llvm=$(readelf -d "$library" | sed -n 's/.*\[libLLVM-\([0-9]*\)\.so.*/\1/p')
g++ -std=c++17 -fno-rtti -O1 -shared -fPIC -isystem "/usr/lib/llvm-$llvm/include" -o "$scratch/lines.so" oclgrind_lines.cpp \
	-L"/usr/lib/llvm-$llvm/lib" "-lLLVM-$llvm"

# simulate KERNEL TYPE-OF-BUFFERS CONTENT: 128 work items in groups of 64, 16 turns of each loop
simulate() {
	printf '%s\n' "$PWD/kernels.cl" "$1" '128 1 1' '64 1 1' "<size=512 $2 fill=0>" "<size=262144 $2 $3>" '<int size=4>' 16 >"$scratch/$1.sim"
	oclgrind-kernel --num-threads 1 --plugins "$scratch/lines.so" "$scratch/$1.sim"
}

echo "# $(oclgrind --version | grep -m1 Oclgrind): instructions of LLVM IR that the work items of kernels.cl executed, and bytes that these loaded or stored"
echo "# made by oclgrind.sh: 128 work items in groups of 64, n = 16; a row for each instruction, in the order of the code"
echo kernel,function,line,instruction,executed,bytes
for kernel in compute strided banks diverge; do
	simulate $kernel float fill=0.5
done
for kernel in convert chase; do
	simulate $kernel int range=0:4099:268627965
done
