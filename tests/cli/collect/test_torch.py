# SPDX-License-Identifier: Apache-2.0
"""PyTorch: operators under the lines that made them, forward and backward, and their exact counts.

Runs with every PyTorch that is found: this Python's, and those of the interpreters in
SONDE_TORCH_PYTHONS (a list separated by colons).
"""
from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest

import measured
import program

WORKLOAD = measured.ROOT / "tests/workloads/torch/torch_known.py"
BACKWARD = 8
PYTHONS = [sys.executable, *filter(None, os.environ.get("SONDE_TORCH_PYTHONS", "").split(":"))]
# torch.profiler sees only the thread that started it
COUNTED = ["plain", "training", "convolution", "checkpointed", "custom", "double", "hooks",
           "without_gradients", "retained"]
EXACT = [*COUNTED, "threads", "other_thread", "failing", "places"]


@lru_cache
def version(python: str) -> str | None:
    done = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], capture_output=True,
                          text=True)
    return done.stdout.strip() if done.returncode == 0 else None


@pytest.fixture(params=PYTHONS, scope="session")
def python(request) -> str:
    if not version(request.param):
        pytest.skip(f"{request.param} has no PyTorch")
    return request.param


def line_of(mark: str) -> int:
    for number, line in enumerate(WORKLOAD.read_text().splitlines(), 1):
        if line.endswith(f"# here: {mark}"):
            return number
    raise KeyError(mark)


RESULTS: dict[tuple, tuple] = {}


def run(python: str, tmp_path: Path, *cases: str, **settings: str):
    """Measures some cases, once for each setting."""
    key = (python, *cases, *sorted(settings.items()))
    if key not in RESULTS:
        RESULTS[key] = measured.run(tmp_path / "measured", python, WORKLOAD, *cases, **settings)
    done, measurement = RESULTS[key]
    assert done.returncode == 0, done.stderr
    assert "backward operators under their forward" in measurement.properties["adapter.torch"]
    return done, measurement


def exact(python: str, tmp_path: Path, case: str, operators: str = "exact", **settings: str) -> Counter:
    """How often each operator ran in `case`, by its path, from one run of all cases."""
    settings = {"SONDE_CALL_PATH": "python,operator", **settings}
    (tmp_path / operators).mkdir(exist_ok=True)
    _, measurement = run(python, tmp_path / operators, *EXACT, SONDE_OPERATORS=operators, **settings)
    assert "context-mismatch" not in measurement.drops
    assert "forward-unknown" not in measurement.drops
    heads = (f"{case}:", "part:") if case == "threads" else (f"{case}:",)
    return Counter({path: count for path, count in paths(measurement, "operator-time").items()
                    if path and path[0].startswith(heads)})


