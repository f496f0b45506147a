# SPDX-License-Identifier: Apache-2.0
"""`sonde import` of torch.profiler's traces: made ones with a known answer, and every real one read by other means."""
from __future__ import annotations

import csv
import json
from collections import defaultdict

import pytest

from kineto_traces import FILES, Trace, kernels, load, totals
from samples import each


def imported(sonde, folder, *sources):
    result = sonde("import", *sources, "-o", folder / "trace.sdb")
    assert result.status == 0, result.err
    return folder / "trace.sdb"


def report(sonde, path, *options) -> list[dict]:
    result = sonde("report", path, "--format", "json", *options)
    assert result.status == 0, result.err
    return json.loads(result.out)["rows"]


def paths(rows: list[dict], metric: str) -> dict[str, tuple[int, float]]:
    """Names from the root down, joined: count and sum of the exclusive values there."""
    found, stack = {}, []
    for row in rows:
        stack[row["depth"]:] = [row["name"]]
        value = row["values"].get(metric, {}).get("exclusive")
        if value and value["count"]:
            found[" > ".join(stack[1:])] = (value["count"], value["sum"])
    return found


def info(sonde, path) -> dict:
    return json.loads(sonde("info", path, "--format", "json").out)


@pytest.fixture
def training() -> Trace:
    trace = Trace()
    trace.events.append({"ph": "M", "name": "process_name", "pid": 5, "tid": 0, "ts": 0, "args": {"name": "python3"}})
    trace.call("python_function", "train.py(12): step", 0, 500)
    trace.call("cpu_op", "aten::linear", 10, 100, Sequence_number=41, Fwd_thread_id=0)
    trace.call("cpu_op", "aten::t", 20, 30, Sequence_number=41, Fwd_thread_id=0)
    trace.call("cpu_op", "aten::addmm", 40, 90, Sequence_number=42, Fwd_thread_id=0)
    trace.launch(1, 50, 60)
    trace.operation("kernel", "gemm", 70, 170, 1, grid=[2, 3, 4], block=[32, 2, 1], **{"registers per thread": 40})
    # the backward pass on its own thread
    name = "autograd::engine::evaluate_function: AddmmBackward0"
    trace.call("cpu_op", name, 200, 300, thread=11, Sequence_number=42, Fwd_thread_id=1)
    trace.call("cpu_op", "AddmmBackward0", 210, 290, thread=11, Sequence_number=42, Fwd_thread_id=1)
    trace.launch(2, 220, 230, thread=11)
    trace.operation("kernel", "gemm", 240, 440, 2)
    trace.call("cpu_op", "TBackward0", 310, 320, thread=11, Sequence_number=41, Fwd_thread_id=1)
    return trace


def test_paths_of_a_training_step(sonde, tmp_path, training):
    path = imported(sonde, tmp_path, training.write(tmp_path / "trace.json"))
    rows = report(sonde, path, "--metric", "kernel-time,real-time,gpu-api-time")
    forward = "train.py:12 step > aten::linear > aten::addmm"
    rows_named = [dict(row, name=f"{row['file']}:{row['line'] or 12} {row['name']}" if row["kind"] == "python" else row["name"])
                  for row in rows]
    kernel_paths = paths(rows_named, "kernel-time")
    backward = f"{forward} > autograd::engine::evaluate_function: AddmmBackward0 > AddmmBackward0"
    assert kernel_paths == {f"{forward} > cudaLaunchKernel > gemm": (1, 100_000),
                            f"{backward} > cudaLaunchKernel > gemm": (1, 200_000)}
    # each call's own time: what those it called did not take
    own = paths(rows_named, "real-time")
    assert own["train.py:12 step > aten::linear"] == (1, 30_000)
    assert own[forward] == (1, 40_000)
    # a call and what it calls share a sequence number: the gradient of a transposition is that of aten::t
    assert own["train.py:12 step > aten::linear > aten::t > TBackward0"] == (1, 10_000)
    flags = {row["name"]: row["kind"] for row in rows}
    assert flags["gemm"] == "kernel" and flags["cudaLaunchKernel"] == "gpu-api" and flags["step"] == "python"


def test_launch_metrics_and_profiles(sonde, tmp_path, training):
    path = imported(sonde, tmp_path, training.write(tmp_path / "trace.json.gz"))
    about = info(sonde, path)
    assert about["program"] == "python3" and about["events"] == 11 and about["drops"] == {}
    assert sorted(profile["tid"] for profile in about["profiles"]) == [0, 10, 11]
    root = report(sonde, path, "--metric", "kernel-blocks,kernel-block-threads,kernel-registers")[0]["values"]
    assert [root[name]["inclusive"]["sum"] for name in ("kernel-blocks", "kernel-block-threads", "kernel-registers")] == \
        [24, 64, 40]


