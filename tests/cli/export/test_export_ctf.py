# SPDX-License-Identifier: Apache-2.0
"""`sonde export --to ctf`, read by babeltrace2: without a warning, with all events, begins and ends in order."""
from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from conftest import ROOT
from kineto_traces import Trace
from test_import_nsys import imported

BABELTRACE = shutil.which("babeltrace2")
needs_reader = pytest.mark.skipif(not BABELTRACE, reason="babeltrace2 is not installed")
FIELD = re.compile(r'(\w+) = ("(?:[^"\\]|\\.)*"|[^,{} ]+)')


def read_ctf(folder: Path) -> list[tuple[int, str, dict]]:
    """Each event of the trace as babeltrace2 tells it: time, name, fields."""
    done = subprocess.run([BABELTRACE, "--no-delta", "--clock-seconds", folder],
                          capture_output=True, timeout=300, check=True)
    assert done.stderr == b"", done.stderr.decode()
    events = []
    for line in done.stdout.decode().splitlines():
        match = re.match(r"\[(\d+)\.(\d{9})\] +(?:\S+ )?([\w:]+): (.*)$", line)
        assert match, line
        fields = {name: value.strip('"') for name, value in FIELD.findall(match[4])}
        events.append((int(match[1]) * 10**9 + int(match[2]), match[3], fields))
    return events


def export(sonde, database: Path, folder: Path) -> Path:
    done = sonde("export", "--to", "ctf", database, "-o", folder)
    assert done.status == 0, done.err
    return folder


def made_trace(folder: Path) -> Path:
    trace = Trace()
    trace.call("python_function", "train.py(12): step", 0, 500)
    trace.call("cpu_op", "aten::mm", 10, 100)
    trace.call("cpu_op", "aten::add", 20, 100)  # ends with its caller
    trace.call("cpu_op", "aten::mul", 100, 200)  # begins when the other ends
    trace.launch(1, 50, 60)
    trace.launch(2, 120, 130)
    trace.operation("kernel", "gemm", 70, 170, 1, grid=[2, 3, 4], block=[32, 2, 1])
    trace.operation("kernel", "overlaps", 150, 250, 2)
    return trace.write(folder / "trace.json")


def intervals(events: list) -> tuple[Counter, list]:
    """Pairs of begin and end by (profile, kind, lane); and the order in which a thread's calls begin and end."""
    found: Counter = Counter()
    open_ones: dict = {}
    order = []
    for time, name, fields in events:
        kind, _, which = name.rpartition("_")
        if which not in ("entry", "exit", "begin", "end"):
            continue
        place = fields["profile"], kind, fields["lane"]
        if which in ("entry", "begin"):
            assert place not in open_ones
            open_ones[place] = (time, fields["name"])
            order.append(("+", fields["name"]))
        else:
            start, text = open_ones.pop(place)
            found[start, time, text] += 1
            order.append(("-", text))
    assert not open_ones
    return found, order


def intervals_by_csv(sonde, database: Path) -> Counter:
    """The same from the other exporter."""
    rows = csv.DictReader(io.StringIO(sonde("export", "--to", "events", database, "-o", "-").out))
    return Counter((int(row["start_ns"]), int(row["end_ns"])) for row in rows if row["kind"] in ("interval", "state", "system"))


@needs_reader
def test_ctf_begins_and_ends(sonde, tmp_path):
    database = imported(sonde, tmp_path, made_trace(tmp_path))
    events = read_ctf(export(sonde, database, tmp_path / "out.ctf"))
    found, order = intervals(events)
    times = {text: (start, end) for start, end, text in found}
    assert times["aten::add"] == (20000, 100000) and times["gemm"] == (70000, 170000)
    calls = [entry for entry in order if entry[1].startswith("aten") or entry[1] == "step"]
    assert calls == [("+", "step"), ("+", "aten::mm"), ("+", "aten::add"), ("-", "aten::add"), ("-", "aten::mm"),
                     ("+", "aten::mul"), ("-", "aten::mul"), ("-", "step")]
    kernels = {fields["name"]: fields for _, name, fields in events if name == "gpu_begin"}
    assert {kernels[name]["lane"] for name in ("gemm", "overlaps")} == {"0", "1"}  # they overlap
    assert (kernels["gemm"]["grid_x"], kernels["gemm"]["grid_z"], kernels["gemm"]["block_y"]) == ("2", "4", "2")
    launches = {fields["link"]: fields["name"] for _, name, fields in events if name == "func_entry" and "link" in fields}
    assert kernels["gemm"]["link"] in launches
    assert {start_end[:2]: count for start_end, count in found.items()} == dict(intervals_by_csv(sonde, database))


@needs_reader
def test_ctf_large_trace_is_in_packets(sonde, tmp_path):
    trace = Trace()
    for i in range(20000):
        trace.call("cpu_op", f"op{i % 7}", 10 * i, 10 * i + 5, note=f"number {i}")
    database = imported(sonde, tmp_path, trace.write(tmp_path / "trace.json"))
    folder = export(sonde, database, tmp_path / "out.ctf")
    size = max(path.stat().st_size for path in (folder / "sonde").iterdir())
    packets = sum(path.read_bytes().count(b"\xc1\x1f\xfc\xc1") for path in (folder / "sonde").iterdir() if path.name != "metadata")
    assert size > 1 << 20 and packets > size >> 18  # of 256 KiB
    events = read_ctf(folder)
    assert sum(name == "func_entry" for _, name, _ in events) == 20000
    assert {fields["note"] for _, name, fields in events if name == "func_entry"} == {f"number {i}" for i in range(20000)}


