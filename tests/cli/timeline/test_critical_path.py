# SPDX-License-Identifier: Apache-2.0
"""`sonde timeline --view critical-path`: traces made so that the path, and what a faster node gains, is known."""
from __future__ import annotations

import json

import pytest

from kineto_traces import FILES, Trace
from samples import each

US = 1000


def path(sonde, *files, options=()) -> dict:
    result = sonde("timeline", *files, "--view", "critical-path", "--format", "json", *options)
    assert result.status == 0, result.err
    return json.loads(result.out)


def nodes(answer: dict, key: str) -> dict:
    return {row["node"]: row[key] for row in answer["critical_path"]["rows"]}


def parts(answer: dict) -> dict:
    return {row["part"]: row["time_ns"] for row in answer["path_parts"]["rows"]}


def iteration(trace: Trace, end: float) -> Trace:
    trace.call("user_annotation", "ProfilerStep#1", 1000, end)
    return trace


def test_a_device_that_is_fed_in_time(sonde, tmp_path):
    """The first launch, then kernels one after the other; the host waits for the last."""
    trace = iteration(Trace(), 2000)
    for number, (name, start, end) in enumerate([("a", 1030, 1330), ("b", 1330, 1830), ("c", 1830, 1930)]):
        trace.call("cpu_op", f"aten::{name}", 1010 + 20 * number, 1025 + 20 * number)
        trace.launch(number + 1, 1015 + 20 * number, 1020 + 20 * number)
        trace.operation("kernel", name, start, end, number + 1)
    trace.call("cuda_runtime", "cudaDeviceSynchronize", 1080, 1940)
    answer = path(sonde, iteration(trace, 2000).write(tmp_path / "t.json"))
    times = nodes(answer, "time_ns")
    # 1000..1010 the step, 1010..1015 in aten::a until the launch, 15 launching, kernels, the rest of the waiting call
    assert times["aten::a"] == (5 + 300) * US and times["aten::b"] == 500 * US and times["aten::c"] == 100 * US
    assert times["cudaDeviceSynchronize"] == 10 * US and times["ProfilerStep (iterations)"] == (10 + 60) * US
    assert parts(answer)["from call to start"] == 15 * US
    assert sum(parts(answer).values()) == 1000 * US
    gains = nodes(answer, "gain_ns")
    assert gains["aten::b"] == pytest.approx(50 * US) and gains["aten::c"] == pytest.approx(10 * US)
    assert nodes(answer, "gain_all_ns")["aten::b"] == pytest.approx(500 * US)
    steps = [row["what"] for row in answer["path_steps"]["rows"]]
    assert steps == ["ProfilerStep (iterations)", "aten::a", "[from call to start]", "a", "b", "c", "cudaDeviceSynchronize",
                     "ProfilerStep (iterations)"]


def test_a_host_that_is_too_slow(sonde, tmp_path):
    """Kernels are short: what counts is the host, and faster kernels gain nothing but for the last."""
    trace = iteration(Trace(), 1450)
    for number in range(4):
        trace.call("cpu_op", "aten::slow", 1000 + 100 * number, 1100 + 100 * number)
        trace.launch(number + 1, 1090 + 100 * number, 1095 + 100 * number)
        trace.operation("kernel", "k", 1100 + 100 * number, 1120 + 100 * number, number + 1)
    trace.call("cuda_runtime", "cudaStreamSynchronize", 1400, 1422)
    answer = path(sonde, trace.write(tmp_path / "t.json"))
    # up to the last launch, and the last kernel
    assert nodes(answer, "time_ns")["aten::slow"] == (390 + 20) * US
    assert nodes(answer, "gain_ns")["aten::slow"] == pytest.approx((39 + 2) * US)


def test_a_second_path_limits_the_gain(sonde, tmp_path):
    """Two streams, joined by the host: the longer one can gain no more than by what it is longer."""
    trace = iteration(Trace(), 2000)
    trace.call("cpu_op", "aten::long", 1000, 1010)
    trace.launch(1, 1000, 1005)
    trace.call("cpu_op", "aten::short", 1010, 1020)
    trace.launch(2, 1010, 1015)
    trace.operation("kernel", "long", 1010, 1910, 1, stream=7)
    trace.operation("kernel", "short", 1020, 1870, 2, stream=8)
    trace.call("cuda_runtime", "cudaDeviceSynchronize", 1020, 1910)
    trace.call("cpu_op", "aten::after", 1910, 2000)
    answer = path(sonde, trace.write(tmp_path / "t.json"))
    assert nodes(answer, "time_ns")["aten::long"] == 900 * US
    assert "aten::short" not in nodes(answer, "time_ns")
    # a tenth of 900 and of the 10 of the host would be 91; the other kernel ends 40 before, and begins 1 earlier by the host
    assert nodes(answer, "gain_ns")["aten::long"] == pytest.approx(41 * US)
    assert nodes(answer, "gain_ns")["aten::after"] == pytest.approx(9 * US)


