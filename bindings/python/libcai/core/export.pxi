# SPDX-License-Identifier: BSD-3-Clause
# A part of _core. Needs array, loans, order, views.
#
# Export: from a cai_array to the values of a dict.

cdef enum:
    EXPORT_WORDS = 96  # on the stack; enough for some ten dimensions

# Copied and filled in, so that the dict need not grow.
cdef dict CUDA_TEMPLATE = dict.fromkeys(
    ["shape", "typestr", "data", "version", "strides", "stream"])
cdef dict HOST_TEMPLATE = dict.fromkeys(["shape", "typestr", "data", "version", "strides"])
CUDA_TEMPLATE["version"] = HOST_TEMPLATE["version"] = CAI_INTERFACE_VERSION


cdef struct Written:
    cai_interface interface
    uint64_t *storage
    uint64_t small[EXPORT_WORDS]


cdef int write(const cai_array *array, Written *written,
               uint32_t version=CAI_INTERFACE_VERSION) except -1:
    """Writes all but the mask, which is exported as an Array of its own, with its own stream."""
    cdef cai_error error
    cdef cai_status status
    cdef cai_array elements
    cdef uint64_t size
    if array.mask != NULL:
        elements = array[0]
        elements.mask = NULL
        elements.flags &= ~<uint32_t>CAI_FLAG_MASKED
        array = &elements
    size = cai_interface_write_storage(array)
    written.storage = written.small
    written.interface.struct_size = sizeof(written.interface)
    if size > sizeof(written.small):
        written.storage = <uint64_t *>malloc(size)
        if written.storage == NULL:
            raise MemoryError()
    with nogil:  # it may wait for work on the host, which may need the GIL
        status = cai_interface_write(array, version, written.storage, size,
                                     &written.interface, &error)
    if status != CAI_OK:
        close_written(written)
        raise_error(&error, NULL)
    return 0


cdef void close_written(Written *written) noexcept:
    if written.storage != written.small:
        free(written.storage)


cdef object value_of(const cai_value *value):
    """The Python object for a value that libcai wrote."""
    cdef uint32_t i
    cdef tuple items
    if value.form == CAI_FORM_INT:
        if value.range == CAI_RANGE_UINT64:
            return value.integer
        return <int64_t>value.integer
    if value.form == CAI_FORM_TUPLE:
        items = PyTuple_New(value.length)
        for i in range(value.length):
            item = value_of(&value.items[i])
            Py_INCREF(item)
            PyTuple_SET_ITEM(items, i, <PyObject *>item)
        return items
    if value.form == CAI_FORM_BOOL:
        return value.integer != 0
    if value.form == CAI_FORM_TEXT:
        return value.text[:value.length].decode("utf-8")
    if value.form == CAI_FORM_LIST:
        return [value_of(&value.items[i]) for i in range(value.length)]
    return None


cdef dict host_dict(Array self):
    """The dict for the host: it waits for work on the array."""
    cdef Source source
    if self.failure is not None:
        failure, self.failure = self.failure, None
        raise failure
    if self.array.mask != NULL:
        raise BufferError(
            "mask: NumPy ignores it, whatever its dict says: pass the mask as an array "
            "of its own, and the elements by a dict without it")
    if self.array.device_type == CAI_DEVICE_CPU:
        return cpu_dict(self)
    open_source(&source, self)
    source.array.data = address_for_host(self)
    wait_for_work(self)
    source.array.device_type = CAI_DEVICE_CPU
    source.array.device_id = 0
    source.array.stream_kind = CAI_STREAM_NONE
    source.array.stream = 0
    source.array.owner = source.mask.owner = NULL
    return fresh_dict(self, &source.array)


cdef dict cpu_dict(Array self):
    if lender_of(self) != 0:
        address_for_host(self)
    if cai_py_may_be_used(self.array):
        wait_for_work(self)
    return plain_dict(self)


cdef uint64_t address_for_host(Array self) except? 0:
    """Raises StateError for memory that was freed."""
    cdef uint64_t address = 0
    cdef cai_error error
    cdef cai_status status
    with nogil:  # this may call the driver
        status = cai_array_host(self.array, &address, &error)
    if status != CAI_OK:
        raise_error(&error, NULL)
    return address


cdef dict lent_dict(Array self, bint masked):
    """A dict for the host. The memory counts as lent as long as the array lives, since NumPy holds
    only the array."""
    cdef dict answer
    lend_memory(self)
    try:
        answer = cpu_dict(self) if masked else host_dict(self)
    except BaseException:
        take_memory_back(self)
        raise
    if self.is_lent:
        take_memory_back(self)
    self.is_lent = True
    return answer


cdef int must_be_there(Array self) except -1:
    if cai_py_is_freed(self.array):
        raise StateError(
            f"data: the memory at {self.array.data:#x} was freed already, or its device reset")
    return 0


cdef dict export_dict(Array self):
    must_be_there(self)
    if relaxed_reasons and not _relaxed.export_stream():
        return dict_without_stream(self)
    if self.array.stream_kind == CAI_STREAM_EVENT:
        raise BufferError(
            "stream: the array comes with an event, which a dict cannot say: publish() it on a "
            "stream, and export what that returns")
    if cai_py_is_elsewhere(self.array):
        raise BufferError(
            "stream: the array comes with stream 2 of another thread, which means another stream "
            "here: call publish_event() there, publish() that on a stream, and export the result")
    if self.array.data != 0 and cai_py_may_be_used(self.array):
        return dict_after_uses(self)
    return plain_dict(self)


