# SPDX-License-Identifier: BSD-3-Clause
"""Arrays that libcai makes, and its work on arrays: on the CPU with no driver, and on simcuda."""

import ctypes
import datetime
import os
import re
import threading

import numpy as np
import pytest
from helpers import python
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from searching import given
from simulation import run

import libcai
from libcai import Stream
from libcai.cffi import ffi, lib

# ---- Making ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), 0, 5, (5,), [3, 4], (2, 0, 3), np.array([2, 3])])
def test_shapes(shape):
    array = libcai.zeros(shape, "<i4")
    expected = np.zeros(tuple(np.ravel(shape)) if not isinstance(shape, tuple) else shape, "<i4")
    assert array.shape == expected.shape
    assert array.device == libcai.Device("cpu")
    assert array.stream_kind == "none"
    assert array.c_contiguous
    np.testing.assert_array_equal(np.asarray(array), expected)


TYPES = ["|b1", "|i1", "<u2", ">i4", "<u8", "<f2", "<f4", ">f8", "<c8", "<c16", "|S5", "<U3", "|V6"]
TYPES += ["<M8[ns]", "<m8[25s]"]


@pytest.mark.parametrize("typestr", TYPES)
def test_types(typestr):
    dtype = np.dtype(typestr)
    for stated in (typestr, dtype):
        array = libcai.empty(3, stated)
        assert np.dtype(array.typestr) == dtype
        assert np.asarray(array).dtype == dtype


@pytest.mark.parametrize(
    ("stated", "typestr"),
    [(np.float32, "<f4"), (float, "<f8"), (bool, "|b1"), (np.dtype(">u2"), ">u2"), (int, "<i8")],
)
def test_what_numpy_takes_for_a_type(stated, typestr):
    assert libcai.empty(1, stated).typestr == typestr
    assert libcai.empty(1).typestr == "<f8"


def test_short_floats():
    array = libcai.empty(3, "bfloat16")
    assert (array.itemsize, array.typestr) == (2, "<V2")
    assert libcai.empty(3, "float8_e5m2").itemsize == 1
    assert libcai.fill(array, 0.1).item(2) == 0.10009765625
    assert libcai.fill(array, 1e300).item(2) == float("inf")
    assert np.isnan(libcai.full(1, 1e300, "float8_e4m3fn").item(0))  # which has no infinity
    with pytest.raises(TypeError):
        libcai.fill(array, b"ab")


STRUCTURED = [
    [("a", "<f4"), ("b", "<i2")],
    [("a", ">f4"), ("b", "|S3", (2, 2)), ("c", [("x", "<c8"), (("title", "y"), ">u2", 3)])],
    np.dtype([("a", "u1"), ("b", "f8"), ("c", "i2")], align=True),
    {"names": ["a", "b"], "formats": ["<i4", "<M8[ns]"], "offsets": [2, 10], "itemsize": 24},
    ([("a", "<i4"), ("b", "u1")], (2, 3)),
    ("<f4", (3,)),
]


@pytest.mark.parametrize("type_", STRUCTURED)
def test_structured_types(type_):
    like = np.zeros((2, 4), type_)
    array = libcai.zeros((2, 4), type_)
    assert array.shape == like.shape
    assert array.dtype == libcai.asarray(like).dtype
    descr = libcai.asarray(like).__array_interface__.get("descr")
    assert array.__array_interface__.get("descr") == descr
    assert not np.asarray(array).tobytes().strip(b"\0")
    assert libcai.empty(3, type_).shape == np.empty(3, type_).shape
    assert libcai.empty([], type_).shape == np.empty([], type_).shape

    bytes_ = np.random.default_rng(1).integers(0, 2, like.nbytes, "u1").tobytes()
    given = np.frombuffer(bytes_, like.dtype).reshape(like.shape)  # read-only
    for moved in (libcai.copy(given), libcai.to(given, "cpu", kind="host")):
        assert moved.dtype == array.dtype
        assert not moved.readonly
        assert np.asarray(moved).tobytes() == bytes_
    assert np.asarray(libcai.copy(given.T)).tobytes() == given.T.tobytes()


SCALARS = st.sampled_from(
    ["?", "i1", "<u2", ">i4", "<i8", ">f4", "<f8", "<f2", ">c8", "<c16", "<f16", "S3", "<U2", ">U2"]
)
SHAPES = st.lists(st.integers(1, 3), max_size=2).map(tuple)


@st.composite
def structures(draw, items=SCALARS):
    fields = draw(st.lists(st.tuples(items, SHAPES), min_size=1, max_size=4))
    names = draw(st.permutations(["a", "f1", "ä b", "x.y"]))
    align = draw(st.booleans())
    return np.dtype([(name, *of) for name, of in zip(names, fields, strict=False)], align=align)


