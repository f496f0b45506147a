#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a region costs: in C (compiled here) and in Python, by itself and measured. Nanoseconds, the least of several runs."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SONDE_BUILD", ROOT / "build"))
LIBRARY = str(BUILD / "src/collect/libsonde.so")
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 7

C = """
#include <sonde/sonde.h>
#include <stdio.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
__attribute__((noinline)) static void body(void) { SONDE_REGION("region"); __asm__ volatile(""); }
__attribute__((noinline)) static void bare(void) { __asm__ volatile(""); }
static double loop(void (*function)(void), int turns)
{ double start = now(); for (int i = 0; i < turns; i++) function(); return (now() - start) / turns; }
int main(void)
{ loop(body, 10000); double with = loop(body, 300000), without = loop(bare, 300000); printf("%.2f\\n", with - without); }
"""

PYTHON = """
import sonde, time
region = sonde.region("region")
def loop(turns):
    start = time.perf_counter()
    for _ in range(turns):
        with region:
            pass
    middle = time.perf_counter()
    for _ in range(turns):
        pass
    return (2 * middle - start - time.perf_counter()) / turns * 1e9
loop(1000)
print(loop(50000))
"""


def run(command, measured):
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        if measured:
            env.update(LD_PRELOAD=LIBRARY, SONDE_OUTPUT=folder)
        return float(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout)


with tempfile.TemporaryDirectory() as folder:
    source, program = Path(folder) / "region.c", Path(folder) / "region"
    source.write_text(C)
    subprocess.run(["cc", "-O2", "-I", ROOT / "include", source, "-o", program], check=True)
    rows = {"C": [str(program)], "Python": [sys.executable, "-c", PYTHON]}
    print(f"{'one region, begin and end, ns':32} {'by itself':>10} {'measured':>10}")
    for name, command in rows.items():
        cells = [min(run(command, measured) for _ in range(ROUNDS)) for measured in (False, True)]
        print(f"  {name:30} {cells[0]:10.1f} {cells[1]:10.1f}")
