# SPDX-License-Identifier: Apache-2.0
"""`sonde structure`, and loops in reports: programs whose loops are known, by both compilers at all levels."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from conftest import SONDE
from program import WORKLOADS, bound, compiled

SOURCE = WORKLOADS / "binary/structure_known.c"

# Function: its loops, nested as in the source.
KNOWN = {
    "nested": "nested1(nested2(nested3))",
    "beside": "beside1(beside2 beside3) beside4",
    "calls_inlined": "caller(total)",
    "vectorised": "vectorised",
    "unrolled": "unrolled",
    "switches": "switches",
    "splits": "splits",
    "checks": "checks",
    "asks": "asks",
    "is_even": "",
    "is_odd": "",
    "one": "",
}

LEVELS = ["-O0", "-O1", "-O2", "-O3", "-Os"]
WAYS = [(compiler, level, kind) for compiler in ("gcc", "clang") for level in LEVELS
        for kind in ("-fPIE -pie", "-fno-pic -no-pie")]
ARM = [("aarch64-linux-gnu-gcc", level, "-shared -fPIC -nostdlib") for level in LEVELS]


def marks(what: str) -> dict[int, str]:
    found = {}
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        match = re.search(rf"/\* {what} (\w+) \*/", line)
        if match:
            found[number] = match.group(1)
    return found


def built(compiler: str, level: str, kind: str):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    return compiled("binary/structure_known.c", level, *kind.split(), compiler=compiler)


def structure(*arguments) -> dict:
    done = subprocess.run([SONDE, "structure", *map(str, arguments), "--format", "json"],
                          capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return json.loads(done.stdout)["binaries"][0]


def by_name(binary: dict) -> dict[str, dict]:
    return {f["name"]: f for f in binary["functions"] if f and f["name"]}


def nest(scope: dict) -> str:
    """The loops below a scope by the names their lines carry, inlined calls left out."""
    names, parts = marks("loop"), []
    for child in scope.get("children", []):
        inner = nest(child)
        if child["kind"] == "loop":
            name = names.get(child["line"], f"line{child['line']}")
            parts.append((child["line"], name + (f"({inner})" if inner else "")))
        elif inner:
            parts.append((child["line"], inner))
    return " ".join(text for _, text in sorted(parts))


def lines_in_loops(scope: dict, loops: tuple[str, ...] = ()):
    """(line, names of the loops around it) of every line scope."""
    names = marks("loop")
    for child in scope.get("children", []):
        if child["kind"] == "line":
            yield child["line"], loops
        inner = loops
        if child["kind"] == "loop":
            inner = (*loops, names.get(child["line"], f"line{child['line']}"))
        yield from lines_in_loops(child, inner)


@pytest.fixture(params=WAYS + ARM, ids=lambda way: " ".join(way), scope="module")
def known(request):
    return structure(built(*request.param)), request.param


class TestKnownLoops:
    def test_nest_as_written(self, known):
        functions = by_name(known[0])
        wrong = {name: nest(functions[name]) for name, loops in KNOWN.items()
                 if nest(functions[name]) != loops}
        assert not wrong

    def test_lines_lie_in_their_loops(self, known):
        """Compilers move parts of a line out of the loop, never all of it."""
        inside = marks("in")
        for function in by_name(known[0]).values():
            around: dict[int, set[str]] = {}
            for line, loops in lines_in_loops(function):
                around.setdefault(line, set()).update(loops)
            for line in inside.keys() & around.keys():
                assert inside[line] in around[line], f"line {line} of {function['name']} is in {around[line]}"

    def test_irreducible_loop(self, known):
        def loops(scope):
            for child in scope.get("children", []):
                if child["kind"] == "loop":
                    yield child
                yield from loops(child)
        functions = by_name(known[0])
        assert len(list(loops(functions["irreducible"]))) == 1
        # gcc and clang copy a part of this loop so that it is entered at one place, but not everywhere
        for name in KNOWN:
            assert not any(loop["irreducible"] for loop in loops(functions[name])), name

    def test_irreducible_is_said(self):
        binary = structure(built("gcc", "-O0", "-fPIE -pie"))
        (loop,) = [c for c in by_name(binary)["irreducible"]["children"] if c["kind"] == "loop"]
        assert loop["irreducible"]

    def test_threaded_interpreter_is_one_loop(self, known):
        def count(scope):
            return sum((c["kind"] == "loop") + count(c) for c in scope.get("children", []))
        function = by_name(known[0])["interpret"]
        assert function["unresolved_jumps"] == 0
        assert count(function) == 1

    def test_loop_of_an_inlined_function_stands_in_it(self, known):
        function = by_name(known[0])["calls_inlined"]
        (outer,) = [c for c in function["children"] if c["kind"] == "loop"]
        (call,) = [c for c in outer["children"] if c["kind"] == "inlined"]
        assert call["name"] == "total"
        assert marks("loop")[call["call_line"] - 1] == "caller"
        assert [c["kind"] for c in call["children"]].count("loop") == 1

    def test_tested_at_the_end(self, known):
        function = by_name(known[0])["until"]
        (loop,) = [c for c in function["children"] if c["kind"] == "loop"]
        lines = SOURCE.read_text().splitlines()
        first = next(i for i, line in enumerate(lines, 1) if "loop before until" in line)
        assert first <= loop["line"] <= first + 2

    def test_source_range(self, known):
        (loop,) = [c for c in by_name(known[0])["nested"]["children"] if c["kind"] == "loop"]
        lines = {name: line for line, name in marks("loop").items()}
        assert loop["line"] == lines["nested1"]
        assert loop["last_line"] == max(line for line, name in marks("in").items() if name == "nested1")

    def test_every_instruction_is_in_one_place(self, known):
        def ranges(scope):
            yield from scope["ranges"]
            for child in scope.get("children", []):
                yield from ranges(child)
        for function in by_name(known[0]).values():
            all_ranges = sorted(map(tuple, ranges(function)))
            assert all(a[1] <= b[0] for a, b in zip(all_ranges, all_ranges[1:])), function["name"]
            assert sum(end - start for start, end in all_ranges) == function["bytes"]


def test_split_part_belongs_to_its_function():
    """gcc puts what calls a cold function far away: its instructions are the function's, and in its loop."""
    program = built("gcc", "-O2", "-fPIE -pie")
    symbols = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
    match = re.search(r"^([0-9a-f]+) ([0-9a-f]+) \w splits\.cold$", symbols, re.M)
    assert match, "the compiler split nothing off"
    start, size = (int(text, 16) for text in match.groups())
    binary = structure(program)
    assert "splits.cold" not in by_name(binary)

    def ranges(scope):
        for r in scope["ranges"]:
            yield tuple(r)
        for child in scope.get("children", []):
            yield from ranges(child)
    (loop,) = [c for c in by_name(binary)["splits"]["children"] if c["kind"] == "loop"]
    cold = sorted(r for r in ranges(loop) if start <= r[0] < start + size)
    assert cold and cold[0][0] == start and sum(b - a for a, b in cold) == size


