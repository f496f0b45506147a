# SPDX-License-Identifier: Apache-2.0
"""Graphs out of torch.profiler's traces: of a trace alone, and of one with the execution trace of its process."""
from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from conftest import run_sonde
from samples import SAMPLES, needs
from test_import_execution_trace import node, tensor

DATA = SAMPLES / "kineto"


def imported(folder: Path, *paths: Path) -> list[dict]:
    done = run_sonde("import", *paths, "-o", folder / "x.sdb")
    assert (done.status, done.err) == (0, ""), done.err
    return json.loads(run_sonde("graph", folder / "x.sdb", "--format", "json").out)["models"]


def drops(folder: Path) -> dict:
    return json.loads(run_sonde("info", folder / "x.sdb", "--format", "json").out)["drops"]


def write(path: Path, value: dict) -> Path:
    path.write_text(json.dumps(value))
    return path


def op(name: str, start: float, end: float, tid: int = 1, category: str = "cpu_op", **args: object) -> dict:
    return {"ph": "X", "cat": category, "name": name, "pid": 77, "tid": tid, "ts": start, "dur": end - start,
            "args": {key.replace("_", " "): value for key, value in args.items()}}


def step(number: int, at: float) -> list[dict]:
    """One iteration: two equal operators, one of which calls another; and the gradient on another thread."""
    return [op(f"ProfilerStep#{number}", at, at + 90, category="user_annotation"),
            op("aten::linear", at + 1, at + 11, Sequence_number=10 * number),
            op("aten::addmm", at + 2, at + 6, Sequence_number=10 * number, Input_Dims=[[4, 8], [8, 16]]),
            op("aten::linear", at + 20, at + 40, Sequence_number=10 * number + 1),
            op("AddmmBackward0", at + 50, at + 57, tid=2, Sequence_number=10 * number, Fwd_thread_id=1),
            op("aten::mm", at + 51, at + 53, tid=2),
            op("cudaLaunchKernel", at + 3, at + 4, category="cuda_runtime", correlation=number + 1),
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 8, "dur": 3.5,
             "args": {"correlation": number + 1, "device": 0, "context": 1, "stream": 7}}]


def trace(events: list[dict]) -> dict:
    return {"schemaVersion": 1, "traceEvents": events}


def test_graph_of_a_trace(tmp_path):
    model, = imported(tmp_path, write(tmp_path / "t.json", trace([e for i in range(4) for e in step(i, 100 * i)])))
    assert (model["source"], model["pid"], len(model["iterations"])) == ("kineto", 77, 4)
    rows = {row["node"]: row for row in model["rows"]}
    assert sorted((row["name"], row["time_ns"]["count"], row["time_ns"]["mean"]) for row in rows.values()) == [
        ("AddmmBackward0", 4, 7000), ("aten::addmm", 4, 4000), ("aten::linear", 4, 10000), ("aten::linear", 4, 20000),
        ("aten::mm", 4, 2000)]
    by_time = {row["time_ns"]["mean"]: row for row in rows.values()}
    assert by_time[4000]["parent"] == by_time[10000]["node"] and by_time[2000]["parent"] == by_time[7000]["node"]
    assert by_time[4000]["detail"].replace(" ", "") == "[[4,8],[8,16]]" and by_time[7000]["backward"]
    # the kernel is the work of the operator that launched it, not of the one around that
    assert {row["name"]: row["device_ns"]["sum"] for row in rows.values() if row.get("device_ns")} == \
        {"aten::addmm": 4 * 3500}
    # the gradient belongs to the call of its name, not to the one around it, which has the number as well
    edge, = model["edges"]
    assert (rows[edge["from"]]["name"], rows[edge["to"]]["name"], edge["kind"], edge["count"]) == \
        ("aten::addmm", "AddmmBackward0", "sequence", 4)


