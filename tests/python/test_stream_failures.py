# SPDX-License-Identifier: BSD-3-Clause
"""What work on a libcai.Stream raises, and who is told of it."""

import gc
import time
import weakref

import numpy
import pytest
from helpers import Gate, eventually, python
from simulation import run

import libcai
from libcai import Stream


@pytest.fixture
def stream():
    return Stream("cpu")


class Object:
    """Can be weakly referred to."""


class MyError(Exception):
    pass


def ask_until_idle(stream):
    while stream.busy:
        pass


def enqueue_for_ever(stream):
    while True:  # work queued after the failure, and before it is returned, is done
        stream.enqueue(lambda: None)


def enter_and_leave(stream):
    with stream:
        pass


@pytest.mark.parametrize(
    "hear", [Stream.synchronize, ask_until_idle, enqueue_for_ever, enter_and_leave]
)
def test_what_work_raises_is_raised_again_once(stream, hear):
    done = []

    def fail():
        raise MyError("of the work")

    gate = Gate(stream)
    stream.enqueue(fail)
    stream.enqueue(lambda: done.append(1))
    gate.event.set()
    with pytest.raises(MyError, match="of the work") as caught:
        hear(stream)
    assert "fail" in [entry.name for entry in caught.traceback]
    stream.synchronize()  # it was raised once
    assert not stream.busy
    assert done == []
    stream.enqueue(lambda: done.append(3))
    stream.synchronize()
    assert done == [3]


