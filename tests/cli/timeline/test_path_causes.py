# SPDX-License-Identifier: Apache-2.0
"""What limits a program, in the sentence about its critical path: causes that were planted, each first and in words; and
what must not be said where it is not so."""
from __future__ import annotations

import csv
import json

import planted
import pytest
from kineto_traces import Trace
from test_import_nsys import Export
from xplane_writer import Plane

MS = 1e6


def summary(sonde, path) -> dict:
    result = sonde("timeline", path, "--view", "summary", "--format", "json")
    assert result.status == 0, result.err
    return json.loads(result.out)


def limit(answer: dict) -> str:
    sentence, = [one for one in answer["sentences"] if one.startswith("What limits it: ")]
    return sentence


def evidence(answer: dict, rule: str) -> dict:
    one, = [finding for finding in answer["findings"] if finding["rule"] == rule]
    return {entry["name"]: entry.get("text", entry["value"]) for entry in one["evidence"]}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("cause", planted.CAUSES)
def test_the_planted_cause_is_first(sonde, tmp_path, cause, ranks, seed):
    answer = summary(sonde, planted.write(tmp_path / "ranks", cause, ranks, seed))
    text, found = limit(answer), evidence(answer, "path_cause")
    assert found["cause"] == planted.CAUSES[cause] and found["share"] > 0.6, text
    assert text.startswith("What limits it: one " if cause in ("wait", "copies") else f"What limits it: {found['cause']}, ")
    assert "of ProfilerStep" in text and found["iteration"] in range(40, 43)
    # a piece of advice where it helps, and nowhere else
    assert ("graphs help" in text) == (cause == "launching")
    named = {"computation": "aten::linear is on", "host": "augment is on", "copies": "Memcpy HtoD (Pinned -> Device) of",
             "wait": "cudaEventSynchronize", "communication": "most of it in ncclDevKernel_AllReduce"}
    assert named.get(cause, "launches") in text
    # a call that waits cannot be made faster
    assert "Which node to change: cuda" not in text


# what other interfaces call what CUDA does, as their traces have it
INTERFACES = {
    "xpu": {"cuda_runtime": "xpu_runtime", "cudaLaunchKernel": "urEnqueueKernelLaunch", "cudaMemcpyAsync": "urEnqueueUSMMemcpy",
            "cudaStreamSynchronize": "urQueueFinish", "cudaEventSynchronize": "urEventWait", "Memcpy HtoD (Pinned -> Device)": "Memcpy M2D"},
    "hip": {"cudaLaunchKernel": "hipExtModuleLaunchKernel", "cudaMemcpyAsync": "hipMemcpyWithStream",
            "cudaStreamSynchronize": "hipStreamSynchronize", "cudaEventSynchronize": "hsa_signal_wait_scacquire"},
    "other": {"cuda_runtime": "privateuse1_runtime", "cudaLaunchKernel": "musaLaunchKernel", "cudaMemcpyAsync": "musaMemcpyAsync",
              "cudaStreamSynchronize": "musaStreamSynchronize", "cudaEventSynchronize": "musaEventSynchronize"},
}


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("cause", planted.CAUSES)
def test_the_planted_cause_is_first_with_other_interfaces(sonde, tmp_path, cause, interface):
    """A call that waits for the device is known as one, whatever its name: what it waits for is on the path."""
    folder = planted.write(tmp_path / "ranks", cause, 1, 7)
    text = (folder / "rank0.json").read_text()
    for name, other in INTERFACES[interface].items():
        text = text.replace(f'"{name}"', f'"{other}"')
    if interface == "xpu":  # contexts and queues are addresses there
        text = text.replace('"context": 1, "stream": 7', '"context": "0x000055d08918fc78", "l0 queue": "0x000055d08b8fc138"')
    (folder / "rank0.json").write_text(text)
    answer = summary(sonde, folder)
    found = evidence(answer, "path_cause")
    assert found["cause"] == planted.CAUSES[cause] and found["share"] > 0.6, limit(answer)
    assert ("graphs help" in limit(answer)) == (cause == "launching")
    assert not any(name in limit(answer) for name in ("Which node to change: ur", "Which node to change: hip"))


