# SPDX-License-Identifier: BSD-3-Clause
"""The current streams of frameworks whose dicts (versions 0 to 2) name no stream."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from libcai._stream import LEGACY, NO_ORDER, resolve
from libcai.errors import InterfaceError, InterfaceTypeError, add_note, shown

if TYPE_CHECKING:
    from libcai.typing import Stream


def _torch(tensor):
    torch = sys.modules.get("torch")
    return torch and torch.cuda.current_stream(tensor.device).cuda_stream


_providers = {"torch": _torch}


def provide_stream(module: str, function: Callable[[Any], Stream | None]) -> None:
    """Registers a function that finds the stream of a framework's arrays that do not state one.

    `asarray` calls the function for an object whose dict has a version from 0 to 2 (these have no
    ``"stream"``), or that has only DLPack, if the object's class, or a base class, is of `module`.
    The returned stream becomes the array's stream, and is passed to ``__dlpack__``. Without a
    function, the stream of a dict's array is ``'unstated'``, and uses wait for the legacy default
    stream of its device; ``__dlpack__`` gets the stream of the work, or the legacy default stream.
    libcai knows PyTorch's current stream by itself, once PyTorch is imported.

    Parameters
    ----------
    module : str
        A top-level module, as in ``type(obj).__module__`` up to the first dot. A second function
        for the same module replaces the first.
    function : callable
        Takes the object; returns a stream as `use` takes it, except -1 (0 means 1), or None if it
        does not know. The array keeps a stream object alive. Its exceptions pass unchanged.

    Raises
    ------
    TypeError, ValueError
        For an invalid module name, and for a `function` that is not callable.

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


def stream_of_cupy(array, number):
    """Returns CuPy's object of the stream that an array of CuPy's comes with, or None: the stream
    is destroyed with the object, which the array does not hold."""
    cupy = sys.modules.get("cupy")
    if not isinstance(array, getattr(cupy, "ndarray", ())):
        return None
    stream = cupy.cuda.get_current_stream()
    return stream if stream.ptr == number else None


def provided(obj):
    """Returns (number, stream) for an object's framework, or None if no function knows it."""
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
    try:
        number = LEGACY if type(stream) is int and stream == 0 else resolve(stream)
    except (InterfaceError, InterfaceTypeError) as error:
        add_note(error, f"the provider for {module} returned {shown(stream)}")
        raise
    if number == NO_ORDER:
        raise InterfaceError(
            f"stream: the provider for {module} returned -1, which is no stream", "stream", stream
        )
    return number, stream
