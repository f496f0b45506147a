# SPDX-License-Identifier: Apache-2.0
"""
Nobody gains by us: another user plants links, folders and pipes where root measures and writes, swaps them while root
does so, and hands over measurements and databases that name files which are none of their business. Each case is one
try; after it what lies outside is byte for byte what it was, and nothing of it is in what was written or printed.

Root plays the victim, uid 65534 the other user; without root there is nobody to play him.
"""
from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import BUILD, MAKE_DB, SONDE, clean_environment
from kineto_traces import Trace
from pages import page_payload

OTHER = 65534
LIBRARY = (BUILD / "src/collect/libsonde.so").resolve()
MAKE_MEASUREMENT = BUILD / "tests/make-measurement"
PYTHON = "/usr/bin/python3"
SECRET = "TheSecretOfSomebodyElse"
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can play two users"),
    pytest.mark.skipif(not Path(PYTHON).exists(), reason="no system Python"),
]


class Place:
    """area/outside is what must not be touched, area/theirs the other user's, area/tree a source tree of root's."""

    def __init__(self, area: Path) -> None:
        self.area, self.outside, self.theirs, self.tree = area, area / "outside", area / "theirs", area / "tree"
        area.chmod(0o755)
        for folder in (self.outside, self.theirs, self.tree, area / "own"):
            folder.mkdir()
        (self.outside / "empty").mkdir()
        self.write(self.outside / "victim", SECRET)
        self.write(self.outside / "secret.py", f"{SECRET} = 1\n")
        os.chown(self.theirs, OTHER, OTHER)
        self.before = self.state()

    @staticmethod
    def write(path: Path, text: str, mode: int = 0o644) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        os.utime(path, (1, 1))
        return path

    def state(self) -> dict[str, tuple]:
        return {str(path): (path.lstat().st_mode, path.lstat().st_uid, path.lstat().st_ino, path.lstat().st_mtime_ns,
                            path.read_bytes() if path.is_file() else b"")
                for path in sorted([self.outside, *self.outside.rglob("*")])}

    def assert_untouched(self) -> None:
        assert self.state() == self.before


@pytest.fixture
def place() -> Iterator[Place]:
    area = Path(tempfile.mkdtemp(prefix="sonde-privilege-", dir="/tmp"))
    yield Place(area)
    shutil.rmtree(area, ignore_errors=True)


