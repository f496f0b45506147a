# SPDX-License-Identifier: Apache-2.0
"""What is said and asked of causes to `sonde variability`, as to `sonde causal`; and that both give one answer to one table of launches."""
from __future__ import annotations

import csv
import json
import math
import random

import pytest
from varied import Launch, Run

# What is set from outside in a table of launches.
OUTSIDE = "kernel,place,stream,gridX,gridY,gridZ,blockX,blockY,blockZ,shared_memory,registers"


def many(seed: int, launches: int = 3000, kernels: int = 30) -> Run:
    """Kernels of which some are rare, so that not all are told apart; the larger the grid, the longer they take."""
    draw, made, at = random.Random(seed), Run(), 1_000_000
    for _ in range(launches):
        kernel = min(int(draw.expovariate(0.15)), kernels - 1)
        grid = draw.choice([16, 64, 128])
        duration = round((1000 + 100 * kernel + 40 * grid) * math.exp(draw.gauss(0, 0.1)))
        made.launches.append(Launch(f"kernel_{kernel:02}", at, duration, 0, (grid, 1, 1)))
        at += duration + round(5000 * math.exp(draw.gauss(0, 0.5)))
    return made


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path, = many(3).write(tmp_path_factory.mktemp("trace"))
    return path


def asked(sonde, trace, *options):
    done = sonde("variability", trace, "--sample", "1000000", "--target", "duration_ns", "--format", "json", *options)
    assert done.status == 0, done.err
    return json.loads(done.out)["graph"]


def rounded(value):
    """Sums of the same numbers in another order differ in their last digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return {key: rounded(one) for key, one in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("options", [(), ("--seed", "7", "--samples", "40", "--do", "gridX=128", "--forbid", "gridX->gap_ns")])
def test_the_table_of_launches_has_the_same_answer(sonde, tmp_path, trace, options):
    table = tmp_path / "launches.csv"
    found = asked(sonde, trace, "--features", table, *options)
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3000 and len({row["stretch"] for row in rows}) == 54 and "(other)" in {row["kernel"] for row in rows}
    done = sonde("causal", table, "--target", "duration_ns", "--tier", OUTSIDE, "--stretch", "stretch", "--format", "json", *options)
    assert done.status == 0, done.err
    other = json.loads(done.out)
    for key in ("nodes", "edges", "causes", "main_effects", "do", "cluster", "clusters", "rows", "samples"):
        assert rounded(found[key]) == rounded(other[key]), key
    plain = json.loads(sonde("causal", table, "--target", "duration_ns", "--tier", OUTSIDE, "--format", "json", *options).out)
    assert plain["cluster"] is None and plain["edges"] != other["edges"]


def test_rows_that_were_not_compared_have_no_stretch(sonde, tmp_path):
    """Of 22,000 launches 20,000 are compared."""
    path, = many(5, 22_000, 3).write(tmp_path / "t")
    table = tmp_path / "launches.csv"
    found = asked(sonde, path, "--features", table, "--samples", "20")
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 22_000 and sum(row["stretch"] != "" for row in rows) == 20_000
    assert found["rows"] == 19_999  # the first one has none before it
    done = sonde("causal", table, "--target", "duration_ns", "--tier", OUTSIDE, "--stretch", "stretch", "--samples", "20", "--format", "json")
    other = json.loads(done.out)
    assert other["rows"] == 19_999 and rounded(other["edges"]) == rounded(found["edges"])


def test_what_if(sonde, trace):
    """A grid of 128 makes launches longer by what it does on average: 40 ns a block beyond a mean of 69."""
    one, = asked(sonde, trace, "--do", "gridX=128")["do"]
    assert (one["column"], one["value"], one["status"]) == ("gridX", "128", "identified")
    assert one["change_low"] < 40 * (128 - 208 / 3) < one["change_high"]
    text = sonde("variability", trace, "--sample", "1000000", "--target", "duration_ns", "--do", "gridX=128").out
    assert "If gridX were 128 in all rows, duration_ns would change by" in " ".join(text.split())


def test_what_is_known(sonde, trace):
    """Tiers replace those of the launch; what is forbidden is not there, and what is required is."""
    graph = asked(sonde, trace, "--tier", "start_ns,gap_ns", "--tier", "kernel,gridX")
    assert not {edge["from"] for edge in graph["edges"] if edge["to"] in ("start_ns", "gap_ns")}
    assert not [edge for edge in asked(sonde, trace, "--forbid", "gridX->*")["edges"] if edge["from"] == "gridX" and edge["directed"]]
    edges = asked(sonde, trace, "--require", "concurrent_kernels->duration_ns", "--require", "gap_ns->duration_ns")["edges"]
    assert ("gap_ns", "duration_ns") in {(edge["from"], edge["to"]) for edge in edges}


def test_pictures(sonde, tmp_path, trace):
    asked(sonde, trace, "--svg", tmp_path / "graph.svg", "--dot", tmp_path / "graph.dot", "--samples", "20")
    assert "<svg" in (tmp_path / "graph.svg").read_text() and "duration_ns" in (tmp_path / "graph.svg").read_text()
    assert (tmp_path / "graph.dot").read_text().startswith("digraph")


@pytest.mark.parametrize("options, status, why", [
    (("--do", "nothing=1"), 128, "there is no such column"), (("--do", "kernel=none"), 128, "kernel"), (("--do", "gridX"), 128, "gridX"),
    (("--tier", "nothing*"), 128, "no column fits 'nothing*'"), (("--forbid", "gridX"), 128, "FROM->TO"),
    (("--require", "gridX->gap_ns", "--require", "gap_ns->gridX"), 128, "is required"), (("--samples", "3"), 129, "--samples"),
    (("--svg", "/nowhere/graph.svg"), 128, "/nowhere/graph.svg")])
def test_mistakes(sonde, trace, options, status, why):
    done = sonde("variability", trace, *options)
    assert (done.status, done.out, len(done.err_lines)) == (status, "", 1) and why in done.err


def test_without_a_graph_nothing_can_be_asked(sonde, tmp_path):
    path, = Run([Launch("k", 1_000_000 + number * 100_000, 1000 + number) for number in range(4)]).write(tmp_path)
    for option in (("--do", "gridX=8"), ("--svg", tmp_path / "graph.svg"), ("--dot", tmp_path / "graph.dot")):
        done = sonde("variability", path, *option)
        assert done.status == 128 and f"there is no graph for '{option[0]}'" in done.err and len(done.err_lines) == 1


def test_stretch_of_causal(sonde, tmp_path, trace):
    table = tmp_path / "launches.csv"
    asked(sonde, trace, "--features", table, "--samples", "20")
    done = sonde("causal", table, "--stretch", "none")
    assert done.status == 128 and "there is no column 'none'" in done.err and len(done.err_lines) == 1
    done = sonde("causal", table, "--stretch", "stretch", "--cluster", "kernel")
    assert done.status == 129 and len(done.err_lines) == 1
