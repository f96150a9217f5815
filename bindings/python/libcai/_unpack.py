# SPDX-License-Identifier: BSD-3-Clause
"""Converts Python values to cai_value through cffi, as unpack.pxi and reading.pxi do in compiled
code.

It only unpacks; the C library judges.
"""

import operator
import sys
from collections.abc import Mapping

from libcai.errors import BufferError, InterfaceTypeError

CUDA_NAME = "__cuda_array_interface__"
HOST_NAME = "__array_interface__"

_FLAT_ITEMS = 256  # items of a shape and the like; a longer one is rejected for its length
_DESCR_LEVELS = 134  # two for each list within lists, more than CAI_MAX_DESCR_DEPTH
_DESCR_ITEMS = 1 << 19  # in total, enough for CAI_MAX_DESCR_FIELDS; a list may contain itself
_PRINTED_BITS = 512
_PRINTED_TEXT = 100
_MAX_LENGTH = (1 << 32) - 1
_ABSENT = object()


def _class_has(kind, name):
    """Whether it has an attribute that is not None; None means that it has none."""
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name] is not None
    return False


def _type_name(value):
    return f"<{type(value).__module__}.{type(value).__qualname__} object>".replace("builtins.", "")


def _describe(value):
    """The printed form of a value, shortened. It never prints an array: that may copy it from the
    GPU."""
    kind = type(value)
    if _class_has(kind, CUDA_NAME) or _class_has(kind, HOST_NAME):
        return _type_name(value)
    try:
        text = str.__str__(repr(value))
    except Exception:
        return _type_name(value)
    return text if len(text) <= _PRINTED_TEXT else text[: _PRINTED_TEXT - 3] + "..."


def attribute(obj, name, hidden=None):
    """Reads an attribute once; `_ABSENT` if there is none.

    An AttributeError raised by a property that the class has counts as absent, too; it is then
    appended to `hidden`. None counts as absent, too, unless a property returns it. For a class, the
    metaclass is searched.
    """
    in_class = _class_has(type(obj), name)
    if not in_class and isinstance(obj, type):
        return _ABSENT
    try:
        value = getattr(obj, name)
        return value if value is not None or in_class else _ABSENT
    except AttributeError as error:
        if in_class and hidden is not None:
            hidden.append(error)
        return _ABSENT


def find(obj):
    """Returns (host, value) of an object's interface."""
    hidden = []
    value = attribute(obj, CUDA_NAME, hidden)
    if value is not _ABSENT:
        if isinstance(obj, getattr(sys.modules.get("torch"), "Tensor", ())):
            refuse_lazy(obj)
        return False, value
    value = attribute(obj, HOST_NAME, hidden)
    if value is not _ABSENT:
        refuse_numpy(obj)
        return True, value
    if hidden:
        raise hidden[0]
    if isinstance(obj, type):
        for name in (CUDA_NAME, HOST_NAME):
            if _class_has(obj, name):
                raise InterfaceTypeError(
                    f"interface: {obj.__name__} is a class; its instances have {name}, pass one "
                    "of them",
                    "interface",
                    obj,
                )
    raise InterfaceTypeError(
        f"interface: the {type(obj).__name__} object has neither {CUDA_NAME} nor {HOST_NAME}",
        "interface",
        obj,
    )


def refuse_numpy(obj):
    """Refuses NumPy objects whose dict hides a problem: a temporary's address, a mask left out."""
    numpy = sys.modules.get("numpy")
    if isinstance(obj, getattr(numpy, "generic", ())):
        raise InterfaceTypeError(
            f"interface: {type(obj).__name__} is a NumPy scalar, whose {HOST_NAME} points to a "
            "temporary; pass numpy.asarray() of it",
            "interface",
            obj,
        )
    refuse_masked(obj)


def refuse_masked(obj):
    """Refuses NumPy's masked array: neither its dict nor its tensor nor its buffer has the mask."""
    ma = sys.modules.get("numpy.ma")
    if isinstance(obj, getattr(ma, "MaskedArray", ())) and ma.getmask(obj) is not ma.nomask:
        raise InterfaceTypeError(
            f"mask: a {type(obj).__name__} leaves its mask out of what it exports; pass its .data, "
            "or a dict with the mask, whose True means valid, to from_interface()",
            "mask",
            ma.getmask(obj),
        )


