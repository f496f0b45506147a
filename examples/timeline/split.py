# SPDX-License-Identifier: Apache-2.0
"""A model over two processes, and where to cut it: the first process sends what its layers made to the second,
which waits for it. As it is, the cut is behind the first convolution, where the tensor is largest; with
`split.py --later` it is behind the maximum over 8x8, and a 64th of that is sent.

    sonde run --trace -- python3 split.py && sonde timeline --view messages split.sdb
"""
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

STEPS, BATCH = 8, 8


def first_part(rank_store: str, later: bool) -> None:
    join(0, rank_store)
    convolve, shrink = nn.Conv2d(3, 32, 3, padding=1), nn.MaxPool2d(8)
    with torch.no_grad():
        for _ in range(STEPS):
            x = convolve(torch.randn(BATCH, 3, 128, 128))
            dist.send(shrink(x) if later else x, 1)
    dist.destroy_process_group()


def second_part(rank_store: str, later: bool) -> None:
    join(1, rank_store)
    shrink, classify = nn.MaxPool2d(8), nn.Linear(32 * 16 * 16, 10)
    x = torch.empty(BATCH, 32, 16, 16) if later else torch.empty(BATCH, 32, 128, 128)
    with torch.no_grad():
        for _ in range(STEPS):
            dist.recv(x, 0)
            classify((x if later else shrink(x)).flatten(1))
    dist.destroy_process_group()


def join(rank: int, store: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")
        parts = [mp.get_context("spawn").Process(target=part, args=(store, "--later" in sys.argv))
                 for part in (first_part, second_part)]
        for part in parts:
            part.start()
        for part in parts:
            part.join()
        sys.exit(any(part.exitcode for part in parts))


if __name__ == "__main__":
    main()
