# SPDX-License-Identifier: BSD-3-Clause
"""libcai.Stream and libcai.Event: on the CPU with no driver, and on simcuda."""

import gc
import itertools
import pickle
import subprocess
import sys
import threading
import time
import weakref

import pytest
from helpers import LIMIT, Gate, eventually, python, run_threads
from simulation import run

import libcai
from libcai import Event, Stream

MODES = ["default", "sync", "async"]


@pytest.fixture
def stream():
    return Stream("cpu")


class Object:
    """Can be weakly referred to."""


# ---- On the CPU --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_what_is_known_of_one(mode):
    stream = Stream("cpu", mode)
    assert stream.device == libcai.Device("cpu")
    assert stream.mode == mode
    assert stream.value == stream.priority == 0
    assert stream.capture is stream.capture_id is None
    assert not stream.wrapped
    assert not stream.busy
    assert not hasattr(stream, "__cuda_stream__")
    assert f"mode={mode}" in repr(stream)
    assert stream.thread_limit >= 1
    stream.thread_limit = 3
    assert stream.thread_limit == 3
    with pytest.raises(libcai.UseError):
        stream.thread_limit = 0
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(stream)


def test_arguments_that_are_refused(stream):
    with pytest.raises(libcai.UseError, match="mode is 'ASYNC', and none of 'default', 'sync'"):
        Stream("cpu", "ASYNC")
    with pytest.raises(libcai.UseError):
        Stream("cpu", "async", 1)
    with pytest.raises(libcai.UseError, match="out of range"):
        Stream("cpu", priority=1 << 40)
    with pytest.raises(TypeError, match=r"^priority is 0\.5, and an integer is required"):
        Stream("cpu", priority=0.5)
    with pytest.raises(TypeError, match=r"^thread_limit is '4', and an integer is required"):
        stream.thread_limit = "4"
    with pytest.raises(TypeError, match="cannot be made twice"):
        stream.__init__("cpu")
    with pytest.raises(TypeError, match=r"^function is 5, which cannot be called"):
        stream.enqueue(5)
    with pytest.raises(TypeError, match="a stream is required"):
        stream.follow(None)
    with pytest.raises(TypeError, match=r"libcai\.Event is required"):
        stream.record(5)
    with pytest.raises(libcai.InterfaceError):
        Stream.wrap(0, "cpu")
    with pytest.raises(libcai.UseError, match="no order"):
        Stream.wrap(-1)
    with pytest.raises(libcai.CudaError):
        Stream.wrap(1, "cpu")
    empty = Stream.__new__(Stream)
    for use in (
        empty.synchronize,
        lambda: empty.busy,
        lambda: empty.id,
        lambda: empty.enqueue(print),
    ):
        with pytest.raises(libcai.UseError):
            use()
    assert "NULL" in repr(empty)


def test_streams_compare_by_what_they_are(stream):
    other = Stream("cpu")
    assert stream == stream
    assert stream != other
    assert stream != 5
    stream.set_current()
    try:
        again = Stream.current("cpu")
        assert again is not stream
        assert again == stream
        assert hash(again) == hash(stream)
        assert len({stream, again, other}) == 2
    finally:
        Stream("cpu", "default").set_current()


def test_first_in_first_out(stream):
    done = []
    for i in range(100):
        stream.enqueue(lambda i=i: done.append((i, threading.get_ident())))
    stream.synchronize()
    assert [i for i, _ in done] == list(range(100))
    (thread,) = {thread for _, thread in done}
    assert thread != threading.get_ident()


@pytest.mark.parametrize("mode", ["default", "sync"])
def test_at_once(mode):
    stream, done = Stream("cpu", mode), []
    stream.enqueue(lambda: done.append(threading.get_ident()))
    assert done == [threading.get_ident()]
    with pytest.raises(ZeroDivisionError):
        stream.enqueue(lambda: 1 / 0)
    stream.enqueue(lambda: done.append(2))
    assert done[1] == 2


def test_the_gil_is_let_go_while_waiting(stream):
    gate = Gate(stream)
    assert stream.busy
    threading.Timer(0.05, gate.event.set).start()
    stream.synchronize()
    assert not stream.busy


def test_work_on_its_own_stream(stream):
    caught = []

    def work():
        stream.enqueue(lambda: caught.append("later"))
        try:
            stream.synchronize()
        except libcai.StateError as error:
            caught.append(error)

    stream.enqueue(work)
    stream.synchronize()
    stream.synchronize()
    assert isinstance(caught[0], libcai.StateError)
    assert caught[1] == "later"


