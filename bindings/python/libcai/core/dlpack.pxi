# SPDX-License-Identifier: BSD-3-Clause
# A part of _core. Needs array, buffer, exchange_tables, order, reading.
#
# DLPack, both ways: by capsules, and by the table of functions.

cdef extern from "cai/dlpack.h":
    uint64_t DLPACK_FLAG_BITMASK_IS_COPIED
    uint32_t DLPACK_MAJOR_VERSION
    uint32_t DLPACK_MINOR_VERSION

cdef extern from "Python.h":
    object PyCapsule_New(void *, const char *, void (*)(PyObject *) noexcept)
    bint PyCapsule_CheckExact(object)
    bint PyCapsule_IsValid(PyObject *, const char *)
    void *PyCapsule_GetPointer(PyObject *, const char *) except? NULL
    int PyCapsule_SetName(PyObject *, const char *) except -1

cdef extern from *:
    """
    /* Ends a tensor that was not taken out of its capsule. */ static void
    cai_py_end_versioned(PyObject *capsule) {
      if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
        cai_py_end_tensor(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    }
    static void cai_py_end_legacy(PyObject *capsule) {
      DLManagedTensor *tensor;
      PyThreadState *state;
      if (!PyCapsule_IsValid(capsule, "dltensor")) return;
      tensor = (DLManagedTensor *)PyCapsule_GetPointer(capsule, "dltensor");
      state = cai_py_let_go_gil((int32_t)tensor->dl_tensor.device.device_type);
      if (tensor->deleter) tensor->deleter(tensor);
      cai_py_take_gil(state);
    }
    """
    void cai_py_end_versioned(PyObject *) noexcept
    void cai_py_end_legacy(PyObject *) noexcept

cdef uint64_t NO_STREAM = <uint64_t>-1
cdef uint64_t LEGACY_STREAM = 1
cdef uint64_t PER_THREAD_STREAM = 2
cdef dict ARGUMENTS = {"max_version": (DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION)}
_CURRENT = object()  # stands for libcai's current stream of a device that is not known yet
cdef tuple CUDA_DEVICES = (CAI_DEVICE_CUDA, CAI_DEVICE_CUDA_HOST, CAI_DEVICE_CUDA_MANAGED)
cdef object DLPACK_NAME = sys.intern("__dlpack__")
cdef object DLPACK_DEVICE_NAME = sys.intern("__dlpack_device__")


# ---- Export

cdef tuple dlpack_device(Array self):
    """``(type, id)`` in DLPack's numbers, which are cai's; the host's have id 0."""
    cdef int32_t kind = self.array.device_type
    if kind != CAI_DEVICE_CUDA:
        return kind, 0
    if self.array.device_id >= 0 or self.array.data == 0:
        return kind, max(self.array.device_id, 0)
    return kind, self.locate().device[1]


cdef uint64_t consumers_stream(int device_type, stream) except? 0:
    """The consumer's stream as cai_dlpack_write() takes it; of the tensor's device."""
    cdef uint64_t number
    if device_type == CAI_DEVICE_CPU:
        if stream is not None and (type(stream) is not int or stream != -1):
            raise BufferError(
                f"stream is {shown(stream)}, and must be None or -1: the array is on the host")
        return NO_STREAM
    if stream is None:
        return 1
    return number if resolved(stream, &number) else NO_STREAM


cdef cai_status make_ready(const cai_array *array, uint64_t stream, cai_error *error) noexcept nogil:
    """Makes a consumer's stream wait for pending work. Unlike publishing, the stream is not
    remembered: it may be destroyed as soon as the consumer has the tensor."""
    cdef cai_use use
    cdef cai_use_options options
    cdef cai_status status
    if stream == NO_STREAM and array.device_type != CAI_DEVICE_CPU:
        return CAI_OK
    memset(&options, 0, sizeof(options))
    options.struct_size = 12  # up to `flags`, which are not known here
    options.order = CAI_ORDER_BEGIN
    if not array.flags & CAI_FLAG_READONLY:
        options.access = CAI_ACCESS_WRITE
    status = cai_use_begin(&use, &array, 1, 1 if stream == NO_STREAM else stream, &options, error)
    cai_use_finish(&use, 0, NULL)
    return status


