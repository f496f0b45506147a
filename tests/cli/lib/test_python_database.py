# SPDX-License-Identifier: Apache-2.0
"""`import sonde`: databases as objects and arrays, compared with what the commands report of the same files."""
from __future__ import annotations

import gc
import json
import math
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from conftest import BUILD, ROOT
from test_gen_measurements import generate

os.environ["SONDE_DB_LIBRARY"] = str(BUILD / "src/lib/db/libsonde-db.so")
sys.path.insert(0, str(ROOT / "python"))
import sonde as api  # noqa: E402

numpy = pytest.importorskip("numpy")
MS = 1_000_000


@pytest.fixture
def small(small_db):
    """tests/unit/db_fixture.h draws it."""
    with api.open(small_db) as database:
        yield database


@pytest.fixture(scope="module")
def made(tmp_path_factory, sonde):
    folder = tmp_path_factory.mktemp("python")
    summary = generate("-r", 3, "-t", 2, "-s", 2, "--contexts", 60, "--leaves", 40, "--kernels", 10, "-o", folder / "m.sonde")
    result = sonde("analyze", folder / "m.sonde", "-o", folder / "m.sdb", "--metric", "ipc=instructions/cycles")
    assert result.status == 0, result.err
    return folder / "m.sdb", summary


def without_numpy(script: str, *arguments: object) -> str:
    """Runs a script in an interpreter that has neither numpy nor pandas."""
    program = "import sys\nsys.modules['numpy'] = sys.modules['pandas'] = None\nimport sonde\n" + script
    done = subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_contexts_are_the_report(sonde, small, small_db):
    rows = json.loads(sonde("report", "--format", "json", small_db).out)["rows"]
    assert len(small.contexts) == len(rows)
    for row, context in zip(rows, small.walk()):
        assert (row["id"], row["name"], row["kind"], row["depth"]) == (
            context.id, context.name, context.kind, context.depth)
        assert row["file"] == context.file and (row["line"] or 0) == context.line and row["module"] == context.module
        assert row["parent"] == (context.parent.id if context.parent else None)
        for metric in small.metrics:
            for scope in ("inclusive", "exclusive"):
                expected = row["values"].get(metric, {}).get(scope, {"count": 0, "sum": 0, "min": 0, "max": 0})
                stat = context.stat(metric, scope)
                assert (stat.count, stat.sum, stat.min, stat.max) == tuple(
                    expected[key] for key in ("count", "sum", "min", "max"))
                if stat.count:
                    assert stat.mean == pytest.approx(expected["mean"])
                    assert stat.deviation == pytest.approx(expected["std"])
                else:
                    assert math.isnan(stat.mean) and math.isnan(stat.deviation)


def test_the_tree(small):
    root = small.root
    assert root.parent is None and root.depth == 0 and root.path == [root]
    train = small.find("train")[0]
    assert [context.name for context in train.path] == ["train.py", "<module>", "train"]
    assert {child.name for child in train.children} == {"aten::linear", "AddmmBackward0"}
    assert all(child.parent == train for child in train.children)
    assert [context.id for context in train.walk()] == list(range(train.id, train.end))
    assert {context.name for context in small.find("at::native::a*")} == {"at::native::addmm"}
    assert small.contexts[-1].id == len(small.contexts) - 1
    assert [context.id for context in small.contexts[1:3]] == [1, 2]
    assert train == small.contexts[train.id] and len({train, small.contexts[train.id]}) == 1


def test_columns_lie_in_the_file(small):
    parents = small.contexts.parent
    assert parents.dtype == numpy.uint32 and parents.shape == (len(small.contexts),)
    assert list(parents) == [context.parent.id if context.parent else 0 for context in small.walk()]
    assert list(small.contexts.end) == [context.end for context in small.walk()]
    assert [small.string(number) for number in small.frames.name] == [frame.name for frame in small.frames]
    assert list(small.profiles.rank) == [profile.rank for profile in small.profiles]
    assert small.profiles.rank.dtype == numpy.int32 and small.profiles.start_ns.dtype == numpy.uint64
    assert parents.base is not None and not parents.flags.owndata
    with pytest.raises(ValueError):
        parents[0] = 1


