#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sonde import` of long traces of Nsight Systems (SQLite), beside pandas.

    bench/nsys_import.py BUILD TRACES FOLDER [--millions N] [--repeat N]

The rows are those of bench/variability_rows.py with the same N: kernels, copies and fills of a device, N million of each of four devices. Each is written with all
columns that a row of the same operation has in the real trace of TRACES, but its own times and number, into a copy of that file that has no
other events. The least of the repeats counts, all ways in turns. pandas reads the same three tables and the texts, and puts the names to the rows. That the
imported databases have the kernels of the first ones, with the same durations, is checked. Needs pandas, and the Python package of BUILD.
"""
from __future__ import annotations

import argparse
import heapq
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
from variability_model import COPIES
from variability_rows import make, measure

TABLES = {"kernel": "CUPTI_ACTIVITY_KIND_KERNEL", "copy": "CUPTI_ACTIVITY_KIND_MEMCPY", "fill": "CUPTI_ACTIVITY_KIND_MEMSET"}
BEGIN_NS = 1_700_000_000_000_000_000  # of bench-launches; a session's times count from its start
SIZES = ["grid.x", "grid.y", "grid.z", "block.x", "block.y", "block.z", "shared memory", "registers per thread"]
PANDAS = """
import sqlite3, sys
import pandas
for path in sys.argv[1:]:
    file = sqlite3.connect(path)
    texts = pandas.read_sql_query("SELECT id, value FROM StringIds", file).set_index("id")["value"]
    kernels = pandas.read_sql_query("SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL", file)
    kernels["name"] = kernels["demangledName"].map(texts)
    print(len(kernels) + sum(len(pandas.read_sql_query(f"SELECT * FROM CUPTI_ACTIVITY_KIND_{table}", file)) for table in ("MEMCPY", "MEMSET")))
"""


def real_rows(file: sqlite3.Connection, device: int) -> dict[tuple, tuple[str, list]]:
    """Of each operation its table and a row."""
    texts = dict(file.execute("SELECT id, value FROM StringIds"))
    rows: dict[tuple, tuple[str, list]] = {}
    for kind, table in TABLES.items():
        for row in file.execute(f"SELECT * FROM {table} WHERE deviceId = ?", (device,)):
            if kind == "kernel":
                sizes = (*(row[size] for size in ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ")), row["staticSharedMemory"] + row["dynamicSharedMemory"],
                         row["registersPerThread"])
                key = (row["streamId"], texts[row["demangledName"]], *sizes)
            else:
                name = f"[CUDA memcpy {COPIES.get(row['copyKind'], 'Unknown')}]" if kind == "copy" else "[CUDA memset]"
                key = (row["streamId"], name, row["bytes"])
            rows[key] = (table, list(row))
    return rows


def track_rows(database, track, real: dict[tuple, tuple[str, list]]):
    """(start, end, table, row) of a stream."""
    stream = track.profile.stream
    names: dict[int, str] = {}
    for block in track.blocks():
        sizes = [block.attributes.get(size, [None] * len(block)) for size in (*SIZES, "bytes")]
        for start, end, context, *values in zip(block.start_ns, block.end_ns, block.context, *sizes, strict=True):
            if context not in names:
                names[context] = database.contexts[context].name
            yield int(start), int(end), *real[stream, names[context], *(value for value in values if value is not None)]


def make_file(trace: Path, device: int, database: Path) -> Path:
    import sonde

    made = database.with_suffix(".sqlite")
    if made.exists():
        return made
    part = made.with_suffix(".part")
    shutil.copyfile(trace, part)
    part.chmod(0o644)
    file = sqlite3.connect(part)
    file.row_factory = sqlite3.Row
    real = real_rows(file, device)
    for (table,) in list(map(tuple, file.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))):
        if table.startswith("CUPTI_ACTIVITY_KIND_") or table.endswith("_EVENTS"):
            file.execute(f"DELETE FROM {table}")
    columns = {table: [column[1] for column in file.execute(f"PRAGMA table_info({table})")] for table in TABLES.values()}
    waiting: dict[str, list] = {table: [] for table in TABLES.values()}

    def write(table: str) -> None:
        file.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns[table]))})", waiting[table])
        waiting[table].clear()

    number = {table: columns[table].index("correlationId") for table in columns}
    opened, last_ns = sonde.open(database), 0
    for count, (start, end, table, row) in enumerate(heapq.merge(*(track_rows(opened, track, real) for track in opened.tracks), key=lambda row: row[:2])):
        values = row.copy()
        values[0], values[1], values[number[table]] = start - BEGIN_NS, end - BEGIN_NS, count + 1
        last_ns = max(last_ns, values[1])
        waiting[table].append(values)
        if len(waiting[table]) == 100000:
            write(table)
    for table in waiting:
        write(table)
    file.execute("UPDATE ANALYSIS_DETAILS SET stopTime = ?, duration = ?", (last_ns, last_ns))
    file.commit()
    file.close()
    part.rename(made)
    return made


def kernels(build: Path, database: Path) -> list[dict]:
    done = subprocess.run([build / "src/cmd/sonde", "variability", database, "--format", "json"], capture_output=True, check=True)
    keys = ("name", "configuration", "count", "mean_ns", "std_ns", "p50", "p99", "outliers")
    return [{key: one[key] for key in keys} for one in json.loads(done.stdout)["kernels"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("traces", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--millions", type=float, default=2.5)
    parser.add_argument("--repeat", type=int, default=2)
    arguments = parser.parse_args()
    databases = make(arguments.build, arguments.traces, arguments.folder, arguments.millions)
    traces = sorted(arguments.traces.glob("*.sqlite"))
    files = [make_file(traces[number // 2], number % 2, database) for number, database in enumerate(databases)]
    imported = arguments.folder / "imported.sdb"
    ways = {"sonde import, 1 thread": [[str(arguments.build / "src/cmd/sonde"), "import", str(file), "-o", str(imported), "-j", "1"] for file in files],
            "pandas": [[sys.executable, "-c", PANDAS, str(file)] for file in files]}
    best: dict[str, dict[str, float]] = {}
    for _ in range(arguments.repeat):
        for way, commands in ways.items():
            found = {"time": 0.0, "processor": 0.0, "memory": 0.0}
            for file, command in zip(files, commands, strict=True):
                one, _output = measure(command)
                found = {"time": found["time"] + one["time"], "processor": found["processor"] + one["processor"], "memory": max(found["memory"], one["memory"])}
            best[way] = {key: min(value, best.get(way, found)[key]) for key, value in found.items()}
    for file, database in zip(files, databases, strict=True):
        subprocess.run([arguments.build / "src/cmd/sonde", "import", file, "-o", imported], check=True, capture_output=True)
        if kernels(arguments.build, imported) != kernels(arguments.build, database):
            sys.exit(f"{file}: the imported kernels differ from those that were written")
    rows = 4 * arguments.millions * 1e6
    size = sum(file.stat().st_size for file in files)
    print(f"{len(files)} files of {arguments.millions:g} million rows, {size / 2**20:,.0f} MiB, load {os.getloadavg()[0]:.1f}\n")
    print("| | time s | processor s | rows/s | rows/s of processor time | peak MiB |\n|---|---|---|---|---|---|")
    for way, one in best.items():
        print(f"| {way} | {one['time']:.1f} | {one['processor']:.1f} | {rows / one['time']:,.0f} | {rows / one['processor']:,.0f} | {one['memory']:.0f} |")


if __name__ == "__main__":
    main()
