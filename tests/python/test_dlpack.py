# SPDX-License-Identifier: BSD-3-Clause
"""DLPack by capsules, both ways, after the array-API standard's chapter on data interchange."""

import ctypes
import gc
import sys
import weakref
from functools import partial

import numpy as np
import pytest
from helpers import Host, producer
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from searching import given
from simulation import run

import libcai

GPU = 0x7F00_0000_1000
CPU_DEVICE = (1, 0)

DTYPES = [
    "?",
    "i1",
    "u1",
    "<i2",
    "<u2",
    "<i4",
    "<u4",
    "<i8",
    "<u8",
    "<f2",
    "<f4",
    "<f8",
    "<c8",
    "<c16",
]


def values(dtype="<f4"):
    return np.arange(12).astype(dtype).reshape(3, 4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_round_trip(dtype):
    array = values(dtype)
    taken = libcai.from_dlpack(array)
    assert taken.typestr == array.dtype.str
    assert taken.data == array.ctypes.data
    again = np.from_dlpack(taken)
    assert again.ctypes.data == array.ctypes.data
    np.testing.assert_array_equal(again, array)


@given(
    hnp.arrays(
        dtype=st.sampled_from([np.dtype(text) for text in DTYPES]),
        shape=hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3),
    ),
    st.data(),
)
def test_views_round_trip(array, data):
    if array.ndim:
        axes = data.draw(st.permutations(range(array.ndim)))
        steps = data.draw(st.tuples(*[st.sampled_from([1, 2, -1])] * array.ndim))
        array = array.transpose(axes)[tuple(slice(None, None, step) for step in steps)]
    np.testing.assert_array_equal(np.from_dlpack(libcai.from_dlpack(array)), array)
    taken = libcai.asarray(array)
    np.testing.assert_array_equal(np.from_dlpack(taken), array)
    assert libcai.from_dlpack(taken).shape == array.shape


def test_the_memory_lives_with_the_tensor():
    class Owner:
        pass

    array, owner = values(), Owner()
    host = Host(array.__array_interface__)
    host.owner, seen = owner, weakref.ref(owner)
    tensor = np.from_dlpack(libcai.asarray(host))
    capsule = libcai.asarray(host).__dlpack__()
    del owner, host
    gc.collect()
    assert seen() is not None
    del tensor
    gc.collect()
    assert seen() is not None
    del capsule  # that nobody has consumed
    gc.collect()
    assert seen() is None


def test_the_exporter_lives_with_the_array():
    array = values()
    before = sys.getrefcount(array)
    taken = libcai.from_dlpack(array)
    assert sys.getrefcount(array) > before
    part = taken[1:]
    del taken
    assert sys.getrefcount(array) > before
    del part
    assert sys.getrefcount(array) == before


def test_read_only():
    array = values()
    array.flags.writeable = False
    taken = libcai.asarray(array)
    assert not np.from_dlpack(taken).flags.writeable
    assert libcai.from_dlpack(taken).readonly
    with pytest.raises(libcai.BufferError, match="data is read-only"):
        taken.__dlpack__()
    with pytest.raises(libcai.BufferError, match="data is read-only"):
        taken.__dlpack__(max_version=(0, 8))


def test_versions():
    taken = libcai.asarray(values())
    for version, name in (
        (None, '"dltensor"'),
        ((0, 8), '"dltensor"'),
        ((1, 0), '"dltensor_versioned"'),
        ((1, 3), '"dltensor_versioned"'),
        ((2, 0), '"dltensor_versioned"'),
    ):
        assert name in repr(taken.__dlpack__(max_version=version))
    for version in (1, "1.0", (), ("1", "0")):
        with pytest.raises((TypeError, ValueError, IndexError)):
            taken.__dlpack__(max_version=version)


def test_devices():
    assert libcai.asarray(values()).__dlpack_device__() == CPU_DEVICE
    assert libcai.asarray(producer(shape=(0,), data=(0, False))).__dlpack_device__() == (2, 0)


