# SPDX-License-Identifier: Apache-2.0
"""Calls: how often an operator was called and how long a call takes, on traces with known calls, on real ones against their
JSON, and against torch.profiler's own table."""
from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections import defaultdict
from functools import lru_cache

import pytest

import measured
import program
from conftest import BUILD, ROOT
from kineto_traces import FILES, Trace, load
from samples import each

os.environ["SONDE_DB_LIBRARY"] = str(BUILD / "src/lib/db/libsonde-db.so")
sys.path.insert(0, str(ROOT / "python"))
import sonde as api  # noqa: E402

WORKLOAD = measured.ROOT / "tests/workloads/torch/torch_table.py"
PYTHONS = [sys.executable, *filter(None, os.environ.get("SONDE_TORCH_PYTHONS", "").split(":"))]
US = 1000
FORMULAS = "n=count(real-time),m=mean(real-time),low=min(real-time),high=max(real-time),d=dev(real-time)"


@pytest.fixture
def nested() -> Trace:
    """aten::outer of 100 and 60 us calls aten::inner of 10, 20 and 30, whose gradient runs much longer elsewhere;
    aten::sum is another overload of itself once, aten::again calls itself beside another."""
    trace = Trace()
    trace.call("cpu_op", "aten::outer", 0, 100)
    trace.call("cpu_op", "aten::inner", 10, 20, Sequence_number=3, Fwd_thread_id=0)
    trace.call("cpu_op", "aten::inner", 30, 50)
    trace.call("cpu_op", "aten::outer", 200, 260)
    trace.call("cpu_op", "aten::inner", 210, 240)
    trace.call("cpu_op", "InnerBackward0", 300, 900, thread=11, Sequence_number=3, Fwd_thread_id=1)
    trace.call("cpu_op", "aten::sum", 400, 440)
    trace.call("cpu_op", "aten::sum", 410, 430)
    trace.call("cpu_op", "aten::fill_", 412, 418)
    trace.call("cpu_op", "aten::again", 500, 580)
    trace.call("cpu_op", "aten::again", 510, 540)
    trace.call("cpu_op", "aten::fill_", 550, 552)
    return trace


KNOWN = {"aten::outer": (2, 60, 100), "aten::inner": (3, 10, 30), "InnerBackward0": (1, 600, 600), "aten::sum": (1, 40, 40),
         "aten::again": (2, 30, 80), "aten::fill_": (2, 2, 6)}
MEANS = {"aten::outer": 80, "aten::inner": 20, "InnerBackward0": 600, "aten::sum": 40, "aten::again": 55, "aten::fill_": 4}


def imported(sonde, folder, source):
    result = sonde("import", source, "-o", folder / "trace.sdb")
    assert result.status == 0, result.err
    return folder / "trace.sdb"


def rows(sonde, path, *options) -> list[dict]:
    result = sonde("report", path, "--format", "json", *options)
    assert result.status == 0, result.err
    return json.loads(result.out)["rows"]


@pytest.mark.parametrize("options", [("--by", "operator"), ("--view", "flat"), ("--view", "bottom-up", "--depth", "0")],
                         ids=lambda options: options[-1])
def test_calls_of_a_known_trace(sonde, tmp_path, nested, options):
    path = imported(sonde, tmp_path, nested.write(tmp_path / "trace.json"))
    found = {row["name"]: row["values"] for row in rows(sonde, path, *options, "--metric", f"real-time,{FORMULAS}")}
    for name, (calls, least, greatest) in KNOWN.items():
        value = found[name]["real-time"]["inclusive"]
        assert (value["count"], value["min"], value["max"]) == (calls, least * US, greatest * US), name
        assert value["mean"] == MEANS[name] * US
        derived = {key: found[name][key]["inclusive"] for key in "nm"} | {
            "low": found[name]["low"]["inclusive"], "high": found[name]["high"]["inclusive"]}
        assert derived == {"n": calls, "m": value["mean"], "low": value["min"], "high": value["max"]}, name
        assert abs(found[name]["d"]["inclusive"] - value["std"]) < 1e-6
    # own times are what they were: two overloads of aten::sum, and what a call leaves to others
    assert found["aten::sum"]["real-time"]["exclusive"] | {"std": 0} == {
        "count": 2, "sum": 34 * US, "min": 14 * US, "max": 20 * US, "mean": 17 * US, "std": 0}
    # the gradient is below its operator, and no part of a call
    assert found["aten::inner"]["real-time"]["inclusive"]["sum"] == 660 * US
    assert found["aten::outer"]["real-time"]["inclusive"]["sum"] == 760 * US


