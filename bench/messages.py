# SPDX-License-Identifier: Apache-2.0
"""What recording a message costs: MPI ping-pong between two ranks, alone, profiled, and with messages over time.

	python3 bench/messages.py [ROUND_TRIPS]

With each MPI that is installed; a table for docs/results/messages.md. A round trip has two sends and two receives,
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


def main() -> None:
    trips = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    print("| MPI | bytes | alone, us | profile, us | messages over time, us | bytes a recorded end |")
    print("|---|---|---|---|---|---|")
    for mpi in ("mpich", "openmpi"):
        if not shutil.which(f"mpicc.{mpi}"):
            print(f"{mpi}: not here", file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "messages"
            subprocess.run([f"mpicc.{mpi}", "-O2", "-D_GNU_SOURCE", ROOT / "tests/workloads/mpi_messages.c", "-o", program, "-lpthread"], check=True)
            for size in SIZES:
                best = [float("inf")] * 3
                stored = 0
                for _ in range(3):
                    for way in range(3):
                        shutil.rmtree(Path(folder) / "run.sonde", ignore_errors=True)
                        trace = ["--trace=messages"] if way == 2 else []
                        measure = [SONDE, "run", "-q", "--no-analyze", *trace, "-o", Path(folder) / "run", "--"] if way else []
                        done = subprocess.run(["chrt", "-f", "20", f"mpirun.{mpi}", "-n", "2", *measure, program, "pingpong", str(trips), str(size)],
                                              env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, check=True)
                        best[way] = min(best[way], float(done.stdout.split()[-1]) / 1000)
                    stored = sum(path.stat().st_size for path in Path(folder).glob("run.sonde/*-trace"))
                # two messages a trip, five turns, each at both ends
                print(f"| {mpi} | {size} | {best[0]:.2f} | {best[1]:.2f} | {best[2]:.2f} | {stored / (trips * 5 * 4):.1f} |")


if __name__ == "__main__":
    main()
