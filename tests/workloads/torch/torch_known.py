# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs with known operators: `python3 torch_known.py CASE...` runs some.

`torch_known.py --count CASE...` runs them under torch.profiler and prints, as JSON, how often each operator
ran in each. Comments `here: NAME` mark lines that tests look up.
"""
from __future__ import annotations

import json
import sys
import threading
from collections import Counter

import torch
from torch.utils.checkpoint import checkpoint

SIZE = 48


def model(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    a = x @ w  # here: mm
    b = torch.tanh(a)  # here: tanh
    c = b * b + a  # here: mul
    return c.sum()  # here: sum


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    return torch.randn(SIZE, SIZE), torch.randn(SIZE, SIZE, requires_grad=True)


def plain() -> float:
    x, w = inputs()
    for _ in range(5):
        model(x, w).backward()  # here: backward
    return w.grad.sum().item()


def training() -> float:
    torch.manual_seed(2)
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, foreach=False)
    x, y = torch.randn(12, 8), torch.randint(0, 4, (12,))
    for _ in range(7):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def convolution() -> float:
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.MaxPool2d(2),
                              torch.nn.Flatten(), torch.nn.Dropout(0.5), torch.nn.Linear(18, 3))
    for _ in range(3):
        loss = net(torch.randn(4, 1, 8, 8)).pow(2).mean()
        loss.backward()
    with torch.no_grad():
        return net(torch.ones(4, 1, 8, 8)).sum().item() * 0


def threads() -> float:
    """The forward passes in threads that end, one backward pass for all of them in this one."""
    x, w = inputs()
    results: list[torch.Tensor] = [torch.empty(0)] * 3

    def part(index: int) -> None:
        y = x @ w
        if index == 0:
            results[index] = torch.sin(y).sum()  # here: thread 0
        elif index == 1:
            results[index] = torch.cos(y).sum()  # here: thread 1
        else:
            results[index] = torch.exp(y * 0.01).sum()  # here: thread 2

    workers = [threading.Thread(target=part, args=(index,)) for index in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    (results[0] + results[1] + results[2]).backward()
    return w.grad.sum().item()


def other_thread() -> float:
    """The backward pass in a thread of its own."""
    x, w = inputs()
    loss = model(x, w)
    worker = threading.Thread(target=loss.backward)
    worker.start()
    worker.join()
    return w.grad.sum().item()


def block(x: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(x) * 2  # here: block


def checkpointed() -> float:
    x, w = inputs()
    y = checkpoint(block, x @ w, use_reentrant=True)  # here: checkpoint
    y.sum().backward()
    return w.grad.sum().item()


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x  # here: square forward

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x  # here: square backward


def custom() -> float:
    x, w = inputs()
    Square.apply(x @ w).sum().backward()  # here: apply
    return w.grad.sum().item()


def double() -> float:
    x = torch.full((SIZE,), 2.0, requires_grad=True)
    y = (x ** 3).sum()  # here: cube
    (first,) = torch.autograd.grad(y, x, create_graph=True)  # here: first
    first.sum().backward()  # here: second
    return x.grad.sum().item()


def hooks() -> float:
    x, w = inputs()

    def hook(grad: torch.Tensor) -> torch.Tensor:
        return grad * 0.5  # here: hook

    a = x @ w
    a.register_hook(hook)
    torch.relu(a).sum().backward()  # here: hooked
    return w.grad.sum().item()


def without_gradients() -> float:
    x, w = inputs()
    with torch.no_grad():
        for _ in range(4):
            y = model(x, w)
    return y.item()


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + 0

    @staticmethod
    def backward(ctx, grad):
        raise RuntimeError("on purpose")


def failing() -> float:
    x, w = inputs()
    for _ in range(3):
        try:
            Fails.apply(x @ w).sum().backward()  # here: fails
        except RuntimeError:
            pass
    return torch.tanh(x).sum().item()  # here: after failure


def retained() -> float:
    """The same graph backwards several times."""
    x, w = inputs()
    loss = model(x, w)
    for _ in range(3):
        loss.backward(retain_graph=True)
    return w.grad.sum().item()


def chain() -> float:
    """A graph of 66,001 nodes: more than are remembered."""
    w = torch.ones(4, requires_grad=True)
    h = w
    for _ in range(66_000):
        h = h * 1.0  # here: chain
    h.sum().backward()
    return w.grad.sum().item()


def memory() -> float:
    kept = [torch.empty(1000) for _ in range(10)]  # here: allocate
    kept.clear()  # here: release
    return 0.0


def reused() -> float:
    """Tensors of other sizes in memory that was a tensor's before."""
    for turn in range(200):
        torch.empty(1000 - turn % 7 * 10)  # here: reused
    return 0.0


