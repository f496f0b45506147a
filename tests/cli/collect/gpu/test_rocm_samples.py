# SPDX-License-Identifier: Apache-2.0
"""Samples of the instructions of HIP kernels, on AMD's devices that are not there: each stands on the line that LLVM names, with its reason, below
the call that launched its kernel, and what was taken is what is stored and what is lost."""
from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import program
import pytest
from on_devices import Sampling, below_kernel, by_launch, by_place, is_kernel, lost, measured, metrics, rows_of, short, stored
from program import SONDE, WORKLOADS
from test_rocm import RUN, Ran, plain, sdk_folder

SOURCE = WORKLOADS / "rocm/samples.hip"
BETA = "ROCPROFILER_PC_SAMPLING_BETA_ENABLED"
STOCHASTIC, HOST_TRAP = "none", "sdk-pc-host-trap"
METHODS = {STOCHASTIC: "stochastic, once in 1048576 cycles", HOST_TRAP: "host traps, once in 1000 us"}
REASONS = ["none", "no_instruction_available", "alu_dependency", "waitcnt", "internal_instruction", "barrier_wait", "arbiter_not_win",
           "arbiter_win_ex_stall", "other_wait", "sleep_wait", "issued"]
# what is refused, and what the adapter's line says of it
REFUSALS = {"sdk-pc-unsupported": "no device offers it", "sdk-pc-permission": "the amdgpu driver does not permit it",
            "sdk-pc-old-driver": "the amdgpu driver is too old", "sdk-pc-taken": "the amdgpu driver refuses, or another tool of the program samples",
            "sdk-pc-odd": "rocprofiler-sdk refuses with status 33", "sdk-pc-hangs": "rocprofiler-sdk did not answer in 3 seconds",
            "sdk-pc-context": "rocprofiler-sdk refuses a context for it"}


@dataclass
class Sampled(Ran, Sampling):
    samples: list[dict[str, str]]


def sampled(folder: Path, *command: str | Path, fail: str = STOCHASTIC, plan: Path | None = None, options: tuple[str, ...] = ("--gpu-samples",),
            **environment: str) -> Sampled:
    done = subprocess.run([RUN, "--rocm", "--fail", fail, "--table", folder / "table.csv", "--sample-table", folder / "samples.csv",
                           *(("--samples", plan) if plan else ()), SONDE, "run", "-q", "-o", folder / "run", *options, "--", *map(str, command)],
                          capture_output=True, text=True, timeout=300, env={**os.environ, BETA: "1", **environment}, stdin=subprocess.DEVNULL)
    # what the mode does is said before
    assert done.stderr.count("\n") == sum(option.startswith("--gpu-samples") for option in options)
    return Sampled(done.stdout, folder, rows_of(folder / "table.csv"), done.returncode, rows_of(folder / "samples.csv"))


def compiled(output: Path, target: str = "gfx90a") -> Path:
    done = subprocess.run([RUN, "--rocm", "hipcc", SOURCE, output, "-g", "-O1"], capture_output=True, text=True,
                          env={**os.environ, "FAKE_ROCM_TARGET": target})
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    if done.returncode and target != "gfx90a":
        pytest.skip(f"clang does not know {target}")
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture(scope="module")
def samples(tmp_path_factory) -> Path:
    return compiled(tmp_path_factory.mktemp("rocm") / "samples")


# ---- the truth about the code ----


