# SPDX-License-Identifier: Apache-2.0
"""Milliseconds of each of 100 training steps of a small transformer (1,013 kernels), after 5 that are not counted: of time, and of the
process's CPU time.
With the argument "profiler" torch.profiler records them, with "afterwards" it recorded those that are not counted; with "stop" Sonde measured those."""
import contextlib
import os
import sys
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

model = nn.Sequential(*(nn.TransformerEncoderLayer(128, 4, 512, batch_first=True, dropout=0) for _ in range(12))).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, foreach=False)


def step() -> str:
    start, start_cpu = time.perf_counter(), time.process_time()
    loss = model(torch.randn(4, 64, 128, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.cuda.synchronize()
    return f"{1000 * (time.perf_counter() - start):.3f} {1000 * (time.process_time() - start_cpu):.3f}"


def recording(when: str):
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    return profile(activities=activities) if sys.argv[1:] == [when] else contextlib.nullcontext()


with recording("afterwards"):
    for _ in range(5):
        step()
if sys.argv[1:] == ["stop"]:
    sys.path.append(os.path.join(os.path.dirname(__file__), "../python"))
    import sonde

    sonde.stop()
with recording("profiler"):
    print(*(step() for _ in range(100)))
