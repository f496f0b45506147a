# SPDX-License-Identifier: Apache-2.0
"""HPCToolkit measurements written for the purpose: shapes that no sample has, with known answers."""
from __future__ import annotations

import gzip
import json
import lzma
import os
import random
import re
import struct
import subprocess
import sys
from xml.etree import ElementTree
from pathlib import Path

import pytest

from conftest import MAKE_DB, run_sonde
from hpctoolkit_db import Database
from hpctoolkit_measurement import (GPU_CONTEXT, GPU_DEVICE, GPU_RANGE, GPU_ROOT, GPU_STREAM, IDLE, LOGICAL_ONLY, MAIN,
                                    NODE, PARTIAL, PRIMARY, Metric, Profile, letters, structure, thread)
from test_import import contents, export_to, import_to, refused


def convert(folder: Path, *options: object) -> Database:
    """Imported, exported, imported and exported again: both exports must be the same."""
    first = export_to(folder / "1.d", import_to(folder / "1.sdb", *options, folder / "a.m"))
    second = export_to(folder / "2.d", import_to(folder / "2.sdb", first))
    assert contents(first) == contents(second)
    database = Database(first)
    database.check()
    return database


def total(database: Database, name: str, scope: str = "execution") -> float:
    number = {key: number for number, key in database.prop.items()}[name, scope]
    return sum(values.get(0, {}).get(number, 0) for _, summary, values in database.profiles if not summary)


def values(database: Database, name: str, scope: str = "execution") -> dict[tuple, float]:
    """Of each place in the tree (what is in its keys without module and scope), summed over profiles and twins."""
    number = {key: number for number, key in database.prop.items()}[name, scope]
    out: dict[tuple, float] = {}
    for context in database.contexts.values():
        value = sum(v.get(context.id, {}).get(number, 0) for _, summary, v in database.profiles if not summary)
        if value:
            out[brief(context)] = out.get(brief(context), 0) + value
    return out


def brief(context) -> tuple:
    out = []
    while context.parent is not None:
        key = context.key
        if key[0] == "entry":
            out.append(key[2])
        elif key[4]:
            out.append(key[4][0])
        elif key[5]:
            out.append(("loop " if key[2] == 1 else "") + f"{key[5][0]}:{key[5][1]}")
        else:
            out.append(hex(key[6][1]) if key[6] else "?")
        context = context.parent
    return tuple(reversed(out))


@pytest.mark.parametrize("order", ["b", "l"])
def test_two_threads(tmp_path, order):
    """CPU time as doubles and an event with a period as integers, in both byte orders."""
    for number in range(2):
        profile = Profile(thread(number), [Metric("CPUTIME (sec)", real=True), Metric("cycles", period=1000003)], order)
        code = profile.module("/bin/program")
        main = profile.node(profile.node(0, 0, PRIMARY), 0, MAIN)
        leaf = profile.node(profile.node(main, code, 0x10), code, 0x20)
        profile.value(leaf, 0, 0.25 * (number + 1))
        profile.value(leaf, 1, 7)
        profile.trace = [(1000, leaf), (2000, 1), (2500, 1), (1500, leaf)]  # not in order, and nowhere twice
        profile.write(tmp_path / f"a.m/p-{number}.hpcrun")
    database = convert(tmp_path)
    assert total(database, "CPUTIME (sec)") == 0.75 and total(database, "cycles") == 14 * 1000003
    assert values(database, "CPUTIME (sec)", "point") == {("main thread", "0x10", "0x20"): 0.75}
    for line in database.traces.values():
        assert [t for t, _ in line] == [1000, 1500, 2000] and line[2][1] == 0
        assert brief(database.contexts[line[0][1]]) == ("main thread", "0x10", "0x20")
    statistics = {key: value for key, value in zip(database.stat.values(), database.stat)}
    row = database.profiles[0][2][0]
    find = {(formula, combine): row[number] for (name, scope, formula, combine), number in statistics.items()
            if (name, scope) == ("CPUTIME (sec)", "execution")}
    assert find == {("1", 0): 2, ("$$", 0): 0.75, ("($$^2)", 0): 0.3125, ("$$", 1): 0.25, ("$$", 2): 0.5}


def test_deep_recursion(tmp_path):
    """100,000 levels."""
    depth = 100_000
    profile = Profile(thread(), [Metric("CPUTIME (sec)", real=True)])
    code = profile.module("/bin/program")
    node = profile.node(profile.node(0, 0, PRIMARY), 0, MAIN)
    for _ in range(depth):
        node = profile.node(node, code, 0x1234)
    profile.value(node, 0, 1.0)
    profile.write(tmp_path / "a.m/p.hpcrun")
    database = Database(export_to(tmp_path / "1.d", import_to(tmp_path / "1.sdb", tmp_path / "a.m")))
    database.check()
    assert len(database.contexts) == depth + 2 and total(database, "CPUTIME (sec)") == 1.0
    again = export_to(tmp_path / "2.d", import_to(tmp_path / "2.sdb", tmp_path / "1.d"))
    assert contents(tmp_path / "1.d") == contents(again)


def test_many_metrics_and_formulas(tmp_path):
    """More metrics than a report has columns; a metric computed of others has no values."""
    count = 700
    profile = Profile(thread(), [Metric(f"event {i}") for i in range(count)] + [Metric("ratio", formula="#0 / #1")])
    node = profile.node(profile.node(profile.node(0, 0, PRIMARY), 0, MAIN), profile.module("/bin/program"), 1)
    for i in range(count):
        profile.value(node, i, i + 1)
    profile.write(tmp_path / "a.m/p.hpcrun")
    database = convert(tmp_path)
    assert len(database.metric_names) == count
    assert [total(database, f"event {i}") for i in (0, count - 1)] == [1, count]


