# SPDX-License-Identifier: Apache-2.0
"""torch.compile with Triton on devices that are not there: Triton compiles for the device's architecture, loads what its ptxas made
and launches it through the driver. Each kernel stands below the line that called the compiled function."""
from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import program
from program import WORKLOADS
from test_cuda import FAKE, NODES, Ran, is_kernel, line_with, measured, on_fakes
from test_cuda import pytestmark  # noqa: F401  (the same condition)
from test_cuda_graphs import MARK

SOURCE = "compiled.py"
STEPS = 5
TRITON = re.compile(r"triton_\w+_fused_\w+|added$")


def line_of(mark: str) -> int:
    return int(line_with(SOURCE, f"# {mark}").rpartition(":")[2])


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> Ran:
    """With nothing compiled before, so that kernels are also launched to find out which of several is the fastest."""
    folder = tmp_path_factory.mktemp("compiled")
    include = subprocess.run([FAKE, "python3", "-c", "import sysconfig; print(sysconfig.get_path('include', 'posix_prefix'))"],
                             capture_output=True, text=True, check=True).stdout.strip()
    if not (Path(include) / "Python.h").exists():
        pytest.skip("no Python.h, for which Triton compiles its launcher")
    return on_fakes(folder, "python3", WORKLOADS / "cuda" / SOURCE, options=NODES, TRITON_CACHE_DIR=str(folder / "triton"),
                    TORCHINDUCTOR_CACHE_DIR=str(folder / "inductor"), TORCHINDUCTOR_COMPILE_THREADS="1")


def own_lines(frames: list[dict], function: str) -> list[int]:
    return [frame["line"] for frame in frames if frame["kind"] == "python" and frame["name"] == function
            and (frame.get("file") or "").endswith(f"/cuda/{SOURCE}")]


def kernels(ran: Ran, function: str) -> list[tuple[list[dict], int]]:
    """Triton's below a function of the program's, and how often each path ran."""
    return [(frames, value["count"]) for frames, value in program.paths(ran.folder, "kernel-time", "--metric", "kernel-time")
            if TRITON.match(frames[-1]["name"]) and own_lines(frames, function)]


@pytest.mark.parametrize("column,what", [("count", "count"), ("total_ns", "sum")])
def test_kernels_are_those_that_ran(compiled, column, what):
    assert compiled.out == "done\n"
    truth = compiled.truth(column, is_kernel)
    assert len([name for name in truth if TRITON.match(name)]) >= 6
    assert measured(compiled, "kernel-time", what) == truth


def test_nothing_is_lost(compiled):
    assert not {"gpu-lost", "gpu-untimed"} & set(program.info(compiled.folder).get("drops", {}))


def test_each_kernel_stands_below_the_call(compiled):
    """Also those of the backward pass, which another thread launches, those of captured graphs, and those that are launched to be timed."""
    found: Counter[str] = Counter()
    for function, mark in (("train", "trained"), ("replay", "replayed"), ("by_hand", "launched")):
        for frames, count in kernels(compiled, function):
            assert own_lines(frames, function) == [line_of(mark)], [frame["name"] for frame in frames]
            found[frames[-1]["name"]] += count
    assert found == compiled.truth("count", lambda row: TRITON.match(row["kernel"]) is not None)
    assert found["added"] == STEPS and all(count >= STEPS for count in found.values())


def test_kernels_stand_below_the_graph_and_the_lines_that_they_were_made_of(compiled):
    """Of each pass as often as it ran, or more often."""
    lines = {line_of("activated"), line_of("reduced")}
    passes: dict[str, Counter[str]] = {"0_forward": Counter(), "0_backward": Counter()}
    for frames, count in kernels(compiled, "train"):
        node, = [frame for frame in frames if frame["kind"] == "graph-node"]
        which, _, name = node["name"].partition("/")
        assert name == frames[-1]["name"] and node["line"] in lines and node["file"].endswith(f"/cuda/{SOURCE}")
        operators = [frame["name"] for frame in frames if frame["kind"] == "operator"]
        assert operators == (["CompiledFunctionBackward"] if which == "0_backward" else []), operators
        passes[which][name] += count
    assert all(len(names) >= 2 for names in passes.values())


def test_kernels_of_captured_graphs_stand_below_the_replay(compiled):
    """The first call runs without a graph, the second is captured and replayed."""
    counts: Counter[bool] = Counter()
    for frames, count in kernels(compiled, "replay"):
        counts[MARK in [frame["name"] for frame in frames]] += count
        node, = [frame for frame in frames if frame["kind"] == "graph-node"]
        assert node["name"] == "1_inference/" + frames[-1]["name"] and node["line"] == line_of("scaled")
    assert counts[True] == STEPS - 1 and counts[False] >= 1
