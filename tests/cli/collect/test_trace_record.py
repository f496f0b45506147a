# SPDX-License-Identifier: Apache-2.0
"""`sonde run --trace`: what was recorded equals what is known of the program, and what the profile says."""
from __future__ import annotations

import csv
import io
import os
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import program
from test_torch import PYTHONS, version

TRAIN = program.WORKLOADS / "torch/train_tiny.py"
PAGE, CHUNK = 4096, 65536


@pytest.fixture(scope="session")
def known() -> Path:
    return program.compiled("collect/trace_known.c", "-O1")


def events(folder: Path) -> list[dict[str, str]]:
    csv.field_size_limit(1 << 30)
    return list(csv.DictReader(io.StringIO(program.sonde("export", "--to", "events", folder / "run.sdb", "-o", "-"))))


def intervals(folder: Path) -> Counter:
    return Counter(event["name"] for event in events(folder) if event["kind"] == "interval")


def entered(folder: Path, name: str) -> int:
    """Regions of that name that the profile has counted."""
    return sum(round(value["count"]) for path, value in program.paths(folder, "region-time")
               if path[-1]["name"].split(" (")[0] == name)


def drops(folder: Path) -> dict[str, int]:
    return program.info(folder)["drops"]


# ---- regions ----

def test_threads(known, tmp_path):
    """Every region of every thread once, in its thread, and inside the one that holds it."""
    program.run(tmp_path, known, "threads", "5", "300", options=("--trace=regions",))
    found = events(tmp_path)
    assert Counter(event["name"] for event in found) == {"work": 1500, "part": 3000}
    assert entered(tmp_path, "work") == 1500 and entered(tmp_path, "part") == 3000
    threads = Counter(event["tid"] for event in found)
    assert sorted(threads.values()) == [900] * 5
    for tid in threads:
        own = sorted((int(e["start_ns"]), -int(e["end_ns"]), e["name"]) for e in found if e["tid"] == tid)
        end_ns, parts = 0, 0
        for start_ns, negative_end_ns, name in own:
            if name == "work":
                assert start_ns >= end_ns
                end_ns, parts = -negative_end_ns, 0
            else:
                assert -negative_end_ns <= end_ns
                parts += 1
                assert parts <= 2


def test_samples(known, tmp_path):
    """As many as the profile has, in the same contexts."""
    program.run(tmp_path, program.compiled("collect/shares.c", "-O1"), options=("--trace",))
    found = Counter(event["name"].split(" at ")[0] for event in events(tmp_path) if event["kind"] == "sample")
    data = program.info(tmp_path)
    assert sum(found.values()) == data["events"] == sum(profile["samples"] for profile in data["profiles"]) > 0
    # what is left when the program ends is charged to the thread, without a sample
    profile = {path[-1]["name"].split(" at ")[0] for path, _ in program.paths(tmp_path)}
    assert set(found) <= profile


def test_without_the_option_nothing_is_recorded(known, tmp_path):
    program.run(tmp_path, known, "many", "100")
    assert not list(tmp_path.glob("run.sonde/*.sonde-trace"))
    assert program.info(tmp_path)["events"] == 0


def test_deep_nesting(known, tmp_path):
    """Beyond 256 regions no more are followed; those that are come one within the other."""
    program.run(tmp_path, known, "deep", "200", options=("--trace=regions",))
    found = sorted((int(e["start_ns"]), int(e["end_ns"])) for e in events(tmp_path))
    assert len(found) == 200
    for (start, end), (inner_start, inner_end) in zip(found, found[1:]):
        assert start <= inner_start and inner_end <= end
    (tmp_path / "deeper").mkdir()
    program.run(tmp_path / "deeper", known, "deep", "3000", options=("--trace=regions",))
    assert len(events(tmp_path / "deeper")) == 256


# ---- processes ----

def test_fork(known, tmp_path):
    """A file for each process; nothing of the child in the parent's, and the other way round."""
    program.run(tmp_path, known, "fork", "40", "25", options=("--trace=regions",))
    by_process: dict[str, Counter] = {}
    for event in events(tmp_path):
        by_process.setdefault(event["pid"], Counter())[event["name"]] += 1
    assert sorted(map(dict, by_process.values()), key=str) == [{"child": 25}, {"parent": 80}]
    assert len(list(tmp_path.glob("run.sonde/*.sonde-trace"))) == 2