cdef cai_status make_ready_on_device(const cai_array *array, uint64_t stream,
                                     cai_error *error) noexcept nogil:
    """The same for a default stream where no context is current: it is of the array's device."""
    cdef cai_device_guard guard
    cdef cai_status status = enter_device_of(array, &guard, error)
    if status != CAI_OK:
        return status
    status = make_ready(array, stream, error)
    cai_device_leave(&guard, NULL)
    return status


cdef int check_copy(copy) except -1:
    if copy is not None and type(copy) is not bool:
        raise TypeError(f"copy is {shown(copy)}, and neither True, False nor None")
    return 0


cdef object tensor_of(Array self, stream, max_version, dl_device, copy):
    cdef uint64_t on
    cdef bint copied = False
    cdef bint versioned = (
        max_version is not None
        and pair_of(max_version, "max_version")[0] >= DLPACK_MAJOR_VERSION)
    cdef DLManagedTensorVersioned *tensor = NULL
    cdef DLManagedTensor *legacy = NULL
    cdef cai_error error
    cdef cai_status status
    check_copy(copy)
    if dl_device is not None or copy:
        here = dlpack_device(self)
        there = here if dl_device is None else pair_of(dl_device, "dl_device")
        copied = copy or there != here
        if not INT32_MIN <= there[0] <= INT32_MAX:
            raise BufferError(f"dl_device: libcai cannot copy to device {shown(there)}")
    if copied:
        if copy is not None and not copy:
            raise BufferError(
                f"dl_device: the array is on {here}, and to be on {there} it would have to be "
                "copied, which copy=False forbids")
        on = consumers_stream(there[0], stream)
        self = copied_to(self, here, there)
    elif stream is None and is_on_host(self):
        wait_for_work(self)  # a consumer without a stream may be the host, which reads at once
        on = NO_STREAM
    else:
        on = consumers_stream(self.array.device_type, stream)
    with nogil:
        status = make_ready(self.array, on, &error)
        if status == CAI_ERR_ARGUMENT and on <= PER_THREAD_STREAM:
            status = make_ready_on_device(self.array, on, &error)
        if status == CAI_OK and versioned:
            status = cai_dlpack_write(self.array, NO_STREAM, &tensor, &error)
        elif status == CAI_OK:
            status = cai_dlpack_write_legacy(self.array, NO_STREAM, &legacy, &error)
    if status != CAI_OK:
        raise order_error(&error)
    if not versioned:
        return PyCapsule_New(legacy, b"dltensor", cai_py_end_legacy)
    if copied:
        tensor.flags |= DLPACK_FLAG_BITMASK_IS_COPIED
    return PyCapsule_New(tensor, b"dltensor_versioned", cai_py_end_versioned)


cdef tuple pair_of(given, str what):
    try:
        first, second = given
        return PyNumber_Index(first), PyNumber_Index(second)
    except (TypeError, ValueError):
        raise TypeError(f"{what} is {shown(given)}, and not a tuple of two integers") from None


cdef Array copied_to(Array self, tuple here, tuple there):
    """A copy that is complete in the order of its own stream; on the host, complete."""
    if there == (CAI_DEVICE_CPU, 0):
        return devices().to(self, "cpu").eval()
    if there[0] == CAI_DEVICE_CUDA and 0 <= there[1] < Device.count():
        return devices().to(self, f"gpu:{there[1]}")
    if there == here:
        return devices().copy(self)
    raise BufferError(f"dl_device: libcai cannot copy to device {shown(there)}")


# ---- Import

