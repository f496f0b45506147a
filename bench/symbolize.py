#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long names, inlined calls and lines of addresses take, beside other symbolisers.

bench/symbolize.py [--build DIR] [--count N] [--repeat N] [--without TOOL] [FILE...]

Each FILE's addresses are drawn evenly from its .text. The tools run in turn, so that what else the machine
does meets all of them; the table gives medians of whole processes and the largest peak of memory. "cold" is
our symboliser without its cache, "cached" with it. The files themselves are in the page cache for all. A tool
that takes over a minute is not waited for.
"""
import argparse
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEFAULTS = ["/usr/bin/python3.11", "/usr/lib/x86_64-linux-gnu/libc.so.6",
            "/usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13"]
LIMIT_S = 60


def text_addresses(path, count):
    for line in subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout.splitlines():
        fields = line.replace("[ ", "[").split()
        if len(fields) > 5 and fields[1] == ".text":
            start, size = int(fields[3], 16), int(fields[5], 16)
            generator = random.Random(1)
            return "".join("%#x\n" % (start + generator.randrange(size)) for _ in range(count))
    return ""


def run(command, addresses):
    """(milliseconds, peak MiB), or None where it took too long."""
    with open(addresses) as stdin, open(os.devnull, "w") as nothing:
        start = time.monotonic()
        process = subprocess.Popen(command, stdin=stdin, stdout=nothing, stderr=nothing)
        while True:
            pid, _, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                process.returncode = 0
                return (time.monotonic() - start) * 1e3, usage.ru_maxrss / 1024
            if time.monotonic() - start > LIMIT_S:
                process.kill()
                os.wait4(process.pid, 0)
                process.returncode = -1
                return None
            time.sleep(0.0005)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build", type=Path)
    parser.add_argument("--count", default=5000, type=int)
    parser.add_argument("--repeat", default=5, type=int)
    parser.add_argument("--without", action="append", default=[], help="a tool to leave out, e.g. eu-addr2line")
    parser.add_argument("files", nargs="*", default=DEFAULTS)
    options = parser.parse_args()
    ours = str(options.build / "bench/bench_symbolize")
    print("| file | tool | ms | MiB |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in filter(os.path.exists, options.files):
            addresses = os.path.join(folder, "addresses")
            Path(addresses).write_text(text_addresses(path, options.count))
            cache = os.path.join(folder, "cache")
            tools = {"sonde, cold": [ours, path], "sonde, cached": [ours, "--cache", cache, path],
                     "addr2line": ["addr2line", "-f", "-i", "-C", "-e", path],
                     "llvm-symbolizer": ["llvm-symbolizer", "-f", "-i", "-e", path],
                     "eu-addr2line": ["eu-addr2line", "-f", "-i", "-C", "-e", path]}
            tools = {name: command for name, command in tools.items() if shutil.which(command[0])
                     and name not in options.without}
            for command in tools.values():
                run(command, addresses)
            taken = {name: [] for name in tools}
            for _ in range(options.repeat):
                for name, command in tools.items():
                    if taken[name] != [None]:
                        result = run(command, addresses)
                        taken[name] = taken[name] + [result] if result else [None]
            for name, results in taken.items():
                if results == [None]:
                    print("| %s | %s | over %d,000 | |" % (os.path.basename(path), name, LIMIT_S))
                else:
                    print("| %s | %s | %.1f | %.0f |" % (os.path.basename(path), name,
                          statistics.median(r[0] for r in results), max(r[1] for r in results)))


if __name__ == "__main__":
    main()
