# SPDX-License-Identifier: Apache-2.0
"""Recordings of Level Zero's calls (record.sh --levelzero), on a driver without a device: a program is not changed by being recorded, and what
Sonde stores of the calls that are made again equals what it stores of the program."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import program
from on_devices import is_kernel, measured
from program import SONDE, WORKLOADS
from test_levelzero import FAKE, KERNELS, Ran, known_program, losses, plain, run  # noqa: F401 (a fixture)
from test_levelzero import rows_of
from test_recording import READER, RECORD, Reader, entries, forged

METRICS = ("kernel-time", "copy-time", "copy-bytes", "fill-time", "fill-bytes")


def record(folder: Path, *command: str | Path, status: int = 0, options: tuple[str, ...] = ()) -> tuple[str, Path]:
    """What the program printed, and its one recording."""
    done = subprocess.run([FAKE, "--levelzero", RECORD, "--levelzero", *options, folder / "recorded", *map(str, command)], capture_output=True,
                          text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert done.returncode == status, done.stderr
    found, = (folder / "recorded").glob("*.recording")
    return done.stdout, found


def replay(recording: Path, folder: Path) -> Ran:
    (folder / "plan").write_text("span 80000000\n")
    done = subprocess.run([FAKE, "--plan", folder / "plan", "--table", folder / "table.csv", "--replay", recording, SONDE, "run", "-q",
                           "-o", folder / "run", "--", "replay"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return Ran(done.stdout, folder, rows_of(folder / "table.csv"), done)


def device_part(ran: Ran) -> dict:
    """From the call on: what was appended by which, how often and how long; and how often each was called."""
    found: dict = {("calls", name): count for name, count in measured(ran, "gpu-api-time", "count").items()}
    for metric in METRICS:
        for frames, value in program.paths(ran.folder, metric, "--metric", metric):
            path = tuple(frame["name"] for frame in frames if frame["kind"].startswith(("gpu", "kernel")))
            for what in ("count", "sum"):
                found[metric, what, path] = found.get((metric, what, path), 0) + round(value[what])
    return found


@pytest.mark.parametrize("how,status", [((), 0), (("late",), 5), (("fork",), 0)])
def test_calls_that_are_made_again_are_stored_as_the_programs(known_program, tmp_path, how, status):  # noqa: F811
    (tmp_path / "replayed").mkdir()
    direct = run(tmp_path, known_program, *how)
    out, recording = record(tmp_path, known_program, *how, status=status)
    again = replay(recording, tmp_path / "replayed")
    assert out == plain(known_program, *how).stdout
    assert device_part(again) == device_part(direct) and losses(again) == losses(direct) == {}
    assert sum(measured(again, "kernel-time", "count").values()) == sum(KERNELS.values())
    # and so it ran
    assert measured(again, "kernel-time", "sum") == again.truth("total_ns", is_kernel)


def test_a_program_that_is_killed_leaves_a_recording(known_program, tmp_path):  # noqa: F811
    _, recording = record(tmp_path, known_program, "abort", status=-6)
    assert not Reader().read(recording).is_complete
    assert sum(measured(replay(recording, tmp_path), "kernel-time", "count").values()) == sum(KERNELS.values())


def test_a_program_that_finds_the_loader_itself(known_program, tmp_path):  # noqa: F811
    out, recording = record(tmp_path, "python3", WORKLOADS / "levelzero/from_python.py")
    assert out == "done\n" and measured(replay(recording, tmp_path), "kernel-time", "count") == {"scale": 7}


def test_what_a_recording_says(known_program, tmp_path):  # noqa: F811
    _, recording = record(tmp_path, known_program)
    found = Reader().read(recording)
    assert found.is_complete and not found.lost and not found.oddities
    assert found.facts["device.0"] == "Fake device 0, 1000000000 ticks in a second, of 40 bits, and of kernels 32"
    assert found.facts["command"].endswith("known") or "known" in found.facts["command"]
    appended = {name: sum(calls[f"level zero {name}"] for calls in found.calls.values())
                for name in ("zeCommandListAppendLaunchKernel", "zeCommandQueueExecuteCommandLists", "zeEventHostSynchronize")}
    assert appended == {"zeCommandListAppendLaunchKernel": 40 + 60 + 4 + 25 + 15 + 10 + 1 + 2 * 3,
                        "zeCommandQueueExecuteCommandLists": 30, "zeEventHostSynchronize": 25 + 15 + 3}
    assert found.records["appended scale"] == 40 + 60 + 4 + 2 * 3 and found.records["appended span"] == 1
    assert len(found.calls) == 2
    printed = subprocess.run([READER, "print", recording], capture_output=True, text=True, check=True).stdout
    assert printed.count("\n") == len(list(entries(recording)))
    (tmp_path / "other").mkdir()
    # how often the program asks for an event's state is the machine's affair
    differs = subprocess.run([READER, "compare", recording, record(tmp_path / "other", known_program)[1]], capture_output=True, text=True)
    assert "appended" not in differs.stdout and "zeEventCreate" not in differs.stdout


def test_a_recording_is_no_longer_than_its_limit(known_program, tmp_path):  # noqa: F811
    _, recording = record(tmp_path, known_program, "launch", "1000", options=("--mib", "1"))
    found = Reader().read(recording)
    assert recording.stat().st_size <= 1 << 20 and found.lost > 1000 and found.is_complete


def test_a_forged_recording_is_refused(known_program, tmp_path):  # noqa: F811
    _, recording = record(tmp_path, known_program)
    recording.write_bytes(forged(recording.read_bytes(), "called", "count", 1 << 40))
    for command in ([READER, "summary", recording], [FAKE, "--replay", recording, "replay"]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 128 and done.stderr.count("\n") == 1, done.stderr


def test_no_driver(known_program, tmp_path):  # noqa: F811
    _, recording = record(tmp_path, known_program)
    done = subprocess.run([FAKE, "--replay", recording, "replay"], capture_output=True, text=True, env={**os.environ, "FAKE_ZE_INIT_ERROR": "0x78000001"})
    assert (done.returncode, done.stderr) == (128, f"replay: cannot play '{recording}': there is no driver of Level Zero's\n")


def test_a_program_without_level_zero_runs_under_it_as_by_itself(tmp_path):
    done = subprocess.run([RECORD, "--levelzero", tmp_path / "recorded", "sh", "-c", "echo out; exit 3"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "")
    assert [path.name for path in (tmp_path / "recorded").iterdir()] == ["librecorder_levelzero.so"]


HEADERS = "".join(path.read_text() for path in Path("/usr/include/level_zero").rglob("*.h"))
CALLS = [line for line in (RECORD.parent / "record/levelzero/calls.def").read_text().splitlines() if line.startswith("ZE(")]


def params_of(name: str) -> str:
    """CommandListAppendBarrier: ze_command_list_append_barrier_params_t."""
    return "ze" + "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name) + "_params_t"


def test_functions_have_as_many_parameters_as_in_the_headers(known_program):  # noqa: F811
    """Those that this release of the headers knows."""
    known = [call for call in CALLS if params_of(call.split("(")[1].split(",")[0]) in HEADERS]
    assert len(known) > 45
    asserts = [f"_Static_assert(sizeof({params_of(name)}) == (sizeof({letters}) - 1) * sizeof(void *), {letters});"
               for name, letters in (call[3:-1].split(", ") for call in known)]
    subprocess.run(["gcc", "-fsyntax-only", "-isystem", "/usr/include/level_zero", "-xc", "-"], text=True, check=True,
                   input="#include <level_zero/ze_api.h>\n#include <level_zero/layers/zel_tracing_register_cb.h>\n" + "\n".join(asserts))


DESCRIBED = {"d": 24, "e": 32, "q": 40, "k": 32}
# The descriptions of calls.def's letters, in their order.
DESCRIPTIONS = {"ContextCreate": "ze_context_desc_t", "ContextCreateEx": "ze_context_desc_t", "CommandQueueCreate": "ze_command_queue_desc_t",
                "CommandListCreate": "ze_command_list_desc_t", "CommandListCreateImmediate": "ze_command_queue_desc_t",
                "EventPoolCreate": "ze_event_pool_desc_t", "EventCreate": "ze_event_desc_t", "FenceCreate": "ze_fence_desc_t",
                "MemAllocShared": "ze_device_mem_alloc_desc_t ze_host_mem_alloc_desc_t", "MemAllocDevice": "ze_device_mem_alloc_desc_t",
                "MemAllocHost": "ze_host_mem_alloc_desc_t", "KernelCreate": "ze_kernel_desc_t"}


def test_descriptions_are_as_long_as_in_the_headers(known_program):  # noqa: F811
    """InitDrivers' is not in these headers."""
    calls = {name: letters.strip('"') for name, letters in (call[3:-1].split(", ") for call in CALLS)}
    described = {name: [DESCRIBED[letter] for letter in letters if letter in DESCRIBED] for name, letters in calls.items()}
    assert {name for name, lengths in described.items() if lengths} - {"InitDrivers"} == DESCRIPTIONS.keys()
    asserts = [f'_Static_assert(sizeof({kind}) == {length}, "{name}");'
               for name, kinds in DESCRIPTIONS.items() for kind, length in zip(kinds.split(), described[name], strict=True)]
    subprocess.run(["gcc", "-fsyntax-only", "-isystem", "/usr/include/level_zero", "-xc", "-"], text=True, check=True,
                   input="#include <level_zero/ze_api.h>\n" + "\n".join(asserts))


