# SPDX-License-Identifier: Apache-2.0
"""Graphs that a program describes through sonde.h or the Python module, measured."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import program
from conftest import ROOT

NODES = {"source", "left", "right", "join"}
EDGES = {("source", "left", 0, 64), ("source", "right", 0, 64), ("left", "join", 0, 8), ("right", "join", 1, 8)}


def model_of(sonde, folder: Path, name: str) -> dict:
    models = json.loads(sonde("graph", folder / "run.sdb", "--model", name, "--format", "json").out)["models"]
    assert len(models) == 1
    return models[0]


def rows_of(model: dict) -> dict[str, dict]:
    return {row["name"]: row for row in model["rows"]}


def edges_of(model: dict) -> set[tuple[str, str, int, int]]:
    names = {row["node"]: row["name"] for row in model["rows"]}
    return {(names[e["from"]], names[e["to"]], e["index"], e["bytes"]) for e in model["edges"]}


@pytest.mark.parametrize("how", ["one", "threads", "regions"])
def test_diamond(sonde, tmp_path, how):
    binary = program.compiled("graph/graph_diamond.c", "-O1")
    plain = subprocess.run([binary, how], capture_output=True, text=True, check=True).stdout
    run = program.run(tmp_path, binary, how)
    assert run.stdout == plain
    model = model_of(sonde, tmp_path, "diamond")
    rows = rows_of(model)
    assert set(rows) == NODES and edges_of(model) == EDGES
    assert (model["source"], model["edges_by"], model["iterations_by"]) == \
        ("sonde.h", "description", "marks of the program")
    assert [i["number"] for i in model["iterations"]] == list(range(10)) and model["iteration_ns"]["count"] == 10
    starts = [i["start_ns"] for i in model["iterations"]]
    assert starts == sorted(starts)
    for name, row in rows.items():
        assert row["time_ns"]["count"] == 10, name
        assert row.get("latency_ns", {"count": 0})["count"] == (0 if name == "source" else 10), name
    # between what the program's own clock says within the node and around it
    clocks = [tuple(map(int, line.split())) for line in run.stderr.splitlines()]
    for name, (inner, outer) in zip(["source", "left", "right", "join"], clocks, strict=True):
        time = rows[name]["time_ns"]
        assert inner <= time["sum"] <= outer, name
        assert time["min"] <= time["mean"] <= time["max"] and time["mean"] * 10 == pytest.approx(time["sum"])
    assert (rows["left"]["type"], rows["left"]["module"], rows["left"]["device"]) == ("work", "middle", "cpu")
    assert rows["left"]["file"].endswith("graph/graph_diamond.c")
    if how == "one":
        # right could have begun when source ended, and waited for left
        assert rows["right"]["latency_ns"]["min"] >= rows["left"]["time_ns"]["min"]
        assert rows["right"]["latency_ns"]["sum"] >= rows["left"]["time_ns"]["sum"]
        nodes = sum(row["time_ns"]["sum"] for row in rows.values())
        assert nodes <= model["iteration_ns"]["sum"]


def test_time_of_a_node_is_below_it(tmp_path):
    """Samples that fall into a node are below its frame, and that below the function that runs it."""
    program.run(tmp_path, program.compiled("graph/graph_diamond.c", "-O1"), options=("-e", "cpu-time@997"))
    below = [[row["name"] for row in path] for path, _ in program.paths(tmp_path)
             if any(row["kind"] == "graph-node" and row["name"] == "diamond/left" for row in path)]
    assert below and all("work" in path[path.index("diamond/left"):] for path in below if path[-1] != "diamond/left")
    assert all("run_node" in path[:path.index("diamond/left")] for path in below)


PYTHON = """
import sonde
model = sonde.Model("three")
a = model.node("a", type="make")
b = model.node("b", type="use", module="rest", inputs=[a])
c = model.node("c", type="use", inputs=[a, b])
for turn in range(7):
    with model.iteration():
        for node in (a, b, c):
            with node:
                total = sum(range(1000))
        if turn % 2:
            with c:
                pass
print(total)
"""


def test_python(sonde, tmp_path):
    (tmp_path / "three.py").write_text(PYTHON)
    path = {"PYTHONPATH": str(ROOT / "python")}
    plain = subprocess.run([sys.executable, tmp_path / "three.py"], capture_output=True, text=True,
                           env={**os.environ, **path}, check=True).stdout
    assert program.run(tmp_path, sys.executable, tmp_path / "three.py", environment=path).stdout == plain
    model = model_of(sonde, tmp_path, "three")
    rows = rows_of(model)
    assert {name: row["time_ns"]["count"] for name, row in rows.items()} == {"a": 7, "b": 7, "c": 10}
    assert {edge[:3] for edge in edges_of(model)} == {("a", "b", 0), ("a", "c", 0), ("b", "c", 1)}
    assert model["iteration_ns"]["count"] == 7


def test_a_fork_has_its_own_numbers(sonde, tmp_path):
    (tmp_path / "fork.py").write_text(PYTHON + """
import os
if os.fork() == 0:
    for _ in range(3):
        with b:
            pass
    os._exit(0)
os.wait()
""")
    program.run(tmp_path, sys.executable, tmp_path / "fork.py", environment={"PYTHONPATH": str(ROOT / "python")})
    models = json.loads(sonde("graph", tmp_path / "run.sdb", "--format", "json").out)["models"]
    counts = sorted({row["name"]: row.get("time_ns", {"count": 0})["count"] for row in model["rows"]}.get("b")
                    for model in models)
    assert counts == [3, 7]


def test_many_iterations_take_no_more_room(sonde, tmp_path):
    (tmp_path / "many.py").write_text("""
import sonde, sys
model = sonde.Model("many")
node = model.node("node")
for _ in range(int(sys.argv[1])):
    with model.iteration(), node:
        pass
""")
    sizes = []
    for count in (5000, 20000):
        program.run(tmp_path, sys.executable, tmp_path / "many.py", str(count),
                    environment={"PYTHONPATH": str(ROOT / "python")})
        sizes.append(sum(f.stat().st_size for f in (tmp_path / "run.sonde").iterdir()))
        model = model_of(sonde, tmp_path, "many")
        assert model["iteration_ns"]["count"] == count and model["rows"][0]["time_ns"]["count"] == count
        assert len(model["iterations"]) == 4095 and model["iterations"][-1]["number"] == count - 1
    # what else the interpreter does takes some room, twice the list of iterations does not fit
    assert sizes[1] < sizes[0] + 65536


def test_work_on_devices_belongs_to_the_node_that_gave_it(sonde, tmp_path):
    if not (program.BUILD / "tests/opencl-known").exists():
        pytest.skip("built without OpenCL")
    binary = program.compiled("graph/graph_opencl.c", "-O1", "-lOpenCL")
    if subprocess.run([binary], capture_output=True).returncode == 77:
        pytest.skip("no OpenCL device here (pocl-opencl-icd gives one)")
    program.run(tmp_path, binary)
    rows = rows_of(model_of(sonde, tmp_path, "device"))
    assert rows["compute"]["device_ns"]["count"] == 15 and "copy_ns" not in rows["compute"]
    assert rows["load"]["copy_ns"]["count"] == 5 and "device_ns" not in rows["load"]
    assert "device_ns" not in rows["idle"] and "copy_ns" not in rows["idle"]
    text = sonde("graph", tmp_path / "run.sdb").out
    assert "on device" in text and "copies" in text
