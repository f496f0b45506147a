# SPDX-License-Identifier: Apache-2.0
"""Perfetto's protobuf for tests: an independent reader of what `sonde export` writes, and a writer of what
`sonde import` reads. Messages are dictionaries of field numbers, after protos/perfetto/trace."""
from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


class Fixed(int):
    """A number that is written in eight bytes."""


def message(fields: dict[int, object]) -> bytes:
    """Numbers, texts, bytes, messages (dictionaries), reals, and lists of these."""
    out = bytearray()
    for number, values in fields.items():
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, Fixed):
                out += varint(number << 3 | 1) + struct.pack("<Q", value)
            elif isinstance(value, float):
                out += varint(number << 3 | 1) + struct.pack("<d", value)
            elif isinstance(value, int):
                out += varint(number << 3) + varint(value)
            else:
                data = message(value) if isinstance(value, dict) else value.encode() if isinstance(value, str) else value
                out += varint(number << 3 | 2) + varint(len(data)) + data
    return bytes(out)


def trace(packets: list[dict[int, object]]) -> bytes:
    return b"".join(message({1: packet}) for packet in packets)


def decode(data: bytes, has_fixed: bool = True) -> dict[int, list]:
    """The fields of a message by number; those of eight bytes are right only where they are expected."""
    at, found = 0, defaultdict(list)

    def number() -> int:
        nonlocal at
        shift = value = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = number()
        if key & 7 == 0:
            found[key >> 3].append(number())
        elif key & 7 == 1 and has_fixed:
            found[key >> 3].append(data[at:at + 8])
            at += 8
        else:
            assert key & 7 == 2, key
            length = number()
            assert at + length <= len(data)
            found[key >> 3].append(data[at:at + length])
            at += length
    return found


def signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


@dataclass
class Slice:
    track: int
    kind: str  # "slice", "instant"
    start: int
    end: int = -1
    name: str = ""
    category: str = ""
    flow: int = 0
    args: dict[str, object] = field(default_factory=dict)


class Reader:
    """Everything in a file of `sonde export --to perfetto`, by the rules of Perfetto's clocks, sequences and tracks."""

    def __init__(self, path: Path) -> None:
        self.tracks: dict[int, dict] = {}
        self.slices: list[Slice] = []
        self.counters: list[tuple[int, int, object]] = []  # track, time, value
        self.samples: list[tuple[int, int, list[tuple]]] = []  # tid, time, frames from the outermost
        self.attributes: dict[str, str] = {}
        self.bytes = path.stat().st_size
        state: dict[int, dict] = {}
        open_slices: dict[int, list[Slice]] = defaultdict(list)
        for data in decode(path.read_bytes())[1]:
            packet = decode(data)
            assert len(packet[10]) == 1, "every packet is of a sequence"
            sequence = state.setdefault(packet[10][0], {"interned": defaultdict(dict), "track": 0, "time": None})
            if packet[13] == [1]:
                sequence.update(interned=defaultdict(dict), cleared=True)
            if 6 in packet:
                clocks = {decode(c)[1][0]: decode(c) for c in decode(packet[6][0])[1]}
                assert clocks[64][3] == [1] and clocks[6][2] == clocks[1][2] == clocks[64][2]
                sequence["time"] = clocks[64][2][0]
            if 59 in packet:
                defaults = decode(packet[59][0])
                assert defaults[58] == [64]
                sequence["track"] = decode(defaults[11][0])[11][0]
            for interned in packet[12]:
                for number, items in decode(interned).items():
                    for item in map(decode, items):
                        assert item[1][0] not in sequence["interned"][number], "interned twice"
                        sequence["interned"][number][item[1][0]] = item
            for descriptor in map(decode, packet[60]):
                assert descriptor[1][0] not in self.tracks
                assert not descriptor[5] or descriptor[5][0] in self.tracks
                self.tracks[descriptor[1][0]] = descriptor
            if 8 in packet:
                sequence["time"] += packet[8][0]
            for attribute in decode(packet[126][0])[1] if 126 in packet else []:
                self.attributes[decode(attribute)[1][0].decode()] = decode(attribute)[3][0].decode()
            if 11 in packet:
                assert packet[13] == [2] and sequence["cleared"]
                self._event(decode(packet[11][0]), sequence, open_slices)
            if 66 in packet:
                self._sample(decode(packet[66][0]), sequence)
        assert not any(open_slices.values()), "a slice has no end"

    @staticmethod
    def text(sequence: dict, number: int, iid: int) -> str:
        return sequence["interned"][number][iid][2][0].decode()

    def _event(self, event: dict, sequence: dict, open_slices: dict[int, list[Slice]]) -> None:
        track = event[11][0] if event[11] else sequence["track"]
        assert track in self.tracks
        kind, time = event[9][0], sequence["time"]
        if kind == 2:
            open_slices[track].pop().end = time
            return
        if kind == 4:
            value = struct.unpack("<d", event[44][0])[0] if event[44] else signed(event[30][0])
            self.counters.append((track, time, value))
            return
        slice = Slice(track, "slice" if kind == 1 else "instant", time)
        slice.name = event[23][0].decode() if event[23] else self.text(sequence, 2, event[10][0])
        slice.category = self.text(sequence, 1, event[3][0])
        slice.flow = struct.unpack("<Q", event[47][0])[0] if event[47] else 0
        for annotation in map(decode, event[4]):
            name = self.text(sequence, 3, annotation[1][0])
            slice.args[name] = (self.text(sequence, 29, annotation[17][0]) if annotation[17]
                                else struct.unpack("<d", annotation[5][0])[0] if annotation[5]
                                else signed(annotation[4][0]) if annotation[4] else annotation[3][0])
        self.slices.append(slice)
        if kind == 1:
            open_slices[track].append(slice)

    def _sample(self, sample: dict, sequence: dict) -> None:
        interned, frames = sequence["interned"], []
        for iid in interned[7][sample[4][0]][2] if sample[4] else []:
            frame = interned[6][iid]
            frames.append((self.text(sequence, 5, frame[2][0]),
                           self.text(sequence, 18, frame[5][0]) if frame[5] else "", frame[6][0] if frame[6] else 0))
        self.samples.append((sample[3][0], sequence["time"], frames))

    def place(self, track: int) -> tuple:
        """The thread a track is of ("thread", pid, tid), or its stream ("stream", description)."""
        while True:
            descriptor = self.tracks[track]
            if descriptor[4]:
                thread = decode(descriptor[4][0])
                return "thread", thread[1][0], thread[2][0]
            if descriptor[14]:
                return "stream", descriptor[14][0].decode()
            track = descriptor[5][0]
