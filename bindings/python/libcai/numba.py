# SPDX-License-Identifier: BSD-3-Clause
"""Numba's memory, from libcai's managers: a complete external memory management plugin (NBEP 7).

``NUMBA_CUDA_MEMORY_MANAGER=libcai.numba`` in the environment chooses it, or `use` in code. The
memory comes from libcai's manager of the device: ``CAI_MEMORY_MANAGER``,
`libcai.set_memory_manager`, `libcai.MemoryManager.install`.
"""

import contextlib
import ctypes
import struct
import weakref

from numba import cuda
from numba.cuda.core import config
from numba.cuda.cudadrv import devices
from numba.cuda.cudadrv.driver import (
    AutoFreePointer,
    BaseCUDAMemoryManager,
    CudaAPIError,
    GetIpcHandleMixin,
    IpcHandle,
    ManagedMemory,
    MappedMemory,
    MemoryInfo,
    PinnedMemory,
    binding,
)
from numba.cuda.cudadrv.error import CudaDriverError

import libcai

__all__ = ["MemoryManager", "use"]


def use():
    """Makes Numba take its memory from libcai.

    Raises
    ------
    RuntimeError
        If Numba uses a GPU already: a context keeps its first memory manager.
    """
    active = [gpu.id for gpu in devices.gpus.lst if gpu.primary_context is not None]
    if active:
        raise RuntimeError(
            f"Numba works with GPU {active[0]} already, by the memory manager that it began with; "
            "call libcai.numba.use() before"
        )
    cuda.set_memory_manager(MemoryManager)


@contextlib.contextmanager
def _as_numba_says():
    """Turns libcai's errors into those that Numba's callers expect."""
    try:
        yield
    except MemoryError as error:
        raise CudaAPIError(binding.CUresult.CUDA_ERROR_OUT_OF_MEMORY, str(error)) from error
    except libcai.CudaError as error:
        if error.native:
            raise CudaAPIError(error.native, str(error)) from error
        raise CudaDriverError(str(error)) from error


class _PendingFrees:
    """The device's pending frees, in the form of Numba's own manager. Numba's limits
    (``NUMBA_CUDA_MAX_PENDING_DEALLOCS_COUNT`` and ``_RATIO``) apply in addition to libcai's."""

    def __init__(self, device):
        self._device = device
        self.memory_capacity = device.memory.total

    def __len__(self):
        return libcai.usage(self._device).pending_count

    @property
    def _size(self):
        return libcai.usage(self._device).pending_bytes

    @property
    def _max_pending_bytes(self):
        return int(self.memory_capacity * config.CUDA_DEALLOCS_RATIO)

    @property
    def is_disabled(self):
        return libcai.usage(self._device).deferred > 0

    def clear(self):
        """Runs the pending frees, unless they are deferred."""
        libcai.flush(self._device)

    def keep_to_limits(self):
        usage = libcai.usage(self._device)
        if (
            usage.pending_count > config.CUDA_DEALLOCS_COUNT
            or usage.pending_bytes > self._max_pending_bytes
        ):
            with contextlib.suppress(libcai.CudaError):  # not while this thread is capturing
                self.clear()


def _finalizer(manager, memory, key=None):
    """The finalizer of an allocation. Finalizers that remain run when the interpreter ends, perhaps
    after reset(), and then do nothing."""
    allocations, pending, held = manager.allocations, manager.deallocations, [memory]

    def free():
        allocations.pop(key, None)
        held.clear()
        pending.keep_to_limits()

    return free


