# SPDX-License-Identifier: BSD-3-Clause
"""libcai.Memory: on the CPU with no driver, and on simcuda."""

import gc
import os
import pickle
import weakref

import numpy as np
import pytest
from helpers import python
from simulation import run

import libcai
from libcai import Memory
from libcai.cffi import lib

HOST_KINDS = [
    "default",
    "async",
    "pitched",
    "managed",
    "managed_global",
    "host",
    "pinned",
    "mapped",
]


class Object:
    """Can be weakly referred to."""


def of_cpu(size=64, kind="default", **more):
    return Memory(size, kind, device="cpu", **more)


# ---- On the CPU --------------------------------------------------------------------------------


@pytest.mark.parametrize("flag", ["portable", "write_combined"])
def test_a_flag_that_is_neither_true_nor_false(flag):
    """Its exception is raised, whatever it is."""

    class Flag:
        def __bool__(self):
            raise failure

    for failure in (ValueError("neither"), KeyboardInterrupt()):
        with pytest.raises(type(failure)) as caught:
            of_cpu(kind="pinned", **{flag: Flag()})
        assert caught.value is failure
        with pytest.raises(type(failure)) as caught:
            Memory.pin(bytearray(64), device="cpu", **{flag: Flag()})
        assert caught.value is failure


@pytest.mark.parametrize("kind", HOST_KINDS)
def test_what_is_known_of_it(kind):
    more = {"rows": 3} if kind == "pitched" else {}
    memory = of_cpu(100, kind, **more)
    assert memory.kind == kind
    assert memory.device == libcai.Device("cpu")
    assert memory.address == memory.host_address != 0
    assert memory.address % 64 == 0
    assert memory.size == len(memory) == (768 if more else 100)
    assert (memory.row, memory.pitch, memory.rows) == ((100, 256, 3) if more else (100, 100, 1))
    assert memory.depth == 1
    assert memory.stream is memory.cuda_array is None
    assert memory.is_dereferenceable
    assert memory.freed is memory.foreign is memory.is_view is False
    assert f"kind={kind}" in repr(memory)


def test_unified_is_managed():
    assert of_cpu(kind="unified").kind == of_cpu(kind=" Managed").kind == "managed"
    assert of_cpu(kind="unified_global").kind == "managed_global"


def test_words_and_numbers_that_are_none():
    for kind in ("", "device", "none", "default\0", "\ud800"):
        with pytest.raises(libcai.UseError):
            of_cpu(64, kind)
    with pytest.raises(TypeError, match="kind must be a str, not 1"):
        of_cpu(64, 1)
    for name in ("rows", "depth", "align", "channels"):
        with pytest.raises(TypeError, match=f"^{name} is 1.5, and an integer is required"):
            of_cpu(64, **{name: 1.5})
    with pytest.raises(TypeError, match=r"^address is 'x', and an integer is required"):
        Memory.find("x")
    with pytest.raises(TypeError, match=r"^fd is 0\.5, and an integer is required"):
        Memory.open(bytes(160), 0.5, device="cpu")
    for size in (-1, 1 << 64):
        with pytest.raises(libcai.UseError, match="size is"):
            of_cpu(size)
    for size in ("64", 6.5):
        with pytest.raises(TypeError, match=f"^size is {size!r}, and an integer is required"):
            of_cpu(size)
    for align in (3, 48, 1 << 63):
        with pytest.raises((libcai.UseError, MemoryError)):
            of_cpu(64, align=align)
    with pytest.raises(libcai.UseError):
        of_cpu(1 << 40, "pitched", rows=1 << 40)
    with pytest.raises(libcai.UseError):
        of_cpu(64, rows=2)
    with pytest.raises(libcai.UseError, match="channels"):
        of_cpu(64, channels=9)
    with pytest.raises(MemoryError):
        of_cpu(1 << 62)
    with pytest.raises(TypeError, match="MemoryManager is required"):
        of_cpu(64, manager="host")
    with pytest.raises(TypeError, match="made twice"):
        of_cpu().__init__(64)
    empty = Memory.__new__(Memory)
    for use in (empty.free, lambda: empty.size, lambda: empty[1:], lambda: repr(empty)):
        with pytest.raises(libcai.UseError):
            use()


def test_alignment():
    assert of_cpu(10, align=4096).address % 4096 == 0


