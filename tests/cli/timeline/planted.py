# SPDX-License-Identifier: Apache-2.0
"""Traces of training steps with a planted cause: three steps on each rank, of which each prepares data, copies it, computes
in layers, reduces gradients over ranks, and waits for the device. A cause makes one of these long; seeds vary all else."""
from __future__ import annotations

import random
from pathlib import Path

from kineto_traces import Trace

STEPS = 3
CAUSES = {"computation": "computation", "launching": "launching", "copies": "copies", "communication": "communication",
          "host": "the host", "wait": "waiting"}


class Rank:
    """A rank's clock and its device's, in microseconds."""

    def __init__(self, rank: int, ranks: int, cause: str, seed: int) -> None:
        self.random = random.Random(seed)  # the same on all ranks: they meet at the same times
        self.trace, self.ranks, self.cause = Trace(), ranks, cause
        self.trace.members["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": ranks}
        self.now = self.device = 1000.0
        self.number = 0
        self.latency = self.random.uniform(4, 12)

    def about(self, time: float) -> float:
        return time * self.random.uniform(0.8, 1.2)

    def launch(self, name: str, kind: str, kernel: str, time: float, host: float = 10, stream: int = 7, **args) -> None:
        """An operator whose call launches in its middle; its operation waits for its stream."""
        self.number += 1
        begin, call = self.now, self.now + host / 2
        self.now += host
        call_name = "cudaMemcpyAsync" if kind == "gpu_memcpy" else "cudaLaunchKernel"
        self.trace.call("cpu_op", name, begin, self.now)
        self.trace.call("cuda_runtime", call_name, call, call + min(4, host / 3), correlation=self.number)
        start = max(self.device, call + self.latency)
        self.device = start + time
        self.trace.operation(kind, kernel, start, self.device, self.number, stream, **args)

    def synchronize(self) -> None:
        end = max(self.now, self.device) + 5
        self.trace.call("cuda_runtime", "cudaStreamSynchronize", self.now, end)
        self.now = end

    def prepare(self, step: int) -> None:
        time = self.about(20000 if self.cause == "host" else 50)
        self.trace.call("python_function", "train.py(7): augment", self.now, self.now + time)
        self.now += time
        if self.cause == "wait":
            time = self.about(20000)
            self.trace.call("cuda_runtime", "cudaEventSynchronize", self.now, self.now + time)
            self.now += time

    def step(self, step: int) -> None:
        begin = self.now
        self.prepare(step)
        self.launch("aten::copy_", "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)",
                    self.about(20000 if self.cause == "copies" else 20), bytes=1 << 20)
        # each kernel is over long before the next is launched, or the host is far ahead
        for layer in range(1000 if self.cause == "launching" else 20):
            self.launch("aten::linear", "kernel", "gemm", self.about(1000 if self.cause == "computation" else 3))
        if self.ranks > 1 or self.cause == "communication":
            members = str(list(range(self.ranks)))
            self.launch("c10d::allreduce_", "kernel", "ncclDevKernel_AllReduce_Sum_f32",
                        self.about(20000 if self.cause == "communication" else 30), **{
                            "Collective name": "allreduce", "Process Group Ranks": members,
                            "Process Group Name": "0", "Seq": step + 1})
        self.synchronize()
        self.now += 10
        self.trace.call("user_annotation", f"ProfilerStep#{step + 40}", begin, self.now)
        self.now += 1


def write(folder: Path, cause: str, ranks: int, seed: int) -> Path:
    folder.mkdir()
    for number in range(ranks):
        rank = Rank(number, ranks, cause, seed)
        for step in range(STEPS):
            rank.step(step)
        rank.trace.write(folder / f"rank{number}.json")
    return folder
