# SPDX-License-Identifier: BSD-3-Clause
"""Makes the module _clear_cffi, of C that takes arrays as libcai's struct."""

import subprocess
import sys

import cffi

config = [sys.executable, "-m", "libcai", "config", "--includedir"]
include = subprocess.run(config, check=True, capture_output=True, text=True).stdout.strip()

ffi = cffi.FFI()
ffi.cdef("const char *zero(uintptr_t address, uint64_t stream);")
ffi.set_source(
    "_clear_cffi",
    r"""
    #include <cai.h>
    #include <dlfcn.h>
    #include <string.h>

    typedef int (*memset_fn)(uint64_t data, unsigned char value, size_t count, void *stream);

    static const char *zero_on_gpu(uint64_t data, size_t bytes, uint64_t stream) {
      void *const driver = dlopen("libcuda.so.1", RTLD_NOW);
      const memset_fn cuMemsetD8Async =
          driver ? (memset_fn)dlsym(driver, "cuMemsetD8Async") : NULL;
      if (!cuMemsetD8Async || cuMemsetD8Async(data, 0, bytes, (void *)(uintptr_t)stream) != 0)
        return "cuMemsetD8Async() failed";
      return NULL;
    }

    /* Returns NULL, or what is wrong. */
    static const char *zero(uintptr_t address, uint64_t stream) {
      const cai_array *const array = (const cai_array *)address;
      if (cai_array_refuses(array, CAI_FLAG_SWAPPED)) return "read-only and masked arrays stay";
      const int64_t bytes = cai_array_contiguous_nbytes(array);
      if (bytes < 0) return "the array is not C-contiguous";
      if (array->device_type != CAI_DEVICE_CPU && bytes > 0)
        return zero_on_gpu(array->data, (size_t)bytes, stream);
      memset((void *)(uintptr_t)array->data, 0, (size_t)bytes);
      return NULL;
    }
    """,
    include_dirs=[include],
    libraries=["dl"],
)
