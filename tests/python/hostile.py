# SPDX-License-Identifier: BSD-3-Clause
"""Objects that meddle while they are read, given to every reader of the interface.

usage: hostile.py FIRST COUNT    plays so many cases, numbered from FIRST on
       hostile.py NUMBER         shows what one of them comes to

A case is a dict of judging.py's whose parts are made again as subclasses with methods that lie,
raise, read other arrays, and change what is being read. What their *contents* are decides, by the
oracle: the array has its facts, or one of libcai's errors names what is at fault; or what a method
raised passes unchanged. Nothing of a case is kept.
"""

import ctypes
import faulthandler
import gc
import os
import random
import sys
import warnings

import judging
import numpy as np
from helpers import Host
from judging import Maker, facts_of
from oracle import Judge

import libcai
import libcai.cffi
from libcai.cffi import ffi, lib

BATCH = 200  # cases, after which nothing may be left of them
KEPT_BYTES = 48  # of the C heap, for each case, that are no block of libcai's for each
OTHER = np.arange(6, dtype="f4")
OWN_ERRORS = (
    RuntimeError,
    ZeroDivisionError,
    TypeError,
    ValueError,
    KeyError,
    AttributeError,
    StopIteration,
    RecursionError,
    KeyboardInterrupt,
    GeneratorExit,
)

alive = 0  # of the objects made here
case = last = None  # the one that is played; and the last one


class Case:
    def __init__(self, number):
        self.number = number
        self.random = random.Random(-1 - number)
        self.raised = []  # by the producer
        self.unsure = False  # what is read depends on when
        self.depth = 0
        self.reading = False
        self.containers = []
        self.exporter = None
        self.verdict = "nothing"

    def chance(self, of):
        return self.random.random() < of

    # ---- What methods do

    def act(self):
        """Whatever a method may do before it answers."""
        if not self.reading or self.depth > 2:
            return
        self.depth += 1
        try:
            self.random.choice(
                (self.raise_own, self.read_other, self.read_again, self.change, young_collected)
                + (lambda: None,) * 5
            )()
        finally:
            self.depth -= 1

    def raise_own(self):
        if self.chance(0.5):
            return
        self.raised.append(self.random.choice(OWN_ERRORS)("mine"))
        raise self.raised[-1]

    def read_other(self):
        assert libcai.asarray(OTHER).shape == (6,)
        value = {"shape": (2, 3), "typestr": "<i2", "data": (4096, True), "version": 3}
        if self.chance(0.5):  # with other keys, in another order
            value = {"strides": (6, 2), "mask": None, "descr": None, **value}
        assert libcai.asarray(Host(value)).strides == (6, 2)
        assert libcai.cffi.array_from(Host(value)).shape[1] == 3

    def read_again(self):
        if self.exporter is not None:
            with_errors_ignored(self.random.choice(READERS), self.exporter, False)
            self.unsure = self.unsure or bool(self.raised)

    def change(self):
        if not self.containers:
            return
        container = self.random.choice(self.containers)
        self.unsure = True
        how = self.random.randrange(4)
        if isinstance(container, dict):
            if how == 0:
                dict.clear(container)
            elif how == 1:
                dict.pop(container, self.random.choice(("shape", "data", "descr")), None)
            else:
                dict.update(container, {str(n): n for n in range(how * 100)}, shape=(how,))
        elif how == 0:
            list.clear(container)
        elif how == 1:
            list.extend(container, [1] * 1000)
        else:
            list.__setitem__(container, slice(0, how - 2), [None, "x", 2**70])

    def lie(self):
        self.act()
        return self.random.choice((None, 5, -1, "lie", b"\xff", (), [], 1 << 70, NotImplemented))

    # ---- What there is to read

    def disguised(self, value):
        """The value as it is given, and as the oracle may read it."""
        odd = self.chance(0.2)
        if isinstance(value, str):
            return (Text(value), judging.Str(value)) if odd else (value, value)
        if isinstance(value, int) and not isinstance(value, bool):
            if odd and self.chance(0.5):
                return Index(value), judging.Index(int(value))
            return (Int(value), judging.Int(value)) if odd else (value, value)
        if isinstance(value, judging.Index):
            return Index(value.value), value
        if isinstance(value, (tuple, list)):
            pairs = [self.disguised(item) for item in value]
            given, model = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
            plain = type(value) in (tuple, list) and not odd
            if isinstance(value, tuple):
                return (tuple(given), tuple(model)) if plain else (Row(given), judging.Tuple(model))
            given, model = (given, model) if plain else (Rows(given), judging.List(model))
            self.containers.append(given)
            return given, model
        if isinstance(value, dict):
            pairs = {key: self.disguised(item) for key, item in value.items()}
            given = {self.key(key): pair[0] for key, pair in pairs.items()}
            model = {key: pair[1] for key, pair in pairs.items()}
            plain = type(value) is dict and not odd
            given, model = (given, model) if plain else (Table(given), judging.Dict(model))
            self.containers.append(given)
            return given, model
        if isinstance(value, (judging.Cuda, judging.Host)):
            given, model = self.disguised(value._interface)
            return (CudaExporter, HostExporter)[isinstance(value, Host)](given), type(value)(model)
        return value, value

    def key(self, key):
        return Key(key) if type(key) is str and self.chance(0.1) else key


