# SPDX-License-Identifier: Apache-2.0
"""The root of what perf recorded: a program, or the machine."""
from __future__ import annotations

import struct

import pytest

from test_import_nsys import imported, info, report
from test_import_perf import made


def root(sonde, folder, data: bytes) -> str:
    (folder / "perf.data").write_bytes(data)
    database = imported(sonde, folder, folder / "perf.data")
    name = report(sonde, database)[0]["name"]
    assert info(sonde, database)["properties"]["program"] == name
    return name


def idle(data: bytes) -> bytes:
    """The same with the first sample in a processor's idle thread."""
    data = bytearray(data)
    begin, length = struct.unpack_from("<QQ", data, 40)
    at = begin
    while struct.unpack_from("<IHH", data, at)[0] != 9:
        at += struct.unpack_from("<IHH", data, at)[2]
    data[at + 24:at + 32] = bytes(8)  # behind identifier and ip
    return bytes(data)


def command(data: bytes, *words: str) -> bytes:
    """The same with perf's command line: the 11th feature is behind the data, in a table of place and length."""
    begin, length = struct.unpack_from("<QQ", data, 40)
    body = struct.pack("<I", len(words))
    for word in words:
        text = word.encode() + b"\0"
        text += bytes(-len(text) % 64)
        body += struct.pack("<I", len(text)) + text
    bits = bytearray(32)
    bits[11 // 8] |= 1 << 11 % 8
    end = begin + length
    return data[:72] + bytes(bits) + data[104:end] + struct.pack("<QQ", end + 16, len(body)) + body


def test_a_program_is_its_root(sonde, tmp_path):
    assert root(sonde, tmp_path, command(made(), "perf", "record", "-g", "ls", "-a")) not in ("machine", "ls")


def test_an_idle_processor_is_of_no_program(sonde, tmp_path):
    assert root(sonde, tmp_path, idle(made())) == "machine"


@pytest.mark.parametrize("options", [["-a"], ["-ag"], ["-F", "99", "-a"], ["-e", "cycles", "--all-cpus"], ["-F99", "-ga"]])
def test_all_processors_were_asked_for(sonde, tmp_path, options):
    assert root(sonde, tmp_path, command(made(), "/usr/bin/perf", "record", *options, "sleep", "1")) == "machine"