def test_no_byte_is_read_behind_a_description(known_program, tmp_path):  # noqa: F811
    """Each ends where the program's memory ends."""
    (tmp_path / "edge.c").write_text(r"""
        #include <level_zero/ze_api.h>
        #include <stdio.h>
        #include <string.h>
        #include <sys/mman.h>
        static char *end;
        static void *at_end(const void *of, size_t bytes) { return memcpy(end - bytes, of, bytes); }
        #define AT_END(...) at_end(&(__VA_ARGS__), sizeof(__VA_ARGS__))
        #define DO(call) do { if (call) { puts(#call); return 1; } } while (0)
        int main(void)
        {
            uint32_t one = 1;
            ze_driver_handle_t driver;
            ze_device_handle_t device;
            ze_context_handle_t context;
            ze_command_queue_handle_t queue;
            ze_command_list_handle_t list, immediate;
            ze_event_pool_handle_t pool;
            ze_event_handle_t event;
            ze_fence_handle_t fence;
            ze_module_handle_t module;
            ze_kernel_handle_t kernel;
            void *memory;
            end = (char *)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 4096;
            munmap(end, 4096);
            mmap(end, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
            DO(zeInit(0));
            DO(zeDriverGet(&one, &driver));
            DO(zeDeviceGet(driver, &one, &device));
            DO(zeContextCreate(driver, AT_END((ze_context_desc_t){ZE_STRUCTURE_TYPE_CONTEXT_DESC}), &context));
            DO(zeCommandQueueCreate(context, device, AT_END((ze_command_queue_desc_t){ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC}), &queue));
            DO(zeCommandListCreate(context, device, AT_END((ze_command_list_desc_t){ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC}), &list));
            DO(zeCommandListCreateImmediate(context, device, AT_END((ze_command_queue_desc_t){ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC}), &immediate));
            DO(zeEventPoolCreate(context, AT_END((ze_event_pool_desc_t){ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL, 1, 1}), 0, NULL, &pool));
            DO(zeEventCreate(pool, AT_END((ze_event_desc_t){ZE_STRUCTURE_TYPE_EVENT_DESC}), &event));
            DO(zeFenceCreate(queue, AT_END((ze_fence_desc_t){ZE_STRUCTURE_TYPE_FENCE_DESC}), &fence));
            DO(zeMemAllocDevice(context, AT_END((ze_device_mem_alloc_desc_t){ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC}), 64, 64, device, &memory));
            DO(zeMemAllocHost(context, AT_END((ze_host_mem_alloc_desc_t){ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC}), 64, 64, &memory));
            DO(zeModuleCreate(context, device, AT_END((ze_module_desc_t){ZE_STRUCTURE_TYPE_MODULE_DESC}), &module, NULL));
            DO(zeKernelCreate(module, AT_END((ze_kernel_desc_t){ZE_STRUCTURE_TYPE_KERNEL_DESC, NULL, 0, "scale"}), &kernel));
            DO(zeCommandListAppendLaunchKernel(immediate, kernel, AT_END((ze_group_count_t){1, 1, 1}), event, 0, NULL));
            DO(zeEventHostSynchronize(event, UINT64_MAX));
            puts("done");
            return 0;
        }""")
    subprocess.run(["gcc", "-o", tmp_path / "edge", tmp_path / "edge.c", "-lze_loader"], check=True)
    out, recording = record(tmp_path, tmp_path / "edge")
    assert out == "done\n"
    assert sum(measured(replay(recording, tmp_path), "kernel-time", "count").values()) == 1
