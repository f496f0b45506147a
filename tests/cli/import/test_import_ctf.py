# SPDX-License-Identifier: Apache-2.0
"""`sonde import` of CTF: traces of LTTng and of a tracer made here."""
from __future__ import annotations

import csv
import io
import os
import shutil
import struct
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from test_export_ctf import export
from test_import_nsys import imported, info, report

METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 16; align = 8; signed = false; } := u16;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 32; align = 8; signed = true; } := i32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := f32;
trace { major = 1; minor = 8; byte_order = be; packet.header := struct { u32 magic; u32 stream_id; }; };
env { domain = "bare"; tracer_name = "barectf"; };
clock { name = ticks; freq = 1000000; offset_s = 1000; };
typealias integer { size = 64; align = 8; map = clock.ticks.value; } := stamp;
stream { id = 0; packet.context := struct { u64 packet_size; u64 content_size; u32 cpu_id; };
  event.header := struct { u8 id; stamp timestamp; }; event.context := struct { u32 tid; u32 pid; }; };
event { id = 0; name = "frame_begin"; stream_id = 0; fields := struct { u32 number; string what; }; };
event { id = 1; name = "frame_end"; stream_id = 0; fields := struct { i32 returned; }; };
event { id = 2; name = "reading"; stream_id = 0;
  fields := struct { f32 volts; enum : u8 { LOW, HIGH } level; u16 list[3]; struct { u8 x; u8 y; } at; }; };
event { id = 3; name = "other_end"; stream_id = 0; fields := struct { u8 nothing; }; };
"""


def bare(folder: Path, context: str = "u32 tid; u32 pid;", more: bytes = b"") -> Path:
    """A trace of a big-endian machine with a clock of microseconds: two frames, one in the other, and readings."""
    def event(kind: int, time: int, body: bytes, tid: int = 7) -> bytes:
        return struct.pack(">BQII", kind, time, tid, 5) + more + body

    events = [event(0, 100, struct.pack(">I", 1) + b"outer\0"), event(0, 120, struct.pack(">I", 2) + b"inner\0"),
              event(2, 130, struct.pack(">fBHHHBB", 1.5, 1, 3, 4, 5, 8, 9)), event(1, 150, struct.pack(">i", -2)),
              event(1, 200, struct.pack(">i", 0)), event(3, 210, b"\0"), event(0, 220, struct.pack(">I", 3) + b"open\0", 8),
              event(2, 230, struct.pack(">fBHHHBB", 2.5, 0, 1, 1, 1, 1, 1))]
    content = b"".join(events)
    size = 8 * (8 + 20 + len(content))
    folder.mkdir()
    (folder / "metadata").write_text(METADATA.replace("u32 tid; u32 pid;", context))
    (folder / "stream").write_bytes(struct.pack(">IIQQI", 0xC1FC1FC1, 0, size, size, 0) + content)
    return folder


def rows_of(sonde, database: Path) -> list[dict]:
    return list(csv.DictReader(io.StringIO(sonde("export", "--to", "events", database, "-o", "-").out)))


@pytest.fixture(scope="module")
def has_library(sonde) -> None:
    done = sonde("import", "-h")
    assert "ctf" in done.out
    if not shutil.which("babeltrace2"):
        pytest.skip("babeltrace2 is not installed, so Sonde may be built without it")


def test_ctf_states_of_a_kernel_trace(sonde, tmp_path, has_library):
    """The kernel's trace that Sonde writes means to it what it was made of."""
    from test_import_perf import PERF, record

    if not PERF:
        pytest.skip("perf is not installed")
    naps = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 0.01; done"  # an idle machine switches seldom
    path = record(tmp_path, "perf.data", "-a", "-e", "sched:sched_switch,sched:sched_wakeup", program=("sh", "-c", naps))
    first = imported(sonde, tmp_path, path)
    folder = export(sonde, first, tmp_path / "out.ctf")
    second = tmp_path / "second.sdb"
    assert sonde("import", folder / "kernel", "-o", second).status == 0
    found = [Counter((row["tid"], row["start_ns"], row["end_ns"]) for row in rows_of(sonde, database)
                     if row["kind"] == "state" and row["name"] == "running" and row["tid"] != "0")
             for database in (first, second)]
    assert found[0] == found[1] and len(found[0]) > 10


def test_ctf_of_another_tracer(sonde, tmp_path, has_library):
    database = imported(sonde, tmp_path, bare(tmp_path / "bare"))
    about = info(sonde, database)
    assert about["drops"] == {"import-unpaired": 1, "import-unended": 1} and about["events"] == 6
    assert {(profile["pid"], profile["tid"]) for profile in about["profiles"]} == {(5, 7), (5, 8)}
    rows = rows_of(sonde, database)
    base = 1000 * 10**9
    assert sorted((row["name"], int(row["start_ns"]) - base, int(row["end_ns"]) - base, row["tid"]) for row in rows) == [
        ("frame", 100000, 200000, "7"), ("frame", 120000, 150000, "7"), ("frame", 220000, 230000, "8"),
        ("other_end", 210000, 210000, "7"), ("reading", 130000, 130000, "7"), ("reading", 230000, 230000, "7")]
    inner = next(row for row in rows if row["attribute.number"] == "2")
    assert inner["path"].endswith("frame;frame") and (inner["attribute.what"], inner["attribute.returned"]) == ("inner", "-2")
    reading = next(row for row in rows if row["name"] == "reading")
    assert (reading["attribute.volts"], reading["attribute.level"], reading["attribute.list"], reading["attribute.at.y"]) == (
        "1.5", "1", "[3, 4, 5]", "9")
    frames = [row for row in report(sonde, database, "--metric", "real-time") if row["name"] == "frame"]
    # the outer ones took 100 and 10 us, of which 30 are the inner one's
    assert [row["values"]["real-time"]["exclusive"]["sum"] for row in frames] == [80000, 30000]


