# SPDX-License-Identifier: Apache-2.0
"""`sonde push`: by hand, and what is new in a store. What a receiver got is compared with what the store was planted with: each
sample once, whatever fails."""
from __future__ import annotations

import json
import random
import shutil
import signal
import socket
import stat
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

from conftest import SONDE, clean_environment, run_sonde
from receiver import Answer, Receiver, receiver
from sent import otlp_by_schema
from test_import_epochs import JIT, KERNEL, Library, write

MS = 1_000_000
BEGIN = int(time.time()) - 7200
WORKER = "/system.slice/worker.service"


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Library:
    return Library(tmp_path_factory.mktemp("library"))


@pytest.fixture
def got() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


def flush(minute: int, samples: int, *losses: str) -> tuple[object, ...]:
    return ("flush", BEGIN + 60 * minute, BEGIN + 60 * (minute + 1), "cpu-clock", MS, 1, samples, *losses)


class Planted:
    """A store to which flushes are added, and what it holds."""

    def __init__(self, folder: Path, library: Library):
        self.path = folder / "store"
        self.library = library
        self.minute = self.samples = 0

    def add(self, hot: int = 70, *more: tuple[object, ...]) -> Path:
        """A flush of `hot` samples of the worker in hot, 20 of another program in cold and 10 in the kernel."""
        starts = self.library.starts
        write(self.path, ("origin", "/usr/bin/worker", WORKER, 0, 1000), ("origin", "/bin/other", "-", 42, 0), self.library.image(),
              ("image", KERNEL, "[kernel]", "-", 0, 0, 0), ("image", JIT, "jit", "-", 0, 0, 0), ("count", 0, 0, starts["hot"] + 1, hot),
              ("count", 1, 0, starts["cold"], 20), ("count", 0, 1, 0x1010, 10), ("name", 1, 0x1000, 0x100, "schedule"),
              flush(self.minute, hot + 30), *more)
        self.minute += 1
        self.samples += hot + 30
        return self.path


@pytest.fixture
def planted(tmp_path, library) -> Planted:
    return Planted(tmp_path, library)


def push(got: Receiver | str, *arguments: object, **environment: str):
    return run_sonde("push", "--to", got if isinstance(got, str) else got.url, *arguments, **environment)


def refused(*arguments: object, **environment: str) -> str:
    result = push(*arguments, **environment)
    assert result.status == 128 and result.out == "" and len(result.err_lines) == 1, result
    return result.err.removeprefix("sonde: ").rstrip("\n")


def cursor(path: Path) -> dict[str, object]:
    lines = path.read_text().splitlines()
    assert lines[0] == "sonde-push 1"
    pairs = (line.split(" ", 1) for line in lines[1:])
    return {name: value if name == "failure" else int(value) for name, value in pairs}


def once(got: Receiver | str, store: Path, *options: object):
    """Pushes what is new since the last time."""
    return push(got, "-q", "--cursor", store.parent / "cursor", *options, store)


# ---- by hand ----


def test_push_a_store_as_otlp(got, planted):
    planted.add()
    store = planted.add(100, ("seal",))
    done = push(got, store)
    assert (done.status, done.out, done.err) == (0, "", f"sonde: pushed 230 samples to '{got.url}'\n")
    [request] = got.kept()
    assert request.path == "/v1development/profiles"
    sent = request.otlp()
    assert (sent.total("samples"), sent.total("cpu-clock")) == (230, 230 * MS)
    assert sent.by("samples", "service.name") == {"worker": 190, "other": 40}
    assert sent.by("samples", "process.linux.cgroup") == {WORKER: 190, None: 40}
    assert sent.by("samples", "process.pid") == {None: 190, 42: 40}
    assert sent.by("samples", "host.name") == {socket.gethostname(): 230}
    assert sent.by_function("samples") == {"hot": 170, "cold": 40, "schedule": 20}
    assert sent.files[str(planted.library.path)] == planted.library.id
    assert set(sent.times) == {(BEGIN * 10**9, 120 * 10**9)} and sent.periods == {("cpu-clock", "nanoseconds", MS)}


