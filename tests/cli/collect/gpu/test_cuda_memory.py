# SPDX-License-Identifier: Apache-2.0
"""What moves between CUDA's devices, and between them and the host without a call, on devices that are not there (tests/fake)."""
from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import program
from program import SONDE, WORKLOADS
from test_cuda import FAKE, NODES, Ran, line_with, lines_of, measured, on_fakes, pytestmark  # noqa: F401
from test_cupti import losses, status

MIB = 1 << 20


def compiled(folder: Path, name: str) -> Path:
    subprocess.run([FAKE, "nvcc", "-g", "-O1", "-arch=sm_90", "-o", folder / name, WORKLOADS / f"cuda/{name}.cu"], check=True)
    return folder / name


@pytest.fixture(scope="module")
def peers_program(tmp_path_factory) -> Path:
    return compiled(tmp_path_factory.mktemp("peers"), "peers")


@pytest.fixture(scope="module", params=["11.8", "13.0", "13.5"])
def peers(request, peers_program, tmp_path_factory) -> Ran:
    return on_fakes(tmp_path_factory.mktemp("peers"), peers_program, options=NODES, fakes=("--cupti", request.param), FAKE_DEVICES="2")


def test_copies_between_devices(peers):
    """CUPTI has a kind of records of its own for them."""
    assert peers.out == "no error\n"
    assert measured(peers, "copy-time", "count") == {"copy between devices": 3 + 2 + 5}
    assert measured(peers, "copy-bytes", "sum") == {"copy between devices": 3 * MIB + 2 * MIB // 2 + 5 * MIB // 4}
    assert sum(measured(peers, "copy-time", "sum").values()) == sum(peers.truth("total_ns").values())


def test_copies_between_devices_stand_below_their_lines(peers):
    assert lines_of(peers, "copy-time") == {line_with("peers.cu", "// by name"): 3, line_with("peers.cu", "// by address"): 2,
                                            line_with("peers.cu", "// captured"): 5}


# ---- managed memory ----

OF = {"migration host to device": "managed to device", "migration device to host": "managed to host",
      "page fault of a device": "managed, fault of a device", "page fault of the host": "managed, fault of the host"}
PIECES = 3  # of 5 MiB, each of 2 MiB at most


@pytest.fixture(scope="module")
def managed_program(tmp_path_factory) -> Path:
    return compiled(tmp_path_factory.mktemp("managed"), "managed")


def migrated(folder: Path, program_: Path, *how: str, fakes: tuple[str, ...] = (), options: tuple[str, ...] = ("--gpu-migrations",)) -> Ran:
    return on_fakes(folder, program_, *how, options=options, fakes=fakes, FAKE_TOUCH="*touch_all*")


@pytest.fixture(scope="module", params=["11.8", "12.4", "12.9", "13.2", "13.5"])
def managed(request, managed_program, tmp_path_factory) -> Ran:
    return migrated(tmp_path_factory.mktemp("managed"), managed_program, fakes=("--cupti", request.param))


def by_operation(ran: Ran, metric: str, what: str = "sum") -> Counter[tuple[str, str]]:
    """By the line that allocated, and what happened."""
    found: Counter[tuple[str, str]] = Counter()
    for frames, value in program.paths(ran.folder, metric, "--metric", metric):
        at = next(index for index, frame in enumerate(frames) if frame["name"] in OF)
        lines = [f"{frame['file']}:{frame['line']}" for frame in frames[:at] if "/workloads/cuda/" in (frame.get("file") or "")]
        found[lines[-1] if lines else "", frames[at]["name"]] += round(value[what])
    return found


def test_what_moves_is_below_the_line_that_allocated_it(managed):
    assert managed.out == "no error\n"
    ahead, faulted, replaced = (line_with("managed.cu", f"// {which}") for which in ("ahead", "faulted", "first owner"))
    to_device, to_host = "migration host to device", "migration device to host"
    assert by_operation(managed, "migration-bytes") == {
        (ahead, to_device): 4 * 5 * MIB, (ahead, to_host): 4 * 5 * MIB, (faulted, to_device): 4 * 5 * MIB, (faulted, to_host): 4 * 5 * MIB,
        (replaced, to_device): 3 * 5 * MIB}


def test_times_of_migrations(managed):
    found: Counter[str] = Counter()
    for (_, name), value in by_operation(managed, "migration-time").items():
        found[OF[name]] += value
    truth = managed.truth("total_ns", lambda row: row["kernel"] in OF.values())
    assert found == truth - Counter({"managed, fault of the host": 0})


def test_faults_are_below_the_line_that_allocated_and_say_who_touched(managed):
    faulted = line_with("managed.cu", "// faulted")
    assert by_operation(managed, "managed-page-faults") == {(faulted, "page fault of a device"): 4 * (1 + 2 + 3),
                                                            (faulted, "page fault of the host"): 4 * PIECES}
    faults = program.paths(managed.folder, "managed-page-faults", "--metric", "managed-page-faults")
    touched = {f"{frames[-1]['file']}:{frames[-1]['line']}" for frames, _ in faults
               if any(frame["name"] == "page fault of the host" for frame in frames)}
    assert touched == {line_with("managed.cu", "// the host touches")}


def test_a_variable_has_no_line(managed_program, tmp_path):
    ran = migrated(tmp_path, managed_program, "variable")
    assert by_operation(ran, "migration-bytes")["", "migration host to device"] == 4096
    moved = program.paths(ran.folder, "migration-bytes", "--metric", "migration-bytes")
    unknown = [frames for frames, _ in moved if any(frame["name"] == "[callers unknown]" for frame in frames)]
    assert [frames[-1]["name"] for frames in unknown] == ["migration host to device"]


def test_memory_goes_with_its_context(managed_program, tmp_path):
    ran = migrated(tmp_path, managed_program, "reset")
    assert ran.out == "no error\n"
    assert by_operation(ran, "migration-bytes") == {(line_with("managed.cu", f"// {when} the reset"), "migration host to device"): 5 * MIB
                                                    for when in ("before", "after")}


def test_many_allocations(managed_program, tmp_path):
    ran = migrated(tmp_path, managed_program, "many")
    moved = {of: sum(4096 * (1 + i * 7919 % 701) for i in range(2000) if (i % 3 == 0) == (of == "each third"))
             for of in ("two of three", "each third")}
    assert ran.out == "no error\n"
    assert by_operation(ran, "migration-bytes") == {(line_with("managed.cu", f"// {of}"), "migration host to device"): bytes_
                                                    for of, bytes_ in moved.items()}


def test_nothing_of_it_unless_asked_for(managed_program, tmp_path):
    ran = migrated(tmp_path, managed_program, options=())
    assert not {"migration-bytes", "managed-page-faults"} & {metric["name"] for metric in program.info(ran.folder)["metrics"]}


def test_where_it_is_refused_it_is_said(managed_program, tmp_path):
    ran = migrated(tmp_path, managed_program, fakes=("--fail", "managed-refused"))
    assert ran.out == "no error\n" and measured(ran, "kernel-time", "count") == {"touch_all(float*)": 4}
    assert "nothing of managed memory: CUPTI or the device refuses" in status(ran)


# ---- no more of it ----

def test_a_program_runs_out_of_memory(tmp_path):
    """It behaves as without; what it got is counted, and what it did not get is not. The rest goes on."""
    exhausted = compiled(tmp_path, "exhausted")
    settings = {**os.environ, "FAKE_MEMORY_MIB": "100"}
    alone = subprocess.run([FAKE, exhausted], capture_output=True, text=True, env=settings)
    done = subprocess.run([FAKE, SONDE, "run", "-q", "-o", tmp_path / "run", "--", exhausted], capture_output=True, text=True, env=settings)
    expected = (3, "6 blocks, out of memory, out of memory, no error\n", "")
    assert (done.returncode, done.stdout, done.stderr) == (alone.returncode, alone.stdout, alone.stderr) == expected
    ran = Ran(done.stdout, tmp_path, [])
    assert measured(ran, "gpu-alloc", "count") == {"cudaMalloc": 6} and measured(ran, "gpu-alloc", "sum") == {"cudaMalloc": 6 * 16 * MIB}
    assert lines_of(ran, "gpu-alloc") == {line_with("exhausted.cu", "// taken"): 6}
    assert measured(ran, "kernel-time", "count") == {"scale(float*, float)": 1} and not losses(ran)
