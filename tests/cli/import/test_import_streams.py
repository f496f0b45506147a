# SPDX-License-Identifier: Apache-2.0
"""Which device and stream something belongs to, and what is a copy."""
from __future__ import annotations

import json

import pytest

from kineto_traces import Trace
from test_import_nsys import Export, thread
from test_import_xplane import US, environment, metadata
from xplane_writer import Plane


def devices(sonde, path) -> list[dict]:
    result = sonde("timeline", path, "--format", "json")
    assert result.status == 0, result.err
    return json.loads(result.out)["devices"]


@pytest.mark.parametrize("stream", [-1, 4294967295])
def test_annotations_and_waits_are_no_streams(sonde, tmp_path, stream):
    """torch.profiler gives annotations of a stream no context, and waits for a whole context no stream."""
    trace = Trace()
    trace.operation("kernel", "a", 10, 20, 1, stream=7)
    trace.operation("gpu_memcpy", "Memcpy HtoD", 30, 40, 2, stream=9)
    trace.events.append({"ph": "X", "cat": "gpu_user_annotation", "name": "forward", "pid": 0, "tid": 7, "ts": 10, "dur": 30, "args": {}})
    trace.operation("cuda_sync", "Context Sync", 20, 50, 3, stream=stream)
    trace.operation("cuda_sync", "Stream Wait Event", 20, 50, 3, stream=11)
    one, = devices(sonde, trace.write(tmp_path / "t.json"))
    assert one["streams"] == 2 and (one["computation_count"], one["copy_count"]) == (1, 1)


def test_waits_belong_to_the_device_of_their_context(sonde, tmp_path):
    """Nsight Systems says device 0 of every wait: two processes, of which the second uses device 1."""
    export = Export(tmp_path / "t.sqlite")
    for number, pid in enumerate((5, 6)):
        process = thread(pid, 0)
        common = {"contextId": number + 1, "globalPid": process}
        export.row("CUPTI_ACTIVITY_KIND_KERNEL", start=10, end=20, deviceId=number, streamId=7, correlationId=1,
                   demangledName=export.string("kernel"), **common)
        for stream in (7, 13, 4294967295):
            export.row("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=20, end=30, deviceId=0, streamId=stream, correlationId=2, syncType=3, **common)
        # nothing ran in this one: what the row says is all that is known
        export.row("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=20, end=30, deviceId=0, streamId=7, correlationId=2, syncType=3,
                   contextId=9, globalPid=process)
    export.db.commit()
    assert sonde("import", tmp_path / "t.sqlite", "-o", tmp_path / "t.sdb").status == 0
    listed = json.loads(sonde("info", tmp_path / "t.sdb", "--format", "json").out)["profiles"]
    found = {(one["pid"], one["device"], one["context"]) for one in listed if one.get("device") is not None}
    assert found == {(5, 0, 1), (5, 0, 9), (6, 1, 2), (6, 0, 9)}
    assert sorted((one["device"], one["streams"]) for one in devices(sonde, tmp_path / "t.sdb")) == [(0, 1), (1, 1)]


@pytest.mark.parametrize("name, line, direction", [
    ("CopyDeviceToDevice", "Stream #8(MemcpyOther)", "device to device"), ("CopyHostToDevice", "Stream #8(MemcpyH2D)", "host to device"),
    ("CopyDeviceToHost", "Stream #8(Compute)", "device to host"), ("anything", "Stream #8(MemcpyOther)", "not known")])
def test_copies_of_amd_in_xplane(sonde, tmp_path, name, line, direction):
    """By their names, or by the stream that does nothing else; their size may be told by reference."""
    gpu = Plane(1, "/device:GPU:0")
    gpu.line(8, line, 1000, [(name, 100 * US, 10 * US, {"correlation_id": 9, "memcpy_details": ("ref", "kind:Unknown size:655360 dest:2 async:1")}),
                             (name, 120 * US, 10 * US, {"correlation_id": 10})])
    gpu.line(9, "Stream #9(Kernel,MemcpyD2D)", 1000, [("Copyist", 150 * US, 5 * US, {"correlation_id": 11})])
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(metadata() + gpu.bytes() + environment())
    one, = devices(sonde, path)
    assert (one["copy_count"], one["copy_ns"], one["computation_count"], one["streams"]) == (2, 20_000, 1, 2)
    rows = json.loads(sonde("timeline", path, "--view", "transfers", "--format", "json").out)["transfers"]["rows"]
    assert [(row["direction"], row["bytes"]) for row in rows] == [(direction, 655360)]
