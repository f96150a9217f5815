# SPDX-License-Identifier: BSD-3-Clause
# A part of _devices. Needs device, manager, stream, work.
#
# libcai.Memory: a reference to a cai_memory.

cdef dict OPENINGS = {
    "auto": CAI_OPEN_AUTO, "direct": CAI_OPEN_DIRECT, "staged": CAI_OPEN_STAGED}

cdef uint32_t kind_of(given) except? 0xFFFFFFFF:
    cdef bytes text = text_for_c(given, "kind")
    cdef uint32_t kind = 0
    cdef cai_error error
    succeed(cai_kind_parse(text, &kind, &error), &error)
    return kind


cdef str kind_name(uint32_t kind):
    return text_of(cai_kind_name(kind)) or str(kind)


cdef uint32_t host_flags(portable, write_combined) except? 0xFFFFFFFF:
    return ((CAI_HOST_PORTABLE if portable else 0)
            | (CAI_HOST_WRITE_COMBINED if write_combined else 0))


cdef Memory wrap_memory(cai_memory *memory):
    """Makes a Memory that takes over one reference."""
    cdef Memory self
    try:
        self = Memory.__new__(Memory)
    except BaseException:
        with nogil:
            cai_memory_release(memory)
        raise
    self.memory = memory
    return self


