# SPDX-License-Identifier: BSD-3-Clause
"""Arguments of any kind for libcai's functions and methods: subclasses whose methods lie, integers
that raise, call libcai again or end what they are given for, wrong types, and objects that were
made and never filled in.

usage: hostile_arguments.py FIRST COUNT | hostile_arguments.py NUMBER

What an argument *contains* decides: the text of a subclass of str, the number that an `__index__`
returns. With right contents the call succeeds, and what it made has these facts; with a wrong one
it fails with an error that the documentation names, or with what a method of the argument's raised.
No memory is left of a case. An address that is wrapped need not be there, since nobody reads it.
"""

import contextlib
import ctypes
import gc
import operator
import sys

import hostile
import numpy as np
from hostile_modules import OURS
from hostile_tables import CAPSULE, NO_MEMORY, address_of

import libcai
from libcai import Memory
from libcai.cffi import ffi, lib

NUMBERS = (-1, -(2**63), 2**64, 2**70, -(2**200), 1 << 20_000)
NO_NUMBERS = (None, "x", "8", b"8", 1.5, [], {}, (), object(), Memory, np.ones(2))
NO_TEXTS = (None, 5, b"host", ["host"], object(), 1.5, bytearray(b"cpu"), str)
ODD_TEXTS = ("", "x", "\0", "host\0", "\ud800", "\udcff", "%s%n", "gpu:", "a" * 5000, "Ω", "[")
KINDS = ("default", "host", "pinned", "managed", "mapped", "async")
SHOWN = 1000  # characters of a message, at most


class Case(hostile.Case):
    def __init__(self, number):
        super().__init__(number)
        self.wrong = False  # some argument's contents are
        self.wrongs = []  # which, for the message
        self.lost = False  # what is to be used may have been ended meanwhile
        self.end = None

    def any_of(self, items):
        return self.random.choice(items)

    def act(self):
        """As the base class's, and what is read meanwhile may be ended."""
        if self.reading and self.end is not None and self.chance(0.1):
            end, self.end = self.end, None
            self.lost = True
            hostile.with_errors_ignored(end)
        super().act()

    # ---- What is given: each returns the argument, and notes whether its contents are right

    def integer(self, value, wrong=NUMBERS, odd=0.1, true=True):
        if self.chance(odd):
            given = self.any_of((*wrong, *NO_NUMBERS)) if self.chance(0.7) or not true else True
            return self.is_wrong(given)
        kind = self.random.randrange(6)
        if kind == 0:
            return hostile.Int(value)
        if kind == 1:
            return hostile.Index(value)
        return np.int64(value) if kind == 2 and -(2**63) <= value < 2**63 else value

    def is_wrong(self, given):
        if given is None:  # which is the default of much, and NumPy's of a type
            self.unsure = True
            return given
        self.wrong = True
        self.wrongs.append(given)
        return given

    def text(self, value, odd=0.1):
        if self.chance(odd):
            given = self.is_wrong(self.any_of((*ODD_TEXTS, *NO_TEXTS)))
            return hostile.Text(given) if type(given) is str and self.chance(0.5) else given
        return hostile.Text(value) if self.chance(0.4) else value

    def flag(self):
        return self.any_of((False, True, 0, 1, None, "x"))

    def device(self, name):
        if self.chance(0.2):
            return libcai.Device(name)
        return self.text(name)

    def extents(self, values, odd=0.08):
        """A sequence of numbers: by the iteration of it, so a class with its own may say any."""
        given = [
            self.integer(value, (2**63, -(2**63) - 1, 2**70), odd / 2, true=False)
            for value in values
        ]
        if self.chance(odd):
            return self.is_wrong(
                self.any_of((None, "x", 1.5, object(), {"a": 1}, [given, "x"], (1,) * 70))
            )
        if self.chance(0.1):
            self.unsure = True
            return self.any_of((hostile.Row, hostile.Rows))(given)
        return given if self.chance(0.3) else tuple(given)


case = last = None  # the one that is played; and the last one


# ---- The doors, each with what the result is to be


