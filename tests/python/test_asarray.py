# SPDX-License-Identifier: BSD-3-Clause
"""Which objects are taken, what is read of them, and what is held."""

import array as arrays
import builtins
import ctypes
import string
import struct
import sys
from collections import OrderedDict, UserDict, namedtuple
from collections.abc import Mapping
from itertools import product
from types import MappingProxyType

import numpy as np
import pytest
from helpers import ADDRESS, Cuda, Host, interface, producer

import libcai


def test_an_array_is_returned_as_it_is():
    array = libcai.asarray(producer())
    assert libcai.asarray(array) is array
    assert libcai.asarray(array, strict=True) is array


def test_numpy_arrays_are_on_the_host():
    given = np.arange(6, dtype="f4").reshape(2, 3)
    array = libcai.asarray(given)
    assert array.device == (libcai.DeviceType.CPU, 0)
    assert array.data == given.ctypes.data
    assert array.stream is None
    assert array.stream_kind == "none"


def test_the_gpu_comes_first():
    class Both(Cuda, Host):
        pass

    assert libcai.asarray(Both(interface())).device.type == libcai.DeviceType.CUDA


def test_the_attribute_is_read_once():
    reads = []

    class Counting:
        @property
        def __cuda_array_interface__(self):
            reads.append(self)
            return interface()

    libcai.asarray(Counting())
    assert len(reads) == 1


@pytest.mark.parametrize("base", [Cuda, Host])
def test_instance_and_class_attributes(base):
    name = "__cuda_array_interface__" if base is Cuda else "__array_interface__"
    value = interface(stream=...)

    class Bare:
        pass

    on_class = type("OnClass", (), {name: value})()
    on_instance = Bare()
    setattr(on_instance, name, value)

    class Dynamic:
        def __getattr__(self, wanted):
            if wanted == name:
                return value
            raise AttributeError(wanted)

    for given in (on_class, on_instance, Dynamic()):
        assert libcai.asarray(given).shape == (2, 3)


def test_the_dict_is_copied_and_never_kept_nor_written():
    mapping = interface(shape=[2, 3], stream=0, typestr="f4")
    before = dict(mapping)
    count = sys.getrefcount(mapping)
    given = Cuda(mapping)
    array = libcai.asarray(given)
    assert sys.getrefcount(mapping) == count + 1  # `given` has it, the array has not
    assert mapping == before
    mapping["shape"][0] = 7
    mapping.clear()
    assert array.shape == (2, 3)
    assert array.typestr == "<f4"
    assert array.stream == 1


def test_the_object_and_the_mask_are_held_once():
    mask = producer(typestr="|b1")
    given = producer(mask=mask)
    counts = sys.getrefcount(given), sys.getrefcount(mask)
    array = libcai.asarray(given)
    assert (sys.getrefcount(given), sys.getrefcount(mask)) == (counts[0] + 1, counts[1] + 1)
    view = array[1:]
    also_mask = array.mask
    assert (sys.getrefcount(given), sys.getrefcount(mask)) == (counts[0] + 1, counts[1] + 1)
    del array, view
    assert sys.getrefcount(given) == counts[0] + 1
    assert also_mask.shape == (2, 3)
    del also_mask
    assert (sys.getrefcount(given), sys.getrefcount(mask)) == counts


def test_subclasses_mean_the_same():
    Shape = namedtuple("Shape", "rows columns")

    class Text(str):
        __slots__ = ()

    class Number(int):
        pass

    mapping = OrderedDict(
        interface(shape=Shape(Number(2), 3), typestr=Text("<f4"), data=(Number(ADDRESS), False))
    )
    assert libcai.asarray(Cuda(mapping)).shape == (2, 3)
    with pytest.raises(libcai.InterfaceTypeError):
        libcai.asarray(Cuda(mapping), strict=True)


def test_from_interface():
    owner = producer()
    count = sys.getrefcount(owner)
    array = libcai.from_interface(interface(), owner=owner)
    assert array.data == ADDRESS
    assert sys.getrefcount(owner) == count + 1
    del array
    assert sys.getrefcount(owner) == count
    assert libcai.from_interface(interface()).shape == (2, 3)


