# SPDX-License-Identifier: Apache-2.0
"""Messages of gloo between ranks: which send is which receive, how large, who was late and who waited.

Runs with every PyTorch that test_torch.py finds. What is lost is counted and never guessed.
"""
from __future__ import annotations

import csv
import io
import json
import subprocess
from collections import Counter
from pathlib import Path

import program
from pages import page_data
from test_torch import python  # noqa: F401 (a fixture)

WORKLOAD = program.WORKLOADS / "torch/torch_messages.py"
LATE, MESSAGES, STEPS = 400e6, 20, 4


def record(folder: Path, python: str, ranks: int, case: str, check: int | None = 0, trace: str = "messages") -> None:
    """Under `sonde run`; training gives the same weights as without."""
    done = program.run(folder, python, WORKLOAD, ranks, case, options=(f"--trace={trace}",), check=check,
                       environment={"OMP_NUM_THREADS": "1"}, timeout=300)
    if case == "training":
        alone = subprocess.run([python, WORKLOAD, str(ranks), case], capture_output=True, text=True, timeout=300,
                               stdin=subprocess.DEVNULL)
        assert done.stdout == alone.stdout != ""


def events(folder: Path) -> list[dict]:
    return list(csv.DictReader(io.StringIO(program.sonde("export", "--to", "events", folder / "run.sdb", "-o", "-"))))


def view(folder: Path, name: str) -> dict:
    return json.loads(program.sonde("timeline", folder / "run.sdb", "--view", name, "--format", "json"))


def table(folder: Path, name: str, sheet: str) -> list[dict]:
    return view(folder, name)[sheet]["rows"]


def rank(number: int) -> str:
    return f"rank {number}"


def pairs(folder: Path) -> list[tuple[dict, dict]]:
    """The send and the receive of each message, by their links."""
    ends: dict[str, dict[str, dict]] = {}
    for event in events(folder):
        if event.get("attribute.message") and event["link"]:
            direction = ends.setdefault(event["link"], {})
            assert event["attribute.message"] not in direction  # one send and one receive
            direction[event["attribute.message"]] = event
    assert all(end.keys() == {"1", "2"} for end in ends.values())
    return [(end["1"], end["2"]) for end in ends.values()]


def check_pairs(found: list[tuple[dict, dict]]) -> None:
    for sent, received in found:
        assert sent["pid"] != received["pid"]
        assert sent["attribute.bytes"] == received["attribute.bytes"]
        assert sent["attribute.tag"] == received["attribute.tag"]
        assert sent["attribute.peer"] == received["attribute.communicator-rank"]
        assert received["attribute.peer"] == sent["attribute.communicator-rank"]
        assert int(sent["start_ns"]) <= int(received["end_ns"])  # no effect before its cause


def test_ring(python, tmp_path):
    ranks = 3
    record(tmp_path, python, ranks, "ring")
    own = [(sent, received) for sent, received in pairs(tmp_path) if int(sent["attribute.tag"]) < 3]
    check_pairs(own)
    assert Counter((int(sent["rank"]), int(received["rank"]), int(sent["attribute.bytes"])) for sent, received in own) == Counter(
        (r, (r + 1) % ranks, 4 * (100 * (i + 1) + r)) for r in range(ranks) for i in range(MESSAGES))
    assert program.info(tmp_path)["properties"]["messages.unmatched"] == "0"

    # the view has the same messages, and the late one
    rows = [row for row in table(tmp_path, "messages", "message_list") if row["tag"] < 3]
    assert len(rows) == ranks * MESSAGES
    # gloo hands a message over once it is wanted: who sends to the late one waits, and who receives from it
    to_late, = [row for row in rows if (row["to"], row["bytes"]) == (rank(1), 4 * 800)]
    assert to_late["from"] == rank(0) and to_late["late"] == rank(1) and to_late["late_receiver_ns"] > 0.8 * LATE
    late, = [row for row in rows if (row["from"], row["bytes"]) == (rank(1), 4 * 801)]
    assert late["to"] == rank(2) and late["late"] == rank(1) and late["late_sender_ns"] > 0.5 * LATE
    assert all(row["late_sender_ns"] + row["transfer_ns"] <= row["received_ns"] for row in rows)
    routes = {(row["from"], row["to"]): row for row in table(tmp_path, "messages", "messages")}
    assert routes.keys() >= {(rank(r), rank((r + 1) % ranks)) for r in range(ranks)}
    assert routes[rank(1), rank(2)]["bytes"] >= sum(4 * (100 * (i + 1) + 1) for i in range(MESSAGES))
    waits = table(tmp_path, "messages", "rank_waits")
    assert waits[0]["wait_ns"] > 0.8 * LATE
    assert "messages between ranks" in program.sonde("timeline", tmp_path / "run.sdb", "--view", "messages")
    assert "0 without a partner" in program.sonde("info", tmp_path / "run.sdb")


