# SPDX-License-Identifier: Apache-2.0
"""Hardware counters of HIP's kernels, on devices that are not there: each kernel's values are those of the fake's table."""
from __future__ import annotations

import csv
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

import program
from program import SONDE
from test_rocm import KNOWN, Ran, count_by_line, is_kernel, known_program, line_with, measured, on_fakes, plain, sdk_folder  # noqa: F401

# name, instances, what it counts in a block, and more in each further launch, expression
PLAN = """\
SQ_WAVES 8 4 0 -
GRBM_GUI_ACTIVE 1 100 3 -
TCC_HIT[0] 16 10 1 -
FETCH_SIZE 1 0.1 0.25 (TCC_RDREQ_sum*64+TCC_RDREQ_32B_sum*32)/1024
L2CacheHit 1 1 0 100*reduce(TCC_HIT,sum)/(reduce(TCC_HIT,sum)+reduce(TCC_MISS,sum))
HUGE 1 1e16 0 -
FIFTH 1 1 0 -
SIXTH 1 1 0 -
LAST 2 2 0 -
"""
GOOD = ["SQ_WAVES", "GRBM_GUI_ACTIVE", "TCC_HIT[0]", "FETCH_SIZE"]
# the runtime's kernels, as they are shown
SHOWN = {"__amd_rocclr_fillBufferAligned": "set", "__amd_rocclr_copyBuffer": "copy by a kernel"}
MEASURED, GRAPHS = "rocprofiler-sdk: kernels, copies and sets below the calls that launched them", "; graphs node by node"
KERNELS = 40 + 60 + 25 + 35 + 10 * 4 + 3  # and two sets, and a copy inside the device


@dataclass
class Counted(Ran):
    """And the exact table of what was counted."""

    counters: list[dict[str, str]]

    def of(self, counter: str, column: str) -> dict[str, float]:
        return {row["kernel"]: float(row[column]) for row in self.counters if row["counter"] == counter}


def demangled(name: str) -> str:
    return SHOWN.get(name) or subprocess.run(["c++filt", name], capture_output=True, text=True, check=True).stdout.strip()


def counted(folder: Path, *command: str | Path, counters: list[str], fail: str = "none", options: tuple[str, ...] = (),
            **environment: str) -> Counted:
    (folder / "plan").write_text(PLAN)
    ran = on_fakes(folder, *command, fail=fail, options=("--gpu-counters", ",".join(counters), *options),
                   stderr=f"sonde: --gpu-counters: each kernel runs alone while it is counted: {LONGER}\n",
                   FAKE_COUNTERS=str(folder / "plan"), FAKE_COUNTERS_TABLE=str(folder / "counters.csv"), **environment)
    rows = []
    if (folder / "counters.csv").exists():
        with open(folder / "counters.csv", newline="") as file:
            rows = [{**row, "kernel": demangled(row["kernel"])} for row in csv.DictReader(file)]
    return Counted(ran.out, ran.folder, ran.table, ran.status, rows)


LONGER = "kernels that overlap otherwise take longer"


@pytest.fixture(scope="module")
def known(known_program, tmp_path_factory) -> Counted:  # noqa: F811
    return counted(tmp_path_factory.mktemp("counters"), known_program, counters=GOOD)


def metrics(ran: Ran) -> dict[str, dict]:
    return {metric["name"]: metric for metric in program.info(ran.folder)["metrics"]}


def lost(ran: Ran) -> int:
    return program.info(ran.folder).get("drops", {}).get("gpu-counter-lost", 0)


def values(ran: Ran, counter: str, what: str) -> Counter[str]:
    return measured(ran, counter, what) if counter in metrics(ran) else Counter()


@pytest.mark.parametrize("counter", GOOD[:3])
@pytest.mark.parametrize("what", ["count", "sum", "min", "max"])
def test_each_kernels_values_are_the_tables(known, counter, what):
    if what in ("count", "sum"):
        assert values(known, counter, what) == known.of(counter, what)
        return
    found: dict[str, float] = {}
    for frames, value in program.paths(known.folder, counter, "--metric", counter):
        name = frames[-1]["name"]
        found[name] = (min if what == "min" else max)(found.get(name, value[what]), value[what])
    assert found == known.of(counter, what)


