# SPDX-License-Identifier: Apache-2.0
"""What profiling costs a training loop of tiny operators (tests/workloads/train_tiny.py).

Runs the loop unprofiled, under Sonde in several settings and under torch.profiler, in turn, many short
runs each, and prints a table of the CPU time of a step: the median over rounds of each variant's ratio
to the unprofiled run of the same round. CPU time of the training thread, so that other programs on the
machine disturb little; samples and callbacks are in it.

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
    "exact, native": {"SONDE_CALL_PATH": "python,operator,native", "SONDE_OPERATORS": "exact"},
}
PROFILER = {"torch.profiler": {}, "torch.profiler with_stack": {"with_stack": True}}


def profiler(variant: str) -> contextlib.AbstractContextManager:
    if variant not in PROFILER:
        return contextlib.nullcontext()
    import torch

    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], **PROFILER[variant])


def worker(variant: str, batches: int, steps: int) -> None:
    sys.path.insert(0, str(ROOT / "tests/workloads"))
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
    """CPU microseconds of a step: the quickest of a few batches, which the fewest interrupts hit."""
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
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--steps", type=int, default=200)
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
    base = times["unprofiled"]
    rows = [{"variant": name, "step_us": round(statistics.median(of), 1),
             "ratio": round(statistics.median(t / b for t, b in zip(of, base)), 3),
             "ratio_low": round(min(t / b for t, b in zip(of, base)), 3),
             "ratio_high": round(max(t / b for t, b in zip(of, base)), 3)} for name, of in times.items()]
    if options.format == "json":
        print(json.dumps(rows))
        return
    print(f"{'variant':34} {'step, us':>9} {'ratio':>7}   (lowest, highest of {options.rounds} rounds)")
    for row in rows:
        print(f"{row['variant']:34} {row['step_us']:9.1f} {row['ratio']:7.3f}   "
              f"({row['ratio_low']:.3f}, {row['ratio_high']:.3f})")


if __name__ == "__main__":
    main()
