# SPDX-License-Identifier: Apache-2.0
"""`sonde daemon start --push`: what the daemon flushes arrives once, sent by a process that may do nothing else."""
from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Callable, Iterator

import pytest

from program import SONDE
from receiver import Answer, Receiver, receiver
from sent import unpacked
from test_daemon import ask, daemon, needs_bpf, refused, wait_for_end

NOBODY = 65534
USER = ["--push-user", "nobody"] if os.geteuid() == 0 else []
pytestmark = needs_bpf

SPIN = """
int %s(volatile long n) { long sum = 0; while (n--) sum += n; return sum; }
int main(void) { for (;;) %s(1000000); }
"""


@pytest.fixture
def store() -> Iterator[Path]:
    """In a folder that other users can pass, as /var/lib."""
    folder = Path(tempfile.mkdtemp(prefix="sonde-push-"))
    folder.chmod(0o755)
    yield folder / "store"
    shutil.rmtree(folder)


@pytest.fixture
def got() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


def until(holds: Callable[[], bool], seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return holds()


@contextlib.contextmanager
def spinning(folder: Path, name: str) -> Iterator[Path]:
    """A program that spends its time in a function of that name."""
    source, program = folder / f"{name}.c", folder / f"program-{name}"
    source.write_text(SPIN % (name, name))
    subprocess.run(["cc", "-O1", "-o", program, source], check=True)
    process = subprocess.Popen([program])
    try:
        yield program
    finally:
        process.kill()
        process.wait()


def pushing(store: Path, url: str, *options: object):
    return daemon(store, "--flush", 3600, "--push", url, *USER, *options)


def pushed(store: Path) -> dict:
    return ask(store, "status")["push"]


def all_pushed(store: Path) -> bool:
    status = ask(store, "status")
    return status["push"]["pushed"] == status["samples"]["stored"] and status["push"]["waiting"] == 0


def flush(store: Path) -> dict:
    """Once there is something."""
    assert until(lambda: ask(store, "status")["samples"]["waiting"] > 0)
    return ask(store, "flush")


def fields(pid: int) -> dict[str, list[str]]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: rest.split() for name, rest in (line.split(":", 1) for line in lines)}


def test_what_the_daemon_counts_arrives(store, got):
    with spinning(store.parent, "busy_here"), pushing(store, got.url, "--push-label", "region=eu"):
        for count in (1, 2):
            time.sleep(1)
            flush(store)
            got.wait(count)
        assert until(lambda: all_pushed(store))
        status = ask(store, "status")
        pusher = status["push"]["pid"]
    sent = [request.otlp() for request in got.kept()]
    assert sum(one.total("samples") for one in sent) == status["samples"]["stored"] == status["push"]["pushed"]
    assert sum(one.total("samples", region="eu") for one in sent) == status["samples"]["stored"]
    of_program = sum(one.total("samples", **{"service.name": "program-busy_here"}) for one in sent)
    of_function = sum(one.by_function("samples").get("busy_here", 0) for one in sent)
    assert of_program > 50 and of_function > 0.8 * of_program
    wait_for_end(pusher)


@pytest.mark.parametrize("user", ["nobody", "root"])
def test_the_process_has_no_privileges(store, got, user):
    """Not even root's, nor what whoever started the daemon had open."""
    if os.geteuid() != 0:
        pytest.skip("who has no privileges has none to give up")
    with (store.parent / "open elsewhere").open("w") as elsewhere, contextlib.ExitStack() as stack:
        stack.callback(subprocess.run, [SONDE, "daemon", "stop", "-q", "--store", store])
        subprocess.run([SONDE, "daemon", "start", "-q", "--store", store, "--push", got.url, "--push-user", user], check=True,
                       pass_fds=[elsewhere.fileno()], extra_groups=[1, 2, 3])
        flush(store)
        assert until(lambda: got.kept() and pushed(store)["pid"])
        found = fields(pushed(store)["pid"])
        descriptors = [os.readlink(path) for path in Path(f"/proc/{pushed(store)['pid']}/fd").iterdir() if path.is_symlink()]
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(found[name][0], 16) == 0, name
    assert found["NoNewPrivs"] == ["1"]
    if user == "nobody":
        assert found["Uid"] == [str(NOBODY)] * 4 and "0" not in found["Gid"] and found["Groups"] == []
    # maps, events, the store's lock
    assert not [name for name in descriptors if "bpf" in name or "perf" in name or "elsewhere" in name or name == str(store)]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root lets another user in")
