# SPDX-License-Identifier: Apache-2.0
"""What following PyTorch's operators costs a training, measured inside one process.

All that Sonde does is switched off and on again every few steps, some hundred times, so that others who use the machine disturb both
alike: PyTorch's callbacks (torch.autograd._enable_record_function), and in the loaded libsonde.so the two switches that its functions
around autograd nodes and around the announcing of operators look at. What is left when it is off is a jump for each of their calls.
A "floor" is a library that registers the same callbacks for the same operators and does nothing in them (bench/torch_floor.c): what
PyTorch itself costs once anybody listens.

Printed for each variant: the median over neighbouring pairs of the ratio of CPU time with to that without, less one, in percent, with
quartiles, over all rounds, each a process of its own; the same of the difference, in microseconds a step and in nanoseconds for each
node (the operators that the program calls itself, and autograd nodes) or, where all are announced, each operator.

	[chrt -f 20] python3 bench/torch_switched.py [--python PYTHON] [--pairs N] [--rounds N] [--variant NAME]... [MODEL[:BATCH]...]
"""
from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SONDE_BUILD", ROOT / "build")).resolve()
LIBRARY = BUILD / "src/collect/libsonde.so"
FLOOR = BUILD / "bench/libtorch-floor.so"
NONE = {"SONDE_EVENTS": "none"}
TRACE = {**NONE, "SONDE_TRACE": "operators"}
VARIANTS: dict[str, dict[str, str] | int | None] = {
    "floor of nodes": 0,
    "nodes over time": {**TRACE, "SONDE_OPERATORS": "nodes"},
    "graph": {**NONE, "SONDE_GRAPH": "1"},
    "floor of all operators": 1,
    "all operators over time": {**TRACE, "SONDE_OPERATORS": "exact"},
    "floor with tensors": 2,
    "graph, all iterations": {**NONE, "SONDE_GRAPH": "all"},
    "all user": {**NONE, "SONDE_TRACE": "default", "SONDE_OPERATORS": "nodes"},
    "autograd contexts alone": NONE,
    "torch.profiler": None,
}
STEPS = {"autoencoder": 4, "cnn": 1, "tiny": 40}
# static variables of libsonde.so: whether operators are announced as wanted, and whether autograd nodes are followed
SWITCHES = ("is_known", "sn_torch_duties")


def sonde_switch() -> Callable[[bool], None]:
    symbols: dict[str, list[int]] = {}
    listed = subprocess.run(["nm", LIBRARY], capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"]})
    for line in listed.stdout.splitlines():
        *address, _, name = line.split()
        if name in SWITCHES and address:
            symbols.setdefault(name, []).append(int(address[0], 16))
    start = min(int(line.split("-")[0], 16) for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(str(LIBRARY)))
    if any(len(addresses) != 1 for addresses in symbols.values()) or len(symbols) != len(SWITCHES):
        sys.exit("these variables are not in libsonde.so, or not once")
    places = [ctypes.c_ubyte.from_address(start + symbols[name][0]) for name in SWITCHES]
    values = [place.value for place in places]

    def switch(is_on: bool) -> None:
        for place, value in zip(places, values):
            place.value = value if is_on else 0
    return switch


def floor_switch(which: int) -> Callable[[bool], None]:
    library = ctypes.CDLL(str(FLOOR))
    if library.torch_floor_start(which):
        sys.exit("PyTorch answers otherwise than this knows")
    on = ctypes.c_int.in_dll(library, "torch_floor_on")

    def switch(is_on: bool) -> None:
        on.value = is_on
    return switch


def worker(model: str, variant: str, pairs: int) -> None:
    sys.path.insert(0, str(ROOT / "bench"))
    sys.path.insert(0, str(ROOT / "tests/workloads"))
    model, _, batch = model.partition(":")
    sys.argv = ["", model]
    import trace_training as programs
    import torch

    torch.manual_seed(1)
    torch.set_num_threads(1)
    if model == "tiny":
        import train_tiny
        run = train_tiny.Training().run
    else:
        net, x, y = getattr(programs, model)(*([int(batch)] if batch else []))
        optimizer = torch.optim.Adam(net.parameters())

        def run(steps: int) -> None:
            programs.train(net, x, y, steps, optimizer)

    settings, events = VARIANTS[variant], 0.0
    run(10)
    with contextlib.ExitStack() as stack:
        switch: Callable[[bool], None] = lambda is_on: None
        if settings is None:
            stack.enter_context(torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]))
        elif isinstance(settings, int):
            switch = floor_switch(settings)
            switch(True)
            count = ctypes.c_uint64.in_dll(ctypes.CDLL(str(FLOOR)), "torch_floor_count")
            before = count.value
            run(20)
            events = (count.value - before) / 20
        else:
            switch = sonde_switch()
        # of a graph the first iterations are the dearest; what comes after them is measured
        run(300 if "graph" in variant and not batch else 60)
        for number in range(pairs):
            pair = {}
            for is_on in (True, False) if number % 2 else (False, True):
                torch.autograd._enable_record_function(is_on)
                switch(is_on)
                run(1)
                start = time.thread_time_ns()
                run(STEPS[model])
                pair[is_on] = time.thread_time_ns() - start
            print("pair", pair[False] / STEPS[model], pair[True] / STEPS[model], events)
        switch(True)
        torch.autograd._enable_record_function(True)


def measured(python: str, model: str, variant: str, pairs: int) -> list[list[float]]:
    settings = VARIANTS[variant]
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ)
        if isinstance(settings, int):
            environment["LD_PRELOAD"] = str(FLOOR)
        elif settings is not None:
            environment |= {"LD_PRELOAD": str(LIBRARY), "SONDE_OUTPUT": folder, **settings}
        done = subprocess.run([python, __file__, "--pairs", str(pairs), "--worker", model, variant],
                              env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip() or f"{variant} failed")
    return [[float(word) for word in line.split()[1:]] for line in done.stdout.splitlines() if line.startswith("pair ")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--variant", action="append", choices=VARIANTS, help="only these")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("models", nargs="*", help="of autoencoder, cnn, tiny; with a batch size: autoencoder:512")
    options = parser.parse_args()
    if options.worker:
        worker(*options.worker, options.pairs)
        return
    for model in options.models or STEPS:
        pairs: dict[str, list[list[float]]] = {}
        variants = options.variant or list(VARIANTS)
        for _ in range(options.rounds):
            for variant in variants:
                pairs.setdefault(variant, []).extend(measured(options.python, model, variant, options.pairs))
        counts = {VARIANTS[variant]: values[0][2] for variant, values in pairs.items() if isinstance(VARIANTS[variant], int)}
        for variant, values in pairs.items():
            low, middle, high = statistics.quantiles([100 * (on / off - 1) for off, on, _ in values], n=4)
            step = statistics.median(off for off, _, _ in values) / 1e3
            more = statistics.median(on - off for off, on, _ in values) / 1e3
            of_all = "all op" in variant or variant == "torch.profiler"
            count = counts.get(1 if of_all else 0, counts.get(2, 0.0))
            each = f"{1e3 * more / count:6.0f} ns for each of {count:.0f}" if count else ""
            print(f"{model:12} {variant:24} {middle:+6.2f} %  ({low:+.1f} to {high:+.1f}) of {step:8.1f} us a step, {more:7.1f} us {each}",
                  flush=True)


if __name__ == "__main__":
    main()
