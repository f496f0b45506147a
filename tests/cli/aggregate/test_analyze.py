# SPDX-License-Identifier: Apache-2.0
"""`sonde analyze` as a user runs it, on measurements with known contents."""
from __future__ import annotations

import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import BUILD, Result, clean_environment

MAKE_MEASUREMENT = BUILD / "tests/make-measurement"


def make_measurement(path: Path, *options: object) -> Path:
    subprocess.run([MAKE_MEASUREMENT, path, *map(str, options)], check=True)
    return path


@pytest.fixture
def folder(tmp_path) -> Path:
    measured = tmp_path / "run.sonde"
    measured.mkdir()
    make_measurement(measured / "a.sonde-process")
    return measured


def assert_refused(result: Result, why: str) -> None:
    assert result.status == 128 and result.out == ""
    assert len(result.err_lines) == 1 and result.err.startswith("sonde: ")
    assert why in result.err


def test_a_folder_becomes_a_database(sonde, folder, tmp_path):
    out = tmp_path / "out.sdb"
    result = sonde("analyze", folder, "-o", out)
    assert (result.status, result.err) == (0, "")
    assert str(out) in result.out
    info = json.loads(sonde("info", "--format", "json", out).out)
    assert info["command"] == "python3 train.py" and info["complete"] is True
    assert info["drops"] == {"sample-busy": 3}
    report = json.loads(sonde("report", "--format", "json", "--metric", "cpu-time,gpu-time", out).out)
    sums = {row["name"]: row["values"] for row in report["rows"]}
    # tests/workloads/formats/make_measurement.c: 8 ms in Python, then 10 ms at each of 16 kinds, by turns of two metrics
    assert sums["train"]["cpu-time"]["exclusive"]["sum"] == 8_000_000
    assert sums["train"]["cpu-time"]["inclusive"]["sum"] == 88_000_000
    assert sums["train"]["gpu-time"]["inclusive"]["sum"] == 80_000_000
    kinds = [row["kind"] for row in report["rows"]]
    assert kinds[:3] == ["thread", "python", "operator"] and "kernel" in kinds
    assert {"[callers unknown]", "libgone.so+0x1234"} <= set(sums)


def test_json_summary(sonde, folder, tmp_path):
    result = sonde("analyze", "--format", "json", folder, "-o", tmp_path / "out.sdb", "-j", 3, "--no-cache")
    summary = json.loads(result.out)
    assert summary["processes"] == 1 and summary["unreadable"] == 0 and summary["addresses"] == 1
    assert [missing["module"] for missing in summary["without_symbols"]] == ["/gone/libgone.so"]
    assert "libgone.so: " in sonde("analyze", folder, "-o", tmp_path / "out.sdb", "--no-cache").out


def test_many_processes_one_database(sonde, folder, tmp_path):
    other = tmp_path / "other.sonde"
    other.mkdir()
    make_measurement(other / "b.sonde-process", 5000)
    outputs = []
    for order in ([folder, other], [other, folder]):
        out = tmp_path / f"{len(outputs)}.sdb"
        assert sonde("analyze", *order, "-o", out).status == 0
        outputs.append(out.read_bytes())
    assert outputs[0] == outputs[1]
    info = json.loads(sonde("info", "--format", "json", tmp_path / "0.sdb").out)
    assert len(info["profiles"]) == 2


def test_an_unreadable_process_is_left_out(sonde, folder, tmp_path):
    (folder / "b.sonde-process").write_bytes(b"SONDEMSR but no more")
    result = sonde("analyze", folder, "-o", tmp_path / "out.sdb")
    assert result.status == 0 and len(result.err_lines) == 1
    assert "1 of 2 processes left out" in result.err and "b.sonde-process" in result.err
    info = json.loads(sonde("info", "--format", "json", tmp_path / "out.sdb").out)
    assert info["complete"] is False


