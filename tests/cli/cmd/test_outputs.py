# SPDX-License-Identifier: Apache-2.0
"""
What stands at an output's name before: a pipe with a name, a device, a folder, a link of the user's own. Each command
that writes is tried; a database never goes into a named pipe, text does, and a link of one's own stays and leads to what
was written. tests/cli/collect/test_privilege.py has the links and pipes of others.
"""
from __future__ import annotations

import os
import re
import resource
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from conftest import BUILD, MAKE_DB, ROOT, SONDE, Result, clean_environment
from kineto_traces import Trace
from program import image_database

FORMATS = re.findall(r"^SN_EXPORTER\((\w+)\)", (ROOT / "src/export/exporters.def").read_text(), re.M)
OF_EVENTS = ("perfetto", "chrome", "ctf", "events")
OF_IMAGES = ("autofdo", "gcov", "bolt")  # of one executable, which must be there
DATABASES = ["analyze", "analyze-formula", "import"]
FOLDERS = ["export-ctf", "export-hpctoolkit"]
STREAMS = ["structure", "graph", "graph-svg", "timeline-svg", "timeline-html",
           *(case for case in (f"export-{form}" for form in FORMATS) if case not in FOLDERS)]
SECONDS = 20  # whoever waits for the reader of a pipe waits longer


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("inputs")
    names = {name: folder / f"{name}.sdb" for name in ("database", "graph", "events")}
    (folder / "run.sonde").mkdir()
    subprocess.run([BUILD / "tests/make-measurement", folder / "run.sonde/4000.sonde-process", "50"], check=True)
    subprocess.run([MAKE_DB, names["database"]], check=True)
    subprocess.run([MAKE_DB, "--graph", "1", names["graph"]], check=True)
    trace = Trace()
    for number in range(40):
        trace.call("cpu_op", "aten::mm", 20 * number, 10)
    path = trace.write(folder / "one.json")
    subprocess.run([SONDE, "import", path, "-o", names["events"]], check=True, capture_output=True)
    return {"measurement": folder / "run.sonde", "trace": path, "image": image_database(folder), **names}


def name_of(case: str) -> str:
    """timeline and graph know the form by the ending."""
    return f"out.{case.partition('-')[2]}" if case.startswith(("timeline", "graph-")) else "out"


def words(case: str, inputs: dict[str, Path], output: Path) -> list[str]:
    kind, _, detail = case.partition("-")
    before = {
        "analyze": ["analyze", "--no-cache", *(["--metric", "twice=2*cpu-time"] if detail else []), inputs["measurement"]],
        "import": ["import", inputs["trace"]],
        "structure": ["structure", SONDE],
        "graph": ["graph", inputs["graph"]],
        "timeline": ["timeline", inputs["events"]],
        "export": ["export", "--to", detail, inputs["events" if detail in OF_EVENTS else "image" if detail in OF_IMAGES else "database"]],
    }
    return [str(SONDE), *map(str, before[kind]), "-o", str(output)]


def execute(command: list[str], cwd: Path | None = None, limit: int | None = None) -> Result:
    def prepare() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    done = subprocess.run(command, capture_output=True, timeout=SECONDS, env=clean_environment(), stdin=subprocess.DEVNULL, cwd=cwd,
                          preexec_fn=prepare)
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def run_words(*options: str) -> list[str]:
    return [str(SONDE), "run", "-q", *options, "--", "/bin/sh", "-c", "echo > ran"]


def assert_refused(result: Result, what: str) -> None:
    assert result.status == 128 and len(result.err_lines) == 1 and what in result.err, (result.status, result.err)


