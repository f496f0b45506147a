# SPDX-License-Identifier: Apache-2.0
"""`sonde variability` on tables of counters: numpy and `sonde causal` say the same of the same rows."""
from __future__ import annotations

import csv
import json
import math
import random
import shutil
import subprocess
from pathlib import Path

import pytest
import samples
from conftest import BUILD
from pages import page_data

numpy = pytest.importorskip("numpy")

SONDE_MPI = BUILD / "src/cmd/sonde-mpi"
LAUNCHES = 390  # below what is compared by stretches
NSIGHT = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"]
MEASURES = {"mean_ns": numpy.mean, "std_ns": numpy.std, "min_ns": numpy.min, "max_ns": numpy.max, "p50": numpy.median,
            "p99": lambda data: numpy.quantile(data, 0.99), "variation_ns": lambda data: numpy.abs(data - data.mean()).mean()}


def launches(seed: int = 1, count: int = LAUNCHES, kernels=("copy(int*, int)", "scale(float*)")) -> list[dict]:
    """The time of a launch follows the bytes that it moves, which vary the more the larger the grid is."""
    draw, made, now = random.Random(seed), [], 0
    for number in range(count):
        grid = draw.choice([16, 64, 128])
        moved = grid * 1000 * math.exp(draw.gauss(0, 0.002 * grid))
        took = round(moved * 0.1 * math.exp(draw.gauss(0, 0.02)))
        made.append({"number": number, "kernel": kernels[number % len(kernels)], "grid": grid, "bytes": moved, "ns": took,
                     "hits": draw.uniform(20, 80), "begin": now})
        now += took + draw.randrange(1000, 9000)
    return made


def quoted(fields) -> str:
    return ",".join(f'"{field}"' for field in fields) + "\n"


def identity(one: dict) -> list:
    return [one["number"], 77, "app", "host", one["kernel"], 1, 7, "(256, 1, 1)", f"({one['grid']}, 1, 1)", 0, "8.0"]


def raw(rows: list[dict]) -> str:
    text = "==PROF== Connected to process 77\n" + quoted([*NSIGHT, "gpu__time_duration.sum", "dram__bytes.sum", "lts__hit_rate.pct"])
    text += quoted([""] * len(NSIGHT) + ["usecond", "Kbyte", "%"])
    return text + "".join(quoted([*identity(one), f"{one['ns'] / 1000:,.3f}", f"{one['bytes'] / 1000:,.3f}", f"{one['hits']:.3f}"]) for one in rows)


def details(rows: list[dict]) -> str:
    text = quoted([*NSIGHT, "Section Name", "Metric Name", "Metric Unit", "Metric Value"])
    for one in rows:
        for section, name, unit, value in [("Speed", "Duration", "us", f"{one['ns'] / 1000:,.3f}"),
                                           ("Memory", "Moved", "Kbyte", f"{one['bytes'] / 1000:,.3f}"), ("Memory", "Hit Rate", "%", f"{one['hits']:.3f}")]:
            text += quoted([*identity(one), section, name, unit, value])
    return text


def rocprofv3(rows: list[dict]) -> str:
    """A row for each counter; grids are told as work items."""
    text = quoted(["Correlation_Id", "Dispatch_Id", "Agent_Id", "Process_Id", "Kernel_Name", "Grid_Size", "Workgroup_Size", "Counter_Name",
                   "Counter_Value", "Start_Timestamp", "End_Timestamp"])
    for one in rows:
        for counter in ("bytes", "hits"):
            begin = 9_200_000_000_000_000_000 + one["begin"]
            text += quoted([one["number"], one["number"], "Agent 1", 77, one["kernel"], one["grid"] * 256, 256, counter.upper(),
                            f"{one[counter]:.3f}", begin, begin + one["ns"]])
    return text


def rocprofv1(rows: list[dict]) -> str:
    """A column for each counter."""
    text = "Index,KernelName,gpu-id,queue-id,grd,wgr,lds,BYTES,HITS,DispatchNs,BeginNs,EndNs,CompleteNs,DurationNs\n"
    for one in rows:
        begin = 4_000_000 + one["begin"]
        text += (f'{one["number"]},"{one["kernel"]}",0,0,{one["grid"] * 256},256,0,{one["bytes"]:.3f},{one["hits"]:.3f},{begin},{begin},'
                 f'{begin + one["ns"]},{begin},{one["ns"]}\n')
    return text


FORMS = {"raw": (raw, "gpu__time_duration.sum", "dram__bytes.sum", False), "details": (details, "Duration", "Moved", False),
         "rocprofv3": (rocprofv3, "duration_ns", "BYTES", True), "rocprofv1": (rocprofv1, "duration_ns", "BYTES", True)}


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def answer(sonde, *arguments) -> dict:
    done = sonde("variability", *arguments, "--format", "json")
    assert done.status == 0, done.err
    return json.loads(done.out)


