#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_trace_file.sh [SECONDS]: files of events; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
# chunks of 4,096 bytes; the fuzzer sets the checksum
python3 - <<'END'
import struct

def chunk(sequence, stream, thread, records):
    data = b"".join(records)
    return (struct.pack("<QQIIII32x", sequence, 1000, len(data), len(records), stream, thread) + data).ljust(4096, b"\0")

header = struct.pack("<8sHHIQQQQ64s256sQ", b"SONDETRC", 1, 0, 4096, 7, 10, 20, 0, b"host", b"/bin/prog", 0)
definitions = [b"\x01\0\x01\0\x07\x07\0\0\0\x04main", b"\x01\x01\x02\0\x07\0\x01\0\x03\x05queue",
               b"\x02\0\x0c\0\x07running", b"\x02\x01\x0c\x01\x05futex", b"\x03\0\x03\x04used\x05bytes",
               b"\x04\0\x01\x05bytes\0", b"\x04\x01\x04\x05state\0"]
events = [b"\x21\x05", b"\x01\x05\x02", b"\xca\x01\x64\x0a\x01\x02\x02\0\x10\x01\x01", b"\x22\x10\x08", b"\x24\x04\0\x7f",
          b"\x33\0\x04", b"\x2b\x01\x06"]
none = 0xffffffff
for name, parts in {"all": [chunk(1, none, none, definitions), chunk(2, 0, none, events), chunk(3, 1, none, events[:3])],
                    "definitions": [chunk(1, none, none, definitions)]}.items():
    with open(f"corpus/{name}", "wb") as file:
        file.write(header.ljust(4096, b"\0") + b"".join(parts))
END
fuzz 20480
