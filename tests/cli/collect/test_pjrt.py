# SPDX-License-Identifier: Apache-2.0
"""Plugins for XLA (PJRT): compilations, executions, copies and waits, as a fake plugin's own table tells them; and real
plugins for processors from PyPI, under JAX."""
from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

import program
from test_trace_record import events
from test_xla import QUIET, pythons

FAKE = program.ROOT / "tests/fake/pjrt"
JAX_FUNCTIONS = program.WORKLOADS / "tensorflow/jax_functions.py"
ROUNDS = 20
COPY = 8 * 16 * 4
ALL = 138  # functions of the fake's table


class Done(NamedTuple):
    count: int
    ns: int
    bytes: int


@pytest.fixture(scope="session")
def plugin(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("pjrt") / "pjrt_fake_plugin.so"
    subprocess.run(["cc", "-g", "-D_GNU_SOURCE", "-Wall", "-Werror", "-shared", "-fPIC", "-o", made, FAKE / "plugin.c", "-lpthread"],
                   check=True)
    return made


def test_another_table_of_a_plugin(tmp_path, plugin):
    """What goes through it is not measured, and said to be missing."""
    both = program.compiled("pjrt/both.c", "-O1", "-Wall", "-Werror")
    truth = measured(tmp_path, [both, plugin, plugin], PJRT_FAKE_OTHER="1")
    assert sum(done.count for (kind, _, _), done in truth.items() if kind == "execute") == 5
    assert {name: value["count"] for name, value in by_name(tmp_path, "graph-time").items()} == {"jit_first": 2}
    assert status(tmp_path) == f"{plugin}: 12 of 12 functions (PJRT 0.115, and another table that is not measured)"


def test_a_plugin_in_a_scope_of_its_own(tmp_path, plugin):
    """A library that is linked with it, and that nobody else can see, looks it up as if it were everybody's."""
    library = tmp_path / "scope.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Werror", "-D_GNU_SOURCE", "-o", library, program.WORKLOADS / "pjrt/scope.c",
                    "-Wl,--no-as-needed", plugin], check=True)
    command = [sys.executable, "-c", "import ctypes, sys\nprint(ctypes.CDLL(sys.argv[1]).minor_version(), hasattr(ctypes.CDLL(None), 'GetPjrtApi'))",
               library]
    plain = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert program.run(tmp_path, *command).stdout == plain == "115 False\n"
    assert status(tmp_path) == f"{plugin}: 12 of 12 functions (PJRT 0.115)"


@pytest.fixture(scope="session")
def main() -> Path:
    return program.compiled("pjrt/main.c", "-O1", "-Wall", "-Werror")


def size(functions: int) -> str:
    return str(40 + 8 * functions)


def measured(folder: Path, command: list[str | Path], *options: str, **environment: str) -> dict[tuple[str, str, int], Done]:
    """Plain and measured alike; what the plugin did, by kind, name and device."""
    table = folder / "table"
    plain = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, env={**os.environ, **environment})
    done = program.run(folder, *command, options=options, environment={**environment, "PJRT_FAKE_TABLE": str(table)})
    assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr)
    with table.open() as file:
        return {(kind, name, int(device)): Done(*map(int, rest)) for kind, name, device, *rest in csv.reader(file)}


def calls(folder: Path) -> Counter[str]:
    return Counter({name: value["count"] for name, value in by_name(folder, "gpu-api-time").items()})


def by_name(folder: Path, metric: str) -> dict[str, dict]:
    """Of the last frame's name: the values of all its contexts."""
    found: dict[str, dict] = {}
    for frames, value in program.paths(folder, metric):
        sum_ = found.setdefault(frames[-1]["name"], {"count": 0, "sum": 0})
        sum_["count"] += value["count"]
        sum_["sum"] += value["sum"]
    return found


def below_main(frames: list[dict]) -> list[str]:
    names = [frame["name"] for frame in frames if frame["kind"] not in ("loop", "inlined")]
    return names[names.index("main") + 1:]


