#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes mgpusim.csv from what MGPUSim traced of each instruction of a code object, with the source lines that LLVM names (docs/design/fakes.md).
The trace has a line for each: kernel, address, instruction, unit, and the numbers in the order of COLUMNS.
Usage: mgpusim.py CODE-OBJECT TRACE VERSION CONFIGURATION >mgpusim.csv"""
import json
import subprocess
import sys

code, trace, version, configuration = sys.argv[1:]
COLUMNS = ("executed", "latency", "executing", "fetching", "waiting")
rows = [line.replace(",", " ").split() for line in open(trace)]
told = json.loads(subprocess.run(["llvm-symbolizer-19", "--output-style=JSON", f"--obj={code}", *("0x" + row[1] for row in rows)], check=True,
                                 capture_output=True, text=True).stdout)
print(f"# {version}, {configuration}: what the waves executed of each instruction by clang 19 for gfx942, and their cycles, summed")
print("# made by mgpusim.py: 128 work items in groups of 64 (2 waves), n = 16; a row for each instruction, in the order of the code")
print("kernel,function,line,instruction,unit," + ",".join(COLUMNS))
for (kernel, _, instruction, unit, *numbers), place in zip(rows, told):
    innermost = place["Symbol"][0]
    line = innermost["Line"] if innermost["FileName"].endswith("/kernels.cl") else 0
    assert len(numbers) == len(COLUMNS)
    print(",".join((kernel, innermost["FunctionName"].partition("(")[0], str(line), instruction, unit, *numbers)))
