# SPDX-License-Identifier: Apache-2.0
"""`sonde import` of XPlane files: made ones with a known answer, real ones read by other means."""
from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict

import pytest

import xplane_reader
from conftest import ROOT
from samples import each, find
from test_import_nsys import imported, info, paths, report
from xplane_writer import Plane, field, hlo_computation, hlo_instruction, hlo_proto

FILES = find("xplane/*.pb")
START = 1_700_000_000_000_000_000
US = 1_000_000  # ps
DERIVED = ["Steps", "XLA Modules", "Source code"]


def program() -> bytes:
    """main: x, w -> fusion (dot, tanh of w.py:7) -> while (body: add) -> ROOT copy"""
    low = 1 << 32
    frames = field(1, "/home/me/w.py") + field(2, "step") + field(3, field(1, 1) + field(2, 1) + field(3, 7)) + \
        field(4, field(1, 1))
    fused = hlo_computation("fused", 2, 2 * low + 3, [
        hlo_instruction("p0", "parameter", 2 * low + 1),
        hlo_instruction("dot.1", "dot", 2 * low + 2, [2 * low + 1], path="jit(step)/dot_general", frame=1, elements=[4, 8]),
        hlo_instruction("tanh.1", "tanh", 2 * low + 3, [2 * low + 2], path="jit(step)/tanh", file="/old/w.py", line=3)])
    body = hlo_computation("body", 3, 3 * low + 1, [hlo_instruction("add.1", "add", 3 * low + 1)])
    reducer = hlo_computation("sum", 4, 4 * low + 1, [hlo_instruction("scalar", "add", 4 * low + 1)])
    main = hlo_computation("main", 1, low + 5, [
        hlo_instruction("x", "parameter", low + 1, path="x", elements=[4, 8]),
        hlo_instruction("w", "parameter", low + 2, path="w"),
        hlo_instruction("fusion.1", "fusion", low + 3, [low + 1, low + 2], [2], path="jit(step)/tanh", frame=1,
                        elements=[10]),
        hlo_instruction("while.1", "while", low + 4, [low + 3], [3]),
        hlo_instruction("reduce.1", "reduce", low + 5, [low + 4], [4])])
    return hlo_proto("jit_step", 77, 1, [fused, body, reducer, main], frames)


def metadata() -> bytes:
    plane = Plane(0, "/host:metadata").own(process_id=4242)
    plane.kind("jit_step(77)", stats={"Hlo Proto": program()})
    return plane.bytes()


def environment() -> bytes:
    return Plane(0, "Task Environment").own(profile_start_time=START, profile_stop_time=START + 10**9).bytes()


def on_program(operation: str, **more) -> dict:
    return {"hlo_op": ("ref", operation), "hlo_module": "jit_step", "program_id": 77, **more}