def from_dlpack(obj, /, *, device=None, copy=None, stream=None):
    """Imports an array by DLPack: the array-API standard's function.

    Parameters
    ----------
    obj : object
        With ``__dlpack__`` and ``__dlpack_device__``; or a DLPack capsule, of either name, which is
        consumed unless the call fails.
    device : Device, str or tuple, optional
        The wanted device of the array: libcai's device, or DLPack's ``(type, id)``. The exporter
        copies if necessary.
    copy : bool, optional
        True: always copy. False: never copy, but fail. None: copy only if necessary. The exporter
        makes the copy, and libcai cannot check whether it did.
    stream : int or object, optional
        A stream as `use` takes it: the exporter makes it wait for its pending work, and it becomes
        the array's stream. Default: the exporter's own stream, if `provide_stream` has a function
        for it, or 1, the legacy stream. -1: no stream waits yet; the array's stream is then the
        exporter's own or, if it is not known, unstated. For a capsule, pass the stream that the
        capsule was requested for; otherwise it is unstated. If the stream is in a capture, the
        array is valid for that capture only; if not, it is not valid for a capture in which other
        code uses the exporter's memory.

    Returns
    -------
    Array
        Keeps the exporter's memory alive. Marked read-only if the exporter says so.

    Raises
    ------
    InterfaceTypeError
        For an object without ``__dlpack__`` (then it is an ``AttributeError``, too), and for
        another or a consumed capsule.
    ViewError, InterfaceError, VersionError
        For a tensor that libcai cannot express.
    CudaError
        For a tensor on a device that is neither the CPU nor CUDA.
    BufferError
        For a tensor on another device than `device`, since the exporter ignored it or the capsule
        is for another device; and for a capsule with a `copy` of True.
    TypeError
        For an invalid `device` or `copy`, and for an exporter that does not accept the argument.

    Notes
    -----
    The array-API standard, "Data interchange mechanisms".
    """
    cdef Array made
    cdef cai_array array
    cdef Py_buffer buffer
    cdef uint64_t number
    cai_py_drain(0)
    check_copy(copy)
    there = None if device is None else dlpack_device_of(device)
    if PyCapsule_CheckExact(obj):
        if copy:
            raise BufferError("copy: a capsule's tensor is there already, and is not copied")
        number = NO_STREAM if stream is None else stream_number(stream)
        return from_capsule(obj, number, number != NO_STREAM, there)
    # NumPy's arrays of numbers are recognised without a capsule.
    if device is None and copy is None and is_numpy(obj) and view_numpy(obj, &buffer, &array):
        try:
            if array.dtype.byteorder != c">":
                return import_of(&array, obj)
        finally:
            PyBuffer_Release(&buffer)
    if cai_py_is_torch(Py_TYPE(<PyObject *>obj)):
        refuse_lazy(obj)
    made = by_dlpack(obj, stream, stream is None, there, copy)
    if made is None:
        raise _NoDlpackError(
            f"interface: a {type_name(<PyObject *>obj)[1:-8]} object has no __dlpack__",
            "interface", obj)
    return made


cdef uint64_t stream_number(stream) except? 0:
    cdef uint64_t number
    return number if resolved(stream, &number) else NO_STREAM


cdef Array by_dlpack(obj, stream, bint own_first, tuple there, copy):
    """Imports by an object's own __dlpack__; None if it has none. The exporter is asked to order a
    stream: its own, if `own_first` and its framework names it; else `stream`, where None is the
    legacy stream, _CURRENT the current stream of its device, and -1 none. `there` is a device in
    DLPack's numbers, or None."""
    cdef dict arguments = PyDict_Copy(ARGUMENTS)
    cdef PyTypeObject *kind = Py_TYPE(<PyObject *>obj)
    cdef uint64_t number
    cdef bint is_own = False, is_on_cuda
    cdef Array made
    if (not cai_py_class_has(kind, <PyObject *>DLPACK_NAME)
            or not cai_py_class_has(kind, <PyObject *>DLPACK_DEVICE_NAME)):
        return None
    refuse_masked(obj)
    here = dlpack_device_said(obj)
    kind_of_device, device_id = here if there is None else there
    is_on_cuda = kind_of_device in CUDA_DEVICES
    if stream is None:
        number = LEGACY_STREAM if is_on_cuda else NO_STREAM
    elif stream is _CURRENT:
        number = current_on(device_id) if is_on_cuda else NO_STREAM
    else:
        number = stream_number(stream)
    if own_first and is_on_cuda and there is None and number != NO_STREAM:
        answer = provided(obj)
        if answer is not None:
            number, stream = answer
            is_own = True
    # The stream is one of the wanted device. The host has none: a copy to it is complete, unless the
    # caller names a stream, which is then passed on. An exporter on the host may accept no stream:
    # stream 1, which the standard has as its default, is not passed to it.
    if kind_of_device == CAI_DEVICE_CPU and (stream is None or here[0] == CAI_DEVICE_CPU):
        number = NO_STREAM
    elif here[0] != CAI_DEVICE_CPU or (stream is not None and number != NO_STREAM):
        arguments["stream"] = -1 if number == NO_STREAM else number
    if there is not None:
        arguments["dl_device"] = there
    if copy is not None:
        arguments["copy"] = copy
    try:
        capsule = obj.__dlpack__(**arguments)
    except TypeError:
        # Before DLPack 1.0 the stream was the only argument.
        if there is not None or copy is not None:
            raise
        del arguments["max_version"]
        capsule = obj.__dlpack__(**arguments)
    made = from_capsule(capsule, number, number != NO_STREAM and not is_own, there)
    if made.array.stream_kind == CAI_STREAM_STREAM:
        if stream is not None and stream is not _CURRENT:
            keep_stream(made.owner, stream)
    elif made.array.stream_kind == CAI_STREAM_UNSTATED:
        say_provided(cai_py_block_of(made.owner), made.array, obj)
    return made


