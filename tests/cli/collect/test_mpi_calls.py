# SPDX-License-Identifier: Apache-2.0
"""What MPI programs call beside sending and receiving: nonblocking collectives, one-sided accesses, files, requests of
all kinds, errors; from C, Fortran and Python, with each implementation that is installed. Answers are known from
tests/workloads/mpi/mpi_calls.c.
"""
from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import program
from test_messages import check_pairs, events, pairs, rank, table
from test_mpi import DOUBLE, RANKS, mpi, mpirun, sizes  # noqa: F401: a fixture

LATE, WORK, ROUNDS = 400e6, 100e6, 10
EVERYBODY = ("0", "1", "2")
CASES = ("together", "neighbours", "memory", "epochs", "again", "cancelled", "communicators", "types", "files", "errors")


def record(folder: Path, mpi: str, *command: object, prints: str | None = None) -> Path:
    """Each rank under `sonde run`; the program prints what it does without, which may be known."""
    if prints is None:
        alone = mpirun(mpi, *command)
        assert alone.returncode == 0, alone.stderr
        prints = alone.stdout
    (folder / "shared").unlink(missing_ok=True)
    done = mpirun(mpi, program.SONDE, "run", "-q", "--trace=messages", "-o", folder / "run", "--no-analyze", "--", *command)
    assert (done.returncode, done.stdout.split()) == (0, prints.split()), done.stderr
    program.sonde("analyze", folder / "run.sonde", "-o", folder / "run.sdb")
    return folder


