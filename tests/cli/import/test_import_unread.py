# SPDX-License-Identifier: Apache-2.0
"""What of the files could not be read is said at import: in one line, or why there is no database."""
from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
import struct
import subprocess
from pathlib import Path

import pytest

from kineto_traces import Trace
from program import SONDE
from test_import_ctf import METADATA, bare, has_library  # noqa: F401 (a fixture)
from test_import_nsys import Export, info
from test_import_perf import made
from test_import_rocpd import Rocpd


def warned(sonde, folder: Path, *inputs: object) -> list[str]:
    result = sonde("import", *inputs, "-o", folder / "out.sdb")
    assert result.status == 0, result.err
    return result.err_lines


def refused(sonde, folder: Path, *inputs: object, command: str = "import") -> str:
    """One line, status 128 and nothing left."""
    result = sonde(command, *inputs, *(("-o", folder / "refused.sdb") if command == "import" else ()))
    assert result.status == 128 and len(result.err_lines) == 1 and not result.out, (result.status, result.err)
    assert not list(folder.glob("refused*"))
    return result.err


def whole_trace(folder: Path) -> Path:
    trace = Trace()
    trace.call("cpu_op", "aten::a", 0, 10)
    return trace.write(folder / "t.json")


def test_a_whole_file_says_nothing(sonde, tmp_path, has_library):  # noqa: F811
    assert warned(sonde, tmp_path, whole_trace(tmp_path)) == []
    (tmp_path / "perf.data").write_bytes(made())
    assert warned(sonde, tmp_path, tmp_path / "perf.data") == []


# ---- perf ----

def records_of(data: bytes) -> tuple[int, int, list[int]]:
    """Where the records of a file begin, how long they are, and where each ends."""
    begin, length = struct.unpack_from("<QQ", data, 40)
    at, ends = begin, []
    while at < begin + length:
        at += struct.unpack_from("<IHH", data, at)[2]
        ends.append(at)
    return begin, length, ends


def test_a_cut_recording_of_perf(sonde, tmp_path):
    """Behind a whole record, so that nothing but the header tells."""
    data = made()
    begin, length, ends = records_of(data)
    cut = ends[-3]
    (tmp_path / "cut.data").write_bytes(data[:cut])
    line, = warned(sonde, tmp_path, tmp_path / "cut.data")
    assert f"'{tmp_path / 'cut.data'}' is truncated: {cut - begin} of {length} bytes of its records are there" in line
    assert info(sonde, tmp_path / "out.sdb")["drops"]["import-cut"] == 1
    # the way to a timeline says so as well
    assert "is truncated" in sonde("timeline", tmp_path / "cut.data").err


def test_an_unfinished_recording_of_perf(sonde, tmp_path):
    data = bytearray(made())
    _, _, ends = records_of(data)
    data[48:56] = bytes(8)
    (tmp_path / "killed.data").write_bytes(data[:ends[-1]])
    line, = warned(sonde, tmp_path, tmp_path / "killed.data")
    assert "is unfinished" in line


# ---- times ----

def timeless(folder: Path) -> Path:
    """The trace without a clock: 8 events that have no time."""
    bare(folder)
    text = METADATA.replace(" map = clock.ticks.value;", "").replace("stamp timestamp;", "stamp what;")
    (folder / "metadata").write_text(text)
    return folder


def test_ctf_without_times(sonde, tmp_path, has_library):  # noqa: F811
    assert "none of its 8 events has a valid time" in refused(sonde, tmp_path, timeless(tmp_path / "bare"))


def test_events_without_times(sonde, tmp_path):
    trace = Trace()
    trace.call("cpu_op", "aten::a", 0, 10)
    trace.events += [{"ph": "X", "cat": "cpu_op", "name": "b", "pid": 5, "tid": 10, "dur": 1}] * 3
    trace.events += [{"ph": "E", "pid": 5, "tid": 10, "ts": 20}]
    line, = warned(sonde, tmp_path, trace.write(tmp_path / "t.json"))
    assert "not read: events without a valid time (3); ends of events without a begin (1)" in line
    del trace.events[0]
    del trace.events[-1]
    assert "none of its 3 events has a valid time" in refused(sonde, tmp_path, trace.write(tmp_path / "t.json"))


# ---- folders ----

