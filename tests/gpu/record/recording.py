#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads recordings of CUPTI, rocprofiler-sdk and Level Zero (docs/format/recording.md), with Python's own library alone.

    recording.py print FILE          every entry, a line each
    recording.py summary FILE        where it was made, what came, and what the adapter takes for granted
    recording.py compare FILE FILE   what differs between two summaries; status 1 if anything does
    recording.py functions FILE      the functions that the library had

An entry is read by the description that the file itself has: kinds and fields that are newer than this program are printed too.
"""
from __future__ import annotations

import mmap
import signal
import struct
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator

HEADER = struct.Struct("<8sIIQQ")
HEAD = struct.Struct("<IIQII")
TYPES = {"uint32_t": "I", "int32_t": "i", "uint64_t": "Q", "int64_t": "q"}
DESCRIPTION = 1
DOMAINS = {1: "driver", 2: "runtime", 3: "resource"}
KINDS = {1: "copy", 2: "set", 3: "kernel", 8: "device", 10: "kernel", 38: "wait", 49: "memory", 51: "graph"}
MOST_THREADS, MOST_REASONS = 65536, 512


class Unreadable(Exception):
    """The file is no recording, or a broken one."""


@dataclass
class Kind:
    name: str
    fields: list[str]
    layout: struct.Struct
    follows: str


@dataclass
class Entry:
    kind: str
    time_ns: int
    thread: int
    fields: dict[str, int]
    rest: bytes
    follows: str = "bytes"

    @property
    def text(self) -> str:
        return self.rest.split(b"\0")[0].decode(errors="replace")


def described(text: str) -> dict[int, Kind]:
    kinds = {}
    try:
        for line in text.splitlines():
            number, name, *fields, follows = line.split(" ")
            pairs = [one.split(":") for one in fields]
            kinds[int(number)] = Kind(name, [one for one, _ in pairs], struct.Struct("<" + "".join(TYPES[of] for _, of in pairs)), follows)
    except (ValueError, KeyError):
        raise Unreadable("it does not describe its entries") from None
    return kinds


def entries(path: str | Path) -> Iterator[Entry]:
    """An entry without a kind was being written when its process ended."""
    with open(path, "rb") as file:
        try:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise Unreadable("it is empty") from None
    if len(data) < HEADER.size or data[:8] != b"SNRECORD":
        raise Unreadable("it is no recording")
    _, version, at, _, _ = HEADER.unpack_from(data)
    if version != 1:
        raise Unreadable(f"its version is {version}, and 1 is known")
    kinds = {DESCRIPTION: Kind("description", [], struct.Struct("<"), "text")}
    while at + HEAD.size <= len(data):
        size, number, time_ns, thread, _ = HEAD.unpack_from(data, at)
        if not size:
            return
        if size % 8 or size < HEAD.size or at + size > len(data):
            raise Unreadable(f"the entry at {at} ends outside of it")
        if number:
            kind = kinds.get(number, Kind(f"kind-{number}", [], struct.Struct("<"), "bytes"))
            text_at = at + HEAD.size + kind.layout.size
            if text_at > at + size or (kind.follows == "text" and data.find(b"\0", text_at, at + size) < 0):
                raise Unreadable(f"the entry at {at} is too short")
            if not 1 <= thread <= MOST_THREADS:
                raise Unreadable(f"the entry at {at} is of no thread")
            values = kind.layout.unpack_from(data, at + HEAD.size)
            entry = Entry(kind.name, time_ns, thread, dict(zip(kind.fields, values)), data[at + HEAD.size + kind.layout.size:at + size],
                          kind.follows)
            if number == DESCRIPTION:
                kinds.update(described(entry.text))
            yield entry
        at += size


# ---- records, by the places of their fields: src/collect/adapters/cuda/cupti.h ----

KERNEL = {"start": ("Q", 16), "end": ("Q", 24), "correlation": ("I", 92), "name": ("Q", 104), "graph_node": ("Q", 144)}
COPY = {"bytes": ("Q", 8), "start": ("Q", 16), "end": ("Q", 24), "correlation": ("I", 44)}
SET = {"bytes": ("Q", 8), "start": ("Q", 16), "end": ("Q", 24), "correlation": ("I", 44)}
WAIT = {"start": ("Q", 8), "end": ("Q", 16), "correlation": ("I", 24)}
MEMORY = {"correlation": ("I", 12), "bytes": ("Q", 24)}
GRAPH = {"correlation": ("I", 4), "start": ("Q", 8), "end": ("Q", 16)}
RECORDS = {1: COPY, 2: SET, 3: KERNEL, 10: KERNEL, 38: WAIT, 49: MEMORY, 51: GRAPH}
SLACK_NS = 1_000_000

# ---- samples: src/collect/adapters/cuda/cupti_samples.h ----

PC = {"crc": ("Q", 8), "pc": ("Q", 16), "function": ("I", 24), "name": ("Q", 32), "reason_count": ("Q", 40), "reasons": ("Q", 48)}
LAUNCH = {"correlation": ("I", 56)}  # from 12.4 on
PC_BYTES = 56
REASON = struct.Struct("<II")
NOWHERE = (1 << 64) - 1
MODES = {1: "continuous", 2: "serialized"}
MODE, PERIOD = 5, 1
OUT_OF_MEMORY = 8


def sampled_pcs(entry: Entry) -> Iterator[tuple[dict[str, int], list[tuple[int, int]]]]:
    """The instructions of an answer, each with its reasons: their indices, and how many samples."""
    length, count = entry.fields["record_bytes"], entry.fields["count"]
    if count and (length < PC_BYTES or length % 8 or count > len(entry.rest) // length):
        raise Unreadable("samples are longer than their entry")
    for number in range(count):
        known = PC | (LAUNCH if length > PC_BYTES else {})
        pc = {name: struct.unpack_from("<" + of, entry.rest, number * length + at)[0] for name, (of, at) in known.items()}
        at, reasons = pc["reasons"], pc["reason_count"]
        if at == NOWHERE:
            reasons = 0
        elif at > len(entry.rest) or at % 4 or reasons > (len(entry.rest) - at) // REASON.size:
            raise Unreadable("an instruction's reasons are outside of its entry")
        yield pc, [REASON.unpack_from(entry.rest, at + REASON.size * index) for index in range(reasons)]


def fields_in(layout: dict[str, tuple[str, int]], record: bytes) -> dict[str, int]:
    return {name: struct.unpack_from("<" + of, record, at)[0] for name, (of, at) in layout.items() if at + struct.calcsize(of) <= len(record)}


# ---- rocprofiler-sdk: src/collect/adapters/rocm/rocprofiler.h, rocprofiler_samples.h ----

SDK_KERNEL = {"correlation": ("Q", 16), "start": ("Q", 40), "end": ("Q", 48), "kernel": ("Q", 80)}
SDK_COPY = {"correlation": ("Q", 16), "start": ("Q", 40), "end": ("Q", 48), "bytes": ("Q", 72)}
SDK_RECORDS = {10: ("copy", SDK_COPY), 11: ("kernel", SDK_KERNEL)}
SDK_SYMBOL = {"kernel": ("Q", 8), "name": ("Q", 24)}
SDK_ENQUEUED = {"kernel": ("Q", 48), "dispatch": ("Q", 56)}
SDK_TRAP = {"code_object": ("Q", 16), "dispatch": ("Q", 48)}
SDK_STOCHASTIC = {"issued": ("B", 10), "code_object": ("Q", 24), "dispatch": ("Q", 72), "snapshot": ("I", 96)}
SDK_RECORD = struct.Struct("<IIQ")
SDK_DISPATCH_BYTES = 80
SDK_COUNTED = struct.Struct("<QdQQQ")  # an instance's value
HIP, CODE_OBJECTS, DISPATCHES = 5, 10, 12  # kinds of callbacks
LEVEL_ZERO = 6  # a domain of names
LOAD, SYMBOL, BEGINS = 1, 2, 1
TRACING, SAMPLES = 1, 2  # categories of records
TRAP, STOCHASTIC = 2, 3
SDK_REASONS = ["unknown", "no_instruction_available", "alu_dependency", "waitcnt", "internal_instruction", "barrier_wait", "arbiter_not_win",
               "arbiter_win_ex_stall", "other_wait", "sleep_wait"]


def delivered(entry: Entry) -> Iterator[tuple[int, int, bytes]]:
    """The records of a delivery: category, kind and bytes of each."""
    at = 0
    for _ in range(entry.fields["count"]):
        if at + SDK_RECORD.size > len(entry.rest):
            raise Unreadable("a delivery has fewer records than it says")
        category, kind, size = SDK_RECORD.unpack_from(entry.rest, at)
        at += SDK_RECORD.size
        if size > len(entry.rest) - at:
            raise Unreadable("a record is longer than its entry")
        yield category, kind, entry.rest[at:at + size]
        at += (size + 7) // 8 * 8


@dataclass
class Summary:
    """Of a recording: what two of the same program can be compared by, and what is particular to one."""

    facts: dict[str, str] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    lengths: dict[int, int] = field(default_factory=dict)
    steps: list[tuple[str, int, int]] = field(default_factory=list)
    enabled: dict[int, int] = field(default_factory=dict)
    calls: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))  # by thread, in the order of first calls
    orders: dict[str, list[str]] = field(default_factory=dict)
    records: Counter[str] = field(default_factory=Counter)
    times: Counter[str] = field(default_factory=Counter)
    sizes: Counter[str] = field(default_factory=Counter)
    nodes: Counter[str] = field(default_factory=Counter)
    oddities: Counter[str] = field(default_factory=Counter)
    modules: Counter[str] = field(default_factory=Counter)
    settings: dict[str, int] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    samples: Counter[tuple[str, str]] = field(default_factory=Counter)  # by the instruction's function and the reason
    sample_counts: Counter[str] = field(default_factory=Counter)  # answers, and what CUPTI says that it dropped or hid
    counters: dict[str, tuple[int, float]] = field(default_factory=dict)  # in how many kernels each was counted, and its sum
    buffers: int = 0
    dropped: int = 0
    lost: int = 0
    is_complete: bool = False


class Reader:
    """Goes through the entries once."""

    def __init__(self) -> None:
        self.all = Summary()
        self.names: dict[tuple[int, int], str] = {}
        self.strings: dict[int, str] = {}
        self.launched: dict[int, int] = {}  # correlation: when, on CUPTI's clock
        self.calling: dict[int, int] = {}
        self.threads: dict[int, str] = {}
        self.cubins: set[tuple[int, int]] = set()  # CRC and length
        self.crcs: set[int] = set()
        self.begun: Counter[str] = Counter()
        self.offset_ns = 0
        self.kernels: dict[int, str] = {}  # by the SDK's numbers
        self.dispatches: dict[int, str] = {}
        self.code: set[int] = set()
        self.dropped: dict[int, int] = {}  # by part
        self.counters: dict[int, str] = {}  # their names, by the SDK's numbers
        self.pointed: dict[int, bytes] = {}  # what is at an address

    def read(self, path: str | Path) -> Summary:
        for entry in entries(path):
            of_kind = getattr(self, "on_" + entry.kind, None)
            if of_kind:
                of_kind(entry, entry.fields)
        self.order_threads()
        for name in +self.begun:
            self.all.oddities[f"{name} does not return"] += 1
        return self.all

    def order_threads(self) -> None:
        """Which of several threads calls first differs between runs: all but the first are numbered by what they call."""
        first, *others = self.all.orders or [None]
        others.sort(key=lambda thread: self.all.orders[thread])
        names = {old: f"thread {number}" for number, old in enumerate([first, *others], 1) if old}
        self.all.orders = {names[old]: self.all.orders[old] for old in names}
        self.all.calls = defaultdict(Counter, {names[old]: self.all.calls[old] for old in names})

    def on_fact(self, entry, fields):
        key, _, value = entry.text.partition("=")
        self.all.facts[key] = value

    def on_function(self, entry, fields):
        if fields["is_there"]:
            self.all.functions.add(entry.text)

    def on_enabled(self, entry, fields):
        self.all.enabled[fields["kind"]] = fields["result"]

    def on_name(self, entry, fields):
        self.names[fields["domain"], fields["cbid"]] = entry.text

    def on_string(self, entry, fields):
        self.strings[fields["address"]] = entry.text

    def on_clock(self, entry, fields):
        self.offset_ns = fields["cupti_ns"] - entry.time_ns

    def on_length(self, entry, fields):
        self.all.lengths[fields["kind"]] = fields["length"]

    def on_step(self, entry, fields):
        self.all.steps.append((entry.text, fields["has_ended"], fields["result"]))
        if not fields["has_ended"]:
            self.begun[entry.text] += 1
        elif self.begun[entry.text]:
            self.begun[entry.text] -= 1

    def on_module(self, entry, fields):
        if fields["held"] > len(entry.rest) or fields["held"] not in (0, fields["size"]):
            raise Unreadable("a module is longer than its entry")
        self.all.modules["unloaded" if fields["is_unloaded"] else "loaded"] += 1
        if fields["held"]:
            self.cubins.add((fields["crc"], fields["size"]))
            self.crcs.add(fields["crc"])
        if fields["result"]:
            self.all.oddities["modules of which no CRC was told"] += 1
        elif not fields["is_unloaded"] and (fields["crc"], fields["size"]) not in self.cubins:
            self.all.oddities["modules without their cubin"] += 1

    def on_sampling(self, entry, fields):
        self.on_step(entry, fields)
        if fields["value"] > MOST_REASONS:
            raise Unreadable("it has too many reasons")

    def on_reason(self, entry, fields):
        self.all.reasons[fields["index"]] = entry.text.rpartition("stalled_")[2]

    def on_setting(self, entry, fields):
        self.all.settings[{MODE: "mode", PERIOD: "period"}.get(fields["key"], f"setting {fields['key']}")] = fields["value"]

    def on_samples(self, entry, fields):
        self.all.sample_counts["answers"] += 1
        if not fields["is_put_aside"] and self.begun["cuptiPCSamplingGetData"]:
            self.begun["cuptiPCSamplingGetData"] -= 1
        self.all.sample_counts["dropped"] += fields["dropped"]
        self.all.sample_counts["hidden"] += fields["hidden"]
        # the device's buffer was full, and CUPTI does not say how much is lost
        self.all.sample_counts["full"] += fields["result"] == OUT_OF_MEMORY and not fields["dropped"]
        if fields["result"]:
            self.all.steps.append(("cuptiPCSamplingGetData", 1, fields["result"]))
        for pc, reasons in sampled_pcs(entry):
            if pc["reasons"] == NOWHERE:
                self.all.oddities["instructions whose records lie otherwise than asked"] += 1
            elif pc["crc"] not in self.crcs:
                self.all.oddities["instructions in modules that are not here"] += 1
            for index, count in reasons:
                self.all.samples[self.strings.get(pc["name"], "?"), self.all.reasons.get(index, f"reason {index}")] += count

    def on_end(self, entry, fields):
        self.all.is_complete, self.all.lost = True, fields["lost"]

    def on_callback(self, entry, fields):
        self.on_call(entry, f"{DOMAINS.get(fields['domain'], fields['domain'])} {self.strings.get(fields['name'], '?')}", fields["site"],
                     fields["correlation"], fields["result"])

    def on_call(self, entry: Entry, name: str, has_ended: int, correlation: int, result: int = 0) -> None:
        thread = self.threads.setdefault(entry.thread, f"thread {len(self.threads) + 1}")
        order = self.all.orders.setdefault(thread, [])
        order.append(f"{'ends' if has_ended else 'begins'} {name}")
        if not has_ended:
            self.all.calls[thread][name] += 1
            self.launched.setdefault(correlation, entry.time_ns + self.offset_ns)
            self.calling[thread] = self.calling.get(thread, 0) + 1
            return
        self.calling[thread] = self.calling.get(thread, 0) - 1
        if self.calling[thread] < 0:
            self.calling[thread] = 0
            # those that initialised the driver had begun before anything was heard
            self.launched.setdefault(correlation, 0)
            if self.all.calls[thread]:
                self.all.oddities["calls that end and did not begin"] += 1
        if result:
            self.all.calls[thread][f"{name} = {result}"] += 1

    def on_node(self, entry, fields):
        self.all.nodes["created" if fields["cbid"] == 13 else "cloned"] += 1
        if fields["result"]:
            self.all.oddities["nodes of which no number was told"] += 1

    def on_buffer(self, entry, fields):
        data, at = entry.rest[:fields["valid"]], 0
        self.all.buffers += 1
        self.all.dropped += fields["dropped"]
        if fields["size"] < fields["valid"]:
            self.all.oddities["buffers with more than has room in them"] += 1
        while at + 4 <= len(data):
            kind, = struct.unpack_from("<I", data, at)
            length = self.all.lengths.get(kind, 0)
            if not length or at + length > len(data):
                self.all.oddities["buffers that end within a record"] += 1
                return
            self.on_record(kind, fields_in(RECORDS.get(kind, {}), data[at:at + length]), entry)
            at += length

    def on_record(self, kind: int, record: dict[str, int], entry: Entry) -> None:
        name = KINDS.get(kind, f"kind {kind}")
        if "name" in record:
            name += " " + self.strings.get(record["name"], "?")
        self.on_operation(name, record, entry)

    def on_operation(self, name: str, record: dict[str, int], entry: Entry) -> None:
        self.all.records[name] += 1
        self.all.sizes[name] += record.get("bytes", 0)
        if name == "wait":
            return
        launched = self.launched.get(record.get("correlation", 0))
        if "correlation" in record and launched is None:
            self.all.oddities[f"records with the number of no call: {name.split()[0]}"] += 1
        if "start" not in record:
            return
        if not record["start"]:
            self.all.oddities["records without times"] += 1
        elif record["end"] < record["start"]:
            self.all.oddities["records that end before they start"] += 1
        else:
            self.all.times[name] += record["end"] - record["start"]
            if launched and record["start"] + SLACK_NS < launched:
                self.all.oddities["records that start before their launch"] += 1
            if record["end"] > entry.time_ns + self.offset_ns + SLACK_NS:
                self.all.oddities["records that end after they were delivered"] += 1

    # ---- of rocprofiler-sdk ----

    def on_service(self, entry, fields):
        self.on_step(entry, fields)

    def on_agent(self, entry, fields):
        if fields["size"] > len(entry.rest):
            raise Unreadable("an agent is longer than its entry")

    def on_offers(self, entry, fields):
        if fields["count"] * fields["bytes"] > len(entry.rest):
            raise Unreadable("what an agent offers is longer than its entry")

    def on_asked(self, entry, fields):
        self.all.settings["method"], self.all.settings["interval"] = fields["method"], fields["interval"]
        if fields["result"]:
            self.all.steps.append(("rocprofiler_configure_pc_sampling_service", 1, fields["result"]))

    def on_code(self, entry, fields):
        if fields["held"] > len(entry.rest) or fields["held"] not in (0, fields["size"]):
            raise Unreadable("code is longer than its entry")
        self.code.add(fields["id"])
        if fields["held"]:
            self.cubins.add((fields["hash"], fields["size"]))
        elif (fields["hash"], fields["size"]) not in self.cubins:
            self.all.oddities["code objects without their bytes"] += 1

    def on_traced(self, entry, fields):
        if fields["payload_bytes"] > len(entry.rest):
            raise Unreadable("a payload is longer than its entry")
        payload, begins = entry.rest[:fields["payload_bytes"]], fields["phase"] == BEGINS
        if fields["kind"] == HIP:
            self.on_call(entry, f"hip {self.names.get((HIP, fields['operation']), '?')}", not begins, fields["correlation"])
        elif fields["kind"] == CODE_OBJECTS and fields["operation"] == LOAD:
            self.all.modules["loaded" if begins else "unloaded"] += 1
        elif fields["kind"] == CODE_OBJECTS and fields["operation"] == SYMBOL and begins:
            symbol = fields_in(SDK_SYMBOL, payload)
            self.kernels[symbol.get("kernel", 0)] = self.strings.get(symbol.get("name", 0), "?").removesuffix(".kd")
        elif fields["kind"] == DISPATCHES:
            dispatch = fields_in(SDK_ENQUEUED, payload)
            self.dispatches[dispatch.get("dispatch", 0)] = self.kernels.get(dispatch.get("kernel", 0), "?")

    def on_records(self, entry, fields):
        """What is dropped is counted from the start."""
        self.all.buffers += 1
        self.dropped[fields["part"]] = fields["dropped"]
        self.all.dropped = self.dropped.get(0, 0)
        if 1 in self.dropped:
            self.all.sample_counts["dropped"] = self.dropped[1]
        for category, kind, record in delivered(entry):
            if category == SAMPLES:
                self.on_sample(kind, record)
            elif category == TRACING and kind in SDK_RECORDS:
                name, layout = SDK_RECORDS[kind]
                self.all.lengths[kind] = len(record)
                found = fields_in(layout, record)
                if len(found) < len(layout):
                    self.all.oddities[f"records that are too short: {name}"] += 1
                elif name == "kernel":
                    name += " " + self.kernels.get(found["kernel"], "?")
                self.on_operation(name, found, entry)

    # ---- of Level Zero ----

    def on_pointed(self, entry, fields):
        self.pointed[fields["address"]] = entry.rest

    def on_called(self, entry, fields):
        """A call is written when it has ended."""
        if fields["count"] > len(entry.rest) // 8:
            raise Unreadable("a call's parameters are longer than its entry")
        name = self.names.get((LEVEL_ZERO, fields["call"]), "?")
        words = struct.unpack_from(f"<{fields['count']}Q", entry.rest)
        for has_ended in (False, True):
            self.on_call(entry, f"level zero {name}", has_ended, 0, fields["result"])
        if name == "zeKernelCreate" and not fields["result"]:
            described, made = (self.pointed.get(address, b"") for address in words[1:])
            if len(described) >= 32 and len(made) >= 8:
                self.kernels[struct.unpack_from("<Q", made)[0]] = self.strings.get(struct.unpack_from("<Q", described, 24)[0], "?")
        elif name.startswith("zeCommandListAppendLaunch"):
            self.all.records["appended " + self.kernels.get(words[1], "?")] += 1

    def on_counter(self, entry, fields):
        self.counters[fields["counter"]] = entry.text
        if fields["result"]:
            self.all.oddities["counters of which nothing is told"] += 1

    def on_configured(self, entry, fields):
        if fields["count"] * 8 > len(entry.rest):
            raise Unreadable("counters are longer than their entry")
        if fields["result"]:
            self.all.steps.append(("rocprofiler_create_counter_config", 1, fields["result"]))

    def on_counted(self, entry, fields):
        """A counter has a value for each of its instances."""
        count = fields["count"]
        if count > (len(entry.rest) - SDK_DISPATCH_BYTES) // (SDK_COUNTED.size + 8):
            raise Unreadable("what was counted is longer than its entry")
        numbers = struct.unpack_from(f"<{count}Q", entry.rest, SDK_DISPATCH_BYTES + count * SDK_COUNTED.size)
        sums: Counter[str] = Counter()
        for number, (_, value, *_) in zip(numbers, SDK_COUNTED.iter_unpack(entry.rest[SDK_DISPATCH_BYTES:][:count * SDK_COUNTED.size])):
            sums[self.counters.get(number, "?")] += value
        for name, value in sums.items():
            kernels, total = self.all.counters.get(name, (0, 0.0))
            self.all.counters[name] = kernels + 1, total + value

    def on_sample(self, kind: int, record: bytes) -> None:
        layout = {TRAP: SDK_TRAP, STOCHASTIC: SDK_STOCHASTIC}.get(kind, {})
        found = fields_in(layout, record)
        if not layout or len(found) < len(layout):
            self.all.sample_counts["invalid"] += 1
            return
        if found["code_object"] not in self.code:
            self.all.oddities["instructions in modules that are not here"] += 1
        has_issued = kind == TRAP or found["issued"] & 1
        number = 0 if has_issued else found["snapshot"] & 15
        reason = "selected" if has_issued else SDK_REASONS[number if number < len(SDK_REASONS) else 0]
        self.all.samples[self.dispatches.get(found["dispatch"], "?"), reason] += 1


# ---- commands ----

def print_entries(path: str) -> int:
    for entry in entries(path):
        text = f"{len(entry.rest)} bytes" if entry.follows == "bytes" else entry.text
        if entry.kind == "description":
            text = ""
        values = " ".join(f"{name}={value}" for name, value in entry.fields.items())
        print(" ".join(part for part in (f"{entry.time_ns / 1e9:.6f}", str(entry.thread), entry.kind, values, text) if part))
    return 0


def stall_metrics(one: Summary) -> Counter[tuple[str, str]]:
    """The samples as Sonde has them: by function and metric. That a warp was selected is no stall."""
    found: Counter[tuple[str, str]] = Counter()
    for (function, reason), count in one.samples.items():
        found[function, "gpu-samples"] += count
        if reason != "selected":
            found[function, "stall-" + reason.replace("_", "-")] += count
    return found


def lines(one: Summary, only_comparable: bool = False) -> dict[str, str]:
    """The summary as titles and values. Times and who held what differ between any two runs."""
    found: dict[str, str] = {}
    for key, value in sorted(one.facts.items()):
        found[f"fact {key}"] = value
    found["functions"] = " ".join(sorted(one.functions))
    for kind, length in sorted(one.lengths.items()):
        found[f"bytes of a record of kind {kind}"] = str(length)
    for kind, result in sorted(one.enabled.items()):
        found[f"kind {kind} enabled"] = str(result)
    found["steps"] = " ".join(f"{name}={result}" for name, has_ended, result in one.steps if has_ended)
    for thread, calls in one.calls.items():
        for name, count in sorted(calls.items()):
            found[f"{thread}: {name}"] = str(count)
    for name, count in sorted(one.records.items()):
        size = f", {one.sizes[name]} bytes" if one.sizes[name] else ""
        found[f"records: {name}"] = f"{count}{size}"
        if not only_comparable and one.times[name]:
            found[f"records: {name}"] += f", {one.times[name]} ns"
    for name, count in sorted(one.nodes.items()):
        found[f"nodes {name}"] = str(count)
    for name, count in sorted(one.modules.items()):
        found[f"modules {name}"] = str(count)
    for name, value in sorted(one.settings.items()):
        found[f"samples: {name}"] = MODES.get(value, str(value)) if name == "mode" else str(value)
    if one.reasons:
        found["samples: reasons"] = " ".join(one.reasons[index] for index in sorted(one.reasons))
    for name in sorted({name for name, _ in one.samples}):
        reasons = {reason: count for (of, reason), count in one.samples.items() if of == name}
        # how many there are differs between any two runs on a device
        found[f"samples: of {name}"] = "there are some" if only_comparable else \
            ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0])))
    for name, count in sorted(one.sample_counts.items()):
        if not only_comparable:
            found[f"samples: {name}"] = str(count)
    for name, (kernels, total) in sorted(one.counters.items()):
        found[f"counter {name}"] = f"{kernels} kernels" + ("" if only_comparable else f", {total:.6g}")
    for name, count in sorted(one.oddities.items()):
        found[f"odd: {name}"] = str(count)
    found["dropped by the library"] = str(one.dropped)
    found["lost by the recorder"] = str(one.lost)
    found["complete"] = str(one.is_complete)
    if not only_comparable:
        found["buffers"] = str(one.buffers)
    return found


def print_summary(path: str) -> int:
    for title, value in lines(Reader().read(path)).items():
        print(f"{title}: {value}")
    return 0


def compare(path: str, other: str) -> int:
    """Also the order of calls in each thread, as far as both agree."""
    first, second = Reader().read(path), Reader().read(other)
    left, right = lines(first, True), lines(second, True)
    differences = [(title, left.get(title, "-"), right.get(title, "-")) for title in dict.fromkeys([*left, *right])
                   if left.get(title) != right.get(title) and title not in ("fact command", "fact cupti.path", "fact rocprofiler.path")]
    for thread in sorted(set(first.orders) & set(second.orders)):
        one, two = first.orders[thread], second.orders[thread]
        at = next((index for index, pair in enumerate(zip(one, two)) if pair[0] != pair[1]), None)
        if at is not None:
            differences.append((f"{thread}, callback {at + 1}", one[at], two[at]))
    for title, one, two in differences:
        print(f"{title}\n\t{one}\n\t{two}")
    print(f"differences: {len(differences)}" if differences else "no difference")
    return 1 if differences else 0


def functions(path: str) -> int:
    print("\n".join(sorted(Reader().read(path).functions)))
    return 0


COMMANDS = {"print": (print_entries, 1), "summary": (print_summary, 1), "compare": (compare, 2), "functions": (functions, 1)}


def main() -> int:
    command, wanted = COMMANDS.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if not command or len(sys.argv) != 2 + wanted:
        print(__doc__, file=sys.stderr)
        return 129
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        return command(*sys.argv[2:])
    except (OSError, Unreadable) as error:
        print(f"recording: cannot read '{sys.argv[2]}': {error}", file=sys.stderr)
        return 128


if __name__ == "__main__":
    sys.exit(main())
