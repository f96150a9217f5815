# SPDX-License-Identifier: BSD-3-Clause
"""libcai.Array: every attribute, and what a type promises."""

import copy
import ctypes
import gc
import hashlib
import itertools
import operator
import pickle
import re
import struct
import sys
import types
import weakref

import ml_dtypes
import numpy as np
import pytest
from helpers import ADDRESS, Cuda, Host, interface, producer

import libcai
import libcai.cffi
from libcai.cffi import ffi, lib


def test_attributes():
    array = libcai.asarray(producer(strides=(24, 8), stream=7, data=(ADDRESS, True)))
    assert array.shape == (2, 3)
    assert array.strides == (24, 8)
    assert array.strides_given is True
    assert array.ndim == 2
    assert array.size == 6
    assert array.itemsize == 4
    assert array.nbytes == 24
    assert array.typestr == "<f4"
    assert array.kind == "f"
    assert array.byteorder == "<"
    assert array.dtype == np.dtype("<f4")
    assert array.dtype is array.dtype
    assert array.descr == [("", "<f4")]
    assert array.data == ADDRESS
    assert array.readonly is True
    assert array.stream == 7
    assert array.stream_kind == "stream"
    assert array.mask is None
    assert array.version == 3
    assert array.device == (2, None)
    assert array.device.type is libcai.DeviceType.CUDA
    assert array.device.id is None
    assert array.c_contiguous is False
    assert array.f_contiguous is False
    assert array.extent == (0, 24 + 16 + 4)


def test_defaults():
    array = libcai.asarray(producer())
    assert array.strides == (12, 4)
    assert array.strides_given is False
    assert array.c_contiguous is True
    assert array.readonly is False
    assert array.stream is None
    assert array.stream_kind == "none"


def test_no_dimensions():
    array = libcai.asarray(producer(shape=()))
    assert (array.shape, array.strides, array.size, array.extent) == ((), (), 1, (0, 4))


@pytest.mark.parametrize("version", [0, 1, 2])
def test_old_versions_state_no_stream(version):
    array = libcai.asarray(producer(version=version, stream=...))
    assert array.stream is None
    assert array.stream_kind == "unstated"
    assert array.version == version


def test_addresses_and_streams_of_64_bits():
    array = libcai.asarray(producer(data=(2**64 - 4096, False), stream=2**64 - 1))
    assert array.data == 2**64 - 4096
    assert array.stream == 2**64 - 1
    assert array.__cuda_array_interface__["data"] == (2**64 - 4096, False)
    assert array.__cuda_array_interface__["stream"] == 2**64 - 1


def test_mask():
    array = libcai.asarray(producer(mask=producer(typestr="|b1", data=(ADDRESS + 64, False))))
    mask = array.mask
    assert isinstance(mask, libcai.Array)
    assert (mask.typestr, mask.data, mask.mask) == ("|b1", ADDRESS + 64, None)
    bits = libcai.asarray(producer(shape=(16,), mask=producer(shape=(16,), typestr="|t1")))
    assert (bits.mask.kind, bits.mask.nbytes) == ("t", 2)
    with pytest.raises(TypeError, match="t1"):
        bits.mask.dtype  # noqa: B018


DTYPES = [
    "|b1", "|i1", "|u1", "<i2", ">i2", "<i4", "<i8", ">u8", "<f2", "<f4", ">f8", "<c8", "<c16",
    "<M8[ns]", "<m8[25s]", "<M8", "<U4", ">U3", "|S5", "|V7",
]  # fmt: skip


@pytest.mark.parametrize("typestr", DTYPES)
def test_dtype(typestr):
    array = libcai.asarray(producer(typestr=typestr))
    assert array.typestr == typestr
    assert array.dtype == np.dtype(typestr)
    assert array.itemsize == np.dtype(typestr).itemsize
    assert array.descr == [("", typestr)]


