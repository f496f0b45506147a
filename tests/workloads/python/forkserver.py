# SPDX-License-Identifier: Apache-2.0
"""Children of multiprocessing's fork server, which is started once, for three lines."""
import multiprocessing
import sys


def busy(times):
    for _ in range(times):
        sum(number * number for number in range(300_000))


def a_pool(context):
    with context.Pool(1) as pool:  # here: first pool
        pool.map(busy, [6])


def another_pool(context):
    with context.Pool(2) as pool:  # here: second pool
        pool.map(busy, [6, 6])


def a_process(context):
    process = context.Process(target=busy, args=(18,))
    process.start()  # here: process
    process.join()


def main():
    context = multiprocessing.get_context("forkserver")
    a_pool(context)
    another_pool(context)
    a_process(context)
    return 0


if __name__ == "__main__":
    sys.exit(main())
