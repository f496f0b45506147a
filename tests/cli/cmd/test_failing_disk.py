# SPDX-License-Identifier: Apache-2.0
"""Every single call that changes a file fails once, or ends the process: what a full disk, a quota, NFS and kill -9 do.

tests/workloads/collect/fail_calls.c counts the calls. Whichever fails: one line and 128, and what was there before is still
there, alone.
"""
from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import program
from conftest import BUILD, SONDE, Result, clean_environment, run_sonde
from test_disk_full import CASES, command, inputs  # noqa: F401 (a fixture)

FULL, KILL = "28", "kill"
SONDE_MPI = BUILD / "src/cmd/sonde-mpi"
GENERATOR = BUILD / "bench/gen-measurements"
OLD = "what was there before"


@pytest.fixture(scope="session")
def failing() -> Path:
    return program.compiled("collect/fail_calls.c", "-O1", "-shared", "-fPIC", "-D_GNU_SOURCE")


def faults(library: Path, folder: Path, plain: bool, **more: object) -> dict[str, str]:
    return {"LD_PRELOAD": str(library), "FAIL_BELOW": f"{folder}/", "TMPDIR": str(folder),
            "XDG_CACHE_HOME": str(folder.parent / "cache"), **({"FAIL_PLAIN": "1"} if plain else {}),
            **{key: str(value) for key, value in more.items()}}


def execute(words: list[str], environment: dict[str, str]) -> Result:
    done = subprocess.run(words, capture_output=True, timeout=120, env=clean_environment(**environment), stdin=subprocess.DEVNULL)
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def contents(path: Path) -> dict[str, bytes]:
    """Of a file or a folder, by name."""
    files = [one for one in path.rglob("*") if one.is_file()] if path.is_dir() else [path]
    return {str(one.relative_to(path)): one.read_bytes() for one in files}


