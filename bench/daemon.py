#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `sonde daemon` costs and misses, beside an empty program and DCPI's table in its plain form (daemon_plain.bpf.c), as root:

handler   nanoseconds of a sample in the kernel, in a hot loop and in a storm of gcc's processes
hits      of the samples in that storm, those that found their entry, stretch by stretch from the daemon's start; losses by cause
lost      processor time that programs lose, by gaps in a loop that reads the clock (gaps.c): nothing, the empty program, the daemon, in turns
own       the daemon's processor time and memory, on a busy machine, without callers and with (20 a second of each processor)
unknown   samples of unknown code while so many processes a second begin and end
disk      bytes of the store an hour of a mixed load would take, from some minutes of it

Usage: daemon.py [--only WHAT] [--seconds N] [--turns N]   Prints tables in Markdown.
"""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("SONDE_BUILD", ROOT / "build"))
SONDE = BUILD / "src/cmd/sonde"
PROCESSORS = os.cpu_count()
HOT = "int main(void) { for (volatile unsigned long i = 0;; i++) ; }\n"
SMALL = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int f{0}(int *p, int n) {{ int s = {0}; for (int j = 0; j < n; j++) s += p[j] * j; printf("%d", s); return s; }}
int main(void) {{ int a[] = {{1, 2, 3}}; return f{0}(a, 3); }}
"""


def build(folder: pathlib.Path) -> None:
    (folder / "hot.c").write_text(HOT)
    for number in range(40):
        (folder / f"small{number}.c").write_text(SMALL.format(number))
    subprocess.run(["cc", "-O1", folder / "hot.c", "-o", folder / "hot"], check=True)
    subprocess.run(["cc", "-O2", ROOT / "bench/gaps.c", "-o", folder / "gaps"], check=True)
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", ROOT / "bench/daemon_plain.c", "-lbpf", "-o", folder / "plain"], check=True)
    machine = os.uname().machine
    subprocess.run(["clang", "-O2", "-g", "-target", "bpf", "-mcpu=v3", "-ffreestanding", "-D__TARGET_ARCH_" + {"x86_64": "x86", "aarch64": "arm64"}[machine],
                    f"-I/usr/include/{machine}-linux-gnu", "-c", ROOT / "bench/daemon_plain.bpf.c", "-o", folder / "plain.bpf"], check=True)


@contextlib.contextmanager
def load(folder: pathlib.Path, kind: str):
    """The machine is busy with it, until the end of the block."""
    storm = f"cd {folder}; while :; do for i in $(seq 0 39); do gcc -O2 small$i.c -o small$i & [ $((i % {PROCESSORS})) = 0 ] && wait; done; done"
    execs = "while :; do /bin/true; done"
    commands = {"hot": [[folder / "hot"]] * PROCESSORS, "storm": [["bash", "-c", storm]], "execs": [["bash", "-c", execs]] * PROCESSORS, "none": []}[kind]
    processes = [subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL) for command in commands]
    time.sleep(1)
    try:
        yield
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()


def ask(store: pathlib.Path, action: str) -> dict:
    return json.loads(subprocess.run([SONDE, "daemon", action, "--store", store, "--format", "json"], stdout=subprocess.PIPE, check=True).stdout)


@contextlib.contextmanager
def daemon(folder: pathlib.Path, *options: object):
    store = folder / "store"
    shutil.rmtree(store, ignore_errors=True)
    subprocess.run([SONDE, "daemon", "start", "-q", "--cost", "100", "--store", store, *map(str, options)], check=True)
    try:
        yield store
    finally:
        subprocess.run([SONDE, "daemon", "stop", "-q", "--store", store], check=True)


def timed(folder: pathlib.Path, program: str, seconds: int) -> dict:
    object_file, rate = ("-", 0) if program == "sample" else (folder / "plain.bpf", 5000)
    return json.loads(subprocess.run([folder / "plain", object_file, program, str(rate), str(seconds)], stdout=subprocess.PIPE, check=True).stdout)


def handler(folder: pathlib.Path, options) -> None:
    print("\n| load | program | ns a sample, by turns | in their entry |\n|---|---|---|---|")
    for kind in ("hot", "storm"):
        found: dict[str, list[dict]] = {"empty": [], "plain": [], "sample": []}
        with load(folder, kind), daemon(folder, "-F", 5000, "--flush", 60) as store:
            time.sleep(5)
            for _ in range(options.turns):
                for program, results in found.items():
                    results.append(timed(folder, program, options.seconds))
            status = ask(store, "status")
        for program, results in found.items():
            hits, samples = sum(one["hits"] for one in results), sum(one["samples"] for one in results)
            share = status["own"]["table_hit_share"] if program == "sample" else hits / samples if samples else None
            numbers = [one["ns"] for one in results]
            print(f"| {kind} | {program} | {statistics.mean(numbers):.0f} ({min(numbers):.0f} to {max(numbers):.0f}) | {'' if share is None else f'{100 * share:.1f} %'} |")


