# SPDX-License-Identifier: Apache-2.0
"""torch.compile: its compilations as regions and events, and what it compiled as frames with names.

Runs with every PyTorch that test_torch.py finds and that has torch.compile.
"""
from __future__ import annotations

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
from test_torch import PYTHONS, version

WORKLOAD = measured.ROOT / "tests/workloads/torch/torch_compiled.py"
COMPILE_BEGIN, COMPILE_END = 3, 4
REGION, PYTHON = 4, 2


@pytest.fixture(params=PYTHONS, scope="session")
def python(request) -> str:
    found = version(request.param)
    if not found:
        pytest.skip(f"{request.param} has no PyTorch")
    if tuple(int(part) for part in found.split(".")[:2]) < (2, 2):
        pytest.skip(f"PyTorch {found} has no torch.compile whose compilations can be seen")
    return request.param


def line_of(mark: str) -> int:
    for number, line in enumerate(WORKLOAD.read_text().splitlines(), 1):
        if line.endswith(f"# here: {mark}"):
            return number
    raise KeyError(mark)


@lru_cache
def alone(python: str, *arguments: str) -> str:
    done = subprocess.run([python, WORKLOAD, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_counts(counted: Counter) -> None:
    assert counted.keys() >= {"model", "broken", "raising", "leaf"}
    # once for each number of dimensions, and not for the calls that find it compiled
    assert counted["model"] == 2
    # the analysis may be begun anew where it meets what it cannot compile
    assert 1 <= counted["broken"] <= 3 and 1 <= counted["leaf"] <= 3
    resumed = [name for name in counted if name.startswith("torch_dynamo_resume_in_broken")]
    assert len(resumed) == 1
    assert counted.keys() == {"model", "broken", "raising", "leaf", *resumed}


def test_compilations_are_regions(python, tmp_path):
    done, measurement = measured.run(tmp_path / "measured", python, WORKLOAD, "known", "eager")
    assert (done.returncode, done.stdout) == (0, alone(python, "known", "eager")), done.stderr
    counted: Counter = Counter()
    lines: dict[str, set[int]] = {}
    for context in measurement.contexts:
        if "region-time" in context.values:
            kind, _, name = context.path[-1].name.partition(" ")
            assert kind == "torch.compile"
            counted[name] += context.values["region-time"].count
            called = [f.line for f in context.path if f.kind == "python" and f.file == str(WORKLOAD) and f.name == "known"]
            lines.setdefault(name, set()).update(called)
    check_counts(counted)
    assert lines["model"] == {line_of("first"), line_of("other shape")}
    assert lines["broken"] == {line_of("broken")} and lines["raising"] == {line_of("raising")}
    assert lines["leaf"] == {line_of("failing")}
    assert "region-unbalanced" not in measurement.drops


def test_compilations_are_events(python, tmp_path):
    tool, out = tmp_path / "tool.so", tmp_path / "events"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-D_GNU_SOURCE", "-I", measured.ROOT / "include",
                    measured.ROOT / "tests/workloads/collect/monitor_tool.c", "-o", tool], check=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SONDE")}
    environment.update(SONDE_TOOL=str(tool), LD_PRELOAD=str(measured.LIBRARY), MONITOR_OUT=str(out))
    done = subprocess.run([python, WORKLOAD, "known", "eager"], env=environment, capture_output=True, text=True,
                          timeout=120)
    assert (done.returncode, done.stdout) == (0, alone(python, "known", "eager")), done.stderr
    open_ones, counted = [], Counter()
    for line in out.read_text().splitlines():
        head, *path = line.split("|")
        domain, kind, name = (head.split("\t") + ["", ""])[:3]
        if domain != "0" or kind not in (str(COMPILE_BEGIN), str(COMPILE_END)):
            continue
        if kind == str(COMPILE_END):
            assert open_ones.pop() == name
            continue
        open_ones.append(name)
        counted[name] += 1
        frames = [tuple(frame.split(" ")[:2]) for frame in path[1:]]
        assert (str(PYTHON), "known") in frames
        assert frames.index((str(PYTHON), "known")) < frames.index((str(REGION), "torch.compile"))
    assert not open_ones
    check_counts(counted)


def paths_of(folder: Path) -> list[tuple[list[dict], int]]:
    return [(frames, value["count"]) for frames, value in program.paths(folder)]


def test_inductor(python, tmp_path):
    """The C++ that inductor writes, compiles and loads is named, under the line that calls it, forward and
    backward; so are its compiler processes, which are measured and change nothing."""
    cache = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"), "TORCHINDUCTOR_COMPILE_THREADS": "2"}
    done = program.run(tmp_path, python, WORKLOAD, "training", "inductor", options=("-F", "997"), environment=cache,
                       timeout=300)
    # the second time everything is in inductor's cache: the same numbers from the same code
    again = subprocess.run([python, WORKLOAD, "training", "inductor"], capture_output=True, text=True, timeout=120,
                           env={**os.environ, **cache})
    assert done.stdout == again.stdout, done.stderr + again.stderr
    information = program.info(tmp_path)
    # it asks ldconfig, which is linked statically and cannot be measured
    assert information["complete"] or information["drops"]["program-unmeasured"] == 1
    kernels = {"call": 0, "backward": 0}
    compiled = of_compilers = 0
    known: Counter = Counter()  # samples of kernels, by whether a line of the program's stands above them
    sources = [line_of("first operations"), line_of("last operations")]
    for frames, count in paths_of(tmp_path):
        lines = [f["line"] for f in frames if f["kind"] == "python" and f.get("file") == str(WORKLOAD)
                 and f["name"] == "training"]
        names = [f["name"] for f in frames]
        # its compilers run below the line that makes it compile
        if any(Path(f.get("module") or "").name == "cc1plus" for f in frames):
            assert lines == [line_of("call")], (lines, names)
            of_compilers += count
        # inductor's kernels are functions `kernel` in a shared object of its cache, called by their names
        called = [f["name"] for f in frames if f["kind"] == "native" and str(tmp_path / "cache") in (f.get("module") or "")]
        assert not [name for name in called if name == "kernel" or name.startswith("kernel.")], names
        if any(name.startswith("cpp_fused_") for name in called):
            assert lines, names
            is_backward = any(f["kind"] == "operator" and "CompiledFunctionBackward" in f["name"] for f in frames)
            kernels["backward" if is_backward else "call"] += count
            nodes = [f for f in frames if f["kind"] == "graph-node"]
            assert all(f["file"] == str(WORKLOAD) and f["line"] in sources for f in nodes), nodes
            known[bool(nodes)] += count
            # the backward pass is under its forward operator, and so under the same line
            assert lines[0] == line_of("call"), (lines, names)
        if any(f["kind"] == "region" and f["name"] == "torch.compile dense" for f in frames):
            compiled += count
    assert kernels["call"] > 20 and kernels["backward"] > 20, kernels
    assert compiled > 50 and of_compilers > 100, (compiled, of_compilers)
    if tuple(int(part) for part in version(python).split(".")[:2]) >= (2, 15):
        assert known[True] > 20 * known[False], known
