# SPDX-License-Identifier: BSD-3-Clause
"""libcai.relaxed(), the variables of the environment, and provide_stream()."""

import asyncio
import gc
import sys
import threading
import types
import weakref

import pytest
from helpers import Cuda, interface, producer, python, run_threads
from simulation import environment, run

import libcai
from libcai import _relaxed
from libcai.cffi import array_from, lib

pytestmark = pytest.mark.slow


def stream_of(array):
    return array.__cuda_array_interface__["stream"]


# ---- relaxed() ---------------------------------------------------------------------------------


def test_dicts_say_no_stream():
    array = libcai.asarray(producer(stream=7, mask=producer(typestr="|b1", stream=9)))
    plain = libcai.asarray(producer(stream=7))
    assert (stream_of(array), stream_of(plain)) == (7, 7)
    with libcai.relaxed(export_stream=False):
        mapping = array.__cuda_array_interface__
        assert (mapping["stream"], stream_of(mapping["mask"]), stream_of(plain)) == (None,) * 3
        assert mapping["shape"] == (2, 3)
        assert plain.stream == 7
    assert (stream_of(array), stream_of(plain)) == (7, 7)


def test_blocks_nest_and_restore():
    array = libcai.asarray(producer(stream=7))
    with libcai.relaxed(export_stream=False):
        with libcai.relaxed(sync=False), libcai.relaxed(export_stream=True):
            assert stream_of(array) == 7
            assert not _relaxed.sync()
        assert stream_of(array) is None
        with libcai.relaxed(sync=True, export_stream=True):
            assert stream_of(array) == 7
        with pytest.raises(ZeroDivisionError), libcai.relaxed(export_stream=True):
            raise ZeroDivisionError
        assert stream_of(array) is None
    assert stream_of(array) == 7
    assert _relaxed.sync()
    with libcai.relaxed():
        assert stream_of(array) == 7


def test_other_threads_and_tasks_are_not_relaxed():
    array = libcai.asarray(producer(stream=7))
    seen = []
    with libcai.relaxed(export_stream=False):
        thread = threading.Thread(target=lambda: seen.append(stream_of(array)))
        thread.start()
        thread.join()
    assert seen == [7]

    async def relaxed(ready, go):
        with libcai.relaxed(export_stream=False):
            ready.set()
            await go.wait()
            return stream_of(array)

    async def main():
        ready, go = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(relaxed(ready, go))
        await ready.wait()
        here = stream_of(array)
        go.set()
        return here, await task

    assert asyncio.run(main()) == (7, None)


@pytest.mark.parametrize("name", ["sync", "export_stream"])
@pytest.mark.parametrize("value", [0, 1, "0", 2.0, ()])
def test_only_bools(name, value):
    with pytest.raises(TypeError, match=name) as caught:
        libcai.relaxed(**{name: value})
    assert repr(value) in str(caught.value)


def test_no_order_within(simulated):
    code = """
s, t = new_stream(), new_stream()
given = array(s, shape=(6,), typestr="<i4")
def waits():
    return sum(map(calls, ("cuStreamWaitEvent", "cuEventSynchronize", "cuStreamSynchronize")))
def counted(order):
    with libcai.relaxed(sync=SYNC):
        using = libcai.use(given, stream=t, order=order)
    before = waits()
    with using: pass
    return waits() - before
fill(given.memory, 1, 6, s)
assert [counted(order) for order in ("both", "begin", "host")] == EXPECTED
with libcai.relaxed(sync=SYNC):
    with libcai.use(given, stream=t):
        fill(given.memory, 2, 6, t)
"""
    simulated(code.replace("SYNC", "True").replace("EXPECTED", "[2, 1, 2]"))
    out = code.replace("SYNC", "False").replace("EXPECTED", "[0, 0, 2]")
    simulated(out + "fill(given.memory, 3, 6, s)", races=True)


