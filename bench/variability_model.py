#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What bench-launches walks over, from a device of a trace of Nsight Systems (SQLite).

    bench/variability_model.py TRACE.sqlite DEVICE > MODEL

An operation is a kernel with its configuration, a copy of one direction or a fill, on one stream. Of each: 33 quantiles of its duration, 33 of the
time from its start to that of the next operation of the device, and how often each other one came next; the last one is followed by the first.
Nothing is smoothed: an operation that came once has one duration.
"""
import collections
import sqlite3
import sys

COPIES = {0: "Unknown", 1: "Host-to-Device", 2: "Device-to-Host", 8: "Device-to-Device", 9: "Host-to-Host", 10: "Peer-to-Peer"}
QUANTILES = 33


def operations(path: str, device: int):
    """(start, end, kind, stream, sizes, name) of all, by start; sizes are grid, block, shared memory, registers, bytes."""
    file = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    texts = dict(file.execute("SELECT id, value FROM StringIds"))
    for start, end, stream, *sizes, static, dynamic, registers, name in file.execute(
            "SELECT start, end, streamId, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory, "
            "registersPerThread, demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE deviceId = ?", (device,)):
        yield start, end, "kernel", stream, (*sizes, static + dynamic, registers, 0), texts[name]
    for start, end, stream, kind, size in file.execute(
            "SELECT start, end, streamId, copyKind, bytes FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE deviceId = ?", (device,)):
        yield start, end, "copy", stream, (0,) * 8 + (size,), f"[CUDA memcpy {COPIES.get(kind, 'Unknown')}]"
    for start, end, stream, size in file.execute(
            "SELECT start, end, streamId, bytes FROM CUPTI_ACTIVITY_KIND_MEMSET WHERE deviceId = ?", (device,)):
        yield start, end, "fill", stream, (0,) * 8 + (size,), "[CUDA memset]"


def quantiles(values: list[int]) -> list[int]:
    values = sorted(values)
    places = [part * (len(values) - 1) / (QUANTILES - 1) for part in range(QUANTILES)]
    return [round(values[int(place)] + (place - int(place)) * (values[min(int(place) + 1, len(values) - 1)] - values[int(place)])) for place in places]


def main() -> None:
    path, device = sys.argv[1], int(sys.argv[2])
    rows = sorted(operations(path, device))
    durations, gaps, following = collections.defaultdict(list), collections.defaultdict(list), collections.defaultdict(collections.Counter)
    for row, after in zip(rows, [*rows[1:], rows[0]], strict=True):
        durations[row[2:]].append(row[1] - row[0])
        gaps[row[2:]].append(max(after[0] - row[0], row[1] - row[0] if after is rows[0] else 0))
        following[row[2:]][after[2:]] += 1
    numbers = {operation: number for number, operation in enumerate(durations)}
    for operation in numbers:
        kind, stream, sizes, name = operation
        after = [part for next_one, times in following[operation].items() for part in (numbers[next_one], times)]
        print(kind, stream, *sizes, *quantiles(durations[operation]), *quantiles(gaps[operation]), len(after) // 2, *after, name)


if __name__ == "__main__":
    main()
