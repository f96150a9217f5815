# SPDX-License-Identifier: BSD-3-Clause
"""What other libraries do with a dict: which they refuse, and what of the rest they do not read.

Each function below states the rules of one reader, and yields a `Remark` for each rule that the
dict breaks: an error where the reader raises, a warning where it takes the dict and loses or
misreads something. Whether an address is of device memory, only a driver knows.
"""

import operator
import re
import reprlib
from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from libcai.errors import shown

KEYS = "shape", "typestr", "data"
# (kind, bytes) of the numbers of NumPy that PyTorch has, too.
NUMBERS = {("b", 1), ("f", 2), ("f", 4), ("f", 8), ("c", 8), ("c", 16)}
NUMBERS |= {(kind, size) for kind in "iu" for size in (1, 2, 4, 8)}
OF_NUMPY = NUMBERS | {("f", 16), ("c", 32), ("O", 8)}
TYPESTR = re.compile(r"([<>=|]?)([biufcOSUV])(\d+)|([<>=|]?)([mM])(8)(?:\[\d*[A-Za-z]+\])?")
MOST_DIMENSIONS_OF_CUPY = 64


class Remark(NamedTuple):
    severity: str
    text: str

    def __str__(self):
        return f"{self.severity}: {self.text}"


class Dtype(NamedTuple):
    kind: str
    itemsize: int
    is_big_endian: bool


def short(value):
    """The text of a value, which its own __repr__, or the length of an integer, may prevent."""
    try:
        return reprlib.repr(value)
    except Exception:
        return shown(value)


def error(entry, expected, value, advice):
    return Remark("error", f"{entry}: expected {expected}, got {short(value)}: {advice}")


def missing(entry):
    return Remark("error", f"{entry}: expected an entry, got none: add {entry!r} to the dict")


def warning(entry, text):
    return Remark("warning", f"{entry}: {text}")


# ---- What they have in common --------------------------------------------------------------------


def dtype_of(typestr):
    """What NumPy's dtype() makes of a typestr; None if it raises."""
    text = typestr.decode("latin-1") if isinstance(typestr, bytes) else typestr
    match = TYPESTR.fullmatch(text) if isinstance(text, str) else None
    if match:
        order, kind, size = match.groups()[:3] if match[2] else match.groups()[3:]
        size = int(size)
        if kind in "SV" or kind in "mM" or (kind, size) in OF_NUMPY:
            return Dtype(kind, size, order == ">" and size > 1 and kind not in "SVO")
        if kind == "U":
            return Dtype(kind, 4 * size, order == ">")
    try:
        import numpy  # which has more spellings: "f4,f4", "float32"
    except ImportError:
        return None
    try:
        found = numpy.dtype(typestr)
    except (TypeError, ValueError):
        return None
    return Dtype(found.kind, found.itemsize, found.byteorder == ">")


def is_numpys_integer(value):
    names = ((base.__module__, base.__name__) for base in type(value).__mro__)
    return ("numpy", "integer") in names


def is_int(value):
    return isinstance(value, int)


def is_index(value):
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def wrong_items(items, is_one):
    """Those that are no integers, or do not fit into one of 64 bits."""
    return [i for i in items if not is_one(i) or not -(1 << 63) <= int(i) < 1 << 63]


def judge_mask(interface, library):
    if interface.get("mask") is not None:
        yield Remark(
            "error",
            f"mask: expected None, got a mask: {library} has no masked arrays: fill in the masked "
            "elements, and leave the mask out",
        )


def judge_typestr(interface):
    """Yields an error if NumPy's dtype() would raise."""
    if "typestr" in interface and dtype_of(interface["typestr"]) is None:
        yield error(
            "typestr",
            "a typestr of NumPy's",
            interface["typestr"],
            "write the byte order, the kind and the item's bytes, as '<f4'",
        )


def count_of(shape):
    """How many elements; None if that cannot be said."""
    try:
        return prod(operator.index(extent) for extent in shape)
    except TypeError:
        return None


def judge_null(interface, pointer, library):
    if pointer == 0 and not isinstance(pointer, float) and count_of(interface.get("shape")):
        yield warning("data", f"{library} takes 0, a null pointer, though there are elements")


# ---- The readers ---------------------------------------------------------------------------------


