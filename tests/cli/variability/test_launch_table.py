# SPDX-License-Identifier: Apache-2.0
"""`sonde variability --features`: each row against a search through all launches and copies."""
from __future__ import annotations

import csv
import json
import math
import random
import statistics
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from kineto_traces import Trace
from pages import page_data


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


def neighbours(one: Event, kernels: list[Event], copies: list[Event]) -> tuple[Event | None, Event | None, int]:
    """The launch before one on its stream, its copy, and how many run on other streams at its start."""
    previous = max((other for other in kernels if other.stream == one.stream and other.start < one.start),
                   key=lambda other: other.start, default=None)
    running = [other for other in kernels if other.stream != one.stream and other.start <= one.start < other.end]
    return previous, linked(one, previous, copies), len(running)


def check_rows(rows: list[dict], target: str, kernels: list[Event], copies: list[Event], bins: set[int] | None, known: dict) -> None:
    """`known`: the neighbours of each launch, as far as they were asked for."""
    begin = min(one.start for one in kernels)
    by_start: dict[tuple[int, str], Event] = {(one.start - begin, f"stream {one.stream}"): one for one in kernels}
    expected = list(by_start)
    if bins is not None:
        assert len(bins) > 6
        expected = [key for key in by_start if key[0] // 100_000 * 100_000 + begin in bins]
        assert 0 < len(expected) < 400
    assert sorted(expected) == sorted((int(row["start_ns"]), row["stream"]) for row in rows)
    durations = {name: [one.end - one.start for one in kernels if one.name == name] for name in ("kernel_0", "kernel_1", "kernel_2")}
    links = 0
    for row in rows:
        one = by_start[int(row["start_ns"]), row["stream"]]
        if (one.start, one.stream) not in known:
            known[one.start, one.stream] = neighbours(one, kernels, copies)
        previous, copy, running = known[one.start, one.stream]
        assert row["kernel"] == one.name and row["place"] == "device 0" and number(row["registers"]) == one.registers
        assert [row[key] for key in ("gridX", "gridY", "gridZ", "blockX", "shared_memory")] == ["4", "2", "1", "64", "0"]
        found = row["perf_variation" if target == "kernel_variability" else target]
        value = targets(one, copy, durations[one.name], kernels)[target]
        assert math.isnan(number(found)) if math.isnan(value) else number(found) == pytest.approx(value, rel=1e-6, abs=1e-9)
        assert same(row["since_previous_ns"], one.start - previous.start if previous else math.nan)
        assert same(row["gap_ns"], max(0, one.start - previous.end) if previous else math.nan)
        assert int(row["concurrent_kernels"]) == running
        links += copy is not None
        assert number(row["copy_bytes"]) == copy.size if copy else row["copy_kind"] == "none" and not row["copy_bytes"]
        if copy:
            assert row["copy_kind"] == {"HtoD": "host to device", "DtoH": "device to host"}[copy.kind]
        if "copy_ns" in row:
            length = copy.end - copy.start if copy else math.nan
            assert same(row["copy_ns"], length) and same(row["copy_rate"], copy.size / length * 1e9 if copy else math.nan)
    assert links > 5


@pytest.mark.parametrize(("count", "options"), [(1500, ["--sample", "1000000"]), (1500, ["--bin", "100us", "--top", "6"]),
                                                (9000, ["--bin", "100us", "--top", "6"])])
def test_rows(sonde, tmp_path, count, options):
    """9,000 launches of a stream are more than a block of events has, so that some rows are first in theirs."""
    kernels, copies = made(5, count)
    trace = write(tmp_path, kernels, copies)
    columns, known = {}, {}
    for target in ("duration_ns", "kernel_variability", "memory_stall", "exposed_copy_ns", "log_squared_residual"):
        result = sonde("variability", trace, "--features", tmp_path / "rows.csv", "--target", target, "--format", "json", *options)
        assert result.status == 0, result.err
        rows, answer = read(tmp_path / "rows.csv"), json.loads(result.out)
        assert len(rows) == answer["features"]["rows"]
        bins = {row["start_ns"] for row in answer["bins"] + answer["adjusted_bins"]} if options[0] == "--bin" else None
        check_rows(rows, target, kernels, copies, bins, known)
        columns[target] = set(rows[0])
    # a target is made of the linked copy's time, which explains it by definition
    assert "copy_ns" not in columns["memory_stall"] and "copy_rate" not in columns["exposed_copy_ns"]
    assert "duration_ns" not in columns["memory_stall"] and "copy_ns" in columns["duration_ns"]


def targets(one: Event, copy: Event | None, durations: list[int], kernels: list[Event]) -> dict[str, float]:
    """Of a launch; `durations` are those of its kernel."""
    duration = one.end - one.start
    log_mean = sum(map(math.log, durations)) / len(durations)
    length = copy.end - copy.start if copy else math.nan
    return {"duration_ns": duration,
            "kernel_variability": abs(duration - sum(durations) / len(durations)),
            "log_squared_residual": 2 * math.log(max(abs(math.log(duration) - log_mean), 0.5 / duration)),
            "memory_stall": abs(duration - length),
            "exposed_copy_ns": length - covered(copy.start, copy.end, kernels) if copy else math.nan}


@pytest.mark.parametrize("target", ["memory_stall", "exposed_copy_ns", "log_squared_residual", "kernel_variability"])
def test_bins_are_ranked_by_the_target(sonde, tmp_path, target):
    """By the variance of its values over the launches that have one; that of kernel_variability is the one of durations."""
    kernels, copies = made(7, 1500)
    trace = write(tmp_path, kernels, copies)
    options = ["--target", target, "--bin", "500us", "--top", "7"]
    result = sonde("variability", trace, "--format", "json", *options)
    assert result.status == 0, result.err
    answer = json.loads(result.out)
    begin = min(one.start for one in kernels)
    durations = {name: [one.end - one.start for one in kernels if one.name == name] for name in ("kernel_0", "kernel_1", "kernel_2")}
    values: dict[int, list[float]] = {}
    plain: dict[int, list[float]] = {}
    for stream in (7, 8):
        previous = None
        for one in (one for one in kernels if one.stream == stream):
            value = targets(one, linked(one, previous, copies), durations[one.name], kernels)[target]
            values.setdefault((one.start - begin) // 500_000, []).extend([] if math.isnan(value) else [value])
            plain.setdefault((one.start - begin) // 500_000, []).append(one.end - one.start)
            previous = one
    is_plain = target == "kernel_variability"
    assert answer["bins_ranked_by"] == ("duration_ns" if is_plain else target)
    ranked = plain if is_plain else values
    variances = {number: statistics.pvariance(part) if part else 0 for number, part in ranked.items()}
    order = sorted(variances, key=lambda number: (-variances[number], number))
    assert [(row["start_ns"] - begin) // 500_000 for row in answer["bins"]] == order[:7]
    if is_plain:
        assert "target_std" not in answer["over_time"]
    else:
        deviations = answer["over_time"]["target_std"]
        assert deviations == [pytest.approx(math.sqrt(variances[number]), rel=1e-6, abs=1e-9) if values.get(number) else None for number in range(len(deviations))]
    by_duration = sorted(plain, key=lambda number: -statistics.pvariance(plain[number]))
    assert is_plain or order[:7] != by_duration[:7]
    for number, row in zip(order[:7], answer["bins"], strict=True):
        assert row["variance"] == pytest.approx(statistics.pvariance(plain[number]), rel=1e-9) and row["rank"] == order.index(number) + 1
        if is_plain:
            assert "target_variance" not in row
        else:
            assert row["target_count"] == len(values[number])
            assert row["target_mean"] == pytest.approx(statistics.mean(values[number]), rel=1e-6)
            assert row["target_variance"] == pytest.approx(variances[number], rel=1e-6)
    text = sonde("variability", trace, *options).out
    assert f"bins of 500 us with the largest variance{'' if is_plain else f' of {target}'}, whichever kernels these are" in text


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


@pytest.mark.parametrize("has_copies", [True, False])
def test_all_launches_are_drawn(sonde, tmp_path, has_copies):
    """How many lines go through each kernel and each kind of linked copy, as the rows of all launches have them; without copies there are no axes of these."""
    kernels, copies = made(8, 6000)
    trace = write(tmp_path, kernels, copies if has_copies else [])
    assert sonde("variability", trace, "--html", tmp_path / "why.html", "--features", tmp_path / "rows.csv", "--sample", "1000000", "--target", "duration_ns").status == 0
    rows = read(tmp_path / "rows.csv")
    drawn = page_data(tmp_path / "why.html")["parallel"]
    axes = {axis["name"]: axis["bins"] for axis in drawn["axes"]}
    assert drawn["rows"] == len(rows) == len(kernels)
    assert list(axes) == ["start_ns", "kernel", *(["copy_kind", "copy_bytes"] if has_copies else []), "duration_ns", *(["memory_stall"] if has_copies else [])]
    for name in {"kernel", "copy_kind"} & set(axes):
        assert {one["name"]: one["rows"] for one in axes[name]} == Counter(row[name] for row in rows)
    for name in {"duration_ns", "start_ns"}:
        for one in axes[name]:
            assert one["rows"] == sum(one["low"] <= float(row[name]) < one["high"] for row in rows)
