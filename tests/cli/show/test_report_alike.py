# SPDX-License-Identifier: Apache-2.0
"""Layers that are alike are one row of the call paths, which says how many they are; what differs stays apart."""
from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests/cli/import"))
from kineto_traces import Trace  # noqa: E402


def layered(costs: list[int], module: str = "nn.Module: Decoder_{}", category: str = "python_function") -> Trace:
    """A layer for each cost: a Linear of two fifths of it, aten::gelu of one, a Linear of two."""
    trace = Trace()
    time = 10
    for number, cost in enumerate(costs):
        trace.call(category, module.format(number), time, time + cost)
        trace.call("python_function", f"nn.Module: Linear_{2 * number}", time, time + 0.4 * cost)
        trace.call("cpu_op", "aten::mm", time, time + 0.4 * cost)
        trace.call("cpu_op", "aten::gelu", time + 0.4 * cost, time + 0.6 * cost)
        trace.call("python_function", f"nn.Module: Linear_{2 * number + 1}", time + 0.6 * cost, time + cost)
        trace.call("cpu_op", "aten::addmm", time + 0.6 * cost, time + cost)
        time += cost
    trace.call("python_function", "train.py(12): step", 0, time)
    return trace


def report(sonde, folder: Path, trace: Trace, *options: str) -> list[str]:
    path = folder / f"trace{len(list(folder.iterdir()))}"
    result = sonde("import", trace.write(path.with_suffix(".json")), "-o", path.with_suffix(".sdb"))
    assert result.status == 0, result.err
    result = sonde("report", path.with_suffix(".sdb"), *options, COLUMNS="120")
    assert result.status == 0, result.err
    return result.out.splitlines()


def share(line: str) -> float:
    return float(re.search(r"([\d.]+)%", line)[1])


@pytest.mark.parametrize("module, category", [("nn.Module: Decoder_{}", "python_function"), ("layer.{}.block", "user_annotation"),
                                              ("Region: {}/0", "cpu_op")])
def test_layers_that_are_alike_are_one_row(sonde, tmp_path, module, category):
    lines = report(sonde, tmp_path, layered([1000 + 7 * (i % 5) for i in range(36)], module, category))
    layers = [line for line in lines if "(36 alike)" in line]
    star = re.sub(r"\d+", "*", module.format(0))
    assert [line for line in layers if star in line]
    # within them, the first Linear goes to the first and the second to the second
    linears = [line for line in layers if "Linear_*" in line and star not in line]
    assert {line.split(" > ")[-1].split("  [")[0].strip() for line in linears} == {"aten::mm", "aten::addmm"}
    assert all(39 < share(line) < 41 for line in linears)
    assert not [line for line in lines if re.search(r"(Decoder|Linear)_\d", line)]
    # and opens
    full = report(sonde, tmp_path, layered([1000] * 36, module, category), "--full")
    assert all(any(module.format(i) in line for line in full) for i in range(36)) and not [x for x in full if "alike)" in x]


def test_one_of_them_is_shown_where_it_is_asked_for(sonde, tmp_path):
    lines = report(sonde, tmp_path, layered([1000] * 12), "--where", "nn.Module: Decoder_7")
    assert [line for line in lines if "Decoder_7" in line] and not [line for line in lines if "12 alike" in line]


@pytest.mark.parametrize("costs", [[1000, 1000], [100, 1000, 9000], [50, 50, 4000, 60]], ids=["two", "growing", "one"])
def test_what_differs_is_not_folded(sonde, tmp_path, costs):
    lines = report(sonde, tmp_path, layered(costs))
    assert not [line for line in lines if "Decoder_*" in line]
    assert [line for line in lines if re.search(rf"Decoder_{costs.index(max(costs))}\b", line)]


def test_functions_and_kernels_with_numbers_are_themselves(sonde, tmp_path):
    """Tile sizes of kernels and names that users chose for functions are no numbers of layers."""
    trace = Trace()
    for i in range(6):
        trace.call("python_function", f"train.py({10 + i}): stage_{i}", 100 * i, 100 * i + 100)
        trace.launch(i + 1, 100 * i + 10, 100 * i + 20)
        trace.operation("kernel", f"gemm_{32 * (i + 1)}x64_{i}", 100 * i + 30, 100 * i + 90, i + 1)
    lines = report(sonde, tmp_path, trace, "--limit", "0")
    assert not [line for line in lines if "alike)" in line]
    assert all(any(f"stage_{i}" in line for line in lines) for i in range(6))
