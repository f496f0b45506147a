# SPDX-License-Identifier: Apache-2.0
"""Samples of instructions beside what public simulators of GPUs counted for the same kernels (tests/workloads/simulated): the fakes draw their
samples from a simulator's table, on the instructions that a real compiler made of each line, and each line, loop and inlined function must
have the table's share in Sonde's report."""
from __future__ import annotations

import csv
import os
import re
import subprocess
from collections import Counter
from dataclasses import dataclass, replace
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
LINES = KERNELS.read_text().splitlines()
LOOPS = {number for number, text in enumerate(LINES, 1) if text.endswith("// loop")}
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
    shares = {int(line): share for share, line in re.findall(rf"^ *(<?[\d.]+)% +\d.* {KERNELS.name}:(\d+)\b", text, re.M)}
    exact = {line: 100 * count / by_line.total() for line, count in by_line.items()}
    assert shares == {line: f"{share:.1f}" if share >= 0.05 else "<0.1" for line, share in exact.items()}, text
    assert [by_line[line] for line in shares] == sorted(by_line.values(), reverse=True)


def without_reason(truth: Counter[Place]) -> Counter[Place]:
    whole: Counter[Place] = Counter()
    for place, count in truth.items():
        whole[replace(place, reason="")] += count
    return whole


def compare_reasons(folder: Path, truth: Counter[Place], reasons: set[str]) -> None:
    """The samples of each of these reasons, all of which the table has."""
    assert {place.reason for place in truth} == reasons
    for reason in reasons:
        assert stored(folder, reason, "stall-" + reason.replace("_", "-"))[0] == \
            Counter({place: count for place, count in truth.items() if place.reason == reason})


# ---- executions, by Oclgrind ----


