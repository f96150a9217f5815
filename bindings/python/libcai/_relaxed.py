# SPDX-License-Identifier: BSD-3-Clause
"""Relaxes the order that the text requires, by a ``with`` block or the environment."""

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
    """Whether a use is ordered here; the C library reads CAI_SYNC itself."""
    return _sync.get()


def export_stream():
    """Whether a dict names the stream here."""
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
    """Process-wide settings of other libraries, changed while any block needs it."""

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

# How many reasons there are to call sync() or export_stream() at all.
_reasons = 0 if _VALUES.get(_ENVIRONMENT) else 1
_tell = None


def on_change(function):
    """Registers the function that tells the compiled module the number of reasons."""
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
    """Relaxes the order within a ``with`` block; you must then keep that order yourself.

    It applies to the thread, or the asynchronous task, that entered the block, and not to threads
    that it starts. Blocks nest: for what the inner block names, it decides.

    Parameters
    ----------
    sync : bool, optional
        False: a `use` made here orders nothing, unless its order is ``'host'``; as ``CAI_SYNC=0``
        in the environment, which no block can undo.
    export_stream : bool, optional
        False: dicts name None as the stream, even if work is pending; as ``CAI_EXPORT_STREAM=0`` in
        the environment, which is read when libcai is imported.

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
        On exit on another thread, or in another asynchronous task, than the one that entered the
        block; nothing is changed.

    Notes
    -----
    Switches of other libraries follow while any thread is in such a block, if the library was
    imported before and reads its switch at run time: ``CUDA_ARRAY_INTERFACE_SYNC`` of Numba,
    numba-cuda and CuPy (`sync`), and ``CUDA_ARRAY_INTERFACE_EXPORT_VERSION`` of CuPy, which becomes
    2 (`export_stream`). They apply to the whole process, other threads included. The text,
    "Synchronization".
    """
    for name, value in (("sync", sync), ("export_stream", export_stream)):
        if value is not None and type(value) is not bool:
            raise TypeError(f"{name} is {shown(value)}, and neither True, False nor None")
    return _Block(sync, export_stream)


class _Block(ContextDecorator, AbstractContextManager):
    """The context manager that `relaxed` returns."""

    def __init__(self, *values):
        self._values = values
        self._undo = None  # of the entered block

    def _recreate_cm(self):
        """Makes it a decorator: a new block for each call of the function."""
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
                except ValueError:  # reported by the first of them: all are of one context
                    raise StateError(
                        "libcai.relaxed() is left by the thread, or the asynchronous task, that "
                        "entered it"
                    ) from None
                peers.turn(-blocks)
            _add_reasons(-1)
        self._undo = None
