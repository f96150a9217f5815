# SPDX-License-Identifier: BSD-3-Clause
"""The small public types of libcai.Array's attributes."""

from __future__ import annotations

import contextlib
import enum
import operator
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

from libcai.errors import shown

if TYPE_CHECKING:
    from uuid import UUID


class DeviceType(enum.IntEnum):
    """Kinds of devices, with DLPack's numbers."""

    CPU = 1
    CUDA = 2
    CUDA_HOST = 3
    ROCM = 10
    CUDA_MANAGED = 13


class _Pair(NamedTuple):
    type: int
    id: int | None


class MemoryInfo(NamedTuple):
    """Amounts of memory, in bytes."""

    free: int
    total: int


class Device(_Pair):
    """A device: a kind and an ordinal. The type of `Array.device`.

    Parameters
    ----------
    type : str or int
        ``"cpu"``; ``"gpu"``, the thread's current GPU; ``"gpu:1"`` or ``"cuda:1"``; ``"gpu:free"``,
        the GPU with the most free memory. Case and blanks do not matter. Or a `DeviceType`.
    id : int or None
        Ordinal; given if and only if `type` is a `DeviceType`. None if it is not known.

    Raises
    ------
    UseError
        For any other text.
    TypeError
        For arguments that are neither text nor integers.
    CudaError
        For a text that names a GPU that does not exist; without a driver there is none. A
        `DeviceType` with an ordinal is not looked up.

    Notes
    -----
    ``with device:`` makes it the thread's current device, and restores the previous one at the end.

    As text, the CPU is ``cpu``, and a GPU is ``gpu:0``, or ``gpu`` if its ordinal is not known. Any
    other kind is written as its `DeviceType`, such as ``cuda_managed:0``.
    """

    __slots__ = ()

    def __new__(
        cls,
        type: str | SupportsIndex,
        id: SupportsIndex | None = ...,  # type: ignore[assignment]
    ) -> Device:
        if isinstance(type, str):
            if id is not ...:
                raise TypeError(f"a device is {shown(type)}, or a type and an id; not both")
            type, id = _devices().parse(type)
        elif id is ...:
            raise TypeError(
                "a device is a text such as 'cpu' and 'gpu:0', or a type and an id, not "
                f"{shown(type)}"
            )
        kind = _device_type(_integer(type, "type"))
        return tuple.__new__(cls, (kind, None if id is None else _integer(id, "id")))

    def __str__(self) -> str:
        return _devices().format(self)

    @property
    def index(self) -> int | None:  # type: ignore[override]
        """The ordinal, under PyTorch's name; the same as ``id``."""
        return self.id

    @staticmethod
    def count(kind: str | int = "gpu") -> int:  # type: ignore[override]
        """Returns the number of devices of a kind, ``"cpu"`` or ``"gpu"``: 1 CPU; 0 GPUs if there
        is no driver."""
        return _devices().count(_kind(kind))

    @classmethod
    def current(cls, kind: str | int = "gpu") -> Device:
        """Returns the thread's current device of a kind; GPU 0 if no context is current."""
        return cls(*_devices().current(_kind(kind)))

    @classmethod
    def all(cls) -> list[Device]:
        """Returns a list of all devices, the CPU first."""
        gpus = [cls(DeviceType.CUDA, i) for i in range(cls.count())]
        return [cls(DeviceType.CPU, 0), *gpus]

    @classmethod
    def most_free(cls, kind: str | int = "gpu") -> Device:
        """Returns the device of a kind with the most free memory; of several, the first."""
        return cls(*_devices().most_free(_kind(kind)))

    @classmethod
    def find(cls, uuid: UUID | bytes) -> Device:
        """Returns the GPU with a UUID, a ``uuid.UUID`` or its 16 bytes, whatever its ordinal in
        this process."""
        return cls(*_devices().find_device(getattr(uuid, "bytes", uuid)))

    def set_current(self) -> None:
        """Makes a GPU's primary context current on the calling thread. Does nothing for the CPU."""
        _devices().set_current(self)

    def __enter__(self) -> Device:
        _devices().enter_device(self)
        return self

    def __exit__(
        self,
        kind: Any,
        value: Any,
        traceback: Any,
        _is_ending: Callable[[], bool] = sys.is_finalizing,
    ) -> None:
        # A generator that is suspended in the block may end with the interpreter, which imports
        # nothing any more, and has cleared this module's names.
        if not _is_ending():
            _devices().leave_device(self, value)

    @property
    def name(self) -> str:
        """The driver's name for it."""
        return _devices().describe(self)["name"]

    @property
    def uuid(self) -> UUID | None:
        """A ``uuid.UUID`` that identifies the device, whatever its ordinal; None for the CPU."""
        import uuid

        data = _devices().describe(self)["uuid"]
        return uuid.UUID(bytes=data) if self.type != DeviceType.CPU else None

    @property
    def pci(self) -> tuple[int, int, int] | None:
        """``(domain, bus, slot)``; None for the CPU."""
        return _devices().describe(self)["pci"] if self.type != DeviceType.CPU else None

    @property
    def memory(self) -> MemoryInfo:
        """``(free, total)`` in bytes; for the CPU, the machine's."""
        return MemoryInfo(*_devices().memory_of(self))

    @property
    def maps_host(self) -> bool:
        """Whether it can use pinned host memory in place."""
        return _devices().describe(self)["maps_host"]

    @property
    def managed_memory(self) -> bool:
        """Whether it has managed memory."""
        return _devices().describe(self)["managed_memory"]

    @property
    def concurrent_managed(self) -> bool:
        """Whether the host may use managed memory while the device works."""
        return _devices().describe(self)["concurrent_managed"]

    @property
    def pools(self) -> bool:
        """Whether it has stream-ordered memory."""
        return _devices().describe(self)["pools"]

    @property
    def pools_by_descriptor(self) -> bool:
        """Whether pools can be shared by a file descriptor."""
        return _devices().describe(self)["pools_by_descriptor"]

    @property
    def integrated(self) -> bool:
        """Whether its memory is the host's."""
        return _devices().describe(self)["integrated"]

    def can_access(self, peer: Device | str) -> bool:
        """Returns whether kernels on this device can be given access to the memory of `peer`."""
        return _devices().can_access(self, peer)

    def synchronize(self) -> None:
        """Waits for the thread's current stream, and for all work queued in the GPU's primary
        context. The GIL is released."""
        _devices().synchronize(self)

    def reset(self, context: bool = False) -> None:
        """Synchronises the device, calls the functions of `on_reset`, runs the pending frees,
        resets the device's managers, and drops the thread's current streams of it.

        Parameters
        ----------
        context : bool
            Destroy the GPU's primary context, too, and all that the process has in it. Until the
            reset has returned, no other thread may be in a call that uses the device, of libcai or
            of the driver; nor in `drain` or `flush`, or in a use, a copy, an allocation or a free
            on another GPU, which look at what is pending on all GPUs. Using memory, streams and
            events of that context is then a `StateError`. During the reset, its memory gives no
            buffer, not even in callbacks. The reset does not wait for other GPUs' work on its
            memory: synchronise these before. In work of a CPU stream it does not wait for other CPU
            streams either: none may have work pending on that memory.

        Raises
        ------
        BufferError
            With `context`, if buffers of its memory exist, as for `Memory.free`: release them
            first. Nothing is reset then.

        Notes
        -----
        If callbacks raise, the others are still called; then the first exception is raised, with a
        note for each of the others.
        """
        _devices().reset(self, context)

    @staticmethod
    def on_reset(function: Callable[[Device], object]) -> None:
        """Calls ``function(device)`` in each reset of any device, after it has synchronised. A
        function that is registered already is not called twice."""
        _devices().on_reset(function)

    @staticmethod
    def off_reset(function: Callable[[Device], object]) -> None:
        """Removes a function of `on_reset`; does nothing if it is not registered."""
        _devices().off_reset(function)

    def set_cache(self, size: int) -> None:
        """Sets how many bytes of freed memory the device's current pool caches; the default is 0.
        Does nothing for the CPU."""
        _devices().set_cache(self, size)

    def trim_cache(self, keep: int = 0) -> None:
        """Releases cached memory of the device's current pool, down to `keep` bytes. Does nothing
        for the CPU."""
        _devices().trim_cache(self, keep)

    def summary(self) -> str:
        """Returns a few lines for people: name, UUID, memory, capabilities."""
        return _devices().summary(self)


