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
    assert found["edges"][0]["pc"] != "none" and found["edges"][0]["p_adjusted"] < 1e-6
    assert (found["cluster"], found["clusters"]) == ("run", 30)
    assert {"column": "run", "why": "cluster"} in found["left_out"] and "run" not in found["nodes"]
    assert "The 1200 rows are of 30 clusters by run: those of one are drawn together, and not taken as independent." in found["sentences"]


def test_an_effect_of_either_sign_is_not_sure(find):
    """More of it is more in 11 of 20 runs, and less in the others: samples of runs say the one or the other, and these do not confirm each other."""
    found = []
    for seed in range(4):
        random = np.random.default_rng(seed)
        run = np.repeat(np.arange(20), 50)
        size, sign = random.normal(size=len(run)), np.where(run < 11, 1, -1)
        table = {"run": run, "size": size, "time": sign * size + 0.3 * random.normal(size=len(run)), "other": random.normal(size=len(run))}
        found += find(table, "--cluster", "run")["edges"]
    assert len(found) <= 2 and all(edge["frequency"] < 0.7 for edge in found), found


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


def noise(seed: int, rows: int, columns: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {"time": random.normal(size=rows)} | {f"v{number}": random.normal(size=rows) for number in range(columns)}


def test_few_runs_and_many_columns(find):
    """Of twelve runs a few columns explain any means: they are not compared, and the text says so."""
    for seed in range(3):
        found = find({"run": np.arange(960) % 12} | noise(seed, 960, 30), "--cluster", "run")
        assert found["edges"] == [] and len(found["undetermined"]) <= 2, found["undetermined"]
        assert ("What differs between clusters is not compared, as 12 are too few to tell it from chance; what differs within them is."
                in found["sentences"])


def test_a_category_that_names_the_runs(find):
    """It tells all of each column's means, and says nothing."""
    table = runs(13)
    table["host"] = np.array([f"host{number}" for number in table["run"]])
    for options in ((), ("--tier", "host")):
        found = find(table, "--cluster", "run", "--samples", "40", *options)
        assert not any("host" in pair for pair in pairs(found)), found["edges"]
        assert all(edge["pc"] == "none" for edge in found["edges"])


def test_pairs(find):
    """Fifteen, of which each has both variants: what differs within them is told, by few rows."""
    random = np.random.default_rng(14)
    pair, variant = np.repeat(np.arange(15), 2), np.arange(30) % 2
    table = {"pair": pair, "variant": variant, "other": random.normal(size=30),
             "time": 5 * random.normal(size=15)[pair] + 2 * variant + 0.2 * random.normal(size=30)}
    found = find(table, "--cluster", "pair", "--tier", "variant")
    assert [cause["cause"] for cause in found["causes"]] == ["variant"]


def test_runs_and_single_rows(find):
    """Means of ninety runs of fifty rows scatter little, those of thirty rows without a run much: what says nothing is in no edge."""
    run = np.concatenate([np.repeat(np.arange(90), 50), np.full(30, -1)]).astype(object)
    run[-30:] = ""
    count = sum(len(find({"run": run} | noise(seed, len(run), 8), "--cluster", "run", "--samples", "40")["edges"]) for seed in range(6))
    assert count <= 1, count


def test_runs_of_different_lengths(find):
    """One run has nine of ten rows, and half of the samples lack it: these have as many rows as they have, and no edges by chance."""
    run = np.concatenate([np.zeros(900, int), 1 + np.arange(100) % 39])
    doubtful = 0
    for seed in range(4):
        found = find({"run": run} | noise(seed, 1000, 6), "--cluster", "run")
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
        assert f"The {len(single)} rows are of as many clusters by run, so that rows are taken as independent." in found["sentences"]
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