def test_push_by_its_schema(got, planted):
    assert push(got, "--label", "region=eu", planted.add()).status == 0
    [request] = got.kept()
    assert otlp_by_schema(request.body) == request.otlp().rows


def test_push_a_store_as_pprof(got, planted):
    assert push(got, "--as", "pprof", "--label", "region=eu=1,x", planted.add()).status == 0
    [request] = got.kept()
    sent, address = request.pprof(), urlsplit(request.path)
    assert (sent.total("samples"), sent.total("cpu-clock")) == (100, 100 * MS)
    assert sent.by("samples", "program") == {"worker": 80, "other": 20}
    assert sent.by("samples", "cgroup") == {WORKER: 80, None: 20}
    assert sent.by("samples", "region") == {"eu=1,x": 100} and sent.by("samples", "host") == {socket.gethostname(): 100}
    assert sent.by_function("samples") == {"hot": 70, "cold": 20, "schedule": 10}
    assert address.path == "/ingest"
    assert parse_qs(address.query) == {"name": [f"sonde{{host={socket.gethostname()},region=eu_1_x}}"], "format": ["pprof"],
                                       "from": [str(BEGIN)], "until": [str(BEGIN + 60)], "spyName": ["sonde"]}


@pytest.mark.parametrize("form, path, expected", [
    ("otlp", "", "/v1development/profiles"), ("otlp", "/", "/v1development/profiles"), ("otlp", "/otlp/x", "/otlp/x"),
    ("otlp", "?a=b", "/v1development/profiles?a=b"), ("pprof", "/upload", "/upload"), ("pprof", "/x/ingest", "/x/ingest?name="),
    ("pprof", "?a=b", "/ingest?a=b&name=")])
def test_where_it_goes(got, small_db, form, path, expected):
    assert push(got.url + path, "--as", form, small_db).status == 0
    found = got.kept()[0].path
    assert found == expected if not expected.endswith("=") else found.startswith(expected)


@pytest.mark.parametrize("form", ["otlp", "pprof"])
def test_any_database(got, small_db, form):
    assert push(got, "--as", form, small_db).status == 0
    [request] = got.kept()
    sent = request.otlp() if form == "otlp" else request.pprof()
    assert (sent.total("samples"), sent.total("cpu-time"), sent.total("gpu-time")) == (100, 500 * MS, 300 * MS)


@pytest.mark.parametrize("form", ["otlp", "pprof"])
def test_callers(got, planted, form):
    """Call paths of a store, leaf first."""
    starts = planted.library.starts
    store = write(planted.path, ("origin", "/usr/bin/worker", WORKER, 0, 1000), planted.library.image(),
                  ("stack", 0, 7, f"0:{starts['hot'] + 1}", f"0:{starts['cold'] + 9}"), ("stack", 0, 3, f"0:{starts['cold']}"), flush(0, 10))
    assert push(got, "--as", form, store).status == 0
    sent = got.kept()[0].otlp() if form == "otlp" else got.kept()[0].pprof()
    assert sent.total("samples") == 10
    assert {row.stack[:2]: row.value for row in sent.rows if row.kind[0] == "samples" and row.stack[0] == "hot"} == {("hot", "cold"): 7}
    assert sent.by_function("samples") == {"hot": 7, "cold": 3}


def test_a_range(got, planted):
    for hot in (1, 2, 3):
        planted.add(hot)
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(BEGIN + 121))
    assert push(got, "--since", since, planted.path).status == 0
    assert push(got, "--image", "kernel", planted.path).status == 0
    assert [request.otlp().total("samples") for request in got.kept()] == [33, 30]


def test_labels(got, small_db):
    assert push(got, "--label", "region=eu-1", "--label", "team=a=b", small_db).status == 0
    sent = got.kept()[0].otlp()
    assert all(row.labels["region"] == "eu-1" and row.labels["team"] == "a=b" for row in sent.rows)