STRUCTURES = [
    [("a", "<i4"), ("b", "<f8")],
    [("a", "<i4"), ("", "|V4"), ("b", "<f8")],
    [("v", "<f4", (3,)), ("w", "|u1", (2, 2))],
    [("p", [("x", "<f4"), ("y", ">f4")]), ("q", "|S3")],
    [("p", [("x", [("y", "<i2")], (2,))], (3,))],
    [(("the title", "t"), "<f4")],
    [("ä", "<M8[us]"), ("b", "|b1")],
]


def test_descr_of_a_masked_array():
    fields = [("a", "<i2"), ("b", "<i2")]
    for kind in (Cuda, Host):
        mask = kind(interface(typestr="|b1"))
        array = libcai.asarray(kind(interface(typestr="|V4", descr=fields, mask=mask)))
        assert array.descr == fields
        assert array.mask.descr == [("", "|b1")]


@pytest.mark.parametrize("descr", STRUCTURES)
def test_structures(descr):
    dtype = np.lib.format.descr_to_dtype(descr)
    array = libcai.asarray(producer(typestr=f"|V{dtype.itemsize}", descr=descr))
    assert array.descr == descr
    assert array.dtype == dtype
    array.dtype.names = [f"other{i}" for i in range(len(dtype.names))]
    array.descr.clear()
    assert array.dtype == dtype
    assert array.descr
    again = libcai.asarray(array[1].transpose())
    assert again.descr == descr
    assert libcai.asarray(Cuda(again.__cuda_array_interface__)).descr == descr


def test_read_only_attributes():
    array = libcai.asarray(producer())
    for name in ("shape", "data", "ptr", "anything"):
        with pytest.raises(AttributeError):
            setattr(array, name, 1)
    assert not hasattr(array, "__dict__")


def test_identity():
    given = producer()
    one, two = libcai.asarray(given), libcai.asarray(given)
    assert one != two
    assert one == one
    assert len({one, two, one}) == 2


def test_it_is_final_and_made_by_functions_only():
    with pytest.raises(TypeError):
        type("Sub", (libcai.Array,), {})
    with pytest.raises(TypeError):
        libcai.Array()
    empty = libcai.Array.__new__(libcai.Array)  # no way to crash
    assert empty.shape == (0,)
    assert repr(empty)
    assert np.asarray(empty).shape == (0,)


def test_weak_references():
    array = libcai.asarray(producer())
    reference = weakref.ref(array)
    assert reference() is array
    del array
    assert reference() is None


def test_iteration():
    numbers = np.arange(6).reshape(2, 3)
    array = libcai.asarray(numbers)
    assert [np.asarray(row).tolist() for row in array] == numbers.tolist()
    assert list(libcai.asarray(np.zeros((0, 3)))) == []
    for use in (iter, list):
        with pytest.raises(TypeError, match="iteration over an array of no dimensions"):
            use(libcai.asarray(np.array(3)))
    with pytest.raises(TypeError, match="'in' would compare"):
        numbers[0, 0] in array  # noqa: B015


@pytest.mark.parametrize("typestr", ["|u1", "|b1", "<i4", "<f8", "|S1"])
def test_an_array_is_no_number(typestr):
    """Python would read the bytes as text: the byte 53 is the digit 5."""
    for shape in ((), (1,), (3,)):
        array = libcai.asarray(np.full(shape, b"5").view("u1").astype(typestr))
        for convert in (int, float, complex):
            with pytest.raises(TypeError, match=rf"^{convert.__name__}\(\) would read.*item\(\)"):
                convert(array)
        with pytest.raises(TypeError):
            operator.index(array)
        with pytest.raises(TypeError):
            libcai.fill(np.zeros(3), array)
    with pytest.raises(TypeError, match="would read"):
        int(libcai.asarray(producer()))  # on a device


@pytest.mark.parametrize("value", [(3, -1), [("a", "<f4", (2,))], "<f3", -1.5, None])
def test_the_value_of_an_error_is_pickled(value):
    error = libcai.InterfaceError("wrong", "shape", value, -2)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is libcai.InterfaceError
        assert (again.args, again.entry, again.value, again.status) == (
            error.args,
            "shape",
            value,
            -2,
        )


