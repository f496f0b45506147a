# SPDX-License-Identifier: Apache-2.0
"""Causes of slowness in PyTorch programs on a GPU, each seen in the report by the line and the operator that cause it. How long kernels
take is planned, for the device is not there."""
from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import program
from program import WORKLOADS
from test_cuda import FAKE, line_with, on_fakes
from test_cuda import pytestmark  # noqa: F401  (the same condition)
from test_cuda_samples import SERIALIZED, code_of, sampled, stored

SOURCE = "causes.py"
STEPS = 5


def line_of(mark: str) -> int:
    lines = (WORKLOADS / "cuda" / SOURCE).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {mark}"))


def ran(folder: Path, cases: tuple[str, ...], plan: str, *options: str) -> Path:
    (folder / "plan").write_text(plan)
    done = on_fakes(folder, "python3", WORKLOADS / "cuda" / SOURCE, *cases, options=options, fakes=("--plan", str(folder / "plan")))
    assert done.out == "".join(f"{case} done\n" for case in cases)
    return done.folder


def is_below(frames: list[dict], function: str) -> bool:
    """One of the program's; anything is below ""."""
    return not function or any(frame["name"] == function and (frame.get("file") or "").endswith(SOURCE) for frame in frames)


def hottest(folder: Path, metric: str, *options: str, below: str = "") -> tuple[int, float]:
    """Of what is below a function, else of all: the innermost line of the program's with the most of a metric, and its share."""
    sums: dict[int, float] = {}
    for frames, value in program.paths(folder, metric, "--metric", metric, *options):
        if not is_below(frames, below):
            continue
        lines = [frame["line"] for frame in frames if (frame.get("file") or "").endswith(SOURCE)]
        sums[lines[-1] if lines else 0] = sums.get(lines[-1] if lines else 0, 0) + value["sum"]
    line = max(sums, key=sums.__getitem__)
    return line, sums[line] / sum(sums.values())


def operators(folder: Path, kernel: str, below: str = "") -> set[tuple[str, ...]]:
    """The operators above the kernels of such names, below a function."""
    return {tuple(frame["name"] for frame in frames if frame["kind"] == "operator")
            for frames, _ in program.paths(folder, "kernel-time", "--metric", "kernel-time")
            if kernel in frames[-1]["name"] and is_below(frames, below)}


@pytest.fixture(scope="module")
def one_after_the_other(tmp_path_factory) -> Path:
    """An index, the same by index_select, and conversions of layouts, in one process: below three calls."""
    return ran(tmp_path_factory.mktemp("causes"), ("index", "index_select", "layout"),
               "*indexing_backward_kernel* 400000\n*direct_copy_kernel* 90000\n* 2000\n")


def test_an_index_whose_backward_pass_is_slow(one_after_the_other):
    """It is the index of the forward pass that has the time."""
    line, share = hottest(one_after_the_other, "kernel-time", below="embed")
    assert line == line_of("gathered") and share > 0.9
    above, = operators(one_after_the_other, "indexing_backward_kernel")
    assert above[0] == "aten::index" and "IndexBackward0" in above and "aten::_index_put_impl_" in above


def test_index_select_has_another_backward_pass(one_after_the_other):
    """With the same plan it takes no such time, for it has no such kernel."""
    above = {names for names in operators(one_after_the_other, "") if "IndexSelectBackward0" in names}
    assert above and all(names[0] == "aten::index_select" for names in above)
    assert not {names for names in operators(one_after_the_other, "indexing_backward_kernel") if names[0] != "aten::index"}


def test_layouts_that_are_converted(one_after_the_other):
    line, share = hottest(one_after_the_other, "kernel-time", below="convert")
    assert line == line_of("converted") and share > 0.9
    above, = operators(one_after_the_other, "direct_copy_kernel", below="convert")
    assert above[-2:] == ("aten::clone", "aten::copy_")


