# SPDX-License-Identifier: BSD-3-Clause
"""The arguments of __dlpack__, clause by clause, after the array-API standard (2024.12): each value
of stream, max_version, dl_device and copy, and what must be a BufferError."""

import ctypes

import numpy as np
import pytest
from hypothesis import strategies as st
from searching import given

import libcai

pytestmark = pytest.mark.slow

CPU = (1, 0)
READ_ONLY, IS_COPIED = 1, 2
pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


class Tensor:
    """The contents of a capsule: its version, flags, address and device."""

    def __init__(self, capsule):
        self.capsule = capsule
        self.versioned = '"dltensor_versioned"' in repr(capsule)
        at = pointer_of(capsule, b"dltensor_versioned" if self.versioned else b"dltensor")
        self.version = tuple((ctypes.c_uint32 * 2).from_address(at)) if self.versioned else None
        self.flags = ctypes.c_uint64.from_address(at + 24).value if self.versioned else 0
        at += 32 if self.versioned else 0
        self.data = ctypes.c_void_p.from_address(at).value
        self.device = tuple((ctypes.c_int32 * 2).from_address(at + 8))


@given(
    stream=st.sampled_from([None, -1, 0, 1, 2, 7, 2**40]),
    max_version=st.sampled_from([None, (0, 8), (1, 0), (1, 3), (2, 0), (7, 1)]),
    dl_device=st.sampled_from([None, CPU, (1, 1), (2, 0), (3, 0), (10, 0), (99, -1)]),
    copy=st.sampled_from([None, True, False]),
    writeable=st.booleans(),
)
def test_of_the_host(stream, max_version, dl_device, copy, writeable):
    """A machine without a GPU: one device, which has no streams."""
    numbers = np.arange(6, dtype="<f4").reshape(2, 3)
    numbers.flags.writeable = writeable
    array = libcai.asarray(numbers)
    asked = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
    versioned = max_version is not None and max_version >= (1, 0)
    marked = not writeable and not copy
    elsewhere = dl_device not in (None, CPU)
    if elsewhere or stream not in (None, -1) or (marked and not versioned):
        # A stream 0 is invalid for any device that has streams.
        ambiguous = stream == 0 and elsewhere and dl_device[0] != CPU[0] and copy is not False
        with pytest.raises(libcai.InterfaceError if ambiguous else libcai.BufferError):
            array.__dlpack__(**asked)
        return
    tensor = Tensor(array.__dlpack__(**asked))
    assert tensor.versioned is versioned
    assert not versioned or (1, 0) <= tensor.version < (2, 0)
    assert (tensor.data == array.data) is not bool(copy)
    assert tensor.device == CPU
    assert bool(tensor.flags & IS_COPIED) is (versioned and bool(copy))
    assert bool(tensor.flags & READ_ONLY) is (versioned and marked)
    np.testing.assert_array_equal(np.asarray(libcai.from_dlpack(tensor.capsule)), numbers)


def test_all_by_name():
    array = libcai.asarray(np.zeros(3))
    with pytest.raises(TypeError):
        array.__dlpack__(None)
    with pytest.raises(TypeError):
        array.__dlpack__(more=1)


@pytest.mark.parametrize("wrong", [5, "cpu", (), (1,), (1, 0, 0), ("1", 0), (1.0, 0), (None, 0)])
def test_pairs_that_are_none(wrong):
    array = libcai.asarray(np.zeros(3))
    for name in ("dl_device", "max_version"):
        with pytest.raises(TypeError) as raised:
            array.__dlpack__(**{name: wrong})
        assert str(raised.value) == f"{name} is {wrong!r}, and not a tuple of two integers"


def test_objects_that_have_no_dlpack():
    """AttributeError is the standard's, TypeError libcai's."""
    for kind in (AttributeError, TypeError, libcai.Error):
        with pytest.raises(kind, match="a list object has no __dlpack__"):
            libcai.from_dlpack([1.0])


def test_devices_are_any_integers():
    array = libcai.asarray(np.zeros(3))
    for place in (CPU, [1, 0], libcai.Device("cpu"), (np.int32(1), np.int64(0))):
        assert Tensor(array.__dlpack__(dl_device=place)).data == array.data


