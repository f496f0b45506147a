# SPDX-License-Identifier: Apache-2.0
"""`sonde-mpi variability` by several ranks: the same bytes as `sonde`, and what happens where a rank fails."""
from __future__ import annotations

import math
import os
import random
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD, ROOT, clean_environment, run_sonde

SONDE_MPI = BUILD / "src/cmd/sonde-mpi"


def write_trace(path: Path, seed: int, count: int, rank: int) -> None:
    """Kernels on two streams and copies on a third; durations nearly all differ, and the last part has many kernels of its own."""
    random_ = random.Random(seed)
    events = []
    for number in range(count):
        start, duration = 1000 + number * 25 + number % 3, round(math.exp(random_.gauss(9, 0.5))) / 1000
        name = f"k{number % 5}" if number < count * 0.9 else f"late{number % 60}"
        kind = ('"cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)"' if number % 9 == 0
                else f'"cat":"kernel","name":"{name}"')
        more = f'"bytes":{64 * (number % 50 + 1)}' if number % 9 == 0 else f'"grid":[{1 + number % 7},1,1],"block":[32,1,1]'
        stream = 20 if number % 9 == 0 else 7 + number % 2
        events.append(f'{{"ph":"X",{kind},"pid":0,"tid":{stream},"ts":{start},"dur":{duration},'
                      f'"args":{{"device":0,"context":1,"stream":{stream},"correlation":{number + 1},{more}}}}}')
    path.write_text('{"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":%d,"world_size":2},"traceEvents":[%s]}'
                    % (rank, ",\n".join(events)))


@pytest.fixture(scope="module")
def databases(tmp_path_factory) -> list[Path]:
    """Of two ranks of a run, one of which has many more events: parts of them, and several slices of the time, for each rank that reads."""
    folder = tmp_path_factory.mktemp("ranks")
    for rank, count in enumerate((500_000, 60_000)):
        write_trace(folder / f"{rank}.json", rank, count, rank)
        assert run_sonde("import", folder / f"{rank}.json", "-o", folder / f"{rank}.sdb").status == 0
    return [folder / "0.sdb", folder / "1.sdb"]


def mpirun(ranks: int, *command: object, launcher: str = "mpirun") -> subprocess.CompletedProcess:
    if not SONDE_MPI.exists() or not shutil.which(launcher):
        pytest.skip(f"no MPI here: sonde-mpi is not built or there is no {launcher}")
    environment = clean_environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                                    NO_COLOR="1")  # mpirun has a terminal for rank 0
    return subprocess.run([launcher, "-n", str(ranks), *map(str, command)], capture_output=True, text=True, timeout=120, env=environment)


def told(result: subprocess.CompletedProcess) -> list[str]:
    """MPI says something as well."""
    return [line for line in result.stderr.splitlines() if line.startswith("sonde: ")]


OPTIONS = {"bins": ("--format", "json", "--top", "40", "--bin", "20ms"),
           "sample": ("--format", "json", "--sample", "4000", "--target", "exposed_copy_ns"),
           "stall": ("--format", "json", "--top", "40", "--target", "memory_stall"),
           "little memory": ("--format", "json", "--memory", "1M", "--by", "kernel"),
           "text": ("--limit", "0")}


@pytest.fixture(scope="module")
def expected(databases, tmp_path_factory) -> dict[str, tuple[str, str]]:
    """What one process prints, and the rows that it writes."""
    all_ = {}
    for name, options in OPTIONS.items():
        rows = tmp_path_factory.mktemp("expected") / "rows.csv"
        result = run_sonde("variability", *databases, "-j", 1, "--features", rows, *options)
        assert result.status == 0, result.err
        all_[name] = result.out.replace(str(rows), "ROWS"), rows.read_text()
    return all_


@pytest.mark.parametrize("ranks,jobs", [(1, 1), (2, 1), (2, 2), (3, 1)])
@pytest.mark.parametrize("case", OPTIONS)
def test_ranks_give_the_same_bytes(databases, expected, tmp_path, case, ranks, jobs):
    rows = tmp_path / "rows.csv"
    result = mpirun(ranks, SONDE_MPI, "variability", *databases, "-j", jobs, "--features", rows, *OPTIONS[case])
    assert (result.returncode, told(result)) == (0, []), result.stderr
    found = result.stdout.replace(str(rows), "ROWS"), rows.read_text()
    assert found[0] == expected[case][0]
    assert found == expected[case]


@pytest.fixture(scope="module")
def page(databases, tmp_path_factory) -> bytes:
    """What one thread draws of all launches."""
    path = tmp_path_factory.mktemp("page") / "why.html"
    assert run_sonde("variability", *databases, "-j", 1, "--html", path).status == 0
    return path.read_bytes()


