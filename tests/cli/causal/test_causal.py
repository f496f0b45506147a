# SPDX-License-Identifier: Apache-2.0
"""`sonde causal` on tables whose causes are known: simulated, of designs, and of networks."""
from __future__ import annotations

import json
import re
import statistics
import xml.etree.ElementTree as xml

import numpy as np
import pytest
import samples
from causal_tables import arrows, chain, distance, network, pairs, tuning, write

TRUE_PAIRS = {frozenset(pair) for pair in [("size", "bytes"), ("size", "hits"), ("bytes", "time"), ("hits", "time")]}


@pytest.fixture(scope="module")
def of_chain(sonde, tmp_path_factory):
    """What is found of chain(), `size` being set from outside."""
    table = write(tmp_path_factory.mktemp("chain") / "chain.csv", chain())
    return lambda *options: json.loads(
        sonde("causal", table, "--format", "json", *options).out)


@pytest.fixture
def text_of(sonde):
    def read(table, *options):
        return " ".join(sonde("causal", table, *options).out.split())
    return read


def edge(found, one, other):
    return next(e for e in found["edges"] if (e["from"], e["to"]) == (one, other))


# ---- graphs and effects ----

def test_graph(of_chain):
    found = of_chain("--target", "time", "--tier", "size")
    assert sorted(found["nodes"]) == ["bytes", "hits", "noise", "size", "time"]
    assert pairs(found) == TRUE_PAIRS
    assert arrows(found) == {("size", "bytes"), ("size", "hits"), ("bytes", "time"), ("hits", "time")}
    assert all(e["frequency"] >= 0.9 for e in found["edges"])


def test_effects_are_regressions(of_chain):
    """Of ranks as normal numbers, which these columns are already but for their spread."""
    found = of_chain("--target", "time", "--tier", "size")
    table = {name: (values - values.mean()) / values.std() for name, values in chain().items()}
    direct = np.linalg.lstsq(np.column_stack([table["bytes"], table["hits"]]), table["time"], rcond=None)[0]
    for name, true in zip(["bytes", "hits"], direct, strict=True):
        one = edge(found, name, "time")
        assert one["effect"] == pytest.approx(true, abs=0.03)
        assert one["effect_low"] < true < one["effect_high"]
        assert one["effect_high"] - one["effect_low"] < 0.15
        assert one["sign"] == np.sign(true) and one["same_sign"] == 1


def test_total_effect_is_over_all_ways(of_chain):
    found = of_chain("--target", "time", "--tier", "size")
    table = chain()
    size, = (cause for cause in found["causes"] if cause["cause"] == "size")
    total = np.corrcoef(table["size"], table["time"])[0, 1]
    assert size["effect"] == pytest.approx(total, abs=0.04) and size["effect_low"] < total < size["effect_high"]
    assert size["share"] == pytest.approx(total ** 2, abs=0.04)
    assert {cause["cause"] for cause in found["causes"]} == {"size", "bytes", "hits"}


def test_shares_are_in_order(of_chain):
    causes = of_chain("--target", "time", "--tier", "size")["causes"]
    assert [c["share"] for c in causes] == sorted((c["share"] for c in causes), reverse=True)


def test_direction_that_no_rows_tell(sonde, tmp_path, text_of):
    random = np.random.default_rng(2)
    one = random.normal(size=500)
    table = write(tmp_path / "two.csv", {"one": one, "other": one + random.normal(size=500)})
    found = json.loads(sonde("causal", table, "--format", "json").out)
    assert arrows(found) == set() and pairs(found) == {frozenset(("one", "other"))}
    assert [u["undetermined"] for u in found["undetermined"]] == ["direction"]
    assert "Of 1 edges the rows do not tell the direction of 1." in text_of(table)
    assert "direction of" not in text_of(table, "--tier", "one")


def test_nothing_is_found_in_nothing(sonde, tmp_path, text_of):
    random = np.random.default_rng(3)
    table = write(tmp_path / "noise.csv", {f"c{i}": random.normal(size=300) for i in range(12)})
    found = json.loads(sonde("causal", table, "--target", "c3", "--format", "json").out)
    assert found["edges"] == [] and found["causes"] == []
    text = text_of(table, "--target", "c3")
    assert "Nothing found: no column is a cause of c3 in half of 100 samples of the rows." in text
    assert "No two of the 12 columns depend on each other as far as 300 rows tell." in text
    assert "depends most on" not in text


