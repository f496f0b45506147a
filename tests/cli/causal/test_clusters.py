# SPDX-License-Identifier: Apache-2.0
"""Rows that belong together: what few runs have in common by chance is no cause, and what is one within runs is."""
from __future__ import annotations

import json

import numpy as np
import pytest
from causal_tables import pairs, write


def runs(seed: int, clusters: int = 30, rows: int = 40, effect: float = 0.0, within: float = 0.0) -> dict[str, np.ndarray]:
    """`clock` and `room` are of a run, with a little noise, and say nothing of each other; so is most of `time`, which `size`, of each row by itself,
    makes more. `effect`: of the clock on the time; `within`: of the size."""
    random = np.random.default_rng(seed)
    run = np.repeat(np.arange(clusters), rows)
    clock, room, usual = (random.normal(size=clusters)[run] for _ in range(3))
    size = random.normal(size=len(run))
    noise = lambda: 0.3 * random.normal(size=len(run))  # noqa: E731
    return {"run": run, "clock": clock + noise(), "room": room + noise(), "size": size,
            "time": usual + effect * clock + within * size + noise()}


@pytest.fixture
def find(sonde, tmp_path):
    def ask(columns, *options):
        result = sonde("causal", write(tmp_path / "t.csv", columns), "--target", "time", "--format", "json", *options)
        assert result.status == 0, result.err
        return json.loads(result.out)
    return ask


def test_what_runs_have_in_common_by_chance_is_no_cause(find):
    """With rows taken as independent nearly each table of thirty runs has such an edge, in most samples; by runs few have one."""
    alone, together = 0, 0
    for seed in range(6):
        table = runs(seed)
        together += len(pairs(find(table, "--cluster", "run", "--samples", "40")))
        del table["run"]
        alone += len(pairs(find(table, "--samples", "40")))
    assert alone >= 9 and together <= 1, (alone, together)


def test_effects_within_runs_are_found(find):
    """Runs say nothing of them, and they cost nothing: the size is of each row by itself."""
    table = runs(7, within=0.15)
    found = find(table, "--cluster", "run")
    assert [cause["cause"] for cause in found["causes"]] == ["size"] and found["causes"][0]["frequency"] > 0.9
    assert pairs(found) == {frozenset(("size", "time"))}
    assert (found["cluster"], found["clusters"]) == ("run", 30)
    assert {"column": "run", "why": "cluster"} in found["left_out"] and "run" not in found["nodes"]
    assert "The 1200 rows are of 30 clusters by run: those of one are drawn together, and not taken as independent." in found["sentences"]


def test_effects_of_runs_are_found_where_runs_are_many(find):
    found = find(runs(8, clusters=150, rows=8, effect=1), "--cluster", "run", "--tier", "clock")
    cause, = found["causes"]
    assert cause["cause"] == "clock" and cause["sign"] == 1


def test_intervals_are_those_of_runs(find):
    """Of an effect of the run's own clock: its interval has the truth in most tables, as that of rows taken as independent has not; both ways to
    estimate it."""
    held = {"by run": [0, 0], "alone": [0, 0]}
    tables = 12
    for seed in range(tables):
        table = runs(100 + seed, effect=1.5)
        deviation = float(np.std(table["clock"]))
        true = 1.5 * (deviation ** 2 - 0.09) / deviation  # of the clock as it was measured, with its noise
        for way, options in (("by run", ("--cluster", "run")), ("alone", ())):
            columns = table if options else {name: values for name, values in table.items() if name != "run"}
            main, = find(columns, "--tier", "clock", "--samples", "100", *options)["main_effects"]
            correlation = 1.5 / np.sqrt(1 + 1.5 ** 2 + 0.09) / np.sqrt(1.09)
            held[way][0] += main["effect_low"] < correlation < main["effect_high"]
            change = next((c["adjusted"] for c in find(columns, "--tier", "clock", *options)["causes"] if c["cause"] == "clock"), None)
            held[way][1] += bool(change and change["change"] and change["change_low"] < true < change["change_high"])
    assert min(held["by run"]) >= tables - 3, held
    assert max(held["alone"]) <= tables - 4, held


def test_the_share_of_a_runs_own_column_is_not_that_of_rows(find):
    """Which says nothing: the runs of one tenth of its range are three, and have as much in common by chance."""
    for seed in range(3):
        main, = find(runs(seed), "--cluster", "run", "--tier", "clock", "--samples", "40")["main_effects"]
        assert main["share"] < 0.2, main


def test_runs_of_different_lengths(find):
    """One run has nine of ten rows, and a third of the samples lacks it: these have as many rows as they have, and no edges by chance."""
    run = np.concatenate([np.zeros(900, int), 1 + np.arange(100) % 19])
    doubtful = 0
    for seed in range(4):
        random = np.random.default_rng(seed)
        table = {"run": run, "time": random.normal(size=1000)} | {f"v{number}": random.normal(size=1000) for number in range(6)}
        found = find(table, "--cluster", "run")
        assert found["edges"] == []
        doubtful += len(found["undetermined"])
    assert doubtful <= 10, doubtful  # of 84 pairs


def test_each_row_by_itself_is_as_without(find):
    """Clusters of one row are independent rows, also those that lack a value."""
    table = runs(9, effect=1, within=0.5)
    alone = find({name: values for name, values in table.items() if name != "run"})
    for single in (np.arange(len(table["run"])), np.full(len(table["run"]), "")):
        single = single.astype(object)
        single[0] = 0
        found = find(table | {"run": single}, "--cluster", "run")
        assert found["clusters"] == len(single)
        assert [(edge["from"], edge["to"], edge["frequency"], edge["effect"]) for edge in found["edges"]] == [
            (edge["from"], edge["to"], edge["frequency"], edge["effect"]) for edge in alone["edges"]]


def test_text_and_many_columns(find):
    """Clusters by text, categories beside numbers, and more columns than are compared at once: the same conclusions."""
    table = runs(10, within=0.6)
    random = np.random.default_rng(11)
    rows = len(table["run"])
    table["run"] = np.array([f"run {number}" for number in table["run"]])
    table["host"] = np.array(["one", "two", "three"])[random.integers(0, 3, 30)][np.repeat(np.arange(30), 40)]
    table |= {f"of_run{number}": random.normal(size=30)[np.repeat(np.arange(30), 40)] + 0.3 * random.normal(size=rows) for number in range(15)}
    table |= {f"noise{number}": random.normal(size=rows) for number in range(220)}
    found = find(table, "--cluster", "run", "--samples", "30")
    assert [cause["cause"] for cause in found["causes"]] == ["size"]
    del table["run"]
    alone = find(table, "--samples", "30")
    assert len(alone["causes"]) > 2, "the test has no false causes to be avoided"


@pytest.mark.parametrize(("options", "says"), [
    (("--cluster", "rum"), "there is no column 'rum'"),
    (("--cluster", "time"), "'time' is what is to be explained, and cannot tell which rows belong together"),
    (("--cluster", "few"), "the rows are of 3 clusters by 'few': at least 10 are needed to say what is chance"),
])
def test_what_cannot_tell_clusters(sonde, tmp_path, options, says):
    table = runs(12) | {"few": np.arange(1200) % 3}
    result = sonde("causal", write(tmp_path / "t.csv", table), "--target", "time", *options)
    assert (result.status, result.out) == (128, "") and result.err == f"sonde: {says}\n"
