# SPDX-License-Identifier: Apache-2.0
"""One model on two devices, and in two frameworks, side by side: two measurements in one database, of which each is shown by its name.
How long kernels take is planned, for the devices are not there."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

import program
from program import WORKLOADS
from test_causes import STEPS, hottest, line_of
from test_cuda import on_fakes
from test_cuda import pytestmark  # noqa: F401  (the same condition)
from test_pjrt_cuda import ROUNDS, plugin  # noqa: F401  (a fixture)

CAUSES = WORKLOADS / "cuda/causes.py"
SLOW, FAST = 300_000, 2_000
MULTIPLIES, NORMALIZES = "*[gG]emm*", "*layer_norm*"


def planned(folder: Path, name: str, plan: str) -> Path:
    """A measurement of that name, of the model with those times."""
    (folder / name).mkdir()
    (folder / name / "plan").write_text(f"{plan}* {FAST}\n")
    ran = on_fakes(folder / name, "python3", CAUSES, "model", fakes=("--plan", str(folder / name / "plan")))
    assert ran.out == "model done\n"
    return (folder / name / "run.sonde").rename(folder / f"{name}.sonde")


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, Path]:
    """The model on a device that is slow at one thing, and on one that is slow at the other: one measurement of each."""
    folder = tmp_path_factory.mktemp("models")
    return {slow: planned(folder, name, f"{slow} {SLOW}\n") for name, slow in (("multiplies", MULTIPLIES), ("normalizes", NORMALIZES))}


def together(folder: Path, *measurements: Path) -> Path:
    program.sonde("analyze", *measurements, "-o", folder / "run.sdb")
    return folder / "run.sdb"


def operators(database: Path, run: str) -> dict[str, float]:
    """Time in kernels by operator, most first."""
    answer = json.loads(program.sonde("report", database, "--by", "operator", "--metric", "kernel-time", "--thread", run, "--format", "json"))
    found = {row["name"]: row["values"]["kernel-time"]["exclusive"]["sum"] for row in answer["rows"] if row["kind"] == "operator"}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


@pytest.mark.parametrize("slow_on_one,slow_on_other", [(MULTIPLIES, NORMALIZES), (NORMALIZES, MULTIPLIES)])
def test_a_model_on_two_devices(models, tmp_path, slow_on_one, slow_on_other):
    """Measurements are named by their folders."""
    names = {MULTIPLIES: "aten::mm", NORMALIZES: "aten::native_layer_norm"}
    for name, slow in (("one", slow_on_one), ("other", slow_on_other)):
        (tmp_path / f"{name}.sonde").symlink_to(models[slow])
    database = together(tmp_path, tmp_path / "one.sonde", tmp_path / "other.sonde")
    one, other = operators(database, "one"), operators(database, "other")
    assert one[names[slow_on_one]] == other[names[slow_on_other]] == STEPS * SLOW
    assert one[names[slow_on_other]] == other[names[slow_on_one]] == STEPS * FAST
    assert next(iter(one)) == names[slow_on_one] and next(iter(other)) == names[slow_on_other]
    # the same in words: one line of the model, which costs much on one device
    text = program.sonde("report", database, "--context", names[slow_on_other], "--metric", "kernel-time", "--plot", "none")
    assert "imbalanced" in text, text
    for run, slow in (("one", slow_on_one), ("other", slow_on_other)):
        line, share = hottest(tmp_path, "kernel-time", "--thread", run)
        assert line == line_of("multiplied" if slow == MULTIPLIES else "normalized") and share > 0.95


def test_two_devices_of_one_process(tmp_path):
    """The calls are the same for both; the timeline has each device by itself."""
    (tmp_path / "plan").write_text(f"{NORMALIZES} {SLOW} 0\n{NORMALIZES} {2 * SLOW} 1\n* {FAST}\n")
    ran = on_fakes(tmp_path, "python3", CAUSES, "devices", options=("--trace",), fakes=("--plan", str(tmp_path / "plan")), FAKE_DEVICES="2")
    assert ran.out == "devices done\n"
    answer = json.loads(program.sonde("timeline", tmp_path / "run.sdb", "--format", "json"))
    found = {row["device"]: (row["computation_count"], row["computation_ns"]) for row in answer["devices"]}
    count = found[0][0]
    assert found == {device: (count, STEPS * slow + (count - STEPS) * FAST) for device, slow in ((0, SLOW), (1, 2 * SLOW))}


def test_two_frameworks(models, tmp_path, plugin):  # noqa: F811
    """A compiled program launches few kernels where operators launch one or more each."""
    (tmp_path / "eager.sonde").symlink_to(models[MULTIPLIES])
    main = program.compiled("pjrt/main.c", "-O1")
    (tmp_path / "compiled").mkdir()
    ran = on_fakes(tmp_path / "compiled", main, plugin, str(ROUNDS))
    launched = sum(int(row["count"]) for row in ran.table if row["kernel"].startswith("loop_fusion"))
    database = together(tmp_path, tmp_path / "eager.sonde", (tmp_path / "compiled/run.sonde").rename(tmp_path / "compiled.sonde"))
    assert set(operators(database, "compiled")) == {"jit_long", "jit_short"}
    assert set(operators(database, "eager")) >= {"aten::mm", "aten::native_layer_norm"}

    def kernels(run: str) -> int:
        answer = json.loads(program.sonde("report", database, "--metric", "kernel-time", "--thread", run, "--depth", "0", "--format", "json"))
        return answer["rows"][0]["values"]["kernel-time"]["inclusive"]["count"]
    assert kernels("compiled") == launched == 2 * (2 * ROUNDS + 1)
    with_operators = json.loads(program.sonde("report", database, "--metric", "kernels=count(kernel-time)", "--thread", "eager", "--depth", "0",
                                              "--format", "json"))
    assert kernels("eager") == with_operators["rows"][0]["values"]["kernels"]["inclusive"] >= 2 * STEPS