def test_from_interface_of_the_host():
    given = np.arange(6, dtype="i2").reshape(2, 3)
    array = libcai.from_interface(given.__array_interface__, owner=given, host=True)
    assert array.device.type == libcai.DeviceType.CPU
    assert np.array_equal(np.asarray(array), given)


class Items(Mapping):
    """What a Mapping must have, and no get() of a dict's."""

    def __init__(self, items):
        self.kept = items

    def __getitem__(self, key):
        return self.kept[key]

    def __iter__(self):
        return iter(self.kept)

    def __len__(self):
        return len(self.kept)


@pytest.mark.parametrize("like", [MappingProxyType, UserDict, Items])
def test_from_interface_of_another_mapping(like):
    given = np.arange(6, dtype="i2").reshape(2, 3)
    array = libcai.from_interface(like(given.__array_interface__), owner=given, host=True)
    assert np.array_equal(np.asarray(array), given)
    mask = Cuda(like(interface(typestr="|b1")))
    array = libcai.from_interface(like(interface(mask=mask, stream=7)))
    assert (array.data, array.shape, array.stream) == (ADDRESS, (2, 3), 7)
    assert array.mask.shape == (2, 3)
    with pytest.raises(libcai.InterfaceError, match="shape"):
        libcai.from_interface(like(interface(shape=(2, -3))))
    with pytest.raises(libcai.InterfaceTypeError, match=r"another mapping: convert it by dict\(\)"):
        libcai.from_interface(like(interface()), strict=True)


def test_signatures():
    with pytest.raises(TypeError):
        libcai.asarray()
    with pytest.raises(TypeError):
        libcai.asarray(producer(), True)
    with pytest.raises(TypeError):
        libcai.asarray(obj=producer())
    with pytest.raises(TypeError):
        libcai.from_interface(interface(), None)
    assert libcai.asarray.__doc__


def test_version_and_names():
    assert libcai.__version__.count(".") == 2
    for name in libcai.__all__:
        assert getattr(libcai, name) is not None
    assert set(libcai.__all__) <= set(dir(libcai))
    assert not set(libcai.__all__) & set(dir(builtins))  # `import *` hides no built-in name
    with pytest.raises(AttributeError):
        libcai.nothing  # noqa: B018


# ---- Buffers


