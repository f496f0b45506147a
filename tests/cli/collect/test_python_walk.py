# SPDX-License-Identifier: Apache-2.0
"""The Python adapter inside real interpreters, every one that is at hand.

The adapter's sources are built into a library that is preloaded; what it reads from signal handlers is
compared with what the interpreter says itself. More interpreters: SONDE_TEST_PYTHONS, a list of
executables separated by colons. python3.9 to python3.14 on the path, of pyenv and under /opt are found.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interpreters import OLDER, PYTHONS, SUPPORTED

ROOT = Path(__file__).resolve().parents[3]
WORKLOADS = ROOT / "tests/workloads"
ADAPTER = ROOT / "src/collect/adapters/python"
LAYOUT = ROOT / "src/unwind/python"
CC = os.environ.get("CC", "cc")
LIBRARIES = {(shared, prefix) for version, shared, prefix in PYTHONS.values()
             if shared and ".so" in shared and (3, 9) <= version <= (3, 14)}
LIBRARIES |= {(path, "/usr") for path in glob.glob("/usr/lib/*/libpython3.??.so.1.0")}


def build_probe(output, layout=LAYOUT):
    sources = [*sorted(ADAPTER.glob("*.c")), *sorted(layout.glob("*.c")), ROOT / "src/collect/unwind/elf_symbol.c",
               WORKLOADS / "python/python_probe.c", WORKLOADS / "python/python_probe_doubles.c"]
    # The copy's own headers first, then everything of the tree.
    subprocess.run([CC, "-g", "-O2", "-std=gnu17", "-D_GNU_SOURCE", "-fno-strict-aliasing", "-fPIC",
                    "-shared", "-I", ROOT / "src", "-o", output, *sources], check=True)
    return output


@pytest.fixture(scope="session")
def probe(tmp_path_factory):
    return build_probe(tmp_path_factory.mktemp("probe") / "probe.so")


def run(probe, command, **more):
    environment = dict(os.environ, LD_PRELOAD=str(probe), PYTHONDONTWRITEBYTECODE="1",
                       PYTHONIOENCODING="utf-8:surrogateescape", **more)
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120,
                            errors="replace")
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_there_is_an_interpreter():
    assert SUPPORTED


@pytest.mark.parametrize("python", SUPPORTED)
def test_frames_are_what_the_interpreter_says(probe, python):
    output = run(probe, [python, WORKLOADS / "python/python_truth.py"])
    assert "DIFFERENT" not in output and "PAIRING" not in output, output
    assert int(re.search(r"checked (\d+)", output)[1]) > 200
    assert "CPython %d.%d in " % PYTHONS[python][0] in output


@pytest.mark.parametrize("python", SUPPORTED)
def test_random_interruption(probe, python):
    output = run(probe, [python, WORKLOADS / "python/python_stress.py", "1.5", "100"])
    counts = dict(re.findall(r"(\w+) (\d+)", output.splitlines()[-1]))
    counts = {name: int(count) for name, count in counts.items()}
    assert counts["invalid"] == 0, output
    assert counts["distinct"] > 50
    # A torn moment fails one walk or leaves one frame out; it is not the rule and never more.
    assert counts["failed"] <= counts["walks"] * 0.01, output
    assert counts["unpaired"] == 0 and counts["off_by_one"] <= counts["paired"] * 0.02, output


@pytest.mark.parametrize("python", SUPPORTED)
def test_every_instruction(probe, python):
    output = run(probe, [python, WORKLOADS / "python/python_step.py", "100000"])
    counts = dict(re.findall(r"(\w+) (\d+)", output.splitlines()[-1]))
    counts = {name: int(count) for name, count in counts.items()}
    assert counts["walks"] >= 100000
    # A walk may fail where the newest frame is half linked; what it gives must be true. In 3.12 there
    # are a few instructions in which a frame called by a generator is linked to the generator's caller.
    assert counts["failed"] <= counts["walks"] * 0.01, output
    assert counts["wrong"] <= (counts["walks"] * 0.0002 if PYTHONS[python][0] == (3, 12) else 0), output
    assert counts["unpaired"] == 0 and counts["empty"] == 0, output


@pytest.mark.parametrize("python", SUPPORTED)
def test_code_that_is_made_anew_has_another_fingerprint(probe, python):
    """It lies where freed code was, with the same names, first line and instructions."""
    output = run(probe, [python, WORKLOADS / "python/python_remade.py"])
    counts = {name: int(count) for name, count in re.findall(r"(\w+) (\d+)", output)}
    assert counts.pop("remade") > 50 and counts == {"shared": 0, "without": 0, "of_one_point": 1}, output


def test_virtual_environment(probe, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    output = run(probe, [tmp_path / "venv/bin/python3", WORKLOADS / "python/python_truth.py"])
    assert "DIFFERENT" not in output and "PAIRING" not in output and "checked" in output


@pytest.fixture(scope="session")
def embed(tmp_path_factory):
    program = tmp_path_factory.mktemp("embed") / "embed"
    subprocess.run([CC, "-g", "-o", program, WORKLOADS / "python/python_embed.c", "-ldl"], check=True)
    return program


@pytest.mark.parametrize("library,prefix", sorted(LIBRARIES))
def test_embedded_with_local_symbols(probe, embed, library, prefix):
    output = run(probe, [embed, library], PYTHONHOME=prefix)
    assert output.count("same 3") == 2 and output.count("same 4") == 2, output


@pytest.mark.parametrize("copies", [False, True])
def test_embedded_and_linked(probe, tmp_path, copies):
    flags = ["-no-pie", "-fno-pie", "-DCOPY_RELOCATION"] if copies else []
    linked = subprocess.run([CC, *flags, "-o", tmp_path / "embed", WORKLOADS / "python/python_embed.c",
                             "-Wl,--no-as-needed", "-lpython%d.%d" % sys.version_info[:2], "-ldl"],
                            capture_output=True)
    if linked.returncode:
        pytest.skip("no libpython to link with")
    output = run(probe, [tmp_path / "embed"])
    assert output.count("same 3") == 2 and output.count("same 4") == 2, output


@pytest.mark.parametrize("python", OLDER)
def test_older_interpreters_are_left_alone(probe, python):
    output = run(probe, [python, "-c", (
        "import ctypes; p = ctypes.CDLL(None); p.probe_status.restype = ctypes.c_char_p\n"
        "p.probe_raise.restype = ctypes.c_char_p; p.probe_install(10)\n"
        "print(p.probe_raise(10), p.probe_status())")])
    assert "b'off: CPython is older than 3.9" in output.replace("('", "b'"), output


@pytest.mark.parametrize("field", ["code_name", "frame_code", "frame_previous", "thread_frame",
                                   "code_lines", "text_length"])
def test_a_layout_that_differs_is_refused(tmp_path, field):
    """The adapter built with a wrong table: it must notice, say so, and harm nothing."""
    wrong = tmp_path / "python"
    shutil.copytree(LAYOUT, wrong)
    table = (wrong / "layout.c").read_text()
    skewed = re.sub(r"\.%s = (\d+)" % field, lambda m: ".%s = %d" % (field, int(m[1]) + 8), table)
    assert skewed != table
    (wrong / "layout.c").write_text(skewed)
    probe = build_probe(tmp_path / "probe.so", wrong)
    for python in [path for path in SUPPORTED if PYTHONS[path][0] < (3, 13)]:
        output = run(probe, [python, "-c", (
            "import ctypes; p = ctypes.CDLL(None); p.probe_status.restype = ctypes.c_char_p\n"
            "p.probe_raise.restype = ctypes.c_char_p; p.probe_install(10)\n"
            "def f(n):\n  if n: return f(n - 1)\n  return [p.probe_raise(10) for i in range(40)][-1]\n"
            "print(f(3), p.probe_attach(), p.probe_status().decode())")])
        refused = "off: the layout of its frames differs" in output
        assert refused or "no frame seen yet" in output, output
        assert output.startswith("b'' "), output
