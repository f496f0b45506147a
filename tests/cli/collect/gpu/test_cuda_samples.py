# SPDX-License-Identifier: Apache-2.0
"""Samples of the instructions of CUDA kernels, on devices that are not there: each stands on the line that NVIDIA's disassembler names, with
its reason, and what was taken is what is stored and what is lost. SONDE_FAKE_CUDA is as test_cuda.py has it."""
from __future__ import annotations

import os
import re
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pages
import program
import pytest
from on_devices import (Ran, Sampling, below_kernel, by_launch, by_place, is_kernel, kernel_of, lost, measured, metrics, rows_of, short,
                        stored)
from program import SONDE, WORKLOADS
from test_cuda import FAKE, NODES, line_with, on_fakes
from test_cuda import pytestmark  # noqa: F401  (the same condition)
from test_cupti import RELEASES, fake, status, tool  # noqa: F401 (fixtures)

SOURCE = WORKLOADS / "cuda/samples.cu"
SERIALIZED = ("--gpu-samples=serialized",)
CONTINUOUS = ("--gpu-samples",)
FAILURES = ["pc-enable", "pc-privileges", "pc-count", "pc-reasons", "pc-configure", "pc-data", "pc-disable", "pc-crc"]


@dataclass
class Sampled(Ran, Sampling):
    samples: list[dict[str, str]]


def sampled(folder: Path, *command: str | Path, options: tuple[str, ...], fakes: tuple[str, ...] = (), **environment: str) -> Sampled:
    ran = on_fakes(folder, *command, options=options, fakes=("--sample-table", str(folder / "samples.csv"), *fakes), **environment)
    return Sampled(ran.out, ran.folder, ran.table, rows_of(folder / "samples.csv"))


@pytest.fixture(scope="module")
def samples(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("cuda") / "samples"
    subprocess.run([FAKE, "nvcc", "-g", "-O1", "-lineinfo", "-arch=sm_90", "--no-compress", "-o", output, SOURCE], check=True)
    return output


@pytest.fixture(scope="module")
def serialized(samples, tmp_path_factory) -> Sampled:
    return sampled(tmp_path_factory.mktemp("serialized"), samples, options=SERIALIZED)


@pytest.fixture(scope="module")
def continuous(samples, tmp_path_factory) -> Sampled:
    return sampled(tmp_path_factory.mktemp("continuous"), samples, options=CONTINUOUS)


# ---- the truth about the code ----


@dataclass
class Code:
    """A kept cubin: where its kernels' sections begin, and the line of each instruction by NVIDIA's disassembler."""

    starts: dict[str, int]
    lines: dict[tuple[str, int], str]


def sections(cubin: bytes) -> dict[str, int]:
    start, size, count, names = (struct.unpack_from(f, cubin, at)[0] for f, at in (("<Q", 0x28), ("<H", 0x3a), ("<H", 0x3c), ("<H", 0x3e)))
    headers = [struct.unpack_from("<IIQQQQ", cubin, start + index * size) for index in range(count)]
    text = cubin[headers[names][4]:headers[names][4] + headers[names][5]]
    return {text[header[0]:text.index(b"\0", header[0])].decode(): header[4] for header in headers}


def code_of(ran: Ran) -> Code:
    kept = list((ran.folder / "run.sonde").glob("*.sonde-cubin"))
    assert len(kept) == 1
    starts = {name[6:]: at for name, at in sections(kept[0].read_bytes()).items() if name.startswith(".text.")}
    tools = next(Path.home().glob(".cache/sonde-test/cuda-toolkit-*/nvidia/*/bin")) if "SONDE_TEST_CACHE" not in os.environ \
        else next(Path(os.environ["SONDE_TEST_CACHE"]).glob("cuda-toolkit-*/nvidia/*/bin"))
    text = subprocess.run([tools / "nvdisasm", "-c", "-gi", kept[0]], capture_output=True, text=True, check=True).stdout
    lines, section, here, fresh = {}, "", "", True
    for line in text.splitlines():
        if match := re.match(r"\s*\.section\s+\.text\.([^,\s]*)", line):
            section, here = match[1].strip('"'), ""
        elif match := re.match(r'\s*//## File "([^"]*)", line (\d+)', line):
            if fresh:
                here, fresh = f"{Path(match[1]).name}:{match[2]}", False
        elif match := re.match(r"\s+/\*([0-9a-f]{4,})\*/", line):
            if here:
                lines[section, int(match[1], 16)] = here
            fresh = True
    return Code(starts, lines)


# ---- what is stored ----


@pytest.mark.parametrize("mode", ["serialized", "continuous"])
def test_a_program_behaves_as_without(request, mode):
    ran = request.getfixturevalue(mode)
    assert ran.out == "no error\n" and status(ran).endswith(
        "; instructions sampled, kernels one at a time" if mode == "serialized" else "; instructions sampled")
    assert measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel)


