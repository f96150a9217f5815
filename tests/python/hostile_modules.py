# SPDX-License-Identifier: BSD-3-Clause
"""What other projects' compiled modules are given, cai/python.h, by objects whose types have tables
with anything in them: described, lent and handed out, and made like them.

usage: hostile_modules.py FIRST COUNT | hostile_modules.py NUMBER

As in hostile_tables.py the pointers are good, or NULL, and what an array says is taken as
`cai_array_validate` judges it. What a function of a table does by its contract is the type's own
affair: one that fails has taken nothing over. Here one may say that it has succeeded, and return
nothing; and what it described changes once it has returned.
"""

import ctypes
import gc
import sys

import hostile
import hostile_tables
from hostile_tables import NO_MEMORY, address_of, facts_of_struct, has, is_valid, told

import libcai
from libcai import _core
from libcai.cffi import ffi, lib

WRITES, TRY = 1, 2  # CAI_PY_WRITES and CAI_PY_TRY
NAMES = ("open", "close", "own", "wrap", "empty_like", "stream", "current_stream", "begin", "end",
         "finish", "abandon", "raise")  # fmt: skip
ARGUMENT = 4096  # bytes, more than a cai_py_argument
POINTER = ctypes.pythonapi.PyCapsule_GetPointer
POINTER.restype, POINTER.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


class Api(ctypes.Structure):
    """cai_py_api."""

    _fields_ = (
        ("struct_size", ctypes.c_uint32),
        ("abi_major", ctypes.c_uint16),
        ("abi_minor", ctypes.c_uint16),
        *((name, ctypes.c_void_p) for name in NAMES),
    )


API = Api.from_address(POINTER(_core._C_API, b"libcai._core._C_API"))
assert API.struct_size == ctypes.sizeof(Api)
OBJECT, NUMBER, ADDRESS = ctypes.py_object, ctypes.c_uint32, ctypes.c_void_p
OPEN = ctypes.PYFUNCTYPE(ctypes.c_int, OBJECT, NUMBER, ADDRESS)(API.open)
CLOSE = ctypes.PYFUNCTYPE(None, ADDRESS)(API.close)
OWN = ctypes.PYFUNCTYPE(ctypes.c_int, OBJECT, NUMBER, ADDRESS)(API.own)
WRAP = ctypes.PYFUNCTYPE(OBJECT, ADDRESS)(API.wrap)
EMPTY_LIKE = ctypes.PYFUNCTYPE(OBJECT, OBJECT, ctypes.c_int32, ADDRESS, ADDRESS)(API.empty_like)
OURS = ffi.cast(
    "cai_exchange_api *", POINTER(libcai.Array.__cai_c_exchange_api__, b"cai_exchange_api")
)
RETAIN = ctypes.pythonapi.Py_IncRef
RETAIN.argtypes = (ctypes.py_object,)
REFUSED = (libcai.Error, SystemError, MemoryError)


class Case(hostile_tables.Case):
    def __init__(self, number):
        super().__init__(number)
        self.verdict = "nothing"
        self.error = None

    def attempt(self, door, call):
        """What the call returns, or None for an error; says which of the two it was."""
        try:
            made = call()
        except REFUSED as error:
            self.verdict, self.error = f"{door}: {type(error).__name__}", str(error)
            return None
        self.verdict = f"{door}: done"
        return made


def object_with(case, array):
    """An object of a type with a table, that table, the code of its functions, and its array."""
    api, code, given = hostile_tables.exchange_api(case, array)
    entries = {
        "__cai_c_exchange_api__": hostile_tables.CAPSULE(address_of(api), b"cai_exchange_api", None)
    }
    return type("Foreign", (), entries)(), api, code, given


def wanted_of_table(case, array, api, code, given, described):
    """The facts by the table, or None; and how many references `own` has given."""
    plain = ffi.new("cai_array *", array[0])
    plain.owner = ffi.NULL
    by_own = by_description = None
    whole = array.owner and array.owner.struct_size >= 24 and array.owner.release
    if has(api, "own") and code == 0 and given and array.owner and is_valid(array):
        by_own = facts_of_struct(array)
    if has(api, "describe") and code == 0 and array.mask != array and is_valid(plain):
        by_description = facts_of_struct(plain)
    owned = int(bool(has(api, "own") and code == 0 and given and whole))
    if not has(api, "describe") or not described:
        return (by_own, owned) if has(api, "own") else (by_description, 0)
    if by_description is None:
        return None, 0
    stated = array.stream_kind != lib.CAI_STREAM_UNSTATED and not array.mask and not array.descr
    if stated or not has(api, "own"):
        return by_description, 0
    return by_own, owned