def test_who_may_read_the_store(store, got):
    with pushing(store, got.url):
        flush(store)
        got.wait(1)
    modes = {path.name: (stat.S_IMODE(path.lstat().st_mode), path.lstat().st_uid, path.lstat().st_gid) for path in [store, *store.iterdir()]
             if path.name != "control"}
    group = modes["store"][2]
    assert group != 0
    assert modes == {"store": (0o2750, 0, group), "current": (0o640, 0, group), "push": (0o2700, NOBODY, group)}


@pytest.mark.skipif(os.geteuid() != 0, reason="root's programs are needed that others may not read")
def test_names_of_programs_that_only_their_owner_reads_stay(store, got, tmp_path):
    """tmp_path is root's alone."""
    assert not tmp_path.stat().st_mode & 0o007 or not tmp_path.parent.stat().st_mode & 0o007
    with spinning(tmp_path, "known_to_root_alone") as program, pushing(store, got.url):
        program.chmod(0o700)
        time.sleep(1)
        flush(store)
        [request] = got.wait(1)
    assert request.otlp().total("samples", **{"service.name": program.name}) > 50
    assert b"known_to_root_alone" not in unpacked(request.body).replace(program.name.encode(), b"")


def test_an_outage_and_a_restart(store, tmp_path):
    with receiver() as first:
        port = first.port
    with pushing(store, f"http://127.0.0.1:{port}") as pid:
        before = flush(store)["samples"]["stored"]
        assert until(lambda: "Failed to connect" in pushed(store).get("failure", ""))
        assert pushed(store)["waiting"] == before
        said = subprocess.run([SONDE, "daemon", "status", "--store", store], capture_output=True, text=True).stdout
        assert "0 samples, by 0 requests" in said and "Failed to connect" in said
    wait_for_end(pid)
    # the last flush of the daemon, too, was written and not sent
    with receiver(port) as again:
        with pushing(store, again.url):
            flush(store)
            assert until(lambda: len(again.kept()) >= 1 and pushed(store)["waiting"] == 0)
            assert "failure" not in pushed(store) or "ended" in pushed(store)["failure"]
        info = subprocess.run([SONDE, "info", store], capture_output=True, text=True).stdout
        ids = again.ids()
        assert len(ids) == len(set(ids)) and again.total("samples") > before, info


def test_a_pusher_that_is_killed_is_started_again(store, got):
    with pushing(store, got.url):
        flush(store)
        assert until(lambda: all_pushed(store))
        first = pushed(store)["pid"]
        os.kill(first, signal.SIGKILL)
        assert until(lambda: "ended by signal 9" in pushed(store).get("failure", ""))
        assert until(lambda: pushed(store)["pid"] not in (0, first))
        flush(store)
        assert until(lambda: all_pushed(store))
    ids = got.ids()
    assert len(ids) == len(set(ids))


def test_a_pusher_that_fails_does_not_stop_the_daemon(store, got, tmp_path):
    """It is not let in here: its user may not pass the folder above."""
    if os.geteuid() != 0:
        pytest.skip("a folder that is closed to its owner is closed to the daemon")
    store.parent.chmod(0o700)
    with pushing(store, got.url):
        flush(store)
        assert until(lambda: "ended with status 128" in pushed(store).get("failure", ""))
        assert flush(store)["samples"]["stored"] > 0
    assert not got.requests


