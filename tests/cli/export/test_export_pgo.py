# SPDX-License-Identifier: Apache-2.0
"""Profiles for compilers and BOLT: read by readers of their own here, by the tools that take them where they are, and beside what `sonde annotate` says of the same program."""
from __future__ import annotations

import json
import os
import re
import shutil
import struct
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conftest import run_sonde
from program import SONDE, WORKLOADS
from test_import_epochs import Library, known, write
from test_import_perf import made

SOURCE = WORKLOADS / "export/branches.c"
OPTIONS = ("-O2", "-g", "-fno-unroll-loops", "-fno-omit-frame-pointer")
COMPILERS = {"clang": ("-fdebug-info-for-profiling",), "gcc": ()}


def tool(name: str) -> str:
    """A program of LLVM, which Debian has in a folder for each release; the newest. Without it the test is skipped."""
    found = shutil.which(name) or next((str(path) for path in sorted(Path("/usr/lib").glob(f"llvm-*/bin/{name}"), reverse=True)), None)
    if not found:
        pytest.skip(f"no {name}")
    return found


def compiled(folder: Path, compiler: str, *options: str, output: str = "branches", link: tuple[str, ...] = ()) -> Path:
    """The program of both files; a warning is an error."""
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    common = [compiler, *OPTIONS, *COMPILERS[compiler], "-Wall", "-Werror", *options]
    for name, define in (("one", ()), ("other", ("-DOTHER",))):
        subprocess.run([*common, *define, "-c", SOURCE, "-o", folder / f"{name}.o"], check=True, capture_output=True, text=True)
    subprocess.run([compiler, "-Wl,--build-id", *link, folder / "one.o", folder / "other.o", "-o", folder / output], check=True)
    return folder / output


@dataclass
class Measured:
    folder: Path
    program: Path
    database: Path

    def export(self, kind: str, *options: object) -> Path:
        path = self.folder / f"out.{kind}"
        done = run_sonde("export", "--to", kind, "-o", path, *options, self.database)
        assert (done.status, done.out, done.err) == (0, "", "")
        return path


def measure(folder: Path, compiler: str, *options: str) -> Measured:
    program = compiled(folder, compiler, *options, link=("-Wl,--emit-relocs",))
    subprocess.run([SONDE, "run", "-q", "-F", "3000", "-o", folder / "run.sdb", "--", program, "700"], check=True, stdout=subprocess.DEVNULL)
    return Measured(folder, program, folder / "run.sdb")


@pytest.fixture(scope="module")
def by_clang(tmp_path_factory) -> Measured:
    return measure(tmp_path_factory.mktemp("clang"), "clang")


@pytest.fixture(scope="module")
def by_gcc(tmp_path_factory) -> Measured:
    return measure(tmp_path_factory.mktemp("gcc"), "gcc")


@dataclass
class Function:
    total: int
    head: int = 0
    lines: dict[tuple[int, int], int] = field(default_factory=dict)  # by offset and discriminator
    calls: dict[tuple[int, int], dict[str, int]] = field(default_factory=dict)
    inlined: dict[tuple[int, int, str], "Function"] = field(default_factory=dict)

    def at(self, offset: int) -> int:
        return max(count for (line, _), count in self.lines.items() if line == offset)


def read_text(path: Path) -> dict[str, Function]:
    """LLVM's text form, by its rules alone."""
    functions: dict[str, Function] = {}
    stack: list[Function] = []
    for line in path.read_text().splitlines():
        depth = len(line) - len(line.lstrip(" "))
        if depth == 0:
            name, total, head = line.rsplit(":", 2)
            assert name not in functions
            functions[name] = Function(int(total), int(head))
            stack = [functions[name]]
            continue
        place, rest = line.strip().split(": ", 1)
        offset, _, discriminator = place.partition(".")
        key = int(offset), int(discriminator or 0)
        del stack[depth:]
        assert len(stack) == depth
        if m := re.fullmatch(r"([^ :]+):(\d+)", rest):
            stack[-1].inlined[*key, m[1]] = Function(int(m[2]))
            stack.append(stack[-1].inlined[*key, m[1]])
            continue
        count, *targets = rest.split(" ")
        assert key not in stack[-1].lines
        stack[-1].lines[key] = int(count)
        if targets:
            stack[-1].calls[key] = {name: int(calls) for name, calls in (target.rsplit(":", 1) for target in targets)}
    return functions


