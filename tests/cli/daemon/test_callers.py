# SPDX-License-Identifier: Apache-2.0
"""`sonde daemon --callers`: samples that have their call path, and what becomes of the others with them."""
from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from interpreters import SUPPORTED
from program import SONDE, bound, info, paths
from running import running
from test_daemon import accounted, ask, daemon, needs_bpf, needs_names

pytestmark = [needs_bpf, needs_names, pytest.mark.skipif(os.uname().machine != "x86_64", reason="stacks are unwound on x86-64 only")]


def call_paths(folder: Path, store: Path, program: Path | None = None) -> list[tuple[list[str], dict]]:
    """Names, outermost first, of each context that has samples itself, of all programs or one."""
    options = ("--thread", program.name) if program else ()
    subprocess.run([SONDE, "import", store, "-o", folder / "run.sdb"], check=True)
    [metric] = {row["name"] for row in info(folder)["metrics"]}
    return [([frame["name"] for frame in frames], value) for frames, value in paths(folder, metric, *options)]


def below(found: list[tuple[list[str], dict]], name: str) -> float:
    return sum(value["count"] for names, value in found if name in names)


def test_callers_without_frame_pointers(tmp_path):
    """Three rounds of four are below long_part, one below short_part; each of them is below middle and main."""
    store = tmp_path / "store"
    with running(options=("-O2", "-fomit-frame-pointer")) as process, daemon(store, "-F", 1000, "--callers", 200):
        time.sleep(3)
        status = ask(store, "flush")
    accounted(status)
    assert status["callers"]["samples"] > 200, status
    found = call_paths(tmp_path, store, Path(process.args[0]))
    spinning, with_callers = below(found, "spin"), min(below(found, "spin") / 6, 600)
    assert spinning > 500
    assert below([row for row in found if "spin" in row[0]], "middle") == pytest.approx(spinning)
    share = below(found, "long_part") / spinning
    assert abs(share - 0.75) < bound(0.75, with_callers), (share, with_callers)
    [order] = {tuple(name for name in names if name in ("main", "middle", "long_part", "spin")) for names, _ in found if {"long_part", "spin"} <= {*names}}
    assert order == ("main", "middle", "long_part", "spin")


def test_samples_are_as_many_as_without(tmp_path):
    """What comes with callers and what is counted make up all that was taken."""
    store = tmp_path / "store"
    with running(), daemon(store, "-F", 500, "--callers", 100):
        time.sleep(1.5)
        ask(store, "flush")
        status = ask(store, "status")
    accounted(status)
    assert status["samples"]["waiting"] < status["samples"]["taken"] / 2
    found = call_paths(tmp_path, store)
    assert sum(value["count"] for _, value in found) == pytest.approx(info(tmp_path)["samples"], rel=1e-9)
    assert status["samples"]["stored"] <= info(tmp_path)["samples"]


def test_every_sample_may_have_its_callers(tmp_path):
    store = tmp_path / "store"
    with running(), daemon(store, "-F", 200, "--callers", 1000):
        time.sleep(1)
        status = ask(store, "flush")
    counted = status["samples"]["taken"] - sum(status["lost"].values())
    assert status["callers"]["samples"] + status["callers"]["unknown"] >= 0.8 * counted > 100, status


IN_KERNEL = """
#include <fcntl.h>
#include <unistd.h>
static char bytes[1 << 20];
__attribute__((noinline)) void reads(int file) { for (;;) if (read(file, bytes, sizeof(bytes)) < 0) break; }
int main(void) { reads(open("/dev/zero", O_RDONLY)); return 0; }
"""


def test_the_kernel_is_below_who_called_it(tmp_path):
    store, source, program = tmp_path / "store", tmp_path / "reader.c", tmp_path / "reader"
    source.write_text(IN_KERNEL)
    subprocess.run(["cc", "-O1", "-g", source, "-o", program], check=True)
    with subprocess.Popen([program]) as process, contextlib.ExitStack() as stack, daemon(store, "-F", 500, "--callers", 250):
        stack.callback(process.kill)
        time.sleep(1.5)
        ask(store, "flush")
    found = call_paths(tmp_path, store, program)
    assert below(found, "reads") > 200, found
    kernel = [(names[names.index("reads") + 1:], value["count"]) for names, value in found if {"reads", "vfs_read"} <= {*names}]
    assert sum(count for _, count in kernel) > 0.5 * below(found, "reads"), found
    assert all(any("read" in name for name in names[:names.index("vfs_read")]) for names, _ in kernel), kernel


