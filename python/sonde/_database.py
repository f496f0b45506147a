# SPDX-License-Identifier: Apache-2.0
"""Databases: contexts, frames, metrics, profiles and values, as objects and as arrays.

Arrays are numpy's where numpy is installed, else memoryviews. Columns of records and ids of planes lie in the
mapped file itself and cost nothing; numbers are decoded into arrays of their own, of float64. Every array keeps the
file mapped, so it stays valid after the database is closed.
"""

from __future__ import annotations

import array
import ctypes
import fnmatch
import math
import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, Union, overload

from . import _events
from . import _library as c
from ._events import Event, Track
from ._library import Error

try:
    import numpy
except ImportError:  # the core needs nothing but the standard library
    numpy = None  # type: ignore[assignment,unused-ignore]

if TYPE_CHECKING:
    import pandas

_T = TypeVar("_T")
Array = Any  # numpy.ndarray or memoryview, one-dimensional
MetricLike = Union["Metric", "Formula", str]

__all__ = [
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
]

_SEVERITIES = ("note", "minor", "major")
_METRIC_KINDS = ("", "time", "count", "bytes", "ratio")


class FormulaError(Error):
    """A formula that cannot be read. `position` is the character where the mistake was noticed."""

    def __init__(self, formula: str, why: str, position: int) -> None:
        super().__init__(f"{why}\n    {formula}\n    {' ' * position}^")
        self.formula, self.why, self.position = formula, why, position


class _Handle:
    """The open file. Whoever holds one keeps the file mapped; the last one closes it."""

    def __init__(self, path: str) -> None:
        self.library = c.library()
        self.pointer = ctypes.c_void_p()
        error = c.ErrorText()
        if "\0" in path:  # C would read the file whose name ends there
            raise ValueError("embedded null byte")
        if self.library.sonde_db_open(os.fsencode(path), ctypes.byref(self.pointer), ctypes.byref(error)):
            text = error.text.decode("utf-8", "replace")
            raise Error(text if text.startswith("cannot ") else f"cannot read '{path}': {text}")

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self.library.sonde_db_close(self.pointer)
            self.pointer = ctypes.c_void_p()

    def string(self, number: int) -> str:
        text: bytes = self.library.sonde_db_string(self.pointer, number)
        return text.decode("utf-8", "replace")

    def memory(self, address: int | None, length: int) -> memoryview:
        """Bytes of the mapped file, read-only; the view keeps the file mapped."""
        if not address or not length:
            return memoryview(b"")
        block = (ctypes.c_uint8 * length).from_address(address)
        block._sonde_handle = self  # type: ignore[attr-defined]
        return memoryview(block).cast("B").toreadonly()

    def check(self) -> None:
        """Raises where values that were read turned out to be damaged."""
        damage: bytes | None = self.library.sonde_db_damage(self.pointer)
        if damage:
            raise Error(damage.decode("utf-8", "replace"))


_FORMATS = {1: "B", 2: "H", 4: "I", 8: "Q"}


def _typed(memory: memoryview, code: str) -> Array:
    """Bytes as an array of one type."""
    if numpy is not None:
        return numpy.frombuffer(memory, dtype=code)
    return memory.cast(code) if len(memory) else memoryview(array.array(code))


def _doubles(count: int) -> tuple[Any, int]:
    """An array of float64 to be filled in, and its address."""
    if numpy is not None:
        numbers = numpy.empty(count, dtype="d")
        return numbers, numbers.ctypes.data
    numbers = array.array("d", bytes(8 * count))
    return numbers, numbers.buffer_info()[0]


def _finished(numbers: Any) -> Array:
    return numbers if numpy is not None else memoryview(numbers)


