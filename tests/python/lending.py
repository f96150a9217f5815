# SPDX-License-Identifier: BSD-3-Clause
"""A random program over memory, arrays of it and what the host reads of them: whatever it does,
what can be read is not freed, and what was freed or reset gives no buffer."""

import random

import numpy as np

import libcai
from libcai import Memory

SIZE = 1 << 20  # so large that what is freed is unmapped


class Exporter:
    """A foreign class, whose dict is an array's."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.to_interface()


def found(memory):
    memory.array(SIZE, "|u1")  # else, where it is dead, another may be there by now
    return Memory.find(memory.address + 5)[0]


# Of memory or an array: each exports the memory's contents, and holds it.
BUFFERS_OF_MEMORY = {
    "buffer": lambda memory: memoryview(memory),
    "frombuffer": lambda memory: np.frombuffer(memory, "u1"),
    "view": lambda memory: memoryview(memory[1:-1]),
    "find": lambda memory: memoryview(found(memory)),
    "of": lambda memory: memoryview(Memory.of(memory.array(SIZE, "|u1"))[0]),
    "read-only of": lambda memory: memoryview(
        Memory.of(memory.array(1, "|u1").broadcast_to((SIZE,)))[0]
    ),
}
BUFFERS_OF_ARRAYS = {
    "memoryview": memoryview,
    "asarray": np.asarray,
    "slice": lambda array: np.asarray(array[::2]),
    "reshape": lambda array: memoryview(array.reshape(2, -1)),
    "again": lambda array: np.asarray(libcai.asarray(memoryview(array))[1:]),
}
HOST_DICTS = {
    "times": lambda array, memory: np.asarray(memory.array(SIZE // 8, "<M8[s]")),
    "dict": lambda array, memory: np.asarray(Holder(array)),
    "exporter": lambda array, memory: np.asarray(Exporter(array)),
}


class Holder:
    """An object with an array's own dict, which holds the array."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Program:
    """Memory on one device, each filled with a number of its own."""

    def __init__(self, seed, device, kind):
        self.random = random.Random(seed)
        self.device = device
        self.kind = kind
        self.memories = []  # [memory, array of it, its number]
        self.lent = []  # (what lies in memory, its entry above)
        self.refused = self.freed = 0

    def run(self, steps):
        for _ in range(steps):
            chosen = self.random.choices(
                [self.make, self.lend, self.give_back, self.free, self.lend_dead, self.reset],
                [3, 6, 4, 4, 2, 1],
            )[0]
            chosen()
            self.look()

    def pick(self, dead=False):
        found = [entry for entry in self.memories if entry[0].freed == dead]
        return self.random.choice(found) if found else None

    def make(self):
        if len(self.memories) < 8:
            memory = Memory(SIZE, self.kind, device=self.device)
            number = self.random.randrange(1, 256)
            memoryview(memory)[:] = bytes([number]) * SIZE
            self.memories.append((memory, memory.array(SIZE, "|u1"), number))

    def take(self, entry):
        memory, array, _ = entry
        way = self.random.choice([*BUFFERS_OF_MEMORY.values(), *BUFFERS_OF_ARRAYS.values()])
        return way(memory if way in BUFFERS_OF_MEMORY.values() else array)

    def lend(self):
        if entry := self.pick():
            self.lent.append((self.take(entry), entry))

    def lend_dead(self):
        if entry := self.pick(dead=True):
            try:
                self.take(entry)
            except (libcai.BufferError, libcai.StateError, libcai.CudaError):
                return
            raise AssertionError("dead memory gave a buffer")

    def give_back(self):
        if self.lent:
            del self.lent[self.random.randrange(len(self.lent))]

    def free(self):
        if not (entry := self.pick()):
            return
        is_lent = any(other is entry for _, other in self.lent)
        try:
            entry[0].free()
        except libcai.BufferError:
            assert is_lent
            self.refused += 1
        else:
            assert not is_lent
            self.freed += 1

    def reset(self):
        if len(self.memories) == 8:  # else the dead are no more
            self.memories = [entry for entry in self.memories if not entry[0].freed]
        try:
            libcai.Device(self.device).reset(context=True)
        except libcai.BufferError:
            assert self.lent
            self.refused += 1
        else:
            assert not self.lent or self.device == "cpu"

    def look(self):
        for view, (memory, _, number) in self.lent:
            assert not memory.freed
            flat = np.asarray(view).reshape(-1)
            assert flat[0] == flat[-1] == number
