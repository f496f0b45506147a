# SPDX-License-Identifier: Apache-2.0
"""Metrics of CUDA devices over time, on devices that are not there: each sample of the trace is one of the fake's table, with its time and value, and
what the device's buffer lost is counted. SONDE_FAKE_CUDA is as test_cuda.py has it."""
from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import program
import pytest
from on_devices import Ran, is_kernel, measured, rows_of
from program import ROOT, SONDE, WORKLOADS
from test_cuda import FAKE
from test_cuda import pytestmark  # noqa: F401  (the same condition)
from test_cuda_counters import WITH, WITHOUT, asked, count, status  # noqa: F401 (a fixture)
from test_cupti import CUPTI, headers, installed, without_cpp  # noqa: F401 (a fixture)

ACTIVE, WARPS, BYTES = "sm__cycles_active.avg", "sm__warps_active.avg.pct_of_peak_sustained_active", "dram__bytes_read.sum.per_second"
INSTRUCTIONS, PER_CYCLE = "smsp__inst_executed.sum", "sm__inst_executed.avg.per_cycle_active"
LIST = (ACTIVE, WARPS, BYTES, INSTRUCTIONS)
LOST = "gpu-metric-lost"
TOLD = "sonde: --gpu-metrics: whole devices are sampled, whoever uses them; each takes 64 MiB of the host's memory\n"
# where it fails, nothing is sampled; the last three fail when something was
FAILURES = ["metric-enable", "metric-data-size", "metric-config", "metric-start", "counter-begin", "counter-chip-name", "counter-properties",
            "counter-add", "counter-image", "counter-passes", "metric-data", "metric-decode", "metric-info", "metric-sample"]


@dataclass
class Sampled(Ran):
    """And the exact table of what was sampled."""

    samples: list[dict[str, str]]

    def of(self, state: str, metric: str = "") -> list[dict[str, str]]:
        return [row for row in self.samples if row["state"] == state and metric in ("", row["metric"])]


