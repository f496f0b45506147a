#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a libcupti, the fake's or NVIDIA's, and prints what it answers.

    probe.py version LIBRARY       the error of cuptiGetVersion, and what it wrote
    probe.py subscribe LIBRARY     the error of cuptiSubscribe
    probe.py kinds LIBRARY         the kinds of records that it has, after cuInit
    probe.py functions LIBRARY     those of the names on standard input that it exports
    probe.py step LIBRARY FILE     kind and place of each record in the buffers of FILE (FAKE_CUPTI_DUMP)
    probe.py calls LIBRARY         domain, number and name of each call of the driver and the runtime
    probe.py lines LIBRARY CUBIN FUNCTION BYTES    offset, file and line of each instruction of a function
"""
from __future__ import annotations

import ctypes
import sys
from pathlib import Path

END, INVALID_KIND = 12, 21


def version(library: ctypes.CDLL) -> None:
    number = ctypes.c_uint32(0)
    error = library.cuptiGetVersion(ctypes.byref(number))
    print(error, number.value)


def subscribe(library: ctypes.CDLL) -> None:
    handle = ctypes.c_void_p()
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint, ctypes.c_void_p)(lambda *_: None)
    print(library.cuptiSubscribe(ctypes.byref(handle), callback, None))


def kinds(library: ctypes.CDLL) -> None:
    assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
    print(*(kind for kind in range(1, 64) if library.cuptiActivityEnable(kind) != INVALID_KIND))


def functions(library: ctypes.CDLL) -> None:
    for name in sys.stdin.read().split():
        if hasattr(library, name):
            print(name)


def step(library: ctypes.CDLL, path: str) -> None:
    data, at = Path(path).read_bytes(), 0
    while at < len(data):
        size = int.from_bytes(data[at:at + 8], "little")
        buffer = ctypes.create_string_buffer(data[at + 8:at + 8 + size], size)
        record, start = ctypes.c_void_p(), ctypes.addressof(buffer)
        while not (error := library.cuptiActivityGetNextRecord(buffer, ctypes.c_size_t(size), ctypes.byref(record))):
            print(ctypes.c_uint32.from_address(record.value).value, record.value - start)
        print("end", error == END)
        at += 8 + size


def calls(library: ctypes.CDLL) -> None:
    for domain in (1, 2):
        number, name = 0, ctypes.c_char_p()
        while not library.cuptiGetCallbackName(domain, number, ctypes.byref(name)):
            print(domain, number, name.value.decode())
            number += 1


class SassToSource(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_size_t), ("cubin", ctypes.c_void_p), ("function", ctypes.c_char_p), ("cubin_bytes", ctypes.c_size_t),
                ("line", ctypes.c_uint32), ("offset", ctypes.c_uint64), ("file", ctypes.c_char_p), ("folder", ctypes.c_char_p)]


def lines(library: ctypes.CDLL, path: str, function: str, size: str) -> None:
    data = Path(path).read_bytes()
    cubin = ctypes.create_string_buffer(data, len(data))
    for offset in range(0, int(size), 16):
        asked = SassToSource(ctypes.sizeof(SassToSource), ctypes.addressof(cubin), function.encode(), len(data), 0, offset, None, None)
        if not library.cuptiGetSassToSourceCorrelation(ctypes.byref(asked)) and asked.line:
            print(offset, f"{asked.folder.decode()}/{asked.file.decode()}:{asked.line}")


if __name__ == "__main__":
    globals()[sys.argv[1]](ctypes.CDLL(sys.argv[2]), *sys.argv[3:])
