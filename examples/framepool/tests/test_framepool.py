# SPDX-License-Identifier: BSD-3-Clause
"""Run by pytest; simcuda is in the place of a GPU."""

import threading

import framepool
import numpy as np
import pytest
from cuda.core.utils import StridedMemoryView
from numba import cuda

import libcai
from libcai.testing import check_producer

SHAPE = 8, 16
# Work as late as it may be, as early, and in two random orders: a wait that is missing is reported.
simulated = pytest.mark.simcuda(schedules=["lazy", "eager"], seeds=2)


@pytest.fixture
def pool():
    return framepool.Pool(*SHAPE)


def queue_copy(frame, stream):
    """A consumer's work: copies a frame on the stream, and does not wait."""
    copy = cuda.device_array(SHAPE, np.uint8, stream=stream)
    copy.copy_to_device(cuda.as_cuda_array(frame, sync=False), stream=stream)
    return copy


def holds(copy, number):
    return (copy.copy_to_host(stream=copy.stream) == number).all()


@simulated
def test_frames_are_used_again(pool):
    frames = [pool.next() for _ in range(3)]
    addresses = {frame.data for frame in frames}
    assert len(addresses) == 3
    assert pool.free == 0
    with pytest.raises(BufferError, match="all 3 frames are in use"):
        pool.next()
    view = frames[1][2:, ::2]  # holds the frame, as all that is made of it
    del frames[1]
    assert pool.free == 0
    del view
    assert pool.free == 1
    frames.append(pool.next())
    assert {frame.data for frame in frames} == addresses
    for frame, number in zip(frames, (0, 2, 3), strict=True):
        assert (cuda.as_cuda_array(frame).copy_to_host() == number).all()


@simulated
def test_a_frame_is_written_again_after_who_reads_it(pool, simcuda):
    mine = cuda.stream()
    frame = pool.next()
    address = frame.data
    with libcai.use(frame, stream=mine, access="read"):
        copy = queue_copy(frame, mine)
        copied = simcuda.last_work()
    del frame
    assert pool.free == 3  # though the copy is pending: the host has not waited
    frame = pool.next()
    assert frame.data == address
    assert simcuda.ordered(copied, simcuda.last_work())
    assert holds(copy, 0)


@simulated
def test_a_frame_stays_out_while_work_is_pending_that_the_pool_does_not_wait_for(pool):
    """libcai releases it once that work is complete."""
    mine, gate = libcai.Stream("gpu:0"), threading.Event()
    frame = pool.next()
    with libcai.use(frame, stream=mine, access="read", order="begin"):
        mine.enqueue(gate.wait)  # the copy is pending until the gate opens
        copy = queue_copy(frame, cuda.external_stream(mine.value))
    frame.used_on(mine, access="read")
    del frame
    others = [pool.next(), pool.next()]
    with pytest.raises(BufferError):
        pool.next()
    assert pool.free == 0
    gate.set()
    assert holds(copy, 0)  # waits for the copy
    assert pool.free == 1
    del others


@simulated
def test_dlpack(pool):
    """A consumer names its stream for the tensor, and gives it up once its work is done."""
    mine = cuda.stream()
    frame = pool.next()
    view = StridedMemoryView.from_dlpack(frame, stream_ptr=int(mine.handle))
    assert view.ptr == frame.data
    copy = queue_copy(frame, mine)  # in order: the tensor made the stream wait for the pool's
    del frame
    assert pool.free == 2  # the tensor holds it
    assert holds(copy, 0)  # waits: a tensor cannot tell its owner what is pending
    del view
    assert pool.free == 3


@pytest.mark.simcuda
def test_the_dict(pool):
    frame = pool.next()
    interface = frame.__cuda_array_interface__
    assert (interface["shape"], interface["typestr"]) == (SHAPE, "|u1")
    assert interface["stream"] == pool.stream


@pytest.mark.simcuda
def test_every_way_to_read_a_frame(pool):
    """By libcai's own check of what makes arrays."""
    check_producer(pool.next)


@simulated
def test_a_frame_outlives_its_pool(pool):
    frame = pool.next()
    del pool
    mine = cuda.stream()
    with libcai.use(frame, stream=mine, access="read"):
        copy = queue_copy(frame, mine)
    del frame
    assert holds(copy, 0)


@pytest.mark.simcuda
def test_a_reader_that_does_not_wait_is_found(pool, simcuda):
    """So the tests above would fail if a frame were written again too early."""
    mine = cuda.stream()
    frame = pool.next()
    cuda.synchronize()
    queue_copy(frame, mine)  # without a use: nobody waits for it
    del frame
    pool.next()
    cuda.synchronize()
    assert simcuda.races() > 0
    simcuda.forget()
