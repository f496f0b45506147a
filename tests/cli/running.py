# SPDX-License-Identifier: Apache-2.0
"""A program that runs already, for what samples it from outside."""
from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from program import SONDE, compiled

[ALLOWED] = [check for check in json.loads(subprocess.run([SONDE, "doctor", "--format", "json"], capture_output=True, text=True).stdout)["checks"]
             if check["name"] == "running processes"]
needs_sampling = pytest.mark.skipif(ALLOWED["verdict"] == "no", reason=ALLOWED["text"])


def wait_for_events(recording: subprocess.Popen) -> None:
    """Until it has events, and a moment more, in which it reads what there is already."""
    end = time.monotonic() + 20
    while time.monotonic() < end and recording.poll() is None:
        with contextlib.suppress(FileNotFoundError):
            folder = Path(f"/proc/{recording.pid}/fd")
            if sum(os.readlink(file) == "anon_inode:[perf_event]" for file in folder.iterdir()) > os.cpu_count():
                break
        time.sleep(0.01)
    time.sleep(0.3)


@contextlib.contextmanager
def running(*arguments: str, options: tuple[str, ...] = ("-O2",)):
    """The program in its loop, which is killed at the end."""
    program = compiled("system/running.c", *options)
    with subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()