def test_child_by_the_bare_system_call(known, tmp_path):
    """Nobody tells the collector of it: it must not write into its parent's file."""
    program.run(tmp_path, known, "raw-fork", "40", "2000", options=("--trace=regions",))
    assert intervals(tmp_path) == {"parent": 80}


def test_killed(known, tmp_path):
    """All but the last 10 ms is there, without any checkpoint having come: the thread goes on to record, so it writes."""
    command = [program.SONDE, "run", "-q", "-o", tmp_path / "run", "--trace=regions", "--", known, "forever", "20000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "ready\n"
        child = int(subprocess.run(["pgrep", "-P", str(run.pid)], capture_output=True, text=True).stdout.split()[0])
        time.sleep(0.2)
        os.kill(child, signal.SIGKILL)
        run.wait(timeout=60)
    trace, = tmp_path.glob("run.sonde/*.sonde-trace")
    assert trace.stat().st_size > PAGE + CHUNK
    program.sonde("analyze", tmp_path / "run.sonde", "-o", tmp_path / "run.sdb")
    # their contexts are the measurement's, which may have come to nothing; the events are there nevertheless
    data = program.info(tmp_path)
    assert data["events"] >= 20000 and not data["complete"]


def checkpoints(measurement):
    """How many were made, by the commit slots."""
    page = measurement.read_bytes()[:PAGE]
    return max(struct.unpack_from("<Q", page, 1024 + 512 * slot)[0] for slot in (0, 1))


def test_killed_after_a_checkpoint(known, tmp_path):
    command = [program.SONDE, "run", "-q", "-o", tmp_path / "run", "--trace=regions", "--checkpoint", "0.05", "--",
               known, "forever", "20000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "ready\n"
        child = int(subprocess.run(["pgrep", "-P", str(run.pid)], capture_output=True, text=True).stdout.split()[0])
        measured = next(tmp_path.glob("run.sonde/*.sonde-process"))
        before = checkpoints(measured)
        for _ in range(6000):  # one that began after the program was ready
            if checkpoints(measured) > before + 1:
                break
            subprocess.run(["sleep", "0.01"])
        os.kill(child, signal.SIGKILL)
        run.wait(timeout=60)
    assert intervals(tmp_path)["turn"] == 20000


# ---- how much, and when ----

def test_limit(known, tmp_path):
    """The latest are kept, the file stays within the limit, and what went is counted."""
    program.run(tmp_path, known, "many", "300000", options=("--trace=regions", "--trace-limit", "1M"))
    trace, = tmp_path.glob("run.sonde/*.sonde-trace")
    assert trace.stat().st_size <= PAGE + (1 << 20)
    found = events(tmp_path)
    lost = drops(tmp_path)["trace-overwritten"]
    assert lost > 0 and len(found) + lost == 300000 == entered(tmp_path, "turn")
    starts = sorted(int(event["start_ns"]) for event in found)
    assert starts == sorted(set(starts)) or len(set(starts)) > len(starts) * 0.99
    gaps = [after - before for before, after in zip(starts, starts[1:])]
    assert sorted(gaps)[len(gaps) // 2] < 100_000  # they follow each other: no hole of the size of a chunk


def test_limit_over_threads(known, tmp_path):
    program.run(tmp_path, known, "threads", "8", "12000", options=("--trace=regions", "--trace-limit", "1M"))
    lost = sum(count for name, count in drops(tmp_path).items() if name.startswith("trace-"))
    assert lost > 0 and sum(intervals(tmp_path).values()) + lost == 8 * 3 * 12000


@pytest.mark.parametrize("way", ["api", "signal"])
def test_start_and_stop(known, tmp_path, way):
    options = ["--trace=regions", "--trace-paused"] + (["--trace-signal", "USR2"] if way == "signal" else [])
    program.run(tmp_path, known, way, "50", options=tuple(options))
    assert intervals(tmp_path) == {"during": 50}
    assert all(entered(tmp_path, name) == 50 for name in ("before", "during", "after"))


def test_window(known, tmp_path):
    program.run(tmp_path, known, "sleep", "600", options=("--trace=regions", "--trace-window", "0.3"))
    assert intervals(tmp_path) == {"late": 1}
    (tmp_path / "other").mkdir()
    program.run(tmp_path / "other", known, "sleep", "1500", options=("--trace=regions", "--trace-window", "0:1"))
    assert intervals(tmp_path / "other") == {"early": 1}


def test_python_starts_and_stops(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sonde\n"
                      "for name in 'abc':\n"
                      "    if name == 'b': sonde.trace_start()\n"
                      "    for _ in range(20):\n"
                      "        with sonde.region(name): pass\n"
                      "    sonde.trace_stop()\n")
    program.run(tmp_path, sys.executable, script, options=("--trace=regions", "--trace-paused"),
                environment={"PYTHONPATH": str(program.ROOT / "python")})
    assert intervals(tmp_path) == {"b": 20}


# ---- frameworks ----

def test_no_space(known, tmp_path):
    """A file that may not grow ends recording, not the program; what is lost is counted."""
    done = subprocess.run(["sh", "-c", 'ulimit -f 1000; exec "$@"', "sh", program.SONDE, "run", "-q", "-o", tmp_path / "run",
                           "--no-analyze", "--trace=regions", "--", known, "many", "150000"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    program.sonde("analyze", tmp_path / "run.sonde", "-o", tmp_path / "run.sdb")
    lost = drops(tmp_path)["trace-file-size"]
    assert lost > 0 and sum(intervals(tmp_path).values()) + lost == 150000


@pytest.fixture(scope="module", params=PYTHONS)
def training(request, tmp_path_factory) -> Path:
    if not version(request.param):
        pytest.skip(f"{request.param} has no PyTorch")
    folder = tmp_path_factory.mktemp("training")
    program.run(folder, request.param, TRAIN, "30", options=("--trace=samples,operators,memory",), timeout=300)
    return folder


def test_operators_equal_the_profile(training):
    """The same operators by the same paths as often."""
    traced = Counter(event["name"] for event in events(training) if event["kind"] == "interval")
    profile: Counter = Counter()
    for path, value in program.paths(training, "operator-time"):
        profile[path[-1]["name"].split(" (")[0]] += round(value["count"])
    assert traced == profile
    assert sum(traced.values()) > 30 * 100
    assert not {name for name in drops(training) if name.startswith("trace-")}


def test_operators_nest(training):
    ends: list[int] = []
    own = [e for e in events(training) if e["kind"] == "interval"]
    main = Counter(e["tid"] for e in own).most_common(1)[0][0]
    for start, negative_end in sorted((int(e["start_ns"]), -int(e["end_ns"])) for e in own if e["tid"] == main):
        while ends and ends[-1] <= start:
            ends.pop()
        assert not ends or -negative_end <= ends[-1]
        ends.append(-negative_end)


def test_backward_operators_are_tied_to_their_forward_ones(training):
    linked: dict[str, list[dict]] = {}
    for event in events(training):
        if event["link"]:
            linked.setdefault(event["link"], []).append(event)
    pairs = Counter(tuple(e["name"] for e in sorted(both, key=lambda e: int(e["start_ns"]))) for both in linked.values())
    assert pairs[("aten::addmm", "AddmmBackward0")] == 30 * 3
    assert pairs[("aten::tanh", "TanhBackward0")] == 30


def test_memory_adds_up(training):
    """What is in use after each allocation and release is what was before, and its bytes."""
    in_use = changes = 0
    counters = sorted((e for e in events(training) if e["kind"] == "counter"), key=lambda e: int(e["start_ns"]))
    for event in counters:
        change = int(event["attribute.allocated"] or 0) - int(event["attribute.released"] or 0)
        in_use, changes = in_use + change, changes + 1
    assert changes > 30 * 50
    assert int(counters[-1]["attribute.value"]) == in_use
    assert max(int(e["attribute.value"]) for e in counters) > 0


EXCHANGE = """
import sys, time, torch, torch.distributed as dist, torch.multiprocessing as mp
def rank(number, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=store, rank=number, world_size=2)
    x = torch.ones(1000)
    for _ in range(5):
        dist.all_reduce(x)
    if number == 0:
        dist.recv(torch.ones(77), 1)
    else:
        time.sleep(0.6)
        dist.send(torch.ones(77), 0)
    dist.destroy_process_group()
if __name__ == "__main__":
    mp.spawn(rank, ("file://" + sys.argv[1],), 2)
"""


@pytest.mark.parametrize("python", PYTHONS)
def test_messages_between_processes(python, tmp_path):
    """What one sends the other receives, with the same tag and size; who waits for whom."""
    if not version(python):
        pytest.skip(f"{python} has no PyTorch")
    script = tmp_path / "exchange.py"
    script.write_text(EXCHANGE)
    program.run(tmp_path, python, script, tmp_path / "store", options=("--trace=messages",), timeout=300)
    found: dict[str, dict[str, list[dict]]] = {}
    for event in events(tmp_path):
        found.setdefault(event["pid"], {}).setdefault(event["name"], []).append(event)
    one, other = found.values()

    def sizes(process: dict, name: str) -> Counter:
        return Counter((e["attribute.tag"], e["attribute.bytes"]) for e in process.get(name, []))

    assert sizes(one, "gloo send") == sizes(other, "gloo receive") and sizes(other, "gloo send") == sizes(one, "gloo receive")
    late, = [p for p in (one, other) if "308" in {e["attribute.bytes"] for e in p["gloo send"]}]
    early = other if late is one else one
    waits = [int(e["end_ns"]) - int(e["start_ns"]) for e in early["gloo receive"] if e["attribute.peer"] == "1"]
    assert max(waits) > 300_000_000
    assert {e["attribute.peer"] for e in late["gloo send"]} == {"0"}


def test_opencl(tmp_path):
    """Operations as many as the profile has, on their queues, after the calls that started them began."""
    known = program.BUILD / "tests/opencl-known"
    if not known.exists():
        pytest.skip("built without OpenCL")
    if program.run(tmp_path, known, options=("--trace",), check=None).returncode == 77:
        pytest.skip("no OpenCL device here (pocl-opencl-icd gives one)")
    found = events(tmp_path)
    metrics = {metric["name"]: metric["count"] for metric in program.info(tmp_path)["metrics"]}
    device = [e for e in found if e["device"]]
    assert len(device) == sum(metrics[name] for name in ("kernel-time", "copy-time", "fill-time", "map-time"))
    assert Counter(e["name"] for e in device)["add_one"] == 30 + 20 + 30 + 3 * 15
    calls = {e["link"]: e for e in found if e["kind"] == "interval" and not e["device"] and e["link"]}
    assert sum(1 for e in found if e["kind"] == "interval" and not e["device"]) == metrics["gpu-api-time"]
    for operation in device:
        call = calls[operation["link"]]
        assert call["name"].startswith("cl")
        assert int(operation["start_ns"]) - int(operation["attribute.queued"]) >= int(call["start_ns"])
        assert operation["path"].startswith(call["path"])


# ---- what analysis does ----

def test_any_number_of_jobs_gives_the_same_bytes(known, tmp_path):
    program.run(tmp_path, known, "fork", "500", "300", options=("--trace",))
    written = set()
    for jobs in ("1", "2", "5"):
        program.sonde("analyze", "-j", jobs, tmp_path / "run.sonde", "-o", tmp_path / f"{jobs}.sdb")
        written.add((tmp_path / f"{jobs}.sdb").read_bytes())
    assert len(written) == 1


@pytest.mark.parametrize("damage", ["magic", "empty", "chunk", "cut"])
def test_damaged_trace(known, tmp_path, damage):
    """The profile is whole; what of the events could not be read is counted."""
    program.run(tmp_path, known, "many", "30000", options=("--trace=regions",))
    trace, = tmp_path.glob("run.sonde/*.sonde-trace")
    data = bytearray(trace.read_bytes())
    if damage == "magic":
        data[0] ^= 1
    elif damage == "empty":
        data = bytearray()
    elif damage == "chunk":
        data[PAGE + CHUNK + 64 + 1000:PAGE + CHUNK + 64 + 1040] = b"\xff" * 40
    else:
        data = data[:PAGE + 2 * CHUNK]
    trace.write_bytes(data)
    program.sonde("analyze", tmp_path / "run.sonde", "-o", tmp_path / "run.sdb")
    assert entered(tmp_path, "turn") == 30000
    assert program.info(tmp_path)["events"] < 30000
    assert damage == "cut" or drops(tmp_path)["trace-damaged"] > 0


@pytest.mark.parametrize("options", [["--trace=everything"], ["--trace", "--trace-limit", "10"], ["--trace-limit", "1G"],
                                     ["--trace", "--trace-window", "x"], ["--trace", "--trace-window", "1:"],
                                     ["--trace", "--trace-signal", "KILL"], ["--trace-paused"]])
def test_bad_options(options):
    done = subprocess.run([program.SONDE, "run", *options, "--", "true"], capture_output=True, text=True)
    assert done.returncode == 129 and done.stderr.count("\n") == 1 and done.stderr.startswith("sonde: ")
