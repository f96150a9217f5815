# SPDX-License-Identifier: BSD-3-Clause
"""Dicts, and which of the readers that `libcai check --as` knows refuse each of them."""

import collections
import math
import types

import numpy as np
from helpers import interface, producer

MISSING = ...


REFUSED, TAKEN = True, False


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


def cases_of_numba(address):
    """{name: (the dict, whether numba-cuda refuses it)}: where it is more or less particular than
    others."""

    def made(**changes):
        return interface(**{"data": (address, False), **changes})

    return {
        "version 3 of NumPy's": (made(version=np.int64(3)), TAKEN),
        "version by __index__": (made(version=Index(3)), REFUSED),
        "shape as a range": (made(shape=range(2, 4)), TAKEN),
        "shape as an array": (made(shape=np.array([2, 3])), TAKEN),
        "shape as an array without dimensions": (made(shape=np.array(2)), REFUSED),
        "shape as an array of arrays": (made(shape=np.array([[2, 3]])), REFUSED),
        "shape as an array of bools": (made(shape=np.array([True, True])), REFUSED),
        "shape as an array of floats": (made(shape=np.array([2.0, 3.0])), REFUSED),
        "shape as bytes": (made(shape=bytes((2, 3))), TAKEN),
        "shape as text": (made(shape="23"), REFUSED),
        "shape as an int of NumPy's": (made(shape=np.int64(6)), REFUSED),
        "strides 0": (made(strides=0), REFUSED),
        "strides 0 of one dimension": (made(shape=(2,), strides=0), TAKEN),
        "strides as an array": (made(strides=np.array([12, 4])), REFUSED),
        "strides as an array of one": (made(shape=(2,), strides=np.array([4])), TAKEN),
        "strides as a range": (made(strides=range(12, 3, -8)), TAKEN),
        # Not the numbers of another case, which numba-cuda would remember.
        "strides of floats": (made(strides=(16.0, 4.0)), REFUSED),
        "strides of no number": (made(strides=(math.nan, 4)), REFUSED),
        "strides by __index__": (made(strides=(Index(16), Index(4))), REFUSED),
        "strides of NumPy's": (made(strides=(np.int64(12), np.int64(4))), TAKEN),
        "data as an array": (made(data=np.array([address, 0], "u8")), TAKEN),
        "data as a dict": (made(data={0: address}), TAKEN),
        "data as text": (made(data="ab"), REFUSED),
        "no items of data": (made(data=()), REFUSED),
        "a pointer by __index__": (made(data=(Index(address), False)), REFUSED),
        "a pointer of NumPy's": (made(data=(np.uint64(address), False)), TAKEN),
        "a pointer of a float": (made(data=(float(address), False)), TAKEN),
        "a pointer of no number": (made(data=(math.nan, False)), REFUSED),
        "an infinite pointer": (made(data=(math.inf, False)), REFUSED),
    }
