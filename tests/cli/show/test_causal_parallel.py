# SPDX-License-Identifier: Apache-2.0
"""Histograms of parallel coordinates beside numpy's, counted by make-causal from rows of doubles."""
import json
import subprocess

import pytest

from program import BUILD

numpy = pytest.importorskip("numpy")
CATEGORIES = 254
SHOWN = 30


@pytest.fixture
def count(tmp_path):
    def run(axes: list[str], rows, parts: int = 1, names: tuple = ()) -> str:
        description, data = tmp_path / "axes.txt", tmp_path / "rows.bin"
        description.write_text("".join(f"axis {axis}\n" for axis in axes) +
                               "".join(f"category {axis} {name}\n" for axis, name in names))
        numpy.ascontiguousarray(rows, dtype="f8").tofile(data)
        return subprocess.run([BUILD / "tests/make-causal", "parallel", description, data, str(parts)], capture_output=True,
                              text=True, check=True).stdout
    return run


def load(text: str) -> dict:
    return json.loads(text)["parallel"]


def bin_of(axis: dict, values):
    """The bin of each value by the edges and names that the answer gives."""
    bins = axis["bins"]
    named = {one["name"]: i for i, one in enumerate(bins) if "name" in one}
    found = numpy.full(len(values), -1)
    if axis["scale"] == "category":
        other = named.get("other", -1)
        for i, value in enumerate(values):
            missing = not numpy.isfinite(value) or value < 0
            found[i] = named["missing"] if missing else named.get(f"#{int(value)}", other)
        return found
    first = next((i for i, one in enumerate(bins) if "low" in one), 0)
    edges = [one["low"] for one in bins if "low" in one] + [one["high"] for one in bins if "low" in one][-1:]
    finite = numpy.isfinite(values)
    found[finite] = first + numpy.searchsorted(edges, values[finite], side="right") - 1
    found[~finite] = named.get("missing", -1)
    if axis["scale"] == "log":
        found[finite & (values <= 0)] = named.get("0 or less", -1)
    return found


def check(answer: dict, rows) -> None:
    """Every count is what numpy counts in the same bins."""
    axes = answer["axes"]
    bins = [bin_of(axis, rows[:, i]) for i, axis in enumerate(axes)]
    assert answer["rows"] == len(rows)
    for axis, found in zip(axes, bins):
        assert (found >= 0).all(), axis["name"]
        assert [one["rows"] for one in axis["bins"]] == numpy.bincount(found, minlength=len(axis["bins"])).tolist()
    for i, pair in enumerate(answer["pairs"]):
        wanted, counts = numpy.unique(numpy.stack([bins[i], bins[i + 1]], 1), axis=0, return_counts=True)
        assert pair == numpy.column_stack([wanted, counts]).ravel().tolist()
    groups = [numpy.array([one["group"] for one in axis["bins"]])[found] for axis, found in zip(axes, bins)]
    wanted, counts = numpy.unique(numpy.stack(groups, 1), axis=0, return_counts=True)
    assert answer["cells"] == numpy.column_stack([wanted, counts]).ravel().tolist()
    for axis in axes:
        seen = [one["group"] for one in axis["bins"]]
        assert seen == sorted(seen) and set(seen) == set(range(axis["group_count"]))


def trace(count: int, seed: int = 1):
    """Start, kernel, copy kind, size, duration, stall, with zeros, missing and odd values among them."""
    random = numpy.random.default_rng(seed)
    start = numpy.sort(random.uniform(1.7e18, 1.7e18 + 6e11, count))
    kernel = numpy.minimum(random.zipf(1.3, count) - 1, 400).astype(float)
    size = numpy.where(random.random(count) < .3, 0, 2.0 ** random.integers(8, 30, count))
    kind = random.choice([0, 1, 2, 3, numpy.nan, -1], count, p=[.3, .5, .1, .05, .04, .01])
    duration = numpy.exp(8 + kernel % 7 + .3 * random.standard_normal(count))
    stall = numpy.abs(duration - size / 20) - 10
    stall[::97] = numpy.nan
    stall[5] = numpy.inf
    return numpy.stack([start, kernel, kind, size, duration, stall], 1)


AXES = ["linear nan nan ns start", "category nan nan - kernel", "category nan nan - copy kind", "log nan nan bytes size",
        "log nan nan ns duration", "linear nan nan ns stall"]


def ranged(rows) -> list[str]:
    """The same axes with the ranges of the rows."""
    known = []
    for axis, values in zip(AXES, rows.T):
        scale, _, _, rest = axis.split(" ", 3)
        values = values[numpy.isfinite(values) & ((values > 0) | (scale != "log"))]
        known.append(axis if scale == "category" else f"{scale} {float(values.min())!r} {float(values.max())!r} {rest}")
    return known


