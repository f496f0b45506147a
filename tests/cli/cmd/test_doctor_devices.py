# SPDX-License-Identifier: Apache-2.0
"""`sonde doctor` about devices: each sentence on a made machine where it is true, and absent where it is not.

A machine is a folder with device nodes (plain files), what the kernel tells, and libraries (empty)."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from conftest import ROOT, SONDE, clean_environment

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
VERSION = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024\nGCC version:\n"
NVIDIA = {"/dev/nvidiactl": "", "/dev/nvidia0": "", "/proc/driver/nvidia/version": VERSION,
          "/proc/driver/nvidia/params": "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 0\n", f"{LIBRARIES}/libcuda.so.1": ""}
KFD = {"/dev/kfd": "", "/dev/dri/renderD128": ""}
AMD = {**KFD, "/opt/rocm/lib/libamdhip64.so": ""}
RENDER = "/sys/class/drm/renderD128/device"
INTEL = {f"{RENDER}/vendor": "0x8086\n", "/dev/dri/renderD128": "", f"{LIBRARIES}/libze_loader.so.1": "",
         f"{LIBRARIES}/libze_tracing_layer.so.1": "", f"{LIBRARIES}/libze_intel_gpu.so.1": ""}
OPENCL = {f"{LIBRARIES}/libOpenCL.so.1": "OPENCL_LAYERS", "/etc/OpenCL/vendors/imagined.icd": "libimagined.so\n"}
UNCONFIRMED = "no real device has confirmed it"


@pytest.fixture
def machine():
    """Makes one: files with their texts, "-> TARGET" for a link. Others than root can read it."""
    folders: list[str] = []

    def make(files: dict[str, str]) -> Path:
        folder = tempfile.mkdtemp()
        folders.append(folder)
        os.chmod(folder, 0o755)
        for name, text in files.items():
            path = Path(folder + name)
            path.parent.mkdir(parents=True, exist_ok=True)
            if text.startswith("-> "):
                path.symlink_to(text[3:])
            else:
                path.write_text(text)
            if name.startswith("/dev/"):
                path.chmod(0o666)
        return Path(folder)
    yield make
    for folder in folders:
        shutil.rmtree(folder)


def doctor(machine: Path, user: int | None = None, before: tuple[str, ...] = (), **environment: str) -> dict[str, tuple[str, str, str]]:
    """Of each check of devices its verdict, its text and its fix. Paths are those of the machine."""
    command = [SONDE]
    if user is not None:
        if os.geteuid() != 0:
            pytest.skip("who is not root cannot be somebody else")
        # the program may lie where others cannot read it
        command = [shutil.copy(SONDE, machine / "sonde")]
        (machine / "sonde").chmod(0o755)
    done = subprocess.run([*before, *command, "doctor", "--format", "json"], capture_output=True, text=True, user=user, group=user, extra_groups=[] if user else None,
                          env=clean_environment(**{"SONDE_DOCTOR_ROOT": str(machine), "LD_LIBRARY_PATH": "", **environment}))
    found = json.loads(done.stdout)["checks"]
    return {check["name"]: (check["verdict"], check["text"].replace(str(machine), ""), (check["fix"] or "").replace(str(machine), ""))
            for check in found if check["group"] == "Devices"}


def without(files: dict[str, str], *names: str) -> dict[str, str]:
    return {name: text for name, text in files.items() if Path(name).name not in names}


NOBODY = 65534
VIDEO = 44  # Debian's number of the group
JOIN = "sudo usermod -aG video $USER, and log in again"


def refusing(folder: Path, node: str, mode: int = 0o660, group: int = VIDEO) -> Path:
    """The machine, with a device that others may not use."""
    if os.geteuid() != 0:
        pytest.skip("who is not root cannot give a file to a group")
    os.chown(folder / "dev" / node, -1, group)
    (folder / "dev" / node).chmod(mode)
    return folder


def capable(number: int) -> bool:
    text = Path("/proc/self/status").read_text()
    return bool(int(text.split("CapEff:")[1].split()[0], 16) >> number & 1)


# ---- a machine without any ----

def test_nothing_is_there(machine):
    assert doctor(machine({})) == {
        "OpenCL": ("no", "no libOpenCL.so.1", "sudo apt install ocl-icd-libopencl1"),
        "NVIDIA": ("no", "no device (/dev/nvidiactl) and no driver library (libcuda.so.1)", ""),
        "AMD": ("no", "no device (/dev/kfd) and no HIP library", ""),
        "Intel GPU": ("no", "no device (/sys/class/drm)", ""),
        "Level Zero": ("no", "no loader (libze_loader.so.1)", "sudo apt install libze1"),
        "other accelerators": ("ok", "none in /sys/class/accel; calls of any library that you describe",
                               "sonde run --gpu-api FILE (sonde-gpu-api(5))")}


# ---- NVIDIA ----

@pytest.mark.parametrize("files,verdict,text,fix", [
    (NVIDIA, "ok", f"driver 550.54.14, 1 device, {LIBRARIES}/libcuda.so.1", ""),
    ({**NVIDIA, "/dev/nvidia1": ""}, "ok", f"driver 550.54.14, 2 devices, {LIBRARIES}/libcuda.so.1", ""),
    (without(NVIDIA, "version"), "ok", f"driver of unknown version, 1 device, {LIBRARIES}/libcuda.so.1", ""),
    (without(NVIDIA, "libcuda.so.1"), "no", "a device (/dev/nvidiactl) and no driver library (libcuda.so.1)",
     "sudo apt install libcuda1 (of the driver's version)"),
    (without(NVIDIA, "nvidiactl", "nvidia0"), "no", f"{LIBRARIES}/libcuda.so.1, but no device (/dev/nvidiactl)",
     "sudo modprobe nvidia; for a container: docker run --gpus all"),
    (without(NVIDIA, "nvidia0"), "no", f"{LIBRARIES}/libcuda.so.1, but no device (/dev/nvidia0)",
     "sudo modprobe nvidia; for a container: docker run --gpus all"),
])
def test_nvidia(machine, files, verdict, text, fix):
    found = doctor(machine(files))
    assert found["NVIDIA"] == (verdict, text, fix)
    assert ("NVIDIA kernels" in found) == ("NVIDIA samples" in found) == (verdict == "ok")


def test_nvidia_divided(machine):
    folder = "/proc/driver/nvidia/capabilities"
    whole = {**NVIDIA, f"{folder}/mig/config": "", f"{folder}/gpu0/mig/gi1/access": ""}
    assert "NVIDIA MIG" not in doctor(machine(whole))
    divided = {**whole, f"{folder}/gpu0/mig/gi1/ci0/access": "", f"{folder}/gpu3/mig/gi2/ci1/access": ""}
    verdict, text, fix = doctor(machine(divided))["NVIDIA MIG"]
    assert (verdict, fix) == ("limited", "") and text.startswith("2 instances of divided devices: ") and text.endswith(UNCONFIRMED)


def of_models(*models: str) -> dict[str, str]:
    return {**NVIDIA, **{f"/proc/driver/nvidia/gpus/0000:0{at}:00.0/information": f"Model: \t\t {model}\nIRQ:   \t\t 45\nDevice Minor: \t {at}\n"
                         for at, model in enumerate(models)}}


CALLS_ALONE = f"and then calls alone are measured, of programs that link the runtime dynamically; {UNCONFIRMED}"
VIRTUAL = ["GRID V100D-8Q", "GRID T4-16C", "NVIDIA A40-48Q", "NVIDIA A100-40C", "NVIDIA H100-1-10CME", "NVIDIA RTX6000-Ada-8A", "NVIDIA vGPU of no name"]


@pytest.mark.parametrize("model", VIRTUAL)
def test_nvidia_virtual(machine, model):
    assert doctor(machine(of_models("NVIDIA A100-SXM4-40GB", model)))["NVIDIA vGPU"] == (
        "limited", f"1 virtual GPU ({model}): unless its host allows profiling CUPTI refuses records, samples and counters (error 33), {CALLS_ALONE}",
        "on its host: echo enable_profiling=1 | sudo tee /sys/bus/mdev/devices/UUID/nvidia/vgpu_params")


@pytest.mark.parametrize("model", ["NVIDIA A100-SXM4-40GB", "Tesla V100-SXM2-16GB", "NVIDIA H100 80GB HBM3", "NVIDIA GeForce RTX 4090", "Tesla T4",
                                   "NVIDIA A100-PCIE-40GB", "NVIDIA GH200 480GB", ""])
def test_nvidia_not_virtual(machine, model):
    found = doctor(machine(of_models(model)))
    assert "NVIDIA" in found and not {"NVIDIA vGPU", "NVIDIA confidential"} & set(found)


def test_several_virtual(machine):
    assert doctor(machine(of_models(*VIRTUAL[:3])))["NVIDIA vGPU"][1].startswith(f"3 virtual GPUs ({VIRTUAL[2]}): ")


@pytest.mark.parametrize("node", ["sev-guest", "tdx_guest", "tdx-guest"])
def test_nvidia_confidential(machine, node):
    assert doctor(machine({**NVIDIA, f"/dev/{node}": ""}))["NVIDIA confidential"] == (
        "limited", f"a confidential guest (/dev/{node}): if the GPU's mode is on CUPTI refuses records, samples and counters (error 41), {CALLS_ALONE}",
        "nvidia-smi conf-compute -f; on the host: sudo nvidia_gpu_tools.py --set-cc-mode=devtools --reset-after-cc-mode-switch")
    # which says nothing where there is no GPU
    assert "NVIDIA confidential" not in doctor(machine({f"/dev/{node}": ""}))


@pytest.mark.parametrize("node", ["nvidia0", "nvidiactl"])
def test_nvidia_of_others(machine, node):
    found = doctor(refusing(machine(NVIDIA), node), NOBODY)
    assert found["NVIDIA"] == ("no", f"a device (/dev/{node}) that you may not use; its group is video", JOIN)
    assert "NVIDIA kernels" not in found


@pytest.mark.parametrize("mode,group", [(0o600, VIDEO), (0o660, 0)])
def test_no_group_that_helps(machine, mode, group):
    """Where its group has no right, or is root's, nobody is told to join it."""
    found = doctor(refusing(machine(NVIDIA), "nvidia0", mode, group), NOBODY)
    assert found["NVIDIA"] == ("no", f"a device (/dev/nvidia0) that you may not use; its mode is {mode:04o}", "")