def to_allocate(case):
    size, kind = case.any_of((0, 1, 64, 4095, 4096)), case.any_of(KINDS)
    device = "cpu" if kind in ("default", "host") and case.chance(0.5) else "gpu:0"
    if kind == "host":
        device = "cpu"
    given = {"kind": case.text(kind), "device": case.device(device)}
    if case.chance(0.3):
        given["align"] = case.integer(case.any_of((0, 1, 2, 64, 256)), (3, -1, 2**64, 2**63 + 1))
    if case.chance(0.1):
        case.wrong = True
        wrong = ("x", 5, object(), libcai.Stream)
        given[case.any_of(("stream", "manager", "dtype"))] = case.any_of(wrong)
        case.unsure = True  # a stream may be 5
    number = case.integer(size, (-1, 2**64, 2**63, 2**64 - 1, 1 << 20_000))
    memory = yield lambda: Memory(number, **given)
    yield (memory.size, memory.kind, str(memory.device)), (size, kind, device)


def to_wrap(case):
    address, size = case.any_of((4096, 2**40, 2**63)), case.any_of((0, 1, 100, 2**32))
    owner = hostile.Exporter({}) if case.chance(0.5) else None
    device = case.any_of(("cpu", "gpu:0", "gpu:1"))
    given = {"device": case.device(device), "owner": owner}
    if case.chance(0.3):
        given["kind"] = case.text("default")
    if case.chance(0.3):
        given["host"] = case.integer(address)
        case.unsure = True  # a GPU's own memory has no address for the host
    if case.chance(0.1):
        given[case.any_of(("row", "pitch", "rows"))] = case.integer(5)
        case.unsure = True
    first, second = case.integer(address), case.integer(size)
    memory = yield lambda: Memory.wrap(first, second, **given)
    yield (memory.address, memory.size, str(memory.device)), (address * (size > 0), size, device)


def to_find(case):
    memory = Memory(256, device=case.any_of(("cpu", "gpu")))
    case.end = memory.free
    place = case.random.randrange(256)
    address = case.integer(memory.address + place)
    found = yield lambda: Memory.find(address)
    yield (found[0].address, found[1]), (memory.address, place)


def to_slice_memory(case):
    memory = Memory(256, device=case.any_of(("cpu", "gpu")))
    ends = [case.any_of((None, 0, 1, 100, 256, 300, -1, -256, -300, 2**70)) for _ in range(2)]
    step = case.any_of((None, 1))
    key = slice(*(end if end is None else case.integer(end, (), 0) for end in (*ends, step)))
    if case.chance(0.1):
        case.wrong = True
        key = case.any_of((5, None, "x", (key,), slice(0, 9, 2), slice("x", 2), ...))
    case.end = memory.free
    start, stop, _ = slice(*ends).indices(256)
    view = yield lambda: memory[key]
    size = max(0, stop - start)
    yield (view.size, view.address), (size, memory.address + start if size else view.address)


def to_place_an_array(case):
    memory = Memory(4096, device=case.any_of(("cpu", "gpu")))
    case.end = memory.free
    shape = tuple(case.random.randrange(5) for _ in range(case.random.randrange(4)))
    typestr = case.any_of(("|u1", "<i2", "<f4", "<c16", "<f8"))
    size = int(typestr[2:])
    offset = size * case.random.randrange(8)
    given = case.extents(shape), case.text(typestr)
    steps = None
    if case.chance(0.4):
        steps = tuple(size * case.random.randrange(-2, 12) for _ in shape)
    reach = [(extent - 1) * step for extent, step in zip(shape, steps or (), strict=bool(steps))]
    low = offset + sum(step for step in reach if step < 0)
    high = offset + sum(step for step in reach if step > 0) + size
    inside = steps is None or 0 in shape or (low >= 0 and high <= 4096)
    case.wrong |= not inside
    strides = steps if steps is None else case.extents(steps)
    start = case.integer(offset)
    array = yield lambda: memory.array(*given, strides, start)
    facts = (array.shape, array.typestr, array.data if array.size else 0)
    yield facts, (shape, typestr, memory.address + offset if array.size else 0)


