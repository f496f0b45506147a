# SPDX-License-Identifier: Apache-2.0
"""The program's calls of CUDA where CUPTI does not tell of them: they have frames and times without it, on devices that are not there."""
from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import program
from on_devices import rows_of
from program import ROOT, WORKLOADS
from test_cuda import FAKE, TRAINING, Ran, is_kernel, line_with, measured, on_fakes
from test_cuda import pytestmark  # noqa: F401  (the same condition)
from test_cupti import PROFILED, status

# what known.cu calls after the first, which initialises the driver
KNOWN = {"__cudaLaunchKernel": 40 + 60 + 25 + 3 + 1, "cudaGraphLaunch": 10, "cudaMemcpy": 3, "cudaMemset": 1, "cudaMalloc": 1,
         "cudaStreamSynchronize": 1, "cudaGraphInstantiate": 1}


def calls(folder: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    for frames, value in program.paths(folder, "gpu-api-time"):
        counts[next(frame["name"] for frame in frames if frame["kind"] == "gpu-api")] += value["count"]
    return counts


def lines(folder: Path) -> Counter[str]:
    """Of calls, but for the functions of the kernels' names, which nvcc makes."""
    found: Counter[str] = Counter()
    for frames, value in program.paths(folder, "gpu-api-time"):
        own = [frame for frame in frames if (frame.get("file") or "").endswith(".cu") and frame["name"] not in ("scale", "add")]
        found[f"{own[-1]['file']}:{own[-1]['line']}"] += value["count"]
    return found


def heard(folder: Path) -> str:
    return program.info(folder)["properties"].get("adapter.cuda-calls", "")


def test_places_of_arguments(tmp_path):
    """They are those of NVIDIA's headers."""
    compiling = [FAKE, "nvcc", "-x", "c++", "-std=c++17", f"-I{ROOT / 'src'}", "-c", "-o", tmp_path / "calls.o"]
    subprocess.run([*compiling, ROOT / "tests/fake/cuda/calls.cc"], check=True)


@pytest.mark.parametrize("release,failure", [("13.5", "held"), ("11.8", "held"), ("13.2", "privileges"), ("13.0", "mig,at-subscribing")])
def test_calls_of_a_program(known_run, release, failure):
    ran = known_run(options=("--trace",), fakes=("--cupti", release, "--fail", failure))
    assert ran.out == "0 no error\n" and calls(ran.folder) == KNOWN
    found = lines(ran.folder)
    assert found[line_with("known.cu", "// scale_often")] == 40 + 60 + 25 + 3 and found[line_with("known.cu", "// replay")] == 10
    assert sum(measured(ran, "copy-bytes", "sum").values()) == 3 * 4 * 65536
    assert heard(ran.folder).startswith("heard without CUPTI: ")
    assert "kernel-time" not in {metric["name"] for metric in program.info(ran.folder)["metrics"]}


def test_with_cupti_it_alone_tells(known_run):
    ran = known_run()
    assert not heard(ran.folder) and calls(ran.folder)["__cudaLaunchKernel"] == KNOWN["__cudaLaunchKernel"]


def test_another_tool_is_injected(known_program, tmp_path):
    """As Nsight Systems is: the driver loads that one, and Sonde is not called."""
    library = tmp_path / "libToolsInjection64.so"
    (tmp_path / "tool.c").write_text("int InitializeInjection(void) { return 1; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "tool.c"], check=True)
    ran = on_fakes(tmp_path, known_program, CUDA_INJECTION64_PATH=str(library))
    assert ran.out == "0 no error\n" and status(ran) == "CUDA_INJECTION64_PATH names another tool: Nsight Systems"
    assert calls(tmp_path) == {**KNOWN, "cudaMalloc": 2}


def test_calls_that_fail_move_nothing(tmp_path):
    """The device is lost after 50 calls."""
    (tmp_path / "fails.cu").write_text("""
        #include <cstdio>
        int main()
        {
            char *x, host[64];
            int copied = 0;
            cudaMalloc(&x, 64);
            for (int i = 0; i < 100; i++)
                copied += cudaMemcpy(x, host, 64, cudaMemcpyHostToDevice) == cudaSuccess;
            printf("%d\\n", copied);
        }""")
    subprocess.run([FAKE, "nvcc", "-O1", "-arch=sm_90", "-o", tmp_path / "fails", tmp_path / "fails.cu"], check=True)
    ran = on_fakes(tmp_path, tmp_path / "fails", fakes=("--fail", "held,lost-device"))
    assert calls(tmp_path)["cudaMemcpy"] == 100 and sum(measured(ran, "copy-bytes", "sum").values()) == 64 * int(ran.out) < 6400


# what asked.cu calls of what the driver has handed out; the old cuMemAlloc fails, and has no place beside the new one
ASKED = {"cuModuleLoadData": 1, "cuMemAlloc": 1, "cuLaunchKernel": 20 + 7, "cuMemcpyHtoD": 5, "cuMemcpyHtoDAsync": 5, "cuCtxSynchronize": 1}
TOLD = {"cuModuleLoadData": 1, "cuMemAlloc_v2": 1, "cuMemAlloc": 1, "cuLaunchKernel": 20, "cuLaunchKernel_ptsz": 7, "cuMemcpyHtoD_v2": 5,
        "cuMemcpyHtoDAsync_v2": 5, "cuCtxSynchronize": 1}


@pytest.fixture(scope="module")
def asking(tmp_path_factory) -> Callable[[str], tuple[str | Path, ...]]:
    folder = tmp_path_factory.mktemp("asking")

    @cache
    def of(how: str) -> tuple[str | Path, ...]:
        linked = ("-DLINKED", "-lcuda") if how == "linked" else ()
        subprocess.run([FAKE, "nvcc", "-g", "-O1", "-Xlinker", "--as-needed", *linked, "-o", folder / how, WORKLOADS / "cuda/asked.cu"], check=True)
        return folder / how, how
    return of


@pytest.mark.parametrize("fakes", [("--fail", "held"), ()])
@pytest.mark.parametrize("how", ["loaded", "older", "runtime", "linked"])
def test_calls_of_what_the_driver_hands_out(asking, how, fakes, tmp_path):
    """The program gets the version and the default stream that it asks for, and where it asks for nothing that is described, the driver's."""
    plain = tmp_path / "plain.csv"
    alone = subprocess.run([FAKE, *fakes, "--table", plain, *asking(how)], capture_output=True, text=True, check=True)
    ran = on_fakes(tmp_path, *asking(how), fakes=fakes)
    assert ran.out == alone.stdout and alone.stdout.endswith("\n0, 801, 1\n")
    rows = [[{**row, "launching line": ""} for row in table] for table in (ran.table, rows_of(plain))]  # a stub's is none
    assert rows[0] == rows[1] and {row["stream"] for row in ran.table if row["kernel"] == "asked"} == {"7", "13"}
    assert calls(tmp_path) == (ASKED if fakes else TOLD) and (" that it handed out" in heard(tmp_path)) == bool(fakes)
    assert sum(measured(ran, "copy-bytes", "sum").values()) == 5 * 500 + 5 * 100
    for text, count in (("// launch", 20), ("// of the thread", 7), ("// copy", 10)):
        assert lines(tmp_path)[line_with("asked.cu", text)] == count


def launches(folder: Path) -> int:
    return sum(count for name, count in calls(folder).items() if "LaunchKernel" in name)


def launched(ran: Ran) -> int:
    """Kernels of what really ran, but for those that the fakes of cuBLAS and cuDNN launch, of which CUPTI alone tells a call."""
    return sum(count for name, count in ran.truth("count", is_kernel).items() if not name.startswith(("cublas", "cudnn")))


def test_pytorch(tmp_path):
    """Below operators and lines, as with CUPTI."""
    ran = on_fakes(tmp_path, *TRAINING, fakes=("--fail", "held"))
    assert ran.out == "done Fake device 0\n"
    unplaced = 0
    for frames, value in program.paths(tmp_path, "gpu-api-time"):
        if "LaunchKernel" in frames[-1]["name"]:
            unplaced += value["count"] * (not any((frame.get("file") or "").endswith("/cuda/train.py") for frame in frames))
    assert launches(tmp_path) > 0.9 * launched(ran) > 300 and unplaced == 0


def test_after_a_profiler_has_taken_cupti(tmp_path):
    """Its launches before are heard by CUPTI, those after without."""
    ran = on_fakes(tmp_path, *PROFILED, "after", fakes=("--cupti", "13.2"))
    assert status(ran).endswith("then PyTorch's profiler took CUPTI") and heard(tmp_path)
    assert 50 < launched(ran) <= launches(tmp_path) <= ran.truth("count", is_kernel).total()