def watched() -> float:
    """Memory that PyTorch's own profiler is told of as well."""
    with torch.profiler.profile(profile_memory=True):
        kept = [torch.empty(1000) for _ in range(10)]  # here: watched
        kept.clear()  # here: watched release
    return 0.0


def grows() -> float:
    """Four tensors stay while a fifth comes and goes; then the four go."""
    kept = [torch.empty(1000 * (i + 1)) for i in range(4)]
    for turn in range(50):
        torch.empty(1000 - 10 * turn)
    while kept:
        kept.pop()
    return 0.0


def heavy() -> float:
    """Enough work for samples to fall everywhere."""
    torch.set_num_threads(1)
    x = torch.randn(2000, 50)
    w = torch.randn(50, 500, requires_grad=True)
    for _ in range(60):
        y = torch.tanh(x @ w)  # here: heavy forward
        y.logsumexp(1).sum().backward()
    return 0.0


def descend(x: torch.Tensor, depth: int) -> torch.Tensor:
    if depth == 0:
        return torch.sin(x)  # here: deepest
    return torch.cos(descend(x, depth - 1))  # here: descends


def produced(x: torch.Tensor):
    for _ in range(4):
        yield torch.exp(x)  # here: produced


def at_one_line(functions: list, x: torch.Tensor) -> None:
    for function in functions:
        function(x)  # here: calls


def first(x: torch.Tensor) -> torch.Tensor:
    return torch.neg(x)  # here: first function


def second(x: torch.Tensor) -> torch.Tensor:
    return torch.neg(x)  # here: second function


class Changing(torch.autograd.Function):
    """What runs inside its backward node differs from one time to the next, at one place."""
    inside = [first, second]

    @staticmethod
    def forward(ctx, x):
        return x + 0

    @staticmethod
    def backward(ctx, grad):
        Changing.inside.reverse()
        return Changing.inside[0](grad)  # here: inside


def places() -> float:
    """The same operators from places that a profiler could take for one another."""
    x = torch.ones(4)
    w = torch.ones(4, requires_grad=True)
    for turn in range(6):
        torch.abs(x)  # here: one line
        torch.abs(x)  # here: other line
        torch.abs(x), torch.abs(x)  # here: twice
        descend(x, turn % 3)  # here: recursion
        values = produced(x)
        next(values)  # here: next
        list(values)  # here: rest
        at_one_line([first, second, first], x)  # here: at one line
        Changing.apply(w).sum().backward()  # here: changing
        exec(compile(f"{chr(10) * (turn % 2)}torch.sqrt(x)", "<made>", "exec"), {"torch": torch, "x": x})
    return w.grad.sum().item()


def random_state() -> float:
    """Saved, given back, and refused: an exception of C++ passes through."""
    state = torch.get_rng_state()
    first = torch.rand(3)
    torch.set_rng_state(state)
    try:
        torch.set_rng_state(torch.ones(3, dtype=torch.uint8))
    except RuntimeError:
        return (first - torch.rand(3)).abs().sum().item() + first.sum().item()
    return -1.0


CASES = {case.__name__: case for case in (
    plain, training, convolution, threads, other_thread, checkpointed, custom, double, hooks,
    without_gradients, failing, retained, places, random_state, chain, memory, reused, watched,
    grows, heavy)}


def measured(name: str) -> float:
    """The part of the program that tests count."""
    return CASES[name]()


def count(name: str) -> Counter:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        measured(name)
    # as recorded: key_averages() leaves out an operator that does nothing but call one of the same name
    return Counter(event.name() for event in profiler.profiler.kineto_results.events())


if __name__ == "__main__":
    if sys.argv[1] == "--count":
        print(json.dumps({name: count(name) for name in sys.argv[2:]}))
    else:
        for case in sys.argv[1:]:
            print(f"{case} {measured(case):.6g}")
