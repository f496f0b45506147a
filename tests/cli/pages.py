# SPDX-License-Identifier: Apache-2.0
"""What a page of HTML carries (docs/format/html.md)."""
from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from pathlib import Path


def page_payload(path: Path) -> bytes:
    found = re.search(r'id="sonde-data" data-encoding="(deflate|none)">([A-Za-z0-9+/=]*)</script>', path.read_text())
    assert found
    data = base64.b64decode(found[2])
    return zlib.decompress(data) if found[1] == "deflate" else data


def page_data(path: Path) -> dict:
    """The header of the page's data."""
    payload = page_payload(path)
    magic, major, _, length = struct.unpack_from("<8sHHI", payload)
    assert (magic, major) == (b"SONDEHTM", 1)
    return json.loads(payload[16:16 + length])


def page_columns(path: Path) -> dict[str, list]:
    """The page's columns of whole numbers, and its strings as `string`."""
    payload = page_payload(path)
    (length,) = struct.unpack_from("<I", payload, 12)
    data = payload[(16 + length + 7) // 8 * 8:]
    columns: dict[str, list] = {}
    for name, (kind, offset, size, _) in page_data(path)["columns"].items():
        part = data[offset:offset + size]
        if kind == "varint":
            columns[name] = varints(part)
        elif kind == "u8":
            columns[name] = list(part)
    text, ends = bytes(columns["string.bytes"]), [0]
    for length in columns["string.length"]:
        ends.append(ends[-1] + length)
    columns["string"] = [text[begin:end].decode() for begin, end in zip(ends, ends[1:])]
    return columns


def varints(data: bytes) -> list[int]:
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    return values
