# SPDX-License-Identifier: Apache-2.0
"""`sonde annotate --svg, --dot, --html`: the control-flow graph of a function beside its listing as data."""
from __future__ import annotations

import html
import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from conftest import run_sonde
from program import SONDE, compiled

SVG = "{http://www.w3.org/2000/svg}"


def measure(program: Path, database: Path) -> Path:
    subprocess.run([SONDE, "run", "-q", "-F", "1000", "-o", database, "--", program], check=True, stdout=subprocess.DEVNULL)
    return database


class Drawn:
    """What was drawn of a function, and what its listing says."""

    def __init__(self, database: Path, name: str, folder: Path):
        result = run_sonde("annotate", database, name, "--source", database.parent, *(part for form in ("svg", "dot", "html") for part in (f"--{form}", folder / f"picture.{form}")))
        assert (result.status, result.out, result.err) == (0, "", "")
        self.svg = ElementTree.parse(folder / "picture.svg").getroot()
        self.dot, self.html = ((folder / f"picture.{form}").read_text() for form in ("dot", "html"))
        self.listing = json.loads(run_sonde("annotate", database, name, "--limit", 1, "--format", "json").out)
        self.blocks, self.edges = self.listing["blocks"], self.listing["edges"]
        self.elements = {element.get("id"): element for element in self.svg.iter() if element.get("id")}

    def box(self, block: int) -> tuple[float, float, float, float]:
        """Left, top, right, bottom."""
        box = next(rect for rect in self.elements[f"block-{block}"].iter(f"{SVG}rect") if rect.get("class") == "box")
        x, y, width, height = (float(box.get(name)) for name in ("x", "y", "width", "height"))
        return x, y, x + width, y + height

    def drawn(self) -> list[int]:
        return [int(name[6:]) for name in self.elements if name.startswith("block-")]

    def texts(self) -> str:
        return "\n".join("".join(element.itertext()) for element in self.svg.iter(f"{SVG}text"))


@pytest.fixture(scope="module")
def loops(tmp_path_factory) -> Drawn:
    folder = tmp_path_factory.mktemp("loops")
    program = compiled("annotate/loops.c", "-O2")
    return Drawn(measure(program, folder / "run.sdb"), "loops*:work", folder)


def test_every_block_and_edge_is_drawn(loops):
    assert loops.drawn() == list(range(len(loops.blocks))) and len(loops.blocks) > 15
    assert {name for name in loops.elements if name.startswith("edge-")} == {f"edge-{number}" for number in range(len(loops.edges))}
    for block in loops.drawn():
        text = ["".join(text.itertext()) for text in loops.elements[f"block-{block}"].iter(f"{SVG}text")]
        assert text[0].split()[0] == loops.blocks[block]["start"].removeprefix("0x")
        if loops.blocks[block]["samples"]:
            assert text[0].split()[1] == f"{100 * loops.blocks[block]['value'] / loops.listing['functions'][0]['value']:.1f}%"


def test_instructions_of_boxes(loops):
    """All of a small block; of a long one the first three, the last two, and how many are between."""
    instructions = loops.listing["instructions"]
    for number, block in enumerate(loops.blocks):
        own = [one for one in instructions if int(block["start"], 16) <= int(one["address"], 16) < int(block["end"], 16)]
        lines = ["".join(text.itertext()) for text in loops.elements[f"block-{number}"].iter(f"{SVG}text")]
        shown = [one for one in own if " ".join(one["text"].split())[:30] in {" ".join(line.split())[:30] for line in lines}]
        if len(own) <= 8:
            assert len(shown) == len(own)
        else:
            assert {one["address"] for one in own[:3] + own[-2:]} <= {one["address"] for one in shown}
            skipped = sum(int(found[1]) for line in lines if (found := re.fullmatch(r"… (\d+) more", line)))
            assert skipped > 0 and len(shown) >= len(own) - skipped