def test_who_may_sample(machine):
    restricted = {**NVIDIA, "/proc/driver/nvidia/params": "RmProfilingAdminOnly: 1\n"}
    verdict, text, fix = doctor(machine(restricted), NOBODY)["NVIDIA samples"]
    assert (verdict, text) == ("limited", "sonde run --gpu-samples, --gpu-counters and --gpu-metrics are for administrators only (RmProfilingAdminOnly: 1); "
                               "kernels and copies need no permission")
    assert "NVreg_RestrictProfilingToAdminUsers=0" in fix
    if capable(21):
        assert doctor(machine(restricted), 0)["NVIDIA samples"] == (
            "ok", "sonde run --gpu-samples, --gpu-counters and --gpu-metrics are allowed (RmProfilingAdminOnly: 1, and you are an administrator)", "")
    assert doctor(machine(NVIDIA), NOBODY)["NVIDIA samples"] == (
        "ok", "sonde run --gpu-samples, --gpu-counters and --gpu-metrics are allowed (RmProfilingAdminOnly: 0)", "")
    assert doctor(machine(without(NVIDIA, "params")))["NVIDIA samples"] == (
        "limited", "/proc/driver/nvidia/params does not say who may sample instructions and read counters, as sonde run --gpu-samples, "
        "--gpu-counters and --gpu-metrics do (RmProfilingAdminOnly); kernels and copies need no permission", "")


