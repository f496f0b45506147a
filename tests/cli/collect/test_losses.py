# SPDX-License-Identifier: Apache-2.0
"""What cannot be measured is counted: processes, and the part of the CPU time that they used."""
from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

import program

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def workload() -> Path:
    return program.compiled("collect/losses.c", "-O1")


@pytest.fixture(scope="session")
def static_workload() -> Path:
    try:
        return program.compiled("collect/losses.c", "-O1", "-static")
    except subprocess.CalledProcessError:
        pytest.skip("no static C library")


def measured(folder: Path, *command: str | Path, options: tuple[str, ...] = ()) -> dict:
    """Runs a program plain and measured, and compares; what `sonde info` tells of the second."""
    plain = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    done = program.run(folder, *command, options=options, check=None)
    assert (done.stdout, done.stderr, done.returncode) == (plain.stdout, plain.stderr, plain.returncode)
    return program.info(folder)


def expect(data: dict, processes: tuple[int, int], share: float, **drops: int) -> None:
    """`processes` of which some are missing; `share` of the CPU time, of programs that use 100 ms a step."""
    missing = data["missing"]
    assert (missing["processes"], missing["of_processes"]) == processes, data
    assert abs(missing["cpu_ns"] / missing["of_cpu_ns"] - share) < 0.1, missing
    for cause in ("process-unwritable", "process-unseen", "program-unmeasured", "process-unknown", "confined"):
        assert data["drops"].get(cause, 0) == drops.get(cause.replace("-", "_"), 0), data["drops"]
    assert data["complete"] is False


def expect_all(data: dict, milliseconds: int) -> None:
    """Nothing is missing, and all of the time is there. Of what a program uses by its own clock, samples took some."""
    assert data["complete"] is True and data["missing"]["processes"] == 0, data
    total = sum(metric["sum"] for metric in data["metrics"] if metric["name"] == "cpu-time")
    own = sum(profile["own_ns"] for profile in data["profiles"])
    assert 0.95 * milliseconds < (total + own) / 1e6 < 1.3 * milliseconds + 20, own


@NEEDS_ROOT
def test_children_that_may_not_write(tmp_path: Path) -> None:
    expect(measured(tmp_path, workload(), "change-user"), (3, 4), 0.75, process_unwritable=3)


@NEEDS_ROOT
def test_children_behind_another_root(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    data = measured(tmp_path, workload(), "change-root", tmp_path / "root")
    if data["drops"]:  # a collector that keeps the folder open need not lose them
        expect(data, (3, 4), 0.75, process_unwritable=3)
    else:
        expect_all(data, 400)


def test_children_without_descriptors(tmp_path: Path) -> None:
    expect(measured(tmp_path, workload(), "few-descriptors"), (3, 4), 0.75, process_unwritable=3)


@NEEDS_ROOT
def test_children_without_inodes(tmp_path: Path) -> None:
    """The folder, the program's own file and one child's fit."""
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "nr_inodes=4", "none", small], capture_output=True).returncode:
        pytest.skip("cannot mount")
    try:
        plain = subprocess.run([workload(), "many-children"], capture_output=True, text=True)
        done = program.run(small, workload(), "many-children", options=("--no-analyze",))
        assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr)
        shutil.copytree(small / "run.sonde", tmp_path / "run.sonde")
    finally:
        subprocess.run(["umount", small], check=True)
    program.sonde("analyze", tmp_path / "run.sonde", "-o", tmp_path / "run.sdb")
    data = program.info(tmp_path)
    lost = data["drops"].get("process-unwritable", 0)
    assert lost in (2, 3) and data["missing"]["processes"] == lost and data["missing"]["of_processes"] == 4
    # without inodes `sonde run` could not tell what it saw; the program's own account is enough
    assert abs(data["missing"]["cpu_ns"] / data["missing"]["of_cpu_ns"] - lost / 4) < 0.1


@pytest.mark.parametrize("name", ["fork-by-call", "fork-by-clone", "fork-without-handlers", "fork-by-instruction"])
def test_children_made_behind_the_c_library(tmp_path: Path, name: str) -> None:
    expect(measured(tmp_path, workload(), name), (3, 4), 0.75, process_unseen=3)


