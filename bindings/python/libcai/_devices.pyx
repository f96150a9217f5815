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
import operator
import os
import sys
import threading
import weakref

from libcai import _library, _scalars
from libcai._core import (
    _CURRENT, Array, asarray, begin_free, begin_reset, end_free, end_reset, lend_all, raised,
    raised_as, take_all_back, taken)
from libcai._stream import resolve
from libcai._types import Allocation, Block, Device, DeviceType, MemoryInfo, Statistics, Usage
from libcai.errors import (
    BufferError, CudaError, Error, StateError, UseError, ViewIndexError, add_note, from_device,
    shown, status_of)

cdef extern from "Python.h":
    ctypedef int PyGILState_STATE
    void PyErr_SetObject(object, object)
    void PyErr_WriteUnraisable(object)
    int PyErr_CheckSignals() except -1

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

cdef enum:
    MOST_RAISED = 1000  # before the oldest is forgotten: they keep what their frames have


cdef int succeed(cai_status status, const cai_error *error) except -1:
    """Raises a failure of the C library. The exception of a callback is raised unchanged."""
    see_to_queues()
    if status == CAI_OK:
        return 0
    message = text_of(error.message)
    failure = raised_as(message)
    raise from_device(status, error.native, message) if failure is None else failure


cdef int see_to_queues() except -1:
    cai_py_drop_queued()
    if cai_py_has_failures():
        tell_failures()
    return 0


cdef cai_status tell(exception, cai_error *error) noexcept:
    """Reports an exception to C, and keeps it, to raise it where C returns the failure."""
    cdef cai_status status = CAI_ERR_STATE
    cdef int32_t native = 0
    cdef bytes data = b"an exception"
    try:
        status, native = status_of(exception)
        data = type(exception).__name__.encode("utf-8", "replace")
        data += b": " + str(exception).encode("utf-8", "replace")
        data = data[:sizeof(error.message) - 1].decode("utf-8", "ignore").encode()
        raised.append((data.decode(), exception))
        del raised[:-MOST_RAISED]
    except BaseException:
        pass  # its own text fails: C is told no more
    return report(status, native, data, error)


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
    while failure != NULL:
        told = failure
        failure = told.next
        function = failure_function
        try:
            if function is not None:
                message = text_of(told.error.message)
                exception = raised_as(message)
                function(from_device(told.error.status, told.error.native, message)
                         if exception is None else exception)
        except BaseException as raised:
            complain(raised, function)
        free(told)


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
    number = words.get(given) if isinstance(given, str) else None
    if number is None:
        raise UseError(f"{what} is {given!r}, and none of {', '.join(map(repr, words))}")
    return number


cdef bytes text_for_c(given, str what):
    if not isinstance(given, str):
        raise TypeError(f"{what} must be a str, not {shown(given)}")
    if "\0" in given:
        raise UseError(f"{what} is {shown(given)}, with a NUL")
    try:
        return given.encode("utf-8", "surrogateescape")  # as Python writes the bytes of a path
    except UnicodeEncodeError:
        raise UseError(f"{what} is {shown(given)}, with a lone surrogate") from None


cdef bytes path_for_c(given):
    if not isinstance(given, (str, bytes, os.PathLike)):
        raise TypeError(f"path is {shown(given)}, and neither a str, bytes nor an os.PathLike")
    try:
        path = os.fsencode(given)
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
    os.register_at_fork(after_in_child=forked)
    return 0


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
del close, forked
