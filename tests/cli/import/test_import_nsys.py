# SPDX-License-Identifier: Apache-2.0
"""`sonde import` of Nsight Systems' SQLite exports: made ones with a known answer, and the real ones read by SQL."""
from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from pathlib import Path

import pytest

from samples import each, find
from test_import_kineto import imported, info, paths, report

FILES = find("nsys/*.sqlite")


def thread(pid: int, tid: int) -> int:
    return 1 << 48 | pid << 24 | tid


class Export:
    """Writes an export; a table has the columns that its first row has."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = sqlite3.connect(path)
        self.strings: dict[str, int] = {}
        self.db.execute("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)")
        self.row("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value="3.1")

    def string(self, text: str) -> int:
        if text not in self.strings:
            self.strings[text] = 60000 + len(self.strings)
            self.db.execute("INSERT INTO StringIds VALUES (?, ?)", (self.strings[text], text))
        return self.strings[text]

    def row(self, table: str, **values: object) -> None:
        names = ", ".join(f'"{name}"' for name in values)
        self.db.execute(f"CREATE TABLE IF NOT EXISTS {table} ({names})")
        self.db.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})", tuple(values.values()))

    def api(self, name: str, start: int, end: int, correlation: int, pid: int = 5, tid: int = 10) -> None:
        self.row("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, eventClass=0, globalTid=thread(pid, tid),
                 correlationId=correlation, nameId=self.string(name), returnValue=0)

    def kernel(self, name: str, start: int, end: int, correlation: int, pid: int = 5, stream: int = 7) -> None:
        self.row("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, deviceId=0, contextId=1, streamId=stream,
                 correlationId=correlation, globalPid=thread(pid, 0), demangledName=self.string(name),
                 shortName=self.string("short"), gridX=2, gridY=3, gridZ=1, blockX=32, blockY=1, blockZ=1,
                 registersPerThread=40, staticSharedMemory=16, dynamicSharedMemory=100, localMemoryPerThread=0)

    def range(self, text: str, start: int, end: int | None, kind: int = 59, **more: object) -> None:
        self.row("NVTX_EVENTS", **{"start": start, "end": end, "eventType": kind, "text": text,
                                   "globalTid": thread(5, 10), "domainId": 0, **more})

    def close(self) -> Path:
        self.db.commit()
        self.db.close()
        return self.path


@pytest.fixture
def export(tmp_path) -> Export:
    return Export(tmp_path / "report.sqlite")


def test_nsys_calls_nest_and_kernels_stand_below_their_launch(sonde, tmp_path, export):
    export.row("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1_700_000_000_000_000_000)
    export.row("ANALYSIS_DETAILS", startTime=400, stopTime=9000)
    export.row("PROCESSES", globalPid=thread(5, 0), pid=5, name="/usr/bin/app")
    export.row("ThreadNames", nameId=export.string("main thread"), globalTid=thread(5, 10))
    export.range("step", 1000, 5000)
    export.api("cudaLaunchKernel_v7000", 1100, 1300, 1)
    export.api("cuMemcpyHtoDAsync_v2", 1400, 1500, 2)
    export.kernel("gemm(float*)", 1600, 2600, 1)
    export.row("CUPTI_ACTIVITY_KIND_MEMCPY", start=3000, end=3100, deviceId=0, contextId=1, streamId=7, correlationId=2,
               globalPid=thread(5, 0), bytes=4096, copyKind=1)
    export.row("OSRT_API", start=3200, end=3300, globalTid=thread(5, 10), nameId=export.string("read"), correlationId=1)
    export.row("CUBLAS_EVENTS", start=1050, end=1350, globalTid=thread(5, 10), nameId=export.string("cublasSgemm"))
    path = imported(sonde, tmp_path, export.close())
    rows = report(sonde, path, "--metric", "kernel-time,copy-time,copy-bytes,real-time,kernel-shared-bytes")
    assert paths(rows, "kernel-time") == {"step > cublasSgemm > cudaLaunchKernel > gemm(float*)": (1, 1000)}
    assert paths(rows, "copy-bytes") == {"step > cuMemcpyHtoDAsync_v2 > [CUDA memcpy Host-to-Device]": (1, 4096)}
    assert paths(rows, "kernel-shared-bytes")["step > cublasSgemm > cudaLaunchKernel > gemm(float*)"] == (1, 116)
    own = paths(rows, "real-time")
    assert own["step"] == (1, 4000 - 300 - 100 - 100) and own["step > cublasSgemm"] == (1, 100)
    assert {row["name"]: row["kind"] for row in rows}["read"] == "os"
    about = info(sonde, path)
    assert about["program"] == "app" and about["drops"] == {}
    main, = [profile for profile in about["profiles"] if profile["tid"] == 10]
    assert (main["pid"], main["start_ns"], main["end_ns"]) == \
        (5, 1_700_000_000_000_000_600, 1_700_000_000_000_004_600)


def test_graphs_recorded_as_a_whole_are_no_kernels(sonde, tmp_path, export):
    export.api("cudaGraphLaunch_v10000", 100, 200, 1)
    export.row("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", start=300, end=900, deviceId=0, contextId=1, streamId=7, correlationId=1,
               globalPid=thread(5, 0), graphId=3)
    export.api("cudaLaunchKernel_v7000", 1000, 1100, 2)
    export.kernel("gemm", 1200, 1300, 2)
    rows = report(sonde, imported(sonde, tmp_path, export.close()), "--metric", "kernel-time,graph-time")
    assert paths(rows, "graph-time") == {"cudaGraphLaunch > [CUDA graph]": (1, 600)}
    assert paths(rows, "kernel-time") == {"cudaLaunchKernel > gemm": (1, 100)}


def test_processes_have_their_own_correlations(sonde, tmp_path, export):
    for pid in (5, 6):
        export.api(f"launch{pid}", 100, 200, 1, pid=pid)
        export.kernel(f"kernel{pid}", 300 + pid, 400 + pid, 1, pid=pid)
    path = imported(sonde, tmp_path, export.close())
    assert set(paths(report(sonde, path, "--metric", "kernel-time"), "kernel-time")) == \
        {"launch5 > kernel5", "launch6 > kernel6"}
    assert sorted(profile["pid"] for profile in info(sonde, path)["profiles"]) == [5, 5, 6, 6]


def test_calls_without_an_end(sonde, tmp_path, export):
    """One that the end of the session cut off counts, and takes no time."""
    export.api("cudaFree", 100, 200, 1)
    export.api("cudaDeviceSynchronize", 300, None, 2)
    rows = report(sonde, imported(sonde, tmp_path, export.close()), "--metric", "gpu-api-time")
    assert paths(rows, "gpu-api-time") == {"cudaFree": (1, 100), "cudaDeviceSynchronize": (1, 0)}


def test_nvtx_of_all_kinds(sonde, tmp_path, export):
    export.row("ANALYSIS_DETAILS", startTime=0, stopTime=9000)
    export.range("outer", 100, 500)
    export.range("anywhere", 200, 800, kind=60)
    export.range("other", 300, 900, kind=60)
    export.range("mark", 250, None, kind=34)
    export.range("NCCL", 0, None, kind=75, domainId=3)
    export.range("allReduce", 300, 400, domainId=3)
    export.range("still open", 600, None)
    path = imported(sonde, tmp_path, export.close())
    rows = report(sonde, path, "--metric", "real-time,range-time")
    assert paths(rows, "real-time") == {"outer": (1, 300), "outer > NCCL:allReduce": (1, 100), "still open": (1, 8400)}
    assert paths(rows, "range-time") == {"anywhere": (1, 600), "other": (1, 600)}
    assert info(sonde, path)["events"] == 6


def test_operators_of_emit_nvtx(sonde, tmp_path, export):
    export.range("aten::mul, seq = 12, op_id = 7, sizes = [[2, 3], []]", 100, 200)
    export.range("aten::mul, seq = 13, op_id = 8", 300, 400)
    export.range("MulBackward0, seq = 12, op_id = 9", 500, 600, globalTid=thread(5, 11))
    # the same number in another process is another call's
    export.range("MulBackward0, seq = 12, op_id = 9", 500, 650, globalTid=thread(6, 11))
    rows = report(sonde, imported(sonde, tmp_path, export.close()), "--metric", "real-time")
    assert paths(rows, "real-time") == {"aten::mul": (2, 200), "aten::mul > MulBackward0": (1, 100), "MulBackward0": (1, 150)}
    assert {row["kind"] for row in rows[1:]} == {"operator"}


def test_samples(sonde, tmp_path, export):
    for number, (time, stack) in enumerate([(100, ["main", "work"]), (200, ["main", "work"]), (300, ["main"]), (400, [])]):
        export.row("COMPOSITE_EVENTS", id=40 + number, start=time, globalTid=thread(5, 10), cpuCycles=1)
        for depth, name in enumerate(reversed(stack)):
            export.row("SAMPLING_CALLCHAINS", id=40 + number, symbol=export.string(name),
                       module=export.string("/usr/bin/app"), stackDepth=depth)
    path = imported(sonde, tmp_path, export.close())
    assert paths(report(sonde, path, "--metric", "samples"), "samples") == {"": (1, 1), "main": (1, 1), "main > work": (2, 2)}
    assert info(sonde, path)["events"] == 4


def test_samples_in_code_without_symbols_are_of_its_file(sonde, tmp_path, export):
    for number, address in enumerate((0x7f10, 0x7f21, 0x7f21)):
        export.row("COMPOSITE_EVENTS", id=number, start=100 * number, globalTid=thread(5, 10), cpuCycles=1)
        export.row("SAMPLING_CALLCHAINS", id=number, symbol=export.string(hex(address)), module=export.string("/lib/libgomp.so.1"),
                   unresolved=1, stackDepth=0)
    path = imported(sonde, tmp_path, export.close())
    assert paths(report(sonde, path, "--metric", "samples"), "samples") == {"[libgomp.so.1]": (3, 3)}


def test_what_is_not_read_is_counted(sonde, tmp_path, export):
    export.api("cudaFree", 100, 200, 1)
    export.kernel("backwards", 300, 200, 1)
    export.kernel("early", 300, 400, 99)
    for time in (1, 2, 3):
        export.row("GPU_METRICS", timestamp=time, typeId=1, metricId=2, value=3)
    result = sonde("import", export.close(), "-o", tmp_path / "trace.sdb")
    assert result.status == 0 and "not read: rows of GPU_METRICS, a table that is not read (3)" in result.err
    assert info(sonde, tmp_path / "trace.sdb")["drops"] == {"gpu-unlaunched": 1, "import-GPU_METRICS": 3, "import-untimed": 1}


def test_an_export_of_2020_has_no_metadata(sonde, tmp_path, export):
    export.api("cudaFree", 100, 200, 1)
    export.row("OSRT_API", start=300, end=400, globalTid=thread(5, 10), nameId=export.string("read"))
    export.db.execute("DROP TABLE META_DATA_EXPORT")
    path = imported(sonde, tmp_path, export.close())
    assert info(sonde, path)["events"] == 2


def test_an_export_without_names(sonde, tmp_path, export):
    export.api("cudaFree", 100, 200, 1)
    export.db.execute("DROP TABLE StringIds")
    path = imported(sonde, tmp_path, export.close())
    assert info(sonde, path)["drops"] == {"import-unnamed": 1} and info(sonde, path)["events"] == 1


def test_an_export_without_events(sonde, tmp_path, export):
    assert info(sonde, imported(sonde, tmp_path, export.close()))["events"] == 0


@pytest.mark.parametrize("cut", [100, 0.3, 0.6, 0.95])
def test_truncated(sonde, tmp_path, export, cut):
    for number in range(2000):
        export.api(f"api{number}", number, number + 1, number)
        export.kernel(f"kernel{number}", number, number + 1, number)
    data = export.close().read_bytes()
    (tmp_path / "t.sqlite").write_bytes(data[:cut if cut >= 1 else int(cut * len(data))])
    result = sonde("import", tmp_path / "t.sqlite", "-o", tmp_path / "x.sdb")
    assert result.status == 128 and len(result.err_lines) == 1 and "t.sqlite" in result.err
    assert not (tmp_path / "x.sdb").exists()


def test_another_programs_sqlite(sonde, tmp_path):
    with sqlite3.connect(tmp_path / "t.sqlite") as db:
        db.execute("CREATE TABLE StringIds (id)")
    result = sonde("import", tmp_path / "t.sqlite", "-o", tmp_path / "x.sdb")
    assert result.status == 128 and "not of a known format" in result.err


def one(db: sqlite3.Connection, sql: str) -> tuple:
    return db.execute(sql).fetchone()


@each("path", FILES, "nsys")
def test_nsys_real_reports_lose_nothing(sonde, tmp_path, path):
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    table = "CUPTI_ACTIVITY_KIND_"
    expected = {"kernel-time": one(db, f'SELECT count(*), sum("end" - start) FROM {table}KERNEL'),
                "copy-time": one(db, f'SELECT count(*), sum("end" - start) FROM {table}MEMCPY'),
                "copy-bytes": one(db, f"SELECT count(*), sum(bytes) FROM {table}MEMCPY"),
                "fill-time": one(db, f'SELECT count(*), sum("end" - start) FROM {table}MEMSET'),
                "gpu-api-time": one(db, f'SELECT count(*), sum("end" - start) FROM {table}RUNTIME')}
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
    sql = f'SELECT value, count(*), sum("end" - start) FROM {table}KERNEL JOIN StringIds ON id = demangledName GROUP BY value'
    assert {name: tuple(pair) for name, pair in found.items()} == {name: (count, sum_) for name, count, sum_ in db.execute(sql)}
    # every row is an event, and what has no launch in its process is counted
    names = ["KERNEL", "MEMCPY", "MEMSET", "SYNCHRONIZATION", "RUNTIME"]
    count = sum(one(db, f"SELECT count(*) FROM {name}")[0]
                for name in [table + name for name in names] + ["NVTX_EVENTS", "PROFILER_OVERHEAD"])
    about = info(sonde, result)
    assert about["events"] == count
    launches = set(db.execute(f"SELECT globalTid >> 24, correlationId FROM {table}RUNTIME"))
    operations = [row for name in names[:3] for row in db.execute(f"SELECT globalPid >> 24, correlationId FROM {table}{name}")]
    assert about["drops"] == {"gpu-unlaunched": sum(row not in launches for row in operations)}
    devices = json.loads(sonde("timeline", result, "--format", "json").out)["devices"]
    assert [device["device"] for device in devices] == [0, 1]


@pytest.mark.parametrize("table", ["VULKAN_WORKLOAD", "OPENGL_WORKLOAD", "DX12_WORKLOAD"])
def test_nsys_workloads_of_graphics_run_on_devices(sonde, tmp_path, export, table):
    """Though their rows have the thread of the call that submitted them."""
    export.row(table.replace("WORKLOAD", "API"), start=1000, end=1100, eventClass=1, globalTid=thread(5, 10), correlationId=7,
               nameId=export.string("vkQueueSubmit"))
    for start in (1050, 2000):
        export.row(table, start=start, end=start + 5000, eventClass=1, globalTid=thread(5, 10), correlationId=7,
                   nameId=export.string("vkQueueSubmit"), gpu=3)
    path = imported(sonde, tmp_path, export.close())
    about = info(sonde, path)
    assert about["events"] == 3 and about["drops"] == {}
    assert {(profile["kind"], profile["device"]) for profile in about["profiles"] if profile["kind"] != "thread"} == {("stream", 3)}
    assert paths(report(sonde, path, "--metric", "real-time"), "real-time")["vkQueueSubmit"] == (1, 100)


def test_nsys_ranks_and_memory(sonde, tmp_path, export):
    for pid, rank in ((5, 1), (6, 0)):
        export.row("MPI_RANKS", globalTid=thread(pid, pid), rank=rank)
        export.row("MPI_COLLECTIVES_EVENTS", start=100, end=None if pid == 6 else 300, globalTid=thread(pid, pid),
                   textId=export.string("MPI_Allreduce"), size=8)
        export.kernel("add", 400, 500, 1, pid)
    for start, size, operation in ((10, 4096, 0), (20, 512, 0), (30, 4096, 1), (40, 1, 2)):
        export.row("CUDA_GPU_MEMORY_USAGE_EVENTS", start=start, globalPid=thread(5, 0), deviceId=0, contextId=1, address=7, pc=0,
                   bytes=size, memKind=2, memoryOperationType=operation)
    path = imported(sonde, tmp_path, export.close())
    about = info(sonde, path)
    assert {(profile["pid"], profile["rank"]) for profile in about["profiles"]} == {(5, 1), (6, 0)}
    rows = report(sonde, path, "--metric", "tensor-alloc,tensor-free")
    assert {name: value["inclusive"]["sum"] for name, value in rows[0]["values"].items()} == {"tensor-alloc": 4608, "tensor-free": 4096}
    assert about["drops"] == {"import-unread": 1, "gpu-unlaunched": 2} and about["events"] == 7


def test_nsys_calls_of_the_system_that_wait_are_no_work(sonde, tmp_path, export):
    """CUDA's own threads sleep in poll until the end: neither are they what limits the program, nor does a device wait for them."""
    export.row("OSRT_API", start=1000, end=90_000_000, globalTid=thread(5, 11), nameId=export.string("poll"))
    export.row("OSRT_API", start=1000, end=80_000_000, globalTid=thread(5, 12), nameId=export.string("pthread_cond_timedwait"))
    export.row("OSRT_API", start=1000, end=20_000_000, globalTid=thread(5, 10), nameId=export.string("fgets"))
    for number in range(2):
        export.api("cudaLaunchKernel_v7000", 20_000_000 + 30_000_000 * number, 20_010_000 + 30_000_000 * number, number + 1)
        export.kernel("k", 20_020_000 + 30_000_000 * number, 30_000_000 + 30_000_000 * number, number + 1)
    export.row("OSRT_API", start=31_000_000, end=50_000_000, globalTid=thread(5, 10), nameId=export.string("fread"))
    path = imported(sonde, tmp_path, export.close())
    answer = json.loads(sonde("timeline", path, "--view", "all", "--format", "json").out)
    assert {row["node"] for row in answer["critical_path"]["rows"]} <= {"fgets", "fread", "cudaLaunchKernel", "k"}
    assert "fread" in str(answer["blame"]) and "poll" not in str(answer["blame"])
    assert "pthread_cond_timedwait" not in str(answer["blame"])


