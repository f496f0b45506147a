# SPDX-License-Identifier: Apache-2.0
"""The monitor interface: events and call paths for a tool, with and without a measurement."""
from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import measured
from test_torch import PYTHONS

ROOT = measured.ROOT
FRAMEWORK, GPU, MEMORY, OS = range(4)
CALL_ENTER, CALL_EXIT, ENDED = 16, 17, 18
THREAD_BEGIN, THREAD_END, FORKED, EXEC = 48, 49, 50, 51


def build(tmp_path: Path, source: Path, *options: str) -> Path:
    output = tmp_path / source.stem
    subprocess.run(["cc", "-O1", "-g", *options, "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror",
                    "-D_GNU_SOURCE", "-I", ROOT / "include", source, "-o", output, "-lpthread"], check=True)
    return output


@pytest.fixture
def tool(tmp_path):
    return build(tmp_path, ROOT / "tests/workloads/collect/monitor_tool.c", "-shared", "-fPIC")


def run(tool: Path, *command, **settings):
    out = tool.parent / "events"
    env = {k: v for k, v in os.environ.items() if not k.startswith("SONDE")}
    # nothing but what sonde/monitor.h says
    env.update(SONDE_TOOL=str(tool), LD_PRELOAD=str(measured.LIBRARY), MONITOR_OUT=str(out), **settings)
    done = subprocess.run([str(word) for word in command], env=env, capture_output=True, text=True, timeout=120)
    return done, out.read_text().splitlines()


def events(lines, domain):
    found = []
    for line in lines:
        fields = line.split("|")
        words = fields[0].split("\t")
        if words[0] == str(domain) and len(words) >= 6:
            values = dict(word.split("=") for word in words[3:])
            found.append((int(words[1]), words[2], {k: int(v) for k, v in values.items()}, fields[1:]))
    return found


@pytest.mark.parametrize("measuring", [False, True])
def test_threads_and_processes(tmp_path, tool, measuring):
    program = build(tmp_path, ROOT / "tests/workloads/collect/monitor_known.c")
    settings = {}
    if measuring:
        (tmp_path / "m.sonde").mkdir()
        settings["SONDE_OUTPUT"] = str(tmp_path / "m.sonde")
    done, lines = run(tool, program, **settings)
    assert (done.returncode, done.stdout, done.stderr) == (0, "child 0\nexecuted\n", "")
    assert lines[0] == f"init 0 wrong version {-errno.ENOTSUP}"
    assert lines[1] == f"unknown domain {-errno.EINVAL}"
    kinds = Counter(kind for kind, *_ in events(lines, OS))
    assert kinds == {THREAD_BEGIN: 2, THREAD_END: 2, FORKED: 1, EXEC: 1}
    began = {e[2]["id"] for e in events(lines, OS) if e[0] == THREAD_BEGIN}
    ended = {e[2]["id"] for e in events(lines, OS) if e[0] == THREAD_END}
    assert began == ended and len(began) == 2
    forked = [e[2] for e in events(lines, OS) if e[0] == FORKED][0]
    assert forked["id"] == forked["pid"]
    # the tool is there again in the program that was executed, and is stopped at its end
    assert sum(line.startswith("init 0") for line in lines) == 2
    assert lines[-1] == "stop"
    written = list((tmp_path / "m.sonde").glob("*")) if measuring else []
    assert len(written) == (3 if measuring else 0)


def test_gpu_calls_and_paths(tool):
    program = measured.BUILD / "tests/opencl-known"
    if not program.exists() or subprocess.run([program], capture_output=True).returncode == 77:
        pytest.skip("no OpenCL device here")
    done, lines = run(tool, program)
    assert done.returncode == 0 and done.stderr == ""
    gpu = events(lines, GPU)
    entered = {e[2]["id"]: e for e in gpu if e[0] == CALL_ENTER}
    left = {e[2]["id"]: e for e in gpu if e[0] == CALL_EXIT}
    assert entered.keys() == left.keys()
    kernels = Counter()
    for kind, name, values, _ in gpu:
        if kind == ENDED:
            call = entered[values["id"]][1]
            assert call.startswith("clEnqueue")
            if call == "clEnqueueNDRangeKernel":
                kernels[name] += 1
                assert values["ran"] > 0
    assert kernels == {"add_one": 30 + 20 + 30 + 3 * 15, "scale": 10 + 1 + 7}
    for _, name, _, path in entered.values():
        assert not path[0].endswith("differs")
        frames = path[1:]
        assert len(frames) == int(path[0])
        # neither the tool nor the collector is part of the program's path
        assert not any("monitor_tool" in frame for frame in frames), frames
        assert "libsonde" not in frames[-1]
        if name == "clEnqueueNDRangeKernel":
            assert any("opencl-known" in frame for frame in frames)


