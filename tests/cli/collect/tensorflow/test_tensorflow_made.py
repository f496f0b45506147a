# SPDX-License-Identifier: Apache-2.0
"""Tensors sent by gRPC, where there is no TensorFlow: by a library with its functions (workloads/tensorflow/tensorflow_made.c).

test_tensorflow_messages.py has the same with the real one.
"""
from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import program
from test_messages import pairs, rank, table

LATE = 500e6
# in the order in which each task gives them; of tensors the receiver learns no size
TENSORS, BUFFERS = [1000, 2000, 3000, 4000, 7002, 7001, 9000, 9500], [4096, 8192]
CLUSTER = {"TF_CONFIG": json.dumps({"cluster": {"worker": ["a:1"], "ps": ["b:2"]}})}
ENDS = [("0", "1"), ("1", "0")]


def library(folder: Path, *options: str) -> Path:
    framework, whole = folder / "libtensorflow_framework.so.2", folder / "libtensorflow_cc.so.2"
    made = ["cc", "-g", "-shared", "-fPIC", program.WORKLOADS / "tensorflow/tensorflow_made.c"]
    subprocess.run([*made, "-DFRAMEWORK", "-o", framework], check=True)
    subprocess.run([*made, *options, framework, "-o", whole], check=True)
    return whole


def record(folder: Path, *options: str, arguments: tuple[str, ...] = (), run: str = "--trace=messages",
           environment: dict[str, str] = CLUSTER) -> None:
    done = program.run(folder, program.compiled("tensorflow/tensorflow_made_tasks.c"), library(folder, *options), *arguments,
                       options=(run,), environment=environment)
    assert done.stdout == "done\n"


def between(folder: Path, ends: tuple[str, str]) -> list[tuple[dict, dict]]:
    """Messages from one to the other, in the order in which they were sent."""
    found = [both for both in pairs(folder) if (both[0]["rank"], both[1]["rank"]) == ends]
    return sorted(found, key=lambda both: int(both[0]["start_ns"]))


@pytest.mark.parametrize("options", [("-DDATE=20230802", "-DNO_STATUS"), ("-DDATE=20250127", "-DNO_STATUS"), ("-DDATE=20250814",)])
def test_both_ends(tmp_path, options):
    record(tmp_path, *options)
    assert len(pairs(tmp_path)) == len(ENDS) * len(TENSORS + BUFFERS)
    for ends in ENDS:
        found = between(tmp_path, ends)
        assert [int(sent["attribute.bytes"]) for sent, _ in found] == TENSORS + BUFFERS
        assert [received["attribute.bytes"] for _, received in found] == [""] * len(TENSORS) + [str(size) for size in BUFFERS]
        for sent, received in found:
            assert (sent["name"], received["name"]) == ("gRPC send", "gRPC receive")
            assert (sent["attribute.peer"], received["attribute.peer"]) == ends[::-1]
            assert sent["attribute.tag"] == received["attribute.tag"]
            assert int(sent["start_ns"]) <= int(received["end_ns"])
        # of two at once the one that was asked for later came first: a receiver waits since it asked
        early, late = found[4][1], found[5][1]
        assert int(early["start_ns"]) > int(late["start_ns"]) and int(early["end_ns"]) <= int(late["end_ns"])
    assert len({sent["attribute.tag"] for sent, _ in pairs(tmp_path)}) == len(pairs(tmp_path))
    # those that failed were not sent
    assert program.info(tmp_path)["properties"]["messages.unmatched"] == "0"
    assert "tensors that are sent by gRPC" in program.sonde("info", tmp_path / "run.sdb")


def test_who_waits(tmp_path):
    record(tmp_path, "-DDATE=20250814")
    rows = table(tmp_path, "messages", "message_list")
    assert len(rows) == len(ENDS) * len(TENSORS + BUFFERS)
    late = [row for row in rows if row["late_sender_ns"] > 0.8 * LATE and row["bytes"] == 3000]
    assert sorted((row["from"], row["to"], row["late"]) for row in late) == \
        [(rank(0), rank(1), rank(0)), (rank(1), rank(0), rank(1))]
    routes = {(row["from"], row["to"]): row["bytes"] for row in table(tmp_path, "messages", "messages")}
    assert routes == {(rank(int(a)), rank(int(b))): sum(TENSORS + BUFFERS) for a, b in ENDS}
    waits = table(tmp_path, "messages", "rank_waits")  # of all ranks, by the call
    assert waits[0]["wait_ns"] > 1.6 * LATE


def test_ranks_without_a_cluster(tmp_path):
    """Tasks of parameter servers come after a thousand for each of the jobs before."""
    record(tmp_path, "-DDATE=20250814", environment={"TF_CONFIG": ""})
    found = {(sent["rank"], received["rank"]) for sent, received in pairs(tmp_path)}
    assert found == {("2000", "3000"), ("3000", "2000")}


@pytest.mark.parametrize("date,status", [(20991231, "messages of this release of TensorFlow are not known"),
                                         (20250814, "nothing was sent by gRPC")])
def test_nothing_to_see(tmp_path, date, status):
    record(tmp_path, f"-DDATE={date}", arguments=("none",))
    assert "messages.matched" not in program.info(tmp_path)["properties"]
    assert status in program.sonde("info", tmp_path / "run.sdb")


def test_a_release_that_is_not_known_works(tmp_path):
    record(tmp_path, "-DDATE=20991231")
    assert "messages.matched" not in program.info(tmp_path)["properties"]


def test_a_profile_has_no_messages(tmp_path):
    record(tmp_path, "-DDATE=20250814", run="--event=cpu-time")
    assert "messages.matched" not in program.info(tmp_path)["properties"]