def test_a_value_that_may_not_be_pickled_is_left_out():
    endless = []
    endless.append(endless)
    for value in (object(), lambda: None, (1, object()), endless):
        error = libcai.InterfaceTypeError("wrong", "data", value)
        assert pickle.loads(pickle.dumps(error)).value is None


def test_it_cannot_be_pickled_nor_copied():
    array = libcai.asarray(producer())
    for action in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled, nor copied"):
            action(array)


def test_numpy_does_not_copy_from_a_device():
    array = libcai.asarray(producer())
    with pytest.raises(TypeError, match="device"):
        np.asarray(array)
    with pytest.raises(TypeError, match="device"):
        array.__array__()
    host = libcai.asarray(np.ones(3))
    assert np.array_equal(host.__array__(), np.ones(3))


def test_the_other_attribute_is_missing():
    device, host = libcai.asarray(producer()), libcai.asarray(np.ones(3))
    assert hasattr(device, "__cuda_array_interface__")
    assert not hasattr(device, "__array_interface__")
    assert hasattr(host, "__array_interface__")
    assert not hasattr(host, "__cuda_array_interface__")


def test_repr():
    text = repr(libcai.asarray(producer(strides=(12, -4), data=(ADDRESS, True), stream=2)))
    for part in (
        "libcai.Array",
        "(2, 3)",
        "'<f4'",
        "(12, -4)",
        hex(ADDRESS),
        "device=gpu",
        "stream=2",
    ):
        assert part in text
    assert "readonly" in text
    assert "unstated" in repr(libcai.asarray(producer(version=2, stream=...)))
    assert "masked" in repr(libcai.asarray(producer(mask=producer(typestr="|b1"))))


def test_iteration_ends():
    rows = list(libcai.asarray(np.arange(6).reshape(2, 3)))
    assert [np.asarray(row).tolist() for row in rows] == [[0, 1, 2], [3, 4, 5]]


def test_ctypes_passes_the_address():
    array = libcai.asarray(producer())
    assert array._as_parameter_.value == array.ptr
    memmove = ctypes.CDLL(None).memcpy
    memmove.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    first = ctypes.create_string_buffer(128)
    memmove(first, array, 128)
    assert int.from_bytes(first.raw[0:2], "little") == 1  # abi_major
    assert int.from_bytes(first.raw[16:24], "little") == ADDRESS


def test_from_ptr_adds_a_holder():
    array = libcai.asarray(Cuda(interface()))
    again = libcai.Array.from_ptr(array.ptr, steal=False)
    del array
    assert again.shape == (2, 3)
    third = libcai.Array.from_ptr(ctypes.c_void_p(again.ptr), steal=False)
    assert third.data == ADDRESS


def test_a_view_of_a_view_of_libcais_own_holds_what_it_views():
    """The first view goes, and another one takes its block."""

    def view_in_c(array):
        out = ffi.new("cai_array **")
        given = ffi.cast("cai_array *", array.ptr)
        assert lib.cai_array_slice(given, ffi.NULL, 0, out, ffi.NULL) == lib.CAI_OK
        return libcai.Array.from_ptr(int(ffi.cast("uintptr_t", out[0])))

    given = np.arange(12.0).reshape(4, 3)
    before = sys.getrefcount(given)
    array, other = libcai.asarray(given), libcai.full((4, 3), 7.0)
    first = view_in_c(array)
    second = first[1:]
    del first
    others = [view_in_c(other) for _ in range(20)]
    third = second[1:]
    del array, second
    assert third.item(0, 0) == 6.0
    assert sys.getrefcount(given) == before + 1
    del third
    assert sys.getrefcount(given) == before
    del others