@pytest.mark.parametrize(
    "failure",
    [
        MemoryError("m"),
        ValueError("v"),
        TypeError("t"),
        NotImplementedError("n"),
        KeyboardInterrupt(),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_any_exception_comes_back_as_it_is(stream, failure):
    def fail():
        raise failure

    stream.enqueue(fail)
    with pytest.raises(type(failure)) as caught:
        stream.synchronize()
    assert caught.value is failure


def test_many_exceptions_that_wait_to_be_raised():
    def failing(number):
        def fail():
            raise MyError(number % 7)  # some have the same text

        return fail

    streams = [Stream("cpu", mode="async") for _ in range(40)]
    for number, each in enumerate(streams):
        each.enqueue(failing(number))
    for number, each in enumerate(streams):
        with pytest.raises(MyError) as caught:
            each.synchronize()
        assert caught.value.args == (number % 7,)


def failed_stream(exception, *, kept=None):
    """A stream whose work has failed, which nobody has heard. `kept` is a local variable of it."""

    def fail(kept=kept):
        raise exception

    stream = Stream("cpu")
    stream.enqueue(fail)
    await_failure(stream)
    return stream


def await_failure(stream):
    """Does not hear of it."""
    last = Object()
    gone = weakref.ref(last)
    stream.attach(last)
    del last
    assert eventually(lambda: gone() is None)


def raised_by(stream):
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        stream.synchronize()
    stream.synchronize()  # it was raised once
    return caught.value


def test_exceptions_of_one_text_are_raised_by_their_own_streams():
    failures = [MyError("step failed") for _ in range(4)]
    streams = [failed_stream(failure) for failure in failures]
    for stream, failure in reversed(list(zip(streams, failures, strict=True))):
        assert raised_by(stream) is failure


def test_exceptions_whose_texts_contain_others():
    one, twelve, mute = ValueError("bad row 1"), ValueError("bad row 12"), MyError("")
    streams = [failed_stream(failure) for failure in (one, twelve, mute)]
    assert raised_by(streams[1]) is twelve
    assert raised_by(streams[0]) is one
    assert raised_by(streams[2]) is mute


def test_the_exception_of_a_released_stream_is_not_raised_by_another():
    failed_stream(MyError("step failed"))
    failure = MyError("step failed")
    assert raised_by(failed_stream(failure)) is failure


def test_an_unheard_exception_is_not_raised_by_a_call():
    class host(Exception):
        pass

    stream = failed_stream(host())
    with pytest.raises(MemoryError, match="host"):
        libcai.zeros(1 << 45)
    assert isinstance(raised_by(stream), host)


def test_an_exception_with_a_nul():
    failure = ValueError("bad name a\0b")
    assert raised_by(failed_stream(failure)) is failure


def test_a_stream_keeps_its_exception_with_its_frames():
    kept = Object()
    gone = weakref.ref(kept)
    stream = failed_stream(MyError("e"), kept=kept)
    del kept
    failure = raised_by(stream)
    traceback = failure.__traceback__
    while traceback.tb_next:
        traceback = traceback.tb_next
    assert traceback.tb_frame.f_locals["kept"] is gone()
    del failure, traceback
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("hook", [None, lambda failure: None])
def test_released_streams_keep_no_frames_and_few_exceptions(hook):
    frames, failures = [], []

    def add():
        kept, failure = Object(), MyError("unheard")
        frames.append(weakref.ref(kept))
        failures.append(weakref.ref(failure))
        stream = Stream("cpu")
        gate = Gate(stream)

        def fail(kept=kept):
            raise failure

        stream.enqueue(fail)
        if len(failures) % 2:  # it fails before the stream goes, or after
            gate.event.set()
            await_failure(stream)
        del stream
        gate.event.set()

    def are_gone(references, most=0):
        gc.collect()
        libcai.drain()
        return sum(each() is not None for each in references) <= most

    libcai.on_failure(hook)
    try:
        for _ in range(60):
            add()
        assert eventually(lambda: are_gone(frames))
        assert eventually(lambda: are_gone(failures, 16 if hook is None else 0))
    finally:
        libcai.on_failure(None)


def test_memory_raises_what_work_on_a_released_stream_has_raised():
    failure = MyError("of the work")
    stream = Stream("cpu")
    array = libcai.zeros(4, stream=stream)
    gate = Gate(stream)

    def fail():
        raise failure

    stream.enqueue(fail)
    libcai.fill(array, 1, stream=stream)
    del stream
    gate.event.set()
    with pytest.raises(MyError) as caught:
        array.item(0)
    assert caught.value is failure


def test_an_exception_that_no_call_raises(stream):
    heard = []
    libcai.on_failure(heard.append)
    try:
        other = Stream("cpu", mode="async")
        other.enqueue(lambda: {}["missing"])
        del other
        while not heard:
            stream.synchronize()
        assert isinstance(heard[0], KeyError)
    finally:
        libcai.on_failure(None)


def test_an_exception_whose_text_fails(stream):
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    def fail():
        raise Mute

    stream.enqueue(fail)
    with pytest.raises(Mute):
        stream.synchronize()


class Boom(Exception):
    pass


def fail_slowly():
    time.sleep(0.0001)
    raise Boom("x")


# NumPy ignores the failure of a buffer, and goes on to the next protocol.
@pytest.mark.parametrize(
    "read",
    [
        memoryview,
        numpy.asarray,
        lambda array: numpy.asarray(array[1:]),
        lambda array: array.__array_interface__,
        libcai.Array.to_interface,
        numpy.from_dlpack,
        lambda array: memoryview(libcai.Memory.of(array)[0]),
        lambda array: numpy.asarray(libcai.Memory.of(array)[0]),
    ],
)
def test_readers_raise_the_exception_that_dropped_work(read):
    array = libcai.zeros(3, device="cpu")
    for first_work in range(100):
        stream = Stream("cpu", mode="async")
        if first_work % 2:
            libcai.fill(array, 1, stream=stream)
        stream.enqueue(fail_slowly)
        try:
            libcai.fill(array, 2, stream=stream)  # is dropped
        except Boom:
            continue
        with pytest.raises(Boom):
            read(array)
        stream.synchronize()
        assert read(array) is not None


def test_a_buffer_that_failed_once(stream):
    memory = libcai.Memory(3, device="cpu")
    for array in memory, memory.array(3, "|u1"):
        libcai.fill(memory.array(3, "|u1"), 1)
        gate = Gate(stream)
        stream.enqueue(fail_slowly)
        libcai.fill(memory.array(3, "|u1"), 2, stream=stream)  # is dropped
        gate.event.set()
        with pytest.raises(Boom):
            memoryview(array)
        assert bytes(memoryview(array)) == b"\1\1\1"
        assert bytes(numpy.asarray(array)) == b"\1\1\1"


def test_what_numpy_says_of_memory_without_a_buffer():
    memory = libcai.Memory(3, device="cpu")
    memory.free()
    with pytest.raises(libcai.BufferError, match="the memory was freed"):
        numpy.asarray(memory)


def test_a_failure_of_later_work_is_not_that_of_earlier_work(stream):
    array, copy = libcai.zeros(3, "|u1", device="cpu"), libcai.zeros(3, "|u1", device="cpu")
    for value in range(1, 50):
        other = Stream("cpu", mode="async")
        libcai.fill(array, value, stream=stream)
        stream.enqueue(fail_slowly)
        libcai.copy(array, copy, stream=other)
        if value % 2:
            time.sleep(0.001)
        other.synchronize()
        assert copy.item(0) == array.item(0) == value
        with pytest.raises(Boom):
            stream.synchronize()


def test_an_exception_with_a_long_text(stream):
    def fail():
        raise ValueError("ä" * 1000)

    stream.enqueue(fail)
    with pytest.raises(ValueError, match="ä" * 1000):
        stream.synchronize()


@pytest.mark.parametrize("device", ["cpu", "gpu:0"])
def test_who_is_told_of_a_failure(device):
    """As Stream's docstring and docs/howto/python.rst have it."""
    run(
        f"""
import threading, time, weakref
class Object: pass
s, other = libcai.Stream({device!r}), libcai.Stream({device!r})
array = libcai.zeros(4, "<i4", device={device!r}, stream=s)
event = libcai.Event({device!r})
def block():
    with s:
        pass
asked = {{
    "enqueue": lambda: s.enqueue(print), "busy": lambda: s.busy, "synchronize": s.synchronize,
    "follow": lambda: s.follow(other), "followed": lambda: other.follow(s),
    "event": lambda: event.wait(s), "block": block}}
work = {{
    "record": lambda: s.record(event), "fill": lambda: libcai.fill(array, 1, stream=s),
    "copy": lambda: libcai.copy(array, stream=s), "item": lambda: array.item(0),
    "wait": array.synchronize, "eval": array.eval}}
nobody = {{"attach": lambda: s.attach([]), "memory": lambda: libcai.Memory(4, stream=s)}}
def is_told(function):
    libcai.fill(array, 1, stream=s)
    may_go = threading.Event()
    s.enqueue(lambda: may_go.wait() and 1 / 0)
    if s.value == 0:
        libcai.fill(array, 2, stream=s)  # dropped, of which the array's owner knows
    last = Object()
    gone = weakref.ref(last)
    s.attach(last)
    del last
    may_go.set()
    if s.value:
        call("cuStreamSynchronize", c_void_p(s.value))
    while s.value == 0 and gone() is not None:
        time.sleep(0.001)
    told = False
    try:
        function()
    except ZeroDivisionError:
        told = True
    for left in (s, other):
        try:
            left.synchronize()
        except ZeroDivisionError:
            pass
    return told
for name, function in asked.items():
    assert is_told(function), name
for name, function in work.items():
    assert is_told(function) == (s.value == 0), name
for name, function in nobody.items():
    assert not is_told(function), name
"""
    )


@pytest.mark.parametrize("hears", [False, True])
def test_a_failure_that_nobody_has_asked_for_is_told_at_exit(hears):
    told = python(
        """
import sys
import libcai

def hear(failure):
    print("told", repr(failure))

if sys.argv[1] == "True":
    libcai.on_failure(hear)
else:
    sys.unraisablehook = lambda args: hear(args.exc_value)
stream = libcai.Stream("cpu")
stream.enqueue(lambda: 1 / 0)
fine = libcai.Stream("cpu")
fine.enqueue(lambda: None)
""",
        str(hears),
    )
    assert told.count("told") == 1
    assert "division by zero" in told
