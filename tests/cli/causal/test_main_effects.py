# SPDX-License-Identifier: Apache-2.0
"""What was set from outside: its effect on the target is known, also where the graph has no way."""
from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from causal_tables import write

TITLE = "Set from outside, and no cause of time in most samples"


def design(repeats: int = 12) -> dict[str, np.ndarray]:
    """All settings of four parameters: `large` makes most of the time, `small` some, `kind` is text that makes a little, `none` nothing."""
    random = np.random.default_rng(11)
    rows = list(itertools.product([1, 2, 4, 8], [1, 2, 3], ["a", "b"], [16, 32, 64])) * repeats
    large, small, kind, none = (np.array(column) for column in zip(*rows, strict=True))
    time = 3 * np.log2(large) + 0.12 * small + 0.02 * (kind == "b") + random.normal(size=len(rows))
    return {"large": large, "small": small, "kind": kind, "none": none, "time": time}


@pytest.fixture
def find(sonde, tmp_path):
    def ask(columns, *options):
        command = ("causal", write(tmp_path / "t.csv", columns), "--target", "time", "--tier", "large,small,kind,none", *options)
        return json.loads(sonde(*command, "--format", "json").out), sonde(*command).out
    return ask


def test_each_has_its_main_effect(find):
    """That of the design: the correlation of normal ranks, since nothing has to be held."""
    table = design()
    found, text = find(table)
    effects = {one["column"]: one for one in found["main_effects"]}
    assert set(effects) == {"large", "small", "kind", "none"}
    assert [one["share"] for one in found["main_effects"]] == sorted((one["share"] for one in found["main_effects"]), reverse=True)
    causes = {cause["cause"]: cause for cause in found["causes"]}
    assert "large" in causes and "none" not in causes
    # of what is a cause in all samples it is the same
    assert effects["large"]["frequency"] == 1 and effects["large"]["effect"] == causes["large"]["effect"]
    for name in ("large", "small", "none"):
        main = np.corrcoef(table[name], table["time"])[0, 1]
        assert effects[name]["effect"] == pytest.approx(main, abs=0.03)
        assert effects[name]["effect_low"] < main < effects[name]["effect_high"]
    assert effects["large"]["sign"] == 1 and effects["none"]["sign"] == 0
    assert effects["kind"]["effect"] is None and effects["kind"]["share"] < 0.02
    table = text.split(TITLE)[1].split("\n\n")[0]
    listed = {line.split()[-1] for line in table.splitlines()[2:] if line.strip()}
    assert listed == {name for name, one in effects.items() if one["frequency"] < 0.5} and "none" in listed


def test_nothing_of_a_target_that_was_shuffled(find):
    """No cause, and effects whose intervals hold 0 but by chance."""
    table = design()
    table["time"] = np.random.default_rng(12).permutation(table["time"])
    found, text = find(table)
    assert found["causes"] == [] and len(found["main_effects"]) == 4 and TITLE in text
    assert "Nothing found: no column is a cause of time" in text.replace("\n", " ")
    for one in found["main_effects"]:
        assert one["share"] < 0.02 and (one["effect"] is None or abs(one["effect"]) < 4 / math.sqrt(len(table["time"])))


def test_no_table_where_all_are_causes(find):
    table = {name: values for name, values in design().items() if name in ("large", "time")}
    table["small"] = np.random.default_rng(13).choice([1, 2, 3], len(table["time"]))
    table["time"] = table["time"] + 2 * table["small"]
    table["kind"] = np.where(np.random.default_rng(14).random(len(table["time"])) < 0.5, "a", "b")
    table["time"] = table["time"] + 2 * (table["kind"] == "b")
    table["none"] = np.random.default_rng(15).choice([16, 32, 64], len(table["time"]))
    table["time"] = table["time"] + table["none"] / 16
    found, text = find(table)
    assert {cause["cause"] for cause in found["causes"]} == {"large", "small", "kind", "none"}
    assert TITLE not in text and len(found["main_effects"]) == 4


def test_a_target_is_no_effect_of_its_own(sonde, tmp_path):
    path = write(tmp_path / "t.csv", design())
    found = json.loads(sonde("causal", path, "--target", "time", "--tier", "*", "--format", "json").out)
    assert {one["column"] for one in found["main_effects"]} == {"large", "small", "kind", "none"}


def test_none_without_a_tier_or_a_target(sonde, tmp_path):
    path = write(tmp_path / "t.csv", design())
    for options in (("--target", "time"), ("--tier", "large,small,kind,none")):
        assert json.loads(sonde("causal", path, *options, "--format", "json").out)["main_effects"] == []
        assert "Set from outside, and" not in sonde("causal", path, *options).out


# ---- settings that are chosen together ----

def together(factor: float, rows: int = 3000) -> dict[str, np.ndarray]:
    """`small` follows `large`, and has `factor` times the effect of it."""
    random = np.random.default_rng(21)
    large = random.normal(size=rows)
    small = 0.8 * large + 0.6 * random.normal(size=rows)
    return {"large": large, "small": small, "kind": random.choice(["a", "b"], rows), "none": random.normal(size=rows),
            "time": large + factor * small + random.normal(size=rows)}


def test_a_setting_is_not_taken_for_another(find):
    """By itself more of `small` is more, since it follows `large`; with that held it is less."""
    found, text = find(together(-0.4))
    causes = {cause["cause"]: cause for cause in found["causes"]}
    assert set(causes) == {"large", "small"}
    assert causes["small"]["sign"] == -1 and causes["small"]["effect_high"] < 0 and causes["small"]["share"] < 0.06
    assert causes["small"]["adjusted"]["change"] < 0
    assert "more of it is less" in " ".join(text.split())


def test_a_setting_without_effect_has_none(find):
    found, _ = find(together(0))
    effects = {one["column"]: one for one in found["main_effects"]}
    assert [cause["cause"] for cause in found["causes"]] == ["large"]
    assert effects["small"]["share"] < 0.01 and effects["small"]["effect_low"] < 0 < effects["small"]["effect_high"]