cdef tuple dlpack_device_said(obj):
    """The type and id of the device that an object reports."""
    device = obj.__dlpack_device__()
    pair = PyList_AsTuple(device) if PyList_Check(<PyObject *>device) else device
    if PyTuple_Check(<PyObject *>pair) and PyTuple_GET_SIZE(<PyObject *>pair) == 2:
        kind = <object>PyTuple_GET_ITEM(<PyObject *>pair, 0)
        if PyIndex_Check(kind):  # an enum's member, too
            return PyNumber_Index(kind), <object>PyTuple_GET_ITEM(<PyObject *>pair, 1)
    raise InterfaceTypeError(
        f"data: __dlpack_device__() of a {type_name(<PyObject *>obj)[1:-8]} object returned "
        f"{describe(<PyObject *>device)}, and no pair of integers", "data", device)


cdef tuple dlpack_device_of(device):
    return pair_of(device if isinstance(device, tuple) else Device(device), "device")


cdef int must_be_on(const DLTensor *tensor, tuple there) except -1:
    """Checks the device, since some exporters accept every argument and ignore it. Host memory has
    no id."""
    here = <int>tensor.device.device_type, tensor.device.device_id
    if here[0] == there[0] and (here[0] != CAI_DEVICE_CUDA or here[1] == there[1]):
        return 0
    raise BufferError(f"device: the tensor is on {here}, where {there} was asked for")


cdef Array from_capsule(capsule, uint64_t stream, bint asked, tuple there):
    """Consumes a capsule on success, if its tensor is on the device `there`. `asked`: the stream is
    not the exporter's own."""
    cdef PyObject *object = <PyObject *>capsule
    cdef DLManagedTensorVersioned *tensor
    cdef DLManagedTensor *legacy
    cdef cai_array *array = NULL
    cdef Array made
    cdef cai_error error
    cdef cai_status status
    if PyCapsule_IsValid(object, b"dltensor_versioned"):
        tensor = <DLManagedTensorVersioned *>PyCapsule_GetPointer(object, b"dltensor_versioned")
        # Of another major version, which is refused, the device cannot be read.
        if there is not None and tensor.version.major == DLPACK_MAJOR_VERSION:
            must_be_on(&tensor.dl_tensor, there)
        status = cai_dlpack_own(tensor, stream, &array, &error)
    elif PyCapsule_IsValid(object, b"dltensor"):
        legacy = <DLManagedTensor *>PyCapsule_GetPointer(object, b"dltensor")
        if there is not None:
            must_be_on(&legacy.dl_tensor, there)
        status = cai_dlpack_own_legacy(legacy, stream, &array, &error)
    else:
        raise InterfaceTypeError(
            f"interface: {shown(capsule)} is no capsule of DLPack's, or was consumed before",
            "interface", capsule)
    if status != CAI_OK:
        raise_error(&error, NULL)
    if PyCapsule_IsValid(object, b"dltensor"):
        PyCapsule_SetName(object, b"used_dltensor")
    else:
        PyCapsule_SetName(object, b"used_dltensor_versioned")
    made = around(array, capsule)
    find_by_address(made, CAI_OWNER_ASKED if asked else 0)
    return made


cdef void find_by_address(Array made, uint32_t flags) noexcept:
    """Lets other imports of the memory find its uses; the uses keep the exported tensor alive."""
    made.owner.flags |= CAI_OWNER_IMPORTED | flags
    made.owner.freed_on = NO_STREAM


