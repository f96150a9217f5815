# SPDX-License-Identifier: BSD-3-Clause
"""A second reader of the interface, written from the two texts alone: version 3 of the CUDA Array
Interface, and NumPy's array interface, to which it refers for typestr, descr and mask.

It collects every entry at fault, where libcai may end at the first. Whatever the texts do not say
is looked up in `CHOICES`, and nowhere else.
"""

import re
import sys
from operator import index as integer_of
from typing import NamedTuple

STRICT, LENIENT = True, False


class Choice(NamedTuple):
    """Whether something is taken, by each mode, and why. Strict reading is for producers, who can
    say it better; lenient reading takes what can only mean one thing."""

    strict: bool
    lenient: bool
    reason: str


NATIVE = "<" if sys.byteorder == "little" else ">"

# Where the texts say nothing, or a mode must be lenient.
CHOICES = {
    "dict subclass": Choice(False, True, "the text says dict; whose dict it is changes nothing"),
    "mapping": Choice(False, True, "versions 0 and 1 of the text said dictionary-like"),
    "version 0 to 2": Choice(False, True, "strict reading is of version 3; all others can be told"),
    "version above 3": Choice(False, False, "what it changes is not known, and a wrong guess reads "
                              "wrong memory. NumPy's text asks not to refuse it, CAI's does not"),
    "integer by __index__": Choice(False, True, "NumPy's integers mean what they are"),
    "bool for an integer": Choice(False, False, "True is a mistake for a size more likely than 1"),
    "tuple subclass": Choice(False, True, "a named tuple is a tuple; some ask for the class"),
    "list for a tuple": Choice(False, True, "JSON has no tuples; the items are the same"),
    "list subclass": Choice(True, True, "a subclass of list is a list"),
    "str subclass": Choice(False, True, "NumPy's str_ is a str; likewise"),
    "more than 64 dimensions": Choice(False, False, "NumPy has 64; more is more likely garbage"),
    "size over 63 bits": Choice(False, False, "no memory is that large; products would wrap"),
    "extents of an empty array over 63 bits": Choice(
        False, False, "NumPy refuses them: leaving an axis out must not overflow"),
    "extent over 63 bits": Choice(False, False, "an offset in memory is a signed 64-bit integer"),
    "stride over 64 bits": Choice(False, False, "likewise, even where it is never used"),
    "memory beyond 64 bits": Choice(False, False, "an address that does not exist"),
    "address of an empty array": Choice(False, True, "the text says 0; it is not used"),
    "address None of an empty array": Choice(False, True, "older producers; it is not used"),
    "flag of 0 or 1": Choice(False, True, "C's bool; any other number is not certain"),
    "NumPy's bool": Choice(False, False, "its class is no bool, and its repr changes"),
    "no byte order": Choice(False, True, "NumPy takes it for the host's"),
    "'|' on several bytes": Choice(False, True, "NumPy takes it for the host's"),
    "zeros before a number": Choice(False, True, "NumPy takes them; the number is certain"),
    "no bytes": Choice(False, False, "an item of 0 bytes has no address of its own"),
    "item over 2**32 - 1 bytes": Choice(False, False, "NumPy's end at 2**31 - 1"),
    "float of 12 bytes": Choice(False, False, "80 bits, padded as on 32-bit machines alone"),
    "step over 2**31 - 1": Choice(False, False, "NumPy has none"),
    "step 0": Choice(False, False, "a tick that takes no time"),
    "objects": Choice(False, False, "a pointer to a PyObject means nothing elsewhere"),
    "bits in data": Choice(False, False, "an axis of bits has no stride in bytes"),
    "bits but one": Choice(False, False, "a field of several bits has no item size"),
    "descr None": Choice(True, True, "as the other optional entries, which may be None"),
    "tuple for the list of descr": Choice(False, False, "a tuple is a field there"),
    "list for a field": Choice(False, True, "JSON; a list of lists can be nothing else"),
    "int for the shape of a field": Choice(False, True, "NumPy takes it for the tuple of it"),
    "extent 0 in a field": Choice(True, True, "NumPy takes it: a part that comes no time"),
    "field that names a type": Choice(
        True, True, "[('bfloat16', '<V2')]: the type that a typestr cannot say, and no field"),
    "field that names a type in the other byte order": Choice(
        True, True, "the type has one order only, so that its bytes in the other are but bytes"),
    "name twice": Choice(False, False, "NumPy refuses it: which field is meant?"),
    "NUL in a name": Choice(False, False, "C would see another name"),
    "name that is no UTF-8": Choice(False, False, "no C string says it"),
    "descr deeper than 64": Choice(False, False, "more likely a list that holds itself"),
    "mask of text, time or fields": Choice(False, False, "which of them are true is not said"),
    "strides of bits": Choice(False, False, "no stride in bytes reaches a bit"),
    "mask of another mask": Choice(False, False, "is what the mask says invalid valid?"),
    "offset": Choice(False, False, "only for a buffer as data, which has no address here"),
    "offset None": Choice(False, False, "the text says integer; NumPy refuses it"),
    "buffer as data": Choice(False, False, "an object's buffer is taken by the buffer protocol"),
}  # fmt: skip