@given(st.recursive(structures(), lambda inner: structures(SCALARS | inner), max_leaves=4))
def test_numpy_reads_structured_types(type_):
    array = libcai.zeros(3, type_)
    read = np.asarray(array)
    assert read.dtype == array.dtype == type_
    assert np.shares_memory(read, np.asarray(memoryview(array)))
    given = np.frombuffer(bytes(i % 2 for i in range(3 * type_.itemsize)), type_)
    assert np.asarray(libcai.copy(given)).tobytes() == given.tobytes()


def test_types_without_a_buffer():
    named = np.dtype({"names": ["a:b"], "formats": ["<i4"]})
    for type_ in (">f16", ">c32", "<M8[s]", named, [("a", "V2")], [("a", "<i4"), ("b", ">f16")]):
        array = libcai.zeros(3, type_)
        with pytest.raises(BufferError, match="a buffer has no format for"):
            memoryview(array)
        assert np.asarray(array).dtype == array.dtype  # by the dict


def test_the_buffer_of_an_item_of_gigabytes():
    memory = np.zeros(3_000_000_000, "u1")  # of which no page is touched
    changes = {"shape": (1,), "typestr": "|S3000000000", "descr": [("", "|S3000000000")]}
    interface = {**memory.__array_interface__, **changes}
    array = libcai.from_interface(interface, owner=memory, host=True)
    assert memoryview(array).format == "3000000000s"


def test_values_of_structured_types():
    array = libcai.full(
        3,
        (1.5, -2, (1, [2, 3])),
        [("a", "<f4"), ("b", ">i2"), ("c", [("x", "u1"), ("y", "i8", 2)])],
    )
    assert array.item(1)[:2] == (1.5, -2)
    assert np.asarray(array)["c"]["y"].tolist() == [[2, 3]] * 3
    memory = libcai.Memory(64, device="cpu")
    part = memory.array(2, [("a", "<f4"), ("b", "<i2")], strides=(16,), offset=8)
    libcai.fill(part, (2.5, 7))
    assert (part.data - memory.address, part.strides, part.item(1)) == (8, (16,), (2.5, 7))


def test_structured_types_that_are_refused():
    for names, offsets in (("ab", [0, 2]), ("ab", [4, 0])):
        type_ = np.dtype({"names": list(names), "formats": ["i4", "i4"], "offsets": offsets})
        for make in (libcai.empty, libcai.Memory(64, device="cpu").array):
            with pytest.raises(libcai.UseError, match=r"^descr: "):
                make(2, type_)
    with pytest.raises(libcai.InterfaceError, match=r"descr\[1\]: '\|O'"):
        libcai.empty(2, [("a", "i4"), ("b", "O")])
    with pytest.raises(libcai.InterfaceError, match="typestr"):
        libcai.empty(2, [])
    with pytest.raises(libcai.UseError, match="structured, where a single item is wanted"):
        libcai.Memory(64, "cuda_array", device="gpu", dtype=[("a", "i4")])


def test_what_is_refused():
    for typestr in ("f4x", "<f3", "|t1\0", "", "<f4,<i2", "\ud800"):
        with pytest.raises(libcai.UseError):
            libcai.empty(3, typestr)
    with pytest.raises(TypeError):
        libcai.empty(3, 5)
    with pytest.raises(libcai.UseError, match="extent -1 is negative"):
        libcai.empty((3, -1))
    for shape in (1.5, (3, 1.5), "3", None, list):
        said = re.escape(f"shape is {shape!r}, where integers are required")
        for make in (libcai.empty, libcai.Memory(64, device="cpu").array):
            with pytest.raises(TypeError, match=f"^{said}"):
                make(shape, "<f8")
    for make in (libcai.empty, libcai.zeros, lambda shape, **more: libcai.full(shape, 1, **more)):
        for more in ({}, {"device": "cpu"}):
            with pytest.raises(TypeError, match=r"^manager is 'x', and a libcai\.MemoryManager is"):
                make(3, manager="x", **more)
    for shape in ((1 << 62, 1 << 62), 1 << 61, (1 << 61, 8, 1)):
        with pytest.raises(libcai.UseError):
            libcai.empty(shape, "<f8")
    with pytest.raises(libcai.UseError, match="65 dimensions"):
        libcai.empty([1] * 65)
    with pytest.raises(MemoryError):
        libcai.empty(1 << 58)
    with pytest.raises(libcai.UseError):
        libcai.empty(3, kind="fast")
    for make in (libcai.empty, lambda shape, kind: libcai.to(np.ones(shape), "cpu", kind=kind)):
        with pytest.raises(TypeError, match="kind must be a str, not 5"):
            make(3, kind=5)
    with pytest.raises(libcai.CudaError):
        libcai.empty(3, "<f4", kind="cuda_array")
    with pytest.raises(TypeError):
        libcai.empty(3, "<f4", stream="s")


