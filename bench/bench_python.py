# SPDX-License-Identifier: BSD-3-Clause
"""The Python package beside its neighbours, in one process and one run. Prints JSON.

run.py starts this: with simcuda, the built read_dict on the path, and MPI left asleep.
"""

import importlib.util
import json
import statistics
import time

import bridges
import clear_c
import exporters
import numpy as np
import of_cython
import of_nanobind
import of_pybind11
import read_dict
import tvm_ffi
from cuda.bindings import driver
from cuda.core.utils import StridedMemoryView
from mpi4py import MPI
from numba import cuda

import libcai

ROUNDS = 300
SECONDS = 0.001  # each measurement, about: shorter than a time slice, so that some are undisturbed

numba_array = cuda.device_array((6, 8), np.float32)
static = {**numba_array.__cuda_array_interface__, "strides": (32, 4)}
assert static["stream"] is None


class Producer:
    __cuda_array_interface__ = static


producer = Producer()
array = libcai.asarray(producer)
# Of memory that no other array here is of, whose uses the dict would have to come after.
alone = libcai.asarray(cuda.device_array((6, 8), np.float32))
one, *eight = [libcai.asarray(Producer()) for _ in range(9)]
host = np.zeros((6, 8), np.float32)
host_array = libcai.asarray(host)
given = host.ctypes.data, host.shape
described = exporters.Described(*given, device=(1, 0), owner=host)
lent = exporters.Tensor(*given, device=(1, 0), owner=host)
of_a_table, its_array = read_dict.Described(), read_dict.asarray(producer)
its_other = read_dict.asarray(Producer())
elements, nop = clear_c.elements, tvm_ffi.get_global_func("testing.nop")
tvm_tensor = tvm_ffi.from_dlpack(host)
view = StridedMemoryView.from_cuda_array_interface
as_cuda_array, buffer, asarray = cuda.as_cuda_array, MPI.buffer, libcai.asarray


def repeated(call):
    """A function that calls `call` n times."""

    def loop(n):
        for _ in range(n):
            call()

    return loop


def use_one(x):
    """A function that uses an array n times, by blocks that do nothing."""

    def loop(n):
        for _ in range(n):
            with libcai.use(x, stream=1):
                pass

    return loop


def use_eight(n):
    a, b, c, d, e, f, g, h = eight
    for _ in range(n):
        with libcai.use(a, b, c, d, e, f, g, h, stream=1):
            pass


BENCHMARKS = {
    "libcai.asarray": repeated(lambda: asarray(producer)),
    "cuda.core StridedMemoryView": repeated(lambda: view(producer, -1)),
    "numba-cuda as_cuda_array": repeated(lambda: as_cuda_array(producer, sync=False)),
    "mpi4py MPI.buffer": repeated(lambda: buffer(producer)),
    "libcai interface": repeated(lambda: alone.__cuda_array_interface__),
    "numba-cuda interface": repeated(lambda: numba_array.__cuda_array_interface__),
    "libcai interface after uses": repeated(lambda: one.__cuda_array_interface__),
    "libcai.asarray of NumPy": repeated(lambda: asarray(host)),
    "libcai.use, no order needed": use_one(host_array),
    "libcai.use, kept by the owner": use_one(one),
    "use: the calls of C": lambda n: read_dict.use_on_1(its_other, n),
    "libcai.use of 8, kept by owners": use_eight,
    "three: Array": repeated(lambda: elements(host_array, host_array, host_array)),
    "three: described": repeated(lambda: elements(described, described, described)),
    "three: lent": repeated(lambda: elements(lent, lent, lent)),
    "three: NumPy": repeated(lambda: elements(host, host, host)),
    "three: tvm-ffi": repeated(lambda: nop(tvm_tensor, tvm_tensor, tvm_tensor)),
    "three: tvm-ffi of Array": repeated(lambda: nop(host_array, host_array, host_array)),
    "three: tvm-ffi of NumPy": repeated(lambda: nop(host, host, host)),
    "three: nanobind": repeated(lambda: of_nanobind.elements(host_array, host_array, host_array)),
    "three: nanobind of NumPy": repeated(lambda: of_nanobind.elements(host, host, host)),
    "three: ndarray of NumPy": repeated(lambda: of_nanobind.elements_of_ndarrays(host, host, host)),
    "three: pybind11": repeated(lambda: of_pybind11.elements(host_array, host_array, host_array)),
    "three: pybind11 of NumPy": repeated(lambda: of_pybind11.elements(host, host, host)),
    "open: Array": lambda n: read_dict.open_and_close(its_array, n),
    "open: described": lambda n: read_dict.open_and_close(of_a_table, n),
    "own: described": lambda n: read_dict.own_and_release(of_a_table, n),
    "own: told of uses": lambda n: read_dict.own_and_release(described, n),
    "open: lent": lambda n: read_dict.open_and_close(lent, n),
    "table: lent": lambda n: read_dict.by_table_itself(lent, n),
    "from_dlpack: libcai": repeated(lambda: libcai.from_dlpack(host)),
    "from_dlpack: NumPy": repeated(lambda: np.from_dlpack(host)),
    "empty call": repeated(lambda: None),
    "read the dict": lambda n: read_dict.read(static, n),
    "unpack the dict": lambda n: read_dict.unpack_only(static, n),
    "six PyDict_GetItem": lambda n: read_dict.floor(static, n),
}