def numba(interface):
    if interface is None or not hasattr(interface, "get"):
        yield error("interface", "a dict", interface, "return a dict from the attribute")
        return
    version = interface.get("version")
    try:
        has_masks = bool(version >= 1)
    except (TypeError, ValueError):
        yield error("version", "a number", version, "write 'version': 3")
    else:
        if has_masks:
            yield from judge_mask(interface, "numba-cuda")
        elif interface.get("mask") is not None:
            yield warning("mask", "numba-cuda does not read it in a dict of version 0")
    yield from map(missing, (key for key in KEYS if key not in interface))

    shape = interface.get("shape", ())
    extents = tuple_of_numba(shape)
    if extents is None:
        yield error("shape", "a tuple of ints", shape, "write tuple(shape)")
        extents = ()
    wrong = wrong_items(extents, is_int_of_numba)
    if wrong:
        yield error("shape", "ints of 64 bits", wrong[0], "write int(extent)")
    elif any(extent < 0 for extent in extents):
        yield warning("shape", f"numba-cuda takes {short(shape)}, with an extent below 0")
    yield from strides_of_numba(interface.get("strides"), extents)

    yield from judge_typestr(interface)
    dtype = dtype_of(interface.get("typestr"))
    if dtype and dtype.kind == "V" and interface.get("descr"):
        yield warning("descr", "numba-cuda does not read it: the fields have no names or types")
    if dtype and dtype.kind == "O":
        yield warning("typestr", "numba-cuda takes it, but the elements are addresses of the host")

    if "data" in interface:
        yield from data_of_numba(interface)
    stream = interface.get("stream")
    if stream is not None and (not is_int(stream) or not 0 <= stream < 1 << 64):
        yield error("stream", "an int from 1, or None", stream, "write int(handle of the stream)")
    elif stream == 0:
        yield warning(
            "stream", "numba-cuda waits for the legacy default stream, which is 1: write 1"
        )


def is_int_of_numba(value):
    return is_int(value) or is_numpys_integer(value)


def tuple_of_numba(value):
    """What numba-cuda makes of a shape or of strides; None if it raises."""
    if is_int(value):
        return (value,)
    try:
        return tuple(value)
    except TypeError:
        return None


def strides_of_numba(strides, extents):
    try:
        given = is_int(strides) or bool(strides)
    except ValueError:  # an array of NumPy's
        yield error("strides", "a tuple of ints, or None", strides, "write tuple(strides)")
        return
    if not given:
        return
    steps = tuple_of_numba(strides)
    if steps is None:
        yield error("strides", "a tuple of ints, or None", strides, "write tuple(strides)")
    elif len(steps) != len(extents):
        yield error(
            "strides",
            f"{len(extents)} items, as shape has",
            strides,
            "give the bytes from one element to the next for each dimension",
        )
    # It takes floats where it has had the same layout in ints before.
    elif wrong := wrong_items(steps, is_int_of_numba):
        yield error("strides", "ints of 64 bits", wrong[0], "write int(stride)")


def data_of_numba(interface):
    data = interface["data"]
    try:
        pointer = data[0]
    except (TypeError, LookupError):
        yield error("data", "(pointer, read-only flag)", data, "write (address, False)")
        return
    try:
        fits = hasattr(pointer, "__int__") and 0 <= int(pointer) < 1 << 64
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        yield error("data", "an address of 64 bits", pointer, "write int(address)")
    yield from judge_null(interface, pointer, "numba-cuda")
    if isinstance(data, (tuple, list)) and len(data) > 1 and data[1]:
        yield warning("data", "numba-cuda forgets that it is read-only, and may write")


def cupy(interface):
    if type(interface) is not dict:
        yield error("interface", "a dict, no subclass", interface, "return dict(interface)")
        return
    yield from map(missing, (key for key in KEYS if key not in interface))
    yield from judge_mask(interface, "CuPy")

    shape, strides = interface.get("shape", ()), interface.get("strides")
    extents = shape if type(shape) is tuple else ()
    if type(shape) is not tuple:
        yield error("shape", "a tuple, no subclass", shape, "write tuple(shape)")
    wrong = wrong_items(extents, is_index)
    if wrong:
        yield error("shape", "ints of 64 bits", wrong[0], "write int(extent)")
        extents = ()
    elif any(operator.index(extent) < 0 for extent in extents):
        yield error("shape", "extents of 0 or more", shape, "write how many elements there are")
    if len(extents) > MOST_DIMENSIONS_OF_CUPY:
        yield error(
            "shape",
            f"{MOST_DIMENSIONS_OF_CUPY} dimensions at most",
            len(extents),
            "drop dimensions of extent 1",
        )

    yield from judge_typestr(interface)
    dtype = dtype_of(interface.get("typestr"))
    if dtype and dtype.is_big_endian:
        yield error(
            "typestr",
            "little-endian elements",
            interface["typestr"],
            "swap the bytes, and write '<' for '>'",
        )
    if dtype and dtype.kind == "O":
        yield warning("typestr", "CuPy takes it, but the elements are addresses of the host")
    descr = interface.get("descr")
    if dtype and dtype.kind == "V" and isinstance(descr, list):
        wrong = next((item for item in descr if len(item) != 2), None)
        if wrong is not None:
            yield error("descr", "fields of a name and a type", wrong, "leave arrays in fields out")

    steps = None
    if strides is not None:
        if not isinstance(strides, (tuple, list)):
            yield error("strides", "a tuple of ints, or None", strides, "write tuple(strides)")
        elif wrong := wrong_items(strides, is_index):
            yield error("strides", "ints of 64 bits", wrong[0], "write int(stride)")
        elif len(strides) != len(extents):
            yield error(
                "strides",
                f"{len(extents)} items, as shape has",
                strides,
                "give the bytes from one element to the next for each dimension",
            )
        else:
            steps = strides

    if "data" in interface:
        # This is how CuPy finds whether there is something to look up the address of.
        if steps is not None:
            pairs = zip(map(operator.index, extents), map(operator.index, steps), strict=True)
            size = max((abs(extent * step) for extent, step in pairs), default=0)
        else:
            size = count_of(extents) * (dtype.itemsize if dtype else 1)
        yield from pointer_of_cupy(interface["data"], size)
    stream = interface.get("stream")
    if stream is not None and (not is_int(stream) or not 0 <= stream < 1 << 63):
        yield error("stream", "an int from 1, or None", stream, "write int(handle of the stream)")
    elif stream == 0:
        yield warning("stream", "CuPy waits for the legacy default stream, which is 1: write 1")


