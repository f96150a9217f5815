# SPDX-License-Identifier: BSD-3-Clause
"""Arguments whose methods lie, or call libcai again: what they contain is taken, once. What random
ones have found, see hostile_arguments.py; on the CPU, with no driver."""

import gc
from pathlib import Path

import numpy as np
import pytest

import libcai
from libcai import Event, Memory, MemoryManager, Stream, _core, memory_manager


def text(contents, **methods):
    """A subclass of str with these methods."""
    return type("Text", (str,), methods)(contents)


def lies(answer):
    return lambda self, *_, **__: answer


LYING = [
    {"encode": lies(b"managed")},
    {"encode": lies(None)},
    {"encode": lies(5)},
    {"__contains__": lies(True)},
    {"__len__": lies(1 << 40)},
    {"__str__": lies("managed")},
    {"__eq__": lies(True), "__hash__": lies(5)},
    {"__eq__": lies(False), "__hash__": lies(5)},
]


@pytest.mark.parametrize("methods", LYING)
def test_a_text_is_what_it_contains(methods):
    memory = Memory(64, text("host", **methods), device=text("cpu", **methods))
    assert (memory.kind, str(memory.device)) == ("host", "cpu")
    assert memory.array(4, text("<i2", **methods)).typestr == "<i2"
    assert Stream("cpu", mode=text("sync", **methods)).mode == "sync"
    assert libcai.asarray(np.ones(3), route=text("numpy", **methods)).route == "numpy"
    word = text("read", **methods)
    for access in (word, [word]):
        with libcai.use(np.ones(3), stream=1, access=access, order=text("host", **methods)):
            pass
    assert memory_manager(text("host", **methods), device="cpu").name == "host"


def test_a_wrong_word_is_refused():
    claims = text("x", __eq__=lies(True), __ne__=lies(False), __hash__=lambda _: hash("both"))
    for more in ({"order": claims}, {"access": claims}, {"access": [claims]}):
        with pytest.raises(libcai.UseError, match=r"expected '(read' or|both')"):
            libcai.use(np.ones(3), stream=1, **more)


def test_a_text_with_a_nul_is_refused():
    """Whatever its methods say of it."""
    hiding = text("host\0", __contains__=lies(False), encode=lies(b"host"))
    with pytest.raises(libcai.UseError, match="with a NUL"):
        Memory(64, hiding, device="cpu")
    with pytest.raises(libcai.UseError, match="lone surrogate"):
        Memory(64, text("\ud800", encode=lies(b"host")), device="cpu")


def test_a_path_is_what_it_contains(tmp_path):
    name = str(tmp_path / "calls.csv")

    class Bytes(bytes):
        def __contains__(self, _):
            return True

        def __bytes__(self):
            return b"/nowhere/at/all"

    class Pathlike:
        def __fspath__(self):
            return text(name, encode=lies(5))

    host = memory_manager("host", device="cpu")
    for path in (text(name, encode=lies(b"/nowhere/at/all")), Bytes(name.encode()), Pathlike()):
        logging = memory_manager("logging", upstream=host, path=path)
        logging.free(logging.alloc(64))
        del logging
        gc.collect()
        assert Path(name).read_text(encoding="utf-8")
        Path(name).unlink()
    hiding = text(name + "\0", __contains__=lies(False), encode=lies(name.encode()))
    with pytest.raises(libcai.UseError, match="with a NUL"):
        memory_manager("logging", upstream=host, path=hiding)


@pytest.mark.parametrize("name", ["logging", "retrying", "statistics"])
def test_parameters_are_of_the_manager_that_is_made(name):
    """Else C would call the numbers of a pool as functions."""
    claims = text(name, __eq__=lambda self, other: other == "pool", __hash__=lambda _: hash("pool"))
    host = memory_manager("host", device="cpu")
    with pytest.raises(TypeError, match="has no parameter 'initial'"):
        memory_manager(claims, upstream=host, initial=1, maximum=2, threshold=3)


class Calls:
    """An integer that makes the object, which its argument is for, meanwhile."""

    def __init__(self, number, function):
        self.number, self.function = number, function

    def __index__(self):
        self.function()
        return self.number


class Empty(MemoryManager):
    def memalloc(self, size, align, kind, stream):
        raise MemoryError

    def memfree(self, address, size, kind, stream):
        raise AssertionError("nothing was allocated")


CPU = libcai.DeviceType.CPU


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        (Memory, lambda calls: (calls(100), "host"), (200, "host")),
        (Stream, lambda calls: ("cpu", "async", calls(0)), ("cpu",)),
        (Stream, lambda calls: ((CPU, calls(0)),), ("cpu",)),
        (Event, lambda calls: ((CPU, calls(0)),), ("cpu",)),
        (Empty, lambda calls: ((CPU, calls(0)),), ("cpu",)),
    ],
)
def test_what_is_made_by_its_own_argument_is_made_once(kind, first, second):
    more = {"device": "cpu"} if kind is Memory else {}
    before = libcai.usage("cpu")[:2]
    made = kind.__new__(kind)
    again = [made.__init__]
    calls = []

    def call(number):
        def function():
            calls.append(number)
            again[0](*second, **more)

        return Calls(number, function)

    with pytest.raises(TypeError, match="cannot be made twice"):
        made.__init__(*first(call), **more)
    assert calls
    if kind is Memory:
        assert made.size == 200
        assert libcai.usage("cpu")[:2] == (before[0] + 200, before[1] + 1)
    if kind is Empty:
        assert MemoryManager.of("cpu") is not made
        assert made.device == libcai.Device("cpu")
    with pytest.raises(TypeError, match="cannot be made twice"):
        made.__init__(*second, **more)
    again.clear()
    del made
    gc.collect()
    assert libcai.usage("cpu")[:2] == before


def test_a_list_of_words_that_changes_while_it_is_read():
    words = ["read", "read"]

    class Word(str):
        __slots__ = ()

        def __hash__(self):
            words.clear()
            return str.__hash__(self)

        def __eq__(self, other):
            words.clear()
            return str.__eq__(self, other)

    words[0] = Word("read")
    with libcai.use(np.ones(2), np.ones(3), stream=1, access=words, order="host") as arrays:
        assert len(arrays) == 2


def test_an_error_shows_no_text_that_lies_of_its_length():
    class Odd:
        def __repr__(self):
            return text("odd" * 1000, __len__=lies(3), __getitem__=lies("x" * 10_000))

    with pytest.raises(TypeError) as caught:
        Memory(Odd(), device="cpu")
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize("lend", [_core.lend_all, _core.take_all_back])
def test_none_lends_no_memory(lend):
    with pytest.raises(TypeError):
        lend(None)
