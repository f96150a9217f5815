# SPDX-License-Identifier: BSD-3-Clause
"""What compiled code can hand over, with anything in it: arrays by address, the exchange table,
DLPack's table, and DLPack's capsules.

usage: hostile_tables.py FIRST COUNT | hostile_tables.py NUMBER

The pointers are good, or NULL; the memory is the host's. What an array says is taken as
`cai_array_validate` judges it, which tests/fuzz judges; the array has its facts, or one of libcai's
errors is raised; and each reference and each tensor is released exactly once, by its owner.
"""

import ctypes
import gc
import random
import sys
from itertools import pairwise

import hostile
import numpy as np
from helpers import interface, producer

import libcai
from libcai.cffi import ffi, lib

DATA = np.arange(64, dtype="f4")
ADDRESS = DATA.ctypes.data
EDGES = (0, 1, 2, 3, 4, 7, 64, 65, 2**31 - 1, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
FIELDS = {  # of a cai_array, with their bits
    "abi_major": 16, "abi_minor": 16, "flags": 32, "data": 64, "device_type": -32,
    "device_id": -32, "ndim": -32, "stream": 64, "stream_kind": 32, "version": 32,
    "descr_count": 32, "reserved0": 64, "reserved1": 32, "reserved2": 64, "reserved3": 64,
}  # fmt: skip
DTYPE_FIELDS = {"kind": 8, "byteorder": 8, "ext": 8, "time_unit": 8, "itemsize": 32}
NO_MEMORY = ctypes.cast(ctypes.pythonapi.PyErr_NoMemory, ctypes.c_void_p).value
CAPSULE = ctypes.pythonapi.PyCapsule_New
CAPSULE.restype = ctypes.py_object
CAPSULE.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
NAME_OF = ctypes.pythonapi.PyCapsule_GetName
NAME_OF.restype, NAME_OF.argtypes = ctypes.c_char_p, (ctypes.py_object,)
TYPES = ((2, 32), (0, 8), (0, 64), (1, 16), (6, 8), (5, 64))  # of tensors: code, bits


class Case:
    """The objects of one case, which live as long as its arrays."""

    def __init__(self, number):
        self.random = random.Random(number)
        self.kept = []
        self.retained = self.released = self.deleted = 0

    def chance(self, of):
        return self.random.random() < of

    def any_of(self, items):
        return self.random.choice(items)

    def number(self, bits):
        value = self.any_of(EDGES) + self.any_of((0, 0, 0, 1, -1))
        value &= (1 << abs(bits)) - 1
        return value - (1 << -bits) if bits < 0 and value >> (-bits - 1) else value

    def new(self, *arguments):
        self.kept.append(ffi.new(*arguments))
        return self.kept[-1]

    def callback(self, signature, function):
        error = None if signature.startswith("void(") else -1
        self.kept.append(ffi.callback(signature, function, error=error))
        return self.kept[-1]

    # ---- An array

    def owner(self):
        def retain(_):
            self.retained += 1

        def release(_):
            self.released += 1

        owner = self.new("cai_owner *")
        owner.struct_size = 24
        owner.retain = self.callback("void(cai_owner *)", retain)
        owner.release = self.callback("void(cai_owner *)", release)
        if self.chance(0.05):
            owner.struct_size = self.any_of((0, 8, 16, 23))
        if self.chance(0.03):
            owner.release = ffi.NULL
        return owner

    def array(self):
        array = self.new("cai_array *")
        dims = self.new("int64_t[128]")
        array.abi_major = lib.CAI_ABI_MAJOR
        array.owner = self.owner()
        array.data = ADDRESS
        array.device_type = lib.CAI_DEVICE_CPU
        array.dtype = {"kind": ord("f"), "byteorder": ord("<"), "itemsize": 4}
        array.stream_kind = lib.CAI_STREAM_NONE
        array.version = self.any_of((0, 2, 3))
        array.flags = self.any_of((0, lib.CAI_FLAG_READONLY))
        array.ndim = self.random.randrange(4)
        step = 4
        for axis in reversed(range(array.ndim)):
            dims[axis] = self.any_of((1, 2, 3, 4)) if self.chance(0.95) else 0
            dims[64 + axis] = step
            step *= max(dims[axis], 1)
            array.data *= dims[axis] != 0
        array.shape, array.strides = dims, dims + 64
        if self.chance(0.15):
            array.mask = self.any_of((ffi.NULL, array, self.mask(dims)))
            array.flags |= lib.CAI_FLAG_MASKED
        for _ in range(self.any_of((0, 0, 0, 1, 1, 2))):
            self.spoil(array, dims)
        return array

    def mask(self, dims):
        mask = self.new("cai_array *")
        mask.abi_major = lib.CAI_ABI_MAJOR
        mask.data = ADDRESS
        mask.device_type = lib.CAI_DEVICE_CPU
        mask.dtype = {"kind": ord("b"), "byteorder": ord("|"), "itemsize": 1}
        mask.stream_kind = lib.CAI_STREAM_NONE
        mask.shape = mask.strides = dims  # of no axis, as a rule
        mask.ndim = int(self.chance(0.2))
        return mask

    def spoil(self, array, dims):
        kind = self.random.randrange(8)
        if kind < 4:
            name = self.any_of(tuple(FIELDS))
            setattr(array, name, self.number(FIELDS[name]))
        elif kind == 4:
            name = self.any_of(tuple(DTYPE_FIELDS))
            setattr(array.dtype, name, self.number(DTYPE_FIELDS[name]))
        elif kind == 5:
            setattr(array, self.any_of(("shape", "strides", "owner")), ffi.NULL)
        else:
            dims[self.any_of((0, 1, 64, 65))] = self.number(-64)

    # ---- A tensor

    def tensor(self, versioned=True):
        def deleter(_):
            self.deleted += 1

        kind = "DLManagedTensorVersioned" if versioned else "DLManagedTensor"
        managed = self.new(f"{kind} *")
        tensor = managed.dl_tensor
        dims = self.new("int64_t[128]")
        managed.deleter = self.callback(f"void({kind} *)", deleter)
        code, bits = self.any_of(TYPES)
        tensor.dtype = {"code": code, "bits": bits, "lanes": 1}
        tensor.device.device_type = 1
        tensor.data = ffi.cast("void *", ADDRESS)
        tensor.ndim = self.random.randrange(4)
        step = 1
        for axis in reversed(range(tensor.ndim)):
            dims[axis] = self.any_of((1, 2, 3))
            dims[64 + axis] = step
            step *= dims[axis]
        tensor.shape = dims
        tensor.strides = dims + 64 if self.chance(0.8) else ffi.NULL
        if versioned:
            managed.version = {"major": 1, "minor": self.random.randrange(9)}
            managed.flags = self.any_of((0, 1, 2, 2**63))
        for _ in range(self.any_of((0, 0, 0, 1, 1, 2))):
            self.spoil_tensor(managed, tensor, dims, versioned)
        return managed

    def spoil_tensor(self, managed, tensor, dims, versioned):
        kind = self.random.randrange(10)
        if kind == 0:
            tensor.ndim = self.number(-32)
        elif kind == 1:
            tensor.shape = ffi.NULL
        elif kind == 2:
            tensor.byte_offset = self.number(64)
        elif kind == 3:
            tensor.data = ffi.NULL
        elif kind == 4:
            tensor.dtype = {"code": self.number(8), "bits": self.number(8), "lanes": 1}
        elif kind == 5:
            tensor.dtype.lanes = self.number(16)
        elif kind == 6:
            tensor.device.device_type = ffi.cast("DLDeviceType", self.any_of((0, 4, 10, 99, 2**31)))
        elif kind == 7 and versioned:
            managed.version.major = self.number(32)
        elif kind == 8:
            managed.deleter = ffi.NULL
        else:
            dims[self.any_of((0, 1, 64, 65))] = self.number(-64)


def address_of(cdata):
    return int(ffi.cast("uintptr_t", cdata))


def facts_of(array):
    return {
        "shape": array.shape, "strides": array.strides, "data": array.data,
        "kind": array.kind, "itemsize": array.itemsize, "readonly": array.readonly,
        "masked": array.mask is not None,
    }  # fmt: skip


def facts_of_struct(array):
    return {
        "shape": tuple(array.shape[i] for i in range(array.ndim)),
        "strides": tuple(array.strides[i] for i in range(array.ndim)),
        "data": array.data,
        "kind": chr(array.dtype.kind),
        "itemsize": array.dtype.itemsize,
        "readonly": bool(array.flags & lib.CAI_FLAG_READONLY),
        "masked": array.mask != ffi.NULL,
    }


def facts_of_tensor(managed, versioned):
    """None, if it cannot be taken: as cai_dlpack_read says, which tests/fuzz judges."""
    out, strides = ffi.new("cai_array *"), ffi.new("int64_t[64]")
    tensor = ffi.addressof(managed.dl_tensor)
    if versioned and managed.version.major != 1:
        return None
    if lib.cai_dlpack_read(tensor, 2**64 - 1, strides, out, ffi.NULL) != lib.CAI_OK:
        return None
    facts = facts_of_struct(out)
    return {**facts, "readonly": versioned and bool(managed.flags & 1)}


def is_valid(array):
    return lib.cai_array_validate(array, ffi.NULL) == lib.CAI_OK


def taken(read, *classes):
    """The facts of the array that is read, or None; or an exception that is none of libcai's."""
    global verdict
    try:
        array = read()
    except (libcai.Error, *classes) as error:
        verdict = f"{type(error).__name__} {getattr(error, 'entry', '')}".strip()
        return None
    verdict = "taken"
    return facts_of(array)


def told(got, wanted, **counts):
    """None, or what is not as it should be."""
    gc.collect(0)
    libcai.drain()
    if got != wanted:
        return got, f"wanted: {wanted}"
    wrong = {name: pair for name, pair in counts.items() if pair[0] != pair[1]}
    return (f"calls, and wanted: {wrong}",) if wrong else None


# ---- The doors


def from_ptr(case):
    array, steal = case.array(), case.chance(0.5)
    address = address_of(array)
    given = case.any_of((
        address, address, ctypes.c_void_p(address), type("Int", (int,), {})(address),
        type("Index", (), {"__index__": lambda self: address})(),
        type("Valued", (), {"value": address})(),
    ))  # fmt: skip
    wanted = facts_of_struct(array) if array.owner and is_valid(array) else None
    if case.chance(0.1):
        given, wanted = case.any_of((None, "x", -1, 2**64, address + 4, 0, True, 1.5, b"")), None
    classes = () if wanted else (TypeError, OverflowError)
    got = taken(lambda: libcai.Array.from_ptr(given, steal=steal), *classes)
    done = wanted is not None
    return told(
        got,
        wanted,
        held=(case.retained - case.released, -int(done and steal)),
        ever_released=(case.released > 0, done),
    )


def has(api, name):
    member = ffi.offsetof("cai_exchange_api", name) + 8
    return bool(api) and api.struct_size >= member and getattr(api, name) != ffi.NULL


def chain(case, make, link):
    """A table, and sometimes older ones behind it, or itself."""
    tables = [make() for _ in range(case.any_of((1, 1, 1, 2, 3)))]
    for table, older in pairwise(tables):
        link(table, older)
    if case.chance(0.05):
        link(tables[-1], tables[0])
    return tables


def exchange_api(case, array):
    def describe(_, out, dims):
        out[0] = array[0]
        if array.ndim <= 64 and array.ndim > 0 and array.shape and array.strides and in_dims:
            ffi.memmove(dims, array.shape, 8 * array.ndim)
            ffi.memmove(dims + 64, array.strides, 8 * array.ndim)
            out.shape, out.strides = dims, dims + 64
        return code

    def own(_, out):
        out[0] = given
        return code

    in_dims, code = case.chance(0.5), case.any_of((0, 0, 0, 0, 0, -1, 5))
    given = array if case.chance(0.95) else ffi.NULL
    api = case.new("cai_exchange_api *")
    api.struct_size = ffi.sizeof("cai_exchange_api")
    api.abi_major = lib.CAI_ABI_MAJOR
    if case.chance(0.2):
        api.struct_size = case.any_of((0, 8, 15, 16, 20, 24, 32, 40, 48, 56, 2**32 - 1))
    if case.chance(0.1):
        api.abi_major = case.any_of((0, 2, 2**16 - 1))
    if case.chance(0.6):
        api.describe = case.callback("int32_t(void *, cai_array *, int64_t *)", describe)
    if case.chance(0.4):
        api.own = case.callback("int32_t(void *, cai_array **)", own)
    if case.chance(0.03):
        api.describe = ffi.cast("int32_t(*)(void *, cai_array *, int64_t *)", NO_MEMORY)
    return api, code, given


def of_our_major(made):
    for each in made:
        if each[0].struct_size < 16:
            return None
        if each[0].abi_major == lib.CAI_ABI_MAJOR:
            return each
    return None


def exchange(case):
    array = case.array()
    made = chain(case, lambda: exchange_api(case, array), lambda a, b: setattr(a[0], "older", b[0]))
    name = b"cai_exchange_api" if case.chance(0.95) else b"cai_exchange"
    capsule = CAPSULE(address_of(made[0][0]), name, None)
    attribute = capsule if case.chance(0.97) else case.any_of((None, 4096, "x", made))
    obj = type("Wrong", (), {"__cai_c_exchange_api__": attribute})()
    is_there = attribute is capsule and name == b"cai_exchange_api"
    api, code, given = (of_our_major(made) if is_there else None) or (None, 0, None)
    wanted, released = None, 0
    if api is not None and has(api, "own"):
        valid = code == 0 and given and array.owner and is_valid(array)
        wanted = facts_of_struct(array) if valid else None
        whole = array.owner and array.owner.struct_size >= 24 and array.owner.release
        released = int(bool(code == 0 and given and whole))
    elif api is not None and has(api, "describe") and address_of(api.describe) != NO_MEMORY:
        plain = ffi.new("cai_array *", array[0])
        plain.owner = ffi.NULL
        # A mask that is the array itself is the one with the owner.
        valid = code == 0 and array.mask != array and is_valid(plain)
        wanted = facts_of_struct(plain) if valid else None
    got = taken(lambda: libcai.asarray(obj), SystemError, MemoryError, TypeError)
    return told(got, wanted, held=(case.retained - case.released, -released))


def dlpack_api(case, managed):
    def export(_, out):
        out[0] = given
        return code

    code = case.any_of((0, 0, 0, 0, 0, -1, 5))
    given = managed if case.chance(0.95) else ffi.NULL
    api = case.new("DLPackExchangeAPI *")
    api.header.version.major = 1 if case.chance(0.9) else case.number(32)
    signature = "int(void *, DLManagedTensorVersioned **)"
    if case.chance(0.9):
        api.managed_tensor_from_py_object_no_sync = case.callback(signature, export)
    return api, code, given


def dlpack_table(case):
    managed = case.tensor()
    made = chain(
        case,
        lambda: dlpack_api(case, managed),
        lambda a, b: setattr(a[0].header, "prev_api", ffi.addressof(b[0].header)),
    )
    capsule = CAPSULE(address_of(made[0][0]), b"dlpack_exchange_api", None)
    attribute = case.any_of(("__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__"))
    entries = {attribute: capsule}
    readonly = case.chance(0.5)
    if case.chance(0.2):

        def order(_, out):
            out[0] = {"stream": 0, "stream_kind": lib.CAI_STREAM_NONE, "flags": flags}
            return 0

        flags = lib.CAI_FLAG_READONLY if readonly else 0
        ours = case.new("cai_exchange_api *")
        ours.struct_size = ffi.sizeof("cai_exchange_api")
        ours.abi_major = lib.CAI_ABI_MAJOR
        ours.order = case.callback("int32_t(void *, cai_exchange_order *)", order)
        entries["__cai_c_exchange_api__"] = CAPSULE(address_of(ours), b"cai_exchange_api", None)
    else:
        readonly = False
    obj = type("Wrong", (), entries)()
    wanted, deleted = None, 0
    for api, code, given in made:
        if api.header.version.major == 1:
            if api.managed_tensor_from_py_object_no_sync and code == 0 and given:
                wanted = facts_of_tensor(managed, True)
                deleted = int(bool(managed.deleter))
            break
    if wanted is not None:
        wanted["readonly"] = wanted["readonly"] or readonly
    got = taken(lambda: libcai.asarray(obj), SystemError)
    return told(got, wanted, deleted=(case.deleted, deleted))


class Dlpack:
    def __init__(self, capsule, device):
        self.capsule, self.device = capsule, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **_):
        return self.capsule


