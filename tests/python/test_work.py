# SPDX-License-Identifier: BSD-3-Clause
"""Work on arrays, in order: copies, moves, readers; on the CPU with no driver, and on simcuda."""

import ctypes
import os
import threading

import numpy as np
import pytest
from helpers import masked, python
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from searching import given
from simulation import run

import libcai
from libcai import Stream
from libcai.cffi import ffi, lib

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


@pytest.mark.parametrize(
    "fields",
    [
        [("a", ">f4"), ("b", "<i4")],
        [("a", "<i4"), ("b", "<f4")],
        [("a", "<f4"), ("b", "<i2", (2,))],
        [("a", "<f4"), ("b", [("c", "<i2"), ("d", "<i2")])],
        [("a", "<f8")],
    ],
)
def test_a_copy_to_other_fields_is_refused(fields):
    """It would be of bytes, which are other numbers there."""
    source = np.ones(3, [("a", "<f4"), ("b", "<i4")])
    with pytest.raises(libcai.UseError, match="different types"):
        libcai.copy(source, np.zeros(3, fields))
    renamed = np.zeros(3, [("x", "<f4"), ("y", "<i4")])
    libcai.copy(source, renamed)
    assert renamed.tolist() == source.tolist()
    plain = np.zeros(3, "V8")
    libcai.copy(source, plain)
    assert plain.tobytes() == source.tobytes()


def test_copies_are_new():
    source = libcai.full(3, 5, "<i4")
    for made in (libcai.copy(source), source.to("cpu"), libcai.to(source, "cpu", kind="host")):
        libcai.fill(made, 6)
        assert source.item(0) == 5
        assert made.item(0) == 6


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
