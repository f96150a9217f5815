# SPDX-License-Identifier: BSD-3-Clause
# A part of _core. Needs arrow, buffer, dlpack, export, loans, order, reading, views.
#
# libcai.Array: a reference to a cai_array.

cdef dict STREAM_KINDS = {
    CAI_STREAM_NONE: "none",
    CAI_STREAM_UNSTATED: "unstated",
    CAI_STREAM_STREAM: "stream",
    CAI_STREAM_EVENT: "event",
}

cdef object extension_types = {
    CAI_EXT_BFLOAT16: "bfloat16",
    CAI_EXT_FLOAT8_E4M3FN: "float8_e4m3fn",
    CAI_EXT_FLOAT8_E5M2: "float8_e5m2",
    CAI_EXT_FLOAT8_E4M3FNUZ: "float8_e4m3fnuz",
    CAI_EXT_FLOAT8_E5M2FNUZ: "float8_e5m2fnuz",
    CAI_EXT_FLOAT8_E4M3: "float8_e4m3",
    CAI_EXT_FLOAT8_E3M4: "float8_e3m4",
    CAI_EXT_FLOAT8_E4M3B11FNUZ: "float8_e4m3b11fnuz",
    CAI_EXT_FLOAT8_E8M0FNU: "float8_e8m0fnu",
}

cdef dict extension_of = {name: ext for ext, name in extension_types.items()}

cdef object CUDA_UNKNOWN = device_of(CAI_DEVICE_CUDA, -1)


cdef tuple tuple_of(const int64_t *values, int32_t count):
    cdef tuple out = PyTuple_New(count)
    cdef int32_t i
    for i in range(count):
        number = <object>values[i]
        Py_INCREF(number)
        PyTuple_SET_ITEM(out, i, <PyObject *>number)
    return out


cdef Array wrap(cai_array *array, cai_owner *owner):
    """Makes an Array that takes over one reference to `owner`."""
    cdef Array self
    try:
        self = Array.__new__(Array)
    except BaseException:
        cai_py_release_here(owner)
        raise
    self.array = array
    self.owner = owner
    return self


