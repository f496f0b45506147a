# SPDX-License-Identifier: Apache-2.0
"""`sonde info` on databases with known contents."""
from __future__ import annotations

import json

from test_gen_measurements import generate
from test_report import check_golden


def test_text(sonde, small_db):
    result = sonde("info", small_db.name, cwd=small_db.parent)
    assert result.status == 0 and result.err == ""
    check_golden("info", result.out)


def test_json(sonde, small_db):
    info = json.loads(sonde("info", "--format", "json", small_db).out)
    assert {"program", "command", "duration_ns", "profiles", "metrics", "contexts", "events", "modules", "drops",
            "complete", "overhead"} <= set(info)
    assert info["command"] == "python3 train.py" and info["duration_ns"] == 600_000_000
    assert (info["contexts"], info["events"], info["modules"]) == (15, 0, 4)
    assert info["drops"] == {"sample-busy": 1, "unwind-truncated": 2}
    assert info["complete"] is True
    assert [profile["tid"] for profile in info["profiles"]] == [4000, 4001, 4002]
    assert {metric["name"]: metric["sum"] for metric in info["metrics"]} == {
        "cpu-time": 500_000_000, "gpu-time": 300_000_000}
    assert info["overhead"]["own_ns"] == 500_000 and abs(info["overhead"]["share"] - 0.001) < 1e-12
    assert info["overhead"]["peak_bytes"] == 8388608


def section_offset(data: bytes, number: int) -> int:
    """Sections lie in the order of their types; see docs/format/container.md."""
    return int.from_bytes(data[48 + (number - 1) * 40 + 16:][:8], "little")


def test_verify(sonde, small_db, big_db, tmp_path):
    assert sonde("info", "--verify", small_db).out == sonde("info", small_db).out
    assert sonde("info", "--verify", big_db).status == 0
    data = bytearray(small_db.read_bytes())
    data[section_offset(data, 14) + 4] ^= 1  # values by context, which nothing here looks at
    bad = tmp_path / "bad.sdb"
    bad.write_bytes(data)
    assert sonde("info", bad).status == 0
    result = sonde("info", "--verify", bad)
    assert (result.status, result.out) == (128, "") and "damaged (values by context: checksum)" in result.err


def test_damaged_values_are_told(sonde, small_db, tmp_path):
    """Opening does not look at values: a command that meets a damaged one says so and fails."""
    data = bytearray(small_db.read_bytes())
    offset = section_offset(data, 17)  # ids, then numbers
    data[offset:offset + 4] = b"\xff\xff\xff\x7f"
    bad = tmp_path / "bad.sdb"
    bad.write_bytes(data)
    for command in (["report"], ["info"], ["export", "--to", "folded", "-o", tmp_path / "out"]):
        result = sonde(*command, bad)
        assert result.status == 128 and result.err.count("\n") == 1
        assert "damaged (summaries)" in result.err
    assert not (tmp_path / "out").exists()


def test_other_databases(sonde, big_db, empty_db):
    assert json.loads(sonde("info", "--format", "json", big_db).out)["contexts"] == 100000
    info = json.loads(sonde("info", "--format", "json", empty_db).out)
    assert info["profiles"] == [] and info["overhead"]["share"] == 0
    assert sonde("info", empty_db).status == 0


def test_metrics_that_nobody_has_take_one_line(sonde, tmp_path):
    """What a tool could have measured, and did not, is not between what was."""
    generate("-r", 2, "-t", 1, "-s", 0, "-o", tmp_path / "m.sonde")
    assert sonde("analyze", tmp_path / "m.sonde", "-o", tmp_path / "m.sdb").status == 0
    found = json.loads(sonde("info", "--format", "json", tmp_path / "m.sdb").out)
    metrics = {metric["name"]: metric["count"] for metric in found["metrics"]}
    text = sonde("info", tmp_path / "m.sdb").out.split("\nMetrics\n")[1].split("\n\n")[0]
    rows, _, rest = text.partition("\n  without values: ")
    assert {line.split()[0] for line in rows.splitlines()} == {name for name, count in metrics.items() if count}
    assert {name.strip() for name in rest.split(",")} == {name for name, count in metrics.items() if not count}
    assert max(map(len, text.splitlines())) <= 100
