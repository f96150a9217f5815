# SPDX-License-Identifier: BSD-3-Clause
# A part of _devices. Needs manager, memory.
#
# Built-in managers, their callbacks, and the line of Python that called them.

cdef dict PARAMETERS = {
    "pool": ("initial", "maximum", "threshold", "exportable", "install"),
    "limiting": ("limit",),
    "logging": ("path", "write"),
    "retrying": ("retry",),
}


@cython.final
@cython.internal
cdef class Companion:
    """The context of a manager's callbacks. C may keep it longer than Python keeps the manager; the
    callbacks are dropped with the Python manager."""

    cdef object function


def memory_manager(name, *, device=None, upstream=None, initial=None, maximum=None, threshold=None,
                   exportable=None, install=None, limit=None, path=None, write=None, retry=None):
    """Creates a memory manager.

    Parameters
    ----------
    name : str
        ``'default'``: plain device memory, freed in batches. ``'async'``: stream-ordered, from the
        device's current pool. ``'pool'``: stream-ordered, from its own pool. ``'managed'``, or
        ``'unified'``: all memory is managed. ``'host'``: the heap.

        These wrap an upstream manager: ``'statistics'`` counts allocations. ``'limiting'`` fails
        allocations beyond a limit. ``'logging'`` writes a line of CSV for each call, with the
        caller's line of Python. ``'tracking'`` lists what is allocated, with the caller.
        ``'retrying'`` calls a function when memory is short.

        Or the path of a library that exports a ``cai_manager_table``, with ``:symbol`` if its name
        is not ``cai_manager_table_export``.
    device : Device or str, optional
        Default: the device of `upstream`, or the current GPU.
    upstream : MemoryManager, optional
        The manager to wrap.
    initial, maximum, threshold : int, optional
        For a pool: bytes that it allocates at creation, the most bytes that it may have (0: the
        device's limit), and freed bytes that it caches (-1: all).
    exportable, install : bool, optional
        For a pool: its memory can be shared with other processes; it is the device's current pool,
        which CuPy, cuda.core and RMM use, until the manager ends.
    limit : int, optional
        For ``'limiting'``: bytes that may be allocated at a time.
    path : str or os.PathLike, optional
        For ``'logging'``: a file, appended to. Or
    write : callable, optional
        ``write(text)`` with whole lines, on any thread. Its exceptions go to
        ``sys.unraisablehook``. It is not called once the manager has no reference. The garbage
        collector does not see the manager's references: a function that refers to the manager keeps
        it alive forever.
    retry : callable, optional
        For ``'retrying'``: ``retry(size, attempt)`` frees something and returns True to try again.
        `attempt` counts from 0. Otherwise as `write`.

    Returns
    -------
    MemoryManager

    Raises
    ------
    UseError
        For an unknown name, a library that cannot be loaded, and an upstream manager that is
        missing or of another device.
    TypeError
        For a parameter of another manager, a missing one, and a callback that is not callable.
    VersionError
        For a library built for another version of managers.
    CudaError
        If the device does not have that memory.
    """
    cdef bytes text = text_for_c(name, "name")
    cdef const char *name_text = text
    cdef cai_manager *above = manager_handle(upstream, "upstream")
    cdef Parameters given
    cdef cai_device native
    cdef cai_manager *made = NULL
    cdef cai_error error
    cdef cai_status status
    cdef cai_py_kept *kept = NULL  # C's reference to the companion
    cdef Companion companion = Companion.__new__(Companion)
    cdef MemoryManager self
    cdef const void *params = NULL
    parameters = {
        key: value for key, value in (
            ("initial", initial), ("maximum", maximum), ("threshold", threshold),
            ("exportable", exportable), ("install", install), ("limit", limit), ("path", path),
            ("write", write), ("retry", retry))
        if value is not None}
    file = path_for_c(path) if path is not None else b""
    name = str.__str__(name)  # C reads the parameters as those of this text: so must the choice be
    known = PARAMETERS.get(name, ())
    for key in parameters:
        if key not in known:
            raise TypeError(f"memory_manager({shown(name)}) has no parameter {key!r}")
    if name in ("limiting", "retrying") and not parameters:
        raise TypeError(f"memory_manager({name!r}) requires {known[0]!r}")
    place(device, None, upstream, "gpu", &native)
    memset(&given, 0, sizeof(given))
    if name == "pool":
        pool_parameters(parameters, &given.pool)
        params = &given.pool
    elif name == "limiting":
        given.limit.struct_size = sizeof(given.limit)
        unsigned_of(limit, "limit", &given.limit.limit)
        params = &given.limit
    elif name == "logging":
        kept = log_parameters(parameters, companion, &given.log)
        params = &given.log
    elif name == "tracking":
        given.track.struct_size = sizeof(given.track)
        given.track.caller = write_caller
        params = &given.track
    elif name == "retrying":
        kept = kept_for_c(companion, retry, "retry")
        given.retry.struct_size = sizeof(given.retry)
        given.retry.retry = ask_again
        given.retry.context = kept
        given.retry.destroy = cai_py_let_go
        params = &given.retry
    if name == "logging" and file:
        given.log.path = file
    with nogil:
        status = cai_manager_create(name_text, params, native, above, &made, &error)
    if status != CAI_OK and kept != NULL:
        cai_py_drop(kept)
    succeed(status, &error)
    self = wrap_manager(made, upstream)
    self.companion = companion
    return self