def test_shuffled_target(sonde, tmp_path):
    table = chain()
    table["time"] = np.random.default_rng(4).permutation(table["time"])
    found = json.loads(sonde("causal", write(tmp_path / "s.csv", table), "--target", "time", "--format", "json").out)
    assert found["causes"] == [] and pairs(found) == {frozenset(("size", "bytes")), frozenset(("size", "hits"))}


def test_sentences(tmp_path, text_of):
    table = write(tmp_path / "chain.csv", chain())
    text = text_of(table, "--target", "time", "--tier", "size")
    assert "time depends most on size, which explains" in text and "more of it is more (in 100.0% of 100 samples)" in text
    assert "Then bytes explains" in text and "Then hits explains" in text and "more of it is less (in" in text
    assert "Nothing found" not in text and "No two of" not in text


def test_a_row_of_the_graph(tmp_path, text_of):
    """Each cell below its head, the second method's before the ends."""
    text = text_of(write(tmp_path / "chain.csv", chain()), "--target", "time", "--tier", "size")
    assert "share effect from to found in directed PC one other" in text
    assert re.search(r" 100\.0% 100\.0% directed bytes -> time ", text)


def test_an_effect_without_a_sign_has_none(sonde, tmp_path, text_of):
    """A category has a share of the variance, and no more or less."""
    random = np.random.default_rng(5)
    kind = random.integers(0, 3, 900)
    table = write(tmp_path / "kinds.csv", {"kind": np.array(["H2D", "D2H", "D2D"])[kind],
                                           "time": np.array([3.0, 1.0, 2.0])[kind] + random.normal(size=900)})
    found = json.loads(sonde("causal", table, "--target", "time", "--format", "json").out)
    cause, = found["causes"]
    true = np.var(np.array([3.0, 1.0, 2.0])[kind]) / (np.var(np.array([3.0, 1.0, 2.0])[kind]) + 1)
    assert cause["effect"] is None and cause["sign"] == 0 and cause["share"] == pytest.approx(true, abs=0.06)
    assert "more of it" not in text_of(table, "--target", "time")


# ---- the second method ----

def test_second_method(of_chain, tmp_path, text_of):
    found = of_chain("--tier", "size", "--target", "time")
    assert [(e["from"], e["to"]) for e in found["edges"] if e["pc"] != "directed"] == []
    assert all(0 <= e["p"] <= e["p_adjusted"] < 0.001 for e in found["edges"])
    path = write(tmp_path / "t.csv", chain())
    assert "A second method, tests of independence (PC), has all 4 edges as well." in text_of(path, "--target", "time")


def test_second_method_sees_less(sonde, tmp_path, text_of):
    """Three numbers of which each two are independent, but not the three: nothing is held as there is no edge, and the search sees it."""
    random = np.random.default_rng(12)
    one, two = random.integers(0, 2, 800), random.integers(0, 2, 800)
    odd = np.where(random.random(800) < 0.95, one ^ two, 1 - (one ^ two))
    path = write(tmp_path / "t.csv", {"one": one, "two": two, "odd": odd})
    found = json.loads(sonde("causal", path, "--require", "one->odd", "--format", "json").out)
    assert [e["pc"] for e in found["edges"] if {e["from"], e["to"]} == {"two", "odd"}] == ["none"]
    assert "A second method, tests of independence (PC), has 1 of the 2 edges." in text_of(path, "--require", "one->odd")


def test_second_method_has_nothing_to_say_of_no_edges(tmp_path, text_of):
    random = np.random.default_rng(13)
    path = write(tmp_path / "t.csv", {f"c{i}": random.normal(size=300) for i in range(4)})
    assert "second method" not in text_of(path)


@pytest.mark.parametrize("columns", ["categories", "mixed"])
def test_second_method_of_categories(sonde, tmp_path, columns):
    random = np.random.default_rng(14)
    kind = random.integers(0, 3, 1500)
    other = np.where(random.random(1500) < 0.7, kind, random.integers(0, 3, 1500))
    table = {"kind": np.array(list("abc"))[kind], "other": np.array(list("pqr"))[other], "apart": np.array(list("xy"))[random.integers(0, 2, 1500)]}
    if columns == "mixed":
        table["time"] = other * 1.0 + random.normal(size=1500)
    found = json.loads(sonde("causal", write(tmp_path / "t.csv", table), "--format", "json").out)
    expected = {frozenset(("kind", "other"))} | ({frozenset(("other", "time"))} if columns == "mixed" else set())
    assert pairs(found) == expected and all(e["pc"] != "none" and e["p"] < 1e-6 for e in found["edges"])


