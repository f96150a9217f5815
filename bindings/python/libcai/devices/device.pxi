# SPDX-License-Identifier: BSD-3-Clause
# A part of _devices. Needs python_manager.
#
# The implementation of libcai.Device. Devices are passed as in Python: texts, Devices, pairs.

cdef int device_of(given, cai_device *out) except -1:
    """Unpacks a device. Pinned and managed memory of a GPU counts as the GPU's."""
    cdef cai_error error
    cdef cai_status status
    cdef bytes text
    cdef tuple pair
    cdef const char *data
    if isinstance(given, str):
        text = text_for_c(given, "device")
        data = text
        with nogil:
            status = cai_device_parse(data, out, &error)
        return succeed(status, &error)
    pair = tuple(given) if isinstance(given, tuple) else ()
    if len(pair) != 2:
        raise TypeError(
            f"a device is a libcai.Device, or a text such as 'cpu' and 'gpu:0', not {shown(given)}")
    kind, ordinal = pair
    kind = integer_of(kind, "a device's type")
    if kind in (CAI_DEVICE_CUDA_HOST, CAI_DEVICE_CUDA_MANAGED):
        kind = CAI_DEVICE_CUDA
    if ordinal is None:
        return current_of(kind, out)
    ordinal = integer_of(ordinal, "a device's id")
    if not (0 <= kind <= INT32_MAX and 0 <= ordinal <= INT32_MAX):
        raise UseError(f"{shown((kind, ordinal))} is no device")
    out.type = kind
    out.id = ordinal
    return 0


cdef int32_t type_of_device(kind) except -1:
    """The number of a device's type, which C may not know."""
    number = integer_of(kind, "a device's type")
    if not 0 <= number <= INT32_MAX:
        raise UseError(f"a device's type is {shown(number)}, and not from 0 to 2**31 - 1")
    return number


cdef int current_of(kind, cai_device *out) except -1:
    cdef int32_t type_ = type_of_device(kind)
    cdef cai_error error
    cdef cai_status status
    with nogil:
        status = cai_device_current(type_, out, &error)
    return succeed(status, &error)


cdef object device_object(cai_device device):
    return Device(device.type, device.id)


def parse(text):
    cdef cai_device device
    device_of(text, &device)
    return device.type, device.id


def format(device):
    """The text of cai_device_format(), "cpu" and "gpu:1"; other kinds by name."""
    kind, ordinal = device
    if kind == CAI_DEVICE_CPU and ordinal == 0:
        return "cpu"
    name = "gpu" if kind == CAI_DEVICE_CUDA else getattr(kind, "name", str(int(kind))).lower()
    return name if ordinal is None else f"{name}:{ordinal}"


def count(kind):
    cdef int32_t type_ = type_of_device(kind)
    cdef int32_t out = 0
    cdef cai_error error
    cdef cai_status status
    with nogil:
        status = cai_device_count(type_, &out, &error)
    succeed(status, &error)
    return out


def current(kind):
    cdef cai_device out
    current_of(kind, &out)
    return out.type, out.id


def most_free(kind):
    cdef int32_t type_ = type_of_device(kind)
    cdef cai_device out
    cdef cai_error error
    cdef cai_status status
    with nogil:
        status = cai_device_most_free(type_, &out, &error)
    succeed(status, &error)
    return out.type, out.id


def find_device(uuid):
    cdef bytes data
    cdef const uint8_t *identity
    cdef cai_device out
    cdef cai_error error
    cdef cai_status status
    try:
        data = bytes(memoryview(uuid))  # of an integer, bytes() would make as many zeros
    except TypeError:
        raise TypeError(
            f"uuid is {shown(uuid)}, and neither a uuid.UUID nor its 16 bytes") from None
    if len(data) != 16:
        raise UseError(f"a UUID has 16 bytes, not {len(data)}")
    identity = <const uint8_t *><const char *>data
    with nogil:
        status = cai_device_find(identity, &out, &error)
    succeed(status, &error)
    return out.type, out.id


def set_current(device):
    cdef cai_device native
    cdef cai_error error
    cdef cai_status status
    device_of(device, &native)
    with nogil:
        status = cai_device_set_current(native, &error)
    succeed(status, &error)


def describe(device):
    cdef cai_device native
    cdef cai_device_info info
    cdef cai_error error
    cdef cai_status status
    device_of(device, &native)
    memset(&info, 0, sizeof(info))
    info.struct_size = sizeof(info)
    with nogil:
        status = cai_device_describe(native, &info, &error)
    succeed(status, &error)
    return {
        "name": text_of(info.name),
        "uuid": PyBytes_FromStringAndSize(<char *>info.uuid, sizeof(info.uuid)),
        "pci": (info.pci_domain, info.pci_bus, info.pci_slot),
        "maps_host": info.flags & CAI_DEVICE_MAPS_HOST != 0,
        "managed_memory": info.flags & CAI_DEVICE_MANAGED_MEMORY != 0,
        "concurrent_managed": info.flags & CAI_DEVICE_CONCURRENT_MANAGED != 0,
        "pools": info.flags & CAI_DEVICE_POOLS != 0,
        "pools_by_descriptor": info.flags & CAI_DEVICE_POOLS_BY_DESCRIPTOR != 0,
        "integrated": info.flags & CAI_DEVICE_INTEGRATED != 0,
    }