def test_a_dict_asks_an_owner_that_keeps_uses_by_itself(simulated):
    """Each time: who uses the array tells that owner alone."""
    simulated(
        """
from libcai.cffi import ffi, lib
asked = []

@ffi.callback("cai_status(cai_owner *, uint64_t, uint32_t, cai_error *)")
def await_uses(owner, stream, access, error):
    asked.append(stream)
    return lib.CAI_OK

@ffi.callback("cai_status(cai_owner *, uint64_t, uint32_t, cai_error *)")
def used_on(owner, stream, access, error):
    return lib.CAI_OK

@ffi.callback("void(cai_owner *)")
def stay(owner):
    pass

owner = ffi.new("cai_owner *")
assert lib.cai_owner_init(owner, stay, stay, ffi.NULL) == lib.CAI_OK
owner.used_on, owner.await_uses = used_on, await_uses
own = new_stream()
made = libcai.asarray(array(own))
given = ffi.new("cai_array *", ffi.cast("cai_array *", made.ptr)[0])
given.owner = owner
theirs = libcai.Array.from_ptr(int(ffi.cast("uintptr_t", given)))
for times in 1, 2, 3:
    assert theirs.__cuda_array_interface__["stream"] == own.value
    assert asked == [own.value] * times, asked
del theirs
"""
    )


def test_from_ptr_refuses():
    with pytest.raises(libcai.ViewError):
        libcai.Array.from_ptr(0)
    with pytest.raises(libcai.ViewError):
        libcai.Array.from_ptr(ctypes.c_void_p(None))
    with pytest.raises(libcai.ViewError, match="address -1"):
        libcai.Array.from_ptr(-1)
    for other in ("0x10", None, 4096.0, True, b"", [], ctypes.c_double(4096)):
        said = re.escape(repr(getattr(other, "value", other)))
        with pytest.raises(TypeError, match=f"^an address is required, not {said}$"):
            libcai.Array.from_ptr(other)
    array = libcai.asarray(producer())
    with pytest.raises(libcai.ViewError, match="is no array"):
        libcai.Array.from_ptr(array.ptr + 4)
    image = ctypes.create_string_buffer(ctypes.string_at(array.ptr, 128), 128)

    def changed(offset, data):
        copied = ctypes.create_string_buffer(image.raw, 128)
        copied[offset : offset + len(data)] = data
        return copied

    for error, offset, data in (
        (libcai.ViewError, 8, bytes(8)),  # no owner: borrowed
        (libcai.VersionError, 0, b"\x02\x00"),  # another major
        (libcai.VersionError, 0, bytes(2)),
        (libcai.VersionError, 7, b"\x40"),  # a critical flag that nobody knows
        (libcai.InterfaceError, 72, bytes(4)),  # stream_kind 0
    ):
        bad = changed(offset, data)
        with pytest.raises(error):
            libcai.Array.from_ptr(ctypes.addressof(bad), steal=False)


NUMPYS = [
    np.zeros((6, 8), np.float32),
    np.zeros((6, 8), np.float32).T,
    np.zeros((6, 8), ">i4")[::-2, 1:5],
    np.zeros((), "?"),
    np.zeros((1, 5, 1), np.complex64),
    np.zeros((4, 1), np.int8)[::2],
    np.lib.stride_tricks.as_strided(np.zeros(4), (1, 4), (24, 8)),
    np.lib.stride_tricks.as_strided(np.zeros(4), (1, 1), (-80, 3)),
    np.lib.stride_tricks.as_strided(np.zeros(4, np.float16), (3, 4), (0, 2)),
    np.frombuffer(b"12345678", np.uint16),
    np.zeros((0, 3)),
    np.zeros((3, 0))[::-1],
    np.zeros(2, np.longdouble),
    np.zeros(2, "<M8[s]"),
    np.zeros(2, [("x", "<i4"), ("y", ">f8")]),
    np.zeros(2, "S3"),
    np.zeros(2, "<U3"),
    np.zeros((1,) * 64, np.int64),
    np.ndarray((3,), "<i4", bytearray(13), 1),
]


