# SPDX-License-Identifier: BSD-3-Clause
"""Dicts as large as they may be, and larger. In Python alone, as libcai.cffi reads them, that takes
long."""

import pytest
from helpers import producer
from test_bad_input import refused

import libcai
import libcai.cffi

READERS = [libcai.asarray, pytest.param(libcai.cffi.array_from, marks=pytest.mark.long)]
pytestmark = [pytest.mark.slow, pytest.mark.parametrize("read", READERS, ids=["core", "cffi"])]


def test_as_many_fields_as_there_may_be(read):
    descr = [((f"t{i}", f"n{i}"), "|u1", (1,)) for i in range(1 << 16)]
    assert read(producer(descr=descr, typestr="|V65536")) is not None
    refused(read, producer(descr=[*descr, ("z", "|u1")], typestr="|V65537"), "descr")


def test_lists_that_hold_themselves(read):
    once, twice, field = [], [], ["a"]
    once.append(once)
    twice.extend([twice, twice])
    field.append([tuple(field), field])
    for descr in (once, twice, field, [("a", once)], [("a", twice)]):
        refused(read, producer(descr=descr), "descr")
        refused(read, producer(shape=descr), "shape")
        refused(read, producer(data=descr), "data")