def test_copies():
    taken = libcai.asarray(values())
    for more in ({"copy": True}, {"copy": True, "dl_device": CPU_DEVICE}):
        tensor = np.from_dlpack(libcai.from_dlpack(taken.__dlpack__(max_version=(1, 0), **more)))
        assert tensor.ctypes.data != taken.data
        np.testing.assert_array_equal(tensor, values())
    for copy in (None, False):
        same = libcai.from_dlpack(taken.__dlpack__(copy=copy, dl_device=CPU_DEVICE))
        assert same.data == taken.data
    with pytest.raises(libcai.BufferError, match="copy=False forbids"):
        taken.__dlpack__(copy=False, dl_device=(2, 0))
    with pytest.raises(libcai.BufferError, match="cannot copy to device"):
        taken.__dlpack__(dl_device=(10, 0))
    assert libcai.from_dlpack(values(), copy=True).data != 0


def test_streams_of_the_host():
    taken = libcai.asarray(values())
    for stream in (None, -1):
        taken.__dlpack__(stream=stream)
    for stream in (0, 1, 2, 7, "1"):
        with pytest.raises(libcai.BufferError, match="must be None or -1: the array"):
            taken.__dlpack__(stream=stream)


def test_streams_of_a_gpu():
    taken = libcai.asarray(producer(data=(GPU, False)))
    for stream in (0, -2, 1.5, "1"):
        with pytest.raises((libcai.InterfaceError, libcai.InterfaceTypeError), match="stream"):
            taken.__dlpack__(stream=stream)


