# SPDX-License-Identifier: BSD-3-Clause
"""libcai.Device: on the CPU with no driver, and on simcuda."""

import gc
import os
import pickle
import sys
import weakref

import pytest
from helpers import python, run_threads
from simulation import run

import libcai
from libcai import Device, DeviceType

CPU = Device("cpu")


def test_a_device_is_a_pair():
    assert Device("cpu") == (1, 0) == Device(DeviceType.CPU, 0)
    assert Device(2, 3) == (DeviceType.CUDA, 3)
    assert Device(2, 3).type is DeviceType.CUDA
    assert Device(2, 3).index == 3  # as PyTorch's, and not a tuple's method
    assert Device("cpu").index == 0
    assert Device(2, None).index is None
    assert Device(99, 3).type == 99  # newer than this package
    assert Device(2, None).id is None
    assert pickle.loads(pickle.dumps(Device(2, 1))) == Device(2, 1)
    assert type(pickle.loads(pickle.dumps(Device(2, 1)))) is Device
    assert {Device(2, 1): 1}[2, 1] == 1


@pytest.mark.parametrize(
    ("device", "text"),
    [
        (Device(1, 0), "cpu"),
        (Device(2, 1), "gpu:1"),
        (Device(2, None), "gpu"),
        (Device(1, None), "cpu"),
        (Device(1, 3), "cpu:3"),  # from a framework that counts CPUs
        (Device(3, 0), "cuda_host:0"),
        (Device(13, 2), "cuda_managed:2"),
        (Device(10, 1), "rocm:1"),
    ],
)
def test_texts(device, text):
    assert str(device) == text
    assert repr(device).startswith("Device(type=")


@pytest.mark.parametrize("text", ["cpu", " CPU ", "Cpu"])
def test_the_cpu_by_name(text):
    assert Device(text) == CPU


@pytest.mark.parametrize(
    "text", ["", "gpu:", "gpu:x", "cpu:0:1", "tpu", "gpu:-1", "gpu\0:1", "\ud800"]
)
def test_no_devices(text):
    with pytest.raises(libcai.UseError):
        Device(text)


def test_arguments_that_are_none():
    for id in (0, None):
        with pytest.raises(TypeError, match="not both"):
            Device("cpu", id)
    for type in (None, b"cpu", 3, DeviceType.CUDA):
        with pytest.raises(TypeError, match="a device is a text such as 'cpu' and 'gpu:0', or a"):
            Device(type)
    for type, id in ((None, 0), (b"cpu", 0), (2, "0"), (2, 0.0)):
        with pytest.raises(TypeError, match="integer"):
            Device(type, id)
    for given in (None, 1, b"cpu", ["cpu"], (1,), (1, 2, 3)):
        with pytest.raises(TypeError, match="a device is a"):
            libcai.Stream(given)
    for given, text in (
        ((1.5, 0), "type is 1.5"),
        ((1.5, None), "type is 1.5"),
        ((1, "0"), "id is '0'"),
    ):
        with pytest.raises(TypeError, match=f"^a device's {text}, and an integer is required"):
            libcai.Stream(given)
    for given, text in (((1.5, 0), "type is 1.5"), ((2, 0.5), "id is 0.5")):
        with pytest.raises(TypeError, match=f"^a device's {text}, and an integer is required"):
            Device(*given)
    with pytest.raises(libcai.UseError, match="type is"):
        libcai.Stream((1 << 40, None))
    for given in ((99, 0), (1, 5), (2, -1), (2, 1 << 40), (10, 0)):
        with pytest.raises((libcai.UseError, libcai.CudaError)):
            libcai.Stream(given)
    for ask in (Device.count, Device.current, Device.most_free):
        for kind in ("tpu", 1 << 40, -1):
            with pytest.raises(libcai.UseError):
                ask(kind)
        with pytest.raises(TypeError, match=r"kind is 1\.5"):
            ask(1.5)