cdef Array by_dlpack_table(obj, const cai_py_tables *tables):
    """Imports by a type's DLPack table, and the order of libcai's table if the type has one."""
    cdef DLManagedTensorVersioned *tensor = NULL
    cdef cai_array *array = NULL
    cdef cai_exchange_order order
    cdef bint ordered = cai_py_orders(tables.cai)
    cdef cai_error error
    cdef Array made
    if ordered:
        cai_py_order_of(tables.cai, <PyObject *>obj, &order)
    cai_py_take_tensor(tables.dlpack, <PyObject *>obj, &tensor)
    if cai_dlpack_own(tensor, NO_STREAM, &array, &error) != CAI_OK:
        cai_py_end_tensor(tensor)
        raise_error(&error, NULL)
    made = around(array, obj)
    if ordered:
        made.array.flags |= order.flags & CAI_FLAG_READONLY
    if made.array.device_type == CAI_DEVICE_CPU:
        return made
    if ordered:
        made.array.stream_kind = order.stream_kind
        made.array.stream = order.stream
        if cai_array_validate(made.array, &error) != CAI_OK:
            raise_error(&error, NULL)
    else:
        say_working(tables.dlpack, obj, made.array)
    if made.array.stream_kind == CAI_STREAM_UNSTATED:
        say_provided(cai_py_block_of(made.owner), made.array, obj)
    if cai_py_is_per_thread(made.array):
        made.owner.thread = cai_py_this_thread()
    return made


cdef int say_working(const DLPackExchangeAPI *api, obj, cai_array *array) except -1:
    """The framework's current stream. NULL may be the default stream, or unknown."""
    cdef uint64_t stream = 0
    cai_py_working(api, <PyObject *>obj, array.device_type, max(array.device_id, 0), &stream)
    if stream != 0:
        array.stream_kind = CAI_STREAM_STREAM
        array.stream = stream
    return 0


# ---- The table that libcai.Array offers to others
#
# "no sync" means that a tensor is ready on the exporter's current stream, which is libcai's.

cdef uint64_t working_stream(const cai_array *array) except? 0:
    """The value of libcai's current stream of an array's device, if the array needs order."""
    if array.device_type == CAI_DEVICE_CPU:
        return NO_STREAM
    if (array.stream_kind == CAI_STREAM_NONE and array.owner != NULL
            and not cai_py_may_be_used(array)):
        return NO_STREAM
    return current_stream_value(array)


cdef uint64_t current_on(device_id) except? 0:
    cdef cai_array place
    place.device_id = PyNumber_Index(device_id)
    return current_stream_value(&place)


cdef uint64_t current_stream_value(const cai_array *array) except? 0:
    cdef cai_device device
    cdef cai_stream *stream = NULL
    cdef cai_error error
    cdef cai_status status
    cdef uint64_t value
    device.type = CAI_DEVICE_CUDA
    device.id = max(array.device_id, 0)
    with nogil:
        status = cai_stream_current(device, &stream, &error)
        value = cai_stream_value(stream) if status == CAI_OK else 0
        if status == CAI_OK:
            cai_stream_release(stream)
    if status != CAI_OK:
        raise order_error(&error)
    return value


cdef int tensor_from_array(void *obj, DLManagedTensorVersioned **out) except -1:
    cdef Array self = <Array>obj
    cdef cai_error error
    cdef cai_status status
    cdef uint64_t stream = working_stream(self.array)
    with nogil:
        status = make_ready(self.array, stream, &error)
        if status == CAI_OK:
            status = cai_dlpack_write(self.array, NO_STREAM, out, &error)
    if status != CAI_OK:
        raise order_error(&error)
    return 0


cdef int array_from_tensor(DLManagedTensorVersioned *tensor, void **out) except -1:
    cdef cai_array *array = NULL
    cdef cai_array place
    cdef cai_error error
    cdef uint64_t stream = 0
    # First the steps that can fail: a tensor that was taken cannot be returned.
    if tensor != NULL and tensor.dl_tensor.device.device_type != CAI_DEVICE_CPU:
        place.device_id = tensor.dl_tensor.device.device_id
        stream = current_stream_value(&place)
    if cai_dlpack_own(tensor, NO_STREAM, &array, &error) != CAI_OK:
        raise_error(&error, NULL)
    if array.device_type != CAI_DEVICE_CPU:
        array.stream = stream
        array.stream_kind = CAI_STREAM_STREAM
    made = around(array, None)
    Py_INCREF(made)
    out[0] = <void *>made
    return 0