def test_nsys_own_start_is_the_profilers(sonde, tmp_path, export):
    """What Nsight Systems does itself limits the recording, not the program; then comes what the program does."""
    export.row("PROFILER_OVERHEAD", start=1000, end=70_000_000, globalTid=thread(5, 10), nameId=export.string("CUDA profiling initialization"))
    export.api("cudaMalloc_v3020", 70_000_000, 90_000_000, 1)
    export.api("cudaLaunchKernel_v7000", 90_000_000, 90_010_000, 2)
    export.kernel("k", 90_020_000, 91_000_000, 2)
    path = imported(sonde, tmp_path, export.close())
    answer = json.loads(sonde("timeline", path, "--view", "all", "--format", "json").out)
    causes = {row["cause"]: row["time_ns"] for row in answer["path_causes"]["rows"]}
    assert causes["the profiler itself"] == 69_999_000 and causes["waiting"] == 20_000_000
    text = " ".join(sonde("timeline", path).out.split())
    assert "What limits it: the profiler itself, 76.9% of" in text
    assert "most of it in CUDA profiling initialization (76.9%), then waiting (22.0%)" in text


def test_nsys_a_long_way_to_the_next_thread_is_the_programs(sonde, tmp_path, export):
    """Nothing is recorded for seconds, then another thread goes on: that is not the time of a switch."""
    export.api("cudaMalloc_v3020", 1000, 1_000_000, 1, tid=10)
    export.api("cudaMalloc_v3020", 900_000_000, 990_000_000, 2, tid=11)
    path = imported(sonde, tmp_path, export.close())
    text = " ".join(sonde("timeline", path).out.split())
    assert "of that path is the program's own code, in no recorded call" in text


def test_nsys_a_thread_that_sleeps_until_a_time_does_not_hold_the_program(sonde, tmp_path, export):
    """CUDA's own thread wakes each 10 ms, and works a little at the end: what the program reads is what limits it all the same."""
    for start in range(0, 90_000_000, 10_000_000):
        export.row("OSRT_API", start=start + 50_000, end=start + 10_000_000, globalTid=thread(5, 11), nameId=export.string("sem_timedwait"))
    export.row("OSRT_API", start=90_010_000, end=91_000_000, globalTid=thread(5, 11), nameId=export.string("ioctl"))
    export.row("OSRT_API", start=0, end=90_005_000, globalTid=thread(5, 10), nameId=export.string("getc"))
    export.row("OSRT_API", start=90_005_000, end=90_500_000, globalTid=thread(5, 10), nameId=export.string("write"))
    path = imported(sonde, tmp_path, export.close())
    rows = {row["node"]: row for row in json.loads(sonde("timeline", path, "--view", "all", "--format", "json").out)["critical_path"]["rows"]}
    assert rows["getc"]["gain_ns"] == pytest.approx(9_000_500, rel=0.01)
    assert "Which node to change: getc" in " ".join(sonde("timeline", path).out.split())
