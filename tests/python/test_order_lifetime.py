# SPDX-License-Identifier: BSD-3-Clause
"""Who keeps an array while it is in use, and what ends it, on simcuda."""

import pytest
from simulation import LAUNCH, PENDING, WATCHED, run


def test_the_last_release_waits_for_uses(simulated):
    simulated(
        WATCHED
        + """
for make in (lambda x: x, lambda x: x[1:], lambda x: x.publish(t), lambda x: x[1:].mask or x[2:]):
    for stream in (None, t.value):
        x = make(used(libcai.asarray(watched(stream=stream))))
        del x
        assert not gone  # nobody has asked the driver
        wait(s, t)
        assert libcai.drain() == 0
        assert gone == [1]
        gone.clear()
x = libcai.asarray(watched())  # never used: at once
del x
assert gone == [1]
"""
    )


def test_a_use_that_nobody_ends(simulated):
    """The block was left on a way on which __exit__ is not called."""
    simulated(
        WATCHED
        + """
for stream in (None, t.value):
    x = libcai.asarray(watched(stream=stream))
    using = libcai.use(x, stream=s)
    using.__enter__()
    fill(memory, 6, 6, s)
    del using
    with libcai.use(x, stream=t):
        if stream is None:
            fill(memory, 7, 6, t)
    del x
    assert not gone
    wait(s, t)
    assert libcai.drain() == 0
    assert gone == [1]
    gone.clear()
# In a cycle with the array, the collector ends it.
given = watched()
x = libcai.asarray(given)
x.used_on(s)
wait(s)
using = libcai.use(x, stream=s)
using.__enter__()
given.using, given.x = using, x
del given, x, using
gc.collect()
wait(s)
for _ in range(3): libcai.drain(wait=True); gc.collect()
assert libcai.drain() == 0 and gone == [1]
"""
    )


def test_a_use_that_nobody_ends_is_ended(simulated):
    simulated(
        WATCHED
        + """
x = libcai.asarray(watched(stream=t.value))
using = libcai.use(x, stream=s)
using.__enter__()
fill(memory, 6, 6, s)
del using
fill(memory, 7, 6, t)  # the producer goes on where it said that it would
assert list(read(memory, 6, t)) == [7] * 6
"""
    )


SUSPENDED = """
import asyncio, contextlib
def generate(x, alone):
    with libcai.use(x, stream=s):
        fill(memory, 6, 6, s)
        alone.append(1)
        yield
        fill(memory, 6, 6, s)  # nobody gets here
def by_generator(x, done):
    box = [generate(x, done)]
    next(box[0])
    box.append(box)
async def wait_for_ever(x, done):
    with libcai.use(x, stream=s):
        fill(memory, 6, 6, s)
        done.append(1)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            if goes_on: fill(memory, 6, 6, s)  # its use has been collected, and yet is not over
async def start(x, done):
    asyncio.create_task(wait_for_ever(x, done))
    del x
    for _ in range(3): await asyncio.sleep(0)
    gc.collect()
def by_task(x, done):
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *context: None)
    loop.run_until_complete(start(x, done))
    loop.close()
class Worker:
    def __init__(self, x, done):
        self.stack, self.me = contextlib.ExitStack(), self
        self.stack.enter_context(libcai.use(x, stream=s))
        fill(memory, 6, 6, s)
        done.append(1)
    def __del__(self):
        if goes_on: fill(memory, 6, 6, s)
        self.stack.close()
"""


def test_the_collector_ends_what_is_suspended(simulated):
    """It finalizes a use before the generator or the object around it, or after that, and after the
    exporter, who may free the memory."""
    simulated(
        WATCHED
        + SUSPENDED
        + """
import sys
raised = []
sys.unraisablehook = raised.append
class Freeing(Watched):
    def __del__(self):
        gone.append(cuda.cuStreamQuery(s))
for suspend in (by_generator, by_task, Worker):
    done = []
    goes_on = True
    x = watched(stream=t.value)
    suspend(x, done)
    gc.collect()
    assert done and not raised, raised
    fill(memory, 7, 6, t)
    assert list(read(memory, 6, t)) == [7] * 6, suspend
    # Nobody else has the exporter.
    del x
    wait(s, t)
    libcai.drain(); gc.collect(); libcai.drain()
    gone.clear()
    goes_on = False
    own = interface(data=(memory.value, False), shape=(6,), typestr="<i4", stream=None)
    suspend(Freeing(own), done)
    for _ in range(3): gc.collect(); libcai.drain()
    assert gone == [0] and not raised, (gone, raised)  # the work was complete
    gone.clear()
"""
    )


FAILS_TO_END = """
cuda.simcuda_fail.argtypes = c_char_p, c_uint64, c_int32
x = libcai.asarray(watched(stream=t.value))
try:
    with libcai.use(x, stream=s):
        fill(memory, 5, 6, s)
        cuda.simcuda_fail(b"cuEventRecord", 1, 999)
        FAIL
    raise AssertionError
except libcai.CudaError as error:
    print(error.native, getattr(error, "__notes__", []))
    failure = error
"""


