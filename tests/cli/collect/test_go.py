# SPDX-License-Identifier: Apache-2.0
"""Programs written in Go: with cgo they are measured, without they run as they are and a line says so."""
from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import program

SHARES = {"main.alpha": 1 / 6, "main.beta": 3 / 6, "c_work": 2 / 6}


def built(folder: Path, source: Path) -> Path:
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if not go:
        pytest.skip("no go")
    output = folder / "program"
    environment = {**os.environ, "CGO_ENABLED": "1", "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local",
                   "GOPROXY": "off"}
    done = subprocess.run([go, "build", "-o", output, "."], cwd=source, env=environment,
                          capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return output


def test_cgo(tmp_path: Path) -> None:
    binary = built(tmp_path, program.WORKLOADS / "collect/go_shares")
    done = program.run(tmp_path, binary)
    assert done.stdout == "done\n"
    counts: Counter[str] = Counter()
    whole = 0
    for frames, value in program.paths(tmp_path):
        path = [frame["name"] for frame in frames]
        for function in SHARES:
            if function in path:
                counts[function] += value["count"]
                whole += value["count"] if "main.work" in path else 0
    total = sum(counts.values())
    assert total > 200, counts
    for function, share in SHARES.items():
        allowed = program.bound(share, total) * 1.3
        assert abs(counts[function] / total - share) <= allowed, f"{function}: {counts} not {share} +- {allowed:.3f}"
    # C runs on the thread's stack and Go on the goroutine's: the path goes over from one to the other
    assert whole >= 0.95 * total, (whole, total)


def test_without_cgo(tmp_path: Path) -> None:
    """What Go builds as -buildmode=pie without cgo: a dynamic loader, Go's note, and no library."""
    source = tmp_path / "alone.S"
    source.write_text("""
        .section .note.go.buildid, "a", @note
        .long 4, 4, 4
        .asciz "Go"
        .byte 0
        .ascii "test"
        .section .note.GNU-stack, "", @progbits
        .text
        .globl _start
        _start:
            xor %edx, %edx          /* takes the thread register for itself, as Go does */
            lea room(%rip), %rsi
            mov $0x1002, %edi
            mov $158, %eax
            syscall
            mov $1, %edi
            lea text(%rip), %rsi
            mov $5, %edx
            mov $1, %eax
            syscall
            xor %edi, %edi
            mov $231, %eax
            syscall
        text: .ascii "done\\n"
        .bss
        room: .zero 64
        """)
    binary = tmp_path / "alone"
    subprocess.run(["gcc", "-nostdlib", "-pie", "-Wl,--no-as-needed", source, "-o", binary], check=True)
    done = program.run(tmp_path, binary)
    assert done.stdout == "done\n"
    assert "Go program without cgo" in done.stderr