class _Table:
    """Records of one type, and their fields as columns without copying."""

    def __init__(self, handle: _Handle, what: str, record: type[ctypes.Structure]) -> None:
        self.handle = handle
        self.record = record
        self.count: int = getattr(handle.library, f"sonde_db_{what}_count")(handle.pointer)
        address = getattr(handle.library, f"sonde_db_{what}")(handle.pointer, 0) if self.count else None
        self.memory = handle.memory(address, self.count * ctypes.sizeof(record))

    def at(self, number: int) -> Any:
        size = ctypes.sizeof(self.record)
        return self.record.from_buffer_copy(self.memory, number * size)

    def column(self, name: str) -> Array:
        field = getattr(self.record, name)
        code = _FORMATS[field.size]
        if {f[0]: f[1] for f in self.record._fields_}[name] is ctypes.c_int32:
            code = "i"
        # every field is aligned to its own size, and so is the record
        return _typed(self.memory, code)[field.offset // field.size :: ctypes.sizeof(self.record) // field.size]


@dataclass(frozen=True)
class Stat:
    """What a metric amounts to: of `count` values their sum, least, greatest and sum of squares, in its unit."""

    count: float
    sum: float
    min: float
    max: float
    sum_squares: float

    @property
    def mean(self) -> float:
        """NaN of nothing."""
        return self.sum / self.count if self.count else float("nan")

    @property
    def deviation(self) -> float:
        """Standard deviation of the population; NaN of nothing."""
        if not self.count:
            return float("nan")
        return math.sqrt(max(self.sum_squares / self.count - self.mean**2, 0.0))

    @classmethod
    def _of(cls, stat: c.Stat) -> Stat:
        return cls(stat.count, stat.sum, stat.min, stat.max, stat.sum_squares)


class Plane:
    """Exclusive values of a metric along one axis; what is zero is left out.

    `ids` (uint32, ascending, shape (n,)) are contexts or profiles; `sum`, `count`, `min`, `max` and `sum_squares`
    (float64, shape (n,)) are in the metric's unit.
    """

    def __init__(self, handle: _Handle, plane: c.Plane) -> None:
        self._handle, self._plane = handle, plane
        self.ids: Array = _typed(handle.memory(plane.ids, 4 * plane.count), "I")

    def __len__(self) -> int:
        return int(self._plane.count)

    def _part(self, part: int) -> Array:
        numbers, address = _doubles(len(self))
        self._handle.library.sonde_db_plane_numbers(ctypes.byref(self._plane), part, 0, len(self), address)
        return _finished(numbers)

    @property
    def count(self) -> Array:
        return self._part(0)

    @property
    def sum(self) -> Array:
        return self._part(1)

    @property
    def min(self) -> Array:
        return self._part(2)

    @property
    def max(self) -> Array:
        return self._part(3)

    @property
    def sum_squares(self) -> Array:
        return self._part(4)


class Metric:
    """A measured quantity. `unit` is "ns", "bytes" or "1"; `period` the units between two samples, 0 where every
    event was measured; `kind` one of "time", "count", "bytes" and "ratio"; `counts` what its values are: "samples",
    "calls" (which contain each other: a value is a call's own time), "events" or "sums" (of what, is not known)."""

    def __init__(self, database: Database, number: int) -> None:
        record = database._metrics.at(number)
        string = database._handle.string
        self._database = database
        self.number = number
        self.name = string(record.name)
        self.unit = string(record.unit)
        self.source = string(record.source)
        self.kind = _METRIC_KINDS[record.kind] if record.kind < len(_METRIC_KINDS) else ""
        self.period: int = record.period
        handle = database._handle
        self.counts: str = handle.library.sonde_db_metric_counts(handle.pointer, number).decode()

    def _in(self, scope: str) -> tuple[int, int]:
        """The metric and the scope that hold what is asked for: calls are a metric of their own."""
        if scope != "calls":
            return self.number, _position(c.SCOPES, scope)
        handle = self._database._open()
        return handle.library.sonde_db_metric_calls(handle.pointer, self.number), 0

    def __repr__(self) -> str:
        return f"<sonde.Metric {self.name} in {self.unit}>"

    def summary(self, scope: str = "inclusive", part: str = "sum") -> tuple[Array, Array]:
        """(contexts, numbers), sparse: uint32 ids ascending, and one float64 for each, both of shape (n,).

        `scope` is "exclusive", "inclusive", "across" (statistics of the profiles' inclusive sums) or "calls" (the
        lengths of the context's own calls with all that they called; nothing of a metric that does not count calls);
        `part` is "count", "sum", "min", "max" or "sum_squares". Inclusive values of a metric that counts calls are
        all calls' own times here and below: their sum is the time, their count and extremes are of no one's calls.
        """
        handle = self._database._open()
        number, position = self._in(scope)
        plane = handle.library.sonde_db_summary_plane(handle.pointer, number)
        handle.check()
        numbers, address = _doubles(plane.count)
        handle.library.sonde_db_summary_numbers(
            ctypes.byref(plane), position, _position(c.PARTS, part), 0, plane.count, address
        )
        return _typed(handle.memory(plane.contexts, 4 * plane.count), "I"), _finished(numbers)

    def values(self, scope: str = "inclusive", part: str = "sum") -> Array:
        """One float64 for every context, shape (contexts,); zero where nothing was measured. See `summary`."""
        contexts, numbers = self.summary(scope, part)
        dense, _ = _doubles(len(self._database.contexts))
        if numpy is not None:
            dense.fill(0)
            dense[contexts] = numbers
        else:
            for context, number in zip(contexts, numbers):
                dense[context] = number
        return _finished(dense)

    @property
    def inclusive(self) -> Array:
        """Sums with all descendants, for every context: float64, shape (contexts,), in `unit`."""
        return self.values("inclusive")

    @property
    def exclusive(self) -> Array:
        """Sums of the contexts themselves: float64, shape (contexts,), in `unit`."""
        return self.values("exclusive")


def _position(words: tuple[str, ...], word: str) -> int:
    if word not in words:
        raise ValueError(f"'{word}' is none of {', '.join(words)}")
    return words.index(word)


class Formula:
    """A derived metric, evaluated from the aggregated values at each place (man 7 sonde-formula).

    `unit` is "ns", "bytes", "bytes/s", "1", "ratio" (0.5 is 50 %) or another product; "" where it is not known.
    Empty values are NaN. `profile` is the one whose values are taken, None for all of them merged.
    """

    def __init__(self, database: Database, text: str, profile: Profile | int | None = None) -> None:
        handle = database._open()
        self._database, self._handle = database, handle
        if profile is not None and not isinstance(profile, Profile):
            profile = database.profiles[profile]
        self.profile: Profile | None = profile
        self.name = self.text = text
        self._pointer = ctypes.c_void_p()
        error, position, encoded = c.ErrorText(), ctypes.c_size_t(), text.encode("utf-8")
        if b"\0" in encoded:
            raise ValueError("a formula holds no NUL")
        if handle.library.sonde_formula_open(
            handle.pointer, encoded, ctypes.byref(self._pointer), ctypes.byref(error), ctypes.byref(position)
        ):
            character = len(encoded[: position.value].decode("utf-8", "ignore"))
            raise FormulaError(text, error.text.decode("utf-8", "replace"), character)
        self.unit = handle.library.sonde_formula_unit(self._pointer).decode()

    def __del__(self) -> None:
        if getattr(self, "_pointer", None):
            self._handle.library.sonde_formula_close(self._pointer)
            self._pointer = ctypes.c_void_p()

    def __repr__(self) -> str:
        return f"<sonde.Formula {self.text} in {self.unit or 'no unit'}>"

    def at(self, context: Context | int, *, exclusive: bool = False) -> float:
        """At one context."""
        self._database._open()
        if self.profile is not None:
            return float(self.row(context, "exclusive" if exclusive else "inclusive")[self.profile.number])
        number = self._number(context)
        value: float = self._handle.library.sonde_formula_value(self._pointer, number, exclusive)
        self._handle.check()
        return value

    def values(self, scope: str = "inclusive") -> Array:
        """At every context: float64, shape (contexts,). `scope` is "inclusive" or "exclusive"."""
        self._database._open()
        is_exclusive = not _position(("exclusive", "inclusive"), scope)
        numbers, address = _doubles(len(self._database.contexts))
        if self.profile is None:
            self._handle.library.sonde_formula_values(self._pointer, is_exclusive, address)
        elif self._handle.library.sonde_formula_profile_values(
            self._pointer, self.profile.number, is_exclusive, address
        ):
            raise MemoryError
        self._handle.check()
        return _finished(numbers)

    def row(self, context: Context | int, scope: str = "inclusive") -> Array:
        """At one context, for every profile by itself: float64, shape (profiles,)."""
        self._database._open()
        is_exclusive = not _position(("exclusive", "inclusive"), scope)
        numbers, address = _doubles(len(self._database.profiles))
        if self._handle.library.sonde_formula_context_values(
            self._pointer, self._number(context), is_exclusive, address
        ):
            raise MemoryError
        self._handle.check()
        return _finished(numbers)

    def _number(self, context: Context | int) -> int:
        return context.id if isinstance(context, Context) else self._database.contexts[context].id

    @property
    def inclusive(self) -> Array:
        return self.values("inclusive")

    @property
    def exclusive(self) -> Array:
        return self.values("exclusive")


class Frame:
    """One level of a call path: `kind` ("native", "python", "operator", "kernel", ...), `layer` (what pictures
    colour by), `name`, `file` and `module` (None unknown), `line` and `function_line` (0 unknown), `offset`,
    `loop_number` of several loops of one line (from 1; else 0)."""

    __slots__ = ("file", "function_line", "kind", "layer", "line", "linkage_name", "loop_number",
                 "module", "name", "number", "offset")

    def __init__(self, database: Database, number: int) -> None:
        handle = database._open()
        record = database._frames.at(number)
        library, string = handle.library, handle.string
        self.number = number
        self.kind: str = library.sonde_frame_kind_name(record.kind).decode()
        self.layer: str = library.sonde_frame_kind_layer(record.kind).decode()
        self.name: str = string(record.name)
        self.linkage_name: str = string(record.linkage_name if record.linkage_name != c.NONE else record.name)
        self.file: str | None = string(record.file) if record.file != c.NONE else None
        self.module: str | None = None
        if record.module != c.NONE:
            self.module = string(database._modules.at(record.module).path)
        self.line: int = record.line
        self.function_line: int = record.function_line
        self.offset: int = record.offset
        self.loop_number: int = record.loop_number

    def __repr__(self) -> str:
        return f"<sonde.Frame {self.kind} {self.name}>"


KINDS = {0: "thread", 1: "stream", 2: "processor"}


class Profile:
    """Who was measured: a thread (`kind` "thread"), a device's queue ("stream") or a processor ("processor"), with
    `rank` -1 outside a parallel run, and `device`, `device_context` and `stream` None for what is no stream. Times are
    nanoseconds since the epoch."""

    def __init__(self, database: Database, number: int) -> None:
        record = database._profiles.at(number)
        string = database._handle.string
        self.number = number
        self.kind = KINDS.get(record.kind, "unknown")
        self.host = string(record.host)
        self.program = string(record.program)
        self.thread: str | None = string(record.thread) if record.thread != c.NONE else None
        self.rank: int = record.rank
        self.pid: int = record.pid
        self.tid: int = record.tid
        self.device = _optional(record.device)
        self.device_context = _optional(record.device_context)
        self.stream = _optional(record.stream)
        self.start_ns: int = record.start_ns
        self.end_ns: int = record.end_ns
        self.cpu_ns: int = record.cpu_ns
        self.samples: int = record.samples
        self.own_ns: int = record.own_ns
        self.run: int = record.run

    def __repr__(self) -> str:
        rank = f" rank {self.rank}" if self.rank >= 0 else ""
        return f"<sonde.Profile {self.number}:{rank} {self.kind} {self.pid}/{self.tid}>"


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _optional(number: int) -> int | None:
    return None if number == c.NONE else number


class Context:
    """A node of the calling context tree, known by its `id` (pre-order from 0, the root)."""

    __slots__ = ("_database", "_record", "id")

    def __init__(self, database: Database, number: int) -> None:
        self._database, self.id = database, number
        self._record = database._contexts.at(number)

    def __repr__(self) -> str:
        return f"<sonde.Context {self.id} {self.name}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and other.id == self.id and other._database is self._database

    def __hash__(self) -> int:
        return hash((id(self._database), self.id))

    @property
    def frame(self) -> Frame:
        frame: Frame = self._database.frames[self._record.frame]
        return frame

    @property
    def name(self) -> str:
        return self.frame.name

    @property
    def kind(self) -> str:
        return self.frame.kind

    @property
    def file(self) -> str | None:
        return self.frame.file

    @property
    def line(self) -> int:
        return self.frame.line

    @property
    def module(self) -> str | None:
        return self.frame.module

    @property
    def depth(self) -> int:
        """The root's is 0."""
        return int(self._record.depth)

    @property
    def end(self) -> int:
        """One past the last descendant: the subtree is the range from `id` to here."""
        return int(self._record.end)

    @property
    def parent(self) -> Context | None:
        """None of the root."""
        return self._database.contexts[self._record.parent] if self.id else None

    @property
    def children(self) -> list[Context]:
        children, number = [], self.id + 1
        while number < self.end:
            child = self._database.contexts[number]
            children.append(child)
            number = child.end
        return children

    @property
    def path(self) -> list[Context]:
        """From the root to this one."""
        path: list[Context] = [self]
        while (parent := path[-1].parent) is not None:
            path.append(parent)
        return path[::-1]

    def walk(self) -> Iterator[Context]:
        """This one and all below it, in pre-order."""
        for number in range(self.id, self.end):
            yield self._database.contexts[number]

    def stat(self, metric: Metric | str, scope: str = "inclusive") -> Stat:
        """The statistic of a metric here over all profiles; all zero where nothing was measured. `scope` is as in
        `Metric.summary`: "calls" has how often this was called from here, and how long a call takes."""
        handle, summary = self._database._open(), c.Summary()
        number, position = self._database._metric(metric)._in(scope)
        handle.library.sonde_db_summary(handle.pointer, self.id, number, ctypes.byref(summary))
        handle.check()
        return Stat._of(getattr(summary, c.SCOPES[position]))

    def inclusive(self, metric: MetricLike) -> float:
        """The sum here and below, in the metric's unit, or a formula's value (NaN empty)."""
        return self._value(metric, "inclusive")

    def exclusive(self, metric: MetricLike) -> float:
        """The sum of this context alone, or a formula's value."""
        return self._value(metric, "exclusive")

    def _value(self, metric: MetricLike, scope: str) -> float:
        found = self._database.metric(metric)
        if isinstance(found, Formula):
            return found.at(self, exclusive=scope == "exclusive")
        return self.stat(found, scope).sum

    def row(self, metric: Metric | str) -> Plane:
        """Own values of all profiles here; `ids` are profiles."""
        handle = self._database._open()
        plane = handle.library.sonde_db_context_row(handle.pointer, self.id, self._database._metric(metric).number)
        handle.check()
        return Plane(handle, plane)


class _Objects(Sequence[_T]):
    """Numbered things of one kind, made when asked for; attributes with the names of fields are whole columns."""

    def __init__(self, database: Database, table: _Table, make: Any, columns: tuple[str, ...]) -> None:
        self._database, self._table, self._make, self._columns = database, table, make, columns

    def __len__(self) -> int:
        return self._table.count

    @overload
    def __getitem__(self, number: int) -> _T: ...
    @overload
    def __getitem__(self, number: slice) -> list[_T]: ...
    def __getitem__(self, number: int | slice) -> Any:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        index = operator.index(number)
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(f"there are {len(self)}, not {number}")
        self._database._open()
        return self._make(self._database, index)

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_") or name not in self._columns:
            raise AttributeError(f"no column '{name}': there are {', '.join(self._columns)}")
        self._database._open()
        return self._table.column(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._columns]


class _Metrics(Mapping[str, Metric]):
    """Metrics by name, in the order of their numbers."""

    def __init__(self, database: Database) -> None:
        made = [Metric(database, number) for number in range(database._metrics.count)]
        self._by_name = {metric.name: metric for metric in made}

    def __getitem__(self, name: str) -> Metric:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)


