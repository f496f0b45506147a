# SPDX-License-Identifier: Apache-2.0
"""`sonde import` of rocpd, the SQLite databases of rocprofiler-sdk: made here by its schema, with a known answer."""
from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from test_import_nsys import imported, info, paths, report
from test_import_rocprof import DATA, needs_data

# What rocprofv3 3.x puts into the file, columns that are of no use here left out.
TABLES = {
    "metadata": "id, tag, value", "string": "id, guid, string", "info_node": "id, guid, hostname",
    "info_process": "id, guid, nid, pid, command", "info_thread": "id, guid, nid, pid, tid, name",
    "info_agent": "id, guid, nid, pid, type, absolute_index, name, product_name", "info_queue": "id, guid, nid, pid, name",
    "info_stream": "id, guid, nid, pid, name", "info_pmc": "id, guid, nid, pid, agent_id, name, symbol",
    "info_kernel_symbol": "id, guid, kernel_name, display_name, sgpr_count, arch_vgpr_count, accum_vgpr_count",
    "track": "id, guid, nid, pid, tid, name_id", "event": "id, guid, category_id, stack_id, parent_stack_id, correlation_id",
    "pmc_event": "id, guid, event_id, pmc_id, value", "region": "id, guid, nid, pid, tid, start, end, name_id, event_id, extdata",
    "sample": "id, guid, track_id, timestamp, event_id",
    "kernel_dispatch": "id, guid, nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, end, "
                       "private_segment_size, group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, "
                       "grid_size_x, grid_size_y, grid_size_z, region_name_id, event_id",
    "memory_copy": "id, guid, nid, pid, tid, start, end, name_id, dst_agent_id, src_agent_id, size, queue_id, stream_id, event_id",
    "memory_allocate": "id, guid, nid, pid, tid, agent_id, type, level, start, end, address, size, event_id",
}


