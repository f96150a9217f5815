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
    if form is None:
        return _packed_by_numpy(value, array)
    try:
        value = _CONVERSIONS[array.kind](value)
    except OverflowError:
        raise UseError(f"value {shown(value)} does not fit {array.typestr!r}") from None
    except (TypeError, ValueError) as failure:
        raise _refused(value, array, failure) from failure
    parts = (value.real, value.imag) if array.kind == "c" else (value,)
    try:
        return struct.pack(_order(array) + form, *parts)
    except (struct.error, OverflowError):
        raise UseError(f"value {shown(value)} does not fit {array.typestr!r}") from None


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

    if isinstance(value, (bytes, str)):
        most = array.itemsize // (4 if array.kind == "U" else 1)
        if len(value) > most:  # NumPy would truncate it
            raise UseError(f"value {shown(value)} does not fit {array.typestr!r}")

    try:
        made = numpy.array(value, array.dtype)
    except (TypeError, ValueError) as failure:
        raise _refused(value, array, failure) from failure
    if made.shape != ():
        raise UseError(f"value {shown(value)} is not one of {array.typestr!r}")
    return made.tobytes()


def _refused(value, array, failure):
    kind = TypeError if isinstance(failure, TypeError) else ValueError
    return kind(f"value {shown(value)} is not one of {array.typestr!r}: {failure}")


def _order(array):
    return array.byteorder if array.byteorder in "<>" else "="
