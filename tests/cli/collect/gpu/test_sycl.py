# SPDX-License-Identifier: Apache-2.0
"""SYCL by XPTI, over Intel's OpenCL for processors: each kernel stands once, below the line that submitted it, with its time by the
OpenCL adapter. tests/python_env.sh sycl installs it, which CI does (SONDE_SYCL_PYTHONS: executables separated by colons)."""
from __future__ import annotations

import subprocess
from pathlib import Path

import program
import pytest
from program import ROOT, WORKLOADS
from test_opencl_loaders import intel  # noqa: F401 (a fixture)

SOURCE = WORKLOADS / "sycl/submit.cpp"


def compiling(intel: Path) -> list[str]:
    return ["-std=c++17", "-DSYCL_DISABLE_FSYCL_SYCLHPP_WARNING", f"-I{intel}/include", f"-I{intel}/include/sycl", f"-I{ROOT}/src",
            f"-L{intel}/lib", "-lsycl"]


@pytest.fixture(scope="module")
def submit(intel) -> Path:
    return program.compiled("sycl/submit.cpp", *compiling(intel), compiler="g++")


def settings(intel: Path, **more: str) -> dict[str, str]:
    return {"LD_LIBRARY_PATH": str(intel / "lib"), "OCL_ICD_FILENAMES": str(intel / "lib/libintelocl.so"),
            "ONEAPI_DEVICE_SELECTOR": "opencl:cpu", **more}


def line_with(text: str) -> int:
    return next(number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, intel, submit) -> Path:
    path = tmp_path_factory.mktemp("sycl")
    done = program.run(path, submit, options=("--operators", "exact"), environment=settings(intel))
    assert (done.stdout, done.stderr) == ("46\n", "")
    return path


def launches(folder: Path) -> list[tuple[list[dict], dict]]:
    return [(frames, value) for frames, value in program.paths(folder, "kernel-time", "--metric", "kernel-time")
            if frames[-1]["name"].endswith("scale")]


def test_declarations(intel):
    subprocess.run(["g++", "-fsyntax-only", *compiling(intel)[:-2], WORKLOADS / "sycl/layout.cpp"], check=True)


def test_each_kernel_counts_once(folder):
    assert sum(value["count"] for _, value in launches(folder)) == 12 + 5 + 6


@pytest.mark.parametrize("text,count", [("// first", 12), ("// second", 5), ("// later", 6)])
def test_below_the_line_that_submitted_it(folder, text, count):
    """Also what a thread of the runtime's hands over, after it has waited."""
    found = sum(value["count"] for frames, value in launches(folder)
                if any((frame.get("file") or "").endswith("sycl/submit.cpp") and frame["line"] == line_with(text) for frame in frames))
    assert found == count


def test_the_frame_of_a_submission(folder):
    """It names the kernel and the line, and stands between the program's frames and the call of the device's interface."""
    for frames, _ in launches(folder):
        kinds = [frame["kind"] for frame in frames]
        operators = [frame for frame in frames if frame["kind"] == "operator"]
        assert len(operators) == 1, frames
        name = operators[0]["name"]
        assert "scale" in name and f"submit.cpp:{line_with('// submits')}" in name
        assert kinds.index("operator") < kinds.index("gpu-api")


def test_nothing_is_lost(folder):
    assert not {"gpu-lost", "gpu-untimed"} & set(program.info(folder).get("drops", {}))


@pytest.mark.parametrize("options,tool", [(("--operators", "exact"), {"XPTI_SUBSCRIBERS": "/nonexistent/tool.so"}), ((), {})])
def test_without_submissions(tmp_path, intel, submit, options, tool):
    """A tool that the user named stays; and nobody pays for it who has not asked. Then SYCL is measured by OpenCL alone."""
    done = program.run(tmp_path, submit, options=options, environment=settings(intel, **tool))
    assert done.stdout == "46\n"
    assert sum(value["count"] for _, value in launches(tmp_path)) == 23
    assert not any(frame["kind"] == "operator" for frames, _ in launches(tmp_path) for frame in frames)
