# SPDX-License-Identifier: Apache-2.0
"""What TensorFlow executes: an operation, a function, and one that XLA compiles, each from a line of its own."""
import tensorflow as tf


@tf.function
def plain(v):
    return tf.reduce_sum(tf.sin(v @ v)) / 1e6 + v


@tf.function(jit_compile=True)
def compiled(v):
    return tf.reduce_sum(tf.cos(v @ v)) / 1e6 + v


v = tf.ones((400, 400)) / 400
for _ in range(60):
    v = tf.matmul(v, v) + 1 / 400  # an operation
    v = plain(v) / 400  # a function
    v = compiled(v) / 400  # a compiled function
print("%.3f" % float(tf.reduce_sum(v)))