def to_make_an_array(case):
    shape = tuple(case.random.randrange(4) for _ in range(case.random.randrange(4)))
    typestr = case.any_of(("|u1", "<i2", ">f4", "<c16", "|b1", "|S3", "<M8[s]"))
    device = case.any_of(("cpu", "cpu", "gpu:0"))
    made = case.any_of((libcai.empty, libcai.zeros))
    first, second, third = case.extents(shape), case.text(typestr), case.device(device)
    if case.chance(0.05):
        case.wrong = True
        second = case.any_of(("<f3", "|O8", object, [("a", "O")], 5, b"\xff", {}, "<f4" * 999))
    array = yield lambda: made(first, second, device=third)
    facts = (array.shape, array.typestr, str(array.device))
    yield facts, (shape, typestr, device)


def to_fill(case):
    array = libcai.zeros(5, case.any_of(("|u1", "<i4")), device=case.any_of(("cpu", "gpu:0")))
    value = case.random.randrange(200)
    number = case.integer(value, (2**40, -(2**40), 2**70), 0.1)
    if number is True:  # which is a 1 to NumPy, too
        value, case.wrong = 1, False
    place = case.random.randrange(-5, 5)
    index = case.integer(place, (5, -6, 2**63, -(2**70)))
    case.unsure |= index is True  # a 1, here
    index = (index,) if case.chance(0.3) else index
    item = yield lambda: libcai.fill(array, number).item(index)
    yield item, value


def to_view(case):
    values = np.arange(24, dtype="<i4").reshape(2, 3, 4)
    array = libcai.asarray(values)
    how = case.random.randrange(4)
    if how == 0:
        plain = tuple(
            case.any_of((0, 1, -1, None, slice(None), slice(1, None), slice(None, None, -1)))
            for _ in range(case.random.randrange(4))
        )
        if sum(each is not None for each in plain) > 3:
            plain = plain[:3]
        key = tuple(case.integer(each, (5,), 0.05) if type(each) is int else each for each in plain)
        if any(each is True for each in key):
            case.wrong = True
        if case.chance(0.1):
            case.unsure = True
            key = hostile.Row(key)
        act, wanted = lambda: array[key], values[(*plain, ...)]
    elif how == 1:
        shape = case.any_of(((24,), (4, 6), (2, -1), (3, 2, 2, 2), (1, 24, 1)))
        given, wanted = case.extents(shape), values.reshape(shape)
        act = (
            (lambda: array.reshape(given)) if case.chance(0.5) else (lambda: array.reshape(*given))
        )
    elif how == 2:
        axes = case.any_of(((0, 1, 2), (2, 1, 0), (1, -1, 0), (0, 2, 1)))
        given, wanted = case.extents(axes), values.transpose(axes)
        act = lambda: array.transpose(given)  # noqa: E731
    else:
        shape = case.any_of(((2, 3, 4), (5, 2, 3, 4), (1, 2, 3, 4)))
        given, wanted = case.extents(shape), np.broadcast_to(values, shape)
        act = lambda: array.broadcast_to(given)  # noqa: E731
    view = yield act
    yield (view.shape, np.asarray(view).tolist()), (wanted.shape, wanted.tolist())


class Streamed(hostile.Counted):
    """A stream by one of the names, each of which meddles."""

    def __new__(cls, name, value):
        self = super().__new__(cls)
        self.name, self.value_of_it = name, value
        return self

    def __getattr__(self, name):
        if name.startswith("__") and name != "__cuda_stream__":
            raise AttributeError(name)
        case.act()
        if name != self.name:
            raise AttributeError(name)
        if name == "__cuda_stream__":
            return lambda: (0, self.value_of_it)
        return self.value_of_it


def stream_for(case):
    """A stream that is there: the legacy one, or one of libcai's own."""
    kind = case.random.randrange(6)
    own = libcai.Stream("gpu:0")
    case.kept = own
    if kind == 0:
        return own, own.value
    if kind == 1:
        value = case.integer(1, NUMBERS[1:], 0.2)  # -1 means none at all
        return value, 1
    name = case.any_of(("__cuda_stream__", "handle", "ptr", "cuda_stream"))
    value = case.any_of((own.value, 1))
    wrong = (-1, -5, 2**64, 2**70)
    return Streamed(name, case.integer(value, wrong, 0.1)), value


