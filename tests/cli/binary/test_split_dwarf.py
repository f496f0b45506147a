# SPDX-License-Identifier: Apache-2.0
"""Debug information in files of their own (-gsplit-dwarf): functions, inlined calls and lines as without."""
from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import program

MAIN = """
#include <stdlib.h>
unsigned other(unsigned rounds);
static inline __attribute__((always_inline)) unsigned innermost(unsigned sum, unsigned round)
{
	for (unsigned step = 0; step < 50; step++)
		sum = sum * 31 + round % (step + 3);
	return sum;
}
static inline __attribute__((always_inline)) unsigned between(unsigned sum, unsigned round)
{
	return innermost(sum, round) + 1;
}
__attribute__((noinline)) unsigned outer(unsigned rounds)
{
	unsigned sum = 0;
	for (unsigned round = 0; round < rounds; round++)
		sum = between(sum, round);
	return sum;
}
int main(int count, char **arguments)
{
	unsigned rounds = count * 900000u;
	return (outer(rounds) + other(rounds)) == 1;
}
"""
OTHER = """
static inline __attribute__((always_inline)) unsigned in_other(unsigned sum, unsigned round)
{
	for (unsigned step = 0; step < 50; step++)
		sum = sum * 17 + round / (step + 3);
	return sum;
}
__attribute__((noinline)) unsigned other(unsigned rounds)
{
	unsigned sum = 0;
	for (unsigned round = 0; round < rounds; round++)
		sum = in_other(sum, round);
	return sum;
}
"""


def build(folder: Path, compiler: str, version: int) -> Path:
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    (folder / "main.c").write_text(MAIN)
    (folder / "other.c").write_text(OTHER)
    for unit in ("main", "other"):
        subprocess.run([compiler, "-O1", "-g", f"-gdwarf-{version}", "-gsplit-dwarf", "-c", f"{unit}.c", "-o", f"{unit}.o"],
                       cwd=folder, check=True)
        assert (folder / f"{unit}.dwo").exists()
    subprocess.run([compiler, "main.o", "other.o", "-o", "split"], cwd=folder, check=True)
    return folder / "split"


def inlined_paths(folder: Path, binary: Path) -> dict[tuple[tuple[str, str], ...], float]:
    """From main inwards: kinds and names, with their part of the whole."""
    program.run(folder, binary, options=("-F", "997"))
    found = program.paths(folder)
    total = sum(value["sum"] for _, value in found)
    result: dict[tuple[tuple[str, str], ...], float] = {}
    for frames, value in found:
        names = [frame["name"] for frame in frames]
        if "main" in names:
            key = tuple((f["kind"], f["name"]) for f in frames[names.index("main") + 1:] if f["kind"] != "loop")
            result[key] = result.get(key, 0) + value["sum"] / total
    return result


FIRST = (("native", "outer"), ("inlined", "between"), ("inlined", "innermost"))
SECOND = (("native", "other"), ("inlined", "in_other"))


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_files_beside_objects(tmp_path: Path, compiler: str, version: int) -> None:
    found = inlined_paths(tmp_path, build(tmp_path, compiler, version))
    assert found.get(FIRST, 0) > 0.2 and found.get(SECOND, 0) > 0.2, found
    rows = [row for row in program.rows(tmp_path) if row["name"] == "innermost"]
    assert {row["file"] for row in rows} == {str(tmp_path / "main.c")}
    # instructions that a compiler ties to no line are a row of their own
    lines = [row["line"] for row in rows if row["line"] is not None]
    assert lines and all(4 <= line <= 9 for line in lines), rows


@pytest.mark.parametrize(("compiler", "version", "packer"), [("gcc", 4, "dwp"), ("clang", 5, "llvm-dwp")])
def test_package(tmp_path: Path, compiler: str, version: int, packer: str) -> None:
    binary = build(tmp_path, compiler, version)
    tool = shutil.which(packer) or shutil.which(f"{packer}-14")
    if not tool:
        pytest.skip(f"no {packer}")
    done = subprocess.run([tool, "-e", binary, "-o", f"{binary}.dwp"], cwd=tmp_path, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{packer} does not pack this: {done.stderr.splitlines()[:1]}")
    for path in tmp_path.glob("*.dwo"):
        path.unlink()
    found = inlined_paths(tmp_path, binary)
    assert found.get(FIRST, 0) > 0.2 and found.get(SECOND, 0) > 0.2, found


def test_without_them_there_are_lines(tmp_path: Path) -> None:
    """And files of another build are not used; when they are there again, nothing remembers that they were not."""
    binary = build(tmp_path, "gcc", 5)
    (tmp_path / "away").mkdir()
    (tmp_path / "main.dwo").rename(tmp_path / "away/main.dwo")
    shutil.copy(tmp_path / "other.dwo", tmp_path / "main.dwo")
    found = inlined_paths(tmp_path, binary)
    assert not [key for key in found if ("inlined", "between") in key] and found.get(SECOND, 0) > 0.2, found
    assert found.get((("native", "outer"),), 0) > 0.2
    (tmp_path / "main.dwo").unlink()
    (tmp_path / "away/main.dwo").rename(tmp_path / "main.dwo")
    assert inlined_paths(tmp_path, binary).get(FIRST, 0) > 0.2