# ---- directions by residuals ----

def in_a_row(noise, rows=1500):
    """a -> b -> c, whose direction no score can tell."""
    a = noise(rows)
    b = 0.9 * a + noise(rows)
    return {"c": 0.8 * b + noise(rows), "a": a, "b": b}


def test_residuals_that_are_not_normal_tell_directions(sonde, tmp_path, text_of):
    random = np.random.default_rng(15)
    path = write(tmp_path / "t.csv", in_a_row(lambda rows: random.uniform(-1, 1, rows)))
    found = json.loads(sonde("causal", path, "--format", "json").out)
    assert found["lingam"] == {"holds": True, "not_normal": 3, "dependent_pairs": 0}
    assert arrows(found) == {("a", "b"), ("b", "c")} and all(e["direction_frequency"] > 0.8 for e in found["edges"])
    assert edge(found, "a", "b")["effect"] == pytest.approx(0.9 * 0.577 / (0.81 / 3 + 1 / 3) ** 0.5, abs=0.04)
    assert "directions are told by that as well (DirectLiNGAM)." in text_of(path)


@pytest.mark.parametrize("case", ["normal", "hidden cause", "category"])
def test_residuals_tell_nothing(sonde, tmp_path, text_of, case):
    random = np.random.default_rng(16)
    noise = random.normal if case == "normal" else random.laplace
    table = in_a_row(lambda rows: noise(size=rows))
    if case == "hidden cause":
        hidden = random.laplace(size=1500)
        table = {"a": hidden + random.laplace(size=1500) * 0.5, "b": hidden + random.laplace(size=1500) * 0.5}
    if case == "category":
        table["kind"] = np.array(["x", "y"])[random.integers(0, 2, 1500)]
    path = write(tmp_path / "t.csv", table)
    found = json.loads(sonde("causal", path, "--format", "json").out)
    assert arrows(found) == set() and pairs(found)
    assert found["lingam"] is None if case == "category" else not found["lingam"]["holds"]
    assert "DirectLiNGAM" not in text_of(path)


# ---- what is known ----

def test_nothing_enters_the_first_tier(of_chain):
    found = of_chain("--tier", "time,hits")
    assert not {to for _, to in arrows(found)} & {"time", "hits"}
    assert frozenset(("time", "hits")) not in pairs(found)


def test_tiers_follow_one_another(of_chain):
    found = of_chain("--tier", "noise", "--tier", "time", "--tier", "size,h*,b*")
    assert {("time", "bytes"), ("time", "hits")} <= arrows(found) and not {e for e in arrows(found) if e[1] == "time"}


def test_forbidden_and_required(of_chain):
    found = of_chain("--forbid", "*->size", "--forbid", "hits->time", "--forbid", "time->hits", "--require", "noise->bytes")
    assert not {e for e in arrows(found) if e[1] == "size"}
    assert frozenset(("hits", "time")) not in pairs(found)
    assert edge(found, "noise", "bytes")["directed"]


# ---- columns and rows that are left out ----

def test_columns_that_say_nothing(sonde, tmp_path, text_of):
    random = np.random.default_rng(6)
    table = chain(600)
    gaps = [value if random.random() < 0.5 else "" for value in table["noise"]]
    few = [value if index % 50 else "NA" for index, value in enumerate(table["hits"])]
    table |= {"hits": few, "hole": gaps, "same": [7] * 600, "id": [f"launch {i}" for i in range(600)],
              "microseconds": np.exp(table["time"]) * 1e3, "minus": -table["bytes"]}
    path = write(tmp_path / "t.csv", table)
    found = json.loads(sonde("causal", path, "--target", "time", "--tier", "size", "--format", "json").out)
    left = {one["column"]: one for one in found["left_out"]}
    assert {name: one["why"] for name, one in left.items()} == {
        "hole": "sparse", "same": "constant", "id": "distinct", "microseconds": "same", "minus": "same"}
    assert left["microseconds"]["same_as"] == "time" and left["microseconds"]["correlation"] == pytest.approx(1)
    assert left["minus"]["same_as"] == "bytes" and left["minus"]["correlation"] == pytest.approx(-1)
    assert found["rows"] == 588 and pairs(found) == TRUE_PAIRS
    text = text_of(path, "--target", "time", "--tier", "size")
    assert "5 of 10 columns are compared; 1 has one value, 1 lacks too many values, 1 is text that few rows share, 2 say the same as another one." in text
    assert "What a column that lacks too many values causes may seem to be caused by others." in text
    assert "12 of 600 rows are left out, as they lack a value." in text


