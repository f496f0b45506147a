# SPDX-License-Identifier: Apache-2.0
"""`sonde top`: pictures of programs that run already, of which it is known where they spend their time."""
from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from program import SONDE
from running import ALLOWED, needs_sampling, running

pytestmark = needs_sampling
PYTHON = """
import sys
def spin(rounds):
    total = 0
    for number in range(rounds * 100):
        total += number * number
    return total
def long_part():
    return spin(30)
def short_part():
    return spin(10)
print("ready", flush=True)
while True:
    long_part()
    short_part()
"""


def top(*arguments: object) -> str:
    done = subprocess.run([SONDE, "top", *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def total(text: str, name: str) -> float:
    """The second share of the row of that name, %."""
    [row] = [line for line in text.splitlines() if re.search(rf"\b{name}\b", line) and "%" in line]
    return [float(share) for share in re.findall(r"([0-9.]+)%", row)][-1]


def samples(text: str) -> int:
    return int(re.search(r"([\d,]+) samples? in", text)[1].replace(",", ""))


def test_pictures_follow_each_other():
    """Each knows what was mapped and named before it, and what calls what."""
    with running() as process:
        text = top("--pid", process.pid, "-F", 500, "-d", 1, "-n", 3)
    pictures = text.split("sonde top ")[1:]
    assert len(pictures) == 3
    for picture in pictures:
        count = samples(picture)
        assert count > 50, picture
        assert f"process {process.pid} (running-" in picture
        assert abs(total(picture, "long_part") - 75) < 400 * (0.75 * 0.25 / count) ** 0.5, picture
        assert total(picture, "main") > 97, picture


def test_python_in_each_picture():
    with subprocess.Popen([sys.executable, "-c", PYTHON], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            text = top("--pid", process.pid, "-F", 200, "-d", 1, "-n", 3)
        finally:
            process.kill()
    for picture in text.split("sonde top ")[1:]:
        assert total(picture, "long_part") > 50, picture
        assert total(picture, "short_part") < 45, picture


@pytest.mark.skipif("whole machine" not in ALLOWED["text"], reason=ALLOWED["text"])
def test_whole_machine():
    """The command itself is woken by each sample: were the clocks of two processors in step, each sample of the second would find it there, and not idle."""
    with running() as process:
        with subprocess.Popen([SONDE, "top", "-d", "1", "-n", "1", "--by", "process"], stdout=subprocess.PIPE, text=True) as watching:
            text = watching.communicate(timeout=60)[0]
    own = [float(line.split()[0].rstrip("%")) for line in text.splitlines() if line.split()[-2:-1] == [str(watching.pid)]]
    assert sum(own) < 15, text
    [row] = [line.split() for line in text.splitlines() if line.split()[-2:-1] == [str(process.pid)]]
    busy, processors = re.search(r"([\d.]+) of (\d+) processors? busy", text).groups() if "cpu-clock" in text else ("1", "1")
    assert 0 < float(busy) <= int(processors) + 0.1
    assert float(row[0].rstrip("%")) > 0
    assert "all processes" in text


@pytest.mark.parametrize("by, word", [("line", "running.c:"), ("module", "/running-"), ("thread", "main thread"), ("process", "running-")])
def test_views(by, word):
    with running() as process:
        text = top("--pid", process.pid, "-d", 0.5, "-n", 1, "--by", by)
    assert word in text.split("\n\n", 1)[1], text


def test_ends_with_the_process():
    with running("end") as process:
        with subprocess.Popen([SONDE, "top", "--pid", str(process.pid), "-d", "0.5"], stdout=subprocess.PIPE, text=True) as watching:
            assert "sonde top" in watching.stdout.readline()
            process.stdin.write("\n")
            process.stdin.flush()
            rest = watching.communicate(timeout=60)[0]
        assert watching.returncode == 0
    assert "): ended" in rest


def test_nothing_runs():
    with subprocess.Popen(["sleep", "60"]) as process:
        text = top("--pid", process.pid, "-d", 0.5, "-n", 1)
        process.kill()
    assert "Nothing ran that is sampled." in text


@pytest.mark.parametrize("arguments, status, word", [
    (("--delay", "0"), 129, "from 0.1"), (("-n", "0"), 129, "from 1 to"), (("--by", "cost"), 129, "cost"), (("--pid", "x"), 129, "no list of processes"),
    (("--pid", "999999999"), 128, "there is no process"), (("now",), 129, "no operand"), (("--stack", "1"), 129, "1K to 63K")])
def test_mistakes(arguments, status, word):
    done = subprocess.run([SONDE, "top", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == status and word in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_no_place_for_temporary_files(tmp_path):
    with running() as process:
        done = subprocess.run([SONDE, "top", "--pid", str(process.pid), "-d", "0.3", "-n", "1"], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "TMPDIR": str(tmp_path / "none")})
    assert done.returncode == 128 and str(tmp_path / "none") in done.stderr and done.stderr.count("\n") == 1, done.stderr


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, *command: object, rows: int = 20, columns: int = 90):
        self.process, self.fd = pty.fork()
        if not self.process:
            os.environ["TERM"] = "xterm"
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell lets what it starts in the background ignore it
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execv(command[0], list(map(str, command)))
        self.text = ""

    def until(self, pattern: str) -> str:
        """What has been written up to there, from where the last call ended."""
        end = time.monotonic() + 60
        while not (found := re.search(pattern, self.text, re.DOTALL)):
            assert time.monotonic() < end, f"no {pattern!r} in {self.text[-3000:]!r}"
            if select.select([self.fd], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):
                    self.text += os.read(self.fd, 65536).decode()
        said, self.text = self.text[:found.end()], self.text[found.end():]
        return said

    def press(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def modes(self) -> int:
        return termios.tcgetattr(self.fd)[3] & (termios.ICANON | termios.ECHO)

    def end(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


@pytest.mark.parametrize("ending", ["q", "\x03"])
def test_screen(ending):
    """Keys choose what is shown; the picture has the terminal's height; at the end the terminal is as it was."""
    with running() as process:
        terminal = Terminal(SONDE, "top", "--pid", process.pid, "-d", 0.5)
        before = terminal.until(r"\x1b\[\?1049h")
        assert "\x1b[?25l" not in before
        picture = terminal.until(r"\x1b\[H.*spin.*\x1b\[J")
        assert picture.rsplit("\x1b[H", 1)[1].count("\n") < 20
        assert not terminal.modes()
        for key, head in [("p", "pid  process"), ("m", "total  module"), ("t", "lifetime  thread"), ("l", "total  line"), ("f", "total  function")]:
            terminal.press(key)
            terminal.until(head + r".*\x1b\[J")
        terminal.press(" ")
        terminal.until(r"space goes on.*\x1b\[J")
        time.sleep(1.2) # two pictures would have come
        terminal.press("p")
        held = terminal.until(r"pid  process.*\x1b\[J")
        assert held.count("\x1b[H") == 1, held
        terminal.press(" ")
        terminal.until(r"space holds.*\x1b\[J.*\x1b\[H.*\x1b\[J")
        terminal.press(ending)
        terminal.until(r"\x1b\[\?1049l")
        assert terminal.end() == 0
        assert terminal.modes() == termios.ICANON | termios.ECHO


def test_screen_of_a_process_that_ends():
    """Its last picture stays until a key is pressed."""
    with running() as process:
        terminal = Terminal(SONDE, "top", "--pid", process.pid, "-d", 0.5)
        terminal.until(r"spin.*\x1b\[J")
        process.kill()
        terminal.until(r"\): ended.*\x1b\[J")
        time.sleep(1)
        terminal.press("p")
        terminal.until(r"pid  process.*\x1b\[J")
        terminal.press("q")
        assert terminal.end() == 0


def test_stopped_and_continued():
    """Control-Z gives the terminal back until the command goes on."""
    with running() as process:
        terminal = Terminal(SONDE, "top", "--pid", process.pid, "-d", 0.5)
        terminal.until(r"spin.*\x1b\[J")
        os.kill(terminal.process, signal.SIGTSTP)
        terminal.until(r"\x1b\[\?1049l")
        _, status = os.waitpid(terminal.process, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        assert terminal.modes() == termios.ICANON | termios.ECHO
        os.kill(terminal.process, signal.SIGCONT)
        terminal.until(r"\x1b\[\?1049h.*spin.*\x1b\[J")
        terminal.press("q")
        assert terminal.end() == 0
