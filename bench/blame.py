#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whom a device's idle time is blamed on, beside what the programs say of it: blame.py [--runs N] [--load PROCESSES]

Programs of known host work between kernels, traced at 49, 199 and 999 Hz, and at 199 Hz with --os; with so many processes beside
them that only compute. Printed are, over N runs, the least and the most of the planted host work that is blamed (what the program
says it took is 100 %), and of the time in which the program waited the most that is blamed on anything. For a machine with nothing
else to do: chrt -f 20 bench/blame.py
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SONDE_BUILD", ROOT / "build")).resolve()
WORKLOADS = ROOT / "tests/workloads"
CALLERS = "opencl/opencl_callers.c"
# a case, its program and arguments, the functions whose rows are the planted work, what the work took of what the program says
CASES = [("two callers of one function", CALLERS, ("callers", "60"), ("spin", "clock_gettime"), sum),
         ("work, then sleep or read", CALLERS, ("waits", "100"), ("spin", "clock_gettime"), sum),
         ("region that sleeps and works", CALLERS, ("region", "100"), ("prepare",), sum),
         ("two threads at once", CALLERS, ("threads", "150"), ("spin", "clock_gettime"), max),
         ("Python, with sleeps", "python/opencl_host.py", ("100",), (" left in ", " right in "), sum)]
RATES = [("49 Hz", ("-F", "49")), ("199 Hz", ("-F", "199")), ("999 Hz", ("-F", "999")), ("199 Hz, --os", ("-F", "199", "--os"))]


def compiled(source: str, folder: str) -> list[str]:
    if source.endswith(".py"):
        return [sys.executable, str(WORKLOADS / source)]
    binary = f"{folder}/{Path(source).stem}"
    subprocess.run(["cc", "-g", "-O1", "-D_GNU_SOURCE", "-I", ROOT / "include", WORKLOADS / source, "-o", binary, "-lOpenCL", "-lpthread",
                    "-ldl"], check=True)
    return [binary]


def measure(folder: str, command: list[str], options: tuple[str, ...], functions: tuple[str, ...], together) -> tuple[float, float]:
    """The planted work that is blamed, of what it took; and what is blamed beyond it, of the time that was waited."""
    sonde = BUILD / "src/cmd/sonde"
    done = subprocess.run([sonde, "run", "-q", "-o", f"{folder}/run", "--trace", *options, "--", *command], check=True,
                          capture_output=True, text=True)
    words = done.stdout.split()[1:]
    said = {name: int(value) for name, value in zip(words[::2], words[1::2])}
    text = subprocess.run([sonde, "timeline", f"{folder}/run.sdb", "--view", "idle", "--format", "json"], check=True,
                          capture_output=True, text=True).stdout
    blamed = sum(row["time_ns"] for row in json.loads(text)["blame"]["rows"] if any(name in row["node"] for name in functions))
    work = together(said[name] for name in ("left", "right"))
    return blamed / work, max(blamed - work, 0) / said["wait"] if said["wait"] else 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--load", type=int, default=0)
    arguments = parser.parse_args()
    beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(arguments.load)]
    print("| | " + " | ".join(name for name, _ in RATES) + " |\n|" + "---|" * (len(RATES) + 1))
    try:
        with tempfile.TemporaryDirectory() as folder:
            for case, source, words, functions, together in CASES:
                command = [*compiled(source, folder), *words]
                cells = []
                for _, options in RATES:
                    found = [measure(folder, command, options, functions, together) for _ in range(arguments.runs)]
                    work = [share for share, _ in found]
                    waited = max(wait for _, wait in found)
                    cells.append(f"{min(work):.0%} to {max(work):.0%}" + (f"; of waits {waited:.0%}" if waited > 0.005 else ""))
                print(f"| {case} | " + " | ".join(cells) + " |", flush=True)
    finally:
        for process in beside:
            process.kill()


if __name__ == "__main__":
    main()
