# SPDX-License-Identifier: Apache-2.0
"""`sonde import` of Perfetto's protobuf: traces written by the tests' own writer, with known answers."""
from __future__ import annotations

import csv
import gzip
import io
import random
import zlib
from collections import Counter
from pathlib import Path

import pytest

from conftest import run_sonde
from perfetto_trace import Fixed, trace, varint

BOOT, REAL = 5_000_000_000, 1_700_000_000_000_000_000
CLOCKS = {6: {1: [{1: 6, 2: BOOT}, {1: 1, 2: REAL}, {1: 3, 2: BOOT - 1_000_000_000}]}, 10: 1}
BEGIN, END, INSTANT, COUNTER, STATE = range(1, 6)


def event(time: int, kind: int, track: int | None = None, name: object = None, sequence: int = 2,
          packet: dict | None = None, **fields: object) -> dict:
    """A packet at BOOT + time; fields f30=... of the track event by number."""
    body: dict[int, object] = {9: kind}
    if track is not None:
        body[11] = track
    if name is not None:
        body[10 if isinstance(name, int) else 23] = name
    body.update({int(key[1:]): value for key, value in fields.items()})
    return {8: BOOT + time, 10: sequence, 11: body, **(packet or {})}


def descriptor(uuid: int, parent: int = 0, sequence: int = 2, **fields: object) -> dict:
    return {10: sequence, 60: {1: uuid, 5: parent, **{int(key[1:]): value for key, value in fields.items()}}}


def thread(uuid: int, pid: int, tid: int, name: str) -> list[dict]:
    return [descriptor(uuid + 1000, f3={1: pid, 6: f"program {pid}"}), descriptor(uuid, uuid + 1000, f4={1: pid, 2: tid, 5: name})]


def do_import(folder: Path, packets: list[dict], warning: str = "") -> list[dict[str, str]]:
    """The events of these packets, times from REAL on."""
    path = folder / "x.pftrace"
    path.write_bytes(trace(packets))
    return read(path, folder, warning)


def not_read(what: str) -> str:
    return f"sonde: not read: {what}\n"


def read(path: Path, folder: Path, warning: str = "") -> list[dict[str, str]]:
    result = run_sonde("import", path, "-o", folder / "x.sdb")
    assert result.status == 0 and result.err == warning, result.err
    listed = run_sonde("export", "--to", "events", "-o", "-", folder / "x.sdb")
    assert listed.status == 0
    rows = []
    for row in csv.DictReader(io.StringIO(listed.out)):
        row = {key: value for key, value in row.items() if value}
        row["at"] = int(row.pop("start_ns")) - REAL
        row["to"] = int(row.pop("end_ns")) - REAL
        rows.append(row)
    return rows


def test_perfetto_slices(tmp_path):
    """Nested, with equal begins and ends, on threads that are described after their events."""
    rows = do_import(tmp_path, [
        event(100, BEGIN, 1, "outer"), event(100, BEGIN, 1, "middle"), event(100, BEGIN, 1, "inner"),
        event(200, END, 1), event(200, END, 1), event(200, END, 1),
        event(200, BEGIN, 1, "first"), event(200, END, 1), event(200, BEGIN, 1, "second"), event(200, END, 1),
        event(210, BEGIN, 1, "open"), event(220, INSTANT, 1, "mark"), event(230, INSTANT, 2, "last"),
        event(230, END, 2), CLOCKS, *thread(1, 7, 8, "main")], not_read("ends of events without a begin (1)"))
    assert {(row["name"], row["path"], row["at"], row["to"]) for row in rows} == {
        ("outer", "outer", 100, 200), ("middle", "outer;middle", 100, 200), ("inner", "outer;middle;inner", 100, 200),
        ("first", "first", 200, 200), ("second", "second", 200, 200), ("open", "open", 210, 230), ("mark", "open;mark", 220, 220),
        ("last", "last", 230, 230)}
    assert {(row["pid"], row["tid"], row["thread"]) for row in rows if row["name"] != "last"} == {("7", "8", "main")}
    info = run_sonde("info", tmp_path / "x.sdb").out
    assert "ends of events without a begin" in info and "events without an end" in info and "program 7" in info


