# SPDX-License-Identifier: Apache-2.0
"""Memory of `sonde timeline`: however little there is for sorting the answers are the same, and events do not fill it."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import program
from kineto_traces import Trace

VIEWS = ["summary", "idle", "states", "queue", "transfers", "critical-path", "iterations", "all"]


@pytest.fixture(scope="module")
def database(tmp_path_factory) -> Path:
    """2,000 launches by two threads for two streams: some start late, some do not start; more than 4 KiB can sort."""
    trace = Trace()
    for i in range(2000):
        start, thread, late = 100 * i, 10 + i % 2, (i * 37) % 300
        trace.call("cpu_op", f"aten::op{i % 7}", start, start + 90, thread)
        trace.launch(i + 1, start + 10 + i % 5, start + 20, thread)
        if i % 13:
            trace.operation("kernel", f"kernel{i % 5}", start + 60 + late, start + 80 + late, i + 1, 7 + i % 2)
    folder = tmp_path_factory.mktemp("little")
    program.sonde("import", trace.write(folder / "t.json"), "-o", folder / "t.sdb")
    return folder / "t.sdb"


def answer(database: Path, view: str, *options: str) -> str:
    return program.sonde("timeline", database, "--view", view, "--format", "json", *options)


@pytest.mark.parametrize("view", VIEWS)
def test_answers_do_not_depend_on_memory(database, view):
    usual = answer(database, view)
    assert usual == answer(database, view, "--memory", "4K") == answer(database, view, "--memory", "1G")


def test_nowhere_to_sort(database, tmp_path):
    """A folder for what does not fit into memory that is not there: said in one line, nothing printed."""
    done = subprocess.run([program.SONDE, "timeline", database, "--memory", "4K"], capture_output=True, text=True,
                          env={**os.environ, "TMPDIR": str(tmp_path / "none")})
    assert done.returncode == 128 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and str(tmp_path / "none") in done.stderr


@pytest.mark.parametrize("text", ["1K", "0", "much", "-5M", "64Q"])
def test_no_amount_of_memory(database, text):
    done = subprocess.run([program.SONDE, "timeline", database, "--memory", text], capture_output=True, text=True)
    assert done.returncode == 129 and "--memory" in done.stderr and done.stdout == ""


def peak_bytes(database: Path, view: str) -> int:
    child = subprocess.Popen([program.SONDE, "timeline", database, "--view", view], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return 1024 * usage.ru_maxrss


@pytest.mark.parametrize("view", ["summary", "queue", "memory"])
def test_memory_does_not_grow_with_events(tmp_path, view):
    """Four times the events, of which each had 57 bytes when they were held."""
    maker = Path(program.SONDE).parents[2] / "bench/bench-timeline"
    if not maker.exists():
        pytest.skip("bench-timeline is not built")
    if b"__asan_init" in Path(program.SONDE).read_bytes():
        pytest.skip("the address sanitizer keeps what is freed")
    peaks = []
    for millions in ("1", "4"):
        subprocess.run([maker, tmp_path / "t.sdb", millions], check=True)
        peaks.append(peak_bytes(tmp_path / "t.sdb", view))
    assert peaks[1] < peaks[0] + (40 << 20)