def gpu_space() -> bytes:
    details = " regs:40 static_shared:256 dynamic_shared:64 grid:4,3,1 block:128,2,1 occ_pct:50"
    kernels = [("_Z4fuse.kd", 100 * US + 500, 10 * US, on_program("fusion.1", correlation_id=9, kernel_details=details)),
               ("reduce_1", 120 * US, 5 * US, on_program("reduce.1", correlation_id=10)),
               ("reduce_2", 126 * US, 1 * US, on_program("reduce.1", correlation_id=99)),
               ("MemcpyD2H", 130 * US, 2 * US, {"correlation_id": 11, "memcpy_details": "kind_src:device size:4096 async:1"}),
               ("_Z4fuse.kd", 200 * US, 12 * US, on_program("fusion.1", correlation_id=12)),
               ("reduce_1", 220 * US, 6 * US, on_program("reduce.1", correlation_id=13))]
    gpu = Plane(1, "/device:GPU:3").own(device_vendor="NVIDIA")
    gpu.line(5, "Stream #5(Compute)", 1000, kernels)
    for number, name in enumerate(DERIVED, 100):
        gpu.line(number, name, 1000, [("whole", 100 * US, 120 * US, {})])
    gpu.line(200, "XLA Ops", 1000, [("fusion.1", 100 * US, 10 * US, {})])
    host = Plane(2, "/host:CPU")
    calls = [("cuLaunchKernel", 10 * US, 2 * US, {"correlation_id": 9}), ("cuLaunchKernel", 13 * US, 2 * US, {"correlation_id": 10}),
             ("cuMemcpyDtoHAsync", 16 * US, 2 * US, {"correlation_id": 11}),
             ("cuLaunchKernel", 60 * US, 2 * US, on_program("fusion.1", correlation_id=12)),
             ("cuLaunchKernel", 63 * US, 1 * US, {"correlation_id": 13})]
    host.line(4243, "python/4243", 0, [("$train.py:12 main", 0, 90 * US, {}), ("train", 5 * US, 40 * US, {"step_num": 0, "_r": 1}),
                                       ("train", 50 * US, 30 * US, {"step_num": 1, "_r": 1}), *calls,
                                       ("MemoryAllocation", 20 * US, 0, {"allocation_bytes": 512, "bytes_allocated": 1000}),
                                       ("MemoryDeallocation", 21 * US, 0, {"allocation_bytes": 512, "bytes_allocated": 488}),
                                       ("$builtins len", 85 * US, 1 * US, {})])
    host.line(-5, "pool/-5", 0, [("hand over", 30 * US, 1 * US, {"_pt": 15, "_p": 3})])
    host.line(-6, "pool/-6", 0, [("take up", 32 * US, 1 * US, {"_ct": 15, "_c": 3})])
    return metadata() + gpu.bytes() + host.bytes() + environment()


def graphs(sonde, path) -> dict:
    return {model["name"]: model for model in
            json.loads(sonde("graph", path, "--format", "json", "--iterations", "--top", 0).out)["models"]}


def write(path, data: bytes):
    path.write_bytes(data)
    return path


STEP = "train.py:12 main > train > "


def test_xplane_lines_of_the_program_are_not_jax_own(sonde, tmp_path):
    """XLA leaves out folders: what waits, records and shards in JAX belongs to the line that called it, a file of such a name with
    other functions is the program's."""
    host = Plane(2, "/host:CPU")
    host.line(4243, "python/4243", 0, [("$profiler.py:101 start_trace", 0, 500 * US, {}), ("$train.py:12 main", 500 * US, 90 * US, {}),
                                       ("$api.py:3105 block_until_ready", 510 * US, 40 * US, {}),
                                       ("$pxla.py:230 batched_device_put", 560 * US, 20 * US, {}),
                                       ("$profiler.py:7 mine", 600 * US, 30 * US, {})])
    path = imported(sonde, tmp_path, write(tmp_path / "box.xplane.pb", metadata() + host.bytes() + environment()))
    lines = [line for line in report(sonde, path, "--view", "flat", "--by", "line", "--metric", "real-time") if line["kind"] == "python"]
    assert {line["name"]: line["values"]["real-time"]["inclusive"]["sum"] for line in lines} == \
        {"main": 90_000, "mine": 30_000}