def test_rows_without_the_target_say_nothing_of_it(sonde, tmp_path, text_of):
    """Of most launches there is no value, and another column is there in these alone."""
    columns = chain(1500)
    has = np.arange(1500) % 3 == 0
    there = {name: [value if one else "" for value, one in zip(values, has, strict=True)] for name, values in columns.items()}
    options = ("--target", "time", "--tier", "size", "--format", "json")
    whole = json.loads(sonde("causal", write(tmp_path / "whole.csv", {name: values[has] for name, values in columns.items()}), *options).out)
    sparse = write(tmp_path / "sparse.csv", columns | {"time": there["time"], "bytes": there["bytes"]})
    found = json.loads(sonde("causal", sparse, *options).out)
    assert found["rows"] == 500 and found["edges"] == whole["edges"] and found["causes"] == whole["causes"]
    assert "1000 of 1500 rows are left out, as they lack a value." in text_of(sparse, "--target", "time")
    gone = write(tmp_path / "gone.csv", columns | {"time": [""] * 1500})
    result = sonde("causal", gone, "--target", "time")
    assert result.status == 128 and "'time' has no value in any row: there is nothing to explain" in result.err


def test_whole_table(tmp_path, text_of):
    text = text_of(write(tmp_path / "t.csv", chain()), "--target", "time")
    assert "columns are compared" not in text and "rows are left out" not in text


def test_earlier_tier_stands_for_both(sonde, tmp_path):
    table = chain() | {"blocks": chain()["size"] * 3 + 1}
    path = write(tmp_path / "t.csv", table)
    found = json.loads(sonde("causal", path, "--tier", "blocks", "--format", "json").out)
    assert [(one["column"], one["same_as"]) for one in found["left_out"]] == [("size", "blocks")]
    found = json.loads(sonde("causal", path, "--format", "json").out)
    assert [(one["column"], one["same_as"]) for one in found["left_out"]] == [("blocks", "size")]


def test_categories_of_other_names_are_one(sonde, tmp_path):
    random = np.random.default_rng(7)
    kind = random.integers(0, 3, 500)
    table = {"kind": np.array(["a", "b", "c"])[kind], "number": np.array(["x1", "x3", "x2"])[kind],
             "other": np.array(["p", "q"])[random.integers(0, 2, 500)], "time": random.normal(size=500)}
    found = json.loads(sonde("causal", write(tmp_path / "t.csv", table), "--format", "json").out)
    assert [(one["column"], one["same_as"]) for one in found["left_out"]] == [("number", "kind")]


def test_many_gaps_cost_columns_not_all_rows(sonde, tmp_path):
    random = np.random.default_rng(8)
    table = chain(1000)
    for number in range(20):
        table[f"gaps{number}"] = [v if random.random() > 0.1 else "" for v in random.normal(size=1000)]
    found = json.loads(sonde("causal", write(tmp_path / "t.csv", table), "--tier", "size", "--format", "json").out)
    assert 300 <= found["rows"] < 450 and pairs(found) == TRUE_PAIRS
    assert {one["why"] for one in found["left_out"]} == {"sparse"}


def test_gaps_do_not_cost_the_cause(sonde, tmp_path):
    """The cause has the most gaps; without it what follows it would be the cause."""
    random = np.random.default_rng(9)
    cause = random.normal(size=3000)
    table = {f"other{number}": random.normal(size=3000) for number in range(24)}
    table |= {"follower": cause + random.normal(size=3000), "cause": cause}
    table = {name: [value if random.random() > (0.09 if name == "cause" else 0.07) else "" for value in values] for name, values in table.items()}
    table["time"] = 1.5 * cause + random.normal(size=3000)
    found = json.loads(sonde("causal", write(tmp_path / "t.csv", table), "--target", "time", "--format", "json").out)
    assert [one["cause"] for one in found["causes"]] == ["cause"]
    assert {one["column"] for one in found["left_out"]} <= {f"other{number}" for number in range(24)} and found["left_out"]
    assert found["rows"] >= 900


