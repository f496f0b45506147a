#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What replaying a CUDA graph costs the host with Sonde, on devices that are not there.

    bench/cuda_graphs.py [ROUNDS]

Needs tests/fake/install.sh. Microseconds of CPU time a replay, of the replaying thread and of the process: by itself, with a tool that
throws all records away (CUPTI's own cost, here the fake's), and with Sonde, graphs as a whole and node by node; the least and the median
of the thread, the least of the process. What a whole graph costs does not depend on its kernels, which cost the fake much. Modes run in turns, each in a process of its own.
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
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 11
CASES = {  # the level, replays, and kernels of the graph
    "whole, 1 kernel": ("whole", "20000", "1"),
    "whole, 500 kernels": ("whole", "4000", "500"),
    "nodes, 500 kernels": ("nodes", "1000", "500"),
}


def words(command: "list[str]", **environment: str) -> "list[float]":
    done = subprocess.run([str(FAKE), *map(str, command)], capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        sys.exit(done.stderr.strip() or f"{command[0]} failed")
    return [float(word) for word in done.stdout.split()]


def run(mode: str, case: "tuple[str, str, str]", program: Path, tool: Path, plan: Path) -> "list[float]":
    level, *arguments = case
    command = [program, *arguments]
    environment = {"FAKE_PLAN": str(plan)}
    if mode == "CUPTI alone":
        environment["CUDA_INJECTION64_PATH"] = str(tool)
        if level == "whole":
            environment["NULL_TOOL_GRAPHS"] = "1"
    if mode != "Sonde":
        return words(command, **environment)
    with tempfile.TemporaryDirectory() as folder:
        return words([SONDE, "run", "-q", "--no-analyze", "-o", f"{folder}/m", "--gpu-graphs", level, "--", *command], **environment)


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        program, tool, plan = Path(made, "graphs"), Path(made, "tool.so"), Path(made, "plan")
        plan.write_text("* 100\n")
        subprocess.run([FAKE, "nvcc", "-O2", "-arch=sm_90", "-o", program, ROOT / "bench/cuda_graphs.cu"], check=True)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-I", ROOT / "src", "-o", tool, ROOT / "bench/cuda_null_tool.c"], check=True)
        modes = ("by itself", "CUPTI alone", "Sonde")
        for name, case in CASES.items():
            figures = in_turns(modes, ROUNDS, lambda mode: run(mode, case, program, tool, plan))
            print(f"{f'us, {name}':22} {'least':>8} {'added':>8} {'median':>8} {'added':>8} {'process':>9} {'added':>8}")
            for mode, rows in figures.items():
                columns = []
                for of, column in ((min, 0), (statistics.median, 0), (min, 1)):
                    value = of(row[column] for row in rows)
                    columns += [value, value - of(row[column] for row in figures["by itself"])]
                print(f"  {mode:20}", *(f"{value:8.2f}" for value in columns))


if __name__ == "__main__":
    main()