def test_labels_of_any_bytes(got, small_db):
    """What is no UTF-8 would make the whole message unreadable."""
    for form in ("otlp", "pprof"):
        assert push(got, "--as", form, "--label", "ré\udcff=é\udcfe\n", small_db).status == 0
    otlp, pprof = got.kept()
    for sent in (otlp.otlp(), pprof.pprof()):
        assert all(row.labels["ré?"] == "é? " for row in sent.rows)
    assert otlp_by_schema(otlp.body) == otlp.otlp().rows


@pytest.mark.parametrize("label", ["region", "=x", "region="])
def test_what_is_no_label(got, small_db, label):
    result = push(got, "--label", label, small_db)
    assert result.status == 129 and "KEY=VALUE" in result.err and not got.requests


def test_tokens_are_not_arguments(got, small_db, tmp_path):
    headers = tmp_path / "headers"
    headers.write_text("# of the collector\n\nX-Scope-OrgID: tenant 1\nX-Key:secret\n")
    assert push(got, "--header-file", headers, small_db, SONDE_PUSH_TOKEN="abc").status == 0
    found = got.kept()[0].headers
    assert (found["x-scope-orgid"], found["x-key"], found["authorization"]) == ("tenant 1", "secret", "Bearer abc")


@pytest.mark.parametrize("line", ["s3cr3t", "Na me: x", ": x", "Name:", "Name: a\vb"], ids=range(5))
def test_what_is_no_header(got, small_db, tmp_path, line):
    headers = tmp_path / "headers"
    headers.write_text(f"X-Key: a\n{line}\n")
    said = refused(got, "--header-file", headers, small_db)
    assert f"line 2 of '{headers}' is no header" in said and "s3cr3t" not in said and not got.requests


def test_a_missing_header_file(got, small_db, tmp_path):
    assert f"cannot open '{tmp_path}/none': No such file" in refused(got, "--header-file", tmp_path / "none", small_db)
    assert not got.requests


def test_addresses(small_db):
    assert refused("ftp://host/", small_db) == "'ftp' is not known: an address begins with http:// or https://"
    assert refused("host:4318", small_db) == "'host:4318' is no address: it must begin with http:// or https://"
    assert refused("http://", small_db) == "'http://' is no address"
    said = refused("http://me:secret@host/", small_db)
    assert "--header-file" in said and "secret" not in said
    assert "cannot push to 'http://127.0.0.1:1': Failed to connect" in refused("http://127.0.0.1:1", small_db)
    assert "cannot push to 'http://no.invalid': Could not resolve host" in refused("http://no.invalid", small_db)


@pytest.mark.parametrize("status, expected", [(400, "answers 400: no such thing"), (401, "answers 401"), (404, "answers 404"),
                                              (429, "answers 429"), (500, "answers 500"), (503, "answers 503")])
def test_what_servers_refuse(got, small_db, status, expected):
    got.answer = lambda number: Answer(status, body=b"no such thing\nat all" if status == 400 else b"")
    assert refused(got, small_db) == f"cannot push to '{got.url}': the server {expected}"
    assert len(got.requests) == 1


def test_a_redirection_is_told_and_not_followed(got, small_db):
    with receiver() as other:
        got.answer = lambda number: Answer(307, {"Location": f"{other.url}/x"})
        assert refused(got, small_db, SONDE_PUSH_TOKEN="secret") == \
            f"cannot push to '{got.url}': the server answers 307: it is at '{other.url}/x' now"
        assert not other.requests


def test_otlp_says_what_it_rejects(got, small_db):
    message = b"too old"
    inner = bytes([1 << 3, 3, 2 << 3 | 2, len(message)]) + message
    got.answer = lambda number: Answer(200, body=bytes([1 << 3 | 2, len(inner)]) + inner)
    assert refused(got, small_db) == f"cannot push to '{got.url}': the server rejects 3 profiles: too old"


def test_a_slow_server(got, small_db):
    got.answer = lambda number: Answer(seconds=3)
    said = refused(got, "--timeout", 1, small_db)
    assert "timed out" in said and said.endswith("(it may have arrived)")