def test_structure_of_inlines_and_loops(tmp_path):
    """Line, loop, inlined call; an address that structure does not know; two claims to one address."""
    profile = Profile(thread(), [Metric("CPUTIME (sec)", real=True)])
    code = profile.module("/bin/program")
    main = profile.node(profile.node(0, 0, PRIMARY), 0, MAIN)
    call = profile.node(main, code, 0x100)
    for offset, seconds in ((0x204, 1.0), (0x212, 2.0), (0x218, 4.0), (0x224, 8.0), (0x900, 16.0)):
        profile.value(profile.node(call, code, offset), 0, seconds)
    profile.write(tmp_path / "a.m/p.hpcrun")
    structure(tmp_path / "a.m/structs/program.hpcstruct", "/bin/program", """
<F i="3" n="a.c"><P i="4" n="main" l="1" v="{[0x100-0x101)}"><S i="5" l="2" v="{[0x100-0x110)}"/></P>
<P i="6" n="work" l="10" v="{[0x200-0x201)}"><S i="7" l="11" v="{[0x200-0x210)}"/>
<L i="8" l="12" f="a.c" v="{[0x210-0x211)}"><S i="9" l="13" v="{[0x210-0x220)}"/>
<A i="10" l="14" f="a.c" n="" v="{}"><A i="11" l="3" f="b.h" n="helper" v="{}"><S i="12" l="4" v="{[0x220-0x230)}"/>
<S i="13" l="99" v="{[0x204-0x208) [0x1f0-0x205) [0x200-0x206) [0x203-0x300)}"/></A></A><X i="14"><S i="15" l="1" v="{[0x900-0x910)}"/></X></L></P></F>
""")
    database = convert(tmp_path)
    work = ("main thread", "main", "a.c:2", "work")
    loop = (*work, "loop a.c:12")
    found = values(database, "CPUTIME (sec)")
    assert found[work] == 15 and found[(*work, "a.c:11")] == 1 and found[loop] == 14
    assert found[(*loop, "a.c:13")] == 6
    assert found[(*loop, "a.c:14", "helper", "b.h:4")] == 8
    assert found[("main thread", "main", "a.c:2", "0x900")] == 16
    function = values(database, "CPUTIME (sec)", "function")
    assert function[work] == 7 and (*loop, "a.c:14") not in function and function[(*loop, "a.c:14", "helper")] == 8
    assert (*loop, "a.c:13") not in values(database, "CPUTIME (sec)", "point")


def timed(folder: Path, number: int, seconds: float) -> Path:
    """A profile of one thread, all of whose time is at one address."""
    profile = Profile(thread(number), [Metric("CPUTIME (sec)", real=True)])
    main = profile.node(profile.node(0, 0, PRIMARY), 0, MAIN)
    profile.value(profile.node(main, profile.module("/bin/program"), 0x204), 0, seconds)
    profile.write(folder / f"p-{number}.hpcrun")
    return folder / f"p-{number}.hpcrun"


def test_one_bad_profile_of_several(tmp_path):
    """It is left out, said and counted; the others are there. A folder of bad ones is refused."""
    first, second = (timed(tmp_path / "a.m", number, number + 1.0) for number in range(2))
    first.write_bytes(first.read_bytes()[:100])
    result = run_sonde("import", tmp_path / "a.m", "-o", tmp_path / "left.sdb")
    assert result.status == 0 and len(result.err_lines) == 1
    assert "1 file was left out" in result.err and first.name in result.err
    about = json.loads(run_sonde("info", tmp_path / "left.sdb", "--format", "json").out)
    assert about["drops"] == {"import-unreadable": 1} and [metric["sum"] for metric in about["metrics"]] == [2.0]
    second.write_bytes(second.read_bytes()[:100])
    assert refused(tmp_path, tmp_path / "a.m")


def test_structure_from_elsewhere(tmp_path):
    """Structure files given by -S, also compressed, count as those in the measurement."""
    timed(tmp_path / "a.m", 0, 1.0)
    structure(tmp_path / "there/program.hpcstruct", "/bin/program",
              '<F i="3" n="a.c"><P i="4" n="work" l="1" v="{[0x200-0x201)}"><S i="5" l="2" v="{[0x200-0x210)}"/></P></F>')
    assert ("main thread", "0x204") in values(convert(tmp_path), "CPUTIME (sec)")
    place = ("main thread", "work", "a.c:2")
    assert values(convert(tmp_path, "-S", tmp_path / "there"), "CPUTIME (sec)")[place] == 1.0
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed/program.hpcstruct.gz").write_bytes(gzip.compress((tmp_path / "there/program.hpcstruct").read_bytes()))
    assert values(convert(tmp_path, "-S", tmp_path / "packed"), "CPUTIME (sec)")[place] == 1.0


def test_several_folders_make_one_database(tmp_path):
    for name, seconds in (("a.m", 1.0), ("b.m", 2.0), ("c.m", 4.0)):
        timed(tmp_path / name, 0, seconds)
    database = convert(tmp_path, tmp_path / "b.m", tmp_path / "c.m")
    assert total(database, "CPUTIME (sec)") == 7.0
    assert sum(not summary for _, summary, _ in database.profiles) == 3


