# SPDX-License-Identifier: Apache-2.0
"""What OpenMP's worker threads do stands below the code that started their parallel region."""
from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

import program

SHARES = {"first": 0.3, "second": 0.7}
IDLE = "OpenMP wait"
COMPILERS = {"gcc": ("-O2", "-fopenmp", "-DOLD")}
# Threads that spin share a core's units with those that work, whose time then is not that of the work alone.
PASSIVE = {"OMP_WAIT_POLICY": "passive"}


def names(frames: list[dict]) -> list[str]:
    return [frame["name"] for frame in frames]


def is_idle(frames: list[dict]) -> bool:
    return frames[-1]["kind"] == "idle"


def check(folder: Path, starters: dict[str, str], bodies: dict[str, str], outer: str = "main") -> None:
    """Every sample of work is under outer > starter > body; the shares of the two are those of the work."""
    counts: Counter[str] = Counter()
    strays: Counter[str] = Counter()
    for frames, value in program.paths(folder):
        path = names(frames)
        if is_idle(frames):
            assert path[-1] == IDLE
            continue
        for key, body in bodies.items():
            if body in path:
                at = path.index(body)
                assert path[at - 1] == starters[key] or starters[key] in path[:at], path
                assert outer in path[:at], path
                assert not any("omp.so" in (f["module"] or "") for f in frames[:at]), path
                counts[key] += value["count"]
                break
        else:
            # what a thread used since its last sample is charged to it as a whole when it ends
            strays[path[-1]] += value["count"] if len(path) > 1 else 0
    total = sum(counts.values())
    assert total > 300, f"too few samples to judge: {total}"
    for key, share in SHARES.items():
        allowed = program.bound(share, total) * 1.3
        assert abs(counts[key] / total - share) <= allowed, f"{counts} not {share} +- {allowed:.3f}"
    # start and end of the program, and of its threads
    assert sum(strays.values()) <= 0.05 * total + 10, strays


def workers_with(folder: Path, function: str) -> int:
    """How many threads have samples of it."""
    found = set()
    for profile in program.info(folder)["profiles"]:
        text = program.sonde("report", folder / "run.sdb", "--format", "csv", "--thread", str(profile["tid"]))
        if function in text:
            found.add(profile["tid"])
    return len(found)