def line_of(text: str, source: Path = SOURCE) -> int:
    """The number of the first line of the source that has this."""
    return next(number for number, line in enumerate(source.read_text().splitlines(), 1) if text in line)


def total_of(function: Function) -> int:
    return sum(function.lines.values()) + sum(total_of(child) for child in function.inlined.values())


def test_autofdo_functions_lines_and_ratios(by_clang):
    found = read_text(by_clang.export("autofdo"))
    assert {"branchy", "rare", "often", "first", "second", "indirect", "twin"} <= set(found)
    for function in found.values():
        assert function.total == total_of(function)
    begin = line_of("uint64_t branchy(")
    branchy, mixed = found["branchy"], line_of("state = mixed(state)") - begin
    rare, often = line_of("+= rare(") - begin, line_of("^= often(") - begin
    assert {offset for offset, _ in branchy.lines} <= set(range(line_of("static APART uint64_t first") - begin))
    assert [key[0] for key in branchy.inlined if key[2] == "mixed"] == [mixed]
    assert set(next(iter(branchy.inlined.values())).lines) == {(1, 0), (2, 0)} or set(next(iter(branchy.inlined.values())).lines) == {(2, 0), (3, 0)}
    assert list(branchy.calls[rare, 0]) == ["rare"] and list(branchy.calls[often, 0]) == ["often"]
    assert branchy.calls[rare, 0]["rare"] == branchy.at(rare) < 0.5 * branchy.calls[often, 0]["often"], "1 of 15"
    # both of one name: the line where they return is of each
    assert found["twin"].at(line_of("	return state;") - line_of("uint64_t twin(")) == pytest.approx(found["twin"].head, abs=2)
    # loops: 20 turns each time; 7 of 8 calls; as many turns in the one file as in the other
    first, second, twin = (found[name].lines for name in ("first", "second", "twin"))
    body = {name: line_of(text) - line_of(start) for name, text, start in (
        ("first", "6364136223846793005u + 1;", "uint64_t first("), ("second", "3935559000370003845u", "uint64_t second("),
        ("here", "2862933555777941757u", "uint64_t twin("), ("there", "3202034522624059733u", "uint64_t twin("))}
    assert first[body["first"], 0] > 5 * found["first"].head > 0
    assert 0.6 < 7 * second[body["second"], 0] / first[body["first"], 0] < 1.6
    assert 0.4 < twin[body["here"], 0] / twin[body["there"], 0] < 2.5
    # four times 20,000 rounds beside 17,500 calls of 20 turns: 0.23
    assert 0.08 < branchy.inlined[mixed, 0, "mixed"].at(line_of("6364136223846793005u + 1442") - line_of("uint64_t mixed(")) / first[body["first"], 0] < 0.7


def test_autofdo_calls_through_pointers(by_clang):
    """By the call paths: seven of eight go to the one function, and no more than the call runs."""
    indirect = read_text(by_clang.export("autofdo"))["indirect"]
    [(place, targets)] = indirect.calls.items()
    assert place[0] == line_of("steps[round % 8](state)") - line_of("uint64_t indirect(")
    assert set(targets) == {"first", "second"} and targets["first"] > 3 * targets["second"] > 0
    assert sum(targets.values()) <= indirect.lines[place] + 1


