#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of the program's stack the collector uses: by every function that the program or a library of
its calls (hooks), and by the signal handlers before they move to a stack of their own.

Compiles libsonde's sources with -fcallgraph-info=su and adds up the frames along each chain of calls. What
is called through a pointer is named in stack_usage.json, or is a hook of its own; what has the name of another
is named there with its file. Functions that sn_on_own_stack calls run on the collector's stack and are no part
of a chain. One that calls itself counts once: of hooks only the search for a PyTorch module does, 3 deep, in
864 bytes. A unit test runs this (tests/unit/meson.build).

Usage: tools/stack_usage.py BUILD [--chain FUNCTION] [--all]
Exit status: 1 where a limit is passed, or a frame's size is not known."""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

HOOK_BYTES = 2048
HANDLER_BYTES = 1024
HANDLERS = {"on_signal", "on_fatal", "sn_gate_enter"}
# Called through pointers: the caller, and what it may call.
INDIRECT = json.load(open(os.path.join(os.path.dirname(__file__), "stack_usage.json")))
# Of the C library: what a call of it takes at most where that is more than a system call does.
EXTERNAL = {"default": 64}


def compile_commands(build):
    with open(os.path.join(build, "compile_commands.json")) as file:
        for entry in json.load(file):
            if "src/collect/libsonde.so.p/" in entry["output"] and entry["file"].endswith(".c"):
                yield entry


def graph_of(build):
    """{function: (bytes, is_bounded)}, {function: callees}."""
    frames, calls = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for number, entry in enumerate(compile_commands(build)):
            arguments = shlex.split(entry["command"])
            place = os.path.join(folder, f"{number}.o")
            arguments[arguments.index("-o") + 1] = place
            cut = arguments.index("-MD")
            del arguments[cut:cut + 5]
            # ccache, which Meson takes where it is installed, does not know that this writes a second file
            subprocess.run(arguments + ["-fcallgraph-info=su"], cwd=entry["directory"], check=True,
                           env={**os.environ, "CCACHE_DISABLE": "1"})
            read_graph(place[:-2] + ".ci", frames, calls)
    return frames, calls


def read_graph(path, frames, calls):
    with open(path) as file:
        for line in file:
            node = re.match(r'node: \{ title: "([^"]+)" label: "([^"]*)"', line)
            if node:
                size = re.search(r"(\d+) bytes \((\w+(?:,\w+)?)\)", node.group(2))
                if size:
                    frames[node.group(1)] = (int(size.group(1)), size.group(2) in ("static", "dynamic,bounded"))
            edge = re.match(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', line)
            if edge:
                calls.setdefault(edge.group(1), set()).add(edge.group(2))


def short(name):
    """Without the file of a static function and what the compiler made of its name."""
    return re.split(r"[.]", name.rsplit(":", 1)[-1])[0]


class Usage:
    def __init__(self, frames, calls):
        self.frames, self.calls, self.known = frames, calls, {}
        self.named = {key: {self.find(name) for name in names} for key, names in INDIRECT.items()}
        self.cut = self.named["(at the start)"] | self.named["(called on our own stack only)"]
        for caller, callees in self.named.items():
            if not caller.startswith("("):
                self.calls.setdefault(self.find(caller), set()).update(callees)

    def find(self, wanted):
        """The one function of a name, or of FILE:NAME."""
        file, _, function = wanted.rpartition(":")
        found = [name for name in self.frames if short(name) == function and name.rpartition(":")[0].endswith(file)]
        if len(found) != 1:
            sys.exit(f"tools/stack_usage.json: {wanted} names {len(found)} functions: {' '.join(found)}")
        return found[0]

    def of(self, name, above=()):
        """(bytes, chain) of the deepest chain from `name`."""
        if name in self.known:
            return self.known[name]
        if name not in self.frames:
            return EXTERNAL.get(name, EXTERNAL["default"] if name != "__indirect_call" else 0), (name,)
        if name in above or name in self.cut:
            return 0, (name,)
        deepest = max((self.of(callee, above + (name,)) for callee in self.calls.get(name, ())),
                      default=(0, ()), key=lambda found: found[0])
        # the return address of the call
        result = self.frames[name][0] + 8 + deepest[0], (name,) + deepest[1]
        self.known[name] = result
        return result


def main():
    build = sys.argv[1]
    frames, calls = graph_of(build)
    usage = Usage(frames, calls)
    called = {callee for callees in usage.calls.values() for callee in callees}
    # run on our own stack: named by who moves there
    moved = set().union(*(names for key, names in usage.named.items() if key.startswith("(")))
    if "--chain" in sys.argv:
        wanted = sys.argv[sys.argv.index("--chain") + 1]
        for name in frames:
            if short(name) == wanted:
                size, chain = usage.of(name)
                print(size, " > ".join(f"{short(n)} {frames[n][0] if n in frames else ''}" for n in chain))
        return 0
    exported = exported_symbols()
    roots = [name for name in frames if name not in called or name in exported or short(name) in HANDLERS]
    wrong, seen = 0, set()
    worst = {True: (0, ""), False: (0, "")}
    for name in sorted(roots, key=lambda root: -usage.of(root)[0]):
        if name in moved:
            continue
        size, chain = usage.of(name)
        is_handler = short(name) in HANDLERS
        if tuple(chain[1:]) in seen:
            continue
        seen.add(tuple(chain[1:]))
        limit = HANDLER_BYTES if is_handler else HOOK_BYTES
        worst[is_handler] = max(worst[is_handler], (size, short(name)))
        unbounded = [n for n in chain if n in frames and not frames[n][1]]
        if size > limit or unbounded or "--all" in sys.argv:
            wrong += size > limit or bool(unbounded)
            print(f"{size} bytes{' (not bounded)' if unbounded else ''}: {' > '.join(map(short, chain))}")
    print(f"handlers use at most {worst[True][0]} bytes of the program's stack ({worst[True][1]}; limit {HANDLER_BYTES}), "
          f"hooks {worst[False][0]} ({worst[False][1]}; limit {HOOK_BYTES})")
    return 1 if wrong else 0


def exported_symbols():
    path = os.path.join(os.path.dirname(__file__), "../src/collect/libsonde.map")
    with open(path) as file:
        return set(re.findall(r"[A-Za-z_]\w+", re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)))


if __name__ == "__main__":
    sys.exit(main())
