# SPDX-License-Identifier: BSD-3-Clause
"""The last release of an array whose object is Python's, on a thread of C's without the GIL, while
the interpreter is busy. Prints JSON.

usage: bench_release.py librelease.so

run.py starts this. The figures are percentiles of a batch; of these, the least of all batches, and
the median.
"""

import ctypes
import json
import statistics
import sys

import libcai

BATCHES, RELEASES, WAITS = 50, 2000, 20


class Producer:
    __cuda_array_interface__ = {  # noqa: RUF012
        "shape": (2, 3),
        "typestr": "<f4",
        "data": (4096, False),
        "version": 3,
        "stream": None,
    }


release = ctypes.PyDLL(sys.argv[1])  # keeps the GIL: the interpreter stays busy


def batch(count, with_gil):
    """The times of `count` releases, each the last one, in order."""
    arrays = [libcai.asarray(Producer()) for _ in range(count)]
    addresses = (ctypes.c_uint64 * count)(*(array.ptr for array in arrays))
    times = (ctypes.c_int64 * count)()
    release.hold(addresses, ctypes.c_int64(count))
    del arrays[:]
    assert release.start(addresses, times, ctypes.c_int64(count), with_gil) == 0
    while not release.is_done():
        for _ in range(100):
            pass
    release.finish()
    return sorted(times)


def over_batches(values):
    return {"min": min(values), "median": statistics.median(values)}


def main():
    queued = [batch(RELEASES, with_gil=False) for _ in range(BATCHES)]
    waited = [batch(WAITS, with_gil=True) for _ in range(5)]
    result = {
        "release, median": over_batches([times[len(times) // 2] for times in queued]),
        "release, p99.9": over_batches([times[int(0.999 * len(times))] for times in queued]),
        "release with the GIL, median": over_batches([times[len(times) // 2] for times in waited]),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
