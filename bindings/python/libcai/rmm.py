# SPDX-License-Identifier: BSD-3-Clause
"""libcai's managers as a memory resource of RMM, and so of the libraries on it.

    rmm.mr.set_per_device_resource(0, libcai.rmm.memory_resource(0))

Each allocation calls Python. C++ programs use `cai/cccl.hpp` instead.
"""

import rmm.mr

import libcai
from libcai._stream import free_after

__all__ = ["memory_resource"]


_LEGACY = 1


def memory_resource(device=0, *, kind="default", manager=None):
    """Makes an `rmm.mr.CallbackMemoryResource` that allocates in the order of RMM's stream.

    Parameters
    ----------
    device : int or str or libcai.Device
        The GPU; an int is its ordinal.
    kind, manager
        As for `libcai.Memory`.
    """
    if isinstance(device, int):
        device = (libcai.DeviceType.CUDA, device)
    memories = {}  # by address, each with the stream on which it will be freed

    def allocate(size, stream):
        value = _value(stream)
        memory = libcai.Memory(size, kind, device=device, stream=value, manager=manager)
        address = memory.address
        if address:
            memories[address] = memory, value
        return address

    def deallocate(address, size, stream):
        if address == 0:
            return
        memory, before = memories.get(address, (None, 0))
        if memory is None:
            raise libcai.StateError(
                f"the memory at {address:#x} was freed already, or is not of this memory resource"
            )
        value = _value(stream)
        # A handle's number may now be that of another stream.
        if not (value == before == _LEGACY) and not memory.freed:
            free_after(memory, value)
        del memories[address]  # only now: the memory is freed by it

    return rmm.mr.CallbackMemoryResource(allocate, deallocate)


def _value(stream):
    """The number of RMM's stream; 0 is the legacy default stream."""
    return stream.__cuda_stream__()[1] or _LEGACY
