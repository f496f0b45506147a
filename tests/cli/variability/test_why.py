# SPDX-License-Identifier: Apache-2.0
"""`sonde variability`: why kernels vary, of traces whose cause of variation is planted."""
from __future__ import annotations

import csv
import json
import math
import random

import pytest
import samples
from kineto_traces import Trace
from pages import page_data
from varied import Launch, Run


def variable(seed: int, spread) -> Run:
    """Two kernels in turns, of grids 8 to 64; `spread(name, grid)` is the deviation of ln d."""
    source = random.Random(seed)
    run = Run()
    for number in range(1500):
        name, grid = ("first", "second")[number % 2], source.choice([8, 16, 32, 64])
        duration = 20_000 * math.exp(source.gauss(0, spread(name, grid)))
        run.launches.append(Launch(name, 1_000_000 + number * 100_000, round(duration), grid=(grid, 1, 1)))
    return run


def why(sonde, path, *options):
    result = sonde("variability", *path, "--sample", 100000, "--format", "json", *options)
    assert result.status == 0, result.err
    return json.loads(result.out)["graph"]


@pytest.mark.parametrize("seed", [1, 2])
def test_the_grid_is_the_cause(sonde, tmp_path, seed):
    """The larger the grid, the further launches are from their mean, in both kernels."""
    graph = why(sonde, variable(seed, lambda name, grid: 0.02 * math.sqrt(grid)).write(tmp_path / "t"))
    assert graph["target"] == "perf_variation" and graph["causes"][0]["cause"] == "gridX"
    assert graph["causes"][0]["sign"] == 1 and graph["causes"][0]["effect_low"] > 0.3
    assert {edge["from"] for edge in graph["edges"] if edge["to"] == "perf_variation"} == {"gridX"}
    assert graph["sentences"][0] == "To be explained is perf_variation (kernel_variability): |duration - mean of its kernel and configuration|, of 1500 launches."
    assert graph["sentences"][1].startswith("perf_variation depends most on gridX, which explains ")


def test_the_kernel_is_the_cause(sonde, tmp_path):
    graph = why(sonde, variable(3, lambda name, grid: 0.3 if name == "first" else 0.02).write(tmp_path / "t"))
    assert [cause["cause"] for cause in graph["causes"]] == ["kernel"]
    assert graph["causes"][0]["effect"] is None and graph["causes"][0]["share"] > 0.4


def test_nothing_is_the_cause(sonde, tmp_path):
    graph = why(sonde, variable(4, lambda name, grid: 0.1).write(tmp_path / "t"))
    assert graph["causes"] == []
    assert any(line.startswith("Nothing found: no column is a cause of perf_variation") for line in graph["sentences"])


def kernels(seed: int, count: int) -> Run:
    """Each kernel has one configuration, and scatters as it does by chance: nobody can tell what a part of the configuration has to do with it."""
    source, run = random.Random(seed), Run()
    kinds = [(source.randrange(1, 4000), source.choice([64, 128, 256, 512, 1024]), 0.02 * math.exp(source.gauss(0, 0.8))) for _ in range(count)]
    for number in range(4000):
        kind = source.randrange(count)
        grid, block, spread = kinds[kind]
        run.launches.append(Launch(f"kernel{kind}", 1_000_000 + number * 100_000, round(20_000 * math.exp(source.gauss(0, spread))), grid=(grid, 1, 1), block=(block, 1, 1)))
    return run


@pytest.mark.parametrize("count", [5, 14])
def test_a_configuration_is_not_taken_for_its_kernel(sonde, tmp_path, count):
    for seed in (1, 2, 4):
        graph = why(sonde, kernels(seed, count).write(tmp_path / f"t{seed}"))
        assert {cause["cause"] for cause in graph["causes"]} <= {"kernel"}, (seed, graph["causes"])
        assert any(line.startswith("Where each kernel has one value") for line in graph["sentences"]) == (count < 10)


def slow(source: random.Random, count: int) -> list[float]:
    """Normal numbers, each much like the one before: forgotten after 40."""
    value, numbers, kept = 0.0, [], math.exp(-1 / 40)
    for _ in range(count):
        value = kept * value + math.sqrt(1 - kept * kept) * source.gauss(0, 1)
        numbers.append(value)
    return numbers


@pytest.mark.parametrize("seed", [3, 4, 9, 10, 11])
def test_what_neighbours_have_in_common_is_no_cause(sonde, tmp_path, seed):
    """How durations scatter and how long the host waits change slowly, and say nothing of each other. With launches drawn one by one all samples said that the
    time, or the gap, is a cause."""
    source, run, at = random.Random(seed), Run(), 1_000_000
    for spread, wait in zip(slow(source, 3000), slow(source, 3000)):
        duration = round(20_000 * math.exp(source.gauss(0, 0.02 * math.exp(0.7 * spread))))
        at += round(30_000 * math.exp(0.5 * wait))
        run.launches.append(Launch("kernel", at, duration))
        at += duration
    graph = why(sonde, run.write(tmp_path / "t"))
    assert graph["causes"] == []
    assert "Samples are drawn of 54 stretches of rows that follow each other, as these may be alike." in graph["sentences"]
    assert (graph["cluster"], graph["clusters"]) == ("stretch", 54)


