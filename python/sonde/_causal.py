# SPDX-License-Identifier: Apache-2.0
"""Causes in tables of observations, by libsonde-analysis.so (include/sonde/analysis.h)."""

from __future__ import annotations

import ctypes
import json
import math
import os
import weakref
from array import array
from collections.abc import Iterable, Mapping, Sequence
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int, c_size_t, c_uint, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from numbers import Real
from typing import Any

from ._library import Error, ErrorText, load


class _Texts(Structure):
    _fields_ = [("items", POINTER(c_char_p)), ("count", c_size_t)]


class _Options(Structure):
    _fields_ = [
        ("target", c_char_p),
        ("tiers", _Texts),
        ("forbidden", _Texts),
        ("required", _Texts),
        ("samples", c_uint32),
        ("threads", c_uint),
        ("seed", c_uint64),
        ("cluster", c_char_p),
    ]


class _Expectation(Structure):
    _fields_ = [
        ("status", c_char_p),
        ("mean", c_double),
        ("change", c_double),
        ("change_low", c_double),
        ("change_high", c_double),
        ("held", POINTER(c_char_p)),
        ("held_count", c_uint32),
    ]


_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "sonde_table_new": (c_void_p, [c_size_t]),
    "sonde_table_read": (c_int, [c_char_p, POINTER(c_void_p), POINTER(ErrorText)]),
    "sonde_table_free": (None, [c_void_p]),
    "sonde_table_add_numbers": (c_int, [c_void_p, c_char_p, c_void_p, POINTER(ErrorText)]),
    "sonde_table_add_categories": (c_int, [c_void_p, c_char_p, POINTER(c_char_p), POINTER(ErrorText)]),
    "sonde_causes_find": (c_int, [c_void_p, POINTER(_Options), POINTER(c_void_p), POINTER(ErrorText)]),
    "sonde_causes_free": (None, [c_void_p]),
    "sonde_causes_json": (c_char_p, [c_void_p]),
    "sonde_causes_expect": (c_int, [c_void_p, c_char_p, POINTER(_Expectation), POINTER(ErrorText)]),
    "sonde_expectation_release": (None, [POINTER(_Expectation)]),
}
_loaded: ctypes.CDLL | None = None


def _library() -> ctypes.CDLL:
    global _loaded
    if _loaded is None:
        _loaded = load("libsonde-analysis.so", "libsonde-analysis.so.0", "SONDE_ANALYSIS_LIBRARY", _FUNCTIONS)
    return _loaded


def _check(result: int, error: ErrorText) -> None:
    if result:
        raise Error(error.text.decode("utf-8", "replace"))


# ---- what was found ----


@dataclass(frozen=True)
class Effect:
    """Of one standard deviation of the cause, in standard deviations, of ranks made normal; None where there is none."""

    value: float | None  # the median of the samples, and their 2.5th and 97.5th percentile
    low: float | None
    high: float | None
    same_sign: float | None  # part of the samples whose effect has the sign of `value`
    sign: int  # 1, -1; 0 where the interval holds 0
    share: float | None  # of the variance that this cause explains beyond the others
    share_turning: float | None  # of that, by what is most (negative) or least in the middle of the cause's range


@dataclass(frozen=True)
class Edge:
    """An edge that at least half of the samples have, and its effect with the other direct causes held."""

    from_: str
    to: str
    directed: bool  # in at least half of the samples with the edge; else the order of the ends says little
    frequency: float  # part of the samples that have the edge; of clusters, without those that give it the other sign
    direction_frequency: float  # in this direction
    reverse_frequency: float  # in the other one
    effect: Effect
    pc: str  # what the second method has there: "directed", "reversed", "undirected" or "none"
    p_adjusted: float | None  # of its tests, for the false discovery rate over all pairs


@dataclass(frozen=True)
class Cause:
    """What the target depends on over all ways."""

    cause: str
    frequency: float  # part of the samples that have a way to the target
    effect: Effect
    # For one standard deviation of the cause, in the target's unit, by double machine learning, and its 95 % interval.
    # None where the target is a category, the cause one of more than two levels, or it cannot be identified.
    change: float | None
    change_low: float | None
    change_high: float | None


@dataclass(frozen=True)
class MainEffect:
    """The effect on the target of a column of the first tier, which is known whether or not the graph has a way."""

    column: str
    frequency: float  # part of the samples that have a way to the target
    effect: Effect


@dataclass(frozen=True)
class Expectation:
    """The target if a column were set in all rows, in its unit. Numbers are None unless the status is "identified"."""

    status: str
    mean: float | None  # of the target as it is
    change: float | None  # and its 95 % interval
    change_low: float | None
    change_high: float | None
    held: tuple[str, ...]  # columns that were held


def _effect(found: Mapping[str, Any]) -> Effect:
    names = {"value": "effect", "low": "effect_low", "high": "effect_high"}
    return Effect(**{name: found[names.get(name, name)] for name in Effect.__dataclass_fields__})


def _edge(found: Mapping[str, Any]) -> Edge:
    own = ("to", "directed", "frequency", "direction_frequency", "reverse_frequency", "pc", "p_adjusted")
    return Edge(from_=found["from"], effect=_effect(found), **{name: found[name] for name in own})


def _cause(found: Mapping[str, Any]) -> Cause:
    adjusted = found["adjusted"] or {}
    change = (adjusted.get(name) for name in ("change", "change_low", "change_high"))
    return Cause(found["cause"], found["frequency"], _effect(found), *change)


