# SPDX-License-Identifier: BSD-3-Clause
"""Producers that are wrong, hostile or odd: an error that names the entry, or their own error."""

import random
import sys
from collections import UserDict
from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest
from helpers import ADDRESS, Cuda, Host, interface, producer

import libcai
import libcai.cffi

READERS = [libcai.asarray, libcai.cffi.array_from]
pytestmark = pytest.mark.parametrize("read", READERS, ids=["core", "cffi"])


def refused(read, given, entry, text="", **options):
    count = sys.getrefcount(given)
    with pytest.raises((libcai.InterfaceError, libcai.InterfaceTypeError)) as caught:
        read(given, **options)
    error = caught.value
    assert error.entry == entry
    assert entry in str(error)
    assert text in str(error)
    assert len(str(error)) < 240
    value = error.value
    del error, caught
    if value is not given:
        assert sys.getrefcount(given) == count
    return value


def test_a_property_that_raises_passes_unchanged(read):
    for kind in (RuntimeError, KeyError, ValueError, TypeError, MemoryError, KeyboardInterrupt):
        mine = kind("mine")

        class Raising:
            @property
            def __cuda_array_interface__(self, mine=mine):
                raise mine

        with pytest.raises(kind) as caught:
            read(Raising())
        assert caught.value is mine


def test_an_attribute_error_counts_as_absent(read):
    mine = AttributeError("only on the GPU")

    class Hiding:
        @property
        def __cuda_array_interface__(self):
            raise mine

    class Falling(Hiding):
        __array_interface__ = np.ones(3).__array_interface__

    with pytest.raises(AttributeError) as caught:
        read(Hiding())
    assert caught.value is mine
    assert read(Falling()) is not None


def test_a_property_that_returns_itself(read):
    class Itself:
        @property
        def __cuda_array_interface__(self):
            return self

    refused(read, Itself(), "interface")


@pytest.mark.parametrize(
    "value",
    [None, 1, "x", [("shape", (2, 3))], (), interface, SimpleNamespace(**interface())],
)
def test_not_a_dict(read, value):
    assert refused(read, Cuda(value), "interface") is value


class Items(Mapping):
    """With no get() that could be relied on."""

    def __init__(self, items):
        self.items_of_it = items

    def __getitem__(self, key):
        return self.items_of_it[key]

    def __len__(self):
        raise ZeroDivisionError

    __iter__ = __contains__ = get = __len__


@pytest.mark.parametrize("like", [MappingProxyType, UserDict, Items])
def test_what_is_like_a_dict(read, like):
    """Versions 0 and 1 of the text asked for no more; version 3 says dict."""
    value = like(interface(version=0, strides=..., stream=...))
    assert read(Cuda(value)).version == 0
    value = like(interface(mask=Cuda(like(interface(typestr="|b1"))), offset=5))
    assert read(Cuda(value)).mask
    assert (
        refused(
            read, Cuda(value), "interface", "another mapping: convert it by dict()", strict=True
        )
        is value
    )
    refused(read, Cuda(like(interface(shape=(2, -3)))), "shape")
    refused(read, Cuda(like({})), "version", "missing")
    host = interface(stream=-1, version=3)
    assert read(Host(like(host))) is not None
    refused(read, Host(like({**host, "offset": 8})), "offset")


def test_a_mapping_that_raises_passes_unchanged(read):
    class Raising(Items):
        def __getitem__(self, key):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        read(Cuda(Raising({})))


def test_no_interface(read):
    for given in (object(), 1, None, [1, 2], "text"):
        refused(read, given, "interface")


def test_a_class_instead_of_an_instance(read):
    class WithDict:
        __cuda_array_interface__ = interface()

    for given in (Cuda, Host, WithDict, libcai.Array):
        refused(read, given, "interface", "class")

    class Meta(type):
        @property
        def __cuda_array_interface__(cls):
            return interface()

    assert read(Meta("Lawful", (), {})) is not None


def test_a_method_instead_of_a_property(read):
    class Method:
        def __cuda_array_interface__(self):
            return interface()

    with pytest.raises(libcai.InterfaceTypeError, match="interface"):
        read(Method())


def test_numpy_scalars_point_to_a_temporary(read):
    refused(read, np.float64(1), "interface", "temporary")


def test_numpy_s_masked_arrays_leave_their_mask_out(read):
    given = np.ma.array([1, 2, 3], mask=[False, True, False])
    for masked in (given, given[:2], np.ma.array([1, 2], mask=False, shrink=False), np.ma.masked):
        value = refused(read, masked, "mask", "leaves its mask out")
        assert value is np.ma.getmask(masked)
    assert read(given.data) is not None
    assert read(np.ma.array([1, 2, 3])) is not None  # it has no mask


class Tensor(Cuda):
    """In the place of PyTorch's types, whose dict cannot express these."""

    __module__ = "torch"
    requires_grad = conjugated = negated = False

    def is_conj(self):
        return self.conjugated

    def is_neg(self):
        return self.negated


