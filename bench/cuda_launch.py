#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What launching kernels on CUDA costs the host with Sonde and with torch.profiler, on devices that are not there.

    bench/cuda_launch.py [ROUNDS]

Needs tests/fake/install.sh. First a loop of launches in C (cuda_launch.cu), the launching thread's nanoseconds a launch; then a
training step of a small transformer in PyTorch, in milliseconds: by itself, with a tool that throws all records away (CUPTI's own
cost, here the fake's), under `sonde run`, while torch.profiler records, and after either has ended. Modes run in turns, each in a process of its own.
"""
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from turns import in_turns

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SONDE_BUILD", ROOT / "build")).resolve()
FAKE, SONDE = ROOT / "tests/fake/run.sh", BUILD / "src/cmd/sonde"
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
ITSELF, CUPTI, PROFILER = "by itself", "CUPTI alone", "torch.profiler"
AFTER_PROFILER = "after torch.profiler"
# options of `sonde run`, and what the program is told
SONDES = {"native paths": ([], []), "no native paths": (["--call-path", "python,operator"], []), "after sonde_stop": ([], ["stop"])}


def words(command: list, environment: "dict[str, str]" = {}) -> "list[float]":
    done = subprocess.run([str(FAKE), *map(str, command)], capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        sys.exit(done.stderr.strip() or f"{command[0]} failed")
    return [float(word) for word in done.stdout.split()]


def run(mode: str, tool: Path, *command: str) -> "list[float]":
    if mode == CUPTI:
        return words(command, {"CUDA_INJECTION64_PATH": str(tool)})
    if mode not in SONDES:
        return words(command)
    with tempfile.TemporaryDirectory() as folder:
        options, told = SONDES[mode]
        return words([SONDE, "run", "-q", "--no-analyze", "-o", f"{folder}/m", *options, "--", *command, *told])


def launches(program: Path, tool: Path) -> None:
    for depth in (0, 30):
        figures = in_turns([ITSELF, CUPTI, *SONDES], ROUNDS, lambda mode: run(mode, tool, program, "50000", str(depth)))
        print(f"{f'{depth} functions below main':32} {'least':>7} {'added':>7} {'to CUPTI':>9} {'median':>7} {'added':>7} {'wall':>7}")
        for mode, rows in figures.items():
            columns = []
            for of in (min, statistics.median):
                value, own, alone = (of(row[0] for row in figures[which]) for which in (mode, ITSELF, CUPTI))
                columns += [f"{value:7.0f}", f"{value - own:7.0f}", f"{value - alone if mode in SONDES else 0:9.0f}"]
            wall = statistics.median(row[1] for row in rows)
            print(f"  {mode:30}", *columns[:5], f"{wall:7.0f}")


def steps(tool: Path) -> None:
    script = ROOT / "bench/cuda_training.py"
    told = {PROFILER: ["profiler"], AFTER_PROFILER: ["afterwards"]}
    figures = in_turns([ITSELF, CUPTI, *SONDES, *told], ROUNDS, lambda mode: run(mode, tool, "python3", script, *told.get(mode, [])))
    print(f"{'a training step':32} {'median ms':>9} {'ratio':>7} {'CPU ms':>7} {'ratio':>7}")
    for mode in figures:
        columns = []
        for column in (0, 1):
            median, own = (statistics.median([value for row in figures[which] for value in row[column::2]]) for which in (mode, ITSELF))
            columns += [median, median / own]
        print(f"  {mode:30} {columns[0]:9.2f} {columns[1]:7.3f} {columns[2]:7.2f} {columns[3]:7.3f}")


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        program, tool = Path(made, "launch"), Path(made, "tool.so")
        subprocess.run([FAKE, "nvcc", "-O2", "-arch=sm_90", "-I", ROOT / "include", "-o", program, ROOT / "bench/cuda_launch.cu"], check=True)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-I", ROOT / "src", "-o", tool, ROOT / "bench/cuda_null_tool.c"], check=True)
        launches(program, tool)
        steps(tool)


if __name__ == "__main__":
    main()
