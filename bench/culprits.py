#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `sonde annotate` says that programs wait for, beside what was planted in them (tests/workloads/annotate/planted.c).

Told of each program: the cause with the largest part of the time of the planted function beside execution; the part of its samples at
instructions whose first culprit is the planted one; the part that has the planted one among its culprits; the part that is unexplained.

Usage: culprits.py [--only NAME] [--rate HZ] [--sonde FILE]   Prints a table in Markdown.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("SONDE_BUILD", ROOT / "build"))
PLANTED = {"chase": "data cache", "pages": "data TLB", "branch": "branch mispredict", "divide": "long unit", "stores": "store buffer", "code": "instruction cache", "lock": "synchronization"}
# Written when the weights of suspicions were fixed.
LATER = {"hash": "data cache", "search": "data cache", "column": "data TLB", "switch": "branch mispredict", "root": "long unit", "scatter": "store buffer", "fence": "synchronization", "spin": "synchronization"}


def judge(found: dict, cause: str) -> tuple[str, float, float, float]:
    """The first cause of the summary, the samples at instructions that have the planted one first, those that have it at all, what is unexplained."""
    first = max((name for name in found["summary"] if name != "execution"), key=lambda name: found["summary"][name], default="none")
    waits = {one["address"]: one["frequency"] * (one["cpi"] or 0) for one in found["instructions"]}
    total = sum(waits.values()) or 1
    named = {one["address"]: [culprit["cause"] for culprit in one["culprits"]] for one in found["instructions"]}
    top = sum(waits[address] for address, causes in named.items() if causes[:1] == [cause])
    among = sum(waits[address] for address, causes in named.items() if cause in causes)
    return first, top / total, among / total, found["unexplained"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only")
    parser.add_argument("--rate", type=int, default=2999)
    parser.add_argument("--sonde", default=BUILD / "src/cmd/sonde")
    options = parser.parse_args()
    print("| program | planted | said first of the function | samples with it first | among the culprits | unexplained |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as text:
        folder = pathlib.Path(text)
        subprocess.run(["cc", "-O2", "-g", "-o", folder / "planted", ROOT / "tests/workloads/annotate/planted.c", "-pthread"], check=True)
        for name, cause in {**PLANTED, **LATER}.items():
            if options.only and name != options.only:
                continue
            database = folder / f"{name}.sdb"
            subprocess.run([options.sonde, "run", "-q", "-F", str(options.rate), "-o", database, "--", folder / "planted", name], check=True, stdout=subprocess.DEVNULL)
            done = subprocess.run([options.sonde, "annotate", database, f"planted:planted_{name}", "--format", "json"], stdout=subprocess.PIPE, text=True, check=True)
            first, top, among, unexplained = judge(json.loads(done.stdout), cause)
            print(f"| {name} | {cause} | {first} | {100 * top:.0f} % | {100 * among:.0f} % | {100 * unexplained:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
