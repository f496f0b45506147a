# SPDX-License-Identifier: Apache-2.0
"""The Python package as pip builds it: a wheel with the library in it, in an environment of its own."""
from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from conftest import BUILD, ROOT

SCRIPT = """
import sys, sonde
with sonde.open(sys.argv[1]) as db:
    assert type(db.contexts.parent).__name__ == "memoryview"
    assert db.tracks == []
    print(sonde.__file__, db.root.inclusive("cpu-time"), db.root.inclusive("cpu_time_imbalance"))
graph = sonde.causal({"size": [i % 17 for i in range(200)], "time": [i % 17 + i * 7 % 11 / 10 for i in range(200)]}, "time", samples=20)
assert [cause.cause for cause in graph.causes] == ["size"], graph.json
with sonde.region("x"):
    pass
"""


def quiet(*command: object, **more) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key not in ("SONDE_ANALYSIS_LIBRARY", "SONDE_DB_LIBRARY", "PYTHONPATH")}
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment, **more)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    if quiet(sys.executable, "-m", "venv", folder / "venv").returncode:
        pytest.skip("this Python makes no virtual environments (python3-venv)")
    pip = folder / "venv/bin/pip"
    if quiet(pip, "download", "-q", "--no-deps", "-d", folder / "probe", "meson-python").returncode:
        pytest.skip("pip reaches no package index, which building a wheel needs for meson-python")
    done = quiet(pip, "wheel", "-q", "--no-deps", "-w", folder, ROOT)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_the_library(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    packed = {name.rsplit("/purelib/", 1)[-1] for name in names}
    assert {"sonde/__init__.py", "sonde/_database.py", "sonde/_events.py", "sonde/py.typed", ".sonde.mesonpy.libs/libsonde-db.so",
            "sonde/_causal.py", ".sonde.mesonpy.libs/libsonde-analysis.so"} <= packed
    # of any Python 3, but of one kind of machine
    assert "-py3-none-" in wheel.name and not wheel.name.endswith("-any.whl")
    assert not any(name.endswith((".a", ".h")) or "/include/" in name or name.startswith("..") for name in names)


def test_it_works_where_nothing_else_is(wheel, small_db, tmp_path):
    done = quiet(wheel.parent / "venv/bin/pip", "install", "-q", "--no-index", wheel)
    assert done.returncode == 0, done.stderr
    done = quiet(wheel.parent / "venv/bin/python", "-c", SCRIPT, small_db, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    place, total, imbalance = done.stdout.split()
    assert Path(place).is_relative_to(wheel.parent / "venv") and float(total) == 5e8
    assert float(imbalance) == pytest.approx(0.8)


def test_other_programs_find_the_library(small_db, tmp_path):
    """`make install`: headers, libsonde-db.so and its pkg-config file serve a C program."""
    done = quiet("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", tmp_path)
    assert done.returncode == 0, done.stderr
    pc = next(tmp_path.rglob("sonde-db.pc"))
    source = tmp_path / "count.c"
    source.write_text("""
#include <sonde/formula.h>
#include <sonde/graph.h>
#include <sonde/trace.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	struct sonde_db *db;
	struct sonde_db_error error;
	struct sonde_formula *formula;
	struct sonde_graph *graph;
	struct sonde_trace *trace;
	if (sonde_db_open(argv[1], &db, &error) || sonde_formula_open(db, "cpu-time/1ms", &formula, &error, NULL))
		return puts(error.text), 1;
	if (sonde_graph_open(db, &graph, &error) || sonde_trace_open(db, &trace, &error))
		return puts(error.text), 1;
	printf("%u %g %u %u\\n", sonde_db_context_count(db), sonde_formula_value(formula, 0, false),
	       sonde_graph_model_count(graph), sonde_trace_track_count(trace));
	sonde_trace_close(trace);
	sonde_graph_close(graph);
	sonde_formula_close(formula);
	sonde_db_close(db);
}
""")
    # .../PREFIX/LIBDIR/pkgconfig/sonde-db.pc
    prefix = next(folder for folder in pc.parents if (folder / "include/sonde").is_dir())
    flags = subprocess.run(["pkg-config", f"--define-variable=prefix={prefix}", "--cflags", "--libs", pc],
                           capture_output=True, text=True, check=True).stdout.split()
    program, library = tmp_path / "count", pc.parents[1]
    done = quiet("cc", source, "-o", program, *flags, f"-Wl,-rpath,{library}")
    assert done.returncode == 0, done.stderr
    assert quiet(program, small_db).stdout == "15 500 0 0\n"
