# SPDX-License-Identifier: BSD-3-Clause
# A part of _core. Needs array, buffer, dlpack, exchange_tables, order, unpack, use.
#
# From an object to its interface, unpacked and held while it is read.

cdef struct Reading:
    Entries entries
    Entries mask_entries
    PyObject *mask_holder      # borrowed from entries: a mask with an interface, or NULL
    cai_interface interface
    cai_interface mask_interface
    Scratch scratch

cdef object CUDA_NAME = sys.intern("__cuda_array_interface__")
cdef object HOST_NAME = sys.intern("__array_interface__")


cdef inline void reading_open(Reading *r) noexcept:
    cai_py_no_entries(r.entries.value)
    r.mask_holder = NULL
    scratch_open(&r.scratch)


cdef inline void reading_close(Reading *r) noexcept:
    cdef int i
    scratch_close(&r.scratch)
    for i in range(ENTRIES):
        Py_XDECREF(r.entries.value[i])
    if r.mask_holder != NULL:
        for i in range(ENTRIES):
            Py_XDECREF(r.mask_entries.value[i])


cdef int attribute(PyObject *obj, object name, PyObject **out, PyObject **hidden) except -1:
    """Reads an attribute once: 1 and a new reference, or 0.

    An AttributeError raised by a property that the class has counts as absent, too; it is then left
    in `hidden`, if that is empty. None counts as absent, too, unless a property returns it. For a
    class, the metaclass is searched.
    """
    if not cai_py_class_has(Py_TYPE(obj), <PyObject *>name):
        if PyType_Check(obj) or not cai_py_optional_attribute(obj, <PyObject *>name, out):
            return 0
        if out[0] != Py_None:
            return 1
        Py_XDECREF(out[0])
        out[0] = NULL
        return 0
    out[0] = PyObject_GetAttr(obj, <PyObject *>name)
    if out[0] != NULL:
        return 1
    if not PyErr_ExceptionMatches(PyExc_AttributeError):
        return -1
    if hidden == NULL or hidden[0] != NULL:
        PyErr_Clear()
    else:
        hidden[0] = cai_py_take_exception()
    return 0


cdef int find(PyObject *obj, Entries *entries, int route) except -2:
    """Finds an object's dict and returns its protocol, or -1 if there is none."""
    cdef PyObject *hidden = NULL
    cdef PyObject **out = &entries.value[CAI_ENTRY_INTERFACE]
    try:
        if route != ROUTE_NUMPY and attribute(obj, CUDA_NAME, out, &hidden):
            return CAI_PROTOCOL_CUDA
        if route != ROUTE_CUDA and attribute(obj, HOST_NAME, out, &hidden):
            if not is_numpy(<object>obj):
                refuse_numpy(<object>obj)
            return CAI_PROTOCOL_HOST
        if hidden != NULL and not cai_py_class_has(Py_TYPE(obj), <PyObject *>DLPACK_NAME):
            raise <object>hidden
        return -1
    finally:
        Py_XDECREF(hidden)


cdef int raise_no_interface(PyObject *obj, int route) except -1:
    cdef str name = type_name(obj)[1:-8]
    if PyType_Check(obj):
        for key in (CUDA_NAME, HOST_NAME):
            if cai_py_class_has(<PyTypeObject *>obj, <PyObject *>key):
                shown = name_of(<PyTypeObject *>obj)
                raise InterfaceTypeError(
                    f"interface: {shown} is a class; its instances have {key}, pass one of them",
                    "interface", <object>obj)
    if route:
        raise InterfaceTypeError(
            f"interface: a {name} object does not offer its array by route {ROUTES[route]!r}",
            "interface", <object>obj)
    raise InterfaceTypeError(
        f"interface: the {name} object has neither {CUDA_NAME} nor {HOST_NAME}, and nothing of "
        "DLPack's or the buffer protocol's: pass an array, or a dict to from_interface()",
        "interface", <object>obj)


cdef int gather(Reading *r, int protocol) except -1:
    """Fills in r.interface from the value in r.entries[CAI_ENTRY_INTERFACE]."""
    cdef PyObject *value = r.entries.value[CAI_ENTRY_INTERFACE]
    cdef int form = fetch(value, protocol, &r.entries)
    unpack_entries(&r.scratch, &r.entries, form, protocol, &r.interface)
    if r.entries.value[CAI_ENTRY_MASK] != NULL:
        gather_mask(r, protocol)
    return 0