def test_folders_in_a_folder(sonde, tmp_path):
    folder = tmp_path / "traces"
    (folder / "capture_traces").mkdir(parents=True)
    whole_trace(folder)
    shutil.copy(folder / "t.json", folder / "capture_traces")
    line, = warned(sonde, tmp_path, folder)
    assert "1 folder was not read: capture_traces" in line
    (folder / "more").mkdir()
    done = sonde("timeline", folder)
    assert done.status == 0 and "2 folders were not read: capture_traces, more" in done.err
    # a folder of a known format is read as that
    shutil.rmtree(folder / "more")
    shutil.rmtree(folder / "capture_traces")
    assert warned(sonde, tmp_path, folder) == []


def test_a_folder_with_folders_alone(sonde, tmp_path):
    (tmp_path / "traces" / "one").mkdir(parents=True)
    whole_trace(tmp_path / "traces" / "one")
    line = refused(sonde, tmp_path, tmp_path / "traces")
    assert "nothing in that folder is of a known format" in line and line.endswith("; folders in it: one\n")


# ---- SQLite ----

def nsys_report(folder: Path) -> Path:
    export = Export(folder / "report.sqlite")
    for i in range(3000):
        export.row("OSRT_API", start=i * 10, end=i * 10 + 5, globalTid=1 << 48 | 5 << 24 | 5, nameId=export.string(f"call number {i}"))
    export.db.commit()
    return folder / "report.sqlite"


def rocpd(folder: Path) -> Path:
    Rocpd(folder / "rocpd.db").db.commit()
    return folder / "rocpd.db"


@pytest.mark.parametrize("make", [nsys_report, rocpd])
@pytest.mark.parametrize("share", [0.97, 0.5, 0.1, 0.0005])
def test_a_cut_file_of_sqlite(sonde, tmp_path, make, share):
    data = make(tmp_path).read_bytes()
    cut = tmp_path / "cut.db"
    cut.write_bytes(data[:max(40, int(share * len(data)))])
    line = refused(sonde, tmp_path, cut)
    assert "it is truncated" in line and f"{cut.stat().st_size} of " in line
    assert str(cut) in line


def test_sqlite_of_another_program(sonde, tmp_path):
    db = sqlite3.connect(tmp_path / "other.db")
    db.execute("CREATE TABLE t (x)")
    db.commit()
    line = refused(sonde, tmp_path, tmp_path / "other.db")
    assert "an SQLite file" in line and "truncated" not in line


# ---- a library that ends the process ----

def absurd(folder: Path) -> Path:
    """A packet whose size is negative where the library takes it for a signed number: it aborts."""
    bare(folder)
    stream = bytearray((folder / "stream").read_bytes())
    stream[8] |= 0x80
    (folder / "stream").write_bytes(stream)
    return folder


def test_the_library_that_aborts(sonde, tmp_path, has_library):  # noqa: F811
    line = refused(sonde, tmp_path, absurd(tmp_path / "bare"))
    assert "cannot read" in line and "libbabeltrace2" in line
    assert "cannot read" in refused(sonde, tmp_path, tmp_path / "bare", command="timeline")
    assert not list(tmp_path.glob("core*"))


def test_a_cut_gzip(sonde, tmp_path):
    data = gzip.compress(json.dumps({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": f"a{i}", "pid": 5, "tid": 10, "ts": i, "dur": 1}
                                                     for i in range(5000)]}).encode())
    (tmp_path / "t.json.gz").write_bytes(data[:len(data) // 2])
    refused(sonde, tmp_path, tmp_path / "t.json.gz")


def test_the_output_of_a_child(sonde, tmp_path, has_library):  # noqa: F811
    """What is read in a child process is counted and told as all else, and reaches a pipe."""
    bare(tmp_path / "bare")
    binary = sonde("import", tmp_path / "bare", "-o", tmp_path / "a.sdb")
    assert binary.status == 0 and "6 events" in binary.out and "ends of events without a begin (1)" in binary.err
    piped = subprocess.run([SONDE, "import", tmp_path / "bare", "-o", "/dev/stdout"], capture_output=True, timeout=60)
    assert piped.returncode == 0 and piped.stdout == (tmp_path / "a.sdb").read_bytes() and b"6 events" in piped.stderr
