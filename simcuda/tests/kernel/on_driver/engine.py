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
    """Device memory, aligned to 256."""

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


FORMATS = {"u8": 1, "u16": 2, "u32": 3, "s8": 8, "s16": 9, "s32": 10, "f16": 16, "f32": 32}
MODES = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}
HOST, ARRAY_MEMORY = 1, 3
ARRAY, MIPMAPPED, LINEAR = 0, 1, 2
LAYERED, SURFACE, CUBEMAP, GATHER = 1, 2, 4, 8
INTEGERS, NORMALIZED, SRGB = 1, 2, 16


class Texels:
    """A texture, or a surface. `data` are the levels, one after the other, without gaps; `size` has
    a number for each dimension."""

    def __init__(
        self,
        data,
        form,
        channels,
        size,
        layers=0,
        levels=1,
        surface=False,
        linear_memory=False,
        modes=("clamp",) * 3,
        filtered=False,
        normalized=False,
        integers=False,
        srgb=False,
        between_levels=False,
        border=(0, 0, 0, 0),
        bias=0,
        least=0,
        most=0,
        cube=False,
        gather=False,
    ):
        self.size, self.texel = size, int(form[1:]) // 8 * channels
        self.layers, self.data_size = layers, len(data)
        self.levels, self.buffer, self.array = [], None, None
        self.destroy = "cuSurfObjectDestroy" if surface else "cuTexObjectDestroy"
        flags = (layers > 0 and (not cube or layers > 6)) * LAYERED | cube * CUBEMAP
        flags |= surface * SURFACE | gather * GATHER
        shape = (*size, 0, 0)[:3]
        described = struct.pack(
            "<QQQiII4x", *shape[:2], layers or shape[2], FORMATS[form], channels, flags
        )
        if linear_memory:
            self.buffer = Buffer(data)
            resource = struct.pack(
                "<i4xQiIQ", LINEAR, self.buffer.address, FORMATS[form], channels, len(data)
            )
        elif levels > 1:
            self.array = number("cuMipmappedArrayCreate", described, levels, kind=c_uint64)
            for level in range(levels):
                self.levels.append(
                    number("cuMipmappedArrayGetLevel", self.array, level, kind=c_uint64)
                )
            resource = struct.pack("<i4xQ", MIPMAPPED, self.array)
        else:
            self.array = number("cuArray3DCreate_v2", described, kind=c_uint64)
            self.levels.append(self.array)
            resource = struct.pack("<i4xQ", ARRAY, self.array)
        self._copy(ctypes.create_string_buffer(bytes(data), len(data)), to_array=True)
        kind = INTEGERS * integers | NORMALIZED * normalized | SRGB * srgb
        sampling = struct.pack(
            "<4iIIi7f48x",
            *(*(MODES[each] for each in modes), filtered, kind, 0, between_levels),
            *(bias, least, most, *border),
        )
        resource = resource.ljust(144, b"\0")
        if surface:
            self.handle = number("cuSurfObjectCreate", resource, kind=c_uint64)
        else:
            self.handle = number("cuTexObjectCreate", resource, sampling, None, kind=c_uint64)

    def _copy(self, memory, to_array):
        at = ctypes.addressof(memory)
        for level, array in enumerate(self.levels):
            width, height, depth = (max(each >> level, 1) for each in (*self.size, 1, 1)[:3])
            depth = max(depth, self.layers)
            side = struct.pack("<4Qi4xQQQQQQ", 0, 0, 0, 0, ARRAY_MEMORY, 0, 0, array, 0, 0, 0)
            host = struct.pack(
                "<4Qi4xQQQQQQ", 0, 0, 0, 0, HOST, at, 0, 0, 0, width * self.texel, height
            )
            sides = (host, side) if to_array else (side, host)
            box = struct.pack("<QQQ", width * self.texel, height, depth)
            call("cuMemcpy3D_v2", b"".join(sides) + box)
            at += width * height * depth * self.texel

    def bytes(self):
        if self.buffer:
            return self.buffer.bytes()
        out = ctypes.create_string_buffer(self.data_size)
        self._copy(out, to_array=False)
        return out.raw

    def __del__(self):
        if hasattr(self, "handle"):
            getattr(cuda, self.destroy)(c_uint64(self.handle))
        if self.array:
            end = cuda.cuMipmappedArrayDestroy if len(self.levels) > 1 else cuda.cuArrayDestroy
            end(c_uint64(self.array))


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
            if isinstance(argument, Texels):
                argument = struct.pack("<Q", argument.handle)
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