def test_fractions_are_rounded_in_each_launch(known):
    """The fake counts blocks / 10 + launch / 4 in each."""
    for name, total in values(known, "FETCH_SIZE", "sum").items():
        launches = int(known.of("FETCH_SIZE", "count")[name])
        blocks = 256 if "float" in name else 1
        assert total == sum(int(blocks / 10 + launch / 4 + 0.5) for launch in range(launches)) and launches


def test_each_value_stands_below_the_line_that_launched_its_kernel(known):
    found: Counter[str] = Counter()
    for frames, value in program.paths(known.folder, "SQ_WAVES", "--metric", "SQ_WAVES"):
        if frames[-1]["kind"] != "kernel":
            continue
        kernel = frames[-1]["name"].split("(")[0]
        lines = [f"{frame['file']}:{frame['line']}" for frame in frames
                 if (frame.get("file") or "").endswith("/known.hip") and kernel not in frame["name"].replace("__device_stub__", "")]
        found[lines[-1]] += round(value["sum"])
    assert found == {line: 4 * 256 * count for line, count in count_by_line(known, is_kernel).items()}
    assert found[line_with("// scale_often")] == 4 * 256 * 100


def test_counting_adds_nothing_to_times_and_loses_nothing(known):
    assert measured(known, "kernel-time", "sum") == known.truth("total_ns", is_kernel)
    assert (known.status, known.out) == (0, "0 no error\n") and lost(known) == 0
    assert known.line() == f"{MEASURED}, and counters of each kernel{GRAPHS}"


def test_metrics_have_the_vendors_names(known):
    found = metrics(known)
    assert [found[name]["unit"] for name in GOOD] == ["1"] * 4 and "HUGE" not in found


def test_formulas_divide_the_sums(known):
    """A name with other characters than words have is quoted."""
    row = program.rows(known.folder, "--metric", 'cycles_per_hit=GRBM_GUI_ACTIVE / "TCC_HIT[0]"')[0]
    cycles, hits = (sum(known.of(counter, "sum").values()) for counter in ("GRBM_GUI_ACTIVE", "TCC_HIT[0]"))
    assert row["depth"] == 0 and row["values"]["cycles_per_hit"]["inclusive"] == pytest.approx(cycles / hits)


# ---- what cannot be counted is said, and nothing is counted ----

ON_DEVICE = "; no counters on HIP device 0: "


@pytest.mark.parametrize("counters,fail,line", [
    (["SQ_WAVES", "SQ_NONE"], "none", ON_DEVICE + "SQ_NONE is none of its counters"),
    (["SQ_WAVES", "L2CacheHit"], "none", ON_DEVICE + "L2CacheHit is a ratio, which cannot be added up over launches"),
    (["SQ_WAVES", "GRBM_GUI_ACTIVE", "TCC_HIT[0]", "FETCH_SIZE", "FIFTH", "SIXTH", "LAST"], "none",
     ON_DEVICE + "they need more than one pass: Exceeds hardware limits"),
    (["SQ_WAVES"], "counter-denied", ON_DEVICE + "SQ_WAVES: Permission denied"),
    (["SQ_WAVES"], "counter-refuse", "; no counters: rocprofiler-sdk refuses: an error"),
])
def test_what_cannot_be_counted(known_program, counters, fail, line, tmp_path):  # noqa: F811
    ran = counted(tmp_path, known_program, counters=counters, fail=fail)
    assert ran.line() == MEASURED + line + GRAPHS
    assert not set(counters) & set(metrics(ran)) and ran.counters == [] and lost(ran) == 0
    assert measured(ran, "kernel-time", "sum") == ran.truth("total_ns", is_kernel) and (ran.status, ran.out) == (0, "0 no error\n")