# ---- the same output ----

def test_any_number_of_threads(of_chain):
    assert of_chain("-j", 1) == of_chain("-j", 2) == of_chain("-j", 7)


def test_another_seed_is_another_draw(of_chain):
    first, second = (edge(of_chain("--seed", seed, "--tier", "size"), "bytes", "time") for seed in (1, 2))
    assert first["effect_low"] != second["effect_low"] and first["effect"] == pytest.approx(second["effect"], abs=0.02)


def test_order_of_columns(sonde, tmp_path):
    table, found = chain(), []
    for order in (sorted(table), sorted(table, reverse=True)):
        path = write(tmp_path / "t.csv", {name: table[name] for name in order})
        found.append(json.loads(sonde("causal", path, "--tier", "size", "--format", "json").out))
    assert arrows(found[0]) == arrows(found[1])


# ---- what if ----

def settings(rows=3000, seed=11):
    """`kind` and `block` are set, `block` more often large where `kind` is "b"; `time` is a curve of block, and 5 more of "b"."""
    random = np.random.default_rng(seed)
    kind = random.integers(0, 2, rows)
    block = np.where(random.random(rows) < 0.2 + 0.5 * kind, random.choice([64, 128], rows), random.choice([16, 32], rows))
    time = 40 + (np.log2(block) - 5.5) ** 2 * 2 + 5 * kind + random.normal(size=rows)
    return {"kind": np.array(["a", "b"])[kind], "block": block, "extra": random.normal(size=rows), "time": time}


def test_do_of_a_level(sonde, tmp_path):
    """What is set together is held, so the change is that of the block alone, which no line tells."""
    table = settings()
    path = write(tmp_path / "t.csv", table)
    done = json.loads(sonde("causal", path, "--tier", "kind,block", "--target", "time", "--do", "block=32", "--do", "block=128",
                            "--do", "kind=a", "--format", "json").out)
    curve = (np.log2(table["block"]) - 5.5) ** 2 * 2
    for one, expected in zip(done["do"], [0.5 - curve.mean(), 4.5 - curve.mean(), -5 * (table["kind"] == "b").mean()], strict=True):
        assert one["status"] == "identified" and one["change_low"] < expected < one["change_high"], one
        assert one["change_high"] - one["change_low"] < 0.6 and one["mean"] == pytest.approx(table["time"].mean())
    assert [one["held"] for one in done["do"]] == [["kind"], ["kind"], ["block"]]


def test_do_of_a_line(sonde, tmp_path, text_of):
    """A curve that is a line."""
    table = chain()
    path = write(tmp_path / "t.csv", table)
    one, = json.loads(sonde("causal", path, "--tier", "size", "--target", "time", "--do", "bytes=1.5", "--format", "json").out)["do"]
    held = np.column_stack([table["bytes"], table["size"], np.ones(2000)])
    expected = np.linalg.lstsq(held, table["time"], rcond=None)[0][0] * (1.5 - table["bytes"].mean())
    assert one["status"] == "identified" and one["held"] == ["size"] and one["by"] == "curve"
    assert one["change"] == pytest.approx(expected, abs=0.15) and one["change_low"] < expected < one["change_high"]
    assert "If bytes were 1.5 in all rows, time would change by 1." in text_of(path, "--tier", "size", "--target", "time", "--do", "bytes=1.5")


CURVES = {"square": lambda x: x * x, "wave": lambda x: np.sin(2 * x), "hyperbola": lambda x: 10 / np.exp(0.5 * x)}


@pytest.mark.parametrize("name", CURVES)
def test_do_of_a_curve(sonde, tmp_path, name):
    """What no line tells, with a column that sets both: 95 % of the intervals hold what was planted."""
    held = total = 0
    for seed in range(8):
        random = np.random.default_rng(seed)
        other = random.normal(size=2000)
        x = random.normal(size=2000) + 0.8 * other
        time = CURVES[name](x) + 0.7 * other + random.normal(size=2000)
        asked = [-2, -1, 0.5, 2]
        options = [word for value in asked for word in ("--do", f"x={value}")]
        done = json.loads(sonde("causal", write(tmp_path / "t.csv", {"x": x, "other": other, "time": time}), "--tier", "other,x", "--target", "time",
                                "--samples", 20, *options, "--format", "json").out)["do"]
        for one, value in zip(done, asked, strict=True):
            if one["status"] == "identified":
                total += 1
                held += one["change_low"] <= CURVES[name](np.float64(value)) - CURVES[name](x).mean() <= one["change_high"]
                assert one["by"] == "curve"
    assert total >= 16 and held >= 0.85 * total, (held, total)