SIZES = {
    "b": (1,),
    "i": (1, 2, 4, 8),
    "u": (1, 2, 4, 8),
    "f": (2, 4, 8, 12, 16),
    "c": (8, 16, 24, 32),
    "m": (8,),
    "M": (8,),
}
UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")
TYPESTR = re.compile(
    r"([<>|=]?)([tbiufcmMOSUV])([0-9]*)(?:\[([0-9]*)([A-Za-z]+)\])?", re.ASCII | re.DOTALL
)
FLOAT8 = ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e4m3", "e3m4", "e4m3b11fnuz", "e8m0fnu")
EXTENSIONS = [("bfloat16", "|V2"), *((f"float8_{name}", "|V1") for name in FLOAT8)]
MISSING = object()


class Type(NamedTuple):
    kind: str
    byteorder: str  # "|" where it does not matter
    itemsize: int
    unit: str  # as it is printed

    @property
    def typestr(self):
        number = self.itemsize // 4 if self.kind == "U" else self.itemsize
        return f"{self.byteorder}{self.kind}{number}{self.unit}"


class Refused(Exception):
    """An entry that nothing more can be said of."""


class Judge:
    """Reads one dict. `faults` are the entries that are wrong; without any, `facts` hold."""

    def __init__(self, value, strict, host=False, is_mask=False):
        self.strict = strict
        self.host = host
        self.is_mask = is_mask
        self.name = "__array_interface__" if host else "__cuda_array_interface__"
        self.faults = set()
        self.facts = {}
        self.is_other_order = False  # as a typestr of bytes says, for which it means nothing
        self.entry = "interface"
        try:
            self.dict = self.entries_of(value)
        except Refused:
            return
        self.read()

    # ---- How a verdict is come to

    def wrong(self):
        self.faults.add(self.entry)
        raise Refused

    def need(self, condition):
        if not condition:
            self.wrong()

    def choose(self, choice):
        strict, lenient, _ = CHOICES[choice]
        self.need(strict if self.strict else lenient)

    def part(self, entry, function, *arguments):
        """The result of `function` for an entry, or None if the entry is at fault."""
        self.entry = entry
        try:
            return function(self.dict.get(entry, MISSING), *arguments)
        except Refused:
            return None

    # ---- Values

    def entries_of(self, value):
        if not isinstance(value, dict):
            self.need(hasattr(value, "keys") and hasattr(value, "__getitem__"))
            self.choose("mapping")
            return dict(value)
        if type(value) is not dict:
            self.choose("dict subclass")
        return {key: dict.get(value, key) for key in dict.keys(value)}

    def integer(self, value):
        if type(value) is int:
            return value
        if isinstance(value, bool):
            self.choose("bool for an integer")
        if type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):
            self.choose("NumPy's bool")
        self.need(hasattr(type(value), "__index__"))
        self.choose("integer by __index__")
        return int(integer_of(value))

    def tuple(self, value):
        if isinstance(value, list):
            self.choose("list for a tuple")
        elif type(value) is not tuple:
            self.need(isinstance(value, tuple))
            self.choose("tuple subclass")
        return tuple(value)

    def text(self, value):
        if type(value) is not str:
            self.need(isinstance(value, str))
            self.choose("str subclass")
        return str.__str__(value)

    # ---- Entries

    def read(self):
        version = self.part("version", self.version)
        shape = self.part("shape", self.shape)
        dtype = self.part("typestr", self.typestr)
        if dtype is not None:
            self.part("typestr", self.dtype_may_be_data, dtype)
        strides = self.part("strides", self.strides, shape, dtype)
        self.part("data", self.data, shape, dtype, strides)
        self.part("descr", self.descr, dtype)
        if not self.host:
            self.part("stream", self.stream, version)
        else:
            self.facts.update(stream=None, stream_kind="none")
            self.part("offset", self.offset)
        self.part("mask", self.mask, shape)

    def version(self, value):
        self.need(value is not MISSING)
        version = self.integer(value)
        self.need(version >= 0)
        if version > 3:
            self.choose("version above 3")
        elif version < 3:
            self.choose("version 0 to 2")
        self.facts["version"] = version
        return version

    def shape(self, value):
        self.need(value is not MISSING)
        extents = [self.integer(item) for item in self.tuple(value)]
        self.need(all(extent >= 0 for extent in extents))
        if len(extents) > 64:
            self.choose("more than 64 dimensions")
        if any(extent >= 1 << 63 for extent in extents):
            self.choose("size over 63 bits")
        self.facts["shape"] = tuple(extents)
        return extents

    def typestr(self, value):
        self.need(value is not MISSING)
        return self.type_of(self.text(value))

    def type_of(self, text):
        found = TYPESTR.fullmatch(text)
        self.need(found)
        order, kind, digits, step, unit = found.groups()
        if kind == "O":
            self.choose("objects")
        self.need(unit is None or kind in "mM")
        self.need(digits)
        for number in (digits, step):
            if number and len(number) > 1 and number[0] == "0":
                self.choose("zeros before a number")
        number = int(digits)
        size = 4 * number if kind == "U" else number
        if size == 0:
            self.choose("no bytes")
        if size >= 1 << 32:
            self.choose("item over 2**32 - 1 bytes")
        if (kind, size) in (("f", 12), ("c", 24)):
            self.choose("float of 12 bytes")
        self.need(size in SIZES.get(kind, (size,)))
        if kind == "t" and number != 1:
            self.choose("bits but one")
        matters = kind not in "tbSV" and size > 1
        if order in ("", "="):
            self.choose("no byte order")
        elif order == "|" and matters:
            self.choose("'|' on several bytes")
        if order not in ("<", ">"):
            order = NATIVE
        elif order != NATIVE and kind == "V" and number > 1:
            self.is_other_order = True
        return Type(kind, order if matters else "|", size, self.unit_of(step, unit))

    def unit_of(self, step, unit):
        if unit is None:
            return ""
        self.need(unit in UNITS)
        ticks = int(step or 1)
        if ticks == 0:
            self.choose("step 0")
        if ticks >= 1 << 31:
            self.choose("step over 2**31 - 1")
        return f"[{ticks if ticks > 1 else ''}{unit}]"

    def dtype_may_be_data(self, _, dtype):
        if dtype.kind == "t" and not self.is_mask:
            self.choose("bits in data")
        if self.is_mask and dtype.kind not in "tbiufc":
            self.choose("mask of text, time or fields")
        self.facts.update(
            typestr=dtype.typestr,
            kind=dtype.kind,
            byteorder=dtype.byteorder,
            itemsize=dtype.itemsize,
        )

    def strides(self, value, shape, dtype):
        given = None
        if value is not None and value is not MISSING:
            given = [self.integer(item) for item in self.tuple(value)]
            if not all(-(1 << 63) <= stride < 1 << 63 for stride in given):
                self.choose("stride over 64 bits")
            self.need(shape is None or len(given) == len(shape))
        if shape is None or dtype is None:
            return None
        if dtype.kind == "t" and given is not None:
            self.choose("strides of bits")
        strides = given
        if given is None:
            strides, step = [], dtype.itemsize
            for extent in reversed(shape):
                strides.insert(0, step)
                step *= extent or 1  # as NumPy steps in an array without elements
        self.facts.update(strides=tuple(strides), strides_given=given is not None)
        self.layout(shape, strides, dtype)
        return strides

    def layout(self, shape, strides, dtype):
        size = 1
        for extent in shape:
            size *= extent
        nbytes = (size + 7) // 8 if dtype.kind == "t" else size * dtype.itemsize
        nonempty = dtype.itemsize
        for extent in shape:
            nonempty *= extent or 1
        self.entry = "shape"
        if nbytes >= 1 << 63:
            self.choose("size over 63 bits")
        elif nonempty >= 1 << 63:
            self.choose("extents of an empty array over 63 bits")
        self.entry = "strides"
        lo = hi = 0
        if size and dtype.kind == "t":
            hi = nbytes
        elif size:
            reach = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
            lo = sum(step for step in reach if step < 0)
            hi = sum(step for step in reach if step > 0) + dtype.itemsize
        if hi - lo >= 1 << 63:
            self.choose("extent over 63 bits")
        self.facts.update(
            size=size,
            nbytes=nbytes,
            extent=(lo, hi),
            c_contiguous=self.contiguous(shape, strides, dtype.itemsize, -1),
            f_contiguous=self.contiguous(shape, strides, dtype.itemsize, 1),
        )

    @staticmethod
    def contiguous(shape, strides, step, direction):
        if 0 in shape:
            return True
        for extent, stride in list(zip(shape, strides, strict=True))[::direction]:
            if extent != 1 and stride != step:
                return False
            step *= extent
        return True

    def data(self, value, shape, dtype, strides):
        self.need(value is not MISSING and value is not None)
        if hasattr(value, "__buffer__") or isinstance(value, (bytes, bytearray, memoryview)):
            self.choose("buffer as data")
        pair = self.tuple(value)
        self.need(len(pair) == 2)
        address, flag = pair
        empty = shape is not None and 0 in shape
        if address is None:
            self.need(empty or shape is None)
            self.choose("address None of an empty array")
            address = 0
        address = self.integer(address)
        self.need(0 <= address < 1 << 64)
        if type(flag) is not bool:
            flag = self.integer(flag)
            self.need(flag in (0, 1))
            self.choose("flag of 0 or 1")
        self.facts["readonly"] = bool(flag)
        if empty:
            if address and not self.host:  # NumPy's text does not ask for 0
                self.choose("address of an empty array")
            address = 0
        elif shape is not None:
            self.need(address)
            if "extent" in self.facts:
                lo, hi = self.facts["extent"]
                if address + lo < 0 or address + hi > 1 << 64:
                    self.choose("memory beyond 64 bits")
        self.facts["data"] = address

    def stream(self, value, version):
        if value is MISSING or value is None:
            # These versions have no such entry: a None means no more than its absence.
            unstated = version is not None and version < 3
            self.facts.update(stream=None, stream_kind="unstated" if unstated else "none")
            return
        stream = self.integer(value)
        self.need(0 <= stream < 1 << 64)
        if stream == 0:
            self.need(not self.strict)  # disallowed; but it is the legacy stream that is meant
            stream = 1
        self.facts.update(stream=stream, stream_kind="stream")

    def offset(self, value):
        if value is MISSING:
            return
        if value is None:
            self.choose("offset None")
        elif self.integer(value) != 0:
            self.choose("offset")

    def mask(self, value, shape):
        self.facts["mask"] = None
        if value is MISSING or value is None:
            return
        if self.is_mask:
            self.choose("mask of another mask")
        self.need(not isinstance(value, type))
        inner = getattr(value, self.name, MISSING)
        self.need(inner is not MISSING)
        judge = Judge(inner, self.strict, self.host, is_mask=True)
        self.need(not judge.faults)
        if shape is not None:
            self.need(broadcasts(judge.facts["shape"], shape))
        self.facts["mask"] = judge.facts

    # ---- descr

    def descr(self, value, dtype):
        self.facts["descr"] = [("", dtype.typestr)] if dtype is not None else None
        if value is MISSING:
            return
        if value is None:
            self.choose("descr None")
            return
        fields, size = self.fields(value, 1)
        if dtype is None:
            return
        if dtype.kind == "t":
            size = 0
        self.need(size == dtype.itemsize)
        if len(fields) == 1 and fields[0] in EXTENSIONS and dtype.kind == "V":
            if self.is_other_order:
                self.choose("field that names a type in the other byte order")
                return
            self.choose("field that names a type")
            typestr = f"{NATIVE}V2" if dtype.itemsize == 2 else "|V1"
            self.facts.update(typestr=typestr, descr=[("", typestr)])
            return
        self.facts["descr"] = fields

    def fields(self, value, depth):
        """The fields of a list, canonically, and how many bytes they fill."""
        if depth > 64:
            self.choose("descr deeper than 64")
        if not isinstance(value, list):
            self.need(isinstance(value, tuple))
            self.choose("tuple for the list of descr")
        elif type(value) is not list:
            self.choose("list subclass")
        made, size, names = [], 0, set()
        for item in list(value):
            if isinstance(item, list):
                self.choose("list for a field")
            elif type(item) is not tuple:
                self.need(isinstance(item, tuple))
                self.choose("tuple subclass")
            parts = tuple(item)
            self.need(len(parts) in (2, 3))
            name, keys = self.field_name(parts[0])
            for key in keys:
                if key in names:
                    self.choose("name twice")
                names.add(key)
            if isinstance(parts[1], (list, tuple)):
                kind, nbytes = self.fields(parts[1], depth + 1)
                if nbytes == 0:
                    self.choose("no bytes")
            else:
                dtype = self.type_of(self.text(parts[1]))
                if dtype.kind == "t":
                    self.choose("bits in data")
                kind, nbytes = dtype.typestr, dtype.itemsize
            field = (name, kind)
            if len(parts) == 3:
                repeats = self.repeats(parts[2])
                for extent in repeats:
                    nbytes *= extent
                if repeats:
                    field = (*field, repeats)
            size += nbytes
            made.append(field)
        return made, size

    def repeats(self, value):
        if isinstance(value, (tuple, list)):
            extents = [self.integer(item) for item in self.tuple(value)]
        else:
            extents = [self.integer(value)]
            self.choose("int for the shape of a field")
        self.need(all(extent >= 0 for extent in extents))
        if 0 in extents:
            self.choose("extent 0 in a field")
        if len(extents) > 64:
            self.choose("more than 64 dimensions")
        return tuple(extents)

    def field_name(self, value):
        """A field's name as it is kept, and by what it is found: its title, too."""
        if isinstance(value, (tuple, list)):
            title, name = self.pair(value)
            return (title, name), [title, name] if name else [title]
        name = self.name_text(value)
        return name, [name] if name else []

    def pair(self, value):
        parts = self.tuple(value)
        self.need(len(parts) == 2)
        return [self.name_text(part) for part in parts]

    def name_text(self, value):
        text = self.text(value)
        if "\0" in text:
            self.choose("NUL in a name")
        try:
            text.encode()
        except UnicodeEncodeError:
            self.choose("name that is no UTF-8")
        return text


def broadcasts(shape, to):
    """NumPy's rule, which the mask's text names: from the last axis on, equal or 1."""
    return len(shape) <= len(to) and all(
        extent in (1, other) for extent, other in zip(shape[::-1], to[::-1], strict=False)
    )
