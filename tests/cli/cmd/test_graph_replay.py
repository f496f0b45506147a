# SPDX-License-Identifier: Apache-2.0
"""Replayed graphs: operations below the operators that were seen when the graph was captured."""
from __future__ import annotations

import json
from collections import defaultdict

import pytest

from kineto_traces import DATA, Trace, load
from samples import needs

MARK = "[as captured]"


def rows(sonde, database) -> list[dict]:
    result = sonde("report", database, "--metric", "kernel-time", "--format", "json", "--min-share", "0")
    assert result.status == 0, result.err
    return json.loads(result.out)["rows"]


def paths(sonde, database) -> dict[tuple[str, ...], tuple[int, int]]:
    """Of each path that a kernel has: operations and nanoseconds."""
    found, names = {}, {}
    for row in rows(sonde, database):
        names[row["id"]] = names.get(row["parent"], ()) + (row["name"],) if row["depth"] else ()
        time = row["values"].get("kernel-time", {"exclusive": {"count": 0}})["exclusive"]
        if time["count"]:
            found[names[row["id"]]] = (time["count"], time["sum"])
    return found


def make_capture(folder, names: bool):
    """Three calls of two operators, captured; a fourth after it runs at once."""
    trace = Trace()
    trace.call("python_function", "train.py(5): main", 0, 1000)
    trace.call("python_function", "train.py(9): capture", 100, 600)
    trace.call("cuda_runtime", "cudaStreamBeginCapture", 110, 112, correlation=1)
    trace.call("python_function", "model.py(3): forward", 150, 400)
    trace.call("cpu_op", "aten::linear", 160, 250)
    trace.call("cpu_op", "aten::relu", 260, 300)
    for number, (start, kernel) in enumerate([(170, "gemm"), (200, "gemm"), (270, "relu")]):
        trace.call("cuda_runtime", "cudaLaunchKernel", start, start + 5, correlation=2 + number,
                   **({"kernel": kernel} if names else {}))
    trace.call("cuda_runtime", "cudaStreamEndCapture", 410, 412, correlation=5)
    trace.call("cuda_runtime", "cudaLaunchKernel", 700, 705, correlation=6, **({"kernel": "plain"} if names else {}))
    trace.operation("kernel", "plain", 720, 730, 6)
    return trace.write(folder / "capture.json")


def make_replay(folder, kernels, nodes=None):
    """Two launches of the graph."""
    trace = Trace()
    for replay in range(2):
        at = 1000 + 1000 * replay
        trace.call("python_function", "train.py(20): step", at, at + 300)
        trace.call("cuda_runtime", "cudaGraphLaunch", at + 10, at + 20, correlation=50 + replay)
        for number, (name, length, stream) in enumerate(kernels):
            args = {"graph node id": nodes[number]} if nodes else {}
            trace.operation("kernel", name, at + 100 + 20 * number, at + 100 + 20 * number + length, 50 + replay, stream, **args)
    return trace.write(folder / "replay.json")


def joined(sonde, folder, *files):
    result = sonde("import", *files, "-o", folder / "all.sdb")
    assert result.status == 0, result.err
    return folder / "all.sdb"



GRAPH = ("step", "cudaGraphLaunch")


def graph_paths(sonde, database) -> dict:
    return {path[2:]: values for path, values in paths(sonde, database).items() if path[:2] == GRAPH}


@pytest.mark.parametrize("names", [True, False])
@pytest.mark.parametrize("numbered", [True, False])
def test_kernels_go_below_what_captured_them(sonde, tmp_path, names, numbered):
    kernels = [("gemm", 11, 7), ("gemm", 12, 7), ("relu", 3, 7)]
    database = joined(sonde, tmp_path, make_capture(tmp_path, names),
                      make_replay(tmp_path, kernels, [70, 71, 75] if numbered else None))
    found = graph_paths(sonde, database)
    assert found == {(MARK, "forward", "aten::linear", "cudaLaunchKernel", "gemm"): (4, 2 * 23_000),
                     (MARK, "forward", "aten::relu", "cudaLaunchKernel", "relu"): (2, 6_000)}
    # what ran at once is where it was launched
    assert any(path[-1] == "plain" and MARK not in path for path in paths(sonde, database))