def young_collected():
    gc.collect(0)


class Counted:
    """Says how many objects there are; some read an array when they end."""

    def __new__(cls, *arguments):
        global alive
        alive += 1
        return super().__new__(cls, *arguments)

    def __del__(self):
        global alive
        alive -= 1
        if alive % 16 == 0:
            libcai.asarray(OTHER)


def lying(*names):
    """A class decorator: these methods return wrong values."""

    def decorate(cls):
        for name in names:
            setattr(cls, name, lambda self, *_, **__: case.lie())
        return cls

    return decorate


COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
PRINTING = ("__str__", "__repr__", "__format__")
ITEMS = ("__len__", "__iter__", "__getitem__", "__contains__", "__reversed__", "index", "count")


@lying(*COMPARISONS, *PRINTING, *ITEMS, "encode", "isascii", "__hash__", "__bool__")
class Text(Counted, str):
    pass


@lying(*COMPARISONS, *PRINTING, "__index__", "__int__", "__bool__", "__hash__", "bit_length")
class Int(Counted, int):
    pass


@lying(*COMPARISONS, *PRINTING, *ITEMS, "__hash__", "__add__")
class Row(Counted, tuple):
    pass


@lying(*COMPARISONS, *PRINTING, *ITEMS, "copy", "append")
class Rows(Counted, list):
    pass


@lying(*COMPARISONS, *PRINTING, *ITEMS, "get", "keys", "items", "values", "copy", "__missing__")
class Table(Counted, dict):
    pass


class Key(Counted, str):
    """Equal to the str that it is, but only after it has meddled."""

    def __eq__(self, other):
        if case is not None:
            case.act()
        return str.__eq__(self, other)

    __hash__ = str.__hash__


@lying(*PRINTING, *COMPARISONS)
class Index(Counted):
    def __new__(cls, value):
        self = super().__new__(cls)
        self.value = value
        return self

    def __index__(self):
        case.act()
        return self.value


@lying(*PRINTING, *COMPARISONS, "__len__", "__bool__")
class Exporter(Counted):
    def __new__(cls, value):
        self = super().__new__(cls)
        self.value = value
        return self

    @property
    def interface(self):
        case.act()
        return self.value

    @property
    def dtype(self):
        case.act()
        return case.random.choice((None, 5, Text("nothing"), Row("ab")))


class CudaExporter(Exporter):
    __cuda_array_interface__ = Exporter.interface


class HostExporter(Exporter):
    __array_interface__ = Exporter.interface


# ---- The readers, each as facts that the oracle has, too


def by_asarray(exporter, strict):
    return facts_of(libcai.asarray(exporter, strict=strict))


def by_interface(exporter, strict):
    host = isinstance(exporter, HostExporter)
    value = exporter.value
    return facts_of(libcai.from_interface(value, owner=exporter, strict=strict, host=host))


def by_cffi(exporter, strict):
    array = libcai.cffi.array_from(exporter, strict=strict)
    layout = ffi.new("cai_layout *")
    assert lib.cai_array_layout(array, layout, ffi.NULL) == 0
    return {
        "shape": tuple(array.shape[i] for i in range(array.ndim)),
        "strides": tuple(array.strides[i] for i in range(array.ndim)),
        "kind": chr(array.dtype.kind),
        "itemsize": array.dtype.itemsize,
        "data": array.data,
        "version": array.version,
        "readonly": bool(array.flags & lib.CAI_FLAG_READONLY),
        "nbytes": layout.nbytes,
        "extent": (layout.lo, layout.hi),
    }


