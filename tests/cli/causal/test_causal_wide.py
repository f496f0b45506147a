# SPDX-License-Identifier: Apache-2.0
"""`sonde causal --target` on tables of more columns than a search over orders can compare."""
from __future__ import annotations

import json

import numpy as np
import pytest
from causal_tables import arrows, pairs, write

ROWS = 400
FEW = ("--samples", "20", "--format", "json")


def wide(columns: int, seed: int = 1) -> dict[str, np.ndarray]:
    """`root` makes `one` and `two`, these and `three` make `y`; each has counters that follow it; the rest is noise."""
    random = np.random.default_rng(seed)
    root = random.normal(size=ROWS)
    table = {"root": root, "one": 0.8 * root + 0.6 * random.normal(size=ROWS), "two": -0.8 * root + 0.6 * random.normal(size=ROWS),
             "three": random.normal(size=ROWS)}
    for name in list(table):
        table |= {f"{name}_{i}": np.exp(table[name] + random.uniform(0.3, 1) * random.normal(size=ROWS)) for i in range(40)}
    table["y"] = 0.9 * table["one"] + 0.7 * table["two"] - 0.8 * table["three"] + 0.5 * random.normal(size=ROWS)
    table["same"] = 2 * table["one"] + 1
    while len(table) < columns:
        table[f"noise{len(table)}"] = random.normal(size=ROWS)
    return {name: table[name] for name in map(str, random.permutation(list(table)))}


@pytest.fixture(scope="module")
def table():
    return wide(1200)


@pytest.fixture(scope="module")
def path(table, tmp_path_factory):
    return write(tmp_path_factory.mktemp("wide") / "wide.csv", table)


@pytest.fixture(scope="module")
def found(sonde, path):
    return json.loads(sonde("causal", path, "--target", "y", *FEW).out)


def screened(found):
    return {left["column"] for left in found["left_out"] if left["why"] == "screened"}


def ask(sonde, folder, table, *options):
    return json.loads(sonde("causal", write(folder / "t.csv", table), *options, *FEW).out)


def test_causes_are_found(found):
    """An alias stands for `one` if it comes before it."""
    same = {left["column"]: left["same_as"] for left in found["left_out"] if left["why"] == "same"}
    one = same.get("one", "one")
    assert {(a, b) for a, b in arrows(found) if b == "y"} == {(one, "y"), ("two", "y"), ("three", "y")}
    causes = {cause["cause"]: cause for cause in found["causes"]}
    assert {one, "two", "three"} <= set(causes)
    assert causes[one]["sign"] == 1 and causes["three"]["sign"] == -1
    assert not {name for name in causes if name.startswith("noise")}


def test_causes_of_causes_are_compared(found):
    same = {left["column"]: left["same_as"] for left in found["left_out"] if left["why"] == "same"}
    assert {frozenset(("root", "two")), frozenset(("root", same.get("one", "one")))} <= pairs(found)


def test_what_is_left_out_is_told(found, table):
    out = screened(found)
    assert out | set(found["nodes"]) | {"one", "same"} == set(table) and not out & set(found["nodes"])
    assert 4 < len(found["nodes"]) < 150
    assert (f"{len(out)} of these 1199 columns are not in the graph: they say nothing of y beyond what the "
            f"{len(found['nodes']) - 1} others say.") in found["sentences"]
    assert any(s.startswith("1199 of 1200 columns are compared; 1 says the same") for s in found["sentences"])


def test_few_columns_are_all_in_the_graph(sonde, tmp_path, table):
    names = [name for name in table if not name.startswith("noise")][:60]
    few = ask(sonde, tmp_path, {name: table[name] for name in {*names, "y", "three"}}, "--target", "y")
    assert screened(few) == set() and not any("not in the graph" in s for s in few["sentences"])
    assert len(few["nodes"]) > 55


def test_shuffled_target(sonde, tmp_path, table):
    shuffled = dict(table) | {"y": np.random.default_rng(5).permutation(table["y"])}
    found = ask(sonde, tmp_path, shuffled, "--target", "y")
    assert found["causes"] == [] and not [e for e in found["edges"] if "y" in (e["from"], e["to"])]
    assert any(s.startswith("Nothing found: no column is a cause of y") for s in found["sentences"])


def test_any_number_of_threads(sonde, path):
    one, three = (sonde("causal", path, "--target", "y", "-j", jobs, *FEW).out for jobs in ("1", "3"))
    assert one == three


