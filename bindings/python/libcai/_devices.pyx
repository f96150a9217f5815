# SPDX-License-Identifier: BSD-3-Clause
# cython: language_level=3, embedsignature=True, embedsignature.format=python
"""Devices, streams, events, memory and managers: the functions of cai/device.h and cai/memory.h."""

cimport cython
from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS, PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer)
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport INT32_MAX, UINT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset, strlen
from posix.unistd cimport close as close_descriptor, usleep

from libcai cimport *

import atexit
import itertools
import operator
import os
import sys
import threading
import traceback
import weakref

cdef object take_all_back  # no name of the module, which is None at exit when the last buffer ends

from libcai import _library, _scalars
from libcai._core import (
    _CURRENT, Array, asarray, begin_free, begin_reset, end_free, end_reset, lend_all, raised,
    raised_as, take_all_back, taken)
from libcai._stream import resolve
from libcai._types import Allocation, Block, Device, DeviceType, MemoryInfo, Statistics, Usage
from libcai.errors import (
    MARK as _MARK, MARK_END as _MARK_END, BufferError, CudaError, Error, StateError, UseError,
    ViewIndexError, _NoBufferError, add_note, from_device, shown, status_of)

cdef extern from "Python.h":
    ctypedef int PyGILState_STATE
    void PyErr_SetObject(object, object)
    void PyErr_WriteUnraisable(object)
    int PyErr_CheckSignals() except -1
    Py_ssize_t Py_REFCNT(PyObject *)

cdef extern from "_table.h":
    const char *cai_py_table_open(const char *path)

cdef extern from "_calls.h":
    ctypedef struct cai_py_kept:
        PyObject *object
        Py_buffer buffer
    cai_py_kept *cai_py_keep(PyObject *, int awaited)
    void cai_py_drop(cai_py_kept *)
    void cai_py_drop_queued()
    void cai_py_let_go(void *) noexcept nogil
    int cai_py_enter(PyGILState_STATE *) noexcept nogil
    void cai_py_leave(PyGILState_STATE) noexcept nogil
    ctypedef struct cai_py_failure:
        cai_error error
        cai_py_failure *next
    bint cai_py_has_failures()
    cai_py_failure *cai_py_take_failures()
    void cai_py_hear(void *, const cai_error *) noexcept nogil
    void (*cai_py_tell_failures)() noexcept
    bint runs_python "cai_py_runs_python"() noexcept nogil
    int calls_here "cai_py_calls_here"
    bint is_visiting "cai_py_is_visiting"
    void cai_py_calls_open()
    void cai_py_calls_forked()
    int cai_py_calls_awaited() noexcept nogil
    int cai_py_calls_close() noexcept nogil

cdef extern from "_manager.h":
    ctypedef struct cai_py_link:
        PyObject *manager
        cai_py_kept *owned
    cai_manager_table cai_py_inner
    const cai_manager_table cai_py_outer


cdef str text_of(const char *text):
    return "" if text == NULL else text[:strlen(text)].decode("utf-8", "replace")


# ---- Failures --------------------------------------------------------------------------------

# The exception of a callback is kept while C has the failure that it reports, and raised again where
# C returns that. C does not say when it drops a failure, so it is also kept on a list:
#
# * of the calls of the thread that are under way, if such a call gets the failure: dropped when the
#   call is over;
# * of the stream whose work has failed: dropped with the stream, unless something else may still
#   raise it, such as memory of the stream;
# * of the unclaimed ones, which are few, and have no frames any more.

cdef enum:
    MOST_OF_CALLS = 32
    MOST_OF_A_STREAM = 8  # C has the first one that no call has returned
    MOST_UNCLAIMED = 16
    MOST_FOR_A_FUNCTION = 1000  # unclaimed, but on_failure()'s function will get them

cdef object numbers = itertools.count(1)
cdef list unclaimed = []


@cython.final
@cython.internal
cdef class Told:
    """The exceptions of a stream's work."""
    cdef list numbers
    cdef bint is_over  # the Stream has gone

    def __cinit__(self):
        self.numbers = []


class _Calls(list):
    """The exceptions that calls under way may return: how many calls from C they are in, and the
    numbers. They go with the thread."""

    def __del__(self):
        while self:
            raised.pop(self.pop()[1], None)


