# SPDX-License-Identifier: Apache-2.0
"""Reads what Sonde has measured, finds causes in tables, and names parts of a Python program that Sonde measures.

    with sonde.open("train.sdb") as db:   # see Database
        for context in db.root.children:
            print(context.name, context.inclusive("cpu-time"))
        for event in db.events():         # what happened when, where that was recorded
            print(event.start_ns, event.end_ns, event.context.name)

What depends on what in a table of numbers and categories (see causal):

    graph = sonde.causal("counters.csv", target="duration_ns")   # or a data frame, or a dict of columns
    for cause in graph.causes:
        print(cause.cause, cause.effect.value, cause.effect.share, cause.frequency)

Names for parts of a program:

    with sonde.region("load"):            # a part of the work
        ...
    for batch in loader:
        with sonde.iteration("step"):     # one turn of a loop
            ...
    @sonde.region("assemble")             # every call of a function
    def assemble(): ...

    model = sonde.Model("pipeline")       # a dataflow graph: see Model
    load = model.node("load")

Which part of a run is recorded over time, under ``sonde run --trace --trace-paused``:

    sonde.trace_start()
    ...
    sonde.trace_stop()

What processes send each other, by which the clocks of several hosts are joined:

    begun = sonde.message_begin()
    connection.send(data)
    sonde.message_sent(begun, peer, tag, len(data))

Under ``sonde run`` a region becomes a frame of every call path below it, and its wall time and
number of entries are measured. Otherwise entering one does nothing.

A region belongs to the thread that entered it and must not be left suspended: it may not contain
an ``await`` or a ``yield``, during which the thread does other work.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # type checkers take it for true; typing would double this module's import time
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypeVar

    from ._causal import CausalGraph, Cause, Edge, Effect, Expectation, MainEffect, causal
    from ._database import (
        Context,
        Database,
        Error,
        Evidence,
        Finding,
        Formula,
        FormulaError,
        Frame,
        Metric,
        Plane,
        Profile,
        Stat,
    )
    from ._events import Event, Events, Track
    from ._graph import Model, Node

    _F = TypeVar("_F", bound=Callable[..., Any])

# The modules of what is loaded when it is first used: a program that only names regions does not pay for them.
_LATE = {
    "_causal": ("CausalGraph", "Cause", "Edge", "Effect", "Expectation", "MainEffect", "causal"),
    "_database": (
        "Context",
        "Database",
        "Error",
        "Evidence",
        "Finding",
        "Formula",
        "FormulaError",
        "Frame",
        "Metric",
        "Plane",
        "Profile",
        "Stat",
    ),
    "_events": ("Event", "Events", "Track"),
    "_graph": ("Model", "Node"),
}
__all__ = [
    "CausalGraph",
    "Cause",
    "Context",
    "Database",
    "Edge",
    "Effect",
    "Error",
    "Event",
    "Events",
    "Evidence",
    "Expectation",
    "Finding",
    "Formula",
    "FormulaError",
    "Frame",
    "MainEffect",
    "Metric",
    "Model",
    "Node",
    "Plane",
    "Profile",
    "Stat",
    "Track",
    "causal",
    "enabled",
    "iteration",
    "message_begin",
    "message_received",
    "message_sent",
    "open",
    "region",
    "stop",
    "trace_start",
    "trace_stop",
]

_ITERATION = 1
# Of code objects: generator, coroutine, iterable coroutine, asynchronous generator.
_SUSPENDS = 0x20 | 0x80 | 0x100 | 0x200

_begin: Callable[[bytes, int], int]
_end: Callable[[int], None]
_run: Callable[[], None]
_pause: Callable[[], None]
_stop: Callable[[], None]
_message: Callable[[], int]
_sent: Callable[[int, int, int, int], None]
_received: Callable[[int, int, int, int], None]


def _bind() -> bool:
    """Finds the collector in this process. It was preloaded, or nothing is measured."""
    global _begin, _end, _run, _pause, _stop, _message, _sent, _received
    if "SONDE_OUTPUT" not in os.environ:
        return False  # spares a program that is not measured the import of ctypes
    try:
        import ctypes

        # PyDLL keeps the interpreter's lock: the collector reads this thread's Python frames
        library = ctypes.PyDLL(None)
        begin = library.sonde_python_region_begin
        end = library.sonde_python_region_end
        run, pause, stop = library.sonde_trace_start, library.sonde_trace_stop, library.sonde_stop
        message = library.sonde_message_begin
        sent, received = library.sonde_message_sent, library.sonde_message_received
    except (ImportError, OSError, AttributeError):
        return False
    begin.argtypes = (ctypes.c_char_p, ctypes.c_uint)
    begin.restype = ctypes.c_uint32
    end.argtypes = (ctypes.c_uint32,)
    end.restype = None
    for function in (run, pause, stop):
        function.argtypes, function.restype = (), None
    message.argtypes, message.restype = (), ctypes.c_uint64
    for function in (sent, received):
        function.argtypes = (ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64)
        function.restype = None
    _begin, _end, _run, _pause, _stop = begin, end, run, pause, stop
    _message, _sent, _received = message, sent, received
    return True


def _check(function: Any) -> None:
    code = getattr(function, "__code__", None)
    if code is not None and code.co_flags & _SUSPENDS:
        raise TypeError(f"{function.__qualname__} can be suspended: a region cannot contain it")


class _Region:
    """A context manager, and a decorator. One object may be entered many times, by one thread."""

    __slots__ = ("_name", "_tokens")
    _flags = 0

    def __init__(self, name: str) -> None:
        self._name = name.encode("utf-8", "replace").replace(b"\0", b"?")
        self._tokens: list[int] = []

    def __enter__(self) -> _Region:
        self._tokens.append(_begin(self._name, self._flags))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _end(self._tokens.pop())

    def __call__(self, function: _F) -> _F:
        from functools import wraps

        _check(function)
        name, flags = self._name, self._flags

        @wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            token = _begin(name, flags)
            try:
                return function(*arguments, **named)
            finally:
                _end(token)

        return call  # type: ignore[return-value]


class _Iteration(_Region):
    __slots__ = ()
    _flags = _ITERATION


class _Idle(_Region):
    """What a region is where nothing is measured."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        pass

    def __enter__(self) -> _Region:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pass

    def __call__(self, function: _F) -> _F:
        _check(function)
        return function


