# SPDX-License-Identifier: Apache-2.0
"""A recursion of 200,000 levels with own cost at each: every reader copes, and formats of whole stacks stay bounded."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

from conftest import make_database, run_sonde

DEPTH = 200_000
LIMIT = 256  # frames of a path: src/export/stack.h
MARK = "[frames left out]"


@pytest.fixture(scope="module")
def deep_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_database(tmp_path_factory.mktemp("deep"), "deep.sdb", "--recursion", DEPTH)


@pytest.mark.parametrize("options", [["info"], ["report"], ["report", "--view", "flat"], ["report", "--full"],
                                     ["report", "--format", "json"], ["report", "--format", "csv"]])
def test_readers(deep_db: Path, options: list[str]) -> None:
    result = run_sonde(*options, deep_db)
    assert (result.status, result.err) == (0, "")


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
