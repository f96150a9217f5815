# SPDX-License-Identifier: BSD-3-Clause
"""As much of the CUDA driver as the checks need, through ctypes.

It is whatever driver the process has: simcuda, or a real one.
"""

import contextlib
import ctypes
import functools
import gc

import libcai
from libcai.errors import CudaError

LEGACY, PER_THREAD = 1, 2

_word, _pointer, _size = ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t
_SIGNATURES = {
    "cuCtxGetCurrent": [_pointer],
    "cuCtxGetDevice": [_pointer],
    "cuCtxSetCurrent": [_pointer],
    "cuCtxSynchronize": [],
    "cuDevicePrimaryCtxRetain": [_pointer, ctypes.c_int],
    "cuEventCreate": [_pointer, ctypes.c_uint],
    "cuEventDestroy_v2": [_pointer],
    "cuEventRecord": [_pointer, _pointer],
    "cuEventSynchronize": [_pointer],
    "cuLaunchKernel": [
        _pointer,
        *[ctypes.c_uint] * 7,
        _pointer,
        ctypes.POINTER(_pointer),
        _pointer,
    ],
    "cuMemAllocAsync": [_pointer, _size, _pointer],
    "cuMemFreeAsync": [_word, _pointer],
    "cuMemFreeHost": [_pointer],
    "cuMemHostAlloc": [_pointer, _size, ctypes.c_uint],
    "cuMemcpyAsync": [_word, _word, _size, _pointer],
    "cuModuleGetFunction": [_pointer, _pointer, ctypes.c_char_p],
    "cuModuleLoadData": [_pointer, ctypes.c_char_p],
    "cuMemsetD8Async": [_word, ctypes.c_ubyte, _size, _pointer],
    "cuStreamCreate": [_pointer, ctypes.c_uint],
    "cuStreamDestroy_v2": [_pointer],
    "cuStreamGetCtx": [_pointer, _pointer],
    "cuStreamSynchronize": [_pointer],
    "cuStreamWaitEvent": [_pointer, _pointer, ctypes.c_uint],
}
_CREATED = {"cuCtxGetCurrent", "cuCtxGetDevice", "cuDevicePrimaryCtxRetain", "cuEventCreate"}
_CREATED |= {"cuMemAllocAsync", "cuMemHostAlloc", "cuModuleGetFunction", "cuModuleLoadData"}
_CREATED |= {"cuStreamCreate"}


class Driver:
    """Calls by their names: ``driver.cuStreamSynchronize(stream)``.

    What a function returns through its first argument, the call returns.
    """

    def __init__(self, library):
        self._library = library
        self.simulated = hasattr(library, "simcuda_races")
        if self.simulated:
            library.simcuda_races.restype = ctypes.c_uint64

    def __getattr__(self, name):
        function = getattr(self._library, name)
        function.argtypes, function.restype = _SIGNATURES[name], ctypes.c_int

        def call(*arguments):
            out = ctypes.c_uint64()
            given = (ctypes.byref(out), *arguments) if name in _CREATED else arguments
            result = function(*given)
            if result != 0:
                raise CudaError(f"{name} returned {result}", native=result)
            return out.value

        setattr(self, name, call)
        return call

    def races(self):
        """How many races this process has had so far; 0 without simcuda."""
        return self._library.simcuda_races() if self.simulated else 0

    def new_stream(self, *, blocking=False):
        return self.cuStreamCreate(0 if blocking else 1)

    def launch(self, function, threads, stream, *words):
        """A kernel of one block, whose parameters are of 64 bits."""
        values = [_word(word) for word in words]
        pointers = (_pointer * len(values))(*map(ctypes.addressof, values))
        self.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, stream, pointers, None)

    def record(self, stream):
        """An event for what is on `stream`, whatever context is current."""
        context, mine = ctypes.c_uint64(), self.cuCtxGetCurrent()
        self.cuStreamGetCtx(stream, ctypes.addressof(context))
        self.cuCtxSetCurrent(context.value)
        try:
            event = self.cuEventCreate(2)  # without time
            self.cuEventRecord(event, stream)
        finally:
            self.cuCtxSetCurrent(mine)
        return event

    def order(self, before, after):
        """What comes on `after` waits for what is on `before`."""
        event = self.cuEventCreate(2)  # without time
        self.cuEventRecord(event, before)
        self.cuStreamWaitEvent(after, event, 0)
        self.cuEventDestroy_v2(event)


@functools.cache
def _load():
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise CudaError(_ADVICE.format(error)) from None
    driver = Driver(library)
    result = library.cuInit(0)
    if result != 0:
        raise CudaError(_ADVICE.format(f"cuInit returned {result}"), native=result)
    return driver


_ADVICE = (
    "there is no CUDA driver for this check: {}. Mark the test with pytest.mark.simcuda, or run "
    "the program with `simcuda run`"
)


def current():
    """Returns the driver, with a context current: the thread's own, or device 0's primary one.

    Raises
    ------
    CudaError
        If there is no driver, or it has no device.
    """
    driver = _load()
    if not driver.cuCtxGetCurrent():
        driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0))
    return driver


# Memory that is freed between work and its reader may make the host wait for the whole device, and
# then a wait that is missing is not missed.


def settle():
    """Ends what earlier code has left: arrays whose release was put off, and cycles."""
    for _ in range(2):  # uses that are over let the collector free more, whose uses may be pending
        gc.collect()
        libcai.drain(wait=True)


@contextlib.contextmanager
def no_collector():
    """Within it the collector runs only where it is called."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Pinned:
    """Page-locked host memory, which copies on streams may read and write late."""

    def __init__(self, driver, size, content=None):
        self._driver, self.size = driver, size
        self.address = driver.cuMemHostAlloc(max(size, 1), 1)  # for all contexts
        self._bytes = (ctypes.c_ubyte * size).from_address(self.address)
        if content is not None:
            self._bytes[:] = content

    def __bytes__(self):
        return bytes(self._bytes)

    def free(self):
        self._driver.cuMemFreeHost(self.address)
