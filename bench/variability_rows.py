#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sonde variability --target memory_stall` of four long traces: time, processor time and memory, with one thread, two threads and two ranks.

    bench/variability_rows.py BUILD TRACES FOLDER [--millions N] [--repeat N] [--ways WAY,...]

TRACES has the two traces of Nsight Systems (*.sqlite) with two devices each; bench-launches makes a trace of N million rows (kernels, copies, fills) like
each device of each, in FOLDER, which keeps them. Ways are run in turns; the least of each is printed as a Markdown table. All ways must print the
same bytes.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_MCA_mpi_yield_when_idle": "1"}


def make(build: Path, traces: Path, folder: Path, millions: float) -> list[Path]:
    made = []
    for trace in sorted(traces.glob("*.sqlite")):
        for device in (0, 1):
            database = folder / f"{trace.stem}-{device}-{millions:g}.sdb"
            if not database.exists():
                model = folder / f"{trace.stem}-{device}.model"
                with model.open("w") as out:
                    subprocess.run([sys.executable, HERE / "variability_model.py", trace, str(device)], stdout=out, check=True)
                subprocess.run([build / "bench/bench-launches", model, str(millions), str(len(made) + 1), database], check=True)
            made.append(database)
    return made


def measure(command: list[str]) -> tuple[dict[str, float], bytes]:
    """Of the command and all that it starts: seconds, processor seconds, and MiB of the largest process."""
    script = "import os, resource, subprocess, sys; done = subprocess.run(sys.argv[1:]); used = resource.getrusage(resource.RUSAGE_CHILDREN);" \
             "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, file=sys.stderr); sys.exit(done.returncode)"
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script, *command], capture_output=True, env=ENVIRONMENT)
    elapsed = time.monotonic() - begin
    if done.returncode:
        sys.exit(done.stderr.decode())
    processor, memory = map(float, done.stderr.decode().split()[-2:])
    return {"time": elapsed, "processor": processor, "memory": memory}, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("traces", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--millions", type=float, default=93)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--ways", default="2 threads,1 thread,1 rank,2 ranks")
    parser.add_argument("--target", default="memory_stall")
    arguments = parser.parse_args()
    databases = make(arguments.build, arguments.traces, arguments.folder, arguments.millions)
    programs = arguments.build / "src/cmd"
    rest = ["variability", *map(str, databases), "--format", "json", "--target", arguments.target, "-j"]
    known = {"1 thread": [str(programs / "sonde"), *rest, "1"], "2 threads": [str(programs / "sonde"), *rest, "2"],
             "1 rank": ["mpirun", "-n", "1", str(programs / "sonde-mpi"), *rest, "1"],
             "2 ranks": ["mpirun", "-n", "2", str(programs / "sonde-mpi"), *rest, "1"]}
    best: dict[str, dict[str, float]] = {}
    outputs = set()
    for _ in range(arguments.repeat):
        for way in arguments.ways.split(","):
            found, output = measure(known[way])
            outputs.add(output)
            best[way] = {key: min(value, best.get(way, found)[key]) for key, value in found.items()}
    if len(outputs) != 1:
        sys.exit("the ways differ in what they print")
    found = json.loads(outputs.pop())
    rows = 4 * arguments.millions * 1e6
    size = sum(database.stat().st_size for database in databases)
    print(f"{len(databases)} traces of {arguments.millions:g} million rows ({found['launches']:,} launches), {size / 2**20:,.0f} MiB, "
          f"target {arguments.target}, load {os.getloadavg()[0]:.1f}\n")
    print("| | time s | rows/s | processor s | rows/s of processor time | peak MiB of a process |\n|---|---|---|---|---|---|")
    for way, one in best.items():
        print(f"| {way} | {one['time']:.1f} | {rows / one['time']:,.0f} | {one['processor']:.1f} | {rows / one['processor']:,.0f} | {one['memory']:.0f} |")


if __name__ == "__main__":
    main()
