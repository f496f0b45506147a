# SPDX-License-Identifier: Apache-2.0
"""OpenCL programs: what is measured equals what is known of the program and what the runtime says."""
from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import time
from collections import Counter

import pytest

import measured
import program
from program import SONDE

PROGRAM = measured.BUILD / "tests/opencl-known"

KERNELS = {"add_one": 30 + 20 + 30 + 3 * 15, "scale": 10 + 1 + 7}
COPIES = {"copy host->device": (5 + 1, 5 * 4096 + 128), "copy device->host": (3 + 1, 3 * 8192 + 128),
          "copy device->device": (4 + 1, 4 * 1024 + 128)}


def plain(*arguments: str) -> subprocess.CompletedProcess:
    if not PROGRAM.exists():
        pytest.skip("built without OpenCL")
    clean = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "OPENCL_LAYERS", "SONDE_OUTPUT")}
    done = subprocess.run([PROGRAM, *arguments], env=clean, capture_output=True, text=True, timeout=120)
    if done.returncode == 77:
        pytest.skip("no OpenCL device here (pocl-opencl-icd gives one)")
    return done


@pytest.fixture(scope="module", params=["plain", "profiling"])
def both(request, tmp_path_factory):
    """How the program went by itself and measured, and what was measured."""
    arguments = ["--profiling"] if request.param == "profiling" else []
    alone = plain(*arguments)
    folder = tmp_path_factory.mktemp("opencl") / "m.sonde"
    done, measurement = measured.run(folder, PROGRAM, *arguments)
    return alone, done, measurement


def without_times(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("time|")]


def test_program_behaves_as_without(both):
    alone, done, _ = both
    assert (done.returncode, done.stderr) == (alone.returncode, alone.stderr) == (0, "")
    assert without_times(done.stdout) == without_times(alone.stdout)


def test_nothing_is_lost(both):
    _, _, measurement = both
    assert measurement.drops.get("gpu-untimed", 0) == 0
    assert measurement.drops.get("gpu-lost", 0) == 0


def test_kernels(both):
    _, _, m = both
    for name, count in KERNELS.items():
        times, items = m.total("kernel-time", m.at("kernel", name)), m.total("work-items", m.at("kernel", name))
        groups = m.total("work-group-size", m.at("kernel", name))
        assert times.count == items.count == groups.count == count
        assert (items.min, items.max, items.sum) == (1024, 1024, 1024 * count)
        assert (groups.min, groups.max) == (64, 64)
        assert times.min > 0
    assert m.total("kernel-time").count == sum(KERNELS.values())


def test_copies_fills_and_maps(both):
    _, done, m = both
    image = 1 if "images 1" in done.stdout else 0
    shared = 1 if "shared 1" in done.stdout else 0
    for name, (count, size) in COPIES.items():
        found = m.total("copy-bytes", m.at("gpu-op", name))
        images = 2 * image if name == "copy device->device" else image
        assert (found.count, found.sum) == (count + images, size + images * 2048), name
        assert m.total("copy-time", m.at("gpu-op", name)).count == count + images
    moved = m.total("copy-bytes", m.at("gpu-op", "copy shared"))
    assert (moved.count, moved.sum) == (shared, shared * 4096)
    migrated = m.total("copy-bytes", m.at("gpu-op", "migrate"))
    assert (migrated.count, migrated.sum) == (1, 65536)
    fills = m.total("fill-bytes", m.at("gpu-op", "fill"))
    assert (fills.count, fills.sum) == (7 + image + shared, (7 + image) * 2048 + shared * 4096)
    maps = m.total("map-bytes", m.at("gpu-op", "map"))
    assert (maps.count, maps.sum) == (2 + image + shared, (2 + shared) * 4096 + image * 2048)
    assert m.total("map-time", m.at("gpu-op", "unmap")).count == 2 + image + shared


def test_calls_and_paths(both):
    """Kernels stand under the call that launched them, under the two functions that made the call."""
    _, done, m = both
    calls = Counter()
    for context in m.contexts:
        if "gpu-api-time" in context.values:
            calls[context.path[-1].name] += context.values["gpu-api-time"].count
        if "kernel-time" in context.values:
            assert [f.kind for f in context.path[-2:]] == ["gpu-api", "kernel"]
            assert context.path[-2].name == "clEnqueueNDRangeKernel"
    assert calls["clEnqueueNDRangeKernel"] == sum(KERNELS.values())
    assert calls["clEnqueueFillBuffer"] == 7
    assert calls["clFinish"] == 3 + ("images 1" in done.stdout) + ("shared 1" in done.stdout)
    assert calls["clBuildProgram"] == 1
    by_thread = Counter()
    launches = [c for c in m.contexts if "kernel-time" in c.values and c.path[-1].name == "add_one"]
    assert len({tuple((f.kind, f.name, f.line) for f in c.path) for c in launches}) == 4
    for context in launches:
        by_thread[context.values["kernel-time"].count] += 1
    assert by_thread[15] == 3  # three threads, each with its own
    assert by_thread[30] == 2 and by_thread[20] == 1


def test_sums_equal_the_runtimes_own(both):
    _, done, m = both
    lines = [line.split("|") for line in done.stdout.splitlines() if line.startswith("time|")]
    if not lines:
        pytest.skip("only the program that profiles itself knows")
    own = {name: (int(count), int(total)) for _, name, count, total in lines}
    for kernel in KERNELS:
        found = m.total("kernel-time", m.at("kernel", kernel))
        assert (found.count, found.sum) == own["kernel " + kernel]
    for name in ("copy", "fill", "map"):
        found = m.total(f"{name}-time")
        assert (found.count, found.sum) == own[name]


