# SPDX-License-Identifier: Apache-2.0
"""What tests of CUDA (collect/gpu) share: what is compiled or run here is so once a session, however many tests look at it."""
from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Callable, Iterator

import pytest
from program import ROOT, WORKLOADS

if TYPE_CHECKING:
    from test_cuda import Ran

FAKE = ROOT / "tests/fake"


@pytest.fixture(scope="session", autouse=True)
def fake_cuda_is_looked_at_once() -> Iterator[None]:
    """Whether it is as its sources are; else each run of a program would look."""
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("SONDE_FAKE_CUDA"):
            done = subprocess.run([FAKE / "install.sh"], capture_output=True, text=True)
            if done.returncode == 0:
                patch.setenv("FAKE_CUDA_FOLDER", done.stdout.strip())
        yield


@pytest.fixture(scope="session")
def known_program(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("cuda") / "known"
    subprocess.run([FAKE / "run.sh", "nvcc", "-g", "-O1", "-arch=sm_90", "-o", output, WORKLOADS / "cuda/known.cu"], check=True)
    return output


@pytest.fixture(scope="session")
def known_run(known_program, tmp_path_factory) -> Callable[..., Ran]:
    """That program under `sonde run`: once for each list of arguments, options, fakes and variables. Nobody changes what is left of it."""
    from test_cuda import on_fakes

    @cache
    def run(*how: str, options: tuple[str, ...] = (), fakes: tuple[str, ...] = (), **environment: str) -> Ran:
        return on_fakes(tmp_path_factory.mktemp("known"), known_program, *how, options=options, fakes=fakes, **environment)
    return run


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Ran:
    """PyTorch: steps of training, and replays of a captured graph, node by node."""
    from test_cuda import NODES, TRAINING, on_fakes
    return on_fakes(tmp_path_factory.mktemp("trained"), *TRAINING, options=NODES)
