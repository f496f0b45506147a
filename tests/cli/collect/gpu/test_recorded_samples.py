# SPDX-License-Identifier: Apache-2.0
"""Recordings with modules and samples of instructions (docs/format/recording.md), on devices that are not there: of a replay Sonde stores the
samples that it stores of the program itself. SONDE_FAKE_CUDA is as test_cuda.py has it."""
from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Callable

import program
import pytest
from on_devices import Ran, metrics
from test_cuda import NODES
from test_cuda import pytestmark  # noqa: F401  (the same condition)
from test_cuda_samples import CONTINUOUS, FAILURES, SERIALIZED, sampled, samples  # noqa: F401 (fixtures)
from test_cupti import RELEASES
from test_recording import Reader, record, replay, stored

MODES = {"serialized": SERIALIZED, "continuous": CONTINUOUS}


def instructions(folder: Path) -> Counter[tuple[str, str]]:
    """Of each metric of samples the paths from the kernel on, below the call that launched it. A replay knows no other callers."""
    found: Counter[tuple[str, str]] = Counter()
    for metric in metrics(Ran("", folder, [])):
        if not metric.startswith(("gpu-samples", "stall-")):
            continue
        for frames, value in program.paths(folder, metric, "--metric", metric):
            first = next(index for index, frame in enumerate(frames) if frame["kind"] == "kernel")
            call = [frame["name"] for frame in frames[:first] if frame["kind"] == "gpu-api"][-1:]
            found[metric, " > ".join(call + [frame["name"] for frame in frames[first:]])] += value["count"]
    return found


def all_of(folder: Path) -> dict:
    return {**stored(folder), "samples": instructions(folder), "cubins": sorted(path.name for path in (folder / "run.sonde").glob("*.sonde-cubin"))}


@pytest.fixture
def both(tmp_path) -> Callable[..., tuple[dict, dict]]:
    def run(*command: str | Path, mode: str, fakes: tuple[str, ...] = (), nodes: bool = False) -> tuple[dict, dict]:
        """What is stored of the program itself, and of the replay of its recording."""
        (tmp_path / "direct").mkdir()
        (tmp_path / "replayed").mkdir()
        options = (*MODES[mode], *(NODES if nodes else ()))
        direct = sampled(tmp_path / "direct", *command, options=options, fakes=fakes)
        out, recording = record(tmp_path, *command, fakes=fakes, options=("--samples", mode, *(["--nodes"] if nodes else [])))
        assert out == direct.out
        replay(recording, tmp_path / "replayed", *options)
        return all_of(tmp_path / "direct"), all_of(tmp_path / "replayed")
    return run


# ---- a replay is what ran ----


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("release", RELEASES)
def test_samples_of_a_replay_are_stored_as_those_of_the_program(both, samples, tmp_path, release, mode):
    direct, replayed = both(samples, mode=mode, fakes=("--cupti", release))
    assert replayed == direct
    assert sum(count for (metric, _), count in direct["samples"].items() if metric == "gpu-samples") > 10000
    found = Reader().read(next((tmp_path / "recorded").glob("*.recording")))
    assert found.modules == {"loaded": 1} and found.settings["mode"] == {"serialized": 2, "continuous": 1}[mode] and not found.oddities


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("nodes", [True, False])
@pytest.mark.parametrize("release", ["11.8", "13.2"])
def test_graphs(both, samples, release, nodes, mode):
    direct, replayed = both(samples, "graph", mode=mode, nodes=nodes, fakes=("--cupti", release))
    for one in (direct, replayed):
        one.pop("graph-time")  # how long a whole graph takes depends on the run
    assert replayed == direct


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("release,failure", [*((release, failure) for release in ("11.8", "13.2") for failure in FAILURES),
                                             *(("13.2", failure) for failure in ("pc-length", "pc-drop")), ("13.5", "pc-drop")])
def test_a_failure_is_replayed(both, samples, release, failure, mode):
    direct, replayed = both(samples, mode=mode, fakes=("--cupti", release, "--fail", failure))
    assert replayed == direct
    assert "drop" not in failure or direct["drops"]["gpu-sample-lost"] > 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("release", ["11.8", "13.2"])
def test_what_comes_when_sampling_ends(both, samples, tmp_path, release, mode):
    """Few instructions, for else the fake takes long for all of them at once."""
    plan = tmp_path / "plan"
    plan.write_text("_Z4* 0 wait 3\n_Z4* 30 selected 2\n")
    direct, replayed = both(samples, mode=mode, fakes=("--cupti", release, "--fail", "pc-late", "--samples", str(plan)))
    assert replayed == direct and sum(count for (metric, _), count in direct["samples"].items() if metric == "gpu-samples") == 60 * 5


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("failure", ["pc-drop", "pc-full"])
def test_what_was_lost_is_lost_again(both, samples, tmp_path, failure, mode):
    direct, replayed = both(samples, "apart", mode=mode, fakes=("--fail", failure))
    assert replayed["drops"]["gpu-sample-lost"] > 0
    # the recorder hears more calls, after which it reads: where the second reading is, and so how much is lost in it, depends on that
    if (failure, mode) == ("pc-full", "continuous"):
        assert_is_recorded(replayed, next((tmp_path / "recorded").glob("*.recording")))
    else:
        assert replayed == direct


def assert_is_recorded(replayed: dict, recording: Path) -> None:
    """What is stored is what the recording says itself: by reason, and what was lost."""
    found, expected = Reader().read(recording), Counter()
    for (_, reason), count in found.samples.items():
        expected["gpu-samples"] += count
        if reason != "selected":
            expected["stall-" + reason.replace("_", "-")] += count
    stored_by_reason: Counter[str] = Counter()
    for (metric, _), count in replayed["samples"].items():
        stored_by_reason[metric] += count
    stored_by_reason.pop("gpu-samples-stalled")
    assert stored_by_reason == expected
    assert replayed["drops"].get("gpu-sample-lost", 0) == found.sample_counts["dropped"]
