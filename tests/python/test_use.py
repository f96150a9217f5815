# SPDX-License-Identifier: BSD-3-Clause
"""libcai.use and locate(): the streams that are taken here, the driver's part on simcuda."""

import copy
import ctypes
import enum
import pickle
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from helpers import LIMIT, interface, producer
from simulation import environment, run

import libcai


class Attribute:
    def __init__(self, name, value):
        setattr(self, name, value)


class Protocol:
    def __init__(self, answer):
        self.answer = answer

    def __cuda_stream__(self):
        return self.answer


class Handle:
    """Like the bindings' CUstream: int() returns the handle."""

    def __int__(self):
        return 7


STREAMS = [
    1,
    2,
    2**64 - 1,
    -1,
    np.int64(7),
    Protocol((0, 7)),
    Protocol((0, 0)),
    Attribute("handle", 7),
    Attribute("handle", ctypes.c_void_p(7)),
    Attribute("handle", ctypes.c_void_p(None)),
    Attribute("handle", Handle()),
    Attribute("ptr", 0),
    Attribute("cuda_stream", 7),
]


@pytest.mark.parametrize("stream", STREAMS)
def test_streams(stream):
    host = np.ones(3)
    with libcai.use(host, stream=stream) as arrays:  # a host array needs no order, nor a driver
        assert type(arrays) is tuple
        (array,) = arrays
        assert isinstance(array, libcai.Array)
        assert array.data == host.ctypes.data


@pytest.mark.parametrize(
    ("stream", "kind"),
    [
        (None, TypeError),
        (0, ValueError),
        (np.int64(0), ValueError),
        (True, TypeError),
        (1.0, TypeError),
        ("1", TypeError),
        (-2, ValueError),
        (2**64, ValueError),
        pytest.param(10**5000, ValueError, id="digits"),
        (object(), TypeError),
        (Protocol((1, 7)), ValueError),
        (Protocol(7), TypeError),
        (Protocol((0, "7")), TypeError),
        (Attribute("handle", -1), ValueError),
        (Attribute("ptr", 1.5), TypeError),
        # Nor numbers that might have a fraction, nor arrays, whatever int() returns for them.
        (Decimal("1.5"), TypeError),
        (Fraction(3, 2), TypeError),
        (np.float32(7), TypeError),
        (np.complex64(1), TypeError),
        (np.True_, TypeError),
        (np.array(1.7), TypeError),
        (np.array([7]), TypeError),
        # An integer `value` is that of an event, too.
        (libcai.Event("cpu"), TypeError),
        (enum.Enum("Mode", ["FAST"]).FAST, TypeError),
        (Attribute("value", 7), TypeError),
        (Attribute("handle", Attribute("value", 7)), TypeError),
        (ctypes.c_double(7.0), TypeError),
        (np.array([1, 2]), TypeError),
        (np.array(["1"]), TypeError),
        (Attribute("handle", np.array([7])), TypeError),
    ],
)
def test_no_streams(stream, kind):
    with pytest.raises(kind, match="stream") as caught:
        libcai.use(np.ones(3), stream=stream)
    assert isinstance(caught.value, libcai.Error)
    assert caught.value.entry == "stream"
    assert caught.value.value is stream


def test_the_reason_is_given():
    for stream in (None, 0):
        with pytest.raises(libcai.Error, match="1 for the legacy default stream"):
            libcai.use(stream=stream)


def test_the_stream_is_required():
    with pytest.raises(TypeError):
        libcai.use(np.ones(3))


def test_a_stream_s_own_error_passes():
    class Raising:
        @property
        def handle(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        libcai.use(stream=Raising())


def test_any_number_of_objects():
    with libcai.use(stream=1) as arrays:
        assert arrays == ()
    one = libcai.asarray(np.ones(3))
    with libcai.use(one, np.ones(4), producer(shape=(0,), data=(0, False)), stream=1) as (a, b, c):
        assert a is one
        assert (b.shape, c.shape) == ((4,), (0,))
    with pytest.raises(libcai.InterfaceTypeError):
        libcai.use(object(), stream=1)


def test_entering_twice():
    using = libcai.use(np.ones(3), stream=1)
    with using, pytest.raises(libcai.StateError, match="has been entered already"):
        using.__enter__()
    with pytest.raises(libcai.StateError, match="has not been entered"):
        using.__exit__(None, None, None)
    with using:
        pass


def test_it_cannot_be_pickled_nor_copied():
    context = libcai.use(producer(), stream=7)
    for action in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="neither copied nor pickled"):
            action(context)


