# SPDX-License-Identifier: Apache-2.0
"""Functions that JAX compiles, without anything having been asked for: operators under the lines that call them, and
below them what they run, wherever it runs. Each Python of SONDE_XLA_PYTHONS that has JAX."""
from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import program
from conftest import run_sonde
from test_trace_record import intervals
from test_xla import QUIET, pythons

WORKLOAD = program.WORKLOADS / "tensorflow/jax_functions.py"
TEXT = WORKLOAD.read_text().splitlines()


def line_of(mark: str) -> int:
    return next(number for number, line in enumerate(TEXT, 1) if line.endswith(f"# {mark}"))


def measured(folder: Path, python: str, what: str, rounds: int, *options: str) -> None:
    plain = subprocess.run([python, WORKLOAD, what, str(rounds)], capture_output=True, text=True, check=True,
                           env={**os.environ, **QUIET}, timeout=300)
    done = program.run(folder, python, WORKLOAD, what, rounds, options=("-F", "497", *options), environment=QUIET, timeout=300)
    assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr)


def steps(folder: Path, *options: str) -> list[tuple[list[str], int]]:
    """Of each sample's path the lines of the workload and the names of operators and computations; how many samples."""
    found = []
    for frames, value in program.paths(folder, "cpu-time", *options):
        named = [str(frame["line"]) if frame["kind"] == "python" else frame["name"] for frame in frames
                 if frame["kind"] in ("operator", "graph-node") or frame["kind"] == "python" and frame["file"] == str(WORKLOAD)]
        found.append((named, value["count"]))
    return found


def count(found: list[tuple[list[str], int]], *wanted: str | int) -> int:
    """Samples below these steps, in this order, others in between."""
    def has(path: list[str]) -> bool:
        rest = iter(path)
        return all(str(step) in rest for step in wanted)
    return sum(samples for path, samples in found if has(path))


def status(folder: Path) -> str:
    return program.sonde("info", folder / "run.sdb").split("\n  xla ")[1].split("\n")[0]


@pytest.mark.parametrize("options", [(), ("--call-path", "python,operator")])
@pytest.mark.parametrize("python", pythons("jax"))
def test_functions_are_under_their_lines(tmp_path, python, options):
    measured(tmp_path, python, "two", 30, *options)
    found = steps(tmp_path)
    seven = count(found, line_of("calls seven"), "jit_seven", "jit_seven/cosine_add_fusion")
    three = count(found, line_of("calls three"), "jit_three", "jit_three/cosine_add_fusion")
    assert abs(seven / (seven + three) - 0.7) < program.bound(0.7, seven + three) + 0.02, (seven, three)
    # nowhere else, on whichever thread
    assert seven + three == count(found, "jit_seven/cosine_add_fusion") + count(found, "jit_three/cosine_add_fusion")
    of_pool = steps(tmp_path, "--thread", "tf_XLAEigen")
    assert count(of_pool, "jit_seven/cosine_add_fusion") > 0
    assert count(of_pool) - count(of_pool, line_of("calls seven")) - count(of_pool, line_of("calls three")) < 0.2 * count(of_pool)
    assert status(tmp_path).endswith("compiled functions as operators, and what they run on CPUs")


@pytest.mark.parametrize("python", pythons("jax"))
def test_one_function_called_from_two_lines(tmp_path, python):
    """An execution begins when the one before it has ended, long after both calls have returned."""
    measured(tmp_path, python, "places", 30)
    found = steps(tmp_path)
    first, second = (count(found, line_of(f"the {place} place"), "jit_some", "jit_some/cosine_add_fusion")
                     for place in ("first", "second"))
    assert abs(first / (first + second) - 0.7) < program.bound(0.7, first + second) + 0.02, (first, second)
    assert first + second == count(found, "jit_some/cosine_add_fusion")


