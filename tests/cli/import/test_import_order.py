# SPDX-License-Identifier: Apache-2.0
"""Traces without correlation: launches found by their order, or not at all, and said to be inferred."""
from __future__ import annotations

import csv
import gzip
import io
import json
import random
from pathlib import Path

import pytest

from conftest import run_sonde
from samples import SAMPLES, needs

DATA = SAMPLES / "kineto"
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def events(folder: Path, trace: dict) -> list[dict]:
    (folder / "t.json").write_text(json.dumps(trace))
    for done in (run_sonde("import", folder / "t.json", "-o", folder / "t.sdb"),
                 run_sonde("export", "--to", "events", folder / "t.sdb", "-o", folder / "t.csv")):
        assert (done.status, done.err) == (0, ""), done.err
    return list(csv.DictReader(io.StringIO((folder / "t.csv").read_text())))


def launches(rows: list[dict]) -> dict[tuple, list]:
    """Of each operation, told by place and time: thread and begin of the call with its link."""
    calls: dict[str, dict] = {}
    for row in rows:
        if not row["device"] and row["link"] and row["category"] in ("cuda_runtime", "cuda_driver"):
            known = calls.get(row["link"])
            if not known or int(row["start_ns"]) < int(known["start_ns"]):
                calls[row["link"]] = row
    found: dict[tuple, list] = {}
    for row in rows:
        if row["device"] and row["category"] in DEVICE:
            call = calls.get(row["link"]) if row["link"] else None
            key = tuple(row[name] for name in ("device", "stream", "start_ns", "end_ns", "name"))
            found.setdefault(key, []).append((call["tid"], call["start_ns"]) if call else None)
    return found


def stripped(trace: dict) -> dict:
    for event in trace["traceEvents"]:
        for name in ("correlation", "External id"):
            event.get("args", {}).pop(name, None)
    trace["traceEvents"] = [event for event in trace["traceEvents"] if event.get("cat") != "ac2g"]
    return trace


def compared(truth: dict, found: dict) -> tuple[int, int]:
    """How many were found right, and wrong."""
    pairs = [pair for key, known in truth.items() for pair in zip(known, found.get(key, []), strict=False) if pair[1]]
    right = sum(known == inferred for known, inferred in pairs)
    return right, len(pairs) - right


def real(name: str) -> dict:
    with gzip.open(DATA / name) as file:
        return json.load(file)


needs_data = needs("kineto")


@needs_data
@pytest.mark.parametrize("name,least", [
    ("param_linear.json.gz", 10356), ("b200_eager.json.gz", 929), ("mi210_gpu_only.json.gz", 562),
    # of calls that start nothing, which are all of one kind, the other kinds are found beside them
    ("hta_ns_resolution.json.gz", 5950), ("h100_gaunernst_bert-small-uncased.json.gz", 61),
    # several streams, and kernels that graphs launched: what is not sure is left
    ("hta_rank0.json.gz", 0), ("vllm_graph_execution.json.gz", 0), ("mi300_Qwen_Qwen1.5-0.5B-Chat.json.gz", 0)])
def test_real_traces(tmp_path, name, least):
    trace = real(name)
    truth = launches(events(tmp_path, trace))
    right, wrong = compared(truth, launches(events(tmp_path, stripped(trace))))
    assert wrong == 0 and right >= least


@needs_data
@pytest.mark.parametrize("seed", [1, 2])
def test_launches_that_are_missing(tmp_path, seed):
    """Nothing is matched wrongly where calls were lost."""
    trace = real("h100_Qwen_Qwen1.5-0.5B-Chat.json.gz")
    truth = launches(events(tmp_path, trace))
    chance = random.Random(seed)
    trace["traceEvents"] = [event for event in trace["traceEvents"]
                            if "Launch" not in event.get("name", "") or chance.random() < 0.98]
    assert compared(truth, launches(events(tmp_path, stripped(trace))))[1] == 0


# ---- made ones ----

def call(name: str, start: float, end: float, tid: int = 1) -> dict:
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 5, "tid": tid, "ts": start, "dur": end - start,
            "args": {}}


def ran(start: float, end: float, category: str = "kernel", stream: int = 7) -> dict:
    return {"ph": "X", "cat": category, "name": "gemm" if category == "kernel" else "Memcpy HtoD", "pid": 0,
            "tid": stream, "ts": start, "dur": end - start, "args": {"device": 0, "context": 1, "stream": stream}}