def as_other(do: Callable[[], object]) -> None:
    """In a process of the other user's."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(OTHER)
            os.setuid(OTHER)
            do()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001
            print(error, file=sys.stderr)
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def sonde(*words: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SONDE, *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=120, errors="replace",
                          env=clean_environment(**{"TMPDIR": "/tmp", **environment}), stdin=subprocess.DEVNULL)


def assert_refused(done: subprocess.CompletedProcess[str], why: str = "another user") -> None:
    lines = done.stderr.splitlines()
    assert done.returncode == 128 and len(lines) == 1 and why in lines[0], (done.returncode, done.stderr)


# ---- what is planted before ----

def plant_folder_link(place: Place) -> None:
    as_other(lambda: (place.theirs / "x.sonde").symlink_to(place.outside))


def plant_empty_folder_link(place: Place) -> None:
    as_other(lambda: (place.theirs / "x.sonde").symlink_to(place.outside / "empty"))


def plant_folder_link_to_nothing(place: Place) -> None:
    as_other(lambda: (place.theirs / "x.sonde").symlink_to(place.outside / "new"))


def plant_folder_link_to_file(place: Place) -> None:
    as_other(lambda: (place.theirs / "x.sonde").symlink_to(place.outside / "victim"))


def plant_relative_folder_link(place: Place) -> None:
    as_other(lambda: (place.theirs / "x.sonde").symlink_to("../outside/empty"))


def plant_folder(place: Place) -> None:
    as_other(lambda: (place.theirs / "x.sonde").mkdir())


def plant_folder_for_all(place: Place) -> None:
    as_other(lambda: ((place.theirs / "x.sonde").mkdir(), (place.theirs / "x.sonde").chmod(0o777)))


def plant_chain(place: Place) -> None:
    as_other(lambda: ((place.theirs / "y").symlink_to(place.outside / "empty"), (place.theirs / "x.sonde").symlink_to("y")))


PLANTED_FOLDERS = [plant_folder_link, plant_empty_folder_link, plant_folder_link_to_nothing, plant_folder_link_to_file,
                   plant_relative_folder_link, plant_folder, plant_folder_for_all, plant_chain]


@pytest.mark.parametrize("plant", PLANTED_FOLDERS, ids=lambda plant: plant.__name__)
@pytest.mark.parametrize("options", [[], ["--trace", "--no-analyze"]], ids=["plain", "trace"])
def test_measuring_into_a_planted_folder(place: Place, plant: Callable[[Place], None], options: list[str]) -> None:
    plant(place)
    assert_refused(sonde("run", "-q", *options, "-o", place.theirs / "x", "--", "/bin/sh", "-c", f"echo > {place.area}/ran"))
    assert not (place.area / "ran").exists()  # nothing is run that was to be measured
    place.assert_untouched()


def test_ranks_do_not_measure_into_a_planted_folder(place: Place) -> None:
    plant_folder(place)
    assert_refused(sonde("run", "-q", "-o", place.theirs / "x", "--", "/bin/true", PMI_RANK="0"))
    place.assert_untouched()


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757, 0o722])
def test_a_folder_that_others_can_write_to(place: Place, mode: int) -> None:
    folder = place.area / "own/x.sonde"
    folder.mkdir()
    folder.chmod(mode)
    assert_refused(sonde("run", "-q", "-o", place.area / "own/x", "--", "/bin/true"), "others can write")
    assert not list(folder.iterdir())


def test_a_planted_file_in_a_folder_for_all(place: Place) -> None:
    folder = place.area / "own/x.sonde"
    folder.mkdir()
    folder.chmod(0o777)
    as_other(lambda: (folder / "host-1-1.sonde-process").symlink_to(place.outside / "victim"))
    assert_refused(sonde("run", "-q", "-o", place.area / "own/x", "--", "/bin/true"), "others can write")
    # also where the user wants it so: the link goes, not what it leads to
    done = sonde("run", "-q", "--share", "-o", place.area / "own/x", "--", "/bin/true")
    assert done.returncode == 0 and not (folder / "host-1-1.sonde-process").is_symlink(), done.stderr
    place.assert_untouched()


def test_a_link_on_the_way(place: Place) -> None:
    as_other(lambda: (place.theirs / "way").symlink_to(place.outside))
    for name in ("way/x", "way/../outside/x", "way/empty/x"):
        assert_refused(sonde("run", "-q", "-o", place.theirs / name, "--", "/bin/true"))
    place.assert_untouched()


def test_a_link_in_a_sticky_folder(place: Place) -> None:
    common = place.area / "common"
    common.mkdir()
    common.chmod(0o1777)
    as_other(lambda: ((common / "x.sonde").symlink_to(place.outside / "empty"), (common / "y.sdb").symlink_to(place.outside / "victim")))
    assert_refused(sonde("run", "-q", "-o", common / "x", "--", "/bin/true"))
    assert_refused(sonde("run", "-q", "-o", common / "y", "--", "/bin/true"))
    place.assert_untouched()


def test_a_chosen_name_passes_by_what_is_planted(place: Place) -> None:
    as_other(lambda: ((place.theirs / "true.sonde").symlink_to(place.outside), (place.theirs / "true-2.sdb").symlink_to(place.outside / "victim")))
    done = sonde("run", "-q", "--", "/bin/true", cwd=place.theirs)
    assert done.returncode == 0 and (place.theirs / "true-3.sdb").is_file(), done.stderr
    assert (place.theirs / "true-3.sonde").stat().st_mode & 0o777 == 0o700
    place.assert_untouched()


def test_own_links_are_followed(place: Place) -> None:
    """Big folders lie elsewhere: a link of the user's own is his word."""
    (place.area / "own/scratch").mkdir()
    (place.area / "own/x.sonde").symlink_to("scratch")
    done = sonde("run", "-q", "-o", place.area / "own/x", "--", "/bin/true")
    assert done.returncode == 0 and list((place.area / "own/scratch").glob("*.sonde-process")), done.stderr


def test_what_the_python_of_a_program_runs_is_not_for_others_to_write(place: Place) -> None:
    done = sonde("run", "-q", "--graph", "-o", place.theirs / "x", "--", PYTHON, "-c", "import os; print(os.environ.get('PYTHONPATH'))")
    assert done.returncode == 0 and "xla-hook" not in done.stdout and "are not captured" in done.stderr, done


# ---- outputs ----

@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "m.sonde").mkdir()
    subprocess.run([MAKE_MEASUREMENT, folder / "m.sonde/4000.sonde-process", "50"], check=True)
    trace = Trace()
    for number in range(40):
        trace.call("cpu_op", "aten::mm", 20 * number, 20 * number + 10)
    path = trace.write(folder / "t.json")
    subprocess.run([SONDE, "import", path, "-o", folder / "events.sdb"], check=True, capture_output=True)
    subprocess.run([MAKE_DB, folder / "small.sdb"], check=True)
    subprocess.run([MAKE_DB, "--graph", "1", folder / "graph.sdb"], check=True)
    return {"measurement": folder / "m.sonde", "trace": path, "events": folder / "events.sdb", "small": folder / "small.sdb",
            "graph": folder / "graph.sdb"}