class Buffer(ctypes.Structure):
    """A Py_buffer."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


MEMORY = (ctypes.c_ubyte * 256)(*range(256))
from_buffer = ctypes.pythonapi.PyMemoryView_FromBuffer
from_buffer.restype = ctypes.py_object
from_buffer.argtypes = (ctypes.POINTER(Buffer),)


kept = []


def view(given, itemsize, suboffsets=None):
    """A memoryview of three items with any format and size."""
    kept.append(given)  # the view copies all but this text
    numbers = ctypes.c_ssize_t * 1
    pointers = None if suboffsets is None else numbers(suboffsets)
    buffer = Buffer(ctypes.addressof(MEMORY), None, 3 * itemsize, itemsize, False, 1, given)
    buffer.shape, buffer.strides, buffer.suboffsets = numbers(3), numbers(itemsize), pointers
    return from_buffer(ctypes.byref(buffer))


LETTERS = "?bBhHiIlLqQnNefd"
FORMATS = [order + letter for order in ("", "@", "=", "<", ">", "!") for letter in LETTERS]


@pytest.mark.parametrize("given", [*FORMATS, "s", "5s", ">5s", "c", "<c"])
def test_a_buffer_has_items_of_the_size_that_its_format_says(given):
    try:
        wanted = struct.calcsize(given)
    except struct.error:  # "n" has no standard size
        wanted = None
    for itemsize in (1, 2, 4, 5, 8, 16):
        text = given.encode()
        if itemsize == wanted:
            assert libcai.asarray(view(text, itemsize)).itemsize == wanted
            continue
        with pytest.raises(libcai.InterfaceError) as caught:
            libcai.asarray(view(text, itemsize))
        assert f"format is {given!r} with items of {itemsize} bytes" in str(caught.value)
        assert (caught.value.entry, caught.value.value) == ("typestr", given)


@pytest.mark.parametrize(
    ("given", "itemsize", "typestr"),
    [
        (None, 1, "|u1"),
        ("Zf", 8, "<c8"),
        (">Zd", 16, ">c16"),
        ("w", 4, "<U1"),
        ("3w", 12, "<U3"),
        ("g", ctypes.sizeof(ctypes.c_longdouble), f"<f{ctypes.sizeof(ctypes.c_longdouble)}"),
        ("^l", ctypes.sizeof(ctypes.c_long), f"<i{ctypes.sizeof(ctypes.c_long)}"),
    ],
)
def test_sizes_that_struct_does_not_know(given, itemsize, typestr):
    text = None if given is None else given.encode()
    assert libcai.asarray(view(text, itemsize)).typestr == typestr
    for other in (itemsize - 1, itemsize + 1, 2 * itemsize):
        with pytest.raises(libcai.InterfaceError, match=r"^typestr: the buffer's format"):
            libcai.asarray(view(text, other))


def test_a_format_means_what_numpy_reads():
    letters = [*string.punctuation, *string.ascii_letters, "Zf", "Zd", "Zg", "ZF", "Ze"]
    unread = {"n": "i", "N": "u", "g": "f", "Zg": "c"}  # by NumPy, in some orders or all
    taken = 0
    for order, count, letter in product("@=<>!^|", ("", "1", "2", "3"), letters):
        given = f"{order}{count}{letter}".encode()
        for itemsize in (1, 2, 3, 4, 8, 12, 16, 32):
            items = view(given, itemsize)
            try:
                typestr = libcai.asarray(items).typestr
            except libcai.InterfaceError:
                continue
            taken += 1
            if letter in unread:
                assert typestr[1:] == f"{unread[letter]}{itemsize}"
                continue
            read = np.asarray(items)
            assert (read.dtype.str, read.shape) == (typestr, (3,)), given
    assert taken > 2 * 6 * 20


def test_counts_that_are_too_large():
    for count in (1 << 32, 1 << 64, 10**30):
        with pytest.raises(libcai.InterfaceError, match=r"^typestr: the buffer's format"):
            libcai.asarray(view(f"{count + 5}s".encode(), 5))


class Packed(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("a", ctypes.c_float), ("b", ctypes.c_float)]


class Either(ctypes.Union):
    _fields_ = [("a", ctypes.c_float), ("b", ctypes.c_double)]


@pytest.mark.parametrize("kind", [Packed, Either])
def test_structures_and_unions_of_ctypes(kind):
    """A union calls itself bytes; so did a packed structure before Python 3.12."""
    given = (kind * 2)()
    said = "T{<f:a:<f:b:}" if kind is Packed and sys.version_info >= (3, 12) else "B"
    assert memoryview(given).format == said
    with pytest.raises(libcai.InterfaceError, match=f"format is '{said}' with items of 8 bytes"):
        libcai.asarray(given)


def test_buffers_of_the_standard_library():
    for letter in "bBhHiIlLqQfd":
        given = arrays.array(letter, [1, 2, 3])
        assert libcai.asarray(given).item(2) == 3
    integers = ctypes.c_short, ctypes.c_int, ctypes.c_long, ctypes.c_longlong, ctypes.c_size_t
    floats = ctypes.c_float, ctypes.c_double, ctypes.c_longdouble
    for kind in (ctypes.c_bool, ctypes.c_byte, *integers, *floats):
        array = libcai.asarray((kind * 3)())
        assert (array.shape, array.itemsize) == ((3,), ctypes.sizeof(kind))


def test_a_negative_suboffset_is_none():
    assert libcai.asarray(view(b"B", 1, suboffsets=-1)).item(2) == 2
    with pytest.raises(libcai.InterfaceError, match=r"^strides: the buffer has suboffsets"):
        libcai.asarray(view(b"B", 1, suboffsets=0))