def test_interned_data_is_of_a_sequence_until_its_reset(tmp_path):
    def names(sequence: int, name: str, category: str, **more: object) -> dict:
        return {13: 1, 12: {1: {1: 1, 2: category}, 2: {1: 5, 2: name}, 3: {1: 1, 2: f"{name}.key"}, 29: {1: 1, 2: f"{name}.text"}}}
    annotated = {"f3": 1, "f4": {1: 1, 17: 1}}
    rows = do_import(tmp_path, [
        CLOCKS, *thread(1, 7, 8, "main"),
        event(1, BEGIN, 1, 5, 2, names(2, "two", "cpu_op"), **annotated), event(2, END, 1, None, 2),
        event(3, BEGIN, 1, 5, 3, names(3, "three", "mine"), **annotated), event(4, END, 1, None, 3),
        event(5, BEGIN, 1, 5, 2, {13: 2}, **annotated), event(6, END, 1, None, 2),
        event(7, BEGIN, 1, 5, 2, names(2, "again", "python_function"), **annotated), event(8, END, 1, None, 2),
        event(9, BEGIN, 1, 5, 2, {41: 1}), event(10, END, 1, None, 2)])
    assert [(row["name"], row["category"]) for row in rows] == [
        ("two", "cpu_op"), ("three", "user_annotation"), ("two", "cpu_op"), ("again", "python_function"),
        ("[name lost]", "user_annotation")]
    assert rows[0]["attribute.two.key"] == "two.text" and rows[3]["attribute.again.key"] == "again.text"
    assert rows[1]["attribute.category"] == "mine" and "attribute.category" not in rows[0]


def test_clocks(tmp_path):
    """A sequence's own clock in microseconds that counts from packet to packet; the system's, which drifts apart."""
    late = BOOT + 1_000_000_000
    rows = do_import(tmp_path, [
        CLOCKS, {10: 1, 6: {1: [{1: 6, 2: late}, {1: 3, 2: BOOT + 50}]}},
        *thread(1, 7, 8, "main"),
        {10: 2, 13: 1, 6: {1: [{1: 64, 2: 1000, 3: 1, 4: 1000}, {1: 6, 2: BOOT + 500}]}, 59: {58: 64, 11: {11: 1}}},
        {8: 3, 10: 2, 11: {9: INSTANT, 23: "3 us later"}}, {8: 0, 10: 2, 11: {9: INSTANT, 23: "same"}},
        {8: 4, 10: 2, 11: {9: INSTANT, 23: "7 us later"}},
        {8: BOOT - 1_000_000_000 + 77, 58: 3, 10: 2, 11: {9: INSTANT, 23: "monotonic"}},
        {8: BOOT + 60, 58: 3, 10: 2, 11: {9: INSTANT, 23: "monotonic later"}},
        {8: 1, 58: 70, 10: 2, 11: {9: INSTANT, 23: "unknown clock"}}],
        not_read("events without a valid time (1)"))
    assert {row["name"]: row["at"] for row in rows} == {
        "3 us later": 3500, "same": 3500, "7 us later": 7500, "monotonic": 77, "monotonic later": 1_000_000_010}
    assert "without a valid time" in run_sonde("info", tmp_path / "x.sdb").out


def test_a_calendar_that_is_set(tmp_path):
    """The first snapshot says what the time of day was; setting it later moves no event."""
    rows = do_import(tmp_path, [
        CLOCKS, *thread(1, 7, 8, "main"), {8: BOOT + 10, 10: 1, 11: {9: INSTANT, 11: 1, 23: "before"}},
        {10: 1, 6: {1: [{1: 6, 2: BOOT + 2000}, {1: 1, 2: 5_000_000_000}]}},
        {8: BOOT + 3000, 10: 1, 11: {9: INSTANT, 11: 1, 23: "after"}}])
    assert {row["name"]: row["at"] for row in rows} == {"before": 10, "after": 3000}


def test_scheduler_by_another_clock(tmp_path):
    """A bundle says by which clock it tells times, and what both showed at one moment."""
    ahead = 7_000_000
    bundle = {1: 0, 5: 2, 6: BOOT + 50 + ahead, 7: BOOT + 50,
              2: [switch(ahead + 100, 0, 0, 8, "a"), switch(ahead + 300, 8, 1, 0, "idle")]}
    rows = do_import(tmp_path, [CLOCKS, {10: 3, 1: bundle}])
    assert {(row["name"], row["at"], row["to"]) for row in rows if row["thread"].startswith("CPU")} == {("a", 100, 300)}