def test_mixed_versions(sonde, folder, tmp_path):
    """Of another version of the format in its file's header, its last snapshot or a section: left out, and told."""
    whole, other = (folder / "a.sonde-process").read_bytes(), folder / "b.sonde-process"
    (_, start, length, _, _), slots = max((struct.unpack_from("<5Q", whole, at), at) for at in (1024, 1536))
    table, = struct.unpack_from("<Q", whole, start + 16)
    for at, why in ((8, "version 9 of the format"), (start + 8, "version 9 of the format"), (start + table + 4, "has version 9")):
        changed = bytearray(whole)
        struct.pack_into("<H", changed, at, 9)
        other.write_bytes(changed)
        result = sonde("analyze", folder, "-o", tmp_path / "out.sdb")
        assert result.status == 0 and len(result.err_lines) == 1, result.err
        assert f"1 of 2 processes left out: cannot read '{other}': " in result.err
        assert why in result.err or "damaged" in result.err
        assert_refused(sonde("analyze", other, "-o", tmp_path / "none.sdb"), str(other))


def test_bad_inputs(sonde, folder, tmp_path):
    out = tmp_path / "out.sdb"
    empty = tmp_path / "empty.sonde"
    empty.mkdir()
    assert_refused(sonde("analyze", tmp_path / "missing", "-o", out), "No such file")
    assert_refused(sonde("analyze", empty, "-o", out), "no measurement in it")
    assert_refused(sonde("analyze", folder, empty, "-o", out), "no measurement in it")
    foreign = tmp_path / "foreign.sonde-process"
    foreign.write_bytes(b"\x7fELF" * 5000)
    assert_refused(sonde("analyze", foreign, "-o", out), "not a Sonde measurement")
    assert_refused(sonde("analyze", "/dev/null", "-o", out), "not a regular file")
    whole = (folder / "a.sonde-process").read_bytes()
    foreign.write_bytes(whole[:5000])
    assert_refused(sonde("analyze", foreign, "-o", out), "truncated")
    assert not out.exists()
    assert list(tmp_path.glob("out*")) == []


def test_damage_never_gets_through(sonde, folder, tmp_path):
    out = tmp_path / "out.sdb"
    victim = tmp_path / "victim.sonde-process"
    whole = (folder / "a.sonde-process").read_bytes()
    chance = random.Random(1)
    for _ in range(30):
        damaged = bytearray(whole)
        for _ in range(3):
            damaged[chance.randrange(4096, len(damaged))] ^= 1 << chance.randrange(8)
        victim.write_bytes(damaged)
        result = sonde("analyze", victim, "-o", out, timeout=20)
        if result.status:  # else only padding was hit
            assert_refused(result, "damaged")
            assert not out.exists()
        out.unlink(missing_ok=True)


def test_bad_outputs(sonde, folder, tmp_path):
    assert_refused(sonde("analyze", folder, "-o", "/dev/full"), "No space left")
    assert_refused(sonde("analyze", folder, "-o", tmp_path / "missing" / "out.sdb"), "No such file")
    assert_refused(sonde("analyze", folder, "-o", tmp_path), "Is a directory")
    old = tmp_path / "old.sdb"
    old.write_text("what was there")
    assert_refused(sonde("analyze", tmp_path / "missing", "-o", old), "No such file")
    assert old.read_text() == "what was there"


@pytest.mark.parametrize("arguments, why", [
    ([], "no measurement"), (["x"], "-o"), (["x", "-o", "y", "-j", "0"], "-j"),
    (["x", "-o", "y", "--format", "xml"], "--format"), (["--nonsense"], "nonsense"),
])
def test_usage(sonde, arguments, why):
    result = sonde("analyze", *arguments)
    assert result.status == 129 and why in result.err and result.out == ""


def test_while_the_program_writes(sonde, tmp_path):
    """Analysis of a file that is being replaced all the time sees one whole state or the other."""
    path = tmp_path / "live.sonde-process"
    states = [make_measurement(tmp_path / f"{n}.sonde-process", n).read_bytes() for n in (200, 900)]
    path.write_bytes(states[0])
    writer = subprocess.Popen(["/usr/bin/python3", "-c", (
        "import sys\nstates = [open(f, 'rb').read() for f in sys.argv[2:]]\n"
        "file = open(sys.argv[1], 'r+b', buffering=0)\n"
        "while True:\n for state in states:\n  file.seek(0); file.write(state)")]
        + [str(path), str(tmp_path / "200.sonde-process"), str(tmp_path / "900.sonde-process")])
    try:
        until = time.monotonic() + 2
        while time.monotonic() < until:
            result = sonde("analyze", path, "-o", tmp_path / "out.sdb", "--format", "json")
            if result.status == 0:
                assert 100 < json.loads(result.out)["contexts"] <= 901
            else:
                assert_refused(result, "cannot read")
    finally:
        writer.kill()
        writer.wait()


