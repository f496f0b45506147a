# SPDX-License-Identifier: Apache-2.0
"""`sonde run` leaves the program as it is, whatever the program does, and loses nothing it measured."""
from __future__ import annotations

import contextlib
import json
import os
import platform
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import program

HOSTILE = ["close-all", "change-directory", "change-root", "drop-privileges", "new-namespace", "raw-exit", "fault",
           "terminate", "abort", "timer-ends-it", "few-descriptors", "confine-strictly", "confine-by-filter",
           "own-fault-handler", "own-profiling-timer", "full-mask", "waits", "long-jumps", "fork-many", "fork-tree", "process-title",
           "virtual-forks", "spawn", "exec-from-thread", "failed-exec", "many-threads", "thread-ends"]
ROOT_ONLY = {"change-root", "drop-privileges"} if os.geteuid() else set()


def test_every_hostile_program_is_tested() -> None:
    names = subprocess.run([program.compiled("collect/hostile.c")], capture_output=True, text=True).stdout.split()
    assert set(names) == {*HOSTILE, "empty-environment", "run-long", "use-descriptors", "small-files"}


@pytest.mark.parametrize("events", ["cpu-time@997", "cpu-time,real-time,page-faults@10,context-switches"])
@pytest.mark.parametrize("name", HOSTILE)
def test_behaves_as_without(tmp_path: Path, name: str, events: str) -> None:
    if name in ("fork-many", "many-threads") and "real-time" in events:
        pytest.skip("once is enough")
    if name in ROOT_ONLY:
        pytest.skip("root alone may do this")
    binary = program.compiled("collect/hostile.c", "-O1")
    alone = subprocess.run([binary, name], capture_output=True, text=True, timeout=60)
    measured = program.run(tmp_path, binary, name, options=("-e", events), check=None)
    assert measured.returncode == alone.returncode, measured.stderr
    assert measured.stdout == alone.stdout
    assert measured.stderr == alone.stderr
    data = program.info(tmp_path)
    seconds = sum(value["sum"] for _, value in program.paths(tmp_path)) / 1e9
    assert seconds > 0.015, data
    if name not in ("exec-from-thread", "drop-privileges"):
        assert data["complete"] == (not name.startswith("confine-")), data


@pytest.mark.parametrize(("sanitizer", "compiler"), [("address", "cc"), ("address", "clang"), ("thread", "clang")])
def test_programs_under_a_sanitizer(tmp_path: Path, sanitizer: str, compiler: str) -> None:
    """Compilers differ: one brings its sanitizer as a library, the other inside the program."""
    binary = program.compiled("collect/hostile.c", f"-fsanitize={sanitizer}", compiler=compiler)
    for name in ("thread-ends", "spawn"):
        alone = subprocess.run([binary, name], capture_output=True, text=True, timeout=60)
        measured = program.run(tmp_path, binary, name, check=alone.returncode)
        assert (measured.stdout, measured.stderr) == (alone.stdout, alone.stderr)
        assert program.info(tmp_path)["complete"]


def test_programs_under_valgrind_are_left_alone(tmp_path: Path) -> None:
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind")
    command = ["valgrind", "-q", "/bin/echo", "through"]
    alone = subprocess.run(command, capture_output=True, text=True)
    measured = program.run(tmp_path, "sh", "-c", " ".join(command))
    assert (measured.stdout, measured.stderr) == (alone.stdout, alone.stderr)


def test_the_last_path_of_each_end_is_measured(tmp_path: Path) -> None:
    for name in sorted({"raw-exit", "fault", "terminate", "abort", "close-all", "drop-privileges"} - ROOT_ONLY):
        (tmp_path / name).mkdir()
        program.run(tmp_path / name, program.compiled("collect/hostile.c", "-O1"), name, options=("-F", "997"), check=None)
        names = {f["name"] for frames, _ in program.paths(tmp_path / name) for f in frames}
        assert {"main", "burn"} <= names, (name, names)


