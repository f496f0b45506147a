# SPDX-License-Identifier: Apache-2.0
"""`sonde record`: programs that run already, of which it is known where they spend their time."""
from __future__ import annotations

import contextlib
import os
import pwd
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from interpreters import OLDER, SUPPORTED
from program import SONDE, bound, compiled, info, paths, rows, sonde
from running import ALLOWED, needs_sampling, running, wait_for_events


pytestmark = needs_sampling


def metric(folder: Path) -> str:
    """The event, by the machine."""
    [name] = {row["name"] for row in info(folder)["metrics"]}
    return name


def shares(folder: Path) -> tuple[dict[str, float], int]:
    """By the function two above the one that was interrupted: what part of all samples; and how many there are."""
    name, of, total = metric(folder), {}, 0
    for frames, value in paths(folder, name):
        names = [frame["name"] for frame in frames]
        for part in ("long_part", "short_part", "of_thread", "of_child", "of_library"):
            if any(text == part or text.startswith(f"{part} ") for text in names):
                of[part] = of.get(part, 0) + value["count"]
        total += value["count"]
    return {part: count / total for part, count in of.items()}, int(total)


def record(folder: Path, *arguments: object, check: int = 0) -> str:
    done = subprocess.run([SONDE, "record", "-o", folder / "run.sdb", *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == check, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("options", [("-O2",), ("-O2", "-fno-omit-frame-pointer"), ("-O0",)])
def test_shares_of_functions(tmp_path, options):
    """Callers are found with and without frame pointers."""
    with running(options=options) as process:
        said = record(tmp_path, "--pid", process.pid, "-F", 500, "--", 2)
    of, total = shares(tmp_path)
    assert total > 200, said
    assert of["long_part"] + of["short_part"] > 0.97, of
    assert abs(of["long_part"] / (of["long_part"] + of["short_part"]) - 0.75) < bound(0.75, total), of
    assert "main" in {row["name"].split(" ")[0] for row in rows(tmp_path)}


def test_frame_pointers_alone(tmp_path):
    with running(options=("-O0",)) as process:
        record(tmp_path, "--pid", process.pid, "-F", 500, "--stack", 0, "--", 1)
    of, total = shares(tmp_path)
    assert abs(of["long_part"] - 0.75) < bound(0.75, total) + 0.03, of


@pytest.mark.parametrize("what, part", [("thread", "of_thread"), ("child", "of_child"), ("load", "of_library")])
def test_what_begins_meanwhile(tmp_path, what, part):
    library = compiled("system/loaded.c", "-shared", "-fPIC")
    with running(what) as process:
        with subprocess.Popen([SONDE, "record", "-q", "-o", tmp_path / "run.sdb", "-F", "200", "--pid", str(process.pid), "--", "2"]) as recording:
            wait_for_events(recording)
            process.stdin.write(f"{library}\n")
            process.stdin.flush()
        assert recording.returncode == 0
    of, _ = shares(tmp_path)
    assert of[part] > 0.1, of
    assert of["long_part"] > 0.1, of
    if what == "thread":
        assert any(profile["thread"] == "later" for profile in info(tmp_path)["profiles"])


def test_ends_with_the_process(tmp_path):
    with running("end") as process:
        with subprocess.Popen([SONDE, "record", "-o", tmp_path / "run.sdb", "--pid", str(process.pid)], stdout=subprocess.PIPE, text=True) as recording:
            wait_for_events(recording)
            process.stdin.write("\n")
            process.stdin.flush()
            out, _ = recording.communicate(timeout=60)
        assert recording.returncode == 0
    assert "samples in" in out
    assert shares(tmp_path)[1] > 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ends_by_a_signal(tmp_path, number):
    with running() as process:
        with subprocess.Popen([SONDE, "record", "-q", "-o", tmp_path / "run.sdb", "--pid", str(process.pid)]) as recording:
            wait_for_events(recording)
            recording.send_signal(number)
        assert recording.returncode == 0
        assert process.poll() is None
    assert shares(tmp_path)[1] > 5


@pytest.mark.skipif("whole machine" not in ALLOWED["text"], reason=ALLOWED["text"])
def test_the_whole_machine(tmp_path):
    with running() as one, running() as other:
        record(tmp_path, "--all", "--", 1)
        assert {one.pid, other.pid} <= {profile["pid"] for profile in info(tmp_path)["profiles"]}
    assert info(tmp_path)["properties"]["program"] == os.uname().nodename


def test_a_name_of_its_own(tmp_path):
    with running() as process:
        subprocess.run([SONDE, "record", "-q", "-p", str(process.pid), "--", "0.1"], cwd=tmp_path, check=True)
        name = Path(f"/proc/{process.pid}/comm").read_text().strip()
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}-{process.pid}.sdb"]


def test_the_program_is_left_alone(tmp_path):
    """Nothing is loaded into it, opened in it or traces it."""
    def state(pid: int) -> tuple:
        folder = Path(f"/proc/{pid}")
        tracer = [line for line in (folder / "status").read_text().splitlines() if line.startswith(("TracerPid", "SigCgt", "SigBlk"))]
        return sorted(os.listdir(folder / "fd")), tracer, {line.split()[-1] for line in (folder / "maps").read_text().splitlines()}

    with running() as process:
        before = state(process.pid)
        with subprocess.Popen([SONDE, "record", "-q", "-o", tmp_path / "run.sdb", "-p", str(process.pid), "--", "1"]) as recording:
            wait_for_events(recording)
            assert state(process.pid) == before
        assert recording.returncode == 0
        assert state(process.pid) == before


PYTHON = """
import functools
import sys
import threading


def spin(rounds):
    total = 0
    for number in range(rounds * 100):
        total += number * number
    return total


def long_part():
    return spin(30)


def short_part():
    return spin(10)


def by_native(total, part):
    return total + part()


def middle():
    functools.reduce(by_native, (long_part, short_part), 0)


def work():
    while True:
        middle()


print("ready", flush=True)
if "thread" in sys.argv:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
work()
"""


@contextlib.contextmanager
def running_python(folder: Path, python: str, *arguments: str):
    program = folder / "program.py"
    program.write_text(PYTHON)
    with subprocess.Popen([python, program, *arguments], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("python", SUPPORTED)
@pytest.mark.parametrize("where", ["main", "thread"])
def test_python_frames(tmp_path, where, python):
    """Paths are those of Python's functions, with lines, also where a native function is between; nothing of the interpreter is above them."""
    with running_python(tmp_path, python, where) as process:
        said = record(tmp_path, "--pid", process.pid, "-F", 300, "--", 3)
    assert "no Python frames of" not in said, said
    of, total, in_loop, name = {}, 0, 0, metric(tmp_path)
    for frames, value in paths(tmp_path, name):
        total += value["count"]
        python = [frame["name"].split(" ")[0] for frame in frames if frame["kind"] == "python"]
        first = next((place for place, frame in enumerate(frames) if frame["kind"] == "python"), None)
        if first is None or "by_native" not in python:
            continue
        assert python[python.index("work"):python.index("work") + 3] == ["work", "middle", "by_native"], python
        assert not any(frame["kind"] == "native" for frame in frames[:first]), frames
        part = python[python.index("by_native") + 1:python.index("by_native") + 2]
        if part and python[-1] == "spin":
            of[part[0]] = of.get(part[0], 0) + value["count"]
            spin = [frame for frame in frames if frame["kind"] == "python"][-1]
            in_loop += value["count"] * (spin["file"].endswith("/program.py") and spin["line"] in (9, 10))
    known = of.get("long_part", 0) + of.get("short_part", 0)
    assert known > 0.9 * total, (of, total)
    assert abs(of["long_part"] / known - 0.75) < bound(0.75, known) + 0.02, of
    assert in_loop > 0.95 * known, (in_loop, known)


@pytest.mark.parametrize("python", OLDER)
def test_older_interpreters(tmp_path, python):
    with running_python(tmp_path, python) as process:
        said = record(tmp_path, "--pid", process.pid, "--", 1)
    assert f"no Python frames of process {process.pid}: CPython is older than 3.9" in said


def test_without_python_frames(tmp_path):
    with running_python(tmp_path, sys.executable) as process:
        record(tmp_path, "--pid", process.pid, "--no-python", "--", 1)
    assert shares(tmp_path)[1] > 5
    assert not any(row["kind"] == "python" for row in rows(tmp_path))


@pytest.mark.parametrize("arguments, status, message", [
    ([], 129, "nothing to sample: give --pid PID, or --all"),
    (["--pid", "x"], 129, "option '--pid': 'x' is no list of processes"),
    (["--pid", "1,"], 129, "option '--pid': '1,' is no list of processes"),
    (["--pid", "0"], 129, "option '--pid': '0' is no list of processes"),
    (["--all", "--pid", "1"], 129, "--pid and --all exclude each other"),
    (["--all", "--stack", "64K"], 129, "option '--stack': '64K' is neither 0 nor a size from 1K to 63K"),
    (["--all", "--stack", "4"], 129, "option '--stack': '4' is neither 0 nor a size from 1K to 63K"),
    (["--all", "--", "soon"], 129, "'soon' is no number of seconds"),
    (["--all", "--", "1", "2"], 129, "more than one operand: '2'"),
    (["--pid", "4194303"], 128, "there is no process 4194303"),
])
def test_what_is_refused(tmp_path, arguments, status, message):
    done = subprocess.run([SONDE, "record", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == status
    assert message in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not list(tmp_path.iterdir())


def test_a_thread_is_no_process(tmp_path):
    with running("end") as process:
        [thread] = set(map(int, os.listdir(f"/proc/{process.pid}/task"))) - {process.pid}
        said = record(tmp_path, "--pid", thread, "--", 1, check=128)
    assert f"{thread} is a thread" in said


def test_a_process_that_is_named_twice_counts_once(tmp_path):
    with running() as process:
        record(tmp_path, "-p", f"{process.pid},{process.pid}", "-p", process.pid, "-F", 100, "--", 1)
    assert 50 < shares(tmp_path)[1] <= 120


def test_an_output_that_cannot_be(tmp_path):
    done = subprocess.run([SONDE, "record", "--all", "-o", tmp_path / "no/run.sdb", "--", "30"], capture_output=True, text=True, timeout=10)
    assert done.returncode == 128 and "no/run.sdb" in done.stderr and done.stderr.count("\n") == 1


def test_no_room_for_what_is_recorded(tmp_path):
    with running() as process:
        done = subprocess.run([SONDE, "record", "-p", str(process.pid), "-o", tmp_path / "run.sdb", "-F", "500", "--", "30"], capture_output=True, text=True, timeout=25,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)))
    assert done.returncode == 128
    assert "File too large" in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not list(tmp_path.iterdir())


@pytest.fixture
def sonde_for_all():
    """A copy that other users may execute: the build may lie in a folder of root's."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield shutil.copy(SONDE, name)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_processes_of_others(tmp_path, sonde_for_all):
    nobody = pwd.getpwnam("nobody")
    with running() as process:
        done = subprocess.run([sonde_for_all, "record", "-p", str(process.pid), "-o", "/tmp/nobody.sdb", "--", "0.1"], capture_output=True, text=True, timeout=60,
                              user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])
    assert done.returncode == 128
    assert "it is another user's" in done.stderr and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("language", ["C", "Python"])
def test_own_processes_of_an_ordinary_user(tmp_path, language, sonde_for_all):
    """Without the kernel's functions, which is said; with little memory that may be locked; with Python's frames, unless the machine lets nobody trace others."""
    if Path("/proc/sys/kernel/perf_event_paranoid").read_text().strip() != "2":
        pytest.skip("kernel.perf_event_paranoid is not the usual 2")
    nobody = pwd.getpwnam("nobody")
    as_nobody = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # pytest's folders are the user's alone
        folder = Path(name)
        own = folder / "running"
        if language == "C":
            shutil.copy(compiled("system/running.c", "-O2"), own)
        else:
            own.write_text(f"#!/usr/bin/python3\n{PYTHON}")
        own.chmod(0o755)
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        folder.chmod(0o700)
        with subprocess.Popen([own], stdout=subprocess.PIPE, text=True, **as_nobody) as process:
            try:
                assert process.stdout.readline() == "ready\n"
                done = subprocess.run([sonde_for_all, "record", "-p", str(process.pid), "-o", folder / "run.sdb", "-F", "500", "--", "1"], capture_output=True, text=True,
                                      timeout=60, cwd=folder, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536)), **as_nobody)
            finally:
                process.kill()
        assert done.returncode == 0, done.stderr
        assert "without the kernel's functions" in done.stderr
        assert (folder / "run.sdb").stat().st_mode & 0o777 == 0o600
        of, total = shares(folder)
        scope = Path("/proc/sys/kernel/yama/ptrace_scope")
        if language == "C" or not scope.exists() or scope.read_text().strip() == "0":
            assert abs(of["long_part"] - 0.75) < bound(0.75, total) + 0.05, of
        else:
            assert "its memory may not be read" in done.stderr


def python_part(folder: Path) -> float:
    """Of all samples those with a frame of Python."""
    name, known, total = metric(folder), 0, 0
    for frames, value in paths(folder, name):
        known += value["count"] * any(frame["kind"] == "python" for frame in frames)
        total += value["count"]
    return known / total


def test_the_first_of_two_processes_ends(tmp_path):
    """The other one is sampled on, with Python's frames."""
    with running("end") as first, running_python(tmp_path, sys.executable) as second:
        with subprocess.Popen([SONDE, "record", "-q", "-o", tmp_path / "run.sdb", "-F", "200", "-p", f"{first.pid},{second.pid}", "--", "3"]) as recording:
            wait_for_events(recording)
            first.stdin.write("\n")
            first.stdin.flush()
        assert recording.returncode == 0
    assert python_part(tmp_path) > 0.7


def test_another_program_is_executed(tmp_path):
    """A shell becomes a Python, which is found."""
    (tmp_path / "program.py").write_text(PYTHON)
    with subprocess.Popen(["/bin/sh", "-c", f"read line; exec {sys.executable} {tmp_path}/program.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            with subprocess.Popen([SONDE, "record", "-q", "-o", tmp_path / "run.sdb", "-F", "200", "-p", str(process.pid), "--", "3"]) as recording:
                wait_for_events(recording)
                process.stdin.write("\n")
                process.stdin.flush()
            assert recording.returncode == 0
        finally:
            process.kill()
    assert python_part(tmp_path) > 0.7


def test_deep_recursion(tmp_path):
    (tmp_path / "deep.py").write_text("""
import sys
sys.setrecursionlimit(3000)
def deeper(left):
    if left:
        return deeper(left - 1)
    print("ready", flush=True)
    while True:
        pass
deeper(1500)
""")
    with subprocess.Popen([sys.executable, tmp_path / "deep.py"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            record(tmp_path, "-p", process.pid, "--", 1)
        finally:
            process.kill()
    assert max(sum(frame["kind"] == "python" for frame in frames) for frames, _ in paths(tmp_path, metric(tmp_path))) == 1502
