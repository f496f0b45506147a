# SPDX-License-Identifier: Apache-2.0
"""Formulas as users give them: in every view and form, stored, and wrong. db_fixture.h has the numbers."""
from __future__ import annotations

import csv
import io
import json
import re

import pytest

from conftest import make_database
from samples import SAMPLES, needs
from test_gen_measurements import generate

MS = 1_000_000


def rows(sonde, db, *options: str) -> list[dict]:
    result = sonde("report", "--format", "json", *options, db)
    assert result.status == 0, result.err
    return json.loads(result.out)["rows"]


def by_name(found: list[dict]) -> dict[str, dict]:
    return {row["name"]: row["values"] for row in found}


def test_a_ratio_is_of_the_sums_at_each_context(sonde, small_db):
    found = by_name(rows(sonde, small_db, "--metric", "cpu-time,gpu-time", "--metric", "r=gpu_time/cpu_time"))
    assert found["train.py"]["r"]["inclusive"] == pytest.approx(0.6)
    assert found["aten::linear"]["r"]["inclusive"] == pytest.approx(300 / 235)
    assert found["clEnqueueNDRangeKernel"]["r"] == {"inclusive": pytest.approx(30), "exclusive": 0}
    assert found["read"]["r"] == {"inclusive": 0, "exclusive": 0}
    assert "r" not in found["sgemm_nn"]  # kernels have no CPU time: a division by zero is empty


@pytest.mark.parametrize("view", ["top-down", "bottom-up", "flat", "threads"])
def test_every_view_evaluates_at_its_rows(sonde, small_db, view):
    found = rows(sonde, small_db, "--view", view, "--metric", "cpu-time,m=mean(cpu-time),s=cpu-time/total(cpu-time)")
    assert found
    for row in found:
        for kind in ("inclusive", "exclusive"):
            stat = row["values"].get("cpu-time", {}).get(kind)
            if stat and stat["count"]:
                assert row["values"]["m"][kind] == pytest.approx(stat["mean"])
                assert row["values"]["s"][kind] == pytest.approx(stat["sum"] / (500 * MS))


def test_metrics_that_are_only_looked_at_are_not_shown(sonde, small_db):
    result = sonde("report", "--metric", "cpu-time,n=count(gpu-time)", small_db)
    head = next(line for line in result.out.splitlines() if line.endswith("call paths"))
    assert head.split() == ["share", "total", "self", "n", "call", "paths"]
    report = json.loads(sonde("report", "--format", "json", "--metric", "n=count(gpu-time)", small_db).out)
    assert report["metrics"] == [{"name": "gpu-time", "unit": "ns", "counts": "events"},
                                 {"name": "n", "unit": "1", "formula": 'count("gpu-time")'}]


def test_text_shows_units_and_empty_values(sonde, small_db):
    out = sonde("report", "--by", "function", "--metric", "cpu-time", "--metric", "g=gpu_time/cpu_time",
                "--metric", "each=gpu_time/count(gpu_time)", small_db).out
    kernel = next(line for line in out.splitlines() if "sgemm_nn" in line)
    assert " - " in kernel and "100 ms" in kernel
    call = next(line for line in out.splitlines() if "clEnqueueNDRangeKernel" in line)
    assert "3000.0%" in call and "100 ms" in call


def test_sorted_by_a_formula(sonde, small_db):
    found = rows(sonde, small_db, "--view", "flat", "--sort", "g=exclusive(count(cpu_time))", "--metric", "cpu-time")
    values = [row["values"].get("g", {}).get("exclusive", float("-inf")) for row in found]
    assert values == sorted(values, reverse=True) and values[0] == 40


def test_empty_cells_are_explained(sonde, small_db):
    result = sonde("report", "--view", "bottom-up", "--metric", "cpu-time,v=cv(cpu-time),m=mean(cpu-time)", small_db)
    assert result.status == 0
    assert result.err_lines == ["sonde: formula 'v' compares profiles, and is empty in the bottom-up view; --view "
                                "top-down and flat have it"]
    assert sonde("report", "--metric", "cpu-time,v=cv(cpu-time)", small_db).err == ""


