# SPDX-License-Identifier: Apache-2.0
"""Runs a program under the collector and reads what it measured.

A second, independent reader of measurement files (docs/format/measurement.md), for tests that look at
the collector's work before any analysis: contexts as plain frames, values by metric.
"""
from __future__ import annotations

import os
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterator

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SONDE_BUILD", ROOT / "build"))
LIBRARY = BUILD / "src/collect/libsonde.so"


def frame_kinds() -> dict[int, str]:
    kinds = {}
    for line in (ROOT / "src/format/frame_kinds.def").read_text().splitlines():
        if line.startswith("SN_FRAME_KIND("):
            _, number, name, _ = line[len("SN_FRAME_KIND("):].split(",")
            kinds[int(number)] = name.strip().strip('"')
    return kinds


KINDS = frame_kinds()


@dataclass
class Frame:
    kind: str
    name: str  # of native frames the module's file name, of Python frames the function
    line: int = 0  # of native frames the offset
    file: str = ""
    flags: int = 0

    def __str__(self) -> str:
        where = f":{self.line}" if self.kind == "python" else ""
        return f"{self.kind} {self.name}{where}"


@dataclass
class Value:
    count: int
    sum: int
    min: int
    max: int


@dataclass
class Context:
    path: list[Frame]  # outermost first; [0] is the thread
    values: dict[str, Value]

    def names(self, *kinds: str) -> list[str]:
        return [frame.name for frame in self.path if not kinds or frame.kind in kinds]


@dataclass
class Measurement:
    drops: dict[str, int] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    contexts: list[Context] = field(default_factory=list)  # those with values

    def total(self, metric: str, where: Callable[[Context], bool] = lambda _: True) -> Value:
        values = [c.values[metric] for c in self.contexts if metric in c.values and where(c)]
        return Value(sum(v.count for v in values), sum(v.sum for v in values),
                     min((v.min for v in values), default=0), max((v.max for v in values), default=0))

    def at(self, kind: str, name: str) -> Callable[[Context], bool]:
        """The contexts whose innermost frame is this one."""
        return lambda context: (context.path[-1].kind, context.path[-1].name) == (kind, name)


def snapshot(data: bytes) -> bytes:
    best = (0, 0, 0)
    for slot in (0, 1):
        sequence, offset, length, _, _ = struct.unpack_from("<5Q", data, 1024 + 512 * slot)
        best = max(best, (sequence, offset, length))
    _, offset, length = best
    return data[offset:offset + length]


def sections(data: bytes) -> dict[tuple[int, int], bytes]:
    _, _, _, count, table, _, _, _ = struct.unpack_from("<8sHHIQQQQ", data)
    found = {}
    for entry in range(count):
        kind, _, _, index, _, offset, length, _ = struct.unpack_from("<IHHIIQQQ", data, table + 40 * entry)
        found[kind, index] = data[offset:offset + length]
    return found


def strings(data: bytes) -> list[str]:
    count, _ = struct.unpack_from("<II", data)
    offsets = struct.unpack_from(f"<{count + 1}I", data, 8)
    base = (8 + 4 * (count + 1) + 7) & ~7
    return [data[base + start:base + end].decode("utf-8", "replace")
            for start, end in zip(offsets, offsets[1:])]


def records(layout: str, data: bytes) -> Iterator[tuple]:
    return struct.iter_unpack(layout, data)


def read_thread(found: dict, index: int, metrics: list[str], modules: list[str]) -> list[Context]:
    names = strings(found[2, index])
    codes = [(names[file], names[name]) for file, name, _, _ in records("<4I", found.get((7, index), b""))]
    nodes: list[tuple[int, Frame]] = []
    for parent, _, kind, flags, _, ident, value in records("<IIBBHIQ", found[8, index]):
        frame = Frame(KINDS[kind], "", value, flags=flags)
        if frame.kind == "native":
            frame.name = os.path.basename(modules[ident]) if ident < len(modules) else "?"
        elif frame.kind == "python":
            frame.file, frame.name = codes[ident]
        elif frame.kind != "thread":
            frame.name = names[ident]
        nodes.append((parent, frame))

    def path_of(node: int) -> list[Frame]:
        path = [nodes[node][1]]
        while node:
            node = nodes[node][0]
            path.append(nodes[node][1])
        return path[::-1]

    contexts: dict[int, Context] = {}
    for node, metric, count, total, least, most, _ in records("<IIQQQQd", found.get((9, index), b"")):
        context = contexts[node] = contexts.get(node) or Context(path_of(node), {})
        context.values[metrics[metric]] = Value(count, total, least, most)
    return list(contexts.values())


def read(path: Path) -> Measurement:
    found = sections(snapshot(path.read_bytes()))
    shared = strings(found[2, 0xFFFFFFFF])
    measurement = Measurement()
    for (kind, index), data in found.items():
        if kind == 1:
            for line in data.split(b"\0"):
                key, _, value = line.decode("utf-8", "replace").partition("=")
                measurement.properties[key] = value
        elif kind == 5:
            for cause, _, count in records("<IIQ", data):
                measurement.drops[shared[cause]] = count
    modules = [shared[path] for _, _, _, path, _, _, _ in records("<QQQIII20s", found.get((3, 0), b""))]
    metrics = [shared[name] for name, _, _, _, _ in records("<4IQ", found.get((4, 0), b""))]
    for kind, index in found:
        if kind == 8:
            measurement.contexts += read_thread(found, index, metrics, modules)
    return measurement


def environment(folder: Path, **settings: str) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    return {**os.environ, "LD_PRELOAD": str(LIBRARY), "SONDE_OUTPUT": str(folder),
            "OPENCL_LAYERS": str(LIBRARY), "NVTX_INJECTION64_PATH": str(LIBRARY),
            "INTEL_LIBITTNOTIFY64": str(LIBRARY), **settings}


def run(folder: Path, *command: str, **settings: str) -> tuple[subprocess.CompletedProcess, Measurement]:
    """Runs a program of one process under the collector: how it went, and what was measured."""
    done = subprocess.run([str(part) for part in command], env=environment(folder, **settings),
                          capture_output=True, text=True, timeout=120)
    files = sorted(folder.glob("*.sonde-process"))
    assert len(files) == 1, f"{len(files)} processes measured; stderr: {done.stderr}"
    return done, read(files[0])