def test_children_that_nobody_sees(tmp_path: Path) -> None:
    """Made and ended by instructions: the kernel's account of time tells that there was somebody."""
    expect(measured(tmp_path, workload(), "fork-in-silence"), (1, 2), 0.75, process_unknown=1)


def test_what_such_a_child_executes_is_measured(tmp_path: Path) -> None:
    expect_all(measured(tmp_path, workload(), "execute-in-child", workload()), 200)


@pytest.mark.parametrize(("name", "milliseconds"), [("end-by-call", 200), ("end-last-thread", 200), ("end-quickly", 250),
                                                    ("become-daemon", 200), ("many-children", 400)])
def test_ends_that_are_seen(tmp_path: Path, name: str, milliseconds: int) -> None:
    data = measured(tmp_path, workload(), name)
    expect_all(data, milliseconds)


def test_an_end_that_nobody_sees(tmp_path: Path) -> None:
    """What was measured until the last checkpoint is there, and the rest is told."""
    data = measured(tmp_path, workload(), "end-in-silence")
    assert data["properties"]["processes.unfinished"] == "1" and not data["complete"]
    had = sum(metric["sum"] for metric in data["metrics"] if metric["name"] == "cpu-time")
    assert had > 0.3 * data["missing"]["of_cpu_ns"]
    assert abs(had + data["missing"]["cpu_ns"] - data["missing"]["of_cpu_ns"]) < 0.1 * data["missing"]["of_cpu_ns"]


@pytest.mark.parametrize("milliseconds", [1, 60, 300])
def test_killed_in_the_first_second(tmp_path: Path, milliseconds: int) -> None:
    data = measured(tmp_path, workload(), "be-killed", str(milliseconds))
    assert data["command"].endswith(f"be-killed {milliseconds}")
    assert data["properties"]["processes.unreadable"] == "0" and data["properties"]["processes.unfinished"] == "1"
    if milliseconds > 1:
        names = {frame["name"] for frames, _ in program.paths(tmp_path) for frame in frames}
        assert {"main", "be_killed", "burn"} <= names
        assert data["missing"]["cpu_ns"] < 0.75 * data["missing"]["of_cpu_ns"]


def test_killed_while_it_waits(tmp_path: Path) -> None:
    """A program that never used a sample's worth of time."""
    running = subprocess.Popen([program.SONDE, "run", "-o", tmp_path / "run", "--", "sleep", "60"], stderr=subprocess.PIPE,
                               text=True)
    while not list(tmp_path.glob("run.sonde/*-process")):
        time.sleep(0.01)
    time.sleep(0.3)
    os.kill(int(next(tmp_path.glob("run.sonde/*-process")).name.split("-")[-3]), signal.SIGKILL)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == -signal.SIGKILL and "cannot read" not in errors
    assert program.info(tmp_path)["command"] == "sleep 60"


def test_a_killed_child(tmp_path: Path) -> None:
    data = measured(tmp_path, workload(), "child-killed")
    assert data["properties"]["processes.unfinished"] == "1"
    assert (data["missing"]["processes"], data["missing"]["of_processes"]) == (1, 2)
    had = sum(metric["sum"] for metric in data["metrics"] if metric["name"] == "cpu-time")
    assert abs(had + data["missing"]["cpu_ns"] - data["missing"]["of_cpu_ns"]) < 0.1 * data["missing"]["of_cpu_ns"]


def test_static_programs(tmp_path: Path, static_workload: Path) -> None:
    for name, processes, share in (("execute", (1, 1), 0.5), ("execute-by-call", (1, 1), 0.5), ("start", (2, 3), 2 / 3)):
        (tmp_path / name).mkdir()
        data = measured(tmp_path / name, workload(), name, static_workload)
        expect(data, processes, share, program_unmeasured=processes[0])
    (tmp_path / "shell").mkdir()
    data = measured(tmp_path / "shell", workload(), "start-by-shell", static_workload)
    # a shell either starts what it is asked to or becomes it
    assert data["drops"]["program-unmeasured"] == 2 and data["missing"]["processes"] == 2
    assert abs(data["missing"]["cpu_ns"] / data["missing"]["of_cpu_ns"] - 2 / 3) < 0.1


