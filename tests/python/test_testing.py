# SPDX-License-Identifier: BSD-3-Clause
"""libcai.testing: good producers, consumers and importers pass, and each kind of bad one does not.

The tests run on simcuda by the package's own marker.
"""

import ctypes
import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest
from helpers import LIMIT, LONG

import libcai
from libcai import testing
from libcai.testing import _driver

pytestmark = pytest.mark.slow
on_simcuda = pytest.mark.simcuda(timeout=LIMIT)
under_schedules = on_simcuda(schedules=["lazy", "random:1"] if LONG else "lazy")


@pytest.fixture
def cuda():
    return _driver.current()


@pytest.fixture
def races_are_meant(cuda):
    """For tests that race: the marker ignores what they leave behind."""
    yield
    assert cuda.races() > 0, "nothing raced"
    cuda._library.simcuda_reset()
    assert cuda.races() == 0


# ---- Producers ----------------------------------------------------------------------------------


class Producer:
    """24 bytes on the device that a memset is filling; what its dict says can be changed."""

    def __init__(self, **changes):
        self.cuda = _driver.current()
        self.stream = self.cuda.new_stream()
        self.address = self.cuda.cuMemAllocAsync(24, self.stream)
        self.cuda.cuMemsetD8Async(self.address, 7, 24, self.stream)
        self.changes = changes

    @property
    def __cuda_array_interface__(self):
        made = {
            "shape": (2, 3),
            "typestr": "<f4",
            "data": (self.address, False),
            "version": 3,
            "strides": None,
            "stream": self.stream,
        }
        return {**made, **{k: v(self) if callable(v) else v for k, v in self.changes.items()}}

    def __del__(self):
        self.cuda.cuMemFreeAsync(self.address, self.stream)


@under_schedules
def test_good_producers(cuda):
    assert testing.check_producer(Producer)
    assert testing.check_producer(Producer())
    assert testing.check_producer(lambda: Producer(strides=(12, 4)))
    assert testing.check_producer(lambda: Producer(strides=(4, 8), shape=(2, 3)))
    assert testing.check_producer(lambda: Producer(shape=(2,), strides=(-8,), data=at(8)))
    assert testing.check_producer(lambda: Producer(shape=(2, 3), strides=(0, 4)))
    assert testing.check_producer(lambda: Producer(shape=(0, 3), data=(0, False)))
    assert testing.check_producer(lambda: Producer(mask=Producer(typestr="|b1")))
    report = testing.check_producer(
        lambda: Producer(typestr="|V12", descr=[("a", "<f4"), ("b", "<f8")], shape=(2,))
    )
    assert report.protocol == "__cuda_array_interface__"


def at(offset):
    return lambda producer: (producer.address + offset, False)


def filled_elsewhere():
    producer = Producer()
    other = producer.cuda.new_stream()
    producer.cuda.order(producer.stream, other)
    producer.cuda.cuMemsetD8Async(producer.address, 8, 24, other)
    return producer


def masked_elsewhere():
    mask = Producer(typestr="|b1")
    other = mask.cuda.new_stream()
    mask.cuda.order(mask.stream, other)
    mask.cuda.cuMemsetD8Async(mask.address, 1, 6, other)
    return Producer(mask=mask)


@under_schedules
@pytest.mark.parametrize(
    "make",
    [
        lambda: Producer(stream=None),
        lambda: Producer(stream=_driver.current().new_stream()),
        lambda: Producer(stream=1),
        lambda: Producer(stream=2),
        filled_elsewhere,
        masked_elsewhere,
    ],
    ids=["none", "another", "legacy", "per-thread", "elsewhere", "mask"],
)
def test_producers_without_order(make, races_are_meant):
    with pytest.raises(AssertionError, match="races"):
        testing.check_producer(make)


