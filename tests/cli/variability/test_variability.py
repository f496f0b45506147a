# SPDX-License-Identifier: Apache-2.0
"""`sonde variability` on kernels with planted durations; numpy computes the same from the list of them."""
from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from conftest import run_sonde
from varied import Launch, Run, run

numpy = pytest.importorskip("numpy")


def answer(sonde, *paths, options=()) -> dict:
    result = sonde("variability", *paths, "--format", "json", *options)
    assert result.status == 0, result.err
    return json.loads(result.out)


def mad_outliers(durations) -> int:
    logs = numpy.log(durations)
    far = numpy.abs(logs - numpy.median(logs))
    mad = numpy.median(far)
    scale = 1.482602 * mad if mad > 1e-12 else 1.253314 * far.mean()
    return int((far > 3.5 * scale).sum()) if scale > 1e-12 else 0


def check_statistics(row: dict, durations) -> None:
    data = numpy.array(durations, float)
    assert row["count"] == len(data)
    assert row["mean_ns"] == pytest.approx(data.mean(), rel=1e-12)
    assert row["std_ns"] == pytest.approx(data.std(), rel=1e-9, abs=1e-6)
    assert row["cv"] == pytest.approx(data.std() / data.mean(), rel=1e-9, abs=1e-12)
    for share in (25, 50, 75, 90, 99):
        assert row[f"p{share}"] == pytest.approx(numpy.quantile(data, share / 100), rel=1e-12)
    assert (row["min_ns"], row["max_ns"]) == (data.min(), data.max())
    assert row["variation_ns"] == pytest.approx(numpy.abs(data - data.mean()).mean(), rel=1e-9, abs=1e-9)
    assert row["log_variance"] == pytest.approx(numpy.log(data).var(), rel=1e-6, abs=1e-15)
    logs = numpy.log(data)
    assert row["log_mad"] == pytest.approx(numpy.median(numpy.abs(logs - numpy.median(logs))), rel=1e-9, abs=1e-12)
    assert row["outliers"] == mad_outliers(data)
    assert row["quantile_error"] == 0