def headers(binary: dict) -> set[int]:
    def of(scope):
        for child in scope.get("children", []):
            if child["kind"] == "loop":
                yield child["start"]
            yield from of(child)
    return {start for function in binary["functions"] if function for start in of(function)}


@pytest.mark.parametrize("compiler, level", [(compiler, level) for compiler in ("gcc", "clang") for level in LEVELS])
class TestStripped:
    def plain(self, compiler, level, folder):
        """The same code without line information, so that no loops are united by their lines."""
        if not shutil.which(compiler):
            pytest.skip(f"no {compiler}")
        program = folder / "plain"
        subprocess.run([compiler, level, SOURCE, "-o", program], check=True)
        return program

    def test_loops_are_still_found(self, compiler, level, tmp_path):
        program = self.plain(compiler, level, tmp_path)
        whole = headers(structure(program))
        assert len(whole) >= 12
        subprocess.run(["strip", program], check=True)
        binary = structure(program)
        assert headers(binary) == whole
        assert len([f for f in binary["functions"] if f and not f["name"]]) >= 15

    def test_without_unwind_tables(self, compiler, level, tmp_path):
        """Nothing says where a function begins: only the entry, calls and padding do. Tail calls then look like
        loops, and of parts split off it is not always clear whose they are."""
        program = self.plain(compiler, level, tmp_path)
        whole = headers(structure(program))
        subprocess.run(["objcopy", "--strip-all", "-R", ".eh_frame", "-R", ".eh_frame_hdr", program], check=True)
        found = headers(structure(program))
        assert len(whole - found) <= 1 and len(found - whole) <= 2


