# SPDX-License-Identifier: Apache-2.0
"""What `sonde variability` says, and how: lines that fit a terminal, the length of bins, numbers of things, and where it may be coloured."""
from __future__ import annotations

import json
import math
import os
import random
import shutil
import subprocess

import pytest
from conftest import BUILD, SONDE
from pages import page_data
from test_counters import launches, raw, rocprofv3, write
from varied import Launch, Run, run

SONDE_MPI = BUILD / "src/cmd/sonde-mpi"


def shown(*arguments, columns: int = 80, folder=None, **environment) -> subprocess.CompletedProcess:
    return subprocess.run(list(map(str, arguments)), capture_output=True, text=True, cwd=folder, env=dict(os.environ, COLUMNS=str(columns), **environment))


def named(length: int) -> Run:
    made = run(3, {f"a_kernel_{'x' * length}": 123_456_789, "b": 9_999, "copy": 100}, launches=1500, ranks=2, deviation=0.4)
    return Run([Launch(one.name, one.start, one.duration, one.rank, (8 + one.start // 1000 % 3, 1, 1)) for one in made.launches])


@pytest.mark.parametrize("options", [(), ("--target", "memory_stall"), ("--target", "log_squared_residual"), ("--by", "all"), ("--by", "kernel", "--bin", "1s"),
                                     ("--target", "duration_ns", "--do", "gridX=9")])
def test_lines_fit_a_terminal(tmp_path, options):
    """Of 80 columns, but for a name of one word that has more."""
    paths = named(20).write(tmp_path / "t", 2)
    done = shown(SONDE, "variability", *paths, "--features", "f.csv", *options, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if len(line) > 80 and " " in line.strip()] == []
    wide = shown(SONDE, "variability", *paths, *options, columns=140).stdout
    assert "25%" in wide and "75%" in wide and "25%" not in done.stdout


def test_lines_of_tables_fit_a_terminal(tmp_path):
    for text in (raw, rocprofv3):
        done = shown(SONDE, "variability", write(tmp_path / "t.csv", text(launches(count=300))))
        assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("count", [1, 19, 75, 150, 399, 1000, 25_000])
def test_bins_have_twenty_launches_on_average(sonde, tmp_path, count):
    """Or a thousandth of the time, or all of it."""
    found = json.loads(sonde("variability", *run(1, {"k": 1000}, launches=count).write(tmp_path / "t"), "--format", "json").out)
    bins = found["over_time"]["bins"]
    assert bins <= 1000 and (bins == 1 or count / bins >= 20)
    assert bins >= min(1000, count / 20) / 5  # the length is rounded up to 1, 2 or 5
    assert math.log10(found["bin_ns"]) % 1 == pytest.approx(0, abs=1e-9) or found["bin_ns"] / 10 ** int(math.log10(found["bin_ns"])) in (2, 5)


def test_too_many_bins(sonde, tmp_path):
    path, = run(1, {"k": 1000}, launches=2000).write(tmp_path / "t")
    done = sonde("variability", path, "--bin", "1ns")
    assert done.status == 128 and len(done.err_lines) == 1
    assert done.err.startswith("sonde: ") and " bins of 1 ns, and 10000000 are the most: take bins of " in done.err
    least = done.err.split("take bins of ")[1].split(" or more")[0].replace(" ", "")
    assert sonde("variability", path, "--bin", least).status == 0


def test_bins_of_one_launch_are_not_compared(sonde, tmp_path):
    made = Run([Launch("k", 1_000_000 + number * 100_000, 1000 + number) for number in range(30)])
    text = sonde("variability", *made.write(tmp_path / "t"), "--bin", "100us").out
    assert "bins of 100 us: none has more than one launch" in text and "largest variance" not in text and "furthest from" not in text
    assert "largest variance" in sonde("variability", *made.write(tmp_path / "t"), "--bin", "1ms").out


def test_one_is_one(sonde, tmp_path):
    text = sonde("variability", *Run([Launch("k", 1_000_000, 1000)]).write(tmp_path / "t")).out
    assert "\n1 launch of 1 kernel and configuration in 1.00 us\n" in text


def test_one_row_is_left_out(sonde, tmp_path):
    draw = random.Random(1)
    rows = [(x, x + draw.gauss(0, 0.5)) for x in (draw.gauss(0, 1) for _ in range(50))]
    path = write(tmp_path / "t.csv", "x,y\n" + "".join(f"{x:.4f},{y:.4f}\n" for x, y in rows) + ",1\n")
    assert "1 of 51 rows is left out, as it lacks a value." in sonde("causal", path, "--samples", "20").out
    path.write_text(path.read_text() + ",2\n")
    assert "2 of 52 rows are left out, as they lack a value." in sonde("causal", path, "--samples", "20").out


def test_a_mean_near_zero_is_no_measure(sonde, tmp_path):
    """Values on both sides of 0 deviate by thousands of percent of their mean."""
    draw = random.Random(1)
    rows = [(x, draw.gauss(0, 1) + shift) for x in range(8) for shift in (0, 0, 0, 0, 0)]
    def asked(offset):
        path = write(tmp_path / "t.csv", "x,y\n" + "".join(f"{x},{y + offset:.4f}\n" for x, y in rows))
        return " ".join(sonde("causal", path, "--target", "y", "--tier", "x", "--samples", "20").out.split())
    assert "8 of 8 configurations were measured more than once." in asked(0) and "of its mean" not in asked(0)
    assert "deviates by: the standard deviation of its values." in asked(0)
    assert "8 of 8 configurations were measured more than once: in half of these y deviates by" in asked(100)


@pytest.mark.skipif(not SONDE_MPI.exists() or not shutil.which("mpirun"), reason="built without MPI")
def test_ranks_write_no_escapes(tmp_path, small_db):
    """mpirun has a terminal for rank 0 and writes to a file."""
    paths = run(1, {"k": 1000}, launches=100).write(tmp_path / "t")
    start = ("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "1")
    for command in (("variability", *paths), ("report", small_db), ("-h",), ("variability", "-h")):
        plain = shown(SONDE, *command, TERM="xterm")
        ranks = shown(*start, SONDE_MPI, *command, TERM="xterm")
        assert ranks.returncode == 0 and "\033" not in ranks.stdout
        assert ranks.stdout.splitlines() == plain.stdout.splitlines()
    wanted = shown(*start, SONDE_MPI, "variability", *paths, TERM="xterm", CLICOLOR_FORCE="1")
    assert "\033[1m" in wanted.stdout
    assert "\033" not in shown(*start, SONDE_MPI, "variability", *paths, TERM="xterm", CLICOLOR_FORCE="1", NO_COLOR="1").stdout


@pytest.mark.parametrize("count, title", [(1, "t0.json"), (2, "t0.json and t1.json"), (3, "t0.json, t1.json and t2.json"), (5, "t0.json and 4 more")])
def test_pictures_name_all_traces(sonde, tmp_path, count, title):
    made = Run([Launch("k", 1_000_000 + number * 100_000, 1000 + number % 7 * 100 + one * 50, one, (8 + number % 2, 1, 1)) for one in range(count) for number in range(100)])
    paths = [path.rename(tmp_path / f"t{number}.json") for number, path in enumerate(made.write(tmp_path / "t", count))]
    done = sonde("variability", *paths, "--html", tmp_path / "why.html", "--svg", tmp_path / "graph.svg", "--target", "duration_ns", "--samples", "20")
    assert done.status == 0, done.err
    page = page_data(tmp_path / "why.html")
    assert page["title"] == title and title in page["picture"] and title in (tmp_path / "graph.svg").read_text()


def test_axes_of_few_values_have_them(sonde, tmp_path):
    sonde("causal", write(tmp_path / "t.csv", raw(launches(count=300))), "--target", "gpu__time_duration.sum", "--tier", "Grid Size x", "--samples", "20",
          "--html", tmp_path / "why.html")
    axes = {axis["name"]: axis.get("values") for axis in page_data(tmp_path / "why.html")["parallel"]["axes"]}
    assert axes["Grid Size x"] == [16, 64, 128] and axes["gpu__time_duration.sum"] is None and axes["Kernel Name"] is None
