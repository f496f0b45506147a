# SPDX-License-Identifier: Apache-2.0
"""`sonde variability --features`: each row against a search through all launches and copies."""
from __future__ import annotations

import csv
import json
import math
import random
from dataclasses import dataclass
from pathlib import Path

import pytest
from kineto_traces import Trace


@dataclass
class Event:
    start: int
    end: int
    stream: int
    kind: str = ""  # of a copy
    size: int = 0
    name: str = ""
    registers: int = 0


def made(seed: int, count: int) -> tuple[list[Event], list[Event]]:
    """Kernels on two streams, copies on these and a third one; some copies last as long as twenty bins."""
    random_ = random.Random(seed)
    kernels, copies = [], []
    for stream in (7, 8):
        now = 1_000_000 + stream
        for number in range(count):
            duration = random_.randrange(500, 9000)
            kernels.append(Event(now, now + duration, stream, name=f"kernel_{number % 3}", registers=16 + number % 3))
            now += duration + random_.randrange(0, 4000)
            if random_.random() < 0.1:
                length = random_.randrange(300, 3000)
                copies.append(Event(now, now + length, stream, random_.choice(["HtoD", "DtoH"]), random_.randrange(1, 1 << 20)))
                now += length + random_.randrange(0, 500)
    now = 1_500_000
    while now < kernels[-1].end:
        length = random_.choice([2000, 20_000, 2_000_000])
        copies.append(Event(now, now + length, 9, "HtoD", length * 16))
        now += length + random_.randrange(10_000, 400_000)
    return kernels, copies


def write(folder: Path, kernels: list[Event], copies: list[Event]) -> Path:
    trace = Trace()
    trace.call("cpu_op", "aten::step", 0, 1)
    for number, one in enumerate(kernels):
        trace.operation("kernel", one.name, one.start / 1000, one.end / 1000, number + 1, one.stream, grid=[4, 2, 1], block=[64, 1, 1],
                        **{"shared memory": 0, "registers per thread": one.registers})
    for number, one in enumerate(copies):
        trace.operation("gpu_memcpy", f"Memcpy {one.kind} (Pinned -> Device)", one.start / 1000, one.end / 1000,
                        len(kernels) + number + 1, one.stream, bytes=one.size)
    return trace.write(folder / "trace.json")


def covered(start: int, end: int, kernels: list[Event]) -> int:
    """How much of it any kernel runs."""
    done, sum_ = start, 0
    for one in sorted(kernels, key=lambda one: one.start):
        begin, stop = max(one.start, done), min(one.end, end)
        if stop > begin:
            sum_ += stop - begin
            done = stop
    return sum_


def linked(kernel: Event, previous: Event | None, copies: list[Event]) -> Event | None:
    beside = [(min(kernel.end, one.end) - max(kernel.start, one.start), one) for one in copies]
    longest = max((both for both, _ in beside), default=0)
    if longest > 0:
        return next(one for both, one in sorted(beside, key=lambda pair: pair[1].start) if both == longest)
    since = previous.start if previous else -1
    ended = [one for one in copies if one.stream == kernel.stream and since <= one.end <= kernel.start]
    return max(ended, key=lambda one: one.end, default=None)


def read(path: Path) -> list[dict]:
    with path.open() as file:
        return list(csv.DictReader(file))


def number(text: str) -> float:
    return float(text) if text else math.nan


def same(found: str, expected: float) -> bool:
    value = number(found)
    return (math.isnan(value) and math.isnan(expected)) or value == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("count", "options"), [(1500, ["--sample", "1000000"]), (1500, ["--bin", "100us", "--top", "6"]),
                                                (9000, ["--bin", "100us", "--top", "6"])])
