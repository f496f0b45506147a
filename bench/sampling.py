#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What sampling with full call paths costs the program, beside perf record and py-spy.

Two measures, all variants interleaved in every round, medians of the rounds:
  - the share of a 36-frame-deep thread's time lost in gaps (bench/gaps.c), less the share lost without
    any profiler (the kernel's own interrupts);
  - for Python, the CPU time of the whole process tree over the same fixed work, against without.
Usage: bench/sampling.py BUILD [ROUNDS]
"""
from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(sys.argv[1]).resolve()
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 15
SONDE = BUILD / "src/cmd/sonde"
HERE = Path(__file__).resolve().parent
work = Path(tempfile.mkdtemp(prefix="sonde-bench-"))
gaps = work / "gaps"
floor = work / "floor.so"
subprocess.run(["cc", "-O2", "-fomit-frame-pointer", HERE / "gaps.c", "-o", gaps], check=True)
subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-shared", "-fPIC", HERE / "floor.c", "-o", floor], check=True)


def sonde(hz: int) -> list[str]:
    return [str(SONDE), "run", "-q", "--no-analyze", "-F", str(hz), "-o", str(work / f"s{hz}"), "--"]


def perf(hz: int, *graph: str) -> list[str]:
    return ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(hz), *graph, "-o", str(work / "perf.data"), "--"]


def least(hz: int) -> list[str]:
    return ["env", f"LD_PRELOAD={floor}", f"FLOOR_HZ={hz}"]


def gap_variants() -> dict[str, list[str]]:
    variants = {"no profiler": [], "a handler that does nothing, 199 Hz": least(199), "sonde 199 Hz": sonde(199),
                "a handler that does nothing, 1 kHz": least(1000), "sonde 1 kHz": sonde(1000)}
    if shutil.which("perf"):
        variants |= {"perf record -g 199 Hz": perf(199, "-g"), "perf record -g 1 kHz": perf(1000, "-g"),
                     "perf record --call-graph dwarf 1 kHz": perf(1000, "--call-graph", "dwarf")}
    return variants


def measure_gaps() -> None:
    variants = gap_variants()
    shares: dict[str, list[float]] = {name: [] for name in variants}
    rates: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(ROUNDS):
        for name, prefix in variants.items():
            output = subprocess.run([*prefix, str(gaps), "1"], capture_output=True, text=True, check=True).stdout
            share, rate = output.split()[-2:]
            shares[name].append(float(share))
            rates[name].append(float(rate))
    base = statistics.median(shares["no profiler"])
    print(f"| profiler, 36 frames without frame pointers ({ROUNDS} rounds of 1 s) | lost | added | gaps/s |")
    print("|---|---|---|---|")
    for name in variants:
        share = statistics.median(shares[name])
        added = "" if name == "no profiler" else f"{100 * (share - base):.2f} %"
        print(f"| {name} | {100 * share:.2f} % | {added} | {statistics.median(rates[name]):.0f} |")


PYTHON_WORK = """
def leaf(n):
    total = 0
    for step in range(n):
        total += step ^ 3
    return total
def dive(depth, n):
    return dive(depth - 1, n) + 1 if depth else leaf(n)
for _ in range(60):
    dive(20, 200000)
"""


def cpu_of(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_python() -> None:
    program = ["/usr/bin/python3", "-c", PYTHON_WORK]
    variants = {"no profiler": program, "sonde 199 Hz": sonde(199) + program, "sonde 1 kHz": sonde(1000) + program}
    spy = shutil.which("py-spy") or os.environ.get("PY_SPY")
    if spy:
        for hz in (199, 1000):
            variants[f"py-spy record --native {hz} Hz"] = [
                spy, "record", "--native", "-r", str(hz), "-o", str(work / "spy.svg"), "--", *program]
    if shutil.which("perf"):
        variants["perf record -g 1 kHz"] = perf(1000, "-g") + program
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(ROUNDS):
        for name, command in variants.items():
            times[name].append(cpu_of(command))
    print(f"\n| Python, 20 frames: CPU time of everything that ran ({ROUNDS} rounds) | median | against none |")
    print("|---|---|---|")
    for name in variants:
        ratio = statistics.median(a / b for a, b in zip(times[name], times["no profiler"]))
        print(f"| {name} | {statistics.median(times[name]):.3f} s | {ratio:.3f}x |")


measure_gaps()
measure_python()
shutil.rmtree(work)