def test_one_thread_compared_is_a_set_of_one(sonde, small_db):
    formulas = "cpu-time,n=profiles(cpu-time),most=max(across(cpu-time)),v=cv(cpu-time),i=imbalance(cpu-time)"
    assert sonde("report", "--view", "threads", "--metric", formulas, small_db).err == ""
    found = rows(sonde, small_db, "--view", "threads", "--metric", formulas)
    assert len(found) > 1
    for row in found:
        values = {name: value["inclusive"] for name, value in row["values"].items()}
        if "cpu-time" in values:
            assert (values["n"], values["v"], values["i"]) == (1, 0, 0) and values["most"] == values["cpu-time"]["sum"]


def test_across_threads(sonde, small_db):
    found = rows(sonde, small_db, "--metric", "cpu-time,i=imbalance(cpu-time),n=profiles(cpu-time)")
    assert found[0]["values"]["i"]["inclusive"] == pytest.approx(0.8) and found[0]["values"]["n"]["inclusive"] == 3
    merged = rows(sonde, small_db, "--metric", "cpu-time,i=imbalance(cpu-time),n=profiles(cpu-time)", "--granularity",
                  "function")
    assert merged[0]["values"]["i"] == found[0]["values"]["i"]
    train = [row for row in merged if row["name"] == "train"][0]
    assert train["values"]["n"]["inclusive"] == 2
    selected = rows(sonde, small_db, "--metric", "cpu-time,n=profiles(cpu-time),m=max(across(cpu-time))", "--where",
                    "AddmmBackward0")
    assert selected[0]["values"]["n"]["inclusive"] == 1 and selected[0]["values"]["m"]["inclusive"] == 100 * MS


