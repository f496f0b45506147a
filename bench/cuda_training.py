# SPDX-License-Identifier: Apache-2.0
"""Milliseconds of each of 20 training steps of a small transformer (some 1,500 launches), after 5 that are not counted.
With the argument "profiler" torch.profiler records them."""
import contextlib
import sys
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

model = nn.Sequential(*(nn.TransformerEncoderLayer(128, 4, 512, batch_first=True, dropout=0) for _ in range(12))).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, foreach=False)


def step() -> float:
    start = time.perf_counter()
    loss = model(torch.randn(4, 64, 128, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.cuda.synchronize()
    return 1000 * (time.perf_counter() - start)


for _ in range(5):
    step()
is_profiled = sys.argv[1:] == ["profiler"]
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) if is_profiled else contextlib.nullcontext():
    print(*(f"{step():.3f}" for _ in range(20)))