def test_autofdo_counts_are_those_of_annotate(by_gcc):
    """A line has the count of its most frequent instruction, as annotate lists them. (GCC's discriminators are not LLVM's: they are summed up by line.)"""
    found = read_text(by_gcc.export("autofdo"))
    listed = json.loads(subprocess.run([SONDE, "annotate", by_gcc.database, "branches:branchy", "--format", "json"], capture_output=True, check=True).stdout)
    begin = line_of("uint64_t branchy(")
    expected: dict[int, float] = defaultdict(float)
    for one in listed["instructions"]:
        if not one["inlined"] and one["line"]:
            expected[one["line"] - begin] = max(expected[one["line"] - begin], one["frequency"])
    assert {offset: found["branchy"].at(offset) for offset in expected} == {offset: pytest.approx(count, abs=1, rel=1e-5) for offset, count in expected.items()}


LINES = WORKLOADS / "export/lines.c"


@pytest.fixture(scope="module")
def lines(tmp_path_factory) -> Measured:
    """A program and its library, which does nothing here."""
    folder = tmp_path_factory.mktemp("lines")
    if not shutil.which("clang"):
        pytest.skip("no clang")
    common = ["clang", "-O2", "-g", "-fdebug-info-for-profiling", "-Wall", "-Werror", "-Wl,--build-id", LINES]
    subprocess.run([*common, "-shared", "-fPIC", "-Wl,-Bsymbolic", "-DLIBRARY", "-o", folder / "liblines.so"], check=True)
    subprocess.run([*common, folder / "liblines.so", "-o", folder / "lines"], check=True)
    subprocess.run([SONDE, "run", "-q", "-F", "2000", "-o", folder / "run.sdb", "--", folder / "lines", "1500", "0"], check=True)
    return Measured(folder, folder / "lines", folder / "run.sdb")


def instructions(measured: Measured, function: str) -> list[dict]:
    done = subprocess.run([SONDE, "annotate", measured.database, f"{measured.program.name}:{function}", "--format", "json"], capture_output=True, check=True)
    return json.loads(done.stdout)["instructions"]


def test_autofdo_blocks_of_a_line(lines):
    """Calls that were inlined twice into one line are two, and parts of a line that run less often are told apart, by the compiler's numbers: those of the line table, as another reader has them."""
    found = read_text(lines.export("autofdo"))
    twice = line_of("state = mixed(mixed(state) + 1)", LINES) - line_of("uint64_t twice(", LINES)
    places = [key for key in found["twice"].inlined if key[2] == "mixed"]
    assert len(places) == 2 and {offset for offset, _, _ in places} == {twice}
    only = line_of("return (state ^ state >> 29)", LINES) - line_of("uint64_t mixed(", LINES)
    assert {offset for place in places for offset, _ in found["twice"].inlined[place].lines} == {only}, "not the line of the padding before the loop"
    either = line_of("uint64_t either(", LINES)
    text = subprocess.run([tool("llvm-dwarfdump"), "--debug-line", lines.program], capture_output=True, text=True, check=True).stdout
    rows = [(int(address, 16), int(line), int(number)) for address, line, number in re.findall(r"^(0x[0-9a-f]+)\s+(\d+)\s+\d+\s+\d+\s+\d+\s+(\d+)", text, re.M)]
    covered = {int(one["address"], 16) for one in instructions(lines, "either") if not one["inlined"]}
    # LLVM's numbers: where the lowest bit is 0, those of few blocks stand in the five above it
    expected = {(line - either, 0 if number & 1 else number >> 1 & 31) for address, line, number in rows if address in covered and line}
    assert set(found["either"].lines) == expected and len({number for _, number in expected}) > 1


