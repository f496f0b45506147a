#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How `sonde variability` scales: processor time, time and memory with one thread, two threads and two ranks, on one database.

    bench/variability.py BUILD FOLDER [--launches N] [--repeat N]

FOLDER keeps the database from run to run. Ways are run in turns, and the least of each is printed as a Markdown table. Two threads or
ranks are the better the nearer their processor time is to that of one: what they add is work that one does not have.
"""
from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_MCA_mpi_yield_when_idle": "1"}


def write_trace(path: Path, launches: int) -> None:
    """40 kernels in 200 configurations on four streams, a copy before each tenth launch; durations are log-normal."""
    random_ = random.Random(1)
    durations = [math.exp(random_.gauss(9, 0.3)) / 1000 for _ in range(65536)]
    with path.open("w") as out:
        out.write('{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::step","pid":1,"tid":1,"ts":0,"dur":1}')
        for number in range(launches):
            stream, start = 7 + number % 4, 1000 + number * 8
            out.write(f',\n{{"ph":"X","cat":"kernel","name":"kernel_{number % 40}","pid":0,"tid":{stream},"ts":{start},'
                      f'"dur":{durations[number * 7919 % 65536]:.3f},"args":{{"device":0,"context":1,"stream":{stream},"correlation":{2 * number + 2},'
                      f'"grid":[{number // 40 % 5 + 1},1,1],"block":[128,1,1]}}}}')
            if number % 10 == 0:
                out.write(f',\n{{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":20,"ts":{start},"dur":6,'
                          f'"args":{{"device":0,"context":1,"stream":20,"correlation":{2 * number + 3},"bytes":{4096 * (number % 50 + 1)}}}}}')
        out.write("]}")


def measure(command: list[str]) -> tuple[dict[str, float], bytes]:
    """Of the command and all that it starts; the memory is that of the largest process."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, env=ENVIRONMENT, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"processor": processor, "time": time.monotonic() - begin}, done.stdout


def peak_kib(command: list[str]) -> int:
    """The most that any process of the command had, by a program of its own, as this one remembers all that it has started."""
    script = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True);" \
             "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    return int(subprocess.run([sys.executable, "-c", script, *command], stdout=subprocess.PIPE, env=ENVIRONMENT, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--launches", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--target", default="kernel_variability")
    arguments = parser.parse_args()
    programs = arguments.build / "src/cmd"
    database = arguments.folder / f"launches-{arguments.launches}.sdb"
    if not database.exists():
        trace = database.with_suffix(".json")
        write_trace(trace, arguments.launches)
        subprocess.run([programs / "sonde", "import", trace, "-o", database], check=True)
        trace.unlink()
    rest = ["variability", str(database), "--format", "json", "--target", arguments.target, "-j"]
    ways = {"1 thread": [str(programs / "sonde"), *rest, "1"], "2 threads": [str(programs / "sonde"), *rest, "2"],
            "1 rank": ["mpirun", "-n", "1", str(programs / "sonde-mpi"), *rest, "1"],
            "2 ranks": ["mpirun", "-n", "2", str(programs / "sonde-mpi"), *rest, "1"]}
    best: dict[str, dict[str, float]] = {}
    outputs = set()
    for _ in range(arguments.repeat):
        for way, command in ways.items():
            found, output = measure(command)
            outputs.add(output)
            best[way] = {key: min(value, best.get(way, found)[key]) for key, value in found.items()}
    if len(outputs) != 1:
        sys.exit("the ways differ in what they print")
    launches = json.loads(outputs.pop())["launches"]
    print(f"{launches:,} launches, {database.stat().st_size / 2**20:.0f} MiB, target {arguments.target}\n")
    print("| | processor s | time s | launches/s of processor time | processor time of 1 / of this | peak MiB of a process |\n|---|---|---|---|---|---|")
    for way, found in best.items():
        alone = best["1 rank" if "rank" in way else "1 thread"]["processor"]
        print(f"| {way} | {found['processor']:.2f} | {found['time']:.2f} | {launches / found['processor']:,.0f} | "
              f"{100 * alone / found['processor']:.0f} % | {peak_kib(ways[way]) / 1024:.0f} |")


if __name__ == "__main__":
    main()