def test_hand_written_assembly(tmp_path):
    """No size, no unwind table, data between the instructions, and a jump over a prefix."""
    source = tmp_path / "hand.s"
    source.write_text("""
	.text
	.globl by_hand, after
	.type by_hand, @function
by_hand:
	xorl %eax, %eax
	testl %edi, %edi
	je 2f
	jmp 1f
	.byte 0x06, 0x0f, 0xff, 0xc4, 0x1f, 0x60
1:	cmpl $0, %esi
	je 3f
	lock
3:	addl %edi, (%rdx)
	decl %edi
	jnz 1b
2:	ret
	.p2align 4
after:
	ret
""")
    library = tmp_path / "hand.so"
    done = subprocess.run(["gcc", "-shared", "-nostdlib", source, "-o", library], capture_output=True)
    if done.returncode != 0:
        pytest.skip("no assembler for x86-64")
    functions = by_name(structure(library))
    assert len([c for c in functions["by_hand"]["children"] if c["kind"] == "loop"]) == 1
    assert "children" not in functions["after"]


@pytest.mark.parametrize("compiler, level", [(compiler, level) for compiler in ("g++", "clang++") for level in LEVELS])
@pytest.mark.parametrize("is_stripped", [False, True], ids=["", "stripped"])
def test_loops_in_and_around_handlers(compiler, level, is_stripped, tmp_path):
    """What a catch block is in is known by the calls that throw to it, be it in a split-off part."""
    source = WORKLOADS / "binary/structure_catch.cpp"
    program = compiled("binary/structure_catch.cpp", level, compiler=compiler)
    lines = {number: line for number, line in enumerate(source.read_text().splitlines(), 1)}
    begins = {name: number for number, line in lines.items() for name in re.findall(r"/\* loop (\w+) \*/", line)}
    functions = by_name(structure(program))
    if is_stripped:
        loops = {function: [loop["start"] for loop in TestLoopsOnALine.loops(functions[function])]
                 for function in ("around", "within", "retry", "leaves")}
        subprocess.run(["strip", "-o", tmp_path / "stripped", program], check=True)
        stripped = structure(tmp_path / "stripped")
        found = [loop["start"] for function in stripped["functions"] if function
                 for loop in TestLoopsOnALine.loops(function)]
        assert {start for starts in loops.values() for start in starts} <= set(found)
        return
    for function, loops in {"around": ["around"], "within": ["within"], "retry": ["retry", "again"],
                            "leaves": ["leaves"]}.items():
        found = TestLoopsOnALine.loops(functions[function])
        assert [loop["line"] for loop in found] == [begins[name] for name in loops], function
        for number, line in lines.items():
            inside = re.search(r"/\* in (\w+) \*/", line)
            if inside and inside.group(1) in loops:
                loop = found[loops.index(inside.group(1))]
                assert number in lines_of(loop), (function, number)
            if "/* outside */" in line:
                assert not any(number in lines_of(loop) for loop in found)
    if (compiler, level) == ("g++", "-O2"):
        symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
        cold = int(re.search(r"^([0-9a-f]+) . .*around.*cold", symbols, re.M).group(1), 16)
        (loop,) = TestLoopsOnALine.loops(functions["around"])
        assert any(start <= cold < end for start, end in TestLoopsOnALine.ranges(loop))


def lines_of(scope) -> set[int]:
    return {scope["line"]} if scope["kind"] == "line" else {line for child in scope.get("children", ())
                                                           for line in lines_of(child)}


def test_a_split_part_without_names_is_not_the_function(tmp_path):
    """Both jump into the middle of each other, and the part lies first. Only its unwind table tells: it begins with
    the frame that the function made."""
    source = tmp_path / "parts.s"
    source.write_text("""
	.text
	.globl outer
	.type outer, @function
part:	.cfi_startproc
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
3:	incl %eax
	jmp 1f
4:	testl $7, %edi
	jne 3b
	jmp 2f
	.cfi_endproc
	.p2align 4
hot:	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
1:	decl %edi
	je 4b
2:	testl %edi, %edi
	jne 1b
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.p2align 4
outer:	.cfi_startproc
	call hot
	ret
	.cfi_endproc
""")
    library = tmp_path / "parts.so"
    if subprocess.run(["gcc", "-shared", "-nostdlib", source, "-o", library], capture_output=True).returncode != 0:
        pytest.skip("no assembler for x86-64")
    symbols = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
    address = {line.split()[2]: int(line.split()[0], 16) for line in symbols.splitlines() if line[0] == "0"}
    subprocess.run(["strip", library], check=True)
    starts = {f["start"] for f in structure(library)["functions"] if f}
    assert starts == {address["hot"], address["outer"]}