def bytes_of(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else [one for one in sorted(path.rglob("*")) if one.is_file()]
    return {str(one.relative_to(path)): one.read_bytes() for one in files}


# ---- pipes with a name, and what else cannot be replaced ----

@pytest.mark.parametrize("case", DATABASES)
@pytest.mark.parametrize("is_link", [False, True], ids=["pipe", "link"])
def test_a_database_does_not_go_into_a_named_pipe(tmp_path: Path, inputs: dict[str, Path], case: str, is_link: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    if is_link:
        (tmp_path / "link").symlink_to("pipe")
    why = "not a regular file" if case == "analyze-formula" else "a named pipe is there"
    assert_refused(execute(words(case, inputs, tmp_path / ("link" if is_link else "pipe"))), why)
    assert (tmp_path / "pipe").is_fifo() and len(list(tmp_path.iterdir())) == 1 + is_link


def plant(kind: str, path: Path) -> None:
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link to a pipe":
        os.mkfifo(path.parent / "elsewhere")
        path.symlink_to("elsewhere")
    elif kind == "folder":
        path.mkdir()
    elif kind == "file":
        path.touch()
    elif kind == "device":
        path.symlink_to("/dev/null")
    elif kind == "block device":
        if os.geteuid() != 0:
            pytest.skip("only root can make a device")
        os.mknod(path, 0o60600, os.makedev(240, 0))
    else:
        with socket.socket(socket.AF_UNIX) as one:
            os.chdir(path.parent)  # names of sockets are short
            one.bind(path.name)


@pytest.mark.measures
@pytest.mark.parametrize("kind,what", [("pipe", "named pipe"), ("link to a pipe", "named pipe"), ("folder", "Is a directory"),
                                       ("block device", "device"), ("socket", "socket")])
def test_run_is_refused_before_the_program_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, what: str) -> None:
    monkeypatch.chdir(tmp_path)
    plant(kind, tmp_path / "p.sdb")
    before = sorted(tmp_path.iterdir())
    result = execute(run_words("-o", "p"), tmp_path)
    assert_refused(result, what)
    assert "p.sdb" in result.err and sorted(tmp_path.iterdir()) == before


@pytest.mark.measures
def test_run_keeps_an_earlier_measurement_where_it_is_refused(tmp_path: Path) -> None:
    assert execute(run_words("-o", "p"), tmp_path).status == 0
    before = bytes_of(tmp_path / "p.sonde")
    (tmp_path / "p.sdb").unlink()
    os.mkfifo(tmp_path / "p.sdb")
    assert_refused(execute(run_words("-o", "p"), tmp_path), "named pipe")
    assert before and bytes_of(tmp_path / "p.sonde") == before


@pytest.mark.measures
def test_run_writes_no_database_without_analysis(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.sdb")
    assert execute(run_words("--no-analyze", "-o", "p"), tmp_path).status == 0 and (tmp_path / "ran").exists()


@pytest.mark.measures
def test_a_pipe_that_the_program_makes_itself(tmp_path: Path) -> None:
    """What was looked at before the start is another thing at the end."""
    result = execute([str(SONDE), "run", "-q", "-o", "p", "--", "/bin/sh", "-c", "mkfifo p.sdb"], tmp_path)
    assert_refused(result, "named pipe")
    assert list((tmp_path / "p.sonde").iterdir())


@pytest.mark.measures
@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "file", "device", "block device", "socket"])
def test_run_does_not_measure_into_what_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.chdir(tmp_path)
    plant(kind, tmp_path / "p.sonde")
    before = sorted(tmp_path.iterdir())
    assert_refused(execute(run_words("-o", "p"), tmp_path), "Not a directory")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.measures
def test_a_name_that_sonde_chooses_passes_by_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "sh.sdb")
    assert execute(run_words(), tmp_path).status == 0 and (tmp_path / "sh-2.sdb").is_file()


@pytest.mark.parametrize("case", FOLDERS)
@pytest.mark.parametrize("kind", ["pipe", "file", "socket"])
def test_a_folder_does_not_replace_something_else(tmp_path: Path, inputs: dict[str, Path], monkeypatch: pytest.MonkeyPatch, case: str,
                                                  kind: str) -> None:
    monkeypatch.chdir(tmp_path)
    plant(kind, tmp_path / "out")
    assert_refused(execute(words(case, inputs, tmp_path / "out")), "something else")
    assert [path.name for path in tmp_path.iterdir()] == ["out"] and not (tmp_path / "out").is_dir()


@pytest.mark.parametrize("case", ["import", "structure", "export-csv"])
def test_a_block_device_is_left_alone(tmp_path: Path, inputs: dict[str, Path], case: str) -> None:
    plant("block device", tmp_path / "out")
    assert_refused(execute(words(case, inputs, tmp_path / "out")), "block device")


@pytest.mark.parametrize("case", STREAMS)
def test_text_goes_into_a_named_pipe(tmp_path: Path, inputs: dict[str, Path], case: str) -> None:
    """As much as into a file, once somebody reads."""
    name = name_of(case)
    (tmp_path / "file").mkdir()
    assert execute(words(case, inputs, tmp_path / "file" / name)).status == 0
    os.mkfifo(tmp_path / name)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / name).read_bytes()))
    reader.start()
    result = execute(words(case, inputs, tmp_path / name))
    reader.join(SECONDS)
    assert result.status == 0, result.err
    assert got == [(tmp_path / "file" / name).read_bytes()] and got[0] and (tmp_path / name).is_fifo()


def test_waiting_for_a_reader_can_be_interrupted(tmp_path: Path, inputs: dict[str, Path]) -> None:
    os.mkfifo(tmp_path / "out")
    process = subprocess.Popen(words("export-csv", inputs, tmp_path / "out"), stdin=subprocess.DEVNULL,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # a shell's background ignores it
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=SECONDS) == -signal.SIGINT


