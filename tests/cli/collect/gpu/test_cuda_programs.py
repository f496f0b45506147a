# SPDX-License-Identifier: Apache-2.0
"""CUDA programs of many kinds on devices that are not there: each row of the table of what ran is what is stored, by kernel, stream, graph and
launching line, and the program does what it does without. SONDE_FAKE_CUDA is as test_cuda.py has it."""
from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Callable

import program
import pytest
from fake_table import count_of, places, stored, taken, traced
from on_devices import rows_of
from program import WORKLOADS
from test_cuda import FAKE, NODES, Ran, is_kernel, line_with, measured, on_fakes
from test_cuda import pytestmark  # noqa: F401  (the same condition)
from test_cupti import losses

OPTIONS = {"per_thread": ("--default-stream", "per-thread"), "names": ("--extended-lambda", "-std=c++17"), "driver": ("-lcuda",), "sizes": ("-lcuda",)}
PROGRAMS = ("built", "copies", "arrays", "sizes", "driver", "conditional", "per_thread", "forks", "names")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> Callable[[str], Path]:
    @cache
    def of(name: str) -> Path:
        output = tmp_path_factory.mktemp("cuda") / name
        if name == "driver":
            subprocess.run([FAKE, "nvcc", "-cubin", "-arch=sm_90", "-o", output.parent / "driver_kernels.cubin",
                            WORKLOADS / "cuda/driver_kernels.cu"], check=True)
        subprocess.run([FAKE, "nvcc", "-g", "-O1", "-arch=sm_90", *OPTIONS.get(name, ()), "-o", output, WORKLOADS / f"cuda/{name}.cu"],
                       check=True)
        return output
    return of


@pytest.fixture(scope="module")
def ran_as(compiled, tmp_path_factory) -> Callable[..., Ran]:
    @cache
    def of(name: str, release: str = "13.2", options: tuple[str, ...] = (*NODES, "--trace")) -> Ran:
        return on_fakes(tmp_path_factory.mktemp(name), compiled(name), options=options, fakes=("--cupti", release),
                        FAKE_DEVICES="2", FAKE_TABLE_GRAPHS="" if options[0] == NODES[0] else "1")
    return of