@pytest.fixture(scope="module")
def device(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("cuda") / "sampled"
    subprocess.run([FAKE, "nvcc", "-g", "-O1", "-arch=sm_90", f"-I{ROOT / 'include'}", "-o", output, WORKLOADS / "cuda/sampled.cu"], check=True)
    return output


def sampled(folder: Path, *command: str | Path, names: tuple[str, ...] = LIST, rate: str = "@2000", options: tuple[str, ...] = (),
            fakes: tuple[str, ...] = (), returned: int = 0, **environment: str) -> Sampled:
    folder.mkdir(exist_ok=True)
    done = subprocess.run([FAKE, *fakes, "--table", folder / "table.csv", "--metric-table", folder / "samples.csv", SONDE, "run", "-q", "-o",
                           folder / "run", "--gpu-metrics", ",".join(names) + rate, *options, "--", *map(str, command)],
                          capture_output=True, text=True, timeout=300, env={**os.environ, **environment}, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (returned, TOLD)
    return Sampled(done.stdout, folder, rows_of(folder / "table.csv"), rows_of(folder / "samples.csv"))


def stored(ran: Ran, metric: str, device: int = 0) -> list[tuple[int, float]]:
    """Times, by the trace's clock, and values."""
    rows = csv.DictReader(io.StringIO(program.sonde("export", "--to", "events", ran.folder / "run.sdb", "-o", "-", check=None)))
    return [(int(row["start_ns"]), float(row["attribute.value"])) for row in rows
            if row["kind"] == "counter" and row["name"] == metric and row["device"] == str(device)]


def lost(ran: Ran) -> int:
    return program.info(ran.folder).get("drops", {}).get(LOST, 0)


def check_values(ran: Sampled, names: tuple[str, ...] = LIST, device: int = 0) -> None:
    for name in names:
        read = [row for row in ran.of("read", name) if row["device"] == str(device)]
        truth = sorted((int(row["start_ns"]), float(row["value"])) for row in read)
        found = stored(ran, name, device)
        whole = name.endswith(".sum")
        assert [value for _, value in found] == [pytest.approx(round(value) if whole else value) for _, value in truth] and len(truth) > 100
        # one clock is the other but for where it begins
        first, begin = found[0][0], truth[0][0]
        assert max(abs((time - first) - (true - begin)) for (time, _), (true, _) in zip(found, truth)) < 1000


# ---- values ----


@pytest.mark.parametrize("release", WITH)
def test_each_sample_is_the_devices(device, tmp_path, release):
    """Also that all else is measured, though disabling ends CUPTI, and that nothing of CUPTI is called before the driver is initialised."""
    ran = sampled(tmp_path, device, options=("--trace",), fakes=("--cupti", release, "--fail", "strict"))
    check_values(ran)
    assert ran.out == "no error\n" and not lost(ran) and not ran.of("lost") and not ran.of("left")
    assert status(ran).endswith("; metrics of devices over time")
    assert measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel)


def test_without_a_trace_of_all_else(device, tmp_path):
    ran = sampled(tmp_path, device, names=(ACTIVE, PER_CYCLE), rate="")
    check_values(ran, (ACTIVE, PER_CYCLE))
    times = [time for time, _ in stored(ran, ACTIVE)]
    assert {later - time for time, later in zip(times, times[1:])} == {1000000}
    kinds = {row["kind"] for row in csv.DictReader(io.StringIO(program.sonde("export", "--to", "events", tmp_path / "run.sdb", "-o", "-")))}
    assert kinds == {"counter"}


def test_samples_lie_where_kernels_do(device, tmp_path):
    """By CUPTI's clock; a device with another one is placed by when it began, within what beginning takes."""
    for scenario, slack_ns in (("strict", 1000000), ("metric-clock", 20000000)):
        ran = sampled(tmp_path / scenario, device, options=("--trace",), fakes=("--fail", scenario))
        check_values(ran)
        rows = list(csv.DictReader(io.StringIO(program.sonde("export", "--to", "events", ran.folder / "run.sdb", "-o", "-"))))
        kernels = [int(row["start_ns"]) for row in rows if row["kind"] == "interval" and row["name"].startswith("work")]
        times = [int(row["start_ns"]) for row in rows if row["kind"] == "counter"]
        assert len(kernels) == 30
        # the device was sampled from before its first kernel until after its last
        assert 0 < min(kernels) - min(times) < 100000000 and -slack_ns < max(times) - max(kernels) < slack_ns + 20000000


def test_several_devices(device, tmp_path):
    ran = sampled(tmp_path, device, "devices", FAKE_DEVICES="2")
    for number in (0, 1):
        check_values(ran, device=number)
    assert not lost(ran)


def test_a_device_that_samples_by_cycles(device, tmp_path):
    """Turing and GA100: 500,000 cycles of 1.25 GHz."""
    ran = sampled(tmp_path, device, fakes=("--fail", "metric-cycles"))
    check_values(ran)
    times = [time for time, _ in stored(ran, ACTIVE)]
    assert {later - time for time, later in zip(times, times[1:])} == {400000} and not lost(ran)


def test_when_samples_by_cycles_were(device, tmp_path):
    """How long one takes is not known before it was read: 40 ms, not the 50 that were asked for."""
    ran = sampled(tmp_path, device, rate="@20", fakes=("--fail", "metric-cycles"))
    realtime = time.time_ns() - time.monotonic_ns()
    truth = sorted(int(row["start_ns"]) for row in ran.of("read", ACTIVE))
    found = [begin for begin, _ in stored(ran, ACTIVE)]
    assert len(truth) > 3 and [begin - realtime for begin in found] == [pytest.approx(begin, abs=3000000) for begin in truth]


def test_few_samples_fit_into_an_image(device, tmp_path):
    """63 of a quarter of a megabyte: CUPTI is asked until there are no more."""
    ran = sampled(tmp_path, device, fakes=("--fail", "metric-large"))
    check_values(ran)
    assert not lost(ran) and not ran.of("left")


# ---- what is shown ----


def test_what_the_view_says(device, tmp_path):
    ran = sampled(tmp_path, device, names=(WARPS, INSTRUCTIONS), options=("--trace",))
    answers = json.loads(program.sonde("timeline", tmp_path / "run.sdb", "--view", "metrics", "--format", "json"))
    rows = {row["metric"]: row for row in answers["metrics"]["rows"]}
    assert rows.keys() == {WARPS, INSTRUCTIONS} and (rows[WARPS]["unit"], rows[INSTRUCTIONS]["unit"]) == ("%", "1")
    for name, row in rows.items():
        values = [value for _, value in stored(ran, name)]
        assert (row["samples"], row["min"], row["max"]) == (len(values), min(values), max(values))
        assert row["mean"] == pytest.approx(sum(values) / len(values)) and row["min"] <= row["computing_mean"] <= row["max"]
    assert len(answers["metric_0"]["rows"]) == 200
    # of the samples in which kernels ran
    rows = list(csv.DictReader(io.StringIO(program.sonde("export", "--to", "events", tmp_path / "run.sdb", "-o", "-"))))
    kernels = [(int(row["start_ns"]), int(row["end_ns"])) for row in rows if row["kind"] == "interval" and row["name"].startswith("work")]
    weighed = [(value, max(0, min(end, time + 500000) - max(start, time))) for time, value in stored(ran, WARPS) for start, end in kernels]
    expected = sum(value * weight for value, weight in weighed) / sum(weight for _, weight in weighed)
    assert answers["metrics"]["rows"][0]["metric"] in (WARPS, INSTRUCTIONS)
    assert {row["metric"]: row for row in answers["metrics"]["rows"]}[WARPS]["computing_mean"] == pytest.approx(expected)


def test_where_nothing_was_sampled(device, tmp_path):
    subprocess.run([FAKE, SONDE, "run", "-q", "-o", tmp_path / "run", "--trace", "--", device], check=True, capture_output=True)
    text = program.sonde("timeline", tmp_path / "run.sdb", "--view", "metrics")
    assert "no metrics are recorded: sonde run does with --gpu-metrics" in text


def test_counters_of_other_tools(device, tmp_path):
    """Chrome's JSON has them as counters of the device."""
    ran = sampled(tmp_path, device, names=(BYTES,))
    trace = json.loads(program.sonde("export", "--to", "chrome", tmp_path / "run.sdb", "-o", "-"))
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    found = [event["args"]["bytes/s"] for event in events if event["ph"] == "C" and event["name"] == BYTES]
    assert found == [value for _, value in stored(ran, BYTES)]


# ---- what is lost ----


@pytest.mark.parametrize("failure", ["metric-full", "metric-full-error"])
def test_what_a_full_buffer_loses_is_counted(device, tmp_path, failure):
    """It has room for 50 samples, which are 25 ms; it is read each 100 ms. How many are lost after the last reading is known but for some."""
    ran = sampled(tmp_path, device, fakes=("--fail", failure))
    assert len(ran.of("lost", ACTIVE)) > 200 and abs(lost(ran) - len(ran.of("lost"))) <= 4 * 20
    assert len(stored(ran, ACTIVE)) == len(ran.of("read", ACTIVE)) and (len(ran.of("read", ACTIVE)) > 100) == (failure == "metric-full")


def test_while_nobody_reads(device, tmp_path):
    """The buffer has room for some seconds."""
    ran = sampled(tmp_path, device, "waits")
    check_values(ran)
    assert not lost(ran) and len(ran.of("read", ACTIVE)) > 1200


@pytest.mark.parametrize("failure,of", [("metric-nan", 5), ("counter-evaluate", 5)])
def test_values_that_are_none(device, tmp_path, failure, of):
    ran = sampled(tmp_path, device, fakes=("--fail", failure))
    read = len(ran.of("read"))
    assert lost(ran) == pytest.approx(read / of, abs=4) and len(stored(ran, ACTIVE)) * 4 == read - lost(ran)


# ---- a program's end ----


def test_a_program_behaves_as_without(device, tmp_path):
    for way in ("works", "status"):
        plain = subprocess.run([FAKE, device, way], capture_output=True, text=True)
        ran = sampled(tmp_path / way, device, way, returned=plain.returncode)
        assert ran.out == plain.stdout == "no error\n" and plain.returncode == (5 if way == "status" else 0)


def test_until_the_program_stops_measuring(device, tmp_path):
    ran = sampled(tmp_path, device, "stops")
    check_values(ran)
    assert not lost(ran) and 200 < len(ran.of("read", ACTIVE)) < 500 and not ran.of("left")


def test_a_child_samples_nothing(device, tmp_path):
    ran = sampled(tmp_path, device, "fork")
    check_values(ran)
    assert ran.out == "child 3\nno error\n" and not lost(ran)


def test_a_program_that_is_killed(device, tmp_path):
    """What was read by then is there, but for the last reading."""
    done = subprocess.run([FAKE, SONDE, "run", "-q", "-o", tmp_path / "run", "--gpu-metrics", ACTIVE, "--", device, "dies"], capture_output=True,
                          text=True, timeout=60)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "")
    assert 80 < len(stored(Ran("", tmp_path, []), ACTIVE)) < 320


