# SPDX-License-Identifier: Apache-2.0
"""Findings in databases: which are stored for planted traces, and that `sonde timeline` tells them as it would find them."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import kineto_traces
from conftest import BUILD, ROOT, SONDE, clean_environment
from kineto_traces import Trace

os.environ["SONDE_DB_LIBRARY"] = str(BUILD / "src/lib/db/libsonde-db.so")
sys.path.insert(0, str(ROOT / "python"))
import sonde as api  # noqa: E402


def idle_device() -> Trace:
    """Half of the device's time nothing is queued."""
    trace = Trace()
    for number in range(10):
        trace.call("user_annotation", f"ProfilerStep#{number}", 100 * number, 100 * number + 99)
        trace.call("cpu_op", "aten::mm", 100 * number + 40, 100 * number + 60)
        trace.launch(number + 1, 100 * number + 45, 100 * number + 49)
        trace.operation("kernel", "gemm", 100 * number + 50, 100 * number + 95, number + 1)
    return trace


def threads_only() -> Trace:
    trace = Trace()
    trace.call("cpu_op", "aten::slow", 0, 900)
    trace.call("cpu_op", "aten::quick", 900, 1000)
    return trace


def late_rank(rank: int) -> Trace:
    """Of three ranks the last one makes the others wait for 400 of 1,000 us."""
    trace = Trace()
    trace.members["distributedInfo"] = {"backend": "gloo", "rank": rank, "world_size": 3}
    trace.call("cpu_op", "aten::mm", 0, 500 if rank == 2 else 100)
    trace.call("user_annotation", "gloo:all_reduce", 500 if rank == 2 else 100, 1000)
    return trace


def nothing_that_lasts() -> Trace:
    """Allocations alone: no thread is in anything, no device works."""
    trace = Trace()
    for number in range(5):
        trace.events.append({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 5, "tid": 10, "ts": number,
                             "s": "t", "args": {"Device Type": 0, "Device Id": -1, "Addr": 64 * number, "Bytes": 64,
                                                "Total Allocated": 64 * (number + 1)}})
    return trace


PLANTED = {
    "idle": ([idle_device()], ["device_time", "device_waits", "path_cause", "critical_node", "own_code"]),
    "threads": ([threads_only()], ["thread_time", "path_cause", "critical_node"]),
    "ranks": ([late_rank(rank) for rank in range(3)], ["thread_time", "rank_waits", "path_cause", "critical_node"]),
    "nothing": ([nothing_that_lasts()], []),
}


def planted(name: str, folder: Path) -> tuple[list[Path], list[str]]:
    traces, rules = PLANTED[name]
    return [trace.write(folder / f"{name}{number}.json") for number, trace in enumerate(traces)], rules


def imported(sonde, folder: Path, *files: Path, options=()) -> Path:
    result = sonde("import", *files, "-o", folder / "out.sdb", *options)
    assert result.status == 0, result.err
    return folder / "out.sdb"


def told(sonde, *inputs, options=()) -> list[str]:
    return [sonde("timeline", *inputs, *form, *options).out for form in ((), ("--format", "json"), ("--view", "all"))]


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_is_stored(sonde, tmp_path, name):
    files, rules = planted(name, tmp_path)
    path = imported(sonde, tmp_path, *files)
    with api.open(path) as database:
        assert [finding.rule for finding in database.findings] == rules and database.finding_rules == 7
    said = sonde("info", path).out
    assert (f"findings     {len(rules)}, " in said) == bool(rules)
    assert json.loads(sonde("info", "--format", "json", path).out)["findings"] == len(rules)
    # the files themselves are imported on the way, and their findings are not stored
    assert told(sonde, path) == told(sonde, *files)


def test_what_a_finding_holds(sonde, tmp_path):
    files, _ = planted("ranks", tmp_path)
    with api.open(imported(sonde, tmp_path, *files)) as database:
        waits = database.findings[1]
        evidence = {name: (one.unit, one.value) for name, one in waits.evidence.items()}
        assert evidence["waited"] == ("ns", 2 * 400_000) and evidence["last"] == ("count", 1)
        assert evidence["rank_share"] == ("ratio", 1) and waits.severity == "major" and waits.suggestion is None
        late = database.profiles[int(waits.evidence["rank"].value)]
        assert late.rank == 2 and waits.evidence["rank"].unit == "profile"
        assert [context.name for context in waits.contexts] == ["aten::mm"]
        assert waits.contexts[0].id == waits.evidence["node"].value


