# SPDX-License-Identifier: Apache-2.0
"""`sonde doctor`: what it says must be so, and it must say no where something is taken away."""
from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import BUILD, SONDE, clean_environment


def checks(sonde, **environment) -> dict[str, dict]:
    result = sonde("doctor", "--format", "json", **environment)
    document = json.loads(result.out)
    assert result.status == (0 if document["can_measure"] else 1)
    for check in document["checks"]:
        assert set(check) == {"group", "name", "verdict", "essential", "text", "fix"}
        assert check["verdict"] in ("ok", "limited", "no") and check["text"]
    return {check["name"]: check for check in document["checks"]}


def test_what_is_here(sonde):
    found = checks(sonde)
    assert platform.release() in found["kernel"]["text"]
    assert found["CPU and real time"]["verdict"] == "ok"
    assert found["libsonde.so"]["verdict"] == "ok" and os.path.exists(found["libsonde.so"]["text"])
    assert found["preloading"]["verdict"] == "ok"
    assert "disk space" in found and "sonde daemon" in found and "sonde push" in found and "NVIDIA" in found and "AMD" in found and "Level Zero" in found


def test_text(sonde):
    result = sonde("doctor", COLUMNS="80")
    for group in ("Collector", "Sampling", "Operating system", "Python", "Devices", "Ranks", "System"):
        assert f"\n{group}\n" in "\n" + result.out
    assert "Sonde can measure here" in result.out


def test_python_on_path(sonde, tmp_path):
    version = subprocess.run(["/usr/bin/python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                             capture_output=True, text=True).stdout.strip()
    assert checks(sonde, PATH="/usr/bin:/bin")[f"Python {version}"]["verdict"] == "ok"
    (tmp_path / "grep").symlink_to(shutil.which("grep"))
    nothing = checks(sonde, PATH=str(tmp_path), HOME=str(tmp_path))
    assert nothing["interpreter"]["verdict"] == "no"


def test_torch_is_found_by_its_files(sonde, tmp_path):
    package = tmp_path / "lib/python3.12/site-packages/torch"
    package.mkdir(parents=True)
    (package / "version.py").write_text("__version__ = '9.8.7+test'\nraise SystemExit('imported')\n")
    assert checks(sonde, VIRTUAL_ENV=str(tmp_path))["PyTorch 9.8.7+test"]["verdict"] == "ok"


def test_mpi_libraries(sonde):
    found = checks(sonde)["MPI"]
    present = [path for path in map(Path, ("/usr/lib/x86_64-linux-gnu/libmpich.so.12", "/usr/lib/x86_64-linux-gnu/libmpi.so.40"))
               if path.exists()]
    assert all(str(path) in found["text"] for path in present)
    assert found["verdict"] == "ok" or not present


def test_missing_collector_is_fatal(tmp_path):
    lonely = tmp_path / "bin/sonde"
    lonely.parent.mkdir()
    shutil.copy(SONDE, lonely)
    done = subprocess.run([lonely, "doctor", "--format", "json"], capture_output=True, text=True,
                          env=clean_environment())
    document = json.loads(done.stdout)
    assert done.returncode == 1 and document["can_measure"] is False
    missing = [check for check in document["checks"] if check["name"] == "libsonde.so"][0]
    assert missing["verdict"] == "no" and missing["fix"]


def test_installed_layout(tmp_path):
    for folder in ("bin", "lib"):
        (tmp_path / folder).mkdir()
    shutil.copy(SONDE, tmp_path / "bin/sonde")
    shutil.copy(BUILD / "src/collect/libsonde.so", tmp_path / "lib/libsonde.so")
    done = subprocess.run([tmp_path / "bin/sonde", "doctor"], capture_output=True, text=True, env=clean_environment())
    assert done.returncode == 0 and str(tmp_path / "lib/libsonde.so") in done.stdout


EXECUTABLE = "3xla4ifrt20PjRtLoadedExecutable"
EXECUTE = f"_ZN{EXECUTABLE}7ExecuteEN4absl4SpanIEEERKNS0_14ExecuteOptionsESt8optionalINS0_18RCReferenceWrapperINS0_10DeviceListEEEE"
KNOWN = [EXECUTE, f"_ZNK{EXECUTABLE}4nameEv"]
THUNK = "_ZN3xla3cpu11KernelThunk7ExecuteERKNS0_5Thunk13ExecuteParamsE"


def made_jaxlib(folder: Path, library: str, functions: list[str], *options: str) -> Path:
    """A jaxlib whose library has these functions, in an environment of its own."""
    package = folder / "lib/python3.12/site-packages/jaxlib"
    package.mkdir(parents=True)
    (package / "version.py").write_text('_version = "9.8.7"\n_release_version: str = "9.8.7"\nraise SystemExit("imported")\n')
    source = "".join(f'static __attribute__((used)) void f{number}(void) __asm__("{name}"); static void f{number}(void) {{}}\n'
                     for number, name in enumerate(functions))
    subprocess.run(["gcc", "-shared", "-fPIC", *options, "-o", package / library, "-xc", "-"], input=source, text=True, check=True)
    return folder


def test_jax_by_the_form_of_its_library(sonde, tmp_path):
    def check(name, library, functions, *options):
        environment = made_jaxlib(tmp_path / name, library, functions, *options)
        found = checks(sonde, VIRTUAL_ENV=str(environment))["JAX 9.8.7"]
        assert str(environment) in found["text"]
        return found["verdict"], found["text"]
    verdict, text = check("all", "libjax_common.so", [*KNOWN, THUNK])
    assert verdict == "ok" and text.endswith("compiled functions as operators, and what they run on CPUs")
    verdict, text = check("before", "xla_extension.so", KNOWN)
    assert verdict == "limited" and "as operators, not what they run on CPUs" in text
    verdict, text = check("old", "xla_extension.so", [EXECUTE.replace("18RCReferenceWrapperINS0_", ""), *KNOWN[1:]])
    assert verdict == "limited" and "Execute is none of the known form" in text
    assert check("unknown", "libjax_common.so", [EXECUTE])[1].count("not as known") == 1
    assert "has no local symbols" in check("stripped", "libjax_common.so", [*KNOWN, THUNK], "-s")[1]
    assert "neither libjax_common.so nor" in check("none", "other.so", KNOWN)[1]


def test_jax_is_missing(sonde, tmp_path):
    found = checks(sonde, PATH=str(tmp_path), HOME=str(tmp_path), VIRTUAL_ENV=str(tmp_path))["JAX"]
    assert found["verdict"] == "no" and found["fix"] == "pip install jax"
