# SPDX-License-Identifier: BSD-3-Clause
"""Memory managers: built in, and written in Python; on the CPU, with no driver."""

import contextlib
import csv
import ctypes
import gc
import io
import os
import pickle
import weakref
from pathlib import Path

import pytest
from helpers import python, run_threads

import libcai
from libcai import Memory, MemoryManager, memory_manager

pytestmark = pytest.mark.slow

HERE = os.path.basename(__file__)


class Heap(MemoryManager):
    """Memory of ctypes', and what was asked of it."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.buffers, self.calls = {}, []

    def memalloc(self, size, align, kind, stream):
        self.calls.append(("memalloc", size, align, kind, stream))
        buffer = ctypes.create_string_buffer(size + align)
        address = -(-ctypes.addressof(buffer) // align) * align
        self.buffers[address] = buffer
        return address

    def memfree(self, address, size, kind, stream):
        self.calls.append(("memfree", size, kind, stream))
        del self.buffers[address]


@pytest.fixture
def heap():
    manager = Heap("cpu")
    yield manager
    assert manager.buffers == {}


class Answering(MemoryManager):
    """Returns whatever it was given, and frees nothing."""

    answer = None

    def memalloc(self, size, align, kind, stream):
        return self.answer

    def memfree(self, *block):
        raise KeyError("mine")


# ---- Written in Python -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ((4096, 0), r"Answering returned \(4096, 0\) for memory"),
        (True, "address is True, and a number"),
        ((4096, 0, True), "size is True, and a number"),
        (None, "Answering returned None for memory"),
        ([4096], r"Answering returned \[4096\] for memory"),
    ],
)
def test_an_answer_that_is_no_memory(answer, text):
    manager = Answering("cpu")
    manager.answer = answer
    with pytest.raises(TypeError, match=text):
        Memory(8, manager=manager)


@pytest.mark.parametrize("answer", [(4096, 4096, 2), 4097])
def test_bad_memory_that_cannot_be_given_back(answer, monkeypatch):
    """The caller gets the manager's name, and the hook what the method has raised."""
    told = []
    monkeypatch.setattr("sys.unraisablehook", lambda left: told.append(repr(left.exc_value)))
    manager = Answering("cpu")
    manager.answer = answer
    with pytest.raises(libcai.StateError) as caught:
        Memory(8, manager=manager)
    assert manager.name in str(caught.value)
    assert told == ["KeyError('mine')"]


def test_what_is_no_block_and_no_manager():
    manager = memory_manager("host", device="cpu")
    for block in ((1, 2), (), 5, None, (1, 2, 3, 4, 5), "abcd"):
        with pytest.raises(TypeError):
            manager.free(block)
    with pytest.raises(TypeError, match=r"a block is .* not \(1, 2\)"):
        manager.free((1, 2))
    for chosen in (dict, object(), 5, manager):
        with pytest.raises(TypeError, match=r"a subclass of .* is required"):
            libcai.set_memory_manager(chosen)
    with pytest.raises(TypeError, match="has no parameter 'limit'"):
        memory_manager("pool", device="cpu", limit=5)


def test_memory_comes_from_it(heap):
    memory = Memory(100, manager=heap)
    assert memory.device == libcai.Device("cpu")
    assert list(heap.buffers) == [memory.address]
    memoryview(memory)[:] = bytes(100)
    del memory
    (size, align), (freed, kind, stream) = heap.calls[0][1:3], heap.calls[1][1:]
    assert size >= 100
    assert align in (64, 256)
    assert (freed, kind, stream) == (size, "default", 0)


def test_blocks(heap):
    block = heap.alloc(64, align=128, kind="default")
    assert block.address % 128 == 0
    assert block.host == block.address
    assert block.size == 64
    heap.free(block)
    assert heap.alloc(0) == (0, 0, 0, 0)
    heap.free((0, 0, 0, 0))
    assert [call[0] for call in heap.calls] == ["memalloc", "memfree"]
    with pytest.raises(libcai.UseError):
        heap.alloc(64, align=3)
    with pytest.raises(libcai.UseError):
        heap.alloc(-1)
    with pytest.raises(libcai.UseError):
        heap.alloc(64, kind="fast")