def test_calls_that_never_come_back(tmp_path):
    """What follows such a call would be a loop: one known by name, one that only its code tells, two calls up."""
    source = tmp_path / "gone.s"
    source.write_text("""
	.text
	.globl by_name, by_code, comes_back
	.type by_name, @function
	.type by_code, @function
	.type comes_back, @function
	.type deeper, @function
	.type deepest, @function
by_name:
	decl %edi
	je 1f
	ret
1:	call abort@PLT
	jmp by_name + 2
	.size by_name, . - by_name
by_code:
	decl %edi
	je 1f
	ret
1:	call deeper
	jmp by_code + 2
	.size by_code, . - by_code
comes_back:
	decl %edi
	je 1f
	ret
1:	call by_name
	jmp comes_back + 2
	.size comes_back, . - comes_back
deeper:
	nop
	jmp deepest
	.size deeper, . - deeper
deepest:
	testl %edi, %edi
	je 1f
	ud2
1:	hlt
	.size deepest, . - deepest
""")
    library = tmp_path / "gone.so"
    done = subprocess.run(["gcc", "-shared", source, "-o", library], capture_output=True)
    if done.returncode != 0:
        pytest.skip("no assembler for x86-64")
    functions = by_name(structure(library))
    loops = {name: [c["kind"] for c in functions[name].get("children", [])].count("loop")
             for name in ("by_name", "by_code", "comes_back")}
    assert loops == {"by_name": 0, "by_code": 0, "comes_back": 1}


def test_any_number_of_threads_gives_the_same_bytes():
    library = next((f for f in ("/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0", "/lib/x86_64-linux-gnu/libc.so.6")
                    if shutil.os.path.exists(f)), str(SONDE))
    for form in ("text", "json", "xml"):
        written = {subprocess.run([SONDE, "structure", "--full", "--format", form, "-j", jobs, library],
                                  capture_output=True, check=True).stdout for jobs in ("1", "2", "5")}
        assert len(written) == 1 and len(written.pop()) > 10000


