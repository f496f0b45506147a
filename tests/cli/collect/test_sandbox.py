# SPDX-License-Identifier: Apache-2.0
"""Programs in a sandbox behave as without: who confined itself is left alone, and so is what starts in there."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import program

# What the collector calls and a C library's start does not, by number: timer_create, process_vm_readv, rt_sigaction,
# getpid, futex, pwrite64, timer_settime, timer_delete, gettid, clock_nanosleep, sigaltstack, uname, prctl.
CALLS = (222, 310, 13, 39, 202, 18, 223, 226, 186, 230, 131, 63, 157)
# Each sample asks for its process's number, and an instruction's filter is not seen until the next checkpoint (docs/design/losses.md).
GETPID = 39
HOW = ("prctl", "call", "threads", "instruction")


def workload() -> Path:
    return program.compiled("collect/confined.c", "-O1")


def burner() -> Path:
    return program.compiled("collect/losses.c", "-O1")


def same(folder: Path, *arguments: object) -> dict:
    """Plain and measured alike; what was measured."""
    command = [*map(str, arguments)]
    folder.mkdir(exist_ok=True)
    plain = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    done = program.run(folder, *command, check=None)
    status = 128 - plain.returncode if plain.returncode < 0 else plain.returncode
    assert (done.returncode, done.stdout, done.stderr) == (status, plain.stdout, plain.stderr), command
    return program.info(folder)


@pytest.mark.parametrize(("action", "how"), [("kill", "prctl"), ("kill", "instruction"), ("kill", "call"), ("kill", "threads"),
                                             ("trap", "call"), ("errno", "instruction")])
def test_what_a_sandbox_executes(tmp_path: Path, action: str, how: str) -> None:
    """The program starts inside a filter that somebody else installed: as under bwrap, minijail, systemd."""
    every = CALLS if how == "prctl" else [call for call in CALLS if call != GETPID]
    for call in every if (action, how) in (("kill", "prctl"), ("kill", "instruction")) else CALLS[:3]:
        data = same(tmp_path / str(call), workload(), action, call, how, "execute", burner(), "burn")
        assert not data["complete"]
        missing = data["missing"]
        assert missing["processes"] == missing["of_processes"] == 1
        # 100 ms in front, 100 ms behind the filter; by an instruction what follows the last checkpoint is gone too
        assert 0.35 < missing["cpu_ns"] / missing["of_cpu_ns"] < 0.98
        if how != "instruction":
            assert data["drops"]["confined"] == 1 and set(data["drops"]) <= {"confined", "sample-busy"}


@pytest.mark.parametrize("then", ["start", "fork", "shell"])
@pytest.mark.parametrize("how", HOW)
def test_what_a_sandbox_starts(tmp_path: Path, how: str, then: str) -> None:
    command = [f"{burner()} burn; echo $?"] if then == "shell" else [burner(), "burn"]
    last = 13 if then == "shell" else GETPID  # a shell asks for its own number
    for call in (222, 18) if how == "instruction" and last == GETPID else (222, 18, last):
        data = same(tmp_path / str(call), workload(), "errno" if call == 13 else "kill", call, how, then, *command)
        assert not data["complete"] and data["missing"]["processes"] >= 1
        expected = 2 / 3 if then == "fork" else 1 / 2
        assert data["missing"]["cpu_ns"] / data["missing"]["of_cpu_ns"] > expected - 0.1


@pytest.mark.parametrize("how", HOW)
def test_who_goes_on_in_a_sandbox(tmp_path: Path, how: str) -> None:
    """Calls that only the collector makes. Those of every sample are not among them: an instruction of the program's
    own is not seen until the next checkpoint, as docs/design/losses.md says."""
    for call in (18, 226) if how == "instruction" else (15, 18, 39):
        data = same(tmp_path / str(call), workload(), "kill", call, how, "burn")
        assert not data["complete"]
        assert 0.2 < data["missing"]["cpu_ns"] / data["missing"]["of_cpu_ns"] < 0.98, data


def test_asking_is_not_confining(tmp_path: Path) -> None:
    """Libraries ask whether there is seccomp before they decide."""
    data = same(tmp_path, workload(), "kill", 222, "none", "burn")
    assert data["complete"] and data["drops"] == {}


def test_environment_in_a_sandbox(tmp_path: Path) -> None:
    """What is executed there is given what it would be given without us."""
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:verbosity=0", "OPENCL_LAYERS": "/nonexistent/layer.so"}
    command = [workload(), "allow", "0", "call", "execute", "/usr/bin/env"]
    plain = subprocess.run(command, capture_output=True, text=True, env=environment)
    # each option has its variable (--graph has PYTHONPATH as well, which stays)
    options = ("--gpu-api", str(program.WORKLOADS / "configured/acme.api"), "--gpu-graphs", "nodes", "--operators", "exact",
               "--call-path", "python,native", "-m", "--checkpoint", "1", "--memory-limit", "100", "--trace", "--trace-limit", "1M",
               "--trace-signal", "USR1", "--trace-window", "0:1", "--share", "--no-command", "--shadow", "-e", "cpu-time@50")
    done = program.run(tmp_path, *command, environment=environment, options=options)
    assert sorted(done.stdout.splitlines()) == sorted(plain.stdout.splitlines())


@pytest.mark.parametrize("action", ["errno", "allow"])
def test_a_container_is_measured(tmp_path: Path, action: str) -> None:
    """`sonde run` itself under a filter, as under Docker's: measuring goes on below it."""
    done = subprocess.run([workload(), action, "248", "prctl", "execute", program.SONDE, "run", "-q", "-o",
                           tmp_path / "run", "--", burner(), "start", burner()], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    data = program.info(tmp_path)
    assert data["complete"] and data["missing"]["processes"] == 0
    total = sum(metric["sum"] for metric in data["metrics"] if metric["name"] == "cpu-time")
    assert total > 0.9 * 300e6


@pytest.mark.parametrize("action", ["kill", "trap"])
def test_a_container_that_ends_who_asks_for_an_event(tmp_path: Path, action: str) -> None:
    """perf_event_open, as a service's filter of system calls may; timers starve, and go on."""
    done = subprocess.run([workload(), action, "298", "prctl", "execute", program.SONDE, "run", "-q", "-o", tmp_path / "run", "--",
                           program.compiled("collect/long_calls.c", "-O1"), "8"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert program.info(tmp_path)["complete"]


def test_a_sandbox_in_a_container(tmp_path: Path) -> None:
    """One filter more than there were: somebody confined the program since."""
    done = subprocess.run([workload(), "allow", "248", "prctl", "execute", program.SONDE, "run", "-q", "-o",
                           tmp_path / "run", "--", workload(), "kill", "222", "instruction", "execute", burner(), "burn"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    data = program.info(tmp_path)
    assert not data["complete"] and data["missing"]["processes"] == 1


@pytest.mark.parametrize("action", ["kill", "trap", "errno"])
def test_a_launcher_that_is_not_measured(tmp_path: Path, action: str) -> None:
    """It hands our environment on: the program finds out by itself, before a call that would end it."""
    try:
        launcher = program.compiled("collect/confined.c", "-O1", "-static")
    except subprocess.CalledProcessError:
        pytest.skip("no static C library")
    for call in CALLS if action == "kill" else CALLS[:3]:
        data = same(tmp_path / str(call), "/bin/sh", "-c",
                    f"{launcher} {action} {call} instruction execute {burner()} burn; echo $?")
        assert not data["complete"] and data["drops"] == {"program-unmeasured": 1}, data["drops"]
        assert data["missing"]["cpu_ns"] > 0.8 * data["missing"]["of_cpu_ns"]


def test_by_hand_in_a_container(tmp_path: Path) -> None:
    """Without `sonde run` nobody says how many filters there were: those at the start count."""
    import measured
    environment = measured.environment(tmp_path / "raw.sonde")
    done = subprocess.run([workload(), "allow", "248", "instruction", "burn"], env=environment, timeout=60)
    assert done.returncode == 3
    command = [workload(), "allow", "248", "prctl", "execute", "/usr/bin/env", *(
        f"{key}={environment[key]}" for key in ("LD_PRELOAD", "SONDE_OUTPUT")), burner(), "start", burner()]
    before = set((tmp_path / "raw.sonde").iterdir())
    done = subprocess.run(command, timeout=60, stdout=subprocess.DEVNULL)
    assert done.returncode == 0
    assert len(set((tmp_path / "raw.sonde").iterdir()) - before) == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_what_is_executed_behind_another_root(tmp_path: Path) -> None:
    """There the loader would not find our library, and say so on the program's standard error."""
    root = tmp_path / "root"
    libraries = subprocess.run(["ldd", "/bin/echo"], capture_output=True, text=True).stdout.split()
    for path in ["/bin/echo", *(part for part in libraries if part.startswith("/"))]:
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(Path(path).read_bytes())
        place.chmod(0o755)
    data = same(tmp_path / "out", "/usr/bin/python3", "-c", f"import os; os.chroot({str(root)!r}); os.chdir('/'); "
                "os.execv('/bin/echo', ['echo', 'inside'])")
    assert data["drops"]["program-unmeasured"] == 1
