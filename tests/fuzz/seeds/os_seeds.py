#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""os_seeds.py FOLDER: a few rings of records as perf writes them, for fuzz_os."""
import struct
import sys
from pathlib import Path

FORMAT = b"""name: made
ID: 7
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
\tfield:__data_loc char[] next_comm;\toffset:8;\tsize:4;\tsigned:0;
\tfield:pid_t next_pid;\toffset:12;\tsize:4;\tsigned:1;
\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:16;\tsize:8;\tsigned:1;
\tfield:long id;\toffset:16;\tsize:8;\tsigned:1;
\tfield:long ret;\toffset:24;\tsize:8;\tsigned:1;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int bytes;\toffset:24;\tsize:4;\tsigned:0;
\tfield:char rwbs[10];\toffset:24;\tsize:8;\tsigned:0;
"""


def record(kind: int, misc: int, body: bytes) -> bytes:
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def sample(event: int, time: int, tid: int, other: int, number: int, value: int, flags: int = 0) -> bytes:
    raw = struct.pack("<HBxiIiqq", 7, flags, tid, 0, other, number, value)
    raw += bytes(-(len(raw) + 4) % 8)
    return record(9, 0, struct.pack("<QIIQII", event, 1, tid, time, 0, 0) + struct.pack("<I", len(raw)) + raw)


def other(kind: int, misc: int, time: int, tid: int, body: bytes = b"") -> bytes:
    return record(kind, misc, body + struct.pack("<IIQIIQ", 1, tid, time, 0, 0, 31))


def main() -> None:
    folder = Path(sys.argv[1])
    for wide in (0, 1):
        for first in range(17):
            ring = b""
            for step in range(1, 12):
                ring += sample((first + step) % 17, step * 100, 3 + step % 2, 4 - step % 2, step % 3, step, step % 5 * 8)
                ring += other(14, 0x2000 * (step % 2), step * 100 + 50, 3)
            ring += other(7, 0, 1500, 3, struct.pack("<IIIIQ", 1, 1, 5, 3, 1500))
            ring += other(3, 0, 1600, 5, struct.pack("<II8s", 1, 5, b"name"))
            ring += other(2, 0, 1700, 3, struct.pack("<QQ", 31, 9))
            ring += other(4, 0, 1800, 5, struct.pack("<IIIIQ", 1, 1, 5, 3, 1800))
            (folder / f"{wide}-{first}").write_bytes(bytes([first, wide]) + FORMAT + b"\0" + ring + ring)


if __name__ == "__main__":
    main()