def test_names_and_devices(heap):
    assert heap.device == libcai.Device("cpu")
    assert heap.name.endswith(".Heap")
    assert heap.upstream is None
    assert "Heap device=cpu" in repr(heap)
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(heap)


def test_arrays_hold_the_manager():
    manager = Heap("cpu")
    reference, buffers = weakref.ref(manager), manager.buffers
    array = libcai.zeros(10, manager=manager)
    del manager
    gc.collect()
    assert reference() is not None
    del array
    gc.collect()
    assert buffers == {}
    assert reference() is None


def test_a_manager_in_a_cycle_is_collected():
    manager = Heap("cpu")
    manager.itself = manager
    reference = weakref.ref(manager)
    Memory(100, manager=manager)
    del manager
    gc.collect()
    assert reference() is None


def test_blocks_of_the_cpu_outlive_a_reset():
    manager = Heap("cpu")
    reference, buffers = weakref.ref(manager), manager.buffers
    memory = Memory(100, manager=manager)
    libcai.Device("cpu").reset(context=True)
    del manager
    gc.collect()
    assert reference() is not None
    del memory
    libcai.flush("cpu")
    assert buffers == {}
    assert reference() is None


def test_a_reset_while_a_manager_goes():
    """Its attributes go before it does, and let other code run."""
    python(
        """
import libcai
class Heap(libcai.MemoryManager):
    def memalloc(self, size, align, kind, stream):
        raise MemoryError
    def memfree(self, address, size, kind, stream):
        pass
    def reset(self):
        resets.append(1)
class Resetting:
    def __del__(self):
        libcai.Device("cpu").reset()
        resets.append(2)
resets, failures = [], []
libcai.on_failure(failures.append)
manager = Heap("cpu")
manager.attribute = Resetting()
del manager
libcai.usage("cpu")
assert resets == [2] and not failures, (resets, failures)
"""
    )


class Failing(Heap):
    error: BaseException | None = None

    def memalloc(self, *arguments):
        self.calls.append(arguments)
        if self.error:
            raise self.error
        return super().memalloc(*arguments)


@pytest.mark.parametrize(
    "error",
    [KeyError("k"), ValueError("v"), NotImplementedError("n"), libcai.StateError("s")],
    ids=lambda error: type(error).__name__,
)
def test_what_it_raises_the_caller_gets(error):
    manager = Failing("cpu")
    manager.error = error
    with pytest.raises(type(error)) as caught:
        Memory(100, manager=manager)
    assert caught.value is error
    with pytest.raises(type(error)):
        manager.alloc(100)
    manager.error = None
    Memory(100, manager=manager)


def test_out_of_memory_is_asked_twice():
    manager = Failing("cpu")
    manager.error = MemoryError("none left")
    with pytest.raises(MemoryError):
        Memory(100, manager=manager)
    assert len(manager.calls) == 2
    libcai.flush("cpu")
    wrapper = Failing(upstream=Heap("cpu"))
    wrapper.error = MemoryError("none left")
    with pytest.raises(MemoryError):
        Memory(100, manager=wrapper)
    assert len(wrapper.calls) == 1  # nothing was pending


class Short(Heap):
    """Has no memory at first, as often as it is told."""

    times = 0

    def memalloc(self, *arguments):
        if self.times:
            self.times -= 1
            raise MemoryError("none left")
        return super().memalloc(*arguments)


def test_a_retry_that_succeeds_keeps_nothing_of_the_caller():
    manager = Short("cpu")

    class Local:
        pass

    def allocate(retried=None):
        local = Local()
        manager.times = 1 if retried is None else 5
        Memory(100, manager=retried or manager)
        return weakref.ref(local)

    retrying = memory_manager("retrying", upstream=manager, retry=lambda size, attempt: attempt < 9)
    assert [allocate()() for _ in range(3)] == [None] * 3
    assert [allocate(retrying)() for _ in range(3)] == [None] * 3