def status(folder: Path) -> str | None:
    return program.info(folder)["properties"].get("adapter.pjrt")


def lost(folder: Path) -> int:
    return program.info(folder)["drops"].get("gpu-lost", 0)


# ---- what is measured ----

@pytest.mark.parametrize("options", [(), ("--call-path", "python,operator")])
def test_executions_are_as_the_plugin_did_them(tmp_path, plugin, main, options):
    truth = measured(tmp_path, [main, plugin, str(ROUNDS)], *options)
    found = by_name(tmp_path, "graph-time")
    real = {"jit_long": truth["execute", "jit_long", 5], "jit_short": truth["execute", "jit_short", 6]}
    assert truth["unasked", "jit_long", 5].count == 1
    assert {name: value["count"] for name, value in found.items()} == {name: done.count for name, done in real.items()}
    for name, planned in (("jit_long", 2_000_000), ("jit_short", 500_000)):
        assert real[name].ns >= ROUNDS * planned
        # the sum of a queue is from its first call to its last event, which threads that wait for a processor tell late
        assert abs(found[name]["sum"] - real[name].ns) < 20_000_000, (found, real)
    assert calls(tmp_path) == {"PJRT_LoadedExecutable_Execute": 2 * ROUNDS + 1, "PJRT_Event_Await": ROUNDS + 2,
                               "PJRT_Client_BufferFromHostBuffer": ROUNDS, "PJRT_Buffer_CopyToDevice": ROUNDS,
                               "PJRT_Buffer_ToHostBuffer": ROUNDS, "PJRT_Buffer_CopyRawToHost": ROUNDS,
                               "PJRT_AsyncHostToDeviceTransferManager_TransferData": ROUNDS}
    assert lost(tmp_path) == 0
    assert status(tmp_path) == f"{plugin}: 12 of 12 functions (PJRT 0.115)"


def test_paths(tmp_path, plugin, main):
    measured(tmp_path, [main, plugin, str(ROUNDS)])
    assert {tuple(below_main(frames)): value["count"] for frames, value in program.paths(tmp_path, "graph-time")} == {
        ("use_long", "execute", "jit_long", "PJRT_LoadedExecutable_Execute", "jit_long"): ROUNDS,
        ("use_short", "execute", "jit_short", "PJRT_LoadedExecutable_Execute", "jit_short"): ROUNDS}
    operators = Counter(frame["name"] for frame in program.rows(tmp_path) if frame["kind"] == "operator")
    assert operators == {"jit_long": 2, "jit_short": 1}  # the second is of use_unasked
    waits = {tuple(below_main(frames)): value["count"] for frames, value in program.paths(tmp_path, "sync-time")}
    assert waits == {("use_long", "wait_for", "PJRT_Event_Await", "event"): 1, ("use_short", "wait_for", "PJRT_Event_Await", "event"): 1,
                     ("copies", "wait_for", "PJRT_Event_Await", "event"): ROUNDS}


def test_copies_have_bytes(tmp_path, plugin, main):
    truth = measured(tmp_path, [main, plugin, str(ROUNDS)])
    found = {name: value["sum"] for name, value in by_name(tmp_path, "copy-bytes").items()}
    assert found == {"PJRT_Client_BufferFromHostBuffer": truth["to device", "", 0].bytes,
                     "PJRT_Buffer_ToHostBuffer": truth["to host", "", 0].bytes,
                     "PJRT_Buffer_CopyToDevice": truth["between", "", 0].bytes,
                     "PJRT_Buffer_CopyRawToHost": truth["raw to host", "", 0].bytes,
                     "PJRT_AsyncHostToDeviceTransferManager_TransferData": truth["transfer", "", 0].bytes}
    assert found["PJRT_Buffer_ToHostBuffer"] == ROUNDS * COPY