def outputs(inputs: dict[str, Path]) -> dict[str, list[object]]:
    return {
        "analyze": ["analyze", "--no-cache", inputs["measurement"], "-o"],
        "analyze-formula": ["analyze", "--no-cache", "--metric", "twice=2*cpu-time", inputs["measurement"], "-o"],
        "import": ["import", inputs["trace"], "-o"],
        "csv": ["export", "--to", "csv", inputs["small"], "-o"],
        "html": ["export", "--to", "html", inputs["small"], "-o"],
        "perfetto": ["export", "--to", "perfetto", inputs["events"], "-o"],
        "structure": ["structure", SONDE, "-o"],
        "graph": ["graph", inputs["graph"], "-o"],
        "timeline": ["timeline", inputs["events"], "-o"],
    }


OUTPUTS = ["analyze", "analyze-formula", "import", "csv", "html", "perfetto", "structure", "graph", "timeline"]


@pytest.mark.parametrize("case", OUTPUTS)
def test_writing_through_a_planted_link(place: Place, inputs: dict[str, Path], case: str) -> None:
    name = "out.svg" if case in ("timeline", "graph") else "out"
    as_other(lambda: (place.theirs / name).symlink_to(place.outside / "victim"))
    assert_refused(sonde(*outputs(inputs)[case], place.theirs / name))
    as_other(lambda: (place.theirs / "way").symlink_to(place.outside))
    assert_refused(sonde(*outputs(inputs)[case], place.theirs / "way" / name))
    place.assert_untouched()


@pytest.mark.parametrize("target", ["victim", "empty", "new"])
@pytest.mark.parametrize("case", [*OUTPUTS, "ctf", "hpctoolkit"])
def test_writing_through_a_link_planted_where_all_may_write(place: Place, inputs: dict[str, Path], case: str, target: str) -> None:
    """As in /tmp: of the links there only those of one's own are followed."""
    common, name = place.area / "common", "out.svg" if case in ("timeline", "graph") else "out"
    common.mkdir()
    common.chmod(0o1777)
    as_other(lambda: (common / name).symlink_to(place.outside / target))
    command = outputs(inputs).get(case) or ["export", "--to", case, inputs["events" if case == "ctf" else "small"], "-o"]
    assert_refused(sonde(*command, common / name))
    assert [path.name for path in common.iterdir()] == [name]
    place.assert_untouched()
    (common / name).unlink()
    (common / name).symlink_to(place.area / "own/out")
    done = sonde(*command, common / name)
    assert done.returncode == 0 and (common / name).is_symlink() and (place.area / "own/out").exists(), done.stderr


@pytest.mark.parametrize("form", ["ctf", "hpctoolkit"])
def test_writing_a_folder_through_a_planted_link(place: Place, inputs: dict[str, Path], form: str) -> None:
    as_other(lambda: (place.theirs / "out").symlink_to(place.outside / "empty"))
    assert_refused(sonde("export", "--to", form, inputs["events" if form == "ctf" else "small"], "-o", place.theirs / "out"))
    place.assert_untouched()


@pytest.mark.parametrize("target", ["victim", "new", "empty"])
def test_a_planted_database(place: Place, target: str) -> None:
    as_other(lambda: (place.theirs / "x.sdb").symlink_to(place.outside / target))
    assert_refused(sonde("run", "-q", "-o", place.theirs / "x", "--", "/bin/sh", "-c", f"echo > {place.area}/ran"))
    assert not (place.theirs / "x.sonde").exists() and not (place.area / "ran").exists()
    place.assert_untouched()


def test_a_planted_pipe_gets_nothing(place: Place, inputs: dict[str, Path]) -> None:
    pipe = place.theirs / "out"
    as_other(lambda: os.mkfifo(pipe))
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    for words in (outputs(inputs)["csv"], outputs(inputs)["import"]):
        assert_refused(sonde(*words, pipe), "not permitted")
    as_other(lambda: os.mkfifo(place.theirs / "x.sdb"))
    assert_refused(sonde("run", "-q", "-o", place.theirs / "x", "--", "/bin/true"), "not permitted")
    assert os.read(reader, 1 << 16) == b""
    os.close(reader)


def test_names_beside_cannot_be_foreseen(place: Place, inputs: dict[str, Path]) -> None:
    """All names of the form that the process's number once gave are taken by links."""
    as_other(lambda: [(place.theirs / f"out.{end}").symlink_to(place.outside / "victim")
                      for end in (*(f"{number:06d}" for number in range(2000)), *(f"formulas-{number}" for number in range(2000)))])
    for case in ("csv", "analyze-formula"):
        done = sonde(*outputs(inputs)[case], place.theirs / "out")
        assert done.returncode == 0 and (place.theirs / "out").is_file(), done.stderr
    place.assert_untouched()


