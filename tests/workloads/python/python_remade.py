# SPDX-License-Identifier: Apache-2.0
"""Functions that differ in one line's number are made, called and freed in turn, and come to lie where others were.

Prints how many lay where one had been, how many fingerprints two different ones had in common, and how many fingerprints
there are of one point.
"""
import ctypes

probe = ctypes.CDLL(None)
probe.probe_fingerprint.restype = ctypes.c_uint64
probe.probe_raise.restype = ctypes.c_char_p
probe.probe_install(10)


def walked():
    return [probe.probe_raise(10) for _ in range(20)]  # a layout is proved by walks


def fingerprint_of(empty_lines):
    """Of a function that calls after so many empty lines, and the address of its code."""
    text = "def ask():" + "\n" * empty_lines + "\n global value\n value = probe.probe_fingerprint()"
    space = {"probe": probe}
    exec(compile(text, "remade.py", "exec"), space)
    space["ask"]()
    found = space["value"], id(space["ask"].__code__)
    space.clear()  # it refers to itself
    return found


walked()
kinds, places, remade = {}, set(), 0
for empty_lines in list(range(50)) * 3:
    fingerprint, place = fingerprint_of(empty_lines)
    remade += place in places
    places.add(place)
    kinds.setdefault(fingerprint, set()).add(empty_lines)
print("remade", remade, "shared", sum(len(of) > 1 for of in kinds.values()), "without", len(kinds.get(0, ())),
      "of_one_point", len({probe.probe_fingerprint() for _ in range(20)}))
