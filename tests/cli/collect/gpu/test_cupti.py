# SPDX-License-Identifier: Apache-2.0
"""CUPTI's releases and its reported failures (tests/fake): the fake is as NVIDIA's headers and libraries are, the program does not
notice that it is measured, and what is missing is counted. SONDE_FAKE_CUDA is as test_cuda.py has it."""
from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Callable

import program
import pytest
from fake_table import count_of, is_part, places, stored, taken, traced
from program import ROOT, SONDE, WORKLOADS
from real_cupti import CUPTI, installed, library, probe
from test_cuda import ARE_FEW, FAKE, NODES, Ran, is_kernel, measured, on_fakes, pytestmark  # noqa: F401 (a mark)

FAKES = ROOT / "tests/fake"
KNOWN = [name.replace("_", ".") for name in re.findall(r"^RELEASE\((\w+)", (CUPTI / "releases.def").read_text(), re.M)]
# of 13.1 all that is measured lies as in 13.2
RELEASES = [release for release in KNOWN if release != "13.1"]
# NVIDIA's, which answer without a driver; 13.2 crashes, and what is newer answers 999
REAL = [release for release in KNOWN if release not in ("13.2", "13.5")]

PROFILED = ("python3", WORKLOADS / "cuda/profiled.py", "2")


@pytest.fixture(scope="module")
def fake() -> Path:
    return Path(os.environ["SONDE_FAKE_CUDA"])


def headers(release: str) -> Path:
    if ARE_FEW and release != RELEASES[-1]:
        pytest.skip("other releases of CUPTI are fetched by make test-all (SONDE_TEST_CUDA=1)")
    return installed(release)


# ---- the fake ----