@pytest.mark.parametrize("name", ["app", "kworker/0:1H"])
def test_ctf_programs_are_named_by_their_threads(sonde, tmp_path, has_library, name):
    database = imported(sonde, tmp_path, bare(tmp_path / "bare", "u32 tid; u32 pid; string procname;", name.encode() + b"\0"))
    about = info(sonde, database)
    assert about["program"] == name and {profile["program"] for profile in about["profiles"]} == {name}
    assert f" {name} 5/7" in sonde("info", database).out


def test_ctf_packets_that_the_tracer_lost(sonde, tmp_path, has_library):
    """Of seven packets, numbered, there are four."""
    folder = tmp_path / "numbered"
    folder.mkdir()
    context = "u64 packet_size; u64 content_size;"
    (folder / "metadata").write_text(METADATA.replace(context, "stamp timestamp_begin; stamp timestamp_end; u64 packet_seq_num; " + context))
    packets = []
    for number in (0, 1, 4, 6):
        event = struct.pack(">BQII", 3, 100 * number + 5, 7, 5) + b"\0"
        size = 8 * (8 + 44 + len(event))
        packets.append(struct.pack(">IIQQQQQI", 0xC1FC1FC1, 0, 100 * number, 100 * number + 10, number, size, size, 0) + event)
    (folder / "stream").write_bytes(b"".join(packets))
    done = sonde("import", folder, "-o", tmp_path / "out.sdb")
    assert done.status == 0, done.err
    about = info(sonde, tmp_path / "out.sdb")
    assert about["events"] == 4 and about["drops"]["ctf-packets"] == 3


def test_ctf_without_threads_has_processors(sonde, tmp_path, has_library):
    database = imported(sonde, tmp_path, bare(tmp_path / "bare", "u32 one; u32 other;"))
    assert [profile["kind"] for profile in info(sonde, database)["profiles"]] == ["processor"]
    threads = sonde("info", database).out.split("Threads and streams\n")[1]
    assert "CPU 0" in threads.splitlines()[0]


@pytest.mark.parametrize("kind", ["metadata", "cut", "fields"])
def test_ctf_damaged(sonde, tmp_path, has_library, kind):
    folder = bare(tmp_path / "bare")
    stream = folder / "stream"
    if kind == "metadata":
        (folder / "metadata").write_text(METADATA[:-200])
    elif kind == "cut":
        stream.write_bytes(stream.read_bytes()[:60])
    else:
        stream.write_bytes(stream.read_bytes()[:28] + b"\xee" + stream.read_bytes()[29:])
    done = sonde("import", folder, "-o", tmp_path / "bad.sdb")
    assert done.status == 128 and len(done.err_lines) == 1 and str(folder) in done.err, done
    assert not (tmp_path / "bad.sdb").exists()


def test_ctf_of_lttng(sonde, tmp_path, has_library):
    """A real trace of LTTng's user-space tracer, made here."""
    if not shutil.which("lttng"):
        pytest.skip("lttng-tools is not installed")
    (tmp_path / "app.c").write_text("""
#include <lttng/tracef.h>
int main(void)
{
	for (int i = 0; i < 25; i++)
		tracef("step %d", i);
	return 0;
}
""")
    done = subprocess.run(["gcc", "-o", tmp_path / "app", tmp_path / "app.c", "-llttng-ust", "-ldl"], capture_output=True)
    if done.returncode:
        pytest.skip(f"programs cannot be built with lttng-ust here: {done.stderr.decode()[-200:]}")
    home = tmp_path / "home"
    home.mkdir()
    environment = {**os.environ, "LTTNG_HOME": str(home), "LTTNG_UST_REGISTER_TIMEOUT": "-1"}

    def lttng(*arguments: str) -> None:
        result = subprocess.run(["lttng", "--no-sessiond", *arguments], env=environment, capture_output=True, timeout=120)
        if result.returncode:
            pytest.skip(f"lttng {arguments[0]} does not work here: {(result.stdout + result.stderr).decode()[-200:]}")

    # in the foreground, so that it can be ended; --sig-parent would be a signal to us
    daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        for _ in range(100):
            if subprocess.run(["lttng", "--no-sessiond", "list"], env=environment, capture_output=True, timeout=60).returncode == 0:
                break
            if daemon.poll() is not None:
                pytest.skip("lttng-sessiond does not run here (another one may)")
        lttng("create", "one", f"--output={tmp_path / 'lttng'}")
        lttng("enable-event", "--userspace", "lttng_ust_tracef:*")
        lttng("add-context", "--userspace", "--type=vtid", "--type=vpid", "--type=procname")
        lttng("start")
        subprocess.run([tmp_path / "app"], env=environment, check=True, timeout=120)
        lttng("destroy", "one")
    finally:
        daemon.terminate()
        daemon.wait(60)
    database = imported(sonde, tmp_path, tmp_path / "lttng")
    rows = rows_of(sonde, database)
    steps = [row["attribute.msg"] for row in rows if row["name"] == "lttng_ust_tracef:event"]
    assert steps == [f"step {i}" for i in range(25)]
    profiles = info(sonde, database)["profiles"]
    assert [profile["thread"] for profile in profiles] == ["app"] and profiles[0]["pid"] == profiles[0]["tid"] > 1
