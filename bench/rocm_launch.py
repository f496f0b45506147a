#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What launching kernels by HIP costs the host with Sonde, on devices that are not there (tests/fake/run.sh --rocm).

    bench/rocm_launch.py [ROUNDS]

Nanoseconds a launch of a loop of launches (rocm_launch.hip), as cuda_launch.py prints it: by itself; with a tool of the fake
rocprofiler-sdk that only counts what it hears and gets, which is the fake's own part; with Sonde; and with Sonde where there is
no rocprofiler-sdk. Modes run in turns, each in a process of its own.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from turns import in_turns, show

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SONDE_BUILD", ROOT / "build")).resolve()
FAKE, SONDE = ROOT / "tests/fake/run.sh", BUILD / "src/cmd/sonde"
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
MODES = {
    "by itself": ("none", None, False),
    "a tool that counts": ("none", None, True),
    "native paths": ("none", [], False),
    "no native paths": ("none", ["--call-path", "python,operator"], False),
    "native paths, no SDK": ("no-sdk", [], False),
}


def run(mode: str, tool: Path, *command: str) -> "list[float]":
    fail, options, has_tool = MODES[mode]
    environment = {**os.environ, **({"ROCP_TOOL_LIBRARIES": str(tool)} if has_tool else {})}
    with tempfile.TemporaryDirectory() as folder:
        sonde = [] if options is None else [SONDE, "run", "-q", "--no-analyze", "-o", f"{folder}/m", *options, "--"]
        done = subprocess.run([str(part) for part in (FAKE, "--rocm", "--fail", fail, *sonde, *command)], capture_output=True,
                              text=True, env=environment)
    if done.returncode:
        sys.exit(done.stderr.strip() or f"{command[0]} failed")
    return [float(word) for word in done.stdout.split()[:2]]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program, tool = Path(folder) / "launch", Path(folder) / "libtool.so"
        subprocess.run([FAKE, "--rocm", "hipcc", ROOT / "bench/rocm_launch.hip", program, "-g", "-O2"], check=True)
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", ROOT / "tests/workloads/rocm/tool.c", "-o", tool], check=True)
        for depth in (0, 30):
            show(f"{depth} functions below main", in_turns(MODES, ROUNDS, lambda mode: run(mode, tool, program, "50000", str(depth))))


if __name__ == "__main__":
    main()
