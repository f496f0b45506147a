# SPDX-License-Identifier: Apache-2.0
"""`sonde diff`: what changed between two databases, groups of them, and two times of a store, and what is chance."""
from __future__ import annotations

import csv
import io
import math
import random
import re
import shutil
import statistics
import subprocess
from pathlib import Path

import pytest

from compared import COLD, HOT, KERNEL_CODE, asked, begin, by_name, minute, store
from conftest import run_sonde
from program import SONDE
from stores import Library, flush, write


@pytest.fixture
def library(tmp_path) -> Library:
    return Library(tmp_path)


def split_chance(a: int, b: int, part: float) -> float:
    """Both tails' smaller one, doubled, term by term."""
    def tail(k: int, n: int, p: float) -> float:
        return sum(math.comb(n, i) * p**i * (1 - p)**(n - i) for i in range(k + 1))
    return min(1, 2 * min(tail(a, a + b, part), tail(b, a + b, 1 - part)))


def shares_chance(a: int, all_a: int, b: int, all_b: int) -> float:
    def tail(k: int, n: int, kind: int, everything: int) -> float:
        return sum(math.comb(kind, i) * math.comb(everything - kind, n - i) for i in range(k + 1)) / math.comb(everything, n)
    kind, everything = a + b, all_a + all_b
    return min(1, 2 * min(tail(a, all_a, kind, everything), tail(b, all_b, kind, everything)))


def welch_chance(a: list[float], b: list[float]) -> float:
    """Welch's test, with Student's density integrated in small steps."""
    parts = [statistics.variance(side) / len(side) for side in (a, b)]
    t = abs(statistics.mean(a) - statistics.mean(b)) / math.sqrt(sum(parts))
    degrees = sum(parts)**2 / sum(part**2 / (len(side) - 1) for part, side in zip(parts, (a, b)))
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)
    step = t / 20000
    inside = sum(scale * (1 + ((i + 0.5) * step)**2 / degrees)**(-(degrees + 1) / 2) * step for i in range(20000))
    return 1 - 2 * inside


def test_known_answer(tmp_path, library):
    """Shares 60/30/10 become 40/50/10 of twice as many samples in the same minute: each number is computed here."""
    before = store(tmp_path / "before", library, minute(library, 0, 100, (0.6, 0.3, 0.1)))
    after = store(tmp_path / "after", library, minute(library, 0, 200, (0.4, 0.5, 0.1)))
    found = asked("diff", before, after)
    assert (found["metric"], found["unit"], found["by"], found["sampled"]) == ("cpu-clock", "ns", "function", True)
    assert [(one["name"], one["samples"], one["value"], one["duration_ns"]) for one in found["before"] + found["after"]] == [
        (str(before), 100, 100e6, 60e9), (str(after), 200, 200e6, 60e9)]
    rows = by_name(found)
    expected = {HOT: (60, 80), COLD: (30, 100), KERNEL_CODE: (10, 20)}
    assert set(rows) == set(expected)
    for name, (first, second) in expected.items():
        row = rows[name]
        assert (row["before"]["samples"], row["after"]["samples"]) == (first, second) and row["fate"] is None
        assert (row["before"]["value"], row["after"]["value"]) == (first * 1e6, second * 1e6)
        assert (row["before"]["share"], row["after"]["share"]) == pytest.approx((first / 100, second / 200))
        assert row["share"]["change"] == pytest.approx(second / 200 - first / 100)
        assert row["after"]["per_second"] == pytest.approx(second * 1e6 / 60)
        assert row["per_second"]["change"] == pytest.approx((second - first) * 1e6 / 60)
        assert row["share"]["chance"] == pytest.approx(shares_chance(first, 100, second, 200))
        assert row["per_second"]["chance"] == pytest.approx(split_chance(first, second, 0.5))
    assert found["total"]["per_second"]["chance"] == pytest.approx(split_chance(100, 200, 0.5))
    assert found["total"]["share"]["chance"] is None and found["total"]["before"]["share"] == 1
    assert rows[HOT]["share"]["significant"] and rows[COLD]["share"]["significant"] and not rows[KERNEL_CODE]["share"]["significant"]
    # the rates of false discoveries: each chance by its rank among three
    ranked = sorted(row["share"]["chance"] for row in rows.values())
    assert rows[KERNEL_CODE]["share"]["false_rate"] == pytest.approx(ranked[2])
    assert min(row["share"]["false_rate"] for row in rows.values()) == pytest.approx(min(3 * ranked[0], 1.5 * ranked[1]))
    assert [row["name"] for row in found["rows"]][-1] == "schedule"  # sure ones first


