# SPDX-License-Identifier: Apache-2.0
"""
Three runs of a session whose graph is known: FOLDER/N.pb is what each records, FOLDER/events holds all. Prints what
TensorFlow's own protobuf reads: of each node executions, time, time queued, and bytes.
"""
import collections
import json
import pathlib
import sys

import numpy
import tensorflow as tf

tf1 = tf.compat.v1
folder = pathlib.Path(sys.argv[1])
totals: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0, 0, 0])
with tf.Graph().as_default():
    x = tf1.placeholder(tf.float32, (300, 300), name="x")
    left, right = tf.matmul(x, x, name="left"), tf.matmul(x, tf.sinh(x, name="before"), name="right")
    both = tf.add(left, right, name="sum")
    with tf1.Session(config=tf1.ConfigProto(inter_op_parallelism_threads=1)) as session:
        writer = tf1.summary.FileWriter(str(folder / "events"), session.graph)
        for number in range(3):
            metadata = tf1.RunMetadata()
            session.run(both, {x: numpy.ones((300, 300), numpy.float32)}, run_metadata=metadata,
                        options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE))
            (folder / f"{number}.pb").write_bytes(metadata.SerializeToString())
            writer.add_run_metadata(metadata, f"run {number}")
            for device in metadata.step_stats.dev_stats:
                for node in device.node_stats:
                    total = totals[node.node_name]
                    total[0] += 1
                    total[1] += node.all_end_rel_nanos
                    total[2] += node.all_start_nanos - node.scheduled_nanos
                    total[3] += sum(memory.total_bytes for memory in node.memory)
        writer.close()
print(json.dumps(totals))