@pytest.mark.parametrize("kind", ["home", "cache", "folder"])
def test_the_cache_of_symbols_of_another_user(place: Place, inputs: dict[str, Path], kind: str) -> None:
    def plant() -> None:
        (place.theirs / "home/.cache").mkdir(parents=True)
        if kind == "cache":
            (place.theirs / "home/.cache").rmdir()
            (place.theirs / "home/.cache").symlink_to(place.outside / "empty")
        if kind == "folder":
            (place.theirs / "home/.cache/sonde").symlink_to(place.outside / "empty")
    as_other(plant)
    environment = {"HOME": str(place.theirs / "home"), "XDG_CACHE_HOME": ""}
    program = place.area / "own/x"
    done = sonde("run", "-q", "-o", program, "--", PYTHON, "-c", "sum(range(10**7))", **environment)
    assert done.returncode == 0, done.stderr
    assert all(path.lstat().st_uid == OTHER for path in (place.theirs / "home").rglob("*"))  # nothing of root's
    place.assert_untouched()


# ---- what is swapped meanwhile ----

PROGRAM = """
import ctypes, os, signal, subprocess, sys, time
def wait(name):
    while not os.path.exists(name): time.sleep(0.005)
def work(seconds):
    end = time.time() + seconds
    while time.time() < end: sum(range(1000))
go, done, what = sys.argv[1:4]
work(0.1)
open(go, "w").close()
wait(done)
if "close" in what:  # not by functions that we see: the files have to be opened again
    ctypes.CDLL(None).syscall(436, 3, 0xffffffff, 0)
work(0.5)
if "fork" in what:
    for _ in range(3):
        pid = os.fork()
        if not pid: work(0.05); os._exit(0)
        os.waitpid(pid, 0)
if "exec" in what:
    subprocess.run([sys.executable, "-c", "sum(range(10**6))"])
work(0.2)
"""


