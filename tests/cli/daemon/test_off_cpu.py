# SPDX-License-Identifier: Apache-2.0
"""`sonde daemon --off-cpu`: how long threads wait, for what, and who called that."""
from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from interpreters import SUPPORTED
from program import SONDE, bound, info, paths
from running import running
from test_daemon import accounted, ask, daemon, needs_bpf, needs_names

pytestmark = [needs_bpf, needs_names, pytest.mark.skipif(os.uname().machine != "x86_64", reason="stacks are unwound on x86-64 only")]

WAITS = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#define APART __attribute__((noinline))
#define STAY  __asm__ volatile("" ::: "memory")
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static APART void sleeps_long(void) { usleep(30000); STAY; }
static APART void sleeps_short(void) { usleep(10000); STAY; }
static APART void waits_for_lock(void) { pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); STAY; }
static void *other(void *nothing) { for (;;) { waits_for_lock(); usleep(1000); } return nothing; }
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    puts("ready");
    fflush(stdout);
    for (;;) { pthread_mutex_lock(&mutex); sleeps_long(); pthread_mutex_unlock(&mutex); sleeps_short(); }
}
"""


def waiting(folder: Path, store: Path, program: Path) -> list[tuple[list[str], dict]]:
    subprocess.run([SONDE, "import", store, "-o", folder / "run.sdb"], check=True)
    return [([frame["name"] for frame in frames], value) for frames, value in paths(folder, "off-cpu", "--metric", "off-cpu", "--thread", program.name)]


def seconds(found: list[tuple[list[str], dict]], name: str) -> float:
    return sum(value["sum"] for names, value in found if name in names) / 1e9


def told(status: dict) -> None:
    waits = status["waits"]
    assert waits["found"] == waits["stored"] + waits["waiting"] + waits["lost"], status
    assert waits["lost"] <= 0.02 * waits["found"], status


def test_waits_by_their_length_and_callers(tmp_path):
    """One thread sleeps 30 of 40 ms and then 10; the other waits for it as long as it has the lock."""
    store, source, program = tmp_path / "store", tmp_path / "waits.c", tmp_path / "known_waits"
    source.write_text(WAITS)
    subprocess.run(["cc", "-O1", "-g", source, "-o", program, "-lpthread"], check=True)
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as process, contextlib.ExitStack() as stack, daemon(store, "-F", 100, "--off-cpu", 50):
        stack.callback(process.kill)
        assert process.stdout.readline() == "ready\n"
        begin = time.monotonic()
        time.sleep(4)
        status = ask(store, "flush")
        wall = time.monotonic() - begin
    told(status)
    assert status["waits"]["waiting"] < 0.1 * status["waits"]["found"]
    found = waiting(tmp_path, store, program)
    sleeping = seconds(found, "sleeps_long") + seconds(found, "sleeps_short")
    assert 0.8 * wall < sleeping < 1.15 * wall + 0.2, (sleeping, wall)
    assert abs(seconds(found, "sleeps_long") / sleeping - 0.75) < bound(0.75, 50 * wall)
    assert 0.5 * sleeping < seconds(found, "waits_for_lock") < 0.9 * sleeping
    assert all({"main", "start_thread"} & {*names} or "[known_waits]" in names for names, _ in found), found
    assert any("futex" in " ".join(names) for names, _ in found if "waits_for_lock" in names)
    assert any("nanosleep" in names[-1] for names, _ in found if "sleeps_short" in names)


@pytest.mark.parametrize("interpreter", SUPPORTED[:2])
def test_python_that_waits(tmp_path, interpreter):
    store, script = tmp_path / "store", tmp_path / "program.py"
    script.write_text("import time\ndef sleeper():\n    time.sleep(0.05)\nprint('ready', flush=True)\nwhile True:\n    sleeper()\n")
    with daemon(store, "-F", 100, "--off-cpu", 50), subprocess.Popen([interpreter, script], stdout=subprocess.PIPE, text=True) as process, contextlib.ExitStack() as stack:
        stack.callback(process.kill)
        assert process.stdout.readline() == "ready\n"
        program = Path(os.readlink(f"/proc/{process.pid}/exe"))
        time.sleep(2)
        told(ask(store, "flush"))
    found = [row for row in waiting(tmp_path, store, program) if "sleeper" in row[0]]
    assert 1.2 < seconds(found, "sleeper") < 3, found
    assert all(names.index("<module>") < names.index("sleeper") for names, _ in found)


def test_time_of_processors_stays_the_first_metric(tmp_path):
    """Threads wait a hundred times as long as they run; what is shown unasked is what they run."""
    store = tmp_path / "store"
    with running(), daemon(store, "-F", 500, "--off-cpu", 20):
        time.sleep(1.5)
        status = ask(store, "flush")
    accounted(status)
    rates = json.loads(subprocess.run([SONDE, "info", "--format", "json", store], capture_output=True, text=True, check=True).stdout)["rates"]
    metrics = {rate["event"]: rate for rate in rates}
    assert {*metrics} == {status["event"], "off-cpu"}
    assert metrics["off-cpu"]["period"] == 50000000
    subprocess.run([SONDE, "import", store, "-o", tmp_path / "run.sdb"], check=True)
    shown = subprocess.run([SONDE, "report", store], capture_output=True, text=True, check=True).stdout
    assert shown.startswith(status["event"]) and "off-cpu" not in shown.splitlines()[0], shown
    waited = sum(value["sum"] for _, value in paths(tmp_path, "off-cpu", "--metric", "off-cpu"))
    ran = sum(profile["cpu_ns"] for profile in info(tmp_path)["profiles"])
    assert ran < 10e9 * os.cpu_count() and ran + waited > 1.5e9


def test_nothing_of_waits_unless_asked(tmp_path):
    store = tmp_path / "store"
    with running(), daemon(store, "-F", 200):
        time.sleep(0.5)
        status = ask(store, "flush")
        said = subprocess.run([SONDE, "daemon", "status", "--store", store], capture_output=True, text=True, check=True).stdout
    assert "waits" not in status and "off-cpu" not in said
    assert [rate["event"] for rate in json.loads(subprocess.run([SONDE, "info", "--format", "json", store], capture_output=True, text=True, check=True).stdout)["rates"]] == [status["event"]]


def test_status_for_people(tmp_path):
    store = tmp_path / "store"
    with daemon(store, "--off-cpu", 20):
        time.sleep(0.7)
        said = subprocess.run([SONDE, "daemon", "status", "--store", store], capture_output=True, text=True, check=True).stdout
    assert "off-cpu   threads waited for " in said and "looked at 20 times a second" in said
