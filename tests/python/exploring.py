# SPDX-License-Identifier: BSD-3-Clause
"""The programs of tests/explore through this package: `struct binding` of its stage.h, in Python.

usage: exploring.py LIBRARY (numbers | objects | collected | unordered) ARGUMENT...

numbers, objects  how streams are said
collected         no block is left: the garbage collector finds it, and has the host wait, which
                  orders more than the model asks for; so hunt
unordered         every use leaves its order out, and the explorer must tell
ARGUMENT          as tests/explore/explore.cpp says
"""

import gc
import os
import sys
import traceback
from ctypes import (
    CDLL,
    CFUNCTYPE,
    POINTER,
    Structure,
    byref,
    c_char,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_uint32,
    c_uint64,
    c_void_p,
)

import libcai
from libcai import _library

ERR_EXPORT = -9
OWNER_IMPORTED = 1 << 2
SIMCUDA = CDLL("libcuda.so.1")
SIMCUDA.simcuda_calls.restype = c_uint64
ACCESSES = {1: "read", 2: "write"}
ORDERS = {0: "both", 1: "begin"}


class CaiError(Structure):
    _fields_ = [
        *((name, c_int32) for name in ("status", "native", "entry", "index")),
        ("message", c_char * 240),
    ]


Address = POINTER(c_uint64)
Numbers = POINTER(c_uint64)
Failure = POINTER(CaiError)
Release = CFUNCTYPE(None, c_void_p)
TYPES = {
    "own": (c_int, c_void_p, c_uint32, Release, Address),
    "publish": (c_int, c_int, Numbers, c_int32, c_uint64, Address),
    "publish_event": (c_int, c_int, c_uint64, Address),
    "reclaim": (c_int, c_uint64, c_uint32),
    "begin": (c_int, c_int, c_uint64, c_uint32, c_uint32),
    "end": (c_int,),
    "release_on": (c_int, c_uint64),
    "same_stream": (c_int, Numbers),
    "sync_host": (c_int,),
    "say": (c_int, Numbers),
    "release": (c_int,),
    "drain": (POINTER(c_int64),),
}
FUNCTIONS = {
    name: CFUNCTYPE(None, *types) if name == "release" else CFUNCTYPE(c_int32, *types, Failure)
    for name, types in TYPES.items()
}


class Binding(Structure):
    _fields_ = [("name", c_char_p), *FUNCTIONS.items()]


def host_waits():
    """How often the host has waited for a stream."""
    return SIMCUDA.simcuda_calls(b"cuStreamSynchronize")


class Stream:
    """A stream as an object."""

    def __init__(self, value):
        self.value = value

    def __cuda_stream__(self):
        return 0, self.value


class Exporter:
    """A foreign array, by its dict alone; `release` is called when it ends."""

    def __init__(self, like, release):
        self.__cuda_array_interface__ = {
            "shape": like.shape,
            "typestr": like.typestr,
            "data": (like.data, False),
            "version": 3,
            "stream": like.stream,
        }
        self.release = release

    def __del__(self):
        self.release(None)


class Play:
    """The functions that the stage calls, by the names of its table."""

    def __init__(self, how):
        self.stream = Stream if how == "objects" else int
        self.orders = {0: "none", 1: "none"} if how == "unordered" else ORDERS
        self.collects = how == "collected"
        self.has_end = {}
        self.library = CDLL(_library.LIBRARY)
        self.arrays = {}
        self.uses = {}

    def own_by_c(self, borrowed, release):
        made = c_void_p()
        status = self.library.cai_array_own(c_void_p(borrowed), release, None, byref(made), None)
        assert status == 0, status
        return libcai.Array.from_ptr(made)

    def own(self, array, borrowed, flags, release, made):
        if flags & OWNER_IMPORTED:
            it = libcai.asarray(Exporter(self.own_by_c(borrowed, None), release))
        else:
            it = self.own_by_c(borrowed, release)
        self.keep(array, it, made)

    def keep(self, number, array, made):
        self.arrays[number] = array
        made[0] = array.ptr

    def publish(self, array, copy, streams, count, target, made):
        others = map(self.stream, streams[:count])
        self.keep(copy, self.arrays[array].publish(self.stream(target), streams=others), made)

    def publish_event(self, array, copy, stream, made):
        self.keep(copy, self.arrays[array].publish_event(self.stream(stream)), made)

    def reclaim(self, array, stream, access):
        self.arrays[array].reclaim(self.stream(stream), ACCESSES[access])

    def begin(self, number, array, stream, order, access):
        use = libcai.use(
            self.arrays[array],
            stream=self.stream(stream),
            access=ACCESSES[access],
            order=self.orders[order],
        )

        def block():
            with use:
                yield

        self.uses[number] = block()
        self.has_end[number] = ORDERS[order] == "both"
        next(self.uses[number])

    def end(self, number):
        block = self.uses.pop(number)
        if not self.collects:
            next(block, None)
            return
        cycle = [block]
        cycle.append(cycle)
        del block, cycle
        before = host_waits()
        gc.collect()
        # For the exporter, which may have been garbage, too.
        assert host_waits() > before or not self.has_end[number], "the host has not waited"

    def same_stream(self, array, stream):
        stream[0] = libcai.same_stream(self.arrays[array]) or 0

    def sync_host(self, array):
        self.arrays[array].synchronize()

    def say(self, array, stream):
        stream[0] = self.arrays[array].__cuda_array_interface__.get("stream") or 0

    def release(self, array):
        del self.arrays[array]

    def drain(self, left):
        left[0] = libcai.drain(wait=True)


def told(function):
    """As C calls it: with a status, and an error that is filled in."""

    def call(*arguments):
        *arguments, error = arguments
        try:
            function(*arguments)
            return 0
        except libcai.Error as failure:
            status = ERR_EXPORT if isinstance(failure, libcai.BufferError) else failure.status
            if status < 0:
                error[0] = CaiError(status, 0, -1, -1, str(failure).encode()[:239])
                return status
            traceback.print_exc()
        except BaseException:
            traceback.print_exc()
        os._exit(1)  # ctypes would go on

    return call


def fail_at_once(unraisable):
    """Exceptions of the collector's calls go nowhere else."""
    sys.__unraisablehook__(unraisable)
    os._exit(1)


def main():
    gc.disable()  # it asks what is pending, which takes records of its own, when it likes
    gc.freeze()
    sys.unraisablehook = fail_at_once
    explorer = CDLL(sys.argv[1])
    explorer.explore.argtypes = (c_int, POINTER(c_char_p))
    play = Play(sys.argv[2])
    binding = Binding(b"Python")
    for name, kind in FUNCTIONS.items():
        function = getattr(play, name, None)
        if function is not None:
            setattr(binding, name, kind(function if name == "release" else told(function)))
    explorer.play_through(byref(binding))
    arguments = [b"explore", *map(os.fsencode, sys.argv[3:])]
    return explorer.explore(len(arguments), (c_char_p * (len(arguments) + 1))(*arguments))


if __name__ == "__main__":
    sys.exit(main())
