# SPDX-License-Identifier: Apache-2.0
"""Traces of very many streams, threads, processes, devices or keys: time grows with them, not with their square, and
what a table leaves out is counted."""
from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import SONDE
from kineto_traces import Trace
from pages import page_data

SHAPES = ["streams", "overlapping", "threads", "processes", "devices"]
DEVICES = 128  # SN_PROCESS_DEVICES


def many(path: Path, count: int, shape: str) -> Path:
    """An operator, its launch and its kernel, `count` times."""
    trace = Trace()
    for i in range(count):
        at, stream = 1000.0 + 10 * i, 7 + (i if shape in ("streams", "overlapping") else 0)
        correlation = {"correlation": i + 1, **({f"key {i}": i} if shape == "keys" else {})}
        trace.call("cpu_op", "aten::op", at, at + 6, 10 + (i if shape == "threads" else 0))
        trace.call("cuda_runtime", "cudaLaunchKernel", at + 1, at + 3, 10 + (i if shape == "threads" else 0), **correlation)
        length = 10 * count if shape == "overlapping" else 8
        trace.operation("kernel", "kernel", at + 4, at + 4 + length, i + 1, stream, **({"device": i} if shape == "devices" else {}))
        if shape == "processes":
            for event in trace.events[-3:-1]:
                event["pid"] = 5 + i
    return trace.write(path)


def seconds(*arguments: object) -> float:
    """Of the processor."""
    process = subprocess.Popen([SONDE, *map(str, arguments)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def check_growth(few: list[object], many_: list[object]) -> None:
    """Ten times as much takes about ten times as long; of something quadratic it would be up to a hundred times."""
    least = min(seconds(*few) for _ in range(3))
    assert seconds(*many_) < 20 * max(least, 0.02)


@pytest.mark.parametrize("shape", SHAPES)
def test_time_of_all_views(tmp_path: Path, shape: str) -> None:
    few, lots = (many(tmp_path / f"{count}.json", count, shape) for count in (4000, 40000))
    check_growth(["timeline", few, "--view", "all"], ["timeline", lots, "--view", "all"])


@pytest.mark.parametrize("form", ["chrome", "perfetto"])
def test_time_of_exports_with_many_keys(sonde, tmp_path: Path, form: str) -> None:
    for count in (2000, 20000):
        assert sonde("import", many(tmp_path / f"{count}.json", count, "keys"), "-o", tmp_path / f"{count}.sdb").status == 0
    few, lots = (["export", tmp_path / f"{count}.sdb", "--to", form, "-o", tmp_path / "out"] for count in (2000, 20000))
    check_growth(few, lots)


def test_what_is_left_out_is_counted(sonde, tmp_path: Path) -> None:
    """Devices of a process beyond 128, the same in text, JSON and HTML; rows and curves that are not shown."""
    path = many(tmp_path / "t.json", 300, "devices")
    answer = json.loads(sonde("timeline", path, "--view", "all", "--format", "json").out)
    assert answer["left_out"]["rows"] == [{"what": "devices", "count": 300 - DEVICES, "of": 300}]
    assert len(answer["device_table"]["rows"]) == DEVICES
    text = sonde("timeline", path, "--view", "all").out
    assert re.search(rf"left out\n +what +count +of all\n +devices +{300 - DEVICES} +300\n", text)
    assert text.count("queue of device ") == 32 and f"{DEVICES - 32} more curves: --format json" in text
    for view in ("summary", "idle", "queue", "critical-path"):
        assert "\nleft out\n" in sonde("timeline", path, "--view", view).out
    assert sonde("timeline", path, "-o", tmp_path / "p.html").status == 0
    page = page_data(tmp_path / "p.html")
    sheets = {sheet["key"]: sheet for sheet in page["sheets"]}
    assert sheets["left_out"]["rows"] == [["devices", 300 - DEVICES, 300]]
    assert sum(sheet["title"].startswith("queue of device ") for sheet in page["sheets"]) == 32
    assert page["curves_left_out"] == DEVICES - 32


def test_few_leave_nothing_out(sonde, tmp_path: Path) -> None:
    path = many(tmp_path / "t.json", DEVICES, "devices")
    answer = json.loads(sonde("timeline", path, "--view", "all", "--format", "json").out)
    assert "left_out" not in answer and len(answer["device_table"]["rows"]) == DEVICES


def test_streams_beyond_64_are_counted(sonde, tmp_path: Path) -> None:
    """The queues of the first 64 streams, and of all together; how many more there are is said everywhere."""
    path = many(tmp_path / "t.json", 3000, "streams")
    queue = json.loads(sonde("timeline", path, "--view", "queue", "--format", "json").out)["queue"]
    assert (len(queue["rows"]), queue["left_out"]) == (65, 3000 - 64)
    for options, shown in ((), 8), (("--limit", "0"), 65):
        text = sonde("timeline", path, "--view", "queue", *options).out
        assert len(re.findall(r"^  device 0 ", text, re.M)) == shown and f"  {3000 - 64} more are left out\n" in text
        assert (f"  {65 - shown} more: --limit 0\n" in text) == (shown < 65)
    assert sonde("timeline", path, "-o", tmp_path / "p.html").status == 0
    assert {sheet["key"]: sheet["left_out"] for sheet in page_data(tmp_path / "p.html")["sheets"]}["queue"] == 3000 - 64