@pytest.mark.parametrize("values", [(1, 2), (1, 2, 3), (1, 2, 3, 4, 5)])
def test_do_between_few_values(sonde, tmp_path, values):
    """A curve has no more parts than there are values: between these a line is one."""
    random = np.random.default_rng(len(values))
    size = np.concatenate([np.repeat(values, 60), np.repeat(values[:1], 100)])
    time = 10 * size + random.normal(size=len(size))
    one, = json.loads(sonde("causal", write(tmp_path / "t.csv", {"size": size, "time": time}), "--tier", "size", "--target", "time", "--do", "size=1.5",
                            "--format", "json").out)["do"]
    expected = 15 - 10 * size.mean()
    assert one["by"] == "curve" and one["change"] == pytest.approx(expected, abs=0.6) and one["change_low"] < expected < one["change_high"]


def test_do_of_one_of_many_values(sonde, tmp_path):
    """Of a number that many rows have these are compared with all others, whatever is between."""
    random = np.random.default_rng(5)
    block = random.choice(np.arange(8, 248, 8), 6000)
    time = 0.02 * block + 5.0 * (block % 32 == 0) + random.normal(size=6000)
    done = json.loads(sonde("causal", write(tmp_path / "t.csv", {"block": block, "time": time}), "--tier", "block", "--target", "time",
                            "--do", "block=32", "--do", "block=40", "--format", "json").out)["do"]
    expected = [0.02 * 32 + 5 - (0.02 * block + 5.0 * (block % 32 == 0)).mean(), 0.02 * 40 - (0.02 * block + 5.0 * (block % 32 == 0)).mean()]
    assert [one["by"] for one in done] == ["rows", "rows"]
    for one, change in zip(done, expected, strict=True):
        assert one["change_low"] < change < one["change_high"] and one["change"] == pytest.approx(change, abs=0.4)


@pytest.mark.parametrize("options, status, sentence", [
    (["--tier", "size", "--do", "noise=0.1"], "no-effect", "If noise were 0.1, nothing says that time would change"),
    (["--do", "size=0.1"], "undetermined", "What time would be if size were 0.1 cannot be identified: the rows do not tell the direction"),
    (["--tier", "size", "--do", "size=100"], "beyond", "cannot be identified: no row has a value as far out"),
])
def test_do_that_cannot_be_told(sonde, tmp_path, text_of, options, status, sentence):
    path = write(tmp_path / "t.csv", chain())
    one, = json.loads(sonde("causal", path, "--target", "time", *options, "--format", "json").out)["do"]
    assert one["status"] == status and one["change"] is None
    assert sentence in text_of(path, "--target", "time", *options)


@pytest.mark.parametrize("options, what", [
    (["--do", "size=1"], "what would change is told of a --target of numbers"),
    (["--target", "time", "--do", "size"], "'size' is not of the form COLUMN=VALUE"),
    (["--target", "time", "--do", "nobody=1"], "there is no such column"),
    (["--target", "time", "--do", "time=1"], "that is the target"),
    (["--target", "time", "--do", "same=1"], "that column is not compared"),
    (["--target", "time", "--do", "twice=1"], "that column is not compared, as it says the same as 'size'"),
    (["--target", "time", "--do", "size=large"], "the column has numbers"),
    (["--target", "time", "--do", "kind=c"], "no row has that value"),
])
def test_do_of_nothing(sonde, tmp_path, options, what):
    columns = chain(200)
    table = write(tmp_path / "t.csv", columns | {"same": [1] * 200, "kind": ["a", "b"] * 100, "twice": 2 * columns["size"]})
    done = sonde("causal", table, *options)
    assert done.status == 128 and done.out == "" and len(done.err_lines) == 1 and what in done.err, done.err


# ---- pictures ----