class Location(NamedTuple):
    """What the driver reports of an array's memory; None where it reports nothing."""

    device: Device
    context: int | None
    device_pointer: int
    host_accessible: bool
    managed: bool
    base: int | None
    size: int | None


class Usage(NamedTuple):
    """The allocated and the pending memory of a device; sizes in bytes."""

    bytes: int
    count: int  # type: ignore[assignment]
    pending_bytes: int
    pending_count: int
    deferred: int


class Statistics(NamedTuple):
    """The counts of a manager; sizes in bytes, of the blocks that it returned."""

    bytes: int
    bytes_peak: int
    bytes_total: int
    count: int  # type: ignore[assignment]
    count_peak: int
    count_total: int
    failures: int


class Allocation(NamedTuple):
    """An allocation that is not freed. `seconds` is its time, since the manager was created;
    `caller` a line of Python, or an empty text."""

    address: int
    size: int
    kind: str
    stream: int
    seconds: float
    caller: str


class Block(NamedTuple):
    """A block of memory of a manager: the addresses for kernels and for the host (or 0), the size
    in bytes, and the manager's cookie."""

    address: int
    host: int
    size: int
    cookie: int


def device(kind, ordinal):
    """Returns the Device for the C struct's two numbers."""
    return Device(kind, None if ordinal < 0 else ordinal)


def _device_type(number):
    with contextlib.suppress(ValueError):  # newer than this package
        return DeviceType(number)
    return number


def _integer(given, what):
    if not hasattr(type(given), "__index__"):
        raise TypeError(f"a device's {what} is {shown(given)}, and an integer is required")
    return operator.index(given)


def _kind(kind):
    """The number for "cpu" or "gpu"."""
    if isinstance(kind, str):
        return {"cpu": DeviceType.CPU, "gpu": DeviceType.CUDA, "cuda": DeviceType.CUDA}.get(
            kind.strip().lower(), 0
        )
    return _integer(kind, "kind")


def _devices():
    """The compiled module, loaded on demand: an array alone does not need it."""
    from libcai import _devices

    return _devices
