# SPDX-License-Identifier: BSD-3-Clause
"""Uses that owners keep, on simcuda; each script is judged for races."""

import pytest
from simulation import LAUNCH, PENDING, run

# ---- Kept uses ---------------------------------------------------------------------------------

TWO_USES = (
    PENDING
    + """
with libcai.use(x, stream=s):
    fill(memory, 5, 6, s)
with libcai.use(x, stream=t, ORDER):
    out = read(memory, 6, t)
wait(t)
print(list(out))
"""
)


def test_a_use_waits_for_another(simulated):
    assert simulated(TWO_USES.replace("ORDER", "order='both'")) == f"{[5] * 6}\n"


def test_another_import_finds_what_the_owner_alone_is_told(simulated):
    code = (
        PENDING
        + """
other = libcai.asarray(given)
fill(memory, 5, 6, s)
x.used_on(s, access="ACCESS")
with libcai.use(other, stream=t):
    fill(memory, 7, 6, t)
out = read(memory, 6, t)
wait(s, t)
print(list(out))
apart, waits = libcai.asarray(array(None)), calls("cuStreamWaitEvent")
x.used_on(s)
with libcai.use(apart, stream=t): pass
assert calls("cuStreamWaitEvent") == waits
"""
    )
    for access in ("read", "write"):
        assert simulated(code.replace("ACCESS", access)) == f"{[7] * 6}\n"


def test_a_use_that_does_not_begin_races(simulated):
    simulated(TWO_USES.replace("ORDER", "order='end'"), races=True)


def test_views_share_the_uses(simulated):
    assert (
        simulated(
            PENDING
            + """
view = x[2:].reshape(2, 2).transpose()
with libcai.use(view, stream=s):
    fill(memory, 5, 6, s)
with libcai.use(x[::2], stream=t):
    out = read(memory, 6, t)
wait(t)
print(list(out))
"""
        )
        == f"{[5] * 6}\n"
    )


def test_a_view_that_c_makes_of_a_view_shares_them_too(simulated):
    simulated(
        PENDING
        + """
from libcai.cffi import ffi, lib
view = x[1:]
out = ffi.new("cai_array **")
assert lib.cai_array_slice(ffi.cast("cai_array *", view.ptr), ffi.NULL, 0, out, ffi.NULL) == 0
made = libcai.Array.from_ptr(int(ffi.cast("uintptr_t", out[0])))
with libcai.use(x, stream=s):
    fill(memory, 5, 6, s)
with libcai.use(made, stream=t):
    read(memory, 6, t)
wait(t)
"""
    )


def test_readers_do_not_wait_for_readers(simulated):
    simulated(
        PENDING
        + """
def waits(array, stream, **options):
    before = calls("cuStreamWaitEvent")
    with libcai.use(array, stream=stream, **options):
        read(memory, 6, stream)
    return calls("cuStreamWaitEvent") - before
assert waits(x, s, access="read") == waits(x, t, access="read") == 0
assert waits(x, u) == 2  # a write, unless it is said
marked = libcai.asarray(producer(data=(new_memory().value, True), stream=None))
assert waits(marked, s) == waits(marked, t) == 0
refused(libcai.InterfaceError, "read-only", libcai.use(marked, stream=s, access="write").__enter__)
wait(s, t, u)
"""
    )


def test_readers_that_write_something_else_do_not_wait(simulated):
    """One input on two streams, and an output for each: what a step of a pipeline does."""
    code = (
        PENDING
        + """
fill(memory, 5, 6, u)
x.used_on(u)
outs = [array(None, shape=(6,), typestr="<i4") for _ in range(2)]
taken = [libcai.asarray(out) for out in outs]
waits = calls("cuStreamWaitEvent")
for stream, out, owned in zip((s, t), outs, taken):
    with libcai.use(x, owned, stream=stream, access=ACCESS):
        copy(out.memory, memory, 6, stream)
print(calls("cuStreamWaitEvent") - waits)
with libcai.use(x, stream=u):  # after both readers
    fill(memory, 9, 6, u)
v = new_stream()
with libcai.use(*taken, stream=v, access=["read", None]):
    found = [read(out.memory, 6, v) for out in outs]
wait(v)
print([list(values) for values in found])
"""
    )
    seen = f"{[[5] * 6] * 2}\n"  # and each reader waits for `u` alone
    assert simulated(code.replace("ACCESS", "('read', 'write')")) == "2\n" + seen
    assert simulated(code.replace("ACCESS", "['read', None]")) == "2\n" + seen
    assert simulated(code.replace("ACCESS", "'write'")) == "3\n" + seen
    # Without the collector: once it has run, later calls ask whether kept uses are complete, and
    # what the host knows to be complete is in order with all that it queues from then on.
    code = f"import gc\ngc.disable()\n{code}"
    simulated(code.replace("ACCESS", "('read', 'read')"), races=True)


