# SPDX-License-Identifier: Apache-2.0
"""What threads of Python's pools do stands below the line that started them."""
from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import program

WORKLOAD = program.WORKLOADS / "python/pools.py"
JOBLIB = program.WORKLOADS / "python/joblib_pools.py"


def marks_of(workload: Path) -> dict[int, str]:
    return {number: line.split("# here: ")[1] for number, line in enumerate(workload.read_text().splitlines(), 1)
            if "# here: " in line}


@pytest.mark.parametrize("options", [(), ("--call-path", "python")])
def test_work_is_below_the_line_that_started_its_thread(tmp_path: Path, options: tuple[str, ...]) -> None:
    marks = marks_of(WORKLOAD)
    program.run(tmp_path, sys.executable, WORKLOAD, options=("-F", "497", *options))
    counts: Counter[str] = Counter()
    for frames, value in program.paths(tmp_path):
        path = [frame for frame in frames if frame["kind"] == "python" and frame.get("file") == str(WORKLOAD)]
        if path and path[-1]["name"] == "busy":
            assert [frame["name"] for frame in path][:2] == ["<module>", "main"], path
            counts[" ".join(marks[frame["line"]] for frame in path if frame["line"] in marks)] += value["count"]
    assert set(counts) == {"thread", "outer inner", "executor", "pool"}, counts
    assert min(counts.values()) > sum(counts.values()) / 12, counts


def python_with_joblib() -> str:
    """Of this one and those of SONDE_TEST_PYTHONS; skips where none has it."""
    for python in (sys.executable, *filter(None, os.environ.get("SONDE_TEST_PYTHONS", "").split(":"))):
        if subprocess.run([python, "-c", "import joblib"], capture_output=True).returncode == 0:
            return python
    pytest.skip("no Python with joblib")


def test_work_of_joblib(tmp_path: Path) -> None:
    """Threads, forked processes and loky's, which are other programs, are below the calls of Parallel."""
    marks = marks_of(JOBLIB)
    program.run(tmp_path, python_with_joblib(), JOBLIB, options=("-F", "497"))
    counts: Counter[str] = Counter()
    for frames, value in program.paths(tmp_path):
        python = [frame for frame in frames if frame["kind"] == "python"]
        if python and python[-1]["name"] == "busy":
            lines = [marks[frame["line"]] for frame in python if frame.get("file") == str(JOBLIB) and frame["line"] in marks]
            counts[" ".join(lines) or python[-1]["file"]] += value["count"]
    assert set(counts) == {"threading", "multiprocessing", "loky"}, counts
    assert min(counts.values()) > sum(counts.values()) / 12, counts
    hottest = program.sonde("report", tmp_path / "run.sdb", "--where", "busy").split("hottest lines of your code")[1]
    # cloudpickle 3.1.3 leaves the name of the file out of what it carries
    assert "<dynamic-code>:11 busy" in hottest.split("call paths")[0]
