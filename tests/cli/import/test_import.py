# SPDX-License-Identifier: Apache-2.0
"""`sonde import`: what it recognises, what it refuses, and HPCToolkit's own measurements against the databases that
HPCToolkit makes of them."""
from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest

from conftest import ROOT, make_database, run_sonde
from hpctoolkit_compare import compare
from hpctoolkit_db import Database
from samples import SAMPLES, needs
from test_gen_measurements import generate

DATA = SAMPLES / "hpctoolkit"
NAMES = ["small", "loops-cputime-t", "loops-cuda-nvidia-t", "loops-cuda-nvidiapc-t"]
FORMATS = re.findall(r"^SN_IMPORTER\((\w+)\)", (ROOT / "src/import/core/importers.def").read_text(), re.M)

needs_data = needs("hpctoolkit")


def import_to(path: Path, *arguments: object) -> Path:
    result = run_sonde("import", *arguments, "-o", path)
    assert (result.status, result.err) == (0, ""), result.err
    return path


def export_to(path: Path, database: Path) -> Path:
    result = run_sonde("export", "--to", "hpctoolkit", database, "-o", path)
    assert (result.status, result.out, result.err) == (0, "", "")
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def refused(tmp_path: Path, *arguments: object) -> str:
    """The one line with which an import fails that must leave nothing behind."""
    output = tmp_path / "refused.sdb"
    result = run_sonde("import", *arguments, "-o", output)
    assert result.status == 128 and result.out == "" and len(result.err_lines) == 1
    assert not list(tmp_path.glob("refused*"))
    return result.err


@pytest.mark.parametrize("kind", FORMATS)
class TestEveryFormat:
    def test_is_explained(self, kind):
        assert re.search(rf"^    {kind} +\w", run_sonde("import", "-h").out, re.M)
        assert f".It Cm {kind}\n" in (ROOT / "docs/man/sonde-import.1").read_text()

    def test_has_its_own_test(self, kind):
        assert any(re.search(rf"^(@.*\n)*def test_{kind}_", path.read_text(), re.M)
                   for path in Path(__file__).parent.glob("test_import*.py"))


def test_unknown_format_lists_what_is_known(tmp_path):
    path = tmp_path / "file"
    path.write_text("nothing that anybody writes")
    assert refused(tmp_path, path) == f"sonde: cannot import '{path}': not of a known format ({', '.join(FORMATS)})\n"


def test_a_folder_stands_for_what_is_in_it(tmp_path):
    """Of many things that lie there, what is of a known format, by numbers in names; never a database."""
    folder = tmp_path / "ranks"
    (folder / "deeper").mkdir(parents=True)
    for rank in (10, 9):
        (folder / f"rank{rank}.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": f"aten::of_{rank}", "pid": rank, "tid": 1, "ts": 1, "dur": 1}]}))
    (folder / "notes.txt").write_text("what was tried")
    assert run_sonde("import", folder, "-o", folder / "all.sdb").status == 0
    again = run_sonde("import", folder, "-o", tmp_path / "all.sdb")
    assert again.status == 0 and "2 events from 2 inputs of kineto" in again.out
    assert again.err == "sonde: 1 folder was not read: deeper\n"
    each = run_sonde("import", folder / "rank9.json", folder / "rank10.json", "-o", tmp_path / "each.sdb")
    assert each.status == 0
    assert (tmp_path / "all.sdb").read_bytes() == (tmp_path / "each.sdb").read_bytes()
    for path in folder.glob("rank*"):
        path.unlink()
    assert refused(tmp_path, folder) == f"sonde: cannot import '{folder}': nothing in that folder is " \
        f"of a known format ({', '.join(FORMATS)}); folders in it: deeper\n"


def test_own_files_name_their_command(tmp_path):
    generate("-r", 1, "-t", 1, "-s", 0, "-o", tmp_path / "m.sonde")
    assert run_sonde("analyze", tmp_path / "m.sonde", "-o", tmp_path / "m.sdb").status == 0
    (process,) = (tmp_path / "m.sonde").iterdir()
    for path, command in ((tmp_path / "m.sonde", "analyze"), (process, "analyze"), (tmp_path / "m.sdb", "report")):
        assert f"'sonde {command}'" in refused(tmp_path, path)
    assert "'sonde analyze'" in refused(tmp_path, f"{tmp_path}/m.sonde/")