def test_the_host_waits_where_the_end_fails(simulated):
    out = simulated(
        WATCHED
        + FAILS_TO_END.replace("FAIL", "pass")
        + """
assert calls("cuStreamSynchronize") == 1
fill(memory, 6, 6, t)
del x, failure
wait(t)
assert libcai.drain() == 0 and gone == [1]
"""
    )
    assert out == "999 []\n"


def test_the_owner_keeps_what_the_host_cannot_wait_for(simulated):
    out = simulated(
        WATCHED
        + FAILS_TO_END.replace("FAIL", "cuda.simcuda_fail(b'cuStreamSynchronize', 1, 999)")
        + """
del failure
with libcai.use(x, stream=t):  # waits for the use that was given up
    out = read(memory, 6, t)
del x
assert not gone
wait(s, t)
assert libcai.drain() == 0 and gone == [1]
"""
    )
    assert "could not wait" in out


def test_a_capture_that_begins_within_the_block():
    """Work from before it is not in the graph, and no event tells when it is complete."""
    run(
        WATCHED
        + """
import time
for stream in (None, t.value):
    x = libcai.asarray(watched(stream=stream))
    try:
        with libcai.use(x, stream=s):
            fill(memory, 5, 6, s)
            call("cuStreamBeginCapture_v2", s, 1)
        raise AssertionError
    except libcai.CudaError as error:
        assert error.status == -12 and "is being captured" in str(error), error
        assert "could not wait" in error.__notes__[0]
    graph = c_void_p()
    call("cuStreamEndCapture", s, byref(graph))  # unharmed
    del x
    assert not gone
    call("cuGraphDestroy", graph)
    for _ in range(10):  # the driver releases what the graph held on a thread of its own
        time.sleep(0.005)
        libcai.drain()
    assert not gone, "the memory went before the work"
    wait(s)
    while not gone:
        libcai.drain(wait=True)
    assert gone == [1] and libcai.drain() == 0
    gone.clear()
"""
    )


def test_a_capture_within_the_block_that_has_ended(simulated):
    simulated(
        WATCHED
        + LAUNCH
        + """
x = libcai.asarray(watched())
with libcai.use(x, stream=s):
    fill(memory, 5, 6, s)
    call("cuStreamBeginCapture_v2", s, 1)
    fill(memory, 6, 6, s)
    made = end(s)
    call("cuGraphLaunch", made, s)
with libcai.use(x, stream=t):
    out = read(memory, 6, t)
wait(t)
assert list(out) == [6] * 6
del x
libcai.drain()
assert gone == [1]
"""
    )


def test_the_host_waits_where_the_producer_is_captured(simulated):
    simulated(
        WATCHED
        + LAUNCH
        + """
x = libcai.asarray(watched(stream=t.value))
try:
    with libcai.use(x, stream=s):
        fill(memory, 5, 6, s)
        call("cuStreamBeginCapture_v2", t, 1)
    raise AssertionError
except libcai.CudaError as error:
    assert error.status == -12, error
    assert not hasattr(error, "__notes__")
assert calls("cuStreamSynchronize") == 1
end(t)
fill(memory, 6, 6, t)
"""
    )


def test_a_later_use_ends_it_in_passing(simulated):
    simulated(
        WATCHED
        + """
x = used(libcai.asarray(watched()))
del x
wait(s)
with libcai.use(array(None), stream=t): pass
assert gone == [1]
"""
    )


def test_drain():
    run(
        WATCHED
        + """
for _ in range(3):
    x = used(libcai.asarray(watched()))
del x
assert libcai.drain() + len(gone) == 3
assert libcai.drain(wait=True) == 0
assert gone == [1, 1, 1]
x = used(libcai.asarray(watched()))
del x
cuda.simcuda_fail(b"cuCtxGetCurrent", c_uint64(1), 999)
refused(libcai.CudaError, "999", libcai.drain)
assert libcai.drain(True) == 0
"""
    )


def test_drain_goes_on_with_what_arrays_held():
    run(
        WATCHED
        + """
for _ in range(3):
    held = [used(libcai.asarray(watched()))]
    for _ in range(4):
        outer = producer(data=(memory.value, False))
        outer.held = held.pop()
        held.append(used(libcai.asarray(outer)))
    del outer
    held.clear()
    assert not gone
    assert libcai.drain(wait=True) == 0
    assert gone == [1]
    gone.clear()
"""
    )


def test_drain_counts_what_only_the_collector_has_left(simulated):
    """Whose use is pending in another context, which is no primary one."""
    simulated(
        WATCHED
        + """
other = c_void_p()
call("cuCtxCreate_v2", byref(other), 0, 0)  # and it is current
theirs = new_stream()
x = libcai.asarray(watched())
with libcai.use(x, stream=theirs):
    fill(memory, 5, 6, theirs)
call("cuCtxPopCurrent_v2", byref(other))
gc.collect()
del x
assert libcai.drain(wait=True) == 1 and not gone
call("cuCtxPushCurrent_v2", other)
assert libcai.drain(wait=True) == 0 and gone == [1]
"""
    )


