# SPDX-License-Identifier: Apache-2.0
"""trace_training.py autoencoder|cnn STEPS [PROFILE]: one of two small trainings, for bench/trace_record.py.

Trains on made data on one thread, in 20 parts after some steps to warm up, and prints the seconds and the CPU seconds that STEPS steps
took, and what the CPU seconds would be had all parts been as quick as the quickest quarter of them. With a third argument the steps run
under torch.profiler, and "BYTES EVENTS" of the trace it exports are printed too.
"""
from __future__ import annotations

import json
import os
import sys
import tempfile
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # threads that wait spin, and their CPU time would count

import torch  # noqa: E402
from torch import nn  # noqa: E402

PARTS = 20


def autoencoder(batch: int = 128) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """784-128-32-128-784, as trained on MNIST."""
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 32), nn.ReLU(),
                          nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 784), nn.Sigmoid())
    x = torch.rand(batch, 784)
    return model, x, x


def cnn(batch: int = 64) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """Two convolutions and two dense layers, images of 28 x 28, as of MNIST."""
    model = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Flatten(), nn.Linear(800, 64), nn.ReLU(), nn.Linear(64, 10))
    return model, torch.rand(batch, 1, 28, 28), torch.rand(batch, 10)


def train(model: nn.Module, x: torch.Tensor, y: torch.Tensor, steps: int, optimizer: torch.optim.Optimizer) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def timed(model: nn.Module, x: torch.Tensor, y: torch.Tensor, steps: int, optimizer: torch.optim.Optimizer) -> tuple[float, float, float]:
    wall, parts = time.perf_counter(), []
    for _ in range(PARTS):
        cpu = time.process_time()
        train(model, x, y, steps // PARTS, optimizer)
        parts.append(time.process_time() - cpu)
    return time.perf_counter() - wall, sum(parts), PARTS * sorted(parts)[PARTS // 4]


def main() -> None:
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model, x, y = {"autoencoder": autoencoder, "cnn": cnn}[sys.argv[1]]()
    optimizer = torch.optim.Adam(model.parameters())
    steps = int(sys.argv[2])
    train(model, x, y, 40, optimizer)
    if len(sys.argv) < 4:
        print(*timed(model, x, y, steps, optimizer))
        return
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        seconds = timed(model, x, y, steps, optimizer)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path) as file:
            data = json.load(file)
        events = sum(event.get("ph") == "X" for event in (data if isinstance(data, list) else data["traceEvents"]))
        print(*seconds, os.path.getsize(path), events)


if __name__ == "__main__":
    main()