def test_compilations_are_regions(tmp_path, plugin, main):
    truth = measured(tmp_path, [main, plugin, "1"])
    found = {tuple(below_main(frames)): value for frames, value in program.paths(tmp_path, "compile-time")}
    assert set(found) == {("compile", "compile", "jit_long"), ("load", "load compiled", "jit_short")}
    for path, kind in ((("compile", "compile", "jit_long"), "compile"), (("load", "load compiled", "jit_short"), "load")):
        real = truth[kind, path[-1], 0]
        assert found[path]["count"] == real.count == 1
        assert real.ns <= found[path]["sum"] < real.ns + 20_000_000
    regions = {tuple(below_main(frames)) for frames, _ in program.paths(tmp_path, "region-time")}
    assert regions == {("compile", "compile"), ("load", "load compiled")}


def test_compiled_programs_are_kept(tmp_path, plugin, main):
    measured(tmp_path, [main, plugin, "1"])
    graph = json.loads(program.sonde("graph", tmp_path / "run.sdb", "--format", "json", "--top", 0))
    assert {model["name"] for model in graph["models"]} == {"jit_long", "jit_short"}
    for model, line in zip(sorted(graph["models"], key=lambda model: model["name"]), (7, 11)):
        wave = next(node for node in model["rows"] if node["name"] == "wave")
        assert (wave["type"], wave["file"], wave["line"]) == ("sine", "model.py", line)


def test_a_damaged_program_is_said(tmp_path, plugin, main):
    measured(tmp_path, [main, plugin, "1"])
    assert "import-program" not in program.info(tmp_path)["drops"]
    kept, = tmp_path.glob("run.sonde/*.sonde-hlo")
    content = kept.read_bytes()
    length = int.from_bytes(content[:8], "little")
    kept.write_bytes(content[:8] + b"\xff" * length + content[8 + length:])
    program.sonde("analyze", tmp_path / "run.sonde", "-o", tmp_path / "run.sdb")
    assert program.info(tmp_path)["drops"]["import-program"] == 1
    graph = json.loads(program.sonde("graph", tmp_path / "run.sdb", "--format", "json", "--top", 0))
    assert [model["name"] for model in graph["models"]] == ["jit_short"]


def test_events_are_in_the_trace(tmp_path, plugin, main):
    measured(tmp_path, [main, plugin, str(ROUNDS)], "--trace=gpu,api,operators,regions")
    found = Counter(event["name"] for event in events(tmp_path) if event["kind"] == "interval")
    # an operator and what its device did; nobody asked about one
    assert (found["jit_long"], found["jit_short"]) == (2 * ROUNDS + 1 + 1, 2 * ROUNDS + 1)
    assert found["PJRT_LoadedExecutable_Execute"] == 2 * ROUNDS + 1
    on_devices = [event for event in events(tmp_path) if event["name"] == "jit_long" and event["device"] == "5"]
    ends = sorted((int(event["start_ns"]), int(event["end_ns"])) for event in on_devices)
    assert len(ends) == ROUNDS
    # a device does one after the other
    assert all(before[1] <= after[0] for before, after in zip(ends, ends[1:]))


def test_operators_off(tmp_path, plugin, main):
    measured(tmp_path, [main, plugin, str(ROUNDS)], "--operators", "off")
    assert not [frame for frame in program.rows(tmp_path) if frame["kind"] == "operator"]
    assert {tuple(below_main(frames)) for frames, _ in program.paths(tmp_path, "graph-time")} == {
        ("use_long", "execute", "PJRT_LoadedExecutable_Execute", "jit_long"),
        ("use_short", "execute", "PJRT_LoadedExecutable_Execute", "jit_short")}


# ---- how plugins are found ----

def test_a_program_that_is_linked_with_a_plugin(tmp_path, plugin):
    linked = program.compiled("pjrt/main.c", "-O1", "-DLINKED", str(plugin), f"-Wl,-rpath,{plugin.parent}")
    measured(tmp_path, [linked, "-", str(ROUNDS)])
    assert by_name(tmp_path, "graph-time")["jit_long"]["count"] == ROUNDS
    assert status(tmp_path) == f"{plugin}: 12 of 12 functions (PJRT 0.115)"