@pytest.mark.parametrize("python", pythons("jax"))
def test_gradients_and_maps(tmp_path, python):
    measured(tmp_path, python, "grad", 60)
    found = steps(tmp_path)
    for function in ("train_step", "of_batch"):
        inside = [name for path, _ in found for name in path if name.startswith(f"jit_{function}/")]
        assert inside, function
        assert count(found, line_of(f"calls {function}"), f"jit_{function}") == count(found, f"jit_{function}")
    # what is called by a compiled function is a part of it
    assert not count(found, "jit_inner")


@pytest.mark.parametrize("python", pythons("jax"))
def test_threads_have_their_own(tmp_path, python):
    measured(tmp_path, python, "threads", 60)
    found = steps(tmp_path)
    for function in ("jit_seven", "jit_three"):
        assert count(found, line_of("calls in a thread"), function) == count(found, function) > 0


@pytest.mark.parametrize("python", pythons("jax"))
def test_a_fused_computation_tells_its_operations(tmp_path, python):
    measured(tmp_path, python, "two", 10)
    row = next(row for row in program.rows(tmp_path) if row["name"] == "jit_seven/cosine_add_fusion")
    assert (row["file"], row["line"]) == (str(WORKLOAD), line_of("the fused operations"))
    operations = row["operations"]
    assert [operation["name"] for operation in operations] == ["sin", "mul", "cos", "add"]
    assert [operation["type"] for operation in operations] == ["sine", "multiply", "cosine", "add"]
    assert {(operation["file"], operation["line"]) for operation in operations} == {(row["file"], row["line"])}
    assert f"[sin, mul, cos, add {WORKLOAD.name}:{row['line']}]" in program.sonde("report", "--full", tmp_path / "run.sdb")
    graph = json.loads(program.sonde("graph", tmp_path / "run.sdb", "--format", "json", "--top", 0))
    model = next(model for model in graph["models"] if model["name"] == "jit_seven")
    fusion = next(node for node in model["rows"] if node["name"] == "cosine_add_fusion")
    parts = [node for node in model["rows"] if node["parent"] == fusion["node"]]
    assert {node["type"] for node in parts} >= {"sine", "cosine", "multiply", "add"}
    sine = next(node for node in parts if node["type"] == "sine")
    assert sine["module"].endswith("/sin")
    # the whole path of Python: the line that traced it, down to the operation
    callers = [step.split(" ", 1) for step in sine["detail"].split(" > ")]
    assert callers[-1] == [f"{WORKLOAD}:{line_of('the fused operations')}", "wave"]
    assert [f"{WORKLOAD}:{line_of('calls seven')}", "two"] in callers
    assert {model["name"] for model in graph["models"]} >= {"jit_seven", "jit_three"}


@pytest.mark.parametrize("python", pythons("jax"))
def test_a_damaged_program_is_said(tmp_path, python):
    measured(tmp_path, python, "two", 3)
    assert "import-program" not in program.info(tmp_path)["drops"]
    programs, = tmp_path.glob("run.sonde/*.sonde-programs")
    programs.write_text("HloModule jit_seven, is_scheduled=true\nnothing of a program\n" + programs.read_text())
    program.sonde("analyze", tmp_path / "run.sonde", "-o", tmp_path / "run.sdb")
    assert program.info(tmp_path)["drops"]["import-program"] == 1
    row = next(row for row in program.rows(tmp_path) if row["name"] == "jit_seven/cosine_add_fusion")
    assert row["line"] == line_of("the fused operations")


