#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs to sample a process from outside, and how true that is: `sonde record` beside perf and py-spy.

A C program and a Python program, whose shares of two functions are known (three rounds of four in one of them), run for some seconds and say how many rounds
they made. Each tool samples them for less than that. Told are the rounds beside those without a tool, the tool's processor time while it samples (its user and system time in all,
and that of making a report of it for itself), and the share that it finds.

Usage: record.py [--seconds N] [--rate HZ] [--turns N] [--pyspy FILE] [--sonde FILE]
"""
import argparse
import collections
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("SONDE_BUILD", ROOT / "build"))
C_PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define APART __attribute__((noinline, noclone))
static volatile uint64_t sum;
static APART void spin(unsigned rounds)
{
	uint64_t state = sum | 1;
	for (unsigned round = 0; round < rounds * 1000u; round++)
		state = state * 6364136223846793005u + 1442695040888963407u;
	sum = state;
}
static APART void long_part(void) { spin(30); __asm__ volatile(""); }
static APART void short_part(void) { spin(10); __asm__ volatile(""); }
static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}
int main(int argc, char **argv)
{
	double end = now() + atof(argv[argc - 1]);
	unsigned long rounds = 0;
	for (; now() < end; rounds++) {
		long_part();
		short_part();
	}
	printf("%lu\n", rounds);
}
"""
PYTHON_PROGRAM = """
import sys, time
def spin(rounds):
    total = 0
    for number in range(rounds * 100):
        total += number * number
    return total
def long_part():
    return spin(30)
def short_part():
    return spin(10)
end, rounds = time.monotonic() + float(sys.argv[1]), 0
while time.monotonic() < end:
    long_part()
    short_part()
    rounds += 1
print(rounds)
"""


def share(counts):
    """Of the long part among both."""
    both = counts["long_part"] + counts["short_part"]
    return counts["long_part"] / both if both else float("nan"), both


def count_lines(lines):
    """Of folded stacks."""
    counts = collections.Counter()
    for line in lines:
        stack, _, count = line.rpartition(" ")
        for part in ("long_part", "short_part"):
            if part in stack:
                counts[part] += int(count)
    return share(counts)


class Sonde:
    name = "sonde record"

    def __init__(self, options, python):
        self.options = options

    def command(self, pid, folder):
        return [self.options.sonde, "record", "-q", "-o", folder / "out.sdb", "-F", self.options.rate, "-p", pid, "--", self.options.seconds]

    def found(self, folder):
        subprocess.run([self.options.sonde, "export", "--to", "folded", folder / "out.sdb", "-o", folder / "folded"], check=True, capture_output=True)
        done = subprocess.run([self.options.sonde, "info", folder / "out.sdb", "--format", "json"], check=True, capture_output=True, text=True)
        [metric] = json.loads(done.stdout)["metrics"]
        found, sum_of = count_lines((folder / "folded").read_text().splitlines())
        return found, sum_of / (metric["period"] or 1)


class Perf:
    name = "perf record --call-graph dwarf,16384"

    def __init__(self, options, python):
        self.options = options

    def command(self, pid, folder):
        return ["perf", "record", "-q", "-e", "cpu-clock", "-F", self.options.rate, "--call-graph", "dwarf,16384", "-o", folder / "perf.data", "-p", pid, "--",
                "sleep", self.options.seconds]

    def found(self, folder):
        text = subprocess.run(["perf", "script", "-i", folder / "perf.data", "-F", "ip,sym"], capture_output=True, text=True, check=True).stdout
        counts = collections.Counter()
        for stack in text.split("\n\n"):
            for part in ("long_part", "short_part"):
                counts[part] += part in stack
        return share(counts)


class PySpy:
    name = "py-spy record --nonblocking"
    more = ["--nonblocking"]

    def __init__(self, options, python):
        self.options = options

    def command(self, pid, folder):
        return [self.options.pyspy, "record", *self.more, "-r", self.options.rate, "-d", self.options.seconds, "-f", "raw", "-o", folder / "raw", "-p", pid]

    def found(self, folder):
        return count_lines((folder / "raw").read_text().splitlines())


class PySpyBlocking(PySpy):
    name = "py-spy record"
    more = []


def run(program, tool, seconds):
    """Rounds, the tool's processor seconds, the share it finds and by how many samples."""
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        process = subprocess.Popen([*map(str, program), str(seconds + 2)], stdout=subprocess.PIPE, text=True)
        time.sleep(0.5)
        used, found = 0, (float("nan"), 0)
        if tool:
            child = subprocess.Popen(list(map(str, tool.command(process.pid, folder))), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            _, status, usage = os.wait4(child.pid, 0)
            used = usage.ru_utime + usage.ru_stime
            if status:
                sys.exit(f"{tool.name}: {child.stderr.read().decode()}")
        rounds = int(process.communicate()[0])
        if tool:
            found = tool.found(folder)
        return rounds, used, *found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rate", type=int, default=99)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--pyspy", default=shutil.which("py-spy"))
    parser.add_argument("--sonde", default=BUILD / "src/cmd/sonde")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        (folder / "program.c").write_text(C_PROGRAM)
        (folder / "program.py").write_text(PYTHON_PROGRAM)
        subprocess.run(["cc", "-O2", "-g", folder / "program.c", "-o", folder / "program"], check=True)
        tools = {"C": [Sonde, Perf], "Python": [Sonde, Perf, *([PySpy, PySpyBlocking] if options.pyspy else [])]}
        programs = {"C": [folder / "program"], "Python": [sys.executable, folder / "program.py"]}
        print("| program | tool | rounds beside those without, % | tool's processor time, % of the time | share found (0.75) | samples of both |\n|---|---|---|---|---|---|")
        for language, kinds in tools.items():
            rows = collections.defaultdict(list)
            for _ in range(options.turns):
                plain = run(programs[language], None, options.seconds)[0]
                for kind in kinds:
                    rounds, used, found, count = run(programs[language], kind(options, language), options.seconds)
                    rows[kind.name].append((100 * (rounds / plain - 1), 100 * used / options.seconds, found, count))
            for name, values in rows.items():
                means = [statistics.mean(column) for column in zip(*values)]
                spread = statistics.stdev(row[0] for row in values) if len(values) > 1 else 0
                print(f"| {language} | {name} | {means[0]:+.2f} ± {spread:.2f} | {means[1]:.2f} | {means[2]:.3f} | {means[3]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
