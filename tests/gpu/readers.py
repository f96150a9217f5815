# SPDX-License-Identifier: BSD-3-Clause
"""Two ways into libcai from Python: the C library by ctypes, and its own package."""

import ctypes
import os
from ctypes import (
    POINTER,
    byref,
    c_char,
    c_char_p,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)

CAPTURE = -12
ORDER_NONE = 3
ORDER_HOST = 4


class Error(ctypes.Structure):
    _fields_ = [
        ("status", c_int32),
        ("native", c_int32),
        ("entry", c_int32),
        ("index", c_int32),
        ("message", c_char * 240),
    ]


class Value(ctypes.Structure):
    pass


Value._fields_ = [
    ("integer", c_uint64),
    ("text", c_char_p),
    ("items", POINTER(Value)),
    ("length", c_uint32),
    ("form", c_uint8),
    ("range", c_uint8),
    ("reserved", c_uint16),
]
ENTRIES = ("shape", "typestr", "data", "version", "strides", "descr", "mask", "stream")


class Interface(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("protocol", c_uint32),
        ("dict", Value),
        *((entry, Value) for entry in ENTRIES),
        ("offset", Value),
        ("mask_interface", c_void_p),
    ]


class Dtype(ctypes.Structure):
    _fields_ = [
        ("kind", c_uint8),
        ("byteorder", c_uint8),
        ("ext", c_uint8),
        ("time_unit", c_uint8),
        ("itemsize", c_uint32),
        ("time_step", c_uint32),
    ]


class Array(ctypes.Structure):
    _fields_ = [
        ("abi_major", c_uint16),
        ("abi_minor", c_uint16),
        ("flags", c_uint32),
        ("owner", c_void_p),
        ("data", c_uint64),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("dtype", Dtype),
        ("ndim", c_int32),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("stream", c_uint64),
        ("stream_kind", c_uint32),
        ("version", c_uint32),
        ("mask", c_void_p),
        ("descr", c_void_p),
        ("reserved0", c_uint64),
        ("descr_count", c_uint32),
        ("reserved1", c_uint32),
        ("reserved2", c_uint64),
        ("reserved3", c_uint64),
    ]


class UseOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("order", c_uint32)]


Use = c_uint64 * 44


class Location(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("context", c_uint64),
        ("device_pointer", c_uint64),
        ("base", c_uint64),
        ("size", c_uint64),
    ]


assert ctypes.sizeof(Array) == 128
assert ctypes.sizeof(Interface) == 336

NONE, INT, BOOL, TEXT, TUPLE, LIST, DICT, OBJECT = 1, 2, 4, 6, 9, 11, 12, 14


class CaiError(Exception):
    def __init__(self, error):
        super().__init__(f"{error.status}: {error.message.decode()}")
        self.status = error.status


def value_of(given):
    """A Python value as libcai takes it: unpacked, and not judged."""
    if given is None:
        return Value(form=NONE)
    if isinstance(given, bool):
        return Value(form=BOOL, integer=given)
    if isinstance(given, int):
        # An int64 in two's complement; above that, as `range` says, a uint64.
        return Value(form=INT, integer=given % 2**64, range=given >= 2**63)
    if isinstance(given, str):
        text = given.encode()
        return Value(form=TEXT, text=text, length=len(text))
    if isinstance(given, (tuple, list)):
        items = (Value * max(len(given), 1))(*map(value_of, given))
        form = TUPLE if isinstance(given, tuple) else LIST
        return Value(form=form, items=items, length=len(given))
    return Value(form=OBJECT)


class ByCtypes:
    """The C library, with no binding: what any language does."""

    name = "libcai by ctypes"
    Error = CaiError

    def __init__(self, path):
        self.cai = ctypes.CDLL(str(path))
        self.cai.cai_interface_storage.restype = c_uint64

    def _call(self, function, *arguments):
        error = Error()
        if getattr(self.cai, function)(*arguments, byref(error)) != 0:
            raise CaiError(error)

    def read(self, producer):
        """The array of a producer, which lives as long as it is asked for."""
        interface = producer.__cuda_array_interface__
        given = Interface(struct_size=ctypes.sizeof(Interface), dict=Value(form=DICT))
        for entry in ENTRIES:
            if entry in interface:
                setattr(given, entry, value_of(interface[entry]))
        size = self.cai.cai_interface_storage(byref(given))
        storage = (c_uint64 * (size // 8 + 1))()
        array = Array()
        self._call(
            "cai_interface_read",
            byref(given),
            c_uint32(0),
            None,
            None,
            storage,
            c_uint64(size),
            byref(array),
        )
        array.kept = (producer, storage)
        return array

    def begin(self, array, stream, order=0):
        self.use = Use()
        arrays = (POINTER(Array) * 1)(ctypes.pointer(array))
        options = UseOptions(ctypes.sizeof(UseOptions), order)
        self._call("cai_use_begin", self.use, arrays, c_int32(1), c_uint64(stream), byref(options))

    def end(self, array, stream, order=0):
        self._call("cai_use_end", self.use)

    def sync_host(self, array):
        self._call("cai_array_sync_host", byref(array))

    def drain(self):
        self._call("cai_drain", c_int32(1), None)

    def locate(self, array):
        where = Location(struct_size=ctypes.sizeof(Location))
        self._call("cai_array_locate", byref(array), byref(where))
        return where.device_id, where.base, where.size


class ByPackage:
    """The package: libcai.use, in two halves."""

    name = "libcai's Python package"

    def __init__(self):
        import libcai

        self.libcai = libcai
        self.Error = libcai.Error

    def read(self, producer):
        return self.libcai.asarray(producer)

    def begin(self, array, stream, order=0):
        self.using = self.libcai.use(array, stream=-1 if order == ORDER_NONE else stream)
        self.using.__enter__()

    def end(self, array, stream, order=0):
        self.using.__exit__(None, None, None)

    def drain(self):
        self.libcai.drain()

    def locate(self, array):
        where = array.locate()
        return where.device[1], where.base, where.size


def by_ctypes():
    """The library that is under test."""
    return ByCtypes(os.environ["CAI_LIBRARY"])
