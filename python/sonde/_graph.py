# SPDX-License-Identifier: Apache-2.0
"""Dataflow graphs that a Python program describes, for the collector (include/sonde/sonde.h)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from types import TracebackType
from typing import Any


class _Description(ctypes.Structure):
    """struct sonde_node_description"""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_char_p),
        ("module", ctypes.c_char_p),
        ("device", ctypes.c_char_p),
        ("file", ctypes.c_char_p),
        ("line", ctypes.c_uint32),
        ("parent", ctypes.c_uint32),
    ]


def _bind() -> Any:
    """The collector in this process, or None: it was preloaded, or nothing is measured."""
    if "SONDE_OUTPUT" not in os.environ:
        return None
    # PyDLL keeps the interpreter's lock: the collector reads this thread's Python frames
    library = ctypes.PyDLL(None)
    number = ctypes.c_uint32
    try:
        signatures = (
            (library.sonde_model, number, (ctypes.c_char_p,)),
            (library.sonde_model_node, number, (number, ctypes.POINTER(_Description))),
            (library.sonde_model_edge, None, (number, number, ctypes.c_uint, ctypes.c_uint64)),
            (library.sonde_python_node_begin, number, (number,)),
            (library.sonde_python_node_end, None, (number, number)),
            (library.sonde_model_iteration_begin, None, (number,)),
            (library.sonde_model_iteration_end, None, (number,)),
        )
    except AttributeError:
        return None
    for function, result, arguments in signatures:
        function.restype = result
        function.argtypes = arguments
    return library


_library = _bind()


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "replace").replace(b"\0", b"?")


class Node:
    """A node of a model; ``with node:`` around what it computes. One thread at a time enters one object."""

    __slots__ = ("_number", "_tokens", "name")

    def __init__(self, number: int, name: str) -> None:
        self._number = number
        self._tokens: list[int] = []
        self.name = name

    def __enter__(self) -> Node:
        if _library is not None:
            self._tokens.append(_library.sonde_python_node_begin(self._number))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if _library is not None:
            _library.sonde_python_node_end(self._number, self._tokens.pop())


class _Turn:
    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> None:
        if _library is not None:
            _library.sonde_model_iteration_begin(self._number)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if _library is not None:
            _library.sonde_model_iteration_end(self._number)


class Model:
    """A dataflow graph of this program.

        model = sonde.Model("pipeline")
        load = model.node("load", type="read")
        train = model.node("train", inputs=[load])
        for batch in batches:
            with model.iteration():
                with load:
                    ...
                with train:
                    ...

    Under ``sonde run`` the collector learns it, and ``sonde graph`` shows it. Otherwise this does nothing.
    """

    __slots__ = ("_number", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._number: int = 0 if _library is None else _library.sonde_model(_encoded(name))

    def node(
        self,
        name: str,
        *,
        type: str | None = None,
        module: str | None = None,
        device: str | None = None,
        inputs: Iterable[Node] = (),
        parent: Node | None = None,
    ) -> Node:
        """The node of that name; its first input is what the first of ``inputs`` makes, and so on."""
        if _library is None:
            return Node(0, name)
        description = _Description(
            _encoded(name),
            _encoded(type),
            _encoded(module),
            _encoded(device),
            None,
            0,
            parent._number if parent is not None else 0,
        )
        made = Node(_library.sonde_model_node(self._number, ctypes.byref(description)), name)
        for index, source in enumerate(inputs):
            self.edge(source, made, index)
        return made

    def edge(self, source: Node, target: Node, index: int = 0, bytes: int = 0) -> None:
        """Input ``index`` of ``target`` is what ``source`` made."""
        if _library is not None:
            _library.sonde_model_edge(source._number, target._number, index, bytes)

    def iteration(self) -> _Turn:
        """``with model.iteration():`` around one turn of the loop that runs it."""
        return _Turn(self._number)
