# SPDX-License-Identifier: BSD-3-Clause
"""Arrays by the tables of types: examples/exporters, built alone, and tables that are wrong."""

import ctypes
import gc
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
from building import build_example
from helpers import Cuda, interface, producer
from simulation import run

import libcai

pytestmark = pytest.mark.slow

GPU = 0x7F00_0000_1000


@pytest.fixture(scope="module")
def folder(built):
    return built("exporters", build_example, "exporters")


@pytest.fixture(scope="module")
def exporters(folder):
    sys.path.insert(0, str(folder))
    import exporters

    sys.path.remove(str(folder))
    return exporters


class Owner:
    pass


def values():
    return np.arange(12, dtype="f4").reshape(3, 4)


def on_host(kind, array, **more):
    return kind(array.ctypes.data, array.shape, device=(1, 0), owner=array, **more)


ROUTES = {"Described": "exchange", "Ordered": "dlpack_table", "Tensor": "dlpack_table"}


@pytest.mark.parametrize("name", ROUTES)
def test_host(exporters, name):
    array = values()
    taken = libcai.asarray(on_host(getattr(exporters, name), array))
    assert taken.route == ROUTES[name]
    assert taken.shape == (3, 4)
    assert taken.strides == (16, 4)
    assert taken.typestr == "<f4"
    assert taken.data == array.ctypes.data
    np.testing.assert_array_equal(np.asarray(taken), array)


@pytest.mark.parametrize("name", ROUTES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,) * 8])
def test_shapes(exporters, name, shape):
    address = 0 if 0 in shape else GPU
    taken = libcai.asarray(getattr(exporters, name)(address, shape))
    assert taken.shape == shape
    assert taken.data == address


def test_what_is_said_of_the_stream(exporters):
    for name in ("Described", "Ordered"):
        kind = getattr(exporters, name)
        taken = libcai.asarray(kind(GPU, (2, 3), stream=7, readonly=True))
        assert (taken.stream_kind, taken.stream, taken.readonly) == ("stream", 7, True)
        assert libcai.asarray(kind(GPU, (2, 3))).stream_kind == "none"
    taken = libcai.asarray(exporters.Tensor(GPU, (2, 3), readonly=True))
    assert taken.stream_kind == "unstated"
    assert taken.readonly
    assert taken.__cuda_array_interface__["stream"] == 1


def test_a_provider_says_more(exporters):
    libcai.provide_stream("exporters", lambda obj: 9)
    try:
        assert libcai.asarray(exporters.Tensor(GPU, (2, 3))).stream == 9
        assert libcai.asarray(exporters.Ordered(GPU, (2, 3))).stream is None
    finally:
        libcai.provide_stream("exporters", lambda obj: None)


@pytest.mark.parametrize("name", ROUTES)
def test_the_exporter_lives(exporters, name):
    owner = Owner()
    seen = weakref.ref(owner)
    taken = libcai.asarray(getattr(exporters, name)(GPU, (4,), owner=owner))
    del owner
    gc.collect()
    assert seen() is not None
    part = taken[1:]
    del taken
    gc.collect()
    assert seen() is not None
    del part
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize("name", ROUTES)
def test_cycles_are_collected(exporters, name):
    owner = Owner()
    seen = weakref.ref(owner)
    owner.array = libcai.asarray(getattr(exporters, name)(GPU, (4,), owner=owner))
    del owner
    gc.collect()
    if name == "Described":  # DLPack's tensors hold what no collector sees
        assert seen() is None
    else:
        assert seen() is not None
        del seen().array
        gc.collect()
        assert seen() is None


def test_subclasses_repeat_the_attribute(exporters):
    class Heir(exporters.Described):
        pass

    class Saying(exporters.Described):
        __cai_c_exchange_api__ = exporters.Described.__cai_c_exchange_api__

    class Telling(exporters.Described):
        __cuda_array_interface__ = interface()

    assert libcai.asarray(Saying(GPU, (4,))).route == "exchange"
    assert libcai.asarray(Telling(GPU, (4,))).route == "cuda"
    with pytest.raises(libcai.InterfaceTypeError, match="Heir object has neither"):
        libcai.asarray(Heir(GPU, (4,)))


