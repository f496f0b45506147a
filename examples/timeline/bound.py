# SPDX-License-Identifier: Apache-2.0
"""A model that one operator binds: a wide convolution at full size, whose result a maximum over 4x4 then throws
away for the most part. `bound.py --strided` has one convolution with a stride of 4 instead of the two.

    sonde run --trace --graph -- python3 bound.py && sonde graph bound.sdb
"""
import sys

import torch
from torch import nn

STEPS = 12


class Net(nn.Module):
    def __init__(self, strided: bool) -> None:
        super().__init__()
        if strided:
            self.wide = nn.Sequential(nn.Conv2d(3, 32, 7, stride=4, padding=3))
        else:
            self.wide = nn.Sequential(nn.Conv2d(3, 32, 7, padding=3), nn.MaxPool2d(4))
        self.narrow = nn.Conv2d(32, 64, 3, stride=2, padding=1)
        self.classify = nn.Linear(64 * 12 * 12, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.narrow(torch.relu(self.wide(x))))
        return self.classify(x.flatten(1))


def main() -> None:
    torch.manual_seed(1)
    net = Net("--strided" in sys.argv)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    images, labels = torch.randn(8, 3, 96, 96), torch.randint(10, (8,))
    for _ in range(STEPS):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(images), labels).backward()
        optimizer.step()


main()