def test_streams_of_a_gpu(simulated):
    """None and 1: the legacy default stream. 2: the thread's. Others: a stream. -1: no order."""
    simulated("""
theirs, other = new_stream(), new_stream()
for given, mine in ((None, 1), (1, 1), (2, 2), (other.value, other.value)):
    memory = new_memory(256)
    fill(memory, 1, 64, theirs)
    made = libcai.asarray(array(theirs, memory, shape=(64,), typestr="<u4"))
    tensor = made.__dlpack__(stream=given)
    fill(memory, 2, 64, c_void_p(mine))
    wait(c_void_p(mine))
records, waits = calls("cuEventRecord"), calls("cuStreamWaitEvent")
made.__dlpack__(stream=-1)
assert (calls("cuEventRecord"), calls("cuStreamWaitEvent")) == (records, waits)
refused(libcai.InterfaceError, "stream 0 is ambiguous", made.__dlpack__, stream=0)
refused(libcai.InterfaceError, "stream -2", made.__dlpack__, stream=-2)
wait(theirs)
""")


def test_copies_of_a_gpu(simulated):
    """A copy is ready for the consumer's stream; on the host, for the host."""
    simulated("""
from test_dlpack_standard import IS_COPIED, Tensor
theirs, mine = new_stream(), new_stream()
memory = new_memory(256)
fill(memory, 3, 64, theirs)
made = libcai.asarray(array(theirs, memory, shape=(64,), typestr="<u4"))
for place in (None, (2, 0)):
    tensor = Tensor(made.__dlpack__(stream=mine.value, dl_device=place, copy=True,
                                    max_version=(1, 0)))
    assert tensor.data != memory.value and tensor.flags == IS_COPIED and tensor.device == (2, 0)
    assert set(read(c_uint64(tensor.data), 64, mine)) == {3}
here = Tensor(made.__dlpack__(dl_device=(1, 0), max_version=(1, 0)))
assert here.device == (1, 0) and here.flags == IS_COPIED
assert set((c_uint32 * 64).from_address(here.data)) == {3}
there = made.__dlpack__(dl_device=(2, 1), stream=-1, max_version=(1, 0))
assert Tensor(there).device == (2, 1) and Tensor(there).flags == IS_COPIED
assert libcai.from_dlpack(there).item(63) == 3
same = Tensor(made.__dlpack__(dl_device=(2, 0), copy=False, max_version=(1, 0)))
assert same.data == memory.value and same.flags == 0
wait(theirs, mine)

for place in ((1, 0), (2, 1)):
    refused(libcai.BufferError, "copy=False forbids", made.__dlpack__, dl_device=place, copy=False)
for place in ((2, 2), (2, -1), (1, 1), (3, 0), (13, 0), (10, 0)):
    refused(libcai.BufferError, f"cannot copy to device {place}", made.__dlpack__, dl_device=place)
# The stream is one of the device that is asked for.
refused(libcai.BufferError, "stream is 1, and must be None or -1",
        made.__dlpack__, dl_device=(1, 0), stream=1)
""")


def test_memory_that_both_may_use(simulated):
    """Pinned and managed memory are devices of their own in DLPack."""
    simulated("""
from test_dlpack_standard import IS_COPIED, Tensor
for kind, device, own in (("pinned", "cpu", (3, 0)), ("managed", "gpu:0", (13, 0))):
    made = libcai.full(4, 5, "<i4", device=device, kind=kind)
    assert made.__dlpack_device__() == own
    same = Tensor(made.__dlpack__(dl_device=own, copy=False, max_version=(1, 0)))
    assert (same.data, same.device, same.flags) == (made.data, own, 0)
    for place in (None, own):
        copy = made.__dlpack__(dl_device=place, copy=True, max_version=(1, 0))
        assert Tensor(copy).flags == IS_COPIED and Tensor(copy).device == own
        assert Tensor(copy).data != made.data
        assert libcai.from_dlpack(copy).item(3) == 5
    assert libcai.from_dlpack(made.__dlpack__(dl_device=(1, 0))).item(0) == 5
""")
