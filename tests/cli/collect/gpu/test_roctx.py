# SPDX-License-Identifier: Apache-2.0
"""AMD's markers as regions: by roctracer's library and by the SDK's, with and without rocprofiler-sdk."""
from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

import program
from program import WORKLOADS
from test_rocm import Ran, on_fakes, plain, sdk_folder

LIBRARIES = ["libroctx64.so", "librocprofiler-sdk-roctx.so"]


def folder() -> Path:
    return Path(sdk_folder()).parent


@pytest.fixture(scope="module", params=LIBRARIES)
def markers(request, tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("roctx") / "markers"
    status, out = plain("true")
    if status == 77:
        pytest.skip("no fake ROCm")
    subprocess.run(["gcc", "-g", "-O1", WORKLOADS / "rocm/markers.c", "-o", output, "-pthread", f"-L{folder()}", f"-l:{request.param}",
                    f"-Wl,-rpath-link,{folder()}"], check=True)
    return output


def counts(ran: Ran, metric: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for frames, value in program.paths(ran.folder, metric, "--metric", metric):
        found[frames[-1]["name"]] += value["count"]
    return found


def unbalanced(ran: Ran) -> int:
    return program.info(ran.folder).get("drops", {}).get("region-unbalanced", 0)


def check(ran: Ran) -> None:
    # the calls of a region are those of its own name; region-time has one value for each
    assert counts(ran, "region-time") == {"step": 10, "part": 5, "thread step": 4}
    assert counts(ran, "marks") == {"checkpoint": 7}
    assert counts(ran, "range-time") == {"load": 3, "store": 3}
    # one pop more than was pushed
    assert unbalanced(ran) == 1


@pytest.mark.parametrize("fail", ["none", "no-sdk"])
def test_markers_are_regions(markers, fail, tmp_path):
    ran = on_fakes(tmp_path, markers, fail=fail)
    assert (ran.status, ran.out) == plain(markers, fail=fail)
    check(ran)


def test_what_is_called_in_a_region_stands_below_it(markers, tmp_path):
    """Also what the opening function calls itself, whose frames lie beside the library's."""
    ran = on_fakes(tmp_path, markers, options=("-F", "997"))
    time: Counter[tuple[str, ...]] = Counter()
    for frames, value in program.paths(ran.folder, "cpu-time"):
        names = [frame["name"] for frame in frames]
        if "step" in names and "compute" in names:
            regions = tuple(frame["name"] for frame in frames[:names.index("compute")] if frame["kind"] == "region")
            time[regions] += value["sum"]
    assert set(time) == {("step",), ("step", "part")}
    assert time["step",] / sum(time.values()) == pytest.approx(10 / 15, abs=0.1)


@pytest.mark.parametrize("fail", ["none", "no-sdk"])
def test_functions_that_are_asked_for_by_name_are_heard_in_the_table(markers, fail, tmp_path):
    """roctracer's library shows none: there such calls are not heard, and the program is as without."""
    for library in LIBRARIES:
        (tmp_path / library).mkdir()
        ran = on_fakes(tmp_path / library, markers, folder() / library, fail=fail)
        assert (ran.status, ran.out) == plain(markers, folder() / library, fail=fail)
        if library == LIBRARIES[1]:
            check(ran)
        else:
            assert "region-time" not in {metric["name"] for metric in program.info(ran.folder)["metrics"]} and unbalanced(ran) == 0
