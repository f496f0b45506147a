# SPDX-License-Identifier: Apache-2.0
"""A run that captured the graphs of another explains it, and is not part of its time."""
from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "import"))
from kineto_traces import Trace  # noqa: E402

KERNELS = [("gemm", 40), ("gemm", 30), ("relu", 20)]


def write_capture(path: Path, rank: int | None = None, launches: int = 0, operator: str = "aten::linear") -> Path:
    """80 ms on the host in which three kernels are captured; then so many launches of the graph."""
    trace = Trace()
    if rank is not None:
        trace.members["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
    trace.call("user_annotation", "capture", 0, 80_000)
    trace.call("cuda_runtime", "cudaLaunchKernel", 10, 15, correlation=1, kernel="warm")
    trace.operation("kernel", "warm", 20, 25, 1)
    trace.call("cuda_runtime", "cudaStreamBeginCapture", 40_000, 40_002, correlation=2)
    trace.call("cpu_op", operator, 41_000, 42_000)
    for number, (name, _) in enumerate(KERNELS):
        trace.call("cuda_runtime", "cudaLaunchKernel", 41_010 + 20 * number, 41_015 + 20 * number, correlation=3 + number, kernel=name)
    trace.call("cuda_runtime", "cudaStreamEndCapture", 60_000, 60_002, correlation=9)
    replay(trace, 70_000, launches)
    return trace.write(path)


def replay(trace: Trace, begin: float, launches: int) -> None:
    for launch in range(launches):
        at = begin + 1000 * launch
        trace.call("cuda_runtime", "cudaGraphLaunch", at, at + 10, correlation=50 + launch)
        at += 20
        for name, length in KERNELS:
            trace.operation("kernel", name, at, at + length, 50 + launch)
            at += length


def write_replay(path: Path, rank: int | None = None, launches: int = 5) -> Path:
    trace = Trace()
    if rank is not None:
        trace.members["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
    replay(trace, 900_000, launches)
    return trace.write(path)


def summary(sonde, *paths) -> dict:
    result = sonde("timeline", *paths, "--format", "json", "--view", "all")
    assert result.status == 0, result.err
    return json.loads(result.out)


def captured_by(sonde, database) -> dict[str, set[str]]:
    """Of each kernel the operators above it that were captured."""
    result = sonde("report", database, "--metric", "kernel-time", "--format", "json", "--min-share", "0")
    found: dict[str, set[str]] = {}
    above: list[str] = []
    for row in json.loads(result.out)["rows"]:
        above[row["depth"]:] = [row["name"]]
        if "[as captured]" in above:
            found.setdefault(row["name"], set()).update(name for name in above if name.startswith("aten::"))
    return found


def test_a_capture_in_the_same_folder(sonde, tmp_path):
    (tmp_path / "both").mkdir()
    write_capture(tmp_path / "both" / "capture.json")
    path = write_replay(tmp_path / "both" / "graph.json")
    alone, both = summary(sonde, path), summary(sonde, tmp_path / "both")
    # the same times to the nanosecond; that a run has another number is no difference
    assert len(both["devices"]) == 1
    for device in (alone["devices"][0], both["devices"][0]):
        del device["run"]
        del device["idle"]["blame"]  # contexts have other numbers
    assert both["devices"] == alone["devices"]
    assert both["waits"] | {"notes": []} == alone["waits"] | {"notes": []}
    assert both["sentences"][0].split(" Most work")[0] == alone["sentences"][0].split(" Most work")[0]
    assert "aten::linear" in both["sentences"][0]
    assert [row["run"] for row in both["evidence"]["rows"]] == ["capture.json"] and "evidence" not in alone
    # what is stored says so as well, and the database keeps all
    assert sonde("import", tmp_path / "both", "-o", tmp_path / "x.sdb").status == 0
    assert summary(sonde, tmp_path / "x.sdb")["sentences"] == both["sentences"]
    assert captured_by(sonde, tmp_path / "x.sdb")["gemm"] == {"aten::linear"}
    assert "cudaStreamBeginCapture" in sonde("report", tmp_path / "x.sdb", "--metric", "gpu-api-time", "--min-share", "0").out


def test_a_capture_with_its_first_launch(sonde, tmp_path):
    """As CUDAGraph trees do it: captured, and launched once."""
    write_capture(tmp_path / "a.json", launches=1)
    both = summary(sonde, tmp_path / "a.json", write_replay(tmp_path / "b.json"))
    assert [device["run"] for device in both["devices"]] == [1]


def test_a_run_that_goes_on_is_no_evidence(sonde, tmp_path):
    """Two windows of one program: that its first one begins with the capture does not matter."""
    write_capture(tmp_path / "a.json", launches=4)
    both = summary(sonde, tmp_path / "a.json", write_replay(tmp_path / "b.json"))
    assert [device["run"] for device in both["devices"]] == [0, 1] and "evidence" not in both


def test_a_capture_alone_is_a_trace(sonde, tmp_path):
    alone = summary(sonde, write_capture(tmp_path / "a.json"))
    assert len(alone["devices"]) == 1 and "evidence" not in alone


def test_other_graphs_are_no_evidence(sonde, tmp_path):
    """The other file launches what this one did not capture."""
    trace = Trace()
    trace.call("cuda_runtime", "cudaGraphLaunch", 0, 10, correlation=1)
    trace.operation("kernel", "other", 20, 30, 1)
    both = summary(sonde, write_capture(tmp_path / "a.json"), trace.write(tmp_path / "b.json"))
    assert [device["run"] for device in both["devices"]] == [0, 1] and "evidence" not in both


def test_each_rank_has_its_capture(sonde, tmp_path):
    """Both captures explain all kernels: a rank's own is taken. Rank 2 was recorded without one."""
    (tmp_path / "ranks").mkdir()
    for rank in range(2):
        write_capture(tmp_path / "ranks" / f"a_capture{rank}.json", rank, operator=f"aten::of_rank{rank}")
        write_replay(tmp_path / "ranks" / f"b_graph{rank}.json", rank)
    write_replay(tmp_path / "ranks" / "b_graph2.json", 2)
    answer = summary(sonde, tmp_path / "ranks")
    assert [(device["run"], device["rank"]) for device in answer["devices"]] == [(0, 2), (1, 0), (1, 1)]
    assert sonde("import", tmp_path / "ranks", "-o", tmp_path / "x.sdb").status == 0
    assert captured_by(sonde, tmp_path / "x.sdb")["gemm"] == {"aten::of_rank0", "aten::of_rank1"}
