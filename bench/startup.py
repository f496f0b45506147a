#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Sonde adds to starting a program: inside the program (the library), and as a whole (sonde run).

Interleaved rounds, medians. Usage: bench/startup.py BUILD [ROUNDS]
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
work = Path(tempfile.mkdtemp(prefix="sonde-bench-"))
folder = work / "raw.sonde"
folder.mkdir()
sonde = str(BUILD / "src/cmd/sonde")
preloaded = {**os.environ, "LD_PRELOAD": str(BUILD / "src/collect/libsonde.so"), "SONDE_OUTPUT": str(folder)}


def seconds(command: list[str], environment: dict[str, str] | None = None) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


print(f"| program ({ROUNDS} rounds, medians) | alone | with libsonde.so | added | `sonde run --no-analyze` | `sonde run` |")
print("|---|---|---|---|---|---|")
for program in (["/bin/true"], ["/usr/bin/python3", "-c", "pass"]):
    runs: dict[str, list[float]] = {"alone": [], "preloaded": [], "raw": [], "whole": []}
    for _ in range(ROUNDS):
        runs["alone"].append(seconds(program))
        runs["preloaded"].append(seconds(program, preloaded))
        runs["raw"].append(seconds([sonde, "run", "-q", "--no-analyze", "-o", str(work / "r"), "--", *program]))
        runs["whole"].append(seconds([sonde, "run", "-q", "-o", str(work / "w"), "--", *program]))
        for file in folder.iterdir():
            file.unlink()
    ms = {name: 1000 * statistics.median(values) for name, values in runs.items()}
    added = 1000 * statistics.median(b - a for a, b in zip(runs["alone"], runs["preloaded"]))
    print(f"| `{' '.join(program)}` | {ms['alone']:.2f} ms | {ms['preloaded']:.2f} ms | **{added:.2f} ms** | "
          f"+{ms['raw'] - ms['alone']:.2f} ms | +{ms['whole'] - ms['alone']:.2f} ms |")
shutil.rmtree(work)
