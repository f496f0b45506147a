# SPDX-License-Identifier: Apache-2.0
"""Level Zero by Debian's loader and tracing layer, on a driver without a device (tests/fake/levelzero): what is measured equals
the table of what ran. Also without that driver: what the adapter declares of Level Zero is as in the headers (layout.c)."""
from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import on_devices
import program
import pytest
from on_devices import is_kernel, measured, rows_of
from program import ROOT, SONDE, WORKLOADS

FAKE = ROOT / "tests/fake/run.sh"
SOURCE = WORKLOADS / "levelzero/known.c"
# In known.c: kernels by the texts of the lines that append them.
KERNELS = {"// scale_often": 40 + 60 + 4, "// reuse_event": 25 + 15, "// ask_event": 10, "// spans": 1,
           "// recorded": 2 * 15 * 3, "// cooperative": 2 * 15}
BYTES = 1 << 18


@pytest.fixture(scope="module")
def known_program() -> Path:
    there = subprocess.run([ROOT / "tests/fake/levelzero/install.sh"], capture_output=True, text=True)
    if there.returncode == 77:
        pytest.skip(there.stderr.strip())
    assert there.returncode == 0, there.stderr
    return program.compiled("levelzero/known.c", "-O1", "-lze_loader")


@dataclass
class Ran(on_devices.Ran):
    """And how the program ended."""

    done: subprocess.CompletedProcess[str]

    def lines(self, metric: str) -> Counter[int]:
        """By the innermost line of the program: how often."""
        found: Counter[int] = Counter()
        for frames, value in program.paths(self.folder, metric, "--metric", metric):
            lines = [frame["line"] for frame in frames if (frame.get("file") or "").endswith("levelzero/known.c")]
            found[lines[-1] if lines else 0] += value["count"]
        return found


def run(folder: Path, *command: str | Path, options: tuple[str, ...] = (), fail: str = "none", plan_too: str = "", **settings: str) -> Ran:
    """One kernel is so long that the device's clock begins anew meanwhile."""
    table, plan = folder / "table.csv", folder / "plan"
    plan.write_text(f"span 80000000\n{plan_too}")
    done = subprocess.run([FAKE, "--levelzero", "--fail", fail, "--plan", plan, "--table", table, SONDE, "run", "-q", "-o", folder / "run", *options, "--", *command],
                          capture_output=True, text=True, timeout=120, env={**os.environ, **settings}, stdin=subprocess.DEVNULL)
    return Ran(done.stdout, folder, rows_of(table), done)


def plain(*command: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([FAKE, "--levelzero", *command], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **settings})


def line_with(text: str) -> int:
    return next(number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line)


@pytest.fixture(scope="module")
def known(known_program, tmp_path_factory) -> Ran:
    return run(tmp_path_factory.mktemp("known"), known_program)


def losses(ran: Ran) -> dict[str, int]:
    return {cause: count for cause, count in program.info(ran.folder).get("drops", {}).items() if cause.startswith("gpu-")}


def test_a_program_behaves_as_without(known, known_program):
    """Also what it reads itself of its events' times."""
    alone = plain(known_program)
    assert (known.done.returncode, known.done.stdout, known.done.stderr) == (0, alone.stdout, alone.stderr)
    assert alone.stdout.endswith("done\n")


@pytest.mark.parametrize("column,what", [("count", "count"), ("total_ns", "sum")])
def test_kernels(known, column, what):
    """In wrapping times: the 32 bits begin anew 30 ms after the program's start."""
    assert measured(known, "kernel-time", what) == known.truth(column, is_kernel)


