#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes gpgpusim.csv from what GPGPU-Sim counted for each line of PTX (its gpgpu_inst_stats.txt), with the source lines that the PTX names
(docs/design/fakes.md). Usage: gpgpusim.py PTX STATISTICS VERSION CONFIGURATION >gpgpusim.csv"""
import re
import sys

ptx, statistics, version, configuration = sys.argv[1:]
COLUMNS = ("executed", "latency", "dram_traffic", "shared_cycles", "shared_warps", "global_accesses", "global_warps", "exposed_latency", "divergences")
text = open(ptx).read()
names = dict(re.findall(r"^(\$L__info_string\d+):((?:\n\.b8 [\d,]+)+)", text, re.M))
strings = {name: bytes(int(byte) for byte in re.findall(r"\d+", re.sub(r"\.b8", "", codes))).rstrip(b"\0").decode() for name, codes in names.items()}
counted = {int(line): values.split() for line, values in re.findall(r" (\d+) : (.*)", open(statistics).read())}
print(f"# {version}, {configuration}: what the threads executed of each line of nvcc's PTX, and the cycles that their warps spent in it, summed")
print("# made by gpgpusim.py: 128 threads in blocks of 64, n = 16; a row for each instruction, in the order of the code")
print("kernel,function,line,instruction," + ",".join(COLUMNS))
kernel = function = line = ""
for number, code in enumerate(text.splitlines(), 1):
    if match := re.match(r"\.visible \.entry (\w+)", code):
        kernel = function = match[1]
    elif match := re.match(r"\s*\.loc\s+\d+ (\d+) \d+(?:, function_name (\S+),)?", code):
        line, function = match[1], kernel
        if match[2]:
            function = re.findall(r"\d+([a-z_]+)E", strings[match[2]])[-1]
    elif number in counted:
        match = re.match(r"\s*(?:@!?%p\d+ )?([\w.]+)", code)
        print(",".join((kernel, function, line, match[1], *counted[number])))