def test_no_bytes():
    memory = of_cpu(0)
    assert memory.address == memory.size == len(memory) == 0
    assert bytes(memory) == b""
    memory.free()


def test_buffers():
    memory = of_cpu(16)
    view = memoryview(memory)
    assert view.nbytes == 16
    assert not view.readonly
    view[:] = bytes(range(16))
    assert bytes(memory) == bytes(range(16))
    numbers = np.frombuffer(memory, "<u2")
    assert numbers[1] == 0x0302
    with pytest.raises(libcai.BufferError, match="there are buffers"):
        memory.free()
    found, offset = Memory.find(memory.address + 5)
    assert offset == 5
    with pytest.raises(libcai.BufferError, match="there are buffers"):
        found.free()
    view.release()
    with pytest.raises(libcai.BufferError):
        memory.free()
    del numbers
    memory.free()
    with pytest.raises(libcai.BufferError, match="freed"):
        memoryview(memory)


def test_a_buffer_keeps_the_memory():
    memory = of_cpu(16)
    numbers = np.frombuffer(memory, "u1")
    reference = weakref.ref(memory)
    del memory
    assert reference() is not None
    numbers[:] = 3
    del numbers
    assert reference() is None


def test_views():
    memory = of_cpu(16)
    memoryview(memory)[:] = bytes(range(16))
    view = memory[4:12]
    assert view.is_view
    assert bytes(view) == bytes(range(4, 12))
    assert bytes(view[-2:]) == b"\n\x0b"
    assert bytes(memory[5:3]) == b""
    assert view.address == memory.address + 4
    with pytest.raises(libcai.CudaError):
        view.free()
    with pytest.raises(TypeError, match="slice of bytes"):
        memory[3]
    with pytest.raises(libcai.UseError, match="has step 1, not 2"):
        memory[::2]
    inner = memoryview(view[1:2])
    with pytest.raises(libcai.BufferError):
        memory.free()
    inner.release()
    del memory
    assert bytes(view) == bytes(range(4, 12))
    root, offset = Memory.find(view.address)
    assert (offset, root.size) == (4, 16)
    root.free()
    assert view.freed
    with pytest.raises(libcai.BufferError):
        memoryview(view)
    with pytest.raises(libcai.StateError):
        view[1:]


def test_free_twice():
    memory = of_cpu()
    memory.free()
    assert memory.freed
    assert "freed" in repr(memory)
    with pytest.raises(libcai.StateError, match="freed already"):
        memory.free()
    with pytest.raises(libcai.StateError):
        memory.array(3, "<f4")


def test_the_host_has_no_address_of_freed_memory():
    memory = of_cpu()
    assert memory.host_address == memory.address
    memory.free()
    assert (memory.host_address, memory.is_dereferenceable) == (None, False)


def test_a_buffer_of_freed_memory_is_refused_by_the_state():
    memory = of_cpu()
    array = memory.array(8, "|u1")
    memory.free()
    for exporter in (memory, array):
        for take in (memoryview, bytes):
            with pytest.raises(libcai.StateError, match="freed") as caught:
                take(exporter)
            assert isinstance(caught.value, libcai.BufferError)  # as the protocol requires
            assert caught.value.status == lib.CAI_ERR_STATE
    with pytest.raises(libcai.StateError, match="freed") as caught:
        np.asarray(memory)
    assert isinstance(caught.value, libcai.BufferError)


def test_the_status_of_a_state():
    memory = Memory(64, device="cpu")
    array = memory.array(8, "<f8")
    memory.free()
    for use in (
        memory.free,
        lambda: array.item(0),
        lambda: array.__array_interface__,
        array.to_interface,
        array.__dlpack__,
        lambda: libcai.use(array, stream=-1).__exit__(None, None, None),
    ):
        with pytest.raises(libcai.StateError) as caught:
            use()
        assert caught.value.status == lib.CAI_ERR_STATE