def test_asking_until_a_kernel_ends_is_waiting_for_it(sonde, tmp_path):
    """A thread that asks in a loop waits as one that blocks does: for the kernel, or for nothing that is recorded."""
    def asking(ends: float) -> str:
        trace = Trace()
        for step in range(3):
            at = 10_000 * step
            trace.launch(step + 1, at, at + 5)
            trace.operation("kernel", "gemm", at + 10, at + ends, step + 1)
            for number in range(4900):
                trace.call("cuda_runtime", "cudaEventQuery", at + 10 + 2 * number, at + 11.5 + 2 * number,
                           correlation=100_000 + 5000 * step + number)
        return limit(summary(sonde, trace.write(tmp_path / "t.json")))

    assert asking(9_809).startswith("What limits it: computation, 9"), asking(9_809)
    text = asking(500)
    assert text.startswith("What limits it: waiting, 9") and "launches" not in text


@pytest.mark.parametrize("kernel", ["void userbuffers_fp16_sum_inplace_gpu_rr_rs<4>(int, int)", "quickreduce::allreduce_prototype_twoshot<x>",
                                    "void tensorrt_llm::kernels::oneShotAllReduceKernel<half, 8>(AllReduceParams)",
                                    "_all_gather_push_kernel", "mnnvlAllToAllKernel"])
def test_kernels_that_communicate(sonde, tmp_path, kernel):
    """Collectives of libraries that are not NCCL; a kernel that inductor names after one only uses its result."""
    for name, what in ((kernel, "100.0% communicating"), ("triton_poi_fused_all_gather_into_tensor_add_0", "100.0% computing"),
                       ("void softmax<BlockAllReduce<float>>(float*)", "100.0% computing")):
        trace = Trace()
        trace.launch(1, 0, 5)
        trace.operation("kernel", name, 10, 1000, 1)
        assert what in summary(sonde, trace.write(tmp_path / "t.json"))["sentences"][0]


def layers(times: list[float], name: str) -> Trace:
    """A gather and a kernel for each layer, as FSDP has them, within annotations of the layer."""
    trace = Trace()
    for layer, time in enumerate(times):
        at, number = 5000 * layer, 3 * layer
        trace.call("user_annotation", name.format(layer), at, at + 20)
        trace.call("cpu_op", "c10d::_allgather_base_", at + 1, at + 19)
        trace.launch(number + 1, at + 5, at + 9)
        trace.operation("kernel", "ncclDevKernel_AllGather_RING_LL", at + 15, at + 15 + time, number + 1)
        trace.call("cpu_op", "aten::mm", at + 30, at + 40)
        trace.launch(number + 2, at + 32, at + 36)
        trace.operation("kernel", "gemm", at + 15 + time, at + 1515 + time, number + 2)
        trace.call("cuda_runtime", "cudaDeviceSynchronize", at + 41, at + 1520 + time)
    return trace


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("times,node", [((100, 100, 9000), "load 2"), ((3000, 3010, 3020), "load *")])
def test_what_threads_do_at_unlike_cost_is_not_one_node(sonde, tmp_path, times, node, kernels):
    """Also where what devices do in each is alike."""
    trace, at = Trace(), 0
    for number, time in enumerate(times):
        trace.call("user_annotation", f"load {number}", at, at + time)
        trace.call("cpu_op", "aten::a", at + 1, at + time - 1)
        if kernels:
            trace.launch(number + 1, at + 5, at + 9)
            trace.operation("kernel", "small", at + 15, at + 35, number + 1)
        at += time
    text = summary(sonde, trace.write(tmp_path / "t.json"))["sentences"]
    found = " ".join(text)
    assert f"in {node} " in found.replace(",", " ") and (node == "load *") == ("load *" in found), found