def to_wrap_a_stream(case):
    given, value = stream_for(case)
    device = case.device("gpu:0")
    case.unsure |= given is case.kept  # a Stream is returned as it is, whatever the device
    stream = yield lambda: libcai.Stream.wrap(given, device)
    yield stream.value, value


def to_use(case):
    count = case.random.randrange(7)
    arrays = [libcai.zeros(3, "<i4", device="gpu:0") for _ in range(count)]
    given, _ = stream_for(case)
    order = case.any_of(("both", "begin", "end", "none", "host"))
    kind = case.random.randrange(10)
    if kind < 7:
        words = [case.any_of(("read", "write", None)) for _ in arrays]
        words = [each if each is None else case.text(each, 0.03) for each in words]
        if kind < 3:
            case.unsure = True  # what a class's own iteration says
            words = case.any_of((hostile.Row, hostile.Rows))(words)
            case.containers += [words] if isinstance(words, list) else []
    elif kind < 9:
        words = case.text("write")
    else:
        words = case.is_wrong(
            case.any_of((["read"] * (count + 1), 5, {}, object(), b"read", "both"))
        )
    word = case.text(order)

    def act():
        with libcai.use(*arrays, stream=given, access=words, order=word) as used:
            return len(used)

    got = yield act
    yield got, count


def ignore(*_):
    """For a log's `write` and the like: what it printed would be taken for the faults."""


def to_make_a_manager(case):
    name = case.any_of(("host", "statistics", "tracking", "limiting", "logging", "retrying"))
    more = {
        "limiting": lambda: {"limit": case.integer(4096)},
        "logging": lambda: {"write": lambda _: None},
        "retrying": lambda: {"retry": lambda *_: False},
    }.get(name, dict)()
    above = None if name == "host" else libcai.memory_manager("host", device="cpu")
    if case.chance(0.1):
        case.wrong = True
        above = case.any_of((5, "host", object(), libcai.MemoryManager))
    if case.chance(0.1):
        more[
            case.any_of(("limit", "write", "retry", "initial", "threshold", "path", "install"))
        ] = case.any_of((5, -1, "x", object(), 2**64, ignore, b"\0"))
        case.unsure = True
    given = {"device": case.device("cpu"), "upstream": above, **more}
    text = case.text(name)

    def act():
        manager = libcai.memory_manager(text, **given)
        block = manager.alloc(100)
        manager.free(block)
        return manager.name, manager

    made = yield act
    yield made[0], name


def to_free(case):
    """A block by its four numbers; it is the right one, or of no block's form."""
    manager = libcai.memory_manager("host", device="cpu")
    block = manager.alloc(64)
    numbers = [case.integer(each, odd=0.05) for each in block]
    if case.chance(0.2):
        case.wrong = True
        numbers = case.any_of((numbers[:3], [*numbers, 0], (), None, "abcd", 5, {1: 2}))
    elif case.chance(0.3):
        case.unsure = True
        numbers = case.any_of((hostile.Row, hostile.Rows))(numbers)
        case.containers.append(numbers) if isinstance(numbers, list) else None
    kind = case.text("default")
    freed = []

    def act():
        manager.free(numbers, kind=kind)
        freed.append(True)

    case.after = lambda: freed or manager.free(block)
    yield act
    yield None, None


def to_export(case):
    """DLPack's arguments: pairs, streams and flags of a consumer's."""
    array = libcai.asarray(np.arange(6, dtype="<i4"))
    more = {}
    if case.chance(0.5):
        more["max_version"] = case.any_of((None, (1, 0), [1, 1], (0, 5), (1, 2**70)))
    if case.chance(0.3):
        more["max_version"] = hostile.Row((1, 0))
        case.unsure = True
    if case.chance(0.3):
        more["dl_device"] = (case.integer(1, (5, 2**40)), case.integer(0, (5, 2**70)))
        case.unsure |= any(each is True for each in more["dl_device"])
    if case.chance(0.3):
        more["copy"] = case.any_of((None, True, False, 1, "x", hostile.Int(1)))
        case.wrong |= more["copy"] not in (None, True, False) or type(more["copy"]) is int
        case.unsure |= type(more["copy"]) is hostile.Int
    if case.chance(0.2):
        more["stream"] = case.any_of((None, -1, 0, 1, 2**70, "x", hostile.Int(-1), object()))
        case.wrong |= more["stream"] is not None
        case.unsure |= more["stream"] is not None and type(more["stream"]) in (int, hostile.Int)
    capsule = yield lambda: array.__dlpack__(**more)
    yield libcai.from_dlpack(capsule).item(5), 5