@pytest.mark.parametrize("mode", ["serialized", "continuous"])
def test_each_sample_stands_on_its_line(request, mode):
    ran = request.getfixturevalue(mode)
    code = code_of(ran)
    expected = {(short(kernel), code.starts[kernel] + int(pc, 16), code.lines.get((kernel, int(pc, 16)), "")): count
                for (kernel, pc), count in ran.sampled("kernel", "pc").items()}
    found = by_place(ran)
    assert found == expected and sum(found.values()) > 1000
    assert {line for _, _, line in found} >= {f"samples.cu:{number(text)}" for text in ("// inlined", "// loop", "// not inlined")}


def number(text: str) -> int:
    return int(line_with("samples.cu", text).rpartition(":")[2])


@pytest.mark.parametrize("mode", ["serialized", "continuous"])
def test_each_sample_has_its_reason(request, mode):
    ran = request.getfixturevalue(mode)
    stalls = 0
    for (reason,), count in ran.sampled("reason").items():
        if reason == "selected":
            continue
        assert sum(count for _, count in stored(ran, "stall-" + reason.replace("_", "-"))) == count
        stalls += count
    assert sum(count for _, count in stored(ran, "gpu-samples-stalled")) == stalls > 0
    assert "stall-selected" not in metrics(ran) and sum(count for _, count in stored(ran)) == ran.taken() > stalls
    assert not lost(ran) and not lost(ran, "gpu-sample-hidden")


def test_loops_and_inlined_calls(serialized):
    inlined = [below_kernel(frames) for frames, _ in stored(serialized) if frames[-2]["name"] == f"samples.cu:{number('// inlined')}"]
    kinds = [[frame["kind"] for frame in frames] for frames in inlined]
    assert kinds and all("inlined" in each for each in kinds) and any("gpu-loop" in each for each in kinds)
    assert {short(frame["name"]) for frames in inlined for frame in frames if frame["kind"] == "inlined"} == {"look_up"}
    # a function that is called stands below the line that calls it
    called = [frames for frames, _ in stored(serialized) if frames[-2]["name"] == f"samples.cu:{number('// not inlined')}"]
    for frames in called:
        functions = [short(frame["name"]).rpartition("$")[2] for frame in frames if frame["kind"] == "gpu-function"]
        assert functions[0] == "call" and functions[1] == "far_away", functions
        assert any(frame["name"] == f"samples.cu:{number('// call')}" for frame in frames)
    assert called


def test_samples_are_those_of_their_launch(serialized):
    walk, call = serialized.per_launch("walk", 40), serialized.per_launch("call", 20)
    assert by_launch(serialized, SOURCE) == {("walk", number("// first")): 30 * walk, ("walk", number("// second")): 10 * walk,
                                     ("call", number("// alone")): 20 * call}


