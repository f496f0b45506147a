# SPDX-License-Identifier: Apache-2.0
"""`sonde report` on databases whose numbers are known: tests/unit/db_fixture.h draws the small one."""
from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import program
from conftest import MAKE_DB

GOLDEN = Path(__file__).parents[1] / "golden"
VIEWS = ["top-down", "bottom-up", "flat", "threads"]
MS = 1_000_000

# Name of the golden text, options. SONDE_GOLDEN=update writes them anew; read the difference before committing it.
CASES = [
    ("report-top-down", []),
    ("report-bottom-up", ["--view", "bottom-up"]),
    ("report-flat", ["--view", "flat"]),
    ("report-threads", ["--view", "threads"]),
    ("report-full", ["--full"]),
    ("report-by-line", ["--by", "line"]),
    ("report-by-any-line", ["--by", "any-line"]),
    ("report-by-operator", ["--by", "operator"]),
    ("report-by-kernel", ["--by", "kernel", "--metric", "gpu-time"]),
    ("report-by-module", ["--by", "module"]),
    ("report-by-kind", ["--by", "kind"]),
    ("report-by-file", ["--by", "file"]),
    ("report-where", ["--where", "train.py:31 > aten::linear"]),
    ("report-thread", ["--thread", "worker"]),
    ("report-limit", ["--limit", "8"]),
]


