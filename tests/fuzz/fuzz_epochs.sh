#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_epochs.sh [SECONDS]: epochs of a store of continuous profiling; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
# a byte that says whether checksums are made right, then the file: as flushed, and merged
python3 - "$build/tests/make-store" <<'END'
import pathlib
import subprocess
import sys

lines = ["origin\t/usr/bin/a\t/a.slice\t0\t1000", "origin\t/bin/b\t-\t42\t0", "image\t1\t/lib/libc.so.6\t" + "ab" * 20 + "\t0\t0\t0",
         "image\t2\t[kernel]\t-\t0\t0\t0", "image\t6\tjit\t-\t1\t5\t7"]
once = ["count\t0\t0\t0x1000\t5", "count\t0\t0\t0x1008\t1", "count\t1\t1\t0x10\t300", "count\t0\t2\t0x7f0000000000\t2",
        "name\t1\t0\t0x100\tschedule", "name\t2\t0x7f0000000000\t0\tf", "stack\t1\t3\t0:0x1000\t0:0x2000\t1:0x30",
        "stack\t1\t2\t0:0x1004\t0:0x2000\t1:0x30"]
flush = "flush\t%d\t%d\tcpu-clock\t1000000\t1\t320\tring-full=7"
for name, more in {"flushed": [], "merged": ["seal", "tend\t1796040400"]}.items():
    text = "\n".join([*lines, *once, flush % (1796040000, 1796040060), *once, flush % (1796040060, 1796040120), *more]) + "\n"
    subprocess.run([sys.argv[1], name], input=text, text=True, check=True, stdout=subprocess.DEVNULL)
    for number, path in enumerate(sorted(pathlib.Path(name).iterdir())):
        for mark in "ox":
            pathlib.Path(f"corpus/{name}{number}{mark}").write_bytes(mark.encode() + path.read_bytes())
END
fuzz 4096
