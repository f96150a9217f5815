# SPDX-License-Identifier: BSD-3-Clause
"""libcai.cffi: no compiled module of ours, and the same arrays. (Verdicts: test_cases.py.)"""

import ctypes
import gc
import sys
import weakref
from collections import deque

import pytest
from helpers import ADDRESS, ROOT, Cuda, eventually, interface, producer, python

import libcai
from libcai import _core, _devices, cffi
from libcai.cffi import array_from, ffi, lib

pytestmark = pytest.mark.slow


def test_without_the_compiled_module():
    out = python(
        f"""
import sys
sys.modules["libcai._core"] = None
sys.path.insert(0, {str(ROOT / "tests/python")!r})
import libcai, libcai.cffi
from cases import CASES, Case
for row in CASES:
    for mode in ("lenient", "strict"):
        try:
            libcai.cffi.array_from(Case(row).producer, strict=mode == "strict")
            assert "ok" in row[mode], row["id"]
        except libcai.Error as error:
            assert error.entry == row[mode]["reject"], row["id"]
try:
    libcai.asarray
except ImportError:
    print(len(CASES))
"""
    )
    assert int(out) > 100


def test_the_declarations_are_the_header_s():
    sizes = {**_core.sizes(), **_devices.sizes()}
    assert len(sizes) == 12 + 13
    for name, size in sizes.items():
        assert ffi.sizeof(name) == size
    assert sizes["cai_array"] == 128
    assert sizes["cai_error"] == 256
    assert sizes["cai_ipc_handle"] == 160
    assert lib.CAI_MAX_NDIM == 64
    assert lib.cai_version() == 100


@pytest.mark.parametrize(
    ("field", "offset"),
    [("abi_major", 0), ("flags", 4), ("owner", 8), ("data", 16), ("device_type", 24),
     ("device_id", 28), ("dtype", 32), ("ndim", 44), ("shape", 48), ("strides", 56),
     ("stream", 64), ("stream_kind", 72), ("version", 76), ("mask", 80), ("descr", 88),
     ("reserved0", 96), ("descr_count", 104)],
)  # fmt: skip
def test_offsets(field, offset):
    assert ffi.offsetof("cai_array", field) == offset


def test_fields():
    array = array_from(producer(strides=(24, -4), stream=7, data=(ADDRESS, True)))
    assert ffi.typeof(array) is ffi.typeof("cai_array *")
    assert array.data == ADDRESS
    assert (array.strides[0], array.strides[1]) == (24, -4)
    assert array.stream == 7
    text = ffi.new("char[]", lib.CAI_TYPESTR_SIZE)
    assert lib.cai_dtype_format(ffi.addressof(array, "dtype"), text, ffi.NULL) == 0
    assert ffi.string(text) == b"<f4"
    assert array.flags & lib.CAI_FLAG_READONLY
    assert lib.cai_array_validate(array, ffi.NULL) == 0


def test_descr_of_any_kind():
    descr = [("real", "<f4"), ("imag", "<f4")]
    array = array_from(producer(typestr="<c8", descr=descr))
    assert array.dtype.kind == ord("c")
    assert [ffi.string(array.descr[i].name) for i in range(array.descr_count)] == [b"real", b"imag"]


def test_our_own_arrays_are_taken_too():
    array = libcai.asarray(producer(mask=producer(typestr="|b1")))
    again = array_from(array)
    assert again.data == array.data
    assert again.mask.dtype.itemsize == 1


@pytest.mark.usefixtures("collected")
def test_the_object_is_held_and_let_go():
    mask = producer(typestr="|b1")
    given = producer(mask=mask)
    counts = sys.getrefcount(given), sys.getrefcount(mask)
    array = array_from(given)
    assert (sys.getrefcount(given), sys.getrefcount(mask)) == (counts[0] + 1, counts[1] + 1)
    del array
    assert (sys.getrefcount(given), sys.getrefcount(mask)) == counts


@pytest.mark.usefixtures("collected")
def test_another_holder_in_c():
    given = Cuda(interface())
    reference = weakref.ref(given)
    array = array_from(given)
    mine = libcai.Array.from_ptr(int(ffi.cast("uintptr_t", array)), steal=False)
    del array, given
    assert reference() is not None
    assert mine.shape == (2, 3)
    del mine
    for _ in range(len(cffi._waiting) + 1):
        array_from(producer())
    assert reference() is None


def test_another_thread_may_look_first(monkeypatch):
    class Emptied(deque):
        def popleft(self):
            self.clear()
            return super().popleft()

    monkeypatch.setattr(cffi, "_waiting", Emptied([None]))
    assert array_from(producer()).ndim == 2


def test_a_release_on_a_thread_without_the_gil():
    given = Cuda(interface())
    reference = weakref.ref(given)
    array = array_from(given)
    array.owner.retain(array.owner)
    owner = int(ffi.cast("uintptr_t", array.owner))
    release = int(ffi.cast("uintptr_t", array.owner.release))
    del array, given
    gc.collect()
    thread = ctypes.c_ulong()
    libc = ctypes.PyDLL(None)
    assert (
        libc.pthread_create(
            ctypes.byref(thread), None, ctypes.c_void_p(release), ctypes.c_void_p(owner)
        )
        == 0
    )
    assert libc.pthread_join(thread, None) == 0
    assert eventually(lambda: array_from(producer()) and reference() is None)


def test_functions_that_c_has_as_macros():
    array = array_from(producer(data=(ADDRESS, True)))
    lib.cai_array_retain(array)
    lib.cai_array_release(array)
    assert lib.cai_array_refuses(array, 0) == lib.CAI_FLAG_READONLY
    assert lib.cai_array_refuses(array, lib.CAI_FLAG_READONLY) == 0


def test_a_producer_that_caches_its_own_array_is_freed():
    given = Cuda(interface())
    reference = weakref.ref(given)
    given.cached = array_from(given)
    del given
    gc.collect()
    assert reference() is None


def test_exit_with_a_live_array():
    python(
        f"""
import sys
sys.path.insert(0, {str(ROOT / "tests/python")!r})
from helpers import producer
from libcai.cffi import array_from
keep = array_from(producer())
keep.owner.retain(keep.owner)
"""
    )