def test_xplane_gpu(sonde, tmp_path):
    path = imported(sonde, tmp_path, write(tmp_path / "box.xplane.pb", gpu_space()))
    rows = report(sonde, path, "--metric", "kernel-time,copy-time,copy-bytes,real-time,gpu-api-time,kernel-blocks,"
                                           "kernel-registers,kernel-shared-bytes,tensor-alloc,tensor-free")
    names = {row["name"] for row in rows}
    launch, fusion, reduce = "cuLaunchKernel", "jit_step/fusion.1", "jit_step/reduce.1"
    main = next(name for name in names if "main" in name)
    assert paths(rows, "kernel-time") == {
        # the call says no node, the kernel does; or the call does: then once
        f"{main} > train > {launch} > {fusion} > _Z4fuse": (1, 10000),
        f"{main} > train > {launch} > {reduce} > reduce_1": (2, 11000),
        f"{main} > train > {fusion} > {launch} > _Z4fuse": (1, 12000),
        f"[launched before the recording] > {reduce} > reduce_2": (1, 1000)}
    assert paths(rows, "copy-bytes") == {f"{main} > train > cuMemcpyDtoHAsync > MemcpyD2H": (1, 4096)}
    kernel = f"{main} > train > {launch} > {fusion} > _Z4fuse"
    assert paths(rows, "kernel-blocks") == {kernel: (1, 12)} and paths(rows, "kernel-registers") == {kernel: (1, 40)}
    assert paths(rows, "kernel-shared-bytes") == {kernel: (1, 320)}
    assert paths(rows, "tensor-alloc") == {f"{main} > train": (1, 512)} == paths(rows, "tensor-free")
    assert paths(rows, "real-time")[main] == (1, (90 - 40 - 30 - 1) * 1000)
    assert paths(rows, "real-time")[f"{main} > builtins.len"] == (1, 1000)
    about = info(sonde, path)
    assert about["drops"] == {"gpu-unlaunched": 1}
    # two allocations are counters as well, derived lines are kept
    assert about["events"] == 6 + 4 + 5 + 6 + 2 + 2
    assert {(p["device"], p["stream"]) for p in about["profiles"] if p["kind"] != "thread"} >= {(3, 5)}
    assert {p["host"] for p in about["profiles"]} == {"box"} and {p["pid"] for p in about["profiles"]} == {4242}
    assert [p["tid"] for p in about["profiles"] if p["tid"] > 4000] == [4243]
    assert about["properties"]["xplane./device:GPU:3"] == "device_vendor NVIDIA"
    fused = next(row for row in rows if row["name"] == fusion)
    assert fused["kind"] == "graph-node" and (fused["file"], fused["line"]) == ("/home/me/w.py", 7)
    steps = json.loads(sonde("timeline", path, "--format", "json").out)["iterations"]
    assert [(step["start_ns"], step["duration_ns"]) for step in steps] == [(START + 5000, 40000), (START + 50000, 30000)]


def test_xplane_graph(sonde, tmp_path):
    path = imported(sonde, tmp_path, write(tmp_path / "box.xplane.pb", gpu_space()))
    model, = graphs(sonde, path).values()
    rows = {row["name"]: row for row in model["rows"]}
    nodes = {row["node"]: row["name"] for row in model["rows"]}
    assert set(rows) == {"x", "w", "fusion.1", "while.1", "reduce.1", "p0", "dot.1", "tanh.1", "add.1"}  # no "scalar"
    assert {(nodes[e["from"]], nodes[e["to"]], e["index"], e["bytes"]) for e in model["edges"]} == {
        ("x", "fusion.1", 0, 128), ("w", "fusion.1", 1, 4), ("fusion.1", "while.1", 0, 40), ("while.1", "reduce.1", 0, 4),
        ("p0", "dot.1", 0, 4), ("dot.1", "tanh.1", 0, 128)}
    assert {name: nodes.get(row["parent"]) for name, row in rows.items() if row["parent"] is not None} == {
        "p0": "fusion.1", "dot.1": "fusion.1", "tanh.1": "fusion.1", "add.1": "while.1"}
    assert (rows["dot.1"]["file"], rows["dot.1"]["line"]) == ("/home/me/w.py", 7)
    assert (rows["tanh.1"]["file"], rows["tanh.1"]["line"]) == ("/old/w.py", 3)
    assert rows["fusion.1"]["type"] == "fusion" and rows["fusion.1"]["module"] == "jit(step)/tanh"
    # each execution begins with its first kernel
    assert [(i["start_ns"] - START, i["duration_ns"]) for i in model["iterations"]] == \
        [(101000, 27000), (201000, 26000)]
    assert rows["fusion.1"]["device_ns"]["sum"] == 22000 and rows["reduce.1"]["device_ns"]["sum"] == 12000


