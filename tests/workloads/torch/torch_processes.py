# SPDX-License-Identifier: Apache-2.0
"""PyTorch in several processes with known work: `torch_processes.py CASE`.

ddp-spawn	two ranks by torch.multiprocessing.spawn, trained with DistributedDataParallel over gloo
ddp		one rank, as torchrun starts it
loader-fork, loader-spawn
		a DataLoader with two workers: forked anew for each epoch; spawned once and kept

Each process may write how often its operators ran, as torch.profiler counts, into the folder COUNT_INTO.
Comments `here: NAME` mark lines that tests look up.
"""
from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter

import torch
import torch.distributed
import torch.multiprocessing
from torch.utils.data import DataLoader, Dataset

STEPS, ITEMS, BATCH, EPOCHS = 6, 12, 3, 2


def counted(name: str, work) -> None:
    """Runs `work`; under torch.profiler where counts are asked for."""
    folder = os.environ.get("COUNT_INTO")
    if not folder:
        work()
        return
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        work()
    events = Counter(event.name() for event in profiler.profiler.kineto_results.events())
    with open(os.path.join(folder, name), "w") as out:
        json.dump(events, out)


def model(net: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(net(x)).sum()  # here: forward


def measured(net: torch.nn.Module, optimizer: torch.optim.Optimizer, rank: int) -> None:
    for _ in range(rank + 1):  # the ranks differ in what they do, not in what they exchange
        torch.sigmoid(torch.ones(4))  # here: by rank
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(net, torch.ones(4, 8) * (rank + 1)).backward()  # here: backward
        optimizer.step()


def rank_of_two(rank: int, store: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
    torch.manual_seed(3)
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 4))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, foreach=False)
    model(net, torch.zeros(4, 8)).backward()  # the first step sets the buckets up
    counted(f"rank {rank}", lambda: measured(net, optimizer, rank))
    total = sum(p.sum().item() for p in net.parameters())
    gathered = [torch.zeros(1), torch.zeros(1)]
    torch.distributed.all_gather(gathered, torch.tensor([total]))
    # both ranks have the same weights; one prints, so that the order is known
    if rank == 0:
        print(f"{gathered[0].item():.6f} {gathered[1].item():.6f}", flush=True)
    torch.distributed.destroy_process_group()


def ddp() -> None:
    rank_of_two(int(os.environ["RANK"]), "env://")


def ddp_spawn() -> None:
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(rank_of_two, (f"file://{folder}/store",), nprocs=2)


class Items(Dataset):
    def __len__(self) -> int:
        return ITEMS

    def __getitem__(self, index: int) -> torch.Tensor:
        x = torch.full((8,), float(index))
        return torch.sinh(x / 100) + torch.sinh(x / 200)  # here: item


def load(**options) -> None:
    torch.set_num_threads(1)
    loader = DataLoader(Items(), batch_size=BATCH, num_workers=2, **options)
    w = torch.full((8,), 0.5, requires_grad=True)
    total = 0.0
    for _ in range(EPOCHS):
        for batch in loader:
            loss = (batch @ w).cosh().sum()  # here: main
            loss.backward()
            total += loss.item()
    print(f"{total:.6f} {w.grad.sum().item():.6f}")


CASES = {
    "ddp": ddp,
    "ddp-spawn": ddp_spawn,
    "loader-fork": lambda: load(multiprocessing_context="fork"),
    "loader-spawn": lambda: load(multiprocessing_context="spawn", persistent_workers=True),
}

if __name__ == "__main__":
    CASES[sys.argv[1]]()
