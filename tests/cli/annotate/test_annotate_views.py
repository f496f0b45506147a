# SPDX-License-Identifier: Apache-2.0
"""`sonde annotate --view`: the top instructions and stalls of all functions, and where the time of all goes."""
from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from conftest import run_sonde
from program import SONDE
from stores import JIT, KERNEL, Library, flush, write

APART = "__attribute__((noinline, noclone)) "
PROGRAM = """
#include <stdint.h>
#define APART __attribute__((noinline, noclone))
static volatile uint64_t sum;
APART void divides(unsigned rounds) { uint64_t s = sum | 1; for (unsigned i = 0; i < rounds; i++) s = 0xfffffffffffu / (s | 1) + i; sum = s; }
APART void adds(unsigned rounds) { uint64_t s = sum; for (unsigned i = 0; i < rounds; i++) { s += i; __asm__ volatile("" : "+r"(s)); } sum = s; }
int main(void) { for (int turn = 0; turn < 1000; turn++) { divides(60000); adds(600000); } return 0; }
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("views")
    (folder / "two.c").write_text(PROGRAM)
    subprocess.run(["cc", "-O2", "-g", "-fno-unroll-loops", "-Wl,--build-id", "-o", folder / "two", folder / "two.c"], check=True)
    subprocess.run([SONDE, "run", "-q", "-F", "1000", "-o", folder / "run.sdb", "--", folder / "two"], check=True, stdout=subprocess.DEVNULL)
    return folder / "run.sdb"


def view(database: Path, name: str, *options: object, **more) -> dict:
    result = run_sonde("annotate", database, "--view", name, "--format", "json", *options, **more)
    assert (result.status, result.err) == (0, ""), result.err
    return json.loads(result.out)


def listing(database: Path, *options: object) -> dict:
    return view(database, "listing", *options)


def test_top_instructions_are_those_of_the_listing(measured):
    """All of them, of all functions, the most samples first; limited to the first ones."""
    every = listing(measured, "--limit", 0)
    expected = sorted((one["value"] for one in every["instructions"] if one["samples"]), reverse=True)
    top = view(measured, "instructions", "--limit", 0)
    assert [one["value"] for one in top["instructions"]] == expected
    assert top["count"] == len(expected) > 3 and top["value_of_all"] == pytest.approx(sum(expected))
    by_place = {(every["functions"][one["function"]]["name"], one["address"]): one for one in every["instructions"]}
    for one in top["instructions"]:
        same = by_place[one["function"], one["address"]]
        for member in ("text", "file", "line", "samples", "value", "frequency", "cpi", "culprits"):
            assert one[member] == same[member]
        assert one["share"] == pytest.approx(one["value"] / every["value"])
    assert view(measured, "instructions", "--limit", 3)["instructions"] == top["instructions"][:3]
    assert len(view(measured, "instructions")["instructions"]) == min(20, len(expected))


def test_patterns_choose_images_and_functions(measured):
    top = view(measured, "instructions", "two:adds", "--limit", 0)
    assert {one["function"] for one in top["instructions"]} == {"adds"}
    assert sum(one["samples"] for one in top["instructions"]) == listing(measured, "two:adds")["functions"][0]["samples"]


def test_top_stall_is_the_division(measured):
    """It is blamed, though samples are at what follows it, and the divider is its first culprit."""
    top = view(measured, "stalls", "--limit", 1)["stalls"]
    assert len(top) == 1 and re.match(r"div", top[0]["text"]) and top[0]["function"] == "divides"
    assert top[0]["culprits"][0]["cause"] == "long unit"
    assert 0 < top[0]["culprits"][0]["min_share"] <= top[0]["culprits"][0]["max_share"] <= 1
    whole = listing(measured, "two:divides")
    assert top[0]["share"] > 0.5 * whole["functions"][0]["value"] / whole["value"]


def test_stalls_are_the_time_beyond_execution(measured):
    """Of all functions together: what is not execution, so that both views agree."""
    stalls, causes = view(measured, "stalls", "--limit", 0), view(measured, "causes")
    waited = 1 - causes["summary"]["execution"] - sum(one["share"] for one in causes["not_analysed"])
    assert stalls["value_of_all"] / stalls["value"] == pytest.approx(waited, abs=1e-3)
    values = [one["value"] for one in stalls["stalls"]]
    assert values == sorted(values, reverse=True) and sum(values) == pytest.approx(stalls["value_of_all"])


def whole_of(causes: dict) -> float:
    return sum(causes["summary"].values()) + causes["unexplained"] + sum(one["share"] for one in causes["not_analysed"])


def test_causes_of_all_functions(measured):
    causes = view(measured, "causes")
    assert whole_of(causes) == pytest.approx(1, abs=1e-6) and causes["value_of_all"] == pytest.approx(causes["value"])
    assert causes["functions"] == len(listing(measured, "--limit", 0)["functions"])
    divides = view(measured, "causes", "two:divides")
    assert whole_of(divides) == pytest.approx(1, abs=1e-6) and divides["functions"] == 1
    assert divides["value_of_all"] == pytest.approx(listing(measured, "two:divides")["functions"][0]["value"])
    assert divides["summary"]["long unit"] > 0.5


def test_parts_that_lie_elsewhere_are_of_their_functions(tmp_path):
    """What compilers move away as seldom executed: parts of two functions beside each other, before both."""
    loop = 'for (unsigned i = 0; i < rounds; i++) {{ s = s * {1} + i; __asm__ volatile("" : "+r"(s)); }} return s;'
    part = APART + "uint64_t {0}(unsigned rounds) {{ uint64_t s = 1; if (rounds & 1) {{ seldom(); " + loop + " }} " + loop + " }}\n"
    (tmp_path / "apart.c").write_text("#include <stdint.h>\nstatic volatile uint64_t sum;\n__attribute__((cold, noinline, noclone)) void seldom(void) { sum++; }\n"
                                      + part.format("one", 3) + part.format("two", 5)
                                      + "int main(void) { for (int i = 0; i < 1000; i++) { sum = one(150000); sum = one(150001); sum = two(150000); sum = two(150001); } return 0; }\n")
    subprocess.run(["cc", "-O2", "-g", "-o", tmp_path / "apart", tmp_path / "apart.c"], check=True)
    symbols = subprocess.run(["nm", tmp_path / "apart"], capture_output=True, text=True, check=True).stdout
    assert "one.cold" in symbols and "two.cold" in symbols
    subprocess.run([SONDE, "run", "-q", "-F", "1000", "-o", tmp_path / "run.sdb", "--", tmp_path / "apart"], check=True, stdout=subprocess.DEVNULL)
    every = listing(tmp_path / "run.sdb", "apart", "--limit", 0)
    for number, function in enumerate(every["functions"]):
        assert sum(one["samples"] for one in every["instructions"] if one["function"] == number) == function["samples"]
    assert {function["name"]: function["samples"] > 100 for function in every["functions"]}.items() >= {"one": True, "two": True}.items()
    assert view(tmp_path / "run.sdb", "instructions", "apart", "--limit", 0)["value_of_all"] == pytest.approx(sum(function["value"] for function in every["functions"]))


@pytest.fixture
def store(tmp_path) -> tuple[Path, Library]:
    """100 samples: 50 in a library's hot, 10 in cold; 15 in the kernel, 5 in code made at run time; 20 in a library that has been replaced."""
    (tmp_path / "old").mkdir()
    library, replaced = Library(tmp_path), Library(tmp_path / "old")
    hot, cold = library.starts["hot"], library.starts["cold"]
    lines = [("origin", "/usr/bin/worker", "-", 0, 1000), library.image(), ("image", KERNEL, "[kernel]", "-", 0, 0, 0), ("image", JIT, "jit", "-", 0, 0, 0),
             replaced.image(), ("count", 0, 0, hot + 4, 50), ("count", 0, 0, cold, 10), ("count", 0, 1, 0x1010, 15), ("name", 1, 0x1000, 0x100, "schedule"),
             ("count", 0, 2, 0x7F0000000010, 5), ("count", 0, 3, replaced.starts["hot"], 20), flush(0, 100)]
    Library(tmp_path / "old", factor=7)
    return write(tmp_path / "store", *lines), library