def test_autofdo_counts_copies(lines):
    """A loop that was unrolled four times and more has its turns, not those of the copy."""
    found = read_text(lines.export("autofdo"))["unrolled"]
    begin, body = line_of("uint64_t unrolled(", LINES), line_of("state = (state + numbers[at])", LINES)
    inside = [one for one in instructions(lines, "unrolled") if one["line"] == body]
    copies = sum("imul" in one["text"] for one in inside)
    assert copies in (4, 8)
    assert found.at(body - begin) == pytest.approx(copies * max(one["frequency"] for one in inside), rel=1e-4, abs=copies)


def test_autofdo_head_of_a_function_that_is_a_loop(lines):
    """It begins with the loop: its first block runs sixteen times for each call, and it is the calls that count."""
    found = read_text(lines.export("autofdo"))["spin"]
    assert 0 < 5 * found.head < found.at(line_of("sum = sum * 5", LINES) - line_of("void spin(", LINES))


@pytest.mark.parametrize("turns, hottest", [(("200", "100"), "lines"), (("50", "1000"), "liblines.so")])
def test_autofdo_of_the_hottest_image(lines, tmp_path, turns, hottest):
    subprocess.run([SONDE, "run", "-q", "-F", "2000", "-o", tmp_path / "run.sdb", "--", lines.program, *turns], check=True)
    for name, options in {"usual": (), "named": ("--image", hottest), "pattern": ("--image", "*lines*")}.items():
        assert run_sonde("export", "--to", "autofdo", "-o", tmp_path / name, *options, tmp_path / "run.sdb").status == 0
    assert (tmp_path / "usual").read_text() == (tmp_path / "named").read_text() == (tmp_path / "pattern").read_text()
    other = {"lines": "liblines.so", "liblines.so": "lines"}[hottest]
    assert run_sonde("export", "--to", "autofdo", "-o", tmp_path / "other", "--image", other, tmp_path / "run.sdb").status == 0
    assert (tmp_path / "other").read_text() != (tmp_path / "usual").read_text()


def test_autofdo_is_read_whole(by_clang):
    path = by_clang.export("autofdo")
    shown = subprocess.run([tool("llvm-profdata"), "show", "--sample", path], capture_output=True, text=True, check=True)
    assert not shown.stderr
    assert {(name, int(total), int(head)) for name, total, head in re.findall(r"^Function: (\S+): (\d+), (\d+),", shown.stdout, re.M)} == {
        (name, function.total, function.head) for name, function in read_text(path).items()}
    assert len(re.findall("inlined callee: mixed", shown.stdout)) == 1


def test_autofdo_clang_takes_it(by_clang, tmp_path):
    """Without a warning; it inlines what was inlined, gives branches their weights, and the program does the same."""
    profile = by_clang.export("autofdo")
    made = subprocess.run(["clang", *OPTIONS[:3], "-Wall", "-Werror", "-S", "-emit-llvm", f"-fprofile-sample-use={profile}", "-Rpass=sample-profile", SOURCE, "-o", tmp_path / "out.ll"],
                          capture_output=True, text=True, check=True)
    assert "warning" not in made.stderr and "'mixed' inlined into 'branchy' to match profiling context" in made.stderr
    text = (tmp_path / "out.ll").read_text()
    rare, often = (read_text(profile)["branchy"].calls[line_of(f"= {name}(") - line_of("uint64_t branchy("), 0][name] for name in ("rare", "often"))
    weights = [sorted(map(int, pair)) for pair in re.findall(r'!"branch_weights", i32 (\d+), i32 (\d+)\}', text)]
    assert any(low and abs(high / low - often / rare) < 0.02 * often / rare for low, high in weights), (weights, rare, often)
    again = compiled(tmp_path, "clang", f"-fprofile-sample-use={profile}", output="again")
    assert subprocess.run([again, "3"], capture_output=True, check=True).stdout == subprocess.run([by_clang.program, "3"], capture_output=True, check=True).stdout


# ---- GCC's ----


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, layout: str) -> int:
        [value] = struct.unpack_from(layout, self.data, self.at)
        self.at += struct.calcsize(layout)
        return value

    def text(self) -> str:
        length = self.take("<I")
        self.at += length
        assert self.data[self.at - 1] == 0
        return self.data[self.at - length:self.at - 1].decode()


