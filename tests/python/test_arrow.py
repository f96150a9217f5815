# SPDX-License-Identifier: BSD-3-Clause
"""Arrow's columns by its PyCapsule interface, with pyarrow and nanoarrow at the other end."""

import gc
import weakref
from typing import NamedTuple

import nanoarrow
import numpy as np
import pyarrow as pa
import pytest
from helpers import Host, producer
from hypothesis import strategies as st
from searching import given

import libcai

TYPES = ["i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"]


class Device:
    """With the device's form alone, and whatever capsules it is given."""

    def __init__(self, schema, column):
        self.capsules = schema, column

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        return self.capsules


class Plain:
    def __init__(self, *capsules):
        self.capsules = capsules

    def __arrow_c_array__(self, requested_schema=None):
        return self.capsules


class Answering:
    """Returns whatever it was given."""

    def __init__(self, answer):
        self.answer = answer

    def __arrow_c_array__(self, requested_schema=None):
        return self.answer


@pytest.mark.parametrize("answer", [None, (1, 2, 3), (1,), (), 5, "ab", {}])
def test_an_answer_that_is_no_pair(answer):
    with pytest.raises(libcai.InterfaceTypeError, match="where Arrow wants a pair of capsules"):
        libcai.from_arrow(Answering(answer))
    device = Device(1, 2)
    device.capsules = answer
    with pytest.raises(libcai.InterfaceTypeError, match="where Arrow wants a pair of capsules"):
        libcai.from_arrow(device)


class Pair(NamedTuple):
    schema: object
    column: object


def test_a_pair_of_a_class_of_tuples():
    array = pa.array([1, 2, 3], pa.int32())
    for taken in (
        libcai.from_arrow(Answering(Pair(*array.__arrow_c_array__()))),
        libcai.from_arrow(Device(*array.__arrow_c_device_array__())),
    ):
        assert np.asarray(taken).tolist() == [1, 2, 3]
    device = Device(1, 2)
    device.capsules = Pair(*array.__arrow_c_device_array__())
    assert libcai.from_arrow(device).shape == (3,)


class OnHost:
    """Only the host's form of a pyarrow array."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self.array.__arrow_c_array__(requested_schema)


@given(st.sampled_from(TYPES), st.integers(0, 40), st.integers(0, 8))
def test_numbers_round_trip(typestr, length, offset):
    values = np.arange(length).astype(typestr)
    column = pa.array(values)[offset:]
    for given_ in (column, OnHost(column)):
        taken = libcai.from_arrow(given_)
        assert taken.typestr == values.dtype.str
        assert taken.readonly
        assert taken.mask is None
        np.testing.assert_array_equal(np.asarray(taken), values[offset:])
        assert pa.array(taken).equals(column)
    out = libcai.asarray(values)
    assert pa.array(out).to_numpy(zero_copy_only=True).tolist() == values.tolist()
    assert nanoarrow.Array(out).to_pylist() == values.tolist()


@given(st.lists(st.one_of(st.none(), st.integers(-100, 100)), max_size=70), st.integers(0, 3))
def test_missing_values_round_trip(values, bytes_before):
    column = pa.array([None] * (8 * bytes_before) + values, pa.int32())[8 * bytes_before :]
    taken = libcai.from_arrow(column)
    assert pa.array(taken).to_pylist() == values
    if None in values:
        assert taken.mask.typestr == "|t1"
        assert taken.mask.shape == taken.shape


def test_a_bitmap_that_begins_within_a_byte():
    column = pa.array([None, 1, None])[1:]
    with pytest.raises(libcai.ViewError, match="mask: at offset 1"):
        libcai.from_arrow(column)
    assert column.to_pylist() == [1, None]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a"]),
        pa.array([b"a"]),
        pa.array([True]),
        pa.array([[1]]),
        pa.array([{"a": 1}]),
        pa.array([1, 2], pa.timestamp("s")),
        pa.array(["a", "a"]).dictionary_encode(),
        pa.nulls(3),
        pa.array([1, 2], pa.decimal128(10)),
    ],
)
def test_what_is_no_array_of_numbers(column):
    with pytest.raises(libcai.ViewError, match=r"^(typestr|interface|descr): "):
        libcai.from_arrow(column)


def test_wrong_capsules():
    schema, column = pa.array([1]).__arrow_c_device_array__()
    plain = pa.array([1]).__arrow_c_array__()
    for wrong in ((schema, schema), (column, column), (None, column), (schema, plain[1])):
        with pytest.raises(libcai.InterfaceTypeError, match="wants a capsule named"):
            libcai.from_arrow(Device(*wrong))
    with pytest.raises(libcai.InterfaceTypeError, match="wants a capsule named 'arrow_array'"):
        libcai.from_arrow(Plain(schema, column))
    assert libcai.from_arrow(Device(schema, column)).item() == 1
    with pytest.raises(libcai.Error, match="released"):
        libcai.from_arrow(Device(schema, column))
    for other in (3, None, np.ones(3)):
        with pytest.raises(libcai.InterfaceTypeError, match="has neither __arrow_c_device_array__"):
            libcai.from_arrow(other)


REFUSED = {
    "shape": np.ones((2, 2)),
    "typestr": np.array([1, 2], "M8[s]"),
    "strides": np.ones(8)[::2],
}


@pytest.mark.parametrize("entry", REFUSED)
def test_what_a_column_cannot_say(entry):
    for name in ("__arrow_c_array__", "__arrow_c_device_array__"):
        with pytest.raises(libcai.BufferError, match=entry):
            getattr(libcai.asarray(REFUSED[entry]), name)()


def test_arguments():
    taken = libcai.asarray(np.ones(3))
    taken.__arrow_c_device_array__(None, extra=None)
    with pytest.raises(NotImplementedError, match="'extra'"):
        taken.__arrow_c_device_array__(extra=1)
    with pytest.raises(AttributeError, match="is on a device"):
        libcai.asarray(producer()).__arrow_c_array__()


def test_lifetimes():
    class Owner:
        pass

    values, owner = np.arange(3.0), Owner()
    host = Host(values.__array_interface__)
    host.owner, seen = owner, weakref.ref(owner)
    column = pa.array(libcai.asarray(host))
    capsules = libcai.asarray(host).__arrow_c_device_array__()
    del owner, host
    gc.collect()
    assert seen() is not None
    del column
    gc.collect()
    assert seen() is not None
    del capsules  # that nobody has taken
    gc.collect()
    assert seen() is None


def test_events(simulated):
    """Work that is pending leaves as an event, and comes back as one."""
    simulated("""
theirs, mine = new_stream(), new_stream()
memory = new_memory(256)
fill(memory, 1, 64, theirs)
made = libcai.asarray(array(theirs, memory, shape=(64,), typestr="<u4"))

class Column:
    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        return made.__arrow_c_device_array__()

taken = libcai.from_arrow(Column())
assert taken.stream_kind == "event" and taken.device[1] == 0
with libcai.use(taken, stream=mine.value, access="read"):
    read(memory, 64, mine)
wait(theirs, mine)
""")


def test_on_a_thread_with_no_context(simulated):
    """An array of libcai's knows whose default stream is meant."""
    simulated("""
import threading
made = libcai.zeros(8, device="gpu:1")
taken = []

def take():
    taken.append(libcai.from_arrow(made))
    taken.append(made.publish_event(1))

thread = threading.Thread(target=take)
thread.start()
thread.join()
assert [each.stream_kind for each in taken] == ["event", "event"]
assert [each.device for each in taken] == [made.device] * 2
assert [libcai.copy(each).item(7) for each in taken] == [0.0, 0.0]
""")
