# SPDX-License-Identifier: BSD-3-Clause
# A part of _devices. Needs device, manager, memory, stream.
#
# Arrays that libcai makes, and its work on arrays. All work is queued on a stream, and the calls
# return at once.

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

# The kinds for copies that keep the kind of their source.
cdef dict KINDS_ALIKE = {
    CAI_DEVICE_CUDA_HOST: "pinned", CAI_DEVICE_CUDA_MANAGED: "managed_global"}


cdef int dtype_of(given, cai_dtype *out) except -1:
    """Unpacks a typestr, a NumPy dtype, or an argument for ``numpy.dtype``."""
    cdef cai_error error
    cdef bytes text
    given = str.__str__(given) if isinstance(given, str) else numpy_typestr(given)
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
        raise UseError(f"typestr: {dtype} is structured, where a single item is wanted")
    if dtype.name not in EXTENSIONS:
        return dtype.str
    if not dtype.isnative and dtype.itemsize > 1:
        raise UseError(f"typestr: {dtype.name} is not made in the other byte order")
    return dtype.name


cdef tuple type_of(given, cai_array *out):
    """Sets the type of `out` from an argument of `dtype_of`, or a structured type. Returns the
    object that keeps its descr, and the extents that NumPy adds to a shape, for a sub-array."""
    memset(out, 0, sizeof(out[0]))
    out.abi_major = CAI_ABI_MAJOR
    if not isinstance(given, str):
        import numpy
        given = numpy.dtype(given)
        if given.fields is not None or given.subdtype is not None:
            return structured(numpy, given, out)
    dtype_of(given, &out.dtype)
    return None, ()


cdef tuple structured(numpy, dtype, cai_array *out):
    cdef const cai_array *fields
    try:
        dtype.base.descr
    except ValueError as problem:  # overlapping fields, or others that no descr can express
        raise UseError(f"descr: {problem}") from None
    sample = asarray(numpy.empty((0,), dtype))
    fields = array_handle(sample)
    out.dtype = fields.dtype
    out.descr = fields.descr
    out.descr_count = fields.descr_count
    return sample, sample.shape[1:]


cdef int extents_of(shape, int64_t *out, str what) except -1:
    """Unpacks a shape or strides; returns their number."""
    cdef int count = 0
    items = tuple(shape) if hasattr(type(shape), "__iter__") else (shape,)
    if len(items) > CAI_MAX_NDIM:
        raise UseError(f"{what}: {len(items)} dimensions are more than {CAI_MAX_NDIM}")
    for item in items:
        if not hasattr(type(item), "__index__"):
            raise TypeError(f"{what} is {shown(shape)}, where integers are required")
        number = operator.index(item)
        if not -(1 << 63) <= number < 1 << 63:
            failure = ViewIndexError if what == "index" else UseError
            raise failure(f"{what}: {number.bit_length()} bits are out of range")
        out[count] = number
        count += 1
    return count


cdef object array_in(cai_memory *memory, typestr, shape, strides, offset):
    cdef int64_t extents[64]
    cdef int64_t steps[64]
    cdef uint64_t start
    cdef cai_array like
    cdef cai_array *out = NULL
    cdef cai_error error
    cdef cai_status status
    kept, more = type_of(typestr, &like)
    like.ndim = extents_of(joined(shape, more), extents, "shape")
    like.shape = extents
    unsigned_of(offset, "offset", &start)
    if strides is not None:
        like.strides = steps
        if extents_of(strides, steps, "strides") != like.ndim:
            raise UseError(f"strides: {like.ndim} are needed, one for each extent")
    with nogil:
        status = cai_memory_array_like(memory, start, &like, 0, &out, &error)
    succeed(status, &error)
    return held_array(out)


cdef object joined(shape, tuple more):
    if not more:
        return shape
    return (*shape, *more) if hasattr(type(shape), "__iter__") else (shape, *more)


cdef object held_array(cai_array *out):
    try:
        return Array.from_ptr(<uint64_t>out)
    except BaseException:
        with nogil:
            cai_array_release(out)
        raise


cdef object made(shape, cai_array *like, cai_device device, kind, Stream on, manager):
    """Makes an array of the type of `like`, with a shape."""
    cdef int64_t extents[64]
    cdef int32_t i
    like.ndim = extents_of(shape, extents, "shape")
    like.shape = extents
    for i in range(like.ndim):
        if extents[i] < 0:
            raise UseError(f"shape: extent {extents[i]} is negative")
    return made_like(like, device, kind, on, manager)


