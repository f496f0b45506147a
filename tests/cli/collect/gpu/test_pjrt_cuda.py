# SPDX-License-Identifier: Apache-2.0
"""A plugin for XLA whose executions launch kernels on CUDA devices that are not there: the kernels are below the execution."""
from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import program
from test_cuda import FAKE, on_fakes

SOURCES = program.ROOT / "tests/fake/pjrt"
ROUNDS = 10

pytestmark = pytest.mark.skipif(not os.environ.get("SONDE_FAKE_CUDA"),
                                reason="SONDE_FAKE_CUDA is not set (tests/fake/install.sh prepares a CUDA without a GPU)")


@pytest.fixture(scope="module")
def plugin(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pjrt")
    made = folder / "pjrt_cuda_plugin.so"
    subprocess.run(["cc", "-g", "-D_GNU_SOURCE", "-fPIC", "-c", "-o", folder / "plugin.o", SOURCES / "plugin.c"], check=True)
    subprocess.run([FAKE, "nvcc", "-g", "-arch=sm_90", "-shared", "-Xcompiler", "-fPIC", "-cudart", "shared", "-o", made,
                    SOURCES / "kernels.cu", folder / "plugin.o", "-lpthread"], check=True)
    return made


def test_kernels_are_below_executions(tmp_path: Path, plugin: Path) -> None:
    main = program.compiled("pjrt/main.c", "-O1")
    ran = on_fakes(tmp_path, main, plugin, str(ROUNDS))
    table = sum(int(row["count"]) for row in ran.table if row["kernel"].startswith("loop_fusion"))
    assert table == 2 * (2 * ROUNDS + 1)
    found: Counter[tuple[str, ...]] = Counter()
    for frames, value in program.paths(tmp_path, "kernel-time"):
        # neither CUDA's calls nor a second operator are in between
        found[tuple(frame["name"].split("(")[0] for frame in frames[-3:])] += value["count"]
    assert found == {("jit_long", "PJRT_LoadedExecutable_Execute", "loop_fusion"): 2 * (ROUNDS + 1),
                     ("jit_short", "PJRT_LoadedExecutable_Execute", "loop_fusion"): 2 * ROUNDS}
    executions = {frames[-1]["name"]: value["count"] for frames, value in program.paths(tmp_path, "graph-time")}
    assert executions == {"jit_long": ROUNDS, "jit_short": ROUNDS}
