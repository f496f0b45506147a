# SPDX-License-Identifier: Apache-2.0
"""What is read of GPU binaries, against the disassemblers of NVIDIA and LLVM where they are installed.

SONDE_GPU_TOOLS is a list of folders with ptxas and nvdisasm, separated by ':'; tests/gpu_tools.sh makes one.
"""
from __future__ import annotations

import os
import random
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from conftest import BUILD, ROOT
from real_cupti import installed, library, probe

DUMP = BUILD / "tests/gpu-dump"
PTX = ROOT / "tests/workloads/binary/gpu.ptx"


def tool(name: str, *options: str) -> str:
    """The first of that name in SONDE_GPU_TOOLS or PATH that takes these options."""
    folders = [f for f in os.environ.get("SONDE_GPU_TOOLS", "").split(":") if f]
    found = [str(Path(f) / name) for f in folders] + [shutil.which(name) or ""]
    for path in found:
        if path and Path(path).exists():
            done = subprocess.run([path, *options], capture_output=True, text=True)
            if done.returncode == 0:
                return path
    pytest.skip(f"no {name} that knows {' '.join(options) or 'anything'}: tests/gpu_tools.sh installs one")


def ptxas(folder: Path, target: str) -> Path:
    compiler = tool("ptxas", "--help")
    source, output = folder / "gpu.ptx", folder / f"{target}.cubin"
    for base in ("sm_70", "sm_75"):
        source.write_text(PTX.read_text().replace(".target TARGET", f".target {base}"))
        done = subprocess.run([compiler, "-lineinfo", f"-arch={target}", source, "-o", output],
                              capture_output=True, text=True)
        if done.returncode == 0:
            return output
    pytest.skip(f"{compiler} makes no code for {target}: {done.stderr.splitlines()[-1]}")


class Function:
    """Blocks as {start: end}, edges as a set of (start, start)."""

    def __init__(self) -> None:
        self.blocks: dict[int, int] = {}
        self.edges: set[tuple[int, int]] = set()

    def united(self) -> tuple[dict[int, int], set[tuple[int, int]]]:
        """Without the bounds between two blocks of which one only ever follows the other."""
        blocks, edges = dict(self.blocks), set(self.edges)
        entry = min(blocks)
        while True:
            after: dict[int, set[int]] = {}
            before: dict[int, set[int]] = {}
            for a, b in edges:
                after.setdefault(a, set()).add(b)
                before.setdefault(b, set()).add(a)
            for a in sorted(blocks):
                b = blocks[a]
                if after.get(a) == {b} and before.get(b) == {a} and b != entry:
                    blocks[a] = blocks.pop(b)
                    edges = {(a if x == b else x, y) for x, y in edges if (x, y) != (a, b)}
                    break
            else:
                return blocks, edges


class Dump:
    """What gpu-dump prints."""

    def __init__(self, path: Path) -> None:
        self.functions: dict[str, Function] = {}
        self.bases: dict[str, int] = {}
        self.calls: dict[str, list[str]] = {}
        self.loops: dict[str, list[int]] = {}
        self.lines: list[tuple[int, int, str]] = []
        base = 0
        for line in subprocess.run([DUMP, path], capture_output=True, text=True, check=True).stdout.splitlines():
            kind, *words = line.split(maxsplit=3 if line.startswith("line") else -1)
            if kind == "target":
                self.target = words[0]
            elif kind == "function":
                name = words[0]
                base = self.bases.get(words[4], int(words[1], 16))
                self.bases[name] = base
                function = self.functions[name] = Function()
                self.calls[name], self.loops[name] = [], []
            elif kind == "block":
                function.blocks[int(words[0], 16) - base] = int(words[1], 16) - base
            elif kind == "edge":
                function.edges.add((int(words[0], 16) - base, int(words[1], 16) - base))
            elif kind in ("call", "tail"):
                self.calls[name].append(words[1])
            elif kind == "loop":
                self.loops[name].append(int(words[0]))
            elif kind == "line":
                self.lines.append((int(words[0], 16), int(words[1], 16), words[2]))

    def line_at(self, address: int) -> str | None:
        return next((text for start, end, text in self.lines if start <= address < end), None)


