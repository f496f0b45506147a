#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a profile grows with time: the same training loop for 1,000 and 100,000 iterations.

Prints the collector's peak memory, the measurement's and the database's size, and the number of contexts, for
several settings; and what torch.profiler's memory does over a few hundred iterations.
Usage: bench/growth.py BUILD [PYTHON [ITERATIONS [REPEATS]]]
"""
from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(sys.argv[1]).resolve()
PYTHON = sys.argv[2] if len(sys.argv) > 2 else "/usr/bin/python3"
MANY = int(sys.argv[3]) if len(sys.argv) > 3 else 100_000
SONDE = BUILD / "src/cmd/sonde"
REPEATS = int(sys.argv[4]) if len(sys.argv) > 4 else 1
work = Path(tempfile.mkdtemp(prefix="sonde-bench-"))

LOOP = """
import sys, torch
torch.set_num_threads(1); torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(4, 8), torch.randn(4, 4)
def step():
    optimizer.zero_grad()
    ((model(x) - y) ** 2).mean().backward()
    optimizer.step()
"""
SONDE_LOOP = LOOP + """
import resource
for _ in range(int(sys.argv[1])): step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
PROFILER_LOOP = LOOP + """
import resource
for _ in range(20): step()
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True):
    for _ in range(int(sys.argv[1])): step()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) * 1024)
"""


def measure(options: list[str], iterations: int) -> dict[str, float]:
    output = work / "run"
    rss = statistics.median(float(subprocess.run(
        [*command, PYTHON, "-c", SONDE_LOOP, str(iterations)], check=True, capture_output=True, text=True).stdout)
        for command in [[SONDE, "run", "-q", "-o", output, *options, "--"]] * REPEATS)
    info = json.loads(subprocess.run([SONDE, "info", f"{output}.sdb", "--format", "json"], capture_output=True,
                                     text=True, check=True).stdout)
    peak = max(int(line.split("=")[1]) for file in Path(f"{output}.sonde").iterdir()
               for line in file.read_bytes().decode("latin-1").split("\0") if line.startswith("peak_bytes="))
    return {"rss": rss, "memory": peak / 2**20, "raw": sum(f.stat().st_size for f in Path(f"{output}.sonde").iterdir()) / 2**20,
            "database": Path(f"{output}.sdb").stat().st_size / 2**20, "contexts": info["contexts"]}


def resident_alone(iterations: int) -> float:
    return statistics.median(float(subprocess.run([PYTHON, "-c", SONDE_LOOP, str(iterations)], check=True,
                                                  capture_output=True, text=True).stdout) for _ in range(REPEATS))


VARIANTS = {
    "199 Hz, all layers": [],
    "199 Hz, python,operator": ["--call-path", "python,operator"],
    "exact operators, 1 Hz, python,operator": ["--call-path", "python,operator", "--operators", "exact", "-F", "1"],
}
print("| setting | iterations | resident memory added | collector's mappings at most | measurement | database | contexts |")
print("|---|---|---|---|---|---|---|")
alone = {iterations: resident_alone(iterations) for iterations in (1_000, MANY)}
for name, options in VARIANTS.items():
    for iterations in (1_000, MANY):
        m = measure(options, iterations)
        print(f"| {name} | {iterations:,} | {m['rss'] - alone[iterations]:.2f} MiB | {m['memory']:.2f} MiB | {m['raw']:.3f} MiB | {m['database']:.3f} MiB | "
              f"{m['contexts']:,.0f} |", flush=True)
for iterations in (100, 400):
    grown = subprocess.run([PYTHON, "-c", PROFILER_LOOP, str(iterations)], capture_output=True, text=True)
    if grown.returncode == 0:
        print(f"| torch.profiler with_stack | {iterations:,} | +{int(grown.stdout.split()[-1]) / 2**20:.1f} MiB | | | | |")
shutil.rmtree(work)
