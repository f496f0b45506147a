# SPDX-License-Identifier: Apache-2.0
"""`sonde run --os`: programs for which it is known what the operating system does for them."""
from __future__ import annotations

import csv
import functools
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from program import BUILD, SONDE, compiled, info, run, sonde

PROGRAM = "collect/os_known.c"


@functools.cache
def doctor() -> dict[str, dict]:
    done = subprocess.run([SONDE, "doctor", "--format", "json"], capture_output=True, text=True)
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def needs(*sources: str) -> None:
    for source in sources:
        check = doctor()[source]
        if check["verdict"] != "ok":
            pytest.skip(f"{source}: {check['text']}")


def threads_view(folder: Path) -> dict:
    view = json.loads(sonde("timeline", folder / "run.sdb", "--view", "threads", "--format", "json"))
    return {key: view[key]["rows"] for key in ("threads", "blocked", "wakeups", "calls", "requests", "processors")}


def record(folder: Path, *arguments: object, sources: str = "", check: int | None = 0, **environment: str) -> dict:
    program = compiled(PROGRAM)
    option = f"--os={sources}" if sources else "--os"
    done = run(folder, program, *map(str, arguments), options=(option,), environment=environment, check=check)
    if done.returncode == 77:
        pytest.skip("this file system has no direct I/O")
    view = threads_view(folder)
    view["out"], view["err"] = done.stdout, done.stderr
    return view


@pytest.fixture
def awake():
    """Processors that are never idle. Some virtual machines' kernels tell nothing of what interrupts an idle
    processor (docs/design/os.md), so that who ends a sleep or a request to a disk would be a matter of luck."""
    loop = "import os; os.sched_setaffinity(0, {%d}); os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)); " \
           "print(flush=True)\nwhile True: pass"
    loops = [subprocess.Popen([sys.executable, "-c", loop % cpu], stdout=subprocess.PIPE)
             for cpu in os.sched_getaffinity(0)]
    try:
        assert all(process.stdout.readline() == b"\n" for process in loops)
        yield
    finally:
        for process in loops:
            process.kill()
            process.communicate()


def only(rows: list[dict], **values: object) -> dict:
    found = [row for row in rows if all(row[key] == value for key, value in values.items())]
    assert len(found) == 1, (values, rows)
    return found[0]


def events(folder: Path) -> list[dict]:
    output = folder / "events.csv"
    sonde("export", "--to", "events", folder / "run.sdb", "-o", output)
    return list(csv.DictReader(io.StringIO(output.read_text())))


def test_sleeping(tmp_path, awake):
    needs("scheduler", "syscalls")
    view = record(tmp_path, "sleep", 3)
    thread, = view["threads"]
    blocked = only(view["blocked"], **{"in": "clock_nanosleep"})
    assert blocked["count"] == 3
    assert blocked["time_ns"] >= 0.299e9 and blocked["longest_ns"] >= 0.099e9
    assert thread["blocked_in"] == "clock_nanosleep" and thread["unknown"] == 0
    assert thread["running"] + thread["ready"] + thread["blocked"] == pytest.approx(1)
    call = only(view["calls"], name="clock_nanosleep")
    assert call["count"] == 3 and call["errors"] == 0
    # the call lasts longer than the waiting in it
    assert call["time_ns"] >= blocked["time_ns"]
    # the timer's interrupt woke it; while it starts it may also wait for a page or a file, and be woken by an interrupt
    others = sum(row["count"] for row in view["blocked"]) - blocked["count"]
    assert 3 <= only(view["wakeups"], waker_tid=0)["count"] <= 3 + others
    # the recording tells of processes, but is none
    assert "processes" not in sonde("info", tmp_path / "run.sdb")
    text = sonde("timeline", tmp_path / "run.sdb")
    assert "most of it in clock_nanosleep" in " ".join(text.split())


def test_who_wakes_whom(tmp_path):
    needs("scheduler", "syscalls")
    view = record(tmp_path, "pipe", 50)
    answerer = next(row["tid"] for row in view["threads"] if row["thread"].startswith("answerer"))
    main = next(row["tid"] for row in view["threads"] if row["tid"] == row["pid"])
    # each waits for the other; seldom, when the machine is busy, the answer is there before
    assert 30 <= only(view["wakeups"], waker_tid=main, woken_tid=answerer)["count"] <= 51
    assert 30 <= only(view["wakeups"], waker_tid=answerer, woken_tid=main)["count"] <= 52
    assert only(view["blocked"], tid=main, **{"in": "read"})["count"] >= 30
    # the waker and what it ended have the same link
    rows = events(tmp_path)
    wakeups = {row["link"] for row in rows if row["kind"] == "instant" and row["name"] == "wakeup"}
    waits = {row["link"] for row in rows if row["kind"] == "state" and row["name"] == "blocked: read" and row["link"]}
    assert len(waits) >= 60 and waits <= wakeups


