# SPDX-License-Identifier: Apache-2.0
"""Messages of MPI programs, with each implementation that is installed: who sent what to whom, who was late.

Without an implementation its tests are skipped. What is lost is counted and never guessed.
"""
from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import program
from test_messages import check_pairs, events, pairs, rank, table, view

LATE, MESSAGES, RANKS, DOUBLE = 400e6, 20, 3, 8
# as root, and more ranks than processors
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}


def implementations() -> list[str]:
    """Debian's names, and whatever else has an mpicc.NAME on the path."""
    found = {tool.name.removeprefix("mpicc.") for folder in os.get_exec_path() for tool in Path(folder).glob("mpicc.*")}
    return sorted({"mpich", "openmpi"} | found)


@pytest.fixture(params=implementations(), scope="session")
def mpi(request) -> str:
    for tool in ("mpicc", "mpirun"):
        if not shutil.which(f"{tool}.{request.param}"):
            pytest.skip(f"no {tool}.{request.param} here")
    return request.param


def built(mpi: str) -> Path:
    return program.compiled("mpi/mpi_messages.c", "-O1", compiler=f"mpicc.{mpi}")


def mpirun(mpi: str, *command: object) -> subprocess.CompletedProcess:
    return subprocess.run([f"mpirun.{mpi}", "-n", str(RANKS), *map(str, command)], env={**os.environ, **ENVIRONMENT},
                          capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL)


def record(folder: Path, mpi: str, *cases: str, trace: str = "messages", outside: bool = False) -> None:
    """Each rank under `sonde run`, or all of mpirun; the program prints what it does without."""
    alone = mpirun(mpi, built(mpi), *cases)
    assert alone.returncode == 0, alone.stderr
    measure = [program.SONDE, "run", "-q", f"--trace={trace}", "-o", folder / "run"]
    if outside:
        done = subprocess.run([*map(str, measure), "--", f"mpirun.{mpi}", "-n", str(RANKS), str(built(mpi)), *cases],
                              env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, timeout=240,
                              stdin=subprocess.DEVNULL)
    else:
        done = mpirun(mpi, *measure, "--no-analyze", "--", built(mpi), *cases)
    assert (done.returncode, done.stdout) == (0, alone.stdout), done.stderr
    if not outside:
        program.sonde("analyze", folder / "run.sonde", "-o", folder / "run.sdb")


def sizes(found: list[tuple[dict, dict]]) -> Counter:
    return Counter((int(s["rank"]), int(r["rank"]), int(s["attribute.tag"]), int(s["attribute.bytes"])) for s, r in found)


def to_next(tags: object, length: object) -> Counter:
    return Counter((r, (r + 1) % RANKS, tags(i), DOUBLE * length(r, i)) for r in range(RANKS) for i in range(MESSAGES))


@pytest.mark.parametrize("outside", [False, True])
def test_ring(mpi, outside, tmp_path):
    record(tmp_path, mpi, "ring", outside=outside)
    found = pairs(tmp_path)
    check_pairs(found)
    assert sizes(found) == to_next(lambda i: i % 3, lambda r, i: 10 * (i + 1) + r)
    assert program.info(tmp_path)["properties"]["messages.unmatched"] == "0"
    # rank 1 was late with message 7: rank 2 waited for it, and rank 0 for that one
    rows = {(row["from"], row["bytes"]): row for row in table(tmp_path, "messages", "message_list")}
    late = rows[rank(1), DOUBLE * 81]
    assert late["to"] == rank(2) and late["late"] == rank(1) and late["late_sender_ns"] > 0.8 * LATE
    # ... or, where the library lets a sender wait until its message is wanted, in sending to rank 1
    to_late, after = rows[rank(0), DOUBLE * 80], rows[rank(2), DOUBLE * 82]
    assert to_late["late_sender_ns"] < 0.5 * LATE
    assert after["late_sender_ns"] + to_late["late_receiver_ns"] > 0.8 * LATE
    waits = table(tmp_path, "messages", "rank_waits")
    assert waits[0]["wait_ns"] > 0.8 * LATE and "MPI_Recv" in waits[0]["node"]
    # the path goes through the rank that was late
    steps = table(tmp_path, "critical-path", "path_steps")
    assert {step["where"].split(" · ")[0] for step in steps if step["where"]} == {rank(r) for r in range(RANKS)}


