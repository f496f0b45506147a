# SPDX-License-Identifier: Apache-2.0
"""HIP programs on AMD's devices that are not there (tests/fake/run.sh --rocm): what is measured equals the table of what ran."""
from __future__ import annotations

import csv
import os
import signal
import subprocess
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Callable, Iterable

import pytest

import on_devices
import program
from on_devices import is_kernel, measured, rows_of
from program import ROOT, SONDE, WORKLOADS

RUN = ROOT / "tests/fake/run.sh"
KNOWN = WORKLOADS / "rocm/known.hip"
HEADERS = Path(os.environ.get("SONDE_ROCM_INCLUDE", "/opt/rocm/include"))
# what goes wrong with the SDK, so that kernels have no times, and what the adapter's line says of it
WITHOUT_RECORDS = {"no-sdk": "no librocprofiler-sdk.so was found", "version": "another major version", "old": "another major version",
                   "refuse": "rocprofiler-sdk refuses"}


@dataclass
class Ran(on_devices.Ran):
    """And how the program ended."""

    status: int

    def drops(self) -> dict[str, int]:
        return {name: count for name, count in program.info(self.folder).get("drops", {}).items() if name.startswith("gpu-")}

    def line(self) -> str:
        return program.info(self.folder)["properties"]["adapter.rocm"]


def on_fakes(folder: Path, *command: str | Path, fail: str = "none", options: tuple[str, ...] = (), stderr: str = "", graphs: str = "nodes",
             **environment: str) -> Ran:
    table = folder / "table.csv"
    done = subprocess.run([RUN, "--rocm", "--fail", fail, "--table", table, SONDE, "run", "-q", "-o", folder / "run", "--gpu-graphs", graphs,
                           *options, "--", *map(str, command)], capture_output=True, text=True, timeout=300, env={**os.environ, **environment},
                          stdin=subprocess.DEVNULL)
    assert done.stderr == stderr
    return Ran(done.stdout, folder, rows_of(table), done.returncode)