def test_a_stream_that_waits_for_another(sonde, tmp_path):
    """A copy on its own stream, for whose end a kernel waits that was launched long before."""
    trace = iteration(Trace(), 2000)
    for number in range(6):  # what launching takes here: 10 us
        trace.launch(10 + number, 1000 + 20 * number, 1002 + 20 * number)
        trace.operation("kernel", "warm", 1010 + 20 * number, 1012 + 20 * number, 10 + number)
    trace.call("cuda_runtime", "cudaMemcpyAsync", 1120, 1125, correlation=1)
    trace.launch(2, 1130, 1135)
    trace.operation("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1130, 1830, 1, stream=20, bytes=7000)
    trace.operation("kernel", "use", 1831, 1931, 2)
    trace.call("cuda_runtime", "cudaDeviceSynchronize", 1140, 1935)
    answer = path(sonde, trace.write(tmp_path / "t.json"))
    assert parts(answer)["copies"] == 700 * US and parts(answer)["computation"] == 100 * US
    assert parts(answer)["held back"] == 1 * US


def test_a_backward_pass_on_its_own_thread(sonde, tmp_path):
    trace = Trace()
    trace.call("user_annotation", "ProfilerStep#1", 1000, 2000)
    trace.call("cpu_op", "aten::forward", 1000, 1200)
    trace.call("cpu_op", "aten::grad", 1230, 1800, thread=11)
    trace.call("cpu_op", "aten::step", 1820, 2000)
    trace.operation("kernel", "k", 1100, 1101, 1)
    answer = path(sonde, trace.write(tmp_path / "t.json"))
    times = nodes(answer, "time_ns")
    assert times["aten::forward"] == 200 * US and times["aten::grad"] == 570 * US and times["aten::step"] == 180 * US
    assert nodes(answer, "gain_ns")["aten::grad"] == pytest.approx(57 * US)
    # 1200..1230 until the other thread began; what follows it is the step's own
    assert parts(answer)["from thread to thread"] == 30 * US
    assert times["ProfilerStep (iterations)"] == 20 * US


def test_a_stream_that_waits_for_itself_only(sonde, tmp_path):
    """What another stream did shortly before is no reason where the stream itself was busy until then."""
    trace = iteration(Trace(), 2000)
    for number, name in enumerate(["aten::a", "aten::b", "aten::c"]):
        trace.call("cpu_op", name, 1000 + 5 * number, 1005 + 5 * number)
        trace.launch(number + 1, 1000 + 5 * number, 1002 + 5 * number)
    trace.operation("kernel", "a", 1010, 1500, 1, stream=7)
    trace.operation("kernel", "b", 1500, 1900, 2, stream=7)
    trace.operation("kernel", "c", 1020, 1490, 3, stream=8)
    trace.call("cuda_runtime", "cudaStreamSynchronize", 1020, 1905)
    answer = path(sonde, trace.write(tmp_path / "t.json"))
    assert nodes(answer, "gain_ns")["aten::a"] == pytest.approx(49 * US, abs=US)


def test_a_pause_that_nobody_ended(sonde, tmp_path):
    """The first thread pauses 1500..1800. Others fall silent before that, or go on before it does: they gave it nothing."""
    trace = iteration(Trace(), 2000)
    trace.call("cpu_op", "aten::first", 1000, 1500)
    trace.call("cpu_op", "aten::second", 1800, 2000)
    trace.call("cpu_op", "aten::early", 1050, 1100, thread=11)
    trace.call("cpu_op", "aten::busy", 1600, 1650, thread=12)
    trace.call("cpu_op", "aten::more", 1700, 1950, thread=12)
    trace.operation("kernel", "k", 1100, 1101, 1)
    answer = path(sonde, trace.write(tmp_path / "t.json"))
    assert "from thread to thread" not in parts(answer)
    times = nodes(answer, "time_ns")
    assert times["aten::first"] == 500 * US and times["aten::second"] == 200 * US
    assert times["ProfilerStep (iterations)"] == 300 * US


def two_ranks(folder, slow: float):
    """Rank 1 computes for `slow`, rank 0 for 300; both meet in a collective of 100 from when the last is there."""
    folder.mkdir()
    met = 1020 + max(300, slow)
    for rank, work in enumerate((300, slow)):
        trace = iteration(Trace(), 1000 + 600)
        trace.members["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
        trace.call("cpu_op", "aten::work", 1000, 1010)
        trace.launch(1, 1000, 1005)
        trace.call("cpu_op", "c10d::allreduce_", 1010, 1020)
        trace.launch(2, 1010, 1015)
        trace.operation("kernel", "work", 1020, 1020 + work, 1)
        trace.operation("kernel", "ncclDevKernel_AllReduce", 1020 + work, met + 100, 2, **{
            "Collective name": "allreduce", "Process Group Ranks": "[0, 1]", "Process Group Name": "0", "Seq": 1})
        trace.call("cuda_runtime", "cudaDeviceSynchronize", 1020, met + 100)
        trace.write(folder / f"rank{rank}.json")
    return folder


def test_the_path_goes_through_the_late_rank(sonde, tmp_path):
    answer = path(sonde, two_ranks(tmp_path / "ranks", 450))
    steps = [(row["where"], row["what"]) for row in answer["path_steps"]["rows"]]
    assert ("rank 1 · stream 7", "work") in steps and ("rank 0 · stream 7", "work") not in steps
    times = nodes(answer, "time_ns")
    assert times["aten::work"] == 450 * US and times["c10d::allreduce_"] == 100 * US
    # both ranks' work is faster by a tenth: 45 of the late one
    assert nodes(answer, "gain_ns")["aten::work"] == pytest.approx(45 * US)
    # were it free, the launch of the collective would count: 1010 and 20 us of launching
    assert nodes(answer, "gain_all_ns")["aten::work"] <= 450 * US


def test_a_collective_of_threads_waits_for_the_late_rank(sonde, tmp_path):
    """Processors alone, gloo on a thread of its own within an annotation of the main one, as FSDP has it; no messages are recorded."""
    for rank, work in enumerate((300, 2000)):
        trace = iteration(Trace(), 1000 + 2600)
        trace.members["distributedInfo"] = {"backend": "gloo", "rank": rank, "world_size": 2}
        trace.call("cpu_op", "aten::work", 1000, 1000 + work)
        trace.call("user_annotation", "FSDP::all_gather (0)", 1000 + work, 3110)
        trace.call("cpu_op", "c10d::_allgather_base_", 1000 + work, 1010 + work)
        trace.call("user_annotation", "gloo:all_gather", 1015 + work, 3100, thread=20)
        trace.call("cpu_op", "aten::view", 1016 + work, 1018 + work, thread=20)
        trace.call("cpu_op", "aten::copy_", 3080, 3095, thread=20)
        trace.call("cpu_op", "aten::more", 3110, 3590)
        trace.write(tmp_path / f"rank{rank}.json")
    answer = path(sonde, tmp_path)
    assert nodes(answer, "time_ns")["aten::work"] == 2000 * US
    # the late rank alone has it on the path; were it free, the other's 300 would be
    assert nodes(answer, "gain_ns")["aten::work"] == pytest.approx(200 * US)
    assert nodes(answer, "gain_all_ns")["aten::work"] == pytest.approx(2000 * US, rel=0.01)


@pytest.mark.parametrize("ranks", [2, 4])
def test_messages_of_gloo_belong_to_two(sonde, tmp_path, ranks):
    """A pipeline on processors: a send belongs to the other's receive, not to its send. With more ranks nobody knows to whose."""
    for rank in range(ranks):
        trace = iteration(Trace(), 1000 + 1700)
        trace.members["distributedInfo"] = {"backend": "gloo", "rank": rank, "world_size": ranks}
        if rank == 0:
            trace.call("cpu_op", "aten::little", 1000, 1100)
            trace.call("user_annotation", "gloo:send", 1100, 1120)
            trace.call("user_annotation", "gloo:recv", 1120, 2630)
            trace.call("cpu_op", "aten::little", 2630, 2690)
        else:
            trace.call("user_annotation", "gloo:recv", 1000, 1120)
            trace.call("cpu_op", "aten::much", 1120, 2600)
            trace.call("user_annotation", "gloo:send", 2600, 2630)
        trace.write(tmp_path / f"rank{rank}.json")
    sentences = json.loads(sonde("timeline", tmp_path, "--format", "json").out)["sentences"]
    told = [text for text in sentences if text.startswith("What ranks wait for")]
    if ranks > 2:
        assert not told
        return
    # 1,480 us for what the second computes; 100 us for the first one's message
    assert "1.58 ms together in 2 collectives, 93.7% of it for rank 1, which came last to 1" in told[0], told
    answer = path(sonde, tmp_path)
    assert nodes(answer, "time_ns")["aten::much"] == 1480 * US
    assert nodes(answer, "gain_all_ns")["aten::much"] == pytest.approx(1480 * US)


@each("file", [file for file in FILES if "capture" not in file.name], "kineto")
def test_laws_of_paths(sonde, file):
    """Of any trace: steps follow each other without a hole, and a tenth of a node gains at most a tenth of its time."""
    answer = path(sonde, file)
    steps = answer["path_steps"]["rows"]
    now = steps[0]["start_ns"]
    for step in steps:
        assert step["start_ns"] == pytest.approx(now, abs=1)
        now = step["start_ns"] + step["time_ns"]
    length = sum(row["time_ns"] for row in answer["path_parts"]["rows"])
    assert length == pytest.approx(now)
    for row in answer["critical_path"]["rows"]:
        if row["gain_ns"] is not None:
            assert -1 <= row["gain_ns"] <= 0.1 * row["time_ns"] + 1
            assert row["gain_ns"] - 1 <= row["gain_all_ns"] <= row["time_ns"] + 1


def test_which_iteration(sonde, tmp_path):
    trace = Trace()
    for number, length in enumerate((100, 300, 310, 320, 900)):
        trace.call("user_annotation", f"ProfilerStep#{number}", 1000 * number, 1000 * number + length)
        trace.call("cpu_op", f"aten::op{number}", 1000 * number, 1000 * number + length)
    trace.operation("kernel", "k", 10, 11, 1)
    file = trace.write(tmp_path / "t.json")
    assert "aten::op2" in nodes(path(sonde, file), "time_ns")
    assert nodes(path(sonde, file, options=("--iteration", "4")), "time_ns")["aten::op4"] == 900 * US
    assert nodes(path(sonde, file, options=("--iteration", "0")), "time_ns")["aten::op0"] == 100 * US
    result = sonde("timeline", file, "--view", "critical-path", "--iteration", "6")
    assert result.status == 128 and "there is no iteration 6: there are 5, from 0 on" in result.err


def steps(category: str, first: int = 15) -> Trace:
    """Three steps of which the second is of median length, the third unusual."""
    trace = Trace()
    for number, (start, length) in enumerate([(0, 190), (1000, 200), (2000, 900)]):
        trace.call(category, f"ProfilerStep#{first + number}", start, start + length)
        trace.call("cpu_op", "aten::op", start, start + length)
    trace.operation("kernel", "k", 10, 11, 1)
    return trace


@pytest.mark.parametrize("category", ["user_annotation", "Operator", "cpu_op", "whatever"])
def test_iterations_keep_their_numbers(sonde, tmp_path, category):
    """Whatever category marks them: in views, in sentences, and on the way through a database and an export."""
    file = steps(category).write(tmp_path / "t.json")
    assert sonde("import", file, "-o", tmp_path / "t.sdb").status == 0
    assert sonde("export", "--to", "chrome", "-o", tmp_path / "again.json", tmp_path / "t.sdb").status == 0
    names = {event.get("name") for event in json.loads((tmp_path / "again.json").read_text())["traceEvents"]}
    assert {f"ProfilerStep#{number}" for number in (15, 16, 17)} == {name for name in names if name and "Step" in name}
    for source in (file, tmp_path / "t.sdb", tmp_path / "again.json"):
        result = sonde("timeline", source, "--view", "all", "--format", "json")
        answer = json.loads(result.out)
        assert [row["number"] for row in answer["iteration_list"]["rows"]] == [15, 16, 17]
        assert [row["number"] for row in answer["iterations"]] == [15, 16, 17]
        assert {row["number"] for row in answer["unusual"]["rows"]} == {17}
        assert "iteration 16 of ProfilerStep" in answer["sentences"][-1]
        assert "unusual: number 17" in sonde("timeline", source).out


def test_iterations_without_numbers_are_counted(sonde, tmp_path):
    """What only looks like a number is none."""
    trace = Trace()
    trace.call("user_annotation", "ProfilerStep#last", 0, 100)
    trace.call("user_annotation", "ProfilerStep#", 100, 200)
    trace.call("cpu_op", "op#3", 200, 300)
    answer = json.loads(sonde("timeline", trace.write(tmp_path / "t.json"), "--format", "json").out)
    assert answer["iterations"] == []


def test_a_trace_of_annotations_alone(sonde, tmp_path):
    """Nothing tells what its intervals are: what ended last was waited for, and a thread is not taken to wait in them."""
    events = [{"name": name, "ph": "X", "pid": 1, "tid": thread, "ts": start, "dur": time}
              for name, thread, start, time in [("read", 1, 100, 500), ("solve", 1, 700, 5000), ("write", 1, 6000, 700),
                                                ("log", 2, 150, 100)]]
    (tmp_path / "t.json").write_text(json.dumps(events))
    answer = path(sonde, tmp_path / "t.json")
    assert nodes(answer, "time_ns") == {"read": 500 * US, "solve": 5000 * US, "write": 700 * US}
    assert parts(answer) == {"threads": 6200 * US, "between recorded calls": 400 * US}
    assert nodes(answer, "gain_ns")["solve"] == pytest.approx(500 * US)