def test_the_last_reference_goes_within_its_own_work():
    done = threading.Event()
    holder = [Stream("cpu")]
    gate = Gate(holder[0])
    holder[0].enqueue(lambda: (holder.clear(), done.set()))
    gate.event.set()
    assert done.wait(10)


def test_a_stream_ends_with_work_queued():
    done = threading.Event()
    stream = Stream("cpu")
    gate = Gate(stream)
    stream.enqueue(done.set)
    del stream
    assert not done.is_set()
    gate.event.set()
    assert done.wait(10)


def test_work_is_let_go(stream):
    for function in (lambda: None, lambda: 1 / 0, lambda: None):
        kept = Object()
        reference = weakref.ref(kept)
        stream.enqueue(lambda kept=kept, function=function: function())
        del kept, function
        try:
            stream.synchronize()
        except ZeroDivisionError as error:
            error.__traceback__ = None
        assert until_gone(reference)


def until_gone(reference):
    """Whether what a thread without the GIL releases is gone at last."""

    def gone():
        gc.collect()
        return reference() is None

    return eventually(gone)


def test_cycles_through_work_and_streams():
    """A function that refers to its stream is released when it is done."""
    holder = Object()
    holder.stream = Stream("cpu")
    references = weakref.ref(holder), weakref.ref(holder.stream)
    holder.stream.enqueue(lambda: holder.stream.busy)
    holder.stream.synchronize()
    holder = None
    assert all(until_gone(reference) for reference in references)


def test_attach(stream):
    kept = Object()
    reference = weakref.ref(kept)
    gate = Gate(stream)
    stream.attach(kept)
    del kept
    gc.collect()
    assert reference() is not None
    gate.event.set()
    stream.synchronize()
    assert until_gone(reference)


def test_follow(stream):
    other, done = Stream("cpu"), []
    gate = Gate(other)
    other.enqueue(lambda: done.append("other"))
    stream.follow(other)
    stream.enqueue(lambda: done.append("this"))
    time.sleep(0.02)
    assert done == []
    gate.event.set()
    stream.synchronize()
    assert done == ["other", "this"]


def test_many_threads(stream):
    counts = []

    def work():
        for i in range(200):
            stream.enqueue(lambda: counts.append(1))
            if i % 50 == 0:
                stream.synchronize()

    run_threads(*[work] * 8)
    stream.synchronize()
    assert len(counts) == 1600


# ---- The current stream ------------------------------------------------------------------------


def test_the_current_stream_is_the_threads(stream):
    before = Stream.current("cpu")
    assert before.mode == "default"
    assert Stream.current("cpu") == before
    with stream as entered:
        assert entered is stream
        assert Stream.current("cpu") == stream
        run_threads(lambda: check(Stream.current("cpu") != stream))
    assert Stream.current("cpu") == before


def check(condition):
    assert condition


def test_a_block_waits_at_its_end(stream):
    done, may_go = [], threading.Event()
    with stream:
        stream.enqueue(lambda: (may_go.wait(), time.sleep(0.02), done.append(1)))
        assert done == []
        may_go.set()
    assert done == [1]


def test_blocks_nest(stream):
    other = Stream("cpu")
    with stream, other, stream:
        assert Stream.current("cpu") == stream
    stream.__enter__()
    stream.__exit__(None, None, None)
    with pytest.raises(libcai.StateError, match="has not entered"):
        stream.__exit__(None, None, None)


def within(stream):
    with stream:
        yield


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_blocks_of_generators_end_in_any_order(order):
    """The stream of the latest block that is still open is the current one."""
    before = Stream.current("cpu")
    streams = [Stream("cpu") for _ in order]
    blocks = [within(stream) for stream in streams]
    for block in blocks:
        next(block)
    for number, place in enumerate(order):
        done = []
        streams[place].enqueue(lambda done=done: (time.sleep(0.01), done.append(1)))
        blocks[place].close()
        assert done == [1]
        left = [streams[i] for i in range(3) if i not in order[: number + 1]]
        assert Stream.current("cpu") == (left[-1] if left else before)
    with pytest.raises(libcai.StateError, match="has not entered"):
        streams[0].__exit__(None, None, None)


