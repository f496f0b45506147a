# SPDX-License-Identifier: Apache-2.0
"""A program's descriptors are its own: numbers of ours that it takes are left alone, and few of its limit are ours."""
from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import pytest

import program

LIMIT = 1024
EVENTS = {
    "default": (),
    "fast": ("-F", "1000"),
    "faults": ("-e", "page-faults@50"),
    "all": ("-e", "cpu-time@1000,page-faults@50,context-switches"),
}
SHARE = 16  # src/collect/record/own_fd.h
FILES = 2  # descriptors besides events: of the measurement, of the trace


@pytest.fixture(scope="session")
def descriptors() -> Path:
    return program.compiled("collect/descriptors.c", "-O1")


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))


def plain(*command: object) -> str:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120, check=True,
                          preexec_fn=limited).stdout


def measured(folder: Path, events: str, *command: object, options: tuple[str, ...] = ()) -> str:
    words = [program.SONDE, "run", "-q", "-o", folder / "run", *EVENTS[events], *options, "--", *map(str, command)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, preexec_fn=limited)
    # where the program has left no descriptor nothing can be written, which is said
    assert done.returncode in (0, 128), (done.returncode, done.stderr)
    return done.stdout


@pytest.mark.parametrize("events", EVENTS)
@pytest.mark.parametrize("what", ["take", "close", "swap", "limits"])
def test_as_plain(descriptors: Path, tmp_path: Path, what: str, events: str) -> None:
    """The one difference that remains possible (docs/design/descriptors.md) needs the program to use a number in the
    microsecond between check and use: swap tries to, and must not succeed time after time."""
    expected = plain(descriptors, what)
    for folder in ("first", "second", "third") if what == "swap" else ("first",):
        (tmp_path / folder).mkdir()
        found = measured(tmp_path / folder, events, descriptors, what, options=("--no-analyze",))
        if found == expected:
            return
    assert found == expected


@pytest.mark.parametrize("threads", [3, 300])
@pytest.mark.parametrize("events", EVENTS)
def test_share_of_the_limit(descriptors: Path, tmp_path: Path, events: str, threads: int) -> None:
    """All events of all threads take at most one in SHARE of what the program may open."""
    def opened(text: str) -> int:
        assert text.endswith("Too many open files\n")
        return int(text.split()[1].rstrip(","))
    ours = opened(plain(descriptors, "fill", threads)) - opened(measured(tmp_path, events, descriptors, "fill", threads))
    assert 0 <= ours <= FILES + LIMIT // SHARE
    if events == "default":
        assert ours <= FILES


@pytest.mark.parametrize("events", EVENTS)
def test_numbers_in_use(descriptors: Path, tmp_path: Path, events: str) -> None:
    """Threads that have ended leave none, and threads that run no more than the share."""
    before, then, after = map(int, measured(tmp_path, events, descriptors, "count", 100).split())
    least = int(plain(descriptors, "count", 100).split()[0])
    assert before == after and then - before <= LIMIT // SHARE
    assert before - least <= FILES + 3  # and the first thread's events


def test_threads_without_events_are_sampled_all_the_same(descriptors: Path, tmp_path: Path) -> None:
    """Beyond the share time is sampled by timers; how many events were not opened is counted."""
    measured(tmp_path, "fast", descriptors, "count", 100)
    data = program.info(tmp_path)
    assert data["drops"]["descriptors-scarce"] == 101 - LIMIT // SHARE
    # 40 ms each, at 4 ms a sample or better
    assert sum(profile["samples"] > 0 for profile in data["profiles"]) > 90


@pytest.mark.parametrize("events,lost", [("fast", 9), ("all", 27)])
def test_events_taken_are_counted_and_replaced(descriptors: Path, tmp_path: Path, events: str, lost: int) -> None:
    """take: 9 threads lose all events. The first goes on for 1,050 ms: after 250 ms the loss is seen, and from then on a
    timer samples, every 4 ms, or where the machine is busy every 40 ms."""
    words = [program.SONDE, "run", "-q", "-o", tmp_path / "run", *EVENTS[events], "--", descriptors, "take"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    data = program.info(tmp_path)
    assert data["drops"]["event-taken"] == lost, data["drops"]
    first = next(profile for profile in data["profiles"] if profile["tid"] == profile["pid"])
    assert first["samples"] >= 10, first
