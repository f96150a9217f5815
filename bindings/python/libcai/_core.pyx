# SPDX-License-Identifier: BSD-3-Clause
# cython: language_level=3, embedsignature=True, embedsignature.format=python
"""The compiled part: unpacks Python values for the C library, and wraps its arrays."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.list cimport PyList_AsTuple
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.number cimport PyIndex_Check, PyNumber_Index
from cpython.object cimport PyObject, PyTypeObject, visitproc
from cpython.ref cimport Py_INCREF
from libc.stdint cimport (
    INT32_MAX, INT32_MIN, INT64_MAX, UINT32_MAX, UINT64_MAX, int32_t, int64_t, uint32_t, uint64_t)
from libc.stdlib cimport free, malloc
from libc.string cimport memset, strcmp, strlen

from libcai cimport *
from libcai.python cimport CAI_PY_TRY, CAI_PY_WRITES, cai_py_api, cai_py_argument

import gc
import os
import sys
import weakref
from collections.abc import Mapping

from libcai import _library
from libcai import _relaxed
from libcai._providers import provided, stream_of_cupy
from libcai._stream import NO_ORDER as _NO_ORDER, resolve
from libcai._types import Device, Location, device as device_of
from libcai._unpack import (
    dtype_name, is_float8_e5m2, refuse_lazy, refuse_masked, refuse_numpy)
from libcai.errors import (
    MARK as _MARK, MARK_END as _MARK_END, BufferError, InterfaceError, InterfaceTypeError, StateError,
    UseError, ViewError, ViewIndexError, _NoBufferError, _NoDlpackError, add_note, from_order,
    from_status, shown)

cdef extern from "Python.h":
    # Declared here to work on borrowed references.
    PyObject *Py_None
    PyObject *Py_True
    PyObject *PyExc_AttributeError
    PyTypeObject *Py_TYPE(PyObject *)
    void Py_XINCREF(PyObject *)
    void Py_XDECREF(PyObject *)
    bint PyType_Check(PyObject *)
    bint PyBool_Check(PyObject *)
    bint PyFloat_Check(PyObject *)
    bint PyBytes_Check(PyObject *)
    bint PyLong_Check(PyObject *)
    bint PyLong_CheckExact(PyObject *)
    long long PyLong_AsLongLongAndOverflow(PyObject *, int *)
    unsigned long long PyLong_AsUnsignedLongLong(PyObject *)
    bint PyUnicode_Check(PyObject *)
    bint PyUnicode_CheckExact(PyObject *)
    const char *PyUnicode_AsUTF8AndSize(PyObject *, Py_ssize_t *)
    bint PyTuple_Check(PyObject *)
    bint PyTuple_CheckExact(PyObject *)
    Py_ssize_t PyTuple_GET_SIZE(PyObject *)
    PyObject *PyTuple_GET_ITEM(PyObject *, Py_ssize_t)
    bint PyList_Check(PyObject *)
    Py_ssize_t PyList_GET_SIZE(PyObject *)
    bint PyDict_Check(PyObject *)
    bint PyDict_CheckExact(PyObject *)
    Py_ssize_t PyDict_GET_SIZE(PyObject *)
    PyObject *PyDict_GetItemWithError(PyObject *, PyObject *)
    bint PyDict_Next(PyObject *, Py_ssize_t *, PyObject **, PyObject **)
    PyObject *PyObject_GetAttr(PyObject *, PyObject *)
    PyObject *PyErr_Occurred()
    void PyErr_Clear()
    bint PyErr_ExceptionMatches(PyObject *)
    int PyDict_SetItem(object, PyObject *, object) except -1
    dict PyDict_Copy(dict)
    int PySlice_Unpack(object, Py_ssize_t *, Py_ssize_t *, Py_ssize_t *) except -1
    tuple PyTuple_New(Py_ssize_t)
    void PyTuple_SET_ITEM(tuple, Py_ssize_t, PyObject *)

cdef extern from "_compat.h":
    int cai_py_optional_attribute(PyObject *, PyObject *, PyObject **) except -1
    bint cai_py_class_has(PyTypeObject *, PyObject *)
    const char *cai_py_type_name(PyTypeObject *)
    ctypedef int (*traverse_fn)(PyObject *, visitproc, void *) noexcept
    ctypedef int (*clear_fn)(PyObject *) noexcept
    traverse_fn cai_py_base_traverse
    clear_fn cai_py_base_clear
    void cai_py_replace_gc(PyTypeObject *, traverse_fn, clear_fn)
    void cai_py_no_entries(PyObject **)
    void cai_py_missing(cai_value *)
    bint cai_py_plain_value(PyObject *, cai_value *)
    bint cai_py_small_int(PyObject *, uint64_t *)
    PyObject *cai_py_take_exception()

cdef extern from "_table.h":
    const char *cai_py_table_open(const char *path)

cdef extern from "_owner.h":
    ctypedef struct cai_py_block:
        PyObject *exporter
        PyObject *mask_exporter
        PyObject *streams
        const cai_array *inner
        cai_owner *held
        cai_owner owner
        cai_array array
    cai_array cai_py_no_array
    cai_py_block *cai_py_block_new(uint64_t storage)
    void cai_py_block_free(cai_py_block *)
    void *cai_py_block_storage(cai_py_block *)
    void cai_py_block_adopt(cai_py_block *)
    void cai_py_block_view(cai_py_block *, const cai_array *, cai_owner *)
    cai_py_block *cai_py_block_of(cai_owner *)
    int cai_py_block_traverse(PyObject *, cai_py_block *, visitproc, void *)
    void cai_py_release_here(cai_owner *)
    cai_owner *cai_py_keeper(cai_owner *)
    bint cai_py_is_freed(const cai_array *)
    bint cai_py_may_be_used(const cai_array *)
    bint cai_py_is_per_thread(const cai_array *)
    bint cai_py_is_elsewhere(const cai_array *)
    uint64_t cai_py_this_thread()
    int64_t cai_py_ask_suspects(int64_t most, bint wait)
    cai_status cai_py_keep_use(cai_owner *, uint64_t, uint32_t, cai_error *) nogil
    bint cai_py_drain(uint64_t stream)
    bint cai_py_any_queued()
    int64_t cai_py_queued()
    uint64_t cai_py_named
    void cai_py_set_most(int64_t)
    void cai_py_open()
    void cai_py_close()


cdef str text_of(const char *text):
    return "" if text == NULL else text[:strlen(text)].decode("utf-8", "replace")


cdef int raise_error(const cai_error *error, Entries *entries) except -1:
    """Raises a failure of the C library; `entries` are the values of the dict, or NULL. The
    exception of a callback is raised unchanged."""
    message = text_of(error.message)
    failure = raised_as(message)
    if failure is not None:
        raise failure
    value = None
    if entries != NULL and 0 < error.entry < ENTRIES and entries.value[error.entry] != NULL:
        value = <object>entries.value[error.entry]
    raise from_status(error.status, error.native, message,
                      text_of(cai_entry_name(error.entry)), value)


include "core/unpack.pxi"
include "core/loans.pxi"
include "core/buffer.pxi"
include "core/exchange_tables.pxi"
include "core/dlpack.pxi"
include "core/arrow.pxi"
include "core/array.pxi"
include "core/views.pxi"
include "core/export.pxi"
include "core/reading.pxi"
include "core/order.pxi"
include "core/use.pxi"
include "core/extensions.pxi"


def sizes():
    """Returns the sizes of the C structs, by name, as compiled into this module."""
    return {
        "cai_array": sizeof(cai_array),
        "cai_dtype": sizeof(cai_dtype),
        "cai_error": sizeof(cai_error),
        "cai_field": sizeof(cai_field),
        "cai_finding": sizeof(cai_finding),
        "cai_interface": sizeof(cai_interface),
        "cai_layout": sizeof(cai_layout),
        "cai_location": sizeof(cai_location),
        "cai_owner": sizeof(cai_owner),
        "cai_slice": sizeof(cai_slice),
        "cai_use_options": sizeof(cai_use_options),
        "cai_value": sizeof(cai_value),
    }


cdef int start() except -1:
    cdef bytes path = os.fsencode(_library.LIBRARY)
    cdef const char *missing = cai_py_table_open(path)
    if missing != NULL:
        raise ImportError(text_of(missing))
    if cai_version() != CAI_HEADER_VERSION:
        raise ImportError(
            f"the bundled libcai has version {cai_version()}, and this module was compiled for "
            f"{CAI_HEADER_VERSION}")
    intern_keys()
    cai_py_exchange_open()
    _relaxed.on_change(count_relaxed)
    defer_releases()
    cai_py_open()
    collect_arrays()
    import atexit
    atexit.register(close)
    return 0


def close():
    """Ends deferring releases, for good; called at exit."""
    cai_py_close()


start()
del close
