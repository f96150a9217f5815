# SPDX-License-Identifier: BSD-3-Clause
# Arrays that libcai makes, and the work on arrays that it does. All of it is queued on a stream, and
# returns at once.

cdef dict EXTENSIONS = {
    "bfloat16": CAI_EXT_BFLOAT16,
    "float8_e4m3fn": CAI_EXT_FLOAT8_E4M3FN,
    "float8_e5m2": CAI_EXT_FLOAT8_E5M2,
    "float8_e4m3fnuz": CAI_EXT_FLOAT8_E4M3FNUZ,
    "float8_e5m2fnuz": CAI_EXT_FLOAT8_E5M2FNUZ,
    "float8_e4m3": CAI_EXT_FLOAT8_E4M3,
    "float8_e3m4": CAI_EXT_FLOAT8_E3M4,
    "float8_e4m3b11fnuz": CAI_EXT_FLOAT8_E4M3B11FNUZ,
    "float8_e8m0fnu": CAI_EXT_FLOAT8_E8M0FNU,
}

# Kinds for copies that are to be as their source.
cdef dict KINDS_ALIKE = {
    CAI_DEVICE_CUDA_HOST: "pinned", CAI_DEVICE_CUDA_MANAGED: "managed_global"}


cdef int dtype_of(given, cai_dtype *out) except -1:
    """Unpacks a typestr, a NumPy dtype, or what NumPy takes for one."""
    cdef cai_error error
    cdef bytes text
    if not isinstance(given, str):
        given = numpy_typestr(given)
    if given in EXTENSIONS:
        memset(out, 0, sizeof(out[0]))
        out.kind = c"V"
        out.byteorder = c"|"
        out.ext = EXTENSIONS[given]
        out.itemsize = 2 if out.ext == CAI_EXT_BFLOAT16 else 1
        return 0
    text = text_for_c(given, "typestr")
    return succeed(cai_dtype_parse(text, len(text), out, &error), &error)


cdef str numpy_typestr(given):
    """A typestr, or the name of one of ml_dtypes' types."""
    import numpy
    dtype = numpy.dtype(given)
    if dtype.fields is not None or dtype.subdtype is not None:
        raise UseError(f"typestr: {dtype} is structured, and libcai makes no such arrays")
    return dtype.name if dtype.name in EXTENSIONS else dtype.str


cdef int extents_of(shape, int64_t *out, str what) except -1:
    """Unpacks a shape or strides; returns how many there are."""
    cdef int count = 0
    items = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
    if len(items) > CAI_MAX_NDIM:
        raise UseError(f"{what}: {len(items)} dimensions are more than {CAI_MAX_NDIM}")
    for item in items:
        number = operator.index(item)
        if not -(1 << 63) <= number < 1 << 63:
            raise UseError(f"{what}: {number.bit_length()} bits are out of range")
        out[count] = number
        count += 1
    return count


cdef object array_in(cai_memory *memory, const cai_dtype *dtype, shape, strides, offset):
    cdef int64_t extents[64]
    cdef int64_t steps[64]
    cdef int32_t ndim = extents_of(shape, extents, "shape")
    cdef const int64_t *given = NULL
    cdef uint64_t start
    cdef cai_array *out = NULL
    cdef cai_error error
    cdef cai_status status
    unsigned_of(offset, "offset", &start)
    if strides is not None:
        given = steps
        if extents_of(strides, steps, "strides") != ndim:
            raise UseError(f"strides: {ndim} are needed, one for each extent")
    with nogil:
        status = cai_memory_array(memory, start, dtype, ndim, extents, given, &out, &error)
    succeed(status, &error)
    try:
        return Array.from_ptr(<uint64_t>out)
    except BaseException:
        with nogil:
            cai_array_release(out)
        raise


