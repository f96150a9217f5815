# SPDX-License-Identifier: BSD-3-Clause
# A part of _core. Needs array, dlpack, export, views.
#
# The producer's side of order, relaxations of it, and publishing on another stream.

cdef enum:
    ASKED_IN_PASSING = 8  # suspects, see _owner.h

cdef int relaxed_reasons = 0  # while it is 0, the driver need not be asked

cdef dict ACCESSES = {
    None: CAI_ACCESS_DEFAULT, "read": CAI_ACCESS_READ, "write": CAI_ACCESS_WRITE}


# Exceptions of callbacks until they are raised again, by the numbers in the texts passed to C.
raised = {}


def raised_as(message):
    """The exception of a callback, if the C error reports it; else None. Makes nothing that the
    garbage collector counts: a finalizer that runs here may drop the exception."""
    start = message.find(_MARK)
    end = message.find(_MARK_END, start)
    if start < 0 or end < 0:
        return None
    digits = message[start + len(_MARK):end]
    return raised.pop(int(digits), None) if digits.isdecimal() else None


def count_relaxed(int reasons):
    global relaxed_reasons
    relaxed_reasons = reasons


cdef object order_error(const cai_error *error):
    message = text_of(error.message)
    failure = raised_as(message)
    if failure is not None:
        return failure
    return from_order(error.status, error.native, message, text_of(cai_entry_name(error.entry)))


cdef uint32_t access_of(access, int index=-1) except? 99:
    """The CAI_ACCESS_* of a word; `index` is its place among several."""
    if access is None or isinstance(access, str):
        value = ACCESSES.get(access if access is None else str.__str__(access))
        if value is not None:
            return value
    name = "access" if index < 0 else f"access[{index}]"
    raise UseError(f"{name}: expected 'read' or 'write', got {shown(access)}")


cdef bint resolved(stream, uint64_t *number, advice=None) except -1:
    """Fills in the integer of a stream; False for -1, no order at all."""
    cdef uint64_t small
    if (PyLong_CheckExact(<PyObject *>stream) and cai_py_small_int(<PyObject *>stream, &small)
            and <int64_t>small > 0):
        number[0] = small
        return True
    answer = resolve(stream) if advice is None else resolve(stream, advice)
    if answer == _NO_ORDER:
        return False
    number[0] = answer
    return True


cdef uint64_t number_of(stream) except 0:
    cdef uint64_t number
    if not resolved(stream, &number, ""):
        raise InterfaceError(
            "stream -1 means no order, and is no stream to work on", "stream", stream)
    return number


cdef int keep_stream(cai_owner *owner, stream) except -1:
    """Keeps a stream object alive as long as the memory: libcai may query its handle."""
    cdef cai_py_block *block = cai_py_block_of(cai_py_keeper(owner))
    if type(stream) is int:
        return 0
    return keep_in(block if block != NULL else cai_py_block_of(owner), stream)


cdef int keep_in(cai_py_block *block, stream) except -1:
    if block.streams == NULL:
        streams = {}
        Py_INCREF(streams)
        block.streams = <PyObject *>streams
    (<dict>block.streams)[id(stream)] = stream
    return 0


cdef cai_py_block *published_block(Array self) noexcept:
    """The block of the published array that `self` is, or is a view of; NULL if none."""
    cdef cai_py_block *block = cai_py_block_of(self.owner)
    while block != NULL and block.held != NULL and block.owner.uses != NULL:
        if block.held.uses != block.owner.uses:
            return block
        block = cai_py_block_of(block.held)
    return NULL


cdef cai_owner *open_unpublished(Source *source, Array self) except NULL:
    """Prepares the array for libcai to publish; returns the owner that the view will hold."""
    cdef cai_py_block *block = published_block(self)
    if self.array.device_type == CAI_DEVICE_CPU:
        raise UseError("an array on the host has no stream")
    open_source(source, self)
    if block == NULL:
        return source.array.owner
    # A view that was published itself need not stay: libcai recognises it by its owner.
    source.array.owner = source.mask.owner = block.inner.owner
    return block.held


cdef Array published(Array self, stream, tuple others):
    cdef Source source
    cdef Array answer
    cdef cai_owner *held
    cdef cai_array *made = NULL
    cdef uint64_t target = number_of(stream)
    cdef int32_t count = <int32_t>len(others)
    cdef uint64_t *values = <uint64_t *>PyMem_Malloc(max(len(others), 1) * sizeof(uint64_t))
    cdef cai_error error
    cdef cai_status status
    cdef int32_t i
    if values == NULL:
        raise MemoryError()
    try:
        for i in range(count):
            values[i] = number_of(others[i])
        held = open_unpublished(&source, self)
        with nogil:
            status = cai_array_publish(&source.array, values, count, target, &made, &error)
    finally:
        PyMem_Free(values)
    answer = published_view(status, made, held, &error)
    if type(stream) is not int:
        keep_in(cai_py_block_of(answer.owner), stream)
    return answer


cdef Array published_event(Array self, stream):
    cdef Source source
    cdef cai_owner *held
    cdef cai_array *made = NULL
    cdef uint64_t number = number_of(stream)
    cdef cai_error error
    cdef cai_status status
    held = open_unpublished(&source, self)
    with nogil:
        status = cai_array_publish_event(&source.array, number, &made, &error)
        if status == CAI_ERR_ARGUMENT and number <= PER_THREAD_STREAM:
            status = publish_event_on_device(&source.array, number, &made, &error)
    return published_view(status, made, held, &error)


