# SPDX-License-Identifier: Apache-2.0
"""The effect of each cause in the target's own unit, by double machine learning, on tables whose effects are planted."""
from __future__ import annotations

import json
import random
import re
import statistics
from pathlib import Path

import pytest
from causal_tables import write


def causes(sonde, path: Path, *options: str) -> dict[str, dict]:
    result = sonde("causal", path, "--format", "json", *options)
    assert result.status == 0, result.err
    return {cause["cause"]: cause for cause in json.loads(result.out)["causes"]}


def test_in_the_unit_of_the_target(sonde, tmp_path):
    """Of two settings: 3 a unit of deviation 2, and -0.5 a unit of deviation 10."""
    random_ = random.Random(1)
    rows = [(random_.gauss(50, 2), random_.gauss(0, 10)) for _ in range(2000)]
    table = {"size": [row[0] for row in rows], "depth": [row[1] for row in rows],
             "time": [1000 + 3 * row[0] - 0.5 * row[1] + random_.gauss(0, 4) for row in rows]}
    write(tmp_path / "t.csv", table)
    named = causes(sonde, tmp_path / "t.csv", "--target", "time", "--tier", "size,depth")
    for name, slope in (("size", 3), ("depth", -0.5)):
        adjusted, deviation = named[name]["adjusted"], statistics.pstdev(table[name])
        assert adjusted["status"] == "identified"
        assert adjusted["change"] == pytest.approx(slope * deviation, rel=0.1)
        assert adjusted["change_low"] < slope * deviation < adjusted["change_high"]
        assert adjusted["change_high"] - adjusted["change_low"] < 1
        share = (slope * deviation) ** 2 / statistics.pvariance(table["time"])
        assert adjusted["share_low"] < share < adjusted["share_high"] and adjusted["p"] < 1e-6


def test_what_is_common_is_held(sonde, tmp_path):
    """The cause and the target bend with a third column, without which the effect would have the wrong sign."""
    random_ = random.Random(2)
    table: dict[str, list[float]] = {"common": [], "cause": [], "time": []}
    for _ in range(3000):
        common = random_.uniform(0, 3)
        cause = common ** 2 + random_.gauss(0, 0.5)
        table["common"].append(common)
        table["cause"].append(cause)
        table["time"].append(4 * common ** 2 - 2 * cause + random_.gauss(0, 0.5))
    write(tmp_path / "t.csv", table)
    adjusted = causes(sonde, tmp_path / "t.csv", "--target", "time", "--tier", "common", "--tier", "cause")["cause"]["adjusted"]
    expected = -2 * statistics.pstdev(table["cause"])
    assert adjusted["change_low"] < expected < adjusted["change_high"] < 0
    assert adjusted["change_high"] - adjusted["change_low"] < 0.2 * -expected


def test_a_category_has_a_share_and_no_change(sonde, tmp_path):
    random_ = random.Random(3)
    kinds = [random_.choice(["small", "middle", "large"]) for _ in range(900)]
    write(tmp_path / "t.csv", {"kind": kinds, "time": [{"small": 1, "middle": 5, "large": 2}[kind] + random_.gauss(0, 0.3) for kind in kinds]})
    adjusted = causes(sonde, tmp_path / "t.csv", "--target", "time", "--tier", "kind")["kind"]["adjusted"]
    assert adjusted["status"] == "identified" and adjusted["change"] is None and adjusted["share"] > 0.9


def test_none_of_a_target_that_is_text(sonde, tmp_path):
    random_ = random.Random(4)
    sizes = [random_.gauss(0, 1) for _ in range(600)]
    write(tmp_path / "t.csv", {"size": sizes, "outcome": ["slow" if size + random_.gauss(0, 0.3) > 0 else "fast" for size in sizes]})
    assert causes(sonde, tmp_path / "t.csv", "--target", "outcome", "--tier", "size")["size"]["adjusted"] is None
    assert "change" not in sonde("causal", tmp_path / "t.csv", "--target", "outcome", "--tier", "size").out


def test_an_open_direction_tells_none(sonde, tmp_path):
    """Two causes of the target, one of which causes the other: which is not told, so neither is what one does over all ways."""
    random_ = random.Random(5)
    first = [random_.gauss(0, 1) for _ in range(1500)]
    second = [2 * value + random_.gauss(0, 1) for value in first]
    time = [one + two + random_.gauss(0, 1) for one, two in zip(first, second, strict=True)]
    write(tmp_path / "t.csv", {"first": first, "second": second, "time": time})
    for cause in causes(sonde, tmp_path / "t.csv", "--target", "time").values():
        assert cause["adjusted"]["status"] == "undetermined" and cause["adjusted"]["change"] is None and cause["adjusted"]["share"] is None


def test_it_is_in_the_table(sonde, tmp_path):
    random_ = random.Random(6)
    sizes = [random_.gauss(0, 1) for _ in range(1000)]
    write(tmp_path / "t.csv", {"size": sizes, "time": [7 * size + random_.gauss(0, 1) for size in sizes]})
    out = sonde("causal", tmp_path / "t.csv", "--target", "time", "--tier", "size").out
    assert "change: of time in its unit for one standard deviation of the cause" in out
    row = next(line.split() for line in out.splitlines() if line.endswith(" size"))
    assert 6.5 < float(row[4]) < 7.5 and float(row[5]) < float(row[4]) < float(row[6])


@pytest.mark.parametrize(("name", "factor", "unit", "shown"), [("time_ns", 7000, "ns", r"[67]\.\d\d us"), ("copy_bytes", 7 * 1024, "bytes", r"[67]\.\d\d KiB"),
                                                               ("time", 7000, "1", r"[67]\.\d\dk"), ("barns", 7000, "1", r"[67]\.\d\dk")])
def test_changes_have_the_unit_of_the_target(sonde, tmp_path, name, factor, unit, shown):
    random_ = random.Random(7)
    sizes = [random_.gauss(0, 1) for _ in range(1000)]
    write(tmp_path / "t.csv", {"size": sizes, name: [factor * (20 + size + random_.gauss(0, 0.2)) for size in sizes]})
    options = ("causal", tmp_path / "t.csv", "--target", name, "--tier", "size", "--do", "size=1")
    out = sonde(*options).out
    row = next(line for line in out.splitlines() if line.endswith(" size"))
    assert len(re.findall(rf"(?<!\S){shown}(?!\S)", row)) == 3, row
    assert re.search(rf"If size were 1 in all rows, {name} would change by {shown} on average", " ".join(out.split())), out
    assert json.loads(sonde(*options, "--format", "json").out)["target_unit"] == unit
