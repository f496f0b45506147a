# SPDX-License-Identifier: Apache-2.0
"""Building small programs, running them under `sonde run`, and reading the reports as data."""
from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from verified import verify, written_by

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SONDE_BUILD", ROOT / "build")).resolve()
SONDE = BUILD / "src/cmd/sonde"
WORKLOADS = ROOT / "tests/workloads"
_cache = Path(tempfile.mkdtemp(prefix="sonde-programs-"))


def compiled(source: str, *options: str, compiler: str = "cc") -> Path:
    """The program (or, with -shared, the library) made from a workload; compiled once a session."""
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    key = hashlib.sha256(" ".join([source, compiler, *options]).encode()).hexdigest()[:12]
    output = _cache / f"{Path(source).stem}-{key}"
    if not output.exists():
        subprocess.run([compiler, "-g", "-D_GNU_SOURCE", "-I", ROOT / "include", WORKLOADS / source, *options,
                        "-o", output, "-lpthread", "-lm", "-ldl"], check=True)
    return output


def image_database(folder: Path) -> Path:
    """A database of a program with debug information, which is there: what formats of one executable are made of."""
    (folder / "small.c").write_text("int main(void) { volatile int sum = 0; for (int i = 0; i < 50000000; i++) sum += i; return 0; }\n")
    subprocess.run(["cc", "-g", "-O1", "-o", folder / "small", folder / "small.c"], check=True)
    (folder / "ran").mkdir()
    subprocess.run([SONDE, "run", "-q", "-o", folder / "ran/small.sdb", "--", folder / "small"], check=True)
    return folder / "ran/small.sdb"


def run(folder: Path, *command: str | Path, options: tuple[str, ...] = (), check: int | None = 0,
        environment: dict[str, str] | None = None, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """`sonde run -o FOLDER/run OPTIONS -- COMMAND`."""
    done = subprocess.run([SONDE, "run", "-q", "-o", folder / "run", *options, "--", *map(str, command)],
                          capture_output=True, text=True, timeout=timeout,
                          env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL)
    if check is not None:
        assert done.returncode == check, done.stderr
    if done.returncode == 0 and (folder / "run.sdb").is_file():
        verify(SONDE, folder / "run.sdb")
    return done


def sonde(*arguments: str | Path, check: int | None = 0) -> str:
    done = subprocess.run([SONDE, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    if check is not None:
        assert done.returncode == check, done.stderr
    if done.returncode == 0:
        verify(SONDE, written_by([*map(str, arguments)]))
    return done.stdout


def info(folder: Path) -> dict:
    return json.loads(sonde("info", folder / "run.sdb", "--format", "json"))


def rows(folder: Path, *options: str) -> list[dict]:
    return json.loads(sonde("report", folder / "run.sdb", "--format", "json", *options))["rows"]


def paths(folder: Path, metric: str = "cpu-time", *options: str) -> list[tuple[list[dict], dict]]:
    """Every context with an exclusive value: its frames outermost first, and that value."""
    result, stack = [], []
    for row in rows(folder, *options):
        stack[row["depth"]:] = [row]
        value = row["values"].get(metric, {}).get("exclusive")
        if value and value["count"]:
            result.append((list(stack), value))
    return result


def bound(probability: float, samples: float) -> float:
    """How far a share of `samples` samples may be off with a probability of 0.1 %: 3.29 deviations."""
    return 3.29 * math.sqrt(probability * (1 - probability) / samples) + 0.5 / samples