@pytest.fixture(scope="session")
def everything(mpi, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp(f"mpi-{mpi}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPI_CALLS_FILE", str(folder / "shared"))
        return record(folder, mpi, program.compiled("mpi/mpi_calls.c", "-O1", "-w", compiler=f"mpicc.{mpi}"), *CASES)


@pytest.fixture(scope="session")
def recorded(everything) -> list[dict]:
    return events(everything)


def parts(all_events: list[dict]) -> list[list[dict]]:
    """The ranks' parts of each collective."""
    found: dict[tuple[str, str], list[dict]] = {}
    for event in all_events:
        if event.get("attribute.collective"):
            found.setdefault((event["attribute.group"], event["attribute.collective"]), []).append(event)
    return list(found.values())


def in_case(all_events: list[dict], case: str) -> list[dict]:
    return [event for event in all_events if f";{case};" in event["path"]]


def together(all_events: list[dict]) -> Counter:
    """How often which ranks did which operation together, and the bytes of each part."""
    return Counter((tuple(sorted(e["rank"] for e in part)), *sorted({e["name"] for e in part}),
                    *sorted({int(e["attribute.bytes"] or 0) for e in part})) for part in parts(all_events))


def test_nonblocking_collectives(everything, recorded):
    own = in_case(recorded, "together")
    found = together(own)
    expected = {"Barrier": 0, "Iallreduce": 24, "Ibarrier": 0, "Ibcast": 40, "Bcast": 48, "Ireduce": 16, "Igather": 16, "Igatherv": 16,
                "Iscatter": 8, "Iscatterv": 16, "Iallgather": 16, "Iallgatherv": 16, "Ialltoall": 48, "Ialltoallv": 48,
                "Ialltoallw": 48, "Ireduce_scatter": 48, "Ireduce_scatter_block": 24, "Iscan": 8, "Iexscan": 8,
                "Allreduce": 32, "Gather": 24, "Allgather": 24}
    assert found == Counter({(EVERYBODY, f"MPI_{name}", size): 1 for name, size in expected.items()})
    # below the call that waited for them, or found them done
    first, = [part for part in parts(own) if part[0]["name"] == "MPI_Iallreduce"]
    assert all(e["path"].endswith(";MPI_Wait;MPI_Iallreduce") for e in first)
    assert {e["path"].split(";")[-2] for e in own if e["name"] in ("MPI_Ibarrier", "MPI_Iscan") and e["attribute.collective"]} == {
        "MPI_Test", "MPI_Testall"}
    # what they were begun with, in the order in which they were begun
    for event in first:
        if event["rank"] != "1":
            assert int(event["attribute.posted"]) >= WORK
    numbers = {e["name"]: int(e["attribute.collective"]) for e in own if e.get("attribute.collective")}
    assert numbers["MPI_Ibcast"] + 1 == numbers["MPI_Bcast"]


def test_overlap_and_waiting(everything, recorded):
    """Rank 1 was late with the first: the others did something else for some of that time, and waited for the rest."""
    row, = [row for row in table(everything, "messages", "collectives") if row["operation"] == "MPI_Iallreduce"]
    assert row["count"] == RANKS and row["bytes"] == RANKS * 3 * DOUBLE
    assert row["apart_ns"] >= 2 * WORK
    assert row["wait_ns"] > (LATE - WORK)
    late = [row for row in table(everything, "messages", "rank_waits") if "MPI_Iallreduce" in row["node"]]
    assert late[0]["late"] == rank(1)
    ranks = {row["participant"]: row for row in table(everything, "stragglers", "ranks")}
    assert ranks[rank(1)]["delayed_ns"] > LATE - WORK


def test_neighbours(recorded):
    assert together(in_case(recorded, "neighbours")) == Counter({
        (EVERYBODY, "MPI_Cart_create", 0): 1, (EVERYBODY, "MPI_Neighbor_allgather", 8): 1,
        (EVERYBODY, "MPI_Ineighbor_alltoall", 16): 1})


def accesses(all_events: list[dict]) -> Counter:
    """By operation: from whom to whom, which way (format/trace-file.md), how many bytes."""
    return Counter((e["name"], e["rank"], e.get("attribute.peer", ""), e["attribute.access"], int(e["attribute.bytes"] or 0))
                   for e in all_events if e.get("attribute.access"))


def test_one_sided(everything, recorded):
    own = in_case(recorded, "memory")
    expected: Counter = Counter()
    for r in range(RANKS):
        me, after = str(r), str((r + 1) % RANKS)
        for name, peer, access, size, count in (
                ("Put", after, "1", 4 * DOUBLE, ROUNDS), ("Get", after, "2", 5 * DOUBLE, 1), ("Accumulate", "0", "1", DOUBLE, 1),
                ("Put", "0", "1", 2 * DOUBLE, 1), ("Get_accumulate", "0", "3", 2 * DOUBLE, 1), ("Fetch_and_op", "0", "3", DOUBLE, 1),
                ("Compare_and_swap", "0", "3", 8, 1), ("Rput", after, "1", 3 * DOUBLE, 1), ("Rget", me, "2", 3 * DOUBLE, 1),
                ("Win_fence", "", "4", 0, 4), ("Win_lock", "0", "4", 0, 1), ("Win_flush", "0", "4", 0, 1), ("Win_unlock", "0", "4", 0, 1),
                ("Win_lock_all", "", "4", 0, 1), ("Win_flush_local", "0", "4", 0, 1), ("Win_flush_all", "", "4", 0, 1),
                ("Win_flush_local_all", "", "4", 0, 1), ("Win_sync", "", "4", 0, 1), ("Win_unlock_all", "", "4", 0, 1)):
            expected[f"MPI_{name}", me, peer, access, size] += count
    assert accesses(own) == expected
    # fences, and making and ending the window, are what all do together
    assert together(own) == Counter({(EVERYBODY, "MPI_Win_allocate", 0): 1, (EVERYBODY, "MPI_Win_fence", 0): 4,
                                     (EVERYBODY, "MPI_Barrier", 0): 1, (EVERYBODY, "MPI_Win_free", 0): 1})
    rows = {(row["who"], row["operation"], row["peer"]): row for row in table(everything, "messages", "one_sided")}
    assert rows[rank(1), "MPI_Rput", rank(2)]["bytes"] == 3 * DOUBLE
    assert rows[rank(2), "MPI_Put", rank(0)]["count"] == ROUNDS + 1
    assert rows[rank(0), "MPI_Get", rank(1)]["access"] == "reads"


def test_epochs(everything, recorded):
    """The origin waits for the target's post, the target for the origin's end."""
    own = in_case(recorded, "epochs")
    assert together([e for e in own if "Win_" in e["name"] and "peer" not in e["name"] and e.get("attribute.peer")]) == Counter({
        (("0", "1"), "MPI_Win_post", "MPI_Win_start", 0): 2, (("0", "1"), "MPI_Win_complete", "MPI_Win_wait", 0): 2})
    waits = [row for row in table(everything, "messages", "rank_waits") if "MPI_Win_" in row["node"] and row["wait_ns"] > LATE / 2]
    assert {(row["waiting"], row["late"], row["node"].split(" ")[0].startswith("MPI_Win_wait")) for row in waits} == {
        (rank(0), rank(1), False), (rank(1), rank(0), True)}


def test_files(everything, recorded):
    own = [e for e in in_case(recorded, "files") if e.get("attribute.access")]
    expected = Counter({(f"MPI_File_{name}", r, "", access, size * DOUBLE): 1 for r in EVERYBODY for name, access, size in (
        ("write_at_all", "6", 8), ("iwrite_at", "6", 4), ("write_at", "6", 2), ("read_at_all", "5", 8),
        ("read", "5", 2))})  # eight are asked for, two are there
    assert accesses(own) == expected
    assert together(own) == Counter({(EVERYBODY, "MPI_File_write_at_all", 64): 1, (EVERYBODY, "MPI_File_read_at_all", 64): 1})
    rows = {(row["who"], row["operation"]): row for row in table(everything, "messages", "files")}
    assert rows[rank(0), "MPI_File_write_at_all"]["bytes"] == 8 * DOUBLE
    assert rows[rank(0), "MPI_File_write_at_all"]["time_ns"] > LATE / 2 > rows[rank(1), "MPI_File_write_at_all"]["time_ns"] / 8


def test_messages_of_all_kinds(everything, recorded, mpi):
    found = pairs(everything)
    check_pairs(found)
    expected: Counter = Counter()

    def sends(count: int, tag: int, length: int, *routes: tuple[int, int]) -> None:
        for source, destination in routes:
            expected[source, destination, tag, DOUBLE * length] += count

    ring = [(r, (r + 1) % RANKS) for r in range(RANKS)]
    if any(e["name"] == "MPI_Pready" for e in recorded):  # MPI 4
        sends(ROUNDS, 3, 32, *ring)
        sends(1, 4, 3, *ring)
        sends(1, 5, 11, *ring)
        assert together([e for e in in_case(recorded, "again") if "_init" in e["name"]]) == Counter({
            (EVERYBODY, "MPI_Allreduce_init", 16): ROUNDS, (EVERYBODY, "MPI_Barrier_init", 0): ROUNDS})
        assert together(in_case(recorded, "again"))[EVERYBODY, "MPI_Allreduce_c", 88] == 1
    else:
        assert mpi.startswith("openmpi")
    # those that were cancelled have taken none
    for length in (1, 2, 3):
        sends(1, 9, length, (0, 1), (1, 0))
    sends(1, 8, 1, (0, 1), (1, 0))
    # communicators: dup, idup, by host backwards, create and create_group of two, between two, merged, the world
    sends(1, 2, 1, *ring)
    sends(1, 2, 2, *ring)
    sends(1, 2, 3, *[(to, source) for source, to in ring])
    sends(1, 2, 4, (2, 0), (0, 2))
    sends(1, 2, 5, (2, 0), (0, 2))
    sends(1, 2, 6, (0, 1), (1, 0))
    sends(1, 2, 7, (0, 2), (2, 1), (1, 0))
    sends(1, 2, 20, *ring)
    # types: every other double, absolute addresses, nothing
    for length in (20, 6, 0):
        sends(1, 1, length, *ring)
    # among those that fail, and after
    sends(1, 2, 4, (0, 1), (1, 0))
    sends(1, 1, 3, (0, 1), (1, 0))
    assert sizes(found) == expected
    names = [s["attribute.communicator"] for s, _ in found if ";communicators;" in s["path"] and s["rank"] == "0"]
    assert len(set(names)) == len(names)
    # what was too long for its receive was sent, and no more
    assert program.info(everything)["properties"]["messages.unmatched"] == "2"


def test_line_of_info(everything, mpi):
    text = program.sonde("info", everything / "run.sdb")
    line, = [line for line in text.splitlines() if line.strip().startswith("mpi ") and "rank" in line]
    name = "Open MPI" if mpi.startswith("openmpi") else "Intel(R) MPI" if mpi.startswith("intel") else "MPICH"
    assert f"{name} " in line and f"of {RANKS}, " in line
    assert all(word in line for word in ("calls", "messages sent", "collectives", "one-sided accesses", "reads and writes of files"))


def test_threads(mpi, tmp_path):
    """Several threads at once, each with a communicator and a window of its own."""
    record(tmp_path, mpi, program.compiled("mpi/mpi_calls.c", "-O1", "-w", compiler=f"mpicc.{mpi}"), "threads", prints="threads 1")
    own = [e for e in events(tmp_path) if ";work;" in e["path"]]
    assert together(own) == Counter({(EVERYBODY, "MPI_Iallreduce", 8): 3 * ROUNDS, (EVERYBODY, "MPI_Barrier", 0): 3 * ROUNDS})
    assert accesses(own) == Counter({(name, r, r, access, size): 3 * ROUNDS for r in EVERYBODY for name, access, size in (
        ("MPI_Win_lock", "4", 0), ("MPI_Get", "2", 8), ("MPI_Win_unlock", "4", 0))})


@pytest.mark.parametrize("interface", ["MPIF_H", "USE_MPI", "USE_MPI_F08"])
def test_fortran(mpi, interface, tmp_path):
    """Each call is counted once, whatever of C the Fortran library calls."""
    compiler = f"mpifort.{mpi}"
    if not shutil.which(compiler) or not shutil.which("gfortran"):
        pytest.skip(f"no {compiler} here")
    binary = tmp_path / "fortran"
    made = subprocess.run([compiler, "-g", "-cpp", "-w", f"-D{interface}", program.WORKLOADS / "mpi/mpi_fortran.f90", "-o", binary],
                          capture_output=True, text=True, cwd=tmp_path)
    if made.returncode and ("mpi_f08" in made.stderr or "mpi.mod" in made.stderr):
        pytest.skip(f"{mpi} has no module for this compiler")
    assert made.returncode == 0, made.stderr
    record(tmp_path, mpi, binary, prints="total 60")
    found = pairs(tmp_path)
    check_pairs(found)
    assert sizes(found) == Counter({(r, (r + 1) % RANKS, tag, DOUBLE * length): count for r in range(RANKS)
                                    for tag, length, count in ((1, 10, 5), (2, 20, 5), (3, 7, 5))})
    assert program.info(tmp_path)["properties"]["messages.unmatched"] == "0"
    assert together(events(tmp_path)) == Counter({
        (EVERYBODY, "MPI_Allreduce", 16): 1, (EVERYBODY, "MPI_Barrier", 0): 1, (EVERYBODY, "MPI_Iallreduce", 8): 1})


def python_with_mpi() -> str | None:
    for python in (sys.executable, shutil.which("python3")):
        if python and not subprocess.run([python, "-c", "import mpi4py"], capture_output=True).returncode:
            return python
    return None


def test_python(mpi, tmp_path):
    """mpi4py: what it sends has both ends, at the Python lines that send it."""
    python = python_with_mpi()
    if not python:
        pytest.skip("no mpi4py here")
    # made for MPICH under the name that it has of its own, which Debian's has not
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64/mpich/lib", "/usr/lib"):
        if mpi == "mpich" and Path(folder, "libmpich.so.12").exists():
            (tmp_path / "libmpi.so.12").symlink_to(Path(folder, "libmpich.so.12"))
            break
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_LIBRARY_PATH", str(tmp_path), prepend=":")
        patch.setenv("MPI4PY_LIBMPI", {"mpich": "libmpi.so.12", "openmpi": "libmpi.so.40"}[mpi])
        if mpirun(mpi, python, "-c", "from mpi4py import MPI").returncode:
            pytest.skip(f"mpi4py does not run with {mpi}")
        record(tmp_path, mpi, python, program.WORKLOADS / "mpi/mpi_python.py", prints="total 45.0")
    found = pairs(tmp_path)
    check_pairs(found)
    arrays = [pair for pair in found if pair[0]["attribute.tag"] == "1"]
    objects = [pair for pair in found if pair[0]["attribute.tag"] == "2"]
    assert sizes(arrays) == Counter({(r, (r + 1) % RANKS, 1, DOUBLE * 100): 5 for r in range(RANKS)})
    assert Counter((s["rank"], r["rank"]) for s, r in objects) == Counter({(str(r), str((r + 1) % RANKS)): 5 for r in range(RANKS)})
    assert program.info(tmp_path)["properties"]["messages.unmatched"] == "0"
    for sent, received in arrays + objects:
        assert "pass_on" in sent["path"] and "pass_on" in received["path"], json.dumps(sent)
