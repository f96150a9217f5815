# SPDX-License-Identifier: BSD-3-Clause
"""The small public types of libcai.Array's attributes."""

from __future__ import annotations

import contextlib
import enum
import operator
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
    """How much memory there is, in bytes."""

    free: int
    total: int


class Device(_Pair):
    """A device: a kind and an ordinal. Arrays say so where they are.

    Parameters
    ----------
    type : str or int
        ``"cpu"``; ``"gpu"``, the thread's current one; ``"gpu:1"`` or ``"cuda:1"``; ``"gpu:free"``,
        the one with the most free memory. Case and blanks do not matter. Or a `DeviceType`.
    id : int or None
        Ordinal, beside a `DeviceType` only, and always; None if it is not known.

    Raises
    ------
    UseError
        For a text that is none of these.
    TypeError
        For what is no text, or no integers.
    CudaError
        For a GPU that is not there. Without a driver there is none.

    Notes
    -----
    ``with device:`` makes it current for the thread, and then what was current before.

    As text, the CPU is ``cpu``, a GPU ``gpu:0``, or ``gpu`` if it is not known which, and any other
    kind goes by its `DeviceType`, as ``cuda_managed:0`` does.
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
        return tuple.__new__(
            cls, (_device_type(operator.index(type)), None if id is None else operator.index(id))
        )

    def __str__(self) -> str:
        return _devices().format(self)

    @property
    def index(self) -> int | None:  # type: ignore[override]
        """The ordinal, under PyTorch's name for it; the same as ``id``."""
        return self.id

    @staticmethod
    def count(kind: str | int = "gpu") -> int:  # type: ignore[override]
        """Returns how many devices of a kind there are, ``"cpu"`` or ``"gpu"``: 1 CPU; 0 GPUs if
        there is no driver."""
        return _devices().count(_kind(kind))

    @classmethod
    def current(cls, kind: str | int = "gpu") -> Device:
        """Returns the thread's current device of a kind; GPU 0 if none is current."""
        return cls(*_devices().current(_kind(kind)))

    @classmethod
    def all(cls) -> list[Device]:
        """Returns a list of all devices, the CPU first."""
        gpus = [cls(DeviceType.CUDA, i) for i in range(cls.count())]
        return [cls(DeviceType.CPU, 0), *gpus]

    @classmethod
    def most_free(cls, kind: str | int = "gpu") -> Device:
        """Returns the device of a kind with the most free memory; the first of several."""
        return cls(*_devices().most_free(_kind(kind)))

    @classmethod
    def find(cls, uuid: UUID | bytes) -> Device:
        """Returns the GPU with an identity, a ``uuid.UUID`` or its 16 bytes, under whatever ordinal
        this process knows it."""
        return cls(*_devices().find_device(getattr(uuid, "bytes", uuid)))

    def set_current(self) -> None:
        """Makes a GPU's primary context current on the calling thread. Nothing for the CPU."""
        _devices().set_current(self)

    def __enter__(self) -> Device:
        _devices().enter_device(self)
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        _devices().leave_device(self, value)

    @property
    def name(self) -> str:
        """What the driver calls it."""
        return _devices().describe(self)["name"]

    @property
    def uuid(self) -> UUID | None:
        """A ``uuid.UUID`` that tells it from all others, whatever its ordinal; None for the CPU."""
        import uuid

        data = _devices().describe(self)["uuid"]
        return uuid.UUID(bytes=data) if self.type != DeviceType.CPU else None

    @property
    def pci(self) -> tuple[int, int, int] | None:
        """``(domain, bus, slot)``; None for the CPU."""
        return _devices().describe(self)["pci"] if self.type != DeviceType.CPU else None

    @property
    def memory(self) -> MemoryInfo:
        """``(free, total)`` in bytes; of the machine for the CPU."""
        return MemoryInfo(*_devices().memory_of(self))

    @property
    def maps_host(self) -> bool:
        """Whether it can use pinned host memory where that is."""
        return _devices().describe(self)["maps_host"]

    @property
    def managed_memory(self) -> bool:
        """Whether it has managed memory."""
        return _devices().describe(self)["managed_memory"]

    @property
    def concurrent_managed(self) -> bool:
        """Whether the host may use managed memory while it works."""
        return _devices().describe(self)["concurrent_managed"]

    @property
    def pools(self) -> bool:
        """Whether it has stream-ordered memory."""
        return _devices().describe(self)["pools"]

    @property
    def pools_by_descriptor(self) -> bool:
        """Whether its pools can be shared by a file descriptor."""
        return _devices().describe(self)["pools_by_descriptor"]

    @property
    def integrated(self) -> bool:
        """Whether its memory is the host's."""
        return _devices().describe(self)["integrated"]

    def can_access(self, peer: Device | str) -> bool:
        """Returns whether kernels here can be allowed to use the memory of `peer`."""
        return _devices().can_access(self, peer)

    def synchronize(self) -> None:
        """Waits for the thread's current stream, and for all that is queued in the GPU's primary
        context. The GIL is released."""
        _devices().synchronize(self)

    def reset(self, context: bool = False) -> None:
        """Synchronises, calls what `on_reset` was given, frees what waits to be freed, resets the
        device's managers, and drops the thread's current streams of it.

        Parameters
        ----------
        context : bool
            Destroy the GPU's primary context, too, and with it all that anybody in the process has
            there. Memory, streams and events of it are then dead: using one is a `StateError`.
            While that lasts, its memory gives no buffer, in callbacks either.

        Raises
        ------
        BufferError
            With `context`, if there are buffers in its memory, as for `Memory.free`: let go of them
            first. Nothing has been reset then.

        Notes
        -----
        If callbacks raise, the others are called all the same; then the first one's exception goes
        on, with a note for each of the others.
        """
        _devices().reset(self, context)

    @staticmethod
    def on_reset(function: Callable[[Device], object]) -> None:
        """Calls ``function(device)`` in each reset of any device, after it has synchronised. What
        was given already is not called twice."""
        _devices().on_reset(function)

    @staticmethod
    def off_reset(function: Callable[[Device], object]) -> None:
        """Takes back what `on_reset` was given; nothing if that was not given."""
        _devices().off_reset(function)

    def set_cache(self, size: int) -> None:
        """Sets how many bytes of freed memory the device's current pool keeps for later; at first
        0. Nothing for the CPU."""
        _devices().set_cache(self, size)

    def trim_cache(self, keep: int = 0) -> None:
        """Gives freed memory of the device's current pool back, down to `keep` bytes. Nothing for
        the CPU."""
        _devices().trim_cache(self, keep)

    def summary(self) -> str:
        """Returns a few lines for people: name, identity, memory, what it can do."""
        return _devices().summary(self)