def test_an_exception_outlives_the_calls_of_other_callbacks():
    """libcai is called between the failure and its return."""
    manager = Failing("cpu")
    manager.error = MemoryError("none left")

    def retry(size, attempt):
        Memory(8, device="cpu")
        with pytest.raises(libcai.UseError):
            Memory(8, device="cpu", kind="none")
        return attempt < 2

    retrying = memory_manager("retrying", upstream=manager, retry=retry)
    with pytest.raises(MemoryError) as caught:
        Memory(100, manager=retrying)
    assert caught.value is manager.error


def test_an_exception_of_a_manager_goes_with_the_call():
    class Failed(KeyError):
        """Can be weakly referred to."""

    class Raising(Heap):
        def memalloc(self, *arguments):
            failure = Failed("k")
            failures.append(weakref.ref(failure))
            raise failure

    failures = []
    with pytest.raises(KeyError) as caught:
        Memory(100, manager=Raising("cpu"))
    assert caught.value is failures[0]()
    del caught
    gc.collect()
    assert failures[0]() is None


@pytest.mark.parametrize("answer", [None, "address", (1, 2), (1, 2, 3, 4), -1, 1 << 64, 1.5])
def test_wrong_answers(answer):
    class Wrong(Heap):
        def memalloc(self, *arguments):
            return answer

    with pytest.raises((TypeError, ValueError)):
        Memory(100, manager=Wrong("cpu"))


def test_memory_that_leaves_the_address_space():
    class Wrong(Heap):
        def memalloc(self, size, align, kind, stream):
            return (1 << 64) - 256, 0, size

        def memfree(self, *arguments):
            pass

    with pytest.raises(libcai.StateError, match=r"asked for 512 bytes .* at 0xffffffffffffff00"):
        Memory(512, manager=Wrong("cpu"))


def test_too_little_memory_is_given_back():
    freed = []

    class Stingy(Heap):
        def memalloc(self, size, align, kind, stream):
            address = super().memalloc(size, align, kind, stream)
            return address, address, size - 1

        def memfree(self, address, size, kind, stream):
            freed.append(size)
            super().memfree(address, size, kind, stream)

    manager = Stingy("cpu")
    with pytest.raises(libcai.Error):
        Memory(100, manager=manager)
    assert len(freed) == 1
    assert manager.buffers == {}


def test_a_free_that_raises(monkeypatch):
    heard = []
    monkeypatch.setattr(
        "sys.unraisablehook", lambda said: heard.append((said.exc_type, said.object))
    )

    class Bad(Heap):
        def memfree(self, address, size, kind, stream):
            super().memfree(address, size, kind, stream)
            raise KeyError("free")

    manager = Bad("cpu")
    memory = Memory(100, manager=manager)
    with pytest.raises(KeyError, match="free"):
        memory.free()
    assert memory.freed
    assert heard == []
    Memory(100, manager=manager)  # no caller is told of it
    assert heard == [(KeyError, "memfree")]
    assert manager.buffers == {}
    reference = weakref.ref(manager)
    del manager, memory
    gc.collect()
    assert reference() is None


def test_methods_that_are_missing():
    with pytest.raises(TypeError, match="subclassed, or made by"):
        MemoryManager("cpu")

    class Half(MemoryManager):
        def memalloc(self, size, align, kind, stream):
            return 1

    with pytest.raises(TypeError, match="has no method memfree"):
        Half("cpu")

    class Unpaired(Heap):
        def mempin(self, *arguments):
            return 1

    with pytest.raises(TypeError, match=r"one of mempin\(\) and memunpin\(\), not both"):
        Unpaired("cpu")

    class Careless(Heap):
        def __init__(self):
            pass

    careless = Careless()
    assert "not made yet" in repr(careless)
    for use in (careless.install, lambda: careless.device, lambda: Memory(1, manager=careless)):
        with pytest.raises(libcai.StateError, match=r"super\(\)\.__init__"):
            use()


