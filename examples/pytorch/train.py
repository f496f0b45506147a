#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small network to tell four kinds of noisy waves apart, on data made here.

It is a normal training script, and one of its lines takes far longer than it should. Find it:

	sonde run -- python3 examples/pytorch/train.py

Needs nothing but PyTorch, 1.13 or later; takes some seconds on one core.
"""
from __future__ import annotations

import argparse
import math
import random
import time

import torch
from torch import nn

KINDS = ("sine", "square", "triangle", "sawtooth")
POINTS = 128


def wave(kind: int, phase: float, frequency: float, at: float) -> float:
    turn = (at * frequency + phase) % 1.0
    if kind == 0:
        return math.sin(2 * math.pi * turn)
    if kind == 1:
        return 1.0 if turn < 0.5 else -1.0
    if kind == 2:
        return 4 * abs(turn - 0.5) - 1
    return 2 * turn - 1


class Waves(torch.utils.data.Dataset):
    """Noisy waves, made when they are asked for."""

    def __init__(self, count: int, seed: int) -> None:
        self.random = random.Random(seed)
        self.kinds = [self.random.randrange(len(KINDS)) for _ in range(count)]

    def __len__(self) -> int:
        return len(self.kinds)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        kind = self.kinds[index]
        phase, frequency = self.random.random(), self.random.uniform(1, 4)
        points = [wave(kind, phase, frequency, i / POINTS) for i in range(POINTS)]
        return augment(torch.tensor(points)), kind


def augment(points: torch.Tensor) -> torch.Tensor:
    """Adds noise, and smooths it a little so that neighbouring points have some in common."""
    noise = torch.randn(POINTS) * 0.2
    smooth = torch.zeros(POINTS)
    for i in range(POINTS):
        smooth[i] = noise[max(0, i - 2):i + 3].mean()  # one tiny operator after another, for every point
    return points + smooth


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv1d(1, 16, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(16, 32, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2))
        self.classify = nn.Sequential(
            nn.Flatten(), nn.Linear(32 * POINTS // 4, 64), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(64, len(KINDS)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classify(self.convolutions(x.unsqueeze(1)))


def train_epoch(net: Network, batches: torch.utils.data.DataLoader,
                optimizer: torch.optim.Optimizer) -> tuple[float, float]:
    total_loss, right, seen = 0.0, 0, 0
    for waves, kinds in batches:
        optimizer.zero_grad()
        scores = net(waves)
        loss = nn.functional.cross_entropy(scores, kinds)
        loss.backward()
        optimizer.step()
        total_loss += loss.item() * len(kinds)
        right += (scores.argmax(1) == kinds).sum().item()
        seen += len(kinds)
    return total_loss / seen, right / seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--waves", type=int, default=640)
    parser.add_argument("--batch", type=int, default=32)
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = Network()
    batches = torch.utils.data.DataLoader(Waves(options.waves, seed=1), options.batch, shuffle=True)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    start = time.perf_counter()
    for epoch in range(options.epochs):
        loss, accuracy = train_epoch(net, batches, optimizer)
        print(f"epoch {epoch + 1}: loss {loss:.3f}, {accuracy:.0%} right")
    print(f"trained in {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
