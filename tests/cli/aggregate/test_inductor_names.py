# SPDX-License-Identifier: Apache-2.0
"""Kernels that are called `kernel` in modules of their own get the names by which generated Python calls them.

The modules and the Python are made here as torch.compile makes them; test_torch_compile.py has the real ones."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import program

KERNEL = """
extern "C" void kernel(volatile double *sum, long turns) { for (long i = 0; i < turns; i++) *sum += (double)i * %d; }
"""
GENERATED = """
import ctypes, time
class async_compile:
    @staticmethod
    def cpp(path):
        function = ctypes.CDLL(path).kernel
        function.argtypes = [ctypes.c_void_p, ctypes.c_long]
        return function

cpp_fused_add_0 = async_compile.cpp({one!r})
cpp_fused_mul_sum_1 = async_compile.cpp({two!r})
cpp_fused_mul_sum_2 = async_compile.cpp({two!r})
plain = ctypes.CDLL({three!r}).kernel
plain.argtypes = [ctypes.c_void_p, ctypes.c_long]

def call(buf0):
    cpp_fused_add_0(buf0, 3000000)
    cpp_fused_mul_sum_1(buf0, 3000000)
    cpp_fused_mul_sum_2(buf0, 3000000)
    plain(buf0, 3000000)

buf = (ctypes.c_double * 1)()
end = time.process_time() + 3
while time.process_time() < end:
    call(ctypes.addressof(buf))
"""


def test_kernels_have_the_names_that_python_calls(tmp_path: Path) -> None:
    modules = {}
    for number, name in enumerate(("one", "two", "three")):
        (tmp_path / f"{name}.cpp").write_text(KERNEL % (number + 2))
        modules[name] = str(tmp_path / f"{name}.main.so")
        subprocess.run(["c++", "-O1", "-g", "-shared", "-fPIC", "-o", modules[name], tmp_path / f"{name}.cpp"], check=True)
    generated = tmp_path / "generated.py"
    generated.write_text(GENERATED.format(**modules))
    program.run(tmp_path, sys.executable, generated, options=("-F", "499"))
    found: dict[str, set[str]] = {}
    for frames, value in program.paths(tmp_path):
        for frame in frames:
            if frame["kind"] == "native" and Path(frame["module"] or "").name.endswith(".main.so"):
                found.setdefault(Path(frame["module"]).name, set()).add(frame["name"])
    assert found == {"one.main.so": {"cpp_fused_add_0"}, "two.main.so": {"cpp_fused_mul_sum_1, cpp_fused_mul_sum_2"},
                     "three.main.so": {"kernel"}}
    shown = program.sonde("report", tmp_path / "run.sdb", "--where", "cpp_fused_mul", "--view", "flat", "--full")
    assert "cpp_fused_mul_sum_1" in shown and "cpp_fused_add_0" not in shown
    # without the Python they are what the symbols say
    generated.unlink()
    program.sonde("analyze", tmp_path / "run.sonde", "-o", tmp_path / "later.sdb")
    assert "cpp_fused" not in program.sonde("report", tmp_path / "later.sdb", "--view", "flat", "--full")