def is_ours(api):
    return api.struct_size >= 16 and api.abi_major == lib.CAI_ABI_MAJOR


def argument(case):
    """An argument of a function, open while the object's own description of it changes."""
    array = case.array()
    obj, api, code, given = object_with(case, array)
    flags = case.any_of((0, 0, WRITES, TRY, WRITES | TRY))
    wanted, owned = None, 0
    if is_ours(api) and (has(api, "own") or has(api, "describe")):
        wanted, owned = wanted_of_table(case, array, api, code, given, described=True)
    if has(api, "describe") and address_of(api.describe) == NO_MEMORY:
        return None  # how often that is asked is not told
    nothing = not is_ours(api) or not (has(api, "own") or has(api, "describe"))
    out = ctypes.create_string_buffer(b"\xa5" * ARGUMENT, ARGUMENT)
    answer = case.attempt("argument", lambda: OPEN(obj, flags, out))
    if wanted and flags & WRITES and wanted["readonly"]:
        wanted = None
    if nothing and flags & TRY:
        return told(answer, 1)
    got = None
    if answer is not None:
        opened = ffi.cast("cai_array **", ctypes.addressof(out))[0]
        dims = ffi.cast("int64_t *", array.shape)
        if dims and opened != array:  # else it was handed out, and must not change
            ffi.memmove(dims, b"\x5a" * 1024, 1024)
        got = facts_of_struct(opened)
        CLOSE(out)
    return told(got, wanted, held=(case.retained - case.released, -owned))


def owned(case):
    """An owned array of an object, which ends on its own."""
    array = case.array()
    obj, api, code, given = object_with(case, array)
    if has(api, "describe") and address_of(api.describe) == NO_MEMORY:
        return None
    flags = case.any_of((0, 0, WRITES, TRY))
    wanted, given_out = None, 0
    if is_ours(api) and (has(api, "own") or has(api, "describe")):
        wanted, given_out = wanted_of_table(case, array, api, code, given, described=False)
    elif flags & TRY:
        return told(case.attempt("owned", lambda: OWN(obj, flags, None)), 1)
    if wanted and flags & WRITES and wanted["readonly"]:
        wanted = None
    out = ffi.new("cai_array **")
    answer = case.attempt("owned", lambda: OWN(obj, flags, address_of(out)))
    got = None
    if answer is not None:
        got = facts_of_struct(out[0])
        lib.cai_array_release(out[0])
    return told(got, wanted, held=(case.retained - case.released, -given_out))


def wrapped(case):
    """An owned array, for the two functions that make a libcai.Array of one."""
    array = case.array()
    wanted = facts_of_struct(array) if array.owner and is_valid(array) else None

    def by_table():
        out = ffi.new("void **")
        wrap = ctypes.PYFUNCTYPE(ctypes.c_int32, ADDRESS, ADDRESS)(address_of(OURS.wrap))
        assert wrap(address_of(array), address_of(out)) == 0
        made = ctypes.cast(address_of(out[0]), OBJECT).value
        ctypes.pythonapi.Py_DecRef(OBJECT(made))
        return made

    wrap = case.any_of((by_table, lambda: WRAP(address_of(array))))
    made = case.attempt("wrapped", wrap)
    got = made if made is None else hostile_tables.facts_of(made)
    done = made is not None
    del made
    return told(got, wanted, held=(case.retained - case.released, -int(done)))