def test_delays(both):
    _, _, m = both
    assert m.total("queue-delay").count == m.total("submit-delay").count
    # the kernels behind the user event waited for the program
    assert m.total("submit-delay").sum + m.total("queue-delay").sum > 0


def test_layer_answers_when_nothing_is_measured():
    """A layer that is named but not measuring passes every call on."""
    alone = plain()
    env = {**os.environ, "OPENCL_LAYERS": str(measured.LIBRARY)}
    env.pop("SONDE_OUTPUT", None)
    done = subprocess.run([PROGRAM], env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (alone.returncode, alone.stdout, alone.stderr)


def test_clock_is_known(both):
    _, _, m = both
    status = next((v for k, v in m.properties.items() if "opencl" in k), "")
    assert "layer active" in status
    error_ns = int(status.split("clock known to ")[1].split(" ns")[0])
    assert error_ns < 1_000_000


@pytest.mark.parametrize("drift_ppm", [0, 200])
def test_clock_that_is_wrong(tmp_path, drift_ppm):
    """A device clock that is 5 hours ahead and drifts: every operation is put where it was, as well as is said."""
    paced, layer, log = measured.BUILD / "tests/opencl-paced", measured.BUILD / "tests/libopencl-skew.so", tmp_path / "log"
    plain()  # or skips
    command = f"OPENCL_LAYERS={layer}:$OPENCL_LAYERS exec {paced}"
    environment = {**os.environ, "SKEW_LOG": str(log), "SKEW_DRIFT": str(drift_ppm)}
    subprocess.run([SONDE, "run", "--trace", "-o", tmp_path / "run", "--", "sh", "-c", command], env=environment,
                   capture_output=True, timeout=120, check=True)
    truth = sorted(int(line.split()[0]) for line in log.read_text().splitlines())
    wrong = sorted(int(line.split()[1]) for line in log.read_text().splitlines())
    assert wrong[0] - truth[0] == pytest.approx(5 * 3600 * 10**9, abs=10**6)
    assert (wrong[-1] - wrong[0]) - (truth[-1] - truth[0]) == pytest.approx((truth[-1] - truth[0]) * drift_ppm / 1e6, abs=2)
    out = subprocess.run([SONDE, "export", "--to", "events", tmp_path / "run.sdb", "-o", "-"], capture_output=True, text=True,
                         check=True).stdout
    rows = [row for row in csv.DictReader(io.StringIO(out)) if row["kind"] == "interval"]  # not samples in clFinish
    calls = {row["link"]: row for row in rows if row["name"] == "clEnqueueNDRangeKernel"}
    kernels = sorted((int(row["start_ns"]), int(row["end_ns"]), row["link"]) for row in rows if row["name"] == "turn")
    waits = sorted((int(row["start_ns"]), int(row["end_ns"])) for row in rows if row["name"] == "clFinish")
    assert len(kernels) == len(truth) == 170 and len(waits) == 151
    status = json.loads(subprocess.run([SONDE, "info", "--format", "json", tmp_path / "run.sdb"], capture_output=True,
                                       text=True, check=True).stdout)["properties"]
    known, worst = map(int, re.search(r"clock known to (\d+) ns, at worst (\d+)", str(status)).groups())
    assert known <= worst
    assert all(int(calls[link]["start_ns"]) <= start <= end for start, end, link in kernels)  # no effect before its cause
    for (start, end, _), (_, wait_end) in zip(kernels, waits):
        assert end <= wait_end + 2 * worst
    # Whatever the runtime's own clock begins with, it is one offset. The last twenty waited half a second, in which
    # 200 ppm are 100 us.
    offsets = [kernel[0] - true for kernel, true in zip(kernels, truth)]
    assert max(offsets) - min(offsets) <= 2 * worst


def test_end_with_operations_outstanding(tmp_path):
    """Exit does not hang on what nobody will complete, and tells what is missing; a fork harms nothing."""
    alone = plain("--abandon")
    begun = time.monotonic()
    folder = tmp_path / "m.sonde"
    done = subprocess.run([PROGRAM, "--abandon"], env=measured.environment(folder), capture_output=True,
                          text=True, timeout=60)
    assert time.monotonic() - begun < 30
    assert (done.returncode, done.stdout, done.stderr) == (alone.returncode, alone.stdout, alone.stderr)
    assert done.returncode == 3
    # the parent's kernels, those of a thread that lives on too, and none of them again in the child's file
    parts = [measured.read(path) for path in folder.glob("*.sonde-process")]
    assert len(parts) == 2
    assert sum(part.total("kernel-time").count for part in parts) == 50 + 5
    assert sum(part.drops.get("gpu-lost", 0) for part in parts) == 1


def test_counters_that_cannot_be_had_are_said(tmp_path):
    plain()
    for options in ((), ("--gpu-counters", "SQ_WAVES")):
        subprocess.run([SONDE, "run", "-q", "-o", tmp_path / "run", *options, "--", PROGRAM], capture_output=True, timeout=120, check=True)
        said = program.info(tmp_path)["properties"]["adapter.opencl"]
        assert said.endswith("; no counters: kernels launched by CUDA and HIP alone have them") == bool(options)
