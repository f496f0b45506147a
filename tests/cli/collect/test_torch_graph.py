# SPDX-License-Identifier: Apache-2.0
"""Graphs captured from PyTorch: nodes, edges, modules, iterations and counts of a model that is known."""
from __future__ import annotations

import json
import math
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import program
from conftest import ROOT
from test_torch import python  # noqa: F401  (a fixture: every PyTorch that is found)

WORKLOAD = program.WORKLOADS / "graph/graph_torch.py"
FORWARD = [("aten::linear", "Net.layer1.parts.0"), ("aten::relu", "Net.layer1.act"),
           ("aten::linear", "Net.layer1.parts.1"), ("aten::relu", "Net.layer1.act"),
           ("aten::linear", "Net.head.0"), ("aten::tanh", "Net.head.1"), ("aten::sum", None)]
# of each, the backward nodes of its operators
BACKWARD = [["AddmmBackward0", "TBackward0"], ["ReluBackward0"], ["AddmmBackward0", "TBackward0"], ["ReluBackward0"],
            ["AddmmBackward0", "TBackward0"], ["TanhBackward0"], ["SumBackward0"]]
COUNT = 12
PATH = {"PYTHONPATH": str(ROOT / "python")}


def line_of(mark: str) -> int:
    return next(number for number, line in enumerate(WORKLOAD.read_text().splitlines(), 1)
                if line.endswith(f"# here: {mark}"))


def models(folder: Path) -> list[dict]:
    return json.loads(program.sonde("graph", folder / "run.sdb", "--format", "json"))["models"]


class Graph:
    def __init__(self, model: dict) -> None:
        self.model = model
        self.rows = sorted(model["rows"], key=lambda row: row["node"])
        self.forward = [row for row in self.rows if not row["backward"]]
        self.by_number = {row["node"]: row for row in self.rows}

    def edges(self, kind: str, *, to: int | None = None, source: int | None = None) -> list[dict]:
        return [edge for edge in self.model["edges"] if edge["kind"] == kind and to in (None, edge["to"])
                and source in (None, edge["from"])]


@pytest.fixture(scope="module")
def marked(python, tmp_path_factory) -> Graph:  # noqa: F811
    folder = tmp_path_factory.mktemp("marked")
    plain = subprocess.run([python, WORKLOAD, "marked", str(COUNT)], capture_output=True, text=True,
                           env={**os.environ, **PATH}, check=True).stdout
    run = program.run(folder, python, WORKLOAD, "marked", str(COUNT), options=("--graph",), environment=PATH)
    assert run.stdout == plain
    model, = models(folder)
    return Graph(model)


def test_what_is_known_of_it(marked):
    model = marked.model
    assert (model["source"], model["edges_by"], model["iterations_by"]) == \
        ("PyTorch", "tensors", "marks of the program")
    assert model["iteration_ns"]["count"] == len(model["iterations"]) == COUNT


def test_forward_nodes(marked):
    # in the order in which they first ran; then what backward begins with, and six updates
    names = [(row["name"], row["module"]) for row in marked.forward]
    assert names == [*FORWARD, ("aten::ones_like", None), *[("aten::add_", None)] * 6]
    lines = [row["line"] for row in marked.forward]
    assert lines == [line_of("part")] * 4 + [line_of("head")] * 2 + [line_of("sum"), line_of("backward")] + \
        [line_of("update")] * 6
    assert all(Path(row["file"]).name == "graph_torch.py" for row in marked.forward)


def test_counts(marked):
    assert Counter(row["time_ns"]["count"] for row in marked.rows) == {COUNT: len(marked.rows)}
    total = sum(row["time_ns"]["sum"] for row in marked.rows)
    assert 0 < total <= marked.model["iteration_ns"]["sum"]


def test_forward_edges(marked):
    chain = marked.forward[:len(FORWARD) + 1]
    for source, target in zip(chain, chain[1:]):
        edge, = marked.edges("data", to=target["node"], source=source["node"])
        assert (edge["index"], edge["count"]) == (0, COUNT)
    # of float32: what each makes, 8 rows of 16, 4, and one number
    sizes = [marked.edges("data", to=target["node"], source=source["node"])[0]["bytes"]
             for source, target in zip(chain, chain[1:])]
    assert sizes == [512, 512, 512, 512, 128, 128, 4]


