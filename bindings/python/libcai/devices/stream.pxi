# SPDX-License-Identifier: BSD-3-Clause
# A part of _devices. Needs device, event.
#
# libcai.Stream: a reference to a cai_stream.

cdef dict MODES = {
    "default": CAI_MODE_DEFAULT, "sync": CAI_MODE_SYNC, "async": CAI_MODE_ASYNC}
cdef dict CAPTURES = {
    CAI_CAPTURE_NONE: None, CAI_CAPTURE_ACTIVE: "active", CAI_CAPTURE_INVALIDATED: "invalidated"}


cdef Stream wrap_stream(cai_stream *stream):
    """Makes a Stream that takes over one reference."""
    cdef Stream self
    try:
        self = Stream.__new__(Stream)
    except BaseException:
        with nogil:
            cai_stream_release(stream)
        raise
    self.stream = stream
    return self


cdef Stream stream_of(given, const cai_device *device):
    """A Stream of what functions accept as a stream, or None. `device` is the device of foreign
    streams; NULL: the current GPU."""
    cdef cai_device current
    cdef uint64_t value
    if given is None or type(given) is Stream:
        return given
    if device == NULL:
        value = value_of(given)
        device_of("gpu", &current)
        return wrapped(given, value, current)
    return wrapped(given, value_of(given), device[0])


cdef uint64_t value_of(given) except? 0:
    """The number of another library's stream."""
    number = resolve(given)
    if number < 0:
        raise UseError("stream -1 means no order, and is no stream")
    return number


cdef Stream wrapped(obj, uint64_t value, cai_device device):
    """Makes a Stream of another library's stream."""
    cdef cai_py_kept *kept = NULL
    cdef void (*let_go)(void *) noexcept nogil
    cdef cai_stream *made = NULL
    cdef cai_error error
    cdef cai_status status
    let_go = NULL
    if type(obj) is not int:  # which holds no stream
        kept = cai_py_keep(<PyObject *>obj, False)
        if kept == NULL:
            raise MemoryError()
        let_go = cai_py_let_go
    with nogil:
        status = cai_stream_wrap(device, value, let_go, kept, &made, &error)
    if status != CAI_OK and kept != NULL:
        cai_py_drop(kept)
    succeed(status, &error)
    return wrap_stream(made)


cdef Stream current_stream(cai_device device):
    cdef cai_stream *out = NULL
    cdef cai_error error
    cdef cai_status status
    with nogil:
        status = cai_stream_current(device, &out, &error)
    succeed(status, &error)
    return wrap_stream(out)


cdef inline cai_stream *handle_of(Stream stream) noexcept nogil:
    return NULL if stream is None else stream.stream


# ---- Work ------------------------------------------------------------------------------------

cdef cai_status run_work(void *context, cai_error *error) noexcept nogil:
    cdef PyGILState_STATE state
    cdef cai_status status
    if not cai_py_enter(&state):
        return CAI_OK  # dropped, as the threads of an interpreter that ends are
    status = run_work_here(<cai_py_kept *>context, error)
    cai_py_leave(state)
    return status


cdef cai_status run_work_here(cai_py_kept *kept, cai_error *error) noexcept with gil:
    cdef Told told
    function, told = <tuple>kept.object
    try:
        function()
    except BaseException as failure:
        return tell(failure, error, told)
    return CAI_OK


# CPU streams made here, by id(): to hash a stream would call C.
cdef object queues = weakref.WeakValueDictionary()


cdef int tell_of_streams() except -1:
    """At exit: reports failures of work that no call has raised."""
    for stream in list(queues.values()):
        try:
            stream.busy
        except BaseException as failure:
            if failure_function is None:
                complain(failure, stream)
                continue
            try:
                failure_function(failure)
            except BaseException as raised:
                complain(raised, failure_function)
    return 0


