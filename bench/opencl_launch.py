#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a launch of an OpenCL kernel costs with and without Sonde: bench/opencl_launch.c, interleaved.

Prints, in nanoseconds a launch, the least and the median of the launching thread's CPU time, and the
median of wall time.
"""
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(os.environ.get("SONDE_BUILD", Path(__file__).resolve().parents[1] / "build"))
LIBRARY = str(BUILD / "src/collect/libsonde.so")
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 9
MODES = {
    "by itself": None,
    "native paths": {},
    "no native paths": {"SONDE_CALL_PATH": "python,operator"},
    "native paths, no samples": {"SONDE_EVENTS": "cpu-time@1"},
}


def launch(settings: "dict[str, str] | None", depth: int) -> "list[float]":
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ)
        if settings is not None:
            env.update(LD_PRELOAD=LIBRARY, OPENCL_LAYERS=LIBRARY, SONDE_OUTPUT=folder, **settings)
        done = subprocess.run([BUILD / "bench/opencl-launch", "50000", str(depth)], env=env,
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr.strip() or "opencl-launch failed")
        return [float(word) for word in done.stdout.split()]


for depth in (0, 30):
    figures = {mode: [] for mode in MODES}
    for _ in range(ROUNDS):
        for mode, settings in MODES.items():
            figures[mode].append(launch(settings, depth))
    own = {"least": min(figures["by itself"])[0], "median": statistics.median(r[0] for r in figures["by itself"])}
    print(f"{f'{depth} functions below main':32} {'least':>7} {'added':>7} {'median':>7} {'added':>7} {'wall':>7}")
    for mode, rows in figures.items():
        least, median = min(rows)[0], statistics.median(row[0] for row in rows)
        wall = statistics.median(row[1] for row in rows)
        print(f"  {mode:30} {least:7.0f} {least - own['least']:7.0f} {median:7.0f} {median - own['median']:7.0f} {wall:7.0f}")
