# SPDX-License-Identifier: Apache-2.0
"""Hosts whose clocks differ by hours and whose calendars by seconds, joined over their messages."""
from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import program

COUNT = 100
SLOW = 20_000_000  # ns that rank 1 takes for every tenth answer
HOURS = {0: 36000, 1: 3600}  # what the clock of each rank's "host" is ahead of the machine's


def host(seconds: int) -> list[str]:
    """A time name space of its own is as good as a host: its CLOCK_MONOTONIC is another one."""
    command = ["unshare", "--time", "--monotonic", str(seconds)]
    if os.geteuid() or subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("no time name spaces of our own here")
    return command


def record(folder: Path, wrong_by: dict[int, int], count: int = COUNT, ranks: bool = True) -> None:
    """Two ranks on two hosts, measured each into a folder of its own."""
    messages = program.compiled("mpi/messages.c", "-O1", "-rdynamic")
    started = []
    for rank in (0, 1):
        environment = {**os.environ, "WRONG_BY": str(wrong_by[rank])}
        if ranks:
            environment["RANK"] = str(rank)
        started.append(subprocess.Popen(
            [*host(HOURS[rank]), program.SONDE, "run", "-q", "--no-analyze", "--trace=messages", "-o",
             folder / f"rank{rank}", "--", messages, folder / "socket", str(rank), str(count)], env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    for process in started:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors


def analyze(folder: Path) -> str:
    done = subprocess.run([program.SONDE, "analyze", folder / "rank0.sonde", folder / "rank1.sonde", "-o",
                           folder / "run.sdb"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stderr


def messages(folder: Path) -> list[dict]:
    table = csv.DictReader(io.StringIO(program.sonde("export", "--to", "events", folder / "run.sdb", "-o", "-")))
    return [{"sent": row["attribute.message"] == "1", "rank": int(row["rank"] or -1), "peer": int(row["attribute.peer"]),
             "bytes": int(row["attribute.bytes"]), "start": int(row["start_ns"]), "end": int(row["end_ns"]),
             "link": row["link"]} for row in table if row["attribute.message"]]


def test_hosts_with_other_clocks_and_calendars(tmp_path):
    record(tmp_path, {0: 0, 1: 5})
    assert "no message" not in analyze(tmp_path)
    base, other = program.info(tmp_path)["clocks"]
    if base["joined"] != "base":
        base, other = other, base
    assert (base["joined"], other["joined"]) == ("base", "yes")
    assert base["messages"] == other["messages"] == 2 * COUNT
    assert base["violations"] == other["violations"] == 0
    # what is said of the clock is true, and worth saying
    truth = (HOURS[0] - HOURS[1]) * 10**9
    assert abs(other["offset_ns"] - truth) <= other["error_ns"] < SLOW
    assert abs(other["calendar_ns"] - 5e9) < 500e6  # a process's anchor is two readings

    found = messages(tmp_path)
    sent = {message["link"]: message for message in found if message["sent"]}
    received = {message["link"]: message for message in found if not message["sent"]}
    assert len(found) == 4 * COUNT and len(sent) == len(received) == 2 * COUNT and "" not in sent
    assert sent.keys() == received.keys()
    for link, message in sent.items():
        partner = received[link]
        assert (message["rank"], message["peer"]) == (partner["peer"], partner["rank"])
        assert message["bytes"] == partner["bytes"]
        assert message["start"] <= partner["end"]  # no effect before its cause
    sizes = {rank: sorted(m["bytes"] for m in sent.values() if m["rank"] == rank) for rank in (0, 1)}
    assert sizes == {0: [8 * (i + 1) for i in range(COUNT)], 1: [16 * (i + 1) for i in range(COUNT)]}

    # rank 0 waits for each slow answer; by one clock it has begun to wait before that was sent
    slow = [m for m in received.values() if m["rank"] == 0 and (m["bytes"] // 16 - 1) % 10 == 0]
    assert len(slow) == COUNT // 10
    waited = sorted(sent[message["link"]]["start"] - message["start"] for message in slow)
    assert waited[len(waited) // 2] >= SLOW / 2 - other["error_ns"]  # single ones may be held up on a busy machine


def test_calendar_does_not_matter(tmp_path):
    """The same measurement, whatever the calendars say: only the base's counts."""
    record(tmp_path, {0: -3, 1: 7000}, count=20)
    analyze(tmp_path)
    other, = [clock for clock in program.info(tmp_path)["clocks"] if clock["joined"] == "yes"]
    assert abs(other["calendar_ns"] - 7003e9) < 500e6
    found = messages(tmp_path)
    assert max(m["end"] for m in found) - min(m["start"] for m in found) < 60e9


def test_host_that_no_message_reaches(tmp_path):
    """Without ranks nobody knows who sent what: said, and times are as the calendars have them."""
    record(tmp_path, {0: 0, 1: 5}, count=20, ranks=False)
    line, = [line for line in analyze(tmp_path).splitlines() if "no message" in line]
    assert "its own calendar" in line
    assert sorted(clock["joined"] for clock in program.info(tmp_path)["clocks"]) == ["base", "no"]
    assert "not joined" in program.sonde("info", tmp_path / "run.sdb")
    found = messages(tmp_path)
    assert len(found) == 80 and all(m["link"] == "" for m in found)


def test_one_host(tmp_path):
    """One clock: nothing is said of any, messages are tied all the same."""
    program_ = program.compiled("mpi/messages.c", "-O1", "-rdynamic")
    started = [subprocess.Popen([program.SONDE, "run", "-q", "--no-analyze", "--trace", "-o",
                                 tmp_path / f"rank{rank}", "--", program_, tmp_path / "socket", str(rank), "30"],
                                env={**os.environ, "RANK": str(rank)}) for rank in (0, 1)]
    assert [process.wait(120) for process in started] == [0, 0]
    assert "no message" not in analyze(tmp_path)
    data = program.info(tmp_path)
    assert data["clocks"] == [] and data["properties"]["messages.matched"] == "60"
    assert data["properties"]["messages.unmatched"] == "0"
    assert len({m["link"] for m in messages(tmp_path)}) == 60


SOCKETS = """
import os, socket, sys, time
sys.path.insert(0, sys.argv[1])
import sonde
path, rank = sys.argv[2], int(os.environ["RANK"])
end = socket.socket(socket.AF_UNIX)
if rank:
    while end.connect_ex(path):
        time.sleep(0.01)
else:
    end.bind(path)
    end.listen()
    end = end.accept()[0]
for size in range(1, 6):
    begun = sonde.message_begin()
    if rank:
        end.sendall(b"x" * size)
        sonde.message_sent(begun, 0, 1 << 60, size)
    else:
        assert len(end.recv(size, socket.MSG_WAITALL)) == size
        sonde.message_received(begun, 1, 1 << 60, size)
if rank:
    sonde.message_sent(sonde.message_begin(), 7, 1 << 60, 3)  # to somebody who is not measured
"""


def test_python(tmp_path):
    script = tmp_path / "sockets.py"
    script.write_text(SOCKETS)
    command = [sys.executable, script, program.ROOT / "python", tmp_path / "socket"]
    started = [subprocess.Popen([program.SONDE, "run", "-q", "--no-analyze", "--trace=messages", "-o",
                                 tmp_path / f"rank{rank}", "--", *command],
                                env={**os.environ, "RANK": str(rank)}) for rank in (0, 1)]
    assert [process.wait(120) for process in started] == [0, 0]
    analyze(tmp_path)
    data = program.info(tmp_path)
    assert (data["properties"]["messages.matched"], data["properties"]["messages.unmatched"]) == ("5", "1")
    # one host, though its processes have not said as much
    assert data["clocks"] == []
    found = messages(tmp_path)
    assert sorted((m["bytes"], m["rank"], m["peer"]) for m in found if m["sent"] and m["peer"] != 7) == \
        [(i, 1, 0) for i in range(1, 6)]
