# SPDX-License-Identifier: Apache-2.0
"""Events through `import sonde`: of a trace whose every event is known, and as `sonde export` writes them."""
from __future__ import annotations

import csv
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import BUILD, ROOT, run_sonde
from kineto_traces import Trace

os.environ["SONDE_DB_LIBRARY"] = str(BUILD / "src/lib/db/libsonde-db.so")
sys.path.insert(0, str(ROOT / "python"))
import sonde as api  # noqa: E402

BASE = 1_700_000_000_000_000_000
US = 1000
CALLS = 5000  # more than a block holds


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    """A thread with a call that holds 5,000 others, one of which launches a kernel; a counter; an instant."""
    trace = Trace()
    trace.members["baseTimeNanoseconds"] = BASE
    trace.call("cpu_op", "outer", 0, 10 * CALLS)
    for i in range(CALLS - 1):
        trace.call("cpu_op", "inner", 10 * i, 10 * i + 4, Sequence_number=i)
    trace.launch(1, 10 * CALLS - 10, 10 * CALLS - 5)
    trace.operation("kernel", "gemm", 10 * CALLS - 3, 10 * CALLS + 7, 1, grid=[2, 3, 4], block=[32, 1, 1])
    trace.events.append({"ph": "C", "name": "load", "pid": 5, "tid": 10, "ts": 6, "args": {"value": 0.5}})
    trace.events.append({"ph": "i", "s": "t", "name": "mark", "pid": 5, "tid": 10, "ts": 7.007, "args": {"why": "because"}})
    folder = tmp_path_factory.mktemp("events")
    result = run_sonde("import", trace.write(folder / "t.json"), "-o", folder / "t.sdb")
    assert (result.status, result.err) == (0, "")
    return folder / "t.sdb"


@pytest.fixture
def database(path):
    with api.open(path) as database:
        yield database


def named(events, name: str) -> list[api.Event]:
    return [event for event in events if event.context.name == name]


def test_tracks(database):
    shape = [(track.profile.kind, track.kind, track.lane, track.event_count) for track in database.tracks]
    assert sorted(shape) == [("stream", "intervals", 0, 1), ("thread", "counter", 0, 1), ("thread", "instants", 0, 1),
                             ("thread", "intervals", 0, 1), ("thread", "intervals", 1, CALLS)]
    counter = next(track for track in database.tracks if track.kind == "counter")
    assert counter.metric is not None and counter.metric.name == "load" and len(counter) == 1
    assert all(track.metric is None for track in database.tracks if track is not counter and track.kind != "counter")
    outer = next(track for track in database.tracks if track.kind == "intervals" and track.lane == 0)
    assert (outer.start_ns, outer.end_ns, outer.overlaps) == (BASE, BASE + 10 * CALLS * US, False)


def test_events_and_what_they_carry(database):
    events = list(database.events())
    assert len(events) == CALLS + 4
    inner = named(events, "inner")
    assert [(event.start_ns, event.end_ns) for event in inner] == [
        (BASE + 10 * i * US, BASE + (10 * i + 4) * US) for i in range(CALLS - 1)]
    assert [event.attributes for event in inner[:3]] == [{"Sequence number": 0}, {"Sequence number": 1}, {"Sequence number": 2}]
    (kernel,), (launch,) = named(events, "gemm"), named(events, "cudaLaunchKernel")
    assert kernel.link == launch.link != 0 and inner[0].link == 0
    assert kernel.track.profile.kind == "stream" and kernel.attributes["grid.y"] == 3
    assert [event.attributes["value"] for event in database.events(kind="counter")] == [0.5]
    (mark,) = database.events(kind="instants")
    assert (mark.start_ns, mark.end_ns) == (BASE + 7007, BASE + 7007) and "because" in mark.attributes.values()


def test_a_window(database):
    """From within the 10th to the start of the 13th: these, and what holds them."""
    window = {"kind": "intervals", "start_ns": BASE + 101 * US, "end_ns": BASE + 130 * US}
    assert [event.attributes.get("Sequence number") for event in database.events(**window)] == [None, 10, 11, 12, 13]
    assert [event.context.name for event in database.events(**window)] == ["outer", *["inner"] * 4]
    thread = next(profile for profile in database.profiles if profile.kind == "thread")
    assert not list(database.events(profile=thread, start_ns=BASE + 10 * CALLS * US + 1))
    assert len(list(database.events(profile=thread.number))) == CALLS + 3
    with pytest.raises(ValueError, match="'calls' is none of samples, intervals"):
        next(database.events(kind="calls"))


