# SPDX-License-Identifier: Apache-2.0
"""Replayed CUDA graphs on devices that are not there: as a whole, and node by node below what captured them."""
from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import program
from program import WORKLOADS
from test_cuda import FAKE, NODES, Ran, is_kernel, line_with, measured, on_fakes
from test_cuda import pytestmark  # noqa: F401  (the same condition)

MARK = "[as captured]"
REPLAYS = 150


@pytest.fixture(scope="module")
def graphs(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("cuda") / "graphs"
    subprocess.run([FAKE, "nvcc", "-g", "-O1", "-arch=sm_90", "-o", output, WORKLOADS / "cuda/graphs.cu"], check=True)
    return output


@pytest.fixture(scope="module")
def whole(graphs, tmp_path_factory) -> Ran:
    return on_fakes(tmp_path_factory.mktemp("whole"), graphs, str(REPLAYS), options=("--trace",), FAKE_TABLE_GRAPHS="1")


@pytest.fixture(scope="module")
def nodes(graphs, tmp_path_factory) -> Ran:
    return on_fakes(tmp_path_factory.mktemp("nodes"), graphs, str(REPLAYS), options=(*NODES, "--trace"))


@pytest.fixture(scope="module")
def replayed(tmp_path_factory) -> Ran:
    """PyTorch, nothing but captured and replayed."""
    return on_fakes(tmp_path_factory.mktemp("replayed"), "python3", WORKLOADS / "cuda/train.py", "1", "7", FAKE_TABLE_GRAPHS="1")


def below_replay(ran: Ran, metric: str) -> Counter[tuple[str, ...]]:
    """Of what stands below the line that replays: the mark, the capturing function with its line, and the operation; how often."""
    found: Counter[tuple[str, ...]] = Counter()
    for frames, value in program.paths(ran.folder, metric, "--metric", metric):
        names = [frame["name"].split("(")[0] for frame in frames]
        if "cudaGraphLaunch" not in names:
            continue
        at = names.index("cudaGraphLaunch")
        assert frames[at - 1]["line"] == int(line("// replay")), names
        mark = [name for name in names[at + 1:] if name == MARK]
        captured = [f"{name}:{frame['line']}" for name, frame in zip(names[at:], frames[at:]) if name.startswith("capture_")]
        found[*mark, *captured, names[-1]] += value["count"]
    return found


def line(text: str) -> str:
    return line_with("graphs.cu", text).rpartition(":")[2]


def lost(ran: Ran) -> set[str]:
    return {"gpu-lost", "gpu-untimed", "capture-unknown"} & set(program.info(ran.folder).get("drops", {}))


# ---- as a whole ----

@pytest.mark.parametrize("column,what", [("count", "count"), ("total_ns", "sum")])
def test_each_replay_is_one_operation(whole, column, what):
    truth = sum(int(row[column]) for row in whole.table if row["kernel"] == "graph")
    assert measured(whole, "graph-time", what) == {"graph": truth}
    assert measured(whole, "graph-time", "count") == {"graph": 2 * REPLAYS + 1}
    assert not lost(whole)


def test_a_replay_stands_below_its_line(whole):
    assert below_replay(whole, "graph-time") == {("graph",): 2 * REPLAYS + 1}


def test_what_is_no_kernel_is_none(whole):
    """The time of a graph has gaps, and several kernels at a time: it is not the time of kernels."""
    metrics = {metric["name"] for metric in program.info(whole.folder)["metrics"]}
    assert "graph-time" in metrics and not {"kernel-time", "kernel-registers"} & metrics


def test_graphs_are_work_of_the_device(whole):
    device, = json.loads(program.sonde("timeline", whole.folder / "run.sdb", "--format", "json"))["devices"]
    truth = sum(int(row["total_ns"]) for row in whole.table if row["kernel"] == "graph")
    assert (device["computation_ns"], device["computation_count"]) == (truth, 2 * REPLAYS + 1)


def test_graphs_stay_graphs_in_other_formats(whole, tmp_path):
    program.sonde("export", "--to", "chrome", whole.folder / "run.sdb", "-o", tmp_path / "trace.json")
    program.sonde("import", tmp_path / "trace.json", "-o", tmp_path / "run.sdb")
    again = Ran("", tmp_path, whole.table)
    assert measured(again, "graph-time", "sum") == measured(whole, "graph-time", "sum")


@pytest.mark.parametrize("column,what", [("count", "count"), ("total_ns", "sum")])
def test_graphs_of_pytorch(replayed, column, what):
    truth = sum(int(row[column]) for row in replayed.table if row["kernel"] == "graph")
    assert sum(measured(replayed, "graph-time", what).values()) == truth > 0
    alone = replayed.truth(column, lambda row: is_kernel(row) and row["kernel"] != "graph" and not row["graph"])
    assert measured(replayed, "kernel-time", what) == alone


# ---- node by node ----

@pytest.mark.parametrize("column,what", [("count", "count"), ("total_ns", "sum")])
def test_each_node_is_an_operation(nodes, column, what):
    assert measured(nodes, "kernel-time", what) == nodes.truth(column, is_kernel)
    assert sum(measured(nodes, "copy-bytes", "sum").values()) == sum(
        nodes.truth("bytes", lambda row: row["kernel"].startswith("copy")).values())
    assert not lost(nodes)


def test_a_node_stands_below_its_replay_and_its_capture(nodes):
    found: Counter[tuple[str, ...]] = Counter()
    for metric in ("kernel-time", "copy-time", "fill-time"):
        found += below_replay(nodes, metric)
    assert found == {
        (MARK, f"capture_first:{line('// set of the first')}", "set"): REPLAYS + 1,
        (MARK, f"capture_first:{line('// scale of the first')}", "scale"): 2 * REPLAYS + 2,
        (MARK, f"capture_first:{line('// copy of the first')}", "copy device to device"): REPLAYS + 1,
        (MARK, f"capture_second:{line('// add of the second')}", "add"): REPLAYS,
        (MARK, f"capture_second:{line('// scale of the second')}", "scale"): REPLAYS,
    }


def test_kernels_say_how_they_were_launched(nodes):
    """128 threads in each of 32 blocks with 40,000 bytes, all with the fake's 32 registers. A block takes 40,000 bytes and 1 KiB in
    units of 128, of 233,472: 5 blocks of 4 warps are resident, of 64 warps."""
    expected = {"kernel-blocks": 32, "kernel-block-threads": 128, "kernel-shared-bytes": 40000, "kernel-registers": 32,
                "kernel-warps": 20, "kernel-warps-max": 64}
    for metric, value in expected.items():
        mean = {frames[-1]["name"]: value for frames, value in program.paths(nodes.folder, metric, "--metric", metric)
                if frames[-1]["name"].startswith("add")}
        assert [(each["count"], each["sum"]) for each in mean.values()] == [(REPLAYS, value * REPLAYS)], metric


def test_events_say_how_kernels_were_launched(nodes):
    program.sonde("export", "--to", "chrome", nodes.folder / "run.sdb", "-o", nodes.folder / "trace.json")
    events = [event for event in json.loads((nodes.folder / "trace.json").read_text())["traceEvents"]
              if event.get("cat") == "kernel" and event["name"].startswith("add")]
    assert len(events) == REPLAYS
    wanted = {"grid": [4, 2, 4], "block": [32, 4, 1], "registers per thread": 32, "shared memory": 40000}
    assert all(wanted.items() <= event["args"].items() for event in events)
    assert len({event["args"]["graph id"] for event in events}) == 1


def test_nodes_of_pytorch_stand_below_the_captured_operators(trained):
    ran = trained
    assert measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel)
    in_graphs = sum(ran.truth("count", lambda row: is_kernel(row) and row["graph"]).values())
    placed = 0
    for frames, value in program.paths(ran.folder, "kernel-time", "--metric", "kernel-time"):
        names = [frame["name"] for frame in frames]
        if MARK not in names:
            continue
        at = names.index(MARK)
        above = [frame.get("line") for frame in frames[:at] if (frame.get("file") or "").endswith("/cuda/train.py")]
        below = [frame for frame in frames[at:] if (frame.get("file") or "").endswith("/cuda/train.py")]
        assert int(line_with("train.py", "graph.replay()").rpartition(":")[2]) == above[-1]
        assert any(frame["kind"] == "operator" for frame in frames[at:])
        assert {"replay", "forward"} & {frame["name"] for frame in below}
        placed += value["count"]
    assert placed == in_graphs > 0