cdef object made(shape, const cai_dtype *dtype, cai_device device, str kind, Stream on, manager):
    cdef cai_request request
    cdef int64_t extents[64]
    cdef int32_t i, ndim = extents_of(shape, extents, "shape")
    cdef object rows = 1, row = dtype.itemsize  # of any size
    cdef cai_memory *memory = NULL
    cdef cai_error error
    cdef cai_status status
    memset(&request, 0, sizeof(request))
    request.struct_size = sizeof(request)
    request.kind = kind_of(kind)
    for i in range(ndim):
        if extents[i] < 0:
            raise UseError(f"shape: extent {extents[i]} is negative")
        if i == ndim - 1:
            row = row * extents[i]
        else:
            rows = rows * extents[i]
    if request.kind in (CAI_KIND_PITCHED, CAI_KIND_PITCHED_MANAGED):
        unsigned_of(rows, "the number of rows", &request.rows)
        unsigned_of(row, "the size of a row", &request.size)
    else:
        unsigned_of(rows * row, "the size", &request.size)
    request.stream = handle_of(on)
    request.manager = manager_handle(manager)
    with nogil:
        status = cai_memory_alloc(device, &request, &memory, &error)
    succeed(status, &error)
    try:
        return array_in(memory, dtype, shape, None, 0)
    finally:
        with nogil:
            cai_memory_release(memory)


cdef const cai_array *array_handle(array) except NULL:
    return <const cai_array *><uint64_t>array.ptr


cdef bint is_on_cpu(array) except -1:
    return array_handle(array).device_type == CAI_DEVICE_CPU


cdef int device_under(array, cai_device *out) except -1:
    """The device that works on an array."""
    cdef const cai_array *native = array_handle(array)
    out.type = native.device_type
    out.id = native.device_id
    if out.type == CAI_DEVICE_CPU or (out.type == CAI_DEVICE_CUDA and out.id >= 0):
        return 0
    return device_of(array.device, out)


def empty(shape, typestr="<f8", *, device=None, kind="default", stream=None, manager=None):
    """Makes an array, and leaves its elements as they are.

    Parameters
    ----------
    shape : int or sequence
        Extents, in elements.
    typestr : str or numpy.dtype
        The type of an element, as in a dict; or what ``numpy.dtype`` takes, unless that is text.
    device : Device or str, optional
        Else the stream's, or the manager's, or the CPU.
    kind : str
        Of the memory: see `Memory`. Not ``'cuda_array'``.
    stream : Stream or object, optional
        On which the memory is allocated, and in whose order it is freed. Else the thread's current
        one of the device.
    manager : MemoryManager, optional
        Else the device's.

    Returns
    -------
    Array
        In C order. On the CPU it has ``__array_interface__``, on a GPU
        ``__cuda_array_interface__``.

    Raises
    ------
    MemoryError, UseError, CudaError
        As `Memory`.
    """
    cdef cai_dtype dtype
    cdef cai_device native
    dtype_of(typestr, &dtype)
    place(device, stream, manager, "cpu", &native)
    return made(shape, &dtype, native, kind, stream_of(stream, &native), manager)


def empty_of(tuple shape, uint64_t dtype, int32_t device_type, int32_t device_id):
    """The same for cai/python.h: a ``cai_dtype *``, and the device of another array."""
    cdef cai_device native
    native.type = CAI_DEVICE_CPU if device_type == CAI_DEVICE_CUDA_HOST else device_type
    native.id = max(device_id, 0)
    if device_type == CAI_DEVICE_CUDA_MANAGED:
        native.type = CAI_DEVICE_CUDA
    return made(shape, <const cai_dtype *>dtype, native, KINDS_ALIKE.get(device_type, "default"),
                None, None)


def zeros(shape, typestr="<f8", *, device=None, kind="default", stream=None, manager=None):
    """Makes an array of zeros, as `empty` otherwise."""
    array = empty(shape, typestr, device=device, kind=kind, stream=stream, manager=manager)
    return filled(array, bytes(array.itemsize), stream)


def full(shape, value, typestr="<f8", *, device=None, kind="default", stream=None, manager=None):
    """Makes an array of a value, as `empty` and `fill` otherwise."""
    array = empty(shape, typestr, device=device, kind=kind, stream=stream, manager=manager)
    return filled(array, _scalars.pack(value, array), stream)


def fill(array, value, *, stream=None):
    """Sets all elements of an array, in order with whoever else uses it, and returns it. A mask stays
    as it is.

    Parameters
    ----------
    array : object
        What `asarray` takes; not read-only.
    value : object
        A number; or what NumPy makes one element of the array's type of.
    stream : Stream or object, optional
        Of the array's device; else the thread's current one.

    Raises
    ------
    UseError
        For a value that does not fit, and for an array that is read-only.
    """
    native = asarray(array)
    filled(native, _scalars.pack(value, native), stream)
    return array