cdef int gather_mask(Reading *r, int protocol) except -1:
    """The mask, one level deep: the mask of a mask is only reported as present."""
    cdef PyObject *mask = r.entries.value[CAI_ENTRY_MASK]
    cdef PyObject **out = &r.mask_entries.value[CAI_ENTRY_INTERFACE]
    cdef int form
    cai_py_no_entries(r.mask_entries.value)
    name = CUDA_NAME if protocol == CAI_PROTOCOL_CUDA else HOST_NAME
    if mask == Py_None or not attribute(mask, name, out, NULL):
        return unpack(&r.scratch, mask, &r.interface.mask, 1, False, False)
    r.mask_holder = mask
    r.interface.mask.form = CAI_FORM_INTERFACE
    put_printed(&r.scratch, type_name(mask), &r.interface.mask)
    form = fetch(out[0], protocol, &r.mask_entries)
    unpack_entries(&r.scratch, &r.mask_entries, form, protocol, &r.mask_interface)
    r.interface.mask_interface = &r.mask_interface
    mask = r.mask_entries.value[CAI_ENTRY_MASK]
    if mask == NULL:
        return 0
    if cai_py_class_has(Py_TYPE(mask), <PyObject *>name):
        r.mask_interface.mask.form = CAI_FORM_INTERFACE
        return put_printed(&r.scratch, type_name(mask), &r.mask_interface.mask)
    return unpack(&r.scratch, mask, &r.mask_interface.mask, 1, False, False)


cdef cai_py_block *read_block(Reading *r, uint32_t mode, cai_finding_fn on_finding, void *context,
                              cai_error *error, cai_status *status) except? NULL:
    """Reads r.interface into a new block that holds no object yet; NULL if *status is a failure."""
    cdef uint64_t size = cai_interface_storage(&r.interface)
    cdef cai_py_block *block = cai_py_block_new(size)
    if block == NULL:
        raise MemoryError()
    status[0] = cai_interface_read(&r.interface, mode, on_finding, context,
                                   cai_py_block_storage(block), size, &block.array, error)
    if status[0] == CAI_OK:
        return block
    cai_py_block_free(block)
    return NULL


cdef int say_provided(cai_py_block *block, cai_array *array, obj) except -1:
    """Asks an object's framework for the stream that its dict does not name."""
    answer = provided(obj)
    if answer is None:
        return 0
    number, stream = answer
    keep_stream(&block.owner, stream)
    array.stream_kind = CAI_STREAM_STREAM
    array.stream = number
    return 0


cdef int hold_stream(Array made, obj) except -1:
    """Keeps the stream alive that an array comes with, where the exporter does not."""
    if made.array.stream_kind != CAI_STREAM_STREAM or made.array.stream <= 2:
        return 0
    if "cupy" in sys.modules:
        stream = stream_of_cupy(obj, made.array.stream)
        if stream is not None:
            keep_stream(made.owner, stream)
    return 0


cdef bint may_be_extended(const cai_array *array) noexcept:
    """Whether the elements are one or two bytes without a type in the dict."""
    return (array.dtype.kind == c"V" and array.dtype.itemsize <= 2
            and array.dtype.ext == CAI_EXT_NONE and array.descr == NULL)


cdef bint take_float8(Reading *r, PyObject *holder) except -1:
    """Reads the '<f1' of a float8_e5m2 as one byte, whose type the caller then sets."""
    cdef cai_value *typestr = &r.interface.typestr
    cdef PyObject *descr = r.entries.value[CAI_ENTRY_DESCR]
    if typestr.form != CAI_FORM_TEXT or typestr.length != 3 or typestr.text[2] != c"1":
        return False
    given = <object>r.entries.value[CAI_ENTRY_TYPESTR]
    if not (is_float8_e5m2(<object>holder, given) if descr == NULL
            else is_float8_e5m2(<object>holder, given, <object>descr)):
        return False
    typestr.text = b"|V1"
    cai_py_missing(&r.interface.descr)
    return True


cdef char OTHER_ORDER = c">" if sys.byteorder == "little" else c"<"


cdef int say_extension(cai_py_block *block, const cai_value *typestr) except -1:
    """Takes the exporter's dtype for bytes that may be a bfloat16, unless the typestr says the
    other byte order. Ends the block on failure."""
    cdef cai_dtype *dtype = &block.array.dtype
    if dtype.itemsize > 1 and typestr.text[0] == OTHER_ORDER:
        return 0
    try:
        ext = extension_of.get(dtype_name(<object>block.exporter), CAI_EXT_NONE)
    except BaseException:
        cai_py_release_here(&block.owner)
        raise
    if dtype.itemsize == (2 if ext == CAI_EXT_BFLOAT16 else 1):
        dtype.ext = ext
    return 0