def dlpack_capsule(case):
    versioned = case.chance(0.6)
    managed = case.tensor(versioned)
    right = b"dltensor_versioned" if versioned else b"dltensor"
    odd = (b"used_dltensor", b"used_dltensor_versioned", b"tensor", b"", None)
    name = right if case.chance(0.9) else case.any_of(odd)
    case.kept.append(name)
    capsule = CAPSULE(address_of(managed), name, None)
    given, wanted = capsule, facts_of_tensor(managed, versioned) if name == right else None
    if case.chance(0.5):
        device = (1, 0)
        if case.chance(0.2):
            device = case.any_of((None, (), (1,), [1, 0], "12", 5, ("x", 0), (None, None), {}))
        if case.chance(0.1):
            given, wanted = case.any_of((None, 5, "x", object(), DATA)), None
        given = Dlpack(given, device)
        if not (isinstance(device, (tuple, list)) and len(device) == 2 and device[0] == 1):
            wanted = None
    got = taken(lambda: libcai.from_dlpack(given))
    done = wanted is not None
    after = (b"used_" + right) if done else name
    return told(
        got,
        wanted,
        deleted=(case.deleted, int(done and bool(managed.deleter))),
        name=(NAME_OF(capsule) if NAME_OF(capsule) != b"" else name, after),
    )


DOORS = (from_ptr, exchange, dlpack_table, dlpack_capsule)
last = None  # the case that was played last
verdict = "nothing"  # how it ended


def play(number):
    global last
    last = case = Case(number)
    door = case.any_of(DOORS)
    said = door(case)
    case.verdict = f"{door.__name__}: {verdict}"
    return said and (door.__name__, *said)


def clean_up():
    global last
    last = None
    for _ in range(256):  # the types that were met last are kept: let it be these
        libcai.asarray(type("Other", (type(producer()),), {})(interface()))
    gc.collect()
    libcai.drain(True)


def main(first, count=None):
    if count is None:
        print(play(first))
        return 0
    return hostile.play_many(first, count, play, clean_up, lambda: 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
