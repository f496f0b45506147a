# SPDX-License-Identifier: Apache-2.0
"""A training whose every step lies in torch.profiler's window, and the profiler's own table of it: its operators' calls and
the mean time of one, in microseconds, and how many events it made the table of. Arguments: where the trace goes, where the table goes; "stack" records Python too."""
import json
import sys
from collections import Counter

import torch
from torch.profiler import ProfilerActivity, profile, record_function


class Block(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.wide, self.narrow = torch.nn.Linear(size, 2 * size), torch.nn.Linear(2 * size, size)
        self.norm = torch.nn.LayerNorm(size)

    def forward(self, x):
        return self.norm(x + self.narrow(torch.nn.functional.gelu(self.wide(x))))


def train():
    model = torch.nn.Sequential(*[Block(16) for _ in range(3)])
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        with record_function("step"):
            loss = model(torch.randn(8, 16)).pow(2).sum() + model(torch.randn(8, 16)).max()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    # operators that call overloads of themselves, alone and beside others
    torch.einsum("ij,jk->ik", torch.ones(4, 4), torch.ones(4, 4))
    torch.ones(3).sum(), torch.ones(3, 3).max(0), torch.std(torch.ones(5)), torch.ones(2).any()
    torch.stack([torch.ones(2)] * 3), torch.ones(3).to(torch.float64), torch.linalg.norm(torch.ones(4))


trace, table, *options = sys.argv[1:]
with profile(activities=[ProfilerActivity.CPU], with_stack="stack" in options) as profiled:
    train()
profiled.export_chrome_trace(trace)
with open(table, "w") as file:
    events = Counter(event.name() for event in profiled.profiler.kineto_results.events())
    json.dump([[row.key, row.count, row.cpu_time, events[row.key]] for row in profiled.key_averages()], file)
