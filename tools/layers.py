#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that rooms include only what is below them, as the drawing in docs/design/house.md has it, and that tests lie by room."""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).parent.parent
# What depends on libc alone, for the unwinder and the collector, which stand beside the tower.
UNWIND_MAY = {"format/measurement/measurement.h"}
COLLECT_MAY = UNWIND_MAY | {"format/container.h", "format/checksum.h", "format/frame_kinds.def", "format/torch_name.h",
                            "format/secret.h", "format/trace_file/trace_file.h", "format/trace_file/trace_encode.h",
                            "format/trace_file/trace_identity.h"}
# Parts of the collector that depend on libc alone and are compiled into the commands too.
COLLECT_FOR = {"cmd": {"collect/sample/event.h", "collect/sample/filters.h"}, "aggregate": {"collect/core/errors.def"}}


def floors() -> dict[str, int]:
    """The height of each room: the lines of the drawing from below, of which names are what precedes two blanks."""
    drawing = re.search(r"```rooms\n(.*?)```", (TOP / "docs/design/house.md").read_text(), re.S)[1].splitlines()
    return {room: floor for floor, line in enumerate(reversed(drawing)) for room in line[:36].split()}


def is_allowed(room: str, include: str, target: str, height: dict[str, int]) -> bool:
    if room == "collect":
        return target == "unwind" or include in COLLECT_MAY
    if room == "unwind":
        return include in UNWIND_MAY
    if target == "collect":
        return include in COLLECT_FOR.get(room, ())
    return target == "unwind" or height[target] < height[room]


def misplaced(rooms: set[str]) -> list[str]:
    """Tests that lie in no folder of a room."""
    files = [path.relative_to(TOP) for way in ("unit", "cli") for path in (TOP / "tests" / way).rglob("test_*.[cp]*")
             if path.suffix in (".c", ".py")]
    return [f"{path}: a test lies in the folder of its room" for path in files if path.parts[2] not in rooms]


def main() -> int:
    height, wrong = floors(), []
    rooms = {path.name for path in (TOP / "src").iterdir() if path.is_dir()}
    if rooms != set(height) | {"collect", "unwind"}:
        wrong.append(f"docs/design/house.md draws other rooms than src has: {sorted(rooms ^ (set(height) | {'collect', 'unwind'}))}")
    for path in sorted((TOP / "src").rglob("*.[ch]")):
        name = path.relative_to(TOP / "src").as_posix()
        room = name.split("/")[0]
        for include in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.M):
            target = include.split("/")[0]
            if "/" in include and target in rooms - {room} and not is_allowed(room, include, target, height):
                wrong.append(f"src/{name} includes {include}: {room} may not depend on {target}")
    wrong += misplaced(rooms)
    for line in wrong:
        print("lint: " + line)
    return bool(wrong)


sys.exit(main())
