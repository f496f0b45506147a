#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Analysis of very many profiles, and reading what comes of it: docs/results/analysis-scale.md.

Measurements are made up, analysed under a limit of memory, and deleted; the database is read cold
(its pages dropped) and warm. The usual 1,000 ranks are 100,000 profiles; they take 10 GB of
measurements, 11 GB of database and as much again for a while, and some minutes.
"""
from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path


def quiet(command: list[object]) -> list[str]:
    """With real-time priority where that is allowed."""
    words = [str(word) for word in command]
    allowed = subprocess.run(["chrt", "-f", "20", "true"], capture_output=True).returncode == 0
    return ["chrt", "-f", "20", *words] if allowed else words


def drop_pages(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def seconds(command: list[object]) -> float:
    start = time.perf_counter()
    subprocess.run(quiet(command), check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def analyze(sonde: Path, measurement: Path, database: Path, options: argparse.Namespace, raw: int) -> None:
    process = subprocess.Popen([sonde, "analyze", "--memory", options.memory, "-j", str(options.jobs), "--no-cache",
                                measurement, "-o", database], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit("analysis failed")
    cpu = usage.ru_utime + usage.ru_stime
    print(f"analysis: {cpu:.1f} s of CPU time, {raw / cpu / 1e6:.0f} MB/s of measurement per core-second, "
          f"{usage.ru_maxrss / 1e3:.0f} MB resident of {options.memory}")


def read(build: Path, database: Path) -> None:
    report = [build / "src/cmd/sonde", "report", database, "--view", "top-down"]
    for state in ("cold", "warm"):
        times, rows = [], []
        for _ in range(3):
            if state == "cold":
                drop_pages(database)
            times.append(seconds(report))
            if state == "cold":
                drop_pages(database)
            done = subprocess.run(quiet([build / "bench/bench-read-context", database]), check=True,
                                  capture_output=True)
            rows.append(json.loads(done.stdout))
        print(f"{state}: top-down {', '.join(f'{t:.3f}' for t in times)} s; "
              f"open {', '.join(str(r['open_ms']) for r in rows)} ms; one context, {rows[0]['values']} of "
              f"{rows[0]['profiles']} profiles {', '.join(str(r['first_ms']) for r in rows)} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--ranks", type=int, default=1000, help="of 80 threads and 20 streams each (1000)")
    parser.add_argument("--memory", default="2G")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--folder", help="where there is room (the usual one for temporary files)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        measurement, database = Path(name) / "wide.sonde", Path(name) / "wide.sdb"
        made = subprocess.run([options.build / "bench/gen-measurements", "-r", str(options.ranks), "-t", "80", "-s", "20",
                               "--visit", "0.21", "--wide", "-o", measurement], check=True, stdout=subprocess.PIPE)
        summary = json.loads(made.stdout)
        print(f"{summary['profiles']} profiles, {summary['values']} values, {summary['bytes']} bytes")
        analyze(options.build / "src/cmd/sonde", measurement, database, options, summary["bytes"])
        shutil.rmtree(measurement)
        print(f"database: {database.stat().st_size} bytes")
        read(options.build, database)


if __name__ == "__main__":
    main()
