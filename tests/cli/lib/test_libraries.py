# SPDX-License-Identifier: Apache-2.0
"""What the build's libraries are, taken together, and what the installed headers say of them."""
from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from conftest import BUILD, ROOT

HEADERS = sorted((ROOT / "include/sonde").glob("*.h"))
LIBRARIES = {"libsonde-analysis.so": BUILD / "src/analysis/libsonde-analysis.so", "libsonde-db.so": BUILD / "src/lib/db/libsonde-db.so",
             "libsonde.so": BUILD / "src/collect/libsonde.so"}
C = ["-x", "c", "-std=c99"], ["-x", "c", "-std=c11"], ["-x", "c", "-std=gnu17"]
CXX = ["-x", "c++", "-std=c++11"], ["-x", "c++", "-std=c++20"]


def test_each_name_is_defined_once():
    """Of two functions of one name in two libraries the linker takes one and says nothing.

    Of the ways to communicate a program links one, by choice.
    """
    where: defaultdict[str, set[str]] = defaultdict(set)
    libraries = [path for path in (BUILD / "src").rglob("*.a") if "libcomm_" not in path.name]
    assert len(libraries) > 10
    for library in libraries:
        listed = subprocess.run(["nm", "--defined-only", library], capture_output=True, text=True, check=True).stdout
        for fields in map(str.split, listed.splitlines()):
            if len(fields) == 3 and fields[1] in "TDBR":
                where[fields[2]].add(library.name)
    assert where["sn_importer_recognise"] and {name: libs for name, libs in where.items() if len(libs) > 1} == {}


def library_of(header: Path) -> str:
    """The library that a header says its functions are in."""
    named = re.findall(r"Library: (libsonde[a-z-]*\.so)", header.read_text())
    assert len(named) == 1, f"{header.name} names {named or 'no library'}"
    return named[0]


def functions_of(header: Path, folder: Path) -> set[str]:
    """What a header declares or defines, as the compiler sees it; names that end with _ are its own business."""
    listed = folder / f"{header.name}.declared"
    subprocess.run(["gcc", f"-I{ROOT / 'include'}", "-std=c11", "-fsyntax-only", "-aux-info", listed, "-x", "c", "-"],
                   input=f"#include <sonde/{header.name}>\n", text=True, check=True)
    names = set()
    for place, function in re.findall(r"^/\* ([^:]+):\d+:\S+ \*/ .*?[ *](\w+) \(", listed.read_text(), re.M):
        if Path(place).name == header.name and "include/sonde" in place and not function.endswith("_"):
            names.add(function)
    return names


def exported_by(library: str) -> set[str]:
    listed = subprocess.run(["nm", "-D", "--defined-only", LIBRARIES[library]], capture_output=True, text=True, check=True)
    symbols = [line.split() for line in listed.stdout.splitlines()]
    return {name.split("@")[0] for _, kind, name in symbols if kind != "A"}  # A: a version


@pytest.fixture(scope="module")
def declared(tmp_path_factory) -> dict[str, set[str]]:
    """Library to the functions that headers say are in it."""
    if not shutil.which("gcc"):
        pytest.skip("GCC lists what headers declare; it is not installed")
    folder = tmp_path_factory.mktemp("declared")
    names: dict[str, set[str]] = {library: set() for library in LIBRARIES}
    for header in HEADERS:
        functions = functions_of(header, folder)
        assert functions, header.name
        names[library_of(header)] |= functions
    return names


def test_the_reader_exports_what_headers_declare(declared):
    # an inline function needs no library
    assert "sonde_event_cursor_next" in declared["libsonde-db.so"] and len(declared["libsonde-db.so"]) > 70
    assert exported_by("libsonde-db.so") == declared["libsonde-db.so"] - {"sonde_track_lasts"}


def test_the_analyses_export_what_headers_declare(declared):
    assert "sonde_causes_find" in declared["libsonde-analysis.so"]
    assert exported_by("libsonde-analysis.so") == declared["libsonde-analysis.so"]


def test_the_collector_exports_what_headers_declare(declared):
    """Of its own interface. What else it exports stands in front of other libraries' functions: libsonde.map lists it."""
    exported = exported_by("libsonde.so")
    of_python = set(re.findall(r"\bsonde_python_\w+", "".join(p.read_text() for p in (ROOT / "python/sonde").glob("*.py"))))
    assert {"sonde_monitor_callpath", "sonde_node_begin"} <= declared["libsonde.so"] and len(of_python) == 4
    assert {name for name in exported if name.startswith("sonde_")} == declared["libsonde.so"] | of_python
    listed = re.sub(r"/\*.*?\*/", "", (ROOT / "src/collect/libsonde.map").read_text(), flags=re.S)
    names = set(re.findall(r"([\w*]+);", listed)) - {"*"}
    prefixes = tuple(name[:-1] for name in names if name.endswith("*"))
    assert {name for name in exported if name not in names and not name.startswith(prefixes)} == set()
    layer = {"clGetLayerInfo", "clInitLayer", "clInitLayerWithProperties", "clDeinitLayer"}  # where there is OpenCL
    assert {name for name in names - layer if not name.endswith("*")} - exported == set()


def test_the_reader_is_what_lies_in_its_folder():
    """src/lib/db is its sources and nothing else; what it shares with other folders is of base and format."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    compiled = {(Path(command["directory"]) / command["file"]).resolve() for command in commands
                if re.match(r"src/lib/db/libsonde-db\.so\b", command.get("output", ""))}
    own = {path.resolve() for path in (ROOT / "src/lib/db").glob("*.c")}
    assert len(own) > 10 and own == {path for path in compiled if path.parent == (ROOT / "src/lib/db").resolve()}
    folders = {path.relative_to((ROOT / "src").resolve()).parts[0] for path in compiled - own}
    assert folders == {"base", "format"}


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("header", [header.name for header in HEADERS] + ["all"])
def test_headers_compile_alone(header, compiler, tmp_path):
    """As C and as C++, with nothing but the folder that is installed, which they include nothing beyond."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    include = tmp_path / "include"
    shutil.copytree(ROOT / "include", include, ignore=shutil.ignore_patterns("meson.build"))
    names = [path.name for path in HEADERS] if header == "all" else [header]
    source = "".join(f"#include <sonde/{name}>\n" for name in names * 2) + "int main(void) { return 0; }\n"
    for language in (*C, *CXX):
        done = subprocess.run([compiler, *language, "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{include}", "-MM", "-"],
                              input=source, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        files = {Path(word) for word in done.stdout.replace("\\\n", " ").split()[1:]}
        assert {path for path in files if str(path) != "-" and not path.is_relative_to(include)} == set()
        done = subprocess.run([compiler, *language, "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{include}",
                               "-fsyntax-only", "-"], input=source, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, f"{' '.join(language)}: {done.stderr}"
