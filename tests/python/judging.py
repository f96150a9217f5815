# SPDX-License-Identifier: BSD-3-Clause
"""Random dicts, read by libcai and by the oracle, strict and lenient: what they disagree on.

usage: judging.py FIRST COUNT    judges so many dicts, numbered from FIRST on
       judging.py NUMBER         shows one of them, and what is said of it

A number stands for the same dict as long as this file does not change.
"""

import random
import string
import sys
import warnings
from collections import OrderedDict, UserDict
from types import MappingProxyType

import numpy as np
from helpers import ADDRESS, Cuda, Host
from oracle import Judge

import libcai

NUMBERS = [2**n + d for n in (31, 32, 53, 62, 63, 64) for d in (-1, 0)]
EDGES = [0, 1, 2, 3, 7, 8, 64, -1, -4, *NUMBERS, -(2**31), -(2**63), -(2**63) - 1, 10**30]
TYPESTRS = """
    |b1 |u1 |i1 <i1 >u1 <u2 >i2 <i4 <u4 <i8 >u8 <f2 <f4 >f4 <f8 <f16 <f12 <c8 >c8 <c16 <c32 <m8
    <M8[ns] <m8[us] >M8[25s] <M8[D] <U4 >U1 |S5 <S3 |V3 <V2 >V2 >V16 |V1 |V8 |V16 |V516
""".split()  # noqa: SIM905
ODD_TYPESTRS = """
    < f 4 f4 =f4 |f4 |i8 |U2 =U2 @f4 #f4 !f4 <f3 <f0 <f10 <i16 <u3 <b2 <c4 <c24 <f04 <V0 |S0 <U0 |O
    |O8 |t1 <t1 |t8 t1 |t <f99999999999 |V2147483647 |V2147483648 |V4294967295 |V4294967296
    <U536870911 <U536870912 <M8[xx] <M8[] <M8[s <M8s] <M8[1s] <M8[07us] <M8[0s] <M8[2147483647s]
    <M8[2147483648s] <M8[s/4] <M8[generic] <M <M8[ns]x <M4[ns] <M8[μs] <f4[ns] <m8[as] <m8[Y]
    |M8[s] M8[s] <f\uff14 <F4 <? <V <V00000000000000000000000000016 +f4 <f+4 <f-4 <f4.0 <f4e0
""".split()  # noqa: SIM905
ODD_TYPESTRS += ["", "<f4 ", " <f4", "<f4\0", "\ud800"]
ODD_NAMES = [None, 5, b"a", (), ("t",), ("t", "n", "o"), ["t", "n"], ("t", 5), ("", ""), ("t", "")]
ODD_NAMES += ["a\0", "\udc80", "a"]
LETTERS = "<>|=@tbiufcmMOSUV0123456789[]nsYDhu /é\0"
NAMES = ["a", "b", "c", "x", "f0", "", "", "a", "long " * 20, "π", "\ud800", "n\0n"]
TYPES = [("bfloat16", "<V2"), ("bfloat16", ">V2"), ("bfloat16", "|V2"), ("float8_e5m2", "|V1")]
TYPES += [("bfloat16", "|V1"), ("bfloat16", "<u2")]


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Int(int):
    pass


class Str(str):
    __slots__ = ()


class Tuple(tuple):
    __slots__ = ()


class List(list):
    pass


class Dict(dict):
    pass