@cython.final
@cython.no_gc  # a Told refers to nothing else
cdef class Stream:
    """A queue of ordered work, on a GPU or on the CPU.

    Parameters
    ----------
    device : Device or str
        Where.
    mode : str
        ``'async'``: on a GPU, independent of the legacy default stream; on the CPU, its own thread,
        first in, first out. ``'sync'``: on a GPU, ordered with the legacy default stream; on the
        CPU, at once on the calling thread. ``'default'``: the legacy default stream itself; on the
        CPU as ``'sync'``.
    priority : int
        0 is the default, and lower is more urgent. Must be 0 for the CPU and for ``'default'``.

    Raises
    ------
    UseError
        For another mode or priority.
    CudaError
        If there is no such device, or the driver fails.

    Notes
    -----
    Streams are equal if they are the same stream, whatever wrapped them. Dropping the last
    reference does not wait: queued work still runs. ``with stream:`` makes it the thread's current
    stream of its device; at the end it is synchronised, and the previous stream is current again.
    If a later block of the device has not ended, as in another generator, that block's stream stays
    current, and at its end the stream before both blocks becomes current. If several blocks are of
    one `Stream`, the last of them counts as the one that ends.

    A failure of work on a stream, such as a function that raises, is raised once, by the next
    `enqueue` (which then queues nothing), `busy`, `synchronize`, `follow` (of either stream),
    `Event.wait` for the stream, or end of a ``with`` block. For a CPU stream it may also be raised
    by the next `record`, by other work that is queued there (`fill`, `copy`, `to`), and by
    functions that wait for work that was dropped (`Array.item`, a buffer, a dict for the host). On
    a CPU stream the failure also drops all work queued behind it. Failures of CPU streams that are
    left at exit go to `on_failure`, or else to ``sys.unraisablehook``.

    An exception is kept until it is raised, or the `Stream` goes. Then only the last 16 that other
    calls may still raise are kept, with a note of the lines in the place of the traceback, or 1000
    for a function of `on_failure`; in the place of others an `Error` with the same text is raised.
    """

    cdef cai_stream *stream
    cdef uint64_t number  # of cai_stream_info.id, once it was read
    cdef Told told  # once work was queued here
    cdef object __weakref__

    def __init__(self, device="gpu", mode="async", priority=0):
        cdef cai_device native
        cdef uint32_t how = word_of(MODES, mode, "mode")
        cdef int32_t urgency
        cdef cai_stream *made = NULL
        cdef cai_error error
        cdef cai_status status
        if self.stream != NULL:
            raise TypeError("a libcai.Stream cannot be made twice")
        device_of(device, &native)
        priority = integer_of(priority, "priority")
        if not -INT32_MAX <= priority <= INT32_MAX:
            raise UseError(f"priority {shown(priority)} is out of range")
        urgency = priority
        with nogil:
            status = cai_stream_create(native, how, urgency, &made, &error)
        succeed(status, &error)
        if self.stream != NULL:  # by an argument's own method, or another thread
            with nogil:
                cai_stream_release(made)
            raise TypeError("a libcai.Stream cannot be made twice")
        self.stream = made
        if native.type == CAI_DEVICE_CPU:
            queues[id(self)] = self

    def __dealloc__(self):
        cdef cai_stream *stream = self.stream
        self.stream = NULL
        if self.told is not None:
            leave_unclaimed(self.told)
        if stream != NULL:
            with nogil:  # a thread that waits for the GIL may hold a lock of the driver
                cai_stream_release(stream)
        cai_py_drop_queued()

    @staticmethod
    def wrap(obj, device="gpu"):
        """Makes a Stream of another library's stream.

        Parameters
        ----------
        obj : int or object
            1 and 2 (the default streams), a ``CUstream``, or an object with ``__cuda_stream__()``,
            ``.handle``, ``.ptr`` or ``.cuda_stream``, whose 0 means 1. It is kept alive as long as
            libcai needs the stream, and the garbage collector does not see that: an object that
            refers to the `Stream` is never freed. A `Stream` is returned unchanged.
        device : Device or str
            The GPU of the stream.

        Raises
        ------
        InterfaceError, InterfaceTypeError
            For an invalid stream.
        CudaError
            If it is not a stream of that device.
        """
        cdef cai_device native
        cdef uint64_t value
        if type(obj) is Stream:
            return obj
        value = value_of(obj)
        device_of(device, &native)
        return wrapped(obj, value, native)

    @staticmethod
    def current(device="gpu"):
        """Returns the calling thread's current stream of a device; the default is a stream of mode
        ``'default'``."""
        cdef cai_device native
        device_of(device, &native)
        return current_stream(native)

    cdef int describe(self, cai_stream_info *out) except -1:
        cdef cai_error error
        cdef cai_status status
        memset(out, 0, sizeof(out[0]))
        out.struct_size = sizeof(out[0])
        with nogil:
            status = cai_stream_describe(self.stream, out, &error)
        return succeed(status, &error)

    @property
    def value(self):
        """1, 2 or a ``CUstream``, as in dicts; 0 for a CPU stream."""
        return cai_stream_value(self.stream)

    @property
    def __cuda_stream__(self):
        """By cuda.core's protocol: a function that returns ``(0, handle)``. AttributeError for a
        CPU stream."""
        value = cai_stream_value(self.stream)
        if value == 0:
            raise AttributeError("this libcai.Stream is the CPU's, and has no handle")
        return lambda: (0, value)

    @property
    def id(self):
        """An id that is unique among all streams of this process, ever; 0 if the stream was wrapped in
        a capture that goes on: the driver ends captures in which it is asked for it."""
        cdef cai_stream_info info
        if self.number == 0:
            self.describe(&info)
            self.number = info.id
        return self.number

    @property
    def device(self):
        """Its `Device`."""
        cdef cai_stream_info info
        self.describe(&info)
        return device_object(info.device)

    @property
    def mode(self):
        """``'default'``, ``'sync'`` or ``'async'``; for a wrapped stream, as the driver reports
        it."""
        cdef cai_stream_info info
        self.describe(&info)
        for mode, number in MODES.items():
            if number == info.mode:
                return mode

    @property
    def priority(self):
        """The priority; lower is more urgent."""
        cdef cai_stream_info info
        self.describe(&info)
        return info.priority

    @property
    def wrapped(self):
        """Whether it is another library's stream."""
        cdef cai_stream_info info
        self.describe(&info)
        return info.wrapped != 0

    @property
    def capture(self):
        """None; ``'active'`` if it is being captured into a graph; ``'invalidated'`` if an error
        has invalidated the capture, which the capturing code must end."""
        cdef cai_stream_info info
        self.describe(&info)
        return CAPTURES.get(info.capture, "unknown")

    @property
    def capture_id(self):
        """The id of the capture; None if there is none."""
        cdef cai_stream_info info
        self.describe(&info)
        return info.capture_id or None

    @property
    def thread_limit(self):
        """How many threads the work on a CPU stream may use; the work must read it itself. 0 for a
        GPU."""
        cdef cai_stream_info info
        self.describe(&info)
        return info.thread_limit

    @thread_limit.setter
    def thread_limit(self, threads):
        cdef cai_error error
        number = integer_of(threads, "thread_limit")
        if not 0 <= number <= INT32_MAX:
            raise UseError(f"a stream cannot use {shown(number)} threads")
        succeed(cai_stream_set_thread_limit(self.stream, number, &error), &error)

    @property
    def busy(self):
        """Whether work is pending."""
        cdef int32_t out = 0
        cdef cai_error error
        cdef cai_status status
        with nogil:
            status = cai_stream_query(self.stream, &out, &error)
        succeed(status, &error)
        return out != 0

    def enqueue(self, function):
        """Queues ``function()``.

        On a CPU stream it may do anything; if the stream's mode is not ``'async'``, it runs at
        once. Inside it, calls that wait for pending work wait for what was queued on CPU streams
        before it, and not for what was queued after it; `Memory.record` makes later uses wait for
        it. It must not wait for work on another stream that waits for it, for example because that
        uses memory on which this work was recorded: both would wait forever. On a GPU stream it runs
        on a thread of the driver, once it gets the GIL: it must not call CUDA, directly or
        indirectly, and all later work on the stream waits for it. Arrays and memory of libcai that a
        garbage collection finds there are freed later; the finalisers of other objects run there.

        Raises
        ------
        Exception
            The exception of earlier work on the stream, or of this work if it ran at once.
        CudaError
            If the stream is being captured, or the driver fails.
        StateError
            After a reset.

        Notes
        -----
        A program that ends waits for work queued on CPU streams, but not on GPU streams.
        """
        cdef cai_py_kept *kept
        cdef cai_error error
        cdef cai_status status
        if not callable(function):
            raise TypeError(f"function is {shown(function)}, which cannot be called")
        if self.told is None:
            self.told = Told()
        work = (function, self.told)
        kept = cai_py_keep(<PyObject *>work, cai_stream_value(self.stream) == 0)
        del work  # C has it, and lets it go on a thread of its own
        if kept == NULL:
            raise MemoryError()
        with nogil:
            status = cai_stream_enqueue(self.stream, run_work, cai_py_let_go, kept, &error)
        if status != CAI_OK:
            cai_py_let_go(kept)
        if status == CAI_ERR_CAPTURE and self.capture == "active":
            raise CudaError("the stream is being captured: a graph may run often, and a function "
                            "is queued once", status)
        succeed(status, &error)

    def attach(self, obj):
        """Keeps an object alive until the work queued so far is complete. In a capture, the graph
        keeps it."""
        cdef cai_py_kept *kept = cai_py_keep(<PyObject *>obj, False)
        cdef cai_error error
        cdef cai_status status
        if kept == NULL:
            raise MemoryError()
        with nogil:
            status = cai_stream_attach(self.stream, cai_py_let_go, kept, &error)
        if status != CAI_OK:
            cai_py_drop(kept)
        succeed(status, &error)

    def synchronize(self):
        """Waits until the queued work is complete, with the GIL released.

        Raises
        ------
        Exception
            The exception of work on the stream.
        CudaError
            If the stream is being captured, or work on the GPU has failed.
        StateError
            After a reset, and on the CPU stream's own thread.
        """
        cdef cai_error error
        cdef cai_status status
        with nogil:
            status = cai_stream_synchronize(self.stream, &error)
        succeed(status, &error)

    def follow(self, other):
        """Makes later work on this stream wait for the work queued on another stream so far.

        The host waits only if a GPU stream follows a CPU stream, or if a CPU stream that works at
        once follows any stream.
        """
        cdef cai_stream_info info
        cdef Stream leader
        cdef cai_error error
        cdef cai_status status
        self.describe(&info)
        leader = stream_of(other, &info.device)
        if leader is None:
            raise TypeError("a stream is required, not None")
        with nogil:
            status = cai_stream_follow(self.stream, leader.stream, &error)
        succeed(status, &error)

    def record(self, event=None):
        """Records an event behind the work queued so far, and returns it; a new event without
        timing if none is given."""
        if event is None:
            event = Event(self.device)
        if type(event) is not Event:
            raise TypeError(f"a libcai.Event is required, not {type(event).__name__}")
        event.record(self)
        return event

    def set_current(self):
        """Makes it the calling thread's current stream of its device."""
        cdef cai_error error
        cdef cai_status status
        with nogil:
            status = cai_stream_set_current(self.stream, &error)
        succeed(status, &error)

    def __enter__(self):
        enter_stream(self)
        return self

    def __exit__(self, kind, value, traceback):
        leave_stream(self, value)

    def __eq__(self, other):
        if type(other) is not Stream:
            return NotImplemented
        return (<Stream>other).stream == self.stream or other.id == self.id

    def __hash__(self):
        return hash(self.id)

    def __reduce__(self):
        raise TypeError("a libcai.Stream cannot be pickled: it is of this process")

    def __repr__(self):
        cdef cai_stream_info info
        try:
            self.describe(&info)
        except Error as error:
            return f"<libcai.Stream: {error}>"
        parts = [f"device={device_object(info.device)}"]
        parts += [f"mode={mode}" for mode, number in MODES.items() if number == info.mode]
        parts.append(f"value={hex(info.value)}" if info.value > 2 else f"value={info.value}")
        return f"<libcai.Stream {' '.join(parts)}>"