def tool(name: str, *arguments: str | Path) -> str:
    try:
        return subprocess.run([name, *map(str, arguments)], capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        pytest.skip(f"no {name}")


@dataclass
class Code:
    """A kept code object: the addresses of instructions by function, and their lines, by LLVM."""

    path: Path
    instructions: dict[str, list[int]]
    lines: dict[int, str]

    def start(self, function: str) -> int:
        return self.instructions[function][0]


def code_of(ran: Ran) -> Code:
    kept = list((ran.folder / "run.sonde").glob("*.sonde-code-object"))
    assert len(kept) == 1
    instructions: dict[str, list[int]] = {}
    name = ""
    for line in tool("llvm-objdump", "-d", kept[0]).splitlines():
        if match := re.match(r"[0-9a-f]{16} <(\S+)>:", line):
            name = match[1]
        elif (match := re.search(r"// ([0-9A-F]{12,16}):", line)) and not re.search(r"\ts_(nop|code_end)\b", line):
            instructions.setdefault(name, []).append(int(match[1], 16))
    addresses = sorted(address for each in instructions.values() for address in each)
    told = json.loads(tool("llvm-symbolizer", "--output-style=JSON", f"--obj={kept[0]}", *map(hex, addresses)))
    lines = {address: f"{Path(place['Symbol'][0]['FileName']).name}:{place['Symbol'][0]['Line']}" for address, place in zip(addresses, told)
             if place["Symbol"] and place["Symbol"][0]["FileName"] and place["Symbol"][0]["Line"]}
    return Code(kept[0], instructions, lines)


@pytest.fixture(scope="module")
def code(samples, tmp_path_factory) -> Code:
    return code_of(sampled(tmp_path_factory.mktemp("code"), samples))


def planned(folder: Path, code: Code) -> Path:
    """Each third instruction of each kernel, and of the function that one calls, with one reason after the other."""
    plan, number = [], 0
    for kernel, functions in {"_Z4walkPfPKfi": ["_Z4walkPfPKfi"], "_Z4callPf": ["_Z4callPf", "_ZL8far_awayf"], "_Z4oncePf": ["_Z4oncePf"]}.items():
        for address in (address for function in functions for address in code.instructions[function][::3]):
            plan.append(f"{kernel} {(address - code.start(kernel)) & (1 << 64) - 1:x} {REASONS[number % len(REASONS)]} {1 + number % 4}\n")
            number += 1
    (folder / "plan").write_text("".join(plan))
    return folder / "plan"


@pytest.fixture(scope="module")
def plan(code, tmp_path_factory) -> Path:
    return planned(tmp_path_factory.mktemp("plan"), code)


@pytest.fixture(scope="module")
def stochastic(samples, plan, tmp_path_factory) -> Sampled:
    return sampled(tmp_path_factory.mktemp("stochastic"), samples, plan=plan)


@pytest.fixture(scope="module")
def traps(samples, plan, tmp_path_factory) -> Sampled:
    return sampled(tmp_path_factory.mktemp("traps"), samples, plan=plan, fail=HOST_TRAP)


BOTH = pytest.mark.parametrize("method", ["stochastic", "traps"])


# ---- what is stored ----


def count(ran: Ran, metric: str = "gpu-samples") -> int:
    return sum(count for _, count in stored(ran, metric))


def number(text: str) -> int:
    return next(number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if line.endswith(text))


def expected(ran: Sampled, code: Code) -> Counter[tuple[str, int, str]]:
    found: Counter[tuple[str, int, str]] = Counter()
    for (kernel, pc), count in ran.sampled("kernel", "pc").items():
        address = (code.start(kernel) + int(pc, 16)) & (1 << 64) - 1
        found[short(kernel), address, code.lines.get(address, "")] += count
    return +found


@BOTH
def test_a_program_behaves_as_without(request, samples, method):
    ran = request.getfixturevalue(method)
    fail = STOCHASTIC if method == "stochastic" else HOST_TRAP
    assert (ran.status, ran.out) == plain(samples, fail=fail) == (0, "no error\n")
    assert ran.line().endswith(f"; instructions sampled ({METHODS[fail]})")
    assert measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel) and ran.drops() == {}


@BOTH
def test_each_sample_stands_on_its_line(request, code, method):
    ran = request.getfixturevalue(method)
    found = by_place(ran)
    assert found == expected(ran, code) and sum(found.values()) == ran.taken() > 1000
    assert {line for _, _, line in found} >= {f"samples.hip:{number(text)}" for text in ("// inlined", "// loop", "// not inlined")}


def test_each_sample_has_its_reason(stochastic):
    stalls = 0
    for (reason,), expected_count in stochastic.sampled("reason").items():
        if reason == "issued":
            continue
        name = "unknown" if reason == "none" else reason.replace("_", "-")
        assert count(stochastic, f"stall-{name}") == expected_count > 0
        stalls += expected_count
    assert len(stochastic.sampled("reason")) == len(REASONS)
    assert count(stochastic, "gpu-samples-stalled") == stalls and count(stochastic) == stochastic.taken() > stalls