def test_routes(exporters):
    class Both(exporters.Described):
        __cai_c_exchange_api__ = exporters.Described.__cai_c_exchange_api__
        __cuda_array_interface__ = interface(shape=(7,))

    both = Both(GPU, (4,))
    assert libcai.asarray(both).shape == (4,)
    assert libcai.asarray(both, route="exchange").shape == (4,)
    assert libcai.asarray(both, route="cuda").shape == (7,)
    assert libcai.asarray(both, strict=True).route == "cuda"
    for route in ("dlpack_table", "numpy", "dlpack", "buffer"):
        with pytest.raises(libcai.InterfaceTypeError, match=f"by route '{route}'"):
            libcai.asarray(both, route=route)
    for route in ("dict", 3, b"cuda"):
        with pytest.raises(libcai.UseError, match=r"route: expected one of 'exchange', .*, got "):
            libcai.asarray(both, route=route)
    assert libcai.asarray(producer()).route == "cuda"
    assert libcai.asarray(values()).route == "numpy"
    assert libcai.asarray(values())[1:].route is None


def test_a_class_may_gain_a_table(exporters):
    """A type is looked at again once it, or a base, has changed."""

    class Late(exporters.Described):
        __cuda_array_interface__ = interface()

    late = Late(GPU, (4,))
    assert libcai.asarray(late).route == "cuda"
    Late.__cai_c_exchange_api__ = exporters.Described.__cai_c_exchange_api__
    assert libcai.asarray(late).route == "exchange"
    del Late.__cai_c_exchange_api__
    assert libcai.asarray(late).route == "cuda"


def test_types_that_come_and_go(exporters):
    """Thousands of types, of which some come to the address of a former one."""
    capsule = exporters.Described.__cai_c_exchange_api__
    addresses = set()
    again = 0
    for i in range(3000):
        members = {"__cuda_array_interface__": interface(shape=(i + 1,))}
        if i % 2:
            members["__cai_c_exchange_api__"] = capsule
        kind = type("Passing", (exporters.Described,), members)
        again += id(kind) in addresses
        addresses.add(id(kind))
        taken = libcai.asarray(kind(GPU, (5000,)))
        assert taken.shape == ((5000,) if i % 2 else (i + 1,))
        del kind, taken, members
        if i % 50 == 0:
            gc.collect()
    assert again


# ---- Our own tables


def test_array_offers_both(exporters):
    taken = libcai.asarray(values())
    for route in ("exchange", "dlpack_table"):
        other = libcai.asarray(taken, route=route)
        assert other.route == route
        assert other.data == taken.data
        assert other.shape == (3, 4)
    shared = libcai.asarray(taken, route="exchange")
    assert shared.ptr == taken.ptr  # one array, with a new reference


class Api(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_uint32),
        ("abi_major", ctypes.c_uint16),
        ("abi_minor", ctypes.c_uint16),
        ("older", ctypes.c_void_p),
        ("describe", ctypes.c_void_p),
        ("order", ctypes.c_void_p),
        ("used", ctypes.c_void_p),
        ("own", ctypes.c_void_p),
        ("wrap", ctypes.c_void_p),
    )


pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
capsule_of = ctypes.pythonapi.PyCapsule_New
capsule_of.restype = ctypes.py_object
capsule_of.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


def ours():
    return Api.from_address(pointer_of(libcai.Array.__cai_c_exchange_api__, b"cai_exchange_api"))


def call(function, *arguments, types):
    prototype = ctypes.PYFUNCTYPE(ctypes.c_int32, *types)
    return prototype(function)(*arguments)


def test_own_and_wrap():
    array = libcai.asarray(values())
    out = ctypes.c_void_p()
    pair = (ctypes.py_object, ctypes.c_void_p)
    assert call(ours().own, array, ctypes.byref(out), types=pair) == 0
    again = ctypes.c_void_p()
    pair = (ctypes.c_void_p, ctypes.c_void_p)
    assert call(ours().wrap, out, ctypes.byref(again), types=pair) == 0
    made = ctypes.cast(again, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(made))
    assert isinstance(made, libcai.Array)
    assert made.ptr == array.ptr
    with pytest.raises(libcai.ViewError):
        call(ours().wrap, None, ctypes.byref(again), types=pair)


def test_used_on_the_host_is_nothing():
    types = (ctypes.py_object, ctypes.c_uint64, ctypes.c_uint32)
    assert call(ours().used, libcai.asarray(values()), 1, 1, types=types) == 0