def test_values(small):
    cpu = small.metrics["cpu-time"]
    assert (cpu.unit, cpu.kind, cpu.source, cpu.period) == ("ns", "time", "timer", 5 * MS)
    assert cpu.inclusive.dtype == numpy.float64 and cpu.inclusive[0] == 500 * MS
    assert list(cpu.inclusive) == [context.inclusive("cpu-time") for context in small.walk()]
    assert list(cpu.exclusive) == [context.exclusive(cpu) for context in small.walk()]
    contexts, counts = cpu.summary("inclusive", "count")
    assert counts[0] == 100 and list(contexts) == sorted(contexts) and len(contexts) == len(counts)
    assert list(cpu.values("across", "count"))[0] == 3
    assert small.root.stat(cpu, "across").max == 300 * MS


def test_planes_are_the_rows_transposed(made):
    with api.open(made[0]) as database:
        for metric in database.metrics.values():
            planes = {(int(context), profile.number): value
                      for profile in database.profiles for plane in [database.plane(profile, metric)]
                      for context, value in zip(plane.ids, plane.sum)}
            rows = {(context.id, int(profile)): value
                    for context in database.walk() for row in [context.row(metric)]
                    for profile, value in zip(row.ids, row.sum)}
            assert planes == rows
            assert planes or metric.name not in made[1]["metrics"]
        total = made[1]["metrics"]["kernel-time"]
        plane = [database.plane(profile, "kernel-time") for profile in database.profiles]
        assert sum(part.count.sum() for part in plane) == total["count"]
        assert min(part.min.min() for part in plane if len(part)) == total["min"]
        assert max(part.max.max() for part in plane if len(part)) == total["max"]


def test_profiles_and_the_rest(sonde, made):
    database = api.open(made[0])
    info = json.loads(sonde("info", "--format", "json", made[0]).out)
    for found, profile in zip(info["profiles"], database.profiles):
        for key in ("kind", "host", "program", "thread", "rank", "pid", "tid", "cpu_ns", "samples"):
            assert found[key] == getattr(profile, key)
        assert (float(found["start_ns"]), float(found["end_ns"])) == (float(profile.start_ns), float(profile.end_ns))
        assert (found.get("device"), found.get("stream")) == (profile.device, profile.stream)
    assert database.drops == info["drops"] and database.properties == info["properties"]
    assert database.formulas == {formula["name"]: formula["formula"] for formula in info["formulas"]}
    for formula in info["formulas"]:
        assert database.root.inclusive(formula["name"]) == pytest.approx(formula["value"], nan_ok=True)
        assert database.formula(formula["name"]).unit == formula["unit"]
    database.verify()


def test_formulas(sonde, made):
    path = made[0]
    with api.open(path) as database:
        for text in ("kernel_time/cpu_time", "ipc*2", "mean(kernel-registers)", "imbalance(cpu-time)", "exclusive(cycles)"):
            formula = database.formula(text)
            rows = json.loads(sonde("report", "--format", "json", "--metric", f"cpu-time,x={text}", path).out)["rows"]
            for scope in ("inclusive", "exclusive"):
                expected = [row["values"].get("x", {}).get(scope, math.nan) for row in rows]
                assert list(formula.values(scope)) == pytest.approx(expected, nan_ok=True)
                assert formula.at(0, exclusive=scope == "exclusive") == pytest.approx(expected[0], nan_ok=True)
        with pytest.raises(api.FormulaError) as mistake:
            database.formula("'é'+1")
        assert mistake.value.position == 0
        with pytest.raises(api.FormulaError, match=r"no metric(.|\n)*\n    cycles\*nope\n           \^") as mistake:
            database.formula("cycles*nope")
        assert mistake.value.position == 7 and isinstance(mistake.value, api.Error)


