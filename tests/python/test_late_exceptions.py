# SPDX-License-Identifier: BSD-3-Clause
"""Tables of compiled code whose functions say that they have succeeded, and leave an exception: it
is raised, and what they made ends once."""

import ctypes
import gc
import sysconfig
from pathlib import Path

import pytest
from building import config, run_command
from hostile_modules import EMPTY_LIKE, Case
from hostile_tables import ADDRESS, CAPSULE, address_of

import libcai
from libcai.cffi import ffi, lib

pytestmark = pytest.mark.slow


def build(folder):
    source = Path(__file__).with_name("late.c")
    include = f"-I{sysconfig.get_path('include')}"
    run_command(
        "cc", "-shared", "-fPIC", include, *config("--cflags"), source, "-o", folder / "late.so"
    )


@pytest.fixture
def late(built):
    library = ctypes.PyDLL(str(built("late", build) / "late.so"))
    for name in ("ended", "is_late"):
        ctypes.c_int.in_dll(library, name).value = 0
    return library


def ended(library):
    return ctypes.c_int.in_dll(library, "ended").value


def function(library, name):
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value


def described(case):
    array = case.new("cai_array *")
    array.abi_major = lib.CAI_ABI_MAJOR
    array.data = ADDRESS
    array.device_type = lib.CAI_DEVICE_CPU
    array.dtype = {"kind": ord("f"), "byteorder": ord("<"), "itemsize": 4}
    array.stream_kind = lib.CAI_STREAM_NONE
    array.version = 3

    def describe(_, out, dims):
        out[0] = array[0]
        out.shape, out.strides = dims, dims + 64
        return 0

    api = case.new("cai_exchange_api *")
    api.struct_size = ffi.sizeof("cai_exchange_api")
    api.abi_major = lib.CAI_ABI_MAJOR
    api.describe = case.callback("int32_t(void *, cai_array *, int64_t *)", describe)
    return api


def made_like(*tables):
    names = ("__cai_c_exchange_api__", "__dlpack_c_exchange_api__")
    capsules = (b"cai_exchange_api", b"dlpack_exchange_api")
    entries = {
        name: CAPSULE(address_of(table), capsule, None)
        for name, table, capsule in zip(names, tables, capsules, strict=False)
    }
    return EMPTY_LIKE(type("Foreign", (), entries)(), 0, None, None)


@pytest.mark.parametrize("is_late", [False, True])
def test_a_wrap(late, is_late):
    ctypes.c_int.in_dll(late, "is_late").value = is_late
    case = Case(0)
    api = described(case)
    api.wrap = ffi.cast("int32_t (*)(cai_array *, void **)", function(late, "wrap"))
    before = libcai.usage("cpu")
    if is_late:
        with pytest.raises(ZeroDivisionError, match="late"):
            made_like(api)
    else:
        made = made_like(api)
        assert libcai.usage("cpu").count == before.count + 1
        del made
    gc.collect()
    assert ended(late) == 1
    assert libcai.usage("cpu") == before


@pytest.mark.parametrize("allocate", ["allocate", "allocate_early"])
def test_an_allocator(late, allocate):
    ctypes.c_int.in_dll(late, "is_late").value = 1
    case = Case(0)
    table = case.new("DLPackExchangeAPI *")
    table.header.version.major = 1
    for name, of in (
        ("managed_tensor_allocator", allocate),
        ("managed_tensor_to_py_object_no_sync", "to_object"),
    ):
        kind = ffi.typeof(getattr(table, name))
        setattr(table, name, ffi.cast(kind, function(late, of)))
    before = libcai.usage("cpu")
    with pytest.raises(ZeroDivisionError, match="late"):
        made_like(described(case), table)
    gc.collect()
    assert ended(late) == 1
    assert libcai.usage("cpu") == before