@pytest.mark.parametrize("ranks,jobs", [(1, 3), (2, 1), (2, 2), (3, 1)])
def test_ranks_draw_the_same_page(databases, page, tmp_path, ranks, jobs):
    result = mpirun(ranks, SONDE_MPI, "variability", *databases, "-j", jobs, "--html", tmp_path / "why.html")
    assert (result.returncode, told(result)) == (0, []), result.stderr
    is_same = (tmp_path / "why.html").read_bytes() == page  # of which a difference would take minutes to print
    assert is_same


@pytest.fixture(scope="module")
def sonde_mpich(tmp_path_factory) -> Path:
    """sonde-mpi as built here, but with MPICH in place of the MPI that it is of."""
    if not SONDE_MPI.exists() or not shutil.which("mpicc.mpich") or not shutil.which("ninja"):
        pytest.skip("no MPICH here, or sonde-mpi is not built")
    program = tmp_path_factory.mktemp("mpich") / "sonde-mpich"
    built = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", "src/cmd/sonde"], capture_output=True, text=True, check=True).stdout
    command = shlex.split(built.splitlines()[-1])
    start = command.index("-o")
    sources = os.environ.get("SONDE_SOURCES", ROOT)
    words = ["mpicc.mpich", "-std=gnu17", "-D_GNU_SOURCE", f"-I{sources}/src", f"{sources}/src/aggregate/comm_mpi.c", "-o", program]
    subprocess.run([*words, *(word for word in command[start + 2:] if "libcomm_self" not in word)], cwd=BUILD, check=True)
    return program


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks_of_mpich(databases, expected, sonde_mpich, tmp_path, ranks):
    rows = tmp_path / "rows.csv"
    result = mpirun(ranks, sonde_mpich, "variability", *databases, "-j", 1, "--features", rows, *OPTIONS["bins"], launcher="mpirun.mpich")
    assert (result.returncode, told(result)) == (0, []), result.stderr
    assert result.stdout == expected["bins"][0]
    assert rows.read_text() == expected["bins"][1]


def damage(database: Path, share: float) -> bytes:
    """With some bytes of its events wrong."""
    data = bytearray(database.read_bytes())
    at = int(len(data) * share)
    for i in range(at, at + 64):
        data[i] ^= 0x55
    return bytes(data)


def test_the_rank_that_meets_damage_is_named(databases, tmp_path):
    """Each reads parts of its own, so that only one of them sees it; the others end as well."""
    broken = tmp_path / "broken.sdb"
    named = set()
    for share in (0.3, 0.7):
        broken.write_bytes(damage(databases[0], share))
        alone = run_sonde("variability", broken)
        assert alone.status == 128 and "damaged" in alone.err, alone.err
        result = mpirun(3, SONDE_MPI, "variability", broken, databases[1], "-j", 1)
        assert result.returncode == 128 and result.stdout == ""
        line, = told(result)
        before, _, after = line.partition(": rank ")
        assert before == f"sonde: cannot read '{broken}'" and "damaged" in after
        named.add(after[0])
    assert len(named) == 2, named


@pytest.mark.parametrize("victim", [0, 2])
def test_a_rank_that_cannot_open_a_database_is_named(databases, tmp_path, victim):
    (tmp_path / "here.sdb").symlink_to(databases[0])
    script = f'[ ${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} = {victim} ] && cd /; exec {SONDE_MPI} variability here.sdb -j 1'
    result = mpirun(3, "bash", "-c", f"cd {tmp_path}; {script}")
    assert result.returncode == 128 and result.stdout == ""
    line, = told(result)
    assert line.startswith("sonde: rank 2: cannot " if victim else "sonde: cannot ") and "here.sdb" in line


def test_what_all_ranks_find_wrong_is_said_once(databases, tmp_path):
    for operands in ((tmp_path / "none.sdb",), (databases[1], "--where", "nothing"), (databases[1], "--bin", "1ns")):
        alone = run_sonde("variability", *operands)
        result = mpirun(3, SONDE_MPI, "variability", *operands)
        assert result.returncode == alone.status == 128 and result.stdout == ""
        assert told(result) == alone.err.splitlines()


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_dies_ends_the_job(databases, victim):
    script = (f"[ ${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} = {victim} ] && ulimit -t 0; "
              f"exec {SONDE_MPI} variability {databases[0]} -j 1 --format json")
    result = mpirun(3, "bash", "-c", script)
    assert result.returncode != 0 and result.stdout == "" and told(result) == []