# Many workers, little memory, and what goes wrong on the way.

GENERATOR = BUILD / "bench/gen-measurements"
SONDE_MPI = BUILD / "src/cmd/sonde-mpi"


@pytest.fixture(scope="module")
def generated(tmp_path_factory) -> Path:
    """60 profiles of 6 ranks with GPU metrics; 7 MB."""
    path = tmp_path_factory.mktemp("generated") / "gen.sonde"
    subprocess.run([GENERATOR, "-r", "6", "-t", "6", "-s", "4", "-o", path], check=True, stdout=subprocess.DEVNULL)
    return path


@pytest.fixture(scope="module")
def generated_db(sonde, generated) -> Path:
    out = generated.parent / "one.sdb"
    assert sonde("analyze", generated, "-o", out, "-j", 1, "--no-cache").status == 0
    return out


def mpirun(ranks: int, *arguments: object, timeout: float = 120, **variables: str) -> subprocess.CompletedProcess:
    if not SONDE_MPI.exists() or not shutil.which("mpirun"):
        pytest.skip("no MPI here: sonde-mpi is not built or there is no mpirun")
    environment = clean_environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                    OMPI_MCA_rmaps_base_oversubscribe="1", **variables)
    return subprocess.run(["mpirun", "-n", str(ranks), SONDE_MPI, *map(str, arguments)], capture_output=True,
                          text=True, timeout=timeout, env=environment)


def test_what_is_generated_comes_out(sonde, generated, generated_db, tmp_path):
    """Sums of all metrics, and of the contexts that the generator wrote down."""
    expected = tmp_path / "expected.csv"
    made = subprocess.run([GENERATOR, "-r", "6", "-t", "6", "-s", "4", "-o", tmp_path / "again.sonde",
                           "--expect", expected], check=True, stdout=subprocess.PIPE, text=True)
    totals = json.loads(made.stdout)["metrics"]
    info = json.loads(sonde("info", "--verify", "--format", "json", generated_db).out)
    assert len(info["profiles"]) == 60
    found = {metric["name"]: metric for metric in info["metrics"]}
    for name, total in totals.items():
        if total["values"]:
            assert [found[name][key] for key in ("count", "sum", "min", "max")] == \
                [total[key] for key in ("count", "sum", "min", "max")], name


@pytest.mark.parametrize("jobs", [2, 3])
def test_threads_make_no_difference(sonde, generated, generated_db, tmp_path, jobs):
    out = tmp_path / "out.sdb"
    assert sonde("analyze", generated, "-o", out, "-j", jobs, "--no-cache").status == 0
    assert out.read_bytes() == generated_db.read_bytes()


def test_threads_that_each_meet_modules_of_their_own(sonde, tmp_path):
    """What one thread knows of its measurements' modules is put to another's, whatever the memory held before."""
    (tmp_path / "work.c").write_text("int main(void) { for (volatile int i = 0; i < 40000000; i++) ; return VALUE; }")
    folders = []
    for value in range(12):
        program = tmp_path / f"work{value}"
        subprocess.run(["gcc", "-g", "-O1", f"-DVALUE={value}", "-o", program, tmp_path / "work.c"], check=True)
        sonde("run", "--no-analyze", "-F", "997", "-o", tmp_path / str(value), "--", program)
        folders.append(tmp_path / f"{value}.sonde")
    found = set()
    for jobs in (1, *[12] * 8):
        environment = {**clean_environment(), "MALLOC_PERTURB_": "1"}
        subprocess.run([BUILD / "src/cmd/sonde", "analyze", "-j", str(jobs), *folders, "-o", tmp_path / "out.sdb"],
                       env=environment, check=True, capture_output=True)
        found.add((tmp_path / "out.sdb").read_bytes())
    names = [row["name"] for row in json.loads(sonde("report", "--view", "flat", "--format", "json", tmp_path / "out.sdb").out)["rows"]]
    assert len(found) == 1 and "main" in names and not any("+0x" in name for name in names if name.startswith("work"))


