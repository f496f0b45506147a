# SPDX-License-Identifier: Apache-2.0
"""`sonde export` of events: Perfetto's protobuf, Chrome's JSON and CSV, read back by independent readers, with known
answers."""
from __future__ import annotations

import csv
import json
import re
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from conftest import run_sonde
from kineto_traces import Trace
from perfetto_trace import Reader, decode
from program import ROOT, compiled

BASE = 1_700_000_000_000_000_000


@pytest.fixture(scope="module")
def known(tmp_path_factory) -> Path:
    """A trace whose every event is known, with all that formats could stumble over."""
    trace = Trace()
    trace.members["baseTimeNanoseconds"] = BASE
    trace.call("user_annotation", "ProfilerStep#4", 0, 500)
    trace.call("python_function", "train.py(12): step", 1, 490.001)
    trace.call("cpu_op", "aten::mm \"q\" \\ \u00e4;b", 10, 100.123, Sequence_number=4, Fwd_thread_id=0, big=-(1 << 40),
               real=0.1, whole=2.0, text="a\nb", Input_Dims=[[2, 3], []])
    trace.call("cpu_op", "aten::mm2", 10, 100.123)  # as long as its caller
    trace.call("cpu_op", "aten::empty", 100.123, 100.123)  # no length, where another ends
    trace.launch(1, 50, 60)
    trace.launch(2, 61, 62)
    for correlation, start, end in ((1, 70, 170), (2, 80, 150), (9, 160, 400)):  # the second runs beside the first
        trace.operation("kernel", f"gemm{correlation}", start, end, correlation, grid=[2, 3, 4], block=[32, 2, 1])
    trace.operation("gpu_memcpy", "Memcpy HtoD", 400, 410, 3, bytes=4096)
    trace.operation("gpu_memset", "Memset (Device)", 411, 412, 4, stream=9)
    trace.call("user_annotation", "ProfilerStep#5", 500, 900)
    for phase, time in (("b", 40), ("e", 700.5)):
        trace.events.append({"ph": phase, "name": "request", "cat": "r", "id": 5, "pid": 5, "tid": 10, "ts": time})
    trace.events.append({"ph": "C", "name": "queue", "pid": 5, "tid": 10, "ts": 5, "args": {"value": -3}})
    trace.events.append({"ph": "C", "name": "load", "pid": 5, "tid": 10, "ts": 6, "args": {"value": 0.5}})
    trace.events.append({"ph": "i", "s": "t", "name": "mark", "pid": 5, "tid": 10, "ts": 7.007, "args": {"x": 1}})
    trace.events.append({"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event", "pid": 5, "tid": 10, "ts": 20,
                         "args": {"Bytes": 512, "Addr": 77, "Total Allocated": 512, "Total Reserved": 1024}})
    trace.events.append({"ph": "P", "name": "sample", "pid": 5, "tid": 10, "ts": 3, "sf": 2})
    trace.events.append({"ph": "P", "name": "sample", "pid": 5, "tid": 10, "ts": 4, "sf": "3"})
    trace.members["stackFrames"] = {"1": {"name": "main", "category": "native"},
                                    "2": {"name": "work", "category": "python", "parent": "1", "file": "w.py", "line": 7},
                                    "3": {"name": "rest", "parent": 1}}
    trace.events.append({"ph": "M", "name": "process_name", "pid": 5, "args": {"name": "trainer"}})
    trace.events.append({"ph": "M", "name": "thread_name", "pid": 5, "tid": 10, "args": {"name": "main thread"}})
    return do_import(trace.write(tmp_path_factory.mktemp("known") / "known.json"))


def do_import(path: Path, *more: Path) -> Path:
    output = path.with_suffix(".sdb")
    result = run_sonde("import", path, *more, "-o", output)
    assert (result.status, result.err) == (0, ""), result.err
    return output


