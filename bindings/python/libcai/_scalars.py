# SPDX-License-Identifier: BSD-3-Clause
"""One element of an array, as bytes and as a Python value."""

import operator
import struct

from libcai.errors import UseError, shown

# By kind and size; NumPy converts the rest.
_FORMATS = {
    **{("i", 1 << n): letter for n, letter in enumerate("bhiq")},
    **{("u", 1 << n): letter for n, letter in enumerate("BHIQ")},
    **{("f", 2 << n): letter for n, letter in enumerate("efd")},
    **{("c", 8 << n): letter for n, letter in enumerate(("ff", "dd"))},
    ("b", 1): "?",
}
_CONVERSIONS = {"b": bool, "i": operator.index, "u": operator.index, "f": float, "c": complex}


def pack(value, array):
    """Returns the bytes of an element of `array` that has this value.

    For a type that has no numbers, bytes of an element's size are returned unchanged. ml_dtypes
    converts bfloat16 and float8.
    """
    form = _FORMATS.get((array.kind, array.itemsize))
    # Everything has a truth value, also what is no element, such as a list.
    if form is None or (array.kind == "b" and not isinstance(value, (int, float, complex))):
        return _packed_by_numpy(value, array)
    try:
        value = _CONVERSIONS[array.kind](value)
    except OverflowError:
        raise _unfit(value, array) from None
    except (TypeError, ValueError) as failure:
        raise _refused(value, array, failure) from failure
    parts = (value.real, value.imag) if array.kind == "c" else (value,)
    try:
        return struct.pack(_order(array) + form, *parts)
    except (struct.error, OverflowError):
        raise _unfit(value, array) from None


def unpack(data, array):
    """Returns the value of an element of `array`: int, float, bool, bytes, ..."""
    form = _FORMATS.get((array.kind, array.itemsize))
    if form is None:
        import numpy

        return numpy.frombuffer(data, array.dtype, 1)[0].item()
    parts = struct.unpack(_order(array) + form, data)
    return complex(*parts) if array.kind == "c" else parts[0]


def _packed_by_numpy(value, array):
    import numpy

    if array.kind in "SUV" and isinstance(value, (bytes, str)):
        most = array.itemsize // (4 if array.kind == "U" else 1)
        if len(value) > most:  # NumPy would truncate it
            raise _unfit(value, array)

    if array.kind == "V" and isinstance(value, int) and array.dtype.type is not numpy.void:
        value = _as_float(value)
    try:
        made = numpy.array(value, array.dtype)
    except OverflowError:
        raise _unfit(value, array) from None
    except (TypeError, ValueError) as failure:
        raise _refused(value, array, failure) from failure
    if made.shape != ():
        raise UseError(f"value {shown(value)} is not one of {array.typestr!r}")
    if array.kind in "mM":
        _check_time(numpy, value, made, array)
    return made.tobytes()


def _as_float(number):
    """Of any integer, of which ml_dtypes takes the short ones only."""
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _check_time(numpy, value, made, array):
    """Refuses a time that NumPy gave a unit of its own, or has taken modulo 2**64."""
    native = made.dtype.newbyteorder("=")
    if native != array.dtype.newbyteorder("="):
        raise _refused(value, array, ValueError("the value has a unit, and the type has none"))
    given = numpy.asarray(value)
    try:
        if given.dtype.kind not in "mM":  # text, or a time of Python's
            given = numpy.array(value, array.kind)
        is_finer = numpy.promote_types(given.dtype, native) == native
    except (OverflowError, TypeError, ValueError):  # a number, or units that are too far apart
        return
    if is_finer and given.dtype.kind == array.kind:
        # A year begins within a week, which NumPy then rounds down.
        back = [time.astype(given.dtype).astype("i8") for time in (made, made + 1)]
        if given.astype("i8") not in back:
            raise _unfit(value, array)


def _unfit(value, array):
    return UseError(f"value {shown(value)} does not fit {array.typestr!r}")


def _refused(value, array, failure):
    kind = TypeError if isinstance(failure, TypeError) else ValueError
    return kind(f"value {shown(value)} is not one of {array.typestr!r}: {failure}")


def _order(array):
    return array.byteorder if array.byteorder in "<>" else "="
