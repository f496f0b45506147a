# SPDX-License-Identifier: Apache-2.0
"""What was sent, decoded without protobuf's help: OTLP profiles (v1development) and pprof, as rows of the same kind."""
from __future__ import annotations

import gzip
import json
import os
import struct
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pages import varints
from perfetto_trace import decode

# Prints what a message of OTLP profiles has, read by the schema's own modules: one list for each sample.
BY_SCHEMA = """
import json, sys
from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import ExportProfilesServiceRequest
message = ExportProfilesServiceRequest.FromString(sys.stdin.buffer.read())
d, rows = message.dictionary, []
assert not any(m.ListFields() for m in (d.mapping_table[0], d.location_table[0], d.function_table[0], d.stack_table[0], d.link_table[0], d.attribute_table[0]))
assert d.string_table[0] == ""
value = lambda any: getattr(any, any.WhichOneof("value"))
for resource in message.resource_profiles:
    of = {a.key: value(a.value) for a in resource.resource.attributes}
    for scope in resource.scope_profiles:
        for profile in scope.profiles:
            kind = [d.string_table[profile.sample_type.type_strindex], d.string_table[profile.sample_type.unit_strindex]]
            for sample in profile.samples:
                labels = {d.string_table[d.attribute_table[i].key_strindex]: value(d.attribute_table[i].value) for i in sample.attribute_indices}
                stack = [d.string_table[d.function_table[d.location_table[i].lines[0].function_index].name_strindex]
                         for i in d.stack_table[sample.stack_index].location_indices]
                rows.append([kind, {**of, **labels}, stack, sum(sample.values)])
json.dump(rows, sys.stdout)
"""


@dataclass
class Row:
    """A sample: of which type and unit, whose, where (leaf first), how much."""

    kind: tuple[str, str]
    labels: dict[str, object]
    stack: tuple[str, ...]
    value: int


@dataclass
class Sent:
    rows: list[Row] = field(default_factory=list)
    ids: list[bytes] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)  # mappings: their build ids
    times: list[tuple[int, int]] = field(default_factory=list)  # begin and length of each profile
    periods: set[tuple[str, str, int]] = field(default_factory=set)

    def total(self, kind: str, **labels: object) -> int:
        return sum(row.value for row in self.rows if row.kind[0] == kind and labels.items() <= row.labels.items())

    def by(self, kind: str, label: str) -> dict[object, int]:
        sums: Counter = Counter()
        for row in self.rows:
            if row.kind[0] == kind:
                sums[row.labels.get(label)] += row.value
        return dict(sums)

    def by_function(self, kind: str) -> dict[str, int]:
        sums: Counter = Counter()
        for row in self.rows:
            if row.kind[0] == kind:
                sums[row.stack[0]] += row.value
        return dict(sums)


def one(message: dict[int, list], number: int, missing: object = 0) -> object:
    return message[number][0] if number in message else missing


def unpacked(body: bytes) -> bytes:
    return gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body


def any_value(message: bytes) -> object:
    found = decode(message, has_fixed=False)
    return one(found, 1).decode() if 1 in found else one(found, 3)


class OtlpDictionary:
    def __init__(self, message: bytes):
        tables = decode(message, has_fixed=False)
        self.strings = [text.decode() for text in tables[5]]
        for number in (1, 2, 3, 4, 6, 7):
            assert tables[number][0] == b"", f"table {number} does not begin with the empty entry"
            assert len(set(tables[number])) == len(tables[number]), f"table {number} has an entry twice"
        assert self.strings[0] == "" and len(set(self.strings)) == len(self.strings)
        self.mappings = [decode(m, has_fixed=False) for m in tables[1]]
        self.locations = [decode(m, has_fixed=False) for m in tables[2]]
        self.functions = [decode(m, has_fixed=False) for m in tables[3]]
        self.attributes = [decode(m, has_fixed=False) for m in tables[6]]
        self.stacks = [varints(one(decode(m, has_fixed=False), 1, b"")) for m in tables[7]]

    def attribute(self, number: int) -> tuple[str, object]:
        found = self.attributes[number]
        return self.strings[one(found, 1)], any_value(one(found, 2))

    def function(self, location: int) -> str:
        line = decode(one(self.locations[location], 3), has_fixed=False)
        return self.strings[one(self.functions[one(line, 1)], 1)]

    def type_of(self, message: bytes) -> tuple[str, str]:
        found = decode(message, has_fixed=False)
        return self.strings[one(found, 1)], self.strings[one(found, 2)]

    def files(self) -> dict[str, str]:
        found = {}
        for mapping in self.mappings[1:]:
            labels = dict(self.attribute(i) for i in varints(one(mapping, 5, b"")))
            found[self.strings[one(mapping, 4)]] = labels.get("process.executable.build_id.gnu", "")
        return found