def test_samples_that_stand_for_different_amounts(tmp_path, library):
    """Half of them for 1 ms and half for 3: as many as 100 (4 / 2)^2 / ((1 + 9) / 2) of equal weight have the same noise."""
    one = store(tmp_path / "one", library, minute(library, 0, 50, (1, 0, 0)), minute(library, 1, 50, (1, 0, 0), period=3000000))
    found = asked("diff", one, one)
    assert (found["before"][0]["samples"], found["before"][0]["value"]) == (100, 200e6)
    assert found["before"][0]["effective_samples"] == pytest.approx(80)
    row = by_name(found)[HOT]["before"]
    assert (row["samples"], row["effective_samples"]) == (100, pytest.approx(80))
    assert "200 ms, 100 samples" in run_sonde("diff", one, one).out


def test_new_and_gone(tmp_path, library):
    before = store(tmp_path / "before", library, minute(library, 0, 100, (0.7, 0.3, 0)))
    after = store(tmp_path / "after", library, minute(library, 0, 100, (0.7, 0, 0.3)))
    rows = by_name(asked("diff", before, after))
    assert {name: row["fate"] for name, row in rows.items()} == {HOT: None, COLD: "gone", KERNEL_CODE: "new"}
    assert rows[KERNEL_CODE]["before"] == {"value": 0, "share": 0, "samples": 0, "effective_samples": 0, "per_second": 0}
    text = run_sonde("diff", before, after, COLUMNS="100").out
    assert re.search(r"^ *30\.0% +0\.0% +-30\.0\* .* gone  cold \[libknown\.so\]$", text, re.M)
    assert re.search(r"^ *0\.0% +30\.0% +\+30\.0\* .* new  schedule \[\(os\)\]$", text, re.M)


def test_code_without_symbols(tmp_path):
    """It is the same in one build; in another one the same address is other code."""
    libraries = []
    for factor in (3, 7):
        (tmp_path / str(factor)).mkdir()
        libraries.append(Library(tmp_path / str(factor), factor, is_stripped=True))
    hot = libraries[0].starts["hot"]
    assert hot == libraries[1].starts["hot"] and libraries[0].id != libraries[1].id
    stores = [write(tmp_path / f"store{number}", ("origin", "/bin/x", "-", 0, 0), library.image(), ("count", 0, 0, hot, 50), flush(0, 50))
              for number, library in enumerate([libraries[0], *libraries])]
    same, other = (asked("diff", stores[0], after)["rows"] for after in stores[1:])
    assert [(row["name"], row["fate"]) for row in same] == [(f"libknown.so+0x{hot:x}", None)]
    assert sorted(row["fate"] for row in other) == ["gone", "new"] and {row["name"] for row in other} == {row["name"] for row in same}


def test_by_module_and_program(tmp_path, library):
    before = store(tmp_path / "before", library, minute(library, 0, 100, (0.6, 0.3, 0.1)))
    after = store(tmp_path / "after", library, minute(library, 0, 100, (0.5, 0.3, 0.2)))
    modules = by_name(asked("diff", before, after, "--by", "module"))
    assert {name: row["before"]["samples"] for name, row in modules.items()} == {"libknown.so": 90, "(os)": 10}
    assert asked("diff", before, after, "--by", "image") == asked("diff", before, after, "--by", "module")
    programs = by_name(asked("diff", before, after, "--by", "program"))
    assert {name: (row["before"]["samples"], row["after"]["samples"]) for name, row in programs.items()} == {"worker": (60, 50), "other": (40, 50)}


def test_times_of_a_store(tmp_path, library):
    """Each minute belongs to one of them: that which begins where the other ends too."""
    path = store(tmp_path / "store", library, *(minute(library, number, 100, (0.6, 0.3, 0.1)) for number in range(0, 10)),
                 *(minute(library, number, 100, (0.2, 0.7, 0.1)) for number in range(10, 20)))
    found = asked("diff", path, "--before", "2026-11-30T12:00Z..2026-11-30T12:10Z", "--after", "2026-11-30T12:10Z..2026-11-30T12:20Z")
    rows = by_name(found)
    assert (rows[HOT]["before"]["samples"], rows[HOT]["after"]["samples"]) == (600, 200)
    assert found["before"][0]["duration_ns"] == found["after"][0]["duration_ns"] == 600e9
    assert rows[HOT]["share"]["significant"] and not rows[KERNEL_CODE]["share"]["significant"]
    open_end = asked("diff", path, "--before", "2026-11-30T12:00Z..2026-11-30T12:10Z", "--after", "2026-11-30T12:10Z..", "--image", "libknown.so")
    assert by_name(open_end)[HOT]["after"]["samples"] == 200 and set(by_name(open_end)) == {HOT, COLD}