def test_ctf_folder_appears_whole_or_not_at_all(sonde, tmp_path):
    database = imported(sonde, tmp_path, made_trace(tmp_path))
    first = export(sonde, database, tmp_path / "out.ctf")
    before = {path.name: path.read_bytes() for path in (first / "sonde").iterdir()}
    export(sonde, database, tmp_path / "out.ctf")  # replaces its like
    assert {path.name: path.read_bytes() for path in (first / "sonde").iterdir()} == before
    (first / "mine.txt").write_text("mine")
    done = sonde("export", "--to", "ctf", database, "-o", first)
    assert done.status == 128 and "something else in it" in done.err and (first / "mine.txt").exists()
    assert sorted(path.name for path in tmp_path.glob("out*")) == ["out.ctf"]


def test_ctf_analyses_for_trace_compass():
    """They are well-formed, installed, and name events and fields that the exporter writes."""
    source = (ROOT / "src/export/ctf/ctf.c").read_text()
    files = sorted((ROOT / "share/trace-compass").glob("*.xml"))
    assert [path.name for path in files] == ["sonde-call-stack.xml", "sonde-counters.xml", "sonde-gpu.xml"]
    for path in files:
        assert path.name in (ROOT / "share/meson.build").read_text()
        tree = ElementTree.parse(path)
        names = {handler.get("eventName") for handler in tree.iter("eventHandler")}
        assert names and all(f'"{name}"' in source for name in names)
        fields = {value.get("value") for tag in ("stateAttribute", "stateValue") for value in tree.iter(tag)
                  if value.get("type") == "eventField"}
        assert fields <= {"name", "lane", "value", "context._pid", "context._tid", "context._profile"}


@needs_reader
def test_ctf_kernel_trace(sonde, tmp_path):
    """States of threads come out as LTTng would have told them, and mean the same."""
    from test_import_perf import PERF, record

    if not PERF:
        pytest.skip("perf is not installed")
    path = record(tmp_path, "perf.data", "-a", "-e", "sched:sched_switch,sched:sched_wakeup",
                  program=("sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 0.02; done"))
    database = imported(sonde, tmp_path, path)
    events = read_ctf(export(sonde, database, tmp_path / "out.ctf") / "kernel")
    running: dict = defaultdict(list)
    since: dict = {}
    for time, name, fields in events:
        if name != "sched_switch":
            continue
        cpu = fields["cpu_id"]
        before, after = int(fields["prev_tid"]), int(fields["next_tid"])
        if before and cpu in since:
            assert since[cpu][0] == before
            running[before].append((since[cpu][1], time))
        since[cpu] = (after, time)
    rows = csv.DictReader(io.StringIO(sonde("export", "--to", "events", database, "-o", "-").out))
    wanted: dict = defaultdict(list)
    for row in rows:
        if row["kind"] == "state" and row["name"] == "running":
            wanted[int(row["tid"])].append((int(row["start_ns"]), int(row["end_ns"])))
    assert {tid: sorted(times) for tid, times in running.items()} == {tid: sorted(times) for tid, times in wanted.items()}
    assert any(name == "sched_wakeup" for _, name, _ in events)


@needs_reader
def test_ctf_system_calls_and_interrupts(sonde, tmp_path):
    """Each call begins and ends on the processor that its thread is on, with its result; interrupts nest on theirs."""
    from test_os import needs

    needs("scheduler", "syscalls", "interrupts")
    code = "import os, time\nfor i in range(50):\n    os.close(os.open('/dev/null', 0))\n    time.sleep(0.001)"
    done = sonde("run", "--os", "-o", tmp_path / "run", "--", "/usr/bin/python3", "-c", code)
    assert done.status == 0, done.err
    database = tmp_path / "run.sdb"
    events = read_ctf(export(sonde, database, tmp_path / "out.ctf") / "kernel")
    runs: dict = {}
    begun: dict = {}
    calls: dict = defaultdict(int)
    interrupts: dict = defaultdict(int)
    for time, name, fields in events:
        cpu = fields["cpu_id"]
        tid = runs.get(cpu)
        if name == "sched_switch":
            runs[cpu] = int(fields["next_tid"])
        elif name.startswith("syscall_entry_"):
            assert tid and tid not in begun
            begun[tid] = (name[14:], time)
        elif name.startswith("syscall_exit_"):
            what, start = begun.pop(tid)
            assert what == name[13:]
            calls[tid, what, start, time, int(fields["ret"])] += 1
        elif name.startswith("irq_"):
            number = fields.get("irq", fields.get("vec"))
            kind = "interrupt" if "handler" in name else "softirq"
            if name.endswith("_entry"):
                begun[cpu, kind, number] = time
            else:
                interrupts[int(cpu), kind, begun.pop((cpu, kind, number)), time] += 1
    wanted, wanted_interrupts = defaultdict(int), defaultdict(int)
    for row in csv.DictReader(io.StringIO(sonde("export", "--to", "events", database, "-o", "-").out)):
        start, end = int(row["start_ns"] or 0), int(row["end_ns"] or 0)
        group, _, name = row["path"].partition(";")
        if row["kind"] == "system" and group == "system call" and row["attribute.result"]:
            wanted[int(row["tid"]), name, start, end, int(row["attribute.result"])] += 1
        elif row["kind"] == "system" and group in ("interrupt", "softirq"):
            wanted_interrupts[int(row["tid"]), group, start, end] += 1
    assert sum(count for (_, name, *_), count in calls.items() if name == "clock_nanosleep") >= 45  # they end on another run
    assert sum(count for (_, name, *_), count in calls.items() if name == "openat") >= 50
    assert set(calls) <= set(wanted) and sum(calls.values()) >= 0.95 * sum(wanted.values())
    assert interrupts == wanted_interrupts
