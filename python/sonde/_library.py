# SPDX-License-Identifier: Apache-2.0
"""libsonde-db.so through ctypes: where it is, and what its functions take (include/sonde/db.h, formula.h, trace.h).

Nothing here knows about lifetimes or types of Python; `_database` does.
"""

from __future__ import annotations

import ctypes
import os
import sysconfig
from collections.abc import Iterator
from ctypes import (
    POINTER,
    Structure,
    c_bool,
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_size_t,
    c_uint,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from pathlib import Path
from typing import Any

NONE = 0xFFFFFFFF
ERRNO_ARGUMENT = -5  # SN_ERR_ARGUMENT


class Error(Exception):
    """What went wrong, in one line."""


class ErrorText(Structure):
    _fields_ = [("text", c_char * 512)]


class Module(Structure):
    _fields_ = [("path", c_uint32), ("build_id", c_uint32), ("flags", c_uint32), ("reserved", c_uint32)]


class Frame(Structure):
    _fields_ = [
        ("kind", c_uint8),
        ("flags", c_uint8),
        ("reserved", c_uint16),
        ("name", c_uint32),
        ("linkage_name", c_uint32),
        ("module", c_uint32),
        ("file", c_uint32),
        ("line", c_uint32),
        ("function_line", c_uint32),
        ("loop_number", c_uint32),
        ("offset", c_uint64),
    ]


class Context(Structure):
    _fields_ = [("frame", c_uint32), ("parent", c_uint32), ("end", c_uint32), ("depth", c_uint32)]


class Metric(Structure):
    _fields_ = [
        ("name", c_uint32),
        ("unit", c_uint32),
        ("source", c_uint32),
        ("kind", c_uint32),
        ("period", c_uint64),
    ]


class Profile(Structure):
    _fields_ = [
        ("host", c_uint32),
        ("program", c_uint32),
        ("thread", c_uint32),
        ("rank", c_int32),
        ("pid", c_uint64),
        ("tid", c_uint64),
        ("kind", c_uint32),
        ("device", c_uint32),
        ("device_context", c_uint32),
        ("stream", c_uint32),
        ("start_ns", c_uint64),
        ("end_ns", c_uint64),
        ("cpu_ns", c_uint64),
        ("samples", c_uint64),
        ("own_ns", c_uint64),
        ("run", c_uint32),
        ("reserved", c_uint32),
    ]


class Drop(Structure):
    _fields_ = [("cause", c_uint32), ("text", c_uint32), ("count", c_uint64)]


class Finding(Structure):
    _fields_ = [("rule", c_char_p), ("suggestion", c_char_p), ("severity", c_uint32), ("evidence_count", c_uint32)]


class Evidence(Structure):
    _fields_ = [("name", c_char_p), ("unit", c_char_p), ("value", c_double)]


class Stat(Structure):
    _fields_ = [("count", c_double), ("sum", c_double), ("min", c_double), ("max", c_double), ("sum_squares", c_double)]


PARTS = ("count", "sum", "min", "max", "sum_squares")
SCOPES = ("exclusive", "inclusive", "across")


class Columns(Structure):
    _fields_ = [("numbers", c_void_p * 5), ("forms", c_uint32), ("period", c_double)]


class Plane(Structure):
    _fields_ = [("count", c_size_t), ("ids", c_void_p), ("columns", Columns)]


class SummaryPlane(Structure):
    _fields_ = [("count", c_size_t), ("contexts", c_void_p), ("columns", Columns * 3)]


class Summary(Structure):
    _fields_ = [("exclusive", Stat), ("inclusive", Stat), ("across", Stat)]


class FormulaEntry(Structure):
    _fields_ = [("name", c_char_p), ("text", c_char_p), ("unit", c_char_p), ("about", c_char_p)]


class Track(Structure):
    _fields_ = [
        ("profile", c_uint32),
        ("kind", c_uint16),
        ("flags", c_uint16),
        ("metric", c_uint32),
        ("lane", c_uint32),
        ("event_count", c_uint64),
        ("start_ns", c_uint64),
        ("end_ns", c_uint64),
        ("first_block", c_uint64),
        ("first_summary", c_uint64),
        ("block_count", c_uint32),
        ("summary_count", c_uint32),
    ]


class AttributeKey(Structure):
    _fields_ = [("name", c_uint32), ("unit", c_uint32), ("type", c_uint32), ("reserved", c_uint32)]


class EventBlock(Structure):
    _fields_ = [
        ("count", c_size_t),
        ("first", c_uint64),
        ("starts_ns", c_void_p),
        ("ends_ns", c_void_p),
        ("contexts", c_void_p),
        ("links", c_void_p),
    ]


class AttributeColumn(Structure):
    _fields_ = [("values", c_void_p), ("is_present", c_void_p)]


_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "sonde_db_open": (c_int, [c_char_p, POINTER(c_void_p), POINTER(ErrorText)]),
    "sonde_db_close": (None, [c_void_p]),
    "sonde_db_string": (c_char_p, [c_void_p, c_uint32]),
    "sonde_frame_kind_name": (c_char_p, [c_uint32]),
    "sonde_frame_kind_layer": (c_char_p, [c_uint32]),
    "sonde_db_metric_by_name": (c_uint32, [c_void_p, c_char_p]),
    "sonde_db_metric_calls": (c_uint32, [c_void_p, c_uint32]),
    "sonde_db_metric_counts": (c_char_p, [c_void_p, c_uint32]),
    "sonde_db_profile_plane": (Plane, [c_void_p, c_uint32, c_uint32]),
    "sonde_db_context_row": (Plane, [c_void_p, c_uint32, c_uint32]),
    "sonde_db_plane_numbers": (None, [POINTER(Plane), c_int, c_size_t, c_size_t, c_void_p]),
    "sonde_db_summary_plane": (SummaryPlane, [c_void_p, c_uint32]),
    "sonde_db_summary_numbers": (None, [POINTER(SummaryPlane), c_int, c_int, c_size_t, c_size_t, c_void_p]),
    "sonde_db_summary": (c_bool, [c_void_p, c_uint32, c_uint32, POINTER(Summary)]),
    "sonde_db_damage": (c_char_p, [c_void_p]),
    "sonde_db_verify": (c_int, [c_void_p, POINTER(ErrorText)]),
    "sonde_db_property_key": (c_char_p, [c_void_p, c_uint32]),
    "sonde_db_property_value": (c_char_p, [c_void_p, c_uint32]),
    "sonde_db_property_count": (c_uint32, [c_void_p]),
    "sonde_db_finding_rules": (c_uint32, [c_void_p]),
    "sonde_db_finding_count": (c_uint32, [c_void_p]),
    "sonde_db_finding": (c_bool, [c_void_p, c_uint32, POINTER(Finding)]),
    "sonde_db_evidence": (c_bool, [c_void_p, c_uint32, c_uint32, POINTER(Evidence)]),
    "sonde_formula_open": (c_int, [c_void_p, c_char_p, POINTER(c_void_p), POINTER(ErrorText), POINTER(c_size_t)]),
    "sonde_formula_close": (None, [c_void_p]),
    "sonde_formula_unit": (c_char_p, [c_void_p]),
    "sonde_formula_value": (c_double, [c_void_p, c_uint32, c_bool]),
    "sonde_formula_values": (None, [c_void_p, c_bool, c_void_p]),
    "sonde_formula_profile_values": (c_int, [c_void_p, c_uint32, c_bool, c_void_p]),
    "sonde_formula_context_values": (c_int, [c_void_p, c_uint32, c_bool, c_void_p]),
    "sonde_formula_list_open": (c_int, [c_void_p, POINTER(c_void_p)]),
    "sonde_formula_list_close": (None, [c_void_p]),
    "sonde_formula_list_count": (c_uint32, [c_void_p]),
    "sonde_formula_list_entry": (FormulaEntry, [c_void_p, c_uint32]),
    "sonde_trace_open": (c_int, [c_void_p, POINTER(c_void_p), POINTER(ErrorText)]),
    "sonde_trace_close": (None, [c_void_p]),
    "sonde_trace_track_count": (c_uint32, [c_void_p]),
    "sonde_trace_track": (c_void_p, [c_void_p, c_uint32]),
    "sonde_trace_key_count": (c_uint32, [c_void_p]),
    "sonde_trace_key": (c_void_p, [c_void_p, c_uint32]),
    "sonde_event_cursor_new": (c_void_p, [c_void_p, c_uint32, c_uint64, c_uint64, c_uint]),
    "sonde_event_cursor_free": (None, [c_void_p]),
    "sonde_event_cursor_next": (c_int, [c_void_p, POINTER(EventBlock), POINTER(ErrorText)]),
    "sonde_event_cursor_attribute": (c_bool, [c_void_p, c_uint32, POINTER(AttributeColumn)]),
}
for _records in ("module", "frame", "context", "metric", "profile", "drop"):
    _FUNCTIONS[f"sonde_db_{_records}_count"] = (c_uint32, [c_void_p])
    _FUNCTIONS[f"sonde_db_{_records}"] = (c_void_p, [c_void_p, c_uint32])