def test_traps_tell_no_reason(traps):
    assert count(traps) == traps.taken() and not any("stall" in name for name in metrics(traps))


def test_loops_and_inlined_calls(stochastic):
    inlined = [below_kernel(frames) for frames, _ in stored(stochastic) if frames[-2]["name"] == f"samples.hip:{number('// inlined')}"]
    kinds = [[frame["kind"] for frame in frames] for frames in inlined]
    assert kinds and all("inlined" in each for each in kinds) and any("gpu-loop" in each for each in kinds)
    assert {short(frame["name"]) for frames in inlined for frame in frames if frame["kind"] == "inlined"} == {"look_up"}
    # a function that is called stands below the line that calls it
    called = [frames for frames, _ in stored(stochastic) if frames[-2]["name"] == f"samples.hip:{number('// not inlined')}"]
    for frames in called:
        functions = [short(frame["name"]) for frame in frames if frame["kind"] == "gpu-function"]
        assert functions[-1] == "far_away", functions
        assert any(frame["name"] == f"samples.hip:{number('// call')}" for frame in frames)
    assert called


@BOTH
def test_samples_are_those_of_their_launch(request, method):
    ran = request.getfixturevalue(method)
    walk, call = ran.per_launch("walk", 40), ran.per_launch("call", 20)
    assert by_launch(ran, SOURCE) == {("walk", number("// first")): 30 * walk, ("walk", number("// second")): 10 * walk,
                              ("call", number("// alone")): 20 * call}


def test_samples_of_graphs_are_below_their_replay(samples, plan, tmp_path):
    ran = sampled(tmp_path, samples, "graph", plan=plan)
    found = by_launch(ran, SOURCE)
    assert found["once", number("// replay")] == 15 * ran.per_launch("once", 15) > 0
    assert found["call", number("// replay")] == 15 * ran.per_launch("call", 35)
    assert count(ran) == ran.taken() and not lost(ran)


def test_what_is_planned_is_what_is_reported(samples, code, tmp_path):
    """One instruction of the inlined line, which waits for memory."""
    kernel = "_Z4walkPfPKfi"
    address = next(at for at in code.instructions[kernel] if code.lines.get(at) == f"samples.hip:{number('// inlined')}")
    (tmp_path / "plan").write_text("".join(f"{kernel} {address - code.start(kernel):x} {reason} {number}\n"
                                           for reason, number in (("waitcnt", 70), ("issued", 30))))
    ran = sampled(tmp_path, samples, plan=tmp_path / "plan")
    text = program.sonde("report", ran.folder / "run.sdb", "--metric", "stall-waitcnt", "--source", SOURCE.parent)
    assert count(ran, "stall-waitcnt") == 40 * 70 and count(ran) == 40 * 100
    hottest = text.split("hottest lines of your code")[1].split("call paths")[0]
    assert re.search(rf"100\.0% +2\.80k  samples\.hip:{number('// inlined')}  return x \* table", hottest), text


@pytest.mark.parametrize("target", ["gfx942", "gfx1030"])
def test_other_targets(target, tmp_path):
    program_of_it = compiled(tmp_path / "samples", target)
    (tmp_path / "first").mkdir()
    code = code_of(sampled(tmp_path / "first", program_of_it))
    ran = sampled(tmp_path, program_of_it, plan=planned(tmp_path, code))
    assert by_place(ran) == expected(ran, code) and count(ran) == ran.taken() > 1000


# ---- how samples come ----


@pytest.mark.parametrize("fail", ["sdk-pc-early", "sdk-pc-file", "sdk-pc-early,sdk-pc-host-trap"])
def test_samples_before_their_kernels_record_and_code_in_a_file(samples, code, plan, tmp_path, fail):
    ran = sampled(tmp_path, samples, plan=plan, fail=fail)
    assert by_place(ran) == expected(ran, code) and count(ran) == ran.taken() and not lost(ran)


def test_samples_of_no_known_call_have_no_callers(samples, plan, tmp_path):
    ran = sampled(tmp_path, samples, plan=plan, fail="sdk-pc-uncorrelated")
    assert count(ran) == ran.taken() and not lost(ran) and {line for _, line in by_launch(ran, SOURCE)} == {0}
    assert all("[callers unknown]" in (frames[0]["name"], frames[1]["name"]) for frames, _ in stored(ran))


