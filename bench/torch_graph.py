# SPDX-License-Identifier: Apache-2.0
"""What capturing the dataflow graph costs two training programs, an autoencoder and a CNN, on the CPU.

Runs each unprofiled, with `sonde run` as it is, with --graph, with exact operators and under torch.profiler, in
turn, and prints the median over rounds of the ratio of a step's CPU time (of the training thread; PyTorch uses
one) to the unprofiled run of the same round.

	chrt -f 20 python3 bench/torch_graph.py [--python PYTHON] [--rounds N]
"""
from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SONDE_BUILD", ROOT / "build")).resolve()
VARIANTS: dict[str, dict[str, str] | None] = {
    "unprofiled": None,
    "sonde": {},
    "sonde --graph": {"SONDE_GRAPH": "1"},
    "sonde --operators exact": {"SONDE_OPERATORS": "exact"},
    "torch.profiler": None,
}
STEPS = {"autoencoder": 60, "cnn": 12}


def training(name: str):
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    if name == "autoencoder":
        widths = [784, 256, 64, 256, 784]
        layers = [layer for a, b in zip(widths, widths[1:]) for layer in (torch.nn.Linear(a, b), torch.nn.ReLU())]
        net, x = torch.nn.Sequential(*layers), torch.rand(64, 784)
    else:
        net = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Flatten(), torch.nn.Linear(32 * 8 * 8, 10))
        x = torch.rand(16, 3, 32, 32)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        y = net(x)
        loss = ((y - x) ** 2).mean() if name == "autoencoder" else y.pow(2).mean()
        loss.backward()
        optimizer.step()

    return step


def worker(name: str, variant: str) -> None:
    step = training(name)
    for _ in range(20):
        step()
    with contextlib.ExitStack() as stack:
        if variant == "torch.profiler":
            import torch

            stack.enter_context(torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]))
        times = []
        for _ in range(5):
            start = time.thread_time_ns()
            for _ in range(STEPS[name]):
                step()
            times.append((time.thread_time_ns() - start) / STEPS[name])
    print(min(times))


def measure(python: str, name: str, variant: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ)
        settings = VARIANTS[variant]
        if settings is not None:
            environment |= {"LD_PRELOAD": str(BUILD / "src/collect/libsonde.so"), "SONDE_OUTPUT": folder, **settings}
        done = subprocess.run([python, __file__, "--worker", name, variant], env=environment, capture_output=True,
                              text=True, check=True)
    return float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--worker", nargs=2)
    arguments = parser.parse_args()
    if arguments.worker:
        worker(*arguments.worker)
        return
    for name in STEPS:
        times: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
        for _ in range(arguments.rounds):
            for variant in VARIANTS:
                times[variant].append(measure(arguments.python, name, variant))
        for variant, own in times.items():
            ratios = [a / b for a, b in zip(own, times["unprofiled"])]
            print(f"{name:12} {variant:24} {min(own) / 1e3:10.1f} us  {min(own) / min(times['unprofiled']):.3f}"
                  f"  median {statistics.median(ratios):.3f}", flush=True)


if __name__ == "__main__":
    main()
