# SPDX-License-Identifier: Apache-2.0
"""Events of a database: what happened when, as arrays and as objects (include/sonde/trace.h)."""

from __future__ import annotations

import array
import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from . import _library as c
from ._library import Error

if TYPE_CHECKING:
    from ._database import Array, Context, Database, Metric, Profile, _Handle

__all__ = ["Event", "Events", "Track"]

KINDS = {1: "samples", 2: "intervals", 3: "instants", 4: "counter", 5: "states", 6: "system"}
FOREVER = 2**64 - 1
_BRIEF, _OVERLAPS = 1, 1
_UNSIGNED, _SIGNED, _REAL, _STRING = 1, 2, 3, 4
_CODES = {_UNSIGNED: "Q", _SIGNED: "q", _REAL: "d", _STRING: "Q"}

Value = Union[int, float, str]


class _Key(NamedTuple):
    number: int
    name: str
    type: int


class Trace:
    """The events of an open file. Whoever holds one keeps the file mapped; the last one closes it."""

    def __init__(self, handle: _Handle) -> None:
        self.handle, self.library = handle, handle.library
        self.pointer = ctypes.c_void_p()
        error = c.ErrorText()
        if self.library.sonde_trace_open(handle.pointer, ctypes.byref(self.pointer), ctypes.byref(error)):
            raise Error(error.text.decode("utf-8", "replace"))
        keys = []
        for number in range(self.library.sonde_trace_key_count(self.pointer)):
            key = c.AttributeKey.from_address(self.library.sonde_trace_key(self.pointer, number))
            keys.append(_Key(number, handle.string(key.name), key.type))
        self.keys = tuple(keys)

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self.library.sonde_trace_close(self.pointer)
            self.pointer = ctypes.c_void_p()


class _Cursor:
    def __init__(self, trace: Trace, track: int, start_ns: int, end_ns: int, flags: int) -> None:
        self.trace = trace  # which outlives it
        self.pointer = trace.library.sonde_event_cursor_new(trace.pointer, track, start_ns, end_ns, flags)
        if not self.pointer:
            raise MemoryError

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self.trace.library.sonde_event_cursor_free(self.pointer)

    def next(self) -> c.EventBlock | None:
        block, error = c.EventBlock(), c.ErrorText()
        result = self.trace.library.sonde_event_cursor_next(self.pointer, ctypes.byref(block), ctypes.byref(error))
        if result < 0:
            raise Error(error.text.decode("utf-8", "replace"))
        return block if result else None

    def attributes(self, count: int) -> dict[str, list[Value | None]]:
        """Of the block it stands at: for each attribute that any event has, a list with one value for each event."""
        found: dict[str, list[Value | None]] = {}
        column = c.AttributeColumn()
        for key in self.trace.keys:
            if not self.trace.library.sonde_event_cursor_attribute(self.pointer, key.number, ctypes.byref(column)):
                continue
            values = self._values(key, column.values, count)
            is_present = ctypes.string_at(column.is_present, count) if column.is_present else b"\1" * count
            # keys of one name that differ by type are one attribute
            merged = found.setdefault(key.name, [None] * count)
            for place, value in enumerate(values):
                if is_present[place]:
                    merged[place] = value
        return found

    def _values(self, key: _Key, address: int, count: int) -> list[Value]:
        numbers: list[Any] = array.array(_CODES.get(key.type, "Q"), ctypes.string_at(address, 8 * count)).tolist()
        if key.type != _STRING:
            return numbers
        # a number that no string has, in a damaged file, is ""
        texts = {number: self.trace.handle.string(min(number, c.NONE)) for number in set(numbers)}
        return [texts[number] for number in numbers]


class Events:
    """Consecutive events of a track, up to 4,096, by start.

    `start_ns` and `end_ns` (uint64, nanoseconds since the epoch; samples, instants and counters end where they start),
    `context` (uint32, ids), `link` (uint64: equal numbers tie a call to what it launched, 0 none), all of shape (n,).
    `attributes`: name to a list of n values (int, float or str), None where an event has none.
    """

    def __init__(self, track: Track, block: c.EventBlock, attributes: dict[str, list[Value | None]]) -> None:
        from ._database import _typed

        def copied(address: int | None, code: str, size: int) -> Array:
            length = block.count * size
            return _typed(memoryview(ctypes.string_at(address, length) if address else bytes(length)), code)

        self.track = track
        self.first: int = block.first
        self.start_ns: Array = copied(block.starts_ns, "Q", 8)
        self.end_ns: Array = copied(block.ends_ns, "Q", 8)
        self.context: Array = copied(block.contexts, "I", 4)
        self.link: Array = copied(block.links, "Q", 8)
        self.attributes = attributes

    def __len__(self) -> int:
        return len(self.start_ns)


