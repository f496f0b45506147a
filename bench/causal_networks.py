#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Structural Hamming distance and skeleton F1 of `sonde causal` on networks whose graph is known, beside causal-learn's PC.

Each round shuffles the columns, and asks both for a graph of the same table. Sonde's edges are those of its JSON, in at least half of the samples,
directed as it says; beside them the graph of all rows. The distance counts each pair of variables that differs from the completed graph of the
network's class, once. Of "Sachs, interventions told" both also get, as a first tier, columns that say which of the nine interventions a row is of; edges of these are left out.

Usage: causal_networks.py DATA [--rounds N] [--samples N] [--peer PYTHON] [--results FILE] [--page FILE]
DATA is a folder with bnlearn/NAME.txt, bnlearn/NAME.graph.txt and sachs/. PYTHON has causal-learn. Results are appended to FILE, a line each; --page
writes all of FILE as docs/results/causal-networks.md.
"""
import argparse
import itertools
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("SONDE_BUILD", ROOT / "build"))
# Of the interventions on the cells of Sachs: "cd3_cd28" was in all but those with "pma" and "b2camp", and would be determined by these.
TOLD = ["icam2", "aktinhib", "g0076", "psitect", "u0126", "ly", "pma", "b2camp"]
LEFT_OUT = "cd3_cd28"
PEER = r"""
import sys, json, time
import numpy as np
from causallearn.graph.GraphNode import GraphNode
from causallearn.search.ConstraintBased.PC import pc
from causallearn.utils.PCUtils.BackgroundKnowledge import BackgroundKnowledge
path, test, *told = sys.argv[1:]
names = open(path).readline().strip().split(",")
data = np.loadtxt(path, delimiter=",", skiprows=1)
known = BackgroundKnowledge() if told else None
for name in names if told else []:
    known.add_node_to_tier(GraphNode(name), 0 if name in told else 1)
for one in told:
    for other in set(told) - {one}:
        known.add_forbidden_by_node(GraphNode(one), GraphNode(other))
begin = time.monotonic()
graph = pc(data, 0.05, test, stable=True, show_progress=False, background_knowledge=known, node_names=names).G.graph
taken = time.monotonic() - begin
edges = []
for i in range(len(graph)):
    for j in range(i):
        if graph[i, j] == 1 and graph[j, i] == -1:
            edges.append([names[j].strip(), names[i].strip(), 1])
        elif graph[j, i] == 1 and graph[i, j] == -1:
            edges.append([names[i].strip(), names[j].strip(), 1])
        elif graph[i, j] or graph[j, i]:
            edges.append([names[i].strip(), names[j].strip(), 0])
print(json.dumps({"edges": edges, "seconds": taken}))
"""


class Graph:
    """Directed pairs, and pairs without a direction as sets."""

    def __init__(self, edges):
        self.directed = {(a, b) for a, b, is_directed in edges if is_directed}
        self.open = {frozenset((a, b)) for a, b, is_directed in edges if not is_directed}

    def skeleton(self):
        return {frozenset(edge) for edge in self.directed} | self.open

    def at(self, pair):
        a, b = sorted(pair)
        return ((a, b) in self.directed, (b, a) in self.directed, pair in self.open)


def completed(arrows):
    """The graph of the class of a directed acyclic graph: its v-structures, and what Meek's rules direct then."""
    parents = {}
    for a, b in arrows:
        parents.setdefault(b, set()).add(a)
    skeleton = {frozenset(arrow) for arrow in arrows}
    directed = set()
    for child, causes in parents.items():
        for a, b in itertools.combinations(causes, 2):
            if frozenset((a, b)) not in skeleton:
                directed |= {(a, child), (b, child)}
    nodes = sorted({node for arrow in arrows for node in arrow})
    changed = True
    while changed:
        changed = False
        still = skeleton - {frozenset(edge) for edge in directed}
        for pair in still:
            for a, b in itertools.permutations(pair):
                one = any((c, a) in directed and frozenset((c, b)) not in skeleton for c in nodes)
                two = any((a, c) in directed and (c, b) in directed for c in nodes)
                three = [c for c in nodes if frozenset((a, c)) in still and (c, b) in directed]
                has_three = any(frozenset(two_of) not in skeleton for two_of in itertools.combinations(three, 2))
                if (one or two or has_three) and (b, a) not in directed and (a, b) not in directed:
                    directed.add((a, b))
                    changed = True
    return Graph([(a, b, 1) for a, b in directed] +
                 [(*pair, 0) for pair in skeleton - {frozenset(edge) for edge in directed}])


def measure(found, true):
    mine, wanted = found.skeleton(), true.skeleton()
    distance = sum(found.at(pair) != true.at(pair) for pair in mine | wanted)
    both = len(mine & wanted)
    return {"shd": distance, "f1": 2 * both / max(len(mine) + len(wanted), 1)}


def read_truth(path):
    lines = path.read_text().split("Graph Edges:")[1].splitlines()
    return completed([tuple(line.split(". ", 1)[1].split(" --> ")) for line in lines if "-->" in line])