def nvdisasm(*arguments: object) -> str:
    done = subprocess.run([tool("nvdisasm", "--version"), *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("nvdisasm: " + done.stderr.splitlines()[-1])
    return done.stdout


def blocks_by_nvdisasm(cubin: Path) -> dict[str, Function]:
    functions: dict[str, Function] = {}
    nodes: dict[str, list[int]] = {}
    edges: list[tuple[str, str]] = []
    function = None

    def finish() -> None:
        if function is not None:
            function.blocks = {o[0]: o[-1] + 16 for o in nodes.values() if o}
            function.edges = {(nodes[a][0], nodes[b][0]) for a, b in edges}

    node = ""
    for line in nvdisasm("-bbcfg", "-poff", cubin).splitlines():
        if match := re.match(r'subgraph "cluster_(.*)" \{', line):
            finish()
            function, nodes, edges = functions.setdefault(match[1], Function()), {}, []
        elif match := re.match(r'"([^"]*)":\S+ -> "([^"]*)":', line):
            edges.append((match[1], match[2]))
        elif match := re.fullmatch(r'"([^"]*)"', line.strip()):
            node = match[1]
        elif line.startswith("[label="):
            nodes[node] = [int(x, 16) for x in re.findall(r"(?:\\l|\{|<entry>|<exit\d+>|\|)([0-9a-f]{4,}):\\ ", line)]
    finish()
    return functions


TARGETS = ["sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]


@pytest.mark.parametrize("target", TARGETS)
def test_blocks_are_those_of_nvdisasm(tmp_path: Path, target: str) -> None:
    cubin = ptxas(tmp_path, target)
    theirs, ours = blocks_by_nvdisasm(cubin), Dump(cubin)
    assert ours.target == target
    assert set(ours.functions) == set(theirs)
    assert len(ours.functions) >= 7
    for name, function in ours.functions.items():
        # newer versions put labels at exits, which bound blocks where nothing goes
        assert function.united() == theirs[name].united(), name


@pytest.mark.parametrize("target", TARGETS)
def test_loops_and_calls_of_a_cubin(tmp_path: Path, target: str) -> None:
    dump = Dump(ptxas(tmp_path, target))
    # what is unrolled has two loops inside of the outer one
    assert dump.loops["nest"] in ([1, 2], [1, 2, 2])
    assert dump.loops["jumps"] == [1]
    assert dump.loops["calls"] == [1]
    # up to sm_75 the compiler makes an inner loop in which threads wait for each other
    assert dump.loops["diverge"] == ([1, 2] if target in ("sm_70", "sm_75") else [1])
    assert dump.calls["calls"] == ["$calls$leaf", "$calls$even"]
    assert dump.calls["$calls$even"] == ["$calls$odd"]
    assert dump.calls["$calls$odd"] == ["$calls$even"]
    assert len(dump.calls["$calls$leaf"]) == 2


def lines_by_nvdisasm(cubin: Path) -> dict[tuple[str, int], str]:
    """'/src/a.h:3 < square@/src/k.cu:9' without the functions' names, by section and offset."""
    found: dict[tuple[str, int], str] = {}
    section, text, fresh = "", "", True
    for line in nvdisasm("-c", "-gi", cubin).splitlines():
        if match := re.match(r"\s*\.section\s+\.text\.([^,\s]*)", line):
            section, text = match[1].strip('"'), ""
        elif match := re.match(r'\s*//## File "([^"]*)", line (\d+)(?: inlined at "([^"]*)", line (\d+))?', line):
            if fresh:
                text, fresh = f"{match[1]}:{match[2]}", False
            if match[3]:
                text += f" < {match[3]}:{match[4]}"
        elif match := re.match(r"\s+/\*([0-9a-f]{4,})\*/", line):
            if text:
                found[section, int(match[1], 16)] = text
            fresh = True
    return found


@pytest.mark.parametrize("target", TARGETS)
def test_lines_and_inlined_calls_are_those_of_nvdisasm(tmp_path: Path, target: str) -> None:
    cubin = ptxas(tmp_path, target)
    theirs, ours = lines_by_nvdisasm(cubin), Dump(cubin)
    kernel = [(offset, text) for (section, offset), text in theirs.items() if section == "nest"]
    assert sum("/src/square.h" in text for _, text in kernel) >= 2
    for offset, text in kernel:
        line = ours.line_at(ours.bases["nest"] + offset)
        assert line is not None and re.sub(r"< \w+@", "< ", line) == text, hex(offset)
    assert any("< cube@/src/square.h:21 < square@/src/kernel.cu:12" in line for _, _, line in ours.lines)


@pytest.mark.parametrize("release", ["11.8", "12.9", "13.0"])
@pytest.mark.parametrize("target", TARGETS)
def test_lines_are_those_of_cupti(tmp_path: Path, target: str, release: str) -> None:
    """By which NVIDIA's tools place samples: of inlined code the innermost line. CUPTI needs no device for it."""
    if os.environ.get("SONDE_TEST_CUDA_FEW"):
        pytest.skip("other releases of CUPTI are fetched by make test-all (SONDE_TEST_CUDA=1)")
    nvidias = library(installed(release).parent / "lib")
    cubin = ptxas(tmp_path, target)
    ours, of_function = Dump(cubin), 0
    for name, function in ours.functions.items():
        lines = probe("lines", nvidias, cubin, name, str(max(function.blocks.values())))
        for offset, place in map(str.split, lines.splitlines()):
            line = ours.line_at(ours.bases[name] + int(offset))
            assert line is not None and line.split(" < ")[0] == place, (name, offset)
            of_function += name == "nest"
    assert of_function > 20


def llvm(name: str) -> str:
    for version in range(30, 18, -1):
        if path := shutil.which(f"{name}-{version}"):
            return path
    pytest.skip(f"no {name} of LLVM 19 or later")


PROCESSORS = ["gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1150", "gfx1200"]
ASSEMBLY = """
	.text
	.globl helper
	.type helper,@function
helper:
	s_nop 0
	s_setpc_b64 s[30:31]
.Lhelper_end:
	.size helper, .Lhelper_end-helper
	.globl kernel
	.type kernel,@function
kernel:
	s_mov_b32 s0, 0x12345678
	v_mov_b32 v0, 0xbf810000
outer:
	s_mov_b32 s1, 0
inner:
	s_cmp_eq_u32 s1, 3
	s_cbranch_scc1 skip
	v_add_f32 v0, v1, v2
skip:
	s_add_u32 s1, s1, 1
	s_cmp_lt_u32 s1, 10
	s_cbranch_scc1 inner
	s_getpc_b64 s[4:5]
.Lafter:
	s_add_u32 s4, s4, helper-.Lafter
	s_addc_u32 s5, s5, -1
	s_swappc_b64 s[30:31], s[4:5]
	s_sub_u32 s0, s0, 1
	s_cmp_lg_u32 s0, 0
	s_cbranch_scc1 outer
	s_endpgm
.Lkernel_end:
	.size kernel, .Lkernel_end-kernel
"""


@pytest.mark.parametrize("processor", PROCESSORS)
def test_a_code_object_by_llvm(tmp_path: Path, processor: str) -> None:
    source, output = tmp_path / "a.s", tmp_path / "a.o"
    text = ASSEMBLY
    if processor.startswith("gfx12"):
        text = text.replace("s_add_u32", "s_add_co_u32").replace("s_addc_u32", "s_add_co_ci_u32")
        text = text.replace("s_sub_u32", "s_sub_co_u32")
    source.write_text(text)
    subprocess.run([llvm("llvm-mc"), "-triple=amdgcn-amd-amdhsa", f"-mcpu={processor}", "-filetype=obj",
                    source, "-o", output], check=True)
    dump = Dump(output)
    assert dump.target == processor
    assert dump.loops == {"helper": [], "kernel": [1, 2]}
    assert dump.calls["kernel"] == ["helper"]
    kernel = dump.functions["kernel"]
    assert len(kernel.blocks) == 7
    assert len(kernel.edges) == 9


def candidates(processor: str, count: int) -> list[bytes]:
    """Words that are likely to be instructions: long ones, with literals, DPP and SDWA."""
    draw = random.Random(processor)
    generation = 9 if processor.startswith("gfx9") else int(processor[3:5])
    found = []
    for _ in range(count):
        words = [draw.getrandbits(32) for _ in range(2)] + [0x7E000280, 0x7E000280]
        sources = (255, 249, 250, 233, 234, 256, 1, 128)
        if draw.random() < 0.4:
            words[0] = words[0] & ~0x1FF | draw.choice(sources)
        words[1] &= draw.choice((0xFFFFFFFF, 0x3FFFF, 0x1FF, 0x1FF01FF, 0xFF, 0x7FFFFF))
        if draw.random() < 0.4:
            words[1] = words[1] & ~0x1FF | draw.choice(sources)
        if draw.random() < 0.3:
            words[0] = 0x80000000 | words[0] & 0x3FFFFFFF
        elif generation <= 10 and draw.random() < 0.6:
            words[0] = words[0] & draw.getrandbits(26) | draw.choice(
                (0x30, 0x31, 0x34, 0x36, 0x37, 0x38, 0x3A, 0x3C, 0x35, 0x32, 0x33, 0x3D, 0x3E)) << 26
        found.append(struct.pack("<4I", *words))
    return found


def decoded_by_llvm(processor: str, found: list[bytes]) -> list[tuple[str, int] | None]:
    """Text and length of the first instruction of each. A marker stands behind each candidate."""
    marker = bytes.fromhex("ff0380be" if processor.startswith("gfx10") else "ff0080be")
    lines = []
    for i, candidate in enumerate(found):
        lines += [candidate, marker + struct.pack("<I", 0x10000000 + i)]
    text = "\n".join(" ".join(f"0x{b:02x}" for b in line) for line in lines)
    output = subprocess.run([llvm("llvm-mc"), "--disassemble", "-triple=amdgcn", f"-mcpu={processor}",
                             "-show-encoding"], input=text, capture_output=True, text=True).stdout
    result: list[tuple[str, int] | None] = [None] * len(found)
    first = None
    for line in output.splitlines():
        match = re.match(r"\t(.*?)\s*[;/]+ encoding: \[(.*)\]", line)
        if not match:
            continue
        code = bytes(int(x, 16) for x in match[2].split(","))
        if code.startswith(marker) and code[7] == 0x10:
            i = struct.unpack("<I", code[4:])[0] - 0x10000000
            if first and i < len(found) and found[i].startswith(first[1]):
                result[i] = (first[0], len(first[1]))
            first = None
        elif first is None:
            first = (match[1], code)
    return result


def flow_of(text: str) -> str:
    name = text.split()[0]
    if name == "s_branch" or name.startswith("s_subvector") or name.startswith("s_cbranch_") and \
            not name.endswith(("_join", "_g_fork")):
        return "branch"
    if name in ("s_call_b64", "s_swappc_b64"):
        return "call"
    if name in ("s_setpc_b64", "s_rfe_b64"):
        return "return"
    return "exit" if name.startswith("s_endpgm") or name == "s_code_end" else "next"


@pytest.mark.parametrize("processor", PROCESSORS)
def test_lengths_and_flow_of_amd_instructions_are_those_of_llvm(tmp_path: Path, processor: str) -> None:
    found = candidates(processor, 6000)
    theirs = decoded_by_llvm(processor, found)
    packed = tmp_path / "candidates"
    packed.write_bytes(b"".join(found))
    generation = 9 if processor.startswith("gfx9") else int(processor[3:5])
    output = subprocess.run([DUMP, "-d", str(generation), packed], capture_output=True, text=True, check=True).stdout
    ours = [line.split() for line in output.splitlines()]
    assert len(ours) == len(found)
    wrong, known = [], 0
    for candidate, their, our in zip(found, theirs, ours):
        if their is None:
            continue
        known += 1
        text, length = their
        if "tbuffer" in text or "buffer_" in text and length == 12 and generation < 12:
            continue  # LLVM takes a literal as their offset, which no chip does
        if our[:2] != [str(length), flow_of(text)]:
            wrong.append((candidate.hex(" ", 4), text, length, our))
        elif flow_of(text) == "branch":
            distance = int(re.split(r"[ ,]+", text)[-1], 0)
            distance -= 65536 if distance > 32767 else 0
            if int(our[2], 16) != (4 + distance * 4) & (2**64 - 1):
                wrong.append((candidate.hex(" ", 4), text, our))
    assert not wrong, f"{len(wrong)} of {known}: {wrong[:3]}"
    assert known >= 40