def test_two_plugins_in_a_process(tmp_path, plugin):
    """Each execution goes to the plugin that the program called."""
    other = tmp_path / "pjrt_other_plugin.so"
    other.write_bytes(plugin.read_bytes())
    both = program.compiled("pjrt/both.c", "-O1", "-Wall", "-Werror")
    truth = measured(tmp_path, [both, plugin, other])
    assert truth["execute", "jit_second", 5].count == 3  # the last table that was written
    found = by_name(tmp_path, "graph-time")
    assert {name: value["count"] for name, value in found.items()} == {"jit_first": 2, "jit_second": 3}
    assert status(tmp_path) == f"{plugin}: 12 of 12 functions (PJRT 0.115), {other}: 12 of 12 functions (PJRT 0.115)"


def test_without_a_plugin_nothing_is_said(tmp_path):
    program.run(tmp_path, "/bin/true")
    assert status(tmp_path) is None


# ---- releases: what lies within the declared size is there, whatever the version says ----

@pytest.mark.parametrize("functions,version,there", [
    (93, "0.40", 10), (71, "0.20", 8), (150, "0.200", 12), (71, "0.999", 8), (150, "0.1", 12)])
def test_tables_of_other_releases(tmp_path, plugin, main, functions, version, there):
    measured(tmp_path, [main, plugin, "3"], PJRT_FAKE_BYTES=size(functions), PJRT_FAKE_VERSION=version)
    assert calls(tmp_path)["PJRT_LoadedExecutable_Execute"] == 7
    assert by_name(tmp_path, "graph-time")["jit_long"]["count"] == 3
    assert status(tmp_path) == f"{plugin}: {there} of 12 functions (PJRT {version})"


def test_a_table_of_another_form_is_left_alone(tmp_path, plugin, main):
    truth = measured(tmp_path, [main, plugin, "3"], PJRT_FAKE_VERSION="1.0")
    assert truth["execute", "jit_long", 5].count == 3
    assert status(tmp_path) == f"{plugin}: its table of functions is of an unknown form"
    assert not calls(tmp_path)


# ---- failures ----

def test_failed_compilations(tmp_path, plugin, main):
    measured(tmp_path, [main, plugin, "3"], PJRT_FAKE_FAIL="compile")
    assert {below_main(frames)[-1] for frames, _ in program.paths(tmp_path, "compile-time")} == {"compile", "load compiled"}
    assert not by_name(tmp_path, "graph-time")


def test_failed_executions(tmp_path, plugin, main):
    measured(tmp_path, [main, plugin, "3"], PJRT_FAKE_FAIL="execute")
    assert calls(tmp_path)["PJRT_LoadedExecutable_Execute"] == 7
    assert not by_name(tmp_path, "graph-time") and not lost(tmp_path)


def test_executions_that_fail_later_have_no_time(tmp_path, plugin, main):
    truth = measured(tmp_path, [main, plugin, "3"], PJRT_FAKE_FAIL="event")
    assert truth["failed", "jit_long", 5].count == 4
    assert not by_name(tmp_path, "graph-time") and not lost(tmp_path)


def test_executables_without_a_name(tmp_path, plugin, main):
    measured(tmp_path, [main, plugin, "3"], PJRT_FAKE_FAIL="name")
    assert {name: value["count"] for name, value in by_name(tmp_path, "graph-time").items()} == {"executable": 6}
    assert not [frame for frame in program.rows(tmp_path) if frame["kind"] == "operator"]


def test_without_programs(tmp_path, plugin, main):
    measured(tmp_path, [main, plugin, "3"], PJRT_FAKE_FAIL="program")
    assert not list(tmp_path.glob("run.sonde/*.sonde-hlo"))
    assert by_name(tmp_path, "graph-time")["jit_long"]["count"] == 3


