# SPDX-License-Identifier: Apache-2.0
"""The tables that `sonde causal` reads: as profilers and other tools write them, and what is none."""
from __future__ import annotations

import json
import math
import random

import pytest
import samples

LAUNCHES = 300
NSIGHT = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"]


def launches(seed=1):
    """Bytes follow the grid, and the time follows bytes; the cache does nothing."""
    draw = random.Random(seed)
    for number in range(LAUNCHES):
        grid = draw.choice([64, 128, 256, 512, 1024])
        moved = grid * 1000 * math.exp(draw.gauss(0, 0.6))
        yield {"number": number, "grid": grid, "bytes": moved, "ns": moved * 0.01 * math.exp(draw.gauss(0, 0.4)), "hits": draw.uniform(20, 80)}


def quoted(fields):
    return ",".join(f'"{field}"' for field in fields) + "\n"


def nsight_identity(launch):
    return [launch["number"], 77, "app", "host", "copy(int*, int)", 1, 7, "(256, 1, 1)", f"({launch['grid']}, 1, 1)", 0, "8.0"]


def details():
    """Long, in units that change with the size of the value, among the program's own lines."""
    text = "==PROF== Connected to process 77\nloading, please wait\n"
    text += quoted([*NSIGHT, "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name"])
    for launch in launches():
        identity = nsight_identity(launch)
        us = launch["ns"] / 1000
        time = ("us", f"{us:,.3f}") if us > 1 else ("ns", f"{launch['ns']:,.2f}")
        large = launch["bytes"] > 200_000
        moved = ("Mbyte", f"{launch['bytes'] / 1e6:,.6f}") if large else ("Kbyte", f"{launch['bytes'] / 1e3:,.3f}")
        for section, name, (unit, value) in [("Speed", "Duration", time), ("Memory", "Moved", moved),
                                             ("Memory", "Hit Rate", ("%", f"{launch['hits']:.3f}"))]:
            text += quoted([*identity, section, name, unit, value])
        text += quoted([*identity, "Speed", "", "", "", "Bottleneck: memory, mostly"])
        text += "step done\n" if launch["number"] % 10 == 0 else ""
    return text + "==PROF== Disconnected from process 77\n"


def raw():
    text = "==PROF== Connected to process 77\n"
    text += quoted([*NSIGHT, "gpu__time_duration.sum", "dram__bytes.sum", "lts__hit_rate.pct"])
    text += quoted([""] * len(NSIGHT) + ["usecond", "Kbyte", "%"])
    for launch in launches():
        text += quoted([*nsight_identity(launch), f"{launch['ns'] / 1000:,.4f}", f"{launch['bytes'] / 1000:,.3f}", f"{launch['hits']:.3f}"])
    return text


def rocprofv3():
    text = quoted(["Correlation_Id", "Dispatch_Id", "Agent_Id", "Process_Id", "Kernel_Name", "Grid_Size", "Counter_Name",
                   "Counter_Value", "Start_Timestamp", "End_Timestamp"])
    begin = 9_200_000_000_000_000_000
    for launch in launches():
        begin += 100_000
        for counter in ["bytes", "hits"]:
            text += (f"{launch['number']},{launch['number']},\"Agent 1\",77,\"copy(int*, int)\",{launch['grid']},{counter.upper()},"
                     f"{launch[counter]:.3f},{begin},{begin + round(launch['ns'])}\n")
    return text


@pytest.mark.parametrize("text, names", [
    (details, {"grid": "Grid Size x", "bytes": "Moved", "ns": "Duration"}),
    (raw, {"grid": "Grid Size x", "bytes": "dram__bytes.sum", "ns": "gpu__time_duration.sum"}),
    (rocprofv3, {"grid": "Grid_Size", "bytes": "BYTES", "ns": "duration_ns"}),
])
def test_profilers(sonde, tmp_path, text, names):
    """Nothing but bytes causes the time directly, and no column that tells launches apart is asked at all."""
    table = tmp_path / "launches.csv"
    table.write_text(text())
    found = json.loads(sonde("causal", table, "--target", names["ns"], "--tier", names["grid"], "--samples", "20",
                             "--format", "json").out)
    pairs = {frozenset((edge["from"], edge["to"])) for edge in found["edges"]}
    assert pairs == {frozenset((names["grid"], names["bytes"])), frozenset((names["bytes"], names["ns"]))}
    assert found["rows"] == LAUNCHES
    left = {column["column"] for column in found["left_out"]}
    known = left | set(found["nodes"])
    assert not known & {"ID", "Process ID", "Context", "Stream", "Correlation_Id", "Dispatch_Id", "Process_Id", "Start_Timestamp"}
    assert known & {"launch_order", "start_ns"}


