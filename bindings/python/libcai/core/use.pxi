# SPDX-License-Identifier: BSD-3-Clause
# A part of _core. Needs array, order, reading.
#
# libcai.use: the work of a `with` block, ordered with the producers' streams and other uses.

cdef dict ORDERS = {
    "both": CAI_ORDER_BOTH, "begin": CAI_ORDER_BEGIN, "end": CAI_ORDER_END,
    "none": CAI_ORDER_NONE, "host": CAI_ORDER_HOST}

cdef enum:
    USE_FEW = 4  # arrays that need no further allocation


cdef enum UseState:
    USE_IDLE
    USE_CHANGING  # in __enter__ or __exit__, which release the GIL
    USE_ENTERED
    USE_COLLECTED  # ended by the collector, before the frame around it calls __exit__


cdef class _Nothing:
    """The placeholder for no object."""

    def __repr__(self):
        return "..."


cdef object NOTHING = _Nothing()


# `first` is separate, since Cython makes a dict of the keywords if all are in a tuple.
def use(first=NOTHING, /, *others, stream, access=None, order="both", external=False, fork=False):
    """Uses arrays on a stream, in order with their producers and with each other.

    ``with libcai.use(x, y, stream=s) as (a, b):`` makes `s` wait for the producers' pending work
    before the block, and makes their streams wait for `s` after it. The host does not wait. Within
    the block, queue work on `s` only. If a producer has no stream that can wait, the array's owner
    keeps the use: later uses wait for it, and the memory stays until it is complete.

    Parameters
    ----------
    first, *others : object
        What `asarray` takes. An exporter with only DLPack is asked in this call to make `stream`,
        or its own stream by `provide_stream`, wait for its work; its own stream waits on exit.
        Without such a function, libcai cannot report the use to the exporter: its user must wait
        before working on the memory again, or freeing it in the order of a stream.
    stream : int or object
        1 is the legacy default stream, 2 the per-thread one, else a ``CUstream``; or an object with
        ``__cuda_stream__()``, ``.handle``, ``.ptr`` or ``.cuda_stream``, whose 0 means 1. -1 means
        no order at all. The context manager keeps a stream object alive; for a number, the stream
        must live until the block has been left.
    access : str, tuple or list, optional
        ``'read'`` waits for other uses' writes only; ``'write'`` reads, writes or both. None means
        a write, or a read if the array is marked read-only. One word for all objects, or a tuple or
        list with one for each: ``use(x, out, stream=s, access=("read", "write"))``. A mask is used
        with its array's access, except that a read-only mask is only read.
    order : str
        ``'both'``; ``'begin'`` or ``'end'`` alone; ``'none'``; or ``'host'``: the host waits, for
        the producers on entry and for `stream` on exit, with the GIL released. For work on the host
        only, pass 1, with a context current; with -1 the host does not wait.
    external : bool
        If `stream` is being captured into a graph and a producer's is not but has work pending,
        each launch of the graph waits for the work that was pending on entry. Without it the call
        fails.
    fork : bool
        If a producer's stream is being captured and `stream` is not, `stream` joins the capture on
        entry, and is joined back on exit. Without it the call fails.

    Returns
    -------
    context manager
        Yields a tuple of `Array`, also for one object.

    Raises
    ------
    InterfaceError, InterfaceTypeError
        For an invalid stream (None and 0 are ambiguous), for a write to a read-only array, and as
        `asarray`.
    UseError
        For an unknown word, or if there is not one `access` for each object; on entry, for a
        default stream if no context is current, and for an environment variable with an invalid
        value.
    CudaError
        On entry or exit, if the driver fails. If ordering on exit fails, the host waits for
        `stream`, then the error is raised. If the host cannot wait, for example since `stream` is
        being captured, the owners keep the use; if no event can be recorded for it, the memory
        stays until ``drain(wait=True)``. That is also so if `stream` has begun a capture within the
        block: work queued before the capture is in no graph, and is then not ordered, so leave the
        block before the capture. If the block raised too, its own exception is raised, with a note.
    StateError
        On entry, if an array's memory was freed, and for a block that is entered already; on exit,
        for one that was not entered, or was left already.

    Notes
    -----
    The text, "Synchronization".
    """
    global cai_py_named
    cdef uint64_t before = cai_py_named
    cdef Use self = Use.__new__(Use)
    self.given = stream
    if not resolved(stream, &self.stream):
        self.options.order = CAI_ORDER_NONE
    if type(order) is not str or order != "both":
        self.set_order(order)
    if relaxed_reasons and self.options.order != CAI_ORDER_HOST and not _relaxed.sync():
        self.options.order = CAI_ORDER_NONE
    cai_py_named = self.named()
    try:
        self.take(() if first is NOTHING else (first,) + others, stream if self.waits() else -1)
    finally:
        cai_py_named = before
    if access is not None:
        self.set_access(access)
    if external:
        self.options.flags |= CAI_USE_EXTERNAL
    if fork:
        self.options.flags |= CAI_USE_FORK
    return self


