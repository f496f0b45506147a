# SPDX-License-Identifier: Apache-2.0
"""torch.compile with known compilations: `torch_compiled.py CASE BACKEND`.

Comments `here: NAME` mark lines that tests look up.
"""
from __future__ import annotations

import sys

import torch


def leaf(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) + 1


def model(x: torch.Tensor) -> torch.Tensor:
    return leaf(x) * 2


def broken(x: torch.Tensor) -> torch.Tensor:
    """Two graphs: what comes after the print is compiled as a function of its own."""
    y = torch.cos(x)
    print("in the middle")
    return y * 3


def raising(x: torch.Tensor) -> torch.Tensor:
    raise ValueError("on purpose")


def failing_backend(graph: object, inputs: object) -> None:
    raise ArithmeticError("this backend compiles nothing")


def known(backend: str) -> None:
    x = torch.ones(8)
    torch.manual_seed(5)
    compiled = torch.compile(model, backend=backend)
    for _ in range(3):
        compiled(x)  # here: first
    compiled(torch.ones(4, 4))  # here: other shape
    torch.compile(broken, backend=backend)(x)  # here: broken
    try:
        torch.compile(raising, backend=backend)(x)  # here: raising
    except ValueError:
        print("raised")
    try:
        torch.compile(leaf, backend=failing_backend)(x)  # here: failing
    except Exception as error:
        print("backend failed", "compiles nothing" in str(error))
    # compiling takes no random numbers, measured or not
    print(torch.rand(2).tolist(), compiled(x).sum().item())


def dense(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    a = torch.sin(x) * torch.cos(x) + torch.exp(-x * x)  # here: first operations
    return (torch.tanh(a) * torch.sigmoid(a) @ w).sum()  # here: last operations


def training(backend: str) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    x, w = torch.randn(1000, 500, requires_grad=True), torch.randn(500, 8, requires_grad=True)
    compiled = torch.compile(dense, backend=backend)
    for _ in range(100):
        loss = compiled(x, w)  # here: call
        loss.backward()  # here: backward
    print(f"{loss.item():.3f} {x.grad.sum().item():.3f}")


if __name__ == "__main__":
    if sys.argv[2] == "inductor":
        import torch._inductor.config

        torch._inductor.config.cpp_cache_precompile_headers = False  # takes longer than all the rest
    {"known": known, "training": training}[sys.argv[1]](sys.argv[2])
