# SPDX-License-Identifier: Apache-2.0
"""Walks after every single machine instruction of a small program, so that every torn state is met.

Every call the probe has seen, from this line of that function to that function, must be one that the
interpreter's own profile function saw too. Usage: python_step.py INSTRUCTIONS
"""
import ctypes
import functools
import os
import sys

probe = ctypes.CDLL(None)
probe.probe_found.restype = ctypes.c_char_p
probe.probe_calls.restype = ctypes.c_char_p
probe.probe_step_begin.argtypes = [ctypes.c_uint64]
probe.probe_step_end.restype = ctypes.c_uint64
true_calls = set()


def key(code):
    return (os.fsencode(code.co_filename), getattr(code, "co_qualname", code.co_name).encode(),
            code.co_firstlineno)


def profile(frame, event, argument):
    if event == "call" and frame.f_back:
        caller = frame.f_back
        true_calls.add((*key(caller.f_code), caller.f_lineno or 0, *key(frame.f_code)))


def add(a, b=1, *rest, c=2, **more):
    return a + b + c


def numbers(n):
    for i in range(n):
        yield add(i)


def delegating(n):
    yield from numbers(n)
    yield 1


def failing(n):
    if n:
        failing(n - 1)
    raise ValueError


def deep(n):
    if n:
        return deep(n - 1) + 1
    return 0


class Thing:
    def __init__(self, value):
        self.value = add(value)

    def __lt__(self, other):
        return self.value < other.value

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True

    def __del__(self):
        add(1)

    @property
    def twice(self):
        return self.value * 2


async def waiting(n):
    if n:
        return await waiting(n - 1)
    return 1


def closure(x):
    def inner():
        return x + add(1)
    return inner()


def work():
    made = numbers(2); list(numbers(1))  # one line: the profiler sees generators resumed, not made
    add(1)
    add(*(1, 2), c=3, d=4)
    list(numbers(3))
    for _ in delegating(2):
        pass
    sum(x for x in made)
    [add(x) for x in range(2)]
    try:
        failing(3)
    except ValueError:
        pass
    sorted([Thing(2), Thing(1)])
    sorted([2, 1], key=lambda x: add(x))
    functools.reduce(lambda a, b: add(a, b), [1, 2, 3])
    with Thing(1) as thing:
        thing.twice
        failing(0)
    try:
        waiting(2).send(None)
    except StopIteration:
        pass
    closure(1)
    exec("def f():\n  return 1\nf()", {})
    type("Made", (), {"method": lambda self: add(1)})().method()


def run(steps):
    probe.probe_step_begin(steps)
    work()
    deep(150)
    return probe.probe_step_end()


def main():
    """Once for the truth, then twice with a step after each instruction: as new, and when the
    interpreter has adapted to the types it met, which changes how calls are made."""
    left = []
    work()
    for phase in range(3):
        if phase == 0:
            sys.setprofile(profile)
        left.append(run(int(sys.argv[1]) if phase else 0))
        if phase == 0:
            sys.setprofile(None)
        else:
            for _ in range(30):
                work()
    counts = [int(n) for n in probe.probe_found().split(b"\n")[0].split()]
    wrong = 0
    for line in probe.probe_calls().splitlines():
        a, b, c, d, e, f, g, times = line.split(b"\t")
        call = (a, b, int(c), int(d), e, f, int(g))
        if call not in true_calls and call[1] != b"<module>":
            wrong += int(times)
            print("WRONG", int(times), *call)
    print("left", left)
    print("walks %d failed %d empty %d busy %d frames %d deepest %d paired %d off_by_one %d unpaired %d "
          "wrong %d" % (*counts, wrong))


main()
