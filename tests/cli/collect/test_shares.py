# SPDX-License-Identifier: Apache-2.0
"""Programs that spend 10, 20, 30 and 40 % of their work in four functions, each by way of two callers."""
from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import program
from test_python_walk import SUPPORTED

SHARES = {"alpha": 0.1, "beta": 0.2, "gamma_": 0.3, "delta": 0.4}


def check_shares(contexts: list[tuple[list[dict], dict]], shares: dict[str, float] = SHARES,
                 callers: tuple[str, str] = ("left", "right")) -> None:
    """Each function's share, and its two halves, lie within the 99.9 % binomial bound.

    What is judged is the share of samples: each sample is one draw. A dozen draws are judged at once, so
    the bound is that of all of them holding together (Bonferroni).
    """
    counts: Counter[tuple[str, str]] = Counter()
    for frames, value in contexts:
        names = [frame["name"] for frame in frames]
        for function in shares:
            if function in names:
                caller = next((c for c in callers if c in names), "")
                counts[function, caller] += value["count"]
                break
    total = sum(counts.values())
    assert total > 300, f"too few samples to judge: {total}"
    assert not [pair for pair in counts if not pair[1]], f"callers are missing: {counts}"
    for function, share in shares.items():
        seen = sum(counts[function, caller] for caller in callers) / total
        allowed = program.bound(share, total) * 1.3
        assert abs(seen - share) <= allowed, f"{function}: {seen:.3f} instead of {share} +- {allowed:.3f}"
        for caller in callers:
            half = counts[function, caller] / total
            allowed = program.bound(share / 2, total) * 1.3
            assert abs(half - share / 2) <= allowed, f"{caller} > {function}: {half:.3f}, not {share / 2}"


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("options", [
    ("-O0",), ("-O2",), ("-O0", "-fomit-frame-pointer"), ("-O2", "-fomit-frame-pointer"),
    ("-O2", "-fno-omit-frame-pointer"), ("-O2", "-fno-pie", "-no-pie"), ("-O2", "-fcf-protection=full")],
    ids=" ".join)
def test_c(tmp_path: Path, options: tuple[str, ...], threads: int) -> None:
    rounds = 3000 // threads if options[0] != "-O0" else 700 // threads
    done = program.run(tmp_path, program.compiled("collect/shares.c", *options), str(threads), str(rounds),
                       options=("-F", "997"))
    assert done.stdout == "done\n"
    contexts = program.paths(tmp_path)
    check_shares(contexts)
    seen_threads = len([p for p in program.info(tmp_path)["profiles"]])
    assert seen_threads == threads


def test_a_module_is_one_row_with_its_loops(tmp_path: Path) -> None:
    program.run(tmp_path, program.compiled("collect/loop_shares.c", "-O1"))
    modules = [row["module"] for row in program.rows(tmp_path, "--view", "flat", "--by", "module")]
    assert len(modules) > 2 and len(set(modules)) == len(modules), modules


