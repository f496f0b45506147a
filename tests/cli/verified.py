# SPDX-License-Identifier: Apache-2.0
"""Whatever database a test writes is checked from end to end: its two orders are exact transposes of each other."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path

LARGEST = 100 << 20  # what is larger takes longer than the test
CHECKED = ("analyze", "import")


def written_by(arguments: list[str]) -> Path | None:
    """The database that these arguments of `sonde` write."""
    if not arguments or arguments[0] not in CHECKED or "-o" not in arguments[:-1]:
        return None
    path = Path(arguments[arguments.index("-o") + 1])
    return path if path.is_file() and path.stat().st_size <= LARGEST else None


def verify(sonde: Path, path: Path | None) -> None:
    if path is None:
        return
    done = subprocess.run([sonde, "info", "--verify", path], capture_output=True, text=True, timeout=120,
                          env={key: value for key, value in os.environ.items() if key != "LD_PRELOAD"})
    assert done.returncode == 0, f"{path} was written, and is not sound: {done.stderr}"
