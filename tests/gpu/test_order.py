# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: PT009, PT027 (there may be no pytest here)
"""The hand-over between two streams and back, with slow work on the side to be waited for."""

import importlib.util
import unittest

import gpu_driver as gpu
import readers

SIZE = 1 << 16
TRIES = 20


class HandOver:
    """Tests that hold for every route into libcai; `reader` is one."""

    version = 3

    def setUp(self):
        gpu.open_driver()
        self.memory, self.result = gpu.new_memory(SIZE), gpu.new_memory(SIZE)
        self.producer, self.consumer = self.streams()
        self.array = self.reader.read(
            gpu.PlainArray(self.memory, SIZE, self.producer, self.version)
        )
        gpu.fill(self.memory, 0, SIZE, self.producer)
        gpu.fill(self.result, 0, SIZE, self.consumer)
        gpu.synchronize()

    def tearDown(self):
        gpu.synchronize()
        # An array's stream lives as long as the array, whose end libcai may have deferred.
        self.array = self.reader.using = None
        self.reader.drain()
        for address in (self.memory, self.result):
            gpu.call("cuMemFree_v2", address)
        for stream in (self.producer, self.consumer):
            if stream > 2:
                gpu.call("cuStreamDestroy_v2", stream)

    def streams(self):
        return gpu.new_stream(), gpu.new_stream()

    def hand_over(self, value, order=0):
        """The producer writes, late; the consumer copies. Returns what the consumer saw."""
        gpu.work_slowly(self.producer)
        gpu.fill(self.memory, value, SIZE, self.producer)
        self.reader.begin(self.array, self.consumer, order)
        gpu.copy(self.result, self.memory, SIZE, self.consumer)
        self.reader.end(self.array, self.consumer, order)
        return set(gpu.read(self.result, SIZE, self.consumer))

    def overwrite(self, value, order=0):
        """The consumer copies, late; the producer writes. Returns what the consumer saw."""
        gpu.fill(self.memory, value, SIZE, self.producer)
        gpu.synchronize()
        self.reader.begin(self.array, self.consumer, order)
        gpu.work_slowly(self.consumer)
        gpu.copy(self.result, self.memory, SIZE, self.consumer)
        self.reader.end(self.array, self.consumer, order)
        gpu.fill(self.memory, value + 1, SIZE, self.producer)
        gpu.wait_for(self.producer)
        return set(gpu.read(self.result, SIZE, self.consumer))

    def test_read_after_write(self):
        for value in range(1, 6):
            self.assertEqual(self.hand_over(value), {value})

    def test_overwrite_after_end(self):
        for value in range(11, 21, 2):
            self.assertEqual(self.overwrite(value), {value})

    def tries_to_fail(self, exchange):
        """How often it took without order until it went wrong, or None."""
        for attempt in range(1, TRIES + 1):
            value = 100 + 2 * attempt
            seen = exchange(value, readers.ORDER_NONE)
            gpu.synchronize()
            if seen != {value}:
                return attempt
        return None

    def test_that_they_can_fail(self):
        """On a GPU this is printed, since it depends on timing; on simcuda it may be certain."""
        for exchange in (self.hand_over, self.overwrite):
            tries = self.tries_to_fail(exchange)
            told = f"goes wrong at try {tries}" if tries else f"did not go wrong in {TRIES} tries"
            print(f"information: {self.id()}: {exchange.__name__} without order {told}", flush=True)
            if gpu.is_certain():
                self.assertEqual(tries, 1)

    def test_locate(self):
        device, base, size = self.reader.locate(self.array)
        self.assertEqual((device, base), (0, self.memory))
        self.assertGreaterEqual(size, SIZE)


class WithCtypes:
    @classmethod
    def setUpClass(cls):
        cls.reader = readers.by_ctypes()


@unittest.skipUnless(importlib.util.find_spec("libcai"), "no libcai Python package here")
class WithPackage:
    @classmethod
    def setUpClass(cls):
        cls.reader = readers.ByPackage()


