#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the inputs of docs/results/answers.md: eight ranks of one trace, and ten million events.

    bench/answers.py ranks TRACE.json.gz FOLDER
    bench/answers.py events COUNT FILE.json
"""
from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path


def ranks(source: str, folder: str) -> None:
    trace = json.loads(gzip.open(source).read())
    Path(folder).mkdir(parents=True, exist_ok=True)
    for rank in range(8):
        trace.setdefault("distributedInfo", {})["rank"] = rank
        with gzip.open(Path(folder) / f"rank{rank}.json.gz", "wt", compresslevel=3) as file:
            json.dump(trace, file)


def events(count: int, path: str) -> None:
    """Of each four: two nested operators, a launch, a kernel; a step of 400 launches around them."""
    def event(category: str, name: str, start: float, length: float, **args: int) -> str:
        thread = {"pid": 0, "tid": 7} if category == "kernel" else {"pid": 5, "tid": 10}
        return json.dumps({"ph": "X", "cat": category, "name": name, **thread, "ts": round(start, 3), "dur": round(length, 3),
                           "args": args})
    with open(path, "w") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [\n')
        for i in range(count // 4):
            at, link = 10.0 * i, i + 1
            if i % 400 == 0:
                file.write(event("user_annotation", f"ProfilerStep#{i // 400}", at, 400 * 9.9) + ",\n")
            file.write(",\n".join([
                event("cpu_op", f"aten::op{i % 40}", at, 8.5), event("cpu_op", f"aten::inner{i % 40}", at + 1, 6.5),
                event("cuda_runtime", "cudaLaunchKernel", at + 2, 3.5, correlation=link),
                event("kernel", f"kernel{i % 60}", at + 8, 7.5 if i % 7 else 9.0, device=0, context=1, stream=7,
                      correlation=link)]) + ",\n")
        file.write(event("cpu_op", "end", 10.0 * (count // 4), 1) + "\n]}\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    ranks(sys.argv[2], sys.argv[3]) if sys.argv[1] == "ranks" else events(int(sys.argv[2]), sys.argv[3])
