# SPDX-License-Identifier: Apache-2.0
"""Recordings with modules and samples of instructions (docs/format/recording.md), on devices that are not there: of a replay Sonde stores the
samples that it stores of the program itself. SONDE_FAKE_CUDA is as test_cuda.py has it."""
from __future__ import annotations

import os
import re
import struct
import subprocess
from collections import Counter
from pathlib import Path
from typing import Callable

import program
import pytest
from on_devices import Ran, metrics
from program import ROOT, SONDE, WORKLOADS
from test_cuda import FAKE, NODES
from test_cuda import pytestmark  # noqa: F401  (the same condition)
from test_cuda_samples import CONTINUOUS, FAILURES, SERIALIZED, modules, sampled, samples  # noqa: F401 (fixtures)
from test_cupti import RELEASES
from test_recording import GPU, HEAD, READER, RECORD, Reader, entries, forged, record, replay, stored

from recording import stall_metrics  # (the folder that test_recording adds)

MODES = {"serialized": SERIALIZED, "continuous": CONTINUOUS}


def instructions(folder: Path) -> Counter[tuple[str, str]]:
    """Of each metric of samples the paths from the kernel on, below the call that launched it. A replay knows no other callers."""
    found: Counter[tuple[str, str]] = Counter()
    for metric in metrics(Ran("", folder, [])):
        if not metric.startswith(("gpu-samples", "stall-")):
            continue
        for frames, value in program.paths(folder, metric, "--metric", metric):
            first = next(index for index, frame in enumerate(frames) if frame["kind"] == "kernel")
            call = [frame["name"] for frame in frames[:first] if frame["kind"] == "gpu-api"][-1:]
            found[metric, " > ".join(call + [frame["name"] for frame in frames[first:]])] += value["count"]
    return found


def all_of(folder: Path) -> dict:
    return {**stored(folder), "samples": instructions(folder), "cubins": sorted(path.name for path in (folder / "run.sonde").glob("*.sonde-cubin"))}


@pytest.fixture
def both(tmp_path) -> Callable[..., tuple[dict, dict]]:
    def run(*command: str | Path, mode: str, fakes: tuple[str, ...] = (), nodes: bool = False, **environment: str) -> tuple[dict, dict]:
        """What is stored of the program itself, and of the replay of its recording."""
        (tmp_path / "direct").mkdir()
        (tmp_path / "replayed").mkdir()
        options = (*MODES[mode], *(NODES if nodes else ()))
        direct = sampled(tmp_path / "direct", *command, options=options, fakes=fakes, **environment)
        out, recording = record(tmp_path, *command, fakes=fakes, options=("--samples", mode, *(["--nodes"] if nodes else [])), **environment)
        assert out == direct.out
        replay(recording, tmp_path / "replayed", *options)
        return all_of(tmp_path / "direct"), all_of(tmp_path / "replayed")
    return run


# ---- a replay is what ran ----


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("release", RELEASES)
def test_samples_of_a_replay_are_stored_as_those_of_the_program(both, samples, tmp_path, release, mode):
    direct, replayed = both(samples, mode=mode, fakes=("--cupti", release))
    assert replayed == direct
    assert sum(count for (metric, _), count in direct["samples"].items() if metric == "gpu-samples") > 10000
    found = Reader().read(next((tmp_path / "recorded").glob("*.recording")))
    assert found.modules == {"loaded": 1} and found.settings["mode"] == {"serialized": 2, "continuous": 1}[mode] and not found.oddities


@pytest.fixture(scope="module")
def device(tmp_path_factory) -> Path:
    """Of PTX, from several threads."""
    output = tmp_path_factory.mktemp("suite") / "device"
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-g", "-pthread", "-o", output, GPU / "suite/device.c", "-ldl"], check=True)
    return output


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("release", ["11.8", "13.5"])
def test_several_threads(both, device, release, mode):
    # 13.5 is shared, and then graphs are recorded by their nodes
    direct, replayed = both(device, "work", mode=mode, fakes=("--cupti", release), nodes=release == "13.5")
    for one in (direct, replayed):
        one.pop("graph-time")
    assert replayed == direct and sum(count for (metric, _), count in direct["samples"].items() if metric == "gpu-samples") == 2400


