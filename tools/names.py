#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that files which comments and documents name are in the tree, and that no struct has two definitions.

A comment may name a source by any end of its path (region.h, interface/region.h). A path that begins with a folder of the
root (src/base/search.h, tests/fuzz) is looked up as it is; * and {a,b} in it are a shell's, NAME and TOPIC (rule_NAME.c)
stand for any name. docs/plan.md may name what is still to be written.
"""
import fnmatch
import itertools
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).parent.parent
listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True)
files = [name for name in listed.stdout.splitlines() if (root / name).exists()]
# of the system, of Linux's sources, and names of programs that are examples
ELSEWHERE = {"elf.h", "mpif.h", "asm/perf_regs.h", "include/linux/trace_events.h", "include/linux/interrupt.h", "solver.c",
             "tools/perf/Documentation/perf.data-file-format.txt"}
NAMED = re.compile(r"(?<![\w/<.%{*-])((?:[\w-]+/)*[\w-]+\.(?:c|h|def))\b(?![\w(*])")

PATH = re.compile(r"(?<![\w/.<%{~*$-])(?:\.\./){0,3}((?:src|include|tests|tools|bench|docs|examples|python|viewer)/[\w./*{},+-]*)")


def expanded(path):
    """The patterns of fnmatch that a path with {a,b} and NAME stands for."""
    parts = [part.split(",") for part in re.split(r"\{([^}]*)\}", path)]
    return [re.sub(r"NAME|TOPIC", "*", "".join(choice)) for choice in itertools.product(*parts)]


def is_there(path):
    return all(pattern in paths or fnmatch.filter(paths, pattern) for pattern in expanded(path.rstrip("./,")))


paths = {"/".join(parts[:i + 1]) for parts in (name.split("/") for name in files) for i in range(len(parts))}
known = ELSEWHERE | {"/".join(parts[i:]) for parts in (name.split("/") for name in files) for i in range(len(parts))}
wrong = []
for name in files:
    is_document = name.endswith(".md") or name.startswith("docs/man/")
    if name == "docs/plan.md" or not (is_document or (name.startswith(("src/", "include/")) and name.endswith((".c", ".h", ".def", ".map")))):
        continue
    text = (root / name).read_text()
    comments = [(0, text)] if is_document else [(m.start(), m[0]) for m in re.finditer(r"/\*.*?\*/", text, re.S)]
    for start, comment in comments:
        for match in PATH.finditer(comment):
            if match[1] not in ELSEWHERE and not is_there(match[1]):
                line = text.count("\n", 0, start + match.start()) + 1
                wrong.append(f"lint: {name}:{line} names {match[1]}: there is no such file")
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
wrong = list(dict.fromkeys(wrong))
print("\n".join(wrong), end="\n" if wrong else "")
sys.exit(bool(wrong))
