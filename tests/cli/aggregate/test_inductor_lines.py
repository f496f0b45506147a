# SPDX-License-Identifier: Apache-2.0
"""Generated Python shows the lines of the program that it was made of, from what inductor keeps in its cache.

The generated file and the cache's entry are made here as torch.compile makes them; test_torch_compile.py has real ones."""
from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

import pages
import program

KEY = "cab2jzc2yg4lxorp7m3ddn5fwsxkuhqvlv2bqmsyx7ae5rj5tz6q"
GENERATED = """
# AOT ID: ['0_inference']
def work(*_):
    total = 0
    for number in range(30000):
        total += number * number

class async_compile:
    cpp_pybinding = triton = staticmethod(lambda *_: work)

class extern_kernels:
    mm = staticmethod(work)

cpp_fused__softmax_add_relu_sin_0 = async_compile.cpp_pybinding('')
cpp_fused_mul_1 = async_compile.cpp_pybinding('')
work.run = work
triton_poi_fused_sub_0 = async_compile.triton('')

def call(args):
    buf0, = args  # section: first
    extern_kernels.mm(buf0)
    # section: relu
    # section: softmax
    # section: second
    cpp_fused__softmax_add_relu_sin_0(buf0)
    extern_kernels.mm(buf0)
    # section: product
    cpp_fused_mul_1(buf0)
    # section: difference
    triton_poi_fused_sub_0.run(buf0)
    work(buf0)
runner = None
"""
PROGRAM = """
import importlib.util, sys, time
specification = importlib.util.spec_from_file_location("generated", sys.argv[1])
generated = importlib.util.module_from_spec(specification)
specification.loader.exec_module(generated)

def step(x, is_compiled=True):
    if is_compiled:
        return generated.call([x])
    y = x @ x  # here: first
    y = inner(y)
    y = y @ y  # here: second
    y = y * 2  # here: product
    return y - 1  # here: difference

def inner(y):
    y = torch.relu(y)  # here: relu
    y = y.sin() + 1  # here: sum
    return softmax(y)  # here: softmax

def other(x):
    return generated.call([x])

end = time.process_time() + 2
while time.process_time() < end:
    step(1)
    other(1)
"""


def lines_of(text: str, mark: str) -> dict[str, int]:
    return {line.split(mark)[1]: number for number, line in enumerate(text.splitlines(), 1) if mark in line}


class Made:
    def __init__(self, folder: Path) -> None:
        self.folder, self.script = folder, folder / "train.py"
        self.script.write_text(PROGRAM)
        self.lines = lines_of(PROGRAM, "# here: ")
        self.generated = folder / "cache/ab" / f"{KEY}.py"
        self.generated.parent.mkdir(parents=True)
        self.generated.write_text(GENERATED)

    def stack(self, mark: str) -> str:
        code = PROGRAM.splitlines()
        outer = f'  File "{self.script}", line {self.lines["first"] + 1}, in step\n    y = inner(y)\n        ^^^^^^^^\n'
        function = "inner" if mark in ("relu", "sum", "softmax") else "step"
        own = f'  File "{self.script}", line {self.lines[mark]}, in {function}\n    {code[self.lines[mark] - 1].strip()}\n'
        library = '  File "/venv/lib/python3.11/site-packages/torch/nn.py", line 5, in linear\n    return f(x)\n'
        return (outer if function == "inner" else "") + own + library

    def comment(self, mark: str) -> str:
        line = self.lines[mark]
        return f"    # File: {self.script}:{line} in f, code: {PROGRAM.splitlines()[line - 1].strip()}\n"

    def entry(self, key: str = KEY) -> dict:
        graph = "class GraphModule(torch.nn.Module):\n    def forward(self, x):\n"
        for mark, names in {"first": ("mm",), "relu": ("relu",), "sum": ("sin", "add"), "softmax": ("exp", "div"),
                            "second": ("mm",), "product": ("mul",), "difference": ("sub",)}.items():
            graph += self.comment(mark)
            graph += "".join(f'    {name}: "f32[8]" = torch.ops.aten.{name}.default(x);  x = None\n\n' for name in names)
        graph += '    nothing: "f32[8]" = torch.ops..default(x)\n'  # an operator without a name: a search for it found no end
        sections = lines_of(GENERATED, "# section: ")
        return {"current_callable": None, "cache_key": key, "source_code": GENERATED, "inductor_post_grad_graph_str": graph,
                "cache_linemap": [(line, self.stack(mark)) for mark, line in sections.items()],
                "device_types": ["cpu"]}

    def keep(self, entry: dict, name: str = "entry", bytes_left: int | None = None) -> None:
        path = self.folder / "cache/fxgraph/zz/key" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(entry, protocol=4)[:bytes_left])

    def run(self) -> dict[str, dict]:
        """Nodes of the graph below `step`, by name; there are none elsewhere."""
        program.run(self.folder, sys.executable, self.script, self.generated, options=("-F", "499"))
        found: dict[str, dict] = {}
        samples = 0
        for frames, value in program.paths(self.folder):
            nodes = [frame for frame in frames if frame["kind"] == "graph-node"]
            functions = [frame["name"] for frame in frames if frame.get("file") == str(self.script)]
            assert len(nodes) <= 1 and (not nodes or "step" in functions and "other" not in functions), functions
            for node in nodes:
                found[node["name"]] = node
                at = frames.index(node)
                assert frames[at - 1]["name"] == "call"
                samples += value["count"]
        assert not found or samples > 50
        return found


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def operations(node: dict) -> list[tuple[str, int | None]]:
    return [(operation["name"], operation.get("line")) for operation in node["operations"]]