def test_root_without_the_right(machine):
    """As root mostly is in a container."""
    if not capable(21) or not shutil.which("setpriv"):
        pytest.skip("needs CAP_SYS_ADMIN to give it up, and setpriv")
    restricted = machine({**NVIDIA, "/proc/driver/nvidia/params": "RmProfilingAdminOnly: 1\n"})
    found = doctor(restricted, before=("setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"))
    assert found["NVIDIA samples"][0] == "limited"


TOOLKIT = "/usr/local/cuda/extras/CUPTI/lib64"
COST = f"0.4 to 0.8 us more a launch, measured on a fake device, and what CUPTI takes; {UNCONFIRMED}"


@pytest.mark.parametrize("files,text,fix", [
    ({f"{LIBRARIES}/libcupti.so.2025.2.1": "", f"{LIBRARIES}/libcupti.so": "-> libcupti.so.2025.2.1"},
     f"CUPTI 2025.2.1 ({LIBRARIES}/libcupti.so): kernels, copies, sets, memory and waits; {COST}", ""),
    ({f"{LIBRARIES}/libcupti.so": "", f"{LIBRARIES}/libcupti.so.12": ""},
     f"CUPTI 12 ({LIBRARIES}/libcupti.so.12): kernels, copies, sets, memory and waits; {COST}", ""),
    ({"/usr/local/cuda/lib64/libcupti.so": ""},
     f"CUPTI of unknown version (/usr/local/cuda/lib64/libcupti.so): kernels, copies, sets, memory and waits; {COST}", ""),
    ({f"{TOOLKIT}/libcupti.so.12": "", f"{TOOLKIT}/libcupti.so": ""},
     f"CUPTI 12 ({TOOLKIT}/libcupti.so.12): kernels, copies, sets, memory and waits; {COST}", ""),
    ({}, f"no CUPTI where the loader looks, and in no toolkit: kernels of programs that bring one, as PyTorch; {COST}",
     "pip install nvidia-cuda-cupti (CUDA 12: nvidia-cuda-cupti-cu12), and name its folder in LD_LIBRARY_PATH"),
])
def test_cupti(machine, files, text, fix):
    assert doctor(machine({**NVIDIA, **files}))["NVIDIA kernels"] == ("limited", text, fix)