@cython.final
cdef class Use:
    """The context manager that `use` returns."""

    cdef tuple arrays
    cdef object given              # the stream object, which lives while its handle is in use
    cdef const cai_array **items   # `few`, unless there are more
    cdef uint32_t *accesses        # one for each, or NULL
    cdef int32_t count
    cdef uint64_t stream
    cdef cai_use_options options
    cdef cai_use open
    cdef UseState state
    cdef PyObject *next            # of those that are open
    cdef PyObject *previous
    cdef object __weakref__
    cdef const cai_array *few[USE_FEW]

    def __cinit__(self):
        self.options.struct_size = sizeof(cai_use_options)
        self.options.order = CAI_ORDER_BOTH
        self.stream = 1

    def __init__(self):
        raise TypeError("this context manager is made by libcai.use()")

    def __reduce__(self):
        raise TypeError(
            "this libcai.use() can be neither copied nor pickled: make another one for each use")

    def __reduce_ex__(self, protocol):
        return self.__reduce__()

    def __del__(self):
        # Not in __dealloc__(): the collector may have cleared the arrays before that.
        if self.state == USE_ENTERED:
            self.collect(False)

    def __dealloc__(self):
        if self.items != self.few:
            PyMem_Free(self.items)
        PyMem_Free(self.accesses)

    cdef int take(self, tuple objects, stream) except -1:
        cdef Py_ssize_t i
        self.arrays = arrays_of(objects, stream)
        self.count = <int32_t>len(self.arrays)
        self.items = self.few
        if self.count > USE_FEW:
            self.items = <const cai_array **>PyMem_Malloc(self.count * sizeof(cai_array *))
            if self.items == NULL:
                raise MemoryError()
        for i in range(self.count):
            self.items[i] = (<Array>self.arrays[i]).array
        return 0

    cdef int set_access(self, access) except -1:
        cdef int32_t i
        cdef tuple words
        if not isinstance(access, (tuple, list)):
            self.options.access = access_of(access)
            return 0
        words = tuple(access)  # a list may change while a word is read
        if len(words) != self.count:
            raise UseError(
                f"access: expected one word for each of {self.count} objects, got {shown(access)}")
        self.accesses = <uint32_t *>PyMem_Malloc(max(self.count, 1) * sizeof(uint32_t))
        if self.accesses == NULL:
            raise MemoryError()
        for i in range(self.count):
            self.accesses[i] = access_of(words[i], i)
        self.options.accesses = self.accesses
        return 0

    cdef int set_order(self, order) except -1:
        value = ORDERS.get(str.__str__(order)) if isinstance(order, str) else None
        if value is None:
            raise UseError(
                f"order: expected 'both', 'begin', 'end', 'none' or 'host', got {shown(order)}")
        if self.options.order == CAI_ORDER_BOTH:  # else the stream says that there is none
            self.options.order = value
        return 0

    cdef uint64_t named(self) noexcept:
        """The stream of the work; 0 if nothing is ordered with it."""
        return 0 if self.options.order == CAI_ORDER_NONE else self.stream

    cdef bint waits(self) noexcept:
        """Whether the work comes after the producers' pending work."""
        return self.options.order not in (CAI_ORDER_NONE, CAI_ORDER_END)

    cdef const cai_use_options *chosen(self) noexcept:
        """The options; NULL if none were set, so that C need not check them."""
        cdef const cai_use_options *options = &self.options
        if (options.order == CAI_ORDER_BOTH and options.access == CAI_ACCESS_DEFAULT
                and options.flags == 0 and options.accesses == NULL):
            return NULL
        return options

    def __enter__(self):
        cdef const cai_use_options *options = self.chosen()
        cdef cai_error error
        cdef cai_status status
        if self.state != USE_IDLE:
            raise StateError("this libcai.use() has been entered already")
        self.state = USE_CHANGING
        with nogil:
            status = cai_use_begin(&self.open, self.items, self.count, self.stream, options, &error)
        if status != CAI_OK:
            self.state = USE_IDLE
            raise order_error(&error)
        self.entered()
        return self.arrays

    cdef void entered(self) noexcept:
        global open_uses
        self.state = USE_ENTERED
        self.next = open_uses
        if open_uses != NULL:
            (<Use>open_uses).previous = <PyObject *>self
        open_uses = <PyObject *>self

    cdef void left(self) noexcept:
        global open_uses
        if self.previous == NULL:
            open_uses = self.next
        else:
            (<Use>self.previous).next = self.next
        if self.next != NULL:
            (<Use>self.next).previous = self.previous
        self.next = self.previous = NULL
        self.state = USE_CHANGING

    cdef int collect(self, bint wait) except -1:
        """Ends a use that no code can reach any more; `wait`: its memory may be freed with it."""
        failure = self.close(wait)
        self.state = USE_COLLECTED
        if failure is not None:
            raise failure  # to sys.unraisablehook
        return 0

    def __exit__(self, kind, value, traceback):
        if self.state == USE_COLLECTED:
            self.open_again()
        if self.state != USE_ENTERED:
            raise StateError("this libcai.use() has not been entered")
        failure = self.close(False)
        cai_py_drain(self.named())  # the call may have ended arrays, without the GIL
        if failure is None:
            cai_py_ask_suspects(ASKED_IN_PASSING, False)
            return False
        if value is None:
            raise failure
        add_note(value, f"libcai.use: and the use did not end well: {failure}")
        return False

    cdef object close(self, bint wait):
        """Ends the use. If that fails, the host waits for the stream; if that fails, too, the use
        is abandoned, so that the memory is safe. Returns the exception, or None. `wait`: the host
        waits first."""
        cdef cai_error error, unfinished
        cdef cai_status status = CAI_ERR_CAPTURE, finished = CAI_OK
        self.left()
        with nogil:
            if wait:
                status = cai_use_finish(&self.open, 1, &error)
            if status != CAI_OK:
                status = cai_use_end(&self.open, &error)
            if status != CAI_OK:
                finished = cai_use_finish(&self.open, 1, &unfinished)
            if finished != CAI_OK:
                cai_use_abandon(&self.open)
        self.state = USE_IDLE
        if status == CAI_OK:
            return None
        failure = order_error(&error)
        if finished != CAI_OK:
            add_note(failure, "libcai.use: the host could not wait for the stream either: "
                     + str(order_error(&unfinished)))
        return failure

    cdef int open_again(self) except -1:
        """Reopens the use, to end also the work that the block has queued since it was
        collected."""
        cdef cai_error error
        cdef cai_status status
        if self.options.order == CAI_ORDER_BOTH:
            self.options.order = CAI_ORDER_END
        self.options.flags = 0
        with nogil:
            status = cai_use_begin(&self.open, self.items, self.count, self.stream, &self.options,
                                   &error)
        if status != CAI_OK:
            self.state = USE_IDLE
            raise order_error(&error)
        self.entered()
        return 0


