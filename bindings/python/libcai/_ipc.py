# SPDX-License-Identifier: BSD-3-Clause
"""The handle that another process needs to open memory of this one."""

from __future__ import annotations

import contextlib
import os
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from libcai._devices import Memory

from libcai.errors import UseError, shown

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

    @property
    def kind(self) -> str:
        """``'legacy'``: the bytes are enough. ``'pool'``: the descriptor is needed beside them."""
        return _KINDS.get(struct.unpack_from("=I", self._data, 4)[0], "unknown")

    @property
    def size(self) -> int:
        """Bytes of the memory."""
        return struct.unpack_from("=Q", self._data, 8)[0]

    @property
    def fd(self) -> int | None:
        """The pool's file descriptor, which this object owns; None if there is none."""
        return self._fd

    def close(self) -> None:
        """Closes the descriptor; it is not needed once it was sent."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, OSError):
            self.close()

    def __bytes__(self) -> bytes:
        return self._data

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IpcHandle):
            return NotImplemented
        return self._data == other._data

    def __hash__(self) -> int:
        return hash(self._data)

    def __reduce__(self):
        return type(self), (self._data,)

    def __repr__(self) -> str:
        return f"<libcai.IpcHandle kind={self.kind} size={self.size}>"
