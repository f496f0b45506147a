# SPDX-License-Identifier: Apache-2.0
"""Recordings of CUPTI (docs/format/recording.md), on devices that are not there: what Sonde stores of a replay equals what it stores
of the program. And what is run on the day when there is a device. SONDE_FAKE_CUDA is as test_cuda.py has it."""
from __future__ import annotations

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Callable

import program
import pytest
from program import ROOT, SONDE
from test_cuda import FAKE, NODES, TRAINING
from test_cupti import RELEASES

GPU = ROOT / "tests/gpu"
RECORD, READER, RUN, ANALYZE = GPU / "record.sh", GPU / "record/recording.py", GPU / "run.sh", GPU / "analyze.py"
sys.path[:0] = [str(GPU / "suite"), str(GPU / "record")]

from paths import device_part  # noqa: E402 (the folder above)
from recording import COPY, GRAPH, HEAD, HEADER, KERNEL, MEMORY, SET, WAIT, Reader, described, entries  # noqa: E402

GRAPHS = "cudaGraphLaunch > graph: sum"

on_fake_cuda = pytest.mark.skipif(not os.environ.get("SONDE_FAKE_CUDA"),
                                  reason="SONDE_FAKE_CUDA is not set (tests/fake/install.sh prepares a CUDA without a GPU)")