def test_six_fit_into_a_pass(known_program, tmp_path):  # noqa: F811
    ran = counted(tmp_path, known_program, counters=["SQ_WAVES", "GRBM_GUI_ACTIVE", "TCC_HIT[0]", "FIFTH", "SIXTH", "LAST"])
    assert values(ran, "LAST", "sum") == ran.of("LAST", "sum") != {}


def test_an_sdk_that_lacks_a_function(known_program, tmp_path):  # noqa: F811
    (tmp_path / "own").mkdir()
    code = Path(sdk_folder(), "librocprofiler-sdk.so.1").read_bytes()
    library = tmp_path / "own/librocprofiler-sdk.so.1"
    library.write_bytes(code.replace(b"\0rocprofiler_create_counter_config\0", b"\0rocprofiler_create_profile_config\0"))
    assert library.read_bytes() != code
    ran = counted(tmp_path, known_program, counters=GOOD, fail="no-sdk", ROCPROFILER_REGISTER_LIBRARY=str(library))
    assert ran.line().endswith("; no counters: rocprofiler-sdk lacks rocprofiler_create_counter_config" + GRAPHS)
    assert measured(ran, "kernel-time", "sum") == ran.truth("total_ns", is_kernel)


def test_without_the_sdk_there_are_no_counters(known_program, tmp_path):  # noqa: F811
    ran = counted(tmp_path, known_program, counters=GOOD, fail="no-sdk")
    assert ran.line() == "calls only, kernels have no times and no counters: no librocprofiler-sdk.so was found"


def test_one_device_of_two(known_program, tmp_path):  # noqa: F811
    """The second lacks the last counter: there nothing is counted; the first counts."""
    ran = counted(tmp_path, known_program, "second", counters=["SQ_WAVES", "LAST"], fail="counter-second", FAKE_DEVICES="2")
    assert "; no counters on HIP device 1: LAST is none of its counters" in ran.line()
    # of the thread whose stream is the first device's
    assert values(ran, "SQ_WAVES", "count") == {"scale(float*, float)": 35} and lost(ran) == 0
    assert values(ran, "LAST", "sum") == ran.of("LAST", "sum")


# ---- losses ----


@pytest.mark.parametrize("fail,of_each", [("counter-lost", 2), ("counter-stray", 2), ("counter-part", 1)])
def test_what_is_lost_is_counted(known_program, fail, of_each, tmp_path):  # noqa: F811
    ran = counted(tmp_path, known_program, counters=["SQ_WAVES", "GRBM_GUI_ACTIVE"], fail=fail)
    assert lost(ran) == KERNELS // 10 * of_each == sum(int(row["lost"]) for row in ran.counters)
    for counter in ("SQ_WAVES", "GRBM_GUI_ACTIVE"):
        for what in ("count", "sum"):
            assert values(ran, counter, what) == {name: value for name, value in ran.of(counter, what).items() if value}


@pytest.mark.parametrize("fail", ["counter-late", "counter-stop"])
def test_values_that_come_too_late_are_lost_once(known_program, fail, tmp_path):  # noqa: F811
    """They come, if ever, after counting was ended: what is stored and what is lost are all."""
    ran = counted(tmp_path, known_program, counters=["SQ_WAVES", "GRBM_GUI_ACTIVE"], fail=fail)
    came = sum(values(ran, "SQ_WAVES", "count").values())
    assert (ran.status, ran.out) == (0, "0 no error\n") and 2 * came + lost(ran) == 2 * KERNELS
    if fail == "counter-stop":
        assert came == 0 and ran.line() == "rocprofiler-sdk did not deliver its last records in 3 seconds"


def test_values_that_are_too_great_are_lost(known_program, tmp_path):  # noqa: F811
    ran = counted(tmp_path, known_program, counters=["HUGE", "SQ_WAVES"])
    assert lost(ran) == sum(ran.of("HUGE", "count").values()) == KERNELS and "HUGE" not in metrics(ran)
    assert values(ran, "SQ_WAVES", "sum") == ran.of("SQ_WAVES", "sum")


