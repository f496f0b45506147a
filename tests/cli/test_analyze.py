# SPDX-License-Identifier: Apache-2.0
"""`sonde analyze` as a user runs it, on measurements with known contents."""
from __future__ import annotations

import json
import random
import subprocess
import time
from pathlib import Path

import pytest

from conftest import BUILD, Result

MAKE_MEASUREMENT = BUILD / "tests/make-measurement"


def make_measurement(path: Path, *options: object) -> Path:
    subprocess.run([MAKE_MEASUREMENT, path, *map(str, options)], check=True)
    return path


@pytest.fixture
def folder(tmp_path) -> Path:
    measured = tmp_path / "run.sonde"
    measured.mkdir()
    make_measurement(measured / "a.sonde-process")
    return measured


def assert_refused(result: Result, why: str) -> None:
    assert result.status == 128 and result.out == ""
    assert len(result.err_lines) == 1 and result.err.startswith("sonde: ")
    assert why in result.err


def test_a_folder_becomes_a_database(sonde, folder, tmp_path):
    out = tmp_path / "out.sdb"
    result = sonde("analyze", folder, "-o", out)
    assert (result.status, result.err) == (0, "")
    assert str(out) in result.out
    info = json.loads(sonde("info", "--format", "json", out).out)
    assert info["command"] == "python3 train.py" and info["complete"] is True
    assert info["drops"] == {"sample-busy": 3}
    report = json.loads(sonde("report", "--format", "json", "--metric", "cpu-time,gpu-time", out).out)
    sums = {row["name"]: row["values"] for row in report["rows"]}
    # tests/workloads/make_measurement.c: 8 ms in Python, then 10 ms at each of 16 kinds, by turns of two metrics
    assert sums["train"]["cpu-time"]["exclusive"]["sum"] == 8_000_000
    assert sums["train"]["cpu-time"]["inclusive"]["sum"] == 88_000_000
    assert sums["train"]["gpu-time"]["inclusive"]["sum"] == 80_000_000
    kinds = [row["kind"] for row in report["rows"]]
    assert kinds[:3] == ["thread", "python", "operator"] and "kernel" in kinds
    assert {"[callers unknown]", "libgone.so+0x1234"} <= set(sums)


def test_json_summary(sonde, folder, tmp_path):
    result = sonde("analyze", "--format", "json", folder, "-o", tmp_path / "out.sdb", "-j", 3, "--no-cache")
    summary = json.loads(result.out)
    assert summary["processes"] == 1 and summary["unreadable"] == 0 and summary["addresses"] == 1
    assert [missing["module"] for missing in summary["without_symbols"]] == ["/gone/libgone.so"]
    assert "libgone.so: " in sonde("analyze", folder, "-o", tmp_path / "out.sdb", "--no-cache").out


def test_many_processes_one_database(sonde, folder, tmp_path):
    other = tmp_path / "other.sonde"
    other.mkdir()
    make_measurement(other / "b.sonde-process", 5000)
    outputs = []
    for order in ([folder, other], [other, folder]):
        out = tmp_path / f"{len(outputs)}.sdb"
        assert sonde("analyze", *order, "-o", out).status == 0
        outputs.append(out.read_bytes())
    assert outputs[0] == outputs[1]
    info = json.loads(sonde("info", "--format", "json", tmp_path / "0.sdb").out)
    assert len(info["profiles"]) == 2


def test_an_unreadable_process_is_left_out(sonde, folder, tmp_path):
    (folder / "b.sonde-process").write_bytes(b"SONDEMSR but no more")
    result = sonde("analyze", folder, "-o", tmp_path / "out.sdb")
    assert result.status == 0 and len(result.err_lines) == 1
    assert "1 of 2 processes left out" in result.err and "b.sonde-process" in result.err
    info = json.loads(sonde("info", "--format", "json", tmp_path / "out.sdb").out)
    assert info["complete"] is False


def test_bad_inputs(sonde, folder, tmp_path):
    out = tmp_path / "out.sdb"
    empty = tmp_path / "empty.sonde"
    empty.mkdir()
    assert_refused(sonde("analyze", tmp_path / "missing", "-o", out), "No such file")
    assert_refused(sonde("analyze", empty, "-o", out), "no measurement in it")
    assert_refused(sonde("analyze", folder, empty, "-o", out), "no measurement in it")
    foreign = tmp_path / "foreign.sonde-process"
    foreign.write_bytes(b"\x7fELF" * 5000)
    assert_refused(sonde("analyze", foreign, "-o", out), "not a Sonde measurement")
    assert_refused(sonde("analyze", "/dev/null", "-o", out), "not a regular file")
    whole = (folder / "a.sonde-process").read_bytes()
    foreign.write_bytes(whole[:5000])
    assert_refused(sonde("analyze", foreign, "-o", out), "truncated")
    assert not out.exists()
    assert list(tmp_path.glob("out*")) == []


def test_damage_never_gets_through(sonde, folder, tmp_path):
    out = tmp_path / "out.sdb"
    victim = tmp_path / "victim.sonde-process"
    whole = (folder / "a.sonde-process").read_bytes()
    chance = random.Random(1)
    for _ in range(30):
        damaged = bytearray(whole)
        for _ in range(3):
            damaged[chance.randrange(4096, len(damaged))] ^= 1 << chance.randrange(8)
        victim.write_bytes(damaged)
        result = sonde("analyze", victim, "-o", out, timeout=20)
        if result.status:  # else only padding was hit
            assert_refused(result, "damaged")
            assert not out.exists()
        out.unlink(missing_ok=True)


def test_bad_outputs(sonde, folder, tmp_path):
    assert_refused(sonde("analyze", folder, "-o", "/dev/full"), "No space left")
    assert_refused(sonde("analyze", folder, "-o", tmp_path / "missing" / "out.sdb"), "No such file")
    assert_refused(sonde("analyze", folder, "-o", tmp_path), "Is a directory")
    old = tmp_path / "old.sdb"
    old.write_text("what was there")
    assert_refused(sonde("analyze", tmp_path / "missing", "-o", old), "No such file")
    assert old.read_text() == "what was there"


@pytest.mark.parametrize("arguments, why", [
    ([], "no measurement"), (["x"], "-o"), (["x", "-o", "y", "-j", "0"], "-j"),
    (["x", "-o", "y", "--format", "xml"], "--format"), (["--nonsense"], "nonsense"),
])
def test_usage(sonde, arguments, why):
    result = sonde("analyze", *arguments)
    assert result.status == 129 and why in result.err and result.out == ""


def test_while_the_program_writes(sonde, tmp_path):
    """Analysis of a file that is being replaced all the time sees one whole state or the other."""
    path = tmp_path / "live.sonde-process"
    states = [make_measurement(tmp_path / f"{n}.sonde-process", n).read_bytes() for n in (200, 900)]
    path.write_bytes(states[0])
    writer = subprocess.Popen(["/usr/bin/python3", "-c", (
        "import sys\nstates = [open(f, 'rb').read() for f in sys.argv[2:]]\n"
        "file = open(sys.argv[1], 'r+b', buffering=0)\n"
        "while True:\n for state in states:\n  file.seek(0); file.write(state)")]
        + [str(path), str(tmp_path / "200.sonde-process"), str(tmp_path / "900.sonde-process")])
    try:
        until = time.monotonic() + 2
        while time.monotonic() < until:
            result = sonde("analyze", path, "-o", tmp_path / "out.sdb", "--format", "json")
            if result.status == 0:
                assert 100 < json.loads(result.out)["contexts"] <= 901
            else:
                assert_refused(result, "cannot read")
    finally:
        writer.kill()
        writer.wait()
