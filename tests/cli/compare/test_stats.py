# SPDX-License-Identifier: Apache-2.0
"""`sonde stats`: what varies across databases and over the time of a store, and what is chance."""
from __future__ import annotations

import csv
import io
import json
import math
import random
import re
import statistics

import pytest

from compared import COLD, HOT, KERNEL_CODE, asked, begin, by_name, minute, store
from conftest import run_sonde
from stores import BEGIN, Library


@pytest.fixture
def library(tmp_path) -> Library:
    return Library(tmp_path)


COUNTS = [(60, 30, 10), (70, 32, 10), (50, 28, 10), (95, 30, 12)]


def databases(tmp_path, library) -> list:
    """Of minutes with known counts."""
    return [store(tmp_path / f"set{number}", library, minute(library, 0, sum(counts), tuple(one / sum(counts) for one in counts)))
            for number, counts in enumerate(COUNTS)]


def chi_square_tail(value: float, degrees: int) -> float:
    """Of an odd number of degrees of freedom, by the recurrence from one degree on."""
    tail, term = math.erfc(math.sqrt(value / 2)), math.sqrt(2 * value / math.pi) * math.exp(-value / 2)
    for odd in range(3, degrees + 1, 2):
        tail += term
        term *= value / odd
    return tail


def test_known_answer(tmp_path, library):
    found = asked("stats", *databases(tmp_path, library))
    rows, everything = by_name(found), sum(map(sum, COUNTS))
    assert (found["per"], found["by"], len(found["sets"])) == ("set", "function", 4)
    for which, name in enumerate([HOT, COLD, KERNEL_CODE]):
        counts, row = [one[which] for one in COUNTS], rows[name]
        values = [count * 1e6 for count in counts]
        assert row["values"] == values and row["sets"] == 4 and row["sum"] == sum(values)
        assert row["share"] == pytest.approx(sum(counts) / everything)
        assert (row["mean"], row["deviation"]) == pytest.approx((statistics.mean(values), statistics.stdev(values)))
        assert (row["min"], row["max"]) == (min(values), max(values))
        assert row["range"] == pytest.approx((max(values) - min(values)) / sum(values))
        mean = sum(counts) / 4
        assert row["noise"] == pytest.approx(1e6 * math.sqrt(mean))
        assert row["excess"] == pytest.approx(math.sqrt(max(0, row["deviation"]**2 - row["noise"]**2)))
        assert row["chance"] == pytest.approx(chi_square_tail(sum((count - mean)**2 / mean for count in counts), 3))
    assert [name for name, row in rows.items() if row["varies"]] == [HOT] and found["rows"][0]["name"] == "hot"
    assert (found["tested"], found["varying"], found["too_few"]) == (3, 1, 0)
    assert found["total"]["values"] == [sum(counts) * 1e6 for counts in COUNTS]


def test_shares_and_paces(tmp_path, library):
    """The same shares of more or fewer samples, in longer or shorter times, do not vary per total, or per second, and do as they are."""
    shares = (0.5, 0.3, 0.2)
    sets = [store(tmp_path / f"set{length}", library, *(minute(library, number, 200, shares) for number in range(length))) for length in (1, 2, 4)]
    assert asked("stats", *sets)["varying"] == 3
    for per in ("total", "second"):
        found = asked("stats", *sets, "--per", per)
        assert found["varying"] == 0 and by_name(found)[HOT]["deviation"] == pytest.approx(0, abs=1e-9)
        assert by_name(found)[HOT]["mean"] == pytest.approx(0.5 if per == "total" else 100e6 / 60)
    share = by_name(asked("stats", *sets, "--per", "total"))[HOT]
    noise = [0.5 * 0.5 / count for count in (200, 400, 800)]
    assert share["noise"] == pytest.approx(math.sqrt(sum(noise) / 3))