def test_a_library_that_the_loader_is_told_of(machine, tmp_path):
    (tmp_path / "libcupti.so.13").touch()
    found = doctor(machine({**NVIDIA, f"{LIBRARIES}/libcupti.so.13": ""}), LD_LIBRARY_PATH=f"/not/there:{tmp_path}")
    assert found["NVIDIA kernels"][1].startswith(f"CUPTI 13 ({tmp_path}/libcupti.so.13): ")


# ---- AMD ----

@pytest.mark.parametrize("files,text", [
    (AMD, "driver of the kernel, ROCm of unknown version, /opt/rocm/lib/libamdhip64.so"),
    ({**AMD, "/sys/module/amdgpu/version": "6.10.5\n", "/opt/rocm/.info/version": "7.0.1-42\n"},
     "driver 6.10.5, ROCm 7.0.1-42, /opt/rocm/lib/libamdhip64.so"),
    (KFD, "driver of the kernel, ROCm of unknown version, HIP must come with the program"),
])
def test_amd(machine, files, text):
    assert doctor(machine(files))["AMD"] == ("ok", text, "")


def test_amd_without_a_device(machine):
    found = doctor(machine(without(AMD, "kfd")))
    assert found["AMD"] == ("no", "no device (/dev/kfd) and /opt/rocm/lib/libamdhip64.so", "") and "AMD kernels" not in found


def test_amd_without_a_render_node(machine):
    found = doctor(machine(without(AMD, "renderD128")))
    assert found["AMD"] == ("no", "a driver (/dev/kfd) and no device (/dev/dri/renderD*)", "in a container: give it /dev/dri as well")
    assert "AMD kernels" not in found


