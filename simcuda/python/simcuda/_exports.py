# SPDX-License-Identifier: BSD-3-Clause
"""Functions that simcuda's libcuda.so.1 exports beside CUDA's driver API, for tests in Python."""

import ctypes
import inspect
import struct
import traceback

_MOST = (1 << 64) - 1  # also the count for an unknown name

_u64, _i32, _name, _address = ctypes.c_uint64, ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p


class _Launch(ctypes.Structure):
    """simcuda_launch"""

    _fields_ = (
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("shared_bytes", ctypes.c_uint32),
        ("argument_count", ctypes.c_uint32),
        ("arguments", ctypes.POINTER(_address)),
    )


_STAND_IN = ctypes.CFUNCTYPE(_i32, ctypes.POINTER(_Launch), _address)

_SIGNATURES = {
    "simcuda_busy": (_i32, [_address, _u64]),
    "simcuda_calls": (_u64, [_name]),
    "simcuda_fail": (_i32, [_name, _u64, _i32]),
    "simcuda_findings": (_u64, []),
    "simcuda_forget": (None, []),
    "simcuda_host_access": (_i32, [_address, _u64, _i32]),
    "simcuda_last_work": (_u64, []),
    "simcuda_lose_device": (_i32, [_i32]),
    "simcuda_objects": (_u64, [_name]),
    "simcuda_ordered": (_i32, [_u64, _u64]),
    "simcuda_pending": (_u64, []),
    "simcuda_races": (_u64, []),
    "simcuda_reseed": (None, [_u64]),
    "simcuda_reset": (None, []),
    "simcuda_reset_counts": (None, []),
    "simcuda_stand_in": (_i32, [_name, _address, ctypes.c_uint32, _STAND_IN, _address]),
    "simcuda_unsupported": (_u64, []),
    "simcuda_use": (_address, [_u64, _u64, _i32]),
}
_LAUNCH_FAILED = 719
_LETTERS = "P?bBhHiIqQefd"  # format characters of struct, for the arguments of kernels


def _number(name, value, least, most):
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is {value!r}, and not an int")
    if not least <= value <= most:
        raise ValueError(f"{name} is {value}, and not from {least} to {most}")
    return value


def _text(name, value):
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}, and not a str")
    return value.encode(errors="replace")


_kept = []


class Launch:
    """One launch, as a stand-in sees it: its `grid`, `block` and `shared_bytes`."""

    def __init__(self, library, seen):
        self._library = library
        self.grid, self.block = tuple(seen.grid), tuple(seen.block)
        self.shared_bytes = seen.shared_bytes

    def reads(self, address, size):
        """Returns `size` bytes of memory, which the kernel reads, as a read-only memoryview. It is
        valid until the function returns.

        Raises
        ------
        ValueError
            If there is no such memory. The launch then fails with 700.
        """
        return self._use(address, size, write=False).toreadonly()

    def writes(self, address, size):
        """The same for memory that the kernel writes, or reads and writes."""
        return self._use(address, size, write=True)

    def _use(self, address, size, *, write):
        _number("address", address, 0, _MOST)
        _number("size", size, 0, _MOST)
        found = self._library.simcuda_use(address, size, write)
        if not found:
            raise ValueError(f"there are no {size} bytes of memory at {address:#x}")
        if size == 0:
            return memoryview(bytearray())
        return memoryview((ctypes.c_ubyte * size).from_address(found)).cast("B")