class Legacy(Producer):
    """Waits for the host before it frees; ``cuMemFree`` waits for the device besides."""

    def __init__(self, **changes):
        self.cuda, self.changes = _driver.current(), changes
        self.stream, address = self.cuda.new_stream(), ctypes.c_uint64()
        assert self.cuda._library.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(24)) == 0
        self.address = address.value
        self.cuda.cuMemsetD8Async(self.address, 7, 24, self.stream)

    def __del__(self):
        self.cuda.cuStreamSynchronize(self.stream)
        assert self.cuda._library.cuMemFree_v2(ctypes.c_uint64(self.address)) == 0


@under_schedules
def test_what_an_earlier_check_left_orders_nothing(races_are_meant):
    """A free that makes the host wait for the device, in the middle of the next check, would hide
    that a wait is missing."""
    alive = weakref.WeakSet()

    def make(**changes):
        made = Legacy(**changes)
        alive.add(made)
        return made

    testing.check_producer(make)
    assert not alive

    def cycle():  # what another test left for the collector
        made = make()
        made.itself = made

    # Put off until its use is complete, and collected, are both before the next check begins.
    stream = _driver.current().new_stream()
    with libcai.use(libcai.asarray(make()), stream=stream):
        pass
    cycle()
    assert alive
    with pytest.raises(AssertionError, match="races") as caught:
        testing.check_producer(lambda: make(stream=1))
    assert not alive, caught  # the traceback holds nothing either


@under_schedules
def test_a_consumer_is_judged_without_what_was_left(races_are_meant):
    def cycle():
        made = Legacy()
        made.itself = made

    def read(obj):
        gc.collect()  # as may happen at any time
        return NoWait()(obj)

    cycle()
    with pytest.raises(AssertionError, match=r"plain: expected no race, got \d+ races "):
        testing.check_consumer(read, cases=[case for case in FEW if case.id == "plain"])


class FreesElsewhere(Producer):
    """Frees in the order of a stream that waits for its own work, and not for its readers'."""

    def __init__(self, **changes):
        super().__init__(**changes)
        self.other = self.cuda.new_stream()
        self.cuda.order(self.stream, self.other)

    def __del__(self):
        self.cuda.cuMemFreeAsync(self.address, self.other)


class FreesAfterAWait(FreesElsewhere):
    def __del__(self):
        self.cuda.cuStreamSynchronize(self.stream)
        super().__del__()


class FreesInACycle(FreesElsewhere):
    def __init__(self):
        super().__init__()
        self.itself = self


@under_schedules
@pytest.mark.parametrize(
    "make",
    [FreesElsewhere, FreesInACycle, lambda: Producer(mask=FreesElsewhere(typestr="|b1"))],
    ids=["array", "cycle", "mask"],
)
def test_producers_that_free_without_order(make, races_are_meant):
    with pytest.raises(AssertionError, match="expected no race when the object goes, got 1 races"):
        testing.check_producer(make)


@under_schedules
def test_producers_that_free_in_order(cuda):
    assert testing.check_producer(FreesAfterAWait)
    assert testing.check_producer(Legacy)
    assert testing.check_producer(lambda: Producer(mask=FreesAfterAWait(typestr="|b1")))
    held = FreesElsewhere()
    assert testing.check_producer(held)
    cuda.cuCtxSynchronize()


class Changing(Producer):
    @property
    def __cuda_array_interface__(self):
        self.changes["stream"] = self.cuda.new_stream()
        return super().__cuda_array_interface__


def freed_at_once():
    """Gives its memory up at once: the object that it returns does not hold it."""
    held = Producer()
    interface = held.__cuda_array_interface__
    return type("Loose", (), {"__cuda_array_interface__": interface})()


class ChangedOnce(Producer):
    read = 0

    @property
    def __cuda_array_interface__(self):
        self.read += 1
        if self.read == 2:
            self.changes["stream"] = self.cuda.new_stream()
        return super().__cuda_array_interface__


class Alternating(Producer):
    """Says one of two things, in turn."""

    read = 0

    @property
    def __cuda_array_interface__(self):
        self.read += 1
        self.changes["shape"] = (self.read % 2 + 1,)
        return super().__cuda_array_interface__


