# SPDX-License-Identifier: Apache-2.0
"""
Functions that JAX compiles, with known work: by name of what to do, and a number of rounds.

two     two functions, of which one does seven parts of the work and the other three
places  one function, called from two lines, with seven and three parts of the work, without waiting in between
grad    a training step of a gradient, a function called by another, and one that is mapped over a batch
threads two threads, each with a function of its own
fork    a child of a fork, which computes nothing with JAX
"""
import os
import sys
import threading

import jax
import jax.numpy as jnp


def wave(v):
    return jnp.sin(v) * 1.01 + jnp.cos(v)  # the fused operations


def rounds(count, v):
    return jax.lax.fori_loop(0, count, lambda _, u: wave(u), v)


@jax.jit
def seven(v):
    return rounds(70, v)


@jax.jit
def three(v):
    return rounds(30, v)


@jax.jit
def some(count, v):
    return rounds(count, v)


@jax.jit
def inner(v):
    return jnp.tanh(v @ v)


@jax.jit
def train_step(w, v):
    loss = lambda w: (inner(w) * v).sum()
    return w - 0.1 * jax.grad(loss)(w)


@jax.jit
def of_batch(batch):
    return jax.vmap(lambda v: rounds(20, v))(batch)


def two(count):
    v = jnp.ones(200_000)
    for _ in range(count):
        v = seven(v)  # calls seven
        v = three(v)  # calls three
    return v


def places(count):
    v = jnp.ones(200_000)
    for _ in range(count):
        v = some(70, v)  # the first place
        v = some(30, v)  # the second place
    return v


def grad(count):
    w = jnp.full((200, 200), 0.01)
    batch = jnp.ones((40, 2000))
    for _ in range(count):
        w = train_step(w, w)  # calls train_step
        batch = of_batch(batch)  # calls of_batch
    return w.sum() + batch.sum()


def threads(count):
    def work(function):
        v = jnp.ones(20_000)
        for _ in range(count):
            v = function(v)  # calls in a thread
        v.block_until_ready()
    made = [threading.Thread(target=work, args=(function,)) for function in (seven, three)]
    for thread in made:
        thread.start()
    for thread in made:
        thread.join()
    return jnp.zeros(1)


def fork(count):
    v = two(count)
    v.block_until_ready()
    if os.fork() == 0:
        os._exit(sum(range(100)) % 7)
    os.wait()
    return v


print("%.4f" % float(globals()[sys.argv[1]](int(sys.argv[2])).sum()))
