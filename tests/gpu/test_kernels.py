# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: PT009 (there may be no pytest here)
"""Arrays of libcai's as arguments of numba-cuda's kernels."""

import importlib
import unittest

import gpu_driver as gpu

SIZE = 1 << 12

VIEWS = {
    "whole": lambda array: array,
    "every other": lambda array: array[::2],
    "backwards": lambda array: array[::-3],
    "transposed": lambda array: array.reshape(64, 64).transpose()[1:, ::2],
    "one element": lambda array: array[5:6],
    "empty": lambda array: array[:0],
}


class Kernels(unittest.TestCase):
    def setUp(self):
        for name in ("numpy", "numba.cuda", "libcai"):
            try:
                importlib.import_module(name)
            except ImportError:
                self.skipTest(f"no {name} here")
        gpu.open_driver()
        from numba import cuda
        from numba.cuda.cudadrv.error import NvvmSupportError

        @cuda.jit
        def add(array, number):
            for row in range(cuda.grid(1), array.shape[0], cuda.gridsize(1)):
                array[row] += number

        @cuda.jit
        def add_in_rows(array, number):
            for row in range(cuda.grid(1), array.shape[0], cuda.gridsize(1)):
                for column in range(array.shape[1]):
                    array[row, column] += number

        self.cuda, self.kernels = cuda, {1: add, 2: add_in_rows}
        try:
            add[1, 1](cuda.device_array(1, "u1"), 1)
        except NvvmSupportError as missing:
            self.skipTest(f"numba-cuda compiles no kernels here: {missing}")

    def launch(self, view, order):
        """A kernel adds 1 to a view of memory that is still being filled with 6. Returns what is
        in the memory once the producer's stream has come to its end, and what should be."""
        import numpy as np

        import libcai

        theirs, mine = gpu.new_stream(), self.cuda.stream()
        memory = gpu.new_memory(SIZE)
        gpu.work_slowly(theirs)
        gpu.fill(memory, 6, SIZE, theirs)
        array = view(libcai.asarray(gpu.PlainArray(memory, SIZE, theirs)))
        order(array, mine, self.kernels[array.ndim][4, 64, mine])
        found = np.frombuffer(gpu.read(memory, SIZE, theirs), "u1")
        wanted = np.full(SIZE, 6, "u1")
        view(wanted)[...] += 1
        return found.tolist(), wanted.tolist()

    def check(self, order):
        for name, view in VIEWS.items():
            with self.subTest(name):
                found, wanted = self.launch(view, order)
                self.assertEqual(found, wanted)

    def test_in_a_use(self):
        """libcai makes the kernel's stream wait, and the producer's after it."""
        import libcai

        def order(array, stream, kernel):
            with libcai.use(array, stream=stream):
                kernel(array, 1)

        self.check(order)

    def test_alone(self):
        """numba-cuda puts the kernel behind the producer; nobody puts that behind the kernel."""

        def order(array, stream, kernel):
            kernel(array, 1)
            stream.synchronize()

        self.check(order)