def test_a_word_for_each_object_is_for_that_one():
    run(
        PENDING
        + """
fixed = libcai.asarray(producer(data=(memory.value, True)))
with libcai.use(fixed, x, stream=s, access=("read", "write")): pass
with libcai.use(fixed, x, stream=s, access=(None, "write")) as both: assert both == (fixed, x)
swapped = libcai.use(x, fixed, stream=s, access=("read", "write"))
refused(libcai.InterfaceError, "read-only", swapped.__enter__)
many = [x[i % 6:] for i in range(40)]  # more than a cai_use has room for
for _ in range(2):
    with libcai.use(*many, stream=s, access=["read", "write"] * 20): pass
wait(s)
"""
    )


def test_used_on(simulated):
    code = (
        PENDING
        + """
fill(memory, 3, 6, s)
KEEP
with libcai.use(x, stream=t, access="read"):
    out = read(memory, 6, t)
wait(t)
print(list(out))
"""
    )
    assert simulated(code.replace("KEEP", "x.used_on(s)")) == f"{[3] * 6}\n"
    simulated(code.replace("KEEP", "x.used_on(s, access='read')"), races=True)


def test_reclaim(simulated):
    code = (
        PENDING
        + """
kept = new_memory()
with libcai.use(x, stream=s, access="read"):
    copy(kept, memory, 6, s)
RECLAIM
fill(memory, 9, 6, t)
"""
    )
    simulated(code.replace("RECLAIM", "x.reclaim(t)"))
    simulated(code.replace("RECLAIM", "x.reclaim(t, access='read')"), races=True)


def test_synchronize(simulated):
    code = (
        PENDING
        + """
cuda.simcuda_host_access.argtypes = [c_void_p, c_uint64, c_int32]
host = c_void_p()
call("cuMemHostAlloc", byref(host), c_size_t(64), 0)
pinned = libcai.asarray(producer(data=(host.value, False), stream=s.value))
call("cuMemsetD32Async", c_uint64(host.value), 8, c_size_t(6), s)
with libcai.use(pinned, stream=t):
    call("cuMemsetD32Async", c_uint64(host.value), 9, c_size_t(6), t)
WAIT
assert cuda.simcuda_host_access(host, 24, 0) == 0
"""
    )
    simulated(code.replace("WAIT", "pinned.synchronize()"))
    simulated(code.replace("WAIT", ""), races=True)


def test_what_is_refused():
    run(
        PENDING
        + """
fixed = libcai.asarray(producer(data=(memory.value, True)))
refused(libcai.InterfaceError, "read-only", fixed.used_on, s)
fixed.used_on(s, access=None)
fixed.reclaim(s)  # a producer may write what it has marked read-only for others
refused(libcai.UseError, "access: expected 'read' or 'write', got 'both'", x.reclaim, s, "both")
refused(libcai.UseError, "access: expected 'read' or 'write', got 1", x.used_on, s, access=1)
refused(libcai.InterfaceError, "stream -1 means no order", x.reclaim, -1)
refused(libcai.InterfaceError, "stream 0 is ambiguous", x.publish, 0)
refused(libcai.InterfaceTypeError, "stream None is ambiguous", x.publish, s, streams=[None])
host = libcai.asarray(__import__("numpy").ones(3))
refused(libcai.UseError, "on the host has no stream", host.publish, s)
refused(libcai.UseError, "on the host has no stream", host.publish_event, s)
host.reclaim(s); host.used_on(s); host.synchronize()
del fixed  # another import of the memory, which has kept a use
libcai.drain(wait=True)
call("cuCtxSetCurrent", None)
x.reclaim(1)  # nothing is pending, so it does not matter which stream that is
assert x.publish(1).stream == 1  # of the memory's context
refused(libcai.UseError, "none is current", x.used_on, 2)
call("cuCtxSetCurrent", context)
call("cuStreamBeginCapture_v2", s, 1)
refused(libcai.CudaError, "captured", x.publish_event, s)
graph = c_void_p()
call("cuStreamEndCapture", s, byref(graph))
"""
    )


# ---- The words of use() ------------------------------------------------------------------------