def test_node_numbers_say_the_order(sonde, tmp_path):
    """Kernels of one name and no names at capture, started in another order than they were captured."""
    kernels = [("k", 3, 7), ("k", 11, 7), ("k", 12, 7)]
    database = joined(sonde, tmp_path, make_capture(tmp_path, False), make_replay(tmp_path, kernels, [9, 3, 5]))
    assert graph_paths(sonde, database) == {(MARK, "forward", "aten::linear", "cudaLaunchKernel", "k"): (4, 2 * 23_000),
                                            (MARK, "forward", "aten::relu", "cudaLaunchKernel", "k"): (2, 6_000)}


def test_branches_on_two_streams(sonde, tmp_path):
    kernels = [("relu", 3, 8), ("gemm", 11, 7), ("gemm", 12, 7)]
    database = joined(sonde, tmp_path, make_capture(tmp_path, True), make_replay(tmp_path, kernels))
    assert graph_paths(sonde, database) == {(MARK, "forward", "aten::linear", "cudaLaunchKernel", "gemm"): (4, 2 * 23_000),
                                            (MARK, "forward", "aten::relu", "cudaLaunchKernel", "relu"): (2, 6_000)}


def test_a_call_of_a_call_is_captured_once(sonde, tmp_path):
    """The driver's call is what the runtime's is made of: one node."""
    capture = make_capture(tmp_path, False)
    text = json.loads(capture.read_text())
    for event in [event for event in text["traceEvents"] if event["name"] == "cudaLaunchKernel"]:
        text["traceEvents"].append(dict(event, cat="cuda_driver", name="cuLaunchKernel", ts=event["ts"] + 1, dur=2, args={}))
    capture.write_text(json.dumps(text))
    kernels = [("gemm", 11, 7), ("gemm", 12, 7), ("relu", 3, 7)]
    found = graph_paths(sonde, joined(sonde, tmp_path, capture, make_replay(tmp_path, kernels)))
    assert found == {(MARK, "forward", "aten::linear", "cudaLaunchKernel", "gemm"): (4, 2 * 23_000),
                     (MARK, "forward", "aten::relu", "cudaLaunchKernel", "relu"): (2, 6_000)}


def test_node_numbers_of_some_only(sonde, tmp_path):
    """Where not all have one, none counts: the order is that of the start."""
    replay = make_replay(tmp_path, [("k", 11, 7), ("k", 12, 7), ("k", 3, 7)], [9, 5, 7])
    text = json.loads(replay.read_text())
    for event in text["traceEvents"]:
        if event["args"].get("graph node id") == 7:
            del event["args"]["graph node id"]
    replay.write_text(json.dumps(text))
    assert graph_paths(sonde, joined(sonde, tmp_path, make_capture(tmp_path, False), replay)) == \
        {(MARK, "forward", "aten::linear", "cudaLaunchKernel", "k"): (4, 2 * 23_000),
         (MARK, "forward", "aten::relu", "cudaLaunchKernel", "k"): (2, 6_000)}


def test_the_capture_that_fits_best(sonde, tmp_path):
    """Both captures explain both kernels; the second holds nothing else."""
    trace = Trace()
    trace.call("python_function", "train.py(9): again", 2000, 2600)
    trace.call("cuda_runtime", "cudaStreamBeginCapture", 2110, 2112, correlation=11)
    trace.call("cpu_op", "aten::twice", 2150, 2300)
    for number in range(2):
        trace.call("cuda_runtime", "cudaLaunchKernel", 2160 + 20 * number, 2165 + 20 * number, correlation=12 + number, kernel="gemm")
    trace.call("cuda_runtime", "cudaStreamEndCapture", 2410, 2412, correlation=15)
    database = joined(sonde, tmp_path, make_capture(tmp_path, True), trace.write(tmp_path / "second.json"),
                      make_replay(tmp_path, [("gemm", 11, 7), ("gemm", 12, 7)]))
    assert graph_paths(sonde, database) == {(MARK, "aten::twice", "cudaLaunchKernel", "gemm"): (4, 2 * 23_000)}