@pytest.mark.parametrize("said", ["requires_grad", "conjugated", "negated"])
def test_tensors_that_are_not_in_memory_what_they_are(read, said, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Tensor))
    words = {"requires_grad": "requires grad", "conjugated": "conjugation", "negated": "sign"}
    for kind in (Tensor, type("Heir", (Tensor,), {})):
        tensor = kind(interface())
        assert read(tensor) is not None
        setattr(tensor, said, True)
        with pytest.raises(libcai.BufferError, match=words[said]):
            read(tensor)
        for take in (libcai.from_dlpack, lambda obj: libcai.asarray(obj, route="cuda")):
            with pytest.raises(libcai.BufferError, match=words[said]):
                take(tensor)


@pytest.mark.parametrize(
    ("changes", "entry"),
    [
        ({"shape": (10**10000, 3)}, "shape"),
        ({"shape": (-(10**10000), 3)}, "shape"),
        ({"strides": (10**10000, 4)}, "strides"),
        ({"data": (10**10000, False)}, "data"),
        ({"version": 10**10000}, "version"),
        ({"stream": 10**10000}, "stream"),
        ({"stream": -(2**63) - 1}, "stream"),
    ],
)
def test_integers_of_many_digits(read, changes, entry):
    refused(read, producer(**changes), entry)


def test_dimensions(read):
    assert read(producer(shape=(1,) * 64)) is not None
    for count in (65, 257, 100_000):
        refused(read, producer(shape=(1,) * count), "shape", str(count))
        refused(read, producer(shape=[1] * count), "shape", str(count))
        refused(read, producer(strides=(4,) * count), "strides")


class Number:
    def __init__(self, value, action=None):
        self.value, self.action, self.calls = value, action, 0

    def __index__(self):
        self.calls += 1
        if self.action:
            self.action()
        return self.value


def test_index_is_called_once(read):
    number = Number(2)
    assert read(producer(shape=(number, 3))) is not None
    assert number.calls == 1


def test_an_index_that_raises_passes_unchanged(read):
    for kind in (RuntimeError, ZeroDivisionError, TypeError):
        mine = kind("mine")

        def action(mine=mine):
            raise mine

        for changes in (
            {"shape": (Number(2, action), 3)},
            {"data": (Number(4096, action), False)},
            {"stream": Number(7, action)},
            {"version": Number(3, action)},
        ):
            with pytest.raises(kind) as caught:
                read(producer(**changes))
            assert caught.value is mine


def test_an_index_that_returns_no_integer(read):
    with pytest.raises(TypeError):
        read(producer(shape=(Number("2"), 3)))


def test_an_index_that_clears_the_dict(read):
    mapping = interface(descr=[("", "<f4")], mask=None, strides=[12, 4])
    mapping["shape"] = [Number(2, mapping.clear), 3]
    assert read(Cuda(mapping)) is not None
    assert mapping == {}


def test_an_index_that_changes_its_list(read):
    shape = []
    shape[:] = [Number(2, shape.clear), Number(3, lambda: shape.extend([1] * 1000)), 4]
    array = read(producer(shape=shape))
    assert (array.size if read is libcai.asarray else array.shape[2]) in (24, 4)


def test_an_index_that_frees_what_it_is_part_of(read):
    class Fresh:
        @property
        def __cuda_array_interface__(self):
            mapping = interface()
            mapping["strides"] = [Number(12, mapping.clear), Number(4, mapping.clear)]
            mapping["data"] = (Number(ADDRESS, mapping.clear), False)
            return mapping

    assert read(Fresh()) is not None


def test_keys_that_compare_with_code(read):
    class Key(str):
        def __hash__(self):
            return hash(str(self))

        def __eq__(self, other):
            raise ZeroDivisionError

    mapping = interface(shape=...)
    mapping = {Key("shape"): (2, 3), **mapping}
    with pytest.raises(ZeroDivisionError):
        read(Cuda(mapping))
    assert read(producer(**{"foo": 1})) is not None
    assert read(Cuda({**interface(), 1: 2, None: 3, (): 4})) is not None


def test_keys_that_read_another_array_while_they_are_compared(read):
    """The look-up of one read must not affect another read."""

    class Key(str):
        def __hash__(self):
            return hash(str(self))

        def __eq__(self, other):
            other_one = producer(shape=(1,), stream=..., strides=...)
            read(random.choice([other_one, Cuda(dict(reversed(interface().items())))]))
            return str(self) == other

    random.seed(3)
    for _ in range(300):
        entries = list(interface(stream=7, strides=(16, 4)).items())
        random.shuffle(entries)
        mapping = {Key(name) if random.random() < 0.5 else name: value for name, value in entries}
        array = read(Cuda(mapping))
        assert array.stream == 7
        assert [array.strides[0], array.strides[1]] == [16, 4]


