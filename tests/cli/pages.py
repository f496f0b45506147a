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