def test_pitched():
    array = libcai.zeros((2, 3, 5), "<f4", kind="pitched")
    assert array.strides == (768, 256, 4)
    np.testing.assert_array_equal(np.asarray(array), np.zeros((2, 3, 5), "f4"))


# ---- Values ------------------------------------------------------------------------------------

VALUES = [
    ("|b1", True),
    ("|i1", -5),
    ("<u2", 65535),
    (">i4", -70000),
    ("<u8", 2**64 - 1),
    ("<f2", 1.5),
    (">f4", 2.5),
    ("<f8", -0.1),
    ("<c8", 1 + 2j),
    (">c16", 1 - 2j),
    ("|S5", b"abc"),
    (">U3", "äbc"),
    ("|V3", b"xyz"),
    ("<M8[s]", np.datetime64("2020-01-02T03:04:05")),
    ("<f8", np.float32(3.5)),
    ("<i2", np.int64(7)),
]


@pytest.mark.parametrize(("typestr", "value"), VALUES)
def test_full_and_item(typestr, value):
    array = libcai.full((2, 3), value, typestr)
    expected = np.full((2, 3), value, typestr)
    np.testing.assert_array_equal(np.asarray(array), expected)
    item = array.item(1, -1)
    assert item == expected.item(1, 2)
    assert type(item) is type(expected.item(1, 2))
    assert array.first() == item


@pytest.mark.parametrize(
    ("typestr", "value"),
    [
        ("|i1", 128),
        ("|u1", -1),
        ("<u8", 2**64),
        ("<i4", 1.5),
        ("<f4", "x"),
        ("<f4", 1e300),
        ("<f8", [1, 2]),
        ("<i4", None),
        ("|V3", b"xy z"),
    ],
)
def test_values_that_do_not_fit(typestr, value):
    array = libcai.zeros(3, typestr)
    with pytest.raises((ValueError, TypeError), match="^value .* " + re.escape(repr(typestr))):
        libcai.fill(array, value)
    assert bytes(np.asarray(array)) == bytes(array.nbytes)


TIMES = [
    ("<M8[s]", 2**63),
    (">m8[D]", -(2**64)),
    ("<m8[s]", np.timedelta64(2**62, "D")),
    (">m8[ns]", np.timedelta64(106752, "D")),
    ("<m8[ns]", datetime.timedelta.max),
    ("<M8[ns]", np.datetime64("2263")),
    ("<M8[ns]", datetime.datetime(9999, 1, 1)),
    (">M8[ns]", "9999-01-01"),
]


@pytest.mark.parametrize(("typestr", "value"), TIMES)
def test_times_that_do_not_fit(typestr, value):
    array = libcai.zeros(3, typestr)
    with pytest.raises(libcai.UseError, match=f"^value .* does not fit '{re.escape(typestr)}'$"):
        libcai.fill(array, value)
    assert np.asarray(array).tobytes() == bytes(array.nbytes)


@pytest.mark.parametrize("value", [2**31, -(2**64), float("inf"), (1, 10**400)])
def test_fields_that_do_not_fit(value):
    array = libcai.zeros(3, np.dtype([("a", "<i4"), ("b", "<f4")]))
    with pytest.raises(libcai.UseError, match=r"^value .* does not fit '\|V8'"):
        libcai.fill(array, value)
    assert np.asarray(array).tobytes() == bytes(array.nbytes)


def test_times_as_numpy_converts_them():
    for typestr, value in (
        ("<m8[s]", np.timedelta64(1999, "ms")),
        ("<m8[s]", np.timedelta64(-1999, "ms")),
        (">m8[s]", np.timedelta64(2**63 - 1, "ns")),
        ("<m8[s]", np.timedelta64("NaT")),
        ("<m8[s]", datetime.timedelta(3, 5)),
        ("<m8[ms]", 7),
        ("<m8", 7),
        ("<M8[D]", "2020-01-01T12"),
        (">M8[D]", np.datetime64("2020-01-01T12")),
        (">M8[s]", "2020-01-01"),
        ("<M8[W]", np.datetime64("2020")),  # whose first day is within a week
        ("<M8[us]", datetime.datetime(9999, 1, 1)),
        ("<M8[D]", 2**62),
        ("<M8", "NaT"),
    ):
        wanted = np.array([value, value], typestr)
        assert np.asarray(libcai.full(2, value, typestr)).tobytes() == wanted.tobytes()


def test_a_unit_where_the_type_has_none():
    for typestr, value in (
        ("<M8", np.datetime64("2020-01-01")),
        (">M8", datetime.date(2020, 1, 1)),
        ("<M8", "1"),
        ("<m8", np.timedelta64(3, "s")),
    ):
        array = libcai.zeros(3, typestr)
        with pytest.raises(ValueError, match=r"^value .* is not one of .* the type has none"):
            libcai.fill(array, value)
        assert np.asarray(array).tobytes() == bytes(array.nbytes)


