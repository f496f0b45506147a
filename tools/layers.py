#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that folders of src include only what is below them in the drawing of docs/design/house.md, and that tests lie by folder."""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).parent.parent
# What depends on libc alone, for the unwinder and the collector, which stand outside the drawing.
UNWIND_MAY = {"format/measurement/measurement.h"}
COLLECT_MAY = UNWIND_MAY | {"format/container.h", "format/checksum.h", "format/frame_kinds.def", "format/torch_name.h",
                            "format/secret.h", "format/trace_file/trace_file.h", "format/trace_file/trace_encode.h",
                            "format/trace_file/trace_identity.h"}
# Parts of the collector that depend on libc alone and are compiled into the commands too.
COLLECT_FOR = {"cmd": {"collect/sample/event.h", "collect/sample/filters.h", "collect/adapters/xla/symbols.h", "collect/adapters/configured/description.h", "collect/core/counter_limits.h"}, "aggregate": {"collect/core/errors.def"}}


def heights() -> dict[str, int]:
    """The height of each folder: its line in the drawing, counted from below; names end at two blanks."""
    drawing = re.search(r"```layers\n(.*?)```", (TOP / "docs/design/house.md").read_text(), re.S)[1].splitlines()
    return {folder: height for height, line in enumerate(reversed(drawing)) for folder in line[:36].split()}


def is_allowed(folder: str, include: str, target: str, height: dict[str, int]) -> bool:
    if folder == "collect":
        return target == "unwind" or include in COLLECT_MAY
    if folder == "unwind":
        return include in UNWIND_MAY
    if target == "collect":
        return include in COLLECT_FOR.get(folder, ())
    return target == "unwind" or height[target] < height[folder]


def misplaced(folders: set[str]) -> list[str]:
    """Tests that lie in no folder named as one of src."""
    files = [path.relative_to(TOP) for way in ("unit", "cli") for path in (TOP / "tests" / way).rglob("test_*.[cp]*")
             if path.suffix in (".c", ".py")]
    return [f"{path}: a test lies in a folder named as the one of src that it tests" for path in files if path.parts[2] not in folders]


def main() -> int:
    height, wrong = heights(), []
    folders = {path.name for path in (TOP / "src").iterdir() if path.is_dir()}
    if folders != set(height) | {"collect", "unwind"}:
        wrong.append(f"docs/design/house.md draws other folders than src has: {sorted(folders ^ (set(height) | {'collect', 'unwind'}))}")
    for path in sorted((TOP / "src").rglob("*.[ch]")):
        name = path.relative_to(TOP / "src").as_posix()
        folder = name.split("/")[0]
        for include in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.M):
            target = include.split("/")[0]
            if "/" in include and target in folders - {folder} and not is_allowed(folder, include, target, height):
                wrong.append(f"src/{name} includes {include}: {folder} may not depend on {target}")
    wrong += misplaced(folders)
    for line in wrong:
        print("lint: " + line)
    return bool(wrong)


sys.exit(main())