# ---- Tables that are wrong

KEPT = []


def with_table(capsule=b"cai_exchange_api", size=64, **functions):
    """An object whose type has a table of such functions: ctypes's, or addresses."""
    api = Api(size, functions.pop("major", 1), 0, functions.pop("older", None))
    for name, function in functions.items():
        setattr(api, name, ctypes.cast(function, ctypes.c_void_p).value)
    KEPT.append((api, functions, capsule))
    table = capsule_of(ctypes.addressof(api), capsule, None)
    return type("Wrong", (), {"__cai_c_exchange_api__": table})


TAKES_TWO = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


def describing(**fields):
    """A describe() that takes libcai's own description and changes some bytes of it."""
    inner = libcai.asarray(np.arange(6, dtype="f4"))
    places = {"abi_major": (0, "H"), "flags": (4, "I"), "data": (16, "Q"), "itemsize": (36, "I"),
              "ndim": (44, "i"), "shape": (48, "Q"), "stream_kind": (72, "I")}  # fmt: skip
    kinds = {"H": ctypes.c_uint16, "I": ctypes.c_uint32, "Q": ctypes.c_uint64, "i": ctypes.c_int32}

    def describe(obj, out, dims):
        ctypes.memmove(out, inner.ptr, 128)
        for name, value in fields.items():
            offset, kind = places[name]
            kinds[kind].from_address(out + offset).value = value
        return 0

    return TAKES_TWO(describe)


WRONG = {
    "abi_major": (2, libcai.VersionError),
    "flags": (1 << 30, libcai.VersionError),
    "data": (0, libcai.InterfaceError),
    "itemsize": (0, libcai.InterfaceError),
    "ndim": (65, libcai.InterfaceError),
    "shape": (0, libcai.InterfaceError),
    "stream_kind": (0, libcai.InterfaceError),
}


def test_described_as_it_is():
    assert libcai.asarray(with_table(describe=describing())()).shape == (6,)


@pytest.mark.parametrize("field", WRONG)
def test_lying_descriptions(field):
    value, error = WRONG[field]
    with pytest.raises(error):
        libcai.asarray(with_table(describe=describing(**{field: value}))())


def test_negative_dimensions():
    with pytest.raises(libcai.InterfaceError, match="shape has -1 dimensions"):
        libcai.asarray(with_table(describe=describing(ndim=-1))())


def test_failing_without_an_exception():
    fails = TAKES_TWO(lambda obj, out, dims: -1)
    with pytest.raises(SystemError, match=r"describe\(\) of Wrong's table .* set no exception"):
        libcai.asarray(with_table(describe=fails)())


def test_failing_with_one():
    gone = ctypes.pythonapi.PyErr_NoMemory  # sets MemoryError, and returns NULL
    address = ctypes.cast(gone, ctypes.c_void_p)
    with pytest.raises(MemoryError):
        libcai.asarray(with_table(describe=address)())


def test_owning_nothing():
    nothing = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(lambda *_: 0)
    with pytest.raises(SystemError, match=r"own\(\) of Wrong's table returned no owned array"):
        libcai.asarray(with_table(own=nothing)())


def test_owning_what_cannot_be_let_go_of():
    """An owner with no release(), which nobody may call."""
    taken = libcai.asarray(values())
    owner = (ctypes.c_uint64 * 9)(24)
    copy = (ctypes.c_uint64 * 16)()
    ctypes.memmove(copy, taken.ptr, 128)
    copy[1] = ctypes.addressof(owner)

    def own(obj, out):
        ctypes.c_uint64.from_address(out).value = ctypes.addressof(copy)
        return 0

    own = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(own)
    for size in (24, 8, 0):
        owner[0] = size
        with pytest.raises(libcai.InterfaceError, match="lacks retain or release"):
            libcai.asarray(with_table(own=own)())


