# SPDX-License-Identifier: Apache-2.0
"""Memory, transfers, iterations and depth of `sonde timeline`: made traces, and real ones computed anew from their JSON."""
from __future__ import annotations

import json
from collections import defaultdict

import pytest

from kineto_traces import FILES, Trace, load
from samples import each

US = 1000


def view(sonde, name: str, *paths, options=()) -> dict:
    result = sonde("timeline", *paths, "--view", name, "--format", "json", *options)
    assert result.status == 0, result.err
    return json.loads(result.out)


def memory_event(trace: Trace, at: float, address: int, size: int, allocated: int, device: int = 0, thread: int = 10) -> None:
    trace.events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 5, "tid": thread, "ts": at,
                         "args": {"Addr": address, "Bytes": size, "Device Type": 1, "Device Id": device,
                                  "Total Allocated": allocated, "Total Reserved": 2 * allocated, "Ev Idx": 1}})


def test_who_owns_the_peak(sonde, tmp_path):
    """1,000 bytes are there before; the peak is when both of aten::b are there and aten::a has released one of two."""
    trace = Trace()
    trace.call("cpu_op", "aten::a", 100, 200)
    trace.call("cpu_op", "aten::b", 300, 400)
    trace.call("cpu_op", "aten::c", 500, 600)
    memory_event(trace, 110, 1, 400, 1400)
    memory_event(trace, 120, 2, 100, 1500)
    memory_event(trace, 190, 1, -400, 1100)
    memory_event(trace, 310, 1, 300, 1400)
    memory_event(trace, 320, 3, 500, 1900)
    memory_event(trace, 390, 77, -200, 1700)  # from before the recording
    memory_event(trace, 550, 4, 150, 1850)
    memory_event(trace, 560, 5, 8, 8, device=1)
    answer = view(sonde, "memory", trace.write(tmp_path / "t.json"))
    first, second = answer["memory"]["rows"]
    assert (first["peak_bytes"], first["end_bytes"], first["reserved_bytes"]) == (1900, 1850, 3800)
    assert (first["peak_at_ns"], first["allocations"], first["allocated_bytes"]) == (220 * US, 5, 1450)
    assert first["known_bytes"] == 900 and second["peak_bytes"] == 8
    owners = {row["node"]: (row["bytes"], row["count"]) for row in answer["memory_owners"]["rows"] if row["device"] == "device 0"}
    assert owners == {"aten::b": (800, 2), "aten::a": (100, 1)}
    curve = [row["allocated_bytes"] for row in answer["memory_0"]["rows"]]
    assert max(curve) == 1900 and curve[0] == 1400 and curve[-1] == 1850


def test_released_before_the_peak(sonde, tmp_path):
    """What is gone owns nothing, and of two allocations at one moment both count."""
    trace = Trace()
    for number, (start, end) in enumerate([(100, 200), (300, 400)]):
        trace.call("cpu_op", f"aten::{'ab'[number]}", start, end)
    memory_event(trace, 110, 1, 400, 400)
    memory_event(trace, 120, 2, 100, 500)
    memory_event(trace, 190, 1, -400, 100)
    memory_event(trace, 310, 3, 200, 300)
    memory_event(trace, 310, 4, 300, 600)
    answer = view(sonde, "memory", trace.write(tmp_path / "t.json"))
    row, = answer["memory"]["rows"]
    assert (row["peak_bytes"], row["known_bytes"]) == (600, 600)
    assert {row["node"]: (row["bytes"], row["count"]) for row in answer["memory_owners"]["rows"]} == \
        {"aten::b": (500, 2), "aten::a": (100, 1)}


def test_a_release_comes_before_what_takes_its_place(sonde, tmp_path):
    """Where the allocator tells no totals, and both are of one moment, there never was both."""
    trace = Trace()
    trace.call("cpu_op", "aten::a", 100, 200)
    for at, address, size in [(110, 1, 400), (150, 2, 300), (150, 1, -400)]:
        memory_event(trace, at, address, size, 0)
        for name in ("Total Allocated", "Total Reserved"):
            del trace.events[-1]["args"][name]
    row, = view(sonde, "memory", trace.write(tmp_path / "t.json"))["memory"]["rows"]
    assert (row["peak_bytes"], row["end_bytes"]) == (400, 300)


@each("path", FILES, "kineto")
def test_memory_of_real_traces(sonde, path):
    events = [event for event in load(path) if event["name"] == "[memory]"]
    if not events:
        pytest.skip("no memory in this one")
    held, peaks, allocated = defaultdict(dict), {}, defaultdict(int)
    known: dict[tuple, int] = {}
    for event in sorted(events, key=lambda event: (event["ts"], event["args"]["Bytes"])):
        args = event["args"]
        device = args["Device Type"], args["Device Id"]
        if args["Bytes"] > 0:
            held[device][args["Addr"]] = args["Bytes"]
            allocated[device] += args["Bytes"]
        else:
            held[device].pop(args["Addr"], None)
        if device not in peaks or args["Total Allocated"] > peaks[device]:
            peaks[device] = args["Total Allocated"]
            known[device] = sum(held[device].values())
    rows = view(sonde, "memory", path)["memory"]["rows"]
    found = {row["device"].split(" · ")[-1]: (row["peak_bytes"], row["allocated_bytes"], row["known_bytes"]) for row in rows}
    assert found == {("host" if kind == 0 else f"device {number}"):
                     (peaks[kind, number], allocated[kind, number], known[kind, number]) for kind, number in peaks}