def read_function(reader: Reader, names: list[str], head: int) -> tuple[str, Function]:
    name, lines, calls = names[reader.take("<I")], reader.take("<I"), reader.take("<I")
    function = Function(0, head)
    for _ in range(lines):
        offset, targets, count = reader.take("<I"), reader.take("<I"), reader.take("<Q")
        assert not offset & 0xffff
        function.lines[offset >> 16, 0] = count
        for _ in range(targets):
            reader.take("<I")
            callee = names[reader.take("<Q")]
            function.calls.setdefault((offset >> 16, 0), {})[callee] = reader.take("<Q")
    for _ in range(calls):
        offset = reader.take("<I") >> 16
        callee, inlined = read_function(reader, names, 0)
        function.inlined[offset, 0, callee] = inlined
    function.total = total_of(function)
    return name, function


def read_gcov(path: Path) -> dict[str, Function]:
    reader = Reader(path.read_bytes())
    assert [reader.take("<I") for _ in range(5)] == [0x67636461, 2, 0, 0xaa000000, 0]
    names = [reader.text() for _ in range(reader.take("<I"))]
    assert [reader.take("<I") for _ in range(2)] == [0xac000000, 0]
    functions = dict(read_function(reader, names, reader.take("<Q")) for _ in range(reader.take("<I")))
    assert [reader.take("<I") for _ in range(3)] == [0xae000000, 0, 0] and reader.at == len(reader.data)
    return functions


def plain(functions: dict[str, Function]) -> dict:
    """To compare: what both formats have, where lines have one count each."""
    return {name: (function.total, function.head, function.lines, function.calls, plain({str(key): child for key, child in function.inlined.items()}))
            for name, function in functions.items()}


def test_gcov_is_what_gcc_takes(by_gcc, tmp_path):
    """The same as the text form of the same program; and GCC's blocks have its counts."""
    found = read_gcov(by_gcc.export("gcov"))
    text = read_text(by_gcc.export("autofdo"))
    assert {"branchy", "rare", "often", "first", "second", "twin"} <= set(found)
    for name in ("rare", "often", "first", "second", "twin"):
        assert (found[name].total, found[name].head, found[name].lines) == (text[name].total, text[name].head, text[name].lines)
    assert list(plain(found)["branchy"][4]) == list(plain(text)["branchy"][4])
    made = subprocess.run(["gcc", *OPTIONS[:2], "-Wall", "-Werror", f"-fauto-profile={by_gcc.folder / 'out.gcov'}", "-fdump-ipa-afdo", "-S", SOURCE, "-o", "out.s"],
                          capture_output=True, text=True, cwd=tmp_path)
    if "unrecognized" in made.stderr:
        pytest.skip("this gcc has no -fauto-profile")
    assert (made.returncode, made.stderr) == (0, "")
    [dump] = tmp_path.glob("*.afdo")
    counts = {int(count) for count in re.findall(r"\[count: (\d+)\]", dump.read_text())}
    for name in ("rare", "often", "first", "branchy"):
        assert found[name].head in counts, name
    assert found["branchy"].at(line_of("+= rare(") - line_of("uint64_t branchy(")) in counts
    again = compiled(tmp_path, "gcc", f"-fauto-profile={by_gcc.folder / 'out.gcov'}", output="again")
    assert subprocess.run([again, "3"], capture_output=True, check=True).stdout == subprocess.run([by_gcc.program, "3"], capture_output=True, check=True).stdout


# ---- BOLT's ----


@dataclass
class Branch:
    source: str
    source_offset: int
    target: str
    target_offset: int
    count: int


