# SPDX-License-Identifier: Apache-2.0
"""Made-up measurements: what bench/gen-measurements says it wrote is what analysis and reports find."""
from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path

import pytest

from conftest import BUILD

GENERATE = BUILD / "bench/gen-measurements"


def generate(*options: object) -> dict:
    done = subprocess.run([GENERATE, *map(str, options)], check=True, capture_output=True)
    return json.loads(done.stdout)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def made(tmp_path_factory, sonde):
    """Twelve ranks of three threads and two streams: the database, the summary, the expected values."""
    folder = tmp_path_factory.mktemp("made")
    summary = generate("-r", 12, "-t", 3, "-s", 2, "-o", folder / "m.sonde", "--expect", folder / "expected.csv")
    result = sonde("analyze", folder / "m.sonde", "-o", folder / "m.sdb")
    assert result.status == 0, result.err
    return folder / "m.sdb", summary, folder / "expected.csv"


def test_analysis_finds_the_totals(sonde, made):
    database, summary, _ = made
    info = json.loads(sonde("info", "--format", "json", database).out)
    assert info["contexts"] == summary["contexts"] and len(info["profiles"]) == summary["profiles"] == 60
    found = {metric["name"]: {key: metric[key] for key in ("count", "sum", "min", "max")} for metric in info["metrics"]}
    expected = {name: {key: total[key] for key in ("count", "sum", "min", "max")}
                for name, total in summary["metrics"].items()}
    assert found == expected and len(found) == 30


def test_streams_are_profiles_of_devices(sonde, made):
    profiles = json.loads(sonde("info", "--format", "json", made[0]).out)["profiles"]
    streams = [p for p in profiles if p["kind"] == "stream"]
    assert len(streams) == 24 and len(profiles) - len(streams) == 36
    assert {(p["rank"], p["device"], p["context"], p["stream"]) for p in streams} == {
        (rank, rank % 8, 1, stream) for rank in range(12) for stream in (7, 8)}


def test_every_context_has_its_values(sonde, made):
    database, _, expected_csv = made
    rows = json.loads(sonde("report", "--format", "json", database).out)["rows"]
    paths: list[str] = []
    found: dict[tuple[str, str], list[tuple]] = {}
    for row in rows:
        paths.append(f"{paths[row['parent']]};{row['name']}" if row["depth"] > 1 else row["name"])
        if row["name"].startswith("libwork.so+0x100000"):  # those of --own
            continue
        for metric, value in row["values"].items():
            stat = value["exclusive"]
            if stat["count"]:
                numbers = tuple(stat[key] for key in ("count", "sum", "min", "max"))
                found.setdefault((paths[-1], metric), []).append(numbers)
    expected: dict[tuple[str, str], list[tuple]] = {}
    with expected_csv.open() as lines:
        for path, metric, *numbers in list(csv.reader(lines))[1:]:
            expected.setdefault((path, metric), []).append(tuple(map(int, numbers)))
    assert len(expected) > 10000
    # Python frames may differ by their line only: then several contexts have one path
    assert {key: sorted(value) for key, value in found.items()} == {
        key: sorted(value) for key, value in expected.items()}


def test_the_same_bytes_from_any_number_of_jobs(tmp_path):
    generate("-r", 5, "-j", 1, "-o", tmp_path / "one.sonde")
    generate("-r", 5, "-j", 3, "-o", tmp_path / "three.sonde")
    generate("-r", 5, "--seed", 2, "-o", tmp_path / "other.sonde")
    assert files(tmp_path / "one.sonde") == files(tmp_path / "three.sonde")
    other = files(tmp_path / "other.sonde")
    assert all(other[name] != data for name, data in files(tmp_path / "one.sonde").items())


def test_size_chooses_the_ranks(tmp_path):
    summary = generate("--size", "5M", "-o", tmp_path / "m.sonde")
    assert 4.5e6 < summary["bytes"] < 6.5e6 and summary["files"] == summary["ranks"]
    assert summary["bytes"] == sum(len(data) for data in files(tmp_path / "m.sonde").values())


def test_wide_values_make_a_larger_database(sonde, made, tmp_path):
    wide = generate("-r", 12, "-t", 3, "-s", 2, "--wide", "-o", tmp_path / "m.sonde")
    result = sonde("analyze", tmp_path / "m.sonde", "-o", tmp_path / "m.sdb")
    assert result.status == 0 and wide["nodes"] == made[1]["nodes"]
    assert (tmp_path / "m.sdb").stat().st_size > 2 * made[0].stat().st_size
    assert all(total["min"] >= 1 << 32 for total in wide["metrics"].values())


def test_frames_of_a_real_module(sonde, tmp_path):
    generate("-r", 1, "--module", BUILD / "src/cmd/sonde", "-o", tmp_path / "m.sonde")
    result = sonde("analyze", tmp_path / "m.sonde", "-o", tmp_path / "m.sdb", XDG_CACHE_HOME=str(tmp_path))
    assert result.status == 0 and "no symbols" not in result.out
    rows = json.loads(sonde("report", "--view", "flat", "--format", "json", tmp_path / "m.sdb").out)["rows"]
    assert sum(row["name"].startswith("sn_") for row in rows) >= 5


@pytest.mark.parametrize("options, why", [
    ((), "no output given"), (("-o", "x", "-r", "0"), "--ranks '0' is not a number from 1"),
    (("-o", "x", "--visit", "2"), "--visit '2'"), (("-o", "x", "y"), "operands are not taken"),
    (("-o", "x", "-t", "9000", "-s", "9000"), "too many profiles")])
def test_misuse(options, why):
    done = subprocess.run([GENERATE, *options], capture_output=True, text=True)
    assert done.returncode == 129 and why in done.stderr and len(done.stderr.splitlines()) == 1


def test_refusals(tmp_path):
    generate("-r", 1, "-o", tmp_path / "m.sonde")
    for options, why in ((("-o", tmp_path / "m.sonde"), "there are measurements in it already"),
                         (("-o", tmp_path / "no/m.sonde"), "No such file"),
                         (("-o", tmp_path / "n.sonde", "--module", "/etc/passwd"), "not")):
        done = subprocess.run([GENERATE, *options], capture_output=True, text=True)
        assert done.returncode == 128 and why in done.stderr and len(done.stderr.splitlines()) == 1


def test_help():
    done = subprocess.run([GENERATE, "-h"], capture_output=True, text=True)
    assert done.returncode == 0 and "--streams" in done.stdout
