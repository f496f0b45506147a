# SPDX-License-Identifier: Apache-2.0
"""Regions and iterations: from C and C++ built in every usual way, from Python, NVTX and ITT."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import measured
import program
from test_python_walk import SUPPORTED
from test_torch import PYTHONS

WORKLOADS = measured.ROOT / "tests/workloads"
INCLUDE = measured.ROOT / "include"
SOURCE = WORKLOADS / "region/region_known.c"
ITERATION = 16

BUILDS = [
    ("cc", ["-O0"]), ("cc", ["-O2"]), ("cc", ["-O2", "-fno-pie", "-no-pie"]),
    ("cc", ["-O2", "-fomit-frame-pointer"]), ("cc", ["-O2", "-flto"]),
    ("cc", ["-O2", "-ffunction-sections", "-Wl,--gc-sections"]), ("cc", ["-O2", "-std=c11"]),
    ("cc", ["-O3", "-fno-pie", "-no-pie", "-flto"]), ("cc", ["-O2", "-fsanitize=address"]),
    ("c++", ["-O0", "-x", "c++"]), ("c++", ["-O2", "-x", "c++", "-std=c++11"]),
    ("clang", ["-O0"]), ("clang", ["-O2", "-fno-pie", "-no-pie"]), ("clang", ["-O2"]),
    ("clang++", ["-O2", "-x", "c++"]),
]


def compile_known(compiler: str, options: list[str], output: Path, *more: str) -> Path:
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    subprocess.run([compiler, *options, *more, "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-I", INCLUDE,
                    SOURCE, "-o", output, "-ldl"], check=True)
    return output


def check_known(measurement: measured.Measurement, library: bool) -> None:
    def count(name: str) -> int:
        return measurement.total("region-time", measurement.at("region", name)).count

    assert count("outer") == 3
    assert count("turn") == 12
    assert count("early") == count("plain") == count("left open") == 1
    assert count("of the library") == (1 if library else 0)
    # one end too many, one region left open
    assert measurement.drops["region-unbalanced"] == 2
    # exclusive time: 2 ms of its own each, not the 12 ms of the turns within
    outer = measurement.total("region-time", measurement.at("region", "outer"))
    turn = measurement.total("region-time", measurement.at("region", "turn"))
    assert outer.min >= 2_000_000 and turn.min >= 3_000_000
    assert outer.sum < turn.sum
    for context in measurement.contexts:
        regions = context.names("region")
        if "turn" in regions:
            assert regions == ["outer", "turn"]
            turns = [frame for frame in context.path if frame.name == "turn"]
            assert turns[0].flags & ITERATION
        assert "early" not in regions or regions == ["early"]


@pytest.mark.parametrize("compiler,options", BUILDS, ids=lambda p: p if isinstance(p, str) else " ".join(p))
def test_every_build(tmp_path, compiler, options):
    program = compile_known(compiler, options, tmp_path / "known")
    plain = subprocess.run([program], capture_output=True, text=True, timeout=60)
    settings = {}
    if any("sanitize" in option for option in options):
        settings["ASAN_OPTIONS"] = "verify_asan_link_order=0"
    done, measurement = measured.run(tmp_path / "m.sonde", program, **settings)
    assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert done.returncode == 0
    check_known(measurement, library=False)


def test_samples_lie_between_the_right_functions(tmp_path):
    """A region stands below the function that opened it and above what that function calls."""
    program = compile_known("cc", ["-O1"], tmp_path / "known")
    symbols = {}
    listed = subprocess.run(["nm", "-S", program], check=True, capture_output=True, text=True)
    for line in listed.stdout.splitlines():
        parts = line.split()
        if len(parts) == 4:
            symbols[parts[3]] = (int(parts[0], 16), int(parts[0], 16) + int(parts[1], 16))

    def function(frame: measured.Frame) -> str:
        if frame.kind != "native" or frame.name != "known":
            return frame.name
        return next((name for name, (low, high) in symbols.items() if low < frame.line <= high), "?")

    _, measurement = measured.run(tmp_path / "m.sonde", program, SONDE_EVENTS="cpu-time@1000")
    seen = set()
    for context in measurement.contexts:
        names = [function(frame) for frame in context.path]
        if "cpu-time" in context.values and "burn" in names:
            known = [n for n in names if n in ("main", "outer", "inner", "turn", "burn", "plain")]
            seen.add(tuple(known))
    # the function and its region share a name: main, outer(), region outer, ...
    assert ("main", "outer", "outer", "burn") in seen
    assert ("main", "outer", "outer", "inner", "turn", "burn") in seen
    assert not any("turn" in path and path[-2] != "turn" for path in seen), seen


@pytest.mark.parametrize("options", [["-fPIC", "-shared"], ["-fPIC", "-shared", "-Wl,-z,defs"]])
def test_loaded_library(tmp_path, options):
    program = compile_known("cc", ["-O2"], tmp_path / "known")
    library = compile_known("cc", ["-O2", *options], tmp_path / "work.so", "-DAS_LIBRARY")
    done, measurement = measured.run(tmp_path / "m.sonde", program, library)
    assert done.returncode == 0
    check_known(measurement, library=True)


@pytest.mark.parametrize("options", [["-static"], ["-static-pie"], ["-O2"], ["-no-pie"]])
def test_unmeasured(tmp_path, options):
    program = compile_known("cc", options, tmp_path / "known")
    assert subprocess.run([program], timeout=60).returncode == 0


def test_regions_left_out(tmp_path):
    program = compile_known("cc", ["-O2"], tmp_path / "known")
    done, measurement = measured.run(tmp_path / "m.sonde", program, SONDE_CALL_PATH="native",
                                     SONDE_EVENTS="cpu-time@1000")
    # regions are always part of a path; without operators and Python they still have their places
    assert done.returncode == 0
    check_known(measurement, library=False)


# ---- Python ----

PYTHON_PROGRAM = """
import sonde, time
assert sonde.enabled

