# SPDX-License-Identifier: Apache-2.0
"""A TensorFlow program whose graph is known: STEPS calls of one function, two products and what lies between."""
import sys

import tensorflow as tf

STEPS = 12


@tf.function
def known_step(w, x):
    h = tf.matmul(x, w, name="first")
    y = tf.sinh(h, name="between")
    return tf.matmul(y, w, name="second")


w = tf.fill((64, 64), 0.01)
x = tf.ones((64, 64))
if len(sys.argv) > 1:
    tf.profiler.experimental.start(sys.argv[1])
for step in range(STEPS):
    with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
        x = known_step(w, x)
if len(sys.argv) > 1:
    tf.profiler.experimental.stop()
print("%.6f" % float(tf.reduce_sum(x)))
