# SPDX-License-Identifier: Apache-2.0
"""Nothing unsafe is reached from the sample handler: programs run under the library with the checker."""
from __future__ import annotations

from pathlib import Path

import pytest

import program

CHECKED = program.BUILD / "src/collect/libsonde-checked.so"
ENVIRONMENT = {"SONDE_LIBRARY": str(CHECKED)}


def test_the_checker_can_fail(tmp_path: Path) -> None:
    done = program.run(tmp_path, program.compiled("collect/hostile.c"), "failed-exec", options=("-F", "997"), check=-9,
                       environment={**ENVIRONMENT, "SONDE_SIGNAL_CHECK_FAILS": "1"})
    assert "not async-signal-safe, called from a handler: malloc" in done.stderr


@pytest.mark.parametrize("name", ["failed-exec", "many-threads", "thread-ends", "fork-tree", "waits", "own-fault-handler"])
def test_c_programs(tmp_path: Path, name: str) -> None:
    done = program.run(tmp_path, program.compiled("collect/hostile.c"), name, environment=ENVIRONMENT,
                       options=("-e", "cpu-time@5000,page-faults@10,real-time", "--checkpoint", "0.02", "--shadow"))
    assert done.stderr == ""


def test_python(tmp_path: Path) -> None:
    source = """
import sys, threading, json, re, decimal, asyncio
def work(n):
    for i in range(n):
        json.loads(json.dumps({'a': [1, 2, {'b': str(i)}]})); re.compile('a' + str(i)); decimal.Decimal(i).sqrt()
async def co():
    for _ in range(50):
        work(5); await asyncio.sleep(0)
threads = [threading.Thread(target=work, args=(800,)) for _ in range(3)]
[t.start() for t in threads]
asyncio.run(co())
[t.join() for t in threads]
"""
    done = program.run(tmp_path, "/usr/bin/python3", "-c", source, environment=ENVIRONMENT,
                       options=("-F", "5000", "--checkpoint", "0.02"))
    assert done.stderr == ""


def test_pytorch(tmp_path: Path) -> None:
    import subprocess
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode:
        pytest.skip("no PyTorch for /usr/bin/python3")
    source = """
import torch
m = torch.nn.Linear(8, 8); o = torch.optim.SGD(m.parameters(), 0.1)
for _ in range(400):
    o.zero_grad(); m(torch.ones(4, 8)).sum().backward(); o.step()
"""
    done = program.run(tmp_path, "/usr/bin/python3", "-c", source, environment=ENVIRONMENT,
                       options=("-F", "2000", "--checkpoint", "0.05"))
    assert done.stderr == ""