@pytest.mark.parametrize("node", ["kfd", "dri/renderD128"])
def test_amd_of_others(machine, node):
    found = doctor(refusing(machine(AMD), node), NOBODY)
    assert found["AMD"] == ("no", f"a device (/dev/{node}) that you may not use; its group is video", JOIN)
    assert "AMD kernels" not in found


@pytest.mark.parametrize("libraries,text,fix", [
    ([], "no librocprofiler-register.so: kernels are measured through OpenCL, HIP calls show as C functions", "install ROCm 6.2 or later"),
    (["librocprofiler-register.so.0"], "without rocprofiler-sdk calls are measured, and kernels have no times; 0.3 to 0.4 us more a launch, "
     f"measured on a fake device; {UNCONFIRMED}", "install rocprofiler-sdk of the same ROCm"),
    (["librocprofiler-register.so.0", "librocprofiler-sdk.so.1"], "/opt/rocm/lib/librocprofiler-sdk.so.1: kernels, copies and sets; "
     f"0.4 us more a launch, measured on a fake device, and what the SDK takes; {UNCONFIRMED}", ""),
])
def test_rocprofiler(machine, libraries, text, fix):
    found = doctor(machine({**AMD, **{f"/opt/rocm/lib/{name}": "" for name in libraries}}))
    assert found["AMD kernels"] == ("limited", text, fix)
    counters = "sonde run --gpu-counters: each kernel runs alone while it is counted; what may be counted is known when the program runs; "
    assert found.get("AMD counters") == (("limited", counters + UNCONFIRMED, "") if not fix else None)
    assert ("AMD samples" in found) == (len(libraries) == 2)


@pytest.mark.parametrize("value,text,fix", [
    ("", "sonde run --gpu-samples samples no instructions: AMD's beta is off",
     "set ROCPROFILER_PC_SAMPLING_BETA_ENABLED=1, if you accept what AMD warns of: a device may freeze"),
    ("1", f"sonde run --gpu-samples, where the device offers it (MI200 and later); {UNCONFIRMED}", "")])
def test_amds_samples(machine, value, text, fix):
    found = doctor(machine({**AMD, "/opt/rocm/lib/librocprofiler-sdk.so.1": ""}), ROCPROFILER_PC_SAMPLING_BETA_ENABLED=value)
    assert found["AMD samples"] == ("limited", text, fix)


# ---- Intel ----

@pytest.mark.parametrize("files,verdict,text,fix", [
    ({**INTEL, f"{RENDER}/driver": "-> ../../../../bus/pci/drivers/xe"}, "ok", "/dev/dri/renderD128, driver xe", ""),
    (INTEL, "ok", "/dev/dri/renderD128, driver unknown", ""),
    ({f"{RENDER}/vendor": "0x1002\n", "/dev/dri/renderD128": ""}, "no", "no device (/sys/class/drm)", ""),
    (without(INTEL, "renderD128"), "no", "a device of driver unknown, but no /dev/dri/renderD128", "for a container: docker run --device /dev/dri"),
])
def test_intel(machine, files, verdict, text, fix):
    assert doctor(machine(files))["Intel GPU"] == (verdict, text, fix)


def test_intel_of_others(machine):
    found = doctor(refusing(machine(INTEL), "dri/renderD128"), NOBODY)
    assert found["Intel GPU"] == ("no", "a device (/dev/dri/renderD128) that you may not use; its group is video", JOIN)


MEASURED = f"kernels and copies; 0.6 us more a launch, measured on a fake device; {UNCONFIRMED}"


