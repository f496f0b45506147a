# SPDX-License-Identifier: Apache-2.0
"""Reading what Sonde has measured of a program, by its own reports; and the program's truth (device.c)."""
from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from contextlib import suppress
from pathlib import Path

MARK = "[as captured]"
METRICS = {"kernel-time": None, "copy-time": "copy", "fill-time": "set"}


LIMIT_S = int(os.environ.get("SONDE_GPU_LIMIT", "300"))


def bounded(command: list, environment: "dict[str, str] | None" = None) -> subprocess.CompletedProcess[str]:
    """In a session of its own, which ends as a whole after the limit: with status 124."""
    # not by `with`, which would wait for a process that a device holds
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True)
    try:
        out, err = process.communicate(timeout=LIMIT_S)
        return subprocess.CompletedProcess(command, process.returncode, out, err)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=10)
    return subprocess.CompletedProcess(command, 124, "", f"it was ended after {LIMIT_S} s\n")


def report(sonde: str, database: Path, metric: str) -> list[tuple[list[dict], dict]]:
    """Each context with a value of its own: its frames outermost first, and that value. Nothing where the metric is not there."""
    done = bounded([sonde, "report", database, "--format", "json", "--metric", metric])
    if done.returncode or not done.stdout:
        return []
    found, stack = [], []
    for row in json.loads(done.stdout)["rows"]:
        stack[row["depth"]:] = [row]
        value = row["values"].get(metric, {}).get("exclusive")
        if value and value["count"]:
            found.append((list(stack), value))
    return found


def info(sonde: str, database: Path) -> dict:
    done = bounded([sonde, "info", database, "--format", "json"])
    done.check_returncode()
    return json.loads(done.stdout)


def device_part(sonde: str, database: Path) -> dict[str, Counter[str]]:
    """By metric: from the first frame of the device's interface on, each path with how often, and its sum. What waits and calls
    take is the host's, and left out."""
    found: dict[str, Counter[str]] = {}
    for metric in ("kernel-time", "graph-time", "copy-time", "copy-bytes", "fill-time", "fill-bytes", "gpu-alloc", "gpu-free"):
        of = found.setdefault(metric, Counter())
        for frames, value in report(sonde, database, metric):
            first = next((index for index, frame in enumerate(frames) if frame["kind"] == "gpu-api"), len(frames) - 1)
            kept = [frame["name"] for frame in frames[first:] if frame["kind"].startswith(("gpu", "kernel")) or frame["name"] == MARK]
            of[" > ".join(kept) + ": count"] += value["count"]
            of[" > ".join(kept) + ": sum"] += round(value["sum"])
    return found


def lines_of(frames: list[dict]) -> list[int]:
    return [frame["line"] for frame in frames if (frame.get("file") or "").endswith(("/device.c", "/device_ze.c", "/device.hip"))]


def measured_lines(sonde: str, database: Path, lines: set[int]) -> Counter[tuple[str, int]]:
    """By what ran and the innermost line that is one of these: how often."""
    found: Counter[tuple[str, int]] = Counter()
    for metric, name in METRICS.items():
        for frames, value in report(sonde, database, metric):
            own = [line for line in lines_of(frames) if line in lines]
            found[name or frames[-1]["name"].split("(")[0], own[-1] if own else 0] += value["count"]
    return found


def true_lines(truth: dict, with_nodes: bool, are_captures_known: bool = True) -> Counter[tuple[str, int]]:
    """What was captured ran below the line that captured it, or, where that is not known, below the one that replays."""
    found: Counter[tuple[str, int]] = Counter()
    for one in truth["operations"]:
        if with_nodes or not one["is_captured"]:
            line = truth["replay_line"] if one["is_captured"] and not are_captures_known else one["line"]
            found[one["what"], line] += one["count"] * (truth["replays"] if one["is_captured"] else 1)
    return found


def sums(of: Counter[tuple[str, int]]) -> Counter[str]:
    """Without the lines."""
    found: Counter[str] = Counter()
    for (what, _), count in of.items():
        found[what] += count
    return found
