# SPDX-License-Identifier: Apache-2.0
"""
Our unwinder beside libunwind in real programs, interrupted anywhere: every frame of every path is compared.

Programs that make code at run time are left out: there both can only guess. What libgcc does while it replaces
registers of its own frames on the way to a landing pad has no path (docs/design/unwinding.md), and is left out.
"""
from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import program

ORACLE = program.BUILD / "tests/libunwind-oracle.so"

PYTHON = """
import decimal, hashlib, json, pickle, random, re, sqlite3, time, zlib
random.seed(1)
data = [{"a": random.random(), "b": [str(i) for i in range(20)]} for _ in range(300)]
end = time.time() + 2
while time.time() < end:
    text = json.dumps(data)
    json.loads(text), zlib.compress(text.encode()), hashlib.sha256(text.encode()).digest()
    connection = sqlite3.connect(":memory:")
    connection.execute("create table t(a, b)")
    connection.executemany("insert into t values(?, ?)", [(i, str(i)) for i in range(2000)])
    connection.execute("select count(*), sum(a) from t where b like '%1%' group by a % 7 order by 1").fetchall()
    re.findall(r'(\\w+)":', text[:20000]), sorted(data, key=lambda d: d["a"]), pickle.loads(pickle.dumps(data))
    decimal.Decimal(2).sqrt()
"""


@dataclass
class Outcome:
    samples: int = 0
    frames: int = 0
    differing: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)


def compare(folder: Path, *command: str | Path) -> Outcome:
    """Runs a program with both unwinders; sums over all its processes."""
    if not ORACLE.exists():
        pytest.skip("built without libunwind")
    if not shutil.which(str(command[0])):
        pytest.skip(f"no {command[0]}")
    (folder / "out").mkdir(exist_ok=True)
    done = subprocess.run([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, text=True, timeout=120,
                          env={**os.environ, "LD_PRELOAD": str(ORACLE), "ORACLE_OUTPUT": str(folder / "out")})
    assert done.returncode == 0, done.stderr
    outcome = Outcome()
    for path in (folder / "out").iterdir():
        first, *pairs = path.read_text().splitlines()
        _, samples, _, frames, _, differing = first.split()
        examples = list(zip(pairs[::2], pairs[1::2], strict=True))
        switching = sum(ours.startswith("ours libgcc_s.so") for ours, _ in examples)
        outcome.samples += int(samples)
        outcome.frames += int(frames)
        outcome.differing += int(differing) - switching
        outcome.examples += [pair for pair in examples if not pair[0].startswith("ours libgcc_s.so")]
    return outcome


def check(outcome: Outcome, samples: int) -> None:
    assert outcome.samples >= samples and outcome.frames >= 5 * outcome.samples
    assert not [ours for ours, _ in outcome.examples if len(ours.split()) == 2], "a path of one frame"
    shown = "\n".join("\n".join(pair) for pair in outcome.examples[:3])
    assert outcome.differing <= 0.001 * outcome.samples + 1, f"{outcome.differing} of {outcome.samples}:\n{shown}"


def test_python_with_extensions(tmp_path: Path) -> None:
    check(compare(tmp_path, "/usr/bin/python3", "-c", PYTHON), 500)


@pytest.mark.parametrize("options", [("-O2", "-fomit-frame-pointer"), ("-O3",)])
def test_cxx_with_exceptions(tmp_path: Path, options: tuple[str, ...]) -> None:
    binary = program.compiled("collect/unwind_programs.cpp", *options, compiler="c++")
    check(compare(tmp_path, binary, "1.5"), 300)


def test_compiler(tmp_path: Path) -> None:
    """A driver that forks by vfork, a large C++ program, an assembler."""
    check(compare(tmp_path, "c++", "-O1", "-c", program.WORKLOADS / "collect/unwind_programs.cpp", "-o", tmp_path / "object.o"), 500)


def test_rust(tmp_path: Path) -> None:
    source = tmp_path / "sort.rs"
    source.write_text("""
fn main() {
    let (mut seed, mut sum) = (1u64, 0usize);
    let end = std::time::Instant::now() + std::time::Duration::from_secs(1);
    while std::time::Instant::now() < end {
        let mut words: Vec<String> = (0..3000).map(|_| { seed = seed.wrapping_mul(6364136223846793005) + 1; format!("{}", seed) }).collect();
        words.sort();
        sum += words.concat().len();
    }
    println!("{}", sum);
}
""")
    if not shutil.which("rustc") or subprocess.run(["rustc", "-O", "-o", tmp_path / "sort", source],
                                                   capture_output=True).returncode:
        pytest.skip("no rustc")
    check(compare(tmp_path, tmp_path / "sort"), 300)


PERL = """
for (my $end = time + 2; time < $end;) {
    my %h;
    for my $i (1..20000) { $h{$i % 1000} .= "a" if "x$i" =~ /(\\d+)5/ }
}
"""


def test_perl(tmp_path: Path) -> None:
    check(compare(tmp_path, "perl", "-e", PERL), 100)
