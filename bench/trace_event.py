#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a recorded event costs in two builds, in turns: trace_event.py BUILD BUILD [ROUNDS]

Regions of tests/workloads/collect/trace_known.c, 2 million a run, profiled alone and profiled and traced; CPU time of the
process, user and system. A round runs each build once with and once without the trace; printed are the median and quartiles
of the difference for each event, and the difference of the least of either, which others disturb least.
"""
from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REGIONS = 2_000_000


def compile_program(folder: str) -> Path:
    program = Path(folder) / "trace_known"
    subprocess.run(["cc", "-O1", "-D_GNU_SOURCE", "-I", ROOT / "include", ROOT / "tests/workloads/collect/trace_known.c", "-o", program,
                    "-lpthread", "-ldl"], check=True)
    return program


def cpu_ns(build: Path, program: Path, folder: str, is_traced: bool) -> float:
    output = Path(folder) / "out"
    output.mkdir()
    environment = {**os.environ, "LD_PRELOAD": str(build / "src/collect/libsonde.so"), "SONDE_OUTPUT": str(output),
                   "SONDE_EVENTS": "cpu-time@199"}
    if is_traced:
        environment.update(SONDE_TRACE="regions", SONDE_TRACE_LIMIT="0")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, "many", str(REGIONS)], env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["rm", "-r", output], check=True)
    return 1e9 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> None:
    builds = [Path(word).resolve() for word in sys.argv[1:3]]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 15
    runs: dict[Path, list[tuple[float, float]]] = {build: [] for build in builds}
    with tempfile.TemporaryDirectory() as folder:
        program = compile_program(folder)
        for turn in range(rounds):
            for build in builds if turn % 2 else builds[::-1]:
                runs[build].append((cpu_ns(build, program, folder, False), cpu_ns(build, program, folder, True)))
    for build, pairs in runs.items():
        low, middle, high = statistics.quantiles([(traced - plain) / REGIONS for plain, traced in pairs], n=4)
        least = (min(traced for _, traced in pairs) - min(plain for plain, _ in pairs)) / REGIONS
        print(f"{build}: {middle:.1f} ns an event ({low:.1f} to {high:.1f}), of the least {least:.1f}")


if __name__ == "__main__":
    main()
