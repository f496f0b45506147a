# SPDX-License-Identifier: Apache-2.0
"""What README, docs/python.md, docs/examples.md, -h, manual pages, headers and docstrings tell people to type is run.

Each document is run in a folder of its own, which holds what the examples name: programs, and what measuring them gave.
Within a document the lines follow each other, as for somebody who types them all; a line that an earlier document has too
is run there only. Not run: what installs (`make`, `pip`), what needs a scheduler of jobs, and what takes long in
docs/examples.md, which test_examples.py runs too. Other people's tools at the end of a pipe are only made where they are
not here.
"""
from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from conftest import BUILD, MAKE_DB, ROOT, SONDE
from hpctoolkit_measurement import MAIN, PRIMARY, Metric, Profile, structure, thread
from test_commands import COMMANDS
from test_gen_measurements import generate
from test_import_nsys import Export

PYTHON = "/usr/bin/python3"
TIMELINE = ROOT / "examples/timeline"
TRAIN = '''
"""Stands for somebody's training.

With PyTorch where it is here,
and without it
as well.
"""
try:
    import torch
except ImportError:
    torch = None
import sonde

STEPS = 20


class Network:
    """Multiplies."""

    def __init__(self):
        if torch:
            self.weights = torch.ones(300, 300, requires_grad=True)

    def __call__(self, x):
        return self.forward(x)

    def forward(self, x):
        if torch:
            return torch.mm(x, self.weights)
        return sum(i * i for i in range(x))


def augment(x):
    return sum(i * x for i in range(100_000)) and x


def train_step(network, x):
    """One step."""
    y = augment(x if isinstance(x, int) else 1)

    # all of the time, and line 42

    result = network(x if torch else 200_000)
    if torch:
        result.sum().backward()
    return y


for step in range(STEPS):
    with sonde.iteration("step"):
        train_step(Network(), torch.ones(300, 300) if torch else 1)
'''
assert TRAIN.splitlines()[42].strip().startswith("result = ")
WORK = """
static volatile double sum;
static __attribute__((noinline)) void multiply(long n) { for (long i = 0; i < n; i++) sum += (double)i * 0.5; }
static __attribute__((noinline)) void exchange_halo(long n) { for (long i = 0; i < n; i++) sum -= (double)i * 0.25; }
"""
PROGRAMS = {
    "solver": WORK + "int main(void) { multiply(20000000); exchange_halo(20000000); return 0; }",
    "simulation": "#include <mpi.h>\n" + WORK + """int main(int c, char **v) {
        MPI_Init(&c, &v); multiply(10000000); exchange_halo(20000000); MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); return 0; }""",
}
TRACE = {"deviceProperties": [{"id": 0, "name": "a device", "maxThreadsPerMultiprocessor": 2048}], "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 1_300_000},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 10, "args": {"correlation": 1}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 30, "dur": 500, "args": {
        "correlation": 1, "device": 0, "context": 1, "stream": 7, "grid": [64, 1, 1], "block": [256, 1, 1],
        "registers per thread": 32, "est. achieved occupancy %": 50}}]}


def shell(folder: Path, script: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script + "\nwait"], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL)


def write_programs(folder: Path, tools: Path) -> None:
    (folder / "train.py").write_text(TRAIN.removeprefix("\n"))
    (folder / "input.dat").touch()
    (folder / "Makefile").write_text("all: ; :\n")
    for name, source in PROGRAMS.items():
        compiler = shutil.which("mpicc") if "mpi.h" in source else "cc"
        (folder / f"{name}.c").write_text(source)
        if compiler:
            subprocess.run([compiler, "-g", "-O1", f"{name}.c", "-o", name], cwd=folder, check=True)
    for name in ("server", "a.out"):
        shutil.copy(folder / "solver", folder / name)
    for path in [*TIMELINE.glob("*.py"), BUILD / "examples/preprocess", BUILD / "examples/copies"]:
        if path.exists():
            shutil.copy(path, folder)
    for name in ("flamegraph.pl", "go", "jq"):
        if name == "go" or not shutil.which(name):  # `go tool pprof -http` would serve pages
            (tools / name).write_text("#!/bin/sh\n[ -t 0 ] || cat >/dev/null\n")
            (tools / name).chmod(0o755)
    (tools / "python3").symlink_to(PYTHON)
    shutil.copy(next(Path("/usr/lib").glob("*/libm.so.6")), folder)


