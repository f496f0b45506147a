# SPDX-License-Identifier: Apache-2.0
"""`sonde report --context`: one place over all threads and streams, of made-up measurements with a slow rank."""
from __future__ import annotations

import csv
import io
import json
import statistics

import pytest

from program import compiled
from test_gen_measurements import generate
from test_report import check_golden

MS = 1_000_000


@pytest.fixture(scope="module")
def made(tmp_path_factory, sonde):
    folder = tmp_path_factory.mktemp("spread")
    generate("-r", 12, "-t", 4, "-s", 2, "-o", folder / "m.sonde")
    assert sonde("analyze", folder / "m.sonde", "-o", folder / "m.sdb").status == 0
    return folder / "m.sdb"


def spread(sonde, db, what: str, *options: str) -> dict:
    result = sonde("report", "--format", "json", "--context", what, *options, db)
    assert result.status == 0, result.err
    return json.loads(result.out)


def test_the_slow_rank_is_found(sonde, made):
    found = spread(sonde, made, "exchange", "--metric", "cpu-time")
    assert found["context"]["name"] == "exchange" and found["context"]["kind"] == "region"
    assert len(found["rows"]) == 48 and found["profiles"] == 72  # streams have no CPU time
    values = {}
    for row in found["rows"]:
        samples = row["values"]["cpu-time"]["count"]
        # gen_measurements_file.c: 100 to 103 samples, 1.8 times as many in rank 3
        assert 180 <= samples <= 185 if row["rank"] == 3 else 100 <= samples <= 103
        assert row["values"]["cpu-time"]["sum"] == samples * 5 * MS
        values[row["rank"]] = values.get(row["rank"], 0) + samples * 5 * MS
    # ranks are compared, each with all its threads
    across = found["across"]["cpu-time"]
    assert across["count"] == 12 and across["sum"] == sum(values.values())
    assert across["mean"] == pytest.approx(statistics.fmean(values.values()))
    assert across["std"] == pytest.approx(statistics.pstdev(values.values()))
    assert across["cv"] == pytest.approx(across["std"] / across["mean"])
    ranks = {row["profile"]: row["rank"] for row in found["rows"]}
    assert ranks[across["max_profile"]] == 3 and values[3] == across["max"] == max(values.values())
    assert values[ranks[across["min_profile"]]] == across["min"] == min(values.values())
    assert found["differs_by"]["axis"] == "rank" and found["differs_by"]["explained"] > 0.98
    ratio = values[3] / across["mean"]
    assert found["differs_by"]["ratio"] == pytest.approx(ratio)
    assert found["findings"][0] == f"imbalanced: rank 3 takes {ratio:.2f}x the mean of all 12 ranks"
    assert f"{(across['max'] - across['mean']) / across['max']:.1%}" in found["findings"][2]


def test_threads_are_compared_within_one_rank(sonde, made):
    found = spread(sonde, made, "exchange", "--metric", "cpu-time", "--thread", "rank 3 *")
    across = found["across"]["cpu-time"]
    assert across["count"] == 4 == len(found["rows"])
    assert across["max"] == max(row["values"]["cpu-time"]["sum"] for row in found["rows"])


def test_inclusive_values_are_those_of_the_whole_subtree(sonde, made):
    solve = spread(sonde, made, "name:solve", "--metric", "cpu-time")
    own = spread(sonde, made, "name:solve", "--metric", "cpu-time", "--sort", "exclusive")
    rows = json.loads(sonde("report", "--format", "json", "--metric", "cpu-time", made).out)["rows"]
    row = rows[solve["context"]["id"]]
    assert row["name"] == "solve"
    assert solve["across"]["cpu-time"]["sum"] == row["values"]["cpu-time"]["inclusive"]["sum"]
    assert own["across"]["cpu-time"]["sum"] == row["values"]["cpu-time"]["exclusive"]["sum"]
    assert solve["across"]["cpu-time"]["sum"] > 10 * own["across"]["cpu-time"]["sum"] > 0
    # the database has the same statistics of itself
    summary = json.loads(sonde("report", "--format", "json", "--metric", "cpu-time,i=imbalance(cpu-time),c=cv(cpu-time)",
                               made).out)["rows"][solve["context"]["id"]]["values"]
    assert summary["i"]["inclusive"] == pytest.approx(solve["across"]["cpu-time"]["imbalance"])
    assert summary["c"]["inclusive"] == pytest.approx(solve["across"]["cpu-time"]["cv"])


def test_by_number(sonde, made):
    by_name = spread(sonde, made, "exchange", "--metric", "cpu-time")
    assert spread(sonde, made, str(by_name["context"]["id"]), "--metric", "cpu-time") == by_name


def test_streams_and_formulas(sonde, made):
    found = spread(sonde, made, "0", "--metric", "kernel-time,r=mean(kernel-registers)")
    assert len(found["rows"]) == 24 and all(row["kind"] == "stream" for row in found["rows"])
    whole = {row["profile"]: row["values"] for row in found["rows"]}
    threads = json.loads(sonde("report", "--view", "threads", "--format", "json", "--metric",
                               "kernel-time,r=mean(kernel-registers)", made).out)["rows"]
    for row in threads:
        if "kernel-time" in row["values"]:
            assert whole[row["id"]]["r"] == pytest.approx(row["values"]["r"]["inclusive"])
            assert whole[row["id"]]["kernel-time"]["sum"] == row["values"]["kernel-time"]["inclusive"]["sum"]


def test_only_some_threads(sonde, made):
    found = spread(sonde, made, "exchange", "--metric", "cpu-time", "--thread", "rank 3 *")
    assert {row["rank"] for row in found["rows"]} == {3} and found["findings"][0].startswith("balanced")