SHORT = """
#include <time.h>
static volatile unsigned sum;
__attribute__((noinline)) void short_work(void) { for (unsigned i = 0; i < 100000; i++) sum += i; }
__attribute__((noinline)) void short_caller(void) { short_work(); sum++; }
int main(void)
{
    struct timespec now = {0};
    while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < 30) { short_caller(); clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); }
    return 0;
}
"""


def test_processes_that_end_soon(tmp_path):
    """Each takes 30 ms: its mappings are read while it is there."""
    store, source, program = tmp_path / "store", tmp_path / "short.c", tmp_path / "short"
    source.write_text(SHORT)
    subprocess.run(["cc", "-O1", "-g", source, "-o", program], check=True)
    with daemon(store, "-F", 500, "--callers", 500):
        for _ in range(40):
            subprocess.run([program], check=True)
        status = ask(store, "flush")
    accounted(status)
    found = call_paths(tmp_path, store, program)
    assert below(found, "short_work") > 200
    assert below(found, "short_caller") > 0.9 * below(found, "short_work"), found


MADE = """
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile unsigned sum;
__attribute__((noinline)) void called(void) { for (unsigned i = 0; i < 1000000; i++) sum += i; }
int main(void)
{
    /* push %rbp; mov %rsp, %rbp; movabs $called, %rax; 1: push %rax; push %rax; call *%rax; pop %rax; pop %rax; jmp 1b */
    unsigned char loop[] = "\\x55\\x48\\x89\\xe5\\x48\\xb8\\0\\0\\0\\0\\0\\0\\0\\0\\x50\\x50\\xff\\xd0\\x58\\x58\\xeb\\xf8";
    void (*function)(void) = called;
    unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[64];
    memcpy(loop + 6, &function, 8);
    memcpy(code + 0x40, loop, sizeof(loop));
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
    FILE *list = fopen(path, "w");
    fprintf(list, "%lx 20 earlier\\n%lx 40 made_caller\\n", (long)code, (long)code + 0x40);
    fclose(list);
    puts("ready");
    fflush(stdout);
    ((void (*)(void))(code + 0x40))();
}
"""


def test_callers_made_at_run_time_have_names(tmp_path):
    """The function that they call saves the frame pointer that they have set."""
    store, source, program = tmp_path / "store", tmp_path / "made.c", tmp_path / "made"
    source.write_text(MADE)
    subprocess.run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", source, "-o", program], check=True)
    with daemon(store, "-F", 500, "--callers", 250), contextlib.ExitStack() as stack:
        process = stack.enter_context(subprocess.Popen([program], stdout=subprocess.PIPE, text=True))
        stack.callback(Path(f"/tmp/perf-{process.pid}.map").unlink, missing_ok=True)
        stack.callback(process.kill)
        assert process.stdout.readline() == "ready\n"
        time.sleep(1)
        ask(store, "flush")
    found = call_paths(tmp_path, store, program)
    assert below(found, "called") > 150
    assert below(found, "made_caller") > 0.95 * below(found, "called"), found
    assert below(found, "main") > 0.95 * below(found, "called"), found


def test_status_for_people(tmp_path):
    store = tmp_path / "store"
    with running(), daemon(store, "-F", 200, "--callers", 50):
        time.sleep(0.5)
        said = subprocess.run([SONDE, "daemon", "status", "--store", store], capture_output=True, text=True, check=True).stdout
    assert " with their callers" in said
    with daemon(tmp_path / "other"):
        said = subprocess.run([SONDE, "daemon", "status", "--store", tmp_path / "other"], capture_output=True, text=True, check=True).stdout
    assert "callers" not in said


PROGRAM = """
import sys, time
def inner(rounds):
    total = 0
    for number in range(rounds):
        total += number * number % 7
    return total
def three():
    return inner(30000)
def one():
    return inner(10000)
def sorts():
    return sorted(range(20000), key=key)
def key(number):
    return -number
def loop():
    while True:
        three()
        one()
        sorts()
print("ready", flush=True)
loop()
"""