def test_backward_nodes(marked):
    for number, (row, expected) in enumerate(zip(marked.forward, BACKWARD)):
        made = [marked.by_number[edge["to"]] for edge in marked.edges("sequence", source=row["node"])]
        # the first layer's input needs no gradient
        assert sorted(node["name"] for node in made) == sorted(expected), number
        assert all(node["backward"] and node["module"] == row["module"] for node in made)
        assert all(edge["count"] == COUNT for edge in marked.edges("sequence", source=row["node"]))
    leaves = [row for row in marked.rows if row["name"].endswith("AccumulateGrad")]
    assert len(leaves) == 6
    assert len(marked.rows) == len(marked.forward) + sum(map(len, BACKWARD)) + len(leaves)


def test_gradients_lead_to_updates(marked):
    backward = {row["node"] for row in marked.rows if row["backward"]}
    updates = [row["node"] for row in marked.forward if row["name"] == "aten::add_"]
    for update in updates:
        sources = {edge["from"] for edge in marked.edges("data", to=update) if edge["index"] == 1}
        assert sources and sources <= backward
    # and updated parameters to the next iteration, of which there is one fewer
    back = [(edge["to"], edge["index"], edge["count"]) for update in updates
            for edge in marked.edges("data", source=update) if edge["to"] < update and edge["to"] not in backward]
    layers = [row["node"] for row in marked.forward if row["name"] == "aten::linear"]
    assert sorted(back) == sorted((layer, index, COUNT - 1) for layer in layers for index in (1, 2))


def test_nothing_leads_where_no_tensor_went(marked):
    """The inputs of forward nodes are known exactly: the operator before, and the parameters."""
    updates = {row["node"] for row in marked.forward if row["name"] == "aten::add_"}
    for number, row in enumerate(marked.forward[:len(FORWARD)]):
        sources = {edge["from"] for edge in marked.edges("data", to=row["node"])} - updates
        assert sources == ({marked.forward[number - 1]["node"]} if number else set())


