# SPDX-License-Identifier: Apache-2.0
"""A recursion of 200,000 levels with own cost at each: every reader copes, and formats of whole stacks stay bounded."""
from __future__ import annotations

import csv
import io
import json
import random
import re
from pathlib import Path

import pytest

from conftest import make_database, run_sonde
from hpctoolkit_measurement import PRIMARY, Metric, Profile, thread

DEPTH = 200_000
LIMIT = 256  # frames of a path: src/export/stack.h
MARK = "[frames left out]"


@pytest.fixture(scope="module")
def deep_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_database(tmp_path_factory.mktemp("deep"), "deep.sdb", "--recursion", DEPTH)


@pytest.mark.parametrize("options", [["info"], ["report"], ["report", "--view", "flat"], ["report", "--full"],
                                     ["report", "--format", "json"], ["report", "--format", "csv"],
                                     ["report", "--view", "bottom-up"], ["report", "--view", "bottom-up", "--full"]])
def test_readers(deep_db: Path, options: list[str]) -> None:
    result = run_sonde(*options, deep_db)
    assert (result.status, result.err) == (0, "")


def test_bottom_up_of_a_recursion(deep_db: Path) -> None:
    """Level n of the callers has what lies n levels deep and deeper; each takes a step, not one for each level below."""
    result = run_sonde("report", "--view", "bottom-up", "--format", "csv", deep_db)
    assert (result.status, result.err) == (0, "")
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert len(rows) == DEPTH - DEPTH // 1000 + 1  # callers below a thousandth are left out
    for level in (0, 1, 15, 16, 17, 63, 64, 65, 1000, DEPTH // 2, len(rows) - 1):
        row = rows[level]
        assert (row["name"], int(row["depth"])) == ("down", level)
        assert float(row["cpu-time:exclusive"]) == (DEPTH - level) * 5_000_000


def called(row: dict) -> str:
    return row["module"] or row["name"]


def test_bottom_up_is_top_down_read_backwards(tmp_path: Path) -> None:
    """Random recursions of three functions, short and long: counted again from the contexts."""
    random.seed(5)
    for number in range(4):
        profile = Profile(thread(), [Metric("time (sec)")])
        modules = [profile.module(f"/lib/{name}.so") for name in "abc"]
        nodes = [profile.node(0, 0, PRIMARY)]
        for _ in range(60):
            at = random.choice(nodes)
            for _ in range(random.choice([1, 2, 5, 40])):
                function = random.randrange(3) if random.random() < 0.2 else number % 3
                at = profile.node(at, modules[function], 16)
                nodes.append(at)
                if random.random() < 0.7:
                    profile.value(at, 0, random.randrange(1, 9))
        profile.write(tmp_path / f"{number}.m/p.hpcrun")
        assert run_sonde("import", tmp_path / f"{number}.m", "-o", tmp_path / "a.sdb").status == 0
        same = ["report", "--format", "json", "--granularity", "instruction", "--min-share", "0", tmp_path / "a.sdb"]
        expected: dict[tuple, float] = {}
        paths: dict[int | None, tuple] = {None: ()}
        for row in json.loads(run_sonde(*same).out)["rows"]:
            paths[row["id"]] = (called(row), *paths[row["parent"]]) if row["parent"] is not None else ()
            value = next((v["exclusive"]["sum"] for v in row["values"].values()), 0)
            for length in range(1, len(paths[row["id"]]) + 1):
                if value:
                    key = paths[row["id"]][:length]
                    expected[key] = expected.get(key, 0) + value
        found: dict[tuple, float] = {}
        paths = {None: ()}
        for row in json.loads(run_sonde(*same, "--view", "bottom-up").out)["rows"]:
            paths[row["id"]] = (*paths[row["parent"]], called(row))
            found[paths[row["id"]]] = next(iter(row["values"].values()))["exclusive"]["sum"]
        assert len(expected) > 100 and max(map(len, expected)) > 40
        assert found == expected


def collapsed(path: tuple[str, ...]) -> tuple[str, ...]:
    """Each name once: what comes again is the one that is there."""
    out: list[str] = []
    for name in path:
        out = out[:out.index(name) + 1] if name in out else [*out, name]
    return tuple(out)


def test_recursion_can_be_collapsed(tmp_path: Path) -> None:
    """Random recursions of four functions: rows and stacks are those of the paths with each function once."""
    random.seed(7)
    profile = Profile(thread(), [Metric("time (sec)")])
    modules = [profile.module(f"/lib/{name}.so") for name in "abcd"]
    nodes = [profile.node(0, 0, PRIMARY)]
    for _ in range(80):
        at = random.choice(nodes)
        for _ in range(random.choice([1, 2, 5, 30])):
            at = profile.node(at, modules[random.randrange(4)], 16)
            nodes.append(at)
            if random.random() < 0.7:
                profile.value(at, 0, random.randrange(1, 9))
    profile.write(tmp_path / "m/p.hpcrun")
    database = tmp_path / "a.sdb"
    assert run_sonde("import", tmp_path / "m", "-o", database).status == 0

    def rows(*options: str) -> list[tuple[tuple[str, ...], float, float]]:
        found, paths = [], {None: ()}
        for row in json.loads(run_sonde("report", "--format", "json", "--granularity", "function", "--min-share", "0", *options,
                                        database).out)["rows"]:
            paths[row["id"]] = (*paths[row["parent"]], called(row)) if row["parent"] is not None else ()
            sums = {"exclusive": 0, "inclusive": 0}
            for value in row["values"].values():
                sums = {kind: value[kind]["sum"] for kind in sums}
            found.append((paths[row["id"]], sums["exclusive"], sums["inclusive"]))
        return found

    expected: dict[tuple, float] = {}
    for path, own, _ in rows():
        expected[collapsed(path)] = expected.get(collapsed(path), 0) + own
    found = rows("--collapse-recursion")
    assert len(found) > 15 and max(len(path) for path, *_ in found) == 5  # the entry, and four functions
    assert {path: own for path, own, _ in found} == pytest.approx(expected)
    for path, _, whole in found:
        assert whole == pytest.approx(sum(own for other, own in expected.items() if other[:len(path)] == path))

    lines = run_sonde("export", "--to", "folded", "--collapse-recursion", database, "-o", "-").out.splitlines()
    stacks = {tuple(line.rsplit(" ", 1)[0].split(";")[1:]) for line in lines}
    assert all(len(set(stack)) == len(stack) for stack in stacks)
    assert len(stacks) == sum(1 for value in expected.values() if value)
    speedscope = json.loads(run_sonde("export", "--to", "speedscope", "--collapse-recursion", database, "-o", "-").out)
    assert all(len(set(sample)) == len(sample) for sample in speedscope["profiles"][0]["samples"])


def test_deep_recursion_collapsed(deep_db: Path) -> None:
    for view in ("top-down", "bottom-up"):
        result = run_sonde("report", "--collapse-recursion", "--format", "csv", "--view", view, deep_db)
        assert (result.status, result.err) == (0, "")
        rows = [row for row in csv.DictReader(io.StringIO(result.out)) if row["name"] == "down"]
        assert [float(row["cpu-time:exclusive"]) for row in rows] == [DEPTH * 5_000_000]
    assert run_sonde("export", "--to", "folded", "--collapse-recursion", deep_db, "-o", "-").err == ""


def test_what_excludes_collapsing(deep_db: Path) -> None:
    assert run_sonde("report", "--collapse-recursion", "--granularity", "instruction", deep_db).status == 129
    assert run_sonde("export", "--to", "csv", "--collapse-recursion", deep_db, "-o", "-").status == 129


@pytest.mark.parametrize("kind", ["html", "callgrind", "hatchet", "csv"])
def test_formats_of_trees(deep_db: Path, tmp_path: Path, kind: str) -> None:
    result = run_sonde("export", "--to", kind, deep_db, "-o", tmp_path / "out")
    assert (result.status, result.err) == (0, "")


def test_callgrind_counts_the_recursion_once(deep_db: Path) -> None:
    text = run_sonde("export", "--to", "callgrind", deep_db, "-o", "-").out
    assert re.search(rf"^summary: {DEPTH * 5_000_000}$", text, re.M)
    calls = [int(cost) for cost in re.findall(r"^calls=.*\n\d+ (\d+)$", text, re.M)]
    assert len(calls) == DEPTH and sum(calls) == DEPTH * 5_000_000  # from the thread; down to down adds nothing


@pytest.mark.parametrize("kind", ["folded", "speedscope", "pprof"])
def test_formats_of_stacks_are_cut(deep_db: Path, tmp_path: Path, kind: str) -> None:
    result = run_sonde("export", "--to", kind, deep_db, "-o", tmp_path / "out")
    assert result.status == 0
    # a path has the thread besides: DEPTH + 1 frames at most
    cut = DEPTH + 1 - LIMIT
    assert result.err_lines == [f"sonde: {cut} call paths have more than {LIMIT} frames: the middle of each is left out"]


def test_what_is_left_of_a_path(deep_db: Path, tmp_path: Path) -> None:
    run_sonde("export", "--to", "folded", deep_db, "-o", tmp_path / "out")
    with open(tmp_path / "out") as lines:
        is_cut = [f";{MARK};" in line for line in lines]
    assert is_cut == [False] * (LIMIT - 1) + [True] * (DEPTH + 1 - LIMIT)
    with open(tmp_path / "out", "rb") as file:
        file.seek(-5000, 2)
        stack = file.read().decode().splitlines()[-1].rsplit(" ", 1)[0].split(";")
    assert stack == ["deep"] + ["down"] * (LIMIT // 2 - 1) + [MARK] + ["down"] * (LIMIT // 2)


def test_usual_profiles_are_whole(big_db: Path, tmp_path: Path) -> None:
    for kind in ("folded", "speedscope", "pprof"):
        assert run_sonde("export", "--to", kind, big_db, "-o", tmp_path / "out").err == ""