def test_the_library_s_own_variable():
    code = """
s, t = new_stream(), new_stream()
given = array(s)
before = calls("cuStreamWaitEvent")
with libcai.relaxed(sync=True), libcai.use(given, stream=t): pass
assert calls("cuStreamWaitEvent") == before
"""
    run(code, CAI_SYNC="0")
    code = """
refused(libcai.UseError, "CAI_SYNC=no", libcai.use(stream=1).__enter__)
"""
    run(code, CAI_SYNC="no")


EXPORT = """
import sys
sys.path.insert(0, sys.argv[1])
from helpers import producer
import libcai
array = libcai.asarray(producer(stream=7))
"""


def exported(code, value):
    from pathlib import Path

    return python(
        EXPORT + code, str(Path(__file__).parent), env=environment(CAI_EXPORT_STREAM=value)
    )


def test_the_environment_and_dicts():
    say = 'print(array.__cuda_array_interface__["stream"])'
    assert exported(say, "0") == "None\n"
    assert exported(say, "1") == exported(say, "") == "7\n"
    assert exported(f"with libcai.relaxed(export_stream=True): {say}", "0") == "7\n"
    catch = f"try: {say}\nexcept libcai.UseError as error: print(error)"
    assert exported(catch, "yes") == (
        "the environment has CAI_EXPORT_STREAM=yes, which is neither 1 nor 0\n"
    )
    assert exported("libcai.use(stream=1).__enter__(); print('used')", "yes") == "used\n"


# ---- Other libraries' switches -----------------------------------------------------------------


@pytest.fixture
def peers(monkeypatch):
    """Modules with the switches where CuPy, Numba and numba-cuda have theirs."""
    made = {}
    for name in ("numba.core.config", "numba.cuda.core.config", "cupy._util"):
        made[name] = types.ModuleType(name)
        made[name].CUDA_ARRAY_INTERFACE_SYNC = 1
        monkeypatch.setitem(sys.modules, name, made[name])
    made["cupy._util"].CUDA_ARRAY_INTERFACE_EXPORT_VERSION = 3
    return made


def switches(peers):
    syncs = [module.CUDA_ARRAY_INTERFACE_SYNC for module in peers.values()]
    return syncs, peers["cupy._util"].CUDA_ARRAY_INTERFACE_EXPORT_VERSION


def test_their_switches_follow(peers):
    with libcai.relaxed(sync=False):
        assert switches(peers) == ([0, 0, 0], 3)
        with libcai.relaxed(sync=False, export_stream=False):
            assert switches(peers) == ([0, 0, 0], 2)
        assert switches(peers) == ([0, 0, 0], 3)
        with libcai.relaxed(sync=True):
            assert switches(peers) == ([1, 1, 1], 3)
        assert switches(peers) == ([0, 0, 0], 3)
    assert switches(peers) == ([1, 1, 1], 3)
    with libcai.relaxed(sync=True, export_stream=True):
        assert switches(peers) == ([1, 1, 1], 3)


def test_their_own_settings_come_back(peers):
    peers["numba.core.config"].CUDA_ARRAY_INTERFACE_SYNC = 0
    del peers["cupy._util"].CUDA_ARRAY_INTERFACE_SYNC
    with libcai.relaxed(sync=False, export_stream=False):
        assert peers["numba.cuda.core.config"].CUDA_ARRAY_INTERFACE_SYNC == 0
    assert peers["numba.core.config"].CUDA_ARRAY_INTERFACE_SYNC == 0
    assert peers["numba.cuda.core.config"].CUDA_ARRAY_INTERFACE_SYNC == 1
    assert not hasattr(peers["cupy._util"], "CUDA_ARRAY_INTERFACE_SYNC")


def test_blocks_of_two_threads_overlap(peers):
    first = libcai.relaxed(sync=False)
    first.__enter__()
    entered, leave = threading.Event(), threading.Event()

    def work():
        with libcai.relaxed(sync=False):
            entered.set()
            leave.wait()

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait()
    first.__exit__(None, None, None)
    assert switches(peers)[0] == [0, 0, 0]  # the other one is still in
    leave.set()
    thread.join()
    assert switches(peers)[0] == [1, 1, 1]


