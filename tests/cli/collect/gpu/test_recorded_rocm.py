# SPDX-License-Identifier: Apache-2.0
"""Recordings of rocprofiler-sdk (docs/format/recording.md), on AMD's devices that are not there: what Sonde stores of a replay equals what it
stores of the program."""
from __future__ import annotations

import os
import struct
import subprocess
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Callable

import program
import pytest
from program import ROOT, SONDE
from on_devices import metrics
from test_recorded_samples import instructions
from test_recording import FAKE, GPU, READER, RECORD, Reader, entries, forged, replay, stored
from test_rocm import Ran, intervals, known_program, measured, on_fakes, recorded_streams, true_streams  # noqa: F401 (a fixture)
from test_rocm_memory import SETTINGS, memory_program, ran  # noqa: F401 (fixtures)
from test_rocm_samples import BETA, sampled

import recording  # (the folder that test_recording adds)

LAUNCHES = 40 + 60 + 25 + 35 + 4
KERNELS = 40 + 60 + 25 + 35 + 10 * 4
SAMPLES = ("--gpu-samples",)
POINTED = 31  # the kind of what arguments point at


@cache
def recorder() -> bytes:
    """Compiled once: a folder that has it is recorded into as it is."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([RECORD, "--rocm", folder, "true"], check=True)
        return Path(folder, "librecorder_rocm.so").read_bytes()


def record(folder: Path, *command: str | Path, fail: str = "none", options: tuple[str, ...] = (), status: int = 0,
           **environment: str) -> tuple[str, Path]:
    """What the program printed, and its one recording."""
    (folder / "recorded").mkdir(exist_ok=True)
    (folder / "recorded/librecorder_rocm.so").write_bytes(recorder())
    done = subprocess.run([FAKE, "--rocm", "--fail", fail, RECORD, "--rocm", *options, folder / "recorded", *map(str, command)],
                          capture_output=True, text=True, timeout=120, env={**os.environ, **environment}, stdin=subprocess.DEVNULL)
    assert done.returncode == status, done.stderr
    found, = (folder / "recorded").glob("*.recording")
    return done.stdout, found


def all_of(folder: Path) -> dict:
    """With samples, and the code objects that are kept."""
    kept = sorted(path.name for path in (folder / "run.sonde").glob("*.sonde-code-object"))
    return {**stored(folder, "rocm"), "samples": instructions(folder), "code": kept,
            "lost": program.info(folder).get("drops", {}).get("gpu-sample-lost", 0)}


def count_of(found: dict, metric: str) -> int:
    return sum(count for path, count in found[metric].items() if path.endswith(": count"))


@pytest.fixture
def both(known_program, tmp_path) -> Callable[..., tuple[dict, dict]]:  # noqa: F811
    def run(*arguments: str, fail: str = "none", options: tuple[str, ...] = (), graphs: str = "nodes", **environment: str) -> tuple[dict, dict]:
        """What is stored of the program itself, and of the replay of its recording."""
        for name in ("direct", "replayed"):
            (tmp_path / name).mkdir()
        if options:
            environment[BETA] = "1"
        options = ("--gpu-graphs", graphs, *options)
        direct = (sampled if BETA in environment else on_fakes)(tmp_path / "direct", known_program, *arguments, fail=fail, options=options, **environment)
        out, recorded = record(tmp_path, known_program, *arguments, fail=fail, options=("--samples", "continuous") if BETA in environment else (),
                               **environment)
        assert out == direct.out
        replay(recorded, tmp_path / "replayed", *options)
        return all_of(tmp_path / "direct"), all_of(tmp_path / "replayed")
    return run


# ---- a replay is what ran ----

def test_a_replay_is_stored_as_the_program_is(both):
    direct, replayed = both()
    assert replayed == direct and direct["drops"] == {}
    assert count_of(direct, "kernel-time") == KERNELS and count_of(direct, "fill-time") == 2
    assert direct["copy-bytes"]["hipMemcpy > copy host to device: sum"] == 4 << 16
    assert direct["fill-bytes"]["hipMemset > set: sum"] == 4 << 16


@pytest.mark.parametrize("fail", ["short", "long", "untimed", "drop", "split", "stop", "flush", "version", "old", "refuse"])
def test_a_failure_is_replayed(both, fail):
    direct, replayed = both(fail=fail)
    assert replayed == direct


def test_whole_graphs(both):
    direct, replayed = both(graphs="whole")
    # how long a replay takes as a whole differs between two runs
    times = [found["graph-time"].pop("hipGraphLaunch > graph: sum") for found in (direct, replayed)]
    assert replayed == direct and count_of(direct, "graph-time") == 10 and min(times) > 0


@pytest.mark.parametrize("how,kernels", [("fork", KERNELS), ("exit", KERNELS + 100)])
def test_how_a_program_ends(both, how, kernels):
    """With a child, which is not recorded, and while kernels run."""
    direct, replayed = both(how)
    assert replayed == direct and count_of(direct, "kernel-time") == kernels


def test_the_second_device(known_program, tmp_path):  # noqa: F811
    _, recorded = record(tmp_path, known_program, "second", FAKE_DEVICES="2")
    replay(recorded, tmp_path, "--trace", "--gpu-graphs", "nodes")
    devices = Counter(event["device"] for event in intervals(Ran("", tmp_path, [], 0)) if event["stream"])
    # the default stream of a new thread is that of the first device
    assert devices == {"0": 35, "1": KERNELS + 5 - 35}


def test_streams(known_program, tmp_path):  # noqa: F811
    _, recorded = record(tmp_path, known_program)
    replay(recorded, tmp_path, "--trace", "--gpu-graphs", "nodes")
    found = recorded_streams(Ran("", tmp_path, [], 0))
    assert found == true_streams(on_fakes(tmp_path, known_program))


def test_memory(memory_program, ran, tmp_path):  # noqa: F811
    """What calls that allocate give the program is written down."""
    out, recorded = record(tmp_path, memory_program, **SETTINGS)
    replay(recorded, tmp_path)
    for metric in ("gpu-alloc", "gpu-free"):
        for what in ("count", "sum"):
            assert measured(Ran(out, tmp_path, [], 0), metric, what) == measured(ran, metric, what)
    assert out == ran.out


def test_memory_of_an_older_recording(memory_program, tmp_path):  # noqa: F811
    """Which says nothing of what arguments point at: nothing is known of memory, and all else is as it was."""
    _, recorded = record(tmp_path, memory_program, **SETTINGS)
    whole = bytearray(recorded.read_bytes())
    at = recording.HEADER.unpack_from(whole)[2]
    while at + recording.HEAD.size <= len(whole) and (size := recording.HEAD.unpack_from(whole, at)[0]):
        if recording.HEAD.unpack_from(whole, at)[1] == POINTED:
            struct.pack_into("<I", whole, at + 4, 0)
        at += size
    recorded.write_bytes(whole)
    replay(recorded, tmp_path)
    assert not {"gpu-alloc", "gpu-free"} & metrics(Ran("", tmp_path, [], 0))


# ---- samples of instructions ----

@pytest.mark.parametrize("fail", ["none", "sdk-pc-host-trap", "sdk-pc-drop", "sdk-pc-invalid", "sdk-pc-uncorrelated", "sdk-pc-unknown", "sdk-pc-file",
                                  "sdk-pc-busy"])
def test_samples_of_a_replay_are_stored_as_those_of_the_program(both, fail):
    direct, replayed = both(fail=fail, options=SAMPLES)
    assert replayed == direct
    assert sum(count for (metric, _), count in direct["samples"].items() if metric == "gpu-samples") > 1000
    assert len(direct["code"]) == 1 and (direct["lost"] > 0) == (fail in ("sdk-pc-drop", "sdk-pc-invalid"))


@pytest.mark.parametrize("fail", ["sdk-pc-unsupported", "sdk-pc-permission", "sdk-pc-hangs", "sdk-pc-context", "sdk-pc-flush"])
def test_a_refusal_to_sample_is_replayed(both, fail):
    direct, replayed = both(fail=fail, options=SAMPLES)
    assert replayed == direct and count_of(direct, "kernel-time") == KERNELS
    assert "not sampled" in direct["status"] or "last samples" in direct["status"]


@pytest.mark.parametrize("recorded_with,wanted,said", [
    ((), SAMPLES, "has no samples of instructions: record.sh takes them with --samples"),
    (("--samples", "continuous"), ("--gpu-samples=continuous@1024",), "was sampled by another method, or at another interval")])
def test_what_was_not_sampled_is_not_there(known_program, tmp_path, recorded_with, wanted, said):  # noqa: F811
    _, recorded = record(tmp_path, known_program, options=recorded_with, **{BETA: "1"})
    done = subprocess.run([FAKE, "--replay", recorded, SONDE, "run", "-q", "-o", tmp_path / "run", "--gpu-graphs", "nodes", *wanted, "--",
                           "replay"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and f"replay: '{recorded}' {said}\n" in done.stderr
    found = all_of(tmp_path)
    assert not found["samples"] and count_of(found, "kernel-time") == KERNELS and "not sampled" in found["status"]


def test_a_period_that_was_asked_for(known_program, tmp_path):  # noqa: F811
    _, recorded = record(tmp_path, known_program, options=("--samples", "continuous@1024"), **{BETA: "1"})
    replay(recorded, tmp_path, "--gpu-samples=continuous@1024")
    assert Reader().read(recorded).settings == {"method": 1, "interval": 1024}
    assert "once in 1024 cycles" in all_of(tmp_path)["status"]


# ---- the file ----

def test_what_a_recording_says(known_program, tmp_path):  # noqa: F811
    _, recorded = record(tmp_path, known_program)
    found = Reader().read(recorded)
    assert found.is_complete and not found.lost and not found.oddities
    assert found.facts["rocprofiler.version"] == "10000" and found.facts["command"].endswith("/known")
    assert (found.records["kernel _Z5scalePff"], found.records["kernel _Z3addPfPKf"]) == (KERNELS - 10, 10)
    assert found.records["kernel __amd_rocclr_fillBufferAligned"] == 2 and found.sizes["copy"] == 2 * 4 << 16
    assert sum(calls["hip hipLaunchKernel"] for calls in found.calls.values()) == LAUNCHES and len(found.calls) == 3
    assert found.modules == {"loaded": 1} and found.lengths == {10: 96, 11: 184}
    printed = subprocess.run([READER, "print", recorded], capture_output=True, text=True, check=True).stdout
    assert printed.count("\n") == len(list(entries(recorded)))
    # the code object is there, once
    code, = (entry for entry in entries(recorded) if entry.kind == "code")
    assert code.rest[:4] == b"\x7fELF" and code.fields["held"] == code.fields["size"]


def test_two_recordings_of_a_program_do_not_differ(known_program, tmp_path):  # noqa: F811
    found = []
    for name, fail in (("one", "none"), ("two", "none"), ("other", "long")):
        (tmp_path / name).mkdir()
        found.append(record(tmp_path / name, known_program, fail=fail)[1])
    same = subprocess.run([READER, "compare", *found[:2]], capture_output=True, text=True)
    assert (same.returncode, same.stdout) == (0, "no difference\n")
    differs = subprocess.run([READER, "compare", found[0], found[2]], capture_output=True, text=True)
    assert differs.returncode == 1 and "bytes of a record of kind 11\n\t184\n\t192\n" in differs.stdout


def test_a_program_that_is_killed_leaves_a_recording(known_program, tmp_path):  # noqa: F811
    """Of a library that delivers soon, with what had come by then."""
    _, recorded = record(tmp_path, known_program, "abort", fail="drop", status=-6)
    found = Reader().read(recorded)
    kernels = sum(count for name, count in found.records.items() if name in ("kernel _Z5scalePff", "kernel _Z3addPfPKf"))
    assert not found.is_complete and sum(calls["hip hipLaunchKernel"] for calls in found.calls.values()) == LAUNCHES and kernels > 0
    replay(recorded, tmp_path, "--gpu-graphs", "nodes")
    assert count_of(stored(tmp_path, "rocm"), "kernel-time") == kernels


def test_a_recording_is_no_longer_than_its_limit(tmp_path):
    program_file = tmp_path / "device"
    done = subprocess.run([FAKE, "--rocm", "hipcc", GPU / "suite/device.hip", program_file, "-g", "-O1", "-D_GNU_SOURCE"], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    _, recorded = record(tmp_path, program_file, "launch", "20000", options=("--mib", "1"))
    found = Reader().read(recorded)
    assert recorded.stat().st_size <= 1 << 20 and found.lost > 10000 and found.is_complete
    replay(recorded, tmp_path)


@pytest.mark.parametrize("kind,field,value", [("traced", "payload_bytes", 1 << 20), ("records", "count", 1 << 30), ("code", "held", 1 << 40),
                                              ("agent", "size", 1 << 40), ("offers", "count", 1 << 40)])
def test_a_forged_recording_is_refused(known_program, tmp_path, kind, field, value):  # noqa: F811
    """With one line: by the reader, and by what plays it."""
    _, recorded = record(tmp_path, known_program, options=("--samples", "continuous"), **{BETA: "1"})
    recorded.write_bytes(forged(recorded.read_bytes(), kind, field, value))
    for command in ([READER, "summary", recorded], [FAKE, "--replay", recorded, "replay"]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 128 and done.stderr.count("\n") == 1, done.stderr


def test_a_recording_that_is_cut(known_program, tmp_path):  # noqa: F811
    """It is read and played as far as it is whole."""
    _, recorded = record(tmp_path, known_program)
    whole = recorded.read_bytes()
    count = len(list(entries(recorded)))
    at, kept = recording.HEADER.unpack_from(whole)[2], 0
    while kept < count // 2:
        at += recording.HEAD.unpack_from(whole, at)[0]
        kept += 1
    recorded.write_bytes(whole[:at] + bytes(64))
    assert not Reader().read(recorded).is_complete and len(list(entries(recorded))) == kept
    replay(recorded, tmp_path)


def test_the_reader_knows_where_fields_are():
    """As the adapter's declarations have them."""
    fields = {"sn_rocprofiler_kernel": recording.SDK_KERNEL, "sn_rocprofiler_copy": recording.SDK_COPY, "sn_rocprofiler_symbol": recording.SDK_SYMBOL,
              "sn_rocprofiler_enqueued": recording.SDK_ENQUEUED, "sn_rocprofiler_sample": recording.SDK_TRAP,
              "sn_rocprofiler_stochastic": recording.SDK_STOCHASTIC}
    asserts = "".join(f'_Static_assert(offsetof(struct {name}, {field}) == {at} && sizeof(((struct {name} *)0)->{field}) == {struct.calcsize(of)}, "");\n'
                      for name, known in fields.items() for field, (of, at) in known.items())
    asserts += f'_Static_assert(sizeof(struct sn_rocprofiler_dispatch) == {recording.SDK_DISPATCH_BYTES}, "");\n'
    asserts += f'_Static_assert(sizeof(struct sn_rocprofiler_counted) == {recording.SDK_COUNTED.size}, "");\n'
    subprocess.run(["gcc", "-fsyntax-only", "-I", ROOT / "src", "-xc", "-"], input=f'#include "collect/adapters/rocm/rocprofiler_samples.h"\n{asserts}',
                   text=True, check=True)


def test_the_recorder_compiles_without_anything_of_amds(tmp_path):
    """And a program without HIP runs under it as by itself."""
    done = subprocess.run([RECORD, "--rocm", tmp_path / "recorded", "sh", "-c", "echo out; exit 3"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "")
    assert [path.name for path in (tmp_path / "recorded").iterdir()] == ["librecorder_rocm.so"]
