# SPDX-License-Identifier: BSD-3-Clause
"""Memory managers of GPUs, on simcuda: built in, and written in Python; chosen; and in captures."""

import pytest
from simulation import run

pytestmark = pytest.mark.slow

PYTHON_MANAGER = """
class Mine(libcai.MemoryManager):
    made = []
    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        Mine.made.append(self)
        self.sizes, self.resets = {}, 0
    def memalloc(self, size, align, kind, stream):
        current = c_void_p()
        call("cuCtxGetCurrent", byref(current))
        assert current.value  # the primary context
        memory = c_uint64()
        call("cuMemAllocAsync", byref(memory), c_size_t(size), c_void_p(stream))
        self.sizes[memory.value] = size
        return memory.value
    def memfree(self, address, size, kind, stream):
        assert self.sizes.pop(address) == size
        call("cuMemFreeAsync", c_uint64(address), c_void_p(stream))
    def reset(self):
        self.resets += 1
"""


def test_a_python_manager_for_a_gpu(simulated):
    simulated(
        PYTHON_MANAGER
        + """
manager = Mine("gpu:0")
s = libcai.Stream()
x = libcai.full(1000, 3, "<i4", stream=s, manager=manager)
y = libcai.copy(x, libcai.empty(1000, "<i4", stream=s, manager=manager), stream=s)
assert len(manager.sizes) == 2
assert y.item(999) == 3
del x, y
s.synchronize()
assert manager.sizes == {}
manager.install()
assert libcai.MemoryManager.of("gpu:0") is manager
memory = libcai.Memory(64)
assert len(manager.sizes) == 1
libcai.Device("gpu:0").reset()
assert manager.resets == 1
del memory
assert manager.sizes == {}
libcai.Memory(64)
"""
    )


# Parts of slabs, which are libcai's own memory, of a manager that the pool is given or of the
# device's own; the pool is for any device.
SLABS = """
class Slabs(libcai.MemoryManager):
    def __init__(self, device, take):
        super().__init__(device)
        self.take, self.slabs, self.used = take, [], 0
    def memalloc(self, size, align, kind, stream):
        if not self.slabs or self.used + size > 1 << 20:
            self.slabs.append(self.take(self))
            self.used = 0
        slab, start = self.slabs[-1], self.used
        self.used += -(-size // 256) * 256
        return slab.address + start
    def memfree(self, address, size, kind, stream):
        pass

def counted(device):
    usage = libcai.usage(device)
    return usage.bytes, usage.count

def own(pool):
    return libcai.Memory(1 << 20, device=pool.device)

def beneath(pool):
    name = "host" if str(pool.device) == "cpu" else "default"
    return libcai.memory_manager(name, device=pool.device)

def built_in(pool):
    return libcai.Memory(1 << 20, manager=beneath(pool))

def raw(pool):
    return beneath(pool).alloc(1 << 20)
"""


@pytest.mark.parametrize("device", ["cpu", "gpu:0"])
@pytest.mark.parametrize("take", ["own", "built_in", "raw"])
def test_memory_of_a_pools_slabs_is_not_counted_twice(device, take):
    run(
        SLABS
        + f"""
before = counted({device!r})
pool = Slabs({device!r}, {take})
first, second = libcai.Memory(100, manager=pool), libcai.Memory(1000, manager=pool)
assert len(pool.slabs) == 1
def grown():
    return tuple(now - then for now, then in zip(counted({device!r}), before))
assert grown() == (1100, 2), grown()  # what the program has, and no slab beside it
found, offset = libcai.Memory.find(second.address + 50)
assert found.address == second.address and found.size == 1000 and offset == 50
del found, second
assert grown() == (100, 1), grown()
big = [libcai.Memory(1 << 19, manager=pool) for _ in range(3)]
assert len(pool.slabs) == 2 and grown() == (100 + 3 * (1 << 19), 4), grown()
at = first.address
del first, big
assert grown() == (0, 0), grown()
try:
    libcai.Memory.find(at + 50)
except libcai.CudaError:
    pass
else:
    raise AssertionError("a slab is found, whose parts are free")
if {take!r} == "raw":
    for slab in pool.slabs:
        beneath(pool).free(slab)
del pool
libcai.flush({device!r})
assert counted({device!r}) == before
""",
        judged=False,
    )


CAPTURED = """
def begin():
    call("cuStreamBeginCapture_v2", c_void_p(s.value), 1)
def end():
    graph = c_void_p()
    call("cuStreamEndCapture", c_void_p(s.value), byref(graph))
    call("cuGraphDestroy", graph)
s = libcai.Stream("gpu:0")
heard = []
sys.unraisablehook = lambda said: heard.append(said.exc_value)
libcai.on_failure(heard.append)
"""