class Exports:
    """The functions of ``simcuda.h`` in this process, which was started on simcuda.

    Names of functions are base names: ``"cuMemAlloc"`` stands for all its versions. A stream is the
    driver's handle as a number. Any thread may call them. Besides the exceptions that it documents,
    each raises TypeError for a value of the wrong type, and ValueError for a number out of range.

    Raises
    ------
    OSError
        If there is no ``libcuda.so.1``.
    RuntimeError
        If the process has another driver than simcuda.
    """

    def __init__(self):
        self._library = ctypes.CDLL("libcuda.so.1")
        if not hasattr(self._library, "simcuda_calls"):
            raise RuntimeError("this process has another driver than simcuda: see `simcuda run`")
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments

    def races(self):
        """Returns the number of races found so far in this process."""
        return self._library.simcuda_races()

    def findings(self):
        """Returns the number of findings so far in this process: in kernels (faults, races between
        threads, reads of unwritten bytes, barriers that some threads do not reach), and calls with
        a destroyed stream or event."""
        return self._library.simcuda_findings()

    def host_access(self, address, size, *, write=False):
        """Reports that the host reads or writes `size` bytes now; compared like any other use.

        Raises
        ------
        ValueError
            If the host cannot use that memory.
        """
        _number("address", address, 0, _MOST)
        _number("size", size, 0, _MOST)
        if self._library.simcuda_host_access(address, size, bool(write)) != 0:
            raise ValueError(f"the host cannot use {size} bytes at {address:#x}")

    def reset(self):
        """Finishes all work, and clears races, findings, uses of memory, counts and faults.

        A cleared race fails no test and changes no exit status, although it was reported.
        """
        self._library.simcuda_reset()

    def forget(self):
        """Like `reset`, but keeps counts and faults. A test that provokes a race asserts `races`
        before it calls this."""
        self._library.simcuda_forget()

    def reseed(self, seed):
        """Restarts a random schedule with this seed."""
        self._library.simcuda_reseed(_number("seed", seed, 0, _MOST))

    def last_work(self):
        """Returns a mark for the last step of this thread, for `ordered`; 0 if there is none."""
        return self._library.simcuda_last_work()

    def ordered(self, first, second):
        """Returns whether the step of the first mark comes before that of the second.

        Raises
        ------
        ValueError
            If a mark is invalid, or is older than the last `forget` or `reset`.
        """
        marks = [_number("a mark", mark, 0, _MOST) for mark in (first, second)]
        found = self._library.simcuda_ordered(*marks)
        if found < 0:
            raise ValueError(f"{first} or {second} is no mark of last_work()")
        return found == 1

    def calls(self, name=None):
        """Returns how often a function has been called in this process; None: the sum over all.

        Raises
        ------
        ValueError
            If the driver has no function of that name.
        """
        return self._count("simcuda_calls", name, "function")

    def unsupported(self):
        """Returns how often functions were called that simcuda does not implement."""
        return self._library.simcuda_unsupported()

    def reset_counts(self):
        """Sets `calls` and `unsupported` to 0."""
        self._library.simcuda_reset_counts()

    def stand_in(self, name, arguments, function):
        """Replaces the kernel of this name by a Python function, in PTX and machine code that is
        loaded from now on. Cubins can then be loaded, too.

        `name` is the image's own, as a compiler mangled it. `arguments` has a letter of `struct`'s
        for each: ``"PPfi"``. The function gets a `Launch` and the arguments' values. It runs at the
        launch's place in stream order, on a thread of the driver's, and may not call CUDA. What it
        raises is printed and a finding, and ends the context with 719, as a kernel that fails does.
        It needs the GIL: a call of the driver that keeps the GIL and waits for it waits forever.

        Raises
        ------
        TypeError
            If the function is not callable, or a generator's or a coroutine's.
        ValueError
            If the name is empty, or a character is not that of a number of fixed size: ``"l"`` and
            the like, whose size depends on the platform, are not supported.
        """
        if not set(arguments) <= set(_LETTERS):
            raise ValueError(f"{arguments!r} has a letter that is none of {_LETTERS}")
        formats = ["=Q" if letter == "P" else f"={letter}" for letter in arguments]
        sizes = [struct.calcsize(form) for form in formats]
        if not callable(function):
            raise TypeError(f"{function!r} is not callable")
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            raise TypeError(f"{function!r} would not run when it is called")

        def run(launch, _data):
            try:
                seen = launch.contents
                values = [
                    struct.unpack(form, ctypes.string_at(seen.arguments[i], size))[0]
                    for i, (form, size) in enumerate(zip(formats, sizes, strict=True))
                ]
                function(Launch(self._library, seen), *values)
            except BaseException:
                traceback.print_exc()
                return _LAUNCH_FAILED
            return 0

        callback = _STAND_IN(run)
        status = self._library.simcuda_stand_in(
            _text("name", name), (ctypes.c_uint32 * len(sizes))(*sizes), len(sizes), callback, None
        )
        if status != 0:
            raise ValueError(f"{name!r} is no name of a kernel")
        _kept.append(callback)  # a launch may come at any time

    def pending(self):
        """Returns how many operations have been submitted and have not run."""
        return self._library.simcuda_pending()

    def objects(self, kind):
        """Returns how many objects of a type the program has: ``"CUstream"``, ...

        Raises
        ------
        ValueError
            If simcuda does not count that type; ``simcuda.h`` lists the types.
        """
        return self._count("simcuda_objects", kind, "type")

    def fail(self, name, nth, status):
        """Makes the `nth` call of a function from now on (1: the next) return `status` and do
        nothing; `nth` 0 takes back what was said of that function. `status` -1 loses the device.

        Raises
        ------
        ValueError
            If the driver has no function of that name.
        """
        _number("nth", nth, 0, _MOST)
        _number("status", status, -1, 999)
        if self._library.simcuda_fail(_text("name", name), nth, status) != 0:
            raise ValueError(f"the driver has no function {name!r}")

    def lose_device(self, ordinal):
        """Loses a device, for good, as one that has fallen off the bus.

        Raises
        ------
        ValueError
            If there is no such device, or ``cuInit`` was not called yet.
        """
        _number("ordinal", ordinal, 0, (1 << 31) - 1)
        if self._library.simcuda_lose_device(ordinal) != 0:
            raise ValueError(f"there is no device {ordinal}, or cuInit was not called yet")

    def busy(self, stream, nanoseconds):
        """Keeps a stream busy for so long, in virtual time.

        Raises
        ------
        RuntimeError
            If the driver refuses the work; the message has its status.
        """
        _number("stream", stream, 0, _MOST)
        _number("nanoseconds", nanoseconds, 0, _MOST)
        status = self._library.simcuda_busy(stream, nanoseconds)
        if status != 0:
            raise RuntimeError(f"the driver returned {status}")

    def _count(self, function, name, what):
        text = None if name is None and what == "function" else _text("name", name)
        found = getattr(self._library, function)(text)
        if found == _MOST:
            raise ValueError(f"the driver has no {what} {name!r}")
        return found
