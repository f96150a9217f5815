# SPDX-License-Identifier: BSD-3-Clause
# A part of _devices. Needs built_in, device, memory, python_manager, stream.
#
# libcai.MemoryManager: a reference to a cai_manager, built in or of a Python class.

cdef object managers = weakref.WeakValueDictionary()  # by cai_manager: those made by Python
cdef dict installed = {}                              # by Device: each until another is installed


cdef cai_manager *manager_handle(manager, str what="manager") except? NULL:
    if manager is None:
        return NULL
    if not isinstance(manager, MemoryManager):
        raise TypeError(f"{what} is {shown(manager)}, and a libcai.MemoryManager is required")
    if (<MemoryManager>manager).manager == NULL:
        raise StateError(f"{type(manager).__name__}.__init__() did not call super().__init__()")
    return (<MemoryManager>manager).manager


cdef class MemoryManager:
    """A memory manager of one device. Subclass it to write your own; `memory_manager` creates the
    built-in ones.

    Parameters
    ----------
    device : Device or str, optional
        The device; by default `upstream`'s, or else ``'gpu'``.
    upstream : MemoryManager, optional
        A manager of that device, for the methods that the subclass does not define; without it,
        libcai's defaults.

    Raises
    ------
    TypeError
        If a method is missing, or only one of a pair is defined.
    UseError
        If `upstream` is a manager of another device.

    Notes
    -----
    A subclass must have these methods. Addresses are int, sizes and alignments are in bytes, a kind
    is a name as for `Memory`, and a stream is 1, 2 or a ``CUstream``, or 0 on the CPU. They run on
    any thread, and on several at a time where there is no GIL, with the GPU's primary context
    current. Their exceptions are raised to the caller; for a free without a caller, they go to
    ``sys.unraisablehook``. They may call libcai, but endless recursion raises a `StateError`.

    ``memalloc(size, align, kind, stream)``
        Returns an address, or ``(address, host address or 0, size)``; an answer that is refused is
        an exception, and is not freed. Raises MemoryError if memory is short: libcai then runs the
        pending frees and calls it once more; if there is an upstream manager, only if something was
        pending. Raises NotImplementedError for a kind that it does not have.
    ``memfree(address, size, kind, stream)``
        Frees a block, in the order of the stream, without waiting for the device. A `CudaError`
        with the status of a capture (-12), as `free` of an upstream manager raises it, means that a
        capture of the stream forbids it: the block stays allocated, and libcai frees it again
        later. The same holds for all methods that undo another one; after any other exception
        libcai does not free the block again. libcai neither allocates nor frees kind ``'async'`` on
        a stream that is being captured, and frees no `Memory` there. A manager that allocates other
        kinds in stream order must check that itself for `alloc` and `free`.

    and may have these:

    ``initialize()``
        Called before the first allocation, and may be called again; it cannot allocate from the
        manager itself.
    ``reset()``
        Drops cached memory, since the device is being reset. Allocated memory is still freed later,
        unless the context is destroyed.
    ``memhostalloc(size, align, kind, flags)``, ``memhostfree(address, size, kind)``
        Pinned, mapped and host memory; returns as ``memalloc`` does. `flags` are 1 for portable, 2
        for write-combined.
    ``mempin(host, size, kind, flags)``, ``memunpin(address, size, kind)``
        Pins existing host memory; returns the address for kernels. ``memunpin`` undoes it at once,
        even if that waits for the device.
    ``base(address)``
        Returns ``(base, size)`` of the driver's allocation.
    ``get_ipc_handle(address, size)``
        Returns an `IpcHandle`, with its descriptor if it has one.
    ``open_ipc_handle(handle, fd, stream)``, ``close_ipc_handle(address, size, stream)``
        Memory of other processes; returns as ``memalloc`` does.
    ``get_memory_info()``
        Returns ``(free, total)``.
    ``defer_cleanup()``
        Returns a context manager in which no pending free runs.
    ``trim(keep)``
        Releases cached memory, down to `keep` bytes.

    Allocated memory keeps the manager alive, and the garbage collector does not see that: a manager
    with its own memory in an attribute lives until that memory is freed. NBEP 7,
    ``BaseCUDAMemoryManager``.
    """

    cdef cai_manager *manager
    cdef cai_py_link *link  # for a Python class: the object that its C side holds
    cdef int64_t out        # for a Python class: allocated blocks
    cdef readonly object upstream
    cdef list deferrals     # for a Python class: what defer_cleanup() returned, entered
    cdef object companion   # functions that C calls, for logs and retries
    cdef object __weakref__

    def __init__(self, device=None, *, upstream=None):
        if type(self) is MemoryManager:
            raise TypeError("libcai.MemoryManager is subclassed, or made by libcai.memory_manager()")
        if self.manager != NULL:
            raise TypeError("a libcai.MemoryManager cannot be made twice")
        make_python_manager(self, device, upstream)

    def __dealloc__(self):
        cdef cai_manager *manager = self.manager
        self.manager = NULL
        if self.link != NULL:
            unlink(self.link)
            self.link = NULL
        if self.companion is not None:
            (<Companion>self.companion).function = None
        if manager != NULL:
            with nogil:
                cai_manager_release(manager)
        cai_py_drop_queued()

    @staticmethod
    def of(device="gpu"):
        """Returns the manager of a device. libcai creates it on first need: as chosen by
        `set_memory_manager`, else by the environment variable ``CAI_MEMORY_MANAGER``, else
        ``"default"``."""
        cdef cai_device native
        cdef cai_manager *out = NULL
        cdef cai_error error
        cdef cai_status status
        device_of(device, &native)
        with nogil:
            status = cai_manager_of(native, &out, &error)
        succeed(status, &error)
        return wrap_manager(out, None)

    @property
    def name(self):
        """Its name; for a Python class, a name derived from the class's name."""
        return text_of(cai_manager_name(self.manager))

    @property
    def device(self):
        """Its `Device`."""
        manager_handle(self)
        return device_object(cai_manager_device(self.manager))

    def install(self):
        """Makes it the manager of its device. Memory that is already allocated stays with its own
        manager."""
        cdef cai_manager *manager = manager_handle(self)
        cdef cai_device device = cai_manager_device(manager)
        cdef cai_error error
        cdef cai_status status
        with nogil:
            status = cai_manager_install(device, manager, &error)
        succeed(status, &error)
        installed[device_object(device)] = self

    def alloc(self, size, *, align=0, kind="default", stream=None):
        """Allocates without a handle, for adaptors; free it with `free`.

        Returns
        -------
        Block
            ``(address, host, size, cookie)``; zeros for size 0.

        Raises
        ------
        MemoryError, UseError, CudaError
            As `Memory`; and the manager's exceptions.
        """
        cdef uint64_t bytes_, alignment, value
        cdef uint32_t number = kind_of(kind)
        cdef cai_manager *manager = manager_handle(self)
        cdef cai_block block
        cdef cai_error error
        cdef cai_status status
        unsigned_of(size, "size", &bytes_)
        unsigned_of(align, "align", &alignment)
        value = value_on(manager, stream)
        with nogil:
            status = cai_manager_alloc(manager, bytes_, alignment, number, value, &block, &error)
        succeed(status, &error)
        return Block(block.data, block.host, block.size, block.cookie)

    def free(self, block, *, kind="default", stream=None):
        """Frees a block of `alloc`, in the order of a stream; `kind` as for `alloc`.

        Raises
        ------
        TypeError
            If `block` is not four numbers.
        StateError, UseError, CudaError
            And the manager's exceptions.
        """
        cdef uint32_t number = kind_of(kind)
        cdef cai_manager *manager = manager_handle(self)
        cdef tuple parts
        cdef uint64_t value
        cdef cai_block native
        cdef cai_error error
        cdef cai_status status
        # A list may change while a number is read.
        parts = tuple(block) if isinstance(block, (tuple, list)) else ()
        if len(parts) != 4:
            raise TypeError(
                f"a block is (address, host, size, cookie), as alloc() returned it, not {shown(block)}")
        unsigned_of(parts[0], "address", &native.data)
        unsigned_of(parts[1], "host", &native.host)
        unsigned_of(parts[2], "size", &native.size)
        unsigned_of(parts[3], "cookie", &native.cookie)
        value = value_on(manager, stream)
        with freeing, nogil:
            status = cai_manager_free(manager, &native, number, value, &error)
        succeed(status, &error)

    @property
    def memory(self):
        """``(free, total)`` in bytes, as the manager reports them."""
        cdef cai_manager *manager = manager_handle(self)
        cdef uint64_t left = 0, total = 0
        cdef cai_error error
        cdef cai_status status
        with nogil:
            status = cai_manager_memory(manager, &left, &total, &error)
        succeed(status, &error)
        return MemoryInfo(left, total)

    def trim_cache(self, keep=0):
        """Releases cached memory, down to `keep` bytes."""
        cdef cai_manager *manager = manager_handle(self)
        cdef uint64_t limit
        cdef cai_error error
        cdef cai_status status
        unsigned_of(keep, "keep", &limit)
        with nogil:
            status = cai_manager_trim(manager, limit, &error)
        succeed(status, &error)

    @property
    def statistics(self):
        """The counts of the manager, or of the first upstream manager that counts: a `Statistics`.
        CudaError if none counts."""
        cdef cai_manager *manager = manager_handle(self)
        cdef cai_statistics out
        cdef cai_error error
        cdef cai_status status
        memset(&out, 0, sizeof(out))
        out.struct_size = sizeof(out)
        with nogil:
            status = cai_manager_statistics(manager, &out, &error)
        succeed(status, &error)
        return Statistics(out.bytes, out.bytes_peak, out.bytes_total, out.count, out.count_peak,
                          out.count_total, out.failures)

    def outstanding(self):
        """Returns the allocations that are not freed, of the manager or of the first upstream
        manager that tracks: a list of `Allocation`, the oldest first. CudaError if none tracks."""
        cdef cai_manager *manager = manager_handle(self)
        cdef list found = []
        cdef cai_error error
        cdef cai_status status
        with nogil:
            status = cai_manager_outstanding(manager, note_allocation, <void *>found, &error)
        succeed(status, &error)
        return found

    def __reduce__(self):
        raise TypeError("a libcai.MemoryManager cannot be pickled: it is of this process")

    def __repr__(self):
        if self.manager == NULL:
            return f"<{type(self).__name__}: not made yet>"
        return f"<libcai.MemoryManager {self.name} device={self.device}>"


