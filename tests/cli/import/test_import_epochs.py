# SPDX-License-Identifier: Apache-2.0
"""A store of continuous profiling: imported, and in the place of a database. Stores are as stores.py writes them
from descriptions; where a sample lies is computed from the symbols of a library that is built for the purpose."""
from __future__ import annotations

import json
import re
import shutil
import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from conftest import run_sonde
from stores import BEGIN, FILE, JIT, KERNEL, Library, flush, write

@pytest.fixture
def library(tmp_path) -> Library:
    return Library(tmp_path)


ORIGINS = (("origin", "/usr/bin/worker", "/system.slice/worker.service", 0, 1000), ("origin", "/bin/other", "-", 42, 0))


def known(library: Library) -> list[tuple[object, ...]]:
    """Two flushes of 100 samples each: 70 in hot, 10 in cold, 15 in the kernel, 5 in code made at run time."""
    hot, cold = library.starts["hot"], library.starts["cold"]
    once = [("count", 0, 0, hot + 1, 60), ("count", 0, 0, hot + 4, 10), ("count", 1, 0, cold, 10), ("count", 0, 1, 0x1010, 15),
            ("name", 1, 0x1000, 0x100, "schedule"), ("count", 0, 2, 0x7F0000000010, 5),
            ("name", 2, 0x7F0000000000, 0x20, "jitted::loop")]
    return [*ORIGINS, library.image(), ("image", KERNEL, "[kernel]", "-", 0, 0, 0), ("image", JIT, "jit", "-", 0, 0, 0),
            *once, flush(0, 100, "ring-full=7"), *once, flush(10, 100)]


def report(store: Path, *options: object) -> dict:
    result = run_sonde("report", store, "--format", "json", *options)
    assert (result.status, result.err) == (0, ""), result.err
    return json.loads(result.out)


def imported(store: Path) -> Path:
    output = store.with_suffix(".sdb")
    assert run_sonde("import", store, "-o", output).status == 0
    return output


def self_times(store: Path, *options: object, metric: str = "cpu-clock") -> dict[str, float]:
    """By function: milliseconds, or millions."""
    rows = report(store, "--view", "flat", "--metric", metric, *options)["rows"]
    sums = {row["name"]: row["values"][metric]["exclusive"]["sum"] / 1e6 for row in rows}
    return {name: value for name, value in sums.items() if value}


def total(text: str) -> float:
    """What the first row of a report has."""
    return max(row["values"]["cpu-clock"]["inclusive"]["sum"] for row in json.loads(text)["rows"])


def refused(*arguments: object) -> str:
    result = run_sonde(*arguments)
    assert result.status == 128 and result.out == "" and len(result.err_lines) == 1
    return result.err.removeprefix("sonde: ").rstrip("\n")


EXPECTED = {"hot": 140, "cold": 20, "schedule": 30, "jitted::loop": 10}


def test_epochs_known_answer(tmp_path, library):
    store = write(tmp_path / "store", *known(library))
    assert self_times(store) == EXPECTED
    output = tmp_path / "out.sdb"
    result = run_sonde("import", store, "-o", output)
    assert (result.status, result.err) == (0, "")
    assert self_times(output) == EXPECTED
    info = json.loads(run_sonde("info", "--format", "json", output).out)
    assert info["drops"] == {"ring-full": 7}
    assert info["samples"] == 200
    assert {(p["program"], p["thread"], p["pid"], p["samples"], p["cpu_ns"]) for p in info["profiles"]} == {
        ("worker", "/system.slice/worker.service", 0, 180, 180e6), ("other", None, 42, 20, 20e6)}
    assert info["properties"]["store.flushes"] == "2" and info["properties"]["store.samples"] == "200"
    assert "worker /system.slice/worker.service" in run_sonde("report", store, "--view", "threads").out


def test_images_are_above_their_functions(tmp_path, library):
    text = run_sonde("report", write(tmp_path / "store", *known(library))).out
    assert re.search(r"libknown\.so.*\n.*hot", text) and re.search(r"\[kernel\] > schedule|\[kernel\].*\n.*schedule", text)


