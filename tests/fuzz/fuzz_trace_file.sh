#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_trace_file.sh [SECONDS]: builds the fuzzer of trace files with clang, makes a small corpus and runs it for
# that long. Fails if an input crashes, leaks, or takes longer than 10 s.
set -e
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=${FUZZ_WORK:-$(mktemp -d)}
[ -n "$FUZZ_WORK" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work/trace-file"
src=$top/src
# shellcheck disable=SC2086
clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -std=gnu17 -D_GNU_SOURCE -I"$src" \
	-I"$top/include" -o "$work/fuzz_trace_file" "$here/fuzz_trace_file.c" "$src"/base/error.c "$src"/base/intern.c \
	"$src"/base/output.c "$src"/format/checksum.c "$src"/format/database_*.c "$src"/format/statistics.c \
	"$src"/format/measurement_*.c "$src"/format/trace_file_reader.c "$src"/aggregate/merge.c "$src"/aggregate/nodes.c \
	"$src"/aggregate/gpu_*.c "$src"/binary/*.c "$src"/binary/structure/*.c "$src"/binary/gpu/*.c \
	"$src"/format/torch_name.c -lm -lz -lstdc++ -ldl -lpthread
cd "$work"
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
    with open(f"trace-file/{name}", "wb") as file:
        file.write(header.ljust(4096, b"\0") + b"".join(parts))
END
./fuzz_trace_file -max_total_time="${1:-60}" -timeout=10 -rss_limit_mb=2048 -max_len=20480 -print_final_stats=1 trace-file \
	2>trace-file.log || { tail -60 trace-file.log; exit 1; }
grep -E 'number_of_executed_units|DONE' trace-file.log
