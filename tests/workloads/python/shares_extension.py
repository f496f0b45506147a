# SPDX-License-Identifier: Apache-2.0
"""Python that calls C that calls Python that calls C: the last C does the work of shares.c.

Usage: shares_extension.py FOLDER, where the built extension module lies.
"""
import sys

sys.path.insert(0, sys.argv[1])
import shares_extension as extension


class Middle:
    """Called from C; as a method and by way of a generator, so that frames come and go."""

    def parts(self, seed):
        yield extension.alpha(seed)  # alpha
        yield extension.beta(seed)  # beta
        yield extension.gamma_(seed)  # gamma_
        yield extension.delta(seed)  # delta

    def __call__(self, seed):
        return sum(self.parts(seed)) & 0xFFFF


def left(seed):
    return extension.through(Middle(), seed)  # left


def right(seed):
    return extension.through(Middle(), seed + 1)  # right


def main():
    seed = 1
    for _ in range(2500):
        seed = left(seed) + right(seed)


main()
