# SPDX-License-Identifier: Apache-2.0
"""Pictures of causal graphs: SVG and DOT, drawn by make-causal from a description."""
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from program import BUILD
from test_report import check_golden

SVG = "{http://www.w3.org/2000/svg}"
GRAPH = """\
title duration of a convolution
tier configuration
tier counters
tier result
target 4
variable 0 number gridX
variable 0 category copyKind
variable 1 number dram__bytes_read.sum.per_second_of_all_channels
variable 1 number stalls
variable 2 number duration
variable 1 number without an edge
arrow 0 2 1 1 1 0 0.7 0.6 0.8 1 0.5
arrow 2 4 1 0.97 0.9 0.07 -0.4 -0.5 -0.3 1 0.25
arrow 1 4 1 0.9 0.9 0 nan nan nan nan 0.1
arrow 3 4 1 0.62 0.6 0.02 0.1 -0.05 0.2 0.9 0.01
arrow 2 3 0 0.95 0.5 0.45 0.3 0.2 0.4 1 nan
"""
SCRIPT = '<script>alert(1)</script>"&\\'
LONG = "x" * 100 + "middle" + "y" * 100


@pytest.fixture
def draw(tmp_path):
    def run(form: str, text: str) -> str:
        path = tmp_path / "graph.txt"
        path.write_text(text)
        return subprocess.run([BUILD / "tests/make-causal", form, path], capture_output=True, text=True, check=True).stdout
    return run


def elements(svg: str, kind: str) -> dict[str, ElementTree.Element]:
    """The groups of arrows or variables, by id."""
    found = ElementTree.fromstring(svg).iter(f"{SVG}g")
    return {group.get("id"): group for group in found if (group.get("id") or "").startswith(kind)}


def title(group: ElementTree.Element) -> str:
    return group.find(f"{SVG}title").text


def test_golden(draw):
    check_golden("causal-svg", draw("svg", GRAPH))
    check_golden("causal-dot", draw("dot", GRAPH))


def test_what_an_arrow_shows(draw):
    arrows = elements(draw("svg", GRAPH), "arrow-")
    assert [arrows[f"arrow-{i}"].get("class") for i in range(5)] == \
        ["arrow more", "arrow less", "arrow open", "arrow open rare", "arrow more"]
    widths = [float(arrows[f"arrow-{i}"].find(f"{SVG}path[@class='line']").get("stroke-width")) for i in range(5)]
    assert widths == pytest.approx([1.3 + 5 * share for share in (0.5, 0.25, 0.1, 0.01, 0)], abs=0.051)
    heads = [arrows[f"arrow-{i}"].find(f"{SVG}path[@class='head']") is not None for i in range(5)]
    assert heads == [True, True, True, True, False]
    back = "title t\ntarget 0\nvariable 0 number a\nvariable 0 number b\narrow 0 1 0 1 0.5 0.5 0.7 0.6 0.8 1 nan\n"
    assert "head" not in ElementTree.tostring(elements(draw("svg", back), "arrow-")["arrow-0"]).decode()
    assert title(arrows["arrow-1"]).splitlines() == [
        "dram__bytes_read.sum.per_second_of_all_channels → duration", "effect -0.4, 95 % of the samples from -0.5 to -0.3",
        "explains 25 % of the variance", "in 97 % of the samples, directed so in 90 %, the other way in 7 %"]
    assert "no effect with a sign" in title(arrows["arrow-2"])
    assert " – stalls" in title(arrows["arrow-4"]) and "explains" not in title(arrows["arrow-4"])


def test_what_a_variable_shows(draw):
    variables = elements(draw("svg", GRAPH), "variable-")
    assert sorted(variables) == [f"variable-{i}" for i in range(5)]
    assert [variables[f"variable-{i}"].get("class") for i in (0, 1, 4)] == ["variable", "variable category", "variable target"]
    assert variables["variable-2"].find(f"{SVG}text").text == "dram__bytes_re…of_all_channels"
    assert title(variables["variable-2"]) == "dram__bytes_read.sum.per_second_of_all_channels"


def test_the_legend_names_what_occurs(draw):
    def legend(text: str) -> list[str]:
        texts = [text.text for text in ElementTree.fromstring(draw("svg", text)).iter(f"{SVG}text")]
        return [text for text in texts if text and re.search("effect|sign|samples|direction|%", text)]
    assert len(legend(GRAPH)) == 7
    assert legend(re.sub("(?m)^arrow .*\n", "", GRAPH)) == []
    only = re.sub("(?m)^arrow .*\n", "", GRAPH) + "arrow 0 4 1 1 1 0 0.7 0.6 0.8 1 nan\n"
    assert legend(only) == ["positive effect"]


def test_nothing_found_is_said(draw):
    svg = draw("svg", re.sub("(?m)^arrow .*\n", "", GRAPH))
    assert "Nothing found: no edge between the 6 variables." in svg
    assert list(elements(svg, "variable-")) == ["variable-4"]
    assert "Nothing found" in draw("svg", "title nothing at all\n")
    assert "Nothing found" not in draw("svg", GRAPH)


def test_names_are_text_and_nothing_else(draw):
    hostile = f"title {SCRIPT}\ntier {SCRIPT}\ntarget 1\nvariable 0 number {SCRIPT}\nvariable 0 number {LONG}\n" \
              "variable 0 number a\x1b[31mb\u202e\narrow 0 1 1 1 1 0 nan nan nan nan nan\narrow 2 1 1 1 1 0 nan nan nan nan nan\n"
    svg = draw("svg", hostile)
    assert not list(ElementTree.fromstring(svg).iter(f"{SVG}script"))
    variables = elements(svg, "variable-")
    assert title(variables["variable-0"]) == SCRIPT
    assert title(variables["variable-1"]) == LONG
    shown = variables["variable-1"].find(f"{SVG}text").text
    assert len(shown) == 30 and shown[0] == "x" and shown[-1] == "y" and "…" in shown
    assert title(variables["variable-2"]) == "a?[31mb\\u202e"
    quoted = SCRIPT.replace("\\", "\\\\").replace('"', '\\"')
    assert f'v0 [label="{quoted}"]' in draw("dot", hostile) and f'digraph "{quoted}"' in draw("dot", hostile)


def test_of_many_variables_the_nearest_are_drawn(draw):
    lines = [f"variable 0 number v{i}" for i in range(100)] + ["target 0"]
    lines += [f"arrow {i + 1} {i} 1 1 1 0 0.5 0.4 0.6 1 0.1" for i in range(99)]
    svg = draw("svg", "title chain\n" + "\n".join(lines) + "\n")
    assert set(elements(svg, "variable-")) == {f"variable-{i}" for i in range(60)}
    assert "40 more variables have an edge" in svg
    assert draw("dot", "title chain\n" + "\n".join(lines) + "\n").count(" -> ") == 99
