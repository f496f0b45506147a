# SPDX-License-Identifier: Apache-2.0
"""Effects that turn: a cause whose middle is the best or the worst."""
from __future__ import annotations

import json

import numpy as np
import pytest
from causal_tables import chain, pairs, write


@pytest.fixture
def found_in(sonde, tmp_path):
    def find(columns, *options):
        table = write(tmp_path / "table.csv", columns)
        found = json.loads(sonde("causal", table, "--format", "json", *options).out)
        return found, " ".join(found["sentences"])
    return find


def siblings(rows: int = 1000) -> dict[str, np.ndarray]:
    """Two counters that are least where the block is of middle size; a third one follows the first."""
    random = np.random.default_rng(3)
    block = random.normal(size=rows)
    one = block * block + 0.7 * random.normal(size=rows)
    return {"block": block, "one": one, "other": 0.9 * block * block + 0.7 * random.normal(size=rows),
            "next": 0.8 * one + random.normal(size=rows), "noise": random.normal(size=rows)}


def test_effects_of_one_cause_have_no_edge(found_in):
    """Ranks alone see the two depend on each other, and nothing that could explain it."""
    found, _ = found_in(siblings())
    assert pairs(found) == {frozenset(("block", "one")), frozenset(("block", "other")), frozenset(("one", "next"))}
    assert all(edge["frequency"] > 0.9 for edge in found["edges"])


@pytest.mark.parametrize("sign", [1, -1])
def test_which_way_it_turns(found_in, sign):
    random = np.random.default_rng(4)
    block = random.normal(size=800)
    time = sign * block * block + 0.4 * random.normal(size=800)
    found, text = found_in({"block": block, "time": time, "noise": random.normal(size=800)}, "--target", "time")
    cause, = found["causes"]
    true = np.corrcoef(block * block, time)[0, 1] ** 2
    assert cause["cause"] == "block" and abs(cause["effect"]) < 0.2
    assert 0.5 < cause["share"] < true  # of ranks, which make the longest durations less
    assert cause["share_turning"] == pytest.approx(sign * cause["share"], rel=0.05)
    where = "least" if sign > 0 else "most"
    assert f"time depends most on block, which explains {100 * cause['share']:.1f}% of its variance; it is {where} in the middle of that" in text


def test_what_rises_and_turns_is_said_to_rise(found_in):
    random = np.random.default_rng(5)
    size = random.normal(size=800)
    found, text = found_in({"size": size, "time": size + 0.3 * size * size + 0.3 * random.normal(size=800)}, "--target", "time")
    cause, = found["causes"]
    assert cause["sign"] == 1 and cause["effect"] > 0.7 and 0 < cause["share_turning"] < cause["share"] / 2
    assert "; more of it is more" in text and "middle" not in text


def test_nothing_turns_where_effects_rise_or_fall(found_in):
    found, text = found_in(chain(), "--target", "time", "--tier", "size")
    assert len(found["edges"]) == 4 and all(item["share_turning"] == 0 for item in found["edges"] + found["causes"])
    assert "middle" not in text


def test_nothing_turns_in_nothing(found_in):
    random = np.random.default_rng(6)
    found, text = found_in({f"c{number}": random.standard_cauchy(500) for number in range(12)}, "--target", "c3")
    # an edge in half of the samples is found in one such table of eight
    assert found["causes"] == [] and all(edge["frequency"] < 0.95 and edge["share_turning"] == 0 for edge in found["edges"])
    assert "middle" not in text


def test_what_scatters_more_depends(found_in):
    """Not the mean, but how far values lie from it: what makes durations vary."""
    random = np.random.default_rng(7)
    load = random.uniform(0, 1, 1000)
    found, _ = found_in({"load": load, "time": load * random.normal(size=1000), "noise": random.normal(size=1000)})
    assert pairs(found) == {frozenset(("load", "time"))}


def test_text_does_not_turn(found_in):
    random = np.random.default_rng(8)
    block = random.normal(size=600)
    kind = np.where(block < -0.5, "small", np.where(block > 0.5, "large", "middle"))
    found, text = found_in({"kind": kind, "time": block * block + 0.5 * random.normal(size=600), "noise": random.normal(size=600)},
                           "--target", "time")
    cause, = found["causes"]
    assert cause["cause"] == "kind" and cause["share"] > 0.2 and cause["effect"] is None and cause["share_turning"] is None
    assert "middle" not in text