cdef object filled(array, bytes value, stream):
    cdef const cai_array *native = array_handle(array)
    cdef const char *data = value
    cdef cai_device device
    cdef Stream on
    cdef cai_error error
    cdef cai_status status
    device_under(array, &device)
    on = stream_of(stream, &device)
    with nogil:
        status = cai_array_fill(native, data, handle_of(on), &error)
    succeed(status, &error)
    return array


def copy(array, to=None, *, stream=None):
    """Copies an array's elements, between any two devices, in order with whoever else uses either.

    Parameters
    ----------
    array : object
        What `asarray` takes, of any strides.
    to : object, optional
        Likewise, of the same shape and type, not read-only, not overlapping; else a new `Array` of
        the same device. A mask is copied, too, to a mask of the same type: `to` needs one then. If
        only `to` has a mask, it becomes true.
    stream : Stream or object, optional
        Of the device of either; else the thread's current one of `to`'s device, or of `array`'s if
        `to` is the host's.

    Returns
    -------
    object
        `to`, or the new one.

    Raises
    ------
    UseError
        If the two do not fit each other; and where a mask would be lost, as in a new array.
    """
    cdef cai_device device
    cdef Stream on
    source = asarray(array)
    if to is None:
        return transferred(source, source.device, KINDS_ALIKE.get(int(source.device[0]), "default"),
                           stream)
    target = asarray(to)
    device_under(source if is_on_cpu(target) else target, &device)
    on = stream_of(stream, &device)
    copied(source, target, on)
    return to


cdef int copied(source, target, Stream on) except -1:
    cdef const cai_array *from_ = array_handle(source)
    cdef const cai_array *to = array_handle(target)
    cdef cai_error error
    cdef cai_status status
    with nogil:
        status = cai_array_copy(from_, to, handle_of(on), &error)
    return succeed(status, &error)


def to(array, device, *, kind="default", stream=None):
    """Copies an array to a device: always to new memory, in C order.

    Parameters
    ----------
    array : object
        What `asarray` takes.
    device : Device or str
        Where to.
    kind : str
        Of the new memory.
    stream : Stream or object, optional
        As for `copy`.

    Returns
    -------
    Array
    """
    return transferred(asarray(array), device, kind, stream)


cdef object transferred(source, device, str kind, stream):
    cdef cai_device native, there
    cdef Stream on, here = None
    if array_handle(source).descr != NULL and array_handle(source).dtype.kind == c"V":
        raise UseError("typestr: the array is structured, and libcai makes no such arrays: copy it "
                       "into one")
    device_of(device, &native)
    device_under(source, &there)
    on = stream_of(stream, &there if native.type == CAI_DEVICE_CPU else &native)
    if on is not None and on.device == device_object(native):
        here = on
    target = made(source.shape, &array_handle(source).dtype, native, kind, here, None)
    copied(source, target, on)
    return target


def eval(array):
    """Waits for the current stream of an array's device, and for all that is pending on the array.
    The GIL is released. Returns the array."""
    cdef cai_device device
    native = asarray(array)
    if array_handle(native).device_type != CAI_DEVICE_ROCM:
        device_under(native, &device)
        current_stream(device).synchronize()
    native.synchronize()
    return array


def item(array, index):
    """Returns one element as a value of Python's, once what is pending on the array is complete."""
    cdef int64_t indices[64]
    cdef const cai_array *native
    cdef bytes data
    cdef char *out
    cdef cai_error error
    cdef cai_status status
    cdef int count
    array = asarray(array)
    native = array_handle(array)
    if len(index) == 0 and array.size == 1:
        index = (0,) * native.ndim
    elif len(index) == 1 and isinstance(index[0], tuple):
        index, = index
    count = extents_of(index, indices, "index")
    if count != native.ndim:
        raise UseError(f"index: {count} given for {native.ndim} dimensions")
    data = PyBytes_FromStringAndSize(NULL, native.dtype.itemsize)
    out = <char *>data
    with nogil:
        status = cai_array_item(native, indices, out, &error)
    if status == CAI_ERR_ARGUMENT and error.index >= 0:
        see_to_queues()
        raise ViewIndexError(text_of(error.message))
    succeed(status, &error)
    return _scalars.unpack(data, array)
