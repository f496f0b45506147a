#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long the causal order of columns takes, beside Python's lingam package on the same table, and that both are the same order.

bench/causal_lingam.py --python VENV/bin/python [--build DIR] [--columns N] [--rows N] [--seed N] [--repeat N]

The Python that is given has lingam installed (pip install lingam). The table is drawn from a linear model in which each column has
up to three causes, with uniform noise, its columns shuffled and of variance 1. Ours runs before and after the package, so that what else
the machine does meets both; the times are those of the search for the order alone in the package, of all that sn_lingam does (order, effects,
tests) in ours.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

DRAW = """
import sys
import numpy as np
path, columns, rows, seed = sys.argv[1], *map(int, sys.argv[2:])
random = np.random.default_rng(seed)
place = random.permutation(columns)
table = np.zeros((rows, columns))
for own in range(columns):
    column = random.uniform(-1, 1, rows)
    for cause in random.choice(own, min(own, 3), replace=False) if own else []:
        column += random.choice([-1, 1]) * random.uniform(.5, 1.5) * table[:, place[cause]]
    table[:, place[own]] = column / column.std()
table.T.astype("<f8").tofile(path)
"""

PEER = """
import sys
import time
import lingam
import numpy as np
path, columns, rows = sys.argv[1], *map(int, sys.argv[2:])
table = np.fromfile(path, "<f8").reshape(columns, rows).T.copy()
model = lingam.DirectLiNGAM()
model._estimate_adjacency_matrix = lambda table, prior_knowledge=None: model
start = time.perf_counter()
model.fit(table)
print(time.perf_counter() - start)
print(*model._causal_order)
print(lingam.__version__, np.__version__)
"""


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="of an environment with lingam")
    parser.add_argument("--build", default=ROOT / "build", type=Path)
    parser.add_argument("--columns", default=100, type=int)
    parser.add_argument("--rows", default=10000, type=int)
    parser.add_argument("--seed", default=1, type=int)
    parser.add_argument("--repeat", default=3, type=int, help="of ours, before the package and after it")
    options = parser.parse_args()
    size = [options.columns, options.rows]
    with tempfile.TemporaryDirectory() as folder:
        table = os.path.join(folder, "table")
        run(options.python, "-c", DRAW, table, *size, options.seed)
        orders, seconds = {}, {1: [], 2: []}

        def ours():
            for _ in range(options.repeat):
                for threads, taken in seconds.items():
                    lines = run(options.build / "bench/causal-lingam", table, *size, threads)
                    taken.append(float(lines[0]))
                    orders[f"ours, {threads} threads"] = lines[1].split()

        ours()
        peer = run(options.python, "-c", PEER, table, *size)
        orders["lingam"] = peer[1].split()
        ours()
    if len({tuple(order) for order in orders.values()}) != 1:
        sys.exit(f"the orders differ: {orders}")
    taken = float(peer[0])
    print(f"{options.columns} columns x {options.rows} rows, the same order by all; lingam and numpy {peer[2]}")
    print("| what | seconds, median (least to most) | lingam takes longer |\n|---|---|---|")
    print(f"| lingam | {taken:.1f} | |")
    for threads, times in seconds.items():
        median = statistics.median(times)
        print(f"| ours, {threads} threads | {median:.2f} ({min(times):.2f} to {max(times):.2f}) | {taken / median:.0f}x |")


if __name__ == "__main__":
    main()
