# SPDX-License-Identifier: Apache-2.0
"""Samples of instructions in regions alone (--gpu-samples-in), on devices that are not there: all that is planned in them, none outside.
SONDE_FAKE_CUDA is as test_cuda.py has it."""
from __future__ import annotations

import subprocess
from pathlib import Path

import program
import pytest
from on_devices import Ran, by_launch, by_place, is_kernel, kernel_of, lost, measured, metrics, short, stored
from program import ROOT, SONDE, WORKLOADS
from test_cuda import FAKE, line_with
from test_cuda import pytestmark  # noqa: F401  (the same condition)
from test_cuda_samples import CONTINUOUS, SERIALIZED, Sampled, code_of, sampled
from test_cupti import RELEASES, fake, status  # noqa: F401 (fixtures)
from test_region import nvtx_include

SOURCE = WORKLOADS / "cuda/regions.cu"
IN = ("--gpu-samples-in", "step")
# of each launch
INSIDE, BOTH, OUTSIDE = 7, 11, 3
PLAN = "_Z6inside* 0 wait 5\n_Z6inside* 30 selected 2\n_Z4both* 0 wait 11\n_Z7outside* 0 wait 3\n"


def built(folder: Path, *options: str) -> Path:
    subprocess.run([FAKE, "nvcc", "-g", "-O1", "-lineinfo", "-arch=sm_90", "--no-compress", f"-I{ROOT / 'include'}", *options,
                    "-o", folder / "regions", SOURCE], check=True)
    return folder / "regions"


@pytest.fixture(scope="module")
def regions(tmp_path_factory) -> Path:
    return built(tmp_path_factory.mktemp("regions"))


def ran_in(folder: Path, *command: str | Path, options: tuple[str, ...] = CONTINUOUS, fakes: tuple[str, ...] = (),
           **environment: str) -> Sampled:
    (folder / "samples").write_text(PLAN)
    ran = sampled(folder, *command, options=(*options, *IN), fakes=("--samples", str(folder / "samples"), *fakes), **environment)
    assert ran.out == "no error\n"
    return ran


def by_kernel(ran: Ran) -> dict[str, int]:
    found: dict[str, int] = {}
    for frames, count in stored(ran):
        found[kernel_of(frames)] = found.get(kernel_of(frames), 0) + count
    return found


def number(text: str) -> int:
    return int(line_with("regions.cu", text).rpartition(":")[2])


# ---- what is sampled ----


@pytest.mark.parametrize("options", [SERIALIZED, CONTINUOUS])
@pytest.mark.parametrize("release", RELEASES)
def test_regions_alone(regions, tmp_path, release, options):
    """Each sample on its line, of its launch."""
    ran = ran_in(tmp_path, regions, "3", options=options, fakes=("--cupti", release, "--fail", "strict"))
    assert by_kernel(ran) == {"inside": 15 * INSIDE, "both": 15 * BOTH} and not lost(ran)
    code = code_of(ran)
    assert by_place(ran) == {(short(kernel), code.starts[kernel] + int(pc, 16), code.lines.get((kernel, int(pc, 16)), "")): count
                             for (kernel, pc), count in ran.sampled("kernel", "pc").items() if count}
    assert ("inside", f"regions.cu:{number('// sampled')}") in {(kernel, line) for kernel, _, line in by_place(ran)}
    assert {(kernel, line): count for (kernel, line), count in by_launch(ran, SOURCE).items() if kernel == "both"} == {
        ("both", number("// in a step")): 15 * BOTH}
    assert measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel)
    assert "; instructions sampled in regions 'step'" + (", kernels one at a time" if options is SERIALIZED else "") in status(ran)


@pytest.mark.parametrize("options", [SERIALIZED, CONTINUOUS])
def test_a_range_is_read_to_its_end(regions, tmp_path, options):
    ran = ran_in(tmp_path, regions, "4", options=options, fakes=("--fail", "pc-parts"))
    assert by_kernel(ran) == {"inside": 20 * INSIDE, "both": 20 * BOTH} and not lost(ran)


@pytest.mark.parametrize("how,launches", [("nested", 15), ("threads", 10), ("beside", 5), ("first", 5), ("endless", 5), ("left", 5), ("token", 5),
                                          ("child", 5)])
def test_what_regions_do(regions, tmp_path, how, launches):
    ran = ran_in(tmp_path, regions, how)
    assert by_kernel(ran) == {"inside": launches * INSIDE, "both": launches * BOTH} and not lost(ran)


@pytest.mark.parametrize("options", [SERIALIZED, CONTINUOUS])
def test_several_contexts(regions, tmp_path, options):
    ran = ran_in(tmp_path, regions, "devices", options=options, FAKE_DEVICES="2")
    assert by_kernel(ran) == {"inside": 20 * INSIDE, "both": 20 * BOTH} and not lost(ran)


@pytest.mark.parametrize("options", [SERIALIZED, CONTINUOUS])
def test_graphs(regions, tmp_path, options):
    ran = ran_in(tmp_path, regions, "graph", options=options)
    assert by_kernel(ran) == {"inside": 5 * INSIDE} and not lost(ran)


