#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of `sonde structure` on whole libraries, beside objdump -d, which only disassembles.

    bench/structure.py [--repeat N] [--symbols N] [FILE...]

Without files: libtorch_cpu of the PyTorch at hand and the C library. Each form with all processors, text also with one,
whose bytes must be the same; nothing is cached between runs but the file's pages. --symbols: only a file made for it,
of that many functions with a name and a loop each.
"""
from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import shutil
import statistics
import struct
import subprocess
import tempfile
import time
from pathlib import Path

SONDE = Path(__file__).resolve().parents[1] / "build/src/cmd/sonde"


def measure(command: list[str]) -> tuple[float, int]:
    """Seconds, and the resident KiB at most."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{command} failed")
    return time.monotonic() - start, usage.ru_maxrss


def row(name: str, repeat: int, command: list[str]) -> None:
    runs = [measure(command) for _ in range(repeat)]
    seconds = statistics.median(run[0] for run in runs)
    print(f"| {name} | {seconds:.2f} s | {max(run[1] for run in runs) / 1024:.0f} MiB |", flush=True)


def digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def make_symbols(path: str, count: int) -> None:
    """An ELF file of `count` functions of 16 bytes: a loop of three instructions, and a return."""
    code = bytes.fromhex("89f8" "ffc8" "75fc" "c3").ljust(16, b"\x90")
    names = b"\0" + b"".join(b"f%08d\0" % i for i in range(count))
    base, place = 0x400000, 0x1000
    symbols = bytearray(24) + b"".join(
        struct.pack("<IBBHQQ", 1 + 10 * i, 0x12, 0, 1, base + place + 16 * i, 7) for i in range(count))
    titles = b"\0.text\0.symtab\0.strtab\0"
    at_symbols = place + 16 * count
    at_names = at_symbols + len(symbols)
    at_titles = at_names + len(names)
    at_sections = (at_titles + len(titles) + 7) & ~7

    def section(name, kind, flags, address, offset, size, link=0, info=0, entry=0):
        return struct.pack("<IIQQQQIIQQ", name, kind, flags, address, offset, size, link, info, 16, entry)

    with open(path, "wb") as file:
        file.write(struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 62, 1, base + place, 64, at_sections, 0, 64, 56, 1,
                               64, 5, 4))
        file.write(struct.pack("<IIQQQQQQ", 1, 5, place, base + place, base + place, 16 * count, 16 * count, 4096))
        file.seek(place)
        file.write(code * count)
        file.write(symbols + names + titles)
        file.seek(at_sections)
        file.write(section(0, 0, 0, 0, 0, 0) + section(1, 1, 6, base + place, place, 16 * count) +
                   section(7, 2, 0, 0, at_symbols, len(symbols), 3, 1, 24) +
                   section(15, 3, 0, 0, at_names, len(names)) + section(15, 3, 0, 0, at_titles, len(titles)))


def default_files() -> list[str]:
    found = []
    spec = importlib.util.find_spec("torch")
    if spec and spec.submodule_search_locations:
        found = [str(p) for p in Path(spec.submodule_search_locations[0]).glob("lib/libtorch_cpu.so*")][:1]
    return found + [f for f in ("/lib/x86_64-linux-gnu/libc.so.6",) if os.path.exists(f)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--symbols", type=int)
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    if arguments.symbols:
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/symbols"
            make_symbols(program, arguments.symbols)
            for jobs in ([], ["-j", "1"]):
                row(f"{arguments.symbols} symbols {' '.join(jobs)}", arguments.repeat,
                    [str(SONDE), "structure", program, *jobs])
        return
    for file in arguments.files or default_files():
        with tempfile.TemporaryDirectory() as folder:
            print(f"\n{file}, {os.path.getsize(file) >> 20} MiB\n\n| command | time | memory |\n|---|---|---|")
            for form in ("text", "json", "xml"):
                row(f"sonde structure --format {form}", arguments.repeat,
                    [str(SONDE), "structure", "--format", form, file, "-o", f"{folder}/{form}"])
            row("sonde structure -j 1", arguments.repeat,
                [str(SONDE), "structure", "-j", "1", file, "-o", f"{folder}/one"])
            if shutil.which("objdump"):
                row("objdump -d --no-show-raw-insn", 1, ["objdump", "-d", "--no-show-raw-insn", file])
            same = digest(f"{folder}/text") == digest(f"{folder}/one")
            print(f"\nthe same bytes from one and all threads: {'yes' if same else 'NO'}")
            subprocess.run(["tail", "-n1", f"{folder}/text"], check=True)


if __name__ == "__main__":
    main()