def test_calls_show_the_lines_they_came_from(made: Made) -> None:
    made.keep({**made.entry("cxx"), "cache_linemap": [(1, made.stack("product"))]}, "another")
    made.keep(made.entry(), "cut", 900)
    made.keep(made.entry())
    at, found = made.lines, made.run()
    assert {name: node["line"] for name, node in found.items()} == {
        "0_inference/mm": at["first"], "0_inference/mm #2": at["second"],
        "0_inference/cpp_fused__softmax_add_relu_sin_0": at["softmax"],
        "0_inference/cpp_fused_mul_1": at["product"], "0_inference/triton_poi_fused_sub_0": at["difference"]}
    assert {node["file"] for node in found.values()} == {str(made.script)}
    assert operations(found["0_inference/cpp_fused__softmax_add_relu_sin_0"]) == [
        ("relu", at["relu"]), ("add", at["sum"]), ("sin", at["sum"]), ("softmax", at["softmax"])]
    assert operations(found["0_inference/mm #2"]) == [("mm", at["second"])]
    shown = program.sonde("report", made.folder / "run.sdb", "--where", "cpp_fused__softmax", "--full")
    assert (f"[relu train.py:{at['relu']}, add, sin train.py:{at['sum']}, softmax train.py:{at['softmax']}]") in shown
    page = made.folder / "page.html"
    program.sonde("export", "--to", "html", "-o", page, made.folder / "run.sdb")
    of_page = pages.page_columns(page)
    text = of_page["string"]
    listed = [(text[name], line, text[file - 1] if file else None)
              for frame, name, line, file in zip(*(of_page[f"operation.{part}"] for part in ("frame", "name", "line", "file")))
              if text[of_page["frame.name"][frame]] == "0_inference/cpp_fused__softmax_add_relu_sin_0"]
    assert listed == [(name, at[where], str(made.script)) for name, where in
                      (("relu", "relu"), ("add", "sum"), ("sin", "sum"), ("softmax", "softmax"))]
    # among the hottest lines: the program's, not the call of what was generated
    shown = program.sonde("report", made.folder / "run.sdb", "--where", "cpp_fused__softmax")
    hottest = shown.split("hottest lines of your code")[1].split("call paths")[0]
    assert f"train.py:{at['softmax']} " in hottest


def test_a_stack_whose_number_is_on_the_next_line(made: Made) -> None:
    """It is passed over; the analysis had taken what follows for the rest of a line, and ended for want of memory."""
    entry = made.entry()
    entry["cache_linemap"].insert(0, (1, f'  File "{made.script}", line \n7, in step\n    y = 1\n'))
    made.keep(entry)
    assert made.run()["0_inference/cpp_fused_mul_1"]["line"] == made.lines["product"]


def test_an_operation_on_several_lines_has_none(made: Made) -> None:
    """Even if one of them is that of the kernel's last operation, whose parts may have such names as well."""
    entry = made.entry()
    entry["inductor_post_grad_graph_str"] += "".join(
        made.comment("softmax") + f"    x = torch.ops.aten.{name}.default(x)\n" for name in ("add", "relu", "sin"))
    made.keep(entry)
    node = made.run()["0_inference/cpp_fused__softmax_add_relu_sin_0"]
    assert operations(node) == [("add", None), ("relu", None), ("sin", None), ("softmax", None)]
    # the whole has the line of its last operation
    assert node["line"] == made.lines["softmax"]
    shown = program.sonde("report", made.folder / "run.sdb", "--where", "cpp_fused__softmax", "--full")
    assert f"[add, relu, sin, softmax; train.py:{made.lines['softmax']}]" in shown


def test_lines_that_have_moved_are_not_shown(made: Made) -> None:
    made.keep(made.entry())
    made.script.write_text(PROGRAM.replace("    y = y * 2", "    pass\n    y = y * 2"))
    found = made.run()
    assert found.keys() == {"0_inference/mm", "0_inference/mm #2"}
    assert found["0_inference/mm"]["line"] == made.lines["first"]


def test_code_in_partitions(made: Made) -> None:
    """As for captured graphs: then the graph alone has lines, of operations whose names are on one line each."""
    entry = made.entry()
    made.keep({**entry, "cache_linemap": [], "inductor_post_grad_graph_str": entry["inductor_post_grad_graph_str"].replace(" in f,", " in step,")})
    at, found = made.lines, made.run()
    assert {name: node["line"] for name, node in found.items()} == {
        "0_inference/cpp_fused__softmax_add_relu_sin_0": at["sum"], "0_inference/cpp_fused_mul_1": at["product"],
        "0_inference/triton_poi_fused_sub_0": at["difference"]}
    assert operations(found["0_inference/cpp_fused__softmax_add_relu_sin_0"]) == [
        ("relu", at["relu"]), ("add", at["sum"]), ("sin", at["sum"]), ("softmax", None)]


@pytest.mark.parametrize("change", [{"cache_key": "cxx"}, {"cache_linemap": []}, {"cache_linemap": None}])
def test_a_cache_that_says_nothing(made: Made, change: dict) -> None:
    made.keep({**made.entry(), **change})
    assert not made.run()