def told_of(case, array, how, calls):
    """An object of a type with a table that describes an array, and is told of its uses."""
    native = ffi.cast("cai_array *", array.ptr)

    def describe(_, out, dims):
        out[0] = native[0]
        dims[0], dims[64] = native.shape[0], native.strides[0]
        out.shape, out.strides, out.owner = dims, dims + 64, ffi.NULL
        return 0

    def used(_, stream, access):
        calls.append((stream, access))
        raised = len(case.raised)
        hostile.with_errors_ignored(case.act)
        del case.raised[raised:]  # it is this function's affair
        return -1 if how == "fails" else 0

    api = ffi.new("cai_exchange_api *")
    api.struct_size = ffi.sizeof("cai_exchange_api")
    api.abi_major = lib.CAI_ABI_MAJOR
    functions = [
        ffi.callback("int32_t(void *, cai_array *, int64_t *)", describe, error=-1),
        ffi.callback("int32_t(void *, uint64_t, uint32_t)", used, error=-1),
    ]
    api.describe, api.used = functions
    if how == "raises":
        api.used = ffi.cast("int32_t (*)(void *, uint64_t, uint32_t)", NO_MEMORY)
    case.tables = api, functions
    capsule = CAPSULE(address_of(api), b"cai_exchange_api", None)
    return type("Told", (), {"__cai_c_exchange_api__": capsule})()


def to_tell(case):
    """The exporter of an array is told of each use, once; and where that fails, it is said."""
    array = libcai.zeros(8, "<i4", device="gpu:0")
    how = case.any_of(("right", "right", "fails", "raises"))
    calls = []
    obj = told_of(case, array, how, calls)
    given, stream = stream_for(case)
    access = case.any_of(("read", "write", None))
    word = access if access is None else case.text(access)
    by_use = case.chance(0.6)
    is_told = not by_use or stream != array.stream  # work on its own stream is in order as it is
    fails = how != "right" and is_told

    def act():
        if not by_use:
            libcai.asarray(obj).used_on(given, word)
        else:
            with libcai.use(obj, stream=given, access=word):
                pass
        case.wrong |= fails  # here, so that an argument that is refused first is right, too
        return calls

    case.may_fail = fails
    number = lib.CAI_ACCESS_READ if access == "read" else lib.CAI_ACCESS_WRITE
    got = yield act
    yield got, [(stream, number)] if is_told else []


USED = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.py_object, ctypes.c_uint64, ctypes.c_uint32)(
    address_of(OURS.used)
)


def to_be_told(case):
    """libcai's own table: of a use of any kind."""
    device = case.any_of(("cpu", "gpu:0"))
    array = libcai.zeros(8, "<i4", device=device)
    stream = libcai.Stream("gpu:0")
    access = case.any_of((0, 1, 2, 3, 4, 2**31, 2**32 - 1))
    case.wrong = access > lib.CAI_ACCESS_WRITE and device != "cpu"
    answer = yield lambda: USED(array, stream.value, access)
    yield answer, 0


class Own(libcai.MemoryManager):
    def memalloc(self, size, align, kind, stream):
        raise MemoryError

    def memfree(self, address, size, kind, stream):
        raise AssertionError("nothing was allocated")


USE, DEFERRAL = type(libcai.use(stream=1)), type(libcai.defer_cleanup("cpu"))
KNOWN = (Memory, libcai.Stream, libcai.Event, libcai.Array, Own, USE, DEFERRAL)
ENDLESS = ("__class__", "__init__", "__del__", "__init_subclass__", "__subclasshook__", "__dir__")