# ---- what is refused ----


def refused(ran: Sampled) -> str:
    """Why nothing is sampled; all else is measured."""
    line = status(ran)
    assert "; no metrics over time: " in line and "\n" not in line and not stored(ran, ACTIVE)
    assert ran.out == "no error\n" and measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel)
    return line.partition("over time: ")[2]


@pytest.mark.parametrize("release", WITHOUT)
def test_releases_that_cannot(device, tmp_path, release):
    ran = sampled(tmp_path, device, fakes=("--cupti", release))
    assert refused(ran) == "cuptiPmSamplingEnable is missing, which CUPTI has from 12.6 on"


@pytest.mark.parametrize("names,why", [
    (("sm__unheard_of.sum",), "sm__unheard_of.sum is no counter of the chip GH100"),
    ((*LIST, "dram__bytes_write.sum"), "the list needs 2 passes, and a moment has one")])
def test_a_list_that_cannot_be_sampled(device, tmp_path, names, why):
    assert refused(sampled(tmp_path, device, names=names)) == why


@pytest.mark.parametrize("failure,why", [
    ("metric-privileges", "the driver lets only administrators do so (RmProfilingAdminOnly)"),
    ("metric-unsupported", "the device cannot be sampled so"),
    ("metric-busy", "another tool has the device's performance monitors"),
    ("counter-chip", "CUPTI does not know the chip GH100"),
    ("counter-nvperf", "CUPTI does not find libnvperf_host.so, which lies beside it"),
    *((failure, "with error 999" if failure == "counter-add" else "fails with error 999") for failure in FAILURES)])
