# SPDX-License-Identifier: Apache-2.0
"""
Functions that JAX compiles, with known work: by name of what to do, and a number of rounds.

two     two functions, of which one does seven parts of the work and the other three
places  one function, called from two lines, with seven and three parts of the work, without waiting in between
grad    a training step of a gradient, a function called by another, and one that is mapped over a batch
threads two threads, each with a function of its own
fork    a child of a fork, which computes nothing with JAX
names   two functions called step and two without a name, and one step for two shapes
devices one function on two devices, with nine parts of the work on one and one on the other, which runs ahead
spread  a function over two devices: by shardings, as pmap and as shard_map do, with a sum over both
"""
import importlib
import os
import sys
import threading

if sys.argv[1] in ("devices", "spread"):
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

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


def make_step(count):
    @jax.jit
    def step(v):
        return rounds(count, v)
    return step


@jax.jit
def step(v):
    return jnp.sin(v) * 1.02 + jnp.cos(v)  # the operation of the short step


def names(count):
    long_step = make_step(70)
    long_lambda = jax.jit(lambda v: rounds(70, v))  # the long lambda
    short_lambda = jax.jit(lambda v: rounds(30, v))  # the short lambda
    v, w = jnp.ones(200_000), jnp.ones(100_000)
    for _ in range(count):
        v = long_step(v)  # calls the long step
        for _ in range(10):
            v = step(v)  # calls the short step
        w = step(w)  # calls it for another shape
        v = long_lambda(v)  # calls the long lambda
        v = short_lambda(v)  # calls the short lambda
    return v.sum() + w.sum()


def devices(count):
    v, w = (jax.device_put(jnp.ones(200_000), device) for device in jax.devices())
    for _ in range(count):
        v = some(90, v)  # on the first device
        w = some(10, w)  # on the second device
    w.block_until_ready()
    return jax.device_get(v) + jax.device_get(w)


def spread(count):
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
    mesh = Mesh(jax.devices(), ("d",))
    shard = NamedSharding(mesh, PartitionSpec("d"))
    shard_map = getattr(jax, "shard_map", None) or importlib.import_module("jax.experimental.shard_map").shard_map

    def sharded(v):
        return rounds(70, v)

    def mapped(v):
        return rounds(20, v)

    def summed(v):
        v = rounds(10, v)
        return v + jax.lax.psum(v.sum(), "d") / 1e9

    by_sharding = jax.jit(sharded, in_shardings=shard, out_shardings=shard)
    by_pmap = jax.pmap(mapped)
    by_map = jax.jit(shard_map(summed, mesh=mesh, in_specs=PartitionSpec("d"), out_specs=PartitionSpec("d")))
    v, w = jax.device_put(jnp.ones(200_000), shard), jnp.ones((2, 100_000))
    for _ in range(count):
        v = by_sharding(v)  # by shardings
        v = by_map(v)  # by shard_map
        w = by_pmap(w)  # by pmap
    return jax.device_get(v).sum() + jax.device_get(w)


print("%.4f" % float(globals()[sys.argv[1]](int(sys.argv[2])).sum()))
