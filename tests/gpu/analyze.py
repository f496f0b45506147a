#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads what tests/gpu/run.sh left, on a machine without a device.

    analyze.py FOLDER|FILE.tar.gz

Prints where it was made, the checks that failed there, what measuring cost, and what is odd about the recordings; plays each recording
to this checkout's Sonde and compares what that stores with what ran; and, where the fakes are installed (SONDE_FAKE_CUDA), what
differs between the recording and one of the same program on the fake CUPTI of that release or the one before. Recordings of HIP and
Level Zero are compared with the fake rocprofiler-sdk and the fake driver. Status 1 where a check failed or a replay is wrong; a difference from the fakes is no failure,
but something to learn. SONDE names the program (build/src/cmd/sonde)."""
from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE / "suite"), str(HERE / "record")]

from paths import bounded, info, measured_lines, report, sums, true_lines  # noqa: E402 (the folders above)
from recording import Reader, lines, stall_metrics  # noqa: E402

SONDE = os.environ.get("SONDE") or str(ROOT / "build/src/cmd/sonde")
FAKE = ROOT / "tests/fake/run.sh"


def print_facts(folder: Path) -> None:
    print(f"\n---- {folder.name}")
    for name in ("devices", "system", "version", "cupti", "sonde", "commit"):
        path = folder / "facts" / name
        if path.exists() and path.read_text().strip():
            print(f"{name}: {path.read_text().strip().splitlines()[0]}")
    if "Fake device" in (folder / "facts/devices").read_text():
        print("The device is a fake: none of this says anything of a real one.")


def print_checks(folder: Path) -> bool:
    checks = json.loads((folder / "checks.json").read_text())
    wrong = [check for check in checks if not check["is_right"]]
    print(f"\n{len(checks)} checks, {len(wrong)} failed")
    for check in wrong:
        print(f"  {check['name']}\n    expected {check['expected']}\n    found    {check['found']}")
    return not wrong


def print_benchmarks(folder: Path) -> None:
    with open(folder / "benchmarks.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    own = {row["case"]: float(row["median"]) for row in rows if row["mode"] == "by itself"}
    print(f"\n{'':24} {'':34} {'median':>10} {'added':>10}   (launches: ns of CPU time; graphs: us a replay)")
    for row in rows:
        added = float(row["median"]) - own.get(row["case"], 0)
        print(f"{row['case']:24} {row['mode']:34} {float(row['median']):10.1f} {added:10.1f}")


def print_oddities(path: Path) -> None:
    summary = Reader().read(path)
    library = "rocprofiler-sdk" if "rocprofiler.version" in summary.facts else "CUPTI"
    version = summary.facts.get("rocprofiler.version") or summary.facts.get("cupti.version")
    made_by = f"{library} {version}" if version else "calls of Level Zero"
    print(f"\n{path.parent.name}/{path.name}: {made_by}, {sum(summary.records.values())} records, "
          f"{summary.dropped} dropped, {summary.lost} lost by the recorder")
    for title, value in lines(summary).items():
        if title.startswith("odd: "):
            print(f"  {title}: {value}")


COUNTERS = "SQ_WAVES,GRBM_GUI_ACTIVE"
# Of each vendor the folders of recordings: how it was recorded, and how Sonde measures its replay.
LEVELS = {"cuda": {"whole": ([], []), "nodes": (["--nodes"], ["--gpu-graphs", "nodes"]),
                   **{mode: (["--samples", f"{mode}@1024"], [f"--gpu-samples={mode}"]) for mode in ("continuous", "serialized")}},
          "levelzero": {"lists": (["--levelzero"], [])},
          "hip": {"whole": ([], []), "counters": (["--counters", COUNTERS], ["--gpu-counters", COUNTERS]), "samples": (["--samples", "continuous"], ["--gpu-samples"])}}


def short(name: str) -> str:
    """Of a kernel, mangled or readable: "scale"."""
    match = re.match(r"_ZL?(\d+)", name)
    return name[match.end():match.end() + int(match[1])] if match else name.split("(")[0]


def samples_are_right(path: Path, database: Path) -> bool:
    """By kernel and metric: all that was given is stored, and what was said to be dropped is lost."""
    recorded = Reader().read(path)
    expected, found = Counter(), Counter()
    for (kernel, metric), count in stall_metrics(recorded).items():
        expected[short(kernel), metric] += count
    for metric in {metric for _, metric in expected}:
        for frames, value in report(SONDE, database, metric):
            kernel = next((frame["name"] for frame in frames if frame["kind"] == "kernel"), "?")
            found[short(kernel), metric] += value["count"]
    lost = info(SONDE, database).get("drops", {})
    is_right = expected == found and (lost.get("gpu-sample-lost", 0), lost.get("gpu-sample-hidden", 0)) == (
        sum(recorded.sample_counts[name] for name in ("dropped", "full", "invalid")), recorded.sample_counts["hidden"])
    if not is_right:
        print(f"  samples: recorded {dict(expected - found)} more, stored {dict(found - expected)} more; lost {lost}")
    elif not expected:
        failed = [f"{name} = {result}" for name, _, result in recorded.steps if ("PCSampling" in name or "pc_sampling" in name) and result]
        print(f"  no samples: {', '.join(failed) or 'none came'}")
    else:
        print(f"  samples: {sum(count for (_, metric), count in found.items() if metric == 'gpu-samples')}, as recorded")
    return is_right


def counters_are_right(path: Path, database: Path) -> bool:
    """Each counter has a value of as many kernels as were counted."""
    recorded = Reader().read(path)
    expected = {name: kernels for name, (kernels, _) in recorded.counters.items()}
    names = {metric["name"] for metric in info(SONDE, database)["metrics"]}
    found = {name: sum(value["count"] for _, value in report(SONDE, database, name)) for name in COUNTERS.split(",") if name in names}
    if not expected:
        print("  no counters: " + (", ".join(f"{name} = {result}" for name, _, result in recorded.steps if result) or "the device lists none of these"))
    else:
        print(f"  counters: {found}, {'as recorded' if expected == found else f'recorded {expected}'}")
    return expected == found


def replay_is_right(path: Path, truth: dict, vendor: str, level: str, scratch: Path) -> bool:
    """A recording has no lines: how often each kernel, copy and set was stored."""
    options = LEVELS[vendor][level][1]
    has_nodes = level in ("nodes", "lists")
    done = bounded([FAKE, "--replay", path, SONDE, "run", "-q", "-o", scratch / f"{vendor}-{level}", *options, "--", "replay"])
    if done.returncode:
        print(f"  the replay failed: {done.stderr.strip()}")
        return False
    database = scratch / f"{vendor}-{level}.sdb"
    expected, found = sums(true_lines(truth, has_nodes)), sums(measured_lines(SONDE, database, set()))
    lost = {cause: count for cause, count in info(SONDE, database).get("drops", {}).items()
            if cause.startswith("gpu-") and not cause.startswith("gpu-sample-")}
    print(f"  replayed: {'as it ran' if expected == found and not lost else f'ran {dict(expected)}, stored {dict(found)}, lost {lost}'}")
    is_right = expected == found and not lost
    if "--counters" in LEVELS[vendor][level][0]:
        is_right = counters_are_right(path, database) and is_right
    if "--samples" in LEVELS[vendor][level][0]:
        is_right = samples_are_right(path, database) and is_right
    return is_right


def release_of(version: int) -> str:
    """The fake's newest that is no newer; else its oldest."""
    rows = re.findall(r"^RELEASE\((\w+), (\d+)", (ROOT / "tests/fake/cupti/releases.def").read_text(), re.M)
    fitting = [name for name, number in rows if int(number) <= version] or [rows[0][0]]
    return fitting[-1].replace("_", ".")