@needs_data
def test_hpctoolkit_one_bad_profile_of_many(tmp_path):
    """It is left out, said and counted; the others are there. A folder of bad ones is refused."""
    folder = tmp_path / "m"
    shutil.copytree(measurement(tmp_path, "loops-cputime-t"), folder)
    profiles = sorted(folder.glob("*.hpcrun"))
    assert len(profiles) > 1
    profiles[0].write_bytes(profiles[0].read_bytes()[:100])
    result = run_sonde("import", folder, "-o", tmp_path / "left.sdb")
    assert result.status == 0 and len(result.err_lines) == 1
    assert "1 file was left out" in result.err and profiles[0].name in result.err
    about = json.loads(run_sonde("info", tmp_path / "left.sdb", "--format", "json").out)
    assert about["drops"]["import-unreadable"] == 1
    for path in profiles:
        path.write_bytes(path.read_bytes()[:100])
    refused(tmp_path, folder)


def test_pipes_are_refused(tmp_path):
    """A pipe has no writer that will ever come."""
    os.mkfifo(tmp_path / "pipe")
    assert "not a file or folder" in refused(tmp_path, tmp_path / "pipe")
    (tmp_path / "t.json").write_text('{"schemaVersion": 1, "traceEvents": []}')
    assert "not a file or folder" in refused(tmp_path, tmp_path / "t.json", "-S", tmp_path / "pipe")


def test_missing_file(tmp_path):
    path = tmp_path / "missing"
    assert refused(tmp_path, path) == f"sonde: cannot open '{path}': No such file or directory\n"
    assert refused(tmp_path, "--from", "hpctoolkit", path) == \
        f"sonde: cannot open '{path}': No such file or directory\n"


def test_from_another_format(tmp_path):
    (tmp_path / "text").write_text("text")
    assert "not of format hpctoolkit" in refused(tmp_path, "--from", "hpctoolkit", tmp_path / "text")
    result = run_sonde("import", "--from", "hpctolkit", tmp_path / "text", "-o", tmp_path / "x.sdb")
    assert result.status == 129 and "hpctoolkit" in result.err


def test_usage():
    assert run_sonde("import", "-o", "x.sdb").status == 129
    assert run_sonde("import", "x").status == 129


def measurement(folder: Path, name: str) -> Path:
    return DATA / "meas" / f"{name}.m"


@needs_data
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("with_structure", [True, False], ids=["structure", "addresses"])
def test_hpctoolkit_measurement(tmp_path, name, with_structure):
    options = [] if with_structure else ["--no-structure"]
    database = import_to(tmp_path / "a.sdb", *options, measurement(tmp_path, name))
    expected = DATA / "dbase" / (f"{name}.d" if with_structure else f"{name}.nostruct.d")
    found = export_to(tmp_path / "a.d", database)
    assert compare(expected, found) == []


@needs_data
@pytest.mark.parametrize("name", [f"{name}{kind}" for name in NAMES for kind in ("", ".nostruct")])
def test_hpctoolkit_database(tmp_path, name):
    expected = DATA / "dbase" / f"{name}.d"
    database = import_to(tmp_path / "a.sdb", expected)
    assert compare(expected, export_to(tmp_path / "a.d", database)) == []


@needs_data
@pytest.mark.parametrize("name", NAMES)
def test_hpctoolkit_export_import_export(tmp_path, name):
    first = export_to(tmp_path / "1.d", import_to(tmp_path / "1.sdb", measurement(tmp_path, name)))
    second = export_to(tmp_path / "2.d", import_to(tmp_path / "2.sdb", first))
    assert contents(first) == contents(second)


def test_hpctoolkit_own_databases_come_back(tmp_path, small_db):
    """Of a database that no importer made: frames with lines in them, statistics of several values."""
    larger = make_database(tmp_path, "larger.sdb", "--contexts", 3000, "--profiles", 3)
    for name, database in (("small", small_db), ("larger", larger)):
        first = export_to(tmp_path / f"{name}1.d", database)
        Database(first).check()
        second = export_to(tmp_path / f"{name}2.d", import_to(tmp_path / f"{name}.sdb", first))
        assert contents(first) == contents(second)