def by_use(exporter, strict):
    """For host arrays: a GPU's would need a driver."""
    if strict or isinstance(exporter, CudaExporter):
        return by_asarray(exporter, strict)
    with libcai.use(exporter, stream=1, access="read"):
        return {}


READERS = (by_asarray, by_asarray, by_interface, by_cffi, by_use)


def with_errors_ignored(read, *arguments):
    try:
        read(*arguments)
    except BaseException:  # what it was is the outer reader's affair, or nobody's
        return


def play(number):
    """None, or what is wrong with how a case was read."""
    global case, last
    maker = Maker(number)
    value = maker.value()
    last = case = Case(number)
    given, model = case.disguised(value)
    strict = case.chance(0.3)
    judge = Judge(model, strict, maker.host)
    exporter = (HostExporter if maker.host else CudaExporter)(given)
    case.exporter = exporter
    case.reading = True
    read = case.random.choice(READERS)
    name = f"{read.__name__}{' strictly' if strict else ''}"
    try:
        facts = read(exporter, strict)
    except BaseException as error:
        case.reading = False
        said = judged_error(error, judge)
        case.verdict = f"{name}: {type(error).__name__} {getattr(error, 'entry', '')}".strip()
    else:
        case.reading = False
        said = judged_facts(facts, judge)
        case.verdict = f"{name}: taken"
    case.exporter = None
    return said and (name, *said)


def judged_error(error, judge):
    if any(error is mine for mine in case.raised):
        return None
    if not isinstance(error, libcai.Error):
        return f"{type(error).__name__} is nobody's: {error}", f"raised: {case.raised}"
    text = str(error)
    if not text or len(text) > 400:
        return "the message is", text
    if case.unsure or case.raised:
        return None
    if not isinstance(error, (libcai.InterfaceError, libcai.InterfaceTypeError)):
        return f"{type(error).__name__}: {text}", "is none of a reader's"
    if error.entry in judge.faults and error.entry in text:
        return None
    return f"libcai refuses {error.entry}: {text}", f"the oracle: {judge.faults or 'taken'}"


def judged_facts(facts, judge):
    if case.unsure or case.raised:
        return None
    if judge.faults:
        return "libcai takes it", f"the oracle refuses {judge.faults}"
    for name, fact in facts.items():
        if fact != judge.facts.get(name):
            return f"libcai: {name} {fact!r}", f"the oracle: {judge.facts.get(name)!r}"
    return None


# ---- Many of them


class Heap(ctypes.Structure):
    """glibc's mallinfo2."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                     "uordblks", "fordblks", "keepcost")
    )  # fmt: skip


mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Heap


def clean_up():
    global case, last
    case = last = None
    gc.collect()
    libcai.drain(True)
    libcai.cffi._look()
    gc.collect()


def play_many(first, count, play=play, clean_up=clean_up, left=lambda: alive):
    """Plays cases, and writes each number to the descriptor HOSTILE_AT, for the parent."""
    faulthandler.enable()
    gc.freeze()  # what has been imported is not looked at again and again
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda _: None  # of __del__ and the collector
    at = int(os.environ.get("HOSTILE_AT", "-1"))
    found = 0
    heap = None
    for number in range(first, first + count):
        if at >= 0:
            os.pwrite(at, b"%-20d" % number, 0)
        said = play(number)
        if said is not None:
            found += 1
            print(number, *said, sep=" | ")
        done = number - first + 1
        if done % BATCH == 0 or done == count:
            clean_up()
            if left():
                found += 1
                print(f"{left()} objects are left after case {number}")
            if done == 10 * BATCH:  # whatever is kept once has been
                heap = mallinfo().uordblks
    if heap is not None and count > 10 * BATCH:
        grown = mallinfo().uordblks - heap
        if grown > KEPT_BYTES * (count - 10 * BATCH) + (256 << 10):
            found += 1
            print(f"the heap has {grown} bytes more after {count} cases")
    print(f"{found} faults in {count} cases")
    return 1 if found else 0


def main(first, count=None):
    if count is None:
        print(play(first), "raised:", case.raised, "unsure:", case.unsure)
        return 0
    return play_many(first, count)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