@pytest.mark.parametrize("release", KNOWN)
def test_the_fake_is_as_the_headers_are(release):
    include = headers(release)
    names = subprocess.run([CUPTI / "records.sh", include], capture_output=True, text=True, check=True).stdout.split()
    done = subprocess.run(["gcc", "-std=gnu17", "-Wno-enum-compare", *names, f"-DFAKE_RELEASE={release.replace('.', '_')}",
                           f"-I{include}", f"-I{ROOT / 'src'}", "-fsyntax-only", CUPTI / "layout.c"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


HEADERS = ["cupti.h", "cupti_pcsampling.h", "cupti_profiler_target.h", "cupti_target.h", "cupti_profiler_host.h", "cupti_range_profiler.h",
           "cupti_pmsampling.h"]


@pytest.fixture(scope="session")
def without_cpp(tmp_path_factory) -> Path:
    """C++'s <string>, which one header before 13.2 includes and does not use."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "string").touch()
    return folder


def declared(include: Path, without_cpp: Path) -> set[str]:
    text = subprocess.run(["gcc", "-E", "-P", f"-I{without_cpp}", f"-I{include}", "-x", "c",
                           *(part for header in HEADERS if (include / header).exists() for part in ("-include", include / header)), "/dev/null"],
                          capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\b(cupti[A-Z]\w+)\s*\(", text))


@pytest.mark.parametrize("release", KNOWN)
def test_the_fake_has_the_functions_of_its_release(fake, without_cpp, release):
    """But for cuptiDeviceGetTimestamp, which only 11.8 has."""
    newest = declared(headers(RELEASES[-1]), without_cpp)
    found = probe("functions", library(fake / f"cupti-{release}"), text=" ".join(sorted(newest))).split()
    assert set(found) == declared(headers(release), without_cpp) & newest


@pytest.fixture(scope="module")
def dumps(known_program, tmp_path_factory):
    """Of each release the buffers of one run, raw."""
    @cache
    def of(release: str, failure: str = "none") -> Path:
        folder = tmp_path_factory.mktemp("dump")
        on_fakes(folder, known_program, options=NODES, fakes=("--cupti", release, "--fail", failure), FAKE_CUPTI_DUMP=str(folder / "dump"))
        return folder / "dump"
    return of


# a number without a name in NVIDIA's headers
UNDOCUMENTED = re.compile(r"cuda\d+")


@pytest.mark.parametrize("release", REAL)
def test_calls_have_the_names_of_real_cupti(fake, release):
    """By which the adapter chooses what it hears: each number and name, and where the numbers end."""
    real = probe("calls", library(headers(release).parent / "lib")).splitlines()
    ours = probe("calls", library(fake / f"cupti-{release}")).splitlines()
    assert len(ours) == len(real) > 1000
    different = [(one, other) for one, other in zip(real, ours) if one != other]
    assert all(UNDOCUMENTED.fullmatch(other.split()[2]) for _, other in different) and len(different) < 100


@pytest.mark.parametrize("release", REAL)
def test_real_cupti_steps_over_the_fakes_records(fake, dumps, release):
    real = library(headers(release).parent / "lib")
    ours = probe("step", library(fake / f"cupti-{release}"), dumps(release))
    assert ours.count("\n") > 165 and ours.endswith("end True\n")
    assert probe("step", real, dumps(release)) == ours


@pytest.mark.parametrize("release", REAL)
def test_real_cupti_does_not_tell_of_a_part_of_a_record(fake, dumps, release):
    """As the fake, where buffers end inside of records: nothing but their length shows it."""
    real = library(headers(release).parent / "lib")
    cut = dumps(release, "cut-buffers")
    ours = probe("step", library(fake / f"cupti-{release}"), cut)
    assert ours.count("end True\n") > 8 and ours.count("\n") > 165
    assert probe("step", real, cut) == ours


@pytest.mark.parametrize("release", REAL)
def test_without_a_driver_the_fake_refuses_as_the_real_one_does(fake, release):
    real, ours = library(headers(release).parent / "lib"), library(fake / f"cupti-{release}")
    for what in ("version", "subscribe"):
        assert probe(what, ours, FAKE_FAIL="strict") == probe(what, real) != ""


@pytest.mark.parametrize("scenarios,unknown", [("nonsense", "nonsense"), ("drop,early,nonsense", "nonsense"), ("drop,", ""), ("*", "*"),
                                                ("the second all", "the second all"), ("counter-lost", "counter-lost")])
def test_an_unknown_scenario_is_refused(scenarios, unknown):
    """Also one of another vendor's devices. The command does not run."""
    done = subprocess.run([FAKE, "--fail", scenarios, "echo", "ran"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (128, "", f"run.sh: cuda has no scenario '{unknown}'\n")


def test_all_scenarios_are_listed():
    """That the fakes' sources look for."""
    text = "".join(path.read_text() for part in ("cuda", "cupti", "device") for path in (FAKES / part).glob("*.c"))
    known = sorted(set(re.findall(r"fake_fails(?:_now)?\(\"([a-z-]+)\"", text)))
    done = subprocess.run([FAKE, "--fail", ",".join(known), "echo", "ran"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", "") and len(known) > 50


def test_kinds_that_newer_releases_lack(fake):
    def kinds(release):
        return set(map(int, probe("kinds", library(fake / f"cupti-{release}"), LD_LIBRARY_PATH=str(fake / "cuda")).split()))
    assert kinds("12.9") - kinds("13.0") == {6, 7, 14, 15, 16, 21, 23, 24, 29, 30, 31, 32, 41, 42, 43, 44}
    assert kinds("13.5") - kinds("13.0") == {56, 57, 58, 59}


# ---- the adapter ----


def status(ran: Ran) -> str:
    return program.info(ran.folder)["properties"]["adapter.cuda"]


def losses(ran: Ran) -> dict[str, int]:
    return {name: count for name, count in program.info(ran.folder).get("drops", {}).items() if name.startswith("gpu-")}


def kernels(ran: Ran) -> int:
    text = program.sonde("report", ran.folder / "run.sdb", "--format", "json", "--metric", "kernel-time", check=None)
    return sum(measured(ran, "kernel-time", "count").values()) if text else 0


def plain(*command: str | Path, fakes: tuple[str, ...] = ()) -> str:
    return subprocess.run([FAKE, *fakes, *command], capture_output=True, text=True, timeout=600, check=True).stdout


TRACED = (*NODES, "--trace")


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("are_graphs_whole", [False, True], ids=["nodes", "whole"])
def test_each_release(known_run, release, are_graphs_whole):
    """Also that nothing of CUPTI is called before the driver is initialised. Where CUPTI is shared graphs are always node by node."""
    has_whole = are_graphs_whole and release != "13.5"
    ran = known_run(options=("--trace",) if are_graphs_whole else TRACED, fakes=("--cupti", release, "--fail", "strict"),
                    **({"FAKE_TABLE_GRAPHS": "1"} if are_graphs_whole else {}))
    truth = {row: amount for row, amount in taken(ran.table).items() if not row.graph or (row.kernel == "graph") == has_whole}
    assert ran.out == "0 no error\n" and not losses(ran)
    assert traced(ran.folder) == truth and stored(ran.folder) == places(truth)
    assert count_of(truth) == 4 + 125 + (10 if has_whole else 40)


# after these nothing more comes
ENDING = ("flush-hangs", "lost-device")
# how much is lost of 165 kernels, of which 40 are in graphs, and four more; the rest depends on how records of other kinds come between
LOST = {"zero-times": 165 // 10, "reversed-times": 165 // 10, "wrong-correlation": 165 // 10, "no-correlation": 165, "short-records": 169,
        "cut-buffers": 165 // 20, "odd-kind": 165 // 20, "graph-correlation": 40}


def failed(known_run, release: str, failure: str) -> Ran:
    return known_run(*(("plain",) if failure.split(",")[-1] in ENDING else ()), options=TRACED, fakes=("--cupti", release, "--fail", failure))


@pytest.fixture(scope="module")
def printed(known_program) -> Callable[[str], str]:
    """What it prints without, by what fails: the same with each release, for nobody asks CUPTI."""
    @cache
    def of(failure: str) -> str:
        return plain(known_program, *(("plain",) if failure.split(",")[-1] in ENDING else ()), fakes=("--fail", failure))
    return of


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("failure,loss", [
    ("zero-times", "gpu-untimed"), ("reversed-times", "gpu-untimed"), ("wrong-correlation", "gpu-lost"), ("drop", "gpu-lost"),
    ("no-correlation", "gpu-lost"), ("short-records", "gpu-lost"), ("cut-buffers", "gpu-lost"), ("odd-kind", "gpu-lost"),
    ("graph-correlation", "gpu-lost"), ("flush-hangs", "gpu-lost"), ("lost-device", "gpu-lost"), ("late-buffers", None), ("unload", None),
    ("early", None), ("clock-again", None), ("two-cuptis", None), ("driver-calls", None), ("driver-numbers", None),
    ("driver-numbers,flush-hangs", "gpu-lost")])
def test_each_failure(known_run, printed, release, failure, loss):
    """What ran is what is stored, row by row, and what is counted as lost."""
    ran = failed(known_run, release, failure)
    assert ran.out == printed(failure)
    lost, truth = losses(ran), taken(ran.table)
    in_tree, in_trace = stored(ran.folder), traced(ran.folder)
    assert set(lost) == ({loss} if loss else set())
    assert is_part(in_tree, places(truth)) and is_part(in_trace, truth)
    assert 40 < count_of(truth) == count_of(in_tree) + sum(lost.values())
    # those have no places in time
    assert failure == "early" or count_of(in_trace) == count_of(in_tree)
    assert sum(lost.values()) == LOST.get(failure, sum(lost.values())) and any(lost.values()) == bool(loss)


def test_a_program_that_is_stopped_while_it_ends(known_program, tmp_path):
    """For longer than CUPTI is waited for: it does not hang."""
    with subprocess.Popen([FAKE, "--fail", "flush-slow", SONDE, "run", "-q", "-o", tmp_path / "run", "--", known_program, "plain"], text=True,
                          stdout=subprocess.PIPE, start_new_session=True) as running:
        assert running.stdout.readline() == "0 no error\n"
        time.sleep(0.5)
        os.killpg(running.pid, signal.SIGSTOP)
        time.sleep(3)
        os.killpg(running.pid, signal.SIGCONT)
        assert running.wait(60) == 0
    ran = Ran("", tmp_path, [])
    assert kernels(ran) == 125 and not losses(ran) and "hung" not in status(ran)


def test_replays_whose_calls_are_not_known(known_run):
    ran = known_run(options=("--trace",), fakes=("--cupti", "13.2", "--fail", "graph-correlation"), FAKE_TABLE_GRAPHS="1")
    alone = {row: amount for row, amount in taken(ran.table).items() if not row.graph}
    assert traced(ran.folder) == alone and losses(ran) == {"gpu-lost": 10}


@pytest.mark.parametrize("release", ["11.8", "13.5"])
@pytest.mark.parametrize("failure,line", [
    ("hardware-busy", "another tool has the device's performance monitors"),
    ("virtual-device", "CUPTI does not profile a virtual GPU (vGPU)"),
    ("confidential", "CUPTI does not profile while confidential computing is on"),
    ("mig", "CUPTI does not profile an instance of a divided GPU (MIG)"),
    ("copies-refused", "CUPTI refuses"), ("sets-refused", "CUPTI refuses")])
def test_what_is_refused_is_said(known_run, release, failure, line):
    """When subscribing, or when kinds of records are enabled; also where that is one kind alone. Nothing is measured by halves."""
    for scenario in (failure,) if failure.endswith("-refused") else (failure, f"{failure},at-subscribing"):
        ran = known_run(options=TRACED, fakes=("--cupti", release, "--fail", scenario))
        assert ran.out == "0 no error\n" and status(ran) == line
        assert not any(amount.count or amount.total_ns for amount in stored(ran.folder).values()) and not losses(ran)


@pytest.mark.parametrize("failure,line", [
    # by 50 ms: a machine that is as late as that hides it
    pytest.param("early", "without their places in time", marks=pytest.mark.measures),
    ("no-correlation", "its first kernels have numbers of no call, and are lost"),
    ("short-records", "calls only, its records of kernels have a length that is not known"), ("flush-hangs", "hung"), ("lost-device", "has not given"),
    ("held", "another tool holds CUPTI"), ("privileges", "RmProfilingAdminOnly")])
def test_one_line_says_so(known_run, failure, line):
    assert line in status(failed(known_run, "13.2", failure))


@pytest.mark.parametrize("release,failure,line", [
    ("11.8", "strict", "no times by events of the hardware: CUPTI refuses"), ("12.9", "strict", "times by events of the hardware"),
    ("13.5", "strict", "times by events of the hardware"), ("13.5", "no-hardware-times", "no times by events of the hardware: CUPTI refuses")])
def test_times_by_events_of_the_hardware(known_run, release, failure, line):
    ran = known_run(options=(*NODES, "--gpu-hardware-times"), fakes=("--cupti", release, "--fail", failure))
    assert line in status(ran).split("; ") and not losses(ran)
    assert measured(ran, "kernel-time", "sum") == ran.truth("total_ns", is_kernel)


@pytest.mark.parametrize("release,is_known", [("11.8", False), ("12.4", True), ("13.2", True), ("13.5", False)])
def test_what_the_runtime_does_for_itself(known_run, release, is_known):
    """Below the calls in which it does so, where records tell the call, and one reader has them."""
    ran = known_run(options=NODES, fakes=("--cupti", release, "--fail", "overheads"))
    assert ran.out == "0 no error\n" and kernels(ran) == 165 and not losses(ran)
    assert ("gpu-overhead-time" in {metric["name"] for metric in program.info(ran.folder)["metrics"]}) == is_known
    if not is_known:
        return
    assert measured(ran, "gpu-overhead-time", "sum") == {"loading a function": 30000, "waiting for room for commands": 165 // 10 * 7000}
    for frames, _ in program.paths(ran.folder, "gpu-overhead-time", "--metric", "gpu-overhead-time"):
        assert frames[-1]["kind"] == "gpu-op" and frames[-2]["kind"] == "gpu-api" and "aunch" in frames[-2]["name"]


@pytest.mark.parametrize("release", ["13.0", "13.5"])
def test_the_holder_is_named(known_run, release):
    ran = known_run(fakes=("--cupti", release, "--fail", "held"))
    assert ran.out == "0 no error\n" and status(ran) == "another tool holds CUPTI: Nsight Systems"


@pytest.mark.parametrize("release", RELEASES)
def test_a_child_of_a_measured_process(known_run, release):
    ran = known_run("fork", options=NODES, fakes=("--cupti", release))
    assert ran.out == "child 3\n0 no error\n" and kernels(ran) == 165 and not losses(ran)


# ---- others that use CUPTI ----


@pytest.fixture(scope="module")
def tool(fake, tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("tool") / "tool"
    subprocess.run([FAKE, "nvcc", "-g", "-O1", "-arch=sm_90", "-I", headers("13.5"), "-o", output, WORKLOADS / "cuda/tool.cu",
                    "-Xlinker", fake / "cupti-13.5/libcupti.so.13"], check=True)
    return output


@pytest.mark.parametrize("release,how,seen,own,line", [
    ("13.2", "first", "50 kernels 0 calls", 0, "another tool holds CUPTI: tool"),
    ("13.2", "later", "20 kernels 20 calls", 30, "then tool took CUPTI"),
    ("13.5", "first", "50 kernels 0 calls", 0, "another tool holds CUPTI: tool"),
    ("13.5", "later", "20 kernels 20 calls", 30, "then tool took CUPTI"),
    ("13.2", "asked", "20 kernels 20 calls", 30, "then tool took CUPTI"),
    ("13.5", "asked", "20 kernels 20 calls", 30, "then tool took CUPTI"),
    ("13.5", "shared", "20 kernels 20 calls", 50, "below the calls that launched them; graphs node by node")])
def test_a_program_that_uses_cupti_itself(tool, tmp_path, release, how, seen, own, line):
    fakes = ("--cupti", release)
    ran = on_fakes(tmp_path, tool, how, fakes=fakes)
    assert ran.out == plain(tool, how, fakes=fakes) == seen + "\n"
    assert kernels(ran) == own and not losses(ran) and status(ran).endswith(line)


def seen_by_torch(out: str) -> list[tuple[str, ...]]:
    """Times to some nanoseconds, which its clock has."""
    lines = [line.split(" ", 3) for line in out.splitlines()]
    return [(*line[:2], str(round(int(line[2]) / 100)), *line[3:]) if len(line) == 4 else tuple(line) for line in lines]


@pytest.fixture(scope="module")
def profiled_alone() -> Callable[[str, str], list[tuple[str, ...]]]:
    """What it sees without, by what fails and its order: the same with each release, for what runs is the same."""
    @cache
    def of(failure: str, order: str) -> list[tuple[str, ...]]:
        return seen_by_torch(plain(*PROFILED, order, fakes=("--fail", failure)))
    return of


@pytest.mark.parametrize("release,failure,order", [
    ("13.0", "none", "after"), ("13.2", "none", "after"), ("13.5", "none", "after"), ("13.2", "none", "before"),
    ("13.2", "clock-again", "after")])
def test_torch_profiler_sees_what_it_sees_without(profiled_alone, tmp_path, release, failure, order):
    """Its kernels, with their times and operators; and with a clock that may be registered once alone."""
    ran = on_fakes(tmp_path, *PROFILED, order, options=NODES, fakes=("--cupti", release, "--fail", failure))
    expected = profiled_alone(failure, order)
    assert seen_by_torch(ran.out) == expected and len(expected) >= 10
    assert status(ran).endswith("then PyTorch's profiler took CUPTI")
    assert kernels(ran) == (31 if order == "after" else 0) and not losses(ran)