def test_samples_in_unknown_code_are_their_kernels(samples, plan, tmp_path):
    ran = sampled(tmp_path, samples, plan=plan, fail="sdk-pc-unknown")
    assert count(ran) == ran.taken() and {frames[-1]["kind"] for frames, _ in stored(ran)} == {"kernel"}


@pytest.mark.parametrize("fail", ["sdk-pc-drop", "sdk-pc-invalid"])
@pytest.mark.parametrize("method", [STOCHASTIC, HOST_TRAP])
def test_what_is_lost_is_counted(samples, plan, tmp_path, fail, method):
    ran = sampled(tmp_path, samples, plan=plan, fail=f"{fail},{method}")
    assert ran.taken("lost") == lost(ran) > 0 and count(ran) + lost(ran) == ran.taken()
    assert measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel)


def test_memory_does_not_grow_with_time(samples, tmp_path):
    peaks = []
    for launches in ("3000", "12000"):
        folder = tmp_path / launches
        folder.mkdir()
        ran = sampled(folder, samples, "often", launches)
        assert count(ran) == ran.taken() == len(REASONS) * int(launches) and not lost(ran)
        peaks.append(int(program.info(folder)["properties"]["peak_bytes"]))
    assert peaks[1] <= peaks[0] + (1 << 20)


# ---- the interval ----


@pytest.mark.parametrize("option,fail,interval,said", [
    ("continuous@4096", STOCHASTIC, "4096", "stochastic, once in 4096 cycles"),
    ("continuous@32", STOCHASTIC, "256", "stochastic, once in 256 cycles"),
    ("continuous@2147483648", STOCHASTIC, "1048576", "stochastic, once in 1048576 cycles"),
    ("continuous@4096", HOST_TRAP, "1000", "host traps, once in 1000 us"),
    ("continuous", "sdk-pc-busy", "77", "host traps, once in 77 us")])
def test_the_interval_is_one_that_the_device_takes(samples, tmp_path, option, fail, interval, said):
    ran = sampled(tmp_path, samples, fail=fail, options=(f"--gpu-samples={option}",))
    assert {row["period"] for row in ran.samples} == {interval} and ran.line().endswith(f"; instructions sampled ({said})")
    assert count(ran) == ran.taken() > 0


def test_kernels_are_not_run_one_at_a_time(samples, plan, tmp_path):
    ran = sampled(tmp_path, samples, plan=plan, options=("--gpu-samples=serialized",))
    assert ran.line().endswith("cycles), not one kernel at a time: samples tell their launch")
    assert by_launch(ran, SOURCE)["walk", number("// first")] == 30 * ran.per_launch("walk", 40)


def test_a_device_that_is_not_sampled(samples, tmp_path):
    """Of two devices the second offers nothing."""
    for how, taken in (("first", 11 * 60), ("second", 0)):
        folder = tmp_path / how
        folder.mkdir()
        ran = sampled(folder, samples, how, fail="sdk-pc-second", FAKE_DEVICES="2")
        assert ran.line().endswith("once in 1048576 cycles, on 1 of 2 devices)")
        assert count(ran) == ran.taken() == taken and measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel)


def test_the_same_code_on_two_devices(samples, code, plan, tmp_path):
    """It is kept once, and samples of both devices have their lines."""
    ran = sampled(tmp_path, samples, "both", plan=plan, FAKE_DEVICES="2")
    assert by_place(ran) == expected(ran, code) and count(ran) == ran.taken() and not lost(ran)
    assert len(list((ran.folder / "run.sonde").glob("*.sonde-code-object"))) == 1
    walk = ran.per_launch("walk", 80)
    assert by_launch(ran, SOURCE)["walk", number("// first")] == 60 * walk and by_launch(ran, SOURCE)["walk", number("// second")] == 20 * walk


# ---- what is refused ----


def is_unsampled(ran: Sampled, why: str) -> bool:
    return (f"; instructions are not sampled: {why}" in ran.line() and not ran.samples and not metrics(ran) & {"gpu-samples"}
            and not list((ran.folder / "run.sonde").glob("*.sonde-code-object"))
            and measured(ran, "kernel-time", "sum") == ran.truth("total_ns", is_kernel) and ran.drops() == {})