@cython.final
@cython.freelist(32)
cdef class Array:
    """An array of another library, or a view of one; made by `asarray`.

    It is immutable, keeps its source alive, and compares by identity. Shapes are in elements,
    strides and extents in bytes, as in the text.
    """

    # Always valid: cai_py_no_array after the collector has cleared a cycle.
    cdef cai_array *array
    cdef cai_owner *owner      # our reference; NULL only for cai_py_no_array
    cdef object numpy_dtype    # set when it was asked for; also makes this a type with GC support
    cdef dict exported         # the same, if all its values are immutable
    cdef Array said            # the last exported view, if that was not this array
    cdef int64_t *lent_strides # in elements, for a tensor that DLPack's table lends; or NULL
    cdef int route_taken
    cdef int buffers           # that were handed out and are in use
    cdef bint is_lent          # whether a dict for the host was read
    cdef object failure        # the failure of a buffer, which the dict must raise
    cdef object __weakref__

    def __cinit__(self):
        self.array = &cai_py_no_array

    def __init__(self):
        raise TypeError("libcai.Array is made by libcai.asarray(), from_interface() or from_ptr()")

    def __dealloc__(self):
        cdef cai_owner *owner = self.owner
        free(self.lent_strides)
        if self.is_lent:
            take_memory_back(self)
        if owner != NULL:
            self.owner = NULL
            self.array = &cai_py_no_array
            cai_py_release_here(owner)
        cai_py_drain(0)

    # For compiled code of other libraries: see cai/exchange.h, and DLPack's header.
    __cai_c_exchange_api__ = PyCapsule_New(&array_api, CAI_EXCHANGE_CAPSULE, NULL)
    __dlpack_c_exchange_api__ = PyCapsule_New(&array_dlpack_api, b"dlpack_exchange_api", NULL)

    @staticmethod
    def from_ptr(address, *, bint steal=True):
        """Makes an Array of a ``cai_array *`` from compiled code.

        Parameters
        ----------
        address : int or ctypes.c_void_p
            Address of an owned ``cai_array``, of this copy of libcai or another.
        steal : bool
            Take over a reference; otherwise add one. On failure the reference stays the caller's.

        Raises
        ------
        ViewError
            For NULL or an address that is not aligned, and for a borrowed array.
        VersionError
            For another ABI, or a critical flag that this libcai does not know.
        InterfaceError
            If a field has a value that the text forbids.
        """
        cdef cai_error error
        cdef cai_array *array
        cdef Array self
        if not isinstance(address, int) and hasattr(address, "value"):
            address = address.value or 0
        if isinstance(address, bool) or not PyIndex_Check(address):
            raise TypeError(f"an address is required, not {shown(address)}")
        cai_py_drain(0)
        number = PyNumber_Index(address)
        if not 0 < number <= UINT64_MAX or number % sizeof(uint64_t) != 0:
            raise from_status(CAI_ERR_ARGUMENT, 0, f"address {shown(number)} is no array")
        array = <cai_array *><uint64_t>number
        if array.owner == NULL:
            raise from_status(
                CAI_ERR_ARGUMENT, 0,
                f"the array at {hex(address)} is borrowed: it has no owner that could be held")
        if cai_array_validate(array, &error) != CAI_OK:
            raise_error(&error, NULL)
        self = Array.__new__(Array)
        if not steal:
            array.owner.retain(array.owner)
        self.array = array
        self.owner = array.owner
        return self

    @property
    def ptr(self):
        """Address of the ``cai_array``, valid as long as this object."""
        return <uint64_t>self.array

    @property
    def _as_parameter_(self):
        """For ctypes: the address of the ``cai_array``."""
        from ctypes import c_void_p
        return c_void_p(<uint64_t>self.array)

    @property
    def shape(self):
        """Extents, in elements; a tuple."""
        return tuple_of(self.array.shape, self.array.ndim)

    @property
    def strides(self):
        """Steps, in bytes; always a tuple."""
        return tuple_of(self.array.strides, self.array.ndim)

    @property
    def strides_given(self):
        """Whether the producer gave strides; if not, the array is C-contiguous."""
        return not self.array.flags & CAI_FLAG_STRIDES_NONE

    @property
    def ndim(self):
        """Number of dimensions."""
        return self.array.ndim

    @property
    def size(self):
        """Number of elements."""
        return layout_of(self).size

    @property
    def itemsize(self):
        """Bytes of an element; 1 for a mask of bits."""
        return self.array.dtype.itemsize

    @property
    def nbytes(self):
        """Bytes of all elements, without gaps."""
        return layout_of(self).nbytes

    @property
    def c_contiguous(self):
        """Whether the elements follow each other in C order."""
        return layout_of(self).c_contiguous != 0

    @property
    def f_contiguous(self):
        """Whether the elements follow each other in Fortran order."""
        return layout_of(self).f_contiguous != 0

    @property
    def extent(self):
        """``(lo, hi)``: the bytes touched, relative to `data`."""
        cdef cai_layout layout = layout_of(self)
        return layout.lo, layout.hi

    @property
    def typestr(self):
        """The type of an element as in the dict, in its canonical spelling."""
        return typestr_of(&self.array.dtype)

    @property
    def kind(self):
        """The letter of the type: one of ``biufcmMSUV``, or ``t`` in a mask."""
        return chr(self.array.dtype.kind)

    @property
    def byteorder(self):
        """``'<'`` or ``'>'``; ``'|'`` where it does not matter."""
        return chr(self.array.dtype.byteorder)

    @property
    def descr(self):
        """The fields of an element as NumPy's ``descr``. `typestr` is authoritative for its
        type."""
        return descr_of(self)

    @property
    def dtype(self):
        """The type of an element as a NumPy dtype; imports NumPy.

        bfloat16 and the float8 types need ml_dtypes, and are void without it. A mask of bits has no
        dtype: TypeError.
        """
        if self.array.descr != NULL:
            return dtype_of(self)  # callers can change its names, so each gets a copy
        if self.numpy_dtype is None:
            self.numpy_dtype = dtype_of(self)
        return self.numpy_dtype

    @property
    def data(self):
        """Address of the first element, which need not be the lowest; 0 if there are no
        elements."""
        return self.array.data

    @property
    def readonly(self):
        """Whether the memory must not be written."""
        return self.array.flags & CAI_FLAG_READONLY != 0

    @property
    def stream(self):
        """1, 2 or a handle where work may be pending; None if there is no stream, or it is
        unstated."""
        if self.array.stream_kind in (CAI_STREAM_NONE, CAI_STREAM_UNSTATED):
            return None
        return self.array.stream

    @property
    def stream_kind(self):
        """``'none'``: the producer states that no order is needed. ``'unstated'``: versions 0 to 2.
        ``'stream'``. ``'event'``: `stream` is a ``CUevent``."""
        return STREAM_KINDS.get(self.array.stream_kind, "unknown")

    @property
    def mask(self):
        """The Array that marks the valid elements, or None if all are valid."""
        if self.array.mask == NULL:
            return None
        self.owner.retain(self.owner)
        return wrap(<cai_array *>self.array.mask, self.owner)

    @property
    def version(self):
        """Version of the producer's interface, for information only."""
        return self.array.version

    @property
    def route(self):
        """The route by which `asarray` took the array; None for an array made in another way, such
        as a view."""
        return ROUTES[self.route_taken]

    @property
    def device(self):
        """``(type, id)``, as the producer states it; the id is None if not known, see `locate`."""
        if self.array.device_type == CAI_DEVICE_CUDA and self.array.device_id == -1:
            return CUDA_UNKNOWN
        return device_of(self.array.device_type, self.array.device_id)

    def locate(self):
        """Asks the driver about the memory.

        Returns
        -------
        Location
            ``(device, context, device_pointer, host_accessible, managed, base, size)``;
            `device_pointer` is the address for kernels of the current context; `base` and `size`
            describe the allocation.

        Raises
        ------
        CudaError
            If there is no driver, it does not know the pointer, or the array leaves its
            allocation.
        """
        cdef cai_location out
        cdef cai_error error
        cdef cai_status status
        memset(&out, 0, sizeof(out))
        out.struct_size = sizeof(out)
        with nogil:
            status = cai_array_locate(self.array, &out, &error)
        if status != CAI_OK:
            raise_error(&error, NULL)
        return Location(
            device=device_of(out.device_type, out.device_id),
            context=out.context or None,
            device_pointer=out.device_pointer,
            host_accessible=out.flags & CAI_LOCATION_HOST_ACCESSIBLE != 0,
            managed=out.flags & CAI_LOCATION_MANAGED != 0,
            base=out.base or None,
            size=out.size or None,
        )

    def __getitem__(self, key):
        """A view by integers, slices, ``None`` and ``...``, as NumPy's basic indexing."""
        return sliced(self, key)

    def reshape(self, *shape):
        """A view of another shape, in C order; one extent may be -1.

        Raises
        ------
        ViewError
            If the number of elements differs, or the strides would need a copy.
        """
        return reshaped(self, shape)

    def transpose(self, *axes):
        """A view with its axes in another order; reversed if none are given.

        Raises
        ------
        ViewError
            If an axis is out of range, repeated or missing.
        """
        return transposed(self, axes)

    def broadcast_to(self, shape):
        """A read-only view of a larger shape, by NumPy's broadcasting.

        Raises
        ------
        ViewError
            If the shapes do not agree.
        """
        return broadcasted(self, shape)

    def publish(self, stream, *, streams=()):
        """Returns a view of the same memory that names one stream for work that is pending on
        several.

        `stream` waits for this array's stream or event, for uses that the owner has kept, and for
        `streams`. The host does not wait. Before you work on one of `streams` again, call
        `reclaim`. If this array came from another library, its stream must in the end wait for
        `stream`: `use` it with ``order='end'``.

        Parameters
        ----------
        stream : int or object
            A stream as `use` takes it, except -1; 1 and 2 are of the memory's context. It must live
            as long as the view; a stream object is kept alive.
        streams : sequence, optional
            Streams where work on the memory is pending that was not published yet. Name `stream`
            here, too, if work of yours is pending there: only then do uses of this array, and the
            free of the memory, wait for it. Publish work that was queued before a capture before
            that capture.

        Returns
        -------
        Array
            A view with `stream`, as has its mask; version 3, the rest as here. This array does not
            change. Once the view is released, `stream` is forgotten. After writing again, publish
            again.

        Raises
        ------
        InterfaceError, InterfaceTypeError
            For an invalid stream.
        UseError
            For a host array; for a default stream in `streams` if no context is current.
        CudaError
            If the driver fails, or a capture forbids it; for 2 if the memory has come with another
            thread's stream 2.
        StateError
            If the memory was freed.

        Notes
        -----
        The text, "Synchronization", Producer.
        """
        return published(self, stream, items_of(streams, "streams", "streams"))

    def publish_event(self, stream):
        """Returns a view of the same memory that names an event on a stream; the stream may then be
        destroyed, unless arrays of this memory are used on it again.

        Otherwise as `publish`, but only the owner keeps uses of the view. If this array came from
        another library, its stream must in the end wait for them, too: `use` it, with both halves
        of the order. With an event, work on stream 2 can be handed to another thread. A dict cannot
        carry an event: `publish` the view before you export it.

        Raises
        ------
        CudaError
            Also if `stream` is being captured.
        """
        return published_event(self, stream)

    def reclaim(self, stream, access="write"):
        """Makes a stream wait for others' uses, before the producer works on the memory again.

        Within a capture that began on another stream, call it for the array's own stream, too.

        Parameters
        ----------
        stream : int or object
            The stream of the work, as `use` takes it, except -1.
        access : str, optional
            ``'read'`` waits for others' writes only; ``'write'`` for reads too, even if the array
            is marked read-only for others. None means a write, or a read if the array is marked
            read-only.

        Raises
        ------
        InterfaceError, InterfaceTypeError
            For an invalid stream.
        UseError
            For an unknown word, and for a default stream if no context is current.
        CudaError
            If the driver fails, or a capture forbids it.
        StateError
            If the memory was freed.

        Notes
        -----
        The text, "Synchronization", Producer.
        """
        reclaimed(self, number_of(stream), access_of(access))
        cai_py_ask_suspects(ASKED_IN_PASSING, False)

    def used_on(self, stream, access="write"):
        """Keeps a use of the memory: the work queued on `stream` so far, outside of a `use` block.

        Later uses wait for it, and the memory stays until it is complete. The array's own stream
        does not wait for it; `reclaim` makes it wait. A use of an import is found by its views and
        by other imports of the memory; the exporter's own arrays do not find it.

        If `stream` is being captured, the graph takes a reference to the array: the memory stays
        until the graph, and all that was made from it, is destroyed. No stream waits for that: each
        launch is a use of its own. For an array on the host nothing is kept; `Stream.attach` keeps
        any object.

        Parameters
        ----------
        stream, access
            As for `reclaim`.

        Raises
        ------
        InterfaceError, InterfaceTypeError, UseError
            As `reclaim`; also for a write to an array that is marked read-only.
        CudaError
            As `reclaim`; also if the array's owner keeps no uses.
        """
        keep_on(self, number_of(stream), access_of(access))

    def synchronize(self):
        """Blocks until all pending work on the array and its mask is complete: the producer's, and
        uses that the owner has kept. The GIL is released. Use it as the last resort.

        Raises
        ------
        CudaError
            If the driver fails, or a stream is being captured.
        """
        wait_for_work(self)

    @property
    def is_dereferenceable(self):
        """Whether the host may use the memory. For an array on a device it asks the driver."""
        if self.array.device_type == CAI_DEVICE_CPU or self.array.data == 0:
            return True
        return self.locate().host_accessible

    def eval(self):
        """Waits for the current stream of the array's device, and for all pending work on the
        array; returns the array. The GIL is released.

        Raises
        ------
        Exception
            The exception of work on that stream.
        CudaError
            If the driver fails, or the stream is being captured.
        """
        return devices().eval(self)

    def item(self, *index):
        """Returns one element as a Python value, from any memory, once all pending work on the
        array is complete.

        Parameters
        ----------
        *index : int
            One index for each dimension; none if there is one element. A negative index counts from
            the end.

        Raises
        ------
        ViewIndexError
            For an index out of range.
        UseError
            For another number of indices, and for an array with a mask: the element may be invalid.
        CudaError
            If the driver fails.
        StateError
            If the memory was freed.
        """
        return devices().item(self, index)

    def first(self):
        """Returns the first element, as `item` does; ViewIndexError if there is none."""
        if layout_of(self).size == 0:
            raise ViewIndexError(f"an array of the shape {self.shape} has no first element")
        return devices().item(self, (0,) * self.array.ndim)

    def to(self, device, *, kind="default", stream=None):
        """Copies the array to a device: see `libcai.to`."""
        return devices().to(self, device, kind=kind, stream=stream)

    @property
    def __cuda_array_interface__(self):
        """The dict, version 3, of an array on a device; AttributeError for a host array.

        Its stream comes after uses that the owner has kept: an array without a stream then names
        stream 1 of the current context. An array that came with an event, or with another thread's
        stream 2, cannot be exported: BufferError. StateError if the memory was freed. See also
        `libcai.relaxed`.
        """
        if self.array.device_type == CAI_DEVICE_CPU:
            raise AttributeError(
                "this libcai.Array is on the host: it has __array_interface__ instead")
        return export_dict(self)

    @property
    def __array_interface__(self):
        """NumPy's dict, version 3, of an array that the host may use: on the host, or in pinned or
        managed memory that libcai allocated. It waits for pending work on the array, with the GIL
        released. AttributeError for an array on a device; BufferError for an array with a mask,
        which NumPy would ignore. NumPy then holds only this array, so `Memory.free` does not free
        the memory while this array lives. StateError if the memory was freed before."""
        if not is_on_host(self):
            raise AttributeError(
                "this libcai.Array is on a device: it has __cuda_array_interface__ instead")
        return lent_dict(self, False)

    def to_interface(self, *, version=3):
        """Returns the dict of any array, for a property of your own class, or for a consumer that
        needs another version.

        Parameters
        ----------
        version : int
            3: as ``__cuda_array_interface__`` or ``__array_interface__``; also for a masked array
            on the host, which has no ``__array_interface__``, since NumPy would ignore its mask. 2,
            for an array on a device: this version has no stream, so the host waits for pending
            work, with the GIL released.

        Returns
        -------
        dict
            It keeps nothing alive: keep the array as long as the dict is used. The memory of an
            array on the host cannot be freed while the array lives, as for ``__array_interface__``.

        Raises
        ------
        BufferError
            For an array that a dict cannot express, as ``__cuda_array_interface__``.
        UseError
            For another version, and for version 2 of an array on the host.
        StateError
            If the array's memory was freed.

        Notes
        -----
        The text, "Python Interface Specification".
        """
        return dict_of_version(self, version)

    def __len__(self):
        """The extent of the first axis, also for an array on a device."""
        if self.array.ndim == 0:
            raise TypeError("an array of no dimensions has no len()")
        return self.array.shape[0]

    def __iter__(self):
        """Views along the first axis."""
        if self.array.ndim == 0:
            raise TypeError("iteration over an array of no dimensions")
        return (self[index] for index in range(self.array.shape[0]))

    def __contains__(self, element):
        """Raises TypeError: elements are not compared, and may be on a device."""
        raise TypeError("'in' would compare the elements, which a libcai.Array does not: use "
                        "the library that owns it, or numpy.asarray() of a host array")

    def __bool__(self):
        """Always True: it does not read the elements, which may be on a device."""
        return True

    # Without these methods, Python reads an array's buffer as text: int() of the byte 53 is 5.
    def __int__(self):
        """Raises TypeError, as `in` does: `item` reads an element."""
        refuse_number("int()")

    def __float__(self):
        """Raises TypeError, as `in` does: `item` reads an element."""
        refuse_number("float()")

    def __complex__(self):
        """Raises TypeError, as `in` does: `item` reads an element."""
        refuse_number("complex()")

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        give_buffer(self, buffer, flags)

    def __releasebuffer__(self, Py_buffer *buffer):
        take_buffer_back(self, buffer)

    def __dlpack_device__(self):
        """``(type, id)``, in DLPack's numbers. It asks the driver if the id is not known."""
        return dlpack_device(self)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """Returns a capsule with a DLPack tensor, which keeps the memory alive. The garbage
        collector does not look into capsules: an exporter that keeps one of its own memory is never
        freed.

        Parameters
        ----------
        stream : int, optional
            The consumer's stream, 1, 2 or a ``CUstream``: it waits for pending work on the array.
            None is 1, the legacy default stream; for pinned and managed memory, whose consumer may
            be the host, None makes the host wait. -1 asks for no order. Must be None or -1 for the
            host; with a `dl_device`, a stream of that device. DLPack does not report the consumer's
            work: before the array is used elsewhere again, wait for that work, or call `used_on`.
            In a capture, the tensor is valid for that capture only; a tensor for a stream outside
            is not valid for a capture in which other code uses the array.
        max_version : tuple, optional
            The ``(major, minor)`` that the consumer supports. Without it, or below 1, the capsule
            is a ``"dltensor"``, which has no flags.
        dl_device : tuple, optional
            The wanted device of the tensor, in DLPack's numbers: the CPU or a GPU.
        copy : bool, optional
            True: always copy. False: never. None: only if `dl_device` is another device.

        Raises
        ------
        BufferError
            For an array that DLPack cannot express: a mask, fields, a foreign byte order, times,
            text, strides that are no multiple of the item size, or a read-only array without
            `max_version`; for a device to which libcai cannot or must not copy; and for any
            `stream` but None and -1 for a tensor on the host.
        InterfaceError, InterfaceTypeError
            For an invalid `stream` for a tensor on a GPU: 0, -2, a bool, a float, text.
        TypeError
            If `max_version` or `dl_device` is no pair of integers.
        CudaError
            If the driver fails.
        StateError
            If the array's memory was freed.

        Notes
        -----
        The array-API standard, "Data interchange mechanisms".
        """
        return tensor_of(self, stream, max_version, dl_device, copy)

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        """Returns Arrow's capsules: the type and the column, which keeps the memory alive.

        The array must be contiguous numbers with one axis; its mask, if any, of bits. If work is
        pending, the column comes with an event after it.

        Parameters
        ----------
        requested_schema : capsule, optional
            Ignored: the column has the array's own type.

        Raises
        ------
        BufferError
            For an array that a column cannot express.
        CudaError
            If the driver fails.
        StateError
            If the array's memory was freed.
        NotImplementedError
            For another argument that is not None, as the interface asks for.

        Notes
        -----
        The Arrow PyCapsule interface.
        """
        known = [name for name, value in kwargs.items() if value is not None]
        if known:
            raise NotImplementedError(f"libcai knows no argument {known[0]!r} of Arrow's")
        return column_of(self, b"arrow_device_array")

    def __arrow_c_array__(self, requested_schema=None):
        """As ``__arrow_c_device_array__``, for an array that the host may use; AttributeError for
        an array on a device. It waits for pending work on the array."""
        if not is_on_host(self):
            raise AttributeError(
                "this libcai.Array is on a device: it has __arrow_c_device_array__ instead")
        wait_for_work(self)
        return column_of(self, b"arrow_array")

    def __array__(self, dtype=None, copy=None):
        """Returns NumPy's array of a host array; TypeError for an array on a device."""
        if not is_on_host(self):
            raise TypeError(
                "this libcai.Array is on a device, and is never copied to the host behind your "
                "back: use the copy function of the library that owns it, or libcai's to('cpu')")
        import numpy
        # `self` has __array_interface__, so this does not come back here.
        return numpy.array(self, dtype=dtype, copy=copy)

    def __reduce__(self):
        raise TypeError(
            "a libcai.Array cannot be pickled, nor copied by `copy`: it points to memory of this "
            "process; libcai.copy() copies the elements")

    def __reduce_ex__(self, protocol):
        return self.__reduce__()

    def __repr__(self):
        parts = [f"shape={self.shape}", f"typestr={self.typestr!r}"]
        if not self.c_contiguous:
            parts.append(f"strides={self.strides}")
        parts.append(f"data={hex(self.array.data)}")
        parts.append(f"device={self.device}")
        if self.array.device_type != CAI_DEVICE_CPU:
            if self.array.stream_kind == CAI_STREAM_STREAM and self.array.stream <= 2:
                parts.append(f"stream={self.array.stream}")
            elif self.stream is not None:
                parts.append(f"{self.stream_kind}={hex(self.array.stream)}")
            else:
                parts.append(f"stream={self.stream_kind}")
        if self.readonly:
            parts.append("readonly")
        if self.array.mask != NULL:
            parts.append("masked")
        return f"<libcai.Array {' '.join(parts)}>"