def refuse_lazy(tensor):
    """Refuses PyTorch tensors whose memory does not hold their values, or is shared."""
    if tensor.requires_grad:
        raise BufferError("a tensor that requires grad is not handed over: detach() it")
    if tensor.is_conj():
        raise BufferError("the tensor's conjugation is not in its memory: resolve_conj()")
    if tensor.is_neg():
        raise BufferError("the tensor's sign is not in its memory: resolve_neg()")


def dtype_name(obj):
    """The name of an object's ``dtype``, or None: it may tell the type of void bytes."""
    dtype = getattr(obj, "dtype", None)
    for name in (dtype, getattr(dtype, "name", None), getattr(dtype, "__name__", None)):
        if isinstance(name, str):
            return str.__str__(name)
    if type(dtype).__module__ == "torch":
        return str(dtype).removeprefix("torch.")
    return None


def is_float8_e5m2(obj, typestr, *descr):
    """Whether an object's dict has NumPy's typestr of ml_dtypes' float8_e5m2, which no other type
    has, and its dtype is of that name. A descr must say no more."""
    if type(typestr) is not str or typestr not in ("<f1", ">f1", "|f1"):
        return False
    return descr in ((), ([("", typestr)],)) and dtype_name(obj) == "float8_e5m2"


def is_numpy_bool(kind):
    """Before 2.3 it has `__index__`, with a warning."""
    return kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_")


def _get(mapping, name, default):
    """As dict.get(), since a Mapping's own get() may be anything."""
    try:
        return mapping[name]
    except KeyError:
        return default


