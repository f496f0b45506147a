# SPDX-License-Identifier: Apache-2.0
"""Names out of files that a terminal, a page or a spreadsheet would obey, through every command and format that shows them."""
from __future__ import annotations

import csv
import gzip
import io
import json
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from conftest import SONDE, clean_environment, run_sonde
from hpctoolkit_measurement import MAIN, PRIMARY, Metric, Profile, thread
from kineto_traces import Trace
from pages import page_data, page_payload
from test_import_execution_trace import SMALL, node

NAMES = ["esc\x1b[31mred", "c1\u009b2Jend", "del\x7fend", "\u202eturned", "iso\u2066late\u2069", "mark\u061c\u200f", "\x1b]0;title\x07",
         '=HYPERLINK("http://example.org","x")', "+1", "-1+2", "@SUM(1)", "\uff1d1+1", " =1+1", "\t=1", "\r=1", "\n=1", "new\nline",
         'quote"s, comma; semicolon', "<script>&amp;'", "back\\slash\\N"]
MALFORMED = b"bad\xff\x9b31m\xe2\x80end"
# What is in each database: every text that it can hold is one of NAMES.
FORMATS = {"text": (), "json": ("--format", "json"), "csv": ("--format", "csv")}


def hidden(text: str) -> set[str]:
    """Characters that are obeyed and not shown, but for line ends."""
    return set(re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]", text))


def output(*arguments: object) -> str:
    done = subprocess.run([SONDE, *map(str, arguments)], capture_output=True, env=clean_environment(COLUMNS="300"), stdin=subprocess.DEVNULL)
    assert done.returncode == 0, (arguments, done.stderr)
    assert not hidden(done.stderr.decode()), arguments
    return done.stdout.decode()  # strictly: what is no UTF-8 is not let through


def check_text(text: str) -> None:
    found = hidden(text)
    assert text and not found


def strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [found for pair in value.items() for one in pair for found in strings(one)]
    if isinstance(value, list):
        return [found for one in value for found in strings(one)]
    return [value] if isinstance(value, str) else []


def check_json(text: str) -> list[str]:
    check_text(text)
    return strings(json.loads(text))


def is_number(cell: str) -> bool:
    return bool(re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", cell))


def check_csv(text: str) -> list[str]:
    check_text(text)
    rows = list(csv.reader(io.StringIO(text), strict=True))
    assert rows and len({len(row) for row in rows}) == 1
    cells = [cell for row in rows for cell in row]
    for cell in cells:
        assert is_number(cell) or not re.match("\\s*[=+@\uff1d-]", cell), cell
    return cells


CHECKS = {"text": check_text, "json": check_json, "csv": check_csv}


@pytest.fixture(scope="module")
def traced(tmp_path_factory) -> Path:
    """Calls, operations, attributes and threads of such names."""
    trace = Trace()
    for i, name in enumerate([*NAMES, "MALFORMED"]):
        start = 100 * i
        trace.call("cpu_op", name, start, start + 90, **{name: name, "plain": name})
        trace.call("python_function", f"{name}.py(3): {name}", start + 1, start + 80)
        trace.launch(i + 1, start + 10, start + 20)
        trace.operation("kernel", name, start + 30, start + 60, i + 1, stream=7 + i)
        trace.events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 5, "tid": 10, "ts": start, "dur": 95})
        trace.events.append({"ph": "M", "name": "thread_name", "pid": 5, "tid": 100 + i, "args": {"name": name}})
        trace.call("cpu_op", name, start, start + 50, thread=100 + i)  # a whole path of it
    trace.events += [{"ph": "M", "name": "process_name", "pid": 5, "args": {"name": NAMES[0]}},
                     {"ph": "M", "name": "process_labels", "pid": 5, "args": {"labels": "host =\x1b\u202e1, rank 3"}}]
    folder = tmp_path_factory.mktemp("traced")
    path = trace.write(folder / "trace.json")
    path.write_bytes(path.read_bytes().replace(b"MALFORMED", MALFORMED))
    assert run_sonde("import", path, "-o", folder / "traced.sdb").status == 0
    return folder / "traced.sdb"


@pytest.fixture(scope="module")
def profiled(tmp_path_factory) -> Path:
    """Metrics and modules of such names; the text of a name cannot hold a line end here."""
    folder = tmp_path_factory.mktemp("profiled")
    profile = Profile(thread(), [Metric("CPUTIME (sec)", real=True), *[Metric(name, real=True) for name in NAMES]])
    root = profile.node(profile.node(0, 0, PRIMARY), 0, MAIN)
    for number, name in enumerate(NAMES):
        at = profile.node(root, profile.module(f"/bin/{name}"), 1)
        profile.value(at, 0, 1.0)
        profile.value(at, number + 1, 2.0)
    profile.write(folder / "p.hpcrun")
    assert run_sonde("import", folder / "p.hpcrun", "-o", folder / "profiled.sdb").status == 0
    return folder / "profiled.sdb"