def test_formulas_of_one_profile(made):
    with api.open(made[0]) as database:
        text = "cpu_time/count(cpu-time) + exclusive(cpu-time) + min(cpu-time)"
        formula, imbalance = database.formula(text), database.formula("max(across(cpu-time))*profiles(cpu-time)")
        own = [[{} for _ in database.contexts] for _ in database.profiles]
        for profile, cells in enumerate(own):
            plane = database.plane(profile, "cpu-time")
            for at, values in zip(plane.ids, zip(plane.sum, plane.count, plane.min)):
                cells[int(at)] = dict(zip(("sum", "count", "min"), map(float, values)))
        seen = 0
        for profile, cells in enumerate(own):
            of_one = database.formula(text, profile=database.profiles[profile])
            inclusive = of_one.inclusive
            totals = database.formula(imbalance.text, profile).inclusive
            for context in database.contexts:
                parts = [cell for cell in cells[context.id : int(database.contexts.end[context.id])] if cell]
                if not parts:
                    assert math.isnan(inclusive[context.id])
                    continue
                total = sum(part["sum"] for part in parts)
                expected = (total / sum(part["count"] for part in parts) + cells[context.id].get("sum", 0)
                            + min(part["min"] for part in parts))
                assert inclusive[context.id] == pytest.approx(expected)
                assert totals[context.id] == pytest.approx(total)
                seen += 1
        assert seen > 50
        for context in (0, 3, len(database.contexts) - 1):
            for scope in ("inclusive", "exclusive"):
                row = formula.row(context, scope)
                columns = [database.formula(text, number).values(scope)[context] for number in range(len(own))]
                assert list(row) == pytest.approx(columns, nan_ok=True)
                at = database.formula(text, 1).at(context, exclusive=scope == "exclusive")
                assert at == pytest.approx(columns[1], nan_ok=True)
        with pytest.raises(IndexError):
            database.formula(text, profile=len(own))
        with pytest.raises(IndexError):
            formula.row(len(database.contexts))


def test_pandas(small):
    pandas = pytest.importorskip("pandas")
    frame = small.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(small.contexts) and frame.index.name == "context"
    assert frame["cpu-time"].sum() == 500 * MS and frame["cpu-time (inc)"].iloc[0] == 500 * MS
    assert list(frame["name"]) == [context.name for context in small.walk()]
    assert frame["parent"].iloc[0] == -1
    ratio = small.to_pandas(["cpu-time", "gpu_time/cpu_time"])
    assert ratio["gpu_time/cpu_time (inc)"].iloc[0] == pytest.approx(0.6) and "gpu-time" not in ratio


def test_pandas_without_values(empty_db):
    """Nobody was measured: a row for each context, and zeroes."""
    pytest.importorskip("pandas")
    with api.open(empty_db) as database:
        frame = database.to_pandas()
        assert len(frame) == len(database.contexts) == 50 and not frame["cpu-time (inc)"].any()
        assert len(database.row(0, "cpu-time").ids) == 0 and len(frame[frame["cpu-time"] > 0].groupby("name")) == 0


def test_arrays_outlive_the_database(small_db):
    database = api.open(small_db)
    parents, ids = database.contexts.parent, database.plane(0, "cpu-time").ids
    plane, context, formula = database.plane(0, "cpu-time"), database.contexts[3], database.formula("cpu-time*2")
    metric, before = database.metrics["cpu-time"], (parents.tolist(), ids.tolist())
    database.close()
    database.close()
    gc.collect()
    assert database.closed and "closed" in repr(database)
    for use in (lambda: database.contexts[0], lambda: database.contexts.parent, lambda: metric.inclusive,
                lambda: context.name, lambda: context.stat("cpu-time"), lambda: formula.values(),
                lambda: formula.at(0), lambda: database.find("*"), lambda: database.properties,
                lambda: database.plane(0, "cpu-time"), lambda: database.__enter__(), lambda: database.verify(),
                lambda: database.formula("1"), lambda: database.string(0), lambda: database.to_pandas()):
        with pytest.raises((ValueError, ImportError)):
            use()
    del database, context, formula, metric
    gc.collect()
    assert (parents.tolist(), ids.tolist()) == before and sum(plane.sum) == 300 * MS
    mapped = str(small_db) in Path("/proc/self/maps").read_text()
    assert mapped
    del parents, ids, plane, use
    gc.collect()
    assert str(small_db) not in Path("/proc/self/maps").read_text()  # the last array unmaps it


def test_a_name_with_a_null_byte_is_no_other_file(small_db):
    with pytest.raises(ValueError, match="null byte"):
        api.open(f"{small_db}\0.old")