def test_samples_are_divided_by_time_where_their_launch_is_not_known(continuous):
    """All launches of the kernel take as long, so that by time is by number."""
    walk, call = continuous.per_launch("walk", 40), continuous.per_launch("call", 20)
    found = by_launch(continuous, SOURCE)
    assert found["call", number("// alone")] == 20 * call and set(found) == {
        ("walk", number("// first")), ("walk", number("// second")), ("call", number("// alone"))}
    assert abs(found["walk", number("// first")] - 30 * walk) <= 1
    assert found["walk", number("// first")] + found["walk", number("// second")] == 40 * walk


@pytest.mark.parametrize("options", [SERIALIZED, CONTINUOUS])
@pytest.mark.parametrize("release", RELEASES)
def test_each_release(samples, tmp_path, release, options):
    ran = sampled(tmp_path, samples, options=options, fakes=("--cupti", release, "--fail", "strict"))
    assert ran.out == "no error\n" and not lost(ran)
    assert sum(count for _, count in stored(ran)) == ran.taken() > 0
    walk = ran.per_launch("walk", 40)
    assert abs(by_launch(ran, SOURCE)["walk", number("// first")] - 30 * walk) <= (options is CONTINUOUS)


def test_what_is_planned_is_what_is_reported(samples, serialized, tmp_path):
    """One instruction of the inlined line, stalled on memory."""
    code = code_of(serialized)
    kernel, pc = next(place for place, line in sorted(code.lines.items()) if line == f"samples.cu:{number('// inlined')}")
    plan = tmp_path / "plan"
    plan.write_text(f"{kernel} {pc:x} long_scoreboard 700\n{kernel} {pc:x} selected 300\n")
    ran = sampled(tmp_path, samples, options=SERIALIZED, fakes=("--samples", str(plan)))
    text = program.sonde("report", ran.folder / "run.sdb", "--metric", "stall-long-scoreboard", "--source", SOURCE.parent)
    assert sum(count for _, count in stored(ran, "stall-long-scoreboard")) == 40 * 700
    assert sum(count for _, count in stored(ran)) == 40 * 1000
    assert {frames[-2]["name"] for frames, _ in stored(ran)} == {f"samples.cu:{number('// inlined')}"}
    hottest = text.split("hottest lines of your code")[1].split("call paths")[0]
    assert re.search(rf"100\.0% +28\.0k  samples\.cu:{number('// inlined')}  return x \* table", hottest), text


def test_the_page_has_lines_of_the_device(serialized, tmp_path):
    """With their source; instructions are their lines'."""
    page = tmp_path / "page.html"
    program.sonde("export", "--to", "html", "-o", page, "--source", SOURCE.parent, serialized.folder / "run.sdb")
    of_page = pages.page_columns(page)
    text = ["", *of_page["string"]]
    frames = zip(*(of_page[f"frame.{part}"] for part in ("user", "name", "line", "source")))
    shown = {(text[name + 1], line, text[source]) for user, name, line, source in frames if user and text[name + 1].startswith(("samples.cu", "0x"))}
    assert (f"samples.cu:{number('// inlined')}", number("// inlined"), "return x * table[(int)x & 255]; // inlined") in shown
    assert not any(name.startswith("0x") for name, _, _ in shown)


# ---- graphs ----


def test_graphs_node_by_node(samples, tmp_path):
    ran = sampled(tmp_path, samples, "graph", options=(*CONTINUOUS, *NODES))
    beside = [frames for frames, _ in stored(ran) if any(frame["name"] == "[as captured]" for frame in frames)]
    assert sum(count for _, count in stored(ran)) == ran.taken() and beside and not lost(ran)
    assert {line for kernel, line in by_launch(ran, SOURCE) if kernel == "once"} == {number("// captured too")}