def test_draws_from_the_same_shares_do_not_differ(tmp_path, library):
    """Of 40 comparisons of 2,000 samples each at most a few have an alarm: five in a hundred are allowed, of shares and of times."""
    generator, alarmed, low = random.Random(7), 0, 0
    path = store(tmp_path / "store", library, *(minute(library, number, 2000, (0.5, 0.3, 0.2), generator) for number in range(80)))
    for number in range(0, 80, 2):
        first, middle, last = (f"2026-11-30T{12 + at // 60}:{at % 60:02}Z" for at in (number, number + 1, number + 2))
        found = asked("diff", path, "--before", f"{first}..{middle}", "--after", f"{middle}..{last}")
        assert sum(one["samples"] for one in found["before"]) == 2000
        alarmed += found["significant"] > 0
        low += sum(row["share"]["chance"] < 0.5 for row in found["rows"])
    assert alarmed <= 8  # 4 are expected at most, and their deviation is 2
    assert 30 < low < 75  # of 120 chances less than half are below a half


def test_repeats(tmp_path, library):
    """Runs that differ from each other by more than sampling: single ones are called different, groups of them are not."""
    shares = [0.50, 0.62, 0.55, 0.60, 0.52, 0.63, 0.56, 0.59]
    runs = [store(tmp_path / f"run{number}", library, minute(library, 0, 20000, (share, 0.9 - share, 0.1))) for number, share in enumerate(shares)]
    assert asked("diff", runs[0], runs[1])["significant"] == 2
    grouped = asked("diff", *runs[0::2], *(part for run in runs[1::2] for part in ("--with", run)))
    row = by_name(grouped)[HOT]
    assert row["before"]["share"] == pytest.approx(0.5325) and row["after"]["share"] == pytest.approx(0.61)
    assert row["share"]["chance"] == pytest.approx(welch_chance(shares[0::2], shares[1::2]), rel=1e-3)
    mixed = asked("diff", *runs[:4], *(part for run in runs[4:] for part in ("--with", run)))
    assert mixed["significant"] == 0 and len(mixed["before"]) == len(mixed["after"]) == 4
    assert "differ by more than repeats do" in run_sonde("diff", *runs[:4], "--with", runs[4]).out
    assert "differ by more than sampling explains" in run_sonde("diff", *runs[:2]).out


def test_repeats_that_agree_by_chance(tmp_path, library):
    """Their spread is nothing, that of their samples is not: a share of 50.0 % of 1,000 samples is no other than 50.4 %."""
    runs = [store(tmp_path / f"run{number}", library, minute(library, 0, 1000, (share, 0.9 - share, 0.1)))
            for number, share in enumerate([0.500, 0.500, 0.504, 0.504])]
    row = by_name(asked("diff", *runs[:2], "--with", runs[2], "--with", runs[3]))[HOT]
    assert row["share"]["change"] == pytest.approx(0.004) and row["share"]["chance"] > 0.5 and row["per_second"]["chance"] > 0.5


PROGRAM = """
#include <stdint.h>
#include <stdlib.h>
#define APART __attribute__((noinline, noclone))
static volatile uint64_t sum;
APART static uint64_t mixed(uint64_t s, unsigned rounds) { for (unsigned i = 0; i < rounds; i++) s = s * 6364136223846793005u + 1442695040888963407u; return s; }
APART void first(unsigned rounds) { sum = mixed(sum, rounds); for (unsigned i = 0; i < rounds; i++) sum++; }
APART void second(unsigned rounds) { for (unsigned i = 0; i < rounds; i++) sum++; }
int main(int argc, char **argv) { for (int turn = 0; turn < 300; turn++) { first(100000); second(atoi(argv[1])); } return argc > 5; }
"""


def test_runs_of_a_program(tmp_path):
    """Rebuilt in another folder it is the same program; what it does longer is told, and what it does as before is not."""
    def measured(folder: str, rounds: int) -> Path:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "known.c").write_text(PROGRAM + "\n" * len(folder))
        subprocess.run(["cc", "-O1", "-g", "-o", tmp_path / folder / "known", tmp_path / folder / "known.c"], check=True)
        subprocess.run([SONDE, "run", "-q", "-F", "1000", "-o", tmp_path / f"{folder}.sdb", "--", tmp_path / folder / "known", str(rounds)], check=True, stdout=subprocess.DEVNULL)
        return tmp_path / f"{folder}.sdb"
    runs = {folder: measured(folder, rounds) for folder, rounds in {"once": 100000, "again": 100000, "longer": 300000}.items()}
    rows = by_name(asked("diff", runs["once"], runs["longer"]))
    assert {"first [known]", "second [known]", "mixed [known]"} <= set(rows)
    assert rows["second [known]"]["share"]["significant"] and rows["second [known]"]["share"]["change"] > 0.1
    same = by_name(asked("diff", runs["once"], runs["again"]))
    assert abs(same["second [known]"]["share"]["change"]) < rows["second [known]"]["share"]["change"] / 2


