#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often the blocks of real programs ran, as samples tell it, beside callgrind's exact counts.

Each program is run with its input several times under one `sonde run`, and once under callgrind, which counts each instruction. A way to estimate gives each basic block a frequency;
one factor for the whole program is free (the one that puts most of the samples within 10 %). Told is the part of the samples that lie in blocks whose estimate is within 5, 10 and 15 % of the count: the
measure of Anderson et al., "Continuous profiling: where have all the cycles gone?", TOCS 15 (1997), figure 8; and, as there, the part of the executions of edges whose estimate is within 10 %, with the same factor.
"annotate" is what `sonde annotate` says, in all and by its confidence.

Half of the programs are put aside: nobody looks at them while estimators are written (--held-out runs them).

Usage: frequency.py [--held-out] [--only NAME] [--rate HZ] [--runs N] [--sonde FILE]   Prints a table in Markdown.
"""
import argparse
import bisect
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("SONDE_BUILD", ROOT / "build"))
SQL = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {0}) SELECT count(*), sum(x % 7) FROM (SELECT i * i AS x FROM n ORDER BY x % 1009, i);"
AWK = "BEGIN {{ for (i = 0; i < {0}; i++) {{ a[i % 5003] = a[(i * 7) % 5003] + length(i \"\"); s += substr(i, 1, 1) }} print s, a[17] }}"
# Programs that do their work in a library.
LIBRARIES = {"grep": "libc.so", "bzip2": "libbz2.so", "xz": "liblzma.so", "sqlite3": "libsqlite3.so", "zstd": "libzstd.so", "perl": "libperl.so"}
# name: what is run, {0} is its size, {text} a file of words, {bytes} one of machine code; sizes for samples and for callgrind are the same
PROGRAMS = {
    "gzip": (["gzip", "-c", "-6", "{bytes}"], 1), "bzip2": (["bzip2", "-c", "{bytes}"], 1), "xz": (["xz", "-T1", "-c", "-2", "{bytes}"], 1),
    "mawk": (["mawk", AWK], 1500000), "sqlite3": (["sqlite3", ":memory:", SQL], 300000), "sort": (["sort", "-S", "100M", "--parallel=1", "{text}"], 1),
    "grep": (["grep", "-c", "-E", "(ab|ba)[a-f]*[0-9]+x", "{text}"], 1),
}
HELD_OUT = {
    "zstd": (["zstd", "-c", "-9", "--single-thread", "-q", "{bytes}"], 1), "perl": (["perl", "-e", "my %h; $h{{$_ % 4999}} .= chr(65 + $_ % 26) for 1..{0}; my $n = 0; $n += length for values %h; print $n"], 1500000),
    "bc": (["bc", "-q", "-l", "{bc}"], 1), "sha256sum": (["sha256sum", "{bytes}"], 1), "cc1": (["gcc", "-O1", "-S", "-o", "-", "{c}"], 1), "sed": (["sed", "-E", "s/([a-f]+)([0-9]+)/\\2\\1/g", "{text}"], 1),
    "python3": (["/usr/bin/python3", "-c", "d = {{}}\nfor i in range({0}):\n    d[i % 997] = d.get(i % 991, 0) + len(str(i))\nprint(sum(d.values()))"], 700000),
}


def inputs(folder: pathlib.Path) -> dict[str, str]:
    """The same on each machine that has the same programs; made of numbers alone where that is possible."""
    state, words = 1, []
    for _ in range(400000):
        state = (state * 1103515245 + 12345) % 2**31
        words.append(f"{state:x}{'abxq'[state >> 20 & 3]}{state >> 7 & 1023}")
    (folder / "text").write_text("\n".join(words) + "\n")
    (folder / "bytes").write_bytes(pathlib.Path("/usr/bin/python3").resolve().read_bytes()[:4000000])
    (folder / "bc").write_text("scale=1500\n4*a(1)\nquit\n")
    (folder / "c.c").write_text("".join(f"int f{i}(int *p, int n) {{ int s = {i}; for (int j = 0; j < n; j++) s += p[j] * (j ^ {i}); return s; }}\n" for i in range(1500)))
    return {"text": folder / "text", "bytes": folder / "bytes", "bc": folder / "bc", "c": folder / "c.c"}


def image_of(name: str, program: str) -> str:
    """The file whose code does the work."""
    if name == "cc1":
        return os.path.realpath(subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True, check=True).stdout.strip())
    binary = shutil.which(program)
    linked = re.findall(r"=> (\S+)", subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout)
    return os.path.realpath(next((file for file in linked if name in LIBRARIES and LIBRARIES[name] in file), binary))


Counts = tuple[dict[int, int], dict[tuple[int, int], int]]


def counted(command: list[str], image: str, folder: pathlib.Path) -> Counts:
    """Executions of each instruction of the image, and of each jump from one to another, by callgrind."""
    out = folder / "callgrind.out"
    subprocess.run(["valgrind", "--tool=callgrind", "--dump-instr=yes", "--collect-jumps=yes", "--compress-strings=no", "--compress-pos=no", "--trace-children=yes",
                    f"--callgrind-out-file={out}.%p", *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    counts: collections.Counter[int] = collections.Counter()
    jumps: collections.Counter[tuple[int, int]] = collections.Counter()
    for file in folder.glob("callgrind.out.*"):
        is_ours = is_call = False
        jump = None
        for line in file.open():
            if line.startswith("ob="):
                is_ours = os.path.realpath(line[3:].strip()) == image
            elif line.startswith("calls="):
                is_call = True  # the line behind it is the callees' cost
            elif line.startswith(("jump=", "jcnd=")):
                count, target = line[5:].split()[:2]
                jump = int(target, 16), int(count.split("/")[0])  # the line behind it is where it is from
            elif line.startswith("0x"):
                words = line.split()
                if is_ours and jump:
                    jumps[int(words[0], 16), jump[0]] += jump[1]
                elif is_ours and not is_call:
                    counts[int(words[0], 16)] += int(words[2])
                is_call, jump = False, None
        file.unlink()
    return counts, jumps


class Sampled:
    """All functions of an image with samples: blocks, each with its instructions, and edges between them."""

    def __init__(self, found: dict) -> None:
        self.instructions = {int(one["address"], 16): one for one in found["instructions"]}
        self.blocks = {int(block["start"], 16): {**block, "class": (found["functions"][block["function"]]["address"], block["class"])} for block in found["blocks"]}
        self.edges: dict[tuple[int, int], dict] = {}
        for edge in found["edges"]:
            start, to = (int(found["blocks"][edge[end]]["start"], 16) for end in ("from", "to"))
            self.edges.setdefault((start, to), {**edge, "frequency": 0})["frequency"] += edge["frequency"]

    def cut(self) -> list[list[dict]]:
        blocks: list[list[dict]] = []
        for address in sorted(self.instructions):
            if address in self.blocks or not blocks:
                blocks.append([])
            start = blocks[-1][0] if blocks[-1] else {"class": None, "frequency": 0, "frequency_confidence": "low", **self.blocks.get(address, {})}
            blocks[-1].append({**self.instructions[address], **{key: start[key] for key in ("class", "frequency", "frequency_confidence")}})
        return blocks


# Runs a command so many times.
REPEAT = 'count=$1; shift; while [ $count -gt 0 ]; do "$@" >/dev/null || exit; count=$((count - 1)); done'


def sampled(command: list[str], name: str, options, folder: pathlib.Path) -> Sampled:
    database = folder / "samples.sdb"
    subprocess.run([options.sonde, "run", "-q", "-F", str(options.rate), "-o", database, "--", "sh", "-c", REPEAT, "sh", str(options.runs), *command], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run([options.sonde, "annotate", database, name, "--limit", "0", "--format", "json"], stdout=subprocess.PIPE, text=True, check=True)
    database.unlink()
    return Sampled(json.loads(done.stdout))


def true_edges(found: Sampled, counts: Counts) -> dict[tuple[int, int], int]:
    """Executions of each edge: of its jump, or of the block's end without those that jump from there."""
    executions, jumps = counts
    leaving: collections.Counter[int] = collections.Counter()
    for (start, _), count in jumps.items():
        leaving[start] += count
    last, result = {}, {}
    addresses = sorted(found.instructions)
    for start, block in found.blocks.items():
        last[start] = addresses[bisect.bisect_left(addresses, int(block["end"], 16)) - 1]
    for start, to in found.edges:
        at = last[start]
        if (at, to) in jumps:
            result[start, to] = jumps[at, to]
        elif int(found.blocks[start]["end"], 16) == to:
            result[start, to] = max(executions.get(at, 0) - leaving[at], 0)
        else:
            result[start, to] = 0
    return result


