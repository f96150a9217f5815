# SPDX-License-Identifier: BSD-3-Clause
"""The CUDA driver by ctypes and no other package: memory, streams, work that takes a while."""

import ctypes
import os
import time
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p

NON_BLOCKING = 1
LEGACY = 1
PER_THREAD = 2
CAPTURE_RELAXED = 2
CAPTURE_ACTIVE = 1

library = None


class DriverError(Exception):
    """A driver call that failed: its name and its CUresult."""


def _argument(value):
    # Handles, addresses and sizes are all of 64 bits; flags and bytes do not mind.
    return c_uint64(value) if isinstance(value, int) else value


def status_of(name, *arguments):
    """Calls the driver; returns the CUresult."""
    return getattr(library, name)(*map(_argument, arguments))


def call(name, *arguments):
    status = status_of(name, *arguments)
    if status != 0:
        raise DriverError(f"{name}: {status}")


def open_driver():
    """Loads the driver and makes the primary context of device 0 current."""
    global library
    if library is None:
        library = ctypes.CDLL("libcuda.so.1")
        call("cuInit", 0)
    Context.of(0).use()


def number(name, *arguments, type=c_int):
    """The value that a driver call writes into its first argument."""
    out = type()
    call(name, byref(out), *arguments)
    return out.value


def device_count():
    return number("cuDeviceGetCount")


def is_certain():
    """Whether a missing wait is a wrong value every time: on simcuda, with no work of its own."""
    settings = os.environ.get("SIMCUDA_QUIET_MS"), os.environ.get("SIMCUDA_SCHEDULE", "lazy")
    return hasattr(library, "simcuda_calls") and settings == ("0", "lazy")


class Context:
    """A device's primary context, kept for the whole run, with what its slow work needs."""

    _kept = {}  # noqa: RUF012

    def __init__(self, device):
        self.device = device
        self.handle = number("cuDevicePrimaryCtxRetain", device, type=c_void_p)
        self.scratch = None

    @classmethod
    def of(cls, device):
        if device not in cls._kept:
            cls._kept[device] = cls(device)
        return cls._kept[device]

    def use(self):
        call("cuCtxSetCurrent", self.handle)
        return self


def new_stream(flags=NON_BLOCKING):
    return number("cuStreamCreate", flags, type=c_void_p)


def new_memory(size):
    return number("cuMemAlloc_v2", size, type=c_uint64)


def fill(address, value, size, stream):
    call("cuMemsetD8Async", address, value, size, stream)


def copy(to, source, size, stream):
    call("cuMemcpyDtoDAsync_v2", to, source, size, stream)


def read(address, size, stream):
    """The bytes in memory, once a stream has come to its end."""
    host = (ctypes.c_ubyte * size)()
    wait_for(stream)
    call("cuMemcpyDtoH_v2", host, address, size)
    return bytes(host)


def wait_for(stream):
    call("cuStreamSynchronize", stream)


def synchronize():
    call("cuCtxSynchronize")


SLOW_SECONDS = 0.03


def _calibrate(context):
    total = number("cuDeviceTotalMem_v2", context.device, type=c_size_t)
    size = min(64 << 20, total >> 10)
    context.scratch = new_memory(size)
    stream = new_stream()

    def seconds(times):
        wait_for(stream)
        start = time.perf_counter()
        for _ in range(times):
            fill(context.scratch, 0, size, stream)
        wait_for(stream)
        return (time.perf_counter() - start) / times

    seconds(2)
    context.scratch_size = size
    context.repeats = min(max(int(SLOW_SECONDS / seconds(8)), 4), 4000)


def work_slowly(stream, device=0):
    """Queues some 30 ms of work. No compiler is needed: it is a chain of memsets."""
    context = Context.of(device)
    if context.scratch is None:
        _calibrate(context)
    for _ in range(context.repeats):
        fill(context.scratch, 0, context.scratch_size, stream)


def begin_capture(stream):
    call("cuStreamBeginCapture_v2", stream, CAPTURE_RELAXED)


def is_capturing(stream):
    status = c_int()
    call("cuStreamIsCapturing", stream, byref(status))
    return status.value == CAPTURE_ACTIVE


def end_capture(stream):
    graph = c_void_p()
    call("cuStreamEndCapture", stream, byref(graph))
    call("cuGraphDestroy", graph)


class PlainArray:
    """An array of bytes and nothing else: the dict, and the memory behind it."""

    def __init__(self, address, size, stream, version=3):
        self.address = address
        self.size = size
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": version,
        }
        if version >= 3:
            self.__cuda_array_interface__["stream"] = stream