@pytest.mark.parametrize("interpreter", SUPPORTED)
def test_python(tmp_path, interpreter):
    """Lines of Python above what they call; CPython's own loop is the line that it executes."""
    store, script = tmp_path / "store", tmp_path / "program.py"
    script.write_text(PROGRAM)
    with daemon(store, "-F", 1000, "--callers", 200), subprocess.Popen([interpreter, script], stdout=subprocess.PIPE, text=True) as process, contextlib.ExitStack() as stack:
        stack.callback(process.kill)
        assert process.stdout.readline() == "ready\n"
        program = Path(os.readlink(f"/proc/{process.pid}/exe"))
        time.sleep(3)
        status = ask(store, "flush")
    accounted(status)
    found = [row for row in call_paths(tmp_path, store, program) if "loop" in row[0]]
    everything = sum(value["count"] for _, value in found)
    assert everything > 500
    share, paths_there = below(found, "three") / (below(found, "three") + below(found, "one")), min(status["callers"]["samples"] / 4, everything / 10)
    assert abs(share - 0.75) < bound(0.75, paths_there), share
    assert below(found, "inner") > 0.95 * (below(found, "three") + below(found, "one"))
    assert below(found, "key") > 0 and all(names.index("sorts") < names.index("key") for names, _ in found if "key" in names)
    calls_python = [row for row in found if "sorts" not in row[0]]  # what sorts calls is so short that it may be over when the frames are read
    assert below(calls_python, "_PyEval_EvalFrameDefault") < 0.08 * everything
    itself = sum(value["count"] for names, value in found if names[-1] == "inner")
    assert itself > 0.08 * below(found, "inner"), found


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root, and setpriv")
def test_processes_that_may_not_be_read(tmp_path):
    """Without CAP_SYS_PTRACE samples have the kernel's callers alone; all are there, and how many should have had more is told."""
    store = tmp_path / "store"
    with running() as process:
        subprocess.run(["setpriv", "--bounding-set=-sys_ptrace", SONDE, "daemon", "start", "-q", "--store", store, "-F", "500", "--callers", "250"], check=True, timeout=60)
        time.sleep(1)
        status = ask(store, "flush")
        ask(store, "stop")
    accounted(status)
    assert status["callers"]["unknown"] > 50, status
    found = call_paths(tmp_path, store, Path(process.args[0]))
    assert below(found, "spin") > 100 and below(found, "middle") == 0


def test_a_program_that_is_in_no_folder(tmp_path):
    """What is executed from memory (memfd_create) has the name that it was given there, as where samples are and as their callers."""
    store, source, program = tmp_path / "store", tmp_path / "short.c", tmp_path / "short"
    source.write_text(SHORT.replace("< 30)", "< 1000)"))
    subprocess.run(["cc", "-O1", "-g", source, "-o", program], check=True)
    file = os.memfd_create("of_memory")
    os.write(file, program.read_bytes())
    with daemon(store, "-F", 500, "--callers", 250):
        subprocess.run([f"/proc/{os.getpid()}/fd/{file}"], check=True)
        ask(store, "flush")
    os.close(file)
    found = call_paths(tmp_path, store)
    of_memory = [(names, value) for names, value in found if "[memfd:of_memory, deleted]" in names]
    assert sum(value["count"] for _, value in of_memory) > 200
    assert not any("[, deleted]" in names for names, _ in found)
    assert any(names.count("[memfd:of_memory, deleted]") > 1 for names, _ in of_memory), of_memory


CLOCK = """
#include <time.h>
static volatile long sum;
__attribute__((noinline)) void asks_the_clock(void) { struct timespec now; for (int i = 0; i < 100000; i++) { clock_gettime(CLOCK_MONOTONIC, &now); sum += now.tv_nsec; } sum++; }
int main(void) { for (;;) asks_the_clock(); }
"""


def test_the_code_that_the_kernel_maps_has_callers(tmp_path):
    """The vdso is in no file; its unwind tables are those of any process."""
    store, source, program = tmp_path / "store", tmp_path / "clock.c", tmp_path / "asks_clock"
    source.write_text(CLOCK)
    subprocess.run(["cc", "-O2", "-g", "-fomit-frame-pointer", source, "-o", program], check=True)
    with subprocess.Popen([program]) as process, contextlib.ExitStack() as stack, daemon(store, "-F", 500, "--callers", 250):
        stack.callback(process.kill)
        time.sleep(1.5)
        ask(store, "flush")
    found = call_paths(tmp_path, store, program)
    everything = sum(value["count"] for _, value in found)
    assert everything > 100
    if not any("[vdso]" in " ".join(names) or "__vdso" in " ".join(names) for names, _ in found):
        pytest.skip("the clock is asked in the kernel here")
    assert below(found, "asks_the_clock") > 0.95 * everything, found


def test_what_costs_too_much_becomes_less(tmp_path):
    """With the samples also their callers, and the looks at threads that wait."""
    store = tmp_path / "store"
    with running(), daemon(store, "-F", 200, "--callers", 100, "--off-cpu", 50, "--cost", "0.001", "--flush", 1):
        time.sleep(6)
        status = ask(store, "status")
        time.sleep(2)
        later = ask(store, "status")
    assert status["rate"] <= 25, status
    assert later["callers"]["samples"] - status["callers"]["samples"] <= 0.7 * 2.5 * status["rate"] * os.cpu_count()
    assert later["waits"]["found"] == later["waits"]["stored"] + later["waits"]["waiting"] + later["waits"]["lost"]
    accounted(later)