@pytest.fixture(scope="module")
def hip(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("hip") / "simulated"
    done = subprocess.run([RUN, "--rocm", "hipcc", FOLDER / "simulated.hip", output, "-g", "-O1"], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return output


def measured_on_amd(binary: Path, folder: Path, truth: Counter[Place]) -> None:
    """The device's code is by clang for gfx90a."""
    (folder / "first").mkdir()
    code = test_rocm_samples.code_of(test_rocm_samples.sampled(folder / "first", binary))

    def offsets(kernel: str, line: int) -> list[int]:
        return [address - code.start(kernel) for address in code.instructions[kernel] if code.lines.get(address) == f"{KERNELS.name}:{line}"]

    plan = folder / "plan"
    plan.write_text(planned(truth, offsets))
    ran = test_rocm_samples.sampled(folder, binary, plan=plan)
    assert ran.out == "no error\n" and ran.taken() == truth.total()


def test_executions_on_amd(hip, tmp_path):
    """One sample of an issued instruction for each execution by a wave."""
    truth = executions("issued")
    measured_on_amd(hip, tmp_path, truth)
    compare(tmp_path, truth, "issued")


# ---- cycles of waves, by MGPUSim ----

# what a wave waits for once its instruction is issued: by instruction, else by the unit that executes it. A group is one wave: no barrier waits.
AMD_WAITS = {"s_waitcnt": "waitcnt", "VALU": "alu_dependency", "Scalar": "alu_dependency", "VMem": "arbiter_win_ex_stall",
             "LDS": "arbiter_win_ex_stall"}


def wave_cycles() -> Counter[Place]:
    """One sample for each cycle of a wave: it issues an instruction, waits for what that does, or cannot issue the next one."""
    found: Counter[Place] = Counter()
    for row in rows_of("mgpusim.csv"):
        # an argument's load, which only clang 19 gives to the begin of a kernel
        if LINES[int(row["line"]) - 1] == "{":
            continue
        executing = AMD_WAITS.get(row["instruction"], AMD_WAITS.get(row["unit"], "internal_instruction"))
        reasons = {"issued": "executed", executing: "executing", "no_instruction_available": "fetching", "other_wait": "waiting"}
        for reason, column in reasons.items():
            found[Place(row["kernel"], row["function"], int(row["line"]), reason)] += int(row[column])
    return +found


def test_cycles_on_amd(hip, tmp_path):
    """Each line has its share of the cycles, and of those that are spent waiting for each reason."""
    truth = wave_cycles()
    measured_on_amd(hip, tmp_path, truth)
    compare(tmp_path, without_reason(truth), "")
    stalls = Counter({place: count for place, count in truth.items() if place.reason != "issued"})
    assert stored(tmp_path, "", "gpu-samples-stalled")[0] == without_reason(stalls)
    compare_reasons(tmp_path, stalls, {*AMD_WAITS.values(), "internal_instruction", "no_instruction_available", "other_wait"})


CUDA = ("-g", "-O1", "-lineinfo", "-gencode", "arch=compute_75,code=sm_90", "--no-compress")


def loops_of(cubin: Path) -> dict[str, list[tuple[int, int]]]:
    """Between each branch backwards and its target, by NVIDIA's disassembler."""
    tool = next(Path(os.environ.get("SONDE_TEST_CACHE", Path.home() / ".cache/sonde-test")).glob("cuda-toolkit-*/nvidia/*/bin/nvdisasm"))
    text = subprocess.run([tool, "-c", cubin], capture_output=True, text=True, check=True).stdout
    loops: dict[str, list[tuple[int, int]]] = {}
    labels: dict[str, int] = {}
    kernel, waiting = "", []
    for line in text.splitlines():
        if match := re.match(r"\s*\.section\s+\.text\.(\w+)", line):
            kernel = match[1]
        elif match := re.match(r"(\.L_x_\d+):", line):
            waiting.append(match[1])
        elif match := re.match(r"\s+/\*([0-9a-f]{4,})\*/(.*)", line):
            pc = int(match[1], 16)
            labels.update({label: pc for label in waiting})
            waiting = []
            target = re.search(r"\bBRA\b.*\((\.L_x_\d+)\)", match[2])
            if target and labels.get(target[1], pc) < pc:
                loops.setdefault(kernel, []).append((labels[target[1]], pc))
    return loops


@dataclass
class Cuda:
    """The program by nvcc for sm_90, from the PTX of sm_75, which a simulator reads; and where its lines are."""

    binary: Path
    code: test_cuda_samples.Code
    loops: dict[str, list[tuple[int, int]]]

    def offsets(self, kernel: str, line: int) -> list[int]:
        """Of a line in a loop nvcc moves some instructions out of it, which the simulator cannot know."""
        found = [pc for (name, pc), place in self.code.lines.items() if name == kernel and place == f"{KERNELS.name}:{line}"]
        return [pc for pc in found if line not in LOOPS or any(begin <= pc <= end for begin, end in self.loops[kernel])]

    def measured(self, folder: Path, truth: Counter[Place]) -> None:
        plan = folder / "plan"
        plan.write_text(planned(truth, self.offsets))
        ran = test_cuda_samples.sampled(folder, self.binary, options=test_cuda_samples.SERIALIZED, fakes=("--samples", str(plan)))
        assert ran.out == "no error\n" and ran.taken() == truth.total()


@pytest.fixture(scope="module")
def cuda(tmp_path_factory) -> Cuda:
    folder = tmp_path_factory.mktemp("cuda")
    subprocess.run([test_cuda.FAKE, "nvcc", "-g", "-O1", "-lineinfo", "-gencode", "arch=compute_75,code=sm_90", "--no-compress",
                    "-o", folder / "simulated", FOLDER / "simulated.cu"], check=True)
    code = test_cuda_samples.code_of(test_cuda_samples.sampled(folder, folder / "simulated", options=test_cuda_samples.SERIALIZED))
    return Cuda(folder / "simulated", code, loops_of(next((folder / "run.sonde").glob("*.sonde-cubin"))))


@test_cuda.pytestmark
def test_executions_on_nvidia(cuda, tmp_path):
    truth = executions("selected")
    cuda.measured(tmp_path, truth)
    compare(tmp_path, truth, "selected")


# ---- cycles, by GPGPU-Sim ----

# what a warp waits for in an instruction of PTX; for the others it waits as long as they take
WAITS = {"ld.global": "long_scoreboard", "ld.shared": "short_scoreboard", "st.shared": "short_scoreboard", "ld.const": "imc_miss",
         "bar": "barrier", "bra": "branch_resolving"}


def cycles() -> Counter[Place]:
    """One sample for each cycle that a warp spent in an instruction."""
    found: Counter[Place] = Counter()
    for row in rows_of("gpgpusim.csv"):
        reason = next((reason for begin, reason in WAITS.items() if row["instruction"].startswith(begin)), "wait")
        found[Place(row["kernel"], row["function"], int(row["line"]), reason)] += int(row["latency"])
    return +found


@test_cuda.pytestmark
def test_cycles_on_nvidia(cuda, tmp_path):
    """Each line has its share of the cycles, and of those that are spent waiting for each reason."""
    truth = cycles()
    cuda.measured(tmp_path, truth)
    compare(tmp_path, without_reason(truth), "")
    compare_reasons(tmp_path, truth, {"wait", *WAITS.values()})
