# SPDX-License-Identifier: Apache-2.0
"""libsonde-analysis.so from C and from Python, held against what `sonde causal` prints of the same tables."""
from __future__ import annotations

import gc
import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from causal_tables import chain, write

from conftest import BUILD, ROOT

LIBRARY = BUILD / "src/analysis/libsonde-analysis.so"
os.environ["SONDE_ANALYSIS_LIBRARY"] = str(LIBRARY)
sys.path.insert(0, str(ROOT / "python"))
import sonde as api  # noqa: E402

CHANGES = ("change", "change_low", "change_high")
OPTIONS = ("--target", "time", "--tier", "size", "--samples", "40")

PROGRAM = r"""
#include <sonde/analysis.h>
#include <stdio.h>
#include <string.h>
static int fail(const struct sonde_analysis_error *error) { return puts(error->text), 1; }
int main(int argc, char **argv)
{
	const char *const tiers[] = {"size"};
	const struct sonde_causes_options options = {.target = argv[2], .tiers = {tiers, 1}, .samples = 40};
	struct sonde_analysis_error error;
	struct sonde_table *table;
	struct sonde_causes *causes;
	struct sonde_causal_edge edge;
	struct sonde_target_cause cause;
	struct sonde_main_effect main_effect;
	struct sonde_expectation expectation;
	if (sonde_table_read(argv[1], &table, &error))
		return fail(&error);
	if (sonde_table_add_numbers(table, "more", NULL, &error) != SONDE_ANALYSIS_MISTAKE)
		return puts("a file's table takes columns"), 1;
	if (sonde_causes_find(table, &options, &causes, &error))
		return sonde_table_free(table), fail(&error);
	puts(sonde_causes_json(causes));
	for (uint32_t number = 0; sonde_causes_edge(causes, number, &edge); number++)
		printf("%s %s %d %.17g %.17g %.17g\n", edge.from, edge.to, edge.is_directed, edge.frequency,
		       edge.effect.value, edge.effect.share);
	for (uint32_t number = 0; sonde_causes_target(causes, number, &cause); number++)
		printf("%s %.17g %.17g %.17g %.17g %.17g %.17g\n", cause.cause, cause.frequency, cause.effect.low, cause.effect.high,
		       cause.change, cause.change_low, cause.change_high);
	for (uint32_t number = 0; sonde_causes_main_effect(causes, number, &main_effect); number++)
		printf("%s %.17g %.17g\n", main_effect.column, main_effect.frequency, main_effect.effect.value);
	if (edge.from || cause.cause || main_effect.column || sonde_causes_main_effect_count(causes) != 1)
		return puts("what is not there is not empty"), 1;
	if (sonde_causes_expect(causes, "size=1", &expectation, &error))
		return fail(&error);
	printf("%s %.17g %.17g %u\n", expectation.status, expectation.change, expectation.change_low, expectation.held_count);
	sonde_expectation_release(&expectation);
	if (sonde_causes_expect(causes, "sise=1", &expectation, NULL) != SONDE_ANALYSIS_MISTAKE)
		return puts("a column that is not there is one"), 1;
	printf("%zu %u %s\n", sonde_table_row_count(table), sonde_table_column_count(table), sonde_table_column_name(table, 1));
	sonde_causes_free(causes);
	sonde_table_free(table);
	return 0;
}
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write(tmp_path_factory.mktemp("table") / "chain.csv", {name: values.round(6) for name, values in chain(400).items()})


@pytest.fixture(scope="module")
def printed(sonde, table):
    return json.loads(sonde("causal", table, *OPTIONS, "--do", "size=1", "--format", "json").out)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "causes.c").write_text(PROGRAM)
    subprocess.run(["cc", "-Wall", "-Werror", f"-I{ROOT / 'include'}", folder / "causes.c", "-o", folder / "causes", LIBRARY,
                    f"-Wl,-rpath,{LIBRARY.parent}"], check=True)
    return folder / "causes"


def without(found: dict, *keys: str) -> dict:
    return {key: value for key, value in found.items() if key not in keys}


def test_a_program_gets_what_the_command_prints(program, table, printed):
    done = subprocess.run([program, table, "time"], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    # what was asked afterwards, and its sentence, are the command's alone
    found = json.loads(lines[0])
    assert without(found, "do", "sentences") == without(printed, "do", "sentences")
    assert found["do"] == [] and found["sentences"] == [line for line in printed["sentences"] if not line.startswith("If ")]
    edges, causes = printed["edges"], printed["causes"]
    assert edges and causes
    for line, edge in zip(lines[1:], edges, strict=False):
        from_, to, directed, *numbers = line.split()
        assert (from_, to, bool(int(directed))) == (edge["from"], edge["to"], edge["directed"])
        assert [float(number) for number in numbers] == pytest.approx([edge["frequency"], edge["effect"], edge["share"]], rel=1e-9)
    for line, cause in zip(lines[1 + len(edges):], causes, strict=False):
        name, *numbers = line.split()
        assert name == cause["cause"]
        changes = [math.nan if cause["adjusted"][key] is None else cause["adjusted"][key] for key in CHANGES]
        assert [float(number) for number in numbers] == pytest.approx(
            [cause["frequency"], cause["effect_low"], cause["effect_high"], *changes], rel=1e-9, nan_ok=True)
    assert any(cause["adjusted"]["change"] for cause in causes)
    main_effect, asked, size = lines[1 + len(edges) + len(causes):]
    expected, = printed["main_effects"]
    assert main_effect.split()[0] == expected["column"] == "size"
    assert [float(number) for number in main_effect.split()[1:]] == pytest.approx([expected["frequency"], expected["effect"]], rel=1e-9)
    status, change, low, held = asked.split()
    expected, = printed["do"]
    assert status == expected["status"] == "identified" and int(held) == len(expected["held"])
    assert [float(change), float(low)] == pytest.approx([expected["change"], expected["change_low"]], rel=1e-9)
    assert size == "400 5 time"


@pytest.mark.parametrize(("file", "target", "says"), [
    ("/nonexistent", "time", "cannot open '/nonexistent': No such file or directory"),
    (None, "thyme", "there is no column 'thyme'"),
])
def test_a_program_that_is_wrong(program, table, file, target, says):
    done = subprocess.run([program, file or table, target], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, says + "\n")


def find(columns, **options) -> api.CausalGraph:
    return api.causal(columns, "time", tiers=["size"], samples=40, **options)


def test_python_gets_what_the_command_prints(table, printed):
    graph = find(table)
    assert without(graph.json, "do", "sentences") == without(printed, "do", "sentences")
    assert [(e.from_, e.to, e.directed, e.frequency, e.effect.value, e.effect.share, e.pc) for e in graph.edges] == [
        (e["from"], e["to"], e["directed"], e["frequency"], e["effect"], e["share"], e["pc"]) for e in printed["edges"]]
    assert [(c.cause, c.effect.low, c.effect.high, c.effect.sign, c.change, c.change_low, c.change_high) for c in graph.causes] == [
        (c["cause"], c["effect_low"], c["effect_high"], c["sign"], *(c["adjusted"][key] for key in CHANGES)) for c in printed["causes"]]
    assert [(s.column, s.frequency, s.effect.low) for s in graph.main_effects] == [(s["column"], s["frequency"], s["effect_low"]) for s in printed["main_effects"]]
    assert graph.target == "time" and graph.nodes == printed["nodes"] and repr(graph) == f"<sonde.CausalGraph: 5 columns, {len(graph.edges)} edges>"


def test_what_if_in_python(table, printed):
    expected, = printed["do"]
    asked = find(table).expect("size", 1)
    assert asked == api.Expectation("identified", *(pytest.approx(expected[key], rel=1e-9) for key in ("mean", "change", "change_low", "change_high")),
                                    held=tuple(expected["held"]))
    assert find(table).expect("noise", 1) == api.Expectation("no-effect", None, None, None, None, held=())


def test_columns_of_python_are_those_of_a_file(tmp_path):
    """Numbers, whole numbers, truth values, texts; and what is missing in each."""
    random = np.random.default_rng(5)
    rows = 300
    kind = random.integers(0, 3, rows)
    time = kind + random.normal(size=rows)
    columns = {"kind": [["low", "middle", "high"][k] for k in kind], "time": [round(float(t), 6) for t in time],
               "count": [int(c) for c in random.poisson(40, rows)], "is_late": [bool(t > 1) for t in time]}
    columns["time"][3] = None
    columns["kind"][5] = None
    file = {name: ["" if value is None else int(value) if isinstance(value, bool) else value for value in values] for name, values in columns.items()}
    of_file = api.causal(write(tmp_path / "table.csv", file), samples=20).json
    assert of_file["rows"] == rows - 2 and {frozenset((e["from"], e["to"])) for e in of_file["edges"]} >= {frozenset(("kind", "time"))}
    assert api.causal(columns, samples=20).json == of_file
    columns["time"][3] = math.nan
    assert api.causal({name: tuple(values) for name, values in columns.items()}, samples=20).json == of_file
    arrays = {**columns, "time": np.array(columns["time"], dtype=float), "count": np.array(columns["count"], dtype=np.int32),
              "is_late": np.array(columns["is_late"])}
    assert api.causal(arrays, samples=20).json == of_file
    every_other = np.empty(2 * rows)
    every_other[::2] = arrays["time"]
    assert api.causal({**arrays, "time": every_other[::2]}, samples=20).json == of_file
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns)
    assert api.causal(frame, samples=20).json == of_file
    frame["kind"] = frame["kind"].astype("category")
    frame["count"] = frame["count"].astype("Int64")
    assert api.causal(frame, samples=20).json == of_file


def test_threads_and_seeds(table):
    first = find(table, threads=1).json
    assert find(table, threads=3).json == first and find(table, seed=5).json != first


@pytest.mark.parametrize(("columns", "options", "says"), [
    ({"a": [1, 2], "b": [1]}, {}, "'b' has 1 values, and the first column 2"),
    ({}, {}, "only 0 of 0 columns and 0 of 0 rows can be compared, which is too few to say anything"),
    ({"a": [1.0] * 30, "b": [2.0] * 30}, {}, "only 0 of 2 columns and 30 of 30 rows can be compared, which is too few to say anything"),
    ({"a": range(30), "b": [math.inf] * 30}, {"target": "b"}, "'b' has no value in any row: there is nothing to explain"),
    ({"a": range(30), "b": [None] * 30}, {"target": "b"}, "'b' has no value in any row: there is nothing to explain"),
    ({"a": range(30), "b": [None, *[3.0] * 29]}, {"target": "b"}, "'b' has one value in all rows: there is nothing to explain"),
    ({"a": range(30), "b": ["x\0y"] * 30}, {}, "a text with a NUL cannot be compared"),
    ({1: range(30), "1": range(30)}, {}, "two columns have the name '1'"),
    ({"a": range(30)}, {"samples": 3}, "samples is 3, and must be 20 to 10000"),
    ({"a": range(30), "b": range(30)}, {"tiers": "c"}, "no column fits 'c'"),
])
def test_mistakes_in_python(columns, options, says):
    with pytest.raises(api.Error, match="^" + says.replace("(", r"\(")):
        api.causal(columns, **options)


def test_results_are_let_go(table):
    """Neither a table nor what was found in it is kept: memory stays where it was."""
    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    numbers = {"a": np.arange(200_000.0), "b": np.arange(200_000.0)[::-1].copy()}
    for turn in range(12):
        with pytest.raises(api.Error):
            api.causal(numbers, "c")
        gc.collect()
        if turn == 1:
            before = resident()
    assert resident() - before < 8 << 20
    graph = find(table)
    del graph
    gc.collect()


def test_no_library_for_causes():
    program = "import sonde\ntry:\n    sonde.causal({})\nexcept sonde.Error as e:\n    print(e)\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "SONDE_ANALYSIS_LIBRARY": "/nowhere.so"})
    assert done.stdout.startswith("cannot load libsonde-analysis.so: /nowhere.so") and done.stdout.count("\n") == 1
