# SPDX-License-Identifier: Apache-2.0
"""Compares two HPCToolkit databases by what they say: contexts, metrics, values within some units in the last
place, statistics, traces. Numbers given to contexts and metrics, and the order of things, do not count; nor do
numbers of what a database does not show (contexts with values that are not in its tree).

    hpctoolkit_compare.py EXPECTED.d FOUND.d
"""
import collections
import math
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from hpctoolkit_db import Database  # noqa: E402

ULPS = 16


def ordered(value):
    """Doubles as integers that count them, so that neighbours differ by one."""
    bits = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF)


def close(a, b):
    if a == b:
        return True
    if math.isnan(a) or math.isnan(b):
        return False
    return abs(ordered(a) - ordered(b)) <= ULPS


class Comparison:
    def __init__(self, expected, found):
        self.a, self.b = expected, found
        self.problems = []
        self.match = {}  # context of a -> context of b

    def fail(self, text):
        if len(self.problems) < 40:
            self.problems.append(text)

    def run(self):
        self.compare_metrics()
        self.compare_profiles()
        if not self.problems:
            self.index_values()
            self.compare_trees()
        if not self.problems:
            self.compare_traces()
        return self.problems

    def compare_metrics(self):
        a, b = set(self.a.prop.values()), set(self.b.prop.values())
        for metric in sorted(a ^ b):
            self.fail(f"metric {metric} only in {'expected' if metric in a else 'found'}")
        for statistic in sorted(set(self.a.stat.values()) - set(self.b.stat.values())):
            self.fail(f"no statistic {statistic}")

    def tuples(self, db):
        out = []
        for ident, summary, _ in db.profiles:
            out.append("summary" if summary else tuple(
                (db.kinds[kind], flags & 1, physical if flags & 1 else logical)
                for kind, flags, logical, physical in ident))
        return out

    def compare_profiles(self):
        a, b = self.tuples(self.a), self.tuples(self.b)
        if collections.Counter(a) != collections.Counter(b):
            self.fail(f"profiles differ:\n  expected {sorted(map(str, a))}\n  found    {sorted(map(str, b))}")
            return
        self.pairs = list(zip(sorted(range(len(a)), key=lambda i: str(a[i])), sorted(range(len(b)), key=lambda i: str(b[i]))))

    def index_values(self):
        """Of each context: {(profile, metric): value}, named by content; statistics only where both have them."""
        self.rows = []
        wanted = set(self.a.stat.values())
        for side, db in enumerate((self.a, self.b)):
            rows = collections.defaultdict(dict)
            for number, pair in enumerate(self.pairs):
                _, summary, values = db.profiles[pair[side]]
                for context, row in values.items():
                    for metric, value in row.items():
                        name = db.stat[metric] if summary else db.prop[metric]
                        if not summary or name in wanted:
                            rows[context][number, name] = value
            self.rows.append(rows)

    def same_values(self, a, b, say=False):
        left, right = self.rows[0][a.id], self.rows[1][b.id]
        for key in left.keys() | right.keys():
            x, y = left.get(key, 0.0), right.get(key, 0.0)
            if not close(x, y):
                if say:
                    self.fail(f"{key}: expected {x!r}, found {y!r}, at\n    " + "\n    ".join(map(str, a.path())))
                return False
        return True

    def same_tree(self, a, b, say):
        """Whether all below a and b is the same. Twins are tried against each other."""
        todo, pairs = [(a, b)], []
        while todo:
            a, b = todo.pop()
            if not self.same_values(a, b, say):
                return None
            pairs.append((a, b))
            groups = collections.defaultdict(lambda: ([], []))
            for side, node in enumerate((a, b)):
                for child in node.children:
                    groups[child.key][side].append(child)
            for key, (left, right) in groups.items():
                if len(left) != len(right):
                    if say:
                        self.fail(f"{len(left)} times expected, {len(right)} times found: {key} in\n    " +
                                  "\n    ".join(map(str, a.path())))
                    return None
                if len(left) == 1:
                    todo.append((left[0], right[0]))
                    continue
                for child in left:
                    for other in right:
                        inner = self.same_tree(child, other, False)
                        if inner is not None:
                            right.remove(other)
                            pairs += inner
                            break
                    else:
                        if say:
                            self.fail(f"none of several {key} is as expected")
                        return None
        return pairs

    def compare_trees(self):
        pairs = self.same_tree(self.a.root, self.b.root, True)
        if pairs is None:
            if not self.problems:
                self.fail("trees differ")
            return
        self.match = {a.id: b.id for a, b in pairs}
        self.twins = collections.Counter(a.path() for a, _ in pairs)

    def compare_traces(self):
        if self.a.trce is None or self.b.trce is None:
            if (self.a.trce is None) != (self.b.trce is None):
                self.fail("only one of them has traces")
            return
        if self.a.trace_range != self.b.trace_range:
            self.fail(f"traces of {self.a.trace_range} expected, of {self.b.trace_range} found")
        for left, right in self.pairs:
            a, b = self.a.traces.get(left, []), self.b.traces.get(right, [])
            # twins are told apart by nothing, so their places are compared and not their numbers
            named_a = [(t, self.a.contexts[c].path()) for t, c in a]
            named_b = [(t, self.b.contexts[c].path()) for t, c in b]
            if named_a != named_b:
                at = next((i for i, (x, y) in enumerate(zip(named_a, named_b)) if x != y), min(len(a), len(b)))
                self.fail(f"trace {left}: {len(a)} expected, {len(b)} found, first difference at {at}: "
                          f"{named_a[at:at + 1]} {named_b[at:at + 1]}")


def compare(expected, found):
    """The differences, as lines; none where they say the same."""
    databases = Database(expected), Database(found)
    for database in databases:
        database.check()
    return Comparison(*databases).run()


if __name__ == "__main__":
    problems = compare(sys.argv[1], sys.argv[2])
    print("\n".join(problems) or "the same")
    sys.exit(bool(problems))
