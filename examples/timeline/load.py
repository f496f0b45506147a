# SPDX-License-Identifier: Apache-2.0
"""A slow start: the model's file is read as a whole, though one answer needs a small part of it. `load.py --mmap`
maps the file, and the system reads what is used.

    python3 load.py --make                      # once: writes model.bin, 256 MiB
    sonde run --os -- python3 load.py && sonde timeline --view threads load.sdb
"""
import sys

import torch

FILE, ROWS, COLUMNS = "model.bin", 1 << 18, 256  # an embedding, of which a sentence needs a few rows


def load(mapped: bool) -> torch.Tensor:
    if mapped:
        return torch.from_file(FILE, shared=False, size=ROWS * COLUMNS).view(ROWS, COLUMNS)
    with open(FILE, "rb") as file:  # into memory, as torch.load does without mmap=True
        return torch.frombuffer(bytearray(file.read()), dtype=torch.float32).view(ROWS, COLUMNS)


def main() -> None:
    if "--make" in sys.argv:
        with open(FILE, "wb") as file:
            for _ in range(ROWS // 1024):
                file.write(torch.ones(1024, COLUMNS).numpy().tobytes())
        return
    model = load("--mmap" in sys.argv)
    print(model[torch.arange(0, 64)].sum().item())


main()
