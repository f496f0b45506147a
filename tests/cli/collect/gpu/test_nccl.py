# SPDX-License-Identifier: Apache-2.0
"""Collectives of NCCL between processes and between devices, on devices that are not there: sizes, lines and partners are known."""
from __future__ import annotations

import json
import os
import socket
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import program
from fake_table import count_of, stored, taken
from program import ROOT, WORKLOADS
from test_cuda import FAKE, line_with, lines_of, measured, on_fakes
from test_cuda import pytestmark  # noqa: F401  (the same condition)

RANKS = 3
SOURCE = "collectives.cu"
# bytes that one rank gives (to all others together), by the line of the call
BYTES = {"// reduced": 5 * 1000 * 4, "// broadcast": 100 * 4, "// gathered": 200 * 4, "// scattered": RANKS * 300 * 4,
         "// grouped": 2 * 500 * 8, "// sent": 2 * 10 * 4, "// split": 3 * RANKS * 70 * 4, "// collected": 50 * 4, "// exchanged": RANKS * 20 * 4,
         "// by RCCL's name": RANKS * 30 * 4, "// unevenly": sum(5 + rank for rank in range(RANKS)) * 4, "// scaled": 90 * 4}
COLLECTIVES = 5 + 1 + 1 + 1 + 1 + 3 + 5 + 1  # the two of the group are one kernel
PASSED = [(11 + number) * 4 for number in range(4)]
# the root of what is spread gives to all, the others only get
BYTES_OF_ALL = {**{text: RANKS * bytes_ for text, bytes_ in BYTES.items()}, "// shrunk": (RANKS - 1) * 2 * 40 * 4,
                "// spread": (RANKS + RANKS - 1) * 60 * 4, "// passed": sum(PASSED), "// taken": sum(PASSED)}
