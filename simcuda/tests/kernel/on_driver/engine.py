# SPDX-License-Identifier: BSD-3-Clause
"""The driver in the place of the engine for PTX: on a GPU, what the tests of the engine expect is
what a GPU must compute. It finds nothing wrong in a kernel; a fault ends the test."""

import ctypes
import os
import re
import struct
import sys
import tempfile
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p

BY_PTXAS = True  # with its faults
cuda = ctypes.CDLL("libcuda.so.1")
ERROR_LOG, ERROR_LOG_SIZE = 5, 6
MAJOR, MINOR = 75, 76
PTX = 1
LOG_SIZE = 8192
TARGET = re.compile(r"\.target sm_(\d+)")


class Refused(Exception):
    """The text is invalid, or the launch is."""


class TooNew(Refused):
    """The device's compute capability is too low for the text."""


def call(name, *arguments):
    given = [c_uint64(each) if isinstance(each, int) else each for each in arguments]
    status = getattr(cuda, name)(*given)
    if status:
        text = c_char_p()
        cuda.cuGetErrorName(status, byref(text))
        raise Refused(f"{name}: {(text.value or b'?').decode()}")


def number(name, *arguments, kind=c_int):
    out = kind()
    call(name, byref(out), *arguments)
    return out.value


call("cuInit", 0)
call("cuCtxSetCurrent", c_void_p(number("cuDevicePrimaryCtxRetain", 0, kind=c_void_p)))
capability = sum(
    factor * number("cuDeviceGetAttribute", each, 0) for each, factor in ((MAJOR, 10), (MINOR, 1))
)


class Buffer:
    """Memory of the device. It lies at a multiple of 256."""

    def __init__(self, data, writable=True, written=True):
        data = bytes(data)
        self.size = len(data)
        self.address = number("cuMemAlloc_v2", max(self.size, 1), kind=c_uint64)
        if data:
            call("cuMemcpyHtoD_v2", self.address, data, self.size)

    def __del__(self):
        if hasattr(self, "address"):
            cuda.cuMemFree_v2(c_uint64(self.address))

    def bytes(self):
        out = ctypes.create_string_buffer(self.size)
        if self.size:
            call("cuMemcpyDtoH_v2", out, self.address, self.size)
        return out.raw

    def array(self, code):
        """The contents as numbers, by struct's code of one."""
        return list(struct.unpack(f"<{self.size // struct.calcsize(code)}{code}", self.bytes()))


def fitting(text):
    """The text, for this device if it is for a newer one."""
    return TARGET.sub(lambda match: f".target sm_{min(int(match[1]), capability)}", text)


class Module:
    def __init__(self, *texts):
        error = ctypes.create_string_buffer(LOG_SIZE)
        options = (c_int * 2)(ERROR_LOG, ERROR_LOG_SIZE)
        values = (c_void_p * 2)(ctypes.addressof(error), LOG_SIZE)
        self.handle, link = c_void_p(), c_void_p()
        try:
            if len(texts) == 1:
                text = fitting(texts[0]).encode()
                call("cuModuleLoadDataEx", byref(self.handle), text, 2, options, values)
            else:
                call("cuLinkCreate_v2", 2, options, values, byref(link))
                for text in map(str.encode, map(fitting, texts)):
                    call("cuLinkAddData_v2", link, PTX, text, len(text) + 1, None, 0, None, None)
                image = c_void_p()
                call("cuLinkComplete", link, byref(image), None)
                call("cuModuleLoadData", byref(self.handle), image)
        except Refused as refusal:
            why = " ".join(error.value.decode(errors="replace").split())
            # "... requires .target sm_100 or higher", "... not supported on .target 'sm_90'"
            kind = TooNew if re.search(r"\.target '?sm_|PTX ISA version", why) else Refused
            raise kind(f"{refusal}: {why}") from None
        finally:
            if link:
                cuda.cuLinkDestroy(link)
        self.about = {"kernels": self._kernels()}

    def __del__(self):
        if getattr(self, "handle", None):
            cuda.cuModuleUnload(self.handle)

    def _kernels(self):
        count = number("cuModuleGetFunctionCount", self.handle)
        functions = (c_void_p * count)()
        call("cuModuleEnumerateFunctions", functions, count, self.handle)
        named = {}
        for function in map(c_void_p, functions):
            name, offset, size = c_char_p(), c_size_t(), c_size_t()
            call("cuFuncGetName", byref(name), function)
            parameters = []
            while not cuda.cuFuncGetParamInfo(
                function, c_size_t(len(parameters)), byref(offset), byref(size)
            ):
                parameters.append((None, offset.value, size.value))
            named[name.value.decode()] = {"parameters": parameters}
        return named

    def run(self, name, grid, block, *arguments, shared=0, cooperative=False, **checks):
        """Arguments are buffers, or bytes as they lie in the parameter. The checks are the
        engine's."""
        function = c_void_p()
        call("cuModuleGetFunction", byref(function), self.handle, name.encode())
        kept = []
        declared = self.about["kernels"][name]["parameters"]
        for argument, (_, _, size) in zip(arguments, declared, strict=True):
            if isinstance(argument, Buffer):
                argument = struct.pack("<Q", argument.address)
            kept.append(ctypes.create_string_buffer(argument, size))
        pointers = (c_void_p * max(len(kept), 1))(*map(ctypes.addressof, kept))
        grid, block = (
            ((*tuple(x), 1, 1))[:3] if isinstance(x, tuple) else (x, 1, 1) for x in (grid, block)
        )
        launch = (function, *grid, *block, shared, None, pointers)
        with Printed() as printed:
            if cooperative:
                call("cuLaunchCooperativeKernel", *launch)
            else:
                call("cuLaunchKernel", *launch, None)
            call("cuCtxSynchronize")
        return {"fault": None, "findings": [], "printed": printed.text}


class Printed:
    """What the driver writes to standard output meanwhile."""

    def __enter__(self):
        sys.stdout.flush()
        self.file, self.kept = tempfile.TemporaryFile(), os.dup(1)
        os.dup2(self.file.fileno(), 1)
        return self

    def __exit__(self, *error):
        ctypes.CDLL(None).fflush(None)
        os.dup2(self.kept, 1)
        os.close(self.kept)
        self.file.seek(0)
        self.text = self.file.read().decode(errors="replace")
        self.file.close()