cdef int say_streams(cai_py_block *block, bint ask) except -1:
    """Handles an unstated stream, and this thread's stream 2. Ends the block on failure."""
    cdef cai_array *array = &block.array
    cdef cai_array *mask = <cai_array *>array.mask
    try:
        if ask and array.stream_kind == CAI_STREAM_UNSTATED:
            say_provided(block, array, <object>block.exporter)
        if (ask and mask != NULL and block.mask_exporter != NULL
                and mask.stream_kind == CAI_STREAM_UNSTATED):
            say_provided(block, mask, <object>block.mask_exporter)
    except BaseException:
        cai_py_release_here(&block.owner)
        raise
    if cai_py_is_per_thread(array) or cai_py_is_per_thread(mask):
        block.owner.thread = cai_py_this_thread()
    return 0


cdef Array import_entries(PyObject *holder, Reading *r, int protocol, bint strict, bint ask):
    """Makes an Array of r.entries; `holder` is kept alive, unless NULL. `ask`: ask the frameworks
    about an unstated stream."""
    cdef cai_error error
    cdef cai_status status = CAI_OK
    cdef cai_py_block *block
    cdef bint is_float8
    gather(r, protocol)
    is_float8 = ask and not strict and take_float8(r, holder)
    block = read_block(r, CAI_STRICT if strict else CAI_LENIENT, NULL, NULL, &error, &status)
    if block == NULL:
        raise_error(&error, &r.entries)
    cai_py_block_adopt(block)
    Py_XINCREF(holder)
    block.exporter = holder
    Py_XINCREF(r.mask_holder)
    block.mask_exporter = r.mask_holder
    block.owner.flags |= CAI_OWNER_IMPORTED
    if (block.array.stream_kind == CAI_STREAM_UNSTATED or block.array.stream == 2
            or block.array.mask != NULL):
        say_streams(block, ask)
    if block.array.stream_kind == CAI_STREAM_STREAM:
        block.owner.freed_on = block.array.stream
    if is_float8:
        block.array.dtype.ext = CAI_EXT_FLOAT8_E5M2
    elif ask and may_be_extended(&block.array):
        say_extension(block, &r.interface.typestr)
    return wrap(&block.array, &block.owner)


cdef enum:
    ROUTE_NONE = 0
    ROUTE_EXCHANGE = 1
    ROUTE_DLPACK_TABLE = 2
    ROUTE_CUDA = 3
    ROUTE_NUMPY = 4
    ROUTE_DLPACK = 5
    ROUTE_BUFFER = 6

cdef tuple ROUTES = (None, "exchange", "dlpack_table", "cuda", "numpy", "dlpack", "buffer")


cdef int route_of(word) except -1:
    if word is None:
        return ROUTE_NONE
    text = str.__str__(word) if isinstance(word, str) else None
    if text is None or text not in ROUTES:
        raise UseError(f"route: expected one of {', '.join(map(repr, ROUTES[1:]))}, got {shown(word)}")
    return ROUTES.index(text)


cdef uint64_t named_by(stream) noexcept:
    """The given stream, if it is valid; an invalid one is refused later."""
    cdef uint64_t number = 0
    try:
        if stream is not None:
            resolved(stream, &number)
    except Exception:
        number = 0
    return number


cdef Array read_object(obj, bint strict, int route, stream):
    """The array of an object, by the first route that it offers, or by `route`. `stream` is the
    stream of the work, for by_dlpack(). All functions that take arrays call this."""
    cdef Array made = None
    cdef int forced = route
    if cai_py_any_queued():
        cai_py_drain(named_by(stream))
    if not strict and route in (ROUTE_NONE, ROUTE_EXCHANGE, ROUTE_DLPACK_TABLE):
        made = by_table(obj, &route)
    elif cai_py_is_torch(Py_TYPE(<PyObject *>obj)):
        refuse_lazy(obj)
    if made is None and forced in (ROUTE_NONE, ROUTE_CUDA, ROUTE_NUMPY):
        made = by_dict(obj, strict, &route)
    if made is None and not strict and forced in (ROUTE_NONE, ROUTE_DLPACK):
        route = ROUTE_DLPACK
        made = by_dlpack(obj, stream, True, None, None)
    if made is None and not strict and forced in (ROUTE_NONE, ROUTE_BUFFER):
        route = ROUTE_BUFFER
        made = by_buffer(obj)
    if made is None:
        raise_no_interface(<PyObject *>obj, forced)
    made.route_taken = route
    hold_stream(made, obj)
    return made


cdef Array by_dict(obj, bint strict, int *route):
    """Imports by an object's dict, CUDA's or NumPy's; None if it has neither, or not the forced
    one."""
    cdef Reading r
    cdef int protocol
    cdef Array made
    if not strict and route[0] != ROUTE_CUDA and is_numpy(obj):
        made = by_array_struct(obj)
        if made is not None:
            route[0] = ROUTE_NUMPY
            return made
    reading_open(&r)
    try:
        protocol = find(<PyObject *>obj, &r.entries, route[0])
        if protocol < 0:
            return None
        route[0] = ROUTE_CUDA if protocol == CAI_PROTOCOL_CUDA else ROUTE_NUMPY
        return import_entries(<PyObject *>obj, &r, protocol, strict, True)
    finally:
        reading_close(&r)