def test_what_a_block_out_of_turn_failed_with(stream):
    other, before = Stream("cpu"), Stream.current("cpu")
    stream.__enter__()
    other.__enter__()
    stream.enqueue(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        stream.__exit__(None, None, None)
    assert Stream.current("cpu") == other
    other.__exit__(None, None, None)
    assert Stream.current("cpu") == before


def test_a_block_is_left_by_who_entered_it(stream):
    stream.__enter__()
    with pytest.raises(libcai.StateError):
        run_threads(lambda: stream.__exit__(None, None, None))
    stream.__exit__(None, None, None)


def test_the_exception_of_a_block_goes_on(stream):
    def block():
        with stream:
            stream.enqueue(lambda: 1 / 0)
            raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        block()
    assert any("division by zero" in note for note in caught.value.__notes__)
    assert Stream.current("cpu") != stream
    stream.synchronize()


# ---- Events ------------------------------------------------------------------------------------


def test_events(stream):
    event = Event("cpu")
    assert event.value == 0
    assert not event.busy
    event.synchronize()
    event.wait(stream)  # it was never recorded
    gate = Gate(stream)
    assert stream.record(event) is event
    assert event.busy
    other, done = Stream("cpu"), []
    event.wait(other)
    other.enqueue(lambda: done.append(1))
    time.sleep(0.02)
    assert done == []
    gate.event.set()
    event.synchronize()
    assert not event.busy
    other.synchronize()
    assert done == [1]
    stream.record().synchronize()
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(event)


def test_elapsed(stream):
    start, end, plain = Event("cpu", timing=True), Event("cpu", timing=True), Event("cpu")
    with pytest.raises(libcai.StateError):
        start.elapsed(end)
    before = time.monotonic()
    start.record(stream)
    stream.enqueue(lambda: time.sleep(0.02))
    end.record(stream)
    plain.record(stream)
    stream.synchronize()
    assert 15 < start.elapsed(end) < 1000 * (time.monotonic() - before) + 1
    assert end.elapsed(start) == pytest.approx(-start.elapsed(end))
    with pytest.raises(libcai.UseError):
        start.elapsed(plain)
    with pytest.raises(TypeError):
        start.elapsed(5)


# ---- The end of the process --------------------------------------------------------------------


def test_exit_waits_for_queued_work():
    assert (
        python(
            """
import time, libcai
stream = libcai.Stream("cpu")
for i in range(3):
    stream.enqueue(lambda i=i: (time.sleep(0.05), print(i, flush=True)))
"""
        )
        == "0\n1\n2\n"
    )


def test_exit_with_all_that_there_is():
    python(
        """
import libcai, threading
stream = libcai.Stream("cpu")
memory = libcai.Memory(64, device="cpu")
array = libcai.zeros(3, stream=stream)
stream.attach(object())
event = stream.record()
stream.__enter__()
stream.enqueue(lambda: 1 / 0)  # nobody is told of it
libcai.Device("cpu").__enter__()
cycle = [stream, memory, array, event]
cycle.append(cycle)
other = libcai.Stream("cpu")
threading.Thread(target=lambda: other.enqueue(lambda: None), daemon=True).start()
"""
    )


CHILDREN = r"""
import multiprocessing, os, sys, time
import libcai

def child():
    stream = libcai.Stream("cpu")
    stream.enqueue(lambda: (time.sleep(0.1), os.write(1, b"work\n")))

def failing():
    failing.stream = libcai.Stream("cpu")
    failing.stream.enqueue(lambda: 1 / 0)
    sys.unraisablehook = lambda args: os.write(1, repr(args.exc_value).encode() + b"\n")

if __name__ == "__main__":
    libcai.Stream("cpu")  # so that a fork has all that is loaded
    context = multiprocessing.get_context(sys.argv[1])
    for target in (child, failing):
        process = context.Process(target=target)
        process.start()
        process.join()
        assert process.exitcode == 0
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_the_end_of_a_child_waits_for_queued_work(method, tmp_path):
    """A child of multiprocessing may end without atexit."""
    program = tmp_path / "children.py"
    program.write_text(CHILDREN)
    done = subprocess.run(
        [sys.executable, program, method], capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "work\nZeroDivisionError('division by zero')\n"


# ---- On simcuda --------------------------------------------------------------------------------


def test_gpu_streams():
    run(
        """
from libcai import Device, Event, Stream
s = Stream()
assert s.device == Device("gpu:0") and s.mode == "async" and s.value > 2
assert s.__cuda_stream__() == (0, s.value)
assert Stream("gpu", "default").value == 1 and Stream("gpu", "sync").mode == "sync"
low, high = c_int(), c_int()
call("cuCtxGetStreamPriorityRange", byref(low), byref(high))
assert Stream(priority=high.value).priority == high.value
assert Stream("gpu:1").device == Device("gpu:1")
assert Stream.current() == Stream("gpu", "default")
refused(libcai.CudaError, "", Stream, "gpu:7")

theirs = new_stream()
class Theirs:
    handle = theirs.value
held = Theirs()
import weakref
gone = weakref.ref(held)
w = Stream.wrap(held)
assert w.wrapped and w.value == theirs.value and w.device == Device("gpu:0")
assert w == Stream.wrap(theirs.value) and Stream.wrap(w) is w and hash(w) == hash(Stream.wrap(held))
assert Stream.wrap(1).value == 1 and Stream.wrap(2).value == 2
del held
assert gone() is not None
del w
assert gone() is None
refused(libcai.CudaError, "", Stream.wrap, theirs.value, "gpu:1")
refused(libcai.InterfaceError, "ambiguous", Stream.wrap, 0)
refused(libcai.InterfaceTypeError, "", Stream.wrap, "x")
e = Event("gpu:1")
assert e.value
refused(libcai.CudaError, "", e.record, s)
refused(libcai.CudaError, "", e.record, theirs.value)  # of gpu:0
e.record(1)  # of its own device, whatever is current
e.synchronize()
e.wait(s)
"""
    )


def test_libcai_streams_are_streams_for_use(simulated):
    assert (
        simulated(
            """
s, t = libcai.Stream(), libcai.Stream()
given = array(None, shape=(6,), typestr="<i4")
with libcai.use(given, stream=s) as (x,):
    fill(given.memory, 5, 6, c_void_p(s.value))
with libcai.use(x, stream=t):
    out = read(given.memory, 6, c_void_p(t.value))
t.synchronize()
print(list(out))
"""
        )
        == f"{[5] * 6}\n"
    )


ORDER = """
s, t = libcai.Stream(), libcai.Stream()
memory = new_memory()
fill(memory, 5, 6, c_void_p(s.value))
WAIT
out = read(memory, 6, c_void_p(t.value))
t.synchronize()
print(list(out))
"""


@pytest.mark.parametrize(
    "wait",
    [
        "t.follow(s)",
        "t.follow(s.value)",
        "s.record().wait(t)",
        "s.synchronize()",
        "s.record().synchronize()",
        "libcai.Device('gpu').synchronize()",
        "c = libcai.Stream('cpu'); c.follow(s); t.follow(c)",
    ],
)
def test_order(simulated, wait):
    assert simulated(ORDER.replace("WAIT", wait)) == f"{[5] * 6}\n"


def test_no_order(simulated):
    simulated(ORDER.replace("WAIT", ""), races=True)


def test_functions_on_a_gpu_stream(simulated):
    assert (
        simulated(
            """
import threading
s = libcai.Stream()
done = []
for i in range(5):
    s.enqueue(lambda i=i: done.append((i, threading.get_ident())))
s.synchronize()
assert [i for i, _ in done] == [0, 1, 2, 3, 4]
s.enqueue(lambda: {}["missing"])
try:
    s.synchronize()
except KeyError as error:
    print(error)
s.synchronize()
s.enqueue(lambda: done.clear())
s.synchronize()
assert done == []
"""
        )
        == "'missing'\n"
    )


def test_attached_objects_on_a_gpu_stream(simulated):
    simulated(
        """
import weakref
class Object: pass
s = libcai.Stream()
kept, memory = Object(), new_memory()
gone = weakref.ref(kept)
fill(memory, 5, 6, c_void_p(s.value))
s.attach(kept)
del kept
s.synchronize()
libcai.drain(wait=True)
assert gone() is None
"""
    )


def test_captures():
    run(
        """
s = libcai.Stream()
call("cuStreamBeginCapture_v2", c_void_p(s.value), 2)
assert s.capture == "active" and s.capture_id
refused(libcai.CudaError, "capture", s.enqueue, lambda: None)
refused(libcai.CudaError, "capture", s.synchronize)
refused(libcai.CudaError, "capture", lambda: s.busy)
assert s.capture == "active"
graph = c_void_p()
call("cuStreamEndCapture", c_void_p(s.value), byref(graph))
assert s.capture is None
"""
    )


def test_timing_on_a_gpu(simulated):
    simulated(
        """
s = libcai.Stream()
start, end = libcai.Event(timing=True), libcai.Event(timing=True)
start.record(s)
end.record(s)
end.synchronize()
assert not end.busy and start.elapsed(end) >= 0
"""
    )


def test_exit_does_not_wait_for_a_gpu():
    """A function that nobody has waited for may never be called: with a driver that runs nothing
    before a call waits, waiting at exit would last forever."""
    run(
        """
s = libcai.Stream()
s.enqueue(lambda: None)
s.attach(object())
memory = libcai.Memory(64, stream=s)
array = libcai.zeros(4, device="gpu", stream=s)
""",
        "lazy",
        judged=False,
    )
