# SPDX-License-Identifier: BSD-3-Clause
"""What simcuda's libcuda.so.1 exports beside CUDA's driver interface, for a test in Python."""

import ctypes

_MOST = (1 << 64) - 1  # also what a count is of something that there is not

_u64, _i32, _name, _address = ctypes.c_uint64, ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p
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
    "simcuda_unsupported": (_u64, []),
}


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


class Exports:
    """The functions of ``simcuda.h`` in this process, which was started on simcuda.

    Names of functions are base names: ``"cuMemAlloc"`` stands for all its versions. A stream is the
    driver's handle as a number. Any thread may call any of them. Each raises TypeError for a value
    of the wrong type, and ValueError for a number out of range, beside what it says itself.

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
        """Returns how many races there have been so far in this process."""
        return self._library.simcuda_races()

    def findings(self):
        """Returns how much the checks inside kernels have found so far in this process: races
        between threads, reads of bytes that nobody wrote, barriers that are not met."""
        return self._library.simcuda_findings()

    def host_access(self, address, size, *, write=False):
        """States that the host reads `size` bytes now, or writes them: compared as any other use.

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
        """Finishes all work, and forgets races, findings, uses of memory, counts and faults.

        A race that is forgotten fails no test and changes no exit status, though it was reported.
        """
        self._library.simcuda_reset()

    def forget(self):
        """Finishes all work, and forgets races, as `reset`, and uses of memory; counts and faults
        stay. A test that provokes a race asserts `races` first."""
        self._library.simcuda_forget()

    def reseed(self, seed):
        """Draws from this seed from now on, under a random schedule."""
        self._library.simcuda_reseed(_number("seed", seed, 0, _MOST))

    def last_work(self):
        """Returns a mark of what this thread did last, for `ordered`; 0 if there is none."""
        return self._library.simcuda_last_work()

    def ordered(self, first, second):
        """Returns whether what one mark stands for comes before what the other one does.

        Raises
        ------
        ValueError
            If one of them is no mark, or is older than `forget` or `reset`.
        """
        marks = [_number("a mark", mark, 0, _MOST) for mark in (first, second)]
        found = self._library.simcuda_ordered(*marks)
        if found < 0:
            raise ValueError(f"{first} or {second} is no mark of last_work()")
        return found == 1

    def calls(self, name=None):
        """Returns how often a function has been called in this process; None: all of them.

        Raises
        ------
        ValueError
            If the driver has no function of that name.
        """
        return self._count("simcuda_calls", name, "function")

    def unsupported(self):
        """Returns how often something was called that simcuda does not implement."""
        return self._library.simcuda_unsupported()

    def reset_counts(self):
        """Sets `calls` and `unsupported` to 0."""
        self._library.simcuda_reset_counts()

    def pending(self):
        """Returns how many operations have been submitted and have not run."""
        return self._library.simcuda_pending()

    def objects(self, kind):
        """Returns how many objects of the program's there are, by their type: ``"CUstream"``, ...

        Raises
        ------
        ValueError
            If simcuda counts none of that type; ``simcuda.h`` lists those that it counts.
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