cdef object made_like(const cai_array *like, cai_device device, kind, Stream on, manager):
    cdef cai_request request
    cdef cai_array *out = NULL
    cdef cai_error error
    cdef cai_status status
    memset(&request, 0, sizeof(request))
    request.struct_size = sizeof(request)
    request.kind = kind_of(kind)
    request.stream = handle_of(on)
    request.manager = manager_handle(manager)
    with nogil:
        status = cai_array_empty_like(like, device, &request, &out, &error)
    succeed(status, &error)
    return held_array(out)


cdef const cai_array *array_handle(array) except NULL:
    return <const cai_array *><uint64_t>array.ptr


cdef object taken_for(array, stream):
    """The array of an object for work; an exporter of tensors is asked to order the stream of the
    work."""
    cdef cai_stream_info info
    if isinstance(stream, Stream):
        (<Stream>stream).describe(&info)
        if info.device.type == CAI_DEVICE_CPU:
            stream = None
    return taken(array, _CURRENT if stream is None else stream)


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
    """Makes an array with uninitialised elements.

    Parameters
    ----------
    shape : int or sequence
        Extents, in elements.
    typestr : str or numpy.dtype
        The type of an element, as in a dict; or an argument for ``numpy.dtype`` that is not text,
        such as a structured type, ``[("a", "<f4"), ("b", "<i2")]``. A sub-array adds its extents to
        the shape, as in NumPy.
    device : Device or str, optional
        Default: the stream's device, or the manager's, or the CPU.
    kind : str
        The kind of the memory, see `Memory`. Not ``'cuda_array'``.
    stream : Stream or object, optional
        The stream on which the memory is allocated, and in whose order it is freed. Default: the
        thread's current stream of the device.
    manager : MemoryManager, optional
        Default: the device's manager.

    Returns
    -------
    Array
        In C order. On the CPU it has ``__array_interface__``, on a GPU
        ``__cuda_array_interface__``.

    Raises
    ------
    MemoryError, UseError, CudaError
        As `Memory`.
    InterfaceError
        For fields that a descr cannot express, such as Python objects.
    """
    cdef cai_array like
    cdef cai_device native
    kept, more = type_of(typestr, &like)
    place(device, stream, manager, "cpu", &native)
    return made(joined(shape, more), &like, native, kind, stream_of(stream, &native), manager)


def empty_like(array, *, device=None, kind=None, stream=None, manager=None):
    """Makes an array with uninitialised elements, of the shape and type of another one, also with
    fields (``descr``) and a mask, which is uninitialised, too.

    Parameters
    ----------
    array : object
        What `asarray` takes. Its elements are not read.
    device : Device or str, optional
        Default: the stream's device, or the manager's, or the array's.
    kind : str, optional
        The kind of the memory, see `Memory`. Default: on the array's device the array's kind, if
        that is pinned or managed; else ``'default'``.
    stream, manager : optional
        As for `empty`.

    Returns
    -------
    Array
        In C order. If the array's mask broadcasts, so does the new one.

    Raises
    ------
    MemoryError, UseError, CudaError
        As `empty`; `CudaError` also for a mask in pitched memory, which cannot hold one.
    """
    cdef cai_device native
    source = asarray(array)
    if device is None and type(stream) is not Stream and manager is None:
        device = source.device
        if kind is None:
            kind = KINDS_ALIKE.get(int(device[0]))
    place(device, stream, manager, "cpu", &native)
    return made_like(array_handle(source), native, "default" if kind is None else kind,
                     stream_of(stream, &native), manager)


def empty_of(tuple shape, uint64_t like, int32_t device_type, int32_t device_id):
    """The same for cai/python.h: a ``cai_array *`` of the type, and the device of another array."""
    cdef cai_device native
    native.type = CAI_DEVICE_CPU if device_type == CAI_DEVICE_CUDA_HOST else device_type
    native.id = max(device_id, 0)
    if device_type == CAI_DEVICE_CUDA_MANAGED:
        native.type = CAI_DEVICE_CUDA
    return made(shape, <cai_array *>like, native, KINDS_ALIKE.get(device_type, "default"),
                None, None)