def test_numba_cuda_s_own_switch():
    """The switch is where we look, and it is looked at: the host does not wait."""
    run(
        """
from numba import cuda as numba_cuda
s = new_stream()
given = array(s)
numba_cuda.as_cuda_array(given)
def syncs():
    before = calls("cuStreamSynchronize")
    numba_cuda.as_cuda_array(given)
    return calls("cuStreamSynchronize") - before
assert syncs() == 1
with libcai.relaxed(sync=False):
    assert syncs() == 0
assert syncs() == 1
"""
    )


# ---- Frameworks that do not state a stream -----------------------------------------------------


def old(**changes):
    return interface(version=2, stream=..., **changes)


@pytest.fixture
def framework(monkeypatch):
    """A class of a module with a provider; its `answer` is what that returns."""
    made = type("Tensor", (Cuda,), {"__module__": "framework.tensors"})
    monkeypatch.setattr(libcai._providers, "_providers", {})
    libcai.provide_stream("framework", lambda tensor: tensor.answer)
    return made


def given(framework, answer, **changes):
    tensor = framework(old(**changes))
    tensor.answer = answer
    return tensor


class Handle:
    handle = 9


@pytest.mark.parametrize(
    ("answer", "stream"), [(7, 7), (0, 1), (1, 1), (2, 2), (Handle(), 9), (2**64 - 1, 2**64 - 1)]
)
def test_a_framework_says_the_stream(framework, answer, stream):
    for tensor in (given(framework, answer), given(type("Mine", (framework,), {}), answer)):
        array = libcai.asarray(tensor)
        assert (array.stream_kind, array.stream, array.version) == ("stream", stream, 2)
        assert array[1:].stream == stream
        assert stream_of(array) == stream
        cdata = array_from(tensor)
        assert (cdata.stream_kind, cdata.stream) == (lib.CAI_STREAM_STREAM, stream)
        assert lib.cai_array_validate(cdata, libcai.cffi.ffi.NULL) == 0


def test_a_mask_s_framework_too(framework):
    tensor = Cuda(old(mask=given(framework, 7, typestr="|b1")))
    array = libcai.asarray(tensor)
    assert (array.stream_kind, array.mask.stream) == ("unstated", 7)
    assert array_from(tensor).mask.stream == 7


def test_who_is_not_asked(framework):
    stated = framework(interface(stream=5))
    assert libcai.asarray(stated).stream == 5  # no `answer`: asking would raise
    assert libcai.asarray(framework(interface(stream=None))).stream_kind == "none"
    assert libcai.asarray(Cuda(old())).stream_kind == "unstated"
    assert libcai.from_interface(old()).stream_kind == "unstated"
    for take in (libcai.asarray, array_from):
        take(given(framework, None))
    assert libcai.asarray(given(framework, None)).stream_kind == "unstated"


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (-1, libcai.InterfaceError, "the provider for framework returned -1"),
        (-2, libcai.InterfaceError, "stream -2 is not a stream"),
        ("7", libcai.InterfaceTypeError, "'7' is not a stream"),
        (True, libcai.InterfaceTypeError, "True is not a stream"),
    ],
)
def test_bad_answers(framework, answer, kind, text):
    for take in (libcai.asarray, array_from):
        with pytest.raises(kind, match=text) as caught:
            take(given(framework, answer))
        assert caught.value.entry == "stream"
        said = f"the provider for framework returned {answer!r}"
        assert said in f"{caught.value} {getattr(caught.value, '__notes__', '')}"


def test_what_a_framework_raises_passes_and_leaves_nothing(framework):
    tensor = framework(old())
    count = sys.getrefcount(tensor)
    for take in (libcai.asarray, array_from):
        with pytest.raises(AttributeError, match="answer"):
            take(tensor)
    assert sys.getrefcount(tensor) == count


