# SPDX-License-Identifier: Apache-2.0
"""A training loop of tiny operators: three small layers, some 142 operators a step, one thread.

Its operators are so small that what is measured is almost only the cost of calling them, which is the
hardest case for a profiler. `python3 train_tiny.py [STEPS]` trains and prints the last loss;
bench/torch_tiny.py imports it and times it.
"""
from __future__ import annotations

import sys

import torch


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.second = torch.nn.Linear(8, 8)
        self.last = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        x = torch.tanh(self.second(x)) * x
        return self.last(x)


class Training:
    def __init__(self) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.net = Net()
        # one operator after another, not the fused update of a list of tensors
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01, momentum=0.9, foreach=False)
        self.loss = torch.nn.CrossEntropyLoss()
        self.x = torch.randn(4, 8)
        self.y = torch.randint(0, 4, (4,))

    def step(self) -> torch.Tensor:
        self.optimizer.zero_grad()
        loss = self.loss(self.net(self.x), self.y)
        loss.backward()
        self.optimizer.step()
        return loss

    def run(self, steps: int) -> torch.Tensor:
        for _ in range(steps):
            loss = self.step()
        return loss


if __name__ == "__main__":
    print(f"loss {Training().run(int(sys.argv[1]) if len(sys.argv) > 1 else 1000).item():.6f}")