def test_a_connection_that_breaks(got, small_db):
    got.answer = lambda number: Answer(cut=-1)
    assert refused(got, small_db).endswith("(it may have arrived)")


def test_a_connection_that_is_closed_halfway(got, small_db):
    got.answer = lambda number: Answer(cut=10)
    assert refused(got, small_db).startswith(f"cannot push to '{got.url}': ")


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_encrypted(small_db, tmp_path):
    """To a server of an authority that nobody knows, and to one that is named."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
    with receiver(encryption=(certificate, key)) as got:
        url = f"https://localhost:{got.port}"
        assert "certificate" in refused(url, small_db).lower() and not got.requests
        assert push(url, "--ca", certificate, small_db).status == 0
        assert got.kept()[0].otlp().total("samples") == 100
        got.answer = lambda number: Answer(cut=10)
        assert refused(url, "--ca", certificate, small_db).startswith(f"cannot push to '{url}': ")


def test_without_libcurl(small_db, tmp_path):
    """A machine that lacks it, as the loader would find it."""
    (tmp_path / "libcurl.so.4").write_text("no library\n")
    said = refused("http://127.0.0.1:1", small_db, LD_LIBRARY_PATH=str(tmp_path))
    assert said == "cannot push to 'http://127.0.0.1:1': libcurl.so.4 is missing (Debian: libcurl4)"


def test_misuse(got, small_db, planted):
    store = planted.add()
    assert run_sonde("push", small_db).status == 129
    assert push(got, "--resend", small_db).status == 129
    assert push(got, "--follow", "--since", "1h", store).status == 129
    assert "is no folder in which sonded keeps samples" in refused(got, "--follow", small_db)
    assert not got.requests


# ---- what is new ----


def test_each_flush_once(got, planted):
    """By flushes as they come, across the end of epochs, and nothing where there is nothing new."""
    for hot in (1, 2):
        planted.add(hot)
    assert once(got, planted.path).status == 0
    assert once(got, planted.path).status == 0
    planted.add(4)
    assert once(got, planted.path).status == 0
    planted.add(8, ("seal",))
    planted.add(16)
    assert once(got, planted.path).status == 0
    assert [request.otlp().total("samples") for request in got.kept()] == [63, 34, 38, 46]
    assert [sorted(set(request.otlp().times))[0][0] for request in got.kept()] == [(BEGIN + 60 * minute) * 10**9 for minute in (0, 2, 3, 4)]
    found = cursor(planted.path.parent / "cursor")
    assert (found["pushed"], found["waiting"], found["requests"], found["sending"]) == (planted.samples, 0, 4, 0)


def test_profiles_have_numbers_of_their_own(got, planted):
    planted.add()
    once(got, planted.path)
    planted.add()
    once(got, planted.path)
    ids = got.ids()
    assert len(set(ids)) == len(ids) == 8 and all(len(number) == 16 for number in ids)


def test_an_empty_flush_needs_no_request(got, planted):
    planted.add()
    write(planted.path, flush(1, 0))
    assert once(got, planted.path).status == 0 and once(got, planted.path).status == 0
    assert len(got.kept()) == 1


def test_an_outage(got, planted):
    """What could not be delivered is, later, with what came meanwhile."""
    address = got.url
    planted.add(1)
    down = "http://127.0.0.1:1"
    said = once(down, planted.path)
    assert said.status == 128 and "Failed to connect" in said.err and len(said.err_lines) == 1
    found = cursor(planted.path.parent / "cursor")
    assert (found["pushed"], found["waiting"]) == (0, 31) and "Failed to connect" in found["failure"]
    planted.add(2, ("seal",))
    planted.add(4)
    assert once(address, planted.path).status == 0
    assert [request.otlp().total("samples") for request in got.kept()] == [63, 34]
    found = cursor(planted.path.parent / "cursor")
    assert (found["pushed"], found["waiting"], found["unsure"]) == (97, 0, 0) and "failure" not in found


@pytest.mark.parametrize("status", [400, 413, 422])
def test_what_is_rejected_does_not_stop_the_rest(got, planted, status):
    planted.add(1, ("seal",))
    planted.add(2)
    got.answer = lambda number: Answer(status if number == 0 else 200)
    assert once(got, planted.path).status == 0
    found = cursor(planted.path.parent / "cursor")
    assert (found["pushed"], found["rejected"]) == (32, 31)


@pytest.mark.parametrize("status", [401, 404, 429, 500, 503])
def test_what_is_refused_for_now_waits(got, planted, status):
    planted.add(1, ("seal",))
    planted.add(2)
    got.answer = lambda number: Answer(status if number == 0 else 200)
    assert once(got, planted.path).status == 128
    found = cursor(planted.path.parent / "cursor")
    assert (found["pushed"], found["rejected"], found["waiting"], found["sending"]) == (0, 0, 63, 0)
    assert once(got, planted.path).status == 0
    assert got.total("samples") == 63


def test_it_is_noted_before_it_can_arrive(got, planted):
    """When a request is whole, the cursor says already that it may have arrived."""
    planted.add(1, ("seal",))
    planted.add(2)
    noted = []

    def answer(number: int) -> Answer:
        return Answer(when_whole=lambda: noted.append(cursor(planted.path.parent / "cursor")))
    got.answer = answer
    assert once(got, planted.path).status == 0
    assert [(found["epoch"], found["parts"], found["sending"], found["sending_samples"]) for found in noted] == [(1, 0, 1, 31), (2, 0, 1, 32)]


def test_what_may_have_arrived_is_not_sent_again(got, planted):
    planted.add(1, ("seal",))
    planted.add(2)
    got.answer = lambda number: Answer(cut=-1 if number == 0 else None)
    done = once(got, planted.path)
    assert done.status == 0
    found = cursor(planted.path.parent / "cursor")
    assert (found["pushed"], found["unsure"]) == (32, 31) and len(got.requests) == 2


def test_unless_that_is_wanted(got, planted):
    planted.add(1)
    got.answer = lambda number: Answer(cut=-1 if number == 0 else None)
    assert once(got, planted.path, "--resend").status == 128
    planted.add(2)
    assert once(got, planted.path, "--resend").status == 0
    # the same parts as before, with the same ids: a store that knows them can tell
    bodies = [request.otlp() for request in got.requests]
    assert bodies[0].rows == bodies[1].rows and bodies[0].ids == bodies[1].ids
    assert [sent.total("samples") for sent in bodies] == [31, 31, 32]
    assert cursor(planted.path.parent / "cursor")["unsure"] == 0


def test_damaged_epochs_are_passed_over(got, planted):
    planted.add(1, ("seal",))
    planted.add(2)
    planted.add(4, ("seal",))
    planted.add(8)
    first, second = sorted(planted.path.glob("*.epoch"))
    data = bytearray(first.read_bytes())
    data[10] ^= 1  # in its head
    first.write_bytes(data)
    data = bytearray(second.read_bytes())
    data[-2] ^= 1  # in its second flush
    second.write_bytes(data)
    done = once(got, planted.path)
    assert done.status == 0
    assert [f"'{path.name}' is damaged, what follows is not pushed" in line for path, line in zip((first, second), done.err_lines)] == [True, True]
    assert [request.otlp().total("samples") for request in got.kept()] == [32, 38]
    assert once(got, planted.path).err == ""  # told once


def test_what_is_too_old_is_given_up(got, planted):
    day = 86400
    old = BEGIN - 2 * day
    planted.add(1)
    planted.path.rename(planted.path.parent / "other")
    write(planted.path, ("origin", "/usr/bin/worker", WORKER, 0, 1000), planted.library.image(), ("count", 0, 0, planted.library.starts["hot"], 5),
          ("flush", old, old + 60, "cpu-clock", MS, 1, 5), ("seal",))
    planted.add(2)
    assert once(got, planted.path).status == 0
    assert got.total("samples") == 32
    found = cursor(planted.path.parent / "cursor")
    assert (found["pushed"], found["given_up"]) == (32, 5)


def test_a_store_that_was_begun_anew(got, planted):
    planted.add(1, ("seal",))
    planted.add(2, ("seal",))
    planted.add(4)
    assert once(got, planted.path).status == 0
    for path in planted.path.iterdir():
        path.unlink()
    planted.add(8)
    assert once(got, planted.path).status == 0
    assert got.total("samples") == planted.samples


def test_the_writer_does_not_merge_what_waits(got, planted):
    """What is merged is never pushed; so the writer leaves what is not, for a day."""
    planted.add(1, ("seal",))
    planted.add(2, ("seal",))
    tend = ("tend", BEGIN + 20000)
    planted.add(4, ("unmerged", 2, 90000), tend)
    levels = {epoch["level"] for epoch in json.loads(run_sonde("info", "--format", "json", planted.path).out)["epochs"]}
    assert levels == {"flushes", "sealed"}  # the first is of before
    assert once(got, planted.path).status == 0
    assert got.total("samples") == 32 + 34
    write(planted.path, ("unmerged", 2, 10000), tend)  # too old
    epochs = json.loads(run_sonde("info", "--format", "json", planted.path).out)["epochs"]
    assert [epoch["level"] for epoch in epochs] == ["hour", "flushes"]


def test_one_process_for_a_cursor(got, planted):
    planted.add()
    got.answer = lambda number: Answer(seconds=2)
    first = subprocess.Popen([SONDE, "push", "-q", "--to", got.url, "--cursor", planted.path.parent / "cursor", planted.path])
    while not got.requests:
        time.sleep(0.01)
    assert refused(got, "--cursor", planted.path.parent / "cursor", planted.path) == f"another process pushes by '{planted.path.parent}/cursor'"
    assert first.wait() == 0


def test_what_is_no_cursor(got, planted):
    path = planted.path.parent / "cursor"
    path.write_text("something else\n")
    assert refused(got, "--cursor", path, planted.add()) == f"'{path}' does not tell how far a store was pushed"
    assert path.read_text() == "something else\n" and not got.requests


def test_a_cursor_that_cannot_be_written(got, planted):
    """Without it nothing may leave."""
    assert "cannot open" in refused(got, "--cursor", "/proc/none/cursor", planted.add()) and not got.requests


def test_nothing_leaves_before_the_cursor_is_written(got, planted):
    """A folder lies where its next version would."""
    path = planted.path.parent / "cursor"
    (path.parent / "cursor.new").mkdir()
    assert f"cannot write '{path}'" in refused(got, "--cursor", path, planted.add())
    assert not got.requests


@contextmanager
def following(got: Receiver, store: Path, *options: object) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen([SONDE, "push", "--to", got.url, "--follow", *map(str, options), store], env=clean_environment(),
                               stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_follow(got, planted):
    planted.add(1)
    with following(got, planted.path) as process:
        got.wait(1)
        planted.add(2, ("seal",))
        got.wait(2)
        planted.add(4)
        got.wait(3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert process.stderr.read() == f"sonde: pushed 97 samples to '{got.url}'\n"
    assert got.total("samples") == planted.samples
    kept = planted.path / "push/cursor"
    assert cursor(kept)["pushed"] == planted.samples
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600 and stat.S_IMODE(kept.parent.stat().st_mode) == 0o700


def test_follow_through_an_outage(planted):
    planted.add(1)
    with receiver() as first:
        port = first.port
        with following(first, planted.path) as process:
            first.wait(1)
            first.answer = lambda number: Answer(503, {"Retry-After": "1"})
            planted.add(2)
            while len(first.requests) < 3:
                time.sleep(0.05)
            planted.add(4, ("seal",))
            first.answer = lambda number: Answer()
            planted.add(8)
            first.wait(3)
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
            said = process.stderr.read().splitlines()
    assert port and first.total("samples") == planted.samples
    assert len(said) == 2 and "the server answers 503" in said[0]  # once, not at each try


def test_retry_after_is_respected(got, planted):
    planted.add(1)
    got.answer = lambda number: Answer(429, {"Retry-After": "4"}) if number == 0 else Answer()
    began = time.monotonic()
    with following(got, planted.path):
        got.wait(1)
    assert time.monotonic() - began > 3.9


def test_an_end_is_not_waited_for(got, planted):
    planted.add(1)
    got.answer = lambda number: Answer(429, {"Retry-After": "1000"})
    with following(got, planted.path) as process:
        while not got.requests:
            time.sleep(0.01)
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0


def test_an_end_while_it_connects(planted):
    """To a server whose queue is full, so that it does not answer at all. What was given up has not failed."""
    planted.add(1)
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for client in (first, second):
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        target = Receiver(full.getsockname()[1])
        with following(target, planted.path) as process:
            time.sleep(1.5)
            assert process.poll() is None and not process.stderr.closed
            process.send_signal(signal.SIGTERM)
            assert process.wait(4) == 0
    found = cursor(planted.path / "push/cursor")
    assert (found["pushed"], found["unsure"], found["waiting"]) == (0, 0, 31) and "failure" not in found


def test_an_end_waits_for_an_answer(got, planted):
    """Of a request that has left, so that it is known what became of it."""
    planted.add(1)
    got.answer = lambda number: Answer(seconds=1)
    with following(got, planted.path) as process:
        got.wait(1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    found = cursor(planted.path / "push/cursor")
    assert (found["pushed"], found["unsure"], found["sending"]) == (31, 0, 0) and "failure" not in found


def test_nothing_twice_after_kills(got, planted):
    """Killed at random moments: no profile comes twice, and what is missing is told as unsure."""
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    got.answer = lambda number: Answer(seconds=0.02)
    for _ in range(20):
        planted.add(chance.randrange(1, 100), *([("seal",)] if chance.random() < 0.3 else []))
        process = subprocess.Popen([SONDE, "push", "-q", "--to", got.url, "--cursor", planted.path.parent / "cursor", planted.path],
                                   stderr=subprocess.DEVNULL)
        time.sleep(chance.random() * 0.15)
        process.kill()
        process.wait()
    time.sleep(0.2)
    assert once(got, planted.path).status == 0
    ids = got.ids()
    assert len(set(ids)) == len(ids), f"seed {seed}"
    found = cursor(planted.path.parent / "cursor")
    arrived = got.total("samples")
    assert found["pushed"] + found["unsure"] == planted.samples, f"seed {seed}"
    assert found["pushed"] <= arrived <= planted.samples, f"seed {seed}"


@pytest.mark.parametrize("moment", ["before the last byte", "while the server answers"])
def test_killed_at_a_known_moment(got, planted, moment):
    """Before the last byte nothing can have arrived: it is sent again. While the server answers it may have: it is not."""
    planted.add(1)
    asked = planted.path.parent / "cursor"
    if moment == "before the last byte":
        done = push("http://127.0.0.1:1", "-q", "--cursor", asked, planted.path)
        assert done.status == 128 and cursor(asked)["sending"] == 0
    else:
        got.answer = lambda number: Answer(seconds=30)
        process = subprocess.Popen([SONDE, "push", "-q", "--to", got.url, "--cursor", asked, planted.path])
        got.wait(1)
        process.kill()
        process.wait()
        found = cursor(asked)
        assert (found["sending"], found["sending_samples"], found["pushed"]) == (1, 31, 0)
        got.answer = lambda number: Answer()
    planted.add(2)
    done = push(got, "-q", "--cursor", asked, planted.path)
    assert done.status == 0
    found = cursor(asked)
    if moment == "before the last byte":
        assert (found["pushed"], found["unsure"], done.err) == (63, 0, "")
    else:
        assert (found["pushed"], found["unsure"]) == (32, 31) and "31 samples may have arrived" in done.err
    assert got.total("samples") == 63
