# SPDX-License-Identifier: Apache-2.0
"""`sonde info` on databases with known contents."""
from __future__ import annotations

import json

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


def test_other_databases(sonde, big_db, empty_db):
    assert json.loads(sonde("info", "--format", "json", big_db).out)["contexts"] == 100000
    info = json.loads(sonde("info", "--format", "json", empty_db).out)
    assert info["profiles"] == [] and info["overhead"]["share"] == 0
    assert sonde("info", empty_db).status == 0