cdef object wrap_manager(cai_manager *manager, upstream):
    """The MemoryManager that Python has made of it, or a new one; takes over one reference."""
    cdef MemoryManager self
    known = managers.get(<uint64_t>manager)
    if known is None:
        known = chosen_manager(manager)
    if known is not None:
        with nogil:
            cai_manager_release(manager)
        return known
    try:
        self = MemoryManager.__new__(MemoryManager)
    except BaseException:
        with nogil:
            cai_manager_release(manager)
        raise
    self.manager = manager
    self.upstream = upstream
    managers[<uint64_t>manager] = self
    return self


cdef uint64_t value_on(cai_manager *manager, stream) except? 0:
    """The value of a stream, or of the current stream of the manager's device."""
    cdef cai_device device = cai_manager_device(manager)
    cdef Stream on
    if stream is None:
        on = current_stream(device)
        return cai_stream_value(on.stream)
    if type(stream) is Stream:
        return cai_stream_value((<Stream>stream).stream)
    number = resolve(stream)
    if number < 0:
        raise UseError("stream -1 means no order, and is no stream")
    return number


cdef void note_allocation(void *context, const cai_allocation *allocation) noexcept nogil:
    cdef PyGILState_STATE state
    if cai_py_enter(&state):
        note_allocation_here(context, allocation)
        cai_py_leave(state)


cdef void note_allocation_here(void *context, const cai_allocation *a) noexcept with gil:
    try:
        (<list><PyObject *>context).append(Allocation(
            a.data, a.size, kind_name(a.kind), a.stream, a.seconds, text_of(a.caller)))
    except MemoryError:
        pass
