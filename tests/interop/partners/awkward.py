# SPDX-License-Identifier: BSD-3-Clause
"""The awkward arrays that every partner is given: layouts, and types; made anew, by NumPy."""

import mmap
import tempfile

import ml_dtypes
import numpy as np
from numpy.lib.stride_tricks import as_strided

GIB = 1 << 30


def values(dtype):
    return np.arange(12).astype(dtype).reshape(3, 4)


def read_only(array):
    array.flags.writeable = False
    return array


def misaligned(dtype):
    array = np.frombuffer(bytearray(12 * dtype.itemsize + 1), dtype, offset=1)
    array[:] = values(dtype).ravel()
    return array


def field(dtype):
    """Of a packed struct: the stride is no multiple of the item size."""
    array = np.zeros(4, [("before", "i1"), ("x", dtype), ("after", "i2")])["x"]
    array[:] = values(dtype)[1]
    return array


def far_apart(dtype):
    """Two elements of a file that has nothing else."""
    with tempfile.TemporaryFile() as file:
        file.truncate(5 * GIB)
        memory = mmap.mmap(file.fileno(), 5 * GIB)
    array = np.ndarray((2,), dtype, memory, strides=(4 * GIB,))
    array[:] = values(dtype)[0, 1:3]
    return array


LAYOUTS = {
    "0-d": lambda dtype: values(dtype)[1, 2, ...],
    "empty": lambda dtype: values(dtype)[0, 4:],
    "empty and strided": lambda dtype: values(dtype)[::-2, 4:],
    "one element": lambda dtype: values(dtype)[1:2, 2:3],
    "negative strides": lambda dtype: values(dtype)[::-1, ::-2],
    "broadcast": lambda dtype: as_strided(values(dtype), (3, 4), (0, dtype.itemsize)),
    "Fortran order": lambda dtype: np.asfortranarray(values(dtype)),
    "slice": lambda dtype: values(dtype)[::2, 1:3],
    "offset start": lambda dtype: values(dtype).ravel()[5:],
    "read-only": lambda dtype: read_only(values(dtype).ravel()),
    "misaligned": misaligned,
    "packed field": field,
    "33 axes": lambda dtype: values(dtype).reshape((1,) * 31 + (3, 4)),
    "64 axes": lambda dtype: values(dtype).reshape((1,) * 62 + (3, 4)),
    "stride 2**40": lambda dtype: as_strided(values(dtype), (1, 4), (1 << 40, dtype.itemsize)),
    "4 GiB apart": far_apart,
}

NUMBERS = {
    "bool": "?",
    "uint8": "u1",
    "int64": "<i8",
    "float16": "<f2",
    "float32": "<f4",
    "complex64": "<c8",
    "complex128": "<c16",
    "big-endian": ">f4",
    "long double": "g",
    "bytes": "S2",
    "text": "U2",
}

OF_ML_DTYPES = [
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "int4",
    "float4_e2m1fn",
]


def of_type(dtype):
    return lambda: values(dtype).ravel()[:6].copy()


def structured():
    return np.array([(1, 2.5), (3, 4.5)], [("a", "<i4"), ("b", "<f8")])


class MaskedByBits(np.ma.MaskedArray):
    """A mask of type '|t1' in the text, and a validity bitmap in Arrow."""


def masked(kind):
    return lambda: kind(values("<f4").ravel(), mask=[False, True, False] * 4)


def has_code(dtype):
    """The types of ml_dtypes for which DLPack and libcai have numbers, byte for byte."""
    return dtype.name.startswith(("bfloat16", "float8_"))


# The NumPy form of each row; a partner's column has all of them.
ROWS = {
    **{name: lambda make=make: make(np.dtype("<f4")) for name, make in LAYOUTS.items()},
    **{name: of_type(dtype) for name, dtype in NUMBERS.items()},
    **{name: of_type(getattr(ml_dtypes, name)) for name in OF_ML_DTYPES},
    "date": lambda: np.array(["2026-01-02", "NaT"], "M8[s]"),
    "structured": structured,
    "masked by bytes": masked(np.ma.MaskedArray),
    "masked by bits": masked(MaskedByBits),
    "objects": lambda: np.array([1, "a"], object),
}

# Those of the partner ml_dtypes: every layout again, of a type that NumPy knows of by it alone.
ML_ROWS = {name: lambda make=make: make(np.dtype("bfloat16")) for name, make in LAYOUTS.items()}