def test_orders(simulated):
    simulated(
        """
theirs, mine = new_stream(), new_stream()
given = array(theirs)
names = ("cuEventRecord", "cuStreamWaitEvent", "cuEventSynchronize", "cuStreamSynchronize")
def counted(**options):
    start = [calls(name) for name in names]
    with libcai.use(given, stream=mine, **options):
        inside = [calls(name) - before for name, before in zip(names, start)]
    return inside, [calls(name) - before for name, before in zip(names, start)]
assert counted() == ([1, 1, 0, 0], [2, 2, 0, 0])
assert counted(order="begin") == ([1, 1, 0, 0], [1, 1, 0, 0])
assert counted(order="end") == ([0, 0, 0, 0], [1, 1, 0, 0])
assert counted(order="none") == ([0, 0, 0, 0], [0, 0, 0, 0])
assert counted(order="host") == ([1, 0, 1, 0], [1, 0, 1, 1])
"""
    )


@pytest.mark.parametrize("option", ["order", "access"])
@pytest.mark.parametrize("word", ["", "READ", 1, b"both", ["both"], True])
def test_unknown_words(option, word):
    import libcai

    with pytest.raises(libcai.UseError) as caught:
        libcai.use(stream=1, **{option: word})
    assert repr(word) in str(caught.value)
    assert option in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("access", "text"),
    [
        (("read",), r"access: expected one word for each of 2 objects, got \('read',\)"),
        (
            ["read", "write", None],
            r"access: expected one word for each of 2 objects, got \['read', 'write', None\]",
        ),
        ((), r"access: expected one word for each of 2 objects, got \(\)"),
        (("read", "reed"), r"access\[1\]: expected 'read' or 'write', got 'reed'"),
        ([1, "read"], r"access\[0\]: expected 'read' or 'write', got 1"),
        (("read", ["write"]), r"access\[1\]: expected .*, got \['write'\]"),
        (iter(("read", "write")), r"access: expected .*, got <tuple_iterator .*>"),
        ({"read": "write"}, "access: expected .*, got {'read': 'write'}"),
    ],
)
def test_no_words_for_each_object(access, text):
    import libcai

    with pytest.raises(libcai.UseError, match=text):
        libcai.use(b"one", b"two", stream=1, access=access)


def test_the_one_stream_of_arrays(simulated):
    out = simulated(
        """
theirs, mine, other = new_stream(), new_stream(), new_stream()
given = array(theirs, shape=(6,), typestr="<i4")
x = libcai.asarray(given)
y = libcai.asarray(array(theirs, shape=(6,), typestr="<i4"))
z = libcai.asarray(array(None, shape=(6,), typestr="<i4"))
assert libcai.same_stream() is None
assert libcai.same_stream(z) is None
assert libcai.same_stream(x, y) == libcai.same_stream(given) == theirs.value
fill(given.memory, 4, 6, theirs)
with libcai.use(x, stream=mine):
    fill(given.memory, 5, 6, mine)
assert libcai.same_stream(x, b"of the host") == theirs.value  # it waits for the use
out = read(given.memory, 6, theirs)
wait(theirs)
print(list(out))
elsewhere = libcai.asarray(array(other, shape=(6,), typestr="<i4"))
refused(libcai.CudaError, "", libcai.same_stream, x, elsewhere)
refused(libcai.CudaError, "came with None", libcai.same_stream, x, z)
refused(libcai.InterfaceTypeError, "", libcai.same_stream, x, object())
wait(theirs)
"""
    )
    assert out == f"{[5] * 6}\n"


def test_external(simulated):
    out = simulated(
        LAUNCH
        + """
theirs, mine = new_stream(), new_stream()
given = array(theirs, shape=(6,), typestr="<i4")
kept = new_memory()
x = libcai.asarray(given)
fill(given.memory, 4, 6, theirs)
call("cuStreamBeginCapture_v2", mine, 1)
with libcai.use(x, stream=mine, external=True):
    copy(kept, given.memory, 6, mine)
made = end(mine)
call("cuGraphLaunch", made, mine)
out = read(kept, 6, mine)
wait(mine)
print(list(out))
wait(theirs)
"""
    )
    assert out == f"{[4] * 6}\n"


def test_fork(simulated):
    out = simulated(
        LAUNCH
        + """
theirs, mine = new_stream(), new_stream()
given = array(theirs, shape=(6,), typestr="<i4")
kept = new_memory()
call("cuStreamBeginCapture_v2", theirs, 1)
fill(given.memory, 4, 6, theirs)
refused(libcai.CudaError, "or say fork=True", libcai.use(given, stream=mine).__enter__)
with libcai.use(given, stream=mine, fork=True):
    copy(kept, given.memory, 6, mine)
made = end(theirs)
call("cuGraphLaunch", made, theirs)
out = read(kept, 6, theirs)
wait(theirs)
print(list(out))
"""
    )
    assert out == f"{[4] * 6}\n"