class Location(NamedTuple):
    """What the driver says of an array's memory; None stands for what it does not say."""

    device: Device
    context: int | None
    device_pointer: int
    host_accessible: bool
    managed: bool
    base: int | None
    size: int | None


class Usage(NamedTuple):
    """What is out and what is pending on a device; sizes in bytes."""

    bytes: int
    count: int  # type: ignore[assignment]
    pending_bytes: int
    pending_count: int
    deferred: int


class Statistics(NamedTuple):
    """What a manager has counted; sizes in bytes, as asked for."""

    bytes: int
    bytes_peak: int
    bytes_total: int
    count: int  # type: ignore[assignment]
    count_peak: int
    count_total: int
    failures: int


class Allocation(NamedTuple):
    """Memory that is out: `seconds` is when, since the manager was made; `caller` a line of Python,
    or an empty text."""

    address: int
    size: int
    kind: str
    stream: int
    seconds: float
    caller: str


class Block(NamedTuple):
    """Memory as a manager gives and takes it: the addresses for kernels and for the host (or 0),
    bytes, and what is the manager's own."""

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


def _kind(kind):
    """The number for "cpu" or "gpu"."""
    if isinstance(kind, str):
        return {"cpu": DeviceType.CPU, "gpu": DeviceType.CUDA, "cuda": DeviceType.CUDA}.get(
            kind.strip().lower(), 0
        )
    return kind


def _devices():
    """The compiled module, loaded by what needs it: an array alone does not."""
    from libcai import _devices

    return _devices