def test_graphs_as_a_whole_have_samples_without_callers(samples, tmp_path):
    """Their kernels have no records, so it is not known which of them launched what."""
    ran = sampled(tmp_path, samples, "graph", options=CONTINUOUS)
    assert sum(count for _, count in stored(ran)) == ran.taken() and not lost(ran)
    assert {line: count for (kernel, line), count in by_launch(ran, SOURCE).items() if kernel == "once"} == {0: 15 * ran.per_launch("once", 15)}
    assert all(frames[0]["name"] == "[callers unknown]" or frames[1]["name"] == "[callers unknown]"
               for frames, _ in stored(ran) if kernel_of(frames) == "once")


@pytest.mark.parametrize("release", ["11.8", "13.2"])
def test_graphs_one_kernel_at_a_time(samples, tmp_path, release):
    ran = sampled(tmp_path, samples, "graph", options=SERIALIZED, fakes=("--cupti", release))
    found = by_launch(ran, SOURCE)
    assert found["call", number("// replay")] == 15 * ran.per_launch("call", 35)
    assert found["once", number("// replay")] == 15 * ran.per_launch("once", 15)
    assert sum(count for _, count in stored(ran)) == ran.taken() and not lost(ran)


# ---- modules ----


@pytest.fixture(scope="module")
def modules(tmp_path_factory) -> tuple[Path, Path]:
    """A program of the driver's interface, and the cubin that it loads."""
    folder = tmp_path_factory.mktemp("modules")
    subprocess.run([FAKE, "nvcc", "-g", "-O1", "-arch=sm_90", "-o", folder / "modules", WORKLOADS / "cuda/modules.cu", "-ldl"], check=True)
    subprocess.run([FAKE, "nvcc", "-lineinfo", "-arch=sm_90", "-cubin", "-o", folder / "walk.cubin", SOURCE], check=True)
    return folder / "modules", folder / "walk.cubin"


@pytest.mark.parametrize("options", [SERIALIZED, CONTINUOUS])
def test_a_module_that_comes_and_goes(modules, tmp_path, options):
    """It is one each time, and kept once."""
    ran = sampled(tmp_path, modules[0], modules[1], "5", "8", options=options)
    assert ran.out == "40\n" and not lost(ran)
    assert sum(count for _, count in stored(ran)) == ran.taken() == 40 * ran.per_launch("walk", 40) > 0
    code = code_of(ran)
    found = {frames[-2]["name"] for frames, _ in stored(ran) if frames[-2]["kind"] == "gpu-line"}
    assert found == {line for (kernel, pc), line in code.lines.items() if (kernel, f"{pc:x}") in ran.sampled("kernel", "pc")}


@pytest.mark.measures
def test_memory_does_not_grow_with_time(modules, tmp_path):
    """CUPTI's buffers of a megabyte are made as they are needed: the first run has them all, but for one."""
    peaks = []
    for launches in ("12000", "48000"):
        folder = tmp_path / launches
        folder.mkdir()
        ran = sampled(folder, modules[0], modules[1], "1", launches, options=CONTINUOUS)
        assert sum(count for _, count in stored(ran)) == ran.taken() and not lost(ran)
        peaks.append(int(program.info(folder)["properties"]["peak_bytes"]))
    assert peaks[1] <= peaks[0] + (3 << 19)


# ---- contexts ----