def test_counters_whose_numbers_have_the_device_in_them(known_program, tmp_path):  # noqa: F811
    ran = counted(tmp_path, known_program, counters=GOOD, fail="counter-agents")
    assert values(ran, "TCC_HIT[0]", "sum") == ran.of("TCC_HIT[0]", "sum") != {} and lost(ran) == 0


@pytest.mark.parametrize("how", ["exit", "fork", "abort"])
def test_a_program_ends_as_without(known_program, how, tmp_path):  # noqa: F811
    (tmp_path / "plan").write_text(PLAN)
    environment = {"FAKE_COUNTERS": str(tmp_path / "plan")}
    status, out = plain(SONDE, "run", "-q", "-o", tmp_path / "run", "--gpu-counters", "SQ_WAVES", "--", known_program, how, **environment)
    assert (status, out) == plain(known_program, how, **environment)


def test_kernels_that_run_when_the_program_exits(known_program, tmp_path):  # noqa: F811
    ran = counted(tmp_path, known_program, "exit", counters=["SQ_WAVES"])
    assert values(ran, "SQ_WAVES", "sum") == ran.of("SQ_WAVES", "sum") and lost(ran) == 0
    assert values(ran, "SQ_WAVES", "count")["scale(float*, float)"] == 40 + 60 + 25 + 35 + 30 + 100


def test_nothing_is_counted_that_was_not_asked_for(known_program, tmp_path):  # noqa: F811
    (tmp_path / "plan").write_text(PLAN)
    ran = on_fakes(tmp_path, known_program, FAKE_COUNTERS=str(tmp_path / "plan"), FAKE_COUNTERS_TABLE=str(tmp_path / "counters.csv"))
    assert not set(GOOD) & set(metrics(ran)) and ran.line() == MEASURED + GRAPHS
    assert (tmp_path / "counters.csv").read_text() == "kernel,counter,count,sum,min,max,lost\n"


# ---- the option ----


@pytest.mark.parametrize("names,fault", [
    ("", "needs at least one name"),
    (",", "has an empty name"),
    ("SQ_WAVES,", "has an empty name"),
    ("A,,B", "has an empty name"),
    ("A B", "has a name with another character than letters, digits and _.:[]()="),
    ("sm-inst", "has a name with another character than letters, digits and _.:[]()="),
    ("SQ_WÄVES", "has a name with another character than letters, digits and _.:[]()="),
    ("A,B,A", "has a name twice"),
    ("X" * 129, "has a name longer than 128 bytes"),
    (",".join(f"C{i}" for i in range(33)), "has more than 32 names"),
])
def test_a_bad_list_is_refused(names, fault, tmp_path):
    done = subprocess.run([SONDE, "run", "-o", tmp_path / "run", "--gpu-counters", names, "--", "true"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (128, "") and not (tmp_path / "run.sonde").exists()
    assert done.stderr == f"sonde: cannot count: --gpu-counters '{names}' {fault}\n"


def test_a_good_list_is_taken(tmp_path):
    names = ",".join(["X" * 128, "smsp__inst_executed.sum", "A:B=(1)", "TCC_HIT[15]", *(f"C{i}" for i in range(28))])
    done = subprocess.run([SONDE, "run", "-o", tmp_path / "run", "--gpu-counters", names, "--", "true"], capture_output=True, text=True)
    assert done.returncode == 0 and f"runs alone while it is counted: {LONGER}\n" in done.stderr


def test_counters_and_samples_exclude_each_other(tmp_path):
    done = subprocess.run([SONDE, "run", "-o", tmp_path / "run", "--gpu-samples", "--gpu-counters", "A", "--", "true"], capture_output=True,
                          text=True)
    assert (done.returncode, done.stderr) == (
        128, "sonde: --gpu-counters and --gpu-samples exclude each other: both need the devices' performance monitors\n")