@pytest.fixture(scope="module")
def counted(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("cuda") / "counted"
    subprocess.run([FAKE, "nvcc", "-O1", "-arch=sm_90", "--no-compress", "-o", output, WORKLOADS / "cuda/counted.cu"], check=True)
    return output


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how,contexts", [("devices", 2), ("resets", 2), ("threads", 1)])
def test_several_contexts(both, counted, tmp_path, how, contexts, mode):
    """Of two devices, or one after the other at the same address."""
    direct, replayed = both(counted, how, mode=mode, FAKE_DEVICES="2")
    assert replayed == direct and direct["samples"] and not direct["drops"]
    enabled = [entry for entry in entries(next((tmp_path / "recorded").glob("*.recording"))) if entry.text == "cuptiPCSamplingEnable"]
    assert sum(entry.kind == "sampling" for entry in enabled) == contexts


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("nodes", [True, False])
@pytest.mark.parametrize("release", ["11.8", "13.2"])
def test_graphs(both, samples, release, nodes, mode):
    direct, replayed = both(samples, "graph", mode=mode, nodes=nodes, fakes=("--cupti", release))
    for one in (direct, replayed):
        one.pop("graph-time")  # how long a whole graph takes depends on the run
    assert replayed == direct


@pytest.mark.parametrize("release,failure,mode", [("13.2", failure, mode) for failure in (*FAILURES, "pc-length", "pc-drop") for mode in MODES] + [
    *(("11.8", failure, "serialized") for failure in FAILURES), ("13.5", "pc-drop", "serialized")])
def test_a_failure_is_replayed(both, samples, release, failure, mode):
    direct, replayed = both(samples, mode=mode, fakes=("--cupti", release, "--fail", failure))
    assert replayed == direct
    assert "drop" not in failure or direct["drops"]["gpu-sample-lost"] > 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("release", ["11.8", "13.2"])
def test_what_comes_when_sampling_ends(both, samples, tmp_path, release, mode):
    """Few instructions, for else the fake takes long for all of them at once. From 12.4 on each of them has its launch."""
    plan = tmp_path / "plan"
    plan.write_text("_Z4* 0 wait 3\n_Z4* 30 selected 2\n_Z4* 30 drain 1\n")
    direct, replayed = both(samples, "graph", mode=mode, nodes=True, fakes=("--cupti", release, "--fail", "pc-late", "--samples", str(plan)))
    assert replayed == direct and sum(count for (metric, _), count in direct["samples"].items() if metric == "gpu-samples") == 90 * 6


@pytest.mark.parametrize("mode", MODES)
def test_more_instructions_than_fit_at_once(both, modules, tmp_path, mode):
    """Nine readings of one launch, and more than what comes when sampling ends has room for."""
    plan = tmp_path / "plan"
    plan.write_text("".join(f"_Z4walk* {16 * at:x} wait 1\n" for at in range(9000)))
    direct, replayed = both(modules[0], modules[1], "1", "1", mode=mode, fakes=("--samples", str(plan)))
    assert replayed == direct and sum(count for (metric, _), count in direct["samples"].items() if metric == "gpu-samples") == 9000
    answers = [entry.fields for entry in entries(next((tmp_path / "recorded").glob("*.recording"))) if entry.kind == "samples"]
    assert sum(answer["count"] for answer in answers) == 9000 and {answer["left"] for answer in answers} >= {9000 - 1024 * n for n in range(1, 9)}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("failure", ["pc-drop", "pc-full"])
def test_what_was_lost_is_lost_again(both, samples, tmp_path, failure, mode):
    direct, replayed = both(samples, "apart", mode=mode, fakes=("--fail", failure))
    assert replayed["drops"]["gpu-sample-lost"] > 0
    # the recorder hears more calls, after which it reads: where the second reading is, and so how much is lost in it, depends on that
    if (failure, mode) == ("pc-full", "continuous"):
        assert_is_recorded(replayed, next((tmp_path / "recorded").glob("*.recording")))
    else:
        assert replayed == direct


def assert_is_recorded(replayed: dict, recording: Path) -> None:
    """What is stored is what the recording says itself: by reason, and what was lost."""
    found, expected = Reader().read(recording), Counter()
    for (_, metric), count in stall_metrics(found).items():
        expected[metric] += count
    stored_by_reason: Counter[str] = Counter()
    for (metric, _), count in replayed["samples"].items():
        stored_by_reason[metric] += count
    del stored_by_reason["gpu-samples-stalled"]
    assert stored_by_reason == expected
    assert replayed["drops"].get("gpu-sample-lost", 0) == found.sample_counts["dropped"]


# ---- modules ----


@pytest.mark.parametrize("mode", ["", *MODES])
def test_a_module_that_comes_and_goes(modules, tmp_path, mode):
    """Also where nothing is sampled. Its cubin is written once."""
    _, recording = record(tmp_path, modules[0], modules[1], "5", "8", options=("--samples", mode) if mode else ())
    found = [entry for entry in entries(recording) if entry.kind == "module"]
    assert [entry.fields["is_unloaded"] for entry in found] == [0, 1] * 5
    assert [entry.rest[:entry.fields["held"]] for entry in found] == [modules[1].read_bytes(), *[b""] * 9]
    assert [entry.fields["size"] for entry in found] == [modules[1].stat().st_size] * 10
    assert {entry.fields["crc"] for entry in found[::2]} == {crc_of_fake(modules[1].read_bytes())}
    assert len({entry.fields["number"] for entry in found}) == 5
    calls = [(entry.time_ns, entry.fields["site"]) for entry in entries(recording) if entry.kind == "callback"]
    # what was sampled in a module is read while it is there
    of_module = [entry for entry in entries(recording) if entry.kind in ("module", "samples", "callback")]
    for entry, after in zip(of_module, of_module[1:]):
        if entry.kind == "module" and entry.fields["is_unloaded"]:
            assert (after.kind == "samples" and after.fields["count"] + (mode == "serialized") > 0) == bool(mode)
    assert all(any(begin[0] <= entry.time_ns <= end[0] for begin, end in zip(calls, calls[1:])) for entry in found)


def crc_of_fake(data: bytes) -> int:
    """tests/fake/cupti/pc_sampling.c: NVIDIA's is another one."""
    crc = 14695981039346656037
    for byte in data:
        crc = (crc ^ byte) * 1099511628211 % (1 << 64)
    return crc


@pytest.mark.parametrize("mode", MODES)
def test_samples_of_a_module_that_comes_and_goes(both, modules, mode):
    direct, replayed = both(modules[0], modules[1], "5", "8", mode=mode)
    assert replayed == direct and len(direct["cubins"]) == 1 and direct["samples"]


def test_cubins_leave_room_for_all_else(modules, tmp_path):
    """They have half of the file. Samples in one that is not there are the kernel's, without an instruction."""
    source, cubin = tmp_path / "large.cu", tmp_path / "large.cubin"
    source.write_text(f'#include "{WORKLOADS}/cuda/samples.cu"\n__device__ char large[1 << 20] = {{1}};')
    subprocess.run([FAKE, "nvcc", "-arch=sm_90", "-cubin", "-o", cubin, source], check=True)
    assert cubin.stat().st_size > 1 << 20
    _, recording = record(tmp_path, modules[0], cubin, "1", "8", options=("--samples", "serialized", "--mib", "2"))
    found = Reader().read(recording)
    assert found.is_complete and not found.lost and found.oddities["modules without their cubin"] == 1
    (tmp_path / "replayed").mkdir()
    replay(recording, tmp_path / "replayed", *SERIALIZED)
    replayed = all_of(tmp_path / "replayed")
    assert_is_recorded(replayed, recording)
    assert not replayed["cubins"] and {path for metric, path in replayed["samples"] if metric == "gpu-samples"} == {
        "cuLaunchKernel > walk(float*, float const*, int)"}


BESIDE = r"""
#include "driver.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD ".version 6.4\n.target sm_50\n.address_size 64\n.visible .entry nothing() {"
static const char small[] = HEAD " ret; }\n";
static char large[1 << 16] = HEAD; /* takes long to load */
static struct driver driver;
static int (*unload)(cu_module module);
static cu_context context;

static void *load(void *unused)
{
	driver.cuCtxSetCurrent(context);
	for (int i = 0; i < 100; i++) {
		cu_module module;
		driver.cuModuleLoadData(&module, large);
		unload(module);
	}
	return unused;
}

int main(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	cu_module module;
	cu_function function;
	pthread_t threads[2];
#define FIND(name, parameters) driver.name = (int(*) parameters)dlsym(library, #name);
	DRIVER_FUNCTIONS(FIND)
	unload = (int (*)(cu_module))dlsym(library, "cuModuleUnload");
	driver.cuInit(0);
	driver.cuDevicePrimaryCtxRetain(&context, 0);
	driver.cuCtxSetCurrent(context);
	driver.cuModuleLoadData(&module, small);
	driver.cuModuleGetFunction(&function, module, "nothing");
	for (size_t at = sizeof(HEAD) - 1; at + 8 < sizeof(large); at += 5)
		memcpy(large + at, " ret;", 5);
	strcat(large, " }");
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, load, NULL);
	for (int i = 0; i < 1000; i++)
		driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	driver.cuCtxSynchronize();
	usleep(400000);
	driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
	driver.cuCtxSynchronize();
}
"""


@pytest.mark.measures
@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_read_beside_a_module(tmp_path, mode):
    """No thread reads during another's call that loads or unloads one, nor, unless it must, soon after: devices have been seen to crash. A
    thread that is held up for more than 100 ms is not waited for."""
    (tmp_path / "beside.c").write_text(BESIDE)
    subprocess.run(["gcc", "-std=gnu17", "-pthread", "-I", GPU / "suite", "-o", tmp_path / "beside", tmp_path / "beside.c", "-ldl"], check=True)
    _, recording = record(tmp_path, tmp_path / "beside", options=("--samples", mode))
    names, inside, module_ns, reads, soon = {}, Counter(), 0, 0, 0
    for entry in entries(recording):
        if entry.kind == "string":
            names[entry.fields["address"]] = entry.text
        elif entry.kind == "callback" and names[entry.fields["name"]].startswith("cuModule"):
            inside[entry.thread] += -1 if entry.fields["site"] else 1
        elif entry.kind == "module":
            module_ns = entry.time_ns
        elif entry.kind == "samples" and not entry.fields["is_put_aside"]:
            reads += 1
            soon += entry.time_ns - module_ns < 300_000_000 and not inside[entry.thread]
            assert not any(count for thread, count in inside.items() if thread != entry.thread)
    assert reads > 100 and (soon == 0 or mode == "serialized")


# ---- other readers than Sonde ----


@pytest.fixture(scope="module")
def reader(tmp_path_factory) -> Callable[..., list[str]]:
    library = tmp_path_factory.mktemp("reader") / "libreader.so"
    subprocess.run(["gcc", "-std=gnu17", "-fPIC", "-shared", "-I", ROOT / "src", "-o", library, WORKLOADS / "cuda/seldom_reader.c", "-ldl"], check=True)

    def run(recording: Path, **how: int) -> list[str]:
        done = subprocess.run([FAKE, "--replay", recording, "replay"], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "CUDA_INJECTION64_PATH": str(library), **{name: str(value) for name, value in how.items()}})
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()
    return run