# ---- Garbage collection ------------------------------------------------------------------------
# The collector finalizes what it has found in any order: the exporter, who may free the memory, or
# a generator that is suspended in the block, before or after the use. Callbacks of weak references
# come first. So while it runs, each open use has one, by which the host waits for the work.

cdef PyObject *open_uses = NULL
cdef list watched_uses = []


@cython.final
cdef class _Collected:
    """The callback of the collector for an open use that it has found."""

    cdef PyObject *use  # the collector's

    def __call__(self, reference):
        cdef PyObject *each = open_uses
        while each != NULL and each != self.use:
            each = (<Use>each).next
        if each != NULL:
            (<Use>each).collect(True)


def _watch_open_uses(phase, info):
    """For `gc.callbacks`."""
    cdef PyObject *each = open_uses
    cdef _Collected collected
    if phase != "start":
        watched_uses.clear()
        return
    while each != NULL:
        collected = _Collected.__new__(_Collected)
        collected.use = each
        watched_uses.append(weakref.ref(<Use>each, collected))
        each = (<Use>each).next


gc.callbacks.append(_watch_open_uses)


def same_stream(*objects):
    """Returns the one stream on which arrays can be used without any event: their producer's own.

    That stream waits for uses that the owners have kept, and is recorded as used: queue your work
    on it before other code uses the arrays.

    Parameters
    ----------
    *objects : object
        What `asarray` takes.

    Returns
    -------
    int or None
        1, 2 or a ``CUstream``. None if no array names a stream: then nothing is pending. The owners
        do not learn of work on your own stream: call `use` for that.

    Raises
    ------
    CudaError
        If there is no such stream, or the driver fails; also if an array, or a mask, came with None
        from an exporter that cannot be told of the stream.

    Notes
    -----
    The text, "Synchronization".
    """
    cdef tuple arrays = arrays_of(objects, None)
    cdef int32_t i, count = <int32_t>len(arrays)
    cdef const cai_array **items = <const cai_array **>PyMem_Malloc(
        max(len(arrays), 1) * sizeof(cai_array *))
    cdef uint64_t stream = 0
    cdef cai_error error
    cdef cai_status status
    if items == NULL:
        raise MemoryError()
    for i in range(count):
        items[i] = (<Array>arrays[i]).array
    with nogil:
        status = cai_arrays_same_stream(items, count, &stream, &error)
    PyMem_Free(items)
    if status != CAI_OK:
        raise order_error(&error)
    return stream or None


cdef tuple arrays_of(tuple objects, stream):
    for item in objects:
        if type(item) is not Array:
            return tuple([array_of(item, stream) for item in objects])
    return objects


cdef Array array_of(obj, stream):
    return obj if type(obj) is Array else read_object(obj, False, ROUTE_NONE, stream)