def to_call_what_was_not_made(case):
    """Any method of an object whose __init__() never ran, or any function that is given it."""
    kind = case.any_of(KNOWN)
    obj = kind.__new__(kind)
    name = case.any_of([name for name in dir(kind) if name not in ENDLESS])
    fill = (obj, None, 5, "cpu", (), hostile.Index(3), hostile.Text("x"), object(), slice(0, 9))
    given = [case.any_of(fill) for _ in range(case.random.randrange(4))]
    functions = (
        libcai.asarray, libcai.from_dlpack, libcai.from_arrow, libcai.copy, Memory.of, repr, hash,
        lambda it: libcai.use(it, stream=1).__enter__(), lambda it: Memory(8, stream=it),
        lambda it: Memory(8, manager=it), lambda it: libcai.use(stream=it), memoryview, len,
        lambda it: libcai.Event("cpu").record(it), lambda it: libcai.Stream("cpu").follow(it),
        lambda it: libcai.memory_manager("statistics", upstream=it),
        lambda it: setattr(it, name, given),
    )  # fmt: skip
    case.unsure = case.foreign = True

    def act():
        if case.chance(0.3):
            return case.any_of(functions)(obj)
        found = getattr(obj, name)
        return found(*given) if callable(found) else found

    yield act
    yield None, None


DOORS = (to_allocate, to_wrap, to_find, to_slice_memory, to_place_an_array, to_make_an_array,
         to_fill, to_view, to_wrap_a_stream, to_use, to_make_a_manager, to_free, to_export,
         to_tell, to_be_told, to_call_what_was_not_made)  # fmt: skip


def play(number):
    """None, or what is wrong."""
    global case, last
    last = case = hostile.case = Case(number)
    case.foreign, case.after, case.kept, case.may_fail = False, None, None, False
    case.verdict = "nothing"
    door = case.any_of(DOORS)
    parts = door(case)
    act = next(parts)
    said = None
    case.reading = True
    try:
        made = act()
    except BaseException as error:
        case.reading = False
        case.verdict = f"{door.__name__}: {type(error).__name__}"
        said = judged_error(error)
    else:
        case.reading = False
        case.verdict = f"{door.__name__}: done"
        said = judged_result(parts, made)
        del made
    if case.after is not None:
        case.after()
    parts.close()
    case.raised.clear()  # with the frames that they were raised in
    return said and (door.__name__, *said)


def judged_error(error):
    if any(error is mine for mine in case.raised) or any(chain_of(error)):
        return None
    if case.foreign:  # Python's own words, for a method that is Python's own
        return None if isinstance(error, Exception) else (f"{type(error).__name__}: {error}",)
    if not isinstance(error, (libcai.Error, TypeError, MemoryError)):
        return f"{type(error).__name__} is nobody's: {error}", f"raised: {case.raised}"
    if len(str(error)) > SHOWN:
        return "the message is", str(error)
    if case.wrong or case.unsure or case.lost or case.raised or case.may_fail:
        return None
    return f"libcai refuses: {type(error).__name__}: {error}", "the contents are right"


def chain_of(error):
    """What a method raised may be the cause of an error that says which argument it was."""
    while error is not None:
        error = error.__cause__ or error.__context__
        if any(error is mine for mine in case.raised):
            yield error


def judged_result(parts, made):
    if case.unsure or case.lost or case.raised:
        return None
    if case.wrong:
        return "libcai takes it", f"wrong is: {case.wrongs}"
    got, wanted = parts.send(made)
    return None if got == wanted else (got, f"wanted: {wanted}")


def left():
    libcai.flush("cpu")
    libcai.flush("gpu:0")
    return hostile.alive + sum(
        operator.attrgetter("count")(libcai.usage(device)) for device in ("cpu", "gpu:0")
    )


def clean_up():
    global case, last
    case = last = None
    hostile.clean_up()
    gc.collect()


def begin():
    libcai.Device("gpu:0").set_current()  # for stream 1
    return contextlib.nullcontext()


def main(first, count=None):
    with begin():
        if count is None:
            print(play(first), last.verdict, "raised:", last.raised, "wrong:", last.wrongs)
            return 0
        return hostile.play_many(first, count, play, clean_up, left)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
