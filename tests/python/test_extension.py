# SPDX-License-Identifier: BSD-3-Clause
"""cai/python.h, by examples/extensions/c, which is built alone against the installed package."""

import ctypes
import gc
import os
import sys
import time
import weakref

import ml_dtypes
import numpy as np
import pytest
from building import build_example
from helpers import Host, load, producer
from simulation import run_with_gil
from test_exchange import FROM_OBJECT, KEPT, DlpackApi, dlpack_capsule, on_host, pointer_of

import libcai

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folders(built):
    """Of the modules `clear_c` and `exporters`."""
    return [built(name, build_example, name) for name in ("extensions/c", "exporters")]


@pytest.fixture(scope="module")
def modules(folders):
    return [
        load(folder, name) for folder, name in zip(folders, ("clear_c", "exporters"), strict=True)
    ]


@pytest.fixture(scope="module")
def clear_c(modules):
    return modules[0]


def ones():
    return np.ones((3, 4), "<f4")


def test_host_arrays(clear_c):
    array = ones()
    assert clear_c.clear(array) is None
    assert not array.any()
    taken, text = libcai.asarray(ones()), bytearray(b"text")
    clear_c.clear(taken)
    clear_c.clear(text)
    clear_c.clear(np.ones((0, 3)))
    assert not np.asarray(taken).any()
    assert text == bytes(4)
    assert clear_c.elements(ones(), taken, b"four") == 28


@pytest.mark.parametrize("name", ["Described", "Ordered", "Tensor"])
def test_by_tables(modules, name):
    clear_c, exporters = modules
    array = ones()
    made = on_host(getattr(exporters, name), array)
    before = sys.getrefcount(made)
    assert clear_c.elements(made, made) == 24
    clear_c.clear(made)
    assert not array.any()
    assert sys.getrefcount(made) == before


@pytest.mark.parametrize(
    "made",
    [
        np.array([3, 4], "<M8[s]"),
        np.array([3, 4], "<m8[ms]"),
        np.array([3, 4], ml_dtypes.bfloat16),
        np.array([3, 4], ml_dtypes.float8_e4m3fn),
    ],
    ids=lambda made: made.dtype.name,
)
def test_types_without_a_buffer(clear_c, made):
    assert clear_c.elements(made) == 2
    clear_c.clear(made)
    assert not any(made.tobytes())


def test_what_is_read_only(modules):
    clear_c, exporters = modules
    array = ones()
    array.flags.writeable = False
    for given in (array, libcai.asarray(array), bytes(3)):
        with pytest.raises(libcai.InterfaceError, match="read-only"):
            clear_c.clear(given)
        assert clear_c.elements(given) > 0
    for name in ("Described", "Ordered", "Tensor"):
        given = on_host(getattr(exporters, name), ones(), readonly=True)
        with pytest.raises(libcai.InterfaceError, match="read-only"):
            clear_c.clear(given)


def test_bad_arguments(clear_c):
    class Dying:
        @property
        def __cuda_array_interface__(self):
            raise ZeroDivisionError("mine")

    with pytest.raises(libcai.InterfaceTypeError, match="the int object"):
        clear_c.clear(3)
    with pytest.raises(ZeroDivisionError, match="mine"):
        clear_c.clear(Dying())
    with pytest.raises(ValueError, match="not C-contiguous"):
        clear_c.clear(ones()[:, ::2])
    with pytest.raises(ValueError, match="masked"):
        clear_c.clear(producer(mask=producer(typestr="|b1")))
    assert clear_c.elements() == 0


def test_nothing_is_kept(clear_c):
    class Owner:
        pass

    host = Host(ones().__array_interface__)
    host.owner = owner = Owner()
    host.array = array = ones()
    host._interface = array.__array_interface__
    seen = weakref.ref(owner)
    clear_c.clear(host)
    clear_c.zeros_like(host)
    with pytest.raises(ValueError, match="C-contiguous"):
        clear_c.clear(libcai.asarray(host).transpose())
    del host, owner, array
    gc.collect()
    assert seen() is None


def test_results(modules):
    clear_c, exporters = modules
    for like in (ones(), libcai.asarray(ones()), memoryview(bytes(5))):
        made = clear_c.zeros_like(like)
        assert type(made) is libcai.Array
        assert not np.asarray(made).any()
        assert made.shape == libcai.asarray(like).shape
        assert not made.readonly
    made = clear_c.zeros_like(on_host(exporters.Described, ones()))
    assert type(made) is exporters.Described
    assert libcai.asarray(made).shape == (3, 4)
    assert not np.asarray(libcai.asarray(made)).any()
    assert type(clear_c.zeros_like(on_host(exporters.Tensor, ones()))) is libcai.Array