@pytest.mark.parametrize("room,resting,line", [
    (7, 100, "read 11560, at the end 0 in 0 instructions, dropped 0"), (0, 100, "read 0, at the end 250 in 100 instructions, dropped 11310"),
    (0, 10000, "read 0, at the end 11560 in 4620 instructions, dropped 0")])
def test_who_reads_otherwise_loses_nothing_unseen(reader, recordings, room, resting, line):
    """What it has not read comes when it ends sampling, and what then has no room is said to be dropped."""
    assert sum(count for (_, metric), count in stall_metrics(Reader().read(recordings("serialized"))).items() if metric == "gpu-samples") == 11560
    assert reader(recordings("serialized"), READER_MODE=2, READER_ROOM=room, RESTING_ROOM=resting)[-1] == line


def test_what_was_put_aside_comes_at_the_end(reader, samples, tmp_path):
    """Nothing could be read before."""
    plan = tmp_path / "plan"
    plan.write_text("_Z4* 0 wait 3\n_Z4* 30 selected 2\n")
    _, recording = record(tmp_path, samples, fakes=("--fail", "pc-late", "--samples", str(plan)), options=("--samples", "serialized"))
    assert reader(recording, READER_MODE=2, RESTING_ROOM=1000)[-1] == "read 0, at the end 300 in 120 instructions, dropped 0"


