#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Sonde measures of device.c (device_ze.c, device.hip) against what that says it ran, and what measuring costs. run.sh starts it.

    suite.py cuda|levelzero|hip FOLDER [SONDE]

Reads FOLDER/bin, writes FOLDER/checks.json and FOLDER/benchmarks.csv. Without SONDE only the program, the null tool and the recorder
are timed. Python's own library alone. Status 1 where a check fails."""
from __future__ import annotations

import csv
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

from paths import bounded, info, measured_lines, report, true_lines

ROUNDS = int(os.environ.get("SONDE_GPU_ROUNDS", "5"))
LAUNCHES = os.environ.get("SONDE_GPU_LAUNCHES", "50000")
REPLAYS = os.environ.get("SONDE_GPU_REPLAYS", "1000")


# How it is measured: of Level Zero there are no graphs, but lists that are executed often.
GRAPHS: dict[str, tuple[str, ...]] = {"nodes": ("--gpu-graphs", "nodes"), "whole": ()}
VARIANTS = {"cuda": GRAPHS, "levelzero": {"lists": ()}, "hip": GRAPHS}


class Checks:
    def __init__(self) -> None:
        self.all: list[dict] = []

    def equal(self, name: str, expected, found) -> None:
        self.holds(name, expected == found, repr(expected), repr(found))

    def holds(self, name: str, is_right: bool, expected: str, found: str) -> None:
        self.all.append({"name": name, "is_right": is_right, "expected": expected, "found": found})
        print(f"{'ok    ' if is_right else 'WRONG '} {name}" + ("" if is_right else f"\n       expected {expected}\n       found    {found}"))