def test_merging_changes_no_sum(tmp_path, library):
    lines = known(library)
    store = write(tmp_path / "store", *lines, ("seal",), ("tend", BEGIN + 2000), *lines[len(lines) - 8:-1], flush(20, 100), ("seal",),
                  ("tend", BEGIN + 90 * 86400 // 10))
    assert len(list(store.iterdir())) == 1
    assert self_times(store) == {name: 1.5 * time for name, time in EXPECTED.items()}
    info = json.loads(run_sonde("info", "--format", "json", store).out)
    assert [epoch["level"] for epoch in info["epochs"]] == ["day"]
    assert (info["flushes"], info["samples"], info["lost"]) == (3, 300, {"ring-full": 7, })


def test_different_rates_stay_apart(tmp_path, library):
    hot = library.starts["hot"]
    store = write(tmp_path / "store", *ORIGINS, library.image(),
                  ("count", 0, 0, hot, 4), flush(0, 4, period=1000000), ("count", 0, 0, hot, 4), flush(1, 4, period=2000000),
                  ("count", 0, 0, hot, 5), flush(1, 5, event="cycles", period=1000), ("seal",), ("tend", BEGIN + 1000))
    assert self_times(store) == {"hot": 12}
    assert self_times(store, metric="cycles") == {"hot": 5 * 1000 / 1e6}
    rates = json.loads(run_sonde("info", "--format", "json", store).out)["rates"]
    assert rates == [{"event": "cpu-clock", "period": 1000000, "samples": 4}, {"event": "cpu-clock", "period": 2000000, "samples": 4},
                     {"event": "cycles", "period": 1000, "samples": 5}]


def test_call_paths(tmp_path, library):
    hot, cold = library.starts["hot"], library.starts["cold"]
    store = write(tmp_path / "store", *ORIGINS, library.image(), ("stack", 0, 9, f"0:{hot + 1}", f"0:{cold + 12}"), flush(0, 9))
    rows = {row["name"]: row["values"]["cpu-clock"] for row in report(store, "--view", "flat")["rows"]}
    assert [rows["cold"][which]["sum"] for which in ("inclusive", "exclusive")] == [9e6, 0]
    assert rows["hot"]["exclusive"]["sum"] == 9e6


def test_counts_go_to_the_call_paths_of_their_function(tmp_path, library):
    """Of the paths to hot 3 of 4 are through cold, and the instruction of the count is kept; what no path leads to, or only those of another program, stays below its image."""
    hot, cold = library.starts["hot"], library.starts["cold"]
    store = write(tmp_path / "store", *ORIGINS, library.image(),
                  ("stack", 0, 2, f"0:{hot + 1}", f"0:{cold + 12}"), ("stack", 0, 1, f"0:{hot + 4}", f"0:{cold + 12}"), ("stack", 0, 1, f"0:{hot + 1}"),
                  ("count", 0, 0, hot + 1, 40), ("count", 0, 0, hot + 7, 56), ("count", 0, 0, cold, 7), ("count", 1, 0, hot + 1, 11), flush(0, 118))
    rows = {row["name"]: row["values"]["cpu-clock"] for row in report(store, "--view", "flat")["rows"]}
    assert rows["hot"]["exclusive"]["sum"] == 111e6 and rows["cold"]["exclusive"]["sum"] == 7e6
    assert rows["cold"]["inclusive"]["sum"] == (7 + 3 + 0.75 * 96) * 1e6
    assert total(run_sonde("report", store, "--format", "json").out) == 118e6
    by_program = {profile["program"]: profile["samples"] for profile in json.loads(run_sonde("info", "--format", "json", imported(store)).out)["profiles"]}
    assert by_program == {"worker": 107, "other": 11}


def test_counts_are_shared_out_whole(tmp_path):
    """A thousand places with a sample or two each, of a function with paths of 1, 2 and 7 samples: no sample is cut, and each path has its part of all."""
    store = write(tmp_path / "store", *ORIGINS, ("image", JIT, "jit", "-", 0, 0, 0), ("name", 0, 0, 0x1000, "whole"), ("name", 0, 0x100000, 0x1000, "one"),
                  ("name", 0, 0x200000, 0x1000, "two"), ("stack", 0, 1, "0:1"), ("stack", 0, 2, "0:1", "0:0x100010"), ("stack", 0, 7, "0:1", "0:0x200010"),
                  *[("count", 0, 0, 4 * number, 1 + number % 2) for number in range(1000)], flush(0, 1510))
    rows = report(store, "--full", "--granularity", "instruction")["rows"]
    counts = [row["values"]["cpu-clock"]["exclusive"]["count"] for row in rows]
    assert sum(counts) == 1510 and all(count == int(count) for count in counts)
    flat = {row["name"]: row["values"]["cpu-clock"]["inclusive"]["count"] for row in report(store, "--view", "flat")["rows"]}
    assert flat["whole"] == 1510
    assert abs(flat["one"] - 302) <= 5 and abs(flat["two"] - 1057) <= 5, flat


# ---- files that are not what they were ----


def test_a_replaced_file_gives_no_names(tmp_path, library):
    store = write(tmp_path / "store", *known(library))
    Library(tmp_path, 5)
    assert self_times(store) == {"[libknown.so, replaced]": 160, "schedule": 30, "jitted::loop": 10}
    library.path.unlink()
    assert self_times(store)["[libknown.so, not found]"] == 160


def test_without_a_build_id_time_and_size_tell(tmp_path):
    library = Library(tmp_path, build_id="none")
    status = library.path.stat()
    where = ("count", 0, 0, library.starts["hot"], 5)

    def names(name: str, **image: int) -> set[str]:
        return set(self_times(write(tmp_path / name, *ORIGINS, library.image(**image), where, flush(0, 5))))

    assert names("same", mtime=status.st_mtime_ns, size=status.st_size) == {"hot"}
    assert names("unknown") == {"hot"}
    assert names("later", mtime=status.st_mtime_ns - 1, size=status.st_size) == {"[libknown.so, replaced]"}
    assert names("larger", size=status.st_size - 1) == {"[libknown.so, replaced]"}
    assert names("deleted", deleted=1) == {"[libknown.so, replaced]"}


def test_a_file_that_was_replaced_meanwhile_is_two(tmp_path, library):
    """Both in one store: the one that is there has names, the other has not."""
    newer = ("image", FILE, library.path, "00" * 20, 0, 0, 0)
    store = write(tmp_path / "store", *ORIGINS, library.image(), newer, ("count", 0, 0, library.starts["hot"], 2),
                  ("count", 0, 1, library.starts["hot"], 3), flush(0, 5))
    assert self_times(store) == {"hot": 2, "[libknown.so, replaced]": 3}


# ---- what is asked for ----


def test_ranges(tmp_path, library):
    store = write(tmp_path / "store", *known(library))
    half = {name: time / 2 for name, time in EXPECTED.items()}
    assert self_times(store, "--since", "2026-11-30T12:05Z") == half
    assert self_times(store, "--until", "2026-11-30T12:05:00Z") == half
    assert self_times(store, "--since", "2026-11-29", "--until", "2026-12-02") == EXPECTED
    assert self_times(store, "--since", "5000w") == EXPECTED
    err = refused("report", store, "--since", "2026-11-30T12:20Z", "--until", "2026-11-30T13:00Z")
    assert err.startswith(f"no samples in '{store}' in that time: it has those from 2026-11-30 ")
    assert refused("report", store, "--since", "2026-12-01", "--until", "2026-11-30").startswith("--since is later than --until")


def test_a_recent_flush_is_in_the_last_hour(tmp_path, library):
    minutes = int((datetime.now(timezone.utc) - timedelta(minutes=30)).timestamp() - BEGIN) // 60
    where = ("count", 0, 0, library.starts["hot"], 5)
    store = write(tmp_path / "store", *ORIGINS, library.image(), where, flush(minutes - 60, 5), where, flush(minutes, 5))
    assert self_times(store, "--since", "1h") == {"hot": 5}
    assert self_times(store, "--since", "1h45m") == {"hot": 10}
    assert self_times(store, "--until", "1h") == {"hot": 5}


@pytest.mark.parametrize("text", ["", "1", "h", "1x", "2026-13-01", "2026-02-30", "yesterday", "-1h", "2026-11-30T25:00"])
def test_what_is_no_time(tmp_path, library, text):
    store = write(tmp_path / "store", *known(library))
    result = run_sonde("report", store, f"--since={text}")
    assert result.status == 129 and f"'{text}' is no time" in result.err


def test_images(tmp_path, library):
    store = write(tmp_path / "store", *known(library))
    assert self_times(store, "--image", "libknown.so") == {"hot": 140, "cold": 20}
    assert self_times(store, "--image", library.path) == {"hot": 140, "cold": 20}
    assert self_times(store, "--image", "kernel") == self_times(store, "--image", "[kernel]") == {"schedule": 30}
    assert refused("report", store, "--image", "libnone.so") == f"no samples of image 'libnone.so' in '{store}'"
    assert refused("report", store, "--image", "libnone.so", "--until", "2026-12-01") == (
        f"no samples of image 'libnone.so' in '{store}' in that time")


def test_import_of_a_range(tmp_path, library):
    store, output, trace = write(tmp_path / "store", *known(library)), tmp_path / "out.sdb", tmp_path / "trace.json"
    assert run_sonde("import", store, "--since", "2026-11-30T12:05Z", "--image", "libknown.so", "-o", output).status == 0
    assert self_times(output) == {"hot": 70, "cold": 10}
    trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]}))
    assert "sonded keeps samples" in refused("import", trace, "--since", "1h", "-o", tmp_path / "none.sdb")


