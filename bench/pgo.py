#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SQLite rebuilt by profiles of `sonde export`, beside plain -O2 and beside the compiler's own instrumentation.

The program (bench/pgo_sqlite.c) is sampled under `sonde run` on one input. Then it is built: plain; by the sampled profile (clang -fprofile-sample-use, gcc -fauto-profile);
by counters (-fprofile-generate, -fprofile-use) of the same input; and, where llvm-bolt is, the plain one rewritten by BOLT with the sampled profile. All run another input in turns.
Told is the time of a processor beside plain in the same round: the median, the mean and the deviation of a round.

Usage: pgo.py --source FOLDER [--compiler clang|gcc] [--rounds N] [--turns N] [--rate HZ] [--train-turns N] [--folder FOLDER [--build-only | --measure-only]] [--sonde FILE]
The source's folder has sqlite3.c and sqlite3.h, the amalgamation (the npm package better-sqlite3 has it in deps/sqlite3); in the other one programs and profiles are kept. Prints a table in Markdown.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

from turns import in_turns

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("SONDE_BUILD", ROOT / "build"))
COMMON = ["-O2", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION", "-w"]
DEBUG = {"clang": ["-g", "-fdebug-info-for-profiling"], "gcc": ["-g"]}
SAMPLED = {"clang": ("autofdo", "-fprofile-sample-use={0}"), "gcc": ("gcov", "-fauto-profile={0}")}
TRAINING, MEASURED = 11, 4242  # seeds
BOLT = ["-reorder-blocks=ext-tsp", "-reorder-functions=hfsort", "-split-functions", "-split-all-cold"]


def build(options: argparse.Namespace, output: str, *flags: str) -> pathlib.Path:
    path = options.folder / output
    subprocess.run([options.compiler, *COMMON, *flags, "-I", options.source, ROOT / "bench/pgo_sqlite.c", options.source / "sqlite3.c", "-lm", "-o", path], check=True)
    return path


def train(options: argparse.Namespace, program: pathlib.Path, *before: object, **environment: str) -> None:
    subprocess.run([*before, program, str(TRAINING), str(options.train_turns)], check=True, stdout=subprocess.DEVNULL, env={**os.environ, **environment})


def export(options: argparse.Namespace, kind: str) -> pathlib.Path:
    path = options.folder / f"profile.{kind}"
    subprocess.run([options.sonde, "export", "--to", kind, options.folder / "run.sdb", "--image", "sampled-for", "-o", path], check=True)
    return path


def instrumented(options: argparse.Namespace) -> pathlib.Path:
    counts = options.folder / "counts"
    shutil.rmtree(counts, ignore_errors=True)
    train(options, build(options, "counting", f"-fprofile-generate={counts}"))
    if options.compiler == "clang":
        subprocess.run([shutil.which("llvm-profdata") or "llvm-profdata-14", "merge", "-o", options.folder / "counts.profdata", *counts.glob("*.profraw")], check=True)
        return build(options, "instrumented", f"-fprofile-use={options.folder / 'counts.profdata'}")
    # the counters' files are named by the objects, whose names have the program's
    for file in counts.rglob("*counting-*"):
        file.rename(file.with_name(file.name.replace("counting-", "instrumented-")))
    return build(options, "instrumented", f"-fprofile-use={counts}")


def bolted(options: argparse.Namespace, bolt: str, program: pathlib.Path) -> pathlib.Path:
    path = options.folder / "bolted"
    subprocess.run([bolt, program, "-o", path, f"-data={export(options, 'bolt')}", *BOLT], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


def build_all(options: argparse.Namespace) -> None:
    program = build(options, "sampled-for", *DEBUG[options.compiler], "-Wl,--build-id", "-Wl,--emit-relocs")
    train(options, program, options.sonde, "run", "-q", "-F", str(options.rate), "-o", options.folder / "run.sdb", "--")
    kind, flag = SAMPLED[options.compiler]
    build(options, "sampled", flag.format(export(options, kind)))
    shutil.copy(build(options, "plain"), options.folder / "again")
    instrumented(options)
    bolt = shutil.which("llvm-bolt") or next((str(path) for path in sorted(pathlib.Path("/usr/lib").glob("llvm-*/bin/llvm-bolt"))), None)
    if bolt:
        bolted(options, bolt, program)


def variants(options: argparse.Namespace) -> dict[str, pathlib.Path]:
    names = {"plain": "plain", "the same again": "again", f"sonde, {SAMPLED[options.compiler][0]}": "sampled", "counters": "instrumented", "sonde, BOLT": "bolted"}
    return {name: options.folder / file for name, file in names.items() if (options.folder / file).exists()}


def seconds(program: pathlib.Path, turns: int) -> tuple[float, bytes]:
    """Of a processor, and what it printed."""
    with subprocess.Popen([program, str(MEASURED), str(turns)], stdout=subprocess.PIPE) as child:
        printed = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return usage.ru_utime + usage.ru_stime, printed


def show(figures: dict[str, list[tuple[float, bytes]]]) -> None:
    assert len({printed for runs in figures.values() for _, printed in runs}) == 1, "all programs answer the same"
    plain = [time for time, _ in figures["plain"]]
    print("| build | beside plain, median | mean | deviation of a round | seconds, least |\n|---|---|---|---|---|")
    for name, runs in figures.items():
        times = [time for time, _ in runs]
        ratios = [time / other for time, other in zip(times, plain)]
        print(f"| {name} | {statistics.median(ratios):.3f} | {statistics.mean(ratios):.3f} | {statistics.stdev(ratios):.3f} | {min(times):.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", choices=SAMPLED, default="clang")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--train-turns", type=int, default=40)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--measure-only", action="store_true")
    parser.add_argument("--sonde", default=BUILD / "src/cmd/sonde")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as temporary:
        options.folder = options.folder or pathlib.Path(temporary)
        options.folder.mkdir(exist_ok=True)
        if not options.measure_only:
            build_all(options)
        programs = variants(options)
        if not options.build_only:
            show(in_turns(programs, options.rounds, lambda name: seconds(programs[name], options.turns)))


main()