def test_completions_that_are_not_told_are_lost(tmp_path, plugin, main):
    measured(tmp_path, [main, plugin, "3"], PJRT_FAKE_FAIL="listen")
    assert not by_name(tmp_path, "graph-time")
    assert lost(tmp_path) == 6


# ---- what is easily got wrong ----

@pytest.fixture(scope="session")
def modes() -> Path:
    return program.compiled("pjrt/modes.c", "-O1", "-Wall", "-Werror")


def executions(folder: Path) -> dict[str, int]:
    return {name: value["count"] for name, value in by_name(folder, "graph-time").items()}


def test_an_address_that_is_used_again(tmp_path, plugin, modes):
    measured(tmp_path, [modes, plugin, "again"])
    assert executions(tmp_path) == {f"jit_{number}": 1 for number in range(10)}
    operators = {frame["name"] for frame in program.rows(tmp_path) if frame["kind"] == "operator"}
    assert operators == {f"jit_{number}" for number in range(10)}


def test_threads_have_their_own(tmp_path, plugin, modes):
    measured(tmp_path, [modes, plugin, "threads"])
    assert executions(tmp_path) == {f"jit_of_{number}": 50 for number in range(4)}
    for frames, _ in program.paths(tmp_path, "graph-time"):
        assert [frame["name"] for frame in frames if frame["kind"] == "operator"] == [frames[-1]["name"]]
    assert lost(tmp_path) == 0


def test_what_the_end_interrupts_is_lost(tmp_path, plugin, modes):
    plain = subprocess.run([modes, plugin, "exit"], capture_output=True, text=True, check=True)
    done = program.run(tmp_path, modes, plugin, "exit")
    assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr)
    assert calls(tmp_path)["PJRT_LoadedExecutable_Execute"] == 2
    assert not executions(tmp_path) and lost(tmp_path) == 2


def test_a_fork_in_between(tmp_path, plugin, modes):
    measured(tmp_path, [modes, plugin, "fork"])
    assert executions(tmp_path) == {"jit_parent": 2}
    assert lost(tmp_path) == 0


def test_more_than_can_wait(tmp_path, plugin, modes):
    """What is taken is what is stored and what is lost."""
    truth = measured(tmp_path, [modes, plugin, "many"])
    assert truth["execute", "jit_many", 5].count == 20_000
    assert calls(tmp_path)["PJRT_LoadedExecutable_Execute"] == 20_001
    assert lost(tmp_path) == 20_001 - 16_384  # as many can wait
    assert executions(tmp_path) == {"jit_first": 1, "jit_many": 20_000 - lost(tmp_path)}


# ---- real plugins ----

INSTALLED = os.environ.get("SONDE_PJRT_PLUGINS", "")
PLUGINS = ("xla-cpu-pjrt", "lammps-jax-pjrt-cpu")


@pytest.fixture(scope="session", params=PLUGINS)
def real(request) -> str:
    """A plugin for processors, of those that tests/fake/pjrt/plugins.sh has installed."""
    found = sorted(Path(INSTALLED, request.param).glob("**/*pjrt*.so")) if INSTALLED else []
    return str(found[0]) if found else pytest.skip("SONDE_PJRT_PLUGINS has no such plugin")


def jax_on(folder: Path, python: str, path: str, what: str, rounds: int, *options: str) -> None:
    environment = {**QUIET, "PJRT_NAMES_AND_LIBRARY_PATHS": f"any:{path}", "JAX_PLATFORMS": "any"}
    plain = subprocess.run([python, JAX_FUNCTIONS, what, str(rounds)], capture_output=True, text=True, check=True,
                           env={**os.environ, **environment}, timeout=300)
    done = program.run(folder, python, JAX_FUNCTIONS, what, rounds, options=("-F", "497", *options), environment=environment, timeout=300)
    assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr)