def pointer_of_cupy(data, size):
    if not isinstance(data, (tuple, list)) or not data:
        yield error("data", "(pointer, read-only flag)", data, "write (address, False)")
        return
    pointer = data[0]
    if not is_int(pointer) or not 0 <= pointer < 1 << 63:
        yield error("data", "an int, an address of 63 bits", pointer, "write int(address)")
    elif pointer == 0 and size:
        yield error(
            "data",
            "an address of device memory",
            pointer,
            "give the array's address, or strides of None if it has no elements",
        )
    if len(data) > 1 and data[1]:
        yield warning("data", "CuPy forgets that it is read-only, and may write")


def torch(interface):
    if not isinstance(interface, dict):
        yield error("interface", "a dict", interface, "return dict(interface)")
        return
    yield from map(missing, (key for key in KEYS if key not in interface))
    if interface.get("mask") is not None:
        yield warning("mask", "PyTorch does not read it: masked elements count as any other")

    shape, strides = interface.get("shape", ()), interface.get("strides")
    extents = sequence_of_torch(shape)
    if extents is None:
        yield error("shape", "a tuple of ints", shape, "write tuple(shape)")
        extents = ()
    wrong = wrong_items(extents, is_index)
    if wrong:
        yield error("shape", "ints of 64 bits", wrong[0], "write int(extent)")
    elif any(operator.index(extent) < 0 for extent in extents):
        yield error("shape", "extents of 0 or more", shape, "write how many elements there are")

    yield from judge_typestr(interface)
    dtype = dtype_of(interface.get("typestr"))
    if dtype and (dtype.kind, dtype.itemsize) not in NUMBERS:
        yield error(
            "typestr",
            "a bool, an integer, a float of 2, 4 or 8 bytes or a complex number of 8 or 16",
            interface["typestr"],
            "view the memory as one of these",
        )
    elif dtype and dtype.is_big_endian:
        yield warning("typestr", "PyTorch misreads it: it does not look at the byte order")

    if strides is not None:
        steps = sequence_of_torch(strides)
        if steps is None or len(steps) != len(extents):
            yield error(
                "strides",
                f"{len(extents)} items, as shape has, or None",
                strides,
                "give the bytes from one element to the next for each dimension",
            )
        elif wrong := wrong_items(steps, is_index):
            yield error("strides", "ints of 64 bits", wrong[0], "write int(stride)")
        elif dtype:
            yield from strides_of_torch(steps, dtype)

    if "data" in interface:
        yield from data_of_torch(interface)
    stream = interface.get("stream")
    if stream is not None:
        yield warning(
            "stream",
            f"PyTorch does not wait for {short(stream)}: let the host or PyTorch's stream "
            "wait for it before",
        )


def sequence_of_torch(value):
    """What PyTorch finds in a shape or in strides; None if it raises."""
    if isinstance(value, Mapping):
        return None
    try:
        return [value[i] for i in range(len(value))]
    except (TypeError, LookupError):
        return None


def strides_of_torch(strides, dtype):
    odd = next((step for step in strides if operator.index(step) % (dtype.itemsize or 1)), None)
    if odd is not None:
        yield error(
            "strides",
            f"multiples of the item's {dtype.itemsize} bytes",
            odd,
            "copy the array into contiguous memory",
        )
    if any(operator.index(step) < 0 for step in strides):
        yield warning("strides", "PyTorch does not check them, and has no tensors of negative ones")


def data_of_torch(interface):
    data = interface["data"]
    if not isinstance(data, tuple) or len(data) != 2:
        yield error("data", "a tuple of a pointer and a flag", data, "write (address, False)")
        return
    pointer, is_readonly = data
    if not is_int(pointer) or not 0 <= pointer < 1 << 64:
        yield error("data", "an int, an address of 64 bits", pointer, "write int(address)")
    yield from judge_null(interface, pointer, "PyTorch")
    if is_readonly:
        yield error(
            "data", "memory that may be written", is_readonly, "copy it, or write (address, False)"
        )


class Reader(NamedTuple):
    library: str
    version: str
    function: str
    judge: object


# What is said above was read in the sources of these versions and tried with them on 2026-11-26:
# numba-cuda on simcuda, CuPy and PyTorch up to their first call of the driver. The rest of what
# they do is from their sources.
READERS = {
    "numba": Reader("numba-cuda", "0.30.4", "numba.cuda.as_cuda_array", numba),
    "cupy": Reader("CuPy", "14.2.0", "cupy.asarray", cupy),
    "torch": Reader("PyTorch", "2.15.0", "torch.as_tensor", torch),
}