def test_optional_methods():
    calls = []

    class Full(Heap):
        def initialize(self):
            calls.append("initialize")

        def reset(self):
            calls.append("reset")

        def memhostalloc(self, size, align, kind, flags):
            calls.append(("memhostalloc", kind, flags))
            return super().memalloc(size, align, kind, 0)

        def memhostfree(self, address, size, kind):
            calls.append(("memhostfree", kind))
            super().memfree(address, size, kind, 0)

        def get_memory_info(self):
            return 7, 9

        def trim(self, keep):
            calls.append(("trim", keep))

    manager = Full("cpu")
    assert manager.memory == (7, 9)
    manager.trim_cache(5)
    Memory(10, "host", manager=manager)
    assert ("memhostalloc", "host", 0) in calls
    assert ("memhostfree", "host") in calls
    assert ("trim", 5) in calls
    assert calls.count("initialize") >= 1
    memory = Memory(10, manager=manager)
    libcai.Device("cpu").reset()
    assert "reset" in calls
    del memory
    assert manager.buffers == {}


def test_upstream_does_what_is_not_written():
    class Up(Heap):
        def get_memory_info(self):
            return 3, 4

        def defer_cleanup(self):
            return contextlib.nullcontext()

    up = Up("cpu")
    manager = Heap(upstream=up)
    assert manager.upstream is up
    assert manager.device == libcai.Device("cpu")
    assert manager.memory == (3, 4)


def test_answers_that_are_refused_by_name():
    class Wrong(Heap):
        def get_memory_info(self):
            return 5, "x"

    manager = Wrong("cpu")
    with pytest.raises(TypeError, match=r"returned \(5, 'x'\), not a pair of numbers"):
        _ = manager.memory


def test_installed():
    before = MemoryManager.of("cpu")
    manager = Heap("cpu")
    manager.install()
    try:
        assert MemoryManager.of("cpu") is manager
        memory = Memory(100, device="cpu")
        assert memory.address in manager.buffers
        reference = weakref.ref(manager)
        buffers = manager.buffers
        del manager
        gc.collect()
        assert reference() is not None
    finally:
        before.install()
    del memory
    assert buffers == {}
    gc.collect()
    assert reference() is None


def test_defer_cleanup_of_its_own():
    calls = []

    class Deferring(Heap):
        @contextlib.contextmanager
        def defer_cleanup(self):
            calls.append("enter")
            yield
            calls.append("exit")

    before = MemoryManager.of("cpu")
    manager = Deferring("cpu")
    manager.install()
    try:
        with libcai.defer_cleanup("cpu"), libcai.defer_cleanup("cpu"):
            assert calls == ["enter", "enter"]
        assert calls == ["enter", "enter", "exit", "exit"]
        Deferring.defer_cleanup = lambda self: 5
        with pytest.raises(TypeError, match=r"defer_cleanup\(\) returned 5, which is no context"):
            libcai.defer_cleanup("cpu").__enter__()
    finally:
        before.install()


def test_threads():
    manager = Heap("cpu")

    def work():
        for i in range(100):
            memory = Memory(i + 1, manager=manager)
            memoryview(memory)[0] = 1

    run_threads(*[work] * 8)
    assert manager.buffers == {}
    assert len(manager.calls) == 1600


def test_memory_that_outlives_the_interpreter():
    python(
        """
import libcai
class Heap(libcai.MemoryManager):
    def memalloc(self, size, align, kind, stream):
        return 1 << 20
    def memfree(self, address, size, kind, stream):
        print("freed")
manager = Heap("cpu")
manager.install()
memory = libcai.Memory(100, device="cpu")
libcai.Stream("cpu").attach(memory)
cycle = [memory, manager]
cycle.append(cycle)
"""
    )


# ---- Built in ----------------------------------------------------------------------------------


def test_statistics(heap):
    manager = memory_manager("statistics", upstream=heap)
    assert manager.upstream is heap
    assert manager.name == "statistics"
    first, second = Memory(100, manager=manager), Memory(50, manager=manager)
    del first
    assert manager.statistics == (50, 150, 150, 1, 2, 2, 0)
    assert manager.statistics.bytes_peak == 150
    del second
    with pytest.raises(libcai.CudaError):
        assert heap.statistics


def test_limiting(heap):
    manager = memory_manager("limiting", upstream=heap, limit=128)
    memory = Memory(100, manager=manager)
    with pytest.raises(MemoryError):
        Memory(29, manager=manager)
    del memory
    Memory(128, manager=manager)