def _candidates(name: str, soname: str, variable: str) -> Iterator[str]:
    """What the variable names, else where pip puts it, else where the loader looks."""
    chosen = os.environ.get(variable)
    if chosen:
        yield chosen
        return
    # beside the package, or where packages with libraries are, which some systems keep apart (lib64)
    for site in (Path(__file__).parent.parent, Path(sysconfig.get_path("platlib"))):
        packed = site / ".sonde.mesonpy.libs" / name
        if packed.exists():
            yield str(packed)
    yield soname


def load(name: str, soname: str, variable: str, functions: dict[str, tuple[Any, list[Any]]]) -> ctypes.CDLL:
    """One of Sonde's libraries, with what its functions take."""
    why = ""
    for candidate in _candidates(name, soname, variable):
        try:
            library = ctypes.CDLL(candidate)
            break
        except OSError as error:
            why = why or str(error)
    else:
        raise Error(f"cannot load {name}: {why} ({variable} can name it)")
    for function_name, (result, arguments) in functions.items():
        try:
            function = getattr(library, function_name)
        except AttributeError:
            raise Error(f"cannot use {name}: it has no {function_name}") from None
        function.restype, function.argtypes = result, arguments
    return library


_loaded: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """The library, loaded when it is first needed."""
    global _loaded
    if _loaded is None:
        _loaded = load("libsonde-db.so", "libsonde-db.so.2", "SONDE_DB_LIBRARY", _FUNCTIONS)
    return _loaded