@pytest.mark.parametrize("python", pythons("jax"))
def test_a_profile_of_jax_has_the_same_names(tmp_path, python):
    """With --graph JAX's own profiler tells times of nodes: they are those of the call paths."""
    measured(tmp_path, python, "two", 10, "--graph")
    graph = json.loads(program.sonde("graph", tmp_path / "run.sdb", "--format", "json", "--top", 0))
    names = [model["name"] for model in graph["models"]]
    assert names.count("jit_seven") == 1
    nodes = {f"jit_seven/{node['name']}" for model in graph["models"] if model["name"] == "jit_seven"
             for node in model["rows"] if "time_ns" in node}
    rows = [row for row in program.rows(tmp_path) if row["kind"] == "graph-node" and row["name"].startswith("jit_seven/")]
    assert rows and {row["name"] for row in rows} <= nodes
    assert {row["line"] for row in rows if row["name"].endswith("cosine_add_fusion")} == {line_of("the fused operations")}


@pytest.mark.parametrize("python", pythons("jax"))
def test_a_fork_and_no_operators(tmp_path, python):
    measured(tmp_path, python, "fork", 3)
    assert count(steps(tmp_path), "jit_seven") > 0
    measured(tmp_path, python, "two", 3, "--operators", "off")
    assert not any("jit_" in name for path, _ in steps(tmp_path) for name in path)
    assert status(tmp_path).strip() == "operators off as asked"
    assert not list(tmp_path.glob("run.sonde/*.sonde-programs"))


def test_programs_without_jax(tmp_path):
    program.run(tmp_path, "python3", "-c", "sum(range(3_000_000))")
    assert status(tmp_path).strip() == "JAX is not loaded"
    assert all(row["kind"] not in ("operator", "graph-node") for row in program.rows(tmp_path))
    assert run_sonde("graph", tmp_path / "run.sdb").status == 128


@pytest.mark.parametrize("python", pythons("jax"))
def test_each_call_and_computation_is_an_event(tmp_path, python):
    measured(tmp_path, python, "two", 5, "--trace=operators")
    found = intervals(tmp_path)
    assert (found["jit_seven"], found["jit_three"]) == (5, 5)
    assert (found["jit_seven/cosine_add_fusion"], found["jit_three/cosine_add_fusion"]) == (5 * 70, 5 * 30)


@pytest.mark.parametrize("python", pythons("jax"))
def test_doctor_says_what_measuring_does(tmp_path, python):
    measured(tmp_path, python, "two", 1)
    version = subprocess.run([python, "-c", "import jaxlib; print(jaxlib.__version__)"], capture_output=True, text=True).stdout.strip()
    found = json.loads(run_sonde("doctor", "--format", "json", VIRTUAL_ENV=str(Path(python).parent.parent)).out)["checks"]
    text = next(check["text"] for check in found if check["name"] == f"JAX {version}")
    assert status(tmp_path).split(": ")[-1] in text


@pytest.mark.parametrize("python", pythons("jax"))
def test_functions_of_one_name_are_told_apart(tmp_path, python):
    """The first has XLA's name, the second its line as well; one function for two shapes is one."""
    measured(tmp_path, python, "names", 15)
    lines = {name: line_of(mark) for name, mark in (("step", "the operation of the short step"), ("_lambda", "the short lambda"))}
    second = {name: f"jit_{name}@{WORKLOAD.name}:{line}" for name, line in lines.items()}
    found = steps(tmp_path)
    for kind, name in (("step", "step"), ("lambda", "_lambda")):
        long, short = (line_of(f"calls the {length} {kind}") for length in ("long", "short"))
        first = f"jit_{name}"
        assert count(found, long, first, f"{first}/cosine_add_fusion") > 0, kind
        assert count(found, short, second[name], f"{second[name]}/cosine_add_fusion") > 0, kind
        assert not count(found, long, second[name]) and not count(found, short, first), kind
    assert count(found, line_of("calls it for another shape"), second["step"]) > 0
    used = {name.split("/")[0] for path, _ in found for name in path if name.startswith(("jit_step", "jit__lambda"))}
    assert used == {"jit_step", "jit__lambda", *second.values()}
    operations = {row["name"].split("/")[0]: {(operation["file"], operation["line"]) for operation in row["operations"]}
                  for row in program.rows(tmp_path) if row["name"].startswith("jit_step") and row.get("operations")}
    assert (str(WORKLOAD), lines["step"]) in operations[second["step"]]
    assert (str(WORKLOAD), lines["step"]) not in operations["jit_step"]
    graph = json.loads(program.sonde("graph", tmp_path / "run.sdb", "--format", "json", "--top", 0))
    assert {model["name"] for model in graph["models"]} >= {"jit_step", "jit__lambda", *second.values()}


