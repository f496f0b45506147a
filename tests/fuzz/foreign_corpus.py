# SPDX-License-Identifier: Apache-2.0
"""foreign_corpus.py FOLDER: small files of every format that `sonde import` reads, made by the tests' own writers."""
from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))

from kineto_traces import Trace  # noqa: E402
from test_import_nsys import Export  # noqa: E402
from test_import_perf import made  # noqa: E402
from test_import_rocprof import results, write_run  # noqa: E402

folder = Path(sys.argv[1])
trace = Trace()
trace.call("python_function", "train.py(12): step", 0, 500)
trace.call("cpu_op", "aten::mm", 10, 100, Sequence_number=4, Fwd_thread_id=0)
trace.call("cpu_op", "MmBackward0", 210, 290, thread=11, Sequence_number=4, Fwd_thread_id=1)
trace.launch(1, 50, 60)
trace.operation("kernel", "gemm", 70, 170, 1, grid=[2, 3, 4], block=[32, 2, 1])
trace.events.append({"ph": "M", "name": "thread_name", "pid": 5, "tid": 10, "args": {"name": "main"}})
for phase, time in (("B", 1), ("E", 5), ("b", 2), ("e", 7), ("C", 3), ("i", 4)):
    trace.events.append({"ph": phase, "name": "x", "cat": "y", "id": "0x1", "pid": 5, "tid": 10, "ts": time, "args": {"v": 1.5}})
trace.write(folder / "kineto.json")
write_run(folder)
(folder / "perf.data").write_bytes(made())
(folder / "pipe.data").write_bytes(made(True))
(folder / "rocprof.json").write_text(json.dumps(results()))
export = Export(folder / "nsys.sqlite")
export.db.commit()
export.db.execute("PRAGMA page_size=512")
export.db.execute("VACUUM")
export.range("aten::mul, seq = 12, op_id = 7", 100, 200)
export.api("cudaLaunchKernel_v7000", 110, 130, 1)
export.kernel("gemm(float*)", 160, 260, 1)
export.close()