LAUNCH, COPY, WAIT = "cudaLaunchKernel", "cudaMemcpyAsync", "cudaDeviceSynchronize"
GOOD = [call(LAUNCH, 0, 5), call(COPY, 10, 15), call(LAUNCH, 20, 25), call(WAIT, 30, 200),
        ran(50, 60), ran(60, 90, "gpu_memcpy"), ran(100, 150)]


def inferred(folder: Path, made: list[dict]) -> tuple[list, dict]:
    """Begins of the calls of each operation in order of time, in us; and what is counted as lost."""
    rows = events(folder, {"schemaVersion": 1, "traceEvents": made})
    found = sorted((int(key[2]), where) for key, places in launches(rows).items() for where in places)
    drops = json.loads(run_sonde("info", folder / "t.sdb", "--format", "json").out)["drops"]
    marks = [row["attribute.inferred"] for row in rows if row["device"] and row.get("attribute.inferred")]
    assert len(marks) == sum(where is not None for _, where in found) and set(marks) <= {"order of launches"}
    return [int(where[1]) // 1000 if where else None for _, where in found], drops


def test_one_queue(tmp_path):
    found, drops = inferred(tmp_path, GOOD)
    assert found == [0, 10, 20] and "launch-ambiguous" not in drops
    answer = json.loads(run_sonde("timeline", tmp_path / "t.sdb", "--format", "json").out)
    assert answer["inferred"]["rows"] == [{"what": "which call launched them", "count": 3, "of": 3}]
    assert "inferred, not recorded" in run_sonde("timeline", tmp_path / "t.sdb", "--view", "idle").out


def test_runtime_and_driver(tmp_path):
    """The call of the driver that one of the runtime consists of is no second launch."""
    inner = {**call("cuLaunchKernel", 1, 4), "cat": "cuda_driver"}
    assert inferred(tmp_path, [*GOOD, inner])[0] == [0, 10, 20]


@pytest.mark.parametrize("why,made,expected", [
    # a call is missing: which one, nobody knows
    ("missing launch", GOOD[1:], [None, 10, None]),
    ("missing operation", GOOD[:-1], [None, 10]),
    ("two streams", [*GOOD[:-1], ran(100, 150, stream=8)], [None] * 3),
    ("two threads at once", [*GOOD[:2], call(LAUNCH, 12, 25, tid=2), *GOOD[3:]], [None] * 3),
    ("two processes", [*GOOD[:2], {**call(LAUNCH, 20, 25), "pid": 6}, *GOOD[3:]], [None] * 3),
    ("another order of kinds", [*GOOD[:4], ran(50, 60, "gpu_memcpy"), ran(60, 90), ran(100, 150)], [None] * 3),
    ("before its launch", [*GOOD[:4], ran(50, 60), ran(60, 90, "gpu_memcpy"), ran(1, 4)], [None] * 3),
    # two threads one after the other are one order
    ("two threads", [*GOOD[:2], call(LAUNCH, 20, 25, tid=2), *GOOD[3:]], [0, 10, 20]),
])
def test_only_what_is_sure(tmp_path, why, made, expected):
    found, drops = inferred(tmp_path, made)
    assert found == expected
    assert drops.get("launch-ambiguous", 0) == expected.count(None)


def test_a_stretch_that_is_not_sure_leaves_the_others(tmp_path):
    later = [{**event, "ts": event["ts"] + 1000} for event in GOOD]
    found, drops = inferred(tmp_path, [*GOOD[2:], *later])
    assert found == [None, None, None, 1000, 1010, 1020] or found[3:] == [1000, 1010, 1020]
    assert drops["launch-ambiguous"] >= 2


def test_correlation_is_better(tmp_path):
    """What has correlation numbers keeps them, whatever the order."""
    made = json.loads(json.dumps(GOOD))
    for event, number in zip([made[0], made[2], made[4], made[6]], [1, 2, 2, 1], strict=True):
        event["args"]["correlation"] = number
    rows = events(tmp_path, {"schemaVersion": 1, "traceEvents": made})
    kernels = sorted((int(key[2]), places) for key, places in launches(rows).items() if key[4] == "gemm")
    assert [int(places[0][1]) // 1000 for _, places in kernels] == [20, 0]
