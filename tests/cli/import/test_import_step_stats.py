# SPDX-License-Identifier: Apache-2.0
"""`sonde import` of what TensorFlow's sessions record of a run: made ones with a known answer, and those of a TensorFlow."""
from __future__ import annotations

import gzip
import json
import os
import struct
import subprocess
from pathlib import Path

import pytest

import program
from conftest import run_sonde
from test_xla import QUIET, pythons
from xplane_writer import field

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
PS = "/job:ps/replica:0/task:1/device:CPU:0"
START_US = 1_700_000_000_000_000
MEMORY = {"total": 4096, "peak": 3000, "temporary": 128, "persistent": 64}


def execution(name: str, label: str, scheduled: int, start: int, length: int, in_ns: bool = True, memory: dict | None = None) -> bytes:
    """NodeExecStats; times in ns after START_US. Recorders before 2018 tell microseconds alone."""
    data = field(1, name) + field(2, START_US + start // 1000) + field(3, 1) + field(5, length // 1000) + field(8, label) + \
        field(9, START_US + scheduled // 1000) + field(10, 7)
    if memory:
        data += field(6, field(1, "cpu") + field(2, memory["total"]) + field(3, memory["peak"]) + field(4, 1) + field(5, 1)) + \
            field(12, field(1, memory["temporary"]) + field(3, memory["persistent"]))
    if in_ns:
        data += field(13, START_US * 1000 + start) + field(16, length) + field(17, START_US * 1000 + scheduled)
    return data


def step_stats(at: int, in_ns: bool = True) -> bytes:
    """
    x -> a, b -> sum, waiting for `init` as well; b runs while a does, and was scheduled 30 us before. `far` is of
    another task. A GPU says everything twice.
    """
    cpu = [execution("x", "x = _Arg()", at, at + 1000, 1000, in_ns),
           execution("a", "[cpu 4KB] a = MatMul(x, x:1)", at + 3000, at + 4000, 40_000, in_ns, MEMORY),
           execution("b", "b = Sinh(x)", at + 3000, at + 33_000, 5000, in_ns),
           execution("sum", "sum = AddV2(a, b, ^far)", at + 45_000, at + 46_000, 2000, in_ns)]
    far = [execution("far", "far = NoOp()", at, at + 10_000, 3000, in_ns),
           execution("RecvTensor", "[4.0KB] edge_1 from A to B", at, at + 20_000, 4000, in_ns)]
    gpu = "/job:localhost/replica:0/task:0/device:GPU:1/stream:"
    kernel = execution("a:MatMul", "a:MatMul", at, at + 50_000, 6000, in_ns)
    devices = [(CPU, cpu), (PS, far), (gpu + "7", [kernel]), (gpu + "all", [kernel])]
    return b"".join(field(1, field(1, device) + b"".join(field(2, one) for one in nodes)) for device, nodes in devices)


def record(data: bytes) -> bytes:
    return struct.pack("<QI", len(data), 1) + data + b"\x02\0\0\0"


def event_file(*runs: bytes) -> bytes:
    """Runs among other events."""
    time = field(1, 1.7e9)
    return record(time + field(3, "brain.Event:2")) + record(time + field(2, 5) + field(4, b"graph" * 400)) + b"".join(
        record(time + field(8, field(1, f"step{number}") + field(2, field(1, run) + field(3, b""))))
        for number, run in enumerate(runs)) + record(time + field(5, field(1, field(1, "loss"))))


FORMS = {"step-stats": lambda: [step_stats(0), step_stats(200_000)],
         "run-metadata": lambda: [field(1, step_stats(0)) + field(2, b""), field(1, step_stats(200_000))],
         "packed": lambda: [gzip.compress(field(1, step_stats(0))), gzip.compress(field(1, step_stats(200_000)))],
         "events": lambda: [event_file(step_stats(0), step_stats(200_000))],
         "microseconds": lambda: [event_file(step_stats(0, False), step_stats(200_000, False))]}


def imported(folder: Path, files: list[bytes]) -> Path:
    paths = []
    for number, data in enumerate(files):
        paths.append(folder / f"{number}.pb")
        paths[-1].write_bytes(data)
    result = run_sonde("import", *paths, "-o", folder / "t.sdb")
    assert result.status == 0, result.err
    assert "step_stats" in result.out
    return folder / "t.sdb"


def graph(path: Path) -> dict:
    model, = json.loads(run_sonde("graph", path, "--format", "json", "--top", 0).out)["models"]
    return model


@pytest.mark.parametrize("form", FORMS)
def test_step_stats_known(tmp_path, form):
    path = imported(tmp_path, FORMS[form]())
    model = graph(path)
    rows = {row["name"]: row for row in model["rows"]}
    assert {name: (row["type"], row["device"], row["time_ns"]["count"], row["time_ns"]["mean"]) for name, row in rows.items()
            if name not in ("RecvTensor", "a:MatMul")} == {
        "x": ("_Arg", "CPU:0", 2, 1000), "a": ("MatMul", "CPU:0", 2, 40_000), "b": ("Sinh", "CPU:0", 2, 5000),
        "sum": ("AddV2", "CPU:0", 2, 2000), "far": ("NoOp", PS, 2, 3000)}
    assert rows["RecvTensor"]["detail"] == "[4.0KB] edge_1 from A to B" and rows["RecvTensor"]["device"] == PS
    assert {name: row["queue_ns"]["mean"] for name, row in rows.items() if name in "a b sum".split()} == \
        {"a": 1000, "b": 30_000, "sum": 1000}
    assert {name: row["latency_ns"]["mean"] for name, row in rows.items() if "latency_ns" in row} == \
        {"a": 2000, "b": 31_000, "sum": 2000}
    assert {kind: rows["a"][f"{kind}_bytes"]["mean"] for kind in ("memory", "peak", "temporary", "persistent")} == \
        {"memory": 4096, "peak": 3000, "temporary": 128, "persistent": 64}
    assert "memory_bytes" not in rows["b"]
    names = {row["node"]: row["name"] for row in model["rows"]}
    assert {(names[edge["from"]], names[edge["to"]], edge["index"], edge["kind"]) for edge in model["edges"]} == {
        ("x", "a", 0, "data"), ("x", "a", 1, "data"), ("x", "b", 0, "data"), ("a", "sum", 0, "data"), ("b", "sum", 1, "data"),
        ("far", "sum", 2, "control")}
    assert model["iterations_by"] == "runs"
    assert [(i["start_ns"] - START_US * 1000, i["duration_ns"]) for i in model["iterations"]] == [(1000, 55_000), (201_000, 55_000)]
    about = json.loads(run_sonde("info", path, "--format", "json").out)
    # of the CPU two lines, for two things ran at once; all is there once
    assert about["events"] == 2 * 7 and not about["drops"]
    assert sorted(profile["thread"] for profile in about["profiles"]).count(CPU) == 2
    values = {row["name"]: row["values"] for row in json.loads(run_sonde("report", path, "--format", "json").out)["rows"]}
    assert values["TensorFlow/a"]["real-time"]["exclusive"]["sum"] == 80_000
    assert values["TensorFlow/a:MatMul"]["kernel-time"]["exclusive"]["sum"] == 12_000


@pytest.mark.parametrize("cut", [14, 40, 0.3, 0.6, 0.95])
@pytest.mark.parametrize("form", ["run-metadata", "events", "packed"])
def test_step_stats_truncated(tmp_path, form, cut):
    data = FORMS[form]()[0]
    path = tmp_path / "cut.pb"
    path.write_bytes(data[:cut if cut > 1 else int(cut * len(data))])
    result = run_sonde("import", "--from", "step_stats", path, "-o", tmp_path / "t.sdb")
    assert result.status == 128 and result.err.count("\n") == 1 and not (tmp_path / "t.sdb").exists()


def test_step_stats_without_runs(tmp_path):
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(event_file())
    result = run_sonde("import", path, "-o", tmp_path / "t.sdb")
    assert result.status == 128 and "has no run of TensorFlow with recorded operations" in result.err
    path.write_bytes(event_file() + struct.pack("<QI", 1 << 60, 1))
    result = run_sonde("import", path, "-o", tmp_path / "t.sdb")
    assert result.status == 128 and f"a record of {1 << 60} bytes" in result.err


@pytest.mark.parametrize("python", pythons("tensorflow"))
def test_step_stats_of_a_session(tmp_path, python):
    """A session with one thread, of which one node must wait for another, and what TensorFlow's own reader says."""
    done = subprocess.run([python, program.WORKLOADS / "tensorflow/tensorflow_session.py", tmp_path], capture_output=True, text=True,
                          env={**os.environ, **QUIET}, timeout=300)
    assert done.returncode == 0, done.stderr
    expected = json.loads(done.stdout)
    for inputs in ([tmp_path / "0.pb", tmp_path / "1.pb", tmp_path / "2.pb"], list((tmp_path / "events").iterdir())):
        assert run_sonde("import", *inputs, "-o", tmp_path / "t.sdb").status == 0
        model = graph(tmp_path / "t.sdb")
        found = {row["name"]: [row["time_ns"]["count"], row["time_ns"]["sum"], row["queue_ns"]["sum"],
                               row.get("memory_bytes", {"sum": 0})["sum"]] for row in model["rows"]}
        assert found == expected and len(model["iterations"]) == 3
        rows = {row["name"]: row for row in model["rows"]}
        assert rows["left"]["memory_bytes"]["min"] >= 300 * 300 * 4 and rows["sum"]["type"] == "AddV2"
        # what had to wait for the only thread waited as long as the other took
        waited = max(("left", "right", "before"), key=lambda name: rows[name]["queue_ns"]["sum"])
        assert rows[waited]["queue_ns"]["sum"] >= min(rows[name]["time_ns"]["sum"] for name in ("left", "right") if name != waited)