def test_truth():
    array = libcai.zeros(2, "|b1")
    for value in ([1, 2], (0, 0), [False, False], [], bytearray(b"xy"), np.zeros(2)):
        with pytest.raises(libcai.UseError, match=r"^value .* '\|b1'"):
            libcai.fill(array, value)
        assert bytes(np.asarray(array)) == bytes(2)
    for value in (True, 5, 0.5, 1j, 10**400, np.float32(2), np.True_, np.array(3)):
        assert bytes(np.asarray(libcai.fill(array, value))) == b"\1\1"
        assert bytes(np.asarray(libcai.fill(array, 0 * value))) == b"\0\0"


def test_item():
    array = libcai.asarray(np.arange(24).reshape(2, 3, 4)[:, ::-1])
    assert array.item(1, 0, -1) == 23
    assert array.item((0, 2, 0)) == 0
    assert array.first() == 8
    assert libcai.asarray(np.array([[7]])).item() == 7
    assert libcai.full((), 9, "<i4").item() == 9
    for index in ((2, 0, 0), (0, -4, 0), (0, 0, 1 << 40)):
        with pytest.raises(libcai.ViewIndexError):
            array.item(*index)
    for number in (1 << 63, -(1 << 63) - 1):
        with pytest.raises(libcai.ViewIndexError, match="index: 64 bits are out of range"):
            array.item(0, number, 0)
    with pytest.raises(libcai.UseError, match="2 given for 3 dimensions"):
        array.item(1, 2)
    with pytest.raises(libcai.UseError, match="0 given"):
        array.item()
    with pytest.raises(TypeError, match=r"^index is \(0, 0, 'x'\), where integers are required"):
        array.item(0, 0, "x")
    with pytest.raises(libcai.ViewIndexError):
        libcai.zeros((0, 3)).first()
    with pytest.raises(libcai.ViewIndexError, match=r"of the shape \(3, 0\) has no first element"):
        libcai.zeros((3, 0), device="cpu").first()


def test_fill_takes_anything():
    numbers = np.zeros((4, 5), "<i4")
    assert libcai.fill(numbers[::2, ::-2], 3) is not None
    np.testing.assert_array_equal(numbers[::2, ::2], 3)
    assert numbers.sum() == 3 * 6
    numbers.flags.writeable = False
    with pytest.raises(libcai.UseError, match="read-only"):
        libcai.fill(numbers, 4)
    with pytest.raises(libcai.UseError, match="overlap"):
        libcai.fill(np.lib.stride_tricks.as_strided(np.zeros(3), (3,), (0,)), 4)
    with pytest.raises(libcai.InterfaceTypeError):
        libcai.fill([1, 2], 3)


# ---- Copies ------------------------------------------------------------------------------------


@given(
    arrays.arrays(np.int32, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)),
    st.data(),
)
def test_copies_are_numpys(numbers, data):
    key = data.draw(arrays.basic_indices(numbers.shape, allow_ellipsis=False))
    source = numbers[key]
    if not isinstance(source, np.ndarray):
        source = np.asarray(source)
    np.testing.assert_array_equal(np.asarray(libcai.copy(source)), source)
    target = np.zeros(source.shape[::-1], np.int32).T
    assert libcai.copy(source, target) is target
    np.testing.assert_array_equal(target, source)


def test_copies_are_new():
    source = libcai.full(3, 5, "<i4")
    for made in (libcai.copy(source), source.to("cpu"), libcai.to(source, "cpu", kind="host")):
        libcai.fill(made, 6)
        assert source.item(0) == 5
        assert made.item(0) == 6


def masked(values, mask):
    """An array of NumPy's with a mask, as libcai reads it, and both."""
    values, mask = np.array(values), np.array(mask)
    given = {**values.__array_interface__, "mask": mask}
    return libcai.from_interface(given, owner=(values, mask), host=True), values, mask


@pytest.mark.parametrize("kind", ["?", "u1", ">i4", "f4", ">f8", "c8", "c16"])
def test_copies_of_masked_arrays(kind):
    truths = np.array([[0, 1, 2], [0, 0, 1]]).astype(kind)
    from_, values, _ = masked([[1, 2, 3], [4, 5, 6]], truths)
    to, copied, mask = masked(np.zeros((2, 3), values.dtype), np.zeros((2, 3), kind))
    assert libcai.copy(from_, to) is to
    assert np.array_equal(copied, values)
    assert np.array_equal(mask, truths)
    libcai.fill(to, 7)
    assert (copied == 7).all()
    assert np.array_equal(mask, truths)
    libcai.copy(values, to)
    assert (mask == 1).all()
    with pytest.raises(libcai.UseError, match="mask"):
        libcai.copy(from_, copied.copy())


def test_an_item_of_a_masked_array():
    for array in (masked([1, 2, 3], [True, False, True])[0], masked(5, True)[0]):
        for read in (lambda array=array: array.item(*(0,) * array.ndim), array.first):
            with pytest.raises(libcai.UseError, match="mask: the array has one"):
                read()


