#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures, on a GPU, what it costs to hand an array from one stream to another and back: libcai
beside the libraries that the machine has. `make bench-gpu` runs it; it prints one table.

The stream and the device are idle, so that the time is the host's: what the driver's calls take,
and what is around them."""

import contextlib
import statistics
import sys
import time

import libcai

SECONDS, ROUNDS = 0.002, 80
SHAPE = (64, 64)
rows = []


def measure(label, call, peer=None):
    """Adds a row: nanoseconds for each call, minimum and median, and the ratio to a peer's."""
    try:
        call()
    except Exception as refusal:  # a library whose installed version cannot do it
        print(f"  {label:64} {type(refusal).__name__}: {refusal}".splitlines()[0])
        return None
    count, taken = 1, 0.0
    while taken < SECONDS:
        count *= 2
        taken = one_round(call, count)
    times = sorted(one_round(call, count) / count * 1e9 for _ in range(ROUNDS))
    row = {"label": label, "min": times[0], "median": statistics.median(times)}
    ratio = f"{row['median'] / peer['median']:6.2f}x" if peer else ""
    print(f"  {label:64} {row['min']:9.0f} {row['median']:9.0f} {ratio}", flush=True)
    return row


def one_round(call, count):
    start = time.perf_counter()
    for _ in range(count):
        call()
    taken = time.perf_counter() - start
    cupy.cuda.runtime.deviceSynchronize()
    return taken


def title(text):
    print(f"\n{text}\n  {'':64} {'min':>9} {'median':>9}   ns")


def use(array, stream):
    with libcai.use(array, stream=stream):
        pass


def by_hand(events, producer, consumer):
    """A careful author's code: two events that are kept, there and back."""
    events[0].record(producer)
    consumer.wait_event(events[0])
    events[1].record(consumer)
    producer.wait_event(events[1])


def with_cupy():
    producer = cupy.cuda.Stream(non_blocking=True)
    consumer = cupy.cuda.Stream(non_blocking=True)
    with producer:
        array = cupy.zeros(SHAPE, "f4")
        given = libcai.asarray(array)
    events = [cupy.cuda.Event(disable_timing=True) for _ in range(2)]

    title("there and back, between two streams, an array of CuPy's")
    row = measure("by hand, with two kept events", lambda: by_hand(events, producer, consumer))
    measure("libcai.use of an array read before", lambda: use(given, consumer.ptr), row)

    def read_and_use():
        with producer:
            use(array, consumer.ptr)

    measure("libcai.use of CuPy's array itself", read_and_use, row)

    title("there only")

    def by_new_event():
        event = cupy.cuda.Event(disable_timing=True)
        event.record(producer)
        consumer.wait_event(event)

    row = measure("by hand, with an event made for it", by_new_event)
    with contextlib.suppress(ImportError):
        from cuda.core.utils import StridedMemoryView

        def view():
            with producer:
                StridedMemoryView.from_cuda_array_interface(array, stream_ptr=consumer.ptr)

        measure("cuda.core's StridedMemoryView, with a stream", view, row)

    def write_dict():
        with producer:
            exported = array.__cuda_array_interface__
        return exported

    measure("CuPy writes its dict", write_dict, row)
    with contextlib.suppress(ImportError):
        import numba.cuda

        def wait():
            with producer:
                numba.cuda.as_cuda_array(array)

        measure("numba-cuda's as_cuda_array: the host waits", wait, row)

    title("read, without order")
    with producer:
        row = measure("libcai.asarray", lambda: libcai.asarray(array))
    with contextlib.suppress(ImportError):
        from cuda.core.utils import StridedMemoryView

        view = StridedMemoryView.from_cuda_array_interface
        measure("cuda.core's StridedMemoryView", lambda: view(array, stream_ptr=-1), row)
        view = StridedMemoryView.from_dlpack
        measure("cuda.core's StridedMemoryView, DLPack", lambda: view(array, stream_ptr=-1), row)
    with contextlib.suppress(ImportError):
        import numba.cuda

        made = numba.cuda.as_cuda_array
        measure("numba-cuda's as_cuda_array", lambda: made(array, sync=False), row)
    measure("libcai.from_dlpack", lambda: libcai.from_dlpack(array), row)
    measure("cupy.from_dlpack", lambda: cupy.from_dlpack(array), row)


def with_torch():
    import torch

    consumer = torch.cuda.Stream()
    producer = torch.cuda.current_stream()
    array = torch.zeros(SHAPE, device="cuda")
    given = libcai.asarray(array)
    pointer = consumer.cuda_stream

    title("there and back, between two streams, a tensor of PyTorch's")

    def by_streams():
        consumer.wait_stream(producer)
        producer.wait_stream(consumer)

    row = measure("Stream.wait_stream, twice", by_streams)
    measure("libcai.use of an array read before", lambda: use(given, pointer), row)
    measure("libcai.use of the tensor itself", lambda: use(array, pointer), row)

    title("read, without order, a tensor of PyTorch's")
    row = measure("libcai.asarray", lambda: libcai.asarray(array))
    measure("libcai.from_dlpack", lambda: libcai.from_dlpack(array), row)
    measure("cupy.asarray", lambda: cupy.asarray(array), row)
    measure("cupy.from_dlpack", lambda: cupy.from_dlpack(array), row)
    measure("torch.from_dlpack of the tensor", lambda: torch.from_dlpack(array), row)
    with contextlib.suppress(ImportError):
        from cuda.core.utils import StridedMemoryView

        view = StridedMemoryView.from_dlpack
        measure("cuda.core's StridedMemoryView, DLPack", lambda: view(array, stream_ptr=-1), row)


if __name__ == "__main__":
    try:
        import cupy
    except ImportError:
        sys.exit("bench_gpu.py needs CuPy")
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    version = cupy.cuda.runtime.driverGetVersion()
    name = properties["name"].decode()
    print(
        f"{name}, driver for CUDA {version // 1000}.{version % 1000 // 10}, CuPy {cupy.__version__}"
    )
    with_cupy()
    with contextlib.suppress(ImportError):
        with_torch()