class Rocpd:
    def __init__(self, path: Path, suffix: str = "_0000aa55_e8f0_7b4c", pid: int = 908, symbols: int = 490) -> None:
        self.db = sqlite3.connect(path)
        self.suffix = suffix
        self.strings: dict[str, int] = {}
        for name, columns in TABLES.items():
            quoted = ", ".join(f'"{column}"' for column in columns.split(", "))
            self.db.execute(f'CREATE TABLE "rocpd_{name}{suffix}" ({quoted})')
            if suffix:
                self.db.execute(f'CREATE VIEW IF NOT EXISTS "rocpd_{name}" AS SELECT * FROM "rocpd_{name}{suffix}"')
        self.add("info_node", id=1, hostname="node7")
        self.add("info_process", id=1, nid=1, pid=pid, command="/opt/app/train --fast")
        self.add("info_thread", id=1, nid=1, pid=1, tid=pid + 2, name="loader")
        self.add("info_agent", id=1, type="CPU", absolute_index=0, name="EPYC", product_name="EPYC")
        self.add("info_agent", id=2, type="GPU", absolute_index=4, name="gfx942", product_name="MI300X")
        self.add("info_queue", id=1, name="Queue 1")
        self.add("info_stream", id=1, name="Stream 0")
        self.add("info_stream", id=2, name="Stream 5")
        self.add("info_pmc", id=1, agent_id=2, name="SQ_WAVES", symbol="SQ_WAVES")
        self.add("info_pmc", id=2, agent_id=2, name="busy", symbol="GRBM")
        self.add("info_kernel_symbol", id=3, kernel_name="_Z3addPi.kd", display_name="add(int*)", sgpr_count=16,
                 arch_vgpr_count=12, accum_vgpr_count=4)
        for i in range(10, 10 + symbols):
            self.add("info_kernel_symbol", id=i, kernel_name=f"_Znever{i}", display_name=f"never{i}()")

    def add(self, table: str, **values: object) -> None:
        names = ", ".join(f'"{name}"' for name in values)
        self.db.execute(f'INSERT INTO "rocpd_{table}{self.suffix}" ({names}) VALUES ({", ".join("?" * len(values))})',
                        list(values.values()))

    def string(self, text: str) -> int:
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            self.add("string", id=self.strings[text], string=text)
        return self.strings[text]

    def event(self, number: int, category: str, stack: int) -> int:
        self.add("event", id=number, category_id=self.string(category), stack_id=stack, correlation_id=0)
        return number

    def fill(self) -> None:
        common = {"nid": 1, "pid": 1, "tid": 1}
        self.add("region", id=1, **common, start=900, end=2000, name_id=self.string("roctxRangePushA"),
                 event_id=self.event(1, "MARKER_CORE_API", 3), extdata=json.dumps({"message": 'step "1", all'}))
        self.add("region", id=2, **common, start=1000, end=1100, name_id=self.string("hipLaunchKernel"),
                 event_id=self.event(2, "HIP_RUNTIME_API", 7), extdata="{}")
        self.add("region", id=3, **common, start=1200, end=1900, name_id=self.string("hipMemcpy"),
                 event_id=self.event(3, "HIP_RUNTIME_API", 8), extdata="{}")
        self.add("kernel_dispatch", id=1, **common, agent_id=2, kernel_id=3, dispatch_id=1, queue_id=1, stream_id=2, start=1150,
                 end=1650, private_segment_size=0, group_segment_size=256, workgroup_size_x=64, workgroup_size_y=2,
                 workgroup_size_z=1, grid_size_x=1000, grid_size_y=6, grid_size_z=1,
                 event_id=self.event(4, "KERNEL_DISPATCH", 7))
        for number, value in ((1, 94.0), (2, 12.5)):
            self.add("pmc_event", id=number, event_id=4, pmc_id=number, value=value)
        self.add("memory_copy", id=1, **common, start=1700, end=1800, name_id=self.string("MEMORY_COPY_DEVICE_TO_HOST"),
                 dst_agent_id=1, src_agent_id=2, size=4096, queue_id=1, stream_id=1, event_id=self.event(5, "MEMORY_COPY", 8))
        self.add("memory_allocate", id=1, **common, agent_id=2, type="ALLOC", level="REAL", start=1010, end=1020, address=77,
                 size=512, event_id=self.event(6, "MEMORY_ALLOCATION", 9))
        self.add("memory_allocate", id=2, **common, agent_id=2, type="FREE", level="REAL", start=1950, end=1960, address=77,
                 size=0, event_id=self.event(7, "MEMORY_ALLOCATION", 10))
        self.add("track", id=1, **common, name_id=self.string("power"))
        for number, value in ((8, 100), (9, 250)):
            self.add("sample", id=number, track_id=1, timestamp=1000 + number, event_id=self.event(number, "sample", 0))
            self.add("pmc_event", id=number, event_id=number, pmc_id=2, value=value)

    def close(self) -> None:
        self.db.commit()
        self.db.close()


def made(path: Path, *more: object) -> Path:
    recording = Rocpd(path, *more)
    recording.fill()
    recording.close()
    return path


@pytest.mark.parametrize("suffix", ["_0000aa55_e8f0_7b4c", ""], ids=["suffix", "plain"])
def test_rocpd_all_tables(sonde, tmp_path, suffix):
    database = imported(sonde, tmp_path, made(tmp_path / "908_results.db", suffix))
    metrics = ["kernel-time", "kernel-blocks", "kernel-block-threads", "kernel-registers", "copy-time", "copy-bytes", "real-time",
               "gpu-api-time", "SQ_WAVES", "tensor-alloc", "tensor-free"]
    rows = report(sonde, database, *[part for metric in metrics for part in ("--metric", metric)])
    step = 'step "1", all'
    kernel = f"{step} > hipLaunchKernel > add(int*)"
    assert paths(rows, "kernel-time") == {kernel: (1, 500)}
    assert paths(rows, "kernel-blocks") == {kernel: (1, 16 * 3)} and paths(rows, "kernel-block-threads") == {kernel: (1, 128)}
    assert paths(rows, "kernel-registers") == {kernel: (1, 12)} and paths(rows, "SQ_WAVES") == {kernel: (1, 94)}
    copy = f"{step} > hipMemcpy > [HIP memory copy device to host]"
    assert paths(rows, "copy-time") == {copy: (1, 100)} and paths(rows, "copy-bytes") == {copy: (1, 4096)}
    assert paths(rows, "real-time")[step] == (1, 1100 - 100 - 700)
    assert paths(rows, "gpu-api-time") == {f"{step} > hipLaunchKernel": (1, 100), f"{step} > hipMemcpy": (1, 700)}
    assert paths(rows, "tensor-alloc") == {f"{step} > hipLaunchKernel": (1, 512)}
    assert paths(rows, "tensor-free") == {step: (1, 512)}
    about = info(sonde, database)
    assert about["drops"] == {} and about["program"] == "train"
    assert sorted((profile["pid"], profile["tid"]) for profile in about["profiles"]) == [(908, 0), (908, 0), (908, 910)]
    assert "loader" in {profile["thread"] for profile in about["profiles"]}
    # 3 calls, a kernel, a copy, two allocations, two samples over time
    assert about["events"] == 3 + 1 + 1 + 2 + 2
    assert b"never" not in database.read_bytes()