# ---- Guards ----------------------------------------------------------------------------------

# C leaves guards in the reverse order. Blocks of generators end in any order. A block that ends
# before a later one of the device waits for its stream, and is left with the later one.

@cython.final
@cython.internal
cdef class StreamGuard:
    cdef cai_stream_guard guard
    cdef Stream stream
    cdef bint is_over  # its block has ended, but it has not been left


cdef int enter_stream(Stream stream) except -1:
    cdef StreamGuard self = StreamGuard.__new__(StreamGuard)
    cdef cai_error error
    cdef cai_status status
    self.stream = stream
    with nogil:
        status = cai_stream_enter(stream.stream, &self.guard, &error)
    succeed(status, &error)
    entered_here("streams").append(self)
    return 0


cdef int leave_stream(Stream stream, exception) except -1:
    """Leaves a stream. The block's exception is kept, with a note if leaving fails, too."""
    cdef list stack = entered_here("streams")
    cdef StreamGuard self
    cdef cai_error error
    cdef cai_status status
    for self in reversed(stack):
        if self.stream is stream and not self.is_over:
            break
    else:
        raise StateError("this thread has not entered that stream")
    with nogil:
        status = cai_stream_leave(&self.guard, 0, &error)
    self.is_over = True
    if self.guard.thread == 0:
        stack.remove(self)
        leave_what_is_over(stack)
    else:
        with nogil:
            status = cai_stream_synchronize(stream.stream, &error)
    try:
        return succeed(status, &error)
    except BaseException as failure:
        if exception is None:
            raise
        add_note(exception, f"libcai: and the stream did not end well: {failure}")
    return 0


cdef int leave_what_is_over(list stack) except -1:
    """Leaves the guards below the one that was left, if their blocks have ended. A guard of another
    device may still be below others; C then refuses it."""
    cdef StreamGuard each
    for each in reversed(stack[:]):
        if each.is_over:
            with nogil:
                cai_stream_leave(&each.guard, CAI_LEAVE_QUEUED, NULL)
            if each.guard.thread == 0:
                stack.remove(each)
    return 0