@pytest.fixture(scope="module")
def known_program(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("rocm") / "known"
    done = subprocess.run([RUN, "--rocm", "hipcc", KNOWN, output, "-g", "-O1"], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture(scope="module")
def run_with(known_program, tmp_path_factory) -> Callable[[str], Ran]:
    """That program, once for each failure."""
    @cache
    def run(fail: str) -> Ran:
        return on_fakes(tmp_path_factory.mktemp("known"), known_program, fail=fail)
    return run


@pytest.fixture(scope="module")
def known(run_with) -> Ran:
    return run_with("none")


def plain(*command: str | Path, fail: str = "none", **environment: str) -> tuple[int, str]:
    done = subprocess.run([RUN, "--rocm", "--fail", fail, *map(str, command)], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **environment}, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout


def is_copy(row: dict[str, str]) -> bool:
    return row["kernel"].startswith("copy ")


def is_set(row: dict[str, str]) -> bool:
    return row["kernel"] == "set"


def total(counts: Counter[str]) -> int:
    return sum(counts.values())


def lines_of(ran: Ran, metric: str) -> Counter[str]:
    """By the innermost line of the program's, but for the kernel's own function on the host: how often."""
    found: Counter[str] = Counter()
    for frames, value in program.paths(ran.folder, metric, "--metric", metric):
        kernel = frames[-1]["name"].split("(")[0]
        lines = [f"{frame['file']}:{frame['line']}" for frame in frames
                 if (frame.get("file") or "").endswith("/known.hip") and kernel not in frame["name"].replace("__device_stub__", "")]
        found[lines[-1] if lines else ""] += value["count"]
    return found


def line_with(text: str) -> str:
    number = next(number for number, line in enumerate(KNOWN.read_text().splitlines(), 1) if text in line)
    return f"{KNOWN}:{number}"


def count_by_line(ran: Ran, wanted) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in ran.table:
        if wanted(row):
            found[row["launching line"]] += int(row["count"])
    return found


@pytest.mark.parametrize("column,what", [("count", "count"), ("total_ns", "sum")])
def test_kernels(known, column, what):
    assert measured(known, "kernel-time", what) == known.truth(column, is_kernel)


@pytest.mark.parametrize("kind,metric", [(is_copy, "copy"), (is_set, "fill")])
def test_copies_and_sets(known, kind, metric):
    """Names of copies are not the table's, which tells pinned memory apart."""
    for column, unit, what in [("count", "time", "count"), ("total_ns", "time", "sum"), ("bytes", "bytes", "sum")]:
        assert total(measured(known, f"{metric}-{unit}", what)) == total(known.truth(column, kind)) > 0


def test_copies_tell_their_direction(known):
    bytes_of = measured(known, "copy-bytes", "sum")
    assert bytes_of == {"copy host to device": 4 << 16, "copy by a kernel": 4 << 16, "copy device to host": 4 << 16}


def test_each_kernel_stands_below_the_line_that_launched_it(known):
    assert lines_of(known, "kernel-time") == count_by_line(known, is_kernel) == {
        line_with("// scale_often"): 40 + 60, line_with("// in a thread"): 25 + 35, line_with("// replay"): 10 * 4}


def test_each_copy_and_set_stands_below_its_line(known):
    assert lines_of(known, "copy-time") == count_by_line(known, is_copy)
    assert lines_of(known, "fill-time") == count_by_line(known, is_set) == {line_with("// set"): 1, line_with("// set words"): 1}


@pytest.mark.parametrize("fail", ["none", "no-sdk"])
def test_no_frame_of_a_runtime_is_above_a_call(run_with, fail):
    ran = run_with(fail)
    above = set()
    for frames, _ in program.paths(ran.folder, "gpu-api-time", "--metric", "gpu-api-time"):
        assert frames[-1]["kind"] == "gpu-api"
        native = [frame for frame in frames[:-1] if frame["kind"] == "native"]
        above.add((native[-1].get("file") or native[-1]["name"]).split("/")[-1])
    assert above == {"known.hip"}


def test_calls_have_their_own_time(known):
    assert measured(known, "gpu-api-time", "count")["hipLaunchKernel"] == 40 + 60 + 25 + 35 + 4
    assert measured(known, "gpu-api-time", "count")["hipGraphLaunch"] == 10


def test_nothing_is_lost(known):
    assert known.drops() == {} and known.line().startswith("rocprofiler-sdk: kernels")


@pytest.mark.parametrize("fail", ["none", "no-sdk", "version", "old", "refuse", "short", "long", "untimed", "drop", "split", "flush"])
def test_a_program_behaves_as_without(known_program, run_with, fail):
    status, out = plain(known_program, fail=fail)
    ran = run_with(fail)
    assert (ran.status, ran.out) == (status, out) == (0, "0 no error\n")


@pytest.mark.parametrize("fail", WITHOUT_RECORDS)
def test_without_records_calls_are_measured(run_with, fail):
    ran = run_with(fail)
    calls = measured(ran, "gpu-api-time", "count")
    assert calls["hipLaunchKernel"] == 40 + 60 + 25 + 35 + 4 and calls["hipMemset"] == 1
    assert "kernels have no times" in ran.line() and WITHOUT_RECORDS[fail] in ran.line()
    assert ran.drops() == {}
    found = lines_of(ran, "gpu-api-time")
    # captured launches are calls, too
    assert found[line_with("// scale_often")] == 40 + 60 + 3 and found[line_with("// replay")] == 10


def test_longer_records_are_read(run_with):
    ran = run_with("long")
    assert measured(ran, "kernel-time", "sum") == ran.truth("total_ns", is_kernel)
    assert total(measured(ran, "copy-bytes", "sum")) == total(ran.truth("bytes", is_copy))


@pytest.mark.parametrize("fail,drop", [("short", "gpu-lost"), ("untimed", "gpu-untimed")])
def test_what_cannot_be_read_is_counted(run_with, fail, drop):
    ran = run_with(fail)
    assert ran.drops() == {drop: total(ran.truth("count"))}


def test_a_set_by_several_kernels_has_its_bytes_once(run_with):
    ran = run_with("split")
    assert total(measured(ran, "fill-time", "count")) == 2 * total(ran.truth("count", is_set))
    assert total(measured(ran, "fill-time", "sum")) == total(ran.truth("total_ns", is_set))
    assert total(measured(ran, "fill-bytes", "sum")) == total(ran.truth("bytes", is_set))


def test_what_the_sdk_drops_is_counted(run_with):
    ran = run_with("drop")
    stored = sum(total(measured(ran, metric, "count")) for metric in ("kernel-time", "copy-time", "fill-time"))
    assert stored + ran.drops()["gpu-lost"] == total(ran.truth("count")) and ran.drops()["gpu-lost"] == 205 // 10


def test_a_flush_that_never_returns_does_not_keep_the_program(run_with):
    ran = run_with("flush")
    assert ran.status == 0 and "did not deliver its last records" in ran.line()


def test_kernels_that_run_when_the_program_exits(known_program, tmp_path):
    ran = on_fakes(tmp_path, known_program, "exit")
    assert ran.truth("count", is_kernel)["scale(float*, float)"] == 40 + 60 + 25 + 35 + 30 + 100
    assert measured(ran, "kernel-time", "sum") == ran.truth("total_ns", is_kernel) and ran.drops() == {}


def intervals(ran: Ran) -> list[dict[str, str]]:
    done = program.sonde("export", "--to", "events", "-o", "-", ran.folder / "run.sdb")
    return [event for event in csv.DictReader(done.splitlines()) if event["kind"] == "interval"]


def grouped(rows: Iterable[tuple[str, str, int]]) -> list[tuple[str, ...]]:
    """What there is in each stream, whatever its number is. Names of copies are not the table's."""
    found: dict[str, Counter[str]] = {}
    for stream, name, count in rows:
        found.setdefault(stream, Counter())["copy" if name.startswith("copy ") else name] += count
    return sorted(tuple(sorted(f"{name} {count}" for name, count in counts.items())) for counts in found.values())


def recorded_streams(ran: Ran) -> list[tuple[str, ...]]:
    return grouped((event["stream"], event["name"], 1) for event in intervals(ran) if event["stream"])


def true_streams(ran: Ran) -> list[tuple[str, ...]]:
    return grouped((row["stream"], row["kernel"], int(row["count"])) for row in ran.table)


def test_streams_are_those_of_hip(known_program, tmp_path):
    """Of which some share a queue of the hardware."""
    ran = on_fakes(tmp_path, known_program, options=("--trace",))
    assert recorded_streams(ran) == true_streams(ran) and len(true_streams(ran)) == 3


def test_where_streams_are_not_told_they_are_queues_of_the_hardware(known_program, tmp_path):
    ran = on_fakes(tmp_path, known_program, fail="no-streams", options=("--trace",))
    queues = {event["stream"] for event in intervals(ran) if event["stream"] and event["name"].startswith(("scale", "add"))}
    assert len(queues) == 2 and "; streams are queues of the hardware" in ran.line()


def test_the_second_device(known_program, tmp_path):
    ran = on_fakes(tmp_path, known_program, "second", options=("--trace",), FAKE_DEVICES="2")
    devices = Counter(event["device"] for event in intervals(ran) if event["stream"])
    # the default stream of a new thread is that of the first device
    assert devices == {"1": total(ran.truth("count")) - 35, "0": 35}


# ---- replayed graphs, as a whole ----

@pytest.fixture(scope="module")
def whole(known_program, tmp_path_factory) -> Ran:
    return on_fakes(tmp_path_factory.mktemp("whole"), known_program, graphs="whole", options=("--trace",), FAKE_TABLE_GRAPHS="1")


def is_whole(row: dict[str, str]) -> bool:
    return row["kernel"] == "graph"


@pytest.mark.parametrize("column,what", [("count", "count"), ("total_ns", "sum")])
def test_each_replay_is_one_operation(whole, column, what):
    """Put together from what the SDK tells of each kernel, from the start of the first to the end of the last."""
    assert measured(whole, "graph-time", what) == whole.truth(column, is_whole)
    assert whole.truth("count", is_whole) == {"graph": 10}
    alone = whole.truth(column, lambda row: is_kernel(row) and not row["graph"])
    assert measured(whole, "kernel-time", what) == alone
    assert whole.drops() == {} and "; graphs as a whole (--gpu-graphs)" in whole.line()


def test_a_replay_stands_below_its_line(whole):
    assert lines_of(whole, "graph-time") == {line_with("// replay"): 10}


def test_a_replay_is_in_the_stream_that_it_was_launched_into(whole):
    assert recorded_streams(whole) == grouped((row["stream"], row["kernel"], int(row["count"])) for row in whole.table
                                              if is_whole(row) or not row["graph"])


def test_replays_are_put_together_from_several_deliveries(known_program, tmp_path):
    """A release that delivers each record by itself; it drops some, but of no replay all."""
    ran = on_fakes(tmp_path, known_program, graphs="whole", fail="drop")
    assert measured(ran, "graph-time", "count") == {"graph": 10}


def test_a_replay_without_times_is_counted_once(known_program, tmp_path):
    ran = on_fakes(tmp_path, known_program, graphs="whole", fail="untimed")
    assert ran.drops() == {"gpu-untimed": total(ran.truth("count", lambda row: not row["graph"])) + 10}


def test_many_replays(tmp_path, known_program):
    """More than are put together at a time: each is one nevertheless."""
    ran = on_fakes(tmp_path, known_program, "replays", graphs="whole", FAKE_TABLE_GRAPHS="1")
    assert measured(ran, "graph-time", "count") == {"graph": 1000}
    assert measured(ran, "graph-time", "sum") == ran.truth("total_ns", is_whole)


def test_what_devices_did_lies_between_its_call_and_the_end_of_waiting(known_program, tmp_path):
    """The SDK's clock is another one: on the fake an hour ahead."""
    ran = on_fakes(tmp_path, known_program, options=("--trace",))
    events = intervals(ran)
    calls = {event["link"]: event for event in events if not event["stream"]}
    operations = [event for event in events if event["stream"]]
    end = next(int(event["end_ns"]) for event in calls.values() if event["name"] == "hipDeviceSynchronize")
    assert len(operations) == total(ran.truth("count"))
    for event in operations:
        assert int(calls[event["link"]]["start_ns"]) < int(event["start_ns"]) < int(event["end_ns"]) < end


@pytest.mark.parametrize("fail", ["none", "no-sdk"])
def test_a_child_has_none_of_its_parents_work(known_program, known, fail, tmp_path):
    ran = on_fakes(tmp_path, known_program, "fork", fail=fail)
    assert ran.out == "child 3\n0 no error\n"
    if fail == "none":
        assert measured(ran, "kernel-time", "count") == known.truth("count", is_kernel)


@pytest.mark.parametrize("fail", ["none", "no-sdk"])
def test_a_program_that_aborts_ends_so(known_program, fail, tmp_path):
    """Nothing is asked of the SDK any more: the program may have ended inside of it."""
    status, out = plain(SONDE, "run", "-q", "-o", tmp_path / "run", "--", known_program, "abort", fail=fail)
    assert (status, out) == (-signal.SIGABRT, "0 no error\n") == plain(known_program, "abort", fail=fail)


@pytest.mark.parametrize("fail", ["none", "no-sdk"])
def test_no_device(known_program, fail, tmp_path):
    ran = on_fakes(tmp_path, known_program, fail=fail, FAKE_DEVICES="0")
    assert (ran.status, ran.out) == (77, "no ROCm-capable device is detected\n") == plain(known_program, FAKE_DEVICES="0")


def test_a_tool_of_the_users_works_beside(known_program, known, tmp_path):
    tool = tmp_path / "libtool.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", WORKLOADS / "rocm/tool.c", "-o", tool], check=True)
    ran = on_fakes(tmp_path, known_program, ROCP_TOOL_LIBRARIES=str(tool))
    assert (ran.status, ran.out) == plain(known_program, ROCP_TOOL_LIBRARIES=str(tool))
    assert "the tool has heard" in ran.out
    assert measured(ran, "kernel-time", "sum") == known.truth("total_ns", is_kernel)