def read_fdata(path: Path) -> list[Branch]:
    found = []
    for line in path.read_text().splitlines():
        known, source, source_offset, is_symbol, target, target_offset, wrong, count = line.split(" ")
        assert known == ("0" if source == "[unknown]" else "1") and is_symbol == "1" and wrong == "0"
        found.append(Branch(source, int(source_offset, 16), target, int(target_offset, 16), int(count)))
    return found


def starts(program: Path) -> dict[str, int]:
    """Functions by the names that BOLT gives them: local ones are numbered by address."""
    found, seen = {}, defaultdict(int)
    for address, kind, name in sorted(line.split() for line in subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True, check=True).stdout.splitlines()):
        if kind == "t":
            seen[name] += 1
        if kind in "tT":
            found[f"{name}/{seen[name]}" if kind == "t" else name] = int(address, 16)
    return found


def test_bolt_edges_are_flows(by_clang):
    """Places are instructions; into each block goes as much as leaves it; the two functions of one name are told apart."""
    branches, where = read_fdata(by_clang.export("bolt")), starts(by_clang.program)
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", by_clang.program], capture_output=True, text=True, check=True).stdout
    code = {int(address, 16): words for address, words in re.findall(r"^\s*([0-9a-f]+):\s+(\S.*)$", text, re.M)}
    assert {"branchy", "rare", "often", "first/1", "second/1", "twin/1", "twin/2"} <= {branch.target for branch in branches} <= set(where)
    for branch in branches:
        assert where[branch.target] + branch.target_offset in code
        assert branch.source == "[unknown]" or where[branch.source] + branch.source_offset in code
    for name in ("twin/1", "twin/2", "first/1"):  # a function that is a loop: what enters it leaves it by the other way of the branch back
        inside = [branch for branch in branches if branch.target == branch.source == name]
        [back] = [branch for branch in inside if branch.target_offset < branch.source_offset]
        [enter] = [branch for branch in inside if branch.target_offset == back.target_offset and branch is not back]
        [leave] = [branch for branch in inside if branch.source_offset == back.source_offset and branch is not back]
        assert code[where[name] + back.source_offset].startswith("j") and back.count > 5 * leave.count
        assert enter.count == pytest.approx(leave.count, rel=1e-4, abs=2)
        into = [branch for branch in branches if branch.target == name and branch.target_offset == 0]
        calls = sum(branch.count for branch in into if branch.source != "[unknown]")
        assert sum(branch.count for branch in into) == pytest.approx(max(enter.count, calls), abs=3)
    callers = {(branch.source, branch.target): branch.count for branch in branches if branch.source != branch.target}
    assert callers["branchy", "rare"] < 0.5 * callers["branchy", "often"]
    assert callers["indirect", "first/1"] > 3 * callers["indirect", "second/1"]


def test_bolt_takes_it(by_clang, tmp_path):
    """All lines: none is of a place that it does not know; the rewritten program does the same."""
    profile = by_clang.export("bolt")
    done = subprocess.run([tool("llvm-bolt"), by_clang.program, "-o", tmp_path / "again", f"-data={profile}", "-reorder-blocks=ext-tsp", "-reorder-functions=hfsort", "-split-functions", "-dyno-stats"],
                          capture_output=True, text=True, check=True)
    said = done.stdout + done.stderr
    profiled = {branch.target for branch in read_fdata(profile)}
    assert f"{len(profiled)} out of " in said and "stale" not in said and "invalid" not in said and "mismatch" not in said, said
    assert int(re.search(r"(\d+) : all function calls", said)[1]) > 0
    assert subprocess.run([tmp_path / "again", "3"], capture_output=True, check=True).stdout == subprocess.run([by_clang.program, "3"], capture_output=True, check=True).stdout


# ---- which image, and which not ----


def refused(kind: str, *arguments: object, status: int = 128) -> str:
    done = run_sonde("export", "--to", kind, "-o", "-", *arguments)
    assert (done.status, done.out, len(done.err_lines)) == (status, "", 1), done
    return done.err


