# SPDX-License-Identifier: BSD-3-Clause
# A part of _core. Needs reading.
#
# Python values to cai_value: only unpacks, and validates nothing.
#
# Unpacking may run the producer's code (`__index__`, `__repr__`), which may change anything. So
# every entry is fetched first and held; tuples cannot change; lists are copied to tuples.

cdef enum:
    ENTRIES = 12          # CAI_ENTRY_* are the indices; [CAI_ENTRY_INTERFACE] is the dict
    INLINE_VALUES = 24
    FLAT_ITEMS = 256      # of a shape and the like; a longer one is rejected for its length
    DESCR_LEVELS = 134    # two for each list within lists, more than CAI_MAX_DESCR_DEPTH
    DESCR_ITEMS = 1 << 19 # in total, enough for CAI_MAX_DESCR_FIELDS; a list may contain itself
    PRINTED_BITS = 512    # larger integers are not printed in digits
    PRINTED_TEXT = 100

cdef struct Chunk:
    Chunk *next
    uint64_t align

cdef struct Entries:
    PyObject *value[ENTRIES]   # strong, or NULL

cdef struct Scratch:
    cai_value *next
    cai_value *end
    Chunk *chunks
    PyObject *kept             # objects that must outlive the reading, or NULL
    int64_t items_left
    int64_t items_limit        # of one sequence
    cai_value first[INLINE_VALUES]

# The keys of the dict, by CAI_ENTRY_*.
cdef tuple KEYS = ("", "", "version", "shape", "strides", "typestr", "descr", "data", "stream", "mask",
        "offset", "")
cdef PyObject *key_of[ENTRIES]

# The entries of each protocol, in the order of the last dict: the next dict usually has the same.
cdef int[2][8] ORDER = [
    [CAI_ENTRY_SHAPE, CAI_ENTRY_TYPESTR, CAI_ENTRY_DATA, CAI_ENTRY_VERSION, CAI_ENTRY_STRIDES,
     CAI_ENTRY_STREAM, CAI_ENTRY_DESCR, CAI_ENTRY_MASK],
    [CAI_ENTRY_SHAPE, CAI_ENTRY_TYPESTR, CAI_ENTRY_DATA, CAI_ENTRY_VERSION, CAI_ENTRY_STRIDES,
     CAI_ENTRY_DESCR, CAI_ENTRY_MASK, CAI_ENTRY_OFFSET],
]


cdef int intern_keys() except -1:
    global KEYS
    KEYS = tuple([sys.intern(key) for key in KEYS])
    for i in range(ENTRIES):
        key_of[i] = <PyObject *>KEYS[i]
    return 0


cdef inline void scratch_open(Scratch *s) noexcept:
    s.next = s.first
    s.end = s.first + INLINE_VALUES
    s.chunks = NULL
    s.kept = NULL
    s.items_left = DESCR_ITEMS
    s.items_limit = FLAT_ITEMS


cdef inline void scratch_close(Scratch *s) noexcept:
    cdef Chunk *chunk
    while s.chunks != NULL:
        chunk = s.chunks
        s.chunks = chunk.next
        free(chunk)
    Py_XDECREF(s.kept)


cdef inline cai_value *scratch_values(Scratch *s, Py_ssize_t count) except NULL:
    cdef cai_value *values = s.next
    if s.end - values >= count:
        s.next = values + count
        return values
    return scratch_chunk(s, count)


cdef cai_value *scratch_chunk(Scratch *s, Py_ssize_t count) except NULL:
    cdef Chunk *chunk = <Chunk *>malloc(sizeof(Chunk) + <size_t>count * sizeof(cai_value))
    if chunk == NULL:
        raise MemoryError()
    chunk.next = s.chunks
    s.chunks = chunk
    return <cai_value *>(chunk + 1)


cdef int keep(Scratch *s, object value) except -1:
    cdef list kept
    if s.kept == NULL:
        kept = []
        Py_INCREF(kept)
        s.kept = <PyObject *>kept
    (<list>s.kept).append(value)
    return 0


cdef int put_text(Scratch *s, PyObject *text, cai_value *out) except -1:
    cdef Py_ssize_t length
    cdef const char *utf8 = PyUnicode_AsUTF8AndSize(text, &length)
    if utf8 == NULL:
        PyErr_Clear()
        # C rejects it. A subclass of str may have an encode() of its own.
        encoded = str.encode(<object>text, "utf-8", "surrogatepass")
        keep(s, encoded)
        utf8 = PyBytes_AS_STRING(encoded)
        length = PyBytes_GET_SIZE(encoded)
    out.text = utf8
    out.length = <uint32_t>min(length, <Py_ssize_t>UINT32_MAX)
    return 0


cdef int put_printed(Scratch *s, object text, cai_value *out) except -1:
    keep(s, text)
    return put_text(s, <PyObject *>text, out)


cdef str name_of(PyTypeObject *type):
    return cai_py_type_name(type).decode("utf-8", "replace")


cdef object type_name(PyObject *value):
    return f"<{name_of(Py_TYPE(value))} object>"


