# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of the host's, passed as they are to functions that work on streams of the CPU's: each
call makes an import of its own, and all of them come after each other by address; and so they and
libcai's own array do, if the memory is libcai's."""

import random
import time

import numpy as np
import pytest
from simulation import run

import libcai

COUNT = 12


class OfTensors:
    """An exporter with DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **arguments):
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Program:
    """Random work on two arrays; `true` is what they hold after it, done at once."""

    def __init__(self, seed):
        self.any = random.Random(seed)
        self.own = [None, libcai.zeros(COUNT, "<i4", device="cpu")]
        self.arrays = [np.zeros(COUNT, "i4"), np.asarray(self.own[1])]
        self.true = [array.copy() for array in self.arrays]
        self.streams = [libcai.Stream("cpu") for _ in range(3)]
        self.steps = []

    def part(self):
        """A slice, and the same of what is true."""
        which, first = self.any.randrange(2), self.any.randrange(COUNT - 4)
        part = slice(first, first + 4)
        self.steps[-1] += f" {which}[{first}:{first + 4}]"
        if self.own[which] and self.any.random() < 0.5:
            return self.own[which][part], self.true[which][part]
        return self.given(self.arrays[which][part]), self.true[which][part]

    def given(self, array):
        if self.any.random() < 0.5:
            return self.any.choice([array, memoryview(array)])
        import_ = self.any.choice([libcai.asarray, libcai.from_dlpack])
        return import_(self.any.choice([array, OfTensors(array)]))

    def stream(self):
        which = self.any.randrange(4)
        self.steps[-1] += f" on {which}"
        return {"stream": self.streams[which]} if which < 3 else {}

    def delay(self):
        stream, seconds = self.any.choice(self.streams), self.any.choice([0, 0.001, 0.003])
        stream.enqueue(lambda: time.sleep(seconds))

    def fill(self):
        part, true = self.part()
        value = self.any.randrange(100)
        libcai.fill(part, value, **self.stream())
        true[:] = value

    def copy(self):
        part, true = self.part()
        target, true_target = self.part()
        if np.shares_memory(true, true_target):
            return
        libcai.copy(part, target, **self.stream())
        true_target[:] = true

    def read(self):
        part, true = self.part()
        how = self.any.randrange(6)
        self.steps[-1] += f" {how}"
        if how == 0:
            found = [libcai.asarray(part).item(i) for i in range(4)]
        elif how == 1:
            found = np.asarray(libcai.asarray(part))
        elif how == 2:
            found = np.asarray(libcai.asarray(part).eval())
        elif how == 3:
            found = np.from_dlpack(libcai.asarray(part))
        elif how == 4:
            found = np.asarray(libcai.copy(part))
        else:
            with libcai.use(part, stream=1, order="host", access="read"):
                found = np.array(part)
        assert list(found) == list(true), self.steps

    def run(self, count):
        for _ in range(count):
            step = self.any.choice([self.delay, self.fill, self.fill, self.copy, self.read])
            self.steps.append(step.__name__)
            step()
        for stream in self.streams:
            stream.synchronize()
        for array, true in zip(self.arrays, self.true, strict=True):
            assert list(array) == list(true), self.steps


@pytest.mark.parametrize("seed", range(40))
def test_work_on_a_host_array_comes_after_all_before(seed):
    Program(seed).run(60)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40, 1040))
def test_work_on_a_host_array_comes_after_all_before_it_often(seed):
    Program(seed).run(100)


def fill_late(array, value):
    """Fills an import of its memory later, on a stream of the CPU's that needs the GIL first."""
    stream = libcai.Stream("cpu")
    stream.enqueue(lambda: time.sleep(0.05))
    libcai.fill(libcai.from_dlpack(OfTensors(array)), value, stream=stream)


class OfDict:
    """An exporter with the host's dict alone."""

    def __init__(self, array):
        self.__array_interface__ = array.__array_interface__


@pytest.mark.parametrize(
    "read",
    [
        np.asarray,
        memoryview,
        lambda array: np.asarray(OfDict(array)),
        np.from_dlpack,
    ],
    ids=["numpy", "buffer", "dict", "tensor"],
)
def test_an_array_of_our_own_waits_for_work_on_its_imports(read):
    """The first time, when its dict is written, and again, when that is there."""
    array = libcai.zeros(COUNT, "<i4", device="cpu")
    for value in (3, 4):
        fill_late(array, value)
        assert list(read(array)) == [value] * COUNT


PINNED = """
import time
import numpy as np
pinned = c_void_p()
call("cuMemHostAlloc", byref(pinned), c_size_t(24), 3)  # portable, and mapped
dict_of = producer(data=(pinned.value, False), shape=(6,), typestr="<i4", stream=1)
array = libcai.asarray(dict_of)
numbers = np.frombuffer((c_char * 24).from_address(pinned.value), "<i4")
held = array.__cuda_array_interface__  # written once, and again as it was
stream = libcai.Stream("cpu")
for value in (3, 4):
    stream.enqueue(lambda: time.sleep(0.05))
    libcai.fill(numbers, value, stream=stream)
    assert array.__cuda_array_interface__ == held
    assert list(numbers) == [value] * 6, list(numbers)
"""


def test_a_dict_for_the_gpu_waits_for_the_hosts_work_on_its_memory():
    run(PINNED)
