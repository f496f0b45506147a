# SPDX-License-Identifier: Apache-2.0
"""What profiling costs a training loop of tiny operators (tests/workloads/torch/train_tiny.py).

Runs the loop unprofiled, under Sonde in several settings and under torch.profiler, in turn, many short
runs each, and prints a table of the CPU time of a step: of the quickest batch of all, which the least
disturbed, and beside it the median over rounds of the ratio to the unprofiled run of the same round. CPU
time of the training thread; samples and callbacks are in it.

	python3 bench/torch_tiny.py [--python PYTHON] [--rounds N] [--format text|json] [VARIANT...]
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SONDE_BUILD", ROOT / "build"))

SONDE = {
    "python,operator": {"SONDE_CALL_PATH": "python,operator"},
    "python,operator,native": {"SONDE_CALL_PATH": "python,operator,native"},
    "python,operator at 1 kHz": {"SONDE_CALL_PATH": "python,operator", "SONDE_EVENTS": "cpu-time@997"},
    "python,operator,native at 1 kHz": {"SONDE_CALL_PATH": "python,operator,native",
                                        "SONDE_EVENTS": "cpu-time@997"},
    "operators off": {"SONDE_OPERATORS": "off"},
    "memory": {"SONDE_CALL_PATH": "python,operator", "SONDE_MEMORY": "1"},
    "memory, native": {"SONDE_CALL_PATH": "python,operator,native", "SONDE_MEMORY": "1"},
    "exact": {"SONDE_CALL_PATH": "python,operator", "SONDE_OPERATORS": "exact"},
    "graph": {"SONDE_CALL_PATH": "python,operator", "SONDE_GRAPH": "1"},
    "exact, native": {"SONDE_CALL_PATH": "python,operator,native", "SONDE_OPERATORS": "exact"},
}
PROFILER = {"torch.profiler": {}, "torch.profiler with_stack": {"with_stack": True}}


def profiler(variant: str) -> contextlib.AbstractContextManager:
    if variant not in PROFILER:
        return contextlib.nullcontext()
    import torch

    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], **PROFILER[variant])


def worker(variant: str, batches: int, steps: int) -> None:
    sys.path.insert(0, str(ROOT / "tests/workloads/torch"))
    import train_tiny

    training = train_tiny.Training()
    training.run(100)
    with profiler(variant):
        training.run(20)
        times = []
        for _ in range(batches):
            start = time.thread_time_ns()
            training.run(steps)
            times.append((time.thread_time_ns() - start) / steps / 1000)
    print(json.dumps(min(times)))


def measure(python: str, variant: str, batches: int, steps: int) -> float:
    """CPU microseconds of a step in the quickest of a few batches."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ)
        if variant in SONDE:
            environment |= {"LD_PRELOAD": str(BUILD / "src/collect/libsonde.so"), "SONDE_OUTPUT": folder}
            environment |= SONDE[variant]
        done = subprocess.run([python, __file__, "--worker", variant, "--batches", str(batches),
                               "--steps", str(steps)],
                              env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("variants", nargs="*", help="of: " + "; ".join([*SONDE, *PROFILER]))
    options = parser.parse_args()
    if options.worker:
        return worker(options.worker, options.batches, options.steps)
    variants = options.variants or [*SONDE, *PROFILER]
    times: dict[str, list[float]] = {name: [] for name in ["unprofiled", *variants]}
    for _ in range(options.rounds):
        for name in times:
            times[name].append(measure(options.python, name, options.batches, options.steps))
    rows = [row(name, of, times["unprofiled"]) for name, of in times.items()]
    if options.format == "json":
        print(json.dumps(rows))
        return
    print(f"{'variant':34} {'step, us':>9} {'ratio':>7}   median of {options.rounds} rounds")
    for of in rows:
        print(f"{of['variant']:34} {of['step_us']:9.1f} {of['ratio']:7.3f}   {of['median_ratio']:.3f}")


def row(name: str, of: list[float], base: list[float]) -> dict:
    return {"variant": name, "step_us": round(min(of), 1), "ratio": round(min(of) / min(base), 3),
            "median_ratio": round(statistics.median(t / b for t, b in zip(of, base)), 3)}


if __name__ == "__main__":
    main()
