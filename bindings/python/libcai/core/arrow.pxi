# SPDX-License-Identifier: BSD-3-Clause
# A part of _core. Needs array, dlpack, exchange_tables, order.
#
# Arrow's columns by its PyCapsule interface, both ways.

cdef extern from *:
    """
    static void cai_py_end_schema(PyObject *capsule) {
      struct ArrowSchema *const schema =
          (struct ArrowSchema *)PyCapsule_GetPointer(capsule, "arrow_schema");
      if (schema->release) schema->release(schema);
      free(schema);
    } /* For both kinds: a device's column begins with the plain column. */ static void
    cai_py_end_column(PyObject *capsule) {
      const char *const name = PyCapsule_GetName(capsule);
      struct ArrowArray *const column = (struct ArrowArray *)PyCapsule_GetPointer(capsule, name);
      const int is_devices = strcmp(name, "arrow_device_array") == 0;
      PyThreadState *const state = cai_py_let_go_gil(
          is_devices ? ((struct ArrowDeviceArray *)column)->device_type : CAI_DEVICE_CPU);
      if (column->release) column->release(column);
      cai_py_take_gil(state);
      free(column);
    }
    """
    void cai_py_end_schema(PyObject *) noexcept
    void cai_py_end_column(PyObject *) noexcept

cdef extern from "stdlib.h":
    void *calloc(size_t, size_t)

cdef object ARROW_DEVICE_NAME = sys.intern("__arrow_c_device_array__")
cdef object ARROW_NAME = sys.intern("__arrow_c_array__")


cdef object new_capsule(size_t size, const char *name, void (*end)(PyObject *) noexcept):
    """A capsule of zeroed memory, which its destructor frees."""
    cdef void *made = calloc(1, size)
    if made == NULL:
        raise MemoryError()
    try:
        return PyCapsule_New(made, name, end)
    except BaseException:
        free(made)
        raise


cdef tuple column_of(Array self, const char *name):
    """The capsules of an array: its type, and its column in a capsule of that name."""
    cdef ArrowSchema *type_
    cdef ArrowDeviceArray *column
    cdef cai_error error
    cdef cai_status status
    cdef uint64_t stream = 1
    schema = new_capsule(sizeof(ArrowSchema), b"arrow_schema", cai_py_end_schema)
    array = new_capsule(sizeof(ArrowDeviceArray), name, cai_py_end_column)
    type_ = <ArrowSchema *>PyCapsule_GetPointer(<PyObject *>schema, b"arrow_schema")
    column = <ArrowDeviceArray *>PyCapsule_GetPointer(<PyObject *>array, name)
    if self.array.stream_kind == CAI_STREAM_STREAM and not cai_py_is_elsewhere(self.array):
        stream = self.array.stream
    with nogil:
        status = cai_arrow_write(self.array, stream, type_, column, &error)
    if status != CAI_OK:
        raise order_error(&error)
    return schema, array


def from_arrow(obj, /):
    """Imports a column of numbers from Arrow: one axis, on the host or on a GPU.

    Parameters
    ----------
    obj : object
        With ``__arrow_c_device_array__`` or ``__arrow_c_array__``, such as a ``pyarrow.Array``.

    Returns
    -------
    Array
        Read-only. A validity bitmap becomes its mask, of bits. If the column comes with an event,
        ``stream_kind`` is ``'event'``, and `use` waits for it.

    Raises
    ------
    InterfaceTypeError
        For an object that has neither, or whose method does not return a pair of capsules.
    ViewError, InterfaceError
        For a column that is no array of numbers: text, nested columns, dictionaries, booleans; and
        for a bitmap that begins within a byte.
    CudaError
        For a column on a device that is neither the CPU nor CUDA.

    Notes
    -----
    The Arrow PyCapsule interface, and the Arrow C Device data interface.
    """
    cdef ArrowDeviceArray plain
    cdef ArrowDeviceArray *column
    cdef ArrowArray *array
    cdef cai_array *made = NULL
    cdef Array imported
    cdef cai_error error
    cdef cai_status status
    cdef PyTypeObject *kind = Py_TYPE(<PyObject *>obj)
    cai_py_drain(0)
    if cai_py_class_has(kind, <PyObject *>ARROW_DEVICE_NAME):
        schema, capsule = arrow_pair(obj, obj.__arrow_c_device_array__())
        column = <ArrowDeviceArray *>arrow_pointer(obj, capsule, b"arrow_device_array")
        array = &column.array
    elif cai_py_class_has(kind, <PyObject *>ARROW_NAME):
        schema, capsule = arrow_pair(obj, obj.__arrow_c_array__())
        array = <ArrowArray *>arrow_pointer(obj, capsule, b"arrow_array")
        memset(&plain, 0, sizeof(plain))
        plain.array = array[0]
        plain.device_type = CAI_DEVICE_CPU
        plain.device_id = -1
        column = &plain
    else:
        raise InterfaceTypeError(
            f"interface: the {type_name(<PyObject *>obj)[1:-8]} object has neither "
            f"{ARROW_DEVICE_NAME} nor {ARROW_NAME}", "interface", obj)
    status = cai_arrow_own(
        <ArrowSchema *>arrow_pointer(obj, schema, b"arrow_schema"), column, &made, &error)
    if status != CAI_OK:
        raise_error(&error, NULL)
    array.release = NULL  # the column has been moved
    imported = around(made, capsule)
    find_by_address(imported, 0)
    return imported


cdef tuple arrow_pair(obj, answer):
    """The exporter's capsules, of the type and of the column."""
    pair = PyList_AsTuple(answer) if PyList_Check(<PyObject *>answer) else answer
    if PyTuple_Check(<PyObject *>pair) and PyTuple_GET_SIZE(<PyObject *>pair) == 2:
        # Of a subclass, too, which itself is no `tuple` of Cython's.
        return (<object>PyTuple_GET_ITEM(<PyObject *>pair, 0),
                <object>PyTuple_GET_ITEM(<PyObject *>pair, 1))
    raise InterfaceTypeError(
        f"interface: the {type_name(<PyObject *>obj)[1:-8]} object returned "
        f"{describe(<PyObject *>answer)} "
        "where Arrow wants a pair of capsules", "interface", obj)


cdef void *arrow_pointer(obj, capsule, const char *name) except NULL:
    if not PyCapsule_IsValid(<PyObject *>capsule, name):
        raise InterfaceTypeError(
            f"interface: the {type_name(<PyObject *>obj)[1:-8]} object returned {shown(capsule)} "
            "where Arrow "
            f"wants a capsule named {name.decode()!r}", "interface", obj)
    return PyCapsule_GetPointer(<PyObject *>capsule, name)
