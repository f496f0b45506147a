# SPDX-License-Identifier: Apache-2.0
"""Rows that repeat a configuration: what the target does among them, held against numpy and against a tuner's own file."""
from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
import samples
from causal_tables import write


@pytest.fixture
def found_in(sonde, tmp_path):
    def find(columns, *options):
        table = write(tmp_path / "table.csv", columns)
        found = json.loads(sonde("causal", table, "--samples", "20", "--format", "json", *options).out)
        return found, " ".join(sonde("causal", table, "--samples", "20", *options).out.split())
    return find


def measured(scatter: float, seed: int = 1) -> dict[str, list]:
    """Of 24 configurations from 2 to 30 times each, and of one more once; the second setting scatters more."""
    random = np.random.default_rng(seed)
    columns: dict[str, list] = {"block": [], "kind": [], "fixed": [], "time": []}
    settings = [(block, kind) for block in (32, 64, 128, 256, 512, 1024) for kind in ("row", "column", "tile", "whole")]
    for number, (block, kind) in enumerate([*settings, (2048, "row")]):
        for _ in range(1 if block == 2048 else 2 + number * 7 % 29):
            value = 100 + block / 16 + scatter * (3 if kind == "tile" else 1) * random.normal()
            for name, one in zip(columns, (block, kind, 1, round(float(value), 4)), strict=True):
                columns[name].append(one)
    order = random.permutation(len(columns["time"]))
    return {name: [values[i] for i in order] for name, values in columns.items()}


def groups_of(columns) -> dict[tuple, np.ndarray]:
    groups: dict[tuple, list] = {}
    for block, kind, value in zip(columns["block"], columns["kind"], columns["time"], strict=True):
        groups.setdefault((block, kind), []).append(value)
    return {setting: np.array(values) for setting, values in groups.items()}


def test_each_configuration_is_as_numpy_says(found_in):
    columns = measured(2)
    found, text = found_in(columns, "--target", "time", "--tier", "block,kind,fixed")
    groups = groups_of(columns)
    repeated = {setting: values for setting, values in groups.items() if len(values) > 1}
    repeats = found["repeats"]
    assert repeats["configurations"] == len(groups) == 25 and len(repeats["repeated"]) == len(repeated) == 24
    for one in repeats["repeated"]:
        assert set(one["configuration"]) == {"block", "kind"}  # not what has one value
        values = repeated.pop((one["configuration"]["block"], one["configuration"]["kind"]))
        assert one["count"] == len(values)
        assert [one[key] for key in ("mean", "std", "min", "p50", "p99", "max", "cv")] == pytest.approx(
            [values.mean(), values.std(), values.min(), np.median(values), np.quantile(values, 0.99), values.max(), values.std() / values.mean()])
    variations = [one["cv"] for one in repeats["repeated"]]
    assert variations == sorted(variations, reverse=True)
    time = np.array(columns["time"])
    within = sum(len(values) * values.var() for values in groups.values()) / len(time) / time.var()
    assert repeats["within_share"] == pytest.approx(within)
    assert repeats["cv_p50"] == variations[12] and repeats["cv_p90"] == variations[2]
    first = repeats["repeated"][0]["configuration"]
    assert f"24 of 25 configurations were measured more than once: in half of these time deviates by {100 * variations[12]:.1f}%" in text
    assert f"{100 * within:.1f}% of the variance of time lies within configurations" in text
    assert f"block {first['block']}, kind {first['kind']}" in text


def test_a_setting_that_is_missing_is_one(found_in):
    columns = measured(2)
    columns["kind"] = ["" if kind == "row" else kind for kind in columns["kind"]]
    columns["block"] = [min(block, 1024) for block in columns["block"]]
    found, _ = found_in(columns, "--target", "time", "--tier", "block,kind")
    assert found["repeats"]["configurations"] == 24
    assert sum(one["configuration"]["kind"] is None for one in found["repeats"]["repeated"]) == 6


def test_a_mean_of_nothing_has_no_variation(found_in):
    columns = {"block": [1, 1, 2, 2] * 10, "time": [-1, 1, 5, 7] * 10, "other": list(range(40))}
    found, _ = found_in(columns, "--target", "time", "--tier", "block")
    assert {one["configuration"]["block"]: one["cv"] for one in found["repeats"]["repeated"]} == {1: None, 2: pytest.approx(1 / 6)}
    assert found["repeats"]["repeated"][-1]["cv"] is None


@pytest.mark.parametrize(("change", "options"), [
    ({}, ("--target", "time")),                                             # nothing was set
    ({}, ("--tier", "block,kind")),                                         # nothing is asked for
    ({"number": list(range(1, 2000))}, ("--target", "time", "--tier", "number,block")),  # each configuration once
    ({}, ("--target", "kind", "--tier", "block")),                          # text
])
def test_no_repeats_no_words(found_in, change, options):
    columns = measured(2)
    columns |= {name: values[:len(columns["time"])] for name, values in change.items()}
    found, text = found_in(columns, *options)
    assert found["repeats"] is None and "measured more than once" not in text and "in each configuration" not in text


