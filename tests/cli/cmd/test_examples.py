# SPDX-License-Identifier: Apache-2.0
"""The five examples of docs/examples.md: one command names the cause, and says that it is gone after the fix.

Bounds are wide: how much of it there is depends on the machine and on what else it does.
"""
from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from program import BUILD, ROOT, run, sonde
from test_os import needs

EXAMPLES = ROOT / "examples/timeline"
PYTHON = "/usr/bin/python3"


@pytest.fixture(scope="module")
def torch() -> str:
    if subprocess.run([PYTHON, "-c", "import torch.distributed, torch.multiprocessing"]).returncode:
        pytest.skip(f"{PYTHON} has no PyTorch")
    return PYTHON


def measured(folder: Path, *command: object, options: tuple[str, ...] = ("--trace",)) -> Path:
    folder.mkdir(exist_ok=True)
    if command[0] != PYTHON and not Path(str(command[0])).exists():
        pytest.skip("built without OpenCL")
    done = run(folder, *map(str, command), options=options, check=None, timeout=300)
    if done.returncode == 77:
        pytest.skip("no OpenCL device here (pocl-opencl-icd gives one)")
    assert done.returncode == 0, done.stderr
    return folder / "run.sdb"


def view(database: Path, name: str) -> dict:
    return json.loads(sonde("timeline", database, "--view", name, "--format", "json"))


def text(database: Path, name: str) -> str:
    return sonde("timeline", database, "--view", name)


def test_preprocessing_before_the_device(tmp_path):
    program = BUILD / "examples/preprocess"
    before, after = measured(tmp_path / "before", program), measured(tmp_path / "after", program, "--prefetch")

    def starts(database: Path) -> tuple[dict, float]:
        rows = [row for row in view(database, "idle")["before_each"]["rows"] if row["iteration"].startswith("step")]
        assert rows
        return max(rows, key=lambda row: row["time_ns"]), rows[0]["before_share"]

    most, share = starts(before)
    assert "decode_image" in most["node"] and most["count"] == 24
    assert share > 0.05
    # what the processor does is said to be most of what comes before the device
    assert most["time_ns"] > 0.5 * most["before_ns"]
    assert starts(after)[1] < 0.5 * share
    assert "what threads did before the device in iterations" in text(before, "idle")
    # the same in the three sentences
    assert "the host was most in decode_image" in " ".join(text(before, "summary").split())


def costliest(database: Path, iteration: int | None = None) -> dict:
    """The node whose speed would gain most on the critical path of an iteration, or of the one of median length."""
    option = ("--iteration", str(iteration)) if iteration else ()
    answer = json.loads(sonde("timeline", database, "--view", "critical-path", "--format", "json", *option))
    return max(answer["critical_path"]["rows"], key=lambda row: row["gain_ns"])


def test_a_copy_in_each_iteration(tmp_path):
    program = BUILD / "examples/copies"
    before, after = measured(tmp_path / "before", program), measured(tmp_path / "after", program, "--once")
    each, = view(before, "transfers")["transfer_iterations"]["rows"]
    assert each["direction"] == "host to device" and "copy_batch" in each["node"]
    assert (each["iterations"], each["of"], each["count"], each["bytes"]) == (40, 40, 1, 16 << 20)
    assert each["share"] > 0.1
    # the call that copies returns when that is done: it is the copy that would have to be faster. On a busy machine some
    # iterations wait for a processor instead, and the one that the sentences are about may be one of them
    best = [costliest(before, number) for number in range(1, 41, 4)]
    copied = [row for row in best if row["node"] == "copy host->device in copy_batch"]
    assert Counter(row["node"] for row in best).most_common(1) == [("copy host->device in copy_batch", len(copied))]
    assert max(row["gain_ns"] / row["time_ns"] for row in copied) > 0.09
    sentences = " ".join(text(before, "summary").split())
    assert f"Which node to change: {costliest(before)['node']} is on the critical path" in sentences
    answer = view(after, "transfers")
    assert not answer["transfer_iterations"]["rows"]
    assert "iterations copy nothing" in text(after, "transfers")
    once, = answer["transfers"]["rows"]
    assert (once["direction"], once["count"], once["bytes"]) == ("host to device", 1, 64 << 20)


def test_one_operator(tmp_path, torch, monkeypatch):
    """By one thread: several of a product wait for the one that another program keeps from running."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    script = EXAMPLES / "bound.py"
    before = measured(tmp_path / "before", torch, script, options=("--graph",))
    after = measured(tmp_path / "after", torch, script, "--strided", options=("--graph",))

    def model(database: Path) -> dict:
        model, = json.loads(sonde("graph", database, "--format", "json"))["models"]
        return model

    def time(database: Path, wanted: str = "") -> float:
        # the fastest execution of each node, which other programs do not lengthen
        return sum(row["time_ns"]["min"] for row in model(database)["rows"] if wanted in (row["module"] or ""))

    # of each iteration nearly all is in one part of the model, forward and backward
    assert time(before, "Net.wide") > 0.6 * time(before)
    assert time(after, "Net.wide") < 0.25 * time(before, "Net.wide")
    assert time(after) < 0.6 * time(before)
    first, = [line for line in sonde("graph", before, "--by", "module", "--top", "1").splitlines() if "Net" in line]
    assert "Net.wide" in first


def test_a_tensor_between_processes(tmp_path, torch):
    script = EXAMPLES / "split.py"
    before = measured(tmp_path / "before", torch, script)
    after = measured(tmp_path / "after", torch, script, "--later")

    def rows(database: Path) -> tuple[dict, dict]:
        found = view(database, "messages")["message_calls"]["rows"]
        sent, = [row for row in found if row["peer"] == "to rank 1" and "first_part" in row["node"]]
        received, = [row for row in found if row["peer"] == "from rank 0" and "second_part" in row["node"]]
        return sent, received

    for database, each in ((before, 8 * 32 * 128 * 128 * 4), (after, 8 * 32 * 16 * 16 * 4)):
        for row in rows(database):
            assert (row["count"], row["bytes"], row["bytes_each"]) == (8, 8 * each, each)
            assert row["wait_ns"] > 0
        assert rows(database)[0]["who"] != rows(database)[1]["who"]
        assert "exchanges" not in view(database, "transfers")
    assert "16.0 MiB" in text(before, "messages") and "256 KiB" in text(after, "messages")


def test_a_slow_load(tmp_path, torch, monkeypatch):
    needs("syscalls", "faults")
    script = EXAMPLES / "load.py"
    monkeypatch.chdir(tmp_path)
    subprocess.run([torch, script, "--make"], check=True)
    size = (tmp_path / "model.bin").stat().st_size
    before = measured(tmp_path / "before", torch, script, options=("--os=syscalls,faults",))
    after = measured(tmp_path / "after", torch, script, "--mmap", options=("--os=syscalls,faults",))
    (tmp_path / "model.bin").unlink()

    def read(database: Path) -> float:
        row, = [row for row in view(database, "threads")["calls"]["rows"] if row["name"] == "read"]
        return row["bytes"]

    def faults(database: Path) -> float:
        return sum(row["count"] for row in view(database, "threads")["faults"]["rows"])

    # the rest is what Python reads of its modules, in both
    assert size <= read(before) < 1.5 * size
    assert read(after) < 0.5 * size
    # memory for the copies of it, which the file mapped needs none of
    assert faults(before) - faults(after) > 0.5 * size / 4096
