# SPDX-License-Identifier: Apache-2.0
"""
CPU time of one call of a compiled function, in microseconds: of a tiny one, of one whose work is large, and of a loop
of 1,000 tiny computations. Run it plain and under `sonde run` in turns; docs/results/jax.md has figures.
"""
import time

import jax
import jax.numpy as jnp


@jax.jit
def tiny(x):
    return x + 1.0


@jax.jit
def large(x):
    return jnp.sin(x) + jnp.cos(x) * x


@jax.jit
def loop(x, w):
    return jax.lax.fori_loop(0, 1000, lambda _, v: jnp.sin(v) @ w, x)


def best(function, arguments, calls, rounds=9):
    function(*arguments).block_until_ready()
    least = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(calls):
            result = function(*arguments)
        result.block_until_ready()
        least = min(least, (time.process_time() - start) / calls)
    return least * 1e6


for function, arguments, calls in ((tiny, (jnp.ones(8),), 4000), (large, (jnp.ones(400_000),), 20),
                                   (loop, (jnp.ones((8, 8)), jnp.eye(8)), 10)):
    print(f"{function.__name__} {best(function, arguments, calls):.2f}", end="  ")
print()
