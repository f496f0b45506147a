# SPDX-License-Identifier: Apache-2.0
"""A busy program whose threads the preloaded probe interrupts at random moments, some 10,000 times a second.

Every frame the probe has read must be one that exists: a code object of that file, name and first line,
with that line among its lines. Prints the frames that are not, and last "walks N failed N ...".
Usage: python_stress.py SECONDS PERIOD_MICROSECONDS
"""
import asyncio
import ctypes
import dis
import functools
import gc
import importlib
import json
import os
import random
import re
import signal
import sys
import threading
import time
import types

probe = ctypes.CDLL(None)
probe.probe_found.restype = ctypes.c_char_p
probe.probe_status.restype = ctypes.c_char_p
known = {}
stop = False


def lines_of(code):
    if hasattr(code, "co_lines"):
        lines = {line for _, _, line in code.co_lines()}
        return {line or 0 for line in lines} | {code.co_firstlineno}
    return {line for _, line in dis.findlinestarts(code)} | {code.co_firstlineno}


def learn(code):
    """Remembers a code object and those inside it."""
    name = getattr(code, "co_qualname", code.co_name)
    key = (os.fsencode(code.co_filename), name.encode()[:127], code.co_firstlineno)
    known.setdefault(key, set()).update(lines_of(code))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            learn(constant)


def learn_everything():
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType):
            learn(thing.__code__)
        elif isinstance(thing, types.ModuleType) and getattr(thing, "__file__", "") \
                and str(thing.__file__).endswith(".py"):
            learn_file(thing.__file__)
    import _imp
    for name in ("_frozen_importlib", "importlib._bootstrap", "importlib._bootstrap_external",
                 "_frozen_importlib_external", "zipimport", "os", "site", "codecs", "abc", "io",
                 "posixpath", "genericpath", "stat", "_collections_abc", "_sitebuiltins", "runpy",
                 "importlib.util", "importlib.machinery", "encodings", "encodings.utf_8"):
        try:
            learn(_imp.get_frozen_object(name))
        except Exception:
            pass


def learn_file(path):
    try:
        with open(path, "rb") as file:
            learn(compile(file.read(), path, "exec", dont_inherit=True))
    except (OSError, SyntaxError):
        pass


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def numbers(n):
    for i in range(n):
        try:
            yield i
        finally:
            i += 1


def chained(n):
    if n:
        yield from chained(n - 1)
    yield from numbers(3)


def throwing(depth):
    if depth:
        try:
            throwing(depth - 1)
        except ValueError as error:
            raise KeyError(str(error)) from error
    raise ValueError("bottom")


def exceptions():
    for i in range(20):
        try:
            throwing(i % 3)
        except (ValueError, KeyError):
            pass


def deep(n):
    return deep(n - 1) + 1 if n else 0


def make_classes():
    for i in range(5):
        base = type("Base%d" % i, (), {"method": lambda self: 1, "__init__": lambda self, x=1: None})
        class Derived(base):
            def method(self):
                return super().method() + 1

            def __lt__(self, other):
                return id(self) < id(other)
        sorted([Derived(1) for _ in range(5)], key=lambda d: d.method())
        sorted(Derived(1) for _ in range(5))


def churn():
    """Code objects that are made, run and freed, so that their addresses are used again."""
    for i in range(10):
        text = "def f%d(x):\n%s  return [y for y in range(x)]\nf%d(3)\n" % (i, "\n" * (i % 5), i)
        code = compile(text, "<churn %d>" % (i % 7), "exec")
        learn(code)
        exec(code, {})
        eval("sum(x for x in range(10))")


learn(compile("sum(x for x in range(10))", "<string>", "eval"))


def from_c():
    functools.reduce(lambda a, b: a + b, range(20))
    list(map(lambda x: fibonacci(x), range(5)))
    re.sub("a", lambda m: m.group(), "banana")
    json.dumps({"a": [1, 2, {"b": None}]}, indent=1)
    json.loads("[1, 2, [3]]", object_hook=lambda d: d)


def garbage():
    for _ in range(20):
        a, b = [], {}
        a.append(b)
        b[1] = a
    gc.collect(0)


def imports():
    for name in ("colorsys", "textwrap", "string", "shlex"):
        sys.modules.pop(name, None)
        importlib.import_module(name)


async def task(n):
    if n:
        await task(n - 1)
    await asyncio.sleep(0)
    return [x async for x in agen(3)]


async def agen(n):
    for i in range(n):
        yield i


def coroutines():
    async def gather():
        await asyncio.gather(*(task(i) for i in range(4)))
    asyncio.run(gather())


WORK = [lambda: fibonacci(10), lambda: list(chained(5)), exceptions, lambda: deep(200), make_classes,
        churn, from_c, garbage, coroutines]


def worker(seed, work):
    rng = random.Random(seed)
    while not stop:
        rng.choice(work)()


def short_lived():
    thread = threading.Thread(target=fibonacci, args=(8,))
    thread.start()
    thread.join()


def report():
    learn_everything()
    learn_file(__file__)
    lines = probe.probe_found().splitlines()
    counts = [int(n) for n in lines[0].split()]
    bad = 0
    for line in lines[1:]:
        file, name, first, number = line.split(b"\t")
        found = known.get((file, name, int(first)))
        if found is None or (int(number) not in found and int(number) != 0):
            bad += 1
            print("INVALID", file, name, int(first), int(number),
                  "no such code" if found is None else sorted(found)[:20])
    print(probe.probe_status().decode())
    print("walks %d failed %d empty %d busy %d frames %d deepest %d "
          "paired %d off_by_one %d unpaired %d distinct %d invalid %d" %
          (*counts, len(lines) - 1, bad))


def main():
    global stop
    seconds, period = float(sys.argv[1]), int(sys.argv[2])
    probe.probe_install(signal.SIGUSR2)
    threads = [threading.Thread(target=worker, args=(i, WORK)) for i in range(2)]
    probe.probe_stress_begin(signal.SIGUSR2, period)
    for thread in threads:
        thread.start()
    rng = random.Random(7)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        rng.choice(WORK + [imports, short_lived])()
    stop = True
    for thread in threads:
        thread.join()
    probe.probe_stress_end()
    report()


main()
