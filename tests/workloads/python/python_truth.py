# SPDX-License-Identifier: Apache-2.0
"""Compares the frames that the preloaded probe reads with what the interpreter says of itself.

Run with the probe preloaded. Prints one line for each disagreement and, last, "checked N".
"""
import asyncio
import ctypes
import functools
import os
import signal
import sys
import threading
import time

SIGNAL = signal.SIGUSR1
probe = ctypes.CDLL(None)
probe.probe_raise.restype = ctypes.c_char_p
probe.probe_last.restype = ctypes.c_char_p
probe.probe_status.restype = ctypes.c_char_p
probe.probe_install(SIGNAL)
checked = 0


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def truth(frame):
    stack = []
    while frame:
        code = frame.f_code
        stack.append((os.fsencode(code.co_filename), name_of(code).encode(), code.co_firstlineno,
                      frame.f_lineno or 0))
        frame = frame.f_back
    return stack


def parse(text):
    rows = [line.split(b"\t") for line in text.splitlines()]
    return [(r[0], r[1], int(r[2]), int(r[3])) for r in rows], [r[4] == b"1" for r in rows]


def complain(what, mine, theirs):
    print("DIFFERENT", what)
    for pair in zip(mine + [None] * len(theirs), theirs + [None] * len(mine)):
        if pair != (None, None):
            print("   ", *pair)


def compare(what, found, evals, expected):
    """`found` was taken one call deeper than `expected`, on the same line of the caller."""
    global checked
    checked += 1
    mine, entries = parse(found)
    if mine != expected:
        complain(what, mine, expected)
    if sum(entries) != evals:
        print("PAIRING", what, "entries", sum(entries), "native evaluation frames", evals, entries)


def look(what):
    # One line, so that the frame has one line number for both.
    compare_here(what, probe.probe_raise(SIGNAL), probe.probe_last_evals(), truth(sys._getframe()))


def compare_here(what, found, evals, expected):
    compare(what, found, evals, expected)


def many_lines():
    look(
        "a call"
        " over lines"
    ) if (
        True
    ) else None
    x = [
        look("list"),
        2,
        look("list again"),
    ]
    return {
        "a": look("in a dictionary"), "b":
        x,
    }


def on_lines_that_go_back():
    for i in range(3):
        look("loop %d" % i)
    while i:
        i -= 1
        (look("while"))
    return look(
        "returned")


class Maker:
    look("class body")

    def __init__(self, value):
        self.value = look("__init__") or value

    def __call__(self):
        return look("__call__")

    def __lt__(self, other):
        look("__lt__")
        return False

    @property
    def attribute(self):
        return look("property")

    def __getattr__(self, name):
        look("__getattr__ " + name)
        return 1

    def __enter__(self):
        look("__enter__")
        return self

    def __exit__(self, *error):
        look("__exit__")
        return True

    def __del__(self):
        look("__del__")


class Derived(Maker):
    def __init__(self):
        super().__init__(
            3)


def generator(depth):
    look("generator")
    if depth:
        yield from generator(depth - 1)
    yield look("generator, going on")


async def coroutine(depth):
    look("coroutine")
    if depth:
        await coroutine(depth - 1)
    await asyncio.sleep(0)
    look("coroutine, resumed")
    async for _ in ticks():
        look("async for")


async def ticks():
    for i in range(2):
        look("async generator")
        yield i


def called_from_c():
    sorted([3, 1, 2], key=lambda x: look("sorted") or x)
    functools.reduce(lambda a, b: look("reduce"), [1, 2, 3])
    list(map(lambda x: look("map"), [1]))
    max([Maker(1), Derived()], key=lambda m: m.value)
    sorted([Maker(1), Maker(2)])
    callback = ctypes.CFUNCTYPE(None)(lambda: look("ctypes callback"))
    callback()
    Maker(1).attribute, Maker(1).missing
    Maker(2)()
    [look("comprehension") for _ in (1,)]
    {look("set comprehension") for _ in (1,)}
    list(look("generator expression") for _ in (1,))
    functools.partial(look)("partial")


def exceptions():
    try:
        1 / 0
    except ZeroDivisionError:
        look("except")
        try:
            raise KeyError from None
        except KeyError:
            look("inner except")
        finally:
            look("finally")
    with Maker(1) as m:
        look("with")
        raise ValueError
    assert look("assert") is None


def nested(depth):
    def inner():
        if depth:
            nested(depth - 1)
        else:
            called_from_c()
    functools.partial(inner)() if depth % 2 else inner()


def recursion(depth):
    if depth:
        return recursion(depth - 1)
    return look("deep")


def names():
    texts = ["latin_\xe9", "han_\u6f22\u5b57", "gothic_\U00010330", "\u03b1" * 60]
    files = ["caf\xe9.py", "\u30d5\u30a1\u30a4\u30eb.py", "\U0001f40d.py", "raw\udcff.py", "<string>"]
    for text in texts:
        for file in files:
            scope = {"look": look}
            exec(compile("\n\ndef %s():\n\n  look('names')\n%s()" % (text, text), file, "exec"), scope)


def long_function():
    body = ["def long(look):", " x = 0"]
    for i in range(3000):
        body.append(" x = x + (%d *\n   x) if x else [\n  1, %d][0]" % (i, i))
        if i % 250 == 0:
            body += [" look('long')"] + [""] * 700
    scope = {}
    exec(compile("\n".join(body), "<long>", "exec"), scope)
    scope["long"](look)


def sleeper(frames, ready):
    frames.append(sys._getframe())
    ready.set()
    time.sleep(1.0)


def busy_waiter(frames, ready, stop):
    frames.append(sys._getframe())
    ready.set()
    while not stop.is_set():
        stop.wait(0.5)


def of_thread(thread):
    """What the probe reads when `thread`, waiting in C without the global lock, is interrupted."""
    probe.probe_forget()
    signal.pthread_kill(thread.ident, SIGNAL)
    while not probe.probe_last():
        time.sleep(0.005)
    return parse(probe.probe_last())[0]


def threads():
    global checked
    frames, ready = [], threading.Event()
    thread = threading.Thread(target=sleeper, args=(frames, ready))
    thread.start()
    ready.wait()
    time.sleep(0.1)
    mine, theirs = of_thread(thread), truth(frames[0])
    checked += 1
    if mine != theirs:
        complain("a thread that sleeps", mine, theirs)
    thread.join()
    together = [threading.Thread(target=nested, args=(i,)) for i in range(3)]
    for thread in together:
        thread.start()
        thread.join()


def main():
    look("main")
    many_lines()
    on_lines_that_go_back()
    Derived()
    for _ in generator(4):
        look("between yields")
    called_from_c()
    exceptions()
    nested(5)
    recursion(500)
    names()
    long_function()
    asyncio.run(coroutine(3))
    threads()
    eval("look('eval')")
    (lambda: look("lambda"))()
    print(probe.probe_status().decode())
    print("checked", checked)


main()