class Unpacker:
    """Unpacks one interface. What its cdata points to lives as long as this object."""

    def __init__(self, ffi, lib):
        self._ffi = ffi
        self._lib = lib
        self._kept = []
        self._items_left = _DESCR_ITEMS
        self._items_limit = _FLAT_ITEMS
        self.entries = {}
        self.mask_holder = None

    def interface(self, value, host):
        """Returns a ``cai_interface *`` for the value of the attribute."""
        ours = self._fetch(value)
        self.entries = {**ours, "interface": value}
        out = self._unpack_entries(value, ours, host)
        mask = ours.get("mask")
        if mask is not None:
            self._unpack_mask(mask, host, out)
        return out

    def take_float8(self, interface, obj):
        """As take_float8() in core/reading.pxi."""
        descr = [self.entries["descr"]] if "descr" in self.entries else []
        if not is_float8_e5m2(obj, self.entries.get("typestr"), *descr):
            return False
        self._unpack("|V1", interface.typestr, 0)
        interface.descr = self._ffi.new("cai_value *")[0]
        return True

    def _fetch(self, value):
        """Takes all values of a dict, or of a mapping, at once."""
        if not isinstance(value, Mapping):
            return {}
        names = ("shape", "typestr", "data", "version", "strides", "stream", "descr", "mask")
        names += ("offset",)
        get = dict.get if isinstance(value, dict) else _get
        found = {name: get(value, name, _ABSENT) for name in names}
        self._kept.append(found)
        return {name: item for name, item in found.items() if item is not _ABSENT}

    def _unpack_entries(self, value, ours, host):
        lib = self._lib
        out = self._keep(self._ffi.new("cai_interface *"))
        out.struct_size = self._ffi.sizeof("cai_interface")
        out.protocol = lib.CAI_PROTOCOL_HOST if host else lib.CAI_PROTOCOL_CUDA
        if not isinstance(value, Mapping):
            self._unpack(value, out.dict, 1)
            return out
        if isinstance(value, dict):
            exact = type(value) is dict
            out.dict.form = lib.CAI_FORM_DICT if exact else lib.CAI_FORM_DICT_SUBCLASS
        else:
            out.dict.form = lib.CAI_FORM_MAPPING
            self._put_text(_describe(value), out.dict)
        for name, levels, index, index_items in (
            ("shape", 1, False, True),
            ("typestr", 0, False, False),
            ("data", 1, False, True),
            ("version", 0, True, False),
            ("strides", 1, False, True),
            ("offset" if host else "stream", 0, True, False),
            ("descr", _DESCR_LEVELS, False, True),
        ):
            if name in ours:
                self._items_limit = _DESCR_ITEMS if name == "descr" else _FLAT_ITEMS
                self._unpack(ours[name], getattr(out, name), levels, index, index_items)
        self._items_limit = _FLAT_ITEMS
        return out

    def _unpack_mask(self, mask, host, out):
        """The mask, one level deep: the mask of a mask is only reported as present."""
        name = HOST_NAME if host else CUDA_NAME
        value = attribute(mask, name)
        if value is _ABSENT:
            self._unpack(mask, out.mask, 1)
            return
        self.mask_holder = mask
        out.mask.form = self._lib.CAI_FORM_INTERFACE
        self._put_text(_type_name(mask), out.mask)
        theirs = self._fetch(value)
        inner = self._unpack_entries(value, theirs, host)
        out.mask_interface = inner
        if "mask" in theirs:
            if _class_has(type(theirs["mask"]), name):
                inner.mask.form = self._lib.CAI_FORM_INTERFACE
                self._put_text(_type_name(theirs["mask"]), inner.mask)
            else:
                self._unpack(theirs["mask"], inner.mask, 1)

    def _keep(self, cdata):
        self._kept.append(cdata)
        return cdata

    def _unpack(self, value, out, levels, index=False, index_items=False):
        """Unpacks one value. `levels` of sequences are entered; `__index__` is used only where an
        integer is allowed."""
        lib, kind = self._lib, type(value)
        if value is None:
            out.form = lib.CAI_FORM_NONE
        elif kind is bool:
            out.form = lib.CAI_FORM_BOOL
            out.integer = value
        elif isinstance(value, int):
            out.form = lib.CAI_FORM_INT if kind is int else lib.CAI_FORM_INDEX
            self._put_integer(value, out)
        elif isinstance(value, (tuple, list)):
            if isinstance(value, list):
                out.form = lib.CAI_FORM_LIST
            else:
                out.form = lib.CAI_FORM_TUPLE if kind is tuple else lib.CAI_FORM_TUPLE_SUBCLASS
            self._put_items(value, out, levels, index_items)
        elif isinstance(value, float):
            out.form = lib.CAI_FORM_FLOAT
            self._put_text(_describe(value), out)
        elif isinstance(value, str):
            out.form = lib.CAI_FORM_TEXT if kind is str else lib.CAI_FORM_TEXT_SUBCLASS
            self._put_text(value, out)
        elif isinstance(value, bytes):
            out.form = lib.CAI_FORM_BYTES
            self._put_bytes(bytes(value), out)
        elif isinstance(value, dict):
            out.form = lib.CAI_FORM_DICT if kind is dict else lib.CAI_FORM_DICT_SUBCLASS
            self._put_text(_describe(value), out)
        elif index and hasattr(kind, "__index__") and not is_numpy_bool(kind):
            out.form = lib.CAI_FORM_INDEX
            self._put_integer(operator.index(value), out)
        else:
            out.form = lib.CAI_FORM_OBJECT
            self._put_text(_describe(value), out)

    def _put_integer(self, number, out):
        number = int.__index__(number)
        if -(1 << 63) <= number < 1 << 63:
            out.integer = number & ((1 << 64) - 1)
        elif 0 < number < 1 << 64:
            out.integer = number
            out.range = self._lib.CAI_RANGE_UINT64
        else:
            out.range = self._lib.CAI_RANGE_BEYOND
            bits = number.bit_length()
            text = int.__repr__(number) if bits <= _PRINTED_BITS else f"an integer of {bits} bits"
            self._put_text(text, out)

    def _put_items(self, sequence, out, levels, index):
        count = tuple.__len__(sequence) if isinstance(sequence, tuple) else list.__len__(sequence)
        out.length = min(count, _MAX_LENGTH)
        if not count or not levels or count > self._items_limit or count > self._items_left:
            return
        self._items_left -= count
        iterate = tuple.__iter__ if isinstance(sequence, tuple) else list.__iter__
        items = tuple(iterate(sequence))  # a list may change when `__index__` runs
        self._kept.append(items)
        values = self._keep(self._ffi.new("cai_value[]", len(items)))
        out.length = len(items)
        out.items = values
        for i, item in enumerate(items):
            self._unpack(item, values[i], levels - 1, index, index)

    def _put_text(self, text, out):
        self._put_bytes(str.encode(text, "utf-8", "surrogatepass"), out)

    def _put_bytes(self, data, out):
        out.text = self._keep(self._ffi.new("char[]", data))
        out.length = min(len(data), _MAX_LENGTH)