class MemoryManager(GetIpcHandleMixin, BaseCUDAMemoryManager):
    """Numba's plugin. Numba makes one for each context.

    Memory is allocated and freed in the order of the legacy default stream, even if Numba's default
    stream is the per-thread one: the legacy stream waits for the streams that Numba makes and for
    all per-thread default streams, and they wait for it. Numba does not tell on which stream an
    array will be used. If you use arrays on a non-blocking stream of another library
    (``cuda.external_stream``), with a manager of stream-ordered memory, then between the allocation
    and the first use make that stream wait for an event of the legacy stream, or synchronise; and
    synchronise again before the last reference is dropped.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.allocations = {}
        self._pending = None

    @property
    def interface_version(self):
        return 1

    @property
    def _device(self):
        device = self.context.device  # a number, if Numba has attached to a context
        return libcai.Device(libcai.DeviceType.CUDA, int(getattr(device, "id", device)))

    @property
    def deallocations(self):
        """The pending frees."""
        if self._pending is None:
            self._pending = _PendingFrees(self._device)
        return self._pending

    @property
    def _context(self):
        return weakref.proxy(self.context)

    def _allocate(self, size, kind, **more):
        # Never 2: Numba's own streams, and other threads' streams 2, are ordered with 1 only.
        with _as_numba_says():
            return libcai.Memory(size, kind, device=self._device, stream=1, **more)

    def _must_map(self):
        if not self._device.maps_host:
            raise CudaDriverError(f"{self.context.device} cannot map host memory")

    def _keep(self, memory, make, pointer, owner=None):
        """Makes Numba's pointer, which lives until its last reference is dropped."""
        key = memory.address
        arguments = {} if owner is None else {"owner": owner}
        made = make(
            self._context,
            pointer,
            memory.size,
            finalizer=_finalizer(self, memory, key),
            **arguments,
        )
        self.allocations[key] = made
        return made.own()

    def initialize(self):
        """Makes the device's manager, if there is none yet, so that an invalid choice fails
        here."""
        if self._pending is None:
            libcai.MemoryManager.of(self._device)
            self._pending = _PendingFrees(self._device)

    def memalloc(self, size):
        memory = self._allocate(size, "default")
        return self._keep(memory, AutoFreePointer, binding.CUdeviceptr(memory.address))

    def memallocmanaged(self, size, attach_global):
        memory = self._allocate(size, "managed_global" if attach_global else "managed")
        return self._keep(memory, ManagedMemory, binding.CUdeviceptr(memory.address))

    def memhostalloc(self, size, mapped=False, portable=False, wc=False):
        if mapped:
            self._must_map()
        memory = self._allocate(
            size, "mapped" if mapped else "pinned", portable=portable, write_combined=wc
        )
        if mapped:
            return self._keep(memory, MappedMemory, memory.host_address)
        return PinnedMemory(
            self._context, memory.host_address, size, finalizer=_finalizer(self, memory)
        )

    def mempin(self, owner, pointer, size, mapped=False):
        if mapped:
            self._must_map()
        host = (ctypes.c_char * size).from_address(pointer)
        with _as_numba_says():
            memory = libcai.Memory.pin(
                host, device=self._device, kind="mapped" if mapped else "pinned"
            )
        if mapped:
            return self._keep(memory, MappedMemory, pointer, owner)
        return PinnedMemory(
            self._context, pointer, size, owner=owner, finalizer=_finalizer(self, memory)
        )

    def get_ipc_handle(self, memory):
        """Makes an IPC handle of libcai's memory; of another library's memory, by the driver."""
        address = int(memory.handle)
        try:
            found, offset = libcai.Memory.find(address)
        except libcai.CudaError:
            return super().get_ipc_handle(memory)
        with _as_numba_says():
            shared = found.share()
        if shared.kind != "legacy":
            raise CudaDriverError(
                "memory of a pool is shared by a file descriptor, for which Numba's IpcHandle has "
                "no room: use libcai.Memory.share() and libcai.Memory.open()"
            )
        data = bytes(shared)
        handle = binding.CUipcMemHandle()
        ctypes.memmove(handle.getPtr(), data[72:136], 64)  # cai_ipc_handle.data
        (base,) = struct.unpack_from("=Q", data, 16)  # cai_ipc_handle.offset
        return IpcHandle(
            memory,
            handle,
            memory.size,
            self.context.device.get_device_identity(),
            offset=base + offset,
        )

    def get_memory_info(self):
        free, total = libcai.MemoryManager.of(self._device).memory
        return MemoryInfo(free=free, total=total)

    def reset(self):
        """Drops all that Numba has allocated in the context, and runs the pending frees."""
        self.allocations.clear()
        self.deallocations.clear()

    @contextlib.contextmanager
    def defer_cleanup(self):
        with libcai.defer_cleanup(self._device):
            yield


# Numba reads this name from the module that NUMBA_CUDA_MEMORY_MANAGER names.
_numba_memory_manager = MemoryManager