@pytest.mark.parametrize("x", NUMPYS, ids=lambda x: f"{x.dtype.str}{x.shape}{x.strides}"[:40])
def test_numpys_own_says_what_its_dict_says(x):
    """Quickly, by its struct; another object's dict is read."""
    exporter = types.SimpleNamespace(__array_interface__=x.__array_interface__)
    ours, dicts = libcai.asarray(x), libcai.asarray(exporter)
    names = [name for name in dir(libcai.Array) if name[0] != "_" and name != "ptr"]
    facts = [name for name in names if not callable(getattr(libcai.Array, name))]
    assert {"data", "strides", "readonly", "typestr", "version", "route"} <= set(facts)
    for name in facts:
        assert str(getattr(ours, name, None)) == str(getattr(dicts, name, None)), name
    assert repr(ours) == repr(dicts)
    assert ours.__array_interface__ == dicts.__array_interface__


# ---- len(), truth and the buffer protocol


def test_len_and_truth():
    assert len(libcai.asarray(producer(shape=(5, 2)))) == 5
    assert len(libcai.asarray(np.ones((0, 3)))) == 0
    with pytest.raises(TypeError, match="no dimensions"):
        len(libcai.asarray(np.ones(())))
    for given in (
        np.zeros(()),
        np.zeros((0, 3)),
        np.zeros(5),
        producer(shape=(0,), data=(0, True)),
    ):
        assert libcai.asarray(given)


BUFFERS = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "g", "c8", "c16"]
BUFFERS += [">i4", ">f8", ">c8", "S5", "U3", ">U2"]


@pytest.mark.parametrize("kind", BUFFERS)
def test_buffers(kind):
    values = np.arange(12).reshape(3, 4).astype(kind)
    for given in (values, values[::2, ::-1], values.T, values[:0], values[1, 1:2].reshape(())):
        array = libcai.asarray(given)
        view = memoryview(array)
        assert view.obj is array
        assert (view.shape, view.strides) == (array.shape, array.strides)
        assert (view.nbytes, view.itemsize, view.readonly) == (given.nbytes, given.itemsize, False)
        assert view.format == memoryview(given).format.replace("l", "q").replace("L", "Q") or (
            np.dtype(kind).itemsize == 1
        )
        assert np.asarray(view).dtype == given.dtype
        assert np.array_equal(np.asarray(view), given)
        assert bytes(array) == given.tobytes()


def test_buffers_as_they_are_asked_for():
    values = np.arange(6, dtype="<i4").reshape(2, 3)
    view = memoryview(libcai.asarray(values))
    view[1, 2] = 77
    assert values[1, 2] == 77
    buffer = (ctypes.c_char * 24).from_buffer(libcai.asarray(values))
    assert ctypes.addressof(buffer) == values.ctypes.data
    with pytest.raises(BufferError, match="strides"):
        hashlib.sha256(libcai.asarray(values[:, ::2]))
    values.flags.writeable = False
    with pytest.raises(TypeError, match="read-write"):  # for a BufferError of ours
        struct.pack_into("i", libcai.asarray(values), 0, 1)
    assert memoryview(libcai.asarray(values)).readonly


def test_buffers_that_there_are_not():
    values, mask = np.arange(2), np.array([True, False])
    masked = {**values.__array_interface__, "mask": mask}
    for array, text in (
        (libcai.asarray(producer()), "on a device"),
        (libcai.from_interface(masked, host=True), "mask"),
        (libcai.asarray(np.zeros(2, "M8[s]")), "M8"),
        (libcai.asarray(np.zeros(2, [("a", "V4")])), "V4"),
    ):
        with pytest.raises(BufferError, match=text):
            memoryview(array)
        with pytest.raises(BufferError, match=text):
            bytes(array)


def test_a_buffer_keeps_the_array_through_a_collection():
    class Holder:
        pass

    holder = Holder()
    memory = np.arange(1000.0)
    holder.array = libcai.asarray(memory)
    holder.view = memoryview(holder.array)
    holder.itself = holder
    gone = weakref.ref(memory)
    seen = []
    weakref.finalize(holder, seen.append, "gone")
    del memory, holder
    gc.collect()
    assert seen == ["gone"]
    gc.collect()
    assert gone() is None


# ---- bfloat16, and the 8-bit floats


class Void(Cuda):
    def __init__(self, dtype, **changes):
        super().__init__(interface(**{"typestr": "<V2", **changes}))
        self.dtype = dtype


class Named:
    name = "bfloat16"