def test_all_kinds_of_calls(mpi, tmp_path):
    """Requests that are done in another order, receives from anybody, persistent ones, MPI_Mprobe, communicators."""
    record(tmp_path, mpi, "requests", "anybody", "persistent", "probed", "exchange")
    found = pairs(tmp_path)
    check_pairs(found)
    expected = to_next(lambda i: i % 3, lambda r, i: 10 * (i + 1) + r)
    for r in (1, 2):
        expected[r, 0, 1, DOUBLE] += MESSAGES
        expected[r, 0, 2, DOUBLE * r] += 8 * (RANKS - 1)
    expected += to_next(lambda i: 5, lambda r, i: 17)
    expected += Counter((r, 0, 4, DOUBLE * (10 * (i + 1) + r)) for r in (1, 2) for i in range(MESSAGES))
    expected += Counter((r, (r - 1) % RANKS, 6, DOUBLE * (2 + i % 2)) for r in range(RANKS) for i in range(MESSAGES))
    expected += Counter({(0, 1, 7, DOUBLE * 9): 1})
    assert sizes(found) == expected
    assert program.info(tmp_path)["properties"]["messages.unmatched"] == "0"
    # two communicators of the same ranks are two
    names = {s["attribute.communicator"] for s, _ in found if s["attribute.tag"] == "6"}
    assert len(names) == 2 and not names & {s["attribute.communicator"] for s, _ in found if s["attribute.tag"] != "6"}


def test_collectives(mpi, tmp_path):
    record(tmp_path, mpi, "collectives", trace="messages,regions")
    parts: dict[tuple[str, str], list[dict]] = {}
    for event in events(tmp_path):
        if event.get("attribute.collective"):
            parts.setdefault((event["attribute.group"], event["attribute.collective"]), []).append(event)
    together = Counter((tuple(sorted(e["rank"] for e in part)), *{e["name"] for e in part}) for part in parts.values())
    everybody, half = ("0", "1", "2"), ("0", "2")
    assert together == {(everybody, "MPI_Comm_split"): 1, (everybody, "MPI_Allreduce"): 5, (everybody, "MPI_Barrier"): 1, (half, "MPI_Bcast"): 1,
                        (half, "MPI_Barrier"): 1, (("1",), "MPI_Bcast"): 1, (("1",), "MPI_Barrier"): 1}
    assert {e["attribute.bytes"] for part in parts.values() for e in part if e["name"] == "MPI_Bcast"} == {"800"}
    ranks = {row["participant"]: row for row in table(tmp_path, "stragglers", "ranks")}
    assert ranks[rank(1)]["delayed_ns"] > 1.6 * LATE
    assert ranks[rank(0)]["waited_ns"] > 0.8 * LATE and ranks[rank(2)]["waited_ns"] > 0.8 * LATE
    assert ranks[rank(1)]["waited_ns"] < 0.5 * LATE


def test_threads(mpi, tmp_path):
    """Several threads of each rank at once."""
    record(tmp_path, mpi, "threads")
    found = pairs(tmp_path)
    check_pairs(found)
    assert sizes(found) == Counter({key: 3 * count for key, count in to_next(lambda i: 1, lambda r, i: 1 + i % 8).items()})
    assert program.info(tmp_path)["properties"]["messages.unmatched"] == "0"


