# SPDX-License-Identifier: BSD-3-Clause
# libcai.use: the work of a `with` block, ordered with the producers' streams and other uses.

cdef dict ORDERS = {
    "both": CAI_ORDER_BOTH, "begin": CAI_ORDER_BEGIN, "end": CAI_ORDER_END,
    "none": CAI_ORDER_NONE, "host": CAI_ORDER_HOST}


def use(*objects, stream, access=None, order="both", external=False, fork=False):
    """Uses arrays on a stream, in order with their producers.

    ``with libcai.use(x, y, stream=s) as (a, b):`` makes `s` wait for what the producers have
    pending before the block, and their streams wait for `s` after it. The host never waits. Within
    the block, queue work on `s` only. What no stream of theirs can wait for, the arrays' owners
    keep: later uses wait for it, and the memory stays until it is complete.

    Parameters
    ----------
    *objects : object
        What `asarray` takes.
    stream : int or object
        1 is the legacy default stream, 2 the per-thread one, else a ``CUstream``; or an object with
        ``__cuda_stream__()``, ``.handle``, ``.ptr`` or ``.cuda_stream``, whose 0 means 1.
        -1 means no order at all. The object lives as long as the context manager.
    access : str, optional
        ``'read'`` waits for other uses' writes only; ``'write'`` reads, writes or both. Without it,
        a write, or a read of what is marked read-only.
    order : str
        ``'both'``; ``'begin'`` or ``'end'`` alone; ``'none'``; or ``'host'``: the host waits, for
        the producers on entry and for `stream` on exit, with the GIL released.
    external : bool
        Where `stream` is being captured into a graph and a producer, which is not, has work
        pending: the graph waits, at each launch, for what was pending on entry. Else that is
        refused.
    fork : bool
        Where a producer's stream is being captured and `stream` is not: `stream` joins the capture
        on entry, and is joined back on exit. Else that is refused.

    Returns
    -------
    context manager
        Gives a tuple of `Array`, also for one object.

    Raises
    ------
    InterfaceError, InterfaceTypeError
        For a stream that is none (None and 0 are ambiguous), for a write to an array that is
        marked read-only, and as `asarray`.
    UseError
        For an unknown word; on entry, for a default stream if no context is current, and for a
        variable of the environment that has none of its values.
    CudaError
        On entry or exit, if the driver refuses. If the way back fails, the host waits for `stream`
        (unless it is being captured), then the error is raised; if the block raised too, its own
        exception goes on, with a note.

    Notes
    -----
    The text, "Synchronization".
    """
    cdef Use self = Use.__new__(Use)
    self.given = stream
    if not resolved(stream, &self.stream):
        self.options.order = CAI_ORDER_NONE
    self.take(objects, stream)
    if access is not None:
        self.options.access = access_of(access)
    if order != "both":
        self.set_order(order)
    if relaxed_reasons and self.options.order != CAI_ORDER_HOST and not _relaxed.sync():
        self.options.order = CAI_ORDER_NONE
    if external:
        self.options.flags |= CAI_USE_EXTERNAL
    if fork:
        self.options.flags |= CAI_USE_FORK
    return self


@cython.final
cdef class Use:
    """The context manager that `use` returns."""

    cdef tuple arrays
    cdef object given              # the stream object: it lives as long as its handle is in use
    cdef const cai_array **items
    cdef int32_t count
    cdef uint64_t stream
    cdef cai_use_options options
    cdef bint active

    def __cinit__(self):
        self.options.struct_size = sizeof(cai_use_options)
        self.options.order = CAI_ORDER_BOTH
        self.stream = 1

    def __init__(self):
        raise TypeError("this context manager is made by libcai.use()")

    def __dealloc__(self):
        PyMem_Free(self.items)

    cdef int take(self, tuple objects, stream) except -1:
        cdef Py_ssize_t i
        self.arrays = arrays_of(objects, stream)
        self.items = <const cai_array **>PyMem_Malloc(
            max(len(self.arrays), 1) * sizeof(cai_array *))
        if self.items == NULL:
            raise MemoryError()
        self.count = <int32_t>len(self.arrays)
        for i in range(self.count):
            self.items[i] = (<Array>self.arrays[i]).array
        return 0

    cdef int set_order(self, order) except -1:
        value = ORDERS.get(order) if isinstance(order, str) else None
        if value is None:
            raise UseError(
                f"order is {order!r}, and none of 'both', 'begin', 'end', 'none' and 'host'")
        if self.options.order == CAI_ORDER_BOTH:  # else the stream says that there is none
            self.options.order = value
        return 0

    def __enter__(self):
        cdef cai_error error
        cdef cai_status status
        if self.active:
            raise RuntimeError("this libcai.use() has been entered already")
        self.active = True
        with nogil:
            status = cai_arrays_begin_use(self.items, self.count, self.stream, &self.options,
                                          &error)
        if status != CAI_OK:
            self.active = False
            raise order_error(&error)
        return self.arrays

    def __exit__(self, kind, value, traceback):
        cdef cai_error error
        cdef cai_status status
        if not self.active:
            raise RuntimeError("this libcai.use() has not been entered")
        self.active = False
        with nogil:
            status = cai_arrays_end_use(self.items, self.count, self.stream, &self.options, &error)
        cai_py_drain()  # the call may have ended arrays, without the GIL
        if status == CAI_OK:
            cai_py_ask_suspects(ASKED_IN_PASSING, False)
            return False
        failure = order_error(&error)
        if status != CAI_ERR_CAPTURE:
            self.wait_on_host(failure)
        if value is None:
            raise failure
        add_note(value, f"libcai.use: and the use did not end well: {failure}")
        return False

    cdef int wait_on_host(self, failure) except -1:
        cdef cai_use_options options = self.options
        cdef cai_error error
        cdef cai_status status
        options.order = CAI_ORDER_HOST
        with nogil:
            status = cai_arrays_end_use(self.items, self.count, self.stream, &options, &error)
        if status != CAI_OK:
            add_note(failure, "libcai.use: the host could not wait for the stream either: "
                     + text_of(error.message))
        return 0


cdef tuple arrays_of(tuple objects, stream):
    for item in objects:
        if type(item) is not Array:
            return tuple([array_of(item, stream) for item in objects])
    return objects


cdef Array array_of(obj, stream):
    return obj if type(obj) is Array else read_object(obj, False, ROUTE_NONE, stream)