enabled: bool = _bind()
region: type[_Region] = _Region if enabled else _Idle
iteration: type[_Region] = _Iteration if enabled else _Idle


def trace_start() -> None:
    """From now on what happens is recorded, where ``sonde run --trace`` asks for recording at all."""
    if enabled:
        _run()


def trace_stop() -> None:
    """From now on nothing is recorded, until the next trace_start."""
    if enabled:
        _pause()


def stop() -> None:
    """Ends measuring in this process for good: it runs on as without, and what it starts later is not measured."""
    if enabled:
        _stop()


def message_begin() -> int:
    """Before a message is sent, or is waited for; what it returns is told when that is done."""
    return _message() if enabled else 0


def message_sent(begun: int, peer: int, tag: int, size: int) -> None:
    """A message of ``size`` bytes to rank ``peer`` is sent: the n-th of ``tag`` is the n-th the peer receives with it."""
    if enabled:
        _sent(begun, peer, tag, size)


def message_received(begun: int, peer: int, tag: int, size: int) -> None:
    """A message of ``size`` bytes from rank ``peer`` is there."""
    if enabled:
        _received(begun, peer, tag, size)


def open(path: str | os.PathLike[str]) -> Database:
    """Opens a database (NAME.sdb). Raises Error where it cannot be read."""
    from ._database import Database

    return Database(path)


def __getattr__(name: str) -> Any:
    for module, names in _LATE.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module 'sonde' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *(name for names in _LATE.values() for name in names)])