# ---- ways to estimate: of each block, up to one factor for all ----

def uniform(blocks: list[list[dict]]) -> list[float]:
    """All instructions take the same time."""
    return [sum(one["samples"] for one in block) / len(block) for block in blocks]


def shifted(blocks: list[list[dict]]) -> list[float]:
    """The same, but a sample is of the instruction before, whose wait it found, within the block."""
    return [(sum(one["samples"] for one in block[1:]) or block[0]["samples"]) / max(len(block) - 1, 1) for block in blocks]


def by_class(blocks: list[list[dict]]) -> list[float]:
    """All instructions alike, over all blocks that run equally often."""
    samples, sizes = collections.Counter(), collections.Counter()
    for block in blocks:
        samples[block[0]["class"]] += sum(one["samples"] for one in block)
        sizes[block[0]["class"]] += len(block)
    return [samples[block[0]["class"]] / sizes[block[0]["class"]] for block in blocks]


def annotated(blocks: list[list[dict]]) -> list[float]:
    """What `sonde annotate` says."""
    return [block[0]["frequency"] for block in blocks]


ESTIMATORS = {"uniform": uniform, "shifted": shifted, "classes": by_class, "annotate": annotated}


def judge(estimates: list[float], counts: list[int], weights: list[float]) -> tuple[float, list[float]]:
    """The factor that puts most of the weights within 10 %, and the parts of them within 5, 10 and 15 % with it."""
    pairs = [(estimate, count, weight) for estimate, count, weight in zip(estimates, counts, weights) if estimate > 0 and count > 0 and weight > 0]
    best = max((count / estimate for estimate, count, _ in pairs), key=lambda factor: near(factor, pairs, 0.1), default=1.0)
    return best, [near(best, pairs, part) / (sum(weights) or 1) for part in (0.05, 0.1, 0.15)]


