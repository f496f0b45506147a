# SPDX-License-Identifier: Apache-2.0
"""`sonde timeline`: traces whose answer is known, and another tool's answers for real ones."""
from __future__ import annotations

import csv
import json

import pytest

from conftest import MAKE_DB
from kineto_traces import DATA, Trace, load
from samples import needs


def timeline(sonde, path, *options) -> dict:
    result = sonde("timeline", path, "--format", "json", *options)
    assert result.status == 0, result.err
    return json.loads(result.out)


def imported(sonde, trace: Trace, folder):
    source = trace.write(folder / "trace.json")
    result = sonde("import", source, "-o", folder / "trace.sdb")
    assert result.status == 0, result.err
    return folder / "trace.sdb"


@pytest.fixture
def simple() -> Trace:
    """On the device: compute 100..200, copy 150..260, nothing to 400, collective 400..500, nothing to 600, compute to 700.

    The collective is launched at 300 by thread 10; the last kernel at 450, before the device is idle.
    """
    trace = Trace()
    trace.call("user_annotation", "train step", 0, 1000)
    trace.call("cpu_op", "aten::mm", 10, 90)
    trace.launch(1, 20, 30)
    trace.call("cuda_runtime", "cudaMemcpyAsync", 40, 50, correlation=2)
    trace.call("cpu_op", "aten::relu", 200, 350)
    trace.launch(3, 300, 320)
    trace.launch(4, 450, 460)
    trace.operation("kernel", "gemm", 100, 200, 1, grid=[2, 3, 4], block=[32, 1, 1])
    trace.operation("gpu_memcpy", "Memcpy HtoD", 150, 260, 2, stream=8, bytes=4096)
    trace.operation("kernel", "ncclDevKernel_AllReduce_Sum_f32", 400, 500, 3)
    trace.operation("kernel", "relu", 600, 700, 4)
    return trace


def test_every_share_of_a_device(sonde, tmp_path, simple):
    device, = timeline(sonde, imported(sonde, simple, tmp_path))["devices"]
    expected = {"total_ns": 600, "busy_ns": 360, "idle_ns": 240, "computation_ns": 200, "communication_ns": 100,
                "copy_ns": 110, "exposed_communication_ns": 100, "exposed_copy_ns": 60, "exposed_computation_ns": 200}
    assert {key: device[key] for key in expected} == {key: value * 1000 for key, value in expected.items()}
    assert device["streams"] == 2
    # 260..400: not launched before 300; 500..600: launched at 450
    idle = device["idle"]
    assert (idle["gaps"], idle["not_queued_ns"], idle["launching_ns"], idle["launch_not_recorded_ns"]) == \
        (2, 40_000, 200_000, 0)


def test_blame_goes_to_the_innermost_calls(sonde, tmp_path, simple):
    # a second thread works from 520 to 560, at the same time as the first thread is in its step alone
    simple.call("cpu_op", "aten::save", 520, 560, thread=11)
    device, = timeline(sonde, imported(sonde, simple, tmp_path))["devices"]
    blame = {entry["name"]: entry["time_ns"] for entry in device["idle"]["blame"]}
    # idle 260..400: relu to 350 but for its launch 300..320, then the step; 500..600: the step, shared with save
    assert blame == {"aten::relu": 70_000, "cudaLaunchKernel": 20_000, "aten::save": 20_000,
                     "train step": 50_000 + 60_000 + 20_000}
    assert sum(blame.values()) == device["idle_ns"] and device["idle"]["nobody_ns"] == 0


def test_waiting_threads_are_not_blamed(sonde, tmp_path, simple):
    simple.call("python_function", "threading.py(320): wait", 0, 1000, thread=12)
    device, = timeline(sonde, imported(sonde, simple, tmp_path))["devices"]
    assert "wait" not in " ".join(entry["name"] for entry in device["idle"]["blame"])
    assert sum(entry["time_ns"] for entry in device["idle"]["blame"]) == device["idle_ns"]


def test_what_was_launched_before_the_recording(sonde, tmp_path, simple):
    simple.operation("kernel", "early", 20, 60, 99)
    path = imported(sonde, simple, tmp_path)
    device, = timeline(sonde, path)["devices"]
    assert device["total_ns"] == 680_000 and device["computation_ns"] == 240_000
    device, = timeline(sonde, path, "--launched-only")["devices"]
    assert device["total_ns"] == 600_000 and device["computation_ns"] == 200_000


