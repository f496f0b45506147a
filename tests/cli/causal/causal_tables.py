# SPDX-License-Identifier: Apache-2.0
"""Tables whose causes are known, and graphs to compare with."""
from __future__ import annotations

import csv
import gzip
import itertools
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np


def write(path: Path, columns: Mapping[str, Iterable]) -> Path:
    """A table of these columns."""
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def chain(rows: int = 2000, seed: int = 1) -> dict[str, np.ndarray]:
    """`size` makes `bytes` more and `hits` less; `time` is of both; `noise` has nothing to do with them."""
    random = np.random.default_rng(seed)
    size = random.normal(size=rows)
    moved = 0.8 * size + 0.6 * random.normal(size=rows)
    hits = -0.6 * size + 0.8 * random.normal(size=rows)
    time = 0.7 * moved - 0.5 * hits + 0.4 * random.normal(size=rows)
    return {"noise": random.normal(size=rows), "time": time, "hits": hits, "bytes": moved, "size": size}


def pairs(found: dict) -> set[frozenset[str]]:
    return {frozenset((edge["from"], edge["to"])) for edge in found["edges"]}


def arrows(found: dict) -> set[tuple[str, str]]:
    return {(edge["from"], edge["to"]) for edge in found["edges"] if edge["directed"]}


def tuning(path: Path) -> tuple[list[str], list[dict[str, float]]]:
    """Of a file of Kernel Tuning Toolkit's: its parameters, and of each configuration these, counters and the duration."""
    rows = []
    for result in json.loads(gzip.open(path).read())["Results"]:
        if result.get("Status") not in (None, "Ok"):
            continue
        one = result["ComputationResults"][0]
        row = {parameter["Name"]: parameter["Value"] for parameter in result["Configuration"]}
        parameters = list(row)
        row |= {counter["Name"]: counter["Value"] for counter in one["ProfilingData"]["Counters"]}
        rows.append(row | {"Duration": one["Duration"]})
    return parameters, rows


def completed(nodes: list[str], edges: list[tuple[str, str]]) -> tuple[set[tuple[str, str]], set[frozenset[str]]]:
    """The directed and the undirected edges of all graphs that no data can tell from this one: colliders, then Meek's rules."""
    adjacent = {frozenset(edge) for edge in edges}
    directed = {(one, to) for to in nodes for one, other in itertools.permutations([a for a, b in edges if b == to], 2)
                if frozenset((one, other)) not in adjacent}
    open_edges = {edge for edge in adjacent if not directed & set(itertools.permutations(edge))}

    def must_be(a: str, b: str) -> bool:
        return any(((c, a) in directed and c != b and frozenset((c, b)) not in adjacent) or
                   ((a, c) in directed and (c, b) in directed) for c in nodes) or any(
            frozenset((a, c)) in open_edges and frozenset((a, d)) in open_edges and (c, b) in directed and
            (d, b) in directed and frozenset((c, d)) not in adjacent for c, d in itertools.combinations(nodes, 2))

    while found := next(((a, b) for edge in open_edges for a, b in itertools.permutations(edge) if must_be(a, b)), None):
        directed.add(found)
        open_edges.discard(frozenset(found))
    return directed, open_edges


def network(path: Path) -> tuple[list[str], list[tuple[str, str]]]:
    """The nodes and edges of a graph's file."""
    text = path.read_text()
    return re.search(r"Nodes:\n(.*)", text)[1].split(";"), re.findall(r"\d+\. (\S+) --> (\S+)", text)


def distance(found: dict, nodes: list[str], edges: list[tuple[str, str]]) -> int:
    """Pairs that are not as in the true graph's class: there or not, directed so or not."""
    def kinds(directed: set, open_edges: set) -> list[int]:
        return [1 if (a, b) in directed else 2 if (b, a) in directed else 3 if frozenset((a, b)) in open_edges else 0
                for a, b in itertools.combinations(nodes, 2)]
    own = kinds(arrows(found), {frozenset((e["from"], e["to"])) for e in found["edges"] if not e["directed"]})
    return sum(one != other for one, other in zip(own, kinds(*completed(nodes, edges)), strict=True))
