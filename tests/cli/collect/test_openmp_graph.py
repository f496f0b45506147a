# SPDX-License-Identifier: Apache-2.0
"""OpenMP tasks as a graph: nodes and edges of depend clauses that are known."""
from __future__ import annotations

import json
import subprocess

import pytest

import program
from test_openmp import CLANG, has_omp

SOURCE = program.WORKLOADS / "graph/graph_tasks.c"
TURNS = 6


def line_of(mark: str) -> int:
    return next(number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if f"/* here: {mark} */" in line)


@pytest.mark.skipif(not has_omp(), reason="no clang with libomp")
def test_tasks(tmp_path):
    binary = program.compiled("graph/graph_tasks.c", "-O1", *CLANG, compiler="clang")
    plain = subprocess.run([binary], capture_output=True, text=True, check=True).stdout
    assert program.run(tmp_path, binary, options=("--graph",)).stdout == plain
    model, = json.loads(program.sonde("graph", tmp_path / "run.sdb", "--format", "json"))["models"]
    assert (model["name"], model["edges_by"], model["iterations_by"]) == \
        ("OpenMP tasks", "depend clauses", "parallel regions")
    assert model["iteration_ns"]["count"] == TURNS
    marks = {line_of(mark): mark for mark in ("make", "use", "change", "overwrite", "join")}
    rows = {row["node"]: marks[row["line"]] for row in model["rows"]}
    assert sorted(rows.values()) == sorted(marks.values())
    assert all(row["time_ns"]["count"] == TURNS and row["type"] == "task" for row in model["rows"])
    assert all(row["file"].endswith("graph/graph_tasks.c") for row in model["rows"])
    edges = {(rows[e["from"]], rows[e["to"]], e["index"], e["kind"]): e["count"] for e in model["edges"]}
    # the runtime does not tell out from inout, so that "overwrite" counts as a reader as well
    assert edges == dict.fromkeys([
        ("make", "overwrite", 0, "data"),
        ("make", "use", 0, "data"), ("make", "change", 0, "data"), ("use", "overwrite", 0, "control"),
        ("change", "overwrite", 0, "control"), ("use", "join", 0, "data"), ("change", "join", 1, "data")], TURNS)


@pytest.mark.skipif(not has_omp(), reason="no clang with libomp")
def test_without_asking_there_is_none(tmp_path):
    program.run(tmp_path, program.compiled("graph/graph_tasks.c", "-O1", *CLANG, compiler="clang"))
    done = subprocess.run([program.SONDE, "graph", tmp_path / "run.sdb"], capture_output=True, text=True)
    assert done.returncode == 128 and "no graph" in done.stderr
