# SPDX-License-Identifier: Apache-2.0
"""What following PyTorch's operators costs a training, measured inside one process.

Callbacks are switched off and on again every few steps (torch.autograd._enable_record_function, which holds for all of them), some
hundred times, so that others who use the machine disturb both alike. Printed for each variant is the median over neighbouring pairs of
the ratio of CPU time with them to that without, less one, in percent, with quartiles. What Sonde does apart from callbacks (two
functions for each autograd node) is in both and not in the figure.

	[chrt -f 20] python3 bench/torch_switched.py [--python PYTHON] [--pairs N] [MODEL...]
"""
from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SONDE_BUILD", ROOT / "build")).resolve()
TRACE = {"SONDE_EVENTS": "none", "SONDE_TRACE": "operators"}
VARIANTS = {
    "nodes over time": {**TRACE, "SONDE_OPERATORS": "nodes"},
    "all operators over time": {**TRACE, "SONDE_OPERATORS": "exact"},
    "graph": {"SONDE_EVENTS": "none", "SONDE_GRAPH": "1"},
    "graph, all iterations": {"SONDE_EVENTS": "none", "SONDE_GRAPH": "all"},
    "torch.profiler": None,
}
STEPS = {"autoencoder": 4, "cnn": 1, "tiny": 40}


def worker(model: str, variant: str, pairs: int) -> None:
    sys.path.insert(0, str(ROOT / "bench"))
    sys.path.insert(0, str(ROOT / "tests/workloads"))
    sys.argv = ["", model]
    import trace_training as programs
    import torch

    torch.manual_seed(1)
    torch.set_num_threads(1)
    if model == "tiny":
        import train_tiny
        run = train_tiny.Training().run
    else:
        net, x, y = getattr(programs, model)()
        optimizer = torch.optim.Adam(net.parameters())

        def run(steps: int) -> None:
            programs.train(net, x, y, steps, optimizer)

    run(40)
    with contextlib.ExitStack() as stack:
        if variant == "torch.profiler":
            stack.enter_context(torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]))
        # of a graph the first iterations are the dearest; what comes after them is measured
        run(300 if "graph" in variant else 20)
        ratios, times = [], []
        for number in range(pairs):
            pair = {}
            for is_on in (True, False) if number % 2 else (False, True):
                torch.autograd._enable_record_function(is_on)
                run(1)
                start = time.thread_time_ns()
                run(STEPS[model])
                pair[is_on] = time.thread_time_ns() - start
            ratios.append(pair[True] / pair[False])
            times.append(pair[False] / STEPS[model])
        torch.autograd._enable_record_function(True)
    print(statistics.median(times) / 1e3, *(100 * (ratio - 1) for ratio in statistics.quantiles(ratios, n=4)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("models", nargs="*", help="of autoencoder, cnn, tiny")
    options = parser.parse_args()
    if options.worker:
        worker(*options.worker, options.pairs)
        return
    for model in options.models or STEPS:
        for variant, settings in VARIANTS.items():
            with tempfile.TemporaryDirectory() as folder:
                environment = dict(os.environ)
                if settings is not None:
                    environment |= {"LD_PRELOAD": str(BUILD / "src/collect/libsonde.so"), "SONDE_OUTPUT": folder, **settings}
                done = subprocess.run([options.python, __file__, "--pairs", str(options.pairs), "--worker", model, variant],
                                      env=environment, capture_output=True, text=True, check=True)
            step, low, middle, high = map(float, done.stdout.split()[-4:])
            print(f"{model:12} {variant:24} {middle:+6.1f} %  ({low:+.1f} to {high:+.1f}) of {step:8.1f} us a step", flush=True)


if __name__ == "__main__":
    main()