@pytest.mark.parametrize("option", ["--since", "--until", "--image"])
def test_ranges_are_of_stores(small_db, option):
    err = refused("report", small_db, option, "1h")
    assert err == f"option '{option}' is for the folder in which sonded keeps samples: '{small_db}' is none"


def test_merged_parts_are_whole(tmp_path, library):
    """Ten minutes of an hour that was merged are the hour, and that is said; those of a day that are it nearly are not."""
    store = write(tmp_path / "store", *known(library), ("seal",), ("tend", BEGIN + 1000))
    result = run_sonde("report", store, "--view", "threads", "--since", "2026-11-30T12:05Z", TZ="UTC")
    assert result.err == "sonde: these are the samples from 2026-11-30 12:00 to 2026-11-30 12:11: what sonded has merged is taken as a whole\n"
    assert "200 samples" in result.out
    assert run_sonde("report", store, "--view", "threads", "--since", "2026-11-30T12:00:10Z").err == ""
    assert run_sonde("report", store, "--view", "threads").err == ""


def test_what_is_not_there(tmp_path):
    assert refused("report", tmp_path / "none", "--since", "1h") == f"cannot read '{tmp_path}/none': No such file or directory"


def test_an_empty_store(tmp_path, library):
    store = write(tmp_path / "store", *ORIGINS, flush(0, 0))
    assert refused("report", store) == f"no samples in '{store}'"
    assert run_sonde("info", store).status == 0


