# SPDX-License-Identifier: BSD-3-Clause
# A part of _devices. Needs device, manager, memory.
#
# Managers written in Python. C holds a link to one. The manager holds the C handle. It is held by
# its allocated blocks, by being installed, and, if C made it by itself, by the link.

cdef object names = weakref.WeakKeyDictionary()      # of tables, by class
cdef set names_taken = set()
cdef object chosen = None                            # the class passed to set_memory_manager()
cdef object instances = weakref.WeakValueDictionary()  # by Device: the manager that C made of it

cdef dict PAIRS = {
    "memalloc": "memfree", "memhostalloc": "memhostfree", "mempin": "memunpin",
    "open_ipc_handle": "close_ipc_handle"}


cdef bytes table_name(cls):
    """Registers a table for a class, once; returns its name."""
    cdef cai_manager_table *table
    cdef cai_error error
    cdef bytes data
    name = names.get(cls)
    if name is not None:
        return name
    for method in ("memalloc", "memfree"):
        if not callable(getattr(cls, method, None)):
            raise TypeError(f"{cls.__name__} has no method {method}()")
    for first, second in PAIRS.items():
        if callable(getattr(cls, first, None)) != callable(getattr(cls, second, None)):
            raise TypeError(f"{cls.__name__} has one of {first}() and {second}(), not both")
    stem = name = "".join(
        c if c.isascii() and (c.isalnum() or c in "_-.") else "_"
        for c in f"{cls.__module__}.{cls.__qualname__}")
    while name in names_taken:
        name = f"{stem}-{len(names_taken)}"
    data = name.encode()
    table = <cai_manager_table *>malloc(sizeof(cai_manager_table) + len(data) + 1)
    if table == NULL:
        raise MemoryError()
    memcpy(table, &cai_py_outer, sizeof(cai_manager_table))
    memcpy(table + 1, <const char *>data, len(data) + 1)
    table.name = <const char *>(table + 1)
    leave_out(cls, table)
    status = cai_manager_register(data, table, &error)
    if status != CAI_OK:
        free(table)
    succeed(status, &error)
    names_taken.add(name)
    names[cls] = data
    return data


cdef int leave_out(cls, cai_manager_table *table) except -1:
    """Leaves out functions that the class lacks: upstream's or libcai's are used."""
    def lacks(method):
        return not callable(getattr(cls, method, None))
    if lacks("memhostalloc"):
        table.memhostalloc = NULL
        table.memhostfree = NULL
    if lacks("mempin"):
        table.mempin = NULL
        table.memunpin = NULL
    if lacks("base"):
        table.base = NULL
    if lacks("get_ipc_handle"):
        table.get_ipc_handle = NULL
    if lacks("open_ipc_handle"):
        table.open_ipc_handle = NULL
        table.close_ipc_handle = NULL
    if lacks("get_memory_info"):
        table.get_memory_info = NULL
    if lacks("defer_cleanup"):
        table.defer_cleanup = NULL
    if lacks("trim"):
        table.trim = NULL
    return 0


cdef int make_python_manager(MemoryManager self, device, upstream) except -1:
    cdef bytes name = table_name(type(self))
    cdef const char *text = name
    cdef cai_manager *above = manager_handle(upstream, "upstream")
    cdef cai_manager *made = NULL
    cdef const void *params = <const void *>self
    cdef cai_device native
    cdef cai_error error
    cdef cai_status status
    place(device, None, upstream, "gpu", &native)
    if self.link != NULL or self.deferrals is not None:  # by an argument's own method
        raise TypeError("a libcai.MemoryManager cannot be made twice")
    self.deferrals = []
    before = getattr(entered, "making", None)
    entered.making = self
    try:
        with nogil:
            status = cai_manager_create(text, params, native, above, &made, &error)
    finally:
        entered.making = before
    if status != CAI_OK:
        self.link = NULL  # C has ended it
        self.deferrals = None
    succeed(status, &error)
    self.manager = made
    self.upstream = upstream
    managers[<uint64_t>made] = self
    return 0


cdef int unlink(cai_py_link *link) except -1:
    link.manager = NULL
    return 0


cdef object chosen_manager(cai_manager *manager):
    """The Python object of a manager that C created itself, of a Python class."""
    found = instances.get(device_object(cai_manager_device(manager)))
    if found is not None and names.get(type(found)) == cai_manager_name(manager):
        return found
    return None


