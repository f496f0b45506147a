#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs real software, and its own tests, plain and under `sonde run`, and tells what differs.

Each kind of software (--list) is run in a folder of its own and gives a set of results: tests that passed or failed, answers,
exit statuses. They are the same measured, or the difference is printed. What is not installed is skipped aloud; --install gets
it by apt first. --write PAGE puts the table with command and machine where docs/results keeps it.
"""
from __future__ import annotations

import argparse
import contextlib
import os
import platform
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
REAL = HERE / "real"
OPTIONS = ["", "-F 1000"]
Results = dict[str, str]

CPYTHON_MODULES = """test_signal test_threadsignals test_subprocess test_threading test_thread test_socket test_asyncio
test_multiprocessing_fork test_multiprocessing_spawn test_faulthandler test_os test_posix test_select test_selectors test_poll
test_epoll test_pty test_tty test_openpty test_io test_fileio test_bufio test_fcntl test_mmap test_queue
test_concurrent_futures test_eintr test_fork1 test_wait3 test_wait4 test_popen test_pipes test_sched test_time test_timeout
test_socketserver test_ssl test_httpservers test_resource test_sqlite3 test_ctypes test_shutil test_tempfile test_gc
test_context test_exceptions test_sys test_atexit test_cmd_line test_ioctl test_largefile test_file
test_threadedtempfile test_dtrace test_logging test_contextlib test_zipfile test_regrtest""".split()


class NotHere(Exception):
    """What is missing."""


@dataclass
class Run:
    """One run of one kind of software: plain, or with the words that measure it before each command."""

    folder: Path
    sonde: Path | None
    options: str
    limit_s: float
    user: str | None = None
    count: int = 0
    results: Results = field(default_factory=dict)

    def command(self, *words: object) -> list[str]:
        text = [str(word) for word in words]
        if self.sonde:
            self.count += 1
            text = [str(self.sonde), "run", "-q", "--no-analyze", "-o", str(self.folder / f"measured{self.count}"),
                    *shlex.split(self.options), "--", *text]
        return ["runuser", "-u", self.user, "--", *text] if self.user and os.geteuid() == 0 else text

    def start(self, *words: object, **how: object) -> subprocess.Popen[str]:
        """A program that goes on until it is told to end."""
        with open(self.folder / "server.log", "a") as log:
            return subprocess.Popen(self.command(*words), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                    start_new_session=True, text=True, env=environment(), **how)  # type: ignore[call-overload]

    def run(self, *words: object, measured: bool = True, input: str | None = None, limit_s: float | None = None,
            **more: str) -> subprocess.CompletedProcess[str]:
        """A command that ends; status 124 where it does not. Whatever it leaves behind is ended."""
        command = self.command(*words) if measured else Run(self.folder, None, "", 0, self.user).command(*words)
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err, tempfile.TemporaryFile("w+") as given:
            given.write(input or "")
            given.seek(0)
            process = subprocess.Popen(command, cwd=self.folder, stdin=given, stdout=out, stderr=err, start_new_session=True,
                                       env=environment(**more))
            try:
                status = process.wait(limit_s or self.limit_s)
            except subprocess.TimeoutExpired:
                status = 124
            end_group(process)
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(command, status, out.read(), err.read())

    def say(self, name: str, result: object) -> None:
        self.results[name] = str(result)

    def lines(self, name: str, done: subprocess.CompletedProcess[str]) -> None:
        """Each line that a program of ours printed, by its beginning, and how it ended."""
        for index, line in enumerate(done.stdout.splitlines()[:500]):
            self.say(f"{name} line {index + 1}", line)
        self.say(f"{name} lines", len(done.stdout.splitlines()))
        self.say(f"{name} ended", "HUNG" if done.returncode == 124 else done.returncode)


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SONDE_", "LC_", "LD_", "RUST_", "PYTHON"))}
    return {**kept, "LC_ALL": "C.UTF-8", "PATH": "/usr/lib/postgresql/15/bin:" + kept["PATH"], **more}


def end_group(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()


def need(*programs: str) -> None:
    missing = [program for program in programs if not shutil.which(program, path=environment()["PATH"])]
    if missing:
        raise NotHere(" and ".join(missing))


def until(condition: Callable[[], bool], seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


@contextlib.contextmanager
def server(run: Run, *words: object) -> Iterator[subprocess.Popen[str]]:
    process = run.start(*words)
    try:
        yield process
    finally:
        end_group(process)


def ended(process: subprocess.Popen[str], number: int, inner: int | None = None) -> str:
    """Told to end by that signal, as its users tell it: how it did."""
    os.kill(inner or process.pid, number)
    try:
        return str(process.wait(30))
    except subprocess.TimeoutExpired:
        return "HUNG"


# ---- interpreters and compilers ----

def cpython(run: Run, modules: list[str]) -> None:
    if not Path("/usr/lib/python3.11/test/test_os.py").exists():
        raise NotHere("libpython3.11-testsuite")
    for module in modules:
        if not list(Path("/usr/lib/python3.11/test").glob(f"{module}*")):
            continue
        report = run.folder / f"{module}.xml"
        # a virtual machine's socket to its host, where nobody answers, hangs plain; the other compares all descriptors that a
        # measured child has, of which libsonde(7) says that ours is among them
        left_out = ["-i", "*VSOCK*", "-i", "test_pass_fds_redirected"]
        done = run.run("/usr/bin/python3.11", "-m", "test", module, *left_out, "--junit-xml", report, "--tempdir", run.folder)
        run.say(f"{module} ended", "HUNG" if done.returncode == 124 else done.returncode)
        for case in xml.parse(report).iter("testcase") if report.exists() else []:
            kind = next((child.tag for child in case if child.tag in ("error", "failure", "skipped")), "passed")
            name = re.sub(r"0x[0-9a-f]+|\d{4,}", "N", f"{module} {case.get('name')}")
            run.say(name, kind)


def compiler(run: Run) -> None:
    need("gcc", "make")
    largest = max(ROOT.glob("src/**/*.c"), key=lambda path: path.stat().st_size)
    for name in filter(shutil.which, ["gcc", "clang"]):
        done = run.run(name, "-std=gnu17", "-O2", "-D_GNU_SOURCE", f"-I{ROOT}/include", f"-I{ROOT}/src", "-c", largest, "-o",
                       f"{name}.o")
        run.say(f"{name} ended", done.returncode)
        run.say(f"{name} said", done.stderr[:500])
        hashed = run.run("sha256sum", f"{name}.o", measured=False)
        run.say(f"{name} made", hashed.stdout)
    sources = sorted(ROOT.glob("src/base/*.c"))
    rules = "".join(f"{path.stem}.o: {path}\n\tgcc -std=gnu17 -O1 -D_GNU_SOURCE -I{ROOT}/include -I{ROOT}/src -c -o $@ $<\n"
                    for path in sources)
    (run.folder / "Makefile").write_text(f"all: {' '.join(path.stem + '.o' for path in sources)}\n{rules}")
    done = run.run("make", "-s", "-j3")
    run.say("make ended", done.returncode)
    run.say("make made", run.run("sh", "-c", "cat *.o | sha256sum", measured=False).stdout)


def node(run: Run) -> None:
    need("node")
    run.lines("node", run.run("node", REAL / "node.mjs"))


def jdk(run: Run) -> None:
    need("java", "javac")
    done = run.run("javac", "-nowarn", "-d", run.folder, REAL / "Basics.java")
    run.say("javac ended", done.returncode)
    for options in [(), ("-XX:+UseSerialGC", "-Xmx64m"), ("-Xint",), ("-XX:+UseZGC",)]:
        run.lines(f"java {' '.join(options)}", run.run("java", *options, "-cp", run.folder, "Basics"))


def go(run: Run) -> None:
    need("go", "gcc")
    done = run.run("go", "build", "-o", run.folder / "basics", REAL / "basics.go", GOCACHE=str(run.folder / "cache"),
                   GOFLAGS="-mod=mod", HOME=str(run.folder))
    run.say("go build ended", done.returncode)
    run.lines("go", run.run(run.folder / "basics"))


def rust(run: Run) -> None:
    need("rustc")
    done = run.run("rustc", "-O", "-o", run.folder / "basics", REAL / "basics.rs")
    run.say("rustc ended", done.returncode)
    run.lines("rust", run.run(run.folder / "basics"))


# ---- tools ----

def tools(run: Run) -> None:
    need("xz", "perl", "make", "timeout")
    run.lines("tools", run.run(REAL / "tools.sh", run.folder))


def git(run: Run) -> None:
    need("git")
    run.lines("git", run.run(REAL / "git.sh", run.folder))


def sqlite(run: Run) -> None:
    run.lines("sqlite", run.run("/usr/bin/python3", REAL / "sqlite.py", run.folder))
    need("sqlite3")
    script = ".mode csv\ncreate table t(a, b);\nwith recursive n(x) as (select 1 union all select x+1 from n where x<100000) " \
             "insert into t select x, hex(x*x) from n;\nselect count(*), sum(a), max(b) from t;\npragma integrity_check;\n"
    run.lines("sqlite3", run.run("sqlite3", "shell.db", input=script))


# ---- servers ----

def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def redis(run: Run) -> None:
    need("redis-server", "redis-benchmark", "redis-cli")
    port = free_port()
    with server(run, "redis-server", "--port", port, "--dir", run.folder, "--save", "", "--appendonly", "yes",
                "--io-threads", "2", "--pidfile", run.folder / "pid", "--daemonize", "no") as process:
        run.say("starts", until(lambda: answers(port)))
        done = run.run("redis-benchmark", "-p", port, "-n", 20000, "-c", 50, "-P", 4, "-q", "--csv", measured=False)
        run.say("benchmark", [line.split(",")[0] for line in done.stdout.splitlines()])
        run.say("benchmark ended", done.returncode)
        done = run.run("redis-benchmark", "-p", port, "-n", 5000, "-q", "-t", "set,get", "--csv")
        run.say("measured benchmark", [line.split(",")[0] for line in done.stdout.splitlines()])
        def ask(*words: str) -> str:
            return run.run("redis-cli", "-p", port, *words, measured=False).stdout.strip()

        for words in ["set a 1", "incrby a 41", "get a", "bgsave", "eval return{1,2} 0"]:
            run.say(words, ask(*words.split()))
        run.say("saved", until(lambda: "rdb_bgsave_in_progress:0" in ask("info", "persistence")))
        run.say("rewrites", ask("bgrewriteaof"))
        run.say("rewritten", until(lambda: "aof_rewrite_in_progress:0" in ask("info", "persistence")))
        run.say("states", re.findall(r"(?:last_bgsave_status|aof_last_bgrewrite_status):\w+", ask("info", "persistence")))
        run.say("keys", ask("dbsize"))
        pid = int((run.folder / "pid").read_text())
        run.say("ended by SIGTERM", ended(process, signal.SIGTERM, pid))
    run.say("what went wrong", re.findall(r"# (?!WARNING).*(?:crash|fail|error).*", (run.folder / "server.log").read_text(), re.I))


NGINX = """worker_processes 2; daemon off; pid pid; error_log error.log;
events {{ worker_connections 256; }}
http {{ access_log access.log; client_body_temp_path .; proxy_temp_path .; fastcgi_temp_path .; uwsgi_temp_path .; scgi_temp_path .;
server {{ listen 127.0.0.1:{port}; root .; location /back/ {{ proxy_pass http://127.0.0.1:{port}/; }} }} }}
"""


def nginx(run: Run) -> None:
    need("nginx", "ab", "curl")
    port = free_port()
    (run.folder / "nginx.conf").write_text(NGINX.format(port=port))
    (run.folder / "small").write_text("small\n")
    (run.folder / "large").write_bytes(bytes(range(256)) * (1 << 13))
    run.folder.chmod(0o755)
    with server(run, "nginx", "-p", run.folder, "-c", run.folder / "nginx.conf") as process:
        run.say("starts", until(lambda: answers(port)))
        pid = int((run.folder / "pid").read_text())
        for path, count in [("small", 10000), ("large", 300), ("back/small", 3000)]:
            done = run.run("ab", "-q", "-n", count, "-c", 20, f"http://127.0.0.1:{port}/{path}", measured=False)
            run.say(f"{path} failed", re.findall(r"(?:Complete|Failed|Non-2xx \w+).*", done.stdout))
            if path == "small":
                os.kill(pid, signal.SIGHUP)  # new workers, old ones finish
        if shutil.which("wrk"):
            done = run.run("wrk", "-d", 2, "-c", 20, "-t", 2, f"http://127.0.0.1:{port}/large", measured=False)
            run.say("wrk", [done.returncode, "Socket errors" in done.stdout])
        (run.folder / "access.log").rename(run.folder / "rotated")
        os.kill(pid, signal.SIGUSR1)
        run.say("log opened again", until((run.folder / "access.log").exists))
        body = run.run("sh", "-c", f"curl -s http://127.0.0.1:{port}/large | sha256sum", measured=False)
        run.say("body", body.stdout)
        run.say("ended by SIGQUIT", ended(process, signal.SIGQUIT, pid))
    run.say("errors", re.findall(r"\[(?:alert|crit|emerg)\].*", re.sub(r"\d+#\d+", "", (run.folder / "error.log").read_text())))


def postgresql(run: Run) -> None:
    need("initdb", "postgres", "pgbench", "psql", "pg_ctl")
    run.user = "postgres"
    shutil.chown(run.folder, "postgres")
    data, options = run.folder / "data", ("-h", run.folder, "-U", "postgres")
    done = run.run("initdb", "-D", data, "-A", "trust", "-U", "postgres", "-N")
    run.say("initdb ended", done.returncode)
    if done.returncode:
        return
    with (data / "postgresql.conf").open("a") as file:
        file.write(f"listen_addresses = ''\nunix_socket_directories = '{run.folder}'\nmax_parallel_workers_per_gather = 4\n"
                   "parallel_setup_cost = 0\nparallel_tuple_cost = 0\nmin_parallel_table_scan_size = 0\nshared_buffers = 64MB\n"
                   "deadlock_timeout = 100ms\ncheckpoint_timeout = 30s\n")
    with server(run, "postgres", "-D", data) as process:
        def ready() -> bool:
            return run.run("pg_isready", *options, measured=False).returncode == 0

        run.say("starts", until(ready))
        postgresql_work(run, options)
        pid_file = data / "postmaster.pid"
        pid = int(pid_file.read_text().split()[0]) if pid_file.exists() else process.pid
        run.say("ended by SIGINT", ended(process, signal.SIGINT, pid))
    log = (run.folder / "server.log").read_text()
    run.say("what went wrong", sorted(set(re.findall(r"(?:PANIC|terminated by signal|server process .* exited).*", log))))
    done = run.run("pg_ctl", "-D", data, "-w", "-t", "40", "-l", run.folder / "ctl.log", "start")
    run.say("pg_ctl start ended", done.returncode)
    done = run.run("pg_ctl", "-D", data, "-w", "-t", "40", "-m", "fast", "stop", measured=False)
    run.say("pg_ctl stop ended", done.returncode)


def postgresql_work(run: Run, options: tuple[object, ...]) -> None:
    def sql(text: str, limit_s: float = 60) -> str:
        done = run.run("psql", *options, "-AtX", "-c", text, measured=False, limit_s=limit_s)
        return "HUNG" if done.returncode == 124 else (done.stdout + done.stderr).strip()

    done = run.run("pgbench", *options, "-i", "-q", "-s", 2, limit_s=120)
    run.say("pgbench -i ended", done.returncode)
    for kind in [(), ("-S",), ("-C",)]:
        done = run.run("pgbench", *options, "-n", "-c", 8, "-j", 2, "-T", 10 if not kind else 3, *kind, measured=kind == ("-S",),
                       limit_s=60)
        run.say(f"pgbench {' '.join(kind)} ended", "HUNG" if done.returncode == 124 else done.returncode)
        run.say(f"pgbench {' '.join(kind)} failed", re.findall(r"failed transactions: \d+|aborted.*", done.stdout))
    run.say("balances", sql("select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history), "
                            "(select sum(bbalance) from pgbench_branches) = (select sum(delta) from pgbench_history)"))
    run.say("parallel", sql("select count(*), sum(hashtext(filler)) from pgbench_accounts"))
    run.say("time limit", sql("set statement_timeout = 100; select pg_sleep(5)"))
    listener = run.start("sh", "-c", f"(echo 'listen l;'; sleep 2; echo 'select 1;'; sleep 1; echo 'select 2;') | "
                         f"psql -h {run.folder} -U postgres -AtX > {run.folder}/heard")
    time.sleep(1)
    run.say("notify", sql("notify l, 'text'"))
    listener.wait(60)
    run.say("heard", re.sub(r"\d+", "N", (run.folder / "heard").read_text()))
    run.say("cancelled", sql("select pg_cancel_backend(pid) from pg_stat_activity where backend_type = 'none'"))
    run.say("vacuum", [sql("vacuum analyze"), sql("checkpoint")])
    run.say("reload", sql("select pg_reload_conf()"))


KINDS: dict[str, tuple[str, Callable[[Run], None], str]] = {
    "tools": ("a shell, coreutils, xz, perl, make", tools, "xz-utils perl make coreutils"),
    "git": ("git: import, gc, repack, fsck, clone, rebase", git, "git"),
    "sqlite": ("SQLite by Python and its shell", sqlite, "sqlite3"),
    "compiler": ("gcc, clang, make on this project's sources", compiler, "gcc clang make"),
    "node": ("Node: processes, workers, timers, sockets, files, signals", node, "nodejs"),
    "jdk": ("JDK: exceptions, garbage, threads, sockets, processes, signals; four ways of collecting or running", jdk,
            "default-jdk-headless"),
    "go": ("Go with cgo: goroutines, signals, faults, processes, sockets", go, "golang-go gcc"),
    "rust": ("Rust: threads, processes, sockets, panics, overflow", rust, "rustc"),
    "redis": ("redis: redis-benchmark, saves, rewrites", redis, "redis-server redis-tools"),
    "nginx": ("nginx under ab and wrk, reload, quit", nginx, "nginx-light apache2-utils wrk curl"),
    "postgresql": ("PostgreSQL: initdb, pgbench, LISTEN, parallel queries, pg_ctl", postgresql, "postgresql postgresql-contrib"),
    "cpython": ("CPython's own tests: {modules} modules", lambda run: None, "python3.11 libpython3.11-testsuite"),
}


# ---- comparing ----

@dataclass
class Row:
    kind: str
    options: str
    results: int
    differences: list[str]
    seconds: float


def one_run(kind: str, sonde: Path | None, options: str, args: argparse.Namespace) -> Results:
    with tempfile.TemporaryDirectory(prefix="behave-real-", ignore_cleanup_errors=True) as folder:
        run = Run(Path(folder), sonde, options, args.limit)
        if kind == "cpython":
            cpython(run, args.module or CPYTHON_MODULES)
        else:
            KINDS[kind][1](run)
        without_folder = {name: value.replace(folder, "FOLDER") for name, value in run.results.items()}
        return without_folder


def differences(plain: Results, measured: Results) -> list[str]:
    names = list(dict.fromkeys([*plain, *measured]))
    return [f"{name}: plain {plain.get(name, 'nothing')[:150]}, measured {measured.get(name, 'nothing')[:150]}"
            for name in names if plain.get(name) != measured.get(name)]


def steady(first: Results, second: Results) -> Results:
    """What two plain runs agree on: a test that fails now and then says nothing of the profiler."""
    return {name: value for name, value in first.items() if second.get(name) == value}


def compare(kind: str, sonde: Path, args: argparse.Namespace) -> list[Row]:
    try:
        plain = one_run(kind, None, "", args)
    except NotHere as missing:
        print(f"SKIPPED {kind}: {missing} is not here (apt: {KINDS[kind][2]})", flush=True)
        return []
    rows = []
    for options in args.options if args.options is not None else OPTIONS:
        start = time.monotonic()
        measured = one_run(kind, sonde, options, args)
        found = differences(plain, measured)
        if found:  # judged against what plain does twice
            kept = steady(plain, one_run(kind, None, "", args))
            unsteady = set(plain) - set(kept)
            found = differences(kept, {name: value for name, value in measured.items() if name not in unsteady})
            for name in sorted(unsteady):
                print(f"  unsteady plain: {kind} {name}", flush=True)
        rows.append(Row(kind, options, len(plain), found, time.monotonic() - start))
        print(f"{'DIFF' if found else 'SAME'} {kind} [{options}]: {len(plain)} results, {len(found)} differ", flush=True)
        for line in found[:40]:
            print(f"  {line}", flush=True)
    return rows


# ---- the page ----

def machine() -> str:
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    system = re.search(r'PRETTY_NAME="(.*)"', Path("/etc/os-release").read_text())
    return f"{os.cpu_count()} CPUs ({model[1] if model else platform.machine()}), Linux {platform.release()}, {system[1] if system else ''}"


def page(rows: list[Row], command: str, modules: int) -> str:
    lines = ["<!-- SPDX-License-Identifier: Apache-2.0 -->", "# Real software, plain against measured", "",
             f"`{command}`, {time.strftime('%Y-%m-%d')}, on {machine()}.", "",
             "A result is a test's outcome, an answer, an exit status. What two plain runs disagree on does not count.", "",
             "| software | options of `sonde run` | results | differ |", "|---|---|---|---|"]
    lines += [f"| {KINDS[row.kind][0].format(modules=modules)} | {f'`{row.options}`' if row.options else 'none'} | {row.results} | "
              f"{len(row.differences)} |" for row in rows]
    found = [f"- {row.kind} `{row.options}`: {line}" for row in rows for line in row.differences[:20]]
    return "\n".join([*lines, *(["", "What differs:", "", *found] if found else []), ""])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("kinds", nargs="*", choices=[[], *KINDS], help="only these kinds of software")
    parser.add_argument("--sonde", type=Path, help="the sonde to try (that of $SONDE_BUILD, or build/)")
    parser.add_argument("--options", action="append", metavar="TEXT", help="options of `sonde run`; may be repeated")
    parser.add_argument("--module", action="append", metavar="NAME", help="modules of CPython's tests")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="a command that takes longer hangs")
    parser.add_argument("--install", action="store_true", help="installs what is missing by apt first")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="writes the table there")
    parser.add_argument("--list", action="store_true", help="names the kinds")
    return parser.parse_args()


def main() -> int:
    args = arguments()
    kinds = args.kinds or list(KINDS)
    if args.list:
        print(*(f"{name}: {KINDS[name][0].format(modules=len(CPYTHON_MODULES))}" for name in kinds), sep="\n")
        return 0
    if args.install:
        packages = " ".join(KINDS[kind][2] for kind in kinds).split()
        subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", *packages], check=True)
    build = Path.cwd() / os.environ.get("SONDE_BUILD", ROOT / "build")
    sonde = (args.sonde or build / "src/cmd/sonde").resolve()
    if not sonde.exists():
        sys.exit(f"{sonde} is not there: build first, or set SONDE_BUILD")
    rows = [row for kind in kinds for row in compare(kind, sonde, args)]
    if args.write:
        args.write.write_text(page(rows, " ".join(["tests/behave/real.py", *kinds] if args.kinds else ["tests/behave/real.py"]),
                                   len(args.module or CPYTHON_MODULES)))
    differ = sum(bool(row.differences) for row in rows)
    print(f"{len(rows)} runs, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
