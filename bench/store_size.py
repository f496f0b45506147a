#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How large a store of continuous profiling becomes (docs/results/store.md).

    perf record -e cpu-clock -F 4999 -a -o machine.data -- sleep 200    (while the machine does something)
    bench/store_size.py machine.data [HOURS]

Takes the samples of a recording for one of 1 kHz on as many processors, a flush of 60 s being the next samples of the recording; then
for so many hours flushes of samples drawn from all of them. Prints rows and bytes of what make-store keeps, merged by the usual policy."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parent.parent
MAKE_STORE = ROOT / "build/tests/make-store"
BEGIN = 1796040000
FILE, KERNEL, JIT = 1, 2, 6

MAPPED = re.compile(r"PERF_RECORD_MMAP2? (-?\d+)/-?\d+: \[(0x[0-9a-f]+)\((0x[0-9a-f]+)\) @ (0x[0-9a-f]+|0)[^\]]*\]: (\S+) (.*)$")
FORKED = re.compile(r"PERF_RECORD_FORK\((\d+):\d+\):\((\d+):\d+\)")
EXECED = re.compile(r"PERF_RECORD_COMM exec: .*:(\d+)/\d+")
SAMPLE = re.compile(r"\s*(.+?)\s+(\d+)/\d+\s+[\d.]+:\s+\S+\s+([0-9a-f]+)")


def read(recording: str) -> list[tuple[str, str, int]]:
    """Program, image and address of each sample, in the order of time."""
    maps: dict[int, list[tuple[int, int, int, str]]] = defaultdict(list)
    samples = []
    script = subprocess.Popen(["perf", "script", "-i", recording, "--show-mmap-events", "--show-task-events", "-F", "comm,pid,tid,time,ip,event"],
                              stdout=subprocess.PIPE, text=True, errors="replace")
    for line in script.stdout:
        if found := MAPPED.search(line):
            if "x" in found[5]:
                start = int(found[2], 16)
                maps[int(found[1])].append((start, start + int(found[3], 16), int(found[4], 16), found[6]))
        elif found := FORKED.search(line):
            if found[1] != found[2]:
                maps[int(found[1])] = list(maps[int(found[2])])
        elif found := EXECED.search(line):
            maps[int(found[1])] = []
        elif found := SAMPLE.match(line):
            address = int(found[3], 16)
            image = "[kernel]" if address >> 63 else "[unknown]"
            for start, end, offset, path in reversed(maps[int(found[2])]):
                if start <= address < end:
                    image = path
                    address = address - start + offset if path.startswith("/") else address
                    break
            samples.append((found[1], image, address))
    script.wait()
    return samples


class Recording:
    """Samples as numbers of distinct places."""

    def __init__(self, samples: list[tuple[str, str, int]]) -> None:
        programs: dict[str, int] = {}
        images: dict[str, int] = {}
        keys = numpy.array([(programs.setdefault(program, len(programs)), images.setdefault(image, len(images)), address)
                            for program, image, address in samples], dtype=numpy.uint64)
        if "[kernel]" in images:  # from its begin on
            in_kernel = keys[:, 1] == images["[kernel]"]
            keys[in_kernel, 2] -= keys[in_kernel, 2].min()
        self.places, self.samples = numpy.unique(keys, axis=0, return_inverse=True)
        self.samples = self.samples.ravel()
        self.lines = [f"origin\t/usr/bin/{program}\t/system.slice/{program}.service\t0\t1000" for program in programs]
        for number, image in enumerate(images):
            kind = KERNEL if image == "[kernel]" else FILE if re.match(r"/[^/]", image) else JIT
            self.lines.append(f"image\t{kind}\t{image}\t{number * 0x9E3779B97F4A7C15 & (1 << 160) - 1:040x}\t0\t{number}\t{BEGIN}000000000")

    def flush(self, chosen: numpy.ndarray, number: int) -> tuple[str, int]:
        which, counts = numpy.unique(chosen, return_counts=True)
        lines = [f"count\t{origin}\t{image}\t{address}\t{count}"
                 for (origin, image, address), count in zip(self.places[which].tolist(), counts.tolist())]
        begin = BEGIN + 60 * number
        return "\n".join([*lines, f"flush\t{begin}\t{begin + 60}\tcpu-clock\t1000000\t1\t{len(chosen)}", f"tend\t{begin + 60}\n"]), len(which)


def keep(recording: Recording, store: Path, flushes: list[numpy.ndarray]) -> None:
    rows = 0
    with tempfile.TemporaryFile("w+") as sizes:
        maker = subprocess.Popen([MAKE_STORE, store], stdin=subprocess.PIPE, stdout=sizes, text=True)
        maker.stdin.write("\n".join(recording.lines) + "\n")
        for number, chosen in enumerate(flushes):
            text, count = recording.flush(chosen, number)
            rows += count
            maker.stdin.write(text)
        maker.stdin.write("seal\n")
        maker.stdin.close()
        assert maker.wait() == 0
        sizes.seek(0)
        told = [line.split() for line in sizes]
    print(f"{len(flushes)} flushes of {rows // len(flushes)} rows: the first takes {told[0][2]} bytes, and the folder at most "
          f"{max(int(line[2]) for line in told)}")
    for days in (0, 3):  # as it is then, and when all is days
        now = BEGIN + 60 * len(flushes) + days * 86400
        subprocess.run([MAKE_STORE, store], input=f"tend\t{now}\n", text=True, check=True, capture_output=True)
        print(f"after {days} days:", ", ".join(f"{path.name} {path.stat().st_size}" for path in sorted(store.iterdir())))


def main() -> None:
    recording = Recording(read(sys.argv[1]))
    hours = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    count, each = len(recording.samples), 60000 * (os.cpu_count() or 1)
    print(f"{count} samples at {len(recording.places)} places")
    for first in (10000, 100000, 1000000):
        print(f"the first {first}: at {len(numpy.unique(recording.samples[:first]))}")
    generator = numpy.random.default_rng(5)
    with tempfile.TemporaryDirectory() as folder:
        keep(recording, Path(folder) / "as recorded", [recording.samples[at:at + each] for at in range(0, count - each + 1, each)])
        keep(recording, Path(folder) / "drawn", [generator.choice(recording.samples, each) for _ in range(60 * hours)])


if __name__ == "__main__":
    main()