def test_copies_and_fills(known):
    copied = sum(known.truth("bytes", lambda row: row["kernel"].startswith("copy")).values())
    assert sum(measured(known, "copy-bytes", "sum").values()) == copied == 2 * BYTES
    assert measured(known, "fill-bytes", "sum") == known.truth("bytes", lambda row: row["kernel"] == "set") == {"set": BYTES // 2}


def test_each_kernel_stands_below_the_line_that_appended_it(known):
    """As often as it ran, also those of a list that is executed again before it is done."""
    truth: Counter[int] = Counter()
    for row in filter(is_kernel, known.table):
        truth[int(row["launching line"].rpartition(":")[2])] += int(row["count"])
    assert known.lines("kernel-time") == truth == {line_with(text): count for text, count in KERNELS.items()}


def test_calls(known):
    calls = measured(known, "gpu-api-time", "count")
    assert calls["zeCommandListAppendLaunchKernel"] == 40 + 60 + 4 + 25 + 15 + 10 + 1 + 2 * 3
    assert calls["zeCommandQueueExecuteCommandLists"] == 30
    assert calls["zeCommandQueueSynchronize"] == 2 * (5 + 10 + 1)
    assert calls["zeEventHostSynchronize"] == 25 + 15 + 3


def test_nothing_is_lost(known):
    assert losses(known) == {}


def test_a_slow_clock_in_nanoseconds(known_program, tmp_path):
    """12.5 MHz: a tick has 80 ns. Each kernel's time is right but for a tick. The old unit is whole nanoseconds."""
    ran = run(tmp_path, known_program, FAKE_ZE_HZ="12500000", FAKE_ZE_OLD="1")
    counts, sums = ran.truth("count", is_kernel), ran.truth("total_ns", is_kernel)
    assert measured(ran, "kernel-time", "count") == counts
    for name, total in measured(ran, "kernel-time", "sum").items():
        assert abs(total - sums[name]) <= 80 * counts[name] and total % 80 == 0


def test_a_program_that_waits_for_nothing(known_program, tmp_path):
    """Its last operations are collected as it ends, before the driver's own end."""
    ran = run(tmp_path, known_program, "late")
    assert ran.done.returncode == 5, ran.done.stderr
    assert measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel)


def streams(ran: Ran) -> list[list[tuple[float, float]]]:
    """Of each list and queue of the device's: start and end of its operations, in microseconds."""
    program.sonde("export", "--to", "chrome", ran.folder / "run.sdb", "-o", ran.folder / "run.json")
    found: dict[int, list[tuple[float, float]]] = {}
    for event in json.loads((ran.folder / "run.json").read_text())["traceEvents"]:
        if event["ph"] == "X" and "stream" in event.get("args", {}):
            found.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    return [sorted(events) for events in found.values()]


@pytest.mark.parametrize("fail", ["none", "late-start"])
def test_operations_are_where_they_were(known_program, tmp_path, fail):
    """Each list and queue of the device's runs one at a time: what was read for another execution would lie on it."""
    ran = run(tmp_path, known_program, options=("--trace",), fail=fail)
    found = streams(ran)
    assert (sorted(len(events) for events in found), losses(ran)) == ([60, 98, 120], {})
    for events in found:
        assert all(before[1] <= after[0] + 0.1 for before, after in zip(events, events[1:]))


def test_a_device_that_resets_an_event_while_its_state_is_asked_for(known_program, tmp_path):
    """A list is executed again: its event is still signalled from before when it is asked, and reset when its times are."""
    ran = run(tmp_path, known_program, fail="reset-meanwhile", plan_too="scale 3000000\n")
    for column, what in [("count", "count"), ("total_ns", "sum")]:
        assert measured(ran, "kernel-time", what) == ran.truth(column, is_kernel)
    assert losses(ran) == {}


def test_times_longer_than_the_clock_counts(known_program, tmp_path):
    """Where the program asks for nothing in 5 s, the times of what it launched before are placed where they were."""
    ran = run(tmp_path, known_program, "slow", options=("--trace",))
    assert losses(ran) == {}
    assert measured(ran, "kernel-time", "sum") == ran.truth("total_ns", is_kernel)
    events = next(events for events in streams(ran) if len(events) == 98)
    assert events[39][1] - events[0][0] < 1e6 and events[40][0] - events[39][1] > 4.9e6


def test_a_child_has_none_of_its_parents_work(known, known_program, tmp_path):
    ran = run(tmp_path, known_program, "fork")
    assert ran.done.stdout.startswith("child 3\n")
    assert measured(ran, "kernel-time", "count") == known.truth("count", is_kernel)


def test_a_program_that_aborts_ends_so(known_program, tmp_path):
    ran = run(tmp_path, known_program, "abort")
    assert ran.done.returncode == 128 + signal.SIGABRT  # as the shell says it that wrote the table


@pytest.mark.parametrize("settings,out", [({"FAKE_DEVICES": "0"}, "no device\n"),
                                          ({"FAKE_ZE_INIT_ERROR": "0x78000001"}, "zeInit(0): 78000001\n"),
                                          ({"ZE_ENABLE_ALT_DRIVERS": "/nonexistent"}, "zeInit(0): 78000001\n")])
