# SPDX-License-Identifier: Apache-2.0
"""OpenCL where the loader is new or the device old: loaders since 2025 initialise layers by another function, and no function
may be asked that the device's version does not have. Intel's runtime, loader and SYCL by tests/python_env.sh sycl, which CI
installs (SONDE_SYCL_PYTHONS: executables separated by colons); Oclgrind, an OpenCL 1.2 device, is Debian's."""
from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess
from pathlib import Path

import measured
import pytest
from program import compiled

PYTHONS = [python for python in os.environ.get("SONDE_SYCL_PYTHONS", "").split(":") if python]
ICD = Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
HEADERS = Path("/usr/include/CL/cl_layer.h")


@pytest.fixture(scope="module")
def loader() -> Path:
    if not HEADERS.exists():
        pytest.skip("no OpenCL headers")
    return compiled("opencl/opencl_loader.c", "-rdynamic")


@pytest.mark.parametrize("how", ["old", "new"])
@pytest.mark.parametrize("version", ["OpenCL 1.0 x", "OpenCL 1.2 made up", "OpenCL 2.0 x", "OpenCL 2.1 x", "OpenCL 3.0 x",
                                     "OpenCL 10.0 x", "something else"])
def test_layer_of_loader_and_version(tmp_path, loader, how, version):
    """Kernels have their times, and both clocks are read together only of devices that can, since 2.1."""
    done, m = measured.run(tmp_path / "m", loader, how, version, "100")
    can = version.startswith(("OpenCL 2.1", "OpenCL 3", "OpenCL 10"))
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["both clocks"] * can
    times = m.total("kernel-time", m.at("kernel", "turn"))
    assert (times.count, times.sum) == (100, sum(range(1, 101)) * 1000)


def test_layer_that_is_taken_down(tmp_path, loader):
    """What has ended is collected before the runtime goes, nothing is asked of it then; and a loader may come again."""
    done, m = measured.run(tmp_path / "m", loader, "new", "OpenCL 1.2 x", "3", "5")
    assert (done.returncode, done.stdout) == (0, "")
    times = m.total("kernel-time", m.at("kernel", "turn"))
    assert (times.count, times.sum) == (8, sum(range(1, 9)) * 1000)


def test_properties_that_are_not_known(tmp_path, loader):
    """A layer says so of a property that it cannot heed (CL_INVALID_PROPERTY)."""
    done, _ = measured.run(tmp_path / "m", loader, "properties", "OpenCL 3.0 x", "3")
    assert done.stdout == "refused -64\n"


def test_old_device(tmp_path):
    """Oclgrind under ocl-icd: a call that its version does not have would not return."""
    if not ICD.exists() or not ctypes.util.find_library("OpenCL"):
        pytest.skip("no Oclgrind (Debian: oclgrind)")
    program = compiled("opencl/opencl_old.c", "-lOpenCL")
    (tmp_path / "vendors").mkdir()
    (tmp_path / "vendors/oclgrind.icd").write_text(f"{ICD}\n")
    vendors = {"OCL_ICD_VENDORS": str(tmp_path / "vendors")}
    alone = subprocess.run([program], env={**os.environ, **vendors}, capture_output=True, text=True, timeout=60)
    done, m = measured.run(tmp_path / "m", program, **vendors)
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout)
    assert done.stdout.startswith("OpenCL 1.2 (Oclgrind") and done.stdout.endswith(": 7\n")
    assert m.total("kernel-time", m.at("kernel", "add_one")).count == 7
    assert m.total("copy-bytes").sum == 2 * 1024


# ---- Intel's runtime and the loader that comes with it ----

@pytest.fixture(scope="module", params=PYTHONS or [None])
def intel(request) -> Path:
    """The folder that holds Intel's bin, include and lib."""
    if not request.param:
        pytest.skip("SONDE_SYCL_PYTHONS names no Python with Intel's SYCL (tests/python_env.sh sycl installs one)")
    return Path(request.param).absolute().parent.parent


def settings(intel: Path) -> dict[str, str]:
    return {"LD_LIBRARY_PATH": str(intel / "lib"), "OCL_ICD_FILENAMES": str(intel / "lib/libintelocl.so"),
            "ONEAPI_DEVICE_SELECTOR": "opencl:cpu"}


def test_known_work_on_intels_runtime(tmp_path, intel):
    program = measured.BUILD / "tests/opencl-known"
    if not program.exists():
        pytest.skip("built without OpenCL")
    done, m = measured.run(tmp_path / "m", program, "--profiling", **settings(intel))
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split("|") for line in done.stdout.splitlines() if line.startswith("time|")]
    own = {name: (int(count), int(total)) for _, name, count, total in lines}
    for kernel in ("add_one", "scale"):
        found = m.total("kernel-time", m.at("kernel", kernel))
        assert (found.count, found.sum) == own["kernel " + kernel]
    assert m.drops.get("gpu-untimed", 0) == m.drops.get("gpu-lost", 0) == 0


def test_sycl(tmp_path, intel):
    """Kernels of a SYCL program under the functions that launched them."""
    if not shutil.which("g++"):
        pytest.skip("no g++")
    include = intel / "include"
    program = compiled("opencl/sycl_source.cpp", "-std=c++17", "-DSYCL_DISABLE_FSYCL_SYCLHPP_WARNING", f"-I{include}",
                       f"-I{include}/sycl", f"-L{intel}/lib", "-lsycl", compiler="g++")
    done, m = measured.run(tmp_path / "m", program, **settings(intel))
    assert (done.returncode, done.stdout) == (0, "34\n"), done.stderr
    launches = [c for c in m.contexts if "kernel-time" in c.values and c.path[-1].name.endswith("scale")]
    assert sorted(c.values["kernel-time"].count for c in launches) == [5, 12]
    assert m.total("work-items").sum == 17 * 1024
    assert m.drops.get("gpu-untimed", 0) == m.drops.get("gpu-lost", 0) == 0
