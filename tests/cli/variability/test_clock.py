# SPDX-License-Identifier: Apache-2.0
"""`sonde variability` where a counter tells the clock frequency of a device, on which durations depend."""
from __future__ import annotations

import csv
import json
import math
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD

SM_CLOCK = ("sm__cycles_elapsed.avg.per_second", "cycle/s", "1")


def make(path: Path, counter: tuple[str, str, str], devices: int = 2) -> dict[tuple[str, int], float]:
    """The clock frequency, NAN where it is not told, by device and start."""
    out = subprocess.run([BUILD / "tests/make-clocked", path, *counter, str(devices)], capture_output=True, text=True, check=True).stdout
    rows = [line.split(" ") for line in out.splitlines()]
    begin = min(int(row[1]) for row in rows)
    return {(f"device {row[0]}", int(row[1]) - begin): float(row[3]) if row[3] else math.nan for row in rows}


ALL = ("--sample", "1000000")


def features(sonde, database: Path, target: str, *options: str) -> tuple[dict, list[dict[str, str]]]:
    table = database.with_suffix(".csv")
    result = sonde("variability", database, "--target", target, "--features", table, "--format", "json", *options)
    assert result.status == 0, result.err
    with table.open() as file:
        return json.loads(result.out), list(csv.DictReader(file))


def check(rows: list[dict[str, str]], clocks: dict[tuple[str, int], float]) -> None:
    for row in rows:
        expected = clocks[row["place"], int(row["start_ns"])]
        assert math.isnan(expected) if not row["clock_hz"] else float(row["clock_hz"]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("counter", [SM_CLOCK, ("gpc__cycles_elapsed.avg.per_second", "cycle/s", "1"), ("GPC Clock Frequency", "MHz", "1e6")])
def test_the_clock_at_each_start(sonde, tmp_path, counter):
    """Of a device whose counter tells it, from the first value on."""
    clocks = make(tmp_path / "run.sdb", counter)
    _, rows = features(sonde, tmp_path / "run.sdb", "log_duration", *ALL)
    assert len(rows) == len(clocks)
    check(rows, clocks)
    assert sum(not row["clock_hz"] for row in rows) == len(rows) // 2 + 15


def test_the_last_value_lies_before_the_bin(sonde, tmp_path):
    clocks = make(tmp_path / "run.sdb", SM_CLOCK)
    _, rows = features(sonde, tmp_path / "run.sdb", "log_duration", "--bin", "100us", "--top", "200")
    assert 200 < len(rows) < len(clocks) / 4
    check(rows, clocks)
    assert any(row["clock_hz"] and int(row["start_ns"]) % 1_000_000 > 300_000 for row in rows)


def test_durations_depend_on_it(sonde, tmp_path):
    make(tmp_path / "run.sdb", SM_CLOCK, 1)
    found, _ = features(sonde, tmp_path / "run.sdb", "log_duration", *ALL)
    edge = next(edge for edge in found["graph"]["edges"] if (edge["from"], edge["to"]) == ("clock_hz", "log_duration"))
    assert edge["directed"] and edge["sign"] == -1 and edge["frequency"] > 0.95
    assert found["graph"]["causes"][0]["cause"] == "clock_hz"


@pytest.mark.parametrize("counter", [("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "1e7"), ("Memory Clock", "MHz", "1e6"),
                                     ("sm__cycles_elapsed.sum.per_second", "cycle/s", "1")])
def test_other_counters_tell_no_clock(sonde, tmp_path, counter):
    """A share is no frequency, the memory's is another one, and a sum over multiprocessors many times theirs."""
    make(tmp_path / "run.sdb", counter)
    found, rows = features(sonde, tmp_path / "run.sdb", "log_duration", *ALL)
    assert not any(row["clock_hz"] for row in rows)
    assert "clock_hz" not in [edge["from"] for edge in found["graph"]["edges"]]