def test_a_function_that_fails_leaves_all_else(device, tmp_path, failure, why):
    assert refused(sampled(tmp_path, device, fakes=("--fail", failure))).endswith(why)


@pytest.mark.parametrize("failure", ["metric-stop", "metric-disable"])
def test_one_that_fails_late(device, tmp_path, failure):
    """What was read by then is kept."""
    ran = sampled(tmp_path, device, fakes=("--fail", failure))
    assert len(stored(ran, ACTIVE)) > 200 and measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel)
    late = "; metrics of devices over time" + (", until cuptiPmSamplingStop fails with error 999" if failure == "metric-stop" else "")
    assert status(ran).endswith(late)


def test_decoding_that_hangs(device, tmp_path):
    """At the end: what was read by then and what was not is counted, and only that is missing."""
    ran = sampled(tmp_path, device, fakes=("--fail", "metric-hangs"))
    assert measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel)
    assert set(program.info(tmp_path)["drops"]) - {"sample-busy"} == {LOST}
    assert status(ran).startswith("CUPTI hung when it was to decode its last metrics over time")
    read = len(stored(ran, ACTIVE))
    assert read > 100 and lost(ran) == pytest.approx(len(ran.of("read")) + len(ran.of("left")) - len(LIST) * read, abs=4 * 20)