@pytest.fixture(scope="module")
def graphed(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("graphed")
    nodes = [*SMALL, *[node(20 + i, 1, name, [], []) for i, name in enumerate(NAMES)]]
    (folder / "et.json").write_text(json.dumps({"schema": "1.0.1", "pid": 1, "time": "", "start_ts": 0, "nodes": nodes}))
    assert run_sonde("import", folder / "et.json", "-o", folder / "et.sdb").status == 0
    return folder / "et.sdb"


@pytest.fixture(params=["traced", "profiled"])
def database(request) -> Path:
    return request.getfixturevalue(request.param)


REPORTS = [[], ["--full", "--limit", 0], ["--view", "bottom-up"], ["--view", "threads"], ["--granularity", "instruction"],
           *[["--view", "flat", "--by", by] for by in ("function", "any-line", "file", "module", "kind", "operator", "kernel")]]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("options", REPORTS, ids=lambda options: "-".join(map(str, options)).strip("-") or "default")
def test_report(database, options, form):
    CHECKS[form](output("report", *options, "--min-share", 0, *FORMATS[form], database))


@pytest.mark.parametrize("form", FORMATS)
def test_one_place(traced, form):
    CHECKS[form](output("report", "--context", 0, *FORMATS[form], traced))


def test_metrics_and_formulas(profiled):
    assert set(NAMES) <= set(check_json(output("report", "--metric", "CPUTIME (sec)", "--format", "json", profiled)) + strings(
        json.loads(output("info", "--format", "json", profiled))))


@pytest.mark.parametrize("name", NAMES)
def test_one_is_asked_for(database, name):
    """Messages, on both ways out, whether there is such a thing or not."""
    for options in (["--metric", name], ["--where", name], ["--thread", name], ["--context", name], ["--view", name]):
        done = subprocess.run([SONDE, "report", *options, database], capture_output=True, env=clean_environment())
        found = hidden((done.stdout + done.stderr).decode())
        assert not found


def test_names_are_whole_in_json(traced):
    found = check_json(output("report", "--format", "json", "--min-share", 0, traced))
    assert set(NAMES) <= set(found)
    assert any("\ufffd\ufffd31m" in text for text in found)


def test_names_in_csv(traced):
    cells = check_csv(output("report", "--format", "csv", "--min-share", 0, traced))
    assert {"esc?[31mred", "c1?2Jend", "\\u202eturned", "'=HYPERLINK(\"http://example.org\",\"x\")", "+1", "'-1+2", "'@SUM(1)",
            "'\uff1d1+1", "' =1+1", "new line", 'quote"s, comma; semicolon', "bad??31m??end"} <= set(cells)


@pytest.mark.parametrize("form", ["text", "json"])
def test_info(database, graphed, form):
    for path in (database, graphed):
        CHECKS[form](output("info", *FORMATS[form], path))
    check_text(output("info", "--verify", database))


VIEWS = ["summary", "idle", "states", "queue", "memory", "transfers", "critical-path", "threads", "stragglers", "messages", "iterations",
         "depth", "all"]


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("view", VIEWS)
def test_timeline(traced, view, form):
    text = output("timeline", "--view", view, "--limit", 0, "--depth", 9, *FORMATS[form], traced)
    CHECKS[form](text or "nothing is recorded for it")


def test_timeline_narrow(traced):
    done = subprocess.run([SONDE, "timeline", "--view", "all", traced], capture_output=True, env=clean_environment(COLUMNS="50"))
    check_text(done.stdout.decode())


def test_timeline_picture(traced, tmp_path):
    output("timeline", "-o", tmp_path / "x.svg", traced)
    text = (tmp_path / "x.svg").read_text()
    check_text(text)
    assert "<script" not in text and "&lt;script&gt;&amp;amp;" in text
    ElementTree.fromstring(text)


def test_timeline_page(traced, tmp_path):
    output("timeline", "-o", tmp_path / "x.html", traced)
    check_page(tmp_path / "x.html")
    texts = strings(page_data(tmp_path / "x.html"))
    check_text("".join(texts))
    assert any("<script>&amp;'" in text for text in texts)


@pytest.mark.parametrize("form", ["text", "json", "csv", "svg", "dot"])
@pytest.mark.parametrize("by", ["node", "type", "module"])
def test_graph(graphed, form, by):
    text = output("graph", "--top", 0, "--by", by, "--format", form, graphed)
    CHECKS.get(form, check_text)(text.replace("\n\t", "\n") if form == "dot" else text)
    if form == "json" and by == "node":
        assert set(NAMES) <= set(check_json(text))
    if form == "svg":
        ElementTree.fromstring(text.encode())


def exported(database: Path, folder: Path, kind: str) -> Path:
    output("export", "--to", kind, "-o", folder / "out", database)
    return folder / "out"


def test_folded(database, tmp_path):
    text = exported(database, tmp_path, "folded").read_text()
    check_text(text)
    assert all(re.fullmatch(r".+ \d+", line) for line in text.splitlines())


def test_callgrind(database, tmp_path):
    text = exported(database, tmp_path, "callgrind").read_text()
    check_text(text)
    for line in text.splitlines():
        assert re.fullmatch(r"|#.*|(version|creator|cmd|desc|positions|events|summary|totals|event|part|pid|thread): ?.*|"
                            r"c?(ob|fl|fi|fe|fn)=.*|calls=\d+( [+*-]?\d*)+|[+*-]?\d*( \d+)+", line), line
    assert len(re.search("^events: (.*)", text, re.M)[1].split()) == len(re.search("^summary: (.*)", text, re.M)[1].split())


@pytest.mark.parametrize("kind", ["speedscope", "hatchet"])
def test_json_of_others(database, tmp_path, kind):
    check_json(exported(database, tmp_path, kind).read_text())


@pytest.mark.parametrize("kind", ["csv", "events"])
def test_csv_of_others(database, tmp_path, kind):
    if kind == "events" and database.name == "profiled.sdb":
        return
    cells = check_csv(exported(database, tmp_path, kind).read_text())
    assert kind != "events" or {"'-1+2", "\\u202eturned", "'+1"} <= set(cells)


def test_chrome(traced, tmp_path):
    assert set(NAMES) <= set(check_json(exported(traced, tmp_path, "chrome").read_text()))


def test_pprof(database, tmp_path):
    data = gzip.decompress(exported(database, tmp_path, "pprof").read_bytes())
    check_bytes(data)


def check_bytes(data: bytes) -> None:
    """Of what has lengths and numbers in it, too."""
    assert b"[31m" in data or b"31mred" in data
    for part in (b"\x1b[31m", b"c1\xc2\x9b", "\u202e".encode(), "\u2066".encode(), b"\xff\x9b31m"):
        assert part not in data


def check_page(path: Path) -> None:
    """The page itself is the same for all."""
    check_text(re.search("<title>.*?</title>", path.read_text(), re.S)[0])
    check_bytes(page_payload(path))


def test_html(database, tmp_path):
    check_page(exported(database, tmp_path, "html"))


def test_perfetto_keeps_names(traced, tmp_path):
    """Data to be read by programs, and imported again."""
    data = exported(traced, tmp_path, "perfetto").read_bytes()
    assert b"esc\x1b[31mred" in data


def test_folders(traced, tmp_path):
    for kind, path in (("hpctoolkit", "metrics/default.yaml"), ("ctf", "sonde/metadata")):
        folder = tmp_path / kind
        folder.mkdir()
        check_text((exported(traced, folder, kind) / path).read_text().replace("\t", " "))


def test_metrics_of_hpctoolkit(profiled, tmp_path):
    text = (exported(profiled, tmp_path, "hpctoolkit") / "metrics/default.yaml").read_text()
    check_text(text)
    assert "\\u001b" in text and "\\u202e" in text


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
@pytest.mark.parametrize("form", ["text", "json", "xml"])
def test_structure(tmp_path, form):
    """A function whose name the file has in such bytes."""
    name = "\x1b[31m\u009b\u202e<&\">\n=1".encode() + b"\xff"
    (tmp_path / "a.c").write_text("int %s(int n) { int s = 0; while (n--) s += n * s; return s; }\n" % ("x" * len(name)))
    path = tmp_path / "a.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", path, tmp_path / "a.c"], check=True)
    path.write_bytes(path.read_bytes().replace(b"x" * len(name), name))
    text = output("structure", "--full", "--format", form, path)
    check_text(text)
    assert "[31m" in text
    if form == "json":
        assert any(found.startswith("\x1b[31m\u009b\u202e<&") for found in check_json(text))
    if form == "xml":
        ElementTree.fromstring(text)
