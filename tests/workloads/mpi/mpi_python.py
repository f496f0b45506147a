# SPDX-License-Identifier: Apache-2.0
"""A ring of messages through mpi4py: arrays with tag 1, and objects, whose size the receiver finds out, with tag 2."""
import array

from mpi4py import MPI

WORLD = MPI.COMM_WORLD


def pass_on(number: int) -> float:
    own, other = array.array("d", [WORLD.rank] * 100), array.array("d", [0] * 100)
    to, source = (WORLD.rank + 1) % WORLD.size, (WORLD.rank - 1) % WORLD.size
    request = WORLD.Isend([own, MPI.DOUBLE], dest=to, tag=1)
    WORLD.Recv([other, MPI.DOUBLE], source=source, tag=1)
    request.Wait()
    request = WORLD.isend({"from": WORLD.rank, "number": number}, dest=to, tag=2)
    found = WORLD.recv(source=source, tag=2)
    request.wait()
    return other[0] + found["number"]


total = sum(pass_on(number) for number in range(5))
everybody = WORLD.allreduce(total)
if WORLD.rank == 0:
    print("total", everybody)
