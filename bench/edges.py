# SPDX-License-Identifier: Apache-2.0
"""Inputs that grow where their maker likes: perf maps of many lines, traces of many streams. bench/edges.py FOLDER SONDE...
makes them in FOLDER (8 GB with the largest map) and prints time and peak resident memory of each SONDE; `before` and `after`
in docs/results/edges.md. What takes longer than a minute is ended."""
from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S, MEMORY = 60, 14 << 30
LINES = (1_000_000, 10_000_000, 100_000_000)
STREAMS = (1000, 20_000, 100_000, 300_000)
VIEWS = "summary idle states queue memory transfers critical-path threads stragglers messages iterations depth all".split()


def measure(*command: object) -> str:
    started = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)))
    timer = threading.Timer(LIMIT_S, process.kill)
    timer.start()
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    end = "" if process.returncode == 0 else f", ended by {process.returncode}"
    return f"{time.monotonic() - started:.2f} s, {usage.ru_maxrss >> 10} MiB{end}"


def write_map(path: Path, lines: int) -> None:
    with open(path, "w") as file:
        file.write("20000000 1000 made\n")
        for first in range(0, lines, 100_000):
            file.writelines(f"{0x7F0000000000 + 32 * i:x} 20 LazyCompile:function{i} /app/file.js:{i % 5000}:3\n"
                            for i in range(first, first + 100_000))


def write_trace(path: Path, streams: int) -> None:
    """An operator, its launch and its kernel, each on a stream of its own."""
    with open(path, "w") as file:
        file.write('{"schemaVersion":1,"traceEvents":[')
        for i in range(streams):
            at = 1000 + 10 * i
            file.write("," * (i > 0) + f'{{"ph":"X","cat":"cpu_op","name":"aten::op","pid":5,"tid":10,"ts":{at},"dur":6}},'
                       f'{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":5,"tid":10,"ts":{at + 1},"dur":2,'
                       f'"args":{{"correlation":{i + 1}}}}},'
                       f'{{"ph":"X","cat":"kernel","name":"kernel","pid":0,"tid":{7 + i},"ts":{at + 4},"dur":8,'
                       f'"args":{{"device":0,"context":1,"stream":{7 + i},"correlation":{i + 1}}}}}\n')
        file.write("]}")


def maps(folder: Path, tools: list[str]) -> None:
    program = folder / "made_code"
    subprocess.run(["gcc", "-D_GNU_SOURCE", ROOT / "tests/workloads/binary/made_code.c", "-o", program], check=True)
    done = subprocess.run([tools[-1], "run", "-o", folder / "run.sonde", "--", program], check=True, capture_output=True, text=True)
    path = Path(done.stdout.splitlines()[0])
    path.unlink()
    for lines in LINES:
        write_map(folder / "run.sonde" / path.name, lines)
        for tool in tools:
            print(f"{lines} lines, {tool}:", measure(tool, "analyze", folder / "run.sonde", "-o", folder / "out.sdb", "--no-cache"))


def timelines(folder: Path, tools: list[str]) -> None:
    for streams in STREAMS:
        write_trace(folder / "trace.json", streams)
        subprocess.run([tools[-1], "import", folder / "trace.json", "-o", folder / "trace.sdb"], check=True, stdout=subprocess.DEVNULL)
        for view in VIEWS:
            for tool in tools:
                print(f"{streams} streams, --view {view}, {tool}:", measure(tool, "timeline", "--view", view, folder / "trace.sdb"))


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir()
    maps(folder, sys.argv[2:])
    timelines(folder, sys.argv[2:])


main()
