#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What launching kernels on CUDA costs the host with Sonde and with torch.profiler, on devices that are not there.

    bench/cuda_launch.py [ROUNDS]

Needs tests/fake/install.sh. First a loop of launches in C (cuda_launch.cu), as opencl_launch.py prints it; then a training step
of a small transformer in PyTorch, in milliseconds: by itself, under `sonde run`, and while torch.profiler records. Modes run in
turns, each in a process of its own.
"""
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SONDE_BUILD", ROOT / "build")).resolve()
FAKE, SONDE = ROOT / "tests/fake/run.sh", BUILD / "src/cmd/sonde"
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
MODES = {
    "by itself": None,
    "native paths": [],
    "no native paths": ["--call-path", "python,operator"],
}


def words(*command: str) -> "list[float]":
    done = subprocess.run([str(FAKE), *map(str, command)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip() or f"{command[0]} failed")
    return [float(word) for word in done.stdout.split()]


def run(options: "list[str] | None", *command: str) -> "list[float]":
    if options is None:
        return words(*command)
    with tempfile.TemporaryDirectory() as folder:
        return words(SONDE, "run", "-q", "--no-analyze", "-o", f"{folder}/m", *options, "--", *command)


def launches(program: Path) -> None:
    for depth in (0, 30):
        figures = {mode: [] for mode in MODES}
        for _ in range(ROUNDS):
            for mode, options in MODES.items():
                figures[mode].append(run(options, program, "50000", str(depth)))
        own = min(figures["by itself"])[0], statistics.median(row[0] for row in figures["by itself"])
        print(f"{f'{depth} functions below main':32} {'least':>7} {'added':>7} {'median':>7} {'added':>7} {'wall':>7}")
        for mode, rows in figures.items():
            least, median = min(rows)[0], statistics.median(row[0] for row in rows)
            wall = statistics.median(row[1] for row in rows)
            print(f"  {mode:30} {least:7.0f} {least - own[0]:7.0f} {median:7.0f} {median - own[1]:7.0f} {wall:7.0f}")


def steps() -> None:
    script = ROOT / "bench/cuda_training.py"
    modes = {**MODES, "torch.profiler": None}
    figures = {mode: [] for mode in modes}
    for _ in range(ROUNDS):
        for mode, options in modes.items():
            figures[mode] += run(options, "python3", script, "profiler" if mode == "torch.profiler" else "plain")
    own = statistics.median(figures["by itself"])
    print(f"{'a training step':32} {'median ms':>9} {'ratio':>7}")
    for mode, rows in figures.items():
        median = statistics.median(rows)
        print(f"  {mode:30} {median:9.2f} {median / own:7.3f}")


with tempfile.TemporaryDirectory() as made:
    subprocess.run([FAKE, "nvcc", "-O2", "-arch=sm_90", "-o", f"{made}/launch", ROOT / "bench/cuda_launch.cu"], check=True)
    launches(Path(made, "launch"))
steps()
