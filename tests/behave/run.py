#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs hostile programs plain and under `sonde run`, and compares what anyone could see of them.

The programs are in cases/: each is a list of cases, which behave.h describes. A case is run twice plain and then measured,
under several kinds of options, each time in an empty folder. Compared are standard output, how it ended, the files it left,
and the descriptors open at its end (which it prints). One line for each difference, and one at the end:
"N cases, N runs, N differ, N unstable, N accepted, N skipped"; status 1 where one differs or is unstable.

A case whose two plain runs differ is unstable: it is the case that must be mended. accepted.txt lists what differs for a
reason; the manual page must quote each reason.
"""
from __future__ import annotations

import argparse
import difflib
import fnmatch
import hashlib
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OPTIONS = ["", "-F 1000", "-F 5000", "-e real-time", "-e real-time,cpu-time@1000", "-e page-faults@10,cpu-time",
           "-e context-switches,cpu-time", "--trace", "--os"]
SKIP_STATUS = 77
MANUAL_PAGES = [ROOT / "docs/man/sonde-run.1", ROOT / "docs/man/libsonde.7"]


@dataclass(frozen=True)
class Case:
    program: str
    name: str
    command: tuple[str, ...]

    @property
    def full_name(self) -> str:
        return f"{self.program}/{self.name}"


@dataclass(frozen=True)
class Seen:
    """What anyone could see of a run."""

    status: str
    out: str
    files: tuple[str, ...]
    err: str = field(compare=False, default="")


@dataclass
class Totals:
    runs: int = 0
    differ: int = 0
    unstable: int = 0
    accepted: int = 0
    skipped: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, what: str, text: str = "") -> None:
        with self.lock:
            setattr(self, what, getattr(self, what) + 1)
            if text:
                print(text, flush=True)


# ---- running one ----

def content(path: Path, size: int) -> str:
    """Of a file that its owner may not read, whoever is not root has the mode alone."""
    try:
        return f" {size} {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
    except PermissionError:
        return f" {size} unreadable"


def files_below(folder: Path) -> tuple[str, ...]:
    found = []
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        line = f"{path.relative_to(folder)} {stat.filemode(info.st_mode)}"
        if stat.S_ISREG(info.st_mode):
            line += content(path, info.st_size)
        found.append(line)
    return tuple(found)


def end_all(mark: str) -> None:
    """Whatever is left of a run, in whatever session: all that have its mark in their environment."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            process = os.pidfd_open(int(entry))  # held first, so that the number cannot mean another one by then
        except OSError:
            continue
        try:
            if mark.encode() in Path("/proc", entry, "environ").read_bytes().split(b"\0"):
                signal.pidfd_send_signal(process, signal.SIGKILL)
        except OSError:
            pass
        finally:
            os.close(process)


def status_text(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"status {code}"


def run(command: list[str], scratch: Path, limit_s: float) -> Seen:
    folder = scratch / "folder"
    folder.mkdir()
    mark = f"BEHAVE_RUN={scratch.name}"
    with open(scratch / "out", "w+b") as out, open(scratch / "err", "w+b") as err:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   start_new_session=True, env=environment(mark))
        try:
            status = status_text(process.wait(limit_s))
        except subprocess.TimeoutExpired:
            status = f"hung for {limit_s:.0f} s"
            process.kill()
        end_all(mark)
        process.wait()
        out.seek(0)
        err.seek(0)
        return Seen(status, out.read().decode(errors="replace"), files_below(folder), err.read().decode(errors="replace"))


