# SPDX-License-Identifier: Apache-2.0
"""Python frames that `sonde record` writes beside samples, joined with their native paths."""
from __future__ import annotations

import struct

import pytest

from test_import_nsys import imported, info, report

PID, TID = 40, 41
USER = 2**64 - 512
EVAL, INTERPRETER, OTHER, LIBC = 0x1250, 0x1400, 0x5010, 0x8010
CODES = ["outer", "middle", "inner"]


def record_of(kind: int, misc: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def frames_of(time: int, frames: list[tuple[int, int, int]], tid: int = TID) -> bytes:
    """Number of the code, line, whether it is the outermost of its native call; innermost first."""
    return record_of(0x534e0003, 0, struct.pack("<IIQQ", PID, tid, time, len(frames)) + b"".join(struct.pack("<III", *frame) for frame in frames))


def recording(samples: dict[int, list[int]], *more: bytes, python: bytes = b"/nowhere/bin/python3.11") -> bytes:
    """Samples of cpu-clock by time, each with its addresses, innermost first, in a process whose code is python3.11, other.so and libc."""
    kind = 1 << 16 | 1 | 2 | 4 | 1 << 8 | 1 << 5
    attr = struct.pack("<IIQQQQQ", 1, 112, 0, 1000, kind, 0, 1 << 18).ljust(112, b"\0")

    def tail(time: int) -> bytes:
        return struct.pack("<IIQQ", PID, TID, time, 5)

    def mapping(start: int, path: bytes) -> bytes:
        return record_of(1, 2, struct.pack("<IIQQQ", PID, PID, start, 0x1000, 0) + path.ljust(-(-(len(path) + 1) // 8) * 8, b"\0") + tail(0))

    records = [record_of(64, 0, attr), record_of(3, 0, struct.pack("<II", PID, TID) + b"made\0\0\0\0" + tail(0)),
               mapping(0x1000, python), mapping(0x5000, b"/nowhere/lib/other.so"), mapping(0x8000, b"/nowhere/lib/libc.so.6")]
    for time, chain in samples.items():
        records.append(record_of(9, 2, struct.pack("<QQIIQQ", 5, chain[0], PID, TID, time, 1000)
                                 + struct.pack(f"<Q{len(chain) + 1}Q", len(chain) + 1, USER, *chain)))
    records.append(record_of(0x534e0001, 0, struct.pack("<QQQQ", PID, 0x1200, 0x100, 0)))
    for number, name in enumerate(CODES):
        file = b"/nowhere/program.py"
        records.append(record_of(0x534e0002, 0, struct.pack("<IIII", number, 10 * number + 1, len(file), len(name)) + file + name.encode()))
    return b"PERFILE2" + struct.pack("<Q", 16) + b"".join([*records, *more])


# outer calls middle, which calls a native function that calls inner
TWO_GROUPS = [(2, 21, 1), (1, 15, 0), (0, 3, 1)]


def path_of(sonde, folder, chain: list[int], *frames: bytes) -> list[str]:
    """The names on the only path, outermost first."""
    (folder / "made.data").write_bytes(recording({100: chain}, *frames))
    database = imported(sonde, folder, folder / "made.data")
    rows = [row for row in report(sonde, database, "--metric", "cpu-clock") if row["kind"] in ("native", "python")]
    assert rows[-1]["values"]["cpu-clock"]["exclusive"]["count"] == 1
    assert [row["depth"] for row in rows] == list(range(rows[0]["depth"], rows[0]["depth"] + len(rows)))
    return [f"{row['name']}:{row['line']}" if row["kind"] == "python" else row["name"] for row in rows]


PYTHON = ["outer:3", "middle:15", "inner:21"]


@pytest.mark.parametrize("chain, names", [
    # what started the interpreter, and what is between two calls of its loop, is left out; what a line was doing is kept
    ([OTHER, EVAL, INTERPRETER, EVAL, INTERPRETER, LIBC], [*PYTHON, "other.so+0x10"]),
    ([INTERPRETER, EVAL, INTERPRETER, EVAL, INTERPRETER, LIBC], [*PYTHON, "python3.11+0x400"]),
    # other native code stays where it is
    ([OTHER, EVAL, OTHER + 0x10, EVAL, LIBC], ["outer:3", "middle:15", "other.so+0x20", "inner:21", "other.so+0x10"]),
    ([EVAL, INTERPRETER, EVAL, INTERPRETER, OTHER], ["other.so+0x10", *PYTHON]),
    # a path that ends early pairs from the innermost: outermost groups come first, or outermost loops have none
    ([OTHER, EVAL], [*PYTHON, "other.so+0x10"]),
    ([OTHER, EVAL, EVAL, EVAL, INTERPRETER, LIBC], [*PYTHON, "other.so+0x10"]),
])
def test_groups_of_frames(sonde, tmp_path, chain, names):
    assert path_of(sonde, tmp_path, chain, frames_of(100, TWO_GROUPS)) == names


def test_a_depth_that_was_cut(sonde, tmp_path):
    """The outermost frame that was read is no entry: it is in a group all the same."""
    assert path_of(sonde, tmp_path, [OTHER, EVAL], frames_of(100, TWO_GROUPS[:2])) == ["middle:15", "inner:21", "other.so+0x10"]


NATIVE = ["libc.so.6+0x10", "python3.11+0x250", "other.so+0x10"]


@pytest.mark.parametrize("frames", [
    [], [frames_of(99, TWO_GROUPS)], [frames_of(100, TWO_GROUPS, tid=42)],  # none; of another time, of another thread
    [frames_of(100, [(3, 1, 1)])], [frames_of(100, TWO_GROUPS)[:-20]],  # of code that is not there; cut short
    [record_of(0x534e0003, 0, struct.pack("<IIQQ", PID, TID, 100, 2**60))], [record_of(0x534e0002, 0, struct.pack("<IIII", 2**31, 0, 2**31, 8))],
], ids=["none", "time", "thread", "code", "cut", "count", "lengths"])
def test_without_python_all_is_native(sonde, tmp_path, frames):
    frames = [struct.pack("<IHH", *struct.unpack_from("<IH", frame), len(frame)) + frame[8:] for frame in frames]
    assert path_of(sonde, tmp_path, [OTHER, EVAL, LIBC], *frames) == NATIVE


def test_no_evaluation_loop(sonde, tmp_path):
    """It lies beyond the end of the native path, which is not complete: frames come first."""
    assert path_of(sonde, tmp_path, [OTHER, INTERPRETER], frames_of(100, TWO_GROUPS)) == [*PYTHON, "python3.11+0x400", "other.so+0x10"]


def test_the_interpreter_at_that_time(sonde, tmp_path):
    """A program that is executed in place of another has its own."""
    later = record_of(0x534e0001, 0, struct.pack("<QQQQ", PID, 0x1300, 0x80, 500))
    assert path_of(sonde, tmp_path, [OTHER, EVAL], frames_of(100, TWO_GROUPS), later) == [*PYTHON, "other.so+0x10"]


def test_files_and_first_lines(sonde, tmp_path):
    (tmp_path / "made.data").write_bytes(recording({100: [OTHER, EVAL]}, frames_of(100, TWO_GROUPS)))
    database = imported(sonde, tmp_path, tmp_path / "made.data")
    assert {row["file"] for row in report(sonde, database) if row["kind"] == "python"} == {"/nowhere/program.py"}
    assert info(sonde, database)["drops"] == {}