def test_uuids_that_are_none():
    class Sixteen:
        def __index__(self):
            return 16

    for uuid in (16, 1 << 60, True, Sixteen(), "gpu", 1.5, None, [0] * 16):
        with pytest.raises(
            TypeError, match=r"^uuid is .*, and neither a uuid\.UUID nor its 16 bytes"
        ):
            Device.find(uuid)
    for uuid in (b"", bytes(15), bytearray(17)):
        with pytest.raises(libcai.UseError, match="16 bytes"):
            Device.find(uuid)


def test_what_is_known_of_the_cpu():
    assert Device.count("cpu") == 1
    assert Device.current("cpu") == Device.most_free("cpu") == CPU
    assert Device.all()[0] == CPU
    free, total = CPU.memory
    assert 0 < free <= total == CPU.memory.total
    assert total == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert CPU.name
    assert CPU.name in CPU.summary()
    assert CPU.uuid is CPU.pci is None
    assert CPU.can_access(CPU)
    for flag in ("managed_memory", "pools", "pools_by_descriptor"):
        assert getattr(CPU, flag) in (True, False)
    CPU.set_current()
    CPU.synchronize()
    CPU.set_cache(5)
    CPU.trim_cache()
    with pytest.raises(TypeError, match=r"^size is 1\.5, and an integer is required"):
        CPU.set_cache(1.5)
    with pytest.raises(TypeError, match=r"^keep is 1\.5, and an integer is required"):
        CPU.trim_cache(1.5)


def test_no_gpu():
    python(
        """
import libcai
assert libcai.Device.count() == 0
assert libcai.Device.all() == [libcai.Device("cpu")]
for make in (libcai.Device.current, libcai.Device.most_free, libcai.Stream,
             lambda: libcai.Device("gpu"), lambda: libcai.Device("gpu:0"),
             lambda: libcai.Device(2, 0).memory):
    try:
        make()
    except libcai.CudaError as error:
        assert error.status in (-10, -13), error
    else:
        raise AssertionError(make)
""",
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )


def test_the_cpu_in_a_with_block():
    with CPU as entered, CPU:
        assert entered is CPU
    with pytest.raises(libcai.StateError):
        CPU.__exit__(None, None, None)


def test_a_block_is_left_by_who_entered_it():
    CPU.__enter__()
    failures = []

    def leave():
        try:
            CPU.__exit__(None, None, None)
        except libcai.StateError as error:
            failures.append(error)

    run_threads(leave)
    assert len(failures) == 1
    CPU.__exit__(None, None, None)


# ---- Reset -------------------------------------------------------------------------------------


@pytest.fixture
def reset_calls():
    calls = []
    yield calls
    Device.off_reset(calls.append)


def test_reset_calls_back_once(reset_calls):
    Device.on_reset(reset_calls.append)
    Device.on_reset(reset_calls.append)
    CPU.reset()
    assert reset_calls == [CPU]
    CPU.reset()
    assert reset_calls == [CPU, CPU]
    Device.off_reset(reset_calls.append)
    Device.off_reset(reset_calls.append)
    CPU.reset()
    assert len(reset_calls) == 2


def test_callbacks_of_a_reset_that_raise(reset_calls):
    def first(device):
        raise KeyError("first")

    def second(device):
        raise ValueError("second")

    for function in (first, second, reset_calls.append):
        Device.on_reset(function)
    try:
        with pytest.raises(KeyError) as caught:
            CPU.reset()
    finally:
        Device.off_reset(first)
        Device.off_reset(second)
    assert any("second" in note for note in caught.value.__notes__)
    assert reset_calls == [CPU]


def test_a_callback_may_take_itself_away():
    calls = []

    def once(device):
        calls.append(device)
        Device.off_reset(once)

    Device.on_reset(once)
    CPU.reset()
    CPU.reset()
    assert calls == [CPU]


def test_a_reset_in_a_reset_is_refused():
    caught = []

    def again(device):
        with pytest.raises(libcai.StateError) as error:
            device.reset()
        caught.append(error.value)

    Device.on_reset(again)
    try:
        CPU.reset()
    finally:
        Device.off_reset(again)
    assert len(caught) == 1


