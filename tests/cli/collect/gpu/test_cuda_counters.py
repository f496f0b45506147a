# SPDX-License-Identifier: Apache-2.0
"""Hardware counters of CUDA kernels, on devices that are not there: the values of each kernel and call path are those of the fake's table, and
what is not stored is lost and counted. NVIDIA's own library makes of a list what the adapter asks it for. SONDE_FAKE_CUDA is as test_cuda.py
has it."""
from __future__ import annotations

import os
import subprocess
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import program
import pytest
from on_devices import Ran, is_kernel, measured, metrics, rows_of
from program import ROOT, WORKLOADS
from test_cuda import FAKE, NODES, line_with, on_fakes
from test_cuda import pytestmark  # noqa: F401  (the same condition)
from test_cupti import CUPTI, RELEASES, headers, installed, library, status, without_cpp  # noqa: F401 (a fixture)

SOURCE = WORKLOADS / "cuda/counted.cu"
WITH, WITHOUT = [r for r in RELEASES if r not in ("11.8", "12.4")], ["11.8", "12.4"]
INSTRUCTIONS, CYCLES, BYTES, TIME = "smsp__inst_executed.sum", "sm__cycles_active.avg", "dram__bytes_read.sum", "gpu__time_duration.sum"
LOST = "gpu-counter-lost"
# where it fails, nothing is counted
FAILURES = ["counter-begin", "counter-chip-name", "counter-properties", "counter-add", "counter-image-size", "counter-image", "counter-passes",
            "counter-enable", "counter-data-size", "counter-data", "counter-config", "counter-start", "counter-push", "counter-stop",
            "counter-decode", "counter-info"]
# where it fails before anything was counted, nothing is lost
EARLY = {"counter-privileges", "counter-chip", "counter-nvperf", *FAILURES} - {"counter-stop", "counter-decode", "counter-info"}


@cache
def short(name: str) -> str:
    """Of a kernel, mangled or readable: "part<1>"."""
    plain = subprocess.run(["c++filt", name], capture_output=True, text=True, check=True).stdout.strip() if name.startswith("_Z") else name
    return plain.partition("(")[0].removeprefix("void ")


@dataclass
class Counted(Ran):
    """And the exact table of what was counted."""

    counts: list[dict[str, str]]

    def truth_of(self, metric: str, is_of_graph: bool = False) -> Counter[str]:
        """By kernel; those that no range had count nothing."""
        found: Counter[str] = Counter()
        for row in self.counts:
            if row["metric"] == metric and (row["graph"] != "0") == is_of_graph and int(row["launches"]):
                found[short(row["kernel"])] += round(float(row["value"]))
        return found

    def launches(self, column: str) -> int:
        """In all of one metric, as rows of metrics repeat them."""
        first = self.counts[0]["metric"] if self.counts else ""
        return sum(int(row[column]) for row in self.counts if row["metric"] == first)


def counted(folder: Path, *command: str | Path, names: tuple[str, ...] = (INSTRUCTIONS,), options: tuple[str, ...] = (), fakes: tuple[str, ...] = (),
            **environment: str) -> Counted:
    folder.mkdir(exist_ok=True)
    ran = on_fakes(folder, *command, options=("--gpu-counters", ",".join(names), *options),
                   fakes=("--counter-table", str(folder / "counts.csv"), *fakes), **environment)
    return Counted(ran.out, ran.folder, ran.table, rows_of(folder / "counts.csv"))


