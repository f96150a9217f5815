# SPDX-License-Identifier: BSD-3-Clause
"""The producer's side: what is published, and what dicts say, on simcuda; each script is judged for
races."""

import pytest
from simulation import PENDING, run

# ---- Publishing --------------------------------------------------------------------------------


def test_three_streams_published_as_one(simulated):
    code = """
streams = [new_stream() for _ in range(3)]
target, theirs = new_stream(), new_stream()
given = array(None, shape=(6,), typestr="<i4")
x = libcai.asarray(given)
for at, stream in enumerate(streams):
    fill(c_uint64(given.memory.value + 8 * at), at, 2, stream)
p = x.publish(target, streams=STREAMS)
assert p is not x and p.data == x.data and p.shape == x.shape and p.strides_given is x.strides_given
assert (x.stream_kind, p.stream_kind, p.stream, p.version) == ("none", "stream", target.value, 3)
mapping = p.__cuda_array_interface__
assert mapping["stream"] == target.value and mapping["strides"] is None
with libcai.use(libcai.from_interface(mapping, owner=p), stream=theirs):  # it has only the dict
    out = read(given.memory, 6, theirs)
wait(theirs)
print(list(out))
for stream in streams:
    p.reclaim(stream)
    fill(given.memory, 7, 6, stream)
    wait(stream)
"""
    assert simulated(code.replace("STREAMS", "streams")) == "[0, 0, 1, 1, 2, 2]\n"
    simulated(code.replace("STREAMS", "streams[:2]"), races=True)


def test_a_stream_object_lives_as_long_as_what_is_published():
    run(
        PENDING
        + """
import gc, weakref
from libcai import _library
class Stream:
    def __init__(self): self.handle = new_stream()
stream = Stream()
gone = weakref.ref(stream)
p = x[1:].publish(stream)
p2 = p.publish(stream)[1:]
assert p2.shape == (4,)
del stream, p
gc.collect()
assert gone() is not None
del p2
assert gone() is None
# A published view does not hold it.
stream = Stream()
gone = weakref.ref(stream)
p = x.publish(stream)[1:]
p2, event = p.publish(s.value)[1:], p.publish_event(s.value)
assert (p2.shape, event.shape) == ((4,), (5,))
del stream, p
assert gone() is None
del p2, event
# The last holder lets go without the GIL.
stream = Stream()
gone = weakref.ref(stream)
p = x.publish(stream)
holder, library = c_void_p(p.ptr), CDLL(_library.LIBRARY)
library.cai_array_retain(holder)
del stream, p
assert gone() is not None
library.cai_array_release(holder)
libcai.drain()
assert gone() is None
with libcai.use(x, stream=t): pass
wait(t)
libcai.drain()
del x
assert libcai.drain() == 0
# In a cycle with its array, it is collected.
stream = Stream()
gone = weakref.ref(stream)
stream.array = libcai.asarray(given).publish(stream)
del stream
gc.collect()
assert gone() is None
"""
    )


def test_threads_that_export_one_array(simulated):
    """Each may publish it, and what one of them reads no other may free."""
    simulated(
        PENDING
        + """
from threading import Barrier, Thread
sys.setswitchinterval(1e-6)
arrays = [libcai.asarray(given) for _ in range(200)]
for x in arrays:
    with libcai.use(x, stream=s): pass
barrier = Barrier(4)
failures = []
def work():
    try:
        for x in arrays:
            barrier.wait()
            said = x.__cuda_array_interface__
            assert (said["data"], said["shape"], said["stream"]) == ((memory.value, False), (6,), 1)
    except BaseException as error:
        failures.append(error)
        barrier.abort()
threads = [Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failures, failures
"""
    )


def test_an_event_goes_to_another_thread(simulated):
    code = (
        PENDING
        + """
from threading import Thread
def work():
    global own, event
    call("cuCtxSetCurrent", context)
    fill(memory, 6, 6, c_void_p(2))
    own = x.publish(2)
    event = own.publish_event(2)
thread = Thread(target=work)
thread.start()
thread.join()
assert (event.stream_kind, own.stream) == ("event", 2) and event.stream
refused(libcai.CudaError, ": call Array.publish_event() there", libcai.use(own, stream=s).__enter__)
refused(libcai.BufferError, "call publish_event() there", lambda: own.__cuda_array_interface__)
refused(libcai.BufferError, "publish() it on a", lambda: event.__cuda_array_interface__)
refused(libcai.CudaError, "has stream 2 of thread", x.publish, 2)
with libcai.use(EVENT, stream=s):
    out = read(memory, 6, s)
wait(s)
print(list(out))
assert event.publish(t).__cuda_array_interface__["stream"] == t.value
wait(t)
"""
    )
    assert simulated(code.replace("EVENT", "event")) == f"{[6] * 6}\n"
    assert "[" in simulated(code.replace("EVENT", "given, order='end'"), races=True)


def test_the_thread_of_stream_2(simulated):
    simulated(
        """
from threading import Thread
memory, other = new_memory(), new_memory()
given = Cuda(interface(data=(memory.value, False), stream=2))
masked = Cuda(interface(data=(other.value, False), stream=None,
                        mask=producer(data=(other.value, False), typestr="|b1", stream=2)))
s = new_stream()
arrays = [libcai.asarray(given), libcai.asarray(given)[1:], libcai.asarray(masked)]
for x in arrays:
    with libcai.use(x, stream=s): pass
assert arrays[0].__cuda_array_interface__["stream"] == 2
failures = []
def work():
    try:
        call("cuCtxSetCurrent", context)
        for x in arrays:
            refused(libcai.CudaError, "is that of thread", libcai.use(x, stream=s).__enter__)
        for x in arrays[:2]:
            refused(libcai.BufferError, "another thread", lambda: x.__cuda_array_interface__)
    except BaseException as error:
        failures.append(error)
thread = Thread(target=work)
thread.start()
thread.join()
assert not failures, failures
"""
    )


