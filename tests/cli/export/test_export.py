# SPDX-License-Identifier: Apache-2.0
"""Every format of `sonde export`: read back by an independent reader, and where it is there by the tool itself."""
from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from conftest import ROOT, SONDE, run_sonde
from program import image_database
from pages import varints
from perfetto_trace import decode
from sent import otlp, otlp_by_schema

MS = 1_000_000
FOLDERS = {"hpctoolkit", "ctf"}  # formats that are a folder of files
TRACES = {"perfetto", "chrome", "ctf", "events"}  # formats of events; see test_export_trace.py
IMAGES = {"autofdo", "gcov", "bolt"}  # formats of one executable; see test_export_pgo.py
FORMATS = re.findall(r"^SN_EXPORTER\((\w+)\)", (ROOT / "src/export/exporters.def").read_text(), re.M)


def export(database: Path, folder: Path, kind: str, *options: object) -> Path:
    path = folder / f"out.{kind}"
    result = run_sonde("export", "--to", kind, "-o", path, *options, database)
    assert (result.status, result.out, result.err) == (0, "", "")
    assert [found.name for found in folder.glob("out*")] == [path.name]
    return path


@pytest.fixture(scope="module")
def sources(small_db, tmp_path_factory) -> dict[str, Path]:
    """What each format is made of."""
    from kineto_traces import Trace
    folder = tmp_path_factory.mktemp("traced")
    trace = Trace()
    trace.call("cpu_op", "aten::mm", 10, 100)
    imported = run_sonde("import", trace.write(folder / "trace.json"), "-o", folder / "small.sdb")
    assert imported.status == 0
    image = image_database(folder)
    return {kind: folder / "small.sdb" if kind in TRACES else image if kind in IMAGES else small_db for kind in FORMATS}


@pytest.mark.parametrize("kind", FORMATS)
class TestEveryFormat:
    def test_is_explained(self, kind):
        assert re.search(rf"^    {kind} +\w", run_sonde("export", "-h").out, re.M)
        assert f".It Cm {kind}\n" in (ROOT / "docs/man/sonde-export.1").read_text()

    def test_has_its_own_test(self, kind):
        assert any(re.search(rf"^def test_{kind}_", path.read_text(), re.M)
                   for path in Path(__file__).parents[1].glob("*/test_*.py"))

    def test_stream_is_the_file(self, sources, tmp_path, kind):
        small_db = sources[kind]
        if kind in FOLDERS:
            result = run_sonde("export", "--to", kind, "-o", "-", small_db)
            assert (result.status, result.out, len(result.err_lines)) == (128, "", 1) and "folder" in result.err
            return
        done = subprocess.run([str(argument) for argument in
                               (*run_arguments(), "export", "--to", kind, "-o", "-", small_db)],
                              capture_output=True, check=True)
        assert done.stdout == export(small_db, tmp_path, kind).read_bytes()

    def test_default_name(self, sources, tmp_path, kind):
        result = run_sonde("export", "--to", kind, sources[kind], cwd=tmp_path)
        names = [path.name for path in tmp_path.iterdir()]
        assert result.status == 0 and len(names) == 1 and names[0].startswith("small.")
        assert names[0] in result.err

    def test_big_and_empty(self, big_db, empty_db, tmp_path, kind):
        if kind in TRACES | IMAGES:
            result = run_sonde("export", "--to", kind, "-o", tmp_path / "x", empty_db)
            told = "holds no events" if kind in TRACES else "has no samples in machine code"
            assert (result.status, result.out, len(result.err_lines)) == (128, "", 1) and told in result.err
            assert not list(tmp_path.iterdir())
            return
        path = export(big_db, tmp_path, kind)
        assert sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file()) > 100_000
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        export(empty_db, tmp_path, kind)


def run_arguments() -> list[object]:
    from conftest import SONDE
    return [SONDE]


def test_html_holds_the_data(small_db, tmp_path):
    """What the page shows is tested in a browser, in tests/browser."""
    text = export(small_db, tmp_path, "html").read_text()
    assert text.startswith("<!doctype html>") and text.rstrip().endswith("</html>")
    assert not re.search(r"""(src|href)=["']?https?:""", text), "the page loads something"


def test_folded_golden(small_db, tmp_path):
    from test_report import check_golden
    check_golden("export-folded", export(small_db, tmp_path, "folded").read_text())


def test_folded_semantics(small_db, big_db, tmp_path):
    for database in (small_db, big_db):
        total = 0
        for line in export(database, tmp_path, "folded").read_text().splitlines():
            # flamegraph.pl: everything up to the last blank is the stack
            stack, value = re.fullmatch(r"(.*) (\d+)", line).groups()
            assert all(stack.split(";"))
            total += int(value)
        info = json.loads(run_sonde("info", "--format", "json", database).out)
        assert total == info["metrics"][0]["sum"]
    gpu = export(small_db, tmp_path, "folded", "--metric", "gpu-time").read_text()
    assert gpu.endswith("clEnqueueNDRangeKernel;sgemm_nn 300000000\n") and gpu.count("\n") == 1


