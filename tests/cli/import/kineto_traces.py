# SPDX-License-Identifier: Apache-2.0
"""Traces as torch.profiler writes them, made by the tests; and the real ones, read straight from their JSON."""
from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path

import samples

DATA = samples.SAMPLES / "kineto"
FILES = [path for path in samples.find("kineto/*.json.gz") if not path.name.endswith("_et.json.gz")]

METRIC = {"kernel": "kernel-time", "gpu_memcpy": "copy-time", "gpu_memset": "fill-time",
          "cuda_runtime": "gpu-api-time", "cuda_driver": "gpu-api-time"}


def load(path: Path) -> list[dict]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as file:
        content = json.load(file)
    return content["traceEvents"] if isinstance(content, dict) else content


def totals(events: list[dict]) -> dict[str, tuple[int, int]]:
    """Of each metric: events and nanoseconds."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for event in events:
        metric = METRIC.get(event.get("cat", "").lower())
        if event.get("ph") == "X" and metric:
            found[metric][0] += 1
            found[metric][1] += round(event["dur"] * 1000)
    return {name: tuple(pair) for name, pair in found.items()}


def kernels(events: list[dict]) -> dict[str, tuple[int, int]]:
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for event in events:
        if event.get("ph") == "X" and event.get("cat", "").lower() == "kernel":
            found[event["name"]][0] += 1
            found[event["name"]][1] += round(event["dur"] * 1000)
    return {name: tuple(pair) for name, pair in found.items()}


class Trace:
    """Writes a trace, times in microseconds."""

    def __init__(self) -> None:
        self.events: list[dict] = []
        self.members: dict[str, object] = {"schemaVersion": 1}

    def call(self, category: str, name: str, start: float, end: float, thread: int = 10, **args: object) -> None:
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 5, "tid": thread, "ts": start,
                            "dur": round(end - start, 3), "args": {k.replace("_", " "): v for k, v in args.items()}})

    def operation(self, category: str, name: str, start: float, end: float, correlation: int, stream: int = 7,
                  **args: object) -> None:
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 0, "tid": stream, "ts": start,
                            "dur": round(end - start, 3),
                            "args": {"device": 0, "context": 1, "stream": stream, "correlation": correlation, **args}})

    def launch(self, correlation: int, start: float, end: float, thread: int = 10) -> None:
        self.call("cuda_runtime", "cudaLaunchKernel", start, end, thread, correlation=correlation)

    def write(self, path: Path, text: str | None = None) -> Path:
        text = text or json.dumps({**self.members, "traceEvents": self.events})
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress(text.encode()))
        else:
            path.write_text(text)
        return path