def test_the_json_has_what_is_stored(sonde, tmp_path):
    files, _ = planted("idle", tmp_path)
    path = imported(sonde, tmp_path, *files)
    answer = json.loads(sonde("timeline", path, "--format", "json").out)
    with api.open(path) as database:
        assert [(one.rule, one.severity, one.suggestion, [(e.name, e.unit, e.value) for e in one.evidence.values()])
                for one in database.findings] == [
            (one["rule"], one["severity"], one["suggestion"], [(e["name"], e["unit"], e["value"]) for e in one["evidence"]])
            for one in answer["findings"]]


@pytest.mark.parametrize("path", kineto_traces.FILES, ids=lambda path: path.name.split(".")[0])
def test_real_traces_say_the_same(sonde, tmp_path, path):
    database = imported(sonde, tmp_path, path, options=["--findings"])
    with api.open(database) as opened:
        assert opened.finding_rules == 7 and opened.findings
    assert told(sonde, database) == told(sonde, path)


def test_other_questions_are_answered_anew(sonde, tmp_path):
    files, _ = planted("idle", tmp_path)
    path = imported(sonde, tmp_path, *files)
    for options in (["--iteration", "2"], ["--launched-only"]):
        assert told(sonde, path, options=options) == told(sonde, *files, options=options)
    assert "iteration 2 of" in sonde("timeline", path, "--iteration", "2").out


def test_a_long_trace_has_them_if_asked(sonde, tmp_path):
    trace = Trace()
    for number in range(100_001):
        trace.events.append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 5, "tid": 10, "ts": 2 * number, "dur": 1})
    long = trace.write(tmp_path / "long.json")
    trace.events.pop()
    short = trace.write(tmp_path / "short.json")
    for file, options, stored in ((long, [], None), (long, ["--findings"], 3), (short, [], 3)):
        database = imported(sonde, tmp_path, file, options=options)
        assert json.loads(sonde("info", "--format", "json", database).out)["findings"] == stored
        assert sonde("timeline", database).out == sonde("timeline", file).out


def test_the_same_inputs_give_the_same_bytes(sonde, tmp_path):
    files, _ = planted("ranks", tmp_path)
    wholes = {imported(sonde, tmp_path, *files, options=["-j", jobs]).read_bytes() for jobs in (1, 4)}
    piped = subprocess.run([SONDE, "import", *files, "-o", "/dev/stdout"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env=clean_environment())
    assert piped.returncode == 0, piped.stderr
    assert wholes == {piped.stdout}
    assert sonde("import", *files, "-o", "/dev/null").status == 0


def test_damage_is_one_line(sonde, tmp_path):
    """Within the section, in the table behind it, and cut off."""
    files, _ = planted("idle", tmp_path)
    whole = imported(sonde, tmp_path, *files).read_bytes()
    damaged = tmp_path / "damaged.sdb"
    at = whole.rindex(b"without_computation")
    for changed in (whole[:at] + b"W" + whole[at + 1:], whole[:-1] + b"\xff", whole[:-8], whole[:at]):
        damaged.write_bytes(changed)
        for command in (["timeline"], ["info"]):
            result = sonde(*command, damaged)
            assert result.status == 128 and result.out == "" and len(result.err_lines) == 1, result
            assert "damaged (" in result.err or "truncated (" in result.err


def test_databases_without_events_have_none(sonde, small_db):
    with api.open(small_db) as database:
        assert database.findings == [] and database.finding_rules == 0
    assert json.loads(sonde("info", "--format", "json", small_db).out)["findings"] is None
    assert "findings" not in sonde("info", small_db).out


@pytest.mark.measures
def test_a_run_stores_them(sonde, tmp_path):
    result = sonde("run", "--trace", "-o", tmp_path / "x", "--", sys.executable, "-c",
                   "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass")
    assert result.status == 0, result.err
    with api.open(tmp_path / "x.sdb") as database:
        assert database.finding_rules == 7
    again = sonde("analyze", tmp_path / "x.sonde", "-o", tmp_path / "again.sdb")
    assert again.status == 0
    assert told(sonde, tmp_path / "x.sdb") == told(sonde, tmp_path / "again.sdb")