def test_nothing_causes_a_configuration(sonde, tmp_path):
    graph = why(sonde, variable(5, lambda name, grid: 0.02 * math.sqrt(grid)).write(tmp_path / "t"))
    assert not {edge["to"] for edge in graph["edges"] if edge["directed"]} & {"kernel", "gridX", "blockX", "registers", "place"}


def test_page_and_threads(sonde, tmp_path):
    paths = variable(6, lambda name, grid: 0.02 * math.sqrt(grid)).write(tmp_path / "t")
    pages = []
    for jobs in (1, 3):
        done = sonde("variability", *paths, "-j", jobs, "--html", tmp_path / "why.html")
        assert done.status == 0 and "why.html: all of it on a page" in done.out
        pages.append(((tmp_path / "why.html").read_bytes(), done.out))
    assert pages[0] == pages[1]
    assert page_data(tmp_path / "why.html")["parallel"]["rows"] == json.loads(sonde("variability", *paths, "--format", "json").out)["launches"]


def test_launches_without_a_linked_copy_have_no_stall(sonde, tmp_path):
    """Of one launch in nine a copy is linked, whose length follows from its bytes: these alone are compared."""
    trace, random_, now = Trace(), random.Random(4), 1000.0
    trace.call("cpu_op", "aten::step", 0, 1)
    for number in range(9000):
        duration = 20 * math.exp(random_.gauss(0, 0.05))
        trace.operation("kernel", "k", now, now + duration, 2 * number + 1, 7, grid=[8, 1, 1], block=[64, 1, 1])
        if number % 9 == 0:
            size = random_.randrange(1, 1 << 20)
            trace.operation("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", now, now + size / 5000, 2 * number + 2, 9, bytes=size)
        now += 400
    graph = why(sonde, [trace.write(tmp_path / "trace.json")], "--target", "memory_stall", "--sample", "1000000")
    assert graph["causes"][0]["cause"] == "copy_bytes" and graph["causes"][0]["share"] > 0.8
    assert "of 1000 launches" in graph["sentences"][0]


@pytest.mark.parametrize(("target", "is_left_out"), [("kernel_variability", True), ("log_squared_residual", True), ("duration_ns", False)])
def test_what_was_launched_once_says_nothing_of_variation(sonde, tmp_path, target, is_left_out):
    """A third of the launches have a grid of their own: as their own mean they would say that large grids do not vary."""
    source, run = random.Random(8), Run()
    for number in range(900):
        grid = 1000 + number if number % 3 == 0 else source.choice([8, 16])
        run.launches.append(Launch("k", 1_000_000 + number * 100_000, round(20_000 * math.exp(source.gauss(0, 0.1))), grid=(grid, 1, 1)))
    table = tmp_path / "launches.csv"
    paths = run.write(tmp_path / "t")
    graph = why(sonde, paths, "--target", target, "--features", table)
    left, = [line for line in graph["sentences"] if "left out, as nothing else" in line] if is_left_out else [None]
    assert not is_left_out or left == ("300 launches are left out, as nothing else has their kernel and configuration: "
                                       "they cannot differ from their own mean.")
    with table.open() as file:
        rows = list(csv.DictReader(file))
    name = {"kernel_variability": "perf_variation"}.get(target, target)
    assert [row[name] == "" for row in rows] == [is_left_out and int(row["gridX"]) >= 1000 for row in rows]
    assert graph["rows"] == sum(row[name] != "" and row["gap_ns"] != "" for row in rows)
    if is_left_out:
        assert graph["causes"] == []
    found = json.loads(sonde("variability", *paths, "--target", target, "--format", "json").out)
    assert len(found["kernels"]) == 302 and sum(row["count"] for row in found["kernels"]) == 900
    assert found["features"]["target_meaning"]


def test_too_few_launches(sonde, tmp_path):
    run = Run([Launch("k", 1_000_000 + number * 100_000, 1000 + number) for number in range(4)])
    graph = why(sonde, run.write(tmp_path / "t"))
    assert graph["nodes"] == graph["edges"] == graph["undetermined"] == [] and graph["baselines"] == {}
    assert "too few to say anything" in graph["why"]
    text = sonde("variability", *run.write(tmp_path / "t")).out
    assert "Causes were not looked for:" in " ".join(text.split())


@samples.needs("nsys", "kineto")
@pytest.mark.parametrize("name", ["nsys/mfu_2gpu_before.sqlite", "kineto/h100_Qwen_Qwen1.5-0.5B-Chat.json.gz"])
def test_real_traces(sonde, name):
    graph = why(sonde, [samples.SAMPLES / name])
    named = {cause["cause"] for cause in graph["causes"]}
    assert named & {"kernel", "gridX", "gridY", "gridZ", "blockX", "shared_memory", "registers", "copy_kind", "start_ns", "since_previous_ns", "gap_ns"}
    assert all(cause["effect"] is None or cause["effect_low"] <= cause["effect"] <= cause["effect_high"] for cause in graph["causes"])