cdef struct Parameters:
    cai_pool_params pool
    cai_limit_params limit
    cai_log_params log
    cai_track_params track
    cai_retry_params retry


cdef int pool_parameters(dict given, cai_pool_params *out) except -1:
    threshold = given.get("threshold", 0)
    out.struct_size = sizeof(out[0])
    unsigned_of(given.get("initial", 0), "initial", &out.initial)
    unsigned_of(given.get("maximum", 0), "maximum", &out.maximum)
    unsigned_of(UINT64_MAX if threshold == -1 else threshold, "threshold", &out.threshold)
    if given.get("exportable"):
        out.flags |= CAI_POOL_EXPORTABLE
    if given.get("install"):
        out.flags |= CAI_POOL_INSTALL
    return 0


cdef cai_py_kept *log_parameters(dict given, Companion companion,
                                 cai_log_params *out) except? NULL:
    """Fills in all but the path. Returns C's reference to the companion, if there is a callback."""
    cdef cai_py_kept *kept = NULL
    write = given.get("write")
    if (given.get("path") is None) == (write is None):
        raise TypeError("memory_manager('logging') takes either `path` or `write`")
    out.struct_size = sizeof(out[0])
    out.caller = write_caller
    if write is not None:
        kept = kept_for_c(companion, write, "write")
        out.write = write_line
        out.context = kept
        out.destroy = cai_py_let_go
    return kept


cdef cai_py_kept *kept_for_c(Companion companion, function, str what) except NULL:
    cdef cai_py_kept *kept
    if not callable(function):
        raise TypeError(f"{what} is {shown(function)}, which cannot be called")
    companion.function = function
    kept = cai_py_keep(<PyObject *>companion, False)
    if kept == NULL:
        raise MemoryError()
    return kept


cdef object function_of(void *context):
    return (<Companion>(<cai_py_kept *>context).object).function


cdef void write_line(void *context, const char *line, uint64_t length) noexcept nogil:
    cdef PyGILState_STATE state
    if cai_py_enter(&state):
        write_line_here(context, line, length)
        cai_py_leave(state)


cdef void write_line_here(void *context, const char *line, uint64_t length) noexcept with gil:
    function = function_of(context)
    try:
        if function is not None:
            function(line[:length].decode("utf-8", "replace"))
    except BaseException as failure:
        complain(failure, function)


cdef int32_t ask_again(void *context, uint64_t size, uint64_t attempt) noexcept nogil:
    cdef PyGILState_STATE state
    cdef int32_t again = 0
    if cai_py_enter(&state):
        again = ask_again_here(context, size, attempt)
        cai_py_leave(state)
    return again


cdef int32_t ask_again_here(void *context, uint64_t size, uint64_t attempt) noexcept with gil:
    function = function_of(context)
    try:
        return 1 if function is not None and function(size, attempt) else 0
    except BaseException as failure:
        complain(failure, function)
    return 0


# ---- The caller's line -----------------------------------------------------------------------

cdef str PACKAGE = os.path.join(os.path.dirname(__file__), "")


cdef void write_caller(void *context, char *text, uint64_t size) noexcept nogil:
    """Writes the innermost line of Python outside of libcai; the end of a text that is too long."""
    cdef PyGILState_STATE state
    if size > 0:
        text[0] = 0
    if runs_python() and cai_py_enter(&state):
        write_caller_here(text, size)
        cai_py_leave(state)


cdef void write_caller_here(char *text, uint64_t size) noexcept with gil:
    cdef bytes line
    cdef const char *data
    cdef uint64_t length
    try:
        frame = sys._getframe(0)
        while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
            frame = frame.f_back
        if frame is None:
            return
        line = f"{frame.f_code.co_filename}:{frame.f_lineno}".encode("utf-8", "replace")
        data = line
        length = len(line)
        if length > size:
            line = line[length - size:].decode("utf-8", "ignore").encode()
            data = line
            length = len(line)
        memcpy(text, data, length)
        text[length] = 0
    except BaseException:
        pass  # a thread whose last frame is gone: its caller is not known
