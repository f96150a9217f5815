# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py, in two processes: one sends libcai's arrays, and receives into them; the other echoes.

The memory is the host's, also behind `__cuda_array_interface__`: there is no MPI here for a GPU's.
"""

import ctypes
import sys

import numpy as np
from mpi4py import MPI

import libcai
from cells import (
    Seen,
    Way,
    WithDict,
    interface,
    mask_interface,
    on_host,
    read,
    seen_by_libcai,
    valid_in,
)

ORDER, DATA = 1, 2  # tags: what the other process is to do, and arrays
OTHER = 1
world = MPI.COMM_WORLD


def serve():
    """The other process: receives bytes and prints them, or sends some."""
    while (order := world.recv(source=0, tag=ORDER)) is not None:
        if isinstance(order, bytes):
            world.Send(bytearray(order), dest=0, tag=DATA)
            continue
        data = bytearray(order)
        world.Recv(data, source=0, tag=DATA)
        world.send(bytes(data), dest=0, tag=ORDER)


if world.rank == OTHER:
    serve()
    sys.exit()


def behind_a_dict(array):
    """The interface that libcai gives for an array on a GPU, but with host memory."""
    value = interface(array.data if isinstance(array, np.ma.MaskedArray) else array)
    if isinstance(array, np.ma.MaskedArray):
        valid = valid_in(array)
        mask = mask_interface(array, valid)
        value["mask"] = WithDict("__cuda_array_interface__", mask, valid)
    made = libcai.from_interface(value, owner=array)
    return WithDict("__cuda_array_interface__", made.__cuda_array_interface__, made), None


def whole(x):
    """The array behind what MPI is given."""
    return x if isinstance(x, libcai.Array) else x.owner


def send(x):
    request = world.Isend(x, dest=OTHER, tag=DATA)
    array = whole(x)
    world.send(array.nbytes, dest=OTHER, tag=ORDER)
    data = ctypes.create_string_buffer(world.recv(source=OTHER, tag=ORDER))
    request.Wait()
    values = read(ctypes.addressof(data), array.shape, array.strides, array.itemsize)
    return Seen(array.data, array.shape, array.strides, array.dtype, True, values)


def receive(x):
    request = world.Irecv(x, source=OTHER, tag=DATA)
    array = whole(x)
    sent = ctypes.string_at(array.data, array.nbytes)[::-1]
    world.send(sent, dest=OTHER, tag=ORDER)
    request.Wait()
    assert ctypes.string_at(array.data, array.nbytes) == sent
    return seen_by_libcai(array)


def allocated(array):
    """MPI's own memory, into which the array was received."""
    assert array.dtype == np.dtype("u1"), "MPI's memory is of bytes"
    made = MPI.Alloc_mem(array.nbytes)
    world.send(array.tobytes(), dest=OTHER, tag=ORDER)
    world.Recv(made, source=OTHER, tag=DATA)
    return made, made.address


def by_buffer(memory):
    return seen_by_libcai(libcai.asarray(memory, route="buffer"))


WAYS = [
    Way("mpi4py", "gives", "`MPI.Alloc_mem`, by its buffer", allocated, by_buffer),
    Way("mpi4py", "takes", "`Isend`", on_host, send),
    Way("mpi4py", "takes", "`Isend`, of the dict", behind_a_dict, send),
    Way("mpi4py", "takes", "`Irecv`", on_host, receive),
    Way("mpi4py", "takes", "`Irecv`, of the dict", behind_a_dict, receive),
]


def end():
    world.send(None, dest=OTHER, tag=ORDER)
    return []