def test_callbacks_are_let_go():
    class Function:
        def __call__(self, device):
            pass

    function = Function()
    reference = weakref.ref(function)
    Device.on_reset(function)
    Device.off_reset(function)
    del function
    gc.collect()
    assert reference() is None
    with pytest.raises(TypeError, match=r"^function is 5, which cannot be called"):
        Device.on_reset(5)


def test_handles_are_bytes():
    for data in [5, "text", [1, 2], None]:
        with pytest.raises(TypeError, match="and must be the bytes of a handle"):
            libcai.IpcHandle(data)
    with pytest.raises(libcai.UseError, match="a handle has 160 bytes, not 3"):
        libcai.IpcHandle(b"abc")
    assert libcai.IpcHandle(bytearray(160)) == libcai.IpcHandle(memoryview(bytes(160)))
    assert libcai.IpcHandle(bytes(160)).kind == "unknown"


def test_a_handle_that_was_never_initialised():
    handle = libcai.IpcHandle.__new__(libcai.IpcHandle)
    right = libcai.IpcHandle(bytes(160))
    for ask in (
        bytes,
        repr,
        hash,
        pickle.dumps,
        lambda it: it.kind,
        lambda it: it.size,
        lambda it: it.fd,
        lambda it: it.close(),
        lambda it: it == right,
        lambda it: right == it,
        libcai.Memory.open,
    ):
        with pytest.raises(libcai.StateError, match=r"^this IpcHandle was never initialised"):
            ask(handle)


# ---- On simcuda --------------------------------------------------------------------------------


def test_gpus():
    run(
        """
from libcai import Device
assert Device.count() == Device.count("cuda") == 2
first, second = Device("gpu:0"), Device(" CUDA : 1 ")
assert Device.all() == [Device("cpu"), first, second]
assert Device("gpu") == first == Device.current()
assert first.uuid != second.uuid and first.uuid.int
assert Device.find(second.uuid) == Device.find(second.uuid.bytes) == second
refused(libcai.CudaError, "", Device.find, bytes(16))
refused(libcai.UseError, "16 bytes", Device.find, b"short")
assert len(first.pci) == 3 and first.pci != second.pci
assert first.name in first.summary()
free, total = first.memory
assert 0 < free <= total
memory = new_memory(1 << 20)
assert first.memory.free <= free - (1 << 20)
assert Device("gpu:free") == Device.most_free() == second
for flag in ("maps_host", "managed_memory", "concurrent_managed", "pools", "pools_by_descriptor",
             "integrated"):
    assert type(getattr(first, flag)) is bool, flag
assert first.pools and first.can_access(first) and not first.can_access(Device("cpu"))
assert type(first.can_access(second)) is bool
refused(libcai.CudaError, "2", lambda: Device("gpu:2"))
first.set_cache(1 << 20)
first.trim_cache(0)
refused(libcai.UseError, "size is -1", first.set_cache, -1)
"""
    )


def test_what_is_current(simulated):
    simulated(
        """
from libcai import Device
def current():
    out = c_void_p()
    call("cuCtxGetCurrent", byref(out))
    return out.value
first, second = Device("gpu:0"), Device("gpu:1")
start = current()
with second:
    assert current() != start and Device.current() == second
    with first:
        assert current() == start and Device.current() == first
    assert Device.current() == second
assert current() == start
second.set_current()
assert Device.current() == second
first.set_current()

first.__enter__()
second.__enter__()
refused(libcai.StateError, "gpu:0 is not the device", first.__exit__, None, None, None)
assert Device.current() == second
second.__exit__(None, None, None)
first.__exit__(None, None, None)
assert current() == start
try:
    with second:
        raise KeyError("mine")
except KeyError:
    assert current() == start

other = c_void_p()
call("cuDevicePrimaryCtxRetain", byref(other), 0)
for body in (KeyError("mine"), None):
    try:
        with second:
            call("cuCtxPushCurrent_v2", other)
            if body:
                raise body
    except KeyError as error:
        assert error is body
        assert "gpu:1 was not left" in error.__notes__[0], error.__notes__
    except libcai.StateError:
        assert body is None
    else:
        raise AssertionError
    call("cuCtxPopCurrent_v2", byref(other))
    second.__exit__(None, None, None)
    assert current() == start
"""
    )