class ByCtypes(WithCtypes, HandOver, unittest.TestCase):
    def test_the_host_waits(self):
        gpu.work_slowly(self.producer)
        gpu.fill(self.memory, 7, SIZE, self.producer)
        self.reader.begin(self.array, self.consumer, readers.ORDER_HOST)
        self.assertEqual(gpu.status_of("cuStreamQuery", self.producer), 0)
        gpu.copy(self.result, self.memory, SIZE, self.consumer)
        self.reader.end(self.array, self.consumer, readers.ORDER_HOST)
        self.assertEqual(gpu.status_of("cuStreamQuery", self.consumer), 0)
        self.assertEqual(set(gpu.read(self.result, SIZE, self.consumer)), {7})

    def test_sync_host(self):
        gpu.work_slowly(self.producer)
        gpu.fill(self.memory, 8, SIZE, self.producer)
        self.reader.sync_host(self.array)
        self.assertEqual(gpu.status_of("cuStreamQuery", self.producer), 0)


class FromLegacyStream(WithCtypes, HandOver, unittest.TestCase):
    def streams(self):
        return gpu.LEGACY, gpu.new_stream()


class FromUnstatedStream(FromLegacyStream):
    """Version 2 has no stream: the legacy one is meant."""

    version = 2


class FromPerThreadStream(WithCtypes, HandOver, unittest.TestCase):
    def streams(self):
        return gpu.PER_THREAD, gpu.new_stream()


class ByPackage(WithPackage, HandOver, unittest.TestCase):
    pass


class Capture:
    """Work of others is pending and a stream is captured: libcai refuses, the capture lives."""

    def setUp(self):
        gpu.open_driver()
        self.memory = gpu.new_memory(SIZE)
        self.producer, self.consumer = gpu.new_stream(), gpu.new_stream()
        self.array = self.reader.read(gpu.PlainArray(self.memory, SIZE, self.producer))

    def tearDown(self):
        gpu.synchronize()
        gpu.call("cuMemFree_v2", self.memory)

    def refused(self, captured):
        gpu.begin_capture(captured)
        with self.assertRaises(self.reader.Error) as refusal:
            self.reader.begin(self.array, self.consumer)
        self.assertEqual(refusal.exception.status, readers.CAPTURE)
        self.assertTrue(gpu.is_capturing(captured), "the capture was invalidated")
        gpu.end_capture(captured)

    def test_consumer_is_captured(self):
        gpu.work_slowly(self.producer)
        self.refused(self.consumer)

    def test_producer_is_captured(self):
        self.refused(self.producer)


class CaptureByCtypes(WithCtypes, Capture, unittest.TestCase):
    pass


class CaptureByPackage(WithPackage, Capture, unittest.TestCase):
    pass


class TwoDevices(WithCtypes, unittest.TestCase):
    """The producer's stream is one device's, the consumer's another's."""

    def setUp(self):
        gpu.open_driver()
        if gpu.device_count() < 2:
            self.skipTest("no second device here")
        self.first, self.second = gpu.Context.of(0), gpu.Context.of(1)
        self.second.use()
        self.consumer, self.result = gpu.new_stream(), gpu.new_memory(SIZE)
        gpu.fill(self.result, 0, SIZE, self.consumer)
        gpu.synchronize()
        self.first.use()
        self.producer, self.memory = gpu.new_stream(), gpu.new_memory(SIZE)
        self.array = self.reader.read(gpu.PlainArray(self.memory, SIZE, self.producer))

    def exchange(self, value):
        gpu.work_slowly(self.producer)
        gpu.fill(self.memory, value, SIZE, self.producer)
        self.second.use()
        self.reader.begin(self.array, self.consumer)
        gpu.call(
            "cuMemcpyPeerAsync",
            self.result,
            self.second.handle,
            self.memory,
            self.first.handle,
            SIZE,
            self.consumer,
        )
        self.reader.end(self.array, self.consumer)
        self.first.use()
        gpu.fill(self.memory, value + 1, SIZE, self.producer)
        gpu.wait_for(self.producer)
        self.second.use()
        self.assertEqual(set(gpu.read(self.result, SIZE, self.consumer)), {value})
        self.first.use()
        gpu.synchronize()

    def test_without_peer_access(self):
        for value in range(1, 11, 2):
            self.exchange(value)

    def test_with_peer_access(self):
        if not gpu.number("cuDeviceCanAccessPeer", 1, 0):
            self.skipTest("no peer access between the devices here")
        self.second.use()
        gpu.call("cuCtxEnablePeerAccess", self.first.handle, 0)
        try:
            for value in range(1, 11, 2):
                self.exchange(value)
        finally:
            self.second.use()
            gpu.call("cuCtxDisablePeerAccess", self.first.handle)
            self.first.use()
