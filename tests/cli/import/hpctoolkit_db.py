# SPDX-License-Identifier: Apache-2.0
"""Reads an HPCToolkit v4 database (meta.db, profile.db, cct.db, trace.db), straight from the field tables of
its published format and sharing nothing with Sonde's C code, so that the two can be held against each other.
"""
import pathlib
import struct
import sys

NO_METRIC = 0xFFFF


def u8(b, o):
    return b[o]


def u16(b, o):
    return struct.unpack_from("<H", b, o)[0]


def u32(b, o):
    return struct.unpack_from("<I", b, o)[0]


def u64(b, o):
    return struct.unpack_from("<Q", b, o)[0]


def text(b, o):
    return b[o : b.index(b"\0", o)].decode()


class Context:
    """A node of the tree. `key` says what it is, without its place: a tuple that compares by content."""

    def __init__(self, id_, key, parent):
        self.id, self.key, self.parent = id_, key, parent
        self.children = []

    def path(self):
        out = []
        node = self
        while node is not None:
            out.append(node.key)
            node = node.parent
        return tuple(reversed(out))


class Database:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.meta = self.load("meta.db", b"meta", b"_meta.db")
        self.prof = self.load("profile.db", b"prof", b"_prof.db")
        self.cct = self.load("cct.db", b"ctxt", b"__ctx.db")
        trace = self.folder / "trace.db"
        self.trce = self.load("trace.db", b"trce", b"trace.db") if trace.exists() else None
        self.read_general()
        self.read_metrics()
        self.read_tables()
        self.read_tree()
        self.read_profiles()
        self.read_cct()
        self.read_traces()

    def load(self, name, kind, footer):
        data = (self.folder / name).read_bytes()
        assert data[:10] == b"HPCTOOLKIT" and data[10:14] == kind, name
        assert data[14] == 4, f"{name}: major version {data[14]}"
        assert data.endswith(footer), f"{name}: footer"
        return data

    def read_general(self):
        b = self.meta
        p = u64(b, 0x18)
        self.title, self.description = text(b, u64(b, p)), text(b, u64(b, p + 8))
        p = u64(b, 0x28)
        names, count = u64(b, p), u8(b, p + 8)
        self.kinds = [text(b, u64(b, names + 8 * i)) for i in range(count)]

    def read_metrics(self):
        b = self.meta
        p = u64(b, 0x38)
        metrics, count, size, size_inst, size_sum = u64(b, p), u32(b, p + 8), b[p + 12], b[p + 13], b[p + 14]
        scopes, n_scopes, size_scope = u64(b, p + 0x10), u16(b, p + 0x18), b[p + 0x1A]
        self.scopes = {}
        for i in range(n_scopes):
            o = scopes + i * size_scope
            self.scopes[o] = (text(b, u64(b, o)), b[o + 8], b[o + 9])
        self.prop, self.stat = {}, {}  # id -> (metric, scope) and (metric, scope, formula, combine)
        self.metric_names = []
        for i in range(count):
            o = metrics + i * size
            name = text(b, u64(b, o))
            self.metric_names.append(name)
            insts, sums = u64(b, o + 8), u64(b, o + 16)
            for j in range(u16(b, o + 0x18)):
                q = insts + j * size_inst
                self.prop[u16(b, q + 8)] = (name, self.scopes[u64(b, q)][0])
            for j in range(u16(b, o + 0x1A)):
                q = sums + j * size_sum
                key = (name, self.scopes[u64(b, q)][0], text(b, u64(b, q + 8)), b[q + 16])
                assert u16(b, q + 18) not in self.stat
                self.stat[u16(b, q + 18)] = key

    def read_tables(self):
        b = self.meta
        self.modules, self.files, self.functions = {}, {}, {}
        p = u64(b, 0x68)
        for i in range(u32(b, p + 8)):
            o = u64(b, p) + i * u16(b, p + 12)
            self.modules[o] = text(b, u64(b, o + 8))
        p = u64(b, 0x78)
        for i in range(u32(b, p + 8)):
            o = u64(b, p) + i * u16(b, p + 12)
            self.files[o] = text(b, u64(b, o + 8))
        p = u64(b, 0x88)
        for i in range(u32(b, p + 8)):
            o = u64(b, p) + i * u16(b, p + 12)
            name, module, offset, file, line = u64(b, o), u64(b, o + 8), u64(b, o + 16), u64(b, o + 24), u32(b, o + 32)
            self.functions[o] = (text(b, name) if name else None, self.modules[module] if module else None, offset,
                                 self.files[file] if file else None, line)

    def read_tree(self):
        b = self.meta
        p = u64(b, 0x48)
        self.root = Context(0, ("global",), None)
        self.contexts = {0: self.root}
        todo = []
        for i in range(u16(b, p + 8)):
            o = u64(b, p) + i * b[p + 10]
            entry = Context(u32(b, o + 0x10), ("entry", u16(b, o + 0x14), text(b, u64(b, o + 0x18))), self.root)
            self.add(entry)
            todo.append((entry, u64(b, o + 8), u64(b, o)))
        while todo:
            parent, at, size = todo.pop()
            end = at + size
            while at < end:
                flags, relation, kind, words = b[at + 0x14], b[at + 0x15], b[at + 0x16], b[at + 0x17]
                function = location = point = None
                word = at + 0x20
                if flags & 1:
                    function = self.functions[u64(b, word)]
                    word += 8
                if flags & 2:
                    location = (self.files[u64(b, word)], u32(b, word + 8))
                    word += 16
                if flags & 4:
                    # the offset is a whole word: the half left over from the line stays empty
                    point = (self.modules[u64(b, word)], u64(b, word + 8))
                key = ("context", relation, kind, u16(b, at + 0x18), function, location, point)
                child = Context(u32(b, at + 0x10), key, parent)
                self.add(child)
                todo.append((child, u64(b, at + 8), u64(b, at)))
                at += 0x20 + 8 * words
            assert at == end

    def add(self, context):
        assert context.id not in self.contexts, f"context {context.id} twice"
        self.contexts[context.id] = context
        context.parent.children.append(context)

    def read_profiles(self):
        b = self.prof
        p = u64(b, 0x18)
        self.profiles = []  # (id tuple, is summary, {context: {metric id: value}})
        for i in range(u32(b, p + 8)):
            o = u64(b, p) + i * b[p + 12]
            values, contexts = {}, u32(b, o + 16)
            at, idx, count = u64(b, o + 8), u64(b, o + 24), u64(b, o)
            tuple_at, flags = u64(b, o + 0x20), u32(b, o + 0x28)
            starts = [u64(b, idx + 12 * k + 4) for k in range(contexts)] + [count]
            ids = [u32(b, idx + 12 * k) for k in range(contexts)]
            assert ids == sorted(set(ids))
            for k, context in enumerate(ids):
                row = {}
                for v in range(starts[k], starts[k + 1]):
                    metric, value = struct.unpack_from("<Hd", b, at + 10 * v)
                    assert metric not in row
                    row[metric] = value
                assert list(row) == sorted(row)
                values[context] = row
            ident = ()
            if tuple_at:
                ident = tuple((b[tuple_at + 8 + 16 * k], u16(b, tuple_at + 10 + 16 * k), u32(b, tuple_at + 12 + 16 * k),
                               u64(b, tuple_at + 16 + 16 * k)) for k in range(u16(b, tuple_at)))
            self.profiles.append((ident, flags & 1, values))

    def read_cct(self):
        b = self.cct
        p = u64(b, 0x18)
        self.by_context = {}
        for i in range(u32(b, p + 8)):
            o = u64(b, p) + i * b[p + 12]
            count, at, metrics, idx = u64(b, o), u64(b, o + 8), u16(b, o + 16), u64(b, o + 24)
            ids = [u16(b, idx + 10 * k) for k in range(metrics)]
            starts = [u64(b, idx + 10 * k + 2) for k in range(metrics)] + [count]
            assert ids == sorted(set(ids))
            for k, metric in enumerate(ids):
                pairs = [struct.unpack_from("<Id", b, at + 12 * v) for v in range(starts[k], starts[k + 1])]
                assert [q for q, _ in pairs] == sorted({q for q, _ in pairs})
                for profile, value in pairs:
                    self.by_context[profile, i, metric] = value

    def read_traces(self):
        self.traces = {}
        if self.trce is None:
            return
        b = self.trce
        p = u64(b, 0x18)
        self.trace_range = (u64(b, p + 0x10), u64(b, p + 0x18))
        for i in range(u32(b, p + 8)):
            o = u64(b, p) + i * b[p + 12]
            start, end = u64(b, o + 8), u64(b, o + 16)
            assert (end - start) % 12 == 0
            self.traces[u32(b, o)] = [struct.unpack_from("<QI", b, start + 12 * k) for k in range((end - start) // 12)]

    def check(self):
        """What must hold of every database: profile-major is the transpose of context-major, and values are of metrics."""
        flat = {}
        for _, summary, values in self.profiles:
            assert {metric for row in values.values() for metric in row} <= set(self.stat if summary else self.prop)
        for n, (_, summary, values) in enumerate(self.profiles):
            if summary:
                continue
            for context, row in values.items():
                for metric, value in row.items():
                    flat[n, context, metric] = value
        assert flat == self.by_context, "cct.db is not the transpose of profile.db"
        for ids in self.traces.values():
            assert [t for t, _ in ids] == sorted(t for t, _ in ids)

    def dump(self, out=sys.stdout):
        print("title", self.title, "kinds", self.kinds, file=out)
        print("metrics", self.prop, self.stat, file=out)
        todo = [(self.root, 0)]
        while todo:
            node, depth = todo.pop()
            print("  " * depth, node.id, node.key, file=out)
            for ident, summary, values in self.profiles:
                if node.id in values:
                    names = self.stat if summary else self.prop
                    row = {names[m]: v for m, v in values[node.id].items()}
                    print("  " * depth, "   ", "summary" if summary else ident, row, file=out)
            todo.extend((c, depth + 1) for c in reversed(node.children))
        known = set(self.contexts)
        for ident, summary, values in self.profiles:
            print("not in the tree", ident, {c: r for c, r in values.items() if c not in known}, file=out)
        for n, line in self.traces.items():
            print("trace", n, self.profiles[n][0], line[:10], "...", file=out)


if __name__ == "__main__":
    database = Database(sys.argv[1])
    database.check()
    database.dump()