KERNEL = """
<F i="3" n="k.cu"><P i="4" n="kernel" l="1" v="{[0x0-0x1)}"><S i="5" l="2" v="{[0x0-0x10)}"/>
<C i="6" l="3" t="0x100" v="{[0x10-0x20)}"/><C i="7" l="4" t="0x100" v="{[0x20-0x30)}"/></P>
<P i="8" n="device" l="10" v="{[0x100-0x101)}"><S i="9" l="11" v="{[0x100-0x120)}"/>
<C i="10" l="12" t="0x100" v="{[0x120-0x130)}"/></P></F>
"""


def gpu_profile(metrics: list[Metric]) -> tuple[Profile, int, int]:
    profile = Profile(thread(), metrics)
    gpu = profile.module("gpubins/code.gpubin")
    main = profile.node(profile.node(0, 0, PRIMARY), 0, MAIN)
    call = profile.node(main, profile.module("/bin/program"), 0x10)
    return profile, profile.node(call, 0, letters("GPUKernl")), gpu


def test_gpu_samples_are_shared_out(tmp_path):
    """Samples in a function that calls itself: over its two calls, by what was sampled at them."""
    profile, launch, gpu = gpu_profile([Metric("GKER:COUNT", relation=True), Metric("GINS")])
    kernel = profile.node(launch, gpu, 0)
    profile.value(kernel, 0, 5)
    for offset, samples in ((0x10, 30), (0x20, 10), (0x110, 100)):
        profile.value(profile.node(launch, gpu, offset, unwound=False), 1, samples)
    profile.write(tmp_path / "a.m/p.hpcrun")
    structure(tmp_path / "a.m/structs/code.hpcstruct", "gpubins/code.gpubin", KERNEL, has_calls=True)
    database = convert(tmp_path)
    found = values(database, "GINS")
    top = ("main thread", "0x10", "<gpu kernel>", "kernel")
    assert found[top] == 140 and found[(*top, "k.cu:3", "device")] == 75 and found[(*top, "k.cu:4", "device")] == 25
    assert values(database, "GKER:COUNT", "point") == {top: 5}
    # without structure nothing is known of who called
    flat = convert(tmp_path, "--no-structure")
    assert values(flat, "GINS")["main thread", "0x10", "<gpu kernel>", "?", "0x110"] == 100


CIRCLE = """
<F i="3" n="k.cu"><P i="4" n="kernel" l="1" v="{[0x0-0x1)}"><S i="5" l="2" v="{[0x0-0x10)}"/>
<C i="6" l="3" t="0x100" v="{[0x10-0x20)}"/><C i="7" l="4" t="0x200" v="{[0x20-0x30)}"/></P>
<P i="8" n="first" l="10" v="{[0x100-0x101)}"><S i="9" l="11" v="{[0x100-0x120)}"/>
<C i="10" l="12" t="0x200" v="{[0x120-0x130)}"/></P>
<P i="11" n="second" l="20" v="{[0x200-0x201)}"><S i="12" l="21" v="{[0x200-0x220)}"/>
<C i="13" l="22" t="0x100" v="{[0x220-0x230)}"/></P></F>
"""


@pytest.mark.parametrize("is_root_called", [True, False])
def test_gpu_circle_of_calls(tmp_path, is_root_called):
    """Two functions that call each other: a call to the first met leads to both, one to the other to that alone;
    where nobody outside calls the first, both are found by way of the other."""
    profile, launch, gpu = gpu_profile([Metric("GKER:COUNT", relation=True), Metric("GINS")])
    profile.value(profile.node(launch, gpu, 0), 0, 5)
    for offset, samples in ((0x10, 30), (0x20, 10), (0x110, 100), (0x210, 1000)):
        if is_root_called or offset != 0x10:
            profile.value(profile.node(launch, gpu, offset, unwound=False), 1, samples)
    profile.write(tmp_path / "a.m/p.hpcrun")
    text = CIRCLE if is_root_called else CIRCLE.replace('<C i="6" l="3" t="0x100" v="{[0x10-0x20)}"/>', "")
    structure(tmp_path / "a.m/structs/code.hpcstruct", "gpubins/code.gpubin", text, has_calls=True)
    found = values(convert(tmp_path), "GINS")
    top = ("main thread", "0x10", "<gpu kernel>", "kernel")
    calls = {key[len(top):]: value for key, value in found.items() if key[len(top) + 1:] in (("first",), ("second",))}
    if is_root_called:
        assert calls == {("k.cu:3", "first"): 100, ("k.cu:3", "second"): 750, ("k.cu:4", "second"): 250}
    else:
        assert calls == {("k.cu:4", "first"): 100, ("k.cu:4", "second"): 1000}


