# SPDX-License-Identifier: Apache-2.0
"""A program that ends being measured (sonde_stop) runs on as without: what it did before is whole, what it does later is in nothing."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import program


def workload() -> Path:
    return program.compiled("collect/stop.c", "-O1")


def seconds_in(folder: Path, name: str) -> float:
    """CPU time of all call paths with this function."""
    return sum(value["sum"] for frames, value in program.paths(folder) if any(frame["name"] == name for frame in frames)) / 1e9


@pytest.mark.parametrize("how", ["", "twice", "calls", "fork", "start"])
@pytest.mark.parametrize("options", [(), ("-F", "5000"), ("--trace",), ("-e", "real-time@500")])
def test_what_came_before_is_whole(tmp_path: Path, how: str, options: tuple[str, ...]) -> None:
    user = {"LD_PRELOAD": "libm.so.6"}  # stays
    plain = subprocess.run([workload(), how], capture_output=True, text=True, timeout=60, env={**os.environ, **user})
    done = program.run(tmp_path, workload(), how, options=options, environment=user, check=5)
    assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr)
    assert done.stdout.endswith("preloaded: libm.so.6; 0 changed in the environment; 0 left\n")
    data = program.info(tmp_path)
    assert data["drops"].pop("stopped") == 1 and set(data["drops"]) <= {"sample-busy"} and not data["complete"]
    assert (data["missing"]["processes"], data["missing"]["of_processes"]) == (1, 1)
    # two threads before, three after, and a child
    ms_after = 3 * 300 + (how == "fork") * 300
    assert data["missing"]["cpu_ns"] / data["missing"]["of_cpu_ns"] == pytest.approx(ms_after / (400 + ms_after), abs=0.12)
    if options[:1] != ("-e",):
        assert seconds_in(tmp_path, "before") == pytest.approx(0.4, rel=0.15) and seconds_in(tmp_path, "after") == 0
    names = {row["name"] for row in program.rows(tmp_path)}
    assert "measured" in names and "unmeasured" not in names


def test_the_report_says_so(tmp_path: Path) -> None:
    program.run(tmp_path, workload(), check=5)
    assert "stopped by the program" in program.sonde("report", tmp_path / "run.sdb")
    text = program.sonde("info", tmp_path / "run.sdb")
    assert "when they asked for that, by sonde_stop" in text and "killed" not in text


def test_a_child_alone(tmp_path: Path) -> None:
    """Its parent is measured to its end."""
    done = program.run(tmp_path, workload(), "child")
    assert done.stdout == "parent goes on\n"
    data = program.info(tmp_path)
    assert data["drops"].pop("stopped") == 1 and set(data["drops"]) <= {"sample-busy"}
    assert (data["missing"]["processes"], data["missing"]["of_processes"]) == (1, 2)
    assert data["missing"]["cpu_ns"] / data["missing"]["of_cpu_ns"] == pytest.approx(300 / 700, abs=0.12)
    assert seconds_in(tmp_path, "before") == pytest.approx(0.4, rel=0.15) and seconds_in(tmp_path, "after") == 0


@pytest.mark.parametrize("how", ["checkpoint", "stop", "exit"])
@pytest.mark.parametrize("options", [(), ("--trace",)])
def test_who_ends_waits_for_who_writes(tmp_path: Path, how: str, options: tuple[str, ...]) -> None:
    """The last snapshot for another thread's checkpoint, and whoever stops or exits for another thread's last snapshot."""
    program.run(tmp_path, program.compiled("collect/stop_held.c", "-O1"), how, options=options, check=5)
    data = program.info(tmp_path)
    assert data["drops"].pop("stopped") == 1 and set(data["drops"]) <= {"sample-busy"}
    assert not any("killed" in line for line in program.sonde("info", tmp_path / "run.sdb").splitlines())
    # of the thread that is held, and of the other one if that did not stop measuring before
    assert seconds_in(tmp_path, "before") == pytest.approx(0.4 if how == "checkpoint" else 0.2, rel=0.15)
    assert seconds_in(tmp_path, "after") == 0


def test_a_program_that_does_not_stop_is_complete(tmp_path: Path) -> None:
    program.run(tmp_path, program.compiled("collect/losses.c", "-O1"), "burn", check=None)
    assert program.info(tmp_path)["complete"]


def test_python(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sonde, subprocess, time\n"
                      "def burn(seconds):\n"
                      "    end = time.process_time() + seconds\n"
                      "    while time.process_time() < end: pass\n"
                      "def before(): burn(0.3)\n"
                      "def after(): burn(0.3)\n"
                      "before()\n"
                      "sonde.stop()\n"
                      "after()\n"
                      "with sonde.region('later'): after()\n"
                      "print(subprocess.run(['true']).returncode)\n")
    done = program.run(tmp_path, sys.executable, script, environment={"PYTHONPATH": str(program.ROOT / "python")})
    assert (done.stdout, done.stderr) == ("0\n", "")
    assert seconds_in(tmp_path, "before") == pytest.approx(0.3, rel=0.15) and seconds_in(tmp_path, "after") == 0


def test_nothing_happens_where_nothing_is_measured(tmp_path: Path) -> None:
    script = "import sonde; sonde.stop(); print('on')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=program.ROOT / "python")
    assert (done.returncode, done.stdout) == (0, "on\n")