def test_dynamic_programs_are_not_missed(tmp_path: Path) -> None:
    for name, milliseconds in (("execute", 200), ("execute-by-call", 200), ("start", 300), ("start-by-shell", 300),
                               ("execute-nothing", 100)):
        (tmp_path / name).mkdir()
        expect_all(measured(tmp_path / name, workload(), name, workload()), milliseconds)


def test_a_static_program_alone(tmp_path: Path, static_workload: Path) -> None:
    """Its children are measured, it is not."""
    done = program.run(tmp_path, static_workload, "start", workload())
    assert "statically linked" in done.stderr
    expect(program.info(tmp_path), (1, 3), 1 / 3, program_unmeasured=1)


@NEEDS_ROOT
def test_a_program_with_privileges(tmp_path: Path) -> None:
    """The loader ignores what is preloaded into it."""
    other = Path(shutil.copy(workload(), tmp_path / "privileged"))
    os.chown(other, 65533, 65533)
    other.chmod(0o4755)
    data = measured(tmp_path, workload(), "start", other)
    if data["complete"]:
        pytest.skip("the file system takes no set-uid programs")
    expect(data, (2, 3), 2 / 3, program_unmeasured=2)


def test_what_is_told(tmp_path: Path) -> None:
    """The summary, the report and `info` in words."""
    done = subprocess.run([program.SONDE, "run", "-o", tmp_path / "run", "--", workload(), "fork-by-call"],
                          capture_output=True, text=True, timeout=60)
    for text in (done.stderr, program.sonde("report", tmp_path / "run.sdb")):
        line = next(line for line in text.splitlines() if line.startswith("Missing: "))
        assert line.startswith("Missing: 3 of 4 processes, 7") and "% of the CPU time, 3 made by a system call" in line
    text = program.sonde("info", tmp_path / "run.sdb")
    assert "  3 of 4 processes in whole or in part, and " in text and "process-unseen" in text


def test_a_truncated_measurement_harms_nobody(tmp_path: Path) -> None:
    """Losses are counted in the mapped file: where it is cut short, the kernel says so instead of ending us."""
    code = ("import glob, os\n"
            f"for name in glob.glob('{tmp_path}/run.sonde/*-process'): os.truncate(name, 0)\n"
            "import ctypes; libc = ctypes.CDLL(None)\n"
            "for _ in range(3):\n"
            "    child = libc.syscall(57)\n"
            "    if not child: os._exit(4)\n"
            "    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
            "os.system('echo here')\n")
    done = program.run(tmp_path, "/usr/bin/python3", "-u", "-c", code, check=None)
    assert (done.returncode, done.stdout) == (0, "4\n4\n4\nhere\n"), done.stderr


def test_a_thread_that_ends_by_number(tmp_path: Path) -> None:
    """Measuring goes on after it: of the work some third is before and two thirds are after."""
    done = program.run(tmp_path, program.compiled("collect/bare_thread.c", "-O1"))
    before_ms, after_ms = (float(ms) for ms in done.stdout.split())
    share = after_ms / (before_ms + after_ms)
    before, after = (sum(value["count"] for frames, value in program.paths(tmp_path)
                         if name in (frame["name"] for frame in frames)) for name in ("before", "after"))
    assert before + after > 20
    assert abs(after / (before + after) - share) <= program.bound(share, before + after)


def test_a_last_thread_that_ends_by_number(tmp_path: Path) -> None:
    """After a main thread that did so: nothing is lost of what came after the last checkpoint."""
    done = program.run(tmp_path, program.compiled("collect/last_by_number.c", "-O1"))
    measured_ms = sum(value["sum"] for _, value in program.paths(tmp_path)) / 1e6
    assert abs(measured_ms - int(done.stdout)) <= 0.03 * int(done.stdout)