def test_arrays_of_freed_memory_go_nowhere():
    run(
        """
import numpy, operator
dict_of = operator.attrgetter("__cuda_array_interface__")

def gone(function, *arguments, **more):
    refused(libcai.StateError, "freed already", function, *arguments, **more)

for device, kind in [("cpu", "default"), ("gpu:0", "default"), ("gpu:0", "async"),
                     ("gpu:0", "managed"), ("gpu:0", "pinned")]:
    memory = libcai.Memory(64, kind, device=device)
    array = memory.array(8, "<f8")
    view = array[2:]
    on_host = device == "cpu" or kind in ("managed", "pinned")
    if not on_host:
        dict_of(array)  # which is kept, and must not come back
    memory.free()
    for dead in (array, view, array[:3]):
        gone(dead.__dlpack__)
        gone(dead.__arrow_c_device_array__)
        gone(dead.to_interface)
        gone(libcai.copy, dead)
        gone(libcai.from_dlpack, dead)
        if on_host:
            for function in numpy.from_dlpack, numpy.asarray, memoryview:
                gone(function, dead)
        if device == "cpu":
            continue
        gone(dict_of, dead)
        gone(dead.to_interface, version=2)
        with libcai.relaxed(export_stream=False):
            gone(dict_of, dead)
        stream = libcai.Stream(device=device)
        gone(libcai.use(dead, stream=stream).__enter__)
        gone(dead.publish, stream)
        gone(dead.publish_event, stream)
"""
    )


def test_find_what_is_not_there():
    with pytest.raises(libcai.CudaError):
        Memory.find(12)
    memory = of_cpu()
    address = memory.address
    del memory
    with pytest.raises(libcai.CudaError):
        Memory.find(address)


def test_usage():
    before = libcai.usage("cpu")
    memory = of_cpu(1000)
    assert libcai.usage("cpu").bytes == before.bytes + 1000
    assert libcai.usage("cpu").count == before.count + 1
    del memory
    assert libcai.usage("cpu")[:2] == before[:2]
    libcai.flush("cpu")
    with libcai.defer_cleanup("cpu"):
        assert libcai.usage("cpu").deferred == before.deferred + 1
        with libcai.defer_cleanup("cpu"):
            assert libcai.usage("cpu").deferred == before.deferred + 2
    assert libcai.usage("cpu").deferred == before.deferred
    with pytest.raises(libcai.StateError):
        libcai.defer_cleanup("cpu").__exit__(None, None, None)
    with pytest.raises(TypeError, match="made by"):
        type(libcai.defer_cleanup("cpu"))()


@pytest.mark.parametrize("convert", [int, float])
def test_it_is_no_number(convert):
    memory = of_cpu()
    memoryview(memory).cast("B")[:] = b"5" * memory.size
    with pytest.raises(TypeError, match=rf"^{convert.__name__}\(\) would read the bytes as text"):
        convert(memory)


def test_it_cannot_be_pickled():
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(of_cpu())


# ---- Other people's memory ---------------------------------------------------------------------


def test_wrapped_memory_keeps_its_owner():
    owner = bytearray(range(32))
    kept = Object()
    kept.buffer = np.frombuffer(owner, "u1")
    reference = weakref.ref(kept)
    memory = Memory.wrap(kept.buffer.ctypes.data, 32, device="cpu", owner=kept)
    del kept
    assert memory.foreign
    assert bytes(memory) == bytes(range(32))
    array = memory.array((4, 4), "<u2")
    assert np.asarray(array)[1, 0] == 0x0908
    del memory
    assert reference() is not None
    del array
    gc.collect()
    assert reference() is None


def test_wrap_refuses():
    owner = Object()
    reference = weakref.ref(owner)
    with pytest.raises((libcai.UseError, libcai.CudaError)):
        Memory.wrap(4096, 32, device="cpu", kind="cuda_array", owner=owner)
    with pytest.raises(libcai.UseError):
        Memory.wrap(-1, 32, device="cpu", owner=owner)
    del owner
    gc.collect()
    assert reference() is None


def test_cycles_through_owners():
    """The collector does not see what C holds; releasing the memory ends it."""
    owner = Object()
    owner.data = bytearray(8)
    reference = weakref.ref(owner)
    memory = Memory.wrap(4096, 8, device="cpu", owner=owner)
    del owner, memory
    gc.collect()
    assert reference() is None


def test_memory_of_arrays():
    given = np.arange(12, dtype="<i4")[::-1]
    memory, offset = Memory.of(given)
    assert memory.foreign
    assert (memory.size, offset) == (48, 44)
    assert bytes(memory)[:4] == b"\0\0\0\0"
    made = libcai.empty((3, 4), "<i4")
    memory, offset = Memory.of(made[1:])
    assert offset == 16
    assert memory.address == made.data
    assert not memory.foreign