def test_the_table_says_what_it_counts(sonde, tmp_path, nested):
    path = imported(sonde, tmp_path, nested.write(tmp_path / "trace.json"))
    text = sonde("report", path, "--by", "operator").out.splitlines()
    heading = next(line.split() for line in text if "self%" in line)
    assert heading[4:6] == ["calls", "mean"]
    row = next(line.split() for line in text if line.endswith("aten::inner"))
    assert row[6:9] == ["3", "20.0", "us"]
    # a program is not called
    kind = sonde("report", path, "--view", "flat", "--by", "kind").out
    assert next(line.split() for line in kind.splitlines() if line.endswith("operator"))[6:8] == ["-", "-"]
    metrics = json.loads(sonde("report", path, "--format", "json").out)["metrics"]
    assert {metric["name"]: metric["counts"] for metric in metrics} == {"real-time": "calls"}
    table = list(csv.DictReader(io.StringIO(sonde("report", path, "--by", "operator", "--format", "csv").out)))
    inner = next(row for row in table if row["name"] == "aten::inner")
    assert [inner[f"real-time:{key}"] for key in ("count", "min", "max")] == ["3", str(10 * US), str(30 * US)]


def test_calls_of_a_tree_a_thread_and_a_place(sonde, tmp_path, nested):
    path = imported(sonde, tmp_path, nested.write(tmp_path / "trace.json"))
    tree = rows(sonde, path, "--metric", "real-time", "--where", "aten::outer")
    counts = {row["name"]: row["values"]["real-time"]["inclusive"]["count"] for row in tree if "real-time" in row["values"]}
    assert counts == {"aten::outer": 2, "aten::inner": 3, "InnerBackward0": 1, tree[0]["name"]: 0}
    assert "mean" not in tree[0]["values"]["real-time"]["inclusive"]
    of_one = rows(sonde, path, "--by", "operator", "--thread", "11", "--metric", "real-time")
    assert {row["name"]: row["values"]["real-time"]["inclusive"]["count"] for row in of_one} == {
        "InnerBackward0": 1, "aten::inner": 0, "aten::outer": 0}
    place = rows(sonde, path, "--context", "aten::outer > aten::inner", "--metric", "real-time,m=mean(real-time)")
    values = {row["tid"]: row["values"] for row in place}
    assert values[10]["real-time"]["count"] == 3 and values[10]["m"] == values[10]["real-time"]["mean"] == 20 * US
    assert values[11]["real-time"]["count"] == 0 and "m" not in values[11]


def test_calls_in_python_and_formulas(sonde, tmp_path, nested):
    path = imported(sonde, tmp_path, nested.write(tmp_path / "trace.json"))
    with api.open(path) as db:
        inner = next(context for context in db.contexts if context.name == "aten::inner")
        assert list(db.metrics) == ["real-time"] and db.metrics["real-time"].counts == "calls"
        calls = inner.stat("real-time", "calls")
        assert (calls.count, calls.mean, calls.min, calls.max) == (3, 20 * US, 10 * US, 30 * US)
        mean = db.formula("mean(real-time)")
        assert mean.at(inner) == mean.inclusive[inner.id] == 20 * US
        thread = next(profile for profile in db.profiles if profile.tid == 10)
        assert db.formula("mean(real-time)", profile=thread).inclusive[inner.id] == 20 * US
        assert mean.row(inner)[thread.number] == 20 * US
        values = db.metrics["real-time"].values("calls", "count")
        assert values[inner.id] == 3 and values[0] == 0


def alone(events: list[dict]) -> dict[str, tuple[int, int]]:
    """Of the operators that never contain one of their name: how many and nanoseconds."""
    found, excluded, threads = defaultdict(lambda: [0, 0]), set(), defaultdict(list)
    for event in events:
        if event.get("ph") == "X" and event.get("cat", "").lower() in ("cpu_op", "operator"):
            start, length = round(event["ts"] * 1000), round(event["dur"] * 1000)
            threads[event["pid"], event["tid"]].append((start, -length, event["name"]))
    for calls in threads.values():
        open_calls: list[tuple[int, str]] = []
        for start, negative, name in sorted(calls):
            while open_calls and open_calls[-1][0] <= start:
                open_calls.pop()
            excluded |= {name} & {outer for _, outer in open_calls}
            open_calls.append((start - negative, name))
            found[name][0] += 1
            found[name][1] -= negative
    return {name: tuple(value) for name, value in found.items() if name not in excluded}