def write_traces(folder: Path) -> None:
    (folder / "trace.json").write_text(json.dumps(TRACE))
    for name, columns in {"counters": "duration_ns,bytes,hits", "tuning": "time,block_x,block_y,unroll"}.items():
        rows = [[row * 37 % 11 + row % 5, row * 7 % 13, row * 5 % 11 + row * 7 % 13, row % 4] for row in range(200)]
        (folder / f"{name}.csv").write_text("\n".join([columns, *(",".join(map(str, row[:columns.count(",") + 1])) for row in rows)]))
    nsight = ["ID,Process ID,Kernel Name,Block Size,Grid Size,gpu__time_duration.sum", ",,,,,usecond"]
    nsight += [f'{row},1,"gemm","(256, 1, 1)","({64 << row % 3}, 1, 1)",{(row % 3 + 1) * (9 + row * 37 % 11)}' for row in range(90)]
    (folder / "ncu.csv").write_text("\n".join(nsight) + "\n")
    subprocess.run(["gzip", "-k", "trace.json"], cwd=folder, check=True)
    for name in ("traces/rank0.json.gz", "traces/rank1.json.gz", "folder-of-ranks/rank0.json.gz", "rank0.json.gz", "rank1.json.gz",
                 "rank0.pt.trace.json.gz", "rank1.pt.trace.json.gz"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(folder / "trace.json.gz", folder / name)


def write_others(folder: Path) -> None:
    """What other tools would have written."""
    for number, name in enumerate(["app.m", "run1.m", "run2.m", "hpctoolkit-app-measurements"]):
        profile = Profile(thread(), [Metric("CPUTIME (sec)", real=True)])
        code = profile.module("/bin/program")
        main = profile.node(profile.node(0, 0, PRIMARY), 0, MAIN)
        profile.value(profile.node(main, code, 0x20), 0, 0.25 * (number + 1))
        profile.write(folder / name / "program-0.hpcrun")
    structure(folder / "app.hpcstruct", "/bin/program", "")
    report = Export(folder / "report.sqlite")
    report.api("cudaLaunchKernel", 100, 110, 1)
    report.kernel("gemm", 120, 500, 1)
    report.close()
    subprocess.run([BUILD / "tests/make-gpu", "fatbin", "90", folder / "fatbin"], check=True)
    subprocess.run(["objcopy", "--add-section", f".nv_fatbin={folder}/fatbin", folder / "solver", folder / "libkernels.so"], check=True)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """The folder that each document gets a copy of, and the environment of somebody who works in it."""
    folder, tools = tmp_path_factory.mktemp("documented"), tmp_path_factory.mktemp("tools")
    write_programs(folder, tools)
    write_traces(folder)
    write_others(folder)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SONDE_")}
    environment |= {"PATH": f"{tools}:{SONDE.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "python"),
                    "SONDE_DB_LIBRARY": str(BUILD / "src/lib/db/libsonde-db.so"),
                    "SONDE_ANALYSIS_LIBRARY": str(BUILD / "src/analysis/libsonde-analysis.so"), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    generate("-r", 2, "-t", 2, "-s", 2, "--contexts", 60, "--leaves", 40, "--kernels", 10, "-o", folder / "big.sonde")
    done = shell(folder, f"""
        sonde run -q --graph -o train -- python3 train.py
        sonde run -q -o job -- ./solver
        cp -r train.sonde a.sonde; cp -r job.sonde b.sonde; cp -r big.sonde run.sonde; cp -r job.sonde rank1.sonde; cp -r job.sonde rank-2.sonde
        sonde analyze run.sonde -o run.sdb --metric theoretical_occupancy=1 --metric registers_per_thread=2
        sonde analyze a.sonde b.sonde -o all.sdb
        sonde import trace.json -o trace.sdb
        for name in run1 run2 run3 new; do sonde run -q -o $name.sdb -- ./solver; done
        {MAKE_DB} made.sdb; sonde export --to hpctoolkit made.sdb -o hpctoolkit-app-database
        """, environment)
    assert done.returncode == 0, done.stderr
    return folder, environment


@pytest.fixture(scope="module")
def folder_of(prepared, tmp_path_factory):
    folders: dict[str, Path] = {}

    def find(document: str) -> Path:
        if document not in folders:
            folders[document] = tmp_path_factory.mktemp("of") / "work"
            shutil.copytree(prepared[0], folders[document], symlinks=True)
        return folders[document]
    return find


# ---- commands ----

def text_of(document: str) -> str:
    return (ROOT / document).read_text()


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text_of(document), re.M | re.S)


def from_markdown(document: str) -> list[str]:
    lines = [line for block in blocks(document, "sh") for line in block.splitlines()]
    lines += [line[2:] for block in blocks(document, "console") for line in block.splitlines() if line.startswith("$ ")]
    # in sentences: an example with an option
    lines += [f"python3 {found}" if ".py" in found else found
              for found in re.findall(r"`((?:\./\w+|\w+\.py) --\w+)`", text_of(document))]
    lines = [re.split(r"\s+# ", line)[0].strip() for line in lines]
    return [line for line in lines if not re.match(r"make |pip |$", line)]


def from_help() -> list[tuple[str, str]]:
    found = [("sonde -h", line) for line in re.findall(r'^\s*"    (sonde .*?)(?:  +.*)?\\n"$', text_of("src/cmd/main.c"), re.M)
             if not re.search("COMMAND|--version", line)]
    for command in COMMANDS:
        examples = text_of(f"src/cmd/usage/{command}.txt").split("\nEXAMPLES\n")[1]
        found += [(f"{command} -h", line.strip()) for line in examples.splitlines() if line.strip()]
    return found


def from_manual() -> list[tuple[str, str]]:
    return [(page.name, line) for page in sorted((ROOT / "docs/man").glob("*.[17]"))
            for line in re.findall(r"^\.Dl (?:\$ )?(.*)$", page.read_text(), re.M) if "sonde" in line and "Ar " not in line]


MARKDOWN = ["README.md", "docs/examples.md"]
LINES = [(document, line) for document in MARKDOWN for line in from_markdown(document)] + from_help() + from_manual()
FIRST = {line: document for document, line in reversed(LINES)}
ONCE = list(dict.fromkeys((FIRST[line], line) for _, line in LINES))


def has_torch() -> bool:
    return subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode == 0


def why_not(folder: Path, line: str) -> str | None:
    program = re.search(r"\./([\w.]+)", line)
    if line.startswith("srun "):
        return "a scheduler of jobs is not here"
    if "/var/lib/sonde" in line and not Path("/var/lib/sonde").exists():
        return "sonded does not run here"
    if "mpirun" in line and not shutil.which("mpirun"):
        return "no mpirun"
    if "sonde-mpi" in line and not (SONDE.parent / "sonde-mpi").exists():
        return "built without MPI"
    if program and not (folder / program[1]).exists():
        return f"built without {program[1]}: no MPI or no OpenCL"
    if re.search(r"\b(bound|split|load)\.(py|sdb)", line):
        return "takes long: test_examples.py runs the same"
    if re.search(r"\b(preprocess|copies)\.sdb|sonde report machine\.sdb", line) and "record" not in line and not (folder / line.split()[2]).exists():
        return "it could not be measured"
    if "sonde push" in line:
        return "there is no such server: test_push.py does the same with one of its own"
    if "sonde daemon" in line or "/var/lib/sonde" in line:
        return "it would change this machine: test_daemon.py does the same in a folder"
    return None


def why_failed(line: str, done: subprocess.CompletedProcess[str]) -> str | None:
    """Why that is no mistake of the example's."""
    if done.returncode == 77:
        return "no OpenCL device here"
    if re.search(r" --os | -e ", line) and re.search("cannot be measured here|sonde doctor", done.stderr):
        return done.stderr.splitlines()[0]
    if re.search(r"sonde (record|top)\b", line) and "cannot sample" in done.stderr:
        return done.stderr.splitlines()[0]
    return None


@pytest.mark.parametrize("document, line", ONCE, ids=[f"{document}: {line}" for document, line in ONCE])
def test_command(prepared, folder_of, document, line):
    folder = folder_of(document)
    if reason := why_not(folder, line):
        pytest.skip(reason)
    if re.search(r"\bsonde top\b(?!.* -n )", line):
        line = line + " -n 1"  # it goes on until a key is pressed
    done = shell(folder, line.replace("mpirun -n 16", "mpirun -n 2"), prepared[1])
    if done.returncode and (reason := why_failed(line, done)):
        pytest.skip(reason)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "Nothing was measured" not in done.stdout


def test_there_are_examples():
    def count(document: str) -> int:
        return sum(document in where for where, _ in LINES)
    assert count("README.md") > 28 and count("examples.md") > 12 and count("sonde -h") == 2
    assert count(" -h") > 35 and count(".1") + count(".7") > 30


def test_a_mistake_in_a_formula(prepared):
    """man 7 sonde-formula shows what is printed of one."""
    said = re.search(r"^\.Bd -literal.*\n(sonde: .*)has \.\.\.\n((?:.*\n)*?)\.Ed", text_of("docs/man/sonde-formula.7"), re.M)
    done = shell(prepared[0], "sonde report train.sdb --metric x=cpu_time/foo", prepared[1])
    assert done.returncode == 128
    assert done.stderr.startswith(said[1]) and done.stderr.endswith(said[2])


# ---- Python ----

def run_python(prepared, folder: Path, program: str) -> str:
    done = subprocess.run([PYTHON, "-c", program], cwd=folder, env=prepared[1], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def traced(prepared, folder_of) -> Path:
    folder = folder_of("Python")
    done = shell(folder, "sonde run -q --trace -o train -- python3 train.py; sonde export --to hatchet train.sdb", prepared[1])
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("document", ["README.md", "docs/python.md"])
def test_python(prepared, traced, document):
    if subprocess.run([PYTHON, "-c", "import pandas"], capture_output=True).returncode:
        pytest.skip(f"{PYTHON} has no pandas")
    found = blocks(document, "python")
    assert found
    printed = "".join(run_python(prepared, traced, "data = [1, 2]\n" + program) for program in found)
    assert len(printed.splitlines()) > 5


def test_python_of_manual(prepared, traced):
    if subprocess.run([PYTHON, "-c", "import hatchet"], capture_output=True).returncode:
        pytest.skip(f"{PYTHON} has no Hatchet")
    program = re.search(r"^\.Bd -literal.*\n(graph = .*\n)\.Ed", text_of("docs/man/sonde-export.1"), re.M)
    run_python(prepared, traced, "import hatchet, json\n" + program[1])


def docstrings() -> list[tuple[str, str]]:
    """Indented text that mentions the package, and in it names of the package, is an example."""
    found = []
    for path in sorted((ROOT / "python/sonde").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
                found += [(path.name, block) for block in re.findall(r"(?:^    .*\n?(?:^\n(?=    ))?)+", text, re.M)
                          if re.search(r"^    .*\bsonde\.\w+\(|\b(?:model|db)\.\w+\(", block, re.M)]
    return found


def test_docstrings(prepared, traced):
    found = docstrings()
    assert len(found) >= 5
    given = textwrap.dedent("""
        import sonde, os
        class Connection:
            def send(self, data): pass
        loader = batches = [1, 2]
        connection, data, peer, tag = Connection(), b"", 0, 0
        """)
    for _, program in found:
        run_python(prepared, traced, given + textwrap.dedent(program))


# ---- C and C++ ----

def compiled(folder: Path, source: str, language: str = "c") -> Path:
    compiler = {"c": "cc", "c++": "c++"}[language]
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    subprocess.run([compiler, "-x", language, "-Wall", "-Werror", "-Wno-unused-variable", "-I", ROOT / "include", "-", "-o",
                    "documented", "-ldl"], cwd=folder, input=source, text=True, check=True)
    return folder / "documented"


def in_main(code: list[str]) -> str:
    """The example; ... is what somebody else writes."""
    code = [line.replace("...", ";") for line in code]
    includes = [line for line in code if line.startswith("#")]
    return "\n".join([*includes, "int main(void) {", *(line for line in code if line not in includes), "return 0; }"])


def frames(prepared, folder: Path, program: Path) -> set[str]:
    """The names of call paths of the program, once measured; it runs plain as well."""
    subprocess.run([program], check=True, timeout=60)
    done = shell(folder, f"sonde run -q --trace -o c -- {program} && sonde export --to csv c.sdb -o -", prepared[1])
    assert done.returncode == 0, done.stderr
    return set(re.findall(r"[\w:]+", done.stdout))


def test_c_of_readme(prepared, tmp_path):
    block, = blocks("README.md", "c")
    assert "solve" in frames(prepared, tmp_path, compiled(tmp_path, in_main(block.splitlines())))


def of_header(name: str) -> list[str]:
    """The lines of code in the comment that describes a header."""
    comment = text_of(f"include/sonde/{name}").split("*/")[1]
    return [line[3:] for line in comment.splitlines() if line.startswith(" *\t")]


def test_c_of_header(prepared, tmp_path):
    code = [line for line in of_header("sonde.h") if "::" not in line]
    assert len(code) > 20
    found = frames(prepared, tmp_path, compiled(tmp_path, "#include <sonde/sonde.h>\n" + in_main(code)))
    assert {"assemble", "solve", "step", "load", "sum"} <= found


def test_cpp_of_header(prepared, tmp_path):
    code = [line for line in of_header("sonde.h") if "::" in line]
    assert code
    program = compiled(tmp_path, "#include <sonde/sonde.h>\n" + in_main(code), "c++")
    assert "assemble" in frames(prepared, tmp_path, program)


def test_a_tool_on_the_monitor(prepared, folder_of):
    """The commands at the top of examples/monitor, as sonde/monitor.h describes them."""
    folder = folder_of("monitor")
    text = text_of("examples/monitor/count_operators.c")
    commands = re.findall(r"^ \*\t(.*)$", text.split("*/")[1], re.M)
    assert len(commands) == 2 and any("SONDE_TOOL=" in line and "LD_PRELOAD=libsonde.so" in line for line in of_header("monitor.h"))
    (folder / "count_operators.c").write_text(text)
    done = shell(folder, "\n".join(commands).replace("-Iinclude", f"-I{ROOT}/include"),
                 {**prepared[1], "LD_LIBRARY_PATH": str(BUILD / "src/collect")})
    assert done.returncode == 0, done.stderr
    if has_torch():
        assert re.search(r"^ *20 .*;train_step:42;.*aten::mm$", done.stderr, re.M), done.stderr
