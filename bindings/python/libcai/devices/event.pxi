# SPDX-License-Identifier: BSD-3-Clause
# A part of _devices. Needs device, stream.
#
# libcai.Event: a reference to a cai_event.

@cython.final
cdef class Event:
    """A point in the work of a stream. It is complete until it is recorded.

    Parameters
    ----------
    device : Device or str
        The device of the streams that record it.
    timing : bool
        Record the time, for `elapsed`.

    Raises
    ------
    CudaError
        If there is no such device, or the driver fails.
    """

    cdef cai_event *event
    cdef cai_device device
    cdef object __weakref__

    def __init__(self, device="gpu", timing=False):
        cdef cai_device native
        cdef uint32_t flags = CAI_EVENT_TIMING if timing else 0
        cdef cai_event *made = NULL
        cdef cai_error error
        cdef cai_status status
        if self.event != NULL:
            raise TypeError("a libcai.Event cannot be made twice")
        device_of(device, &native)
        with nogil:
            status = cai_event_create(native, flags, &made, &error)
        succeed(status, &error)
        if self.event != NULL:  # by an argument's own method, or another thread
            with nogil:
                cai_event_release(made)
            raise TypeError("a libcai.Event cannot be made twice")
        self.event = made
        self.device = native

    def __dealloc__(self):
        cdef cai_event *event = self.event
        self.event = NULL
        if event != NULL:
            with nogil:
                cai_event_release(event)
        cai_py_drop_queued()

    @property
    def value(self):
        """The ``CUevent``; 0 for a CPU event."""
        return cai_event_value(self.event)

    def record(self, stream):
        """Records the event behind the work queued so far on a stream of its device. Work that
        waits for an earlier record still waits for that."""
        cdef Stream on = stream_of(stream, &self.device)
        cdef cai_error error
        cdef cai_status status
        if on is None:
            raise TypeError("a stream is required, not None")
        with nogil:
            status = cai_event_record(self.event, on.stream, &error)
        succeed(status, &error)

    def wait(self, stream):
        """Makes later work on a stream wait for the last record of the event. Does nothing if it was
        never recorded. A `Stream` may be of any device; another library's is one of the current
        GPU."""
        cdef Stream on = stream_of(stream, NULL)
        cdef cai_error error
        cdef cai_status status
        if on is None:
            raise TypeError("a stream is required, not None")
        with nogil:
            status = cai_event_wait(self.event, on.stream, &error)
        succeed(status, &error)

    @property
    def busy(self):
        """Whether work before the event is pending."""
        cdef int32_t out = 0
        cdef cai_error error
        cdef cai_status status
        with nogil:
            status = cai_event_query(self.event, &out, &error)
        succeed(status, &error)
        return out != 0

    def synchronize(self):
        """Waits for the work before the event, with the GIL released.

        Raises
        ------
        StateError
            After a reset, and on the thread of the CPU stream that must complete it.
        """
        cdef cai_error error
        cdef cai_status status
        with nogil:
            status = cai_event_synchronize(self.event, &error)
        succeed(status, &error)

    def elapsed(self, end):
        """Returns the milliseconds from this event to another event of the device; negative if that
        came first.

        Raises
        ------
        StateError
            If one was not recorded or is not complete.
        UseError
            If one was made without timing.
        CudaError
            If their devices differ.
        """
        cdef double milliseconds = 0
        cdef Event last
        cdef cai_error error
        cdef cai_status status
        if type(end) is not Event:
            raise TypeError(f"a libcai.Event is required, not {type(end).__name__}")
        last = end
        with nogil:
            status = cai_event_elapsed(self.event, last.event, &milliseconds, &error)
        succeed(status, &error)
        return milliseconds

    def __reduce__(self):
        raise TypeError("a libcai.Event cannot be pickled: it is of this process")
