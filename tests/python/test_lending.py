# SPDX-License-Identifier: BSD-3-Clause
"""What the host reads of memory by address: as long as it can, the memory is neither freed nor
reset."""

import contextlib
import gc
import sys
import time
from threading import Barrier, Event

import numpy as np
import pytest
from helpers import run_threads
from hypothesis import given
from hypothesis import strategies as st
from lending import BUFFERS_OF_ARRAYS, BUFFERS_OF_MEMORY, HOST_DICTS, SIZE, Program
from simulation import run

import libcai
from libcai import Memory


def refuses_while_there_is(memory, seen):
    with pytest.raises(libcai.BufferError, match="there are buffers in the memory: 1,"):
        memory.free()
    assert not memory.freed
    assert len(np.asarray(seen)) > 0


@pytest.mark.parametrize("name", BUFFERS_OF_MEMORY)
def test_buffers_of_memory(name):
    memory = Memory(SIZE, device="cpu")
    refuses_while_there_is(memory, BUFFERS_OF_MEMORY[name](memory))
    memory.free()
    with pytest.raises((libcai.BufferError, libcai.StateError, libcai.CudaError)):
        BUFFERS_OF_MEMORY[name](memory)


@pytest.mark.parametrize("name", BUFFERS_OF_ARRAYS)
def test_buffers_of_arrays(name):
    memory = Memory(SIZE, device="cpu")
    array = memory.array(SIZE, "|u1")
    refuses_while_there_is(memory, BUFFERS_OF_ARRAYS[name](array))
    memory.free()
    with pytest.raises(libcai.StateError, match=f"the memory at {array.data:#x} was freed already"):
        BUFFERS_OF_ARRAYS[name](array)


@pytest.mark.parametrize("name", HOST_DICTS)
def test_dicts_for_numpy_count_as_long_as_the_array(name):
    memory = Memory(SIZE, device="cpu")
    refuses_while_there_is(memory, HOST_DICTS[name](memory.array(SIZE, "|u1"), memory))
    memory.free()


def test_a_dict_that_is_asked_for_again_counts_once():
    memory = Memory(SIZE, device="cpu")
    array = memory.array(SIZE, "|u1")
    for _ in range(3):
        assert array.__array_interface__ == array.to_interface()
    with pytest.raises(libcai.BufferError, match="the memory: 1,"):
        memory.free()
    del array
    memory.free()


def test_a_dict_that_fails_does_not_count():
    memory = Memory(SIZE, device="cpu")
    other = Memory(SIZE, device="cpu")
    like = libcai.from_interface(
        {**np.zeros(4, "u1").__array_interface__, "mask": np.ones(4, bool)}, host=True
    )
    masked = libcai.copy(like)
    with pytest.raises(libcai.BufferError, match="mask"):
        masked.__array_interface__  # noqa: B018
    Memory.of(masked)[0].free()
    array = memory.array(SIZE, "|u1")
    memory.free()
    for _ in range(2):
        with pytest.raises(libcai.StateError):
            array.__array_interface__  # noqa: B018
    other.free()


def test_a_dict_in_a_cycle_counts_until_it_is_collected():
    memory = Memory(SIZE, device="cpu")
    cycle = [memory.array(SIZE, "|u1")]
    cycle += [cycle, cycle[0].__array_interface__]
    with pytest.raises(libcai.BufferError):
        memory.free()
    del cycle
    gc.collect()
    memory.free()


def test_dead_memory_of_nothing():
    memory = Memory(SIZE, device="cpu")
    empty = memory.array(0, "|u1")
    view = memoryview(empty)
    with pytest.raises(libcai.BufferError):
        memory.free()
    view.release()
    memory.free()
    with pytest.raises(libcai.StateError):
        np.asarray(empty)


def test_memory_of_somebodys_array():
    theirs = np.arange(8)
    memory, _ = Memory.of(theirs)
    array = memory.array(8, "<i8")
    numbers = np.asarray(array)
    with pytest.raises(libcai.BufferError):
        memory.free()
    del numbers
    memory.free()
    with pytest.raises(libcai.StateError):
        np.asarray(array)


@pytest.mark.parametrize("take", [memoryview, lambda memory: np.asarray(memory.array(8, "|u1"))])
def test_a_buffer_that_is_taken_while_memory_is_freed(take):
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(500):
            memory = Memory(64 << 20, device="cpu")
            both = Barrier(2)
            views = []

            def lend(memory=memory, both=both, views=views):
                both.wait()
                with contextlib.suppress(libcai.BufferError, libcai.StateError):
                    views.append(take(memory))

            def free(memory=memory, both=both):
                both.wait()
                with contextlib.suppress(libcai.BufferError):
                    memory.free()

            run_threads(lend, free)
            assert not (views and memory.freed)
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("take", [memoryview, lambda memory: memoryview(memory[1:])])
def test_a_free_while_a_buffer_waits_for_work(take):
    memory = Memory(SIZE, device="cpu")
    stream = libcai.Stream("cpu")
    gate, begun = Event(), Event()
    stream.enqueue(gate.wait)
    libcai.fill(memory.array(SIZE, "|u1"), 7, stream=stream)
    views = []

    def lend():
        begun.set()
        with contextlib.suppress(libcai.BufferError):
            views.append(take(memory))

    def free():
        begun.wait()
        time.sleep(0.05)  # it waits by then, or the late call fails
        with contextlib.suppress(libcai.BufferError):
            memory.free()
        gate.set()

    run_threads(lend, free)
    assert bool(views) is not memory.freed
    assert not views or views[0][-1] == 7


@given(st.integers(0, 2**32))
def test_any_program_on_the_cpu(seed):
    Program(seed, "cpu", "default").run(40)


def test_any_program_on_pinned_memory():
    out = run(
        """
from lending import Program
refused = freed = 0
for seed in range(30):
    program = Program(seed, "gpu:0", "pinned" if seed % 2 else "managed")
    program.run(60)
    refused += program.refused
    freed += program.freed
    del program
assert refused > 50 and freed > 50, (refused, freed)
libcai.drain(wait=True)
""",
        judged=False,
    )
    assert out == ""


def test_a_context_is_not_reset_with_buffers_out():
    run(
        """
import numpy as np
import pytest
from libcai import Device, Memory
device = Device("gpu:0")
told = []
Device.on_reset(told.append)
for kind in ("pinned", "mapped", "managed"):
    memory = Memory(64, kind, device="gpu")
    for lend in (
        lambda: memoryview(memory),
        lambda: np.asarray(memory.array(8, "<i8")),
        lambda: np.asarray(memory.array(8, "<M8[s]")),
    ):
        view = lend()
        with pytest.raises(libcai.BufferError, match="gpu:0 is not reset: .* memory: 1, around 0x"):
            device.reset(context=True)
        assert not memory.freed and not told
        del view
    device.reset()  # the memory stays
    assert not memory.freed and told.pop() == device

of_cpu = memoryview(Memory(64, device="cpu"))
def lend(device):
    for take in (memoryview, lambda memory: np.asarray(memory.array(8, "|u1"))):
        with pytest.raises(libcai.BufferError, match="gpu:0 is being reset"):
            take(memory)
Device.on_reset(lend)
device.reset(context=True)
Device.off_reset(lend)
assert memory.freed and told == [device] and of_cpu[0] == of_cpu[0]
with pytest.raises(libcai.BufferError, match="freed"):
    memoryview(memory)
again = Memory(64, "pinned", device="gpu:0")
assert len(memoryview(again)) == 64
""",
        judged=False,
    )
