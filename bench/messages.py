# SPDX-License-Identifier: Apache-2.0
"""What recording a message costs: MPI ping-pong between two ranks, alone, profiled, and with messages over time; then
what all ranks do together, and one-sided accesses.

	python3 bench/messages.py [ROUND_TRIPS]

With each MPI that is installed; two tables for docs/results/messages.md. A round trip has two sends and two receives,
half of them on each rank. The least of five turns of three runs each, taken in turn.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SONDE_BUILD", ROOT / "build"))
SONDE = BUILD / "src/cmd/sonde"
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
SIZES = (8, 65536)


# what a turn of the loop calls, in tests/workloads/mpi/mpi_calls.c
CALLS = {"allreduce": ("MPI_Allreduce", 1), "iallreduce": ("MPI_Iallreduce, MPI_Wait", 2), "barrier": ("MPI_Barrier", 1),
         "put": ("MPI_Put, MPI_Win_flush", 2), "fetch": ("MPI_Fetch_and_op, MPI_Win_flush", 2)}
WAYS = ([], ["-q", "--no-analyze"], ["-q", "--no-analyze", "--trace=messages"])


def built(source: str, mpi: str, folder: Path) -> Path:
    program = folder / Path(source).stem
    subprocess.run([f"mpicc.{mpi}", "-O2", "-w", "-D_GNU_SOURCE", ROOT / "tests/workloads" / source, "-o", program, "-lpthread"], check=True)
    return program


def measured(mpi: str, folder: Path, way: int, *command: object) -> float:
    """What two ranks of the program print."""
    shutil.rmtree(folder / "run.sonde", ignore_errors=True)
    measure = [SONDE, "run", *WAYS[way], "-o", folder / "run", "--"] if way else []
    done = subprocess.run(["chrt", "-f", "20", f"mpirun.{mpi}", "-n", "2", *map(str, (*measure, *command))],
                          env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1]) / 1000


def stored(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("run.sonde/*-trace"))


def best_of(mpi: str, folder: Path, *command: object) -> list[float]:
    best = [float("inf")] * len(WAYS)
    for _ in range(3):
        for way in range(len(WAYS)):
            best[way] = min(best[way], measured(mpi, folder, way, *command))
    return best


def show(mpi: str, what: object, best: list[float], size: float) -> None:
    print(f"| {mpi} | {what} |" + "".join(f" {time:.2f} |" for time in best) + f" {size:.1f} |", flush=True)


def main() -> None:
    trips = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    present = [mpi for mpi in ("mpich", "openmpi") if shutil.which(f"mpicc.{mpi}")]
    print("| MPI | bytes | alone, us | profile, us | messages over time, us | bytes a recorded end |\n|---|---|---|---|---|---|")
    for mpi in present:
        with tempfile.TemporaryDirectory() as name:
            program = built("mpi_messages.c", mpi, Path(name))
            for size in SIZES:
                best = best_of(mpi, Path(name), program, "pingpong", trips, size)
                # two messages a trip, five turns, each at both ends
                show(mpi, size, best, stored(Path(name)) / (trips * 5 * 4))
    print("\n| MPI | calls | alone, us | profile, us | messages over time, us | bytes a call |\n|---|---|---|---|---|---|")
    for mpi in present:
        with tempfile.TemporaryDirectory() as name:
            program = built("mpi_calls.c", mpi, Path(name))
            for call, (calls, count) in CALLS.items():
                best = best_of(mpi, Path(name), program, "cost", trips, call)
                show(mpi, calls, best, stored(Path(name)) / (trips * 5 * 2 * count))


if __name__ == "__main__":
    main()