def test_whole_numbers_in_64_bins(count):
    rows = numpy.stack([numpy.arange(64), numpy.arange(64)[::-1]], 1)
    answer = load(count(["linear nan nan 1 a", "linear nan nan 1 b"], rows))
    assert [(one["low"], one["high"], one["rows"]) for one in answer["axes"][0]["bins"]] == [(i, i + 1, 1) for i in range(64)]
    assert answer["pairs"] == [[number for i in range(64) for number in (i, 63 - i, 1)]]
    answer = load(count(["linear nan nan 1 a", "linear nan nan 1 b"], numpy.vstack([rows, [[64, 0]]])))
    assert [(one["low"], one["rows"]) for one in answer["axes"][0]["bins"]] == [(2 * i, 2) for i in range(32)] + [(64, 1)]


def test_counts_are_numpys(count):
    rows = trace(30000)
    answer = load(count(AXES, rows))
    check(answer, rows)
    assert all(16 <= len(axis["bins"]) <= 66 for axis in answer["axes"] if axis["scale"] != "category")
    assert len(answer["axes"][1]["bins"]) == SHOWN + 1
    names = {one.get("name") for one in answer["axes"][2]["bins"]} | {one.get("name") for one in answer["axes"][3]["bins"]}
    assert {"missing", "0 or less"} <= names


def test_categories_by_frequency_and_names(count):
    rows = numpy.array([[1, 0], [1, 0], [1, 1], [0, 1], [2, 1], [2, 1]], dtype=float)
    answer = load(count(["category nan nan - kernel", "category nan nan - kind"], rows, names=((0, "a"), (0, "b"), (0, "c"))))
    assert [(one["name"], one["rows"]) for one in answer["axes"][0]["bins"]] == [("b", 3), ("c", 2), ("a", 1)]
    assert [(one["name"], one["rows"]) for one in answer["axes"][1]["bins"]] == [("#1", 4), ("#0", 2)]


def test_combinations_are_bounded_and_exact(count):
    random = numpy.random.default_rng(7)
    rows = random.random((200000, 8))
    rows[:, 3] = random.integers(0, 300, len(rows))
    axes = [f"linear nan nan 1 x{i}" if i != 3 else "category nan nan - c" for i in range(8)]
    answer = load(count(axes, rows))
    check(answer, rows)
    assert 2000 < len(answer["cells"]) // 9 <= 65536
    assert all(2 <= axis["group_count"] < 32 for axis in answer["axes"])


def test_parts_that_merged_their_groups(count):
    """Each part alone has more combinations than are kept."""
    rows = numpy.random.default_rng(8).random((300000, 4))
    axes = [f"linear 0 1 1 x{i}" for i in range(4)]
    assert count(axes, rows, 2) == count(axes, rows)


@pytest.mark.parametrize("parts", [2, 7, 64])
def test_any_number_of_parts_gives_the_same_bytes(count, parts):
    rows = trace(100000)
    assert count(ranged(rows), rows, parts) == count(ranged(rows), rows)
    answer = load(count(AXES, rows, parts))  # their ranges differ
    check(answer, rows)
    assert answer["pairs"] == load(count(AXES, rows))["pairs"]


def test_any_order_gives_the_same_bytes(count):
    rows = trace(100000)
    shuffled = numpy.random.default_rng(3).permutation(rows)
    assert count(ranged(rows), shuffled) == count(ranged(rows), rows) == count(ranged(rows), rows[::-1])
    assert load(count(AXES, shuffled))["pairs"] == load(count(AXES, rows))["pairs"] == load(count(AXES, rows[::-1]))["pairs"]


@pytest.mark.parametrize("values", [
    [5.0], [5.0, 5.0], [0.0], [0.0, 5e-324], [-1e308, 1e308], [1e-300, 1e300], [1.7e18, 1.7e18 + 256], [-3.0, -2.5, 7.25],
    [numpy.nan], [numpy.nan, 1.0, numpy.inf, -numpy.inf], [1.0, numpy.nextafter(1.0, 2)], [2.0**20, 2.0**20 - 2.0**-33], [2.0**-33 - 2.0**20, -2.0**20],
])
@pytest.mark.parametrize("scale", ["linear", "log"])
def test_odd_ranges(count, scale, values):
    for order in (values, values[::-1]):
        rows = numpy.stack([order, numpy.arange(len(order))], 1)
        answer = load(count([f"{scale} nan nan 1 a", "linear nan nan 1 b"], rows))
        check(answer, rows)
        if len(set(order)) > 1 and sum(numpy.isfinite(order)) > 1 and min(order) > 0:
            assert answer["axes"][0]["bins"][0]["rows"] < len(order)
    one, other = (load(count([f"{scale} nan nan 1 a", "linear nan nan 1 b"], numpy.stack([order, values], 1)))["axes"][0]["bins"]
                  for order in (values, values[::-1]))
    assert one == other


def test_no_rows(count):
    answer = load(count(["linear nan nan 1 a", "log nan nan 1 b"], numpy.zeros((0, 2))))
    assert answer["rows"] == 0 and answer["pairs"] == [[]] and answer["cells"] == []
    assert load(count(["linear 0 9 1 a", "log nan nan 1 b"], numpy.zeros((0, 2)), 3))["rows"] == 0