def test_times_of_a_store(tmp_path, library):
    """Slices of ten minutes: in the third of them hot runs twice as much."""
    path = store(tmp_path / "store", library, *(minute(library, number, 150 if number // 10 == 2 else 100, (100 / 150, 40 / 150, 10 / 150) if number // 10 == 2 else (0.5, 0.4, 0.1))
                                                for number in range(40)))
    found = asked("stats", path, "--each", "10m", TZ="UTC")
    assert [one["name"] for one in found["sets"]] == [f"2026-11-30 12:{ten}0" for ten in range(4)]
    assert [one["samples"] for one in found["sets"]] == [1000, 1000, 1500, 1000] and {one["duration_ns"] for one in found["sets"]} == {600e9}
    rows = by_name(found)
    assert rows[HOT]["values"] == [500e6, 500e6, 1000e6, 500e6] and rows[HOT]["mean"] == pytest.approx(625e6 / 600)
    assert [name for name, row in rows.items() if row["varies"]] == [HOT] and found["per"] == "second"
    part = asked("stats", path, "--each", "10m", "--since", "2026-11-30T12:05Z", "--until", "2026-11-30T12:24:30Z", TZ="UTC")
    assert [(one["name"], one["samples"]) for one in part["sets"]] == [("2026-11-30 12:05", 1000), ("2026-11-30 12:15", 1250)]
    programs = by_name(asked("stats", path, "--each", "10m", "--by", "program"))
    assert {name: row["values"] for name, row in programs.items()} == {"worker": [500e6, 500e6, 1000e6, 500e6], "other": [500e6] * 4}


def test_merged_times_are_one(tmp_path, library):
    """An hour that was merged is of the slice in which it begins, with its own length: nothing is counted twice."""
    lines = [line for number in range(60) for line in minute(library, number, 60, (0.5, 0.4, 0.1))]
    later = [line for number in range(60, 120) for line in minute(library, number, 60, (0.5, 0.4, 0.1))]
    path = store(tmp_path / "store", library, lines, [("seal",), ("tend", BEGIN + 3 * 3600), begin(library)[-1]], later)  # an epoch has its own names
    result = run_sonde("stats", path, "--each", "15m", "--format", "json")
    assert result.status == 0 and re.fullmatch(r"sonde: 3 of 8 times have no samples and are left out\n", result.err)
    found = json.loads(result.out)
    assert [one["samples"] for one in found["sets"]] == [3600, 900, 900, 900, 900]
    assert [one["duration_ns"] for one in found["sets"]] == [3600e9] + 4 * [900e9] and found["varying"] == 0


def test_draws_from_the_same_shares_do_not_vary(tmp_path, library):
    """Of 30 groups of 6 sets at most a few have an alarm."""
    generator, alarmed = random.Random(11), 0
    path = store(tmp_path / "store", library, *(minute(library, number, 500, (0.5, 0.3, 0.2), generator) for number in range(180)))
    for group in range(30):
        first, last = (f"2026-11-30T{12 + at // 60}:{at % 60:02}:{second}Z" for at, second in ((6 * group, "00"), (6 * group + 5, "30")))
        found = asked("stats", path, "--each", "1m", "--since", first, "--until", last, "--per", "total")
        assert len(found["sets"]) == 6 and found["tested"] == 3
        alarmed += found["varying"] > 0
    assert alarmed <= 6  # 1.5 are expected


def test_what_has_few_samples_is_not_tested(tmp_path, library):
    sets = [store(tmp_path / f"set{number}", library, minute(library, 0, 100, (0.97, 0.03, 0))) for number in range(3)]
    found = asked("stats", *sets)
    assert (found["tested"], found["too_few"]) == (1, 1)
    assert by_name(found)[COLD]["chance"] is None and by_name(found)[HOT]["chance"] == pytest.approx(1)
    assert "1 have too few samples for a test" in run_sonde("stats", *sets).out


def test_text_and_csv(tmp_path, library):
    sets = databases(tmp_path, library)
    text = run_sonde("stats", *sets, COLUMNS="80").out.splitlines()
    assert text[0] == "cpu-clock of 4 sets, as they are" and text[1] == "* 1 of 3 functions vary more than sampling explains: chi-square test,"
    heads = next(number for number, line in enumerate(text) if "range" in line)
    assert text[heads].split() == ["range", "sum", "share", "sets", "mean", "dev", "min", "max", "function"]
    assert text[heads + 2].split()[0] == "16.4%*" and "hot [l" in text[heads + 2]
    assert max(map(len, text)) <= 80
    narrow = run_sonde("stats", *sets, COLUMNS="60", LC_ALL="de_DE.ISO-8859-1").out
    assert narrow.isascii() and "~" in narrow  # what is left out of a name
    assert "2 more functions (--limit)" in run_sonde("stats", *sets, "--limit", 1).out
    table = list(csv.DictReader(io.StringIO(run_sonde("stats", *sets, "--format", "csv").out)))
    rows = by_name(asked("stats", *sets))
    for line in table:
        row = rows[f"{line['name']} [{line['place']}]"]
        for column in ("sum", "mean", "deviation", "range", "noise", "chance", "false_rate"):
            assert float(line[column]) == pytest.approx(row[column])
        assert line["varies"] == str(int(row["varies"]))


def test_mistakes(tmp_path, library):
    one = store(tmp_path / "one", library, minute(library, 0, 10, (1, 0, 0)))
    for arguments, status, words in [
            ((), 129, "missing database"), ((one,), 129, "two databases at least, or --each"), ((one, one, "--each", "1h"), 129, "one folder"),
            ((one, "--each", "x"), 129, "no duration"), ((one, "--each", "0s"), 129, "no duration"), ((one, "--each", "1h"), 128, "one such time only"),
            ((one, one, "--per", "hour"), 129, "set, second, total"), ((one, tmp_path / "none"), 128, "none")]:
        result = run_sonde("stats", *arguments)
        assert (result.status, result.out) == (status, "") and len(result.err_lines) == 1 and words in result.err, (arguments, result.err)