@each("path", FILES, "kineto")
def test_transfers_of_real_traces(sonde, path):
    words = {"HtoD": "host to device", "DtoH": "device to host", "DtoD": "device to device", "PtoP": "between devices"}
    expected: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0])
    for event in load(path):
        if event.get("cat", "").lower() == "gpu_memcpy" and event["ph"] == "X":
            entry = expected[next((words[word] for word in words if word in event["name"]), "not known")]
            entry[0] += 1
            entry[1] += event["args"].get("bytes", 0)
            entry[2] += round(event["dur"] * 1000)
    answer = view(sonde, "transfers", path)
    found = {row["direction"]: [row["count"], row["bytes"], row["time_ns"]] for row in answer["transfers"]["rows"]}
    assert found == expected
    if found:
        by_size = defaultdict(int)
        for row in answer["transfer_sizes"]["rows"]:
            by_size[row["direction"]] += row["bytes"]
        assert {key: value for key, value in by_size.items() if value} == {key: value[1] for key, value in found.items() if value[1]}
        assert sum(row["count"] for row in answer["transfer_nodes"]["rows"]) == sum(value[0] for value in found.values())


def test_copies_of_iterations(sonde, tmp_path):
    """Two in the first of three iterations, one in the last, and one between that is of none."""
    trace = Trace()
    for number in range(3):
        trace.call("user_annotation", f"ProfilerStep#{number}", 1000 * number, 1000 * number + 500)
    trace.call("cpu_op", "aten::to", 0, 2500)
    for number, at in enumerate([50, 200, 700, 2100]):
        trace.call("cuda_runtime", "cudaMemcpyAsync", at, at + 2, correlation=number + 1)
        trace.operation("gpu_memcpy", "Memcpy HtoD", at + 10, at + 40, number + 1, bytes=1000)
    row, = view(sonde, "transfers", trace.write(tmp_path / "t.json"))["transfer_iterations"]["rows"]
    assert (row["iterations"], row["of"], row["count"], row["bytes"], row["time_ns"]) == (2, 3, 1.5, 1500, 45 * US)


def test_why_an_iteration_is_unusual(sonde, tmp_path):
    """Iteration 7 loads data for 700 us where others do for 100, and its kernel takes 200 instead of 50."""
    trace = Trace()
    for number in range(12):
        at, slow = 2000 * number, number == 7
        load_end = at + (700 if slow else 100 + number)
        end = load_end + (300 if slow else 150)
        trace.call("user_annotation", f"ProfilerStep#{number}", at, end)
        trace.call("cpu_op", "data::load", at, load_end)
        trace.call("cpu_op", "aten::mm", load_end, load_end + 20)
        trace.launch(number + 1, load_end + 5, load_end + 8)
        trace.operation("kernel", "gemm", load_end + 10, load_end + (210 if slow else 60), number + 1)
    answer = view(sonde, "iterations", trace.write(tmp_path / "t.json"))
    rows = answer["iteration_list"]["rows"]
    assert [row["number"] for row in rows if row["unusual"]] == [7] and len(rows) == 12
    assert (rows[7]["time_ns"], rows[7]["computation_ns"], rows[7]["idle_ns"]) == (1000 * US, 200 * US, 800 * US)
    causes = {row["node"]: row["node_more_ns"] for row in answer["unusual"]["rows"]}
    assert next(iter(causes)) == "data::load"
    usual = 105 if rows[5]["time_ns"] == 255 * US else 106
    assert causes["data::load"] == pytest.approx((700 - usual) * US, abs=2 * US)
    assert causes["aten::mm"] == 150 * US


def test_time_at_a_depth(sonde, tmp_path):
    trace = Trace()
    trace.call("python_function", "train.py(1): main", 0, 1000)
    trace.call("python_function", "train.py(5): step", 100, 600)
    trace.call("cpu_op", "aten::mm", 200, 300)
    trace.launch(1, 210, 220)
    trace.call("python_function", "train.py(9): save", 700, 900)
    trace.operation("kernel", "gemm", 230, 400, 1)
    path = trace.write(tmp_path / "t.json")
    rows = lambda depth: {row["path"]: (row["host_ns"] / US, row["device_ns"] / US)  # noqa: E731
                          for row in view(sonde, "depth", path, options=("--depth", str(depth)))["depth"]["rows"]}
    main, step = "train.py:1 main", "train.py:1 main > train.py:5 step"
    assert rows(1) == {main: (1000, 170)}
    assert rows(2) == {main: (300, 0), step: (500, 170), "train.py:1 main > train.py:9 save": (200, 0)}
    assert rows(3)[step] == (400, 0) and rows(3)[step + " > aten::mm"] == (100, 170)


@each("path", FILES, "kineto")
def test_depth_loses_nothing(sonde, path):
    one, many = (view(sonde, "depth", path, options=("--depth", depth)) for depth in ("1", "1000"))
    for key in ("host_ns", "device_ns"):
        assert sum(row[key] for row in one["depth"]["rows"]) == pytest.approx(sum(row[key] for row in many["depth"]["rows"]))
