# SPDX-License-Identifier: BSD-3-Clause
"""libcai through cffi, with no compiled module of the package.

Attributes
----------
ffi : cffi.FFI
    Has every declaration of cai/array.h, cai.h, cai/device.h, cai/memory.h, cai/dlpack.h and
    cai/exchange.h.
lib : object
    The functions and constants of the bundled library.
"""

import re
import sys
from collections import deque
from pathlib import Path

import cffi

from libcai import _library
from libcai._providers import provided
from libcai._unpack import Unpacker, dtype_name, find
from libcai.errors import from_status

__all__ = ["array_from", "ffi", "lib"]


def _declarations(header):
    """The part of a header that parsers like cffi can read."""
    text = Path(_library.INCLUDE_DIR, header).read_text(encoding="utf-8")
    return re.search(r"declarations begin \*/(.*?)/\*[^*]*declarations end \*/", text, re.S)[1]


ffi = cffi.FFI()
for _header in (
    "cai/array.h",
    "cai.h",
    "cai/device.h",
    "cai/memory.h",
    "cai/dlpack_abi.h",
    "cai/dlpack.h",
    "cai/exchange.h",
):
    ffi.cdef(_declarations(_header))
lib = ffi.dlopen(_library.LIBRARY)

# The last release may come from a thread that has no GIL and must not wait for it. So an array then
# calls no Python function but the C library's sem_post(), on a semaphore of its own; we check the
# semaphores later. They are the C library's memory, and are not freed if the process ends first.
_libc_ffi = cffi.FFI()
_libc_ffi.cdef("""
    int sem_init(void *, int, unsigned); int sem_post(void *); int sem_trywait(void *);
    void *calloc(size_t, size_t); void free(void *);
""")
_libc = _libc_ffi.dlopen(None)
_SEMAPHORE_BYTES = 64  # at least sizeof(sem_t) on all platforms
_post = ffi.cast(
    "void (*)(void *)", _libc_ffi.cast("uintptr_t", _libc_ffi.addressof(_libc, "sem_post"))
)
_LOOKS = 4  # other arrays' semaphores checked in each call


class _Kept:
    """The objects that an array keeps alive, and the semaphore that is posted at the last
    release."""

    def __init__(self, objects):
        self.objects = objects
        self.word = _libc.calloc(1, _SEMAPHORE_BYTES)
        if self.word == _libc_ffi.NULL:
            raise MemoryError
        _libc.sem_init(self.word, 0, 0)

    def ended(self):
        return _libc.sem_trywait(self.word) == 0

    def free(self):
        _libc.free(self.word)
        self.objects = None


# Those whose arrays outlived the cdata that array_from() returned.
_waiting: "deque[_Kept]" = deque()


def _look():
    for _ in range(min(_LOOKS, len(_waiting))):
        try:
            kept = _waiting.popleft()
        except IndexError:  # other threads look, too
            break
        if kept.ended():
            kept.free()
        else:
            _waiting.append(kept)


def array_from(obj, *, strict=False):
    """Takes an array from another library, as `libcai.asarray` does, by the same rules.

    Parameters
    ----------
    obj : object
        With ``__cuda_array_interface__``, or NumPy's ``__array_interface__``.
    strict : bool
        Accept only objects that follow the text of version 3 to the letter.

    Returns
    -------
    cdata ``cai_array *``
        An owned array. The cdata owns one reference, which keeps `obj` alive; compiled code may add
        its own references. If the last reference is released elsewhere, or uses of the memory are
        pending, `obj` is freed in a later call, once ``lib.cai_drain`` or a similar function has
        found the uses complete.

    Raises
    ------
    InterfaceError, InterfaceTypeError
        Names the entry at fault. Exceptions of the object's own property, or of an entry's
        ``__index__``, pass unchanged.
    """
    _look()
    host, value = find(obj)
    unpacker = Unpacker(ffi, lib)
    interface = unpacker.interface(value, host)
    is_float8 = not strict and unpacker.take_float8(interface, obj)
    size = lib.cai_interface_storage(interface)
    storage = ffi.new("uint64_t[]", size // 8 + 1)
    borrowed = ffi.new("cai_array *")
    error = ffi.new("cai_error *")
    mode = lib.CAI_STRICT if strict else lib.CAI_LENIENT
    status = lib.cai_interface_read(
        interface, mode, ffi.NULL, ffi.NULL, storage, size, borrowed, error
    )
    if status != lib.CAI_OK:
        raise _failure(error, unpacker.entries)
    streams = [
        _say_provided(part, holder)
        for part, holder in ((borrowed, obj), (borrowed.mask, unpacker.mask_holder))
        if part and holder is not None
    ]
    if is_float8:
        borrowed.dtype.ext = lib.CAI_EXT_FLOAT8_E5M2
    else:
        _say_extension(borrowed, obj, interface.typestr)
    kept = _Kept((obj, unpacker.mask_holder, streams))
    out = ffi.new("cai_array **")
    context = ffi.cast("void *", int(_libc_ffi.cast("uintptr_t", kept.word)))
    if lib.cai_array_own(borrowed, _post, context, out, error) != lib.CAI_OK:
        kept.free()
        raise _failure(error, {})

    def let_go(array):
        lib.cai_array_release(array)
        if kept.ended():
            kept.free()
        else:
            _waiting.append(kept)

    return ffi.gc(out[0], let_go)


def _say_extension(array, obj, typestr):
    """The extended type that the object's dtype names for one or two void bytes of the dict, unless
    its typestr says the other byte order."""
    dtype = array.dtype
    if dtype.kind != ord("V") or dtype.itemsize > 2 or dtype.ext or array.descr:
        return
    other_order = b">" if sys.byteorder == "little" else b"<"
    if dtype.itemsize > 1 and typestr.text[0] == other_order:
        return
    ext = getattr(lib, f"CAI_EXT_{(dtype_name(obj) or 'NONE').upper()}", lib.CAI_EXT_NONE)
    if dtype.itemsize == (2 if ext == lib.CAI_EXT_BFLOAT16 else 1):
        dtype.ext = ext


def _say_provided(array, obj):
    """Sets the stream of an object's framework where its dict names none; returns it."""
    answer = provided(obj) if array.stream_kind == lib.CAI_STREAM_UNSTATED else None
    if answer is None:
        return None
    array = ffi.cast("cai_array *", array)
    array.stream_kind = lib.CAI_STREAM_STREAM
    array.stream, stream = answer
    return stream


def _failure(error, entries):
    entry = ffi.string(lib.cai_entry_name(error.entry)).decode()
    message = ffi.string(error.message).decode("utf-8", "replace")
    return from_status(error.status, error.native, message, entry, entries.get(entry))
