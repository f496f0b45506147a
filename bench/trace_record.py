#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording with `sonde run --trace` costs two trainings, on PyTorch (CPU) and on OpenCL, beside torch.profiler.

    [chrt -f 20] bench/trace_record.py [ROUNDS] [PYTHON] [pytorch|opencl]...

In each round every variant runs once. The program measures the CPU time of its steps of training alone, in 20 parts, and counts what
they would take were all as quick as the quickest quarter of the parts: others who use the machine, and its caches, disturb that least.
Printed is the median over the rounds of its ratio to that of the program by itself in the same round, less one, in percent, and the
quartiles; the ratio of the medians, and of the least, of all rounds; the same median for all CPU time; then, for what is recorded, events
and bytes of an event as recorded and as stored in the database.

"Nodes" are the operators that the program calls itself and autograd nodes, as in a dataflow graph; all operators are also those inside.
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
PYTHON = sys.argv[2] if len(sys.argv) > 2 else sys.executable
WHAT = sys.argv[3:] or ["pytorch", "opencl"]
PAGE, CHUNK = 4096, 65536

STEPS = {("pytorch", "autoencoder"): 400, ("pytorch", "cnn"): 120, ("opencl", "autoencoder"): 100, ("opencl", "cnn"): 100}
NODES = ["--operators", "nodes"]
UNSAMPLED = ["-e", "none"]
SONDES = {
    "pytorch": {"samples, no trace": [], "dataflow (nodes)": [*UNSAMPLED, *NODES, "--trace=operators"],
                "all operators": [*UNSAMPLED, "--trace=operators"], "graph": [*UNSAMPLED, "--graph"],
                "all user": [*UNSAMPLED, *NODES, "--trace"], "all user, and samples": [*NODES, "--trace"],
                "all user and kernel": [*UNSAMPLED, *NODES, "--trace", "--os"]},
    "opencl": {"samples, no trace": [], "API": [*UNSAMPLED, "--trace=api"], "GPU events": [*UNSAMPLED, "--trace=gpu"],
               "all user": [*UNSAMPLED, "--trace"], "all user, and samples": ["--trace"], "all user and kernel": [*UNSAMPLED, "--trace", "--os"]},
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


def measured(options: list[str], command: list[str], with_sizes: bool) -> tuple[list[float], str]:
    with tempfile.TemporaryDirectory() as folder:
        name = Path(folder) / "m"
        times = run([str(SONDE), "run", "-q", "--no-analyze", "-o", str(name), *options, "--", *command])
        if not with_sizes or not any(option.startswith("--trace") for option in options) or "--os" in options:
            return times, ""
        subprocess.run([SONDE, "analyze", f"{name}.sonde", "-o", f"{name}.sdb"], check=True, capture_output=True)
        events, size = recorded(Path(f"{name}.sonde"))
        in_database, database_size = stored(Path(f"{name}.sdb"))
        return times, (f"{events:8} events, {size / max(events, 1):5.2f} bytes recorded, "
                       f"{database_size / max(in_database, 1):5.2f} stored")


def percent(value: float, base: float) -> float:
    return 100 * (value / base - 1)


def line(name: str, times: list[list[float]], own: list[list[float]], note: str) -> str:
    of, base = [value[2] for value in times], [value[2] for value in own]
    ratios = [percent(a, b) for a, b in zip(of, base)]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    whole = statistics.median(percent(a[1], b[1]) for a, b in zip(times, own))
    return (f"  {name:24} {middle:+6.1f} %  ({low:+.1f} to {high:+.1f})  of medians {percent(statistics.median(of), statistics.median(base)):+6.1f} %  "
            f"least {percent(min(of), min(base)):+6.1f} %  all CPU time {whole:+6.1f} %  {note}")


def main() -> None:
    for kind in WHAT:
        for model in ("autoencoder", "cnn"):
            command, variants = program(kind, model), SONDES[kind]
            times: dict[str, list[list[float]]] = {name: [] for name in variants}
            own, profiled, notes = [], [], dict.fromkeys(variants, "")
            for number in range(ROUNDS):
                own.append(run(command))
                for name, options in variants.items():
                    one, note = measured(options, command, number == 0)
                    times[name].append(one)
                    notes[name] = notes[name] or note
                if kind == "pytorch":
                    *one, size, events = run([*command, "profile"])
                    profiled.append(one)
                    notes["torch.profiler"] = f"{events:8.0f} events, {size / events:5.0f} bytes of JSON each"
            step = statistics.median(value[2] for value in own) / STEPS[kind, model] * 1e3
            print(f"{kind}, {model}: {step:.2f} ms of CPU time a step, {ROUNDS} rounds")
            for name in variants:
                print(line(name, times[name], own, notes[name]))
            if profiled:
                print(line("torch.profiler", profiled, own, notes["torch.profiler"]), flush=True)


main()