cdef int keep_raised(exception, number, Told told) except -1:
    cdef int outer = calls_here - 1
    if told is not None and not told.is_over:
        raised[number] = exception
        told.numbers.append(number)
        return trim_raised(told.numbers, MOST_OF_A_STREAM)
    if told is not None or (outer == 0 and is_visiting):
        return keep_unclaimed(exception, number)
    calls = getattr(entered, "calls", None)
    if calls is None:
        calls = entered.calls = _Calls()
    drop_raised(calls, outer + 1)
    raised[number] = exception
    calls.append((outer, number))
    if len(calls) > MOST_OF_CALLS:
        raised.pop(calls.pop(0)[1], None)
    return 0


cdef int keep_unclaimed(exception, number) except -1:
    raised[number] = exception
    unclaimed.append(number)
    if failure_function is not None:
        return trim_raised(unclaimed, MOST_FOR_A_FUNCTION)
    drop_frames(exception)
    return trim_raised(unclaimed, MOST_UNCLAIMED)


cdef int drop_frames(exception) except -1:
    """A frame holds its function, with what that refers to, so to clear the frame is not enough."""
    cdef list rest = [exception]
    lines = "".join(traceback.format_tb(exception.__traceback__))
    add_note(exception, f"libcai: raised for nobody at first, at\n{lines}")
    while rest:
        each = rest.pop()
        if each is not None and each.__traceback__ is not None:
            each.__traceback__ = None
            rest += [each.__cause__, each.__context__]
    return 0


cdef int trim_raised(list kept, int most) except -1:
    kept[:] = [number for number in kept if number in raised]
    while len(kept) > most:
        raised.pop(kept.pop(0), None)
    return 0


cdef int drop_raised(calls, int inside) except -1:
    """Drops those of the thread's calls that are in as many calls from C, or more, and are over."""
    while calls and calls[-1][0] >= inside:
        raised.pop(calls.pop()[1], None)
    return 0


cdef void leave_unclaimed(Told told) noexcept:
    """The Stream goes, perhaps in its own work."""
    told.is_over = True
    try:
        while told.numbers:
            number = told.numbers.pop(0)
            exception = raised.get(number)
            if exception is not None:
                keep_unclaimed(exception, number)
    except BaseException as failure:
        complain(failure, "libcai.Stream")


cdef int succeed(cai_status status, const cai_error *error) except -1:
    """Raises a failure of the C library. The exception of a callback is raised unchanged."""
    message = failure = None
    if status != CAI_OK:  # first of all: what else is done here may drop the exception
        message = text_of(error.message)
        failure = raised_as(message)
    see_to_queues()
    if raised:
        calls = getattr(entered, "calls", None)
        if calls:
            drop_raised(calls, calls_here)
    if status == CAI_OK:
        return 0
    raise from_device(status, error.native, message) if failure is None else failure


cdef int see_to_queues() except -1:
    cai_py_drop_queued()
    if cai_py_has_failures():
        tell_failures()
    return 0


cdef cai_status tell(exception, cai_error *error, Told told=None) noexcept:
    """Reports an exception to C, and keeps it, to raise it where C returns the failure. `told` is
    for the work of a stream."""
    cdef cai_status status = CAI_ERR_STATE
    cdef int32_t native = 0
    cdef bytes data = b"an exception"
    try:
        status, native = status_of(exception)
        data = type(exception).__name__.encode("utf-8", "replace")
        text = f"{type(exception).__name__}: {text_of_exception(exception)}".replace("\0", "\\0")
        number = next(numbers)
        data = f"{_MARK}{number}{_MARK_END}{text}".encode("utf-8", "replace")
        data = data[:sizeof(error.message) - 1].decode("utf-8", "ignore").encode()
        keep_raised(exception, number, told)
    except BaseException:
        pass  # memory is short: C is told the type alone
    return report(status, native, data, error)


cdef object text_of_exception(exception):
    try:
        return str(exception)
    except BaseException:
        return "an exception without a text"


