# SPDX-License-Identifier: Apache-2.0
"""import_seeds.py FOLDER SONDE: inputs for fuzz_import.c to begin with, of measurements that tests write as well
and, where that program is there, of a database made of one."""
import pathlib
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cli/import"))
from hpctoolkit_measurement import (GPU_DEVICE, GPU_RANGE, GPU_ROOT, MAIN, PRIMARY, Metric, Profile, letters,  # noqa: E402
                                    thread)

STRUCTURE = b"""<?xml version="1.0"?><HPCToolkitStructure i="0" version="4.9" n=""><LM i="2" n="/gpubins/c.gpubin"
has-calls="1" v="{}"><F i="3" n="k.cu"><P i="4" n="k" l="1" v="{[0x0-0x1)}"><C i="6" l="3" t="0x100" v="{[0x10-0x20)}"/>
<L i="8" l="2" v="{[0x20-0x21)}"><A i="9" l="3" f="h"><A i="10" l="4" n="i"><S i="5" l="2" v="{[0x20-0x30)}"/></A></A></L>
</P><P i="8" n="d" l="9" v="{[0x100-0x101)}"><S i="9" l="11" v="{[0x100-0x120)}"/><C i="1" l="1" t="0x100"
v="{[0x120-0x130)}"/></P></F></LM></HPCToolkitStructure>"""


def entry(kind: int, *files: bytes) -> bytes:
    return bytes([kind]) + b"".join(struct.pack("<H", len(file)) + file for file in files)


def gpu(order: str) -> Profile:
    profile = Profile(thread(), [Metric("GKER:COUNT", relation=True), Metric("GKER:SAMPLED_COUNT", relation=True),
                                 Metric("GINS"), Metric("CPUTIME (sec)", real=True)], order)
    code = profile.module("/gpubins/c.gpubin")
    main = profile.node(profile.node(0, 0, PRIMARY), 0, MAIN)
    launch = profile.node(main, 0, letters("GPUKernl"))
    kernel = profile.node(launch, code, 0x10)
    ranges = profile.node(profile.node(kernel, GPU_DEVICE, 1), GPU_RANGE, 7)
    profile.value(kernel, 0, 3)
    profile.value(ranges, 1, 2)
    profile.value(profile.node(launch, code, 0x104, unwound=False), 2, 9)
    samples = profile.node(profile.node(profile.node(0, GPU_ROOT, 0), GPU_DEVICE, 1), GPU_RANGE, 7)
    profile.value(profile.node(samples, code, 0x24, unwound=False), 2, 5)
    profile.value(main, 3, 0.5)
    return profile


out = pathlib.Path(sys.argv[1])
out.mkdir(exist_ok=True)
for order in "bl":
    trace = b"HPCRUN-trace______01.01" + order.encode() + bytes(8) + struct.pack(">QIQI" if order == "b" else "<QIQI", 5, 2, 9, 4)
    (out / f"gpu-{order}").write_bytes(entry(0, gpu(order).bytes(), STRUCTURE, trace))
sonde = pathlib.Path(sys.argv[2])
if sonde.exists():
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        gpu("b").write(work / "a.hpcrun")
        subprocess.run([sonde, "import", work / "a.hpcrun", "-o", work / "a.sdb"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([sonde, "export", "--to", "hpctoolkit", work / "a.sdb", "-o", work / "a.d"], check=True)
        files = [(work / "a.d" / file).read_bytes() for file in ("meta.db", "profile.db")]
        (out / "database").write_bytes(entry(1, *files))