@pytest.mark.parametrize("options", [SERIALIZED, CONTINUOUS])
def test_many_threads(regions, tmp_path, options):
    """Whatever is sampled is stored, and everything in a region is sampled."""
    ran = ran_in(tmp_path, regions, "crowd", options=options)
    found = by_kernel(ran)
    assert sum(found.values()) == ran.taken() and not lost(ran)
    assert found["inside"] >= 3 * 40 * 5 * INSIDE and found["both"] >= 3 * 40 * 5 * BOTH


def test_a_range_that_another_thread_ends(regions, tmp_path):
    (tmp_path / "roctx.c").write_text("unsigned long roctxRangeStartA(const char *name) { return 5; }\nvoid roctxRangeStop(unsigned long id) {}\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "libroctx64.so", tmp_path / "roctx.c"], check=True)
    ran = ran_in(tmp_path, regions, "range", LD_PRELOAD=str(tmp_path / "libroctx64.so"))
    assert by_kernel(ran) == {"inside": 5 * INSIDE, "both": 5 * BOTH} and not lost(ran)


def test_ranges_of_nvtx(tmp_path):
    ran = ran_in(tmp_path, built(tmp_path, "-DWITH_NVTX", f"-I{nvtx_include()}"), "nvtx")
    assert by_kernel(ran) == {"inside": 10 * INSIDE, "both": 10 * BOTH} and not lost(ran)


def test_kernels_that_run_when_the_region_ends(regions, tmp_path):
    """Sampling is on until a kernel is launched outside: what runs then is cut."""
    (tmp_path / "plan").write_text("_Z6inside* 200000000\n")
    found = {}
    for how in ("early", "cut"):
        folder = tmp_path / how
        folder.mkdir()
        ran = ran_in(folder, regions, how, fakes=("--plan", str(tmp_path / "plan")))
        found[how] = by_kernel(ran)
        assert sum(found[how].values()) == ran.taken() and not lost(ran)
    assert found["early"] == {"inside": 5 * INSIDE} and set(found["cut"]) == {"inside"} and INSIDE <= found["cut"]["inside"] < 5 * INSIDE


# ---- what is said ----


@pytest.mark.parametrize("how,name,why", [("2", "step s", "no region 'step s' began"), ("0", "step", "no region 'step' began"),
                                          ("empty", "step", "no kernel was launched in a region 'step'")])
def test_nothing_in_such_a_region(regions, tmp_path, how, name, why):
    ran = sampled(tmp_path, regions, how, options=(*CONTINUOUS, "--gpu-samples-in", name))
    assert not stored(ran) and not ran.samples and "instructions sampled" not in status(ran)
    assert status(ran).endswith(f"; instructions are not sampled: {why}")


@pytest.mark.parametrize("failure", ["pc-start", "pc-stop"])
def test_a_function_that_fails(regions, tmp_path, failure):
    ran = ran_in(tmp_path, regions, "2", fakes=("--fail", failure))
    function = {"pc-start": "cuptiPCSamplingStart", "pc-stop": "cuptiPCSamplingStop"}[failure]
    assert status(ran).endswith(f"; instructions are not sampled: {function} fails with error 999")
    assert "outside" not in by_kernel(ran) and measured(ran, "kernel-time", "count") == ran.truth("count", is_kernel)


def test_a_library_that_lacks_a_function(regions, fake, tmp_path):  # noqa: F811
    """It is wanted for regions alone."""
    whole = next(path for path in (fake / "cupti-13.2").glob("libcupti.so.*") if not path.is_symlink())
    lacking = tmp_path / whole.name
    lacking.write_bytes(whole.read_bytes().replace(b"\0cuptiPCSamplingStop\0", b"\0cuptiPCSamplingStoq\0"))
    ran = ran_in(tmp_path, regions, "2", LD_PRELOAD=str(lacking))
    assert not ran.samples and status(ran).endswith("; instructions are not sampled: cuptiPCSamplingStop is missing")
    everywhere = tmp_path / "everywhere"
    everywhere.mkdir()
    assert sampled(everywhere, regions, "2", options=CONTINUOUS, LD_PRELOAD=str(lacking)).taken() > 0


def begun(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SONDE, "run", "-q", "-o", folder / "run", *options, "--", "true"], capture_output=True, text=True)


@pytest.mark.parametrize("options", [IN, ("--gpu-samples=off", *IN), ("--gpu-samples", "--gpu-samples-in", ""),
                                     ("--gpu-samples", "--gpu-samples-in", "x" * 256)])
def test_a_choice_that_is_none(tmp_path, options):
    done = begun(tmp_path, *options)
    assert done.returncode == 129 and done.stderr.count("\n") == 1 and "'--gpu-samples-in'" in done.stderr
    assert not (tmp_path / "run.sonde").exists()


def test_what_is_chosen_is_said_before(tmp_path):
    done = begun(tmp_path, "--gpu-samples", "--gpu-samples-in", "x" * 255)
    assert done.returncode == 0 and f"in a region '{'x' * 255}'; HIP devices all the time, " in done.stderr