def test_tracking_names_the_line(heap):
    manager = memory_manager("tracking", upstream=heap)
    memory = Memory(100, manager=manager)  # this line
    (found,) = manager.outstanding()
    assert (found.address, found.size, found.kind) == (memory.address, 100, "default")
    line = int(found.caller.rpartition(":")[2])
    assert found.caller.rpartition(":")[0] == __file__
    with open(__file__, encoding="utf-8") as source:
        assert source.read().splitlines()[line - 1].endswith("# this line")
    array = libcai.empty(3, manager=manager)
    assert HERE in manager.outstanding()[1].caller
    del memory, array
    assert manager.outstanding() == []
    with pytest.raises(libcai.CudaError):
        heap.outstanding()


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_logging_to_a_function(heap):
    lines = []
    manager = memory_manager("logging", upstream=heap, write=lines.append)
    Memory(100, manager=manager)
    log = rows("".join(lines))
    assert [row["action"] for row in log] == ["alloc", "free"]
    assert all(HERE in row["caller"] for row in log)
    assert all(row["device"] == "cpu" and row["size"] == "100" for row in log)
    assert all(line.endswith("\n") for line in lines)


def test_logging_to_a_file(heap, tmp_path):
    path = tmp_path / "log.csv"
    manager = memory_manager("logging", upstream=heap, path=path)
    Memory(100, manager=manager)
    del manager
    gc.collect()
    assert [row["action"] for row in rows(path.read_text())] == ["alloc", "free"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_log_that_fails(heap, monkeypatch):
    heard = []
    monkeypatch.setattr("sys.unraisablehook", heard.append)
    manager = memory_manager("logging", upstream=heap, write=lambda text: 1 / 0)
    Memory(100, manager=manager)
    assert {entry.exc_type for entry in heard} == {ZeroDivisionError}


def test_a_log_that_uses_what_it_logs(heap):
    lines = []

    def write(text):
        lines.append(text)
        if len(lines) == 2:
            Memory(7, manager=manager)

    manager = memory_manager("logging", upstream=heap, write=write)
    Memory(100, manager=manager)
    assert [row["size"] for row in rows("".join(lines))] == ["100", "7", "7", "100"]


def test_functions_go_with_their_manager(heap):
    class Write:
        def __call__(self, text):
            pass

    write = Write()
    reference = weakref.ref(write)
    manager = memory_manager("logging", upstream=heap, write=write)
    memory = Memory(100, manager=manager)
    del write, manager
    gc.collect()
    assert reference() is None
    del memory


def companions():
    gc.collect()
    return sum(type(item).__name__ == "Companion" for item in gc.get_objects())


def test_callbacks_leave_nothing_behind(heap):
    before = companions()
    for name, functions in (("logging", {"write": print}), ("retrying", {"retry": print})):
        with pytest.raises(libcai.UseError):
            memory_manager(name, device="cpu", **functions)  # around nothing
        manager = memory_manager(name, upstream=heap, **functions)
        memory = Memory(100, manager=manager)
        del manager
        assert companions() > before  # the memory has the manager
        del memory
        assert companions() == before


def test_retrying():
    manager, asked = Failing("cpu"), []
    manager.error = MemoryError("none left")

    def retry(size, attempt):
        asked.append((size, attempt))
        if attempt == 2:
            manager.error = None
        return True

    outer = memory_manager("retrying", upstream=manager, retry=retry)
    memory = Memory(100, manager=outer)
    assert [attempt for _, attempt in asked] == [0, 1, 2]
    manager.error = MemoryError("none left")
    outer = memory_manager("retrying", upstream=manager, retry=lambda size, attempt: False)
    with pytest.raises(MemoryError):
        Memory(100, manager=outer)
    del memory
    assert manager.buffers == {}


def test_what_is_refused(heap, tmp_path):
    with pytest.raises(libcai.UseError, match="nosuch"):
        memory_manager("nosuch", device="cpu")
    with pytest.raises(libcai.UseError):
        memory_manager("statistics", device="cpu")
    with pytest.raises(libcai.UseError):
        memory_manager(f"{tmp_path}/libnone.so", device="cpu")
    with pytest.raises(TypeError, match="no parameter 'limit'"):
        memory_manager("statistics", upstream=heap, limit=5)
    with pytest.raises(TypeError, match="either `path` or `write`"):
        memory_manager("logging", upstream=heap)
    with pytest.raises(TypeError, match="either `path` or `write`"):
        memory_manager("logging", upstream=heap, path="x", write=print)
    with pytest.raises(libcai.UseError):
        memory_manager("logging", upstream=heap, path=tmp_path / "no" / "where")
    with pytest.raises(TypeError, match=r"'retrying'.* requires 'retry'"):
        memory_manager("retrying", upstream=heap)
    with pytest.raises(TypeError, match=r"'limiting'.* requires 'limit'"):
        memory_manager("limiting", upstream=heap)
    for more in ({}, {"device": "cpu"}):
        with pytest.raises(TypeError, match=r"^upstream is 'host', and a libcai\.MemoryManager is"):
            memory_manager("statistics", upstream="host", **more)
        with pytest.raises(TypeError, match=r"^upstream is 'host', and a libcai\.MemoryManager is"):
            Heap(upstream="host", **more)
    with pytest.raises(TypeError, match="name must be a str"):
        memory_manager(5, device="cpu")
    with pytest.raises(libcai.UseError, match=r"name is .* with a lone surrogate"):
        memory_manager("\ud800", device="cpu")
    with pytest.raises(TypeError, match=r"^size is 1\.5, and an integer is required"):
        heap.alloc(1.5)
    with pytest.raises(TypeError, match=r"^keep is 1\.5, and an integer is required"):
        heap.trim_cache(1.5)
    with pytest.raises(TypeError, match="the name of a manager, or a subclass"):
        libcai.set_memory_manager(heap)
    with pytest.raises(libcai.UseError):
        libcai.set_memory_manager("nosuch")


def test_paths_that_are_none(heap, tmp_path):
    cut = f"{tmp_path}/a.csv\0evil"
    for path in (cut, cut.encode(), Path(cut)):
        with pytest.raises(libcai.UseError, match=r"path is .*, with a NUL"):
            memory_manager("logging", upstream=heap, path=path)
    with pytest.raises(libcai.UseError, match=r"path is .*, with a lone surrogate"):
        memory_manager("logging", upstream=heap, path="\ud800")
    with pytest.raises(TypeError, match=r"path is 5, and neither a str, bytes nor an os\.PathLike"):
        memory_manager("logging", upstream=heap, path=5)
    assert not any(tmp_path.iterdir())


def test_failures_that_nobody_hears_of(monkeypatch):
    """A free that fails while memory is let go."""
    monkeypatch.setattr("sys.unraisablehook", lambda said: None)

    class Bad(Heap):
        def memfree(self, address, size, kind, stream):
            super().memfree(address, size, kind, stream)
            raise KeyError("free")

    heard = []
    libcai.on_failure(heard.append)
    try:
        Memory(100, manager=Bad("cpu"))
        libcai.usage("cpu")
        (error,) = heard
        assert isinstance(error, libcai.Error)
    finally:
        libcai.on_failure(None)
    Memory(100, manager=Bad("cpu"))
    libcai.usage("cpu")
    assert len(heard) == 1
    with pytest.raises(TypeError, match="cannot be called"):
        libcai.on_failure(5)


def test_a_leak_is_told(heap):
    heard = []
    libcai.on_failure(heard.append)
    try:
        manager = memory_manager("tracking", upstream=heap)
        block = manager.alloc(100)
        del manager
        gc.collect()
        libcai.usage("cpu")
        assert len(heard) == 1
        assert "100" in str(heard[0])
    finally:
        libcai.on_failure(None)
    heap.free(block)


def test_wrappers_chain(heap):
    manager = heap
    for name, more in [("statistics", {}), ("limiting", {"limit": 1000}), ("tracking", {})]:
        manager = memory_manager(name, upstream=manager, **more)
    memory = Memory(100, manager=manager)
    assert manager.statistics.bytes == 100
    assert len(manager.outstanding()) == 1
    del memory, manager
    gc.collect()