class Event(NamedTuple):
    """One event. `attributes` are those it has: "bytes", "grid.x", "value" of a counter, ..."""

    track: Track
    start_ns: int
    end_ns: int
    context: Context
    link: int
    attributes: dict[str, Value]


class Track:
    """Events of one profile and one kind, by start: a row of a timeline.

    `kind` is "samples" (the context that the thread was in until the next sample), "intervals", "instants", "counter"
    (of `metric`; else that is None), "states" (what the operating system said of the thread) or "system" (what it did
    for it). Intervals of one track do not overlap: what nests or runs at once lies in other lanes, 0 the outermost.
    """

    def __init__(self, database: Database, number: int) -> None:
        trace = database._trace()
        record = c.Track.from_address(trace.library.sonde_trace_track(trace.pointer, number))
        self._database, self._events = database, trace
        self.number = number
        self.profile: Profile = database.profiles[record.profile]
        self.kind = KINDS.get(record.kind, "unknown")
        self.metric: Metric | None = None
        if record.metric != c.NONE:
            self.metric = list(database.metrics.values())[record.metric]
        self.lane: int = record.lane
        self.event_count: int = record.event_count
        self.start_ns: int = record.start_ns
        self.end_ns: int = record.end_ns
        self.overlaps = bool(record.flags & _OVERLAPS)  # more at once than there are lanes

    def __repr__(self) -> str:
        return f"<sonde.Track {self.number}: {self.kind}, lane {self.lane} of {self.profile!r}>"

    def __len__(self) -> int:
        return self.event_count

    def blocks(self, start_ns: int = 0, end_ns: int = FOREVER, *, attributes: bool = True) -> Iterator[Events]:
        """All that may have events in this window: the first and the last may reach beyond.

        Without `attributes` there are no links either, and it is faster.
        """
        cursor = _Cursor(self._events, self.number, start_ns, end_ns, 0 if attributes else _BRIEF)
        while True:
            self._database._open()
            block = cursor.next()
            if block is None:
                return
            yield Events(self, block, cursor.attributes(block.count) if attributes else {})

    def events(self, start_ns: int = 0, end_ns: int = FOREVER) -> Iterator[Event]:
        """Those that are under way, or happen, in [start_ns, end_ns]; samples and counters at their own time alone."""
        contexts = self._database.contexts
        for block in self.blocks(start_ns, end_ns):
            for place, (start, end) in enumerate(zip(block.start_ns.tolist(), block.end_ns.tolist())):
                if start <= end_ns and end >= start_ns:
                    values = {name: column[place] for name, column in block.attributes.items()}
                    has = {name: value for name, value in values.items() if value is not None}
                    yield Event(self, start, end, contexts[int(block.context[place])], int(block.link[place]), has)


def table(tracks: list[Track], start_ns: int, end_ns: int) -> dict[str, list[Any]]:
    """Events of tracks as columns of equal length; see Database.events_to_pandas."""
    fixed = ("track", "profile", "kind", "lane", "start_ns", "end_ns", "context", "name", "link")
    columns: dict[str, list[Any]] = {name: [] for name in fixed}
    names: dict[int, str] = {}
    for track in tracks:
        for event in track.events(start_ns, end_ns):
            context = event.context
            name = names.setdefault(context.id, context.name)
            place = (track.number, track.profile.number, track.kind, track.lane)
            row = (*place, event.start_ns, event.end_ns, context.id, name, event.link)
            count = len(columns["track"])
            for column, value in zip(fixed, row):
                columns[column].append(value)
            for key, value in event.attributes.items():
                values = columns.setdefault(f"attribute.{key}", [])
                values.extend([None] * (count - len(values)))
                values.append(value)
    count = len(columns["track"])
    for values in columns.values():
        values.extend([None] * (count - len(values)))
    return columns


for _name in __all__:
    globals()[_name].__module__ = "sonde"  # where users find them, and what tracebacks say