def test_the_disassembler_is_begun_by_one_thread(tmp_path):
    """It sorts its own tables when it is first asked: where several threads did, some read half sorted ones, and one in
    fifty structures of a program with tables of jumps had other blocks."""
    library = compiled("collect/count_sorts.c", "-shared", "-fPIC", "-ldl")
    environment = {**os.environ, "LD_PRELOAD": str(library), "SORTS": str(tmp_path / "sorts")}
    done = subprocess.run([SONDE, "structure", "--format", "json", "--full", "-j", "4", SONDE], env=environment, capture_output=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr
    sorts = tmp_path / "sorts"
    assert not sorts.exists() or sorts.read_text() == "sorted\n"


def test_xml_is_what_hpctoolkit_reads():
    """Elements, attributes and nesting of its DTD; numbers that differ; instructions once."""
    program = built("gcc", "-O2", "-fPIE -pie")
    done = subprocess.run([SONDE, "structure", "--format", "xml", program], capture_output=True, check=True)
    root = ElementTree.fromstring(done.stdout)
    assert root.tag == "HPCToolkitStructure" and root.get("version") == "4.9"
    numbers = [element.get("i") for element in root.iter()]
    assert len(set(numbers)) == len(numbers)
    below = {"HPCToolkitStructure": {"LM"}, "LM": {"F"}, "F": {"P"}, "P": {"A", "L", "S", "C"},
             "A": {"A", "L", "S", "C"}, "L": {"A", "L", "S", "C"}, "S": set(), "C": set()}
    needed = {"LM": {"n", "has-calls", "v"}, "F": {"n"}, "P": {"n", "l", "v"}, "A": {"l", "f", "n", "v"},
              "L": {"l", "f", "v"}, "S": {"l", "v"}, "C": {"l", "v"}}
    for element in root.iter():
        assert {child.tag for child in element} <= below[element.tag]
        assert needed.get(element.tag, set()) <= set(element.attrib)
    procedure = next(p for p in root.iter("P") if p.get("n") == "nested")
    assert len(list(procedure.iter("L"))) == 3
    ranges = sorted((int(a, 16), int(b, 16)) for s in root.iter() if s.tag in "SC"
                    for a, b in re.findall(r"\[(0x[0-9a-f]+)-(0x[0-9a-f]+)\)", s.get("v")))
    assert ranges and all(a[1] <= b[0] for a, b in zip(ranges, ranges[1:]))


@pytest.mark.parametrize("compiler, level", [(compiler, level) for compiler in ("gcc", "clang", "aarch64-linux-gnu-gcc")
                                             for level in ("-O0", "-O2")])
def test_calls_are_those_of_the_disassembler(compiler, level, tmp_path):
    """Each call instruction once, at its line, with its target unless it goes through a register or memory."""
    is_arm = compiler.startswith("aarch64")
    disassembler = "aarch64-linux-gnu-objdump" if is_arm else "objdump"
    if not shutil.which(compiler) or not shutil.which(disassembler):
        pytest.skip(f"no {compiler}")
    source = tmp_path / "calls.c"
    source.write_text("""
        __attribute__((noinline)) int next(int x) { return x + 1; }
        int (*volatile through)(int) = next;
        static inline __attribute__((always_inline)) int inlined(int x) { return next(x) * 3; }
        int loops(int n) {
            int s = 0;
            for (int i = 0; i < n; i++)
                s += next(i) + through(i)
                     + inlined(s);
            return s + 1;
        }
        int outside(int n);
        int other(int n) { return outside(n) + loops(n) + 1; }
    """)
    program = compiled(str(source), level, "-shared", "-fPIC", "-nostdlib", compiler=compiler)
    done = subprocess.run([SONDE, "structure", "--format", "xml", program], capture_output=True, check=True)
    root = ElementTree.fromstring(done.stdout)
    found = {}
    for call in root.iter("C"):
        ((start, end),) = re.findall(r"\[(0x[0-9a-f]+)-(0x[0-9a-f]+)\)", call.get("v"))
        assert int(start, 16) not in found
        found[int(start, 16)] = (int(end, 16), call.get("t") and int(call.get("t"), 16))
    code = subprocess.run([disassembler, "-d", "-j", ".text", program], capture_output=True, text=True, check=True).stdout
    expected = {}
    for at, raw, rest in re.findall(r"^ *([0-9a-f]+):\t((?:[0-9a-f]+ )+)\s*((?:callq?|blr?)\b.*)$", code, re.M):
        target = re.match(r"(?:callq?|bl)\s+([0-9a-f]+) <", rest)
        length = len(raw.replace(" ", "")) // 2
        expected[int(at, 16)] = (int(at, 16) + length, int(target.group(1), 16) if target else None)
    assert found == expected and {bool(target) for _, target in found.values()} == {True, False}
    loop = next(p for p in root.iter("P") if p.get("n") == "loops").find("L")
    calls = list(loop.iter("C"))
    assert len(calls) == 3 and sum(call.get("t") is None for call in calls) == 1
    assert {call.get("l") for call in calls} >= {"4", "8"}


class TestText:
    def test_only_what_has_loops(self):
        program = built("gcc", "-O1", "-fPIE -pie")
        text = subprocess.run([SONDE, "structure", program], capture_output=True, text=True, check=True).stdout
        assert re.search(r"^nested  structure_known\.c:\d+-\d+  0x[0-9a-f]+  \(\d+ bytes, \d+ blocks\)$", text, re.M)
        assert re.search(r"^      loop  structure_known\.c:\d+", text, re.M)
        assert "\nis_even " not in text and "\none " not in text
        assert re.search(r"^\d+ functions, \d+ loops \(\d+ in the binary, \d+ irreducible\)$", text, re.M)

    def test_one_function(self):
        program = built("gcc", "-O1", "-fPIE -pie")
        text = subprocess.run([SONDE, "structure", program, "--function", "calls_inlined"], capture_output=True,
                              text=True, check=True).stdout
        assert "inlined total  called at line" in text and "nested" not in text
        address = re.search(r"^calls_inlined .*?(0x[0-9a-f]+)", text, re.M).group(1)
        again = subprocess.run([SONDE, "structure", program, "--function", address], capture_output=True, text=True,
                               check=True).stdout
        assert again == text

    def test_vector_loop_and_its_rest_are_one(self):
        program = built("clang", "-O3", "-fPIE -pie")
        text = subprocess.run([SONDE, "structure", program, "--function", "vectorised"], capture_output=True,
                              text=True, check=True).stdout
        assert len(re.findall(r"^ +loop ", text, re.M)) == 1
        assert re.search(r"[2-9] loops in the binary", text)

    def test_no_such_function(self, sonde):
        result = sonde("structure", str(SONDE), "--function", "nonesuch")
        assert result.status == 1 and "no function 'nonesuch'" in result.err


class TestBadInput:
    @pytest.mark.parametrize("contents", [b"", b"not an ELF file", b"\x7fELF" + bytes(60)])
    def test_one_line_and_no_file(self, sonde, tmp_path, contents):
        (tmp_path / "bad").write_bytes(contents)
        result = sonde("structure", str(tmp_path / "bad"), "-o", str(tmp_path / "out"))
        assert result.status == 128 and result.out == ""
        assert len(result.err_lines) == 1 and result.err.startswith("sonde: cannot read '")
        assert not (tmp_path / "out").exists()

    def test_other_machine(self, sonde, tmp_path):
        image = bytearray(SONDE.read_bytes())
        image[18] = 8  # MIPS
        (tmp_path / "mips").write_bytes(image)
        result = sonde("structure", str(tmp_path / "mips"))
        assert result.status == 128 and "neither x86-64 nor AArch64" in result.err

    def test_a_pipe_is_not_waited_for(self, sonde, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        result = sonde("structure", str(tmp_path / "pipe"))
        assert result.status == 128 and "not an ELF file" in result.err

    def test_all_code_cut_off(self, sonde, tmp_path):
        (tmp_path / "cut").write_bytes(SONDE.read_bytes()[:4096])
        result = sonde("structure", str(tmp_path / "cut"), "-o", str(tmp_path / "out"))
        assert result.status == 128 and result.err_lines == [f"sonde: cannot read '{tmp_path / 'cut'}': truncated"]
        assert not (tmp_path / "out").exists()

    def test_truncated(self, sonde, tmp_path):
        image = SONDE.read_bytes()
        for part in range(1, 12):
            (tmp_path / "cut").write_bytes(image[:len(image) * part // 12])
            result = sonde("structure", str(tmp_path / "cut"), "--format", "json")
            assert result.status in (0, 128)
            if result.status == 0:
                json.loads(result.out)

    def test_nothing_given(self, sonde):
        result = sonde("structure")
        assert result.status == 129 and "no binary given" in result.err


def report_rows(database, *arguments) -> list[dict]:
    done = subprocess.run([SONDE, "report", *arguments, "--format", "json", database], capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout)["rows"]


def chains(rows) -> list[tuple[tuple[str, ...], float]]:
    """(names from the outermost frame on, own share) of every row."""
    path, found = [], []
    total = rows[0]["values"]["cpu-time"]["inclusive"]["sum"]
    for row in rows:
        del path[row["depth"]:]
        path.append((row["kind"], row["name"]))
        own = row["values"].get("cpu-time", {}).get("exclusive", {}).get("sum", 0)
        found.append((tuple(path), own / total))
    return found


@pytest.fixture(scope="module", params=["-O1", "-O2", "-O3"])
def measured(request, tmp_path_factory):
    """A nest whose inner loop takes three quarters of the time, beside another that takes a quarter."""
    folder = tmp_path_factory.mktemp("loops")
    program = compiled("collect/loop_shares.c", request.param)
    subprocess.run([SONDE, "run", "-q", "-o", folder / "run", "--", program], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)
    return folder


class TestReports:
    def rows(self, folder, *arguments):
        return report_rows(folder / "run.sdb", *arguments)

    def test_function_loop_loop(self, measured):
        lines = {name: n for n, line in enumerate((WORKLOADS / "collect/loop_shares.c").read_text().splitlines(), 1)
                 for name in re.findall(r"/\* loop (\w+) \*/", line)}
        share = {"hot": 0.0, "cool": 0.0}
        rows = self.rows(measured)
        samples = rows[0]["values"]["cpu-time"]["inclusive"]["count"]
        for path, own in chains(rows):
            names = [name for kind, name in path if kind in ("native", "inlined", "loop")]
            for name in share:
                chain = ["work", f"loop at loop_shares.c:{lines['outer']}", f"loop at loop_shares.c:{lines[name]}"]
                if any(names[i:i + 3] == chain for i in range(len(names))):
                    share[name] += own
        assert share["hot"] + share["cool"] > 0.95
        assert abs(share["hot"] / (share["hot"] + share["cool"]) - 0.75) < bound(0.75, samples) + 0.02

    def test_functions_have_no_loops(self, measured):
        rows = self.rows(measured, "--view", "flat")
        assert not [row for row in rows if row["kind"] == "loop"]
        (work,) = [row for row in rows if row["name"] == "work"]
        total = max(row["values"]["cpu-time"]["inclusive"]["sum"] for row in rows)
        assert work["values"]["cpu-time"]["exclusive"]["sum"] > 0.95 * total

    def test_no_loops(self, measured):
        subprocess.run([SONDE, "analyze", "--no-loops", measured / "run.sonde", "-o", measured / "without.sdb"],
                       check=True, stdout=subprocess.DEVNULL)
        rows = report_rows(measured / "without.sdb")
        assert not [row for row in rows if row["kind"] == "loop"]
        subprocess.run([SONDE, "analyze", measured / "run.sonde", "-o", measured / "again.sdb"], check=True,
                       stdout=subprocess.DEVNULL)
        assert (measured / "again.sdb").read_bytes() == (measured / "run.sdb").read_bytes()

    def test_by_loop(self, measured):
        rows = self.rows(measured, "--view", "flat", "--by", "loop")
        assert rows and all(row["kind"] == "loop" for row in rows if row["name"])

    @pytest.mark.parametrize("form", ["pprof", "callgrind"])
    def test_formats_of_functions_have_no_loops(self, measured, form):
        done = subprocess.run([SONDE, "export", "--to", form, measured / "run.sdb", "-o", "-"], capture_output=True,
                              check=True)
        import gzip
        text = gzip.decompress(done.stdout) if form == "pprof" else done.stdout
        assert b"work" in text and b"loop at" not in text

    @pytest.mark.parametrize("form", ["folded", "speedscope", "hatchet", "html"])
    def test_formats_of_paths_have_loops(self, measured, form):
        done = subprocess.run([SONDE, "export", "--to", form, measured / "run.sdb", "-o", "-"], capture_output=True,
                              check=True)
        if form != "html":  # whose data is packed
            assert b"loop at loop_shares.c" in done.stdout


@pytest.fixture(params=[(compiler, level) for compiler in ("gcc", "clang") for level in LEVELS], ids=" ".join,
                scope="module")
def program(request):
    if not shutil.which(request.param[0]):
        pytest.skip(f"no {request.param[0]}")
    return compiled("binary/loops_on_a_line.c", request.param[1], compiler=request.param[0])


class TestLoopsOnALine:
    """Told apart by what debug information tells but for addresses."""

    @staticmethod
    def loops(scope, found=None) -> list[dict]:
        found = [] if found is None else found
        for child in scope.get("children", []):
            if child["kind"] == "loop":
                found.append(child)
            TestLoopsOnALine.loops(child, found)
        return found

    @staticmethod
    def ranges(scope) -> list[list[int]]:
        return scope["ranges"] + [range for child in scope.get("children", ()) for range in TestLoopsOnALine.ranges(child)]

    @pytest.mark.parametrize("function", ["beside", "by_macro", "inside", "inside_by_macro"])
    def test_two_are_two_in_their_order(self, program, function):
        of = by_name(structure(program))[function]
        code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True,
                              check=True).stdout
        calls = {name: [int(at, 16) for at in re.findall(rf"^ *([0-9a-f]+):.*call.*<{name}>$", code, re.M)]
                 for name in ("first", "second")}
        loops = self.loops(of)
        assert [loop["number"] for loop in loops] == [1, 2]
        for loop, name in zip(loops, ("first", "second")):
            own = [range for range in self.ranges(loop)
                   if loop["number"] == 2 or not any(range in self.ranges(inner) for inner in self.loops(loop))]
            assert any(start <= call < end for call in calls[name] for start, end in own)
            other = "second" if name == "first" else "first"
            assert not any(start <= call < end for call in calls[other] for start, end in own)

    def test_nested_ones_are_nested(self, program):
        for name in ("inside", "inside_by_macro"):
            (outer,) = [c for c in by_name(structure(program))[name]["children"] if c["kind"] == "loop"]
            assert outer["number"] == 1 and [loop["number"] for loop in self.loops(outer)] == [2]

    def test_copies_are_no_loops_of_their_own(self, program):
        functions = by_name(structure(program))
        assert sorted({loop["number"] for loop in self.loops(functions["vectors"])}) == [1, 2]
        for name in ("one", "vector"):
            assert [loop["number"] for loop in self.loops(functions[name])] == [0], name

    def test_builds_and_runs_agree(self, tmp_path):
        """Of two builds with other addresses the loops are the same ones, and have their shares of the time."""
        work = next(number for number, line in enumerate((WORKLOADS / "binary/loops_on_a_line.c").read_text().splitlines(), 1)
                    if "3 * n" in line)
        for build, flags in {"a": [], "b": ["-DMORE"]}.items():
            program = compiled("binary/loops_on_a_line.c", "-O2", *flags)
            subprocess.run([SONDE, "run", "-q", "-o", tmp_path / build, "--", program], check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        measured = [tmp_path / "a.sonde", tmp_path / "b.sonde"]
        for jobs in ("1", "3"):
            subprocess.run([SONDE, "analyze", "-j", jobs, *measured, "-o", tmp_path / f"{jobs}.sdb"], check=True,
                           stdout=subprocess.DEVNULL)
        assert (tmp_path / "1.sdb").read_bytes() == (tmp_path / "3.sdb").read_bytes()
        names = [f"loop at loops_on_a_line.c:{work} #{number}" for number in (1, 2)]
        for database, modules in (("a", 1), ("b", 1), ("1", 2)):
            rows = report_rows(tmp_path / f"{database}.sdb", "--view", "flat", "--by", "loop")
            found = [(row["name"], row["values"]["cpu-time"]["inclusive"]) for row in rows if row["name"] in names]
            assert sorted(name for name, _ in found) == sorted(names * modules)
            total = sum(share["sum"] for _, share in found)
            samples = sum(share["count"] for _, share in found)
            second = sum(share["sum"] for name, share in found if name == names[1])
            assert abs(second / total - 0.75) < bound(0.75, samples) + 0.05


@pytest.mark.parametrize("form", ["text", "json", "xml"])
def test_standard_output_is_whole_or_empty(form, tmp_path):
    """Also where only the second of two files cannot be read."""
    program = built("gcc", "-O1", "-fPIE -pie")
    (tmp_path / "bad").write_text("no program")
    done = subprocess.run([SONDE, "structure", "--format", form, program, tmp_path / "bad"], capture_output=True, text=True)
    assert done.returncode == 128 and done.stdout == "" and len(done.stderr.splitlines()) == 1
    both = [subprocess.run([SONDE, "structure", "--format", form, program, program, *more], capture_output=True,
                           check=True).stdout for more in ([], ["-o", tmp_path / "out"])]
    assert both[0] == (tmp_path / "out").read_bytes() and both[1] == b""


def test_an_object_file_is_refused(tmp_path):
    """Its sections all begin at 0: what was found there were loops of one of them, without names."""
    made = tmp_path / "known.o"
    subprocess.run(["gcc", "-g", "-c", SOURCE, "-o", made], check=True)
    done = subprocess.run([SONDE, "structure", made], capture_output=True, text=True)
    assert done.returncode == 128 and done.stdout == ""
    assert done.stderr == f"sonde: cannot read '{made}': an object file that is not linked yet\n"


@pytest.mark.parametrize("form", ["text", "json", "xml"])
def test_nothing_is_written_of_what_cannot_be_read(form, tmp_path):
    bad = tmp_path / "bad"
    bad.write_text("no binary")
    done = subprocess.run([SONDE, "structure", bad, "--format", form], capture_output=True, text=True)
    assert done.returncode == 128 and done.stdout == "" and done.stderr.count("\n") == 1
