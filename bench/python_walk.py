#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one warm walk of a thread's Python frames costs, and one fingerprint of them, for each interpreter at hand.

Builds the adapter into a preloaded probe and times sn_python_walk and sn_python_fingerprint in a thread whose Python
stack is 10 and 100 deep. Prints a table. Usage: bench/python_walk.py [INTERPRETER...]
"""
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cli/collect"))

PROGRAM = """
import ctypes, sys
p = ctypes.CDLL(None)
p.probe_time.restype = p.probe_fingerprint_time.restype = ctypes.c_double
count = ctypes.c_int()
def deep(n):
    if n > 1:
        return deep(n - 1)
    rounds = int(2e6 // depth)
    print(p.probe_time(rounds, ctypes.byref(count)), p.probe_fingerprint_time(rounds), count.value)
depth = int(sys.argv[1])
deep(depth - 1)
"""


def measure(probe, python, depth):
    """Nanoseconds for one frame, of a walk and of a fingerprint: each the median, the least and the most of the runs."""
    environment = dict(os.environ, LD_PRELOAD=str(probe))
    runs = []
    for _ in range(7):
        out = subprocess.run([python, "-c", PROGRAM, str(depth)], capture_output=True, text=True,
                             env=environment, check=True).stdout.split()
        assert int(out[2]) == depth
        runs.append([float(ns) / depth for ns in out[:2]])
    return [(statistics.median(of), min(of), max(of)) for of in zip(*runs)]


def main():
    import test_python_walk
    pythons = sys.argv[1:] or test_python_walk.SUPPORTED
    with tempfile.TemporaryDirectory() as folder:
        probe = test_python_walk.build_probe(Path(folder) / "probe.so")
        print("| interpreter | walk of 10 frames, ns a frame (least to most) | fingerprint | walk of 100 | fingerprint |")
        print("|---|---|---|---|---|")
        for python in pythons:
            version = subprocess.run([python, "-c", "import sys; print(sys.version.split()[0])"],
                                     capture_output=True, text=True).stdout.strip()
            cells = ["%.1f (%.1f-%.1f)" % of for depth in (10, 100) for of in measure(probe, python, depth)]
            print("| CPython", version, "|", " | ".join(cells), "|", flush=True)


main()
