# SPDX-License-Identifier: Apache-2.0
"""CUDA programs on devices that are not there (tests/fake): what is measured equals the table of what ran.

SONDE_FAKE_CUDA says that tests/fake/install.sh has prepared them; it takes PyTorch for CUDA and NVIDIA's compiler from PyPI, or with
FAKE_CUDA_PLAIN the compiler alone: then programs in Python are skipped. With SONDE_TEST_CUDA_FEW all of them but a training are."""
from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import program
from on_devices import Ran, is_kernel, measured, rows_of
from program import ROOT, SONDE, WORKLOADS

FAKE = ROOT / "tests/fake/run.sh"
NODES = ("--gpu-graphs", "nodes")
TRAINING = ("python3", WORKLOADS / "cuda/train.py", "3", "5")

IS_PLAIN = bool(os.environ.get("FAKE_CUDA_PLAIN"))
ARE_FEW = IS_PLAIN or bool(os.environ.get("SONDE_TEST_CUDA_FEW"))

pytestmark = pytest.mark.skipif(not os.environ.get("SONDE_FAKE_CUDA"),
                                reason="SONDE_FAKE_CUDA is not set (tests/fake/install.sh prepares a CUDA without a GPU)")


def on_fakes(folder: Path, *command: str | Path, options: tuple[str, ...] = (), fakes: tuple[str, ...] = (),
             **environment: str) -> Ran:
    if IS_PLAIN and command[0] == "python3":
        pytest.skip("no PyTorch for CUDA (SONDE_TEST_CUDA=1 takes it from PyPI)")
    if ARE_FEW and command[0] == "python3" and command != TRAINING:
        pytest.skip("of PyTorch for CUDA one program is run (make test-all runs the others)")
    table = folder / "table.csv"
    done = subprocess.run([FAKE, *fakes, "--table", table, SONDE, "run", "-q", "-o", folder / "run", *options, "--", *map(str, command)],
                          capture_output=True, text=True, timeout=600, env={**os.environ, **environment},
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return Ran(done.stdout, folder, rows_of(table))


@pytest.fixture(scope="module")
def known(known_run) -> Ran:
    return known_run(options=NODES)


def lines_of(ran: Ran, metric: str) -> Counter[str]:
    """By the innermost line of a file of the test's, but for the kernel's own function on the host: how often."""
    found: Counter[str] = Counter()
    for frames, value in program.paths(ran.folder, metric, "--metric", metric):
        kernel = frames[-1]["name"].split("(")[0]
        lines = [f"{frame['file']}:{frame['line']}" for frame in frames
                 if "/workloads/cuda/" in (frame.get("file") or "") and frame["name"] != kernel]
        found[lines[-1] if lines else ""] += value["count"]
    return found


def line_with(source: str, text: str) -> str:
    path = WORKLOADS / "cuda" / source
    number = next(number for number, line in enumerate(path.read_text().splitlines(), 1) if text in line)
    return f"{path}:{number}"


def test_a_program_behaves_as_without(known, known_program):
    plain = subprocess.run([FAKE, known_program], capture_output=True, text=True, check=True)
    assert known.out == plain.stdout == "0 no error\n"


@pytest.mark.parametrize("column,what", [("count", "count"), ("total_ns", "sum")])
def test_kernels_of_a_program(known, column, what):
    assert measured(known, "kernel-time", what) == known.truth(column, is_kernel)


def test_copies_and_sets_of_a_program(known):
    copied = sum(known.truth("bytes", lambda row: row["kernel"].startswith("copy")).values())
    assert sum(measured(known, "copy-bytes", "sum").values()) == copied == 3 * 4 * 65536
    assert measured(known, "fill-bytes", "sum") == {"set": 4 * 65536}


def test_each_kernel_stands_below_the_line_that_launched_it(known):
    found = lines_of(known, "kernel-time")
    assert found == {line_with("known.cu", "// scale_often"): 40 + 60 + 25 + 10 * 3, line_with("known.cu", "// captured"): 10}


@pytest.mark.parametrize("options", [(), ("--shadow",)])
@pytest.mark.parametrize("depth", [3, 200])
def test_one_line_below_two_callers_in_turn(depth, options, tmp_path):
    """Paths are remembered by what is on the stack; one that is longer than what is remembered is walked each time. --shadow walks all."""
    source = WORKLOADS / "cuda/callers.cu"
    subprocess.run([FAKE, "nvcc", "-g", "-O1", "-arch=sm_90", "-o", tmp_path / "callers", source], check=True)
    ran = on_fakes(tmp_path, tmp_path / "callers", str(depth), "2000", options=options)
    found: Counter[str] = Counter()
    for frames, value in program.paths(ran.folder, "kernel-time", "--metric", "kernel-time"):
        found.update({f"{frame['file']}:{frame['line']}": value["count"] for frame in frames if frame["name"] in ("often", "seldom")})
    assert found == {line_with(source.name, "// often"): 4000, line_with(source.name, "// seldom"): 2000}
    assert "context-mismatch" not in program.info(ran.folder)["drops"]


def test_what_calls_back_into_python_is_examined(tmp_path):
    """Two functions of a library in turn, at one place of the stack and from one line, between two groups of Python's frames."""
    library = tmp_path / "twins.so"
    (tmp_path / "twins.cu").write_text("""
        __global__ void counted(void) {}
        #define TWIN(name) extern "C" void __attribute__((noinline)) name(void (*then)(void)) { then(); asm volatile("" ::: "memory"); }
        TWIN(often) TWIN(seldom)
        extern "C" void launch(void) { counted<<<1, 32>>>(); }
        extern "C" void begin(void) { cudaFree(nullptr); }""")
    subprocess.run([FAKE, "nvcc", "-g", "-O1", "-arch=sm_90", "-shared", "-Xcompiler", "-fPIC", "-o", library, tmp_path / "twins.cu"], check=True)
    (tmp_path / "twins.py").write_text(f"""
import ctypes
library = ctypes.CDLL({str(library)!r})
library.begin()
then = ctypes.CFUNCTYPE(None)(lambda: library.launch())
for turn in range(3000):
    (library.often, library.often, library.seldom)[turn % 3](then)
""")
    ran = on_fakes(tmp_path, "/usr/bin/python3", tmp_path / "twins.py")
    found: Counter[str] = Counter()
    for frames, value in program.paths(ran.folder, "kernel-time", "--metric", "kernel-time"):
        found.update({frame["name"]: value["count"] for frame in frames if frame["name"] in ("often", "seldom")})
    assert found == {"often": 2000, "seldom": 1000} and "context-mismatch" not in program.info(ran.folder)["drops"]


def test_a_child_has_none_of_its_parents_work(known_program, known, tmp_path):
    ran = on_fakes(tmp_path, known_program, "fork", options=NODES)
    assert ran.out == "child 3\n0 no error\n"
    assert measured(ran, "kernel-time", "count") == known.truth("count", is_kernel)


def test_a_program_that_aborts_ends_so(known_program, tmp_path):
    """Nothing is asked of the driver any more: the program may have ended inside of it."""
    done = subprocess.run([FAKE, SONDE, "run", "-q", "-o", tmp_path / "run", "--", known_program, "abort"], capture_output=True,
                          text=True, timeout=60)
    assert (done.returncode, done.stdout) == (-signal.SIGABRT, "0 no error\n")


def test_a_program_that_is_killed_launched_little(tmp_path):
    """CUPTI delivers full buffers alone: the fewer launches there are, the smaller they are."""
    (tmp_path / "dies.cu").write_text("""
        #include <csignal>
        #include <unistd.h>
        __global__ void seldom(void) {}
        int main()
        {
            for (int i = 0; i < 3000; i++, usleep(1000))
                seldom<<<1, 32>>>();
            raise(SIGKILL);
        }""")
    subprocess.run([FAKE, "nvcc", "-O1", "-arch=sm_90", "-o", tmp_path / "dies", tmp_path / "dies.cu"], check=True)
    done = subprocess.run([FAKE, SONDE, "run", "-q", "-o", tmp_path / "run", "--", tmp_path / "dies"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "")
    assert 250 < measured(Ran("", tmp_path, []), "kernel-time", "count")["seldom()"] <= 3000


@pytest.mark.parametrize("which", ["known", "trained"])
def test_nothing_is_lost(request, which):
    ran = request.getfixturevalue(which)
    assert not {"gpu-lost", "gpu-untimed"} & set(program.info(ran.folder).get("drops", {}))


@pytest.mark.parametrize("column,what", [("count", "count"), ("total_ns", "sum")])
def test_kernels_of_pytorch(trained, column, what):
    assert trained.out == "done Fake device 0\n"
    assert measured(trained, "kernel-time", what) == trained.truth(column, is_kernel)


def test_kernels_of_pytorch_stand_below_operators_and_lines(trained):
    """Those of the backward pass below the forward line; launches of the autograd engine's have no Python of their own."""
    optimizer, backward, unplaced, count = 0, 0, 0, 0
    for frames, value in program.paths(trained.folder, "kernel-time", "--metric", "kernel-time"):
        files = [frame.get("file") or "" for frame in frames]
        operators = [frame["name"] for frame in frames if frame["kind"] == "operator"]
        count += value["count"]
        unplaced += value["count"] * (not any(file.endswith("/cuda/train.py") for file in files))
        backward += value["count"] * any(name.endswith("(backward)") or "Backward" in name for name in operators)
        optimizer += value["count"] * any("/optim/" in file for file in files)
    assert unplaced == 0 and backward > count / 10 and optimizer >= 3


def test_a_program_that_stops_measuring_gives_cupti_back(tmp_path):
    launching = tmp_path / "launch"
    subprocess.run([FAKE, "nvcc", "-O1", "-arch=sm_90", "-I", ROOT / "include", "-o", launching, ROOT / "bench/cuda_launch.cu"], check=True)
    ran = on_fakes(tmp_path, launching, "3000", "0", "stop")
    assert measured(ran, "kernel-time", "count") == {"nothing()": 1000} and ran.truth("count", is_kernel).total() == 4000
    drops = program.info(ran.folder)["drops"]
    assert drops["stopped"] == 1 and set(drops) <= {"stopped", "sample-busy"}


def test_the_driver_is_there_and_no_device(known_program, tmp_path):
    done = subprocess.run([FAKE, SONDE, "run", "-q", "-o", tmp_path / "run", "--", known_program], capture_output=True, text=True,
                          env={**os.environ, "FAKE_CUINIT_ERROR": "100"})
    assert (done.returncode, done.stdout) == (77, "no CUDA-capable device is detected\n")