def test_rows(sonde, tmp_path, count, options):
    """9,000 launches of a stream are more than a block of events has, so that some rows are first in theirs."""
    kernels, copies = made(5, count)
    trace = write(tmp_path, kernels, copies)
    for target in ("memory_stall", "exposed_copy_ns", "kernel_variability", "log_squared_residual", "duration_ns"):
        result = sonde("variability", trace, "--features", tmp_path / f"{target}.csv", "--target", target, "--format", "json", *options)
        assert result.status == 0, result.err
    tables = [read(tmp_path / f"{target}.csv") for target in ("duration_ns", "memory_stall", "exposed_copy_ns", "kernel_variability",
                                                            "log_squared_residual")]
    answer = json.loads(result.out)
    assert all(len(table) == answer["features"]["rows"] for table in tables)
    begin = min(one.start for one in kernels)
    by_start: dict[tuple[int, str], Event] = {(one.start - begin, f"stream {one.stream}"): one for one in kernels}
    if options[0] == "--bin":
        bins = {row["start_ns"] - begin for row in answer["bins"] + answer["adjusted_bins"]}
        assert len(bins) > 6
        expected = [key for key in by_start if key[0] // 100_000 * 100_000 in bins]
        assert 0 < len(expected) < 300
    else:
        expected = list(by_start)
    assert sorted(expected) == sorted((int(row["start_ns"]), row["stream"]) for row in tables[0])
    means = {name: [one.end - one.start for one in kernels if one.name == name] for name in ("kernel_0", "kernel_1", "kernel_2")}
    links = 0
    for row, stall, exposed, variation, residual in zip(*tables, strict=True):
        one = by_start[int(row["start_ns"]), row["stream"]]
        previous = max((other for other in kernels if other.stream == one.stream and other.start < one.start),
                       key=lambda other: other.start, default=None)
        copy = linked(one, previous, copies)
        duration, durations = one.end - one.start, means[one.name]
        assert row["kernel"] == one.name and row["place"] == "device 0" and number(row["registers"]) == one.registers
        assert [row[key] for key in ("gridX", "gridY", "gridZ", "blockX", "shared_memory")] == ["4", "2", "1", "64", "0"]
        assert number(row["duration_ns"]) == duration
        assert number(variation["perf_variation"]) == pytest.approx(abs(duration - sum(durations) / len(durations)), rel=1e-9)
        log_mean = sum(map(math.log, durations)) / len(durations)
        assert number(residual["log_squared_residual"]) == pytest.approx(
            2 * math.log(max(abs(math.log(duration) - log_mean), 0.5 / duration)), rel=1e-6)
        assert same(row["since_previous_ns"], one.start - previous.start if previous else math.nan)
        assert same(row["gap_ns"], max(0, one.start - previous.end) if previous else math.nan)
        running = [other for other in kernels if other.stream != one.stream and other.start <= one.start < other.end]
        assert int(row["concurrent_kernels"]) == len(running)
        if not copy:
            assert row["copy_kind"] == "none" and not row["copy_bytes"] and not stall["memory_stall"]
            continue
        links += 1
        length = copy.end - copy.start
        assert row["copy_kind"] == {"HtoD": "host to device", "DtoH": "device to host"}[copy.kind]
        assert (number(row["copy_ns"]), number(row["copy_bytes"])) == (length, copy.size)
        assert same(row["copy_rate"], copy.size / length * 1e9)
        assert number(stall["memory_stall"]) == abs(duration - length)
        assert number(exposed["exposed_copy_ns"]) == length - covered(copy.start, copy.end, kernels)
    assert links > 5
    # a target is made of the linked copy's time, which explains it by definition
    assert "copy_ns" not in tables[1][0] and "copy_rate" not in tables[2][0] and "duration_ns" not in tables[1][0]


def test_a_sample_is_of_the_whole_time(sonde, tmp_path):
    kernels, copies = made(6, 3000)
    trace = write(tmp_path, kernels, copies)
    tables = []
    for jobs in ("1", "3"):
        result = sonde("variability", trace, "--features", tmp_path / "t.csv", "--sample", "600", "-j", jobs)
        assert result.status == 0, result.err
        tables.append((tmp_path / "t.csv").read_text())
    rows = read(tmp_path / "t.csv")
    assert tables[0] == tables[1] and 500 < len(rows) < 700  # 4 deviations
    starts = [int(row["start_ns"]) for row in rows]
    last = max(one.start for one in kernels) - 1_000_000
    parts = [sum(part * last / 4 <= start < (part + 1) * last / 4 for start in starts) for part in range(4)]
    assert min(parts) > 100