def test_gpu_ranges(tmp_path):
    """Samples of a range of launches, measured apart: by launches of each, scaled to all launches."""
    profile, first, gpu = gpu_profile([Metric("GKER:COUNT", relation=True), Metric("GKER:SAMPLED_COUNT", relation=True),
                                       Metric("GINS")])
    second = profile.node(profile.node(2, profile.module("/bin/program"), 0x99), 0, letters("GPUKernl"))
    for launch, sampled, launches in ((first, 3, 6), (second, 1, 1)):
        kernel = profile.node(launch, gpu, 0)
        ranges = profile.node(profile.node(kernel, GPU_DEVICE, 1), GPU_RANGE, 77)
        profile.value(ranges, 0, launches)
        profile.value(ranges, 1, sampled)
    samples = profile.node(profile.node(profile.node(0, GPU_ROOT, 0), GPU_DEVICE, 1), GPU_RANGE, 77)
    profile.value(profile.node(samples, gpu, 0x4, unwound=False), 2, 40)
    profile.write(tmp_path / "a.m/p.hpcrun")
    structure(tmp_path / "a.m/structs/code.hpcstruct", "gpubins/code.gpubin", KERNEL, has_calls=True)
    database = convert(tmp_path)
    found = values(database, "GINS")
    assert found["main thread", "0x10", "<gpu kernel>", "kernel", "k.cu:2"] == 40 * 3 / 4 * (6 / 3)
    assert found["main thread", "0x99", "<gpu kernel>", "kernel", "k.cu:2"] == 40 * 1 / 4
    tuples = [[database.kinds[kind] for kind, *_ in ident] for ident, summary, _ in database.profiles if not summary]
    assert sorted(tuples) == [["NODE", "GPUCONTEXT"], ["NODE", "THREAD"]]


KERNEL_SYMBOLS = """ffffffff81000000 T _text
ffffffff81002000 T do_syscall_64
ffffffff81001000 t entry_SYSCALL_64
ffffffff81003000 D some_data
nonsense
ffffffff81004000 t nv_ioctl\t[nvidia]
"""


@pytest.mark.parametrize("name", ["kernel_symbols/vmlinux.1f", "<vmlinux.1f>"], ids=["file", "older"])
@pytest.mark.parametrize("is_packed", [True, False], ids=["xz", "plain"])
def test_kernel_symbols(tmp_path, name, is_packed):
    """Functions of the kernel by the list that the measurement keeps, under both names that modules have had."""
    profile = Profile(thread(), [Metric("CPUTIME (sec)", real=True)])
    kernel = profile.module(name)
    call = profile.node(profile.node(profile.node(0, 0, PRIMARY), 0, MAIN), profile.module("/bin/program"), 0x10)
    for offset, seconds in ((0xffffffff81001010, 1.0), (0xffffffff81002fff, 2.0), (0xffffffff81003004, 4.0),
                            (0xffffffff81004100, 8.0), (0x20, 16.0)):
        profile.value(profile.node(call, kernel, offset), 0, seconds)
    profile.write(tmp_path / "a.m/p.hpcrun")
    listed = tmp_path / "a.m/kernel_symbols/vmlinux.1f"
    listed.parent.mkdir()
    text = KERNEL_SYMBOLS.encode()
    listed.write_bytes(lzma.compress(text) if is_packed else text)
    found = values(convert(tmp_path), "CPUTIME (sec)")
    above = ("main thread", "0x10")
    assert {key[2:]: value for key, value in found.items() if len(key) == 3} == {
        ("entry_SYSCALL_64 [vmlinux]",): 1, ("do_syscall_64 [vmlinux]",): 6,
        ("nv_ioctl [nvidia] [vmlinux]",): 8, ("0x20",): 16}
    assert found[above] == 31
    if is_packed:
        listed.write_bytes(listed.read_bytes()[:-20])
        assert "damaged compression" in refused(tmp_path, tmp_path / "a.m")


def test_vdso(tmp_path):
    """Functions of the vdso by the copy in the measurement, wherever the measurement was; global before weak."""
    source, copied = tmp_path / "v.c", tmp_path / "a.m/vdso/00ff.vdso"
    source.write_text("int __vdso_time(void) { return 1; }\n"
                      'int time(void) __attribute__((weak, alias("__vdso_time")));\n'
                      "int __vdso_getcpu(void) { return 2; }\n")
    copied.parent.mkdir(parents=True)
    subprocess.run(["cc", "-shared", "-nostdlib", "-O0", "-s", "-o", copied, source], check=True)
    listed = subprocess.run(["nm", "-D", "-S", copied], capture_output=True, text=True, check=True).stdout
    symbols = {line.split()[3]: [int(part, 16) for part in line.split()[:2]]
               for line in listed.splitlines() if len(line.split()) == 4}
    profile = Profile(thread(), [Metric("CPUTIME (sec)", real=True)])
    main = profile.node(profile.node(0, 0, PRIMARY), 0, MAIN)
    for i, path in enumerate(("vdso/00ff.vdso", "/long/gone.m/vdso/00ff.vdso")):
        module = profile.module(path)
        for offset, seconds in ((symbols["__vdso_time"][0] + 1, 1.0), (symbols["__vdso_getcpu"][0], 2.0),
                                (sum(symbols["__vdso_getcpu"]) + 0x100, 4.0)):
            profile.value(profile.node(profile.node(main, profile.module("/bin/program"), i + 1), module, offset), 0, seconds)
    profile.write(tmp_path / "a.m/p.hpcrun")
    beyond = hex(sum(symbols["__vdso_getcpu"]) + 0x100)
    for options in ((), ("--no-structure",)):
        found = values(convert(tmp_path, *options), "CPUTIME (sec)")
        assert {key[1:]: value for key, value in found.items() if len(key) == 3} == {
            (caller, name): value for caller in ("0x1", "0x2")
            for name, value in (("__vdso_time", 1), ("__vdso_getcpu", 2), (beyond, 4))}
    copied.write_bytes(copied.read_bytes()[:100])
    found = values(convert(tmp_path), "CPUTIME (sec)")  # a copy that is cut short names nothing
    assert ("main thread", "0x1", hex(symbols["__vdso_getcpu"][0])) in found