def test_kernels_of_one_graph_launch(sonde, tmp_path):
    trace = Trace()
    trace.call("cuda_runtime", "cudaGraphLaunch", 0, 10, correlation=5)
    for number in range(3):
        trace.operation("kernel", f"node{number}", 20 + 10 * number, 25 + 10 * number, 5)
    rows = report(sonde, imported(sonde, tmp_path, trace.write(tmp_path / "t.json")), "--metric", "kernel-time")
    assert set(paths(rows, "kernel-time")) == {f"cudaGraphLaunch > node{number}" for number in range(3)}


def test_calls_that_end_a_little_late(sonde, tmp_path):
    """Files with whole microseconds: a call that seems to end 1.5 us after its caller is its call, one that ends 3 us after is not."""
    trace = Trace()
    trace.call("cpu_op", "outer", 0, 100)
    trace.call("cpu_op", "first", 0, 50)
    trace.call("cpu_op", "late", 50, 101.5)
    trace.call("cpu_op", "alone", 200, 300)
    trace.call("cpu_op", "beyond", 250, 303)
    rows = report(sonde, imported(sonde, tmp_path, trace.write(tmp_path / "t.json")), "--metric", "real-time")
    assert paths(rows, "real-time") == {"outer": (1, 0), "outer > first": (1, 50_000), "outer > late": (1, 51_500),
                                        "alone": (1, 100_000), "beyond": (1, 53_000)}


def test_which_forward_pass(sonde, tmp_path):
    """Of those with the number: no later one, whatever its name; and the one of the name, though another came after it."""
    trace = Trace()
    trace.call("cpu_op", "aten::mm", 10, 50, Sequence_number=1, Fwd_thread_id=0)
    trace.call("cpu_op", "aten::inner", 20, 30, Sequence_number=1, Fwd_thread_id=0)
    trace.call("cpu_op", "aten::other", 60, 80, Sequence_number=2, Fwd_thread_id=0)
    trace.call("cpu_op", "aten::add", 500, 550, Sequence_number=2, Fwd_thread_id=0)
    trace.call("cpu_op", "MmBackward0", 200, 210, thread=11, Sequence_number=1, Fwd_thread_id=1)
    trace.call("cpu_op", "AddBackward0", 220, 230, thread=11, Sequence_number=2, Fwd_thread_id=1)
    rows = report(sonde, imported(sonde, tmp_path, trace.write(tmp_path / "t.json")), "--metric", "real-time")
    assert {path for path in paths(rows, "real-time") if "Backward" in path} == \
        {"aten::mm > MmBackward0", "aten::other > AddBackward0"}


def test_launches_in_any_order(sonde, tmp_path):
    """Numbers of launches may descend; each kernel stands below its own."""
    trace = Trace()
    for number, name in [(9, "aten::a"), (4, "aten::b"), (7, "aten::c"), (1, "aten::d")]:
        at = 1000 - 100 * number
        trace.call("cpu_op", name, at, at + 20)
        trace.launch(number, at + 5, at + 10)
        trace.operation("kernel", f"k{number}", at + 30, at + 40, number)
    trace.events.sort(key=lambda event: (event["cat"] == "kernel", event["ts"]))
    rows = report(sonde, imported(sonde, tmp_path, trace.write(tmp_path / "t.json")), "--metric", "kernel-time")
    assert set(paths(rows, "kernel-time")) == {f"aten::{name} > cudaLaunchKernel > k{number}"
                                               for number, name in [(9, "a"), (4, "b"), (7, "c"), (1, "d")]}


def test_numbers_are_of_one_file(sonde, tmp_path):
    """Two ranks whose launches and forward passes have the same numbers, in other operators."""
    sources = []
    for rank, (launching, forward) in enumerate([("aten::a", "aten::mm"), ("aten::b", "aten::mm")]):
        trace = Trace()
        trace.members["distributedInfo"] = {"rank": rank, "world_size": 2}
        trace.call("cpu_op", launching, 0, 100)
        trace.call("cpu_op", forward, 10, 50, Sequence_number=1, Fwd_thread_id=0)
        trace.launch(1, 60, 70)
        trace.operation("kernel", f"k{rank}", 80, 90, 1)
        trace.call("cpu_op", "MmBackward0", 200, 230, thread=11, Sequence_number=1, Fwd_thread_id=1)
        sources.append(trace.write(tmp_path / f"rank{rank}.json"))
    rows = report(sonde, imported(sonde, tmp_path, *sources), "--metric", "kernel-time,real-time")
    assert set(paths(rows, "kernel-time")) == {"aten::a > cudaLaunchKernel > k0", "aten::b > cudaLaunchKernel > k1"}
    assert {path: value for path, value in paths(rows, "real-time").items() if "Backward" in path} == \
        {"aten::a > aten::mm > MmBackward0": (1, 30_000), "aten::b > aten::mm > MmBackward0": (1, 30_000)}


