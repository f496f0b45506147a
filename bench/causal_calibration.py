#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How true `sonde causal` is on simulated models: of the edges said to be found in 85 to 95 % of the samples, what part there is.

Each table comes from a random acyclic model of its own; its columns are standardised and in random order. Counted are edges by the decile of their
frequency, directions by the frequency of the direction, signs, and, of tables of independent columns, edges and causes that are named.

Usage: causal_calibration.py [--tables N] [--samples N] [--only KIND] [--results FILE] [--page FILE] [--sonde FILE]
Results are appended to FILE, a line for each table; --page writes all of FILE as docs/results/causal-calibration.md.
"""
import argparse
import collections
import json
import math
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("SONDE_BUILD", ROOT / "build"))
# variables, rows, noise, function, what else is done to the table
KINDS = {
    "linear, Gaussian": (10, 1000, "normal", "linear", ""),
    "linear, Gaussian, 30 variables": (30, 1000, "normal", "linear", ""),
    "linear, Gaussian, 100 variables": (100, 1000, "normal", "linear", ""),
    "linear, Gaussian, 200 variables": (200, 1000, "normal", "linear", ""),
    "linear, Gaussian, 100 rows": (10, 100, "normal", "linear", ""),
    "linear, Laplace": (10, 1000, "laplace", "linear", ""),
    "linear, exponential": (10, 1000, "exponential", "linear", ""),
    "monotone": (10, 1000, "normal", "tanh", ""),
    "not monotone": (10, 1000, "normal", "square", ""),
    "spoiled": (10, 1000, "normal", "linear", "spoiled"),
    "categories": (10, 1000, "normal", "linear", "categories"),
    "more variables than rows": (100, 60, "normal", "linear", ""),
    "runs": (10, 1000, "normal", "linear", "runs"),
    "runs, taken as independent": (10, 1000, "normal", "linear", "runs untold"),
    "independent": (20, 1000, "normal", "none", ""),
    "independent, runs": (10, 1000, "normal", "none", "runs"),
    "independent, runs taken as independent": (10, 1000, "normal", "none", "runs untold"),
    "independent, 100 rows": (20, 100, "normal", "none", ""),
    "independent, heavy tails and ties": (20, 1000, "cauchy", "none", "ties"),
    "independent, more variables than rows": (100, 60, "normal", "none", ""),
}
PARENTS = 1.5  # of a variable, on average
RUNS = 40
OF_A_RUN = 0.9  # of the variance of what is drawn for every other column, where rows are of runs


def run_of(rows):
    return np.arange(rows) * RUNS // rows


def simulate(kind, seed):
    """Columns by name, and the true arrows with their signs (0: none)."""
    variables, rows, noise, function, more = KINDS[kind]
    draw = np.random.default_rng([seed, sum(map(ord, kind))])
    values, arrows = np.empty((variables, rows)), {}
    for child in range(variables):
        drawn = {"normal": draw.normal, "laplace": draw.laplace, "exponential": lambda size: draw.exponential(size=size) - 1,
                 "cauchy": draw.standard_cauchy}[noise](size=rows)
        if more.startswith("runs") and child % 2 == 0:
            drawn = math.sqrt(OF_A_RUN) * draw.normal(size=RUNS)[run_of(rows)] + math.sqrt(1 - OF_A_RUN) * drawn
        if function != "none" and child:
            part = min(PARENTS * variables / (variables - 1) * 2 / variables, 1)
            for parent in np.flatnonzero(draw.random(child) < part):
                weight = draw.uniform(0.3, 1) * draw.choice([-1, 1])
                cause = values[parent]
                if function == "tanh":
                    cause = np.tanh(2 * cause)
                elif function == "square":
                    cause = cause * cause - 1
                drawn = drawn + weight * cause
                arrows[(f"v{parent}", f"v{child}")] = 0 if function == "square" else int(np.sign(weight))
        values[child] = drawn if noise == "cauchy" else (drawn - drawn.mean()) / drawn.std()
    columns = {f"v{number}": list(map(repr, map(float, column))) for number, column in enumerate(values)}
    spoil(columns, values, more, draw)
    names = list(columns)
    draw.shuffle(names)
    columns = {name: columns[name] for name in names}
    return columns | ({"run": list(map(str, run_of(rows)))} if more == "runs" else {}), arrows


def spoil(columns, values, more, draw):
    """Ties, gaps, constants and second names of a column; or categories of some."""
    rows = values.shape[1]
    if more == "spoiled":
        columns["constant"] = ["4"] * rows
        columns["v0 in other units"] = [repr(float(value) * 1000 + 5) for value in values[0]]
        columns["v1"] = [f"{value:.1f}" for value in values[1]]
        columns["v3"] = ["" if is_gap else text for text, is_gap in zip(columns["v3"], draw.random(rows) < 0.05)]
    elif more == "categories":
        for number in (0, 4):
            columns[f"v{number}"] = ["low" if value < -0.4 else "high" if value > 0.4 else "middle" for value in values[number]]
    elif more == "ties":
        for number in range(0, len(values), 2):
            columns[f"v{number}"] = [str(int(max(-3, min(3, round(value))))) for value in values[number]]


def run(columns, options, target):
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "table.csv"
        table.write_text(",".join(columns) + "\n" + "".join(",".join(row) + "\n" for row in zip(*columns.values(), strict=True)))
        done = subprocess.run([options.sonde, "causal", table, "--samples", str(options.samples), "--format", "json",
                               *(["--target", target] if target else []), *(["--cluster", "run"] if "run" in columns else [])], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def plain_name(name):
    return name.split(" ")[0]


def judge(kind, seed, options):
    columns, arrows = simulate(kind, seed)
    target = next(iter(columns)) if KINDS[kind][3] == "none" else None
    found = run(columns, options, target)
    pairs = {frozenset(arrow) for arrow in arrows}
    edges = []
    doubtful = [edge for edge in found["undetermined"] if edge["undetermined"] != "direction"]
    for edge in found["edges"] + doubtful:
        a, b = plain_name(edge["from"]), plain_name(edge["to"])
        judged = {"frequency": edge["frequency"], "there": frozenset((a, b)) in pairs}
        if "directed" in edge:
            judged["direction"] = edge["direction_frequency"] / edge["frequency"]
            judged["directed"] = edge["directed"]
            judged["right_way"] = (a, b) in arrows
            judged["right_sign"] = arrows.get((a, b), 0) * (edge["sign"] or 0)
        edges.append(judged)
    named = [cause for cause in found.get("causes") or []]
    return {"kind": kind, "seed": seed, "samples": options.samples, "true": len(pairs), "edges": edges, "causes": len(named),
            "variables": len(found["nodes"])}


# ---- the page ----

def percent(part, of):
    return f"{100 * part / of:.0f} %" if of else "-"


def deciles(results):
    bins = [(0.2, 0.35), (0.35, 0.5), (0.5, 0.65), (0.65, 0.75), (0.75, 0.85), (0.85, 0.95), (0.95, 0.995), (0.995, 1.01)]
    lines = ["| found in, of samples | edges | there | direction in, of those | arrows | right |", "|---|---|---|---|---|---|"]
    edges = [edge for result in results if result["true"] for edge in result["edges"]]
    for low, high in bins:
        mine = [edge for edge in edges if low <= edge["frequency"] < high]
        ways = [edge for edge in edges if edge.get("directed") and edge["there"] and low <= edge["direction"] < high]
        span = f"{100 * low:.0f} to {min(100 * high, 100):.0f} %" if high <= 1 else "all"
        lines.append(f"| {span} | {len(mine)} | {percent(sum(edge['there'] for edge in mine), len(mine))} | "
                     f"{span} | {len(ways)} | "
                     f"{percent(sum(edge['right_way'] for edge in ways), len(ways))} |")
    return lines


def kinds(results):
    lines = ["| model | tables | true edges | found in >= 50 %: there of found | found of true | found in >= 95 %: there of found | "
             "arrows right | signs wrong |", "|---|---|---|---|---|---|---|---|"]
    for kind, of in by_kind(results).items():
        if not of[0]["true"]:
            continue
        edges = [edge for result in of for edge in result["edges"] if edge["frequency"] >= 0.5]
        there = sum(edge["there"] for edge in edges)
        sure = [edge for edge in edges if edge["frequency"] >= 0.95]
        arrows = [edge for edge in edges if edge["directed"] and edge["there"]]
        signed = [edge["right_sign"] for edge in edges if edge["right_way"] and edge["right_sign"]]
        true = sum(result["true"] for result in of)
        lines.append(f"| {kind} ({KINDS[kind][0]} x {KINDS[kind][1]}) | {len(of)} | {true} | {there} of {len(edges)}, {percent(there, len(edges))} | "
                     f"{percent(there, true)} | {sum(edge['there'] for edge in sure)} of {len(sure)}, {percent(sum(edge['there'] for edge in sure), len(sure))} | "
                     f"{percent(sum(edge['right_way'] for edge in arrows), len(arrows))} of {len(arrows)} | {sum(sign < 0 for sign in signed)} of {len(signed)} |")
    return lines


def nulls(results):
    lines = ["| independent columns | tables | edges a table in >= 50 % of samples | in >= 95 % | pairs a table | tables whose target has a named cause |",
             "|---|---|---|---|---|---|"]
    for kind, of in by_kind(results).items():
        if KINDS[kind][3] != "none":
            continue
        edges = [edge["frequency"] for result in of for edge in result["edges"] if edge["frequency"] >= 0.5]
        named = sum(result["causes"] > 0 for result in of)
        lines.append(f"| {kind} ({KINDS[kind][0]} x {KINDS[kind][1]}) | {len(of)} | {len(edges) / len(of):.2f} | "
                     f"{sum(frequency >= 0.95 for frequency in edges) / len(of):.2f} | {math.comb(KINDS[kind][0], 2)} | {percent(named, len(of))} |")
    return lines


def by_kind(results):
    grouped = collections.defaultdict(list)
    for kind in KINDS:
        for result in results:
            if result["kind"] == kind:
                grouped[kind].append(result)
    return grouped


def write_page(results, page):
    samples = sorted({result["samples"] for result in results})
    text = page.read_text() if page.exists() else ""
    marks = "<!-- tables -->\n", "<!-- end of tables -->\n"
    head, tail = (text.split(marks[0])[0], text.split(marks[1])[1]) if marks[1] in text else (text, "")
    told = [result for result in results if not KINDS[result["kind"]][4].endswith("untold")]
    monotone = [result for result in told if KINDS[result["kind"]][3] != "square"]
    parts = [["All models but those whose runs are taken as independent:"], deciles(told), ["Without the ones that are not monotone:"],
             deciles(monotone), kinds(results), nulls(results)]
    machine = f"{len(results)} tables, {', '.join(map(str, samples))} samples each; {os.cpu_count()} processors ({platform.machine()})."
    page.write_text(head + marks[0] + "\n\n".join("\n".join(part) for part in parts) + "\n\n" + machine + "\n" + marks[1] + tail)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=10, help="of each kind")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--only", action="append")
    parser.add_argument("--sonde", default=BUILD / "src/cmd/sonde")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("causal-calibration.jsonl"))
    parser.add_argument("--page", type=pathlib.Path)
    options = parser.parse_args()
    with options.results.open("a") as file:
        for seed in range(options.first, options.first + options.tables):
            for kind in options.only or KINDS:
                print(json.dumps(judge(kind, seed, options)), file=file, flush=True)
                print(seed, kind, file=sys.stderr)
    if options.page:
        write_page([json.loads(line) for line in options.results.read_text().splitlines()], options.page)


if __name__ == "__main__":
    main()