def test_an_order_that_forbids_writing_does_so_on_the_host():
    """DLPack's table may not say so."""
    taken = libcai.asarray(values())
    order = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)

    def say(obj, out):
        ctypes.memmove(out, (ctypes.c_uint32 * 4)(0, 0, 1, 1 << 16), 16)
        return 0

    def give(obj, out):
        capsule = taken.__dlpack__(max_version=(1, 0))
        address = pointer_of(capsule, b"dltensor_versioned")
        ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), b"used_dltensor_versioned")
        ctypes.c_uint64.from_address(out).value = address
        return 0

    functions = (order(give), order(say))
    api = (ctypes.c_uint64 * 8)(1, 0, 0, ctypes.cast(functions[0], ctypes.c_void_p).value)
    KEPT.append((functions, api))
    kind = with_table(order=functions[1])
    kind.__dlpack_c_exchange_api__ = capsule_of(ctypes.addressof(api), b"dlpack_exchange_api", None)
    made = libcai.asarray(kind())
    assert (made.route, made.readonly) == ("dlpack_table", True)


def test_wrong_capsules():
    with pytest.raises(TypeError, match='no capsule named "cai_exchange_api"'):
        libcai.asarray(with_table(capsule=b"else", describe=describing())())

    class Text:
        __cai_c_exchange_api__ = "cai_exchange_api"

    class Number:
        __dlpack_c_exchange_api__ = 1.5

    class Nothing:
        __cai_c_exchange_api__ = None
        __dlpack_c_exchange_api__ = None
        __cuda_array_interface__ = interface()

    for kind in (Text, Number):
        with pytest.raises(TypeError, match="no capsule named"):
            libcai.asarray(kind())
    assert libcai.asarray(Nothing()).route == "cuda"


def test_short_tables():
    """A member that is beyond a table's size is not there."""
    for size in (16, 23, 31):
        kind = with_table(size=size, order=describing(), own=describing())
        kind.__cuda_array_interface__ = interface()
        assert libcai.asarray(kind()).route == "cuda"
    assert libcai.asarray(with_table(size=24, describe=describing())()).route == "exchange"


def test_another_major():
    old = Api(ctypes.sizeof(Api), 1, 0, None)
    function = describing()
    old.describe = ctypes.cast(function, ctypes.c_void_p).value
    KEPT.append((old, function))
    assert libcai.asarray(with_table(major=2, older=ctypes.addressof(old))()).route == "exchange"
    newer = with_table(major=2, describe=describing())
    with pytest.raises(libcai.InterfaceTypeError, match="Wrong object has neither"):
        libcai.asarray(newer())
    newer.__cuda_array_interface__ = interface()
    assert libcai.asarray(newer()).route == "cuda"


