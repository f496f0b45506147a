#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PC beside causal-learn: time, and whether both find the same skeleton.

Rows of random linear models: each variable has on average two causes among those before it, with effects of 0.3 to 0.9
and either sign, and normal noise; columns are shuffled. Both programs test by Fisher's z at the same level, to any depth.

causal-learn keeps the edges to remove in a list and looks for each pair in it, which takes hours at 1,000 columns. So it is
run as it is up to AS_IS columns, and at all sizes with that list changed to one that also has a set of its items: its
results are the same. Its time is that of the processor, of which it uses one, so that it may run beside others. Beyond DIRECTED columns it finds the skeleton alone, as it looks for colliders among all pairs of edges.

Usage: bench/causal_pc.py BUILD PYTHON [COLUMNS...]   (PYTHON has causal-learn; BUILD is a build of Sonde)
Prints a table in Markdown. SEED, ROWS, ALPHA, AS_IS and DIRECTED are read from the environment.
"""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUILD, PYTHON = Path(sys.argv[1]).resolve(), sys.argv[2]
COLUMNS = [int(c) for c in sys.argv[3:]] or [100, 200, 400, 1000]
SEED, ROWS = os.environ.get("SEED", "1"), os.environ.get("ROWS", "1600")
ALPHA, AS_IS = os.environ.get("ALPHA", "0.01"), int(os.environ.get("AS_IS", "200"))
DIRECTED = int(os.environ.get("DIRECTED", "200"))

SIMULATE = """
import sys
import numpy as np
path, columns, rows, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
random = np.random.default_rng(seed)
edges = np.triu(random.random((columns, columns)) < 4 / (columns - 1), 1)
effects = edges * random.uniform(.3, .9, edges.shape) * random.choice([-1, 1], edges.shape)
values = np.zeros((rows, columns))
for column in range(columns):
    values[:, column] = values @ effects[:, column] + random.normal(size=rows)
order = random.permutation(columns)
values = values[:, order]
names = [f"X{c}" for c in range(columns)]
np.savetxt(path + ".csv", values, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
np.save(path + ".npy", values)
true = edges[np.ix_(order, order)]
print("\\n".join(f"{a} {b}" for a, b in np.argwhere(true)))
"""
PEER = """
import inspect, sys, time
import numpy as np
from causallearn.utils.PCUtils import Meek, SkeletonDiscovery, UCSepset
from causallearn.utils.cit import CIT
path, alpha, changed = sys.argv[1], float(sys.argv[2]), sys.argv[3] == "changed"
values = np.load(path + ".npy")

class Listed(list):
    def __init__(self):
        self.items = set()
    def append(self, item):
        super().append(item)
        self.items.add(item)
    def __contains__(self, item):
        return item in self.items

find = SkeletonDiscovery.skeleton_discovery
if changed:
    source = inspect.getsource(SkeletonDiscovery)
    assert source.count("edge_removal = []") == 1
    module = {"Listed": Listed}
    exec(compile(source.replace("edge_removal = []", "edge_removal = Listed()"), "SkeletonDiscovery", "exec"), module)
    find = module["skeleton_discovery"]
start = time.process_time()
graph = find(values, alpha, CIT(values, "fisherz"), True, show_progress=False)
skeleton = time.process_time()
print("time skeleton", skeleton - start)
if sys.argv[4] == "directed":
    graph = Meek.meek(UCSepset.uc_sepset(graph, 2))
    print("time orientation", time.process_time() - skeleton)
marks = graph.G.graph
for a, b in np.argwhere(np.triu(marks != 0)):
    print("edge" if marks[a, b] * marks[b, a] < 0 else "open", *((b, a) if marks[b, a] < 0 < marks[a, b] else (a, b)))
"""


def python(code: str, *arguments: str) -> str:
    return subprocess.run([PYTHON, "-W", "ignore", "-c", code, *arguments], check=True, capture_output=True, text=True,
                          env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}).stdout


def read(output: str) -> tuple[dict[str, float], set[tuple[int, int]], set[tuple[int, int]]]:
    times: dict[str, float] = {}
    directed, undirected = set(), set()
    for line in output.splitlines():
        kind, *rest = line.split()
        if kind == "time":
            times[rest[0]] = float(rest[1])
        elif kind in ("edge", "open"):
            pair = int(rest[0].lstrip("X")), int(rest[1].lstrip("X"))
            (directed if kind == "edge" else undirected).add(pair)
    return times, directed, undirected


def skeleton(graph: tuple[dict[str, float], set[tuple[int, int]], set[tuple[int, int]]]) -> set[frozenset[int]]:
    return {frozenset(pair) for pair in graph[1] | graph[2]}


def directions(directed: set[tuple[int, int]], true: set[tuple[int, int]]) -> str:
    return f"{len(directed & true):,} of {len(directed):,}"


def sonde(path: str, threads: int) -> tuple[dict[str, float], set[tuple[int, int]], set[tuple[int, int]]]:
    start = time.monotonic()
    output = subprocess.run([BUILD / "bench/bench-causal-pc", path + ".csv", "fisher", ALPHA, "1000", str(threads)],
                            check=True, capture_output=True, text=True).stdout
    graph = read(output)
    graph[0]["process"] = time.monotonic() - start
    return graph


print("| columns | program | skeleton, s | directions, s | both, s | times Sonde's | edges | true ones | directed so in truth |")
print("|---|---|---|---|---|---|---|---|---|")
with tempfile.TemporaryDirectory(prefix="sonde-bench-") as folder:
    path = f"{folder}/table"
    for columns in COLUMNS:
        truth = {(int(a), int(b)) for a, b in (line.split() for line in python(SIMULATE, path, str(columns), ROWS, SEED).splitlines())}
        pairs = {frozenset(pair) for pair in truth}
        ours = {threads: sonde(path, threads) for threads in (1, 2)}
        reference = 0.0
        for threads, graph in ours.items():
            seconds = graph[0]["prepare"] + graph[0]["pc"]
            reference = reference or seconds
            print(f"| {columns:,} | Sonde, {threads} thread{'s' * (threads > 1)} | | | {seconds:.3f} (process, with reading CSV: {graph[0]['process']:.2f}) | "
                  f"{seconds / reference:.2g} | {len(skeleton(graph)):,} | {len(skeleton(graph) & pairs):,} of {len(pairs):,} | "
                  f"{directions(graph[1], truth)} |", flush=True)
        assert ours[1][1:] == ours[2][1:], "threads make a difference"
        for way in (["as it is"] if columns <= AS_IS else []) + ["changed"]:
            peer = read(python(PEER, path, ALPHA, way, "directed" if columns <= DIRECTED else "skeleton"))
            seconds = peer[0]["skeleton"] + peer[0].get("orientation", 0)
            after = [f"{peer[0]['orientation']:.1f}", f"{seconds:.1f}"] if "orientation" in peer[0] else ["not run", ""]
            print(f"| {columns:,} | causal-learn, {way} | {peer[0]['skeleton']:.1f} | {' | '.join(after)} | "
                  f"{seconds / reference:,.0f} | {len(skeleton(peer)):,} | {len(skeleton(peer) & pairs):,} of {len(pairs):,} | "
                  f"{directions(peer[1], truth) if 'orientation' in peer[0] else ''} |", flush=True)
            assert skeleton(peer) == skeleton(ours[1]), f"skeletons differ in {len(skeleton(peer) ^ skeleton(ours[1]))} edges"
print("\nAll skeletons of one size are the same.")
