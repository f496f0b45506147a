# SPDX-License-Identifier: Apache-2.0
"""Tensors that processes of TensorFlow send each other by gRPC; each Python of SONDE_XLA_PYTHONS that has TensorFlow."""
from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

import program
from test_messages import pairs, rank, table
from test_xla import QUIET, pythons

WORKLOAD = program.WORKLOADS / "tensorflow/tensorflow_messages.py"
LATE, STEPS, FLOATS = 500e6, 6, 65536


def record(folder: Path, python: str, case: str) -> str:
    return program.run(folder, python, WORKLOAD, case, options=("--trace=messages",), environment=QUIET, timeout=300).stdout


@pytest.mark.parametrize("python", pythons("tensorflow"))
def test_collective(tmp_path, python):
    out = record(tmp_path, python, "collective")
    assert out == "".join(f"worker {index}: {STEPS * 3 * FLOATS:.1f}\n" for index in (0, 1))
    found = pairs(tmp_path)
    # a ring of two: each half, cut where memory is aligned, is added up and then handed round
    assert Counter((sent["rank"], received["rank"]) for sent, received in found) == \
        {("0", "1"): 2 * STEPS, ("1", "0"): 2 * STEPS}
    for one in "01":
        assert sum(int(sent["attribute.bytes"]) for sent, _ in found if sent["rank"] == one) == STEPS * 4 * FLOATS
    for sent, received in found:
        assert sent["attribute.bytes"] == received["attribute.bytes"] and sent["attribute.tag"] == received["attribute.tag"]
        assert received["attribute.peer"] == sent["rank"] and int(sent["start_ns"]) <= int(received["end_ns"])
    assert len({sent["attribute.tag"] for sent, _ in found}) == len(found)
    assert program.info(tmp_path)["properties"]["messages.unmatched"] == "0"
    rows = table(tmp_path, "messages", "message_list")
    late = [row for row in rows if row["late_sender_ns"] > 0.8 * LATE]
    assert late and {(row["from"], row["to"], row["late"]) for row in late} == {(rank(1), rank(0), rank(1))}
    waits = table(tmp_path, "messages", "rank_waits")
    assert (waits[0]["waiting"], waits[0]["late"]) == (rank(0), rank(1)) and waits[0]["wait_ns"] > 0.8 * LATE


@pytest.mark.parametrize("python", pythons("tensorflow"))
def test_graph_over_processes(tmp_path, python):
    """The worker gives a number to the parameter server and gets a tensor; the receiver learns no size."""
    out = record(tmp_path, python, "server")
    assert out == f"worker: {sum(range(STEPS)) * FLOATS:.1f}\n"
    found = pairs(tmp_path)
    assert Counter((sent["rank"], received["rank"], sent["attribute.bytes"]) for sent, received in found) == \
        {("1", "0", str(4 * FLOATS)): STEPS, ("0", "1", "4"): STEPS}
    assert {received["attribute.bytes"] for _, received in found} == {""}
    routes = {(row["from"], row["to"]): row for row in table(tmp_path, "messages", "messages")}
    assert routes[rank(1), rank(0)]["bytes"] == STEPS * 4 * FLOATS
    assert "tensors that are sent by gRPC" in program.sonde("info", tmp_path / "run.sdb")


@pytest.mark.parametrize("python", pythons("tensorflow"))
def test_as_without(tmp_path, python):
    """A profile has no use for single messages; what is computed is the same."""
    alone = subprocess.run([python, WORKLOAD, "server"], capture_output=True, text=True, timeout=300,
                           env={**program.os.environ, **QUIET})
    done = program.run(tmp_path, python, WORKLOAD, "server", environment=QUIET, timeout=300)
    assert done.stdout == alone.stdout != ""
    assert "messages.matched" not in program.info(tmp_path)["properties"]