def test_limit_of_file_size(tmp_path: Path) -> None:
    """The snapshot that the program's own limit forbids is not written; the program does not pay for it. What is
    left is the snapshot from before the limit."""
    done = program.run(tmp_path, program.compiled("collect/hostile.c", "-O1"), "small-files", check=3)
    assert done.stderr == ""
    data = program.info(tmp_path)
    assert not data["complete"] and data["properties"]["processes.unfinished"] == "1"
    assert 0 < data["missing"]["cpu_ns"] < data["missing"]["of_cpu_ns"]


@pytest.mark.parametrize("name,told", [("SEGV", "signal 11 (Segmentation fault)"), ("KILL", "signal 9 (Killed)"),
                                       ("INT", None)])
def test_a_signal_that_ends_the_program_is_told(tmp_path: Path, name: str, told: str | None) -> None:
    """In words, and to whoever waits for `sonde run`: a loop of bash stops at Control-C only where the signal ended it."""
    number = signal.Signals[f"SIG{name}"]
    code = f"i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; kill -{name} $$"
    # what a shell's script starts in the background ignores Control-C
    done = subprocess.run([program.SONDE, "run", "-o", tmp_path / "run", "--", "sh", "-c", code], text=True,
                          stderr=subprocess.PIPE, timeout=120, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert done.returncode == -number
    assert (f"sonde: the program was ended by {told}\n" in done.stderr) if told else "ended by" not in done.stderr


def interrupt(command: list, ready: Callable[[], bool], pause: float = 0) -> int:
    """Types Control-C once, `pause` seconds after `ready`, and waits for the end. What is typed before the terminal
    has a foreground process is thrown away, by every system."""
    pid, terminal = pty.fork()
    if not pid:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # what a shell's script starts in the background ignores it
        os.execv(command[0], command)
    while not (Path(f"/proc/{pid}/comm").read_text() == "sonde\n" and ready()):
        time.sleep(0.001)
    time.sleep(pause)
    os.write(terminal, b"\x03")
    with contextlib.suppress(OSError):  # the end of a pseudo-terminal
        while select.select([terminal], [], [], 60)[0]:
            if not os.read(terminal, 4096):
                break
        else:
            os.killpg(pid, signal.SIGKILL)  # nobody heard it
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_interrupt_from_the_terminal_ends_the_program(tmp_path: Path) -> None:
    """Control-C once, typed: what was measured until then is analysed."""
    command = [program.SONDE, "run", "-q", "-o", tmp_path / "run", "--", program.compiled("collect/hostile.c", "-O1"), "run-long"]
    status = interrupt(command, lambda: any(tmp_path.glob("run.sonde/*")), 0.3)
    assert status == -signal.SIGINT
    assert program.info(tmp_path)["complete"]


def test_interrupt_while_starting(tmp_path: Path) -> None:
    """Whatever the launcher and the collector are just doing, nobody swallows it."""
    command = [program.SONDE, "run", "-q", "-o", tmp_path / "run", "--", program.compiled("collect/hostile.c", "-O1"), "run-long"]
    for step in range(12):
        assert interrupt(command, lambda: True, step / 250) == -signal.SIGINT


@pytest.mark.parametrize("seconds", [0.4, 2.6, 4.1])
def test_killed_at_any_moment(tmp_path: Path, seconds: float) -> None:
    """What the last checkpoint held is readable; checkpoints come every half second here."""
    process = subprocess.Popen(
        [program.SONDE, "run", "-q", "-o", tmp_path / "run", "--no-analyze", "--checkpoint", "0.5", "-F", "500", "--",
         program.compiled("collect/hostile.c", "-O1"), "run-long"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
    ticks = Path(f"/proc/{children[0]}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    used = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")  # not `seconds` where others use the processor too
    os.kill(int(children[0]), signal.SIGKILL)
    assert process.wait(timeout=20) == -signal.SIGKILL
    done = subprocess.run([program.SONDE, "analyze", tmp_path / "run.sonde", "-o", tmp_path / "run.sdb"],
                          capture_output=True, text=True)
    if seconds < 1:  # before the first checkpoint there is nothing, and that is said in one line
        assert done.returncode in (0, 128) and done.stderr.count("\n") <= 1
        return
    assert done.returncode == 0, done.stderr
    data = program.info(tmp_path)
    assert not data["complete"]
    measured = sum(value["sum"] for _, value in program.paths(tmp_path)) / 1e9
    assert used - 1.5 < measured <= used + 0.2


def test_a_child_killed_before_anything_was_written_is_told(tmp_path: Path) -> None:
    child = program.compiled("collect/shares.c", "-O2")
    code = f"import signal, subprocess, time; c = subprocess.Popen(['{child}', '1', '900000']); time.sleep(0.3); c.kill(); c.wait()"
    program.run(tmp_path, sys.executable, "-c", code, options=("--checkpoint", "60"))
    text = program.sonde("info", tmp_path / "run.sdb")
    lost = "unfinished" if "unfinished" in text else "unreadable"
    assert f" 1         {lost}" in text and "nothing is missing" not in text
    words = {"unreadable": "1 process of which nothing can be read", "unfinished": "after its last checkpoint"}[lost]
    assert words in program.sonde("report", tmp_path / "run.sdb")


def test_killed_while_writing(tmp_path: Path) -> None:
    """Checkpoints as fast as they go, killed at many instants: always a whole snapshot, or none."""
    binary = program.compiled("collect/hostile.c", "-O1")
    readable = 0
    for attempt in range(12):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        process = subprocess.Popen([program.SONDE, "run", "-q", "-o", folder / "run", "--no-analyze", "--checkpoint",
                                    "0.01", "-F", "5000", "--", binary, "run-long"])
        time.sleep(1.02 + attempt * 0.013)
        subprocess.run(["pkill", "-KILL", "-P", str(process.pid)])
        process.wait(timeout=20)
        done = subprocess.run([program.SONDE, "analyze", folder / "run.sonde", "-o", folder / "run.sdb"],
                              capture_output=True, text=True)
        readable += done.returncode == 0
        assert done.returncode == 0 or "no snapshot" in done.stderr or done.stderr.count("\n") == 1, done.stderr
    assert readable >= 6


def test_full_disk(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("cannot mount a file system here")
    try:
        (disk / "filler").write_bytes(b"x" * 57344)
        done = subprocess.run([program.SONDE, "run", "-q", "-o", disk / "run", "--", program.compiled("collect/hostile.c"),
                               "failed-exec"], capture_output=True, text=True)
        alone = subprocess.run([program.compiled("collect/hostile.c"), "failed-exec"], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (128 if "cannot write" in done.stderr else alone.returncode, alone.stdout)
        assert done.stderr.count("\n") <= 2
        assert not list(disk.glob("*.sdb*"))
    finally:
        subprocess.run(["umount", disk])


def test_the_program_is_in_the_group_and_session_of_sonde(tmp_path: Path) -> None:
    """As the manual says: it leads neither, whoever starts `sonde run` as a leader."""
    code = "import os; print(os.getsid(0) == os.getppid(), os.getpgrp() == os.getppid())"
    done = subprocess.run([program.SONDE, "run", "-q", "-o", tmp_path / "run", "--", "/usr/bin/python3", "-c", code], capture_output=True,
                          text=True, start_new_session=True)
    assert done.stdout == "True True\n", done


def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    for output in ("/proc/nowhere/run", "/nonexistent/run"):
        done = subprocess.run([program.SONDE, "run", "-o", output, "--", "/bin/true"], capture_output=True, text=True)
        assert done.returncode == 128
        assert done.stderr == f"sonde: cannot write '{output}.sdb': No such file or directory\n"
    foreign = tmp_path / "run.sonde"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("precious")
    done = subprocess.run([program.SONDE, "run", "-o", foreign, "--", "/bin/true"], capture_output=True, text=True)
    assert done.returncode == 128 and "thesis.tex" in done.stderr
    assert (foreign / "thesis.tex").read_text() == "precious"


def test_static_and_privileged_programs_run_with_a_warning(tmp_path: Path) -> None:
    static = program.compiled("collect/hostile.c", "-static")
    done = program.run(tmp_path, static, "raw-exit", check=9)
    assert "statically linked" in done.stderr and "cannot be measured" in done.stderr
    if os.geteuid() == 0 and shutil.which("setpriv"):
        private = tmp_path / "setuid"
        shutil.copy(program.compiled("collect/hostile.c"), private)
        os.chown(private, 65534, 65534)
        private.chmod(0o4755)
        tmp_path.chmod(0o755)
        done = program.run(tmp_path, private, "raw-exit", check=9)
        assert "setuid" in done.stderr


def test_workers_of_a_program_that_sets_its_title(tmp_path: Path) -> None:
    """It writes over the memory of the environment, where the folder's name was."""
    program.run(tmp_path, program.compiled("collect/hostile.c", "-O1"), "process-title", check=5)
    assert sorted(profile["cpu_ns"] > 5e7 for profile in program.info(tmp_path)["profiles"]) == [False, True]


def test_programs_of_musl_run_with_a_warning(tmp_path: Path) -> None:
    """Its loader ends a program for which a library needs symbols that only glibc has."""
    if not shutil.which("musl-gcc"):
        pytest.skip("no musl-gcc")
    source = tmp_path / "hello.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("hello"); return 5; }\n')
    hello = tmp_path / "hello"
    subprocess.run(["musl-gcc", source, "-o", hello], check=True)
    done = program.run(tmp_path, hello, check=5)
    assert done.stdout == "hello\n" and "musl" in done.stderr and "cannot be measured" in done.stderr
    for command in (f"{hello}; env FOO=1 {hello}; exec {hello}",
                    f"{sys.executable} -c 'import subprocess; exit(subprocess.call([\"{hello}\"] * 2))'"):
        done = program.run(tmp_path, "sh", "-c", command, check=5)
        assert set(done.stdout.split()) == {"hello"} and not done.stderr


def test_status_of_programs_that_do_not_exist_or_run() -> None:
    for command, reason in (("/nonexistent", "No such file"), ("/etc/passwd", "Permission denied"), ("/tmp", "directory")):
        done = subprocess.run([program.SONDE, "run", "-o", "/tmp/sonde-none", "--", command], capture_output=True,
                              text=True)
        assert done.returncode == 128 and reason in done.stderr, done.stderr
        assert done.stderr.count("\n") == 1
        assert not Path("/tmp/sonde-none.sonde").exists()


@pytest.mark.parametrize("options", [("-F", "0"), ("-F", "20000"), ("-F", "fast"), ("-e", "nonsense"), ("-e", ""),
                                     ("-e", "cpu-time@0"), ("-e", "context-switches@5"), ("--call-path", "php"),
                                     ("--operators", "some"), ("--checkpoint", "-1"), ("--frequency",), ("-o", ""), ("-o", "//"), ()])
def test_misuse(options: tuple[str, ...]) -> None:
    command = ["--", "/bin/true"] if options else []
    done = subprocess.run([program.SONDE, "run", *options, *command], capture_output=True, text=True)
    assert done.returncode == 129 and done.stdout == "" and done.stderr.startswith("sonde: ")
    assert done.stderr.count("\n") <= 2


def test_events_this_machine_does_not_have(tmp_path: Path) -> None:
    done = program.run(tmp_path, "/bin/true", options=("-e", "cpu-time,branch-misses"), check=0)
    if not done.stderr:
        pytest.skip("this machine has the event")
    assert "'branch-misses' cannot be measured here" in done.stderr
    alone = program.run(tmp_path, "/bin/true", options=("-e", "branch-misses"), check=128)
    assert alone.stderr.splitlines()[-1] == "sonde: none of the events asked for can be measured here"


def test_nothing_sampled_but_what_is_traced(tmp_path: Path) -> None:
    """`-e none`: no samples and no CPU time, whatever the program takes; what else was asked for is whole."""
    source = tmp_path / "known.c"
    source.write_text('''#include <sonde/sonde.h>
        int main(void) {
            volatile double sum = 0;
            for (int i = 0; i < 7; i++) {
                sonde_region_begin("turn");
                for (long k = 0; k < 20000000; k++) sum += k;
                sonde_region_end();
            }
            return sum > 0 ? 5 : 6;
        }''')
    binary = tmp_path / "known"
    include = program.WORKLOADS.parent.parent / "include"
    subprocess.run(["cc", "-O1", "-I", include, source, "-o", binary, "-ldl"], check=True)
    done = program.run(tmp_path, binary, options=("-e", "none", "--trace=regions"), check=5)
    assert "too soon" not in done.stderr
    info = program.info(tmp_path)
    assert info["samples"] == 0 and info["properties"]["events"] == "none" and not info["drops"]
    assert {metric["name"] for metric in info["metrics"]} == {"region-time"}
    assert info["events"] == 7
    # beside it what is usual: samples of the same program
    (tmp_path / "usual").mkdir()
    program.run(tmp_path / "usual", binary, check=5)
    usual = program.info(tmp_path / "usual")
    assert usual["samples"] > 0 and "cpu-time" in {metric["name"] for metric in usual["metrics"]}
    # and alone: nothing at all, which is said
    alone = subprocess.run([program.SONDE, "run", "-o", tmp_path / "alone", "-e", "none", "--", "/bin/true"],
                           capture_output=True, text=True)
    assert alone.returncode == 0 and alone.stdout == ""
    assert alone.stderr.strip() == "sonde: nothing was sampled: none of the events was asked for"
    # it is no event among others
    both = subprocess.run([program.SONDE, "run", "-e", "none,cpu-time", "--", "/bin/true"], capture_output=True, text=True)
    assert both.returncode == 129 and "'none' is not an event" in both.stderr


def test_standard_streams_and_arguments_reach_the_program(tmp_path: Path) -> None:
    done = subprocess.run([program.SONDE, "run", "-q", "-o", tmp_path / "run", "--", "/bin/sh", "-c",
                           'cat; echo "$1|$2" >&2; exit 42', "name", "a b", "'"], input="through", text=True,
                          capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (42, "through", "a b|'\n")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the program is written for x86_64")
def test_what_lies_below_the_stack_pointer_is_left_alone(tmp_path: Path) -> None:
    """Generated code points it into the heap, where a signal's frame would overwrite what is there."""
    result = program.run(tmp_path, program.compiled("collect/heap_stack.c", "-O1"), options=("-F", "1000"))
    assert result.stderr == ""


def test_totals_are_the_cpu_time_used(tmp_path: Path) -> None:
    """Every microsecond: what is charged to contexts is what the kernel says the threads used."""
    program.run(tmp_path, program.compiled("collect/shares.c", "-O2"), "4", "500")
    data = program.info(tmp_path)
    charged = sum(value["sum"] for _, value in program.paths(tmp_path))
    used = sum(profile["cpu_ns"] for profile in data["profiles"])
    own = sum(profile["own_ns"] for profile in data["profiles"])
    assert charged + own == pytest.approx(used, rel=0.01)


def test_rate_on_a_busy_machine(tmp_path: Path) -> None:
    """The kernel looks at CPU-time timers at its tick: beside two loops on each processor a third of the samples came."""
    checks = json.loads(program.sonde("doctor", "--format", "json"))["checks"]
    if not any(check["name"] == "software events" and check["verdict"] == "ok" for check in checks):
        pytest.skip("no perf events: there is nothing better than a timer")
    command = program.compiled("collect/cpu_clock.c", "-O1")
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        program.run(tmp_path, command, "3")
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    thread, = program.info(tmp_path)["profiles"]
    assert thread["samples"] >= 0.6 * 199 * thread["cpu_ns"] / 1e9, thread


def test_waiting_for_a_processor_is_no_cost_of_measuring(tmp_path: Path) -> None:
    """Four threads on one processor, at 1 kHz: most samples are interrupted by another thread's turn."""
    processor = str(min(os.sched_getaffinity(0)))
    program.run(tmp_path, "taskset", "-c", processor, program.compiled("collect/shares.c", "-O2"), "4", "500",
                options=("-F", "1000"))
    profiles = program.info(tmp_path)["profiles"]
    assert sum(profile["own_ns"] for profile in profiles) < 0.1 * sum(profile["cpu_ns"] for profile in profiles)


def test_confined_programs_say_so(tmp_path: Path) -> None:
    program.run(tmp_path, program.compiled("collect/hostile.c", "-O1"), "confine-by-filter", check=4)
    data = program.info(tmp_path)
    assert data["drops"]["confined"] == 1 and not data["complete"]
    text = program.sonde("info", tmp_path / "run.sdb")
    assert "no: a part of the program was not measured" in text and "killed" not in text


def test_two_runs_into_one_folder(tmp_path: Path) -> None:
    """The second is refused while the first lives, and leaves it whole; a run that was killed blocks nobody."""
    command = [program.SONDE, "run", "-q", "-o", tmp_path / "run", "--checkpoint", "0.1", "--",
               program.compiled("collect/hostile.c", "-O1"), "run-long"]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while not list((tmp_path).glob("run.sonde/*")):
            assert first.poll() is None
            time.sleep(0.01)
        kept = {path.name for path in tmp_path.glob("run.sonde/*")}
        second = program.run(tmp_path, "/bin/true", check=128)
        assert second.stderr.count("\n") == 1 and "being measured into by another run" in second.stderr
        assert kept <= {path.name for path in tmp_path.glob("run.sonde/*")}
    finally:
        children = subprocess.run(["pgrep", "-P", str(first.pid)], capture_output=True, text=True).stdout.split()
        first.kill()
        first.wait(timeout=20)
        for child in children:
            os.kill(int(child), signal.SIGKILL)
    program.run(tmp_path, "/bin/true")
    assert program.info(tmp_path)["complete"]


def test_runs_at_once_choose_different_names(tmp_path: Path) -> None:
    several = [subprocess.Popen([program.SONDE, "run", "-q", "--", "/bin/true"], cwd=tmp_path) for _ in range(6)]
    assert [process.wait(timeout=60) for process in several] == [0] * 6
    assert len(list(tmp_path.glob("*.sdb"))) == len(list(tmp_path.glob("*.sonde"))) == 6


def test_the_root_is_named_by_what_used_the_processor(tmp_path: Path) -> None:
    burn = program.compiled("collect/hostile.c", "-O1")
    program.run(tmp_path, "bash", "-c", f"/bin/true; {burn} raw-exit; exit 0")
    assert program.rows(tmp_path)[0]["name"] == f"{burn.name} and 2 others"
    program.run(tmp_path, burn, "raw-exit", check=None)
    assert program.rows(tmp_path)[0]["name"] == burn.name
    program.run(tmp_path, "bash", "-c", "(exit 0); (exit 0); exit 0")
    assert program.rows(tmp_path)[0]["name"] == "bash, 3 processes"


def test_real_time_is_where_it_waits(tmp_path: Path) -> None:
    program.run(tmp_path, "/usr/bin/python3", "-c", "import time\ndef nap():\n    time.sleep(0.5)\nnap()",
                options=("-e", "real-time,cpu-time"))
    waits = [(frames, value) for frames, value in program.paths(tmp_path, "real-time") if frames[-1]["kind"] == "os"]
    asleep = sum(value["sum"] for frames, value in waits if any(f["name"] == "nap" for f in frames))
    assert 0.5e9 <= asleep < 0.6e9
    duration = program.info(tmp_path)["duration_ns"]
    total = sum(value["sum"] for _, value in program.paths(tmp_path, "real-time"))
    assert total == pytest.approx(duration, rel=0.05)


def test_page_faults_are_counted_where_they_happen(tmp_path: Path) -> None:
    pages = 20000
    source = f"""
import mmap
def touch():
    memory = mmap.mmap(-1, {pages} * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    for page in range({pages}):
        memory[page * 4096] = 1
touch()
"""
    program.run(tmp_path, "/usr/bin/python3", "-c", source, options=("-e", "page-faults@50"))
    if program.info(tmp_path)["drops"].get("event-unavailable"):
        pytest.skip("perf events are not available here")
    touched = sum(value["sum"] for frames, value in program.paths(tmp_path, "page-faults")
                  if any(f["name"] == "touch" and f["line"] == 7 for f in frames))
    assert pages * 0.98 <= touched <= pages * 1.02


def test_processes_that_outlive_the_program(tmp_path: Path) -> None:
    """An instant is waited for; what lives on is named, and is there when analysed again."""
    binary = program.compiled("collect/hostile.c", "-O1")
    program.run(tmp_path, "sh", "-c", f"(sleep 0.3; {binary} raw-exit; true) & sleep 0.1")
    data = program.info(tmp_path)
    assert data["complete"]
    assert str(binary) in {profile["program"] for profile in data["profiles"]}, data["profiles"]
    done = program.run(tmp_path, "sh", "-c", "(sleep 3; true) > /dev/null 2>&1 & sleep 0.1")
    assert "still run" in done.stderr and done.stderr.count("\n") == 1
    assert not program.info(tmp_path)["complete"]


def test_default_names_do_not_overwrite(tmp_path: Path) -> None:
    for expected in ("true", "true-2", "true-3"):
        subprocess.run([program.SONDE, "run", "-q", "--", "/bin/true"], cwd=tmp_path, check=True)
        assert (tmp_path / f"{expected}.sdb").exists()


def test_libraries_that_come_and_go(tmp_path: Path) -> None:
    """Two libraries take turns at one address, in four threads, as fast as they go: never a crash or a wrong frame."""
    libraries = [program.compiled("binary/reload.c", "-O2", "-shared", "-fPIC", "-fomit-frame-pointer",
                                  f"-DSN_LIBRARY={name}", f'-DSN_TEXT="{name}"') for name in ("small", "quite_large")]
    binary = program.compiled("binary/reload.c", "-O2")
    program.run(tmp_path, binary, "0.6", *libraries, options=("-F", "5000"))
    inside = complete = 0
    for frames, value in program.paths(tmp_path):
        names = [frame["name"] for frame in frames if frame["kind"] != "loop"]
        for library in ("small", "quite_large"):
            if f"{library}_work" in names:
                inside += value["count"]
                at = names.index(f"{library}_work")
                complete += value["count"] * (names[at - 2:at] == ["load_work_unload", "library_entry"])
    assert inside > 200
    assert complete >= 0.99 * inside
    assert program.info(tmp_path)["drops"].get("unwind-scanned", 0) <= 0.01 * inside


def test_code_moved_to_huge_pages(tmp_path: Path) -> None:
    """Anonymous memory in the place of the file's code is still the file's."""
    program.run(tmp_path, program.compiled("binary/reload.c", "-O2"), "huge", options=("-F", "997"))
    named = sum(value["sum"] for frames, value in program.paths(tmp_path)
                if [f["name"] for f in frames if f["name"] in ("main", "burn")] == ["main", "burn"])
    assert named >= 0.98 * sum(value["sum"] for _, value in program.paths(tmp_path))
