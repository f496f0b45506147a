# SPDX-License-Identifier: Apache-2.0
"""Files that others truncate, full disks, limits of files and memory: the program goes on, and reports say why data are missing."""
from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Callable

import pytest

import program
from test_trace_record import drops, entered, events

PAGE, CHUNK = 4096, 65536


@pytest.fixture(scope="session")
def limits() -> Path:
    return program.compiled("collect/limits.c", "-O1")


def truncated(size: int) -> Callable[[Path], None]:
    def act(trace: Path) -> None:
        os.truncate(trace, min(size, trace.stat().st_size))
    return act


def replaced(trace: Path) -> None:
    trace.unlink()
    trace.write_bytes(b"somebody else's")


HARM = {
    "all": truncated(0), "to-a-byte": truncated(1), "header": truncated(PAGE), "part": truncated(PAGE + CHUNK // 2),
    "removed": Path.unlink, "replaced": replaced,
}


def run_harmed(folder: Path, act: Callable[[Path], None], *command: object, times: int = 1,
               options: tuple[str, ...] = ("--trace=regions",)) -> int:
    """How many regions the program says it made, while `act` was done to its trace file."""
    words = [program.SONDE, "run", "-q", "-o", folder / "run", "--no-analyze", *options, "--", *map(str, command)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "ready\n"
        for _ in range(times):
            time.sleep(0.15)
            for trace in folder.glob("run.sonde/*.sonde-trace"):
                act(trace)
        out, err = run.communicate(timeout=120)
    assert run.returncode == 0, (run.returncode, err)
    program.sonde("analyze", folder / "run.sonde", "-o", folder / "run.sdb")
    return int(out)


def recorded(folder: Path) -> int:
    return program.info(folder)["events"]


def lost_events(folder: Path) -> int:
    return sum(count for cause, count in drops(folder).items() if cause.startswith("trace-") and cause != "trace-context")


# ---- the trace ----

@pytest.mark.parametrize("harm", HARM)
def test_trace_harmed(limits: Path, tmp_path: Path, harm: str) -> None:
    """It begins anew, and what was in it is counted with the true cause. Replaced by another's file: all is lost."""
    made = run_harmed(tmp_path, HARM[harm], limits, "regions", 600, 3)
    lost = drops(tmp_path)
    told = {"trace-truncated"} | ({"trace-unwritable"} if harm == "replaced" else set())
    assert told <= set(lost) and not {"trace-space", "trace-file-size", "trace-memory"} & set(lost)
    if harm == "replaced":
        trace, = tmp_path.glob("run.sonde/*.sonde-trace")
        assert trace.read_bytes() == b"somebody else's"
    else:
        assert recorded(tmp_path) + lost_events(tmp_path) == made
    assert entered(tmp_path, "turn") == made


def test_trace_truncated_again_and_again(limits: Path, tmp_path: Path) -> None:
    made = run_harmed(tmp_path, truncated(0), limits, "regions", 1500, 4, times=6)
    assert recorded(tmp_path) + lost_events(tmp_path) == made


def test_trace_truncated_at_its_limit(limits: Path, tmp_path: Path) -> None:
    """Places are taken again: what was overwritten, what was truncated and what is there make up all."""
    made = run_harmed(tmp_path, truncated(PAGE + 3 * CHUNK), limits, "regions", 800, 4,
                      options=("--trace=regions", "--trace-limit", "1M"))
    lost = drops(tmp_path)
    assert lost["trace-truncated"] > 0
    assert recorded(tmp_path) + lost_events(tmp_path) == made


def test_trace_truncated_after_the_last_event(limits: Path, tmp_path: Path) -> None:
    words = [program.SONDE, "run", "-q", "-o", tmp_path / "run", "--no-analyze", "--trace=regions", "--", limits, "idle", "400"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "ready\n"
        time.sleep(0.1)
        trace, = tmp_path.glob("run.sonde/*.sonde-trace")
        os.truncate(trace, 0)
        assert run.wait(timeout=60) == 0
    program.sonde("analyze", tmp_path / "run.sonde", "-o", tmp_path / "run.sdb")
    assert drops(tmp_path)["trace-truncated"] == 10


def test_file_size_limit_at_run_time(limits: Path, tmp_path: Path) -> None:
    """The program lowers its own limit below what the trace has: no SIGXFSZ, the cause is told."""
    made = run_harmed(tmp_path, lambda trace: None, limits, "size")
    lost = drops(tmp_path)
    assert lost["trace-file-size"] > 0
    assert recorded(tmp_path) + lost_events(tmp_path) == made


@pytest.fixture
def disk(tmp_path: Path):
    """A file system of 2 MiB."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small file system")
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("cannot mount a file system here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_disk_full(limits: Path, disk: Path) -> None:
    """Somebody else fills the disk while the program records, and makes room again."""
    def fill(_: Path) -> None:
        with open(disk / "filler", "wb", buffering=0) as filler:
            try:
                while filler.write(bytes(4096)):
                    pass
            except OSError:
                pass
        time.sleep(0.3)
        (disk / "filler").unlink()
    words = [program.SONDE, "run", "-q", "-o", disk / "run", "--no-analyze", "--trace=regions", "--", limits, "regions", "900", "3"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "ready\n"
        time.sleep(0.1)
        fill(disk)
        out, err = run.communicate(timeout=60)
    assert run.returncode == 0, err
    program.sonde("analyze", disk / "run.sonde", "-o", disk / "run.sdb")
    lost = drops(disk)
    assert lost["trace-space"] > 0 and "trace-truncated" not in lost
    assert recorded(disk) + lost_events(disk) == int(out)


# ---- killed ----

def kill_after(folder: Path, seconds: float, *command: object) -> list[dict[str, str]]:
    """The events of a program that was killed so long after it said "ready"."""
    words = [program.SONDE, "run", "-q", "-o", folder / "run", "--no-analyze", "--trace=regions", "--", *map(str, command)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "ready\n"
        child = int(subprocess.run(["pgrep", "-P", str(run.pid)], capture_output=True, text=True).stdout.split()[0])
        time.sleep(seconds)
        killed_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        os.kill(child, signal.SIGKILL)
        run.wait(timeout=60)
    program.sonde("analyze", folder / "run.sonde", "-o", folder / "run.sdb")
    found = events(folder)
    for event in found:
        event["before_kill_ns"] = str(killed_ns - int(event["end_ns"]))
    return found


def test_killed_while_recording(limits: Path, tmp_path: Path) -> None:
    """Whatever a thread has recorded is in the file 10 ms later if it records more, at a checkpoint at the latest."""
    found = kill_after(tmp_path, 0.5, limits, "regions", 60000, 3)
    by_thread: dict[str, list[int]] = {}
    for event in found:
        by_thread.setdefault(event["tid"], []).append(int(event["before_kill_ns"]))
    assert len(by_thread) == 3
    # bounds are not of time alone: a thread may have waited for a processor
    assert all(min(ago) < 500_000_000 for ago in by_thread.values())
    assert not {cause for cause in drops(tmp_path) if cause.startswith("trace-") and cause != "trace-context"}


def test_killed_after_a_pause(limits: Path, tmp_path: Path) -> None:
    """A thread that records nothing more: its first event was written at once."""
    assert len(kill_after(tmp_path, 0.2, limits, "idle", 60000)) >= 1


# ---- memory ----

SHARE = 8  # src/collect/core/arena.h


@pytest.mark.parametrize("resource", ["fill", "data"])
@pytest.mark.parametrize("mib", [16, 64, 256])
def test_program_gets_its_memory(limits: Path, tmp_path: Path, resource: str, mib: int) -> None:
    """Of what a limit leaves to a program with 64 threads the collector takes about an eighth, and says what it could not do."""
    plain = int(subprocess.run([limits, resource, str(mib)], capture_output=True, text=True, check=True).stdout)
    measured = int(program.run(tmp_path, limits, resource, str(mib)).stdout)
    assert plain - measured <= 1.3 * mib / SHARE + 1
    if mib < 256:
        assert drops(tmp_path)["thread-memory"] > 0
    assert program.info(tmp_path)["profiles"]


def test_address_space_of_threads(limits: Path, tmp_path: Path) -> None:
    """400 threads reserve what is used, not what the C library keeps for threads that free memory (64 MiB each)."""
    plain = int(subprocess.run([limits, "threads", "400"], capture_output=True, text=True, check=True).stdout)
    measured = int(program.run(tmp_path, limits, "threads", "400").stdout)
    assert measured - plain < 400 * 600  # KiB


# ---- readers ----

@pytest.mark.parametrize("keep", [0, PAGE])
def test_database_truncated_while_it_is_read(tmp_path: Path, keep: int) -> None:
    """A report that waits for its reader after it has opened a large database, which is then truncated."""
    database = tmp_path / "big.sdb"
    subprocess.run([program.BUILD / "tests/make-db", "--contexts", "100000", database], check=True)
    words = [program.SONDE, "export", "--to", "folded", database, "-o", "-"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout.read(1)  # the pipe is full soon, and the rest is to be read yet
        os.truncate(database, keep)
        _, err = run.communicate(timeout=60)
    assert run.returncode == 128, (run.returncode, err)
    assert err.decode() == f"sonde: cannot read '{database}': it became shorter while it was read\n"


def test_other_bus_errors_end_a_command_as_before(small_db: Path) -> None:
    with subprocess.Popen([program.SONDE, "report", small_db, "--format", "json"], stdout=subprocess.PIPE) as run:
        os.kill(run.pid, signal.SIGBUS)
        run.communicate(timeout=60)
    assert run.returncode in (-signal.SIGBUS, 0)  # 0: it was faster


def test_recording_of_the_operating_system_truncated(limits: Path, tmp_path: Path) -> None:
    """The launcher's own trace: it goes on, and hands on how the program ended."""
    words = [program.SONDE, "run", "-q", "-o", tmp_path / "run", "--no-analyze", "--os=scheduler", "--", limits, "regions", "800", "2"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "ready\n"
        time.sleep(0.2)
        traces = list(tmp_path.glob("run.sonde/*.sonde-trace"))
        if not traces:
            pytest.skip("the operating system cannot be recorded here")
        for trace in traces:
            os.truncate(trace, 0)
        out, err = run.communicate(timeout=60)
    assert (run.returncode, int(out) > 0) == (0, True), err


def test_samples_that_take_longer_than_their_period(tmp_path: Path) -> None:
    """Signals that queue would leave the program no time, and other programs no room for theirs."""
    traced = program.compiled("collect/traced_calls.c", "-O2")
    done = program.run(tmp_path, traced, options=("-F", "10000"), check=3, timeout=60)
    assert int(done.stdout) > 20  # it was measured
