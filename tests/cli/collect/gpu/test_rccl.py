# SPDX-License-Identifier: Apache-2.0
"""Collectives of RCCL between processes and between AMD's devices that are not there: what test_nccl.py asks of NCCL."""
from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

import program
import pytest
from program import WORKLOADS
from test_nccl import BYTES_OF_ALL, CALLS, COLLECTIVES, RANKS, SOURCE, arrivals
from test_rocm import RUN, Ran, measured, on_fakes, total


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("rccl") / "collectives"
    done = subprocess.run([RUN, "--rocm", "hipcc", WORKLOADS / "cuda" / SOURCE, output, "-g", "-O0", "-include", WORKLOADS / "rocm/as_hip.h"],
                          capture_output=True, text=True, env={**os.environ, "FAKE_ROCM_LIBRARIES": "-l:librccl.so.1 -ldl"})
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture(scope="module")
def ran(built, tmp_path_factory) -> Ran:
    return on_fakes(tmp_path_factory.mktemp("ran"), built, str(RANKS), options=("--trace",), FAKE_DEVICES=str(RANKS))


def line_with(text: str) -> str:
    path = WORKLOADS / "cuda" / SOURCE
    number = next(number for number, line in enumerate(path.read_text().splitlines(), 1) if text in line)
    return f"{path}:{number}"


def test_the_program_runs_as_without(ran):
    assert (ran.status, ran.out) == (0, f"0 of {RANKS} ranks failed\n") and ran.drops() == {}
    assert program.info(ran.folder)["properties"]["adapter.nccl"] == "collectives of librccl.so"


def test_bytes_of_each_line(ran):
    found: Counter[str] = Counter()
    for frames, value in program.paths(ran.folder, "communication-bytes", "--metric", "communication-bytes"):
        lines = [f"{frame['file']}:{frame['line']}" for frame in frames if (frame.get("file") or "").endswith(SOURCE)]
        found[lines[-1]] += round(value["sum"])
    assert found == {line_with(text): bytes_ for text, bytes_ in BYTES_OF_ALL.items()}


def test_kernels_stand_below_their_calls(ran):
    assert measured(ran, "kernel-time", "count") == ran.truth("count")
    parents: Counter[str] = Counter()
    for frames, value in program.paths(ran.folder, "kernel-time", "--metric", "kernel-time"):
        parents[frames[-2]["name"]] += value["count"]
    assert parents == CALLS


def test_all_parts_of_collectives_have_partners(ran):
    found = arrivals(ran.folder)
    assert {who: row["collectives"] for who, row in found.items()} == {
        f"rank {rank}": COLLECTIVES + (2 if rank < RANKS - 1 else 0) for rank in range(RANKS)}
    late = max(found, key=lambda who: found[who]["delayed_ns"])
    assert late == f"rank {RANKS - 1}" and found[late]["delayed_ns"] >= 5 * 20e6 * (RANKS - 1) * 0.5


def test_devices_of_one_process(built, tmp_path):
    ran = on_fakes(tmp_path, built, str(RANKS), "devices", options=("--trace",), FAKE_DEVICES=str(RANKS))
    assert {who: row["collectives"] for who, row in arrivals(ran.folder).items()} == {f"device {rank}": 4 for rank in range(RANKS)}
    assert measured(ran, "communication-bytes", "sum") == {"ncclAllReduce": 4 * RANKS * 4000, "ncclGroupEnd": 2 * RANKS * 40}
    assert total(measured(ran, "kernel-time", "count")) == 5 * RANKS  # a group of messages too
