# SPDX-License-Identifier: Apache-2.0
"""Operators that are not PyTorch's own, of C++ and of Python: each under the line that calls it, by its name, whether or
not exact operators have been asked for. Runs with every PyTorch that test_torch.py finds."""
from __future__ import annotations

import json
import math
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

import pytest

import program
from test_torch import python, version  # noqa: F401

WORKLOAD = program.WORKLOADS / "torch/torch_custom.py"
SOURCE = program.WORKLOADS / "torch/custom_operators.cpp"
LAYERS = [(), ("--call-path", "python,operator"), ("--operators", "exact")]


def line_of(mark: str) -> int:
    return next(number for number, line in enumerate(WORKLOAD.read_text().splitlines(), 1)
                if line.endswith(f"# here: {mark}"))


@lru_cache
def library(python: str) -> Path:  # noqa: F811
    """The operators in C++, for this PyTorch; skips where it has no headers."""
    said = subprocess.run([python, "-c", "import json, torch\nfrom torch.utils.cpp_extension import include_paths\n"
                           "print(json.dumps([include_paths(), torch._C._GLIBCXX_USE_CXX11_ABI, torch.__path__[0]]))"],
                          capture_output=True, text=True, check=True).stdout
    folders, is_new, home = json.loads(said.splitlines()[-1])
    if not shutil.which("g++") or not any((Path(folder) / "torch/library.h").is_file() for folder in folders):
        pytest.skip("no g++, or no headers of this PyTorch")
    made = program._cache / f"custom-{version(python)}.so"
    standard = "c++17" if tuple(int(part) for part in version(python).split(".")[:2]) < (2, 10) else "c++20"
    subprocess.run(["g++", "-O1", "-g", "-fPIC", "-shared", f"-std={standard}",
                    f"-D_GLIBCXX_USE_CXX11_ABI={int(is_new)}", *[f"-I{folder}" for folder in folders], SOURCE,
                    "-o", made, f"-L{home}/lib", "-lc10", "-ltorch_cpu"], check=True)
    return made


def seen(folder: Path, python: str, *arguments, options: tuple[str, ...] = ()) -> list[tuple[list[str], int]]:  # noqa: F811
    """Steps of each sample's path, `LINE` of the workload or the name of an operator; and how many samples."""
    program.run(folder, python, WORKLOAD, *arguments, options=("-F", "497", *options), timeout=300)
    found = []
    for frames, value in program.paths(folder):
        steps = [str(frame["line"]) if frame["kind"] == "python" else frame["name"] for frame in frames
                 if frame["kind"] == "operator" or frame["kind"] == "python" and frame.get("file") == str(WORKLOAD)]
        found.append((steps, value["count"]))
    return found


def count(found: list[tuple[list[str], int]], *steps: str) -> int:
    """Samples below these steps, in this order, others in between."""
    def has(path: list[str]) -> bool:
        rest = iter(path)
        return all(step in rest for step in steps)
    return sum(samples for path, samples in found if has(path))


def check(found, name: str, mark: str | None = None) -> None:
    line = str(line_of(mark or name))
    below, inside = count(found, line), count(found, line, name)
    assert inside >= 10, (name, inside, below)
    # what is not the operator's is the call's: Python's part of it, far less than a tenth. Fewer than 0.9 of the
    # samples, by more than three standard deviations of as many of them, are no accident.
    assert inside > 0.9 * below - 3 * math.sqrt(0.9 * 0.1 * below), (name, inside, below)


@pytest.mark.parametrize("options", LAYERS)
def test_operators_of_python(python, options, tmp_path):  # noqa: F811
    found = seen(tmp_path, python, options=options)
    check(found, "listed::python")
    check(found, "aten::cumsum")
    assert count(found, str(line_of("Doubled")), "DoubledBackward") >= 10
    assert not count(found, "torch::autograd::PyNode")
    if tuple(int(part) for part in version(python).split(".")[:2]) >= (2, 4):
        check(found, "written::soft")
        check(found, "written::soft", "soft forward")
        # the backward pass of it is under the line of its forward one
        assert count(found, str(line_of("soft forward")), "GeneratedBackwardFor_written_soft_defaultBackward") >= 10


@pytest.mark.parametrize("options", LAYERS)
def test_operators_of_a_library(python, options, tmp_path):  # noqa: F811
    found = seen(tmp_path, python, library(python), options=options)
    for name in ("inner", "outer", "boxed", "composite", "raising"):
        check(found, f"known::{name}")
    outer = str(line_of("known::outer"))
    # but for samples on the way from one to the other
    assert count(found, outer, "known::outer", "known::inner") >= 0.9 * count(found, outer, "known::outer")
    # what an exception has left is over
    after = str(line_of("after raising"))
    assert count(found, after) >= 10 and not count(found, after, "known::raising")


def test_operators_in_compiled_code(python, tmp_path):  # noqa: F811
    if not version(python).startswith("2."):
        pytest.skip("no torch.compile")
    found = seen(tmp_path, python, "compiled", options=("--call-path", "python,operator,native"))
    assert count(found, str(line_of("compiled")), "written::soft") >= 20