@pytest.fixture(scope="module")
def contexts(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("contexts") / "contexts"
    subprocess.run([FAKE, "nvcc", "-g", "-O1", "-arch=sm_90", "--no-compress", "-o", output, WORKLOADS / "cuda/contexts.cu"], check=True)
    return output


def planned(folder: Path, *lines: str) -> tuple[str, str]:
    (folder / "plan").write_text("".join(f"{line}\n" for line in lines))
    return "--samples", str(folder / "plan")


def by_kernel(ran: Ran) -> dict[str, int]:
    found: dict[str, int] = {}
    for frames, count in stored(ran):
        found[kernel_of(frames)] = found.get(kernel_of(frames), 0) + count
    return found


def test_a_context_that_is_created_while_samples_are_read(contexts, tmp_path):
    """Reading lasts longer than the creation waits: whoever reads begins it."""
    plan = planned(tmp_path, "_Z5first* 0 wait 5", "_Z6second* 0 wait 7")
    ran = sampled(tmp_path, contexts, "reading", options=CONTINUOUS, fakes=("--fail", "pc-slow", *plan), FAKE_DEVICES="2")
    assert ran.out == "no error\n" and not lost(ran)
    assert by_kernel(ran) == {"first": 21 * 5, "second": 20 * 7}


@pytest.mark.parametrize("devices,left", [(16, 0), (17, 1), (24, 8)])
def test_contexts_for_which_there_is_no_place(contexts, tmp_path, devices, left):
    ran = sampled(tmp_path, contexts, "many", options=SERIALIZED, fakes=planned(tmp_path, "_Z5first* 0 wait 5"), FAKE_DEVICES=str(devices))
    assert ran.out == "no error\n" and not lost(ran)
    assert by_kernel(ran) == {"first": 16 * 5} and measured(ran, "kernel-time", "count").total() == devices
    assert status(ran).endswith("; instructions sampled, kernels one at a time" +
                                (f"; contexts beyond 16 at a time are not sampled ({left})" if left else ""))


# ---- what goes wrong ----


@pytest.mark.parametrize("release", ["11.8", "13.2"])
@pytest.mark.parametrize("failure", FAILURES)
def test_a_function_that_fails_leaves_all_else(samples, tmp_path, failure, release):
    ran = sampled(tmp_path, samples, options=SERIALIZED, fakes=("--cupti", release, "--fail", failure))
    assert ran.out == "no error\n"
    assert measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel)
    line = status(ran)
    assert "instructions are not sampled: " in line
    assert ("RmProfilingAdminOnly" if failure == "pc-privileges" else "fails with error 999") in line
    # disabling is the last
    assert (sum(count for _, count in stored(ran)) > 0) == (failure == "pc-disable")


def test_a_failure_hides_no_later_line(tool, tmp_path):  # noqa: F811
    ran = on_fakes(tmp_path, tool, "later", options=SERIALIZED, fakes=("--fail", "pc-enable"))
    assert re.search(r"then tool took CUPTI; instructions are not sampled: cuptiPCSamplingEnable fails with error 999$", status(ran))


def test_records_that_are_longer_than_asked(samples, tmp_path):
    ran = sampled(tmp_path, samples, options=SERIALIZED, fakes=("--fail", "pc-length"))
    assert ran.out == "no error\n" and not stored(ran)
    assert status(ran).endswith("; instructions are not sampled: cuptiPCSamplingGetData gives records of an unknown length")
    assert "instructions sampled" not in status(ran)
    assert measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel)


def test_a_library_that_lacks_a_function(samples, fake, tmp_path):  # noqa: F811
    """The fake's own, with another name in the place of one."""
    whole = next(path for path in (fake / "cupti-13.2").glob("libcupti.so.*") if not path.is_symlink())
    lacking = tmp_path / whole.name
    lacking.write_bytes(whole.read_bytes().replace(b"\0cuptiPCSamplingDisable\0", b"\0cuptiPCSamplingDisablf\0"))
    ran = sampled(tmp_path, samples, options=SERIALIZED, LD_PRELOAD=str(lacking))
    assert ran.out == "no error\n" and not ran.samples
    assert status(ran).endswith("; instructions are not sampled: cuptiPCSamplingDisable is missing")
    assert measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel)


@pytest.mark.parametrize("options", [SERIALIZED, CONTINUOUS])
@pytest.mark.parametrize("failure", ["pc-drop", "pc-full"])
def test_what_is_lost_is_counted(samples, tmp_path, failure, options):
    ran = sampled(tmp_path, samples, "apart", options=options, fakes=("--fail", failure))
    assert ran.out == "no error\n" and "instructions sampled" in status(ran)
    assert ran.taken("lost") == lost(ran) > 0
    assert sum(count for _, count in stored(ran)) + lost(ran) == ran.taken()