def test_graph_without_steps(tmp_path):
    """Nothing says where an iteration begins: what is alike is one node."""
    events = [e for i in range(4) for e in step(i, 100 * i) if e["cat"] != "user_annotation"]
    model, = imported(tmp_path, write(tmp_path / "t.json", trace(events)))
    assert {row["name"]: row["time_ns"]["count"] for row in model["rows"]} == \
        {"aten::linear": 8, "aten::addmm": 4, "AddmmBackward0": 4, "aten::mm": 4}


def test_no_operators_no_graph(tmp_path):
    path = write(tmp_path / "t.json", trace([op("f", 1, 2, category="other")]))
    assert run_sonde("import", path, "-o", tmp_path / "x.sdb").status == 0
    assert "has no graph" in run_sonde("graph", tmp_path / "x.sdb").err


SEQUENCE = ["aten::linear", "aten::t", "aten::addmm", "aten::relu", "aten::cat"]
ET = {"schema": "1.0.1", "pid": 77, "time": "", "start_ts": 0,
      "nodes": [node(1, 1, "[pytorch|profiler|execution_graph|thread]", [], []),
                *[node(2 + i, 1, name, [tensor(9)], [tensor(10 + i)]) for i, name in enumerate(SEQUENCE)]]}


def times(model: dict) -> dict[str, tuple[int, float]]:
    return {row["name"]: (row["time_ns"]["count"], row["time_ns"]["sum"]) for row in model["rows"] if row.get("time_ns")}


def test_execution_trace_by_number(tmp_path):
    """Numbers decide where they go with the names, even where the order would say another thing."""
    events = [op(name, 10 * i, 10 * i + 2 + i, **{"Record_function_id": 2 + i}) for i, name in enumerate(SEQUENCE)]
    events += [op(name, 100 + 10 * i, 100 + 10 * i + 9) for i, name in enumerate(SEQUENCE)]
    paths = [write(tmp_path / "t.json", trace(events)), write(tmp_path / "et.json", ET)]
    for order in (paths, paths[::-1]):
        model, = imported(tmp_path, *order)
        assert model["source"] == "execution trace, times by record function"
        assert times(model) == {name: (1, 1000 * (2 + i)) for i, name in enumerate(SEQUENCE)}


def test_execution_trace_by_order(tmp_path):
    """"External id" numbers something else here; the order finds all iterations that did the same, and only these."""
    events, at = [], 0
    for names in (SEQUENCE, SEQUENCE[:3] + ["aten::cat"], SEQUENCE):
        for i, name in enumerate(names):
            events.append(op(name, at, at + 1 + i, External_id=2 + (len(events) * 3) % 7))
            at += 10
    model, = imported(tmp_path, write(tmp_path / "t.json", trace(events)), write(tmp_path / "et.json", ET))
    assert model["source"] == "execution trace, times inferred by order"
    assert times(model) == {name: (2, 2000 * (1 + i)) for i, name in enumerate(SEQUENCE)}
    assert "graph-untimed" not in drops(tmp_path)


@pytest.mark.parametrize("why", ["two threads", "another process", "other operators"])
def test_execution_trace_refused(tmp_path, why):
    """Nothing is guessed, and what has no times is counted."""
    names = SEQUENCE[::-1] if why == "other operators" else SEQUENCE
    events = [op(name, 10 * i, 10 * i + 2, tid=tid) for tid in (1, 2)[:2 if why == "two threads" else 1]
              for i, name in enumerate(names)]
    et = {**ET, "pid": 78} if why == "another process" else ET
    models = imported(tmp_path, write(tmp_path / "t.json", trace(events)), write(tmp_path / "et.json", et))
    model, = [model for model in models if "execution trace" in model["source"]]
    assert times(model) == {} and len(model["rows"]) == len(SEQUENCE)
    assert drops(tmp_path)["graph-untimed"] >= len(SEQUENCE)


# ---- a real pair, against a reading of its own ----

needs_data = needs("kineto")


def read(name: str) -> dict:
    with gzip.open(DATA / name) as file:
        return json.load(file)


def in_order(events: list[dict]) -> list[dict]:
    return sorted(events, key=lambda e: (e["ts"], -e["dur"], e["args"]["Ev Idx"]))


