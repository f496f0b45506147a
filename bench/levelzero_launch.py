#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What launching kernels costs the launching thread with Sonde: by Level Zero, on a device that is not there, and by SYCL, on a
processor, where SONDE_SYCL_PYTHONS names a Python with Intel's runtime (tests/python_env.sh sycl).

    bench/levelzero_launch.py [ROUNDS]

Prints CPU time in nanoseconds a launch, the least and the median of all processes. Modes run in turns, each in a process of its own,
which says the fastest of 20 rounds of launches.
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
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 9


def launch(command: "list[str | Path]", options: "list[str] | None", settings: "dict[str, str]") -> "list[float]":
    with tempfile.TemporaryDirectory() as folder:
        if options is not None:
            measured = [SONDE, "run", "-q", "--no-analyze", "-o", f"{folder}/m", *options, "--"]
            at = 2 if command[0] == FAKE else 0
            command = [*command[:at], *measured, *command[at:]]
        done = subprocess.run([str(word) for word in command], env={**os.environ, **settings}, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr.strip() or f"{command[0]} failed")
        return [float(done.stdout.split()[0])]


def compare(title: str, modes: "dict[str, tuple]") -> None:
    show(title, in_turns(modes, ROUNDS, lambda mode: launch(*modes[mode])), 44)


with tempfile.TemporaryDirectory() as made:
    program = f"{made}/levelzero"
    subprocess.run(["cc", "-O2", "-g", "-o", program, ROOT / "tests/workloads/levelzero/known.c", "-lze_loader", "-lpthread"], check=True)
    run = [FAKE, "--levelzero", program, "launch", "1000"]
    compare("Level Zero, immediate list", {
        "by itself": (run, None, {}),
        "its tracing layer, which nobody hears": (run, None, {"ZE_ENABLE_TRACING_LAYER": "1"}),
        "native paths": (run, [], {}),
        "no native paths": (run, ["--call-path", "python,operator"], {}),
    })
    pythons = os.environ.get("SONDE_SYCL_PYTHONS", "").split(":")[0]
    if pythons:
        intel = Path(pythons).absolute().parent.parent
        program = f"{made}/sycl"
        subprocess.run(["g++", "-std=c++17", "-O2", "-g", "-w", f"-I{intel}/include", f"-I{intel}/include/sycl", "-o", program,
                        ROOT / "tests/workloads/sycl/submit.cpp", f"-L{intel}/lib", "-lsycl"], check=True)
        settings = {"LD_LIBRARY_PATH": f"{intel}/lib", "OCL_ICD_FILENAMES": f"{intel}/lib/libintelocl.so",
                    "ONEAPI_DEVICE_SELECTOR": "opencl:cpu"}
        run = [program, "launch", "2000"]
        compare("SYCL over OpenCL", {
            "by itself": (run, None, settings),
            "native paths": (run, [], settings),
            "and submissions (--operators exact)": (run, ["--operators", "exact"], settings),
            "submissions, no native paths": (run, ["--operators", "exact", "--call-path", "python,operator"], settings),
        })