@pytest.mark.measures
def test_a_loss_of_many_small_kernels(tmp_path):
    """The device has nothing to do while the host launches them: the answer names operators of the loss."""
    folder = ran(tmp_path, ("loss",), "* 2000\n", "--trace")
    kernels = [(frames, value) for frames, value in program.paths(folder, "kernel-time", "--metric", "kernel-time")
               if any(frame["name"] == "loss" for frame in frames)]
    assert sum(value["count"] for _, value in kernels) >= STEPS * 30
    assert all(value["mean"] == 2000 for _, value in kernels)
    text = " ".join(program.sonde("timeline", folder / "run.sdb").split())
    assert "mostly no work queued" in text and f"in {SOURCE}:" in text.split("the host was most in", 1)[1].split(")", 1)[0]


@pytest.mark.measures
def test_too_many_processes_that_load(tmp_path):
    """What they do is below the line of the loop that they work for."""
    folder = ran(tmp_path, ("loader",), "* 2000\n")
    prepared = [frames for frames, _ in program.paths(folder)
                if any(frame["name"] == "Slow.__getitem__" and frame["line"] == line_of("prepared") for frame in frames)]
    assert prepared and all(any(frame.get("line") == line_of("loaded") for frame in frames) for frames in prepared)
    processes = {profile["pid"] for profile in program.info(folder)["profiles"] if profile["kind"] == "thread" and profile["samples"]}
    assert len(processes) > 8


# ---- conversions that stall on constant memory ----

CONVERSIONS = WORKLOADS / "cuda/conversions.cu"


@pytest.fixture(scope="module")
def conversions(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("conversions") / "conversions"
    subprocess.run([FAKE, "nvcc", "-g", "-O1", "-lineinfo", "-arch=sm_90", "--no-compress", "-o", output, CONVERSIONS], check=True)
    return output


@pytest.fixture(scope="module")
def converted(conversions, tmp_path_factory) -> list[tuple[str, int, str]]:
    """The kernels' instructions, each with its line."""
    code = code_of(sampled(tmp_path_factory.mktemp("code"), conversions, options=SERIALIZED))
    return [(kernel, pc, line) for (kernel, pc), line in sorted(code.lines.items())]


@pytest.mark.parametrize("reason,metric", [("imc_miss", "stall-imc-miss"), ("math_pipe_throttle", "stall-math-pipe-throttle")])
def test_what_stalls_a_conversion(conversions, converted, tmp_path, reason, metric):
    """Misses of the cache of constants, where they are: the line, the function that was inlined there, the reason, how much of it."""
    conversion, other = Path(line_with("conversions.cu", "// converted")).name, Path(line_with("conversions.cu", "// shifted")).name
    kernel, pc, _ = next(one for one in converted if one[2] == conversion)
    beside, beside_pc, _ = next(one for one in converted if one[2] == other)
    (tmp_path / "plan").write_text(f"{kernel} {pc:x} {reason} 60\n{kernel} {pc:x} wait 10\n{kernel} {pc:x} selected 20\n"
                                   f"{beside} {beside_pc:x} long_scoreboard 10\n")
    ran = sampled(tmp_path, conversions, options=SERIALIZED, fakes=("--samples", str(tmp_path / "plan")))
    assert ran.out == "no error\n"
    # all samples: the conversion first, below the line that launched it
    text = program.sonde("report", tmp_path / "run.sdb", "--metric", "gpu-samples", "--source", CONVERSIONS.parent)
    hottest = text.split("hottest lines of your code")[1].split("call paths")[0]
    assert re.search(rf"90\.0% +1\.80k  {conversion}  return __float2half", hottest), text
    # its reasons
    at_line = program.sonde("report", tmp_path / "run.sdb", "--where", conversion, "--format", "csv", "--view", "flat", "--by", "kind")
    shares = {name.split(":")[0]: int(value) for name, value in zip(*(line.split(",") for line in at_line.splitlines()[:2]))
              if name.startswith("stall-") and name.endswith(":inclusive") and int(value or 0)}
    assert shares == {metric: 20 * 60, "stall-wait": 20 * 10}
    # and where that reason is, in the whole program
    assert {frames[-2]["name"] for frames, _ in stored(ran, metric)} == {conversion}
    for frames, _ in stored(ran, metric):
        assert any(frame["kind"] == "inlined" and "narrowed" in frame["name"] for frame in frames)
        assert any(frame.get("line") == int(line_with("conversions.cu", "// launched").rpartition(":")[2]) for frame in frames)
