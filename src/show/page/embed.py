# SPDX-License-Identifier: Apache-2.0
"""Writes a file's bytes as a C array that ends with NUL, and its length without that as SYMBOL_bytes: embed.py INPUT OUTPUT SYMBOL."""

import sys

PER_LINE = 24


def main() -> None:
    source, target, symbol = sys.argv[1:]
    with open(source, "rb") as file:
        data = file.read() + b"\0"
    lines = (",".join(map(str, data[i : i + PER_LINE])) for i in range(0, len(data), PER_LINE))
    with open(target, "w", encoding="ascii") as file:
        file.write(f"extern const char {symbol}[];\nconst char {symbol}[] = {{\n")
        file.write(",\n".join(lines))
        file.write(f"\n}};\nextern const unsigned {symbol}_bytes;\nconst unsigned {symbol}_bytes = {len(data) - 1};\n")


main()
