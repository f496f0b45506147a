#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording with `sonde run --trace` costs two trainings, on PyTorch (CPU) and on OpenCL, beside torch.profiler.

    [chrt -f 20] bench/trace_record.py [ROUNDS] [PYTHON] [pytorch|opencl]...

In each round every variant runs once, and its CPU time is divided by that of the program by itself in the same
round: printed are the median of these ratios less one, in percent, and their quartiles; the median for wall time,
which other users of the machine disturb more; the ratio of the least CPU times of all rounds, which they disturb
least; then events, bytes of an
event as recorded and as stored in the database. Only the steps of training are timed, by the program itself.
"""
from __future__ import annotations

import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SONDE_BUILD", ROOT / "build"))
SONDE = BUILD / "src/cmd/sonde"
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 7
PYTHON = sys.argv[2] if len(sys.argv) > 2 else "python3"
WHAT = sys.argv[3:] or ["pytorch", "opencl"]
PAGE, CHUNK = 4096, 65536

STEPS = {("pytorch", "autoencoder"): 200, ("pytorch", "cnn"): 60, ("opencl", "autoencoder"): 100, ("opencl", "cnn"): 100}
SONDES = {
    "pytorch": {"profile, no trace": [], "samples": ["--trace=samples"], "dataflow (operators)": ["--trace=operators"],
                "memory": ["--trace=memory"], "all user": ["--trace=samples,operators,regions,memory"],
                "all user, no native paths": ["--trace=samples,operators,regions,memory", "--call-path", "python,operator"],
                "all user and kernel": ["--trace=samples,operators,regions,memory", "--os"]},
    "opencl": {"profile, no trace": [], "API": ["--trace=api"], "GPU events": ["--trace=gpu"],
               "all user": ["--trace"], "all user and kernel": ["--trace", "--os"]},
}


def program(kind: str, model: str) -> list[str]:
    steps = str(STEPS[kind, model])
    if kind == "pytorch":
        return [PYTHON, str(ROOT / "bench/trace_training.py"), model, steps]
    return [str(BUILD / "bench/trace-opencl"), model, steps]


def run(command: list[str]) -> list[float]:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip() or f"{command} failed")
    return [float(word) for word in done.stdout.split()]


def recorded(folder: Path) -> tuple[int, int]:
    """Events and their bytes in the trace files of processes that were measured."""
    events = size = 0
    for trace in folder.glob("*.sonde-trace"):
        if not trace.with_suffix(".sonde-process").exists():
            continue
        data = trace.read_bytes()
        for at in range(PAGE, len(data) - 64, CHUNK):
            sequence, _, used, count, stream, _ = struct.unpack_from("<QQIIII", data, at)
            if sequence and stream != 0xffffffff:
                events, size = events + count, size + used
    return events, size


def stored(database: Path) -> tuple[int, int]:
    """Events of a database and the bytes of its sections of them (docs/format/database.md: types 22 to 26)."""
    data = database.read_bytes()
    count, table = struct.unpack_from("<IQ", data, 12)
    size = 0
    for i in range(count):
        kind, _, _, _, _, _, length = struct.unpack_from("<IHHIIQQ", data, table + 40 * i)
        size += length if 22 <= kind <= 26 else 0
    done = subprocess.run([SONDE, "info", "--format", "json", database], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["events"], size


def measured(options: list[str], command: list[str]) -> tuple[float, float, str]:
    with tempfile.TemporaryDirectory() as folder:
        name = Path(folder) / "m"
        wall, cpu = run([str(SONDE), "run", "-q", "--no-analyze", "-o", str(name), *options, "--", *command])
        if not any(option.startswith("--trace") for option in options) or "--os" in options:
            return wall, cpu, ""
        subprocess.run([SONDE, "analyze", f"{name}.sonde", "-o", f"{name}.sdb"], check=True, capture_output=True)
        events, size = recorded(Path(f"{name}.sonde"))
        in_database, database_size = stored(Path(f"{name}.sdb"))
        return wall, cpu, (f"{events:8} events, {size / max(events, 1):5.2f} bytes recorded, "
                         f"{database_size / max(in_database, 1):5.2f} stored")


for kind in WHAT:
    for model in ("autoencoder", "cnn"):
        command = program(kind, model)
        variants = SONDES[kind]
        ratios: dict[str, list[float]] = {}
        notes: dict[str, str] = {}
        own = []
        for _ in range(ROUNDS):
            own.append(run(command))
            for variant, options in variants.items():
                wall, cpu, notes[variant] = measured(options, command)
                ratios.setdefault(variant, []).append((cpu / own[-1][1], wall / own[-1][0], cpu))
            if kind == "pytorch":
                wall, cpu, size, events = run([*command, "profile"])
                ratios.setdefault("torch.profiler", []).append((cpu / own[-1][1], wall / own[-1][0], cpu))
                notes["torch.profiler"] = f"{events:8.0f} events, {size / events:5.0f} bytes of JSON each"
        print(f"{kind}, {model}: {statistics.median(cpu for _, cpu in own) / STEPS[kind, model] * 1e3:.2f} ms of CPU time a step, {ROUNDS} rounds")
        for variant, values in ratios.items():
            percent, wall = ([100 * (value[i] - 1) for value in values] for i in (0, 1))
            quartiles = statistics.quantiles(percent, n=4, method="inclusive") if ROUNDS > 1 else [percent[0]] * 3
            print(f"  {variant:28} {quartiles[1]:+6.1f} %  ({quartiles[0]:+.1f} to {quartiles[2]:+.1f})  "
                  f"wall {statistics.median(wall):+6.1f} %  least "
                  f"{100 * (min(value[2] for value in values) / min(cpu for _, cpu in own) - 1):+6.1f} %  {notes[variant]}", flush=True)
