# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's own CUPTI, fetched where it is tested against, and asked by tests/fake/cupti/probe.py."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

CUPTI = ROOT / "tests/fake/cupti"


def installed(*what: str) -> Path:
    """The folder of a release's headers, or what else install.sh is asked for; beside it is lib/."""
    done = subprocess.run([CUPTI / "install.sh", *what], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip(f"no CUPTI {what[-1]}: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def library(folder: Path) -> Path:
    """By its own name, not by the one that PyTorch wants it by."""
    return next(path for path in sorted(folder.glob("libcupti.so.*")) if not path.is_symlink())


def probe(what: str, of: Path, *arguments: str | Path, text: str = "", **environment: str) -> str:
    return subprocess.run([sys.executable, CUPTI / "probe.py", what, of, *arguments], input=text, capture_output=True, text=True,
                          env={**os.environ, **environment}).stdout