def clear(folder: Path, output: Path | None) -> None:
    """Nothing in it but an older output, where the output is a file."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if output:
        output.write_text(OLD)


def assert_untouched(folder: Path, output: Path | None) -> None:
    assert [str(one) for one in folder.iterdir()] == ([str(output)] if output else [])
    assert not output or output.read_text() == OLD


def listed(log: Path) -> list[tuple[str, str]]:
    return [tuple(line.split(" ", 1)) for line in log.read_text().splitlines()]


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("generated") / "gen.sonde"
    subprocess.run([GENERATOR, "-r", "2", "-t", "1", "-s", "1", "--leaves", "20", "-o", path], check=True, stdout=subprocess.DEVNULL)
    return path


def some(calls: list[tuple[str, str]], most: int) -> list[int]:
    """Their numbers: the first and the last of each kind and file, and some between. Not that of a folder's older one being
    moved aside, which is not there."""
    kinds: dict[tuple[str, str], list[int]] = {}
    for number, (call, path) in enumerate(calls, 1):
        kinds.setdefault((call, path.partition(" (deleted)")[0]), []).append(number)
    chosen = {number for numbers in kinds.values() for number in (numbers[0], numbers[-1])}
    chosen |= set(range(1, len(calls) + 1, max(1, len(calls) // most)))
    return sorted(number for number in chosen if not calls[number - 1][1].endswith(".old"))


def harmless(call: str, path: str, plain: bool) -> bool:
    """A file without a name that cannot be made is made with one, and nobody misses what is of use only meanwhile."""
    return (call == "open" and not plain) or (call == "close" and (not plain or "/.sonde-" in path or "/sonde-events-" in path))


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a real run, for its events."""
    path = tmp_path_factory.mktemp("traced") / "run"
    subprocess.run([SONDE, "run", "-q", "--trace", "--no-analyze", "-o", path, "--", "/usr/bin/python3", "-c", "sum(range(10**6))"],
                   check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return path.with_suffix(".sonde")


def words_of(case: str, inputs: dict[str, Path], generated: Path, small: Path, out: Path) -> list[str]:
    if case.startswith("structure"):  # of something small
        return [str(SONDE), "structure", "--format", case.partition("-")[2] or "text", "--full", str(small), "-o", str(out)]
    if case in ("generated", "traced"):
        return [word for word in command("analyze", {**inputs, "measurement": generated}, out)
                if case != "traced" or word != "--no-cache"]  # looking its symbols up takes longer than all else
    return command(case, inputs, out)


@pytest.mark.parametrize("plain", [False, True], ids=["nameless", "named"])
@pytest.mark.parametrize("case", ["generated", "traced", *CASES])
def test_one_call_fails(tmp_path: Path, failing: Path, inputs: dict[str, Path], generated: Path, traced: Path, case: str,
                        plain: bool) -> None:
    folder, log, whole = tmp_path / "folder", tmp_path / "log", tmp_path / "whole"
    out = folder / "out"
    words = words_of(case, inputs, traced if case == "traced" else generated, failing, out)
    clear(folder, None)
    assert execute(words, faults(failing, folder, plain, FAIL_LOG=log)).status == 0
    is_folder = out.is_dir()
    out.rename(whole)
    calls = listed(log)
    for number in some(calls, 40):
        call, path = calls[number - 1]
        clear(folder, None if is_folder else out)
        result = execute(words, faults(failing, folder, plain, FAIL_AT=number, FAIL_WITH=FULL))
        if result.status == 0 and harmless(call, path, plain):
            assert contents(out) == contents(whole) and [str(one) for one in folder.iterdir()] == [str(out)]
            continue
        assert (result.status, result.out) == (128, ""), (number, call, path, result.err)
        assert len(result.err_lines) == 1 and "No space left" in result.err, (number, call, path, result.err)
        assert_untouched(folder, None if is_folder else out)


def test_a_temporary_file_that_became_shorter(tmp_path: Path, failing: Path, generated: Path) -> None:
    folder, log = tmp_path / "folder", tmp_path / "log"
    out = folder / "out"
    words = [str(SONDE), "analyze", "--no-cache", str(generated), "-o", str(out)]
    clear(folder, None)
    assert execute(words, faults(failing, folder, False, FAIL_LOG=log)).status == 0
    reads = [number for number, (call, _) in enumerate(listed(log), 1) if call == "pread"]
    for number in {reads[0], reads[len(reads) // 2], reads[-1]}:
        clear(folder, out)
        result = execute(words, faults(failing, folder, False, FAIL_AT=number, FAIL_WITH=0))
        assert (result.status, result.err) == (128, "sonde: cannot read a temporary file: it is shorter than it was\n")
        assert_untouched(folder, out)


def test_a_damaged_database_leaves_nothing(tmp_path: Path, failing: Path, small_db: Path) -> None:
    """What is found to be damaged only when it is used, with an output that has a name already."""
    folder, path = tmp_path / "folder", tmp_path / "x.sdb"
    whole, refused = small_db.read_bytes(), 0
    for at in range(len(whole) // 2, len(whole), len(whole) // 60):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
        clear(folder, None)
        result = execute([str(SONDE), "export", "--to", "csv", str(path), "-o", str(folder / "out")], faults(failing, folder, True))
        refused += result.status == 128
        assert result.status == 0 or (len(result.err_lines) == 1 and not list(folder.iterdir())), result.err
    assert refused > 5


def test_bad_inputs_leave_nothing(tmp_path: Path, failing: Path, inputs: dict[str, Path]) -> None:
    """What is refused when the output is there already, under its temporary name."""
    folder = tmp_path / "folder"
    out, bad = folder / "out", tmp_path / "bad.json"
    bad.write_bytes(inputs["trace"].read_bytes()[:2000])
    for words in (["structure", str(SONDE), str(bad)], ["structure", str(bad)], ["import", str(bad)], ["analyze", str(bad)],
                  ["analyze", "--metric", "x=none-such", str(inputs["measurement"])]):
        clear(folder, out)
        result = execute([str(SONDE), *words, "-o", str(out)], faults(failing, folder, True))
        assert (result.status, result.out) == (128, ""), (words, result.err)
        assert_untouched(folder, out)


@pytest.mark.parametrize("plain", [False, True], ids=["nameless", "named"])
def test_names_and_permissions(tmp_path: Path, failing: Path, inputs: dict[str, Path], plain: bool) -> None:
    """An export has the permissions that the user wants of new files, a database none but his own unless he says so."""
    folder = tmp_path / "folder"
    out = folder / "out"
    for case, option, mode in (("export-csv", [], 0o640), ("import", [], 0o600), ("import", ["--share"], 0o640),
                               ("analyze", [], 0o600), ("analyze", ["--share"], 0o640)):
        clear(folder, None)
        words = ["bash", "-c", 'umask 027; exec "$@"', "bash", *command(case, inputs, out), *option]
        assert execute(words, faults(failing, folder, plain)).status == 0
        assert list(folder.iterdir()) == [out]
        assert out.stat().st_mode & 0o777 == mode and out.read_bytes(), case


@pytest.mark.parametrize("case", ["export-hpctoolkit", "export-ctf"])
def test_an_older_folder_survives(tmp_path: Path, failing: Path, inputs: dict[str, Path], case: str) -> None:
    """Whatever fails, the older one is there, whole, and nothing else: also when it was moved aside already."""
    folder, log = tmp_path / "folder", tmp_path / "log"
    out = folder / "out"
    words = command(case, inputs, out)
    clear(folder, None)
    assert execute(words, {}).status == 0
    main = next(path for path in sorted(out.rglob("*")) if path.is_file())
    main.write_text(OLD)
    older = contents(out)
    assert execute(words, faults(failing, folder, False, FAIL_LOG=log)).status == 0 and contents(out) != older
    assert [str(one) for one in folder.iterdir()] == [str(out)]
    calls = listed(log)
    for number in [number for number, (call, _) in enumerate(calls, 1) if call in ("rename", "mkdir")]:
        clear(folder, None)
        assert execute(words, {}).status == 0
        main.write_text(OLD)
        result = execute(words, faults(failing, folder, False, FAIL_AT=number, FAIL_WITH=FULL))
        assert result.status == 128 and len(result.err_lines) == 1, (calls[number - 1], result.err)
        assert "No space left" in result.err and contents(out) == older and [str(one) for one in folder.iterdir()] == [str(out)]


@pytest.mark.parametrize("case", ["generated", "import", "structure", "export-csv"])
def test_killed_at_any_call(tmp_path: Path, failing: Path, inputs: dict[str, Path], generated: Path, case: str) -> None:
    """What was there before is there, or the whole new one; what has no name is gone with the process."""
    folder, log = tmp_path / "folder", tmp_path / "log"
    out = folder / "out"
    words = words_of(case, inputs, generated, failing, out)
    clear(folder, None)
    assert execute(words, faults(failing, folder, False, FAIL_LOG=log)).status == 0
    whole, calls = contents(out), listed(log)
    for number in some(calls, 10):
        clear(folder, out)
        assert execute(words, faults(failing, folder, False, FAIL_AT=number, FAIL_WITH=KILL)).status == -9
        is_done = "rename" in [call for call, _ in calls[:number - 1]]
        assert contents(out) == (whole if is_done else {".": OLD.encode()}), calls[number - 1]
        if "linkat" not in [call for call, _ in calls[:number - 1]] or is_done:  # between them it has its temporary name
            assert [str(one) for one in folder.iterdir()] == [str(out)], calls[number - 1]


def ranks(count: int, environment: dict[str, str], *words: object, **more: str) -> subprocess.CompletedProcess[str]:
    if not SONDE_MPI.exists() or not shutil.which("mpirun"):
        pytest.skip("no MPI here: sonde-mpi is not built or there is no mpirun")
    return subprocess.run(
        ["mpirun", "-n", str(count), "env", *(f"{key}={value}" for key, value in environment.items()), SONDE_MPI, *map(str, words)],
        capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
        env=clean_environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                              **more))


# Which ranks fail at which of their calls: "each" is the first for each file, of which there are three temporary ones.
@pytest.mark.parametrize("hosts, rank, full, killed", [("one", 0, [-1], [0.5]), ("one", 1, ["each", -1], [0.5]), ("many", 1, ["fsync", "open out."], [0.5])])
def test_one_rank_fails_or_dies(tmp_path: Path, failing: Path, generated: Path, hosts: str, rank: int, full: list[float | str],
                                killed: list[float]) -> None:
    """As its share of the disk is full, or by kill -9: the job ends, one line says why, and nothing is left."""
    folder, log = tmp_path / "folder", tmp_path / "log"
    out = folder / "out"
    words = ["analyze", generated, "-o", out, "-j", 1, "--no-cache"]
    clear(folder, None)
    done = ranks(2, faults(failing, folder, False, FAIL_LOG=log, FAIL_RANK=rank), *words, SONDE_MPI_HOSTS=hosts)
    assert done.returncode == 0, done.stderr
    calls = {number: f"{call} {Path(path).name}" for number, (call, path) in enumerate(listed(log), 1)}
    writes = [number for number, call in calls.items() if not call.startswith(("open", "close", "pread"))]
    firsts = list({calls[number]: number for number in reversed(writes)}.values())
    full = [number for where in full for number in ([writes.index(first) for first in firsts] if where == "each" else [where])]

    def fail(where: float | str, how: str) -> subprocess.CompletedProcess[str]:
        clear(folder, out)
        if isinstance(where, str):
            number = next(number for number, call in calls.items() if call.startswith(where))
        else:
            number = writes[where if isinstance(where, int) else int(where * len(writes))]
        done = ranks(2, faults(failing, folder, False, FAIL_RANK=rank, FAIL_AT=number, FAIL_WITH=how), *words, SONDE_MPI_HOSTS=hosts)
        assert_untouched(folder, out)
        return done

    for where in full:
        done = fail(where, FULL)
        told = [line for line in done.stderr.splitlines() if line.startswith("sonde: ")]  # MPI says something as well
        assert (done.returncode, done.stdout, len(told)) == (128, "", 1) and "No space left" in told[0], done.stderr
    for where in killed:
        done = fail(where, KILL)
        assert done.returncode not in (0, 128) and done.stdout == "" and "signal 9" in done.stderr, done.stderr
        assert "sonde: " not in done.stderr


def test_what_the_first_rank_writes_alone(tmp_path: Path, failing: Path, generated: Path) -> None:
    """The index of rows, which no other rank writes: the others hear of its failure."""
    folder = tmp_path / "folder"
    out = folder / "out"
    words = ["analyze", generated, "-o", out, "-j", 1, "--no-cache"]
    clear(folder, None)
    assert ranks(2, {}, *words).returncode == 0
    index_bytes = 24 * (json.loads(run_sonde("info", "--format", "json", out).out)["contexts"] + 1)
    clear(folder, out)
    done = ranks(2, faults(failing, folder, False, FAIL_RANK=0, FAIL_LENGTH=index_bytes, FAIL_AT=1, FAIL_WITH=FULL), *words)
    told = [line for line in done.stderr.splitlines() if line.startswith("sonde: ")]
    assert (done.returncode, len(told)) == (128, 1) and "No space left" in told[0], done.stderr
    assert_untouched(folder, out)
