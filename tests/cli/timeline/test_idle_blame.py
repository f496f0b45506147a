# SPDX-License-Identifier: Apache-2.0
"""Who is blamed for a device's idle time, beside what the programs themselves say of it: at rates below and above what a
CPU-time timer can do, and (in the suite `load`) with more to do than there are processors."""
from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import program
import pytest

pytestmark = pytest.mark.measures
RATES = ["49", "199", "999"]


def measured(folder: Path, rate: str, *command: str | Path, options: tuple[str, ...] = ()) -> tuple[dict, dict, str]:
    """What the program says (ns by place), the table of who is blamed (ns by node), and the printed answer."""
    done = program.run(folder, *command, options=("--trace", "-F", rate, *options), check=None)
    if done.returncode == 77:
        pytest.skip("no OpenCL device here (pocl-opencl-icd gives one)")
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()[1:]
    said = {name: int(value) for name, value in zip(words[::2], words[1::2], strict=True)}
    answer = json.loads(program.sonde("timeline", folder / "run.sdb", "--view", "idle", "--format", "json"))
    blame: dict[str, float] = {}
    for row in answer["blame"]["rows"]:
        blame[row["node"]] = blame.get(row["node"], 0) + row["time_ns"]
    return said, blame, program.sonde("timeline", folder / "run.sdb")


def callers(*flags: str) -> Path:
    if not (program.BUILD / "tests/opencl-known").exists():
        pytest.skip("built without OpenCL")
    return program.compiled("opencl/opencl_callers.c", "-O1", *flags, "-lOpenCL")


def of(blame: dict, *functions: str) -> float:
    """What the rows have that are in any of these functions; each row once."""
    return sum(time for node, time in blame.items() if any(name in node for name in functions))


def deviation(said: dict, rate: str, cpu_ns: float, name: str) -> float:
    """How far the share of `name` may be off by chance, with the samples that so much CPU time gives."""
    hertz = min(int(rate), 250)
    share = said[name] / (said["left"] + said["right"])
    return 3.29 * math.sqrt(share * (1 - share) / (cpu_ns * 1e-9 * hertz)) + 0.03


def without_blocked(said: dict, rounds: int, each_ns: float) -> float:
    """What may be blamed of the waits: at most a tenth of the time that was waited for, and what it took until there was
    a processor again; the operating system does not call that blocked."""
    return said["wait"] - 0.9 * rounds * each_ns


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(("flags", "os"), [((), ()), ((), ("--os",)), (("-g0",), ())], ids=["", "os", "without-lines"])
def test_two_callers_of_one_function(tmp_path, rate, flags, os):
    said, blame, text = measured(tmp_path, rate, callers(*flags), "callers", "60", options=os)
    work = of(blame, "spin in left", "spin in right", "clock_gettime")
    assert 0.9 < work / (said["left"] + said["right"]) < 1.05, blame
    for name in ("left", "right"):
        share = of(blame, f"spin in {name} in callers in main") / work
        expected = said[name] / (said["left"] + said["right"])
        assert abs(share - expected) < deviation(said, rate, 1.8e9, name), blame
    # one figure in the sentence and in the list
    most, time = max(blame.items(), key=lambda item: item[1])
    list_at = text.index("while it was idle, the host was in\n")
    first = text[list_at:].splitlines()[1].split(maxsplit=3)
    assert most.startswith("spin in right") and first[3] == most
    assert f"the host was most in {most} ({first[2]})" in " ".join(text[:list_at].split()), text


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("os", [(), ("--os",)], ids=["", "os"])
def test_waits_are_no_work(tmp_path, rate, os):
    """Sleeping, and reading what another process writes: that time is nobody's, however few samples there are."""
    said, blame, text = measured(tmp_path, rate, callers(), "waits", "100", options=os)
    work = of(blame, "spin in left", "clock_gettime")
    assert 0.9 * said["left"] < work < said["left"] + without_blocked(said, 100, 5e6), (said, blame)
    assert "nothing that is recorded, or it only waited" in text


@pytest.mark.parametrize("rate", RATES)
def test_waits_in_a_region_are_no_work(tmp_path, rate):
    said, blame, _ = measured(tmp_path, rate, callers(), "region", "100")
    assert 0.9 * said["left"] < of(blame, "prepare") < said["left"] + without_blocked(said, 100, 5e6), (said, blame)


@pytest.mark.parametrize("rate", RATES)
def test_threads_that_work_at_once(tmp_path, rate):
    said, blame, _ = measured(tmp_path, rate, callers(), "threads", "150")
    left, right = of(blame, "spin in left"), of(blame, "spin in right")
    assert of(blame, "spin in left", "spin in right", "clock_gettime") > 0.9 * max(said["left"], said["right"]), (said, blame)
    assert min(left, right) > 0.2 * (left + right), blame


@pytest.mark.parametrize("rate", RATES)
def test_python_between_kernels(tmp_path, rate):
    if not (program.BUILD / "tests/opencl-known").exists():
        pytest.skip("built without OpenCL")
    said, blame, _ = measured(tmp_path, rate, sys.executable, program.WORKLOADS / "python/opencl_host.py", "100")
    left, right = of(blame, " left in "), of(blame, " right in ")
    work = said["left"] + said["right"]
    assert 0.9 * work < left + right < work + without_blocked(said, 100, 4e6), (said, blame)
    expected = said["left"] / (said["left"] + said["right"])
    assert abs(left / (left + right) - expected) < deviation(said, rate, 1.2e9, "left"), blame