def logical_table(path: Path, entries: list[tuple[int, str, str, int]]) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"HPCLOGICAL"
    for number, name, file, line in entries:
        data += struct.pack(">II", number, len(name)) + name.encode() + b"\0"
        data += struct.pack(">I", len(file)) + file.encode() + struct.pack(">I", line)
    path.write_bytes(data)
    return data


def test_logical_code(tmp_path):
    """An interpreter's functions: a number of the table and a line are an address."""
    profile = Profile(thread(), [Metric("CPUTIME (sec)", real=True)])
    module = profile.module("logical/python.4711")
    main = profile.node(profile.node(0, 0, PRIMARY), 0, MAIN)
    caller = profile.node(main, module, 1 << 32 | 12)
    for address, seconds in ((2 << 32 | 34, 1.0), (2 << 32 | 35, 2.0), (3 << 32 | 7, 4.0), (9 << 32 | 1, 8.0)):
        profile.value(profile.node(caller, module, address), 0, seconds)
    profile.write(tmp_path / "a.m/p.hpcrun")
    table = tmp_path / "a.m/logical/python.4711"
    data = logical_table(table, [(2, "work", "a.py", 30), (1, "<module>", "a.py", 1), (3, "builtin", "", 0)])
    found = values(convert(tmp_path), "CPUTIME (sec)")
    top = ("main thread", "<module>", "a.py:12")
    assert found[top] == 15 and found[(*top, "work")] == 3
    assert found[(*top, "work", "a.py:34")] == 1 and found[(*top, "work", "a.py:35")] == 2
    assert found[(*top, "builtin")] == 4
    table.write_bytes(data[:-3])  # the program was still writing: what is whole counts
    found = values(convert(tmp_path), "CPUTIME (sec)")
    assert found[(*top, "work")] == 3 and (*top, "builtin") not in found


def test_missing_pieces(tmp_path):
    """Call paths whose beginning is unknown, a stream, idleness, a device's copy, ranks."""
    profile = Profile(thread(3, rank=5), [Metric("GXCOPY (sec)", real=True, relation=True)])
    root = profile.node(0, 0, PRIMARY)
    idle = profile.node(root, 0, IDLE)
    lost = profile.node(profile.node(root, 0, PARTIAL), profile.module("/bin/program"), 0x40)
    copy = profile.node(lost, 0, letters("GPUCpH2D"))
    profile.value(copy, 0, 0.5)
    profile.value(profile.node(root, 1, 0x80), 0, 0.25)  # code with nobody above it
    profile.trace = [(10, idle), (20, copy)]
    profile.write(tmp_path / "a.m/p.hpcrun")
    stream = Profile([(NODE | 2 << 14, 0x7F0101, 0), (GPU_CONTEXT | LOGICAL_ONLY, 1, 1),
                      (GPU_STREAM | LOGICAL_ONLY, 7, 7)], [Metric("GXCOPY (sec)", real=True)])
    stream.node(0, 0, PRIMARY)
    stream.write(tmp_path / "a.m/s.hpcrun")
    database = convert(tmp_path)
    assert values(database, "GXCOPY (sec)", "point") == {("unknown entry", "0x40", "<gpu copyin>"): 0.5,
                                                         ("unknown entry", "0x80"): 0.25}
    assert len(database.profiles) == 3
    line = next(line for line in database.traces.values() if line)
    assert [context == 0 for _, context in line] == [True, False]
    profiles = json.loads(run_sonde("info", "--format", "json", tmp_path / "1.sdb").out)["profiles"]
    assert {(p["rank"], p["kind"], p["thread"]) for p in profiles} == {
        (5, "thread", "NODE 0x7f0101 RANK 5 THREAD 3"), (-1, "stream", "NODE 0x7f0101 GPUCONTEXT 1 GPUSTREAM 7")}


def sample() -> Profile:
    profile = Profile(thread(), [Metric("CPUTIME (sec)", real=True)])
    node = profile.node(profile.node(profile.node(0, 0, PRIMARY), 0, MAIN), profile.module("/bin/program"), 1)
    profile.value(node, 0, 1.0)
    profile.trace = [(10, node)]
    return profile


@pytest.mark.parametrize("is_absolute", [True, False])
def test_own_structure(tmp_path, is_absolute):
    """What `sonde structure` writes is read like hpcstruct's, under the path that it was given."""
    written = tmp_path / "program.hpcstruct"
    path = MAKE_DB if is_absolute else Path(os.path.relpath(MAKE_DB, MAKE_DB.parents[1]))
    result = run_sonde("structure", "--format", "xml", path, "-o", written, cwd=MAKE_DB.parents[1])
    assert result.status == 0, result.err
    main = next(p for p in ElementTree.parse(written).iter("P") if p.get("n") == "main")
    address = int(re.match(r"{\[(0x[0-9a-f]+)-", main.get("v"))[1], 16)
    profile = Profile(thread(), [Metric("CPUTIME (sec)", real=True)])
    node = profile.node(profile.node(profile.node(0, 0, PRIMARY), 0, MAIN), profile.module(str(MAKE_DB)), address)
    profile.value(node, 0, 1.0)
    profile.write(tmp_path / "a.m/p.hpcrun")
    found = values(convert(tmp_path, "-S", written), "CPUTIME (sec)")
    assert found[("main thread", "main")] == 1 and len(found) >= 3, found


