# SPDX-License-Identifier: Apache-2.0
"""`sonde graph`: the forms it prints, of graphs whose answer is known (tests/unit/db_fixture.h)."""
from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as tree

import pytest

from kineto_traces import Trace

from conftest import make_database


@pytest.fixture(scope="module")
def graph_db(tmp_path_factory):
    """Models "first", x -> y, and "second", a -> b -> c and a -> c with b part of a."""
    return make_database(tmp_path_factory.mktemp("graph"), "graph.sdb", "--graph", 1)


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_text(sonde, graph_db):
    text = squeezed(sonde("graph", graph_db, "--model", "second").out)
    for line in ["model second (): 3 nodes, 3 edges",
                 "3 iterations: 50.0 ns on average (± 8.16 ns), median 50.0 ns, 40.0 ns to 60.0 ns",
                 "own time share times mean ± dev. latency node",
                 "40.0 ns 100.0% 2 20.0 ns 10.0 ns 5.00 ns b"]:
        assert line in text, line
    assert "model first" not in text
    assert "model first" in sonde("graph", graph_db).out


def test_top(sonde, graph_db):
    text = sonde("graph", graph_db, "--model", "second", "--top", 1).out
    assert "2 more, 0.0% (--top 0 shows all)" in text and "\n  0" not in text


def test_iterations(sonde, graph_db):
    text = squeezed(sonde("graph", graph_db, "--model", "second", "--iterations").out)
    assert "number started took 0 0 ns 40.0 ns 1 100 ns 50.0 ns 2 200 ns 60.0 ns" in text


def test_json(sonde, graph_db):
    first, second = json.loads(sonde("graph", graph_db, "--format", "json").out)["models"]
    assert first["name"] == "first" and first["node_count"] == 2
    names = {row["node"]: row["name"] for row in second["rows"]}
    assert sorted(names.values()) == ["a", "b", "c"]
    assert [(names[e["from"]], names[e["to"]], e["index"], e["bytes"]) for e in second["edges"]] == \
        [("a", "b", 0, 32), ("a", "c", 0, 0), ("b", "c", 1, 64)]
    assert [(i["number"], i["duration_ns"]) for i in second["iterations"]] == [(0, 40), (1, 50), (2, 60)]
    b, = (row for row in second["rows"] if row["name"] == "b")
    assert b["time_ns"] == {"count": 2, "sum": 40, "min": 10, "max": 30, "mean": 20, "std": 10}
    assert b["latency_ns"]["mean"] == 5 and names[b["parent"]] == "a"


def test_csv(sonde, graph_db):
    rows = list(csv.DictReader(io.StringIO(sonde("graph", graph_db, "--format", "csv").out)))
    assert len(rows) == 5
    b, = (row for row in rows if row["name"] == "b")
    assert (b["model"], b["time_count"], b["time_mean_ns"], b["latency_mean_ns"]) == ("second", "2", "20", "5")


def test_dot(sonde, graph_db):
    lines = sonde("graph", graph_db, "--model", "second", "--format", "dot").out.splitlines()
    assert lines[0] == 'digraph "second" {' and lines[-1] == "}"
    assert {line.strip() for line in lines if "->" in line} == {"n0 -> n1;", "n0 -> n2;", "n1 -> n2;"}


def test_svg(sonde, graph_db, tmp_path):
    path = tmp_path / "graph.svg"
    result = sonde("graph", graph_db, "--model", "second", "--format", "svg", "-o", path)
    assert (result.status, result.out, result.err) == (0, "", "")
    space = "{http://www.w3.org/2000/svg}"
    root = tree.parse(path).getroot()
    boxes = {}
    for group in root.iter(f"{space}g"):
        boxes[group.find(f"{space}title").text.split(" · ")[0]] = float(group.find(f"{space}rect").get("y"))
    # only what is there is explained: no backward nodes, nothing that leads to the next iteration
    legend, = [text.text for text in root.iter(f"{space}text") if "legend" in (text.get("class") or "")]
    assert legend == "a box for each node; darker took longer"
    # c reads what b makes of what a makes: three layers
    assert boxes["a"] < boxes["b"] < boxes["c"]
    assert len([p for p in root.iter(f"{space}path") if p.get("class") == "edge"]) == 3


def test_several_models_and_one_picture(sonde, graph_db):
    result = sonde("graph", graph_db, "--format", "dot")
    assert result.status == 0 and "first of 2 models" in result.err


def test_no_graph(sonde, small_db):
    result = sonde("graph", small_db)
    assert result.status == 128 and len(result.err_lines) == 1 and "sonde run --graph" in result.err


def test_no_such_model(sonde, graph_db, tmp_path):
    result = sonde("graph", graph_db, "--model", "third", "-o", tmp_path / "x")
    assert result.status == 128 and "no model 'third'" in result.err
    assert not (tmp_path / "x").exists()


def test_columns_stand_below_their_headings(sonde, graph_db):
    lines = sonde("graph", graph_db, "--model", "second").out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.endswith("  node"))
    for line in lines[at + 1:at + 4]:
        assert line[lines[at].index("node") - 2:lines[at].index("node")] == "  "
        assert line[lines[at].index("node")] != " " and line[lines[at].index("± dev.") + 5] != " "


def test_a_terminal_s_width(sonde, tmp_path):
    """Long names are cut where a width is known, and whole in a pipe."""
    name = "aten::" + "very_long_" * 30 + "end"
    trace = Trace()
    for step in range(3):
        trace.call("user_annotation", f"ProfilerStep#{step}", 1000 * step, 1000 * step + 900)
        trace.call("cpu_op", name, 1000 * step + 10, 1000 * step + 90)
    assert sonde("import", trace.write(tmp_path / "t.json"), "-o", tmp_path / "t.sdb").status == 0
    assert f"  {name}\n" in sonde("graph", tmp_path / "t.sdb", COLUMNS="").out
    for columns in (100, 140):
        row, = [line for line in sonde("graph", tmp_path / "t.sdb", COLUMNS=str(columns)).out.splitlines() if "aten::" in line]
        assert len(row) == columns and row.endswith("ong_end") and "…" in row