def test_forward_passes_are_read_first(sonde, tmp_path):
    """Though the thread of the backward pass is the first of the file, and has more operators with numbers."""
    trace = Trace()
    name = "autograd::engine::evaluate_function: MmBackward0"
    for start, end, called in [(200, 300, name), (210, 290, "MmBackward0"), (310, 320, "MmBackward0")]:
        trace.call("cpu_op", called, start, end, thread=11, Sequence_number=1, Fwd_thread_id=1)
    trace.call("cpu_op", "aten::mm", 10, 50, Sequence_number=1, Fwd_thread_id=0)
    rows = report(sonde, imported(sonde, tmp_path, trace.write(tmp_path / "t.json")), "--metric", "real-time")
    assert paths(rows, "real-time") == {"aten::mm": (1, 40_000), f"aten::mm > {name}": (1, 20_000),
                                        f"aten::mm > {name} > MmBackward0": (1, 80_000), "aten::mm > MmBackward0": (1, 10_000)}


def test_files_of_one_rank_are_runs(sonde, tmp_path, training):
    """Two of rank 3 are two runs; of ranks 3 and 4 one."""
    sources = []
    for number, rank in enumerate((3, 3, 4)):
        training.members["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 12}
        sources.append(training.write(tmp_path / f"{number}.json"))
    def runs(*files):
        path = imported(sonde, tmp_path, *files)
        devices = json.loads(sonde("timeline", path, "--format", "json").out)["devices"]
        properties = info(sonde, path)["properties"]
        return len(devices), {key: value for key, value in properties.items() if key.startswith("run.")}
    assert runs(*sources) == (3, {"run.0": "0.json", "run.1": "1.json"})
    assert runs(*sources[1:]) == (2, {})


def test_kernels_without_a_launch_are_counted(sonde, tmp_path):
    trace = Trace()
    trace.operation("kernel", "early", 20, 25, 5)
    path = imported(sonde, tmp_path, trace.write(tmp_path / "t.json"))
    assert info(sonde, path)["drops"] == {"gpu-unlaunched": 1}
    assert set(paths(report(sonde, path, "--metric", "kernel-time"), "kernel-time")) == \
        {"[launched before the recording] > early"}


def test_memory_belongs_to_what_runs(sonde, tmp_path):
    trace = Trace()
    trace.call("cpu_op", "aten::empty", 0, 10)
    for time, size, total in [(1, 512, 512), (2, 1024, 1536), (3, -512, 1024)]:
        trace.events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 5, "tid": 10,
                             "ts": time, "args": {"Bytes": size, "Total Allocated": total, "Device Id": 0}})
    rows = report(sonde, imported(sonde, tmp_path, trace.write(tmp_path / "t.json")), "--metric", "tensor-alloc,tensor-free")
    assert paths(rows, "tensor-alloc") == {"aten::empty": (2, 1536)}
    assert paths(rows, "tensor-free") == {"aten::empty": (1, 512)}


def test_names_of_categories_until_2022(sonde, tmp_path):
    trace = Trace()
    trace.call("Operator", "aten::mm", 0, 100)
    trace.call("Runtime", "cudaLaunchKernel", 10, 20, correlation=1)
    trace.operation("Kernel", "gemm", 30, 90, 1)
    trace.operation("Memcpy", "Memcpy HtoD", 100, 110, 2, bytes=4096)
    trace.operation("Memset", "Memset", 120, 121, 3)
    path = imported(sonde, tmp_path, trace.write(tmp_path / "t.json"))
    rows = report(sonde, path, "--metric", "kernel-time,gpu-api-time,copy-bytes,fill-time")
    assert paths(rows, "kernel-time") == {"aten::mm > cudaLaunchKernel > gemm": (1, 60_000)}
    assert paths(rows, "gpu-api-time") == {"aten::mm > cudaLaunchKernel": (1, 10_000)}
    assert [value for _, value in paths(rows, "copy-bytes").values()] == [4096]
    assert [value for _, value in paths(rows, "fill-time").values()] == [1000]


