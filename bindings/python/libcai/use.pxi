# SPDX-License-Identifier: BSD-3-Clause
# libcai.use: the work of a `with` block, ordered with the producers' streams.

def use(*objects, stream):
    """Uses arrays on a stream, in order with their producers.

    ``with libcai.use(x, y, stream=s) as (a, b):`` makes `s` wait for what the producers have
    pending before the block, and their streams wait for `s` after it. The host never waits. Within
    the block, queue work on `s` only.

    Parameters
    ----------
    *objects : object
        What `asarray` takes.
    stream : int or object
        1 is the legacy default stream, 2 the per-thread one, else a ``CUstream``; or an object with
        ``__cuda_stream__()``, ``.handle``, ``.ptr`` or ``.cuda_stream``, whose 0 means 1.
        -1 means no order at all.

    Returns
    -------
    context manager
        Gives a tuple of `Array`, also for one object.

    Raises
    ------
    InterfaceError, InterfaceTypeError
        For a stream that is none (None and 0 are ambiguous), and as `asarray`.
    CudaError
        On entry or exit, if the driver refuses. If the way back fails, the host waits for `stream`
        (unless it is being captured), then the error is raised; if the block raised too, its own
        exception goes on, with a note.

    Notes
    -----
    The text, "Synchronization".
    """
    return Use(objects, resolve(stream), stream)


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

    def __cinit__(self, objects, number, given):
        cdef Py_ssize_t i
        self.arrays = tuple([asarray(item) for item in objects])
        self.given = given
        self.count = <int32_t>len(self.arrays)
        self.items = <const cai_array **>PyMem_Malloc(
            max(len(self.arrays), 1) * sizeof(cai_array *))
        if self.items == NULL:
            raise MemoryError()
        for i in range(self.count):
            self.items[i] = (<Array>self.arrays[i]).array
        self.options.struct_size = sizeof(cai_use_options)
        self.options.order = CAI_ORDER_NONE if number == _NO_ORDER else CAI_ORDER_BOTH
        self.stream = 1 if number == _NO_ORDER else number

    def __dealloc__(self):
        PyMem_Free(self.items)

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
            raise self.failure(&error)
        return self.arrays

    def __exit__(self, kind, value, traceback):
        cdef cai_error error
        cdef cai_status status
        if not self.active:
            raise RuntimeError("this libcai.use() has not been entered")
        self.active = False
        with nogil:
            status = cai_arrays_end_use(self.items, self.count, self.stream, &self.options, &error)
        if status == CAI_OK:
            return False
        failure = self.failure(&error)
        if status != CAI_ERR_CAPTURE:
            self.wait_on_host(failure)
        if value is None:
            raise failure
        add_note(value, f"libcai.use: and the use did not end well: {failure}")
        return False

    cdef object failure(self, const cai_error *error):
        message = text_of(error.message)
        return from_status(error.status, error.native, message, text_of(cai_entry_name(error.entry)))

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


cdef int add_note(exception, str note) except -1:
    if hasattr(exception, "add_note"):
        exception.add_note(note)
    else:  # Python 3.10: in the place where later versions keep it
        try:
            exception.__notes__ = [*getattr(exception, "__notes__", ()), note]
        except AttributeError:
            pass
    return 0