@pytest.fixture
def values_tool(tmp_path):
    return build(tmp_path, ROOT / "tests/workloads/collect/monitor_values.c", "-shared", "-fPIC")


def with_values(lines):
    """(kind, name, values, frames of the path) of each event; a value is name, index, value, storage, bytes."""
    assert lines[0] == f"want 0 0 {-errno.EINVAL}"
    for line in lines[1:]:
        kind, name, *rest = line.split("\t")
        frames = [word.split(":", 1) for word in rest.pop().split()[1:]] if rest and rest[-1].startswith("path") else []
        yield int(kind), name, [value.split(",") for value in rest], [(int(kind), name) for kind, name in frames]


def test_arguments_of_device_calls(values_tool):
    program = measured.BUILD / "tests/opencl-known"
    if not program.exists() or subprocess.run([program], capture_output=True).returncode == 77:
        pytest.skip("no OpenCL device here")
    done, lines = run(values_tool, program)
    assert (done.returncode, done.stderr) == (0, "")
    seen = Counter()
    for kind, name, values, _ in with_values(lines):
        if kind == CALL_EXIT:
            numbers = {value[0]: int(value[2], 16) for value in values}
            assert numbers.pop("queue", 1)
            seen[name, *numbers.items()] += 1
    assert seen["clEnqueueNDRangeKernel", ("work-items", 1024), ("work-group", 64)] == 125 + 18
    assert seen["clEnqueueWriteBuffer", ("bytes", 4096)] == 5
    assert seen["clEnqueueReadBuffer", ("bytes", 8192)] == 3
    assert seen["clBuildProgram",] == 1


@pytest.mark.parametrize("python", PYTHONS)
def test_values_and_sources_of_operators(tmp_path, values_tool, python):
    """Inputs and outputs of operators, and no native frame in any path, not in the forward part of a backward one either."""
    if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode:
        pytest.skip("no PyTorch here")
    program = tmp_path / "program.py"
    program.write_text("import torch\n"
                       "a = torch.ones(30, 40, requires_grad=True)\n"
                       "b = torch.ones(40, 50)\n"
                       "def forward(a, b):\n"
                       "    return torch.mm(a, b)\n"
                       "forward(a, b).sum().backward()\n"
                       "torch.cat([b, b, b])\n")
    done, lines = run(values_tool, python, program)
    assert done.returncode == 0, done.stderr
    begins, ends, backward = {}, {}, 0
    for kind, name, values, frames in with_values(lines):
        if kind == 1:
            begins.setdefault(name, values)
            assert all(frame in (2, 3, 4) for frame, _ in frames), (name, frames)
            names = [frame for _, frame in frames]
            if name == "aten::mm" and any(frame.startswith("aten::mm") or frame == "MmBackward0" for frame in names[:-1]):
                backward += "forward" in names
        elif kind == 2:
            ends.setdefault(name, values)
    assert backward >= 1
    sizes = {name: [(int(index), int(size)) for _, index, _, _, size in values] for name, values in begins.items()}
    assert sizes["aten::mm"] == [(0, 30 * 40 * 4), (1, 40 * 50 * 4)]
    assert sizes["aten::cat"] == [(0, 40 * 50 * 4)] * 3
    assert [int(value[4]) for value in ends["aten::mm"]] == [30 * 50 * 4]
    # what mm made is what sum reads: one storage
    assert begins["aten::sum"][0][3] == ends["aten::mm"][0][3]


@pytest.mark.parametrize("python", PYTHONS)
def test_example_counts_operators(tmp_path, python):
    if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode:
        pytest.skip("no PyTorch here")
    tool = build(tmp_path, ROOT / "examples/monitor/count_operators.c", "-shared", "-fPIC")
    program = tmp_path / "program.py"
    program.write_text("import torch\n"
                       "def work(x):\n"
                       "    return torch.relu(x)\n"
                       "x = torch.ones(4)\n"
                       "for i in range(7):\n"
                       "    work(x)\n")
    env = {k: v for k, v in os.environ.items() if not k.startswith("SONDE")}
    env.update(SONDE_TOOL=str(tool), LD_PRELOAD=str(measured.LIBRARY))
    done = subprocess.run([python, program], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    counts = {path: int(count) for count, path in (line.split(None, 1) for line in done.stderr.splitlines())}
    assert counts["<module>:6;work:3;aten::relu"] == 7