@pytest.mark.parametrize("kind", ["?", ">i4", "f4", "c16"])
def test_moves_of_masked_arrays(kind):
    for truths in ([[0, 1, 2], [0, 0, 1]], [0, 2, 0], [[1], [0]], 1):
        truths = np.array(truths).astype(kind)
        from_, values, mask = masked([[1, 2, 3], [4, 5, 6]], truths)
        for moved in (libcai.copy(from_), from_.to("cpu", kind="host")):
            expected = values.copy(), mask.copy()
            values[...] = 0
            mask[...] = 0
            elements = ctypes.string_at(moved.eval().data, moved.nbytes)  # NumPy knows no mask
            assert elements == expected[0].tobytes()
            assert np.array_equal(np.asarray(moved.mask), expected[1])
            assert (moved.mask.typestr, moved.mask.shape) == (mask.dtype.str, mask.shape)
            values[...], mask[...] = expected
            again = libcai.copy(moved)
            del moved
            assert np.array_equal(np.asarray(again.mask), mask)


def test_a_mask_that_is_repeated_is_moved():
    values = np.arange(6).reshape(2, 3)
    mask = np.broadcast_to(np.array([1, 0, 1], "u1"), (2, 3))
    given = {**values.__array_interface__, "mask": mask}
    moved = libcai.copy(libcai.from_interface(given, owner=(values, mask), host=True))
    assert (moved.mask.shape, moved.mask.strides) == ((2, 3), (3, 1))
    assert np.array_equal(np.asarray(moved.mask), mask)


def test_copies_that_do_not_fit():
    source = np.arange(6, dtype="<i4")
    with pytest.raises(libcai.UseError):
        libcai.copy(source, np.zeros(5, "<i4"))
    with pytest.raises(libcai.UseError):
        libcai.copy(source, np.zeros(6, "<f4"))
    with pytest.raises(libcai.UseError, match="overlap"):
        libcai.copy(source[1:], source[:-1])
    target = np.zeros(6, "<i4")
    target.flags.writeable = False
    with pytest.raises(libcai.UseError, match="read-only"):
        libcai.copy(source, target)
    fields = np.zeros(3, [("a", "i4")])
    libcai.copy(np.array([(7,)] * 3, fields.dtype), fields)
    assert fields["a"].tolist() == [7, 7, 7]


# ---- Streams of the CPU ------------------------------------------------------------------------


class Slow:
    """A stream that is busy for a while, so that what is queued on it is pending."""

    def __init__(self):
        self.stream, self.event = Stream("cpu"), threading.Event()
        self.stream.enqueue(lambda: self.event.wait(10))
        threading.Timer(0.1, self.event.set).start()


def peek(array):
    """The elements as they are at the moment: three of `<i4`."""
    return list((ctypes.c_int32 * 3).from_address(array.data))


def in_use(array, **options):
    with libcai.use(array, stream=1, **options):
        return peek(array)


def by_cffi(array, function):
    error = ffi.new("cai_error *")
    assert function(ffi.cast("cai_array *", array.ptr), error) == 0, ffi.string(error.message)
    return peek(array)


def cffi_item(array, error):
    return lib.cai_array_item(array, ffi.new("int64_t *", 2), ffi.new("int32_t *"), error)


def cffi_write(array, error):
    storage = ffi.new("uint64_t[64]")
    out = ffi.new("cai_interface *", {"struct_size": ffi.sizeof("cai_interface")})
    return lib.cai_interface_write(array, 3, storage, 512, out, error)


READERS = {
    "use": in_use,
    "use to read": lambda x: in_use(x, access="read"),
    "use by the host": lambda x: in_use(x, order="host"),
    "cffi": lambda x: by_cffi(x, lib.cai_array_sync_host),
    "cffi item": lambda x: by_cffi(x, cffi_item),
    "cffi write": lambda x: by_cffi(x, cffi_write),
    "numpy": lambda x: np.asarray(x).tolist(),
    "dict": lambda x: (x.__array_interface__, np.asarray(x).tolist())[1],
    "item": lambda x: [x.item(i) for i in range(3)],
    "first": lambda x: [x.first()] * 3,
    "buffer": lambda x: np.frombuffer(libcai.Memory.of(x)[0], "<i4").tolist(),
    "eval": lambda x: np.asarray(x.eval()).tolist(),
    "synchronize": lambda x: (x.synchronize(), np.asarray(x).tolist())[1],
    "view": lambda x: np.asarray(x[::-1]).tolist(),
    "copy": lambda x: np.asarray(libcai.copy(x)).tolist(),
    "copy elsewhere": lambda x: np.asarray(libcai.copy(x, stream=Stream("cpu"))).tolist(),
    "view of a view": lambda x: np.asarray(x[:][1:].broadcast_to((3, 2)))[:, 0].tolist(),
    "from_ptr": lambda x: np.asarray(libcai.Array.from_ptr(x.ptr, steal=False)).tolist(),
}