def test_one_line_says_that_nothing_was_sampled(device, tmp_path):
    for failure, lines in (("metric-privileges", ["sonde: --gpu-metrics: nothing was sampled: the driver lets only administrators do so "
                                                  "(RmProfilingAdminOnly)"]), ("strict", [])):
        done = subprocess.run([FAKE, "--fail", failure, SONDE, "run", "-o", tmp_path / failure, "--gpu-metrics", ACTIVE, "--", device],
                              capture_output=True, text=True, timeout=60)
        assert [line for line in done.stderr.splitlines() if line.startswith("sonde: ")] == [TOLD.strip(), *lines] and done.returncode == 0
    done = subprocess.run([SONDE, "run", "-o", tmp_path / "none", "--gpu-metrics", ACTIVE, "--", "true"], capture_output=True, text=True)
    assert "sonde: --gpu-metrics: nothing was sampled: no CUDA driver in this process\n" in done.stderr


def test_others_go_before_it(device, tmp_path):
    """Where the environment asks for both; the command line refuses that."""
    ran = sampled(tmp_path, device, SONDE_GPU_COUNTERS=INSTRUCTIONS)
    assert refused(ran) == "kernels are counted, which needs the same of the device"


@pytest.mark.parametrize("text,fault", [
    ("", "needs at least one name"), ("@100", "needs at least one name"), ("a,,b", "has an empty name"), ("a,", "has an empty name"),
    ("a,b,a@5", "has a name twice"), ("a b", "has a name with another character than letters, digits and _.:[]()="),
    *((f"a@{rate}", "has no rate of 1 to 100000 samples a second behind @") for rate in ("", "0", "-1", "1k", "100001", "5@6")),
    (",".join(f"m{i}" for i in range(33)), "has more than 32 names"), ("m" * 129, "has a name longer than 128 bytes")])
def test_lists_that_are_none(text, fault, tmp_path):
    done = subprocess.run([SONDE, "run", "-o", tmp_path / "run", "--gpu-metrics", text, "--", "true"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (128, f"sonde: cannot sample: --gpu-metrics '{text}' {fault}\n")


@pytest.mark.parametrize("other", ["--gpu-samples", "--gpu-counters=A"])
def test_not_together_with(other, tmp_path):
    done = subprocess.run([SONDE, "run", "-o", tmp_path / "run", "--gpu-metrics", "A", other, "--", "true"], capture_output=True, text=True)
    name = other.partition("=")[0]
    assert (done.returncode, done.stderr) == (
        128, f"sonde: --gpu-metrics and {name} exclude each other: both need the devices' performance monitors\n")


# ---- NVIDIA's own ----


@pytest.mark.parametrize("release", WITH)
def test_declarations_are_as_the_headers_are(without_cpp, release):  # noqa: F811
    done = subprocess.run(["gcc", "-std=gnu17", "-Wno-enum-compare", f"-I{without_cpp}", f"-I{headers(release)}", f"-I{ROOT / 'src'}", "-fsyntax-only",
                           CUPTI / "layout_pm_sampling.c"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("release", ["12.9", "13.0", "13.1"])
def test_what_nvidias_library_says_of_lists(count, release):  # noqa: F811
    folder = installed("--host", release)
    busy = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"
    traffic = "dram__read_throughput.avg.pct_of_peak_sustained_elapsed"
    said = asked(count, folder, "GH100", "--over-time", busy, traffic, BYTES)
    assert re.fullmatch(r"bytes \d+", said[0]) and [line.split()[0] for line in said[1:]] == [busy, traffic, BYTES]
    assert said[3] == f"{BYTES} bytes"
    assert asked(count, folder, "GH100", "--over-time", "sm__throughput.avg.pct_of_peak_sustained_elapsed") == [
        "the list needs 19 passes, and a moment has one"]
    assert asked(count, folder, "GV100", "--over-time", busy) == ["CUPTI does not know the chip GV100"]
    assert asked(count, folder, "GH100", "--over-time", "sm__unheard_of.sum") == ["sm__unheard_of.sum is no counter of the chip GH100"]
