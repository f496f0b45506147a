# SPDX-License-Identifier: Apache-2.0
"""Causes of slowness in PyTorch programs on a GPU, each seen in the report by the line and the operator that cause it. How long kernels
take is planned, for the device is not there."""
from __future__ import annotations

from pathlib import Path

import pytest

import program
from program import WORKLOADS
from test_cuda import on_fakes
from test_cuda import pytestmark  # noqa: F401  (the same condition)

SOURCE = "causes.py"
STEPS = 5


def line_of(mark: str) -> int:
    lines = (WORKLOADS / "cuda" / SOURCE).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {mark}"))


def ran(folder: Path, case: str, plan: str, *options: str) -> Path:
    (folder / "plan").write_text(plan)
    done = on_fakes(folder, "python3", WORKLOADS / "cuda" / SOURCE, case, options=options, fakes=("--plan", str(folder / "plan")))
    assert done.out == f"{case} done\n"
    return done.folder


def hottest(folder: Path, metric: str) -> tuple[int, float]:
    """The innermost line of the program's with the most of a metric, and its share."""
    sums: dict[int, float] = {}
    for frames, value in program.paths(folder, metric, "--metric", metric):
        lines = [frame["line"] for frame in frames if (frame.get("file") or "").endswith(SOURCE)]
        sums[lines[-1] if lines else 0] = sums.get(lines[-1] if lines else 0, 0) + value["sum"]
    line = max(sums, key=sums.__getitem__)
    return line, sums[line] / sum(sums.values())


def operators(folder: Path, kernel: str) -> set[tuple[str, ...]]:
    """The operators above the kernels of such names."""
    return {tuple(frame["name"] for frame in frames if frame["kind"] == "operator")
            for frames, _ in program.paths(folder, "kernel-time", "--metric", "kernel-time") if kernel in frames[-1]["name"]}


SLOW_BACKWARD = "*indexing_backward_kernel* 400000\n* 2000\n"


def test_an_index_whose_backward_pass_is_slow(tmp_path):
    """It is the index of the forward pass that has the time."""
    folder = ran(tmp_path, "index", SLOW_BACKWARD)
    line, share = hottest(folder, "kernel-time")
    assert line == line_of("gathered") and share > 0.9
    above, = operators(folder, "indexing_backward_kernel")
    assert above[0] == "aten::index" and "IndexBackward0" in above and "aten::_index_put_impl_" in above


def test_index_select_has_another_backward_pass(tmp_path):
    """With the same plan it takes no such time, and no such kernel is there."""
    folder = ran(tmp_path, "index_select", SLOW_BACKWARD)
    assert not operators(folder, "indexing_backward_kernel")
    above = {names for names in operators(folder, "") if "IndexSelectBackward0" in names}
    assert above and all(names[0] == "aten::index_select" for names in above)


def test_layouts_that_are_converted(tmp_path):
    folder = ran(tmp_path, "layout", "*direct_copy_kernel* 90000\n* 2000\n")
    line, share = hottest(folder, "kernel-time")
    assert line == line_of("converted") and share > 0.9
    above, = operators(folder, "direct_copy_kernel")
    assert above[-2:] == ("aten::clone", "aten::copy_")


def test_a_loss_of_many_small_kernels(tmp_path):
    """The device has nothing to do while the host launches them: the answer names operators of the loss."""
    folder = ran(tmp_path, "loss", "* 2000\n", "--trace")
    kernels = [(frames, value) for frames, value in program.paths(folder, "kernel-time", "--metric", "kernel-time")
               if any(frame["name"] == "loss" for frame in frames)]
    assert sum(value["count"] for _, value in kernels) >= STEPS * 30
    assert all(value["mean"] == 2000 for _, value in kernels)
    text = " ".join(program.sonde("timeline", folder / "run.sdb").split())
    assert "mostly no work queued" in text and f"in {SOURCE}:" in text.split("the host was most in", 1)[1].split(")", 1)[0]


def test_too_many_processes_that_load(tmp_path):
    """What they do is below the line of the loop that they work for."""
    folder = ran(tmp_path, "loader", "* 2000\n")
    prepared = [frames for frames, _ in program.paths(folder)
                if any(frame["name"] == "Slow.__getitem__" and frame["line"] == line_of("prepared") for frame in frames)]
    assert prepared and all(any(frame.get("line") == line_of("loaded") for frame in frames) for frames in prepared)
    processes = {profile["pid"] for profile in program.info(folder)["profiles"] if profile["kind"] == "thread" and profile["samples"]}
    assert len(processes) > 8
