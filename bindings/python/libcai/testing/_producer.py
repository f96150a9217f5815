# SPDX-License-Identifier: BSD-3-Clause
"""Judges what a library exports: its dict, its memory, and its stream."""

import gc
import itertools

import libcai
from libcai.errors import CudaError
from libcai.testing import _driver

__all__ = ["check_producer"]

# An array with more pieces than this is read in this many of them, evenly spread.
MOST_COPIES = 10_000


def check_producer(producer, /, *, driver=True):
    """Judges an object that exports a GPU array, and what lies behind its dict.

    * The dict is judged by the text of version 3, to the letter, as `libcai.check` does; twice,
      and both times it must say the same.
    * The memory belongs to the driver, whole, and lives as long as the object does, whatever
      becomes of the dict.
    * The stream in the dict is one, and once it has been waited for, the array can be read. On
      simcuda every piece of work that writes the array later than its stream says is a race; on a
      real driver this can't be seen.

    Parameters
    ----------
    producer : object or callable
        An object with ``__cuda_array_interface__``, or, better, a function without arguments that
        makes one: then nothing but the check holds it. Its work may be pending, and should be:
        work that is done needs no order.
    driver : bool
        False: judge the dict alone. No driver is needed for that.

    Returns
    -------
    Report
        Of `libcai.check`; it may hold warnings and advice.

    Raises
    ------
    AssertionError
        With all that is wrong.
    libcai.InterfaceTypeError
        If there is no ``__cuda_array_interface__``. What the producer raises passes unchanged.
    libcai.CudaError
        If there is no driver, and one is needed.
    """
    __tracebackhide__ = True
    obj = producer() if _is_factory(producer) else producer
    first = getattr(obj, "__cuda_array_interface__", None)
    report = libcai.check(obj)
    problems = [str(finding) for finding in report.findings if finding.severity == "error"]
    if report.protocol != "__cuda_array_interface__":
        problems.append(f"expected __cuda_array_interface__, got {report.protocol} alone")
    problems += _differences(first, getattr(obj, "__cuda_array_interface__", None))
    if not problems and driver:
        cuda = _driver.current()
        races = cuda.races()
        array = libcai.asarray(obj)
        del obj, producer
        gc.collect()
        problems += _read(cuda, array)
        del array
        gc.collect()
        found = cuda.races() - races
        if found:
            problems.append(
                f"expected no race where a reader waits for the dict's stream, got {found} races "
                "(simcuda reports them on standard error): put the stream with the pending work "
                "into the dict, and free the memory after the array has gone"
            )
    if problems:
        raise AssertionError("\n".join([f"{report.subject} does not pass", *problems]))
    return report


def _is_factory(producer):
    exports = hasattr(type(producer), "__cuda_array_interface__") or hasattr(
        producer, "__cuda_array_interface__"
    )
    return callable(producer) and (isinstance(producer, type) or not exports)


def _differences(first, second):
    """What an object says differently when it is asked again."""
    if not (isinstance(first, dict) and isinstance(second, dict)):
        return []
    for entry in sorted({*first, *second} - {"mask"}):
        one, other = first.get(entry), second.get(entry)
        if one != other:
            yield f"{entry}: it was {one!r} at first, and {other!r} when it was asked for again"


def _read(cuda, array):
    """Reads an array as its dict asks for; what fails."""
    if array.size == 0:
        return
    stream = cuda.new_stream()
    host = _driver.Pinned(cuda, array.itemsize * array.size)
    try:
        for part in filter(None, (array, array.mask)):
            location = part.locate()
            if location.device_pointer == 0:
                yield (
                    f"data: expected memory that the driver knows, got {part.data:#x}: was it "
                    "freed, or is it the host's?"
                )
        with libcai.use(array, stream=stream):
            for part in filter(None, (array, array.mask)):
                for address, size in _pieces(part):
                    cuda.cuMemcpyAsync(host.address, address, size, stream)
        cuda.cuStreamSynchronize(stream)
    except CudaError as error:
        yield f"reading it failed: {error}: was the memory freed, or the stream destroyed?"
    finally:
        cuda.cuCtxSynchronize()
        cuda.cuStreamDestroy_v2(stream)
        host.free()


def _pieces(array):
    """Contiguous parts of an array: addresses and sizes in bytes."""
    size, axes = array.itemsize, []
    for extent, stride in reversed(list(zip(array.shape, array.strides, strict=True))):
        if stride == size and not axes:
            size *= extent
        elif extent > 1:
            axes.append([index * stride for index in range(extent if stride else 1)])
    count = 1
    for axis in axes:
        count *= len(axis)
    every = -(-count // MOST_COPIES)
    for offsets in itertools.islice(itertools.product(*axes), 0, None, every):
        yield array.data + sum(offsets), size