def test_damage(tmp_path):
    """Cut anywhere, and with bytes changed: refused in one line, or read."""
    data = sample().bytes()
    path = tmp_path / "p.hpcrun"
    for length in [*range(0, 60, 7), *range(60, len(data), 41), len(data) - 1]:
        path.write_bytes(data[:length])
        assert str(path) in refused(tmp_path, path)
    random.seed(1)
    for _ in range(60):
        changed = bytearray(data)
        for _ in range(3):
            changed[random.randrange(len(data))] = random.choice((0, 1, 0x7F, 0xFF))
        path.write_bytes(changed)
        result = run_sonde("import", path, "-o", tmp_path / "x.sdb")
        assert result.status in (0, 128) and len(result.err_lines) == (1 if result.status else 0)


@pytest.mark.parametrize("change, says", [
    (lambda p: setattr(p, "nodes", [(1, 9, 0, PRIMARY, 1)]), "a call path with a missing caller"),
    (lambda p: p.nodes.append((1, 1, 0, MAIN, 1)), "two call paths with one number"),
    (lambda p: p.node(3, 55, 1), "a call path in a missing module"),
    (lambda p: p.value(99, 0, 1.0), "a value of a missing call path"),
    (lambda p: p.value(3, 0, float("nan")), "a value where none is possible"),
    (lambda p: setattr(p, "ids", []), "it does not name its thread"),
], ids=["caller", "twice", "module", "value", "nan", "ids"])
def test_nonsense(tmp_path, change, says):
    profile = sample()
    change(profile)
    profile.write(tmp_path / "p.hpcrun")
    assert says in refused(tmp_path, tmp_path / "p.hpcrun")


def test_other_versions(tmp_path):
    path = tmp_path / "p.hpcrun"
    path.write_bytes(sample().bytes().replace(b"04.00b", b"05.00b"))
    assert "version 05.00" in refused(tmp_path, path)
    # what is no version is not repeated: it may be anything
    path.write_bytes(sample().bytes().replace(b"04.00b", b"\x1b[\n\x9b1b"))
    assert refused(tmp_path, path).endswith(": no version after its magic\n")
    sample().write(path)
    trace = path.with_suffix(".hpctrace")
    trace.write_bytes(trace.read_bytes().replace(b"01.01b", b"01.09b"))
    assert "version 01.09" in refused(tmp_path, path)
    trace.write_bytes(trace.read_bytes().replace(b"01.09b", b"01.01b") + b"x")
    assert "cut short" in refused(tmp_path, path)


def test_damaged_structure(tmp_path):
    sample().write(tmp_path / "a.m/p.hpcrun")
    file = tmp_path / "a.m/structs/x.hpcstruct"
    for body, says in (('<F n="a"><P n="f" l="1" v="{}"></P></F>', "no address"), ("<F n='a'>", "mismatched"),
                       ('<F n="a"><P n="f" l="x" v="{[0x1-0x2)}"/></F>', "not a number"),
                       ('<F n="a"><S l="1" v="{[0x1-0x2)}"/></F>', "outside a function")):
        structure(file, "/bin/program", body)
        line = refused(tmp_path, tmp_path / "a.m")
        assert says in line and "x.hpcstruct" in line