@cache
def recorder() -> bytes:
    """Compiled once: a folder that has it is recorded into as it is."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([RECORD, folder, "true"], check=True)
        return Path(folder, "librecorder.so").read_bytes()


def record(folder: Path, *command: str | Path, fakes: tuple[str, ...] = (), options: tuple[str, ...] = (), status: int = 0,
           **environment: str) -> tuple[str, Path]:
    """What the program printed, and its one recording."""
    (folder / "recorded").mkdir(exist_ok=True)
    (folder / "recorded/librecorder.so").write_bytes(recorder())
    done = subprocess.run([FAKE, *fakes, RECORD, *options, folder / "recorded", *map(str, command)], capture_output=True, text=True,
                          timeout=120, env={**os.environ, **environment})
    assert done.returncode == status, done.stderr
    found, = (folder / "recorded").glob("*.recording")
    return done.stdout, found


def replay(recording: Path, folder: Path, *options: str) -> None:
    done = subprocess.run([FAKE, "--replay", recording, SONDE, "run", "-q", "-o", folder / "run", *options, "--", "replay"],
                          capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def stored(folder: Path, adapter: str = "cuda") -> dict:
    """All that is the device's: paths from the call on, counts and sums; what is lost; and what the adapter says. What a call itself
    copies is known where CUPTI is not, and a replay calls nothing."""
    info = program.info(folder)
    drops = {cause: count for cause, count in info.get("drops", {}).items() if cause.startswith(("gpu-", "capture-"))}
    device = device_part(str(SONDE), folder / "run.sdb").items()
    return {**{metric: {path: value for path, value in found.items() if metric != "copy-bytes" or " > " in path} for metric, found in device},
            "drops": drops,
            "status": info["properties"][f"adapter.{adapter}"]}


@pytest.fixture
def both(known_program, known_run, tmp_path) -> Callable[..., tuple[dict, dict]]:
    def run(*arguments: str, fakes: tuple[str, ...], nodes: bool) -> tuple[dict, dict]:
        """What is stored of the program itself, and of the replay of its recording."""
        options = NODES if nodes else ()
        (tmp_path / "replayed").mkdir()
        direct = known_run(*arguments, options=options, fakes=fakes)
        out, recording = record(tmp_path, known_program, *arguments, fakes=fakes, options=("--nodes",) if nodes else ())
        assert out == direct.out
        replay(recording, tmp_path / "replayed", *options)
        return stored(direct.folder), stored(tmp_path / "replayed")
    return run


# ---- a replay is what ran ----

@on_fake_cuda
@pytest.mark.parametrize("release,nodes", [*((release, True) for release in RELEASES), *((release, False) for release in RELEASES[:-1])])
def test_a_replay_is_stored_as_the_program_is(both, tmp_path, release, nodes):
    """With 13.5 Sonde shares CUPTI, and graphs are always recorded by their nodes."""
    direct, replayed = both(fakes=("--cupti", release), nodes=nodes)
    # how long a whole graph takes depends on the run: on that which was recorded
    recorded = Reader().read(next((tmp_path / "recorded").glob("*.recording"))).times["graph"]
    assert replayed["graph-time"].pop(GRAPHS, 0) == recorded and (recorded > 0) != nodes
    direct["graph-time"].pop(GRAPHS, 0)
    assert replayed == direct
    assert sum(count for path, count in direct["kernel-time"].items() if path.endswith("count")) == (165 if nodes else 125)
    assert nodes or direct["graph-time"]["cudaGraphLaunch > graph: count"] == 10


@on_fake_cuda
@pytest.mark.parametrize("release,failure", [
    # by 50 ms: a machine that is as late as that hides it
    pytest.param("13.2", "early", marks=pytest.mark.measures),
    *(("13.2", failure) for failure in ("zero-times", "reversed-times", "wrong-correlation", "no-correlation", "short-records", "drop",
                                        "unload", "flush-hangs", "late-buffers", "lost-device", "held", "privileges")),
    *(("13.5", failure) for failure in ("drop", "late-buffers", "held")), ("11.8", "held")])
def test_a_failure_is_replayed(both, tmp_path, release, failure):
    direct, replayed = both("plain", fakes=("--cupti", release, "--fail", failure), nodes=False)
    for attempt in range(3):
        if failure == "early" and replayed != direct:  # by 50 ms: a machine that is as late as that hides it
            again = tmp_path / f"again{attempt}"
            again.mkdir()
            replay(next((tmp_path / "recorded").glob("*.recording")), again)
            replayed = stored(again)
    assert replayed == direct


@on_fake_cuda
def test_a_program_that_ends_long_after_its_last_call(tmp_path):
    """What it has then asked for comes as late in the replay, and CUPTI does not hang."""
    (tmp_path / "late.cu").write_text("""
        #include <unistd.h>
        __global__ void before(void) {}
        int main(void)
        {
            cudaFree(nullptr);
            before<<<1, 32>>>();
            before<<<1, 32>>>();
            cudaDeviceSynchronize();
            sleep(3);
        }""")
    subprocess.run([FAKE, "nvcc", "-arch=sm_90", "-o", tmp_path / "late", tmp_path / "late.cu"], check=True)
    _, recording = record(tmp_path, tmp_path / "late")
    replay(recording, tmp_path)
    assert sum(count for path, count in stored(tmp_path)["kernel-time"].items() if path.endswith("count")) == 2


@on_fake_cuda
def test_a_recorded_child_is_not_its_parent(both):
    direct, replayed = both("fork", fakes=(), nodes=True)
    assert replayed == direct


@on_fake_cuda
def test_pytorch(trained, tmp_path):
    """Several threads, of which one runs the backward pass, and graphs."""
    out, recording = record(tmp_path, *TRAINING, options=("--nodes",))
    (tmp_path / "replayed").mkdir()
    replay(recording, tmp_path / "replayed", *NODES)
    assert out == trained.out
    one, other = stored(trained.folder), stored(tmp_path / "replayed")
    assert other["kernel-time"] == one["kernel-time"] and other["copy-bytes"] == one["copy-bytes"] and other["drops"] == one["drops"] == {}


# ---- the file ----


def forged(data: bytes, name: str, field: str, value: int, which: int = 0, **where: int) -> bytes:
    """With another value of a field, or of the head ("bytes", "kind", "thread"), in one of the entries of a kind that have other values."""
    heads, found, kinds, at = {"bytes": ("I", 0), "kind": ("I", 4), "thread": ("I", 16)}, [], {}, HEADER.unpack_from(data)[2]
    while at + HEAD.size <= len(data) and (size := HEAD.unpack_from(data, at)[0]):
        kind = kinds.get(HEAD.unpack_from(data, at)[1])
        if not kinds:
            kinds = described(data[at + HEAD.size:at + size].split(b"\0")[0].decode())
        elif kind and kind.name == name:
            values = dict(zip(kind.fields, kind.layout.unpack_from(data, at + HEAD.size)))
            if where.items() <= values.items():
                found.append((kind, at))
        at += size
    kind, at = found[which]
    of, offset = heads[field] if field in heads and field not in kind.fields else (
        kind.layout.format[1 + kind.fields.index(field)], HEAD.size + struct.calcsize("<" + kind.layout.format[1:1 + kind.fields.index(field)]))
    return data[:at + offset] + struct.pack("<" + of, value) + data[at + offset + struct.calcsize("<" + of):]

@on_fake_cuda
def test_two_recordings_of_a_program_do_not_differ(known_program, tmp_path):
    found = []
    for name, release in (("one", "13.0"), ("two", "13.0"), ("other", "12.4")):
        (tmp_path / name).mkdir()
        found.append(record(tmp_path / name, known_program, fakes=("--cupti", release))[1])
    same = subprocess.run([READER, "compare", *found[:2]], capture_output=True, text=True)
    assert (same.returncode, same.stdout) == (0, "no difference\n")
    differs = subprocess.run([READER, "compare", found[0], found[2]], capture_output=True, text=True)
    assert differs.returncode == 1 and "fact cupti.version\n\t130001\n\t22\n" in differs.stdout
    assert "bytes of a record of kind 10\n\t216\n\t208\n" in differs.stdout


@on_fake_cuda
def test_what_a_recording_says(known_program, tmp_path):
    _, recording = record(tmp_path, known_program, options=("--nodes",))
    found = Reader().read(recording)
    assert found.is_complete and not found.lost and not found.oddities
    assert found.facts["device.0.name"] == "Fake device 0" and found.facts["cupti.version"] == "130202"
    assert (found.records["kernel _Z5scalePff"], found.records["kernel _Z3addPfPKf"]) == (155, 10)
    assert found.sizes["copy"] == 3 * 4 * 65536 and found.nodes == {"created": 8, "cloned": 4}
    calls = sum(calls["runtime __cudaLaunchKernel"] for calls in found.calls.values())
    assert calls == 129 and len(found.calls) == 2
    printed = subprocess.run([READER, "print", recording], capture_output=True, text=True, check=True).stdout
    assert printed.count("\n") == len(list(entries(recording)))


@on_fake_cuda
def test_a_program_that_is_killed_leaves_a_recording(known_program, tmp_path):
    _, recording = record(tmp_path, known_program, "abort", status=-6)
    found = Reader().read(recording)
    assert not found.is_complete and sum(calls["runtime __cudaLaunchKernel"] for calls in found.calls.values()) == 129
    (tmp_path / "replayed").mkdir()
    replay(recording, tmp_path / "replayed")


@on_fake_cuda
def test_a_recording_is_no_longer_than_its_limit(tmp_path):
    program_file = tmp_path / "launches"
    subprocess.run([FAKE, "nvcc", "-O1", "-arch=sm_90", "-I", ROOT / "include", "-o", program_file, ROOT / "bench/cuda_launch.cu"], check=True)
    _, recording = record(tmp_path, program_file, "20000", options=("--mib", "1"))
    found = Reader().read(recording)
    assert recording.stat().st_size <= 1 << 20 and found.lost > 10000 and found.is_complete
    (tmp_path / "replayed").mkdir()
    replay(recording, tmp_path / "replayed")


@on_fake_cuda
def test_a_damaged_recording(known_program, tmp_path):
    """Cut or forged, it is read as far as it is whole, or refused with one line: by the reader, and by what plays it."""
    _, recording = record(tmp_path, known_program, options=("--nodes",))
    data = recording.read_bytes()
    broken = tmp_path / "broken.recording"
    for name, text in [("cut", data[:len(data) // 2]), ("no recording", b"something else" * 10), ("empty", b""),
                       ("newer", data[:8] + struct.pack("<I", 2) + data[12:]), ("too long", data[:32] + struct.pack("<I", 1 << 31) + data[36:])]:
        broken.write_bytes(text)
        done = subprocess.run([READER, "summary", broken], capture_output=True, text=True)
        assert done.returncode in (0, 128) and done.stderr.count("\n") == (done.returncode == 128), (name, done.stderr)
        played = subprocess.run([FAKE, "--replay", broken, "replay"], capture_output=True, text=True)
        assert played.returncode == done.returncode and played.stderr.count("\n") <= 1, (name, played.stderr)


def test_the_reader_knows_where_fields_are(tmp_path):
    """As the adapter's declarations have them."""
    fields = {"sn_cupti_kernel": KERNEL, "sn_cupti_memcpy": COPY, "sn_cupti_memset": SET, "sn_cupti_synchronization": WAIT,
              "sn_cupti_memory": MEMORY, "sn_cupti_graph_trace": GRAPH}
    asserts = "".join(f'_Static_assert(offsetof(struct {name}, {field}) == {at} && sizeof(((struct {name} *)0)->{field}) == {struct.calcsize(of)}, "");\n'
                      for name, known in fields.items() for field, (of, at) in known.items())
    subprocess.run(["gcc", "-fsyntax-only", "-I", ROOT / "src", "-xc", "-"], input=f'#include "collect/adapters/cuda/cupti.h"\n{asserts}',
                   text=True, check=True)