def test_what_is_not_there(small):
    for number in (len(small.contexts), -len(small.contexts) - 1):
        with pytest.raises(IndexError):
            small.contexts[number]
    with pytest.raises(IndexError):
        small.plane(99, "cpu-time")
    with pytest.raises(KeyError, match="was not measured; there are cpu-time, gpu-time"):
        small.plane(0, "nope")
    with pytest.raises(ValueError, match="none of exclusive, inclusive, across"):
        small.metrics["cpu-time"].values("sideways")
    with pytest.raises(AttributeError, match="no column 'nope'"):
        small.contexts.nope
    with pytest.raises(TypeError):
        small.contexts["0"]
    with pytest.raises(AttributeError):
        api.nope


@pytest.mark.parametrize("content, why", [(b"", "empty file"), (b"x" * 100, "bad magic")])
def test_errors_say_what_the_commands_say(sonde, tmp_path, content, why):
    (tmp_path / "x.sdb").write_bytes(content)
    with pytest.raises(api.Error, match=why) as error:
        api.open(tmp_path / "x.sdb")
    assert sonde("info", tmp_path / "x.sdb").err == f"sonde: {error.value}\n"
    with pytest.raises(api.Error, match="No such file"):
        api.open(tmp_path / "none.sdb")


def test_damaged_values_raise(made, tmp_path):
    data = bytearray(Path(made[0]).read_bytes())
    for at in range(len(data) // 4, len(data), 997):
        data[at] ^= 0x55
    path = tmp_path / "damaged.sdb"
    path.write_bytes(data)
    with pytest.raises(api.Error, match="damaged|truncated"):
        database = api.open(path)
        database.verify()


def test_without_numpy(sonde, small_db):
    script = """
db = sonde.open(sys.argv[1])
cpu = db.metrics["cpu-time"]
parents = db.contexts.parent
assert isinstance(parents, memoryview) and parents.readonly and parents.format == "I", parents.format
plane = db.plane(0, "cpu-time")
ranks = db.profiles.rank.tolist()
empty = db.plane(1, "gpu-time")
assert len(empty) == 0 and empty.ids.tolist() == empty.sum.tolist() == []
print([parents.tolist(), cpu.inclusive.tolist(), plane.ids.tolist(), plane.sum.tolist(), ranks,
       db.formula("cpu-time*2").inclusive.tolist()[0]])
db.close()
assert parents.tolist()[0] == 0
try:
    sonde.open(sys.argv[1]).to_pandas()
except ImportError as error:
    assert "pandas" in str(error)
else:
    raise AssertionError
"""
    parents, inclusive, ids, sums, ranks, twice = json.loads(without_numpy(script, small_db))
    with api.open(small_db) as database:
        assert parents == database.contexts.parent.tolist() and ranks == database.profiles.rank.tolist()
        assert inclusive == database.metrics["cpu-time"].inclusive.tolist()
        plane = database.plane(0, "cpu-time")
        assert (ids, sums) == (plane.ids.tolist(), plane.sum.tolist()) and twice == 1000 * MS


def test_several_threads(big_db):
    database, found = api.open(big_db), []

    def work():
        found.append([float(database.metrics[name].inclusive.sum()) for name in database.metrics])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(values == found[0] for values in found)


def test_a_database_of_a_real_run(tmp_path):
    from program import run

    run(tmp_path, sys.executable, "-c", "sum(i * i for i in range(10**7))")
    with api.open(tmp_path / "run.sdb") as database:
        genexpr = [context for context in database.walk() if context.kind == "python" and "genexpr" in context.name]
        assert genexpr and sum(context.exclusive("cpu-time") for context in database.walk()) == pytest.approx(
            database.root.inclusive("cpu-time"))
        database.verify()


def test_no_library(tmp_path):
    program = "import sonde\ntry:\n    sonde.open('x')\nexcept sonde.Error as e:\n    print(e)\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "SONDE_DB_LIBRARY": "/nowhere.so"})
    assert done.stdout.startswith("cannot load libsonde-db.so: /nowhere.so") and done.stdout.count("\n") == 1


def test_regions_do_not_pay_for_databases():
    done = subprocess.run([sys.executable, "-c", "import sonde, sys; sonde.region('x'); print('ctypes' in sys.modules)"],
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert done.stdout == "False\n"


@pytest.mark.skipif(not shutil.which("ruff"), reason="ruff is not installed")
def test_ruff():
    done = subprocess.run(["ruff", "check", ROOT / "python"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
