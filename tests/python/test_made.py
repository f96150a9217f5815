# SPDX-License-Identifier: BSD-3-Clause
"""Arrays that libcai makes: on the CPU with no driver, and on simcuda."""

import datetime
import re

import numpy as np
import pytest
from helpers import masked
from hypothesis import strategies as st
from searching import given

import libcai

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


def test_integers_that_are_too_large_for_a_short_float():
    for number in (2**63, 2**64, 2**200, 10**400):
        for sign in (1, -1):
            made = libcai.full(1, sign * number, "float8_e5m2")
            assert made.item(0) == sign * float("inf")
    assert libcai.full(1, 10**400, "bfloat16").item(0) == float("inf")
    assert libcai.full(1, 2**64, "bfloat16").item(0) == 2.0**64
    assert libcai.full(1, 3, "bfloat16").item(0) == 3


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


# ---- On simcuda --------------------------------------------------------------------------------


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
