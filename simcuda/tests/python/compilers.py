# SPDX-License-Identifier: BSD-3-Clause
"""NVIDIA's compilers as a client has them, by ctypes: for programs that tests run on simcuda."""

import ctypes
import os
from pathlib import Path

CUBIN, PTX, LTO_IR, LIBRARY, ANY = 1, 2, 3, 6, 10  # kinds of a linker's input
ARCH = "-arch=sm_90"
MACHINE_CODE = b"\x7fELF"

KERNEL = """
extern __device__ int f(int);
extern "C" __global__ void kernel(int *p) { p[threadIdx.x] = f(threadIdx.x); }
"""
FUNCTION = "__device__ int f(int x) { return x + 5; }"


class Error(Exception):
    """A call's result, and what the log says."""


def wheel_of(name, version):
    """NVIDIA's own library in the wheels beside simcuda."""
    folder = {"12": {"nvrtc": "cuda_nvrtc", "nvJitLink": "nvjitlink"}[name], "13": "cu13"}[version]
    import simcuda

    packages = Path(simcuda.__file__).parents[1]
    return packages / "nvidia" / folder / f"lib/lib{name}.so.{version}"


def load(name, version):
    """The library that stands under NVIDIA's name."""
    return ctypes.CDLL(f"lib{name}.so.{version}")


def texts(values):
    return (ctypes.c_char_p * len(values))(*map(os.fsencode, values))


def read(get_size, get, handle):
    size = ctypes.c_size_t()
    status = get_size(handle, ctypes.byref(size))
    if status or not size.value:
        return status or b""
    found = ctypes.create_string_buffer(size.value)
    return get(handle, found) or found.raw


class Compiled:
    def __init__(self, nvrtc, source, *options):
        self._nvrtc, self._program = nvrtc, ctypes.c_void_p()
        created = nvrtc.nvrtcCreateProgram(
            ctypes.byref(self._program), source.encode(), b"a.cu", 0, None, None
        )
        if created:
            raise Error(created)
        status = nvrtc.nvrtcCompileProgram(self._program, len(options), texts(options))
        if status:
            raise Error(status, self.get("ProgramLog").decode())

    def get(self, what):
        """The bytes, or a status other than 0."""
        names = (f"nvrtcGet{what}Size", f"nvrtcGet{what}")
        return read(*(getattr(self._nvrtc, name) for name in names), self._program)

    def __del__(self):
        self._nvrtc.nvrtcDestroyProgram(ctypes.byref(self._program))


class Linked:
    """`inputs` are pairs of kind and bytes, or of kind and path."""

    def __init__(self, linker, options, *inputs, prefix="nvJitLink", suffix=""):
        self._linker, self._names = linker, (prefix, suffix)
        self._handle = ctypes.c_void_p()
        self.call("Create", len(options), texts(options), handle=ctypes.byref(self._handle))
        for kind, data in inputs:
            if isinstance(data, bytes):
                self.call("AddData", kind, data, ctypes.c_size_t(len(data)), b"input")
            else:
                self.call("AddFile", kind, os.fsencode(data))
        self.call("Complete")

    def function(self, name):
        return getattr(self._linker, name.join(self._names))

    def call(self, name, *arguments, handle=None):
        status = self.function(name)(handle or self._handle, *arguments)
        if status:
            log = self.get("ErrorLog") if self._handle else b""
            raise Error(name, status, log.rstrip(b"\0").decode())

    def get(self, what):
        """The bytes, or a status other than 0."""
        return read(self.function(f"Get{what}Size"), self.function(f"Get{what}"), self._handle)

    def __del__(self):
        if self._handle:
            self.function("Destroy")(ctypes.byref(self._handle))
