# SPDX-License-Identifier: Apache-2.0
"""Starts programs in every way that Python has: `children.py PROGRAM`, where PROGRAM is collect/child_work.c's."""
import multiprocessing
import os
import subprocess
import sys
import threading

ROUNDS = 3_000_000


def busy(rounds):
    total = 0
    for number in range(rounds):
        total += number * number
    return total


def by_exec(program):
    child = os.fork()
    if not child:
        os.execv(program, [program])  # here: exec
    os.waitpid(child, 0)


def in_thread(program):
    thread = threading.Thread(target=subprocess.run, args=([program],))
    thread.start()  # here: thread
    thread.join()


def by_python(program):
    code = f"import subprocess; subprocess.run(['{program}'])"
    subprocess.run([sys.executable, "-c", code])  # here: python


def main(program):
    subprocess.run([program])  # here: run
    subprocess.run([program], env={})  # here: empty
    subprocess.run([program, "thread"])  # here: its thread
    subprocess.run([program, "exec", program, "exec", program])  # here: executed
    subprocess.run(["sh", "-c", '"$0" & "$0"; wait', program])  # here: shell
    os.system(f"'{program}'; '{program}'")  # here: system
    os.waitpid(os.posix_spawn(program, [program], os.environ), 0)  # here: spawn
    by_exec(program)
    in_thread(program)
    by_python(program)
    worker = multiprocessing.get_context("spawn").Process(target=busy, args=(ROUNDS,))
    worker.start()  # here: multiprocessing
    worker.join()


if __name__ == "__main__":
    main(sys.argv[1])
