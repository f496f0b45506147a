# SPDX-License-Identifier: Apache-2.0
"""`sonde import` of what perf records here, against what perf itself says of the same file."""
from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from test_import_nsys import imported, info, report

PERF = shutil.which("perf")
TIMEOUT = 120
CLOCK = "cpu-clock:u"  # what a user may have too; perf then names it so


def record(folder: Path, name: str, *options: str, program: tuple = (), pipe: bool = False) -> Path:
    """A recording, or a skip that says why perf cannot make one here."""
    path = folder / name
    command = [PERF, "record", "-q", *options, "-o", "-" if pipe else str(path), "--", *map(str, program)]
    done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL, cwd=folder)
    if pipe:
        path.write_bytes(done.stdout)
    if done.returncode or not path.exists() or path.stat().st_size < 1000:
        pytest.skip(f"perf record {' '.join(options)} does not work here: {done.stderr.decode()[-200:]}")
    # perf 6.1.192 writes no formats of tracepoints where it has to mount tracefs itself, and then reads nothing of them
    if not pipe and subprocess.run([PERF, "script", "-i", path], capture_output=True, timeout=TIMEOUT).returncode:
        pytest.skip(f"perf cannot read what perf record {' '.join(options)} wrote")
    return path


def script(path: Path, fields: str, *options: str) -> str:
    done = subprocess.run([PERF, "script", "-i", path, "-F", fields, *options], capture_output=True, timeout=TIMEOUT, check=True)
    return done.stdout.decode()


FORMAT = """name: probe
ID: 77
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;

	field:char comm[16];	offset:8;	size:16;	signed:0;
	field:int number;	offset:24;	size:4;	signed:1;
	field:__data_loc char[] text;	offset:28;	size:4;	signed:0;

print fmt: "none"
"""