@pytest.mark.parametrize("name", ["FSDP::all_gather (layers.{})", "layer_{}", "nn.Module: Decoder_{}"])
def test_layers_that_are_alike_are_one_node(sonde, tmp_path, name):
    """Each gather has less than the one operator of all layers, and together they have most."""
    answer = summary(sonde, layers([3000 + 10 * (i % 3) for i in range(8)], name).write(tmp_path / "t.json"))
    star = name.format("*")
    assert f"Most work: c10d::_allgather_base_ in {star}, 66" in answer["sentences"][0], answer["sentences"][0]
    assert f"Which node to change: c10d::_allgather_base_ in {star} is on the critical path for 24.1 ms" in limit(answer)
    # what is not alike is not one thing
    answer = summary(sonde, layers([300, 300, 30000], name).write(tmp_path / "t.json"))
    assert f"c10d::_allgather_base_ in {name.format(2)} is on" in limit(answer) and "*" not in limit(answer)


@pytest.mark.parametrize("nodes, is_launching", [(500, True), (4, False)])
def test_a_graph_takes_long_to_launch(sonde, tmp_path, nodes, is_launching):
    """A call of 1.4 ms that launches 500 kernels launches, and graphs are no advice; one that launches four is held up."""
    trace = Trace()
    for step in range(5):
        at = 2000 * step
        trace.call("cuda_runtime", "cudaGraphLaunch", at, at + 1400, correlation=step + 1)
        for node in range(nodes):
            start = at + 1390 + node * 600 / nodes
            trace.operation("kernel", f"k{node % 9}", start, start + 400 / nodes, step + 1)
        trace.call("cuda_runtime", "cudaStreamSynchronize", at + 1401, at + 1995)
    answer = summary(sonde, trace.write(tmp_path / "t.json"))
    assert limit(answer).startswith("What limits it: launching, 69" if is_launching else "What limits it: waiting, 7"), limit(answer)
    assert "graphs" not in limit(answer) and ("larger kernels help" in limit(answer)) == is_launching
    reason = "launching" if is_launching else "in a call that does not return"
    assert f"mostly {reason} (" in answer["sentences"][1], answer["sentences"][1]


def test_calls_that_launch_nothing_are_no_launching(sonde, tmp_path):
    """A thread that allocates in short calls; within an operator that launches they are on the way to the launch."""
    def calls(operator: str | None) -> dict:
        trace = Trace()
        for number in range(200):
            at = 100 * number
            if operator:
                trace.call("cpu_op", operator, at, at + 99)
            trace.call("cuda_runtime", "cudaMalloc", at + 1, at + 80, correlation=1000 + number)
            trace.launch(number + 1, at + 82, at + 86)
            trace.operation("kernel", "k", at + 90, at + 95, number + 1)
        return summary(sonde, trace.write(tmp_path / "t.json"))

    alone, within = calls(None), calls("aten::mm")
    assert limit(alone).startswith("What limits it: the host, 96") and "Which node to change: cudaMalloc is on" in limit(alone), limit(alone)
    assert limit(within).startswith("What limits it: launching, 9") and "graphs help" in limit(within), limit(within)
    assert "mostly no work queued" in alone["sentences"][1] and "mostly launch-bound" in within["sentences"][1]


@pytest.mark.parametrize("cause", planted.CAUSES)
def test_the_sentence_and_the_table_agree(sonde, tmp_path, cause):
    """Causes add up to the path, and the sentence's is the largest of them."""
    folder = planted.write(tmp_path / "ranks", cause, 1, 5)
    found = evidence(summary(sonde, folder), "path_cause")
    answer = json.loads(sonde("timeline", folder, "--view", "critical-path", "--format", "json").out)
    causes = {row["cause"]: row["time_ns"] for row in answer["path_causes"]["rows"]}
    assert sum(causes.values()) == pytest.approx(found["path"])
    assert max(causes, key=causes.get) == found["cause"] and causes[found["cause"]] == pytest.approx(found["time"])
    assert "launching" not in {row["part"] for row in answer["path_parts"]["rows"]}  # one word for one thing


