# SPDX-License-Identifier: Apache-2.0
"""causes.py CASE...: causes of slowness that the paper on DeepContext found in programs, each as small as can be."""
import os
import sys

import torch

STEPS = 5


def gather(table, rows):
    return table[rows]  # gathered


def select(table, rows):
    return torch.index_select(table, 0, rows)  # selected


def embed(pick):
    """The backward pass of an index adds duplicates one after the other; that of index_select does not."""
    table = torch.ones(1000, 64, device="cuda", requires_grad=True)
    rows = torch.zeros(4096, dtype=torch.long, device="cuda")
    for _ in range(STEPS):
        pick(table, rows).sum().backward()


def convert():
    """Each step makes another layout of an image that could be kept in it."""
    image = torch.ones(8, 32, 64, 64, device="cuda")
    for _ in range(STEPS):
        image.contiguous(memory_format=torch.channels_last).mul_(2)  # converted


def loss(x, y):
    difference = x - y
    small = difference.abs() < 1
    value = torch.where(small, 0.5 * difference * difference, difference.abs() - 0.5)
    weight = (value.exp() + 1).log() / (value.abs() + 1e-6).sqrt()
    return (value * weight).clamp(0, 10).mean()


def lose():
    """A loss of many small kernels."""
    x = torch.ones(128, device="cuda", requires_grad=True)
    y = torch.zeros(128, device="cuda")
    for _ in range(STEPS):
        loss(x, y).backward()  # lost


class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, place):
        return torch.tensor(sum(number * number for number in range(20000)) + place)  # prepared


def load():
    """Processes that prepare data, more than there are processors."""
    for batch in torch.utils.data.DataLoader(Slow(), batch_size=4, num_workers=8):  # loaded
        batch.cuda().mul_(2)


def model(x, weights):
    y = x @ weights  # multiplied
    return torch.nn.functional.layer_norm(y, y.shape[-1:])  # normalized


def compute(*devices):
    """The same model, on one device after the other."""
    for device in devices:
        x, weights = torch.ones(64, 64, device=device), torch.ones(64, 64, device=device)
        for _ in range(STEPS):
            model(x, weights)
        torch.cuda.synchronize(device)


CASES = {"model": lambda: compute("cuda"), "devices": lambda: compute("cuda:0", "cuda:1"), "index": lambda: embed(gather), "index_select": lambda: embed(select), "layout": convert, "loss": lose, "loader": load}
for case in sys.argv[1:]:
    CASES[case]()
    torch.cuda.synchronize()
    print(case, "done", flush=True)
# PyTorch's threads may end a program that ends as they begin, on a busy machine: "terminate called without an active exception"
os._exit(0)