KINDS = ("autofdo", "gcov", "bolt")


@pytest.mark.parametrize("kind", KINDS)
def test_pgo_of_the_image_that_is_named(by_gcc, kind):
    """By file name, path or pattern; without a name it is the hottest."""
    usual = by_gcc.export(kind).read_bytes()
    for name in ("branches", by_gcc.program, "branch*"):
        assert by_gcc.export(kind, "--image", name).read_bytes() == usual
    assert "no image is called 'nothing', or it has no samples of its own" in refused(kind, "--image", "nothing", by_gcc.database)
    assert "option '--image'" in refused("folded", "--image", "branches", by_gcc.database)


@pytest.mark.parametrize("kind", KINDS)
def test_pgo_of_what_cannot_be_read(by_gcc, tmp_path, kind):
    program = shutil.copy(by_gcc.program, tmp_path / "branches")
    subprocess.run([SONDE, "run", "-q", "-o", tmp_path / "run.sdb", "--", program, "60"], check=True, stdout=subprocess.DEVNULL)
    assert run_sonde("export", "--to", kind, "-o", tmp_path / "before", tmp_path / "run.sdb").status == 0
    subprocess.run(["strip", program], check=True)
    told = "no symbol table" if kind == "bolt" else "it has no debug information (compile it with -g)"
    assert told in refused(kind, tmp_path / "run.sdb")
    shutil.copy(SONDE, program)
    assert "cannot write a profile of" in (said := refused(kind, tmp_path / "run.sdb")) and "changed since it was measured" in said
    os.unlink(program)
    assert "cannot write a profile of" in (said := refused(kind, tmp_path / "run.sdb")) and "cannot be read" in said


def test_autofdo_with_debug_information_in_a_file_of_its_own(by_gcc, tmp_path):
    program = shutil.copy(by_gcc.program, tmp_path / "branches")
    subprocess.run(["objcopy", "--only-keep-debug", "branches", "branches.debug"], cwd=tmp_path, check=True)
    subprocess.run(["strip", "branches"], cwd=tmp_path, check=True)
    subprocess.run(["objcopy", "--add-gnu-debuglink=branches.debug", "branches"], cwd=tmp_path, check=True)
    subprocess.run([SONDE, "run", "-q", "-F", "2000", "-o", tmp_path / "run.sdb", "--", program, "200"], check=True, stdout=subprocess.DEVNULL)
    for kind, read in {"autofdo": read_text, "gcov": read_gcov}.items():
        assert run_sonde("export", "--to", kind, "-o", tmp_path / kind, tmp_path / "run.sdb").status == 0
        assert {"branchy", "first", "twin"} <= set(read(tmp_path / kind))


@pytest.mark.parametrize("kind", KINDS)
def test_pgo_of_code_that_is_no_file(small_db, kind):
    """The hottest image is not there: another one may be named."""
    said = refused(kind, small_db)
    assert "cannot write a profile of '/" in said and "(--image NAME chooses another one)" in said


def test_autofdo_of_a_store(tmp_path):
    """Of the image that is named, and of the range: half of the samples, half of the counts."""
    library = Library(tmp_path)
    store = write(tmp_path / "store", *known(library))
    found = {}
    for name, options in {"all": (), "half": ("--since", "2026-11-30T12:05Z")}.items():
        assert run_sonde("export", "--to", "autofdo", "-o", tmp_path / name, "--image", "libknown.so", *options, store).status == 0
        found[name] = read_text(tmp_path / name)
        assert set(found[name]) == {"hot", "cold"}
    for function in ("hot", "cold"):
        assert found["half"][function].total == pytest.approx(found["all"][function].total / 2, rel=0.01)


