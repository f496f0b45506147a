#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A large trace of torch.profiler out of a small one: its events some times, one after the other.

Times, correlations and sequence numbers go on from one time to the next, so that launches and gradients are matched
as in a long recording; written as Python's json writes, on one line. With --by-category events are ordered by category
first, as a profiler writes those of one recording.
Usage: bench/repeat_kineto.py TRACE.json[.gz] TIMES OUT.json [--by-category]
"""
from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path

COUNTED = ("correlation", "Sequence number")


def repeated(events: list[dict], times: int) -> Iterator[dict]:
    spans = [event for event in events if event.get("ph") == "X"]
    # the profiler's own span over all of it is longer than what it recorded
    end = max(e["ts"] + e.get("dur", 0) for e in spans if e.get("cat") != "Trace")
    length = end - min(e["ts"] for e in spans) + 1000
    steps = {name: 1 + max(int(e.get("args", {}).get(name) or 0) for e in events) for name in COUNTED}
    for i in range(times):
        for event in events:
            moved = dict(event)
            if "ts" in event:
                moved["ts"] += i * length
            if "args" in event:
                moved["args"] = {
                    name: value + i * steps[name] if name in steps else value for name, value in event["args"].items()
                }
            yield moved


def main() -> None:
    source, times, out = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    read = gzip.open if source.suffix == ".gz" else open
    with read(source, "rt") as file:
        trace = json.load(file)
    events = repeated(trace.pop("traceEvents"), times)
    if "--by-category" in sys.argv[4:]:
        events = iter(sorted(events, key=lambda event: (event.get("ph") == "X", event.get("cat") or "")))
    with out.open("w") as file:
        file.write(json.dumps(trace)[:-1] + ', "traceEvents": [')
        for i, event in enumerate(events):
            file.write((", " if i else "") + json.dumps(event))
        file.write("]}\n")


if __name__ == "__main__":
    main()