def test_synchronize(simulated):
    assert (
        simulated(
            """
device = libcai.Device("gpu")
s = libcai.Stream(device)
memory = new_memory()
fill(memory, 7, 4, c_void_p(s.value))
out = read(memory, 4, c_void_p(s.value))
device.synchronize()
print(list(out))
"""
        )
        == "[7, 7, 7, 7]\n"
    )


def test_after_a_reset_handles_are_dead(simulated):
    simulated(
        """
device = libcai.Device("gpu")
stream, event, memory = libcai.Stream(device), libcai.Event(device), libcai.Memory(64)
calls = []
libcai.Device.on_reset(calls.append)
device.reset()
assert calls == [device]
stream.synchronize()
device.reset(context=True)
assert calls == [device, device]
refused(libcai.StateError, "", stream.synchronize)
refused(libcai.StateError, "", event.synchronize)
assert memory.freed
refused(libcai.StateError, "", memory.array, 3, "<f4")
del stream, event, memory
libcai.Stream(device).synchronize()  # a new context
call("cuCtxSetCurrent", None)
device.set_current()
"""
    )


def test_a_garbage_collection_in_a_function_on_a_gpu_stream():
    run(
        """
import gc
failures = []
libcai.on_failure(failures.append)
gc.disable()
other = libcai.Stream("gpu")
for kind in ["default", "async", "pinned", "managed", "host"]:
    cycle = [libcai.zeros(100, device="gpu", kind=kind, stream=other)]
    cycle.append(cycle)
cycle += [libcai.Memory.pin(bytearray(4096)), libcai.Stream("gpu"), libcai.Event("gpu")]
del cycle
stream = libcai.Stream("gpu")
found = []
stream.enqueue(lambda: found.append(gc.collect()))
stream.synchronize()
assert found[0] >= 5
libcai.drain(wait=True)
libcai.flush("gpu")
for device in ["gpu", "cpu"]:
    usage = libcai.usage(device)
    assert usage.bytes == usage.pending_bytes == usage.deferred == 0, usage
assert not failures, failures
"""
    )


def test_a_fork_after_the_first_use():
    run(
        """
import os, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 and later count the threads
stream = libcai.Stream("gpu")
here = libcai.Stream("cpu")
memory = libcai.Memory(64)
here.enqueue(lambda: None)
here.synchronize()
complete = here.record()
may_go = threading.Event()
here.enqueue(may_go.wait)
pending = here.record()
child = os.fork()
if child == 0:
    refused(libcai.StateError, "", libcai.Stream, "gpu")
    refused(libcai.StateError, "", stream.synchronize)
    mine = libcai.Stream("cpu")
    complete.wait(mine)
    assert not complete.busy
    refused(libcai.StateError, "forked", pending.synchronize)
    refused(libcai.StateError, "forked", pending.wait, mine)
    refused(libcai.StateError, "forked", lambda: pending.busy)
    mine.enqueue(may_go.set)
    mine.synchronize()
    assert may_go.is_set()
    del stream, memory, here
    sys.exit(7)  # with the handlers at exit
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
may_go.set()
here.synchronize()
stream.synchronize()
"""
    )


def test_the_module_is_one_interpreters():
    assert (
        python(
            """
import importlib, sys
import libcai._devices
name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
interpreters = importlib.import_module(name)
second = interpreters.create(*([] if name.startswith("_xx") else ["legacy"]))
code = '''
try:
    import libcai._devices
except ImportError:
    raise SystemExit("refused")
'''
try:
    answer = interpreters.run_string(second, code)
except Exception as error:
    answer = error
print("refused" in str(answer))
"""
        )
        == "True\n"
    )


def test_importing_libcai_loads_no_more_than_is_used():
    assert "libcai._devices" in sys.modules
    python(
        """
import sys, libcai
libcai.asarray
assert "libcai._devices" not in sys.modules
libcai.Device(1, 0)
assert "libcai._devices" not in sys.modules
libcai.empty
assert "libcai._devices" in sys.modules
"""
    )