@pytest.fixture(scope="module")
def samples(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("cuda") / "samples"
    subprocess.run([FAKE, "nvcc", "-g", "-O1", "-arch=sm_90", "-o", output, WORKLOADS / "cuda/samples.cu"], check=True)
    return output


@pytest.fixture(scope="module")
def ways(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("cuda") / "counted"
    subprocess.run([FAKE, "nvcc", "-g", "-O1", "-arch=sm_90", "-std=c++17", "-o", output, SOURCE], check=True)
    return output


def stored(ran: Ran, metric: str, kind: str = "kernel") -> Counter[str]:
    found: Counter[str] = Counter()
    if metric in metrics(ran):
        for frames, value in program.paths(ran.folder, metric, "--metric", metric):
            if frames[-1]["kind"] == kind:
                found[short(frames[-1]["name"])] += round(value["sum"])
    return found


def values(ran: Ran, metric: str) -> int:
    return sum(measured(ran, metric, "count").values()) if metric in metrics(ran) else 0


def lost(ran: Ran) -> int:
    return program.info(ran.folder).get("drops", {}).get(LOST, 0)


def launched(ran: Ran) -> int:
    return sum(Ran.truth(ran, "count", is_kernel).values())


# ---- values ----


@pytest.mark.parametrize("release", WITH)
def test_each_kernel_has_the_values_of_its_launches(samples, tmp_path, release):
    """Also that nothing of CUPTI is called before the driver is initialised."""
    names = (INSTRUCTIONS, CYCLES, BYTES)
    ran = counted(tmp_path, samples, names=names, fakes=("--cupti", release, "--fail", "strict"))
    assert ran.out == "no error\n" and not lost(ran)
    assert status(ran).endswith("; counters of each launch, kernels one at a time")
    for name in names:
        assert stored(ran, name) == ran.truth_of(name) and set(ran.truth_of(name)) == {"walk", "call"}
        assert values(ran, name) == launched(ran) == ran.launches("launches") == 60
    # all else is as without
    assert measured(ran, "kernel-time", "count") == Ran.truth(ran, "count", is_kernel)


def test_values_are_those_of_the_call_that_launched(samples, tmp_path):
    """The nth launch counts 1000 + 10 (n - 1): 30 of the first call, then 10 of the second."""
    plan = tmp_path / "plan"
    plan.write_text(f"_Z4walk* {INSTRUCTIONS} 1000 10\n_Z4call* {INSTRUCTIONS} 7 0\n")
    ran = counted(tmp_path, samples, fakes=("--counters", str(plan)))
    found: Counter[str] = Counter()
    for frames, value in program.paths(ran.folder, INSTRUCTIONS, "--metric", INSTRUCTIONS):
        lines = [f"{f['file']}:{f['line']}" for f in frames if (f.get("file") or "").endswith("samples.cu") and f["kind"] in ("native", "inlined")
                 and short(f["name"]) in ("main", "first", "second")]
        found[lines[-1]] += round(value["sum"])
    assert found == {line_with("samples.cu", "// first"): sum(1000 + 10 * n for n in range(30)),
                     line_with("samples.cu", "// second"): sum(1000 + 10 * n for n in range(30, 40)),
                     line_with("samples.cu", "// alone"): 20 * 7}


def test_units_and_parts(samples, tmp_path):
    """CUPTI tells of bytes and times; halves are rounded, what is no number or does not fit is lost."""
    plan = tmp_path / "plan"
    plan.write_text(f"* {BYTES} 2.5 0\n* {CYCLES} nan 0\n* {INSTRUCTIONS} 1e18 0\n")
    ran = counted(tmp_path, samples, names=(BYTES, CYCLES, INSTRUCTIONS, TIME), fakes=("--counters", str(plan)))
    units = {metric["name"]: metric["unit"] for metric in program.info(ran.folder)["metrics"]}
    assert units[BYTES] == "bytes" and units[TIME] == "ns" and stored(ran, BYTES) == {"walk": 40 * 3, "call": 20 * 3}
    assert not stored(ran, CYCLES) and not stored(ran, INSTRUCTIONS) and lost(ran) == 2 * 60


@pytest.mark.parametrize("options", [(), NODES])
@pytest.mark.parametrize("release", ["12.9", "13.2"])
def test_a_replayed_graph_is_counted_as_a_whole(samples, tmp_path, release, options):
    ran = counted(tmp_path, samples, "graph", options=options, fakes=("--cupti", release))
    assert stored(ran, INSTRUCTIONS) == ran.truth_of(INSTRUCTIONS) and not lost(ran)
    assert stored(ran, INSTRUCTIONS, "gpu-op") == {"graph": sum(ran.truth_of(INSTRUCTIONS, True).values())}
    assert values(ran, INSTRUCTIONS) == 60 + 15 and ran.launches("launches") == 60 + 30


def test_more_launches_than_are_read_at_once(ways, tmp_path):
    ran = counted(tmp_path, ways, "many", "900", names=(INSTRUCTIONS, BYTES))
    for name in (INSTRUCTIONS, BYTES):
        assert stored(ran, name) == ran.truth_of(name) and values(ran, name) == 1500
    assert not lost(ran) and not ran.launches("outside")


def test_few_ranges_fit(ways, tmp_path):
    """16 of a megabyte."""
    ran = counted(tmp_path, ways, "many", "60", fakes=("--fail", "counter-large"))
    assert stored(ran, INSTRUCTIONS) == ran.truth_of(INSTRUCTIONS) and values(ran, INSTRUCTIONS) == 100 and not lost(ran)


@pytest.mark.measures  # on a busy machine a thread may wait so long that its launch is not counted
@pytest.mark.parametrize("how,kernels", [("threads", 4), ("devices", 2)])
def test_threads_and_devices(ways, tmp_path, how, kernels):
    """What one launches is not counted as another's."""
    ran = counted(tmp_path, ways, how, "150", FAKE_DEVICES="2")
    assert ran.out == "no error\n" and len(ran.truth_of(INSTRUCTIONS)) == kernels
    assert stored(ran, INSTRUCTIONS) == ran.truth_of(INSTRUCTIONS)
    assert values(ran, INSTRUCTIONS) == 150 * kernels and not lost(ran) and not ran.launches("outside")


@pytest.mark.measures
def test_a_launch_that_would_wait_too_long(ways, tmp_path):
    """It is not counted, nor is what it was launched beside: the fake's range has both."""
    plan = tmp_path / "plan"
    plan.write_text("_Z4partILi1* 4000000000\n")
    ran = counted(tmp_path, ways, "beside", fakes=("--plan", str(plan)))
    assert ran.out == "no error\n" and ran.truth_of(INSTRUCTIONS).keys() == {"part<1>", "part<2>", "part<3>"}
    assert stored(ran, INSTRUCTIONS) == {"part<3>": ran.truth_of(INSTRUCTIONS)["part<3>"]} and lost(ran) == 2


def test_a_context_that_ends(ways, tmp_path):
    ran = counted(tmp_path, ways, "resets", "30")
    assert stored(ran, INSTRUCTIONS) == ran.truth_of(INSTRUCTIONS) and values(ran, INSTRUCTIONS) == 100 and not lost(ran)


def test_launches_that_fail_count_nothing(ways, tmp_path):
    ran = counted(tmp_path, ways, "fails", "20")
    assert stored(ran, INSTRUCTIONS) == ran.truth_of(INSTRUCTIONS) and values(ran, INSTRUCTIONS) == 40 and not lost(ran)


def test_while_a_stream_is_captured(ways, tmp_path):
    """What another stream launches then is not counted, and counts as lost; what is captured is none."""
    ran = counted(tmp_path, ways, "captured", "5", names=(INSTRUCTIONS, BYTES))
    assert stored(ran, INSTRUCTIONS) == ran.truth_of(INSTRUCTIONS) and len(ran.truth_of(INSTRUCTIONS)) == 1
    assert ran.launches("outside") == 1 and lost(ran) == 2 and values(ran, INSTRUCTIONS) == 2 + 5


def test_a_capture_that_begins_while_values_are_read(ways, tmp_path):
    """The fake's CUPTI waits for the device then, which would spoil it."""
    ran = counted(tmp_path, ways, "reading", FAKE_DEVICES="2", FAKE_DECODE_MS="500")
    assert ran.out == "no error\nno error\n"
    assert stored(ran, INSTRUCTIONS) == ran.truth_of(INSTRUCTIONS) and values(ran, INSTRUCTIONS) == 258 and not lost(ran)


@pytest.mark.parametrize("decode_ms,gone", [("500", 0), ("2600", 1)])
def test_a_context_that_ends_while_another_is_read(ways, tmp_path, decode_ms, gone):
    """It waits for two seconds; then what was counted in it is lost, and counted."""
    ran = counted(tmp_path, ways, "ends", FAKE_DEVICES="2", FAKE_DECODE_MS=decode_ms)
    assert ran.out == "no error\n" and ran.launches("lost") == gone == lost(ran)
    assert stored(ran, INSTRUCTIONS) == ran.truth_of(INSTRUCTIONS) and values(ran, INSTRUCTIONS) == 258 - gone


def test_cupti_that_gives_records_away_while_it_evaluates(samples, tmp_path):
    ran = counted(tmp_path, samples, fakes=("--fail", "counter-gives"))
    assert stored(ran, INSTRUCTIONS) == ran.truth_of(INSTRUCTIONS) and values(ran, INSTRUCTIONS) == 60 and not lost(ran)
    assert measured(ran, "kernel-time", "count") == Ran.truth(ran, "count", is_kernel)


def test_a_program_that_ends_while_a_launch_waits(ways, tmp_path):
    """What was done by then is all there, but for what was counted of the context."""
    plan = tmp_path / "plan"
    plan.write_text("_Z4partILi2* 4000000000\n")
    ran = counted(tmp_path, ways, "leaves", "30", fakes=("--plan", str(plan)))
    assert ran.out == "leaves\n" and status(ran).endswith("kernels one at a time") and lost(ran) == 30
    assert measured(ran, "kernel-time", "count") == Ran.truth(ran, "count", is_kernel)


def test_a_program_that_ends_while_cupti_reads(ways, tmp_path):
    """Longer than it is waited for: kernels are there with their times, and what was counted is lost."""
    ran = counted(tmp_path, ways, "many", "30", names=(INSTRUCTIONS, BYTES), FAKE_DECODE_MS="4000")
    assert ran.out == "no error\n" and status(ran) == "CUPTI has not given its last counters within 2 seconds"
    assert measured(ran, "kernel-time", "count") == Ran.truth(ran, "count", is_kernel) and lost(ran) == 2 * 50
    assert not stored(ran, INSTRUCTIONS) and "gpu-lost" not in program.info(ran.folder)["drops"]


def test_the_launch_that_makes_its_context(ways, tmp_path):
    ran = counted(tmp_path, ways, "first")
    assert not stored(ran, INSTRUCTIONS) and lost(ran) == 1


def test_a_child_of_a_counted_process(known_program, tmp_path):
    ran = counted(tmp_path, known_program, "fork", options=NODES)
    assert ran.out == "child 3\n0 no error\n"
    assert sum(stored(ran, INSTRUCTIONS).values()) == sum(ran.truth_of(INSTRUCTIONS).values()) > 0


def test_kernels_of_pytorch(tmp_path):
    ran = counted(tmp_path, "python3", WORKLOADS / "cuda/train.py", "2", "3", names=(INSTRUCTIONS, BYTES))
    for name in (INSTRUCTIONS, BYTES):
        assert stored(ran, name) == ran.truth_of(name) and len(ran.truth_of(name)) > 5
        assert stored(ran, name, "gpu-op") == {"graph": sum(ran.truth_of(name, True).values())}
    assert not lost(ran) and not ran.launches("outside")


def test_until_the_program_takes_cupti(tmp_path):
    """PyTorch's profiler does: what was counted by then is kept, and it sees what it sees without."""
    ran = counted(tmp_path, "python3", WORKLOADS / "cuda/profiled.py", "2", "after")
    assert status(ran).endswith("then PyTorch's profiler took CUPTI") and ran.launches("outside") > 10
    assert stored(ran, INSTRUCTIONS) == ran.truth_of(INSTRUCTIONS) and values(ran, INSTRUCTIONS) == 31 and not lost(ran)


# ---- what is lost ----


@pytest.mark.parametrize("failure", ["counter-drop", "counter-evaluate", "counter-name"])
def test_what_is_lost_is_counted(samples, tmp_path, failure):
    """Each fifth range; where the fake only refuses to tell of it, its table has it."""
    ran = counted(tmp_path, samples, names=(INSTRUCTIONS, BYTES), fakes=("--fail", failure))
    assert ran.out == "no error\n" and "one at a time" in status(ran)
    assert lost(ran) == 2 * 12 and values(ran, INSTRUCTIONS) == 48
    if failure == "counter-drop":
        assert stored(ran, INSTRUCTIONS) == ran.truth_of(INSTRUCTIONS) and ran.launches("lost") == 12


# ---- what is refused ----


def refused(ran: Ran, how: str = "nothing is counted") -> str:
    """Why nothing is counted, or nothing more; all else is measured."""
    line = status(ran)
    assert line.startswith(f"CUPTI: calls, kernels, copies and sets; {how}: ") and "\n" not in line
    assert ran.out == "no error\n" and measured(ran, "kernel-time", "count") == Ran.truth(ran, "count", is_kernel)
    return line.partition(f"{how}: ")[2]


@pytest.mark.parametrize("release", WITHOUT)
def test_releases_that_do_not_count(samples, tmp_path, release):
    ran = counted(tmp_path, samples, fakes=("--cupti", release))
    assert refused(ran) == "cuptiProfilerHostInitialize is missing, which CUPTI has from 12.6 on"
    assert not ran.counts and INSTRUCTIONS not in metrics(ran)


@pytest.mark.parametrize("names,why", [
    ((INSTRUCTIONS, "sm__unheard_of.sum"), "sm__unheard_of.sum is no counter of the chip GH100"),
    (("sm__warps_active.avg.pct_of_peak_sustained_active",),
     "sm__warps_active.avg.pct_of_peak_sustained_active is no sum, average, least or greatest, so it does not add"),
    (("sm__throughput.max",), "sm__throughput.max is a ratio, so it does not add"),
    (("smsp__inst_executed",), "smsp__inst_executed is no sum, average, least or greatest, so it does not add"),
    ((INSTRUCTIONS, "pcie__read_bytes.sum"), "pcie__read_bytes.sum is refused beside those before it, by cuptiProfilerHostConfigAddMetrics with error 27"),
    ((INSTRUCTIONS, CYCLES, BYTES, "dram__bytes_write.sum", "l1tex__t_sectors.sum"), "the list needs 2 passes, and no kernel is run twice")])
def test_a_list_that_cannot_be_counted(samples, tmp_path, names, why):
    ran = counted(tmp_path, samples, names=names)
    assert refused(ran) == why and not ran.launches("launches") and not set(names) & metrics(ran)


@pytest.mark.parametrize("failure,why", [
    ("counter-privileges", "the driver lets only administrators do so (RmProfilingAdminOnly)"),
    ("counter-chip", "CUPTI does not know the chip GH100"),
    ("counter-nvperf", "CUPTI does not find libnvperf_host.so, which lies beside it"),
    ("counter-pass", "cuptiRangeProfilerStop asks for another pass"),
    *((failure, "with error 999" if failure == "counter-add" else "fails with error 999") for failure in FAILURES)])
def test_a_function_that_fails_leaves_all_else(samples, tmp_path, failure, why):
    ran = counted(tmp_path, samples, fakes=("--fail", failure))
    assert refused(ran).endswith(why) and not stored(ran, INSTRUCTIONS)
    # what had begun is lost, and what came before the end of counting; after that nothing is asked for
    assert lost(ran) <= 60 and (lost(ran) > 0) == (failure not in EARLY)



@pytest.mark.parametrize("failure", ["counter-pop", "counter-disable"])
def test_one_that_fails_late(samples, tmp_path, failure):
    """What was counted by then is kept."""
    ran = counted(tmp_path, samples, fakes=("--fail", failure))
    assert refused(ran, "counting ended early").endswith("fails with error 999")
    assert values(ran, INSTRUCTIONS) == (60 if failure == "counter-disable" else 1) and not lost(ran)


def test_samples_go_before_counters(samples, tmp_path):
    """Where the environment asks for both; the command line refuses that."""
    ran = on_fakes(tmp_path, samples, options=("--gpu-samples",), SONDE_GPU_COUNTERS=INSTRUCTIONS)
    assert refused(ran) == "instructions are sampled, which needs the same of the device"
    assert "gpu-samples" in metrics(ran) and INSTRUCTIONS not in metrics(ran)


# ---- NVIDIA's own ----


@pytest.mark.parametrize("release", WITH)
def test_declarations_are_as_the_headers_are(without_cpp, release):  # noqa: F811
    done = subprocess.run(["gcc", "-std=gnu17", "-Wno-enum-compare", f"-I{without_cpp}", f"-I{headers(release)}", f"-I{ROOT / 'src'}", "-fsyntax-only",
                           CUPTI / "layout_counters.c"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def count(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("count") / "count"
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-g", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}", "-o", output, CUPTI / "count.c",
                    ROOT / "src/collect/adapters/cuda/counter_list.c", "-ldl"], check=True)
    return output


def asked(count: Path, folder: Path, chip: str, *names: str) -> list[str]:
    done = subprocess.run([count, library(folder), chip, *names], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "LD_LIBRARY_PATH": str(folder)})
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    return done.stdout.splitlines()


@pytest.mark.parametrize("release", ["12.9", "13.0", "13.1"])
@pytest.mark.parametrize("chip", ["GH100", "GA100", "TU102"])
def test_nvidias_own_counts_a_list(count, release, chip):
    """By the adapter's code and declarations."""
    first, *units = asked(count, installed("--host", release), chip, INSTRUCTIONS, BYTES, TIME)
    assert first.startswith("bytes ") and int(first.split()[1]) > 100
    assert units == [f"{INSTRUCTIONS} 1", f"{BYTES} bytes", f"{TIME} ns"]


@pytest.mark.parametrize("release", ["12.9", "13.0", "13.1"])
def test_nvidias_own_refuses_as_the_fake_does(count, release):
    folder = installed("--host", release)
    assert asked(count, folder, "GH100", INSTRUCTIONS, "sm__unheard_of.sum") == ["sm__unheard_of.sum is no counter of the chip GH100"]
    assert asked(count, folder, "GH100", INSTRUCTIONS, "pcie__read_bytes.sum") == [
        "pcie__read_bytes.sum is refused beside those before it, by cuptiProfilerHostConfigAddMetrics with error 27"]
    assert asked(count, folder, "XY999", INSTRUCTIONS) == ["CUPTI does not know the chip XY999"]
    many = [f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st", "atom", "red")] + [
        f"sm__sass_thread_inst_executed_op_{op}_pred_on.sum" for op in ("fadd", "fmul", "ffma", "dadd", "dmul", "dfma", "hadd", "hmul")] + [
        "dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_sectors.sum", "sm__inst_executed.sum"]
    (line,) = asked(count, folder, "GH100", *many)
    assert line.startswith("the list needs ") and line.endswith(" passes, and no kernel is run twice")


def test_nvidias_own_without_its_neighbour(count, tmp_path):
    """libcupti alone, as PyTorch's wheels do not have it."""
    lonely = tmp_path / "libcupti.so.12"
    lonely.symlink_to(library(headers("12.9").parent / "lib"))
    done = subprocess.run([count, lonely, "GH100", INSTRUCTIONS], capture_output=True, text=True,
                          env={key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"})
    assert done.stdout == "CUPTI does not find libnvperf_host.so, which lies beside it\n"