def compiled_for_fakes(scratch: Path) -> Path | None:
    """Of HIP: what was compiled there is for its devices, and its runtime."""
    device = scratch / "fake-device"
    if device.exists():
        return device
    done = subprocess.run([FAKE, "--rocm", "hipcc", "-o", device, HERE / "suite/device.hip", "-g", "-O1", "-D_GNU_SOURCE"], capture_output=True, text=True)
    if done.returncode:
        print(f"  no recording on the fakes: {done.stderr.strip()}")
    return None if done.returncode else device


def compare_with_fakes(path: Path, folder: Path, level: str, scratch: Path) -> None:
    vendor, release = folder.name, release_of(int(Reader().read(path).facts.get("cupti.version", "0")))
    device = compiled_for_fakes(scratch) if vendor == "hip" else folder / "bin/device"
    if not device:
        return
    fakes, options, name = {"cuda": (["--cupti", release], [], f"CUPTI {release}"), "levelzero": (["--levelzero"], [], "driver of Level Zero"),
                            "hip": (["--rocm"], ["--rocm"], "rocprofiler-sdk")}[vendor]
    output = scratch / f"fake-{vendor}-{level}"
    (scratch / "counters").write_text("".join(f"{name} 1 1 0 -\n" for name in COUNTERS.split(",")))
    done = bounded([FAKE, *fakes, HERE / "record.sh", *options, *LEVELS[vendor][level][0], output, device, "work"],
                   # no device can freeze
                   {**os.environ, "ROCPROFILER_PC_SAMPLING_BETA_ENABLED": "1", "FAKE_COUNTERS": str(scratch / "counters")})
    made = list(output.glob("*.recording"))
    if done.returncode or not made:
        print(f"  no recording on the fakes: {(done.stderr or done.stdout).strip()}")
        return
    print(f"  beside the fake {name}:")
    differs = subprocess.run([HERE / "record/recording.py", "compare", path, made[0]], capture_output=True, text=True)
    print("".join(f"    {line}\n" for line in differs.stdout.splitlines()), end="")