def summary(device):
    cdef cai_device native
    cdef uint64_t length = 0
    cdef char *text = NULL
    cdef cai_error error
    cdef cai_status status
    device_of(device, &native)
    with nogil:
        status = cai_device_summary(native, NULL, 0, &length, &error)
    succeed(status, &error)
    text = <char *>PyMem_Malloc(length + 1)
    if text == NULL:
        raise MemoryError()
    try:
        with nogil:
            status = cai_device_summary(native, text, length + 1, NULL, &error)
        succeed(status, &error)
        return text_of(text)
    finally:
        PyMem_Free(text)


def memory_of(device):
    cdef cai_device native
    cdef uint64_t left = 0, total = 0
    cdef cai_error error
    cdef cai_status status
    device_of(device, &native)
    with nogil:
        status = cai_device_memory(native, &left, &total, &error)
    succeed(status, &error)
    return left, total


def can_access(device, peer):
    cdef cai_device native, other
    cdef int32_t yes = 0
    cdef cai_error error
    cdef cai_status status
    device_of(device, &native)
    device_of(peer, &other)
    with nogil:
        status = cai_device_can_access(native, other, &yes, &error)
    succeed(status, &error)
    return yes != 0


def synchronize(device):
    cdef cai_device native
    cdef cai_error error
    cdef cai_status status
    device_of(device, &native)
    with nogil:
        status = cai_device_synchronize(native, &error)
    succeed(status, &error)


def set_cache(device, size):
    cdef cai_device native
    cdef uint64_t limit
    cdef cai_error error
    cdef cai_status status
    device_of(device, &native)
    unsigned_of(size, "size", &limit)
    with nogil:
        status = cai_device_set_cache(native, limit, &error)
    succeed(status, &error)


def trim_cache(device, keep):
    cdef cai_device native
    cdef uint64_t limit
    cdef cai_error error
    cdef cai_status status
    device_of(device, &native)
    unsigned_of(keep, "keep", &limit)
    with nogil:
        status = cai_device_trim_cache(native, limit, &error)
    succeed(status, &error)


# ---- Guards ----------------------------------------------------------------------------------
# A Device is a value, and a Stream may be entered twice, so `with` keeps what it has entered on a
# stack of the thread.

cdef list entered_here(str kind):
    stack = getattr(entered, kind, None)
    if stack is None:
        stack = []
        setattr(entered, kind, stack)
    return stack


@cython.final
@cython.internal
cdef class DeviceGuard:
    cdef cai_device_guard guard


def enter_device(device):
    cdef DeviceGuard self = DeviceGuard.__new__(DeviceGuard)
    cdef cai_device native
    cdef cai_error error
    cdef cai_status status
    device_of(device, &native)
    with nogil:
        status = cai_device_enter(native, &self.guard, &error)
    succeed(status, &error)
    entered_here("devices").append((self, device))


def leave_device(device, exception):
    """Leaves a device. The block's exception is kept, with a note if leaving fails, too."""
    cdef list stack = entered_here("devices")
    cdef DeviceGuard self
    cdef cai_error error
    cdef cai_status status
    if not stack or stack[-1][1] != device:
        raise StateError(f"{device} is not the device that this thread entered last")
    self = stack[-1][0]
    with nogil:
        status = cai_device_leave(&self.guard, &error)
    if self.guard.thread == 0:
        stack.pop()
    try:
        succeed(status, &error)
    except BaseException as failure:
        if exception is None:
            raise
        add_note(exception, f"libcai: and {device} was not left: {failure}")


# ---- Reset -----------------------------------------------------------------------------------
# C has a number for each callback. One that is removed during a reset is just not found.

cdef dict reset_numbers = {}    # by function
cdef dict reset_functions = {}  # by number
cdef uint64_t reset_last = 0


cdef void reset_callback(void *context, cai_device device) noexcept nogil:
    cdef PyGILState_STATE state
    if cai_py_enter(&state):
        reset_callback_here(<uint64_t>context, device)
        cai_py_leave(state)


cdef void reset_callback_here(uint64_t number, cai_device device) noexcept with gil:
    function = reset_functions.get(number)
    failures = getattr(entered, "reset_failures", None)
    if function is None:
        return
    try:
        function(device_object(device))
    except BaseException as failure:
        if failures is not None:
            failures.append(failure)
        else:  # called for a reset by C code
            complain(failure, function)


def on_reset(function):
    global reset_last
    cdef cai_error error
    cdef cai_status status
    if not callable(function):
        raise TypeError(f"function is {shown(function)}, which cannot be called")
    if function in reset_numbers:
        return
    reset_last += 1
    number = reset_last
    status = cai_device_on_reset(reset_callback, <void *><uint64_t>number, &error)
    succeed(status, &error)
    reset_numbers[function] = number
    reset_functions[number] = function


def off_reset(function):
    cdef cai_error error
    number = reset_numbers.pop(function, None)
    if number is not None:
        del reset_functions[number]
        succeed(cai_device_off_reset(reset_callback, <void *><uint64_t>number, &error), &error)


def reset(device, context):
    cdef cai_device native
    cdef uint32_t flags = CAI_RESET_CONTEXT if context else 0
    cdef cai_error error
    cdef cai_status status
    device_of(device, &native)
    before = getattr(entered, "reset_failures", None)
    destroys = context and native.type == CAI_DEVICE_CUDA
    if destroys:
        begin_reset(native.id)
    entered.reset_failures = failures = []
    try:
        with freeing, nogil:
            status = cai_device_reset(native, flags, &error)
    finally:
        entered.reset_failures = before
        if destroys:
            end_reset(native.id)
    succeed(status, &error)
    if destroys:
        forget_blocks(device_object(native))
        installed.pop(device_object(native), None)
    if failures:
        for other in failures[1:]:
            add_note(failures[0], f"libcai: and another callback of the reset raised {other!r}")
        raise failures[0]