def test_rocpd_same_as_csv(sonde, tmp_path):
    """The other format of the same run says the same."""
    from test_import_rocprof import write_run

    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = report(sonde, imported(sonde, tmp_path / "a", made(tmp_path / "a/908_results.db")), "--metric", "kernel-time")
    second = report(sonde, imported(sonde, tmp_path / "b", *write_run(tmp_path / "b")), "--metric", "kernel-time")
    strip = [{path.split(" > ")[1]: value for path, value in paths(rows, "kernel-time").items()} for rows in (first, second)]
    assert strip[0] == strip[1] == {"hipLaunchKernel": (1, 500)}


def test_rocpd_damaged(sonde, tmp_path):
    path = made(tmp_path / "whole.db")
    content = path.read_bytes()
    for name, bad in (("cut", content[:len(content) // 2]), ("noise", content[:4096] + b"\xaa" * (len(content) - 4096))):
        broken = tmp_path / f"{name}.db"
        broken.write_bytes(bad)
        done = sonde("import", broken, "-o", tmp_path / "bad.sdb")
        assert done.status == 128 and len(done.err_lines) == 1 and not (tmp_path / "bad.sdb").exists()
    old = sqlite3.connect(tmp_path / "old.db")
    old.execute("CREATE TABLE rocpd_string (id, string)")
    old.execute("CREATE TABLE rocpd_api (id, pid)")
    old.commit()
    old.close()
    done = sonde("import", tmp_path / "old.db", "-o", tmp_path / "bad.sdb")
    assert done.status == 128 and "RPD" in done.err


@needs_data
def test_rocprof_json_keeps_only_names_in_use(sonde, tmp_path):
    database = imported(sonde, tmp_path, DATA / "rocprofv3_908_results.json.gz")
    import gzip

    with gzip.open(DATA / "rocprofv3_908_results.json.gz", "rt") as file:
        results = json.load(file)["rocprofiler-sdk-tool"][0]
    symbols = {symbol["kernel_id"]: symbol["formatted_kernel_name"] for symbol in results["kernel_symbols"]
               if symbol.get("formatted_kernel_name")}
    used = {symbols[record["dispatch_info"]["kernel_id"]] for record in results["buffer_records"]["kernel_dispatch"]}
    content = database.read_bytes()
    unused = [name for name in set(symbols.values()) - used if not any(name in other for other in used)]
    assert len(unused) > 1000 and all(name.encode() + b"\0" in content for name in used)
    assert sum(b"\0" + name.encode() + b"\0" in content for name in unused) == 0


def test_recordings_in_one_file_number_their_calls_each(sonde, tmp_path):
    made(tmp_path / "r.db")
    second = Rocpd(tmp_path / "r.db", "_1111bb66", 909)
    second.fill()
    second.db.execute("UPDATE rocpd_string_1111bb66 SET string='hipExtLaunchKernel' WHERE string='hipLaunchKernel'")
    second.close()
    path = imported(sonde, tmp_path, tmp_path / "r.db")
    assert paths(report(sonde, path, "--metric", "kernel-time"), "kernel-time") == {
        f'step "1", all > {call} > add(int*)': (1, 500) for call in ("hipLaunchKernel", "hipExtLaunchKernel")}
    streams = [profile for profile in info(sonde, path)["profiles"] if profile["kind"] == "stream"]
    assert len(streams) == 4  # kernels and copies of two processes
