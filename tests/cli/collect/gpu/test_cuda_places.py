# SPDX-License-Identifier: Apache-2.0
"""CUDA on devices that are not there: where CUPTI is found, launches of cooperative kernels, and kernels without times among those that
are sampled. SONDE_FAKE_CUDA is as test_cuda.py has it."""
from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import program
import pytest
from program import SONDE, WORKLOADS
from test_cuda import FAKE, line_with, on_fakes
from test_cuda import pytestmark  # noqa: F401  (the same condition)
from test_cuda_samples import CONTINUOUS, sampled, stored
from test_cupti import fake, losses, status  # noqa: F401 (fixture)

SOURCE = WORKLOADS / "cuda/places.cu"
NINE, TENTH = (int(line_with("places.cu", text).rpartition(":")[2]) for text in ("// nine", "// tenth"))


@pytest.fixture(scope="module")
def places(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("cuda") / "places"
    runtime = ("-Xlinker", "-rpath", "-Xlinker", output.parent / "runtime", "-Xlinker", "--enable-new-dtags")
    subprocess.run([FAKE, "nvcc", "-g", "-O1", "-lineinfo", "-arch=sm_90", "--cudart", "shared", *runtime, "-o", output, SOURCE], check=True)
    return output


def by_line(found) -> Counter[int]:
    counts: Counter[int] = Counter()
    for frames, value in found:
        on_host = frames[:next(at for at, frame in enumerate(frames) if frame["kind"] == "gpu-api")]
        counts[on_host[-1]["line"]] += value
    return counts


# ---- cooperative kernels ----


def kernels(folder: Path) -> Counter[int]:
    return by_line((frames, value["count"]) for frames, value in program.paths(folder, "kernel-time", "--metric", "kernel-time"))


@pytest.mark.parametrize("how", ["plain", "cooperative"])
def test_each_launch_is_below_its_line(places, tmp_path, how):
    ran = on_fakes(tmp_path, places, how)
    assert kernels(ran.folder) == {NINE: 180, TENTH: 20}
    assert not losses(ran)
    assert "numbers of no call" not in status(ran)


def test_a_cooperative_launch_that_never_comes_is_lost(places, tmp_path):
    assert losses(on_fakes(tmp_path, places, "cooperative", fakes=("--fail", "flush-hangs"))) == {"gpu-lost": 200}


# ---- samples and times ----


def test_a_launch_without_times_takes_no_samples_of_others(places, tmp_path):
    """Each tenth record, which is that of the second line, ends before it begins: what is known of that line is no time."""
    ran = sampled(tmp_path, places, options=CONTINUOUS, fakes=("--fail", "reversed-times"))
    found = by_line(stored(ran))
    assert sum(found.values()) == ran.taken()
    assert found[NINE] > 0.99 * ran.taken()


# ---- where CUPTI is ----


def copied(source: Path, folder: Path, *patterns: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in patterns:
        for path in source.glob(pattern):
            shutil.copy(path, folder)
    return folder


def run_beside(places: Path, fake: Path, folder: Path, runtime: str) -> str:  # noqa: F811
    """The program with its runtime in a folder that the loader knows for the program alone; what `sonde info` says of CUDA."""
    link = places.parent / "runtime"
    link.unlink(missing_ok=True)
    link.symlink_to(copied(fake / "cuda", folder / runtime, "libcudart.so.13"))
    driver = copied(fake / "cuda", folder / "driver", "libcuda.so.1", "libcuda_*")
    subprocess.run([SONDE, "run", "-q", "-o", folder / "run", "--", places], check=True, timeout=60, stdout=subprocess.DEVNULL,
                   env={**os.environ, "LD_LIBRARY_PATH": str(driver)})
    return program.info(folder)["properties"]["adapter.cuda"]


@pytest.mark.parametrize("runtime,cupti", [("nvidia/cu13/lib", "nvidia/cu13/lib"), ("nvidia/cuda_runtime/lib", "nvidia/cuda_cupti/lib"),
                                           ("cuda/lib64", "cuda/extras/CUPTI/lib64"),
                                           ("cuda/targets/x86_64-linux/lib", "cuda/extras/CUPTI/lib64")])
def test_a_library_that_the_loader_does_not_find(places, fake, tmp_path, runtime, cupti):  # noqa: F811
    """In the folders of wheels and toolkits, seen from the runtime."""
    copied(fake / "cupti-13.2", tmp_path / cupti, "libcupti.so.13")
    text = run_beside(places, fake, tmp_path, runtime)
    assert text.startswith("CUPTI: kernels"), text
    assert sum(kernels(tmp_path).values()) == 200


def test_no_library_anywhere(places, fake, tmp_path):  # noqa: F811
    assert run_beside(places, fake, tmp_path, "lib") == "no libcupti.so was found"