@pytest.mark.parametrize("fails", [False, True])
def test_results_by_an_allocator(clear_c, fails):
    """A type with DLPack's allocator, which here is libcai's."""
    ours = DlpackApi.from_address(
        pointer_of(libcai.Array.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    )
    to_object = FROM_OBJECT(ours.to_object)
    calls = []

    @FROM_OBJECT
    def counted(tensor, out):
        calls.append(tensor)
        return -1 if fails else to_object(tensor, out)

    api = DlpackApi(1, 3, None, ours.allocator)
    api.to_object = ctypes.cast(counted, ctypes.c_void_p).value
    KEPT.append((api, counted))
    members = {
        "__dlpack_c_exchange_api__": dlpack_capsule(ctypes.addressof(api)),
        "__array_interface__": property(lambda self: self.array.__array_interface__),
    }
    like = type("Like", (), members)()
    like.array = ones()
    if fails:
        with pytest.raises(SystemError, match=r"managed_tensor_to_py_object_no_sync\(\) of Like"):
            clear_c.zeros_like(like)
    else:
        made = clear_c.zeros_like(like)
        assert (made.shape, made.typestr) == ((3, 4), "<f4")
        assert not np.asarray(made).any()
    assert len(calls) == 1


def test_work_of_the_hosts_comes_first(clear_c):
    array = libcai.zeros((1000,), "u1")
    with libcai.Stream("cpu", mode="async") as stream:
        stream.enqueue(lambda: time.sleep(0.2))
        libcai.fill(array, 7)
        clear_c.clear(array)
    assert not np.asarray(array).any()


def test_on_a_gpu(folders, simulated_with_gil):
    simulated_with_gil(
        """
import clear_c, exporters
theirs, mine = new_stream(), new_stream()
memory = new_memory(256)
fill(memory, 7, 64, theirs)
made = array(theirs, memory, shape=(64,), typestr="<u4")
clear_c.clear(made, mine.value)
assert not any(read(memory, 64, theirs))     # ordered both ways
fill(memory, 7, 64, theirs)
given = exporters.Ordered(memory.value, (64,), stream=theirs.value)
clear_c.clear(given, mine.value)
fill(memory, 7, 64, theirs)
given = exporters.Described(memory.value, (64,), stream=theirs.value)
clear_c.clear(given)
made = clear_c.zeros_like(array(theirs, memory, shape=(64,), typestr="<u4"))
assert made.device[1] == 0 and made.item(63) == 0
refused(libcai.InterfaceTypeError, "stream", clear_c.clear, made, "1")
refused(ValueError, "-1 is no stream", clear_c.clear, made, -1)
wait(theirs, mine)
""",
        PYTHONPATH=os.pathsep.join(map(str, folders)),
    )


def test_a_use_that_does_not_end_well(folders, simulated_with_gil):
    """The owner keeps it, and the exception is the one that is raised."""
    simulated_with_gil(
        """
import clear_c
cuda.simcuda_fail.argtypes = c_char_p, c_uint64, c_int32
s, t = new_stream(), new_stream()
memory = new_memory(256)
given = array(None, memory, shape=(64,), typestr="<u4")
x = libcai.asarray(given)
cuda.simcuda_fail(b"cuEventRecord", 1, 999)
refused(libcai.CudaError, "cuEventRecord", clear_c.clear, x, s.value)
with libcai.use(x, stream=t):
    fill(memory, 7, 64, t)
cuda.simcuda_fail(b"cuMemsetD8Async", 1, 999)
refused(RuntimeError, "cuMemsetD8Async() failed", clear_c.clear, x, s.value)
with libcai.use(x, stream=t):
    out = read(memory, 64, t)
wait(t)
assert list(out) == [7] * 64
""",
        PYTHONPATH=os.pathsep.join(map(str, folders)),
    )


def test_an_extension_that_forgets_to_order_races(folders):
    run_with_gil(
        """
import clear_c
theirs, mine = new_stream(), new_stream()
memory = new_memory(256)
fill(memory, 7, 64, theirs)
clear_c.clear(array(None, memory, shape=(64,), typestr="<u4"), mine.value)
""",
        races=True,
        PYTHONPATH=os.pathsep.join(map(str, folders)),
    )