def test_no_device_or_driver(known_program, tmp_path, settings, out):
    command = [FAKE, "--levelzero"] if "ZE_ENABLE_ALT_DRIVERS" not in settings else []
    done = subprocess.run([*command, SONDE, "run", "-q", "-o", tmp_path / "run", "--", known_program], capture_output=True,
                          text=True, timeout=60, env={**os.environ, **settings})
    assert (done.returncode, done.stdout, done.stderr) == (77, out, "")


OURS = {"ZE_ENABLE_TRACING_LAYER": "1", "XPTI_TRACE_ENABLE": "1", "XPTI_FRAMEWORK_DISPATCHER": "libxptifw.so"}


def switches(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines() if line.startswith(("ZE_", "XPTI_", "SONDE_SWITCHES")))
    return {name: value for name, _, value in pairs}


@pytest.mark.parametrize("own", [{}, {"ZE_ENABLE_TRACING_LAYER": "1"}, {"ZE_ENABLE_TRACING_LAYER": "0"},
                                 {"XPTI_TRACE_ENABLE": "1", "XPTI_SUBSCRIBERS": "/some/tool.so"}])
def test_switches_are_seen_by_no_program_that_is_not_measured(tmp_path, own):
    """They are ours where the user has not set them; else they stay."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("ZE_", "XPTI_"))}
    run = [SONDE, "run", "-q", "--operators", "exact", "-o", tmp_path / "run", "--"]
    inside = subprocess.run([*run, "env"], capture_output=True, text=True, timeout=60, env={**clean, **own})
    seen = switches(inside.stdout)
    ours = {name: value for name, value in OURS.items() if name not in own and not ("XPTI_TRACE_ENABLE" in own and name[:2] == "XP")}
    assert set(seen.pop("SONDE_SWITCHES").split(":")) == set(ours), inside.stderr
    seen.pop("XPTI_SUBSCRIBERS")
    assert seen == {**ours, **{name: value for name, value in own.items() if name != "XPTI_SUBSCRIBERS"}}
    # where there is no room for the library, a program starts without
    script = ("import os, resource; resource.setrlimit(resource.RLIMIT_AS, (60 << 20, resource.RLIM_INFINITY)); "
              "os.execvp('env', ['env'])")
    outside = subprocess.run([*run[:6], tmp_path / "out", "--", "python3", "-c", script], capture_output=True, text=True, timeout=60,
                             env={**clean, **own})
    assert outside.returncode == 0 and switches(outside.stdout) == own, outside.stderr


def test_a_program_that_finds_the_loader_itself(known_program, tmp_path):
    """Python by ctypes; each kernel is below its line."""
    script = WORKLOADS / "levelzero/from_python.py"
    ran = run(tmp_path, "python3", script)
    assert (ran.done.returncode, ran.done.stdout, ran.done.stderr) == (0, "done\n", "")
    assert measured(ran, "kernel-time", "sum") == ran.truth("total_ns", is_kernel)
    found = [(frames, value) for frames, value in program.paths(tmp_path, "kernel-time", "--metric", "kernel-time")]
    line = next(number for number, text in enumerate(script.read_text().splitlines(), 1) if "# launches" in text)
    assert sum(value["count"] for frames, value in found
               if any(frame.get("file") == str(script) and frame["line"] == line for frame in frames)) == 7


def test_counters_that_cannot_be_had_are_said(known, known_program, tmp_path):
    ran = run(tmp_path, known_program, options=("--gpu-counters", "SQ_WAVES"))
    said, alone = (program.info(of.folder)["properties"]["adapter.levelzero"] for of in (ran, known))
    assert said == alone + "; no counters: kernels launched by CUDA and HIP alone have them" and "counters" not in alone


def test_what_the_driver_refuses_is_listed():
    """Neither more nor less (docs/design/fakes.md)."""
    refused = [text for source in (ROOT / "tests/fake/levelzero").glob("*.c") for text in re.findall(r'misused\("([^"]+)"\)', source.read_text())]
    section = (ROOT / "docs/design/fakes.md").read_text().split("\n## Level Zero\n")[1].split("\n## ")[0]
    assert set(re.findall(r"^- (.*)$", section, re.M)) == set(refused) and len(refused) > 10
