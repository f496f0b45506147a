#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins what processes on fake devices left: the exact table of what ran, as CSV on standard output.

Names are demangled. A launching line is that of Python, or of the first native caller that is the user's: neither the kernel's
function on the host nor what else the CUDA compiler generates; an address where nothing tells its line.
"""
from __future__ import annotations

import csv
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

COLUMNS = ["kernel", "stream", "graph", "count", "total_ns", "bytes", "launching line"]
GENERATED = ("__device_stub", "__wrapper__device_stub", "cudaLaunchKernel", "cudaMalloc", "cudaMemcpy", "cudaError")


def demangled(names: list[str]) -> dict[str, str]:
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return dict(zip(names, done.splitlines()))


class Lines:
    """Of native addresses, each asked once."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[str, str]] = {}

    def of(self, address: str) -> tuple[str, str]:
        if address not in self.known:
            module, _, offset = address.rpartition("+")
            done = subprocess.run(["addr2line", "-f", "-C", "-e", module, offset], capture_output=True, text=True)
            function, line = (done.stdout.splitlines() + ["??", "??:0"])[:2]
            self.known[address] = function, line.split(" (")[0]
        return self.known[address]

    def of_place(self, place: str, kernel: str) -> str:
        if "+0x" not in place:
            return place
        addresses = place.split(" ")
        for address in addresses:
            function, line = self.of(address)
            if not line.startswith("??") and not function.startswith(GENERATED) and not kernel.endswith(function):
                return line
        return addresses[0]


def main() -> None:
    rows: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
    for part in sorted(Path(sys.argv[1]).iterdir()):
        for text in part.read_text().splitlines():
            name, stream, graph, *figures, place = text.split("\t")
            for index, figure in enumerate(figures):
                rows[name, stream, graph, place][index] += int(figure)
    names, lines = demangled(sorted({key[0] for key in rows})), Lines()
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(COLUMNS)
    for (name, stream, graph, place), figures in sorted(rows.items()):
        out.writerow([names[name], stream, graph if graph != "0" else "", *figures, lines.of_place(place, names[name])])


if __name__ == "__main__":
    main()