def export(database: Path, kind: str, path: Path) -> Path:
    result = run_sonde("export", "--to", kind, "-o", path, database)
    assert (result.status, result.out, result.err) == (0, "", "")
    return path


def rows(database: Path, folder: Path) -> list[dict[str, str]]:
    with export(database, "events", folder / f"{database.stem}.csv").open(newline="") as file:
        csv.field_size_limit(1 << 30)
        return [{key: value for key, value in row.items() if value} for row in csv.DictReader(file)]


def test_events_rows(known, tmp_path):
    found = rows(known, tmp_path)
    kinds = Counter(row["kind"] for row in found)
    assert kinds == {"interval": 14, "instant": 2, "counter": 4, "sample": 2}
    by_name = {row["name"]: row for row in found}
    step = by_name["train.py(12): step"]
    assert (int(step["start_ns"]), int(step["end_ns"])) == (BASE + 1000, BASE + 490_001)
    assert step["path"] == "ProfilerStep;step" and step["pid"] == "5" and step["thread"] == "main thread"
    product = by_name["aten::mm \"q\" \\ \u00e4;b"]
    assert product["path"].endswith("\u00e4:b"), "';' parts the frames of a path"
    assert (product["attribute.big"], product["attribute.text"]) == (str(-(1 << 40)), "a b")
    assert float(product["attribute.real"]) == 0.1
    kernel = by_name["gemm2"]
    assert kernel["link"] == "2" and [kernel[f"attribute.grid.{c}"] for c in "xyz"] == ["2", "3", "4"]
    assert kernel["path"].endswith("cudaLaunchKernel;gemm2") and kernel["stream"] == "7"
    assert by_name["request"]["category"] == "range" and by_name["request"]["end_ns"] == str(BASE + 700_500)
    assert [row["path"] for row in found if row["kind"] == "sample"] == ["main;work", "main;rest"]


def test_chrome_as_torch_profiler(known, tmp_path):
    content = json.loads(export(known, "chrome", tmp_path / "x.json").read_text())
    assert content["baseTimeNanoseconds"] == BASE
    events = content["traceEvents"]
    phases = Counter(event["ph"] for event in events)
    assert phases["X"] == 13 and phases["b"] == phases["e"] == 1 and phases["C"] == 4 and phases["P"] == 2
    kernel = next(event for event in events if event["name"] == "gemm2")
    assert kernel["cat"] == "kernel" and (kernel["pid"], kernel["tid"]) == (0, 7)
    assert kernel["args"] == {"device": 0, "context": 1, "stream": 7, "correlation": 2, "grid": [2, 3, 4], "block": [32, 2, 1]}
    launch = next(event for event in events if event["name"] == "cudaLaunchKernel" and event["args"]["correlation"] == 2)
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert starts[2]["ts"] == launch["ts"] and ends[2]["ts"] == kernel["ts"] and ends[2]["bp"] == "e"
    product = next(event for event in events if event["name"].startswith("aten::mm \""))
    assert product["dur"] == 90.123 and product["args"]["whole"] == 2.0 and isinstance(product["args"]["whole"], float)
    assert {event["name"] for event in events if "ProfilerStep" in event["name"]} == {"ProfilerStep#4", "ProfilerStep#5"}
    names = {(event["name"], event["pid"], event["tid"]): event["args"] for event in events if event["ph"] == "M"}
    assert names["thread_name", 5, 10] == {"name": "main thread"}
    frames = content["stackFrames"]
    sample = next(event for event in events if event["ph"] == "P")
    assert frames[str(sample["sf"])] | {"parent": 0} == {"category": "python", "name": "work", "file": "w.py", "line": 7, "parent": 0}
    assert {event["name"]: event["args"] for event in events if event["ph"] == "C"}["memory-allocated"] == {"bytes": 512}