def analyze_vendor(folder: Path, scratch: Path) -> bool:
    print_facts(folder)
    has_run = (folder / "checks.json").exists()  # not without Python there
    is_right = print_checks(folder) if has_run else True
    if has_run:
        print_benchmarks(folder)
    if not (folder / "truth.json").exists():
        print(f"\nthe program failed: {(folder / 'facts/result').read_text().strip()}")
        return False
    truth = json.loads((folder / "truth.json").read_text())
    for level in LEVELS[folder.name]:
        recordings = sorted((folder / "recordings" / level).glob("*.recording"))
        if level == "lists" and not recordings:
            print("\nno lists were recorded")
            is_right = False
        for path in recordings:
            print_oddities(path)
            is_right = replay_is_right(path, truth, folder.name, level, scratch) and is_right
            if folder.name != "cuda" or os.environ.get("SONDE_FAKE_CUDA"):
                compare_with_fakes(path, folder, level, scratch)
    return is_right


def analyze(folder: Path, scratch: Path) -> bool:
    vendors = [folder / name for name in ("cuda", "levelzero", "hip") if (folder / name).is_dir()]
    if not vendors:
        raise ValueError("tests/gpu/run.sh has left nothing in it")
    return all([analyze_vendor(vendor, scratch) for vendor in vendors])


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 129
    given = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        try:
            if not given.is_dir():
                (scratch / "given").mkdir()
                subprocess.run(["tar", "-C", scratch / "given", "-xzf", given], check=True, capture_output=True)
                given = next((scratch / "given").iterdir())
            return 0 if analyze(given.resolve(), scratch) else 1
        except (OSError, subprocess.CalledProcessError, ValueError, KeyError, StopIteration) as error:
            print(f"analyze: cannot read '{sys.argv[1]}': {error}", file=sys.stderr)
            return 128


if __name__ == "__main__":
    sys.exit(main())