def test_a_stream_of_the_cpu_is_not_taken_for_0():
    with pytest.raises(libcai.InterfaceError, match="has no handle, and is not a GPU stream"):
        libcai.use(producer(), stream=libcai.Stream("cpu"))


def test_a_handle_that_is_no_integer():
    class Odd:
        def __cuda_stream__(self):
            return 0, "x"

    with pytest.raises(libcai.InterfaceTypeError, match=r"^stream: the handle of .* is 'x', which"):
        libcai.use(producer(), stream=Odd())


def test_no_order_is_advised_only_where_it_is_taken():
    for stream in (None, 0):
        refusals = (libcai.InterfaceError, libcai.InterfaceTypeError)
        with pytest.raises(refusals, match="or -1 for no order"):
            libcai.use(producer(), stream=stream)
        with pytest.raises(refusals, match=r"2 for the per-thread one$"):
            libcai.asarray(producer()).used_on(stream)


def test_exceptions_pass():
    with pytest.raises(ZeroDivisionError), libcai.use(np.ones(3), stream=1):
        raise ZeroDivisionError


def test_locating_a_host_array():
    given = np.ones(3)
    place = libcai.asarray(given).locate()
    assert isinstance(place, libcai.Location)
    assert place.device == (libcai.DeviceType.CPU, 0)
    assert place.context is None
    assert place.base is None


# ---- On simcuda --------------------------------------------------------------------------------

RACE = """
theirs, mine = new_stream(), new_stream()
given = array(theirs, shape=(6,), typestr="<i4")
call("cuMemsetD32_v2", given.memory, 1, c_size_t(6))
call("cuCtxSynchronize")
fill(given.memory, 42, 6, theirs)  # pending
with libcai.use(given, stream=ORDER or mine) as (a,):
    out = read(given.memory, 6, mine)
    call("cuStreamSynchronize", mine)
print(list(out))
"""


def test_a_use_orders(simulated):
    assert simulated(RACE.replace("ORDER", "None")) == f"{[42] * 6}\n"


def test_no_order_is_a_race(simulated):
    simulated(RACE.replace("ORDER", "-1"), races=True)


def test_no_order_shows_the_wrong_value():
    assert run(RACE.replace("ORDER", "-1"), "lazy", races=True) != f"{[42] * 6}\n"


def test_the_way_back(simulated):
    assert "[7, 7, 7, 7, 7, 7]" in simulated(
        """
theirs, mine = new_stream(), new_stream()
given = array(theirs, shape=(6,), typestr="<i4")
copy = new_memory()
fill(given.memory, 7, 6, theirs)
with libcai.use(given, stream=mine):
    call("cuMemcpyDtoDAsync_v2", copy, given.memory, c_size_t(24), mine)
fill(given.memory, 9, 6, theirs)  # the producer writes again, in its own order
call("cuStreamSynchronize", theirs)
call("cuStreamSynchronize", mine)
print(list(read(copy, 6, mine)))
call("cuStreamSynchronize", mine)
out = read(copy, 6, mine)
call("cuStreamSynchronize", mine)
print(list(out))
"""
    )


