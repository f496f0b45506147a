# SPDX-License-Identifier: Apache-2.0
"""What TensorFlow executes eagerly, operations and whole functions, as operators: on a library with its C interface, and on the real
one, where SONDE_XLA_PYTHONS names a Python that has it."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import program
from test_trace_record import intervals
from test_xla import QUIET, pythons

SOURCE = program.WORKLOADS / "tensorflow/eager_made.c"
WORKLOAD = program.WORKLOADS / "tensorflow/tensorflow_eager.py"
ROUNDS = 10


@pytest.fixture(scope="module")
def command(tmp_path_factory) -> list[str | Path]:
    folder = tmp_path_factory.mktemp("tensorflow")
    whole, binding = folder / "libtensorflow_cc.so.2", folder / "_pywrap_made.so"
    build = ["cc", "-g", "-O1", "-Wall", "-Werror", "-D_GNU_SOURCE"]
    subprocess.run([*build, "-shared", "-fPIC", SOURCE, "-o", whole], check=True)
    subprocess.run([*build, "-shared", "-fPIC", "-DBINDING", SOURCE, whole, f"-Wl,-rpath,{folder}", "-o", binding], check=True)
    subprocess.run([*build, "-DMAIN", SOURCE, "-o", folder / "main", "-ldl"], check=True)
    return [folder / "main", binding, str(ROUNDS)]


def operators(folder: Path) -> dict[tuple[str, ...], int]:
    """Samples by their operators, outermost first."""
    found: dict[tuple[str, ...], int] = {}
    for frames, value in program.paths(folder):
        names = tuple(frame["name"] for frame in frames if frame["kind"] == "operator")
        found[names] = found.get(names, 0) + value["count"]
    return found


def status(folder: Path) -> str:
    return program.info(folder)["properties"]["adapter.tensorflow"]


@pytest.mark.parametrize("options", [(), ("--call-path", "python,operator")])
def test_what_is_executed_is_an_operator(tmp_path, command, options):
    plain = subprocess.run(command, capture_output=True, text=True, check=True)
    done = program.run(tmp_path, *command, options=("-F", "997", *options))
    assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr)
    found = operators(tmp_path)
    of = {names[0]: 0 for names in found if names}
    for names, count in found.items():
        if names:
            of[names[0]] += count
    assert set(of) == {"MatMul", "__inference_train_step_42"}
    total = sum(of.values())
    assert abs(of["MatMul"] / total - 0.7) < program.bound(0.7, total) + 0.02, of
    assert sum(count for names, count in found.items() if not names) < 0.05 * total
    # what a function executes itself is below it
    assert found["__inference_train_step_42", "EagerPyFunc"] > 0
    assert status(tmp_path) == "operations and functions as operators"


def test_each_execution_is_an_event(tmp_path, command):
    program.run(tmp_path, *command, options=("--trace=operators",))
    found = intervals(tmp_path)
    assert {name: found[name] for name in ("MatMul", "__inference_train_step_42", "EagerPyFunc")} == {
        "MatMul": ROUNDS, "__inference_train_step_42": ROUNDS, "EagerPyFunc": ROUNDS}


def test_operators_off(tmp_path, command):
    program.run(tmp_path, *command, options=("--operators", "off"))
    assert not [frame for frame in program.rows(tmp_path) if frame["kind"] == "operator"]
    assert "operators" not in status(tmp_path)


def line_of(mark: str) -> int:
    return next(number for number, line in enumerate(WORKLOAD.read_text().splitlines(), 1) if line.endswith(f"# {mark}"))


@pytest.mark.parametrize("python", pythons("tensorflow"))
def test_operations_functions_and_compiled_ones(tmp_path, python):
    """Each below the line that executes it."""
    plain = subprocess.run([python, WORKLOAD], capture_output=True, text=True, check=True, env={**os.environ, **QUIET}, timeout=300)
    done = program.run(tmp_path, python, WORKLOAD, options=("-F", "497"), environment=QUIET, timeout=300)
    assert done.stdout == plain.stdout
    for mark, name in (("an operation", "MatMul"), ("a function", "__inference_plain_"), ("a compiled function", "__inference_compiled_")):
        found = [(frames, value["count"]) for frames, value in program.paths(tmp_path)
                 if any(frame["kind"] == "operator" and frame["name"].startswith(name) for frame in frames)]
        assert sum(count for _, count in found) > 0, mark
        for frames, _ in found:
            lines = [frame["line"] for frame in frames if frame["kind"] == "python" and frame["file"] == str(WORKLOAD)]
            assert line_of(mark) in lines
    assert "operations and functions as operators; nothing was sent by gRPC" in status(tmp_path)
