# SPDX-License-Identifier: Apache-2.0
"""What the build's libraries are, taken together."""
from __future__ import annotations

import subprocess
from collections import defaultdict

from conftest import BUILD


def test_each_name_is_defined_once():
    """Of two functions of one name in two libraries the linker takes one and says nothing.

    Of the ways to communicate a program links one, by choice.
    """
    where: defaultdict[str, set[str]] = defaultdict(set)
    libraries = [path for path in (BUILD / "src").rglob("*.a") if "libcomm_" not in path.name]
    assert len(libraries) > 10
    for library in libraries:
        listed = subprocess.run(["nm", "--defined-only", library], capture_output=True, text=True, check=True).stdout
        for fields in map(str.split, listed.splitlines()):
            if len(fields) == 3 and fields[1] in "TDBR":
                where[fields[2]].add(library.name)
    assert where["sn_importer_find"] and {name: libs for name, libs in where.items() if len(libs) > 1} == {}
