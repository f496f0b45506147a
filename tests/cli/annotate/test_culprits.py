# SPDX-License-Identifier: Apache-2.0
"""`sonde annotate`: frequencies, cycles and culprits of programs that are known to wait for one thing."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from program import SONDE, compiled

PLANTED = {"chase": "data cache", "pages": "data TLB", "divide": "long unit", "stores": "store buffer", "code": "instruction cache", "lock": "synchronization",
           "branch": "branch mispredict"}
CAUSES = {"execution", "operand dependency", "port contention", "long unit", "synchronization", "data cache", "data TLB", "store buffer", "branch mispredict",
          "instruction cache", "instruction TLB", "front end", "interrupt"}


@pytest.fixture(scope="module")
def databases(tmp_path_factory) -> dict[str, Path]:
    """Of each program what was measured of it, once it is asked for."""
    folder = tmp_path_factory.mktemp("planted")
    program = compiled("annotate/planted.c", "-O2", "-pthread")

    class Measured(dict):
        def __missing__(self, name: str) -> Path:
            self[name] = folder / f"{name}.sdb"
            subprocess.run([SONDE, "run", "-q", "-F", "2000", "-o", self[name], "--", program, name], check=True, stdout=subprocess.DEVNULL)
            return self[name]
    return Measured()


def annotate(database: Path, name: str, *options: str, **more) -> str:
    done = subprocess.run([SONDE, "annotate", database, f"planted*:planted_{name}", *options], capture_output=True, text=True, timeout=120, check=True, **more)
    return done.stdout


def found(database: Path, name: str, **more) -> dict:
    return json.loads(annotate(database, name, "--format", "json", **more))


@pytest.mark.parametrize("name", PLANTED)
def test_planted_cause_is_first(databases, name):
    """Of the function, and among the culprits of the instruction that was waited for longest; of a branch the rest of its loop takes time too, so that it is asked for a good part."""
    listing = found(databases[name], name)
    parts = {cause: part for cause, part in listing["summary"].items() if cause != "execution"}
    longest = max(listing["instructions"], key=lambda one: one["frequency"] * (one["cpi"] or 0))
    if name == "branch":
        assert parts["branch mispredict"] > 0.1
    else:
        assert max(parts, key=parts.get) == PLANTED[name], parts
        assert PLANTED[name] in [culprit["cause"] for culprit in longest["culprits"]]


def test_members(databases):
    """As docs/format/annotate.md has them; parts of a whole are parts, and add up."""
    listing = found(databases["divide"], "divide")
    assert set(listing["summary"]) <= CAUSES
    assert sum(listing["summary"].values()) + listing["unexplained"] == pytest.approx(1, abs=1e-3)
    for one in listing["instructions"]:
        assert {"address", "text", "file", "line", "samples", "frequency", "frequency_confidence", "cpi", "stall_cycles", "culprits"} <= set(one)
        assert one["frequency_confidence"] in ("low", "medium", "high") and one["frequency"] >= 0
        assert one["cpi"] is None or 0 <= one["stall_cycles"] <= one["cpi"] + 1e-9
        for culprit in one["culprits"]:
            assert set(culprit) == {"cause", "min_share", "max_share"} and culprit["cause"] in CAUSES - {"execution"}
            assert -1e-6 <= culprit["min_share"] <= culprit["max_share"] + 1e-6 <= 1 + 2e-6
    value = sum(function["value"] for function in listing["functions"])
    assert sum(one["frequency"] * (one["cpi"] or 0) for one in listing["instructions"]) == pytest.approx(value, rel=0.02)


def test_flow_is_conserved(databases):
    """What enters a block leaves it, but for where the function begins and ends."""
    listing = found(databases["branch"], "branch")
    blocks, edges = listing["blocks"], listing["edges"]
    most = max(block["frequency"] for block in blocks)
    checked = 0
    for number, block in enumerate(blocks):
        entering = [edge["frequency"] for edge in edges if edge["to"] == number]
        leaving = [edge["frequency"] for edge in edges if edge["from"] == number]
        for flows in (entering, leaving):
            if flows and block["start"] != listing["functions"][0]["address"]:
                assert sum(flows) == pytest.approx(block["frequency"], abs=1e-4 * most)
                checked += 1
    assert checked > 4


def test_the_one_that_was_waited_for(databases):
    """Samples are at the instruction behind the load of a chase; the load has the cycles."""
    instructions = found(databases["chase"], "chase")["instructions"]
    hot = max(range(len(instructions)), key=lambda i: instructions[i]["samples"])
    slow = max(range(len(instructions)), key=lambda i: instructions[i]["frequency"] * (instructions[i]["cpi"] or 0))
    assert re.search(r"\(%r\w+\)", instructions[slow]["text"]) and slow == hot - 1
    shares = {culprit["cause"]: culprit for culprit in instructions[slow]["culprits"]}
    assert shares["data TLB"]["min_share"] == 0 and shares["data TLB"]["max_share"] > 0.5  # nothing tells it from the cache


def test_arms_of_a_branch(databases):
    """Each of them runs half of the times, and the loop's head each time."""
    listing = found(databases["branch"], "branch")
    blocks = sorted(listing["blocks"], key=lambda block: -block["frequency"])
    assert 0.25 < blocks[1]["frequency"] / blocks[0]["frequency"] < 0.75
    assert 0.25 < blocks[2]["frequency"] / blocks[0]["frequency"] < 0.75