def networks(data):
    for graph in sorted((data / "bnlearn").glob("*.graph.txt"), key=lambda path: path.stat().st_size):
        yield graph.name.split(".")[0], graph.with_name(graph.name.replace(".graph", "")), graph, "chisq", None, []
    sachs = data / "sachs"
    graph = sachs / "sachs.2005.ground.truth.graph.txt"
    for name, rows in (("Sachs, measured", None), ("Sachs, first 853 rows", 853)):
        yield name, sachs / "sachs.2005.continuous.txt", graph, "fisherz", rows, []
    yield "Sachs, interventions told", sachs / "sachs.2005.with.jittered.experimental.continuous.txt", graph, "fisherz", None, TOLD


def shuffled(path, seed, count, told, to):
    """What is told is 0 or 1, to which the file adds noise."""
    names, *rows = [line.split() for line in path.read_text().splitlines()][:count and count + 1]
    order = [column for column, name in enumerate(names) if name != LEFT_OUT]
    random.Random(seed).shuffle(order)
    rows = [[str(round(float(value))) if name in told else value for name, value in zip(names, row)] for row in rows]
    to.write_text("".join(",".join(row[column] for column in order) + "\n" for row in [names, *rows]))


def without(told, edges):
    return Graph([edge for edge in edges if not {edge[0], edge[1]} & set(told)])


def of_sonde(table, samples, told):
    begin = time.monotonic()
    tier = ["--tier", ",".join(told)] if told else []
    done = subprocess.run([BUILD / "src/cmd/sonde", "causal", table, "--samples", str(samples), "--format", "json", *tier],
                          capture_output=True, text=True, check=True)
    edges = json.loads(done.stdout)["edges"]
    return without(told, [(edge["from"], edge["to"], edge["directed"]) for edge in edges if edge["frequency"] >= 0.5]), \
        time.monotonic() - begin


def of_all_rows(table):
    begin = time.monotonic()
    done = subprocess.run([BUILD / "bench/bench-causal-graph", table], capture_output=True, text=True, check=True)
    edges = [line.split(" ") for line in done.stdout.splitlines()]
    return Graph([(a, b, int(is_directed)) for a, b, is_directed in edges]), time.monotonic() - begin


def of_peer(table, python, test, told):
    done = subprocess.run([python, "-W", "ignore", "-c", PEER, table, test, *told], capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout.splitlines()[-1])
    return without(told, answer["edges"]), answer["seconds"]


def run_round(options, seed, note):
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "table.csv"
        for name, path, graph, test, rows, told in networks(options.data):
            if options.only and name not in options.only:
                continue
            shuffled(path, seed, rows, told, table)
            true = read_truth(graph)
            ways = {} if told else {"all rows": lambda: of_all_rows(table)}
            if options.samples:
                ways["samples"] = lambda: of_sonde(table, options.samples, told)
            if options.peer:
                ways["causal-learn"] = lambda: of_peer(table, options.peer, test, told)
            for way, ask in ways.items():
                found, seconds = ask()
                note({"network": name, "variables": len(true.skeleton() and {node for pair in true.skeleton() for node in pair}),
                      "edges": len(true.skeleton()), "seed": seed, "way": way, "seconds": round(seconds, 2),
                      "samples": options.samples if way == "samples" else 0, **measure(found, true)})


def spread(values, digits):
    deviation = statistics.stdev(values) if len(values) > 1 else 0
    return f"{statistics.mean(values):.{digits}f} ± {deviation:.{digits}f}"


def write_page(results, page, samples):
    ways = ["samples", "all rows", "causal-learn"]
    names = list(dict.fromkeys(result["network"] for result in results))
    lines = ["| network | variables, edges | rounds | " +
             " | ".join(f"{way}: distance | skeleton F1" for way in ways) + " |",
             "|---|---|---|" + "---|---|" * len(ways)]
    for name in names:
        of = [result for result in results if result["network"] == name]
        cells, rounds = [], []
        for way in ways:
            mine = [result for result in of if result["way"] == way]
            rounds.append(str(len(mine)))
            cells += [spread([result["shd"] for result in mine], 1), spread([result["f1"] for result in mine], 3)] \
                if mine else ["not run", ""]
        lines.append(f"| {name} | {of[0]['variables']}, {of[0]['edges']} | {', '.join(rounds)} | {' | '.join(cells)} |")
    before = page.read_text() if page.exists() else ""
    marks = "<!-- table -->\n", "<!-- end of table -->\n"
    head, tail = (before.split(marks[0])[0], before.split(marks[1])[1]) if marks[1] in before else (before, "")
    machine = f"Measured on {os.cpu_count()} processors ({platform.machine()}), shared with other work, {samples} samples.\n"
    page.write_text(head + marks[0] + "\n".join(lines) + "\n\n" + machine + marks[1] + tail)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1, help="seed of the first round")
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--only", action="append", help="a network")
    parser.add_argument("--peer")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("causal-networks.jsonl"))
    parser.add_argument("--page", type=pathlib.Path)
    options = parser.parse_args()
    with options.results.open("a") as file:
        def note(result):
            print(json.dumps(result), file=file, flush=True)
            print(result, file=sys.stderr)
        for seed in range(options.first, options.first + options.rounds):
            run_round(options, seed, note)
    if options.page:
        write_page([json.loads(line) for line in options.results.read_text().splitlines()], options.page, options.samples)


if __name__ == "__main__":
    main()
