# SPDX-License-Identifier: BSD-3-Clause
"""Export: the dict of an Array, to the letter of the text."""

import numpy as np
import pytest
from cases import CASES, Case
from helpers import ADDRESS, Cuda, Host, interface, producer

import libcai

TAKEN = [row for row in CASES if "ok" in row["lenient"]]


def test_the_plain_case():
    mapping = libcai.asarray(producer(stream=7)).__cuda_array_interface__
    assert mapping == interface(stream=7)
    assert type(mapping) is dict
    assert [type(extent) for extent in mapping["shape"]] == [int, int]
    assert type(mapping["data"]) is tuple
    assert type(mapping["data"][1]) is bool


def test_each_dict_is_its_own():
    array = libcai.asarray(producer())
    array.__cuda_array_interface__["shape"] = None
    assert array.__cuda_array_interface__["shape"] == (2, 3)
    named = libcai.asarray(producer(typestr="<V2", descr=[("bfloat16", "<V2")]))
    named.__cuda_array_interface__["descr"].clear()
    assert named.__cuda_array_interface__["descr"] == [("bfloat16", "<V2")]
    assert libcai.asarray(named).dtype == named.dtype


@pytest.mark.parametrize("row", TAKEN, ids=[row["id"] for row in TAKEN])
def test_all_that_is_taken_leaves_by_the_letter(row):
    array = libcai.asarray(Case(row).producer)
    assert libcai.check(array), str(libcai.check(array))
    again = libcai.asarray(Cuda(array.__cuda_array_interface__), strict=True)
    for name in ("shape", "typestr", "data", "readonly", "descr", "extent", "c_contiguous"):
        assert getattr(again, name) == getattr(array, name)
    assert (again.mask is None) == (array.mask is None)
    assert again.version == 3


def test_strides_are_none_if_and_only_if_contiguous():
    assert libcai.asarray(producer(strides=(12, 4))).__cuda_array_interface__["strides"] is None
    for strides in ((24, 4), (4, 8), (0, 4), (12, -4)):
        array = libcai.asarray(producer(strides=strides))
        assert array.__cuda_array_interface__["strides"] == strides


def test_read_only_survives():
    array = libcai.asarray(producer(data=(ADDRESS, True)))
    assert array.__cuda_array_interface__["data"] == (ADDRESS, True)
    host = np.arange(3)
    host.flags.writeable = False
    assert not np.asarray(libcai.asarray(host)).flags.writeable


def test_an_unstated_stream_leaves_as_1():
    array = libcai.asarray(producer(version=2, stream=...))
    assert array.__cuda_array_interface__["stream"] == 1
    assert array.__cuda_array_interface__["version"] == 3
    assert libcai.asarray(producer()).__cuda_array_interface__["stream"] is None


def test_a_mask_leaves_as_an_object():
    array = libcai.asarray(producer(mask=producer(typestr="|b1")))
    mask = array.__cuda_array_interface__["mask"]
    assert isinstance(mask, libcai.Array)
    assert mask.__cuda_array_interface__["typestr"] == "|b1"
    assert "mask" not in mask.__cuda_array_interface__


def test_a_mask_is_not_left_to_numpy():
    """It would take no notice of one in the dict."""
    values = np.arange(3.0)
    mask = Host(np.ones(3, "?").__array_interface__)
    given = {**values.__array_interface__, "mask": mask}
    array = libcai.from_interface(given, owner=values, host=True)
    with pytest.raises(libcai.BufferError, match="mask: NumPy ignores it"):
        np.asarray(array)
    assert np.asarray(array.mask).all()


def test_descr_only_if_it_says_more():
    assert "descr" not in libcai.asarray(np.ones(3)).__array_interface__
    descr = [("a", "<i4"), ("b", "<i4")]
    array = libcai.asarray(producer(typestr="|V8", descr=descr))
    assert array.__cuda_array_interface__["descr"] == descr


@pytest.mark.parametrize(
    ("typestr", "descr"),
    [("<c8", [("real", "<f4"), ("imag", "<f4")]), ("<u4", [("", "|u1", (4,))]),
     ("<f8", [("time", "<f8")]), ("|S4", [("a", "|S2"), ("b", "|S2")])],
)  # fmt: skip
def test_descr_of_any_kind(typestr, descr):
    array = libcai.asarray(producer(typestr=typestr, descr=descr))
    assert (array.typestr, array.descr, array.dtype) == (typestr, descr, np.dtype(typestr))
    again = libcai.asarray(Cuda(array.__cuda_array_interface__))
    assert (again.typestr, again.descr) == (typestr, descr)
    assert array[:1].descr == descr


def test_descr_must_have_as_many_bytes():
    with pytest.raises(ValueError, match="descr"):
        libcai.asarray(producer(typestr="<c8", descr=[("real", "<f4")]))


def test_many_dimensions():
    array = libcai.asarray(producer(shape=(1,) * 63 + (2,), strides=(8,) * 64))
    mapping = array.__cuda_array_interface__
    assert mapping["shape"] == (1,) * 63 + (2,)
    assert mapping["strides"] == (8,) * 64


def test_host_arrays_give_numpy_s_dict():
    given = np.arange(6.0).reshape(2, 3)[:, ::-1]
    mapping = libcai.asarray(given).__array_interface__
    assert "stream" not in mapping
    assert np.array_equal(np.asarray(libcai.asarray(given)), given)


# ---- By to_interface()


def test_version_3_is_what_the_attribute_gives():
    for array in (libcai.asarray(producer(stream=7)), libcai.asarray(np.ones(3))):
        name = "__cuda_array_interface__" if array.stream else "__array_interface__"
        assert array.to_interface() == getattr(array, name)
        assert array.to_interface(version=3) == array.to_interface()


def test_version_2_has_no_stream():
    given = interface(strides=(16, 4), data=(ADDRESS, True), stream=None)
    said = libcai.asarray(Cuda(given)).to_interface(version=2)
    del given["stream"]
    assert said == {**given, "version": 2}
    assert libcai.from_interface(said).stream_kind == "unstated"
    masked = producer(mask=producer(typestr="|b1"))
    assert libcai.asarray(masked).to_interface(version=2)["mask"].typestr == "|b1"


@pytest.mark.parametrize("version", [0, 1, 4, "2", None])
def test_versions_that_are_not_written(version):
    with pytest.raises(libcai.UseError, match="version: expected 2 or 3, got "):
        libcai.asarray(producer()).to_interface(version=version)
    with pytest.raises(
        libcai.UseError, match="version: expected 3, which is all that NumPy's dict has, got 2"
    ):
        libcai.asarray(np.ones(3)).to_interface(version=2)


def test_a_masked_array_of_the_host_has_a_dict():
    values, mask = np.arange(6.0), np.array([True, False] * 3)
    given = {**values.__array_interface__, "mask": mask}
    array = libcai.from_interface(given, owner=(values, mask), host=True)
    said = array.to_interface()
    assert (said["shape"], said["typestr"], said["data"]) == ((6,), "<f8", given["data"])
    again = libcai.from_interface(said, owner=array, host=True)
    assert again.mask.data == mask.ctypes.data
    with pytest.raises(BufferError, match="mask"):
        array.__array_interface__  # noqa: B018


def test_version_2_waits_for_what_is_pending(simulated):
    simulated("""
theirs = new_stream()
memory = new_memory(256)
made = libcai.asarray(array(theirs, memory, shape=(64,), typestr="<u4"))
fill(memory, 5, 64, theirs)
said = made.to_interface(version=2)
assert "stream" not in said and said["version"] == 2
assert cuda.cuStreamQuery(theirs) == 0
""")