class ChangedLast(Producer):
    """Says something else once its memory has been read."""

    def __init__(self):
        super().__init__()
        self.other = self.cuda.new_stream()

    @property
    def __cuda_array_interface__(self):
        if self.cuda._library.simcuda_calls(b"cuStreamSynchronize"):
            self.changes["stream"] = self.other
        return super().__cuda_array_interface__


@on_simcuda
def test_producers_that_say_something_wrong(cuda):
    for changes, said in [
        ({"stream": 0}, "stream"),
        ({"shape": [2, 3]}, "shape"),
        ({"version": 2}, "version"),
        ({"data": (1 << 40, False)}, "failed"),  # no memory of this driver
        ({"data": at(4)}, "failed"),  # beyond its end
        ({"stream": 12345}, "failed"),  # no stream
    ]:
        with pytest.raises(AssertionError, match=said):
            testing.check_producer(lambda changes=changes: Producer(**changes))
    with pytest.raises(AssertionError, match="asked for again"):
        testing.check_producer(Changing)
    for kind in (ChangedOnce, Alternating, ChangedLast):
        with pytest.raises(AssertionError, match="asked for again"):
            testing.check_producer(kind)


# Whether simcuda also takes the refused read for a race depends on when the free has run.
@on_simcuda(races="off")
def test_a_producer_that_lets_its_memory_go(cuda):
    with pytest.raises(AssertionError, match="reading it failed"):
        testing.check_producer(freed_at_once)


def test_the_dict_alone_needs_no_driver():
    class Plain:
        __cuda_array_interface__ = {  # noqa: RUF012
            "shape": (2, 3),
            "typestr": "<f4",
            "data": (4096, False),
            "version": 3,
            "stream": 5,
        }

    assert testing.check_producer(Plain, driver=False)
    Plain.__cuda_array_interface__["stream"] = 0
    with pytest.raises(AssertionError, match="stream"):
        testing.check_producer(Plain, driver=False)
    with pytest.raises(libcai.InterfaceTypeError):
        testing.check_producer(object(), driver=False)
    with pytest.raises(
        AssertionError, match="expected __cuda_array_interface__, got __array_interface__ alone"
    ):
        testing.check_producer(lambda: np.ones(3), driver=False)

    def fails():
        raise OSError("no such thing")

    with pytest.raises(OSError, match="no such thing"):
        testing.check_producer(fails, driver=False)


# ---- Consumers ----------------------------------------------------------------------------------


class Reader:
    """A consumer, piece by piece: each bad one leaves out or spoils one of them."""

    waits = ends = True
    keeps = True

    def __init__(self):
        self.cuda = _driver.current()

    def __call__(self, obj):
        array = libcai.asarray(obj)
        stream = self.cuda.new_stream()
        host = _driver.Pinned(self.cuda, array.size * array.itemsize)
        mask = self.read_mask(array)
        self.begin(array, stream)
        self.copy(array, host, stream)
        if self.ends:
            for producer in self.streams(array):
                self.cuda.order(stream, producer)
        kept = array if self.keeps else None
        shape, dtype = array.shape, self.dtype(array)

        def later():
            self.cuda.cuStreamSynchronize(stream)
            values = np.frombuffer(bytes(host), dtype).reshape(shape)
            host.free()
            assert kept is None or kept.shape == shape
            return values if mask is None else np.ma.masked_array(values, ~mask)

        return later

    def read_mask(self, array):
        return None if array.mask is None else self(array.mask)()

    def streams(self, array):
        return {1} if array.stream_kind == "unstated" else {array.stream} - {None}

    def begin(self, array, stream):
        if self.waits:
            for producer in self.streams(array):
                self.cuda.order(producer, stream)

    def dtype(self, array):
        return array.dtype

    def copy(self, array, host, stream):
        for index, place in enumerate(np.ndindex(array.shape)):
            item = sum(i * step for i, step in zip(place, array.strides, strict=True))
            self.cuda.cuMemcpyAsync(
                host.address + index * array.itemsize, array.data + item, array.itemsize, stream
            )