def test_generated_code_launches(sonde, tmp_path):
    """The function that torch.compile generates has no work but to launch: it is as an operator, and nobody edits it."""
    for file, cause in ((f"/tmp/torchinductor_me/ab/cab{'q' * 48}.py(12): call", "launching"), ("train.py(12): call", "the host")):
        trace = Trace()
        trace.call("user_annotation", "ProfilerStep#1", 0, 4020)
        trace.call("python_function", file, 5, 4010)
        for number in range(100):
            at = 10 + 40 * number
            trace.launch(number + 1, at, at + 4)
            trace.operation("kernel", f"triton_poi_{number % 7}", at + 8, at + 18, number + 1)
        text = limit(summary(sonde, trace.write(tmp_path / "t.json")))
        assert text.startswith(f"What limits it: {cause}, 9"), text
        assert ("graphs help" in text) == (cause == "launching") and ("call is on" in text) == (cause == "the host")


def test_advice_fits_the_recorder(sonde, tmp_path):
    """with_stack is torch.profiler's, and there is none in Nsight Systems."""
    export = Export(tmp_path / "t.sqlite")
    for number, start in enumerate((0, 900_000)):
        export.api("cudaLaunchKernel", start, start + 5000, number + 1)
        export.kernel("k", start + 9000, start + 90_000, number + 1)
    text = limit(summary(sonde, export.close()))
    assert "own code, in no recorded call: samples tell which." in text and "with_stack" not in text


def test_what_the_recorder_did_is_not_to_be_changed(sonde, tmp_path):
    """Half of the path is the recorder's, a third a function of the program."""
    trace = Trace()
    trace.call("overhead", "Activity Buffer Request", 0, 500)
    trace.call("python_function", "train.py(7): augment", 500, 800)
    trace.launch(1, 900, 905)
    trace.operation("kernel", "k", 910, 1000, 1)
    assert "Which node to change: train.py:7 augment is on" in limit(summary(sonde, trace.write(tmp_path / "t.json")))


def test_iterations_are_what_the_first_sentence_is_about(sonde, tmp_path):
    """The device works for 100 of 400 us, all of them between its first operation and its last."""
    trace = Trace()
    trace.call("user_annotation", "ProfilerStep#3", 1000, 1400)
    trace.call("python_function", "train.py(7): augment", 1000, 1280)
    trace.launch(1, 1280, 1290)
    trace.operation("kernel", "k", 1290, 1390, 1)
    answer = summary(sonde, trace.write(tmp_path / "t.json"))
    first, second = answer["sentences"][:2]
    assert first.startswith("Where the time goes: of 400 us, 1 iteration of ProfilerStep, device 0 spends 25.0% computing")
    assert "75.0% idle" in first and "of the 75.0% without computation mostly no work queued" in second
    device, = answer["devices"]
    assert (device["total_ns"], device["idle_ns"], device["idle"]["not_queued_ns"]) == (400_000, 300_000, 290_000)
    # other tools' time of devices is that between operations
    result = json.loads(sonde("timeline", tmp_path / "t.json", "--launched-only", "--format", "json").out)
    assert result["devices"][0]["total_ns"] == 100_000


def test_an_iteration_in_which_little_happens(sonde, tmp_path):
    """What is marked has a tenth of the device's work: the time is that of all of it."""
    trace = Trace()
    trace.call("user_annotation", "warmup#1", 0, 100)
    for number, (start, end) in enumerate([(10, 60), (500, 950)]):
        trace.launch(number + 1, start - 5, start - 2)
        trace.operation("kernel", "k", start, end, number + 1)
    answer = summary(sonde, trace.write(tmp_path / "t.json"))
    assert answer["sentences"][0].startswith("Where the time goes: of 940 us, device 0 spends 53.2% computing")