cdef object describe(PyObject *value):
    """The printed form of a value, shortened. It never prints an array: that may copy it from the
    GPU."""
    if (cai_py_class_has(Py_TYPE(value), <PyObject *>CUDA_NAME)
            or cai_py_class_has(Py_TYPE(value), <PyObject *>HOST_NAME)):
        return type_name(value)
    try:
        text = str.__str__(repr(<object>value))
    except Exception:
        return type_name(value)
    return text if len(text) <= PRINTED_TEXT else text[:PRINTED_TEXT - 3] + "..."


cdef int put_integer(Scratch *s, PyObject *number, cai_value *out) except -1:
    cdef int overflow
    cdef long long value = PyLong_AsLongLongAndOverflow(number, &overflow)
    cdef unsigned long long large
    if overflow == 0:
        out.integer = <uint64_t>value
        return 0
    if overflow > 0:
        large = PyLong_AsUnsignedLongLong(number)
        if PyErr_Occurred() == NULL:
            out.integer = large
            out.range = CAI_RANGE_UINT64
            return 0
        PyErr_Clear()
    out.range = CAI_RANGE_BEYOND
    bits = int.bit_length(<object>number)
    if bits <= PRINTED_BITS:
        return put_printed(s, int.__repr__(<object>number), out)
    return put_printed(s, f"an integer of {bits} bits", out)


cdef int put_items(Scratch *s, PyObject *items, cai_value *out, int levels,
                   bint index) except -1:
    cdef Py_ssize_t i, count = PyTuple_GET_SIZE(items)
    cdef cai_value *values
    out.length = <uint32_t>min(count, <Py_ssize_t>UINT32_MAX)
    if count == 0 or levels == 0 or count > s.items_limit or count > s.items_left:
        return 0
    s.items_left -= count
    values = scratch_values(s, count)
    out.items = values
    for i in range(count):
        unpack(s, PyTuple_GET_ITEM(items, i), &values[i], levels - 1, index, index)
    return 0


cdef int put_list(Scratch *s, PyObject *value, cai_value *out, int levels,
                  bint index) except -1:
    cdef Py_ssize_t count = PyList_GET_SIZE(value)
    if count == 0 or levels == 0 or count > s.items_limit or count > s.items_left:
        out.length = <uint32_t>min(count, <Py_ssize_t>UINT32_MAX)
        return 0
    items = PyList_AsTuple(<object>value)
    keep(s, items)
    return put_items(s, <PyObject *>items, out, levels, index)


cdef inline int unpack(Scratch *s, PyObject *value, cai_value *out, int levels, bint index,
                       bint index_items) except -1:
    """Unpacks one value, which the caller keeps alive, into all of `out`; NULL is a missing value.

    `levels` of sequences are entered. `__index__` is used only where an integer is allowed.
    """
    if cai_py_plain_value(value, out):
        return 0
    return unpack_other(s, value, out, levels, index, index_items)


cdef bint is_index(PyObject *value) noexcept:
    """Whether to use `__index__`: before 2.3 NumPy's bool has it, with a warning."""
    cdef const char *name
    if not PyIndex_Check(<object>value):
        return False
    name = cai_py_type_name(Py_TYPE(value))
    return strcmp(name, "numpy.bool") != 0 and strcmp(name, "numpy.bool_") != 0


cdef int unpack_other(Scratch *s, PyObject *value, cai_value *out, int levels, bint index,
                      bint index_items) except -1:
    """The same for a value that is not plain; `out` is zeroed."""
    if PyTuple_CheckExact(value):
        out.form = CAI_FORM_TUPLE
        put_items(s, value, out, levels, index_items)
    elif PyLong_CheckExact(value):
        out.form = CAI_FORM_INT
        put_integer(s, value, out)
    elif PyUnicode_CheckExact(value):
        out.form = CAI_FORM_TEXT
        put_text(s, value, out)
    elif PyList_Check(value):
        out.form = CAI_FORM_LIST
        put_list(s, value, out, levels, index_items)
    elif PyTuple_Check(value):
        out.form = CAI_FORM_TUPLE_SUBCLASS
        put_items(s, value, out, levels, index_items)
    elif PyLong_Check(value):
        out.form = CAI_FORM_INDEX
        put_integer(s, value, out)
    elif PyFloat_Check(value):
        out.form = CAI_FORM_FLOAT
        put_printed(s, describe(value), out)
    elif PyUnicode_Check(value):
        out.form = CAI_FORM_TEXT_SUBCLASS
        put_text(s, value, out)
    elif PyBytes_Check(value):
        out.form = CAI_FORM_BYTES
        out.text = PyBytes_AS_STRING(<object>value)
        out.length = <uint32_t>min(PyBytes_GET_SIZE(<object>value), <Py_ssize_t>UINT32_MAX)
    elif PyDict_Check(value):
        out.form = CAI_FORM_DICT if PyDict_CheckExact(value) else CAI_FORM_DICT_SUBCLASS
        put_printed(s, describe(value), out)
    elif index and is_index(value):
        number = PyNumber_Index(<object>value)
        keep(s, number)
        out.form = CAI_FORM_INDEX
        put_integer(s, <PyObject *>number, out)
    else:
        out.form = CAI_FORM_OBJECT
        put_printed(s, describe(value), out)
    return 0