def tpu_space() -> bytes:
    tpu = Plane(3, "/device:TPU:1")
    for name, display in (("%while.1 = while(...)", "while.1"), ("%add.1 = add(...)", "add.1"), ("%fusion.1 = ...", "fusion.1")):
        tpu.kind(name, display, {"program_id": 77, "hlo_category": "x"})
    tpu.line(1, "Steps", START, [("0", 0, 100 * US, {})])
    tpu.line(2, "XLA Modules", START, [("jit_step(77)", 0, 100 * US, {})])
    tpu.line(3, "XLA Ops", START, [("%fusion.1 = ...", 0, 10 * US, {}), ("%while.1 = while(...)", 10 * US, 80 * US, {}),
                                   ("%add.1 = add(...)", 20 * US, 10 * US + 999, {}), ("%add.1 = add(...)", 40 * US, 10 * US, {})])
    tpu.line(4, "Async XLA Ops", START, [("copy-start", 0, 50 * US, {})])
    return tpu.bytes()


def test_xplane_tpu(sonde, tmp_path):
    """Operations nest and nothing launched them: a loop's own time is without its body's."""
    path = imported(sonde, tmp_path, write(tmp_path / "tpu.xplane.pb", metadata() + tpu_space()))
    rows = report(sonde, path, "--metric", "kernel-time")
    assert paths(rows, "kernel-time") == {"jit_step/fusion.1": (1, 10000), "jit_step/while.1": (1, 60000),
                                          "jit_step/while.1 > jit_step/add.1": (2, 20000)}
    assert info(sonde, path)["events"] == 7
    model, = graphs(sonde, path).values()
    assert {row["name"]: row["device_ns"]["sum"] for row in model["rows"] if "device_ns" in row} == \
        {"fusion.1": 10000, "while.1": 60000, "add.1": 20000}


def test_the_operations_of_a_tpu_are_its_work(sonde, tmp_path):
    """Instructions of a known program are what the device does, by what they are; a loop has only what is left of its time."""
    tpu = Plane(3, "/device:TPU:0")
    rows = [("%fusion.1 = ...", "fusion.1", 0, 10), ("%while.1 = while(...)", "while.1", 10, 80), ("%add.1 = add(...)", "add.1", 10, 50),
            ("%all-reduce.3 = ...", "all-reduce.3", 60, 20), ("%copy-done.2 = ...", "copy-done.2", 80, 10),
            ("%async-collective-done = ...", "async-collective-done", 90, 5), ("%slice-done.4 = ...", "slice-done.4", 95, 1)]
    for name, display, _, _ in rows:
        tpu.kind(name, display, {"program_id": 77})
    tpu.line(3, "XLA Ops", START, [(name, start * US, time * US, {}) for name, _, start, time in rows])
    tpu.line(2, "XLA Modules", START, [("jit_step(77)", 0, 100 * US, {})])
    # as it is called with and without its code
    for known in (metadata(), b""):
        path = imported(sonde, tmp_path, write(tmp_path / "tpu.xplane.pb", known + tpu.bytes()))
        check_tpu(sonde, path)


def test_a_loop_has_the_time_in_which_nothing_of_it_runs(sonde, tmp_path):
    """A loop of 80 us within one of 90: what they contain runs for 50; a copy on another line is beside the rest."""
    tpu = Plane(3, "/device:TPU:0")
    rows = [("%while.1 = while(...)", "while.1", 0, 90), ("%add.1 = add(...)", "add.1", 2, 8),
            ("%while.2 = while(...)", "while.2", 10, 80), ("%add.2 = add(...)", "add.2", 15, 40),
            ("%all-reduce.3 = ...", "all-reduce.3", 60, 10)]
    for name, display, _, _ in rows:
        tpu.kind(name, display, {"program_id": 77})
    tpu.line(3, "XLA Ops", START, [(name, start * US, time * US, {}) for name, _, start, time in rows])
    path = imported(sonde, tmp_path, write(tmp_path / "tpu.xplane.pb", metadata() + tpu.bytes()))
    answer = json.loads(sonde("timeline", path, "--view", "all", "--format", "json").out)
    device, = answer["devices"]
    assert (device["computation_ns"], device["communication_ns"], device["idle_ns"]) == (80000, 10000, 0)
    # a loop is one operation, in however many parts it has the time
    assert (device["computation_count"], device["communication_count"]) == (4, 1)
    times = {row["node"]: row["time_ns"] for row in answer["critical_path"]["rows"]}
    assert times == {"jit_step/add.2": 40000, "jit_step/while.2": 30000, "jit_step/all-reduce.3": 10000, "jit_step/add.1": 8000,
                     "jit_step/while.1": 2000}


