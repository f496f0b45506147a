#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long analysis takes: made-up trees by size, and a PyTorch profile beside perf script and addr2line.

Usage: bench/analyze.py BUILD [PYTHON [ROUNDS]]; PYTHON has torch installed. Medians; all variants are
interleaved in every round. CPU time is what counts on a machine shared with others.
"""
from __future__ import annotations

import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

BUILD = Path(sys.argv[1]).resolve()
PYTHON = sys.argv[2] if len(sys.argv) > 2 else "/usr/bin/python3"
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 7
SONDE = BUILD / "src/cmd/sonde"
HERE = Path(__file__).resolve().parent
work = Path(tempfile.mkdtemp(prefix="sonde-bench-"))
sys.path.insert(0, str(HERE.parent / "tests/cli"))
import measured  # noqa: E402

TRAIN = """
import torch
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
for step in range(4000):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


def cost(command: list, stdin: bytes = b"") -> tuple[float, float]:
    """Wall and CPU seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([str(part) for part in command], input=stdin, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rounds(variants: dict[str, list[tuple[list, bytes]]]) -> dict[str, tuple[float, float]]:
    """Each variant is several commands, run one after the other."""
    times = defaultdict(list)
    for _ in range(ROUNDS):
        for name, commands in variants.items():
            costs = [cost(*command) for command in commands]
            times[name].append((sum(c[0] for c in costs), sum(c[1] for c in costs)))
    return {name: (statistics.median(t[0] for t in all_), statistics.median(t[1] for t in all_))
            for name, all_ in times.items()}


def by_size() -> None:
    variants = {}
    for contexts in (1000, 10_000, 100_000):
        path = work / f"{contexts}.sonde-process"
        subprocess.run([BUILD / "tests/make-measurement", path, str(contexts)], check=True)
        variants[f"{contexts:,}"] = [([SONDE, "analyze", path, "-o", work / "out.sdb"], b"")]
    print(f"| contexts, without symbols ({ROUNDS} rounds) | wall | CPU | database |")
    print("|---|---|---|---|")
    for name, (wall, cpu) in rounds(variants).items():
        subprocess.run(map(str, variants[name][0][0]), check=True, stdout=subprocess.DEVNULL)
        size = (work / "out.sdb").stat().st_size / 2**20
        print(f"| {name} | {wall:.3f} s | {cpu:.3f} s | {size:.1f} MiB |")


def addresses(folder: Path) -> dict[str, set[int]]:
    """Of each module that is a file, as the collector recorded them."""
    found = measured.sections(measured.snapshot(next(folder.glob("*.sonde-process")).read_bytes()))
    shared = measured.strings(found[2, 0xFFFFFFFF])
    modules = [shared[record[3]] for record in measured.records("<QQQIII20s", found[3, 0])]
    result = defaultdict(set)
    for (kind, _), data in found.items():
        for _, _, frame, flags, _, module, offset in measured.records("<IIBBHIQ", data if kind == 8 else b""):
            if measured.KINDS[frame] == "native" and module < len(modules) and Path(modules[module]).is_file():
                result[modules[module]].add(offset - (flags & 1))
    return result


def torch() -> None:
    script = work / "train.py"
    script.write_text(TRAIN)
    run = work / "torch"
    subprocess.run([SONDE, "run", "-q", "--no-analyze", "-F", "1000", "-o", run, "--", PYTHON, script], check=True)
    folder = work / "torch.sonde"
    asked = addresses(folder)
    out = work / "torch.sdb"
    analyze = [SONDE, "analyze", folder, "-o", out]
    subprocess.run([*map(str, analyze)], check=True, stdout=subprocess.DEVNULL)
    summary = json.loads(subprocess.run([*map(str, analyze), "--format", "json"], check=True,
                                        capture_output=True).stdout)
    variants = {"sonde analyze --no-cache": [([*analyze, "--no-cache"], b"")],
                "sonde analyze, symbols cached": [(analyze, b"")]}
    if shutil.which("addr2line"):
        variants["addr2line -f -i -C, the same addresses"] = [
            (["addr2line", "-f", "-i", "-C", "-e", module], "".join(f"{a:x}\n" for a in sorted(at)).encode())
            for module, at in asked.items()]
    if shutil.which("perf"):
        data = work / "perf.data"
        subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "1000", "-g", "-o", data, "--", PYTHON,
                        script], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        variants["perf script, frame pointers, the same program"] = [(["perf", "script", "-i", data], b"")]
    count = sum(map(len, asked.values()))
    print(f"\n| PyTorch training, 1 kHz: {summary['contexts']:,} contexts, {count:,} addresses "
          f"({ROUNDS} rounds) | wall | CPU |")
    print("|---|---|---|")
    for name, (wall, cpu) in rounds(variants).items():
        print(f"| {name} | {wall:.3f} s | {cpu:.3f} s |")


by_size()
torch()
shutil.rmtree(work)
