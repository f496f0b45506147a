# SPDX-License-Identifier: Apache-2.0
"""inductor_seeds.py FOLDER: generated Python and the pickle of its graph behind it, as fuzz_inductor.c takes them apart. The
program whose lines they name is written to the folder `made`."""
from __future__ import annotations

import pickle
import sys
from pathlib import Path

cli = Path(__file__).resolve().parents[2] / "cli"
sys.path[:0] = [str(cli), str(cli / "aggregate")]

from test_inductor_lines import GENERATED, Made  # noqa: E402

folder = Path("made").absolute()
folder.mkdir()
made = Made(folder)
for protocol in (2, 4, 5):
    (Path(sys.argv[1]) / str(protocol)).write_bytes(GENERATED.encode() + pickle.dumps(made.entry(), protocol))