def otlp_profile(message: bytes, of: dict[str, object], dictionary: OtlpDictionary, sent: Sent) -> None:
    profile = decode(message)
    kind = dictionary.type_of(one(profile, 1))
    sent.times.append((*struct.unpack("<Q", one(profile, 3)), one(profile, 4)))
    if 5 in profile:
        sent.periods.add((*dictionary.type_of(one(profile, 5)), one(profile, 6)))
    sent.ids += profile.get(7, [])
    for sample in profile[2]:
        found = decode(sample, has_fixed=False)
        labels = dict(dictionary.attribute(i) for i in varints(one(found, 2, b"")))
        stack = tuple(dictionary.function(i) for i in dictionary.stacks[one(found, 1)])
        [value] = varints(one(found, 4))
        sent.rows.append(Row(kind, {**of, **labels}, stack, value))


def otlp(body: bytes) -> Sent:
    message = decode(unpacked(body), has_fixed=False)
    dictionary = OtlpDictionary(one(message, 2))
    sent = Sent(files=dictionary.files())
    for resource in (decode(m, has_fixed=False) for m in message[1]):
        attributes = [decode(m, has_fixed=False) for m in decode(one(resource, 1), has_fixed=False)[1]]
        of = {one(a, 1).decode(): any_value(one(a, 2)) for a in attributes}
        for scope in (decode(m, has_fixed=False) for m in resource[2]):
            name = decode(one(scope, 1), has_fixed=False)
            assert one(name, 1) == b"sonde" and one(name, 2)
            for profile in scope.get(2, []):
                otlp_profile(profile, of, dictionary, sent)
    return sent


def otlp_by_schema(body: bytes) -> list[Row]:
    """The same, by the modules that the schema's authors publish; skips the test without them."""
    python = os.environ.get("SONDE_OTLP_PYTHON", "")
    if not python or not Path(python).exists():
        pytest.skip("no Python with opentelemetry-proto (tests/python_env.sh otlp installs one)")
    done = subprocess.run([python, "-c", BY_SCHEMA], input=unpacked(body), capture_output=True, check=True)
    return [Row(tuple(kind), labels, tuple(stack), value) for kind, labels, stack, value in json.loads(done.stdout)]


def pprof(body: bytes) -> Sent:
    profile = decode(unpacked(body), has_fixed=False)
    strings = [text.decode() for text in profile[6]]
    types = [(strings[one(t, 1)], strings[one(t, 2)]) for t in (decode(m, has_fixed=False) for m in profile[1])]
    functions = {one(f, 1): strings[one(f, 2)] for f in (decode(m, has_fixed=False) for m in profile[5])}
    locations = {}
    for location in (decode(m, has_fixed=False) for m in profile[4]):
        locations[one(location, 1)] = functions[one(decode(one(location, 4), has_fixed=False), 1)]
    sent = Sent(times=[(one(profile, 9), one(profile, 10))])
    for sample in (decode(m, has_fixed=False) for m in profile[2]):
        labels = {}
        for label in (decode(m, has_fixed=False) for m in sample[3]):
            labels[strings[one(label, 1)]] = strings[one(label, 2)] if 2 in label else one(label, 3)
        stack = tuple(locations[i] for i in varints(one(sample, 1)))
        for kind, value in zip(types, varints(one(sample, 2))):
            sent.rows.append(Row(kind, labels, stack, value))
    return sent