# Without cases of its own, a reader that copies item by item would take long.
FEW = [case for case in testing.consumer_cases() if case.expected.size < 25]


@under_schedules
def test_good_consumers(cuda):
    outcomes = testing.check_consumer(Reader())
    assert set(outcomes) == {case.id for case in testing.consumer_cases()}
    assert set(outcomes.values()) == {"read"}
    assert len(outcomes) > 30

    def at_once(obj):
        return Reader()(obj)()

    assert set(testing.check_consumer(at_once, cases=FEW).values()) == {"read"}


@under_schedules
def test_a_consumer_by_libcai(cuda):
    """What libcai puts off ends before the array's stream is destroyed: no finding."""

    def read(obj):
        array, stream = libcai.asarray(obj), cuda.new_stream()
        host = _driver.Pinned(cuda, array.size * array.itemsize)
        with libcai.use(array, stream=stream):
            Reader().copy(array, host, stream)
        shape, dtype = array.shape, array.dtype
        del array, obj
        cuda.cuStreamSynchronize(stream)
        values = np.frombuffer(bytes(host), dtype).reshape(shape)
        host.free()
        return values

    cases = [case for case in FEW if "masked" not in case.words]
    assert set(testing.check_consumer(read, cases=cases).values()) == {"read"}


class NoWait(Reader):
    waits = False


class NoWayBack(Reader):
    ends = keeps = False


class LegacyOnly(Reader):
    def streams(self, array):
        return {1}


@under_schedules
@pytest.mark.parametrize("kind", [NoWait, NoWayBack, LegacyOnly])
def test_consumers_without_order(kind, races_are_meant):
    with pytest.raises(AssertionError, match=r"plain: expected no race, got \d+ races "):
        testing.check_consumer(kind(), cases=FEW)


@on_simcuda
def test_a_consumer_without_a_way_back_may_hold_the_array(cuda):
    class Holds(Reader):
        ends = False

        def __call__(self, obj):
            later = super().__call__(obj)
            return lambda: (later(), obj)[0]

    assert set(testing.check_consumer(Holds(), cases=FEW).values()) == {"read"}


@on_simcuda
def test_consumers_that_misread(cuda):
    class Contiguous(Reader):
        def copy(self, array, host, stream):
            if array.size:
                size = min(host.size, array.extent[1])
                self.cuda.cuMemcpyAsync(host.address, array.data, size, stream)

    with pytest.raises(AssertionError) as caught:
        testing.check_consumer(Contiguous(), cases=FEW)
    for wrong in ("fortran", "columns", "turned", "broadcast", "transposed"):
        assert f"{wrong}: expected\n" in str(caught.value)
    assert "plain" not in str(caught.value)

    class NativeOrder(Reader):
        def dtype(self, array):
            return array.dtype.newbyteorder("=")

    with pytest.raises(AssertionError, match="big-endian: expected the type >f4, got float32"):
        testing.check_consumer(NativeOrder())

    class NoMask(Reader):
        def read_mask(self, array):
            return None

    with pytest.raises(
        AssertionError, match=r"masked: expected a masked array, .*: its mask was dropped"
    ):
        testing.check_consumer(NoMask())

    class Inverted(Reader):
        def read_mask(self, array):
            return None if array.mask is None else ~self(array.mask)()

    with pytest.raises(AssertionError, match="masked: expected the mask"):
        testing.check_consumer(Inverted())

    class Writes(Reader):
        def copy(self, array, host, stream):
            super().copy(array, host, stream)
            if array.size:
                self.cuda.cuMemsetD8Async(array.data, 1, 1, stream)

    with pytest.raises(
        AssertionError,
        match=r"read-only: expected the memory as it was, .*: the consumer wrote to it",
    ):
        testing.check_consumer(Writes())


