# SPDX-License-Identifier: Apache-2.0
"""
JAX and TensorFlow programs: measured, with their graphs, and the profiles that they write themselves. Each Python of
SONDE_XLA_PYTHONS (executables separated by colons) is asked what it has.
"""
from __future__ import annotations

import functools
import json
import os
import subprocess
from pathlib import Path

import pytest

import program
from conftest import run_sonde
from test_import_xplane import check_against_reader

PYTHONS = [python for python in os.environ.get("SONDE_XLA_PYTHONS", "").split(":") if python]
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
STEPS = 12


@functools.cache
def has(python: str, name: str) -> bool:
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is None)"
    return subprocess.run([python, "-c", code]).returncode == 0


def pythons(name: str) -> list:
    found = [python for python in PYTHONS if has(python, name)]
    return found or [pytest.param("", marks=pytest.mark.skip(reason=f"SONDE_XLA_PYTHONS names no Python with {name}"))]


def line_of(script: str, text: str) -> int:
    lines = (program.WORKLOADS / script).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def graphs(path: Path) -> dict:
    result = run_sonde("graph", path, "--format", "json", "--iterations", "--top", 0)
    assert result.status == 0, result.err
    return {model["name"]: model for model in json.loads(result.out)["models"]}


def alone(python: str, script: str) -> str:
    return subprocess.run([python, program.WORKLOADS / script], capture_output=True, text=True, check=True,
                          env={**os.environ, **QUIET}, timeout=300).stdout


def measured(folder: Path, python: str, script: str, *options: str, arguments=(), environment=None) -> Path:
    done = program.run(folder, python, program.WORKLOADS / script, *arguments, options=options,
                       environment={**QUIET, **(environment or {})}, timeout=300)
    assert done.stdout == alone(python, script)
    return folder / "run.sdb"


@pytest.mark.parametrize("python", pythons("jax"))
def test_jax_program_at_a_high_rate(tmp_path, python):
    """oneDNN's generated code has its stack pointer in the heap: every signal was a risk."""
    path = measured(tmp_path, python, "tensorflow/jax_known.py", "-F", "1000")
    rows = json.loads(run_sonde("report", path, "--format", "json").out)["rows"]
    assert any(row["kind"] == "python" and str(row["file"]).endswith("tensorflow/jax_known.py") for row in rows)


@pytest.mark.parametrize("python", pythons("jax"))
def test_jax_graph(tmp_path, python):
    models = graphs(measured(tmp_path, python, "tensorflow/jax_known.py", "--graph"))
    model = models["jit_known_step"]
    assert len(model["iterations"]) == STEPS == model["iteration_ns"]["count"]
    nodes = {row["node"]: row for row in model["rows"]}
    ran = [row for row in model["rows"] if "time_ns" in row]
    assert {row["time_ns"]["count"] for row in ran} == {STEPS} and {row["device"] for row in ran} == {"CPU"}
    lines = {row["line"] for row in model["rows"] if row["type"] in ("dot", "sine", "cosine")}
    assert lines == {line_of("tensorflow/jax_known.py", text) for text in ("# one fusion", "# the product", "return jnp.dot")}
    sine, = (row for row in model["rows"] if row["type"] == "sine")
    fusion = nodes[sine["parent"]]
    assert fusion["type"] == "fusion" and fusion in ran and sine["module"].endswith("/sin")
    assert {row["type"] for row in model["rows"] if row["parent"] == fusion["node"]} >= {"sine", "cosine", "multiply", "add"}
    # x, w -> product -> fusion -> product, w
    inputs = {edge["to"]: set() for edge in model["edges"]}
    for edge in model["edges"]:
        inputs[edge["to"]].add(edge["from"])
    assert sum(fusion["node"] in inputs.get(row["node"], ()) for row in ran) == 1
    before = models["jit_known_step before XLA's passes"]
    assert [row["type"] for row in before["rows"]].count("dot") == 2 and "fusion" not in {r["type"] for r in before["rows"]}
    assert not list(tmp_path.glob("run.sonde/xla-hook"))


@pytest.mark.parametrize("python", pythons("jax"))
def test_jax_program_that_profiles_itself(tmp_path, python):
    """Its own profiler gets the place of ours, and what it writes is imported without loss."""
    path = measured(tmp_path, python, "tensorflow/jax_known.py", "--graph", arguments=[tmp_path / "own"],
                    environment={"XLA_FLAGS": f"--xla_dump_to={tmp_path}/dump --xla_dump_hlo_as_text"})
    assert list(tmp_path.glob("dump/*jit_known_step*.txt"))  # flags of the user stay
    assert path.exists()
    file, = (tmp_path / "own").rglob("*.xplane.pb")
    database = tmp_path / "own.sdb"
    assert run_sonde("import", tmp_path / "own", "-o", database).status == 0
    check_against_reader(run_sonde, database, file)
    assert len(graphs(database)["jit_known_step"]["iterations"]) == STEPS


@pytest.mark.parametrize("python", pythons("jax"))
def test_analyzed_again_and_run_again(tmp_path, python):
    path = measured(tmp_path, python, "tensorflow/jax_known.py", "--graph")
    assert run_sonde("analyze", tmp_path / "run.sonde", "-o", tmp_path / "again.sdb").status == 0
    assert graphs(tmp_path / "again.sdb") == graphs(path)
    program.run(tmp_path, "true")
    assert not list(tmp_path.glob("run.sonde/xla-*"))


