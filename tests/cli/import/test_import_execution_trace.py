# SPDX-License-Identifier: Apache-2.0
"""Import of PyTorch's execution traces: the graph is the one that an independent reading of the file gives."""
from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from conftest import run_sonde
from samples import SAMPLES, needs

DATA = SAMPLES / "kineto/param_linear_et.json.gz"


def tensor(number: int, elements: int = 4) -> list:
    return [number, number + 100, 0, elements, 4, "cpu"]


def node(number: int, parent: int, name: str, inputs: list, outputs: list, **more: int) -> dict:
    return {"name": name, "id": number, "rf_id": number, "parent": parent, "fw_parent": 0, "seq_id": -1, "scope": 0,
            "tid": 1, "inputs": inputs, "outputs": outputs, "op_schema": "", **more}


# linear calls t and addmm, then relu; their gradient in another thread
SMALL = [node(1, 1, "[pytorch|profiler|execution_graph|thread]", [], []),
         node(4, 3, "aten::t", [tensor(50)], [tensor(51)]),
         node(5, 3, "aten::addmm", [tensor(40, 8), tensor(51), 1, "<None>"], [tensor(52, 16)]),
         node(3, 1, "aten::linear", [tensor(40, 8), tensor(50)], [tensor(52, 16)]),
         node(6, 1, "aten::relu", [tensor(52, 16)], [tensor(53, 16)]),
         node(7, 1, "aten::cat", [[tensor(53, 16), tensor(52, 16)], 0], [tensor(54, 32)]),
         node(9, 1, "ReluBackward0", [tensor(54, 32)], [tensor(55)], scope=1, fw_parent=6, tid=2)]
SMALL_EDGES = {("aten::t", "aten::addmm", 1, 16, "data"), ("aten::linear", "aten::relu", 0, 64, "data"),
               ("aten::relu", "aten::cat", 0, 64, "data"), ("aten::linear", "aten::cat", 0, 64, "data"),
               ("aten::cat", "ReluBackward0", 0, 128, "data"), ("aten::relu", "ReluBackward0", None, 0, "sequence")}


def as_1_1(one: dict) -> dict:
    """The same node as later releases write it."""
    moved = ("rf_id", "fw_parent", "seq_id", "scope", "tid", "op_schema")
    rest = {key: value for key, value in one.items() if key not in (*moved, "parent", "inputs", "outputs")}
    return {**rest, "ctrl_deps": one["parent"],
            "inputs": {"values": one["inputs"], "shapes": [], "types": [], "strides": []},
            "outputs": {"values": one["outputs"], "shapes": [], "types": []},
            "attrs": [{"name": key, "type": "uint64", "value": one[key]} for key in moved]}


def imported(folder: Path, path: Path) -> dict:
    result = run_sonde("import", path, "-o", folder / "et.sdb")
    assert (result.status, result.err) == (0, ""), result.err
    model, = json.loads(run_sonde("graph", folder / "et.sdb", "--format", "json").out)["models"]
    return model


def edges_of(model: dict, key: str) -> Counter:
    rows = {row["node"]: row for row in model["rows"]}
    return Counter((rows[edge["from"]][key], rows[edge["to"]][key], edge["index"], edge["bytes"], edge["kind"])
                   for edge in model["edges"])


@pytest.mark.parametrize("schema", ["1.0.1", "1.1.0"])
def test_execution_trace_known(tmp_path, schema):
    nodes = SMALL if schema == "1.0.1" else [as_1_1(one) for one in SMALL]
    path = tmp_path / "et.json"
    path.write_text(json.dumps({"schema": schema, "pid": 77, "time": "now", "nodes": nodes, "finish_ts": 1}))
    model = imported(tmp_path, path)
    assert (model["source"], model["edges_by"], model["pid"]) == ("execution trace", "tensors", 77)
    assert set(edges_of(model, "name")) == SMALL_EDGES and len(model["edges"]) == len(SMALL_EDGES)
    rows = {row["name"]: row for row in model["rows"]}
    assert len(rows) == 6 and rows["aten::t"]["parent"] == rows["aten::linear"]["node"]
    assert rows["ReluBackward0"]["backward"] and rows["aten::linear"]["id"] == 3


def tensors_of(values: list, index: int | None = None) -> list[tuple[tuple, int, int]]:
    """Tensors among arguments: name, argument, bytes."""
    found = []
    for place, value in enumerate(values):
        if isinstance(value, list):
            where = place if index is None else index
            if len(value) == 6 and isinstance(value[5], str) and all(isinstance(x, int) for x in value[:5]):
                found.append((tuple(value[:3]), where, value[3] * value[4]))
            else:
                found += tensors_of(value, where)
    return found


