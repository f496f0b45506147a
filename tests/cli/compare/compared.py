# SPDX-License-Identifier: Apache-2.0
"""Stores whose samples are draws from known shares of two functions, the kernel and two programs, and results as data."""
from __future__ import annotations

import json
import random
from pathlib import Path

from conftest import run_sonde
from stores import KERNEL, Library, flush, write

HOT, COLD, KERNEL_CODE = "hot [libknown.so]", "cold [libknown.so]", "schedule [(os)]"


def minute(library: Library, number: int, samples: int, shares: tuple[float, float, float], generator: random.Random | None = None,
           period: int = 1000000) -> list[tuple[object, ...]]:
    """A flush of so many samples of hot, cold and the kernel: as many as the shares say, or draws from them. hot is of worker, the others of other."""
    if generator:
        drawn = generator.choices(range(3), shares, k=samples)
        counts = [drawn.count(which) for which in range(3)]
    else:
        counts = [round(samples * share) for share in shares]
    places = [(0, 0, library.starts["hot"] + 4), (1, 0, library.starts["cold"]), (1, 1, 0x1010)]
    lines = [("count", *place, count) for place, count in zip(places, counts) if count]
    return [*lines, flush(number, sum(counts), period=period)]


def begin(library: Library) -> list[tuple[object, ...]]:
    return [("origin", "/usr/bin/worker", "-", 0, 1000), ("origin", "/bin/other", "-", 0, 1000), library.image(), ("image", KERNEL, "[kernel]", "-", 0, 0, 0),
            ("name", 1, 0x1000, 0x100, "schedule")]


def store(folder: Path, library: Library, *minutes: list[tuple[object, ...]]) -> Path:
    return write(folder, *begin(library), *(line for one in minutes for line in one))


def asked(command: str, *arguments: object, **environment: str) -> dict:
    result = run_sonde(command, *arguments, "--format", "json", **environment)
    assert (result.status, result.err) == (0, ""), result.err
    return json.loads(result.out)


def by_name(found: dict) -> dict[str, dict]:
    return {row["name"] + (f" [{row['place']}]" if row["place"] else ""): row for row in found["rows"]}