def test_memory_of_a_read_only_array():
    text = b"never written"
    memory, _ = Memory.of(np.frombuffer(text, "|u1"))
    assert memory.readonly
    assert memory[1:3].readonly
    assert memoryview(memory).readonly
    array = memory.array(len(memory), "|u1")
    assert array.readonly
    with pytest.raises((BufferError, libcai.Error), match="read-only"):
        libcai.fill(array, 0)
    with pytest.raises(TypeError):
        memoryview(memory)[0] = 0
    assert text == b"never written"
    assert not Memory.of(np.zeros(8))[0].readonly


def test_work_on_memory_of_an_array_is_work_on_the_array():
    data = np.zeros(1 << 20, "|u1")
    array = libcai.asarray(data)
    memory, _ = Memory.of(array)
    stream = libcai.Stream("cpu")
    libcai.fill(memory.array(data.size, "|u1"), 5, stream=stream)
    assert (np.asarray(array) == 5).all()
    libcai.fill(array, 6, stream=stream)
    assert (np.asarray(memory.array(data.size, "|u1")) == 6).all()


def test_pin_without_a_gpu():
    python(
        """
import libcai
data = bytearray(64)
try:
    libcai.Memory.pin(data)
except libcai.CudaError:
    pass
else:
    raise AssertionError
data.append(1)  # it is exported no more
for wrong in (b"readonly", memoryview(data)[::2]):
    try:
        libcai.Memory.pin(wrong, device="cpu")
    except BufferError:
        pass
    else:
        raise AssertionError
try:
    libcai.Memory.pin(5, device="cpu")
except TypeError:
    pass
else:
    raise AssertionError
""",
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )


# ---- Arrays ------------------------------------------------------------------------------------


def test_arrays_of_memory():
    memory = of_cpu(96)
    array = memory.array((3, 4), "<f8")
    assert (array.shape, array.strides, array.typestr) == ((3, 4), (32, 8), "<f8")
    assert array.device == libcai.Device("cpu")
    assert array.data == memory.address
    numbers = np.asarray(array)
    numbers[:] = np.arange(12).reshape(3, 4)
    backwards = memory.array(12, np.float64, strides=[-8], offset=88)
    assert np.asarray(backwards).tolist() == list(range(11, -1, -1))
    assert memory.array((), "<f8", offset=8).item() == 1
    del memory
    assert np.asarray(array).sum() == 66


def test_arrays_that_leave_the_memory():
    memory = of_cpu(96)
    for arguments in (
        (13, "<f8"),
        (12, "<f8", [8], 1),
        (2, "<f8", [-8]),
        (1, "<f8", None, 1 << 63),
    ):
        with pytest.raises(libcai.UseError):
            memory.array(*arguments)
    with pytest.raises(libcai.UseError, match="one for each extent"):
        memory.array(3, "<f8", [8, 8])
    with pytest.raises(libcai.UseError):
        memory.array(-1, "<f8")
    with pytest.raises(libcai.UseError, match="65 dimensions"):
        memory.array([1] * 65, "<f8")
    with pytest.raises(libcai.UseError, match="out of range"):
        memory.array(1 << 70, "<f8")
    for typestr in ("<q8", "f8\0", "", "<V0"):
        with pytest.raises(libcai.UseError):
            memory.array(3, typestr)


def test_pitched_arrays():
    memory = of_cpu(12, "pitched", rows=3)
    array = memory.array((3, 3), "<i4")
    assert array.strides == (256, 4)


# ---- On simcuda --------------------------------------------------------------------------------

KINDS = """
for kind, type_ in dict(default=2, pitched=2, pinned=3, mapped=3, managed=13, managed_global=13,
                        pitched_managed=13, host=1, **{"async": 2}).items():
    rows = dict(rows=4) if "pitched" in kind else {}
    s = libcai.Stream()
    memory = libcai.Memory(64, kind, device="gpu", stream=s, **rows)
    assert memory.kind == kind and memory.address % (64 if kind == "host" else 256) == 0
    deref = kind in ("pinned", "mapped", "managed", "managed_global", "pitched_managed", "host")
    assert memory.is_dereferenceable is deref and (memory.host_address is not None) is deref, kind
    array = memory.array((4, 4), "<i4")
    assert array.device[0] == type_, (kind, array.device)
    assert array.is_dereferenceable is deref
    if not deref:
        refused(libcai.BufferError, "not for the host", memoryview, memory)
        assert not hasattr(array, "__array_interface__")
    else:
        libcai.fill(array, 7)
        import numpy
        assert (numpy.asarray(array) == 7).all()
        assert bytes(memory[:4]) == b"\\7\\0\\0\\0"
    found, offset = libcai.Memory.find(memory.address + 3)
    assert found.address == memory.address and offset == 3
    memory.free()
    refused(libcai.StateError, "freed already", memory.free)
"""


