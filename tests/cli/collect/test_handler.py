# SPDX-License-Identifier: Apache-2.0
"""What a program must not notice of the handler that samples it, and what the handler says of where it had to guess."""
from __future__ import annotations

import platform
from pathlib import Path

import pytest

import program

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the code without unwind information is x86-64's")


@pytest.fixture(scope="module")
def known() -> Path:
    return program.compiled("collect/handler_known.c", "-O1")


def test_errno_stays(known: Path, tmp_path: Path) -> None:
    """Where its caller is looked for in memory that is not there; and every such path is counted as guessed."""
    done = program.run(tmp_path, known, "errno", options=("-F", "997"))
    assert done.stdout == ""
    samples = sum(values["count"] for path, values in program.paths(tmp_path, "cpu-time")
                  if any(frame["name"] == "spin_without_frame" for frame in path))
    assert samples > 20 and program.info(tmp_path)["drops"]["unwind-scanned"] >= 0.9 * samples


def test_timers_of_the_programs_own(known: Path, tmp_path: Path) -> None:
    """With the signal that sampling uses: they reach the program, as they would without."""
    assert program.run(tmp_path, known, "timer", options=("-F", "97")).stdout == "all came\n"
