# SPDX-License-Identifier: Apache-2.0
"""Known answer: alpha does 10 % of the work, beta 20 %, gamma_ 30 % and delta 40 %, half by each caller.

Rounds differ in length, for a period of samples that is a multiple of a round would meet the same function for ever. The work
allocates nothing: where numbers happened to lie, the calls of some functions took 1.6 times as long as those of others.
"""
import itertools
import random

unit = 500


def work(units):
    total = 0
    for _ in itertools.repeat(None, units * unit):
        total ^= 5
    return total


def alpha():
    return work(1)


def beta():
    return work(2)


def gamma_():
    return work(3)


def delta():
    return work(4)


def left():
    return alpha() + beta() + gamma_() + delta()  # LEFT


def right():
    return delta() + gamma_() + beta() + alpha()  # RIGHT


def main():
    global unit
    for _ in range(7000):
        unit = random.randrange(250, 750)
        left()
        right()


main()