def test_other_commands_take_a_store(tmp_path, library):
    store = write(tmp_path / "store", *known(library))
    folded = run_sonde("export", "--to", "folded", store, "--image", "libknown.so", "-o", "-")
    assert folded.status == 0 and "hot" in folded.out and "schedule" not in folded.out
    listing = run_sonde("annotate", store, "libknown.so:hot", "--since", "2026-11-30T12:05Z")
    assert listing.status == 0 and "hot" in listing.out
    assert not list(tmp_path.glob("sonde-*"))


# ---- info ----


def test_info_of_a_store(tmp_path, library):
    store = write(tmp_path / "store", *known(library))
    result = run_sonde("info", store, TZ="UTC")
    size = sum(path.stat().st_size for path in store.iterdir())
    assert (result.status, result.err) == (0, "")
    assert re.search(r"oldest +2026-11-30 12:00:00\n", result.out) and re.search(r"newest +2026-11-30 12:11:00\n", result.out)
    assert re.search(r"200 +cpu-clock, one every 1.00 ms", result.out) and re.search(r"7 +lost: ring-full", result.out)
    told = json.loads(run_sonde("info", "--format", "json", store).out)
    assert told["bytes"] == size and told["flushes"] == 2 and told["watched_ns"] == 120e9
    assert told["epochs"][0]["begin"] == "2026-11-30T12:00:00Z"


# ---- damage ----


def test_damage_is_told_in_one_line(tmp_path, library):
    store = write(tmp_path / "store", *known(library))
    whole = (store / "current").read_bytes()
    (store / "current").write_bytes(whole[:-5])
    result = run_sonde("report", store, "--format", "json", "--view", "flat")
    assert result.status == 0
    assert re.fullmatch(rf"sonde: '{store}/current' is damaged: truncated at byte \d+: \d+ of {len(whole) - 5} bytes are not read\n", result.err)
    assert total(result.out) == 100e6
    info = run_sonde("info", store)
    assert info.status == 0 and "truncated at byte" in info.out
    (store / "current").write_bytes(whole[:30])
    assert run_sonde("report", store).status == 128
    (store / "current").write_bytes(b"")
    assert run_sonde("report", store).status == 128


def test_a_damaged_epoch_does_not_hide_others(tmp_path, library):
    lines = known(library)
    store = write(tmp_path / "store", *lines, ("seal",), *lines[5:12], flush(30, 100))
    sealed, = store.glob("*.epoch")
    sealed.write_bytes(b"nonsense")
    result = run_sonde("report", store, "--format", "json", "--view", "flat")
    assert result.status == 0 and "its head is damaged: none of its 8 bytes is read" in result.err
    assert total(result.out) == 100e6


def test_a_link_in_a_store_is_not_followed(tmp_path, library):
    store = write(tmp_path / "store", *known(library))
    shutil.move(store / "current", tmp_path / "elsewhere")
    (store / "current").symlink_to(tmp_path / "elsewhere")
    assert run_sonde("report", store).status == 128
