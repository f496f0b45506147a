# SPDX-License-Identifier: Apache-2.0
"""What HIP programs allocate of devices' memory and give back, on devices that are not there: at the lines that do."""
from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

import program
from program import WORKLOADS
from test_rocm import RUN, Ran, on_fakes, plain

SOURCE = WORKLOADS / "rocm/memory.hip"
MIB = 1 << 20
SETTINGS = {"FAKE_MEMORY_MIB": "100"}
EXPECTED = "6 blocks, out of memory\n1\n"
ROWS, PLANES = 1024 * 50, 1024 * 20 * 3


@pytest.fixture(scope="module")
def memory_program(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("memory") / "memory"
    done = subprocess.run([RUN, "--rocm", "hipcc", SOURCE, output, "-g", "-O1"], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture(scope="module")
def ran(memory_program, tmp_path_factory) -> Ran:
    return on_fakes(tmp_path_factory.mktemp("memory"), memory_program, **SETTINGS)


def at_lines(ran: Ran, metric: str) -> tuple[Counter[str], Counter[str]]:
    """By the comment of the program's innermost line: how often, and how many bytes."""
    lines = SOURCE.read_text().splitlines()
    counts: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for frames, value in program.paths(ran.folder, metric, "--metric", metric):
        assert frames[-1]["kind"] == "gpu-api"
        line = [frame["line"] for frame in frames if (frame.get("file") or "").endswith("/memory.hip")][-1]
        what = lines[line - 1].rpartition("// ")[2]
        counts[what] += value["count"]
        sums[what] += round(value["sum"])
    return counts, sums


def test_a_program_behaves_as_without(memory_program, ran):
    assert (ran.status, ran.out) == plain(memory_program, **SETTINGS) == (0, EXPECTED)
    assert ran.drops() == {}


def test_what_is_allocated_stands_at_its_line(ran):
    """Not what it did not get, nor memory of the host."""
    assert at_lines(ran, "gpu-alloc") == (
        {"taken": 6, "managed": 3, "in order": 1, "rows": 1, "planes": 1},
        {"taken": 6 * 16 * MIB, "managed": 3 * 2 * MIB, "in order": 3 * MIB, "rows": ROWS, "planes": PLANES})


def test_what_is_given_back_stands_at_its_line(ran):
    """With its size, which HIP's call does not tell. What is no block any more, and nothing at all, are not given back."""
    assert at_lines(ran, "gpu-free") == (
        {"given back": 5, "in a thread": 1, "managed, back": 3, "back in order": 1},
        {"given back": 5 * 16 * MIB, "in a thread": 16 * MIB, "managed, back": 3 * 2 * MIB, "back in order": 3 * MIB})