def test_kinds(simulated):
    simulated(KINDS)


def test_cuda_arrays_are_a_gpus():
    with pytest.raises(libcai.CudaError):
        of_cpu(64, "cuda_array", dtype="<f4", channels=1)
    with pytest.raises(libcai.UseError):
        of_cpu(64, "cuda_array", dtype="<q4", channels=1)


def test_cuda_arrays():
    run(
        """
memory = libcai.Memory(64, "cuda_array", device="gpu", rows=4, dtype="<f4", channels=1)
assert memory.cuda_array and memory.address == 0 and memory.rows == 4
refused(libcai.CudaError, "", memory.array, 4, "<f4")
refused(libcai.CudaError, "", lambda: memory[1:])
refused(libcai.BufferError, "", memoryview, memory)
"""
    )


def test_wrong_devices():
    run(
        """
there, cpu = libcai.Stream("gpu:1"), libcai.Stream("cpu")
refused(libcai.UseError, "", libcai.Memory, 64, device="gpu:0", stream=there)
refused(libcai.UseError, "", libcai.Memory, 64, device="cpu", stream=there)
assert libcai.Memory(64, stream=there).device == libcai.Device("gpu:1")
assert libcai.Memory(64, stream=cpu).device == libcai.Device("cpu")
memory = libcai.Memory(64, device="gpu:0")
refused(libcai.CudaError, "", memory.set_stream, there)
refused(MemoryError, "", libcai.Memory, 1 << 45, device="gpu:0")
"""
    )


def test_memory_is_freed_in_the_order_of_its_stream(simulated):
    code = """
s, t = libcai.Stream(), libcai.Stream()
memory = libcai.Memory(4096, "async", stream=s)
assert memory.stream == s.value
t.follow(s)
fill(c_uint64(memory.address), 7, 16, c_void_p(t.value))
RECORD
del memory
again = libcai.Memory(4096, "async", stream=s)
fill(c_uint64(again.address), 8, 16, c_void_p(s.value))
"""
    simulated(code.replace("RECORD", "memory.record(t)"))
    simulated(code.replace("RECORD", "memory.set_stream(t)"))
    simulated(code.replace("RECORD", ""), races=True)


def test_pin():
    run(
        """
import numpy
data = numpy.zeros(1024, "<i4")
memory = libcai.Memory.pin(data)
assert memory.kind == "pinned" and memory.host_address == data.ctypes.data
assert memory.size == 4096
s = libcai.Stream()
array = memory.array(1024, "<i4")
libcai.fill(array, 5, stream=s)
assert array.eval() is array
s.synchronize()
assert (data == 5).all()
refused((libcai.CudaError, libcai.UseError), "", libcai.Memory.pin, data)  # it is already
buffer = bytearray(4096)
held = libcai.Memory.pin(buffer, kind="mapped")
refused(BufferError, "", buffer.append, 1)
del held, memory, array
libcai.drain(wait=True)
buffer.append(1)
libcai.Memory.pin(data)
"""
    )


def test_pinned_memory_with_two_addresses():
    run(
        """
import numpy
combined = libcai.Memory(256, "pinned", device="gpu", write_combined=True)
plain = numpy.zeros(256, "|u1")
registered = libcai.Memory.pin(plain)
for memory in (combined, registered):
    assert memory.address != memory.host_address
    array = memory.array(256, "|u1")
    libcai.fill(array, 7, stream=libcai.Stream("cpu"))
    for seen in (numpy.asarray(array), numpy.from_dlpack(array), memoryview(memory)):
        assert bytes(seen) == bytes([7] * 256)
    assert numpy.asarray(array).ctypes.data == memory.host_address
    assert array.__cuda_array_interface__["data"][0] == memory.address
del array, seen, memory, combined, registered
libcai.drain(wait=True)
"""
    )