def test_pictures(sonde, tmp_path):
    """All three have the edges that the JSON has."""
    table = write(tmp_path / "t.csv", chain())
    files = [tmp_path / name for name in ("g.svg", "g.dot", "g.html")]
    done = sonde("causal", table, "--tier", "size", "--target", "time", "--svg", files[0], "--dot", files[1], "--html", files[2], "--format", "json")
    found = json.loads(done.out)
    drawn = xml.parse(files[0]).getroot()
    assert len([e for e in drawn.iter() if e.get("id", "").startswith("arrow-")]) == len(found["edges"]) == 4
    assert files[1].read_text().count("->") == 4
    assert files[2].read_text().startswith("<!doctype html>") and "size" in files[0].read_text()


@pytest.mark.parametrize("option", ["--svg", "--dot", "--html"])
def test_pictures_that_cannot_be_written(sonde, tmp_path, option):
    done = sonde("causal", write(tmp_path / "t.csv", chain(200)), option, tmp_path / "nowhere/g")
    assert done.status == 128 and done.out == "" and len(done.err_lines) == 1 and "nowhere" in done.err


# ---- what needs no insight ----

def test_baselines(of_chain):
    found = of_chain("--tier", "size")["baselines"]
    assert set(found) == {"found", "empty", "variance_sort", "r2_sort"}
    assert found["found"] | {"score": 0} == {"edges": 4, "same_pairs": 4, "same_directions": 4, "score": 0}
    assert found["empty"]["edges"] == 0
    assert found["empty"]["score"] < min(found["variance_sort"]["score"], found["r2_sort"]["score"])
    assert found["found"]["score"] >= max(found["variance_sort"]["score"], found["r2_sort"]["score"]) - 1e-6


def test_order_by_variance_is_told_apart(sonde, tmp_path):
    """Variances that rise along the chain give it away; those that fall hide it."""
    def directions(factor):
        table = {name: values * factor ** place for place, (name, values) in
                 enumerate(sorted(chain().items(), key=lambda item: ["size", "bytes", "hits", "time", "noise"].index(item[0])))}
        found = json.loads(sonde("causal", write(tmp_path / "t.csv", table), "--tier", "size", "--format", "json").out)
        return found["baselines"]["variance_sort"]["same_directions"]
    assert directions(3) == 4 and directions(1 / 3) < 4


# ---- data that others made ----