def test_a_use_on_another_thread_ends_what_is_put_off(simulated):
    """The main thread, which runs pending calls, waits for that one."""
    simulated(
        WATCHED
        + """
from threading import Thread
x, y = used(libcai.asarray(watched())), libcai.asarray(array(None))
del x
found = []
def work():
    call("cuCtxSetCurrent", context)
    wait(s)
    with libcai.use(y, stream=t): pass
    found.extend(gone)
thread = Thread(target=work)
thread.start()
thread.join()
assert found == [1]
"""
    )


def test_drain_without_anything():
    import libcai

    assert libcai.drain() == 0
    assert libcai.drain(wait=True) == 0
    with pytest.raises(TypeError):
        libcai.drain(wait=True, more=1)


def test_the_collector_leaves_what_is_in_use(simulated):
    """It would take the producer apart, and with it perhaps the memory."""
    simulated(
        WATCHED
        + """
def tie(make):
    given = watched()
    given.array = make(used(libcai.asarray(given)))
makes = (lambda x: x, lambda x: x[1:], lambda x: x.publish(t), lambda x: x.publish(t)[1:])
for make in makes:
    tie(make)
    for _ in range(3):
        gc.collect()
        assert not gone
    with libcai.use(array(None), stream=t): pass  # may or may not find it complete
    wait(s, t)
    libcai.drain()
    gc.collect()
    libcai.drain()
    gc.collect()
    libcai.drain()
    assert gone == [1], gone
    gone.clear()
# Live arrays that the collector has seen in use are as before.
x = used(libcai.asarray(watched()))
gc.collect()
with libcai.use(x, stream=t):
    out = read(memory, 6, t)
gc.collect()
del x
wait(s, t)
assert libcai.drain() == 0
assert gone == [1] and list(out) == [5] * 6
"""
    )


def test_drain_waits_for_what_the_collector_left():
    run(
        WATCHED
        + """
given = watched()
given.array = used(libcai.asarray(given))
del given
gc.collect()
assert libcai.drain(wait=True) == 0
assert calls("cuEventSynchronize") == 1 and not gone
gc.collect()
libcai.drain()
assert gone == [1]
"""
    )


def test_many_circles_in_use():
    run(
        WATCHED
        + """
def tie():
    given = watched()
    given.array = used(libcai.asarray(given))
for _ in range(50): tie()
gc.collect()
assert not gone
wait(s)
for _ in range(6):  # a few at a time
    with libcai.use(array(None), stream=t): pass
gc.collect()
assert 40 <= len(gone) <= 49, len(gone)
libcai.drain(); gc.collect(); libcai.drain()
assert len(gone) == 50
"""
    )


def test_the_end_comes_without_the_gil(simulated):
    """libcai finds the uses complete inside a call that has let the GIL go, or on a thread of C."""
    simulated(
        WATCHED
        + """
from threading import Thread
from libcai.cffi import ffi, lib
for _ in range(20):
    x = used(libcai.asarray(watched()))
del x
def work():
    call("cuCtxSetCurrent", context)
    assert lib.cai_drain(1, ffi.NULL, ffi.NULL) == 0
thread = Thread(target=work)
thread.start()
thread.join()
libcai.asarray(producer())  # an entry drains what is queued
assert len(gone) == 20
"""
    )


def test_threads_use_and_let_go(simulated):
    simulated(
        WATCHED
        + """
from threading import Thread
failures = []
def work():
    try:
        call("cuCtxSetCurrent", context)
        mine, own = new_stream(), new_memory()
        for _ in range(30):
            x = libcai.asarray(Watched(interface(data=(own.value, False))))
            for view in (x, x[1:]):
                with (
                    libcai.use(common, stream=mine, access="read"),
                    libcai.use(view, stream=mine),
                ):
                    copy(own, memory, 6, mine)
            x.publish_event(mine)
        wait(mine)
    except BaseException as error:
        failures.append(error)
common = libcai.asarray(producer(data=(memory.value, False)))
threads = [Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failures, failures
del common
assert libcai.drain(wait=True) == 0
assert len(gone) == 120
"""
    )


@pytest.mark.parametrize(
    "more", ["del x", "gc.collect()", "pass", "given.x = x; del x, given; gc.collect()"]
)
def test_the_interpreter_ends_with_uses_pending(simulated, more):
    simulated(
        WATCHED
        + f"""
given = watched()
x = used(libcai.asarray(given))
{more}
sys.stdout.flush()
""",
        judged=False,
    )


def test_the_pool_of_blocks_forgets_uses(simulated):
    simulated(
        PENDING
        + """
for _ in range(40):
    y = libcai.asarray(given)
    with libcai.use(y, stream=s): pass
    del y
    libcai.drain(wait=True)
    y = libcai.asarray(given)
    before = calls("cuStreamWaitEvent")
    with libcai.use(y, stream=t, order="begin"): pass
    assert calls("cuStreamWaitEvent") == before
    assert y.__cuda_array_interface__["stream"] is None
"""
    )