def zeros(shape, typestr="<f8", *, device=None, kind="default", stream=None, manager=None):
    """Makes an array of zeros; otherwise as `empty`."""
    array = empty(shape, typestr, device=device, kind=kind, stream=stream, manager=manager)
    return filled(array, bytes(array.itemsize), stream)


def full(shape, value, typestr="<f8", *, device=None, kind="default", stream=None, manager=None):
    """Makes an array filled with a value; otherwise as `empty` and `fill`."""
    array = empty(shape, typestr, device=device, kind=kind, stream=stream, manager=manager)
    return filled(array, _scalars.pack(value, array), stream)


def fill(array, value, *, stream=None):
    """Sets all elements of an array, in order with its other uses, and returns it. A mask does not
    change.

    Parameters
    ----------
    array : object
        What `asarray` takes; not read-only.
    value : object
        A number, or a value that NumPy converts to one element of the array's type. For bfloat16
        and float8 types a real number, which ml_dtypes rounds: a number that is too large becomes
        an infinity or a NaN. Without ml_dtypes these types are void, and take bytes of an element's
        size.
    stream : Stream or object, optional
        A stream of the array's device; default: the thread's current stream.

    Raises
    ------
    UseError
        For a value that does not fit, and for a read-only array.
    TypeError, ValueError
        For a value that is not of the array's type.
    """
    native = taken_for(array, stream)
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
    """Copies an array's elements, between any two devices, in order with other uses of both arrays.

    Parameters
    ----------
    array : object
        What `asarray` takes, of any strides.
    to : object, optional
        The destination: of the same shape and type (names of fields may differ, and bytes without
        fields may be any), not read-only, not overlapping. Default: a new `Array` on the same
        device, as `to` makes one. A mask is copied, too, to a mask of the same type, which `to`
        must then have. If only `to` has a mask, it is set to true.
    stream : Stream or object, optional
        A stream of the device of either array. Default: the thread's current stream of `to`'s
        device, or of `array`'s if `to` is on the host.

    Returns
    -------
    object
        `to`, or the new array.

    Raises
    ------
    UseError
        If the two arrays do not match, or a mask would be lost.
    """
    cdef cai_device device
    cdef Stream on
    source = taken_for(array, stream)
    if to is None:
        return transferred(source, source.device, KINDS_ALIKE.get(int(source.device[0]), "default"),
                           stream)
    target = taken_for(to, stream)
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
    """Copies an array to a device: always to new, writable memory, in C order. Type, byte order,
    and fields (``descr``) are the same. A mask is copied to a mask of the same type and shape, in
    the same memory; if it broadcasts, so does the new one.

    Parameters
    ----------
    array : object
        What `asarray` takes.
    device : Device or str
        The destination device.
    kind : str
        The kind of the new memory.
    stream : Stream or object, optional
        As for `copy`.

    Returns
    -------
    Array

    Raises
    ------
    MemoryError, UseError, CudaError
        As `empty`; `CudaError` also for a mask in pitched memory, which cannot hold one.
    """
    return transferred(taken_for(array, stream), device, kind, stream)


cdef object transferred(source, device, kind, stream):
    cdef cai_device native, there
    cdef Stream on, here = None
    device_of(device, &native)
    device_under(source, &there)
    on = stream_of(stream, &there if native.type == CAI_DEVICE_CPU else &native)
    if on is not None and on.device == device_object(native):
        here = on
    target = made_like(array_handle(source), native, kind, here, None)
    copied(source, target, on)
    return target


def eval(array):
    """Waits for the current stream of an array's device, and for all pending work on the array. The
    GIL is released. Returns the array."""
    cdef cai_device device
    native = asarray(array)
    if array_handle(native).device_type != CAI_DEVICE_ROCM:
        device_under(native, &device)
        current_stream(device).synchronize()
    native.synchronize()
    return array


def item(array, index):
    """Returns one element as a Python value, once pending work on the array is complete."""
    cdef int64_t indices[64]
    cdef const cai_array *native
    cdef bytes data
    cdef char *out
    cdef cai_error error
    cdef cai_status status
    cdef int count
    array = asarray(array)
    native = array_handle(array)
    if native.mask != NULL:
        raise UseError("mask: the array has one, and the element may be invalid")
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