def test_runs_of_the_same_program(tmp_path):
    """What share each function has does not differ between runs, one by one (of 190 pairs 13 had an alarm when that was counted) or as groups."""
    (tmp_path / "known.c").write_text(PROGRAM)
    subprocess.run(["cc", "-O1", "-g", "-o", tmp_path / "known", tmp_path / "known.c"], check=True)
    runs = [tmp_path / f"run{number}.sdb" for number in range(8)]
    for run in runs:
        subprocess.run([SONDE, "run", "-q", "-F", "1000", "-o", run, "--", tmp_path / "known", "100000"], check=True, stdout=subprocess.DEVNULL)
    pairs = [asked("diff", *runs[number:number + 2])["rows"] for number in range(0, 8, 2)]
    assert sum(any(row["share"]["significant"] for row in rows) for rows in pairs) <= 2
    grouped = asked("diff", *runs[:4], *(part for run in runs[4:] for part in ("--with", run)))
    assert all(row["share"]["chance"] > 1e-3 for row in grouped["rows"] if row["before"]["share"] > 0.05)


def test_text_and_csv(tmp_path, library):
    before = store(tmp_path / "before", library, minute(library, 0, 100, (0.6, 0.3, 0.1)))
    after = store(tmp_path / "after", library, minute(library, 0, 200, (0.4, 0.5, 0.1)))
    text = run_sonde("diff", before, after, COLUMNS="80").out.splitlines()
    assert text[1].startswith("before  100 ms, 100 samples: ") and text[2].startswith("after   200 ms, 200 samples: ")
    rows = by_name(asked("diff", before, after))
    sure = sum(row["share"]["significant"] or row["per_second"]["significant"] for row in rows.values())
    assert text[3] == f"* {sure} of 3 functions differ by more than sampling explains;"
    heads = next(number for number, line in enumerate(text) if "before/s" in line)
    assert text[heads].split() == ["before", "after", "points", "before/s", "after/s", "percent", "function"]
    assert text[heads + 1].split() == ["100.0%", "100.0%", "-", "1.67", "ms", "3.33", "ms", "+100.0*", "total"]
    assert max(len(line) for line in text[3:]) <= 80
    assert run_sonde("diff", before, after, COLUMNS="60", LC_ALL="de_DE.ISO-8859-1").out.isascii()
    assert len(run_sonde("diff", before, after, "--limit", 1).out.splitlines()) == len(text) - 2 + 1
    table = list(csv.DictReader(io.StringIO(run_sonde("diff", before, after, "--format", "csv").out)))
    assert len(table) == 3
    for line in table:
        row = rows[f"{line['name']} [{line['place']}]"]
        assert float(line["share_chance"]) == pytest.approx(row["share"]["chance"]) and float(line["after"]) == row["after"]["value"]


def test_mistakes(tmp_path, library):
    one = store(tmp_path / "one", library, minute(library, 0, 10, (1, 0, 0)))
    cycles = write(tmp_path / "cycles", *begin(library), ("count", 0, 0, library.starts["hot"], 5), flush(0, 5, event="cycles", period=1000))
    for arguments, status, words in [
            ((), 129, "missing database"), ((one,), 129, "two databases"), ((one, one, one), 129, "two databases"),
            ((one, "--before", "1d"), 129, "go together"), ((one, one, "--before", "2d..1d", "--after", "1d"), 129, "one store"),
            ((one, "--before", "1d..2d", "--after", "1d"), 129, "ends before it begins"), ((one, "--before", "x", "--after", "1d"), 129, "no range of time"),
            ((one, one, "--by", "line"), 129, "function, module, program, image"), ((one, cycles), 128, "no metric 'cpu-clock'"),
            ((one, "--before", "2026-11-30T12:00Z..", "--after", "2025-01-01..2025-01-02"), 128, "no samples"), ((one, tmp_path / "none"), 128, "none"),
            ((one, one, "--metric", "nothing"), 128, "no metric 'nothing'")]:
        result = run_sonde("diff", *arguments)
        assert (result.status, result.out) == (status, "") and len(result.err_lines) == 1 and words in result.err, (arguments, result.err)
    shutil.copy(SONDE, tmp_path / "program")
    assert "is none" in run_sonde("diff", tmp_path / "program", "--before", "2d..1d", "--after", "1d").err