@dataclass(frozen=True)
class Evidence:
    """A number that a finding rests on, in "ns", as a "ratio" or a "count"; or the number of what its unit names: a
    "context", a "profile", a "wait" or a "cause" (of `sonde timeline`)."""

    name: str
    unit: str
    value: float


@dataclass(frozen=True)
class Finding:
    """What an analysis of the events concluded: the `rule` that found it; `severity` "note", "minor" or "major", by the
    part of time that is at stake; `evidence` by name; what to do about it, if that is known; and the contexts that the
    evidence names."""

    rule: str
    severity: str
    evidence: dict[str, Evidence]
    suggestion: str | None
    contexts: list[Context]


class Database:
    """An open database; see `sonde.open`. A context manager. May be used by several threads at once.

    contexts   a sequence of Context; columns .frame .parent .end .depth (uint32, shape (contexts,))
    frames     a sequence of Frame; columns .kind .flags .name .file .line .module .offset ... (names are string ids)
    profiles   a sequence of Profile; columns .rank .pid .tid .kind .start_ns .cpu_ns .samples ...
    metrics    Metric by name
    properties provenance: "command", "host", "duration_ns", "complete", ... to text
    drops      what was not measured: cause to count
    tracks     a sequence of Track: the events, where the database has any
    formulas   definitions by name, of those that come with Sonde and those stored
    findings   what analyses of the events concluded, where that is stored
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._handle: _Handle = _Handle(self.path)
        self._is_closed = False
        self._modules = _Table(self._handle, "module", c.Module)
        self._frames = _Table(self._handle, "frame", c.Frame)
        self._contexts = _Table(self._handle, "context", c.Context)
        self._metrics = _Table(self._handle, "metric", c.Metric)
        self._profiles = _Table(self._handle, "profile", c.Profile)
        self._frame_cache: dict[int, Frame] = {}
        self._opened_trace: _events.Trace | None = None
        self.contexts: _Objects[Context] = _Objects(self, self._contexts, Context, ("frame", "parent", "end", "depth"))
        self.frames: _Objects[Frame] = _Objects(self, self._frames, Database._frame, _names(c.Frame))
        self.profiles: _Objects[Profile] = _Objects(self, self._profiles, Profile, _names(c.Profile))
        self.metrics: Mapping[str, Metric] = _Metrics(self)

    def _open(self) -> _Handle:
        if self._is_closed:
            raise ValueError("the database is closed")
        return self._handle

    def _frame(self, number: int) -> Frame:
        frame = self._frame_cache.get(number)
        if frame is None:
            frame = self._frame_cache[number] = Frame(self, number)
        return frame

    def close(self) -> None:
        """Arrays that were given out stay valid, and keep the file mapped; all else raises ValueError."""
        if not self._is_closed:
            self._is_closed = True
            del self._handle
            self._opened_trace = None
            for table in (self._modules, self._frames, self._contexts, self._metrics, self._profiles):
                del table.memory, table.handle

    @property
    def closed(self) -> bool:
        return self._is_closed

    def __enter__(self) -> Database:
        self._open()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else f"{len(self.contexts)} contexts, {len(self.profiles)} profiles"
        return f"<sonde.Database {self.path}: {state}>"

    @property
    def root(self) -> Context:
        return self.contexts[0]

    def walk(self) -> Iterator[Context]:
        """All contexts in pre-order, the root first."""
        return self.root.walk()

    def find(self, name: str) -> list[Context]:
        """Contexts whose frame has this name; * ? [ ] are wildcards."""
        matching = {number for number in range(len(self.frames)) if fnmatch.fnmatchcase(self._frame(number).name, name)}
        return [self.contexts[i] for i, frame in enumerate(self.contexts.frame) if int(frame) in matching]

    def string(self, number: int) -> str:
        """A string by its number in a column; "" for none."""
        return self._open().string(int(number))

    @property
    def properties(self) -> dict[str, str]:
        handle = self._open()
        key, value = handle.library.sonde_db_property_key, handle.library.sonde_db_property_value
        count = handle.library.sonde_db_property_count(handle.pointer)
        return {
            key(handle.pointer, i).decode("utf-8", "replace"): value(handle.pointer, i).decode("utf-8", "replace")
            for i in range(count)
        }

    @property
    def drops(self) -> dict[str, int]:
        table = _Table(self._open(), "drop", c.Drop)
        records = [table.at(number) for number in range(table.count)]
        return {self.string(record.cause): record.count for record in records}

    @property
    def findings(self) -> list[Finding]:
        handle = self._open()
        return [self._finding(handle, number) for number in range(handle.library.sonde_db_finding_count(handle.pointer))]

    @property
    def finding_rules(self) -> int:
        """The version of the rules by which findings were looked for; 0: none are stored."""
        handle = self._open()
        version: int = handle.library.sonde_db_finding_rules(handle.pointer)
        return version

    def _finding(self, handle: _Handle, number: int) -> Finding:
        found, one = c.Finding(), c.Evidence()
        handle.library.sonde_db_finding(handle.pointer, number, ctypes.byref(found))
        evidence = []
        for i in range(found.evidence_count):
            handle.library.sonde_db_evidence(handle.pointer, number, i, ctypes.byref(one))
            evidence.append(Evidence(_decoded(one.name), _decoded(one.unit), one.value))
        return Finding(
            rule=_decoded(found.rule),
            severity=_SEVERITIES[found.severity] if found.severity < len(_SEVERITIES) else "unknown",
            evidence={one.name: one for one in evidence},
            suggestion=None if found.suggestion is None else _decoded(found.suggestion),
            contexts=[self.contexts[int(one.value)] for one in evidence if one.unit == "context"],
        )

    @property
    def formulas(self) -> dict[str, str]:
        handle, pointer = self._open(), ctypes.c_void_p()
        library = handle.library
        if library.sonde_formula_list_open(handle.pointer, ctypes.byref(pointer)):
            raise MemoryError
        try:
            count = library.sonde_formula_list_count(pointer)
            entries = [library.sonde_formula_list_entry(pointer, number) for number in range(count)]
            return {entry.name.decode(): entry.text.decode("utf-8", "replace") for entry in entries}
        finally:
            library.sonde_formula_list_close(pointer)

    def formula(self, text: str, profile: Profile | int | None = None) -> Formula:
        """A formula, or one of `formulas` by its name; of one profile, or of all merged. Raises FormulaError."""
        return Formula(self, text, profile)

    def metric(self, metric: MetricLike) -> Metric | Formula:
        """A metric by its name, else a formula."""
        self._open()
        if not isinstance(metric, str):
            return metric
        return self.metrics[metric] if metric in self.metrics else self.formula(metric)

    def _metric(self, metric: Metric | str) -> Metric:
        if isinstance(metric, Metric):
            return metric
        if not isinstance(metric, str):
            raise TypeError(f"a metric or its name, not {type(metric).__name__}")
        if metric not in self.metrics:
            raise KeyError(f"metric '{metric}' was not measured; there are {', '.join(self.metrics) or 'none'}")
        return self.metrics[metric]

    def plane(self, profile: Profile | int, metric: Metric | str) -> Plane:
        """Own values of one profile; `ids` are contexts."""
        handle = self._open()
        number = profile.number if isinstance(profile, Profile) else self.profiles[profile].number
        plane = handle.library.sonde_db_profile_plane(handle.pointer, number, self._metric(metric).number)
        handle.check()
        return Plane(handle, plane)

    def row(self, context: Context | int, metric: Metric | str) -> Plane:
        """Own values of all profiles at one context; `ids` are profiles."""
        return (context if isinstance(context, Context) else self.contexts[context]).row(metric)

    def _trace(self) -> _events.Trace:
        handle = self._open()
        if self._opened_trace is None:
            self._opened_trace = _events.Trace(handle)
        return self._opened_trace

    @property
    def tracks(self) -> list[Track]:
        """Ordered by profile, kind, metric and lane; none where nothing was recorded over time."""
        trace = self._trace()
        return [Track(self, number) for number in range(trace.library.sonde_trace_track_count(trace.pointer))]

    def _chosen_tracks(self, profile: Profile | int | None, kind: str | None) -> list[Track]:
        if kind is not None:
            _position(tuple(_events.KINDS.values()), kind)
        number = self.profiles[profile].number if isinstance(profile, int) else profile and profile.number
        return [
            track
            for track in self.tracks
            if (number is None or track.profile.number == number) and (kind is None or track.kind == kind)
        ]

    def events(
        self,
        profile: Profile | int | None = None,
        kind: str | None = None,
        start_ns: int = 0,
        end_ns: int = _events.FOREVER,
    ) -> Iterator[Event]:
        """Events of all tracks, one track after the other, by start: of one profile, of one kind (see Track), and those
        under way in [start_ns, end_ns]. `Track.blocks` gives them as arrays, which is faster."""
        for track in self._chosen_tracks(profile, kind):
            yield from track.events(start_ns, end_ns)

    def events_to_pandas(
        self,
        profile: Profile | int | None = None,
        kind: str | None = None,
        start_ns: int = 0,
        end_ns: int = _events.FOREVER,
    ) -> pandas.DataFrame:
        """A frame with a row for each event of `events`, in the same order.

        Columns: track, profile, kind, lane, start_ns, end_ns, context (an id), name (the context's), link, then
        "attribute.NAME" for each attribute that any of them has. Needs pandas and numpy.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError("events_to_pandas needs pandas: pip install 'sonde[pandas]'") from error
        columns: dict[str, Any] = dict(_events.table(self._chosen_tracks(profile, kind), start_ns, end_ns))
        for name in ("start_ns", "end_ns", "link"):
            columns[name] = numpy.asarray(columns[name], dtype="uint64")
        return pandas.DataFrame(columns)

    def verify(self) -> None:
        """Reads and checks the whole file. Raises Error with the first thing that is wrong."""
        handle, error = self._open(), c.ErrorText()
        if handle.library.sonde_db_verify(handle.pointer, ctypes.byref(error)):
            raise Error(error.text.decode("utf-8", "replace"))

    def to_pandas(self, metrics: Sequence[MetricLike] | None = None) -> pandas.DataFrame:
        """A frame with a row for each context, in pre-order, indexed by its id.

        Columns: parent, depth, kind, name, module, file, line; then for each metric NAME (of the context itself)
        and "NAME (inc)" (with all below it), in the metric's unit. `metrics` are names, formulas or objects; all
        metrics by default. Needs pandas and numpy.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: pip install 'sonde[pandas]'") from error
        frames = [self._frame(number) for number in range(len(self.frames))]
        of_context = [frames[int(number)] for number in self.contexts.frame]
        columns: dict[str, Any] = {
            "parent": numpy.asarray(self.contexts.parent, dtype="int64"),
            "depth": numpy.asarray(self.contexts.depth),
        }
        columns["parent"][0] = -1
        for name in ("kind", "name", "module", "file", "line"):
            columns[name] = [getattr(frame, name) for frame in of_context]
        for wanted in self.metrics.values() if metrics is None else metrics:
            metric = self.metric(wanted)
            columns[metric.name] = metric.exclusive
            columns[f"{metric.name} (inc)"] = metric.inclusive
        return pandas.DataFrame(columns, index=pandas.RangeIndex(len(self.contexts), name="context"))


def _names(record: type[ctypes.Structure]) -> tuple[str, ...]:
    return tuple(field[0] for field in record._fields_ if not field[0].startswith("reserved"))


for _name in __all__:
    globals()[_name].__module__ = "sonde"  # where users find them, and what tracebacks say
