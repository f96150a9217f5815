# SPDX-License-Identifier: BSD-3-Clause
"""What pages of the documentation show in Python. tests/python/test_docs.py runs it on simcuda, in
two processes: the second opens the memory that the first shares."""

import pickle
import socket
import sys
from typing import ClassVar

import numpy as np

import libcai


class my_extension:
    """Stands for compiled code: it fills arrays, on a stream."""

    @staticmethod
    def run(*arguments):
        *pointers, stream = arguments
        for pointer in pointers:
            libcai.fill(libcai.Array.from_ptr(pointer, steal=False), 1, stream=stream)


def order():
    streams = [libcai.Stream("gpu", mode="async") for _ in range(5)]
    s, s3, s7, s9, s15 = streams
    x, y, out = (libcai.zeros(4, "<f4", device="gpu", stream=s) for _ in range(3))
    # [order
    with libcai.use(x, y, stream=s) as (a, b):
        my_extension.run(a.ptr, b.ptr, s)

    with libcai.use(x, stream=s, access="read"):  # others may read at the same time
        ...
    with libcai.use(x, out, stream=s, access=("read", "write")):
        ...

    p = x.publish(s3, streams=[s7, s9, s15])  # one stream for work on several; export p
    ...
    p.reclaim(s7)  # before the producer works on one of them again
    ...
    p = p.publish(s3, streams=[s7])  # and after it, for those who use p from now on
    e = x.publish_event(s)  # for another thread, or a stream that will go
    # order]
    del p, e
    for stream in streams:
        stream.synchronize()


def devices():
    # [devices
    print(libcai.Device.all(), libcai.Device("cpu").memory.free)
    with libcai.Stream("cpu"):  # a thread; or "gpu": what follows is queued on it
        x = libcai.zeros((1000, 1000), "<f4")
        libcai.fill(x[::2], 3)
        y = x.to("cpu", kind="pinned")
    print(np.asarray(y).sum(), y.item(0, -1))
    # devices]
    assert np.asarray(y).sum() == 1_500_000


def share(link):
    memory = libcai.Memory(4096, device="gpu")
    # [share
    handle = memory.share()
    socket.send_fds(link, [pickle.dumps(handle)], [handle.fd] if handle.fd is not None else [])
    # share]
    assert link.recv(4) == b"done"


def open_shared(link):
    # [open
    data, fds, _, _ = socket.recv_fds(link, 4096, 1)
    memory = libcai.Memory.open(pickle.loads(data), *fds)
    # open]
    assert memory.size == 4096
    del memory
    link.send(b"done")


def managers():
    # [managers
    pool = libcai.memory_manager("pool", install=True)  # CuPy, cuda.core and RMM draw from it, too
    libcai.memory_manager("tracking", upstream=pool).install()
    x = libcai.zeros(1000, device="gpu")
    print(libcai.MemoryManager.of("gpu").outstanding())  # with the line above as its caller
    # managers]
    assert len(libcai.MemoryManager.of("gpu").outstanding()) == 1
    del x


class mine:
    """Stands for an allocator of yours."""

    blocks: ClassVar = {}

    @classmethod
    def allocate(cls, size, align):
        block = np.empty(size + align, "u1")
        address = -(-block.ctypes.data // align) * align
        cls.blocks[address] = block
        return address

    @classmethod
    def free(cls, address):
        del cls.blocks[address]


# [heap
class Heap(libcai.MemoryManager):
    """The host's memory, counted."""

    out = 0

    def memalloc(self, size, align, kind, stream):
        self.out += size
        return mine.allocate(size, align)  # or (address, host address, size)

    def memfree(self, address, size, kind, stream):
        self.out -= size
        mine.free(address)


# heap]


def heap():
    # [install
    heap = Heap("cpu")
    heap.install()
    # install]
    x = libcai.zeros(1000, "u1", device="cpu")
    assert heap.out >= 1000
    del x
    assert heap.out == 0


if __name__ == "__main__":
    if sys.argv[1:]:
        open_shared(socket.socket(fileno=int(sys.argv[1])))
    else:
        import subprocess

        order()
        devices()
        heap()
        here, there = socket.socketpair()
        child = subprocess.Popen(
            [sys.executable, __file__, str(there.fileno())], pass_fds=[there.fileno()]
        )
        share(here)
        assert child.wait() == 0
        managers()
        print("all of it")
