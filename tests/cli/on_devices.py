# SPDX-License-Identifier: Apache-2.0
"""What tests of devices that are not there (collect/gpu) share: what ran there by the fake's own tables, and what was measured of it."""
from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import program


def rows_of(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@dataclass
class Ran:
    """What a program printed, the folder with its database, and the exact table of what ran."""

    out: str
    folder: Path
    table: list[dict[str, str]]

    def truth(self, column: str, wanted=lambda row: True) -> Counter[str]:
        found: Counter[str] = Counter()
        for row in self.table:
            if wanted(row):
                found[row["kernel"]] += int(row[column])
        return found


class Sampling:
    """Of what has the exact table of the instructions that were sampled."""

    samples: list[dict[str, str]]

    def taken(self, column: str = "taken") -> int:
        return sum(int(row[column]) for row in self.samples)

    def sampled(self, *columns: str) -> Counter[tuple[str, ...]]:
        """What is to be stored."""
        found: Counter[tuple[str, ...]] = Counter()
        for row in self.samples:
            found[tuple(row[column] for column in columns)] += int(row["taken"]) - int(row["lost"])
        return found

    def per_launch(self, kernel: str, launches: int) -> int:
        total = sum(count for (name,), count in self.sampled("kernel").items() if short(name) == kernel)
        assert total % launches == 0
        return total // launches


def is_kernel(row: dict[str, str]) -> bool:
    return not row["kernel"].startswith(("copy ", "set"))


def measured(ran: Ran, metric: str, what: str) -> Counter[str]:
    """By names of the last frames: the sum, or the count, of a metric."""
    found: Counter[str] = Counter()
    for frames, value in program.paths(ran.folder, metric, "--metric", metric):
        found[frames[-1]["name"]] += round(value[what])
    return found


def metrics(ran: Ran) -> set[str]:
    return {metric["name"] for metric in program.info(ran.folder)["metrics"]}


def lost(ran: Ran, cause: str = "gpu-sample-lost") -> int:
    return program.info(ran.folder).get("drops", {}).get(cause, 0)


# ---- samples of instructions ----


def stored(ran: Ran, metric: str = "gpu-samples") -> list[tuple[list[dict], int]]:
    if metric not in metrics(ran):
        return []
    found = []
    for frames, value in program.paths(ran.folder, metric, "--metric", metric):
        # one sample is a value of 1
        assert value["count"] == value["sum"] and value["min"] == value["max"] == 1
        found.append((frames, value["count"]))
    return found


def short(name: str) -> str:
    """Mangled or readable: "walk"."""
    match = re.match(r"_ZL?(\d+)", name)
    return name[match.end():match.end() + int(match[1])] if match else name.split("(")[0]


def kernel_of(frames: list[dict]) -> str:
    return short(next(frame["name"] for frame in frames if frame["kind"] == "kernel"))


def below_kernel(frames: list[dict]) -> list[dict]:
    return frames[[frame["kind"] for frame in frames].index("kernel"):]


def by_place(ran: Ran) -> Counter[tuple[str, int, str]]:
    """By kernel, address and line."""
    found: Counter[tuple[str, int, str]] = Counter()
    for frames, count in stored(ran):
        assert frames[-1]["kind"] == "gpu-instruction"
        line = frames[-2]["name"] if frames[-2]["kind"] == "gpu-line" else ""
        found[kernel_of(frames), int(frames[-1]["name"], 16), line] += count
    return found


def by_launch(ran: Ran, source: Path) -> Counter[tuple[str, int]]:
    """By kernel and the line of the source that launches it; 0: none."""
    found: Counter[tuple[str, int]] = Counter()
    for frames, count in stored(ran):
        lines = [frame["line"] for frame in frames if (frame.get("file") or "") == str(source) and frame["kind"] in ("native", "inlined")
                 and short(frame["name"]) in ("main", "run", "first", "second", "replay", "step", "other")]
        found[kernel_of(frames), lines[-1] if lines else 0] += count
    return found