@pytest.mark.parametrize("options", [SERIALIZED, CONTINUOUS])
def test_what_comes_when_sampling_ends(samples, tmp_path, options):
    """As many instructions of launches as its buffer holds: what is beyond that CUPTI drops in silence."""
    plan = tmp_path / "plan"
    plan.write_text("_Z4* 0 wait 3\n_Z4* 30 selected 2\n")
    ran = sampled(tmp_path, samples, options=options, fakes=("--fail", "pc-late", "--samples", str(plan)))
    assert sum(count for _, count in stored(ran)) == ran.taken() > 0 and not lost(ran)


def test_without_the_option_nothing_is_sampled(samples, tmp_path):
    ran = sampled(tmp_path, samples, options=())
    assert not ran.samples and "gpu-samples" not in metrics(ran) and "sampled" not in status(ran)
    assert not list((ran.folder / "run.sonde").glob("*.sonde-cubin"))


def test_a_program_that_launches_nothing(samples, tmp_path):
    ran = sampled(tmp_path, samples, "idle", options=CONTINUOUS)
    assert ran.out == "no error\n" and not ran.samples and not lost(ran)


# ---- the option ----


def begun(folder: Path, option: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SONDE, "run", "-q", "-o", folder / "run", option, "--", "true"], capture_output=True, text=True)


@pytest.mark.parametrize("option,said,unsaid", [
    ("--gpu-samples", "CUDA kernels run as they would", "runs alone"), ("--gpu-samples=continuous@1024", "CUDA kernels run as they would", "runs alone"),
    ("--gpu-samples=serialized", "each CUDA kernel runs alone", "as they would"), ("--gpu-samples=off", "", "kernel"), ("-q", "", "kernel")])
def test_what_a_mode_costs_is_said_before(tmp_path, option, said, unsaid):
    done = begun(tmp_path, option)
    assert done.returncode == 0 and said in done.stderr and unsaid not in done.stderr


@pytest.mark.parametrize("how,why", [("", ""), ("idle", "the driver has given none"), (None, "no CUDA driver in this process")])
def test_that_nothing_was_sampled_is_said_at_the_end(samples, tmp_path, how, why):
    program = ["true"] if how is None else [samples, how]
    done = subprocess.run([FAKE, SONDE, "run", "-o", tmp_path / "run", "--gpu-samples", "--", *program], capture_output=True, text=True, check=True)
    said = [line for line in done.stderr.splitlines() if "no instruction was sampled" in line]
    assert said == ([f"sonde: --gpu-samples: no instruction was sampled: {why}"] if why else [])


@pytest.mark.parametrize("value", ["", "often", "serialized@", "serialized@1000", "serialized@16", "continuous@4294967296", "off@64", "serialized 64"])
def test_a_value_that_is_none(tmp_path, value):
    done = begun(tmp_path, f"--gpu-samples={value}")
    assert done.returncode == 129 and done.stderr.count("\n") <= 2 and "--gpu-samples" in done.stderr
    assert not (tmp_path / "run.sonde").exists()


def test_a_period_is_passed_on(samples, tmp_path):
    """One that CUPTI refuses is none that the option takes."""
    for option, exponent in (("", "0"), ("@32", "5"), ("@2147483648", "31")):
        folder = tmp_path / exponent
        folder.mkdir()
        ran = sampled(folder, samples, options=(f"--gpu-samples=serialized{option}",))
        assert stored(ran) and {row["period"] for row in ran.samples} == {exponent}


def test_a_measurement_that_was_moved(samples, tmp_path):
    ran = sampled(tmp_path, samples, options=SERIALIZED)
    before = [([frame["name"] for frame in frames], count) for frames, count in stored(ran)]
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (ran.folder / "run.sonde").rename(moved / "run.sonde")
    program.sonde("analyze", moved / "run.sonde", "-o", moved / "run.sdb")
    assert [([frame["name"] for frame in frames], count) for frames, count in stored(Ran("", moved, []))] == before