def made(pipe: bool = False, stack: bytes = b"", mapped: bytes = b"/nowhere/bin/made", switches: list[tuple[int, int]] = []) -> bytes:
    """A recording whose every number is known: three samples of cpu-clock in two places, one tracepoint with fields; with
    a copy of the stack each, if one is given; and switches, by time and what they say."""
    def record_of(kind: int, misc: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 8)
        return struct.pack("<IHH", kind, misc, 8 + len(body)) + body

    kind = 1 << 16 | 1 | 2 | 4 | 1 << 8 | 1 << 5 | 1 << 10  # identifier, ip, tid, time, period, chain, raw

    kind |= 3 << 12 if stack else 0  # registers and stack of the user
    numbers = 0x1ff | 0xff << 16  # ax bx cx dx si di bp sp ip, r8 to r15

    def attr(event_type: int, config: int) -> bytes:
        head = struct.pack("<IIQQQQQ", event_type, 112, config, 1000, kind, 0, 1 << 18).ljust(80, b"\0")
        return (head + struct.pack("<QI", numbers, len(stack))).ljust(112, b"\0")

    def copy(address: int) -> bytes:
        registers = [0] * 6 + [0x7000, 0x7000, address] + [0] * 8
        return struct.pack("<18QQ", 2, *registers, len(stack)) + stack + struct.pack("<Q", len(stack)) if stack else b""

    def tail(time: int) -> bytes:
        return struct.pack("<IIQQ", 40, 41, time, 5)

    def sample(event: int, time: int, period: int, chain: list[int], raw: bytes = b"\0\0\0\0") -> bytes:
        body = struct.pack("<QQIIQQ", event, chain[-1], 40, 41, time, period)
        return record_of(9, 2, body + struct.pack(f"<Q{len(chain)}Q", len(chain), *chain) + struct.pack("<I", len(raw)) + raw
                         + copy(chain[1]))

    user = 2**64 - 512
    fields = struct.pack("<HHI16siI", 0, 0, 0, b"who", -7, 6 << 16 | 32) + b"hello\0"
    records = [record_of(3, 0, struct.pack("<II", 40, 41) + b"made\0\0\0\0" + tail(0)),
               record_of(1, 2, struct.pack("<IIQQQ", 40, 40, 0x1000, 0x1000, 0) + (mapped + b"\0").ljust(-(-len(mapped) // 8) * 8 + 8, b"\0") + tail(0)),
               sample(5, 100, 1000, [user, 0x1010, 0x1100]), sample(5, 300, 500, [user, 0x1020, 0x1100]),
               sample(5, 200, 1000, [user, 0x1010, 0x1100]), sample(6, 250, 1, [user, 0x1010, 0x1100], fields),
               record_of(2, 0, struct.pack("<QQ", 5, 9) + tail(400)),
               *(record_of(14, misc, tail(time)) for time, misc in switches)]
    text = FORMAT.encode()
    tracing = b"\x17\x08\x44tracing" + b"0.6\0" + struct.pack("<BBI", 0, 8, 4096)
    tracing += b"header_page\0" + struct.pack("<Q", 0) + b"header_event\0" + struct.pack("<Q", 0)
    tracing += struct.pack("<II", 0, 1) + b"made\0" + struct.pack("<IQ", 1, len(text)) + text
    if pipe:
        records[:0] = [record_of(64, 0, attr(1, 0) + struct.pack("<Q", 5)), record_of(64, 0, attr(2, 77) + struct.pack("<Q", 6)),
                       record_of(66, 0, struct.pack("<I", len(tracing))) + tracing + bytes(-len(tracing) % 8),
                       record_of(78, 0, struct.pack("<QQ", 2, 6) + b"made:probe\0")]
        return b"PERFILE2" + struct.pack("<Q", 16) + b"".join(records)
    ids, attrs = 104, 120
    data = attrs + 2 * 128
    content = b"".join(records)
    table = data + len(content)
    bits = 1 << 1 | 1 << 12
    described = struct.pack("<II", 2, 112)
    for event, name in ((attr(1, 0), b"cpu-clock"), (attr(2, 77), b"made:probe")):
        described += event + struct.pack("<II", 1, 16) + name.ljust(16, b"\0") + struct.pack("<Q", 5 + (event != attr(1, 0)))
    places = struct.pack("<QQQQ", table + 32, len(tracing), table + 32 + len(tracing), len(described))
    head = b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, 128, attrs, 256, data, len(content), 0, 0) + struct.pack("<QQQQ", bits, 0, 0, 0)
    return head + struct.pack("<QQ", 5, 6) + attr(1, 0) + struct.pack("<QQ", ids, 8) + attr(2, 77) + struct.pack(
        "<QQ", ids + 8, 8) + content + places + tracing + described


@pytest.mark.parametrize("pipe", [False, True], ids=["file", "pipe"])
def test_perf_made(sonde, tmp_path, pipe):
    (tmp_path / "made.data").write_bytes(made(pipe))
    database = imported(sonde, tmp_path, tmp_path / "made.data")
    rows = report(sonde, database, "--metric", "cpu-clock")
    assert {row["name"]: (row["values"]["cpu-clock"]["exclusive"]["count"], row["values"]["cpu-clock"]["exclusive"]["sum"])
            for row in rows if row["kind"] == "native"} == {"made+0x100": (0, 0), "made+0x10": (2, 2000), "made+0x20": (1, 500)}
    about = info(sonde, database)
    assert about["events"] == 4 and about["drops"] == {"perf-lost": 9} and about["program"] == "made"
    assert [(profile["pid"], profile["tid"], profile["thread"]) for profile in about["profiles"]] == [(40, 41, "made")]


def test_code_without_symbols_is_its_file(sonde, tmp_path):
    """The sentence does not name one instruction of a file of which nobody has symbols; the report has all of them."""
    (tmp_path / "made.data").write_bytes(made())
    text = json.loads(sonde("timeline", tmp_path / "made.data", "--format", "json").out)["sentences"][0]
    assert "most are in [made] (100.0%)." in text, text
    rows = report(sonde, imported(sonde, tmp_path, tmp_path / "made.data"), "--metric", "cpu-clock")
    assert {"made+0x10", "made+0x20"} <= {row["name"] for row in rows}


def test_perf_made_switches(sonde, tmp_path):
    """A thread that somebody else's turn interrupted is ready, one that went by itself is blocked."""
    into, out, preempted = 2, 2 | 1 << 13, 2 | 1 << 13 | 1 << 14
    (tmp_path / "made.data").write_bytes(made(switches=[(500, into), (540, preempted), (570, into), (580, out), (600, into)]))
    rows = report(sonde, imported(sonde, tmp_path, tmp_path / "made.data"), "--metric", "thread-state-time")
    found = {row["name"]: row["values"]["thread-state-time"]["inclusive"] for row in rows if "thread-state-time" in row["values"]
             and row["depth"]}
    assert {name: (stat["count"], stat["sum"]) for name, stat in found.items()} == {
        "running": (2, 50), "ready": (1, 30), "blocked": (1, 20), "interruptible": (1, 20)}


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    """Two threads that spend three quarters of their time in heavy and one in light, and sleep in between. The first one
    touches new memory meanwhile, the other one none."""
    if not PERF:
        pytest.skip("perf is not installed")
    folder = tmp_path_factory.mktemp("perf")
    (folder / "work.c").write_text("""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static volatile double sum;
__attribute__((noinline)) void leaf(long n) { for (long i = 0; i < n; i++) sum += i * 0.5; }
__attribute__((noinline)) void heavy(void) { leaf(6000000); sum++; }
__attribute__((noinline)) void light(void) { leaf(2000000); sum++; }
static void *run(void *argument)
{
	for (int i = 0; i < 5; i++) {
		char *memory = argument ? NULL : malloc(1 << 20);
		for (int k = 0; memory && k < 1 << 20; k += 4096)
			memory[k] = 1;
		heavy();
		light();
		usleep(2000);
		free(memory);
	}
	return argument;
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, run, &thread);
	run(NULL);
	return pthread_join(thread, NULL);
}
""")
    subprocess.run(["gcc", "-g", "-O0", "-fno-omit-frame-pointer", "-o", folder / "work", folder / "work.c", "-lpthread"], check=True)
    return folder / "work"


def totals_by_perf(path: Path) -> dict:
    """{(event, tid): (samples, sum of periods)}"""
    found: dict = defaultdict(lambda: [0, 0])
    for line in script(path, "tid,event,period").splitlines():
        match = re.match(r"\s*(\d+)\s+(\d+)\s+(\S+?):\s*$", line)
        if match:
            entry = found[match[3], int(match[1])]
            entry[0] += 1
            entry[1] += int(match[2])
    return {key: tuple(value) for key, value in found.items()}


def totals_here(sonde, database: Path, events: set) -> dict:
    """The same out of the database, by its Python package's one way that needs nothing built: CSV by profile."""
    found = {}
    about = info(sonde, database)
    for event in events:
        done = sonde("report", "--view", "threads", "--metric", event, "--format", "json", database)
        assert done.status == 0, done.err
        for row in json.loads(done.out)["rows"]:
            stat = row["values"].get(event, {}).get("inclusive")  # a thread that the event never met has none
            if row["depth"] == 0 and stat and stat["count"]:
                found[event, row_tid(row, about)] = (stat["count"], stat["sum"])
    return found


def row_tid(row: dict, about: dict) -> int:
    match = re.search(r"(\d+)(?:/(\d+))?", row["name"].split(" ", 1)[-1])
    assert match, row
    return int(match[2] or match[1])


def paths_by_perf(path: Path) -> dict:
    """{functions, outermost first: samples}, as perf names them."""
    found: dict = defaultdict(int)
    for sample in script(path, "ip,sym,dso", "--no-inline").split("\n\n"):
        frames = []
        for line in sample.splitlines():
            match = re.match(r"\s*[0-9a-f]+ (.*?) \((.*)\)$", line)
            if match:
                frames.append(match[1].split("+")[0])
        if frames:
            found[tuple(reversed(frames))] += 1
    return found


def leaf_counts(rows: list, kinds=("native",)) -> dict:
    """{function: samples of its own}, loops being of their function."""
    found: dict = defaultdict(int)
    for row in rows:
        count = sum(value["exclusive"]["count"] for value in row["values"].values())
        owner = row
        while owner["kind"] == "loop":
            owner = next(other for other in rows if other["id"] == owner["parent"])
        if count and owner["kind"] in kinds:
            found[owner["name"]] += count
    return found


@pytest.mark.parametrize("kind", ["file", "compressed", "pipe"])
def test_perf_callchains(sonde, tmp_path, program, kind):
    options = ["-e", CLOCK, "-F", "2000", "-g"] + (["-z"] if kind == "compressed" else [])
    path = record(tmp_path, "perf.data", *options, program=(program,), pipe=kind == "pipe")
    database = imported(sonde, tmp_path, path)
    expected = totals_by_perf(path)
    assert totals_here(sonde, database, {CLOCK}) == expected and len(expected) >= 2
    rows = report(sonde, database, "--metric", CLOCK)
    wanted: dict = defaultdict(int)
    for names, count in paths_by_perf(path).items():
        wanted[names[-1]] += count
    leaves = leaf_counts(rows)
    assert leaves["leaf"] == wanted["leaf"] > 20
    heavy = sum(row["values"][CLOCK]["inclusive"]["count"] for row in rows if row["name"] == "heavy")
    light = sum(row["values"][CLOCK]["inclusive"]["count"] for row in rows if row["name"] == "light")
    by_perf = paths_by_perf(path)
    assert heavy == sum(count for names, count in by_perf.items() if "heavy" in names)
    assert light == sum(count for names, count in by_perf.items() if "light" in names)
    about = info(sonde, database)
    assert about["events"] == sum(count for count, _ in expected.values())
    assert [row for row in rows if row["name"] == "heavy"][0]["file"].endswith("work.c")


def counted(path: Path) -> dict[str, tuple[int, int]]:
    """Samples and their sum of each event, by perf."""
    found: dict = defaultdict(lambda: (0, 0))
    for line in script(path, "period,event").splitlines():
        period, event = line.split()
        found[event.rstrip(":")] = (found[event.rstrip(":")][0] + 1, found[event.rstrip(":")][1] + int(period))
    return dict(found)


@pytest.mark.parametrize("options", [["-e", "{cpu-clock,page-faults}:S"], ["-a", "--threads", "-e", "cpu-clock,page-faults"]],
                         ids=["group-read-by-its-leader", "folder-with-a-file-a-thread"])
def test_perf_counts_beside_the_samples(sonde, tmp_path, program, options):
    path = record(tmp_path, "perf.data", *options, program=(program,))
    about = info(sonde, imported(sonde, tmp_path, path))
    expected = counted(path)
    assert {metric["name"]: (metric["count"], metric["sum"]) for metric in about["metrics"]} == expected and expected
    assert about["events"] == sum(count for count, _ in expected.values())


def test_perf_several_events(sonde, tmp_path, program):
    """Also where a thread has nothing of one of them."""
    periods = {"cpu-clock": 100000, "page-faults": 100, "context-switches": 1}
    path = record(tmp_path, "perf.data", "-e", ",".join(f"{name}/period={period},name={name}/" for name, period in periods.items()),
                  program=(program,))
    database = imported(sonde, tmp_path, path)
    expected = totals_by_perf(path)
    events = {event for event, _ in expected}
    # of a user's program alone, perf says so in the name
    assert {event.removesuffix(":u") for event in events} >= {"cpu-clock", "page-faults"}
    assert totals_here(sonde, database, events) == expected
    assert len({tid for event, tid in expected if event.removesuffix(":u") == "page-faults"}) == 1


def sched_by_perf(path: Path) -> tuple[dict, dict]:
    """Nanoseconds by (tid, state), and by cpu, from the text of perf script; only what begins and ends in the recording."""
    states: dict = defaultdict(int)
    busy: dict = defaultdict(int)
    now: dict = {}
    on_cpu: dict = {}
    last = 0

    def turn(tid: int, state: str | None, time: int) -> None:
        if tid and tid in now and now[tid][0]:
            states[tid, now[tid][0]] += time - now[tid][1]
        if tid:
            now[tid] = (state, time)

    for line in script(path, "cpu,time,event,trace", "--ns").splitlines():
        match = re.match(r"\s*\[(\d+)\]\s+(\d+)\.(\d{9}):\s+sched:(\w+):\s+(.*)$", line)
        if not match:
            continue
        cpu, time, kind, rest = int(match[1]), int(match[2]) * 10**9 + int(match[3]), match[4], match[5]
        last = time
        if kind == "sched_switch":
            parts = re.search(r"prev_pid=(\d+) .*prev_state=(\S+) ==> .* next_pid=(\d+) ", rest)
            assert parts, rest
            before, state, after = int(parts[1]), parts[2], int(parts[3])
            if on_cpu.get(cpu, (0, 0))[0]:
                busy[cpu] += time - on_cpu[cpu][1]
            if on_cpu.get(cpu, (0, 0))[0] not in (0, before):  # perf missed an event
                turn(on_cpu[cpu][0], None, time)
            on_cpu[cpu] = (after, time)
            ended = state.startswith(("X", "Z"))
            turn(before, "ready" if state.startswith("R") else None if ended else "blocked", time)
            turn(after, "running", time)
        elif kind.startswith("sched_wak"):
            tid = int(re.search(r" pid=(\d+) ", rest)[1])
            if now.get(tid, (None, 0))[0] not in ("running", "ready"):
                turn(tid, "ready", time)
    for tid in list(now):
        turn(tid, None, last)
    for cpu, (tid, since) in on_cpu.items():
        busy[cpu] += last - since if tid else 0
    return {key: value for key, value in states.items() if value}, {key: value for key, value in busy.items() if value}


def test_perf_scheduler(sonde, tmp_path, program):
    path = record(tmp_path, "perf.data", "-a", "-e", "sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new", program=(program,))
    database = imported(sonde, tmp_path, path)
    states, busy = sched_by_perf(path)
    rows = report(sonde, database, "--metric", "thread-state-time")
    for state in ("running", "ready", "blocked"):
        here = [row for row in rows if row["name"] == state and row["depth"] == 1]
        there = sum(value for (_, name), value in states.items() if name == state)
        assert sum(row["values"]["thread-state-time"]["inclusive"]["sum"] for row in here) == there
    about = info(sonde, database)
    processors = {(profile["thread"], profile["tid"]) for profile in about["profiles"] if profile["kind"] == "processor"}
    assert processors == {(f"CPU {cpu}", cpu) for cpu in busy}
    switches = script(path, "event").count("sched:sched_switch:")
    rows = report(sonde, database, "--metric", "sched:sched_switch")
    assert rows[0]["values"]["sched:sched_switch"]["inclusive"]["count"] == switches > 20


def test_perf_switch_records(sonde, tmp_path, program):
    """Without the right to tracepoints perf still tells of a program's own switches."""
    path = record(tmp_path, "perf.data", "--switch-events", "-e", "cpu-clock", program=(program,))
    rows = report(sonde, imported(sonde, tmp_path, path), "--metric", "thread-state-time")
    blocked = [row for row in rows if row["name"] == "blocked"]
    # each of the two threads sleeps 5 times for 2 ms; a thread that is only preempted is not blocked
    assert blocked and sum(row["values"]["thread-state-time"]["inclusive"]["sum"] for row in blocked) >= 2 * 5 * 2e6
    assert sum(row["values"]["thread-state-time"]["inclusive"]["count"] for row in blocked) >= 2 * 5


def test_perf_damaged(sonde, tmp_path, program):
    path = record(tmp_path, "perf.data", "-e", "cpu-clock", "-g", program=(program,))
    whole = path.read_bytes()
    data = struct.unpack_from("<Q", whole, 40)[0]
    cases = {"head": (whole[:60], "damaged"), "attrs": (whole[:24] + b"\xff" * 8 + whole[32:], "damaged"),
             "big-endian": (b"2ELIFREP" + whole[8:], "big-endian"), "features": (whole[:-100] + b"\xff" * 100, None),
             "record": (whole[:data + 6] + b"\0\0" + whole[data + 8:], "damaged (records)")}
    for name, (content, wanted) in cases.items():
        bad = tmp_path / f"{name}.data"
        bad.write_bytes(content)
        done = sonde("import", bad, "-o", tmp_path / "bad.sdb")
        if wanted:
            assert done.status == 128 and wanted in done.err and len(done.err_lines) == 1, (name, done)
            assert not (tmp_path / "bad.sdb").exists()
        else:
            assert done.status in (0, 128)
            (tmp_path / "bad.sdb").unlink(missing_ok=True)


def test_perf_killed_while_recording(sonde, tmp_path, program):
    """A file whose end is missing is read as far as it goes, and says so."""
    path = record(tmp_path, "perf.data", "-e", "cpu-clock", "-g", program=(program,))
    whole = path.read_bytes()
    data, length = struct.unpack_from("<QQ", whole, 40)
    cut = tmp_path / "cut.data"
    cut.write_bytes(whole[:48] + struct.pack("<Q", 0) + whole[56:data + length // 2 - 3])
    about = info(sonde, imported(sonde, tmp_path, cut))
    assert about["drops"].get("import-cut") == 1 and about["events"] > 10
    # at the end of a record as well, where the header knows of more
    end = data
    while end < data + length // 2:
        end += struct.unpack_from("<H", whole, end + 6)[0]
    cut.write_bytes(whole[:end])
    assert info(sonde, imported(sonde, tmp_path, cut))["drops"].get("import-cut") == 1


STACKS = r"""
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define APART __attribute__((noinline, noclone)) static
#define STAY __asm__ volatile("" ::: "memory") /* no tail call */
static volatile double sink;
APART void leaf(int n) { for (int i = 0; i < n; i++) sink += i * 0.5; STAY; }
APART void padded(int n) { char pad[300]; memset(pad, n, sizeof(pad)); leaf(n); sink += pad[3]; STAY; }
APART void recurse(int depth, int n) { if (depth) recurse(depth - 1, n); else padded(n); STAY; }
APART void realigned(int n) { _Alignas(64) volatile double wide[8]; wide[n & 7] = 1; leaf(n); sink += wide[0]; STAY; }
APART int compare(const void *a, const void *b) { leaf(20); return *(const int *)a - *(const int *)b; }
APART void sort(void) { static int v[3000]; for (int i = 0; i < 3000; i++) v[i] = i * 7919 % 3001; qsort(v, 3000, 4, compare); STAY; }
APART void on_signal(int number) { (void)number; leaf(200000); STAY; }
APART void signalled(void) { raise(SIGUSR1); STAY; }
APART void calls(void) { for (int i = 0; i < 3000; i++) sink += write(-1, "", 1); STAY; }
int main(void)
{
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 60; i++) {
		recurse(5, 200000);
		realigned(200000);
		sort();
		calls();
		signalled();
	}
	return 0;
}
"""
PROBED = {"main", "leaf", "padded", "recurse", "realigned", "compare", "sort", "on_signal", "signalled", "calls"}
KNOWN_STACKS = {("main", *["recurse"] * 6, "padded", "leaf"), ("main", "realigned", "leaf"), ("main", "sort", "compare", "leaf"),
                ("main", "signalled", "on_signal", "leaf"), ("main", "calls")}


def stacks_here(rows: list) -> dict:
    """{functions of the program, outermost first: samples}"""
    found: dict = defaultdict(int)
    stack: list = []
    for row in rows:
        stack[row["depth"]:] = [row]
        count = row["values"][CLOCK]["exclusive"]["count"] if CLOCK in row["values"] else 0
        names = tuple(frame["name"] for frame in stack if frame["kind"] == "native" and frame["name"] in PROBED)
        if count:
            found[names] += count
    return found


@pytest.mark.parametrize("options", ["-O0", "-O2 -fomit-frame-pointer", "-O2 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables"],
                         ids=["O0", "tables", "frame-pointers"])
def test_perf_copied_stacks(sonde, tmp_path, options):
    """Stacks that perf only copied, against what perf's own unwinder makes of the same copies."""
    (tmp_path / "stacks.c").write_text(STACKS)
    subprocess.run(["gcc", *options.split(), "-o", tmp_path / "stacks", tmp_path / "stacks.c"], check=True)
    path = record(tmp_path, "perf.data", "--call-graph", "dwarf", "-e", CLOCK, "-F", "499", program=(tmp_path / "stacks",))
    here = stacks_here(report(sonde, imported(sonde, tmp_path, path), "--metric", CLOCK))
    samples = sum(here.values())
    known = {stack: here.get(stack, 0) for stack in KNOWN_STACKS}
    assert samples > 100 and all(known.values()), here
    if "no-asynchronous" in options:  # perf follows no frame pointers
        assert sum(count for stack, count in here.items() if stack[:1] == ("main",)) > 0.9 * samples, here
        return
    there: dict = defaultdict(int)
    for stack, count in paths_by_perf(path).items():
        there[tuple(name for name in stack if name in PROBED)] += count
    assert sum(there.values()) == samples
    different = sum(abs(here.get(stack, 0) - there.get(stack, 0)) for stack in {*here, *there})
    assert different <= 0.02 * samples, (here, there)


def test_perf_made_stack(sonde, tmp_path):
    """A stack of two frames by frame pointers, in a file that is not here."""
    stack = struct.pack("<4Q", 0x7010, 0x1200, 0, 0x1300) + bytes(32)
    (tmp_path / "made.data").write_bytes(made(stack=stack))
    rows = report(sonde, imported(sonde, tmp_path, tmp_path / "made.data"), "--metric", "cpu-clock")
    outer = [row["name"] for row in rows if row["kind"] == "native"]
    assert outer == ["made+0x300", "made+0x200", "made+0x10", "made+0x20"]


def test_perf_short_copies(sonde, tmp_path):
    """What a copy does not reach is counted, and what it reaches is right."""
    (tmp_path / "stacks.c").write_text(STACKS)
    subprocess.run(["gcc", "-O2", "-o", tmp_path / "stacks", tmp_path / "stacks.c"], check=True)
    path = record(tmp_path, "perf.data", "--call-graph", "dwarf,256", "-e", CLOCK, "-F", "499", program=(tmp_path / "stacks",))
    database = imported(sonde, tmp_path, path)
    here = stacks_here(report(sonde, database, "--metric", CLOCK))
    cut = info(sonde, database)["drops"]["unwind-truncated"]
    inner = sum(count for stack, count in here.items() if stack[-2:] == ("padded", "leaf"))
    assert 0 < inner <= cut
    assert here[("main", "realigned", "leaf")] > 0 and not any(stack[:1] == ("recurse",) for stack in here)