def test_counts(simulated):
    """Eight arrays on one other stream: one record and one wait, each way."""
    simulated(
        """
theirs, mine = new_stream(), new_stream()
given = [array(theirs) for _ in range(8)]
names = ("cuEventRecord", "cuStreamWaitEvent", "cuStreamSynchronize", "cuCtxSynchronize")
start = [calls(name) for name in names]
with libcai.use(*given, stream=mine):
    assert [calls(n) - s for n, s in zip(names, start)] == [1, 1, 0, 0]
assert [calls(n) - s for n, s in zip(names, start)] == [2, 2, 0, 0]
with libcai.use(*given, stream=theirs):
    pass
unstreamed = array(None)
with libcai.use(unstreamed, stream=mine):  # nobody waits, and the owner keeps it
    pass
assert [calls(n) - s for n, s in zip(names, start)] == [3, 2, 0, 0]
"""
    )


def test_the_use_ends_after_an_exception(simulated):
    simulated(
        """
theirs, mine = new_stream(), new_stream()
given = array(theirs)
start = calls("cuEventRecord")
try:
    with libcai.use(given, stream=mine):
        raise ZeroDivisionError
except ZeroDivisionError:
    pass
assert calls("cuEventRecord") - start == 2
"""
    )


def test_an_end_that_fails_waits_on_the_host(simulated):
    code = """
theirs, mine = new_stream(), new_stream()
given = array(theirs)
try:
    with libcai.use(given, stream=mine):
        BODY
except libcai.CudaError as error:
    print("cuda", error.native, calls("cuStreamSynchronize"))
except ZeroDivisionError as error:
    print("body", error.__notes__, calls("cuStreamSynchronize"))
"""
    fail = {"SIMCUDA_FAIL": "cuEventRecord:2:999"}
    assert simulated(code.replace("BODY", "pass"), **fail) == "cuda 999 1\n"
    out = simulated(code.replace("BODY", "1 / 0"), **fail)
    assert out.startswith("body ['libcai.use: ")
    assert out.endswith(" 1\n")


def test_capture_is_refused():
    """If work is pending, as under the lazy schedule."""
    run(
        """
theirs, mine = new_stream(), new_stream()
given = array(theirs)
fill(given.memory, 1, 6, theirs)
call("cuStreamBeginCapture_v2", mine, 1)
try:
    with libcai.use(given, stream=mine):
        raise AssertionError
except libcai.CudaError as error:
    assert error.status == -12, error
graph = c_void_p()
call("cuStreamEndCapture", mine, byref(graph))  # unharmed
"""
    )


def test_locate(simulated):
    simulated(
        """
memory = new_memory(4096)
given = producer(data=(memory.value + 8, False))
place = libcai.asarray(given).locate()
assert place.device == (libcai.DeviceType.CUDA, 0), place
assert place.context == context.value, place
assert place.device_pointer == memory.value + 8
assert (place.base, place.size) == (memory.value, 4096)
assert not place.managed and not place.host_accessible
try:
    libcai.asarray(producer(data=(memory.value + 4090, False))).locate()
except libcai.CudaError as error:
    assert error.status == -14, error
else:
    raise AssertionError
try:
    libcai.asarray(producer()).locate()
except libcai.CudaError as error:
    assert error.status == -13, error
else:
    raise AssertionError
"""
    )


def test_threads(simulated):
    """The GIL is let go around the driver: eight threads use arrays at once."""
    simulated(
        """
from threading import Thread
theirs = new_stream()
given = [array(theirs) for _ in range(4)]
failures = []
def work():
    try:
        call("cuCtxSetCurrent", context)
        mine = new_stream()
        for _ in range(50):
            with libcai.use(*given, stream=mine):
                pass
    except BaseException as error:
        failures.append(error)
threads = [Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failures, failures
"""
    )


def test_no_driver_is_an_error_of_its_own():
    """Without SIMCUDA=1 the stub driver fails: an array on a stream cannot be ordered."""
    code = """
import sys
sys.path.insert(0, sys.argv[1])
from helpers import producer
import libcai
try:
    with libcai.use(producer(stream=7), stream=9):
        pass
except libcai.CudaError as error:
    print(error.status)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=environment(),
    )
    assert done.stdout == "-10\n", done.stderr


def test_interface_is_left_alone():
    given = producer()
    with libcai.use(given, stream=-1):
        pass
    assert given.__cuda_array_interface__ == interface()