def expected_edges(nodes: list[dict]) -> Counter:
    """By the moments at which nodes end: that of the next which they do not contain, or of another thread."""
    nodes = sorted(nodes, key=lambda one: one["id"])
    by_id = {one["id"]: one for one in nodes}
    operators = [one for one in nodes if not one["name"].startswith("[pytorch|")]

    def contains(outer: dict, inner: dict) -> bool:
        while inner["id"] != outer["id"]:
            parent = by_id.get(inner["parent"])
            if parent is None or parent["id"] >= inner["id"]:
                return False
            inner = parent
        return True

    ends = {}
    for one in operators:
        later = (other["id"] for other in operators if other["id"] > one["id"]
                 and (other["tid"] != one["tid"] or not contains(one, other)))
        ends[one["id"]] = next(later, float("inf"))
    makers: dict[tuple, list[tuple[float, int]]] = {}
    for one in operators:
        for name, _, _ in tensors_of(one["outputs"]):
            makers.setdefault(name, []).append((ends[one["id"]], one["id"]))
    found: Counter = Counter()
    for one in operators:
        caller = by_id.get(one["parent"], {"inputs": []})
        handed = {name for name, _, _ in tensors_of(caller["inputs"])}
        for name, index, size in tensors_of(one["inputs"]):
            done = [(end, -number) for end, number in makers.get(name, []) if end <= one["id"]]
            # of what ended at the same moment the outermost, which began first
            if done and name not in handed:
                found[-max(done)[1], one["id"], index, size, "data"] = 1
        if one["fw_parent"] in by_id and by_id[one["fw_parent"]] in operators:
            found[one["fw_parent"], one["id"], None, 0, "sequence"] = 1
    return found


@needs("kineto/param_linear_et.json.gz")
def test_execution_trace_real(tmp_path):
    with gzip.open(DATA) as file:
        nodes = json.load(file)["nodes"]
    model = imported(tmp_path, DATA)
    operators = [one for one in nodes if not one["name"].startswith("[pytorch|")]
    assert Counter(row["name"] for row in model["rows"]) == Counter(one["name"] for one in operators)
    rows = {row["node"]: row for row in model["rows"]}
    known = {one["id"] for one in operators}
    assert {row["id"]: rows[row["parent"]]["id"] for row in rows.values() if row["parent"] is not None} == \
        {one["id"]: one["parent"] for one in operators if one["parent"] in known}
    assert edges_of(model, "id") == expected_edges(nodes)


@pytest.mark.parametrize("text", ['{"schema": "1", "nodes": [{"id": 1, "name": "a"', '{"schema": "1", "nodes": [{]}',
                                  '{"schema": "1", "nodes": [}'])
def test_execution_trace_damaged(tmp_path, text):
    (tmp_path / "et.json").write_text(text)
    result = run_sonde("import", tmp_path / "et.json", "-o", tmp_path / "x.sdb")
    assert result.status == 128 and len(result.err_lines) == 1 and not (tmp_path / "x.sdb").exists()


def test_execution_trace_hostile(tmp_path):
    """Numbers that refer to nothing, to themselves or in circles; tensors in tensors; no fields."""
    deep: list = tensor(1)
    for _ in range(40):
        deep = [deep]
    nodes = [node(5, 5, "a", [tensor(1)], [tensor(1)]), node(6, 7, "b", deep, [tensor(1)], fw_parent=6),
             node(7, 6, "c", [tensor(1)], [[]], fw_parent=99), node(7, 6, "c", [tensor(1)], []), {}, {"id": 2**63 - 1}]
    (tmp_path / "et.json").write_text(json.dumps({"schema": "1", "nodes": nodes}))
    model = imported(tmp_path, tmp_path / "et.json")
    assert {"a", "b", "c"} <= {row["name"] for row in model["rows"]}


def test_names_that_a_terminal_would_obey(tmp_path):
    path = tmp_path / "et.json"
    path.write_text(json.dumps({"schema": "1.0.1", "pid": 1, "time": "", "start_ts": 0,
                                "nodes": [*SMALL[:-1], node(9, 1, "red\x1b[31m\n\x9b2Jé", [], [])]}))
    assert run_sonde("import", path, "-o", tmp_path / "et.sdb").status == 0
    text = run_sonde("graph", tmp_path / "et.sdb", "--top", 0).out
    assert "red?[31m ?2Jé" in text and all(line.isprintable() for line in text.splitlines())
