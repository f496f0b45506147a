# SPDX-License-Identifier: Apache-2.0
"""Samples of instructions beside what public simulators of GPUs counted for the same kernels (tests/workloads/simulated): the fakes draw their
samples from a simulator's table, on the instructions that a real compiler made of each line, and each line, loop and inlined function must
have the table's share in Sonde's report."""
from __future__ import annotations

import csv
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import program
import pytest
import test_cuda
import test_cuda_samples
import test_rocm_samples
from program import WORKLOADS
from test_rocm import RUN

FOLDER = WORKLOADS / "simulated"
KERNELS = FOLDER / "kernels.cl"
LOOPS = {number for number, text in enumerate(KERNELS.read_text().splitlines(), 1) if text.endswith("// loop")}
# of Oclgrind's executions by single work items one sample stands for so many
WAVE = 64


@dataclass(frozen=True)
class Place:
    """What a sample is told by: the line of kernels.cl, the function whose line it is, and the reason."""

    kernel: str
    function: str
    line: int
    reason: str


def rows_of(name: str) -> list[dict[str, str]]:
    """Of a table, but for what has no line in the source."""
    with open(FOLDER / name, newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return [row for row in rows if row["line"] != "0"]


def executions(reason: str) -> Counter[Place]:
    """By Oclgrind: a device issues as often."""
    found: Counter[Place] = Counter()
    for row in rows_of("oclgrind.csv"):
        found[Place(row["kernel"], row["function"], int(row["line"]), reason)] += int(row["executed"])
    assert not any(count % WAVE for count in found.values())
    return Counter({place: count // WAVE for place, count in found.items()})


def planned(truth: Counter[Place], instructions: Callable[[str, int], list[int]]) -> str:
    """A plan for the fakes: a line's samples are spread over its instructions, so that each has some."""
    plan = []
    for place, count in truth.items():
        offsets = instructions(place.kernel, place.line)
        assert offsets, f"the compiler left nothing of {place}"
        share, more = divmod(count, len(offsets))
        plan += [f"{place.kernel} {offset:x} {place.reason} {share + (index < more)}\n" for index, offset in enumerate(offsets)
                 if share + (index < more)]
    return "".join(plan)


def stored(folder: Path, reason: str, metric: str = "gpu-samples") -> tuple[Counter[Place], Counter[Place], Counter[Place]]:
    """What Sonde shows of each place: all, what is below a loop, and what is inlined."""
    found: tuple[Counter[Place], Counter[Place], Counter[Place]] = (Counter(), Counter(), Counter())
    for frames, value in program.paths(folder, metric, "--metric", metric):
        frames = frames[[frame["kind"] for frame in frames].index("kernel"):]
        kinds = [frame["kind"] for frame in frames]
        file, _, line = frames[-2]["name"].rpartition(":")
        assert kinds[-2:] == ["gpu-line", "gpu-instruction"] and file == KERNELS.name
        functions = [frame["name"] for frame in frames if frame["kind"] in ("kernel", "gpu-function", "inlined")]
        place = Place(frames[0]["name"], test_cuda_samples.short(functions[-1]).rpartition("::")[2], int(line), reason)
        for each, kind in zip(found, ("kernel", "gpu-loop", "inlined")):
            if kind in kinds:
                each[place] += value["count"]
    return found


def compare(folder: Path, truth: Counter[Place], reason: str) -> None:
    """All samples, those of loops and those of inlined functions; and the report, with its order and shares."""
    all_, in_loops, inlined = stored(folder, reason)
    assert all_ == truth
    assert {place: count for place, count in in_loops.items() if place.line in LOOPS} == \
        {place: count for place, count in truth.items() if place.line in LOOPS}
    assert inlined == Counter({place: count for place, count in truth.items() if place.function != place.kernel}) and inlined
    by_line: Counter[int] = Counter()
    for place, count in truth.items():
        by_line[place.line] += count
    text = program.sonde("report", folder / "run.sdb", "--view", "flat", "--by", "line", "--metric", "gpu-samples", "--limit", "0")
    shares = {int(line): share for share, line in re.findall(rf"^ *([\d.]+)%.* {KERNELS.name}:(\d+)\b", text, re.M)}
    assert shares == {line: f"{100 * count / by_line.total():.1f}" for line, count in by_line.items()}, text
    assert [by_line[line] for line in shares] == sorted(by_line.values(), reverse=True)


# ---- executions, by Oclgrind ----


@pytest.fixture(scope="module")
def hip(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("hip") / "simulated"
    done = subprocess.run([RUN, "--rocm", "hipcc", FOLDER / "simulated.hip", output, "-g", "-O1"], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return output


def test_executions_on_amd(hip, tmp_path):
    """The device's code by clang for gfx90a, with one sample of an issued instruction for each execution by a wave."""
    (tmp_path / "first").mkdir()
    code = test_rocm_samples.code_of(test_rocm_samples.sampled(tmp_path / "first", hip))
    truth = executions("issued")

    def offsets(kernel: str, line: int) -> list[int]:
        return [address - code.start(kernel) for address in code.instructions[kernel] if code.lines.get(address) == f"{KERNELS.name}:{line}"]

    plan = tmp_path / "plan"
    plan.write_text(planned(truth, offsets))
    ran = test_rocm_samples.sampled(tmp_path, hip, plan=plan)
    assert ran.out == "no error\n" and ran.taken() == truth.total()
    compare(tmp_path, truth, "issued")


CUDA = ("-g", "-O1", "-lineinfo", "-gencode", "arch=compute_75,code=sm_90", "--no-compress")


@test_cuda.pytestmark
def test_executions_on_nvidia(tmp_path):
    """The device's code by nvcc for sm_90, from the PTX of sm_75."""
    binary = tmp_path / "simulated"
    subprocess.run([test_cuda.FAKE, "nvcc", *CUDA, "-o", binary, FOLDER / "simulated.cu"], check=True)
    (tmp_path / "first").mkdir()
    code = test_cuda_samples.code_of(test_cuda_samples.sampled(tmp_path / "first", binary, options=test_cuda_samples.SERIALIZED))
    truth = executions("selected")

    def offsets(kernel: str, line: int) -> list[int]:
        return [pc for (name, pc), place in code.lines.items() if name == kernel and place == f"{KERNELS.name}:{line}"]

    plan = tmp_path / "plan"
    plan.write_text(planned(truth, offsets))
    ran = test_cuda_samples.sampled(tmp_path, binary, options=test_cuda_samples.SERIALIZED, fakes=("--samples", str(plan)))
    assert ran.out == "no error\n" and ran.taken() == truth.total()
    compare(tmp_path, truth, "selected")