# ---- Export ------------------------------------------------------------------------------------


def test_an_array_without_a_stream_says_1_after_uses(simulated):
    code = (
        PENDING
        + """
assert x.__cuda_array_interface__["stream"] is None
with libcai.use(x, stream=s):
    fill(memory, 2, 6, s)
mapping = EXPORT
assert x.stream is None
fill(memory, 3, 6, c_void_p(mapping["stream"] or 1))
with libcai.use(x, stream=t):  # and the owner knows of the legacy stream now
    out = read(memory, 6, t)
wait(t)
print(list(out))
"""
    )
    out = simulated(
        code.replace("EXPORT", "x.__cuda_array_interface__; assert mapping['stream'] == 1")
    )
    assert out == f"{[3] * 6}\n"
    simulated(code.replace("EXPORT", "{'stream': None}"), races=True)


@pytest.mark.parametrize("said", ["1", "theirs", "None"])
def test_a_mask_without_a_stream_says_1_after_uses(simulated, said):
    """As an array alone does; and consumers that have it from its exporter come after that."""
    simulated(
        """
theirs, s, t = new_stream(), new_stream(), new_stream()
said = {"1": c_void_p(1), "theirs": theirs, "None": None}["SAID"]
of_mask = array(None, typestr="|b1")
x = libcai.asarray(array(said, typestr="|u1", mask=of_mask))
alone = libcai.asarray(of_mask)
with libcai.use(x, stream=s):
    fill(of_mask.memory, 1, 1, s)
for again in range(2):
    mapping = x.__cuda_array_interface__
    assert mapping["stream"] == (said or c_void_p(1)).value
    mask = mapping["mask"].__cuda_array_interface__
    assert mask["stream"] == 1
    fill(of_mask.memory, 2, 1, c_void_p(1))
with libcai.use(alone, stream=t):
    fill(of_mask.memory, 3, 1, t)
""".replace("SAID", said)
    )


def test_the_memory_of_a_mask_without_a_stream_outlives_what_its_dict_says(simulated):
    simulated(
        """
class Exporter(Cuda):  # frees in the order of its dict's stream; with None, in no order
    def __init__(self, memory, stream, free_stream, **changes):
        super().__init__(interface(data=(memory.value, False), stream=stream, **changes))
        self.memory, self.free_stream = memory, free_stream
    def __del__(self):
        fill(self.memory, 0, 1, self.free_stream)
s, elements, memory = new_stream(), new_memory(), new_memory()
x = libcai.asarray(Exporter(elements, 1, c_void_p(1),
                            mask=Exporter(memory, None, s, typestr="|b1")))
mapping = x.__cuda_array_interface__
mask = mapping["mask"]
assert mapping["stream"] == mask.__cuda_array_interface__["stream"] == 1
fill(memory, 1, 1, c_void_p(1))
del mapping, mask, x
libcai.drain(wait=True)
"""
    )


def test_the_stream_that_is_said_comes_after_kept_uses(simulated):
    simulated(
        """
theirs, s = new_stream(), new_stream()
given = array(theirs, shape=(6,), typestr="<i4")
x = libcai.asarray(given)
assert x.__cuda_array_interface__["stream"] == theirs.value
fill(given.memory, 2, 6, s)
x.used_on(s)
mapping = x.__cuda_array_interface__
assert mapping["stream"] == theirs.value
fill(given.memory, 3, 6, theirs)
"""
    )


def test_the_stream_that_is_said_is_of_the_memorys_context(simulated):
    simulated(
        """
given = array(c_void_p(1), shape=(6,), typestr="<i4")
x = libcai.asarray(given)
s = new_stream()
fill(given.memory, 2, 6, s)
x.used_on(s)
other = c_void_p()
call("cuDevicePrimaryCtxRetain", byref(other), 1)
call("cuCtxPushCurrent_v2", other)
assert x.__cuda_array_interface__["stream"] == 1  # of the context that was current
call("cuCtxPopCurrent_v2", byref(other))
fill(given.memory, 3, 6, c_void_p(1))
"""
    )


def test_those_who_have_the_array_hear_of_a_copy(simulated):
    simulated(
        PENDING
        + """
view = x[:]
fill(memory, 2, 6, s)
p = x.publish(t, streams=[s])
for each in (x, view):  # which nobody had used before
    with libcai.use(each, stream=u):
        fill(memory, 3, 6, u)
"""
    )


def test_empty_and_unstated_arrays(simulated):
    simulated(
        PENDING
        + """
with libcai.use(x, stream=s):
    fill(memory, 2, 6, s)
assert x[:0].__cuda_array_interface__["stream"] is None
old = libcai.from_interface(interface(data=(memory.value, False), version=2, stream=...), owner=x)
fill(memory, 2, 6, s)
old.used_on(s)
assert old.__cuda_array_interface__["stream"] == 1
fill(memory, 3, 6, c_void_p(1))
"""
    )
