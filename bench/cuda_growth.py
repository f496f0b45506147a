#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether memory grows with the iterations of a training loop on CUDA, with Sonde and with torch.profiler, on devices that are not there.

    bench/cuda_growth.py [ITERATIONS]

Needs tests/fake/install.sh. Anonymous resident memory of the process (RssAnon, without pages of files) after 1,000 iterations and after all, in MiB;
torch.profiler is ended when it has taken LIMIT, with what it had then. Modes run one after another, each in a process of its own.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SONDE_BUILD", ROOT / "build")).resolve()
FAKE, SONDE = ROOT / "tests/fake/run.sh", BUILD / "src/cmd/sonde"
ITERATIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
LIMIT = 8192  # MiB

LOOP = """
import contextlib, os, sys, torch
count, limit = int(sys.argv[1]), int(sys.argv[2])
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.zeros(4, 8, device="cuda"), torch.zeros(4, 4, device="cuda")
def step():
    optimizer.zero_grad()
    ((model(x) - y) ** 2).mean().backward()
    optimizer.step()
def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("RssAnon"))
activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
with torch.profiler.profile(activities=activities) if sys.argv[3:] else contextlib.nullcontext():
    for done in range(1, count + 1):
        step()
        if done % 100 == 0:
            torch.cuda.synchronize()
            now = resident()
            if done == 1000:
                print(now, flush=True)
            if now > limit or done == count:
                break
    print(done, now, flush=True)
    if sys.argv[3:]:
        os._exit(0)  # what it takes to read its records is not measured
"""


def run(mode: str) -> "tuple[int, int, int, int]":
    """Iterations that were done, resident memory after 1,000 and at the end, bytes of Sonde's measurement."""
    with tempfile.TemporaryDirectory() as folder:
        under = [SONDE, "run", "-q", "--no-analyze", "-o", f"{folder}/m", "--"] if mode == "Sonde" else []
        command = [FAKE, *under, "python3", "-c", LOOP, str(ITERATIONS), str(LIMIT), *(["profile"] if mode == "torch.profiler" else [])]
        words = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout.split()
        kept = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    early, done, late = map(int, words)
    return done, early, late, kept


def main() -> None:
    print(f"{'':16} {'iterations':>10} {'after 1,000':>12} {'at the end':>11} {'grown by':>9} {'measurement, KiB':>17}")
    for mode in ("by itself", "Sonde", "torch.profiler"):
        done, early, late, kept = run(mode)
        print(f"{mode:16} {done:10,} {early:12,} {late:11,} {late - early:9,} {kept // 1024:17,}", flush=True)


if __name__ == "__main__":
    main()