def check_golden(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("SONDE_GOLDEN") == "update":
        path.write_text(text)
    assert path.exists(), f"{path} is missing; SONDE_GOLDEN=update writes it"
    assert text == path.read_text()


@pytest.mark.parametrize("name, options", CASES, ids=[case[0] for case in CASES])
def test_text(sonde, small_db, name, options):
    result = sonde("report", *options, small_db.name, cwd=small_db.parent)
    assert result.status == 0 and result.err == ""
    check_golden(name, result.out)


def test_ascii_where_the_locale_says_so(sonde, small_db):
    for width in (60, 200):
        result = sonde("report", small_db, LC_ALL="de_DE.ISO-8859-1", COLUMNS=str(width))
        assert result.status == 0 and result.out.isascii() and "aten::linear" in result.out


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("view", VIEWS)
def test_width(sonde, small_db, big_db, view, width):
    for database in (small_db, big_db):
        result = sonde("report", "--view", view, database.name, cwd=database.parent, COLUMNS=str(width))
        table = result.out.split("\nNext: ")[0].splitlines()
        assert max(map(len, table)) <= width
        assert len(table) <= 36


def rows_of(sonde, database, *options) -> list[dict]:
    result = sonde("report", "--format", "json", *options, database)
    assert result.status == 0 and result.err == ""
    return json.loads(result.out)["rows"]


def named(rows: list[dict], name: str) -> dict:
    found = [row for row in rows if row["name"] == name]
    assert len(found) == 1, f"{len(found)} rows are called {name}"
    return found[0]


def sums(row: dict, metric: str = "cpu-time") -> tuple[float, float]:
    """Inclusive and exclusive, in ms."""
    values = row["values"].get(metric, {"inclusive": {"sum": 0}, "exclusive": {"sum": 0}})
    return values["inclusive"]["sum"] / MS, values["exclusive"]["sum"] / MS


def test_json_has_every_context(sonde, small_db):
    result = sonde("report", "--format", "json", small_db)
    document = json.loads(result.out)
    assert document["metrics"] == [{"name": "cpu-time", "unit": "ns", "counts": "samples"},
                                   {"name": "gpu-time", "unit": "ns", "counts": "events"}]
    rows = document["rows"]
    assert [row["id"] for row in rows] == list(range(15))
    for row in rows:
        assert set(row) == {"id", "parent", "depth", "kind", "name", "module", "file", "line", "values"}
        parent = row["parent"]
        assert (parent is None) == (row["id"] == 0)
        if parent is not None:
            assert parent < row["id"] and row["depth"] == rows[parent]["depth"] + 1
        for metric in row["values"].values():
            assert set(metric) == {"inclusive", "exclusive"}
            for stat in metric.values():
                assert set(stat) == {"count", "sum", "min", "max", "mean", "std"}
    assert sums(rows[0]) == (500, 0) and sums(rows[0], "gpu-time") == (300, 0)
    train = named(rows, "train")
    assert sums(train) == (345, 10)
    assert (train["file"], train["line"], train["kind"], train["module"]) == ("/src/train.py", 31, "python", None)
    assert named(rows, "sgemm_kernel")["module"] == "/usr/lib/libmkl.so"
    kernel = named(rows, "sgemm_nn")["values"]["gpu-time"]["exclusive"]
    assert (kernel["count"], kernel["sum"], kernel["min"], kernel["max"]) == (3, 300 * MS, 50 * MS, 150 * MS)
    assert kernel["mean"] == 100 * MS and abs(kernel["std"] - 40.8248290 * MS) < 1


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("database", ["small_db", "big_db", "empty_db"])
def test_json_is_valid_and_adds_up(sonde, request, view, database):
    rows = rows_of(sonde, request.getfixturevalue(database), "--view", view)
    total = rows_of(sonde, request.getfixturevalue(database), "--depth", "0")[0]["values"]
    if not total:
        return
    expected = total["cpu-time"]["inclusive"]["sum"]
    top = [row for row in rows if row["depth"] == 0] if view != "top-down" else rows
    assert sum(row["values"].get("cpu-time", {"exclusive": {"sum": 0}})["exclusive"]["sum"] for row in top) == expected
    ids = [row["id"] for row in rows]
    assert ids == sorted(ids) and len(set(ids)) == len(ids)
    known = set()
    for row in rows:
        assert row["parent"] is None or row["parent"] in known
        known.add(row["id"])


def test_flat_inclusive(sonde, small_db):
    rows = rows_of(sonde, small_db, "--view", "flat")
    assert sums(named(rows, "train")) == (345, 10)
    assert sums(named(rows, "<module>")) == (400, 5)
    assert sums(named(rows, "at::native::addmm")) == (100, 100)


@pytest.mark.parametrize("by, name, expected", [
    ("operator", "aten::linear", (235, 235)),
    ("operator", "AddmmBackward0", (100, 100)),
    ("line", "train", (345, 345)),
    ("any-line", "train", (345, 25)),  # with the operator's and the call's own cost, which have no line
    ("line", "load_batch", (50, 50)),
])
def test_flat_by(sonde, small_db, by, name, expected):
    assert sums(named(rows_of(sonde, small_db, "--by", by), name)) == expected


def test_bottom_up_leads_to_callers(sonde, small_db):
    rows = rows_of(sonde, small_db, "--view", "bottom-up")
    gemm = named(rows, "sgemm_kernel")
    assert gemm["depth"] == 0 and sums(gemm) == (200, 200)
    path, at = [], gemm
    while True:
        below = [row for row in rows if row["parent"] == at["id"]]
        if not below:
            break
        at = below[0]
        path.append(at["name"])
        assert sums(at)[1] == 200
    assert path == ["at::native::linear(at::Tensor const&, at::Tensor const&)", "aten::linear", "train", "<module>"]


def test_threads(sonde, small_db):
    result = sonde("report", "--view", "threads", "--format", "json", small_db)
    document = json.loads(result.out)
    assert [sums(row)[0] for row in document["rows"]] == [300, 100, 100]
    across = document["across"]["cpu-time"]
    assert (across["count"], across["min"], across["max"]) == (3, 100 * MS, 300 * MS)
    assert abs(across["imbalance"] - 0.8) < 1e-9 and abs(across["cv"] - 0.565685) < 1e-6


@pytest.mark.parametrize("expression, expected", [
    ("train", 500),  # the root is called train.py
    ("name:train kind:python", 345),
    ("train.py:31", 345),
    ("file:train.py:31", 345),
    ("file:data.py", 50),
    ("kind:operator", 335),
    ("layer:native", 100 + 30 + 220 + 100),
    ("module:libtorch*", 320),
    ("module:libmkl.so", 200),
    ("aten::linear > module:libmkl*", 200),
    ("AddmmBackward0 > sgemm_kernel", 0),
    ("sgemm_kernel > aten::linear", 0),
    ("!kind:python", 100),
    ("'at::native::linear(at::Tensor const&, at::Tensor const&)'", 220),
    ("ADDMM", 100),
])
def test_where(sonde, small_db, expression, expected):
    rows = rows_of(sonde, small_db, "--where", expression)
    assert sums(rows[0])[0] == expected


def test_where_restricts_twice(sonde, small_db):
    rows = rows_of(sonde, small_db, "--where", "train.py:31", "--where", "!kind:operator")
    assert sums(rows[0])[0] == 10


def test_thread(sonde, small_db):
    assert sums(rows_of(sonde, small_db, "--thread", "worker")[0])[0] == 100
    assert sums(rows_of(sonde, small_db, "--thread", "4001")[0])[0] == 100
    assert sums(rows_of(sonde, small_db, "--thread", "pt_*")[0])[0] == 100
    result = sonde("report", small_db, "--thread", "nobody")
    assert result.status == 128 and len(result.err_lines) == 1


def test_pruning(sonde, big_db):
    everything = rows_of(sonde, big_db)
    total = sums(everything[0])[0]
    assert len(everything) == 100000
    some = rows_of(sonde, big_db, "--min-share", "5")
    assert some and all(sums(row)[0] >= 0.05 * total for row in some)
    assert len(some) == sum(sums(row)[0] >= 0.05 * total for row in everything)
    assert max(row["depth"] for row in rows_of(sonde, big_db, "--depth", "3")) == 3


def test_granularity_keeps_totals(sonde, big_db):
    counts = {}
    for granularity in ("instruction", "line", "auto", "function"):
        rows = rows_of(sonde, big_db, "--granularity", granularity)
        counts[granularity] = len(rows)
        assert sum(sums(row)[1] for row in rows) == pytest.approx(sums(rows[0])[0])
    assert counts["instruction"] >= counts["line"] >= counts["auto"] >= counts["function"]


def test_csv(sonde, small_db):
    result = sonde("report", "--format", "csv", small_db)
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert len(rows) == 15 and rows[0]["cpu-time:inclusive"] == str(500 * MS)
    linear = [row for row in rows if row["name"].startswith("at::native::linear")][0]
    assert linear["name"].endswith("at::Tensor const&)") and linear["line"] == "90"


@pytest.mark.parametrize("sort, first", [("name", "aten::linear"), ("inclusive", "aten::linear")])
def test_sort(sonde, small_db, sort, first):
    text = sonde("report", "--by", "operator", "--sort", sort, small_db).out
    names = re.findall(r"(aten::linear|AddmmBackward0)", text)
    assert names[0] == ("AddmmBackward0" if sort == "name" else first)


def test_sort_by_metric_adds_its_column(sonde, small_db):
    text = sonde("report", "--view", "flat", "--metric", "cpu-time", "--sort", "gpu-time", small_db).out
    assert "gpu-time" in text.splitlines()[3]


def test_nothing_measured(sonde, empty_db, small_db):
    for view in VIEWS:
        result = sonde("report", "--view", view, empty_db)
        assert result.status == 0 and "Nothing was measured" in result.out
    assert "in this selection" in sonde("report", "--where", "nobody", small_db).out


@pytest.mark.parametrize("view", VIEWS)
def test_a_selection_without_the_first_metric(sonde, small_db, view):
    """Kernels have no CPU time: what is shown first is what they have, and a metric that was asked for is told."""
    selection = ("report", "--view", view, "--where", "kind:kernel", small_db)
    result = sonde(*selection)
    assert result.status == 0 and result.err == ""
    assert result.out.startswith("gpu-time ") and "Nothing" not in result.out and "100.0%" in result.out
    result = sonde(*selection, "--metric", "cpu-time")
    assert result.status == 0 and "Nothing of cpu-time was measured in this selection." in result.out
    assert result.err_lines == ["sonde: metric 'cpu-time' has no values there; 'gpu-time' has"]
    # where it has values it stays the first
    assert sonde("report", "--view", view, "--where", "train.py:31", small_db).out.startswith("cpu-time ")


def test_suggested_commands_can_be_copied(sonde, small_db, tmp_path):
    path = tmp_path / "two words.sdb"
    path.write_bytes(small_db.read_bytes())
    assert f"sonde report '{path}' --view bottom-up" in sonde("report", path, COLUMNS="300").out


def test_one_sample_is_one_sample(sonde, tmp_path):
    subprocess.run([MAKE_DB, "--recursion", "1", tmp_path / "one.sdb"], check=True)
    assert sonde("report", tmp_path / "one.sdb").out.splitlines()[0].startswith("cpu-time 5.00 ms · 1 sample · 1 thread · ")
    assert re.search(r"  cpu-time +5.00 ms  1 sample, one every", sonde("info", tmp_path / "one.sdb").out)


def test_other_programs_are_under_no_line(tmp_path):
    """What a script runs is no line of its own, and neither a library nor waiting."""
    script = tmp_path / "script.py"
    script.write_text("import subprocess, time\nwhile time.process_time() < 0.2:\n    pass\n"
                      "subprocess.run(['sh', '-c', 'i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done'])\n")
    program.run(tmp_path, "python3", script)
    assert "under no line of your code: other programs, library threads" in program.sonde("report", tmp_path / "run.sdb")


@pytest.mark.parametrize("by", ["line", "any-line"])
def test_source_beside_a_line_of_machine_code(tmp_path, by):
    """Two lines of one function differ by their numbers, also where their source stands in the place of these."""
    source = tmp_path / "work.c"
    source.write_text("#include <time.h>\nvolatile long sum;\nint main(void)\n{\n\twhile (clock() < 300000)\n"
                      "\t\tfor (int i = 0; i < 100000; i++)\n\t\t\tsum += i;\n}\n")
    subprocess.run(["cc", "-g", source, "-o", tmp_path / "work"], check=True)
    program.run(tmp_path, tmp_path / "work")
    for form in ([], ["--full"]):
        table = program.sonde("report", tmp_path / "run.sdb", "--view", "flat", "--by", by, "--source", tmp_path, *form)
        assert re.search(r" work\.c:7 main +sum \+= i;", table), table