def check_tpu(sonde, path) -> None:
    answer = json.loads(sonde("timeline", path, "--view", "all", "--format", "json").out)
    device, = answer["devices"]
    assert (device["computation_ns"], device["communication_ns"], device["copy_ns"], device["idle_ns"]) == (60000, 25000, 11000, 0)
    assert {row["node"]: row["time_ns"] for row in answer["critical_path"]["rows"]} == {
        "jit_step/add.1": 50000, "jit_step/all-reduce.3": 20000, "jit_step/fusion.1": 10000, "jit_step/copy-done.2": 10000,
        "jit_step/async-collective-done": 5000, "jit_step/slice-done.4": 1000}
    text = sonde("timeline", path).out
    assert "most work: jit_step/add.1" in " ".join(text.split()).lower() and "no device" not in text


def test_cpu_executions(sonde, tmp_path):
    """On CPUs an execution has a number; its nodes ran on the host, and how late they were is known."""
    host = Plane(2, "/host:CPU")
    for thread in (0, 1):
        at = 100 * thread
        host.line(10 + thread, f"pool/{10 + thread}", START, [
            ("fusion.1", at * US, 10 * US, on_program("fusion.1", run_id=-5 - thread)),
            ("while.1", (at + 13) * US, 20 * US, on_program("while.1", run_id=-5 - thread)),
            ("add.1", (at + 14) * US, 4 * US, on_program("add.1", run_id=-5 - thread)),
            ("reduce.1", (at + 34) * US, 2 * US, on_program("reduce.1", run_id=-5 - thread))])
    path = imported(sonde, tmp_path, write(tmp_path / "cpu.xplane.pb", metadata() + host.bytes()))
    model, = graphs(sonde, path).values()
    rows = {row["name"]: row for row in model["rows"]}
    assert {name: (row["time_ns"]["count"], row["time_ns"]["sum"]) for name, row in rows.items() if "time_ns" in row} == \
        {"fusion.1": (2, 20000), "while.1": (2, 40000), "add.1": (2, 8000), "reduce.1": (2, 4000)}
    assert rows["while.1"]["latency_ns"]["mean"] == 3000 and rows["reduce.1"]["latency_ns"]["mean"] == 1000
    assert [i["duration_ns"] for i in model["iterations"]] == [36000, 36000]
    real = paths(report(sonde, path, "--metric", "real-time"), "real-time")
    assert real["jit_step/while.1"] == (2, 32000) and real["jit_step/while.1 > jit_step/add.1"] == (2, 8000)


def test_the_path_of_a_step_begins_on_the_thread_of_the_step(sonde, tmp_path):
    """A function of Python has most of a step; what it calls then runs on a thread of XLA, which alone has certain work."""
    host = Plane(2, "/host:CPU")
    python, worker = [], []
    for step in range(3):
        at = 10_000 * step
        python += [("train", at * US, 9000 * US, {"step_num": step, "_r": 1}), ("$train.py:7 load", (at + 10) * US, 7000 * US, {}),
                   ("PjitFunction(step)", (at + 7020) * US, 1900 * US, {})]
        worker += [("fusion.1", (at + 7500) * US, 1000 * US, on_program("fusion.1", run_id=-5 - step))]
    host.line(7, "python/7", START, python)
    host.line(10, "pool/10", START, worker)
    path = imported(sonde, tmp_path, write(tmp_path / "cpu.xplane.pb", metadata() + host.bytes()))
    text, = [one for one in json.loads(sonde("timeline", path, "--format", "json").out)["sentences"] if one.startswith("What limits it")]
    assert text.startswith("What limits it: the host, ") and "% of the 9.00 ms of the critical path of iteration " in text, text
    assert "Which node to change: train.py:7 load is on the critical path for 7.00 ms (77.8%)" in text, text


