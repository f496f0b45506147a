# SPDX-License-Identifier: Apache-2.0
"""compiled.py: torch.compile with Triton: passes forward and backward, a pass in captured graphs, a kernel written by hand.

Comments `# NAME` mark lines that tests look up.
"""
import torch
import triton
import triton.language as tl

STEPS = 5


def activate(x, weights):
    y = torch.sin(x) * torch.exp(-x)  # activated
    z = y @ weights
    return torch.softmax(z, -1).sum()  # reduced


def train(compiled):
    x = torch.ones(256, 128, device="cuda", requires_grad=True)
    weights = torch.ones(128, 128, device="cuda", requires_grad=True)
    for _ in range(STEPS):
        loss = compiled(x, weights)  # trained
        loss.backward()


def scale(x):
    return torch.cos(x) * 3 + 1  # scaled


def replay(compiled):
    x = torch.ones(64, 64, device="cuda")
    with torch.no_grad():
        for _ in range(STEPS):
            compiled(x)  # replayed


@triton.jit
def added(x, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < count) + 1, mask=at < count)


def by_hand():
    x, y = torch.ones(1000, device="cuda"), torch.empty(1000, device="cuda")
    for _ in range(STEPS):
        added[(4,)](x, y, 1000, BLOCK=256)  # launched


train(torch.compile(activate))
replay(torch.compile(scale, mode="reduce-overhead"))
by_hand()
torch.cuda.synchronize()
print("done")
