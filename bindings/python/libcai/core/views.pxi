# SPDX-License-Identifier: BSD-3-Clause
# A part of _core. Needs array, unpack.
#
# Views. The library makes each view. A block of this module wraps it, so that the collector can
# follow it. A view of a view holds the root array, so chains do not grow.

cdef enum:
    MAX_KEYS = 192  # more than the dimensions and new axes of any valid key


cdef Array view(Array self, cai_array *made):
    """Wraps an owned array that libcai made from `self`'s root; takes it over."""
    return wrapped_view(made, root_of(self))


cdef Array wrapped_view(cai_array *made, cai_owner *held):
    """Wraps an owned array that libcai made from `held`'s array; takes it over."""
    cdef cai_py_block *block = cai_py_block_new(sizeof(cai_array) if made.mask != NULL else 0)
    cdef cai_array *mask
    if block == NULL:
        with nogil:
            cai_array_release(made)
        raise MemoryError()
    block.array = made[0]
    cai_py_block_view(block, made, held)
    if made.mask != NULL:
        mask = <cai_array *>cai_py_block_storage(block)
        mask[0] = made.mask[0]
        block.array.mask = mask
    cai_py_block_adopt(block)
    return wrap(&block.array, &block.owner)


cdef cai_owner *root_of(Array self) noexcept:
    """The owner that a view of `self` holds: not `self`, unless `self` was published with its own
    stream."""
    cdef cai_py_block *block = cai_py_block_of(self.owner)
    if block == NULL or block.held == NULL or block.owner.uses != NULL:
        return self.owner
    return block.held


cdef struct Source:
    cai_array array
    cai_array mask


cdef void open_source(Source *source, Array self) noexcept:
    """Presents the array as owned by the root, for libcai to hold."""
    source.array = self.array[0]
    source.array.owner = root_of(self)
    if self.array.mask != NULL:
        source.mask = self.array.mask[0]
        source.mask.owner = source.array.owner
        source.array.mask = &source.mask


cdef Array sliced(Array self, key):
    cdef cai_slice slices[MAX_KEYS]
    cdef cai_error error
    cdef cai_array *made = NULL
    cdef Source source
    cdef Py_ssize_t start, stop, step, count = 0
    cdef tuple items = tuple(key) if isinstance(key, tuple) else (key,)
    if len(items) > MAX_KEYS:
        raise ViewIndexError(f"too many indices: {len(items)}")
    memset(slices, 0, len(items) * sizeof(cai_slice))
    for item in items:
        if isinstance(item, slice):
            slices[count].kind = CAI_SLICE_RANGE
            if item.start is None:
                slices[count].kind |= CAI_SLICE_NO_START
            if item.stop is None:
                slices[count].kind |= CAI_SLICE_NO_STOP
            PySlice_Unpack(item, &start, &stop, &step)
            slices[count].start = start
            slices[count].stop = stop
            slices[count].step = step
        elif item is None:
            slices[count].kind = CAI_SLICE_NEWAXIS
        elif item is Ellipsis:
            slices[count].kind = CAI_SLICE_ELLIPSIS
        elif isinstance(item, bool) or not is_index(<PyObject *>item):
            raise TypeError(
                "only integers, slices (`:`), ellipsis (`...`) and None are valid indices, not "
                f"{type(item).__name__}")
        else:
            slices[count].kind = CAI_SLICE_INDEX
            slices[count].start = int64_of(item, ViewIndexError, "index")
        count += 1
    open_source(&source, self)
    if cai_array_slice(&source.array, slices, <int32_t>count, &made, &error) != CAI_OK:
        if error.status == CAI_ERR_ARGUMENT:
            raise ViewIndexError(text_of(error.message))
        raise_error(&error, NULL)
    return view(self, made)


cdef int64_t int64_of(item, refusal, str what) except? -1:
    number = PyNumber_Index(item)
    try:
        return number
    except OverflowError:
        raise refusal(f"{what} of {int.bit_length(number)} bits is out of range") from None


cdef tuple items_of(given, str what, str wanted):
    """The items of an argument that is a sequence."""
    kind = type(given)
    if not hasattr(kind, "__iter__") and not hasattr(kind, "__getitem__"):
        raise TypeError(f"{what} is {shown(given)}, and no sequence of {wanted}")
    return tuple(given)


cdef int32_t dims_of(args, int64_t *out, str what) except -1:
    """Unpacks ``*args``, or the one sequence in it, into at most CAI_MAX_NDIM integers."""
    cdef int32_t count = 0
    if len(args) == 1 and not PyIndex_Check(args[0]):
        args = items_of(args[0], what, "integers")
    if len(args) > CAI_MAX_NDIM:
        raise from_status(
            CAI_ERR_ARGUMENT, 0, f"{what}: {len(args)} dimensions are more than {CAI_MAX_NDIM}")
    for item in args:
        if isinstance(item, bool) or not is_index(<PyObject *>item):
            raise TypeError(f"{what}: an integer is required, not {shown(item)}")
        out[count] = int64_of(item, ViewError, what)
        count += 1
    return count


cdef Array reshaped(Array self, args):
    cdef int64_t shape[64]
    cdef int32_t ndim = dims_of(args, shape, "shape")
    cdef cai_error error
    cdef cai_array *made = NULL
    cdef Source source
    open_source(&source, self)
    if cai_array_reshape(&source.array, shape, ndim, &made, &error) != CAI_OK:
        raise_error(&error, NULL)
    return view(self, made)


cdef Array broadcasted(Array self, args):
    cdef int64_t shape[64]
    cdef int32_t ndim = dims_of((args,), shape, "shape")
    cdef cai_error error
    cdef cai_array *made = NULL
    cdef Source source
    open_source(&source, self)
    if cai_array_broadcast(&source.array, shape, ndim, &made, &error) != CAI_OK:
        raise_error(&error, NULL)
    return view(self, made)


cdef Array transposed(Array self, args):
    cdef int64_t wide[64]
    cdef int32_t axes[64]
    cdef int32_t i, count
    cdef cai_error error
    cdef cai_array *made = NULL
    cdef Source source
    cdef int32_t *given = NULL
    if args and args != (None,):
        count = dims_of(args, wide, "axes")
        if count != self.array.ndim:
            raise from_status(
                CAI_ERR_ARGUMENT, 0, f"axes: {count} given for {self.array.ndim} dimensions")
        for i in range(count):
            if not -CAI_MAX_NDIM <= wide[i] < CAI_MAX_NDIM:
                raise from_status(CAI_ERR_ARGUMENT, 0, f"axes: axis {wide[i]} is out of range")
            axes[i] = <int32_t>wide[i]
        given = axes
    open_source(&source, self)
    if cai_array_transpose(&source.array, given, &made, &error) != CAI_OK:
        raise_error(&error, NULL)
    return view(self, made)
