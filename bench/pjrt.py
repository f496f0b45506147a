#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What executions on plugins for XLA (PJRT) cost the host with Sonde: CPU time of the calling thread, in ns.

    bench/pjrt.py [ROUNDS]

First a loop in C on the fake plugin, whose executions take no time; then, where tests/fake/pjrt/plugins.sh has them and
tests/python_env.sh has JAX, a small compiled function on a real plugin for processors. Modes run in turns, each in a process of its own.
"""
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from turns import in_turns

ROOT = Path(__file__).resolve().parents[1]
SONDE = Path(os.environ.get("SONDE_BUILD", ROOT / "build")).resolve() / "src/cmd/sonde"
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
MODES = {"by itself": None, "native paths": [], "no native paths": ["--call-path", "python,operator"]}
JAX = """
import time, jax, jax.numpy as jnp
step = jax.jit(lambda v: v * 1.5 + 2)
v = step(jnp.ones(8)).block_until_ready()
parts = []
for _ in range(20):
    begun = time.thread_time_ns()
    for _ in range(500):
        v = step(v)
    parts.append((time.thread_time_ns() - begun) / 500)
    v.block_until_ready()
parts.sort()
print(round(parts[0]), round(parts[10]))
"""


def figures(options: "list[str] | None", command: "list[str]", environment: "dict[str, str]") -> "list[float]":
    with tempfile.TemporaryDirectory() as folder:
        measuring = [] if options is None else [SONDE, "run", "-q", "--no-analyze", "-o", f"{folder}/m", *options, "--"]
        done = subprocess.run([*map(str, measuring), *command], capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        sys.exit(done.stderr.strip() or f"{command[0]} failed")
    return [float(word) for word in done.stdout.split()]


def compare(what: str, command: "list[str]", environment: "dict[str, str]") -> None:
    rows = in_turns(MODES, ROUNDS, lambda mode: figures(MODES[mode], command, environment))
    own = min(rows["by itself"])[0], statistics.median(row[1] for row in rows["by itself"])
    print(f"{what:40} {'least':>7} {'added':>7} {'median':>7} {'added':>7} {'ratio':>7}")
    for mode, found in rows.items():
        least, median = min(found)[0], statistics.median(row[1] for row in found)
        print(f"  {mode:38} {least:7.0f} {least - own[0]:7.0f} {median:7.0f} {median - own[1]:7.0f} {median / own[1]:7.2f}")


with tempfile.TemporaryDirectory() as made:
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", f"{made}/plugin.so", ROOT / "tests/fake/pjrt/plugin.c"],
                   check=True)
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", f"{made}/bench", ROOT / "bench/pjrt_execute.c", "-ldl"], check=True)
    for depth in ("0", "30"):
        compare(f"C, {depth} functions below main", [f"{made}/bench", f"{made}/plugin.so", "100000", depth], {"PJRT_FAKE_INLINE": "1"})

plugins = subprocess.run([ROOT / "tests/fake/pjrt/plugins.sh"], capture_output=True, text=True)
python = subprocess.run([ROOT / "tests/python_env.sh", "jax"], capture_output=True, text=True)
if plugins.returncode or python.returncode:
    sys.exit(plugins.stderr.strip() or python.stderr.strip())
for path in sorted(Path(plugins.stdout.strip()).glob("**/*pjrt*.so")):
    compare(f"JAX on {path.name}", [python.stdout.strip(), "-c", JAX],
            {"PJRT_NAMES_AND_LIBRARY_PATHS": f"any:{path}", "JAX_PLATFORMS": "any"})