def sdk_folder() -> str:
    return plain("sh", "-c", "echo ${LD_LIBRARY_PATH##*rocm:}")[1].split(":")[0].strip()


def plugin(output: Path, folder: str | Path) -> Path:
    """A library that brings the SDK of a folder with it, and makes itself one of its tools, as XLA's plugin does."""
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-DFORCED", WORKLOADS / "rocm/tool.c", "-o", output, f"-L{folder}",
                    "-lrocprofiler-sdk", f"-Wl,--disable-new-dtags,-rpath,{folder},-rpath-link,{sdk_folder()}/.."], check=True)
    return output


def test_a_plugin_that_makes_itself_a_tool_works_beside(known_program, known, tmp_path):
    """By its own function's name it gets ours, which stands before; the SDK finds both."""
    library = plugin(tmp_path / "libplugin.so", sdk_folder())
    ran = on_fakes(tmp_path, known_program, "plugin", library)
    assert (ran.status, ran.out) == plain(known_program, "plugin", library)
    assert "the tool has heard" in ran.out
    assert measured(ran, "kernel-time", "sum") == known.truth("total_ns", is_kernel)


def test_the_sdk_that_is_loaded_is_taken(known_program, known, tmp_path):
    """And not the one that the loader would find."""
    (tmp_path / "own").mkdir()
    for name in ("librocprofiler-sdk.so", "librocprofiler-sdk.so.1"):
        (tmp_path / "own" / name).write_bytes(Path(sdk_folder(), "librocprofiler-sdk.so.1").read_bytes())
    ran = on_fakes(tmp_path, known_program, "plugin", plugin(tmp_path / "libplugin.so", tmp_path / "own"))
    assert "the tool has heard 192 calls and got 205 records" in ran.out and ran.status == 0
    assert measured(ran, "kernel-time", "sum") == known.truth("total_ns", is_kernel)


def test_the_sdk_that_is_named(known_program, tmp_path):
    """Where rocprofiler-register looks for it, so does what stands before."""
    ran = on_fakes(tmp_path, known_program, fail="no-sdk", ROCPROFILER_REGISTER_LIBRARY=f"{sdk_folder()}/librocprofiler-sdk.so.1")
    assert measured(ran, "kernel-time", "sum") == ran.truth("total_ns", is_kernel)


def test_declarations_are_as_in_the_headers():
    if not (HEADERS / "rocprofiler-sdk/rocprofiler.h").is_file():
        pytest.skip(f"no headers of rocprofiler-sdk in {HEADERS} (SONDE_ROCM_INCLUDE names another folder)")
    subprocess.run(["g++", "-std=c++17", "-fsyntax-only", "-Wno-invalid-offsetof", f"-I{HEADERS}", f"-I{ROOT}/src",
                    ROOT / "tests/fake/rocm/layout.cc"], check=True)