def test_accelerators_of_meta(sonde, tmp_path):
    """They have one category for all that a device does, and tell by names what it is."""
    trace = Trace()
    trace.call("cpu_op", "aten::mul", 0, 100)
    trace.call("mtia_runtime", "launchKernel", 10, 20, correlation=1)
    for name, start, end, args in [("aten::mul.out-dtype_Float", 30, 90, {"correlation": 1}), ("event_wait", 90, 95, {"wait_on_stream": 4}),
                                   ("dma_request", 100, 107, {"direction": "DEVICE_TO_HOST", "size": 1024})]:
        trace.events.append({"ph": "X", "cat": "mtia_ccp_events", "name": name, "pid": 17, "tid": 3910, "ts": start, "dur": end - start,
                             "args": {"stream": 2, **args}})
    # its queue has calls, too; the device is the process's that calls most
    trace.events.append({"ph": "X", "cat": "mtia_runtime", "name": "synchronize", "pid": 17, "tid": 3568, "ts": 110, "dur": 1, "args": {}})
    path = imported(sonde, tmp_path, trace.write(tmp_path / "t.json"))
    rows = report(sonde, path, "--metric", "kernel-time,copy-bytes,copy-time")
    assert paths(rows, "kernel-time") == {"aten::mul > launchKernel > aten::mul.out-dtype_Float": (1, 60_000)}
    assert [(names.split(" > ")[-1], value) for names, value in paths(rows, "copy-bytes").items()] == [("dma_request DEVICE_TO_HOST", (1, 1024))]
    stream, = [profile for profile in info(sonde, path)["profiles"] if profile["kind"] == "stream"]
    assert (stream["device"], stream["stream"], stream["pid"]) == (17, 2, 5)
    transfers = sonde("timeline", path, "--view", "transfers").out
    assert "device to host" in transfers and "1.00 KiB" in transfers


def test_times_are_exact_and_have_the_files_base(sonde, tmp_path):
    trace = Trace()
    trace.members["baseTimeNanoseconds"] = 1_751_410_836_000_000_000
    # microseconds since 1970 with three digits are beyond what a double holds
    trace.call("cpu_op", "a", 0, 0)
    text = json.dumps({**trace.members, "traceEvents": [dict(trace.events[0], ts="TS", dur="DUR")]})
    text = text.replace('"TS"', "1419247332972.313").replace('"DUR"', "4426.114")
    path = imported(sonde, tmp_path, trace.write(tmp_path / "t.json", text))
    profile, = info(sonde, path)["profiles"]
    start = 1_751_410_836_000_000_000 + 1_419_247_332_972_313
    assert (profile["start_ns"], profile["end_ns"]) == (start, start + 4_426_114)