def environment(mark: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SONDE_", "LC_", "LD_"))}
    return {**kept, "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", **dict([mark.split("=", 1)])}


def in_scratch(command: list[str], limit_s: float) -> Seen:
    with tempfile.TemporaryDirectory(prefix="behave-", ignore_cleanup_errors=True) as scratch:
        return run([part.replace("@SCRATCH@", scratch) for part in command], Path(scratch), limit_s)


def measured_command(sonde: Path, options: str, command: tuple[str, ...]) -> list[str]:
    return [str(sonde), "run", "-q", "--no-analyze", "-o", "@SCRATCH@/measured", *shlex.split(options), "--", *command]


# ---- comparing ----

def differences(plain: Seen, measured: Seen) -> list[str]:
    found = []
    if plain.status != measured.status:
        found.append(f"plain {plain.status}, measured {measured.status}")
    changed = [line for line in difflib.unified_diff(plain.out.splitlines(), measured.out.splitlines(), n=0, lineterm="")
               if not line.startswith(("---", "+++", "@@"))]
    found += changed[:6] + ([f"... {len(changed) - 6} more lines"] if len(changed) > 6 else [])
    found += [f"file only plain: {name}" for name in sorted(set(plain.files) - set(measured.files))[:4]]
    found += [f"file only measured: {name}" for name in sorted(set(measured.files) - set(plain.files))[:4]]
    return found


@dataclass(frozen=True)
class Accepted:
    case: str
    options: str
    reason: str


def read_accepted() -> list[Accepted]:
    """Lines of "CASE | OPTIONS | reason", both with * and ?."""
    lines = (HERE / "accepted.txt").read_text().splitlines()
    rows = [[part.strip() for part in line.split("|", 2)] for line in lines if line.strip() and not line.startswith("#")]
    return [Accepted(*row) for row in rows]


def unquoted(accepted: list[Accepted]) -> list[str]:
    """The reasons that no manual page tells its reader."""
    text = " ".join(re.sub(r"\s+", " ", page.read_text()) for page in MANUAL_PAGES)
    return [row.reason for row in accepted if row.reason not in text]


# ---- programs ----

def compile_programs(folder: Path) -> list[Path]:
    """Each is compiled again only when it or behave.[ch] changed."""
    folder.mkdir(parents=True, exist_ok=True)
    common = [HERE / "behave.c", HERE / "behave.h", *(HERE / "cases").glob("*.h")]
    aio = "-laio" if Path("/usr/include/libaio.h").exists() else ""
    jobs, programs = [], []
    for source in sorted((HERE / "cases").glob("*.c")):
        program = folder / source.stem
        programs.append(program)
        newest = max(path.stat().st_mtime for path in [source, *common])
        if program.exists() and program.stat().st_mtime > newest:
            continue
        flags = re.search(r"/\* flags: (.*?) \*/", source.read_text())
        jobs.append(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations", "-Wno-clobbered", "-pthread", f"-I{HERE}",
                     "-o", str(program), str(source), str(HERE / "behave.c"), "-Wl,-z,now", *shlex.split((flags[1] if flags else "").replace("@libaio@", aio))])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for command, done in zip(jobs, pool.map(lambda job: subprocess.run(job, capture_output=True, text=True), jobs)):
            if done.returncode:
                sys.exit(f"cannot compile {command[command.index('-o') + 2]}:\n{done.stderr}")
    return programs


def all_cases(folder: Path) -> list[Case]:
    cases = []
    for program in compile_programs(folder):
        names = subprocess.run([program, "list"], capture_output=True, text=True, check=True).stdout.split()
        cases += [Case(program.name, name, (str(program), name)) for name in names]
    for script in sorted((HERE / "cases").glob("*.py")):
        names = re.findall(r"^def case_(\w+)", script.read_text(), re.M)
        cases += [Case(script.name, name, ("/usr/bin/python3", str(script), name)) for name in names]
    return cases


def chosen(cases: list[Case], patterns: list[str]) -> list[Case]:
    if not patterns:
        return cases
    found = [case for case in cases
             if any(fnmatch.fnmatch(case.full_name, text) or fnmatch.fnmatch(case.name, text) for text in patterns)]
    if not found:
        sys.exit(f"no case is called {' or '.join(patterns)}")
    return found


# ---- the suite ----

def permitted(sonde: Path, options: list[str]) -> list[str]:
    """Those that this machine lets a program be measured with; the others are named with what `sonde run` says."""
    kept = []
    for text in options:
        seen = in_scratch(measured_command(sonde, text, ("/bin/true",)), 60)
        if seen.status == "status 0" and not seen.err:
            kept.append(text)
        else:
            print(f"SKIPPED [{text}]: {(seen.err.splitlines() or [seen.status])[0]}", flush=True)
    return kept


