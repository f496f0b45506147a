# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs of several processes: each one is there, with what it did and its rank; none hangs.

Runs with every PyTorch that test_torch.py finds.
"""
from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest

import measured
from test_torch import python, version  # noqa: F401 (a fixture)

WORKLOAD = measured.ROOT / "tests/workloads/torch/torch_processes.py"
BACKWARD = 8
STEPS, ITEMS, EPOCHS = 6, 12, 2


def line_of(mark: str) -> int:
    for number, line in enumerate(WORKLOAD.read_text().splitlines(), 1):
        if line.endswith(f"# here: {mark}"):
            return number
    raise KeyError(mark)


def start(case: str) -> list[str]:
    """Arguments of the interpreter."""
    if case == "torchrun":
        return ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", str(WORKLOAD), "ddp"]
    return [str(WORKLOAD), case]


# What gloo's threads end a rank with now and then when the other one is gone first, measured or not.
PYTORCHS_OWN = "terminate called without an active exception"


def run(python: str, case: str, folder: Path | None = None, **more: str) -> subprocess.CompletedProcess:
    # the interpreter's own threads of numerical libraries would make no difference but noise
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **more}
    for _ in range(5):
        done = subprocess.run([python, *start(case)], env=environment, capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL)
        if not done.returncode or PYTORCHS_OWN not in done.stderr:
            break
        for path in folder.glob("*") if folder else ():
            path.unlink()
    return done


@lru_cache
def alone(python: str, case: str) -> str:
    done = run(python, case)
    if done.returncode and case == "torchrun":
        pytest.skip(f"torchrun of PyTorch {version(python)} does not work here: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return done.stdout


def measure(python: str, case: str, folder: Path) -> list[measured.Measurement]:
    """What each process of the program measured; the program's output is as without."""
    expected = alone(python, case)
    done = run(python, case, folder, **measured.environment(folder, SONDE_OPERATORS="exact", SONDE_CALL_PATH="python,operator"))
    assert (done.returncode, done.stdout) == (0, expected), done.stderr
    found = [measured.read(path) for path in sorted(folder.glob("*.sonde-process"))]
    assert len({process.properties["pid"] for process in found}) == len(found)
    # every one of them came to its end in order, or was ended by its parent as without us
    assert all("exit" in process.properties for process in found), [p.properties for p in found]
    return found


def counted(process: measured.Measurement, function: str) -> Counter:
    """How often each operator ran under a function of the workload: by its path from there on."""
    result: Counter = Counter()
    for context in process.contexts:
        if "operator-time" not in context.values:
            continue
        steps = []
        for frame in context.path:
            if frame.kind == "python" and frame.file == str(WORKLOAD):
                steps.append(f"{frame.name.rpartition('.')[2]}:{frame.line}")
            elif frame.kind == "operator":
                steps.append(("~" if frame.flags & BACKWARD else "") + frame.name)
        begins = next((i for i, step in enumerate(steps) if step.startswith(f"{function}:")), None)
        if begins is not None:
            result[tuple(steps[begins:])] += context.values["operator-time"].count
    return result


def by_name(paths: Counter) -> Counter:
    result: Counter = Counter()
    for path, count in paths.items():
        result[path[-1].lstrip("~")] += count
    return result


def ending(paths: Counter, *tail: str) -> int:
    return sum(count for path, count in paths.items() if path[-len(tail):] == tail)


PROFILED: dict[str, dict[int, Counter]] = {}


def profiled(python: str, folder: Path) -> dict[int, Counter]:
    """What torch.profiler counts in each rank, of PyTorch's own operators and autograd nodes."""
    if python not in PROFILED:
        PROFILED[python] = count_into(python, folder)
    return PROFILED[python]


def count_into(python: str, folder: Path) -> dict[int, Counter]:
    folder.mkdir()
    done = run(python, "ddp-spawn", folder, COUNT_INTO=str(folder))
    assert done.returncode == 0, done.stderr
    return {rank: Counter({name: count for name, count in json.loads((folder / f"rank {rank}").read_text()).items()
                           if name.startswith("aten::") or name.endswith(("Backward0", "AccumulateGrad"))
                           and not name.startswith("autograd::engine")})
            for rank in (0, 1)}


def check_top(case: str, process: measured.Measurement) -> None:
    """A rank that torchrun starts has its main program at the top; one that the program starts stands below that line."""
    for context in process.contexts:
        python = [frame for frame in context.path if frame.kind == "python"]
        if any(frame.name == "rank_of_two" for frame in python):
            outer = [frame.name for frame in python[:next(i for i, f in enumerate(python) if f.name == "rank_of_two")]]
            assert (python[0].file, python[0].name) == (str(WORKLOAD), "<module>"), outer
            assert outer == ["<module>", "ddp"] if case == "torchrun" else outer[:2] == ["<module>", "ddp_spawn"], outer


@pytest.mark.parametrize("case", ["torchrun", "ddp-spawn"])
def test_distributed_training(python, case, tmp_path):
    if version(python).startswith("1."):
        # ~ProcessGroupGloo joins a thread that waits for the interpreter's lock, which it holds: one run in nine
        pytest.skip("PyTorch 1 can deadlock at the end of this, measured or not")
    processes = measure(python, case, tmp_path / "measured")
    expected = profiled(python, tmp_path / "counted")
    ranks: dict[int, Counter] = {}
    for process in processes:
        paths = counted(process, "measured")
        by_rank = ending(paths, f"measured:{line_of('by rank')}", "aten::sigmoid")
        if by_rank:
            ranks[by_rank - 1] = paths
            check_top(case, process)
            # a launcher tells its processes their rank, multiprocessing does not
            assert process.properties.get("rank") == (str(by_rank - 1) if case == "torchrun" else None)
    assert ranks.keys() == {0, 1}
    for rank, paths in ranks.items():
        counts = by_name(paths)
        assert {name: counts[name] for name in expected[rank]} == expected[rank]
        forward, backward = f"model:{line_of('forward')}", f"measured:{line_of('backward')}"
        for operator, node in (("aten::tanh", "~TanhBackward0"), ("aten::sum", "~SumBackward0"),
                               ("aten::addmm", "~AddmmBackward0")):
            tail = (forward, *(["aten::linear"] if operator == "aten::addmm" else []), operator)
            assert ending(paths, backward, *tail) == STEPS
            assert ending(paths, backward, *tail, node) == STEPS
        assert sum(process.drops.get("forward-unknown", 0) for process in processes) == 0


@pytest.mark.parametrize("case,workers", [("loader-fork", 2 * EPOCHS), ("loader-spawn", 2)])
def test_data_loader(python, case, workers, tmp_path):
    processes = measure(python, case, tmp_path / "measured")
    items = [ending(counted(process, "__getitem__"), f"__getitem__:{line_of('item')}", "aten::sinh")
             for process in processes]
    # each worker its share of the items, two operators for each
    assert sorted(count for count in items if count) == [2 * ITEMS * EPOCHS // workers] * workers
    main = [counted(process, "load") for process, count in zip(processes, items) if not count]
    main = [paths for paths in main if paths]
    assert len(main) == 1
    line = f"load:{line_of('main')}"
    batches = EPOCHS * ITEMS // 3
    assert ending(main[0], line, "aten::cosh") == ending(main[0], line, "aten::cosh", "~CoshBackward0") == batches
    assert by_name(main[0])["aten::sinh"] == batches  # of cosh's backward
