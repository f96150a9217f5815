# SPDX-License-Identifier: BSD-3-Clause
"""Which stream is current in a framework whose dicts do not say so: versions 0 to 2."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from libcai._stream import LEGACY, NO_ORDER, resolve
from libcai.errors import InterfaceError, shown

if TYPE_CHECKING:
    from libcai.typing import Stream


def _torch(tensor):
    torch = sys.modules.get("torch")
    return torch and torch.cuda.current_stream(tensor.device).cuda_stream


_providers = {"torch": _torch}


def provide_stream(module: str, function: Callable[[Any], Stream | None]) -> None:
    """Says where to look for the stream of a framework's arrays that do not state one.

    `asarray` calls the function for an object whose interface has a version from 0 to 2, which
    have no ``"stream"``, or that has DLPack alone, if the object's class, or a class that it
    inherits from, is of `module`. Its answer becomes the array's stream, and is what
    ``__dlpack__`` is asked for. Without one, the array of a dict is ``'unstated'``, and the legacy
    default stream of its device is waited for; ``__dlpack__`` is asked for the stream of the work,
    or for that one. PyTorch's current stream is known without this, as soon as PyTorch has been
    imported.

    Parameters
    ----------
    module : str
        A top-level module, as in ``type(obj).__module__`` up to the first dot. Another function for
        the same module takes the place of the first.
    function : callable
        Takes the object; returns what `use` takes for a stream but -1 (0 means 1), or None if
        it does not know. The array keeps a stream object alive. What it raises passes unchanged.

    Raises
    ------
    TypeError, ValueError
        For a module that is none, and for what cannot be called.

    Notes
    -----
    The text, "Synchronization".
    """
    if not isinstance(module, str):
        raise TypeError(f"module is {shown(module)}, and not the name of a module")
    if not module or "." in module:
        raise ValueError(f"module is {shown(module)}, and not the name of a top-level module")
    if not callable(function):
        raise TypeError(f"function is {shown(function)}, which cannot be called")
    _providers[module] = function


def provided(obj):
    """Returns (number, stream) for an object's framework, or None if nobody knows."""
    for kind in type(obj).__mro__:
        module = str(kind.__module__).partition(".")[0]
        function = _providers.get(module)
        if function is not None:
            break
    else:
        return None
    stream = function(obj)
    if stream is None:
        return None
    number = LEGACY if type(stream) is int and stream == 0 else resolve(stream)
    if number == NO_ORDER:
        raise InterfaceError(
            f"stream: the provider for {module} says -1, which is no stream", "stream", stream
        )
    return number, stream
