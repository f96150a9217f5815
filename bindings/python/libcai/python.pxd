# SPDX-License-Identifier: BSD-3-Clause
# cai/python.h, which documents all of it, for modules in Cython: `from libcai.python cimport ...`,
# and cai_py_import() where the module begins. Nothing is linked; failures raise.

from cpython.buffer cimport Py_buffer
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

from libcai cimport cai_array, cai_dtype, cai_error, cai_use, cai_use_options

cdef extern from "cai/python.h":
    uint32_t CAI_PY_WRITES
    uint32_t CAI_PY_TRY
    ctypedef struct cai_py_argument:
        const cai_array *array
        void *held
        cai_array described
        Py_buffer buffer
        int64_t *dims
    ctypedef struct cai_py_api:
        uint32_t struct_size
        uint16_t abi_major
        uint16_t abi_minor
        int (*open)(object, uint32_t, cai_py_argument *) except -1
        void (*close)(cai_py_argument *) noexcept
        int (*own)(object, uint32_t, cai_array **) except -1
        object (*wrap)(cai_array *)
        object (*empty_like)(object, int32_t, const int64_t *, const cai_dtype *)
        int (*stream)(object, uint64_t *) except -1
        int (*current_stream)(const cai_array *, uint64_t *) except -1
        int (*begin)(cai_use *, const cai_array *const *, int32_t, uint64_t,
                     const cai_use_options *) except -1
        int (*end)(cai_use *) except -1
        int (*finish)(cai_use *, int32_t) except -1
        void (*abandon)(cai_use *) noexcept
        int (*raise_ "raise")(const cai_error *) except -1
    const cai_py_api *cai_py
    int cai_py_import() except -1