def test_blocks(database):
    track = max(database.tracks, key=len)
    blocks = list(track.blocks())
    assert [len(block) for block in blocks] == [4096, CALLS - 4096] and blocks[1].first == 4096
    assert sum((end - start) for block in blocks for start, end in zip(block.start_ns.tolist(), block.end_ns.tolist())) == (
        4 * (CALLS - 1) + 5) * US
    assert blocks[0].attributes["Sequence number"] == list(range(4096)) and blocks[1].attributes["Sequence number"][-1] is None
    assert len(list(track.blocks(start_ns=BASE + 10 * 4200 * US))) == 1  # a binary search, not all of them
    brief = next(track.blocks(attributes=False))
    assert brief.attributes == {} and not any(brief.link) and list(brief.start_ns) == list(blocks[0].start_ns)


def test_as_the_command_exports_them(database, path, tmp_path):
    assert run_sonde("export", "--to", "events", "-o", tmp_path / "events.csv", path).status == 0
    with (tmp_path / "events.csv").open(newline="") as file:
        rows = [(row["profile"], row["start_ns"], row["name"], row["attribute.Sequence number"]) for row in csv.DictReader(file)]
    ours = [(str(event.track.profile.number), str(event.start_ns),
             event.track.metric.name if event.track.metric else event.context.name,
             str(event.attributes.get("Sequence number", ""))) for event in database.events()]
    assert len(rows) == CALLS + 4 and sorted(ours) == sorted(rows)


def test_pandas(database):
    pytest.importorskip("pandas")
    frame = database.events_to_pandas(kind="intervals")
    assert len(frame) == CALLS + 2 and list(frame.columns[:5]) == ["track", "profile", "kind", "lane", "start_ns"]
    inner = frame[frame.name == "inner"]
    assert (inner.end_ns - inner.start_ns).unique().tolist() == [4 * US]
    assert inner["attribute.Sequence number"].astype(int).tolist() == list(range(CALLS - 1))
    assert frame["attribute.grid.x"].dropna().tolist() == [2]


def test_of_what_is_closed(path, small_db):
    database = api.open(path)
    track, events = database.tracks[0], database.events()
    block = next(track.blocks())
    next(events)
    database.close()
    assert block.start_ns[0] >= BASE  # a copy
    for use in (lambda: database.tracks, lambda: list(track.blocks())):
        with pytest.raises(ValueError, match="closed"):
            use()
    with pytest.raises(ValueError, match="closed"):
        list(events)
    with api.open(small_db) as nothing:
        assert nothing.tracks == [] and list(nothing.events()) == []


def test_damage_is_told(path, tmp_path):
    """A byte in the events is another one (section 25; docs/format/container.md): only reading them fails."""
    content = bytearray(path.read_bytes())
    count, table = struct.unpack_from("<IQ", content, 12)
    sections = [struct.unpack_from("<IHHIIQQ", content, table + 40 * i) for i in range(count)]
    offset = next(section[5] for section in sections if section[0] == 25)
    content[offset + 8] ^= 0xFF
    (tmp_path / "damaged.sdb").write_bytes(content)
    with api.open(tmp_path / "damaged.sdb") as damaged:
        assert len(damaged.tracks) == 5
        with pytest.raises(api.Error, match="^cannot read events: the file is damaged$"):
            list(damaged.events())


def test_without_numpy(path):
    script = ("import sys\nsys.modules['numpy'] = sys.modules['pandas'] = None\nimport sonde\n"
              "with sonde.open(sys.argv[1]) as db:\n"
              "    block = next(max(db.tracks, key=len).blocks())\n"
              "    print(type(block.start_ns).__name__, len(block), len(list(db.events(kind='intervals'))))")
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert done.stdout.split() == ["memoryview", "4096", str(CALLS + 2)], done.stderr