def test_export_deletes_no_foreign_file(tmp_path, small_db):
    folder = export_to(tmp_path / "own.d", small_db)
    export_to(folder, small_db)  # of the kind, and replaced
    (folder / "thesis.tex").write_text("precious")
    result = run_sonde("export", "--to", "hpctoolkit", small_db, "-o", folder)
    assert result.status == 128 and "'thesis.tex'" in result.err
    assert (folder / "thesis.tex").read_text() == "precious" and (folder / "meta.db").exists()
    assert {path.name for path in tmp_path.glob("*.d*")} == {"own.d"}


@needs_data
def test_hpctoolkit_structure_from_elsewhere(tmp_path):
    """Structure files given by -S, compressed, count as those in the measurement."""
    shutil.copytree(DATA / "meas/small.m", tmp_path / "small.m")
    (tmp_path / "small.m").chmod(0o755)
    structures = tmp_path / "structures"
    structures.mkdir()
    for path in (DATA / "meas/small.m/structs").iterdir():
        (structures / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    (tmp_path / "small.m/structs").chmod(0o755)
    shutil.rmtree(tmp_path / "small.m/structs")
    without = export_to(tmp_path / "without.d", import_to(tmp_path / "without.sdb", tmp_path / "small.m"))
    assert compare(DATA / "dbase/small.nostruct.d", without) == []
    with_them = import_to(tmp_path / "with.sdb", "-S", structures, tmp_path / "small.m")
    assert compare(DATA / "dbase/small.d", export_to(tmp_path / "with.d", with_them)) == []


@needs_data
def test_hpctoolkit_several_measurements(tmp_path):
    """Two folders make one database of all their threads."""
    both = [measurement(tmp_path, "small"), measurement(tmp_path, "loops-cputime-t")]
    found = Database(export_to(tmp_path / "a.d", import_to(tmp_path / "a.sdb", *both)))
    found.check()
    parts = [Database(DATA / "dbase" / f"{name}.d") for name in ("small", "loops-cputime-t")]
    assert len(found.profiles) == 1 + sum(len(part.profiles) - 1 for part in parts)
    metric = {name: number for number, name in found.prop.items()}["CPUTIME (sec)", "execution"]
    total = sum(values[0][metric] for _, summary, values in found.profiles if not summary)
    assert total == pytest.approx(sum(p.profiles[0][2][0][3] for p in parts), rel=1e-12)


@needs_data
def test_hpctoolkit_comparison_can_fail(tmp_path):
    """What the tests above rely on: another value, another context, another metric are found."""
    source = DATA / "dbase/small.d"
    for name, old, new in (("profile.db", None, None), ("meta.db", b"spinsleep", b"spinslept"),
                           ("meta.db", b"CPUTIME (sec)", b"CPUTIME (min)")):
        copy = tmp_path / "copy.d"
        shutil.copytree(source, copy, dirs_exist_ok=True)
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o755)
        if name == "profile.db":
            database = Database(source)
            value = database.profiles[1][2][2][3]
            for file in ("profile.db", "cct.db"):
                data = (copy / file).read_bytes()
                (copy / file).write_bytes(data.replace(struct.pack("<d", value), struct.pack("<d", value * (1 + 1e-14))))
        else:
            (copy / name).write_bytes((copy / name).read_bytes().replace(old, new))
        assert compare(source, copy), name
        shutil.rmtree(copy)


@needs_data
def test_local_memory_is_not_said_to_be_of_a_thread(tmp_path):
    """HPCToolkit adds up what is kept for all threads: 125 MiB here, of which one can have 512 KiB at most."""
    assert run_sonde("import", DATA / "meas/loops-cuda-nvidiapc-t.m", "-o", tmp_path / "o.sdb").status == 0
    formulas = run_sonde("info", tmp_path / "o.sdb").out.split("\nFormulas\n")[1]
    values = {line.split()[0]: line.split()[1:3] for line in formulas.split("\n\n")[0].splitlines()}
    assert values["registers_per_thread"][0] == "32"
    assert values["local_bytes_per_launch"] == ["125", "MiB"] and "local_bytes_per_thread" not in values