def test_an_upstream_of_another_device_is_refused(simulated):
    simulated(
        PYTHON_MANAGER
        + """
up = libcai.memory_manager("default", device="gpu:1")
for device in ("gpu:0", "cpu"):
    refused(libcai.UseError, f"is for {device}, and its upstream default for gpu:1",
            Mine, device, upstream=up)
assert Mine(upstream=up).device == libcai.Device("gpu:1")
"""
    )


def test_a_python_manager_is_not_asked_in_a_capture(simulated):
    simulated(
        PYTHON_MANAGER
        + CAPTURED
        + """
manager = Mine("gpu:0")
memory = libcai.Memory(64, kind="async", stream=s, manager=manager)
block = manager.alloc(64, kind="async", stream=s)
begin()
refused(libcai.CudaError, "captured", lambda: manager.free(block, kind="async", stream=s))
refused(libcai.CudaError, "captured", lambda: manager.alloc(64, kind="async", stream=s))
def allocate():
    libcai.Memory(64, kind="async", stream=s, manager=manager)
refused(libcai.CudaError, "captured", allocate)
del memory
assert len(manager.sizes) == 2
end()
libcai.Memory(64)  # whatever was deferred is tried again
assert len(manager.sizes) == 1
manager.free(block, kind="async", stream=s)
assert manager.sizes == {}
assert heard == []
"""
    )


def test_what_a_python_manager_refuses_for_a_capture_is_tried_again(simulated):
    simulated(
        PYTHON_MANAGER
        + CAPTURED
        + """
import gc, weakref
class Around(libcai.MemoryManager):
    # Passes on what upstream says.
    def __init__(self, upstream):
        super().__init__("gpu:0", upstream=upstream)
        self.blocks = {}
    def memalloc(self, size, align, kind, stream):
        block = self.upstream.alloc(size, align=align, kind=kind, stream=stream)
        self.blocks[block.address] = block
        return block.address
    def memfree(self, address, size, kind, stream):
        self.upstream.free(self.blocks[address], kind=kind, stream=stream)
        del self.blocks[address]
    def mempin(self, host, size, kind, flags):
        return host
    def memunpin(self, address, size, kind):
        if pinned:
            pinned.clear()
            raise libcai.CudaError("not now", status=-12)  # CAI_ERR_CAPTURE
manager = Around(libcai.memory_manager("async", device="gpu:0"))
memory = libcai.Memory(64, stream=s, manager=manager)
block = manager.alloc(64, stream=s)
begin()
refused(libcai.CudaError, "captured", manager.alloc, 64, stream=s)
try:
    manager.free(block, stream=s)
except libcai.CudaError as error:
    assert error.status == -12, error.status
else:
    raise AssertionError
memory.free()
assert memory.freed and len(manager.blocks) == 2
end()
libcai.flush("gpu:0")
assert list(manager.blocks) == [block.address]
manager.free(block, stream=s)

manager.install()
pinned = [1]
data = bytearray(64)
libcai.Memory.pin(data, device="gpu:0")
refused(BufferError, "", data.append, 1)  # it is pinned still
libcai.flush("gpu:0")
data.append(1)
assert heard == [], heard

# Allocated blocks hold the manager, and only while they are allocated.
libcai.MemoryManager.of("gpu:0")
libcai.memory_manager("default", device="gpu:0").install()
gone = weakref.ref(manager)
del manager
gc.collect()
assert gone() is None
"""
    )


def test_a_reset_of_the_context_lets_go_of_managers():
    run(
        PYTHON_MANAGER
        + """
import gc, weakref
manager, installed = Mine("gpu:0"), Mine("gpu:0")
gone = weakref.ref(manager), weakref.ref(installed)
Mine.made.clear()
installed.install()
memory = libcai.Memory(64, manager=manager)
libcai.Device("gpu:0").reset(context=True)
assert manager.resets == 1 and len(manager.sizes) == 1
refused(libcai.StateError, "", manager.alloc, 64)
del memory, manager, installed
gc.collect()
assert [reference() for reference in gone] == [None, None]
call("cuCtxSetCurrent", None)
libcai.Device("gpu:0").set_current()
"""
    )


def test_a_class_chosen_for_every_gpu():
    run(
        PYTHON_MANAGER
        + """
libcai.set_memory_manager(Mine)
assert Mine.made == []
memory = libcai.Memory(64, device="gpu:1")
(manager,) = Mine.made
assert manager.device == libcai.Device("gpu:1") and list(manager.sizes.values()) == [64]
assert libcai.MemoryManager.of("gpu:1") is manager
assert libcai.MemoryManager.of("gpu:0").name == manager.name
assert len(Mine.made) == 2
del memory
assert manager.sizes == {}

class Wrong(Mine):
    def __init__(self, device):
        raise KeyError("wrong")
libcai.set_memory_manager(Wrong)
assert libcai.MemoryManager.of("gpu:0") is Mine.made[1]  # it has one already
refused(libcai.UseError, "nosuch", libcai.set_memory_manager, "nosuch")
""",
        SIMCUDA_DEVICES="2",
    )