def test_every_system_call(tmp_path):
    needs("syscalls")
    view = record(tmp_path, "calls", 5000, sources="syscalls")
    assert only(view["calls"], name="sched_yield")["count"] == 5000
    close = only(view["calls"], name="close")
    assert 5000 <= close["count"] and close["errors"] == 5000
    assert not view["blocked"]


def test_page_faults(tmp_path):
    needs("faults")
    view = record(tmp_path, "pages", 500, sources="faults")
    begin, length = map(int, view["out"].split())
    pages = {int(row["attribute.address"]) // 4096 for row in events(tmp_path)
             if row["kind"] == "instant" and row["name"] == "minor"
             and begin <= int(row["attribute.address"]) < begin + length}
    assert len(pages) == 500


def test_direct_reads(tmp_path, awake):
    needs("block", "syscalls")
    view = record(tmp_path, "direct", 4, tmp_path / "file")
    if not view["requests"]:
        pytest.skip("this file system is on no disk")
    read = only(view["requests"], kind="disk", name="read")
    assert 4 << 20 <= read["bytes"] < 5 << 20
    assert only(view["requests"], kind="disk", name="write")["bytes"] >= 4 << 20
    assert only(view["blocked"], **{"in": "pread64"})["time_ns"] > 0


def test_sockets(tmp_path):
    needs("network")
    record(tmp_path, "sockets", 100)
    rows = [row for row in events(tmp_path) if row["kind"] == "instant" and row["path"].startswith("socket;")]
    if not rows:
        pytest.skip("this kernel does not tell what sockets send")
    for name in ("send", "receive"):
        sizes = [int(row["attribute.bytes"]) for row in rows if row["name"] == name]
        assert sizes == [1000] * 100


def test_two_threads_on_one_processor(tmp_path):
    needs("scheduler")
    view = record(tmp_path, "pinned")
    sharers = [row for row in view["threads"] if row["thread"].startswith("sharer")]
    assert len(sharers) == 2
    for row in sharers:
        assert row["running"] * row["time_ns"] >= 0.39e9
        assert row["ready"] > 0.3  # about half, more where others want the processor
    # both ran on the same one, never at once
    runs = sorted((int(row["start_ns"]), int(row["end_ns"])) for row in events(tmp_path)
                  if row["kind"] == "state" and row["name"] == "running" and row["thread"] == "sharer")
    assert all(before[1] <= after[0] for before, after in zip(runs, runs[1:]))


def test_processes_that_it_starts(tmp_path):
    needs("scheduler", "syscalls")
    view = record(tmp_path, "children", 3)
    children = [row for row in view["threads"] if row["thread"].startswith("sleep")]
    assert len({row["pid"] for row in children}) == 3
    for child in children:
        assert only(view["blocked"], tid=child["tid"], **{"in": "clock_nanosleep"})["time_ns"] >= 0.049e9
    assert only(view["blocked"], **{"in": "wait4"})["count"] >= 1
    # their events are with what was sampled of them
    assert len(info(tmp_path)["profiles"]) == len(
        {(row["pid"], row["tid"], row["kind"], row["program"]) for row in info(tmp_path)["profiles"]})


def test_a_program_that_cannot_be_measured_otherwise(tmp_path):
    needs("scheduler", "syscalls")
    program = compiled(PROGRAM, "-static")
    done = run(tmp_path, program, "sleep", 2, options=("--os",))
    assert "statically linked" in done.stderr
    assert only(threads_view(tmp_path)["blocked"], **{"in": "clock_nanosleep"})["count"] == 2


def test_scheduler_alone_does_not_guess_reasons(tmp_path):
    needs("scheduler")
    view = record(tmp_path, "sleep", 2, sources="scheduler")
    assert {row["in"] for row in view["blocked"]} == {"blocked"}
    assert not view["calls"]


def test_lost_records_are_told(tmp_path):
    needs("syscalls", "scheduler")
    view = record(tmp_path, "calls", 300000, SONDE_OS_RING_BYTES="32768")
    lost = info(tmp_path)["drops"].get("trace-source", 0)
    assert lost > 0 and "lost" in view["err"]
    seen = only(view["calls"], name="sched_yield")["count"]
    assert seen < 300000
    assert sum(row["unknown"] for row in view["threads"]) > 0


def test_limit_keeps_the_latest(tmp_path):
    needs("syscalls")
    program = compiled(PROGRAM)
    run(tmp_path, program, "calls", 100000, options=("--os=syscalls", "--os-limit", "1"))
    trace, = (tmp_path / "run.sonde").glob("*.sonde-trace") if not list((tmp_path / "run.sonde").glob("*.sonde")) \
        else [path for path in (tmp_path / "run.sonde").glob("*.sonde-trace")]
    assert trace.stat().st_size < 1.5 * (1 << 20)
    assert info(tmp_path)["drops"]["trace-overwritten"] > 0
    assert only(threads_view(tmp_path)["calls"], name="sched_yield")["count"] < 100000