def test_ranks_are_told_apart(sonde, tmp_path, training):
    sources = []
    for rank in (3, 11):
        training.members["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 12}
        sources.append(training.write(tmp_path / f"rank{rank}.json.gz"))
    path = imported(sonde, tmp_path, *sources)
    assert sorted({profile["rank"] for profile in info(sonde, path)["profiles"]}) == [3, 11]
    assert report(sonde, path, "--metric", "kernel-time")[0]["values"]["kernel-time"]["inclusive"]["sum"] == 600_000
    devices = json.loads(sonde("timeline", path, "--format", "json").out)["devices"]
    assert [device["rank"] for device in devices] == [3, 11]


def test_built_in_methods_have_no_address(sonde, tmp_path):
    """An object's address is another in each process: the function is the same."""
    sources = []
    for rank in range(2):
        trace = Trace()
        trace.members["distributedInfo"] = {"backend": "gloo", "rank": rank, "world_size": 2}
        trace.call("python_function", f"<built-in method run_backward of torch._C._EngineBase object at 0x7f94b208f1b{rank}>", 0, 10)
        trace.call("python_function", "<built-in method now at 0x12 of the day>", 20, 30)
        sources.append(trace.write(tmp_path / f"rank{rank}.json"))
    rows = report(sonde, imported(sonde, tmp_path, *sources), "--metric", "real-time")
    assert {name: stat for name, stat in paths(rows, "real-time").items()} == {
        "<built-in method run_backward of torch._C._EngineBase object>": (2, 20_000),
        "<built-in method now at 0x12 of the day>": (2, 20_000)}


def test_a_bare_array_and_odd_members(sonde, tmp_path, training):
    training.events[1]["name"] = "na\u00efve \"quoted\" \U0001f600.py(1): f\tg"
    training.events.append({"ph": "X", "cat": "cpu_op", "name": "no time", "pid": 5, "tid": 10})
    training.events.append({"ph": "O", "name": "snapshot", "pid": 5, "tid": 10, "ts": 1, "args": {"x": 1}})
    training.events.append({"ph": "X", "cat": "cpu_op", "name": "text ids", "pid": "Spans", "tid": "x", "ts": 1, "dur": 2,
                            "args": {"deep": [[[{"a": [1, 2]}]]], "nan": float("nan"), "none": None, "yes": True}})
    path = imported(sonde, tmp_path, training.write(tmp_path / "t.json", json.dumps(training.events)))
    about = info(sonde, path)
    assert about["drops"] == {"import-untimed": 1, "import-unread": 1}
    names = {row["name"] for row in report(sonde, path, "--metric", "real-time")}
    assert "text ids" in names and "f\tg" in names


def test_pairs_ranges_and_counters_of_other_programs(sonde, tmp_path):
    def event(phase, name, time, thread=10, **more):
        return {"ph": phase, "name": name, "cat": "app", "pid": 5, "tid": thread, "ts": time, **more}
    events = [event("B", "outer", 10, args={"size": 3}), event("B", "inner", 20), event("B", "outer", 25, thread=11),
              event("E", "", 30), event("E", "outer", 50, args={"result": 4}), event("E", "", 45, thread=11),
              event("b", "request", 0, id="0x1"), event("b", "request", 5, id="0x2"), event("e", "request", 40, id="0x1"),
              event("b", "part", 10, id="0x2"), event("e", "part", 20, id="0x2"), event("e", "request", 55, id="0x2"),
              event("E", "never begun", 60), event("B", "never ended", 60), event("i", "mark", 70, s="t"),
              event("C", "queue", 1, args={"length": 2}), event("C", "queue", 2, args={"length": 2.5}),
              event("C", "memory", 1, args={"used": 1, "free": 2})]
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": events}))
    path = imported(sonde, tmp_path, tmp_path / "t.json")
    rows = report(sonde, path, "--metric", "real-time,range-time")
    assert paths(rows, "real-time") == {"outer": (2, 30_000 + 20_000), "outer > inner": (1, 10_000),
                                        "never ended": (1, 10_000)}
    assert paths(rows, "range-time") == {"request": (2, 40_000 + 50_000), "part": (1, 10_000)}
    about = info(sonde, path)
    # 4 pairs on threads, 3 ranges, a mark, 4 values
    assert about["drops"] == {"import-unpaired": 1, "import-unended": 1} and about["events"] == 12
    assert {"queue", "memory.used", "memory.free"} <= {metric["name"] for metric in about["metrics"]}


def write(path, events: list):
    path.write_text(json.dumps(events))
    return path


def ranges(sonde, path, tmp_path) -> list[tuple[str, float]]:
    assert sonde("export", path, "--to", "events", "-o", tmp_path / "e.csv").status == 0
    with open(tmp_path / "e.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return sorted((row["name"], (int(row["end_ns"]) - int(row["start_ns"])) / 1000) for row in rows)


@pytest.mark.parametrize("first, second", [({"id2": {"local": "0x1"}}, {"id2": {"local": "0x2"}}),
                                           ({"id": 1, "scope": "x"}, {"id": 1, "scope": "y"}),
                                           ({"id": 1, "pid": 1}, {"id": 1, "pid": 2}), ({"id": 1}, {"id": 1})],
                         ids=["id2", "scope", "process", "name"])
@pytest.mark.parametrize("begin, end", ["be", "SF"])
def test_ends_find_the_begins_of_their_ids(sonde, tmp_path, first, second, begin, end):
    """None of these nest."""
    def event(phase: str, name: str, ts: int, which: dict) -> dict:
        return {"ph": phase, "cat": "net", "name": name, "ts": ts, "pid": 1, "tid": 1, **which}
    events = [event(begin, "A", 0, first), event(begin, "B", 5, second), event(end, "A", 10, first), event(end, "B", 100, second)]
    path = imported(sonde, tmp_path, write(tmp_path / "t.json", events))
    assert ranges(sonde, path, tmp_path) == [("A", 10), ("B", 95)] and info(sonde, path)["drops"] == {}


def test_counters_of_several_ids_and_as_text(sonde, tmp_path):
    events = [{"ph": "C", "name": "memory", "id": number, "ts": ts, "pid": 1, "args": {"used": ts * number}}
              for ts in (1, 2, 3) for number in (7, 9)]
    events += [{"ph": "C", "name": "CPU usage (Bazel)", "ts": ts, "pid": 1, "args": {"cpu": text}}
               for ts, text in ((1, "0.75"), (2, "3"), (3, "none"))]
    path = imported(sonde, tmp_path, write(tmp_path / "t.json", events))
    about = info(sonde, path)
    assert about["events"] == 8
    counters = {metric["name"] for metric in about["metrics"]}
    assert {"memory[7]", "memory[9]", "CPU usage (Bazel)"} <= counters, counters


def test_samples_find_frames_that_come_later(sonde, tmp_path):
    samples = [{"ph": "P", "name": "cpu", "ts": ts, "pid": 1, "tid": 1, "sf": 2 - ts % 2} for ts in range(5)]
    frames = {"1": {"name": "main", "category": "app"}, "2": {"name": "leaf", "parent": "1"}}
    for whole in ({"traceEvents": samples, "stackFrames": frames}, {"stackFrames": frames, "traceEvents": samples}):
        (tmp_path / "t.json").write_text(json.dumps(whole))
        path = imported(sonde, tmp_path, tmp_path / "t.json")
        assert paths(report(sonde, path, "--metric", "samples"), "samples") == {"main": (2, 2), "main > leaf": (3, 3)}
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": samples, "stackFrames": frames})[:-20])
    result = sonde("import", tmp_path / "t.json", "-o", tmp_path / "x.sdb")
    assert result.status == 128 and len(result.err_lines) == 1 and not (tmp_path / "x.sdb").exists()


def test_kernels_of_xla_run_on_devices(sonde, tmp_path):
    """What JAX writes beside its protobuf: no categories, correlations as texts."""
    def told(kind: str, pid: int, name: str, **more) -> dict:
        return {"ph": "M", "pid": pid, "name": kind, "args": {"name": name}, **more}

    def span(pid: int, tid: int, ts: float, dur: float, name: str, **args) -> dict:
        return {"ph": "X", "pid": pid, "tid": tid, "ts": ts, "dur": dur, "name": name, **({"args": args} if args else {})}
    events = [told("process_name", 1, "/device:GPU:2 NVIDIA H100"), told("thread_name", 1, "Stream #14(Compute)", tid=140),
              told("thread_name", 1, "XLA Modules", tid=141), told("process_name", 701, "/host:CPU"),
              told("thread_name", 701, "python", tid=9),
              span(701, 9, 0, 50, "PjitFunction(f)"), span(701, 9, 10, 5, "cuLaunchKernel", correlation_id="77"),
              span(701, 9, 20, 5, "cuMemcpyHtoDAsync_v2", correlation_id="78"),
              span(1, 140, 30, 40, "fusion_1", correlation_id="77", hlo_op="fusion.1", context_id="$$1",
                   kernel_details="regs:32 static_shared:16 dynamic_shared:100 grid:4,2,1 block:128,1,1 occ_pct:50"),
              span(1, 140, 80, 10, "MemcpyH2D", correlation_id="78", memcpy_details="kind_src:pinned kind_dst:device size:64 async:1"),
              span(1, 141, 30, 60, "jit_f"), {}]
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": events}))
    path = imported(sonde, tmp_path, tmp_path / "t.json")
    rows = report(sonde, path, "--metric", "kernel-time,copy-bytes,kernel-blocks,kernel-registers,kernel-shared-bytes,real-time")
    kernel = "PjitFunction(f) > cuLaunchKernel > fusion_1"
    assert paths(rows, "kernel-time") == {kernel: (1, 40_000)} and paths(rows, "kernel-blocks") == {kernel: (1, 8)}
    assert paths(rows, "kernel-registers") == {kernel: (1, 32)} and paths(rows, "kernel-shared-bytes") == {kernel: (1, 116)}
    assert paths(rows, "copy-bytes") == {"PjitFunction(f) > cuMemcpyHtoDAsync_v2 > MemcpyH2D": (1, 64)}
    assert sum(value for _, value in paths(rows, "real-time").values()) == 50_000
    about = info(sonde, path)
    assert about["events"] == 6 and about["drops"] == {}
    assert {(profile["device"], profile["stream"]) for profile in about["profiles"] if profile["kind"] == "stream"} == {
        (2, 14), (2, 141)}


def test_processes_keep_their_names(sonde, tmp_path):
    events = [{"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}} for pid, name in ((1, "Browser"), ("r", "Renderer"))]
    events += [{"ph": "X", "name": "a", "ts": 10 * i, "dur": 5, "pid": pid, "tid": 2} for i, pid in enumerate((1, 1, "r"))]
    path = imported(sonde, tmp_path, write(tmp_path / "t.json", [*events, {}]))
    about = info(sonde, path)
    assert about["program"] == "Browser" and about["drops"] == {}
    assert sorted(profile["program"] for profile in about["profiles"]) == ["Browser", "Renderer"]


def test_events_that_end_before_they_begin(sonde, tmp_path):
    """A negative length is no time, and an end before the begin ends it there; the rest is read."""
    trace = Trace()
    trace.call("cpu_op", "good", 10, 40)
    trace.call("cpu_op", "negative", 50, 45)
    trace.events += [{"ph": phase, "name": "late", "cat": "app", "pid": 5, "tid": 12, "ts": time} for phase, time in (("B", 90), ("E", 80))]
    path = imported(sonde, tmp_path, trace.write(tmp_path / "t.json"))
    assert info(sonde, path)["drops"] == {"import-untimed": 1} and info(sonde, path)["events"] == 2
    assert paths(report(sonde, path, "--metric", "real-time"), "real-time") == {"good": (1, 30_000), "late": (1, 0)}


def test_times_before_the_epoch(sonde, tmp_path):
    """There is no time before it to be told: what began earlier begins with it."""
    trace = Trace()
    trace.call("cpu_op", "early", -20, 30)
    trace.call("cpu_op", "inner", -10, 10)
    path = imported(sonde, tmp_path, trace.write(tmp_path / "t.json"))
    assert paths(report(sonde, path, "--metric", "real-time"), "real-time") == {"early": (1, 20_000), "early > inner": (1, 10_000)}
    profile, = info(sonde, path)["profiles"]
    assert (profile["start_ns"], profile["end_ns"]) == (0, 30_000)


def test_the_profilers_own_span_is_no_event(sonde, tmp_path, training):
    training.events.append({"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler",
                            "ts": 0, "dur": 500, "args": {"Op count": 0}})
    path = imported(sonde, tmp_path, training.write(tmp_path / "t.json"))
    assert info(sonde, path)["events"] == 11 and info(sonde, path)["drops"] == {}


def test_streams_that_only_the_thread_tells(sonde, tmp_path):
    """Kernels without device and stream among their arguments: process and thread say them."""
    trace = Trace()
    for tid in (7, 8, 8):
        trace.events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 2, "tid": tid, "ts": 10 * tid, "dur": 5, "args": {}})
    path = imported(sonde, tmp_path, trace.write(tmp_path / "t.json"))
    device, = json.loads(sonde("timeline", path, "--format", "json").out)["devices"]
    assert (device["device"], device["streams"]) == (2, 2)


def test_arguments_whose_names_look_alike(sonde, tmp_path):
    """Same length, first and middle letter: kept apart all the same, event by event."""
    trace = Trace()
    for number in range(4):
        trace.call("cpu_op", "a", 10 * number, 10 * number + 5, **({"Rabbit": number} if number % 2 else {"Robber": 10 * number}))
    path = imported(sonde, tmp_path, trace.write(tmp_path / "t.json"))
    assert sonde("export", path, "--to", "chrome", "-o", tmp_path / "out.json").status == 0
    events = json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    found = [{key: value for key, value in event["args"].items() if key.startswith("R")} for event in events if event["ph"] == "X"]
    assert found == [{"Robber": 0}, {"Rabbit": 1}, {"Robber": 20}, {"Rabbit": 3}]


def test_what_other_programs_write(sonde, tmp_path):
    """A byte order mark, a comma behind the last event, and an array that ends without its bracket, as Chrome's format allows."""
    events = [{"ph": "X", "name": f"e{i}", "pid": 5, "tid": 1, "ts": 10 * i, "dur": 5} for i in range(3)]
    text = ",\n".join(json.dumps(event) for event in events)
    for number, whole in enumerate(["\ufeff[" + text + "]", "[" + text + ",]\r\n", "[" + text, "[" + text + ",\n",
                                    '\ufeff{"traceEvents": [' + text + ',], "displayTimeUnit": "ns",}']):
        (tmp_path / "t.json").write_text(whole, encoding="utf-8")
        about = info(sonde, imported(sonde, tmp_path, tmp_path / "t.json"))
        assert about["events"] == 3 and about["drops"] == {}, number
    for wrong in ["[" + text + ",,", "[" + text[:-1], "[" + text + "\n" + "[", '{"traceEvents": [' + text, "[" + text + ",,]"]:
        (tmp_path / "t.json").write_text(wrong)
        result = sonde("import", tmp_path / "t.json", "-o", tmp_path / "x.sdb")
        assert result.status == 128 and len(result.err_lines) == 1 and not (tmp_path / "x.sdb").exists(), wrong


def test_nothing_is_lost_in_silence(sonde, tmp_path):
    """A second document, arrows of other programs, samples in a list of their own."""
    events = [{"ph": "X", "name": "e", "pid": 5, "tid": 1, "ts": 10, "dur": 5},
              {"ph": "s", "cat": "net", "name": "request", "id": 1, "pid": 5, "tid": 1, "ts": 11},
              {"ph": "f", "cat": "net", "name": "request", "id": 1, "pid": 5, "tid": 1, "ts": 12},
              {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 1, "pid": 5, "tid": 1, "ts": 11},
              {"ph": "s", "cat": "async", "name": "launch", "id": 1, "pid": 5, "tid": 1, "ts": 11}]  # of torch.profiler in 2021
    whole = json.dumps({"traceEvents": events, "samples": [{"cpu": 0}], "systemTraceEvents": ""})
    (tmp_path / "t.json").write_text(whole)
    assert info(sonde, imported(sonde, tmp_path, tmp_path / "t.json"))["drops"] == {"import-arrows": 1, "import-parts": 1}
    (tmp_path / "t.json").write_text(whole + "\n" + whole)
    result = sonde("import", tmp_path / "t.json", "-o", tmp_path / "x.sdb")
    assert result.status == 128 and "more follows" in result.err and not (tmp_path / "x.sdb").exists()


@pytest.mark.parametrize("cut", [1, 10, 100, 0.3, 0.6, 0.99])
def test_truncated(sonde, tmp_path, training, cut):
    text = json.dumps({**training.members, "traceEvents": training.events})
    (tmp_path / "t.json").write_text(text[:cut if cut >= 1 else int(cut * len(text))])
    result = sonde("import", "--from", "kineto", tmp_path / "t.json", "-o", tmp_path / "x.sdb")
    assert result.status == 128 and len(result.err_lines) == 1 and "t.json" in result.err
    assert not (tmp_path / "x.sdb").exists()


@pytest.mark.parametrize("text", ['{"traceEvents": [}', '{"traceEvents": [{"ph": "X" "ts": 1}]}', '{"traceEvents": [1]}',
                                  '{"traceEvents": [{"name": "\\x"}]}', '{"traceEvents": [{"ts": -}]}',
                                  '{"schemaVersion": 1, "traceEvents": [' + "[" * 100000])
def test_damaged(sonde, tmp_path, text):
    (tmp_path / "t.json").write_text(text)
    result = sonde("import", "--from", "kineto", tmp_path / "t.json", "-o", tmp_path / "x.sdb")
    assert result.status == 128 and len(result.err_lines) == 1 and not (tmp_path / "x.sdb").exists()


@each("path", FILES, "kineto")
def test_kineto_real_traces_lose_nothing(sonde, tmp_path, path):
    events = load(path)
    expected = totals(events)
    result = imported(sonde, tmp_path, path)
    rows = report(sonde, result, *[part for metric in expected for part in ("--metric", metric)])
    root = rows[0]["values"]
    assert {metric: (root[metric]["inclusive"]["count"], root[metric]["inclusive"]["sum"]) for metric in expected} == expected
    found: dict[str, list[float]] = defaultdict(lambda: [0, 0])
    for row in rows:
        value = row["values"].get("kernel-time", {}).get("exclusive")
        if row["kind"] == "kernel" and value:
            found[row["name"]][0] += value["count"]
            found[row["name"]][1] += value["sum"]
    assert {name: tuple(pair) for name, pair in found.items()} == kernels(events)
    # operators, by name: as many executions as events
    operators: dict[str, int] = defaultdict(int)
    for event in events:
        if event.get("ph") == "X" and event.get("cat") == "cpu_op":
            operators[event["name"]] += 1
    called: dict[str, int] = defaultdict(int)
    for row in report(sonde, result, "--metric", "real-time"):
        value = row["values"].get("real-time", {}).get("exclusive")
        if row["kind"] == "operator" and value:
            called[row["name"]] += value["count"]
    assert called == operators


@pytest.mark.parametrize("length, is_read", [((64 << 20) - 100, True), ((64 << 20) + 100, False), (100 << 20, False)])
def test_longest_value_is_the_same_for_any_number_of_threads(sonde, tmp_path, length, is_read):
    path = tmp_path / "long.json"
    path.write_text('{"schemaVersion":1,"note":"%s","traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,'
                    '"ts":1,"dur":1}]}' % ("a" * length))
    for jobs in (1, 2, 5):
        result = sonde("import", "-j", jobs, path, "-o", tmp_path / "long.sdb")
        assert (result.status == 0) == is_read, result.err
        assert is_read or result.err == f"sonde: cannot read '{path}': the value at byte 18 is larger than 64 MiB\n"