cdef cai_status publish_event_on_device(const cai_array *array, uint64_t stream, cai_array **out,
                                        cai_error *error) noexcept nogil:
    """The same for a default stream without a current context: it is of the array's device."""
    cdef cai_device_guard guard
    cdef cai_status status = enter_device_of(array, &guard, error)
    if status != CAI_OK:
        return status
    status = cai_array_publish_event(array, stream, out, error)
    cai_device_leave(&guard, NULL)
    return status


cdef cai_status enter_device_of(const cai_array *array, cai_device_guard *guard,
                                cai_error *error) noexcept nogil:
    cdef cai_device device
    device.type = CAI_DEVICE_CUDA
    device.id = max(array.device_id, 0)
    return cai_device_enter(device, guard, error)


cdef Array published_view(cai_status status, cai_array *made, cai_owner *held, cai_error *error):
    cdef Array answer
    if status != CAI_OK:
        raise order_error(error)
    answer = wrapped_view(made, held)
    cai_py_ask_suspects(ASKED_IN_PASSING, False)
    return answer


cdef int say_again(Array self) except -1:
    """Makes the stream that a dict names wait for the uses that the owner has kept."""
    cdef Written written
    write(self.array, &written)
    close_written(&written)
    return 0


cdef int reclaimed(Array self, uint64_t stream, uint32_t access) except -1:
    cdef cai_error error
    cdef cai_status status
    with nogil:
        status = cai_array_reclaim(self.array, stream, access, &error)
    if status != CAI_OK:
        raise order_error(&error)
    return 0


cdef int keep_on(Array self, uint64_t stream, uint32_t access) except -1:
    cdef cai_owner *keeper = cai_py_keeper(self.owner)
    cdef cai_error error
    cdef cai_status status
    if self.array.flags & CAI_FLAG_READONLY:
        if access == CAI_ACCESS_WRITE:
            raise InterfaceError(
                "data: expected memory that may be written, for access 'write', got an array that is "
                "marked read-only: copy it, or ask for access 'read'", "data",
                status=CAI_ERR_VALUE)
        access = CAI_ACCESS_READ
    elif access == CAI_ACCESS_DEFAULT:
        access = CAI_ACCESS_WRITE
    if self.array.device_type == CAI_DEVICE_CPU or self.array.data == 0:
        return 0
    if keeper == NULL or keeper.used_on == NULL:
        raise from_status(CAI_ERR_ORDER, 0, "the array's owner keeps no uses")
    with nogil:
        status = cai_py_keep_use(keeper, stream, access, &error)
    if status == CAI_ERR_CAPTURE:
        return given_to_graph(self, stream)
    if status != CAI_OK:
        raise order_error(&error)
    return 0


cdef int given_to_graph(Array self, uint64_t stream) except -1:
    """Gives the graph that `stream` is being captured into a reference of its own."""
    cdef cai_error error
    cdef cai_status status
    self.owner.retain(self.owner)
    with nogil:
        status = cai_array_release_on(self.array, stream, &error)
    if status != CAI_OK:
        cai_py_release_here(self.owner)
        raise order_error(&error)
    return 0


cdef int wait_for_work(Array self) except -1:
    cdef cai_error error
    cdef cai_status status
    with nogil:
        status = cai_array_sync_host(self.array, &error)
    if status != CAI_OK:
        raise order_error(&error)
    return 0


def drain(wait=False):
    """Ends released arrays whose uses were pending at the release, and are complete now.

    Other functions of libcai also do so, for a few arrays at a time. Call this before a context
    ends, or if a program needs its memory back now.

    Parameters
    ----------
    wait : bool
        Block until those uses are complete, with the GIL released, and also uses that keep the
        garbage collector from freeing arrays: the next collection may then free them. Do this
        before a context in which arrays were used is destroyed or reset.

    Returns
    -------
    int
        The number of arrays that uses, or a capture of this thread, still hold; 0 if there is no
        driver. References that CPU streams hold do not count: wait for those streams by their own
        functions.

    Raises
    ------
    CudaError
        If the driver fails.

    Notes
    -----
    Only the current context and the active primary contexts are asked. While this thread's current
    stream is being captured, nothing ends, since exporters may free memory, which must not be
    captured.
    """
    cdef int32_t waits = 1 if wait else 0
    cdef int64_t left = 0, alone
    cdef cai_error error
    cdef cai_status status
    cai_py_drain(0)
    while True:
        with nogil:
            status = cai_drain(waits, &left, &error)
        if status != CAI_OK:
            raise order_error(&error)
        alone = cai_py_ask_suspects(INT64_MAX, waits)
        if not cai_py_drain(0):  # else the ended ones may have released others
            return left + alone + cai_py_queued()


def defer_releases(most=4096, /):
    """Sets how many released objects may wait for the GIL, in the whole process.

    The last reference to an array may be released on a thread without the GIL. The object that
    exported the array is then queued, and that thread does not wait. The main thread drops the
    object as soon as it runs Python again, or the next call of libcai does, such as `drain`. A
    thread that finds the queue full waits for the GIL, and empties the queue: that takes
    milliseconds while other threads run Python, and deadlocks if the thread that has the GIL waits
    for this thread.

    Parameters
    ----------
    most : int
        The limit. 0: eager, nothing is queued.

    Raises
    ------
    TypeError
        If `most` is no integer.
    UseError
        If `most` is negative, or 2**63 or more.
    """
    number = PyNumber_Index(most)
    if not 0 <= number <= INT64_MAX:
        raise UseError(f"most is {shown(number)}, and not from 0 to 2**63 - 1")
    cai_py_set_most(number)