cdef cai_status put_off(exception, cai_error *error) noexcept:
    cdef bytes text = b"a stream is being captured"
    try:
        text = str(exception).encode("utf-8", "replace")
    except BaseException:
        pass
    return report(CAI_ERR_CAPTURE, 0, text, error)


cdef cai_status tell_of_free(MemoryManager manager, exception, method, cai_error *error) noexcept:
    """The same for a free. Unless Python code called it, no call returns the failure, so it goes to
    sys.unraisablehook. A free that a capture forbids is retried, and is no failure."""
    if isinstance(exception, CudaError) and exception.status == CAI_ERR_CAPTURE:
        return put_off(exception, error)
    cdef bytes text
    if getattr(entered, "frees", 0):
        return tell(exception, error)
    complain(exception, method)
    # If the manager's block was invalid and freed again, the failed allocation reports this.
    name = "of Python"
    if manager is not None and manager.manager != NULL:
        name = text_of(cai_manager_name(manager.manager))
    text = f"manager {name}: {method} has raised {type(exception).__name__}".encode()
    return report(CAI_ERR_STATE, 0, text, error)


@cython.final
@cython.internal
cdef class Freeing:
    """A `with` block in which Python code frees memory."""

    def __enter__(self):
        entered.frees = getattr(entered, "frees", 0) + 1

    def __exit__(self, kind, value, traceback):
        entered.frees -= 1


cdef Freeing freeing = Freeing()
cdef object entered = threading.local()  # what this thread is doing now


cdef cai_status report(cai_status status, int32_t native, const char *text,
                       cai_error *error) noexcept nogil:
    cdef uint64_t length = strlen(text)
    if error == NULL:
        return status
    memset(error, 0, sizeof(error[0]))
    error.status = status
    error.native = native
    error.index = -1
    memcpy(error.message, text, min(length, sizeof(error.message) - 1))
    return status


cdef void complain(failure, function) noexcept:
    """Reports a failure that no call can return to sys.unraisablehook."""
    PyErr_SetObject(type(failure), failure)
    PyErr_WriteUnraisable(function)


cdef object failure_function = None


cdef void tell_failures() noexcept:
    cdef cai_py_failure *failure = cai_py_take_failures()
    cdef cai_py_failure *told
    cdef list exceptions = []
    function = failure_function
    while failure != NULL:
        told = failure
        failure = told.next
        try:
            message = text_of(told.error.message)
            exception = raised_as(message)
            if function is not None:
                exceptions.append(from_device(told.error.status, told.error.native, message)
                                  if exception is None else exception)
        except BaseException as raised_here:
            complain(raised_here, function)
        free(told)
    while exceptions:  # all of them were found before the function may drop any
        function = failure_function
        exception = exceptions.pop(0)
        try:
            if function is not None:
                function(exception)
        except BaseException as raised_here:
            complain(raised_here, function)


def on_failure(function):
    """Sets the function that receives failures that no call can return: of a deferred free, of work
    on a stream that was released, of memory that leaked from a tracking manager.

    Parameters
    ----------
    function : callable or None
        ``function(exception)``, called soon after by the main thread, or by the next call of
        libcai. Its exceptions go to ``sys.unraisablehook``. None, the default, drops the failures.
    """
    global failure_function
    cdef cai_failure_fn hook = NULL
    cdef cai_error error
    if function is not None and not callable(function):
        raise TypeError(f"function is {shown(function)}, which cannot be called")
    if function is not None:
        hook = cai_py_hear
    succeed(cai_on_failure(hook, NULL, &error), &error)
    failure_function = function


cdef object integer_of(given, str what):
    """The integer that an argument is; what its ``__index__`` raises passes unchanged."""
    if type(given) is int:  # nearly all are
        return given
    if not hasattr(type(given), "__index__"):
        raise TypeError(f"{what} is {shown(given)}, and an integer is required")
    return operator.index(given)


cdef int unsigned_of(number, str what, uint64_t *out) except -1:
    """Unpacks bytes, counts and addresses."""
    if isinstance(number, bool):  # an int to Python, but an error here
        raise TypeError(f"{what} is {number}, and a number is required")
    value = integer_of(number, what)
    if not 0 <= value <= UINT64_MAX:
        raise UseError(f"{what} is {shown(value)}, and not from 0 to 2**64 - 1")
    out[0] = value
    return 0


