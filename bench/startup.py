#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user waits longer for a short program: with the library alone, under `sonde run`, analysis and summary included,
and with all that can be recorded, which for the operating system needs a privilege.

Rounds in turns. The fastest of each tells what it costs; the median of the differences within rounds also what others do to
the machine. Usage: bench/startup.py BUILD [ROUNDS]
"""
from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUILD = Path(sys.argv[1]).resolve()
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 60
EVERYTHING = ["--trace", "--graph", "--memory", "--operators", "exact"]
work = Path(tempfile.mkdtemp(prefix="sonde-bench-"))
folder = work / "raw.sonde"
folder.mkdir()
plain = {**os.environ, "XDG_CACHE_HOME": str(work / "cache")}
preloaded = {**plain, "LD_PRELOAD": str(BUILD / "src/collect/libsonde.so"), "SONDE_OUTPUT": str(folder)}
run = [str(BUILD / "src/cmd/sonde"), "run", "-o", str(work / "w")]
WAYS: dict[str, tuple[list[str], dict[str, str]]] = {
    "alone": ([], plain),
    "with libsonde.so": ([], preloaded),
    "`sonde run --no-analyze`": ([*run, "--no-analyze", "--"], plain),
    "`sonde run`": ([*run, "--"], plain),
    f"`sonde run {' '.join(EVERYTHING)}`": ([*run, *EVERYTHING, "--"], plain),
    "the same with `--os`": ([*run, *EVERYTHING, "--os", "--"], plain),
}


def ms(words: list[str], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return 1000 * (time.perf_counter() - start)


for program in (["/bin/true"], ["/usr/bin/python3", "-c", "pass"]):
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    first = {way: ms(words + program, environment) for way, (words, environment) in WAYS.items()}
    for _ in range(ROUNDS):
        for way, (words, environment) in WAYS.items():
            times[way].append(ms(words + program, environment))
        for file in folder.iterdir():
            file.unlink()
    print(f"| `{' '.join(program)}`, {ROUNDS} rounds | fastest | added | times as long | median added | first time |")
    print("|---|---|---|---|---|---|")
    alone = times["alone"]
    for way, values in times.items():
        added = statistics.median(value - base for value, base in zip(values, alone))
        print(f"| {way} | {min(values):.2f} ms | **{min(values) - min(alone):.2f} ms** | {min(values) / min(alone):.2f} | "
              f"{added:.2f} ms | {first[way]:.0f} ms |")
    print()
shutil.rmtree(work)
