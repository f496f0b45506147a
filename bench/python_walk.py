#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one warm walk of a thread's Python frames costs, for each interpreter at hand.

Builds the adapter into a preloaded probe and times sn_python_walk in a thread whose Python stack is
10 and 100 deep. Prints a table. Usage: bench/python_walk.py [INTERPRETER...]
"""
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cli"))

PROGRAM = """
import ctypes, sys
p = ctypes.CDLL(None)
p.probe_time.restype = ctypes.c_double
count = ctypes.c_int()
def deep(n):
    if n > 1:
        return deep(n - 1)
    print(p.probe_time(int(2e6 // depth), ctypes.byref(count)), count.value)
depth = int(sys.argv[1])
deep(depth - 1)
"""


def measure(probe, python, depth):
    """Median over runs of nanoseconds for one frame."""
    environment = dict(os.environ, LD_PRELOAD=str(probe))
    results = []
    for _ in range(7):
        out = subprocess.run([python, "-c", PROGRAM, str(depth)], capture_output=True, text=True,
                             env=environment, check=True).stdout.split()
        assert int(out[1]) == depth
        results.append(float(out[0]) / depth)
    return statistics.median(results), min(results), max(results)


def main():
    import test_python_walk
    pythons = sys.argv[1:] or test_python_walk.SUPPORTED
    with tempfile.TemporaryDirectory() as folder:
        probe = test_python_walk.build_probe(Path(folder) / "probe.so")
        print("| interpreter | 10 frames, ns a frame (least to most) | 100 frames |")
        print("|---|---|---|")
        for python in pythons:
            version = subprocess.run([python, "-c", "import sys; print(sys.version.split()[0])"],
                                     capture_output=True, text=True).stdout.strip()
            cells = ["%.1f (%.1f-%.1f)" % measure(probe, python, depth) for depth in (10, 100)]
            print("| CPython %s | %s | %s |" % (version, *cells), flush=True)


main()
