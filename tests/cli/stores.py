# SPDX-License-Identifier: Apache-2.0
"""Stores of continuous profiling, which tests/make-store writes from descriptions, and a library for samples to lie in."""
from __future__ import annotations

import os
import re
import subprocess
from datetime import datetime, timezone
from pathlib import Path

from program import BUILD

MAKE_STORE = BUILD / "tests/make-store"
BEGIN = int(datetime(2026, 11, 30, 12, tzinfo=timezone.utc).timestamp())
FILE, KERNEL, MODULE, BPF, VDSO, JIT, UNKNOWN = range(1, 8)

SOURCE = """
__attribute__((noinline)) int hot(int x) { for (int i = 0; i < x; i++) x ^= i * %d; return x; }
__attribute__((noinline)) int cold(int x) { return hot(x) + 1; }
"""


def write(folder: Path, *lines: tuple[object, ...]) -> Path:
    text = "".join("\t".join(map(str, line)) + "\n" for line in lines)
    subprocess.run([MAKE_STORE, folder], input=text, text=True, check=True, capture_output=True)
    return folder


def flush(minute: int, samples: int, *losses: str, event: str = "cpu-clock", period: int = 1000000) -> tuple[object, ...]:
    return ("flush", BEGIN + 60 * minute, BEGIN + 60 * (minute + 1), event, period, int(event == "cpu-clock"), samples, *losses)


class Library:
    """A shared library: its path, its build id, and where its functions begin."""

    def __init__(self, folder: Path, factor: int = 3, build_id: str = "sha1", is_stripped: bool = False):
        self.path = folder / "libknown.so"
        source = folder / "known.c"
        source.write_text(SOURCE % factor)
        subprocess.run([os.environ.get("CC", "cc").split()[-1], "-O1", "-g", "-shared", "-fPIC", f"-Wl,--build-id={build_id}",
                        f"-fvisibility={'hidden' if is_stripped else 'default'}", "-o", self.path, source], check=True)
        notes = subprocess.run(["readelf", "-n", self.path], capture_output=True, text=True, check=True).stdout
        found = re.search(r"Build ID: (\w+)", notes)
        self.id = found[1] if found else "-"
        symbols = subprocess.run(["nm", self.path], capture_output=True, text=True, check=True).stdout
        self.starts = {name: int(start, 16) for start, name in re.findall(r"^(\w+) [Tt] (\w+)$", symbols, re.M)}
        if is_stripped:
            subprocess.run(["strip", self.path], check=True)

    def image(self, mtime: int = 0, deleted: int = 0, size: int = 0) -> tuple[object, ...]:
        return ("image", FILE, self.path, self.id, deleted, size, mtime)
