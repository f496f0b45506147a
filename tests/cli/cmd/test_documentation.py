# SPDX-License-Identifier: Apache-2.0
"""What README, docs/python.md, -h, manual pages, headers and docstrings tell people to type: all of it is run here.

Every document finds one folder with what its examples name: programs, and what measuring them gave. Of the tools of others
that they pipe into only the ends are made: they read all they get. docs/examples.md has tests/cli/cmd/test_examples.py.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from conftest import BUILD, ROOT, SONDE
from test_commands import COMMANDS
from test_gen_measurements import generate

TRAIN = '''
try:
    import torch
except ImportError:
    torch = None
import sonde


class Network:
    def forward(self, x):
        return torch.mm(x, x) if torch else sum(i * i for i in range(x))


def augment(x):
    return x


def train_step(network, x):
    return network.forward(augment(x))


x = torch.ones(300, 300, requires_grad=True) if torch else 100_000
for step in range(20):
    with sonde.iteration("step"):
        result = train_step(Network(), x)
        if torch:
            result.sum().backward()
'''
WORK = """
static volatile double sum;
static __attribute__((noinline)) void multiply(long n) { for (long i = 0; i < n; i++) sum += (double)i * 0.5; }
static __attribute__((noinline)) void exchange_halo(long n) { for (long i = 0; i < n; i++) sum -= (double)i * 0.25; }
"""
PROGRAMS = {
    "solver": WORK + "int main(void) { multiply(60000000); exchange_halo(30000000); return 0; }",
    "simulation": "#include <mpi.h>\n" + WORK + """int main(int c, char **v) {
        MPI_Init(&c, &v); multiply(20000000); exchange_halo(60000000); MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); return 0; }""",
}
KERNEL = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 30, "dur": 500, "args": {
    "correlation": 1, "device": 0, "context": 1, "stream": 7, "grid": [64, 1, 1], "block": [256, 1, 1], "registers per thread": 32,
    "est. achieved occupancy %": 50}}
TRACE = {"deviceProperties": [{"id": 0, "name": "a device", "maxThreadsPerMultiprocessor": 2048}], "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 1_300_000},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 10, "args": {"correlation": 1}},
    KERNEL]}


def shell(folder: Path, script: str, environment: dict[str, str], timeout: float = 240) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=folder, env=environment, capture_output=True,
                          text=True, timeout=timeout, stdin=subprocess.DEVNULL)


def write_programs(folder: Path, tools: Path) -> None:
    (folder / "train.py").write_text(TRAIN.lstrip())
    (folder / "input.dat").touch()
    (folder / "Makefile").write_text("all: ; :\n")
    for name, source in PROGRAMS.items():
        (folder / f"{name}.c").write_text(source)
        compiler = shutil.which("mpicc") if "mpi.h" in source else "cc"
        if compiler:
            subprocess.run([compiler, "-g", "-O1", f"{name}.c", "-o", name], cwd=folder, check=True)
    for name in ("server", "a.out"):
        shutil.copy(folder / "solver", folder / name)
    for name in ("flamegraph.pl", "go", "jq"):
        reader = tools / name
        reader.write_text("#!/bin/sh\n[ -t 0 ] || cat >/dev/null\n")
        reader.chmod(0o755)
    (tools / "python3").symlink_to("/usr/bin/python3")
    shutil.copy(next(Path("/usr/lib").glob("*/libm.so.6")), folder)


def write_traces(folder: Path) -> None:
    import json
    text = json.dumps(TRACE)
    (folder / "traces").mkdir()
    (folder / "folder-of-ranks").mkdir()
    subprocess.run(["gzip", "-k", "trace.json"], cwd=folder, check=True, input=(folder / "trace.json").write_text(text) and "",
                   text=True)
    for name in ("traces/rank0.json.gz", "traces/rank1.json.gz", "folder-of-ranks/rank0.json.gz", "rank0.json.gz", "rank1.json.gz",
                 "rank0.pt.trace.json.gz", "rank1.pt.trace.json.gz"):
        shutil.copy(folder / "trace.json.gz", folder / name)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """The folder, and the environment of somebody who works in it."""
    folder, tools = tmp_path_factory.mktemp("documented"), tmp_path_factory.mktemp("tools")
    write_programs(folder, tools)
    write_traces(folder)
    environment = {**os.environ, "PATH": f"{tools}:{SONDE.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "python"),
                   "SONDE_DB_LIBRARY": str(BUILD / "src/lib/db/libsonde-db.so"), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    generate("-r", 2, "-t", 2, "-s", 2, "--contexts", 60, "--leaves", 40, "--kernels", 10, "-o", folder / "big.sonde")
    done = shell(folder, """
        sonde run -q --trace --graph -o train -- python3 train.py
        sonde run -q -o job -- ./solver
        cp -r train.sonde a.sonde; cp -r job.sonde b.sonde; cp -r big.sonde run.sonde; cp -r job.sonde rank1.sonde; cp -r job.sonde rank-2.sonde
        sonde analyze run.sonde -o run.sdb --metric theoretical_occupancy=1 --metric registers_per_thread=2
        sonde analyze a.sonde b.sonde -o all.sdb
        sonde import trace.json -o trace.sdb
        """, environment)
    assert done.returncode == 0, done.stderr
    return folder, environment


# ---- commands ----

def from_help() -> list[tuple[str, str]]:
    found = []
    for command in COMMANDS:
        text = (ROOT / f"src/cmd/usage/{command}.txt").read_text().split("\nEXAMPLES\n")[1]
        found += [(f"{command} -h", line.strip()) for line in text.splitlines() if line.strip()]
    return found


def from_manual() -> list[tuple[str, str]]:
    found = []
    for page in sorted((ROOT / "docs/man").glob("*.[17]")):
        for line in re.findall(r"^\.Dl (?:\$ )?(.*)$", page.read_text(), re.M):
            if "sonde " in line and "Ar " not in line:
                found.append((page.name, line))
    return found


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / document).read_text(), re.M | re.S)


def from_readme() -> list[tuple[str, str]]:
    lines = [line.split("  #")[0] for block in blocks("README.md", "sh") for line in block.splitlines()]
    lines += [line[2:] for block in blocks("README.md", "console") for line in block.splitlines() if line.startswith("$ ")]
    return [("README.md", line.strip()) for line in lines if "sonde" in line]


# Their inputs are other tools' own files, which tests/cli/import reads; or a scheduler of jobs.
ELSEWHERE = re.compile(r"hpctoolkit-app|\bapp\.m\b|\brun\d\.m\b|report\.sqlite|^srun |libkernels\.so")
LINES = from_readme() + from_help() + from_manual()
RUN_HERE = list(dict.fromkeys((where, line) for where, line in LINES if not ELSEWHERE.search(line)))


def why_not(line: str) -> str | None:
    if "mpirun" in line and not shutil.which("mpirun"):
        return "no mpirun"
    if "sonde-mpi" in line and not (SONDE.parent / "sonde-mpi").exists():
        return "built without MPI"
    if "--os" in line and os.geteuid() != 0:
        return "--os of everything needs a privilege"
    return None


@pytest.mark.parametrize("where, line", RUN_HERE, ids=[f"{where}: {line}" for where, line in RUN_HERE])
def test_command(prepared, where, line):
    folder, environment = prepared
    if reason := why_not(line):
        pytest.skip(reason)
    done = shell(folder, line.replace("mpirun -n 16", "mpirun -n 2"), environment)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_there_are_examples():
    assert len(from_readme()) > 25 and len(from_help()) > 30 and len(from_manual()) > 25
    assert len(RUN_HERE) > 0.8 * len(set(LINES))


# ---- Python ----

def run_python(prepared, program: str) -> str:
    folder, environment = prepared
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("document", ["README.md", "docs/python.md"])
def test_python(prepared, document):
    pytest.importorskip("pandas")
    found = blocks(document, "python")
    assert found
    for program in found:
        run_python(prepared, "data = [1, 2]\n" + program)


def docstrings() -> list[str]:
    import ast
    found = []
    for path in sorted((ROOT / "python/sonde").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
                found += [block for block in re.findall(r"(?:^    .*\n?(?:^\n(?=    ))?)+", text, re.M)
                          if re.search(r"^    .*\bsonde\.\w+\(", block, re.M)]
    return found


def test_docstrings(prepared):
    found = docstrings()
    assert len(found) >= 5
    for program in found:
        run_python(prepared, textwrap.dedent("""
            import sonde, os
            class Connection:
                def send(self, data): pass
            loader = batches = [1, 2]
            connection, data, peer, tag = Connection(), b"", 0, 0
            """) + textwrap.dedent(program))


# ---- C ----

def compile_and_run(folder: Path, source: str) -> None:
    (folder / "documented.c").write_text(source)
    subprocess.run(["cc", "-Wall", "-Werror", "-Wno-unused-variable", "-I", ROOT / "include", "documented.c", "-o", "documented",
                    "-ldl"], cwd=folder, check=True)
    subprocess.run([folder / "documented"], check=True, timeout=60)


def test_c_of_readme(tmp_path):
    for block in blocks("README.md", "c"):
        lines = [line.split("//")[0].replace("...", "") for line in block.splitlines()]
        includes = [line for line in lines if line.startswith("#")]
        compile_and_run(tmp_path, "\n".join(includes + ["int main(void) {"] + [line for line in lines if line not in includes] +
                                            ["return 0; }"]))


def test_c_of_header(tmp_path):
    comment = (ROOT / "include/sonde/sonde.h").read_text().split("*/")[1]
    code = [line[3:] for line in comment.splitlines() if line.startswith(" *\t")]
    calls = re.findall(r"(?:uint\w+ \w+ = )?(?:sonde_\w+|SONDE_\w+)\([^;]*\);", "\n".join(code))
    assert len(calls) >= 15
    body = "\n".join(re.sub(r"for \(.*", "", call) for call in calls)
    compile_and_run(tmp_path, f"#include <sonde/sonde.h>\nint main(void) {{ int peer = 0, tag = 0, bytes = 8;\n{body}\nreturn 0; }}")