def test_each_module_has_its_cubin(reader, modules, tmp_path):
    """Also where the recording has it once, and where nothing was sampled."""
    _, recording = record(tmp_path, modules[0], modules[1], "5", "8")
    cubin = modules[1].read_bytes()
    assert reader(recording)[:-1] == [f"module of {len(cubin)} bytes: {crc_of_fake(cubin):x}"] * 5


# ---- what was asked for, and what is there ----


@pytest.fixture(scope="module")
def recordings(samples, tmp_path_factory) -> Callable[[str], Path]:
    """By what is asked of record.sh."""
    made: dict[str, Path] = {}

    def of(asked: str) -> Path:
        if asked not in made:
            made[asked] = record(tmp_path_factory.mktemp("recorded"), samples, options=("--samples", asked) if asked else ())[1]
        return made[asked]
    return of


def played(recording: Path, folder: Path, *options: str) -> tuple[list[str], str, dict]:
    """What the replay says, what the adapter says, and what is stored."""
    done = subprocess.run([FAKE, "--replay", recording, SONDE, "run", "-q", "-o", folder / "run", *options, "--", "replay"], capture_output=True,
                          text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    found = all_of(folder)
    return [line for line in done.stderr.splitlines() if not line.startswith("sonde: --gpu-samples=")], found["status"], found


@pytest.mark.parametrize("option", ["--gpu-samples", "--gpu-samples=serialized"])
def test_samples_of_a_recording_that_has_none(recordings, tmp_path, option):
    said, status, found = played(recordings(""), tmp_path, option)
    assert said == [f"replay: '{recordings('')}' has no samples of instructions: record.sh takes them with --samples"]
    assert status.endswith("; instructions are not sampled: cuptiPCSamplingEnable fails with error 27")
    assert not found["samples"] and sum(count for path, count in found["kernel-time"].items() if path.endswith("count")) == 60


def test_a_recording_with_samples_where_none_are_asked_for(recordings, tmp_path):
    said, status, found = played(recordings("serialized"), tmp_path)
    assert not said and "sampled" not in status and not found["samples"] and not found["cubins"] and not found["drops"]
    assert sum(count for path, count in found["kernel-time"].items() if path.endswith("count")) == 60


@pytest.mark.parametrize("recorded,asked,answer", [
    ("serialized@1024", "serialized", ""), ("serialized@1024", "serialized@1024", ""), ("serialized@1024", "serialized@2048", "serialized@1024"),
    ("serialized@1024", "continuous", "serialized@1024"), ("continuous", "serialized", "continuous"), ("continuous", "continuous@32", "continuous")])
def test_samples_that_were_taken_otherwise(recordings, tmp_path, recorded, asked, answer):
    said, status, found = played(recordings(recorded), tmp_path, f"--gpu-samples={asked}")
    assert said == ([f"replay: '{recordings(recorded)}' has samples of the mode {answer} alone"] if answer else [])
    assert bool(found["samples"]) == (not answer) and ("instructions are not sampled" in status) == bool(answer)


@pytest.mark.parametrize("mode", ["", "often", "serialized@", "serialized@1000", "serialized@16", "continuous@4294967296", "off"])
def test_a_mode_that_is_none(tmp_path, mode):
    done = subprocess.run([RECORD, "--samples", mode, tmp_path / "recorded", "true"], capture_output=True, text=True)
    assert done.returncode in (1, 129) and not (tmp_path / "recorded").exists()


# ---- the file ----


def older(data: bytes) -> bytes:
    """As recordings were before they had modules and samples: without their kinds, and without the functions for them."""
    head, entries_at = data[:struct.unpack_from("<I", data, 12)[0]], struct.unpack_from("<I", data, 12)[0]
    kept, at = [head], entries_at
    while at + HEAD.size <= len(data) and (size := HEAD.unpack_from(data, at)[0]):
        kind, entry = HEAD.unpack_from(data, at)[1], data[at:at + size]
        if kind == 1:
            text = "".join(line + "\n" for line in entry[HEAD.size:].split(b"\0")[0].decode().splitlines() if int(line.split()[0]) not in (18, 19, 21, 22, 23))
            rest = text.encode() + b"\0" * (8 - len(text) % 8)
            entry = HEAD.pack(HEAD.size + len(rest), *HEAD.unpack_from(entry)[1:]) + rest
        if kind not in (18, 19, 21, 22, 23) and not (kind == 3 and (b"PCSampling" in entry or b"CubinCrc" in entry)):
            kept.append(entry)
        at += size
    return b"".join(kept)


def test_an_older_recording(recordings, tmp_path):
    """It is played as before; with samples it is one of a CUPTI that has no functions for them."""
    recording = tmp_path / "old.recording"
    recording.write_bytes(older(recordings("serialized").read_bytes()))
    summary = subprocess.run([READER, "summary", recording], capture_output=True, text=True, check=True).stdout
    assert "records: kernel _Z4walkPfPKfi: 40" in summary and not re.search("^(samples: |modules )", summary, re.M)
    for name, options in (("without", ()), ("with", CONTINUOUS)):
        (tmp_path / name).mkdir()
        said, status, found = played(recording, tmp_path / name, *options)
        assert not said and not found["samples"] and not found["drops"]
        assert sum(count for path, count in found["kernel-time"].items() if path.endswith("count")) == 60
    assert status.endswith("; instructions are not sampled: cuptiGetCubinCrc is missing")


def test_what_cupti_hides_or_drops(recordings, tmp_path):
    recording = tmp_path / "forged.recording"
    data = forged(recordings("serialized").read_bytes(), "samples", "hidden", 70, which=10)
    recording.write_bytes(forged(forged(data, "samples", "dropped", 9, which=11), "samples", "hidden", 7, which=20))
    _, _, found = played(recording, tmp_path, *SERIALIZED)
    assert found["drops"] == {"gpu-sample-hidden": 77, "gpu-sample-lost": 9}
    assert_is_recorded(found, recording)


def test_a_recording_that_ends_early(recordings, tmp_path):
    """Of a process that was killed: what came until then."""
    recording, data = tmp_path / "cut.recording", recordings("serialized").read_bytes()
    recording.write_bytes(data[:len(data) * 2 // 3] + bytes(len(data) // 3))
    (tmp_path / "replayed").mkdir()
    for size in (len(data) * 2 // 3, len(data) // 3):
        at = struct.unpack_from("<I", data, 12)[0]
        while at + (length := HEAD.unpack_from(data, at)[0]) <= size:
            at += length
        recording.write_bytes(data[:at] + bytes(4096))
        folder = tmp_path / str(size)
        folder.mkdir()
        _, _, found = played(recording, folder, *SERIALIZED)
        assert found["samples"]
        assert_is_recorded(found, recording)


@pytest.mark.parametrize("kind,function", [("samples", "cuptiPCSamplingGetData"), ("sampling", "cuptiPCSamplingDisable")])
def test_what_did_not_return_there_does_not_return_here(recordings, tmp_path, kind, function):
    """The last reading, or the end of sampling: its answer is not there."""
    recording = tmp_path / "hangs.recording"
    recording.write_bytes(forged(recordings("serialized").read_bytes(), kind, "kind", 0, which=-1))
    assert Reader().read(recording).oddities == {f"{function} does not return": 1}
    _, status, _ = played(recording, tmp_path, *SERIALIZED)
    assert status.startswith("CUPTI hung when it was to give its last samples")


LARGE = 1 << 62
SAMPLES, MODULE, SHORT = "samples are longer than their entry", "a module is longer than its entry", "is too short"
FORGED = {"count": ("samples", "count", LARGE, SAMPLES), "count by overflow": ("samples", "count", 1 << 58, SAMPLES),
          "short records": ("samples", "record_bytes", 8, SAMPLES), "no records": ("samples", "record_bytes", 0, SAMPLES),
          "odd records": ("samples", "record_bytes", 65, SAMPLES), "module": ("module", "held", LARGE, MODULE),
          "part of a module": ("module", "held", 8, MODULE), "no thread": ("samples", "thread", 0, "is of no thread"),
          "thread": ("callback", "thread", 0xffffffff, "is of no thread"), "cut": ("samples", "bytes", 1 << 20, "ends outside of it"),
          "number of reasons": ("sampling", "value", LARGE, "it has too many reasons"),
          "short": ("samples", "bytes", 32, SHORT), "setting": ("setting", "bytes", 24, SHORT), "module's entry": ("module", "bytes", 80, MODULE)}
OTHERS = {name: "an instruction's reasons are outside of its entry" for name in ("reasons", "reasons by overflow", "odd reasons", "many reasons")}
OTHERS |= {"text": SHORT, "description": "it does not describe its entries"}


@pytest.mark.parametrize("how", [*FORGED, *OTHERS])
def test_a_forged_recording(recordings, tmp_path, how):
    """It is refused with one line: by the reader, which run.sh asks first, and by what plays it."""
    data, recording = recordings("serialized").read_bytes(), tmp_path / "forged.recording"
    each = [entry for entry in entries(recordings("serialized")) if entry.kind == "samples"]
    first = next(index for index, entry in enumerate(each) if entry.fields["count"])
    at, said = data.index(each[first].rest), OTHERS.get(how)
    if how in FORGED:
        kind, field, value, said = FORGED[how]
        data = forged(data, kind, field, value, which=first if kind == "samples" else 0)
        data = forged(data, kind, "size", value) if how == "module" else data
    elif "reasons" in how:
        place, value = {"reasons": (48, 1 << 40), "reasons by overflow": (40, 1 << 61), "odd reasons": (48, 6), "many reasons": (40, 1 << 20)}[how]
        data = data[:at + place] + struct.pack("<Q", value) + data[at + place + 8:]
    elif how == "text":
        data = data.replace(b"cuptiPCSamplingEnable\0\0\0", b"cuptiPCSamplingEnable!!!")
    else:
        data = data.replace(b"held:uint64_t", b"held:uint65_t", 1)
    assert data != recordings("serialized").read_bytes()
    recording.write_bytes(data)
    for command in ([READER, "summary", recording], [FAKE, "--replay", recording, "replay"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (128, "", 1), (command, done.stderr)
        assert f"'{recording}': " in done.stderr and said in done.stderr
    library = folder_of(recordings("serialized"))
    alone = subprocess.run([library / "bin/replay"], capture_output=True, text=True, timeout=60, env={**os.environ, "FAKE_REPLAY": str(recording)})
    # what plays it does not look at the description
    assert (alone.returncode, alone.stderr.count("\n")) == ((128, 1) if how != "description" else (0, 0)), alone.stderr
    assert how == "description" or said in alone.stderr


def folder_of(recording: Path) -> Path:
    return Path(subprocess.run([ROOT / "tests/fake/replay/install.sh", recording], capture_output=True, text=True, check=True).stdout.strip())