def test_a_call_that_calls_another_launched_first(sonde, tmp_path, simple):
    """The runtime's call and the driver's that it is made of have one number: the outer one is when it was asked for."""
    simple.call("cuda_driver", "cuLaunchKernelEx", 305, 315, correlation=3)
    device, = timeline(sonde, imported(sonde, simple, tmp_path))["devices"]
    assert (device["idle"]["not_queued_ns"], device["idle"]["launching_ns"]) == (40_000, 200_000)


def test_a_device_clock_that_runs_ahead(sonde, tmp_path):
    """A kernel that seems to start before its launch says nothing of the gap before it."""
    trace = Trace()
    trace.launch(1, 0, 5)
    trace.launch(2, 400, 410)
    trace.operation("kernel", "a", 10, 100, 1)
    trace.operation("kernel", "b", 300, 500, 2)
    device, = timeline(sonde, imported(sonde, trace, tmp_path))["devices"]
    idle = device["idle"]
    assert (idle["gaps"], idle["not_queued_ns"], idle["launching_ns"], idle["launch_not_recorded_ns"]) == (1, 0, 0, 200_000)


def test_operations_of_one_stream_may_overlap(sonde, tmp_path):
    trace = Trace()
    for number, (start, end) in enumerate([(0, 100), (50, 150), (60, 160)]):
        trace.operation("kernel", "k", start, end, number + 1)
    device, = timeline(sonde, imported(sonde, trace, tmp_path))["devices"]
    assert (device["streams"], device["busy_ns"]) == (1, 160_000)


def test_what_is_not_unusual_yet(sonde, tmp_path):
    """Five times the median deviation is the limit: 100 us here."""
    trace = Trace()
    lengths = [1000, 900, 1100] * 6 + [1400, 1600]
    for number, length in enumerate(lengths):
        trace.call("user_annotation", f"ProfilerStep#{number}", 2000 * number, 2000 * number + length)
    trace.operation("kernel", "k", 10, 20, 1)
    iterations = timeline(sonde, imported(sonde, trace, tmp_path))["iterations"]
    assert [number for number, one in enumerate(iterations) if one["unusual"]] == [19]


def test_iterations_in_figures(sonde, tmp_path):
    trace = Trace()
    for number, length in enumerate([100, 300]):
        trace.call("user_annotation", f"ProfilerStep#{number}", 1000 * number, 1000 * number + length)
    trace.operation("kernel", "k", 10, 20, 1)
    text = sonde("timeline", imported(sonde, trace, tmp_path)).out
    assert ": 2, 200 us on average (± 100 us), median 200 us, 100 us to 300 us\n" in text


def test_unusual_iterations(sonde, tmp_path):
    trace = Trace()
    for number in range(20):
        trace.call("user_annotation", f"ProfilerStep#{number}", number * 1000, number * 1000 + (900 if number == 7 else 300 + number))
    trace.operation("kernel", "k", 10, 20, 1)
    iterations = timeline(sonde, imported(sonde, trace, tmp_path))["iterations"]
    assert len(iterations) == 20
    assert [number for number, one in enumerate(iterations) if one["unusual"]] == [7]
    text = sonde("timeline", tmp_path / "trace.sdb").out
    assert "unusual: number 7, 900 us" in text


@needs("kineto/expected")
@pytest.mark.parametrize("name", ["h100_gaunernst_bert-small-uncased", "h100_Qwen_Qwen1.5-0.5B-Chat"])
def test_shares_are_those_of_another_tool(sonde, tmp_path, name):
    expected = DATA / "expected" / name / "gpu_timeline.csv"
    with expected.open() as file:
        other = {row["type"]: float(row["time ms"]) * 1e6 for row in csv.DictReader(file)}
    assert sonde("import", DATA / f"{name}.json.gz", "-o", tmp_path / "trace.sdb").status == 0
    # that tool leaves out what it finds no launch for
    device, = timeline(sonde, tmp_path / "trace.sdb", "--launched-only")["devices"]
    for key, theirs in [("computation_ns", "computation_time"), ("exposed_communication_ns", "exposed_comm_time"),
                        ("exposed_copy_ns", "exposed_memcpy_time"), ("busy_ns", "busy_time"), ("idle_ns", "idle_time"),
                        ("total_ns", "total_time"), ("communication_ns", "total_comm_time"), ("copy_ns", "total_memcpy_time")]:
        # doubles of microseconds since 2025 have a grain of some nanoseconds in that tool
        assert device[key] == pytest.approx(other[theirs], rel=1e-6, abs=16), key