def test_from_dlpack_of_pinned_memory_asks_for_no_context():
    run(
        """
import numpy
memory = libcai.Memory(64, "pinned", device="gpu", write_combined=True)
array = memory.array(64, "|u1")
array.eval()
call("cuCtxSetCurrent", None)
stream = libcai.Stream()
libcai.fill(array, 3, stream=stream)
cuda.simcuda_reset_counts()
seen = numpy.from_dlpack(array)
assert seen.ctypes.data == memory.host_address and (seen == 3).all()
for name in ("cuCtxSetCurrent", "cuDevicePrimaryCtxRetain"):
    assert calls(name) == 0, name
call("cuCtxSetCurrent", context)
"""
    )


def test_validate():
    run(
        """
device, cpu = libcai.Device("gpu:0"), libcai.Device("cpu")
memory = libcai.Memory(256, device=device)
at = memory.address
libcai.Memory.validate(at, 256, device=device)
libcai.Memory.validate(at, device=device)
refused(libcai.UseError, "", libcai.Memory.validate, at, 1 << 30, device=device)
refused(libcai.CudaError, "", libcai.Memory.validate, at, 256, device="gpu:1")
refused(libcai.CudaError, "", libcai.Memory.validate, at, 256, device=cpu)
managed = lambda: libcai.Memory.validate(at, 256, device=device, kind="managed")
refused(libcai.CudaError, "", managed)
refused(libcai.UseError, "", libcai.Memory.validate, 0, 256, device=device)
"""
    )


def test_pending_frees():
    run(
        """
kept = [libcai.Memory(256) for _ in range(8)]
with libcai.defer_cleanup("gpu"):
    del kept
    usage = libcai.usage("gpu")
    assert usage.pending_count == 8 and usage.pending_bytes == 8 * 256 and usage.deferred == 1
    assert usage.count == 0
libcai.flush("gpu")
assert libcai.usage("gpu").pending_count == 0
"""
    )


# ---- Between processes -------------------------------------------------------------------------

OTHER = """
import os, pickle, socket, sys
import libcai
link = socket.socket(fileno=int(sys.argv[1]))
data, fds, _, _ = socket.recv_fds(link, 4096, 1)
handle = pickle.loads(data)
fd = fds[0] if fds else None
memory = libcai.Memory.open(handle, fd, how=sys.argv[2])
if fd is not None:
    os.close(fd)
array = memory.array(16, "<i4")
assert [array.item(i) for i in (0, 15)] == [7, 7], array.item(0)
if sys.argv[2] == "direct":
    libcai.fill(array, 9)
    array.eval()
del array, memory
link.send(b"done")
"""


@pytest.mark.parametrize("how", ["direct", "staged", "auto"])
@pytest.mark.parametrize("kind", ["legacy", "pool"])
def test_another_process(kind, how):
    run(
        f"""
import pickle, socket, subprocess
if {kind == "pool"}:
    manager = libcai.memory_manager("pool", exportable=True)
    memory = libcai.Memory(64, "async", manager=manager)
else:
    memory = libcai.Memory(64)
array = memory.array(16, "<i4")
libcai.fill(array, 7)
array.eval()
handle = memory.share()
assert handle.kind == {kind!r} and handle.size == 64 and (handle.fd is None) is {kind == "legacy"}
assert pickle.loads(pickle.dumps(handle)) == handle and handle.memory is memory
refused(libcai.StateError, "", libcai.Memory.open, handle, handle.fd)  # of this process
here, there = socket.socketpair()
other = subprocess.Popen([sys.executable, "-W", "error", "-c", {OTHER!r}, str(there.fileno()),
                          {how!r}], pass_fds=[there.fileno()])
socket.send_fds(here, [pickle.dumps(handle)], [handle.fd] if handle.fd is not None else [])
handle.close()
there.close()
assert here.recv(16) == b"done" and other.wait() == 0
assert array.item(3) == {9 if how == "direct" else 7}
"""
    )