def test_weak_cause_is_chosen_in_some_samples(sonde, tmp_path):
    """One that all rows do not choose, but a part of the samples: only where each sample chooses anew is it told as undetermined."""
    random = np.random.default_rng(2)
    table = {f"noise{i}": random.normal(size=ROWS) for i in range(400)}
    weak, rest = random.normal(size=(2, ROWS))
    rest -= weak * (weak @ rest) / (weak @ weak)
    correlation = 0.19
    table |= {"weak": weak, "y": correlation * weak / weak.std() + np.sqrt(1 - correlation ** 2) * rest / rest.std()}
    found = json.loads(sonde("causal", write(tmp_path / "t.csv", table), "--target", "y", "--format", "json").out)
    assert [e for e in found["edges"] if "y" in (e["from"], e["to"])] == []
    edge, = (e for e in found["undetermined"] if {e["from"], e["to"]} == {"weak", "y"})
    assert edge["undetermined"] == "edge" and 0.2 <= edge["frequency"] < 0.5


def test_what_was_named_stays(sonde, path, table):
    noise = [name for name in table if name.startswith("noise")][:4]
    found = json.loads(sonde("causal", path, "--target", "y", "--tier", ",".join(noise[:2]), "--require",
                             f"{noise[2]}->{noise[3]}", *FEW).out)
    assert set(noise) <= set(found["nodes"]) and not set(noise) & screened(found)
    assert (noise[2], noise[3]) in arrows(found)


def test_what_is_forbidden_is_passed_over(sonde, path):
    """What a forbidden column would say is said by those that follow it."""
    found = json.loads(sonde("causal", path, "--target", "y", "--forbid", "three->y", *FEW).out)
    assert ("three", "y") not in arrows(found)
    assert any(a.startswith("three_") and b == "y" for a, b in arrows(found))


def test_categories(sonde, tmp_path, table):
    """As a cause among numbers, as the target, and where all columns are."""
    random = np.random.default_rng(3)
    kind, other = random.integers(0, 4, ROWS), random.integers(0, 3, ROWS)
    numbers = {name: table[name] for name in list(table)[:300] if name.startswith("noise")}
    texts = {f"text{i}": np.array(["a", "b", "c"])[random.integers(0, 3, ROWS)] for i in range(20)}
    mixed = numbers | texts | {"kind": np.array(["u", "v", "w", "x"])[kind], "other": np.array(["k", "l", "m"])[other]}
    mixed["y"] = np.array([3.0, 1, 2, 0])[kind] + np.array([0, 2, 1])[other] + random.normal(size=ROWS)
    assert {(a, b) for a, b in arrows(ask(sonde, tmp_path, mixed, "--target", "y")) if b == "y"} == {("kind", "y"), ("other", "y")}
    mixed["kind"] = np.array(["u", "v", "w"])[np.digitize(mixed.pop("y"), [1.5, 3])]
    found = ask(sonde, tmp_path, mixed, "--target", "kind")
    assert {(a, b) for a, b in arrows(found) if b == "kind"} == {("other", "kind")} and len(screened(found)) > 200
    bits = {f"bit{i}": random.integers(0, 2, ROWS) for i in range(250)}
    bits["y"] = np.where(random.random(ROWS) < 0.1, random.integers(0, 2, ROWS), bits["bit7"] | bits["bit90"])
    found = ask(sonde, tmp_path, bits, "--target", "y")
    assert {a for a, b in arrows(found) if b == "y"} == {"bit7", "bit90"} and len(screened(found)) > 200


def test_without_a_target(sonde, path):
    ran = sonde("causal", path)
    assert ran.status == 128 and ran.out == "" and len(ran.err_lines) == 1
    assert "1199 columns" in ran.err and "--target" in ran.err


@pytest.mark.parametrize("sign", [1, -1])
def test_a_cause_that_turns_is_seen(sonde, tmp_path, sign):
    """Its ranks say nothing of the target, its distance from the middle does."""
    table, random = wide(600), np.random.default_rng(9)
    table["block"] = random.normal(size=ROWS)
    table["y"] = table["y"] + sign * table["block"] ** 2
    causes = {cause["cause"]: cause for cause in ask(sonde, tmp_path, table, "--target", "y")["causes"]}
    assert {"block", "two", "three"} <= set(causes)
    assert causes["block"]["share"] > 0.1 and sign * causes["block"]["share_turning"] > 0.1
    assert not [name for name in causes if name.startswith("noise")]
