#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the sources which comments and design notes name are in the tree, and that no struct has two definitions."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).parent.parent
listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True)
files = [name for name in listed.stdout.splitlines() if (root / name).exists()]
# of the system, made by the build, and names of programs that are examples
ELSEWHERE = {"elf.h", "mpif.h", "asm/perf_regs.h", "include/linux/trace_events.h", "include/linux/interrupt.h", "solver.c"}
NAMED = re.compile(r"(?<![\w/<.%{*-])((?:[\w-]+/)*[\w-]+\.(?:c|h|def))\b(?![\w(*])")

known = ELSEWHERE | {"/".join(parts[i:]) for parts in (name.split("/") for name in files) for i in range(len(parts))}
wrong = []
for name in files:
    if not name.startswith(("src/", "include/", "docs/design/")) or not name.endswith((".c", ".h", ".def", ".map", ".md")):
        continue
    text = (root / name).read_text()
    comments = [(0, text)] if name.endswith(".md") else [(m.start(), m[0]) for m in re.finditer(r"/\*.*?\*/", text, re.S)]
    for start, comment in comments:
        for match in NAMED.finditer(comment):
            # src/cmd/NAME.c, view_NAME.c and the like stand for any
            if match[1] not in known and "NAME" not in match[1] and match[1] != "view_identifier.c":
                line = text.count("\n", 0, start + match.start()) + 1
                wrong.append(f"lint: {name}:{line} names {match[1]}: there is no such file")
structs: dict[str, set[str]] = {}
for name in files:
    if name.startswith("src/") and name.endswith(".h"):
        for struct in re.findall(r"^struct (sn_\w+) \{", (root / name).read_text(), re.M):
            structs.setdefault(struct, set()).add(name)
wrong += [f"lint: struct {struct} means two things: {' and '.join(sorted(where))}" for struct, where in structs.items() if len(where) > 1]
print("\n".join(wrong), end="\n" if wrong else "")
sys.exit(bool(wrong))
