# SPDX-License-Identifier: BSD-3-Clause
"""Judges what a library exports: its dict, its memory, and its stream."""

import gc
import itertools
from dataclasses import replace

import libcai
from libcai.errors import CudaError
from libcai.testing import _driver

__all__ = ["check_producer"]

NAME = "__cuda_array_interface__"
# An array with more pieces than this is read in this many of them, evenly spread.
MOST_COPIES = 10_000


def check_producer(producer, /, *, driver=True):
    """Judges an object that exports a GPU array, and what lies behind its dict.

    * The dict is judged by the text of version 3, to the letter, as `libcai.check` does, and each
      time that it is read it must say the same.
    * The memory belongs to the driver, whole, and lives as long as the object does, whatever
      becomes of the dict.
    * The stream in the dict is one, and once it has been waited for, the array can be read. On
      simcuda every piece of work that writes the array later than its stream says is a race; on a
      real driver this can't be seen.
    * The memory is freed in the order of that stream, or after a wait for it: when the object goes,
      a read is still pending there. simcuda finds this, too, and only if the check is given a
      function, and a stream is named: with None the reader must keep the object. What a pool of
      the producer's own does with memory that it does not free can't be seen.

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
    if driver:
        _driver.settle()
    with _driver.no_collector():
        report, problems = _judged(producer, driver)
    if driver:
        _driver.settle()
    if problems:
        raise AssertionError("\n".join([f"{report.subject} does not pass", *problems]))
    return report


def _judged(producer, driver):
    """The report, and all that is wrong. No traceback holds this frame, and with it the object."""
    obj = producer() if _is_factory(producer) else producer
    report, first, problems = _judge_dict(obj)
    if not problems and driver:
        cuda = _driver.current()
        problems += _judge_order(cuda, obj, first)
    if not problems and driver:
        races = cuda.races()
        reads = _queue_reads(cuda, obj, first, problems)
        del obj, producer, first
        problems += _judge_free(cuda, reads, races)
    return report, problems


class _Read:
    """An object that says what was read of another one, which it holds."""

    def __init__(self, interface, owner):
        self.__cuda_array_interface__, self._owner = interface, owner


def _judge_dict(obj):
    """(the report, the dict, what is wrong with it)"""
    missing = object()
    first = getattr(obj, NAME, missing)
    if first is missing:
        report = libcai.check(obj)
        return report, None, [f"expected {NAME}, got {report.protocol} alone"]
    report = replace(libcai.check(_Read(first, obj)), subject=type(obj).__qualname__)
    problems = [str(finding) for finding in report.findings if finding.severity == "error"]
    return report, first, problems + list(_differences(first, getattr(obj, NAME, None)))


def _judge_order(cuda, obj, interface):
    """Reads the array as a consumer does; what is wrong."""
    races = cuda.races()
    array = libcai.asarray(_Read(interface, obj))
    yield from _read(cuda, array)
    if found := cuda.races() - races:
        yield (
            f"expected no race where a reader waits for the dict's stream, got {found} races "
            "(simcuda reports them on standard error): put the stream with the pending work "
            "into the dict"
        )


def _queue_reads(cuda, obj, first, problems):
    """Queues reads on the streams that the dict names: their events and targets.

    What is wrong is added to `problems`.
    """
    _driver.settle()
    interface, reads = getattr(obj, NAME, None), []
    problems += _differences(first, interface)
    if problems:
        return reads
    try:
        array = libcai.asarray(_Read(interface, obj))
        for part in filter(None, (array, array.mask)):
            # 1 and 2 are streams of the current context.
            elsewhere = part.locate().device.id != cuda.cuCtxGetDevice()
            named = part.stream and not (part.stream <= _driver.PER_THREAD and elsewhere)
            if part.size and named:
                host = _driver.Pinned(cuda, part.itemsize)
                cuda.cuMemcpyAsync(host.address, part.data, part.itemsize, part.stream)
                reads.append((cuda.record(part.stream), host))
    except CudaError as error:
        problems.append(_failed(error))
    return reads


def _judge_free(cuda, reads, races):
    """Waits for the reads, now that nothing holds the object; what was wrong."""
    gc.collect()
    for event, host in reads:
        cuda.cuEventSynchronize(event)
        cuda.cuEventDestroy_v2(event)
        host.free()
    if found := cuda.races() - races:
        yield (
            f"expected no race when the object goes, got {found} races (simcuda reports them on "
            "standard error): free the memory in the order of the dict's stream, or wait for that "
            "stream first"
        )


def _failed(error):
    return f"reading it failed: {error}: was the memory freed, or the stream destroyed?"


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
        yield _failed(error)
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
