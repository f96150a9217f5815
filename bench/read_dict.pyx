# SPDX-License-Identifier: BSD-3-Clause
# cython: language_level=3
"""What the bindings do in C, with no Python around it. Reading the dict, by their own code and the
C library; and by the least that anybody could do, six PyDict_GetItem and no checks. And the
functions of cai/python.h."""

include "_core.pyx"

cdef extern from "Python.h":
    long long PyLong_AsLongLong(PyObject *)
    const char *PyUnicode_AsUTF8(PyObject *)
    PyObject *PyDict_GetItem(PyObject *, PyObject *)

cdef extern from *:
    """
    /* So that no store is left out: the compiler must think that other code reads it. */
    #define consume(array, dims) __asm__ volatile("" : : "r"(array), "r"(dims) : "memory")
    """
    void consume(void *, void *)


def read(dict mapping, int count):
    """Reads the dict `count` times, all checks included."""
    cdef Reading reading
    cdef cai_array array
    cdef cai_error error
    cdef uint64_t storage[64]
    cdef int i
    for i in range(count):
        reading_open(&reading)
        Py_INCREF(mapping)
        reading.entries.value[CAI_ENTRY_INTERFACE] = <PyObject *>mapping
        gather(&reading, CAI_PROTOCOL_CUDA)
        if cai_interface_read(&reading.interface, CAI_LENIENT, NULL, NULL, storage,
                              sizeof(storage), &array, &error) != CAI_OK:
            raise_error(&error, &reading.entries)
        reading_close(&reading)
    return array.data, array.shape[0], array.strides[0]


def unpack_only(dict mapping, int count):
    """The bindings' part of it."""
    cdef Reading reading
    cdef int i
    for i in range(count):
        reading_open(&reading)
        Py_INCREF(mapping)
        reading.entries.value[CAI_ENTRY_INTERFACE] = <PyObject *>mapping
        gather(&reading, CAI_PROTOCOL_CUDA)
        reading_close(&reading)


def floor(dict mapping, int count):
    """Takes what is in it on trust, `count` times."""
    cdef PyObject *shape
    cdef PyObject *strides
    cdef PyObject *data
    cdef PyObject *stream
    cdef cai_array array
    cdef int64_t dims[4]
    cdef const char *typestr
    cdef int i, axis
    for i in range(count):
        shape = PyDict_GetItem(<PyObject *>mapping, key_of[CAI_ENTRY_SHAPE])
        strides = PyDict_GetItem(<PyObject *>mapping, key_of[CAI_ENTRY_STRIDES])
        for axis in range(2):
            dims[axis] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, axis))
            dims[2 + axis] = PyLong_AsLongLong(PyTuple_GET_ITEM(strides, axis))
        typestr = PyUnicode_AsUTF8(PyDict_GetItem(<PyObject *>mapping, key_of[CAI_ENTRY_TYPESTR]))
        array.dtype.byteorder = typestr[0]
        array.dtype.kind = typestr[1]
        array.dtype.itemsize = typestr[2] - c'0'
        data = PyDict_GetItem(<PyObject *>mapping, key_of[CAI_ENTRY_DATA])
        array.data = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(data, 0))
        array.flags = CAI_FLAG_READONLY if PyTuple_GET_ITEM(data, 1) == Py_True else 0
        array.version = PyLong_AsLongLong(
            PyDict_GetItem(<PyObject *>mapping, key_of[CAI_ENTRY_VERSION]))
        stream = PyDict_GetItem(<PyObject *>mapping, key_of[CAI_ENTRY_STREAM])
        array.stream = 0 if stream == Py_None else PyLong_AsUnsignedLongLong(stream)
        consume(&array, dims)
    return array.data, dims[0], dims[2]


cdef int64_t[2] described_shape = (6, 8)
cdef int64_t[2] described_strides = (32, 4)


cdef int32_t describe_plain(void *obj, cai_array *out, int64_t *dims) noexcept:
    memset(out, 0, sizeof(out[0]))
    out.abi_major = CAI_ABI_MAJOR
    out.device_type = CAI_DEVICE_CUDA
    out.data = 4096
    out.dtype.kind = c'f'
    out.dtype.byteorder = c'<'
    out.dtype.itemsize = 4
    out.ndim = 2
    out.shape = described_shape
    out.strides = described_strides
    out.stream_kind = CAI_STREAM_NONE
    out.version = CAI_INTERFACE_VERSION
    return 0


cdef cai_exchange_api described_api
described_api.struct_size = sizeof(cai_exchange_api)
described_api.abi_major = CAI_ABI_MAJOR
described_api.abi_minor = CAI_ABI_MINOR
described_api.describe = <int32_t (*)(void *, cai_array *, int64_t *) noexcept nogil>(
    <void *>describe_plain)


cdef class Described:
    __cai_c_exchange_api__ = PyCapsule_New(&described_api, CAI_EXCHANGE_CAPSULE, NULL)


def open_and_close(obj, int count):
    cdef cai_py_argument argument
    cdef int i
    for i in range(count):
        extension_api.open(obj, 0, &argument)
        extension_api.close(&argument)


def use_on_1(obj, int count):
    """What libcai.use needs: the calls of cai.h, and those of the driver that they make."""
    cdef cai_py_argument argument
    cdef cai_use use
    cdef const cai_array *array
    cdef int i
    extension_api.open(obj, 0, &argument)
    array = argument.array
    for i in range(count):
        cai_use_begin(&use, &array, 1, 1, NULL, NULL)
        cai_use_end(&use, NULL)
    extension_api.close(&argument)


def own_and_release(obj, int count):
    cdef cai_array *array
    cdef int i
    for i in range(count):
        extension_api.own(obj, 0, &array)
        cai_array_release(array)


def by_table_itself(obj, int count):
    """By DLPack's table itself."""
    cdef cai_py_tables tables
    cdef DLTensor tensor
    cdef int i
    cai_py_tables_of(Py_TYPE(<PyObject *>obj), &tables)
    for i in range(count):
        cai_py_borrow_tensor(tables.dlpack, <PyObject *>obj, &tensor)
        consume(&tensor, NULL)