@each("trace", FILES, "kineto")
def test_calls_of_a_real_trace(sonde, tmp_path, trace):
    expected = alone(load(trace))
    if not expected:
        pytest.skip("no operators")
    path = imported(sonde, tmp_path, trace)
    found: dict[str, list[float]] = defaultdict(lambda: [0, 0])
    for row in rows(sonde, path, "--by", "operator", "--metric", "real-time"):
        value = row["values"].get("real-time", {}).get("inclusive", {"count": 0})
        found[row["name"]][0] += value["count"]
        found[row["name"]][1] += value["count"] * value.get("mean", 0)
    for name, (count, total) in expected.items():
        assert found[name][0] == count, name
        assert abs(found[name][1] - total) <= max(count, 1e-9 * total), name


@lru_cache
def has_torch(python: str) -> bool:
    return subprocess.run([python, "-c", "import torch, torch.profiler"], capture_output=True).returncode == 0


@pytest.fixture(params=PYTHONS, scope="session")
def torch_python(request) -> str:
    if not has_torch(request.param):
        pytest.skip(f"{request.param} has no PyTorch")
    return request.param


@pytest.mark.parametrize("stack", [(), ("stack",)], ids=["operators", "stack"])
def test_calls_equal_torch_profilers_own_table(sonde, torch_python, tmp_path, stack):
    subprocess.run([torch_python, WORKLOAD, tmp_path / "trace.json", tmp_path / "table.json", *stack], check=True,
                   capture_output=True, timeout=300)
    path = imported(sonde, tmp_path, tmp_path / "trace.json")
    found: dict[str, list[float]] = defaultdict(lambda: [0, 0])
    for row in rows(sonde, path, "--view", "flat", "--metric", "real-time,m=mean(real-time)"):
        value = row["values"].get("real-time", {}).get("inclusive", {"count": 0})
        if row["kind"] != "python" and value["count"]:
            found[row["name"]][0] += value["count"]
            found[row["name"]][1] += value["count"] * value["mean"]
            assert row["values"]["m"]["inclusive"] == value["mean"]
    table = json.loads((tmp_path / "table.json").read_text())
    assert len(table) > 40
    for name, count, mean_us, _ in table:
        assert found[name][0] == count, name
        assert found[name][1] / count == pytest.approx(mean_us * US, abs=1), name


@pytest.mark.measures
def test_calls_of_an_own_recording_equal_the_table(sonde, torch_python, tmp_path):
    """The same operators, seen by both at once: each call is counted, and where the table's clock is finer than a call, the
    overloads of a call count with it in both. A clock of microseconds nests calls that follow each other, each time others."""
    program.run(tmp_path, torch_python, WORKLOAD, tmp_path / "trace.json", tmp_path / "table.json",
                options=("--operators", "exact"), timeout=300)
    calls, entries = defaultdict(int), defaultdict(int)
    for row in rows(sonde, tmp_path / "run.sdb", "--by", "operator", "--metric", "operator-time,m=mean(operator-time)"):
        value = row["values"].get("operator-time", {})
        calls[row["name"]] += value.get("inclusive", {"count": 0})["count"]
        entries[row["name"]] += value.get("exclusive", {"count": 0})["count"]
        if value.get("inclusive", {"count": 0})["count"]:
            assert row["values"]["m"]["inclusive"] == value["inclusive"]["mean"]
    # with its ranges for Python, and the engine's, which announce what comes
    table = [row for row in json.loads((tmp_path / "table.json").read_text()) if row[0].startswith("aten::")]
    assert len(table) > 30
    assert {name: entries[name] for name, *_ in table} == {name: events for name, _, _, events in table}
    if any(abs(mean * count - round(mean * count)) > 1e-4 for _, count, mean, _ in table):
        assert {name: calls[name] for name, *_ in table} == {name: count for name, count, *_ in table}
