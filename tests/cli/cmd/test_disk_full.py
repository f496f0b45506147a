# SPDX-License-Identifier: Apache-2.0
"""The disk is full, or a file may not grow further: one line, 128, and nothing under the output's name or beside it."""
from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import BUILD, ROOT, SONDE, Result, clean_environment
from kineto_traces import Trace
from program import image_database

FORMATS = re.findall(r"^SN_EXPORTER\((\w+)\)", (ROOT / "src/export/exporters.def").read_text(), re.M)
OF_EVENTS = ("perfetto", "chrome", "ctf", "events")
OF_IMAGES = ("autofdo", "gcov", "bolt")  # of one executable, which must be there
CASES = ["analyze", "analyze-formula", "import", "structure", "structure-json", *(f"export-{kind}" for kind in FORMATS)]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory, small_db: Path) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "run.sonde").mkdir()
    subprocess.run([BUILD / "tests/make-measurement", folder / "run.sonde/4000.sonde-process", "50"], check=True)
    trace = Trace()
    for number in range(40):
        trace.call("cpu_op", "aten::mm", 20 * number, 10)
    path, events = trace.write(folder / "one.json"), folder / "events.sdb"
    subprocess.run([SONDE, "import", path, "-o", events], check=True, capture_output=True)
    return {"measurement": folder / "run.sonde", "trace": path, "database": small_db, "events": events, "image": image_database(folder)}


def command(case: str, inputs: dict[str, Path], output: Path) -> list[str]:
    kind, _, detail = case.partition("-")
    words = {
        "analyze": ["analyze", "--no-cache", *(["--metric", "twice=2*cpu-time"] if detail else []), inputs["measurement"]],
        "import": ["import", inputs["trace"]],
        "structure": ["structure", "--format", detail or "text", "--full", SONDE],
        "export": ["export", "--to", detail, inputs["events" if detail in OF_EVENTS else "image" if detail in OF_IMAGES else "database"]],
    }
    return [str(SONDE), *map(str, words[kind]), "-o", str(output)]


def execute(words: list[str], limit: int | None = None, folder: Path | None = None) -> Result:
    def prepare() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python has it ignored, and children inherit that
    done = subprocess.run(words, capture_output=True, timeout=120, env=clean_environment(), stdin=subprocess.DEVNULL,
                          preexec_fn=prepare, cwd=folder)
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def largest_file(path: Path) -> int:
    return max(one.stat().st_size for one in (path.rglob("*") if path.is_dir() else [path]) if one.is_file())


def assert_refused(result: Result, folder: Path, what: str) -> None:
    assert (result.status, result.out) == (128, ""), (result.status, result.err)
    assert len(result.err_lines) == 1 and what in result.err and "cannot write" in result.err, result.err
    assert not list(folder.iterdir()), list(folder.iterdir())


@pytest.mark.parametrize("case", CASES)
def test_file_size_limit(tmp_path: Path, inputs: dict[str, Path], case: str) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "folder"
    folder.mkdir()
    assert execute(command(case, inputs, whole)).status == 0
    size = largest_file(whole)
    for limit in (0, size // 2, size - 1):
        assert_refused(execute(command(case, inputs, folder / "out"), limit), folder, "File too large")
    assert execute(command(case, inputs, folder / "out"), 2 * size + 4096).status == 0


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of which not a byte is left."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("cannot mount a file system here")
    try:
        (disk / "folder").mkdir()
        (disk / "filler").write_bytes(bytes(32768))
        yield disk / "folder"
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("case", CASES)
def test_full_disk(inputs: dict[str, Path], full_disk: Path, case: str) -> None:
    assert_refused(execute(command(case, inputs, full_disk / "out")), full_disk, "No space left")


@pytest.mark.parametrize("case", [case for case in CASES if case not in ("export-hpctoolkit", "export-ctf", "analyze-formula")])
def test_full_device(tmp_path: Path, inputs: dict[str, Path], case: str) -> None:
    assert_refused(execute(command(case, inputs, Path("/dev/full"))), tmp_path, "No space left")


def test_run_whose_database_does_not_fit(tmp_path: Path) -> None:
    for code, status in (("", 128), ("; os._exit(3)", 3)):
        words = [str(SONDE), "run", "-o", "job", "-q", "--", "/usr/bin/python3", "-c", f"import os; sum(range(10**7)){code}"]
        (tmp_path / "job.sdb").symlink_to("/dev/full")
        result = execute(words, folder=tmp_path)
        (tmp_path / "job.sdb").unlink()
        assert result.status == status
        assert result.err_lines == ["sonde: cannot write 'job.sdb': No space left on device"]


def test_program_keeps_what_the_limit_means(tmp_path: Path) -> None:
    """Sonde ignores SIGXFSZ; what it runs must not inherit that."""
    words = [str(SONDE), "run", "-o", "job", "-q", "--no-analyze", "--", "grep", "SigIgn", "/proc/self/status"]
    assert not int(execute(words, folder=tmp_path).out.split()[1], 16) >> (signal.SIGXFSZ - 1) & 1