class DlpackApi(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("older", ctypes.c_void_p),
        ("allocator", ctypes.c_void_p),
        ("from_object", ctypes.c_void_p),
        ("to_object", ctypes.c_void_p),
        ("borrow", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    )


FROM_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def dlpack_table(answer=-1, major=1, older=None):
    """The address of a table whose only function returns that answer, and no tensor."""
    function = FROM_OBJECT(lambda obj, out: answer)
    api = DlpackApi(major, 3, older)
    api.from_object = ctypes.cast(function, ctypes.c_void_p).value
    KEPT.append((api, function))
    return ctypes.addressof(api)


def dlpack_capsule(address):
    return capsule_of(address, b"dlpack_exchange_api", None)


@pytest.mark.parametrize("name", ["__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__"])
def test_names_of_dlpacks_table(name):
    table = dlpack_capsule(dlpack_table())
    kind = type("Former", (), {name: table, "__cuda_array_interface__": interface()})
    with pytest.raises(SystemError, match=r"managed_tensor_from_py_object_no_sync\(\) of Former"):
        libcai.asarray(kind())
    assert libcai.asarray(kind(), route="cuda").route == "cuda"


@pytest.mark.parametrize("number", [4096, -1, 0, 1 << 200, True, dlpack_table])
def test_a_number_is_no_table(number):
    """DLPack 1.2 had its address under another name, and any number may be there."""
    number = number() if callable(number) else number
    others = {"__cuda_array_interface__": interface()}
    kind = type("Forged", (), {"__dlpack_c_exchange_api__": number, **others})
    with pytest.raises(TypeError, match='__dlpack_c_exchange_api__ is no capsule named "dlpack_ex'):
        libcai.asarray(kind())
    if number is not True:
        kind = type("Former", (), {"__c_dlpack_exchange_api__": number, **others})
        assert libcai.asarray(kind()).route == "cuda"


def test_dlpack_tables_that_are_not_for_us():
    older = dlpack_table(0)
    for address, route in (
        (dlpack_table(major=2), "cuda"),
        (dlpack_table(major=2, older=older), None),
        (ctypes.addressof(KEPT[-1][0]), None),
    ):
        members = {
            "__dlpack_c_exchange_api__": dlpack_capsule(address),
            "__cuda_array_interface__": interface(),
        }
        kind = type("Later", (), members)
        if route:
            assert libcai.asarray(kind()).route == route
        else:
            with pytest.raises(SystemError, match="Later's table returned no tensor"):
                libcai.asarray(kind())
    empty = DlpackApi(1, 3)
    KEPT.append(empty)
    kind.__dlpack_c_exchange_api__ = dlpack_capsule(ctypes.addressof(empty))
    assert libcai.asarray(kind()).route == "cuda"


def test_a_tensor_that_finds_no_stream_stays_its_producer_s():
    """Without a driver there is no current stream. Nothing leaks then; 1.6 KiB did each time."""
    ours = DlpackApi.from_address(
        pointer_of(libcai.Array.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    )
    to_object = FROM_OBJECT(ours.to_object)
    given = np.ones((1,) * 64)
    before = sys.getrefcount(given)
    capsule = given.__dlpack__(max_version=(1, 0))
    tensor = pointer_of(capsule, b"dltensor_versioned")
    device_type = ctypes.c_int32.from_address(tensor + 40)
    made = ctypes.c_void_p()
    most = resident()
    device_type.value = 2
    for i in range(20_000):
        with pytest.raises(libcai.Error):
            to_object(tensor, ctypes.addressof(made))
        most = max(most, resident()) if i < 2000 else most
    assert resident() < most + 8_000_000
    device_type.value = 1
    del capsule  # nobody took it, so it ends the tensor
    assert sys.getrefcount(given) == before


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


# ---- On simcuda

PROLOGUE = """
import exporters
mine, theirs = new_stream().value, new_stream().value
memory = new_memory(256)
fill(memory, 1, 64, c_void_p(theirs))
"""


def test_an_exporter_is_told_of_uses(folder, schedule):
    run(
        PROLOGUE
        + """
made = exporters.Described(memory.value, (64,), stream=theirs)
with libcai.use(made, stream=mine, access="read"):
    read(memory, 64, c_void_p(mine))
assert made.uses == [(mine, "read")], made.uses
array = libcai.asarray(made)
array.used_on(mine)
assert made.uses[1:] == [(mine, "write")]
wait(c_void_p(mine), c_void_p(theirs))
array = None
assert libcai.drain() == 0
""",
        schedule,
        PYTHONPATH=str(folder),
    )


def test_order_beside_dlpack(folder, schedule):
    run(
        PROLOGUE
        + """
with libcai.use(exporters.Ordered(memory.value, (64,), stream=theirs), stream=mine):
    fill(memory, 2, 64, c_void_p(mine))
fill(memory, 3, 64, c_void_p(theirs))
wait(c_void_p(mine), c_void_p(theirs))
""",
        schedule,
        PYTHONPATH=str(folder),
    )


def test_no_order_is_a_race(folder):
    run(
        PROLOGUE
        + """
with libcai.use(exporters.Ordered(memory.value, (64,)), stream=mine):
    fill(memory, 2, 64, c_void_p(mine))
wait(c_void_p(mine), c_void_p(theirs))
""",
        races=True,
        PYTHONPATH=str(folder),
    )


TABLE = """
pointer = pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = c_void_p, (py_object, c_char_p)
table = pointer(libcai.Array.__cai_c_exchange_api__, b"cai_exchange_api")

def described(array):
    # What is told to a consumer without an owner: (stream, its kind), by both functions.
    out, dims, said = (c_uint64 * 16)(), (c_int64 * 128)(), (c_uint64 * 2)()
    function = PYFUNCTYPE(c_int32, py_object, c_void_p, c_void_p)
    assert function(c_void_p.from_address(table + 16).value)(array, out, dims) == 0
    function = PYFUNCTYPE(c_int32, py_object, c_void_p)
    assert function(c_void_p.from_address(table + 24).value)(array, said) == 0
    told = out[8], out[9] & 0xFFFFFFFF
    assert told == (said[0], said[1] & 0xFFFFFFFF) and out[1] == 0
    return told
"""


def test_strangers_are_told_of_kept_uses(schedule):
    run(
        TABLE
        + """
theirs, mine = new_stream(), new_stream()
memory = new_memory(256)
made = libcai.asarray(array(None, memory, shape=(64,), typestr="<u4"))
assert described(made) == (0, 1)
with libcai.use(made, stream=mine.value):
    fill(memory, 1, 64, mine)
assert described(made) == (1, 3)  # the legacy stream, which waits for that use
call("cuMemsetD32Async", memory, 2, c_size_t(64), c_void_p(1))
wait(c_void_p(1))

memory = new_memory(256)
made = libcai.asarray(array(theirs, memory, shape=(64,), typestr="<u4"))
fill(memory, 1, 64, mine)
made.used_on(mine.value)
assert described(made) == (theirs.value, 3)
fill(memory, 2, 64, theirs)
wait(theirs, mine)
""",
        schedule,
    )


def test_strangers_wait_for_the_host():
    run(
        TABLE
        + """
import time
host = libcai.zeros((1000,), "u1")
with libcai.Stream("cpu", mode="async") as stream:
    stream.enqueue(lambda: time.sleep(0.2))
    libcai.fill(host, 7)
    described(host)
    assert (c_uint8 * 1000).from_address(host.data)[999] == 7
"""
    )


def test_the_stream_of_this_thread(exporters):
    import threading

    taken = libcai.asarray(exporters.Described(GPU, (4,), stream=2))
    assert taken.__cuda_array_interface__["stream"] == 2
    failures = []

    def export():
        try:
            taken.__cuda_array_interface__  # noqa: B018
        except libcai.BufferError as error:
            failures.append(error)

    thread = threading.Thread(target=export)
    thread.start()
    thread.join()
    assert len(failures) == 1


def test_masks_and_dicts_still_come_whole():
    mask = Cuda(interface(typestr="|b1"))
    taken = libcai.asarray(producer(mask=mask))
    assert taken.mask is not None
    again = libcai.asarray(taken, route="exchange")
    assert again.mask.typestr == "|b1"


# Tables whose functions return invalid arrays and tensors, of memory that C allocates on a GPU.
LYING = """
import numpy as np
from hostile_tables import CAPSULE, address_of
from libcai.cffi import ffi, lib

def on_device():
    like = libcai.asarray(np.zeros(6, "f4"))
    device = ffi.new("cai_device *", {"type": lib.CAI_DEVICE_CUDA, "id": 0})
    out = ffi.new("cai_array **")
    assert lib.cai_array_empty_like(
        ffi.cast("cai_array *", like.ptr), device[0], ffi.NULL, out, ffi.NULL) == lib.CAI_OK
    return out[0]

lie = ffi.new("cai_array *")

@ffi.callback("int32_t(void *, cai_array **)")
def own(_, out):
    array = on_device()
    lie[0] = array[0]
    lie.flags |= 1 << 30
    out[0] = lie
    return 0

@ffi.callback("int(void *, DLManagedTensorVersioned **)")
def from_object(_, out):
    array = on_device()
    assert lib.cai_dlpack_write(array, 2**64 - 1, out, ffi.NULL) == lib.CAI_OK
    lib.cai_array_release(array)
    out[0].dl_tensor.dtype.lanes = 3
    return 0

def taken_by(attribute, name, table):
    kind = type("Lying", (), {attribute: CAPSULE(address_of(table), name, None)})
    libcai.asarray(kind())

api = ffi.new("cai_exchange_api *")
api.struct_size, api.abi_major, api.own = ffi.sizeof("cai_exchange_api"), lib.CAI_ABI_MAJOR, own
tensors = ffi.new("DLPackExchangeAPI *")
tensors.header.version.major = 1
tensors.managed_tensor_from_py_object_no_sync = from_object
"""


@pytest.mark.parametrize(
    "refusal",
    [
        """refused(libcai.VersionError, "flags", taken_by,
                   "__cai_c_exchange_api__", b"cai_exchange_api", api)""",
        """refused(libcai.Error, "lanes", taken_by,
                   "__dlpack_c_exchange_api__", b"dlpack_exchange_api", tensors)""",
    ],
    ids=["own", "tensor"],
)
def test_what_is_refused_ends_without_the_gil(refusal):
    """Its memory is freed, and the driver may wait for a host function that needs the GIL."""
    run(f"""{LYING}
{refusal}
assert libcai.usage("gpu:0").count == 0
""")