def device_times(events: list[dict]) -> dict[int, list[float]]:
    """By the innermost operator (its id()) that the launch lies in: durations of kernels."""
    kernels = defaultdict(list)
    for event in events:
        if event.get("cat") == "kernel":
            kernels[event["args"]["correlation"]].append(event["dur"])
    found: dict[int, list[float]] = defaultdict(list)
    by_thread = defaultdict(list)
    for event in events:
        if event.get("cat") in ("cpu_op", "cuda_runtime", "user_annotation") and "Ev Idx" in event["args"] or \
                event.get("cat") == "cuda_runtime":
            by_thread[event["tid"]].append(event)
    for thread in by_thread.values():
        open_ops: list[dict] = []
        for event in sorted(thread, key=lambda e: (e["ts"], -e["dur"], e["cat"] == "cuda_runtime",
                                                   e["args"].get("Ev Idx", 0))):
            while open_ops and open_ops[-1]["ts"] + open_ops[-1]["dur"] < event["ts"] + event["dur"]:
                open_ops.pop()
            if event["cat"] == "cuda_runtime":
                if open_ops:
                    found[id(open_ops[-1])] += kernels.get(event["args"]["correlation"], [])
            else:
                open_ops.append(event)
    return found


@needs_data
def test_real_pair(tmp_path):
    events = read("param_linear.json.gz")["traceEvents"]
    nodes = sorted((n for n in read("param_linear_et.json.gz")["nodes"] if not n["name"].startswith("[pytorch|")),
                   key=lambda n: n["id"])
    known = {n["name"] for n in nodes}
    ops = [e for e in events if e.get("cat") in ("cpu_op", "user_annotation") and e["name"] in known]
    kernels = device_times(events)
    expected: dict[int, list[float]] = defaultdict(list)
    on_device: dict[int, list[float]] = defaultdict(list)
    for thread in {n["tid"] for n in nodes}:
        wanted = [n for n in nodes if n["tid"] == thread]
        names = [n["name"] for n in wanted]
        for tid in {e["tid"] for e in ops}:
            line = in_order([e for e in ops if e["tid"] == tid])
            at = 0
            while at + len(names) <= len(line):
                if [e["name"] for e in line[at:at + len(names)]] == names:
                    for n, e in zip(wanted, line[at:], strict=False):
                        expected[n["id"]].append(e["dur"])
                        on_device[n["id"]] += kernels[id(e)]
                    at += len(names)
                else:
                    at += 1
    model, = imported(tmp_path, DATA / "param_linear_et.json.gz", DATA / "param_linear.json.gz")
    rows = {row["id"]: row for row in model["rows"]}
    assert len(rows) == len(nodes) == len(expected)
    for number, row in rows.items():
        assert (row["time_ns"]["count"], row["time_ns"]["sum"]) == (39, 1000 * sum(expected[number])), row["name"]
    counts = {number: row["device_ns"]["count"] if row.get("device_ns") else 0 for number, row in rows.items()}
    assert sum(counts.values()) == sum(map(len, on_device.values())) > 5000
    assert sum(counts[n] == len(on_device[n]) for n in counts) > 0.99 * len(counts)


@needs_data
@pytest.mark.parametrize("name", ["h100_gaunernst_bert-small-uncased.json.gz", "param_linear.json.gz",
                                  "hta_diff_control.json.gz"])
def test_real_trace(tmp_path, name):
    """Every execution of an operator is in one node, and all of its time."""
    ops = [e for e in read(name)["traceEvents"] if e.get("cat") == "cpu_op"]
    model, = imported(tmp_path, DATA / name)
    assert Counter({e: sum(row["time_ns"]["count"] for row in model["rows"] if row["name"] == e)
                    for e in {row["name"] for row in model["rows"]}}) == Counter(e["name"] for e in ops)
    assert sum(row["time_ns"]["sum"] for row in model["rows"]) == pytest.approx(1000 * sum(e["dur"] for e in ops))
