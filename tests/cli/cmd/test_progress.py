# SPDX-License-Identifier: Apache-2.0
"""The line on a terminal that says what a long command does: there after a second, erased at the end, nowhere else.

A slow disk (tests/workloads/formats/slow_files.c) makes commands slow that are not.
"""
from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

import program
from conftest import SONDE, clean_environment

ERASE = "\r\033[K"
LINE = re.compile(re.escape(ERASE) + r"(sonde: [^\r\n]*\d s)(?=\r\033\[K)")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory, small_db) -> Path:
    """What each command reads, and the preloaded slowness."""
    folder = tmp_path_factory.mktemp("slow")
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": i, "dur": 1} for i in range(30_000)]
    (folder / "trace.json").write_text(json.dumps({"traceEvents": events}))
    (folder / "small.sdb").write_bytes(small_db.read_bytes())
    (folder / "work.c").write_text("int main(void) { for (volatile int i = 0; i < 50000000; i++); return 0; }")
    subprocess.run(["cc", "-g", "work.c", "-o", "work"], cwd=folder, check=True)
    subprocess.run([SONDE, "run", "-q", "--no-analyze", "-o", "work", "./work"], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def slow() -> Path:
    return program.compiled("formats/slow_files.c", "-O1", "-shared", "-fPIC")


def on_terminal(folder: Path, words: list[str], columns: int = 100, out: Path | None = None, interrupt_after: float = 0,
                in_background: bool = False, **environment: str) -> tuple[int, str]:
    """Status and what the terminal gets; stdout may go to a file."""
    shown, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def own_the_terminal():
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # what a shell starts in the background ignores it
        os.setsid()
        fcntl.ioctl(2, termios.TIOCSCTTY, 0)
        if in_background and (child := os.fork()):
            os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        if in_background:
            os.setpgid(0, 0)

    with open(out or os.devnull, "w") as file:
        child = subprocess.Popen([str(SONDE), *words], cwd=folder, stdin=subprocess.DEVNULL, stderr=terminal,
                                 stdout=file if out else terminal, preexec_fn=own_the_terminal,
                                 env=clean_environment(**environment))
    os.close(terminal)
    got, begun = b"", time.monotonic()
    while True:
        try:
            piece = os.read(shown, 65536)
        except OSError:  # nobody has the terminal any more
            break
        got += piece
        if interrupt_after and b"sonde: " in got:
            child.send_signal(signal.SIGINT)
            interrupt_after = 0
    os.close(shown)
    assert time.monotonic() - begun < 120
    return child.wait(), got.decode()


def slowness(library: Path, opened: str = "", read: str = "", ms: int = 1800) -> dict[str, str]:
    return {"LD_PRELOAD": str(library), "SLOW_OPEN": opened, "SLOW_READ": read, "SLOW_MS": str(ms)}


# How a command is called, and the file that is slow to open.
COMMANDS = {
    "analyze": (["analyze", "work.sonde", "-o", "a.sdb"], ".sonde-process"),
    "import": (["import", "trace.json", "-o", "t.sdb"], "trace.json"),
    "export": (["export", "--to", "csv", "small.sdb", "-o", "small.csv"], "small.sdb"),
    "structure": (["structure", "work", "-o", "work.txt"], "work"),
    "timeline": (["timeline", "trace.json"], "trace.json"),
    "run": (["run", "-o", "again", "./work"], ".sonde-process"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_slow_command_says_what_it_does(inputs, slow, command):
    words, opened = COMMANDS[command]
    status, text = on_terminal(inputs, words, **slowness(slow, opened))
    lines = LINE.findall(text)
    assert status == 0 and lines, text
    assert all(re.fullmatch(r"sonde: [a-z ]+, (\d+%, )?\d+ s", line) for line in lines)
    # the last one is erased, and what is left is what there is without a terminal
    assert LINE.sub("", text).count("\033[K") == 1 and ERASE in text[text.rindex(lines[-1]):]


def test_the_share_is_that_of_the_file(inputs, slow):
    """Each read takes 0.4 s; what is said grows with them."""
    size = (inputs / "trace.json").stat().st_size
    _, text = on_terminal(inputs, ["import", "-j", "1", "trace.json", "-o", "t.sdb"], **slowness(slow, read="trace.json", ms=400))
    shares = [int(share) for share in re.findall(r"sonde: reading, (\d+)%", text)]
    assert shares == sorted(shares) and len(set(shares)) >= 3, (size, text)
    assert 0 < shares[0] < 60 and shares[-1] <= 100


def test_the_width_of_the_terminal(inputs, slow):
    words, opened = COMMANDS["timeline"]
    _, text = on_terminal(inputs, words, columns=12, **slowness(slow, opened))
    drawn = re.findall(re.escape(ERASE) + r"(sonde: [^\r\n]*)\r", text)
    assert drawn and {len(line) for line in drawn} == {11}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_fast_command_says_nothing(inputs, command):
    words, _ = COMMANDS[command]
    for _ in range(10):  # a busy machine may be slow itself
        begun = time.monotonic()
        status, text = on_terminal(inputs, words)
        if time.monotonic() - begun < 0.9:
            break
    else:
        pytest.skip("this machine takes a second for everything")
    assert status == 0 and "\033[K" not in text


def test_who_wants_no_line(inputs, slow, tmp_path):
    """-q; a terminal that obeys nothing; a command of the background; stdout that the same lines would come between."""
    wishes = slowness(slow, ".sonde-process")
    status, text = on_terminal(inputs, ["run", "-q", "-o", "again", "./work"], **wishes)
    assert status == 0 and text == ""
    analyze, _ = COMMANDS["analyze"]
    assert "\033[K" not in on_terminal(inputs, analyze, TERM="dumb", **wishes)[1]
    assert "\033[K" not in on_terminal(inputs, analyze, in_background=True, **wishes)[1]
    structure = slowness(slow, "work")
    assert "\033[K" not in on_terminal(inputs, ["structure", "work"], **structure)[1]
    assert ERASE in on_terminal(inputs, ["structure", "work"], out=tmp_path / "structure", **structure)[1]


def test_without_a_terminal(inputs, slow):
    words, opened = COMMANDS["import"]
    done = subprocess.run([SONDE, *words], cwd=inputs, capture_output=True, text=True, check=True,
                          env=clean_environment(**slowness(slow, opened)))
    assert done.stderr == "" and "\033" not in done.stdout


def test_an_error_comes_on_a_line_of_its_own(inputs, slow):
    (inputs / "broken.json").write_text('{"traceEvents": [{"ph": "X", "ts": ' + " " * 300_000)
    _, text = on_terminal(inputs, ["timeline", "broken.json"], **slowness(slow, read="broken.json", ms=700))
    assert LINE.search(text)
    left = LINE.sub("", text)
    assert left.startswith(ERASE + "sonde: ") and left.count("sonde: ") == 1 and left.endswith("\r\n")


def test_interrupted(inputs, slow):
    words, opened = COMMANDS["import"]
    status, text = on_terminal(inputs, words, interrupt_after=1, **slowness(slow, opened, ms=4000))
    assert status == -signal.SIGINT and text.endswith(ERASE)