def levels(store: Path) -> set[str]:
    done = subprocess.run([SONDE, "info", "--format", "json", store], capture_output=True, text=True, check=True)
    return {epoch["level"] for epoch in json.loads(done.stdout)["epochs"]}


def test_nothing_is_merged_before_it_is_pushed(store):
    """Epochs of a second, which would be merged at once: they are not while the server is away, nor while another cursor is behind."""
    with receiver() as first:
        port = first.port
    options = ["--flush", 1, "--epoch", 1 / 60, "--push", f"http://127.0.0.1:{port}", *USER]
    with daemon(store, *options):
        assert until(lambda: ask(store, "status")["flushes"] >= 4)
        assert levels(store) == {"flushes"}
        other = store / "push/other"
        other.write_text("sonde-push 1\nepoch 1\n")
        with receiver(port) as got:
            assert until(lambda: got.kept() and pushed(store)["waiting"] == 0)
            before = ask(store, "status")["flushes"]
            assert until(lambda: ask(store, "status")["flushes"] >= before + 2)
            assert levels(store) == {"flushes"}
            other.unlink()
            assert until(lambda: "sealed" in levels(store))
            subprocess.run([SONDE, "daemon", "stop", "-q", "--store", store], check=True)
            ids = got.ids()
            assert len(ids) == len(set(ids)) and pushed_total(store) == got.total("samples") > 0


def pushed_total(store: Path) -> int:
    lines = dict(line.split(" ", 1) for line in (store / "push/cursor").read_text().splitlines())
    return int(lines["pushed"]) + int(lines["unsure"])


@pytest.mark.parametrize("kind", ["link", "pipe", "other"])
def test_a_cursor_that_somebody_has_replaced(store, got, tmp_path, kind):
    """Its folder is another user's: the daemon reads neither what a link leads to nor for ever."""
    secret = tmp_path / "secret"
    secret.write_text("sonde-push 1\nfailure root:password\n")
    with daemon(store, "--flush", 3600):
        (store / "push").mkdir(exist_ok=True)
        path = store / "push/cursor"
        if kind == "link":
            path.symlink_to(secret)
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.write_bytes(os.urandom(5000))
        assert flush(store)["samples"]["stored"] > 0
        text = str(pushed(store))
        assert "password" not in text and ("cannot read" in text or "does not tell" in text)


def test_the_pusher_ends_with_a_daemon_that_is_killed(store, got):
    with pushing(store, got.url) as pid:
        flush(store)
        got.wait(1)
        pusher = pushed(store)["pid"]
        os.kill(pid, signal.SIGKILL)
        wait_for_end(pusher)
        wait_for_end(pid)
    with pushing(store, got.url):
        flush(store)
        got.wait(2)
    ids = got.ids()
    assert len(ids) == len(set(ids))


def test_a_server_that_hangs_does_not_delay_the_daemon(store, got):
    got.answer = lambda number: Answer(seconds=20)
    with pushing(store, got.url):
        flush(store)
        assert until(lambda: bool(got.requests))
        began = time.monotonic()
        flush(store)
        assert time.monotonic() - began < 3
        began = time.monotonic()
    assert time.monotonic() - began < 8


def test_what_is_refused_at_the_start(tmp_path):
    store = tmp_path / "store"
    assert refused("start", "--store", store, "--push", "ftp://x", *USER).startswith("sonde: 'ftp' is not known")
    assert "cannot open" in refused("start", "--store", store, "--push", "http://x", "--push-header-file", tmp_path / "none", *USER)
    assert refused("start", "--store", store, "--push", "http://x", "--push-user", "no-such-user") == "sonde: there is no user 'no-such-user'"
    for options, text in [(["--push-label", "x"], "KEY=VALUE")] + ([([], "--push-user")] if os.geteuid() == 0 else []):
        done = subprocess.run([SONDE, "daemon", "start", "--store", store, "--push", "http://x", *options], capture_output=True, text=True)
        assert done.returncode == 129 and text in done.stderr
    assert subprocess.run([SONDE, "daemon", "status", "--store", store], capture_output=True).returncode == 128