# ---- memory and waits ----

def test_memory_of_the_device_stands_below_what_asked_for_it(nodes):
    """That of the second call: the first one initialises the driver, and so has begun when Sonde is loaded."""
    found = [(frames[-1]["name"], value["count"], value["sum"])
             for frames, value in program.paths(nodes.folder, "gpu-alloc", "--metric", "gpu-alloc")]
    assert found == [("cudaMalloc", 1, 4 * 4096)]


def test_waits_say_for_which_stream(nodes):
    found: Counter[tuple[str, str]] = Counter()
    for frames, value in program.paths(nodes.folder, "sync-time", "--metric", "sync-time"):
        found[frames[-2]["name"], frames[-1]["name"]] += value["count"]
    assert found == {("cudaStreamSynchronize", "stream 13"): REPLAYS // 100 + 1}


# ---- for long ----

@pytest.mark.parametrize("options", [(), NODES], ids=["whole", "nodes"])
def test_a_long_run_needs_no_more_memory(graphs, tmp_path, options):
    """200,000 replays. When seven tenths are done the table of launches, 131,072, is full, and nothing else may grow: 24 bytes for each
    operation that comes then would be 5 MB."""
    plan = tmp_path / "plan"
    plan.write_text("* 100\n")
    ran = on_fakes(tmp_path, graphs, "100000", options=options, FAKE_PLAN=str(plan))
    early, late = map(int, ran.out.split()[:2])
    assert late - early < 5000
    assert not lost(ran)
    if options:
        assert measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel)
    else:
        assert measured(ran, "graph-time", "count") == {"graph": 200_001}