def set_memory_manager(manager):
    """Chooses the manager of every GPU that has none yet. Overrides the environment variable
    ``CAI_MEMORY_MANAGER``.

    Parameters
    ----------
    manager : str, type or None
        A name as `memory_manager` takes it; or a subclass of `MemoryManager`, which is called with
        the device; None: use the environment again.

    Raises
    ------
    UseError
        For an unknown name, and a library that cannot be loaded; nothing is changed.
    TypeError
        For an argument that is neither a name nor such a class, and for a class without the
        methods.
    VersionError
        For a library built for another version of managers.

    See Also
    --------
    MemoryManager.install : for an existing manager, and for GPUs that have one.
    """
    global chosen
    cdef bytes name
    cdef const char *text = NULL
    cdef cai_error error
    cdef cai_status status
    before = chosen
    if isinstance(manager, type) and issubclass(manager, MemoryManager):
        name = table_name(manager)
        text = name
        chosen = manager
    elif manager is not None:
        if not isinstance(manager, str):
            raise TypeError(
                "the name of a manager, or a subclass of libcai.MemoryManager, is required, not "
                f"{shown(manager)}")
        name = text_for_c(manager, "manager")
        text = name
    with nogil:
        status = cai_manager_choose(text, &error)
    if status != CAI_OK:
        chosen = before
    succeed(status, &error)


# ---- What C calls ----------------------------------------------------------------------------

cdef bint has_gone(void *link) noexcept:
    """Whether the manager's object has gone, or is going: its attributes go before __dealloc__, and
    may release the GIL."""
    cdef PyObject *manager = (<cai_py_link *>link).manager
    return manager == NULL or Py_REFCNT(manager) == 0


cdef MemoryManager linked(void *link):
    if has_gone(link):
        raise StateError("the manager's Python object has gone")
    return <MemoryManager><object>(<cai_py_link *>link).manager


cdef int take_block(MemoryManager self, answer, uint64_t size, uint32_t kind,
                    cai_block *out) except -1:
    """Unpacks the result of an allocation. It keeps the manager alive until it is freed."""
    cdef cai_block block
    cdef tuple parts = tuple(answer) if isinstance(answer, tuple) else ()
    is_address = hasattr(type(answer), "__index__")
    if not is_address and len(parts) != 3:
        raise TypeError(
            f"{type(self).__name__} returned {shown(answer)} for memory, neither an address nor "
            "(address, host, size)")
    address, host, length = (answer, 0, size) if is_address else parts
    try:
        unsigned_of(address, "address", &block.data)
        unsigned_of(host or 0, "host", &block.host)
        unsigned_of(length, "size", &block.size)
    except (TypeError, UseError) as failure:
        raise type(failure)(
            f"{type(self).__name__} returned {shown(answer)} for memory: {failure}") from None
    if is_address:
        dereferenceable = cai_is_dereferenceable(cai_manager_device(self.manager), kind)
        block.host = block.data if dereferenceable else 0
    block.cookie = kind
    out[0] = block
    if self.out == 0:
        Py_INCREF(self)
    self.out += 1
    return 0


cdef int give_back(MemoryManager self, int64_t blocks) except -1:
    if self.out > 0:
        self.out = max(self.out - blocks, 0)
        if self.out == 0:
            Py_DECREF(self)
    return 0


cdef cai_status free_failed(MemoryManager self, exception, method, cai_error *error) noexcept:
    """Handles a failed free. A block that a capture keeps from being freed stays allocated; no
    other is freed again."""
    cdef cai_status status = tell_of_free(self, exception, method, error)
    if status != CAI_ERR_CAPTURE and self is not None:
        give_back(self, 1)
    return status


cdef int forget_blocks(device) except -1:
    """The context of a GPU has been destroyed: its allocations will not be freed."""
    cdef MemoryManager manager
    for manager in list(managers.values()):
        if manager.link != NULL and manager.device == device:
            give_back(manager, manager.out)
    return 0


cdef int must_be_of(made, device) except -1:
    """Checks what the chosen class has made for a device."""
    manager_handle(made, f"what {chosen.__name__}({str(device)!r}) returned")
    if made.device != device:
        raise UseError(f"{chosen.__name__}, called for {device}, made a manager of {made.device}")
    return 0


cdef cai_status manager_create(const void *params, cai_device device, cai_manager *upstream,
                               void **out, cai_error *error) noexcept with gil:
    cdef cai_py_link *link = <cai_py_link *>calloc(1, sizeof(cai_py_link))
    try:
        if link == NULL:
            raise MemoryError()
        making = getattr(entered, "making", None)
        if params != NULL:
            if params != <const void *>making:
                raise UseError("params: a manager of a Python class is made by Python")
            (<MemoryManager>making).link = link
            link.manager = <PyObject *>making
        else:
            made = chosen(device_object(device))
            must_be_of(made, device_object(device))
            link.owned = cai_py_keep(<PyObject *>made, False)
            if link.owned == NULL:
                raise MemoryError()
            link.manager = <PyObject *>made
            instances[device_object(device)] = made
        out[0] = link
        return CAI_OK
    except BaseException as failure:
        free(link)
        return tell(failure, error)