def tensor(case):
    """A tensor that DLPack's table lends: nothing of it is held, and it changes afterwards."""
    managed = case.tensor()
    lent = managed.dl_tensor
    code = case.any_of((0, 0, 0, 0, -1, 5))

    def lend(_, out):
        out[0] = lent
        return code

    api = case.new("DLPackExchangeAPI *")
    api.header.version.major = 1 if case.chance(0.95) else case.number(32)
    signature = "int(void *, DLTensor *)"
    if case.chance(0.95):
        api.dltensor_from_py_object_no_sync = case.callback(signature, lend)
    capsule = hostile_tables.CAPSULE(address_of(api), b"dlpack_exchange_api", None)
    obj = type("Lending", (), {"__dlpack_c_exchange_api__": capsule})()
    wanted = None
    if api.header.version.major == 1 and api.dltensor_from_py_object_no_sync and code == 0:
        managed.version.major = 1
        wanted = hostile_tables.facts_of_tensor(managed, False)
        if wanted is not None:
            wanted["readonly"] = True  # as may be said of any that is not to be written
    out = ctypes.create_string_buffer(b"\xa5" * ARGUMENT, ARGUMENT)
    answer = case.attempt("tensor", lambda: OPEN(obj, 0, out))
    got = None
    if answer is not None:
        if lent.shape:
            ffi.memmove(lent.shape, b"\x5a" * 1024, 1024)
        got = facts_of_struct(ffi.cast("cai_array **", ctypes.addressof(out))[0])
        CLOSE(out)
    return told(got, wanted, deleted=(case.deleted, 0))


class Holder:
    """An object that a table's `wrap` makes, with the array that it took over."""

    def __init__(self, array):
        self.array = array

    def __del__(self):
        lib.cai_array_release(self.array)


def like(case):
    """A result of a type whose own `wrap` makes it, or fails in any way."""
    array = case.array()
    array.mask = array.descr = ffi.NULL
    array.device_type = lib.CAI_DEVICE_CPU  # where the result is to be, too
    how = case.any_of(("right", "right", "fails", "raises", "nothing"))

    def wrap(given, out):
        if how == "right":
            made = Holder(given)
            RETAIN(made)
            out[0] = ffi.cast("void *", id(made))
        return -1 if how == "fails" else 0

    obj, api, code, given = object_with(case, array)
    api.struct_size = ffi.sizeof("cai_exchange_api")
    signature = "int32_t(cai_array *, void **)"
    api.wrap = case.callback(signature, wrap)
    if how == "raises":
        api.wrap = ffi.cast(signature.replace("(", "(*)(", 1), NO_MEMORY)
    if has(api, "describe") and address_of(api.describe) == NO_MEMORY:
        return None
    ndim = case.random.randrange(3) if case.chance(0.95) else case.any_of((-1, 65, 2**31 - 1))
    shape = case.new("int64_t[3]", [case.any_of((1, 2, 3)) for _ in range(3)])
    if case.chance(0.1):
        shape[0] = case.any_of((-1, 2**62, 2**63 - 1, -(2**63)))
    source = None
    if is_ours(api) and (has(api, "own") or has(api, "describe")):
        source, _ = wanted_of_table(case, array, api, code, given, described=True)
    right = source is not None and 0 <= ndim < 3 and how == "right"
    right = right and not (ndim and (shape[0] < 0 or shape[0] > 3))
    right = right and array.device_id <= 0
    count = libcai.usage("cpu").count
    made = case.attempt("like", lambda: EMPTY_LIKE(obj, ndim, address_of(shape), None))
    got = wanted = None
    if right:
        wanted = (tuple(shape[i] for i in range(ndim)), source["itemsize"])
    if made is not None:
        facts = facts_of_struct(made.array)
        got = facts["shape"], facts["itemsize"]
        ffi.memmove(ffi.cast("void *", facts["data"]), b"\1", 1)  # it is there to be written
    del made
    gc.collect(0)
    left = libcai.usage("cpu").count - count
    return told(got, wanted, memory=(left, 0))


DOORS = (argument, argument, owned, wrapped, tensor, like)


def play(number):
    """None, or what is wrong."""
    global last
    last = case = Case(number)
    door = case.any_of(DOORS)
    said = door(case)
    return said and (door.__name__, *said, case.error)


last = None  # the case that was played last


def clean_up():
    global last
    last = None
    hostile_tables.clean_up()


def main(first, count=None):
    if count is None:
        print(play(first), last.verdict)
        return 0
    return hostile.play_many(first, count, play, clean_up, lambda: 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