def ends(element: ElementTree.Element) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where a path begins and ends."""
    path = next(path for path in element.iter(f"{SVG}path") if path.get("class") == "line").get("d")
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", path)]
    last = re.findall(r"[A-Z][^A-Z]*", path)[-1]
    x = float(re.findall(r"-?[\d.]+", last)[-2]) if last[0] == "C" else [float(re.findall(r"-?[\d.]+", part)[-2]) for part in re.findall(r"[CM][^A-Z]*", path)][-1]
    return (numbers[0], numbers[1]), (x, numbers[-1])


def test_boxes_are_apart_and_edges_join_them(loops):
    boxes = {block: loops.box(block) for block in loops.drawn()}
    for one, a in boxes.items():
        for other, b in boxes.items():
            assert one == other or a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1], (one, other)
    for number, edge in enumerate(loops.edges):
        if edge["from"] == edge["to"]:
            continue
        element = loops.elements[f"edge-{number}"]
        (first_x, first_y), (last_x, last_y) = ends(element)
        upper, lower = (edge["to"], edge["from"]) if "back" in element.get("class") else (edge["from"], edge["to"])
        assert boxes[upper][0] < first_x < boxes[upper][2] and abs(first_y - boxes[upper][3]) < 16, number
        assert boxes[lower][0] < last_x < boxes[lower][2] and abs(last_y - boxes[lower][1]) < 16, number
        assert first_y < last_y


def reaches(edges: list[tuple[int, int]], start: int) -> set[int]:
    seen, left = {start}, [start]
    while left:
        at = left.pop()
        for source, target in edges:
            if source == at and target not in seen:
                seen.add(target)
                left.append(target)
    return seen


def test_back_edges_close_loops(loops):
    """Each leads to a block from which it is reached; without them nothing goes round."""
    pairs = {number: (edge["from"], edge["to"]) for number, edge in enumerate(loops.edges)}
    back = {number for number in pairs if "back" in loops.elements[f"edge-{number}"].get("class")}
    forward = [pair for number, pair in pairs.items() if number not in back]
    assert len(back) >= 3 and any(pairs[number][0] == pairs[number][1] for number in back)
    for number in back:
        assert pairs[number][0] in reaches(list(pairs.values()), pairs[number][1])
    for source, target in forward:
        assert source not in reaches(forward, target)


def width_of(element: ElementTree.Element) -> float:
    return next(float(path.get("stroke-width")) for path in element.iter(f"{SVG}path") if path.get("class") == "line")


def test_widths_are_frequencies_and_heat_is_share(loops):
    most = max(edge["frequency"] for edge in loops.edges)
    for number, edge in enumerate(loops.edges):
        assert width_of(loops.elements[f"edge-{number}"]) == pytest.approx(1.2 + 5 * edge["frequency"] / most, abs=0.051)
        doubtful = "doubtful" in loops.elements[f"edge-{number}"].get("class")
        assert doubtful == (edge["frequency_confidence"] == "low")
        title = loops.elements[f"edge-{number}"].find(f"{SVG}title").text
        assert f"{edge['frequency_confidence']} confidence" in title
    value = loops.listing["functions"][0]["value"]
    for number, block in enumerate(loops.blocks):
        heat = [float(rect.get("fill-opacity")) for rect in loops.elements[f"block-{number}"].iter(f"{SVG}rect") if rect.get("class") == "heat"]
        assert heat == ([pytest.approx(0.04 + 0.5 * block["value"] / value, abs=1e-3)] if block["value"] else [])


def test_parts_of_what_leaves_a_block_add_up(loops):
    for block in loops.drawn():
        leaving = [number for number, edge in enumerate(loops.edges) if edge["from"] == block]
        parts = ["".join(text.itertext()) for number in leaving for text in loops.elements[f"edge-{number}"].iter(f"{SVG}text")]
        assert len(parts) == (len(leaving) if len(leaving) > 1 else 0)
        anchors = [text.get("text-anchor") for number in leaving if "back" not in loops.elements[f"edge-{number}"].get("class")
                   for text in loops.elements[f"edge-{number}"].iter(f"{SVG}text")]
        assert len(anchors) < 2 or sorted(anchors, key=str) == [None, "end"]  # on both sides of the middle, so that they are apart
        if parts:
            assert 99 <= sum(int(part.rstrip("%")) for part in parts) <= 101


def test_title_and_legend(loops):
    texts, function = loops.texts(), loops.listing["functions"][0]
    assert re.match(rf"work \[loops-\w+\]: {100 * function['value'] / loops.listing['value']:.1f}% of cpu-time, .*, {function['samples']:,} samples\n{len(loops.blocks)} blocks\n", texts)
    for words in ("taken seldom", "most often", "back, to a block before", "low confidence", "by exceptions", "how often it ran", "cycles by instruction"):
        assert words in texts
    assert re.search(r"^waits: [a-z TLB]+ [\d.]+%", texts, re.M)


def test_dot(loops):
    names = re.findall(r"^\tb(\d+) \[fillcolor", loops.dot, re.M)
    edges = re.findall(r"^\tb(\d+) -> b(\d+) \[penwidth=([\d.]+)(.*)\];$", loops.dot, re.M)
    assert [int(name) for name in names] == loops.drawn()
    assert sorted((int(one), int(other)) for one, other, *_ in edges) == sorted((edge["from"], edge["to"]) for edge in loops.edges)
    for one, other, _, more in edges:
        number = next(number for number, edge in enumerate(loops.edges) if (edge["from"], edge["to"]) == (int(one), int(other)))
        assert ("#1971c2" in more) == ("back" in loops.elements[f"edge-{number}"].get("class"))


def test_page_has_all_instructions_with_their_lines(loops):
    """All blocks, also where the picture leaves instructions out, with source; its links lead somewhere."""
    page = loops.html
    for one in loops.listing["instructions"]:
        row = re.search(rf"<td>{one['address'].removeprefix('0x')}</td><td>([^<]*)</td>", page)
        assert row and html.unescape(row[1]) == " ".join(one["text"].split(" ")), one
    places = set(re.findall(r"id=\"([\w-]+)\"", page))
    assert {f"listing-{number}" for number in range(len(loops.blocks))} <= places
    assert all(target in places for target in re.findall(r"href=\"#([\w-]+)\"", page))
    assert "loops.c:" in page and len(re.findall("<svg", page)) == 1 and "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_of_many_blocks_the_hot_ones(tmp_path):
    """A function of 200 cases in a loop: 60 blocks, the hottest among them and some between, and the picture says what is left out."""
    cases = "".join(f"\t\tif (state % 211 == {case}) sum = sum * {2 * case + 3} + data[sum & 255];\n" for case in range(200))
    (tmp_path / "many.c").write_text(
        "#include <stdint.h>\nstatic uint64_t data[256];\nvolatile uint64_t result;\n"
        "__attribute__((noinline)) uint64_t many(unsigned turns)\n{\n\tuint64_t sum = 1, state = 88172645463325252u;\n\tfor (unsigned i = 0; i < turns; i++) {\n"
        f"\t\tstate ^= state << 13; state ^= state >> 7; state ^= state << 17;\n{cases}\t}}\n\treturn sum;\n}}\nint main(void) {{ result = many(1500000); return 0; }}\n")
    subprocess.run(["cc", "-O1", "-g", "-o", tmp_path / "many", tmp_path / "many.c"], check=True)
    drawn = Drawn(measure(tmp_path / "many", tmp_path / "run.sdb"), "many:many", tmp_path)
    shown = drawn.drawn()
    assert len(drawn.blocks) > 200 and 40 < len(shown) <= 60
    hottest = max(range(len(drawn.blocks)), key=lambda number: drawn.blocks[number]["value"])
    assert hottest in shown and 0 in shown
    left = sum(block["value"] for number, block in enumerate(drawn.blocks) if number not in shown) / drawn.listing["functions"][0]["value"]
    words = re.search(r"(\d+) blocks: drawn are (\d+), those with the most samples and some between; the others have ([\d.]+)%", drawn.texts())
    assert words and (int(words[1]), int(words[2])) == (len(drawn.blocks), len(shown)) and float(words[3]) == pytest.approx(100 * left, abs=0.06)
    pairs = [(edge["from"], edge["to"]) for edge in drawn.edges if edge["from"] in shown and edge["to"] in shown]
    assert len(pairs) > 5
    hottest_ones = sorted(shown, key=lambda number: -drawn.blocks[number]["value"])
    assert all(drawn.blocks[number]["value"] <= drawn.blocks[hottest_ones[5]]["value"] for number in range(len(drawn.blocks)) if number not in shown)
    some = next(number for number in shown if any(edge["from"] == number and edge["to"] not in shown for edge in drawn.edges))
    assert re.search("→ [1-9]\\d* blocks? not drawn", "".join(drawn.elements[f"block-{some}"].itertext()))
    some = next(number for number in shown if any(edge["to"] == number and edge["from"] not in shown for edge in drawn.edges))
    assert re.search("← [1-9]\\d* blocks? not drawn", "".join(drawn.elements[f"block-{some}"].itertext()))
    assert len(re.findall("<section id=", drawn.html)) == len(drawn.blocks)  # the page lists all


def test_names_are_escaped(tmp_path):
    (tmp_path / "less.cc").write_text("""