def test_damaged_database(tmp_path):
    sample().write(tmp_path / "a.m/p.hpcrun")
    good = export_to(tmp_path / "a.d", import_to(tmp_path / "a.sdb", tmp_path / "a.m"))
    random.seed(2)
    for name in ("meta.db", "profile.db", "trace.db"):
        data = (good / name).read_bytes()
        for cut in range(16, len(data), len(data) // 12):
            (good / name).write_bytes(data[:cut])
            assert name in refused(tmp_path, good)
        (good / name).write_bytes(data[:14] + b"\5" + data[15:])
        assert "version 5" in refused(tmp_path, good)
        for _ in range(25):
            changed = bytearray(data)
            changed[random.randrange(16, len(data) - 8)] = random.choice((0, 0x7F, 0xFF))
            (good / name).write_bytes(changed)
            result = run_sonde("import", good, "-o", tmp_path / "x.sdb")
            assert result.status in (0, 128) and len(result.err_lines) == (1 if result.status else 0)
        (good / name).write_bytes(data)


def test_contexts_are_checked(tmp_path):
    """cct.db has to be the transpose of profile.db; it may be missing, because nothing is in it alone."""
    sample().write(tmp_path / "a.m/p.hpcrun")
    good = export_to(tmp_path / "a.d", import_to(tmp_path / "a.sdb", tmp_path / "a.m"))
    contexts, profiles = good / "cct.db", good / "profile.db"
    data = contexts.read_bytes()
    for cut in range(16, len(data), len(data) // 12):
        contexts.write_bytes(data[:cut])
        assert "cct.db" in refused(tmp_path, good)
    at = data.rindex(struct.pack("<d", 1.0))
    contexts.write_bytes(data[:at] + struct.pack("<d", 2.0) + data[at + 8:])
    assert "cct.db': its values are not those of profile.db" in refused(tmp_path, good)
    random.seed(3)
    for _ in range(40):
        changed = bytearray(data)
        changed[random.randrange(16, len(data) - 8)] = random.choice((0, 0x7F, 0xFF))
        contexts.write_bytes(changed)
        result = run_sonde("import", good, "-o", tmp_path / "x.sdb")
        assert result.status in (0, 128) and len(result.err_lines) == (1 if result.status else 0)
    contexts.write_bytes(data)
    before = profiles.read_bytes()
    at = before.rindex(struct.pack("<d", 1.0))
    profiles.write_bytes(before[:at] + struct.pack("<d", 2.0) + before[at + 8:])
    assert "not those of profile.db" in refused(tmp_path, good)
    profiles.write_bytes(before)
    contexts.unlink()
    assert export_to(tmp_path / "b.d", import_to(tmp_path / "b.sdb", good)).is_dir()


def test_info_of_imported(tmp_path):
    """HPCToolkit does not tell whether all was measured: that is what is said."""
    sample().write(tmp_path / "a.m/p.hpcrun")
    database = import_to(tmp_path / "a.sdb", tmp_path / "a.m")
    assert json.loads(run_sonde("info", "--format", "json", database).out)["complete"] is None
    text = run_sonde("info", database).out
    assert "not known: imported from hpctoolkit" in text and "every process ended" not in text
    assert "nothing is missing" not in text and "Cost of measuring" not in text and "duration" not in text


def test_hip(tmp_path):
    """HIP's calls have copies, allocations and kernels below them, and no samples; streams are apart."""
    metrics = [Metric(f"{name} (sec)", real=True) for name in ("GKER", "GXCOPY", "GMEM")]
    profile = Profile(thread(), [*metrics, Metric("GXCOPY:H2D (B)"), Metric("GKER:COUNT")])
    main = profile.node(profile.node(profile.node(0, 0, PRIMARY), 0, MAIN), profile.module("/bin/program"), 0x10)
    hip = profile.module("/opt/rocm/lib/libamdhip64.so.5")
    places = [profile.node(profile.node(main, hip, offset), 0, letters(name))
              for offset, name in ((0x100, "GPUKernl"), (0x200, "GPUCpH2D"), (0x300, "GPUAlloc"))]
    for place, metric, value in ((0, 0, 0.5), (0, 4, 3), (1, 1, 0.25), (1, 3, 4096), (2, 2, 0.125)):
        profile.value(places[place], metric, value)
    profile.write(tmp_path / "a.m/p.hpcrun")
    stream = Profile([(NODE | 2 << 14, 0x7F0101, 0), (GPU_CONTEXT | LOGICAL_ONLY, 0, 0),
                      (GPU_STREAM | LOGICAL_ONLY, 3, 3)], metrics)
    stream.trace = [(100, stream.node(stream.node(stream.node(0, 0, PRIMARY), 0, letters("GPUKernl")),
                                      stream.module("/bin/program"), 0x10)), (200, 1)]
    stream.write(tmp_path / "a.m/s.hpcrun")
    database = convert(tmp_path)
    top = ("main thread", "0x10")
    assert values(database, "GKER (sec)", "point") == {(*top, "0x100", "<gpu kernel>"): 0.5}
    assert values(database, "GXCOPY (sec)", "point") == {(*top, "0x200", "<gpu copyin>"): 0.25}
    assert values(database, "GMEM (sec)", "point") == {(*top, "0x300", "<gpu alloc>"): 0.125}
    assert total(database, "GXCOPY:H2D (B)") == 4096 and total(database, "GKER:COUNT") == 3
    assert [[t for t, _ in line] for line in database.traces.values() if line] == [[100, 200]]


def test_export_over_something_else(tmp_path, small_db):
    """A folder that is no database is not replaced."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/file").write_text("mine")
    result = run_sonde("export", "--to", "hpctoolkit", small_db, "-o", tmp_path / "mine")
    assert result.status == 128 and "something else" in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"] and (tmp_path / "mine/file").exists()


def test_hatchet_opens_it(tmp_path, small_db):
    """Hatchet's reader of these databases: the tree's size, and the sum of the root's children."""
    python = os.environ.get("SONDE_HATCHET_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import hatchet"], capture_output=True).returncode != 0:
        pytest.skip("hatchet is not installed (pip install llnl-hatchet, SONDE_HATCHET_PYTHON)")
    folder = export_to(tmp_path / "small.d", small_db)
    code = ("import hatchet, json, sys\n"
            "frame = hatchet.GraphFrame.from_hpctoolkit_latest(sys.argv[1])\n"
            "roots = frame.graph.roots\n"
            "print(json.dumps([len(frame.graph), [frame.dataframe.loc[r, 'time (inc)'] for r in roots]]))")
    done = subprocess.run([python, "-c", code, folder], capture_output=True, text=True, check=True)
    nodes, times = json.loads(done.stdout.splitlines()[-1])
    database = Database(folder)
    assert nodes == len(database.contexts) - 1
    assert sum(times) == pytest.approx(total(database, "CPUTIME (sec)"))


def test_runs_are_told_apart(tmp_path):
    """Several measurements and databases are runs with names, and their threads are known by them."""
    for run in ("a", "b"):
        profile = Profile(thread(), [Metric("CPUTIME (sec)", real=True)])
        profile.value(profile.node(profile.node(0, 0, PRIMARY), profile.module("/bin/program"), 0x10), 0, 1.0)
        profile.write(tmp_path / f"{run}.m/p.hpcrun")
    single = import_to(tmp_path / "a.sdb", tmp_path / "a.m")
    export_to(tmp_path / "c.d", single)
    database = import_to(tmp_path / "all.sdb", tmp_path / "a.m", tmp_path / "b.m/", tmp_path / "c.d")
    rows = json.loads(run_sonde("report", "--view", "threads", "--format", "json", database).out)["rows"]
    names = sorted(row["name"] for row in rows)
    assert [name.split(":")[0] for name in names] == ["a.m", "b.m", "c.d"] and names[0][3:] == names[1][3:]
    one = json.loads(run_sonde("report", "--view", "threads", "--thread", "b.m", "--format", "json", database).out)
    assert [row["name"] for row in one["rows"]] == [names[1]]
    assert "Runs" in run_sonde("info", database).out and "Runs" not in run_sonde("info", single).out
    both = import_to(tmp_path / "files.sdb", tmp_path / "a.m/p.hpcrun", tmp_path / "b.m/p.hpcrun")
    assert "Runs" not in run_sonde("info", both).out


def test_a_part_of_a_folder_is_not_enough(tmp_path):
    sample().write(tmp_path / "a.m/p.hpcrun")
    (tmp_path / "a.m/structs").mkdir()
    (tmp_path / "a.m/structs/x.hpcstruct").write_text("<HPCToolkitStructure i=\"0\" version=\"4.9\" n=\"\"></HPCToolkitStructure>")
    export_to(tmp_path / "b.d", import_to(tmp_path / "a.sdb", tmp_path / "a.m"))
    for part, folder in (("a.m/structs/x.hpcstruct", "a.m"), ("b.d/meta.db", "b.d"), ("b.d/metrics/default.yaml", "b.d")):
        assert f"part of the HPCToolkit folder '{tmp_path / folder}'" in refused(tmp_path, tmp_path / part)
    result = run_sonde("import", "meta.db", "-o", tmp_path / "x.sdb", cwd=tmp_path / "b.d")
    assert result.status == 128 and "part of the HPCToolkit folder '.'" in result.err


def test_what_is_shown_first_stays_the_same(tmp_path, small_db):
    """The metric that reports begin with, after an export and an import; and no row is called by its kind."""
    database = import_to(tmp_path / "b.sdb", export_to(tmp_path / "b.d", small_db))
    first = [json.loads(run_sonde("report", "--format", "json", file).out)["metrics"][0]["name"]
             for file in (small_db, database)]
    assert first == ["cpu-time", "CPUTIME (sec)"]
    assert "(line)" not in run_sonde("report", "--full", database).out


def test_traces_alone(tmp_path):
    """They have no call paths; a line says so, and not that the format is unknown."""
    profile = Profile(thread(), [Metric("time (sec)", period=1)])
    profile.trace = [(1, 1), (2, 0)]
    profile.write(tmp_path / "a.m/p.hpcrun")
    assert "a trace has no call paths" in refused(tmp_path, tmp_path / "a.m/p.hpctrace")
    (tmp_path / "a.m/p.hpcrun").unlink()
    assert "without profiles (.hpcrun)" in refused(tmp_path, tmp_path / "a.m")


def test_a_folder_without_structure(tmp_path):
    profile = Profile(thread(), [Metric("time (sec)", period=1)])
    profile.write(tmp_path / "a.m/p.hpcrun")
    (tmp_path / "empty").mkdir()
    assert "no structure files" in refused(tmp_path, tmp_path / "a.m", "-S", tmp_path / "empty")


def test_idle_time_of_a_stream(tmp_path):
    """Ten rounds of 10 ms: a kernel for 1 ms, then the host is in prepare for 6 ms and in check for 3 ms, each called by
    main; its samples are 1 ms apart. So is what the database says that is exported from that."""
    host = Profile(thread(), [Metric("CPUTIME (sec)", real=True)])
    main = host.node(host.node(host.node(0, 0, PRIMARY), 0, MAIN), host.module("/bin/program"), 0x108)
    prepare, check = (host.node(main, host.module("/bin/program"), at) for at in (0x208, 0x308))
    host.trace = [(1000000 * (10 * round + ms), prepare if ms <= 7 else check) for round in range(10) for ms in range(2, 11)]
    host.write(tmp_path / "a.m/p.hpcrun")
    stream = Profile([(NODE | 2 << 14, 0x7F0101, 0), (GPU_CONTEXT | LOGICAL_ONLY, 0, 0),
                      (GPU_STREAM | LOGICAL_ONLY, 3, 3)], [Metric("GKER (sec)", real=True)])
    launch = stream.node(stream.node(stream.node(0, 0, PRIMARY), 0, MAIN), stream.module("/bin/program"), 0x104)
    kernel = stream.node(stream.node(launch, 0, letters("GPUKernl")), stream.module("/bin/gpubins/k.gpubin"), 0x10)
    stream.value(kernel, 0, 0.01)
    ends = stream.node(stream.node(0, 0, PRIMARY), 0, IDLE)
    stream.trace = [(1000000 * (10 * round + ms), kernel if ms == 0 else ends) for round in range(11) for ms in (0, 1)]
    stream.write(tmp_path / "a.m/s.hpcrun")
    structure(tmp_path / "a.m/structs/program.hpcstruct", "/bin/program", '<F i="3" n="a.c">' + "".join(
        f'<P i="{i}" n="{name}" l="{i}" v="{{[0x{i}00-0x{i}01)}}"><S i="{i}1" l="{i}" v="{{[0x{i}00-0x{i}10)}}"/></P>'
        for i, name in ((1, "main"), (2, "prepare"), (3, "check"))) + "</F>")
    convert(tmp_path)
    for database in (tmp_path / "1.sdb", tmp_path / "2.sdb"):
        shown = json.loads(run_sonde("timeline", database, "--view", "idle", "--format", "json").out)
        assert [(row["node"], row["time_ns"]) for row in shown["blame"]["rows"]] == [
            ("prepare in main", 60e6), ("check in main", 30e6)], database
        text = " ".join(run_sonde("timeline", database).out.split())
        assert "device 0: 101 ms, 11 operations on 1 stream" in text and "idle 90.0 ms 89.1% in 10 gaps" in text, text
        assert "the host was most in prepare in main (66.7%)" in text