def test_attributes_of_all_types(tmp_path):
    annotations = [{10: "flag", 2: 1}, {10: "unsigned", 3: (1 << 64) - 1}, {10: "signed", 4: -5}, {10: "real", 5: 0.1},
                   {10: "text", 6: "x\u00e4"}, {10: "pointer", 7: 4096}, {10: "json", 9: "{}"},
                   {10: "dict", 11: [{10: "a", 4: 1}, {10: "b", 12: [{4: 7}, {4: 8}]}]}, {10: "proto", 14: b"\x08\x01"}]
    (row,) = do_import(tmp_path, [CLOCKS, *thread(1, 7, 8, "main"), event(1, INSTANT, 1, "all", f4=annotations)],
                       not_read("annotations of a form that is not read (1)"))
    assert {key[10:]: value for key, value in row.items() if key.startswith("attribute.")} == {
        "flag": "1", "unsigned": str((1 << 64) - 1), "signed": "-5", "real": "0.10000000000000001", "text": "x\u00e4",
        "pointer": "4096", "json": "{}", "dict.a": "1", "dict.b[0]": "7", "dict.b[1]": "8"}


def test_flows_are_links(tmp_path):
    """Both ends of a flow have its number."""
    rows = do_import(tmp_path, [
        CLOCKS, *thread(1, 7, 8, "main"), *thread(3, 7, 9, "worker"),
        event(1, BEGIN, 1, "send", f47=Fixed(99)), event(2, END, 1), event(5, BEGIN, 3, "take", f47=Fixed(99)), event(9, END, 3)])
    assert {(row["name"], row["tid"], row["link"]) for row in rows} == {("send", "8", "99"), ("take", "9", "99")}


def test_counters(tmp_path):
    rows = do_import(tmp_path, [
        CLOCKS, *thread(1, 7, 8, "main"),
        descriptor(3, 1, f2="in use", f8={3: 3, 4: 1024}), descriptor(4, 1001, f2="load", f8={6: "widgets"}),
        descriptor(5, 1, f2="steps", f8={5: 1}), descriptor(6, 1, f2="cycles", f8={}),
        event(1, COUNTER, 3, f30=2), event(2, COUNTER, 3, f30=-1), event(3, COUNTER, 4, f44=0.5),
        event(4, COUNTER, 5, f30=10), event(5, COUNTER, 5, f30=5),
        event(6, BEGIN, 1, "call", f31=[6], f12=[1000]), event(7, END, 1, f31=[6], f12=varint(1500))])
    counters = [(row["name"], row["at"], row["attribute.value"]) for row in rows if row["kind"] == "counter"]
    assert sorted(counters) == [("cycles", 6, "1000"), ("cycles", 7, "1500"), ("in use", 1, "2048"), ("in use", 2, "-1024"),
                                ("load", 3, "0.5"), ("steps", 4, "10"), ("steps", 5, "15")]


def test_rows_that_are_no_threads(tmp_path):
    """Rows of one name are one, in which events may overlap; others nest."""
    rows = do_import(tmp_path, [
        CLOCKS, *thread(1, 7, 8, "main"), descriptor(3, 1001, f2="requests"), descriptor(4, 1001, f2="requests"),
        descriptor(5, 1001, f2="phases"), descriptor(6, 1, f2="beside"),
        event(1, BEGIN, 3, "a"), event(2, BEGIN, 4, "b"), event(5, END, 3), event(6, END, 4),
        event(1, BEGIN, 5, "phase"), event(2, BEGIN, 5, "step"), event(3, END, 5), event(4, END, 5),
        event(1, BEGIN, 1, "call"), event(3, BEGIN, 6, "async"), event(9, END, 6), event(5, END, 1)])
    assert {(row.get("thread"), row["path"]) for row in rows} == {
        ("requests", "a"), ("requests", "b"), ("phases", "phase"), ("phases", "phase;step"), ("main", "call"), ("main", "async")}
    assert len({row["profile"] for row in rows}) == 3


