# SPDX-License-Identifier: Apache-2.0
"""Samples of instructions in regions alone (--gpu-samples-in) on AMD's devices that are not there: a device is sampled all the time, and what
is kept is of kernels that were launched in such a region, all of it. The program is that of test_cuda_regions.py, as one of HIP."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from on_devices import Ran, is_kernel, kernel_of, lost, measured, metrics, stored
from program import ROOT, SONDE, WORKLOADS
from test_rocm import RUN
from test_rocm_samples import BETA, Sampled, sampled

IN = ("--gpu-samples", "--gpu-samples-in", "step")
# of each launch
INSIDE, BOTH, OUTSIDE = 7, 11, 3
PLAN = f"_Z6inside* 0 waitcnt 5\n_Z6inside* 8 issued 2\n_Z4both* 0 waitcnt {BOTH}\n_Z7outside* 0 waitcnt {OUTSIDE}\n"
NOT_SAMPLED = "; instructions are not sampled: "


@pytest.fixture(scope="module")
def regions(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("regions") / "regions"
    done = subprocess.run([RUN, "--rocm", "hipcc", WORKLOADS / "cuda/regions.cu", output, "-g", "-O1", "-include", WORKLOADS / "rocm/as_hip.h",
                           f"-I{ROOT / 'include'}"], capture_output=True, text=True, env={**os.environ, "FAKE_ROCM_LIBRARIES": "-ldl"})
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return output


def ran_in(folder: Path, *command: str | Path, options: tuple[str, ...] = IN, **more: str) -> Sampled:
    (folder / "plan").write_text(PLAN)
    ran = sampled(folder, *command, plan=folder / "plan", options=options, **more)
    assert (ran.status, ran.out) == (0, "no error\n")
    return ran


def by_kernel(ran: Ran) -> dict[str, int]:
    found: dict[str, int] = {}
    for frames, count in stored(ran):
        found[kernel_of(frames)] = found.get(kernel_of(frames), 0) + count
    return found


@pytest.mark.parametrize("fail", ["none", "sdk-pc-host-trap"])
def test_regions_alone(regions, tmp_path, fail):
    ran = ran_in(tmp_path, regions, "3", fail=fail)
    assert by_kernel(ran) == {"inside": 15 * INSIDE, "both": 15 * BOTH} and not lost(ran)
    # the device was sampled outside, too
    assert ran.taken() == 15 * INSIDE + (15 + 4 * 7) * BOTH + 4 * 7 * OUTSIDE
    assert measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel)
    assert ran.line().endswith(") of kernels that are launched in regions 'step'")


@pytest.mark.parametrize("how,launches", [("nested", 15), ("threads", 10), ("beside", 5), ("first", 5), ("endless", 5), ("left", 5), ("token", 5)])
def test_what_regions_do(regions, tmp_path, how, launches):
    ran = ran_in(tmp_path, regions, how)
    assert by_kernel(ran) == {"inside": launches * INSIDE, "both": launches * BOTH} and not lost(ran)


def test_several_devices(regions, tmp_path):
    ran = ran_in(tmp_path, regions, "devices", FAKE_DEVICES="2")
    assert by_kernel(ran) == {"inside": 20 * INSIDE, "both": 20 * BOTH} and not lost(ran)


def test_graphs(regions, tmp_path):
    ran = ran_in(tmp_path, regions, "graph")
    assert by_kernel(ran) == {"inside": 5 * INSIDE} and not lost(ran)


@pytest.mark.parametrize("how", ["early", "cut"])
def test_kernels_that_run_when_the_region_ends_are_sampled_to_their_end(regions, tmp_path, how):
    (tmp_path / "times").write_text("_Z6inside* 100000000\n")
    ran = ran_in(tmp_path, regions, how, FAKE_PLAN=str(tmp_path / "times"))
    assert by_kernel(ran) == {"inside": 5 * INSIDE} and not lost(ran)


def test_samples_that_come_before_their_kernels_record(regions, tmp_path):
    ran = ran_in(tmp_path, regions, "3", fail="sdk-pc-early")
    assert by_kernel(ran) == {"inside": 15 * INSIDE, "both": 15 * BOTH} and not lost(ran)


@pytest.mark.parametrize("how,name,why", [("2", "step s", "no region 'step s' began"), ("0", "step", "no region 'step' began"),
                                          ("empty", "step", "no kernel was launched in a region 'step'")])
def test_nothing_in_such_a_region(regions, tmp_path, how, name, why):
    ran = ran_in(tmp_path, regions, how, options=("--gpu-samples", "--gpu-samples-in", name))
    assert "gpu-samples" not in metrics(ran) and ran.samples
    assert ran.line().endswith(NOT_SAMPLED + why) and "instructions sampled" not in ran.line()


def test_the_command_says_why_there_are_none(regions, tmp_path):
    done = subprocess.run([RUN, "--rocm", SONDE, "run", "-o", tmp_path / "run", *IN, "--", regions, "0"], capture_output=True, text=True,
                          env={**os.environ, BETA: "1"})
    assert "sonde: --gpu-samples: no instruction was sampled: no region 'step' began\n" in done.stderr


def test_a_refusal_is_said_and_not_that_there_was_no_region(regions, tmp_path):
    ran = ran_in(tmp_path, regions, "2", fail="sdk-pc-permission")
    assert NOT_SAMPLED + "the amdgpu driver does not permit it" in ran.line() and "region" not in ran.line()
