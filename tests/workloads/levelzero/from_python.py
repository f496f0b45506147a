# SPDX-License-Identifier: Apache-2.0
"""Level Zero by ctypes, which finds each function in the loader itself: 7 kernels and a wait."""
import ctypes

ze = ctypes.CDLL("libze_loader.so.1")


def described(kind: int, *words: int) -> ctypes.Array:
    """A structure that begins with its type and a pointer to nothing; the rest is zero but for `words`, of 32 bits each."""
    return (ctypes.c_uint32 * 40)(kind, 0, 0, 0, *words)


def made(function: str, *arguments: object) -> ctypes.c_void_p:
    """What the last parameter returns."""
    handle = ctypes.c_void_p()
    assert getattr(ze, function)(*arguments, ctypes.byref(handle)) == 0, function
    return handle


assert ze.zeInit(0) == 0
one = ctypes.c_uint32(1)
driver = made("zeDriverGet", ctypes.byref(one))
device = made("zeDeviceGet", driver, ctypes.byref(one))
context = made("zeContextCreate", driver, described(0xD))
module = ctypes.c_void_p()
assert ze.zeModuleCreate(context, device, described(0x1B), ctypes.byref(module), None) == 0
name = (ctypes.c_uint64 * 4)(0x1D, 0, 0, ctypes.cast(b"scale", ctypes.c_void_p).value)
kernel = made("zeKernelCreate", module, name)
pool = made("zeEventPoolCreate", context, described(0x10, 1, 1), 0, None)
event = made("zeEventCreate", pool, described(0x11))
commands = made("zeCommandListCreateImmediate", context, device, described(0xE))
groups = (ctypes.c_uint32 * 3)(64, 1, 1)
for turn in range(7):
    assert ze.zeCommandListAppendLaunchKernel(commands, kernel, groups, event if turn == 6 else None, 0, None) == 0  # launches
assert ze.zeEventHostSynchronize(event, ctypes.c_uint64(2**64 - 1)) == 0
print("done")
