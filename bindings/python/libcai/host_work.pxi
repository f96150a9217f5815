# SPDX-License-Identifier: BSD-3-Clause
# Work by the host. An array of the host's has no stream that would say what is pending on it. So the
# streams of the CPU that work on some are known here until they are synchronised, and whoever reads
# waits.

cdef dict working = {}   # by Stream: a dict of owners, and the number of their last work
cdef uint64_t works = 0  # that there were


cdef uint64_t owner_of(array) except? 0:
    """Who keeps an array and all its views."""
    cdef cai_owner *owner = array_handle(array).owner
    if owner.struct_size >= sizeof(owner[0]) and owner.keeper != NULL:
        owner = owner.keeper
    return <uint64_t>owner


cdef bint is_host(array) except -1:
    return array_handle(array).device_type == CAI_DEVICE_CPU


cdef Stream work_on(Stream on, target, source):
    """The stream for work on arrays, after other streams of the CPU that work on them; None where
    it does not matter which one that is."""
    cdef cai_device device
    cdef bint target_is_host = is_host(target)
    cdef bint source_is_host = source is not None and is_host(source)
    if not (target_is_host or source_is_host):
        return on
    if on is None:
        device_under(source if target_is_host and source is not None else target, &device)
        on = current_stream(device)
    if working:
        if target_is_host:
            follow_workers(on, target)
        if source_is_host:
            follow_workers(on, source)
    return on


cdef int follow_workers(Stream on, array) except -1:
    for stream in workers(array):
        if stream != on:
            on.follow(stream)
    return 0


cdef list workers(array):
    owner = owner_of(array)
    return [stream for stream, owners in working.items() if owner in owners]


cdef int note_work(Stream on, target, source) except -1:
    """Only a stream of the CPU's that has a thread leaves work pending on arrays of the host's."""
    cdef cai_stream_info info
    global works
    if on is None or cai_stream_value(on.stream) != 0:
        return 0
    on.describe(&info)
    if info.mode != CAI_MODE_ASYNC:
        return 0
    works += 1
    owners = working.setdefault(on, {})
    owners[owner_of(target)] = works
    if source is not None:
        owners[owner_of(source)] = works
    host_works(True)
    return 0


cdef int note_rest(Stream stream, uint64_t last) except -1:
    """A stream has done all that was noted up to a number, or has failed."""
    if not working:
        return 0
    owners = working.get(stream, {})
    for owner in [owner for owner, number in owners.items() if number <= last]:
        del owners[owner]
    if not owners:
        working.pop(stream, None)
        host_works(len(working) > 0)
    return 0


def settle(array):
    """Waits for the CPU's streams that work on an array of the host's."""
    for stream in workers(array):
        try:
            stream.synchronize()
        except StateError:
            if not getattr(entered, "works", 0):
                raise
            # on the stream's own thread: what was queued before this has been done