def test_a_class_chosen_for_every_gpu_that_makes_something_else():
    run(
        PYTHON_MANAGER
        + """
class Another(Mine):
    def __init__(self, device):
        super().__init__("cpu")
class Nothing(Mine):
    def __new__(cls, device):
        return 5
class Unmade(Mine):
    def __init__(self, device):
        pass
for wrong, kind, text in (
    (Another, libcai.UseError, "Another, called for gpu:1, made a manager of cpu"),
    (Nothing, TypeError, "Nothing('gpu:1') returned is 5, and a libcai.MemoryManager is required"),
    (Unmade, libcai.StateError, "Unmade.__init__() did not call super().__init__()"),
):
    libcai.set_memory_manager(wrong)
    refused(kind, text, libcai.Memory, 64, device="gpu:1")
libcai.set_memory_manager(Mine)
assert libcai.Memory(64, device="gpu:1").size == 64
for answer in (-1, 2**64, (1 << 40, 0, -1)):
    Mine.memalloc = lambda self, *arguments, answer=answer: answer
    text = f"Mine returned {answer} for memory: "
    refused(libcai.UseError, text, libcai.Memory, 64, device="gpu:1")
""",
        SIMCUDA_DEVICES="2",
    )


def test_a_python_manager_that_comes_back_to_itself_without_end(simulated):
    simulated(
        PYTHON_MANAGER
        + """
class Circular(Mine):
    where = None
    def go_round(self, method):
        if method == self.where:
            libcai.Memory(64)
    def initialize(self):
        self.go_round("initialize")
    def memalloc(self, size, align, kind, stream):
        self.go_round("memalloc")
        return super().memalloc(size, align, kind, stream)

manager = Circular("gpu:0")
manager.install()
for method, message in {
    "initialize": "Circular: initialize allocates from the manager itself, by memalloc",
    "memalloc": "Circular: memalloc calls itself through libcai, without end",
}.items():
    manager.where = method
    refused(libcai.StateError, message, libcai.Memory, 64)
    manager.where = None
    libcai.Memory(64)
    assert manager.sizes == {}
"""
    )


def test_a_chosen_class_that_needs_the_manager_that_it_makes():
    run(
        PYTHON_MANAGER
        + """
class Needy(Mine):
    def __init__(self, device):
        super().__init__(device)
        libcai.Memory(64, device=device)
libcai.set_memory_manager(Needy)
for twice in range(2):
    refused(libcai.StateError, "Needy: create asks for the manager of", libcai.Memory, 64)
libcai.set_memory_manager(Mine)
libcai.Memory(64)
"""
    )


def test_a_chosen_class_that_fails():
    run(
        PYTHON_MANAGER
        + """
class Wrong(Mine):
    def __init__(self, device):
        raise KeyError("wrong")
libcai.set_memory_manager(Wrong)
refused(KeyError, "wrong", libcai.Memory, 64)
libcai.set_memory_manager(Mine)
libcai.Memory(64)
libcai.set_memory_manager("async")
assert libcai.MemoryManager.of("gpu:1").name == "async"
"""
    )


def test_the_environment():
    run(
        """
assert libcai.MemoryManager.of("gpu").name == "managed"
assert libcai.empty(3, device="gpu").device[0] in (2, 13)
assert libcai.MemoryManager.of("cpu").name == "host"
""",
        CAI_MEMORY_MANAGER="managed",
    )
    run(
        """
refused(libcai.UseError, "CAI_MEMORY_MANAGER", libcai.Memory, 64)
refused(libcai.UseError, "nosuch", libcai.Memory, 64)
""",
        CAI_MEMORY_MANAGER="nosuch",
    )


def test_pools(simulated):
    simulated(
        """
pool = libcai.memory_manager("pool", threshold=-1, initial=1 << 16)
s = libcai.Stream()
for _ in range(3):
    memory = libcai.Memory(1 << 16, "async", stream=s, manager=pool)
    del memory
s.synchronize()
pool.trim_cache()
def current():
    out = c_void_p()
    call("cuDeviceGetMemPool", byref(out), 0)
    return out.value
before = current()
installed = libcai.memory_manager("pool", install=True)
assert current() != before
del installed
assert current() == before
refused(libcai.UseError, "initial is -1", libcai.memory_manager, "pool", initial=-1)
"""
    )


def test_built_in_managers_for_gpus(simulated):
    simulated(
        """
for name in ("default", "async", "managed", "unified", "pool"):
    manager = libcai.memory_manager("statistics", upstream=libcai.memory_manager(name))
    x = libcai.full(100, 3, "<i4", device="gpu", manager=manager)
    assert x.item(99) == 3
    assert manager.statistics.bytes == 400
    del x
    assert manager.statistics.bytes == 0
    free, total = manager.memory
    assert 0 < free <= total
refused(libcai.UseError, "", libcai.memory_manager, "statistics", device="gpu:1", upstream=manager)
"""
    )
