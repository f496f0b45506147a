# SPDX-License-Identifier: Apache-2.0
"""Writes XPlane files and the programs of XLA in them, field by field, for tests that know what is in them."""
from __future__ import annotations

import struct


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number: int, value: int | float | str | bytes) -> bytes:
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def hlo_instruction(name, opcode, number, operands=(), called=(), path="", file="", line=0, frame=0, elements=()) -> bytes:
    metadata = (field(2, path) if path else b"") + (field(3, file) if file else b"") + \
        (field(4, line) if line else b"") + (field(15, frame) if frame else b"")
    shape = field(2, 11) + (field(3, b"".join(varint(size) for size in elements)) if elements else b"")
    return field(1, name) + field(2, opcode) + field(3, shape) + (field(7, metadata) if metadata else b"") + \
        field(35, number) + (field(36, b"".join(map(varint, operands))) if operands else b"") + \
        b"".join(field(38, number) for number in called)


def hlo_computation(name, number, root, instructions) -> bytes:
    return field(1, name) + b"".join(field(2, each) for each in instructions) + field(5, number) + field(6, root)


def hlo_proto(name, number, entry, computations, frames: bytes = b"") -> bytes:
    return field(1, field(1, name) + field(2, "main") + b"".join(field(3, each) for each in computations) +
                 field(5, number) + field(6, entry) + (field(17, frames) if frames else b""))


class Plane:
    """Events are (name, offset_ps, duration_ps, {stat: value}); values that are ("ref", text) are references."""

    def __init__(self, number: int, name: str) -> None:
        self.head = field(1, number) + field(2, name)
        self.lines = self.own_stats = b""
        self.kinds: dict[str, tuple[int, bytes]] = {}
        self.names: dict[str, int] = {}

    def name(self, text: str) -> int:
        return self.names.setdefault(text, len(self.names) + 1)

    def stat(self, name: str, value) -> bytes:
        number = field(1, self.name(name))
        if isinstance(value, tuple):
            return number + field(7, self.name(value[1]))
        kind = {float: 2, int: 4, str: 5, bytes: 6}[type(value)]
        return number + field(kind, value)

    def own(self, **stats) -> Plane:
        self.own_stats += b"".join(field(6, self.stat(name, value)) for name, value in stats.items())
        return self

    def kind(self, name: str, display: str = "", stats: dict | None = None) -> int:
        if name not in self.kinds:
            number = len(self.kinds) + 1
            parts = field(1, number) + field(2, name) + (field(4, display) if display else b"") + \
                b"".join(field(5, self.stat(key, value)) for key, value in (stats or {}).items())
            self.kinds[name] = (number, field(1, number) + field(2, parts))
        return self.kinds[name][0]

    def line(self, number: int, name: str, start_ns: int, events) -> Plane:
        body = field(1, number) + field(2, name) + field(3, start_ns)
        for kind, offset, duration, stats in events:
            body += field(4, field(1, self.kind(kind)) + field(2, offset) + field(3, duration) +
                          b"".join(field(4, self.stat(key, value)) for key, value in stats.items()))
        self.lines += field(3, body)
        return self

    def bytes(self) -> bytes:
        return field(1, self.head + self.lines + b"".join(field(4, entry) for _, entry in self.kinds.values()) +
                     b"".join(field(5, field(1, number) + field(2, field(1, number) + field(2, text)))
                              for text, number in self.names.items()) + self.own_stats)
