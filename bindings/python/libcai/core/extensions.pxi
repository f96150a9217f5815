# SPDX-License-Identifier: BSD-3-Clause
# A part of _core. Needs array, buffer, dlpack, exchange_tables, order, reading.
#
# For other projects' modules in C: cai/python.h.

cdef extern from "_exchange.h":
    void cai_py_keep_dims(cai_array *, int64_t *)
    bint cai_py_lends(const cai_py_tables *)
    bint cai_py_wraps(const cai_exchange_api *)
    bint cai_py_allocates(const DLPackExchangeAPI *)
    int cai_py_borrow_tensor(const DLPackExchangeAPI *, PyObject *, DLTensor *) except -1
    object cai_py_wrap_like(const cai_exchange_api *, PyObject *, cai_array *)
    object cai_py_allocate_like(const DLPackExchangeAPI *, PyObject *, DLTensor *)
    void cai_py_let_go_of(cai_owner *)


cdef int open_argument(obj, uint32_t flags, cai_py_argument *out) except -1:
    cai_py_no_buffer(&out.buffer)
    out.held = NULL
    if type(obj) is Array:
        out.array = (<Array>obj).array
    elif is_borrowed(obj, flags, out):
        out.array = &out.described
    else:
        out.array = holder_of(obj, flags)
        if out.array == NULL:
            return 1
        out.held = out.array.owner
    if flags & CAI_PY_WRITES and out.array.flags & CAI_FLAG_READONLY:
        close_argument(out)
        raise_read_only()
    return 0


cdef int raise_read_only() except -1:
    raise InterfaceError(
        "data: the array is marked read-only, and would be written", "data", status=CAI_ERR_VALUE)


cdef bint is_borrowed(obj, uint32_t flags, cai_py_argument *out) except -1:
    """Describes the array of an object if no reference is needed meanwhile."""
    cdef cai_py_tables tables
    if is_numpy(obj) and view_numpy(obj, &out.buffer, &out.described):
        return see_numpy(out)
    cai_py_tables_of(Py_TYPE(<PyObject *>obj), &tables)
    if cai_py_wants_told(tables.cai):
        return False
    if cai_py_describes(tables.cai):
        return see_described(obj, tables.cai, out)
    return (not flags & CAI_PY_WRITES and cai_py_lends(&tables)
            and lend(obj, &tables, &out.described, out.dims))


cdef bint see_described(obj, const cai_exchange_api *api, cai_py_argument *out) except -1:
    """Describes the array by its type's table; False for an unstated stream, which its framework
    may know, and for fields and masks, which a copy must own."""
    cdef cai_error error
    cai_py_describe(api, <PyObject *>obj, &out.described, out.dims)
    out.described.owner = NULL
    if cai_array_validate(&out.described, &error) != CAI_OK:
        raise_error(&error, NULL)
    cai_py_keep_dims(&out.described, out.dims)
    return (out.described.stream_kind != CAI_STREAM_UNSTATED and out.described.mask == NULL
            and out.described.descr == NULL)


cdef bint see_numpy(cai_py_argument *out) except -1:
    cdef cai_error error
    if cai_array_validate(&out.described, &error) != CAI_OK:
        PyBuffer_Release(&out.buffer)
        raise_error(&error, NULL)
    return True


cdef bint lend(obj, const cai_py_tables *tables, cai_array *out, int64_t *dims) except -1:
    """Describes the tensor that DLPack's table lends; False if it cannot be used."""
    cdef cai_exchange_order order
    cdef DLTensor tensor
    cdef cai_error error
    cai_py_borrow_tensor(tables.dlpack, <PyObject *>obj, &tensor)
    if tables.is_torch:
        look_for_lazy(obj, tensor.dtype.code == kDLComplex)
    if cai_dlpack_read(&tensor, NO_STREAM, dims, out, &error) != CAI_OK:
        raise_error(&error, NULL)
    cai_py_keep_dims(out, dims)
    if out.device_type == CAI_DEVICE_CPU:
        return True
    if cai_py_orders(tables.cai):
        cai_py_order_of(tables.cai, <PyObject *>obj, &order)
        out.stream_kind = order.stream_kind
        out.stream = order.stream
        if cai_array_validate(out, &error) != CAI_OK:
            raise_error(&error, NULL)
    else:
        say_working(tables.dlpack, obj, out)
    return out.stream_kind != CAI_STREAM_UNSTATED  # its framework may have a provider


cdef void close_argument(cai_py_argument *argument) noexcept:
    cdef cai_owner *held = <cai_owner *>argument.held
    argument.held = NULL
    argument.array = NULL
    if held != NULL:
        cai_py_let_go_of(held)
    elif cai_py_has_buffer(&argument.buffer):
        PyBuffer_Release(&argument.buffer)


cdef cai_array *holder_of(obj, uint32_t flags) except? NULL:
    """A new reference to the array of an object; NULL if CAI_PY_TRY is set and it has no array."""
    cdef cai_py_tables tables
    cdef Array made
    if type(obj) is Array:
        made = obj
    else:
        cai_py_tables_of(Py_TYPE(<PyObject *>obj), &tables)
        if cai_py_gives_arrays(tables.cai):
            cai_py_drain(0)
            return by_exchange(obj, tables.cai)
        try:
            made = read_object(obj, False, ROUTE_NONE, None)
        except InterfaceTypeError as error:
            if flags & CAI_PY_TRY and error.value is obj:
                return NULL
            raise
    if made.owner == NULL:
        raise ViewError("the array has gone: the garbage collector has cleared it")
    made.owner.retain(made.owner)
    return made.array