@pytest.mark.parametrize("options", [(), ("-F", "1000"), ("-e", "real-time")], ids=" ".join)
def test_threads_shorter_than_a_period(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Few of them are met by a sample; those stand for the others, and the sum stays what was used."""
    metric = "real-time" if "-e" in options else "cpu-time"
    done = program.run(tmp_path, program.compiled("collect/thread_churn.c", "-O1"), "5000", options=options)
    used = {line.split()[0]: float(line.split()[1]) for line in done.stdout.splitlines()}
    seen: Counter[str] = Counter()
    samples = 0
    for frames, value in program.paths(tmp_path, metric):
        name = next((frame["name"] for frame in frames if frame["name"] in used), "")
        seen[name] += value["sum"]
        samples += value["count"] if name else 0
    share = used["often"] / sum(used.values())
    # the record of each of the first 512 has what it alone used
    assert seen["often"] + seen["seldom"] > 0.7 * sum(used.values()), seen
    assert abs(seen["often"] / (seen["often"] + seen["seldom"]) - share) < 1.5 * program.bound(share, samples), seen
    data = program.info(tmp_path)
    assert sum(profile["cpu_ns"] for profile in data["profiles"]) > sum(used.values())
    # each is counted, though not each has a line of its own
    assert (data["properties"]["threads"], len(data["profiles"])) == ("5001", 512)
    assert "5,001 threads in all" in program.sonde("info", tmp_path / "run.sdb")
    assert "5,001 threads" in program.sonde("report", tmp_path / "run.sdb").splitlines()[0]


def test_clang(tmp_path: Path) -> None:
    program.run(tmp_path, program.compiled("collect/shares.c", "-O2", compiler="clang"), "1", "3000", options=("-F", "997"))
    check_shares(program.paths(tmp_path))


def test_small_program_whose_segments_share_a_page_of_the_file(tmp_path: Path) -> None:
    """As lld lays it out: the code, too, is mapped from offset 0 of the file."""
    if not shutil.which("ld.lld"):
        pytest.skip("no lld")
    binary = program.compiled("collect/shares.c", "-O2", "-fuse-ld=lld", compiler="clang")
    program.run(tmp_path, binary, "1", "3000", options=("-F", "997"))
    check_shares(program.paths(tmp_path))


def test_stripped_with_separate_debug_file(tmp_path: Path) -> None:
    binary = tmp_path / "shares"
    shutil.copy(program.compiled("collect/shares.c", "-O2"), binary)
    subprocess.run(["objcopy", "--only-keep-debug", binary, tmp_path / "shares.debug"], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={tmp_path / 'shares.debug'}", binary], check=True)
    program.run(tmp_path, binary, "1", "3000", options=("-F", "997"))
    check_shares(program.paths(tmp_path))


def test_shadow_check_agrees(tmp_path: Path) -> None:
    program.run(tmp_path, program.compiled("collect/shares.c", "-O2", "-fomit-frame-pointer"), "4", "1000",
                options=("-F", "5000", "--shadow"))
    drops = program.info(tmp_path)["drops"]
    samples = sum(value["count"] for _, value in program.paths(tmp_path))
    assert samples > 2000
    assert drops.get("unwind-mismatch", 0) <= samples * 0.001, drops


def test_python(tmp_path: Path) -> None:
    program.run(tmp_path, "/usr/bin/python3", program.WORKLOADS / "python/shares.py", options=("-F", "997"))
    contexts = program.paths(tmp_path)
    check_shares([(frames, value) for frames, value in contexts
                  if any(f["name"] in ("left", "right") for f in frames)])
    # every one of them under the exact line that called it; a function that has just begun stands on its first line
    lines = {name: number for number, text in enumerate((program.WORKLOADS / "python/shares.py").read_text().splitlines(), 1)
             for name in ("LEFT", "RIGHT") if f"# {name}" in text}
    judged = 0
    for frames, _ in contexts:
        python = [frame for frame in frames if frame["kind"] == "python"]
        for caller, callee in zip(python, python[1:]):
            if caller["name"] in ("left", "right"):
                assert caller["line"] == lines[caller["name"].upper()], (caller, callee)
                judged += 1
    assert judged >= 2 * len(SHARES), contexts


def test_c_from_python_from_c(tmp_path: Path) -> None:
    """C calls Python, which calls C: the path has them in that order, with the shares of the C functions."""
    library = program.compiled("collect/shares.c", "-O2", "-fPIC", "-shared")
    host = program.compiled("python/embed_shares.c", "-O2", "-I/usr/include/python3.11", "-lpython3.11") \
        if Path("/usr/include/python3.11/Python.h").exists() else pytest.skip("no Python headers")
    program.run(tmp_path, host, program.WORKLOADS / "python/shares_ctypes.py", library, options=("-F", "997"))
    contexts = [(frames, value) for frames, value in program.paths(tmp_path)
                if any(f["name"] in ("left", "right") and f["kind"] != "python" for f in frames)]
    check_shares(contexts)
    for frames, _ in contexts:
        names = [f["name"] for f in frames]
        kinds = [f["kind"] for f in frames]
        middle = names.index("call_library")
        assert kinds[middle] == "python" and "run_script" in names[:middle], names
        assert any(n in ("left", "right") for n in names[middle:]), names


def extension(python: str, folder: Path) -> Path:
    """shares_extension.c built for an interpreter."""
    ask = "import sysconfig; print(sysconfig.get_path('include'), sysconfig.get_config_var('EXT_SUFFIX'))"
    include, suffix = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.split()
    if not (Path(include) / "Python.h").exists():
        pytest.skip(f"no Python.h of {python}")
    subprocess.run(["cc", "-g", "-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Wno-cast-function-type", "-Werror",
                    "-isystem", include, "-isystem", Path(include).parent,
                    program.WORKLOADS / "python/shares_extension.c", "-o", folder / f"shares_extension{suffix}"], check=True)
    return folder


@pytest.mark.parametrize("python", SUPPORTED)
def test_python_and_an_extension_module(tmp_path: Path, python: str) -> None:
    """Python calls C, which calls Python, which calls C: the shares of the C functions, each under the exact
    lines of both Python functions, in that order."""
    script = program.WORKLOADS / "python/shares_extension.py"
    program.run(tmp_path, python, script, extension(python, tmp_path), options=("-F", "997"))
    lines = {text.split("# ")[1]: number for number, text in enumerate(script.read_text().splitlines(), 1)
             if "  # " in text}
    contexts = [(frames, value) for frames, value in program.paths(tmp_path)
                if any(f["kind"] == "native" and f["name"] in SHARES for f in frames)]
    check_shares(contexts)
    for frames, _ in contexts:
        known = [(f["name"].rpartition(".")[2], f.get("line")) if f["kind"] == "python" else f["name"]
                 for f in frames if f["kind"] == "python"
                 or f["name"] in ("through", *SHARES, *(f"call_{name}" for name in SHARES))]
        caller = next(step[0] for step in known if step[0] in ("left", "right"))
        worker = known[-1]
        where = known.index((caller, lines[caller]))
        assert known[where + 1] == "through", known
        assert known[where + 2][0] == "__call__" and known[where + 3] == ("parts", lines[worker]), known
        assert known[where + 4:] == [f"call_{worker}", worker], known