@pytest.mark.parametrize("case", ["analyze", "import"])
def test_a_database_through_standard_output(tmp_path: Path, inputs: dict[str, Path], case: str) -> None:
    """A pipe without a name has its reader; what there is to say does not get between the bytes."""
    assert execute(words(case, inputs, tmp_path / "file")).status == 0
    done = subprocess.run(words(case, inputs, Path("/dev/stdout")), capture_output=True, env=clean_environment(), timeout=SECONDS)
    assert done.returncode == 0 and done.stdout == (tmp_path / "file").read_bytes()
    assert any(line.startswith(b"/dev/stdout: ") for line in done.stderr.splitlines())


# ---- links of one's own ----

class Linked:
    """here/NAME is a link to there/target."""

    def __init__(self, folder: Path, name: str) -> None:
        self.here, self.there = folder / "here", folder / "there"
        self.here.mkdir()
        self.there.mkdir()
        self.link, self.target = self.here / name, self.there / "target"
        self.link.symlink_to("../there/target")

    def assert_stays(self, target: bool = True) -> None:
        """And nothing is left beside either."""
        assert os.readlink(self.link) == "../there/target" and [path.name for path in self.here.iterdir()] == [self.link.name]
        assert [path.name for path in self.there.iterdir()] == ["target"] * target


@pytest.mark.parametrize("old", ["file", "nothing"])
@pytest.mark.parametrize("case", [*DATABASES, *STREAMS])
def test_an_own_link_stays_and_its_target_is_replaced(tmp_path: Path, inputs: dict[str, Path], case: str, old: str) -> None:
    linked, name = Linked(tmp_path, name_of(case)), name_of(case)
    (tmp_path / "plain").mkdir()
    assert execute(words(case, inputs, tmp_path / "plain" / name)).status == 0
    if old == "file":
        linked.target.write_text("what was there before")
    result = execute(words(case, inputs, linked.link))
    assert result.status == 0, result.err
    linked.assert_stays()
    assert linked.target.read_bytes() == (tmp_path / "plain" / name).read_bytes()
    assert linked.target.stat().st_mode == (tmp_path / "plain" / name).stat().st_mode


@pytest.mark.parametrize("case", [*DATABASES, "structure", "export-csv", "export-html"])
def test_where_writing_fails_the_target_of_a_link_is_what_it_was(tmp_path: Path, inputs: dict[str, Path], case: str) -> None:
    linked = Linked(tmp_path, name_of(case))
    linked.target.write_text("what was there before")
    assert_refused(execute(words(case, inputs, linked.link), limit=16), "File too large")
    linked.assert_stays()
    assert linked.target.read_text() == "what was there before"


@pytest.mark.parametrize("old", ["folder", "nothing"])
@pytest.mark.parametrize("case", FOLDERS)
def test_an_own_link_to_a_folder(tmp_path: Path, inputs: dict[str, Path], case: str, old: str) -> None:
    linked = Linked(tmp_path, "out")
    if old == "folder":
        linked.target.mkdir()
    result = execute(words(case, inputs, linked.link))
    assert result.status == 0, result.err
    linked.assert_stays()
    assert linked.target.is_dir() and bytes_of(linked.target)


@pytest.mark.parametrize("case", ["import", "export-csv", "export-ctf"])
@pytest.mark.parametrize("target", ["out", "/nowhere/at/all"], ids=["circle", "no-folder"])
def test_an_own_link_that_leads_nowhere(tmp_path: Path, inputs: dict[str, Path], case: str, target: str) -> None:
    (tmp_path / "out").symlink_to(target)
    assert_refused(execute(words(case, inputs, tmp_path / "out")), "symbolic links" if target == "out" else "No such file")
    assert os.readlink(tmp_path / "out") == target and len(list(tmp_path.iterdir())) == 1


@pytest.mark.measures
@pytest.mark.parametrize("old", [True, False], ids=["file", "nothing"])
def test_run_through_own_links(tmp_path: Path, old: bool) -> None:
    linked = Linked(tmp_path, "p.sdb")
    if old:
        linked.target.write_text("what was there before")
    (tmp_path / "large").mkdir()
    (linked.here / "p.sonde").symlink_to("../large")
    for _ in range(2):
        result = execute(run_words("-o", str(linked.here / "p")), tmp_path)
        assert result.status == 0, result.err
        assert linked.link.is_symlink() and (linked.here / "p.sonde").is_symlink()
        assert list((tmp_path / "large").glob("*.sonde-process"))
        assert [path.name for path in linked.there.iterdir()] == ["target"] and linked.target.stat().st_mode & 0o777 == 0o600
        assert execute([str(SONDE), "info", str(linked.link)]).status == 0
