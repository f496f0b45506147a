#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that dependencies between the folders of src/ point one way.

cmd -> serve, analyze, import, export -> aggregate, trace, binary -> format -> base; `collect` includes
libc, itself, and the parts of `format` that depend on libc alone.
"""
import pathlib
import re
import sys

LAYERS = {"base": 0, "format": 1, "binary": 2, "aggregate": 3, "trace": 3, "os": 3, "analyze": 4, "import": 4,
          "export": 4, "serve": 4, "report": 4, "cmd": 5}
COLLECT_MAY = {"format/measurement.h", "format/container.h", "format/checksum.h", "format/frame_kinds.def",
               "format/torch_name.h", "format/secret.h", "format/trace_file.h", "format/trace_encode.h", "format/trace_identity.h"}
# libc-only parts of the collector that commands share: its decoder of unwind tables, the texts of what it counts
COLLECT_FOR = {"cmd": {"collect/event.h", "collect/filters.h"}, "aggregate": {"collect/errors.def"},
               "import": {"collect/module.h", "collect/step.h"}}

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
        if layer == "collect":
            allowed = include in COLLECT_MAY
        elif target == "collect":
            allowed = include in COLLECT_FOR.get(layer, ())
        else:
            allowed = LAYERS[target] <= LAYERS[layer]
        if not allowed:
            wrong.append(f"lint: src/{name} includes {include}: {layer} may not depend on {target}")
print("\n".join(wrong), end="\n" if wrong else "")
sys.exit(bool(wrong))
