# SPDX-License-Identifier: Apache-2.0
"""Files that other tools wrote: too large for the repository, so that a clone does not have them. They lie in
../shared/data beside it, or in SONDE_TEST_SAMPLES. A test that needs one says so by `needs` or `each`, and is skipped
where it is absent; the run of all tests then ends with one line that says how many were, and of which files (summary).
Each importer is also tested on files that the tests make, so nothing is tested on these alone."""
from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = Path(os.environ.get("SONDE_TEST_SAMPLES", ROOT.parent / "shared/data"))
ABSENT = "a clone does not have it: "


def skip(where: str) -> pytest.MarkDecorator:
    return pytest.mark.skip(reason=ABSENT + where)


def needs(*names: str) -> pytest.MarkDecorator:
    """The test is skipped unless all these are there; names begin below SAMPLES."""
    absent = [name for name in names if not (SAMPLES / name).exists()]
    return skip(absent[0]) if absent else pytest.mark.skipif(False, reason="all are here")


def find(pattern: str) -> list[Path]:
    """The files below SAMPLES of this pattern, by name; none where they are absent."""
    return sorted(SAMPLES.glob(pattern))


def each(argument: str, files: list[Path], where: str) -> pytest.MarkDecorator:
    """The test runs once for each file; where there is none, as one test that is skipped."""
    params = [pytest.param(path, id=path.name.split(".json")[0]) for path in files]
    return pytest.mark.parametrize(argument, params or [pytest.param(None, id="absent", marks=skip(where))])


def summary(reasons: list[str]) -> str | None:
    """One line of the reasons why tests were skipped: how many for want of files, and which; None if none was."""
    absent = Counter(reason.split(ABSENT)[1].split("/")[0] for reason in reasons if ABSENT in reason)
    if not absent:
        return None
    folders = ", ".join(f"{folder} ({count})" for folder, count in sorted(absent.items()))
    return f"{sum(absent.values())} tests need files of other tools that a clone does not have: {folders} of ../shared/data"
