# SPDX-License-Identifier: BSD-3-Clause
# A part of _devices. Needs device.
#
# Allocated memory, and pending frees.

def usage(device):
    """Returns the allocated and the pending memory of a device, a `Usage`."""
    cdef cai_device native
    cdef cai_usage out
    cdef cai_error error
    cdef cai_status status
    device_of(device, &native)
    memset(&out, 0, sizeof(out))
    out.struct_size = sizeof(out)
    with nogil:
        status = cai_memory_usage(native, &out, &error)
    succeed(status, &error)
    return Usage(out.bytes, out.count, out.pending_bytes, out.pending_count, out.deferred)


def flush(device):
    """Runs all pending frees of a device; none while they are deferred.

    Raises
    ------
    Exception
        The first failure; the other frees still run.
    """
    cdef cai_device native
    cdef cai_error error
    cdef cai_status status
    device_of(device, &native)
    with freeing, nogil:
        status = cai_pending_flush(native, &error)
    succeed(status, &error)


cdef int defer(device, int32_t begin) except -1:
    cdef cai_device native
    cdef cai_error error
    cdef cai_status status
    device_of(device, &native)
    with nogil:
        status = cai_pending_defer(native, begin, &error)
    return succeed(status, &error)


@cython.final
cdef class Deferral:
    """The context manager that `defer_cleanup` returns."""

    cdef object device

    def __init__(self):
        raise TypeError("this context manager is made by libcai.defer_cleanup()")

    def __enter__(self):
        defer(self.device, 1)

    def __exit__(self, kind, value, traceback):
        defer(self.device, 0)


def defer_cleanup(device):
    """Returns a ``with`` block in which no pending free of a device runs, even if memory is short;
    only a reset runs them. Blocks nest.

    Notes
    -----
    NBEP 7, ``defer_cleanup``.
    """
    cdef cai_device native
    cdef Deferral self
    device_of(device, &native)
    self = Deferral.__new__(Deferral)
    self.device = device_object(native)
    return self
