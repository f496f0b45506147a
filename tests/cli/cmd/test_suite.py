# SPDX-License-Identifier: Apache-2.0
"""The suite itself, where a clone stands alone: without files of other tools, by parts."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import parts
from samples import summary

CLI = Path(__file__).parents[1]


def pytest_alone(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments], capture_output=True,
                          text=True, timeout=120, env={**os.environ, "SONDE_TEST_SAMPLES": "/nowhere"})


def test_all_tests_are_found_without_files_of_other_tools():
    done = pytest_alone("--collect-only", str(CLI))
    assert done.returncode == 0, done.stdout[-2000:]


def test_one_line_says_what_was_skipped_for_want_of_files():
    done = pytest_alone(str(CLI / "import/test_import_nsys.py"), "-k", "real")
    assert done.returncode == 0 and done.stdout.count("a clone does not have") == 1
    assert "1 tests need files of other tools that a clone does not have: nsys (1) of ../shared/data" in done.stdout
    assert summary(["Skipped: no gcc", "Skipped: nothing"]) is None


def test_parts_name_modules_that_there_are():
    modules = {path.stem.removeprefix("test_") for path in CLI.glob("**/test_*.py")}
    assert parts.MADE | parts.CORE <= modules
    for name in modules:  # each test is of one of the two
        for marked in (False, True):
            assert parts.is_in("made", f"test_{name}", marked) != parts.is_in("measured", f"test_{name}", marked)
