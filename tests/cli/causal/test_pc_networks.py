# SPDX-License-Identifier: Apache-2.0
"""PC on tables of known networks of categories: the skeletons are those of causal-learn, whose results lie beside the tables, as
both take the same test (chi-square, degrees of freedom by the margins), the same level and all depths."""
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import samples
from conftest import BUILD

PROGRAM = BUILD / "bench/bench-causal-pc"
NETWORKS = ["asia", "sachs", "child", "insurance", "water", "alarm"]


def network(name: str) -> Path:
    return samples.SAMPLES / "causal/bnlearn" / name


def run(table: Path, *options: str) -> str:
    return subprocess.run([PROGRAM, table, *options], check=True, capture_output=True, text=True, timeout=300).stdout


def edges(output: str) -> dict[frozenset[str], str]:
    lines = [line.split() for line in output.splitlines()]
    return {frozenset(line[1:3]): line[2] if line[0] == "edge" else "" for line in lines if line[0] in ("edge", "open")}


def as_csv(name: str, folder: Path, reverse: bool = False) -> Path:
    rows = [line.split() for line in network(f"{name}.txt").read_text().splitlines() if line]
    path = folder / f"{name}.csv"
    path.write_text("".join(",".join(row[::-1] if reverse else row) + "\n" for row in rows))
    return path


@samples.needs("causal/bnlearn")
@pytest.mark.parametrize("name", NETWORKS)
def test_same_skeleton_as_causal_learn(name: str, tmp_path: Path) -> None:
    names = network(f"{name}.txt").open().readline().split()
    marks = [line.split() for line in network(f"{name}.causal-learn-pc.txt").read_text().splitlines() if line]
    wanted = {frozenset((names[a], names[b])) for a in range(len(names)) for b in range(a)
              if marks[a][b] != "0" or marks[b][a] != "0"}
    assert set(edges(run(as_csv(name, tmp_path), "chi-square", "0.05", "100", "2"))) == wanted


@samples.needs("causal/bnlearn")
@pytest.mark.parametrize("rule", ["majority", "conservative"])
def test_neither_columns_nor_threads_make_a_difference(rule: str, tmp_path: Path) -> None:
    one = edges(run(as_csv("child", tmp_path), "g-square", "0.05", "3", "1", rule))
    assert one == edges(run(as_csv("child", tmp_path, reverse=True), "g-square", "0.05", "3", "4", rule))
    assert "" in one.values() and any(one.values())