@pytest.mark.parametrize("python", pythons("jax"))
def test_a_device_that_runs_ahead(tmp_path, python):
    """Executions on two devices begin in another order than they were called, each below its own call."""
    measured(tmp_path, python, "devices", 20)
    found = steps(tmp_path)
    first, second = (count(found, line_of(f"on the {device} device"), "jit_some", "jit_some/cosine_add_fusion")
                     for device in ("first", "second"))
    assert abs(first / (first + second) - 0.9) < program.bound(0.9, first + second) + 0.02, (first, second)
    assert first + second == count(found, "jit_some/cosine_add_fusion")


@pytest.mark.parametrize("python", pythons("jax"))
def test_functions_over_two_devices(tmp_path, python):
    measured(tmp_path, python, "spread", 10, "--trace=operators")
    found = steps(tmp_path)
    for call, names in (("by shardings", {"jit_sharded"}), ("by shard_map", {"jit_summed"}), ("by pmap", {"jit__fun", "pmap_mapped"})):
        # pmap's line also slices its arguments
        function, = names & {step.split("/")[0] for path, _ in found if str(line_of(call)) in path for step in path if "/" in step}
        assert count(found, line_of(call), function) == count(found, function) > 0
    # each execution twice, on two devices
    calls = intervals(tmp_path)
    assert calls["jit_sharded"] == 10 and calls["jit_sharded/cosine_add_fusion"] == 2 * 10 * 70
    assert calls["jit_summed"] == 10 and calls["jit_summed/cosine_add_fusion"] == 2 * 10 * 10
    row = next(row for row in program.rows(tmp_path) if row["name"] == "jit_sharded/cosine_add_fusion")
    assert (row["file"], row["line"]) == (str(WORKLOAD), line_of("the fused operations"))


@pytest.mark.parametrize("python", pythons("jax"))
def test_machine_code_of_computations_has_names(tmp_path, python):
    measured(tmp_path, python, "names", 10)
    below = [([frame["name"] for frame in frames if frame["kind"] == "native"], value["count"])
             for frames, value in program.paths(tmp_path, "cpu-time") if any(frame["kind"] == "graph-node" for frame in frames)]
    assert sum(samples for names, samples in below if "cosine_add_fusion" in names) > 100
    assert not [names for names, _ in below if any(name.startswith("+0x") for name in names)]
    assert not list(tmp_path.glob("run.sonde/*.sonde-code"))
    map_file, = tmp_path.glob("run.sonde/perf-*.map")
    assert any(line.split()[2:] == ["cosine_add_fusion"] for line in map_file.read_text().splitlines())


@pytest.mark.parametrize("python", pythons("jax"))
def test_names_of_machine_code_follow_those_of_the_own_map(tmp_path, python):
    """Python's map for perf and XLA's code are in one."""
    script = ("import os, runpy, sys\nopen(f'/tmp/perf-{os.getpid()}.map', 'w').write('1000 10 first\\n')\n"
              f"sys.argv = [{str(WORKLOAD)!r}, 'two', '3']\nrunpy.run_path({str(WORKLOAD)!r}, run_name='__main__')\n")
    program.run(tmp_path, python, "-c", script, environment=QUIET, timeout=300)
    map_file, = tmp_path.glob("run.sonde/perf-*.map")
    Path("/tmp", map_file.name).unlink()
    lines = map_file.read_text().splitlines()
    assert lines[0] == "1000 10 first" and any(line.endswith(" cosine_add_fusion") for line in lines[1:])