@samples.needs("causal/tuning/convolution_milo_A100.json.gz")
def test_repeats_of_a_tuner(sonde, tmp_path):
    """32 repeats of 4,201 configurations: their means are what the tuner itself wrote down."""
    file = json.loads(gzip.open(samples.SAMPLES / "causal/tuning/convolution_milo_A100.json.gz").read())
    tuned = [one for one in file["cache"].values() if isinstance(one["time"], float)]
    names = file["tune_params_keys"]
    rows = [(*(one[name] for name in names), value) for one in tuned for value in one["times"]]
    table = write(tmp_path / "milo.csv", dict(zip([*names, "time"], zip(*rows, strict=True), strict=True)))
    found = json.loads(sonde("causal", table, "--target", "time", "--tier", ",".join(names), "--samples", "20", "--format", "json").out)
    repeats = found["repeats"]
    assert repeats["configurations"] == len(tuned) == len(repeats["repeated"])
    by_setting = {tuple(one[name] for name in names): one for one in tuned}
    constant = {name: value for name, value in tuned[0].items() if name in names}
    for one in repeats["repeated"]:
        own = by_setting[tuple({**constant, **one["configuration"]}[name] for name in names)]
        assert one["count"] == len(own["times"]) == 32
        assert one["mean"] == pytest.approx(own["time"]) and one["std"] == pytest.approx(np.std(own["times"]), abs=1e-12)
        assert one["p50"] == pytest.approx(np.median(own["times"])) and one["max"] == max(own["times"])


# ---- repeats are not independent ----

def repeated(seed: int, effect: float) -> dict[str, np.ndarray]:
    """120 settings, ten times each: what a configuration takes is by chance, or by one of its settings as well."""
    random = np.random.default_rng(seed)
    settings = {name: np.repeat(random.choice([1, 2, 4, 8, 16], 120), 10) for name in ("block", "tile", "unroll")}
    own = np.repeat(random.normal(size=120), 10)
    return settings | {"time": 10 + own + effect * np.log2(settings["block"]) + 0.02 * random.normal(size=1200)}


def test_repeats_confirm_nothing(sonde, tmp_path):
    """What few configurations have in common by chance is there in each repeat of them."""
    shares = []
    for seed in range(5):
        found = json.loads(sonde("causal", write(tmp_path / "t.csv", repeated(seed, 0)), "--tier", "block,tile,unroll", "--target", "time",
                                 "--format", "json").out)
        assert found["causes"] == [], (seed, found["causes"])
        assert any("rows are repeats of" in line and "not taken as independent" in line for line in found["sentences"])
        shares += [one["share"] for one in found["main_effects"]]
    # five values of 120 settings that say nothing explain 3 % of these by chance, which is taken off
    assert np.mean(shares) < 0.025, shares


def test_a_setting_is_found_in_repeats(sonde, tmp_path):
    found = json.loads(sonde("causal", write(tmp_path / "t.csv", repeated(0, 1.2)), "--tier", "block,tile,unroll", "--target", "time",
                             "--format", "json").out)
    assert [cause["cause"] for cause in found["causes"]] == ["block"] and found["causes"][0]["frequency"] > 0.9


def test_weak_effects_of_settings_are_found(sonde, tmp_path):
    """Half of the settings scatter as much as all do with others, and count as all: else fewer of these are found."""
    frequencies = []
    for seed in range(6):
        found = json.loads(sonde("causal", write(tmp_path / "t.csv", repeated(seed, 0.3)), "--tier", "block,tile,unroll", "--target", "time",
                                 "--format", "json").out)
        frequencies += [one["frequency"] for one in found["main_effects"] if one["column"] == "block"]
    assert sum(frequency >= 0.5 for frequency in frequencies) >= 5, frequencies


def test_repeats_of_few_settings_are_independent(sonde, tmp_path):
    """Four blocks, each a hundred times: that they differ is what was set."""
    random = np.random.default_rng(3)
    block = np.repeat([1, 2, 4, 8], 100)
    found = json.loads(sonde("causal", write(tmp_path / "t.csv", {"block": block, "other": random.normal(size=400), "time": np.log2(block) + random.normal(size=400)}),
                             "--tier", "block", "--target", "time", "--format", "json").out)
    assert [cause["cause"] for cause in found["causes"]] == ["block"]
    assert not any("repeats of" in line for line in found["sentences"])


def test_text_that_is_set_is_the_cause(sonde, tmp_path):
    """A number follows the text, and has no effect of its own."""
    random = np.random.default_rng(7)
    level = np.repeat(random.integers(0, 6, 48), 10)
    follows = level + np.repeat(random.integers(0, 3, 48), 10)
    table = {"kind": np.array(list("abcdef"))[level], "size": follows, "other": np.repeat(random.normal(size=48), 10), "time": 4.0 * level + 0.3 * random.normal(size=480)}
    found = json.loads(sonde("causal", write(tmp_path / "t.csv", table), "--tier", "kind,size,other", "--target", "time", "--format", "json").out)
    assert [cause["cause"] for cause in found["causes"]] == ["kind"]


def test_kernels_by_name_are_the_cause(sonde, tmp_path):
    """Forty names, of one configuration each: nothing else can be told of them."""
    random = np.random.default_rng(8)
    kernel = np.repeat(np.arange(40), 12)
    table = {"kernel": np.array([f"k{one}" for one in kernel]), "other": random.normal(size=480), "time": 10.0 * (kernel * 7 % 40) + random.normal(size=480)}
    found = json.loads(sonde("causal", write(tmp_path / "t.csv", table), "--tier", "kernel", "--target", "time", "--format", "json").out)
    assert [cause["cause"] for cause in found["causes"]] == ["kernel"]


def test_repeats_of_whole_numbers(sonde, tmp_path):
    """Counts of few values, dealt out by setting: categories by their form, and repeats all the same."""
    named = 0
    for seed in range(6):
        random = np.random.default_rng(seed)
        settings = {name: np.repeat(random.choice([1, 2, 4, 8], 50), 10) for name in ("a", "b", "c")}
        table = settings | {"count": np.repeat(random.integers(0, 5, 50), 10)}
        found = json.loads(sonde("causal", write(tmp_path / "t.csv", table), "--tier", "a,b,c", "--target", "count", "--format", "json").out)
        named += len(found["causes"])
    assert named <= 2