@pytest.mark.parametrize("ranks,jobs", [(1, 1), (3, 1), (2, 2)])
def test_ranks_make_no_difference(generated, generated_db, tmp_path, ranks, jobs):
    out = tmp_path / "out.sdb"
    result = mpirun(ranks, "analyze", generated, "-o", out, "-j", jobs, "--no-cache")
    assert result.returncode == 0 and result.stdout.count("contexts from 6 processes") == 1
    assert out.read_bytes() == generated_db.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.sdb"]


def test_ranks_of_several_hosts(generated, generated_db, tmp_path):
    """They write into a file that has a name, which is gone when it is whole, or when it cannot be."""
    out = tmp_path / "out.sdb"
    result = mpirun(3, "analyze", generated, "-o", out, "-j", 1, "--no-cache", SONDE_MPI_HOSTS="many")
    assert result.returncode == 0, result.stderr
    assert out.read_bytes() == generated_db.read_bytes()
    assert out.stat().st_mode == generated_db.stat().st_mode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.sdb"]
    result = mpirun(2, "analyze", generated, "-o", "/dev/null", "--no-cache", SONDE_MPI_HOSTS="many")
    assert result.returncode == 0, result.stderr


def test_ranks_of_several_hosts_cannot_fill_a_pipe(generated):
    result = mpirun(2, "analyze", generated, "-o", "/dev/stdout", "--no-cache", SONDE_MPI_HOSTS="many")
    assert result.returncode == 128 and "ranks on several machines can only write a file" in result.stderr


@pytest.mark.parametrize("kilobytes", [400, 1600])
def test_a_full_disk_of_several_hosts_leaves_nothing(generated, tmp_path, kilobytes):
    if not SONDE_MPI.exists() or not shutil.which("mpirun"):
        pytest.skip("no MPI here: sonde-mpi is not built or there is no mpirun")
    script = (f"trap '' XFSZ; [ $OMPI_COMM_WORLD_RANK = 1 ] && ulimit -f {kilobytes}; "
              f"exec {SONDE_MPI} analyze {generated} -o {tmp_path}/out.sdb -j 1 --no-cache")
    environment = clean_environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                    OMPI_MCA_rmaps_base_oversubscribe="1", SONDE_MPI_HOSTS="many")
    run = subprocess.run(["mpirun", "-n", "2", "bash", "-c", script], capture_output=True, text=True, timeout=120,
                         env=environment)
    told = [line for line in run.stderr.splitlines() if line.startswith("sonde: ")]  # MPI says something as well
    assert run.returncode == 128 and len(told) == 1 and "File too large" in told[0]
    assert list(tmp_path.iterdir()) == []


def sections(database: Path) -> dict[int, bytes]:
    """The bytes of a database's sections by type, without empty ones; src/format/container.h."""
    data = database.read_bytes()
    (count,) = struct.unpack_from("<I", data, 12)
    (table,) = struct.unpack_from("<Q", data, 16)
    found = {}
    for i in range(count):
        kind, _, _, _, _, offset, length, _ = struct.unpack_from("<IHHIIQQQ", data, table + 40 * i)
        if length:
            found[kind] = data[offset:offset + length]
    return found


def test_the_builder_writes_the_same(generated_db, tmp_path):
    """The values of many workers, and the same ones in the memory of one builder: every section is the same."""
    again = tmp_path / "again.sdb"
    subprocess.run([BUILD / "tests/rebuild-db", generated_db, again], check=True)
    expected, found = sections(generated_db), sections(again)
    assert len(expected) > 12 and sorted(found) == sorted(expected)
    for kind, data in expected.items():
        assert found[kind] == data, f"section {kind}"


def test_little_memory_makes_no_difference(sonde, generated, generated_db, tmp_path):
    out = tmp_path / "out.sdb"
    assert sonde("analyze", generated, "-o", out, "--memory", "64M", "--no-cache").status == 0
    assert out.read_bytes() == generated_db.read_bytes()