def test_copies_of_the_first_sentence_are_all(sonde, tmp_path):
    """40 us of copies, of which 30 are beside a kernel."""
    trace = Trace()
    trace.launch(1, 0, 2)
    trace.call("cuda_runtime", "cudaMemcpyAsync", 2, 4, correlation=2)
    trace.operation("kernel", "k", 10, 100, 1)
    trace.operation("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 70, 110, 2, stream=8, bytes=10)
    text = summary(sonde, trace.write(tmp_path / "t.json"))["sentences"][0]
    assert "40.0% copying (10.0% with nothing beside it)" in text


def queued(launches: int, lag: float) -> Trace:
    """A device that is `lag` behind: each operation is launched long before it starts, the first before the recording."""
    trace = Trace()
    trace.call("user_annotation", "ProfilerStep#1", 0, 10 * launches)
    trace.operation("kernel", "ncclDevKernel_AllReduce", 0, lag, 999, stream=9)
    for number in range(launches):
        trace.call("cpu_op", "aten::mm", 10 * number, 10 * number + 9)
        trace.launch(number + 1, 10 * number + 2, 10 * number + 6)
        trace.operation("kernel", "gemm", lag + 20 * number, lag + 20 * number + 20, number + 1)
    return trace


def test_what_was_queued_was_not_launching(sonde, tmp_path):
    """Nothing is launched on an idle device, and each operation starts 30 ms after its call."""
    file = queued(200, 30_000).write(tmp_path / "t.json")
    answer = summary(sonde, file)
    assert limit(answer).startswith("What limits it: communication, 88.2% of the 34.0 ms"), limit(answer)
    parts = json.loads(sonde("timeline", file, "--view", "critical-path", "--format", "json").out)["path_parts"]["rows"]
    assert "from call to start" not in {row["part"] for row in parts}


def test_a_launch_that_does_not_return(sonde, tmp_path):
    """One call of 200 ms on an idle device has its own name, on the path and among the reasons."""
    trace = Trace()
    trace.call("user_annotation", "ProfilerStep#1", 0, 220_000)
    trace.call("cpu_op", "aten::mm", 5, 200_020)
    for number, (call, returned, start) in enumerate([(10, 15, 20), (50, 200_010, 200_005), (200_030, 200_035, 200_040)]):
        trace.launch(number + 1, call, returned)
        trace.operation("kernel", "gemm", start, start + 10, number + 1)
    trace.call("cuda_runtime", "cudaDeviceSynchronize", 200_036, 200_055)
    answer = summary(sonde, trace.write(tmp_path / "t.json"))
    assert limit(answer).startswith("What limits it: one wait of 200 ms in cudaLaunchKernel of aten::mm; waiting is 9")
    assert "graphs" not in " ".join(answer["sentences"])
    waits = json.loads(sonde("timeline", tmp_path / "t.json", "--view", "idle", "--format", "json").out)["waits"]["rows"]
    times = {row["reason"]: row["time_ns"] for row in waits}
    assert times["in a call that does not return"] == pytest.approx(200 * MS, rel=0.01)
    assert times["launching"] < 1 * MS


def test_no_node_where_none_would_gain(sonde, tmp_path):
    """A copy that blocks for 463 ms, and a hundred operators of which each has a thousandth of the rest."""
    trace = Trace()
    trace.call("cpu_op", "aten::copy_", 0, 463_010)
    trace.call("cuda_runtime", "cudaMemcpyAsync", 5, 463_005, correlation=1)
    trace.operation("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 462_990, 463_000, 1, bytes=8)
    for number in range(100):
        trace.call("cpu_op", f"aten::op{number}", 463_010 + 50 * number, 463_060 + 50 * number)
    text = limit(summary(sonde, trace.write(tmp_path / "t.json")))
    assert text.startswith("What limits it: one wait of 463 ms in cudaMemcpyAsync of aten::copy_; ")
    assert "Which node to change" not in text


def test_wrappers_are_not_named(sonde, tmp_path):
    """Of the engine and of compiled functions the operators and kernels in them are told, of a reducer the collective."""
    trace = Trace()
    outer = [("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", "c10d::allreduce_"),
             ("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", None), ("CompiledFunction", None)]
    kernels = ["ncclDevKernel_AllReduce", "ncclDevKernel_Broadcast", "triton_fused_gelu"]
    for number, ((wrapper, inner), kernel) in enumerate(zip(outer, kernels)):
        at = 1000 * number
        trace.call("cpu_op", wrapper, at, at + 100)
        if inner:
            trace.call("cpu_op", inner, at + 10, at + 90)
        trace.launch(number + 1, at + 20, at + 30)
        trace.operation("kernel", kernel, at + 30, at + 830, number + 1)
        trace.call("cuda_runtime", "cudaDeviceSynchronize", at + 100, at + 840)
    answer = json.loads(sonde("timeline", trace.write(tmp_path / "t.json"), "--view", "critical-path", "--format", "json").out)
    times = {row["node"]: row["time_ns"] for row in answer["critical_path"]["rows"]}
    work = {name: time for name, time in times.items() if time > 0.5 * MS}
    assert [name.split(" in ")[0].split(" (")[0] for name in sorted(work)] == \
        ["c10d::allreduce_", "ncclDevKernel_Broadcast", "triton_fused_gelu"]


def unrecorded(ends: float, annotation: str | None) -> Trace:
    """Ten kernels, each launched by a thread of which nothing is recorded in the 1,000 us after it, and over so long before the
    thread goes on."""
    trace = Trace()
    for number in range(11):
        at = 1010 * number
        if annotation:
            trace.call("user_annotation", annotation, at - 2, at + 1008)
        trace.launch(number + 1, at, at + 5)
        if number < 10:
            trace.operation("kernel", "gemm", at + 15, at + 1010 - ends, number + 1)
    trace.operation("kernel", "last", 10_115, 10_120, 11)
    return trace


@pytest.mark.parametrize("annotation", [None, "dispatch(F)"])
@pytest.mark.parametrize("ends", [3, 60, -10])
def test_waits_that_are_not_recorded(sonde, tmp_path, ends, annotation):
    """The thread goes on when its stream has run out of work: a device that is busy for nine tenths of the time is the limit,
    and not what the thread seems to do meanwhile."""
    text = limit(summary(sonde, unrecorded(ends, annotation).write(tmp_path / "t.json")))
    assert text.startswith("What limits it: computation, 9"), text
    assert "Which node to change: gemm " in text and "own code" not in text


def test_silence_in_which_a_device_ends_early(sonde, tmp_path):
    """A thread that goes on long after its kernel computed itself."""
    for annotation in (None, "dispatch(F)"):
        text = limit(summary(sonde, unrecorded(400, annotation).write(tmp_path / "t.json")))
        assert text.startswith("What limits it: the host, 9"), text


def test_silence_while_a_device_has_more_to_do(sonde, tmp_path):
    """Kernels of 100 us in one stream, all launched at once; the thread goes on by chance as one of them ends."""
    trace = Trace()
    for number in range(30):
        trace.launch(number + 1, number, number + 1)
        trace.operation("kernel", "gemm", 45 + 100 * number, 140 + 100 * number, number + 1)
    trace.launch(99, 2041, 2045)
    trace.operation("kernel", "other", 2050, 5000, 99, stream=8)
    file = trace.write(tmp_path / "t.json")
    parts = json.loads(sonde("timeline", file, "--view", "critical-path", "--format", "json").out)["path_parts"]["rows"]
    assert {row["part"]: row["time_ns"] for row in parts}["between recorded calls"] == 2_011_000


def program_of_jax(await_of: str) -> bytes:
    """A step in which the thread waits for an array from 20 to 970 us, which XLA's threads compute; one of these waits as well."""
    us = 1_000_000
    await_event = f"{await_of}::Await"
    plane = Plane(1, "/host:CPU")
    plane.line(10, "python3", 0, [
        ("train", 0, 1000 * us, {}), (await_event, 20 * us, us // 2, {"_pt": 14, "_p": 777}),
        (await_event, 970 * us, us // 2, {"_ct": 14, "_c": 777}), ("PjitFunction(next)", 975 * us, 20 * us, {})])
    plane.line(11, "tf_XLAEigen/11", 0, [
        ("fusion.1", 25 * us, 940 * us, {"hlo_op": "fusion.1", "hlo_module": "jit_step", "program_id": 77})])
    plane.line(12, "tf_XLAEigen/12", 0, [("ThunkExecutor::Execute (wait for completion)", 5 * us, 990 * us, {})])
    return Plane(0, "Task Environment").own(profile_start_time=1_700_000_000_000_000_000).bytes() + plane.bytes()


@pytest.mark.parametrize("await_of", ["CommonPjRtBuffer", "TfrtCpuBuffer"])
def test_waits_for_arrays_are_no_work(sonde, tmp_path, await_of):
    (tmp_path / "host.xplane.pb").write_bytes(program_of_jax(await_of))
    answer = summary(sonde, tmp_path / "host.xplane.pb")
    assert "most are in jit_step/fusion.1 (9" in answer["sentences"][0]
    assert limit(answer).startswith("What limits it: computation, "), limit(answer)
    assert sonde("import", tmp_path / "host.xplane.pb", "-o", tmp_path / "t.sdb").status == 0
    events = sonde("export", "--to", "events", "-o", "-", tmp_path / "t.sdb").out.splitlines()
    waits = [int(row["end_ns"]) - int(row["start_ns"]) for row in csv.DictReader(events) if row["name"].endswith("::Await")]
    assert waits == [950_000, 500]


def other_thread_reduces(category: str, end: float, then: str | None) -> Trace:
    """The thread is in an annotation alone from 100 to 5000 us, while another one is in a collective, and then in something else."""
    trace = Trace()
    trace.call("cpu_op", "aten::before", 0, 100)
    trace.call("user_annotation", "sync gradients", 100, 5000)
    trace.call(category, "gloo:all_reduce", 120, end, thread=2)
    if then:
        trace.call("cpu_op", then, end + 2, 9000, thread=2)
    trace.call("cpu_op", "aten::after", 5000, 9500)
    return trace


@pytest.mark.parametrize("then", [None, "gloo:broadcast"])
@pytest.mark.parametrize("category", ["cpu_op", "user_annotation"])
def test_an_annotation_in_which_another_thread_communicates(sonde, tmp_path, category, then):
    """What the thread waits for, whatever the other thread does next."""
    trace = other_thread_reduces(category, 4990, then)
    found = json.loads(sonde("timeline", trace.write(tmp_path / "t.json"), "--view", "critical-path", "--format", "json").out)
    times = {row["node"]: row["time_ns"] for row in found["critical_path"]["rows"]}
    assert times["gloo:all_reduce"] == 4_870_000 and times.get("sync gradients", 0) < 100_000, times
    assert {row["cause"]: row["time_ns"] for row in found["path_causes"]["rows"]}["communication"] == 4_870_000


def test_an_annotation_that_goes_on_after_a_collective(sonde, tmp_path):
    """One that ends in its middle is not what the thread waits for, if its thread has more to do."""
    trace = other_thread_reduces("cpu_op", 2000, "aten::other")
    found = json.loads(sonde("timeline", trace.write(tmp_path / "t.json"), "--view", "critical-path", "--format", "json").out)
    times = {row["node"]: row["time_ns"] for row in found["critical_path"]["rows"]}
    assert times["sync gradients"] == 4_900_000 and "gloo:all_reduce" not in times, times
