# SPDX-License-Identifier: Apache-2.0
"""Recursions of any depth: the path is whole, from the first function to the innermost, and nothing is counted as lost."""
from __future__ import annotations

import sys
from pathlib import Path

import measured
import pytest
from program import compiled

LOST = ("path-too-deep", "unwind-truncated", "python-unreadable")


def lost(m: measured.Measurement) -> dict[str, int]:
    return {cause: m.drops[cause] for cause in LOST if m.drops.get(cause)}


@pytest.mark.parametrize("kind, depth", [("self", 100), ("self", 1020), ("self", 5000), ("self", 50_000), ("mutual", 20_000)])
def test_recursion_in_c(tmp_path, kind, depth):
    """All of the time is at two depths of one path, which begins where every thread does, whatever the depth."""
    program = compiled("collect/deep_recursion.c", "-O1", "-fno-optimize-sibling-calls")
    done, m = measured.run(tmp_path / "m", program, kind, str(depth), "600")
    assert done.returncode == 0
    assert lost(m) == {}
    frames_each = 2 if kind == "mutual" else 1
    sampled = [(c.values["cpu-time"].sum, len(c.path)) for c in m.contexts
               if "cpu-time" in c.values and len(c.path) >= depth // 2 * frames_each]
    total = m.total("cpu-time").sum
    deep = sum(value for value, length in sampled if length >= depth * frames_each)
    half = sum(value for value, length in sampled if length < depth * frames_each)
    assert deep + half > 0.9 * total
    assert deep / (deep + half) == pytest.approx(2 / 3, abs=0.1)
    # spin and what it calls below, the thread's start above: no more than a few frames beside the recursion
    assert all(length < depth * frames_each + 16 for _, length in sampled)


RECURSION = """
import sys, threading, time
def spin():
    end = time.thread_time() + 0.4
    while time.thread_time() < end:
        pass
def down(left):
    if left:
        down(left - 1)
    else:
        spin()
depth = int(sys.argv[1])
sys.setrecursionlimit(depth + 100)
threading.stack_size(1 << 29)
thread = threading.Thread(target=down, args=(depth,))
thread.start()
thread.join()
"""


@pytest.mark.parametrize("depth", [100, 1020, 5000, 20_000])
def test_recursion_in_python(tmp_path, depth):
    script = Path(tmp_path / "recursion.py")
    script.write_text(RECURSION)
    done, m = measured.run(tmp_path / "m", "/usr/bin/python3", script, str(depth))
    assert done.returncode == 0, done.stderr
    assert lost(m) == {}
    deep = [c for c in m.contexts if "cpu-time" in c.values and any(f.name == "spin" for f in c.path)]
    assert sum(c.values["cpu-time"].sum for c in deep) > 300e6
    for context in deep:
        names = [f.name for f in context.path if f.kind == "python"]
        assert names.count("down") == depth + 1
        # the thread is below the line that started it
        assert names[0] == "<module>" and names[-1] == "spin"
        assert any(name in ("Thread._bootstrap", "_bootstrap") for name in names)
