# SPDX-License-Identifier: Apache-2.0
"""opencl_host.py ROUNDS: Python between kernels, for who blames idle time: left() for 4 ms of CPU time, time.sleep of 4 ms,
right() for 8 ms, a kernel. Prints kernels, and the wall-clock ns in each. Exit status 77: no OpenCL device."""
import ctypes
import sys
import time

cl = ctypes.CDLL("libOpenCL.so.1")
POINTER = ctypes.c_void_p
for name in ("clCreateContext", "clCreateCommandQueueWithProperties", "clCreateProgramWithSource", "clCreateBuffer", "clCreateKernel"):
    getattr(cl, name).restype = POINTER


def spin(seconds):
    until = time.thread_time() + seconds
    total = 0
    while time.thread_time() < until:
        for i in range(1000):
            total += i * i
    return total


def left():
    return spin(0.004) + 1


def right():
    return spin(0.008) + 2


def kernel():
    """A function that runs an empty kernel and waits for it."""
    platform, device = POINTER(), POINTER()
    if cl.clGetPlatformIDs(1, ctypes.byref(platform), None) or \
            cl.clGetDeviceIDs(platform, ctypes.c_uint64(0xffffffff), 1, ctypes.byref(device), None):
        sys.exit(77)
    status = ctypes.c_int()
    context = POINTER(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(status)))
    queue = POINTER(cl.clCreateCommandQueueWithProperties(context, device, None, ctypes.byref(status)))
    text = ctypes.c_char_p(b"kernel void turn(global int *x) { x[get_global_id(0)] ^= 1; }")
    program = POINTER(cl.clCreateProgramWithSource(context, 1, ctypes.byref(text), None, ctypes.byref(status)))
    memory = POINTER(cl.clCreateBuffer(context, ctypes.c_uint64(0), ctypes.c_size_t(256), None, ctypes.byref(status)))
    if cl.clBuildProgram(program, 1, ctypes.byref(device), b"", None, None):
        sys.exit(1)
    turn = POINTER(cl.clCreateKernel(program, b"turn", ctypes.byref(status)))
    cl.clSetKernelArg(turn, 0, ctypes.c_size_t(8), ctypes.byref(memory))
    items = ctypes.c_size_t(64)

    def run():
        done = not cl.clEnqueueNDRangeKernel(queue, turn, 1, None, ctypes.byref(items), None, 0, None, None)
        cl.clFinish(queue)
        return done
    return run


def main(rounds):
    run = kernel()
    launched = run()
    times = {"left": 0, "right": 0, "wait": 0}
    for _ in range(rounds):
        for name, work in (("left", left), ("wait", lambda: time.sleep(0.004)), ("right", right)):
            start = time.monotonic_ns()
            work()
            times[name] += time.monotonic_ns() - start
        launched += run()
    print(launched, *(word for pair in times.items() for word in pair))


main(int(sys.argv[1]))