def test_tensorflow_operations(sonde, tmp_path):
    host = Plane(2, "/host:CPU")
    host.line(7, "python/7", START, [("step", 0, 50 * US, {"step_num": 3}), ("model/dense/MatMul:MatMul", 1 * US, 9 * US, {}),
                                     ("EagerLocalExecute: Add", 20 * US, 9 * US, {}), ("Pool::Run", 30 * US, 1 * US, {})])
    path = imported(sonde, tmp_path, write(tmp_path / "tf.xplane.pb", host.bytes()))
    model, = graphs(sonde, path).values()
    row, = model["rows"]
    assert (model["name"], row["name"], row["type"], row["time_ns"]["sum"]) == \
        ("TensorFlow", "model/dense/MatMul", "MatMul", 9000)
    assert [i["duration_ns"] for i in model["iterations"]] == [50000]


def executor_space() -> bytes:
    """
    Two executions, 11 and 12, of one function, which two threads run: in each "a" on the one, "b" handed to the pool when
    "a" ends and taken up 4 us later on the other thread, "c" after it; a collective that ends on a third.
    """
    python, one, other, third = [], [], [], []
    for at, run in ((0, 11), (100, 12)):
        def us(offset, at=at):
            return (at + offset) * US
        into = {"_ct": 2, "_c": 900 + run}
        python += [("EagerExecute", us(0), 50 * US, {"eager_op": "__inference_f_7", "is_func": 1}),
                   ("FunctionRun", us(1), 3 * US, {"id": run, "_pt": 2, "_p": 900 + run}),
                   ("ThreadpoolListener::Record", us(2), 0, {"_pt": 15, "_p": run * 10})]
        one += [("ThreadpoolListener::StartRegion", us(5), 0, {"_ct": 15, "_c": run * 10}),
                ("ExecutorState::Process", us(6), 15 * US, {"id": run, **into}),
                ("g/a:MatMul", us(7), 9 * US, {}),
                ("MemoryAllocation", us(8), 0, memory("g/a", run, 4096, 4000, "output")),
                ("MemoryAllocation", us(9), 0, memory("g/a", run, 0, 100, "temp")),
                ("MemoryAllocation", us(9), 0, memory("g/b", run + 50, 8, 8, "output")),
                ("ThreadpoolListener::Record", us(16), 0, {"_pt": 15, "_p": run * 10 + 1}),
                ("ExecutorState::ProcessAsync::Start", us(17), 1 * US,
                 {"name": "reduce", "kernel_type": "CollectiveReduceV2", "step_id": run, "_pt": 2, "_p": run * 1000}),
                ("ThreadpoolListener::StopRegion", us(22), 0, {})]
        other += [("ThreadpoolListener::StartRegion", us(20), 0, {"_ct": 15, "_c": run * 10 + 1}),
                  ("ExecutorState::Process", us(20), 10 * US, {"id": run, **into}),
                  ("g/b:AddV2", us(20), 2 * US, {}), ("c:Sum", us(24), 3 * US, {})]
        third += [("reduce:CollectiveReduceV2", us(19), 10 * US, {"step_id": run}),
                  ("MemoryAllocation", us(25), 0, memory("reduce", run, 64, 60, "persist")),
                  ("ExecutorState::ProcessAsync::Done", us(30), 1 * US, {"name": "reduce", "_ct": 2, "_c": run * 1000})]
    plane = Plane(2, "/host:CPU")
    # threads come in any order
    for number, (name, events) in enumerate([("b", other), ("third", third), ("a", one), ("python", python)]):
        plane.line(7 + number, f"{name}/{7 + number}", START, events)
    return plane.bytes()


def memory(node: str, run: int, allocated: int, requested: int, region: str) -> dict:
    return {"tf_op": ("ref", node), "id": run, "allocation_bytes": allocated, "requested_bytes": requested,
            "region_type": ("ref", region), "addr": 77, "bytes_allocated": 5000}


