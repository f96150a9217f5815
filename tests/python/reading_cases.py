# SPDX-License-Identifier: BSD-3-Clause
"""Dicts, and which of the readers that `libcai check --as` knows refuse each of them."""

import collections
import types

from helpers import interface, producer

MISSING = ...


class Tuple(tuple):
    pass


class Dict(dict):
    pass


class Index:
    """An integer by __index__ alone."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


def cases(address):
    """{name: (the dict, the names of the readers that refuse it)}; with memory at the address."""

    def made(**changes):
        return interface(**{"data": (address, False), **changes})

    mask = producer(typestr="|b1", data=(address, False))
    all_of_them = "strict import numba cupy torch"
    return {
        "lawful": (made(), ""),
        "an unknown entry": (made(more=1), ""),
        "a subclass of dict": (Dict(made()), "strict cupy"),
        "an OrderedDict": (collections.OrderedDict(made()), "strict cupy"),
        "a mapping": (types.MappingProxyType(made()), "strict cupy torch"),
        "None": (None, all_of_them),
        "a list": ([1], all_of_them),
        "no version": (made(version=MISSING), "strict import numba"),
        "version None": (made(version=None), "strict import numba"),
        "version 0": (made(version=0, stream=MISSING), "strict"),
        "version 2": (made(version=2, stream=MISSING), "strict"),
        "version 4": (made(version=4), "strict import"),
        "version '3'": (made(version="3"), "strict import numba"),
        "version 3.0": (made(version=3.0), "strict import"),
        "no shape": (made(shape=MISSING), all_of_them),
        "shape as a list": (made(shape=[2, 3]), "strict cupy"),
        "shape as a tuple's subclass": (made(shape=Tuple((2, 3))), "strict cupy"),
        "shape as an int": (made(shape=6), "strict import cupy torch"),
        "shape None": (made(shape=None), all_of_them),
        "an extent None": (made(shape=(None, 3)), all_of_them),
        "an extent of a float": (made(shape=(2.0, 3)), all_of_them),
        "an extent of a string": (made(shape=("2", 3)), all_of_them),
        "an extent by __index__": (made(shape=(Index(2), 3)), "strict numba"),
        "an extent below 0": (made(shape=(-1, 3)), "strict import cupy torch"),
        "two extents below 0": (made(shape=(-1, -1)), "strict import cupy torch"),
        "an extent of 64 bits": (made(shape=(2**63,)), all_of_them),
        "no dimension": (made(shape=()), ""),
        "no elements": (made(shape=(0, 3), data=(0, False)), ""),
        "65 dimensions": (made(shape=(1,) * 65), "strict import cupy"),
        "no typestr": (made(typestr=MISSING), all_of_them),
        "a float of 3 bytes": (made(typestr="<f3"), all_of_them),
        "an empty typestr": (made(typestr=""), all_of_them),
        "a typestr of bytes": (made(typestr=b"<f4"), "strict import"),
        "a typestr without order": (made(typestr="f4"), "strict"),
        "a name for a typestr": (made(typestr="float32"), "strict import"),
        "big-endian": (made(typestr=">f4"), "cupy"),
        "a bool": (made(typestr="|b1"), ""),
        "a complex number": (made(typestr="<c16"), ""),
        "a longdouble": (made(typestr="<f16"), "torch"),
        "a datetime": (made(typestr="<M8[ns]"), "torch"),
        "text": (made(typestr="<U4"), "torch"),
        "raw bytes": (made(typestr="|V8"), "torch"),
        "objects": (made(typestr="|O8"), "strict import torch"),
        "fields": (made(typestr="|V8", descr=[("a", "<i4"), ("b", "<f4")]), "torch"),
        "a field of an array": (made(typestr="|V12", descr=[("v", "<f4", (3,))]), "cupy torch"),
        "no data": (made(data=MISSING), all_of_them),
        "data as an int": (made(data=address), all_of_them),
        "data as a list": (made(data=[address, False]), "strict torch"),
        "data without a flag": (made(data=(address,)), "strict import torch"),
        "data of three": (made(data=(address, False, 0)), "strict import torch"),
        "read-only": (made(data=(address, True)), "torch"),
        "a null pointer": (made(data=(0, False)), "strict import cupy"),
        "a pointer None": (made(data=(None, False)), all_of_them),
        "a pointer of a string": (made(data=("0x10", False)), all_of_them),
        "a pointer below 0": (made(data=(-1, False)), all_of_them),
        "a pointer of 65 bits": (made(data=(2**64, False)), all_of_them),
        "no strides": (made(strides=MISSING), ""),
        "strides": (made(strides=(12, 4)), ""),
        "strides as a list": (made(strides=[12, 4]), "strict"),
        "strides as an int": (made(strides=4), all_of_them),
        "too few strides": (made(strides=(4,)), all_of_them),
        "too many strides": (made(strides=(12, 4, 4)), all_of_them),
        "a stride of a string": (made(strides=("12", 4)), all_of_them),
        "a stride between items": (made(strides=(13, 4)), "torch"),
        "a stride below 0": (made(strides=(-12, 4), data=(address + 12, False)), ""),
        "strides without elements": (
            made(shape=(0, 3), strides=(8, 8), data=(0, False)),
            "cupy",
        ),
        "stream 0": (made(stream=0), "strict"),
        "stream 1": (made(stream=1), ""),
        "a stream below 0": (made(stream=-1), "strict import numba cupy"),
        "a stream of a string": (made(stream="1"), "strict import numba cupy"),
        "a mask": (made(mask=mask), "numba cupy"),
        "a mask in version 0": (made(version=0, mask=mask), "strict cupy"),
        "a mask True": (made(mask=True), "strict import numba cupy"),
    }
