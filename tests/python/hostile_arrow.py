# SPDX-License-Identifier: BSD-3-Clause
"""Arrow's columns with anything in them, from exporters that meddle, given to from_arrow().

usage: hostile_arrow.py FIRST COUNT | hostile_arrow.py NUMBER

What is the exporter's to keep, by Arrow's text, and is always so here: a pointer is NULL, or at
memory that is there; a format ends; a struct lives as long as its capsule; a release sets itself to
NULL. Whatever else a struct or an exporter says may be wrong. The array then has the facts and the
bytes of the generator's own model, or one of libcai's errors says which kind of fault it was; and
each struct that was not released before is released once: by the array's end where it was taken,
else by its capsule.
"""

import ctypes
import gc
import random
import sys

import hostile
import numpy as np
from hostile_tables import CAPSULE, EDGES

import libcai
from libcai.cffi import lib

FORMATS = {b"c": "|i1", b"C": "|u1", b"s": "<i2", b"S": "<u2", b"i": "<i4", b"I": "<u4",
           b"l": "<i8", b"L": "<u8", b"e": "<f2", b"f": "<f4", b"g": "<f8"}  # fmt: skip
ODD_FORMATS = (b"", b"ii", b"i ", b"I\xff", b"b", b"u", b"z", b"n", b"+s", b"tdD", b"w:4",
               b"d:10,2", b"\xff\xfe", b"%s%n", b"i" * 300, b"l" * 70_000)  # fmt: skip
NAMES = (b"arrow_schema", b"arrow_array", b"arrow_device_array", b"arrow_array_stream",
         b"used_arrow_array", b"", None)  # fmt: skip
CPU, GPU_KINDS = 1, (2, 3, 13)
BYTES = bytes(random.Random(0).randrange(256) for _ in range(4096))
DATA = ctypes.create_string_buffer(BYTES, len(BYTES))
ADDRESS = -(-ctypes.addressof(DATA) // 64) * 64
SKIPPED = ADDRESS - ctypes.addressof(DATA)
ROOM = len(BYTES) - SKIPPED  # bytes that are there from ADDRESS on
DEALLOCATOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)  # of a capsule that has no reference left
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
POINTER_IN = ctypes.pythonapi.PyCapsule_GetPointer
POINTER_IN.restype, POINTER_IN.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_char_p)


class Schema(ctypes.Structure):
    _fields_ = (
        ("format", ctypes.c_void_p),
        ("name", ctypes.c_void_p),
        ("metadata", ctypes.c_void_p),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


class Column(ctypes.Structure):
    _fields_ = (
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.c_void_p),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
        ("device_id", ctypes.c_int64),  # from here on a device's column alone has it
        ("device_type", ctypes.c_int32),
        ("sync_event", ctypes.c_void_p),
        ("reserved", ctypes.c_int64 * 3),
    )


released = {}  # how often, by private_data
case = last = None  # the one that is played; and the last one


def release(kind):
    def released_here(address):
        made = kind.from_address(address)
        made.release = None
        released[made.private_data] = released.get(made.private_data, 0) + 1
        if case is not None:
            hostile.with_errors_ignored(case.meddle)

    return RELEASE(released_here)


RELEASES = {Schema: release(Schema), Column: release(Column)}


def end_by(kind, name):
    """A capsule's destructor: Arrow's text has it release what nobody has taken."""

    def end(capsule):
        made = kind.from_address(POINTER_IN(capsule, name))
        if made.release:
            RELEASES[kind](ctypes.addressof(made))

    return DEALLOCATOR(end)


ENDS = {(kind, name): end_by(kind, name) for kind in (Schema, Column) for name in NAMES}


class Odd(tuple):
    """A pair by its contents, whatever its methods say."""

    __slots__ = ()

    def __len__(self):
        return case.any_of((0, 2, 3, 1 << 40))

    def __iter__(self):
        raise case.own_error()

    def __getitem__(self, _):
        raise case.own_error()


class Verdict(set):
    """The kinds of fault that there are."""