cdef uint32_t word_of(dict words, given, str what) except? 0xFFFFFFFF:
    """The number for one of a few words."""
    number = words.get(str.__str__(given)) if isinstance(given, str) else None
    if number is None:
        raise UseError(f"{what} is {shown(given)}, and none of {', '.join(map(repr, words))}")
    return number


cdef bytes text_for_c(given, str what):
    cdef bytes text
    if not isinstance(given, str):
        raise TypeError(f"{what} must be a str, not {shown(given)}")
    try:
        # As Python writes the bytes of a path. A subclass of str may have an encode() of its own.
        text = str.encode(given, "utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise UseError(f"{what} is {shown(given)}, with a lone surrogate") from None
    if b"\0" in text:
        raise UseError(f"{what} is {shown(given)}, with a NUL")
    return text


cdef bytes path_for_c(given):
    cdef bytes path
    if not isinstance(given, (str, bytes, os.PathLike)):
        raise TypeError(f"path is {shown(given)}, and neither a str, bytes nor an os.PathLike")
    found = os.fspath(given)
    try:
        # What is read is the text or the bytes themselves, of subclasses, too.
        path = (os.fsencode(str.__str__(found)) if isinstance(found, str)
                else bytes(memoryview(found)))
    except UnicodeEncodeError:
        raise UseError(f"path is {shown(given)}, with a lone surrogate") from None
    if b"\0" in path:
        raise UseError(f"path is {shown(given)}, with a NUL")
    return path


include "devices/device.pxi"
include "devices/stream.pxi"
include "devices/event.pxi"
include "devices/memory.pxi"
include "devices/pending.pxi"
include "devices/manager.pxi"
include "devices/built_in.pxi"
include "devices/python_manager.pxi"
include "devices/work.pxi"


# ---- The module ------------------------------------------------------------------------------

def sizes():
    """Returns the sizes of the C structs, by name, as compiled into this module."""
    return {
        "cai_allocation": sizeof(cai_allocation),
        "cai_block": sizeof(cai_block),
        "cai_device": sizeof(cai_device),
        "cai_device_guard": sizeof(cai_device_guard),
        "cai_device_info": sizeof(cai_device_info),
        "cai_ipc_handle": sizeof(cai_ipc_handle),
        "cai_manager_table": sizeof(cai_manager_table),
        "cai_memory_info": sizeof(cai_memory_info),
        "cai_request": sizeof(cai_request),
        "cai_statistics": sizeof(cai_statistics),
        "cai_stream_guard": sizeof(cai_stream_guard),
        "cai_stream_info": sizeof(cai_stream_info),
        "cai_usage": sizeof(cai_usage),
    }


cdef int start() except -1:
    global cai_py_tell_failures
    cdef bytes path = os.fsencode(_library.LIBRARY)
    cdef const char *missing = cai_py_table_open(path)
    if missing != NULL:
        raise ImportError(text_of(missing))
    if cai_version() != CAI_HEADER_VERSION:
        raise ImportError(
            f"the bundled libcai has version {cai_version()}, and this module was compiled for "
            f"{CAI_HEADER_VERSION}")
    cai_py_calls_open()
    fill_table()
    cai_py_tell_failures = tell_failures
    atexit.register(close)
    try:
        threading._register_atexit(settle)
    except (AttributeError, RuntimeError):  # it is CPython's own, and not taken any more at exit
        pass
    os.register_at_fork(after_in_child=forked)
    return 0


def settle():
    """At the end of a process of multiprocessing, which may leave out atexit: waits, and reports."""
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        while cai_py_calls_awaited() > 0:
            pause()
        tell_of_streams()


def close():
    """At exit: waits for work queued on CPU streams, as threading does for threads, and for
    callbacks; none runs after it."""
    try:
        while cai_py_calls_awaited() > 0:
            pause()
        tell_of_streams()
    finally:
        while cai_py_calls_close() > 0:
            pause()


cdef int pause() except -1:
    with nogil:
        usleep(200)
    see_to_queues()
    return PyErr_CheckSignals()


def forked():
    queues.clear()  # of the parent, which is told of them
    cai_py_calls_forked()


start()
del close, forked, settle