def test_memory_is_kept(sonde, tmp_path):
    """Where more files than fit are read at once, and more values than fit are turned round: the most that was resident, as
    the kernel counts it. For a process that a large one started that begins with what that one had, so that a small one
    is between."""
    large = tmp_path / "large.sonde"
    subprocess.run([GENERATOR, "-r", "12", "-t", "270", "-s", "48", "--leaves", "60", "-o", large], check=True, stdout=subprocess.DEVNULL)
    starter = ("import os, subprocess, sys; process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL); "
               "_, status, usage = os.wait4(process.pid, 0); print(status, usage.ru_maxrss)")
    for jobs in (2, 8):
        done = subprocess.run([sys.executable, "-c", starter, BUILD / "src/cmd/sonde", "analyze", large, "-o", tmp_path / f"{jobs}.sdb",
                               "--memory", "64M", "--no-cache", "-j", str(jobs)], capture_output=True, check=True)
        status, kilobytes = map(int, done.stdout.split())
        assert status == 0 and 1 << 10 < kilobytes < 64 << 10, f"{jobs} threads: {kilobytes} kB"
    shutil.rmtree(large)
    assert (tmp_path / "2.sdb").read_bytes() == (tmp_path / "8.sdb").read_bytes()


def test_into_a_pipe(generated, generated_db, tmp_path):
    """What stdout leads to has no path then; the summary does not get between the bytes."""
    run = subprocess.run([BUILD / "src/cmd/sonde", "analyze", generated, "-o", "/dev/stdout", "--no-cache"],
                         capture_output=True, env=clean_environment(TMPDIR=str(tmp_path)))
    assert run.returncode == 0, run.stderr
    assert run.stdout == generated_db.read_bytes()
    assert run.stderr.startswith(b"/dev/stdout: ") and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("limit,why", [("lots", "no amount of memory"), ("1M", "less than 64M"), ("2X", "no amount")])
def test_memory_misused(sonde, folder, tmp_path, limit, why):
    result = sonde("analyze", folder, "-o", tmp_path / "out.sdb", "--memory", limit)
    assert result.status == 129 and why in result.err


def test_a_file_beyond_the_limit_is_told(sonde, tmp_path):
    large = tmp_path / "large.sonde"
    subprocess.run([GENERATOR, "-r", "1", "-t", "300", "-s", "1", "-o", large], check=True, stdout=subprocess.DEVNULL)
    result = sonde("analyze", large, "-o", tmp_path / "out.sdb", "--memory", "64M")
    assert_refused(result, "alone needs more than 64 MiB of memory: allow more with --memory")
    assert not (tmp_path / "out.sdb").exists()


def test_sums_beyond_the_limit_are_told(sonde, tmp_path):
    """What is added up for each context and metric cannot be spilled. More threads need more of it."""
    many = tmp_path / "many.sonde"
    subprocess.run([GENERATOR, "-r", "8", "-t", "2", "-s", "2", "--leaves", "3000", "--leaf-depth", "6", "--visit", "0.5",
                    "--kernels", "1000", "-o", many], check=True, stdout=subprocess.DEVNULL)
    out = tmp_path / "out.sdb"
    result = sonde("analyze", many, "-o", out, "--memory", "64M", "--no-cache", "-j", 4)
    assert_refused(result, "contexts need more than 64 MiB of memory: allow more with --memory (at least")
    assert list(tmp_path.iterdir()) == [many]
    assert sonde("analyze", many, "-o", out, "--memory", "64M", "--no-cache", "-j", 1).status == 0


