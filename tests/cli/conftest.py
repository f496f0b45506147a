# SPDX-License-Identifier: Apache-2.0
"""What all tests of the command line share: the build, a way to run `sonde`, databases with known contents."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(folder) for folder in Path(__file__).parent.iterdir() if folder.is_dir()]  # tests use others' helpers

import frameworks
import parts
import pytest
import samples
from on_cuda import fake_cuda_is_looked_at_once, known_program, known_run, trained  # noqa: F401 (fixtures)
from verified import verify, written_by

# What a shell's script starts in the background ignores these, and so would the commands of the tests that are ended by them.
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SONDE_BUILD", ROOT / "build"))
if not BUILD.is_absolute():
    BUILD = Path.cwd() / BUILD
SONDE = BUILD / "src/cmd/sonde"
MAKE_DB = BUILD / "tests/make-db"


@dataclass
class Result:
    """How a run of `sonde` ended."""

    status: int
    out: str
    err: str

    @property
    def err_lines(self) -> list[str]:
        return self.err.splitlines()


def clean_environment(**more: str) -> dict[str, str]:
    """The environment for texts that do not depend on who runs the tests, or where."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "SONDE_"))}
    environment.update({"LC_ALL": "C.UTF-8", "COLUMNS": "100", "TERM": "xterm"})
    environment.pop("NO_COLOR", None)
    environment.update(more)
    return environment


def run_sonde(*arguments: object, cwd: Path | None = None, timeout: float = 120, **environment: str) -> Result:
    if arguments and arguments[0] != "run":
        environment.setdefault("MALLOC_PERTURB_", "1")  # what nobody has set is not 0 by chance
    done = subprocess.run([SONDE, *map(str, arguments)], cwd=cwd, capture_output=True, timeout=timeout,
                          env=clean_environment(**environment), stdin=subprocess.DEVNULL)
    if done.returncode == 0 and cwd is None:
        verify(SONDE, written_by([*map(str, arguments)]))
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(scope="session")
def sonde():
    if not SONDE.exists():
        pytest.fail(f"{SONDE} is not there: build first, or set SONDE_BUILD")
    return run_sonde


def make_database(folder: Path, name: str, *options: object) -> Path:
    path = folder / name
    subprocess.run([MAKE_DB, *map(str, options), path], check=True)
    return path


@pytest.fixture(scope="session")
def small_db(tmp_path_factory) -> Path:
    """The database that tests/unit/db_fixture.h draws."""
    return make_database(tmp_path_factory.mktemp("small"), "small.sdb")


@pytest.fixture(scope="session")
def big_db(tmp_path_factory) -> Path:
    """100,000 contexts."""
    return make_database(tmp_path_factory.mktemp("big"), "big.sdb", "--contexts", 100000)


@pytest.fixture(scope="session")
def empty_db(tmp_path_factory) -> Path:
    """Contexts without any value: nobody was measured."""
    return make_database(tmp_path_factory.mktemp("empty"), "empty.sdb", "--contexts", 50, "--profiles", 0)


def pytest_addoption(parser):
    parser.addoption("--part", choices=parts.PARTS, help="only the tests of this part; see parts.py")


def pytest_configure(config):
    config.addinivalue_line("markers", "measures: the answer depends on when a program runs; see parts.py")


def pytest_collection_modifyitems(config, items):
    part = config.getoption("--part")
    if part:
        chosen = [parts.is_in(part, item.path.stem, bool(item.get_closest_marker("measures"))) for item in items]
        config.hook.pytest_deselected(items=[item for item, is_in in zip(items, chosen) if not is_in])
        items[:] = [item for item, is_in in zip(items, chosen) if is_in]


def pytest_terminal_summary(terminalreporter):
    """The run's closing lines about tests that a clone has no files for, or a machine no framework."""
    reasons = [str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", [])
               if isinstance(report.longrepr, tuple)]
    line = samples.summary(reasons)
    for line in ([line] if line else []) + frameworks.summary(reasons):
        terminalreporter.write_line(line)
