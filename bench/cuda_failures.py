#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Releases of CUPTI against its reported failures, on devices that are not there (tests/fake): per run the kernels that ran,
those that are stored, and those that are counted as lost or without times. A table in Markdown; test_cupti.py checks the same.

    SONDE_FAKE_CUDA=$(tests/fake/install.sh) bench/cuda_failures.py"""
from __future__ import annotations

import csv
import json
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FAKE, SONDE = ROOT / "tests/fake/run.sh", ROOT / "build/src/cmd/sonde"
RELEASES = ["11.8", "12.4", "12.9", "13.0", "13.2", "13.5"]
FAILURES = ["strict", "zero-times", "reversed-times", "early", "wrong-correlation", "no-correlation", "short-records", "drop", "clock-again",
            "unload", "flush-hangs", "late-buffers", "lost-device", "two-cuptis", "held", "privileges"]


def figures(known: Path, folder: Path, release: str, failure: str) -> str:
    """"stored + lost", "=" where that is what ran."""
    fakes = [FAKE, "--cupti", release, "--fail", failure]
    plain = subprocess.run([*fakes, known, "plain"], capture_output=True, text=True)
    done = subprocess.run([*fakes, "--table", folder / "table", SONDE, "run", "-q", "-o", folder / "run", "--", known, "plain"],
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), done.stderr
    with open(folder / "table", newline="") as file:
        ran = sum(int(row["count"]) for row in csv.DictReader(file) if not row["kernel"].startswith(("copy ", "set")))
    report = subprocess.run([SONDE, "report", folder / "run.sdb", "--format", "json", "--metric", "kernel-time"], capture_output=True, text=True)
    rows = json.loads(report.stdout)["rows"] if report.returncode == 0 and report.stdout else []
    stored = sum(row["values"].get("kernel-time", {}).get("exclusive", {}).get("count", 0) for row in rows)
    info = json.loads(subprocess.run([SONDE, "info", folder / "run.sdb", "--format", "json"], capture_output=True, text=True).stdout)
    lost = sum(count for name, count in info.get("drops", {}).items() if name.startswith("gpu-"))
    return f"{stored} + {lost}" + (f" of {ran}" if stored + lost != ran else "")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        known = folder / "known"
        subprocess.run([FAKE, "nvcc", "-g", "-O1", "-arch=sm_90", "-o", known, ROOT / "tests/workloads/cuda/known.cu"], check=True)
        print("| |", " | ".join(RELEASES), "|")
        print("|---|" + "---|" * len(RELEASES))
        for failure in FAILURES:
            print(f"| {failure} |", " | ".join(figures(known, folder, release, failure) for release in RELEASES), "|", flush=True)


if __name__ == "__main__":
    main()
