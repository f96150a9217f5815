# SPDX-License-Identifier: BSD-3-Clause
"""Views, with NumPy as the oracle."""

import sys
from typing import NamedTuple

import numpy as np
import pytest
from helpers import producer
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from searching import assume, given

import libcai

DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
    hnp.complex_number_dtypes(endianness="?", sizes=(64, 128)),
    hnp.datetime64_dtypes(max_period="Y", endianness="?"),
    hnp.timedelta64_dtypes(max_period="Y", endianness="?"),
    hnp.byte_string_dtypes(min_len=1, max_len=5),
    hnp.unicode_string_dtypes(min_len=1, max_len=5),
    st.just(np.dtype([("a", "<i4"), ("p", [("x", ">f2", (2,)), ("y", "|S3")])])),
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=4)


def filled(shape, dtype):
    size = int(np.prod(shape)) * dtype.itemsize
    data = bytes(i % 251 for i in range(size))
    if dtype.kind == "U":  # of code points that there are: NumPy makes a str of an element
        points = np.frombuffer(data, "u1")[::4].astype(np.dtype("u4").newbyteorder(dtype.byteorder))
        data = points.tobytes()
    return np.frombuffer(data, dtype=dtype).reshape(shape)


@st.composite
def arrays(draw, dtypes=DTYPES):
    """NumPy arrays with strides of any sign, 0 included."""
    array = filled(draw(SHAPES), draw(dtypes))
    if array.ndim:
        array = array.transpose(draw(st.permutations(range(array.ndim))))
        array = array[draw(hnp.basic_indices(array.shape, allow_ellipsis=True, min_dims=0))]
    if isinstance(array, np.ndarray) and draw(st.booleans()):
        array = np.broadcast_to(array, (draw(st.integers(1, 3)), *array.shape))
    assume(isinstance(array, np.ndarray))
    return array


def same(array, expected):
    assert isinstance(array, libcai.Array)
    assert array.shape == expected.shape
    assert array.dtype == expected.dtype
    assert array.size == expected.size
    assert array.nbytes == expected.nbytes
    assert array.itemsize == expected.itemsize
    if expected.size:
        assert array.data == expected.__array_interface__["data"][0]
        for axis, extent in enumerate(expected.shape):
            if extent > 1:
                assert array.strides[axis] == expected.strides[axis]
    back = np.asarray(array)
    assert back.shape == expected.shape
    assert back.dtype == expected.dtype
    assert back.tobytes() == expected.tobytes()


@given(arrays())
def test_round_trip(array):
    mine = libcai.asarray(array)
    same(mine, array)
    assert mine.readonly == (not array.flags.writeable)
    if array.size == 0 or 0 not in [
        stride for stride, extent in zip(array.strides, array.shape, strict=True) if extent > 1
    ]:
        assert mine.c_contiguous == array.flags.c_contiguous
        assert mine.f_contiguous == array.flags.f_contiguous
    if array.size:
        low, high = np.lib.array_utils.byte_bounds(array)
        assert mine.extent == (low - mine.data, high - mine.data)
    else:
        assert mine.extent == (0, 0)


@given(arrays(), st.data())
def test_index(array, data):
    mine = libcai.asarray(array)
    key = data.draw(
        hnp.basic_indices(array.shape, allow_newaxis=True, allow_ellipsis=True, max_dims=8)
    )
    expected = array[key]
    if isinstance(expected, np.ndarray):
        same(mine[key], expected)
    else:  # NumPy returns a scalar if the view has no dimensions
        same(mine[key], array[(*key, ...) if isinstance(key, tuple) else (key, ...)])


@given(arrays(), st.data())
def test_index_again(array, data):
    """A view of a view of a view."""
    mine = libcai.asarray(array)
    for _ in range(3):
        key = data.draw(hnp.basic_indices(array.shape, allow_newaxis=True, max_dims=6))
        key = (*key, ...) if isinstance(key, tuple) else (key, ...)
        if key.count(...) > 1:
            key = key[:-1]
        array, mine = array[key], mine[key]
        assume(isinstance(array, np.ndarray))
    same(mine, array)


@given(arrays(), st.data())
def test_transpose(array, data):
    mine = libcai.asarray(array)
    same(mine.transpose(), array.transpose())
    axes = data.draw(st.permutations(range(array.ndim)))
    signed = [axis - array.ndim if data.draw(st.booleans()) else axis for axis in axes]
    if array.ndim:
        same(mine.transpose(*signed), array.transpose(*signed))
        same(mine.transpose(tuple(signed)), array.transpose(signed))


@given(arrays(), st.data())
def test_reshape(array, data):
    mine = libcai.asarray(array)
    extents = []
    rest = array.size
    while rest > 1 and len(extents) < 6:
        extent = data.draw(st.sampled_from([n for n in range(1, rest + 1) if rest % n == 0]))
        extents.append(extent)
        rest //= extent
    extents.append(rest)
    if extents and array.size and data.draw(st.booleans()):
        extents[data.draw(st.integers(0, len(extents) - 1))] = -1
    expected = array.view()
    try:
        expected = array.reshape(extents, copy=False)
    except ValueError:
        with pytest.raises(libcai.ViewError):
            mine.reshape(extents)
    else:
        same(mine.reshape(*extents), expected)