class Case:
    def __init__(self, number):
        self.random = random.Random(number)
        self.number = number
        self.kept = []
        self.keys = {}  # of the structs: whether each is to be released at all
        self.raised = []
        self.verdict = "nothing"
        self.array = None  # that another import holds
        self.depth = 0
        self.unsure = False  # a capsule may be taken by another import meanwhile

    def chance(self, of):
        return self.random.random() < of

    def any_of(self, items):
        return self.random.choice(items)

    def number_of(self):
        value = self.any_of(EDGES) + self.any_of((0, 0, 1, -1))
        return (value + 2**63) % 2**64 - 2**63

    def own_error(self):
        self.raised.append(self.any_of(hostile.OWN_ERRORS)("mine"))
        return self.raised[-1]

    def meddle(self):
        """What an exporter, or a release, may do before it returns."""
        if self.depth:
            return
        self.depth += 1
        try:
            what = self.random.randrange(8)
            if what == 0:
                gc.collect(0)
            elif what == 1:
                assert libcai.asarray(hostile.OTHER).shape == (6,)
            elif what == 2:
                assert libcai.from_arrow(libcai.asarray(hostile.OTHER)).shape == (6,)
            elif what == 3:
                libcai.drain()
        finally:
            self.depth -= 1

    # ---- The structs

    def new(self, kind):
        made = kind()
        key = 2 + len(self.keys)
        made.private_data = key + self.number * 64
        made.release = ctypes.cast(RELEASES[kind], ctypes.c_void_p)
        self.keys[made.private_data] = 1
        self.kept.append(made)
        return made

    def text(self, text):
        self.kept.append(ctypes.create_string_buffer(text))
        return ctypes.addressof(self.kept[-1])

    def pointers(self, *values):
        self.kept.append((ctypes.c_void_p * len(values))(*values))
        return ctypes.addressof(self.kept[-1])

    def structs(self):
        schema, column = self.new(Schema), self.new(Column)
        self.format = self.any_of(tuple(FORMATS))
        size = np.dtype(FORMATS[self.format]).itemsize
        schema.flags = self.any_of((0, 2, 2, -1))
        column.offset = 8 * self.random.randrange(4)
        column.length = self.random.randrange(40)
        column.n_buffers = 2
        bits = self.any_of((None, ADDRESS + 1024))
        column.null_count = self.random.randrange(-1, column.length + 1) if bits else 0
        column.device_type = CPU if self.chance(0.7) else self.any_of(GPU_KINDS)
        column.device_id = -1 if column.device_type == CPU else self.random.randrange(3)
        self.values = [bits, ADDRESS + size * self.random.randrange(4)]
        self.event, self.has_buffers = 0, True
        for _ in range(self.any_of((0, 0, 0, 1, 1, 2))):
            self.spoil(schema, column)
        if self.has_buffers:
            column.buffers = self.pointers(*self.values, ADDRESS)
        schema.format = self.text(self.format)
        if self.chance(0.01):
            schema.format = None
        return schema, column

    def spoil(self, schema, column):
        kind = self.random.randrange(13)
        if kind == 0:
            self.format = self.any_of(ODD_FORMATS)
        elif kind < 5:
            name = self.any_of(("length", "offset", "null_count", "n_buffers"))
            setattr(column, name, self.number_of())
        elif kind == 5:
            self.has_buffers = False
        elif kind == 6:
            self.values[self.random.randrange(2)] = self.any_of((None, 1, 2**63, 2**64 - 1))
        elif kind == 7:
            each = self.any_of((schema, column))
            each.n_children = self.number_of()
            each.children = self.pointers(None, None)
        elif kind == 8:
            each = self.any_of((schema, column))
            each.dictionary = ctypes.addressof(each)
        elif kind == 9:
            column.device_type = self.any_of((0, 4, 7, 10, 14, 99, -1, 2**31 - 1, -(2**31)))
        elif kind == 10:
            column.device_id = self.number_of()
        elif kind == 11:
            each = self.any_of((schema, column))
            self.keys[each.private_data] = 0
            each.release = None
        else:
            self.event = self.any_of((0, 1, 2, 4096))
            column.sync_event = self.pointers(self.event)

    # ---- What is to come of it

    def judged(self, schema, column, on_device):
        """The statuses that are possible, or none if it is to be taken; a second reading of the
        text than the library's."""
        found = set()
        if not schema.release or not column.release or not schema.format:
            return {lib.CAI_ERR_ARGUMENT}
        device = column.device_type if on_device else CPU
        device_id = column.device_id if on_device else -1
        event = bool(column.sync_event) and on_device
        if device not in (CPU, *GPU_KINDS):
            found.add(lib.CAI_ERR_DEVICE)
        is_plain = not (schema.n_children or column.n_children or schema.dictionary)
        if self.format not in FORMATS or not is_plain or column.dictionary:
            found.add(lib.CAI_ERR_UNSUPPORTED)
        size = np.dtype(FORMATS.get(self.format, "|i1")).itemsize
        length, offset = column.length, column.offset
        wrong = column.n_buffers != 2 or not column.buffers or length < 0 or offset < 0
        wrong |= not -1 <= column.null_count <= length or not -1 <= device_id < 2**31
        wrong |= event and (not self.event or device == CPU)
        bits, data = (value or 0 for value in self.values)
        wrong |= length * size >= 2**63 or (column.null_count > 0 and not bits)
        if length > 0:
            wrong |= not data or offset * size >= 2**63
            wrong |= data + (offset + length) * size > 2**64
        if column.null_count and bits:
            if offset % 8:
                found.add(lib.CAI_ERR_UNSUPPORTED)
            wrong |= length > 0 and bits + offset // 8 + (length + 7) // 8 > 2**64
        if wrong:
            found.add(lib.CAI_ERR_VALUE)
        return found

    def facts(self, column, on_device):
        size = np.dtype(FORMATS[self.format]).itemsize
        length, offset = column.length, column.offset
        bits, data = self.values
        device = column.device_type if on_device else CPU
        masked = bool(column.null_count and bits)
        return {
            "shape": (length,),
            "strides": (size,),
            "typestr": FORMATS[self.format],
            "data": data + offset * size if length else 0,
            "readonly": True,
            "stream_kind": "event" if on_device and column.sync_event else "none",
            "device": int(device),
            "mask": (bits + offset // 8 if length else 0) if masked else None,
        }

    # ---- The exporter

    def capsule(self, made, name, given):
        """In a capsule of its name, or of another one."""
        if self.chance(0.04):
            given = self.any_of(NAMES)
        capsule = CAPSULE(ctypes.addressof(made), given, ENDS[type(made), given])
        if given is not None:
            self.kept.append(given)  # a capsule's name is not copied
        return capsule, given == name

    def answer(self, pair):
        """What the method returns, and whether it is that pair."""
        kind = self.random.randrange(24)
        if kind == 0:
            return list(pair), True
        if kind == 1:
            return Odd(pair), True
        if kind == 2:
            return self.any_of(
                (None, (), pair[:1], (*pair, None), iter(pair), 5, {}, pair[1])
            ), False
        if kind == 3:
            return self.any_of(((None, pair[1]), (pair[0], None), pair[::-1], (5, "x"))), False
        if kind == 4:
            return self.any_of(((pair[0],) * 2, (pair[1],) * 2)), False
        return pair, True

    def exporter(self, answer, on_device):
        if on_device:
            return self.any_of((Device, Both))(answer)
        return self.any_of((Plain, Plain, Plain, Hidden))(answer)


class Unasked:
    """Whatever else of Arrow's an exporter has is not asked."""

    def __init__(self, answer):
        self.answer = answer

    def not_asked(self, *_):
        raise AssertionError("libcai asks for what it does not use")

    __getattr__ = not_asked
    __arrow_c_schema__ = __arrow_c_stream__ = __arrow_c_device_stream__ = property(not_asked)

    def give(self, *arguments, **more):
        assert not arguments
        assert not more
        if case.chance(0.2):
            case.meddle()
        if case.chance(0.03):
            raise case.own_error()
        if case.chance(0.05) and case.depth == 0:
            case.depth += 1
            case.unsure = True
            hostile.with_errors_ignored(self.take_first)
            case.depth -= 1
        return self.answer

    def take_first(self):
        case.array = libcai.from_arrow(self)


class Device(Unasked):
    __arrow_c_device_array__ = Unasked.give


class Both(Device):
    __arrow_c_array__ = property(Unasked.not_asked)


class Plain(Unasked):
    __arrow_c_array__ = Unasked.give


class Hidden(Plain):
    __arrow_c_device_array__ = None


def bytes_of(array, length):
    return ctypes.string_at(array.data, length) if length else b""


def facts_of(array):
    return {
        "shape": array.shape,
        "strides": array.strides,
        "typestr": array.typestr,
        "data": array.data,
        "readonly": array.readonly,
        "stream_kind": array.stream_kind,
        "device": int(array.__dlpack_device__()[0]) if array.data == 0 else array_kind(array),
        "mask": None if array.mask is None else array.mask.data,
    }


def array_kind(array):
    return libcai.cffi.ffi.cast("cai_array *", array.ptr).device_type


def wrong_bytes(case, array, column):
    """None, or how the elements differ from the model's; where they are there to read."""
    size, first = array.itemsize, (array.data - ADDRESS) + SKIPPED
    inside = first >= SKIPPED and first + array.nbytes <= len(BYTES)
    if array_kind(array) != CPU or not inside or not array.size:
        return None
    wanted = np.frombuffer(BYTES, FORMATS[case.format], column.length, first)
    if array.mask is None:
        if np.asarray(array).tobytes() != wanted.tobytes():
            return np.asarray(array), wanted
    elif bytes_of(array, array.nbytes) != wanted.tobytes():
        return bytes_of(array, array.nbytes), wanted
    last = array.item(array.shape[0] - 1) if array.mask is None else None
    if last is not None and np.array(last, wanted.dtype).tobytes() != wanted[-1:].tobytes():
        return (last, wanted[-1]) if last == last else None  # any NaN does
    return wrong_return(array, wanted, size)


def wrong_return(array, wanted, size):
    """As a column again, whatever type is asked for; and read again."""
    for asked in (None, 5, "i", array, NotImplemented):
        pair = array.__arrow_c_array__(asked)
        again = libcai.from_arrow(type("Pair", (), {"__arrow_c_array__": lambda _, p=pair: p})())
        if bytes_of(again, again.nbytes) != wanted.tobytes():
            return "returned as", bytes_of(again, again.nbytes), wanted
    return None


def play(number):
    """None, or what is wrong."""
    global case, last
    last = case = Case(number)
    try:
        said = played(case)
    finally:
        mine, case = case, None
    if said is not None:
        return said
    mine.array = None
    mine.raised.clear()  # with the frames that they were raised in
    gc.collect(0)
    libcai.drain()
    for key, wanted in mine.keys.items():
        times = released.pop(key, 0)
        if times != wanted:
            return mine.verdict, f"a struct is released {times} times, and not {wanted}"
    return None


def played(case):
    schema, column = case.structs()
    on_device = case.chance(0.6)
    name = b"arrow_device_array" if on_device else b"arrow_array"
    type_capsule, type_named = case.capsule(schema, b"arrow_schema", b"arrow_schema")
    capsule, named = case.capsule(column, name, name)
    answer, is_pair = case.answer((type_capsule, capsule))
    faults = case.judged(schema, column, on_device)
    facts = case.facts(column, on_device) if not faults else None
    obj = case.exporter(answer, on_device)
    is_form = is_pair and type_named and named
    said = None
    for _ in range(case.any_of((1, 1, 2))):  # the second is to find a column that was taken
        try:
            array = libcai.from_arrow(obj)
        except BaseException as error:
            said = judged_error(case, error, is_form, faults)
            case.verdict = f"refused: {type(error).__name__} {getattr(error, 'status', '')}"
            del error
        else:
            case.verdict = "taken"
            said = judged_array(case, array, is_form, faults, facts, column)
            del array
            faults = {lib.CAI_ERR_ARGUMENT}
        if said:
            return case.verdict, *said
    del obj, answer, capsule, type_capsule
    return None


def judged_error(case, error, is_form, faults):
    if any(error is mine for mine in case.raised):
        return None
    if not isinstance(error, libcai.Error) or not str(error) or len(str(error)) > 600:
        return f"{type(error).__name__} is nobody's: {error}", f"raised: {case.raised}"
    if case.unsure:
        return None
    if isinstance(error, libcai.InterfaceTypeError):
        return None if not is_form else (f"libcai refuses the form: {error}",)
    if is_form and error.status in faults:
        return None
    return f"libcai refuses with {error.status}: {error}", f"the model: {faults or 'taken'}"


def judged_array(case, array, is_form, faults, facts, column):
    if case.unsure:
        return None
    if not is_form or faults:
        return "libcai takes it", f"the model: {faults or 'no pair of capsules'}"
    got = facts_of(array)
    if not array.size:  # what is not used is not told
        got["strides"], got["mask"] = facts["strides"], facts["mask"]
    if got != facts:
        return got, facts
    return wrong_bytes(case, array, column)


def clean_up():
    global last
    last = None
    hostile.clean_up()


def main(first, count=None):
    if count is None:
        print(play(first))
        return 0
    return hostile.play_many(first, count, play, clean_up, lambda: len(released))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