@on_simcuda
def test_consumers_that_refuse(cuda):
    class Strict(Reader):
        def __call__(self, obj):
            array = libcai.asarray(obj)
            if array.mask is not None or not array.c_contiguous:
                raise NotImplementedError("only the simple ones")
            return super().__call__(obj)

    outcomes = testing.check_consumer(Strict(), refuses={"masked", "strided", "broadcast"})
    assert outcomes["masked"] == outcomes["fortran"] == "refused"
    assert outcomes["plain"] == "read"
    with pytest.raises(AssertionError, match=r"masked: (.|\n)*only the simple ones"):
        testing.check_consumer(Strict(), refuses=["strided"])

    def nothing(obj):
        raise TypeError("no")

    with pytest.raises(AssertionError, match="plain"):
        testing.check_consumer(nothing)
    masked = [case for case in testing.consumer_cases() if case.id == "masked"]
    with pytest.raises(
        AssertionError, match="expected arrays that it reads, got none: every array was refused"
    ):
        testing.check_consumer(nothing, refuses="masked", cases=masked)
    with pytest.raises(ValueError, match=r"refuses: expected some of broadcast, .*, got 'colour'"):
        testing.check_consumer(nothing, refuses=["masked", "colour"])


@on_simcuda
def test_a_consumer_that_keeps_what_it_got(cuda):
    kept = []

    def hoards(obj):
        kept.append(obj)
        return Reader()(obj)

    assert set(testing.check_consumer(hoards, cases=FEW).values()) == {"read"}
    kept.clear()
    gc.collect()


# ---- Without a driver ---------------------------------------------------------------------------


@pytest.mark.parametrize("check", ["check_producer(P)", "check_consumer(print)"])
def test_no_driver_is_said_plainly(check, tmp_path):
    (tmp_path / "libcuda.so.1").write_text("no library")  # and so on no machine one
    code = f"""
import os
os.environ["LD_LIBRARY_PATH"] = ""
import libcai
from libcai.testing import *
class P:
    __cuda_array_interface__ = dict(
        shape=(2,), typestr="<f4", data=(4096, False), version=3, stream=None)
try:
    {check}
except libcai.CudaError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": "", "LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert "no CUDA driver" in done.stdout, done.stderr
    assert "pytest.mark.simcuda" in done.stdout
    assert "`simcuda run`" in done.stdout


# ---- Conformance cases --------------------------------------------------------------------------


@testing.conformance_cases
def test_conformance_cases_lenient(case):
    judge(case)


@testing.conformance_cases("row", mode="strict", skip=["base"])
def test_conformance_cases_strict(row):
    assert row.id != "base"
    judge(row, strict=True)


def judge(case, **options):
    assert case.why
    assert case.exporter.__cuda_array_interface__ is case.interface
    if case.accepted:
        assert case.entry is None
        array = libcai.asarray(case.exporter, **options)
        assert [*array.shape] == case.facts["shape"]
        assert [*array.extent] == [case.facts["lo"], case.facts["hi"]]
    else:
        assert case.facts is None
        with pytest.raises((TypeError, ValueError)) as caught:
            libcai.asarray(case.exporter, **options)
        assert caught.value.entry == case.entry


def test_cases():
    lenient, strict = testing.cases(), testing.cases("strict")
    assert [case.id for case in lenient] == [case.id for case in strict]
    assert len({case.id for case in lenient}) == len(lenient) > 100
    for found in lenient, strict:
        assert 0.2 < sum(case.accepted for case in found) / len(found) < 0.8
    # Each call makes its own: what one importer does to a dict, another does not see.
    assert testing.cases()[0].interface is not testing.cases()[0].interface
    assert "base" in repr(lenient[0])


def test_cases_bad_input():
    with pytest.raises(ValueError, match="'loose'"):
        testing.cases("loose")
    with pytest.raises(ValueError, match="'no-such-case'"):
        testing.conformance_cases(skip=["base", "no-such-case"])
    with pytest.raises(AttributeError, match="nothing"):
        _ = testing.nothing


def test_names():
    assert {"cases", "check_consumer", "check_producer"} <= set(dir(testing))
    for name in testing.__all__:
        assert getattr(testing, name).__doc__