@pytest.mark.parametrize("fail", REFUSALS)
def test_what_is_refused_leaves_all_else(samples, tmp_path, fail):
    ran = sampled(tmp_path, samples, fail=fail)
    assert (ran.status, ran.out) == (0, "no error\n") and is_unsampled(ran, REFUSALS[fail])


def test_an_sdk_that_does_not_sample(samples, tmp_path):
    """Of another release: it lacks a function that samples need."""
    (tmp_path / "own").mkdir()
    code = Path(sdk_folder(), "librocprofiler-sdk.so.1").read_bytes()
    library = tmp_path / "own/librocprofiler-sdk.so.1"
    library.write_bytes(code.replace(b"\0rocprofiler_configure_pc_sampling_service\0", b"\0rocprofiler_configure_pc_sampling_servant\0"))
    assert library.read_bytes() != code
    ran = sampled(tmp_path, samples, fail="no-sdk", ROCPROFILER_REGISTER_LIBRARY=str(library))
    assert is_unsampled(ran, "rocprofiler-sdk has no samples") and (ran.status, ran.out) == (0, "no error\n")


def test_without_amds_variable(samples, tmp_path):
    """By which the user accepts a risk: so sonde does not set it."""
    ran = sampled(tmp_path, samples, **{BETA: ""})
    assert is_unsampled(ran, f"it needs {BETA}=1, by which the user accepts that a device may freeze")


def test_counters_beside_samples(samples, tmp_path):
    """AMD warns that a device may hang where both are in use: so `sonde run` refuses."""
    if "--gpu-counters" not in program.sonde("run", "-h"):
        pytest.skip("no --gpu-counters in this build")
    done = subprocess.run([RUN, "--rocm", SONDE, "run", "-q", "-o", tmp_path / "run", "--gpu-samples", "--gpu-counters", "SQ_WAVES", "--", samples],
                          capture_output=True, text=True, timeout=60, env={**os.environ, BETA: "1"})
    assert done.returncode == 128 and "--gpu-counters and --gpu-samples exclude each other" in done.stderr


@pytest.mark.parametrize("fail,said", [("sdk-pc-flush", "its last samples"), ("stop", "its last records"), ("flush", "its last records")])
def test_an_sdk_that_never_answers_does_not_keep_the_program(samples, tmp_path, fail, said):
    started = time.monotonic()
    ran = sampled(tmp_path, samples, fail=fail)
    assert (ran.status, ran.out) == (0, "no error\n") and time.monotonic() - started < 60
    assert ran.line() == f"rocprofiler-sdk did not deliver {said} in 3 seconds"
    if fail == "sdk-pc-flush":
        assert measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel)


# ---- without ----


def test_without_the_option_nothing_is_sampled(samples, tmp_path):
    ran = sampled(tmp_path, samples, options=())
    assert not ran.samples and "gpu-samples" not in metrics(ran) and "sampled" not in ran.line()
    assert not list((ran.folder / "run.sonde").glob("*.sonde-code-object"))


def test_a_program_that_launches_nothing(samples, tmp_path):
    ran = sampled(tmp_path, samples, "idle")
    assert ran.out == "no error\n" and not ran.samples and not lost(ran)


def test_a_measurement_in_the_place_of_another(samples, plan, tmp_path):
    """What that has kept goes with it."""
    for _ in range(2):
        ran = sampled(tmp_path, samples, plan=plan)
    assert ran.status == 0 and count(ran) == ran.taken() and len(list((tmp_path / "run.sonde").glob("*.sonde-code-object"))) == 1


def test_a_measurement_that_was_moved(stochastic, tmp_path):
    before = [([frame["name"] for frame in frames], count) for frames, count in stored(stochastic)]
    subprocess.run(["cp", "-r", stochastic.folder / "run.sonde", tmp_path], check=True)
    # where the code was kept there is none any more
    (kept,) = (stochastic.folder / "run.sonde").glob("*.sonde-code-object")
    kept.rename(tmp_path / "away")
    try:
        program.sonde("analyze", tmp_path / "run.sonde", "-o", tmp_path / "run.sdb")
    finally:
        (tmp_path / "away").rename(kept)
    assert [([frame["name"] for frame in frames], count) for frames, count in stored(Ran("", tmp_path, [], 0))] == before