@given(arrays(), st.data())
def test_broadcast(array, data):
    mine = libcai.asarray(array)
    shape = [
        data.draw(st.integers(0, 3)) if extent == 1 and data.draw(st.booleans()) else extent
        for extent in array.shape
    ]
    shape = (*data.draw(st.lists(st.integers(0, 3), max_size=2)), *shape)
    same(mine.broadcast_to(shape), np.broadcast_to(array, shape))
    assert mine.broadcast_to(shape).readonly


@pytest.mark.parametrize("key", [2, -3, (0, 3), (0, 0, 0), (..., 9), 2**70, -(2**70)])
def test_indices_out_of_range(key):
    array = libcai.asarray(producer())
    with pytest.raises(IndexError) as caught:
        array[key]
    assert isinstance(caught.value, libcai.Error)


@pytest.mark.parametrize("key", [True, "a", 1.0, [0], np.array([0, 1]), np.True_, (0, False)])
def test_other_keys(key):
    with pytest.raises((TypeError, IndexError)):
        libcai.asarray(producer())[key]


def test_a_subclass_of_tuple():
    class Key(NamedTuple):
        row: object
        column: object

    given = np.arange(12.0).reshape(3, 4)
    same(libcai.asarray(given)[Key(slice(1, None), 2)], given[1:, 2])


def test_odd_slices():
    array = libcai.asarray(producer())
    with pytest.raises(ValueError, match="zero"):
        array[::0]
    with pytest.raises(IndexError):
        array[..., ...]
    with pytest.raises(IndexError):
        array[(None,) * 500]
    assert array[np.int64(1), 2**70 : -(2**70) : -1].shape == (3,)
    assert array[-(2**70) : 2**70].shape == (2, 3)


def test_what_a_view_keeps():
    given_array = producer(strides=(24, 8), stream=9, data=(4096, True))
    count = sys.getrefcount(given_array)
    array = libcai.asarray(given_array)
    view = array[1:][::-1][0:1]
    assert (view.stream, view.stream_kind, view.readonly) == (9, "stream", True)
    assert view.version == 3
    del array
    assert sys.getrefcount(given_array) == count + 1
    del view
    assert sys.getrefcount(given_array) == count


def test_a_mask_is_viewed_likewise():
    array = libcai.asarray(producer(mask=producer(typestr="|b1")))
    view = array[1:, ::-1]
    assert view.mask.shape == view.shape
    assert view.mask.strides == (3, -1)
    assert view.transpose().mask.shape == (3, 1)
    assert view[0].mask.shape == (3,)
    bits = libcai.asarray(producer(shape=(16,), mask=producer(shape=(16,), typestr="|t1")))
    with pytest.raises(libcai.ViewError):
        bits[1:]


@pytest.mark.parametrize(
    "action",
    [
        lambda a: a.reshape(5),
        lambda a: a.reshape(-1, -1),
        lambda a: a.reshape(-2),
        lambda a: a.reshape(*[1] * 65),
        lambda a: a.reshape(2**70),
        lambda a: a.transpose(0),
        lambda a: a.transpose(0, 0),
        lambda a: a.transpose(0, 2),
        lambda a: a.transpose(0, 2**40),
        lambda a: a.broadcast_to((2, 4)),
        lambda a: a.broadcast_to((3,)),
        lambda a: a.broadcast_to((-1, 2, 3)),
        lambda a: a.broadcast_to((2**40, 2**40, 2, 3)),
    ],
)
def test_no_such_view(action):
    array = libcai.asarray(producer())
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        action(array)
    assert isinstance(caught.value, libcai.Error)


def test_wrong_types():
    array = libcai.asarray(producer())
    for action, said in (
        (lambda: array.reshape("a"), "shape: an integer is required, not 'a'"),
        (lambda: array.reshape(2.0, 3), "shape: an integer is required, not 2.0"),
        (lambda: array.reshape(True, 6), "shape: an integer is required, not True"),
        (lambda: array.reshape(1.5), "shape is 1.5, and no sequence of integers"),
        (lambda: array.transpose("ab"), "axes: an integer is required, not 'a'"),
        (lambda: array.transpose(1.5), "axes is 1.5, and no sequence of integers"),
        (lambda: array.broadcast_to(None), "shape is None, and no sequence of integers"),
        (lambda: array.broadcast_to(1.5), "shape is 1.5, and no sequence of integers"),
        (lambda: array.publish(1, streams=5), "streams is 5, and no sequence of streams"),
    ):
        with pytest.raises(TypeError) as caught:
            action()
        assert str(caught.value) == said


def test_a_chain_of_views_does_not_grow():
    array = libcai.asarray(producer())
    for _ in range(100_000):
        array = array[...]
    assert array.shape == (2, 3)