def explained_alone(table, names, target):
    """The part of the variance of the target's normal ranks that the values of each column explain beyond those of all others."""
    values, place, counts = np.unique(table[target], return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    ranks = np.array([statistics.NormalDist().inv_cdf(part) for part in middle / len(table[target])])[place]
    levels = {name: np.stack([table[name] == value for value in np.unique(table[name])[1:]], axis=1) for name in names}

    def left(used):
        columns = np.column_stack([np.ones(len(ranks)), *(levels[name] for name in used)])
        return np.sum((ranks - columns @ np.linalg.lstsq(columns, ranks, rcond=None)[0]) ** 2)
    return {name: (left([other for other in names if other != name]) - left(names)) / left([]) for name in names}


@samples.needs("causal/tuning/KTConvolution_2080Ti.json.gz")
def test_design(sonde, tmp_path):
    """All configurations that are allowed were run, so the effect of each parameter beside the others is known."""
    parameters, rows = tuning(samples.SAMPLES / "causal/tuning/KTConvolution_2080Ti.json.gz")
    columns = [*parameters, "Duration"]
    table = {name: np.array([row[name] for row in rows], dtype=float) for name in columns}
    found = json.loads(sonde("causal", write(tmp_path / "t.csv", table), "--target", "Duration", "--tier",
                             ",".join(parameters), "--format", "json").out)
    assert not {to for _, to in arrows(found)} & set(parameters) and {to for _, to in arrows(found)} == {"Duration"}
    main = {name: np.corrcoef(table[name], np.log(table["Duration"]))[0, 1] for name in parameters
            if np.ptp(table[name]) > 0}
    significant = {name for name, value in main.items() if abs(value) * len(rows) ** 0.5 > 3.3}
    causes = {cause["cause"]: cause for cause in found["causes"]}
    assert set(causes) == significant
    for name in significant:
        assert causes[name]["sign"] == np.sign(main[name])
    alone = explained_alone(table, list(main), "Duration")
    assert [c["cause"] for c in found["causes"]][:3] == sorted(alone, key=lambda name: -alone[name])[:3]
    for name in significant:
        assert causes[name]["share"] == pytest.approx(alone[name], abs=0.03)


@samples.needs("causal/bnlearn")
@pytest.mark.parametrize("name, at_most", [("asia", 5), ("sachs", 14), ("child", 9)])
def test_network(sonde, tmp_path, name, at_most):
    """At most as far from the truth as PC by chi-square is, in an order of columns that tells nothing."""
    lines = (samples.SAMPLES / f"causal/bnlearn/{name}.txt").read_text().split("\n")
    nodes, edges = network(samples.SAMPLES / f"causal/bnlearn/{name}.graph.txt")
    values = [line.split() for line in lines[1:] if line]
    order = np.random.default_rng(9).permutation(len(nodes))
    table = write(tmp_path / "t.csv", {nodes[i]: [row[i] for row in values] for i in order})
    found = json.loads(sonde("causal", table, "--samples", 20, "--format", "json").out)
    assert distance(found, nodes, edges) <= at_most


# ---- what cannot be used ----

@pytest.mark.parametrize("content, what", [
    ("", "is empty"),
    ("a,b\n", "has no row but the names"),
    ("a,b\n1,2\n", "too few to say anything"),
    ("a\n" + "1\n2\n" * 20, "too few to say anything"),
    ("a,b\n" + "1,1\n" * 20, "too few to say anything"),
    ("a,b\n" + "".join(f"x{i},y{i}\n" for i in range(50)), "too few to say anything"),
    ("a;b\n" + "".join(f"{i},5;-{i},25\n" for i in range(50)), "numbers have decimal commas, and are taken as text"),
    ("a,b\n1,2\n3\n", "line 3 has 1 fields, and the first one 2"),
    ("a,a\n1,2\n", "two columns have the name 'a'"),
    ("a,b\n1,\"2\n", "is damaged in line"),
    ("a,b\n1,\0\n", "is damaged in line"),
])
def test_bad_tables(sonde, tmp_path, content, what):
    table = tmp_path / "t.csv"
    table.write_text(content)
    done = sonde("causal", table)
    assert done.status == 128 and done.out == "" and len(done.err_lines) == 1 and what in done.err, done.err


def test_no_table(sonde, tmp_path):
    for path, what in [(tmp_path / "none.csv", "cannot open"), (tmp_path, "Is a directory")]:
        done = sonde("causal", path)
        assert done.status == 128 and len(done.err_lines) == 1 and what in done.err


@pytest.mark.parametrize("options, what", [
    (["--target", "nobody"], "there is no column 'nobody'"),
    (["--target", "same"], "'same' has one value in all rows: there is nothing to explain"),
    (["--tier", "nobody"], "no column fits 'nobody'"),
    (["--tier", "size", "--tier", "s*"], "column 'size' is in two tiers"),
    (["--forbid", "size"], "'size' is not of the form FROM->TO"),
    (["--require", "x->size"], "no columns fit 'x->size'"),
    (["--require", "size->time", "--require", "time->size"], "'time->size' is required, but so is the other way round"),
    (["--require", "time->size", "--tier", "size"], "'time->size' is required, but forbidden or against the tiers"),
    (["--require", "size->time", "--require", "time->hits", "--require", "hits->size"], "so is the other way round"),
])
def test_bad_knowledge(sonde, tmp_path, options, what):
    table = write(tmp_path / "t.csv", chain(200) | {"same": [1] * 200})
    done = sonde("causal", table, *options)
    assert done.status == 128 and done.out == "" and len(done.err_lines) == 1 and what in done.err, done.err


def test_huge_and_tiny_numbers(sonde, tmp_path):
    table = chain(400)
    table["size"] = np.sign(table["size"]) * 10 ** (np.abs(table["size"]) * 80)
    table["hits"] = table["hits"] * 1e-300
    found = json.loads(sonde("causal", write(tmp_path / "t.csv", table), "--tier", "size", "--format", "json").out)
    assert pairs(found) == TRUE_PAIRS


def test_numbers_that_are_none(sonde, tmp_path):
    """inf and nan are missing values, not text."""
    table = chain(400) | {"noise": ["inf" if i % 20 == 0 else "nan" if i % 20 == 1 else i % 7 + i / 1000 for i in range(400)]}
    found = json.loads(sonde("causal", write(tmp_path / "t.csv", table), "--tier", "size", "--format", "json").out)
    assert found["rows"] == 360
