# SPDX-License-Identifier: Apache-2.0
"""Writes raw HPCToolkit measurements (.hpcrun 04.00, .hpctrace 01.01, .hpcstruct), straight from what is known of
their format, so that importing can be tried on any shape and with a known answer."""
from __future__ import annotations

import struct
from pathlib import Path
from xml.sax.saxutils import quoteattr

NODE, RANK, THREAD, GPU_CONTEXT, GPU_STREAM, CORE = 1, 2, 3, 5, 6, 7
LOGICAL_ONLY, LOGICAL_LOCAL, LOGICAL_GLOBAL = 3 << 14, 1 << 14, 2 << 14
NAMES = ["SUMMARY", "NODE", "RANK", "THREAD", "GPUDEVICE", "GPUCONTEXT", "GPUSTREAM", "CORE"]
GPU_ROOT, GPU_RANGE, GPU_DEVICE = 65533, 65532, 65531


def letters(text: str) -> int:
    assert len(text) == 8
    return int.from_bytes(text.encode(), "big")


PRIMARY, PARTIAL, MAIN, IDLE = map(letters, ("^Primary", "^Partial", "| Main  ", "NoActvty"))


class Metric:
    def __init__(self, name: str, real: bool = False, relation: bool = False, period: int = 1, formula: str = ""):
        self.name, self.real, self.relation, self.period, self.formula = name, real, relation, period, formula


class Profile:
    """Build with node() and value(), then write()."""

    def __init__(self, ids: list[tuple[int, int, int]], metrics: list[Metric], order: str = "b"):
        self.ids, self.metrics, self.order = ids, metrics, order
        self.modules: list[str] = []
        self.nodes: list[tuple[int, int, int, int, int]] = []
        self.values: dict[int, list[tuple[int, float]]] = {}
        self.trace: list[tuple[int, int]] = []
        self.attributes = {"program-name": "program", "program-path": "/bin/program"}

    def module(self, path: str) -> int:
        if path not in self.modules:
            self.modules.append(path)
        return self.modules.index(path) + 1

    def node(self, parent: int, module: int, ip: int, unwound: bool = True) -> int:
        self.nodes.append((len(self.nodes) + 1, parent, module, ip, int(unwound)))
        return len(self.nodes)

    def value(self, node: int, metric: int, value: float) -> None:
        self.values.setdefault(node, []).append((metric, value))

    # -- bytes

    def pack(self, form: str, *values: object) -> bytes:
        return struct.pack((">" if self.order == "b" else "<") + form, *values)

    def text(self, text: str) -> bytes:
        return self.pack("I", len(text.encode())) + text.encode()

    def sections(self) -> list[bytes]:
        header = b"HPCRUN-profile____04.00" + self.order.encode() + self.pack("I", len(self.attributes))
        header += b"".join(self.text(key) + self.text(value) for key, value in self.attributes.items())
        modules = self.pack("I", len(self.modules)) + b"".join(
            self.pack("H", i + 1) + self.text(path) + self.pack("Q", 0) for i, path in enumerate(self.modules))
        nodes = self.pack("Q", len(self.nodes)) + b"".join(self.pack("IIHQB", *node) for node in self.nodes)
        metrics = self.pack("I", len(self.metrics)) + b"".join(
            self.text(m.name) + self.text(m.name) + bytes([1, 1, 2 if m.real else 1, m.relation, 0, 0, 1, 1]) + bytes(8) +
            self.pack("Q", m.period) + self.text(m.formula) + self.text("") + self.pack("HHdQ", 0, 0, 0.0, 0)
            for m in self.metrics)
        names = self.pack("H", len(NAMES)) + b"".join(self.pack("H", i) + self.text(n) for i, n in enumerate(NAMES))
        pairs = [(m, v) for values in self.values.values() for m, v in values]
        values = self.pack("H", len(self.ids)) + b"".join(self.pack("HQQ", *each) for each in self.ids)
        values += self.pack("QI", len(pairs), len(self.values))
        for metric, value in pairs:
            values += self.pack("d" if self.metrics[metric].real else "Q", value) + self.pack("H", metric)
        at = 0
        for node, each in self.values.items():
            values += self.pack("IQ", node, at)
            at += len(each)
        return [header, modules, nodes, metrics, names, values + self.pack("IQ", 0x656E6421, at)]

    def bytes(self) -> bytes:
        out, footer = b"", b""
        for section in self.sections():
            footer += self.pack("QQ", len(out), len(out) + len(section))
            out += section
        return out + footer + self.pack("Q", len(out)) + self.pack("Q", 0x48504352554E736D)

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.bytes())
        if self.trace:
            head = b"HPCRUN-trace______01.01" + self.order.encode() + self.pack("Q", 0)
            path.with_suffix(".hpctrace").write_bytes(head + b"".join(self.pack("QI", *p) for p in self.trace))


def structure(path: Path, module: str, body: str, has_calls: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('<?xml version="1.0"?>\n<HPCToolkitStructure i="0" version="4.9" n="">\n'
                    f'<LM i="2" n={quoteattr(module)} has-calls="{int(has_calls)}" v="{{}}">\n{body}</LM>\n'
                    '</HPCToolkitStructure>\n')


def thread(number: int = 0, rank: int | None = None, host: int = 0x7F0101) -> list[tuple[int, int, int]]:
    ids = [(NODE | LOGICAL_GLOBAL, host, 0)]
    if rank is not None:
        ids.append((RANK | LOGICAL_ONLY, rank, rank))
    return ids + [(THREAD | LOGICAL_ONLY, number, number)]
