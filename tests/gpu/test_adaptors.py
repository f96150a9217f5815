# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: PT009, PT027 (there may be no pytest here)
"""The real PyTorch and CuPy, with their memory from libcai's managers through its C functions; and
those functions alone, where neither is."""

import ctypes
import importlib
import os
import unittest
from ctypes import CFUNCTYPE, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path

import gpu_driver as gpu

SIZE = 1 << 20


class Usage(ctypes.Structure):
    """cai_usage."""

    _fields_ = (
        ("struct_size", ctypes.c_uint32),
        ("deferred", ctypes.c_uint32),
        ("bytes", c_uint64),
        ("count", c_uint64),
        ("pending_bytes", c_uint64),
        ("pending_count", c_uint64),
        ("reserved", c_uint64),
    )


class Device(ctypes.Structure):
    """cai_device."""

    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


def address_of(function):
    return ctypes.cast(function, c_void_p).value


class Adaptors(unittest.TestCase):
    def setUp(self):
        gpu.open_driver()
        self.path = os.environ["CAI_LIBRARY"]
        self.library = ctypes.CDLL(self.path)

    def need(self, name):
        try:
            return importlib.import_module(name)
        except ImportError:
            self.skipTest(f"no {name} here")

    def out(self):
        usage = Usage(ctypes.sizeof(Usage))
        status = self.library.cai_memory_usage(Device(2, 0), ctypes.byref(usage), None)
        self.assertEqual(status, 0)
        return usage.bytes

    def test_symbols(self):
        alloc = CFUNCTYPE(c_void_p, c_size_t, c_int, c_void_p)(("cai_torch_alloc", self.library))
        free = CFUNCTYPE(None, c_void_p, c_size_t, c_int, c_void_p)(
            ("cai_torch_free", self.library)
        )
        stream = gpu.new_stream()
        before = self.out()
        block = alloc(SIZE, 0, stream)
        self.assertEqual(self.out(), before + SIZE)
        gpu.fill(block, 7, SIZE, stream)
        self.assertEqual(set(gpu.read(block, SIZE, stream)), {7})
        free(block, SIZE, 0, stream)
        self.assertEqual(self.out(), before)
        self.assertIsNone(alloc(1 << 60, 0, stream))

    def test_torch(self):
        torch = self.need("torch")
        if not torch.cuda.is_available():
            self.skipTest("no CUDA in this torch")
        allocator = torch.cuda.memory.CUDAPluggableAllocator(
            self.path, "cai_torch_alloc", "cai_torch_free"
        )
        native = allocator.allocator()
        for setter, function in (
            ("set_record_stream_fn", "cai_torch_record_stream"),
            ("set_base_alloc_fn", "cai_torch_base"),
            ("set_reset_fn", "cai_torch_reset"),
        ):
            getattr(native, setter)(address_of(getattr(self.library, function)))
        before = self.out()
        pool = torch.cuda.MemPool(native)
        with torch.cuda.use_mem_pool(pool):
            tensor = torch.arange(SIZE, dtype=torch.int64, device="cuda")
        self.assertGreaterEqual(self.out(), before + 8 * SIZE)
        self.assertEqual(int(tensor.sum()), SIZE * (SIZE - 1) // 2)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            twice = tensor * 2
        tensor.record_stream(side)
        del tensor
        side.synchronize()
        self.assertEqual(int(twice.sum()), SIZE * (SIZE - 1))
        del twice, pool
        torch.cuda.synchronize()

    def test_cupy(self):
        cupy = self.need("cupy")
        side = Path(self.path).resolve().with_name("libcai_cupy.so")
        if not side.exists():
            self.skipTest(f"no {side}")
        throwing = ctypes.CDLL(str(side))
        allocator = cupy.cuda.memory.CFunctionAllocator(
            0,
            address_of(throwing.cai_cupy_malloc),
            address_of(self.library.cai_cupy_free),
            (throwing, self.library),
        )
        before = self.out()
        with cupy.cuda.using_allocator(allocator.malloc):
            array = cupy.arange(SIZE, dtype="i8")
            self.assertGreaterEqual(self.out(), before + 8 * SIZE)
            self.assertEqual(int(array.sum()), SIZE * (SIZE - 1) // 2)
            with self.assertRaises(MemoryError):
                cupy.empty(1 << 57, dtype="u1")
        del array
        cupy.cuda.runtime.deviceSynchronize()
        self.assertEqual(self.out(), before)