def measured_while(place: Place, swap: Callable[[], object], what: str, *options: str, output: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Root measures PROGRAM; in its middle the other user does `swap`."""
    go, done = place.area / "go", place.area / "done"
    script = place.write(place.area / "own/program.py", PROGRAM)
    words = [SONDE, "run", "-q", "--checkpoint", "0.05", *options, "-o", output or place.theirs / "x", "--", PYTHON, script, go, done, what]
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                               env=clean_environment(), stdin=subprocess.DEVNULL)
    try:
        deadline = time.time() + 60
        while not go.exists() and time.time() < deadline and process.poll() is None:
            time.sleep(0.01)
        assert go.exists(), process.communicate()
        as_other(swap)
        done.touch()
        out, err = process.communicate(timeout=100)
    finally:
        process.kill()
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def link_instead(place: Place, target: str) -> Callable[[], None]:
    def swap() -> None:
        (place.theirs / "x.sonde").rename(place.theirs / "moved")
        (place.theirs / "x.sonde").symlink_to(place.outside / target)
    return swap


def folder_instead(place: Place) -> None:
    (place.theirs / "x.sonde").rename(place.theirs / "moved")
    (place.theirs / "x.sonde").mkdir()


@pytest.mark.parametrize("what", ["fork", "exec", "close", "fork-exec-close"])
@pytest.mark.parametrize("target", ["empty", "."])
def test_the_folder_becomes_a_link(place: Place, what: str, target: str) -> None:
    done = measured_while(place, link_instead(place, target), what)
    assert_refused(done, "another folder by now")
    place.assert_untouched()
    assert list((place.theirs / "moved").glob("*.sonde-process"))  # what was open then


@pytest.mark.parametrize("what", ["fork", "fork-exec-close"])
def test_the_folder_becomes_a_link_while_recording(place: Place, what: str) -> None:
    done = measured_while(place, link_instead(place, "empty"), what, "--trace")
    assert_refused(done, "another folder by now")
    place.assert_untouched()


@pytest.mark.parametrize("what", ["fork", "exec", "close"])
def test_the_folder_becomes_another(place: Place, what: str) -> None:
    done = measured_while(place, lambda: folder_instead(place), what)
    assert_refused(done, "another folder by now")
    assert list((place.theirs / "x.sonde").iterdir()) == []
    place.assert_untouched()


def test_the_folder_above_becomes_a_link(place: Place) -> None:
    as_other(lambda: (place.theirs / "above").mkdir())

    def swap() -> None:
        (place.theirs / "above").rename(place.theirs / "moved")
        (place.theirs / "above").symlink_to(place.outside)
    done = measured_while(place, swap, "fork-exec-close", output=place.theirs / "above/x")
    assert_refused(done, "another folder by now")
    place.assert_untouched()


def test_the_database_becomes_a_link(place: Place) -> None:
    done = measured_while(place, lambda: (place.theirs / "x.sdb").symlink_to(place.outside / "victim"), "")
    assert_refused(done)
    place.assert_untouched()


@pytest.mark.parametrize("kind", ["link", "link-to-nothing", "pipe", "file"])
def test_a_file_in_a_shared_folder_is_replaced(place: Place, kind: str) -> None:
    """The user let others write; even so a file that is not the one that was made is not written to."""
    folder = place.area / "own/x.sonde"
    folder.mkdir()
    folder.chmod(0o777)

    def swap() -> None:
        for path in folder.glob("*.sonde-process"):
            path.unlink()
            if kind == "pipe":
                os.mkfifo(path, 0o666)
            elif kind == "file":
                path.write_text("theirs")
            else:
                path.symlink_to(place.outside / ("victim" if kind == "link" else "new"))
    done = measured_while(place, swap, "close", "--share", "--no-analyze", output=place.area / "own/x")
    assert done.returncode == 0, done.stderr
    if kind == "file":
        assert {path.read_text() for path in folder.glob("*.sonde-process")} == {"theirs"}
    place.assert_untouched()


def test_a_measured_program_that_becomes_another_user_goes_on_writing(place: Place) -> None:
    program = place.write(place.area / "own/drop.py", "import os, time\nos.setgid(65534); os.setuid(65534)\n"
                          "end = time.time() + 0.5\nwhile time.time() < end: sum(range(1000))\n")
    done = sonde("run", "-q", "-o", place.area / "own/x", "--checkpoint", "0.1", "--", PYTHON, program)
    assert done.returncode == 0, done.stderr
    rows = sonde("report", place.area / "own/x.sdb", "--format", "csv").stdout
    assert "drop.py" in rows
    info = sonde("info", place.area / "own/x.sdb").stdout
    assert "yes: every process ended in order" in info and "nothing is missing" in info, info


# ---- the library alone ----

def preloaded(folder: Path | str, **environment: str) -> None:
    done = subprocess.run([PYTHON, "-c", "print(sum(range(10**5)))"], capture_output=True, text=True, timeout=60,
                          env=clean_environment(LD_PRELOAD=str(LIBRARY), SONDE_OUTPUT=str(folder), **environment))
    assert (done.returncode, done.stdout, done.stderr) == (0, "4999950000\n", "")


@pytest.mark.parametrize("plant", [plant_folder, plant_folder_for_all, plant_empty_folder_link, plant_folder_link_to_nothing],
                         ids=lambda plant: plant.__name__)
def test_the_library_alone_refuses_planted_folders(place: Place, plant: Callable[[Place], None]) -> None:
    plant(place)
    preloaded(place.theirs / "x.sonde")
    assert not (place.theirs / "x.sonde").is_dir() or not list((place.theirs / "x.sonde").iterdir())
    place.assert_untouched()


@pytest.mark.parametrize("mode,wanted", [(0o777, 0), (0o775, 0), (0o1777, 1), (0o755, 1), (0o700, 1)])
def test_the_library_alone_looks_who_can_write(place: Place, mode: int, wanted: int) -> None:
    folder = place.area / "own/x.sonde"
    folder.mkdir()
    folder.chmod(mode)
    preloaded(folder)
    files = list(folder.iterdir())
    assert len(files) == wanted and all(path.stat().st_mode & 0o777 == 0o600 for path in files)


@pytest.mark.parametrize("identity", ["1:2:0:{host}", "{device}:{inode}:65534:{host}", "{device}:1{inode}:0:{host}", "1{device}:{inode}:0:{host}",
                                      "nonsense", "1:2"])
def test_the_library_alone_compares_the_folder(place: Place, identity: str) -> None:
    folder = place.area / "own/x.sonde"
    folder.mkdir(mode=0o700)
    known = {"device": folder.stat().st_dev, "inode": folder.stat().st_ino, "host": os.uname().nodename}
    preloaded(folder, SONDE_FOLDER=identity.format(**known))
    assert list(folder.iterdir()) == []
    preloaded(folder, SONDE_FOLDER="{device}:{inode}:0:{host}".format(**known))
    assert len(list(folder.iterdir())) == 1


# ---- measurements from elsewhere ----

@pytest.mark.parametrize("name", ["2.sonde-process", "1.sonde-trace", "2.sonde-trace"])
def test_a_measurement_with_links(place: Place, inputs: dict[str, Path], name: str) -> None:
    folder = place.theirs / "x.sonde"
    own = place.area / "own/other.sonde-process"
    subprocess.run([MAKE_MEASUREMENT, own, "70"], check=True)

    def plant() -> None:
        folder.mkdir()
        shutil.copy(place.area / "1", folder / "1.sonde-process")
        (folder / name).symlink_to(own)
    shutil.copy(inputs["measurement"] / "4000.sonde-process", place.area / "1")
    (place.area / "1").chmod(0o644)
    as_other(plant)
    done = sonde("analyze", "--no-cache", folder, "-o", place.area / "own/x.sdb")
    assert done.returncode == 0 and "1 process," in done.stdout, (done.stdout, done.stderr)
    place.assert_untouched()


@pytest.mark.parametrize("kind", ["link", "file", "hard-link"])
def test_a_perf_map_of_another_user(place: Place, kind: str) -> None:
    """Where the program's compiler would leave it, somebody else has put one, or a link to what only root may read."""
    secret = place.write(place.area / "secret", f"0 ffffffffffff {SECRET}\n", 0o600)
    script = place.write(place.area / "own/jit.py", "import os, sys, time\nopen(sys.argv[1], 'w').write(str(os.getpid()))\n"
                         "while not os.path.exists(sys.argv[2]): time.sleep(0.01)\n")
    process = subprocess.Popen([SONDE, "run", "-q", "--no-analyze", "-o", place.area / "own/x", "--", PYTHON, script, place.area / "pid",
                                place.area / "planted"], env=clean_environment(), stdin=subprocess.DEVNULL)
    while not (place.area / "pid").exists() or not (place.area / "pid").read_text():
        time.sleep(0.01)
    path = Path(f"/tmp/perf-{(place.area / 'pid').read_text()}.map")
    try:
        if kind == "hard-link":
            os.utime(secret)
            os.link(secret, path)  # as kernels without protected_hardlinks let anybody
        else:
            as_other(lambda: path.symlink_to(secret) if kind == "link" else path.write_text(f"0 ffffffffffff {SECRET}\n"))
        (place.area / "planted").touch()
        assert process.wait(timeout=60) == 0
        assert not list((place.area / "own/x.sonde").glob("perf-*"))
    finally:
        path.unlink(missing_ok=True)


# ---- databases from elsewhere ----

def lines_of(database: Path, cwd: Path, *options: object, **environment: str) -> str:
    """All that report and a page show of the database's sources."""
    report = sonde("report", "--full", *options, database, cwd=cwd, **environment)
    table = sonde("report", "--view", "flat", "--by", "any-line", "--limit", "0", *options, database, cwd=cwd, **environment)
    page = database.parent / "page.html"
    export = sonde("export", "--to", "html", *options, database, "-o", page, cwd=cwd, **environment)
    assert report.returncode == 0 and table.returncode == 0 and export.returncode == 0, (report.stderr, table.stderr, export.stderr)
    return report.stdout + table.stdout + page_payload(page).decode(errors="replace")


def naming(place: Place, *files: Path | str) -> Path:
    database = place.area / "db/foreign.sdb"
    database.parent.mkdir(exist_ok=True)
    options = [word for file in files for word in ("--source", str(file))]
    subprocess.run([MAKE_DB, *options, database], check=True)
    return database


def outside_file(place: Place) -> Path:
    return place.outside / "secret.py"


def link_in_tree(place: Place) -> Path:
    (place.tree / "a.py").symlink_to(place.outside / "secret.py")
    return place.tree / "a.py"


def relative_link_in_tree(place: Place) -> Path:
    (place.tree / "a.py").symlink_to("../outside/secret.py")
    return place.tree / "a.py"


def folder_link_in_tree(place: Place) -> Path:
    (place.tree / "src").symlink_to(place.outside)
    return place.tree / "src/secret.py"


def dots(place: Place) -> str:
    return f"{place.tree}/../outside/secret.py"


def many_dots(place: Place) -> str:
    (place.tree / "sub").mkdir()
    return f"{place.tree}/./sub/../../././outside//secret.py"


def slashes(place: Place) -> str:
    return f"//{place.outside}//secret.py"


def relative(place: Place) -> str:
    return "../outside/secret.py"


def proc_cwd(place: Place) -> str:
    return "/proc/self/cwd/../outside/secret.py"


def proc_root(place: Place) -> str:
    return f"/proc/self/root{place.outside}/secret.py"


def proc_environ(place: Place) -> str:
    return "/proc/self/environ"


def hidden_file(place: Place) -> Path:
    return place.write(place.tree / ".env", f"TOKEN={SECRET}\n")


def hidden_source(place: Place) -> Path:
    return place.write(place.tree / ".secret.py", f"{SECRET}\n")


def hidden_folder(place: Place) -> Path:
    return place.write(place.tree / ".ssh/config.py", f"{SECRET}\n")


def key_in_tree(place: Place) -> Path:
    return place.write(place.tree / "id_rsa", f"{SECRET}\n")


def settings_in_tree(place: Place) -> Path:
    return place.write(place.tree / "settings.json", f'"{SECRET}"\n')


def link_with_an_ending(place: Place) -> Path:
    place.write(place.tree / "id_rsa", f"{SECRET}\n")
    (place.tree / "a.py").symlink_to("id_rsa")
    return place.tree / "a.py"


def link_to_hidden(place: Place) -> Path:
    hidden_source(place)
    (place.tree / "a.py").symlink_to(".secret.py")
    return place.tree / "a.py"


def neighbour(place: Place) -> Path:
    """Its path begins as the tree's does."""
    return place.write(place.area / "tree-of-others/a.py", f"{SECRET}\n")


def large(place: Place) -> Path:
    path = place.write(place.tree / "a.py", f"{SECRET}\n")
    os.truncate(path, 17 << 20)
    os.utime(path, (1, 1))
    return path


def pipe_in_tree(place: Place) -> Path:
    os.mkfifo(place.tree / "a.py")
    return place.tree / "a.py"


def folder_in_tree(place: Place) -> Path:
    (place.tree / "a.py").mkdir()
    return place.tree / "a.py"


FOREIGN = [outside_file, link_in_tree, relative_link_in_tree, folder_link_in_tree, dots, many_dots, slashes, relative, proc_cwd, proc_root,
           proc_environ, hidden_file, hidden_source, hidden_folder, key_in_tree, settings_in_tree, link_with_an_ending, link_to_hidden,
           neighbour, large, pipe_in_tree, folder_in_tree]


@pytest.mark.parametrize("name", FOREIGN, ids=lambda name: name.__name__)
def test_a_database_names_a_file(place: Place, name: Callable[[Place], Path | str]) -> None:
    good = place.write(place.tree / "good.py", "GoodLine = 1\n")
    shown = lines_of(naming(place, name(place), good), place.tree, SECRET_VALUE=SECRET)
    assert SECRET not in shown and "GoodLine = 1" in shown


def test_roots_of_sources(place: Place) -> None:
    """Where one is, what its git tree is, and what was named; not what is above it, and not the root of all."""
    good = place.write(place.tree / "lib/good.py", "GoodLine = 1\n")
    (place.tree / "app").mkdir()
    database = naming(place, good)
    assert "GoodLine" not in lines_of(database, place.tree / "app")
    assert "GoodLine" in lines_of(database, place.tree)
    assert "GoodLine" in lines_of(database, place.tree / "app", "--source", place.tree / "lib")
    assert "GoodLine" in lines_of(database, place.tree / "app", SONDE_SOURCE=f"/nowhere:{place.tree}")
    assert "GoodLine" not in lines_of(database, Path("/"))
    (place.tree / ".git").mkdir()
    assert "GoodLine" in lines_of(database, place.tree / "app")


def test_a_git_tree_of_another_user(place: Place) -> None:
    """He puts .git above the folder that one is in, so that all below it would be read."""
    secret = place.write(place.area / "theirs/of-root.py", f"{SECRET}\n", 0o600)
    as_other(lambda: (place.theirs / ".git").mkdir())
    (place.theirs / "work").mkdir()
    assert SECRET not in lines_of(naming(place, secret), place.theirs / "work")


@pytest.mark.parametrize("path,mode,folder_mode,wanted", [
    ("a.py", 0o600, 0o755, False), ("a.py", 0o640, 0o755, False), ("a.py", 0o644, 0o700, False), ("sub/a.py", 0o644, 0o755, True)])
def test_what_the_owner_of_the_database_could_not_read(place: Place, path: str, mode: int, folder_mode: int, wanted: bool) -> None:
    """Root is asked to look at the database of another user, who names what only root can read."""
    secret = place.write(place.tree / path, f"{SECRET}\n", mode)
    place.tree.chmod(folder_mode)
    database = naming(place, secret)
    assert SECRET in lines_of(database, place.tree)  # root's own
    os.chown(database, OTHER, OTHER)
    assert (SECRET in lines_of(database, place.tree)) == wanted


def test_a_script_without_an_ending(place: Place) -> None:
    script = place.write(place.tree / "train", "#!/usr/bin/python3  # GoodLine\n")
    assert "GoodLine" in lines_of(naming(place, script), place.tree)


def test_links_that_stay_inside(place: Place) -> None:
    place.write(place.tree / "src/good.py", "GoodLine = 1\n")
    (place.tree / "a.py").symlink_to("src/good.py")
    (place.tree / "link").symlink_to("src")
    assert lines_of(naming(place, place.tree / "a.py"), place.tree).count("GoodLine") >= 2
    assert lines_of(naming(place, place.tree / "link/good.py"), place.tree).count("GoodLine") >= 2


def test_a_link_swapped_in_while_it_is_read(place: Place) -> None:
    """tree/src is now a folder and now a link: what is read is the folder's, or nothing."""
    place.write(place.tree / "src/secret.py", "GoodLine = 1\n")
    (place.tree / "link").symlink_to(place.outside)
    database = naming(place, *[place.tree / "src/secret.py"])
    pid = os.fork()
    if pid == 0:
        for _ in range(1 << 30):
            os.rename(place.tree / "src", place.tree / "kept")
            os.rename(place.tree / "link", place.tree / "src")
            os.rename(place.tree / "src", place.tree / "link")
            os.rename(place.tree / "kept", place.tree / "src")
    try:
        for _ in range(30):
            assert SECRET not in sonde("report", "--full", database, cwd=place.tree).stdout
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_page_without_sources(place: Place) -> None:
    good = place.write(place.tree / "good.py", "GoodLine = 1\n")
    database, page = naming(place, good), place.area / "page.html"
    assert sonde("export", "--to", "html", "--no-source", database, "-o", page, cwd=place.tree).returncode == 0
    assert b"GoodLine" not in page_payload(page)
    done = sonde("export", "--to", "csv", "--no-source", database, "-o", place.area / "x.csv")
    assert done.returncode == 129 and "no source lines" in done.stderr


def test_files_that_are_not_shown_are_told(place: Place) -> None:
    elsewhere = place.write(place.area / "own/a.py", "GoodLine = 1\n")
    done = sonde("report", naming(place, elsewhere), cwd=place.tree)
    assert "GoodLine" not in done.stdout and "--source DIR" in done.stderr and "own/a.py" in done.stderr
    assert sonde("report", "--source", elsewhere.parent, naming(place, elsewhere), cwd=place.tree).stderr == ""


# ---- who can read what is written, and what is in it ----

def test_permissions(place: Place) -> None:
    own = place.area / "own"
    script = 'umask 027; exec "$@"'
    for option, folder_mode, mode in (((), 0o700, 0o600), (("--share",), 0o750, 0o640)):
        name = own / f"x{len(option)}"
        subprocess.run(["sh", "-c", script, "sh", SONDE, "run", "-q", "--trace", *option, "-o", name, "--", "/bin/sh", "-c", "umask 0; /bin/true; true"],
                       check=True, env=clean_environment())
        assert (own / f"{name.name}.sonde").stat().st_mode & 0o777 == folder_mode
        files = [Path(f"{name}.sdb"), *Path(f"{name}.sonde").iterdir()]
        assert {path.stat().st_mode & 0o777 for path in files} == {mode} and len(files) >= 3


def test_secrets_in_command_lines(place: Place) -> None:
    """Those of the program and of the processes it starts, in measurements, databases and what is made of them."""
    words = [f"--password={SECRET}1", "--token", f"{SECRET}2", f"https://me:{SECRET}3@host/", "ghp_" + SECRET + "0123456789abc",
             "mysql", f"-p{SECRET}6", "cqlsh", "-p", f"{SECRET}7", "-storepass", f"{SECRET}8"]
    child = f"/bin/sleep 0.2; API_KEY={SECRET}4 /bin/sh -c 'sleep 0.1; true' x --secret={SECRET}5"
    done = sonde("run", "-o", place.area / "own/x", "--", "/bin/sh", "-c", child, "name", *words)
    assert done.returncode == 0 and SECRET not in done.stderr, done.stderr
    files = [place.area / "own/x.sdb", *(place.area / "own/x.sonde").iterdir()]
    assert len(files) > 3 and not [path for path in files if SECRET.encode() in path.read_bytes()]
    command = [line for line in sonde("info", place.area / "own/x.sdb").stdout.splitlines() if line.startswith("  command")][0]
    assert "--token ***" in command and "--password=***" in command and "me:***@host" in command and "API_KEY=***" in command, command


@pytest.mark.parametrize("option,environment", [(["--no-command"], {}), ([], {"SONDE_COMMAND": "0"})], ids=["option", "variable"])
def test_no_command(place: Place, option: list[str], environment: dict[str, str]) -> None:
    """A secret that looks like any word, of a program that nobody knows: nothing that is written has it."""
    name = place.area / "own/x"
    done = sonde("run", *option, "--trace", "--os", "--graph", "-o", name, "--", "/bin/sh", "-c", "/bin/sleep 0.1; true", "prog", "-p", SECRET,
                 **environment)
    assert done.returncode == 0 and SECRET not in done.stdout + done.stderr, done.stderr
    assert sonde("export", "--to", "html", f"{name}.sdb", "-o", place.area / "own/x.html").returncode == 0
    files = [place.area / "own/x.sdb", place.area / "own/x.html", *(place.area / "own/x.sonde").rglob("*")]
    assert len(files) > 4 and not [path for path in files if path.is_file() and (SECRET.encode() in path.read_bytes() or
                                                                                b"command=" in path.read_bytes())]


def test_what_the_manual_says_is_kept(place: Place) -> None:
    """Without the option such a word is in the measurement and the database, which only their owner can read."""
    name = place.area / "own/x"
    assert sonde("run", "-q", "-o", name, "--", "/bin/sh", "-c", "true", "prog", "-p", SECRET).returncode == 0
    files = [path for path in [Path(f"{name}.sdb"), *Path(f"{name}.sonde").iterdir()] if SECRET.encode() in path.read_bytes()]
    assert {path.suffix for path in files} == {".sdb", ".sonde-process"}
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600} and Path(f"{name}.sonde").stat().st_mode & 0o777 == 0o700


def test_there_are_fifty_tries(request: pytest.FixtureRequest) -> None:
    here = [item for item in request.session.items if item.path == request.path]
    if len(here) < 20:
        pytest.skip("some were chosen")
    assert len(here) >= 50
