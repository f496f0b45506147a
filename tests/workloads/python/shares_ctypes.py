# SPDX-License-Identifier: Apache-2.0
"""Calls the functions of shares.c, as a library, from Python."""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
for name in ("left", "right"):
    getattr(library, name).argtypes = [ctypes.c_ulong]
    getattr(library, name).restype = ctypes.c_ulong


def call_library():
    seed = 1
    for _ in range(3000):
        seed = library.left(seed)
        seed = library.right(seed)
    return seed


call_library()