def test_states_and_old_events(tmp_path):
    rows = do_import(tmp_path, [
        CLOCKS, *thread(1, 7, 8, "main"), descriptor(3, 1001, f2="power"),
        event(1, STATE, 3, "on"), event(5, STATE, 3, "off"), event(9, STATE, 3),
        {10: 9, 44: {1: 7, 2: 21, 5: "old", 6: (BOOT - 1_000_000_000) // 1000}},
        {10: 9, 13: 1, 12: {2: {1: 1, 2: "old slice"}}},
        {10: 9, 11: {1: 2, 6: {1: 1, 2: ord("X"), 3: 30}}}, {10: 9, 11: {1: 5, 6: {1: 1, 2: ord("I")}}}])
    assert sorted((row["name"], row.get("thread"), row["at"], row["to"]) for row in rows) == [
        ("off", "power", 5, 9), ("old slice", "old", 2000, 32000), ("old slice", "old", 7000, 7000), ("on", "power", 1, 5)]


def test_samples(tmp_path):
    interned = {5: [{1: 1, 2: "main"}, {1: 2, 2: "work"}], 17: [{1: 1, 2: "libx.so"}], 16: [{1: 1, 2: "abcd"}],
                18: [{1: 1, 2: "w.py"}], 19: [{1: 1, 2: 1, 7: 1}],
                6: [{1: 1, 2: 1, 3: 1, 4: 4096}, {1: 2, 2: 2, 5: 1, 6: 12, 8: "python"}, {1: 3, 3: 1, 4: 255}],
                7: [{1: 1, 2: [1, 2]}, {1: 2, 2: varint(1) + varint(3)}]}
    rows = do_import(tmp_path, [
        CLOCKS, {10: 2, 2: {1: {1: 7, 3: "python"}, 2: {1: 8, 3: 7, 2: "worker"}}},
        {8: BOOT + 1, 10: 2, 13: 1, 12: interned, 66: {1: 3, 2: 7, 3: 8, 4: 1}},
        {8: BOOT + 2, 10: 2, 66: {2: 7, 3: 8, 4: 2}}, {8: BOOT + 3, 10: 2, 66: {2: 7, 3: 8, 18: 2}},
        {10: 2, 44: {1: 7, 2: 9}}, {8: BOOT + 10, 10: 2, 54: {1: [1, 2], 2: [0, 4]}}])
    assert [(row["kind"], row["tid"], row["at"], row["path"]) for row in rows] == [
        ("sample", "8", 1, "main;work"), ("sample", "8", 2, "main;0xff"),
        ("sample", "9", 10, "main;work"), ("sample", "9", 4010, "main;0xff")]
    assert rows[0]["thread"] == "worker" and rows[0]["attribute.cpu"] == "3"
    report = run_sonde("report", "--format", "json", tmp_path / "x.sdb").out
    assert "w.py" in report and "libx.so" in report, report


def test_render_stages(tmp_path):
    interned = {24: [{1: 1, 2: "compute queue"}, {1: 2, 2: "Fragment"}], 23: {1: 4, 2: 7, 3: 4},
                1000: {1: 3, 2: "_Z4gemm", 3: "gemm(int)"}, 1001: {1: 1, 2: "registers"}}
    rows = do_import(tmp_path, [
        CLOCKS, {8: BOOT + 10, 10: 2, 13: 1, 12: interned, 53: {
            1: 1, 2: 90, 13: 1, 14: 2, 11: 1, 5: 4, 19: 3,
            21: {1: {1: 2, 2: 3, 3: 4}, 2: {1: 64}, 3: [{1: 1, 4: 32}, {2: "x", 3: -1}]}}},
        {8: BOOT + 200, 10: 2, 53: {1: 2, 2: 5, 13: 1, 14: 2, 11: 1, 5: 4, 6: {1: "size", 2: "big"}}}])
    kernel, stage = rows
    assert (kernel["name"], kernel["category"], kernel["at"], kernel["to"]) == ("gemm(int)", "kernel", 10, 100)
    assert (kernel["device"], kernel["thread"], kernel["pid"]) == ("1", "compute queue", "7")
    assert [kernel[f"attribute.{key}"] for key in ("grid.x", "grid.y", "grid.z", "block.x", "registers", "x")] == \
        ["2", "3", "4", "64", "32", "-1"]
    assert (stage["name"], stage["at"], stage["to"], stage["attribute.size"]) == ("Fragment", 200, 205, "big")


def switch(time: int, prev: int, state: int, following: int, name: str) -> dict:
    return {1: BOOT + time, 2: prev, 4: {1: "x", 2: prev, 4: state, 5: name, 6: following}}


def test_scheduler(tmp_path):
    """Bundles of two CPUs, out of order, one of them compact: what ran where, and what each thread waited for."""
    first = {1: 0, 2: [switch(100, 0, 0, 8, "a"), switch(300, 8, 1, 0, "idle"), {1: BOOT + 500, 2: 9, 20: {1: "a", 2: 8, 5: 0}},
                       switch(600, 0, 0, 8, "a"), switch(700, 8, 0x100, 0, "idle"), switch(750, 0, 0, 8, "a"),
                       switch(800, 8, 2, 0, "idle"), {1: BOOT + 810, 2: 1, 3: {2: "printed"}}]}
    packed = lambda numbers: b"".join(map(varint, numbers))  # noqa: E731
    second = {1: 1, 4: {5: ["b", "idle"], 1: packed([BOOT + 400, 150]), 2: packed([0, 64]), 3: packed([9, 0]), 4: packed([120, 120]),
                        6: packed([0, 1]), 7: packed([BOOT + 350]), 8: packed([9]), 11: packed([0])}}
    rows = do_import(tmp_path, [CLOCKS, {10: 3, 1: second}, {10: 2, 1: first}, {10: 2, 2: {2: [{1: 8, 3: 7, 2: "a"}]}}],
                     "sonde: not read: 1 ftrace events but those of the scheduler\n")
    of_threads = [row for row in rows if not row["thread"].startswith("CPU")]
    states = {(row["tid"], row["name"], row["at"], row["to"]) for row in of_threads}
    assert states == {("8", "running", 100, 300), ("8", "blocked: interruptible", 300, 500), ("8", "ready", 500, 600),
                      ("8", "running", 600, 700), ("8", "ready", 700, 750), ("8", "running", 750, 800),
                      ("9", "ready", 350, 400), ("9", "running", 400, 550), ("9", "blocked: parked", 550, 800)}
    assert {row["kind"] for row in rows} == {"state"}
    cpus = {(row["thread"], row["name"], row["at"], row["to"]) for row in rows if row["thread"].startswith("CPU")}
    assert cpus == {("CPU 0", "a", 100, 300), ("CPU 0", "a", 600, 700), ("CPU 0", "a", 750, 800), ("CPU 1", "b", 400, 550)}
    assert {row["pid"] for row in of_threads if row["tid"] == "8"} == {"7"}
    assert {row["attribute.cpu"] for row in of_threads if row["name"] == "running" and row["tid"] == "9"} == {"1"}
    assert {row["attribute.waker"] for row in of_threads if row["name"] == "ready" and row["at"] == 500} == {"9"}


def test_compressed_packets_and_gzip(tmp_path):
    inner = trace([event(1, BEGIN, 1, "packed"), event(2, END, 1)])
    packets = [CLOCKS, *thread(1, 7, 8, "main"), {50: zlib.compress(inner)}, event(3, INSTANT, 1, "plain")]
    plain = do_import(tmp_path, packets)
    assert [row["name"] for row in plain] == ["packed", "plain"]
    path = tmp_path / "packed.perfetto-trace"
    path.write_bytes(gzip.compress(trace(packets)))
    assert read(path, tmp_path) == plain
    bomb = [CLOCKS, *thread(1, 7, 8, "main"), {50: zlib.compress(bytes(300 << 20), 9)}, event(3, INSTANT, 1, "plain")]
    assert [row["name"] for row in do_import(tmp_path, bomb, not_read("packets that cannot be decoded (1)"))] == ["plain"]
    assert "packets that cannot be decoded" in run_sonde("info", tmp_path / "x.sdb").out


def test_what_is_not_read_is_named(tmp_path):
    rows = do_import(tmp_path, [CLOCKS, *thread(1, 7, 8, "main"), event(1, INSTANT, 1, "x"), {10: 2, 7: {1: 5}}, {10: 2, 7: {}},
                                {10: 2, 39: {}}, {10: 2, 900: {}}, {10: 2, 33: {}}],
                     "sonde: not read: 2 sys_stats, 1 android_log, 1 field 900\n")
    assert len(rows) == 1
    assert "4 import-packets packets of a kind that is not read" in " ".join(run_sonde("info", tmp_path / "x.sdb").out.split())


def test_several_files(tmp_path):
    paths = []
    for number in range(2):
        paths.append(tmp_path / f"{number}.pftrace")
        paths[-1].write_bytes(trace([CLOCKS, *thread(1, 7, 8, "main"), event(number, INSTANT, 1, f"of {number}")]))
    result = run_sonde("import", *paths, "-o", tmp_path / "x.sdb")
    assert result.status == 0 and "2 events from 2 inputs of perfetto" in result.out
    listed = run_sonde("export", "--to", "events", "-o", "-", tmp_path / "x.sdb").out
    assert "of 0" in listed and "of 1" in listed


def sound() -> bytes:
    return trace([CLOCKS, *thread(1, 7, 8, "main"),
                  *[event(time, BEGIN if time % 2 else END, 1, "slice" if time % 2 else None, f4={10: "k", 4: time})
                    for time in range(1, 41)]])


def test_cut_off_anywhere(tmp_path):
    """Either what is there is read, or one line says what is wrong; nothing is left behind then."""
    data, path = sound(), tmp_path / "cut.pftrace"
    statuses = Counter()
    for length in range(60, len(data), 37):
        path.write_bytes(data[:length])
        result = run_sonde("import", path, "-o", tmp_path / "cut.sdb")
        statuses[result.status] += 1
        if result.status == 0:
            (tmp_path / "cut.sdb").unlink()
        else:
            assert result.status == 128 and len(result.err_lines) == 1 and not (tmp_path / "cut.sdb").exists()
            assert "the file ends within" in result.err
    assert statuses[128] > 10


def test_damaged_bytes(tmp_path):
    generator, data, path = random.Random(7), sound(), tmp_path / "bad.pftrace"
    for _ in range(60):
        bad = bytearray(data)
        for _ in range(generator.randint(1, 8)):
            bad[generator.randrange(80, len(bad))] = generator.randrange(256)
        path.write_bytes(bad)
        result = run_sonde("import", "--from", "perfetto", path, "-o", tmp_path / "bad.sdb")
        assert result.status in (0, 128) and (result.status == 0 or len(result.err_lines) == 1), result.err


@pytest.mark.parametrize("bad", [b"\n\xff\xff\xff\xff\xff\x7f", b"\n\x02\x08\x01" * 3 + b"\n\xff\xff\xff\xff\x0f\x08"])
def test_claims_of_enormous_lengths(tmp_path, bad):
    path = tmp_path / "bad.pftrace"
    path.write_bytes(trace([CLOCKS]) + bad)
    result = run_sonde("import", path, "-o", tmp_path / "bad.sdb")
    assert result.status == 128 and len(result.err_lines) == 1 and not (tmp_path / "bad.sdb").exists()


def test_rocprofv3(tmp_path):
    """Its kernels and copies are slices on rows of a process; which device and stream they are of, annotations say."""
    def annotated(**values: object) -> list[dict]:
        return [{10: key, 6: value} if isinstance(value, str) else {10: key, 3: value} for key, value in values.items()]

    def slice_of(track: int, start: int, end: int, name: str, category: str, flow: int, **values: object) -> list[dict]:
        return [event(start, BEGIN, track, name, f22=category, f47=Fixed(flow), f4=annotated(corr_id=flow, **values)),
                event(end, END, track)]
    rows = do_import(tmp_path, [
        CLOCKS, *thread(1, 7, 8, "main"), descriptor(20, 1001, f2="STREAM [1]"), descriptor(21, 1001, f2="STREAM [2]"),
        *slice_of(1, 10, 20, "hipLaunchKernel", "hip_api", 5), *slice_of(1, 30, 40, "hipMemcpyAsync", "hip_api", 6),
        *slice_of(20, 50, 90, "gemm.kd", "kernel_dispatch", 5, agent="Agent-4", queue=0, stream_ID=1),
        *slice_of(21, 60, 80, "MEMORY_COPY_DEVICE_TO_HOST", "memory_copy", 6, src_agent="Agent-4", dst_agent="Agent-0",
                  copy_bytes=4096, stream_ID=2),
        *slice_of(20, 95, 99, "gemm.kd", "kernel_dispatch", 0, agent="Agent-5", queue=0, stream_ID=1)])
    found = {(row["name"], row["at"], row["to"]): row for row in rows}
    assert found["gemm.kd", 50, 90]["path"] == "hipLaunchKernel;gemm.kd"
    copy = found["MEMORY_COPY_DEVICE_TO_HOST", 60, 80]
    assert copy["path"] == "hipMemcpyAsync;MEMORY_COPY_DEVICE_TO_HOST" and copy["attribute.bytes"] == "4096"
    assert [(row["device"], row["stream"]) for row in (found["gemm.kd", 50, 90], copy, found["gemm.kd", 95, 99])] == [
        ("4", "1"), ("4", "2"), ("5", "1")]
    text = " ".join(run_sonde("timeline", tmp_path / "x.sdb").out.split())
    assert "no device is recorded" not in text and "2 devices spend" in text
