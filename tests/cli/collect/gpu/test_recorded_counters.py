# SPDX-License-Identifier: Apache-2.0
"""Recordings of AMD's hardware counters (record.sh --rocm --counters), on devices that are not there: of each kernel and counter as much is
stored of a replay as of the program, with the same losses and the same reasons."""
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from on_devices import Ran
from program import SONDE
from test_recorded_rocm import record
from test_recording import FAKE, READER, RECORD, Reader, entries, forged
from test_rocm import Ran as HipRan
from test_rocm import known_program  # noqa: F401 (a fixture)
from test_rocm_counters import GOOD, KERNELS, PLAN, counted, lost, metrics, values

SEVEN = ["SQ_WAVES", "GRBM_GUI_ACTIVE", "TCC_HIT[0]", "FETCH_SIZE", "FIFTH", "SIXTH", "LAST"]


def recorded(folder: Path, *command: str | Path, counters: list[str], fail: str = "none", **environment: str) -> Path:
    (folder / "plan").write_text(PLAN)
    options = ("--counters", ",".join(counters)) if counters else ()
    return record(folder, *command, fail=fail, options=options, FAKE_COUNTERS=str(folder / "plan"), **environment)[1]


def replayed(recording: Path, folder: Path, counters: list[str], stderr: str = "") -> HipRan:
    done = subprocess.run([FAKE, "--replay", recording, SONDE, "run", "-q", "-o", folder / "run", "--gpu-graphs", "nodes", "--gpu-counters",
                           ",".join(counters), "--", "replay"], capture_output=True, text=True, timeout=120)
    said = [line for line in done.stderr.splitlines() if line.startswith("replay: ")]
    assert done.returncode == 0 and said == ([f"replay: '{recording}' {stderr}"] if stderr else []), done.stderr
    return HipRan(done.stdout, folder, [], 0)


def all_of(ran: HipRan) -> dict:
    found = {(name, what): values(ran, name, what) for name in SEVEN for what in ("count", "sum")}
    return {"lost": lost(ran), "line": ran.line(), **{key: value for key, value in found.items() if value}}


@pytest.fixture
def both(known_program, tmp_path):  # noqa: F811
    def run(*how: str, counters: list[str], fail: str = "none", **environment: str) -> tuple[dict, dict]:
        for name in ("direct", "replayed"):
            (tmp_path / name).mkdir()
        direct = counted(tmp_path / "direct", known_program, *how, counters=counters, fail=fail, **environment)
        recording = recorded(tmp_path, known_program, *how, counters=counters, fail=fail, **environment)
        return all_of(direct), all_of(replayed(recording, tmp_path / "replayed", counters))
    return run


@pytest.mark.parametrize("fail", ["none", "counter-agents", "counter-lost", "counter-stray", "counter-part"])
def test_what_is_counted_in_a_replay_is_what_was(both, fail):
    direct, again = both(counters=GOOD, fail=fail)
    assert again == direct and (direct["lost"] > 0) == (fail in ("counter-lost", "counter-stray", "counter-part"))
    assert sum(direct["SQ_WAVES", "count"].values()) >= KERNELS * 9 // 10


@pytest.mark.parametrize("counters,fail", [(["SQ_WAVES", "SQ_NONE"], "none"), (["SQ_WAVES", "L2CacheHit"], "none"), (SEVEN, "none"),
                                           (["SQ_WAVES"], "counter-denied"), (["SQ_WAVES"], "counter-refuse")])
def test_a_refusal_is_replayed(both, counters, fail):
    direct, again = both(counters=counters, fail=fail)
    assert again == direct and "; no counters" in direct["line"]


def test_one_device_of_two(both):
    direct, again = both("second", counters=["SQ_WAVES", "LAST"], fail="counter-second", FAKE_DEVICES="2")
    assert again == direct and "; no counters on HIP device 1" in direct["line"] and direct["LAST", "count"]


@pytest.mark.parametrize("fail", ["counter-late", "counter-stop"])
def test_values_that_come_too_late_do_so_in_a_replay(both, fail):
    direct, again = both(counters=["SQ_WAVES"], fail=fail)
    for found in (direct, again):
        assert sum(found.get(("SQ_WAVES", "count"), {}).values()) + found["lost"] == KERNELS
    if fail == "counter-stop":
        assert again == direct and direct["lost"] == KERNELS


@pytest.mark.parametrize("with_counters,wanted,said", [
    ([], ["SQ_WAVES"], "has no hardware counters: record.sh takes them with --counters"),
    (["SQ_WAVES"], ["GRBM_GUI_ACTIVE"], "was counted with other counters, or in another order")])
def test_what_was_not_counted_is_not_there(known_program, tmp_path, with_counters, wanted, said):  # noqa: F811
    ran = replayed(recorded(tmp_path, known_program, counters=with_counters), tmp_path, wanted, said)
    assert not set(wanted) & set(metrics(ran)) and "; no counters" in ran.line() and "kernel-time" in metrics(ran)


def test_a_recording_with_counters_is_played_without(known_program, tmp_path):  # noqa: F811
    recording = recorded(tmp_path, known_program, counters=GOOD)
    done = subprocess.run([FAKE, "--replay", recording, SONDE, "run", "-q", "-o", tmp_path / "run", "--", "replay"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    found = metrics(Ran("", tmp_path, []))
    assert "kernel-time" in found and not set(GOOD) & set(found)


def test_what_a_recording_says(known_program, tmp_path):  # noqa: F811
    recording = recorded(tmp_path, known_program, counters=["SQ_WAVES", "FETCH_SIZE"])
    found = Reader().read(recording)
    assert found.facts["counters"] == "SQ_WAVES,FETCH_SIZE" and not found.oddities and found.is_complete
    assert found.counters["SQ_WAVES"] == (KERNELS, pytest.approx(sum_of(known_program, tmp_path, "SQ_WAVES")))
    kinds = [entry.kind for entry in entries(recording)]
    assert kinds.count("queued") == kinds.count("counted") == KERNELS
    summary = subprocess.run([READER, "summary", recording], capture_output=True, text=True, check=True).stdout
    assert f"counter SQ_WAVES: {KERNELS} kernels, " in summary


def sum_of(program_: Path, folder: Path, counter: str) -> float:
    (folder / "direct").mkdir()
    return sum(counted(folder / "direct", program_, counters=[counter]).of(counter, "sum").values())


@pytest.mark.parametrize("kind,field,value", [("counted", "count", 1 << 40), ("configured", "count", 1 << 40)])
def test_a_forged_recording_is_refused(known_program, tmp_path, kind, field, value):  # noqa: F811
    recording = recorded(tmp_path, known_program, counters=GOOD)
    recording.write_bytes(forged(recording.read_bytes(), kind, field, value))
    for command in ([READER, "summary", recording], [FAKE, "--replay", recording, "replay"]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 128 and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize("options", [("--counters", "A"), ("--rocm", "--counters", "A", "--samples", "continuous")])
def test_counters_are_amds_alone_and_not_with_samples(tmp_path, options):
    done = subprocess.run([RECORD, *options, tmp_path / "folder", "true"], capture_output=True, text=True)
    assert done.returncode == 129 and done.stderr.startswith("usage: ")
