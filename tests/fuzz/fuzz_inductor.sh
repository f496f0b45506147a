#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_inductor.sh [SECONDS]: what inductor's cache knows of the Python that it generated; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
mkdir made
python3 - "$here" <<'END'
import pickle, sys
from pathlib import Path
cli = Path(sys.argv[1]).parent / "cli"
sys.path[:0] = [str(cli), str(cli / "aggregate")]
from test_inductor_lines import GENERATED, Made
made = Made(Path("made").absolute())
for number, protocol in enumerate((2, 4, 5)):
    Path(f"corpus/{number}").write_bytes(GENERATED.encode() + pickle.dumps(made.entry(), protocol))
END
fuzz 16384
