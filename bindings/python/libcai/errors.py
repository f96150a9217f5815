# SPDX-License-Identifier: BSD-3-Clause
"""The errors of libcai. Each is also the matching built-in exception."""

import builtins
import contextlib

__all__ = [
    "BufferError",
    "CudaError",
    "Error",
    "InterfaceError",
    "InterfaceTypeError",
    "StateError",
    "UseError",
    "VersionError",
    "ViewError",
    "ViewIndexError",
]

_MOST_SHOWN = 512  # characters

# The values of cai_status, as in cai.h.
_ARGUMENT, _VALUE, _TYPE, _VERSION, _MEMORY, _LAYOUT = -1, -2, -3, -4, -5, -7
_UNSUPPORTED, _EXPORT, _DRIVER, _BOUNDS, _ORDER, _STATE = -8, -9, -10, -14, -15, -16


class Error(Exception):
    """All errors of libcai.

    Attributes
    ----------
    status : int
        The ``cai_status``; 0 if Python code found the error, unless it is a `StateError`.
    """

    status = 0


class _EntryError(Error):
    def __init__(self, message, entry="interface", value=None, status=0):
        super().__init__(message)
        self.entry = entry
        self.value = value
        self.status = status

    def __reduce__(self):
        value = self.value if _is_plain(self.value) else None
        return type(self), (self.args[0], self.entry, value, self.status)


def _is_plain(value, depth=4):
    """Whether it can certainly be pickled, and means the same in another process. No well-formed
    entry is deeper than a `descr` with shapes."""
    if type(value) in (tuple, list):
        return depth > 0 and all(_is_plain(item, depth - 1) for item in value)
    return value is None or type(value) in (bool, int, float, str, bytes)


class InterfaceError(_EntryError, ValueError):
    """An entry of the interface has a value that the text forbids.

    Attributes
    ----------
    entry : str
        The dict's key, such as ``"shape"``; ``"interface"`` for the dict as a whole.
    value : object
        The invalid value: the dict's entry. A pickle has it if it consists of numbers and text;
        otherwise None.
    """


class InterfaceTypeError(_EntryError, TypeError):
    """An entry of the interface has the wrong form, or there is no interface at all.

    Attributes
    ----------
    entry : str
        The dict's key, such as ``"shape"``; ``"interface"`` for the dict as a whole.
    value : object
        The invalid value: the dict's entry, or the object that has no interface.
    """


class _NoDlpackError(InterfaceTypeError, AttributeError):
    """The object passed to from_dlpack() has no DLPack methods: the array-API standard requires an
    AttributeError."""


class VersionError(Error, ValueError):
    """An array was made for another ABI, or has a critical flag that this libcai does not know."""


class ViewError(Error, ValueError):
    """The view is invalid, or would need a copy."""


class ViewIndexError(Error, IndexError):
    """An index is out of range, or there are too many indices."""


class UseError(Error, ValueError):
    """Invalid use: an unknown word, an invalid value or size, arrays that do not match, a default
    stream without a current context, or an environment variable with an invalid value."""


class StateError(Error, RuntimeError):
    """The object's state does not allow the call: it was freed or left already, or the device was
    reset. Also if a forked child needs the driver that its parent had loaded. For a buffer it is a
    `BufferError`, too."""

    status = _STATE


class BufferError(Error, builtins.BufferError):
    """The array cannot be exported in that form, or memory cannot be freed while it has buffers."""


class _NoBufferError(StateError, BufferError):
    """The state allows no buffer, for which Python's buffer protocol requires a BufferError."""


class CudaError(Error, RuntimeError):
    """The driver is missing, a driver call failed, or the driver cannot do what was requested.

    Attributes
    ----------
    status : int
        The ``cai_status``.
    native : int
        The driver's ``CUresult``, or 0.
    """

    def __init__(self, message, status=0, native=0):
        super().__init__(message)
        self.status = status
        self.native = native

    def __reduce__(self):
        return type(self), (self.args[0], self.status, self.native)


# What libcai's messages suggest, and the Python equivalent.
_IN_PYTHON = {
    "cai_array_publish_event()": "Array.publish_event()",
    "cai_array_publish()": "Array.publish()",
    "CAI_ACCESS_WRITE": 'access="write"',
    "CAI_EVENT_TIMING": "timing=True",
    "CAI_POOL_EXPORTABLE": "exportable=True",
    "CAI_USE_EXTERNAL": "external=True",
    "CAI_USE_FORK": "fork=True",
}


# Around the number of an exception of a callback, at the beginning of the text that C gets. C may
# put words before it. The two characters are not shown.
MARK, MARK_END = "\u2063#", " \u2063"


def unmarked(message):
    """Returns a text from C without the number of an exception."""
    before, mark, rest = message.partition(MARK)
    number, end, after = rest.partition(MARK_END)
    return before + after if mark and end and number.isdecimal() else message


def from_status(status, native, message, entry="", value=None):
    """Returns the exception for a failure of the C library."""
    message = unmarked(message)
    for name, ours in _IN_PYTHON.items():
        message = message.replace(name, ours)
    if status == _VALUE:
        return InterfaceError(message, entry, value, status)
    if status == _TYPE:
        return InterfaceTypeError(message, entry, value, status)
    if status == _MEMORY:
        return MemoryError(message)
    if _ORDER <= status <= _DRIVER:
        return CudaError(message, status, native)
    if status == _VERSION:
        error = VersionError(message)
    elif status == _STATE:
        error = StateError(message)
    elif status == _EXPORT:
        error = BufferError(message)
    elif status in (_ARGUMENT, _LAYOUT, _UNSUPPORTED):
        error = ViewError(message)
    else:
        error = Error(message)
    error.status = status
    return error


def from_order(status, native, message, entry=""):
    """The same for a function under "Order", where an invalid argument is no ViewError."""
    if status != _ARGUMENT:
        return from_status(status, native, message, entry)
    error = UseError(unmarked(message))
    error.status = status
    return error


def from_device(status, native, message):
    """The same for devices, streams, events, memory and managers."""
    if status == _UNSUPPORTED:
        return CudaError(unmarked(message), status, native)
    if status not in (_ARGUMENT, _VALUE, _TYPE, _LAYOUT, _BOUNDS):
        return from_status(status, native, message)
    error = UseError(unmarked(message))
    error.status = status
    return error


def status_of(exception):
    """Returns the ``cai_status`` and ``CUresult`` that report an exception to C."""
    if isinstance(exception, Error) and exception.status < 0:
        return exception.status, getattr(exception, "native", 0)
    for kind, status in (
        (MemoryError, _MEMORY),
        (NotImplementedError, _UNSUPPORTED),
        (TypeError, _TYPE),
        (ValueError, _VALUE),
    ):
        if isinstance(exception, kind):
            return status, 0
    return _STATE, 0


def shown(value):
    """The text of a value for an error. Python does not write the digits of an integer that is too
    long, and an object's own ``__repr__`` may do anything."""
    try:
        text = str.__str__(repr(value))
    except Exception:
        if isinstance(value, int):
            return f"an integer of {int.bit_length(value)} bits"
        return f"an object of type {type(value).__name__} that cannot be shown"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def add_note(exception, note):
    """Adds a note to an exception; in Python 3.10, to the attribute that later versions use."""
    if hasattr(exception, "add_note"):
        exception.add_note(note)
    else:
        with contextlib.suppress(AttributeError):
            exception.__notes__ = [*getattr(exception, "__notes__", ()), note]