def near(factor: float, pairs: list[tuple[float, int, float]], part: float) -> float:
    return sum(weight for estimate, count, weight in pairs if abs(estimate * factor / count - 1) <= part)


def judge_edges(found: Sampled, factor: float, true: dict[tuple[int, int], int]) -> float:
    """The part of the executions of edges, from blocks of functions with samples, that are within 10 %."""
    pairs = [(edge["frequency"], true[ends], true[ends]) for ends, edge in found.edges.items() if true[ends] > 0]
    return near(factor, pairs, 0.1) / (sum(count for _, count, _ in pairs) or 1)


def print_rows(name: str, found: Sampled, counts: Counts) -> None:
    blocks = found.cut()
    weights = [sum(one["samples"] for one in block) for block in blocks]
    true = [max(counts[0].get(int(one["address"], 16), 0) for one in block) for block in blocks]
    for way, estimate in ESTIMATORS.items():
        factor, parts = judge(estimate(blocks), true, weights)
        edges = f"{100 * judge_edges(found, factor, true_edges(found, counts)):.0f}" if way == "annotate" else ""
        print(f"| {name} | {sum(weights):,.0f} | {sum(weight > 0 for weight in weights):,} | {way} | " + " | ".join(f"{100 * part:.0f}" for part in parts) + f" | {edges} |", flush=True)
    print_confidence(name, blocks, true, weights)


def print_confidence(name: str, blocks: list[list[dict]], true: list[int], weights: list[float]) -> None:
    """Of the blocks of each confidence the samples, and of these the parts within 15 % and within a factor of two, all with the factor of the whole program."""
    estimates = annotated(blocks)
    factor, _ = judge(estimates, true, weights)
    told = []
    for level in ("high", "medium", "low"):
        chosen = [(estimate * factor / count if count else 0, weight) for estimate, count, weight, block in zip(estimates, true, weights, blocks) if block[0]["frequency_confidence"] == level]
        total = sum(weight for _, weight in chosen)
        parts = [sum(weight for ratio, weight in chosen if low <= ratio <= high) / (total or 1) for low, high in ((0.85, 1.15), (0.5, 2))]
        told.append(f"{level}: {total:,.0f} samples, " + " and ".join(f"{100 * part:.0f} %" for part in parts))
    print(f"<!-- {name}, within 15 % and a factor of two by confidence: {'; '.join(told)} -->", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--rate", type=int, default=4999)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--sonde", default=BUILD / "src/cmd/sonde")
    options = parser.parse_args()
    print("| program | samples | blocks with samples | way | within 5 % | 10 % | 15 % | edges within 10 % |\n|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as text:
        folder = pathlib.Path(text)
        files = inputs(folder)
        for name, (words, size) in (HELD_OUT if options.held_out else PROGRAMS).items():
            if options.only and name != options.only:
                continue
            command = [word.format(size, **files) for word in words]
            image = image_of(name, command[0])
            counts = counted(command, image, folder)
            print_rows(name, sampled(command, image, options, folder), counts)


if __name__ == "__main__":
    main()