def test_separators_give_one_answer(sonde, tmp_path):
    """Also blanks, with a mark of UTF-8 and the line ends of Windows, and through a pipe."""
    rows = [["x", "y", "z"]] + [[f"{launch['grid']}", f"{launch['bytes']:.2f}", f"{launch['ns']:.2f}"] for launch in launches()]
    answers = set()
    for number, (separator, begin, end) in enumerate([(",", "", "\n"), (";", "", "\n"), ("\t", "", "\n"), (" ", "", "\n"),
                                                      ("   ", "", " \n"), (",", "\ufeff", "\r\n")]):
        table = tmp_path / f"{number}.csv"
        table.write_text(begin + "".join(separator.join(row) + end for row in rows), newline="")
        answers.add(sonde("causal", table, "--samples", "20", "--format", "json").out)
    assert len(answers) == 1


@samples.needs("causal/bnlearn/asia.txt")
def test_network_of_blanks(sonde):
    """A file of the networks as it lies there."""
    table, = samples.find("causal/bnlearn/asia.txt")
    assert len(json.loads(sonde("causal", table, "--samples", "20", "--format", "json").out)["nodes"]) == 8


NUMBERS = "".join(f"{row},{row * row % 17}\n" for row in range(40))


@pytest.mark.parametrize("content, why", [
    (b"", "is empty"),
    (b"a,b\n", "has no row but the names"),
    (b"a,b\n1,2\n", "too few"),
    (b"a,b\nx,y\nz,w\n", "too few"),
    (("a,b\n" + NUMBERS + "40").encode(), "line 42 has 1 fields, and the first one 2"),
    (("a,b\n1,2,3\n" + NUMBERS).encode(), "line 2 has 3 fields"),
    (("a,b\n1,\0\n" + NUMBERS).encode(), "is damaged in line 2"),
    (bytes(range(256)) * 16, "is damaged in line 1"),
    (("a,a\n" + NUMBERS).encode(), "two columns have the name 'a'"),
    (("a,b\n" + NUMBERS).encode("utf-16"), "is UTF-16"),
    (quoted(["Process ID", "Kernel Name", "Invocations", "Metric Name", "Average"]).encode() + b'"1","f","2","d","3"\n', "summary"),
])
def test_no_table(sonde, tmp_path, content, why):
    table = tmp_path / "table.csv"
    table.write_bytes(content)
    ended = sonde("causal", table)
    assert ended.status == 128 and why in ended.err and len(ended.err.splitlines()) == 1


def test_folder(sonde, tmp_path):
    ended = sonde("causal", tmp_path)
    assert ended.status == 128 and "directory" in ended.err.lower() and len(ended.err.splitlines()) == 1


def test_ten_thousand_columns(sonde, tmp_path):
    """Constant but for two: it is read, and says what is left."""
    table = tmp_path / "wide.csv"
    names = [f"c{number}" for number in range(10_000)]
    draw = random.Random(3)
    rows = []
    for _ in range(60):
        x = draw.gauss(0, 1)
        rows.append([f"{x:.4f}", f"{x + draw.gauss(0, 0.5):.4f}"] + ["7"] * 9_998)
    table.write_text("\n".join(",".join(row) for row in [names, *rows]) + "\n")
    found = json.loads(sonde("causal", table, "--samples", "20", "--format", "json").out)
    assert found["nodes"] == ["c0", "c1"]
    assert len(found["left_out"]) == 9_998
