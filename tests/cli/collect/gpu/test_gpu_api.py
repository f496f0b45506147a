# SPDX-License-Identifier: Apache-2.0
"""Accelerators that the user describes (sonde run --gpu-api): their functions are calls with frames and times."""
from __future__ import annotations

import csv
import io
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import program
from program import WORKLOADS

SOURCES = WORKLOADS / "configured"
API = SOURCES / "acme.api"
TIMES = 20


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("acme") / "libacme.so.3"
    subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", "-Wl,-soname,libacme.so.3", "-o", made, SOURCES / "acme.c"], check=True)
    return made


def built(library: Path, name: str, *flags: str) -> Path:
    made = library.parent / name
    subprocess.run(["gcc", "-O1", "-g", "-o", made, SOURCES / "main.c", *flags], check=True)
    return made


def linked(library: Path, *flags: str) -> list[str | Path]:
    name = "linked" + "".join(flags).replace("/", "")
    return [built(library, name, "-DLINKED", library, f"-Wl,-rpath,{library.parent}", *flags)]


WAYS = {
    "by the linker": lambda library: linked(library),
    "by the linker, later": lambda library: linked(library, "-Wl,-z,lazy"),
    "by the linker, without its table": lambda library: linked(library, "-fno-plt"),
    "by name": lambda library: [built(library, "opened"), library],
}


def measured(folder: Path, command: list[str | Path], *options: str) -> Counter[str]:
    """Plain and measured alike; calls by name, `CALL > KERNEL` where it starts one."""
    plain = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    done = program.run(folder, *command, options=("--gpu-api", str(API), *options))
    assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr)
    counts: Counter[str] = Counter()
    for frames, value in program.paths(folder, "gpu-api-time"):
        names = [frame["name"] for frame in frames if frame["kind"] in ("gpu-api", "kernel")]
        counts[" > ".join(names)] += value["count"]
        # each takes a millisecond, or two
        assert value["sum"] / value["count"] > 900_000
        callers = [frame["name"] for frame in frames[:-len(names)] if frame["kind"] != "loop"]
        assert callers[-1] in ("use", "use_after_leaving", "main"), callers
    return counts


@pytest.mark.parametrize("way", WAYS)
def test_described_functions_are_calls(tmp_path: Path, library: Path, way: str) -> None:
    counts = measured(tmp_path, WAYS[way](library))
    once = 1 if way.startswith("by the linker") else 0
    assert counts == {"acmeLaunch > scale": TIMES, "acmeLaunch > odd": TIMES / 2, "acmeLaunch > even": TIMES / 2,
                      "acmeCopy": TIMES + 1 + once, "acmeQuery": TIMES, "acmeWait": TIMES}
    bytes_copied = sum(value["sum"] for _, value in program.paths(tmp_path, "copy-bytes"))
    # what is copied inside of a call has no call of its own; one follows a call that was left by longjmp
    assert bytes_copied == 64 * (TIMES + 1)
    assert program.info(tmp_path)["properties"]["adapter.configured"] == "acme: 4 of 4 calls of libacme.so"


def test_from_python(tmp_path: Path, library: Path) -> None:
    script = tmp_path / "calls.py"
    script.write_text("import ctypes, sys\n"
                      "acme = ctypes.CDLL(sys.argv[1])\n"
                      "def step():\n"
                      "    return acme.acmeCopy(None, None, 0, ctypes.c_void_p(3))\n"
                      "print(sum(step() for _ in range(20)))\n")
    done = program.run(tmp_path, sys.executable, script, library, options=("--gpu-api", str(API)))
    assert done.stdout == "60\n"
    counts: Counter[tuple[str, int]] = Counter()
    for frames, value in program.paths(tmp_path, "gpu-api-time"):
        line = [frame for frame in frames if frame["kind"] == "python"][-1]
        counts[frames[-1]["name"], line["line"]] += value["count"]
    assert counts == {("acmeCopy", 4): 20}


def test_samples_in_a_call_are_below_it(tmp_path: Path, library: Path) -> None:
    measured(tmp_path, linked(library), "-F", "2000")
    inside = total = 0
    for frames, value in program.paths(tmp_path):
        if any(frame["name"] == "work" for frame in frames):
            total += value["count"]
            inside += value["count"] * any(frame["kind"] == "gpu-api" for frame in frames)
    # acmeUnlisted is no call
    assert total > 50 and inside / total > 0.97


def test_traced_calls_have_their_stream(tmp_path: Path, library: Path) -> None:
    measured(tmp_path, linked(library), "--trace=api")
    table = csv.DictReader(io.StringIO(program.sonde("export", "--to", "events", tmp_path / "run.sdb", "-o", "-")))
    rows = [row for row in table if row["name"] == "acmeCopy"]
    assert {(row["attribute.stream"], row["attribute.bytes"]) for row in rows} == {("5", "64"), ("1", ""), ("0", "64")}


def test_a_library_that_is_not_there(tmp_path: Path) -> None:
    done = program.run(tmp_path, "/bin/echo", "plain", options=("--gpu-api", str(API)))
    assert done.stdout == "plain\n"
    assert program.info(tmp_path)["properties"]["adapter.configured"] == "acme: no libacme.so in this process"


@pytest.mark.parametrize(("text", "says"), [
    ("", "describes no device"),
    ("device acme\nlibrary libacme.so\n", "no call was declared of 'acme'"),
    ("library libacme.so\n", "1: a library needs a line 'device NAME' before it"),
    ("device a b\n", "1: not a name: 'a b'"),
    ("device acme\nint f(void);\n", "2: a call needs a line 'library NAME' before it: 'int f(void);'"),
    ("device a\nlibrary b\nlibrary c\n", "3: a device has one library; another device begins with 'device NAME'"),
    ("device a\nlibrary b\nint f(int x\n", "3: a declaration does not end in a semicolon"),
    ("device a\nlibrary b\nhello world\n", "3: not a declaration: 'hello world'"),
    ("device a\nlibrary b\n\n\nint f(struct s x);\n",
     "5: a structure that is passed by value needs its size, as in @struct(12): 'struct s x'"),
    ("device a\nlibrary b\nint f(int x, ...);\n",
     "3: functions with a variable number of arguments cannot be followed: 'int f(int x, ...);'"),
    ("device a\nlibrary b\nint f(long double x);\n", "3: arguments of this type cannot be followed: 'long double x'"),
    ("device a\nlibrary b\nint f(double x @bytes);\n", "3: this mark does not fit: 'double x @bytes'"),
    ("device a\nlibrary b\nint f(int x @name);\n", "3: this mark does not fit: 'int x @name'"),
    ("device a\nlibrary b\nint f(void *s @stream, void *t @stream);\n", "3: this mark does not fit: 'void *t @stream'"),
    ("device a\nlibrary b\nint f(int x @struct(9999));\n", "@struct wants its size in bytes"),
    ("device a\nlibrary b\n" + "".join(f"int f{i}(void);\n" for i in range(65)), "67: more than 64 calls"),
])
def test_wrong_descriptions_are_one_line(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "wrong.api").write_text(text)
    done = subprocess.run([program.SONDE, "run", "--gpu-api", tmp_path / "wrong.api", "-o", tmp_path / "run", "--", "/bin/true"],
                          capture_output=True, text=True)
    assert done.returncode == 128 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and says in done.stderr, done.stderr
    assert not (tmp_path / "run.sonde").exists()
