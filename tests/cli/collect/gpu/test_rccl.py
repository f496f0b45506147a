# SPDX-License-Identifier: Apache-2.0
"""Collectives of RCCL between processes and between AMD's devices that are not there: the program of test_nccl.py as one of HIP, and of its
tests those that are imported here, with this page's program."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path

import program
import pytest
from program import WORKLOADS
from test_nccl import RANKS, SOURCE, arrivals
from test_nccl import (  # noqa: F401
    test_all_parts_of_collectives_have_partners, test_bytes_of_each_line, test_kernels_stand_below_their_calls, test_the_late_rank_is_named)
from test_rocm import RUN, Ran, measured, on_fakes


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("rccl") / "collectives"
    # clang would make one call of two, which then has no line
    done = subprocess.run([RUN, "--rocm", "hipcc", WORKLOADS / "cuda" / SOURCE, output, "-g", "-O0", "-include", WORKLOADS / "rocm/as_hip.h"],
                          capture_output=True, text=True, env={**os.environ, "FAKE_ROCM_LIBRARIES": "-l:librccl.so.1 -ldl"})
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture(scope="module")
def ran(built, tmp_path_factory) -> Ran:
    return on_fakes(tmp_path_factory.mktemp("ran"), built, str(RANKS), options=("--trace",), FAKE_DEVICES=str(RANKS))


def test_the_program_runs_as_without(ran):
    assert (ran.status, ran.out) == (0, f"0 of {RANKS} ranks failed\n") and ran.drops() == {}
    assert program.info(ran.folder)["properties"]["adapter.nccl"] == "collectives of librccl.so"


def test_devices_of_one_process(built, tmp_path):
    ran = on_fakes(tmp_path, built, str(RANKS), "devices", options=("--trace",), FAKE_DEVICES=str(RANKS))
    assert {who: row["collectives"] for who, row in arrivals(ran.folder).items()} == {f"device {rank}": 4 for rank in range(RANKS)}
    assert measured(ran, "communication-bytes", "sum")["ncclAllReduce"] == 4 * RANKS * 4000
    assert measured(ran, "kernel-time", "count") == ran.truth("count")
