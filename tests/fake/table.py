#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins what processes on fake devices left: the exact table of what ran, as CSV on standard output.

Names are demangled. A launching line is that of Python, or of the first native caller that is the user's: neither the kernel's
function on the host nor what else the CUDA compiler generates; an address where nothing tells its line.
"""
from __future__ import annotations

import csv
import re
import struct
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Iterator

COLUMNS = ["kernel", "stream", "graph", "count", "total_ns", "bytes", "launching line"]
# What the compiler generates and what its headers have inline, by the names of functions and of files.
GENERATED = ("__device_stub", "__wrapper__device_stub", "cudaLaunchKernel", "cudaMalloc", "cudaMemcpy", "cudaError")
HEADERS = (".cudafe1.stub.c", "/crt/device_functions.h", "/crt/host_runtime.h", "/cuda_runtime.h")


def demangled(names: list[str]) -> dict[str, str]:
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return dict(zip(names, done.splitlines()))


def lines_in(module: str, offsets: list[str]) -> dict[str, list[tuple[str, str]]]:
    """Of each offset the functions that it is in, with their lines: those that are inlined there come before those that call them."""
    done = subprocess.run(["addr2line", "-a", "-i", "-f", "-C", "-e", module, *offsets], capture_output=True, text=True)
    found: dict[str, list[tuple[str, str]]] = {offset: [] for offset in offsets}
    of, rest = None, iter(done.stdout.splitlines())
    for text in rest:
        if text.startswith("0x"):
            of = found.setdefault(hex(int(text, 16)), [])
        elif of is not None:
            of.append((text, next(rest, "??:0").split(" (")[0]))
    return found


def base_of(function: str) -> str:
    """Without what it returns, its namespaces, and its parameters and those of its template."""
    mangled = re.match(r"_Z(\d+)", function)
    if mangled:
        return function[mangled.end():mangled.end() + int(mangled[1])]
    name = re.sub(r"\(anonymous namespace\)::", "", function)
    return re.split(r"[ :]", re.split(r"[<(]", name)[0])[-1]


class Lines:
    """Of native addresses, each module asked once."""

    def __init__(self, places: set[str]) -> None:
        asked: dict[str, set[str]] = defaultdict(set)
        for address in (address for place in places if "+0x" in place for address in place.split(" ")):
            module, _, offset = address.rpartition("+")
            asked[module].add(offset)
        self.known = {f"{module}+{offset}": functions for module, offsets in asked.items()
                      for offset, functions in lines_in(module, sorted(offsets)).items()}
        files = {line.rpartition(":")[0] for functions in self.known.values() for _, line in functions}
        self.sources = {Path(file).name: file for file in files}

    def of_source(self, line: str) -> str:
        """nvcc's C++ has the lines of the program's file, of which addr2line tells for some addresses alone."""
        file, _, number = line.rpartition(":")
        source = re.sub(r"tmpxft_\w+-\d+_(.*)\.cudafe1\.cpp$", r"\1.cu", Path(file).name)
        return f"{self.sources.get(source, file)}:{number}" if source != Path(file).name else line

    def of_place(self, place: str, kernel: str) -> str:
        if "+0x" not in place:
            return place
        addresses = place.split(" ")
        functions = [known for address in addresses for known in self.known.get(address, [])]
        users = [(function, line) for function, line in functions
                 if not line.startswith("??") and not line.rpartition(":")[0].endswith(HEADERS) and not function.startswith(GENERATED)]
        # the kernel's own function on the host, which may be called by one of the same name
        if len(users) > 1 and base_of(users[0][0]) == base_of(kernel):
            del users[0]
        return self.of_source(users[0][1]) if users else addresses[0]


HEAD = struct.Struct("<IIQQQ")  # struct record (device/table.c)


def records(part: bytes) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    """Name, stream, graph and place, with how often, how long and how many bytes."""
    at = 0
    while at + HEAD.size <= len(part):
        size, text_bytes, *figures = HEAD.unpack_from(part, at)
        if not size:
            break
        text = part[at + HEAD.size:at + HEAD.size + text_bytes]
        yield tuple(text.decode(errors="replace").split("\t")), figures
        at += size


def main() -> None:
    rows: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
    for part in sorted(Path(sys.argv[1]).iterdir()):
        for key, figures in records(part.read_bytes()):
            for index, figure in enumerate(figures):
                rows[key][index] += figure
    names, lines = demangled(sorted({key[0] for key in rows})), Lines({key[3] for key in rows})
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(COLUMNS)
    for (name, stream, graph, place), figures in sorted(rows.items()):
        out.writerow([names[name], stream, graph if graph != "0" else "", *figures, lines.of_place(place, names[name])])


if __name__ == "__main__":
    main()