class Maker:
    """Makes the dict of a number."""

    def __init__(self, number):
        self.random = random.Random(number)
        self.host = self.chance(0.15)

    def chance(self, of):
        return self.random.random() < of

    def any_of(self, items):
        return self.random.choice(items)

    def extent(self):
        return self.any_of((1, 1, 2, 2, 3, 4, 5, 7, 16)) if self.chance(0.97) else 0

    def shape(self):
        most = 4 if self.chance(0.95) else 66
        return tuple(self.extent() for _ in range(self.random.randint(0, most)))

    def itemsize(self, typestr):
        """Of a typestr that may be odd by now, too."""
        typestr = typestr if isinstance(typestr, str) else ""
        digits = "".join(c for c in typestr.split("[")[0] if c in string.digits)
        return int(digits or 1) * (4 if "U" in typestr else 1)

    def strides(self, shape, typestr):
        step = self.itemsize(typestr)
        kind = self.random.randrange(6)
        if kind == 5:
            return tuple(self.any_of((0, 1, 3, 4, 8, -4, 12, -16, 64, 100)) for _ in shape)
        made = []
        axes = shape[::-1] if kind < 4 else shape
        for extent in axes:
            sign = -1 if kind == 2 and self.chance(0.5) else 1
            made.append(0 if kind == 3 and self.chance(0.3) else sign * step)
            step = step * max(extent, 1) + (8 if kind == 1 and self.chance(0.3) else 0)
        return tuple(made[::-1] if kind < 4 else made)

    def interface(self, shape=None, typestr=None):
        shape = self.shape() if shape is None else shape
        typestr = typestr or self.any_of(TYPESTRS)
        made = {
            "shape": shape,
            "typestr": typestr,
            "data": (0 if 0 in shape else self.address(), self.chance(0.2)),
            "version": 3,
        }
        if self.chance(0.6):
            made["strides"] = self.strides(shape, typestr) if self.chance(0.7) else None
        if not self.host and self.chance(0.6):
            made["stream"] = self.any_of((None, None, 1, 2, 7, 2**64 - 1))
        if self.chance(0.15):
            self.describe(made)
        return made

    def lawful(self, shape):
        """A shape, unless it is odd."""
        tame = type(shape) is tuple and all(type(extent) is int for extent in shape)
        return shape if tame and all(0 <= extent < 1000 for extent in shape) else ()

    def address(self):
        if self.chance(0.95):
            return ADDRESS
        return self.any_of((1, 8, 64, 4096, 2**63, 2**64 - 1, 2**64 - 8, 2**64 - 64, 2**64 - 4096))

    def describe(self, made):
        descr = self.descr(0) if self.chance(0.95) else [self.any_of(TYPES)]
        if self.chance(0.9):
            fields, size = Sizes(descr), 0
            size = fields.total
            if size:
                made["typestr"] = f"|V{size}"
                if made.get("strides") is not None and self.chance(0.8):
                    made["strides"] = self.strides(self.lawful(made.get("shape")), made["typestr"])
        made["descr"] = descr

    def descr(self, depth):
        return [self.field(depth) for _ in range(self.any_of((1, 1, 1, 2, 2, 3, 5)))]

    def field(self, depth):
        name = self.any_of(NAMES[:8] if self.chance(0.97) else NAMES)
        if name and name in "abc" and self.chance(0.7):
            name += str(self.random.randrange(1000))
        if self.chance(0.1):
            name = (self.any_of(("title", "another", "a", "f0", "")), name)
        kind = self.descr(depth + 1) if depth < 4 and self.chance(0.2) else self.any_of(TYPESTRS)
        if self.chance(0.85):
            return (name, kind)
        shape = tuple(self.any_of((1, 2, 3, 3, 4)) for _ in range(self.random.randint(0, 2)))
        return (name, kind, shape)

    # ---- What may be wrong

    def odd_int(self, value):
        kind = self.random.randrange(12)
        if kind < 4:
            return self.any_of(EDGES)
        number = value if isinstance(value, int) else 1
        try:
            return (np.int64(number), Index(number), Int(number), bool(number), float(number),
                    str(number), None, np.bool_(number))[kind - 4]  # fmt: skip
        except OverflowError:
            return number + 1

    def odd_items(self, value):
        kind = self.random.randrange(10)
        if not isinstance(value, (tuple, list)):
            return (value,) if kind < 5 else self.any_of((None, (), 5, "12", {}, {1, 2}))
        if kind == 0:
            return list(value)
        if kind == 1:
            return Tuple(value)
        if kind == 2:
            return List(value)
        if kind == 3:
            return (*value, self.any_of((1, 4, None)))
        if kind == 4:
            return tuple(value[:-1])
        if kind == 5:
            return self.any_of((None, (), 0, 5, "12", b"12", {}, 1.5, value[:1], [value], (value,)))
        items = list(value)
        if items:
            place = self.random.randrange(len(items))
            items[place] = self.odd_int(items[place])
        return tuple(items) if kind < 9 else items

    def odd_text(self, value):
        kind = self.random.randrange(8)
        if not isinstance(value, str):
            return "<f4"
        if kind == 0:
            return Str(value)
        if kind == 1:
            return self.any_of(
                (value.encode("utf-8", "replace"), None, 4, float, bytearray(b"<f4"), ())
            )
        if kind < 4:
            return self.any_of(ODD_TYPESTRS)
        if kind == 4:
            return "".join(self.any_of(LETTERS) for _ in range(self.random.randint(0, 6)))
        letters = list(value)
        place = self.random.randint(0, len(letters))
        letters[place : place + self.random.randrange(2)] = self.any_of(LETTERS)
        return "".join(letters)

    def odd_descr(self, value):
        kind = self.random.randrange(8)
        if not isinstance(value, list) or not value:
            return self.any_of(
                ([("", "<f4")], None, {}, "<f4", (("a", "<f4"),), [], [()], 5, List())
            )
        if kind == 0:
            return self.any_of((None, tuple(value), List(value), value[:-1], [*value, value[0]]))
        place = self.random.randrange(len(value))
        parts = list(value[place])
        if kind == 1:
            made = self.any_of(
                (list(parts), Tuple(parts), tuple(parts[:1]), (*parts, (1,), (2,)), "a")
            )
        else:
            which = self.random.randrange(len(parts))
            if which == 0:
                parts[0] = self.odd_name(parts[0])
            elif which == 1 and isinstance(parts[1], list):
                parts[1] = self.odd_descr(parts[1])
            elif which == 1:
                parts[1] = self.odd_text(parts[1])
            else:
                parts[2] = self.odd_items(parts[2]) if self.chance(0.6) else self.odd_int(3)
            if len(parts) == 2 and self.chance(0.2):
                parts.append(
                    self.any_of(((), (3,), [3], 3, (0,), (2, -1), ("3",), None, (2**62, 8)))
                )
            made = tuple(parts)
        return [*value[:place], made, *value[place + 1 :]]

    def odd_name(self, name):
        return self.any_of((name, Str("a"), Tuple(("t", "n")), *ODD_NAMES))

    def mask(self, shape):
        kind = self.random.randrange(12)
        if kind == 0:
            return self.any_of((None, True, [], object(), Cuda, {"shape": (2, 3)}, Cuda(None)))
        inner = [
            extent if self.chance(0.8) else self.any_of((1, 1, extent, 0, 5)) for extent in shape
        ]
        inner = tuple(inner[self.random.randint(0, len(inner)) if self.chance(0.3) else 0 :])
        common = ("|b1", "|t1", "<f4", "|u1", "<c8", ">f8", "<i4")
        typestr = self.any_of(common if self.chance(0.9) else TYPESTRS)
        made = self.interface(inner, typestr)
        if typestr == "|t1" and self.chance(0.9):
            made.pop("strides", None)
        made.pop("descr", None) if self.chance(0.9) else None
        if kind == 1:
            self.change(made)
        if kind == 2 and self.chance(0.3):
            made["mask"] = self.any_of((None, Cuda(self.interface(inner, "|b1")), True))
        wrong = self.chance(0.02)
        return (Host if self.host != wrong else Cuda)(made)

    def change(self, made):
        """One mutation."""
        entry = self.any_of(
            ("shape", "shape", "typestr", "typestr", "typestr", "data", "data", "version",
             "strides", "strides", "descr", "descr", "stream", "offset", "mask", "missing",
             "unknown")
        )  # fmt: skip
        value = made.get(entry)
        if entry == "missing":
            made.pop(self.any_of(list(made)), None)
        elif entry == "unknown":
            made[self.any_of(("foo", "Shape", b"shape", 1, None, (), "mask ", Str("version")))] = 5
        elif entry in ("shape", "strides", "data"):
            made[entry] = self.odd_items(value)
        elif entry == "typestr":
            made[entry] = self.odd_text(value)
        elif entry == "descr":
            if not value:
                self.describe(made)
            else:
                made[entry] = self.odd_descr(value)
        elif entry == "mask":
            made[entry] = self.mask(self.lawful(made.get("shape")))
        elif entry == "version":
            made[entry] = self.any_of((0, 1, 2, 2, 4)) if self.chance(0.6) else self.odd_int(3)
        elif entry == "offset":
            made[entry] = self.any_of((0, None, 4, False, 0.0, -1, 2**70, np.int64(0)))
        else:
            made[entry] = self.odd_int(7)

    def value(self):
        """The value of the attribute."""
        made = self.interface()
        if self.chance(0.12):
            made["mask"] = self.mask(self.lawful(made["shape"]))
        for _ in range(self.any_of((0, 0, 1, 1, 1, 1, 2, 2, 3))):
            self.change(made)
        if self.chance(0.95):
            if self.chance(0.2):
                entries = list(made.items())
                self.random.shuffle(entries)
                made = dict(entries)
            return made
        forms = (
            Dict,
            OrderedDict,
            UserDict,
            MappingProxyType,
            lambda _: None,
            tuple,
            str,
            list,
            id,
        )
        return self.any_of(forms)(made)