@pytest.fixture(scope="module")
def mixed() -> Run:
    """Three kernels of two grids, heavy tails, even and odd numbers of launches, and one that always takes the same time."""
    random_ = random.Random(7)
    made, now = Run(), 1_000_000
    for number in range(5001):
        name = ("gemm", "softmax", "copy_kernel", "constant")[number % 4]
        grid = (8 + number % 2 * (name == "softmax"), 1, 1)
        duration = 5000 if name == "constant" else round(math.exp(random_.gauss(9, 0.2) + (random_.random() < 0.02)))
        made.launches.append(Launch(name, now, duration, 0, (8 + number // 4 % 2, 1, 1) if name == "softmax" else grid))
        now += duration + random_.randrange(100, 20000)
    return made


def test_statistics_by_configuration(sonde, tmp_path, mixed):
    rows = answer(sonde, *mixed.write(tmp_path))["kernels"]
    groups: dict[tuple, list[int]] = {}
    for one in mixed.launches:
        groups.setdefault((one.name, one.grid), []).append(one.duration)
    assert {(row["name"], tuple(row["grid"])) for row in rows} == set(groups) and len(rows) == len(groups) == 5
    for row in rows:
        check_statistics(row, groups[row["name"], tuple(row["grid"])])
        assert row["configuration"] == f"grid {row['grid'][0]}x1x1 block 128x1x1 shared 256"
    totals = [row["variation_ns"] * row["count"] for row in rows]
    assert totals == sorted(totals, reverse=True)


def test_statistics_by_kernel_and_of_all(sonde, tmp_path, mixed):
    """Variation and outliers are of each configuration; quantiles are of all launches."""
    paths = mixed.write(tmp_path)
    rows = {row["name"]: row for row in answer(sonde, *paths, options=("--by", "kernel"))["kernels"]}
    assert rows.keys() == {"gemm", "softmax", "copy_kernel", "constant"}
    check_statistics(rows["gemm"], mixed.durations("gemm"))
    parts = [numpy.array([one.duration for one in mixed.launches if one.name == "softmax" and one.grid[0] == x], float) for x in (8, 9)]
    whole = numpy.concatenate(parts)
    row = rows["softmax"]
    assert row["configuration"] is None and row["p50"] == numpy.median(whole)
    assert row["variation_ns"] == pytest.approx(sum(numpy.abs(part - part.mean()).sum() for part in parts) / len(whole), rel=1e-9)
    assert row["outliers"] == sum(map(mad_outliers, parts))
    all_, = answer(sonde, *paths, options=("--by", "all"))["kernels"]
    assert all_["name"] is None and all_["count"] == len(mixed.launches)
    assert all_["p99"] == pytest.approx(numpy.quantile([one.duration for one in mixed.launches], 0.99))


def check_kernels(row: dict, launches: list[Launch]) -> None:
    """The kernels of a bin, by their part of the sum of squared differences from its mean."""
    mean = numpy.mean([one.duration for one in launches])
    whole = sum((one.duration - mean) ** 2 for one in launches)
    parts = {name: numpy.array([one.duration for one in launches if one.name == name], float) for name in {one.name for one in launches}}
    shares = {name: ((part - mean) ** 2).sum() / whole if whole else 0 for name, part in parts.items()}
    assert {kernel["name"] for kernel in row["kernels"]} == parts.keys() and len(row["kernels"]) == len(parts)
    for kernel in row["kernels"]:
        part = parts[kernel["name"]]
        assert (kernel["count"], kernel["p50"]) == (len(part), numpy.median(part))
        assert kernel["mean_ns"] == pytest.approx(part.mean()) and kernel["variance"] == pytest.approx(part.var(), rel=1e-6, abs=1e-6)
        assert kernel["share"] == pytest.approx(shares[kernel["name"]], abs=1e-9)
    found = [kernel["share"] for kernel in row["kernels"]]
    assert found == sorted(found, reverse=True)


def test_kernels_of_bins_as_text(sonde, tmp_path, mixed):
    """Those that have most of the variance of each of the bins shown."""
    paths = mixed.write(tmp_path)
    row = answer(sonde, *paths, options=("--bin", "7ms", "--top", "1"))["bins"][0]
    lines = sonde("variability", *paths, "--bin", "7ms", "--top", "1").out.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("kernels of the first of these bins"))
    shown = [line.split() for line in lines[begin + 2:begin + 2 + min(3, len(row["kernels"]))]]
    assert [words[-1] for words in shown] == [kernel["name"] for kernel in row["kernels"][:3]]
    assert [float(words[-2].rstrip("%")) for words in shown] == pytest.approx(
        [100 * kernel["share"] for kernel in row["kernels"][:3]], rel=0.01, abs=0.06)


@pytest.mark.parametrize("bin_ms", [1, 7, 1000])
def test_bins(sonde, tmp_path, mixed, bin_ms):
    found = answer(sonde, *mixed.write(tmp_path), options=("--bin", f"{bin_ms}ms", "--top", "4"))
    begin, length = mixed.launches[0].start, bin_ms * 1_000_000
    assert found["start_ns"] == begin and found["bin_ns"] == length
    groups: dict[int, list[Launch]] = {}
    for one in mixed.launches:
        groups.setdefault((one.start - begin) // length, []).append(one)
    medians = {}
    for one in mixed.launches:
        medians.setdefault((one.name, one.grid), []).append(math.log(one.duration))
    medians = {key: numpy.median(logs) for key, logs in medians.items()}
    variances = {number: numpy.var([one.duration for one in part]) for number, part in groups.items()}
    adjusted = {}
    for number, part in groups.items():
        far = sorted(abs(math.log(one.duration) - medians[one.name, one.grid]) for one in part)
        adjusted[number] = numpy.mean(far[:len(far) - len(far) // 10])
    order = sorted(groups, key=lambda number: -variances[number])[:4]
    assert [(row["start_ns"] - begin) // length for row in found["bins"]] == order
    assert [row["rank"] for row in found["bins"]] == list(range(1, len(order) + 1))
    for row, number in zip(found["bins"], order, strict=True):
        data = numpy.array([one.duration for one in groups[number]], float)
        assert row["end_ns"] - row["start_ns"] == length and row["count"] == len(data)
        assert row["variance"] == pytest.approx(data.var(), rel=1e-9) and row["mean_ns"] == pytest.approx(data.mean())
        assert [row[f"p{share}"] for share in (25, 50, 75)] == pytest.approx(list(numpy.quantile(data, [.25, .5, .75])))
        assert (row["min_ns"], row["max_ns"]) == (data.min(), data.max())
        assert row["adjusted"] == pytest.approx(adjusted[number], abs=1e-7)
    for row in found["bins"] + found["adjusted_bins"]:
        check_kernels(row, groups[(row["start_ns"] - begin) // length])
    order = sorted(groups, key=lambda number: (len(groups[number]) < 10, -adjusted[number]))[:4]
    assert [(row["start_ns"] - begin) // length for row in found["adjusted_bins"]] == order
    over = found["over_time"]
    end = max(one.start + one.duration for one in mixed.launches)
    assert (over["start_ns"], over["bins"], over["bins_each"], over["step_ns"]) == (begin, (end - begin) // length + 1, 1, length)
    assert over["std_ns"] == [pytest.approx(math.sqrt(variances[number]), rel=1e-9) if number in groups else None for number in range(over["bins"])]
    assert over["adjusted"] == [pytest.approx(adjusted[number], abs=1e-7) if len(groups.get(number, ())) >= 10 else None for number in range(over["bins"])]


def test_steps_of_many_bins(sonde, tmp_path, mixed):
    """More bins than a picture is wide: each step has what varies most in it, and those of no launch have nothing."""
    found = answer(sonde, *mixed.write(tmp_path), options=("--bin", "20us"))
    over, begin = found["over_time"], mixed.launches[0].start
    assert over["bins"] > 1500 and over["bins_each"] == -(-over["bins"] // 1500) and over["step_ns"] == over["bins_each"] * 20_000
    assert len(over["std_ns"]) == -(-over["bins"] // over["bins_each"])
    groups: dict[int, list[int]] = {}
    for one in mixed.launches:
        groups.setdefault((one.start - begin) // 20_000, []).append(one.duration)
    steps: dict[int, list[float]] = {}
    for number, durations in groups.items():
        steps.setdefault(number // over["bins_each"], []).append(float(numpy.std(durations)))
    assert over["std_ns"] == [pytest.approx(max(steps[step]), abs=1e-6) if step in steps else None for step in range(len(over["std_ns"]))]


def test_rank_by_variance_is_the_mix_of_kernels(sonde, tmp_path):
    """One bin has a long kernel beside short ones, as always; in another one the short ones take twice as long."""
    made = run(3, {"short": 1000, "long": 1000}, launches=2000,
               factor=lambda name, rank, share: 50 if name == "long" and 0.2 <= share < 0.21 else 1)
    other = [Launch(f"{one.name}_big" if one.duration > 20000 else one.name, one.start,
                    one.duration * (2 if one.name == "short" and 70 <= one.start // 1_000_000 < 71 else 1))
             for one in made.launches]
    found = answer(sonde, *Run(other).write(tmp_path), options=("--bin", "1ms"))
    at = [(row["start_ns"] - found["start_ns"]) // 1_000_000 for row in (found["bins"][0], found["adjusted_bins"][0])]
    assert 15 <= at[0] <= 17 and at[1] in (68, 69, 70)


# ---- sentences: each where it must appear, with its figure, and where it must not ----

def slower_from(begin: float, times: float, end: float = 1):
    return lambda name, rank, share: times if name == "gemm" and begin <= share < end else 1


PLANTED = {
    "nothing": ({}, {"No kernel varies much": ()}),
    "noise": ({"deviation": 0.3}, {"varies most": ()}),
    "later slower": ({"factor": slower_from(0.5, 1.3)}, {"varies most": ("gemm",), "% longer than before": ("From 400 ms on, gemm", "30")}),
    "later faster": ({"factor": slower_from(0.25, 0.7)}, {"varies most": ("gemm",), "% shorter than before": ("From 200 ms on, gemm", "30")}),
    "drift up": ({"factor": lambda name, rank, share: 1 + 0.04 * share if name == "gemm" else 1},
                 {"No kernel varies much": (), "by a steady drift": ("gemm", "longer at the end")}),
    "drift down": ({"factor": lambda name, rank, share: 1 - 0.04 * share if name == "gemm" else 1},
                   {"No kernel varies much": (), "by a steady drift": ("gemm", "shorter at the end")}),
    "outliers": ({"factor": lambda name, rank, share: 3 if name == "gemm" and round(share * 2000) % 500 == 0 else 1},
                 {"No kernel varies much": (), "are outliers": ("4 of 1,000 launches of gemm", "3")}),
    "slow rank": ({"ranks": 4, "factor": lambda name, rank, share: 1.15 if rank == 2 else 1},
                  {"varies most": (), "than elsewhere": ("rank 2 device 0", "longer")}),
    "burst": ({"factor": lambda name, rank, share: 1.4 if 0.5 <= share < 0.52 else 1},
              {"No kernel varies much": (), "furthest from their medians": ("between 400 ms", "usual part of the run")}),
    "few": ({"launches": 8, "deviation": 0.5}, {}),
}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("case", PLANTED)
def test_sentences(sonde, tmp_path, case, seed):
    planted, expected = PLANTED[case]
    made = run(seed, {"gemm": 10000, "softmax": 3000}, **planted)
    sentences = answer(sonde, *made.write(tmp_path, planted.get("ranks", 1)))["sentences"]
    for part, words in expected.items():
        said = [sentence for sentence in sentences if part in sentence]
        assert len(said) >= 1, sentences
        for word in words:
            assert word in said[0], sentences
    # a change also makes a part of the run unusual, and nothing else is said
    may = {"later slower": 1, "later faster": 1, "burst": 2, "noise": 0}.get(case, 0)
    unexpected = [sentence for sentence in sentences if not any(part in sentence for part in expected)]
    assert len(unexpected) <= may, unexpected


# ---- threads, memory, several databases ----

@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    """More events than a slice has, with durations that nearly all differ, on three streams. One of these is never idle, so that
    something runs wherever the time is divided; and many kernels come at the end only."""
    random_ = random.Random(11)
    events = []
    for number in range(400_000):
        start = 1000 + number * 25 + number % 3
        duration = round(math.exp(random_.gauss(9, 0.5))) / 1000 if number % 3 else 75
        name = f"k{number % 5}" if number < 399_000 else f"late{number % 200}"
        events.append(f'{{"ph":"X","cat":"kernel","name":"{name}","pid":0,"tid":{7 + number % 3},"ts":{start},"dur":{duration},'
                      f'"args":{{"device":0,"context":1,"stream":{7 + number % 3},"correlation":{number + 1},"grid":[{1 + number % 7},1,1],'
                      '"block":[32,1,1]}}')
    for number in range(280):
        events.append(f'{{"ph":"X","cat":"kernel","name":"long","pid":0,"tid":20,"ts":{1000 + number * 35_000},"dur":35000,'
                      '"args":{"device":0,"context":1,"stream":20,"correlation":'f'{500_000 + number}}}}}')
    path = tmp_path_factory.mktemp("large") / "large.json"
    path.write_text('{"schemaVersion":1,"traceEvents":[' + ",\n".join(events) + "]}")
    return path


@pytest.fixture(scope="module")
def large_db(large) -> Path:
    path = large.with_suffix(".sdb")
    assert run_sonde("import", large, "-o", path).status == 0
    return path


def test_any_number_of_threads_gives_the_same_bytes(sonde, tmp_path, large_db):
    outputs = set()
    for jobs in (1, 2, 7):
        table = tmp_path / "table.csv"
        result = sonde("variability", large_db, "-j", jobs, "--format", "json", "--features", table, "--sample", "5000")
        assert result.status == 0, result.err
        outputs.add(result.out + table.read_text())
    assert len(outputs) == 1


def test_bins_of_several_slices(sonde, large, large_db):
    events = [(round(event["ts"] * 1000), round(event["dur"] * 1000)) for event in json.loads(large.read_text())["traceEvents"]]
    found = answer(sonde, large_db, options=("--bin", "10ms", "--top", "100000"))
    begin = min(start for start, _ in events)
    groups: dict[int, list[int]] = {}
    for start, duration in events:
        groups.setdefault((start - begin) // 10_000_000, []).append(duration)
    assert len(found["bins"]) == len(groups) > 900
    for row in found["bins"]:
        data = numpy.array(groups[(row["start_ns"] - begin) // 10_000_000], float)
        assert row["count"] == len(data) and row["variance"] == pytest.approx(data.var(), rel=1e-9)
    assert [row["variance"] for row in found["bins"]] == sorted((row["variance"] for row in found["bins"]), reverse=True)


def bits_for(durations: list[int], limit: int) -> int:
    """The leading bits of which no more than `limit` durations differ; 0: all may be kept."""
    def different(bits: int) -> int:
        return len({value >> max(0, value.bit_length() - bits) << max(0, value.bit_length() - bits) for value in set(durations)})
    return 0 if len(set(durations)) <= limit else next(bits for bits in range(20, 5, -1) if different(bits) <= limit or bits == 6)


def test_little_memory_rounds_and_says_so(sonde, large, large_db):
    groups: dict[tuple, list[int]] = {}
    for event in json.loads(large.read_text())["traceEvents"]:
        groups.setdefault((event["name"], tuple(event["args"].get("grid", ()))), []).append(round(event["dur"] * 1000))
    outputs = set()
    for jobs in ("1", "4"):
        outputs.add(sonde("variability", large_db, "--memory", "8M", "--format", "json", "-j", jobs).out)
    assert len(outputs) == 1
    rows = json.loads(outputs.pop())["kernels"]
    assert len(rows) == len(groups)
    errors = set()
    for row in rows:
        durations = groups[row["name"], tuple(row.get("grid", ()))]
        bits = bits_for(durations, max(64, (8 << 20) // 16 // len(groups)))
        errors.add(2.0 ** -bits if bits else 0)
        check_statistics_but_outliers(row, durations, 2.0 ** -bits if bits else 0)
    assert min(errors) == 0 and max(errors) > 1e-6
    text = sonde("variability", large_db, "--memory", "8M").out
    assert "Quantiles have a relative error of at most" in text
    assert "Quantiles have" not in sonde("variability", large_db).out


def check_statistics_but_outliers(row: dict, durations: list[int], error: float) -> None:
    data = numpy.array(durations, float)
    assert row["count"] == len(data) and row["quantile_error"] == error
    assert row["mean_ns"] == pytest.approx(data.mean(), rel=1e-12) and row["std_ns"] == pytest.approx(data.std(), rel=1e-9)
    assert (row["min_ns"], row["max_ns"]) == (data.min(), data.max())
    for share in (25, 50, 75, 90, 99):
        assert row[f"p{share}"] == pytest.approx(numpy.quantile(data, share / 100), rel=error or 1e-12)


def test_databases_of_one_run_are_as_one(sonde, tmp_path):
    """Each rank's trace in a database of its own, or all files in one."""
    made = run(4, {"gemm": 10000, "softmax": 3000}, ranks=3, factor=lambda name, rank, share: 1.1 if rank == 1 else 1)
    paths = made.write(tmp_path, 3)
    databases = []
    for path in paths:
        databases.append(path.with_suffix(".sdb"))
        assert sonde("import", path, "-o", databases[-1]).status == 0
    together, apart = answer(sonde, *paths), answer(sonde, *databases)
    assert together == apart and not apart["aligned"]
    assert [(row["place"], row["launches"]) for row in apart["places"]] == [(f"rank {rank} device 0", 2000) for rank in range(3)]
    slow = apart["places"][1]
    assert slow["pace_significant"] and slow["pace_low"] < 10 < slow["pace_high"] and slow["pace_high"] - slow["pace_low"] < 1
    for row in apart["kernels"]:
        assert [place["difference_significant"] for place in row["places"]].count(True) >= 1
        means = [numpy.mean(made.durations(row["name"], rank)) for rank in range(3)]
        assert [place["mean_ns"] for place in row["places"]] == pytest.approx(means)


def test_kernels_by_place(sonde, tmp_path):
    """The one kernel that is slower on one rank, by what that adds up to; no table where none is."""
    kernels = {"gemm": 10000, "softmax": 3000, "norm": 4000}
    slow = run(4, kernels, ranks=3, factor=lambda name, rank, share: 1.3 if rank == 2 and name == "softmax" else 1)
    lines = sonde("variability", *slow.write(tmp_path / "slow", 3)).out.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("kernels that take another time at one place"))
    rows = lines[begin + 2:begin + 5]
    assert "rank 2 device 0" in rows[0] and 27 < float(rows[0].split()[0].rstrip("%")) < 33
    # to the two others the rest of the places is slower
    assert all("softmax" in row for row in rows) and all(row.split()[0].startswith("-") for row in rows[1:]) and not lines[begin + 5].strip()
    even = sonde("variability", *run(4, kernels, ranks=3).write(tmp_path / "even", 3)).out
    assert "kernels that take another time at one place" not in even


def test_communication_is_no_pace(sonde, tmp_path):
    """The rank that comes late to collectives is a shorter time in them, and is no faster one."""
    made = run(4, {"gemm": 10000, "ncclDevKernel_AllReduce": 40000}, ranks=2,
               factor=lambda name, rank, share: 0.5 if rank == 1 and name.startswith("nccl") else 1)
    found = answer(sonde, *made.write(tmp_path, 2))
    assert all(abs(row["pace"]) < 0.5 for row in found["places"])
    rows = {row["name"]: row for row in found["kernels"]}
    assert rows["ncclDevKernel_AllReduce"]["communication"] and not rows["gemm"]["communication"]
    assert rows["ncclDevKernel_AllReduce"]["places"][1]["difference"] == pytest.approx(-50, abs=2)
    assert rows["ncclDevKernel_AllReduce"]["places"][1]["difference_significant"]
    assert not any("elsewhere" in sentence for sentence in found["sentences"])


def test_databases_of_different_days_are_aligned(sonde, tmp_path):
    made = run(4, {"gemm": 10000}, launches=300)
    later = Run([Launch(one.name, one.start + 10 ** 13, one.duration * 2) for one in made.launches])
    first, second = made.write(tmp_path / "a")[0], later.write(tmp_path / "b")[0]
    databases = []
    for number, path in enumerate((first, second)):
        databases.append(tmp_path / f"day{number}.sdb")
        assert sonde("import", path, "-o", databases[-1]).status == 0
    found = answer(sonde, *databases)
    assert found["aligned"] and found["start_ns"] == 0 and found["end_ns"] < 10 ** 9
    assert [row["place"] for row in found["places"]] == ["device 0 of day0.sdb", "device 0 of day1.sdb"]
    assert found["places"][1]["pace"] == pytest.approx(100, abs=1) and found["places"][0]["pace"] == pytest.approx(-50, abs=1)
    assert "each database from its own first kernel" in sonde("variability", *databases).out


def test_a_kernel_whose_configurations_come_and_go_does_not_change(sonde, tmp_path):
    """Each is relative to its own mean: the first one has a tail, the second one takes ten times as long."""
    random_ = random.Random(3)
    launches = []
    for number in range(4000):
        is_late = number >= 2000
        tail = 3 if not is_late and random_.random() < 0.15 else 1
        duration = round((100_000 if is_late else 10_000) * tail * math.exp(random_.gauss(0, 0.1)))
        launches.append(Launch("k", 1_000_000 + number * 400_000, duration, 0, (1 + is_late, 1, 1)))
    row, = answer(sonde, *Run(launches).write(tmp_path), options=("--by", "kernel"))["kernels"]
    assert not row["changes"] and abs(row["drift"]) < 1


def test_where(sonde, tmp_path, mixed):
    rows = answer(sonde, *mixed.write(tmp_path), options=("--where", "soft"))["kernels"]
    assert {row["name"] for row in rows} == {"softmax"}
    assert sum(row["count"] for row in rows) == len(mixed.durations("softmax"))


# ---- mistakes ----

def test_what_cannot_be_answered(sonde, tmp_path, small_db, mixed):
    path, = mixed.write(tmp_path)
    assert sonde("variability").status == 129
    cases = [([tmp_path / "none.sdb"], 128, "none.sdb"), ([small_db], 128, "small.sdb"),
             ([path, "--where", "nothing_like_it"], 128, "no kernel of"), ([path, "--bin", "1ns"], 128, "10000000 are the most"),
             ([path, "--bin", "10"], 129, "no length of time"), ([path, "--bin", "-1ms"], 129, "no length of time"),
             ([path, "--target", "memory_stal"], 129, "none of"), ([path, "--top", "0"], 129, "--top"),
             ([path, "--features", tmp_path / "no" / "t.csv"], 128, "t.csv")]
    empty = tmp_path / "empty.json"
    empty.write_text('{"schemaVersion":1,"traceEvents":[]}')
    cases.append(([empty], 128, "empty.json"))
    for arguments, status, part in cases:
        result = sonde("variability", *arguments)
        assert (result.status, len(result.err_lines), result.out) == (status, 1, ""), (arguments, result)
        assert part in result.err, (arguments, result.err)


def test_without_kernels(sonde, tmp_path):
    made = Run().trace(0, 1)
    path = made.write(tmp_path / "host.json")
    result = sonde("variability", path)
    assert result.status == 128 and "has no kernels" in result.err


@pytest.mark.parametrize("count", [1, 2, 3])
def test_very_few_launches(sonde, tmp_path, count):
    made = Run([Launch("k", 1_000_000 + 1000 * number, 0 if number == 2 else 100) for number in range(count)])
    found = answer(sonde, *made.write(tmp_path))
    row, = found["kernels"]
    assert row["count"] == count and row["drift"] is None and not row["drift_significant"] and not row["changes"]
    assert row["outliers"] == mad_outliers([max(1, one.duration) for one in made.launches])
    assert found["sentences"] == [] and sonde("variability", *made.write(tmp_path)).status == 0


def test_what_varies_most_is_neither_rare_nor_steady(sonde, tmp_path):
    """A kernel of a few launches, and a long one that varies by less than 3 %, differ by more nanoseconds in all."""
    random_ = random.Random(5)
    launches = []
    for number in range(1200):
        name, median, deviation = [("gemm", 10_000, 0.1), ("long", 1_000_000, 0.01)][number % 2]
        if number % 150 == 0:
            name, median, deviation = "rare", 3_000_000, 1
        launches.append(Launch(name, 1_000_000 + number * 40_000_000, round(median * math.exp(random_.gauss(0, deviation)))))
    found = answer(sonde, *Run(launches).write(tmp_path))
    assert [row["name"] for row in found["kernels"]][-1] == "gemm"
    most, = [sentence for sentence in found["sentences"] if "varies most" in sentence]
    assert most.startswith("gemm") and "its 592 launches" in most