def test_across_threads_in_tables(sonde, tmp_path):
    """A row's sums by profile, each cost once in a recursion: counted again from all that the database holds."""
    db = make_database(tmp_path, "t.sdb", "--contexts", 2000, "--profiles", 5)
    report = json.loads(sonde("report", "--format", "json", "--metric", "cpu-time", db).out)["rows"]
    formulas = "cpu-time,n=profiles(cpu-time),most=max(across(cpu-time)),least=min(across(cpu-time)),i=imbalance(cpu-time)"
    for more in ([], ["--where", report[len(report) // 2]["name"]]):
        sums: dict[str, dict[int, float]] = {}
        for profile in range(5):
            for row in rows(sonde, db, "--view", "flat", "--metric", "cpu-time", *more, "--thread", thread_name(sonde, db, profile)):
                if value := row["values"].get("cpu-time", {}).get("inclusive"):
                    sums.setdefault(identity(row), {})[profile] = value["sum"]
        found = rows(sonde, db, "--view", "flat", "--metric", formulas, *more)
        assert found and any(len(by_profile) > 1 for by_profile in sums.values())
        for row in found:
            mine = list(sums[identity(row)].values())
            values = {name: value["inclusive"] for name, value in row["values"].items() if name != "cpu-time"}
            assert values["n"] == len(mine) and values["most"] == max(mine) and values["least"] == min(mine)
            assert values["i"] == pytest.approx(max(mine) / (sum(mine) / len(mine)) - 1)
    text = sonde("report", "--view", "flat", "--metric", "cpu-time,n=profiles(cpu-time)", db)
    assert text.err == "" and " - " not in text.out.splitlines()[6]


def identity(row: dict) -> tuple:
    """A function's file may be that of any of its contexts; Python has no modules that would tell functions apart."""
    return row["name"], row["kind"], row.get("module") or row.get("file")


def thread_name(sonde, db, profile: int) -> str:
    """What --thread takes for one alone: a number would stand for a whole process."""
    return rows(sonde, db, "--view", "threads", "--metric", "cpu-time")[profile]["name"]


def test_csv(sonde, small_db):
    out = sonde("report", "--format", "csv", "--metric", "cpu-time,r=gpu_time/cpu_time", small_db).out
    table = {row["name"]: row for row in csv.DictReader(io.StringIO(out))}
    assert float(table["aten::linear"]["r:inclusive"]) == pytest.approx(300 / 235)
    assert table["sgemm_nn"]["r:inclusive"] == ""


def test_exports(sonde, small_db, tmp_path):
    out = tmp_path / "x"
    assert sonde("export", "--to", "csv", "--metric", "r=gpu_time/cpu_time", small_db, "-o", out).status == 0
    assert "r:inclusive" in out.read_text()
    assert sonde("export", "--to", "hatchet", "--metric", "cpu-time,r=gpu_time/cpu_time", small_db, "-o", out).status == 0
    top = json.loads(out.read_text())[0]["metrics"]
    assert top["r (inc)"] == pytest.approx(0.6) and "gpu-time" not in top
    for form in ("folded", "speedscope", "pprof", "callgrind"):
        result = sonde("export", "--to", form, "--metric", "r=gpu_time/cpu_time", small_db, "-o", tmp_path / "no")
        assert result.status == 128 and "'r' is a formula" in result.err and not (tmp_path / "no").exists()
    result = sonde("export", "--to", "html", "--metric", "v=cv(cpu-time)", small_db, "-o", tmp_path / "no")
    assert result.err == "sonde: formula 'v' compares profiles, whose values a page does not hold one by one\n"
    assert result.status == 128 and not (tmp_path / "no").exists()


def test_info_lists_formulas(sonde, small_db):
    info = json.loads(sonde("info", "--format", "json", small_db).out)
    formulas = {f["name"]: f for f in info["formulas"]}
    assert formulas["cpu_time_imbalance"]["value"] == pytest.approx(0.8)
    assert formulas["cpu_time_imbalance"]["unit"] == "ratio" and formulas["cpu_time_imbalance"]["about"]
    assert "imbalance(\"cpu-time\")" in sonde("info", small_db).out
    assert "registers_per_thread" not in formulas


@pytest.mark.parametrize("formula, column, why", [
    ("x=cpu_time+foo", 9, "'foo' is no metric"), ("x=1+", 2, "ends where"), ("x=(cpu-time", 0, "not closed"),
    ("x = log(cpu-time", 12, "')' is missing"), ("x=é+1", 0, "missing here"), ('x="é"+cpu-time', 0, "no metric")])
def test_mistakes_are_marked(sonde, small_db, formula, column, why):
    for arguments in (["report", "--metric", formula, small_db], ["report", "--sort", formula, small_db],
                      ["export", "--to", "csv", "-o", "-", "--metric", formula, small_db]):
        result = sonde(*arguments)
        assert result.status == 128 and result.out == ""
        first, text, mark = result.err_lines
        assert first.startswith("sonde: formula 'x': ") and why in first
        assert text == "    " + formula.split("=", 1)[1].strip() and mark == " " * (4 + column) + "^"


def test_the_mark_is_under_characters_not_bytes(sonde, small_db):
    result = sonde("report", "--metric", "x=cpu-time+\"ééé\"*nope", small_db)
    assert result.err_lines[2].index("^") == 4 + len("cpu-time+")


@pytest.mark.parametrize("text, mark, why", [
    ("ü=cpu-time", 0, "a formula's name is made of letters"), ("xü=cpu-time", 1, "a formula's name is made of letters"),
    ("9x=cpu-time", 0, "begins with a letter"), ("x y=cpu-time", 1, "a formula's name is made of"),
    ("=cpu-time", 0, "name is missing before '='")])
def test_names_that_cannot_be(sonde, small_db, tmp_path, text, mark, why):
    for arguments in (["report", "--metric", text, small_db],
                      ["analyze", small_db, "-o", tmp_path / "x.sdb", "--metric", text]):
        result = sonde(*arguments)
        assert result.status in (128, 129) and result.out == ""
        assert why in result.err_lines[0] and result.err_lines[1:3] == ["    " + text, " " * (4 + mark) + "^"]


@pytest.mark.parametrize("text", ["across(cpu-time)", "cpu-time/2", "cpu_time <= 2"])
def test_a_formula_needs_a_name(sonde, small_db, text):
    result = sonde("report", "--metric", text, small_db)
    assert (result.status, result.err) == (128, f"sonde: '{text}' is a formula without a name: say NAME={text}\n")


def test_long_texts_are_shown_where_it_matters(sonde, small_db, tmp_path):
    for text in ("x=" + "cpu-time+" * 90 + "1", "x=" + "cpu-time+" * 30 + "nope+" + "cpu-time+" * 20 + "1", "y" * 1000,
                 "z+" * 500 + "1", "é" * 400):
        result = sonde("report", "--metric", text, small_db)
        assert result.status == 128 and max(map(len, result.err_lines)) < 180 and len(result.err_lines) <= 3
    result = sonde("report", "--metric", "x=" + "cpu-time+" * 30 + "nope+" + "cpu-time+" * 20 + "1", small_db)
    assert result.err_lines[2].index("^") == result.err_lines[1].index("nope")
    for text in ("é" * 50000, "a" * 50000, "é" * 50000 + "=1"):
        result = sonde("analyze", "x.sonde", "-o", tmp_path / "x.sdb", "--metric", text)
        assert result.status == 129 and max(map(len, result.err_lines)) < 250


@pytest.mark.parametrize("arguments, why", [
    (["--metric", "nosuch"], "was not measured"), (["--metric", "cpu_tme_cv"], "did you mean 'cpu_time_cv'"),
    (["--metric", "cpu-time=1"], "there is a metric of that name"),
    (["--metric", ",".join(f"a{i}=1" for i in range(20))], "more than 16 formulas"),
    (["--metric", "x=" + "1+" * 3000 + "1"], "longer than")])
def test_refusals(sonde, small_db, arguments, why):
    result = sonde("report", *arguments, small_db)
    assert result.status == 128 and result.out == "" and why in result.err


def test_gpu_formulas_are_exact(sonde, tmp_path):
    made = generate("-r", 3, "-t", 2, "-s", 2, "-o", tmp_path / "m.sonde")["metrics"]
    assert sonde("analyze", tmp_path / "m.sonde", "-o", tmp_path / "m.sdb").status == 0
    info = json.loads(sonde("info", "--format", "json", tmp_path / "m.sdb").out)
    value = {f["name"]: f["value"] for f in info["formulas"]}
    total = {name: metric["sum"] for name, metric in made.items()}
    launches = made["kernel-time"]["count"]
    assert value["registers_per_thread"] == pytest.approx(total["kernel-registers"] / launches)
    assert value["theoretical_occupancy"] == pytest.approx(total["kernel-warps"] / total["kernel-warps-max"])
    assert value["warp_issue_rate"] == pytest.approx(1 - total["gpu-samples-stalled"] / total["gpu-samples"])
    assert value["gpu_utilization"] == pytest.approx(total["gpu-samples"] / total["gpu-samples-expected"])
    assert value["copy_bandwidth"] == pytest.approx(total["copy-bytes"] / total["copy-time"] * 1e9)
    assert value["shared_bytes_per_block"] == pytest.approx(total["kernel-shared-bytes"] / launches)
    # the example of the manual, by the names it uses
    found = rows(sonde, tmp_path / "m.sdb", "--metric", "d=count(gpu_sync)-count(gpu_kernel)")
    assert found[0]["values"]["d"]["inclusive"] == made["sync-time"]["count"] - launches


def analyzed(sonde, folder, *options: str):
    generate("-r", 1, "-t", 1, "-s", 1, "-o", folder / "m.sonde") if not (folder / "m.sonde").exists() else None
    return sonde("analyze", folder / "m.sonde", "-o", folder / "m.sdb", *options)


def test_stored_formulas_are_known_everywhere(sonde, tmp_path):
    result = analyzed(sonde, tmp_path, "--metric", "ipc=instructions/cycles", "--metric", "twice=ipc*2",
                      "--metric", "registers_per_thread=7")
    assert result.status == 0, result.err
    info = json.loads(sonde("info", "--format", "json", tmp_path / "m.sdb").out)
    formulas = {f["name"]: f for f in info["formulas"]}
    sums = {metric["name"]: metric["sum"] for metric in info["metrics"]}
    assert formulas["twice"]["value"] == pytest.approx(2 * sums["instructions"] / sums["cycles"])
    assert formulas["registers_per_thread"]["value"] == 7  # takes the place of the one that comes with Sonde
    assert sum(f["name"] == "registers_per_thread" for f in info["formulas"]) == 1
    assert rows(sonde, tmp_path / "m.sdb", "--metric", "x=twice/ipc")[0]["values"]["x"]["inclusive"] == pytest.approx(2)
    plain = tmp_path / "plain.sdb"
    assert sonde("analyze", tmp_path / "m.sonde", "-o", plain).status == 0
    assert rows(sonde, plain) == rows(sonde, tmp_path / "m.sdb")
    again = tmp_path / "again.sdb"
    assert sonde("analyze", tmp_path / "m.sonde", "-o", again, "--metric", "ipc=instructions/cycles", "--metric",
                 "twice=ipc*2", "--metric", "registers_per_thread=7").status == 0
    assert again.read_bytes() == (tmp_path / "m.sdb").read_bytes()


def test_what_cannot_be_stored_leaves_what_was_there(sonde, tmp_path):
    assert analyzed(sonde, tmp_path).status == 0
    before = (tmp_path / "m.sdb").read_bytes()
    result = analyzed(sonde, tmp_path, "--metric", "good=cycles", "--metric", "bad=cycles/nope")
    assert result.status == 128 and result.err_lines[2] == " " * 11 + "^" and result.out == ""
    assert (tmp_path / "m.sdb").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.sdb", "m.sonde"]
    assert analyzed(sonde, tmp_path, "--metric", "cycles").status == 129
    assert sonde("analyze", tmp_path / "m.sonde", "-o", "/dev/null", "--metric", "x=1").status == 128


def test_a_damaged_section_of_formulas_is_noticed(sonde, tmp_path):
    assert analyzed(sonde, tmp_path, "--metric", "mine=cycles*12345").status == 0
    data = bytearray((tmp_path / "m.sdb").read_bytes())
    at = data.rindex(b"cycles*12345")
    data[at] ^= 1
    (tmp_path / "m.sdb").write_bytes(data)
    result = sonde("info", tmp_path / "m.sdb")
    assert result.status == 128 and result.out == "" and "damaged (" in result.err


MEASURED = "hpctoolkit/meas/loops-cuda-nvidiapc-t.m"


def test_info_says_why_a_formula_is_empty(sonde, small_db, tmp_path):
    """Made by analysis, like those that have a value; the metric of one was not measured in the second database."""
    text = sonde("info", small_db).out
    assert "perhaps not for parts" not in text and "nothing was measured" not in text
    measured = generate("-r", 1, "-t", 1, "-o", tmp_path / "m.sonde")["metrics"]
    own = f'exclusive("{next(iter(measured))}")'
    assert sonde("analyze", tmp_path / "m.sonde", "--metric", f"a={own}/{own}", "-o", tmp_path / "m.sdb").status == 0
    assert re.search(r"^  a +- +=.*\[empty for the whole program", sonde("info", tmp_path / "m.sdb").out, re.M)


@needs(MEASURED)
def test_formulas_of_imported_metrics(sonde, tmp_path):
    assert sonde("import", SAMPLES / MEASURED, "-o", tmp_path / "x.sdb").status == 0
    info = json.loads(sonde("info", "--format", "json", tmp_path / "x.sdb").out)
    value = {f["name"]: f["value"] for f in info["formulas"]}
    total = {metric["name"]: metric["sum"] for metric in info["metrics"]}
    assert value["theoretical_occupancy"] == pytest.approx(total["GKER:FGP_ACT_ACUMU"] / total["GKER:FGP_MAX_ACUMU"])
    assert value["registers_per_thread"] == pytest.approx(total["GKER:THR_REG_ACUMU"] / total["GKER:COUNT"])
    assert value["warp_issue_rate"] == pytest.approx(1 - total["GINS:STL_ANY"] / total["GINS"])
    assert value["gpu_utilization"] == pytest.approx(total["GSAMP:TOT"] / total["GSAMP:EXP"])
    # more metrics than anybody wants to see, and none is missing in data
    report = json.loads(sonde("report", "--format", "json", tmp_path / "x.sdb").out)
    assert len(report["metrics"]) == len(info["metrics"]) > 64
    found = rows(sonde, tmp_path / "x.sdb", "--metric", 'each="GKER (sec)"/"GKER:COUNT"')
    assert found[0]["values"]["each"]["inclusive"] == pytest.approx(total["GKER (sec)"] / total["GKER:COUNT"])


def values_of(sonde, db, names: list[str]) -> dict[str, float]:
    known = {f["name"]: f.get("value") for f in json.loads(sonde("info", "--format", "json", db).out)["formulas"]}
    return {name: known.get(name) for name in names}


def test_formulas_survive_hpctoolkit(sonde, tmp_path):
    """They go and come back in the names and units that metrics have there; what would mean something else is told."""
    kept = {"ipc": "instructions/cycles", "twice": "ipc*2+1k-1e3", "each": "mean(cpu-time)/1000", "n": "count(cpu-time)",
            "share": "count(kernel-time)/count(total(kernel-time))", "spread": "cv(cpu-time)+max(across(cpu-time))*0",
            "of-two": "max(count(kernel-time), count(cpu-time))", "regs": "registers_per_thread", "who": "profiles(cycles)"}
    lost = {"least": "min(cpu-time)", "late": "cpu-time-5ms", "rate": "cycles/duration()"}
    options = [word for name, text in (kept | lost).items() for word in ("--metric", f"{name}={text}")]
    assert analyzed(sonde, tmp_path, *options).status == 0
    result = sonde("export", "--to", "hpctoolkit", tmp_path / "m.sdb", "-o", tmp_path / "1.d")
    assert result.status == 0 and result.err == (
        "sonde: 3 formulas were not written, as they would not mean the same; the first, 'least': single values are added "
        "up, and their least, greatest and deviation with them\n")
    assert sonde("import", tmp_path / "1.d", "-o", tmp_path / "1.sdb").status == 0
    assert sonde("export", "--to", "hpctoolkit", tmp_path / "1.sdb", "-o", tmp_path / "2.d").err == ""
    for file in ("meta.db", "profile.db", "cct.db", "metrics/default.yaml"):
        assert (tmp_path / "1.d" / file).read_bytes() == (tmp_path / "2.d" / file).read_bytes()
    before, after = (values_of(sonde, tmp_path / db, list(kept | lost)) for db in ("m.sdb", "1.sdb"))
    for name in kept:
        scale = 1e9 if name == "each" else 1  # seconds there
        assert after[name] == pytest.approx(before[name] / scale, rel=1e-12), name
    assert not {name for name in lost if after[name] is not None}


def test_damaged_formulas_of_hpctoolkit(sonde, tmp_path):
    """Somebody changed the description: what is no formula is left out."""
    assert analyzed(sonde, tmp_path, "--metric", "abc=cycles+1").status == 0
    assert sonde("export", "--to", "hpctoolkit", tmp_path / "m.sdb", "-o", tmp_path / "1.d").status == 0
    meta = (tmp_path / "1.d/meta.db").read_bytes()
    for old, new in ((b"    abc = cycles+1", b"    abc = cycles+("), (b"    abc = cycles+1", b"      c = cycles+1"),
                     (b"    abc = cycles+1", b"     = cycles+1xxx")):
        assert old in meta
        (tmp_path / "1.d/meta.db").write_bytes(meta.replace(old, new))
        assert sonde("import", tmp_path / "1.d", "-o", tmp_path / "1.sdb").status == 0
        assert values_of(sonde, tmp_path / "1.sdb", ["abc"])["abc"] is None