# A handle of another process, of which a byte of any is not as it was.
FORGED = """
import multiprocessing

def share(link):
    import libcai
    memory = libcai.Memory(4096)
    libcai.fill(memory.array(4096, "|u1"), 7).eval()
    view = memory[1024:3072]
    kept = [memory.share(), view.share()]
    link.send(kept)
    link.recv()

if __name__ == "__main__":
    import struct
    import libcai
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    other = spawn.Process(target=share, args=(there,), daemon=True)
    other.start()
    there.close()
    handles = here.recv()

    def forged(handle, size=None, offset=None):
        data = bytearray(bytes(handle))
        for place, number in ((8, size), (16, offset)):
            if number is not None:
                struct.pack_into("=Q", data, place, number % 2**64)
        return libcai.IpcHandle(data)

    for how in ("direct", "staged"):
        for handle in handles:
            start = struct.unpack_from("=Q", bytes(handle), 16)[0]
            for wrong in (
                *(forged(handle, size=size) for size in (0, 4097 - start, 2**63, -1)),
                *(forged(handle, offset=offset) for offset in
                  (4097 - handle.size, 2**63, -1, 2**64 - handle.size)),
                forged(handle, size=2**63, offset=2**63),
                forged(handle, size=-1, offset=4096),  # whose sum is within it again
            ):
                try:
                    libcai.Memory.open(wrong, how=how)
                except libcai.UseError as error:
                    assert "handle" in str(error), error
                else:
                    raise AssertionError((how, wrong, "is opened"))
                assert libcai.usage("gpu").count == 0
            with_all = libcai.Memory.open(forged(handle, 100, 4096 - 100), how=how)
            assert with_all.size == 100 and with_all.array(100, "|u1").item(99) == 7
            del with_all
            libcai.flush("gpu")
    here.send(None)
    other.join()
    assert other.exitcode == 0
"""


def test_a_forged_size_of_another_process(tmp_path):
    script = tmp_path / "forged.py"  # what is spawned imports it
    script.write_text(FORGED, encoding="utf-8")
    run(f"import subprocess; subprocess.run([sys.executable, {str(script)!r}], check=True)")


NOWHERE = """
import multiprocessing

def share(link):
    import libcai
    memory = libcai.Memory(4096)
    link.send(memory.share())
    link.recv()

if __name__ == "__main__":
    import libcai
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    other = spawn.Process(target=share, args=(there,), daemon=True)
    other.start()
    there.close()
    handle = here.recv()
    closed = []

    class Nowhere(libcai.MemoryManager):
        def memalloc(self, size, align, kind, stream): raise MemoryError
        def memfree(self, address, size, kind, stream): pass
        def open_ipc_handle(self, handle, fd, stream): return self.answer
        def close_ipc_handle(self, address, size, stream): closed.append(address)

    manager = Nowhere("gpu")
    manager.install()
    for manager.answer in (0, (0, 0, 4096)):
        try:
            libcai.Memory.open(handle, how="direct")
        except libcai.StateError as error:
            assert str(error).endswith(
                "Nowhere: open_ipc_handle returned 4096 bytes at 0x0"), error
        else:
            raise AssertionError("it is opened")
    assert not closed and libcai.usage("gpu").count == 0
    here.send(None)
    other.join()
    assert other.exitcode == 0
"""


def test_a_manager_that_opens_a_handle_without_an_address(tmp_path):
    script = tmp_path / "nowhere.py"  # what is spawned imports it
    script.write_text(NOWHERE, encoding="utf-8")
    run(f"import subprocess; subprocess.run([sys.executable, {str(script)!r}], check=True)")


def test_handles_that_are_none():
    run(
        """
refused(libcai.UseError, "160 bytes", libcai.Memory.open, b"short")
refused(TypeError, "data is 'abc'", libcai.Memory.open, "abc")
class Short(type(libcai.Memory(64).share())):
    def __bytes__(self): return b"short"
refused(libcai.UseError, "160 bytes, not 5", libcai.Memory.open, Short(bytes(160)))
refused(libcai.UseError, "fd is 1099511627776", libcai.Memory.open, bytes(160), 1 << 40)
refused((libcai.UseError, libcai.CudaError, libcai.StateError), "", libcai.Memory.open, bytes(160))
refused(libcai.UseError, "how is 'fast'", libcai.Memory.open, bytes(160), how="fast")
refused(libcai.CudaError, "", libcai.Memory(64, "managed").share)
memory = libcai.Memory(64)
refused(libcai.CudaError, "cannot be shared: it has no bytes", memory[32:32].share)
memory.free()
refused(libcai.StateError, "", memory.share)
"""
    )