def test_tensorflow_executor(sonde, tmp_path):
    path = imported(sonde, tmp_path, write(tmp_path / "tf.xplane.pb", executor_space()))
    model, = graphs(sonde, path).values()
    rows = {row["name"]: row for row in model["rows"]}
    assert {name: (row["type"], row["time_ns"]["count"], row["time_ns"]["mean"]) for name, row in rows.items()} == {
        "g/a": ("MatMul", 2, 9000), "g/b": ("AddV2", 2, 2000), "c": ("Sum", 2, 3000),
        "reduce": ("CollectiveReduceV2", 2, 13000)}
    assert {name: row["queue_ns"]["mean"] for name, row in rows.items() if "queue_ns" in row} == \
        {"g/a": 5000, "g/b": 4000}
    assert [(i["start_ns"] - START, i["duration_ns"]) for i in model["iterations"]] == [(7000, 23000), (107000, 23000)]
    assert model["iterations_by"] == "executions"
    values = {kind: rows["g/a"][kind]["mean"] for kind in ("memory_bytes", "requested_bytes", "temporary_bytes")}
    assert values == {"memory_bytes": 4196, "requested_bytes": 4100, "temporary_bytes": 100}
    assert rows["reduce"]["persistent_bytes"] == {**rows["reduce"]["memory_bytes"]} and \
        rows["reduce"]["memory_bytes"]["mean"] == 64 and rows["reduce"]["requested_bytes"]["mean"] == 60
    assert "memory_bytes" not in rows["c"]
    text = sonde("graph", path).out
    line, = (line for line in text.splitlines() if "g/a (MatMul)" in line)
    assert "queued" in text and "5.00 us" in line and "4.10 KiB" in line, text


def test_folder_of_hosts(sonde, tmp_path):
    """One run's files are its hosts; what is gzip is read alike."""
    run = tmp_path / "logs/plugins/profile/2026_01_01"
    run.mkdir(parents=True)
    write(run / "alpha.xplane.pb", gpu_space())
    write(run / "beta.xplane.pb.gz", gzip.compress(gpu_space()))
    write(run / "alpha.trace.json.gz", b"not this one")
    path = imported(sonde, tmp_path, tmp_path / "logs")
    about = info(sonde, path)
    assert {(p["host"], p["rank"]) for p in about["profiles"]} == {("alpha", 0), ("beta", 1)}
    rows = report(sonde, path, "--metric", "kernel-time")
    assert rows[0]["values"]["kernel-time"]["inclusive"]["sum"] == 2 * (22000 + 12000)
    models = json.loads(sonde("graph", path, "--format", "json").out)["models"]
    assert [(model["name"], model["rank"]) for model in models] == [("jit_step", 0), ("jit_step", 1)]


@pytest.mark.parametrize("cut", [1, 10, 0.2, 0.5, 0.7, 0.9, 0.999])
@pytest.mark.parametrize("packed", [False, True])
def test_truncated(sonde, tmp_path, cut, packed):
    data = gpu_space()
    data = gzip.compress(data) if packed else data
    short = data[:cut if cut >= 1 else int(cut * len(data))]
    result = sonde("import", write(tmp_path / "r.xplane.pb", short), "-o", tmp_path / "x.sdb")
    assert result.status == 128 and len(result.err_lines) == 1 and "r.xplane.pb" in result.err
    assert not (tmp_path / "x.sdb").exists()


def test_odd_events(sonde, tmp_path):
    """Events without a time, of no known name, or whose time overflows are counted; a damaged program too."""
    line = field(1, 1) + field(2, "t/1") + field(3, START) + \
        field(4, field(1, 1) + field(2, 1000) + field(3, 1000)) + \
        field(4, field(1, 1) + field(5, 12) + field(3, 1000)) + field(4, field(1, 9)) + \
        field(4, field(1, 1) + field(2, (1 << 63) - 1) + field(3, (1 << 63) - 1)) + \
        field(4, field(1, 1) + field(2, 0) + field(3, -1))
    plane = Plane(1, "/host:CPU")
    plane.kind("it")
    plane.lines = field(3, line)
    broken = Plane(0, "/host:metadata")
    broken.kind("jit_x(1)", stats={"Hlo Proto": program()[:-30]})
    path = imported(sonde, tmp_path, write(tmp_path / "r.xplane.pb", broken.bytes() + plane.bytes()))
    about = info(sonde, path)
    assert about["events"] == 1
    assert about["drops"] == {"import-untimed": 3, "import-unread": 1, "import-program": 1}


