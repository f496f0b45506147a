# SPDX-License-Identifier: Apache-2.0
"""`sonde run` between a program and the process that waits for it: stops, continuing, and ignored signals of children."""
from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import program

# A shell's part in job control: the job has a group of its own, in the foreground of the terminal.
SHELL = """
    import os, signal, sys
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if not job:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        for number in (signal.SIGTTOU, signal.SIGTSTP, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(sys.argv[1], sys.argv[1:])
    while True:
        status = os.waitpid(job, os.WUNTRACED)[1]
        if not os.WIFSTOPPED(status):
            break
        print("job stopped", flush=True)
        os.killpg(job, signal.SIGCONT)
    print("job ended", os.waitstatus_to_exitcode(status), flush=True)
"""


def shown(command: list[str | Path], ready: bytes, typed: bytes) -> list[str]:
    """The terminal's lines; `typed` is typed as soon as `ready` is shown, with its end of line: Python writes that by itself."""
    words = [sys.executable, "-c", textwrap.dedent(SHELL), *map(str, command)]
    pid, terminal = pty.fork()
    if not pid:
        os.execv(words[0], words)
    text, end = b"", time.monotonic() + 60
    with contextlib.suppress(OSError):  # the end of a pseudo-terminal
        while select.select([terminal], [], [], max(0, end - time.monotonic()))[0]:
            text += os.read(terminal, 4096)
            if typed and ready in text:
                os.write(terminal, typed)
                typed = b""
    os.close(terminal)  # whoever is left is hung up
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return [line for line in text.decode().replace("^Z", "").splitlines() if line]


def measured(folder: Path, *command: str) -> list[str | Path]:
    return [program.SONDE, "run", "-q", "--no-analyze", "-o", folder / f"run{time.monotonic_ns()}", "--", *command]


def test_a_program_that_stops_itself_is_seen_to_stop(tmp_path: Path) -> None:
    command = ["sh", "-c", "kill -STOP $$; echo after; exit 3"]
    assert shown(measured(tmp_path, *command), b"", b"") == ["job stopped", "after", "job ended 3"]


def test_control_z_stops_when_the_program_does(tmp_path: Path) -> None:
    """One program does, one finishes something first, one does not: the launcher never stops without it."""
    code = "import os, signal, time; {}; print('ready', flush=True); time.sleep(1); print('after', flush=True)"
    seen = []
    for before in ("pass", "signal.signal(signal.SIGTSTP, lambda *_: (time.sleep(0.3), os.write(1, b'tidy\\n'), "
                   "os.kill(os.getpid(), signal.SIGSTOP)))", "signal.signal(signal.SIGTSTP, signal.SIG_IGN)"):
        seen.append(shown(measured(tmp_path, sys.executable, "-c", code.format(before)), b"ready\r\n", b"\x1a"))
    assert seen == [["ready", "job stopped", "after", "job ended 0"], ["ready", "tidy", "job stopped", "after", "job ended 0"],
                    ["ready", "after", "job ended 0"]]


def test_ended_children_may_be_ignored(tmp_path: Path) -> None:
    """Where SIGCHLD is ignored, the program's end is seen, and the program ignores it too."""
    command = measured(tmp_path, "grep", "SigIgn", "/proc/self/status")
    done = subprocess.run(command, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN), text=True,
                          capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout.split()[1], 16) >> (signal.SIGCHLD - 1) & 1