@pytest.mark.parametrize("option,within,between", [("--graph", 32 + 3 * 2, 31 + 3), ("--graph=all", 200, 199)])
def test_edges_of_some_iterations(python, marked, option, within, between, tmp_path):  # noqa: F811
    """Every node of every iteration is counted; edges of the first 32, then of two of each 64 unless all are asked for."""
    count = 200
    program.run(tmp_path, python, WORKLOAD, "marked", str(count), options=(option,), environment=PATH)
    model, = models(tmp_path)
    graph = Graph(model)
    assert model["edges_sampled"] == (option == "--graph") and not model["sampled"]
    assert not marked.model["edges_sampled"]
    assert {row["time_ns"]["count"] for row in graph.rows} == {count}

    def counted(graph: Graph) -> dict[tuple, int]:
        """Of data; memory that another library has freed makes a false edge now and then, in one iteration."""
        return {(edge["from"], edge["to"], edge["index"]): edge["count"] for edge in graph.edges("data") if edge["count"] > 5}

    # an edge of one iteration, or from one to the next, of which there is one fewer in each row of them
    before = counted(marked)
    expected = {ends: within * known // COUNT if known % COUNT == 0 else between * known // (COUNT - 1) for ends, known in before.items()}
    most = {ends: within * -(-known // COUNT) for ends, known in before.items()}
    found = counted(graph)
    # two tensors may share a place in the table of who wrote what, and then one is not known: here, or in the run that is compared
    assert len(set(expected.values())) > 1 and found.keys() == expected.keys()
    assert all(0.8 * count <= found[ends] <= most[ends] for ends, count in expected.items()), (found, expected)
    assert {edge["count"] for edge in graph.edges("sequence")} == {count}
    text = program.sonde("graph", tmp_path / "run.sdb")
    assert ("known by tensors in some iterations" in text) == (option == "--graph")


def test_tensors_that_are_views_changed_or_in_lists(python, tmp_path):  # noqa: F811
    count = 6
    program.run(tmp_path, python, WORKLOAD, "tensors", str(count), options=("--graph=all",), environment=PATH)
    model, = models(tmp_path)
    names = {row["node"]: row["name"].removeprefix("aten::") for row in model["rows"]}
    edges = Counter()
    for edge in model["edges"]:
        edges[names[edge["from"]], names[edge["to"]], edge["index"]] += edge["count"]
    # `changed` and the two in the list are read by what changed them in the iteration before, which is no edge
    assert edges == {
        # by the view it is known that it is one, and by the memory who wrote it
        ("sin", "view", 0): count, ("view", "cos", 0): count, ("sin", "exp", 0): count, ("sin", "neg", 0): count,
        # of what add_ reads it changes the first
        ("sin", "add_", 1): count, ("add_", "abs", 0): count, ("sin", "ceil", 0): count, ("add_", "sign", 0): count,
        ("view", "cat", 0): count, ("cos", "cat", 0): count, ("cat", "sum", 0): count,
        ("_foreach_mul_", "floor", 0): count, ("_foreach_mul_", "round", 0): count,
        ("sin", "relu", 0): count, ("relu", "relu", 0): count // 2}
    # the same operator in two modules, of which one is called every other time
    assert {row["module"]: row["time_ns"]["count"] for row in model["rows"] if row["name"] == "aten::relu"} == \
        {"Sometimes.first": count // 2, "Sometimes.second": count}


@pytest.mark.parametrize("case,per_iteration", [("found", 14), ("recurrent", 84)])
def test_iterations_are_found(python, tmp_path, case, per_iteration):  # noqa: F811
    """From the sequence of operators: the first turns, by which it is learned, are not among them."""
    count = 250
    program.run(tmp_path, python, WORKLOAD, case, str(count), options=("--graph",))
    model, = models(tmp_path)
    graph = Graph(model)
    assert model["iterations_by"] == "repetition"
    iterations = model["iteration_ns"]["count"]
    assert count // 2 < iterations < count
    # the loop's first operator begins it, and the last turn is not known to have ended
    first = graph.forward[0]
    assert first["name"] == "aten::linear" and first["time_ns"]["count"] == iterations + 1
    steady = [row for row in graph.forward if row["time_ns"]["count"] == iterations + 1]
    assert len(steady) == per_iteration


def test_scripted_operators(python, tmp_path):  # noqa: F811
    """Their inputs and outputs are the last on the interpreter's stack, which is announced whole."""
    run = program.run(tmp_path, python, WORKLOAD, "scripted", "40", options=("--graph=all",), environment=PATH)
    assert float(run.stdout) == pytest.approx(8 / (1 + math.exp(-1)), 1e-4)
    model, = models(tmp_path)
    graph = Graph(model)
    begin = {"aten::sin", "aten::detach", "aten::add"}  # what TorchScript detaches is the chain's begin
    expected = {"aten::tanh": begin, "aten::mul": begin, "aten::add": {"aten::tanh", "aten::mul"},
                "aten::sigmoid": {"aten::add"}}
    steps = [row for row in graph.forward if row["name"] in expected]
    assert len(steps) == 5 * 3 + 1
    for row in steps:
        sources = {graph.by_number[edge["from"]]["name"] for edge in graph.edges("data", to=row["node"])}
        assert sources and sources <= expected[row["name"]], (row["name"], sources)
        assert row["name"] != "aten::add" or len(sources) == 2


def test_without_asking_there_is_none(python, tmp_path):  # noqa: F811
    program.run(tmp_path, python, WORKLOAD, "found", "3")
    done = subprocess.run([program.SONDE, "graph", tmp_path / "run.sdb"], capture_output=True, text=True)
    assert done.returncode == 128 and "no graph: 'sonde run --graph' captures" in done.stderr


def test_without_iterations_there_is_none(python, tmp_path):  # noqa: F811
    """And that is the reason that is given, where a graph was asked for."""
    program.run(tmp_path, python, WORKLOAD, "found", "1", options=("--graph",))
    done = subprocess.run([program.SONDE, "graph", tmp_path / "run.sdb"], capture_output=True, text=True)
    assert done.returncode == 128 and "did not repeat as iterations do" in done.stderr


def test_every_way_to_use_autograd(python, tmp_path):  # noqa: F811
    """Hooks, checkpoints, double backward, exceptions, threads: the program does what it does without."""
    from test_torch import WORKLOAD as known
    cases = ["checkpointed", "custom", "double", "hooks", "threads", "other_thread", "failing"]
    plain = subprocess.run([python, known, *cases], capture_output=True, text=True, check=True).stdout
    run = program.run(tmp_path, python, known, *cases, options=("--graph",))
    assert run.stdout == plain