#include <cstdint>
struct pair { uint64_t a, b; };
__attribute__((noinline)) bool operator<(const pair &x, const pair &y) { uint64_t s = x.a; for (uint64_t i = 0; i < y.b; i++) { s = s * 31 + i; asm volatile("" : "+r"(s)); } return s < y.a; }
volatile bool result;
int main() { pair p{1, 300000}; for (int i = 0; i < 1000; i++) { p.a += i; result = p < p; } }
""")
    subprocess.run(["c++", "-O1", "-g", "-o", tmp_path / "less", tmp_path / "less.cc"], check=True)
    drawn = Drawn(measure(tmp_path / "less", tmp_path / "run.sdb"), "less", tmp_path)  # the hottest function
    assert "operator<" in drawn.texts() and "<title>operator&lt;" in drawn.html


def test_mistakes(loops, tmp_path):
    database = tmp_path / "run.sdb"
    measure(compiled("annotate/loops.c", "-O2"), database)
    for arguments, status, words in [
            (("--view", "stalls", "--svg", tmp_path / "x.svg"), 129, "pictures of one function"), (("--svg", tmp_path / "none/x.svg"), 128, "none/x.svg"),
            (("loops*:nothing", "--dot", tmp_path / "x.dot"), 128, "no function")]:
        result = run_sonde("annotate", database, *arguments)
        assert (result.status, result.out) == (status, "") and len(result.err_lines) == 1 and words in result.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.sdb", "run.sonde"]