cdef int own_object(obj, uint32_t flags, cai_array **out) except -1:
    cdef cai_array *array = holder_of(obj, flags)
    if array == NULL:
        return 1
    if flags & CAI_PY_WRITES and array.flags & CAI_FLAG_READONLY:
        cai_py_let_go_of(array.owner)
        raise_read_only()
    out[0] = array
    return 0


cdef object wrap_owned(cai_array *array):
    return Array.from_ptr(<uint64_t>array)


cdef object empty_like(like, int32_t ndim, const int64_t *shape, const cai_dtype *dtype):
    cdef cai_py_argument argument
    cdef cai_py_tables tables
    cdef cai_array wanted
    if ndim < 0 or ndim > DIMS // 2:
        raise InterfaceError(f"shape has {ndim} dimensions; 0 to 64 are allowed", "shape", ndim)
    open_argument(like, 0, &argument)
    try:
        memset(&wanted, 0, sizeof(wanted))
        wanted.abi_major = CAI_ABI_MAJOR
        if dtype == NULL:
            wanted.dtype = argument.array.dtype
            wanted.descr = argument.array.descr
            wanted.descr_count = argument.array.descr_count
        else:
            wanted.dtype = dtype[0]
        cai_py_tables_of(Py_TYPE(<PyObject *>like), &tables)
        if type(like) is not Array and cai_py_allocates(tables.dlpack):
            return allocated_like(like, tables.dlpack, argument.array, ndim, shape, &wanted)
        made = devices().empty_of(tuple_of(shape, ndim), <uint64_t>&wanted,
                                  argument.array.device_type, argument.array.device_id)
        if type(like) is not Array and cai_py_wraps(tables.cai):
            return wrapped_like(like, tables.cai, made)
        return made
    finally:
        close_argument(&argument)


cdef object wrapped_like(like, const cai_exchange_api *api, Array made):
    made.owner.retain(made.owner)  # the object's, or released
    return cai_py_wrap_like(api, <PyObject *>like, made.array)


cdef object allocated_like(like, const DLPackExchangeAPI *api, const cai_array *array, int32_t ndim,
                           const int64_t *shape, const cai_array *wanted):
    cdef DLManagedTensorVersioned *sample = NULL
    cdef DLTensor prototype
    # A tensor of the type's array has DLPack's name for the type.
    empty = devices().empty_of((0,), <uint64_t>wanted, CAI_DEVICE_CPU, 0)
    tensor_from_array(<void *>empty, &sample)
    memset(&prototype, 0, sizeof(prototype))
    prototype.dtype = sample.dl_tensor.dtype
    sample.deleter(sample)
    prototype.device.device_type = <DLDeviceType>array.device_type
    prototype.device.device_id = max(array.device_id, 0)
    prototype.ndim = ndim
    prototype.shape = <int64_t *>shape
    return cai_py_allocate_like(api, <PyObject *>like, &prototype)


cdef int read_stream(obj, uint64_t *out) except -1:
    out[0] = stream_number(obj)
    return 0


cdef int current_stream_of(const cai_array *array, uint64_t *out) except -1:
    if array == NULL:
        raise UseError("the array is NULL")
    out[0] = 1 if array.device_type == CAI_DEVICE_CPU else current_stream_value(array)
    return 0


cdef int begin_use(cai_use *use, const cai_array *const *arrays, int32_t count, uint64_t stream,
                   const cai_use_options *options) except -1:
    cdef cai_error error
    cdef cai_status status
    if stream == NO_STREAM:
        memset(use, 0, sizeof(cai_use))
        return 0
    with nogil:
        status = cai_use_begin(use, arrays, count, stream, options, &error)
    if status != CAI_OK:
        raise order_error(&error)
    return 0


cdef int end_use(cai_use *use) except -1:
    cdef cai_error error
    cdef cai_status status
    with nogil:
        status = cai_use_end(use, &error)
    cai_py_drain(0)
    if status != CAI_OK:
        raise order_error(&error)
    return 0


cdef int finish_use(cai_use *use, int32_t wait) except -1:
    # Nothing is drained here: that could affect the exception that is set.
    cdef cai_error error
    cdef cai_status status
    with nogil:
        status = cai_use_finish(use, wait, &error)
    if status != CAI_OK:
        raise order_error(&error)
    return 0


cdef void abandon_use(cai_use *use) noexcept:
    with nogil:
        cai_use_abandon(use)


cdef int raise_of(const cai_error *error) except -1:
    raise_error(error, NULL)


cdef cai_py_api extension_api
extension_api.struct_size = sizeof(cai_py_api)
extension_api.abi_major = CAI_ABI_MAJOR
extension_api.abi_minor = CAI_ABI_MINOR
extension_api.open = open_argument
extension_api.close = close_argument
extension_api.own = own_object
extension_api.wrap = wrap_owned
extension_api.empty_like = empty_like
extension_api.stream = read_stream
extension_api.current_stream = current_stream_of
extension_api.begin = begin_use
extension_api.end = end_use
extension_api.finish = finish_use
extension_api.abandon = abandon_use
extension_api.raise_ = raise_of

_C_API = PyCapsule_New(&extension_api, b"libcai._core._C_API", NULL)