def test_profile_without_trace(mpi, tmp_path):
    """Calls are regions, with counts and times, and samples are in them."""
    done = mpirun(mpi, program.SONDE, "run", "-q", "-o", tmp_path / "run", "--no-analyze", "--", built(mpi), "ring")
    assert done.returncode == 0, done.stderr
    program.sonde("analyze", tmp_path / "run.sonde", "-o", tmp_path / "run.sdb")
    counts: Counter = Counter()
    times: Counter = Counter()
    for path, values in program.paths(tmp_path, "region-time"):
        if path[-1]["kind"] == "region":
            counts[path[-1]["name"]] += values["count"]
            times[path[-1]["name"]] += values["sum"]
    assert counts["MPI_Send"] == counts["MPI_Recv"] == RANKS * MESSAGES
    assert times["MPI_Recv"] + times["MPI_Send"] > 1.6 * LATE and times["MPI_Recv"] > 0.8 * LATE


def test_killed_rank(mpi, tmp_path):
    """A message that a killed rank never took is counted, and the others are there."""
    mpirun(mpi, program.SONDE, "run", "-q", "--trace=messages", "-o", tmp_path / "run", "--no-analyze", "--",
           built(mpi), "killed")
    program.sonde("analyze", tmp_path / "run.sonde", "-o", tmp_path / "run.sdb")
    found = pairs(tmp_path)
    check_pairs(found)
    assert sizes(found) == Counter((0, 1, 3, DOUBLE * 10 * (i + 1)) for i in range(5))
    assert program.info(tmp_path)["properties"]["messages.unmatched"] == "1"
    assert "of rank 0 1 sent and 0 received" in " ".join(view(tmp_path, "messages")["messages"]["notes"])


def imbalances(database: Path) -> dict[str, float]:
    """That of CPU time in each view that tells it."""
    def data(*options: str) -> dict:
        return json.loads(program.sonde("report", database, "--format", "json", "--metric", "cpu-time,i=imbalance(cpu-time)", *options))

    threads = data("--view", "threads")
    assert threads["across_what"] == "ranks" and threads["across"]["cpu-time"]["count"] == 4
    place = data("--context", "0")["across"]["cpu-time"]
    assert place["count"] == 4
    info = json.loads(program.sonde("info", database, "--format", "json"))["formulas"]
    by_kind = {row["kind"]: row["values"] for row in data("--view", "flat", "--by", "kind")["rows"]}
    return {"threads": threads["across"]["cpu-time"]["imbalance"], "place": place["imbalance"],
            "tree": data()["rows"][0]["values"]["i"]["inclusive"],
            "function": data("--granularity", "function")["rows"][0]["values"]["i"]["inclusive"],
            "flat": by_kind["thread"]["i"]["inclusive"],
            "info": next(formula["value"] for formula in info if formula["name"] == "cpu_time_imbalance")}


@pytest.mark.parametrize("times", [1, 3], ids=["equal", "slow"])
def test_imbalance_is_that_of_the_ranks(mpi, tmp_path, times):
    """Launcher, proxies and the implementation's own threads are measured, and no view counts them."""
    shares = program.compiled("mpi/mpi_shares.c", "-O1", compiler=f"mpicc.{mpi}")
    done = subprocess.run([program.SONDE, "run", "-q", "-o", tmp_path / "run", "--", f"mpirun.{mpi}", "-n", "4", shares, "0.6",
                           str(times)], env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, timeout=240,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    found = imbalances(tmp_path / "run.sdb")
    assert max(found.values()) - min(found.values()) < 1e-9, found
    # starting up takes CPU time, too, that is not the same in all; of three times as much one rank has 3 of 6 parts
    least, most = (0, 0.35) if times == 1 else (0.6, 1.01)
    assert least <= found["threads"] <= most, found
    text = program.sonde("report", tmp_path / "run.sdb", "--view", "threads")
    assert "across 4 ranks:" in text and "without what is of no rank" in text
    own = program.sonde("report", tmp_path / "run.sdb", "--context", "compute", "--metric", "cpu-time")
    assert "balanced: the most is" in own if times == 1 else "imbalanced: rank 2 takes" in own
    assert "mean of all 4 ranks" in own or times == 1
