# SPDX-License-Identifier: Apache-2.0
"""Programs built with a sanitizer run under the collector, and nothing is reported of them."""
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import program


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("kind", ["thread", "address"])
def test_nothing_is_reported(tmp_path: Path, kind: str, compiler: str) -> None:
    binary = program.compiled("collect/threads_clean.cpp", "-O1", f"-fsanitize={kind}", compiler=compiler)
    for _ in range(3):
        done = program.run(tmp_path, binary, options=("-e", "cpu-time@997,real-time"),
                           environment={"SONDE_CHECKPOINT_MS": "1"})
        assert done.stdout == "done\n"
        assert "Sanitizer" not in done.stderr and "WARNING" not in done.stderr, done.stderr
    samples = sum(value["count"] for _, value in program.paths(tmp_path))
    assert samples > 20
    assert any(frame["name"].startswith("work") for frames, _ in program.paths(tmp_path) for frame in frames)


def test_nothing_is_called_that_sanitizers_watch() -> None:
    """Memory, strings and files: a sanitizer would take what the collector does for the program's doing."""
    listing = subprocess.run(["nm", "-D", "--undefined-only", program.BUILD / "src/collect/libsonde.so"],
                             capture_output=True, text=True, check=True).stdout
    names = {line.split()[1].split("@")[0] for line in listing.splitlines()}
    assert "dlopen" in names
    watched = {name for name in names
               if name.startswith(("mem", "str", "mmap", "munmap", "open", "pwrite", "pread", "fopen"))}
    assert watched <= {"strdup", "strtoull"}, watched
