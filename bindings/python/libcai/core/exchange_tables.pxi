# SPDX-License-Identifier: BSD-3-Clause
# A part of _core. Needs array, buffer, dlpack, export, extensions, order, reading.
#
# Arrays from the tables of functions that types offer: no dict, and no attribute of the object.

cdef extern from "_exchange.h":
    ctypedef struct cai_py_tables:
        const cai_exchange_api *cai
        const DLPackExchangeAPI *dlpack
        bint is_torch
    bint cai_py_is_torch(PyTypeObject *)
    const char *CAI_EXCHANGE_CAPSULE
    int cai_py_exchange_open() except -1
    int cai_py_tables_of(PyTypeObject *, cai_py_tables *) except -1
    bint cai_py_describes(const cai_exchange_api *)
    bint cai_py_hands_out(const cai_exchange_api *)
    bint cai_py_gives_arrays(const cai_exchange_api *)
    bint cai_py_orders(const cai_exchange_api *)
    bint cai_py_wants_told(const cai_exchange_api *)
    int cai_py_describe(const cai_exchange_api *, PyObject *, cai_array *, int64_t *) except -1
    void cai_py_refuse_owner(cai_owner *)
    void cai_py_end_tensor(DLManagedTensorVersioned *)
    int cai_py_hand_out(const cai_exchange_api *, PyObject *, cai_array **) except -1
    int cai_py_order_of(const cai_exchange_api *, PyObject *, cai_exchange_order *) except -1
    cai_status cai_py_tell_used(cai_owner *, uint64_t, uint32_t, cai_error *) noexcept
    cai_py_block *cai_py_block_copy(const cai_array *)
    bint cai_py_gives_tensors(const DLPackExchangeAPI *)
    int cai_py_take_tensor(
        const DLPackExchangeAPI *, PyObject *, DLManagedTensorVersioned **) except -1
    int cai_py_working(const DLPackExchangeAPI *, PyObject *, int32_t, int32_t, uint64_t *) except -1

cdef enum:
    DIMS = 128  # 2 * CAI_MAX_NDIM


cdef int look_for_lazy(tensor, bint may_be_conj) except -1:
    """refuse_lazy(), without its call for nearly all tensors: a table exports even lazy ones."""
    if tensor.requires_grad or tensor.is_neg() or (may_be_conj and tensor.is_conj()):
        refuse_lazy(tensor)
    return 0


cdef Array by_table(obj, int *route):
    """The array of an object whose type has a table, or None. `route` in: the forced route, or 0;
    out: the route taken."""
    cdef cai_py_tables tables
    cdef cai_array *array
    cdef Array made
    cai_py_tables_of(Py_TYPE(<PyObject *>obj), &tables)
    if tables.is_torch:
        look_for_lazy(obj, True)
    if route[0] != ROUTE_DLPACK_TABLE and cai_py_gives_arrays(tables.cai):
        route[0] = ROUTE_EXCHANGE
        array = by_exchange(obj, tables.cai)
        return wrap(array, array.owner)
    if route[0] == ROUTE_EXCHANGE or not cai_py_gives_tensors(tables.dlpack):
        return None
    route[0] = ROUTE_DLPACK_TABLE
    made = by_dlpack_table(obj, &tables)
    if cai_py_wants_told(tables.cai):
        tell_uses(made.owner)
    else:
        find_by_address(made, 0)
    return made


cdef cai_array *by_exchange(obj, const cai_exchange_api *api) except NULL:
    """The array of an object whose type has libcai's table, with a new reference."""
    cdef cai_py_block *block
    if cai_py_hands_out(api):
        return hand_out(obj, api)
    block = described(obj, api)
    if cai_py_wants_told(api):
        tell_uses(&block.owner)
    else:
        block.owner.flags |= CAI_OWNER_IMPORTED
    return &block.array


cdef void tell_uses(cai_owner *owner) noexcept:
    """Reports uses to the exporter, which waits for them itself: its stream is not made to wait."""
    owner.used_on = cai_py_tell_used
    owner.flags |= CAI_OWNER_RECLAIMS


cdef cai_py_block *described(obj, const cai_exchange_api *api) except NULL:
    cdef int64_t dims[DIMS]
    cdef cai_array array
    cdef cai_array *inner = NULL
    cdef cai_error error
    cdef cai_py_block *block
    cai_py_describe(api, <PyObject *>obj, &array, dims)
    array.owner = NULL
    if array.mask != NULL or array.descr != NULL:
        if cai_array_own(&array, NULL, NULL, &inner, &error) != CAI_OK:
            raise_error(&error, NULL)
        return block_around(inner, obj)
    block = block_owning(&array, obj)
    if array.stream_kind == CAI_STREAM_UNSTATED:
        try:
            say_provided(block, &block.array, obj)
        except BaseException:
            cai_py_release_here(&block.owner)
            raise
    return block