cdef int borrow_tensor(void *obj, DLTensor *out) except -1:
    cdef Array self = <Array>obj
    cdef const cai_array *array = self.array
    cdef cai_error error
    cdef cai_status status
    cdef uint64_t stream = working_stream(array)
    if self.lent_strides == NULL and array.ndim > 0:
        self.lent_strides = <int64_t *>malloc(array.ndim * sizeof(int64_t))
        if self.lent_strides == NULL:
            raise MemoryError()
    with nogil:
        status = make_ready(array, stream, &error)
        if status == CAI_OK:
            status = cai_dlpack_lend(array, self.lent_strides, out, &error)
    if status != CAI_OK:
        raise order_error(&error)
    return 0


cdef int current_work_stream(int device_type, int32_t device_id, void **out) except -1:
    cdef cai_array array
    array.device_id = device_id
    out[0] = NULL if device_type == CAI_DEVICE_CPU else <void *>current_stream_value(&array)
    return 0


cdef int allocate_tensor(DLTensor *prototype, DLManagedTensorVersioned **out, void *context,
                         void (*set_error)(void *, const char *, const char *) noexcept nogil
                         ) noexcept nogil:
    """Of the device's memory manager; needs no GIL."""
    cdef cai_error error
    cdef cai_status status = allocate(prototype, out, &error)
    if status == CAI_OK:
        return 0
    if set_error != NULL:
        set_error(context, b"MemoryError" if status == CAI_ERR_MEMORY else b"RuntimeError",
                  error.message)
    return -1


cdef cai_status allocate(const DLTensor *prototype, DLManagedTensorVersioned **out,
                         cai_error *error) noexcept nogil:
    cdef DLTensor like = prototype[0]
    cdef int64_t strides[64]  # CAI_MAX_NDIM
    cdef cai_request request
    cdef cai_device device
    cdef cai_array array
    cdef cai_array *made = NULL
    cdef cai_status status
    like.data = <void *>256  # only its type and shape are read
    like.strides = NULL
    like.byte_offset = 0
    status = cai_dlpack_read(&like, NO_STREAM, strides, &array, error)
    if status != CAI_OK:
        return status
    memset(&request, 0, sizeof(request))
    request.struct_size = sizeof(request)
    request.kind = CAI_KIND_DEFAULT
    device.type = array.device_type
    device.id = max(array.device_id, 0)
    if array.device_type == CAI_DEVICE_CUDA_HOST:
        device.type = CAI_DEVICE_CPU
        request.kind = CAI_KIND_PINNED
    elif array.device_type == CAI_DEVICE_CUDA_MANAGED:
        device.type = CAI_DEVICE_CUDA
        request.kind = CAI_KIND_MANAGED
    status = cai_array_empty_like(&array, device, &request, &made, error)
    if status != CAI_OK:
        return status
    status = cai_dlpack_write(made, NO_STREAM, out, error)
    cai_array_release(made)
    return status


cdef DLPackExchangeAPI array_dlpack_api
array_dlpack_api.header.version.major = DLPACK_MAJOR_VERSION
array_dlpack_api.header.version.minor = DLPACK_MINOR_VERSION
array_dlpack_api.managed_tensor_allocator = (
    <DLPackManagedTensorAllocator><void *>allocate_tensor)
array_dlpack_api.managed_tensor_from_py_object_no_sync = (
    <DLPackManagedTensorFromPyObjectNoSync><void *>tensor_from_array)
array_dlpack_api.managed_tensor_to_py_object_no_sync = (
    <DLPackManagedTensorToPyObjectNoSync><void *>array_from_tensor)
array_dlpack_api.dltensor_from_py_object_no_sync = (
    <DLPackDLTensorFromPyObjectNoSync><void *>borrow_tensor)
array_dlpack_api.current_work_stream = (
    <DLPackCurrentWorkStream><void *>current_work_stream)
