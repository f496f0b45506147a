# SPDX-License-Identifier: Apache-2.0
"""Traces of kernels whose durations are known, whole nanoseconds, one after the other on a stream."""
from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from pathlib import Path

from kineto_traces import Trace

STEADY = 0.01  # deviation of ln d of a kernel that does not vary


@dataclass
class Launch:
    name: str
    start: int  # ns
    duration: int
    rank: int = 0
    grid: tuple[int, int, int] = (8, 1, 1)
    block: tuple[int, int, int] = (128, 1, 1)


@dataclass
class Run:
    """The launches of some ranks at the same times; what is planted changes durations."""

    launches: list[Launch] = field(default_factory=list)

    def durations(self, name: str, rank: int | None = None) -> list[int]:
        return [one.duration for one in self.launches if one.name == name and rank in (None, one.rank)]

    def trace(self, rank: int, ranks: int) -> Trace:
        trace = Trace()
        if ranks > 1:
            trace.members["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": ranks}
        trace.call("cpu_op", "aten::step", 0, 1)
        for number, one in enumerate(self.launches):
            if one.rank == rank:
                trace.operation("kernel", one.name, one.start / 1000, (one.start + one.duration) / 1000, number + 1,
                                grid=list(one.grid), block=list(one.block), **{"shared memory": 256, "registers per thread": 32})
        return trace

    def write(self, folder: Path, ranks: int = 1) -> list[Path]:
        folder.mkdir(exist_ok=True)
        return [self.trace(rank, ranks).write(folder / f"rank{rank}.json") for rank in range(ranks)]


def run(seed: int, kernels: dict[str, float], launches: int = 2000, ranks: int = 1, deviation: float = STEADY, factor=None) -> Run:
    """`kernels`: median duration in ns of each; `factor(name, rank, share)`: what is planted, by the share of the run that is over."""
    random_ = random.Random(seed)
    result = Run()
    names = list(kernels)
    gap = max(kernels.values()) * 40
    for rank in range(ranks):
        for number in range(launches):
            name = names[number % len(names)]
            times = factor(name, rank, number / launches) if factor else 1
            duration = kernels[name] * times * math.exp(random_.gauss(0, deviation))
            result.launches.append(Launch(name, 1_000_000 + int(number * gap), round(duration), rank))
    return result