def test_what_cannot_be_looked_into_is_named(store):
    causes = view(store[0], "causes")
    reasons = {one["why"]: one["share"] for one in causes["not_analysed"]}
    assert reasons == {"code of the kernel": pytest.approx(0.15), "the file is replaced": pytest.approx(0.2), "machine code of no known file": pytest.approx(0.05)}
    assert sum(reasons.values()) == pytest.approx(0.4) and whole_of(causes) == pytest.approx(1, abs=1e-6)
    assert {one["image"].rsplit("/", 1)[-1] for one in causes["not_shown"]} == {"[libknown.so, replaced]"}


def test_top_instruction_of_a_store(store):
    path, library = store
    top = view(path, "instructions", "--limit", 1)["instructions"][0]
    assert (top["function"], top["samples"], top["share"]) == ("hot", 50, 0.5)
    assert int(top["address"], 16) <= library.starts["hot"] + 4 < int(top["address"], 16) + 16
    assert view(path, "causes", "libknown.so")["value_of_all"] == pytest.approx(60e6)


def test_text(measured, store):
    environment = {"COLUMNS": "80"}
    text = run_sonde("annotate", measured, "--view", "stalls", "--limit", 2, **environment).out
    assert max(map(len, text.splitlines())) <= 80
    heads = next(line for line in text.splitlines() if "stall%" in line)
    assert heads.split() == ["stall%", "samples", "freq", "CPI", "instruction", "function"]
    assert re.search(r"^ *[\d.]+% .* div.*divides \[two\]", text, re.M) and re.search(r"waits: long unit \d+-\d+%", text)
    for name in ("listing", "instructions", "stalls", "causes"):
        assert run_sonde("annotate", measured, "--view", name, "--source", measured.parent, COLUMNS="60", LC_ALL="de_DE.ISO-8859-1").out.isascii()
    text = run_sonde("annotate", store[0], "--view", "causes").out
    assert text.startswith("where 100 ms of cpu-clock may go  2 functions looked into, 60.0% of it")
    assert re.search(r"^not looked into, 40\.0%$", text, re.M) and re.search(r"^ 15\.0% code of the kernel$", text, re.M)
    assert re.search(r"^ 20\.0% the file is replaced\n    20\.0%   \[libknown\.so, replaced\]$", text, re.M)
    shares = [float(part) for part in re.findall(r"^ *<?([\d.]+)% ", text, re.M)]
    assert sum(shares) == pytest.approx(100 + 20, abs=1)  # an image stands below its reason


def test_without_machine_code(tmp_path):
    """All of it is named; a listing has nothing to show."""
    path = write(tmp_path / "store", ("origin", "/bin/x", "-", 0, 0), ("image", KERNEL, "[kernel]", "-", 0, 0, 0), ("count", 0, 0, 16, 9), flush(0, 9))
    causes = view(path, "causes")
    assert [(one["why"], one["share"]) for one in causes["not_analysed"]] == [("code of the kernel", 1)]
    assert run_sonde("annotate", path).status == 128 and run_sonde("annotate", path, "--view", "stalls").status == 128
    assert "listing, instructions, stalls, causes" in run_sonde("annotate", path, "--view", "all").err
