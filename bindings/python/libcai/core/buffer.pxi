# SPDX-License-Identifier: BSD-3-Clause
# A part of _core. Needs array, exchange_tables, export, loans.
#
# The buffer protocol, PEP 3118: host arrays from objects without a dict, and a fast path for
# NumPy's own arrays.

from cpython.buffer cimport (
    Py_buffer, PyBUF_ANY_CONTIGUOUS, PyBUF_C_CONTIGUOUS, PyBUF_F_CONTIGUOUS, PyBUF_FORMAT,
    PyBUF_FULL_RO, PyBUF_ND, PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release, PyObject_CheckBuffer,
    PyObject_GetBuffer)
from cpython.memoryview cimport PyMemoryView_FromObject

cdef extern from "_exchange.h":
    bint cai_py_is_indirect(const Py_buffer *)
    bint cai_py_buffer_array(const Py_buffer *, cai_array *)
    bint cai_py_struct_array(object, cai_array *, int64_t *)
    void cai_py_no_buffer(Py_buffer *)
    bint cai_py_has_buffer(const Py_buffer *)


cdef Array by_buffer(obj):
    """Imports an object's buffer, which is released with the array; None if it has none."""
    cdef cai_array array
    cdef Py_buffer buffer
    if not PyObject_CheckBuffer(obj):
        return None
    refuse_masked(obj)
    held = PyMemoryView_FromObject(obj)
    PyObject_GetBuffer(held, &buffer, PyBUF_FULL_RO)
    try:
        if cai_py_is_indirect(&buffer):
            raise InterfaceError(
                "strides: the buffer has suboffsets, and is no array", "strides", obj)
        if not cai_py_buffer_array(&buffer, &array):
            given = text_of(buffer.format)
            raise InterfaceError(
                f"typestr: the buffer's format is {shown(given)} with items of {buffer.itemsize} "
                "bytes, which is no type of an array's",
                "typestr", given)
        return import_of(&array, held)
    finally:
        PyBuffer_Release(&buffer)


cdef Array import_of(const cai_array *array, held):
    """An array with a copy of the description, that holds `held`. Other imports of the memory find
    its uses."""
    cdef cai_py_block *block = block_owning(array, held)
    block.owner.flags |= CAI_OWNER_IMPORTED
    return wrap(&block.array, &block.owner)


cdef cai_py_block *block_owning(const cai_array *array, held) except NULL:
    cdef cai_error error
    if cai_array_validate(array, &error) != CAI_OK:
        raise_error(&error, NULL)
    return block_holding(array, held)


cdef cai_py_block *block_holding(const cai_array *array, held) except NULL:
    """A block for an array that is known to be valid."""
    cdef cai_py_block *block = cai_py_block_copy(array)
    if block == NULL:
        raise MemoryError()
    cai_py_block_adopt(block)
    hold(block, held)
    return block


# ---- Export

cdef str NATIVE_ORDER = "<" if sys.byteorder == "little" else ">"