def check_speedscope(document: dict) -> None:
    """The rules of speedscope's file-format-spec.ts."""
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert set(document) <= {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"}
    frames = document["shared"]["frames"]
    for frame in frames:
        assert isinstance(frame["name"], str) and set(frame) <= {"name", "file", "line", "col"}
    assert 0 <= document["activeProfileIndex"] < len(document["profiles"])
    for profile in document["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert profile["type"] == "sampled"
        assert profile["unit"] in ("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes")
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(0 <= index < len(frames) for sample in profile["samples"] for index in sample)
        assert all(weight > 0 for weight in profile["weights"])
        assert sum(profile["weights"]) == pytest.approx(profile["endValue"] - profile["startValue"])


def test_speedscope_rules(small_db, big_db, tmp_path):
    check_speedscope(json.loads(export(big_db, tmp_path, "speedscope").read_text()))
    document = json.loads(export(small_db, tmp_path, "speedscope").read_text())
    check_speedscope(document)
    names = [frame["name"] for frame in document["shared"]["frames"]]
    cpu, gpu = document["profiles"]
    assert (cpu["name"], cpu["endValue"], gpu["endValue"]) == ("cpu-time", 500 * MS, 300 * MS)
    stacks = {tuple(names[i] for i in sample): weight for sample, weight in zip(cpu["samples"], cpu["weights"])}
    assert stacks["train.py", "<module> (train.py:40)", "load_batch (data.py:12)", "read"] == 30 * MS


# profile.proto, decoded without protobuf's help: field number, then whether it is a message, text or numbers.
def test_pprof_decoded(small_db, tmp_path):
    raw = export(small_db, tmp_path, "pprof").read_bytes()
    profile = decode(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw, has_fixed=False)
    strings = [text.decode() for text in profile[6]]
    assert strings[0] == ""
    types = [(strings[t[1][0]], strings[t[2][0]]) for t in map(decode, profile[1])]
    assert types == [("samples", "count"), ("cpu-time", "nanoseconds"), ("gpu-time", "nanoseconds")]
    functions = {f[1][0]: strings[f[2][0]] for f in map(decode, profile[5])}
    locations = {}
    for location in map(decode, profile[4]):
        line = decode(location[4][0], has_fixed=False)
        locations[location[1][0]] = (functions[line[1][0]], line.get(2, [0])[0])
    mappings = {m[1][0]: m for m in map(decode, profile[3])}
    build_ids = {strings[m[5][0]]: strings[m[6][0]] if 6 in m else "" for m in mappings.values()}
    assert build_ids["/usr/lib/libmkl.so"] == "00112233445566778899aabbccddeeff"
    assert build_ids["/usr/lib/torch/libtorch_cpu.so"] == ""
    for location in map(decode, profile[4]):
        if 3 in location:
            mapping = mappings[location[2][0]]
            assert mapping[2][0] <= location[3][0] < mapping[3][0]
    totals, threads = [0, 0, 0], defaultdict(int)
    stacks = {}
    for sample in map(decode, profile[2]):
        values = varints(sample[2][0])
        stack = [locations[i] for i in varints(sample[1][0])]
        label = decode(sample[3][0], has_fixed=False)
        assert strings[label[1][0]] == "thread"
        threads[strings[label[2][0]]] += values[1]
        totals = [a + b for a, b in zip(totals, values)]
        stacks[stack[0]] = stack
    assert totals == [100, 500 * MS, 300 * MS]
    assert sorted(threads.values()) == [100 * MS, 100 * MS, 300 * MS]
    assert stacks["read", 0] == [("read", 0), ("load_batch", 12), ("<module>", 40), ("train.py", 0)]
    assert profile[12] == [5 * MS] and profile[10] == [600 * MS]


def test_otlp_decoded(small_db, tmp_path):
    body = export(small_db, tmp_path, "otlp").read_bytes()
    sent = otlp(body)
    assert {row.kind for row in sent.rows} == {("cpu-time", "nanoseconds"), ("samples", "count"), ("gpu-time", "nanoseconds")}
    assert (sent.total("samples"), sent.total("cpu-time"), sent.total("gpu-time")) == (100, 500 * MS, 300 * MS)
    assert sorted(sent.by("cpu-time", "thread.name").values()) == [100 * MS, 100 * MS, 300 * MS]
    assert {row.labels["service.name"] for row in sent.rows} == {"python3"} and all(row.labels["host.name"] for row in sent.rows)
    stacks = {row.stack[0]: row.stack for row in sent.rows if row.kind[0] == "cpu-time"}
    assert stacks["read"] == ("read", "load_batch", "<module>", "train.py")
    assert sent.files["/usr/lib/libmkl.so"] == "00112233445566778899aabbccddeeff" and sent.files["/usr/lib/torch/libtorch_cpu.so"] == ""
    assert sent.periods == {("cpu-time", "nanoseconds", 5 * MS)} and {length for _, length in sent.times} == {600 * MS}
    assert not sent.ids  # nobody asked for them


def test_otlp_by_its_schema(small_db, tmp_path):
    body = export(small_db, tmp_path, "otlp").read_bytes()
    assert otlp_by_schema(body) == otlp(body).rows


@pytest.mark.skipif(not shutil.which("go"), reason="go tool pprof is not installed")
def test_pprof_by_pprof(small_db, big_db, tmp_path):
    def top(database: Path) -> str:
        path = export(database, tmp_path, "pprof")
        done = subprocess.run(["go", "tool", "pprof", "-top", "-nodecount=100", path], capture_output=True, text=True)
        if "no such tool" in done.stderr:
            pytest.skip("go has no tool pprof")
        assert done.returncode == 0, done.stderr
        return done.stdout
    text = top(small_db)
    assert "Total samples = 500ms" in text
    assert re.search(r"200ms 40.00% .* sgemm_kernel$", text, re.M)
    assert re.search(r"400ms 80.00%  <module>$", text, re.M)
    assert "Total samples = " in top(big_db)


@pytest.mark.skipif(not shutil.which("callgrind_annotate"), reason="callgrind_annotate is not installed")
def test_callgrind_by_its_tool(small_db, tmp_path):
    path = export(small_db, tmp_path, "callgrind")

    def annotate(*options: str) -> dict[str, int]:
        done = subprocess.run(["callgrind_annotate", "--threshold=100", "--auto=no", *options, path],
                              capture_output=True, text=True)
        assert done.returncode == 0 and "WARNING" not in done.stderr
        found = {}
        for line in done.stdout.splitlines():
            match = re.match(r"\s*([\d,]+) \([\d. ]+%\)\s+\S+(?: \([\d. ]+%\))?\s+(.*)", line)
            if match:
                name = re.sub(r" \[.*\]$", "", match.group(2))
                found[re.sub(r"^[^ ]*?:(?!:)", "", name)] = int(match.group(1).replace(",", ""))
        return found

    own = annotate()
    assert own["PROGRAM TOTALS"] == 500 * MS and own["sgemm_kernel"] == 200 * MS and own["train"] == 10 * MS
    inclusive = annotate("--inclusive=yes")
    assert inclusive["train"] == 345 * MS and inclusive["<module>"] == 400 * MS
    assert inclusive["aten::linear"] == 235 * MS


def test_callgrind_own_costs_add_up(big_db, tmp_path):
    total, is_call = 0, False
    for line in export(big_db, tmp_path, "callgrind").read_text().splitlines():
        if line.startswith("summary:"):
            expected = int(line.split()[1])
        elif line.startswith("calls="):
            is_call = True
        elif line[:1].isdigit():
            total += 0 if is_call else int(line.split()[1])
            is_call = False
    assert total == expected


def walk_hatchet(node: dict, names: list[set]) -> float:
    assert set(node) == {"frame", "metrics", "children"}
    names[0].add(frozenset(node["metrics"]))
    below = sum(walk_hatchet(child, names) for child in node["children"])
    assert node["metrics"]["time (inc)"] == pytest.approx(node["metrics"]["time"] + below)
    return node["metrics"]["time (inc)"]


def test_hatchet_literal(small_db, tmp_path):
    literal = json.loads(export(small_db, tmp_path, "hatchet").read_text())
    names: list[set] = [set()]
    assert len(literal) == 1 and walk_hatchet(literal[0], names) == 500 * MS
    assert names[0] == {frozenset(["time", "time (inc)", "cpu-time", "cpu-time (inc)", "gpu-time", "gpu-time (inc)"])}


def test_hatchet_by_hatchet(small_db, tmp_path):
    """With the interpreter named by SONDE_HATCHET_PYTHON, or this one, if it has Hatchet."""
    import os
    python = os.environ.get("SONDE_HATCHET_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import hatchet"], capture_output=True).returncode != 0:
        pytest.skip("hatchet is not installed")
    path = export(small_db, tmp_path, "hatchet")
    code = ("import json, sys, hatchet\n"
            "frame = hatchet.GraphFrame.from_literal(json.load(open(sys.argv[1])))\n"
            "print(int(frame.dataframe['time'].sum()), int(frame.dataframe['gpu-time (inc)'].max()),"
            " len(frame.dataframe))\n")
    done = subprocess.run([python, "-c", code, path], capture_output=True, text=True)
    assert done.stdout.split() == [str(500 * MS), str(300 * MS), "15"], done.stderr


def test_csv_rows(small_db, tmp_path):
    rows = list(csv.DictReader(export(small_db, tmp_path, "csv").open()))
    assert len(rows) == 15
    assert sum(float(row["cpu-time:exclusive"]) for row in rows) == 500 * MS
    assert float(rows[0]["gpu-time:inclusive"]) == 300 * MS


def test_existing_file_survives_a_failure(small_db, tmp_path):
    path = tmp_path / "kept"
    path.write_text("old")
    broken = tmp_path / "broken.sdb"
    broken.write_bytes(small_db.read_bytes()[:-1])
    assert run_sonde("export", "--to", "folded", broken, "-o", path).status == 128
    assert path.read_text() == "old"
    assert run_sonde("export", "--to", "folded", small_db, "-o", path).status == 0
    assert path.read_text() != "old"