def test_perfetto_by_its_rules(known, tmp_path):
    found = Reader(export(known, "perfetto", tmp_path / "x.pftrace"))
    by_name = defaultdict(list)
    for slice in found.slices:
        by_name[slice.name].append(slice)
    assert len(found.slices) == 16 and len(found.counters) == 4 and len(found.samples) == 2
    assert found.attributes["program"] == "trainer"
    (product,) = by_name["aten::mm \"q\" \\ \u00e4;b"]
    assert (product.start, product.end, product.category) == (BASE + 10_000, BASE + 100_123, "cpu_op")
    assert product.args["big"] == -(1 << 40) and product.args["real"] == 0.1 and product.args["text"] == "a\nb"
    assert found.place(product.track) == ("thread", 5, 10)
    kernels = [by_name[f"gemm{i}"][0] for i in (1, 2, 9)]
    launches = {slice.flow: slice for slice in by_name["cudaLaunchKernel"]}
    assert kernels[0].track != kernels[1].track, "slices that overlap cannot be on one track"
    assert kernels[2].track in (kernels[0].track, kernels[1].track), "no more tracks than needed"
    one, other = (found.tracks[kernel.track] for kernel in kernels[:2])
    assert one[2] == other[2] == [b"stream 7"] and one[5] == other[5], "tracks of one name and parent are drawn as one"
    assert {found.place(kernel.track) for kernel in kernels} == {("stream", "device 0, context 1, stream 7")}
    assert launches[1].start == BASE + 50_000 and kernels[0].flow == 1 and kernels[0].args["grid.y"] == 3
    (request,) = by_name["request"]
    assert request.track != product.track and found.tracks[request.track][5] == [product.track]
    for track in {slice.track for slice in found.slices}:  # nesting, which the viewer demands
        ends = []
        for slice in [slice for slice in found.slices if slice.track == track and slice.kind == "slice"]:
            while ends and ends[-1] <= slice.start:
                ends.pop()
            assert not ends or ends[-1] >= slice.end
            ends.append(slice.end)
    values = {(found.tracks[track][2][0].decode(), value) for track, _, value in found.counters}
    assert values == {("queue", -3), ("load", 0.5), ("memory-allocated", 512), ("memory-reserved", 1024)}
    units = {found.tracks[track][2][0].decode(): decode(found.tracks[track][8][0]) for track, _, _ in found.counters}
    assert units["memory-allocated"][3] == [3]
    assert found.samples == [(10, BASE + 3000, [("main", "", 0), ("work", "w.py", 7)]),
                             (10, BASE + 4000, [("main", "", 0), ("rest", "", 0)])]


def test_rows_of_the_system(tmp_path):
    """States of threads, system calls, page faults and wake-ups, and regions in functions that are no events themselves."""
    from test_os import needs

    needs("scheduler", "syscalls")
    done = run_sonde("run", "-q", "--trace", "--os", "-F", "200", "-o", tmp_path / "run", "--", compiled("collect/trace_talk.c", "-O1"))
    assert done.status == 0, done.err
    found = rows(tmp_path / "run.sdb", tmp_path)
    assert {"state", "system", "instant", "interval"} <= {row["kind"] for row in found}
    assert any(row["path"].startswith("page fault;") for row in found if row["kind"] == "instant")
    assert any(row["path"].startswith("system call;") for row in found if row["kind"] == "system")
    assert any("link" in row for row in found if row["kind"] == "state"), "a wake-up"
    (thread,) = {row["tid"] for row in found if row["name"] == "ask"}
    touches = [row["path"].split(";") for row in found if row["name"] == "touch"]
    assert len(touches) == 10 and all("main" in path and path[-2:] == ["ask", "touch"] for path in touches)
    assert any(row["tid"] != thread for row in found if row["name"] == "answer")