def wait(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass

@sonde.region("decorated")
def decorated():
    wait(0.01)
    return 5

def fails():
    with sonde.region("fails"):
        raise KeyError

def main():
    for _ in range(4):
        with sonde.iteration("step"):
            wait(0.02)
            with sonde.region("nested"):
                wait(0.02)
    assert decorated() == 5
    try:
        fails()
    except KeyError:
        pass
    one, two = sonde.region("one"), sonde.region("two")
    one.__enter__(), two.__enter__(), one.__exit__(None, None, None), two.__exit__(None, None, None)
    try:
        @sonde.region("never")
        def generator():
            yield 1
    except TypeError:
        return
    raise AssertionError

main()
"""


def test_python(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PYTHON_PROGRAM)
    done, measurement = measured.run(tmp_path / "m.sonde", sys.executable, program,
                                     PYTHONPATH=str(measured.ROOT / "python"), SONDE_EVENTS="cpu-time@500")
    assert (done.returncode, done.stderr) == (0, "")

    def count(name):
        return measurement.total("region-time", measurement.at("region", name)).count

    assert [count(n) for n in ("step", "nested", "decorated", "fails", "one", "two")] == [4, 4, 1, 1, 1, 1]
    assert measurement.drops["region-unbalanced"] == 2  # the two that were left in the wrong order
    steps = [c for c in measurement.contexts if "step" in c.names("region")]
    assert steps
    for context in steps:
        kinds = [(f.kind, f.name) for f in context.path if f.kind in ("python", "region")]
        below = kinds.index(("region", "step"))
        assert kinds[:below] == [("python", "<module>"), ("python", "main")]
    sampled = [[f.name for f in c.path if f.kind in ("python", "region")] for c in steps if "cpu-time" in c.values]
    # a region's function goes on to other lines inside it, and is seen there once more
    assert ["<module>", "main", "step", "main", "wait"] in sampled
    assert ["<module>", "main", "step", "main", "nested", "main", "wait"] in sampled


LINES_PROGRAM = """
import sonde, time
from contextlib import ExitStack

def wait(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass

def loop():
    for _ in range(3):
        with sonde.region("step"):  # opened: step
            wait(0.02)  # inside: first
            wait(0.02)  # inside: second
            with sonde.region("inner"):  # opened: inner
                wait(0.02)  # inside: third

def stacked():
    with ExitStack() as stack:
        stack.enter_context(sonde.region("stacked"))  # opened: stacked
        for _ in range(5):
            wait(0.005)  # inside: fourth
        wait(0.02)  # inside: fifth

loop()
stacked()
"""


@pytest.mark.parametrize("python", SUPPORTED)
@pytest.mark.parametrize("sources", ["python", "python,native"])
def test_a_region_is_one_context_under_the_line_that_opened_it(tmp_path, python, sources):
    program = tmp_path / "program.py"
    program.write_text(LINES_PROGRAM)
    lines = {text.split("# ")[1]: number for number, text in enumerate(LINES_PROGRAM.splitlines(), 1)
             if "# " in text}
    done, measurement = measured.run(tmp_path / "m.sonde", python, program, SONDE_EVENTS="cpu-time@997",
                                     PYTHONPATH=str(measured.ROOT / "python"), SONDE_CALL_PATH=sources)
    assert (done.returncode, done.stderr) == (0, "")

    def paths(metric):
        return {tuple((f.name.rpartition(".")[2], f.line) if f.kind == "python" else f.name for f in context.path
                      if f.kind in ("python", "region") and f.name != "<module>")
                for context in measurement.contexts if metric in context.values}

    step = (("loop", lines["opened: step"]), "step")
    inner = (*step, ("loop", lines["opened: inner"]), "inner")
    stacked = (("stacked", lines["opened: stacked"]), "stacked")
    assert paths("region-time") == {step, inner, stacked}
    assert [measurement.total("region-time", measurement.at("region", name)).count
            for name in ("step", "inner", "stacked")] == [3, 3, 1]
    seen = {path[:path.index("wait")] for path in
            (tuple("wait" if step[0] == "wait" else step for step in path) for path in paths("cpu-time"))
            if "wait" in path}
    assert seen == {(*step, ("loop", lines["inside: first"])), (*step, ("loop", lines["inside: second"])),
                    (*inner, ("loop", lines["inside: third"])),
                    (*stacked, ("stacked", lines["inside: fourth"])), (*stacked, ("stacked", lines["inside: fifth"]))}


def test_python_unmeasured():
    script = PYTHON_PROGRAM.replace("assert sonde.enabled", "assert not sonde.enabled")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SONDE", "LD_PRELOAD"))}
    done = subprocess.run([sys.executable, "-c", script], timeout=60, capture_output=True, text=True,
                          env={**clean, "PYTHONPATH": str(measured.ROOT / "python")})
    assert (done.returncode, done.stderr) == (0, "")
    imports = subprocess.run([sys.executable, "-c", "import sonde, sys; print('ctypes' in sys.modules)"],
                             env={**clean, "PYTHONPATH": str(measured.ROOT / "python")},
                             capture_output=True, text=True)
    assert imports.stdout == "False\n"


# ---- NVTX and ITT ----


def nvtx_include() -> Path:
    """Where nvtx3/nvToolsExt.h lies: SONDE_TEST_NVTX, CUDA, or a package nvidia-nvtx of this interpreter."""
    candidates = [os.environ.get("SONDE_TEST_NVTX", ""), "/usr/local/cuda/include", "/usr/include"]
    candidates += [str(path) for entry in sys.path for path in Path(entry or ".").glob("nvidia/*/include")]
    for candidate in candidates:
        if candidate and (Path(candidate) / "nvtx3/nvToolsExt.h").exists():
            return Path(candidate)
    pytest.skip("no NVTX headers (pip install nvidia-nvtx, or set SONDE_TEST_NVTX)")


@pytest.mark.parametrize("options", [["-O0"], ["-O2"]])
def test_nvtx(tmp_path, options):
    program = tmp_path / "nvtx"
    subprocess.run(["cc", *options, "-I", nvtx_include(), WORKLOADS / "region/nvtx_known.c", "-o", program, "-ldl"],
                   check=True)
    alone = subprocess.run([program], capture_output=True, text=True)
    done, measurement = measured.run(tmp_path / "m.sonde", program)
    assert (done.returncode, done.stdout, done.stderr) == (alone.returncode, alone.stdout, alone.stderr)

    def count(metric, name):
        return measurement.total(metric, measurement.at("region", name)).count

    for name in ("outer", "wide ä", "library:registered"):
        assert count("region-time", name) == 3, name
    assert count("range-time", "overlaps 1") == count("range-time", "overlaps 2") == 1
    assert count("marks", "mark") == 5
    # a range ended out of order because its domain has its own stack, one ended twice, one never begun
    assert measurement.drops["region-unbalanced"] == 3 + 1 + 1


ITT_PROGRAM = """
import ittapi
domain = ittapi.domain("test")
for _ in range(6):
    with ittapi.task("work", domain):
        pass
"""


def test_itt(tmp_path):
    if subprocess.run([sys.executable, "-c", "import ittapi"], capture_output=True).returncode:
        pytest.skip("no ittapi (pip install ittapi)")
    program = tmp_path / "program.py"
    program.write_text(ITT_PROGRAM)
    done, measurement = measured.run(tmp_path / "m.sonde", sys.executable, program)
    assert (done.returncode, done.stderr) == (0, "")
    assert measurement.total("region-time", measurement.at("region", "work")).count == 6
    for context in measurement.contexts:
        kinds = [(f.kind, f.name) for f in context.path if f.kind in ("python", "region")]
        if ("region", "work") in kinds:
            assert kinds[:kinds.index(("region", "work"))] == [("python", "<module>")]


@pytest.mark.parametrize("python", PYTHONS)
def test_itt_of_torch(tmp_path, python):
    ask = "import torch.profiler.itt as itt, sys; sys.exit(not itt.is_available())"
    if subprocess.run([python, "-c", ask], capture_output=True).returncode:
        pytest.skip(f"{python} has no PyTorch with ITT")
    program = tmp_path / "program.py"
    program.write_text("import torch.profiler.itt as itt\n"
                       "def main():\n"
                       "    for _ in range(4):\n"
                       "        itt.range_push('pushed')\n"
                       "        sum(range(1000000))\n"
                       "        itt.range_pop()\n"
                       "main()\n")
    done, measurement = measured.run(tmp_path / "m.sonde", python, program)
    assert done.returncode == 0
    assert measurement.total("region-time", measurement.at("region", "pushed")).count == 4
    for context in measurement.contexts:
        kinds = [(f.kind, f.name) for f in context.path if f.kind in ("python", "region")]
        if ("region", "pushed") in kinds:
            assert kinds[:kinds.index(("region", "pushed"))] == [("python", "<module>"), ("python", "main")]


NESTED = """
#include <sonde/sonde.h>
static void inner(void) { SONDE_REGION("inner"); }
static void outer(void) { SONDE_REGION("outer"); for (int i = 0; i < 5; i++) inner(); }
int main(void) { for (int i = 0; i < 7; i++) outer(); return 0; }
"""


def test_the_table_counts_a_regions_own_events(tmp_path: Path) -> None:
    (tmp_path / "nested.c").write_text(NESTED)
    subprocess.run(["cc", "-I", INCLUDE, tmp_path / "nested.c", "-o", tmp_path / "nested"], check=True)
    subprocess.run([program.SONDE, "run", "-q", "-o", tmp_path / "run", tmp_path / "nested"], check=True)
    table = subprocess.run([program.SONDE, "report", tmp_path / "run.sdb", "--view", "flat", "--metric", "region-time"],
                           capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in table.splitlines()]
    heading = next(row for row in rows if "calls" in row)
    assert heading[4] == "calls"
    counts = {name: [row for row in rows if name in row][0] for name in ("outer", "inner")}
    assert "7" in counts["outer"] and "42" not in counts["outer"]
    assert "35" in counts["inner"]