def drops(sonde, database) -> dict:
    return json.loads(sonde("info", database, "--format", "json").out)["drops"]


def test_what_nothing_explains_is_counted(sonde, tmp_path):
    """Other kernels, and another number of them where no names are known: nothing is guessed."""
    kernels = [("gemm", 11, 7), ("other", 12, 7), ("relu", 3, 7)]
    database = joined(sonde, tmp_path, make_capture(tmp_path, True), make_replay(tmp_path, kernels))
    assert graph_paths(sonde, database)[("other",)] == (2, 24_000)
    assert drops(sonde, database)["graph-unmatched"] == 2
    database = joined(sonde, tmp_path, make_capture(tmp_path, False), make_replay(tmp_path, kernels[:2]))
    assert set(graph_paths(sonde, database)) == {("gemm",), ("other",)}
    assert drops(sonde, database)["graph-unmatched"] == 4


def innermost(events: list[dict], launch: dict) -> str:
    """The operator that encloses a call."""
    inside = [event for event in events if event["tid"] == launch["tid"] and event["ts"] <= launch["ts"]
              and event["ts"] + event["dur"] >= launch["ts"] + launch["dur"]]
    return min(inside, key=lambda event: event["dur"])["name"] if inside else ""


@needs("kineto/vllm_graph_capture.json.gz", "kineto/vllm_graph_execution.json.gz")
def test_the_pair_of_vllm(sonde, tmp_path):
    files = [DATA / f"vllm_graph_{which}.json.gz" for which in ("capture", "execution")]
    capture, execution = (load(path) for path in files)
    calls = [event for event in capture if event.get("cat") == "cuda_runtime"]
    begin, = (event["ts"] for event in calls if event["name"] == "hipStreamBeginCapture")
    end, = (event["ts"] for event in calls if event["name"] == "hipStreamEndCapture")
    launches = sorted((event for event in calls if "kernel" in event.get("args", {}) and begin < event["ts"] < end),
                      key=lambda event: event["ts"])
    graph, = (event["args"]["correlation"] for event in execution if event["name"] == "hipGraphLaunch")
    kernels = sorted((event for event in execution if event.get("cat") == "kernel" and event["args"]["correlation"] == graph),
                     key=lambda event: event["ts"])
    assert [launch["args"]["kernel"] for launch in launches] == [kernel["name"] for kernel in kernels]
    operators = [event for event in capture if event.get("cat") == "cpu_op" and begin < event["ts"] < end]
    expected: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for launch, kernel in zip(launches, kernels):
        entry = expected[innermost(operators, launch), kernel["name"]]
        entry[0] += 1
        entry[1] += round(kernel["dur"] * 1000)
    found: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    kinds, parents, names = {}, {}, {}
    for row in rows(sonde, joined(sonde, tmp_path, *files)):
        kinds[row["id"]], parents[row["id"]], names[row["id"]] = row["kind"], row["parent"], row["name"]
        time = row["values"].get("kernel-time", {"exclusive": {"count": 0}})["exclusive"]
        above = [row["id"]]
        while above[-1] in parents and parents[above[-1]] != above[-1] and parents[above[-1]] is not None:
            above.append(parents[above[-1]])
        marks = [at for at, one in enumerate(above) if names.get(one) == MARK]
        if not time["count"] or not marks:
            continue
        operator = next((names[one] for one in above[:marks[0]] if kinds[one] == "operator"), "")
        found[operator, row["name"]][0] += time["count"]
        found[operator, row["name"]][1] += time["sum"]
        assert any(names.get(one) == "hipGraphLaunch" for one in above[marks[0]:])
    assert found == expected
    assert sum(count for count, _ in found.values()) == 421 and "graph-unmatched" not in drops(sonde, tmp_path / "all.sdb")