cdef cai_status manager_initialize(void *link, cai_error *error) noexcept with gil:
    try:
        initialize = getattr(linked(link), "initialize", None)
        if initialize is not None:
            initialize()
        return CAI_OK
    except BaseException as failure:
        return tell(failure, error)


cdef cai_status manager_reset(void *link, cai_error *error) noexcept with gil:
    if has_gone(link):
        return CAI_OK  # and has nothing to drop
    try:
        reset = getattr(linked(link), "reset", None)
        if reset is not None:
            reset()
        return CAI_OK
    except BaseException as failure:
        return tell(failure, error)


cdef cai_status manager_memalloc(void *link, uint64_t size, uint64_t align, uint32_t kind,
                                 uint64_t stream, cai_block *out,
                                 cai_error *error) noexcept with gil:
    cdef MemoryManager self
    cdef cai_status status
    try:
        self = linked(link)
        answer = (<object>self).memalloc(size, align, kind_name(kind), stream)
        take_block(self, answer, size, kind, out)
        return CAI_OK
    except BaseException as failure:
        status = tell(failure, error)
        if status == CAI_ERR_MEMORY and error != NULL:
            error.native = 2  # the device's
        return status


cdef cai_status manager_memfree(void *link, const cai_block *block, uint64_t stream,
                                cai_error *error) noexcept with gil:
    cdef MemoryManager self = None
    try:
        self = linked(link)
        (<object>self).memfree(block.data, block.size, kind_name(<uint32_t>block.cookie), stream)
        give_back(self, 1)
        return CAI_OK
    except BaseException as failure:
        return free_failed(self, failure, "memfree", error)


cdef cai_status manager_memhostalloc(void *link, uint64_t size, uint64_t align, uint32_t kind,
                                     uint32_t flags, cai_block *out,
                                     cai_error *error) noexcept with gil:
    cdef MemoryManager self
    try:
        self = linked(link)
        answer = (<object>self).memhostalloc(size, align, kind_name(kind), flags)
        take_block(self, answer, size, kind, out)
        return CAI_OK
    except BaseException as failure:
        return tell(failure, error)


cdef cai_status manager_memhostfree(void *link, const cai_block *block,
                                    cai_error *error) noexcept with gil:
    cdef MemoryManager self = None
    try:
        self = linked(link)
        (<object>self).memhostfree(block.data, block.size, kind_name(<uint32_t>block.cookie))
        give_back(self, 1)
        return CAI_OK
    except BaseException as failure:
        return free_failed(self, failure, "memhostfree", error)


cdef cai_status manager_mempin(void *link, void *host, uint64_t size, uint32_t kind, uint32_t flags,
                               cai_block *out, cai_error *error) noexcept with gil:
    cdef MemoryManager self
    try:
        self = linked(link)
        answer = (<object>self).mempin(<uint64_t>host, size, kind_name(kind), flags)
        if not isinstance(answer, tuple):
            answer = (answer, <uint64_t>host, size)
        take_block(self, answer, size, kind, out)
        return CAI_OK
    except BaseException as failure:
        return tell(failure, error)


cdef cai_status manager_memunpin(void *link, const cai_block *block,
                                 cai_error *error) noexcept with gil:
    cdef MemoryManager self = None
    try:
        self = linked(link)
        (<object>self).memunpin(block.data, block.size, kind_name(<uint32_t>block.cookie))
        give_back(self, 1)
        return CAI_OK
    except BaseException as failure:
        return free_failed(self, failure, "memunpin", error)


cdef cai_status manager_base(void *link, uint64_t address, uint64_t *base, uint64_t *size,
                             cai_error *error) noexcept with gil:
    try:
        return unpack_two((<object>linked(link)).base(address), base, size)
    except BaseException as failure:
        return tell(failure, error)


cdef cai_status manager_get_memory_info(void *link, uint64_t *left, uint64_t *total,
                                        cai_error *error) noexcept with gil:
    try:
        return unpack_two((<object>linked(link)).get_memory_info(), left, total)
    except BaseException as failure:
        return tell(failure, error)


cdef cai_status unpack_two(answer, uint64_t *first, uint64_t *second) except? CAI_ERR_STATE:
    cdef uint64_t one, two
    cdef tuple pair = tuple(answer) if isinstance(answer, (tuple, list)) else ()
    if len(pair) != 2:
        raise TypeError(f"a manager's method returned {shown(answer)}, not a pair of numbers")
    given, other = pair
    if not (hasattr(type(given), "__index__") and hasattr(type(other), "__index__")):
        raise TypeError(f"a manager's method returned {shown(answer)}, not a pair of numbers")
    unsigned_of(given, "the first number", &one)
    unsigned_of(other, "the second number", &two)
    first[0] = one
    second[0] = two
    return CAI_OK


