#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that dependencies between the folders of src/ point one way.

cmd -> export -> show -> timeline, import -> aggregate -> binary, trace, system, lib, frame -> format -> base; `collect`
includes libc, itself, `unwind` and the parts of `format` that depend on libc alone.
"""
import pathlib
import re
import sys

LAYERS = {"base": 0, "unwind": 0, "format": 1, "lib": 2, "binary": 2, "trace": 2, "system": 2, "frame": 2, "aggregate": 3,
          "import": 4, "timeline": 4, "show": 5, "export": 6, "cmd": 7}
# Rooms of which neither may include the other, and what the unwinder and the collector may see: what depends on libc alone.
ASIDE = {("import", "timeline"), ("timeline", "import"), ("binary", "trace"), ("binary", "system"), ("trace", "binary"),
         ("trace", "system"), ("system", "binary"), ("system", "trace")}
UNWIND_MAY = {"format/measurement/measurement.h"}
COLLECT_MAY = UNWIND_MAY | {"format/container.h", "format/checksum.h", "format/frame_kinds.def", "format/torch_name.h",
               "format/secret.h", "format/trace_file/trace_file.h", "format/trace_file/trace_encode.h",
               "format/trace_file/trace_identity.h"}
# Parts of the collector that depend on libc alone and are compiled into the commands too.
COLLECT_FOR = {"cmd": {"collect/sample/event.h", "collect/sample/filters.h"}, "aggregate": {"collect/core/errors.def"}}

source = pathlib.Path(__file__).parent.parent / "src"
wrong = []
for path in sorted(source.rglob("*.[ch]")):
    name = path.relative_to(source).as_posix()
    layer = name.split("/")[0]
    for include in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.M):
        target = include.split("/")[0]
        if "/" not in include or target == layer or include.startswith("sonde/"):
            continue
        if target not in LAYERS and target != "collect":
            continue
        if layer in ("collect", "unwind"):
            allowed = include in (COLLECT_MAY if layer == "collect" else UNWIND_MAY) or (layer, target) == ("collect", "unwind")
        elif target == "collect":
            allowed = include in COLLECT_FOR.get(layer, ())
        else:
            allowed = LAYERS[target] <= LAYERS[layer] and (layer, target) not in ASIDE
        if not allowed:
            wrong.append(f"lint: src/{name} includes {include}: {layer} may not depend on {target}")
print("\n".join(wrong), end="\n" if wrong else "")
sys.exit(bool(wrong))
