# SPDX-License-Identifier: Apache-2.0
"""A JAX program whose graph is known: STEPS executions of one program, of which two operations are fused."""
import sys

import jax
import jax.numpy as jnp

STEPS = 12


def scale(x):
    return jnp.sin(x) * 2.0 + jnp.cos(x)  # one fusion


@jax.jit
def known_step(w, x):
    h = jnp.dot(x, w)  # the product
    return jnp.dot(scale(h), w)


w = jnp.full((64, 64), 0.01)
x = jnp.ones((64, 64))
if len(sys.argv) > 1:
    jax.profiler.start_trace(sys.argv[1])
for _ in range(STEPS):
    x = known_step(w, x)
x.block_until_ready()
if len(sys.argv) > 1:
    jax.profiler.stop_trace()
print("%.6f" % float(x.sum()))
