# SPDX-License-Identifier: Apache-2.0
"""Trains a small transformer on the first GPU, then replays a captured forward pass."""
import sys

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.first(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.feed(self.second(x))


def train(model: nn.Module, head: nn.Module, steps: int) -> None:
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=1e-3)
    for _ in range(steps):
        x = torch.randn(4, 64, 128, device="cuda")
        loss = head(model(x)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()


def replay(model: nn.Module, times: int) -> None:
    x = torch.zeros(4, 64, 128, device="cuda")
    with torch.no_grad():
        for _ in range(3):
            model(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(x)
        for _ in range(times):
            graph.replay()
    torch.cuda.synchronize()


if __name__ == "__main__":
    network = nn.Sequential(*(Block(128) for _ in range(2))).cuda()
    train(network, nn.Linear(128, 10).cuda(), int(sys.argv[1]))
    replay(network.eval(), int(sys.argv[2]))
    print("done", torch.cuda.get_device_name(0))
