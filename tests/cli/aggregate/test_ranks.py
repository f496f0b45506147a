# SPDX-License-Identifier: Apache-2.0
"""How the ranks of an analysis talk (src/aggregate/comm_mpi.c), alone, with messages of several parts."""
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import BUILD, ROOT, clean_environment

MPICC = next((name for name in ("mpicc.openmpi", "mpicc") if shutil.which(name)), None)
MPIRUN = next((name for name in ("mpirun.openmpi", "mpirun") if shutil.which(name)), None)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not MPICC or not MPIRUN:
        pytest.skip("no mpicc and mpirun here")
    sources = os.environ.get("SONDE_SOURCES", ROOT)
    program = tmp_path_factory.mktemp("comm") / "comm-known"
    subprocess.run([MPICC, "-std=gnu17", "-D_GNU_SOURCE", "-DPART_BYTES=8ul", "-g", "-I", f"{sources}/src", "-o", program,
                    ROOT / "tests/workloads/formats/comm_known.c", f"{sources}/src/aggregate/comm_mpi.c", f"{sources}/src/base/peers/peers.c", f"{sources}/src/base/error.c", f"{sources}/src/base/utf8.c"], check=True)
    return program


def run(known: Path, ranks: int, *before: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([MPIRUN, "-n", str(ranks), *before, known], capture_output=True, text=True, timeout=120,
                          env=clean_environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                                OMPI_MCA_rmaps_base_oversubscribe="1", **variables), stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_what_ranks_tell_each_other(known: Path, ranks: int) -> None:
    done = run(known, ranks)
    assert (done.returncode, done.stdout) == (0, f"{ranks} ranks, one host\n"), done.stderr


def test_one_of_them_is_elsewhere(known: Path) -> None:
    done = run(known, 2, "bash", "-c", '[ $OMPI_COMM_WORLD_RANK = 1 ] && export SONDE_MPI_HOSTS=many; exec "$0"')
    assert (done.returncode, done.stdout) == (0, "2 ranks, many hosts\n"), done.stderr