def without_mca(folder: Path, script: str | None = None) -> dict[str, str]:
    """An environment whose llvm-mca is this script, or is not there."""
    folder.mkdir()
    if script is not None:
        (folder / "llvm-mca").write_text(script)
        (folder / "llvm-mca").chmod(0o755)
    return {**os.environ, "PATH": str(folder)}


def test_without_llvm_mca(databases, tmp_path):
    database = databases["divide"]
    listing = found(database, "divide", env=without_mca(tmp_path / "none"))
    assert "no llvm-mca" in listing["no_model"]
    assert max(listing["summary"], key=listing["summary"].get) == "long unit"
    assert "no llvm-mca" in annotate(database, "divide", env={**os.environ, "PATH": str(tmp_path / "none")})


def test_llvm_mca_that_fails(databases, tmp_path):
    listing = found(databases["divide"], "divide", env=without_mca(tmp_path / "bad", "#!/bin/sh\necho 'no such thing' >&2\nexit 3\n"))
    assert "no such thing" in listing["no_model"] and listing["summary"]


@pytest.mark.parametrize("version", [14, 15, 16, 19])
def test_versions_of_llvm_mca(databases, tmp_path, version):
    program = shutil.which(f"llvm-mca-{version}")
    if not program:
        pytest.skip(f"no llvm-mca-{version}")
    environment = without_mca(tmp_path / "one")
    (tmp_path / "one/llvm-mca").symlink_to(program)
    for name in ("divide", "lock"):
        listing = found(databases[name], name, env=environment)
        assert listing["no_model"] is None
        assert max((cause for cause in listing["summary"] if cause != "execution"), key=listing["summary"].get) == PLANTED[name]


def test_syntax_changes_no_number(databases):
    default = found(databases["branch"], "branch")
    intel = json.loads(annotate(databases["branch"], "branch", "--format", "json", "--syntax", "intel"))
    assert [block["frequency"] for block in intel["blocks"]] == [block["frequency"] for block in default["blocks"]]
    assert intel["summary"] == default["summary"]


@pytest.mark.parametrize("columns", [80, 120])
def test_text(databases, columns):
    text = annotate(databases["chase"], "chase", env={**os.environ, "COLUMNS": str(columns)})
    lines = text.splitlines()
    assert max(map(len, lines)) <= columns
    assert any(re.search(r"\bfreq\b.*\bCPI\b", line) for line in lines)
    assert any(line.strip().startswith("waits: data cache") for line in lines)
    begin = lines.index("where the time of this function may go")
    assert re.fullmatch(r" *[\d.]+% data cache", lines[begin + 1])