def test_other_programs_are_as_without(tmp_path):
    """A sitecustomize of the user's own still runs, and a Python without either framework has no graph."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own/sitecustomize.py").write_text("import sys\nsys.from_own = 7\n")
    code = "import os, sys; print(sys.from_own, sys.modules['sitecustomize'].__file__, os.environ.get('XLA_FLAGS'))"
    done = program.run(tmp_path, "python3", "-c", code, options=("--graph",), environment={"PYTHONPATH": str(tmp_path / "own")})
    assert done.stdout == f"7 {tmp_path}/own/sitecustomize.py {os.environ.get('XLA_FLAGS')}\n" and done.stderr == ""
    assert run_sonde("graph", tmp_path / "run.sdb").status == 128


def test_an_import_is_of_the_line_that_imports(tmp_path):
    """Not of the hook that notices it: that is no code of the user's."""
    package = tmp_path / "site-packages/jax"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import time\nwhile time.process_time() < 0.5:\n    pass\n")
    (tmp_path / "program.py").write_text("import jax\n")
    program.run(tmp_path, "python3", tmp_path / "program.py", options=("--graph",),
                environment={"PYTHONPATH": str(package.parent)})
    text = program.sonde("report", "--source", tmp_path, tmp_path / "run.sdb")
    assert "program.py:1 <module>  import jax" in text and "sitecustomize" not in text.split("call paths")[0], text


@pytest.mark.parametrize("python", pythons("tensorflow"))
def test_tensorflow_graph(tmp_path, python):
    model = graphs(measured(tmp_path, python, "tensorflow/tensorflow_known.py", "--graph"))["known_step"]
    rows = {row["name"]: row for row in model["rows"]}
    nodes = {row["node"]: row["name"] for row in model["rows"]}
    edges = {(nodes[edge["from"]], nodes[edge["to"]]) for edge in model["edges"]}
    assert {("x", "first"), ("w", "first"), ("first", "between"), ("between", "second"), ("w", "second")} <= edges
    for name, kind in (("first", "MatMul"), ("between", "Sinh"), ("second", "MatMul")):
        assert rows[name]["type"] == kind and rows[name]["time_ns"]["count"] == STEPS
        assert rows[name]["device"] == "CPU" and rows[name]["line"] == line_of("tensorflow/tensorflow_known.py", f'name="{name}"')
    assert len(model["iterations"]) == STEPS


@pytest.mark.parametrize("oneDNN", ["1", "0"])
@pytest.mark.parametrize("python", pythons("tensorflow"))
def test_tensorflow_nodes_that_wait_and_allocate(tmp_path, python, oneDNN):
    """oneDNN's allocator and TensorFlow's own tell of memory differently."""
    models = graphs(measured(tmp_path, python, "tensorflow/tensorflow_executor.py", "--graph",
                             environment={"TF_ENABLE_ONEDNN_OPTS": oneDNN}))
    rows = {row["name"]: row for row in models["two_products"]["rows"]}
    assert len(models["two_products"]["iterations"]) == len(models["other"]["iterations"]) == STEPS
    # one of the products was handed to the pool, whose only thread ran the other first
    left, right = rows["left"], rows["right"]
    before = {"left": right, "right": left}
    waited = max((left, right, rows["before"]), key=lambda row: row.get("queue_ns", {"sum": 0})["sum"])
    assert waited["queue_ns"]["count"] == STEPS
    assert waited["queue_ns"]["sum"] >= 0.8 * before.get(waited["name"], left)["time_ns"]["sum"]
    assert all(row["queue_ns"]["count"] <= STEPS for row in rows.values() if "queue_ns" in row)
    big = rows["big/RandomUniform"]
    assert big["requested_bytes"]["min"] == big["requested_bytes"]["max"] == 4_000_000
    assert big["memory_bytes"]["count"] == STEPS and big["memory_bytes"]["min"] >= 4_000_000
    assert big["device"] == "CPU:0" and left["device"] == "CPU"
    assert left["requested_bytes"]["min"] >= 400 * 400 * 4 and "latency_ns" not in left
    assert rows["right"]["latency_ns"]["count"] == STEPS
    # two functions have an operation of this name
    assert rows["sum"]["type"] == "AddV2" and rows["sum"]["time_ns"]["count"] == STEPS
    other, = (row for row in models["other"]["rows"] if row["name"] == "sum")
    assert other["type"] == "Cosh" and other["time_ns"]["count"] == STEPS


@pytest.mark.parametrize("python", pythons("tensorflow"))
def test_tensorflow_program_that_profiles_itself(tmp_path, python):
    measured(tmp_path, python, "tensorflow/tensorflow_known.py", "--graph", arguments=[tmp_path / "own"])
    file, = (tmp_path / "own").rglob("*.xplane.pb")
    database = tmp_path / "own.sdb"
    assert run_sonde("import", tmp_path / "own", "-o", database).status == 0
    check_against_reader(run_sonde, database, file)
    rows = {row["name"]: row for row in graphs(database)["TensorFlow"]["rows"]}
    assert {rows[name]["time_ns"]["count"] for name in ("first", "between", "second")} == {STEPS}
