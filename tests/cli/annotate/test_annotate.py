# SPDX-License-Identifier: Apache-2.0
"""`sonde annotate`: instructions beside what objdump says of them, and samples beside the report's."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from program import SONDE, compiled, rows

SOURCE = """
#include <stdint.h>
#include <stdlib.h>
#define APART __attribute__((noinline, noclone))
static volatile uint64_t sum;
static inline __attribute__((always_inline)) uint64_t mixed(uint64_t state)
{
	return state * 6364136223846793005u + 1442695040888963407u;
}
APART void long_part(unsigned rounds)
{
	uint64_t state = sum | 1;
	for (unsigned round = 0; round < 3 * rounds; round++)
		state = mixed(state);
	sum = state;
}
APART void short_part(unsigned rounds)
{
	uint64_t state = sum | 1;
	for (unsigned round = 0; round < rounds; round++)
		state = mixed(state);
	sum = state;
}
int main(int argc, char **argv)
{
	for (int turn = 0; turn < 1000; turn++) {
		long_part(100000);
		short_part(100000);
	}
	return argc > 5 && argv;
}
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> Path:
    """A folder with the program, its source, and what was measured of it."""
    folder = tmp_path_factory.mktemp("annotated")
    (folder / "two.c").write_text(SOURCE)
    subprocess.run(["cc", "-O2", "-g", "-fno-unroll-loops", "-Wl,--build-id", "-o", folder / "two", folder / "two.c"], check=True)
    subprocess.run([SONDE, "run", "-q", "-F", "1000", "-o", folder / "run.sdb", "--", folder / "two"], check=True, stdout=subprocess.DEVNULL)
    return folder


def annotate(folder: Path, *arguments: object, status: int = 0, **more) -> subprocess.CompletedProcess:
    done = subprocess.run([SONDE, "annotate", *map(str, arguments)], capture_output=True, text=True, cwd=folder, timeout=120, **more)
    assert done.returncode == status, done.stderr
    return done


def listing(folder: Path, *arguments: object) -> dict:
    return json.loads(annotate(folder, folder / "run.sdb", *arguments, "--format", "json").stdout)


def disassembled(folder: Path, function: str) -> dict[int, str]:
    """The mnemonic at each address, by objdump."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", folder / "two"], capture_output=True, text=True, check=True).stdout
    body = text.split(f"<{function}>:\n")[1].split("\n\n")[0]
    return {int(address, 16): words for address, words in re.findall(r"^\s*([0-9a-f]+):\s+(\S+)", body, re.M)}


@pytest.mark.parametrize("function", ["long_part", "short_part"])
def test_instructions_are_those_of_objdump(measured, function):
    found = listing(measured, f"two:{function}")["instructions"]
    expected = disassembled(measured, function)
    padding = {address for address, word in expected.items() if word.startswith(("nop", "cs", "data16", "xchg"))}
    addresses = {int(one["address"], 16) for one in found}
    assert addresses - padding == set(expected) - padding
    for one in found:
        word = expected.get(int(one["address"], 16), "")
        if word and word[:3].isalpha():
            assert one["text"][:2] == word[:2], (one, word)


def test_samples_are_all_there(measured):
    """Those of a function's instructions add up to what the report says of it, and they lie in its loop."""
    total = 0
    for function in ("long_part", "short_part"):
        found = listing(measured, f"two:{function}")
        samples = sum(one["samples"] for one in found["instructions"])
        assert samples == found["functions"][0]["samples"] > 20
        assert sum(one["value"] for one in found["instructions"]) == pytest.approx(found["functions"][0]["value"])
        lines = {one["line"] for one in found["instructions"] if one["samples"] > samples / 50}
        text = SOURCE.splitlines()
        assert all("for (" in text[line - 1] or "return state" in text[line - 1] for line in lines), lines
        total += found["functions"][0]["value"]
    assert total > 0.97 * found["value"]


def test_inlined_lines_have_their_function(measured):
    found = listing(measured, "two:long_part")["instructions"]
    assert {one["inlined"] for one in found} == {None, "mixed"}
    assert all(one["file"].endswith("two.c") for one in found if one["inlined"])


def test_blocks_begin_where_branches_go(measured):
    found = listing(measured, "two:long_part")["instructions"]
    targets = {int(m[1], 16) for one in found if (m := re.fullmatch(r"j\w+\s+0x([0-9a-f]+)", one["text"].strip()))}
    begins = {int(one["address"], 16) for one in found if one["begins_block"]}
    assert targets & {int(one["address"], 16) for one in found} <= begins and int(found[0]["address"], 16) in begins