@pytest.mark.parametrize("threads", [2, 4])
def test_shares(tmp_path: Path, threads: int) -> None:
    binary = program.compiled("openmp/openmp_shares.c", *COMPILERS["gcc"])
    done = program.run(tmp_path, binary, str(threads), str(2000 // threads), options=("-F", "997"),
                       environment=PASSIVE)
    assert done.stdout == "done\n"
    check(tmp_path, {"first": "first", "second": "second"}, {"first": "first._omp_fn.0", "second": "inner"})
    assert workers_with(tmp_path, "inner") == threads


CLANG = ("-O2", "-fopenmp")
CLANG_BODIES = {"second": "inner", "first": ".omp_outlined."}


def has_omp() -> bool:
    done = subprocess.run(["clang", "-fopenmp", "-xc", "-", "-o", "/dev/null"], capture_output=True, text=True,
                          input="#include <omp.h>\nint main(void) { return omp_get_thread_num(); }\n")
    return not done.returncode


@pytest.mark.parametrize("kind", ["", "nested", "tasks"])
def test_llvm(tmp_path: Path, kind: str) -> None:
    """LLVM's runtime, which reports by the interface for tools."""
    if not has_omp():
        pytest.skip("no clang with libomp")
    binary = program.compiled("openmp/openmp_shares.c", *CLANG, compiler="clang")
    # few and long regions: waking a worker is no work, and may cost tens of microseconds on a virtual machine
    program.run(tmp_path, binary, "4" if kind else "2", "40", kind, "500000", options=("-F", "997"),
                environment={**PASSIVE, "KMP_BLOCKTIME": "0"})
    check(tmp_path, {"first": "first", "second": f"second_{kind}" if kind else "second"}, CLANG_BODIES)


def test_llvm_leaves_other_tools_alone(tmp_path: Path) -> None:
    if not has_omp():
        pytest.skip("no clang with libomp")
    source = tmp_path / "tool.c"
    source.write_text("""
        #include <omp.h>
        #include <stdio.h>
        static int on(void *lookup, int device, void *data) { puts("the other tool"); return 0; }
        static void off(void *data) { }
        static struct { void *on, *off; long data; } tool = {on, off, 0};
        void *ompt_start_tool(unsigned version, const char *name) { return &tool; }
        int main(void)
        {
        #pragma omp parallel num_threads(2)
            { }
            return 0;
        }""")
    subprocess.run(["clang", "-fopenmp", "-rdynamic", "-w", source, "-o", tmp_path / "tool"], check=True)
    done = program.run(tmp_path, tmp_path / "tool")
    assert done.stdout == "the other tool\n"


def test_all_threads_have_one_path(tmp_path: Path) -> None:
    """The starting thread's path and a worker's are the same, down to the body."""
    program.run(tmp_path, program.compiled("openmp/openmp_shares.c", *COMPILERS["gcc"]), "2", "700", options=("-F", "997"),
                environment=PASSIVE)
    paths = [names(frames) for frames, _ in program.paths(tmp_path, "cpu-time", "--granularity", "function")]
    bodies = {tuple(path[:path.index("inner")]) for path in paths if "inner" in path}
    assert len(bodies) == 1, bodies


def test_nested(tmp_path: Path) -> None:
    binary = program.compiled("openmp/openmp_shares.c", *COMPILERS["gcc"])
    program.run(tmp_path, binary, "4", "40", "nested", "500000", options=("-F", "997"), environment=PASSIVE)
    check(tmp_path, {"first": "first", "second": "second_nested"},
          {"first": "first._omp_fn.0", "second": "inner"})
    for frames, _ in program.paths(tmp_path):
        path = names(frames)
        if "inner" in path:
            assert sum(name.startswith("second_nested._omp_fn") for name in path) == 2, path


def test_tasks(tmp_path: Path) -> None:
    program.run(tmp_path, program.compiled("openmp/openmp_shares.c", *COMPILERS["gcc"]), "4", "700", "tasks",
                options=("-F", "997"), environment=PASSIVE)
    check(tmp_path, {"first": "first", "second": "second_tasks"}, {"first": "first._omp_fn.0", "second": "inner"})


def test_old_entry_points(tmp_path: Path) -> None:
    program.run(tmp_path, program.compiled("openmp/openmp_shares.c", *COMPILERS["gcc"]), "4", "700", "old",
                options=("-F", "997"), environment=PASSIVE)
    check(tmp_path, {"first": "first_as_before", "second": "second"}, {"first": "old_body", "second": "inner"})


def test_waiting_is_idle(tmp_path: Path) -> None:
    """One thread's share of an unequal region is waiting of the other."""
    source = tmp_path / "unequal.c"
    source.write_text("""
        #include <omp.h>
        __attribute__((noinline)) static void work(unsigned long steps)
        {
            for (unsigned long i = 0; i < steps; i++)
                __asm__ volatile("");
        }
        int main(void)
        {
            for (int round = 0; round < 40; round++) {
        #pragma omp parallel num_threads(2)
                work(omp_get_thread_num() ? 1000 : 40000000);
            }
            return 0;
        }""")
    subprocess.run(["gcc", "-g", "-O1", "-fopenmp", source, "-o", tmp_path / "unequal"], check=True)
    program.run(tmp_path, tmp_path / "unequal", options=("-F", "499"), environment={"OMP_WAIT_POLICY": "active"})
    idle = sum(v["sum"] for f, v in program.paths(tmp_path) if is_idle(f))
    work = sum(v["sum"] for f, v in program.paths(tmp_path) if "work" in names(f))
    assert work > 0.2e9 and idle > 0.2 * work, (work, idle)


@pytest.mark.parametrize("call_path", ["python,operator,native", "python,operator"])
def test_from_python(tmp_path: Path, call_path: str) -> None:
    library = program.compiled("openmp/openmp_shares.c", *COMPILERS["gcc"], "-fPIC", "-shared")
    script = tmp_path / "calls.py"
    script.write_text(f"import ctypes\nlibrary = ctypes.CDLL({str(library)!r})\n"
                      "def caller():\n    library.run_regions(2, 1200)  # CALL\ncaller()\n")
    program.run(tmp_path, "/usr/bin/python3", script, options=("-F", "997", "--call-path", call_path))
    under, elsewhere = 0, 0
    for frames, value in program.paths(tmp_path):
        if is_idle(frames):
            continue
        if any(f["kind"] == "python" and f["name"] == "caller" and f["line"] == 4 for f in frames):
            under += value["count"]
        elif any(f["name"] == "inner" for f in frames):
            elsewhere += value["count"]
    assert under > 100 and not elsewhere, (under, elsewhere)
    if "native" in call_path:
        assert workers_with(tmp_path, "inner") == 2
        check_python = [names(f) for f, _ in program.paths(tmp_path) if "inner" in names(f)]
        assert check_python and all("caller" in path and "second" in path for path in check_python)


def pythons_with_torch() -> list[str]:
    found = []
    for python in ("/usr/bin/python3", "python3"):
        if not subprocess.run([python, "-c", "import torch"], capture_output=True).returncode:
            found.append(python)
            break
    return found


@pytest.mark.parametrize("call_path", ["python,operator,native", "python,operator"])
def test_torch(tmp_path: Path, call_path: str) -> None:
    """At least 95 % of the workers' time is under the line of Python whose operator they work for: that of the forward
    pass, and for the sums of gradients, which no line of it caused, that of the backward pass."""
    pythons = pythons_with_torch()
    if not pythons:
        pytest.skip("no PyTorch")
    script = program.WORKLOADS / "openmp/openmp_torch.py"
    program.run(tmp_path, pythons[0], script, "40", options=("-F", "997", "--call-path", call_path),
                environment={"GOMP_SPINCOUNT": "300000"})  # workers are known by their waiting
    lines = {name: n for n, text in enumerate(script.read_text().splitlines(), 1)
             for name, mark in (("forward", "# FORWARD"), ("step", "# BACKWARD")) if mark in text}
    tids = [p["tid"] for p in program.info(tmp_path)["profiles"] if p["tid"] != p["pid"]]
    under = forward = stray = idle = 0
    for tid in tids:
        paths = program.paths(tmp_path, "cpu-time", "--thread", str(tid))
        if not any(is_idle(frames) for frames, _ in paths):
            continue  # not a worker: PyTorch has threads of its own
        for frames, value in paths:
            if is_idle(frames):
                idle += value["sum"]
            elif any(f["kind"] == "python" and lines.get(f["name"]) == f["line"] for f in frames):
                under += value["sum"]
                forward += value["sum"] if any(f["name"] == "forward" for f in frames) else 0
                assert any(f["kind"] == "operator" for f in frames), names(frames)
            else:
                stray += value["sum"]
    assert under > 0.1e9, f"the workers have done nothing: {under / 1e9} s, idle {idle / 1e9} s"
    assert under >= 0.95 * (under + stray), (under, stray)
    assert forward >= 0.8 * under, (forward, under)


def test_switched_off(tmp_path: Path) -> None:
    program.run(tmp_path, program.compiled("openmp/openmp_shares.c", *COMPILERS["gcc"]), "2", "300", options=("-F", "997"),
                environment={"SONDE_OPENMP": "0"})
    paths = [names(f) for f, _ in program.paths(tmp_path) if "inner" in names(f)]
    assert any("main" not in path for path in paths)
    assert not any(is_idle(f) for f, _ in program.paths(tmp_path))


def test_leaving_a_region_by_longjmp(tmp_path: Path) -> None:
    """Undefined in OpenMP; the collector survives it all the same."""
    source = tmp_path / "jump.c"
    source.write_text("""
        #include <omp.h>
        #include <setjmp.h>
        #include <stdio.h>
        static jmp_buf out;
        static void work(void)
        {
            for (unsigned long i = 0; i < 3000000; i++)
                __asm__ volatile("");
        }
        __attribute__((noinline)) static void region(int depth)
        {
            char room[depth * 1000 + 1];
            __asm__ volatile("" :: "r"(room) : "memory");
        #pragma omp parallel num_threads(1)
            { work(); if (depth) longjmp(out, 1); }
        }
        int main(void)
        {
            for (volatile int round = 0; round < 50; round++)
                if (!setjmp(out))
                    region(round % 5);
            puts("done");
            return 0;
        }""")
    subprocess.run(["gcc", "-g", "-O1", "-fopenmp", source, "-o", tmp_path / "jump"], check=True)
    done = program.run(tmp_path, tmp_path / "jump", options=("-F", "997"))
    assert done.stdout == "done\n"


def test_fork_between_regions(tmp_path: Path) -> None:
    source = tmp_path / "forks.c"
    source.write_text("""
        #include <omp.h>
        #include <stdio.h>
        #include <sys/wait.h>
        #include <unistd.h>
        __attribute__((noinline)) static void work(void)
        {
            for (unsigned long i = 0; i < 30000000; i++)
                __asm__ volatile("");
        }
        int main(void)
        {
        #pragma omp parallel num_threads(2)
            work();
            if (!fork()) { /* from outside; libgomp has no threads in the child */
                work();
                _exit(0);
            }
            wait(NULL);
        #pragma omp parallel num_threads(2)
            {
                work();
                if (omp_get_thread_num() == 1 && !fork()) { /* from inside, by a worker */
                    work();
                    _exit(0);
                }
                work();
            }
            wait(NULL);
            puts("done");
            return 0;
        }""")
    subprocess.run(["gcc", "-g", "-O1", "-fopenmp", source, "-o", tmp_path / "forks"], check=True)
    done = program.run(tmp_path, tmp_path / "forks", options=("-F", "997"))
    assert done.stdout == "done\n"
    strays = [names(f) for f, _ in program.paths(tmp_path) if "work" in names(f) and "main" not in names(f)]
    assert not strays, strays


def test_two_libgomps(tmp_path: Path) -> None:
    """Each of two plugins has a libgomp of its own, as Python wheels do; each region runs in the right one."""
    real = Path(subprocess.run(["gcc", "-print-file-name=libgomp.so.1"], capture_output=True, text=True).stdout.strip())
    if not real.is_absolute():
        pytest.skip("no libgomp")
    # a private copy under another name, which the loader must not take for the same
    (tmp_path / "libgomq.so.1").write_bytes(real.read_bytes().replace(b"libgomp.so.1\0", b"libgomq.so.1\0"))
    source = tmp_path / "plugin.c"
    source.write_text("""
        #include <omp.h>
        __attribute__((noinline)) static void work(unsigned long steps)
        {
            for (unsigned long i = 0; i < steps; i++)
                __asm__ volatile("");
        }
        int START(void)
        {
            int seen = 0, wrong = 0;
        #pragma omp parallel num_threads(3) reduction(| : seen) reduction(+ : wrong)
            {
                work(2000000);
                seen |= 1 << omp_get_thread_num();
                wrong += omp_get_num_threads() != 3 || !omp_in_parallel();
        #pragma omp barrier
                work(1000);
            }
            return seen == 7 && !wrong && !omp_in_parallel();
        }""")
    for name, gomp in (("one", "libgomp.so.1"), ("two", "libgomq.so.1")):
        folder = real.parent if name == "one" else tmp_path
        subprocess.run(["gcc", "-g", "-O1", "-fPIC", "-fopenmp", f"-DSTART=start_{name}", "-c", source,
                        "-o", tmp_path / f"{name}.o"], check=True)
        subprocess.run(["gcc", "-shared", tmp_path / f"{name}.o", "-o", tmp_path / f"{name}.so", f"-L{folder}",
                        f"-l:{gomp}", f"-Wl,-rpath,{folder}"], check=True)
    host = tmp_path / "host.c"
    host.write_text("""
        #include <dlfcn.h>
        #include <stdio.h>
        int main(void)
        {
            int good = 0;
            void *one = dlopen("./one.so", RTLD_LAZY), *two = dlopen("./two.so", RTLD_LAZY);
            int (*start_one)(void) = (int (*)(void))dlsym(one, "start_one");
            int (*start_two)(void) = (int (*)(void))dlsym(two, "start_two");
            for (int round = 0; round < 60; round++)
                good += start_two() + start_one();
            puts(good == 120 ? "done" : "wrong");
            return 0;
        }""")
    subprocess.run(["gcc", "-g", "-O1", host, "-o", tmp_path / "host", "-ldl"], check=True)
    done = subprocess.run([program.SONDE, "run", "-q", "-o", "run", "-F", "997", "--", "./host"], cwd=tmp_path,
                          capture_output=True, text=True, env={**program.os.environ, **PASSIVE}, timeout=120)
    assert done.stdout == "done\n", done.stderr
    for name in ("one", "two"):
        found = [names(f) for f, _ in program.paths(tmp_path) if f"start_{name}" in names(f) and "work" in names(f)]
        assert found and all("main" in path for path in found)
    assert not [p for p in (names(f) for f, _ in program.paths(tmp_path)) if "work" in p and "main" not in p]