def test_from_anybody(python, tmp_path):
    """The sender of a receive from anybody is known when it is done."""
    record(tmp_path, python, 3, "anybody")
    own = [(sent, received) for sent, received in pairs(tmp_path) if int(sent["attribute.tag"]) < 3]
    check_pairs(own)
    assert Counter((sent["rank"], received["rank"]) for sent, received in own) == {("1", "0"): MESSAGES, ("2", "0"): MESSAGES}


def test_collectives_and_groups(python, tmp_path):
    """Each collective's parts are found on all its ranks; a group's ranks are not the world's."""
    record(tmp_path, python, 3, "collectives")
    check_pairs(pairs(tmp_path))
    assert program.info(tmp_path)["properties"]["messages.unmatched"] == "0"
    parts: dict[tuple[str, str], set[str]] = {}
    for event in events(tmp_path):
        if event.get("attribute.collective"):
            assert event["name"].startswith("gloo:")
            parts.setdefault((event["attribute.group"], event["attribute.collective"]), set()).add(event["rank"])
    together = Counter(tuple(sorted(ranks)) for ranks in parts.values())
    assert together[("0", "2")] == 2  # all_reduce, broadcast
    assert together.keys() == {("0", "1", "2"), ("0", "2")}
    ranks = {row["participant"]: row for row in table(tmp_path, "stragglers", "ranks")}
    assert ranks[rank(2)]["delayed_ns"] > 0.8 * LATE
    assert ranks[rank(0)]["waited_ns"] > 0.8 * LATE


def test_training(python, tmp_path):
    """DistributedDataParallel: the late rank is the one the other waits for, and no other way round."""
    record(tmp_path, python, 2, "training")
    check_pairs(pairs(tmp_path))
    assert program.info(tmp_path)["properties"]["messages.unmatched"] == "0"
    ranks = {row["participant"]: row for row in table(tmp_path, "stragglers", "ranks")}
    assert ranks[rank(0)]["waited_ns"] > 0.8 * LATE and ranks[rank(1)]["delayed_ns"] > 0.8 * LATE
    waits = Counter()
    for row in table(tmp_path, "messages", "message_list"):
        waits[row["to"]] += row["late_sender_ns"]
    assert waits[rank(0)] > 0.8 * LATE
    page = tmp_path / "page.html"
    program.sonde("timeline", tmp_path / "run.sdb", "-o", page)
    assert "messages between ranks" in {sheet["title"] for sheet in page_data(page)["sheets"]}


def test_late_by_python(python, tmp_path):
    """What keeps a rank is told by samples where it runs no operator, and counts in the times of threads."""
    record(tmp_path, python, 2, "busy_training", trace="messages,operators,samples")
    first = table(tmp_path, "stragglers", "late_in")[0]
    assert first["participant"] == rank(1) and "busy" in first["node"]
    text = " ".join(program.sonde("timeline", tmp_path / "run.sdb").split())
    assert "for rank 1" in text and "most in torch_messages.py" in text.split("for rank 1")[1]
    # no operator had as much of the critical path
    assert text.split("Which node to change: ")[1].startswith("torch_messages.py:"), text
    assert "busy" in table(tmp_path, "critical-path", "path_sampled")[0]["node"]


def test_killed_rank(python, tmp_path):
    """What never came has no partner, is counted, and is in nobody's sum."""
    record(tmp_path, python, 2, "killed", check=None)
    own = [(sent, received) for sent, received in pairs(tmp_path) if int(sent["attribute.tag"]) < 3]
    check_pairs(own)
    assert sorted(int(sent["attribute.bytes"]) for sent, _ in own) == [4 * (10 + i) for i in range(5)]
    assert int(program.info(tmp_path)["properties"]["messages.unmatched"]) >= 1
    notes = " ".join(view(tmp_path, "messages")["messages"]["notes"])
    assert "without a partner" in notes and "of rank 0 1 sent and 0 received" in notes
    assert "without a partner" in program.sonde("info", tmp_path / "run.sdb")