def test_the_recorder_compiles_without_anything_of_nvidias(tmp_path):
    """And a program without CUDA runs under it as by itself."""
    done = subprocess.run([RECORD, tmp_path / "recorded", "sh", "-c", "echo out; exit 3"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "")
    assert [path.name for path in (tmp_path / "recorded").iterdir()] == ["librecorder.so"]


# ---- the day with a device ----

def test_without_a_device_it_says_so_in_one_line(tmp_path):
    if Path("/dev/nvidiactl").exists():
        pytest.skip("there is a device")
    done = subprocess.run([RUN, tmp_path / "left"], capture_output=True, text=True)
    assert done.returncode == 77 and done.stdout.startswith("no CUDA d") and done.stdout.count("\n") == 1
    assert not list(tmp_path.iterdir())


@on_fake_cuda
def test_a_driver_without_a_device(tmp_path):
    done = subprocess.run([FAKE, RUN, tmp_path / "left"], capture_output=True, text=True, env={**os.environ, "FAKE_CUINIT_ERROR": "100"})
    assert done.returncode == 77 and done.stdout.startswith("no CUDA device: no CUDA-capable device is detected; no ") and done.stdout.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def left(tmp_path_factory) -> Path:
    """What is left of a day with a device, which is a fake."""
    folder = tmp_path_factory.mktemp("gpu") / "left"
    done = subprocess.run([FAKE, "--cupti", "13.0", RUN, folder], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "SONDE": str(SONDE), "SONDE_GPU_ROUNDS": "1", "SONDE_GPU_LAUNCHES": "2000", "SONDE_GPU_REPLAYS": "40"})
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def analyzed(given: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, ANALYZE, given], capture_output=True, text=True, timeout=600, env={**os.environ, "SONDE": str(SONDE)})


