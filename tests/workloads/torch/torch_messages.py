# SPDX-License-Identifier: Apache-2.0
"""Processes that exchange tensors of known sizes over gloo: `torch_messages.py RANKS CASE`.

A rank that is late sleeps LATE seconds before what the others wait for. Rank 0 prints what came out.
"""
from __future__ import annotations

import os
import signal
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing

LATE, MESSAGES, STEPS = 0.4, 20, 4


def ring(rank: int, size: int) -> float:
    """Message i of rank r to the next rank has 100 * (i + 1) + r floats; rank 1 is late with one."""
    total = 0.0
    for i in range(MESSAGES):
        mine = torch.full((100 * (i + 1) + rank,), float(rank + 1))
        previous = (rank - 1) % size
        other = torch.zeros(100 * (i + 1) + previous)
        if rank == 1 and i == 7:
            time.sleep(LATE)
        works = [dist.isend(mine, (rank + 1) % size, tag=i % 3), dist.irecv(other, previous, tag=i % 3)]
        for work in works:
            work.wait()
        total += other.sum().item()
    return total


def anybody(rank: int, size: int) -> float:
    """Rank 0 receives from whoever sends first: rank r sends r + 1 floats, MESSAGES times."""
    total, other = 0.0, torch.zeros(size)
    for _ in range(MESSAGES):
        if rank:
            dist.send(torch.ones(size), 0)
    for _ in range(MESSAGES * (size - 1) if rank == 0 else 0):
        total += dist.recv(other) + other.sum().item()
    dist.barrier()
    return total


def collectives(rank: int, size: int) -> float:
    """All, then a group of two that is late by its rank 1, which is the world's rank size - 1."""
    x = torch.ones(1000) * (rank + 1)
    pair = dist.new_group([0, size - 1])
    for _ in range(STEPS):
        dist.all_reduce(x)
    if rank == size - 1:
        time.sleep(LATE)
    if rank in (0, size - 1):
        dist.all_reduce(x, group=pair)
        dist.broadcast(x, 0, group=pair)
    dist.barrier()
    return x.sum().item()


def training(rank: int, size: int) -> float:
    torch.manual_seed(3)
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 32))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, foreach=False)
    for step in range(STEPS):
        if step == 2 and rank == 1:
            time.sleep(LATE)
        optimizer.zero_grad()
        net(torch.ones(4, 64) * (rank + 1)).sum().backward()
        optimizer.step()
    return sum(p.sum().item() for p in net.parameters())


def busy() -> None:
    start = time.process_time()
    while time.process_time() - start < LATE:
        pass


def busy_training(rank: int, size: int) -> float:
    """Rank 1 is late by code of Python, in which no operator runs."""
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 32))
    for step in range(STEPS):
        if rank == 1:
            busy()
        net(torch.ones(4, 64)).sum().backward()
    return 0.0


def killed(rank: int, size: int) -> float:
    """Rank 1 dies with a message on the way to it that it never takes."""
    for i in range(5):
        if rank == 0:
            dist.send(torch.ones(10 + i), 1)
        else:
            dist.recv(torch.ones(10 + i), 0)
    if rank == 0:
        dist.send(torch.ones(99), 1)
        time.sleep(2.5)  # a checkpoint has been, so the trace's contexts are known
    else:
        # a thread that is killed as it sleeps takes its last events with it: they wait in its memory for its next sample
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            sum(range(1000))
        os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


def run(rank: int, size: int, store: str, case: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=size)
    result = globals()[case](rank, size)
    if rank == 0:
        print(f"{case} {result:.4f}", flush=True)
    if case != "killed":
        dist.barrier()
    # ~ProcessGroupGloo of PyTorch 1 may wait for itself
    sys.stdout.flush()
    time.sleep(0.1)


if __name__ == "__main__":
    ranks, name = int(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        try:
            torch.multiprocessing.spawn(run, (ranks, f"file://{folder}/store", name), nprocs=ranks)
        except Exception:
            if name != "killed":
                raise
            print("killed", flush=True)