def run_measured(sonde: str, folder: Path, name: str, *command: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return bounded([sonde, "run", "-q", "-o", folder / "measured" / name, *options, "--", *command])


def losses(sonde: str, database: Path) -> dict[str, int]:
    return {cause: count for cause, count in info(sonde, database).get("drops", {}).items() if cause.startswith(("gpu-", "capture-"))}


def check_work(checks: Checks, sonde: str, folder: Path, vendor: str) -> None:
    program = str(folder / "bin/device")
    plain = bounded([program, "work"])
    checks.equal("the program runs by itself", (0, ""), (plain.returncode, plain.stderr if plain.returncode else ""))
    if plain.returncode:
        return
    truth = json.loads(plain.stdout)
    lines = {one["line"] for one in truth["operations"]} | ({truth["replay_line"]} if vendor == "hip" else set())
    if vendor == "levelzero" or "Fake device" not in (folder / "facts/devices").read_text():  # whose kernels compute nothing elsewhere
        said = re.search(r"^wrong elements: .*$", plain.stderr, re.M)
        checks.equal("the device computes what it should", "wrong elements: 0 of 65536", said and said[0])
    for name, options in VARIANTS[vendor].items():
        done = run_measured(sonde, folder, name, program, "work", options=options)
        database = folder / "measured" / f"{name}.sdb"
        checks.equal(f"{name}: status and output are as without Sonde", (plain.returncode, plain.stdout, plain.stderr),
                     (done.returncode, done.stdout, done.stderr))
        if not database.exists():
            checks.equal(f"{name}: there is a database", True, False)
            continue
        (folder / "measured" / f"{name}.info.json").write_text(json.dumps(info(sonde, database), indent=1))
        # where CUPTI is shared, graphs are recorded by their nodes in any case
        by_nodes = name != "whole" or "graphs node by node" in info(sonde, database)["properties"].get("adapter.cuda", "")
        checks.equal(f"{name}: each operation is below its line, as often as it ran", dict(true_lines(truth, by_nodes, vendor != "hip")),
                     dict(measured_lines(sonde, database, lines)))
        for metric, what in (("copy-bytes", "copy"), ("fill-bytes", "set")):
            checks.equal(f"{name}: {metric}", sum(one["bytes"] for one in truth["operations"] if one["what"] == what),
                         sum(round(value["sum"]) for _, value in report(sonde, database, metric)))
        checks.equal(f"{name}: nothing is lost", {}, losses(sonde, database))
        if not by_nodes:
            graphs = report(sonde, database, "graph-time")
            below = {(frames[-1]["name"], truth["replay_line"] in [frame.get("line") for frame in frames]) for frames, _ in graphs}
            checks.equal("whole: a graph is one operation a replay, below the line that replays", (truth["replays"], {("graph", True)}),
                         (sum(value["count"] for _, value in graphs), below))
        untimed = [value["min"] for metric in ("kernel-time", "copy-time", "fill-time") for _, value in report(sonde, database, metric)
                   if value.get("min", 1) <= 0]
        checks.equal(f"{name}: each operation takes time", [], untimed)


def check_spans(checks: Checks, sonde: str, folder: Path) -> None:
    """A kernel that runs alone takes no longer than the host waits for it, from before its launch; and where it takes long, most of that."""
    done = run_measured(sonde, folder, "span", str(folder / "bin/device"), "span")
    database = folder / "measured/span.sdb"
    checks.equal("span: the program runs", (0, "", True), (done.returncode, done.stderr, database.exists()))
    if done.returncode or not database.exists():
        return
    host = json.loads(done.stdout)
    (folder / "measured/span.json").write_text(done.stdout)
    values = [value for frames, value in report(sonde, database, "kernel-time") if frames[-1]["name"] == "spin"]
    count, total_ns = (round(sum(value[of] for value in values)) for of in ("count", "sum"))
    longest_ns = round(max((value["max"] for value in values), default=0))
    print(f"       the host waited {host['last_ns']} ns for the longest kernel, which took {longest_ns} ns")
    checks.holds("span: a kernel takes as long as the host's clock says",
                 count == host["count"] and total_ns <= host["total_ns"] and host["last_ns"] / 2 <= longest_ns <= host["last_ns"],
                 f"{host['count']} in at most {host['total_ns']} ns, the longest from half of {host['last_ns']} ns on",
                 f"{count} in {total_ns} ns, the longest in {longest_ns} ns")


def check_detaching(checks: Checks, sonde: str, folder: Path) -> None:
    """When the program takes CUPTI for itself, Sonde gives it up: what came before is stored."""
    done = run_measured(sonde, folder, "detach", str(folder / "bin/device"), "detach", "5000")
    database = folder / "measured/detach.sdb"
    checks.equal("detach: the program goes on", 0, done.returncode)
    if done.returncode == 0 and database.exists():
        checks.equal("detach: the launches before are stored", 1000,
                     sum(value["count"] for _, value in report(sonde, database, "kernel-time")))


def modes(folder: Path, sonde: "str | None", vendor: str) -> dict[str, tuple[list[str], dict[str, str]]]:
    """What stands before the program, and what is in its environment."""
    made: dict[str, tuple[list[str], dict[str, str]]] = {"by itself": ([], {})}
    if vendor == "cuda":
        made["a tool that throws records away"] = [], {"CUDA_INJECTION64_PATH": str(folder / "bin/libnull_tool.so"), "NULL_TOOL_GRAPHS": "1"}
        made["the recorder"] = [], {"CUDA_INJECTION64_PATH": str(folder / "bin/librecorder.so"), "SONDE_RECORD": str(folder / "scratch")}
    if vendor == "levelzero":
        made["the loader's tracing layer"] = [], {"ZE_ENABLE_TRACING_LAYER": "1"}
    if sonde:
        start = [sonde, "run", "-q", "--no-analyze", "-o", str(folder / "scratch/timed")]
        made["Sonde"] = ([*start, "--"], {})
        made["Sonde, no native paths"] = ([*start, "--call-path", "python,operator", "--"], {})
        made["Sonde, nodes of graphs"] = ([*start, "--gpu-graphs", "nodes", "--"], {})
    return made


CASES = {"cuda": {"launch": ["launch", LAUNCHES], "launch after detaching": ["detach", LAUNCHES], "graph of 1": ["graph", REPLAYS, "1"],
                  "graph of 500": ["graph", REPLAYS, "500"]},
         "levelzero": {"launch": ["launch", LAUNCHES]}, "hip": {"launch": ["launch", LAUNCHES]}}


def benchmark(checks: Checks, folder: Path, sonde: "str | None", vendor: str) -> None:
    """Modes in turns, each in a process of its own. Launches in ns: CPU time of the thread, wall time; graphs in us: thread, process."""
    figures: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    failed: dict[str, int] = {}
    (folder / "scratch").mkdir(exist_ok=True)
    for _ in range(ROUNDS):
        for case, arguments in CASES[vendor].items():
            for mode, (before, environment) in modes(folder, sonde, vendor).items():
                if "nodes" in mode and not case.startswith("graph"):
                    continue
                done = bounded([*before, str(folder / "bin/device"), *arguments], {**os.environ, **environment})
                if done.returncode == 0:
                    figures.setdefault((case, mode), []).append(tuple(map(float, done.stdout.split()[:2])))
                elif done.returncode != 77 and mode.startswith(("by itself", "Sonde")):  # others' tools may be missing
                    failed[f"{case}, {mode}"] = done.returncode
                for left in (folder / "scratch").glob("*.recording"):
                    left.unlink()
                subprocess.run(["rm", "-rf", folder / "scratch/timed.sonde"], check=True)
    with open(folder / "benchmarks.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["case", "mode", "runs", "least", "median", "least of the second figure", "median of it"])
        for (case, mode), rows in figures.items():
            first, second = zip(*rows)
            out.writerow([case, mode, len(rows), min(first), statistics.median(first), min(second), statistics.median(second)])
    if ROUNDS:
        checks.equal("each timed run ends well", {}, failed)


def main() -> int:
    vendor, folder, sonde = sys.argv[1], Path(sys.argv[2]).resolve(), sys.argv[3] if len(sys.argv) > 3 else None
    (folder / "measured").mkdir(exist_ok=True)
    checks = Checks()
    if sonde:
        check_work(checks, sonde, folder, vendor)
    if sonde and vendor == "levelzero":
        check_spans(checks, sonde, folder)
    if sonde and vendor == "cuda":
        check_detaching(checks, sonde, folder)
    benchmark(checks, folder, sonde, vendor)
    (folder / "checks.json").write_text(json.dumps(checks.all, indent=1) + "\n")
    return 0 if all(check["is_right"] for check in checks.all) else 1


if __name__ == "__main__":
    sys.exit(main())
