#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that headers of the collector say of every function whether signal handlers and other threads may call it.

Each function of src/collect/**/*.h and src/unwind/*.h has "AS-safe: yes" or "AS-safe: no" and "MT:" in the comment before
it, in the comment before the declarations that it directly follows, or in a comment that says "All functions here:"; such a
comment holds from where it stands to the next one.
"""
import pathlib
import re
import sys

source = pathlib.Path(__file__).parent.parent / "src"
TOKEN = re.compile(r"/\*.*?\*/|^#(?:\\\n|[^\n])*|\n[ \t]*\n", re.S | re.M)
AS_SAFE, THREADS = re.compile(r"AS-safe: (yes|no)\b"), re.compile(r"MT: \w")


def pieces(text):
    """Comments, directives, blank lines, and declarations up to their ; or their body, in order."""
    at = 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match:
            yield ("blank" if not match[0].strip() else "comment" if match[0][0] == "/" else "directive"), match[0]
            at = match.end()
            continue
        if text[at].isspace():
            at += 1
            continue
        start, depth = at, 0
        while at < len(text):
            if text.startswith("/*", at):
                at = text.index("*/", at) + 2
                continue
            depth += (text[at] in "{(") - (text[at] in "})")
            at += 1
            # a body ends a function; after a type's come its name, its attributes and a semicolon
            if depth == 0 and (text[at - 1] == ";" or (text[at - 1] == "}" and not re.match(r"\s*(;|__|\w+\s*[;\[])", text[at:]))):
                break
        yield "declaration", re.sub(r"/\*.*?\*/", "", text[start:at], flags=re.S)


def function_of(declaration):
    head = declaration.split("{")[0].rstrip(" ;\n\t")
    if re.match(r"(typedef|struct|union|enum)\b[^()]*$", head) or head.startswith("typedef"):
        return None
    while head.endswith("))") and "__attribute__" in head:
        shorter = re.sub(r"\s*__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)$", "", head)
        if shorter == head:
            break
        head = shorter
    match = re.search(r"\b(sn_\w+)\s*\(", head)
    return match[1] if match and "=" not in head.split("(")[0] and "(*" not in head[:match.start() + 2] else None


def check(path):
    missing, everywhere, here = [], "", ""
    for kind, text in pieces(path.read_text()):
        if kind == "comment":
            text = " ".join(text.replace("*", " ").split())
            if "All functions here" in text:
                everywhere = text
            here = text
        elif kind == "blank":
            here = ""
        elif kind == "declaration" and (name := function_of(text)):
            both = here + everywhere
            for tag, pattern in (("AS-safe", AS_SAFE), ("MT", THREADS)):
                if not pattern.search(both):
                    missing.append(f"{name} ({tag})")
    return missing


wrong = 0
for folder in ("collect", "unwind"):
    for path in sorted((source / folder).rglob("*.h")):
        if missing := check(path):
            print(f"lint: {path.relative_to(source.parent)} does not say of {', '.join(missing)}")
            wrong = 1
sys.exit(wrong)