cdef cai_status manager_get_ipc_handle(void *link, const cai_block *block, cai_ipc_handle *out,
                                       int32_t *fd, cai_error *error) noexcept with gil:
    cdef bytes data
    try:
        from libcai._ipc import IpcHandle
        handle = (<object>linked(link)).get_ipc_handle(block.data, block.size)
        if not isinstance(handle, (IpcHandle, bytes, bytearray, memoryview)):
            raise TypeError(f"get_ipc_handle() returned {shown(handle)}, not a libcai.IpcHandle")
        data = bytes(handle)
        if len(data) != sizeof(cai_ipc_handle):
            raise UseError(
                f"get_ipc_handle() returned {len(data)} bytes: a handle has {sizeof(cai_ipc_handle)}")
        descriptor = getattr(handle, "fd", None)
        fd[0] = -1 if descriptor is None else os.dup(descriptor)
        memcpy(out, <const char *>data, sizeof(cai_ipc_handle))
        return CAI_OK
    except BaseException as failure:
        return tell(failure, error)


cdef cai_status manager_open_ipc_handle(void *link, const cai_ipc_handle *handle, int32_t fd,
                                        uint64_t stream, cai_block *out,
                                        cai_error *error) noexcept with gil:
    cdef MemoryManager self
    cdef cai_block block
    try:
        from libcai._ipc import IpcHandle
        self = linked(link)
        data = IpcHandle(PyBytes_FromStringAndSize(<const char *>handle, sizeof(cai_ipc_handle)))
        answer = (<object>self).open_ipc_handle(data, None if fd < 0 else fd, stream)
        take_block(self, answer, handle.size, CAI_KIND_DEFAULT, &block)
        if block.data == 0:
            give_back(self, 1)
            raise StateError(f"manager {text_of(cai_manager_name(self.manager))}: open_ipc_handle "
                             f"returned {block.size} bytes at 0x0")
        out[0] = block
        return CAI_OK
    except BaseException as failure:
        return tell(failure, error)


cdef cai_status manager_close_ipc_handle(void *link, const cai_block *block, uint64_t stream,
                                         cai_error *error) noexcept with gil:
    cdef MemoryManager self = None
    try:
        self = linked(link)
        (<object>self).close_ipc_handle(block.data, block.size, stream)
        give_back(self, 1)
        return CAI_OK
    except BaseException as failure:
        return free_failed(self, failure, "close_ipc_handle", error)


cdef cai_status manager_defer_cleanup(void *link, int32_t enter,
                                      cai_error *error) noexcept with gil:
    cdef MemoryManager self
    try:
        self = linked(link)
        if enter:
            deferral = (<object>self).defer_cleanup()
            if not hasattr(type(deferral), "__enter__"):
                raise TypeError(
                    f"defer_cleanup() returned {shown(deferral)}, which is no context manager")
            deferral.__enter__()
            self.deferrals.append(deferral)
        elif self.deferrals:
            self.deferrals.pop().__exit__(None, None, None)
        else:
            raise StateError("cleaning up is not deferred")
        return CAI_OK
    except BaseException as failure:
        return tell(failure, error)


cdef cai_status manager_trim(void *link, uint64_t keep, cai_error *error) noexcept with gil:
    try:
        (<object>linked(link)).trim(keep)
        return CAI_OK
    except BaseException as failure:
        return tell(failure, error)


cdef int fill_table() except -1:
    cai_py_inner.create = manager_create
    cai_py_inner.initialize = manager_initialize
    cai_py_inner.reset = manager_reset
    cai_py_inner.memalloc = manager_memalloc
    cai_py_inner.memfree = manager_memfree
    cai_py_inner.memhostalloc = manager_memhostalloc
    cai_py_inner.memhostfree = manager_memhostfree
    cai_py_inner.mempin = manager_mempin
    cai_py_inner.memunpin = manager_memunpin
    cai_py_inner.base = manager_base
    cai_py_inner.get_ipc_handle = manager_get_ipc_handle
    cai_py_inner.open_ipc_handle = manager_open_ipc_handle
    cai_py_inner.close_ipc_handle = manager_close_ipc_handle
    cai_py_inner.get_memory_info = manager_get_memory_info
    cai_py_inner.defer_cleanup = manager_defer_cleanup
    cai_py_inner.trim = manager_trim
    return 0