REFUSED = {
    "byte order": values(">f4"),
    "text": np.array(["a", "bc"]),
    "bytes": np.array([b"a", b"bc"]),
    "times": np.array([1, 2], "M8[s]"),
    "fields": np.zeros(2, [("a", "i4"), ("b", "f4")]),
    "void": np.zeros(2, "V3"),
    "long double": np.zeros(2, "g"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_dlpack_cannot_say(what):
    taken = libcai.asarray(REFUSED[what])
    with pytest.raises(libcai.BufferError, match="typestr "):
        taken.__dlpack__(max_version=(1, 0))


def test_strides_that_dlpack_cannot_say():
    packed = np.zeros(4, [("a", "i1"), ("b", "<f4")])["b"]
    with pytest.raises(libcai.BufferError, match="strides"):
        libcai.asarray(packed).__dlpack__(max_version=(1, 0))


def test_masks_are_not_dropped():
    masked = libcai.asarray(producer(mask=producer(typestr="|b1")))
    with pytest.raises(libcai.BufferError, match="mask"):
        masked.__dlpack__(stream=-1, max_version=(1, 0))


def test_numpys_masks_are_not_dropped():
    masked = np.ma.array([1, 2, 3], mask=[False, True, False])
    for take in (
        libcai.from_dlpack,
        lambda array: libcai.asarray(array, route="dlpack"),
        lambda array: libcai.asarray(array, route="buffer"),
    ):
        with pytest.raises(libcai.InterfaceTypeError, match="mask: a MaskedArray leaves its mask"):
            take(masked)
        np.testing.assert_array_equal(np.asarray(take(np.ma.array([1, 2, 3]))), [1, 2, 3])


# ---- Exporters

FORMS = [None, (1, 0)]


class Exporter:
    """With __dlpack__ alone, and a note of what it was asked."""

    def __init__(self, array=None, device=CPU_DEVICE, capsule=None):
        self.array = values() if array is None else array
        self.device = device
        self.capsule = capsule
        self.asked = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **asked):
        self.asked.append(asked)
        if self.capsule is not None:
            return self.capsule
        version = asked.get("max_version")
        return libcai.asarray(self.array).__dlpack__(stream=-1, max_version=version)


@pytest.mark.parametrize("device", [None, (), (1,), 5, "12", {}, ("x", 0), (None, None), (1, 0, 0)])
def test_a_device_that_is_no_pair(device):
    exporter = Exporter(device=device)
    with pytest.raises(libcai.InterfaceTypeError, match="no pair of integers") as caught:
        libcai.from_dlpack(exporter)
    assert caught.value.entry == "data"
    assert caught.value.value == device
    assert exporter.asked == []
    assert libcai.from_dlpack(Exporter(device=list(CPU_DEVICE))).shape == values().shape


class Former(Exporter):
    """As it was before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        return super().__dlpack__(**({} if stream is None else {"stream": stream}))


class Gpu(Exporter):
    def __init__(self):
        super().__init__(device=(2, 0))

    def __dlpack__(self, **asked):
        self.asked.append(asked)
        return tensor(device_type=2, data=GPU)


def test_by_dlpack_alone():
    for kind in (Exporter, Former):
        taken = libcai.asarray(kind())
        assert taken.route == "dlpack"
        np.testing.assert_array_equal(np.asarray(taken), values())
    asked = Exporter()
    libcai.asarray(asked)
    assert asked.asked == [{"max_version": (1, 3)}]


def test_what_exporters_are_asked():
    def asked(take):
        gpu = Gpu()
        taken = take(gpu)
        (arguments,) = gpu.asked
        assert arguments.pop("max_version") == (1, 3)
        return taken.stream_kind, taken.stream, arguments

    def used(**options):
        def take(gpu):
            with libcai.use(gpu, **options) as (taken,):
                return taken

        return take

    legacy = ("stream", 1, {"stream": 1})
    nobody = ("unstated", None, {"stream": -1})
    assert asked(libcai.asarray) == asked(libcai.from_dlpack) == legacy
    for stream in (1, 7):
        named = ("stream", stream, {"stream": stream})
        assert asked(partial(libcai.from_dlpack, stream=stream)) == named
    assert asked(lambda gpu: libcai.from_dlpack(gpu, stream=-1)) == nobody
    # If no order was asked for, nothing waits.
    assert asked(used(stream=9, order="none")) == asked(used(stream=-1)) == nobody
    with libcai.relaxed(sync=False):
        assert asked(used(stream=9)) == nobody
    more = {"dl_device": (2, 0), "copy": False}
    there = ("stream", 1, {"stream": 1, **more})
    assert asked(lambda gpu: libcai.from_dlpack(gpu, device=(2, 0), copy=False)) == there
    # A copy for the host has to be complete, for which there is no stream.
    gpu = Gpu()
    with pytest.raises(libcai.BufferError, match="device: the tensor is on"):
        libcai.from_dlpack(gpu, device="cpu")
    assert gpu.asked == [{"max_version": (1, 3), "dl_device": CPU_DEVICE}]


class Heedless(Exporter):
    """Accepts every argument, and ignores all."""

    def __dlpack__(self, **asked):
        return tensor(device_type=self.device[0], device_id=self.device[1], data=GPU)


def test_none_in_the_place_of_a_method():
    class Without(bytearray):
        __dlpack__ = __dlpack_device__ = None

    class Half(Exporter):
        __dlpack__ = None

    assert libcai.asarray(Without(b"abc")).route == "buffer"
    for exporter in (Without(b"abc"), Half()):
        with pytest.raises(AttributeError, match="has no __dlpack__"):
            libcai.from_dlpack(exporter)
    with pytest.raises(libcai.InterfaceTypeError, match="nothing of DLPack's"):
        libcai.asarray(Half())


def test_an_exporter_that_does_not_heed_the_device():
    for asked in ("cpu", CPU_DEVICE, (2, 1), libcai.Device(2, 1), (3, 0), (13, 0)):
        with pytest.raises(libcai.BufferError, match=r"device: the tensor is on \(2, 0\), where"):
            libcai.from_dlpack(Heedless(device=(2, 0)), device=asked)
        with pytest.raises(libcai.BufferError, match="device: the tensor is on"):
            libcai.from_dlpack(tensor(device_type=2, data=GPU), device=asked)
    with pytest.raises(libcai.BufferError, match="device: the tensor is on"):
        libcai.from_dlpack(Exporter(), device=(2, 0))
    assert libcai.from_dlpack(Heedless(device=(2, 1)), device=(2, 1)).device == (2, 1)
    # The host's memory has no number.
    for kind in (3, 13):
        assert libcai.from_dlpack(Heedless(device=(kind, 1)), device=(kind, 0)).device[0] == kind


def test_words_that_are_no_device_and_no_copy():
    for copy in (5, "no", 0, 1, np.True_):
        with pytest.raises(TypeError, match=r"^copy is .* and neither True, False nor None"):
            libcai.from_dlpack(values(), copy=copy)
        with pytest.raises(TypeError, match=r"^copy is .* and neither True, False nor None"):
            libcai.asarray(np.ones(3)).__dlpack__(copy=copy)
    for device in ((2, 0.5), (2,), (), (2, None), (2, 0, 0), ("cpu", 0)):
        with pytest.raises(TypeError, match=r"device is .* not a tuple of two integers"):
            libcai.from_dlpack(values(), device=device)
    with pytest.raises(TypeError, match="a device is a text"):
        libcai.from_dlpack(values(), device=5)
    capsule = values().__dlpack__()
    with pytest.raises(libcai.BufferError, match="copy: a capsule"):
        libcai.from_dlpack(capsule, copy=True)
    assert libcai.from_dlpack(capsule, copy=False, device="cpu").shape == values().shape


def test_a_former_exporter_cannot_copy():
    with pytest.raises(TypeError):
        libcai.from_dlpack(Former(), copy=True)


def test_errors_of_the_exporter_pass():
    class Dying(Exporter):
        def __dlpack__(self, **asked):
            raise ZeroDivisionError("mine")

    class Deviceless(Exporter):
        def __dlpack_device__(self):
            raise ZeroDivisionError("mine")

    for kind in (Dying, Deviceless):
        with pytest.raises(ZeroDivisionError, match="mine"):
            libcai.asarray(kind())


@pytest.mark.parametrize("version", FORMS)
def test_capsules_are_consumed_once(version):
    array = values()
    before = sys.getrefcount(array)
    capsule = libcai.asarray(array).__dlpack__(max_version=version)
    taken = libcai.from_dlpack(capsule)
    assert "used_dltensor" in repr(capsule)
    for _ in range(2):
        with pytest.raises(libcai.InterfaceTypeError, match="consumed before"):
            libcai.from_dlpack(capsule)
    with pytest.raises(libcai.InterfaceTypeError, match="consumed before"):
        libcai.asarray(Exporter(capsule=capsule))
    del capsule, taken
    assert sys.getrefcount(array) == before


@pytest.mark.parametrize("version", FORMS)
def test_a_capsule_for_another_device_is_not_consumed(version):
    array = values()
    capsule = libcai.asarray(array).__dlpack__(max_version=version)
    for device in ((2, 0), (3, 0), (10, 0)):
        with pytest.raises(libcai.BufferError, match=r"device: the tensor is on \(1, 0\), where"):
            libcai.from_dlpack(capsule, device=device)
    taken = libcai.from_dlpack(capsule, device="cpu")
    np.testing.assert_array_equal(np.asarray(taken), array)
    with pytest.raises(libcai.InterfaceTypeError, match="consumed before"):
        libcai.from_dlpack(capsule, device=(2, 0))


def test_no_capsules():
    for wrong in (3, None, "dltensor", values):
        with pytest.raises(libcai.InterfaceTypeError, match="has no __dlpack__"):
            libcai.from_dlpack(wrong)
    for wrong in (3, "dltensor", datetime_capsule()):
        with pytest.raises(libcai.InterfaceTypeError, match="no capsule of DLPack's"):
            libcai.asarray(Exporter(capsule=wrong))


def datetime_capsule():
    from datetime import datetime_CAPI

    return datetime_CAPI


class Tensor(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


capsule_of = ctypes.pythonapi.PyCapsule_New
capsule_of.restype = ctypes.py_object
capsule_of.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
deleted = []
delete = DELETER(deleted.append)
memory = (ctypes.c_float * 6)(*range(6))
KEPT = []


def tensor(**changes):
    shape = (ctypes.c_int64 * 2)(2, 3)
    given = {
        "major": 1,
        "minor": 3,
        "deleter": ctypes.cast(delete, ctypes.c_void_p).value,
        "data": ctypes.addressof(memory),
        "device_type": 1,
        "ndim": 2,
        "code": 2,
        "bits": 32,
        "lanes": 1,
        "shape": shape,
        **changes,
    }
    made = Tensor(**given)
    KEPT.append((made, given))
    return capsule_of(ctypes.addressof(made), b"dltensor_versioned", None)


def test_strange_but_lawful_tensors():
    del deleted[:]
    taken = libcai.from_dlpack(tensor())  # strides are NULL
    assert taken.strides == (12, 4)
    assert list(np.asarray(taken).ravel()) == [0, 1, 2, 3, 4, 5]
    assert libcai.from_dlpack(tensor(byte_offset=4, ndim=0)).item() == 1
    assert libcai.from_dlpack(tensor(flags=1)).readonly
    assert not libcai.from_dlpack(tensor(flags=1 << 40)).readonly
    assert libcai.from_dlpack(tensor(shape=(ctypes.c_int64 * 2)(0, 3), data=None)).shape == (0, 3)
    assert libcai.from_dlpack(tensor(deleter=None)).shape == (2, 3)
    assert len(deleted) == 4
    del taken
    assert len(deleted) == 5


WRONG = [
    ({"major": 2}, "version"),
    ({"ndim": -1}, "shape"),
    ({"ndim": 65}, "shape"),
    ({"shape": None}, "shape"),
    ({"shape": (ctypes.c_int64 * 2)(-1, 3)}, "shape"),
    ({"shape": (ctypes.c_int64 * 2)(2**62, 2**62)}, "shape"),
    ({"data": None}, "data"),
    ({"lanes": 4}, "typestr"),
    ({"code": 3}, "typestr"),
    ({"code": 99}, "typestr"),
    ({"bits": 4, "code": 1}, "typestr"),
    ({"bits": 0}, "typestr"),
    ({"device_type": 4}, "evice"),
    ({"device_type": 0}, "evice"),
]


@pytest.mark.parametrize(("changes", "said"), WRONG)
def test_wrong_tensors_are_not_consumed(changes, said):
    del deleted[:]
    capsule = tensor(**changes)
    with pytest.raises((libcai.Error, NotImplementedError)) as raised:
        libcai.from_dlpack(capsule)
    assert said in str(raised.value)
    with pytest.raises((libcai.Error, NotImplementedError)):
        libcai.from_dlpack(capsule, device=(2, 0))
    assert '"dltensor_versioned"' in repr(capsule)
    assert not deleted


def test_a_deleter_off_the_gil(tmp_path):
    """The last holder lets go without the GIL: the deleter is called with it, soon after."""
    del deleted[:]
    taken = libcai.from_dlpack(tensor())
    address = taken.ptr
    owner = ctypes.c_void_p.from_address(address + 8).value
    retain, release = (ctypes.CFUNCTYPE(None, ctypes.c_void_p)(f) for f in
                       (ctypes.c_void_p * 2).from_address(owner + 8))  # fmt: skip
    retain(owner)
    del taken
    assert not deleted
    release(owner)  # ctypes has let the GIL go
    libcai.drain()
    assert len(deleted) == 1


# ---- On simcuda


def test_the_consumers_stream_waits(simulated):
    simulated("""
theirs, mine = new_stream(), new_stream()
memory = new_memory(256)
fill(memory, 1, 64, theirs)
made = libcai.asarray(array(theirs, memory, shape=(64,), typestr="<u4"))
tensor = made.__dlpack__(stream=mine.value, max_version=(1, 0))
fill(memory, 2, 64, mine)
assert list(read(memory, 1, mine)) == [2]
taken = libcai.from_dlpack(tensor, stream=mine.value)
assert (taken.device[1], taken.stream, taken.data) == (0, mine.value, memory.value)
made.used_on(mine.value)  # the way back
with libcai.use(made, stream=theirs.value):
    fill(memory, 3, 64, theirs)
wait(theirs, mine)
""")


def test_the_consumers_stream_may_go(simulated):
    simulated("""
theirs, mine, other = new_stream(), new_stream(), new_stream()
memory = new_memory(256)
fill(memory, 1, 64, theirs)
made = libcai.asarray(array(theirs, memory, shape=(64,), typestr="<u4"))
tensor = made.__dlpack__(stream=mine.value, max_version=(1, 0))
fill(memory, 2, 64, mine)
wait(mine)
call("cuStreamDestroy_v2", mine)
with libcai.use(made, stream=other.value):
    fill(memory, 3, 64, other)
made.synchronize()
wait(other)
""")


def test_there_is_no_way_back():
    run(
        """
theirs, mine = new_stream(), new_stream()
memory = new_memory(256)
made = libcai.asarray(array(theirs, memory, shape=(64,), typestr="<u4"))
tensor = made.__dlpack__(stream=mine.value, max_version=(1, 0))
fill(memory, 2, 64, mine)
fill(memory, 3, 64, theirs)
""",
        races=True,
    )


def test_without_order_it_is_a_race():
    run(
        """
theirs, mine = new_stream(), new_stream()
memory = new_memory(256)
fill(memory, 1, 64, theirs)
made = libcai.asarray(array(theirs, memory, shape=(64,), typestr="<u4"))
tensor = made.__dlpack__(stream=-1, max_version=(1, 0))
fill(memory, 2, 64, mine)
""",
        races=True,
    )


def test_none_is_the_legacy_stream(simulated):
    simulated("""
theirs = new_stream()
memory = new_memory(256)
fill(memory, 1, 64, theirs)
made = libcai.asarray(array(theirs, memory, shape=(64,), typestr="<u4"))
tensor = made.__dlpack__()
call("cuMemsetD32Async", memory, 2, c_size_t(64), c_void_p(1))
wait(theirs, c_void_p(1))
""")


def test_elsewhere(simulated):
    simulated("""
made = libcai.full((2, 3), 7, "<f4", device="gpu:0")
assert made.__dlpack_device__() == (2, 0)
here = libcai.from_dlpack(made, device="cpu")
assert here.device[1] == 0 and here.item(1, 2) == 7
there = libcai.from_dlpack(here, device="gpu:0")
assert there.__dlpack_device__() == (2, 0) and there.item(0, 1) == 7
assert libcai.from_dlpack(made, copy=True).data != made.data
refused(libcai.BufferError, "copy=False forbids", libcai.from_dlpack, made, device="cpu",
        copy=False)
""")


def test_many_tensors_one_within_another(simulated):
    simulated("""
made = libcai.full((2, 3), 7, "<f4", device="gpu:0")
for _ in range(30000):
    made = libcai.from_dlpack(made)
assert made.item(1, 2) == 7
del made
""")


def test_a_tensor_in_its_capsule(simulated):
    simulated("""
for keep in True, False:
    made = libcai.full(6, 7, "<f4", device="gpu:0")
    capsules = [made.__dlpack__(), made.__dlpack__(max_version=(1, 0))]
    capsules.append(made.__arrow_c_device_array__())
    if not keep:
        del made
    del capsules
""")


def test_our_table_orders_the_current_stream(simulated):
    simulated("""
theirs = new_stream()
memory = new_memory(256)
fill(memory, 1, 64, theirs)
made = libcai.asarray(array(theirs, memory, shape=(64,), typestr="<u4"))
with libcai.Stream("gpu:0", mode="async") as mine:
    pointer = pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = c_void_p, (py_object, c_char_p)
    table = pointer(libcai.Array.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    give = c_void_p.from_address(table + 24).value
    working = c_void_p.from_address(table + 48).value
    stream, tensor = c_void_p(), c_void_p()
    assert PYFUNCTYPE(c_int, c_int, c_int, c_void_p)(working)(2, 0, byref(stream)) == 0
    assert stream.value == mine.value
    assert PYFUNCTYPE(c_int, py_object, c_void_p)(give)(made, byref(tensor)) == 0
    fill(memory, 2, 64, stream)
    mine.synchronize()
    PYFUNCTYPE(None, c_void_p)(c_void_p.from_address(tensor.value + 16).value)(tensor)
wait(theirs)
""")


def test_an_exporter_on_the_host_is_asked_for_a_stream_of_the_gpu(simulated):
    """The stream is one of the device that is asked for: the copy may be pending."""
    simulated(
        """
s, t = libcai.Stream(), libcai.Stream()
source = libcai.full(64, 3, "|u1", device="gpu")
source.synchronize()
asked = []
class OnTheHost:
    def __dlpack_device__(self):
        return 1, 0
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        asked.append((stream, dl_device))
        return libcai.copy(source, stream=s).__dlpack__(stream=stream, max_version=max_version)
for stream in (t, t.value, None, -1):
    made = libcai.from_dlpack(OnTheHost(), device="gpu:0", stream=stream)
    if stream != -1:
        read(c_uint64(made.data), 16, c_void_p(made.stream))
    said = {None: (1, None), -1: (None, None)}.get(stream, (t.value, t.value))
    assert (made.stream, asked.pop()) == (said[0], (said[1], (2, 0))), (stream, made.stream)
    s.synchronize()
    t.synchronize()
host = libcai.zeros(64, "|u1")
made = libcai.from_dlpack(host, device="gpu:0", stream=t)
assert made.stream == t.value
read(c_uint64(made.data), 16, c_void_p(made.stream))
there = libcai.from_dlpack(source, device="cpu")
assert there.item(0) == 3
"""
    )
