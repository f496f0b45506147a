# SPDX-License-Identifier: Apache-2.0
"""Every address of every function of the symbol fixtures, against llvm-symbolizer and addr2line.

Files, lines and the chain of inlined calls must be equal at each address; addr2line is not asked about
DWARF 5 and LTO, where that of binutils 2.40 names the unit instead of the file or loses inlined calls.
Names must be llvm-symbolizer's (addr2line sometimes prefers a symbol nearby), with two differences that
are meant: a function whose debug information has no symbol carries its scopes in front, and what a
compiler split off carries its function's name.
"""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("SONDE_BUILD", ROOT / "build"))
SOURCES = ROOT / "tests/workloads/binary/symbols"
SYMBOLIZE = BUILD / "bench/bench_symbolize"

CASES = [(compiler, options, level)
         for compiler, options in [("g++", "-gdwarf-5"), ("g++", "-gdwarf-4"), ("g++", "-gdwarf-3"),
                                   ("g++", "-gdwarf-2"), ("g++", "-gdwarf-5 -gz"),
                                   ("g++", "-gdwarf-4 -ffunction-sections"), ("g++", "-g -flto"),
                                   ("g++", "-gdwarf-5 -gdwarf64"), ("clang++", "-gdwarf-4"),
                                   ("clang++", "-gdwarf-5"), ("clang++", "-gdwarf-5 -gz")]
         for level in ("-O0", "-O2")]


def function_addresses(path):
    addresses = set()
    for line in subprocess.run(["readelf", "-sW", path], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        fields = line.split()
        if len(fields) > 7 and fields[3] == "FUNC" and fields[6] != "UND":
            start, size = int(fields[1], 16), int(fields[2], 0)
            addresses |= set(range(start, start + size))
    return sorted(addresses)


def locations(command, addresses):
    """{address: [(name, file, line), ...]}, innermost first."""
    text = subprocess.run(command, input="".join("0x%x\n" % a for a in addresses), text=True,
                          capture_output=True, check=True).stdout
    found, lines, at = {}, text.splitlines(), 0
    while at < len(lines):
        if re.fullmatch("0x[0-9a-f]+", lines[at]):
            current = found.setdefault(int(lines[at], 16), [])
            at += 1
            continue
        place = re.sub(r" \(discriminator \d+\)$", "", lines[at + 1])
        file, _, line = place.rpartition(":")
        file = os.path.normpath(file) if file not in ("", "??") else "??"
        # where a file is unknown addr2line names the unit instead
        current.append((lines[at], file, int(line) if line.isdigit() else 0))
        at += 2
    return found


def same_name(theirs, ours):
    if ours == theirs or ours == re.sub(r"(\.(cold|part|isra|constprop|lto_priv)(\.\d+)*)+$", "", theirs):
        return True
    # what LTO calls a function whose own name it dropped
    if re.fullmatch(r"shapes\.cc\.[0-9a-f]+", theirs):
        return True
    # D1 and D2, C1 and C2: two symbols of one function
    either = r"([CD])[12](?=[EI])"
    if re.sub(either, r"\1", ours) == re.sub(either, r"\1", theirs):
        return True
    base = re.match(r"operator\(\)|operator[^\w<]+|[^<(]+", theirs).group()
    return not theirs.startswith("_Z") and re.search(r"(^|::)%s($|<)" % re.escape(base), ours)


def same(theirs, ours, are_names_compared):
    if len(theirs) != len(ours):
        return False
    return all((not are_names_compared or same_name(a[0], b[0])) and (a[1:] == b[1:] or (a[2] == 0 and b[2] == 0))
               for a, b in zip(theirs, ours))


def oracles(compiler, options):
    """(command, whether its names are right, too)"""
    if shutil.which("llvm-symbolizer"):
        yield ["llvm-symbolizer", "--output-style=GNU", "-f", "-i", "-a", "--no-demangle", "-e"], True
    if shutil.which("addr2line") and compiler == "g++" and re.search("-gdwarf-[234]", options):
        yield ["addr2line", "-f", "-i", "-a", "-e"], False


@pytest.mark.parametrize("compiler,options,level", CASES)
def test_every_address_as_others_say(compiler, options, level, tmp_path):
    asked = list(oracles(compiler, options))
    if not asked or not shutil.which(compiler) or not shutil.which("readelf"):
        pytest.skip("no %s, or nothing to compare with" % compiler)
    if not SYMBOLIZE.exists():
        pytest.skip("%s is not built" % SYMBOLIZE)
    library = tmp_path / "fixture.so"
    built = subprocess.run([compiler, *options.split(), level, "-shared", "-fPIC", "-o", library,
                            SOURCES / "shapes.cc", "-x", "c++", SOURCES / "chain.c"], capture_output=True)
    if built.returncode != 0:
        pytest.skip("%s %s does not work here" % (compiler, options))
    addresses = function_addresses(library)
    assert len(addresses) > 3000
    ours = locations([SYMBOLIZE, "--print", library], addresses)
    for command, are_names_compared in asked:
        theirs = locations(command + [library], addresses)
        wrong = [(hex(a), theirs[a], ours.get(a, [])) for a in addresses
                 if not same(theirs[a], ours.get(a, []), are_names_compared)]
        assert not wrong, "%d of %d differ from %s: %s" % (len(wrong), len(addresses), command[0], wrong[:3])


def test_a_lambda_is_told_by_its_line(tmp_path):
    if not shutil.which("g++") or not SYMBOLIZE.exists():
        pytest.skip("no g++, or %s is not built" % SYMBOLIZE)
    source = SOURCES / "shapes.cc"
    line = next(number for number, text in enumerate(source.read_text().splitlines(), 1) if "add = [&]" in text)
    library = tmp_path / "fixture.so"
    subprocess.run(["g++", "-g", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    found = locations([SYMBOLIZE, "--print", library], function_addresses(library))
    names = {name for frames in found.values() for name, *_ in frames}
    assert "sn_fixture_shapes::{lambda:%d}::operator()" % line in names
    assert not [name for name in names if "{unnamed}::operator()" in name]


@pytest.mark.parametrize("form", ["dwarf4", "dwarf5"])
def test_debug_information_shared_by_dwz_says_the_same(form, tmp_path):
    fixture = BUILD / "tests/workloads/binary/symbols" / ("libsymbols_%s.so" % form)
    if not shutil.which("dwz") or not fixture.exists() or not SYMBOLIZE.exists():
        pytest.skip("no dwz, or no fixtures")
    copies = [shutil.copy(fixture, tmp_path / name) for name in ("a.so", "b.so", "c.so")]
    shared = subprocess.run(["dwz", "-m", "common.debug", *copies], cwd=tmp_path, capture_output=True)
    sections = subprocess.run(["readelf", "-SW", copies[0]], capture_output=True, text=True).stdout
    if shared.returncode != 0 or ".gnu_debugaltlink" not in sections:
        pytest.skip("this dwz shares nothing of this form")
    addresses = function_addresses(fixture)
    ours = [SYMBOLIZE, "--print"]
    assert locations([*ours, copies[0]], addresses) == locations([*ours, fixture], addresses)
    os.unlink(tmp_path / "common.debug")
    assert locations([*ours, copies[0]], addresses) != locations([*ours, fixture], addresses)