def test_not_taken_for_another(sonde, tmp_path):
    """A Perfetto trace begins with the same tag."""
    packet = field(8, 5) + field(10, 1)
    result = sonde("import", "--from", "xplane", write(tmp_path / "p", field(1, packet)), "-o", tmp_path / "x.sdb")
    assert result.status == 128 and "not of format xplane" in result.err


def whole_ns(line: dict, event: dict) -> tuple[int, int]:
    return line["start_ns"] + event["offset_ps"] // 1000, line["start_ns"] + (event["offset_ps"] + event["duration_ps"]) // 1000


def check_against_reader(sonde, path, file) -> None:
    """Counts and total times of kernels, calls and everything on threads, as read straight from the file."""
    kernels, calls, totals = defaultdict(lambda: [0, 0]), defaultdict(lambda: [0, 0]), Counter()
    for plane in xplane_reader.planes(file):
        for line in plane["lines"]:
            for event in line["events"]:
                start, end = whole_ns(line, event)
                stats = dict(event["stats"])
                totals["events"] += 1
                memory = event["name"] in ("MemoryAllocation", "MemoryDeallocation")
                totals["counters"] += memory and "bytes_allocated" in stats
                if line["name"].startswith("Stream #"):
                    into = kernels[event["name"].removesuffix(".kd")]
                elif plane["name"].startswith("/host:") and "correlation_id" in stats:
                    into = calls[event["name"]]
                else:
                    into = [0, 0]
                if plane["name"].startswith("/host:") and end > start and not memory:
                    totals["intervals"] += 1
                into[0] += 1
                into[1] += end - start
    about = info(sonde, path)
    assert about["events"] == totals["events"] + totals["counters"]
    rows = report(sonde, path, "--metric", ",".join(metric["name"] for metric in about["metrics"]))
    for metric, expected in (("kernel-time", kernels), ("gpu-api-time", calls)):
        found = defaultdict(lambda: [0, 0])
        for path_, (count, total) in paths(rows, metric).items():
            found[path_.split(" > ")[-1]][0] += count
            found[path_.split(" > ")[-1]][1] += total
        assert found == expected
    values = [row["values"].get("real-time", {}).get("exclusive", {}).get("count", 0) for row in rows]
    assert sum(values) == totals["intervals"]


@each("file", FILES, "xplane")
def test_real_file_loses_nothing(sonde, tmp_path, file):
    path = imported(sonde, tmp_path, file)
    check_against_reader(sonde, path, file)
    model = graphs(sonde, path)["jit_forward_3d_conv"]
    rows = {row["name"]: row for row in model["rows"]}
    assert len(model["iterations"]) == 5  # on each of eight GPUs
    assert rows["cudnn-conv.1"]["line"] == 23 and rows["cudnn-conv.1"]["file"].endswith("generate_conv_trace.py")
    fused = {row["name"] for row in model["rows"] if row["parent"] == rows["input_transpose_fusion"]["node"]}
    assert fused == {"param_0.1", "bitcast.15.1", "transpose.5.1"}


def test_a_file_that_was_taken_for_text(sonde, tmp_path):
    """A download that decoded the bytes has U+FFFD wherever they were no characters."""
    path = write(tmp_path / "box.xplane.pb", gpu_space().decode(errors="replace").encode())
    result = sonde("import", path, "-o", tmp_path / "t.sdb")
    assert result.status == 128 and "it was read and written as if it were text, which destroys it" in result.err
    path = write(tmp_path / "other.xplane.pb", b"\x0b" * 100)
    assert "text" not in sonde("import", path, "-o", tmp_path / "t.sdb").err