@pytest.mark.parametrize("reader", READERS)
def test_no_reader_comes_before_the_work(reader):
    slow = Slow()
    array = libcai.full(3, 7, "<i4", stream=slow.stream)
    assert not slow.event.is_set()
    assert READERS[reader](array) == [7, 7, 7]
    assert slow.event.is_set()


def test_work_is_ordered_between_streams():
    slow, other = Slow(), Stream("cpu")
    array = libcai.full(3, 7, "<i4", stream=slow.stream)
    libcai.fill(array, 8, stream=other)
    assert not slow.event.is_set()
    assert np.asarray(array).tolist() == [8, 8, 8]


def test_work_is_queued_on_the_current_stream():
    slow = Slow()
    with slow.stream:
        array = libcai.zeros(3, "<i4")
        libcai.fill(array, 7)
        copy = array.to("cpu")
        assert not slow.event.is_set()
    assert slow.event.is_set()
    assert np.asarray(copy).tolist() == [7, 7, 7]


def test_what_fails_before_is_not_missed():
    slow = Slow()
    slow.stream.enqueue(lambda: 1 / 0)
    array = libcai.full(3, 7, "<i4", stream=slow.stream)  # is dropped
    with pytest.raises(ZeroDivisionError):
        np.asarray(array)


@pytest.mark.parametrize("reader", ["use", "item", "buffer", "eval", "copy", "view"])
def test_a_failure_is_raised_by_whoever_reads(reader):
    stream = Stream("cpu")
    array = libcai.zeros(3, "<i4")
    libcai.fill(array, 5, stream=stream)
    slow = Slow()
    slow.stream.enqueue(lambda: 1 / 0)
    libcai.fill(array, 7, stream=slow.stream)  # is dropped
    with pytest.raises(ZeroDivisionError):
        READERS[reader](array)
    assert not slow.stream.busy
    assert np.asarray(array).tolist() == [5, 5, 5]


def test_readers_let_others_have_the_gil():
    for _ in range(50):
        stream = Stream("cpu")
        array = libcai.zeros(3, "<i4")
        stream.enqueue(lambda: sum(range(1000)))
        libcai.fill(array, 7, stream=stream)
        assert array.__array_interface__["data"] == (array.data, False)
        assert peek(array) == [7, 7, 7]


def test_reading_on_the_stream_itself():
    stream, read = Stream("cpu"), []
    array = libcai.full(3, 7, "<i4", stream=stream)
    stream.enqueue(lambda: read.append(np.asarray(array).tolist()))
    stream.synchronize()
    assert read == [[7, 7, 7]]


def test_arrays_last_as_long_as_the_work():
    slow = Slow()
    target = np.zeros(1000, "<i4")
    libcai.copy(libcai.full(1000, 7, "<i4", stream=slow.stream), target, stream=slow.stream)
    slow.stream.synchronize()
    assert (target == 7).all()


def test_dereferenceable_on_the_cpu():
    assert libcai.zeros(3).is_dereferenceable
    assert libcai.asarray(np.zeros(3)).is_dereferenceable


def test_without_a_driver():
    python(
        """
import libcai
x = libcai.full((2, 3), 4, "<i4", kind="pinned")
assert x.device == libcai.Device("cpu") and memoryview(libcai.Memory.of(x)[0]).nbytes == 24
assert x.item(1, 2) == 4
try:
    x.to("gpu")
except libcai.CudaError:
    pass
else:
    raise AssertionError
""",
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )


# ---- On simcuda --------------------------------------------------------------------------------


def test_there_and_back(simulated):
    simulated(
        """
import numpy as np
numbers = np.arange(60, dtype="<i4").reshape(3, 4, 5)
for device in ("gpu:0", "gpu:1"):
    for s in (None, libcai.Stream(device)):
        for source in (numbers, numbers[::-1, ::2], numbers.T):
            x = libcai.to(source, device, stream=s)
            assert x.device == libcai.Device(device) and x.c_contiguous
            assert x.__cuda_array_interface__["shape"] == source.shape
            back = x.to("cpu", stream=s)
            np.testing.assert_array_equal(np.asarray(back), source)
            np.testing.assert_array_equal(np.asarray(x[1:].to("cpu", stream=s)), source[1:])
            assert x.item(1, 1, 1) == source[1, 1, 1] and x.first() == source[0, 0, 0]
"""
    )


def test_between_gpus(simulated):
    simulated(
        """
import numpy as np
x = libcai.full((10, 20), 7, "<f4", device="gpu:0")
y = x.to("gpu:1")
assert y.device == libcai.Device("gpu:1")
assert (np.asarray(y.to("cpu")) == 7).all()
libcai.copy(x[:, ::2], y[:, 1::2])
assert y.item(9, 19) == 7
"""
    )