HOSTILE = """
#define APART __attribute__((noinline))
static volatile unsigned sum;
APART void blank(void) __asm__("a b:9 c");
APART void line(void) __asm__("two\\nlines:1:2");
APART void number(void) __asm__("7up");
void blank(void) { for (unsigned i = 0; i < 100000000; i++) sum += i; }
void line(void) { for (unsigned i = 0; i < 100000000; i++) sum ^= i; }
void number(void) { for (unsigned i = 0; i < 100000000; i++) sum -= i; }
APART void plain(void) { for (unsigned i = 0; i < 100000000; i++) sum *= i; }
int main(void) { blank(); line(); number(); plain(); return 0; }
"""


@pytest.mark.parametrize("kind", ["autofdo", "bolt"])
def test_pgo_of_hostile_names(tmp_path, kind):
    """A symbol that no compiler makes is left out; the rest can be read."""
    if not shutil.which("clang"):
        pytest.skip("no clang")
    (tmp_path / "hostile.c").write_text(HOSTILE)
    subprocess.run(["clang", "-O1", "-g", "-o", tmp_path / "hostile", tmp_path / "hostile.c"], check=True)
    subprocess.run([SONDE, "run", "-q", "-o", tmp_path / "run.sdb", "--", tmp_path / "hostile"], check=True)
    path = tmp_path / "out"
    assert run_sonde("export", "--to", kind, "-o", path, tmp_path / "run.sdb").status == 0
    found = set(read_text(path)) if kind == "autofdo" else {branch.target for branch in read_fdata(path)}
    assert "plain" in found <= {"plain", "main"}


@pytest.fixture
def arm(tmp_path) -> Path:
    """What a machine that runs AArch64 would have recorded of a function without branches: two samples at 0x10, one at 0x20."""
    if not shutil.which("aarch64-linux-gnu-gcc"):
        pytest.skip("no aarch64-linux-gnu-gcc")
    (tmp_path / "arm.c").write_text("void work(volatile int *p)\n{\n" + "".join(f"\t*p = {value};\n" for value in range(1, 9)) + "}\n")
    image = tmp_path / "arm"
    subprocess.run(["aarch64-linux-gnu-gcc", "-O1", "-g", "-shared", "-nostdlib", "-Wl,--build-id=none", "-o", image, tmp_path / "arm.c"], check=True)
    symbols = subprocess.run(["aarch64-linux-gnu-nm", image], capture_output=True, text=True, check=True).stdout
    [start] = re.findall(r"^([0-9a-f]+) T work$", symbols, re.M)
    mapped = str(image).encode()
    data = made(mapped=mapped).replace(struct.pack("<QQQ", 0x1000, 0x1000, 0) + mapped, struct.pack("<QQQ", 0x1000, 0x1000, int(start, 16)) + mapped)
    (tmp_path / "made.data").write_bytes(data)
    assert run_sonde("import", tmp_path / "made.data", "-o", tmp_path / "arm.sdb").status == 0
    return tmp_path / "arm.sdb"


def test_bolt_without_frequencies(arm):
    """Where nothing is known of a machine's instructions there are samples, in the form without branches."""
    done = run_sonde("export", "--to", "bolt", "-o", "-", arm)
    assert (done.out.splitlines(), done.err) == (["no_lbr samples", "1 work 10 2", "1 work 20 1"], "")


def test_autofdo_without_frequencies(arm):
    """A block has its samples, a sample a thousand, divided by its instructions."""
    code = subprocess.run(["aarch64-linux-gnu-objdump", "-d", "--disassemble=work", arm.with_suffix("")], capture_output=True, text=True, check=True).stdout
    count = round(1000 * 3 / len(re.findall(r"^\s+[0-9a-f]+:\t", code, re.M)))
    path = arm.with_suffix(".prof")
    assert run_sonde("export", "--to", "autofdo", "-o", path, arm).status == 0
    [(name, function)] = read_text(path).items()
    assert name == "work" and function.head == count and {offset for offset, _ in function.lines} >= set(range(2, 9))
    assert set(function.lines.values()) == {count} and 100 < count < 200
