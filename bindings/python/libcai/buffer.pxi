# SPDX-License-Identifier: BSD-3-Clause
# The buffer protocol, PEP 3118: arrays of the host's from objects that have no dict, and quickly
# from NumPy's own.

from cpython.buffer cimport (
    Py_buffer, PyBUF_FORMAT, PyBUF_FULL_RO, PyBUF_STRIDES, PyBuffer_Release, PyObject_CheckBuffer,
    PyObject_GetBuffer)
from cpython.memoryview cimport PyMemoryView_FromObject

cdef extern from "_exchange.h":
    bint cai_py_buffer_array(const Py_buffer *, cai_array *)
    bint cai_py_struct_array(object, cai_array *, int64_t *)
    void cai_py_no_buffer(Py_buffer *)
    bint cai_py_has_buffer(const Py_buffer *)


cdef Array by_buffer(obj):
    """By an object's buffer, which is released with the array; None if it has none."""
    cdef cai_array array
    cdef Py_buffer buffer
    if not PyObject_CheckBuffer(obj):
        return None
    refuse_masked(obj)
    held = PyMemoryView_FromObject(obj)
    PyObject_GetBuffer(held, &buffer, PyBUF_FULL_RO)
    try:
        if buffer.suboffsets != NULL:
            raise InterfaceError(
                "strides: the buffer has suboffsets, and is no array", "strides", obj)
        if not cai_py_buffer_array(&buffer, &array):
            given = text_of(buffer.format)
            raise InterfaceError(
                f"typestr: the buffer's format is {given!r}, which is no type of an array's",
                "typestr", given)
        return owning(&array, held)
    finally:
        PyBuffer_Release(&buffer)


cdef Array owning(const cai_array *array, held):
    """An array with a copy of what is described, that holds `held`."""
    cdef cai_py_block *block = block_owning(array, held)
    return wrap(&block.array, &block.owner)


cdef cai_py_block *block_owning(const cai_array *array, held) except NULL:
    cdef cai_error error
    if cai_array_validate(array, &error) != CAI_OK:
        raise_error(&error, NULL)
    return block_holding(array, held)


cdef cai_py_block *block_holding(const cai_array *array, held) except NULL:
    """Of an array that is known to be valid."""
    cdef cai_py_block *block = cai_py_block_copy(array)
    if block == NULL:
        raise MemoryError()
    cai_py_block_adopt(block)
    hold(block, held)
    return block


cdef object numpy_array = None


cdef bint is_numpy(obj) except -1:
    """Whether an object is NumPy's array, and of no subclass."""
    global numpy_array
    if numpy_array is None:
        numpy_array = getattr(sys.modules.get("numpy"), "ndarray", None)
    return type(obj) is numpy_array


cdef bint view_numpy(obj, Py_buffer *buffer, cai_array *out) except -1:
    """Describes NumPy's array of numbers. On success the buffer is to be released."""
    PyObject_GetBuffer(obj, buffer, PyBUF_STRIDES | PyBUF_FORMAT)
    if cai_py_buffer_array(buffer, out) and chr(out.dtype.kind) in "biufc":
        return True
    PyBuffer_Release(buffer)
    return False


cdef object STRUCT_NAME = sys.intern("__array_struct__")


cdef Array by_array_struct(obj):
    """NumPy's array of numbers, as by its dict; None where that has to be asked."""
    cdef cai_array array
    cdef cai_error error
    cdef int64_t strides[CAI_MAX_NDIM]
    cdef cai_py_block *block
    capsule = getattr(obj, STRUCT_NAME)
    if (not cai_py_struct_array(capsule, &array, strides)
            or cai_array_validate(&array, &error) != CAI_OK):
        return None
    block = block_holding(&array, obj)
    block.owner.flags |= CAI_OWNER_IMPORTED
    return wrap(&block.array, &block.owner)
