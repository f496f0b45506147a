# SPDX-License-Identifier: Apache-2.0
"""joblib's three kinds of workers; each works for about the same time."""
from joblib import Parallel, delayed

ROUNDS = 3_000_000


def busy(rounds):
    total = 0
    for number in range(rounds):
        total += number * number
    return total


def main():
    Parallel(n_jobs=2, backend="threading")(delayed(busy)(ROUNDS) for _ in range(4))  # here: threading
    Parallel(n_jobs=2, backend="multiprocessing")(delayed(busy)(ROUNDS) for _ in range(4))  # here: multiprocessing
    Parallel(n_jobs=2, backend="loky")(delayed(busy)(ROUNDS) for _ in range(4))  # here: loky


if __name__ == "__main__":
    main()
