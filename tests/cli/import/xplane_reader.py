# SPDX-License-Identifier: Apache-2.0
"""
XPlane files read straight from their bytes, with as little as that takes: what an import is compared with.
Deliberately slow and simple: nothing of it is shared with the importer.
"""

import gzip
import struct


def fields(data):
    """(number, value) for each field; bytes of those with a length, bits of the others."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value & (1 << 64) - 1

    while at < len(data):
        tag = varint()
        wire = tag & 7
        if wire == 0:
            value = varint()
        elif wire == 1:
            value = struct.unpack_from("<d", data, at)[0]
            at += 8
        elif wire == 5:
            value = struct.unpack_from("<f", data, at)[0]
            at += 4
        else:
            length = varint()
            value = bytes(data[at : at + length])
            at += length
        yield tag >> 3, value


def message(data):
    """{number: [values]}"""
    found = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def first(parts, number, default=0):
    return parts[number][-1] if number in parts else default


def text(parts, number):
    return first(parts, number, b"").decode("utf-8", "replace")


def stat(data, names):
    """(name, value); a reference is the name it refers to."""
    parts = message(data)
    name = names.get(first(parts, 1), "")
    for number, convert in ((2, float), (3, int), (4, signed), (5, bytes.decode), (6, bytes),
                            (7, lambda at: names.get(at, ""))):
        if number in parts:
            return name, convert(parts[number][-1])
    return name, None


def planes(path):
    """
    The planes of a file: {"name", "stats", "lines": [{"id", "name", "start_ns", "events": [{"name", "display",
    "offset_ps", "duration_ps", "occurrences", "stats", "of_name": stats of its metadata}]}]}
    """
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return [plane(each) for each in message(data).get(1, [])]


def plane(data):
    parts = message(data)
    names = {}
    for entry in parts.get(5, []):
        pair = message(entry)
        names[first(pair, 1)] = text(message(first(pair, 2, b"")), 2)
    kinds = {}
    for entry in parts.get(4, []):
        pair = message(entry)
        kind = message(first(pair, 2, b""))
        kinds[first(pair, 1)] = {"name": text(kind, 2), "display": text(kind, 4),
                                 "stats": [stat(each, names) for each in kind.get(5, [])]}
    lines = []
    for line in parts.get(3, []):
        line = message(line)
        events = []
        for event in line.get(4, []):
            event = message(event)
            kind = kinds.get(first(event, 1), {"name": "", "display": "", "stats": []})
            events.append({"name": kind["name"], "display": kind["display"],
                           "offset_ps": signed(first(event, 2)), "duration_ps": signed(first(event, 3)),
                           "occurrences": first(event, 5, None), "of_name": kind["stats"],
                           "stats": [stat(each, names) for each in event.get(4, [])]})
        lines.append({"id": signed(first(line, 1)), "display_id": signed(first(line, 10)), "name": text(line, 2),
                      "display": text(line, 11), "start_ns": signed(first(line, 3)), "events": events})
    return {"id": signed(first(parts, 1)), "name": text(parts, 2), "lines": lines, "kinds": kinds,
            "stats": [stat(each, names) for each in parts.get(6, [])]}
