#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long `sonde causal --target y` takes on a table of thousands of columns, and what of the truth it finds.

The table is of a structural model: a few settings drive groups of counters, each counter of a group a function of the group's own quantity, of
other counters or of a setting; some are copies in other units, some constant, some lack values. The target is of six counters.

Usage: causal_wide.py [--columns N] [--rows N] [--samples N] [--tables N] [--page FILE] [--sonde FILE]
"""
import argparse
import json
import os
import pathlib
import platform
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("SONDE_BUILD", ROOT / "build"))
GROUP = 20       # counters of one quantity
CAUSES = 6       # of the target
SETTINGS = 8


def wide(columns, rows, seed):
    """Columns by name, the target's direct causes with their signs, and all that leads to it."""
    draw = np.random.default_rng(seed)
    settings = {f"set{i}": draw.choice([1.0, 2, 4, 8, 16, 32], rows) for i in range(SETTINGS)}
    names, values, parents = list(settings), list(settings.values()), {name: [] for name in settings}

    def standard(column):
        return (column - column.mean()) / (column.std() or 1)

    def add(name, column, causes):
        names.append(name)
        values.append(column)
        parents[name] = causes

    heads, group = [], 0
    spoiled = columns // 10
    while len(names) < columns - spoiled - 1:
        head = f"g{group}_0"
        cause = list(draw.choice(names[:SETTINGS], 1)) if draw.random() < 0.5 else []
        cause += list(draw.choice(heads, 1)) if heads and draw.random() < 0.5 else []
        signal = sum((draw.choice([-1, 1]) * draw.uniform(0.4, 0.9) * standard(np.log1p(np.abs(values[names.index(c)]))
                      if c in settings else values[names.index(c)]) for c in cause), np.zeros(rows))
        add(head, signal + draw.normal(size=rows), cause)
        heads.append(head)
        members = [head]
        for index in range(1, min(GROUP, columns - spoiled - 1 - len(names) + 1)):
            of = str(draw.choice(members))
            made = standard(values[names.index(of)]) + draw.uniform(0.2, 1.5) * draw.normal(size=rows)
            kind = draw.integers(3)
            made = np.exp(made) if kind == 0 else made ** 3 if kind == 1 else made
            add(f"g{group}_{index}", made, [of])
            members.append(names[-1])
        group += 1
    causes = [str(c) for c in draw.choice(heads, CAUSES, replace=False)]
    signs = draw.choice([-1, 1], CAUSES)
    target = sum((sign * draw.uniform(0.5, 1) * standard(values[names.index(c)]) for c, sign in zip(causes, signs)),
                 draw.normal(size=rows))
    table = dict(zip(names, values))
    for index in range(spoiled):
        of = values[draw.integers(len(values))]
        table[f"spoiled{index}"] = [of * 1e-3, np.full(rows, 7.0), -5 * of + 2, standard(of) + draw.normal(size=rows)][index % 4]
        if index % 40 == 3:
            table[f"spoiled{index}"] = np.where(draw.random(rows) < 0.3, np.nan, table[f"spoiled{index}"])
    table["y"] = target
    ancestors, open_names = set(), list(causes)
    while open_names:
        name = open_names.pop()
        if name not in ancestors:
            ancestors.add(name)
            open_names += map(str, parents[name])
    order = draw.permutation(list(table))
    return {str(name): table[str(name)] for name in order}, dict(zip(causes, map(int, signs))), ancestors


def write(path, table):
    with open(path, "w") as out:
        out.write(",".join(table) + "\n")
        columns = [["" if value != value else f"{value:.6g}" for value in column] for column in table.values()]
        out.writelines(",".join(row) + "\n" for row in zip(*columns))


def ask(sonde, path, samples, threads=2):
    """Its JSON, seconds, CPU seconds and the largest memory in MB."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([sonde, "causal", path, "--target", "y", "--samples", str(samples), "-j", str(threads), "--format",
                                "json"], stdout=subprocess.PIPE, text=True)
    out = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"sonde causal: status {status}")
    return json.loads(out), time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def judge(found, causes, ancestors):
    direct = {e["from"]: e for e in found["edges"] if e["to"] == "y"}
    totals = {c["cause"]: c for c in found["causes"]}
    standing = {left["column"]: left["same_as"] for left in found["left_out"] if left["why"] == "same"}
    causes = {standing.get(name, name): sign for name, sign in causes.items()}
    ancestors = {standing.get(name, name) for name in ancestors}
    return {"direct found": sum(name in direct for name in causes), "direct": len(causes),
            "direct false": sum(name not in causes for name in direct),
            "signs": sum(name in direct and abs(direct[name]["sign"]) == 1 for name in causes),
            "totals": sum(name in ancestors for name in totals), "totals false": sum(name not in ancestors for name in totals),
            "ancestors": len(ancestors), "nodes": len(found["nodes"]),
            "screened": sum(left["why"] == "screened" for left in found["left_out"])}


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--columns", type=int, default=8006)
    options.add_argument("--rows", type=int, default=1642)
    options.add_argument("--samples", type=int, default=100)
    options.add_argument("--tables", type=int, default=1)
    options.add_argument("--shuffled", action="store_true")
    options.add_argument("--sonde", default=str(BUILD / "src/cmd/sonde"))
    options.add_argument("--page", type=pathlib.Path)
    given = options.parse_args()
    lines = []
    for seed in range(1, given.tables + 1):
        for is_shuffled in [False, True] if given.shuffled else [False]:
            table, causes, ancestors = wide(given.columns, given.rows, seed)
            if is_shuffled:
                table["y"] = np.random.default_rng(seed).permutation(table["y"])
                causes, ancestors = {}, set()
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "wide.csv")
                write(path, table)
                found, seconds, cpu, memory = ask(given.sonde, path, given.samples)
            of = judge(found, causes, ancestors)
            lines.append(f"| {seed}{', target shuffled' if is_shuffled else ''} | {len(table):,} x {given.rows:,} | {given.samples} | {seconds:.1f} | "
                         f"{cpu:.1f} | {memory:,.0f} | {of['direct found']} of {of['direct']} | {of['direct false']} | "
                         f"{of['totals']} of {of['ancestors']} | {of['totals false']} | {of['nodes']} | {of['screened']:,} |")
            print(lines[-1], flush=True)
    if given.page:
        text = given.page.read_text()
        before, after = text.split("<!-- table -->")[0], text.split("<!-- end of table -->")[1]
        head = ("| table | columns x rows | samples | s | CPU s | MB | direct causes found | false | causes over all ways | false | "
                "columns compared in the end | screened |\n|" + "---|" * 12 + "\n")
        given.page.write_text(f"{before}<!-- table -->\n{head}" + "\n".join(lines) +
                              f"\n\n2 threads; {os.cpu_count()} processors ({platform.machine()}).\n<!-- end of table -->{after}")


if __name__ == "__main__":
    main()
