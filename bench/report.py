# SPDX-License-Identifier: Apache-2.0
"""How long reports and exports of a large database take, beside other tools' reports of the same data.

Prints a table in Markdown: the median (least to most) of several runs, in turn, and the peak memory.

	python3 bench/report.py [--contexts N] [--rounds N]
"""
from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SONDE_BUILD", ROOT / "build")).resolve()
SONDE = BUILD / "src/cmd/sonde"
EXPORTS = ["html", "folded", "speedscope", "pprof", "callgrind", "hatchet", "csv"]


def jobs(database: Path, folder: Path) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {"info": [SONDE, "info", database]}
    for view in ("top-down", "bottom-up", "flat", "threads"):
        found[f"report --view {view}"] = [SONDE, "report", "--view", view, database]
    found["report --format json"] = [SONDE, "report", "--format", "json", database]
    for kind in EXPORTS:
        found[f"export --to {kind}"] = [SONDE, "export", "--to", kind, database, "-o", folder / f"out.{kind}"]
    return found


def others(folder: Path) -> dict[str, list[object]]:
    """Tools that read what was exported before."""
    found: dict[str, list[object]] = {}
    if shutil.which("go"):
        found["go tool pprof -top"] = ["go", "tool", "pprof", "-top", folder / "out.pprof"]
    if shutil.which("callgrind_annotate"):
        found["callgrind_annotate"] = ["callgrind_annotate", "--auto=no", folder / "out.callgrind"]
    return found


def measure(command: list[object]) -> tuple[float, float]:
    """Seconds and MiB."""
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"failed: {command}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--contexts", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = folder / "big.sdb"
        subprocess.run([BUILD / "tests/make-db", "--contexts", str(options.contexts), database], check=True)
        commands = jobs(database, folder)
        for command in commands.values():
            measure(command)
        commands.update(others(folder))
        results: dict[str, list[tuple[float, float]]] = {job: [] for job in commands}
        for _ in range(options.rounds):
            for job, command in commands.items():
                results[job].append(measure(command))
        print(f"{options.contexts:,} contexts, {database.stat().st_size / 1e6:.0f} MB\n")
        print("| command | time, ms | memory, MiB | written, MB |\n|---|---|---|---|")
        for job, runs in results.items():
            times = [1000 * run[0] for run in runs]
            written = folder / f"out.{job.split()[-1]}"
            size = f"{written.stat().st_size / 1e6:.1f}" if job.startswith("export") else ""
            print(f"| {job} | {statistics.median(times):.0f} ({min(times):.0f}-{max(times):.0f}) "
                  f"| {max(run[1] for run in runs):.0f} | {size} |")


if __name__ == "__main__":
    main()
