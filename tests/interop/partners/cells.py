# SPDX-License-Identifier: BSD-3-Clause
"""A cell of the matrix: one awkward array, given or taken in one way, and what became of it."""

import dataclasses
import traceback
from collections.abc import Callable

import numpy as np
from numpy.lib.array_utils import byte_bounds

import awkward
import libcai


@dataclasses.dataclass
class Seen:
    """An array as one side sees it."""

    address: int
    shape: tuple
    strides: tuple  # in bytes
    dtype: np.dtype
    readonly: bool  # False also where there is no such mark
    values: bytes  # of all elements, in C order
    valid: list | None = None  # of a mask: which elements are


@dataclasses.dataclass
class Way:
    """One way to take an array from a partner, or to give it one.

    `gives`: `make` has the partner make its own array, and `take` has libcai take that. `takes`:
    `make` has libcai take NumPy's array, and `take` the partner. What it sees is returned.
    """

    partner: str
    direction: str
    name: str
    make: Callable
    take: Callable
    rows: dict = dataclasses.field(default_factory=lambda: awkward.ROWS)


def interface(array, address=None, **more):
    """A dict of the text's version 3, of the array's own memory or of that at an address."""
    value = {
        "shape": array.shape,
        "typestr": array.dtype.str,
        "data": (array.ctypes.data if address is None else address, not array.flags.writeable),
        "strides": array.strides,
        "version": 3,
        **more,
    }
    return value if array.dtype.fields is None else {**value, "descr": array.dtype.descr}


class WithDict:
    def __init__(self, name, value, owner=None):
        setattr(self, name, value)
        self.owner = owner


def read(address, shape, strides, itemsize):
    """The bytes of the host's array, in C order, by NumPy alone."""
    if 0 in shape:
        return b""
    value = {"shape": shape, "typestr": f"|V{itemsize}", "strides": strides, "version": 3}
    return np.asarray(WithDict("__array_interface__", {**value, "data": (address, True)})).tobytes()


def seen_by_libcai(taken, read=read):
    """The array that libcai has made, and the bytes that are there."""
    return Seen(
        taken.data,
        taken.shape,
        taken.strides,
        taken.dtype,
        taken.readonly,
        read(taken.data, taken.shape, taken.strides, taken.itemsize),
        taken.mask and valid_of(taken.mask, read),
    )


def valid_of(mask, read):
    if mask.typestr != "|t1":
        return list(map(bool, read(mask.data, mask.shape, mask.strides, 1)))
    data = read(mask.data, (-(-mask.size // 8),), (1,), 1)
    return bits_of(data)[: mask.size]


def bits_of(data):
    """Which elements a bitmap has, the lowest bit first."""
    return np.unpackbits(np.frombuffer(data, "u1"), bitorder="little").astype(bool).tolist()


def on_host(array):
    """The libcai.Array of the same memory that partners are given. NumPy has no dict that says a
    mask, and none that says a type of ml_dtypes."""
    if isinstance(array, np.ma.MaskedArray):
        valid = valid_in(array)
        mask = WithDict("__array_interface__", mask_interface(array, valid), valid)
        return libcai.from_interface(interface(array.data, mask=mask), owner=array, host=True)
    if not awkward.has_code(array.dtype):
        return libcai.asarray(array)
    lo, hi = byte_bounds(array)
    memory = libcai.Memory.wrap(lo, max(hi - lo, 1), device="cpu", owner=array)
    return typed(memory, array, array.ctypes.data - lo)


def typed(memory, array, offset):
    """An array of one of ml_dtypes' types, laid out like another one."""
    made = memory.array(array.shape, array.dtype.name, array.strides, offset)
    return made if array.flags.writeable else made.broadcast_to(made.shape)


def valid_in(array):
    """Which elements of a masked array are valid: bytes, or bits."""
    valid = ~np.ma.getmaskarray(array)
    by_bits = isinstance(array, awkward.MaskedByBits)
    return np.packbits(valid, bitorder="little") if by_bits else valid


def mask_interface(array, valid, address=None, **more):
    """The dict of valid_in(array), whose True means valid as in the text."""
    if isinstance(array, awkward.MaskedByBits):
        more |= {"shape": array.shape, "strides": None, "typestr": "|t1"}
    return interface(valid, address, **more)


def differences(array, address, seen):
    """What is otherwise than in the array that was given. Strides that nobody follows may differ,
    and so may the address of nothing; that a copy or a view is marked read-only is no loss."""
    found = set()
    if seen.shape != array.shape:
        found.add("shape")
    elif array.size:
        steps = zip(array.shape, array.strides, seen.strides, strict=True)
        if any(extent > 1 and ours != theirs for extent, ours, theirs in steps):
            found.add("strides")
    if array.size and address is not None and seen.address != address:
        found.add("address")
    if seen.dtype != array.dtype:
        found.add("type")
    if seen.values != (array.data if isinstance(array, np.ma.MaskedArray) else array).tobytes():
        found.add("values")
    if not seen.readonly and not array.flags.writeable:
        found.add("read-only")
    mask = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    if seen.valid != (mask if mask is None else (~mask).tolist()):
        found.add("mask")
    return found


def run(way, row):
    """(outcome, what was said): 'ok'; 'changed' and what was; 'refused' or 'absent' and why. That
    is absent which cannot be made at all."""
    array = way.rows[row]()
    try:
        made = way.make(array)
    except Exception as error:
        return "absent", said(error)
    address = array.ctypes.data
    if isinstance(made, tuple):
        made, address = made
    elif way.direction == "takes":
        address = made.data
    try:
        seen = way.take(made)
    except Exception as error:
        return "refused", said(error)
    found = differences(array, address, seen)
    return ("changed", ", ".join(sorted(found))) if found else ("ok", "")


def said(error):
    text = "".join(traceback.format_exception_only(error)).strip()
    cause = error.__cause__ or error.__context__
    return text if cause is None else f"{text}; because {cause}"
