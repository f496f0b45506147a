#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sonde daemon` for hours under a mixed load (compilers, Python, a database, short processes), killed by signal 9 at random moments and started again.

After each kill the store must be readable, and hold all samples that the daemon had said were stored; at the end it must not have lost a flush, and neither the daemon's memory nor
its descriptors may have grown. Prints a line for each life, and a verdict; exit status 1 if something was wrong. As root.

Usage: daemon_soak.py [--minutes N] [--seed N] [--rate HZ] [--callers HZ]
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time

import daemon as bench

LOADS = [
    ["bash", "-c", "cd {folder}; while :; do for i in $(seq 0 39); do gcc -O2 small$i.c -o small$i; ./small$i >/dev/null; done; done"],
    ["/usr/bin/python3", "-c", "import time\nwhile True:\n    d = {{i: str(i) for i in range(200000)}}\n    time.sleep(0.05)"],
    ["bash", "-c", "while :; do /bin/true; sleep 0.001; done"],
    ["bash", "-c", "while :; do cp /bin/ls {folder}/copy$RANDOM; for file in {folder}/copy*; do $file / >/dev/null; rm -f $file; done; done"],
]
DATABASE = ["bash", "-c", "while :; do sqlite3 :memory: 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT sum(i * i % 7) FROM n;' >/dev/null; sleep 0.1; done"]


def samples_of(store: pathlib.Path) -> int:
    done = subprocess.run([bench.SONDE, "info", store, "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"the store cannot be read: {done.stderr}")
    return json.loads(done.stdout)["samples"]


def life(store: pathlib.Path, seconds: float, rate: int, callers: int) -> dict:
    """Starts a daemon, kills it after that time, and tells what it had said before."""
    subprocess.run([bench.SONDE, "daemon", "start", "-q", "--store", store, "-F", str(rate), "--callers", str(callers), "--flush", "10", "--epoch", "2", "--cost", "100"], check=True)
    end, status, pid = time.monotonic() + seconds, {}, 0
    while time.monotonic() < end:
        time.sleep(min(5, max(0.01, end - time.monotonic())))
        status = bench.ask(store, "status")
        pid = status["pid"]
        status["descriptors"] = len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))
    os.kill(pid, signal.SIGKILL)
    while pathlib.Path(f"/proc/{pid}/exe").exists():
        time.sleep(0.01)
    return status


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--callers", type=int, default=20)
    options = parser.parse_args()
    random.seed(options.seed)
    stored, wrong, peaks = 0, 0, []
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        bench.build(folder)
        for command in [*LOADS, DATABASE]:
            words = [word.format(folder=folder) if command is not DATABASE else word for word in command]
            process = stack.enter_context(subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            stack.callback(os.killpg, process.pid, signal.SIGKILL)
        end = time.monotonic() + options.minutes * 60
        while time.monotonic() < end:
            status = life(folder / "store", random.uniform(3, 90), options.rate, options.callers)
            before, stored = stored, samples_of(folder / "store")
            own, samples = status["own"], status["samples"]
            # what it had said was stored is there; a flush may have come between its last answer and its end
            is_whole = before + samples["stored"] <= stored
            wrong += not is_whole
            peaks.append(own["resident_bytes"])
            print(f"{own['watched_ns'] / 1e9:5.0f} s: {samples['taken']:,} taken, {samples['stored']:,} stored, lost {sum(status['lost'].values())}, {own['resident_bytes'] / 2**20:.1f} MiB, "
                  f"{status['descriptors']} descriptors, {100 * own['cpu_ns'] / own['watched_ns']:.2f} % of a processor; the store has {stored:,}{'' if is_whole else ' WRONG'}", flush=True)
        size = sum(path.stat().st_size for path in (folder / "store").iterdir() if path.is_file())
    print(f"{len(peaks)} lives, {stored:,} samples in {size:,} bytes; at most {max(peaks) / 2**20:.1f} MiB; {wrong} times something was missing")
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