def test_blocks_of_a_class_run_equally_often(measured):
    """A function that is a loop: what is before and behind it is of one class, the loop of another, and edges join their blocks."""
    found = listing(measured, "two:long_part")
    blocks, edges = found["blocks"], found["edges"]
    assert sum(block["samples"] for block in blocks) == sum(one["samples"] for one in found["instructions"])
    loops = [edge for edge in edges if edge["from"] == edge["to"]]
    assert len(loops) == 1
    loop = blocks[loops[0]["from"]]
    assert loop["samples"] > 0.9 * found["functions"][0]["samples"]
    first = next(block for block in blocks if block["start"] == found["functions"][0]["address"])
    assert first["class"] != loop["class"]
    leaving = [block for number, block in enumerate(blocks) if not any(edge["from"] == number for edge in edges)]
    assert [block["class"] for block in leaving] == [first["class"]]
    for edge in edges:
        assert blocks[edge["from"]]["function"] == blocks[edge["to"]]["function"]


def test_the_hottest_function_without_a_name(measured):
    found = listing(measured)
    assert [function["name"] for function in found["functions"]] == ["long_part"]
    both = listing(measured, "two", "--limit", 2)
    assert [function["name"] for function in both["functions"]] == ["long_part", "short_part"]
    assert {one["function"] for one in both["instructions"]} == {0, 1}


def test_text(measured):
    text = annotate(measured, "run.sdb", "--syntax", "intel", "--full").stdout
    assert text.splitlines()[0].startswith("long_part  [two]") and "two.c:" in text.splitlines()[1]
    assert "state = mixed(state);" in text or "return state * 6364136223846793005u" in text
    assert re.search(r"^ *[0-9.]+% +[\d,]+ +[0-9a-f]+  [> ] imul ", text, re.M) or "imul" in text
    assert max(map(len, annotate(measured, "run.sdb", env={**os.environ, "COLUMNS": "80"}).stdout.splitlines())) <= 80
    assert "%r" in annotate(measured, "run.sdb").stdout and "%r" not in text


def test_a_file_that_has_changed(measured, tmp_path):
    shutil.copytree(measured, tmp_path / "copy")
    folder = tmp_path / "copy"
    subprocess.run([SONDE, "run", "-q", "-F", "200", "-o", folder / "run.sdb", "--", folder / "two"], check=True, stdout=subprocess.DEVNULL)
    (folder / "two.c").write_text(SOURCE.replace("turn < 1000", "turn < 1001"))
    subprocess.run(["cc", "-O2", "-g", "-Wl,--build-id", "-o", folder / "two", folder / "two.c"], check=True)
    done = annotate(folder, "run.sdb", "two", status=128)
    assert "changed since it was measured" in done.stderr and done.stderr.count("\n") == 1
    (folder / "two").unlink()
    assert "two'" in annotate(folder, "run.sdb", "two:long_part", status=128).stderr


def test_without_symbols(measured, tmp_path):
    shutil.copy(measured / "two", tmp_path / "two")
    subprocess.run(["strip", tmp_path / "two"], check=True)
    subprocess.run([SONDE, "run", "-q", "-F", "500", "-o", tmp_path / "run.sdb", "--", tmp_path / "two"], check=True, stdout=subprocess.DEVNULL)
    found = listing(tmp_path, "two", "--limit", 2)
    assert [function["name"][:6] for function in found["functions"]] == ["two+0x", "two+0x"]
    assert found["functions"][0]["samples"] > 1.5 * found["functions"][1]["samples"]
    assert all(one["file"] is None and one["line"] is None for one in found["instructions"])


def test_a_file_with_colons_in_its_name(measured, tmp_path):
    folder = tmp_path / "a: b"
    folder.mkdir()
    shutil.copy(measured / "two", folder / "t:wo")
    subprocess.run([SONDE, "run", "-q", "-F", "500", "-o", tmp_path / "run.sdb", "--", folder / "t:wo"], check=True, stdout=subprocess.DEVNULL)
    for image in ("t:wo", "t:wo:short_part", f"{folder}/t:wo:short_part", ":short_part"):
        names = [function["name"] for function in listing(tmp_path, image)["functions"]]
        assert names == (["short_part"] if image.endswith("short_part") else ["long_part"])


@pytest.mark.parametrize("arguments, status, word", [
    (("nobody",), 128, "no image is called 'nobody'"), (("two:nobody",), 128, "no function with samples is called 'nobody'"),
    (("two", "three"), 129, "'three' is too much"), (("--metric", "nothing"), 128, "has no metric 'nothing'"), (("--limit", "-1"), 129, "--limit"),
    (("--syntax", "arm"), 129, "arm")])
def test_mistakes(measured, arguments, status, word):
    done = annotate(measured, "run.sdb", *arguments, status=status)
    assert word in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


def test_no_database(tmp_path):
    assert "missing database" in annotate(tmp_path, status=129).stderr
    (tmp_path / "text").write_text("no database")
    assert annotate(tmp_path, "text", status=128).stderr.count("\n") == 1