cdef int hold(cai_py_block *block, obj) except -1:
    Py_XINCREF(<PyObject *>obj)
    block.exporter = <PyObject *>obj
    if cai_py_is_per_thread(&block.array) or cai_py_is_per_thread(block.array.mask):
        block.owner.thread = cai_py_this_thread()
    return 0


cdef Array around(cai_array *made, exporter):
    """Wraps an owned array that libcai made, and takes it over; `exporter` is kept alive, too. So
    it is released only with the GIL, and the collector sees it."""
    cdef cai_py_block *block = block_around(made, exporter)
    return wrap(&block.array, &block.owner)


cdef cai_py_block *block_around(cai_array *made, exporter) except NULL:
    cdef cai_py_block *block = cai_py_block_new(sizeof(cai_array) if made.mask != NULL else 0)
    cdef cai_array *mask
    if block == NULL:
        with nogil:
            cai_array_release(made)
        raise MemoryError()
    block.array = made[0]
    block.inner = made
    if made.mask != NULL:
        mask = <cai_array *>cai_py_block_storage(block)
        mask[0] = made.mask[0]
        block.array.mask = mask
    cai_py_block_adopt(block)
    hold(block, exporter)
    return block


cdef cai_array *hand_out(obj, const cai_exchange_api *api) except NULL:
    cdef cai_array *array = NULL
    cdef cai_error error
    cai_py_hand_out(api, <PyObject *>obj, &array)
    if cai_array_validate(array, &error) != CAI_OK:
        cai_py_refuse_owner(array.owner)
        raise_error(&error, NULL)
    return array


# ---- The table that libcai.Array offers to others

cdef int say_order(Array self, uint64_t *stream, uint32_t *kind) except -1:
    """The stream for a consumer without access to the owner: it comes after kept uses, too."""
    cdef Array said
    must_be_there(self)
    if cai_py_is_elsewhere(self.array):
        raise BufferError(
            "stream: the array comes with stream 2 of another thread, which on this thread is another "
            "stream: call publish_event() there")
    stream[0] = self.array.stream
    kind[0] = self.array.stream_kind
    if self.array.data == 0 or not cai_py_may_be_used(self.array):
        return 0
    if self.array.device_type == CAI_DEVICE_CPU:
        return wait_for_work(self)
    if self.array.stream_kind in (CAI_STREAM_STREAM, CAI_STREAM_UNSTATED):
        return say_again(self)
    said = self.said = published(self, 1, ())
    stream[0] = said.array.stream
    kind[0] = said.array.stream_kind
    return 0


cdef int32_t describe_array(void *obj, cai_array *out, int64_t *dims) except -1:
    cdef Array self = <Array>obj
    cdef uint64_t stream
    cdef uint32_t kind
    say_order(self, &stream, &kind)
    out[0] = self.array[0]
    out.owner = NULL
    out.stream = stream
    out.stream_kind = kind
    return 0


cdef int32_t order_of_array(void *obj, cai_exchange_order *out) except -1:
    cdef Array self = <Array>obj
    cdef uint64_t stream
    cdef uint32_t kind
    say_order(self, &stream, &kind)
    out.stream = stream
    out.stream_kind = kind
    out.flags = self.array.flags & CAI_FLAG_READONLY
    return 0


cdef int32_t use_array(void *obj, uint64_t stream, uint32_t access) except -1:
    keep_on(<Array>obj, stream, access)
    return 0


cdef int32_t own_array(void *obj, cai_array **out) except -1:
    return own_object(<Array>obj, 0, out)


cdef int32_t wrap_array(cai_array *array, void **out) except -1:
    made = Array.from_ptr(<uint64_t>array)
    Py_INCREF(made)
    out[0] = <void *>made
    return 0


cdef cai_exchange_api array_api
array_api.struct_size = sizeof(cai_exchange_api)
array_api.abi_major = CAI_ABI_MAJOR
array_api.abi_minor = CAI_ABI_MINOR
array_api.describe = (
    <int32_t (*)(void *, cai_array *, int64_t *) noexcept nogil><void *>describe_array)
array_api.order = (
    <int32_t (*)(void *, cai_exchange_order *) noexcept nogil><void *>order_of_array)
array_api.used = (
    <int32_t (*)(void *, uint64_t, uint32_t) noexcept nogil><void *>use_array)
array_api.own = (
    <int32_t (*)(void *, cai_array **) noexcept nogil><void *>own_array)
array_api.wrap = (
    <int32_t (*)(cai_array *, void **) noexcept nogil><void *>wrap_array)
