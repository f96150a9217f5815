# SPDX-License-Identifier: BSD-3-Clause
"""Less order than the text asks for, where somebody asks for it: by a block, or the environment."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import AbstractContextManager, ContextDecorator
from contextvars import ContextVar

from libcai.errors import StateError, UseError, shown

_ENVIRONMENT = os.environ.get("CAI_EXPORT_STREAM", "")
_VALUES = {"": True, "0": False, "1": True}

_sync: ContextVar[bool] = ContextVar("libcai sync", default=True)
_export_stream: ContextVar[bool | None] = ContextVar("libcai export_stream", default=None)


def sync():
    """Whether a use is ordered here; CAI_SYNC is the C library's affair."""
    return _sync.get()


def export_stream():
    """Whether a dict says the stream here."""
    here = _export_stream.get()
    if here is not None:
        return here
    if _ENVIRONMENT not in _VALUES:
        raise UseError(
            f"the environment has CAI_EXPORT_STREAM={_ENVIRONMENT}, which is neither 1 nor 0"
        )
    return _VALUES[_ENVIRONMENT]


_lock = threading.Lock()


class _Switch:
    """Settings of other libraries, which are the process's: changed while any block asks for it."""

    def __init__(self, *places):
        self._places = places
        self._blocks = 0
        self._before = []

    def turn(self, blocks):
        self._blocks += blocks
        if blocks > 0 and self._blocks == 1:
            for name, attribute, value in self._places:
                module = sys.modules.get(name)
                if hasattr(module, attribute):
                    self._before.append((module, attribute, getattr(module, attribute)))
                    setattr(module, attribute, value)
        elif blocks < 0 and self._blocks == 0:
            while self._before:
                setattr(*self._before.pop())


_peers_sync = _Switch(
    ("numba.core.config", "CUDA_ARRAY_INTERFACE_SYNC", 0),
    ("numba.cuda.core.config", "CUDA_ARRAY_INTERFACE_SYNC", 0),
    ("cupy._util", "CUDA_ARRAY_INTERFACE_SYNC", False),
)
_peers_export = _Switch(("cupy._util", "CUDA_ARRAY_INTERFACE_EXPORT_VERSION", 2))

# How many reasons there are to ask sync() or export_stream() at all.
_reasons = 0 if _VALUES.get(_ENVIRONMENT) else 1
_tell = None


def on_change(function):
    """Has the compiled module told of the number of reasons."""
    global _tell
    with _lock:
        _tell = function
        function(_reasons)


def _add_reasons(count):
    global _reasons
    _reasons += count
    if _tell is not None:
        _tell(_reasons)


def relaxed(
    sync: bool | None = None, export_stream: bool | None = None
) -> AbstractContextManager[None]:
    """Relaxes the order within a ``with`` block; what is left out is then yours to keep.

    It holds for the thread, or the asynchronous task, that entered the block, and for no thread
    that it starts. Blocks nest: the inner one decides on what it names.

    Parameters
    ----------
    sync : bool, optional
        False: a `use` that is made here orders nothing, unless its order is ``'host'``; as
        ``CAI_SYNC=0`` in the environment, which no block can take back.
    export_stream : bool, optional
        False: dicts say None for the stream, whatever may be pending; as ``CAI_EXPORT_STREAM=0``
        in the environment, which is read when libcai is imported.

    Returns
    -------
    context manager

    Raises
    ------
    TypeError
        For a value that is neither a bool nor None.
    UseError
        On export, if ``CAI_EXPORT_STREAM`` is neither 1 nor 0.
    StateError
        On exit, on another thread or in another asynchronous task than entered the block, and
        nothing has changed.

    Notes
    -----
    Other libraries' own switches follow, for as long as any thread is in such a block, where the
    library has been imported before and reads its switch at run time:
    ``CUDA_ARRAY_INTERFACE_SYNC`` of Numba, numba-cuda and CuPy (`sync`), and
    ``CUDA_ARRAY_INTERFACE_EXPORT_VERSION`` of CuPy, which becomes 2 (`export_stream`). They are the
    whole process's, so other threads meet them too.
    The text, "Synchronization".
    """
    for name, value in (("sync", sync), ("export_stream", export_stream)):
        if value is not None and type(value) is not bool:
            raise TypeError(f"{name} is {shown(value)}, and neither True, False nor None")
    return _Block(sync, export_stream)


class _Block(ContextDecorator, AbstractContextManager):
    """The context manager that `relaxed` returns."""

    def __init__(self, *values):
        self._values = values
        self._undo = None  # of a block that has been entered

    def _recreate_cm(self):
        """For each call of a function that this decorates."""
        return _Block(*self._values)

    def __enter__(self):
        if self._undo is not None:
            raise StateError("this libcai.relaxed() has been entered already")
        places = ((_sync, _peers_sync), (_export_stream, _peers_export))
        undo = []
        with _lock:
            for (variable, peers), value in zip(places, self._values, strict=True):
                if value is not None:
                    blocks = (not value) - (variable.get() is False)
                    undo.append((variable, variable.set(value), peers, blocks))
                    peers.turn(blocks)
            _add_reasons(1)
        self._undo = undo

    def __exit__(self, kind, value, traceback):
        if self._undo is None:
            raise StateError("this libcai.relaxed() has not been entered")
        with _lock:
            for variable, token, peers, blocks in reversed(self._undo):
                try:
                    variable.reset(token)
                except ValueError:  # the first of them says so: all are of one context
                    raise StateError(
                        "libcai.relaxed() is left by the thread, or the asynchronous task, that "
                        "entered it"
                    ) from None
                peers.turn(-blocks)
            _add_reasons(-1)
        self._undo = None
