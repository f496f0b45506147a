# SPDX-License-Identifier: Apache-2.0
"""Operators that are not PyTorch's own, each called on a line of its own: `torch_custom.py [LIBRARY]`.

LIBRARY is what custom_operators.cpp became. Comments `here: NAME` mark lines that the tests look up.
"""
from __future__ import annotations

import sys

import torch

ROUNDS = 30_000_000
STEPS = 1_500_000


def work(n: int) -> float:
    total = 0.0
    for number in range(n):
        total += number * 0.5
    return total


LIBRARY = torch.library.Library("listed", "DEF")
LIBRARY.define("python(Tensor x, int n) -> Tensor")
LIBRARY.impl("python", lambda x, n: x + work(n), "CPU")


LARGE = torch.ones(3000, 3000)


def python_operators(x: torch.Tensor) -> None:
    torch.ops.listed.python(x, STEPS)  # here: listed::python
    torch.ops.aten.cumsum.default(LARGE, 1)  # here: aten::cumsum


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        work(STEPS)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        work(STEPS)
        return gradient * 2


def function(x: torch.Tensor) -> None:
    y = Doubled.apply(x.clone().requires_grad_())  # here: Doubled
    y.sum().backward()


if hasattr(torch.library, "custom_op"):
    @torch.library.custom_op("written::soft", mutates_args=())
    def soft(x: torch.Tensor, n: int) -> torch.Tensor:
        return x + work(n)

    @soft.register_fake
    def _(x, n):
        return torch.empty_like(x)

    def soft_backward(ctx, gradient):
        work(STEPS)
        return gradient, None

    soft.register_autograd(soft_backward)

    def decorated(x: torch.Tensor) -> None:
        soft(x, STEPS)  # here: written::soft
        y = soft(x.clone().requires_grad_(), STEPS)  # here: soft forward
        y.sum().backward()

    def model(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.written.soft((x * 2).relu(), STEPS) + 1

    compiled = torch.compile(model)


def library_operators(x: torch.Tensor) -> None:
    torch.ops.known.inner(x, ROUNDS)  # here: known::inner
    torch.ops.known.outer(x, ROUNDS)  # here: known::outer
    torch.ops.known.boxed(x, ROUNDS)  # here: known::boxed
    torch.ops.known.composite.default(x, ROUNDS)  # here: known::composite
    try:
        torch.ops.known.raising(x, ROUNDS)  # here: known::raising
    except RuntimeError:
        work(STEPS)  # here: after raising


def warm(x: torch.Tensor) -> None:
    """What PyTorch imports and prepares for a first call is under no line that the tests look up."""
    torch.ops.listed.python(x, 1)
    torch.ops.aten.cumsum.default(x, 0)
    Doubled.apply(x.clone().requires_grad_()).sum().backward()
    if hasattr(torch.library, "custom_op"):
        soft(x, 1)
        soft(x.clone().requires_grad_(), 1).sum().backward()


def main() -> None:
    x = torch.ones(100)
    warm(x)
    if len(sys.argv) > 1 and sys.argv[1] == "compiled":
        for _ in range(4):
            compiled(x)  # here: compiled
        return
    if len(sys.argv) > 1:
        torch.ops.load_library(sys.argv[1])
    for _ in range(4):
        python_operators(x)
        function(x)
        if hasattr(torch.library, "custom_op"):
            decorated(x)
        if len(sys.argv) > 1:
            library_operators(x)


main()