@dataclass
class Suite:
    sonde: Path
    options: list[str]
    each: bool  # all options in each round, or the default and one that rotates
    rounds: int
    limit_s: float
    accepted: list[Accepted]
    totals: Totals = field(default_factory=Totals)
    seen_accepted: set[Accepted] = field(default_factory=set)

    def options_of(self, index: int, number: int) -> list[str]:
        if self.each or len(self.options) < 3:
            return self.options
        rotating = self.options[1:]
        return [self.options[0], rotating[(index + number) % len(rotating)]]

    def run_case(self, index: int, case: Case) -> None:
        plain, again = (in_scratch(list(case.command), self.limit_s) for _ in range(2))
        if plain.status == again.status == f"status {SKIP_STATUS}":
            self.totals.count("skipped", f"SKIPPED {case.full_name}: {plain.out.strip()}")
            return
        if plain != again:
            self.tell("unstable", f"UNSTABLE {case.full_name}", differences(plain, again), "")
            return
        for number in range(self.rounds):
            for options in self.options_of(index, number):
                self.compare(case, options, plain)

    def compare(self, case: Case, options: str, plain: Seen) -> None:
        measured = in_scratch(measured_command(self.sonde, options, case.command), self.limit_s)
        self.totals.count("runs")
        if measured == plain:
            return
        for row in self.accepted:
            if fnmatch.fnmatch(case.full_name, row.case) and fnmatch.fnmatch(options, row.options):
                self.seen_accepted.add(row)
                self.totals.count("accepted")
                return
        self.tell("differ", f"DIFF {case.full_name} [{options}]", differences(plain, measured), measured.err)

    def tell(self, what: str, title: str, lines: list[str], err: str) -> None:
        said = [f"  stderr: {line}" for line in err.splitlines()[:3]]
        self.totals.count(what, "\n".join([f"{title}: {lines[0]}", *(f"  {line}" for line in lines[1:]), *said]))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sonde", type=Path, help="the sonde to try (that of $SONDE_BUILD, or build/)")
    parser.add_argument("--rounds", type=int, default=1, help="measured runs of each case and kind of options")
    parser.add_argument("--case", action="append", default=[], metavar="NAME", help="only these; with * and ?")
    parser.add_argument("--options", action="append", metavar="TEXT", help="options of `sonde run` instead of all kinds")
    parser.add_argument("--each", action="store_true", help="all kinds of options in each round, not the default and one more")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1),
                        help="cases at a time: most of them sleep most of the time")
    parser.add_argument("--limit", type=float, default=20, metavar="SECONDS", help="a run that takes longer hangs")
    parser.add_argument("--list", action="store_true", help="names the cases")
    return parser.parse_args()


def build_folder() -> Path:
    return Path.cwd() / os.environ.get("SONDE_BUILD", ROOT / "build")


def main() -> int:
    args = arguments()
    sonde = (args.sonde or build_folder() / "src/cmd/sonde").resolve()
    cases = chosen(all_cases(build_folder() / "tests/behave"), args.case)
    if args.list:
        print(*(case.full_name for case in cases), sep="\n")
        return 0
    if not sonde.exists():
        sys.exit(f"{sonde} is not there: build first, or set SONDE_BUILD")
    accepted = read_accepted()
    unexplained = unquoted(accepted)
    for reason in unexplained:
        print(f"no manual page has the reason: {reason}")
    suite = Suite(sonde, permitted(sonde, args.options or OPTIONS), args.each or bool(args.options), args.rounds, args.limit,
                  accepted)
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(suite.run_case, range(len(cases)), cases))
    totals = suite.totals
    print(f"{len(cases)} cases, {totals.runs} runs, {totals.differ} differ, {totals.unstable} unstable, "
          f"{totals.accepted} accepted, {totals.skipped} skipped")
    return 1 if totals.differ or totals.unstable or unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