class CausalGraph:
    """What `causal` found. `json` has all of it, as `sonde causal --format json` prints it (docs/format/causal.md)."""

    def __init__(self, table: int, causes: int) -> None:
        library = _library()
        self._causes = causes
        weakref.finalize(self, _free, table, causes)
        self.json: dict[str, Any] = json.loads(library.sonde_causes_json(causes))
        self.nodes: list[str] = self.json["nodes"]
        self.edges = [_edge(found) for found in self.json["edges"]]
        self.target: str | None = self.json["target"]
        self.causes = [_cause(found) for found in self.json["causes"]]
        self.main_effects = [MainEffect(found["column"], found["frequency"], _effect(found)) for found in self.json["main_effects"]]
        self.sentences: list[str] = self.json["sentences"]

    def expect(self, column: str, value: object) -> Expectation:
        """The target if the column were `value` in all rows. Raises Error where there is no such column or category."""
        error, found = ErrorText(), _Expectation()
        setting = f"{column}={value}".encode("utf-8", "surrogateescape")
        library = _library()
        _check(library.sonde_causes_expect(self._causes, setting, byref(found), byref(error)), error)
        try:
            numbers = (found.mean, found.change, found.change_low, found.change_high)
            return Expectation(
                found.status.decode(),
                *(None if math.isnan(number) else number for number in numbers),
                held=tuple(found.held[number].decode("utf-8", "replace") for number in range(found.held_count)),
            )
        finally:
            library.sonde_expectation_release(byref(found))

    def __repr__(self) -> str:
        return f"<sonde.CausalGraph: {len(self.nodes)} columns, {len(self.edges)} edges>"


def _free(table: int, causes: int) -> None:
    _library().sonde_causes_free(causes)
    _library().sonde_table_free(table)


# ---- what is asked ----


def _encoded(text: object) -> bytes:
    encoded = str(text).encode("utf-8", "surrogateescape")
    if b"\0" in encoded:
        raise Error("a text with a NUL cannot be compared")
    return encoded


def _texts(given: Iterable[str]) -> _Texts:
    if isinstance(given, str):
        given = [given]
    items = [_encoded(text) for text in given]
    return _Texts((c_char_p * len(items))(*items), len(items))


def _is_missing(value: object) -> bool:
    # pandas' NA and NaT are not equal to themselves, or refuse to say
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True


def _numbers(values: Any) -> Any:
    """A buffer of doubles, or None: some value is no number."""
    kind = getattr(getattr(values, "dtype", None), "kind", None)
    if kind is not None and kind in "biuf":
        import numpy

        return numpy.ascontiguousarray(values, dtype=numpy.float64)
    numbers = array("d")
    for value in values:
        if _is_missing(value):
            numbers.append(math.nan)
        elif isinstance(value, Real):
            numbers.append(float(value))
        else:
            return None
    return numbers


def _add(table: int, name: object, values: Any, rows: int) -> None:
    library, error = _library(), ErrorText()
    if len(values) != rows:
        raise Error(f"'{name}' has {len(values)} values, and the first column {rows}")
    numbers = _numbers(values)
    if numbers is None:
        texts = (c_char_p * rows)(*(None if _is_missing(value) else _encoded(value) for value in values))
        _check(library.sonde_table_add_categories(table, _encoded(name), texts, byref(error)), error)
        return
    memory = numbers.ctypes.data if hasattr(numbers, "ctypes") else numbers.buffer_info()[0]
    _check(library.sonde_table_add_numbers(table, _encoded(name), memory, byref(error)), error)


def _fill(columns: Mapping[Any, Sequence[Any]]) -> int:
    names = list(columns.keys())
    rows = len(columns[names[0]]) if names else 0
    library = _library()
    table: int | None = library.sonde_table_new(rows)
    if not table:
        raise MemoryError
    try:
        for name in names:
            _add(table, name, columns[name], rows)
    except BaseException:
        library.sonde_table_free(table)
        raise
    return table


def _read(path: str | os.PathLike[str]) -> int:
    table, error = c_void_p(), ErrorText()
    _check(_library().sonde_table_read(os.fsencode(path), byref(table), byref(error)), error)
    assert table.value
    return table.value


def causal(
    table: str | os.PathLike[str] | Mapping[Any, Sequence[Any]],
    target: str | None = None,
    *,
    tiers: Iterable[str] = (),
    forbid: Iterable[str] = (),
    require: Iterable[str] = (),
    cluster: str | None = None,
    samples: int = 100,
    threads: int = 0,
    seed: int = 0,
) -> CausalGraph:
    """What in a table of observations depends on what, and how sure that is; `sonde causal` does the same.

    ``table`` is a file that the command reads, or columns by name: a dict of sequences, a pandas data frame. Columns of
    numbers are numbers, all others categories by their texts; None and NaN are missing.

    ``target`` is the column to explain. ``tiers`` name columns in the order in which they come about, ``"gridX,block*"``;
    those of the first one are set from outside. ``forbid`` and ``require`` are arrows, ``"FROM->TO"``. Rows with the same
    value of the column ``cluster`` belong together (one run, one kernel) and are not taken as independent. The same ``seed``
    gives the same result with any number of ``threads`` (0: one for each processor).
    """
    if samples < 0 or threads < 0 or seed < 0:
        raise ValueError("samples, threads and seed are not negative")
    handle = _read(table) if isinstance(table, (str, os.PathLike)) else _fill(table)
    causes, error = c_void_p(), ErrorText()
    library = _library()
    try:
        options = _Options(
            *(None if target is None else _encoded(target), _texts(tiers), _texts(forbid), _texts(require)),
            *(samples, threads, seed, None if cluster is None else _encoded(cluster)),
        )
        _check(library.sonde_causes_find(handle, byref(options), byref(causes), byref(error)), error)
    except BaseException:
        library.sonde_table_free(handle)
        raise
    assert causes.value
    return CausalGraph(handle, causes.value)
