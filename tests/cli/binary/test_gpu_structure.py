# SPDX-License-Identifier: Apache-2.0
"""`sonde structure` of GPU binaries that tests/unit/gpu_fixture.h draws: no tool of a vendor is needed."""
from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from conftest import BUILD

OUTER, SECOND, KERNEL = 0x400, 0x600, 0x2040


def made(folder: Path, kind: str, number: int) -> Path:
    path = folder / f"{kind}-{number}"
    subprocess.run([BUILD / "tests/make-gpu", kind, str(number), path], check=True)
    return path


def tree(scope: dict) -> list:
    """[kind, line or name, [children]]"""
    label = scope["name"] if scope["kind"] in ("function", "inlined") else scope["line"]
    return [scope["kind"], label, [tree(child) for child in scope.get("children", [])]]


def functions(binary: dict) -> list[dict]:
    """The list ends with a null, see docs/format/structure.md."""
    return [function for function in binary["functions"] if function]


@pytest.mark.parametrize("target", [70, 89, 90, 121])
def test_a_cubin(sonde, tmp_path: Path, target: int) -> None:
    cubin = made(tmp_path, "cubin", target)
    result = sonde("structure", "--format", "json", cubin)
    assert result.status == 0, result.err
    binary, = json.loads(result.out)["binaries"]
    assert binary["machine"] == f"sm_{target}"
    outer, helper, second = functions(binary)
    assert (outer["start"], helper["start"], second["start"]) == (OUTER, OUTER + 0x90, SECOND)
    assert tree(outer) == ["function", "outer", [
        ["line", 10, []],
        ["loop", 11, [
            ["line", 11, []],
            ["loop", 12, [["inlined", "square", [["line", 21, []]]], ["line", 12, []]]],
            ["line", 13, []]]],
        ["line", 15, []],
        ["line", 16, []]]]
    inlined = outer["children"][1]["children"][1]["children"][0]
    assert (inlined["call_file"], inlined["call_line"]) == ("/src/kernel.cu", 12)
    assert outer["file"] == "/src/kernel.cu" and outer["line"] == 10
    assert helper["name"] == "helper" and helper["linkage_name"] == "$outer$helper"
    assert [c["kind"] for c in helper["children"]] == ["loop"]
    assert second["name"] == "second" and second["bytes"] == 0x60 and second["file"] is None


def test_text(sonde, tmp_path: Path) -> None:
    result = sonde("structure", made(tmp_path, "cubin", 90))
    assert result.status == 0
    lines = result.out.splitlines()
    assert lines[0].endswith("cubin-90: sm_90, 336 bytes of code, symbols and lines")
    assert lines[2].startswith("outer  kernel.cu:10-12  0x400")
    assert lines[3].startswith("  loop  kernel.cu:11")
    assert lines[4].startswith("    loop  kernel.cu:12")
    assert lines[-1] == "3 functions, 3 loops (3 in the binary, 0 irreducible)"


def test_xml_names_addresses_as_hpctoolkit_does(sonde, tmp_path: Path) -> None:
    result = sonde("structure", "--format", "xml", made(tmp_path, "cubin", 80))
    assert result.status == 0
    assert '<P i="3" n="outer" l="10" v="{[0x400-0x401)}">' in result.out
    assert 'n="square"' in result.out


@pytest.mark.parametrize("isa, name", [(9, "gfx90a"), (10, "gfx1030"), (11, "gfx1100"), (12, "gfx1200")])
def test_a_code_object(sonde, tmp_path: Path, isa: int, name: str) -> None:
    result = sonde("structure", "--format", "json", made(tmp_path, "amd", isa))
    assert result.status == 0, result.err
    binary, = json.loads(result.out)["binaries"]
    assert binary["machine"] == name
    helper, kernel = functions(binary)
    assert helper["name"] == "helper" and not helper.get("children")
    assert kernel["name"] == "kernel" and kernel["start"] == KERNEL
    assert [c["kind"] for c in kernel["children"]] == ["loop"]


def test_one_function(sonde, tmp_path: Path) -> None:
    cubin = made(tmp_path, "cubin", 100)
    for name in ("helper", "$outer$helper", "0x490"):
        result = sonde("structure", cubin, "--function", name)
        assert result.status == 0
        assert "helper  kernel.cu:30-32" in result.out and "second" not in result.out
    assert sonde("structure", cubin, "--function", "nobody").status == 1


def test_bundles(sonde, tmp_path: Path) -> None:
    result = sonde("structure", "--format", "json", made(tmp_path, "bundle", 0), made(tmp_path, "fatbin", 86))
    assert result.status == 0, result.err
    first, second, third = json.loads(result.out)["binaries"]
    assert first["path"].endswith("bundle-0 (gfx90a:xnack- at 0x200)")
    assert [b["machine"] for b in (first, second, third)] == ["gfx90a", "gfx1100", "sm_86"]
    assert third["path"].endswith("fatbin-86 (sm_86 at 0x50)")


def test_gpu_code_of_a_program(sonde, tmp_path: Path) -> None:
    program, packed = tmp_path / "program", tmp_path / "packed"
    fatbin = made(tmp_path, "fatbin", 90)
    subprocess.run(["cc", "-x", "c", "-", "-o", program], input="int main(void) { return 0; }", text=True, check=True)
    subprocess.run(["objcopy", "--add-section", f".nv_fatbin={fatbin}", program, packed], check=True)
    result = sonde("structure", "--gpu", packed)
    assert result.status == 0 and "outer  kernel.cu:10" in result.out
    assert "x86-64" in sonde("structure", packed).out or "AArch64" in sonde("structure", packed).out
    result = sonde("structure", "--gpu", program)
    assert result.status == 128
    assert result.err_lines == [f"sonde: cannot read '{program}': no GPU code in it"]


def test_what_cannot_be_read(sonde, tmp_path: Path) -> None:
    result = sonde("structure", made(tmp_path, "cubin", 61))
    assert result.status == 128
    assert result.err_lines == [f"sonde: cannot read '{tmp_path}/cubin-61': code for sm_61: sm_70 is the oldest "
                                "that is read"]
    whole = made(tmp_path, "cubin", 90)
    for size in (70, 300, 0x410, 0x700):
        cut = tmp_path / f"cut-{size}"
        cut.write_bytes(whole.read_bytes()[:size])
        result = sonde("structure", cut)
        assert result.status in (0, 128) and len(result.err_lines) <= 1