def test_streams_of_gpus(simulated):
    simulated(
        """
import numpy as np
s, t = libcai.Stream(), libcai.Stream()
with s:
    x = libcai.zeros(1000, "<i4", device="gpu")
    libcai.fill(x, 5)
    assert x.stream == s.value
with t:
    y = libcai.copy(x)
    libcai.fill(x, 6)
assert y.item(999) == 5 and x.item(0) == 6
with libcai.use(x, stream=t) as (a,):
    out = read(c_uint64(a.data), 4, c_void_p(t.value))
t.synchronize()
assert list(out) == [6] * 4
z = libcai.full(1000, 9, "<i4", stream=s)
libcai.copy(z, x, stream=t)
assert x.eval() is x
assert x.item(5) == 9
"""
    )


def test_other_libraries_arrays(simulated):
    simulated(
        """
theirs = new_stream()
given = array(theirs, shape=(6,), typestr="<i4")
fill(given.memory, 5, 6, theirs)
x = libcai.asarray(given)
assert x.item(3) == 5
libcai.fill(given, 6)
out = read(given.memory, 6, theirs)
wait(theirs)
assert list(out) == [6] * 6
assert libcai.copy(given).item(0) == 6
"""
    )


def test_structured_arrays_of_gpus(simulated):
    simulated(
        """
import numpy as np
type_ = np.dtype([("a", ">f4"), ("b", "<i2", 3), ("c", [("x", "u1")])])
given = np.frombuffer(bytes(range(60)) * 11, type_)
s = libcai.Stream()
for kind in ("default", "async", "pinned", "managed", "pitched"):
    x = libcai.full(6, (1.5, [1, 2, 3], (4,)), type_, device="gpu", kind=kind, stream=s)
    assert x.dtype == type_ and x.__cuda_array_interface__["typestr"] == "|V11"
    assert (np.asarray(libcai.to(x, "cpu")) == np.array((1.5, [1, 2, 3], (4,)), type_)).all()
    y = libcai.to(given, "gpu", kind=kind, stream=s)
    z = libcai.copy(y[::-1])
    assert z.device[0] == y.device[0]
    back = z.to("cpu")
    assert back.dtype == type_
    assert np.asarray(back).tobytes() == given[::-1].tobytes(), kind
"""
    )


def test_empty_arrays_like_others():
    type_ = np.dtype([("a", ">f4"), ("b", [("c", "<i2")])])
    structured = np.zeros((2, 3), type_)[::-1]
    like = libcai.empty_like(structured)
    assert (like.shape, like.dtype, like.device) == ((2, 3), type_, libcai.Device("cpu"))
    assert like.strides == (18, 6)
    assert not like.readonly
    for truths in ([[0, 1, 2], [0, 0, 1]], [0, 2, 0], [[1], [0]], 1):
        like = libcai.empty_like(masked([[1, 2, 3], [4, 5, 6]], np.array(truths, "<i2"))[0])
        assert (like.shape, like.mask.typestr, like.mask.shape) == ((2, 3), "<i2", np.shape(truths))
    assert not libcai.empty_like(b"of bytes").readonly
    assert libcai.empty_like(np.array(0.5)).shape == ()
    for wrong in ({"device": "gpu:x"}, {"kind": "none at all"}):
        with pytest.raises(libcai.Error):
            libcai.empty_like(structured, **wrong)
    with pytest.raises(TypeError, match="kind"):
        libcai.empty_like(structured, kind=5)
    with pytest.raises(TypeError):
        libcai.empty_like(5)


def test_empty_arrays_like_those_of_gpus(simulated):
    simulated(
        """
import numpy as np
s = libcai.Stream("gpu:1")
pool = libcai.memory_manager("pool", device="gpu:1")
for kind in ("default", "pinned", "managed_global"):
    x = libcai.zeros((2, 3), "<i2", device="gpu:0", kind=kind)
    for like, device in (
        (libcai.empty_like(x), x.device),
        (libcai.empty_like(x, device="gpu:1"), libcai.Device("gpu:1")),
        (libcai.empty_like(x, stream=s), libcai.Device("gpu:1")),
        (libcai.empty_like(x, manager=pool), libcai.Device("gpu:1")),
        (libcai.empty_like(x, device="cpu"), libcai.Device("cpu")),
    ):
        assert (like.shape, like.typestr, like.device) == ((2, 3), "<i2", device)
        assert libcai.fill(like, 7).item(1, 2) == 7
refused(libcai.Error, "", libcai.empty_like, x, device="cpu", stream=s)
"""
    )


