# SPDX-License-Identifier: Apache-2.0
"""Threads that Python starts, in four ways; each works for about the same time."""
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

ROUNDS = 2_000_000


def busy(rounds):
    total = 0
    for number in range(rounds):
        total += number * number
    return total


def nested(rounds):
    inner = threading.Thread(target=busy, args=(rounds,))
    inner.start()  # here: inner
    inner.join()


def main():
    thread = threading.Thread(target=busy, args=(ROUNDS,))
    thread.start()  # here: thread
    thread.join()
    outer = threading.Thread(target=nested, args=(ROUNDS,))
    outer.start()  # here: outer
    outer.join()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(busy, ROUNDS).result()  # here: executor
    with ThreadPool(1) as pool:  # here: pool
        pool.map(busy, [ROUNDS])


main()
