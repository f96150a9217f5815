# SPDX-License-Identifier: BSD-3-Clause
"""The handle that another process needs to open memory of this one."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from libcai._devices import Memory

from libcai.errors import StateError, UseError, shown

_SIZE = 160
_KINDS = {1: "legacy", 2: "pool"}


class IpcHandle:
    """A handle of memory for another process; made by `Memory.share`, opened by `Memory.open`.

    It can be pickled, or sent as ``bytes(handle)``. Send the descriptor beside it, over a Unix
    socket. In the process that made it, it keeps the memory alive: keep it until the other
    processes have closed theirs.

    Parameters
    ----------
    data : bytes-like
        The bytes of ``bytes(handle)``.

    Attributes
    ----------
    memory : Memory or None
        The shared memory, in the process that shared it.
    """

    __slots__ = ("__weakref__", "_data", "_fd", "memory")

    def __init__(self, data: Any) -> None:
        self._fd: int | None = None
        self.memory: Memory | None = None
        try:
            self._data = bytes(memoryview(data))
        except TypeError:
            raise TypeError(f"data is {shown(data)}, and must be the bytes of a handle") from None
        if len(self._data) != _SIZE:
            raise UseError(f"a handle has {_SIZE} bytes, not {len(self._data)}")

    @classmethod
    def _made(cls, data, fd, memory):
        self = cls(data)
        self.memory = memory
        self._fd = fd if fd >= 0 else None
        return self

    def _given(self) -> bytes:
        try:
            return self._data
        except AttributeError:
            name = type(self).__name__
            raise StateError(f"this {name} was never initialised by IpcHandle.__init__()") from None

    @property
    def kind(self) -> str:
        """``'legacy'``: the bytes are enough. ``'pool'``: the descriptor is needed beside them.
        ``'unknown'``: the bytes are no handle of libcai's, and cannot be opened."""
        return _KINDS.get(struct.unpack_from("=I", self._given(), 4)[0], "unknown")

    @property
    def size(self) -> int:
        """Bytes of the memory."""
        return struct.unpack_from("=Q", self._given(), 8)[0]

    @property
    def fd(self) -> int | None:
        """The pool's file descriptor, which this object owns; None if there is none."""
        self._given()
        return self._fd

    def close(self) -> None:
        """Closes the descriptor; it is not needed once it was sent."""
        self._given()
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        # At exit this module may have lost its names by now, but not what a function has kept.
        fd = getattr(self, "_fd", None)
        if fd is not None:
            try:  # noqa: SIM105
                close(fd)
            except OSError:
                pass

    def __bytes__(self) -> bytes:
        return self._given()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IpcHandle):
            return NotImplemented
        return self._given() == other._given()

    def __hash__(self) -> int:
        return hash(self._given())

    def __reduce__(self):
        return type(self), (self._given(),)

    def __repr__(self) -> str:
        return f"<libcai.IpcHandle kind={self.kind} size={self.size}>"
