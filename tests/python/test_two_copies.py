# SPDX-License-Identifier: BSD-3-Clause
"""Another copy of the library in the process: arrays pass between the two."""

import gc
import shutil
import subprocess
import weakref

import pytest
from helpers import ADDRESS, Cuda, interface, python

import libcai
from libcai import _library
from libcai.cffi import ffi

pytestmark = pytest.mark.slow


@pytest.fixture
def other(tmp_path):
    path = tmp_path / "libcai.so.1"
    shutil.copy(_library.LIBRARY, path)
    other = ffi.dlopen(str(path))
    yield other
    gc.collect()  # what it made must go before it


def address_of(cdata):
    return int(ffi.cast("uintptr_t", cdata))


def test_they_are_two(other):
    ours = ffi.dlopen(_library.LIBRARY)
    assert address_of(ffi.addressof(other, "cai_version")) != address_of(
        ffi.addressof(ours, "cai_version")
    )


def test_an_array_of_the_other_copy(other):
    shape = ffi.new("int64_t[]", [2, 3])
    strides = ffi.new("int64_t[]", [12, 4])
    borrowed = ffi.new("cai_array *")
    borrowed.abi_major = other.CAI_ABI_MAJOR
    borrowed.data = ADDRESS
    borrowed.device_type = other.CAI_DEVICE_CUDA
    borrowed.device_id = -1
    assert other.cai_dtype_parse(b"<f4", 3, ffi.addressof(borrowed, "dtype"), ffi.NULL) == 0
    borrowed.ndim = 2
    borrowed.shape, borrowed.strides = shape, strides
    borrowed.stream_kind = other.CAI_STREAM_NONE
    borrowed.version = 3
    out = ffi.new("cai_array **")
    assert other.cai_array_own(borrowed, ffi.NULL, ffi.NULL, out, ffi.NULL) == 0
    array = libcai.Array.from_ptr(address_of(out[0]))
    assert array.shape == (2, 3)
    view = array[1:].transpose()[...]
    del array
    assert view.shape == (3, 1)
    assert view.data == ADDRESS + 12


def test_an_array_of_ours_in_the_other_copy(other):
    given = Cuda(interface())
    reference = weakref.ref(given)
    array = libcai.asarray(given)
    out = ffi.new("cai_array **")
    made = other.cai_array_transpose(ffi.cast("cai_array *", array.ptr), ffi.NULL, out, ffi.NULL)
    assert made == 0
    del array, given
    assert reference() is not None
    back = libcai.Array.from_ptr(address_of(out[0]))
    assert back.shape == (3, 2)
    again = back[0]
    del back
    assert again.shape == (2,)
    del again
    assert reference() is None


def test_a_system_copy_that_was_loaded_first(tmp_path):
    """A library of the same name, without any function, cannot capture the module."""
    source = tmp_path / "other.c"
    source.write_text("int cai_version(void) { return -1; }\n", encoding="utf-8")
    fake = tmp_path / "libcai.so.1"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-Wl,-soname,libcai.so.1", str(source), "-o", str(fake)],
        check=True,
    )
    out = python(
        f"""
import ctypes
ctypes.CDLL({str(fake)!r}, mode=ctypes.RTLD_GLOBAL)
import numpy, libcai, libcai.cffi
print(libcai.asarray(numpy.ones(3)).shape, libcai.cffi.lib.cai_version())
"""
    )
    assert out == "(3,) 100\n"
