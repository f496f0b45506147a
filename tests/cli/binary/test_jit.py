# SPDX-License-Identifier: Apache-2.0
"""Code made at run time is named by what its compiler writes for perf, kept in the measurement folder."""
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import program

SCRIPT = """function inner(n) {
  let s = 0;
  for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003;
  return s;
}
function middle(n) { let t = 0; for (let k = 0; k < 10; k++) t += inner(n); return t; }
function outer() { let t = 0; for (let k = 0; k < 10; k++) t += middle(500000); return t; }
outer();
"""
JAVA = """public class Work {
  static long inner(int n) { long s = 0; for (int i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
  public static void main(String[] a) { long t = 0; for (int k = 0; k < 200; k++) t += inner(1000000); System.out.println(t); }
}
"""


def shares(folder: Path) -> dict[tuple[str, ...], float]:
    """Each path's names, outermost first, and its part of the whole."""
    found = program.paths(folder)
    total = sum(value["sum"] for _, value in found)
    result: dict[tuple[str, ...], float] = {}
    for frames, value in found:
        names = tuple(f["name"] for f in frames)
        result[names] = result.get(names, 0) + value["sum"] / total
    return result


@pytest.mark.parametrize("later", [False, True])
def test_node(tmp_path: Path, later: bool) -> None:
    if not shutil.which("node"):
        pytest.skip("no node")
    (tmp_path / "work.js").write_text(SCRIPT)
    program.run(tmp_path, "node", "--perf-basic-prof", "--interpreted-frames-native-stack", tmp_path / "work.js",
                options=("-F", "997", *(("--no-analyze",) if later else ())))
    for path in Path("/tmp").glob("perf-*.map"):  # what node left is not needed any more
        if path.name in {kept.name for kept in (tmp_path / "run.sonde").iterdir()}:
            path.unlink()
    if later:
        program.sonde("analyze", tmp_path / "run.sonde", "-o", tmp_path / "run.sdb")
    row = next(row for row in program.rows(tmp_path) if row["name"] == "inner")
    assert row["file"] == str(tmp_path / "work.js") and row["module"].endswith(".map")
    inside = {names: share for names, share in shares(tmp_path).items() if names[-1] == "inner"}
    assert sum(inside.values()) > 0.5
    called = sum(share for names, share in inside.items() if "outer" in names and "middle" in names)
    assert called > 0.9 * sum(inside.values())


def test_java(tmp_path: Path) -> None:
    if not shutil.which("java"):
        pytest.skip("no java")
    (tmp_path / "Work.java").write_text(JAVA)
    options = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-XX:+PreserveFramePointer"]
    if subprocess.run(["java", *options, "-version"], capture_output=True).returncode:
        pytest.skip("this Java writes no perf map")
    done = program.run(tmp_path, "java", *options, tmp_path / "Work.java", options=("-F", "997"), check=None)
    if done.returncode:
        pytest.skip(f"this Java does not run a source file: {done.stderr.splitlines()[:1]}")
    inside = {names: share for names, share in shares(tmp_path).items() if "Work.inner" in names[-1]}
    assert sum(inside.values()) > 0.25
    # through the interpreter's frames, which nothing describes, to the thread's start
    assert sum(share for names, share in inside.items() if "Interpreter" in names and "JavaMain" in names) \
        > 0.9 * sum(inside.values())


def test_maps_of_others_are_not_taken(tmp_path: Path) -> None:
    """A map older than the process of its number is an earlier process's."""
    script = tmp_path / "old.sh"
    script.write_text("#!/bin/bash\necho '1000 10 stale' > /tmp/perf-$$.map; touch -d '1 hour ago' /tmp/perf-$$.map\n"
                      "echo $$; for ((i = 0; i < 30000; i++)); do :; done\n")
    script.chmod(0o755)
    done = program.run(tmp_path, script)
    Path(f"/tmp/perf-{done.stdout.strip()}.map").unlink()
    assert not list((tmp_path / "run.sonde").glob("*.map"))


@pytest.mark.parametrize("of", ["self", "large", "other"])
def test_maps_that_are_too_large_or_another_users(tmp_path: Path, of: str) -> None:
    """A hole of 1 TB costs its maker nothing; perf takes no map of another user either."""
    if of == "other" and os.geteuid():
        pytest.skip("needs root to give a file away")
    action = {"self": (), "large": ("grow", str(1 << 40)), "other": ("give", "65534")}[of]
    done = program.run(tmp_path, program.compiled("binary/made_code.c"), *action, timeout=60)
    path = Path(done.stdout.strip())
    path.unlink()
    kept = tmp_path / "run.sonde" / path.name
    drops = program.info(tmp_path)["drops"]
    made = [row for row in program.rows(tmp_path) if row["parent"] is not None and not row["file"] and "main" not in row["name"]
            and row["values"]["cpu-time"]["exclusive"]["count"] > 100]
    # without a name it is one row, not one for each of its instructions
    assert [row["name"] for row in made] == ["[unknown code]" if of == "other" else "made"]
    assert done.stderr == (f"sonde: {path} is not used: it belongs to another user\n" if of == "other" else "")
    assert kept.exists() == (of != "other")
    assert drops.get("perf-map-partial") == (1 if of == "large" else None)
    if of == "large":
        assert kept.stat().st_size == (256 << 20) + 1
        kept.unlink()


def test_functions_that_several_processes_make_are_one(tmp_path: Path) -> None:
    made = program.compiled("binary/made_code.c")
    done = program.run(tmp_path, "sh", "-c", f"{made}; {made}")
    for path in done.stdout.split():
        Path(path).unlink()
    assert len(list(tmp_path.glob("run.sonde/perf-*.map"))) == 2
    row, = [row for row in program.rows(tmp_path, "--view", "flat") if row["name"] == "made"]
    assert row["module"] == "perf.map" and row["values"]["cpu-time"]["exclusive"]["count"] > 100


def test_code_that_llvm_tells_debuggers_of(tmp_path: Path) -> None:
    """By a library with llvmlite's name and its list of object files in memory, which is empty before the program ends."""
    if not shutil.which("g++"):
        pytest.skip("no g++")
    (tmp_path / "made.cc").write_text("namespace made { [[gnu::abi_tag(\"v1\")]] unsigned work(unsigned long n) {\n"
                                      "unsigned s = 0; for (unsigned long i = 0; i < n; i++) s = s * 31 + (s >> 7) + i; return s; } }\n")
    subprocess.run(["g++", "-O1", "-c", "-fcf-protection=none", tmp_path / "made.cc", "-o", tmp_path / "made.o"], check=True)
    shutil.copy(program.compiled("binary/made_objects.c", "-shared", "-fPIC"), tmp_path / "libllvmlite.so")
    program.run(tmp_path, program.compiled("binary/made_objects_main.c"), tmp_path / "libllvmlite.so", tmp_path / "made.o",
                options=("-F", "997"))
    # one for each instruction
    rows = [row for row in program.rows(tmp_path) if row["name"].startswith("made::work")]
    assert sum(row["values"]["cpu-time"]["exclusive"]["count"] for row in rows) > 100
    assert {Path(row["module"]).suffix for row in rows} == {".map"}
    assert "made::work  [" in program.sonde("report", tmp_path / "run.sdb", "--view", "flat")
    assert not list(tmp_path.glob("run.sonde/*.sonde-code"))
