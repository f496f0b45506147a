# SPDX-License-Identifier: Apache-2.0
"""
A TensorFlow program in which it is known what waits and how much memory is made: two products of which one must wait for
the only thread, 4 MB made by one node; and another function with a node of the same name.
"""
import tensorflow as tf

STEPS = 12
tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.threading.set_intra_op_parallelism_threads(1)


@tf.function
def two_products(x):
    left = tf.matmul(x, x, name="left")
    right = tf.matmul(x, tf.sinh(x, name="before"), name="right")
    with tf.device("CPU:0"):
        big = tf.random.uniform((1000, 1000), name="big")
    return tf.add(left, right, name="sum"), tf.reduce_sum(big, name="total")


@tf.function
def other(x):
    return tf.cosh(x, name="sum")


x = tf.fill((400, 400), 0.01)
for _ in range(STEPS):
    y, total = two_products(x)
    other(y)
print("done")