def asarray(obj, /, *, bint strict=False, route=None):
    """Imports an array from another library.

    `asarray` takes the first of these routes that the object offers: its type's
    ``__cai_c_exchange_api__`` (``'exchange'``), its type's DLPack table (``'dlpack_table'``),
    ``__cuda_array_interface__`` (``'cuda'``), ``__array_interface__`` (``'numpy'``), ``__dlpack__``
    (``'dlpack'``), and the buffer protocol (``'buffer'``). An attribute or method that is None
    counts as missing.

    The call does not wait. The array keeps the object, and a mask object, alive; a dict is copied.
    For an object that names no stream (versions 0 to 2 of the dict; DLPack), the array gets its
    framework's current stream, see `provide_stream`.

    Parameters
    ----------
    obj : object
        As above; an `Array` is returned unchanged. NumPy's scalars, and its masked arrays that have
        a mask, are refused: their dict points to a temporary, or omits the mask. PyTorch tensors
        that require grad, or whose conjugation or sign is not in memory, are refused, too.
    strict : bool
        Accept only a dict that follows the text of version 3 to the letter; otherwise every dict
        whose meaning is certain, such as versions 0 to 2, or a list for a tuple.
    route : str, optional
        Take this route, or fail. Use ``'cuda'`` for a mask, fields or a foreign byte order of an
        object that has tables, too: DLPack cannot express them.

    Returns
    -------
    Array
        Its ``route`` is the route taken.

    Raises
    ------
    InterfaceError, InterfaceTypeError
        Names the entry at fault. Exceptions of the object's own property, or of an entry's
        ``__index__``, pass unchanged.
    UseError
        For an unknown route.

    Notes
    -----
    The text, "Python Interface Specification".
    """
    if type(obj) is Array and route is None:
        return obj
    return read_object(obj, strict, route_of(route), None)


def taken(obj, stream):
    """`asarray` for work on a stream, or on _CURRENT."""
    return array_of(obj, stream)


def from_interface(mapping, *, owner=None, bint strict=False, bint host=False):
    """Imports an array from the dict itself.

    Parameters
    ----------
    mapping : Mapping
        The value of ``__cuda_array_interface__``: a dict or another mapping.
    owner : object, optional
        The array keeps it alive. Without it the caller must keep the memory and the stream valid as
        long as the array lives.
    strict : bool
        As for `asarray`.
    host : bool
        The dict is of NumPy's ``__array_interface__``: the memory is on the host.

    Returns
    -------
    Array

    Raises
    ------
    InterfaceError, InterfaceTypeError
        Names the entry at fault.
    """
    cdef Reading r
    cdef PyObject *holder = NULL if owner is None else <PyObject *>owner
    cai_py_drain(0)
    reading_open(&r)
    try:
        Py_INCREF(mapping)
        r.entries.value[CAI_ENTRY_INTERFACE] = <PyObject *>mapping
        return import_entries(
            holder, &r, CAI_PROTOCOL_HOST if host else CAI_PROTOCOL_CUDA, strict, False)
    finally:
        reading_close(&r)


cdef void note_finding(void *context, const cai_finding *finding) noexcept with gil:
    try:
        (<list><PyObject *>context).append((
            finding.severity, text_of(cai_entry_name(finding.entry)), finding.index,
            text_of(finding.value), text_of(finding.clause), text_of(finding.text)))
    except MemoryError:
        pass  # the result is valid without it


def lint(obj, /):
    """Returns (verdict, attribute that was read, findings) by the strict reading of an object."""
    cdef Reading r
    cdef int protocol
    cdef cai_error error
    cdef cai_status status = CAI_OK
    cdef cai_py_block *block
    cdef list findings = []
    cai_py_drain(0)
    reading_open(&r)
    try:
        protocol = find(<PyObject *>obj, &r.entries, ROUTE_NONE)
        if protocol < 0:
            raise_no_interface(<PyObject *>obj, ROUTE_NONE)
        gather(&r, protocol)
        block = read_block(&r, CAI_STRICT, note_finding, <void *>findings, &error, &status)
        if block != NULL:
            cai_py_block_free(block)
        elif status != CAI_ERR_VALUE and status != CAI_ERR_TYPE:
            raise_error(&error, &r.entries)
        name = CUDA_NAME if protocol == CAI_PROTOCOL_CUDA else HOST_NAME
        return status == CAI_OK, name, findings
    finally:
        reading_close(&r)
