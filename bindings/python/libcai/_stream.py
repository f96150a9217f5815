# SPDX-License-Identifier: BSD-3-Clause
"""The streams that `use` takes."""

import operator
import sys

from libcai._unpack import is_numpy_bool
from libcai.errors import CudaError, InterfaceError, InterfaceTypeError, shown

NO_ORDER = -1
LEGACY = 1


def resolve(stream, advice=", or -1 for no order"):
    """Returns the integer of a stream, with the text's numbers, or -1 for no order.

    An int is returned unchanged. Of an object, ``__cuda_stream__()``, ``.handle``, ``.ptr`` and
    ``.cuda_stream`` are tried, in this order; there 0 is the legacy default stream. `advice` ends
    the messages for None and 0, where -1 can be meant.
    """
    if type(stream) is int:
        return _checked(stream, stream, advice)
    if stream is None:
        raise InterfaceTypeError(
            "stream None is ambiguous: say 1 for the legacy default stream, 2 for the per-thread "
            f"one{advice}",
            "stream",
            None,
        )
    if isinstance(stream, (bool, float, str, bytes)):
        raise InterfaceTypeError(f"stream {shown(stream)} is not a stream", "stream", stream)
    handle = _handle(stream)
    if handle is stream:
        if hasattr(type(stream), "__cuda_stream__"):  # but it has no handle
            raise InterfaceError(
                f"stream {shown(stream)} has no handle, and is not a GPU stream", "stream", stream
            )
        return _checked(_integer(stream, stream), stream, advice)
    try:
        number = _integer(handle, stream)
    except InterfaceTypeError:
        raise InterfaceTypeError(
            f"stream: the handle of {shown(stream)} is {shown(handle)}, which is no integer",
            "stream",
            stream,
        ) from None
    if number == 0:
        return LEGACY
    if number < 0:
        raise _refused(number, stream)
    return _checked(number, stream, advice)


def free_after(memory, stream):
    """Makes the last release of memory free it after the work on a stream."""
    try:
        memory.set_stream(stream)
    except CudaError:  # its own stream is being captured, and so keeps it
        memory.record(stream)


def _handle(stream):
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        answer = protocol() if callable(protocol) else protocol
        if not (isinstance(answer, tuple) and len(answer) == 2):
            raise InterfaceTypeError(
                f"stream: __cuda_stream__() returned {shown(answer)}, not (version, handle)",
                "stream",
                stream,
            )
        version, handle = answer
        if version != 0:
            raise InterfaceError(
                f"stream: __cuda_stream__() has version {shown(version)}; 0 is known",
                "stream",
                stream,
            )
        return handle
    for name in ("handle", "ptr", "cuda_stream"):
        handle = getattr(stream, name, None)
        if handle is not None:
            return handle
    return stream


def _integer(handle, stream):
    """The integer of a handle: itself, ctypes' `value` (None for NULL), or int() of its type."""
    if not isinstance(handle, (bool, float, str, bytes)) and not is_numpy_bool(type(handle)):
        try:
            return operator.index(handle)
        except TypeError:
            pass
        if _is_of_ctypes(handle):
            value = handle.value
            if value is None:
                return 0
            if type(value) is int:
                return value
        elif hasattr(type(handle), "__int__") and not hasattr(type(handle), "__float__"):
            return int(handle)  # neither a number, which may have a fraction, nor an array
    raise InterfaceTypeError(
        f"stream: {type(stream).__name__} object is not a stream: it is no int, and has neither "
        "__cuda_stream__() nor an integer .handle, .ptr or .cuda_stream",
        "stream",
        stream,
    )


def _is_of_ctypes(handle):
    """Events and members of an Enum have an integer `value`, too, and are no streams."""
    ctypes = sys.modules.get("_ctypes")  # who has not imported it has no such handle
    return ctypes is not None and isinstance(handle, ctypes._SimpleCData)


def _checked(number, stream, advice):
    if number == 0:
        raise InterfaceError(
            "stream 0 is ambiguous, and the interface disallows it: say 1 for the legacy default "
            f"stream, 2 for the per-thread one{advice}",
            "stream",
            stream,
        )
    if number < NO_ORDER or number >= 1 << 64:
        raise _refused(number, stream)
    return number


def _refused(number, stream):
    text = str(number) if number.bit_length() <= 128 else f"of {number.bit_length()} bits"
    return InterfaceError(f"stream {text} is not a stream", "stream", stream)
