#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a launch of an OpenCL kernel costs with and without Sonde: bench/opencl_launch.c, interleaved.

Prints, in nanoseconds a launch, the least and the median of the launching thread's CPU time, and the
median of wall time.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from turns import in_turns, show

BUILD = Path(os.environ.get("SONDE_BUILD", Path(__file__).resolve().parents[1] / "build"))
LIBRARY = str(BUILD / "src/collect/libsonde.so")
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 9
MODES = {
    "by itself": None,
    "native paths": {},
    "no native paths": {"SONDE_CALL_PATH": "python,operator"},
    "native paths, no samples": {"SONDE_EVENTS": "cpu-time@1"},
}


def launch(mode: str, depth: int) -> "list[float]":
    settings = MODES[mode]
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ)
        if settings is not None:
            env.update(LD_PRELOAD=LIBRARY, OPENCL_LAYERS=LIBRARY, SONDE_OUTPUT=folder, **settings)
        done = subprocess.run([BUILD / "bench/opencl-launch", "50000", str(depth)], env=env,
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr.strip() or "opencl-launch failed")
        return [float(word) for word in done.stdout.split()]


for depth in (0, 30):
    show(f"{depth} functions below main", in_turns(MODES, ROUNDS, lambda mode: launch(mode, depth)))