@needs("kineto/expected")
@pytest.mark.parametrize("name", ["h100_gaunernst_bert-small-uncased", "h100_Qwen_Qwen1.5-0.5B-Chat"])
def test_kernel_summary_is_that_of_another_tool(sonde, tmp_path, name):
    """By stream, kernel and the innermost operator above it: how many, and how long all, the shortest and the longest took."""
    expected = DATA / "expected" / name / "kernel_summary.csv"
    with expected.open() as file:
        other = {(row["Parent cpu_op"], row["Kernel name"], row["Kernel stream"]):
                 [float(row[f"Kernel duration (\u00b5s)_{what}"]) for what in ("count", "sum", "min", "max")] for row in csv.DictReader(file)}
    operators = {event["name"] for event in load(DATA / f"{name}.json.gz") if event.get("cat") == "cpu_op"}
    assert sonde("import", DATA / f"{name}.json.gz", "-o", tmp_path / "trace.sdb").status == 0
    assert sonde("export", tmp_path / "trace.sdb", "--to", "events", "-o", tmp_path / "e.csv").status == 0
    ours = {}
    with (tmp_path / "e.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            callers = row["path"].split(";")[:-1]
            above = [""] + [part for part in callers if part in operators]
            if row["category"] == "kernel" and callers:  # that tool leaves out what it finds no launch for
                length = (int(row["end_ns"]) - int(row["start_ns"])) / 1000
                one = ours.setdefault((above[-1], row["name"], row["stream"]), [0, 0, length, length])
                one[:] = one[0] + 1, one[1] + length, min(one[2], length), max(one[3], length)
    assert ours.keys() == other.keys()
    for key, values in other.items():
        assert ours[key] == pytest.approx(values, rel=1e-6, abs=1e-3), key


def test_text_says_what_json_says(sonde, tmp_path, simple):
    text = sonde("timeline", imported(sonde, simple, tmp_path)).out
    assert "device 0: 600 us, 4 operations on 2 streams" in text
    for line in ["computation 200 us 33.3%", "exposed communication 100 us 16.7%",
                 "exposed copies 60.0 us 10.0% of 110 us; the rest is hidden", "idle 240 us 40.0% in 2 gaps",
                 "nothing queued 40.0 us 6.7% the host had not begun to launch"]:
        assert line in " ".join(text.split()), line


def test_a_profile_without_events(sonde, tmp_path):
    import subprocess
    subprocess.run([MAKE_DB, tmp_path / "small.sdb"], check=True)
    result = sonde("timeline", tmp_path / "small.sdb")
    assert result.status == 128 and len(result.err_lines) == 1
    assert "no events" in result.err


def boxes(path) -> dict[str, list[tuple[float, float]]]:
    """Of the picture: for each name the boxes' begin and end, in pixels."""
    import xml.etree.ElementTree as tree
    space = "{http://www.w3.org/2000/svg}"
    found: dict[str, list[tuple[float, float]]] = {}
    for group in tree.parse(path).getroot().iter(f"{space}g"):
        box, name = group.find(f"{space}rect"), group.find(f"{space}title").text.split(" · ")[0]
        x = float(box.get("x"))
        found.setdefault(name, []).append((x, x + float(box.get("width"))))
    return found


def test_picture(sonde, tmp_path, simple):
    path = imported(sonde, simple, tmp_path)
    assert sonde("timeline", path, "-o", tmp_path / "t.svg").status == 0
    found = boxes(tmp_path / "t.svg")
    # 1,400 pixels for 1,000 us, behind the names
    (left, right), = found["train step"]
    assert right - left == 1400
    for name, start, end in [("gemm", 100, 200), ("aten::relu", 200, 350), ("ncclDevKernel_AllReduce_Sum_f32", 400, 500)]:
        assert min(box[0] for box in found[name]) == pytest.approx(left + 1.4 * start, abs=1), name
        assert max(box[1] for box in found[name]) == pytest.approx(left + 1.4 * end, abs=1), name
    # a window of it
    assert sonde("timeline", path, "-o", tmp_path / "w.svg", "--from", "0.0001", "--to", "0.0002").status == 0
    found = boxes(tmp_path / "w.svg")
    assert found["gemm"] == [(left, right)] and "relu" not in found
    assert sonde("timeline", path, "-o", tmp_path / "x.svg", "--from", "5", "--to", "4").status == 128
    assert not (tmp_path / "x.svg").exists()
