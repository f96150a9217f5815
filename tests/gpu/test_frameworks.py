# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: PT009 (there may be no pytest here)
"""Pairs of real frameworks, and one of the test's own, exchange arrays with libcai between them.

The producer fills its array after slow work on its own stream; libcai reads what it exports and
puts the consumer's stream behind; the consumer imports the memory as an array that needs no order,
and copies it; libcai puts the producer behind, which overwrites at once. The copy must hold the
first value.
"""

import contextlib
import importlib
import os
import unittest

import gpu_driver as gpu
import readers

SIZE = 1 << 16


class InOrder:
    """The array of another framework, with its order ensured by libcai."""

    def __init__(self, producer):
        interface = dict(producer.__cuda_array_interface__)
        self.__cuda_array_interface__ = {**interface, "version": 3, "stream": None}
        self.producer = producer


class Framework:
    needs = ()
    produces = consumes = True

    @staticmethod
    def has_cuda():
        return True

    def current(self):
        """Makes the stream current, for frameworks that export the current one."""
        return contextlib.nullcontext()


class Plain(Framework):
    """No framework: the dict and the driver."""

    def __init__(self):
        self.stream = gpu.new_stream()

    def new(self):
        return gpu.PlainArray(gpu.new_memory(SIZE), SIZE, self.stream)

    def fill(self, array, value):
        gpu.fill(array.address, value, SIZE, self.stream)

    def copy(self, given):
        made = self.new()
        gpu.copy(made.address, given.__cuda_array_interface__["data"][0], SIZE, self.stream)
        return made

    def bytes(self, array):
        return gpu.read(array.address, SIZE, self.stream)


class CuPy(Framework):
    needs = ("cupy",)

    def __init__(self):
        import cupy

        self.cupy = cupy
        self.own = cupy.cuda.Stream(non_blocking=True)
        self.stream = self.own.ptr

    def new(self):
        with self.own:
            return self.cupy.zeros(SIZE, "u1")

    def fill(self, array, value):
        with self.own:
            array.fill(value)

    def current(self):
        return self.own

    def copy(self, given):
        with self.own:
            return self.cupy.asarray(given).copy()

    def bytes(self, array):
        with self.own:
            self.own.synchronize()
            return array.get().tobytes()


class Torch(Framework):
    """Its dict is of version 2 and names no stream: it produces on the legacy one."""

    needs = ("torch",)

    @staticmethod
    def has_cuda():
        import torch

        return torch.cuda.is_available()

    def __init__(self):
        import torch

        self.torch = torch
        self.own = torch.cuda.default_stream()
        self.stream = self.own.cuda_stream or gpu.LEGACY

    def new(self):
        return self.torch.zeros(SIZE, dtype=self.torch.uint8, device="cuda")

    def fill(self, array, value):
        array.fill_(value)

    def copy(self, given):
        if given.__cuda_array_interface__["data"][1]:
            raise unittest.SkipTest("PyTorch takes no array that is read-only")
        return self.torch.as_tensor(given, device="cuda").clone()

    def bytes(self, array):
        return bytes(array.cpu().tolist())


class Numba(Framework):
    """Arrays and copies; no kernels, for which it would need a compiler."""

    needs = ("numba.cuda", "numpy")

    def __init__(self):
        import numba.cuda
        import numpy

        self.cuda, self.numpy = numba.cuda, numpy
        self.own = self.cuda.stream()
        handle = self.own.handle
        self.stream = int(getattr(handle, "value", handle))

    def new(self):
        return self.cuda.device_array(SIZE, self.numpy.uint8, stream=self.own)

    def fill(self, array, value):
        gpu.fill(array.__cuda_array_interface__["data"][0], value, SIZE, self.stream)

    def copy(self, given):
        made = self.new()
        made.copy_to_device(self.cuda.as_cuda_array(given, sync=False), stream=self.own)
        return made

    def bytes(self, array):
        host = array.copy_to_host(stream=self.own)
        self.own.synchronize()
        return host.tobytes()


class CudaCore(Framework):
    """Imports by cuda.core's view, and copies into its own buffers; it exports no such dict."""

    needs = ("cuda.core",)
    produces = False

    def __init__(self):
        try:
            from cuda.core import Device
            from cuda.core.utils import StridedMemoryView
        except ImportError:
            from cuda.core.experimental import Device
            from cuda.core.experimental.utils import StridedMemoryView
        self.view = StridedMemoryView
        self.device = Device(0)
        self.device.set_current()
        self.own = self.device.create_stream()
        self.stream = int(self.own.handle)

    def copy(self, given):
        view = self.view(given, stream_ptr=-1)
        made = self.device.allocate(SIZE, stream=self.own)
        gpu.copy(int(made.handle), view.ptr, SIZE, self.stream)
        return made

    def bytes(self, array):
        return gpu.read(int(array.handle), SIZE, self.stream)


class Jax(Framework):
    """Its arrays do not change: there is a first value, and no second."""

    needs = ("jax",)
    consumes = False

    @staticmethod
    def has_cuda():
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax

        return jax.default_backend() == "gpu"

    def __init__(self):
        import jax

        self.jax = jax
        # XLA's streams are its own, and its dict, of version 2, names none.
        self.stream = None

    def filled(self, value):
        return self.jax.numpy.full(SIZE, value, dtype="uint8").block_until_ready()


FRAMEWORKS = (Plain, CuPy, Torch, Numba, CudaCore, Jax)


def missing(framework):
    """The part that is missing here, or None."""
    for name in framework.needs:
        try:
            importlib.import_module(name)
        except ImportError:
            return f"no {name} here"
    return None if framework.has_cuda() else f"no CUDA in this {framework.needs[0]}"


class Pairs(unittest.TestCase):
    def exchange(self, produced_by, consumed_by):
        for kind in (produced_by, consumed_by):
            if missing(kind):
                self.skipTest(missing(kind))
        gpu.open_driver()
        producer, consumer = produced_by(), consumed_by()
        reader = readers.by_ctypes()
        for value in range(1, 11, 2):
            if producer.stream is None:
                array = producer.filled(value)
            else:
                array = producer.new()
                gpu.work_slowly(producer.stream)
                producer.fill(array, value)
            with producer.current():
                taken = reader.read(array)
            reader.begin(taken, consumer.stream)
            gpu.work_slowly(consumer.stream)
            copied = consumer.copy(InOrder(array))
            reader.end(taken, consumer.stream)
            if producer.stream is not None:
                producer.fill(array, value + 1)
                gpu.wait_for(producer.stream)
            self.assertEqual(set(consumer.bytes(copied)), {value})
        gpu.synchronize()


def _add_pairs():
    for produced_by in FRAMEWORKS:
        for consumed_by in FRAMEWORKS:
            if not (produced_by.produces and consumed_by.consumes):
                continue

            def test(self, produced_by=produced_by, consumed_by=consumed_by):
                self.exchange(produced_by, consumed_by)

            name = f"test_{produced_by.__name__}_to_{consumed_by.__name__}".lower()
            setattr(Pairs, name, test)


_add_pairs()
