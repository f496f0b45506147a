#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""os_recording.py [ROUNDS]: what recording the operating system costs a program that does little but system calls, one that does
little but switches, and one that computes; beside perf record and perf trace, in turns. Prints rows of docs/results/os.md.

Each program prints the nanoseconds of one of its steps. Times are medians of the rounds; the first of a round is alone."""
from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SONDE_BUILD", ROOT / "build"))
SONDE = BUILD / "src/cmd/sonde"
PROGRAMS = {"system calls": ["calls", "500000"], "switches": ["switches", "50000"], "computing": ["compute", "300"]}
POINTS = {"syscalls": "raw_syscalls:sys_enter,raw_syscalls:sys_exit",
          "scheduler": "sched:sched_switch,sched:sched_waking,sched:sched_wakeup_new"}


def tools(folder: Path) -> dict[str, list[str]]:
    run = [str(SONDE), "run", "-q", "--no-analyze", "-o", str(folder / "run")]
    perf = ["perf", "record", "-q", "-m", "8M", "-o", str(folder / "perf.data")]
    return {
        "alone": [],
        "sonde run": [*run, "--"],
        "sonde run --os=scheduler": [*run, "--os=scheduler", "--"],
        "perf record, the same": [*perf, "-e", POINTS["scheduler"], "--"],
        "sonde run --os=scheduler,syscalls": [*run, "--os=scheduler,syscalls", "--"],
        "perf record, the same ": [*perf, "-e", ",".join(POINTS.values()), "--"],
        "perf trace": ["perf", "trace", "-o", str(folder / "trace.txt"), "--"],
        "sonde run --os": [*run, "--os", "--"],
    }


def size(folder: Path) -> int:
    files = [*folder.glob("run.sonde/*.sonde-trace"), *folder.glob("perf.data"), *folder.glob("trace.txt")]
    return sum(path.stat().st_blocks * 512 for path in files)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "os_steps"
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", ROOT / "bench/os_steps.c", "-o", program, "-lpthread"], check=True)
        for title, arguments in PROGRAMS.items():
            times: dict[str, list[float]] = {}
            bytes_: dict[str, int] = {}
            lost: dict[str, int] = {}
            for _ in range(rounds):
                for tool, prefix in tools(folder).items():
                    done = subprocess.run([*prefix, program, *arguments], capture_output=True, text=True, check=True)
                    times.setdefault(tool, []).append(float(re.search(r"^STEP ([\d.]+)", done.stdout, re.M)[1]))
                    found = re.search(r"lost (\d+) records", done.stderr)
                    lost[tool] = lost.get(tool, 0) + (int(found[1]) if found else "LOST" in done.stderr)
                    bytes_[tool] = size(folder)
                    for path in folder.glob("perf.data*"):
                        path.unlink()
                    (folder / "trace.txt").unlink(missing_ok=True)
                    subprocess.run(["rm", "-rf", folder / "run.sonde"], check=True)
            alone = statistics.median(times["alone"])
            for tool, values in times.items():
                median = statistics.median(values)
                print(f"| {title} | {tool.strip()} | {median:,.0f} | {median / alone:.2f} | {bytes_[tool] / 1e6:.1f} | "
                      f"{lost[tool]:,} |", flush=True)


if __name__ == "__main__":
    main()
