# SPDX-License-Identifier: Apache-2.0
"""foreign_seeds.py FOLDER: small files of every format that `sonde import` reads, made by the tests' own writers."""
from __future__ import annotations

import json
import sys
from pathlib import Path

cli = Path(__file__).resolve().parents[2] / "cli"
sys.path[:0] = [str(cli), *(str(folder) for folder in cli.iterdir() if folder.is_dir())]

from kineto_traces import Trace  # noqa: E402
from perfetto_trace import trace as perfetto  # noqa: E402
from test_import_nsys import Export  # noqa: E402
from test_import_perf import made as perf_recording  # noqa: E402
from test_import_perf_python import EVAL, OTHER, TWO_GROUPS, frames_of, recording as python_recording  # noqa: E402
from test_import_rocpd import Rocpd  # noqa: E402
from test_import_rocprof import results, write_run  # noqa: E402
from test_import_step_stats import FORMS as step_stats_forms  # noqa: E402
from test_import_xplane import executor_space, gpu_space, metadata, tpu_space  # noqa: E402

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
trace.events.append({"ph": "P", "name": "sample", "pid": 5, "tid": 10, "ts": 3, "sf": 2})
trace.members["sonde"] = "1"
trace.members["stackFrames"] = {"1": {"name": "main"}, "2": {"name": "work", "category": "python", "parent": "1", "file": "w", "line": 7}}
trace.events.insert(0, {"ph": "M", "name": "process_labels", "pid": 5, "args": {"labels": "GPU 0, of 12, rank 3, pid 77, host n"}})
trace.call("cpu_op", "below.py", 20, 30, thread=12)
trace.events[-1]["sf"] = 2
for phase, time in (("b", 1), ("e", 5)):
    trace.events.append({"ph": phase, "name": "blocked: futex", "cat": "thread_state", "id": 3, "pid": 5, "tid": 10, "ts": time,
                         "args": {"correlation": 7}, "sf": 1})
trace.members["stackFrames"]["2"] |= {"function_line": 3, "flags": 16, "offset": 77, "module": "/m", "build_id": "ab"}
trace.write(folder / "sonde.json")
import test_import_perfetto as made  # noqa: E402

threads, start, end, text = made.thread(1, 7, 8, "main"), made.BEGIN, made.END, {1: 1, 2: "x"}
interned = {13: 1, 12: {1: text, 2: text, 3: text, 29: text, 5: text, 17: text, 16: text, 18: text, 24: text, 1000: text, 1001: text,
                        19: {1: 1, 2: 1, 7: 1}, 6: {1: 1, 2: 1, 3: 1, 5: 1, 6: 12, 8: "python", 7000: 0, 7001: 12, 7002: 16}, 7: {1: 1, 2: [1, 1]}, 23: {1: 1, 2: 7}}}
for name, packets in {
    "slices": [made.event(1, start, 1, 1, f4=[{1: 1, 17: 1}, {10: "d", 11: {10: "a", 12: [{4: 1}, {5: 0.5}]}}], f3=1, packet=interned),
               made.event(2, start, 1, "b", f47=made.Fixed(9)), made.event(3, end, 1), made.event(3, end, 1),
               made.event(4, made.COUNTER, 5, f30=3), made.event(4, made.STATE, 6, "on"), made.event(5, made.INSTANT, 7, "i", f56=1),
               made.descriptor(5, 1, f2="c", f8={3: 3, 4: 2, 5: 1}), made.descriptor(6, 1001, f2="row"),
               made.descriptor(7, 1, f14="device 0, context 1, stream 2")],
    "sonde": [{8: 1, 10: 2, 126: {1: {1: "sonde", 3: "1"}}, **interned}, made.descriptor(5, 1, f2="overlapping"),
              made.event(1, start, 1, "x", f22="cpu_op", f56=1), made.event(2, start, 5, "a: b", f22="thread_state", f56=1, f47=made.Fixed(9)),
              made.event(3, end, 5), made.event(4, end, 1), made.event(5, made.INSTANT, 1, "i", f56=0)],
    "samples": [{8: 1, 10: 2, **interned, 66: {1: 3, 2: 7, 3: 8, 4: 1}}, {10: 2, 44: {1: 7, 2: 9, 6: 5}},
                {8: 9, 10: 2, 54: {1: [1, 1], 2: [0, 4]}}, {10: 2, 11: {1: 2, 6: {1: 1, 2: 88, 3: 30, 18: 7, 19: 10}}}],
    "gpu": [{8: 1, 10: 2, **interned, 53: {1: 1, 2: 9, 13: 1, 14: 1, 11: 1, 5: 1, 19: 1, 6: text,
                                           21: {1: {1: 2, 2: 3}, 2: {1: 4}, 3: [{1: 1, 4: 3}, {2: "x", 5: 0.5}]}}}],
    "sched": [{10: 2, 1: {1: 0, 2: [made.switch(100, 0, 0, 8, "a"), made.switch(300, 8, 1, 0, "i"), {1: 9, 20: {1: "a", 2: 8}}]}},
              {10: 2, 1: {1: 1, 5: 2, 6: 5, 7: 9, 4: {5: ["b", "i"], 1: b"\x05\x06", 2: b"\x00\x01", 3: b"\x09\x00", 6: b"\x00\x01",
                                                    7: b"\x01", 8: b"\x09", 11: b"\x00"}}}],
    "clocks": [{10: 2, 13: 1, 6: {1: [{1: 64, 2: 10, 3: 1, 4: 1000}, {1: 6, 2: 5}]}, 59: {58: 64, 11: {11: 1}}},
               {8: 3, 10: 2, 11: {9: 3, 23: "m"}}, {8: 3, 58: 3, 10: 2, 11: {9: 3, 23: "n"}},
               {50: made.zlib.compress(perfetto([made.event(1, start, 1, "z")]))}],
}.items():
    (folder / f"perfetto-{name}").write_bytes(perfetto([made.CLOCKS, *threads, *packets]))
write_run(folder)
(folder / "perf.data").write_bytes(perf_recording())
(folder / "pipe.data").write_bytes(perf_recording(True))
(folder / "python-image.data").write_bytes(python_recording({100: [OTHER, EVAL]}, frames_of(100, TWO_GROUPS), python=b"/proc/self/exe"))
(folder / "python.data").write_bytes(python_recording({100: [OTHER, EVAL]}, frames_of(100, TWO_GROUPS)))
(folder / "stack.data").write_bytes(perf_recording(stack=bytes(range(16, 80)), mapped=b"/proc/self/exe"))
(folder / "rocprof.json").write_text(json.dumps(results()))
export = Export(folder / "nsys.sqlite")
export.db.commit()
export.db.execute("PRAGMA page_size=512")
export.db.execute("VACUUM")
export.range("aten::mul, seq = 12, op_id = 7", 100, 200)
export.api("cudaLaunchKernel_v7000", 110, 130, 1)
export.kernel("gemm(float*)", 160, 260, 1)
export.close()
rocpd = Rocpd(folder / "rocpd.db", "_1", symbols=0)
rocpd.fill()
rocpd.db.commit()
rocpd.db.execute("PRAGMA page_size=512")
rocpd.db.execute("VACUUM")
rocpd.close()
(folder / "xplane-gpu").write_bytes(gpu_space())
for form, files in step_stats_forms.items():
    (folder / f"step-stats-{form}").write_bytes(files()[0])
(folder / "xplane-executor").write_bytes(executor_space())
(folder / "xplane-tpu").write_bytes(metadata() + tpu_space())
