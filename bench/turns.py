# SPDX-License-Identifier: Apache-2.0
"""What benchmarks of launches share: modes that run in turns, each time in a process of its own, and the table of what they took."""
import statistics


def in_turns(modes, rounds: int, measure) -> "dict[str, list]":
    """What `measure` returns for a mode, of each round."""
    figures = {mode: [] for mode in modes}
    for _ in range(rounds):
        for mode in figures:
            figures[mode].append(measure(mode))
    return figures


def show(title: str, figures: "dict[str, list[list[float]]]", width: int = 32) -> None:
    """Rows are CPU time, and wall time where it was measured: the least and the median of the first, with what it adds to the first mode's."""
    own = next(iter(figures.values()))
    has_wall = len(own[0]) > 1
    print(f"{title:{width}}", *(f"{head:>7}" for head in ["least", "added", "median", "added", "wall"][:5 if has_wall else 4]))
    for mode, rows in figures.items():
        columns = []
        for of in (min, statistics.median):
            value = of(row[0] for row in rows)
            columns += [value, value - of(row[0] for row in own)]
        if has_wall:
            columns.append(statistics.median(row[1] for row in rows))
        print(f"  {mode:{width - 2}}", *(f"{column:7.0f}" for column in columns))
