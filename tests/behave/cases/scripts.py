# SPDX-License-Identifier: Apache-2.0
"""Python programs that a profiler must not disturb; `scripts.py NAME` runs the case of that name. As behave.h says, a case
prints nothing that differs between two plain runs."""
from __future__ import annotations

import asyncio
import concurrent.futures
import errno
import faulthandler
import multiprocessing
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

SIGNALS = [signal.SIGUSR1, signal.SIGURG, *range(signal.SIGRTMIN, signal.SIGRTMAX + 1, 5), signal.SIGRTMAX]


def work(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))


def case_raw_writes() -> None:
    """Files without a buffer write once and believe it; plain, all goes."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(writer)
        time.sleep(0.01)
        got = 0
        while piece := os.read(reader, 1 << 16):
            got += len(piece)
        os._exit(got != 6 * (4 << 20))
    os.close(reader)
    data = bytes(4 << 20)
    whole = 0
    with open(writer, "wb", buffering=0) as stream:
        for index in range(6):
            work(0.005)
            whole += (stream.write(data) if index % 2 else os.write(stream.fileno(), data)) == len(data)
    print("whole", whole, "reader", os.waitpid(child, 0)[1])


def case_subprocesses() -> None:
    data = b"0123456789" * 300000
    for _ in range(4):
        work(0.01)
        done = subprocess.run(["cat"], input=data, stdout=subprocess.PIPE)
        print(done.returncode, done.stdout == data)
    child = subprocess.Popen(["sleep", "60"])
    try:
        child.wait(0.1)
    except subprocess.TimeoutExpired as error:
        print(type(error).__name__)
    child.send_signal(signal.SIGURG)
    child.terminate()
    print(child.wait())
    print(subprocess.run(["sh", "-c", "ulimit -n; kill -USR1 $$"], stdout=subprocess.PIPE, close_fds=True).returncode)
    print(subprocess.run([sys.executable, "-c", "import os; print(os.listdir('/proc/self/fd')[:3])"], capture_output=True).returncode)


def case_environments() -> None:
    """What programs find that Python starts, in every way; Sonde's own variables are in the manual."""
    code = ("import os; print([name + os.environ[name] * (name in ('A', 'B') or name[:3] == 'OF_') for name in sorted(os.environ) "
            "if not name.startswith(('SONDE_', 'LD_PRELOAD', 'ASAN_OPTIONS', 'NVTX_', 'INTEL_LIBITTNOTIFY', 'CUDA_INJECTION64_PATH', 'ZE_ENABLE_TRACING_LAYER', 'OPENCL_', 'BEHAVE_'))], "
            "flush=True)")
    os.environ["OF_THE_PROGRAM"] = "1"
    work(0.01)
    sys.stdout.flush()
    for environment in (None, {}, {"A": "1", "B": "b=c"}):
        subprocess.run([sys.executable, "-c", code], env=environment)
        os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "-c", code], environment or os.environ), 0)
    os.system(f'{sys.executable} -c "{code}"')
    threads = [threading.Thread(target=os.system, args=(f"exit {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
        os.environ[f"OF_THREAD_{thread.name}"] = "x" * 100
    for thread in threads:
        thread.join()
    os.system(f'{sys.executable} -c "{code}"')
    print(os.environ.get("OF_THE_PROGRAM"), len([name for name in os.environ if name.startswith("OF_THREAD_")]))


def case_signal_handlers() -> None:
    got: list[int] = []
    for number in SIGNALS:
        signal.signal(number, lambda number, frame: got.append(number))
    for number in SIGNALS:
        work(0.003)
        os.kill(os.getpid(), number)
        signal.raise_signal(number)
        signal.pthread_kill(threading.get_ident(), number)
    work(0.01)
    print(sorted(got) == sorted(SIGNALS * 3), len(got))
    print([signal.getsignal(number) is not signal.SIG_DFL for number in range(1, 32)])


def case_signals_waited_for() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
    for number in SIGNALS:
        work(0.003)
        os.kill(os.getpid(), number)
        print(sorted(signal.sigpending()), signal.sigwait([number, signal.SIGTERM]))
        os.kill(os.getpid(), number)
        print(signal.sigtimedwait([number], 2).si_signo, signal.sigtimedwait([number], 0.001))


def case_wakeup() -> None:
    mine, other = socket.socketpair()
    mine.setblocking(False)
    other.setblocking(False)
    signal.set_wakeup_fd(other.fileno())
    for number in SIGNALS:
        signal.signal(number, lambda number, frame: None)
        os.kill(os.getpid(), number)
        work(0.003)
        print(list(mine.recv(100)))


def case_keyboard() -> None:
    for _ in range(3):
        timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        try:
            work(0.01)
            time.sleep(5)
        except KeyboardInterrupt:
            print("interrupted")
        timer.join()
    os.kill(os.getpid(), signal.SIGINT)
    work(0.1)


def case_interval_timer() -> None:
    ticks = []
    signal.signal(signal.SIGALRM, lambda number, frame: ticks.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    start = time.monotonic()
    for _ in range(5):
        work(0.01)
        time.sleep(0.03)  # goes on after each alarm, as PEP 475 has it
        select.select([], [], [], 0.02)
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("slept", time.monotonic() - start >= 0.25, "ticks", len(ticks) >= 10)


def case_faults() -> None:
    faulthandler.enable()
    with tempfile.TemporaryFile() as file:
        faulthandler.register(signal.SIGUSR2, file=file, all_threads=True, chain=False)
        work(0.02)
        os.kill(os.getpid(), signal.SIGUSR2)
        file.seek(0)
        print([line.strip().split(" in ")[-1] for line in file.read().decode().splitlines() if " in " in line])
    for code in ["import faulthandler; faulthandler.enable(); faulthandler._sigsegv()", "import os; os.abort()",
                 "import faulthandler; faulthandler.enable(); faulthandler._stack_overflow()",
                 "import faulthandler, time; faulthandler.dump_traceback_later(0.1, exit=True); time.sleep(9)",
                 "import ctypes; ctypes.string_at(0)"]:
        done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, preexec_fn=no_core)
        print(done.returncode, [line for line in done.stderr.splitlines() if "Fatal" in line or "Timeout" in line])


def no_core() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def case_asyncio() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        got: list[int] = []
        for number in SIGNALS:
            loop.add_signal_handler(number, got.append, number)

        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())

        async def pull() -> bytes:
            return await reader.readexactly(1 << 21)

        pulled = asyncio.ensure_future(pull())
        writer.write(bytes(range(256)) * (1 << 13))
        for number in SIGNALS:
            os.kill(os.getpid(), number)
            work(0.002)
            await asyncio.sleep(0.002)
        print(await pulled == bytes(range(256)) * (1 << 13))
        writer.close()
        child = await asyncio.create_subprocess_exec("sh", "-c", "read x; echo got $x; exit 3", stdin=subprocess.PIPE,
                                                     stdout=subprocess.PIPE)
        print((await child.communicate(b"line\n"))[0], child.returncode)
        try:
            await asyncio.wait_for(asyncio.sleep(5), 0.05)
        except asyncio.TimeoutError:
            print("timeout")
        print(await loop.run_in_executor(None, lambda: work(0.01)), sorted(got) == sorted(SIGNALS))
        server.close()

    asyncio.run(main())


def square(number: int) -> int:
    work(0.002)
    return number * number


def case_processes() -> None:
    for method in ["fork", "spawn", "forkserver"]:
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            print(method, sum(pool.map(square, range(20))))
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as executor:
        print(list(executor.map(square, range(5))))
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    process.start()
    process.terminate()
    process.join()
    print(process.exitcode)


def case_threads() -> None:
    with concurrent.futures.ThreadPoolExecutor(16) as executor:
        print(sum(executor.map(square, range(100))))
    event = threading.Event()
    print(event.wait(0.01), threading.Lock().acquire(timeout=0.01))
    print(threading.active_count(), len(os.listdir("/proc/self/task")))


def case_sockets() -> None:
    left, right = socket.socketpair()
    left.settimeout(0.005)
    errors = {}
    for _ in range(60):
        work(0.0005)
        try:
            left.recv(1)
        except OSError as error:
            errors[type(error).__name__] = errors.get(type(error).__name__, 0) + 1
    print(errors)
    left.settimeout(None)
    received = []
    thread = threading.Thread(target=lambda: received.append(len(right.recv(1 << 22, socket.MSG_WAITALL))))
    thread.start()
    for _ in range(4):
        work(0.005)
        left.sendall(bytes(1 << 20))
    thread.join()
    print(received)


def case_descriptors() -> None:
    work(0.02)
    print(os.dup(0), *os.pipe(), socket.socket().fileno() >= 5)
    os.closerange(3, 2000)
    work(0.02)
    print(os.open("/dev/null", os.O_RDONLY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
    count = 0
    try:
        while True:
            os.dup(0)
            count += 1
    except OSError as error:
        print(count, errno.errorcode[error.errno])
    os.closerange(3, 128)


def case_terminal() -> None:
    import pty
    child, master = pty.fork()
    if not child:
        work(0.01)
        print("terminal", os.isatty(0), sys.stdin.readline().strip(), flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)
        while True:  # a signal that comes just before a sleep does not end it
            time.sleep(0.01)
    os.write(master, b"typed\n")
    print(os.waitpid(child, os.WUNTRACED)[1])
    os.kill(child, signal.SIGCONT)
    print(os.waitpid(child, os.WCONTINUED)[1])
    os.write(master, b"\x03")
    status = os.waitpid(child, 0)[1]
    print(os.WIFEXITED(status), os.WEXITSTATUS(status) if os.WIFEXITED(status) else os.WTERMSIG(status))
    os.close(master)


def case_output_lost_by_nobody() -> None:
    """What is printed reaches a slow reader, whatever happens meanwhile."""
    code = "import sys\nfor i in range(60000): print(i, 'x' * 40)\nsys.stdout.flush()"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    expected = 0
    for line in child.stdout:
        if int(line.split()[0]) != expected:
            print("lost before", line)
            break
        expected += 1
    print(expected, child.wait())


def case_exits() -> None:
    for code in ["raise SystemExit(3)", "import os; os._exit(4)", "1/0", "import signal; signal.raise_signal(15)",
                 "import threading, time; threading.Thread(target=time.sleep, args=(0.05,)).start(); raise SystemExit(5)",
                 "import signal; signal.raise_signal(34)", "import os; os.kill(os.getpid(), 23)",
                 "import atexit, os; atexit.register(print, 'at exit')", "import os; os.execvp('sh', ['sh', '-c', 'exit 6'])",
                 "import os; pid = os.fork(); print(os.waitpid(pid, 0)[1] if pid else 'child')"]:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=no_core)
        print(done.returncode, done.stdout.split("\n"))


if __name__ == "__main__":
    globals()[f"case_{sys.argv[1]}"]()