def allocated(resource):
    """Allocates and frees."""

    def pair():
        resource.deallocate(resource.allocate(4096), 4096)

    return repeated(pair)


for kind, x in (("Array", host_array), ("described", described), ("lent", lent), ("NumPy", host)):
    for binding, function in (("Cython", of_cython.elements), ("PyO3", bridges.elements)):
        BENCHMARKS[f"three: {binding}, {kind}"] = repeated(lambda f=function, x=x: f(x, x, x))

if importlib.util.find_spec("rmm"):  # needs Python 3.11
    import rmm.mr

    import libcai.rmm

    def drivers_own():
        def allocate(size, stream):
            return int(driver.cuMemAllocAsync(size, 1)[1])

        def deallocate(address, size, stream):
            driver.cuMemFreeAsync(address, 1)

        return rmm.mr.CallbackMemoryResource(allocate, deallocate)

    ours = libcai.rmm.memory_resource(kind="async")
    BENCHMARKS["RMM, the driver's functions"] = allocated(drivers_own())
    BENCHMARKS["RMM, libcai.rmm"] = allocated(ours)
    BENCHMARKS["RMM, its pool on libcai.rmm"] = allocated(
        rmm.mr.PoolMemoryResource(ours, initial_pool_size=1 << 20, maximum_pool_size=1 << 24)
    )

IN_C = ("read the dict", "unpack the dict", "six PyDict_GetItem")
IN_C += tuple(name for name in BENCHMARKS if name.startswith(("open:", "own:", "table:", "use:")))
BY_ITSELF = (*IN_C, "empty call", *(name for name in BENCHMARKS if name.startswith("libcai.use")))


def timed(loop, count):
    begin = time.perf_counter_ns()
    loop(count)
    return (time.perf_counter_ns() - begin) / count


def main():
    assert read_dict.read(static, 1) == read_dict.floor(static, 1)
    counts = {}
    for name, loop in BENCHMARKS.items():
        count = 1
        while min(timed(loop, count) for _ in range(5)) * count < SECONDS * 1e9:
            count *= 2
        counts[name] = count
    # One round at a time, so that noise from other processes affects all of them.
    times = {name: [] for name in BENCHMARKS}
    for _ in range(ROUNDS):
        for name, loop in BENCHMARKS.items():
            times[name].append(timed(loop, counts[name]))
    # The loop and the call of the lambda are not measured.
    empty = min(times["empty call"])
    result = {}
    for name, all_times in times.items():
        overhead = 0 if name in BY_ITSELF else empty
        result[name] = {
            "min": min(all_times) - overhead,
            "median": statistics.median(all_times) - overhead,
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