@pytest.mark.parametrize("form", FORMS)
def test_kernels_have_the_statistics_of_traces(sonde, tmp_path, form):
    text, _, moved, has_times = FORMS[form]
    rows = launches()
    found = answer(sonde, write(tmp_path / "t.csv", text(rows)))
    groups: dict[tuple, list[int]] = {}
    for one in rows:
        groups.setdefault((one["kernel"], one["grid"]), []).append(one["ns"])
    assert {(row["name"], row["grid"][0]) for row in found["kernels"]} == groups.keys() and found["unit"] == "ns"
    for row in found["kernels"]:
        data = numpy.array(groups[row["name"], row["grid"][0]], float)
        assert (row["count"], row["block"][0]) == (len(data), 256)
        for key, measure in MEASURES.items():
            assert row[key] == pytest.approx(measure(data), rel=1e-9), key
    assert found["launches"] == LAUNCHES and found["features"]["rows"] == LAUNCHES
    assert found["timeless"] is not has_times and bool(found["bins"]) is has_times and ("over_time" in found) is has_times
    assert any("do not say when launches were" in line for line in found["sentences"]) is not has_times
    assert found["graph"]["target"] == "perf_variation" and moved in found["graph"]["nodes"]
    assert found["graph"]["causes"][0]["cause"].lower().startswith("gr")  # the grid
    assert not {"gpu__time_duration.sum", "Duration", "duration_ns"} & set(found["graph"]["nodes"])
    by_kernel = answer(sonde, tmp_path / "t.csv", "--by", "kernel")["kernels"]
    assert sorted(row["count"] for row in by_kernel) == [LAUNCHES // 2] * 2


@pytest.mark.parametrize("form", FORMS)
def test_causes_are_those_of_causal(sonde, tmp_path, form):
    """With the same column as target, and the same first tier: all of what the table says of a launch's making."""
    text, duration, moved, _ = FORMS[form]
    path = write(tmp_path / "t.csv", text(launches()))
    found = answer(sonde, path, "--target", duration, "--do", f"{moved}=20000")["graph"]
    outside = {"raw": "Kernel Name,Block Size ?,Grid Size ?,Device,CC", "details": "Kernel Name,Block Size ?,Grid Size ?,Device,CC",
               "rocprofv3": "Kernel_Name,Grid_Size,Workgroup_Size,Agent_Id", "rocprofv1": "KernelName,gpu-id,grd,wgr,lds"}[form]
    done = sonde("causal", path, "--target", duration, "--tier", outside, "--do", f"{moved}=20000", "--format", "json")
    other = json.loads(done.out)
    for key in ("nodes", "edges", "causes", "main_effects", "do", "clusters", "rows"):
        assert found[key] == other[key], key
    assert found["target"] == duration and (moved, duration) in {(edge["from"], edge["to"]) for edge in found["edges"]}


def test_target_of_a_launch(sonde, tmp_path):
    """|d - mean of the configuration| of each row, and none where there is one launch alone."""
    rows = launches(count=60)
    rows[0]["grid"] = 7777
    answer(sonde, write(tmp_path / "t.csv", raw(rows)), "--features", tmp_path / "f.csv")
    with (tmp_path / "f.csv").open() as file:
        written = list(csv.DictReader(file))
    means = {}
    for one in rows:
        means.setdefault((one["kernel"], one["grid"]), []).append(one["ns"])
    expected = [abs(one["ns"] - numpy.mean(means[one["kernel"], one["grid"]])) for one in rows[1:]]
    assert [float(row["perf_variation"]) for row in written] == pytest.approx(expected, rel=1e-9, abs=1e-6)
    text = " ".join(sonde("variability", tmp_path / "t.csv").out.split())
    assert "of 59 launches. 1 launch is left out, as nothing else has its kernel and configuration" in text
    assert "60 launches of 7 kernels and configurations kernels, by" in text


def test_plain_tables(sonde, tmp_path):
    """The target is the duration, in its own unit; fractions are told exactly, also very small ones."""
    draw = random.Random(2)
    rows = [(draw.choice("ab"), draw.choice([8, 16]), draw.uniform(0, 1)) for _ in range(200)]
    table = [(kernel, grid, x, 1e-6 * grid * (1 + x) * math.exp(draw.gauss(0, 0.1))) for kernel, grid, x in rows]
    lines = ["kernel,gridX,x,seconds"] + [f"{kernel},{grid},{x:.6f},{seconds:.12g}" for kernel, grid, x, seconds in table]
    path = write(tmp_path / "t.csv", "\n".join(lines) + "\n")
    found = answer(sonde, path, "--target", "seconds")
    assert (found["unit"], found["timeless"], found["bins"]) == ("1", True, [])
    assert {cause["cause"] for cause in found["graph"]["causes"]} == {"gridX", "x"}
    for row in found["kernels"]:
        data = numpy.array([float(f"{one[3]:.12g}") for one in table if (one[0], one[1]) == (row["name"], row["grid"][0])])
        assert row["count"] == len(data)
        for key, measure in MEASURES.items():
            assert row[key] == pytest.approx(measure(data), rel=1e-9), key
    text = sonde("variability", path, "--target", "seconds").out
    shown = {line.split()[-1 - 2]: line.split()[1] for line in text.splitlines() if ", grid " in line}
    assert shown and all(word.endswith("e-05") for word in shown.values())


def test_values_below_zero_have_no_statistics(sonde, tmp_path):
    draw = random.Random(3)
    rows = [(x, 2 * x + draw.gauss(0, 0.3)) for x in (draw.gauss(0, 1) for _ in range(100))]
    path = write(tmp_path / "t.csv", "x,y\n" + "".join(f"{x:.4f},{y:.4f}\n" for x, y in rows))
    found = answer(sonde, path, "--target", "y")
    assert found["kernels"] == [] and [cause["cause"] for cause in found["graph"]["causes"]] == ["x"]
    assert any("nothing is told of kernels" in line for line in found["sentences"])
    assert sonde("variability", path, "--target", "y").status == 0


def test_several_tables(sonde, tmp_path):
    """Runs of one program: the second one is slower, which only the file tells; it lacks a counter."""
    first, second = launches(4), launches(5)
    for one in second:
        one["ns"] = round(one["ns"] * 1.5)
    lacking = "\n".join(line.rsplit(",", 1)[0] for line in raw(second).splitlines()[1:]) + "\n"
    paths = [write(tmp_path / "one.csv", raw(first)), write(tmp_path / "two.csv", lacking)]
    found = answer(sonde, *paths, "--target", "gpu__time_duration.sum")
    assert found["launches"] == 2 * LAUNCHES and sum(row["count"] for row in found["kernels"]) == 2 * LAUNCHES
    assert {row["name"] for row in found["kernels"]} == {one["kernel"] for one in first} and len(found["kernels"]) == 6
    assert [row["place"] for row in found["places"]] == ["device 0 of one.csv", "device 0 of two.csv"]
    assert "file" in {cause["cause"] for cause in found["graph"]["causes"]}
    assert {"column": "lts__hit_rate.pct", "why": "sparse"} in found["graph"]["left_out"]
    differing = write(tmp_path / "rocprof.csv", rocprofv3(first))
    done = sonde("variability", paths[0], differing)
    assert done.status == 128 and "not of one tool" in done.err and len(done.err_lines) == 1


def test_many_launches_are_compared_by_stretches(sonde, tmp_path):
    found = answer(sonde, write(tmp_path / "t.csv", raw(launches(6, 900))), "--samples", "20")
    assert (found["graph"]["cluster"], found["graph"]["clusters"]) == ("stretch", 30)


def test_thousands_of_columns(sonde, tmp_path):
    """The one that counts is found among them."""
    rows, draw = launches(7, 200), random.Random(1)
    lines = raw(rows).splitlines()[1:]
    lines[0] += "," + quoted([f"metric_{number}" for number in range(3000)]).strip()
    lines[1] += "," + quoted([""] * 3000).strip()
    lines[2:] = [line + "," + quoted([f"{draw.random():.3f}" for _ in range(3000)]).strip() for line in lines[2:]]
    found = answer(sonde, write(tmp_path / "t.csv", "\n".join(lines) + "\n"), "--target", "gpu__time_duration.sum", "--samples", "20")
    assert [edge["from"] for edge in found["graph"]["edges"] if edge["to"] == "gpu__time_duration.sum"] == ["dram__bytes.sum"]
    assert len(found["kernels"]) == 6 and len(found["graph"]["left_out"]) > 2900


def test_page(sonde, tmp_path):
    for form, (text, *_, has_times) in FORMS.items():
        path = write(tmp_path / f"{form}.csv", text(launches(count=120)))
        done = sonde("variability", path, "--html", tmp_path / "why.html", "--samples", "20")
        assert done.status == 0, done.err
        page = page_data(tmp_path / "why.html")
        assert page["parallel"]["rows"] == 120 and len(page["variability"]["kernels"]) == 6
        assert bool(page["variability"]["bins"]) is has_times


def test_threads_give_the_same(sonde, tmp_path):
    path = write(tmp_path / "t.csv", rocprofv3(launches(8)))
    assert sonde("variability", path, "-j", "1").out == sonde("variability", path, "-j", "3").out != ""


@pytest.mark.skipif(not SONDE_MPI.exists() or not shutil.which("mpirun"), reason="built without MPI")
def test_ranks_give_the_same(sonde, tmp_path):
    """Of several tables; and the mistake that all of them find is said once."""
    paths = [write(tmp_path / "a.csv", raw(launches(8))), write(tmp_path / "b.csv", raw(launches(9)))]
    start = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", SONDE_MPI, "variability", *paths]
    ranks = subprocess.run([*start, "--format", "json"], capture_output=True, text=True)
    assert ranks.returncode == 0 and ranks.stdout.splitlines() == sonde("variability", *paths, "--format", "json").out.splitlines()
    ranks = subprocess.run([*start, "--target", "none"], capture_output=True, text=True)
    assert ranks.returncode == 128 and ranks.stderr.count("has no column 'none'") == 1


def test_what_tells_how_a_launch_was_made_is_set_from_outside(sonde, tmp_path):
    """Its effect is known without a way in the graph; that of a counter is not."""
    rows, draw = launches(9, 200), random.Random(2)
    lines = raw(rows).splitlines()[1:]
    lines[0] += ',"launch__registers_per_thread"'
    lines[1] += ',"register/thread"'
    lines[2:] = [f'{line},"{draw.choice([16, 32, 64])}"' for line in lines[2:]]
    graph = answer(sonde, write(tmp_path / "t.csv", "\n".join(lines) + "\n"), "--samples", "20")["graph"]
    assert {effect["column"] for effect in graph["main_effects"]} == {"Kernel Name", "Grid Size x", "launch__registers_per_thread"}
    own = answer(sonde, tmp_path / "t.csv", "--samples", "20", "--tier", "lts__*")["graph"]
    assert {effect["column"] for effect in own["main_effects"]} == {"lts__hit_rate.pct"}


@pytest.mark.parametrize("options, status, why", [
    ((), 128, "say by --target which column"), (("--target", "none"), 128, "has no column 'none'"),
    (("--target", "x", "--bin", "1ms"), 128, "no start times"), (("--target", "memory_stall"), 128, "is of copies"),
    (("--target", "x", "--where", "k"), 129, "no --where"), (("--target", "x", "--sample", "9"), 129, "no --sample"),
    (("--target", "log_duration"), 128, "say by --target which column"), (("other.json",), 128, "take them one by one")])
def test_mistakes(sonde, tmp_path, options, status, why):
    path = write(tmp_path / "t.csv", "x,y\n" + "".join(f"{row},{row * row % 7}\n" for row in range(40)))
    write(tmp_path / "other.json", '{"traceEvents":[]}')
    done = sonde("variability", path, *[tmp_path / one if one.endswith(".json") else one for one in options])
    assert (done.status, done.out, len(done.err_lines)) == (status, "", 1) and why in done.err


def test_what_is_no_table(sonde, tmp_path):
    """A damaged table says where; a text that is no table is of no known format."""
    broken = write(tmp_path / "t.csv", raw(launches(count=20)) + '"1","2"\n')
    done = sonde("variability", broken)
    assert done.status == 128 and "line 24 has 2 fields" in done.err and len(done.err_lines) == 1
    done = sonde("variability", write(tmp_path / "t.txt", "hello\nto the world\n"))
    assert done.status == 128 and "not of a known format" in done.err


@samples.needs("rocprof/vcopy_mi300x_pmc_perf.csv", "rocprof/csv/counter_collection.csv", "rocprof/csv/kernel_trace.csv")
def test_real_tables(sonde):
    """Three dispatches in many passes, with two thousand columns; four of one pass; and a trace, which is no table of counters."""
    wide, few, trace = (samples.SAMPLES / "rocprof" / name for name in ("vcopy_mi300x_pmc_perf.csv", "csv/counter_collection.csv", "csv/kernel_trace.csv"))
    row, = answer(sonde, wide)["kernels"]
    assert row["name"].startswith("vecCopy(") and (row["count"], row["grid"][0], row["block"][0]) == (3, 4096, 256)
    found = answer(sonde, few)
    assert [kernel["count"] for kernel in found["kernels"]] == [1] * 4 and not found["timeless"]
    assert sorted(kernel["max_ns"] for kernel in found["kernels"]) == [46818, 48151, 49780, 52151]
    assert answer(sonde, trace)["launches"] == 9 and not found["bins"] == []