def test_csv(sonde, made):
    rows = list(csv.DictReader(io.StringIO(sonde("report", "--format", "csv", "--context", "exchange", "--metric",
                                                 "cpu-time,x=count(cpu-time)", made).out)))
    assert len(rows) == 48
    assert all(float(row["x"]) * 5 * MS == float(row["cpu-time:sum"]) for row in rows)


def test_text(sonde, small_db):
    result = sonde("report", "--context", "train.py:31", small_db.name, cwd=small_db.parent)
    assert result.status == 0 and result.err == ""
    check_golden("report-context", result.out)


@pytest.mark.parametrize("width", [60, 100, 200])
@pytest.mark.parametrize("plot", ["order", "sorted", "histogram", "none"])
def test_plots(sonde, made, plot, width):
    result = sonde("report", "--context", "exchange", "--plot", plot, "--metric", "cpu-time", made, COLUMNS=str(width))
    assert result.status == 0 and "rank 3 takes" in result.out
    assert ("█" in result.out) == (plot != "none")
    plain = sonde("report", "--context", "exchange", "--plot", plot, made, COLUMNS=str(width),
                  LC_ALL="de_DE.ISO-8859-1").out
    assert plain.isascii() and ("##" in plain) == (plot != "none")
    if plot == "histogram":  # 44 threads at the least, 4 at the most
        counts = [int(line.split()[5]) for line in result.out.splitlines() if line.strip().split()[2:3] == ["to"]]
        assert counts[0] == 44 and counts[-1] == 4 and sum(counts) == 48
    if plot == "order":  # the slow rank's columns alone reach the top
        top = next(line for line in result.out.splitlines() if "│" in line).split("│")[1]
        filled = [i for i, c in enumerate(top) if c not in " ·"]
        assert filled and len(top) * 3 / 12 - 4 <= filled[0] and filled[-1] <= len(top) * 4 / 12 + 4


def test_several_places_are_listed(sonde, made):
    result = sonde("report", "--context", "aten::*", made)
    assert result.status == 128 and result.out == ""
    first, *places = result.err_lines
    assert "places; choose one by --context NUMBER" in first and len(places) >= 2
    number = places[0].split()[0]
    assert sonde("report", "--context", number, made).status == 0


def test_siblings_of_a_function_are_one_place(sonde, small_db):
    """train.py:31 is one line; a function's name stands for all its lines."""
    by_line = spread(sonde, small_db, "train.py:31", "--metric", "cpu-time")
    assert spread(sonde, small_db, "name:[t]rain", "--metric", "cpu-time")["across"] == by_line["across"]


def test_nobody_has_a_value(sonde, made):
    result = sonde("report", "--context", "exchange", "--metric", "copy-time", made)
    assert result.status == 0 and "No profile has a value here." in result.out
    assert spread(sonde, made, "exchange", "--metric", "copy-time")["rows"] == []


def test_the_first_metric_has_values_there(sonde, made):
    """Kernels have no CPU time: what is plotted is what they have, and a metric that was asked for is told."""
    kernel = next(row for row in json.loads(sonde("report", "--format", "json", made).out)["rows"]
                  if row["kind"] == "kernel" and "cpu-time" not in row["values"])
    place = str(kernel["id"])
    found = spread(sonde, made, place)
    assert found["rows"] and all(row["kind"] == "stream" for row in found["rows"])
    result = sonde("report", "--context", place, made)
    assert result.status == 0 and result.err == "" and "No profile has a value here." not in result.out
    result = sonde("report", "--context", place, "--metric", "cpu-time", made)
    assert result.status == 0 and "No profile has a value here." in result.out
    assert result.err_lines[0].startswith("sonde: metric 'cpu-time' has no values there; '")


def test_a_thread_without_the_first_metric(sonde, made):
    """A device's stream has no CPU time."""
    rows = json.loads(sonde("report", "--view", "threads", "--format", "json", made).out)["rows"]
    stream = next(row["name"] for row in rows if row["kind"] == "stream")
    result = sonde("report", "--thread", stream, made)
    assert result.status == 0 and result.err == "" and not result.out.startswith("cpu-time") and "Nothing" not in result.out


@pytest.mark.parametrize("options, status, why", [
    (["--context", "nosuch"], 128, "no context matches 'nosuch'"),
    (["--context", "99999999"], 128, "there are contexts 0 to"),
    (["--context", "99999999999999999999999"], 128, "there are contexts 0 to"),
    (["--context", "a >"], 128, "a pattern is missing"), (["--context", ""], 128, "a pattern is missing"),
    (["--context", "a", "--by", "line"], 129, "exclude"), (["--context", "a", "--where", "b"], 129, "exclude"),
    (["--context", "a", "--plot", "pie"], 129, "order, sorted, histogram, none")])
def test_mistakes(sonde, made, options, status, why):
    result = sonde("report", *options, made)
    assert result.status == status and result.out == "" and why in result.err and len(result.err_lines) == 1


def test_a_name_is_meant_before_what_has_it_in_its_name(sonde, tmp_path):
    """__libc_start_main lies above main, and is not what `--context main` asks for."""
    program = compiled("collect/shares.c", "-O1", "-fno-inline")
    assert sonde("run", "-o", tmp_path / "p", "--", program).status == 0
    tree = json.loads(sonde("report", "--format", "json", tmp_path / "p.sdb").out)["rows"]
    assert any("main" in row["name"] and row["name"] != "main" for row in tree)
    assert spread(sonde, tmp_path / "p.sdb", "main")["context"]["name"] == "main"
    assert "start_main" in spread(sonde, tmp_path / "p.sdb", "__libc_start_main*")["context"]["name"]