@on_fake_cuda
@pytest.mark.measures
def test_a_day_with_a_device(left):
    checks = json.loads((left / "cuda/checks.json").read_text())
    assert len(checks) >= 14 and all(check["is_right"] for check in checks)
    rows = (left / "cuda/benchmarks.csv").read_text().splitlines()
    assert len(rows) >= 20 and sum("Sonde" in row for row in rows) >= 10
    done = analyzed(Path(f"{left}.tar.gz"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The device is a fake" in done.stdout and done.stdout.count("replayed: as it ran") == 4
    assert re.findall(r"^  samples: (\d+), as recorded$", done.stdout, re.M) == ["2400", "2400"]
    # the program is the same, and so is the fake
    assert done.stdout.count("beside the fake CUPTI 13.0:\n    no difference") == 4


@on_fake_cuda
@pytest.mark.measures
def test_a_replay_that_is_wrong_is_found(left, tmp_path):
    """A count that is another one, and samples that are not stored, which the replay shows; and a check that failed there."""
    copy = tmp_path / "left"
    shutil.copytree(left, copy)
    truth, checks = copy / "cuda/truth.json", copy / "cuda/checks.json"
    right = truth.read_text()
    wrong = json.loads(right)
    wrong["operations"][-1]["count"] += 1
    truth.write_text(json.dumps(wrong))
    done = analyzed(copy)
    assert done.returncode == 1 and "replayed: ran {" in done.stdout
    truth.write_text(right)
    sampled, = (copy / "cuda/recordings/serialized").glob("*.recording")
    whole = sampled.read_bytes()
    sampled.write_bytes(forged(whole, "module", "result", 999))
    done = analyzed(copy)
    assert done.returncode == 1 and "  samples: recorded {('scale', 'gpu-samples'): 1950" in done.stdout, done.stdout
    sampled.write_bytes(whole)
    failed = json.loads(checks.read_text())
    failed[0]["is_right"] = False
    checks.write_text(json.dumps(failed))
    done = analyzed(copy)
    assert done.returncode == 1 and f"{len(failed)} checks, 1 failed" in done.stdout


@on_fake_cuda
@pytest.mark.measures
def test_a_driver_that_lets_nobody_sample(left, tmp_path):
    """That is no failure, and said."""
    copy = tmp_path / "left"
    shutil.copytree(left, copy)
    sampled, = (copy / "cuda/recordings/serialized").glob("*.recording")
    _, refused = record(tmp_path, copy / "cuda/bin/device", "work", fakes=("--cupti", "13.0", "--fail", "pc-privileges"),
                        options=("--samples", "serialized@1024"))
    shutil.copy(refused, sampled)
    done = analyzed(copy)
    assert done.returncode == 0 and "  no samples: cuptiPCSamplingEnable = 35\n" in done.stdout, done.stdout + done.stderr


@pytest.mark.measures
def test_a_day_with_an_amd_device(tmp_path):
    """On the fakes of AMD's, which take a compiler and a second."""
    (tmp_path / "counters").write_text("SQ_WAVES 4 10 1 -\nGRBM_GUI_ACTIVE 1 100 3 -\n")
    environment = {**os.environ, "SONDE": str(SONDE), "SONDE_GPU_ROUNDS": "1", "SONDE_GPU_LAUNCHES": "2000",
                   "ROCPROFILER_PC_SAMPLING_BETA_ENABLED": "1", "FAKE_COUNTERS": str(tmp_path / "counters")}
    done = subprocess.run([FAKE, "--rocm", RUN, tmp_path / "left"], capture_output=True, text=True, timeout=600, env=environment)
    if done.returncode == 77:
        pytest.skip(done.stderr or done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    checks = json.loads((tmp_path / "left/hip/checks.json").read_text())
    assert len(checks) >= 7 and all(check["is_right"] for check in checks)
    done = analyzed(tmp_path / "left")
    assert done.returncode == 0 and done.stdout.count("replayed: as it ran") == 3, done.stdout + done.stderr
    assert done.stdout.count("beside the fake rocprofiler-sdk:\n    no difference") == 3
    kernels = 40 + 15 + 60 + 10 * 4 + 2  # and the set, and the copy inside the device
    assert f"  counters: {{'SQ_WAVES': {kernels}, 'GRBM_GUI_ACTIVE': {kernels}}}, as recorded\n" in done.stdout
    # one of each of the fake's reasons, a launch
    assert re.findall(r"^  samples: (\d+), as recorded$", done.stdout, re.M) == [str(11 * (40 + 15 + 60 + 10 * 4))]
    none = subprocess.run([FAKE, "--rocm", RUN, tmp_path / "none"], capture_output=True, text=True, env={**environment, "FAKE_DEVICES": "0"})
    assert none.returncode == 77 and none.stdout.endswith("no HIP device: no ROCm-capable device is detected\n") and none.stdout.count("\n") == 1
    assert not (tmp_path / "none").exists()


def day_of_level_zero(folder: Path, *fakes: str, rounds: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([FAKE, "--levelzero", *fakes, RUN, folder / "left"], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "SONDE": str(SONDE), "SONDE_GPU_ROUNDS": str(rounds), "SONDE_GPU_LAUNCHES": "2000", **environment})
    if done.returncode == 77 and "no fake Level Zero" in done.stderr:
        pytest.skip(done.stderr)
    return done


def failed_checks(folder: Path) -> dict[str, str]:
    """What was found instead."""
    checks = json.loads((folder / "left/levelzero/checks.json").read_text())
    return {check["name"]: check["found"] for check in checks if not check["is_right"]}


@pytest.mark.measures
def test_a_day_with_a_device_of_level_zero(tmp_path):
    done = day_of_level_zero(tmp_path, rounds=1)
    assert done.returncode == 0, done.stdout + done.stderr
    checks = json.loads((tmp_path / "left/levelzero/checks.json").read_text())
    assert len(checks) == 11 and all(check["is_right"] for check in checks)
    rows = (tmp_path / "left/levelzero/benchmarks.csv").read_text().splitlines()
    assert [row.split(",")[1].strip('"') for row in rows[1:3]] == ["by itself", "the loader's tracing layer"] and sum("Sonde" in row for row in rows) == 2
    done = analyzed(Path(f"{tmp_path / 'left'}.tar.gz"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The device is a fake" in done.stdout and "replayed: as it ran" in done.stdout
    assert "beside the fake driver of Level Zero:\n    no difference" in done.stdout
    truth = tmp_path / "left/levelzero/truth.json"
    wrong = json.loads(truth.read_text())
    wrong["operations"][0]["count"] += 1
    truth.write_text(json.dumps(wrong))
    done = analyzed(tmp_path / "left")
    assert done.returncode == 1 and "replayed: ran {" in done.stdout


@pytest.mark.measures
def test_the_program_ends_all_that_it_made(tmp_path):
    """Destroying is what an adapter hears of an object's end; and a list is reset, and an event of the program's."""
    done = day_of_level_zero(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    recording, = (tmp_path / "left/levelzero/recordings/lists").glob("*.recording")
    calls: Counter[str] = Counter()
    for of_thread in Reader().read(recording).calls.values():
        calls.update(of_thread)
    count = {name: calls[f"level zero ze{name}"] for name in (
        "ContextDestroy", "ModuleDestroy", "KernelDestroy", "CommandQueueDestroy", "CommandListDestroy", "EventPoolDestroy", "EventDestroy", "MemFree",
        "CommandListReset", "EventHostReset")}
    made = {name: sum(calls[f"level zero ze{one}"] for one in of) for name, of in {
        "ContextDestroy": ["ContextCreate"], "ModuleDestroy": ["ModuleCreate"], "KernelDestroy": ["KernelCreate"],
        "CommandQueueDestroy": ["CommandQueueCreate"], "CommandListDestroy": ["CommandListCreate", "CommandListCreateImmediate"],
        "EventPoolDestroy": ["EventPoolCreate"], "EventDestroy": ["EventCreate"], "MemFree": ["MemAllocDevice"]}.items()}
    assert count == {**made, "CommandListReset": 1, "EventHostReset": 5} and all(made.values())


@pytest.mark.measures
def test_a_kernel_that_computes_something_else_is_found(tmp_path):
    """In one element, neither the first nor the last."""
    done = day_of_level_zero(tmp_path, "--fail", "wrong-result")
    found = failed_checks(tmp_path)
    assert done.returncode == 1 and list(found) == ["the device computes what it should"], done.stdout + done.stderr
    assert found["the device computes what it should"].startswith("'wrong elements: 1 of 65536, of which 100 is ")


@pytest.mark.measures
@pytest.mark.parametrize("fail", ["fast-ticks", "slow-ticks"])
def test_a_clock_of_another_resolution_is_found(tmp_path, fail):
    done = day_of_level_zero(tmp_path, "--fail", fail)
    assert done.returncode == 1 and list(failed_checks(tmp_path)) == ["span: a kernel takes as long as the host's clock says"], done.stdout + done.stderr


@pytest.mark.measures
def test_a_program_that_fails_says_why(tmp_path):
    """There, and where the result is read, which goes on with the next device's."""
    done = day_of_level_zero(tmp_path, FAKE_MEMORY_MIB="1")
    why = "the program failed: zeMemAllocDevice: error 0x70000003\n"
    assert done.returncode == 1 and f"levelzero: {why}" in done.stdout, done.stdout + done.stderr
    assert failed_checks(tmp_path) == {"the program runs by itself": "(1, 'zeMemAllocDevice: error 0x70000003\\n')"}
    (tmp_path / "left/hip/facts").mkdir(parents=True)
    (tmp_path / "left/hip/facts/devices").write_text("1 HIP device\n")
    (tmp_path / "left/hip/facts/result").write_text("line 9: no device\n")
    done = analyzed(tmp_path / "left")
    assert done.returncode == 1 and why in done.stdout and "the program failed: line 9: no device\n" in done.stdout, done.stdout + done.stderr


@pytest.mark.measures
def test_lists_of_which_nothing_was_recorded(tmp_path):
    """A file that cannot be so long is none."""
    done = day_of_level_zero(tmp_path, SONDE_RECORD_MIB=str((1 << 43) - 1))
    assert done.returncode == 1 and "recording lists: there is none\n" in done.stdout, done.stdout + done.stderr
    assert failed_checks(tmp_path) == {}
    done = analyzed(tmp_path / "left")
    assert done.returncode == 1 and "no lists were recorded\n" in done.stdout, done.stdout + done.stderr


@pytest.mark.measures
def test_a_timed_run_that_fails_under_sonde_is_a_failed_check(tmp_path):
    sonde = tmp_path / "sonde"
    sonde.write_text(f"#!/bin/sh\ncase \"$*\" in *--no-analyze*python,operator*) exit 3 ;; esac\nexec {SONDE} \"$@\"\n")
    sonde.chmod(0o755)
    done = day_of_level_zero(tmp_path, rounds=1, SONDE=str(sonde))
    assert done.returncode == 1, done.stdout + done.stderr
    assert failed_checks(tmp_path) == {"each timed run ends well": "{'launch, Sonde, no native paths': 3}"}


@pytest.mark.measures
def test_a_device_that_cannot_be_looked_for_is_not_none(tmp_path):
    done = day_of_level_zero(tmp_path, "--fail", "no-properties")
    assert done.returncode == 1 and "levelzero: looking for devices failed with status 1\n" in done.stdout, done.stdout
    assert "zeDeviceGetProperties: error 0x70000001\n" in done.stderr and not (tmp_path / "left").exists()


@pytest.mark.measures
def test_a_device_that_hangs_is_a_failure(tmp_path):
    """It runs one kernel for 20 minutes."""
    (tmp_path / "plan").write_text("scale 1200000000000\n")
    begin = time.monotonic()
    done = day_of_level_zero(tmp_path, "--plan", str(tmp_path / "plan"), SONDE_GPU_LIMIT="5")
    assert time.monotonic() - begin < 120
    assert done.returncode == 1 and "levelzero: the program failed: it was ended after 5 s\n" in done.stdout, done.stdout + done.stderr
    assert "recording lists: status 124\n" in done.stdout
    assert failed_checks(tmp_path) == {"the program runs by itself": "(124, 'it was ended after 5 s\\n')"}


@pytest.mark.measures
def test_the_first_gpu_is_taken(tmp_path):
    """Not the first device."""
    done = day_of_level_zero(tmp_path, "--fail", "cpu-first", FAKE_DEVICES="3")
    assert done.returncode == 0 and re.findall(r"^device .*$", done.stdout, re.M) == ["device 0: Fake device 1", "device 1: Fake device 2"], done.stderr
    assert (tmp_path / "left/levelzero/facts/result").read_text().startswith("device: Fake device 1\n")


@pytest.mark.measures
def test_a_device_whose_first_queues_copy_alone(tmp_path):
    """And what is written down of a device, its driver and the variables that change what they do."""
    done = day_of_level_zero(tmp_path, "--fail", "copy-first", FAKE_ZE_HZ="12500000", NEOReadDebugKeys="1")
    assert done.returncode == 0 and failed_checks(tmp_path) == {}, done.stdout + done.stderr
    facts = tmp_path / "left/levelzero/facts"
    assert (facts / "devices").read_text() == (
        "device 0: Fake device 0\n  driver 16973890 (0x1030042), interface 1.3\n  ticks of 80 ns, 12500000 in a second; 40 bits valid, of kernels 32\n"
        "  queues 0: 1, flags 0x2, patterns of 16 bytes\n  queues 1: 1, flags 0x3, patterns of 16 bytes\n")
    assert "NEOReadDebugKeys=1\n" in (facts / "environment").read_text()


@pytest.mark.measures
def test_a_module_that_is_not_compiled_says_why(tmp_path):
    done = day_of_level_zero(tmp_path, "--fail", "cut-module")
    why = "build log: an instruction is longer than the module\nzeModuleCreate: error 0x70000004\n"
    assert done.returncode == 1 and f"levelzero: the program failed: {why}" in done.stdout, done.stdout + done.stderr
    assert list(failed_checks(tmp_path)) == ["the program runs by itself", "span: the program runs"]


@pytest.mark.measures
@pytest.mark.parametrize("fakes,environment,why", [
    (("--fail", "cpu-first"), {}, "no Level Zero device that is a GPU"), ((), {"FAKE_DEVICES": "0"}, "no Level Zero device that is a GPU"),
    ((), {"FAKE_ZE_INIT_ERROR": "0x78000003"}, "no Level Zero device: zeInit: error 0x78000003")])
def test_no_gpu_of_level_zero(tmp_path, fakes, environment, why):
    done = day_of_level_zero(tmp_path, *fakes, **environment)
    assert done.returncode == 77 and why in done.stdout and done.stdout.count("\n") == 1, done.stdout + done.stderr
    assert not (tmp_path / "left").exists()


@pytest.mark.skipif(not shutil.which("spirv-as"), reason="no spirv-as (Debian: spirv-tools)")
def test_the_kernels_of_level_zero_are_what_their_source_says(tmp_path):
    source, words = GPU / "suite/kernels.spvasm", GPU / "suite/kernels_spv.h"
    subprocess.run(["spirv-as", "--target-env", "opencl1.2", source, "-o", tmp_path / "kernels.spv"], check=True)
    made = (tmp_path / "kernels.spv").read_bytes()
    assert list(struct.unpack(f"<{len(made) // 4}I", made)) == [int(word, 16) for word in re.findall(r"0x([0-9a-f]{8})", words.read_text())]


@on_fake_cuda
@pytest.mark.parametrize("bad", ["nothing-there", "text"])
def test_what_is_no_result(tmp_path, bad):
    (tmp_path / "text").write_text("text")
    done = analyzed(tmp_path / bad)
    assert done.returncode == 128 and done.stderr.count("\n") == 1