cdef dict plain_dict(Array self):
    cdef dict answer
    if self.exported is not None:
        return PyDict_Copy(self.exported)
    answer = fresh_dict(self, self.array)
    if (self.array.mask == NULL and answer.get("descr") is None  # whose list would be shared
            and self.array.stream_kind != CAI_STREAM_UNSTATED):  # for which a provider is asked
        self.exported = answer
        return PyDict_Copy(answer)
    return answer


cdef dict dict_after_uses(Array self):
    """The dict; its stream must come after the uses that only the owner knows."""
    # Held here, too: another thread may export it meanwhile, and replace what is kept.
    cdef Array said = self.said
    if self.array.stream_kind == CAI_STREAM_NONE:
        if said is None:
            said = self.said = published(self, 1, ())
        return fresh_dict(self, said.array)
    if self.exported is not None:  # else it is written now
        say_again(self)
    return plain_dict(self)


cdef dict dict_without_stream(Array self):
    cdef Source source
    open_source(&source, self)
    source.array.stream_kind = CAI_STREAM_NONE
    source.array.stream = 0
    # An owner may have kept uses, and libcai would require a stream.
    source.array.owner = source.mask.owner = NULL
    return fresh_dict(self, &source.array)


cdef dict dict_of_version(Array self, version):
    """The dict of any array, also of a masked array on the host."""
    if version not in (2, 3):
        raise UseError(f"version: expected 2 or 3, got {shown(version)}")
    if version == 2:
        return dict_of_version_2(self)
    if self.array.device_type != CAI_DEVICE_CPU:
        return export_dict(self)
    return lent_dict(self, True)


cdef dict dict_of_version_2(Array self):
    """The dict of version 2, which has no stream: it waits for pending work."""
    cdef Source source
    if self.array.device_type == CAI_DEVICE_CPU:
        raise UseError("version: expected 3, which is all that NumPy's dict has, got 2")
    must_be_there(self)
    wait_for_work(self)
    open_source(&source, self)
    source.array.stream_kind = source.mask.stream_kind = CAI_STREAM_NONE
    source.array.stream = source.mask.stream = 0
    source.array.owner = source.mask.owner = NULL
    return fresh_dict(self, &source.array, 2)


cdef dict fresh_dict(Array self, const cai_array *array, uint32_t version=CAI_INTERFACE_VERSION):
    """The dict of `array`, which is self's, or a view that differs in the stream."""
    cdef Written written
    cdef cai_interface *out = &written.interface
    cdef dict answer
    write(array, &written, version)
    try:
        if out.protocol == CAI_PROTOCOL_CUDA:
            answer = PyDict_Copy(CUDA_TEMPLATE)
            if version == 2:
                answer["version"] = 2
                del answer["stream"]
            elif out.stream.form == CAI_FORM_INT:
                PyDict_SetItem(answer, key_of[CAI_ENTRY_STREAM], out.stream.integer)
        else:
            answer = PyDict_Copy(HOST_TEMPLATE)
        PyDict_SetItem(answer, key_of[CAI_ENTRY_SHAPE], value_of(&out.shape))
        PyDict_SetItem(answer, key_of[CAI_ENTRY_TYPESTR], value_of(&out.typestr))
        PyDict_SetItem(answer, key_of[CAI_ENTRY_DATA], value_of(&out.data))
        if out.protocol == CAI_PROTOCOL_HOST and self.array.data == 0:
            # NumPy before 2.3 takes address 0 for a missing interface, even for an empty array.
            PyDict_SetItem(answer, key_of[CAI_ENTRY_DATA],
                           (<uint64_t>&cai_py_no_array, out.data.items[1].integer != 0))
        if out.strides.form == CAI_FORM_TUPLE:
            PyDict_SetItem(answer, key_of[CAI_ENTRY_STRIDES], value_of(&out.strides))
        if out.descr.form == CAI_FORM_LIST:
            PyDict_SetItem(answer, key_of[CAI_ENTRY_DESCR], value_of(&out.descr))
        if self.array.mask != NULL:
            PyDict_SetItem(answer, key_of[CAI_ENTRY_MASK], self.mask)
        return answer
    finally:
        close_written(&written)


cdef str typestr_of(const cai_dtype *dtype):
    cdef char text[32]
    cdef cai_error error
    if cai_dtype_format(dtype, text, &error) != CAI_OK:
        raise_error(&error, NULL)
    return text[:strlen(text)].decode("ascii")


cdef list descr_of(Array self):
    cdef Written written
    cdef cai_array array
    if self.array.descr == NULL:
        return [("", typestr_of(&self.array.dtype))]
    array = self.array[0]
    array.stream_kind = CAI_STREAM_NONE  # an event cannot be written, and is not asked about
    array.stream = 0
    array.device_type = CAI_DEVICE_CPU
    write(&array, &written)
    try:
        return value_of(&written.interface.descr)
    finally:
        close_written(&written)
