# SPDX-License-Identifier: BSD-3-Clause
"""libcai's managers as a memory resource of cuda.core.

Device(0).memory_resource = libcai.cuda_core.MemoryResource(0)
"""

from cuda.core import Buffer
from cuda.core import Device as _Device
from cuda.core import MemoryResource as _MemoryResource

import libcai
from libcai._stream import free_after

__all__ = ["MemoryResource"]

_MANAGED = ("managed", "managed_global")
_KINDS = ("default", "async", "mapped", *_MANAGED)


class MemoryResource(_MemoryResource):
    """Allocates buffers from a libcai manager, in the order of a given stream.

    Parameters
    ----------
    device : int or str or libcai.Device or cuda.core.Device
        The GPU; an int is its ordinal.
    kind : str
        ``'default'``, ``'async'``, ``'managed'``, ``'managed_global'`` or ``'mapped'``, as for
        `libcai.Memory`.
    manager : libcai.MemoryManager, optional
        Default: the device's manager at the time of each allocation.

    Raises
    ------
    UseError
        For another device or kind.
    CudaError
        For a GPU that does not exist.
    """

    def __init__(self, device=0, *, kind="default", manager=None):
        if kind not in _KINDS:
            raise libcai.UseError(
                f"kind is {libcai.errors.shown(kind)}, and none of {', '.join(_KINDS)}"
            )
        if isinstance(device, _Device):
            device = device.device_id
        if isinstance(device, int) and not isinstance(device, (bool, libcai.DeviceType)):
            device = f"gpu:{device}"
        if not isinstance(device, (str, tuple)):
            raise libcai.UseError(
                f"device is {libcai.errors.shown(device)}, and no int, str, libcai.Device or "
                "cuda.core.Device"
            )
        self._device = libcai.Device(*((device,) if isinstance(device, str) else device))
        if self._device.type != libcai.DeviceType.CUDA:
            raise libcai.UseError(f"cuda.core allocates for GPUs, and not for {self._device}")
        if self._device.id is not None:
            libcai.Device(str(self._device))  # which fails if there is no such GPU
        self._kind = kind
        self._manager = manager
        self._memories = {}

    def allocate(self, size, *, stream):
        """Allocates a `cuda.core.Buffer` of `size` bytes, on a stream of the device."""
        memory = libcai.Memory(
            size, self._kind, device=self._device, stream=stream, manager=self._manager
        )
        address = memory.address
        if address:
            self._memories[address] = memory
        try:
            return Buffer.from_handle(address, size, mr=self, stream=stream)
        except BaseException:
            self._memories.pop(address, None)
            raise

    def deallocate(self, ptr, size, *, stream):
        """Frees a buffer's memory in the order of a stream; cuda.core calls it."""
        if int(ptr) == 0:
            return
        memory = self._memories.get(int(ptr))
        if memory is None:
            raise libcai.StateError(
                f"the memory at {int(ptr):#x} was freed already, or is not of this memory resource"
            )
        if stream is not None and not memory.freed:
            free_after(memory, stream)
        del self._memories[int(ptr)]  # only now: the memory is freed by it

    @property
    def is_device_accessible(self):
        return True

    @property
    def is_host_accessible(self):
        return self._kind == "mapped" or self.is_managed

    @property
    def is_managed(self):
        return self._kind in _MANAGED

    @property
    def device_id(self):
        return self._device.id

    def __repr__(self):
        return f"<libcai.cuda_core.MemoryResource device={self._device} kind={self._kind}>"