@pytest.mark.parametrize("files,verdict,text,fix", [
    (INTEL, "limited", f"loader 1 ({LIBRARIES}/libze_loader.so.1) with its tracing layer: {MEASURED}", ""),
    ({**without(INTEL, "libze_loader.so.1"), f"{LIBRARIES}/libze_loader.so.1.8.12": "", f"{LIBRARIES}/libze_loader.so.1": "-> libze_loader.so.1.8.12"},
     "limited", f"loader 1.8.12 ({LIBRARIES}/libze_loader.so.1) with its tracing layer: {MEASURED}", ""),
    (without(INTEL, "libze_tracing_layer.so.1"), "no",
     f"{LIBRARIES}/libze_loader.so.1, but no tracing layer (libze_tracing_layer.so.1)", "sudo apt install libze1"),
    (without(INTEL, "libze_intel_gpu.so.1"), "no",
     "a loader with its tracing layer, but no driver (libze_intel_gpu.so.1)",
     "install Intel's driver for Level Zero (intel-level-zero-gpu, or libze-intel-gpu1)"),
    (without(INTEL, "libze_intel_gpu.so.1", "vendor", "renderD128"), "no",
     "a loader with its tracing layer, but no driver (libze_intel_gpu.so.1)", ""),
])
def test_level_zero(machine, files, verdict, text, fix):
    assert doctor(machine(files))["Level Zero"] == (verdict, text, fix)


def test_another_driver_of_level_zero(machine):
    found = doctor(machine(without(INTEL, "libze_intel_gpu.so.1")), ZE_ENABLE_ALT_DRIVERS="/some/driver.so")
    assert found["Level Zero"][0] == "limited"


def test_sycl(machine):
    """Of SYCL nothing is said where there is none."""
    runtime = {f"{LIBRARIES}/libsycl.so": ""}
    assert "SYCL" not in doctor(machine({}))
    assert doctor(machine(runtime))["SYCL"] == (
        "limited", f"{LIBRARIES}/libsycl.so without libxptifw.so: no submissions (--operators exact)", "")
    assert doctor(machine({**runtime, f"{LIBRARIES}/libxptifw.so": ""}))["SYCL"] == (
        "ok", f"{LIBRARIES}/libsycl.so; submissions by --operators exact", "")


# ---- OpenCL, and what has no adapter ----

@pytest.mark.parametrize("files,verdict,text,fix", [
    (OPENCL, "ok", "platforms imagined; the loader has layers; 0.3 to 0.6 us more a launch, measured with PoCL on a processor", ""),
    ({**OPENCL, f"{LIBRARIES}/libOpenCL.so.1": "old"}, "limited",
     f"platforms imagined; the loader {LIBRARIES}/libOpenCL.so.1 has no layers and is too old", "sudo apt install ocl-icd-libopencl1 (2.3 or later)"),
    (without(OPENCL, "imagined.icd"), "no", "a loader, but no platform in /etc/OpenCL/vendors", "sudo apt install pocl-opencl-icd"),
])
def test_opencl(machine, files, verdict, text, fix):
    assert doctor(machine(files))["OpenCL"] == (verdict, text, fix)


def test_opencl_platforms_of_another_folder(machine, tmp_path):
    (tmp_path / "other.icd").touch()
    assert doctor(machine(OPENCL), OCL_ICD_VENDORS=str(tmp_path))["OpenCL"][1].startswith("platforms other;")
    assert doctor(machine(OPENCL), OCL_ICD_VENDORS="/not/there")["OpenCL"][1] == "a loader, but no platform in /not/there"


def test_accelerators_without_an_adapter(machine):
    files = {"/sys/class/accel/accel0/device/driver": "-> ../../bus/pci/drivers/ivpu", "/sys/class/accel/accel1/device/vendor": ""}
    assert doctor(machine(files))["other accelerators"] == (
        "limited", "accel0 (ivpu), accel1 (unknown driver): no adapter; calls of the library that you describe",
        "sonde run --gpu-api FILE (sonde-gpu-api(5))")


# ---- figures ----

@pytest.mark.parametrize("page,figures", [("cuda.md", ["**443**", "**0.83 µs**"]), ("rocm.md", ["some 360 to 430 ns of a launch are Sonde's", "| 396 |", "| 319 |"]),
                                          ("levelzero.md", ["**633**", "**626**"]), ("opencl.md", ["| 288 |", "| 572 |"])])
def test_figures_are_those_that_were_measured(page, figures):
    """What the command says in microseconds stands in the results: whoever measures again changes both."""
    text = (ROOT / "docs/results" / page).read_text()
    assert all(figure in text for figure in figures)