def test_a_stream_object_lives_as_long(framework):
    stream = Handle()
    count = sys.getrefcount(stream)
    array, cdata = libcai.asarray(given(framework, stream)), array_from(given(framework, stream))
    assert sys.getrefcount(stream) >= count + 2
    del array, cdata
    libcai.drain()
    assert sys.getrefcount(stream) == count


@pytest.mark.parametrize(
    ("module", "function", "kind"),
    [
        (None, len, TypeError),
        (types, len, TypeError),
        ("", len, ValueError),
        ("torch.cuda", len, ValueError),
        ("framework", None, TypeError),
    ],
)
def test_bad_providers(module, function, kind):
    with pytest.raises(kind):
        libcai.provide_stream(module, function)


def test_torch_is_known(monkeypatch):
    """A module in PyTorch's place: its current stream is asked for, by the tensor's device."""
    plain = {"requires_grad": False, "is_conj": lambda self: False, "is_neg": lambda self: False}
    tensor = type("Tensor", (Cuda,), {"__module__": "torch", "device": "cuda:1", **plain})(old())
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert libcai.asarray(tensor).stream_kind == "unstated"
    assert "torch" not in sys.modules
    torch = types.ModuleType("torch")
    streams = {"cuda:1": types.SimpleNamespace(cuda_stream=0)}
    torch.cuda = types.SimpleNamespace(current_stream=streams.__getitem__)
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert libcai.asarray(tensor).stream == 1
    streams["cuda:1"].cuda_stream = 0x1234
    assert libcai.asarray(tensor).stream == 0x1234


class FakeStream:
    """As CuPy's: the stream ends with the object."""

    def __init__(self, ptr):
        self.ptr = ptr


def test_cupys_stream_lives_as_long_as_the_array(monkeypatch):
    """CuPy's arrays do not hold the stream that their dict names."""
    cupy = types.ModuleType("cupy")
    current = [FakeStream(0x5000)]
    cupy.cuda = types.SimpleNamespace(get_current_stream=lambda: current[0])
    cupy.ndarray = type("ndarray", (Cuda,), {})
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    array = libcai.asarray(cupy.ndarray(interface(stream=0x5000)))
    other = libcai.asarray(Cuda(interface(stream=0x5000)))
    elsewhere = libcai.asarray(cupy.ndarray(interface(stream=0x6000)))
    seen = weakref.ref(current[0])
    current[0] = FakeStream(1)
    gc.collect()
    assert seen() is not None
    del array
    gc.collect()
    assert seen() is None
    assert (other.stream, elsewhere.stream) == (0x5000, 0x6000)


def test_a_use_waits_for_the_provided_stream(simulated):
    code = """
s, t = new_stream(), new_stream()
memory = new_memory()
class Tensor(Cuda): __module__ = "framework"
given = Tensor(interface(version=2, stream=..., data=(memory.value, False)))
PROVIDE
fill(memory, 1, 6, s)
with libcai.use(given, stream=t):
    fill(memory, 2, 6, t)
fill(memory, 3, 6, s)
"""
    simulated(code.replace("PROVIDE", "libcai.provide_stream('framework', lambda tensor: s.value)"))
    simulated(code.replace("PROVIDE", ""), races=True)


def test_a_block_is_left_where_it_was_entered(peers):
    block = libcai.relaxed(sync=False)
    with pytest.raises(libcai.StateError, match="has not been entered"):
        block.__exit__(None, None, None)
    block.__enter__()
    with pytest.raises(libcai.StateError, match="has been entered already"):
        block.__enter__()
    with pytest.raises(libcai.StateError, match=r"left by the thread.* that entered it"):
        run_threads(lambda: block.__exit__(None, None, None))
    assert not _relaxed.sync()
    assert switches(peers)[0] == [0, 0, 0]  # nothing has changed
    block.__exit__(None, None, None)
    assert _relaxed.sync()
    assert switches(peers)[0] == [1, 1, 1]


def test_a_function_that_is_relaxed():
    @libcai.relaxed(sync=False)
    def inner(again):
        return [_relaxed.sync(), *(inner(False) if again else ())]

    assert inner(True) == [False, False]
    assert _relaxed.sync()