def test_calls_below_python(tmp_path):
    """Intervals whose callers are Python's functions, of which there are no events."""
    source, library, script = tmp_path / "calls.c", tmp_path / "calls.so", tmp_path / "calls.py"
    source.write_text("#include <sonde/sonde.h>\nvoid work(void);\n"
                      "void work(void)\n{\n\tSONDE_REGION(\"outer\");\n\tSONDE_REGION(\"inner\");\n}\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-I", ROOT / "include", source, "-o", library, "-ldl"], check=True)
    script.write_text(f"import ctypes\nwork = ctypes.CDLL('{library}').work\n\n\ndef calls():\n    work()\n\n\n"
                      "def twice():\n    calls()\n    calls()\n\n\ntwice()\n")
    done = run_sonde("run", "-q", "--trace", "-F", "200", "-o", tmp_path / "run", "--", "/usr/bin/python3", script)
    assert done.status == 0, done.err
    found = rows(tmp_path / "run.sdb", tmp_path)
    paths = {name: [row["path"].split(";") for row in found if row["name"] == name] for name in ("outer", "inner")}
    assert len(paths["outer"]) == len(paths["inner"]) == 2
    assert all(path[:3] == ["<module>", "twice", "calls"] for path in paths["outer"] + paths["inner"])
    assert all(path[-2:] == ["outer", "inner"] for path in paths["inner"])
    # others see them as well: Chrome's viewer by the stack frames, Perfetto's by the interned call stack
    content = json.loads(export(tmp_path / "run.sdb", "chrome", tmp_path / "chrome").read_text())
    outer = next(event for event in content["traceEvents"] if event["name"] == "outer")
    names, number = [], outer["sf"]
    while number:
        names.append(content["stackFrames"][str(number)]["name"])
        number = content["stackFrames"][str(number)].get("parent")
    assert names[::-1] == paths["outer"][0]
    slices = [slice for slice in Reader(export(tmp_path / "run.sdb", "perfetto", tmp_path / "perfetto")).slices if slice.name in ("outer", "inner")]
    assert len(slices) == 4


def test_rows_of_a_queue(tmp_path):
    """Operations of a device's queue, which has a name, below calls that lie in functions."""
    from test_opencl import PROGRAM, plain

    plain()  # skips where there is no device
    done = run_sonde("run", "-q", "--trace", "-F", "200", "-o", tmp_path / "run", "--", PROGRAM)
    assert done.status == 0, done.err
    found = [row for row in rows(tmp_path / "run.sdb", tmp_path) if row["name"] == "add_one"]
    assert found and all(row["thread"] and "link" in row for row in found)
    assert any("main" in row["path"].split(";") for row in found)


def test_ranks(tmp_path):
    """Two ranks whose processes and correlations have the same numbers."""
    paths = []
    for rank in range(2):
        trace = Trace()
        trace.members["distributedInfo"] = {"rank": rank}
        trace.launch(1, 50, 60)
        trace.operation("kernel", f"gemm{rank}", 70, 170, 1)
        paths.append(trace.write(tmp_path / f"rank{rank}.json"))
    found = rows(do_import(*paths), tmp_path)
    assert {(row["rank"], row["pid"]) for row in found} == {("0", "5"), ("1", "5")}
    assert len({row["link"] for row in found}) == 2
    for rank in range(2):
        (kernel,) = [row for row in found if row["name"] == f"gemm{rank}"]
        assert kernel["rank"] == str(rank) and kernel["path"] == f"cudaLaunchKernel;gemm{rank}"
        assert kernel["link"] in [row["link"] for row in found if row["rank"] == str(rank) and row is not kernel]


@pytest.mark.parametrize("kind", ["chrome", "perfetto", "events"])
def test_no_metrics_in_a_trace(known, tmp_path, kind):
    result = run_sonde("export", "--to", kind, "--metric", "real-time", "-o", tmp_path / "x", known)
    assert (result.status, len(result.err_lines)) == (128, 1) and re.search("holds events and no metrics", result.err)


def test_full_disk_leaves_nothing(known, tmp_path):
    result = run_sonde("export", "--to", "perfetto", "-o", "/dev/full", known)
    assert result.status == 128 and "No space left" in result.err