class Sizes:
    """The bytes of the fields that a Maker makes, before anything is odd."""

    def __init__(self, descr):
        self.total = sum(map(self.of, descr))

    def of(self, field):
        size = (
            Sizes(field[1]).total if isinstance(field[1], list) else Maker.itemsize(None, field[1])
        )
        for extent in field[2] if len(field) == 3 else ():
            size *= extent
        return size


def facts_of(array):
    facts = {
        name: getattr(array, name)
        for name in (
            "version", "shape", "strides", "strides_given", "size", "nbytes", "itemsize", "kind",
            "byteorder", "typestr", "descr", "data", "readonly", "stream", "stream_kind", "extent",
            "c_contiguous", "f_contiguous",
        )
    }  # fmt: skip
    facts["mask"] = None if array.mask is None else facts_of(array.mask)
    return facts


def disagreement(number, strict, read=libcai.asarray, facts_of=facts_of):
    """None, or what the two readers say of a dict."""
    maker = Maker(number)
    value = maker.value()
    judge = Judge(value, strict, maker.host)
    try:
        facts = facts_of(read((Host if maker.host else Cuda)(value), strict=strict))
    except (libcai.InterfaceError, libcai.InterfaceTypeError) as error:
        if error.entry in judge.faults and error.entry in str(error):
            return None
        return f"libcai refuses {error.entry}: {error}", f"the oracle: {judge.faults or 'taken'}"
    if judge.faults:
        return "libcai takes it", f"the oracle refuses {judge.faults}"
    for name, fact in facts.items():
        if fact != judge.facts.get(name):
            return f"libcai: {name} {fact!r}", f"the oracle: {judge.facts.get(name)!r}"
    return None


def show(number):
    maker = Maker(number)
    value = maker.value()
    print("host" if maker.host else "cuda", value)
    mask = value.get("mask") if isinstance(value, dict) else None
    if isinstance(mask, (Cuda, Host)):
        print("its mask", vars(mask)["_interface"])


def main(first, count=None):
    warnings.simplefilter("ignore")  # NumPy's, of its bool as an index
    if count is None:
        show(first)
    found = 0
    for number in range(first, first + (count or 1)):
        for strict in (False, True):
            said = disagreement(number, strict)
            if said is not None:
                found += 1
                print(number, "strict" if strict else "lenient", *said, sep=" | ")
    print(f"{found} disagreements over {count or 1} dicts")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
