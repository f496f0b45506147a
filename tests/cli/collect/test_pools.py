# SPDX-License-Identifier: Apache-2.0
"""What threads of Python's pools do stands below the line that started them."""
from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

import program

WORKLOAD = program.WORKLOADS / "python/pools.py"


@pytest.mark.parametrize("options", [(), ("--call-path", "python")])
def test_work_is_below_the_line_that_started_its_thread(tmp_path: Path, options: tuple[str, ...]) -> None:
    marks = {number: line.split("# here: ")[1] for number, line in enumerate(WORKLOAD.read_text().splitlines(), 1)
             if "# here: " in line}
    program.run(tmp_path, sys.executable, WORKLOAD, options=("-F", "497", *options))
    counts: Counter[str] = Counter()
    for frames, value in program.paths(tmp_path):
        path = [frame for frame in frames if frame["kind"] == "python" and frame.get("file") == str(WORKLOAD)]
        if path and path[-1]["name"] == "busy":
            assert [frame["name"] for frame in path][:2] == ["<module>", "main"], path
            counts[" ".join(marks[frame["line"]] for frame in path if frame["line"] in marks)] += value["count"]
    assert set(counts) == {"thread", "outer inner", "executor", "pool"}, counts
    assert min(counts.values()) > sum(counts.values()) / 12, counts