def as_somebody(tmp_path: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Runs `sonde` as a user without any privilege; skips where that cannot be. It is a copy: root's home, where the build
    may be, is not for others to read."""
    if os.geteuid() or not shutil.which("setpriv"):
        pytest.skip("only root can become somebody else")
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents:
        if parent != Path("/tmp") and parent != Path("/") and not parent.stat().st_mode & 1:
            parent.chmod(parent.stat().st_mode | 0o11)
    for part in ("cmd/sonde", "collect/libsonde.so"):
        (tmp_path / part).parent.mkdir(exist_ok=True)
        shutil.copy(BUILD / "src" / part, tmp_path / part)
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
    return subprocess.run([*prefix, tmp_path / "cmd/sonde", *command], capture_output=True, text=True, timeout=120, cwd=tmp_path,
                          env={**os.environ, "HOME": str(tmp_path)})


def test_without_privilege(tmp_path):
    program = tmp_path / "os_known"
    shutil.copy(compiled(PROGRAM), program)
    done = as_somebody(tmp_path, "run", "-q", "--os", "-o", "run", "--", str(program), "sleep", "3")
    assert done.returncode == 0, done.stderr
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if paranoid > 2:
        pytest.skip("perf events are forbidden here")
    line, = [line for line in done.stderr.splitlines() if "not recorded" in line]
    assert "system calls" in line and "who wakes whom" in line and "sudo" in line
    view = threads_view(tmp_path)
    thread, = view["threads"]
    assert thread["blocked"] * thread["time_ns"] >= 0.299e9
    assert thread["running"] > 0
    assert {row["in"] for row in view["blocked"]} == {"blocked"}


def isolated(*flags: str) -> list[str]:
    if os.geteuid() or subprocess.run(["unshare", *flags, "true"], capture_output=True).returncode:
        pytest.skip("no name spaces of our own here")
    return ["unshare", *flags]


HIDE = "umount -l /sys/kernel/tracing 2>/dev/null; umount -l /sys/kernel/debug 2>/dev/null; "


def test_tracefs_that_is_not_mounted(tmp_path):
    needs("scheduler", "syscalls")
    program = compiled(PROGRAM)
    command = [str(SONDE), "run", "-q", "--os", "-o", str(tmp_path / "run"), "--", str(program), "sleep", "2"]
    # whoever may mount does without
    done = subprocess.run([*isolated("-m"), "sh", "-c", HIDE + 'exec "$@"', "sh", *command], capture_output=True,
                          text=True)
    assert done.returncode == 0 and "not recorded" not in done.stderr, done.stderr
    assert only(threads_view(tmp_path)["blocked"], **{"in": "clock_nanosleep"})["count"] == 2
    # others are told
    if not shutil.which("setpriv"):
        pytest.skip("no setpriv")
    done = subprocess.run([*isolated("-m"), "sh", "-c", HIDE + 'exec setpriv --bounding-set=-sys_admin "$@"', "sh",
                           *command], capture_output=True, text=True)
    assert done.returncode == 0
    assert "tracefs is not mounted" in done.stderr and "mount -t tracefs" in done.stderr


def test_numbers_of_a_container(tmp_path):
    needs("scheduler", "syscalls")
    program = compiled(PROGRAM)
    done = subprocess.run([*isolated("-pf", "--mount-proc"), str(SONDE), "run", "-q", "--os", "-o",
                           str(tmp_path / "run"), "--", str(program), "pipe", "20"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    view = threads_view(tmp_path)
    assert {row["tid"] for row in view["threads"]} == {2, 4} or all(row["tid"] < 100 for row in view["threads"])
    assert len(view["threads"]) == 2
    assert any(row["in"] == "read" for row in view["blocked"])
    assert sum(row["ready"] for row in view["threads"]) > 0


def test_whole_machine(tmp_path):
    needs("scheduler")
    program = compiled(PROGRAM)
    other = subprocess.Popen([program, "sleep", "1000"])
    try:
        run(tmp_path, program, "sleep", 15, options=("--os-wide=scheduler",))
    finally:
        other.kill()
        other.wait()
    row = next(row for row in threads_view(tmp_path)["threads"] if row["tid"] == other.pid)
    assert row["blocked"] > 0 and row["running"] > 0


@pytest.mark.parametrize("option", ["--os=nonsense", "--os=scheduler,", "--os=", "--os-limit=0"])
def test_options_that_are_wrong(tmp_path, option):
    done = run(tmp_path, "true", options=(option,), check=None)
    assert done.returncode == 129 and len(done.stderr.splitlines()) == 1


def test_the_picture_has_rows_of_states(tmp_path):
    needs("scheduler", "syscalls")
    record(tmp_path, "sleep", 2)
    picture = tmp_path / "out.svg"
    sonde("timeline", tmp_path / "run.sdb", "-o", picture)
    text = picture.read_text()
    assert "clock_nanosleep" in text and ("CPU 0" in text or "CPU 1" in text or os.cpu_count() > 2)
    for form in ("perfetto", "chrome"):
        sonde("export", "--to", form, tmp_path / "run.sdb", "-o", tmp_path / form)
        assert (tmp_path / form).stat().st_size > 1000