def hits(folder: pathlib.Path, options) -> None:
    """By stretches: what is sampled for the first time finds no entry however large the table is."""
    print(f"\n| storm of gcc at 5,000 Hz, seconds since the daemon's start | samples | in their entry |\n|---|---|---|")
    with load(folder, "storm"), daemon(folder, "-F", 5000, "--flush", 60) as store:
        samples_before = hits_before = 0.0
        for stretch in range(options.stretches):
            time.sleep(10 * options.seconds)
            status = ask(store, "status")
            samples = status["samples"]["taken"] - sum(status["lost"].values())
            found = samples * status["own"]["table_hit_share"]
            print(f"| {10 * options.seconds * stretch} to {10 * options.seconds * (stretch + 1)} | {samples - samples_before:,.0f} | {100 * (found - hits_before) / (samples - samples_before):.1f} % |")
            samples_before, hits_before = samples, found
    print(f"\nLost: {status['lost']}; in all {100 * status['own']['table_hit_share']:.1f} % in their entry")


def gaps(folder: pathlib.Path, seconds: int) -> float:
    """Percent of a processor's time that the loop did not have, on average."""
    loops = [subprocess.Popen(["taskset", "-c", str(processor), folder / "gaps", str(seconds)], stdout=subprocess.PIPE, text=True) for processor in range(PROCESSORS)]
    return statistics.mean(100 * float(loop.communicate()[0].split()[0]) for loop in loops)


def lost(folder: pathlib.Path, options) -> None:
    print("\n| Hz | nothing | empty program | daemon | the daemon beyond the empty program |\n|---|---|---|---|---|")
    for rate in (1000, 5200):
        found: dict[str, list[float]] = {"nothing": [], "empty": [], "daemon": []}
        for _ in range(options.rounds):
            found["nothing"].append(gaps(folder, options.seconds))
            with subprocess.Popen([folder / "plain", folder / "plain.bpf", "empty", str(rate), str(options.seconds + 2), "untimed"], stdout=subprocess.DEVNULL) as empty:
                time.sleep(0.5)
                found["empty"].append(gaps(folder, options.seconds))
                empty.wait()
            with daemon(folder, "-F", rate):
                time.sleep(1.5)
                found["daemon"].append(gaps(folder, options.seconds))
        beyond = [one - other for one, other in zip(found["daemon"], found["empty"])]
        error = statistics.stdev(beyond) / len(beyond) ** 0.5
        print(f"| {rate} | " + " | ".join(f"{statistics.median(numbers):.3f}" for numbers in found.values()) + f" | {statistics.mean(beyond):+.3f} ± {error:.3f} points |")


def own(folder: pathlib.Path, options) -> None:
    print("\n| load, 1,000 Hz | callers a second | s | % of a processor | MiB | samples | with callers, cut, unknown | lost |\n|---|---|---|---|---|---|---|---|")
    for kind, callers in (("hot", 0), ("storm", 0), ("hot", 20), ("storm", 20)):
        with load(folder, kind), daemon(folder, "-F", 1000, "--callers", callers) as store:
            time.sleep(options.minutes * 60)
            status = ask(store, "flush")
        of, paths = status["own"], status.get("callers", {"samples": 0, "cut": 0, "unknown": 0})
        print(f"| {kind} | {callers} | {of['watched_ns'] / 1e9:.0f} | {100 * of['cpu_ns'] / of['watched_ns']:.3f} | {of['resident_bytes'] / 2**20:.1f} | {status['samples']['taken']:,} | "
              f"{paths['samples']:,}, {paths['cut']:,}, {paths['unknown']:,} | {sum(status['lost'].values())} |")


def unknown(folder: pathlib.Path, options) -> None:
    def forks() -> int:
        return next(int(line.split()[1]) for line in open("/proc/stat") if line.startswith("processes "))

    with load(folder, "execs"), daemon(folder, "-F", 1000) as store:
        before, begin = forks(), time.monotonic()
        time.sleep(10 * options.seconds)
        rate = (forks() - before) / (time.monotonic() - begin)
        status = ask(store, "flush")
    taken = status["samples"]["taken"]
    print(f"\n{rate:.0f} processes a second: {taken:,} samples, unknown {100 * status['lost']['unknown-code'] / taken:.4f} %, lost in all {100 * sum(status['lost'].values()) / taken:.4f} %: {status['lost']}")


def disk(folder: pathlib.Path, options) -> None:
    with load(folder, "storm"), daemon(folder, "-F", 1000) as store:
        sizes = []
        for _ in range(options.minutes):
            time.sleep(60)
            ask(store, "flush")
            sizes.append(sum(path.stat().st_size for path in store.iterdir() if path.is_file()))
        ask(store, "epoch")
        time.sleep(1)
        sealed = sum(path.stat().st_size for path in store.iterdir() if path.is_file())
        status = ask(store, "status")
    print(f"\n{status['samples']['stored']:,} samples of {options.minutes} minutes: {sizes} bytes after each minute, {sealed} sealed")


def main() -> None:
    parts = {"handler": handler, "hits": hits, "lost": lost, "own": own, "unknown": unknown, "disk": disk}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=parts)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--stretches", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--minutes", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build(pathlib.Path(folder))
        for name, part in parts.items():
            if options.only in (None, name):
                part(pathlib.Path(folder), options)


if __name__ == "__main__":
    main()