def test_masked_arrays_of_gpus(simulated):
    simulated(
        """
import ctypes
import numpy as np
def masked(values, mask):
    given = {**values.__array_interface__, "mask": mask}
    return libcai.from_interface(given, owner=(values, mask), host=True)
values, mask = np.arange(6000).reshape(2, 3000), (np.arange(3000) % 3).astype("<i2")
s, t = libcai.Stream(), libcai.Stream()
for kind in ("default", "async", "pinned", "managed_global"):
    x = libcai.to(masked(values, mask), "gpu", kind=kind, stream=s)
    assert (x.mask.typestr, x.mask.shape) == ("<i2", (3000,))
    assert x.__cuda_array_interface__["mask"] is not None
    libcai.fill(x, 7, stream=s)
    libcai.fill(x.mask, 1, stream=s)
    y = libcai.to(x, "gpu", stream=t)  # on another stream, after both
    del x
    back = y.to("cpu")
    assert (np.asarray(back.mask) == 1).all()
    elements = ctypes.string_at(back.eval().data, back.nbytes)  # NumPy knows no mask
    assert elements == np.full((2, 3000), 7).tobytes()
try:
    libcai.to(back, "gpu", kind="pitched")
except libcai.CudaError as error:  # a kind that has no such arrays
    assert "mask: memory in rows" in str(error), error
else:
    raise AssertionError
"""
    )


def test_host_memory_of_gpus(simulated):
    simulated(
        """
import numpy as np
s = libcai.Stream()
for kind in ("pinned", "mapped", "managed", "managed_global"):
    x = libcai.full(1000, 7, "<i4", device="gpu", kind=kind, stream=s)
    assert x.is_dereferenceable
    assert (np.asarray(x) == 7).all(), kind  # waited for
    assert libcai.copy(x).device[0] == x.device[0]
    assert x.__cuda_array_interface__["data"][0] == x.data
y = libcai.full(1000, 3, "<i4", device="gpu").to("cpu", kind="pinned")
assert (np.asarray(y) == 3).all()
assert not libcai.zeros(3, device="gpu").is_dereferenceable
try:
    np.asarray(libcai.zeros(3, device="gpu"))
except TypeError as error:
    assert "on a device" in str(error)
else:
    raise AssertionError
"""
    )


def test_work_of_the_cpu_before_work_of_a_gpu(simulated):
    simulated(
        """
import threading, time
c = libcai.Stream("cpu")
c.enqueue(lambda: time.sleep(0.05))
x = libcai.full(1000, 7, "<i4", stream=c)
y = x.to("gpu")
assert y.item(999) == 7
"""
    )


def test_memory_of_the_host_takes_streams_of_either(simulated):
    simulated(
        """
import numpy as np
gpu, cpu = libcai.Stream("gpu"), libcai.Stream("cpu")
for device, kind in (("gpu", "host"), ("gpu", "pinned"), ("cpu", "pinned")):
    for stream in (gpu, cpu):
        x = libcai.full(1000, 7, "<i4", device=device, kind=kind)
        libcai.fill(x, 8, stream=stream)
        y = libcai.copy(x, libcai.zeros(1000, "<i4"), stream=cpu)
        assert (np.asarray(y) == 8).all() and (np.asarray(x) == 8).all()
x = libcai.zeros(1000, "<i4", device="gpu", kind="host", stream=gpu)
assert (np.asarray(x) == 0).all()
"""
    )


def test_captures_are_refused():
    run(
        """
import numpy as np
s = libcai.Stream()
call("cuStreamBeginCapture_v2", c_void_p(s.value), 2)
refused(libcai.CudaError, "captur", libcai.to, np.zeros(3), "gpu", stream=s)
x = libcai.zeros(3, "<f4", device="gpu")
refused(libcai.CudaError, "captur", libcai.copy, x, np.zeros(3, "<f4"), stream=s)
graph = c_void_p()
call("cuStreamEndCapture", c_void_p(s.value), byref(graph))
assert graph.value
"""
    )


def test_arrays_of_the_wrong_stream():
    run(
        """
x = libcai.zeros(3, "<f4", device="gpu:0")
refused(libcai.CudaError, "", libcai.fill, x, 1, stream=libcai.Stream("gpu:1"))
refused(libcai.CudaError, "", libcai.fill, x, 1, stream=libcai.Stream("cpu"))
refused(libcai.UseError, "", libcai.empty, 3, device="gpu:0", stream=libcai.Stream("gpu:1"))
"""
    )


def test_an_array_let_go_while_a_function_of_python_runs():
    """The driver may wait for a function that waits for the GIL: a thread that releases memory must
    not have it."""
    run(
        """
s = libcai.Stream()
for i in range(20):
    x = libcai.zeros(1000, device="gpu", stream=s)
    view = x[1:]
    s.enqueue(lambda: sum(range(1000)))
    del x, view
    libcai.flush("gpu")
    s.enqueue(lambda: None)
    memory = libcai.Memory(1000, stream=s)
    del memory
libcai.flush("gpu")
s.synchronize()
""",
        "eager",
    )