@pytest.mark.parametrize("encoded", [b"", b"<", bytearray(b"<f4"), 3, None, "<f4"])
def test_text_with_an_encode_of_its_own(read, encoded):
    class Text(str):
        def encode(self, *arguments):
            return encoded

        __len__ = __str__ = __repr__ = __iter__ = encode

    shown = "\\xed\\xa0\\x80" * 5  # "\ud800", in UTF-8
    for changes, entry in (
        ({"typestr": Text("<f4" + "\ud800" * 5)}, "typestr"),
        ({"typestr": "|V4", "descr": [(Text("\ud800" * 5), "<f4")]}, "descr"),
    ):
        refused(read, producer(**changes), entry, shown)
    assert read(producer(typestr=Text("<f4"))) is not None


class Opaque:
    def __repr__(self):
        raise ZeroDivisionError


class Long:
    def __repr__(self):
        return "ü" * 1_000_000


@pytest.mark.parametrize("odd", [Opaque(), Long(), 1j, bytearray(b"<f4"), {1}, float("nan"), "é"])
def test_odd_values(read, odd):
    for entry in ("shape", "typestr", "data", "version", "strides", "descr", "mask", "stream"):
        assert refused(read, producer(**{entry: odd}), entry) is odd


def test_an_array_is_never_printed(read):
    class Loud(Cuda):
        def __repr__(self):
            raise AssertionError("printing copies from the GPU")

        def __index__(self):
            raise AssertionError("so does this")

    refused(read, producer(shape=Loud(interface())), "shape")
    refused(read, producer(mask=Loud(interface(shape=(7,)))), "mask")


@pytest.mark.parametrize(
    "text", ["\ud800", "<f4\udc80", "<f4\0", "\0", "<f4\0\0\0\0", "ⓕ4", "<f\uff14"]
)
def test_text(read, text):
    refused(read, producer(typestr=text), "typestr")
    refused(read, producer(typestr="|V4", descr=[("a", text)]), "descr")


def test_names_of_fields(read):
    refused(read, producer(descr=[("\ud800", "<f4")]), "descr")
    refused(read, producer(descr=[("a\0b", "<f4")]), "descr")
    refused(read, producer(descr=[(b"a", "<f4")]), "descr")


def nested(depth):
    descr = "<f4"
    for _ in range(depth):
        descr = [("a", descr)]
    return descr


def test_nested_descr(read):
    assert read(producer(descr=nested(60), typestr="|V4")) is not None
    for depth in (66, 200, 10_000):
        refused(read, producer(descr=nested(depth), typestr="|V4"), "descr")
    tower = ()
    for _ in range(10_000):
        tower = (tower,)
    refused(read, producer(descr=[tower]), "descr")
    refused(read, producer(shape=tower), "shape")
    refused(read, producer(data=tower), "data")


class NoCuda:
    """None in the place of an attribute means that there is none."""

    __cuda_array_interface__ = None

    def __init__(self):
        self.kept = np.arange(3)
        self.__array_interface__ = self.kept.__array_interface__


class NoHost(Cuda):
    __array_interface__ = None


class Neither:
    __cuda_array_interface__ = __array_interface__ = None


class Hidden(Neither):
    def __init__(self):
        self.__cuda_array_interface__ = None


def test_none_in_the_place_of_an_attribute(read):
    assert read(NoCuda(), strict=True).ndim == 1
    assert read(NoHost(interface()), strict=True).ndim == 2
    for kind in (Neither, Hidden):
        refused(read, kind(), "interface", "has neither")
    refused(read, Cuda(None), "interface")


def test_masks(read):
    itself = interface()
    given = Cuda(itself)
    itself["mask"] = given
    refused(read, given, "mask")
    for mask in (given, producer(mask=producer(typestr="|b1"), typestr="|b1")):
        refused(read, producer(mask=mask), "mask")
    for mask in (interface(), 0, True, [], object(), Cuda, producer(shape=(4, 4), typestr="|b1")):
        refused(read, producer(mask=mask), "mask")

    class Raising:
        @property
        def __cuda_array_interface__(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        read(producer(mask=Raising()))
    refused(read, producer(mask=producer(typestr="|b1", mask=Raising())), "mask")
    refused(read, producer(mask=Cuda(None)), "mask")


def test_host_dicts(read):
    data = np.arange(6, dtype="<f4")
    good = {k: v for k, v in data.__array_interface__.items() if k != "descr"}
    assert read(Host(good)) is not None
    for offset in (4, -1, 2**63, 2**64, 2**70, -(2**70), None, False, Number(4)):
        refused(read, Host({**good, "offset": offset}), "offset")
    assert read(Host({**good, "offset": 0}), strict=True) is not None
    for offset in (np.int64(0), Number(0)):
        assert read(Host({**good, "offset": offset})) is not None
        refused(read, Host({**good, "offset": offset}), "offset", strict=True)
    refused(read, Host({**good, "data": memoryview(data)}), "data")
    refused(read, np.array([object()]), "typestr")


def test_a_strict_reading_refuses_more(read):
    refused(read, producer(stream=0), "stream", strict=True)
    assert read(producer(), strict=True) is not None