@cython.final
cdef class Memory:
    """Reference-counted memory of any kind, on a GPU or the CPU.

    Parameters
    ----------
    size : int
        Bytes; of one row, if there are rows. Memory of size 0 has no address.
    kind : str
        ``'default'``: the device's own. ``'async'``: likewise, stream-ordered. ``'pitched'`` and
        ``'pitched_managed'``: in rows padded to 256 bytes. ``'pinned'``: the host's, fast for a GPU
        to copy. ``'mapped'``: pinned, and kernels use it in place. ``'managed'`` (for one stream)
        and ``'managed_global'``: migrates. ``'cuda_array'``: for textures, without an address.
        ``'host'``: the heap.
    device : Device or str, optional
        Default: the stream's device, or the manager's, or the current GPU.
    stream : Stream or object, optional
        The stream on which it is allocated, and in whose order it is freed; what `Stream.wrap`
        takes. Default: the thread's current stream of the device.
    manager : MemoryManager, optional
        Default: the device's manager.
    align : int
        A power of two; 0: 256, or 64 for host memory.
    rows, depth : int
        For pitched memory and CUDA arrays.
    dtype : str or numpy.dtype, optional
        The type of an item of a CUDA array.
    channels : int
        Items of an element of a CUDA array: 1, 2 or 4.
    portable, write_combined : bool
        For pinned and mapped memory: pinned for all GPUs; fast for the host to write, slow to read.

    Raises
    ------
    MemoryError
        If memory is short.
    UseError
        For an invalid value, sizes that overflow, and a stream or manager of another device.
    CudaError
        For a kind that the device does not have, in a capture that forbids it, and if there is no
        such device.

    Notes
    -----
    ``memory[a:b]`` is a view, in bytes, that keeps the whole alive. Memory that the host may use
    has Python's buffer protocol; a buffer waits for pending work. As long as there is a buffer,
    also of an array of the memory, `free` raises BufferError.
    """

    cdef cai_memory *memory
    cdef object failure  # of a buffer, which __array__ must raise
    cdef object __weakref__

    def __init__(self, size, kind="default", *, device=None, stream=None, manager=None, align=0,
                 rows=0, depth=0, dtype=None, channels=0, portable=False, write_combined=False):
        cdef cai_request request
        cdef cai_device native
        cdef cai_memory *made = NULL
        cdef cai_error error
        cdef cai_status status
        cdef Stream on
        if self.memory != NULL:
            raise TypeError("a libcai.Memory cannot be made twice")
        memset(&request, 0, sizeof(request))
        request.struct_size = sizeof(request)
        request.kind = kind_of(kind)
        unsigned_of(size, "size", &request.size)
        unsigned_of(rows, "rows", &request.rows)
        unsigned_of(depth, "depth", &request.depth)
        unsigned_of(align, "align", &request.align)
        request.flags = host_flags(portable, write_combined)
        channels = integer_of(channels, "channels")
        if not 0 <= channels <= 4:
            raise UseError(f"channels is {shown(channels)}, and neither 1, 2 nor 4")
        request.channels = channels
        if dtype is not None:
            dtype_of(dtype, &request.dtype)
        request.manager = manager_handle(manager)
        place(device, stream, manager, "gpu", &native)
        on = stream_of(stream, &native)
        request.stream = handle_of(on)
        with nogil:
            status = cai_memory_alloc(native, &request, &made, &error)
        succeed(status, &error)
        if self.memory != NULL:  # by an argument's own method, or another thread
            with nogil:
                cai_memory_release(made)
            raise TypeError("a libcai.Memory cannot be made twice")
        self.memory = made

    def __dealloc__(self):
        cdef cai_memory *memory = self.memory
        self.memory = NULL
        if memory != NULL:
            with nogil:  # the last release may wait for the driver, and call a manager
                cai_memory_release(memory)
        cai_py_drop_queued()

    @staticmethod
    def pin(buffer, *, device="gpu", kind="pinned", portable=False, write_combined=False):
        """Pins existing host memory, such as a NumPy array's.

        When the last reference is dropped, it is unpinned at once, so that it can be pinned again;
        the driver waits for the whole device first.

        Parameters
        ----------
        buffer : object
            Contiguous and writable, with Python's buffer protocol. It is kept alive, and its buffer
            exported, until the memory is released; for good, if unpinning it fails. The garbage
            collector does not see that: an object that refers to the memory is never freed. Work
            that is queued on a CPU stream holds a reference to the memory of its arrays, which
            `drain` does not wait for: synchronise that stream.
        device : Device or str
            The GPU that will use it.
        kind : str
            ``'pinned'`` or ``'mapped'``.
        """
        cdef uint32_t number = kind_of(kind)
        cdef uint32_t flags = host_flags(portable, write_combined)
        cdef cai_device native
        cdef cai_py_kept *kept
        cdef cai_memory *made = NULL
        cdef cai_error error
        cdef cai_status status
        device_of(device, &native)
        kept = cai_py_keep(NULL, False)
        if kept == NULL:
            raise MemoryError()
        try:
            PyObject_GetBuffer(buffer, &kept.buffer, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)
        except BaseException:
            cai_py_drop(kept)
            raise
        with nogil:
            status = cai_memory_pin(native, kept.buffer.buf, kept.buffer.len, number, flags,
                                    cai_py_let_go, kept, &made, &error)
        if status != CAI_OK:
            cai_py_drop(kept)
        succeed(status, &error)
        return wrap_memory(made)

    @staticmethod
    def wrap(address, size, *, device, kind="default", host=None, owner=None, row=0, pitch=0,
             rows=0):
        """Wraps memory that other code allocated.

        Parameters
        ----------
        address, size : int
            The address for kernels, and bytes. They are not checked: see `validate`.
        device, kind
            As for `Memory`.
        host : int, optional
            The address for the host. Default: `address`, if the host may use the kind.
        owner : object, optional
            Kept alive until the memory is released and its uses are complete. The garbage collector
            does not see that: an owner that refers to the memory, or to arrays of it, is never
            freed.
        row, pitch, rows : int
            For pitched memory.
        """
        cdef cai_memory_info info
        cdef cai_py_kept *kept
        cdef cai_memory *made = NULL
        cdef cai_error error
        cdef cai_status status
        memset(&info, 0, sizeof(info))
        info.struct_size = sizeof(info)
        device_of(device, &info.device)
        info.kind = kind_of(kind)
        unsigned_of(address, "address", &info.data)
        unsigned_of(size, "size", &info.size)
        unsigned_of(row, "row", &info.row)
        unsigned_of(pitch, "pitch", &info.pitch)
        unsigned_of(rows, "rows", &info.rows)
        if host is not None:
            unsigned_of(host, "host", &info.host)
        elif cai_is_dereferenceable(info.device, info.kind):
            info.host = info.data
        kept = cai_py_keep(<PyObject *>owner, False)
        if kept == NULL:
            raise MemoryError()
        with nogil:
            status = cai_memory_wrap(&info, cai_py_let_go, kept, &made, &error)
        if status != CAI_OK:
            cai_py_drop(kept)
        succeed(status, &error)
        return wrap_memory(made)

    @staticmethod
    def find(address):
        """Finds the memory around an address: ``(memory, offset)``, the offset in bytes.

        Raises
        ------
        CudaError
            If libcai allocated no memory there. Wrapped, pinned or opened memory and views are
            never found, and hide no other memory. If a manager returns parts of memory that it had
            allocated before, either may be found.
        """
        cdef uint64_t at, offset = 0
        cdef cai_memory *out = NULL
        cdef cai_error error
        cdef cai_status status
        unsigned_of(address, "address", &at)
        with nogil:
            status = cai_memory_find(at, &out, &offset, &error)
        succeed(status, &error)
        return wrap_memory(out), offset

    @staticmethod
    def of(array):
        """Returns the memory of an array: ``(memory, offset)``, the offset in bytes to the first
        element.

        For an array that libcai did not make, it is new memory of the array's extent, which keeps
        the array alive until the memory and all its arrays are released, also after `free`. The
        garbage collector does not see that: an exporter that refers to the memory is never freed.
        Until that memory is released, uses of its arrays, and uses of the exporter's memory and of
        other imports, do not wait for each other. So use only one of the two, or order them
        yourself.

        Parameters
        ----------
        array : object
            What `asarray` takes.

        Raises
        ------
        StateError
            For an array that libcai did not make, if its memory was freed.
        CudaError
            If the driver does not know the memory, or fails.
        """
        cdef const cai_array *native
        cdef uint64_t offset = 0
        cdef cai_memory *out = NULL
        cdef cai_error error
        cdef cai_status status
        array = asarray(array)
        native = <const cai_array *><uint64_t>array.ptr
        with nogil:
            status = cai_memory_of(native, &out, &offset, &error)
        succeed(status, &error)
        return wrap_memory(out), offset

    @staticmethod
    def open(handle, fd=None, *, device="gpu", stream=None, how="auto"):
        """Opens memory of another process. Memory that is open already is shared.

        Parameters
        ----------
        handle : IpcHandle or bytes-like
            The handle of `share` in that process.
        fd : int, optional
            The received descriptor, for a handle of the kind ``'pool'``; it stays yours to close.
        device : Device or str
            The device that will use it; libcai finds the memory's own device by its UUID.
        stream : Stream or object, optional
            The stream in whose order it is copied and closed.
        how : str
            ``'direct'``: in place. ``'staged'``: as a copy in new memory, queued on the stream,
            which must not be captured. ``'auto'``: direct where possible, else staged.

        Raises
        ------
        StateError
            For a handle of this process, or of a process that has ended; and if the device's
            manager opened it without an address.
        UseError
            For an invalid handle.
        CudaError
            If this process does not see the device, or cannot access it; with the status of a
            capture (-12), if it would be copied, and the stream is being captured.
        """
        cdef cai_ipc_handle native
        cdef cai_device where
        cdef int32_t descriptor = -1
        cdef uint32_t way = word_of(OPENINGS, how, "how")
        cdef bytes data
        cdef Stream on
        cdef cai_memory *out = NULL
        cdef cai_error error
        cdef cai_status status
        from libcai._ipc import IpcHandle
        # Made anew of a subclass, which may return any number of bytes.
        data = bytes(IpcHandle(bytes(handle) if isinstance(handle, IpcHandle) else handle))
        memcpy(&native, <const char *>data, sizeof(native))
        if fd is not None:
            number = integer_of(fd, "fd")
            if not 0 <= number < 1 << 31:
                raise UseError(f"fd is {shown(fd)}, which is no descriptor")
            descriptor = number
        device_of(device, &where)
        on = stream_of(stream, &where)
        with nogil:
            status = cai_memory_open(&native, descriptor, where, handle_of(on), way, &out, &error)
        succeed(status, &error)
        return wrap_memory(out)

    cdef int describe(self, cai_memory_info *out) except -1:
        cdef cai_error error
        memset(out, 0, sizeof(out[0]))
        out.struct_size = sizeof(out[0])
        return succeed(cai_memory_describe(self.memory, out, &error), &error)

    @property
    def device(self):
        """Its `Device`."""
        cdef cai_memory_info info
        self.describe(&info)
        return device_object(info.device)

    @property
    def kind(self):
        """The kind, as requested."""
        cdef cai_memory_info info
        self.describe(&info)
        return kind_name(info.kind)

    @property
    def address(self):
        """The address for kernels; on the CPU, for the host. 0 for a CUDA array, and if there is
        none."""
        cdef cai_memory_info info
        self.describe(&info)
        return info.data

    @property
    def host_address(self):
        """The address for the host; None if the host must not use it, as once it was freed."""
        cdef cai_memory_info info
        self.describe(&info)
        return None if info.flags & CAI_MEMORY_FREED else info.host or None

    @property
    def cuda_array(self):
        """The ``CUarray``; None for other memory."""
        cdef cai_memory_info info
        self.describe(&info)
        return info.array or None

    @property
    def size(self):
        """Bytes in all, padding of rows included."""
        cdef cai_memory_info info
        self.describe(&info)
        return info.size

    def __len__(self):
        return self.size

    @property
    def row(self):
        """Bytes used of a row; `size` if there are no rows."""
        cdef cai_memory_info info
        self.describe(&info)
        return info.row

    @property
    def pitch(self):
        """Bytes from one row to the next; `size` if there are no rows."""
        cdef cai_memory_info info
        self.describe(&info)
        return info.pitch

    @property
    def rows(self):
        """The number of rows; 1 if there are none."""
        cdef cai_memory_info info
        self.describe(&info)
        return info.rows

    @property
    def depth(self):
        """The third dimension of a CUDA array; 1 if there is none."""
        cdef cai_memory_info info
        self.describe(&info)
        return info.depth

    @property
    def stream(self):
        """The value of the stream in whose order it is freed; None on the CPU."""
        cdef cai_memory_info info
        self.describe(&info)
        return info.stream or None

    @property
    def freed(self):
        """Whether it was freed, by `free` or by a reset of the device."""
        cdef cai_memory_info info
        self.describe(&info)
        return info.flags & CAI_MEMORY_FREED != 0

    @property
    def foreign(self):
        """Whether it was wrapped, or is of another process."""
        cdef cai_memory_info info
        self.describe(&info)
        return info.flags & CAI_MEMORY_FOREIGN != 0

    @property
    def is_view(self):
        """Whether it is a part of other memory."""
        cdef cai_memory_info info
        self.describe(&info)
        return info.flags & CAI_MEMORY_VIEW != 0

    @property
    def readonly(self):
        """Whether it must not be written; its arrays and buffers are then read-only."""
        cdef cai_memory_info info
        self.describe(&info)
        return info.flags & CAI_MEMORY_READONLY != 0

    @property
    def is_dereferenceable(self):
        """Whether the host may use it."""
        cdef cai_memory_info info
        self.describe(&info)
        return info.flags & CAI_MEMORY_DEREFERENCEABLE != 0

    def __getitem__(self, key):
        """A view of a part, ``memory[start:stop]`` in bytes."""
        cdef cai_memory *out = NULL
        cdef uint64_t start, stop
        cdef cai_error error
        cdef cai_status status
        if not isinstance(key, slice):
            raise TypeError("memory is indexed by a slice of bytes")
        first, last, step = key.indices(self.size)
        if step != 1:
            raise UseError(f"a view of memory has step 1, not {step}")
        start, stop = first, max(first, last)
        with nogil:
            status = cai_memory_view(self.memory, start, stop, &out, &error)
        succeed(status, &error)
        return wrap_memory(out)

    def free(self):
        """Frees it now, even if references to it remain, in the order of its stream and after
        recorded uses. Its views and arrays become invalid: no use of them can begin, and they
        cannot be exported. Objects that other libraries made of them before, by DLPack, Arrow or an
        address, cannot be revoked.

        Raises
        ------
        StateError
            If it was freed already. The first call after a reset that has ended it succeeds.
        CudaError
            For a view.
        BufferError
            If it has buffers, or one is being taken: memoryviews, or NumPy arrays of it, its views
            or its arrays. An array whose ``__array_interface__``, or `Array.to_interface` for the
            host, was read counts as one as long as it lives.
        """
        cdef cai_error error
        cdef cai_status status
        begin_free(<uint64_t>self.memory)
        try:
            with freeing, nogil:
                status = cai_memory_free(self.memory, &error)
        finally:
            end_free(<uint64_t>self.memory)
        succeed(status, &error)

    def set_stream(self, stream):
        """Sets the stream, of its device, in whose order it is freed. The free still comes after
        work that is pending on the old stream. The new stream counts as the stream of another
        array: before its own work on it the producer must reclaim, and after its own work on
        another stream it must publish."""
        cdef cai_memory_info info
        cdef Stream on
        cdef cai_error error
        cdef cai_status status
        self.describe(&info)
        on = stream_of(stream, &info.device)
        with nogil:
            status = cai_memory_set_stream(self.memory, handle_of(on), &error)
        succeed(status, &error)

    def record(self, stream):
        """Records that the work queued on a stream so far uses the memory: it is not freed before
        that work is complete."""
        cdef cai_memory_info info
        cdef Stream on
        cdef cai_error error
        cdef cai_status status
        self.describe(&info)
        on = stream_of(stream, &info.device)
        with nogil:
            status = cai_memory_record(self.memory, handle_of(on), &error)
        succeed(status, &error)

    def array(self, shape, typestr, strides=None, offset=0):
        """Makes an `Array` of it, which keeps it alive.

        Parameters
        ----------
        shape : int or sequence
            Extents, in elements.
        typestr : str or numpy.dtype
            The type of an element, as for `empty`.
        strides : sequence, optional
            Steps, in bytes; default: C order, with the pitch of pitched memory.
        offset : int
            Bytes to the first element.

        Raises
        ------
        UseError
            If the array leaves the memory.
        StateError
            If it was freed.
        """
        return array_in(self.memory, typestr, shape, strides, offset)

    def share(self):
        """Makes an `IpcHandle`, which another process can open. It keeps the memory alive.

        Raises
        ------
        CudaError
            For memory that cannot be shared: of another kind, of a pool that is not exportable,
            read-only, or with no bytes.
        StateError
            If it was freed, or if the manager returned an invalid handle.
        """
        cdef cai_ipc_handle handle
        cdef int32_t fd = -1
        cdef cai_error error
        cdef cai_status status
        from libcai._ipc import IpcHandle
        with nogil:
            status = cai_memory_share(self.memory, &handle, &fd, &error)
        succeed(status, &error)
        try:
            data = PyBytes_FromStringAndSize(<char *>&handle, sizeof(handle))
            return IpcHandle._made(data, fd, self)
        except BaseException:
            if fd >= 0:
                close_descriptor(fd)
            raise

    @staticmethod
    def validate(address, size=0, *, device, kind="default"):
        """Checks with the driver whether memory has the stated device, kind and size. Of memory that
        the driver does not know, such as the host's heap, neither address nor size can be checked.

        Parameters
        ----------
        address, size : int
            Size 0 checks the kind only.
        device, kind
            The stated device and kind.

        Raises
        ------
        CudaError
            If it is another device's or of another kind, or the driver does not know it.
        UseError
            If the range leaves the allocation; for address 0 with a size.
        """
        cdef uint64_t at, length
        cdef cai_device native
        cdef uint32_t number = kind_of(kind)
        cdef cai_error error
        cdef cai_status status
        unsigned_of(address, "address", &at)
        unsigned_of(size, "size", &length)
        device_of(device, &native)
        with nogil:
            status = cai_memory_validate(at, length, native, number, &error)
        succeed(status, &error)

    cdef int describe_for_buffer(self, cai_memory_info *out) except -1:
        self.describe(out)
        if out.flags & CAI_MEMORY_FREED:
            raise _NoBufferError("the memory was freed")
        if out.size and not out.flags & CAI_MEMORY_DEREFERENCEABLE:
            raise BufferError(f"{kind_name(out.kind)} memory of {device_object(out.device)} is "
                              "not for the host to use")
        return 0

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        cdef cai_memory_info info
        buffer.obj = None
        self.describe_for_buffer(&info)
        try:
            array = self.array(info.size, "|u1")
        except StateError:
            raise _NoBufferError("the memory was freed") from None
        lend_all(array)
        self.failure = None
        try:
            self.describe_for_buffer(&info)  # once more: only lent memory stays
            array.synchronize()
            PyBuffer_FillInfo(buffer, self, <void *>info.host, info.size,
                              info.flags & CAI_MEMORY_READONLY, flags)
        except BaseException as failure:
            take_all_back(array)
            self.failure = failure
            raise
        Py_INCREF(array)
        buffer.internal = <void *>array

    def __releasebuffer__(self, Py_buffer *buffer):
        array = <object>buffer.internal
        take_all_back(array)
        Py_DECREF(array)

    def __array__(self, dtype=None, copy=None):
        """Returns NumPy's array of the bytes. NumPy asks for it if the buffer fails, ignoring why;
        so this raises what the buffer has raised."""
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        import numpy
        return numpy.array(memoryview(self), dtype=dtype, copy=copy)

    # Without these methods, Python reads the bytes as text: int() of the byte 53 is 5.
    def __int__(self):
        """Raises TypeError: use `address` or `size`."""
        raise TypeError("int() would read the bytes as text: `address` and `size` are integers")

    def __float__(self):
        """Raises TypeError, as `int()` does."""
        raise TypeError("float() would read the bytes as text: `address` and `size` are integers")

    def __reduce__(self):
        raise TypeError("a libcai.Memory cannot be pickled: share() it, or pickle a copy of the data")

    def __repr__(self):
        cdef cai_memory_info info
        self.describe(&info)
        parts = [f"size={info.size}", f"kind={kind_name(info.kind)}",
                 f"device={device_object(info.device)}", f"address={hex(info.data)}"]
        if info.flags & CAI_MEMORY_FREED:
            parts.append("freed")
        return f"<libcai.Memory {' '.join(parts)}>"


cdef int place(device, stream, manager, str otherwise, cai_device *out) except -1:
    """The given device, or else the stream's, the manager's, or the default."""
    if device is None:
        if type(stream) is Stream:
            device = stream.device
        elif manager_handle(manager) != NULL:
            device = manager.device
        else:
            device = otherwise
    return device_of(device, out)