# kernels, by the calls that they stand below
CALLS = {"ncclAllReduce": RANKS * 7 + (RANKS - 1) * 2, "ncclBroadcast": RANKS, "ncclAllGather": RANKS, "ncclReduceScatter": RANKS * 4,
         "ncclGather": RANKS, "ncclScatter": RANKS, "ncclAlltoAll": RANKS, "ncclAllToAll": RANKS, "ncclAllToAllv": RANKS,
         "ncclGroupEnd": RANKS, "ncclSend": len(PASSED), "ncclRecv": len(PASSED)}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("nccl") / "collectives"
    fake = subprocess.run([ROOT / "tests/fake/install.sh"], capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run([FAKE, "nvcc", "-g", "-O1", "-arch=sm_90", "-o", output, WORKLOADS / "cuda" / SOURCE, "-Xlinker",
                    f"{fake}/cuda/libnccl.so.2", "-ldl"], check=True)
    return output


@pytest.fixture(scope="module", params=["linked", "lookup"])
def ran(request, built, tmp_path_factory):
    how = () if request.param == "linked" else (request.param,)
    return on_fakes(tmp_path_factory.mktemp(request.param), built, str(RANKS), *how, options=("--trace",), FAKE_DEVICES=str(RANKS))


def stragglers(folder: Path, table: str, key: str) -> dict[str, dict]:
    answer = json.loads(program.sonde("timeline", folder / "run.sdb", "--view", "stragglers", "--format", "json"))
    return {row[key]: row for row in answer[table]["rows"]}


def arrivals(folder: Path) -> dict[str, dict]:
    """What is said of each participant."""
    return stragglers(folder, "ranks", "participant")


def test_the_program_runs_as_without(ran):
    assert ran.out == f"0 of {RANKS} ranks failed\n"
    assert program.info(ran.folder)["properties"]["adapter.nccl"] == "collectives of libnccl.so"


def test_bytes_of_each_line(ran):
    found: Counter[str] = Counter()
    for frames, value in program.paths(ran.folder, "communication-bytes", "--metric", "communication-bytes"):
        lines = [f"{frame['file']}:{frame['line']}" for frame in frames if (frame.get("file") or "").endswith(SOURCE)]
        found[lines[-1]] += round(value["sum"])
    assert found == {line_with(SOURCE, text): bytes_ for text, bytes_ in BYTES_OF_ALL.items()}


def test_kernels_stand_below_their_calls(ran):
    kernels = measured(ran, "kernel-time", "count")
    assert kernels == ran.truth("count")
    parents = Counter()
    for frames, value in program.paths(ran.folder, "kernel-time", "--metric", "kernel-time"):
        parents[frames[-2]["name"]] += value["count"]
    assert parents == CALLS


def test_what_never_comes_is_counted(built, tmp_path):
    """Also of kernels that are launched inside of a library's calls."""
    ran = on_fakes(tmp_path, built, str(RANKS), fakes=("--fail", "flush-hangs"), FAKE_DEVICES=str(RANKS))
    lost = program.info(ran.folder)["drops"]["gpu-lost"]
    assert ran.out == f"0 of {RANKS} ranks failed\n" and lost > 50
    assert count_of(taken(ran.table)) == count_of(stored(ran.folder)) + lost


def test_all_parts_of_collectives_have_partners(ran):
    """Also those of communicators that were split or shrunk, and not the messages, which some ranks exchange without the others."""
    found = arrivals(ran.folder)
    assert {who: row["collectives"] for who, row in found.items()} == {
        f"rank {rank}": COLLECTIVES + (2 if rank < RANKS - 1 else 0) for rank in range(RANKS)}
    text = program.sonde("timeline", ran.folder / "run.sdb", "--view", "stragglers")
    assert "lack" not in text and "no partner" not in text


def test_the_late_rank_is_named(ran):
    found = arrivals(ran.folder)
    late = max(found, key=lambda who: found[who]["delayed_ns"])
    assert late == f"rank {RANKS - 1}"
    assert found[late]["delayed_ns"] >= 5 * 20e6 * (RANKS - 1) * 0.5


def messages(folder: Path) -> dict[str, list[dict]]:
    answer = json.loads(program.sonde("timeline", folder / "run.sdb", "--view", "messages", "--format", "json"))
    return {name: answer[name]["rows"] for name in ("messages", "rank_waits", "message_list")}


def test_messages_are_pairs(ran):
    """Also those that one group sends and receives."""
    found = messages(ran.folder)
    assert {(row["from"], row["to"]): (row["count"], row["bytes"]) for row in found["messages"]} == {
        ("rank 0", "rank 1"): (1 + len(PASSED), 40 + sum(PASSED)), ("rank 1", "rank 2"): (1, 40), ("rank 2", "rank 0"): (1, 40)}
    passed = sorted((row for row in found["message_list"] if (row["from"], row["to"]) == ("rank 0", "rank 1")), key=lambda row: row["sent_ns"])
    assert [row["bytes"] for row in passed] == [40, *PASSED]
    text = program.sonde("timeline", ran.folder / "run.sdb", "--view", "messages")
    assert "without a partner" not in text and "trace-source" not in program.info(ran.folder).get("drops", {})


def test_the_late_sender_is_named(ran):
    found = messages(ran.folder)
    late = [row for row in found["message_list"] if row["bytes"] in PASSED]
    assert len(late) == len(PASSED) and all(row["late"] == "rank 0" and row["late_sender_ns"] >= 15e6 for row in late)
    waits = max(found["rank_waits"], key=lambda row: row["wait_ns"])
    assert (waits["waiting"], waits["late"]) == ("rank 1", "rank 0") and waits["wait_ns"] >= 4 * 15e6


def test_a_program_that_is_not_measured(built):
    """The library is there, and nobody asked it to measure: what looks NCCL up finds NCCL."""
    preloaded = f"LD_PRELOAD={program.BUILD}/src/collect/libsonde.so"
    done = subprocess.run([FAKE, "env", "-u", "SONDE_OUTPUT", preloaded, built, str(RANKS), "lookup"], capture_output=True, text=True,
                          env={**os.environ, "FAKE_DEVICES": str(RANKS)}, timeout=120)
    assert (done.returncode, done.stdout) == (0, f"0 of {RANKS} ranks failed\n"), done.stderr


def test_devices_of_one_process(built, tmp_path):
    ran = on_fakes(tmp_path, built, str(RANKS), "devices", options=("--trace",), FAKE_DEVICES=str(RANKS))
    assert {who: row["collectives"] for who, row in arrivals(ran.folder).items()} == {f"device {rank}": 4 for rank in range(RANKS)}
    assert measured(ran, "communication-bytes", "sum") == {"ncclAllReduce": 4 * RANKS * 4000, "ncclGroupEnd": 2 * RANKS * 40}
    assert lines_of(ran, "kernel-time") == {line_with(SOURCE, "// devices"): 4 * RANKS, line_with(SOURCE, "// around"): RANKS}
    # which of the devices' kernels exchanges which of the group's messages is not known
    assert program.info(tmp_path)["drops"]["trace-source"] == 2 * RANKS


def test_data_parallel_training(tmp_path):
    """PyTorch's own DistributedDataParallel; its second rank is late at each of ten steps."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = WORKLOADS / "cuda/data_parallel.py"
    ran = on_fakes(tmp_path, "python3", script, "10", options=("--trace",), FAKE_DEVICES="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    assert sorted(ran.out.splitlines()) == ["rank 0: 10 steps", "rank 1: 10 steps"]
    reduced = ran.truth("count", lambda row: row["kernel"].startswith("ncclDevKernel_AllReduce"))
    assert sum(reduced.values()) == 2 * (10 + 1)
    found = arrivals(ran.folder)
    assert found["rank 0"]["collectives"] == found["rank 1"]["collectives"] >= 10 + 1
    waits = [row for node, row in stragglers(ran.folder, "waits_at", "node").items() if node.startswith("c10d::allreduce_ in data_parallel.py")]
    assert [(row["count"], row["last"]) for row in waits] == [(10, "rank 1")]
    backward = line_with("data_parallel.py", ".backward()")
    lines = lines_of(ran, "kernel-time")
    assert not lines[""]  # what the engine's own threads launch, too
    reductions = [[frame for frame in frames if (frame.get("file") or "").endswith("data_parallel.py")][-1]
                  for frames, _ in program.paths(ran.folder, "kernel-time", "--metric", "kernel-time")
                  if any(frame["name"] == "c10d::allreduce_" for frame in frames)]
    assert {f"{frame['file']}:{frame['line']}" for frame in reductions} == {backward}
    gradients = 10 * (64 * 64 + 64) * 4
    assert measured(ran, "communication-bytes", "sum")["ncclAllReduce"] >= 2 * gradients
