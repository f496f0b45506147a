#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a header with a hash of source files, whatever their order and the folder. Usage: OUTPUT FILE..."""
import hashlib
import pathlib
import sys

hashed = hashlib.sha256()
for path in sorted(map(pathlib.Path, sys.argv[2:]), key=lambda path: path.parts[-2:]):
    hashed.update(path.name.encode() + b"\0" + path.read_bytes())
pathlib.Path(sys.argv[1]).write_text(f"#define SN_SYMBOL_SOURCES 0x{hashed.hexdigest()[:8]}u\n")
