# SPDX-License-Identifier: Apache-2.0
"""The exact table of what ran on fake devices (tests/fake/run.sh --table), beside what was measured of it.

Both become amounts by rows. In the tree of paths an operation has no stream, so that is compared by fewer columns; in a trace each has
all of them: its call, which has a path, is found by its number."""
from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Iterable, NamedTuple

import program

sys.path.insert(0, str(program.ROOT / "tests/fake"))
from table import base_of  # noqa: E402


class Amount(NamedTuple):
    count: int
    total_ns: int
    bytes: int

    def __add__(self, other: Amount) -> Amount:  # type: ignore[override]
        return Amount(*(mine + its for mine, its in zip(self, other)))


NOTHING = Amount(0, 0, 0)


class Row(NamedTuple):
    kernel: str
    stream: str
    graph: str
    line: str


class Place(NamedTuple):
    kernel: str
    in_graph: bool
    line: str


def summed(amounts: Iterable[tuple[tuple, Amount]]) -> dict[tuple, Amount]:
    found: dict[tuple, Amount] = defaultdict(lambda: NOTHING)
    for key, amount in amounts:
        found[key] += amount
    return dict(found)


# ---- what ran ----

def name_of(kernel: str) -> str:
    """CUPTI tells of a copy's ends no more than whether they are on the host, and managed memory is none of the host's."""
    for place, seen in (("pageable", "host"), ("pinned", "host"), ("managed", "device")):
        kernel = kernel.replace(f" {place}", f" {seen}") if kernel.startswith("copy ") else kernel
    return kernel


def taken(table: list[dict[str, str]]) -> dict[tuple, Amount]:
    return summed((Row(name_of(row["kernel"]), row["stream"], row["graph"], row["launching line"]),
                   Amount(int(row["count"]), int(row["total_ns"]), int(row["bytes"]))) for row in table)


def places(rows: dict[tuple, Amount]) -> dict[tuple, Amount]:
    """The same by what the tree of paths has."""
    return summed((Place(kernel, bool(graph), line), amount) for (kernel, _, graph, line), amount in rows.items())


# ---- what was measured ----

TIMES = {"kernel-time", "copy-time", "fill-time", "graph-time"}
BYTES = {"copy-bytes", "fill-bytes"}
ACTIVITIES = ("kernel", "gpu_memcpy", "gpu_memset", "gpu_graph")
CAPTURED = "[as captured]"


def line_of(frames: list[dict], kernel: str) -> str:
    """Of the innermost frame of a test's file that is not the kernel's own function on the host."""
    users = [frame for frame in frames if "/workloads/" in (frame.get("file") or "")]
    if len(users) > 1 and base_of(users[-1]["name"]) == base_of(kernel):
        del users[-1]
    return f"{users[-1]['file']}:{users[-1]['line']}" if users else ""


def place_of(frames: list[dict]) -> Place:
    """Of a graph's node, what replayed it launched it, not what captured it."""
    names = [frame["name"] for frame in frames]
    above = names.index(CAPTURED) if CAPTURED in names else len(names)
    return Place(names[-1], CAPTURED in names or names[-1] == "graph", line_of(frames[:above], names[-1]))


def stored(folder: Path) -> dict[tuple, Amount]:
    has = {metric["name"] for metric in program.info(folder)["metrics"]} & (TIMES | BYTES)
    found: list[tuple[Place, Amount]] = []
    frames: list[dict] = []
    for row in program.rows(folder, "--metric", ",".join(sorted(has))) if has else []:
        frames[row["depth"]:] = [row]
        own = {metric: value["exclusive"] for metric, value in row["values"].items() if value.get("exclusive", {}).get("count")}
        for metric, value in own.items():
            total = round(value["sum"])
            found.append((place_of(frames), Amount(value["count"], total, 0) if metric in TIMES else Amount(0, 0, total)))
    return summed(found)


def traced(folder: Path) -> dict[tuple, Amount]:
    program.sonde("export", "--to", "chrome", folder / "run.sdb", "-o", folder / "table.json")
    trace = json.loads((folder / "table.json").read_text())
    paths = {event["args"]["correlation"]: str(event["sf"]) for event in trace["traceEvents"] if event.get("cat") == "cuda_runtime"}

    def frames(frame: str) -> list[dict]:
        above: list[dict] = []
        while frame in trace["stackFrames"]:
            above.insert(0, trace["stackFrames"][frame])
            frame = str(above[0].get("parent"))
        return above

    def of(event: dict) -> tuple[Row, Amount]:
        args = event["args"]
        line = line_of(frames(paths.get(args["correlation"], "")), event["name"])
        return (Row(event["name"], str(args["stream"]), str(args.get("graph id", "")), line),
                Amount(1, round(event["dur"] * 1000), args.get("bytes", 0)))
    return summed(of(event) for event in trace["traceEvents"] if event.get("cat") in ACTIVITIES)


# ---- beside each other ----

def count_of(rows: dict[tuple, Amount]) -> int:
    return sum(amount.count for amount in rows.values())


def is_part(part: dict[tuple, Amount], whole: dict[tuple, Amount]) -> bool:
    """Each row is one of the whole's, with no more of it. What ran in one row took equally long and had as many bytes each time."""
    return all(amount.count <= whole.get(row, NOTHING).count and
               tuple(one * whole[row].count for one in amount) == tuple(one * amount.count for one in whole[row])
               for row, amount in part.items())