TorchType = type("dtype", (), {"__module__": "torch", "__repr__": lambda self: "torch.bfloat16"})


def extension_of(array):
    """By the struct: Array.dtype would need ml_dtypes."""
    return ctypes.c_uint8.from_address(array.ptr + 34).value


@pytest.mark.parametrize(
    "dtype", ["bfloat16", Named(), type("bfloat16", (), {}), TorchType(), ml_dtypes.bfloat16,
              np.dtype(ml_dtypes.bfloat16)],
    ids=["text", "named", "class", "torch", "ml_dtypes", "numpy"],
)  # fmt: skip
def test_a_producer_s_dtype_says_bfloat16(dtype):
    given = Void(dtype)
    array = libcai.asarray(given)
    assert extension_of(array) == 1
    assert (array.typestr, array.dtype) == ("<V2", ml_dtypes.bfloat16)
    assert libcai.asarray(given, strict=True).typestr == "<V2"
    assert libcai.cffi.array_from(given).dtype.ext == 1
    assert extension_of(libcai.asarray(Void(dtype, typestr="<u2"))) == 0
    assert extension_of(libcai.asarray(Void(dtype, typestr="|V1"))) == 0
    fields = [("a", "u1"), ("b", "u1")]
    assert libcai.asarray(Void(dtype, descr=[("a", "|u1"), ("b", "|u1")])).dtype == fields
    assert extension_of(libcai.from_interface(given.__cuda_array_interface__)) == 0


@pytest.mark.parametrize("typestr", [">V2", "<V2", "|V2"])
def test_bfloat16_has_one_byte_order(typestr):
    """In the other one its bytes are but bytes: a consumer would read other numbers."""
    is_other = typestr == ">V2"
    given = Void("bfloat16", typestr=typestr)
    named = producer(typestr=typestr, descr=[("bfloat16", typestr)])
    for array in (libcai.asarray(given), libcai.asarray(given, strict=True), libcai.asarray(named)):
        assert array.typestr == ("|V2" if is_other else "<V2")
        assert (array.dtype == ml_dtypes.bfloat16) is not is_other
        again = libcai.asarray(producer(**array.__cuda_array_interface__))
        assert again.dtype == array.dtype
    for read in (given, named):
        assert (libcai.cffi.array_from(read).dtype.ext == 0) is is_other


def test_numpy_s_bfloat16_in_the_other_byte_order():
    dtype = np.dtype(ml_dtypes.bfloat16)
    values = np.array([1, 2, 3], dtype).astype(dtype.newbyteorder(">"))
    array = libcai.asarray(values)
    assert (array.typestr, array.dtype) == ("|V2", np.dtype("V2"))
    with pytest.raises(libcai.UseError, match="from and to are of different types"):
        libcai.copy(values, np.zeros(3, dtype))
    with pytest.raises(libcai.UseError, match="bfloat16 is not made in the other byte order"):
        libcai.empty(3, values.dtype)
    assert libcai.empty(3, dtype.newbyteorder("=")).dtype == dtype


@pytest.mark.parametrize("dtype", [None, "float16", "V2", 5, np.dtype("V2"), ["bfloat16"]])
def test_what_is_not_certain_stays_void(dtype):
    array = libcai.asarray(Void(dtype))
    assert (extension_of(array), array.typestr) == (0, "|V2")
    assert libcai.cffi.array_from(Void(dtype)).dtype.ext == 0
    assert libcai.asarray(producer(typestr="<V2")).typestr == "|V2"


def test_a_field_s_name_says_bfloat16():
    array = libcai.asarray(producer(typestr="<V2", descr=[("bfloat16", "<V2")]))
    assert (array.dtype, array.descr) == (ml_dtypes.bfloat16, [("", "<V2")])
    array = libcai.asarray(producer(typestr="|V1", descr=[("float8_e5m2", "|V1")]))
    assert array.dtype == ml_dtypes.float8_e5m2
    again = libcai.asarray(Void(array.dtype, **array.__cuda_array_interface__))
    assert again.dtype == ml_dtypes.float8_e5m2
    assert libcai.cffi.array_from(again).dtype.ext == 3