cdef str letter_of(str kind, int64_t itemsize):
    """A type in the format of struct and PEP 3118, but for its order; None if they lack it."""
    if kind == "b":
        return "?"
    if kind in "iu":
        letter = {1: "b", 2: "h", 4: "i", 8: "q"}.get(itemsize)
        return letter.upper() if letter and kind == "u" else letter
    if kind in "fc":
        letter = {2: "e", 4: "f", 8: "d", 16: "g"}.get(itemsize if kind == "f" else itemsize // 2)
        return f"Z{letter}" if letter and kind == "c" else letter
    if kind == "S":
        return f"{itemsize}s"
    if kind == "U":
        return f"{itemsize // 4}w"
    return None


cdef bytes format_of(const cai_dtype *dtype):
    """The format of a type; None if it has none."""
    cdef str letter = letter_of(chr(dtype.kind), dtype.itemsize)
    order = chr(dtype.byteorder)
    if letter is None or order not in "<>" or order == NATIVE_ORDER:
        return None if letter is None else letter.encode()
    # The extended float has no standard size, so that its order cannot be said.
    return None if letter[-1] == "g" else (order + letter).encode()


cdef str struct_format(list descr):
    """The format of a structured type, as NumPy reads it: every item with its order, and without
    alignment; None if it has none."""
    parts = []
    for field in descr:
        name, type_of_it = field[:2]
        if isinstance(type_of_it, list):
            item = struct_format(type_of_it)
        else:
            order, kind, size = type_of_it[0], type_of_it[1], type_of_it[2:]
            if kind == "V" and name == "":
                parts.append(f"{size}x")
                continue
            item = None
            if size.isdigit():
                item = letter_of(kind, int(size) * (4 if kind == "U" else 1))
            if item is not None and item[-1] == "g":
                item = None if order in "<>" and order != NATIVE_ORDER else f"^{item}"
            elif item is not None:
                item = f"{order if order in '<>' else '='}{item}"
        if item is None or not isinstance(name, str) or not name or ":" in name:
            return None
        shape = field[2] if len(field) > 2 else ()
        extents = ",".join(map(str, shape if isinstance(shape, tuple) else (shape,)))
        parts.append(f"({extents}){item}:{name}:" if extents else f"{item}:{name}:")
    return f"T{{{''.join(parts)}}}"


cdef bytes format_of_array(Array self):
    if self.array.descr == NULL or self.array.dtype.kind != c"V":  # the fields of a number are no type
        return format_of(&self.array.dtype)
    text = struct_format(descr_of(self))
    try:
        return None if text is None else text.encode()
    except UnicodeEncodeError:  # a name that is no text
        return None


cdef bint is_laid_out(const cai_layout *layout, int flags) noexcept:
    """Whether the strides are as the request requires."""
    if flags & PyBUF_C_CONTIGUOUS == PyBUF_C_CONTIGUOUS:
        return layout.c_contiguous != 0
    if flags & PyBUF_F_CONTIGUOUS == PyBUF_F_CONTIGUOUS:
        return layout.f_contiguous != 0
    if flags & PyBUF_ANY_CONTIGUOUS == PyBUF_ANY_CONTIGUOUS:
        return layout.c_contiguous or layout.f_contiguous
    return flags & PyBUF_STRIDES == PyBUF_STRIDES or layout.c_contiguous


cdef int give_buffer(Array self, Py_buffer *buffer, int flags) except -1:
    """Fills in a buffer of an array that the host may use, once pending work is complete."""
    cdef cai_layout layout = layout_of(self)
    cdef const cai_array *array = self.array
    cdef uint64_t address
    cdef bytes format = format_of_array(self)
    buffer.obj = None
    if not is_on_host(self):
        raise BufferError("data: the array is on a device: to('cpu') copies it")
    if format is None:
        raise BufferError(f"typestr: a buffer has no format for {self.typestr!r}")
    if flags & PyBUF_WRITABLE and self.readonly:
        raise BufferError("data: expected memory that may be written, got an array that is marked read-only")
    if not is_laid_out(&layout, flags):
        raise BufferError(f"strides: the array has {self.strides}, not those that were asked for")
    lend_memory(self)
    self.failure = None
    try:
        address = host_dict(self)["data"][0]
    except BaseException as failure:
        take_memory_back(self)
        # If a buffer fails, NumPy ignores the error and asks for the dict. The dict must then raise
        # that error, unless it fails by itself.
        if array.mask == NULL and not cai_py_is_freed(array):
            self.failure = failure
        if isinstance(failure, StateError):
            raise _NoBufferError(str(failure)) from None
        raise
    Py_INCREF(format)
    buffer.internal = <void *>format
    buffer.buf = <void *>address
    buffer.len = layout.nbytes
    buffer.itemsize = array.dtype.itemsize
    buffer.readonly = self.readonly
    buffer.ndim = array.ndim
    buffer.format = <char *>format if flags & PyBUF_FORMAT else NULL
    buffer.shape = <Py_ssize_t *>array.shape if flags & PyBUF_ND else NULL
    buffer.strides = <Py_ssize_t *>array.strides if flags & PyBUF_STRIDES == PyBUF_STRIDES else NULL
    buffer.suboffsets = NULL
    buffer.obj = self
    self.buffers += 1
    return 0


cdef int take_buffer_back(Array self, Py_buffer *buffer) except -1:
    self.buffers -= 1
    take_memory_back(self)
    Py_XDECREF(<PyObject *>buffer.internal)
    buffer.internal = NULL
    return 0


# ---- NumPy

cdef object numpy_array = None


cdef bint is_numpy(obj) except -1:
    """Whether an object is exactly NumPy's array, not a subclass."""
    global numpy_array
    if numpy_array is None:
        numpy_array = getattr(sys.modules.get("numpy"), "ndarray", None)
    return type(obj) is numpy_array


cdef bint view_numpy(obj, Py_buffer *buffer, cai_array *out) except -1:
    """Describes NumPy's array of numbers. On success the caller must release the buffer."""
    try:
        PyObject_GetBuffer(obj, buffer, PyBUF_STRIDES | PyBUF_FORMAT)
    except ValueError:  # a type that has no format, such as a time
        return False
    if cai_py_buffer_array(buffer, out) and chr(out.dtype.kind) in "biufc":
        return True
    PyBuffer_Release(buffer)
    return False


cdef object STRUCT_NAME = sys.intern("__array_struct__")


cdef Array by_array_struct(obj):
    """Imports NumPy's array of numbers, as by its dict; None if the dict must be read."""
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