cdef inline int unpack_row(Scratch *s, PyObject *value, cai_value *out) except -1:
    """The same for a value that is usually a tuple of plain values."""
    if value != NULL and PyTuple_CheckExact(value):
        cai_py_missing(out)
        out.form = CAI_FORM_TUPLE
        return put_items(s, value, out, 1, True)
    return unpack(s, value, out, 1, False, True)


cdef int fetch(PyObject *value, int protocol, Entries *entries) except -1:
    """Takes references to all values of a dict or another mapping; returns its form, or MISSING if
    it has no items."""
    if PyDict_Check(value):
        fetch_dict(value, protocol, entries)
        return CAI_FORM_DICT if PyDict_CheckExact(value) else CAI_FORM_DICT_SUBCLASS
    if isinstance(<object>value, Mapping):
        fetch_mapping(<object>value, protocol, entries)
        return CAI_FORM_MAPPING
    return CAI_FORM_MISSING


cdef inline bint is_of(int entry, int protocol) noexcept:
    """Whether a protocol has an entry."""
    return entry != (CAI_ENTRY_OFFSET if protocol == CAI_PROTOCOL_CUDA else CAI_ENTRY_STREAM)


cdef int fetch_mapping(mapping, int protocol, Entries *entries) except -1:
    for entry in range(CAI_ENTRY_VERSION, CAI_ENTRY_OFFSET + 1):
        if is_of(entry, protocol):
            try:
                value = mapping[KEYS[entry]]
            except KeyError:
                continue
            Py_INCREF(value)
            entries.value[entry] = <PyObject *>value
    return 0


cdef int fetch_dict(PyObject *mapping, int protocol, Entries *entries) except -1:
    cdef PyObject *value
    cdef PyObject *before
    cdef int entry
    if walk(mapping, &ORDER[protocol][0], entries):
        return 0
    # A lookup may run a key's `__eq__`, which may read another array: ORDER must not be used here.
    for entry in range(CAI_ENTRY_VERSION, CAI_ENTRY_OFFSET + 1):
        if not is_of(entry, protocol):
            continue
        value = PyDict_GetItemWithError(mapping, key_of[entry])
        if value == NULL and PyErr_Occurred() != NULL:
            return -1
        Py_XINCREF(value)
        before = entries.value[entry]  # of the walk
        entries.value[entry] = value
        Py_XDECREF(before)
    return 0


cdef inline bint walk(PyObject *mapping, int *order, Entries *entries) noexcept:
    """The frequent case, without lookups: all keys are the interned ones. It runs no Python
    code."""
    cdef Py_ssize_t position = 0
    cdef PyObject *key
    cdef PyObject *value
    cdef int i, count
    if PyDict_GET_SIZE(mapping) > 8:
        return False
    count = <int>PyDict_GET_SIZE(mapping)
    for i in range(count):
        if not PyDict_Next(mapping, &position, &key, &value):
            return False
        if key != key_of[order[i]] and not reorder(order, i, key):
            return False
        Py_XINCREF(value)
        entries.value[order[i]] = value
    return True


cdef bint reorder(int *order, int i, PyObject *key) noexcept:
    """Moves the entry with this key to place `i`, if one is left."""
    cdef int j
    for j in range(i + 1, 8):
        if key == key_of[order[j]]:
            order[i], order[j] = order[j], order[i]
            return True
    return False


cdef int unpack_entries(Scratch *s, Entries *entries, int form, int protocol,
                        cai_interface *out) except -1:
    """Fills in a cai_interface, without the mask's interface, from entries that are kept alive.
    `form` is the result of fetch()."""
    cdef PyObject **value = entries.value
    out.struct_size = sizeof(out[0])
    out.protocol = protocol
    out.mask_interface = NULL
    cai_py_missing(&out.dict)
    cai_py_missing(&out.mask)
    if form == CAI_FORM_MISSING:  # there are no entries
        unpack(s, value[CAI_ENTRY_INTERFACE], &out.dict, 1, False, False)
    elif form == CAI_FORM_MAPPING:
        put_printed(s, describe(value[CAI_ENTRY_INTERFACE]), &out.dict)
    out.dict.form = form if form != CAI_FORM_MISSING else out.dict.form
    unpack_row(s, value[CAI_ENTRY_SHAPE], &out.shape)
    unpack(s, value[CAI_ENTRY_TYPESTR], &out.typestr, 0, False, False)
    unpack_row(s, value[CAI_ENTRY_DATA], &out.data)
    unpack(s, value[CAI_ENTRY_VERSION], &out.version, 0, True, False)
    unpack_row(s, value[CAI_ENTRY_STRIDES], &out.strides)
    unpack(s, value[CAI_ENTRY_STREAM], &out.stream, 0, True, False)
    unpack(s, value[CAI_ENTRY_OFFSET], &out.offset, 0, True, False)
    s.items_limit = DESCR_ITEMS
    unpack(s, value[CAI_ENTRY_DESCR], &out.descr, DESCR_LEVELS, False, True)
    s.items_limit = FLAT_ITEMS
    return 0