def numbers_with_fields(number):
    """A type of NumPy's that is a number and has fields."""
    parts = [(name, f"|u{size}") for name, size in zip("abcd", (1, 2, 4, 8), strict=True)]
    for kept in itertools.chain.from_iterable(itertools.combinations(parts, n) for n in (1, 2, 3)):
        if sum(np.dtype(kind).itemsize for _, kind in kept) == np.dtype(number).itemsize:
            yield np.dtype((number, list(kept)))
    size = np.dtype(number).itemsize
    yield np.dtype((number, [(("title", "name"), f"V{size}")]))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    "kind", ["b1", "i1", "u1", "i2", "u4", "i8", "f2", "f4", "f8", "c8", "c16"]
)
def test_numpy_s_arrays_are_read_as_their_dicts_are(kind, order):
    """By the struct, which is shorter: byte order, read-only mark and fields are the dict's."""
    number = np.dtype(order + kind)
    base = np.arange(24).astype(number)
    for dtype in (number, *numbers_with_fields(number)):
        for values in (base, base.reshape(2, 3, 4), base[::-2], base[:0], base[:1].reshape(())):
            given = values.view(dtype)
            for writeable in (True, False):
                given.flags.writeable = writeable
                one, other = libcai.asarray(given), libcai.asarray(Host(given.__array_interface__))
                for name in (
                    "typestr",
                    "descr",
                    "readonly",
                    "shape",
                    "strides",
                    "byteorder",
                    "data",
                ):
                    assert getattr(one, name) == getattr(other, name), (name, dtype)
                assert one.typestr == number.str
                copied = np.asarray(libcai.copy(given))
                assert copied.dtype == number
                np.testing.assert_array_equal(copied, values)


def test_numpy_s_arrays_of_ml_dtypes():
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"):
        values = np.ones(3, getattr(ml_dtypes, name))
        array = libcai.asarray(values)
        assert (array.dtype, array.data) == (values.dtype, values.ctypes.data)
        assert array.typestr == libcai.zeros(3, name).typestr
        assert array.item(1) == 1
        ext = extension_of(array)
        assert libcai.cffi.array_from(values).dtype.ext == ext != 0
        assert extension_of(libcai.asarray(values[::-1])) == ext


@pytest.mark.parametrize("typestr", ["<f1", ">f1", "|f1"])
def test_numpy_s_typestr_of_a_float8(typestr):
    """ml_dtypes' float8_e5m2 has the kind of floats: only the name tells which of them."""
    dtype = np.dtype(ml_dtypes.float8_e5m2)
    for more in ({}, {"descr": [("", typestr)]}):
        array = libcai.asarray(Void(dtype, typestr=typestr, **more))
        assert (array.typestr, array.dtype, extension_of(array)) == ("|V1", dtype, 3)
    for given in (
        Void("float8_e4m3fn", typestr=typestr),
        Void(None, typestr=typestr),
        Void(dtype, typestr=typestr, descr=[("a", typestr)]),
        Void(dtype, typestr=typestr, descr=[("", "<f2")]),
        Void(dtype, typestr=typestr, descr=5),
        Void(dtype, typestr=typestr.encode()),
    ):
        for read in (libcai.asarray, libcai.cffi.array_from):
            with pytest.raises((libcai.InterfaceError, libcai.InterfaceTypeError)):
                read(given)
    whole = Void(dtype, typestr=typestr)
    for read in (libcai.asarray, libcai.cffi.array_from):
        with pytest.raises(libcai.InterfaceError, match=r"^typestr: "):
            read(whole, strict=True)
    with pytest.raises(libcai.InterfaceError, match=r"^typestr: "):
        libcai.from_interface(whole.__cuda_array_interface__, owner=whole)


def test_a_dtype_that_raises_passes_unchanged():
    class Raising(Cuda):
        @property
        def dtype(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        libcai.asarray(Raising(interface(typestr="<V2")))
    assert libcai.asarray(Raising(interface())) is not None
