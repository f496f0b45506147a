# SPDX-License-Identifier: Apache-2.0
"""Uses torch.profiler itself and prints what that has seen: kernels with their counts and times, and how many it tied to operators.

profiled.py [SESSIONS] [before]: with "before" the profiler begins before CUDA is initialised."""
import sys
from collections import Counter

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile


def work(times: int) -> None:
    x = torch.ones(256, 256, device="cuda")
    for _ in range(times):
        x = torch.relu(x @ x) + 1
    torch.cuda.synchronize()


def session(number: int) -> None:
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        work(4 + number)
    counts: Counter[str] = Counter()
    times: Counter[str] = Counter()
    for event in profiler.events():
        if event.device_type == DeviceType.CUDA:
            counts[event.name] += 1
            times[event.name] += round(event.device_time * 1000)
    placed = sum(len(event.kernels) for event in profiler.events())
    for name in sorted(counts):
        print(f"{number} {counts[name]} {times[name]} {name}")
    print(f"{number} placed {placed}")


if __name__ == "__main__":
    sessions = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    if "before" in sys.argv:
        torch.cuda.is_available = lambda: True
    else:
        work(10)
    for index in range(sessions):
        session(index)
        work(3)
    print("done")