@pytest.mark.parametrize("library", ["sqlite3", "babeltrace2"])
def test_library_that_cannot_be_loaded(sonde, tmp_path, library):
    """Only who needs it is told."""
    recording = tmp_path / "recording"
    if library == "sqlite3":
        with closing(sqlite3.connect(recording)) as database:
            database.execute("CREATE TABLE any (id)")
    else:
        recording.mkdir()
        (recording / "metadata").write_text("/* CTF 1.8 */\n")
    (tmp_path / f"lib{library}.so.0").write_bytes(b"")
    done = sonde("import", recording, "-o", tmp_path / "x.sdb", LD_LIBRARY_PATH=str(tmp_path))
    if "built without" in done.err:
        pytest.skip(done.err)
    assert done.status == 128 and done.err_lines == [f"sonde: cannot read '{recording}': lib{library} cannot be loaded"]
    assert sonde("--version", LD_LIBRARY_PATH=str(tmp_path)).status == 0


def flat(database: Path, *options: str) -> dict[str, float]:
    """Own cost by function, as shares of all."""
    rows = json.loads(run_sonde("report", database, "--view", "flat", "--format", "json", *options).out)["rows"]
    found: dict[str, float] = {}
    for row in rows:
        for value in row["values"].values():
            found[row["name"]] = found.get(row["name"], 0) + value["exclusive"]["sum"]
    return {name: round(own / sum(found.values()), 9) for name, own in found.items() if own}


def test_hpctoolkits_lines_add_up_to_functions(tmp_path, small_db):
    """Its costs lie at lines in loops in functions; a table of functions has none of these."""
    path = import_to(tmp_path / "back.sdb", export_to(tmp_path / "out", small_db))
    rows = json.loads(run_sonde("report", path, "--view", "flat", "--format", "json").out)["rows"]
    assert not {row["kind"] for row in rows} & {"line", "loop", "gpu-line", "gpu-loop"}
    assert "(instructions)" not in run_sonde("report", path, "--view", "flat").out
    expected, found = flat(small_db, "--metric", "cpu-time"), flat(path, "--metric", "CPUTIME (sec)")
    native = {row["name"] for row in json.loads(run_sonde("report", small_db, "--view", "flat", "--format", "json").out)["rows"]
              if row["kind"] == "native"}
    assert native & expected.keys() and all(found[name] == expected[name] for name in native & expected.keys())
    text = run_sonde("report", path, "--view", "bottom-up", "--granularity", "function")
    assert text.status == 0 and "[line]" not in text.out


def test_hpctoolkits_lines_as_callgrind(tmp_path, small_db):
    """A line is no function of its own there either."""
    path = import_to(tmp_path / "back.sdb", export_to(tmp_path / "out", small_db))
    written = tmp_path / "back.callgrind"
    assert run_sonde("export", "--to", "callgrind", "-o", written, path).status == 0
    rows = json.loads(run_sonde("report", path, "--view", "flat", "--format", "json").out)["rows"]
    functions = set(re.findall(r"^c?fn=\(\d+\) (.*)$", written.read_text(), re.M))
    named = {row["name"] for row in rows if row["name"]}
    assert len(named) > 5 and named <= functions


@needs_data
def test_code_without_symbols_keeps_its_addresses(tmp_path):
    """Of a database without structure: each address is a row, and all of them are the whole."""
    path = import_to(tmp_path / "nostruct.sdb", DATA / "dbase/loops-cputime-t.nostruct.d")
    rows = json.loads(run_sonde("report", path, "--view", "flat", "--format", "json", "--metric", "CPUTIME (sec)").out)["rows"]
    nameless = [row["values"]["CPUTIME (sec)"]["exclusive"]["sum"] for row in rows if not row["name"] and row["values"]]
    assert len([own for own in nameless if own]) > 20
    text = run_sonde("report", path, "--view", "flat", "--limit", "0").out
    addresses = re.findall(r"testmeas-loops\+0x([0-9a-f]+)", text)
    assert len(addresses) == len(set(addresses)) > 20