@lru_cache
def profiled(python: str) -> dict[str, dict[str, int]]:
    done = subprocess.run([python, WORKLOAD, "--count", *COUNTED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def steps(context: measured.Context) -> list[str]:
    """A path from the measured function on: `function:line` of the workload, operators by name, backward
    ones with a tilde."""
    found = []
    for frame in context.path:
        if frame.kind == "python" and frame.file == str(WORKLOAD):
            found.append(f"{frame.name.rpartition('.')[2]}:{frame.line}")
        elif frame.kind == "operator":
            found.append(("~" if frame.flags & BACKWARD else "") + frame.name)
    start = next((i for i, step in enumerate(found) if step.startswith("measured:")), None)
    return found[start + 1:] if start is not None else found


def paths(measurement: measured.Measurement, metric: str) -> Counter:
    counted: Counter = Counter()
    for context in measurement.contexts:
        if metric in context.values:
            counted[tuple(steps(context))] += context.values[metric].count
    return counted


def ending(counted: Counter, *tail: str) -> int:
    return sum(count for path, count in counted.items() if path[-len(tail):] == tail)


@pytest.mark.parametrize("case", COUNTED)
def test_counts_are_the_profilers(python, case, tmp_path):
    expected = {name: count for name, count in profiled(python)[case].items()
                if "#" not in name and not name.startswith("autograd::engine::evaluate_function")}
    counted: Counter = Counter()
    for path, count in exact(python, tmp_path, case).items():
        counted[path[-1].lstrip("~")] += count
    assert counted == expected


def test_backward_operators_continue_their_forward_path(python, tmp_path):
    counted = exact(python, tmp_path, "plain")
    plain, mm, tanh, mul, total = (line_of(mark) for mark in ("backward", "mm", "tanh", "mul", "sum"))
    outer = f"plain:{plain}"
    for line, forward, backward in ((mm, "aten::mm", "MmBackward0"), (tanh, "aten::tanh", "TanhBackward0"),
                                    (mul, "aten::mul", "MulBackward0"), (mul, "aten::add", "AddBackward0"),
                                    (total, "aten::sum", "SumBackward0")):
        here = [outer, f"model:{line}"] + (["aten::matmul"] if forward == "aten::mm" else [])
        assert counted[(*here, forward)] == 5
        assert counted[(*here, forward, f"~{backward}")] == 5
    assert counted[(outer, f"model:{tanh}", "aten::tanh", "~TanhBackward0", "aten::tanh_backward")] == 5
    assert counted[(outer, "~torch::autograd::AccumulateGrad")] == 5


@pytest.mark.parametrize("operators", ["exact", "nodes"])
@pytest.mark.parametrize("layers", ["python,operator", "python,operator,native"])
def test_remembered_paths_are_what_they_seem(python, operators, layers, tmp_path):
    """Every path that is not put together anew, in all cases, is put together all the same and compared."""
    counted = exact(python, tmp_path, "places", operators, SONDE_SHADOW="1", SONDE_CALL_PATH=layers)
    for mark, count in (("one line", 6), ("other line", 6), ("twice", 12)):
        assert counted[(f"places:{line_of(mark)}", "aten::abs")] == count
    # forward operators that backward ones continue are parts of paths too
    descents = [f"descend:{line_of('descends')}"]
    recursion, deepest = f"places:{line_of('recursion')}", f"descend:{line_of('deepest')}"
    for depth in range(3):
        assert counted[(recursion, *descents * depth, deepest, "aten::sin")] == 2
    assert counted[(recursion, *descents, "aten::cos")] == 4
    assert counted[(recursion, *descents * 2, "aten::cos")] == 2
    made = f"produced:{line_of('produced')}", "aten::exp"
    assert counted[(f"places:{line_of('next')}", *made)] == 6
    assert counted[(f"places:{line_of('rest')}", *made)] == 18
    one_line = f"places:{line_of('at one line')}", f"at_one_line:{line_of('calls')}"
    assert counted[(*one_line, f"first:{line_of('first function')}", "aten::neg")] == 12
    assert counted[(*one_line, f"second:{line_of('second function')}", "aten::neg")] == 6
    inside = {name: sum(count for path, count in counted.items()
                        if path[-3:] == (f"backward:{line_of('inside')}", f"{name}:{line_of(f'{name} function')}", "aten::neg"))
              for name in ("first", "second")}
    assert inside == ({"first": 3, "second": 3} if operators == "exact" else {"first": 0, "second": 0})


@pytest.mark.parametrize("case", EXACT)
def test_nodes_are_the_operators_that_the_program_calls(python, case, tmp_path):
    """As often by the same lines as when all operators are followed; autograd nodes as often too."""
    every, nodes = exact(python, tmp_path, case), exact(python, tmp_path, case, "nodes")

    def names(path: tuple[str, ...]) -> list[str]:
        return [step for step in path if step.startswith("~") or ":" not in step.replace("::", "")]

    outer = Counter({path: count for path, count in every.items() if len(names(path)) == 1})
    assert Counter({path: count for path, count in nodes.items() if len(names(path)) == 1}) == outer
    for counted in (every, nodes):
        assert all(path[-1].startswith("~") or len(names(path)) == 1 for path in nodes)
    backward = [Counter(path[-1] for path in counted.elements() if path[-1].startswith("~")) for counted in (every, nodes)]
    assert backward[0] == backward[1] and (outer or backward[0])


@pytest.mark.parametrize("graph", ["0", "1"])
def test_other_profilers_are_told_of_all_operators(python, graph, tmp_path):
    """Also of those that are kept from our own callbacks."""
    done = subprocess.run([python, WORKLOAD, "--count", *COUNTED], capture_output=True, text=True, timeout=120,
                          env=measured.environment(tmp_path / "measured", SONDE_OPERATORS="nodes", SONDE_GRAPH=graph))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == profiled(python)


def test_forward_in_threads(python, tmp_path):
    counted = exact(python, tmp_path, "threads")
    for index, (forward, backward) in enumerate((("aten::sin", "~SinBackward0"), ("aten::cos", "~CosBackward0"),
                                                 ("aten::exp", "~ExpBackward0"))):
        part = f"part:{line_of(f'thread {index}')}"
        assert ending(counted, part, forward) == 1
        assert ending(counted, part, forward, backward) == 1


def test_links_of_threads(python, tmp_path):
    """In a recording each backward operator is tied to its own forward one, whichever thread made it and whatever it made."""
    program.run(tmp_path, python, WORKLOAD, "threads", "double", options=("--trace=operators", "--operators=nodes"))
    rows = csv.DictReader(io.StringIO(program.sonde("export", "--to", "events", tmp_path / "run.sdb", "-o", "-")))
    linked: dict[str, list[str]] = {}
    for row in sorted((row for row in rows if row["link"]), key=lambda row: int(row["start_ns"])):
        linked.setdefault(row["link"], []).append(row["name"])
    found = Counter(map(tuple, linked.values()))
    for function in ("sin", "cos", "exp", "pow"):
        assert found[f"aten::{function}", f"{function.capitalize()}Backward0"] == 1, found


def test_backward_in_another_thread(python, tmp_path):
    counted = exact(python, tmp_path, "other_thread")
    assert ending(counted, f"model:{line_of('tanh')}", "aten::tanh", "~TanhBackward0") == 1


def test_checkpoint_runs_forward_inside_backward(python, tmp_path):
    counted = exact(python, tmp_path, "checkpointed")
    call, block = f"checkpointed:{line_of('checkpoint')}", f"block:{line_of('block')}"
    assert counted[(call, "CheckpointFunction", block, "aten::sigmoid")] == 1
    again = (call, "CheckpointFunction", "~CheckpointFunctionBackward", block, "aten::sigmoid")
    assert counted[again] == 1
    assert counted[(*again, "~SigmoidBackward0")] == 1


def test_custom_function(python, tmp_path):
    counted = exact(python, tmp_path, "custom")
    call = f"custom:{line_of('apply')}"
    assert counted[(call, "Square", f"forward:{line_of('square forward')}", "aten::mul")] == 1
    assert counted[(call, "Square", "~SquareBackward")] == 1
    assert ending(counted, "Square", "~SquareBackward", f"backward:{line_of('square backward')}", "aten::mul") == 2


def test_double_backward(python, tmp_path):
    counted = exact(python, tmp_path, "double")
    cube = f"double:{line_of('cube')}"
    first = (cube, "aten::pow", "~PowBackward0")
    assert counted[first] == 1
    inside = [path for path in counted if path[:3] == first and path[-1].startswith("~") and len(path) > 3]
    assert inside, "no backward operator of an operator that ran in the backward pass"


def test_hook(python, tmp_path):
    hooked = [path for path in exact(python, tmp_path, "hooks") if f"hook:{line_of('hook')}" in path and path[-1] == "aten::mul"]
    assert len(hooked) == 1
    assert hooked[0][-2:] == (f"hook:{line_of('hook')}", "aten::mul")
    # a hook runs as part of a node: the one whose gradient it changes
    assert [step for step in hooked[0] if step.startswith("~")] == ["~MmBackward0"]


def test_no_grad_has_no_backward(python, tmp_path):
    counted = exact(python, tmp_path, "without_gradients")
    assert ending(counted, f"model:{line_of('tanh')}", "aten::tanh") == 4
    assert not any(step.startswith("~") for path in counted for step in path)


def test_exceptions_close_what_they_leave(python, tmp_path):
    counted = exact(python, tmp_path, "failing")
    assert counted[(f"failing:{line_of('after failure')}", "aten::tanh")] == 1
    assert ending(counted, f"failing:{line_of('fails')}", "Fails", "~FailsBackward") == 3


def test_same_graph_several_times(python, tmp_path):
    counted = exact(python, tmp_path, "retained")
    assert ending(counted, f"model:{line_of('tanh')}", "aten::tanh", "~TanhBackward0") == 3


@pytest.mark.parametrize("sources", ["python,operator", "python,operator,native"])
def test_samples_fall_on_forward_and_backward_lines(python, sources, tmp_path):
    _, measurement = run(python, tmp_path, "heavy", SONDE_OPERATORS="sampled", SONDE_CALL_PATH=sources,
                         SONDE_EVENTS="cpu-time@997")
    counted = paths(measurement, "cpu-time")
    line = f"heavy:{line_of('heavy forward')}"
    backward = {path[-2:] for path in counted if line in path and "~TanhBackward0" in path}
    assert backward
    if sources == "python,operator":
        for path in counted:
            for forward, node in (("aten::tanh", "~TanhBackward0"), ("aten::mm", "~MmBackward0")):
                if node in path:
                    assert path[path.index(node) - 1] == forward and line in path
        assert (line, "aten::matmul", "aten::mm") in counted


def test_tensor_memory(python, tmp_path):
    _, measurement = run(python, tmp_path, "memory", "reused", "watched", SONDE_OPERATORS="sampled", SONDE_MEMORY="1")

    def at(mark: str, metric: str) -> tuple[int, int]:
        values = [context.values[metric] for context in measurement.contexts
                  if metric in context.values and any(step.endswith(f":{line_of(mark)}") for step in steps(context))]
        return sum(value.count for value in values), sum(value.sum for value in values)

    assert at("allocate", "tensor-alloc") == (10, 40_000)
    assert at("release", "tensor-free") == (10, 40_000)
    assert at("release", "tensor-alloc") == (0, 0)
    # each release has the bytes of the last allocation there
    bytes_of = sum(4 * (1000 - turn % 7 * 10) for turn in range(200))
    assert at("reused", "tensor-alloc") == at("reused", "tensor-free") == (200, bytes_of)
    assert measurement.drops.get("tensor-unknown", 0) < 10  # allocated before this was measured
    # once, though PyTorch's profiler is told of it too
    assert at("watched", "tensor-alloc") == (10, 40_000)
    assert at("watched release", "tensor-free") == (10, 40_000)


def test_tensor_memory_in_use(python, tmp_path):
    """Over time: after each allocation and release what was before, more or less its bytes."""
    program.run(tmp_path, python, WORKLOAD, "grows", options=("--trace=memory",))
    rows = csv.DictReader(io.StringIO(program.sonde("export", "--to", "events", tmp_path / "run.sdb", "-o", "-")))
    events = sorted((row for row in rows if row["kind"] == "counter"), key=lambda row: int(row["start_ns"]))
    changes = [int(row["attribute.allocated"] or 0) - int(row["attribute.released"] or 0) for row in events]
    kept = [4000 * (i + 1) for i in range(4)]
    fifth = [change for turn in range(50) for change in (4000 - 40 * turn, 40 * turn - 4000)]
    assert changes[-108:] == [*kept, *fifth, *(-bytes_of for bytes_of in reversed(kept))]
    in_use = [int(row["attribute.value"]) for row in events]
    before = in_use[-108] - kept[0]
    assert in_use[-108:] == [before + sum(changes[-108:][:i + 1]) for i in range(108)]
    assert before == in_use[-1]


def test_the_oldest_nodes_of_a_long_graph_are_counted_as_unknown(python, tmp_path):
    _, measurement = run(python, tmp_path, "chain", SONDE_CALL_PATH="python,operator")
    assert measurement.drops["forward-unknown"] == 66_001 - 65_536


@pytest.mark.parametrize("operators", ["sampled", "nodes", "exact", "off"])
def test_output_is_unchanged(python, operators, tmp_path):
    cases = ("training", "threads", "failing", "random_state")
    alone = subprocess.run([python, WORKLOAD, *cases], capture_output=True, text=True)
    done, _ = measured.run(tmp_path / "measured", python, WORKLOAD, *cases, SONDE_OPERATORS=operators,
                           SONDE_MEMORY="1")
    assert (done.returncode, done.stdout, done.stderr) == (alone.returncode, alone.stdout, alone.stderr)


FAKE = r"""
unsigned long fake(void) __asm__("_ZN2at15sequence_number17get_and_incrementEv");
unsigned long fake(void) { static unsigned long next; return next++; }
unsigned long call(void);
unsigned long call(void) { fake(); return fake(); }
"""

LOADER = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	unsigned long (*call)(void) = (unsigned long (*)(void))dlsym(library, "call");
	printf("%lu %lu\n", call(), call());
	return 0;
}
"""


def test_an_unsupported_torch_is_left_alone_with_a_reason(tmp_path):
    (tmp_path / "fake.c").write_text(FAKE)
    (tmp_path / "loader.c").write_text(LOADER)
    library = tmp_path / "libtorch_cpu.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", tmp_path / "fake.c", "-o", library], check=True)
    subprocess.run(["cc", tmp_path / "loader.c", "-o", tmp_path / "loader", "-ldl"], check=True)
    done, measurement = measured.run(tmp_path / "measured", tmp_path / "loader", library,
                                     SONDE_OPERATORS="exact")
    # argument order of evaluation is the compiler's; both calls count on from where they were
    assert sorted(map(int, done.stdout.split())) == [1, 3]
    reason = measurement.properties["adapter.torch"]
    assert "it has no Engine::evaluate_function of the known form" in reason
    assert "exact operators not possible" in reason