@pytest.mark.parametrize("kilobytes", [0, 40, 400, 1600])
def test_a_full_disk_leaves_nothing(generated, tmp_path, kilobytes):
    """Files may not become larger than that: at first the temporary ones fail, then the database."""
    command = f"ulimit -f {kilobytes}; exec {BUILD / 'src/cmd/sonde'} analyze {generated} -o out.sdb --no-cache -j 2"
    run = subprocess.run(["bash", "-c", f"trap '' XFSZ; {command}"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 128 and run.stdout == ""
    assert run.stderr.count("\n") == 1 and "File too large" in run.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_rank_that_is_killed_leaves_nothing(generated, tmp_path):
    """The job ends, whichever rank it was, and nothing is left under any name."""
    for victim in (0, 1):
        script = (f"[ $OMPI_COMM_WORLD_RANK = {victim} ] && ulimit -t 0; "
                  f"exec {SONDE_MPI} analyze {generated} -o {tmp_path}/out.sdb -j 1 --no-cache")
        if not SONDE_MPI.exists() or not shutil.which("mpirun"):
            pytest.skip("no MPI here: sonde-mpi is not built or there is no mpirun")
        environment = clean_environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                        OMPI_MCA_rmaps_base_oversubscribe="1")
        run = subprocess.run(["mpirun", "-n", "3", "bash", "-c", script], capture_output=True, timeout=120,
                             env=environment)
        assert run.returncode != 0
        assert list(tmp_path.iterdir()) == []


def open_files(pid: int) -> list[str]:
    try:
        return [os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")]
    except OSError:
        return []


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_is_killed_while_it_writes(tmp_path_factory, tmp_path, victim):
    """kill -9 of one, once it has the output and temporary files beside it: the others end too, and nothing is left."""
    if not SONDE_MPI.exists() or not shutil.which("mpirun"):
        pytest.skip("no MPI here: sonde-mpi is not built or there is no mpirun")
    measured = tmp_path_factory.mktemp("killed") / "gen.sonde"
    subprocess.run([GENERATOR, "-r", "40", "-t", "10", "-s", "4", "-o", measured], check=True, stdout=subprocess.DEVNULL)
    pids = measured.parent / "pids"
    script = f'echo $$ > {pids}.$OMPI_COMM_WORLD_RANK; exec {SONDE_MPI} analyze {measured} -o {tmp_path}/out.sdb -j 1 --no-cache'
    environment = clean_environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                    OMPI_MCA_rmaps_base_oversubscribe="1")
    pid_file = Path(f"{pids}.{victim}")
    for _ in range(20):  # a job may be done before it is looked at
        pid_file.unlink(missing_ok=True)
        job = subprocess.Popen(["mpirun", "-n", "2", "bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment)
        was_killed = False
        while job.poll() is None and not was_killed:
            text = pid_file.read_text() if pid_file.exists() else ""
            if text.endswith("\n") and sum(name.startswith(f"{tmp_path}/") for name in open_files(int(text))) > 2:
                os.kill(int(text), signal.SIGKILL)
                was_killed = True
        out, err = job.communicate(timeout=120)
        if was_killed and job.returncode:
            break
        (tmp_path / "out.sdb").unlink(missing_ok=True)
    assert was_killed and job.returncode != 0 and out == b""
    assert b"signal 9" in err and err.count(b"sonde:") == 0  # mpirun says which process it was
    assert list(tmp_path.iterdir()) == []


def test_one_rank_tells_what_is_wrong(tmp_path):
    result = mpirun(3, "analyze", tmp_path / "none.sonde", "-o", tmp_path / "out.sdb")
    assert result.returncode == 128 and result.stdout == ""
    assert result.stderr.count("sonde: cannot read") == 1


def test_processes_of_another_mpi_are_told(generated, tmp_path):
    """Started by the mpirun of another MPI, each is alone, would do all the work and write the same file."""
    if not SONDE_MPI.exists():
        pytest.skip("no MPI here: sonde-mpi is not built")
    libraries = subprocess.run(["ldd", SONDE_MPI], capture_output=True, text=True).stdout
    size = "OMPI_COMM_WORLD_SIZE" if "libmpich" in libraries else "PMI_SIZE"
    command = [SONDE_MPI, "analyze", generated, "-o", tmp_path / "out.sdb"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, env=clean_environment(**{size: "2"}))
    assert result.returncode == 128 and "another MPI" in result.stderr and not list(tmp_path.iterdir())
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, env=clean_environment(**{size: "1"}))
    assert result.returncode == 0 and (tmp_path / "out.sdb").exists(), result.stderr


@pytest.fixture(scope="module")
def damaged(generated, tmp_path_factory) -> Path:
    """Twelve processes of two hosts; three files are damaged, each otherwise, and are not the first."""
    path = tmp_path_factory.mktemp("damaged") / "gen.sonde"
    subprocess.run([GENERATOR, "-r", "12", "-t", "2", "-s", "1", "-o", path], check=True, stdout=subprocess.DEVNULL)
    files = sorted(path.iterdir())
    for number, contents in ((4, b"no measurement"), (7, b""), (9, files[9].read_bytes()[:9000])):
        files[number].write_bytes(contents)
    return path


def test_what_is_left_out_is_the_same_for_all_workers(damaged, tmp_path):
    """How many, and of which file a line tells why, whoever has read it; so is the database."""
    outs, said = [], set()
    options = ["--no-cache", "--format", "json"]
    for number, jobs in enumerate((1, 2, 3)):
        outs.append(tmp_path / f"{number}.sdb")
        run = subprocess.run([BUILD / "src/cmd/sonde", "analyze", damaged, "-o", outs[-1], "-j", str(jobs), *options],
                             capture_output=True, text=True, check=True)
        said.add((run.stderr, *(json.loads(run.stdout)[key] for key in ("processes", "unreadable"))))
    if SONDE_MPI.exists() and shutil.which("mpirun"):
        for ranks, jobs in ((3, 1), (2, 2)):
            outs.append(tmp_path / f"{ranks}x{jobs}.sdb")
            run = mpirun(ranks, "analyze", damaged, "-o", outs[-1], "-j", jobs, *options)
            line, = [line for line in run.stderr.splitlines() if line.startswith("sonde: ")]
            said.add((line + "\n", *(json.loads(run.stdout)[key] for key in ("processes", "unreadable"))))
    (line, processes, unreadable), = said
    first = sorted(path for path in damaged.iterdir() if path.stat().st_size < 20000)[0]
    assert (processes, unreadable) == (9, 3)
    assert line == f"sonde: 3 of 12 processes left out: cannot read '{first}': not a Sonde measurement (bad magic)\n"
    assert len({out.read_bytes() for out in outs}) == 1


def test_ranks_agree_on_folders(tmp_path):
    """A folder is readable if any rank could read something of it; if none could, all of them end."""
    folders = [tmp_path / f"{name}.sonde" for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
        make_measurement(folder / "a.sonde-process")
    result = mpirun(2, "analyze", *folders, "-o", tmp_path / "out.sdb", "-j", 1)
    assert result.returncode == 0, result.stderr
    (folders[1] / "a.sonde-process").write_bytes(b"no measurement")
    result = mpirun(2, "analyze", *folders, "-o", tmp_path / "other.sdb", "-j", 1)
    told = [line for line in result.stderr.splitlines() if line.startswith("sonde: ")]
    assert result.returncode == 128 and told == [f"sonde: cannot read '{folders[1]}': none of its measurements is readable"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.sonde", "out.sdb", "two.sonde"]


def test_a_folder_given_twice_counts_once(sonde, folder, tmp_path):
    (tmp_path / "link.sonde").symlink_to(folder)
    once, twice = tmp_path / "once.sdb", tmp_path / "twice.sdb"
    assert sonde("analyze", folder, "-o", once, "--no-cache").err == ""
    for other in (folder, f"{folder}/", tmp_path / "link.sonde"):
        result = sonde("analyze", folder, other, "-o", twice, "--no-cache")
        assert (result.status, result.err) == (0, f"sonde: '{other}' is '{folder}' again: it counts once\n")
        assert twice.read_bytes() == once.read_bytes()


def test_runs_are_told_apart(sonde, folder, tmp_path):
    """Several folders are several runs of a program; their order makes no difference."""
    again = tmp_path / "again.sonde"
    again.mkdir()
    make_measurement(again / "b.sonde-process")
    outs = [tmp_path / "1.sdb", tmp_path / "2.sdb"]
    for out, folders in zip(outs, ([folder, again], [again, folder])):
        assert sonde("analyze", *folders, "-o", out, "--no-cache").status == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()
    properties = json.loads(sonde("info", "--format", "json", outs[0]).out)["properties"]
    assert (properties["run.0"], properties["run.1"]) == ("again", "run")
    runs = sonde("info", outs[0]).out.split("\nRuns\n")[1].split("\n\n")[0].splitlines()
    assert [line.split()[-1] for line in runs] == ["again", "run"]
    whole = json.loads(sonde("report", "--format", "json", outs[0]).out)["rows"][0]["values"]
    for run in ("again", "run"):  # the same was measured in both
        half = json.loads(sonde("report", "--format", "json", "--thread", run, outs[0]).out)["rows"][0]["values"]
        for name, value in whole.items():
            assert half[name]["inclusive"]["sum"] * 2 == value["inclusive"]["sum"] > 0
    assert sonde("report", "--thread", "runs", outs[0]).status == 128