@pytest.mark.parametrize("release", ["11.8", "13.2", "13.5"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_row_is_stored(ran_as, compiled, name, release):
    ran = ran_as(name, release)
    truth = taken([row for row in ran.table if row["kernel"] != "graph"])
    assert ran.out == subprocess.run([FAKE, compiled(name)], capture_output=True, text=True, check=True,
                                     env={**os.environ, "FAKE_DEVICES": "2"}).stdout
    assert not losses(ran)
    assert stored(ran.folder) == places(truth) and traced(ran.folder) == truth and count_of(truth) > 18


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_row_is_stored_without_events(ran_as, name):
    """Then operations that are alike come to their thread as one."""
    ran = ran_as(name, options=NODES)
    assert not losses(ran)
    assert stored(ran.folder) == places(taken([row for row in ran.table if row["kernel"] != "graph"]))


def test_times_that_differ_keep_their_spread(tmp_path):
    """A kernel that one line launches on two devices, of which the second takes five times as long."""
    (tmp_path / "spread.cu").write_text("""
        __global__ void spread(void) {}
        int main(void)
        {
            for (int i = 0; i < 400; i++) {
                cudaSetDevice(i % 4 == 3);
                spread<<<1, 32>>>();
            }
            cudaDeviceSynchronize();
            cudaSetDevice(0);
            cudaDeviceSynchronize();
        }""")
    (tmp_path / "plan").write_text("*spread* 1000 0\n*spread* 5000 1\n")
    subprocess.run([FAKE, "nvcc", "-g", "-O1", "-arch=sm_90", "-o", tmp_path / "spread", tmp_path / "spread.cu"], check=True)
    ran = on_fakes(tmp_path, tmp_path / "spread", FAKE_DEVICES="2", FAKE_PLAN=str(tmp_path / "plan"))
    (_, value), = program.paths(ran.folder, "kernel-time", "--metric", "kernel-time")
    assert (value["count"], value["sum"], value["min"], value["max"]) == (400, 300 * 1000 + 100 * 5000, 1000, 5000)
    assert value["std"] == pytest.approx(1000 * 3 ** 0.5, rel=0.005)


@pytest.mark.parametrize("name", ["built", "driver", "conditional"])
def test_graphs_as_a_whole(ran_as, name):
    ran = ran_as(name, options=("--trace",))
    truth = {row: amount for row, amount in taken(ran.table).items() if not row.graph or row.kernel == "graph"}
    assert not losses(ran)
    assert stored(ran.folder) == places(truth) and traced(ran.folder) == truth


def test_conditional_nodes(ran_as):
    """Of four replays, each kernel as often as its body runs: a loop takes three turns."""
    ran = ran_as("conditional", options=NODES)
    assert ran.out == "failures 0\n"
    assert measured(ran, "kernel-time", "count") == {
        "before()": 4, "repeated(float*)": 4 * 3 * 2, "nested()": 4 * 3, "taken()": 4, "chosen(int)": 4, "after()": 4}


def test_copies_to_and_from_arrays(ran_as):
    assert {kernel: count for kernel, count in measured(ran_as("arrays", options=NODES), "copy-time", "count").items() if "array" in kernel} == {
        "copy host to array": 6, "copy device to array": 3, "copy array to array": 3, "copy array to device": 3, "copy array to host": 6}


@pytest.mark.parametrize("which", ["runtime", "driver"])
def test_what_copies_or_sets_nothing_is_not_lost(compiled, tmp_path, which):
    """Of each call one has a size and two have none; the last ones of 3D copies are of arrays."""
    ran = on_fakes(tmp_path, compiled("sizes"), which, fakes=("--fail", "flush-hangs"))
    assert ran.out == "failures 0\n"
    assert losses(ran) == {"gpu-lost": ran.truth("count").total()} and ran.truth("count").total() == {"runtime": 18, "driver": 22}[which]


# ---- what a program that was not measured would see: the fake ----


def lines_of(ran: Ran, kernel: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in ran.table:
        if row["kernel"].startswith(kernel):
            found[row["launching line"]] += int(row["count"])
    return found


def test_a_child_of_an_initialised_process_has_no_driver(ran_as):
    """And its parent's work is in one table alone."""
    ran = ran_as("forks")
    assert ran.out == "child initialization error\nparent 4 no error\n"
    assert ran.truth("count", is_kernel) == {"parent_kernel(float*)": 75}


def test_arrays_have_what_was_copied_to_them(ran_as):
    assert ran_as("arrays").out == 3 * ("32 bits, 64 x 16 x 0, flags 2\nrows are equal\nlayers are equal\n") + "failures 0\n"


def test_each_thread_has_its_default_stream(ran_as):
    streams: dict[str, int] = Counter()
    for row in ran_as("per_thread").table:
        streams[row["stream"]] += int(row["count"])
    assert sorted(streams.values()) == [4, 5 + 6, 10 + 6, 11 + 6, 12 + 6]


@pytest.mark.parametrize("kernel,text", [("(anonymous namespace)::anonymous", "\tanonymous<<<"), ("internal", "\tinternal<<<"),
                                         ("void a::b::nested", "\ta::b::nested<"), ("void deep", "\tdeep<"), ("_Z4many", "\tmany<<<"),
                                         ("void apply<Functor>", "\tapply<<<1, 32>>>(Functor")])
def test_the_table_has_the_line_that_launched(ran_as, kernel, text):
    assert set(lines_of(ran_as("names"), kernel)) == {line_with("names.cu", text)}


def test_nodes_of_a_child_stand_below_what_made_it(ran_as):
    """They are copies of the nodes that the child's own graph has."""
    found: Counter[int] = Counter()
    for frames, value in program.paths(ran_as("built").folder, "kernel-time", "--metric", "kernel-time"):
        if any(frame["name"] == "cudaGraphAddKernelNode" for frame in frames):
            found.update({frame["line"]: value["count"] for frame in frames if frame["name"] == "child"})
    first, second = (int(line_with("built.cu", text).rpartition(":")[2]) for text in ("// of the child", "// second of the child"))
    assert found == {first: 12, second: 12}


def test_the_table_is_there_however_a_process_ends(tmp_path):
    """One that executes another program, and one that is killed."""
    (tmp_path / "ends.cu").write_text("""
        #include <csignal>
        #include <unistd.h>
        __global__ void launched(void) {}
        int main(int argc, char **argv)
        {
            for (int i = 0; i < 5; i++)
                launched<<<1, 32>>>();
            if (argc > 1)
                execl("/proc/self/exe", argv[0], nullptr);
            raise(SIGKILL);
        }""")
    subprocess.run([FAKE, "nvcc", "-g", "-O1", "-arch=sm_90", "-o", tmp_path / "ends", tmp_path / "ends.cu"], check=True)
    done = subprocess.run([FAKE, "--table", tmp_path / "table.csv", tmp_path / "ends", "again"], capture_output=True, timeout=60)
    assert done.returncode == 128 + signal.SIGKILL
    assert Ran("", tmp_path, rows_of(tmp_path / "table.csv")).truth("count") == {"launched()": 10}


@pytest.mark.parametrize("release", ["11.8", "12.9"])
def test_pytorch_runs_on_an_older_cupti(tmp_path, release):
    """Though it wants functions that this one lacks."""
    ran = on_fakes(tmp_path, "python3", WORKLOADS / "cuda/train.py", "1", "3", options=NODES, fakes=("--cupti", release))
    assert measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel) and not losses(ran)


# ---- what is remembered of paths ----


def test_libraries_that_take_each_others_place(tmp_path):
    """Each is loaded where the other one was, launches from the same addresses and the same stack, and goes. A path is remembered once it
    is no guess any more, which takes some launches."""
    for name in ("one", "other"):
        (tmp_path / f"{name}.cu").write_text(f"""
            __global__ void of_{name}(void) {{}}
            extern "C" void launch(int times) {{ for (int i = 0; i < times; i++) of_{name}<<<1, 32>>>(); }}""")
        subprocess.run([FAKE, "nvcc", "-g", "-O1", "-arch=sm_90", "-shared", "-Xcompiler", "-fPIC", "-o", tmp_path / f"{name}.so",
                        tmp_path / f"{name}.cu"], check=True)
    (tmp_path / "loads.cu").write_text("""
        #include <cstdio>
        #include <dlfcn.h>
        #include <set>
        int main(int, char **argv)
        {
            std::set<void *> places;
            cudaFree(nullptr);
            for (int turn = 0; turn < 20; turn++) {
                void *library = dlopen(argv[1 + turn % 2], RTLD_NOW), *launch = dlsym(library, "launch");
                places.insert(launch);
                reinterpret_cast<void (*)(int)>(launch)(50);
                dlclose(library);
            }
            printf("%zu\\n", places.size());
        }""")
    subprocess.run([FAKE, "nvcc", "-g", "-O1", "-arch=sm_90", "-o", tmp_path / "loads", tmp_path / "loads.cu"], check=True)
    ran = on_fakes(tmp_path, tmp_path / "loads", tmp_path / "one.so", tmp_path / "other.so")
    found: Counter[tuple[str, str]] = Counter()
    for frames, value in program.paths(ran.folder, "kernel-time", "--metric", "kernel-time"):
        launching, = (frame for frame in frames if frame["name"] == "launch")
        found[Path(launching["module"]).name, frames[-1]["name"]] += value["count"]
    assert ran.out == "1\n" and found == {("one.so", "of_one()"): 500, ("other.so", "of_other()"): 500}
