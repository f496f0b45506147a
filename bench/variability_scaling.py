#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sonde-mpi variability --target memory_stall` with 1 to 1,024 ranks, simulated from what this machine measures.

    bench/variability_scaling.py BUILD DB... [--ranks N,...] [--repeat N]

The databases are those of bench/variability_rows.py, for example. Compute: each rank does its work, one rank at a time, and its processor time is measured
(bench/variability_ranks.c has the model of messages). Messages: latency and bandwidth are measured between two ranks of this machine over TCP. Input: each
rank reads its share of the files once, at the rate at which this machine reads them when they are not in memory. The least of the repeats counts.
Prints a Markdown table.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def message_costs() -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "ping-pong"
        subprocess.run(["mpicc", "-O2", "-o", program, HERE / "ping_pong.c"], check=True)
        done = subprocess.run(["mpirun", "-n", "2", "--mca", "btl", "tcp,self", program], check=True, capture_output=True, text=True, env=ENVIRONMENT)
    latency_us, rate = map(float, done.stdout.split())
    return latency_us, rate


def reading_rate(files: list[Path]) -> float:
    """Bytes/s of files that are not in memory."""
    read, begin = 0, 0.0
    for file in files:
        with file.open("rb", buffering=0) as source:
            os.fsync(source.fileno())
            os.posix_fadvise(source.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            start = time.monotonic()
            while part := source.read(1 << 22):
                read += len(part)
            begin += time.monotonic() - start
    return read / begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("databases", type=Path, nargs="+", metavar="DB")
    parser.add_argument("--ranks", default="1,2,4,8,16,32,64,128,256,512,1024")
    parser.add_argument("--repeat", type=int, default=1)
    arguments = parser.parse_args()
    latency_us, message_rate = message_costs()
    size = sum(file.stat().st_size for file in arguments.databases)
    rate = reading_rate(arguments.databases)
    print(f"A message: {latency_us:.1f} us and {message_rate:.2f} GB/s. Files: {size / 2**20:,.0f} MiB, read at {rate / 1e9:.2f} GB/s.\n")
    print("| ranks | s | times one | efficiency | compute, mean of ranks s | compute, most s | causes, most s | input s | messages MB |")
    print("|---|---|---|---|---|---|---|---|---|")
    alone, outputs = 0.0, set()
    for ranks in map(int, arguments.ranks.split(",")):
        best: dict[str, float] = {}
        for _ in range(arguments.repeat):
            done = subprocess.run([arguments.build / "bench/bench-variability-ranks", str(ranks), str(latency_us), str(message_rate), *arguments.databases],
                                  check=True, capture_output=True, text=True)
            one = json.loads(done.stdout)
            outputs.add((one["launches"], one["bins"], one["first_bin"]))
            if not best or one["seconds"] < best["seconds"]:
                best = one
        reading = size / ranks / rate
        seconds = best["seconds"] + reading
        alone = alone or seconds * ranks
        print(f"| {ranks} | {seconds:.2f} | {alone / seconds:.1f} | {alone / seconds / ranks:.0%} | {best['computed_all_s'] / ranks:.2f} | {best['computed_most_s']:.2f} "
              f"| {best['causes_s']:.2f} | {reading:.2f} | {best['message_bytes'] / 1e6:.1f} |", flush=True)
    if len(outputs) != 1:
        raise SystemExit("the numbers of ranks differ in what they find")


if __name__ == "__main__":
    main()