cdef int refuse_number(str what) except -1:
    raise TypeError(
        f"{what} would read the element, which may be on a device, and have the host wait for it: "
        "say item(), and convert that")


cdef bint is_on_host(Array self) noexcept:
    return self.array.device_type in (
        CAI_DEVICE_CPU, CAI_DEVICE_CUDA_HOST, CAI_DEVICE_CUDA_MANAGED)


cdef object devices():
    """The module that works on arrays; importing and exporting arrays does not need it."""
    from libcai import _devices
    return _devices


cdef cai_layout layout_of(Array self) except *:
    cdef cai_layout layout
    cdef cai_error error
    if cai_array_layout(self.array, &layout, &error) != CAI_OK:
        raise_error(&error, NULL)
    return layout


cdef object dtype_of(Array self):
    import numpy
    if self.array.dtype.kind == c"t":
        raise TypeError("a mask of bits ('|t1') has no NumPy dtype")
    if self.array.dtype.ext != CAI_EXT_NONE:
        name = extension_types.get(self.array.dtype.ext)
        try:
            return numpy.dtype(getattr(__import__("ml_dtypes"), name))
        except (ImportError, AttributeError, TypeError):
            return numpy.dtype(f"V{self.array.dtype.itemsize}")
    if self.array.descr == NULL or self.array.dtype.kind != c"V":
        return numpy.dtype(self.typestr)
    return numpy.lib.format.descr_to_dtype(descr_of(self))


# ---- Garbage collection ------------------------------------------------------------------------
# Cython's own functions visit the Python members. These add the references in the C block.

cdef int array_traverse(PyObject *self, visitproc visit, void *arg) noexcept:
    cdef int stop = cai_py_base_traverse(self, visit, arg)
    if stop:
        return stop
    return cai_py_block_traverse(self, cai_py_block_of((<Array>self).owner), visit, arg)


cdef int array_clear(PyObject *self) noexcept:
    cdef cai_owner *owner = (<Array>self).owner
    if (<Array>self).buffers:
        return 0  # an object that has a buffer of it is in the cycle, and breaks it
    if (<Array>self).is_lent:
        take_memory_back(<Array>self)
        (<Array>self).is_lent = False
    (<Array>self).owner = NULL
    (<Array>self).array = &cai_py_no_array
    if owner != NULL:
        cai_py_release_here(owner)
    return cai_py_base_clear(self)


cdef int collect_arrays() except -1:
    cai_py_replace_gc(<PyTypeObject *>Array, array_traverse, array_clear)
    return 0