def line_of(mark: str) -> int:
    return next(number for number, line in enumerate(JAX_FUNCTIONS.read_text().splitlines(), 1) if line.endswith(f"# {mark}"))


@pytest.mark.parametrize("options", [(), ("--call-path", "python,operator")])
@pytest.mark.parametrize("python", pythons("jax"))
def test_jax_on_a_plugin(tmp_path, python, real, options):
    """One operator for each call; below it the plugin's, and what the device did for it."""
    jax_on(tmp_path, python, real, "two", 10, *options)
    share = {}
    for name in ("seven", "three"):
        found = [(frames, value) for frames, value in program.paths(tmp_path, "graph-time") if frames[-1]["name"] == f"jit_{name}"]
        assert sum(value["count"] for _, value in found) == 10
        for frames, _ in found:
            kinds = [(frame["kind"], frame["name"]) for frame in frames[-3:]]
            assert kinds == [("operator", f"jit_{name}"), ("gpu-api", "PJRT_LoadedExecutable_Execute"), ("gpu-op", f"jit_{name}")]
            assert sum(frame["kind"] == "operator" for frame in frames) == 1
            lines = [frame["line"] for frame in frames if frame["kind"] == "python" and frame["file"] == str(JAX_FUNCTIONS)]
            assert lines[-1] == line_of(f"calls {name}")
        share[name] = sum(value["sum"] for _, value in found)
    assert abs(share["seven"] / (share["seven"] + share["three"]) - 0.7) < 0.1
    compiled = {frames[-1]["name"] for frames, _ in program.paths(tmp_path, "compile-time")}
    assert {"jit_seven", "jit_three"} <= compiled
    assert status(tmp_path).startswith(f"{real}: 12 of 12 functions (PJRT 0.")


@pytest.mark.parametrize("options", [(), ("--graph",)])
@pytest.mark.parametrize("python", pythons("jax"))
def test_fused_computations_of_a_plugin(tmp_path, python, real, options):
    """Also beside a profile of JAX's own, in which plugins for processors have nothing."""
    jax_on(tmp_path, python, real, "two", 1, *options)
    graph = json.loads(program.sonde("graph", tmp_path / "run.sdb", "--format", "json", "--top", 0))
    model, = (model for model in graph["models"] if model["name"] == "jit_seven")
    sine = next(node for node in model["rows"] if node["type"] == "sine")
    assert (sine["file"], sine["line"]) == (str(JAX_FUNCTIONS), line_of("the fused operations"))


@pytest.mark.parametrize("python", pythons("jax"))
def test_a_program_that_a_profile_has_is_shown_once(tmp_path, python, real):
    """From there, with times: as of a plugin with a profiler."""
    of_plugin, own = tmp_path / "plugin", tmp_path / "own"
    of_plugin.mkdir()
    own.mkdir()
    jax_on(of_plugin, python, real, "two", 1)
    program.run(own, python, JAX_FUNCTIONS, "two", "1", options=("--graph",), environment=QUIET, timeout=300)
    kept, = of_plugin.glob("run.sonde/*.sonde-hlo")
    beside, = own.glob("run.sonde/*.sonde-programs")
    beside.with_suffix(".sonde-hlo").write_bytes(kept.read_bytes())
    program.sonde("analyze", own / "run.sonde", "-o", own / "run.sdb")
    graph = json.loads(program.sonde("graph", own / "run.sdb", "--format", "json", "--top", 0))
    model, = (model for model in graph["models"] if model["name"] == "jit_seven")
    assert any("time_ns" in node for node in model["rows"])


def test_the_interface_is_as_its_header_says():
    header = next(Path(INSTALLED).glob("**/pjrt_c_api.h"), None) if INSTALLED else None
    if not header:
        pytest.skip("SONDE_PJRT_PLUGINS has no header")
    subprocess.run(["cc", "-std=gnu17", "-fsyntax-only", "-I", header.parent, FAKE / "layout.c"], check=True)
