# SPDX-License-Identifier: Apache-2.0
"""A model whose work is done by two threads of OpenMP; the lines that cause it are marked."""
import sys

import torch

torch.set_num_threads(2)
# element-wise operators are split by PyTorch itself, whatever the library of linear algebra does
rounds = int(sys.argv[1])
x = torch.randn(1 << 20)
w = torch.randn(1 << 20, requires_grad=True)


def forward():
    return torch.tanh(x * w).erf().sum()  # FORWARD


def step():
    loss = forward()
    loss.backward()  # BACKWARD


for _ in range(rounds):
    step()
